/* The state of one run, shared by the simulator's own files (not a public header).
 *
 * Policies see `struct platform` as an opaque handle. Each file declares its functions in the
 * header of its name: simulation.c      the loop: clock, arrivals, events, the end of the run
 *                     (simulation_internal.h for the other files here)
 *   policy_api.c      what a policy may ask and do (sched/policy.h); failures of the run
 *   policy_api_instances.c  the same for long-lived instances (sched/policy_instances.h)
 *   policy_calls.c    every call of a policy, and which one is in progress
 *   requests.c        requests, their jobs, the AFW queues
 *   instances.c       long-lived instances and their buffers
 *   batches.c         batches from reservation to finish, transfers
 *   interference.c    batches that execute on one GPU and disturb one another: MPS rates
 *   containers.c      containers: cold starts, idle times, prewarming and its predictor
 *   keep_alive.c      how long an idle container stays: the experiment's keep-alive, or the
 * policy's metrics.c         totals and percentiles sim/backend/hardware.c implements replay.h:
 * what differs when batches execute on a backend.
 */
#ifndef ESGSIM_SIM_PLATFORM_STATE_H
#define ESGSIM_SIM_PLATFORM_STATE_H

#include "sched/keep_alive.h"
#include "sched/policy_instances.h"
#include "sim/engine/event_queue.h"
#include "sim/cluster/cluster.h"
#include "sim/platform/metrics.h"
#include "sim/engine/random.h"
#include "sim/platform/simulation.h"
#include "traces/profile/interference.h"

struct backend;

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
    EVENT_CONTAINER_RELOAD, /* subject: plan of keep_alive.c */
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

#endif
