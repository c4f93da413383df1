/* INFless (Yang et al., ASPLOS'22): which configuration a new instance gets, and where.
 *
 * Evidence, here and in the other files of this folder: [code] read in the authors' public
 * repository (TankLabTJU/INFless @ 8940934), [notes] third-party reading notes of the paper,
 * [recall] from memory of the paper, [derived] our porting, [assumed] neither.
 *
 * Built-in batching, section 3 of the paper [notes, code]: an instance with batch b and predicted
 * time t serves a function of SLO s between r_low = b / (s - t), where a batch just fills before
 * its oldest request must start, and r_up = b / t, where batches follow one another without a gap.
 * It needs t <= s / 2 (so r_low <= r_up), or t <= s with b = 1, whose r_low is 1 per second. The
 * oldest request of a batch waits at most s - t.
 *
 * Greedy placement [code]: the largest batch for which there is a configuration with r_low within
 * the rate to be served, and a slot (invoker and GPU) with room for it, wins; among its
 * configurations and slots the greatest efficiency e, of which there are these forms:
 * - paper [notes]: rate per weighted resource, over the share of the slot's free resources that is
 *   left: e = (r_up / need) / (1 - need / free). An exact fit would be infinite; the share is taken
 *   for at least 0.001 [derived: the repository's own guard].
 * - paper-total: the same over all of the slot's resources, free or not; the notes do not say which
 *   the paper means, but only with the free ones does it matter how full a slot is.
 * - repo [code]: e = (r_up / best) / (left / all), where `best` is the function's greatest
 *   throughput per weighted resource over its profile and `left` the weighted resources that are
 *   free afterwards, each share with 0.001 added. It does not divide by what the instance needs.
 *   With it come the repository's whole rates, rounded down.
 * Deviations [derived]: a rate that rounds to 0 is left as it is (the repository would place
 * instances without end); r_low of batch 1 is at most its r_up; ties go to the first slot found.
 */
#ifndef ESGSIM_SCHED_INFLESS_ESTIMATOR_H
#define ESGSIM_SCHED_INFLESS_ESTIMATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/units.h"
#include "workloads/workload.h"

enum infless_form { INFLESS_PAPER, INFLESS_REPO, INFLESS_PAPER_TOTAL };

struct infless_rule {
    enum infless_form form;
    double margin;      /* predictions are inflated by this share of themselves */
    double vcpu_weight; /* of one vCPU, and of one unit of a GPU; their ratio is the paper's beta */
    double unit_weight;
    bool batch_threads; /* at most as many vCPUs as jobs in the batch, or two [code] */
};

/* Rates in requests per second. */
struct infless_bounds {
    double low, up;
    sim_time_t timeout; /* longest wait of the oldest request */
};

/* False where an instance with `batch` (>= 1) that takes `time` (> 0) is no use within `slo`. */
bool infless_bound(enum infless_form form, uint32_t batch, sim_time_t time, sim_time_t slo,
                   struct infless_bounds *bounds);

/* One way to make an instance. */
struct infless_candidate {
    uint32_t configuration; /* of the function */
    uint16_t batch, vcpu, vgpu;
    sim_time_t time; /* predicted: inflated */
    struct infless_bounds bounds;
};

/* The configurations of `function` that are of use within `slo`, largest batch first, none above
 * `max_batch`; `allowed`, by configuration, may be NULL: all. `candidates` has room for as many as
 * the function has configurations; returns how many there are, 0 where the SLO is too tight. */
size_t infless_candidates(const struct infless_rule *rule, const struct function *function,
                          const bool *allowed, sim_time_t slo, uint32_t max_batch,
                          struct infless_candidate *candidates);

/* For an SLO that nothing meets [derived]: the fastest configuration of batch 1, which does what
 * it can. False where none is allowed. */
bool infless_best_effort(const struct infless_rule *rule, const struct function *function,
                         const bool *allowed, struct infless_candidate *candidate);

/* Greatest throughput per weighted resource over the profile of `function` (1/s). */
double infless_best_throughput(const struct infless_rule *rule, const struct function *function);

/* An invoker and one of its GPUs: what is free, and all there is. */
struct infless_slot {
    uint32_t invoker, gpu;
    double free_vcpus, free_units;
    double vcpus, units;
};

/* Efficiency of the candidate, which fits, in the slot. `best`: infless_best_throughput. */
double infless_efficiency(const struct infless_rule *rule,
                          const struct infless_candidate *candidate,
                          const struct infless_slot *slot, double best);

/* Who knows the cluster: the fullest slot with room for the candidate. */
struct infless_cluster {
    void *context;
    bool (*fullest)(void *context, const struct infless_candidate *candidate,
                    struct infless_slot *slot);
};

struct infless_choice {
    const struct infless_candidate *candidate; /* NULL: there is none, or no room for any */
    struct infless_slot slot;
    uint32_t looked; /* candidates for which the cluster was asked */
};

/* The greedy choice for `rate` (1/s) yet unserved. `any_rate`: r_low is not asked of batch 1
 * [derived: an excess below 1/s, which the paper's bound would leave unserved for ever]. O(count)
 * questions to the cluster. */
struct infless_choice infless_choose(const struct infless_rule *rule,
                                     const struct infless_candidate *candidates, size_t count,
                                     double best, double rate, bool any_rate,
                                     const struct infless_cluster *cluster);

#endif
