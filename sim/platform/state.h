/* The state of one run, shared by the simulator's own files (not a public header).
 *
 * `struct platform` is what policies see as an opaque handle. The files divide the work:
 *   simulation.c  the loop: clock, arrivals, events, the end of the run
 *   platform.c    what a policy may ask and do (sched/policy.h)
 *   policy_calls.c  every call of a policy, and which one is in progress
 *   jobs.c        requests, their jobs, the AFW queues
 *   instances.c   long-lived instances and their buffers
 *   batches.c     batches from reservation to finish, transfers
 *   gpu_work.c    batches that execute on one GPU and disturb one another: MPS rates
 *   containers.c  containers: cold starts, idle times, prewarming and its predictor
 *   keeping.c     which idle container stays how long: the experiment's keep-alive, or the policy's
 *   replay.c      what a run does otherwise whose batches execute on a backend
 *   metrics.c     totals and percentiles
 */
#ifndef ESGSIM_SIM_PLATFORM_STATE_H
#define ESGSIM_SIM_PLATFORM_STATE_H

#include <gsl/gsl_randist.h>

#include "sched/keep_alive.h"
#include "sched/policy_instances.h"
#include "sim/backend/backend.h"
#include "sim/engine/event_queue.h"
#include "sim/cluster/cluster.h"
#include "sim/platform/metrics.h"
#include "sim/engine/random.h"
#include "sim/platform/simulation.h"
#include "traces/profile/interference.h"

__extension__ typedef __int128 wide_t;

enum event_kind {
    EVENT_BATCH_START,     /* subject: batch. Transfer and cold start are over */
    EVENT_BATCH_FINISH,    /* subject: batch */
    EVENT_CONTAINER_READY, /* subject: container, of a prewarm */
    EVENT_INSTANCE_READY,  /* subject: instance */
    EVENT_CONTROLLER_FREE,
    EVENT_TIMER,            /* subject: the policy's id */
    EVENT_USER,             /* subject: user of a closed process, who asks now */
    EVENT_PREWARM,          /* subject: function */
    EVENT_WORK_KINDS,       /* kinds before this one are work: a run without any is stuck or over */
    EVENT_CONTAINER_EXPIRY, /* subject: container */
    EVENT_CONTAINER_RELOAD, /* subject: plan of keeping.c */
    EVENT_SAMPLE
};

/* The function of a policy that is in progress. */
enum policy_callback {
    CALLBACK_NONE,
    CALLBACK_INIT,
    CALLBACK_ON_READY,
    CALLBACK_ON_WITHDRAWN,
    CALLBACK_ON_FINISH,
    CALLBACK_ON_INSTANCE_READY,
    CALLBACK_ON_TIMER,
    CALLBACK_DECIDE,
    CALLBACK_KEEP_ALIVE,
    CALLBACK_FINISH
};

enum job_state { JOB_BLOCKED, JOB_READY, JOB_RUNNING, JOB_DONE };

/* A job is one stage of one request; its id is request slot × stride + stage. */
struct job {
    sim_time_t ready;
    sim_time_t entered; /* the queue or buffer in which it waits, or last waited */
    double noise;       /* its own draw: a factor, or the service time in ms */
    double used_noise;  /* of the batch it ran in */
    uint32_t next; /* next job of the same batch; of one that waits: the instance in whose buffer it
                      does, SIM_NONE: in its queue */
    uint32_t invoker;   /* where it ran; means nothing before */
    uint8_t blocked_by; /* predecessors not yet done */
    uint8_t state;      /* enum job_state */
};

struct request {
    sim_time_t arrival, slo;
    uint64_t number;
    uint8_t left, running; /* jobs not done; jobs in batches */
    bool measured, dropped;
    uint32_t application;
    uint32_t user; /* of a closed process, else SIM_NONE; of a free slot: the next free one */
    sim_time_t queue_time, transfer_time, cold_time, exec_time;
    double cost;
};

/* AFW queue, or an instance's buffer: a ring of job ids. */
struct queue {
    uint32_t application, stage, function;
    uint32_t *ring;
    uint32_t head, length, capacity; /* capacity: a power of two */
    /* Little's law, in exact integers: ∫ length dt must equal the sum of waits. */
    wide_t area, waited;
    sim_time_t changed;
};

struct batch {
    uint64_t number;
    uint32_t queue; /* the head's */
    uint32_t configuration, invoker, gpu, container;
    uint32_t instance;  /* that runs it; SIM_NONE: a batch of its own */
    uint32_t first_job; /* list through job.next; of a free batch: the next free one */
    uint16_t jobs;      /* none: the batch is free */
    uint8_t slots;      /* MIG memory slots */
    uint8_t quota;      /* per cent of the time on its share of the GPU */
    bool cold, executing;
    bool planned, planned_missed; /* by a plan made ahead; and it did not come about */
    bool reshared;                /* given another share */
    sim_time_t dispatched, launched, transfer;
    sim_time_t started;              /* or when it will: input and container are there */
    event_queue_handle finish_event; /* of an instance's batch that executes undisturbed */
    /* Of one that was given another share: */
    double work; /* ns of execution left at rate 1 when it was last settled */
    sim_time_t priced_since;
    double alone;  /* ns that what was settled would have taken without interference */
    double billed; /* $, of execution up to priced_since */
};

/* A batch that executes on a GPU where others disturb it. Whenever one comes or goes all on the GPU
 * are brought up to date, so what that takes is kept by GPU and not by batch. */
struct execution {
    double work; /* ns of execution left at rate 1, when the GPU's were last updated */
    double rate;
    sim_time_t finish; /* SIM_FOREVER: it has just come, and has no rate yet */
    uint64_t order;    /* among events of the time `finish` */
    uint32_t batch, function;
    uint16_t vgpu;
    uint8_t quota;
};

/* What executes on one GPU, the latest comer last. One event, for the first to finish, is in the
 * event queue for all of them. */
struct gpu_work {
    struct execution *executions;
    uint32_t count, capacity;
    event_queue_handle event;
    sim_time_t updated; /* when `work` of all was last brought up to date */
};

/* What the slowdowns of those on a GPU are made of. */
struct gpu_work_table {
    struct prepared_runner *functions; /* each with the whole of a GPU */
    double **as_other;                 /* by a GPU's units: of each of its shares */
    uint16_t most_units;
    /* Of the GPU that is looked at: */
    struct prepared_runner *runners;
    double *slowdowns;
    uint32_t room;
};

struct instance {
    bool alive;
    enum instance_state state;
    uint8_t slots, quota;
    uint32_t function, configuration, invoker, gpu, container;
    uint32_t batch; /* that it runs; SIM_NONE */
    uint32_t next_free;
    struct queue buffer;
    sim_time_t created, ready;
    sim_time_t unused_since; /* since when it has not executed, or the last bill */
    event_queue_handle ready_event;
};

struct controller {
    bool busy, changed, more, deciding;
    uint32_t idle_rounds; /* consecutive decide() == true without progress */
    uint32_t idle_timers; /* timers since anything else happened, with nothing left to come */
    /* Of the decision in progress: */
    uint64_t units;
    uint32_t acts;
    uint32_t moves; /* of the acts, those that take jobs off for good: dispatch, launch, drop */
    sim_time_t charged;
    double wall_start;
    uint32_t alternatives;
    double plan_cost;
    sim_time_t plan_time;
    uint32_t planned; /* configuration told by platform_planned for the next batch; SIM_NONE */
};

/* The platform's default predictor: EWMA of the intervals between a function's jobs. */
struct predictor {
    sim_time_t last_ready;
    double interval_ns; /* 0: fewer than two jobs seen */
    bool pending;       /* an EVENT_PREWARM is in the event queue */
};

/* The keep-alive policy that the experiment names. */
struct keep_alive_state {
    const struct keep_alive *policy; /* NULL: none */
    void *state;
    uint64_t *uses; /* per function: containers taken for work so far */
    struct reload *reloads;
    uint32_t reload_capacity, reload_free;
};

struct platform {
    const struct experiment *experiment;
    const struct workload *workload;
    const struct policy *policy;
    void *policy_state;
    enum policy_callback callback; /* in progress */
    uint64_t callbacks;            /* calls of the policy so far */
    const struct recorder *recorder;
    const struct backend *backend; /* where batches execute; NULL: as the model says */
    struct event_queue *event_queue;
    struct cluster cluster;
    struct controller controller;
    struct metrics metrics;
    struct predictor *predictors; /* per function */
    struct keep_alive_state keep_alive_state;

    sim_time_t now;
    uint32_t stride; /* jobs per request slot: a power of two, 1 << slot_shift */
    uint32_t slot_shift;
    struct request *requests;
    struct job *jobs;
    uint32_t request_room;                /* slots of `requests`, with `stride` jobs each */
    uint32_t requests_used, request_free; /* slots used ever; list of those given back */
    uint32_t in_flight;
    struct queue *queues;
    uint64_t *queue_mask; /* bit q: queue q is not empty */
    uint64_t waiting_jobs;
    struct batch *batches;
    uint32_t batch_room, batches_used, batch_free; /* likewise */
    uint32_t running_batches;
    uint64_t next_batch, next_request;
    struct instance *instances;
    uint32_t instance_capacity, instance_free;
    uint64_t work_events; /* pending events of the kinds before EVENT_WORK_KINDS */
    uint64_t events;
    /* Per function, for invariant and bound: its fastest configuration on the fastest GPU. */
    struct fastest {
        sim_time_t time;
        double speed;
        bool profile; /* its time is the configuration's, not drawn whole */
    } * fastest;
    struct gpu_work *gpu_work; /* per GPU */
    struct gpu_work_table work_table;
    bool interference;
    bool failed;
    double setup_s; /* of the host's time: simulation_result.setup_s so far */
    struct error *error;
};

/* Records the first failure of the run: MESSAGE, then callback, simulated time, policy and seed. */
void platform_fail(struct platform *platform, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

event_queue_handle platform_schedule(struct platform *platform, sim_time_t time,
                                     enum event_kind kind, uint32_t subject);

/* policy_calls.c: each calls the policy's function where it has one. */
/* False where init failed: the run's error is set. */
bool policy_call_init(struct platform *platform, const double *values);
void policy_call_ready(struct platform *platform, uint32_t queue);
void policy_call_withdrawn(struct platform *platform, uint32_t queue, uint32_t instance);
void policy_call_finish(struct platform *platform, const struct finished_batch *batch);
void policy_call_instance_ready(struct platform *platform, uint32_t instance);
void policy_call_timer(struct platform *platform, uint32_t id);
bool policy_call_decide(struct platform *platform);
/* The policy must have the function. */
sim_time_t policy_call_keep_alive(struct platform *platform, uint32_t function, uint32_t invoker);
/* The policy's `finish`. */
void policy_call_end(struct platform *platform);
/* Name of the callback in progress; NULL between calls. Async-signal-safe. */
const char *policy_callback_name(const struct platform *platform);
/* The thread runs `platform` from now on; returns what it ran before, for policy_calls_end. */
const struct platform *policy_calls_begin(const struct platform *platform);
void policy_calls_end(const struct platform *before);

/* jobs.c */
bool jobs_init(struct platform *platform);
void jobs_clear(struct platform *platform);
/* Admits a request that arrives now and readies its source jobs. */
void jobs_admit(struct platform *platform, uint32_t application, sim_time_t slo, uint32_t user);
/* Takes the oldest `count` jobs off queue `id`, linked through job.next; returns the first. */
uint32_t jobs_take(struct platform *platform, uint32_t id, uint32_t count);
/* The same off the buffer of an instance. */
uint32_t jobs_take_buffered(struct platform *platform, uint32_t instance, uint32_t count);
/* The oldest job of queue `id` goes to the end of the buffer of `instance`. */
void jobs_route(struct platform *platform, uint32_t id, uint32_t instance);
/* All jobs buffered at `instance` go back into their queues, each before those younger than it. */
void jobs_return(struct platform *platform, uint32_t instance);
/* Little's law of a queue or buffer that is empty for good; fails the run where it is broken. */
void jobs_check_queue(struct platform *platform, struct queue *queue, const char *what,
                      uint32_t id);
/* A job of a finished batch is done: readies its successors, ends the request with its last job. */
void jobs_done(struct platform *platform, uint32_t job);
/* Gives up the request in `slot`: its waiting jobs leave their queues. */
void jobs_drop(struct platform *platform, uint32_t slot);
/* Checks that nothing waits and that Little's law held in every queue. */
bool jobs_check(struct platform *platform);

/* The queue that job waits in, or came from. */
uint32_t job_queue(const struct platform *platform, uint32_t job);

static inline uint32_t queue_job(const struct queue *queue, uint32_t position)
{
    return queue->ring[(queue->head + position) & (queue->capacity - 1)];
}

static inline uint32_t job_slot(const struct platform *platform, uint32_t job)
{
    return job >> platform->slot_shift;
}

static inline uint32_t job_stage(const struct platform *platform, uint32_t job)
{
    return job & (platform->stride - 1);
}

static inline struct request *job_request(const struct platform *platform, uint32_t job)
{
    return &platform->requests[job_slot(platform, job)];
}

static inline uint32_t batch_function(const struct platform *platform, const struct batch *batch)
{
    return platform->queues[batch->queue].function;
}

/* How long it waited for its container once its input was there. */
static inline sim_time_t batch_cold_wait(const struct batch *batch)
{
    return batch->started - batch->launched - batch->transfer;
}

/* batches.c */
/* ns of execution at rate 1 of a batch that has its jobs: all of it, or, of one that was given
 * another share, what was left when it was settled. */
double batch_work(const struct platform *platform, const struct batch *batch);
bool batches_init(struct platform *platform);
void batches_clear(struct platform *platform);
/* Reserves and launches; false (platform failed) where a rule is broken. */
bool batches_dispatch(struct platform *platform, uint32_t queue, uint32_t jobs,
                      uint32_t configuration, uint32_t invoker);
/* Instance `id`, idle, runs the oldest `jobs` of its buffer. */
bool batches_launch(struct platform *platform, uint32_t id, uint32_t jobs);
/* The batch goes on with another configuration and quota, keeping its remaining work. */
void batches_reshare(struct platform *platform, uint32_t id, uint32_t configuration,
                     uint32_t quota);
void batches_start(struct platform *platform, uint32_t id);
void batches_finish(struct platform *platform, uint32_t id);
/* Is what the cluster has given away within its capacities, and just what living batches and
 * instances hold; fails the run where it is not. O(invokers + GPUs + batches + instances). */
void batches_check_holdings(struct platform *platform);

/* gpu_work.c */
bool gpu_work_init(struct platform *platform);
void gpu_work_clear(struct platform *platform);
/* Batch `id` starts to execute on a GPU that interferes; the others become slower. */
void gpu_work_add(struct platform *platform, uint32_t id);
/* It has finished, by the GPU's event. */
void gpu_work_remove(struct platform *platform, uint32_t id);
/* ns of its execution left at rate 1, as it is now; below 0 by rounding alone. */
double gpu_work_left(const struct platform *platform, uint32_t id);
/* It goes on with the work, configuration and quota that the batch has now. */
void gpu_work_reshare(struct platform *platform, uint32_t id);

/* Do batches on the GPU (SIM_NONE: none) disturb one another? */
static inline bool gpu_interferes(const struct platform *platform, uint32_t gpu)
{
    return platform->interference && gpu != SIM_NONE &&
           gpu_sharing_of(platform->cluster.gpus[gpu].spec)->interferes;
}

/* Of `whole`, what remains to who has it for `quota` per cent of the time. */
static inline double quota_part(double whole, uint32_t quota)
{
    return whole * ((double)quota / UNIT_PARTS);
}

/* containers.c */
/* Containers made before the first arrival, as platform.initial says; fails (ERROR_INPUT) where it
 * counts more than memory holds. */
void containers_init(struct platform *platform);
bool containers_prewarm(struct platform *platform, uint32_t function, uint32_t invoker);
/* The same, kept until `until` where nobody claims it; 0: as the keep-alive says. */
bool containers_prewarm_until(struct platform *platform, uint32_t function, uint32_t invoker,
                              sim_time_t until);
void containers_ready(struct platform *platform, uint32_t id);
/* A cold start's time, drawn by (seed, purpose, a, b). */
sim_time_t containers_draw_cold(const struct platform *platform, uint32_t function,
                                enum random_purpose purpose, uint64_t a, uint32_t b);
/* The recorder's row of a container's phase, from `from` until now. */
void containers_record(struct platform *platform, const struct container *container,
                       enum container_phase phase, sim_time_t from, bool evicted);
/* A container that was starting for nobody has been claimed. */
void containers_silence(struct platform *platform, uint32_t id);
/* A container has become idle, after a use or for the first time: asks how long it is kept. */
void containers_keep(struct platform *platform, uint32_t id, bool used);
void containers_expire(struct platform *platform, uint32_t id);
/* A job of `function` has become ready. */
void predictor_observe(struct platform *platform, uint32_t function);
/* A container of `function` was taken. Where it was the last, another must start a cold start's
 * time before the next job is expected. */
void predictor_plan(struct platform *platform, uint32_t function);
/* EVENT_PREWARM. */
void predictor_act(struct platform *platform, uint32_t function);

/* instances.c */
void instances_clear(struct platform *platform);
/* SIM_NONE where it does not fit, or (platform failed) out of memory. */
uint32_t instances_create(struct platform *platform, uint32_t function, uint32_t configuration,
                          uint32_t quota, const struct placement *placement);
void instances_kill(struct platform *platform, uint32_t id);
bool instances_set_share(struct platform *platform, uint32_t id, uint32_t configuration,
                         uint32_t quota);
void instances_ready(struct platform *platform, uint32_t id);
/* Bills what instance `id` held since it last executed or was billed. */
void instances_bill(struct platform *platform, uint32_t id);
/* How long `job`, routed to instance `id` (SIM_NONE: to none), has waited for it to start. */
sim_time_t instances_cold_wait(const struct platform *platform, uint32_t id, uint32_t job);
/* The run is over: all are killed. */
void instances_close(struct platform *platform);

/* $ per ns of what a configuration holds, of the GPU for `quota` per cent of the time. */
double configuration_rate(const struct platform *platform, const struct configuration *spec,
                          uint32_t quota);

/* keeping.c */
bool keep_alive_init(struct platform *platform);
void keep_alive_clear(struct platform *platform);
/* The container is taken for work. */
void keep_alive_use(struct platform *platform, uint32_t id);
/* It was taken and is given up before it has started. */
void keep_alive_abandon(struct platform *platform, uint32_t id);
/* It is idle: for how long it is kept, <= 0: not at all. Plans its return where that is wanted. */
sim_time_t keep_alive_time(struct platform *platform, uint32_t id, bool used);
/* Its time is up: how much longer it stays, <= 0: not at all. */
sim_time_t keep_alive_extend(struct platform *platform, uint32_t id);
void keep_alive_evicted(struct platform *platform, const struct container *container);
/* EVENT_CONTAINER_RELOAD. */
void keep_alive_reload(struct platform *platform, uint32_t id);

/* replay.c; all of it only where platform->backend is there. */
/* Refuses what can be told from the experiment, then opens the backend; false: the run failed. */
bool replay_open(struct platform *platform);
/* Batch `id` starts now; on its own the model gives it `modelled`. */
void replay_start(struct platform *platform, uint32_t id, sim_time_t modelled);
/* The batch that ends next up to `until`, the clock moved to its end; SIM_NONE: none does, or the
 * run failed. */
uint32_t replay_wait(struct platform *platform, sim_time_t until);
/* Fails the run: a container of `function` would start, or be evicted, or a batch in execution
 * change its share. */
void replay_refuse_cold(struct platform *platform, uint32_t function, uint32_t invoker);
void replay_refuse_eviction(struct platform *platform, const struct container *container);
void replay_refuse_reshare(struct platform *platform, uint32_t id);

/* simulation.c: a user of a closed process got an answer to `request` and thinks before the next.
 */
void simulation_user_thinks(struct platform *platform, uint32_t user, uint64_t request);

/* Decision time charged so far by the decision in progress (platform.c), where any is. */
sim_time_t controller_charges(const struct platform *platform);

static inline sim_time_t controller_charged(const struct platform *platform)
{
    const bool free = platform->experiment->platform.decision_cost == DECISION_ZERO;
    return free ? 0 : controller_charges(platform);
}

#endif
