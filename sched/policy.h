/* The contract between the platform and a scheduling policy.
 *
 * A policy is one `struct policy` of functions and a block of state. The platform calls these
 * functions when an event occurs: a job became ready, a batch finished, a timer expired. Whenever
 * the controller is free and something has changed, it calls `decide`. The policy reads the
 * platform through the `platform_*` queries below, which are O(1) unless noted. It acts only
 * through the `platform_*` actions. It cannot see the future: neither the noise of a running batch
 * nor any arrival to come.
 *
 * Three families fit: planners that choose a configuration for each batch (ESG, Orion, Aquatope),
 * scalers of long-lived instances (INFless, FaST-GShare, Dilu), dispatchers (FIFO, EDF, Clockwork).
 * Every function but `decide` may be NULL.
 *
 * This header suffices for dispatchers and planners. Scalers also need sched/policy_instances.h,
 * schedulers of trainings sched/policy_training.h. What only the reproduction of one paper asks for
 * is in sched/policy_reproduction.h.
 *
 * An action that returns false had no effect. Either the resources are not free, and the policy
 * goes on. Or it broke a rule, and the run ends when the callback returns.
 *
 * A minimal complete policy is tests/plugins/shortest_queue.c. Rules, each enforced:
 *   - Arguments name what exists. A query that breaks this rule returns 0, false or SIM_NONE.
 *   - Reserve only free resources, dispatch only waiting jobs.
 *   - Dispatch and drop only within `decide`.
 *   - Return true from `decide` only after progress.
 *   - Return from every function within the program's --decision-timeout.
 *   - Do not call rand(), random(), drand48(), time(), clock(), clock_gettime() or their kind:
 *     draw with platform_random, and take the time from platform_now.
 *   - Do not end or replace the process, close its files, call exit() or fork(), raise a signal or
 *     cause a fault.
 *
 * Breaking a rule ends the run with a message that names the rule, the function, the simulated
 * time, the policy and the seed. The program enforces the rules of time, process and faults. The
 * library enforces the others.
 */
#ifndef ESGSIM_SCHED_POLICY_H
#define ESGSIM_SCHED_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/parameters.h"
#include "sim/base/units.h"
#include "workloads/world/workload.h"

#define POLICY_ABI 11

struct platform; /* the simulator's side; opaque */

struct finished_batch {
    uint32_t queue; /* of its oldest job */
    uint32_t invoker;
    uint32_t instance; /* that executed the batch; SIM_NONE: started by platform_dispatch */
    uint32_t jobs;
    uint32_t configuration;
    sim_time_t started;   /* when execution began */
    sim_time_t execution; /* duration of the execution */
    bool lost; /* its invoker failed: its requests are dropped, and `execution` was cut short */
};

/* What a policy serves. An experiment with work that its policy does not serve is refused. */
enum policy_service { SERVES_REQUESTS, SERVES_TRAININGS, SERVES_BOTH };

struct policy {
    unsigned abi;                 /* POLICY_ABI */
    const char *name;             /* the paper's name in lower case with dashes */
    const char *summary;          /* one line */
    const struct key *parameters; /* ends with KEY_END; NULL: none (sim/base/parameters.h) */
    size_t parameters_bytes;      /* of the structure whose fields they are */
    size_t state_bytes;           /* zeroed before init */

    /* `parameters` is that structure, filled. It lives until after `finish`. False ends the run
     * with `error`. */
    bool (*init)(void *state, struct platform *platform, const void *parameters,
                 struct error *error);
    /* A job entered `queue`. */
    void (*on_ready)(void *state, struct platform *platform, uint32_t queue);
    /* A job of `queue` was removed before it ran, because its request was dropped: by
     * platform_drop, by platform.admission, or because a queue was full. The job was in the buffer
     * of `instance`, or in the queue itself if `instance` is SIM_NONE. Called once for each such
     * job, right after its removal, also for the job named to platform_drop and also during
     * `decide`. As in every event callback, dispatching is not allowed here. */
    void (*on_withdrawn)(void *state, struct platform *platform, uint32_t queue, uint32_t instance);
    /* A batch has released its resources, or its instance is idle: at its end, or after its
     * function's turnaround. Its answer left at `started` + `execution`. */
    void (*on_finish)(void *state, struct platform *platform, const struct finished_batch *batch);
    /* An instance made by platform_create has started and is idle. */
    void (*on_instance_ready)(void *state, struct platform *platform, uint32_t instance);
    /* A timer set with platform_set_timer expired. */
    void (*on_timer)(void *state, struct platform *platform, uint32_t id);
    /* One scheduling step. Dispatch from at most one queue per call, so that decision time is
     * charged where it arises. Return true to be called again after the charged time; return false
     * to sleep until something changes. */
    bool (*decide)(void *state, struct platform *platform);
    /* How long an idle container of `function` is kept from now. NULL: the platform's default. Not
     * called if the experiment names a keep-alive policy (workloads/spec/keep_alive.h). */
    sim_time_t (*keep_alive)(void *state, struct platform *platform, uint32_t function,
                             uint32_t invoker);
    /* Closes files and frees what the policy took with malloc. Not needed for platform_allocate.
     * Also called after an init that failed, and after memory was exhausted anywhere. */
    void (*finish)(void *state);

    /* Trainings (sched/policy_training.h): a training arrived, or made its last iteration. Its gang
     * is free again. A training that loses its gang, because an invoker fails, finishes and arrives
     * anew for its policy: it waits again, with the work of its last checkpoint. Actions are not
     * allowed here. */
    void (*on_training_arrived)(void *state, struct platform *platform, uint32_t training);
    void (*on_training_finished)(void *state, struct platform *platform, uint32_t training);
    enum policy_service serves;
    /* The policy says which containers live where, by a plan or by its instances. The experiment's
     * platform.cold_dispatch and platform.pool do not apply to it. */
    bool places_containers;
    /* Which requests it refuses by a rule of its own, as in "what cannot be in time"; NULL: none. A
     * parameter own_admission, if it has one, switches the rule off. */
    const char *refuses;
    /* That rule judges single requests, so platform.admission does not apply beside it. */
    bool admits_requests;
    /* What the platform refuses for the policy if the experiment has no platform.admission: "lost",
     * or the name of a rate, as "efficient". NULL: nothing. */
    const char *admission;
    /* A full queue refused a job after `invoker` ran its first predecessor: its request is dropped.
     * It never entered the queue. Actions are not allowed here. */
    void (*on_refused)(void *state, struct platform *platform, uint32_t invoker);
    /* Why the policy could not place such a gang on the cluster even if it were empty, as in "spans
     * invokers"; NULL: it could. Called after init for the sizes, memory per GPU and types of GPU
     * (training_view.gpu_types) that trainings of the experiment have; 0 GPUs: it asks for vCPUs
     * alone. A reason ends the run as bad input. NULL: it places whatever the cluster's GPUs hold,
     * and nothing without a GPU or on types of its choice. */
    const char *(*refuses_gang)(void *state, uint32_t gpus, double gpu_memory_mb,
                                uint64_t gpu_types);
    /* The experiment must name a file for the policy, and may do so for no other. */
    bool reads_file;
    /* It decides by what the platform shows alone, and keeps no account of its own batches, so it
     * can be asked where another policy decides ("policy.shadow"). Then only on_ready and on_finish
     * are called, and a step that would dispatch ends there. */
    bool advises;
};

/* ---- Queries ------------------------------------------------------------------------------- */

sim_time_t platform_now(const struct platform *platform);
/* Times and costs of its configurations are those to plan with; executions may take others
 * ("planning" of the experiment). */
const struct workload *platform_workload(const struct platform *platform);
/* In a run of which actions are recorded it is another number that the seed determines. */
uint64_t platform_seed(const struct platform *platform);
/* Path of the file that the experiment names for its policy ("policy.file"); NULL unless the policy
 * reads one. */
const char *platform_policy_file(const struct platform *platform);
/* The next number of the run's own random stream for its policy: uniform in [0, 1), in steps of
 * 2^-53. `(uint32_t)(platform_random(platform) * n)` is uniform in 0..n-1. The seed determines the
 * stream, so draws do not change arrivals or noise, and a run repeats exactly. */
double platform_random(struct platform *platform);

/* Number of jobs waiting in a queue; there is one queue per (application, stage). */
uint32_t platform_queue_length(const struct platform *platform, uint32_t queue);
uint32_t platform_queue_application(const struct platform *platform, uint32_t queue);
uint32_t platform_queue_stage(const struct platform *platform, uint32_t queue);
/* The function that the queue's jobs run. */
uint32_t platform_queue_function(const struct platform *platform, uint32_t queue);
/* First non-empty queue at or cyclically after `from`; SIM_NONE where all are empty. */
uint32_t platform_next_queue(const struct platform *platform, uint32_t from);

struct job_view {
    uint64_t request;    /* number of the request in order of arrival */
    sim_time_t arrival;  /* of the request */
    sim_time_t ready;    /* when this job entered its queue */
    sim_time_t deadline; /* of the request: arrival + SLO */
    sim_time_t slo;
};

/* The job at `position` of a queue; 0 is the oldest. position < length. */
struct job_view platform_job(const struct platform *platform, uint32_t queue, uint32_t position);

/* Invoker that ran predecessor number `which` of the job at `position` of a queue. SIM_NONE if
 * there are fewer predecessors, so that 0, 1, … enumerates them, or no such job. */
uint32_t platform_predecessor_invoker(const struct platform *platform, uint32_t queue,
                                      uint32_t position, uint32_t which);

uint32_t platform_free_vcpus(const struct platform *platform, uint32_t invoker);
/* The largest number of free units on a single GPU of the invoker; at most the GPU's units, also if
 * it is over-subscribed. */
uint32_t platform_free_vgpus(const struct platform *platform, uint32_t invoker);
uint32_t platform_running_batches(const struct platform *platform, uint32_t invoker);
/* Idle containers of `function` on the invoker, and in the whole cluster. */
uint32_t platform_warm(const struct platform *platform, uint32_t function, uint32_t invoker);
uint32_t platform_warm_total(const struct platform *platform, uint32_t function);

/* True if a batch of `function` with `configuration` can be dispatched to `invoker` now. This
 * requires free vCPUs, a GPU of the configuration's kind with enough free units, and enough memory,
 * counting the memory of idle containers that can be evicted. If no idle container of the function
 * fits there, platform.cold_dispatch decides whether one may start:
 *
 * - "start": always.
 * - "wait": only if no container of the function will come free that can run the configuration. An
 *   idle, starting or busy container will, unless an instance holds it.
 * - "late": only while fewer containers of the function start than batches of the configuration
 *   wait. It may evict idle containers of others only as with "wait". O(queues). */
bool platform_fits(const struct platform *platform, uint32_t function, uint32_t configuration,
                   uint32_t invoker);
/* The same, with an idle (warm) container of the function, so without a cold start. */
bool platform_fits_warm(const struct platform *platform, uint32_t function, uint32_t configuration,
                        uint32_t invoker);

/* Best fit: among the invokers on which the batch fits, the one with the fewest free units on the
 * GPU that would run it, then the fewest free vCPUs. SIM_NONE if it fits nowhere. With `warm`, only
 * invokers that fit warm. A batch without a GPU counts the free units of the invoker's fullest GPU;
 * where there are several kinds of GPU, that of the first kind, and invokers with that kind first.
 * Ties go to the invoker whose free units or vCPUs changed last. O(1), from an index over free
 * resources. It also visits invokers rejected for memory, and GPUs of invokers that would run the
 * batch on another of their GPUs. The rule of cold starts is that of platform_fits. */
uint32_t platform_best_fit(struct platform *platform, uint32_t function, uint32_t configuration,
                           bool warm);

/* Number of changes so far to what is free or warm in the cluster, or to what may start there.
 * While it stays the same, a batch that fits nowhere still fits nowhere. */
uint64_t platform_changes(const struct platform *platform);

/* OpenWhisk's placement order: the function's home invoker (hash of its name), then co-prime steps.
 * Returns entry `which` of this order, which < invoker count. */
uint32_t platform_home(const struct platform *platform, uint32_t function, uint32_t which);

/* Whether the invoker is up. One that has failed ("platform.failures") shows nothing free. */
bool platform_invoker_up(const struct platform *platform, uint32_t invoker);
/* Number of invokers that failed or came back so far, for policies with a picture of their own of
 * the cluster. 0: none can fail. */
uint64_t platform_outages(const struct platform *platform);

/* How long the platform keeps an idle container by default: platform.keep_alive_s. */
sim_time_t platform_keep_alive(const struct platform *platform);

/* ---- Memory -------------------------------------------------------------------------------- */

/* Memory of the run: `count` entries of `size` bytes, all 0. The platform frees it after the run
 * and after `finish`. Never NULL: if memory is exhausted, or the product is more than a size_t
 * holds, the run ends with a message and the callback does not return. A policy then needs neither
 * tests nor `finish`. malloc and free work as ever, but a callback that does not return frees
 * nothing: keep what malloc returned in the state, and free it in `finish`. */
void *platform_allocate(struct platform *platform, size_t count, size_t size);
/* Resizes such memory, which may move; NULL is allocated anew. New bytes are 0. */
void *platform_reallocate(struct platform *platform, void *memory, size_t count, size_t size);

/* ---- Actions ------------------------------------------------------------------------------- */

/* Launches the oldest `jobs` jobs of `queue` as one batch on `invoker`, with jobs <= the batch of
 * `configuration`. Time and price are those of the configuration. Resources are held from now until
 * the batch finishes. The batch departs when the decision time charged so far has elapsed. Breaks a
 * rule if the batch does not fit.
 *
 * With platform.cold_dispatch "late", a batch without an idle container on `invoker` is not
 * launched. A container starts there, which holds memory only, and the result is false. The jobs
 * stay in their queue. A later decision finds whichever container is idle first. */
bool platform_dispatch(struct platform *platform, uint32_t queue, uint32_t jobs,
                       uint32_t configuration, uint32_t invoker);

/* Starts a container of `function` on `invoker` without a batch. False if there is not enough
 * memory. Never evicts. */
bool platform_prewarm(struct platform *platform, uint32_t function, uint32_t invoker);
/* Drops the request of the job at `position`, which counts as an SLO miss. All its waiting jobs are
 * removed from their queues and buffers (on_withdrawn). */
bool platform_drop(struct platform *platform, uint32_t queue, uint32_t position);
/* Calls on_timer(id) at `time` >= now; SIM_FOREVER: never. A run ends after a million timers, if
 * meanwhile nothing runs, no arrival is left and the policy only sets timers. It also ends after a
 * million timers or ends of leases within 10 ms of simulated time, if meanwhile the policy
 * dispatches, launches and drops nothing and places no training for the first time. */
void platform_set_timer(struct platform *platform, sim_time_t time, uint32_t id);

/* ---- Reports ------------------------------------------------------------------------------- */

/* Says that a request of `application` (of the workload) can be served with `work` ns of the whole
 * cluster, a policy's plan. Where platform.admission is a rate, it holds in place of the work that
 * was measured. */
void platform_tell_work(struct platform *platform, uint32_t application, sim_time_t work);
/* Reports work done by the current decision, in the policy's unit (node expansions, candidates
 * scanned …). The platform's decision_cost converts it to decision time. */
void platform_charge(struct platform *platform, uint64_t units);
/* States what a reader of the run's figures should know of the policy; it is printed and stored as
 * a note. Texts of several calls are joined by "; ". At init, so that it is alike in all seeds. */
void platform_remark(struct platform *platform, const char *text);
/* A note for the decision log about the next dispatch: the number of alternatives, the expected
 * cost, and the expected time to the end of the plan. */
void platform_explain(struct platform *platform, uint32_t alternatives, double plan_cost_usd,
                      sim_time_t plan_time);
/* For policies that plan ahead (Orion, Aquatope). States that `configuration` of the function was
 * planned for the next dispatch before the number of waiting jobs was known. The dispatch is a miss
 * if it uses another configuration, or has fewer jobs than that configuration's batch. Metric
 * preplanned_miss_rate, the ESG paper's "pre-planned configuration miss rate". A policy that
 * chooses configurations at dispatch does not call this and has no such metric. */
void platform_planned(struct platform *platform, uint32_t configuration);
#endif
