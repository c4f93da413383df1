#include "sched/common/planner.h"
#include "workloads/gpu_sharing.h"

#include <stdlib.h>

/* The non-dominated configurations of batch <= `batch`: ascending time, strictly descending cost
 * per job. */
struct level {
    uint32_t batch;
    size_t step_count;
    uint32_t *steps; /* indices into function.configurations */
    uint32_t smallest;
    uint32_t largest;
};

struct surface {
    size_t level_count; /* ascending batch */
    struct level *levels;
    double mean_time; /* over the usable configurations that the split considers */
};

struct share {
    double of_slo;
    double of_slack;
};

struct planner {
    const struct workload *workload;
    struct surface *surfaces; /* per function; empty if no stage uses it */
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
                : gpu_allows(&group->gpus[g], configuration->vgpu) &&
                      gpu_holds(&group->gpus[g], configuration->vgpu, memory_mb))
            return true;
    return false;
}

bool planner_all_mps(const struct cluster_spec *cluster)
{
    for (size_t g = 0; g < cluster->group_count; g++)
        for (size_t i = 0; i < cluster->groups[g].gpu_count; i++)
            if (!gpu_sharing_of(&cluster->groups[g].gpus[i])->divisible)
                return false;
    return true;
}

static bool runs_somewhere(const struct cluster_spec *cluster, const struct function *function,
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

static bool level_build(struct level *level, const struct candidate *candidates, size_t count,
                        uint32_t batch)
{
    const struct configuration *smallest = NULL;
    const struct configuration *largest = NULL;
    level->batch = batch;
    level->steps = calloc(count, sizeof *level->steps);
    if (level->steps == NULL)
        return false;
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
    return true;
}

/* The candidates are sorted by time; each distinct batch becomes a level. */
static bool surface_fill(struct surface *surface, const struct candidate *candidates, size_t count)
{
    surface->levels = calloc(count, sizeof *surface->levels);
    if (surface->levels == NULL)
        return false;
    uint32_t last = 0;
    for (;;) {
        uint32_t next = UINT32_MAX;
        for (size_t i = 0; i < count; i++) {
            const uint32_t batch = candidates[i].configuration->batch;
            if (batch > last && batch < next)
                next = batch;
        }
        if (next == UINT32_MAX)
            return true;
        if (!level_build(&surface->levels[surface->level_count], candidates, count, next))
            return false;
        surface->level_count++;
        last = next;
    }
}

/* Over the configurations of batches up to `max_batch`. */
static double mean_time(const struct candidate *candidates, size_t count, uint32_t max_batch)
{
    double sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (candidates[i].configuration->batch > max_batch)
            continue;
        sum += (double)candidates[i].configuration->time;
        used++;
    }
    return used > 0 ? sum / (double)used : 0;
}

static bool surface_build(struct planner *planner, uint32_t index, uint32_t max_batch,
                          enum planner_split split, struct error *error)
{
    const struct workload *workload = planner->workload;
    const struct function *function = &workload->functions[index];
    struct surface *surface = &planner->surfaces[index];
    struct candidate *candidates = calloc(function->configuration_count + 1, sizeof *candidates);
    if (candidates == NULL)
        return error_run(error, "out of memory for the configurations of function \"%s\"",
                         function->name);
    size_t count = 0;
    for (uint32_t i = 0; i < function->configuration_count; i++) {
        const struct configuration *here = &function->configurations[i];
        if (here->batch > max_batch || !runs_somewhere(&workload->cluster, function, here))
            continue;
        candidates[count++] = (struct candidate){here, i};
    }
    surface->mean_time = mean_time(candidates, count, split == PLANNER_DOMINATOR ? max_batch : 1);
    qsort(candidates, count, sizeof *candidates, compare_time_cost);
    bool done = count == 0 || surface_fill(surface, candidates, count);
    if (!done)
        error_run(error, "out of memory for the configurations of function \"%s\"", function->name);
    if (done && (count == 0 || surface->levels[0].batch != 1))
        done = error_run(error,
                         "function \"%s\" has no configuration of batch 1 that any invoker of the "
                         "cluster could run; give it one, or the cluster larger invokers",
                         function->name);
    free(candidates);
    return done;
}

static bool shares_fill(struct planner *planner, const struct application *application,
                        enum planner_split split)
{
    const size_t count = application->stage_count;
    double *mean_time = calloc(count + 1, sizeof *mean_time);
    if (mean_time == NULL)
        return false;
    for (size_t s = 0; s < count; s++) {
        const double mean = planner->surfaces[application->stages[s].function].mean_time;
        mean_time[s] = mean > 0 ? mean : 1;
    }
    struct slo_plan *plan = slo_plan_create(application, mean_time, 1, (enum slo_split)split);
    for (size_t s = 0; plan != NULL && s < count; s++)
        planner->shares[application->first_queue + s] =
            (struct share){plan->stages[s].slot, plan->stages[s].slot_of_rest};
    free(mean_time);
    slo_plan_destroy(plan);
    return plan != NULL;
}

static bool planner_fill(struct planner *planner, uint32_t max_batch, enum planner_split split,
                         struct error *error)
{
    const struct workload *workload = planner->workload;
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        for (size_t s = 0; s < application->stage_count; s++) {
            const uint32_t function = application->stages[s].function;
            if (planner->surfaces[function].level_count == 0 &&
                !surface_build(planner, function, max_batch, split, error))
                return false;
        }
        if (!shares_fill(planner, application, split))
            return error_run(error, "out of memory for the plan of application \"%s\"",
                             application->name);
    }
    return true;
}

struct planner *planner_create(const struct workload *workload, uint32_t max_batch,
                               enum planner_split split, struct error *error)
{
    struct planner *planner = calloc(1, sizeof *planner);
    if (planner != NULL) {
        planner->workload = workload;
        planner->surfaces = calloc(workload->function_count + 1, sizeof *planner->surfaces);
        planner->shares = calloc((size_t)workload->queue_count + 1, sizeof *planner->shares);
    }
    if (planner == NULL || planner->surfaces == NULL || planner->shares == NULL)
        error_run(error, "out of memory for a plan of %zu functions", workload->function_count);
    else if (planner_fill(planner, max_batch, split, error))
        return planner;
    planner_destroy(planner);
    return NULL;
}

void planner_destroy(struct planner *planner)
{
    if (planner == NULL)
        return;
    for (size_t f = 0; planner->surfaces != NULL && f < planner->workload->function_count; f++) {
        struct surface *surface = &planner->surfaces[f];
        for (size_t i = 0; i < surface->level_count; i++)
            free(surface->levels[i].steps);
        free(surface->levels);
    }
    free(planner->surfaces);
    free(planner->shares);
    free(planner);
}

bool planner_runs(const struct planner *planner, uint32_t function, uint32_t configuration)
{
    const struct function *spec = &planner->workload->functions[function];
    return runs_somewhere(&planner->workload->cluster, spec, &spec->configurations[configuration]);
}

sim_time_t planner_budget(const struct planner *planner, uint32_t queue, sim_time_t slo)
{
    return (sim_time_t)((double)slo * planner->shares[queue].of_slo);
}

sim_time_t planner_budget_left(const struct planner *planner, uint32_t queue, sim_time_t slack)
{
    return (sim_time_t)((double)slack * planner->shares[queue].of_slack);
}

/* The level of the largest batch <= jobs; the first level has batch 1. */
static const struct level *level_for(const struct planner *planner, uint32_t function,
                                     uint32_t jobs)
{
    const struct surface *surface = &planner->surfaces[function];
    size_t i = surface->level_count - 1;
    while (i > 0 && surface->levels[i].batch > jobs)
        i--;
    return &surface->levels[i];
}

uint32_t planner_cheapest(const struct planner *planner, uint32_t function, uint32_t jobs,
                          sim_time_t budget)
{
    const struct configuration *all = planner->workload->functions[function].configurations;
    const struct level *level = level_for(planner, function, jobs);
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

uint32_t planner_smallest(const struct planner *planner, uint32_t function, uint32_t jobs)
{
    return level_for(planner, function, jobs)->smallest;
}

uint32_t planner_largest(const struct planner *planner, uint32_t function, uint32_t jobs)
{
    return level_for(planner, function, jobs)->largest;
}
