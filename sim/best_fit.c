#include "sim/best_fit.h"

#include <stdlib.h>

#include "sim/cluster.h"

/* Beyond so many free vCPUs invokers are filed together: an order, not a limit. */
enum { VCPUS_MOST = 255 };

/* ---- Sets ------------------------------------------------------------------------------------ */

static bool set_allocate(const struct best_fit *fit, struct fit_set *set)
{
    const size_t rows = (size_t)fit->units + 1, buckets = rows * (fit->vcpus + 1);
    set->heads = malloc(buckets * sizeof *set->heads);
    set->mask = calloc(rows * fit->mask_words, sizeof *set->mask);
    for (size_t i = 0; set->heads != NULL && i < buckets; i++)
        set->heads[i] = SIM_NONE;
    return set->heads != NULL && set->mask != NULL;
}

static void set_clear(struct fit_set *set)
{
    free(set->heads);
    free(set->mask);
    *set = (struct fit_set){0};
}

/* The bucket is no longer empty, or has become so. */
static void set_mark(const struct best_fit *fit, struct fit_set *set, uint32_t bucket)
{
    const uint32_t row = bucket / (fit->vcpus + 1), column = bucket % (fit->vcpus + 1);
    set->mask[(size_t)row * fit->mask_words + column / 64] ^= UINT64_C(1) << (column % 64);
}

/* Entries of a function's set are its pools. */
static struct fit_link *link_of(const struct cluster *cluster, uint32_t which, uint32_t id)
{
    return which == cluster->function_count ? &cluster->fit.all_links[id]
                                            : &cluster->pools[id].link;
}

static void set_remove(struct cluster *cluster, uint32_t which, uint32_t id)
{
    struct fit_set *set = &cluster->fit.sets[which];
    struct fit_link *link = link_of(cluster, which, id);
    if (link->bucket == SIM_NONE)
        return;
    if (link->next != SIM_NONE)
        link_of(cluster, which, link->next)->previous = link->previous;
    if (link->previous != SIM_NONE)
        link_of(cluster, which, link->previous)->next = link->next;
    else
        set->heads[link->bucket] = link->next;
    if (set->heads[link->bucket] == SIM_NONE)
        set_mark(&cluster->fit, set, link->bucket);
    link->bucket = SIM_NONE;
}

static uint32_t bucket_of(const struct best_fit *fit, uint32_t headroom, uint32_t free_vcpus)
{
    return headroom * (fit->vcpus + 1) + (free_vcpus < fit->vcpus ? free_vcpus : fit->vcpus);
}

/* An entry that is in the bucket already keeps its place there. */
static bool set_file(struct cluster *cluster, uint32_t which, uint32_t id, uint32_t bucket)
{
    struct fit_set *set = &cluster->fit.sets[which];
    struct fit_link *link = link_of(cluster, which, id);
    if (link->bucket == bucket)
        return true;
    if (set->heads == NULL && !set_allocate(&cluster->fit, set)) {
        set_clear(set);
        return false;
    }
    set_remove(cluster, which, id);
    *link = (struct fit_link){.bucket = bucket, .previous = SIM_NONE, .next = set->heads[bucket]};
    set->heads[bucket] = id;
    if (link->next != SIM_NONE)
        link_of(cluster, which, link->next)->previous = id;
    else
        set_mark(&cluster->fit, set, bucket);
    return true;
}

/* The first bucket of `row` at or after `column` that is not empty; SIM_NONE where there is none.
 */
static uint32_t set_scan_row(const struct best_fit *fit, const struct fit_set *set, uint32_t row,
                             uint32_t column)
{
    const uint64_t *words = &set->mask[(size_t)row * fit->mask_words];
    for (uint32_t w = column / 64; w < fit->mask_words; w++) {
        uint64_t word = words[w];
        if (w == column / 64)
            word &= ~UINT64_C(0) << (column % 64);
        if (word != 0)
            return row * (fit->vcpus + 1) + w * 64 + (uint32_t)__builtin_ctzll(word);
    }
    return SIM_NONE;
}

/* The entry after `cursor->at`; SIM_NONE past the last. */
static uint32_t set_next(const struct cluster *cluster, uint32_t which,
                         const struct fit_cursor *cursor)
{
    const struct best_fit *fit = &cluster->fit;
    const struct fit_set *set = &fit->sets[which];
    const uint32_t column = cursor->need_vcpus < fit->vcpus ? cursor->need_vcpus : fit->vcpus;
    uint32_t row = cursor->need_units, from = column;
    if (set->heads == NULL)
        return SIM_NONE;
    if (cursor->at != SIM_NONE) {
        const struct fit_link *link = link_of(cluster, which, cursor->at);
        if (link->next != SIM_NONE)
            return link->next;
        row = link->bucket / (fit->vcpus + 1);
        from = link->bucket % (fit->vcpus + 1) + 1;
    }
    for (; row <= fit->units; row++, from = column) {
        const uint32_t bucket = from <= fit->vcpus ? set_scan_row(fit, set, row, from) : SIM_NONE;
        if (bucket != SIM_NONE)
            return set->heads[bucket];
    }
    return SIM_NONE;
}

/* ---- Start and end --------------------------------------------------------------------------- */

bool best_fit_init(struct cluster *cluster)
{
    struct best_fit *fit = &cluster->fit;
    *fit = (struct best_fit){.set_count = cluster->function_count + 1};
    for (uint32_t g = 0; g < cluster->gpu_count; g++)
        if (cluster->gpus[g].spec->units > fit->units)
            fit->units = cluster->gpus[g].spec->units;
    for (uint32_t i = 0; i < cluster->invoker_count; i++)
        if (cluster->invokers[i].free_vcpus > fit->vcpus)
            fit->vcpus = cluster->invokers[i].free_vcpus;
    fit->vcpus = fit->vcpus < VCPUS_MOST ? fit->vcpus : VCPUS_MOST;
    fit->mask_words = fit->vcpus / 64 + 1;
    const size_t entries = (size_t)cluster->gpu_count + cluster->invoker_count;
    fit->sets = calloc(fit->set_count, sizeof *fit->sets);
    fit->all_links = malloc(entries * sizeof *fit->all_links);
    if (fit->sets == NULL || fit->all_links == NULL)
        return false;
    for (size_t i = 0; i < entries; i++)
        fit->all_links[i].bucket = SIM_NONE;
    return true;
}

void best_fit_clear(struct best_fit *fit)
{
    for (uint32_t i = 0; fit->sets != NULL && i < fit->set_count; i++)
        set_clear(&fit->sets[i]);
    free(fit->sets);
    free(fit->all_links);
}

/* ---- Filing ---------------------------------------------------------------------------------- */

/* The bucket of what runs on the GPU, or (SIM_NONE) on vCPUs alone. */
static uint32_t place_bucket(const struct cluster *cluster, const struct invoker_state *invoker,
                             uint32_t gpu)
{
    const uint32_t headroom = gpu == SIM_NONE ? 0 : gpu_headroom(&cluster->gpus[gpu]);
    return bucket_of(&cluster->fit, headroom, invoker->free_vcpus);
}

static bool invoker_file(struct cluster *cluster, uint32_t id)
{
    const struct invoker_state *invoker = &cluster->invokers[id];
    const uint32_t all = cluster->function_count;
    bool ok = true;
    if (invoker->gpu_count == 0)
        return set_file(cluster, all, cluster->gpu_count + id,
                        place_bucket(cluster, invoker, SIM_NONE));
    for (uint32_t k = 0; ok && k < invoker->gpu_count; k++) {
        const uint32_t gpu = invoker->first_gpu + k;
        ok = set_file(cluster, all, gpu, place_bucket(cluster, invoker, gpu));
    }
    return ok;
}

bool best_fit_file(struct cluster *cluster, uint32_t id)
{
    const struct invoker_state *invoker = &cluster->invokers[id];
    bool ok = invoker_file(cluster, id);
    for (uint32_t k = 0; ok && k < invoker->pool_count;) {
        const uint32_t pool = invoker->pools[k];
        const struct container_pool *state = &cluster->pools[pool];
        if (state->idle_count > 0)
            ok = set_file(cluster, state->function, pool,
                          place_bucket(cluster, invoker, state->gpu));
        else
            set_remove(cluster, state->function, pool);
        /* A pool that is given back leaves the list. */
        k += state->containers > 0 || !pool_tidy(cluster, pool);
    }
    return ok;
}

/* ---- Queries --------------------------------------------------------------------------------- */

bool best_fit_next(const struct cluster *cluster, struct fit_cursor *cursor)
{
    const bool all = cursor->function == SIM_NONE;
    cursor->at = set_next(cluster, all ? cluster->function_count : cursor->function, cursor);
    if (cursor->at == SIM_NONE)
        return false;
    if (!all) {
        cursor->invoker = cluster->pools[cursor->at].invoker;
        cursor->gpu = cluster->pools[cursor->at].gpu;
    } else if (cursor->at < cluster->gpu_count) {
        cursor->invoker = cluster->gpus[cursor->at].invoker;
        cursor->gpu = cursor->at;
    } else {
        cursor->invoker = cursor->at - cluster->gpu_count;
        cursor->gpu = SIM_NONE;
    }
    return true;
}
