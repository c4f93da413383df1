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
 * This page is for dispatchers and planners. Scalers also need sched/policy_instances.h. What a
 * policy tells about its decisions, to be charged for or shown, is in sched/policy_bookkeeping.h.
 *
 * An action that returns false was not taken: nothing has changed. Either what it asks for is not
 * free, and the policy goes on, or it broke a rule, and the run ends when the callback returns.
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

#include "sched/parameters.h"
#include "sim/error.h"
#include "sim/units.h"
#include "workloads/workload.h"

#define POLICY_ABI 4

struct platform; /* the simulator's side; opaque */

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

/* ---- Actions ------------------------------------------------------------------------------- */

/* Launch the oldest `jobs` of `queue` as one batch with `configuration` (jobs <= its batch; time
 * and price are the configuration's) on `invoker`. Resources are held from now until the batch
 * finishes; it sets out when the decision time charged so far has passed. A breach where it does
 * not fit. */
bool platform_dispatch(struct platform *platform, uint32_t queue, uint32_t jobs,
                       uint32_t configuration, uint32_t invoker);

/* Start a container of `function` on `invoker` without a batch; false where memory does not allow.
 * Evicts nothing. */
bool platform_prewarm(struct platform *platform, uint32_t function, uint32_t invoker);
/* Give up the request of the job at `position`: an SLO miss. Its waiting jobs leave wherever they
 * wait (on_withdrawn). */
bool platform_drop(struct platform *platform, uint32_t queue, uint32_t position);
/* on_timer(id) at `time` >= now; SIM_FOREVER: never. A policy that does nothing but set timers,
 * with work waiting and nothing running, is stopped after a million of them. */
void platform_set_timer(struct platform *platform, sim_time_t time, uint32_t id);
#endif
