/* Trainings of a run: arrivals, gangs, progress, leases (not a public header).
 *
 * A running training has one speed, relative to its whole gang alone with the base of its models.
 * The speed changes only when a training starts, stops or is resized on one of its GPUs. Work is
 * settled then, and the event of its next end is set anew. There is no event per iteration. At one
 * instant ends come first, in the order of the trainings, then trainings' arrivals, then the rest.
 *
 * - trainings.c: set-up, arrivals, leases.
 * - training_rates.c: speeds, and work done at them.
 * - training_metrics.c: measures, rows, and the invariants of the end.
 * - training_fragments.c: the fragmentation of the cluster.
 */
#ifndef ESGSIM_SIM_PLATFORM_TRAININGS_H
#define ESGSIM_SIM_PLATFORM_TRAININGS_H

#include "sched/policy_training.h"
#include "sim/platform/state.h"
#include "workloads/training/training_plan.h"

/* Another training on a GPU of a lease, and the time that it was there. */
struct neighbour {
    uint32_t id; /* SIM_NONE: none yet */
    sim_time_t time;
};

/* An amount of work and a time: ns at speed 1, or iterations. */
struct work_at {
    double work;
    sim_time_t at;
};

/* Time with progress, and the part of `window` of it, in GPUs × ns at the model's best speed. */
struct training_work {
    sim_time_t time;
    double useful;
};

/* Where the time with a gang went: these add up to it, with the time of `counted`. */
struct training_losses {
    sim_time_t restart; /* without progress in restarts */
    sim_time_t save;    /* until the gang was free */
    sim_time_t lost;    /* with progress that a failure took back */
    sim_time_t ends;    /* whole iterations: after the last one of a lease */
};

struct training {
    enum training_state state;
    bool finishes;        /* its lease ends with its last iteration */
    bool resumes;         /* `due` is the end of its restart, not of its lease */
    bool recording;       /* `row` is of a lease that has not been recorded */
    bool saving;          /* preempted: its gang is held until it has been saved */
    bool saved;           /* its restart needs no time for saving any more */
    bool placed;          /* has had a gang since its arrival, or since it lost one */
    uint32_t idle_leases; /* whole: in a row without an iteration */
    uint32_t restarts;
    uint32_t gang;  /* grants: its GPUs as specified, but for a split model; 1 without a GPU */
    uint32_t parts; /* into which its batch is split; 1: none */
    uint32_t visit; /* the last update of rates that reached it */
    sim_time_t first_start, last_stop, finish;
    sim_time_t attained; /* time for which its earlier leases held a gang */
    struct training_losses losses;
    /* Of what is done; of the iteration of this lease that has not ended; at the checkpoint. */
    struct training_work counted, begun, safe;
    sim_time_t resume; /* end of its restart: progress begins */
    sim_time_t lease_end, due;
    event_queue_handle event; /* at `due`, or of the end of saving */
    /* Left when it got its speed. Fluid: ns at speed 1, below 0 by its last part of a nanosecond.
     * Whole: iterations that no ended lease has made. */
    struct work_at left;
    struct work_at kept;  /* left at its last checkpoint */
    struct work_at lease; /* iterations of ended pieces of the present lease, since its start */
    double alone, speed;  /* on its grants without co-runners, and with them */
    double gpus_held;     /* whole GPUs, by its shares */
    double demanded_ns;   /* trainings.demanded_ns at its arrival; then its mean over GPUs */
    struct training_grant *grants; /* of its gang, or of its last one; NULL: never placed */
    struct neighbour *neighbours;  /* of each grant, in the lease's row; NULL: not recorded */
    struct lease_row row;
};

/* The trainings on one GPU, in the order of their placement. */
struct residents {
    uint32_t *ids;
    uint32_t count;
};

struct trainings {
    const struct training_plan *plan;
    struct training *items;
    uint32_t count;
    uint32_t arrived;       /* the first that has not arrived */
    uint32_t low;           /* all below have finished */
    uint32_t running, left; /* left: that end by themselves, and have not finished */
    uint32_t bare;          /* of `running`: without a GPU */
    uint32_t measured_left;
    uint64_t first_order, arrival_order; /* of events: of the first training's end, of arrivals */
    uint32_t scheduled;                  /* events pending: ends, and the next arrival */
    struct residents *gpus;              /* per GPU of the cluster */
    struct gang_share *shares, *old_shares; /* buffers for the largest gang */
    int64_t *micro_vcpus;                   /* per invoker: for the check of holdings */
    uint32_t *marks;                        /* per invoker: the last count that reached it */
    uint32_t mark;
    double *best_speeds; /* per model: the best that its table knows */
    uint32_t visits;
    bool shared;     /* two were on one GPU at one time */
    bool interrupts; /* platform_interrupt_trainings was called: restarts cost time only there */
    uint64_t demand; /* GPUs of all that wait or run */
    sim_time_t demanded_changed; /* since when */
    double demanded_ns;          /* integral of it */
    /* Integrals from `window` on: */
    sim_time_t window, active_changed; /* window: SIM_FOREVER before the first measured arrival */
    uint32_t active, most_active;      /* GPUs with a training */
    double active_ns, allocated_ns;
    double active_sum;        /* of the GPUs with a training after each start and end of a gang */
    uint64_t changes;         /* starts and ends */
    double held, held_memory; /* by gangs now: parts of GPUs and of their memory, in GPUs */
    uint32_t peak;            /* most GPUs with a training after a start or an end; then: */
    double peak_free, peak_free_memory; /* parts of these GPUs */
    uint64_t leases;
    uint64_t recorded; /* rows of leases */
    struct training_fragments *fragments;
};

/* Sets up the trainings of the experiment's plan, if it has one. */
void trainings_init(struct platform *platform);

/* Handles an event of a training, then all others of trainings at this instant. */
void trainings_step(struct platform *platform, uint32_t id);
/* Returns whether the run need not wait for any training. */
bool trainings_over(const struct platform *platform);
/* Returns whether a training is still to arrive, or one runs that will end. */
bool trainings_pending(const struct platform *platform);
/* Sets the event of a running training to its `due`. */
void training_due_set(struct platform *platform, uint32_t id);

/* The ledger's side of a placement: see platform_place. The arguments have been checked. */
bool trainings_place(struct platform *platform, uint32_t id, const struct training_grant *grants,
                     sim_time_t lease_end);
bool trainings_resize(struct platform *platform, uint32_t id, const struct training_grant *grants);
/* Stops a training. Its gang is free after the time for saving. */
void trainings_preempt(struct platform *platform, uint32_t id, sim_time_t save);
/* The ledger's side of platform_split: the arguments have been checked. */
bool trainings_split(struct platform *platform, uint32_t id, uint32_t parts);
/* A preempted training has been saved: frees its gang. */
void trainings_saved(struct platform *platform, uint32_t id);
/* Fails a run in which trainings wait and the policy does nothing: names the first of them. */
void trainings_fail_stuck(struct platform *platform);
/* Iterations done so far. */
double trainings_done(const struct platform *platform, uint32_t id);
/* Settles all running trainings; each loses up to its restart time of what it did since then. */
void trainings_interrupt(struct platform *platform);

/* Adds what gangs hold to the counts of whole vCPUs and hundredths of GPU units. O(running). */
void trainings_add_holdings(const struct platform *platform, int64_t *vcpus, int64_t *parts);

/* training_rates.c */

/* Number of invokers of the grants. O(count). */
uint32_t training_invokers(const struct platform *platform, const struct training_grant *grants,
                           uint32_t count);

/* Speed of a training with these grants without interference, and its slowdown by the trainings on
 * their GPUs other than itself and by the batches that execute there. Where GPUs are
 * over-subscribed, co-runners leave a part of the grants. O(gang), there and for the slowdown
 * O(gang × residents). */
double training_speed_alone(const struct platform *platform, uint32_t id,
                            const struct training_grant *grants);
double training_slowdown(const struct platform *platform, uint32_t id,
                         const struct training_grant *grants);
/* Time that the training takes alone with the proportional share, s, on the GPUs of the cluster
 * where that is least. O(groups). */
double training_alone_s(const struct platform *platform, uint32_t id);
/* Time without progress that a restart takes. */
sim_time_t trainings_restart_time(const struct platform *platform, uint32_t id);
/* Speed of a running training now. */
double training_speed(const struct platform *platform, uint32_t id);
/* Handles the end of a restart on a cluster with over-subscription. */
void training_resume(struct platform *platform, uint32_t id);
/* Takes the work since left.at at the present speed off, and begins a new piece. */
void training_settle(struct platform *platform, uint32_t id);
/* Updates the speeds and ends of all trainings on a GPU, after its batches changed. */
void training_gpu_update(struct platform *platform, uint32_t gpu);
/* Updates the speeds and ends of all trainings, and the rates of all batches, on the GPUs of
 * `grants`. */
void training_rates_update(struct platform *platform, const struct training_grant *grants,
                           uint32_t count);
/* Computes when the running training ends or resumes, from its present speed. */
void training_set_due(struct platform *platform, uint32_t id);

/* training_metrics.c */

/* Begins the time that is measured, at the first measured arrival. */
void training_window_open(struct platform *platform);
/* Counts the GPUs that a training demands: sign 1 as it arrives, -1 as it finishes. */
void training_demand_add(struct platform *platform, uint32_t id, int sign);
/* The best speed that a model's table knows, or a GPU of the cluster allows. */
double training_best_speed(const struct platform *platform, uint32_t model);
/* Adds the time from left.at until now to the integrals and to the training's parts; its
 * progress begins at `from`. */
void training_account(struct platform *platform, uint32_t id, sim_time_t from);
/* Adds progress at the present speed to what is done, and to what is begun. */
void training_work_advance(const struct platform *platform, uint32_t id, sim_time_t from,
                           sim_time_t until, struct training_work *counted,
                           struct training_work *begun);
/* At the end of a lease: what is begun is done, or, whole iterations, nothing. */
void training_begun_end(struct platform *platform, uint32_t id, bool done);
/* Counts GPUs that gained their first training (+1) or lost their last (-1). */
void training_active_add(struct platform *platform, int change);
/* Adds (sign 1) or removes (-1) what a gang holds. */
void training_holdings_add(struct platform *platform, const struct gang_share *shares,
                           uint32_t count, int sign);
/* Counts a start or an end of a gang, after it. */
void training_change_add(struct platform *platform);
/* Notes who was on the GPUs of a running training since its row or theirs began. O(gang² ×
 * residents), where the GPUs of leases are recorded. */
void training_neighbours_note(struct platform *platform, uint32_t id);
/* Records the rows of the training's last lease and of its GPUs, if there is one. */
void training_lease_record(struct platform *platform, uint32_t id);
/* Ends what still runs, checks the invariants, records the rows of all trainings and fills
 * result->training. Returns whether all is well. */
bool trainings_close(struct platform *platform, struct simulation_result *result);

/* training_fragments.c */

void training_fragments_init(struct platform *platform);
/* Begins the integrals anew, at the window's opening. */
void training_fragments_reset(struct platform *platform);
/* Adds the time from now until `until`, before the clock is set to it. O(GPUs × shapes of invokers
 * that changed since the last call). */
void training_fragments_advance(struct platform *platform, sim_time_t until);
/* Fills the measures of fragmentation. `elapsed`: ns since the window's opening. */
void training_fragments_report(const struct platform *platform, double elapsed,
                               struct training_measures *out);

/* GPU units of a grant, over time. */
static inline double grant_units(const struct training_grant *grant)
{
    return grant->share * (double)grant->quota / UNIT_PARTS;
}

/* vCPUs of a grant on the ledger. */
static inline int64_t grant_micro_vcpus(const struct training_grant *grant)
{
    return (int64_t)(grant->vcpus * MICRO);
}

static inline const struct training_spec *training_spec(const struct platform *platform,
                                                        uint32_t id)
{
    return &platform->trainings->plan->trainings[id];
}

/* All that the training has to do: fluid in ns at speed 1, else in iterations. */
static inline double training_work(const struct training_plan *plan,
                                   const struct training_spec *spec)
{
    const double iterations = (double)spec->iterations;
    return plan->whole ? iterations : iterations * spec->iteration_s * 1e9;
}

/* Number of grants of its present or next gang. */
static inline uint32_t training_gang_size(const struct platform *platform, uint32_t id)
{
    return platform->trainings->items[id].gang;
}

/* Number of GPUs of that gang. */
static inline uint32_t training_gpu_count(const struct platform *platform, uint32_t id)
{
    return training_spec(platform, id)->gpus > 0 ? platform->trainings->items[id].gang : 0;
}

/* Index into cluster.gpus of a grant's GPU. */
static inline uint32_t grant_gpu(const struct platform *platform,
                                 const struct training_grant *grant)
{
    return platform->cluster.invokers[grant->invoker].first_gpu + grant->gpu;
}

#endif
