#include "traces/interference.h"

#include <float.h>
#include <math.h>

static double pair_excess(const struct interference *model, uint32_t victim, uint32_t other)
{
    if (victim >= model->pair_count || other >= model->pair_count)
        return model->constant;
    double excess = model->pairs[victim * model->pair_count + other];
    return isnan(excess) ? model->constant : excess;
}

struct prepared_runner interference_prepare(const struct interference *model,
                                            const struct co_runner *runner)
{
    struct prepared_runner prepared = {.demand = runner->demand, .index = runner->index};
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
    double excess = victim->as_victim * other->demand * other->as_other;
    return excess > 0 && excess <= DBL_MAX ? excess : 0;
}

static inline double excess(const struct interference *model, enum interference_kind kind,
                            const struct prepared_runner *victim,
                            const struct prepared_runner *other)
{
    switch (kind) {
    case INTERFERENCE_BANDWIDTH:
        return bandwidth_excess(victim, other);
    case INTERFERENCE_PAIRS:
        return pair_excess(model, victim->index, other->index);
    default:
        return model->constant;
    }
}

/* Inline, for a `kind` that is known where it is called. The sums grow side by side, as they do not
 * wait for one another, each in the order of the others. */
static inline void sum_excesses(const struct interference *model, enum interference_kind kind,
                                const struct prepared_runner *runners, size_t count,
                                double *slowdowns)
{
    for (size_t victim = 0; victim < count; victim++)
        slowdowns[victim] = 1;
    for (size_t other = 0; other < count; other++) {
        for (size_t victim = 0; victim < other; victim++)
            slowdowns[victim] += excess(model, kind, &runners[victim], &runners[other]);
        for (size_t victim = other + 1; victim < count; victim++)
            slowdowns[victim] += excess(model, kind, &runners[victim], &runners[other]);
    }
}

void interference_slowdowns(const struct interference *model, const struct prepared_runner *runners,
                            size_t count, double *slowdowns)
{
    switch (model->kind) {
    case INTERFERENCE_BANDWIDTH:
        sum_excesses(model, INTERFERENCE_BANDWIDTH, runners, count, slowdowns);
        break;
    case INTERFERENCE_PAIRS:
        sum_excesses(model, INTERFERENCE_PAIRS, runners, count, slowdowns);
        break;
    default:
        sum_excesses(model, INTERFERENCE_CONSTANT, runners, count, slowdowns);
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
        slowdown += excess(model, model->kind, &own, &other);
    }
    return slowdown;
}
