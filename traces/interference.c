#include "traces/interference.h"

#include <math.h>

static double pair_excess(const struct interference *model, const struct co_runner *victim,
                          const struct co_runner *other)
{
    if (victim->index >= model->pair_count || other->index >= model->pair_count)
        return model->constant;
    double excess = model->pairs[victim->index * model->pair_count + other->index];
    return isnan(excess) ? model->constant : excess;
}

/* A function whose profile gives no demand (NAN) asks nothing of the memory, and so neither suffers
 * nor does harm. */
static double bandwidth_excess(const struct interference *model, const struct co_runner *victim,
                               const struct co_runner *other)
{
    double excess = model->coefficient * pow(victim->demand, model->victim_exponent) *
                    other->demand * pow(other->share, model->share_exponent);
    return excess > 0 && isfinite(excess) ? excess : 0;
}

static double excess_of(const struct interference *model, const struct co_runner *victim,
                        const struct co_runner *other)
{
    switch (model->kind) {
    case INTERFERENCE_CONSTANT:
        return model->constant;
    case INTERFERENCE_PAIRS:
        return pair_excess(model, victim, other);
    case INTERFERENCE_BANDWIDTH:
        return bandwidth_excess(model, victim, other);
    }
    return 0;
}

double interference_slowdown(const struct interference *model, const struct co_runner *runners,
                             size_t count, size_t victim)
{
    double slowdown = 1;
    for (size_t i = 0; i < count; i++)
        if (i != victim)
            slowdown += excess_of(model, &runners[victim], &runners[i]);
    return slowdown;
}
