/* Queueing theory in closed form: what a simulated queue must agree with.
 *
 * Rates are per unit of time and durations in the same unit, whichever the caller likes. `rate` is
 * of Poisson arrivals, `mean` is the mean service time, offered load = rate × mean. Out of memory
 * and loads for which no stationary state exists give NAN.
 *
 * Sources: Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th ed. (chapters 2
 * and 5) unless a function names another.
 */
#ifndef ESGSIM_SIM_THEORY_H
#define ESGSIM_SIM_THEORY_H

#include <stdint.h>

/* Share of arrivals lost by M/G/c/c at `offered` load (Erlang's B formula, by its recursion). */
double theory_erlang_b(uint32_t servers, double offered);

/* Share of arrivals of M/M/c that wait (Erlang's C formula). */
double theory_erlang_c(uint32_t servers, double offered);

/* Mean wait in queue of M/M/c. */
double theory_mmc_wait(double rate, double mean, uint32_t servers);

/* The time that a share `p` of M/M/1's customers stay no longer than, waiting and service together
 * (exponential). */
double theory_mm1_sojourn_quantile(double rate, double mean, double p);

/* Mean wait in queue of M/G/1, `cv` the service time's coefficient of variation (Pollaczek and
 * Khinchine); cv 0 is M/D/1, cv 1 is M/M/1. */
double theory_mg1_wait(double rate, double mean, double cv);

/* M/M/c/K: `places` (K >= servers) customers at most, in service and waiting together. Share of
 * arrivals turned away, and mean wait in queue of those let in. */
double theory_mmck_loss(double rate, double mean, uint32_t servers, uint32_t places);
double theory_mmck_wait(double rate, double mean, uint32_t servers, uint32_t places);

/* Mean response (waiting and service) in a closed network of `users` who each think for `think` on
 * average, then queue for one of `servers` exponential servers (machine repair, finite source).
 * Depends on the thinking time's distribution by its mean only. */
double theory_closed_response(uint32_t users, double think, double mean, uint32_t servers);

/* Share of arrivals that find no idle container, in a pool without limit (M/M/∞) in which a
 * container that has been idle for `keep_alive` is evicted and the most recently used idle one
 * serves first.
 *
 * Ours, from known parts. Idle containers form a stack. The container that a departure from n+1 to
 * n busy ones leaves behind is taken by the next arrival that finds n busy, since all that were
 * pushed above it are taken before, and those that expire go from the bottom. So an arrival that
 * finds n busy is cold exactly if the busy count N stayed at or below n throughout the last
 * `keep_alive`. N of M/G/∞ is Poisson(rate × mean) and reversible, and Poisson arrivals see its
 * stationary law, hence
 *
 *     P(cold) = Σ_n P(N = n) · P(N needs longer than keep_alive to pass from n to n + 1),
 *
 * a first-passage time of a birth-death chain, computed here from its spectrum (Ledermann and
 * Reuter, Phil. Trans. A 246, 1954). O(offered^4): for offered loads of tens. */
double theory_pool_cold_probability(double rate, double mean, double keep_alive);

#endif
