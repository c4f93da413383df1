/* An upper bound on the SLO hits that any policy can achieve on the cluster of a run, for the
 * arrivals of that run.
 *
 * Let request r arrive at a(r) with deadline d(r), and let w(r) be a lower bound on the work that a
 * hit of r takes: time of GPU units, of vCPUs, or of a mixture of both. All batches that serve a
 * hit run within [a(r), d(r)]. Share the units that such a batch holds equally among its jobs that
 * become hits. Then every hit takes at least w(r) within its window, and at any instant the hits
 * together take at most what the cluster has. A set of hits is therefore a feasible schedule of a
 * fluid that flows at most at the rate C of the capacity, and
 *
 *   hits <= max Σ f(r) / w(r)  over all flows with f(r) <= w(r), within the windows, at rate C.
 *
 * The feasible f are a polymatroid, so the greedy algorithm solves this linear program (Edmonds,
 * "Submodular functions, matroids, and certain polyhedra", 1970). With the works in ascending order
 * w1 < w2 < … and S(k) the requests with a work of at most wk, the maximum is
 *
 *   Σ over k of (1/wk − 1/w(k+1)) × F(S(k)),   1/w of the last + 1 being 0,
 *
 * where F(S) is the most fluid that S can receive. Earliest deadline first attains F: it is
 * Glover's matching in a convex bipartite graph (Naval Research Logistics Quarterly 14, 1967) for
 * ever smaller pieces. Rounding a work down only adds feasible flows. There are at most
 * CAPACITY_LEVELS distinct works after rounding.
 *
 * The work w(r). A job of stage s in a batch of configuration k takes at least
 *
 *   units(k) × T(s, k) × n / h,   n the noise of the batch, h its number of hits, h <= batch(k).
 *
 * - The noise of a batch is that of its oldest job, which may be another request, also one that is
 *   missed. So n is at least the least draw of this stage in the run. A stage that has only
 *   configurations of batch 1 has the request's own draw.
 * - The hits of a batch are requests of one application whose windows have a common instant. So h
 * is at most m(r), the largest number of the application's windows that contain an instant of r's.
 * - The stages on a path must end within the SLO. For any λ >= 0 and one path p from a source to a
 *   sink, a hit takes at least
 *
 *     Σ over s of min over k of (units(k) T n / min(batch(k), m) + λ [s in p] T n) − λ SLO.
 *
 *   This Lagrangian bound also covers a batch whose share is changed while it runs, because it
 * mixes configurations. The path is the longest at configurations of least work, and λ the best
 * one.
 *
 * Several kinds of GPU. Of each resource i (the units of one kind, the vCPUs) the batches that run
 * hold at most C(i) at any time, so that for weights a(i) >= 0 with the sum 1
 *
 *   Σ over batches of Σ over i of a(i) × held(i) / C(i)  <=  1.
 *
 * The argument above therefore holds with units(k) = Σ a(i) held(i) / C(i) and C = 1, whatever the
 * weights. A configuration holds units of one kind. The weights of the kinds are such that a mean
 * request takes the same work on each, which is the tightest choice if all requests are alike.
 *
 * Co-runners, transfers, cold starts and decision times only add time, so leaving them out keeps
 * the bound valid (the models of interference have slowdowns of at least 1). Not used: that batches
 * are not preempted, that a batch fits on one GPU and its slices, memory, and that one batch needs
 * units and vCPUs together. The smallest of the bounds by five mixtures of units and vCPUs counts.
 */
#ifndef ESGSIM_SCHED_COMMON_CAPACITY_BOUND_H
#define ESGSIM_SCHED_COMMON_CAPACITY_BOUND_H

#include "sim/base/arena.h"
#include "sim/base/units.h"
#include "workloads/world/workload.h"

/* Longer runs have no bound, so that memory does not grow with them. */
enum { CAPACITY_LEVELS = 16, CAPACITY_BOUND_REQUESTS = 1 << 18 };

struct capacity_bound;

/* The arena has the bound. The workload must outlive it. */
struct capacity_bound *capacity_bound_create(struct arena *arena, const struct workload *workload);

/* Adds a request, in any order. `noise[s]` is the draw of stage s: a factor, or for a function with
 * a `service` the time in ms. A request that is not measured can be no hit, but may lead a batch.
 * O(1) amortised. */
void capacity_bound_add(struct capacity_bound *bound, uint32_t application, sim_time_t arrival,
                        sim_time_t slo, const double *noise, bool measured);

/* The most hits among the measured requests; NAN if there are none or more than
 * CAPACITY_BOUND_REQUESTS. Nothing is added afterwards. O(n log n) for n requests. */
double capacity_bound_hits(struct capacity_bound *bound);

#endif
