/* Parameters of headway, and what it allocates before a run. */
#include "sched/headway/headway_internal.h"

#include "sched/common/kinds.h"
#include "sched/memory.h"

const struct key headway_parameters[] = {
    PARAMETER_SWITCH(headway, learning, true,
                     "learn mean and spread of execution / nominal time, and of the delay"),
    PARAMETER_NUMBER(headway, rate, 0.0001, 1, 0.02, "least weight of a new observation"),
    PARAMETER_NUMBER(headway, slowdown, 1, 10, 1.05,
                     "mean before anything is learned, if co-runners interfere"),
    PARAMETER_MS(headway, delay_ms, 0, 60000, 1.5,
                 "dispatch to execution, before anything is learned"),
    PARAMETER_SWITCH(headway, ahead, true,
                     "plans count the mean wait in the queues of later stages"),
    PARAMETER_NUMBER(headway, reserve, 0, 10, 1.5, "standard deviations that plans reserve"),
    PARAMETER_NUMBER(headway, reserve_last, 0, 10, 3, "the same for last stages"),
    PARAMETER_WHOLE(headway, max_batch, 1, 65535, 32, "most jobs per batch"),
    PARAMETER_WORD(headway, objective, WORDS("auto", "cost", "work"), PRESSED_AUTO,
                   "what plans minimise; auto: work while much waits, else dollars"),
    PARAMETER_NUMBER(headway, harm, 0, 1000, 2,
                     "weight of the time that a batch costs its neighbours on the GPU"),
    PARAMETER_MS(headway, rebuild_ms, 0, 3600000, 200, "least time between new tables"),
    PARAMETER_NUMBER(headway, change, 0, 10, 0.01, "move of a time that makes them necessary"),
    PARAMETER_NUMBER(headway, press_work, 0, 100, 0.02,
                     "waiting work / mean SLO from which on plans spare the cluster, not money"),
    PARAMETER_NUMBER(headway, press_load, 0, 100, 0.85,
                     "load by the plans of least work from which on they do so, too"),
    PARAMETER_WORD(headway, order, WORDS("latest-start", "arrival"), ORDER_LATEST_START,
                   "which queue is served first"),
    PARAMETER_WORD(headway, risky, WORDS("last", "in-order"), RISKY_LAST,
                   "while much waits: requests that can keep no reserve"),
    PARAMETER_WORD(headway, late, WORDS("cheap", "fast"), LATE_CHEAP,
                   "requests that cannot be met: in the cheapest batches, or alone and fast"),
    PARAMETER_NUMBER(headway, pace, 0, 100, 1.3, "latest start: deadline - this × fastest way"),
    PARAMETER_NUMBER(headway, patience, 1, 1000, 1.5,
                     "cost of an alternative / the best plan's, above which jobs wait"),
    PARAMETER_SWITCH(headway, gather, true,
                     "jobs wait for more of them where a larger batch is cheaper"),
    KEY_WORD("placement", headway_parameters, places.placement, WORDS("auto", "spread", "pack"),
             HEADWAY_AUTO,
             .help = "most free GPU units, best fit, or as co-runners and load suggest"),
    KEY_NUMBER("dense", headway_parameters, places.dense, 0, 1, 0.7,
               .help = "GPU use above which auto packs"),
    KEY_MILLISECONDS("window_ms", headway_parameters, places.window, 0, 3600000, 200,
                     .help = "over which GPU use is averaged"),
    KEY_END,
};

static void risk_begin(struct headway *self, const struct function *function, uint32_t kind,
                       struct risk *risk)
{
    const double mean = kinds_interfere(self->workload, kind) && self->parameters->learning
                            ? self->parameters->slowdown
                            : 1;
    double deviation = function->service == SERVICE_PROFILE ? function->gpus[kind].noise_cv : 0;
    if (function->service == SERVICE_EXPONENTIAL)
        deviation = 1;
    else if (function->service == SERVICE_LOGNORMAL)
        deviation = function->service_cv;
    risk_start(risk, mean, deviation);
}

static void risks_start(struct headway *self)
{
    const size_t kinds = self->workload->kind_count;
    const size_t width = risk_class_count(self->workload) / kinds;
    for (size_t f = 0; f < self->workload->function_count; f++)
        for (uint32_t k = 0; k < kinds; k++)
            for (uint32_t share = 0; share < width; share++)
                risk_begin(self, &self->workload->functions[f], k,
                           &self->risks[(f * kinds + k) * width + share]);
    for (uint32_t q = 0; q < self->workload->queue_count; q++)
        self->delay[q] = (double)self->parameters->delay_ms;
}

static void headway_allocate(struct headway *self, struct arena *arena)
{
    const struct workload *workload = self->workload;
    const size_t queues = workload->queue_count;
    const size_t functions = workload->function_count;
    self->risks =
        arena_allocate(arena, functions * risk_class_count(workload), sizeof *self->risks);
    self->delay = arena_allocate(arena, queues, sizeof *self->delay);
    self->delays = arena_allocate(arena, queues, sizeof *self->delays);
    self->wait = arena_allocate(arena, queues, sizeof *self->wait);
    self->waits = arena_allocate(arena, queues, sizeof *self->waits);
    self->part = arena_allocate(arena, functions, sizeof *self->part);
    self->container_share = arena_allocate(arena, functions, sizeof *self->container_share);
    self->queues = arena_allocate(arena, queues, sizeof *self->queues);
    self->skipped = arena_allocate(arena, queues, sizeof *self->skipped);
    self->left = arena_allocate(arena, self->parameters->max_batch, sizeof *self->left);
    self->order = queue_order_create(arena, workload->queue_count);
    self->flights = flights_create(arena, workload);
}

static bool headway_create_parts(struct headway *self, struct arena *arena, struct error *error)
{
    const struct headway_parameters *parameters = self->parameters;
    self->places = places_create(arena, self->workload, &parameters->places);
    self->rates = arrival_rates_create(arena, self->workload->application_count);
    const struct suffix_settings plans = {parameters->reserve,        parameters->reserve_last,
                                          parameters->max_batch,      parameters->harm,
                                          places_units(self->places), places_vcpus(self->places)};
    const struct suffix_inputs inputs = {self->risks,           risk_class_count(self->workload),
                                         self->delay,           self->wait,
                                         self->container_share, &self->neighbour};
    self->suffix = suffix_create(arena, self->workload, &plans, &inputs, error);
    if (self->suffix == NULL)
        return false;
    self->options = arena_allocate(arena, suffix_room(self->suffix), sizeof *self->options);
    return true;
}

bool headway_init(void *state, struct platform *platform, const void *parameters,
                  struct error *error)
{
    struct headway *self = state;
    self->parameters = parameters;
    self->workload = platform_workload(platform);
    headway_allocate(self, platform_arena(platform));
    risks_start(self);
    return headway_create_parts(self, platform_arena(platform), error);
}
