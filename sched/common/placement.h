/* Choice of an invoker for a batch, by a bounded number of O(1) queries. */
#ifndef ESGSIM_SCHED_COMMON_PLACEMENT_H
#define ESGSIM_SCHED_COMMON_PLACEMENT_H

#include "sched/policy.h"

struct load_index;

/* LOCALITY tries, warm containers first: the invokers that produced the head job's inputs, the
 * function's home invoker (OpenWhisk's hash), the best fit. HOME omits the first of these, BEST_FIT
 * the first two. ESG is placement_esg with PLACEMENT_NEAR and no load index. */
enum placement_rule { PLACEMENT_LOCALITY, PLACEMENT_HOME, PLACEMENT_BEST_FIT, PLACEMENT_ESG };

/* Their names in a line of parameters. */
#define PLACEMENT_WORDS WORDS("locality", "home", "best-fit", "esg")

/* What placement_esg prefers. ANY: nothing. WARM: invokers with an idle container. NEAR: also
 * invokers that produced the head job's inputs or are the function's home. */
enum placement_preference { PLACEMENT_ANY, PLACEMENT_WARM, PLACEMENT_NEAR };

/* platform_fits_warm if `warm`, else platform_fits. */
bool placement_fits(const struct platform *platform, uint32_t function, uint32_t configuration,
                    uint32_t invoker, bool warm);

/* The most free units on one GPU of the kind on the invoker. O(groups + GPUs of the invoker). */
double placement_free_units(const struct platform *platform, uint32_t invoker, uint32_t kind);

/* The invoker for a batch of the head of `queue`; SIM_NONE if none fits now. With `warm_only`, only
 * invokers with an idle container of the function. */
uint32_t placement_choose(struct platform *platform, uint32_t queue, uint32_t configuration,
                          enum placement_rule rule, bool warm_only);

/* ESG_Dispatch's choice (ESG, HPDC'24). Classes of invokers in descending preference:
 *
 * 1. ran a predecessor and is warm
 * 2. is warm
 * 3. ran a predecessor
 * 4. the function's home or one of the next three of its walk
 * 5. any
 *
 * Within each class it takes the best fit on vGPUs. If `loads` is not NULL it takes the least
 * loaded invoker of the class, which spreads batches over GPUs. A weaker `preference` omits the
 * middle classes. O(1) plus the fan-in of the head job's stage.
 */
uint32_t placement_esg(struct platform *platform, uint32_t queue, uint32_t configuration,
                       enum placement_preference preference, struct load_index *loads,
                       bool warm_only);

#endif
