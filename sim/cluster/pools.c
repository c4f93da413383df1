#include <stdlib.h>
#include <string.h>

#include "sim/cluster/cluster.h"

/* ---- Which pools there are ------------------------------------------------------------------- */

/* Where the pool is among the invoker's, or belongs: by function, then GPU; SIM_NONE is the last.
 */
static uint32_t pool_rank(const struct invoker_state *invoker, uint32_t function, uint32_t gpu)
{
    uint32_t low = 0, high = invoker->pool_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct pool_entry *entry = &invoker->pools[middle];
        if (entry->function < function || (entry->function == function && entry->gpu < gpu))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct pool_range pools_find(const struct cluster *cluster, uint32_t invoker, uint32_t function)
{
    const struct invoker_state *state = &cluster->invokers[invoker];
    struct pool_range range;
    range.first = range.end = pool_rank(state, function, 0);
    while (range.end < state->pool_count && state->pools[range.end].function == function)
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

/* Pools of an invoker that are allocated together, as they are looked at together. */
enum { POOLS_TOGETHER = 8 };

/* A pool that is not in use; SIM_NONE when out of memory. */
static uint32_t pool_allocate(struct cluster *cluster, struct invoker_state *invoker)
{
    if (invoker->next_pool != invoker->pools_end)
        return invoker->next_pool++;
    const uint32_t id = cluster->pool_free;
    if (id != SIM_NONE) {
        cluster->pool_free = cluster->pools[id].starting_head;
        return id;
    }
    if (cluster->pools_used + POOLS_TOGETHER > cluster->pool_capacity) {
        const uint32_t capacity = cluster->pool_capacity == 0 ? 64 : 2 * cluster->pool_capacity;
        struct container_pool *grown = realloc(cluster->pools, capacity * sizeof *grown);
        if (grown == NULL)
            return SIM_NONE;
        cluster->pools = grown;
        cluster->pool_capacity = capacity;
    }
    invoker->next_pool = cluster->pools_used;
    cluster->pools_used += POOLS_TOGETHER;
    invoker->pools_end = cluster->pools_used;
    return invoker->next_pool++;
}

/* Room for one more pool on the invoker. */
static bool invoker_make_room(struct invoker_state *invoker)
{
    if (invoker->pool_count < invoker->pool_capacity)
        return true;
    const uint32_t capacity = invoker->pool_capacity == 0 ? 4 : 2 * invoker->pool_capacity;
    struct pool_entry *grown = realloc(invoker->pools, capacity * sizeof *grown);
    if (grown == NULL)
        return false;
    invoker->pools = grown;
    invoker->pool_capacity = capacity;
    return true;
}

uint32_t pool_take(struct cluster *cluster, uint32_t function, uint32_t invoker, uint32_t gpu)
{
    struct invoker_state *state = &cluster->invokers[invoker];
    const uint32_t rank = pool_rank(state, function, gpu);
    if (rank < state->pool_count && state->pools[rank].function == function &&
        state->pools[rank].gpu == gpu)
        return state->pools[rank].pool;
    const uint32_t id = invoker_make_room(state) ? pool_allocate(cluster, state) : SIM_NONE;
    if (id == SIM_NONE)
        return SIM_NONE;
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
    state->pools[rank] = (struct pool_entry){.function = function, .gpu = gpu, .pool = id};
    state->pool_count++;
    return id;
}

bool pool_tidy(struct cluster *cluster, uint32_t id)
{
    struct container_pool *pool = &cluster->pools[id];
    struct invoker_state *invoker = &cluster->invokers[pool->invoker];
    if (pool->containers > 0 || pool->position != SIM_NONE)
        return false;
    const uint32_t rank = pool_rank(invoker, pool->function, pool->gpu);
    invoker->pool_count--;
    memmove(&invoker->pools[rank], &invoker->pools[rank + 1],
            (invoker->pool_count - rank) * sizeof *invoker->pools);
    pool->starting_head = cluster->pool_free;
    cluster->pool_free = id;
    return true;
}

/* ---- Lists of containers --------------------------------------------------------------------- */

/* `tail` NULL: the list's end is not kept. */
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

/* Its invoker is to be filed with it. */
static void pool_changes(struct cluster *cluster, const struct container_pool *pool)
{
    struct invoker_state *invoker = &cluster->invokers[pool->invoker];
    invoker->pools[pool_rank(invoker, pool->function, pool->gpu)].changed = true;
    invoker->pools_changed = true;
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
