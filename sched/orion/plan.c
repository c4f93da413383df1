#include "sched/orion/plan.h"

#include <string.h>

/* An evaluated plan. Its children differ from it by one step. */
struct node {
    uint32_t distance; /* distance of the percentile from the target */
    uint32_t order;    /* insertion order, breaks ties */
    double cost;
    uint16_t steps[WORKLOAD_MAX_STAGES];
};

struct search {
    struct orion_model *model;
    size_t stages;
    uint32_t target, cutoff;
    struct orion_plan *plan;
    bool found;
    struct node *nodes; /* binary heap; first: nearest to the target, then cheapest */
    size_t node_count;
    uint32_t made;
    uint16_t *seen; /* open addressing with `stages` steps per slot */
    bool *used;
    size_t seen_count, seen_room; /* a power of two */
};

static bool exhausted(const struct search *search)
{
    return search->plan->evaluations >= search->cutoff;
}

static uint32_t evaluate(struct search *search, const uint16_t *steps)
{
    search->plan->evaluations++;
    return orion_model_latency(search->model, steps);
}

static void keep(struct search *search, const uint16_t *steps, uint32_t latency, double cost)
{
    search->found = true;
    search->plan->latency = latency;
    search->plan->cost_usd = cost;
    memcpy(search->plan->steps, steps, search->stages * sizeof *steps);
}

/* ---- Plans seen ------------------------------------------------------------------------------ */

static size_t seen_slot(const struct search *search, const uint16_t *steps)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t s = 0; s < search->stages; s++)
        hash = (hash ^ steps[s]) * UINT64_C(0x100000001b3);
    size_t slot = (size_t)(hash ^ hash >> 32) & (search->seen_room - 1);
    while (search->used[slot] &&
           memcmp(search->seen + slot * search->stages, steps, search->stages * sizeof *steps) != 0)
        slot = (slot + 1) & (search->seen_room - 1);
    return slot;
}

static void seen_grow(struct search *search)
{
    struct search larger = *search;
    larger.seen_room = search->seen_room > 0 ? search->seen_room * 2 : 64;
    struct arena *arena = search->model->arena;
    larger.seen = arena_allocate(arena, larger.seen_room * search->stages, sizeof *larger.seen);
    larger.used = arena_allocate(arena, larger.seen_room, sizeof *larger.used);
    for (size_t i = 0; i < search->seen_room; i++) {
        if (!search->used[i])
            continue;
        const uint16_t *steps = search->seen + i * search->stages;
        const size_t slot = seen_slot(&larger, steps);
        larger.used[slot] = true;
        memcpy(larger.seen + slot * search->stages, steps, search->stages * sizeof *steps);
    }
    arena_release(arena, search->seen);
    arena_release(arena, search->used);
    *search = larger;
}

/* Adds the plan to the set; true if it was not in it. */
static bool seen_add(struct search *search, const uint16_t *steps)
{
    if (search->seen_count * 2 >= search->seen_room)
        seen_grow(search);
    const size_t slot = seen_slot(search, steps);
    if (search->used[slot])
        return false;
    search->used[slot] = true;
    search->seen_count++;
    memcpy(search->seen + slot * search->stages, steps, search->stages * sizeof *steps);
    return true;
}

/* ---- Queue ----------------------------------------------------------------------------------- */

static bool node_before(const struct node *a, const struct node *b)
{
    if (a->distance != b->distance)
        return a->distance < b->distance;
    return a->cost != b->cost ? a->cost < b->cost : a->order < b->order;
}

static void node_push(struct search *search, const struct node *node)
{
    arena_reserve(search->model->arena, &search->nodes, search->node_count + 1, sizeof *node);
    size_t at = search->node_count++;
    while (at > 0 && node_before(node, &search->nodes[(at - 1) / 2])) {
        search->nodes[at] = search->nodes[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    search->nodes[at] = *node;
}

static struct node node_pop(struct search *search)
{
    const struct node first = search->nodes[0];
    const struct node last = search->nodes[--search->node_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= search->node_count)
            break;
        if (child + 1 < search->node_count &&
            node_before(&search->nodes[child + 1], &search->nodes[child]))
            child++;
        if (!node_before(&search->nodes[child], &last))
            break;
        search->nodes[at] = search->nodes[child];
        at = child;
    }
    if (search->node_count > 0)
        search->nodes[at] = last;
    return first;
}

/* ---- Search ---------------------------------------------------------------------------------- */

static void fastest(const struct search *search, uint16_t *steps)
{
    for (size_t s = 0; s < search->stages; s++)
        steps[s] = (uint16_t)(search->model->latency_tables[s].count - 1);
}

/* Computes first[s], the cheapest step of stage s that is feasible with all other stages at their
 * fastest. Uses bisection, because the percentile decreases from step to step. At the cut-off the
 * remaining steps are kept. */
static void cut_slow(struct search *search, uint16_t *first)
{
    uint16_t steps[WORKLOAD_MAX_STAGES] = {0};
    for (size_t s = 0; s < search->stages; s++) {
        size_t low = 0;
        size_t high = search->model->latency_tables[s].count - 1;
        fastest(search, steps);
        while (low < high && !exhausted(search)) {
            const size_t middle = (low + high) / 2;
            steps[s] = (uint16_t)middle;
            const uint32_t latency = evaluate(search, steps);
            if (latency > search->target) {
                low = middle + 1;
                continue;
            }
            high = middle;
            const double cost = orion_model_cost(search->model, steps);
            if (!search->found || cost < search->plan->cost_usd)
                keep(search, steps, latency, cost);
        }
        first[s] = (uint16_t)low;
    }
}

/* Evaluates `steps`. An infeasible plan is queued. A feasible plan is stored if it is the cheapest,
 * and not queued, because every step from it costs more. A plan that costs at least as much as the
 * best is discarded for the same reason. */
static void offer(struct search *search, const uint16_t *steps)
{
    struct node node = {.cost = orion_model_cost(search->model, steps), .order = search->made};
    if ((search->found && node.cost >= search->plan->cost_usd) || exhausted(search) ||
        !seen_add(search, steps))
        return;
    const uint32_t latency = evaluate(search, steps);
    search->made++;
    if (latency <= search->target) {
        keep(search, steps, latency, node.cost);
        return;
    }
    node.distance = latency - search->target;
    memcpy(node.steps, steps, search->stages * sizeof *steps);
    node_push(search, &node);
}

static void best_first(struct search *search, const uint16_t *first)
{
    offer(search, first);
    while (search->node_count > 0 && !exhausted(search)) {
        struct node node = node_pop(search);
        for (size_t s = 0; s < search->stages; s++) {
            if (node.steps[s] + 1u >= search->model->latency_tables[s].count)
                continue;
            node.steps[s]++;
            offer(search, node.steps);
            node.steps[s]--;
        }
    }
}

/* From the cheapest plan, the step that lowers the percentile most, until the target is met. */
static void steepest(struct search *search)
{
    uint16_t steps[WORKLOAD_MAX_STAGES] = {0};
    uint32_t latency = evaluate(search, steps);
    while (latency > search->target && !exhausted(search)) {
        size_t best = search->stages;
        uint32_t least = UINT32_MAX;
        for (size_t s = 0; s < search->stages && !exhausted(search); s++) {
            if (steps[s] + 1u >= search->model->latency_tables[s].count)
                continue;
            steps[s]++;
            const uint32_t here = evaluate(search, steps);
            steps[s]--;
            if (here < least) {
                least = here;
                best = s;
            }
        }
        if (best == search->stages)
            return;
        steps[best]++;
        latency = least;
    }
    if (latency <= search->target)
        keep(search, steps, latency, orion_model_cost(search->model, steps));
}

static void plan_complete(struct search *search)
{
    struct orion_plan *plan = search->plan;
    for (size_t s = 0; s < search->stages; s++)
        plan->configuration[s] = search->model->latency_tables[s].configuration[plan->steps[s]];
    orion_model_starts(search->model, plan->steps, plan->start);
}

void orion_plan_search(struct orion_model *model, uint32_t target, uint32_t cutoff,
                       enum orion_method method, struct orion_plan *plan)
{
    struct search search = {.model = model,
                            .stages = model->application->stage_count,
                            .target = target,
                            .cutoff = cutoff,
                            .plan = plan};
    uint16_t steps[WORKLOAD_MAX_STAGES] = {0};
    *plan = (struct orion_plan){0};
    fastest(&search, steps);
    const uint32_t latency = evaluate(&search, steps);
    keep(&search, steps, latency, orion_model_cost(model, steps));
    search.found = latency <= target;
    if (search.found && method == ORION_GREEDY && !exhausted(&search)) {
        steepest(&search);
    } else if (search.found && method == ORION_BEST_FIRST) {
        uint16_t first[WORKLOAD_MAX_STAGES] = {0};
        cut_slow(&search, first);
        best_first(&search, first);
    }
    plan->feasible = search.found;
    plan_complete(&search);
    arena_release(model->arena, search.nodes);
    arena_release(model->arena, search.seen);
    arena_release(model->arena, search.used);
}

uint32_t orion_fit_jobs(const struct function *function, uint32_t planned, uint32_t jobs)
{
    const struct configuration *all = function->configurations;
    for (uint32_t i = 0; i < planned; i++) /* ascending batch */
        if (all[i].batch >= jobs && all[i].kind == all[planned].kind &&
            all[i].vcpu == all[planned].vcpu && all[i].vgpu == all[planned].vgpu &&
            all[i].time <= all[planned].time)
            return i;
    return planned;
}
