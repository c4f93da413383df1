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
 *   [derived]. Theirs drops nothing [code], own_admission "off": the queues of an overloaded
 * cluster then grow without limit.
 * - Each kind of GPU has a plan of its own, for a part of the rates in proportion to what its GPUs
 *   could serve. Invokers without a GPU serve tasks without a gpu-let. On an invoker with several
 * GPUs the platform chooses among them [derived].
 * - A new plan takes effect at once, and running batches finish. Containers for new functions of an
 *   invoker are started at once and kept, others are kept for `keep_s` [derived: theirs reloads in
 *   the background].
 * - Planning is charged as decision time (places and batches examined).
 */
#include "sched/gpulet/gpulet_internal.h"

#include <math.h>

#include <gsl/gsl_cdf.h>

#include "sched/memory.h"
#include "traces/profile/interference.h"

enum { SCALINGS = 8 };

static const double poisson_most = 550; /* above this rate 10 % more than the mean [code] */

/* ---- Plans ----------------------------------------------------------------------------------- */

/* The rate for which a task is planned. */
static double rate_planned(const struct gpulets *self, double mean)
{
    if (self->parameters->rate != RATE_P99 || !(mean > 0))
        return mean;
    if (mean > poisson_most)
        return mean * 1.1;
    unsigned jobs = 1;
    while (gsl_cdf_poisson_P(jobs, mean) < 0.99)
        jobs++;
    return fmax(jobs, mean);
}

/* The context of `slowdown`. */
struct neighbours {
    const struct gpulets *self;
    uint32_t kind;
};

static double slowdown(const void *context, uint32_t own, uint16_t own_units, uint32_t other,
                       uint16_t other_units)
{
    const struct neighbours *neighbours = context;
    const struct gpulets *self = neighbours->self;
    const struct gpulet_fleet *fleet = &self->fleets[neighbours->kind];
    const uint32_t queues[2] = {own, other};
    const uint16_t units[2] = {own_units, other_units};
    struct co_runner runners[2];
    for (size_t i = 0; i < 2; i++) {
        const size_t f = (size_t)(fleet->tasks[queues[i]].latency_tables - fleet->latency_tables) /
                         fleet->part_count;
        const struct function *function = &self->workload->functions[f];
        runners[i] =
            (struct co_runner){.index = function->gpus[neighbours->kind].interference_index,
                               .demand = function->gpus[neighbours->kind].bandwidth_share,
                               .share = (double)units[i] / fleet->units};
    }
    return interference_slowdown(self->workload->kinds[neighbours->kind].interference, runners, 2,
                                 0);
}

/* Divides a queue's rate over the kinds of GPU, in proportion to what their GPUs could serve. All
 * of it goes to the first kind if none can serve any. */
static void rate_divide(struct gpulets *self, uint32_t queue, double rate)
{
    double sum = 0;
    for (uint32_t k = 0; k < self->kinds; k++) {
        struct gpulet_fleet *fleet = &self->fleets[k];
        const struct gpulet_world world = {.tasks = fleet->tasks,
                                           .parts = fleet->parts,
                                           .part_count = fleet->part_count,
                                           .margin = self->parameters->margin};
        uint32_t batch;
        bool feasible;
        const double most =
            gpulet_saturation(&world, queue, fleet->part_count - 1, &batch, &feasible);
        fleet->rates[queue] = feasible ? most * (double)fleet->gpu_count : 0;
        sum += fleet->rates[queue];
    }
    for (uint32_t k = 0; k < self->kinds; k++) {
        double *own = &self->fleets[k].rates[queue];
        *own = sum > 0 ? rate * (*own / sum) : k == 0 ? rate : 0;
    }
}

static void rates_take(struct gpulets *self, sim_time_t now)
{
    const double elapsed = sim_to_s(now - self->since);
    for (uint32_t q = 0; q < self->workload->queue_count; q++) {
        for (uint32_t k = 0; k < self->kinds; k++)
            self->fleets[k].tasks[q].overhead = duty_cycle_overhead(self->cycle, q);
        rate_divide(self, q, rate_planned(self, (double)self->arrived[q] / elapsed));
        self->arrived[q] = 0;
    }
    self->since = now;
}

/* Finds by bisection with SCALINGS bits the largest common factor on the rates for which the plan
 * of the kind is complete. */
static void plan_make(struct gpulets *self, struct arena *arena, uint32_t kind)
{
    struct gpulet_fleet *fleet = &self->fleets[kind];
    const struct neighbours neighbours = {self, kind};
    const bool interferes = fleet->shared && self->workload->kinds[kind].interference != NULL &&
                            self->parameters->interference == INTERFERENCE_PROFILE;
    const struct gpulet_world world = {.tasks = fleet->tasks,
                                       .task_count = self->workload->queue_count,
                                       .parts = fleet->parts,
                                       .part_count = fleet->part_count,
                                       .gpu_count = fleet->gpu_count,
                                       .margin = self->parameters->margin,
                                       .slack = self->parameters->slack,
                                       .slowdown = interferes ? slowdown : NULL,
                                       .context = &neighbours};
    double range[2] = {0, 1}; /* a factor that fits, and one that does not */
    double factor = 1;
    uint64_t work = 0;
    for (int i = 0;; i++) {
        struct gpulet_plan *plan = &fleet->plan;
        for (size_t q = 0; q < world.task_count; q++)
            fleet->tasks[q].rate = fleet->rates[q] * factor;
        gpulet_make(&world, arena, plan);
        work += plan->work;
        plan->work = work;
        fleet->scaled = factor < 1;
        if ((plan->complete && factor >= 1) || i > SCALINGS)
            return;
        range[0] = plan->complete ? factor : range[0];
        range[1] = plan->complete ? range[1] : factor;
        factor = i < SCALINGS || !(range[0] > 0) ? (range[0] + range[1]) / 2 : range[0];
        gpulet_clear(plan, arena);
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

/* True if the plan of some kind serves the queue. */
static bool is_served(const struct gpulets *self, uint32_t queue)
{
    for (uint32_t k = 0; k < self->kinds; k++)
        if (self->fleets[k].plan.served[queue] > 0)
            return true;
    return false;
}

static void let_install(struct gpulets *self, struct platform *platform, const struct gpu *gpu,
                        const struct gpulet *let)
{
    const struct gpulet_fleet *fleet = &self->fleets[gpu->kind];
    const struct gpulet_world world = {.parts = fleet->parts, .part_count = fleet->part_count};
    const uint32_t size = size_of(gpu->kind, let->units);
    if (let->units == 0)
        return;
    duty_cycle_add_server(self->cycle, gpu->invoker, size);
    for (uint32_t q = 0; fleet->scaled && let->count == 0 && q < self->workload->queue_count; q++) {
        struct duty_cycle_slot slot;
        if (!gpulet_orphan(self, q, gpu->invoker, size, &slot))
            continue;
        slot.overflow = is_served(self, q);
        duty_cycle_add_slot(self->cycle, slot);
    }
    for (size_t s = 0; s < let->count; s++) {
        const struct gpulet_share *share = &let->shares[s];
        const size_t part = gpulet_part(&world, let->units);
        const struct duty_cycle_slot slot = {.queue = share->task,
                                             .batch = share->batch,
                                             .latency_table =
                                                 &fleet->tasks[share->task].latency_tables[part]};
        duty_cycle_add_slot(self->cycle, slot);
        share_load(self, platform, gpu->invoker, share->task);
    }
}

static void plan_install(struct gpulets *self, struct platform *platform)
{
    const size_t cells = self->workload->cluster.invoker_count * self->workload->function_count;
    duty_cycle_begin(self->cycle);
    for (uint32_t k = 0; k < self->kinds; k++)
        self->fleets[k].installed = 0;
    for (size_t i = 0; i < cells; i++)
        self->planned[i] = (uint8_t)(self->planned[i] << 1 & 2);
    for (size_t g = 0; g < self->gpu_count; g++) {
        const struct gpu *gpu = &self->gpus[g];
        const struct gpulet_gpu whole = {.lets = {{.units = gpu->units}}};
        struct gpulet_fleet *fleet = &self->fleets[gpu->kind];
        const struct gpulet_gpu *planned =
            gpu->planned ? &fleet->plan.gpus[fleet->installed++] : &whole;
        for (size_t i = 0; i < GPULETS_PER_GPU; i++)
            let_install(self, platform, gpu, &planned->lets[i]);
    }
    for (size_t i = 0; i < cells; i++)
        self->planned[i] &= 1;
    duty_cycle_end(self->cycle, platform);
}

static void replan(struct gpulets *self, struct platform *platform)
{
    const sim_time_t now = platform_now(platform);
    const sim_time_t epoch = self->parameters->epoch_s;
    self->due = false;
    rates_take(self, now);
    self->interval = 2 * self->interval < epoch ? 2 * self->interval : epoch;
    platform_set_timer(platform, now + self->interval, TIMER_PLAN);
    uint64_t work = 0;
    for (uint32_t k = 0; k < self->kinds; k++) {
        plan_make(self, platform_arena(platform), k);
        work += self->fleets[k].plan.work;
    }
    platform_charge(platform, work);
    plan_install(self, platform);
    for (uint32_t k = 0; k < self->kinds; k++)
        gpulet_clear(&self->fleets[k].plan, platform_arena(platform));
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void gpulet_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct gpulets *self = state;
    if (self->interval == 0) {
        const sim_time_t epoch = self->parameters->epoch_s;
        self->interval = epoch / 20;
        self->since = platform_now(platform);
        platform_set_timer(platform, self->since + self->interval, TIMER_PLAN);
    }
    self->arrived[queue]++;
    duty_cycle_on_ready(self->cycle, queue);
}

static void gpulet_on_finish(void *state, struct platform *platform,
                             const struct finished_batch *batch)
{
    struct gpulets *self = state;
    duty_cycle_on_finish(self->cycle, batch);
}

static void gpulet_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct gpulets *self = state;
    if (id == TIMER_PLAN)
        self->due = true;
    else
        duty_cycle_wake(self->cycle);
}

static bool gpulet_decide(void *state, struct platform *platform)
{
    struct gpulets *self = state;
    if (self->due)
        replan(self, platform);
    return duty_cycle_decide(self->cycle, platform);
}

static sim_time_t gpulet_keep_alive(void *state, struct platform *platform, uint32_t function,
                                    uint32_t invoker)
{
    const struct gpulets *self = state;
    return self->planned[invoker * self->workload->function_count + function] != 0
               ? SIM_FOREVER
               : self->parameters->keep_s;
}

const struct policy policy_gpulet = {
    .abi = POLICY_ABI,
    .places_containers = true,
    .name = "gpulet",
    .refuses = "what its next batch would finish too late",
    .summary = "gpulet (ATC'22): at most two partitions per GPU, sized at the knee, shared in time",
    .parameters = gpulet_parameters,
    .parameters_bytes = sizeof(struct gpulet_parameters),
    .state_bytes = sizeof(struct gpulets),
    .init = gpulet_init,
    .on_ready = gpulet_on_ready,
    .on_finish = gpulet_on_finish,
    .on_timer = gpulet_on_timer,
    .decide = gpulet_decide,
    .keep_alive = gpulet_keep_alive,
};
