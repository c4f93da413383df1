/* Which requests to serve when the load exceeds the cluster: shedding by rate, with feedback.
 *
 * Arrival rates come from the last ADMISSION_WINDOW arrivals. An application's share of them is
 * shrunk half-way to its weight in the workload, because few arrivals say little of it. The load is
 * Σ λ_a W_a, with W_a the work of a request of application a under its plan of least work, in ns of
 * the whole cluster. If it exceeds the limit η, the admitted fractions x_a fall until it does not:
 *
 * - EFFICIENT: of the application with the most work per request first. This solves the fractional
 *   knapsack "most requests within η", but it starves the heavy applications.
 * - PROPORTIONAL: of all applications by the same factor.
 *
 * Requests are thinned evenly: each application has a counter that grows by x_a per arrival and
 * falls by 1 per admitted request.
 *
 * η follows the outcome of admitted requests. A hit adds s τ / (1 − τ), a miss subtracts s. In
 * equilibrium the fraction τ of admitted requests misses, as in stochastic approximation (Robbins
 * and Monro 1951). A small τ wastes capacity, a large one wastes work on requests that miss.
 */
#ifndef ESGSIM_SCHED_HEADWAY_ADMISSION_H
#define ESGSIM_SCHED_HEADWAY_ADMISSION_H

#include <stdbool.h>

#include "sim/base/arena.h"
#include "workloads/workload.h"

enum { ADMISSION_WINDOW = 128 };

enum shedding { SHEDDING_OFF, SHEDDING_EFFICIENT, SHEDDING_PROPORTIONAL };

struct admission_settings {
    enum shedding shedding;
    double start, least, most; /* of η */
    double step, misses;       /* s and τ */
};

struct admission;

struct admission *admission_create(struct arena *arena, const struct workload *workload,
                                   const struct admission_settings *settings);

/* A request of `application` arrived. O(1). */
void admission_arrive(struct admission *admission, uint32_t application, sim_time_t now);

/* Mean ns between requests of `application`; INFINITY before two arrivals are known. */
double admission_interval(const struct admission *admission, uint32_t application);

/* Computes the admitted fractions anew. work[a] is that of one request, in ns of the whole
 * cluster. O(applications²) where the load exceeds the limit, else O(applications). */
void admission_balance(struct admission *admission, const double *work);

/* Whether to serve a request that arrived. If `shed` is false it is always admitted, but counted.
 */
bool admission_admit(struct admission *admission, uint32_t application, bool shed);

/* Whether an admitted request met its deadline. */
void admission_outcome(struct admission *admission, bool hit);

double admission_limit(const struct admission *admission); /* η */
double admission_load(const struct admission *admission);  /* Σ λ W at the last balance */
double admission_fraction(const struct admission *admission, uint32_t application); /* x_a */

#endif
