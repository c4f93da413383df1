/* The state of one run, shared by the files of sim/platform (not a public header).
 *
 * Policies see `struct platform` as an opaque handle. Each file declares its functions in the
 * header of the same name:
 *
 * - simulation.c: a run from its first allocation to its result.
 * - event_loop.c: the clock, events (events.def), arrivals and the controller. Its functions for
 * other files of this folder are in simulation_internal.h.
 * - policy_api.c: the queries and actions of a policy (sched/policy.h); failures of the run.
 * - policy_api_instances.c: the same for long-lived instances (sched/policy_instances.h).
 * - policy_calls.c: all calls of a policy's callbacks; actions.c: what they do, recorded and
 * replayed.
 * - requests.c: requests, their jobs and the AFW queues.
 * - frames.c: periodic tasks, whose frames wait for one another.
 * - instances.c: long-lived instances and their buffers.
 * - batches.c: batches from reservation to finish; transfers.
 * - batch_accounts.c: what a finished batch cost, whose time it was, and who holds what.
 * - gpu_work.c: execution rates of batches that share one GPU (MPS).
 * - containers.c: cold starts, idle times, prewarming and its predictor.
 * - admission.c: requests that platform.admission drops; load_limit.c: by which rate.
 * - warm_pool.c: the containers that platform.pool keeps.
 * - keep_alive.c: the idle time of containers, by the experiment's or the policy's keep-alive.
 * - trainings.c, training_rates.c, training_metrics.c: trainings, their gangs and leases.
 * - policy_api_training.c: the queries and actions of sched/policy_training.h.
 * - waits.c: why jobs wait, where that is recorded.
 * - metrics.c: totals, percentiles and bounds.
 * - failures.c: invokers that fail, and what is lost then.
 * - notices.c: what a reader of the figures must know.
 *
 * If batches execute on a backend, sim/backend/hardware.c implements replay.h.
 */
#ifndef ESGSIM_SIM_PLATFORM_STATE_H
#define ESGSIM_SIM_PLATFORM_STATE_H

#include <fenv.h>
#include <setjmp.h>

#include "workloads/spec/keep_alive.h"
#include "sched/policy_instances.h"
#include "sim/base/arena.h"
#include "sim/engine/event_queue.h"
#include "sim/cluster/cluster.h"
#include "sim/platform/metrics.h"
#include "sim/engine/random.h"
#include "sim/platform/simulation.h"
#include "traces/profile/interference.h"

struct backend;
struct rate_admission;
struct capacity_bound;
struct trainings;
struct failures;
struct waits;

__extension__ typedef __int128 wide_t;

/* EVENT_BATCH_START to EVENT_SAMPLE: the lines of events.def. Kinds below EVENT_WORK_KINDS are
 * work. */
enum event_kind {
#define EVENT(kind, call, cause)
#define WORK_EVENT(kind, call, cause) EVENT_##kind,
#include "sim/platform/events.def"
    EVENT_WORK_KINDS,
#define EVENT(kind, call, cause) EVENT_##kind,
#define WORK_EVENT(kind, call, cause)
#include "sim/platform/events.def"
};

enum job_state { JOB_BLOCKED, JOB_READY, JOB_RUNNING, JOB_DONE };

/* A job is one stage of one request; its id is request slot × stride + stage. */
struct job {
    sim_time_t ready;
    sim_time_t entered; /* when it entered its current or last queue or buffer */
    double noise; /* drawn for this job on GPUs of kind 0: a factor, or the service time in ms */
    double used_noise; /* the noise of the batch in which it ran */
    /* In a batch: the next job of the batch. Waiting: the instance whose buffer contains it, or
     * SIM_NONE if it is in its queue. */
    uint32_t next;
    uint32_t invoker;   /* that ran it; undefined before it has run */
    uint8_t blocked_by; /* predecessors that are not done */
    uint8_t state;      /* enum job_state */
};

struct request {
    sim_time_t arrival, slo;
    uint64_t number;
    uint8_t left, running; /* numbers of jobs: not done; in batches */
    bool measured, dropped;
    bool shed; /* dropped by its application's rate, or by the policy */
    uint32_t application;
    uint32_t user; /* of a closed process, else SIM_NONE; in a free slot: the next free slot */
    sim_time_t queue_time, transfer_time, cold_time, exec_time;
    double cost;
};

/* An AFW queue, or the buffer of an instance: a ring buffer of job ids. */
struct queue {
    uint32_t application, stage, function;
    uint32_t *ring;
    uint32_t head, length, capacity; /* capacity: a power of two */
    /* Little's law as an invariant in exact integers: ∫ length dt equals the sum of waits. */
    wide_t area, waited;
    sim_time_t changed;
};

struct batch {
    uint64_t number;
    uint32_t queue; /* of its oldest job */
    uint32_t configuration, invoker, gpu, container;
    uint32_t instance;  /* that runs it; SIM_NONE: dispatched without an instance */
    uint32_t first_job; /* list through job.next; in a free slot: the next free slot */
    uint16_t jobs;      /* 0: the slot is free */
    uint8_t slots;      /* MIG memory slots */
    uint8_t quota;      /* percentage of time for which it may use its share of the GPU */
    bool cold, executing;
    bool worked;   /* its work has ended, and its answer leaves after platform.host_ms */
    bool answered; /* its jobs have ended; it still holds its share, for its turnaround */
    /* planned: its configuration was planned (platform_planned). planned_missed: but the batch has
     * another configuration or is smaller. */
    bool planned, planned_missed;
    bool reshared; /* its share changed during execution */
    sim_time_t dispatched, launched, transfer;
    sim_time_t started; /* or will start: when both input and container are ready */
    sim_time_t finished;
    event_queue_handle event; /* its start, its finish without interference, answer or release */
    /* Only if reshared: */
    double work; /* ns of execution left at rate 1, at priced_since */
    sim_time_t priced_since;
    double alone;  /* ns: time without interference of the work done up to priced_since */
    double billed; /* $: cost of execution up to priced_since */
};

/* A batch that executes on a GPU with interference. Each start and finish on a GPU updates all
 * batches that execute there. Their data is therefore stored together, per GPU. */
struct execution {
    double work; /* ns of execution left at rate 1, at gpu_work.updated */
    double rate;
    sim_time_t finish; /* SIM_FOREVER: it has just started and has no rate yet */
    uint64_t order;    /* tie-break among events at the time `finish` */
    size_t place;      /* of its configuration in gpu_work_table */
    uint32_t batch;
    uint16_t vgpu;
    uint8_t quota;
};

/* The batches that execute on one GPU, in order of their start. The event queue contains one event
 * for all of them: that of the earliest finish. */
struct gpu_work {
    struct execution *executions;
    size_t capacity;
    event_queue_handle event;
    sim_time_t updated; /* when `work` of all executions was last updated */
    uint32_t count;
    bool interferes; /* batches on the GPU slow one another, by a model or by their shares */
    bool modelled;   /* by the interference model of its profile */
};

/* Inputs of the slowdowns of batches that share a GPU, and buffers for their computation. */
struct gpu_work_table {
    /* By kind of GPU: each configuration with the whole quota; NULL: no model. */
    struct prepared_runner **kinds;
    /* By kind of GPU: its pool of contexts, NULL where it is none; its GPUs, how many execute, how
     * many batches, and the slowdown of each by the others. */
    struct context_use {
        const struct context_pool *pool;
        uint32_t gpus, busy, batches;
        double slowdown;
    } * contexts;
    size_t *first; /* by function: its first configuration there */
    /* For the GPU whose rates are computed: */
    struct prepared_runner *runners;
    double *slowdowns;
};

struct instance {
    bool alive;
    enum instance_state state;
    uint8_t slots, quota;
    uint32_t function, configuration, invoker, gpu, container;
    uint32_t batch; /* that it runs; SIM_NONE: none */
    uint32_t next_free;
    struct queue buffer;
    sim_time_t created, ready;
    sim_time_t unused_since; /* its last execution or bill, whichever is later */
    event_queue_handle ready_event;
};

struct controller {
    bool busy, changed, more, deciding;
    uint32_t idle_rounds; /* consecutive decide() == true without progress */
    uint32_t idle_timers; /* timers and changes of trainings, since the last move or `woken` */
    sim_time_t woken;
    /* About the decision in progress: */
    uint64_t units;
    uint32_t acts;
    uint32_t moves; /* acts that remove jobs from their queue for good: dispatch, launch, drop */
    sim_time_t free_at; /* busy: end of the decision */
    double wall_start;
    uint32_t alternatives;
    double plan_cost;
    sim_time_t plan_time;
    uint32_t planned; /* from platform_planned, for the next batch; SIM_NONE: none */
};

/* The platform's default predictor for one function: EWMA of the intervals between its jobs. */
struct predictor {
    sim_time_t last_ready;
    double interval_ns; /* 0: fewer than two jobs so far */
    bool pending;       /* an EVENT_PREWARM is in the event queue */
};

/* The experiment's keep-alive policy and its data. */
struct keep_alive_state {
    const struct keep_alive *policy; /* NULL: none */
    void *state;
    uint64_t *uses; /* per function: number of times that a container was taken for work */
    struct reload *reloads;
    uint32_t reload_count, reload_free;
};

/* Of a periodic process: the slots of an application's frame in progress and of the next one, which
 * waits for its end. SIM_NONE: none. None begins late after the horizon. */
struct task {
    uint32_t running, waiting;
    sim_time_t horizon; /* 0: no frame so far */
};

struct platform {
    const struct experiment *experiment;
    const struct workload *workload; /* of the world */
    const struct workload *planned;  /* as policies see it */
    struct shown *shown; /* as a policy of a module sees it, and more; NULL: it is not of one */
    const struct policy *policy;
    void *policy_state;  /* NULL: init has not been called */
    struct arena arena;  /* memory of the policies, and most of the platform's */
    char *remarks;       /* of the policy, for a notice; NULL: none */
    const char *refusal; /* how requests are refused, for a notice; NULL: by nobody */
    jmp_buf exhausted;   /* where the run goes on: that memory is exhausted, or chance was taken */
    struct simulation_place *place; /* own_place, or memory shared with another process */
    struct simulation_place own_place;
    /* Numbers of callbacks: called so far, in progress, of the one around that. */
    uint64_t callbacks, callback, outer_callback;
    bool numbered;                  /* actions are recorded or replayed, or the policy is foreign */
    uint64_t unnoted;               /* units charged, of which the recorder has no row yet */
    uint64_t noted;                 /* the callback of its last row */
    bool foreign;                   /* the policy is of a module (sched/module.h) */
    double callbacks_s;             /* wall-clock time in its callbacks but init, if it is */
    fenv_t rounding;                /* modes of floating point, which a foreign policy may change */
    struct random_stream random[2]; /* platform_random; of a shadow: the second */
    const struct recorder *recorder;
    const struct backend *backend; /* executes batches; NULL: the model computes their times */
    const struct simulation_options *options;
    struct capacity_bound *bound; /* has the requests so far; NULL: none wanted */
    struct event_queue *event_queue;
    struct cluster cluster;
    struct controller controller;
    struct metrics metrics;
    struct predictor *predictors; /* per function */
    struct keep_alive_state keep_alive_state;
    struct admission_spec admission; /* in force */
    sim_time_t *ways;     /* by queue: the fastest way to the end; NULL: lost requests are served */
    sim_time_t *earliest; /* by queue, beside `ways`: no waiting job's deadline is before it */
    struct choices *choices;               /* NULL: they are not recorded (choices.h) */
    struct waits *waits;                   /* NULL: they are not recorded (waits.h) */
    bool observed;                         /* what holds until the clock's next time is noted */
    bool asking;                           /* policy.shadow is asked: no action has an effect */
    struct rate_admission *rate_admission; /* NULL: the admission is no rate */
    uint32_t *pool_targets;                /* of the warm pool, by invoker; NULL: there is none */

    sim_time_t now;
    sim_time_t host;    /* from the end of a batch's work to its answer; a backend has its own: 0 */
    sim_time_t ingress; /* from the arrival of a request until its first jobs are ready */
    uint32_t stride;    /* jobs per request slot: a power of two, 1 << slot_shift */
    uint32_t slot_shift;
    struct request *requests;
    struct job *jobs;
    size_t request_room;                  /* capacity of `requests`; `stride` jobs per slot */
    uint32_t requests_used, request_free; /* high-water mark; free list */
    uint32_t in_flight;
    struct task *tasks; /* by application; NULL: the arrivals are not periodic */
    struct queue *queues;
    uint64_t *queue_mask; /* bit q: queue q is not empty */
    uint64_t waiting_jobs;
    struct batch *batches;
    size_t batch_room;
    uint32_t batches_used, batch_free; /* as for requests */
    uint32_t running_batches;
    uint64_t next_batch, next_request;
    sim_time_t dispatched; /* when the last batch was */
    struct instance *instances;
    size_t instance_capacity;
    uint32_t instance_free;
    uint64_t work_events; /* pending events of kinds below EVENT_WORK_KINDS */
    uint64_t events;
    uint64_t sampled; /* `events` at the last sample */
    bool unchecked;   /* a decision was made since then */
    /* Per function and kind of GPU: its fastest configuration, for the lower bound on latency and
     * the invariant that checks it. Kind 0 includes configurations without a GPU. */
    struct fastest {
        sim_time_t time; /* SIM_FOREVER: none */
        double speed;    /* of drawn service times */
        bool profile;    /* `time` is from the profile; else service times are drawn as a whole */
    } * fastest;
    bool unlike_noise;           /* some function's noise differs between kinds of GPU */
    struct gpu_work *gpu_work;   /* per GPU */
    struct trainings *trainings; /* NULL: the experiment has none (trainings.h) */
    struct failures *failures;   /* NULL: invokers do not fail (failures.h) */
    struct gpu_work_table work_table;
    bool failed;
    double setup_s; /* wall-clock time so far, for simulation_result.setup_s */
    struct error *error;
};

static inline uint64_t draw_seed(const struct platform *platform, sim_time_t time)
{
    const struct simulation_options *options = platform->options;
    return time < options->swerve ? options->swerve_seed : platform->experiment->seed;
}

#endif
