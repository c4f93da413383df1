#include "sched/dilu/gpu_pool.h"

#include <math.h>
#include <string.h>

enum { NONE = -1 };

/* ---- Lists ----------------------------------------------------------------------------------- */

static void list_remove(struct dilu_list *list, uint32_t number)
{
    uint32_t i = 0;
    while (list->numbers[i] != number)
        i++;
    list->count--;
    memmove(&list->numbers[i], &list->numbers[i + 1], (list->count - i) * sizeof number);
}

static void list_append(struct dilu_list *list, struct arena *arena, uint32_t number)
{
    *ARENA_NEXT(arena, list->numbers, list->count) = number;
}

/* ---- Set-up ---------------------------------------------------------------------------------- */

void dilu_pool_init(struct dilu_pool *pool, struct arena *arena, const struct dilu_pool_rule *rule,
                    uint32_t nodes, uint32_t per_node, double gpu_memory)
{
    const uint32_t gpus = nodes * per_node;
    *pool = (struct dilu_pool){.arena = arena,
                               .rule = *rule,
                               .gpu_memory = gpu_memory,
                               .gpu_count = gpus,
                               .node_count = nodes};
    pool->gpus = arena_allocate(arena, gpus, sizeof *pool->gpus);
    pool->chosen = arena_allocate(arena, gpus + (size_t)1, sizeof *pool->chosen);
    pool->marked = arena_allocate(arena, gpus, sizeof *pool->marked);
    pool->free_on = arena_allocate(arena, nodes, sizeof *pool->free_on);
    pool->admits_on = arena_allocate(arena, nodes, sizeof *pool->admits_on);
    for (uint32_t g = 0; g < gpus; g++) {
        pool->gpus[g].node = g / per_node;
        list_append(&pool->free, pool->arena, g);
        pool->free_on[g / per_node]++;
    }
}

/* ---- Changes of state ------------------------------------------------------------------------ */

static void activate(struct dilu_pool *pool, uint32_t g)
{
    if (pool->gpus[g].active)
        return;
    list_remove(&pool->free, g);
    pool->free_on[pool->gpus[g].node]--;
    pool->gpus[g].active = true;
    list_append(&pool->active, pool->arena, g);
}

static void deactivate(struct dilu_pool *pool, uint32_t g)
{
    list_remove(&pool->active, g);
    pool->gpus[g].active = false;
    pool->free_on[pool->gpus[g].node]++;
    list_append(&pool->free, pool->arena, g);
}

/* ---- Admission and score --------------------------------------------------------------------- */

static inline bool admits(const struct dilu_pool *pool, uint32_t g, const struct dilu_job *job,
                          double memory)
{
    const struct dilu_pool_gpu *gpu = &pool->gpus[g];
    return gpu->request + job->request <= pool->rule.omega &&
           gpu->limit + job->limit <= pool->rule.gamma &&
           gpu->memory + memory <= pool->gpu_memory && !gpu->barred;
}

/* The first free GPUs into `chosen`; returns whether there are so many. */
static bool first_free(struct dilu_pool *pool, uint32_t count)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < pool->free.count && found < count; i++)
        if (!pool->gpus[pool->free.numbers[i]].barred)
            pool->chosen[found++] = pool->free.numbers[i];
    return found == count;
}

static inline double score(const struct dilu_pool *pool, uint32_t g, const struct dilu_job *job)
{
    const struct dilu_pool_gpu *gpu = &pool->gpus[g];
    const double compute = 1 - (gpu->request + job->request);
    const double memory = 1 - (gpu->memory + job->memory) / pool->gpu_memory;
    if (pool->rule.scheme != DILU_WHOLE)
        return compute;
    return pool->rule.alpha * compute + (1 - pool->rule.alpha) * memory;
}

/* The admissible GPU of the least score among those of a list that are marked, or not. */
static int64_t best_of(const struct dilu_pool *pool, const struct dilu_list *list, bool marked,
                       const struct dilu_job *job)
{
    int64_t best = NONE;
    double least = INFINITY;
    for (uint32_t i = 0; i < list->count; i++) {
        const uint32_t g = list->numbers[i];
        if (pool->marked[g] != marked || !admits(pool, g, job, job->memory))
            continue;
        const double own = score(pool, g, job);
        if (own < least) {
            least = own;
            best = g;
        }
    }
    return best;
}

/* ---- Inference ------------------------------------------------------------------------------- */

static void mark_training(struct dilu_pool *pool, uint32_t here, const struct dilu_placed *training)
{
    for (uint32_t i = 0; i < training->count; i++)
        pool->marked[training->gpus[i]] = true;
    pool->marked[here] = false;
}

/* Marks the other GPUs of trainings beside which the function already runs: its instances there
 * suffer equally from the training's synchronised steps. */
static bool mark_affine(struct dilu_pool *pool, uint32_t function)
{
    const bool runs = function < arena_room(pool->instances, sizeof *pool->instances) &&
                      pool->instances[function] > 0;
    bool any = false;
    for (uint32_t i = 0; i < pool->active.count && runs; i++) {
        const struct dilu_pool_gpu *gpu = &pool->gpus[pool->active.numbers[i]];
        bool beside = false;
        for (uint32_t r = 0; r < gpu->residents.count && !beside; r++) {
            const struct dilu_job *job = &pool->placed[gpu->residents.numbers[r]].job;
            beside = job->kind != DILU_TRAINING && job->function == function;
        }
        for (uint32_t r = 0; r < gpu->residents.count && beside; r++)
            if (pool->placed[gpu->residents.numbers[r]].job.kind == DILU_TRAINING) {
                mark_training(pool, pool->active.numbers[i],
                              &pool->placed[gpu->residents.numbers[r]]);
                any = true;
            }
    }
    return any;
}

static int64_t choose_inference(struct dilu_pool *pool, const struct dilu_job *job)
{
    const bool affine = mark_affine(pool, job->function);
    int64_t best = affine ? best_of(pool, &pool->active, true, job) : NONE;
    if (best == NONE)
        best = best_of(pool, &pool->active, false, job);
    if (affine)
        memset(pool->marked, 0, pool->gpu_count * sizeof *pool->marked);
    if (best == NONE && pool->rule.scheme == DILU_WHOLE)
        best = best_of(pool, &pool->free, false, job);
    else if (best == NONE && first_free(pool, 1))
        best = pool->chosen[0];
    return best;
}

/* ---- Large language models ------------------------------------------------------------------- */

/* GPUs of a node that admit request and limit, the fullest first; equal ones by activation. */
static uint32_t fullest_first(struct dilu_pool *pool, uint32_t node, const struct dilu_job *job)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pool->active.count; i++) {
        const uint32_t g = pool->active.numbers[i];
        if (pool->gpus[g].node != node || !admits(pool, g, job, 0))
            continue;
        uint32_t to = count++;
        for (; to > 0 && pool->gpus[pool->chosen[to - 1]].memory < pool->gpus[g].memory; to--)
            pool->chosen[to] = pool->chosen[to - 1];
        pool->chosen[to] = g;
    }
    return count;
}

/* The first node, in order of activation, whose GPUs together have the memory; into `chosen` and
 * `memories`. Returns the number of GPUs used, 0 if there is no such node. */
static uint32_t split_model(struct dilu_pool *pool, const struct dilu_job *job, double *memories)
{
    memset(pool->admits_on, 0, pool->node_count * sizeof *pool->admits_on);
    for (uint32_t i = 0; i < pool->active.count; i++) {
        const uint32_t node = pool->gpus[pool->active.numbers[i]].node;
        if (pool->admits_on[node] > 0 || !admits(pool, pool->active.numbers[i], job, 0))
            continue;
        pool->admits_on[node] = 1;
        const uint32_t count = fullest_first(pool, node, job);
        double room = 0;
        for (uint32_t k = 0; k < count; k++)
            room += pool->gpu_memory - pool->gpus[pool->chosen[k]].memory;
        if (room < job->memory)
            continue;
        double left = job->memory;
        uint32_t used = 0;
        for (; used < count && left > 0; used++) {
            memories[used] = fmin(pool->gpu_memory - pool->gpus[pool->chosen[used]].memory, left);
            left -= memories[used];
        }
        return used;
    }
    return 0;
}

/* ---- Trainings ------------------------------------------------------------------------------- */

/* The first node, in order of activation, with enough admissible active GPUs; else the first node
 * by number where these and its free GPUs are enough, active ones first. Returns whether there is
 * one.
 */
static bool choose_training(struct dilu_pool *pool, const struct dilu_job *job)
{
    int64_t node = NONE;
    uint32_t admitted = 0, count = 0;
    memset(pool->admits_on, 0, pool->node_count * sizeof *pool->admits_on);
    for (uint32_t i = 0; i < pool->active.count; i++)
        if (admits(pool, pool->active.numbers[i], job, job->memory)) {
            pool->chosen[admitted++] = pool->active.numbers[i];
            pool->admits_on[pool->gpus[pool->active.numbers[i]].node]++;
        }
    for (uint32_t i = 0; i < admitted && node == NONE; i++)
        if (pool->admits_on[pool->gpus[pool->chosen[i]].node] >= job->gpus)
            node = pool->gpus[pool->chosen[i]].node;
    for (uint32_t n = 0; n < pool->node_count && node == NONE; n++)
        if (pool->admits_on[n] + pool->free_on[n] >= job->gpus)
            node = n;
    if (node == NONE)
        return false;
    for (uint32_t i = 0; i < admitted && count < job->gpus; i++)
        if (pool->gpus[pool->chosen[i]].node == node)
            pool->chosen[count++] = pool->chosen[i];
    for (uint32_t i = 0; i < pool->free.count && count < job->gpus; i++)
        if (pool->gpus[pool->free.numbers[i]].node == node &&
            !pool->gpus[pool->free.numbers[i]].barred)
            pool->chosen[count++] = pool->free.numbers[i];
    return true;
}

/* ---- Starting and ending --------------------------------------------------------------------- */

/* Chooses GPUs into `chosen`; a split model also its memory on each. Returns their number. */
static uint32_t choose(struct dilu_pool *pool, const struct dilu_job *job, double *memories,
                       bool *split)
{
    *split = false;
    if (pool->rule.scheme == DILU_EXCLUSIVE) {
        const uint32_t count = job->kind == DILU_TRAINING ? job->gpus : 1;
        return first_free(pool, count) ? count : 0;
    }
    if (job->kind == DILU_TRAINING)
        return choose_training(pool, job) ? job->gpus : 0;
    int64_t gpu = NONE;
    if (job->kind == DILU_INFERENCE || pool->rule.scheme != DILU_WHOLE) {
        gpu = choose_inference(pool, job);
    } else {
        gpu = best_of(pool, &pool->active, false, job);
        if (gpu == NONE) {
            const uint32_t count = split_model(pool, job, memories);
            *split = count > 0;
            if (count > 0)
                return count;
            gpu = first_free(pool, 1) ? (int64_t)pool->chosen[0] : NONE;
        }
    }
    if (gpu == NONE)
        return 0;
    pool->chosen[0] = (uint32_t)gpu;
    return 1;
}

/* Enters a job on the chosen GPUs. `memories` is that of a split model on each, NULL for others. */
static void note(struct dilu_pool *pool, uint32_t instance, const struct dilu_job *job,
                 uint32_t count, const double *memories)
{
    arena_reserve(pool->arena, &pool->placed, instance + (size_t)1, sizeof *pool->placed);
    struct dilu_placed *placed = &pool->placed[instance];
    *placed = (struct dilu_placed){
        .job = *job,
        .count = count,
        .gpus = arena_allocate(pool->arena, count, sizeof *placed->gpus),
        .memories = arena_allocate(pool->arena, count, sizeof *placed->memories)};
    if (job->kind != DILU_TRAINING) {
        arena_reserve(pool->arena, &pool->instances, job->function + (size_t)1,
                      sizeof *pool->instances);
        pool->instances[job->function]++;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t g = pool->chosen[i];
        struct dilu_pool_gpu *gpu = &pool->gpus[g];
        activate(pool, g);
        placed->gpus[i] = g;
        placed->memories[i] = memories != NULL ? memories[i] : job->memory;
        gpu->request += job->request;
        /* A split model adds its request to Σ limit, but subtracts its limit at the end. */
        gpu->limit += memories != NULL ? job->request : job->limit;
        gpu->memory += placed->memories[i];
        list_append(&gpu->residents, pool->arena, instance);
    }
}

uint32_t dilu_pool_start(struct dilu_pool *pool, const struct dilu_job *job)
{
    struct dilu_job own = *job;
    bool split = false;
    if (pool->rule.scheme == DILU_INFLESS_L)
        own.request = own.limit;
    else if (pool->rule.scheme == DILU_INFLESS_R)
        own.limit = own.request;
    double *memories =
        arena_allocate(pool->arena, (size_t)pool->active.count + own.gpus, sizeof *memories);
    const uint32_t count = choose(pool, &own, memories, &split);
    uint32_t instance = DILU_NOT_PLACED;
    if (count > 0) {
        instance = pool->placed_count++;
        note(pool, instance, &own, count, split ? memories : NULL);
    }
    arena_release(pool->arena, memories);
    return instance;
}

void dilu_pool_end(struct dilu_pool *pool, uint32_t instance)
{
    struct dilu_placed *placed = &pool->placed[instance];
    uint32_t emptied = 0;
    if (placed->job.kind != DILU_TRAINING && placed->count > 0)
        pool->instances[placed->job.function]--;
    for (uint32_t i = 0; i < placed->count; i++) {
        struct dilu_pool_gpu *gpu = &pool->gpus[placed->gpus[i]];
        gpu->request -= placed->job.request;
        gpu->limit -= placed->job.limit;
        gpu->memory -= placed->memories[i];
        list_remove(&gpu->residents, instance);
        pool->marked[placed->gpus[i]] = gpu->residents.count == 0;
        emptied += gpu->residents.count == 0 ? 1 : 0;
    }
    /* In order of activation. */
    for (uint32_t i = 0; i < pool->active.count && emptied > 0;) {
        const uint32_t g = pool->active.numbers[i];
        if (!pool->marked[g]) {
            i++;
            continue;
        }
        pool->marked[g] = false;
        deactivate(pool, g);
        emptied--;
    }
    arena_release(pool->arena, placed->gpus);
    arena_release(pool->arena, placed->memories);
    placed->gpus = NULL;
    placed->memories = NULL;
    placed->count = 0;
}

void dilu_pool_bar(struct dilu_pool *pool, uint32_t gpu)
{
    struct dilu_pool_gpu *here = &pool->gpus[gpu];
    if (here->barred)
        return;
    here->barred = true;
    pool->barred++;
    pool->free_on[here->node] -= here->active ? 0 : 1;
}

void dilu_pool_admit_all(struct dilu_pool *pool)
{
    for (uint32_t g = 0; g < pool->gpu_count && pool->barred > 0; g++) {
        if (!pool->gpus[g].barred)
            continue;
        pool->gpus[g].barred = false;
        pool->barred--;
        pool->free_on[pool->gpus[g].node] += pool->gpus[g].active ? 0 : 1;
    }
}
