/* gpulet (Choi et al., "Serving Heterogeneous Machine Learning Models on Multi-GPU Servers with
 * Spatio-Temporal Sharing", ATC'22): partitions of GPUs, at most two per GPU, shared in time.
 *
 * Evidence: [code] read in the authors' public repository (casys-kaist/glet @ 3c1c2aa), [recall]
 * from memory of the paper, [derived] our porting. The planning is in plan.h. Every `epoch_s` a new
 * plan is made from the measured rates [code: 20 s]. A gpu-let runs its tasks' batches one at a
 * time, round after round.
 *
 * Porting assumptions:
 * - A task is an AFW queue. Its SLO is the stage's share of the application's, by the split that
 *   all function-level policies share (`split`) [derived].
 * - The sizes 20, 40, 50, 60, 80 and 100 % become the nearest shares that any function of the
 *   workload has on the cluster's GPUs; of two equally near the larger. Under the reconstructed
 *   profile these are 1, 2, 4 and 7 sevenths. A task uses its largest share within the size of its
 *   gpu-let. The remainder of a split is a gpu-let of the size that it holds [derived].
 * - vCPUs are those of the fastest configuration that leaves enough for the invoker's other
 *   gpu-lets.
 * - `rate` "p99": a task is planned for the 99th percentile of a Poisson distribution with its
 *   rate, per second [code: what the build of the scheduler turns on]. "mean": for the rate itself.
 * - Interference is the profile's own model with both tasks' shares. It replaces the authors'
 *   linear model of L2 and DRAM use, whose coefficients hold for their GPUs; floor 1.0 as theirs.
 *   GPUs under MIG, or "interference": "none", have none [derived]. The platform may run without
 *   interference; the policy then still allows for it.
 * - L is (the profile's time plus the mean time for which a batch holds its partition before it
 *   executes) × `margin` [code: 1.1]. The latter is measured during the run [derived; the authors
 *   add a measured batching overhead].
 * - A batch starts on the first free gpu-let of its task; the authors feed theirs by weights
 *   [derived].
 * - The first plan is made a twentieth of `epoch_s` after the first job (1 s). Before it, and for a
 *   task without a gpu-let, any free GPU or partition serves the queue. Planned ones do so at the
 *   end of a round. The next plans follow after 2, 4, … times that [derived: theirs is given the
 *   rates].
 * - A plan that leaves a task with less than 85 % of its rate is a failure in their code. Here all
 *   rates are then scaled down by one factor until no task is below that. Gpu-lets that remain
 *   empty then serve all tasks as far as they can in time, and Nexus's early drop sheds the excess
 *   [derived]. Theirs drops nothing [code], early_drop "off": the queues of an overloaded cluster
 *   then grow without limit.
 * - Plans use all GPUs with as many units as the first one. Others serve tasks without a gpu-let.
 *   On an invoker with several GPUs the platform chooses among them [derived].
 * - A new plan takes effect at once, and running batches finish. Containers for new functions of an
 *   invoker are started at once and kept, others are kept for `keep_s` [derived: theirs reloads in
 *   the background].
 * - Planning is charged as decision time (places and batches examined).
 */
#include "sched/policy.h"
#include "sched/policy_bookkeeping.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

#include "sched/common/duty_cycle.h"
#include "sched/gpulet/plan.h"
#include "traces/profile/interference.h"
#include "workloads/gpu_sharing.h"

enum { TIMER_PLAN, TIMER_RETRY };
enum { SIZES = 6, SCALINGS = 8 };
enum { RATE_P99, RATE_MEAN };

static const double sizes[SIZES] = {0.2, 0.4, 0.5, 0.6, 0.8, 1};
static const double poisson_most = 550; /* above this rate 10 % more than the mean [code] */

enum parameter_index {
    PARAMETER_MAX_BATCH,
    PARAMETER_SPLIT,
    PARAMETER_EPOCH,
    PARAMETER_RATE,
    PARAMETER_MARGIN,
    PARAMETER_INTERFERENCE,
    PARAMETER_SLACK,
    PARAMETER_DROP,
    PARAMETER_KEEP,
    PARAMETER_COUNT
};

static const struct parameter gpulet_parameters[PARAMETER_COUNT] = {
    [PARAMETER_MAX_BATCH] = {"max_batch", 32, 1, 65535, NULL, "most jobs per batch (code)"},
    [PARAMETER_SPLIT] = {"split", 0, 0, 1, "proportional|equal",
                         "a stage's share of the SLO: by mean latency"},
    [PARAMETER_EPOCH] = {"epoch_s", 20, 0.1, 86400, NULL, "between plans (code)"},
    [PARAMETER_RATE] = {"rate", RATE_P99, 0, 1, "p99|mean",
                        "rate planned for: 99th percentile of a Poisson law (code), or the mean"},
    [PARAMETER_MARGIN] = {"margin", 1.1, 1, 10, NULL, "safety factor on latencies (code)"},
    [PARAMETER_INTERFERENCE] = {"interference", 0, 0, 1, "profile|none",
                                "interference between two gpu-lets in the plan (derived)"},
    [PARAMETER_SLACK] = {"slack", 1e-6, 0, 1e6, NULL,
                         "jobs per second that may remain unplanned (derived; code: 15)"},
    [PARAMETER_DROP] = {"early_drop", 0, 0, 1, "on|off",
                        "drop jobs that the next batch would finish too late (derived; code: off)"},
    [PARAMETER_KEEP] = {"keep_s", 600, 0, 1e6, NULL,
                        "keep-alive of containers that are not in the plan (assumed)"},
};

/* A GPU, or an invoker without any. */
struct gpu {
    uint32_t invoker;
    const struct invoker_group *group;
    uint16_t units;
    bool planned; /* has the number of units for which plans are made */
};

struct gpulets {
    const struct workload *workload;
    double values[PARAMETER_COUNT];
    struct planner *planner;
    uint16_t parts[SIZES];
    size_t part_count;
    struct batch_latency *ladders; /* by function × part */
    sim_time_t *rest;              /* by queue: the fastest path through the later stages */
    struct gpu *gpus;              /* ascending by invoker */
    size_t gpu_count, planned_gpus;
    bool shared;               /* shared by MPS: gpu-lets slow one another */
    uint64_t *arrived;         /* by queue, since `since` */
    struct gpulet_task *tasks; /* by queue */
    double *rates;
    uint8_t *planned; /* by invoker × function */
    struct duty_cycle *rounds;
    sim_time_t since;
    sim_time_t interval; /* time until the next plan */
    bool scaled;         /* the plan is for scaled-down rates */
    bool due;
};

/* ---- Set-up ---------------------------------------------------------------------------------- */

static void gpulet_finish(void *state)
{
    struct gpulets *self = state;
    const size_t ladders =
        self->workload != NULL ? self->workload->function_count * self->part_count : 0;
    for (size_t i = 0; self->ladders != NULL && i < ladders; i++)
        batch_latency_clear(&self->ladders[i]);
    planner_destroy(self->planner);
    duty_cycle_destroy(self->rounds);
    free(self->ladders);
    free(self->rest);
    free(self->gpus);
    free(self->arrived);
    free(self->tasks);
    free(self->rates);
    free(self->planned);
    *self = (struct gpulets){0};
}

static bool gpus_fill(struct gpulets *self, struct error *error)
{
    const struct cluster_spec *cluster = &self->workload->cluster;
    size_t count = 0;
    for (size_t g = 0; g < cluster->group_count; g++)
        count += cluster->groups[g].count *
                 (cluster->groups[g].gpu_count > 0 ? cluster->groups[g].gpu_count : 1);
    self->gpus = calloc(count + 1, sizeof *self->gpus);
    if (self->gpus == NULL)
        return error_run(error, "policy gpulet: out of memory for %zu GPUs", count);
    uint32_t invoker = 0;
    self->shared = true;
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        if (group->count > 0 && group->gpu_count > 0 && !gpu_sharing_of(&group->gpus[0])->divisible)
            self->shared = false;
        const size_t each = group->gpu_count > 0 ? group->gpu_count : 1;
        for (uint32_t i = 0; i < group->count; i++, invoker++)
            for (size_t u = 0; u < each; u++)
                self->gpus[self->gpu_count++] =
                    (struct gpu){.invoker = invoker,
                                 .group = group,
                                 .units = group->gpu_count > 0 ? group->gpus[u].units : 1};
    }
    for (size_t i = 0; i < self->gpu_count; i++) {
        self->gpus[i].planned = self->gpus[i].units == self->gpus[0].units;
        self->planned_gpus += self->gpus[i].planned;
    }
    return true;
}

/* The number of vCPUs that two gpu-lets of every GPU can have at the same time. */
static uint16_t vcpus_of_gpulet(const struct cluster_spec *cluster)
{
    uint32_t least = UINT16_MAX;
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        const size_t gpus = group->gpu_count > 0 ? group->gpu_count : 1;
        const uint32_t each = group->vcpus / (uint32_t)(gpus * GPULETS_PER_GPU);
        if (group->count > 0 && each < least)
            least = each;
    }
    return (uint16_t)(least > 0 ? least : 1);
}

/* Finds the shares of used functions that are nearest to the published sizes. */
static void parts_fill(struct gpulets *self)
{
    const struct workload *workload = self->workload;
    const uint16_t units = self->gpus[0].units;
    for (size_t i = 0; i < SIZES; i++) {
        const double wanted = sizes[i] * units;
        uint16_t best = 0;
        for (uint32_t f = 0; f < workload->function_count; f++)
            for (uint32_t c = 0; c < workload->functions[f].configuration_count; c++) {
                const struct configuration *here = &workload->functions[f].configurations[c];
                if (here->batch != 1 || here->vgpu == 0 || here->vgpu > units ||
                    !planner_runs(self->planner, f, c))
                    continue;
                const double far = fabs(here->vgpu - wanted) - fabs(best - wanted);
                if (best == 0 || far < 0 || (!(far > 0) && here->vgpu > best))
                    best = here->vgpu;
            }
        if (i + 1 == SIZES)
            best = units;
        if (best > 0 && (self->part_count == 0 || best > self->parts[self->part_count - 1]))
            self->parts[self->part_count++] = best;
    }
}

/* The function's largest share of at most `most` units. If all exceed it: the smallest with `any`,
 * else -1. */
static int share_within(const struct gpulets *self, uint32_t function, uint16_t most, bool any)
{
    const struct function *spec = &self->workload->functions[function];
    int share = -1;
    for (uint32_t i = 0; i < spec->configuration_count; i++) {
        const struct configuration *here = &spec->configurations[i];
        if (here->batch != 1 || !planner_runs(self->planner, function, i) ||
            (here->vgpu > most && !any))
            continue;
        if (share < 0 ||
            (here->vgpu <= most ? share > most || here->vgpu > share : here->vgpu < share))
            share = here->vgpu;
    }
    return share;
}

static bool ladders_fill(struct gpulets *self, struct error *error)
{
    const struct workload *workload = self->workload;
    const uint16_t vcpus = vcpus_of_gpulet(&workload->cluster);
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        for (size_t s = 0; s < application->stage_count; s++) {
            const uint32_t f = application->stages[s].function;
            for (size_t p = 0; p < self->part_count; p++) {
                struct batch_latency *ladder = &self->ladders[f * self->part_count + p];
                const int share = share_within(self, f, self->parts[p], p + 1 == self->part_count);
                if (share >= 0 && ladder->batch == NULL &&
                    !batch_latency_fill(ladder, workload, self->planner, f, (uint16_t)share, vcpus,
                                        (uint32_t)self->values[PARAMETER_MAX_BATCH], error))
                    return false;
            }
        }
    }
    return true;
}

static const struct batch_latency *ladders_of(const struct gpulets *self, uint32_t function)
{
    return &self->ladders[function * self->part_count];
}

static const struct batch_latency *whole_ladder(const struct gpulets *self, uint32_t function)
{
    return ladders_of(self, function) + self->part_count - 1;
}

static void queues_fill(struct gpulets *self, const struct application *application)
{
    sim_time_t alone[WORKLOAD_MAX_STAGES];
    for (uint32_t s = 0; s < application->stage_count; s++) {
        const uint32_t function = application->stages[s].function;
        const uint32_t queue = application->first_queue + s;
        const struct batch_latency *whole = whole_ladder(self, function);
        alone[s] = whole->count > 0 ? whole->time[0] : 0;
        self->tasks[queue] =
            (struct gpulet_task){.slo = planner_budget(self->planner, queue, application->slo),
                                 .ladders = ladders_of(self, function)};
    }
    slo_rest(application, alone, &self->rest[application->first_queue]);
}

static bool allocate(struct gpulets *self, struct error *error)
{
    const struct workload *workload = self->workload;
    const size_t queues = (size_t)workload->queue_count + 1;
    self->ladders = calloc(workload->function_count * self->part_count + 1, sizeof *self->ladders);
    self->rest = calloc(queues, sizeof *self->rest);
    self->arrived = calloc(queues, sizeof *self->arrived);
    self->tasks = calloc(queues, sizeof *self->tasks);
    self->rates = calloc(queues, sizeof *self->rates);
    self->planned =
        calloc((size_t)workload->cluster.invoker_count * workload->function_count + 1, 1);
    return (self->ladders != NULL && self->rest != NULL && self->arrived != NULL &&
            self->tasks != NULL && self->rates != NULL && self->planned != NULL) ||
           error_run(error, "policy gpulet: out of memory for %u queues", workload->queue_count);
}

/* Serves a queue without a gpu-let on `size` units: on the largest part within them, else on the
 * smallest part. */
static bool gpulet_orphan(const void *context, uint32_t queue, uint32_t invoker, uint32_t size,
                          struct duty_cycle_slot *slot)
{
    const struct gpulets *self = context;
    const struct gpulet_task *task = &self->tasks[queue];
    const struct batch_latency *ladder = NULL;
    for (size_t p = 0; p < self->part_count; p++)
        if (task->ladders[p].count > 0 && (ladder == NULL || self->parts[p] <= size))
            ladder = &task->ladders[p];
    if (ladder == NULL)
        return false;
    uint32_t batch = 1;
    for (size_t i = 0; i < ladder->count && 2 * ladder->time[i] <= task->slo; i++)
        batch = ladder->batch[i];
    *slot = (struct duty_cycle_slot){.queue = queue, .batch = batch, .ladder = ladder};
    const struct function *function =
        &self->workload->functions[(size_t)(task->ladders - self->ladders) / self->part_count];
    size_t low = 0;
    for (size_t high = self->gpu_count; high - low > 1;) {
        const size_t middle = low + (high - low) / 2;
        if (self->gpus[middle].invoker <= invoker)
            low = middle;
        else
            high = middle;
    }
    return planner_group_runs(self->gpus[low].group, function,
                              &function->configurations[ladder->configuration[0]]);
}

static bool set_up(struct gpulets *self, struct error *error)
{
    const struct workload *workload = self->workload;
    self->planner = planner_create(workload, (uint32_t)self->values[PARAMETER_MAX_BATCH],
                                   (enum planner_split)self->values[PARAMETER_SPLIT], error);
    if (self->planner == NULL || !gpus_fill(self, error))
        return false;
    parts_fill(self);
    if (!allocate(self, error) || !ladders_fill(self, error))
        return false;
    for (size_t a = 0; a < workload->application_count; a++)
        queues_fill(self, &workload->applications[a]);
    const struct duty_cycle_rule rule = {.orphan = gpulet_orphan,
                                         .context = self,
                                         .rest =
                                             self->values[PARAMETER_DROP] > 0 ? NULL : self->rest,
                                         .retry_timer = TIMER_RETRY,
                                         .retry = sim_from_s(self->values[PARAMETER_EPOCH]) / 200};
    self->rounds = duty_cycle_create(workload, rule, error);
    if (self->rounds == NULL)
        return false;
    for (size_t g = 0; g < self->gpu_count; g++)
        if (!duty_cycle_add_server(self->rounds, self->gpus[g].invoker, self->gpus[g].units, error))
            return false;
    return true;
}

static bool gpulet_init(void *state, struct platform *platform, const double *values,
                        struct error *error)
{
    struct gpulets *self = state;
    self->workload = platform_workload(platform);
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        self->values[i] = values[i];
    if (values[PARAMETER_MAX_BATCH] != floor(values[PARAMETER_MAX_BATCH]))
        return error_input(error, "policy.params.max_batch is %g; give a whole number",
                           values[PARAMETER_MAX_BATCH]);
    if (set_up(self, error) && duty_cycle_end(self->rounds, platform, error))
        return true;
    gpulet_finish(self);
    return false;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

/* The rate for which a task is planned. */
static double rate_planned(const struct gpulets *self, double mean)
{
    if (self->values[PARAMETER_RATE] != RATE_P99 || !(mean > 0))
        return mean;
    if (mean > poisson_most)
        return mean * 1.1;
    unsigned jobs = 1;
    while (gsl_cdf_poisson_P(jobs, mean) < 0.99)
        jobs++;
    return fmax(jobs, mean);
}

static double slowdown(const void *context, uint32_t own, uint16_t own_units, uint32_t other,
                       uint16_t other_units)
{
    const struct gpulets *self = context;
    const uint32_t queues[2] = {own, other};
    const uint16_t units[2] = {own_units, other_units};
    struct co_runner runners[2];
    for (size_t i = 0; i < 2; i++) {
        const size_t f =
            (size_t)(self->tasks[queues[i]].ladders - self->ladders) / self->part_count;
        const struct function *function = &self->workload->functions[f];
        runners[i] = (struct co_runner){.index = function->gpus[0].interference_index,
                                        .demand = function->gpus[0].bandwidth_share,
                                        .share = (double)units[i] / self->gpus[0].units};
    }
    return interference_slowdown(self->workload->kinds[0].interference, runners, 2, 0);
}

static void rates_take(struct gpulets *self, sim_time_t now)
{
    const double elapsed = sim_to_s(now - self->since);
    for (uint32_t q = 0; q < self->workload->queue_count; q++) {
        self->rates[q] = rate_planned(self, (double)self->arrived[q] / elapsed);
        self->tasks[q].overhead = duty_cycle_overhead(self->rounds, q);
        self->arrived[q] = 0;
    }
    self->since = now;
}

/* Finds by bisection with SCALINGS bits the largest common factor on the rates for which the plan
 * is complete. */
static bool plan_make(struct gpulets *self, struct gpulet_plan *plan, struct error *error)
{
    const bool interferes = self->shared && self->workload->kinds[0].interference != NULL &&
                            self->values[PARAMETER_INTERFERENCE] == 0;
    const struct gpulet_world world = {.tasks = self->tasks,
                                       .task_count = self->workload->queue_count,
                                       .parts = self->parts,
                                       .part_count = self->part_count,
                                       .gpu_count = self->planned_gpus,
                                       .margin = self->values[PARAMETER_MARGIN],
                                       .slack = self->values[PARAMETER_SLACK],
                                       .slowdown = interferes ? slowdown : NULL,
                                       .context = self};
    double range[2] = {0, 1}; /* a factor that fits, and one that does not */
    double factor = 1;
    uint64_t work = 0;
    for (int i = 0;; i++) {
        for (size_t q = 0; q < world.task_count; q++)
            self->tasks[q].rate = self->rates[q] * factor;
        if (!gpulet_make(&world, plan, error))
            return false;
        work += plan->work;
        plan->work = work;
        self->scaled = factor < 1;
        if ((plan->complete && factor >= 1) || i > SCALINGS)
            return true;
        range[0] = plan->complete ? factor : range[0];
        range[1] = plan->complete ? range[1] : factor;
        factor = i < SCALINGS || !(range[0] > 0) ? (range[0] + range[1]) / 2 : range[0];
        gpulet_clear(plan);
    }
}

/* Starts containers for new functions of the invoker. */
static void share_load(struct gpulets *self, struct platform *platform, uint32_t invoker,
                       uint32_t queue)
{
    const uint32_t f = platform_queue_function(platform, queue);
    uint8_t *cell = &self->planned[invoker * self->workload->function_count + f];
    if (*cell == 0 && platform_warm(platform, f, invoker) == 0)
        (void)platform_prewarm(platform, f, invoker);
    *cell |= 1;
}

static bool let_install(struct gpulets *self, struct platform *platform, const struct gpu *gpu,
                        const struct gpulet *let, const struct gpulet_plan *plan,
                        const struct gpulet_world *world, struct error *error)
{
    if (let->units == 0)
        return true;
    if (!duty_cycle_add_server(self->rounds, gpu->invoker, let->units, error))
        return false;
    for (uint32_t q = 0; self->scaled && let->count == 0 && q < self->workload->queue_count; q++) {
        struct duty_cycle_slot slot;
        if (!gpulet_orphan(self, q, gpu->invoker, let->units, &slot))
            continue;
        slot.overflow = plan->served[q] > 0;
        if (!duty_cycle_add_slot(self->rounds, slot, error))
            return false;
    }
    for (size_t s = 0; s < let->count; s++) {
        const struct gpulet_share *share = &let->shares[s];
        const size_t part = gpulet_part(world, let->units);
        const struct duty_cycle_slot slot = {.queue = share->task,
                                             .batch = share->batch,
                                             .ladder = &self->tasks[share->task].ladders[part]};
        if (!duty_cycle_add_slot(self->rounds, slot, error))
            return false;
        share_load(self, platform, gpu->invoker, share->task);
    }
    return true;
}

static bool plan_install(struct gpulets *self, struct platform *platform,
                         const struct gpulet_plan *plan, struct error *error)
{
    const size_t cells = self->workload->cluster.invoker_count * self->workload->function_count;
    const struct gpulet_world world = {.parts = self->parts, .part_count = self->part_count};
    size_t next = 0;
    duty_cycle_begin(self->rounds);
    for (size_t i = 0; i < cells; i++)
        self->planned[i] = (uint8_t)(self->planned[i] << 1 & 2);
    for (size_t g = 0; g < self->gpu_count; g++) {
        const struct gpu *gpu = &self->gpus[g];
        const struct gpulet_gpu whole = {.lets = {{.units = gpu->units}}};
        const struct gpulet_gpu *planned = gpu->planned ? &plan->gpus[next++] : &whole;
        for (size_t i = 0; i < GPULETS_PER_GPU; i++)
            if (!let_install(self, platform, gpu, &planned->lets[i], plan, &world, error))
                return false;
    }
    for (size_t i = 0; i < cells; i++)
        self->planned[i] &= 1;
    return duty_cycle_end(self->rounds, platform, error);
}

static void replan(struct gpulets *self, struct platform *platform)
{
    const sim_time_t now = platform_now(platform);
    const sim_time_t epoch = sim_from_s(self->values[PARAMETER_EPOCH]);
    struct error error = {0};
    struct gpulet_plan plan = {0};
    self->due = false;
    rates_take(self, now);
    self->interval = 2 * self->interval < epoch ? 2 * self->interval : epoch;
    platform_set_timer(platform, now + self->interval, TIMER_PLAN);
    /* Without memory for another plan the last one is kept. */
    if (plan_make(self, &plan, &error)) {
        platform_charge(platform, plan.work);
        (void)plan_install(self, platform, &plan, &error);
    }
    gpulet_clear(&plan);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void gpulet_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct gpulets *self = state;
    if (self->interval == 0) {
        const sim_time_t epoch = sim_from_s(self->values[PARAMETER_EPOCH]);
        self->interval = epoch / 20;
        self->since = platform_now(platform);
        platform_set_timer(platform, self->since + self->interval, TIMER_PLAN);
    }
    self->arrived[queue]++;
    duty_cycle_on_ready(self->rounds, queue);
}

static void gpulet_on_finish(void *state, struct platform *platform,
                             const struct finished_batch *batch)
{
    struct gpulets *self = state;
    (void)platform;
    duty_cycle_on_finish(self->rounds, batch);
}

static void gpulet_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct gpulets *self = state;
    (void)platform;
    if (id == TIMER_PLAN)
        self->due = true;
    else
        duty_cycle_wake(self->rounds);
}

static bool gpulet_decide(void *state, struct platform *platform)
{
    struct gpulets *self = state;
    if (self->due)
        replan(self, platform);
    return duty_cycle_decide(self->rounds, platform);
}

static sim_time_t gpulet_keep_alive(void *state, struct platform *platform, uint32_t function,
                                    uint32_t invoker)
{
    const struct gpulets *self = state;
    (void)platform;
    return self->planned[invoker * self->workload->function_count + function] != 0
               ? SIM_FOREVER
               : sim_from_s(self->values[PARAMETER_KEEP]);
}

extern const struct policy policy_gpulet;
const struct policy policy_gpulet = {
    .abi = POLICY_ABI,
    .name = "gpulet",
    .summary = "gpulet (ATC'22): at most two partitions per GPU, sized at the knee, shared in time",
    .parameters = gpulet_parameters,
    .parameter_count = PARAMETER_COUNT,
    .state_bytes = sizeof(struct gpulets),
    .init = gpulet_init,
    .on_ready = gpulet_on_ready,
    .on_finish = gpulet_on_finish,
    .on_timer = gpulet_on_timer,
    .decide = gpulet_decide,
    .keep_alive = gpulet_keep_alive,
    .finish = gpulet_finish,
};
