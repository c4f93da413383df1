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
 * nor does harm. The victim's own factor is the same for all co-runners. */
static double bandwidth_slowdown(const struct interference *model, const struct co_runner *runners,
                                 size_t count, size_t victim)
{
    if (count < 2)
        return 1;
    double own = model->coefficient * pow(runners[victim].demand, model->victim_exponent);
    double slowdown = 1;
    for (size_t i = 0; i < count; i++) {
        if (i == victim)
            continue;
        double excess = own * runners[i].demand * pow(runners[i].share, model->share_exponent);
        slowdown += excess > 0 && isfinite(excess) ? excess : 0;
    }
    return slowdown;
}

double interference_slowdown(const struct interference *model, const struct co_runner *runners,
                             size_t count, size_t victim)
{
    if (model->kind == INTERFERENCE_BANDWIDTH)
        return bandwidth_slowdown(model, runners, count, victim);
    double slowdown = 1;
    for (size_t i = 0; i < count; i++)
        if (i != victim)
            slowdown += model->kind == INTERFERENCE_PAIRS
                            ? pair_excess(model, &runners[victim], &runners[i])
                            : model->constant;
    return slowdown;
}
