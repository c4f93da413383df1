/* INFless: division of a function's observed rate among its instances, once per second.
 *
 * R_min and R_max are the sums of the instances' r_low and r_up; alpha = 0.8. Three regimes [code]:
 *
 * 1. R > R_max: every instance gets r_up. The excess R - R_max requires new instances.
 * 2. R_min + alpha (R_max - R_min) <= R <= R_max: instance i gets
 *    r_up - (R_max - R) / (R_max - R_min) (r_up - r_low). The rates sum to R.
 * 3. Below: some instances retire (rate 0) so that regime 2 holds for the others.
 *
 * The notes print the bound of regime 2 with alpha and 1 - alpha exchanged; this is the code's.
 *
 * Which instances retire. The repository examines subsets one by one. It takes the first whose
 * interval [R_min, R_max] contains R at 0.8 of its length or above, else at 0.4, else 0.2, else
 * anywhere: four classes of quality. Its order of enumeration is not documented. Here the remaining
 * set is, among those of the best class, the one that needs the least weighted resources [derived].
 * Instances with the same bounds and need are interchangeable, so counts of each kind are
 * enumerated instead of subsets. If even these exceed INFLESS_SETS_MAX, the instances with the
 * greatest need per rate retire one by one while R_max stays above R [derived]. If no set's
 * interval contains R, because R is below every r_low, the instance with the least r_low remains
 * and launches its batches by time-out [derived]. All retire at R = 0. Among equal instances the
 * oldest remain.
 *
 * The rule of the logs [logs] takes whole rates, rounded up [derived]. The sets are tried in the
 * order of the masks of those that retire, in which bit 0 is the oldest instance, and the first set
 * of the best class stays. It is cached, and stays while its interval contains R. When it is sought
 * anew, the excess is R for one tick. If no set contains R, all stay if R is at least the sum of
 * their r_low. Else all retire, and the excess is R. After INFLESS_SETS_MAX masks without success
 * the sets are chosen as above [derived].
 */
#ifndef ESGSIM_SCHED_INFLESS_REGIMES_H
#define ESGSIM_SCHED_INFLESS_REGIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/infless/estimator.h"

enum { INFLESS_SETS_MAX = 1 << 16 };

enum infless_regime { INFLESS_EXCESS, INFLESS_SHARED, INFLESS_RETIRED };

/* An instance as input of the division. */
struct infless_share {
    struct infless_bounds bounds;
    double need;   /* weighted resources */
    double rate;   /* result: its share in requests per second; 0: retired */
    bool cached;   /* given and result, of the logs' rule: in the set that was found last */
    uint32_t kind; /* scratch */
};

struct infless_split {
    enum infless_regime regime;
    double excess;    /* R - R_max in regime 1; R if the logs' rule asks for it; else 0 */
    uint32_t quality; /* of regime 3: class 0 (best) to 3; 4: no set's interval contains R */
    uint64_t sets;    /* of regime 3: sets examined */
};

/* Sets the rates of `shares`, given oldest instance first, for the `observed` rate (1/s, >= 0).
 * With an empty `shares` everything is excess. `cached` selects the logs' rule: the size of the
 * cached set, 0 at first, given and result. NULL selects the other. O(count²) at worst for the
 * kinds, plus the sets examined. */
struct infless_split infless_divide(struct infless_share *shares, size_t count, double observed,
                                    double alpha, uint32_t *cached);

#endif
