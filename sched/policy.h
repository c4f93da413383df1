/* The contract between the platform and a scheduling policy.
 *
 * A policy is one `struct policy` of functions and a block of state. The platform calls it when
 * something happened (a job became ready, a batch finished, a timer rang) and, whenever the
 * controller is free and something has changed, asks it to `decide`. The policy looks at the
 * platform through the `platform_*` queries below, all O(1) unless said otherwise, and acts only
 * through the `platform_*` actions. It sees the future of nothing: no actual noise, no coming
 * arrival.
 *
 * Three families fit: planners that choose a configuration for each batch (ESG, Orion, Aquatope),
 * scalers of long-lived instances (INFless, FaST-GShare, Dilu), dispatchers (FIFO, EDF, Clockwork).
 * A policy overrides only what it cares for: every function but `decide` may be NULL.
 *
 * A minimal complete policy is tests/plugins/shortest_queue.c. Rules, each enforced:
 *   - Arguments name what exists. A query that breaks this answers 0, false or SIM_NONE.
 *   - Reserve nothing that is not free, dispatch no job that is not waiting.
 *   - Dispatch and drop only within `decide`.
 *   - Say "more to do" only with progress.
 *   - Return from every function within the program's --decision-timeout.
 *   - Do not call exit() or fork(), raise no signal, cause no fault.
 * Breaking one ends the run with a message that names the rule, the function, the simulated time,
 * the policy and the seed. The last two rules are enforced by the program, not by the library.
 */
#ifndef ESGSIM_SCHED_POLICY_H
#define ESGSIM_SCHED_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"
#include "sim/units.h"
#include "workloads/workload.h"

#define POLICY_ABI 3

struct platform; /* the simulator's side; opaque */

/* One parameter of a policy: a number within [low, high], or one of `choices` ("a|b|c", the value
 * is the index). Shown by `esgsim list policies`; set by "policy": {"params": {…}}. */
struct parameter {
    const char *name;
    double fallback; /* the default */
    double low, high;
    const char *choices; /* NULL for a number */
    const char *help;    /* one line, with the evidence grade of the default where it has one */
};

struct finished_batch {
    uint32_t queue; /* of its oldest job */
    uint32_t invoker;
    uint32_t instance; /* that ran it; SIM_NONE: a batch of platform_dispatch */
    uint32_t jobs;
    uint32_t configuration;
    sim_time_t started;   /* execution began */
    sim_time_t execution; /* its duration */
};

struct policy {
    unsigned abi;        /* POLICY_ABI */
    const char *name;    /* the paper's name in lower case with dashes */
    const char *summary; /* one line */
    const struct parameter *parameters;
    size_t parameter_count;
    size_t state_bytes; /* zeroed before init */

    /* `values[i]` belongs to parameters[i]. May allocate; false ends the run with `error`. */
    bool (*init)(void *state, struct platform *platform, const double *values, struct error *error);
    /* A job entered `queue`. */
    void (*on_ready)(void *state, struct platform *platform, uint32_t queue);
    /* A job of `queue` left without having run, for its request was given up: by platform_drop, or
     * where a queue was full. It waited in the buffer of `instance`, or, SIM_NONE, in the queue
     * itself. Told of every such job, the one named to platform_drop included, as soon as it has
     * left, in the midst of decide too; as in any other event there is nothing to act on yet. */
    void (*on_withdrawn)(void *state, struct platform *platform, uint32_t queue, uint32_t instance);
    void (*on_finish)(void *state, struct platform *platform, const struct finished_batch *batch);
    /* An instance made by platform_create has started: it is idle now. */
    void (*on_instance_ready)(void *state, struct platform *platform, uint32_t instance);
    /* A timer set with platform_set_timer rang. */
    void (*on_timer)(void *state, struct platform *platform, uint32_t id);
    /* One step of scheduling: at most one queue's worth of dispatching, so that decision time is
     * charged where it arises. Returns true where another step should follow at once (the platform
     * calls again after the charged time); false to sleep until something changes. */
    bool (*decide)(void *state, struct platform *platform);
    /* How long an idle container of `function` is kept from now; NULL: the platform's own. Not
     * asked where the experiment names a keep-alive policy (sched/keep_alive.h). */
    sim_time_t (*keep_alive)(void *state, struct platform *platform, uint32_t function,
                             uint32_t invoker);
    /* Frees what init allocated; called after an init that failed, too. */
    void (*finish)(void *state);
};

/* ---- Queries ------------------------------------------------------------------------------- */

sim_time_t platform_now(const struct platform *platform);
const struct workload *platform_workload(const struct platform *platform);
uint64_t platform_seed(const struct platform *platform);

/* Jobs waiting in queue q of (application, stage). */
uint32_t platform_queue_length(const struct platform *platform, uint32_t queue);
uint32_t platform_queue_application(const struct platform *platform, uint32_t queue);
uint32_t platform_queue_stage(const struct platform *platform, uint32_t queue);
/* The function that the queue's jobs run. */
uint32_t platform_queue_function(const struct platform *platform, uint32_t queue);
/* First non-empty queue at or cyclically after `from`; SIM_NONE where all are empty. */
uint32_t platform_next_queue(const struct platform *platform, uint32_t from);

struct job_view {
    uint64_t request;    /* its number in order of arrival */
    sim_time_t arrival;  /* of the request */
    sim_time_t ready;    /* when this job entered its queue */
    sim_time_t deadline; /* of the request: arrival + SLO */
    sim_time_t slo;
};

/* The job at `position` (0: the oldest) of a queue; position < length. */
struct job_view platform_job(const struct platform *platform, uint32_t queue, uint32_t position);

/* Invoker on which the (which-th) predecessor of the queue's oldest job ran; SIM_NONE past the
 * last, so 0, 1, … enumerates them. */
uint32_t platform_predecessor_invoker(const struct platform *platform, uint32_t queue,
                                      uint32_t which);

uint32_t platform_free_vcpus(const struct platform *platform, uint32_t invoker);
/* Most free units on any one GPU of the invoker. */
uint32_t platform_free_vgpus(const struct platform *platform, uint32_t invoker);
uint32_t platform_running_batches(const struct platform *platform, uint32_t invoker);
/* Idle containers of `function` there, and over the cluster. */
uint32_t platform_warm(const struct platform *platform, uint32_t function, uint32_t invoker);
uint32_t platform_warm_total(const struct platform *platform, uint32_t function);

/* Could a batch of `function` with `configuration` be dispatched to `invoker` now: vCPUs, a GPU
 * with the units and, idle containers evicted if need be, memory. */
bool platform_fits(const struct platform *platform, uint32_t function, uint32_t configuration,
                   uint32_t invoker);
/* The same, and on an idle (warm) container of the function: no cold start. */
bool platform_fits_warm(const struct platform *platform, uint32_t function, uint32_t configuration,
                        uint32_t invoker);

/* The invoker that fits with the fewest free units on the GPU on which the batch would run (then
 * fewest free vCPUs), SIM_NONE where none does; `warm`: only among those that fit warm. A batch
 * without a GPU counts the units of the invoker's fullest GPU. Of equal invokers the one whose free
 * units or vCPUs changed last. From an index over free resources: O(1) but for invokers turned down
 * for memory, and GPUs of invokers that would run the batch on another of theirs. */
uint32_t platform_best_fit(struct platform *platform, uint32_t function, uint32_t configuration,
                           bool warm);

/* OpenWhisk's placement: the function's home invoker (hash of its name), then co-prime steps. The
 * which-th invoker of that walk, which < invoker count. */
uint32_t platform_home(const struct platform *platform, uint32_t function, uint32_t which);

/* GPUs of an invoker, and what is free on one of them (which < count), in hundredths of a unit: an
 * instance may hold a share for a part of the time only. */
uint32_t platform_gpu_count(const struct platform *platform, uint32_t invoker);
uint32_t platform_gpu_free(const struct platform *platform, uint32_t invoker, uint32_t which);

/* ---- Actions ------------------------------------------------------------------------------- */

/* Launch the oldest `jobs` of `queue` as one batch with `configuration` (jobs <= its batch; time
 * and price are the configuration's) on `invoker`. Resources are held from now until the batch
 * finishes; it sets out when the decision time charged so far has passed. False breaks a rule: the
 * run ends. */
bool platform_dispatch(struct platform *platform, uint32_t queue, uint32_t jobs,
                       uint32_t configuration, uint32_t invoker);

/* Start a container of `function` on `invoker` without a batch; false where memory does not allow
 * (not a breach). Evicts nothing. */
bool platform_prewarm(struct platform *platform, uint32_t function, uint32_t invoker);
/* Give up the request of the job at `position`: an SLO miss. Its waiting jobs leave wherever they
 * wait (on_withdrawn). */
bool platform_drop(struct platform *platform, uint32_t queue, uint32_t position);
/* on_timer(id) at `time` >= now; SIM_FOREVER: never. A policy that does nothing but set timers,
 * with work waiting and nothing running, is stopped after a million of them. */
void platform_set_timer(struct platform *platform, sim_time_t time, uint32_t id);
/* Report work done by the decision in progress, in the policy's unit (node expansions, candidates
 * scanned …): turned into decision time by the platform's decision_cost. */
void platform_charge(struct platform *platform, uint64_t units);
/* A note for the decision log: what was chosen among how many, at which expected cost and time to
 * the end of the plan. Refers to the dispatch that follows. */
void platform_explain(struct platform *platform, uint32_t alternatives, double plan_cost_usd,
                      sim_time_t plan_time);
/* For policies that plan ahead (Orion, Aquatope): the dispatch that follows had been planned,
 * before it was known how many jobs would wait, with `configuration` of its function. It is a miss
 * where it runs fewer jobs than that configuration's batch, or with another configuration: figure
 * preplanned_miss_rate, the ESG paper's "pre-planned configuration miss rate". A policy that
 * settles configurations as it dispatches does not call it, and has no such figure. */
void platform_planned(struct platform *platform, uint32_t configuration);

/* ---- Instances ---------------------------------------------------------------------------------
 *
 * A long-lived instance of a function, for scalers (INFless, FaST-GShare, Dilu). It holds the
 * vCPUs, the share of one GPU and the memory of its configuration from platform_create to
 * platform_kill, whether it works or not, runs one batch at a time, and has a buffer of its own:
 * jobs are routed to it, wait there, and are launched as batches, which may mix queues of its
 * function. Executing is billed as any batch's; the rest of its life is billed apart
 * (cost_instance_usd).
 *
 * `quota`, 1..100, is the per cent of time for which it may use its share of the GPU (FaST-GShare's
 * temporal dimension; 100: always, the only one that MIG and exclusive GPUs allow). It runs at
 * quota/100 of its share's speed, a fluid model, and holds quota/100 of the share: the sum of
 * share × quota on a GPU stays within its units.
 *
 * Made, killed, routed to, launched and re-shared only within `decide`.
 */

enum instance_state { INSTANCE_STARTING, INSTANCE_IDLE, INSTANCE_BUSY };

struct instance_view {
    enum instance_state state;
    uint32_t function, configuration, quota;
    uint32_t invoker;
    uint32_t gpu;      /* which of the invoker's; SIM_NONE where it uses none */
    uint32_t buffered; /* jobs routed to it and not launched */
    uint32_t running;  /* jobs of the batch that it runs */
    sim_time_t created;
    sim_time_t ready; /* when it has started, or will have */
};

/* Could platform_create succeed now. `gpu`: which of the invoker's, SIM_NONE: any. */
bool platform_instance_fits(const struct platform *platform, uint32_t function,
                            uint32_t configuration, uint32_t quota, uint32_t invoker, uint32_t gpu);

/* A new instance, on an idle container of the function where one is there (then it is ready at
 * once), else after a cold start. SIM_NONE where it does not fit (not a breach). Ids of killed
 * instances are given again. */
uint32_t platform_create(struct platform *platform, uint32_t function, uint32_t configuration,
                         uint32_t quota, uint32_t invoker, uint32_t gpu);

/* Gives up what the instance holds; its container stays as an idle one, for as long as keep_alive
 * says. A breach where it is busy or jobs are buffered; one still starting is simply abandoned. */
bool platform_kill(struct platform *platform, uint32_t instance);

/* Another configuration and quota for a living instance (vertical scaling): the batch that runs
 * keeps its remaining work, at the new rate. False where the invoker has not what it takes (not a
 * breach; nothing changes). A breach where the batch that runs has more jobs than the new
 * configuration allows, or where the GPU is not shared by MPS. */
bool platform_set_share(struct platform *platform, uint32_t instance, uint32_t configuration,
                        uint32_t quota);

/* Moves the oldest job of `queue`, whose function must be the instance's, to the end of the
 * instance's buffer. */
bool platform_route(struct platform *platform, uint32_t queue, uint32_t instance);
/* Puts all buffered jobs back into their queues, in order of their age. O(buffered × queue). */
bool platform_return(struct platform *platform, uint32_t instance);

/* The instance, idle, runs the `jobs` oldest of its buffer as one batch (1..its batch). */
bool platform_launch(struct platform *platform, uint32_t instance, uint32_t jobs);

struct instance_view platform_instance(const struct platform *platform, uint32_t instance);
/* The job at `position` of the buffer (0: routed first); position < buffered. A dropped request's
 * jobs leave the buffer by themselves (on_withdrawn). */
struct job_view platform_buffered_job(const struct platform *platform, uint32_t instance,
                                      uint32_t position);

#endif
