/* Schedulers of gangs on whole GPUs: what sjf-bsbf, sjf-ffs, sjf, fifo, tiresias, srtf and srsf
 * have in common. Internal to sched/sharing/.
 *
 * At every arrival, finish and queue jump, or at the next round after it, a discipline plans who
 * runs where, on the module's own picture of the cluster (gang_placement.h). gangs_apply then makes
 * the platform's gangs equal to the plan. A training whose place does not change is left alone.
 *
 * A gang has whole GPUs. Where two trainings share one, each holds half of its units: the ledger
 * then needs no over-subscription. How much they slow each other is the models' pair table.
 *
 * With `accumulate`, sjf-bsbf chooses the sub-batch with the partner, one of its two run-time
 * settings (Luo et al., arXiv:2407.13088, abstract). The authors' program at 615f7a4 has no
 * sub-batches, so the rule is our reading: the whole batch, a half, a quarter, … are tried, with
 * their memory and their time of an iteration in the share check. The one whose share check gives
 * the least time counts, and of equal ones the largest. All GPUs of a gang have the same one; of
 * several partners the one with the greatest time counts. Waiting is compared with the whole batch.
 * Only the incoming training is split, and it stays so until it is placed anew.
 */
#ifndef ESGSIM_SCHED_SHARING_GANGS_H
#define ESGSIM_SCHED_SHARING_GANGS_H

#include "sched/common/kinds.h"
#include "sched/policy_training.h"
#include "sched/sharing/gang_placement.h"

enum { GANG_QUEUES = 3 };

struct gang_parameters {
    double vcpus_per_gpu;
    bool consolidate, accumulate, preemption;
    double preemptible;
    enum { LIMITS_700, LIMITS_3250_7200 } limits;
    double starvation, interval_s;
    enum { RESTART_MODEL, RESTART_MURI } restart_mode;
    enum { HEAD_STRICT, HEAD_SKIP } head_of_line; /* of fifo */
    sim_time_t round_s;                           /* 0: no rounds */
};

extern const struct key gang_parameters[];

struct gang_entry {
    uint32_t id, gpus, model;
    uint32_t parts, told;          /* of its batch, as planned, and as the platform knows */
    uint64_t gpu_types;            /* that it accepts */
    double memory_mb, iteration_s; /* with its parts */
    double whole_mb, whole_s;      /* with the whole batch */
    double arrival_s;
    double vcpus, host_mb;    /* demand per GPU */
    double remaining;         /* iterations */
    double key;               /* of the order */
    bool planned;             /* runs by the plan, on `place` */
    bool held;                /* runs on the platform, on `actual` */
    uint32_t *place, *actual; /* [gpus]; place ascends */

    /* tiresias */
    uint32_t queue;
    double executed_s, waited_s; /* since it last entered queue 0 */
};

struct gangs;

/* Plans one event. */
struct gang_discipline {
    void (*plan)(struct gangs *gangs);
    double (*key)(
        const struct gang_entry *entry); /* ascending; NULL: kept order, of arrival at first */
    bool share;                          /* with others, first fit */
    bool check;                          /* with others if it is worth it */
    bool preempts;                       /* tiresias: whatever the parameter says */
    bool waits;                          /* fifo: as `head_of_line` says */
};

struct gangs {
    const struct gang_discipline *discipline;
    const struct gang_parameters *parameters;
    struct platform *platform; /* during a callback */
    struct gang_cluster cluster;
    const struct gpu_site *sites;        /* by GPU of the cluster */
    struct gang_entry **entries;         /* by training; NULL: not there */
    struct gang_entry **list, **scratch; /* unfinished, in the order of the last event */
    size_t count;
    size_t sorted;        /* of the list, in order; what arrived later is behind them */
    size_t planned, held; /* of the list; loops over these end at the last of them */
    struct training_grant *grants, *held_grants; /* [GPUs] */
    uint32_t *chosen;                            /* [GPUs] */
    bool preemption;
    double limits[GANG_QUEUES - 1]; /* GPU·s; INFINITY: last queue */
    double last_s;                  /* time of the last event */
    sim_time_t timer;               /* the next one that counts; SIM_FOREVER: none */
    bool muri;                      /* restart mode */
    bool due;
    uint64_t outages; /* that it knows of */
};

/* Callbacks of struct policy; the state begins with a struct gangs. */
bool gangs_init(struct gangs *gangs, const struct gang_discipline *discipline,
                struct platform *platform, const struct gang_parameters *parameters,
                struct error *error);
const char *gangs_refuse(void *state, uint32_t gpus, double gpu_memory_mb, uint64_t gpu_types);
void gangs_on_arrived(void *state, struct platform *platform, uint32_t training);
void gangs_on_finished(void *state, struct platform *platform, uint32_t training);
void gangs_on_timer(void *state, struct platform *platform, uint32_t id);
bool gangs_decide(void *state, struct platform *platform);

/* ---- For disciplines ---- */

/* Plans a waiting training on GPUs that are free, or shared as the discipline allows. */
bool gang_try(struct gangs *gangs, struct gang_entry *entry);
void gang_plan_on(struct gangs *gangs, struct gang_entry *entry, const uint32_t *gpus);
void gang_unplan(struct gangs *gangs, struct gang_entry *entry);

/* Plans again after that time, at the next round, if nothing else happens before. */
void gangs_set_timer(struct gangs *gangs, sim_time_t after);

#endif
