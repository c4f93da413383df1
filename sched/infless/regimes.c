#include "sched/infless/regimes.h"

#include <math.h>

enum { KINDS_MAX = 16, QUALITY_NONE = 4 };

/* Position of the load within a set's interval, best class first [code]. */
static const double quality_loads[QUALITY_NONE] = {0.8, 0.4, 0.2, 0};

struct sums {
    double low, up, need;
};

/* Instances with equal bounds and need. */
struct kind {
    const struct infless_share *like;
    uint32_t count, kept;
};

static struct sums sums_of(const struct infless_share *shares, size_t count)
{
    struct sums sums = {0};
    for (size_t i = 0; i < count; i++) {
        sums.low += shares[i].bounds.low;
        sums.up += shares[i].bounds.up;
        sums.need += shares[i].need;
    }
    return sums;
}

/* Tolerates rounding: sums of equal terms in another order differ in the last bits. */
static bool at_most(double left, double right)
{
    return left <= right + 1e-9 * fabs(right);
}

static uint32_t quality_of(const struct sums *sums, double rate)
{
    if (!at_most(sums->low, rate) || !at_most(rate, sums->up))
        return QUALITY_NONE;
    uint32_t quality = 0;
    while (!at_most(sums->low + quality_loads[quality] * (sums->up - sums->low), rate) &&
           quality < QUALITY_NONE - 1)
        quality++;
    return quality;
}

/* Applies regime 2 to the instances whose rate is not 0. */
static void share_rate(struct infless_share *shares, size_t count, const struct sums *sums,
                       double rate)
{
    const double length = sums->up - sums->low;
    const double down = length > 0 ? fmin(fmax((sums->up - rate) / length, 0), 1) : 0;
    for (size_t i = 0; i < count; i++)
        if (shares[i].rate > 0)
            shares[i].rate =
                shares[i].bounds.up - down * (shares[i].bounds.up - shares[i].bounds.low);
}

static bool alike(const struct infless_share *left, const struct infless_share *right)
{
    return left->bounds.low == right->bounds.low && left->bounds.up == right->bounds.up &&
           left->need == right->need;
}

/* Returns the number of kinds; 0 if there are too many kinds, or too many sets of them. */
static size_t find_kinds(struct infless_share *shares, size_t count, struct kind *kinds)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < found && !alike(kinds[k].like, &shares[i]))
            k++;
        if (k == KINDS_MAX)
            return 0;
        if (k == found)
            kinds[found++] = (struct kind){.like = &shares[i]};
        kinds[k].count++;
        shares[i].kind = (uint32_t)k;
    }
    double sets = 1;
    for (size_t k = 0; k < found; k++)
        sets *= kinds[k].count + 1.0;
    return sets <= INFLESS_SETS_MAX ? found : 0;
}

/* Advances to the next set in counting order; false after the last. */
static bool next_set(struct kind *kinds, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (kinds[k].kept < kinds[k].count) {
            kinds[k].kept++;
            return true;
        }
        kinds[k].kept = 0;
    }
    return false;
}

static struct sums sums_of_set(const struct kind *kinds, size_t count)
{
    struct sums sums = {0};
    for (size_t k = 0; k < count; k++) {
        sums.low += kinds[k].kept * kinds[k].like->bounds.low;
        sums.up += kinds[k].kept * kinds[k].like->bounds.up;
        sums.need += kinds[k].kept * kinds[k].like->need;
    }
    return sums;
}

/* Sets positive rates for the set of the best class that needs the least resources. */
static void retire_by_sets(struct infless_share *shares, size_t count, struct kind *kinds,
                           size_t kind_count, double rate, struct infless_split *split)
{
    uint32_t kept[KINDS_MAX] = {0};
    double least = INFINITY;
    while (next_set(kinds, kind_count)) {
        const struct sums sums = sums_of_set(kinds, kind_count);
        const uint32_t quality = quality_of(&sums, rate);
        split->sets++;
        if (quality > split->quality || quality == QUALITY_NONE ||
            (quality == split->quality && sums.need >= least))
            continue;
        split->quality = quality;
        least = sums.need;
        for (size_t k = 0; k < kind_count; k++)
            kept[k] = kinds[k].kept;
    }
    for (size_t i = 0; i < count; i++) {
        const bool stays = kept[shares[i].kind] > 0;
        kept[shares[i].kind] -= stays;
        shares[i].rate = stays ? shares[i].bounds.up : 0;
    }
}

/* Among the instances that can be spared, the one with the greatest need per rate. */
static size_t spare_one(const struct infless_share *shares, size_t count, double up, double rate)
{
    size_t worst = count;
    for (size_t i = 0; i < count; i++)
        if (shares[i].rate > 0 && at_most(rate, up - shares[i].bounds.up) &&
            (worst == count ||
             shares[i].need * shares[worst].bounds.up >= shares[worst].need * shares[i].bounds.up))
            worst = i;
    return worst;
}

static void retire_one_by_one(struct infless_share *shares, size_t count, double rate, double alpha,
                              struct infless_split *split)
{
    struct sums sums = sums_of(shares, count);
    for (size_t i = 0; i < count; i++)
        shares[i].rate = shares[i].bounds.up;
    while (rate < sums.low + alpha * (sums.up - sums.low)) {
        const size_t worst = spare_one(shares, count, sums.up, rate);
        split->sets++;
        if (worst == count)
            break;
        shares[worst].rate = 0;
        sums.low -= shares[worst].bounds.low;
        sums.up -= shares[worst].bounds.up;
    }
    split->quality = quality_of(&sums, rate);
}

static void keep_least(struct infless_share *shares, size_t count)
{
    size_t least = 0;
    for (size_t i = 0; i < count; i++) {
        const struct infless_share *here = &shares[i];
        const struct infless_share *best = &shares[least];
        if (here->bounds.low < best->bounds.low ||
            (here->bounds.low == best->bounds.low && here->need < best->need))
            least = i;
        shares[i].rate = 0;
    }
    shares[least].rate = shares[least].bounds.up;
}

static void retire(struct infless_share *shares, size_t count, double rate, double alpha,
                   struct infless_split *split)
{
    struct kind kinds[KINDS_MAX] = {{0}};
    split->quality = QUALITY_NONE;
    if (rate <= 0) {
        for (size_t i = 0; i < count; i++)
            shares[i].rate = 0;
        return;
    }
    const size_t kind_count = find_kinds(shares, count, kinds);
    if (kind_count > 0)
        retire_by_sets(shares, count, kinds, kind_count, rate, split);
    else
        retire_one_by_one(shares, count, rate, alpha, split);
    if (split->quality == QUALITY_NONE) {
        keep_least(shares, count);
        return;
    }
    struct sums sums = {0};
    for (size_t i = 0; i < count; i++) {
        sums.low += shares[i].rate > 0 ? shares[i].bounds.low : 0;
        sums.up += shares[i].rate > 0 ? shares[i].bounds.up : 0;
    }
    share_rate(shares, count, &sums, rate);
}

static uint32_t logged_quality(const struct sums *sums, double rate, double alpha)
{
    uint32_t quality = 0;
    if (!at_most(sums->low, rate) || !at_most(rate, sums->up))
        return QUALITY_NONE;
    double part = floor(alpha * (sums->up - sums->low));
    for (; quality < QUALITY_NONE - 1 && !at_most(sums->low + part, rate); part = floor(part / 2))
        quality++;
    return quality;
}

/* The first set of the best class, in the order of the masks of those that retire, whose lowest bit
 * is the oldest instance. Marks its members and returns their number, 0 if there is none. */
static uint32_t cache_first_set(struct infless_share *shares, size_t count, double rate,
                                double alpha, struct infless_split *split)
{
    struct sums sums = sums_of(shares, count);
    const uint64_t all = count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
    uint64_t best = 0;
    uint32_t kept = 0;
    split->quality = QUALITY_NONE;
    for (uint64_t mask = 1; mask < all && mask <= INFLESS_SETS_MAX && split->quality > 0; mask++) {
        /* Counting up retires one instance and brings back those before it. */
        size_t i = 0;
        for (; (mask >> i & 1) == 0; i++) {
            sums.low += shares[i].bounds.low;
            sums.up += shares[i].bounds.up;
        }
        sums.low -= shares[i].bounds.low;
        sums.up -= shares[i].bounds.up;
        const uint32_t quality = logged_quality(&sums, rate, alpha);
        split->sets++;
        best = quality < split->quality ? mask : best;
        split->quality = quality < split->quality ? quality : split->quality;
    }
    const bool found = split->quality < QUALITY_NONE;
    if (!found && all > INFLESS_SETS_MAX)
        retire(shares, count, rate, alpha, split);
    for (size_t i = 0; i < count; i++) {
        shares[i].cached = found ? i >= 64 || (best >> i & 1) == 0
                                 : split->quality < QUALITY_NONE && shares[i].rate > 0;
        kept += shares[i].cached;
    }
    return kept;
}

static void retire_logged(struct infless_share *shares, size_t count, double rate, double alpha,
                          struct infless_split *split, uint32_t *cached)
{
    struct sums sums = {0};
    uint32_t alive = 0;
    for (size_t i = 0; i < count; i++) {
        alive += shares[i].cached;
        sums.low += shares[i].cached ? shares[i].bounds.low : 0;
        sums.up += shares[i].cached ? shares[i].bounds.up : 0;
    }
    const bool hit =
        alive > 0 && alive == *cached && at_most(sums.low, rate) && at_most(rate, sums.up);
    const bool enough = rate >= sums_of(shares, count).low;
    if (rate > 0 && !hit) {
        *cached = cache_first_set(shares, count, rate, alpha, split);
        split->excess = *cached > 0 || !enough ? rate : 0;
    }
    const bool all_stay = *cached == 0 && enough;
    sums = (struct sums){0};
    for (size_t i = 0; i < count; i++) {
        const bool stays = rate > 0 && (all_stay || shares[i].cached);
        shares[i].rate = stays ? shares[i].bounds.up : 0;
        sums.low += stays ? shares[i].bounds.low : 0;
        sums.up += stays ? shares[i].bounds.up : 0;
    }
    share_rate(shares, count, &sums, rate);
}

struct infless_split infless_divide(struct infless_share *shares, size_t count, double observed,
                                    double alpha, uint32_t *cached)
{
    struct infless_split split = {.regime = INFLESS_EXCESS};
    const struct sums sums = sums_of(shares, count);
    const double above = alpha * (sums.up - sums.low);
    const double shared_from = cached != NULL ? floor(above) : above;
    for (size_t i = 0; i < count; i++)
        shares[i].rate = shares[i].bounds.up;
    if (count == 0 || observed > sums.up) {
        split.excess = observed - sums.up;
    } else if (observed >= sums.low + shared_from) {
        split.regime = INFLESS_SHARED;
        share_rate(shares, count, &sums, observed);
    } else {
        split.regime = INFLESS_RETIRED;
        if (cached != NULL)
            retire_logged(shares, count, observed, alpha, &split, cached);
        else
            retire(shares, count, observed, alpha, &split);
    }
    return split;
}
