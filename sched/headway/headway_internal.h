/* The state of headway, shared by its set-up and its decisions. */
#ifndef ESGSIM_SCHED_HEADWAY_HEADWAY_INTERNAL_H
#define ESGSIM_SCHED_HEADWAY_HEADWAY_INTERNAL_H

#include "sched/common/queue_order.h"
#include "sched/headway/admission.h"
#include "sched/headway/flights.h"
#include "sched/headway/pool.h"
#include "sched/headway/risk.h"
#include "sched/headway/suffix.h"
#include "sched/policy.h"

enum parameter_index {
    PARAMETER_LEARNING,
    PARAMETER_RATE,
    PARAMETER_SLOWDOWN,
    PARAMETER_DELAY,
    PARAMETER_AHEAD,
    PARAMETER_RESERVE,
    PARAMETER_RESERVE_LAST,
    PARAMETER_MAX_BATCH,
    PARAMETER_OBJECTIVE,
    PARAMETER_REBUILD,
    PARAMETER_CHANGE,
    PARAMETER_LOST,
    PARAMETER_LOST_MARGIN,
    PARAMETER_SHEDDING,
    PARAMETER_LOAD_START,
    PARAMETER_LOAD_LEAST,
    PARAMETER_LOAD_MOST,
    PARAMETER_STEP,
    PARAMETER_MISSES,
    PARAMETER_GATE,
    PARAMETER_GATE_WORK,
    PARAMETER_PRESS_WORK,
    PARAMETER_ORDER,
    PARAMETER_RISKY,
    PARAMETER_PACE,
    PARAMETER_PATIENCE,
    PARAMETER_PLACEMENT,
    PARAMETER_DENSE,
    PARAMETER_WINDOW,
    PARAMETER_CONTAINERS,
    PARAMETER_POOL,
    PARAMETER_POOL_INTERVAL,
    PARAMETER_COUNT
};

enum { PRESSED_AUTO, PRESSED_NEVER, PRESSED_ALWAYS };
enum { LOST_KEEP, LOST_DROP };
enum { RISKY_LAST, RISKY_FIRST };
enum { ORDER_LATEST_START, ORDER_ARRIVAL };
enum { CONTAINERS_WARM, CONTAINERS_ANY };

/* A request that is to be shed at the next step. */
struct shed {
    uint32_t queue;
    uint64_t request;
};

struct headway_queue {
    bool risky;        /* and no plan keeps the reserve: not tried without it yet */
    bool blocked;      /* nothing fitted, and neither queue nor resources changed since */
    sim_time_t tried;  /* when it was found blocked */
    uint64_t releases; /* finished batches until then */
};

struct headway {
    double values[PARAMETER_COUNT];
    const struct workload *workload;
    struct risk *risks; /* by function and kind of GPU */
    double *delay;      /* by queue: mean ns from dispatch to execution */
    double *wait;       /* by queue: mean ns that jobs wait for their dispatch */
    uint64_t *waits;    /* by queue: how many were observed */
    uint64_t *delays;   /* by queue: how many were observed */
    struct suffix *suffix;
    struct admission *admission;
    double *container_share; /* by function: part of the load / containers */
    double *part;            /* by function: its part of the load at minimum configurations */
    double *works;           /* by application: least work of a request */
    double mean_slo;
    struct flights *flights;
    struct pool *pool;
    struct queue_order *order;
    struct headway_queue *queues;
    uint32_t *skipped;      /* scratch */
    struct option *options; /* scratch */
    sim_time_t *left;       /* scratch, max_batch */
    uint32_t max_batch;
    struct shed *sheds;
    size_t shed_count;
    uint64_t releases; /* finished batches */
    uint64_t owed;     /* work since the last charge, part of it outside of decisions */
    bool pressed;      /* the step in progress prices work, not dollars */
    sim_time_t next_refresh, next_fill, timer;
};

/* The value of a parameter in milliseconds. */
static inline sim_time_t headway_time(const struct headway *self, enum parameter_index index)
{
    return sim_from_ms(self->values[index]);
}

/* The table of parameters, and the callbacks of the same names. */
extern const struct parameter headway_parameters[PARAMETER_COUNT];
bool headway_init(void *state, struct platform *platform, const double *values,
                  struct error *error);
void headway_finish(void *state);

#endif
