/* Which requests to serve when the load exceeds the cluster: shedding by rate, with feedback (not a
 * public header).
 *
 * The load is Σ λ_a W_a, with λ_a the arrival rate of application a and W_a the work of one of its
 * requests, in ns of the whole cluster. If it exceeds the limit η, the admitted fractions x_a fall
 * until it does not:
 *
 * - EFFICIENT: of the application with the most work per request first. This solves the fractional
 *   knapsack "most requests within η", but it starves the heavy applications.
 * - PROPORTIONAL: of all applications by the same factor.
 * - MAX_MIN: of the applications with the most load, down to one common load (max-min fairness;
 *   Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
 *
 * Requests are thinned evenly: each application has a counter that grows by x_a per arrival and
 * falls by 1 per admitted request.
 *
 * η follows the outcome of admitted requests. A hit adds s τ / (1 − τ), a miss subtracts s. In
 * equilibrium the fraction τ of admitted requests misses, as in stochastic approximation (Robbins
 * and Monro 1951). A small τ wastes capacity, a large one wastes work on requests that miss.
 */
#ifndef ESGSIM_SIM_PLATFORM_LOAD_LIMIT_H
#define ESGSIM_SIM_PLATFORM_LOAD_LIMIT_H

#include <stdbool.h>

#include "sim/base/arena.h"
#include "workloads/spec/experiment.h"

struct load_limit;

/* For `count` applications. It lives as long as the arena. `settings` must live as long. */
struct load_limit *load_limit_create(struct arena *arena, size_t count,
                                     const struct admission_spec *settings);

/* Computes the admitted fractions anew. share[a] is an application's part of the arrivals, load[a]
 * its load if all of its requests were admitted. O(applications²) where the load exceeds the limit,
 * else O(applications). */
void load_limit_balance(struct load_limit *limit, const double *share, const double *load);

/* Whether to serve a request that arrived. If `shed` is false it is always admitted, but counted.
 */
bool load_limit_admit(struct load_limit *limit, uint32_t application, bool shed);

/* Whether an admitted request met its deadline. */
void load_limit_outcome(struct load_limit *limit, bool hit);

double load_limit_value(const struct load_limit *limit);                          /* η */
double load_limit_fraction(const struct load_limit *limit, uint32_t application); /* x_a */

#endif
