#include <string.h>

#include "sim/base/arena.h"
#include "sim/cluster/cluster.h"

/* ---- Pools ----------------------------------------------------------------------------------- */

/* Sort key of an invoker's pools: function, then GPU. SIM_NONE sorts last. */
static uint64_t pool_place(uint32_t function, uint32_t gpu)
{
    return (uint64_t)function << 32 | gpu;
}

/* Returns the rank of the first entry at or after `place`, by binary search. The number of steps
 * depends only on the number of entries, which avoids mispredicted branches. */
static uint32_t pool_rank(const struct invoker_state *invoker, uint64_t place)
{
    uint32_t first = 0, count = invoker->pool_count;
    while (count > 0) {
        const uint32_t half = (count + 1) / 2;
        first += invoker->pools[first + half - 1].place < place ? half : 0;
        count -= half;
    }
    return first;
}

/* Updates the ranks of entries from `rank` on, after they have moved. */
static void pools_rank(struct cluster *cluster, const struct invoker_state *invoker, uint32_t rank)
{
    for (uint32_t k = rank; k < invoker->pool_count; k++)
        cluster->pools[invoker->pools[k].pool].rank = k;
}

struct pool_range pools_find(const struct cluster *cluster, uint32_t invoker, uint32_t function)
{
    const struct invoker_state *state = &cluster->invokers[invoker];
    struct pool_range range;
    range.first = range.end = pool_rank(state, pool_place(function, 0));
    while (range.end < state->pool_count && state->pools[range.end].place >> 32 == function)
        range.end++;
    return range;
}

uint32_t pools_idle_count(const struct cluster *cluster, uint32_t invoker, uint32_t function)
{
    const struct pool_range range = pools_find(cluster, invoker, function);
    uint32_t count = 0;
    for (uint32_t k = range.first; k < range.end; k++)
        count += cluster->pools[cluster->invokers[invoker].pools[k].pool].idle_count;
    return count;
}

uint32_t pools_container_count(const struct cluster *cluster, uint32_t invoker, uint32_t function)
{
    const struct pool_range range = pools_find(cluster, invoker, function);
    uint32_t count = 0;
    for (uint32_t k = range.first; k < range.end; k++)
        count += cluster->pools[cluster->invokers[invoker].pools[k].pool].containers;
    return count;
}

/* Number of pools allocated together for an invoker. They are contiguous because queries read them
 * together. */
enum { POOLS_TOGETHER = 8 };

/* Returns an unused pool. */
static uint32_t pool_allocate(struct cluster *cluster, struct invoker_state *invoker)
{
    if (invoker->next_pool != invoker->pools_end)
        return invoker->next_pool++;
    const uint32_t id = cluster->pool_free;
    if (id != SIM_NONE) {
        cluster->pool_free = cluster->pools[id].starting_head;
        return id;
    }
    arena_reserve(cluster->arena, &cluster->pools, (size_t)cluster->pools_used + POOLS_TOGETHER,
                  sizeof *cluster->pools);
    invoker->next_pool = cluster->pools_used;
    cluster->pools_used += POOLS_TOGETHER;
    invoker->pools_end = cluster->pools_used;
    return invoker->next_pool++;
}

uint32_t pool_take(struct cluster *cluster, uint32_t function, uint32_t invoker, uint32_t gpu)
{
    struct invoker_state *state = &cluster->invokers[invoker];
    const uint64_t place = pool_place(function, gpu);
    const uint32_t rank = pool_rank(state, place);
    if (rank < state->pool_count && state->pools[rank].place == place)
        return state->pools[rank].pool;
    arena_reserve(cluster->arena, &state->pools, state->pool_count + 1, sizeof *state->pools);
    const uint32_t id = pool_allocate(cluster, state);
    cluster->pools[id] = (struct container_pool){.function = function,
                                                 .invoker = invoker,
                                                 .gpu = gpu,
                                                 .idle_head = SIM_NONE,
                                                 .idle_tail = SIM_NONE,
                                                 .starting_head = SIM_NONE,
                                                 .position = SIM_NONE,
                                                 .link.bucket = SIM_NONE};
    memmove(&state->pools[rank + 1], &state->pools[rank],
            (state->pool_count - rank) * sizeof *state->pools);
    state->pools[rank] = (struct pool_entry){.place = place, .pool = id};
    state->pool_count++;
    pools_rank(cluster, state, rank);
    return id;
}

bool pool_tidy(struct cluster *cluster, uint32_t id)
{
    struct container_pool *pool = &cluster->pools[id];
    struct invoker_state *invoker = &cluster->invokers[pool->invoker];
    if (pool->containers > 0 || pool->position != SIM_NONE)
        return false;
    struct pool_entry *entry = &invoker->pools[pool->rank];
    invoker->pools_changed -= entry->changed;
    invoker->first_changed -= pool->rank < invoker->first_changed;
    invoker->pool_count--;
    memmove(entry, entry + 1, (invoker->pool_count - pool->rank) * sizeof *entry);
    pools_rank(cluster, invoker, pool->rank);
    pool->starting_head = cluster->pool_free;
    cluster->pool_free = id;
    return true;
}

/* ---- Lists of containers --------------------------------------------------------------------- */

/* `tail` NULL: the list has no tail pointer. */
static void list_push(struct cluster *cluster, uint32_t id, uint32_t *head, uint32_t *tail)
{
    struct container *c = &cluster->containers[id];
    c->next = *head;
    c->previous = SIM_NONE;
    if (*head != SIM_NONE)
        cluster->containers[*head].previous = id;
    else if (tail != NULL)
        *tail = id;
    *head = id;
}

static void list_remove(struct cluster *cluster, uint32_t id, uint32_t *head, uint32_t *tail)
{
    const struct container *c = &cluster->containers[id];
    if (c->previous != SIM_NONE)
        cluster->containers[c->previous].next = c->next;
    else
        *head = c->next;
    if (c->next != SIM_NONE)
        cluster->containers[c->next].previous = c->previous;
    else if (tail != NULL)
        *tail = c->previous;
}

static struct container_pool *pool_of(const struct cluster *cluster, uint32_t container)
{
    return &cluster->pools[cluster->containers[container].pool];
}

/* Marks the pool as changed, so that the next index update of its invoker includes it. */
static void pool_changes(struct cluster *cluster, const struct container_pool *pool)
{
    struct invoker_state *invoker = &cluster->invokers[pool->invoker];
    struct pool_entry *entry = &invoker->pools[pool->rank];
    if (invoker->pools_changed == 0 || pool->rank < invoker->first_changed)
        invoker->first_changed = pool->rank;
    invoker->pools_changed += !entry->changed;
    entry->changed = true;
}

void pool_push_idle(struct cluster *cluster, uint32_t container)
{
    struct container_pool *pool = pool_of(cluster, container);
    list_push(cluster, container, &pool->idle_head, &pool->idle_tail);
    if (pool->idle_count++ == 0)
        pool_changes(cluster, pool);
}

void pool_remove_idle(struct cluster *cluster, uint32_t container)
{
    struct container_pool *pool = pool_of(cluster, container);
    list_remove(cluster, container, &pool->idle_head, &pool->idle_tail);
    if (--pool->idle_count == 0)
        pool_changes(cluster, pool);
}

void pool_push_starting(struct cluster *cluster, uint32_t container)
{
    list_push(cluster, container, &pool_of(cluster, container)->starting_head, NULL);
}

void pool_remove_starting(struct cluster *cluster, uint32_t container)
{
    list_remove(cluster, container, &pool_of(cluster, container)->starting_head, NULL);
}
