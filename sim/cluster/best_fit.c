#include "sim/cluster/best_fit.h"

#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/cluster/cluster.h"

/* An invoker has one entry per GPU, with that GPU's headroom. It also has one entry with headroom
 * 0, for work on its vCPUs only. An update (best_fit_file) indexes the entries of one invoker by
 * (kind of GPU, headroom, free vCPUs). Updates are numbered. All entries of the invoker become the
 * most recent ones of their buckets, so that the order is that of last changes, whoever asked
 * meanwhile.
 *
 * A set stores entries in one bucket per (row, free vCPUs). Each kind of GPU has a row per
 * headroom, kind after kind, so that the units of unlike GPUs are not compared. A bucket is a
 * doubly linked list, most recent entry first. Bit masks mark the buckets that are not empty. A
 * query for GPU units scans the masks of its kind upwards from the requested units and vCPUs. A
 * query without units scans all rows, those of the first kind first. One set contains all invokers:
 * their GPUs, or the vCPU entry of an invoker without GPUs. It is made at a query and kept while
 * queries go on.
 *
 * A query for an idle container of a function searches the function's members, which are the pools
 * with idle containers. A short member list is searched linearly, so that updates cost nothing for
 * functions with few members. A function with many members has a set of its own. Both methods give
 * the same order. */

/* Invokers with more free vCPUs than this share one bucket. This affects only the order of fit. */
enum { VCPUS_MOST = 255 };

/* Greater than the number of GPUs per invoker. */
enum { ENTRIES_MOST = 128 };

/* ---- Sets ------------------------------------------------------------------------------------ */

static void set_allocate(struct cluster *cluster, struct fit_set *set)
{
    const struct best_fit *fit = &cluster->fit;
    const size_t rows = fit->rows, buckets = rows << fit->column_bits;
    set->heads = arena_allocate(cluster->arena, buckets, sizeof *set->heads);
    set->mask = arena_allocate(cluster->arena, rows * fit->mask_words, sizeof *set->mask);
    for (size_t i = 0; i < buckets; i++)
        set->heads[i] = SIM_NONE;
}

static uint32_t bucket_vcpus(const struct best_fit *fit, uint32_t bucket)
{
    return bucket & ((UINT32_C(1) << fit->column_bits) - 1);
}

/* Toggles the bucket's mask bit. Called when the bucket becomes empty or stops being empty. */
static void set_mark(const struct best_fit *fit, struct fit_set *set, uint32_t bucket)
{
    const uint32_t row = bucket >> fit->column_bits, column = bucket_vcpus(fit, bucket);
    set->mask[(size_t)row * fit->mask_words + column / 64] ^= UINT64_C(1) << (column % 64);
}

/* The set of all invokers contains entries. The set of a function contains pools. */
static struct fit_link *link_of(const struct cluster *cluster, uint32_t which, uint32_t id)
{
    return which == cluster->function_count ? &cluster->fit.entries[id].link
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

static uint32_t bucket_of(const struct best_fit *fit, uint32_t row, uint32_t free_vcpus)
{
    return row << fit->column_bits | (free_vcpus < fit->vcpus ? free_vcpus : fit->vcpus);
}

/* Makes it the first of `bucket`. */
static void set_file(struct cluster *cluster, uint32_t which, uint32_t id, uint32_t bucket)
{
    struct fit_set *set = &cluster->fit.sets[which];
    struct fit_link *link = link_of(cluster, which, id);
    if (link->bucket == bucket && link->previous == SIM_NONE)
        return;
    if (set->heads == NULL)
        set_allocate(cluster, set);
    set_remove(cluster, which, id);
    *link = (struct fit_link){.bucket = bucket, .previous = SIM_NONE, .next = set->heads[bucket]};
    set->heads[bucket] = id;
    if (link->next != SIM_NONE)
        link_of(cluster, which, link->next)->previous = id;
    else
        set_mark(&cluster->fit, set, bucket);
}

/* Returns the first non-empty bucket of `row` at or after `column`, or SIM_NONE. */
static uint32_t set_scan_row(const struct best_fit *fit, const struct fit_set *set, uint32_t row,
                             uint32_t column)
{
    const uint64_t *words = &set->mask[(size_t)row * fit->mask_words];
    for (uint32_t w = column / 64; w < fit->mask_words; w++) {
        uint64_t word = words[w];
        if (w == column / 64)
            word &= ~UINT64_C(0) << (column % 64);
        if (word != 0)
            return (row << fit->column_bits) + w * 64 + (uint32_t)__builtin_ctzll(word);
    }
    return SIM_NONE;
}

/* The first row that a query looks at, and the end of its rows. */
static uint32_t query_first(const struct best_fit *fit, const struct fit_cursor *cursor)
{
    return cursor->need_units == 0 ? 0 : fit->first_row[cursor->kind] + cursor->need_units;
}

static uint32_t query_end(const struct best_fit *fit, const struct fit_cursor *cursor)
{
    return cursor->need_units == 0 ? fit->rows : fit->first_row[cursor->kind + 1];
}

/* Returns the entry after `cursor->at`, or SIM_NONE after the last. */
static inline uint32_t set_next(const struct cluster *cluster, uint32_t which,
                                const struct fit_cursor *cursor)
{
    const struct best_fit *fit = &cluster->fit;
    const struct fit_set *set = &fit->sets[which];
    const uint32_t column = cursor->need_vcpus < fit->vcpus ? cursor->need_vcpus : fit->vcpus;
    const uint32_t end = query_end(fit, cursor);
    uint32_t row = query_first(fit, cursor), from = column;
    if (set->heads == NULL)
        return SIM_NONE;
    if (cursor->at != SIM_NONE) {
        const struct fit_link *link = link_of(cluster, which, cursor->at);
        if (link->next != SIM_NONE)
            return link->next;
        row = link->bucket >> fit->column_bits;
        from = bucket_vcpus(fit, link->bucket) + 1;
    }
    for (; row < end; row++, from = column) {
        const uint32_t bucket = from <= fit->vcpus ? set_scan_row(fit, set, row, from) : SIM_NONE;
        if (bucket != SIM_NONE)
            return set->heads[bucket];
    }
    return SIM_NONE;
}

/* ---- Start and end --------------------------------------------------------------------------- */

/* A member's key holds its bucket number and, below, the number of its update. The one kind of a
 * cluster without GPUs has the row of headroom 0 only. */
static void best_fit_init_rows(struct best_fit *fit, const struct cluster *cluster)
{
    const bool gpus = cluster->gpu_count > 0;
    fit->first_row =
        arena_allocate(cluster->arena, (size_t)cluster->kind_count + 1, sizeof *fit->first_row);
    for (uint32_t k = 0; k < cluster->kind_count; k++)
        fit->first_row[k + 1] =
            fit->first_row[k] + (gpus ? cluster->workload->kinds[k].units : 0u) + 1;
    fit->rows = fit->first_row[cluster->kind_count];
    fit->filing_bits = 63;
    while (UINT64_MAX >> fit->filing_bits < (uint64_t)fit->rows << fit->column_bits)
        fit->filing_bits--;
}

void best_fit_init(struct cluster *cluster)
{
    struct best_fit *fit = &cluster->fit;
    *fit = (struct best_fit){.function_count = cluster->function_count};
    for (uint32_t i = 0; i < cluster->invoker_count; i++)
        if (cluster->invokers[i].free_vcpus > fit->vcpus)
            fit->vcpus = cluster->invokers[i].free_vcpus;
    fit->vcpus = fit->vcpus < VCPUS_MOST ? fit->vcpus : VCPUS_MOST;
    fit->mask_words = fit->vcpus / 64 + 1;
    while (fit->vcpus >> fit->column_bits != 0)
        fit->column_bits++;
    const size_t entries = (size_t)cluster->gpu_count + cluster->invoker_count;
    fit->sets = arena_allocate(cluster->arena, (size_t)fit->function_count + 1, sizeof *fit->sets);
    fit->members = arena_allocate(cluster->arena, fit->function_count, sizeof *fit->members);
    fit->entries = arena_allocate(cluster->arena, entries, sizeof *fit->entries);
    best_fit_init_rows(fit, cluster);
    for (size_t i = 0; i < entries; i++)
        fit->entries[i] = (struct fit_entry){.link.bucket = SIM_NONE};
}

/* Returns the number of the current update for one entry of the invoker. Within one update, entries
 * with a higher GPU index are more recent, and the vCPU entry is the most recent. */
static uint64_t filing_of(const struct cluster *cluster, const struct invoker_state *invoker,
                          uint32_t gpu)
{
    const uint64_t place = gpu == SIM_NONE ? ENTRIES_MOST - 1 : gpu - invoker->first_gpu;
    return cluster->fit.filings * ENTRIES_MOST + place;
}

/* ---- Members --------------------------------------------------------------------------------- */

static uint32_t entry_of(const struct cluster *cluster, const struct container_pool *pool)
{
    return pool->gpu == SIM_NONE ? cluster->gpu_count + pool->invoker : pool->gpu;
}

/* Inserts the pool into its function's set, without a look at the list of members: on a large
 * cluster that would be one more cache miss per update. */
static void member_file(struct cluster *cluster, uint32_t id)
{
    const struct container_pool *pool = &cluster->pools[id];
    set_file(cluster, pool->function, id,
             cluster->fit.entries[entry_of(cluster, pool)].link.bucket);
}

/* Inserts all members into the function's set, the most recent last. O(members^2). */
static void members_file(struct cluster *cluster, uint32_t function)
{
    struct fit_members *members = &cluster->fit.members[function];
    members->in_set = true;
    cluster->fit.set_count++;
    for (uint32_t k = 0; k < members->count; k++) {
        const struct fit_member *next = members->list;
        uint64_t earliest = UINT64_MAX;
        for (uint32_t m = 0; m < members->count; m++) {
            const struct fit_member *member = &members->list[m];
            const uint64_t filing = cluster->fit.entries[member->entry].filed;
            if (filing < earliest && cluster->pools[member->pool].link.bucket == SIM_NONE) {
                earliest = filing;
                next = member;
            }
        }
        /* Each iteration inserts one member that is not yet in the set. */
        member_file(cluster, next->pool);
    }
}

static void members_unfile(struct cluster *cluster, uint32_t function)
{
    struct fit_members *members = &cluster->fit.members[function];
    members->in_set = false;
    cluster->fit.set_count--;
    for (uint32_t k = 0; k < members->count; k++)
        set_remove(cluster, function, members->list[k].pool);
}

static void member_add(struct cluster *cluster, uint32_t id)
{
    struct container_pool *pool = &cluster->pools[id];
    struct fit_members *members = &cluster->fit.members[pool->function];
    arena_reserve(cluster->arena, &members->list, (size_t)members->count + 1,
                  sizeof *members->list);
    pool->position = members->count;
    members->list[members->count++] = (struct fit_member){id, entry_of(cluster, pool)};
    if (members->in_set)
        member_file(cluster, id);
    else if (members->count > BEST_FIT_WALK_MOST)
        members_file(cluster, pool->function);
}

static void member_remove(struct cluster *cluster, uint32_t id)
{
    struct container_pool *pool = &cluster->pools[id];
    struct fit_members *members = &cluster->fit.members[pool->function];
    const struct fit_member last = members->list[--members->count];
    members->list[pool->position] = last;
    cluster->pools[last.pool].position = pool->position;
    pool->position = SIM_NONE;
    set_remove(cluster, pool->function, id);
    if (members->in_set && members->count < BEST_FIT_WALK_MOST / 4)
        members_unfile(cluster, pool->function);
}

/* ---- The set of all invokers -----------------------------------------------------------------
 *
 * Policies that place on warm invokers hardly ask for it. */

/* Forgets the set if nobody has asked for it during many updates. */
static void all_forget(struct cluster *cluster)
{
    enum { UPDATES_PER_ENTRY = 4 }; /* of all entries; the set is made in O(entries × log) */
    struct best_fit *fit = &cluster->fit;
    const uint64_t entries = (uint64_t)cluster->gpu_count + cluster->invoker_count;
    struct fit_set *all = &fit->sets[fit->function_count];
    fit->all_kept = fit->filings - fit->asked <= UPDATES_PER_ENTRY * entries;
    if (fit->all_kept)
        return;
    arena_release(cluster->arena, all->heads);
    arena_release(cluster->arena, all->mask);
    *all = (struct fit_set){0};
}

struct filed_entry {
    uint64_t filed;
    uint32_t id;
};

static int compare_filed(const void *a, const void *b)
{
    const uint64_t left = ((const struct filed_entry *)a)->filed;
    const uint64_t right = ((const struct filed_entry *)b)->filed;
    return (left > right) - (left < right);
}

/* Makes the set, the most recent entries last. */
static void all_make(struct cluster *cluster)
{
    struct best_fit *fit = &cluster->fit;
    const uint32_t entries = cluster->gpu_count + cluster->invoker_count;
    struct filed_entry *order = arena_allocate(cluster->arena, entries, sizeof *order);
    uint32_t count = 0;
    for (uint32_t id = 0; id < entries; id++)
        if (id < cluster->gpu_count || cluster->invokers[id - cluster->gpu_count].gpu_count == 0)
            order[count++] = (struct filed_entry){fit->entries[id].filed, id};
    qsort(order, count, sizeof *order, compare_filed);
    fit->all_kept = true;
    for (uint32_t k = 0; k < count; k++) {
        struct fit_link *link = &fit->entries[order[k].id].link;
        const uint32_t bucket = link->bucket;
        link->bucket = SIM_NONE;
        set_file(cluster, fit->function_count, order[k].id, bucket);
    }
    arena_release(cluster->arena, order);
}

/* ---- Updates --------------------------------------------------------------------------------- */

/* `in_all`: the entry is in the set of all invokers. */
static void entry_file(struct cluster *cluster, uint32_t id, uint32_t row, uint32_t vcpus,
                       uint64_t filing, bool in_all)
{
    struct best_fit *fit = &cluster->fit;
    const uint32_t bucket = bucket_of(fit, row, vcpus);
    struct fit_entry *entry = &fit->entries[id];
    entry->filed = filing;
    if (in_all && fit->all_kept)
        set_file(cluster, fit->function_count, id, bucket);
    else
        entry->link.bucket = bucket;
}

static void entries_file(struct cluster *cluster, uint32_t id)
{
    const struct invoker_state *invoker = &cluster->invokers[id];
    const uint32_t vcpus = invoker->free_vcpus;
    entry_file(cluster, cluster->gpu_count + id, 0, vcpus, filing_of(cluster, invoker, SIM_NONE),
               invoker->gpu_count == 0);
    for (uint32_t k = 0; k < invoker->gpu_count; k++) {
        const uint32_t gpu = invoker->first_gpu + k;
        const struct gpu_state *state = &cluster->gpus[gpu];
        const uint32_t row = cluster->fit.first_row[state->spec->kind] + gpu_headroom(state);
        entry_file(cluster, gpu, row, vcpus, filing_of(cluster, invoker, gpu), true);
    }
}

static void pool_file(struct cluster *cluster, uint32_t id)
{
    const struct container_pool *pool = &cluster->pools[id];
    if (pool->idle_count == 0) {
        if (pool->position != SIM_NONE)
            member_remove(cluster, id);
    } else if (pool->position == SIM_NONE)
        member_add(cluster, id);
    else if (cluster->fit.members[pool->function].in_set)
        member_file(cluster, id);
}

/* Updates the pools that changed and the pools in sets. */
static inline void pools_file(struct cluster *cluster, struct invoker_state *invoker)
{
    const bool sets = cluster->fit.set_count > 0;
    uint32_t k = sets ? 0 : invoker->first_changed;
    while (k < invoker->pool_count && (sets || invoker->pools_changed > 0)) {
        struct pool_entry *entry = &invoker->pools[k];
        const bool in_set =
            sets && entry->member && cluster->fit.members[entry->place >> 32].in_set;
        if (entry->changed || in_set) {
            pool_file(cluster, entry->pool);
            invoker->pools_changed -= entry->changed;
            entry->changed = false;
            entry->member = cluster->pools[entry->pool].idle_count > 0;
            /* pool_tidy has removed this entry from the list. */
            if (!entry->member && pool_tidy(cluster, entry->pool))
                continue;
        }
        k++;
    }
}

void best_fit_file(struct cluster *cluster, uint32_t id)
{
    struct invoker_state *invoker = &cluster->invokers[id];
    cluster->fit.filings++;
    if (cluster->fit.all_kept)
        all_forget(cluster);
    entries_file(cluster, id);
    pools_file(cluster, invoker);
}

/* ---- Queries --------------------------------------------------------------------------------- */

/* Members in order of fit have ascending keys. The key contains the distance from the greatest
 * update number, so that the most recent member is first. */
static inline uint64_t member_key(const struct best_fit *fit, const struct fit_member *member)
{
    const uint64_t latest = (UINT64_C(1) << fit->filing_bits) - 1;
    return (uint64_t)fit->entries[member->entry].link.bucket << fit->filing_bits |
           (latest - fit->entries[member->entry].filed);
}

/* Returns the member after `cursor->at` by linear search, or SIM_NONE after the last. */
static uint32_t members_next(const struct cluster *cluster, const struct fit_cursor *cursor)
{
    const struct best_fit *fit = &cluster->fit;
    const struct fit_members *members = &fit->members[cursor->function];
    const uint32_t vcpus = cursor->need_vcpus < fit->vcpus ? cursor->need_vcpus : fit->vcpus;
    const uint32_t row_bits = fit->filing_bits + fit->column_bits;
    const uint64_t end = (uint64_t)query_end(fit, cursor) << row_bits;
    uint64_t from = (uint64_t)query_first(fit, cursor) << row_bits;
    uint64_t least = end;
    uint32_t found = SIM_NONE, last = query_end(fit, cursor) << fit->column_bits;
    if (cursor->at != SIM_NONE)
        from = member_key(fit, &members->list[cluster->pools[cursor->at].position]) + 1;
    for (uint32_t k = 0; k < members->count; k++) {
        const struct fit_member *member = &members->list[k];
        const uint32_t bucket = fit->entries[member->entry].link.bucket;
        if (bucket > last || bucket_vcpus(fit, bucket) < vcpus)
            continue;
        const uint64_t key = member_key(fit, member);
        if (key >= from && key < least) {
            least = key;
            last = bucket;
            found = member->pool;
        }
    }
    return found;
}

bool best_fit_next(struct cluster *cluster, struct fit_cursor *cursor)
{
    struct best_fit *fit = &cluster->fit;
    const bool all = cursor->function == SIM_NONE;
    fit->asked = all ? fit->filings : fit->asked;
    if (all && !fit->all_kept)
        all_make(cluster);
    if (all)
        cursor->at = set_next(cluster, fit->function_count, cursor);
    else if (fit->members[cursor->function].in_set)
        cursor->at = set_next(cluster, cursor->function, cursor);
    else
        cursor->at = members_next(cluster, cursor);
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
