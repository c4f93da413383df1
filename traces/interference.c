#include "traces/interference.h"

#include <math.h>

static double pair_excess(const struct interference *model, uint32_t victim, uint32_t other)
{
    if (victim >= model->pair_count || other >= model->pair_count)
        return model->constant;
    double excess = model->pairs[victim * model->pair_count + other];
    return isnan(excess) ? model->constant : excess;
}

/* Factors of realistic laws are far smaller. The product of three factors below the limit is
 * finite. */
#define FACTOR_LIMIT 1e100

/* A function without a demand (NAN) uses no memory bandwidth, so it neither suffers nor causes a
 * slowdown. The same holds if a power is not finite. */
static double usable(double factor)
{
    return factor > 0 && factor <= FACTOR_LIMIT ? factor : 0;
}

struct prepared_runner interference_prepare(const struct interference *model,
                                            const struct co_runner *runner)
{
    struct prepared_runner prepared = {.index = runner->index};
    if (model->kind == INTERFERENCE_BANDWIDTH) {
        prepared.as_victim =
            usable(model->coefficient * pow(runner->demand, model->victim_exponent));
        prepared.demand = usable(runner->demand);
        prepared.as_other = usable(pow(runner->share, model->share_exponent));
    }
    return prepared;
}

static inline double bandwidth_excess(double as_victim, double demand, double as_other)
{
    return as_victim * demand * as_other;
}

/* Two doubles fill a SIMD register on every processor. */
enum { ABREAST = 2 };

static inline void bandwidth_add(const double as_victim[ABREAST],
                                 const struct prepared_runner *others, size_t count,
                                 double slowdowns[ABREAST])
{
    for (size_t i = 0; i < count; i++)
        for (size_t lane = 0; lane < ABREAST; lane++)
            slowdowns[lane] +=
                bandwidth_excess(as_victim[lane], others[i].demand, others[i].as_other);
}

/* Slowdowns of two[0] and two[1]. Excesses are added in a fixed order: the `before` runners
 * preceding them, each other, and the `after` runners following them. */
static inline void bandwidth_two(const struct prepared_runner *two, size_t before, size_t after,
                                 double *slowdowns)
{
    const double as_victim[ABREAST] = {two[0].as_victim, two[1].as_victim};
    const double demand[ABREAST] = {two[1].demand, two[0].demand};
    const double as_other[ABREAST] = {two[1].as_other, two[0].as_other};
    double sums[ABREAST] = {1, 1};
    bandwidth_add(as_victim, two - before, before, sums);
    for (size_t lane = 0; lane < ABREAST; lane++)
        sums[lane] += bandwidth_excess(as_victim[lane], demand[lane], as_other[lane]);
    bandwidth_add(as_victim, two + ABREAST, after, sums);
    for (size_t lane = 0; lane < ABREAST; lane++)
        slowdowns[lane] = sums[lane];
}

/* For at least two runners. If the count is odd, the last one is computed with its predecessor,
 * whose slowdown is computed twice. */
static void bandwidth_slowdowns(const struct prepared_runner *runners, size_t count,
                                double *slowdowns)
{
    const size_t last = count - ABREAST;
    for (size_t at = 0; at < last; at += ABREAST)
        bandwidth_two(&runners[at], at, last - at, &slowdowns[at]);
    bandwidth_two(&runners[last], last, 0, &slowdowns[last]);
}

static void pair_slowdowns(const struct interference *model, const struct prepared_runner *runners,
                           size_t count, double *slowdowns)
{
    for (size_t victim = 0; victim < count; victim++) {
        slowdowns[victim] = 1;
        for (size_t other = 0; other < count; other++)
            if (other != victim)
                slowdowns[victim] +=
                    pair_excess(model, runners[victim].index, runners[other].index);
    }
}

void interference_slowdowns(const struct interference *model, const struct prepared_runner *runners,
                            size_t count, double *slowdowns)
{
    double same = 1;
    if (count > 1 && model->kind == INTERFERENCE_BANDWIDTH) {
        bandwidth_slowdowns(runners, count, slowdowns);
        return;
    }
    if (count > 1 && model->kind == INTERFERENCE_PAIRS) {
        pair_slowdowns(model, runners, count, slowdowns);
        return;
    }
    for (size_t other = 1; other < count; other++)
        same += model->constant;
    for (size_t victim = 0; victim < count; victim++)
        slowdowns[victim] = same;
}

static double excess(const struct interference *model, const struct prepared_runner *victim,
                     const struct prepared_runner *other)
{
    switch (model->kind) {
    case INTERFERENCE_BANDWIDTH:
        return bandwidth_excess(victim->as_victim, other->demand, other->as_other);
    case INTERFERENCE_PAIRS:
        return pair_excess(model, victim->index, other->index);
    default:
        return model->constant;
    }
}

double interference_slowdown(const struct interference *model, const struct co_runner *runners,
                             size_t count, size_t victim)
{
    const struct prepared_runner own = interference_prepare(model, &runners[victim]);
    double slowdown = 1;
    for (size_t i = 0; i < count; i++) {
        if (i == victim)
            continue;
        const struct prepared_runner other = interference_prepare(model, &runners[i]);
        slowdown += excess(model, &own, &other);
    }
    return slowdown;
}
