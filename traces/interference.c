#include "traces/interference.h"

#include <float.h>
#include <math.h>

static double pair_excess(const struct interference *model, const struct co_runner *victim,
                          const struct co_runner *other)
{
    if (victim->index >= model->pair_count || other->index >= model->pair_count)
        return model->constant;
    double excess = model->pairs[victim->index * model->pair_count + other->index];
    return isnan(excess) ? model->constant : excess;
}

struct prepared_runner interference_prepare(const struct interference *model,
                                            const struct co_runner *runner)
{
    struct prepared_runner prepared = {.runner = *runner};
    if (model->kind == INTERFERENCE_BANDWIDTH) {
        prepared.as_victim = model->coefficient * pow(runner->demand, model->victim_exponent);
        prepared.as_other = pow(runner->share, model->share_exponent);
    }
    return prepared;
}

/* A function whose profile gives no demand (NAN) asks nothing of the memory, and so neither suffers
 * nor does harm. */
static inline double bandwidth_excess(const struct prepared_runner *victim,
                                      const struct prepared_runner *other)
{
    double excess = victim->as_victim * other->runner.demand * other->as_other;
    return excess > 0 && excess <= DBL_MAX ? excess : 0;
}

static double excess(const struct interference *model, const struct prepared_runner *victim,
                     const struct prepared_runner *other)
{
    switch (model->kind) {
    case INTERFERENCE_BANDWIDTH:
        return bandwidth_excess(victim, other);
    case INTERFERENCE_PAIRS:
        return pair_excess(model, &victim->runner, &other->runner);
    default:
        return model->constant;
    }
}

double interference_slowdown_prepared(const struct interference *model,
                                      const struct prepared_runner *runners, size_t count,
                                      size_t victim)
{
    double slowdown = 1;
    for (size_t i = 0; i < count; i++)
        if (i != victim)
            slowdown += excess(model, &runners[victim], &runners[i]);
    return slowdown;
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
