/* INFless (Yang et al., ASPLOS'22): configuration and place of a new instance.
 *
 * Evidence, here and in the other files of this folder: [code] read in the authors' public
 * repository (TankLabTJU/INFless @ 8940934), [logs] read off three logs of their running scheduler
 * in the same repository (workload/results/scalingEfficiency/INFless/ssd), [notes] third-party
 * reading notes of the paper, [recall] from memory of the paper, [derived] our porting, [assumed]
 * neither.
 *
 * Built-in batching, section 3 of the paper [notes, code]: an instance with batch b and predicted
 * time t serves a function of SLO s at rates from r_low = b / (s - t) to r_up = b / t. At r_low a
 * batch becomes full exactly when its oldest request must start; at r_up batches run without a gap.
 * The instance needs t <= s / 2 (so r_low <= r_up), or t <= s with b = 1, whose r_low is 1 per
 * second. The oldest request of a batch waits at most s - t.
 *
 * The logs are of an older scheduler than the published code, and the default follows the logs:
 * - logged [logs]: it gives the 900 placements of the three logs. A slot is a GPU with its part of
 *   the invoker's vCPUs. The first slot in order counts that has a configuration with room and with
 *   r_low within the rate. If at least as great a part of its GPU as of its vCPUs is used, the
 *   configuration takes the greater part of the vCPUs, else it does not. Of the largest batch the
 *   greatest r_up per part of vCPUs plus part of the GPU is taken. Rates are whole numbers. If no
 *   slot has such a configuration, one of the other kind will do [derived]. Used vCPUs of an
 * invoker with several GPUs count as spread over them evenly [derived].
 * - repo is what the authors published as code, which is not what their logs ran.
 * - paper and paper-total are readings of the text, which gives a formula and no program.
 *
 * Greedy placement of these two [code]: take the largest batch for which a configuration has r_low
 * within the rate to be served, and a slot (invoker and GPU) has room for it. Among its
 * configurations and slots take the greatest efficiency e, which has these forms:
 * - paper [notes]: rate per weighted resource, divided by the remaining share of the slot's free
 *   resources: e = (r_up / need) / (1 - need / free). The remaining share is at least 0.001,
 *   because an exact fit would give infinity [derived: the repository's own guard].
 * - paper-total: the same with all of the slot's resources, free or not, in place of the free ones.
 *   The notes do not say which the paper means. Only with the free ones does it matter how full a
 *   slot is.
 * - repo [code]: e = (r_up / best) / (left / all). `best` is the function's greatest throughput per
 *   weighted resource over its profile. `left` is the sum of weighted resources that are free
 *   afterwards, each share with 0.001 added. This form does not divide by the resources that the
 *   instance needs. It rounds rates down to whole numbers, as the repository does.
 *
 * With several kinds of GPU the candidates are the configurations on all of them. A unit of each
 * kind has the weight of its price [derived].
 *
 * Deviations [derived]: a rate that would round to 0 is not rounded (the repository would place
 * instances without end); r_low of batch 1 is at most its r_up, of form `logged` 0 if that is below
 * 1; ties go to the first slot found.
 */
#ifndef ESGSIM_SCHED_INFLESS_ESTIMATOR_H
#define ESGSIM_SCHED_INFLESS_ESTIMATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "workloads/world/workload.h"

enum infless_form { INFLESS_PAPER, INFLESS_REPO, INFLESS_PAPER_TOTAL, INFLESS_LOGGED };

struct infless_rule {
    enum infless_form form;
    double margin;      /* predicted times are inflated by this fraction */
    double vcpu_weight; /* weight of one vCPU, and of one unit of a GPU of the first kind; their
                         * ratio is the paper's beta */
    double unit_weight;
    const double *worth; /* by kind of GPU: of a unit relative to the first kind's; NULL: 1 */
    bool batch_threads;  /* use at most max(2, batch) vCPUs [code] */
};

/* Rates in requests per second. */
struct infless_bounds {
    double low, up;
    sim_time_t timeout; /* longest wait of a batch's oldest request */
};

/* Weighted resources of an instance: vCPUs, and units of a GPU of `kind`. */
double infless_need(const struct infless_rule *rule, double vcpus, double units, uint32_t kind);

/* Computes the bounds of an instance. False if an instance with `batch` (>= 1) and `time` (> 0)
 * cannot meet `slo`. */
bool infless_bound(enum infless_form form, uint32_t batch, sim_time_t time, sim_time_t slo,
                   struct infless_bounds *bounds);

/* A possible instance of a function. */
struct infless_candidate {
    uint32_t configuration; /* index of the function's configuration */
    uint16_t batch, vcpu, vgpu, kind;
    sim_time_t time; /* predicted time, inflated by the margin */
    struct infless_bounds bounds;
};

/* Computes the bounds of a candidate whose other fields are set. A turnaround of the function
 * lowers r_up, and r_low to at most that [derived]. False if it cannot meet `slo`. */
bool infless_bound_candidate(const struct infless_rule *rule, const struct function *function,
                             sim_time_t slo, struct infless_candidate *candidate);

/* Fills `candidates` with the configurations of `function` that can meet `slo`, largest batch
 * first, none above `max_batch`. `allowed`, by configuration, may be NULL: all are allowed.
 * `candidates` has room for all configurations of the function. Returns their number, 0 if the SLO
 * is too tight. */
size_t infless_candidates(const struct infless_rule *rule, const struct function *function,
                          const bool *allowed, sim_time_t slo, uint32_t max_batch,
                          struct infless_candidate *candidates);

/* Fallback for an SLO that no configuration meets [derived]: the fastest configuration of batch 1.
 * False if none is allowed. */
bool infless_best_effort(const struct infless_rule *rule, const struct function *function,
                         const bool *allowed, struct infless_candidate *candidate);

/* Greatest throughput per weighted resource over the profile of `function` (1/s). */
double infless_best_throughput(const struct infless_rule *rule, const struct function *function);

/* An invoker and one of its GPUs: free and total resources. */
struct infless_slot {
    uint32_t invoker, gpu;
    double free_vcpus, free_units;
    double vcpus, units;
};

/* Efficiency of a candidate that fits into the slot. `best`: infless_best_throughput. Form `logged`
 * does not use it, nor what is free. */
double infless_efficiency(const struct infless_rule *rule,
                          const struct infless_candidate *candidate,
                          const struct infless_slot *slot, double best);

/* The caller's view of the cluster. `fullest` finds the fullest slot with room for a candidate.
 * Form `logged` uses the other two instead. `next` moves to the next slot in order, to the first if
 * the slot's invoker is SIM_NONE, and is false after the last. `fits`: there is room in the slot.
 */
struct infless_cluster {
    void *context;
    bool (*fullest)(void *context, const struct infless_candidate *candidate,
                    struct infless_slot *slot);
    bool (*next)(void *context, struct infless_slot *slot);
    bool (*fits)(void *context, const struct infless_candidate *candidate,
                 const struct infless_slot *slot);
};

struct infless_choice {
    const struct infless_candidate *candidate; /* NULL if there is none, or no room for any */
    struct infless_slot slot;
    uint32_t looked; /* number of queries whether a candidate has room */
};

/* The greedy choice for the unserved `rate` (1/s). With `any_rate` the condition on r_low does not
 * apply to batch 1 [derived: otherwise an excess below 1/s would never be served]. O(count) queries
 * of the cluster; with form `logged` O(count x slots). */
struct infless_choice infless_choose(const struct infless_rule *rule,
                                     const struct infless_candidate *candidates, size_t count,
                                     double best, double rate, bool any_rate,
                                     const struct infless_cluster *cluster);

#endif
