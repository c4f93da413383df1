/* gpulet's parameters, and the set-up of its state. */
#include "sched/gpulet/gpulet_internal.h"

#include <math.h>

#include "sched/common/kinds.h"
#include "sched/memory.h"

static const double sizes[SIZES] = {0.2, 0.4, 0.5, 0.6, 0.8, 1};

const struct key gpulet_parameters[] = {
    PARAMETER_WHOLE(gpulet, max_batch, 1, 65535, 32, "most jobs per batch (code)"),
    PARAMETER_WORD(gpulet, split, WORDS("proportional", "equal"), PLANNER_PROPORTIONAL,
                   "a stage's share of the SLO: by mean latency"),
    PARAMETER_SECONDS(gpulet, epoch_s, 0.1, 86400, 20, "between plans (code)"),
    PARAMETER_WORD(gpulet, rate, WORDS("p99", "mean"), RATE_P99,
                   "rate planned for: 99th percentile of a Poisson law (code), or the mean"),
    PARAMETER_NUMBER(gpulet, margin, 1, 10, 1.1, "safety factor on latencies (code)"),
    PARAMETER_WORD(gpulet, interference, WORDS("profile", "none"), INTERFERENCE_PROFILE,
                   "interference between two gpu-lets in the plan (derived)"),
    PARAMETER_NUMBER(gpulet, slack, 0, 1e6, 1e-6,
                     "jobs per second that may remain unplanned (derived; code: 15)"),
    PARAMETER_SWITCH(
        gpulet, own_admission, true,
        "early drop of jobs that the next batch would finish too late (on: derived; code: off)"),
    PARAMETER_SECONDS(gpulet, keep_s, 0, 1e6, 600,
                      "keep-alive of containers that are not in the plan (assumed)"),
    KEY_END,
};

static void gpus_fill(struct gpulets *self, struct platform *platform)
{
    const struct cluster_spec *cluster = &self->workload->cluster;
    size_t count = 0;
    for (size_t g = 0; g < cluster->group_count; g++)
        count += cluster->groups[g].count *
                 (cluster->groups[g].gpu_count > 0 ? cluster->groups[g].gpu_count : 1);
    self->gpus = platform_allocate(platform, count, sizeof *self->gpus);
    uint32_t invoker = 0;
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        const size_t each = group->gpu_count > 0 ? group->gpu_count : 1;
        for (uint32_t i = 0; i < group->count; i++, invoker++)
            for (size_t u = 0; u < each; u++)
                self->gpus[self->gpu_count++] =
                    (struct gpu){.invoker = invoker,
                                 .group = group,
                                 .kind = group->gpu_count > 0 ? group->gpus[u].kind : 0,
                                 .units = group->gpu_count > 0 ? group->gpus[u].units : 1};
    }
    for (size_t i = 0; i < self->gpu_count; i++) {
        struct gpu *gpu = &self->gpus[i];
        struct gpulet_fleet *fleet = &self->fleets[gpu->kind];
        if (fleet->units == 0)
            fleet->units = gpu->units;
        gpu->planned = gpu->units == fleet->units;
        fleet->gpu_count += gpu->planned;
    }
    for (uint32_t k = 0; k < self->kinds; k++)
        self->fleets[k].shared = kinds_divisible(self->workload, k);
}

/* The number of vCPUs that two gpu-lets of every GPU of the kind can have at the same time. */
static uint16_t vcpus_of_gpulet(const struct gpulets *self, uint32_t kind)
{
    uint32_t least = UINT16_MAX;
    for (size_t i = 0; i < self->gpu_count; i++) {
        const struct invoker_group *group = self->gpus[i].group;
        const size_t gpus = group->gpu_count > 0 ? group->gpu_count : 1;
        const uint32_t each = group->vcpus / (uint32_t)(gpus * GPULETS_PER_GPU);
        if (self->gpus[i].kind == kind && each < least)
            least = each;
    }
    return (uint16_t)(least > 0 ? least : 1);
}

/* Finds the shares of used functions that are nearest to the published sizes. */
static void parts_fill(struct gpulets *self, uint32_t kind)
{
    const struct workload *workload = self->workload;
    struct gpulet_fleet *fleet = &self->fleets[kind];
    const uint16_t units = fleet->units;
    for (size_t i = 0; i < SIZES; i++) {
        const double wanted = sizes[i] * units;
        uint16_t best = 0;
        for (uint32_t f = 0; f < workload->function_count; f++)
            for (uint32_t c = 0; c < workload->functions[f].configuration_count; c++) {
                const struct configuration *here = &workload->functions[f].configurations[c];
                if (here->kind != kind || here->batch != 1 || here->vgpu == 0 ||
                    here->vgpu > units || !planner_runs(self->planner, f, c))
                    continue;
                const double far = fabs(here->vgpu - wanted) - fabs(best - wanted);
                if (best == 0 || far < 0 || (!(far > 0) && here->vgpu > best))
                    best = here->vgpu;
            }
        if (i + 1 == SIZES)
            best = units;
        if (best > 0 && (fleet->part_count == 0 || best > fleet->parts[fleet->part_count - 1]))
            fleet->parts[fleet->part_count++] = best;
    }
}

static void latency_tables_fill(struct gpulets *self, struct arena *arena, uint32_t kind)
{
    const struct workload *workload = self->workload;
    const struct gpulet_fleet *fleet = &self->fleets[kind];
    const uint16_t vcpus = vcpus_of_gpulet(self, kind);
    for (uint32_t f = 0; f < workload->function_count; f++)
        for (size_t p = 0; p < fleet->part_count; p++) {
            const int share = planner_share(self->planner, f, kind, fleet->parts[p]);
            if (share >= 0 && (share <= fleet->parts[p] || p + 1 == fleet->part_count))
                batch_latency_fill(&fleet->latency_tables[f * fleet->part_count + p], arena,
                                   workload, self->planner, f, kind, (uint16_t)share, vcpus,
                                   self->parameters->max_batch);
        }
}

static const struct batch_latency *tables_of(const struct gpulet_fleet *fleet, uint32_t function)
{
    return &fleet->latency_tables[function * fleet->part_count];
}

/* A job alone on a whole GPU, of the kind on which this is fastest; 0 if it runs on none. */
static sim_time_t time_alone(const struct gpulets *self, uint32_t function)
{
    sim_time_t least = 0;
    for (uint32_t k = 0; k < self->kinds; k++) {
        const struct batch_latency *whole =
            tables_of(&self->fleets[k], function) + self->fleets[k].part_count - 1;
        if (whole->count > 0 && (least == 0 || whole->time[0] < least))
            least = whole->time[0];
    }
    return least;
}

static void queues_fill(struct gpulets *self, const struct application *application)
{
    sim_time_t alone[WORKLOAD_MAX_STAGES];
    for (uint32_t s = 0; s < application->stage_count; s++) {
        const uint32_t function = application->stages[s].function;
        const uint32_t queue = application->first_queue + s;
        alone[s] = time_alone(self, function);
        for (uint32_t k = 0; k < self->kinds; k++)
            self->fleets[k].tasks[queue] =
                (struct gpulet_task){.slo = planner_budget(self->planner, queue, application->slo),
                                     .latency_tables = tables_of(&self->fleets[k], function)};
    }
    slo_rest(application, alone, &self->rest[application->first_queue]);
}

static void allocate(struct gpulets *self, struct platform *platform)
{
    const struct workload *workload = self->workload;
    const size_t queues = workload->queue_count;
    for (uint32_t k = 0; k < self->kinds; k++) {
        struct gpulet_fleet *fleet = &self->fleets[k];
        fleet->latency_tables = platform_allocate(
            platform, workload->function_count * fleet->part_count, sizeof *fleet->latency_tables);
        fleet->tasks = platform_allocate(platform, queues, sizeof *fleet->tasks);
        fleet->rates = platform_allocate(platform, queues, sizeof *fleet->rates);
    }
    self->rest = platform_allocate(platform, queues, sizeof *self->rest);
    self->arrived = platform_allocate(platform, queues, sizeof *self->arrived);
    self->planned = platform_allocate(
        platform, (size_t)workload->cluster.invoker_count * workload->function_count, 1);
}

bool gpulet_orphan(const void *context, uint32_t queue, uint32_t invoker, uint32_t size,
                   struct duty_cycle_slot *slot)
{
    const struct gpulets *self = context;
    const struct gpulet_fleet *fleet = &self->fleets[size >> 16];
    const uint16_t units = (uint16_t)(size & UINT16_MAX);
    const struct gpulet_task *task = &fleet->tasks[queue];
    const struct batch_latency *latency_table = NULL;
    for (size_t p = 0; p < fleet->part_count; p++)
        if (task->latency_tables[p].count > 0 &&
            (latency_table == NULL || fleet->parts[p] <= units))
            latency_table = &task->latency_tables[p];
    if (latency_table == NULL)
        return false;
    uint32_t batch = 1;
    for (size_t i = 0; i < latency_table->count && 2 * latency_table->time[i] <= task->slo; i++)
        batch = latency_table->batch[i];
    *slot =
        (struct duty_cycle_slot){.queue = queue, .batch = batch, .latency_table = latency_table};
    const struct function *function =
        &self->workload->functions[(size_t)(task->latency_tables - fleet->latency_tables) /
                                   fleet->part_count];
    size_t low = 0;
    for (size_t high = self->gpu_count; high - low > 1;) {
        const size_t middle = low + (high - low) / 2;
        if (self->gpus[middle].invoker <= invoker)
            low = middle;
        else
            high = middle;
    }
    return planner_group_runs(self->gpus[low].group, function,
                              &function->configurations[latency_table->configuration[0]]);
}

static bool set_up(struct gpulets *self, struct platform *platform, struct error *error)
{
    const struct workload *workload = self->workload;
    struct arena *arena = platform_arena(platform);
    self->planner = planner_create(arena, workload, self->parameters->max_batch,
                                   self->parameters->split, error);
    if (self->planner == NULL)
        return false;
    self->kinds = (uint32_t)workload->kind_count;
    self->fleets = platform_allocate(platform, self->kinds, sizeof *self->fleets);
    gpus_fill(self, platform);
    for (uint32_t k = 0; k < self->kinds; k++)
        parts_fill(self, k);
    allocate(self, platform);
    for (uint32_t k = 0; k < self->kinds; k++)
        latency_tables_fill(self, arena, k);
    for (size_t a = 0; a < workload->application_count; a++)
        queues_fill(self, &workload->applications[a]);
    const struct duty_cycle_rule rule = {.orphan = gpulet_orphan,
                                         .context = self,
                                         .rest =
                                             self->parameters->own_admission ? self->rest : NULL,
                                         .retry_timer = TIMER_RETRY,
                                         .retry = self->parameters->epoch_s / 200};
    self->cycle = duty_cycle_create(arena, workload, rule);
    for (size_t g = 0; g < self->gpu_count; g++)
        duty_cycle_add_server(self->cycle, self->gpus[g].invoker,
                              size_of(self->gpus[g].kind, self->gpus[g].units));
    duty_cycle_end(self->cycle, platform);
    return true;
}

bool gpulet_init(void *state, struct platform *platform, const void *parameters,
                 struct error *error)
{
    struct gpulets *self = state;
    self->workload = platform_workload(platform);
    self->parameters = parameters;
    return set_up(self, platform, error);
}
