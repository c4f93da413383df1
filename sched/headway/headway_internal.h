/* The state of headway, shared by its set-up and its decisions. */
#ifndef ESGSIM_SCHED_HEADWAY_HEADWAY_INTERNAL_H
#define ESGSIM_SCHED_HEADWAY_HEADWAY_INTERNAL_H

#include "sched/common/arrival_rates.h"
#include "sched/common/queue_order.h"
#include "sched/headway/flights.h"
#include "sched/headway/places.h"
#include "sched/headway/risk.h"
#include "sched/headway/suffix.h"
#include "sched/policy.h"

struct headway_parameters {
    bool learning;
    double rate, slowdown;
    sim_time_t delay_ms;
    bool ahead;
    double reserve, reserve_last;
    uint32_t max_batch;
    double harm;
    enum { PRESSED_AUTO, PRESSED_NEVER, PRESSED_ALWAYS } objective;
    sim_time_t rebuild_ms;
    double change;
    double press_work, press_load;
    enum { ORDER_LATEST_START, ORDER_ARRIVAL } order;
    enum { RISKY_LAST, RISKY_FIRST } risky;
    enum { LATE_CHEAP, LATE_FAST } late;
    double pace, patience;
    bool gather;
    struct places_settings places;
};

struct headway_queue {
    bool risky;               /* and no plan keeps the reserve: not tried without it yet */
    bool blocked;             /* nothing fitted, and neither queue nor resources changed since */
    sim_time_t tried;         /* when it was found blocked */
    uint64_t releases;        /* finished batches until then */
    uint32_t warm;            /* idle containers of its function then */
    sim_time_t gathers_until; /* it waits for more jobs until then, unless one arrives */
};

struct headway {
    const struct headway_parameters *parameters;
    const struct workload *workload;
    struct risk *risks; /* by function and kind of GPU */
    double *delay;      /* by queue: mean ns from dispatch to execution */
    double *wait;       /* by queue: mean ns that jobs wait for their dispatch */
    uint64_t *waits;    /* by queue: how many were observed */
    uint64_t *delays;   /* by queue: how many were observed */
    struct suffix *suffix;
    struct arrival_rates *rates;
    double *container_share; /* by function: part of the load / containers */
    double *part;            /* by function: its part of the load at minimum configurations */
    double load;             /* of the cluster, by the plans of least work */
    double neighbour;        /* GPU units of a mean batch */
    double mean_slo;         /* over the mix of arrivals */
    struct flights *flights;
    struct places *places;
    struct queue_order *order;
    struct headway_queue *queues;
    uint32_t *skipped;      /* scratch */
    struct option *options; /* scratch */
    sim_time_t *left;       /* scratch, max_batch */
    uint64_t releases;      /* finished batches */
    uint64_t owed;          /* work since the last charge, part of it outside of decisions */
    bool pressed;           /* the step in progress prices work, not dollars */
    sim_time_t next_refresh;
};

/* The table of parameters, and the callbacks of the same names. */
extern const struct key headway_parameters[];
bool headway_init(void *state, struct platform *platform, const void *parameters,
                  struct error *error);

#endif
