#include "sched/common/planner.h"

#include <math.h>
#include <stdlib.h>

#include "sched/common/kinds.h"

/* The non-dominated configurations of batch <= `batch`: ascending time, strictly descending cost
 * per job. */
struct level {
    uint32_t batch;
    size_t step_count;
    uint32_t *steps; /* indices into function.configurations */
    uint32_t smallest;
    uint32_t largest;
};

/* What a function can do on the GPUs of one kind. */
struct surface {
    size_t level_count; /* ascending batch */
    struct level *levels;
};

struct share {
    double of_slo;
    double of_slack;
};

struct planner {
    const struct workload *workload;
    struct arena *arena;
    uint32_t kinds;
    struct surface *surfaces; /* per function and kind; empty if no stage uses the function */
    double *mean_time;        /* per function: over the usable configurations that the split
                               * considers, of all kinds; NAN if no stage uses it */
    struct share *shares;     /* per queue */
};

bool planner_group_runs(const struct invoker_group *group, const struct function *function,
                        const struct configuration *configuration)
{
    const double memory_mb = configuration->gpu_memory_mb;
    if (configuration->vcpu > group->vcpus || function->host_memory_mb > group->memory_mb)
        return false;
    if (configuration->vgpu == 0 && !(memory_mb > 0))
        return true;
    for (size_t g = 0; g < group->gpu_count; g++)
        if (configuration->vgpu == 0
                ? memory_mb <= group->gpus[g].memory_mb
                : group->gpus[g].kind == configuration->kind &&
                      gpu_allows(&group->gpus[g], configuration->vgpu) &&
                      gpu_holds(&group->gpus[g], configuration->vgpu, memory_mb))
            return true;
    return false;
}

bool planner_cluster_runs(const struct cluster_spec *cluster, const struct function *function,
                          const struct configuration *configuration)
{
    for (size_t g = 0; g < cluster->group_count; g++)
        if (cluster->groups[g].count > 0 &&
            planner_group_runs(&cluster->groups[g], function, configuration))
            return true;
    return false;
}

/* An index with its configuration, so that qsort needs no context. */
struct candidate {
    const struct configuration *configuration;
    uint32_t index;
};

static int compare_time_cost(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    if (a->configuration->time != b->configuration->time)
        return a->configuration->time < b->configuration->time ? -1 : 1;
    if (a->configuration->cost_per_job_usd < b->configuration->cost_per_job_usd)
        return -1;
    if (a->configuration->cost_per_job_usd > b->configuration->cost_per_job_usd)
        return 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* < 0 if a holds less than b. At equal size the larger batch is preferred, for smallest and largest
 * alike. */
static int compare_size(const struct configuration *a, const struct configuration *b)
{
    if (a->vgpu != b->vgpu)
        return (int)a->vgpu - (int)b->vgpu;
    return (int)a->vcpu - (int)b->vcpu;
}

static void level_build(struct level *level, struct arena *arena,
                        const struct candidate *candidates, size_t count, uint32_t batch)
{
    const struct configuration *smallest = NULL;
    const struct configuration *largest = NULL;
    level->batch = batch;
    level->steps = arena_allocate(arena, count, sizeof *level->steps);
    double cheapest = 0;
    for (size_t i = 0; i < count; i++) {
        const struct configuration *here = candidates[i].configuration;
        if (here->batch > batch)
            continue;
        if (level->step_count == 0 || here->cost_per_job_usd < cheapest) {
            cheapest = here->cost_per_job_usd;
            level->steps[level->step_count++] = candidates[i].index;
        }
        const int below = smallest == NULL ? -1 : compare_size(here, smallest);
        if (below < 0 || (below == 0 && here->batch > smallest->batch)) {
            smallest = here;
            level->smallest = candidates[i].index;
        }
        const int above = largest == NULL ? 1 : compare_size(here, largest);
        if (above > 0 || (above == 0 && here->batch > largest->batch)) {
            largest = here;
            level->largest = candidates[i].index;
        }
    }
}

/* The candidates are sorted by time; each distinct batch becomes a level. */
static void surface_fill(struct surface *surface, struct arena *arena,
                         const struct candidate *candidates, size_t count)
{
    surface->levels = arena_allocate(arena, count, sizeof *surface->levels);
    uint32_t last = 0;
    for (;;) {
        uint32_t next = UINT32_MAX;
        for (size_t i = 0; i < count; i++) {
            const uint32_t batch = candidates[i].configuration->batch;
            if (batch > last && batch < next)
                next = batch;
        }
        if (next == UINT32_MAX)
            return;
        level_build(&surface->levels[surface->level_count++], arena, candidates, count, next);
        last = next;
    }
}

/* Sum and number of times, over the configurations of batches up to `max_batch`. */
static void add_times(const struct candidate *candidates, size_t count, uint32_t max_batch,
                      double *sum, size_t *used)
{
    for (size_t i = 0; i < count; i++) {
        if (candidates[i].configuration->batch > max_batch)
            continue;
        *sum += (double)candidates[i].configuration->time;
        ++*used;
    }
}

static struct surface *surface_of(const struct planner *planner, uint32_t function, uint32_t kind)
{
    return &planner->surfaces[(size_t)function * planner->kinds + kind];
}

/* The usable configurations of one kind. */
static size_t candidates_find(const struct planner *planner, uint32_t index, uint32_t kind,
                              uint32_t max_batch, struct candidate *candidates)
{
    const struct function *function = &planner->workload->functions[index];
    size_t count = 0;
    for (uint32_t i = 0; i < function->configuration_count; i++) {
        const struct configuration *here = &function->configurations[i];
        if (here->kind == kind && here->batch <= max_batch &&
            planner_cluster_runs(&planner->workload->cluster, function, here))
            candidates[count++] = (struct candidate){here, i};
    }
    return count;
}

static bool surfaces_build(struct planner *planner, uint32_t index, uint32_t max_batch,
                           enum planner_split split, struct error *error)
{
    const struct function *function = &planner->workload->functions[index];
    struct candidate *candidates =
        arena_allocate(planner->arena, function->configuration_count, sizeof *candidates);
    bool single = false;
    double sum = 0;
    size_t used = 0;
    for (uint32_t k = 0; k < planner->kinds; k++) {
        struct surface *surface = surface_of(planner, index, k);
        const size_t count = candidates_find(planner, index, k, max_batch, candidates);
        add_times(candidates, count, split == PLANNER_DOMINATOR ? max_batch : 1, &sum, &used);
        qsort(candidates, count, sizeof *candidates, compare_time_cost);
        surface_fill(surface, planner->arena, candidates, count);
        single = single || (surface->level_count > 0 && surface->levels[0].batch == 1);
    }
    arena_release(planner->arena, candidates);
    planner->mean_time[index] = used > 0 ? sum / (double)used : 0;
    return single ||
           error_run(error,
                     "function \"%s\" has no configuration of batch 1 that any invoker of the "
                     "cluster could run; give it one, or the cluster larger invokers",
                     function->name);
}

static void shares_fill(struct planner *planner, const struct application *application,
                        enum planner_split split)
{
    const size_t count = application->stage_count;
    const struct arena_block *scratch = planner->arena->blocks;
    double *mean_time = arena_allocate(planner->arena, count, sizeof *mean_time);
    for (size_t s = 0; s < count; s++) {
        const double mean = planner->mean_time[application->stages[s].function];
        mean_time[s] = mean > 0 ? mean : 1;
    }
    const struct slo_plan *plan =
        slo_plan_create(planner->arena, application, mean_time, 1, (enum slo_split)split);
    for (size_t s = 0; s < count; s++)
        planner->shares[application->first_queue + s] =
            (struct share){plan->stages[s].slot, plan->stages[s].slot_of_rest};
    arena_rewind(planner->arena, scratch);
}

static bool planner_fill(struct planner *planner, uint32_t max_batch, enum planner_split split,
                         struct error *error)
{
    const struct workload *workload = planner->workload;
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        for (size_t s = 0; s < application->stage_count; s++) {
            const uint32_t function = application->stages[s].function;
            if (isnan(planner->mean_time[function]) &&
                !surfaces_build(planner, function, max_batch, split, error))
                return false;
        }
        shares_fill(planner, application, split);
    }
    return true;
}

struct planner *planner_create(struct arena *arena, const struct workload *workload,
                               uint32_t max_batch, enum planner_split split, struct error *error)
{
    const size_t functions = workload->function_count;
    struct planner *planner = arena_allocate(arena, 1, sizeof *planner);
    planner->workload = workload;
    planner->arena = arena;
    planner->kinds = (uint32_t)workload->kind_count;
    planner->surfaces =
        arena_allocate(arena, functions * planner->kinds, sizeof *planner->surfaces);
    planner->mean_time = arena_allocate(arena, functions, sizeof *planner->mean_time);
    planner->shares = arena_allocate(arena, workload->queue_count, sizeof *planner->shares);
    for (size_t f = 0; f < functions; f++)
        planner->mean_time[f] = NAN;
    return planner_fill(planner, max_batch, split, error) ? planner : NULL;
}

bool planner_runs(const struct planner *planner, uint32_t function, uint32_t configuration)
{
    const struct function *spec = &planner->workload->functions[function];
    return planner_cluster_runs(&planner->workload->cluster, spec,
                                &spec->configurations[configuration]);
}

int planner_share(const struct planner *planner, uint32_t function, uint32_t kind, uint32_t most)
{
    const struct function *spec = &planner->workload->functions[function];
    int share = -1;
    for (uint32_t i = 0; i < spec->configuration_count; i++) {
        const struct configuration *here = &spec->configurations[i];
        if (here->kind != kind || here->batch != 1 || !planner_runs(planner, function, i))
            continue;
        if (share < 0 ||
            (here->vgpu <= most ? share > (int)most || here->vgpu > share : here->vgpu < share))
            share = here->vgpu;
    }
    return share;
}

bool planner_uses_gpus(const struct planner *planner, uint64_t kinds, uint32_t function,
                       uint32_t jobs)
{
    const struct function *spec = &planner->workload->functions[function];
    bool uses = false;
    for (uint32_t i = 0; i < spec->configuration_count && !uses; i++)
        uses = spec->configurations[i].vgpu > 0 && spec->configurations[i].batch <= jobs &&
               kinds_contain(kinds, spec->configurations[i].kind) &&
               planner_runs(planner, function, i);
    return uses;
}

sim_time_t planner_budget(const struct planner *planner, uint32_t queue, sim_time_t slo)
{
    return (sim_time_t)((double)slo * planner->shares[queue].of_slo);
}

sim_time_t planner_budget_left(const struct planner *planner, uint32_t queue, sim_time_t slack)
{
    return (sim_time_t)((double)slack * planner->shares[queue].of_slack);
}

/* The level of the largest batch <= jobs (>= 1); NULL if the function has none on the kind. */
static const struct level *level_for(const struct planner *planner, uint32_t function,
                                     uint32_t kind, uint32_t jobs)
{
    const struct surface *surface = surface_of(planner, function, kind);
    size_t i = surface->level_count;
    while (i > 0 && surface->levels[i - 1].batch > jobs)
        i--;
    return i > 0 ? &surface->levels[i - 1] : NULL;
}

/* The last step within the budget; the first, which is the fastest, if none is. */
static uint32_t level_cheapest(const struct level *level, const struct configuration *all,
                               sim_time_t budget)
{
    size_t low = 0;
    size_t high = level->step_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (all[level->steps[middle]].time <= budget)
            low = middle + 1;
        else
            high = middle;
    }
    return level->steps[low > 0 ? low - 1 : 0];
}

uint32_t planner_cheapest_among(const struct planner *planner, uint64_t kinds, uint32_t function,
                                uint32_t jobs, sim_time_t budget)
{
    const struct configuration *all = planner->workload->functions[function].configurations;
    uint32_t best = SIM_NONE;
    bool within = false; /* the best of all kinds so far is within the budget */
    for (uint32_t k = 0; k < planner->kinds; k++) {
        const struct level *level = level_for(planner, function, k, jobs);
        if (level == NULL)
            continue;
        const uint32_t here = level_cheapest(level, all, budget);
        if (planner->kinds == 1)
            return kinds_contain(kinds, k) ? here : SIM_NONE;
        const bool meets = all[here].time <= budget;
        if (within && !meets)
            continue;
        if (meets && !within)
            best = SIM_NONE;
        within = meets;
        if (kinds_contain(kinds, k) &&
            (best == SIM_NONE || (meets ? all[here].cost_per_job_usd < all[best].cost_per_job_usd
                                        : all[here].time < all[best].time)))
            best = here;
    }
    return best;
}

uint32_t planner_smallest_among(const struct planner *planner, uint64_t kinds, uint32_t function,
                                uint32_t jobs)
{
    for (uint32_t k = 0; k < planner->kinds; k++) {
        const struct level *level = level_for(planner, function, k, jobs);
        if (level != NULL && kinds_contain(kinds, k))
            return level->smallest;
    }
    return SIM_NONE;
}

uint32_t planner_largest_among(const struct planner *planner, uint64_t kinds, uint32_t function,
                               uint32_t jobs)
{
    const struct configuration *all = planner->workload->functions[function].configurations;
    uint32_t best = SIM_NONE;
    for (uint32_t k = 0; k < planner->kinds; k++) {
        const struct level *level = level_for(planner, function, k, jobs);
        if (level != NULL && kinds_contain(kinds, k) &&
            (best == SIM_NONE || all[level->largest].time < all[best].time))
            best = level->largest;
    }
    return best;
}

uint32_t planner_substitute(const struct workload *workload, uint64_t kinds, uint32_t function,
                            uint32_t configuration, uint32_t jobs)
{
    const struct function *spec = &workload->functions[function];
    const struct configuration *all = spec->configurations;
    uint32_t best = SIM_NONE;
    for (uint32_t i = 0; i < spec->configuration_count; i++)
        if (kinds_contain(kinds, all[i].kind) && all[i].batch >= jobs &&
            all[i].time <= all[configuration].time &&
            planner_cluster_runs(&workload->cluster, spec, &all[i]) &&
            (best == SIM_NONE || all[i].cost_usd < all[best].cost_usd))
            best = i;
    return best;
}
