#include "traces/profile/interference.h"

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

const char *const interference_number_keys[INTERFERENCE_NUMBERS + 1] = {
    "batch",        "share",       "victim_batch",
    "victim_share", "victim_both", "other_batch",
    "other_share",  "other_both",  NULL};

void interference_terms(const struct interference *model, double batch, double share,
                        double terms[INTERFERENCE_TERMS])
{
    terms[0] = batch > 0 ? log(batch / model->shape[INTERFERENCE_BATCH]) : 0;
    terms[1] = log(share / model->shape[INTERFERENCE_SHARE]);
    terms[2] = terms[0] * terms[1];
}

static double shape_factor(const double slopes[INTERFERENCE_TERMS],
                           const double terms[INTERFERENCE_TERMS])
{
    return usable(exp(slopes[0] * terms[0] + slopes[1] * terms[1] + slopes[2] * terms[2]));
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
    } else if (model->kind == INTERFERENCE_SHAPED) {
        double terms[INTERFERENCE_TERMS];
        interference_terms(model, runner->batch, runner->share, terms);
        prepared.as_victim = shape_factor(model->shape + INTERFERENCE_VICTIM_SLOPES, terms);
        prepared.as_other = shape_factor(model->shape + INTERFERENCE_OTHER_SLOPES, terms);
    }
    return prepared;
}

/* What `other` adds to the slowdown of `victim` under a model of this kind. */
static inline double excess(const struct interference *model, enum interference_kind kind,
                            const struct prepared_runner *victim,
                            const struct prepared_runner *other)
{
    switch (kind) {
    case INTERFERENCE_BANDWIDTH:
        return victim->as_victim * other->demand * other->as_other;
    case INTERFERENCE_PAIRS:
        return pair_excess(model, victim->index, other->index);
    case INTERFERENCE_SHAPED:
        return pair_excess(model, victim->index, other->index) * victim->as_victim *
               other->as_other;
    default:
        return model->constant;
    }
}

const struct context_pool *interference_pool(const struct interference *model, uint32_t contexts,
                                             uint32_t units)
{
    for (size_t i = 0; i < model->pool_count; i++)
        if (model->pools[i].contexts == contexts && model->pools[i].units == units)
            return &model->pools[i];
    return NULL;
}

double interference_contexts(const struct context_pool *pool, uint32_t busy, uint32_t networks)
{
    const struct context_rate *last = &pool->together[pool->rate_count - 1], *to = pool->together;
    double per_s = to->per_s;
    if (busy < 2)
        return 1;
    while (to < last && to->networks < networks)
        to++;
    if (to > pool->together)
        per_s = to[-1].per_s +
                (to->per_s - to[-1].per_s) *
                    fmin(1, (networks - to[-1].networks) / (to->networks - to[-1].networks));
    return fmax(1, busy * 1e3 / (per_s * pool->alone_ms));
}

double interference_excess(const struct interference *model, const struct prepared_runner *victim,
                           const struct prepared_runner *other)
{
    return excess(model, model->kind, victim, other);
}

static inline void slowdowns_fill(const struct interference *model, enum interference_kind kind,
                                  const struct prepared_runner *runners, size_t count,
                                  double *slowdowns)
{
    for (size_t victim = 0; victim < count; victim++) {
        double slowdown = 1;
        for (size_t other = 0; other < count; other++)
            if (other != victim)
                slowdown += excess(model, kind, &runners[victim], &runners[other]);
        slowdowns[victim] = slowdown;
    }
}

/* The frequent model has a loop of its own, which does not ask for the kind at each pair. */
void interference_slowdowns(const struct interference *model, const struct prepared_runner *runners,
                            size_t count, double *slowdowns)
{
    if (model->kind == INTERFERENCE_BANDWIDTH)
        slowdowns_fill(model, INTERFERENCE_BANDWIDTH, runners, count, slowdowns);
    else
        slowdowns_fill(model, model->kind, runners, count, slowdowns);
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
