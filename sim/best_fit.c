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

static void set_remove(const struct best_fit *fit, struct fit_set *set, struct fit_link *links,
                       uint32_t id)
{
    struct fit_link *link = &links[id];
    if (link->bucket == SIM_NONE)
        return;
    if (link->next != SIM_NONE)
        links[link->next].previous = link->previous;
    if (link->previous != SIM_NONE)
        links[link->previous].next = link->next;
    else
        set->heads[link->bucket] = link->next;
    if (set->heads[link->bucket] == SIM_NONE)
        set_mark(fit, set, link->bucket);
    link->bucket = SIM_NONE;
}

/* An entry that is in the bucket already keeps its place there. */
static bool set_file(const struct best_fit *fit, struct fit_set *set, struct fit_link *links,
                     uint32_t id, uint32_t headroom, uint32_t free_vcpus)
{
    struct fit_link *link = &links[id];
    const uint32_t column = free_vcpus < fit->vcpus ? free_vcpus : fit->vcpus;
    const uint32_t bucket = headroom * (fit->vcpus + 1) + column;
    if (link->bucket == bucket)
        return true;
    if (set->heads == NULL && !set_allocate(fit, set)) {
        set_clear(set);
        return false;
    }
    set_remove(fit, set, links, id);
    *link = (struct fit_link){.bucket = bucket, .previous = SIM_NONE, .next = set->heads[bucket]};
    set->heads[bucket] = id;
    if (link->next != SIM_NONE)
        links[link->next].previous = id;
    else
        set_mark(fit, set, bucket);
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

static uint32_t set_next(const struct best_fit *fit, const struct fit_set *set,
                         const struct fit_link *links, uint32_t need_units, uint32_t need_vcpus,
                         uint32_t cursor)
{
    const uint32_t column = need_vcpus < fit->vcpus ? need_vcpus : fit->vcpus;
    uint32_t row = need_units, from = column;
    if (set->heads == NULL)
        return SIM_NONE;
    if (cursor != SIM_NONE) {
        if (links[cursor].next != SIM_NONE)
            return links[cursor].next;
        row = links[cursor].bucket / (fit->vcpus + 1);
        from = links[cursor].bucket % (fit->vcpus + 1) + 1;
    }
    for (; row <= fit->units; row++, from = column) {
        const uint32_t bucket = from <= fit->vcpus ? set_scan_row(fit, set, row, from) : SIM_NONE;
        if (bucket != SIM_NONE)
            return set->heads[bucket];
    }
    return SIM_NONE;
}

/* ---- Start and end --------------------------------------------------------------------------- */

/* Entries of an invoker: one, or as many as an invoker has GPUs at most, and one more where
 * containers of one function may run with and without a GPU. */
static uint32_t slots_count(const struct cluster *cluster)
{
    uint32_t most = 1;
    bool mixed = false;
    for (uint32_t i = 0; i < cluster->invoker_count; i++)
        if (cluster->invokers[i].gpu_count > most)
            most = cluster->invokers[i].gpu_count;
    for (uint32_t f = 0; f < cluster->function_count; f++)
        mixed = mixed || cluster->functions[f].mixed;
    return most + (most > 1 && mixed);
}

static void links_init(struct fit_link *links, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        links[i] = (struct fit_link){SIM_NONE, SIM_NONE, SIM_NONE};
}

bool best_fit_init(struct cluster *cluster)
{
    struct best_fit *fit = &cluster->fit;
    *fit = (struct best_fit){.slots = slots_count(cluster), .set_count = cluster->function_count};
    for (uint32_t g = 0; g < cluster->gpu_count; g++)
        if (cluster->gpus[g].spec->units > fit->units)
            fit->units = cluster->gpus[g].spec->units;
    for (uint32_t i = 0; i < cluster->invoker_count; i++)
        if (cluster->invokers[i].free_vcpus > fit->vcpus)
            fit->vcpus = cluster->invokers[i].free_vcpus;
    fit->vcpus = fit->vcpus < VCPUS_MOST ? fit->vcpus : VCPUS_MOST;
    fit->mask_words = fit->vcpus / 64 + 1;
    const size_t entries = (size_t)cluster->invoker_count * fit->slots;
    fit->of_function = calloc(cluster->function_count, sizeof *fit->of_function);
    fit->all_links = malloc(entries * sizeof *fit->all_links);
    if (fit->of_function == NULL || fit->all_links == NULL)
        return false;
    links_init(fit->all_links, 0, entries);
    return true;
}

void best_fit_clear(struct best_fit *fit)
{
    for (uint32_t f = 0; fit->of_function != NULL && f < fit->set_count; f++)
        set_clear(&fit->of_function[f]);
    set_clear(&fit->all);
    free(fit->of_function);
    free(fit->all_links);
    free(fit->pool_links);
}

bool best_fit_reserve(struct best_fit *fit, uint32_t pools)
{
    struct fit_link *links =
        realloc(fit->pool_links, (size_t)pools * fit->slots * sizeof *fit->pool_links);
    if (links == NULL)
        return false;
    links_init(links, (size_t)fit->pool_room * fit->slots, (size_t)pools * fit->slots);
    fit->pool_links = links;
    fit->pool_room = pools;
    return true;
}

/* ---- Filing ---------------------------------------------------------------------------------- */

/* An invoker without a GPU is in its first entry. */
static bool invoker_file(struct cluster *cluster, uint32_t id)
{
    struct best_fit *fit = &cluster->fit;
    const struct invoker_state *invoker = &cluster->invokers[id];
    const uint32_t first = id * fit->slots, vcpus = invoker->free_vcpus;
    if (invoker->gpu_count == 0)
        return set_file(fit, &fit->all, fit->all_links, first, 0, vcpus);
    bool ok = true;
    for (uint32_t k = 0; ok && k < invoker->gpu_count; k++)
        ok = set_file(fit, &fit->all, fit->all_links, first + k,
                      gpu_headroom(&cluster->gpus[invoker->first_gpu + k]), vcpus);
    return ok;
}

/* On which of the invoker's GPUs do containers of the pool idle? Bit k: on the k-th. */
static uint64_t pool_idle_gpus(const struct cluster *cluster, const struct container_pool *pool,
                               bool *without)
{
    const struct function_state *function = &cluster->functions[pool->function];
    const uint32_t first = cluster->invokers[pool->invoker].first_gpu;
    uint64_t gpus = 0;
    *without = false;
    if (cluster->fit.slots == 1 && !function->mixed) { /* all alike: none need be looked at */
        *without = pool->idle_count > 0 && !function->on_gpu;
        return pool->idle_count > 0 && function->on_gpu;
    }
    for (uint32_t id = pool->idle_head; id != SIM_NONE; id = cluster->containers[id].next) {
        const uint32_t gpu = cluster->containers[id].gpu;
        if (gpu == SIM_NONE)
            *without = true;
        else
            gpus |= UINT64_C(1) << (gpu - first);
    }
    return gpus;
}

/* Files the entries of the GPUs on which the function idles, and no other. Containers without a GPU
 * are in the last entry. */
static bool pool_file(struct cluster *cluster, uint32_t id)
{
    struct best_fit *fit = &cluster->fit;
    const struct container_pool *pool = &cluster->pools[id];
    const struct invoker_state *invoker = &cluster->invokers[pool->invoker];
    struct fit_set *set = &fit->of_function[pool->function];
    bool without, ok = true;
    const uint64_t gpus = pool_idle_gpus(cluster, pool, &without);
    for (uint32_t k = 0; k < fit->slots; k++) {
        const uint32_t entry = id * fit->slots + k;
        const bool gpu = k < 64 && (gpus >> k & 1) != 0;
        const uint32_t headroom = gpu ? gpu_headroom(&cluster->gpus[invoker->first_gpu + k]) : 0;
        if (gpu || (without && k == fit->slots - 1))
            ok = ok && set_file(fit, set, fit->pool_links, entry, headroom, invoker->free_vcpus);
        else
            set_remove(fit, set, fit->pool_links, entry);
    }
    return ok;
}

bool best_fit_has_pool(const struct best_fit *fit, uint32_t pool)
{
    for (uint32_t k = 0; k < fit->slots; k++)
        if (fit->pool_links[pool * fit->slots + k].bucket != SIM_NONE)
            return true;
    return false;
}

bool best_fit_file(struct cluster *cluster, uint32_t invoker)
{
    bool ok = invoker_file(cluster, invoker);
    /* From the last to the first: a pool that is given back leaves the list. */
    for (uint32_t k = cluster->invokers[invoker].pool_count; k-- > 0;) {
        const uint32_t pool = cluster->invokers[invoker].pools[k].pool;
        ok = pool_file(cluster, pool) && ok;
        cluster_tidy_pool(cluster, pool);
    }
    return ok;
}

/* ---- Queries --------------------------------------------------------------------------------- */

uint32_t best_fit_next(const struct cluster *cluster, uint32_t function, uint32_t need_units,
                       uint32_t need_vcpus, uint32_t *cursor)
{
    const struct best_fit *fit = &cluster->fit;
    if (function == SIM_NONE) {
        *cursor = set_next(fit, &fit->all, fit->all_links, need_units, need_vcpus, *cursor);
        return *cursor;
    }
    *cursor = set_next(fit, &fit->of_function[function], fit->pool_links, need_units, need_vcpus,
                       *cursor);
    return *cursor == SIM_NONE
               ? SIM_NONE
               : cluster->pools[*cursor / fit->slots].invoker * fit->slots + *cursor % fit->slots;
}
