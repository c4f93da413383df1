/* Closed-form results of queueing theory, for validation of simulated queues.
 *
 * Rates and durations use the same unit of time, chosen by the caller. `rate` is that of Poisson
 * arrivals, `mean` is the mean service time, and the offered load is rate × mean. Functions return
 * NAN if memory is exhausted or if there is no stationary state.
 *
 * Sources: Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", 4th ed. (chapters 2
 * and 5) unless a function names another.
 */
#ifndef ESGSIM_SIM_ENGINE_QUEUEING_THEORY_H
#define ESGSIM_SIM_ENGINE_QUEUEING_THEORY_H

#include <stdint.h>

/* Fraction of arrivals lost by M/G/c/c at `offered` load (Erlang's B formula, by its recursion). */
double queueing_erlang_b(uint32_t servers, double offered);

/* Fraction of arrivals that wait in M/M/c (Erlang's C formula). */
double queueing_erlang_c(uint32_t servers, double offered);

/* Mean wait in queue of M/M/c. */
double queueing_mmc_wait(double rate, double mean, uint32_t servers);

/* Quantile `p` of the sojourn time (waiting and service) in M/M/1, which is exponential. */
double queueing_mm1_sojourn_quantile(double rate, double mean, double p);

/* Mean wait in queue of M/G/1, by the formula of Pollaczek and Khinchine. `cv` is the coefficient
 * of variation of the service time; cv 0 is M/D/1, cv 1 is M/M/1. */
double queueing_mg1_wait(double rate, double mean, double cv);

/* M/M/c/K with at most `places` (K >= servers) customers, in service and waiting together. Fraction
 * of arrivals rejected, and mean wait in queue of those accepted. */
double queueing_mmck_loss(double rate, double mean, uint32_t servers, uint32_t places);
double queueing_mmck_wait(double rate, double mean, uint32_t servers, uint32_t places);

/* Mean response time (waiting and service) in a closed network. Each of `users` thinks for `think`
 * on average, then queues for one of `servers` exponential servers (machine repair model, finite
 * source). It depends on the distribution of thinking times only through the mean. */
double queueing_closed_response(uint32_t users, double think, double mean, uint32_t servers);

/* Fraction of arrivals that find no idle container, in an unlimited pool (M/M/∞). A container idle
 * for `keep_alive` is evicted, and the most recently used idle container serves first.
 *
 * The derivation is ours, from known results. Idle containers form a stack. Consider the container
 * that becomes idle when the busy count falls from n+1 to n. The next arrival that finds n busy
 * takes it, because all containers pushed above it are taken earlier and expiry removes containers
 * from the bottom. So an arrival that finds n busy is cold exactly if the busy count N was at most
 * n throughout the last `keep_alive`. N of M/G/∞ is Poisson(rate × mean) and reversible, and
 * Poisson arrivals see its stationary distribution. Hence
 *
 *     P(cold) = Σ_n P(N = n) · P(N needs longer than keep_alive to pass from n to n + 1),
 *
 * where the second factor is a first-passage time of a birth-death chain. It is computed from the
 * chain's spectrum (Ledermann and Reuter, Phil. Trans. A 246, 1954). O(offered^4), intended for
 * offered loads of tens.
 */
double queueing_pool_cold_probability(double rate, double mean, double keep_alive);

#endif
