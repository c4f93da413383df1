/* INFless: how a function's observed rate is divided among its instances, once a second.
 *
 * With R_min and R_max the sums of the instances' r_low and r_up, and alpha = 0.8, three regimes
 * [code]:
 * 1. R > R_max: every instance gets r_up; the excess R - R_max asks for new instances.
 * 2. R_min + alpha (R_max - R_min) <= R <= R_max: instance i gets
 *    r_up - (R_max - R) / (R_max - R_min) (r_up - r_low); the rates sum to R.
 * 3. Below: some instances retire (rate 0) so that regime 2 holds for those that stay.
 * The notes print the bound of regime 2 with alpha and 1 - alpha exchanged; this is the code's.
 *
 * Which to retire. The repository looks at subsets one by one and takes the first whose interval
 * [R_min, R_max] contains R at 0.8 of its length or above, else at 0.4, else 0.2, else anywhere:
 * four classes of quality. The order in which it looks is not documented; here the set that stays
 * is, of those of the best class, the one that needs the least weighted resources [derived].
 * Instances with the same bounds and need are alike, so counts of each kind are enumerated instead
 * of subsets; where even these are more than INFLESS_SETS_MAX, instances with the greatest need per
 * rate retire one by one while R_max stays above R [derived]. Where no set's interval contains R,
 * for R is below every r_low, the instance with the least r_low stays and its batches leave by
 * their time-out [derived]; all retire at R = 0. Of like instances the oldest stay.
 */
#ifndef ESGSIM_SCHED_INFLESS_REGIMES_H
#define ESGSIM_SCHED_INFLESS_REGIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/infless/estimator.h"

enum { INFLESS_SETS_MAX = 1 << 16 };

enum infless_regime { INFLESS_EXCESS, INFLESS_SHARED, INFLESS_RETIRED };

/* An instance, as the split sees it. */
struct infless_share {
    struct infless_bounds bounds;
    double need;   /* weighted resources */
    double rate;   /* set: its share, requests per second; 0: retired */
    uint32_t kind; /* scratch */
};

struct infless_split {
    enum infless_regime regime;
    double excess;    /* R - R_max in regime 1, else 0 */
    uint32_t quality; /* of regime 3: class 0, the best, to 3; 4: no set's interval contains R */
    uint64_t sets;    /* of regime 3: looked at */
};

/* Sets the rates of `shares`, oldest instance first, for the `observed` rate (1/s, >= 0). With no
 * share all is excess. O(count²) at worst for the kinds, and the sets looked at. */
struct infless_split infless_divide(struct infless_share *shares, size_t count, double observed,
                                    double alpha);

#endif
