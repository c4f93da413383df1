#include "sched/dilu/placement.h"

enum { CLASS_ACTIVE, CLASS_UNUSED, CLASSES };

/* Tolerance for rounding in sums of shares. */
static const double EPSILON = 1e-9;

/* By omega, gamma and memory. */
static bool dilu_feasible(const struct dilu_rule *rule, const struct dilu_gpu *gpu,
                          const struct dilu_need *need)
{
    return gpu->kind == need->kind &&
           gpu->request + need->request <= rule->omega * gpu->units + EPSILON &&
           gpu->limit + need->limit <= rule->gamma * gpu->units + EPSILON &&
           gpu->used_mb + need->memory_mb <= gpu->memory_mb + EPSILON;
}

/* Lower is better. */
static double dilu_score(const struct dilu_rule *rule, const struct dilu_gpu *gpu,
                         const struct dilu_need *need)
{
    return rule->alpha * (1 - (gpu->request + need->request) / gpu->units) +
           rule->beta * (1 - (gpu->used_mb + need->memory_mb) / gpu->memory_mb);
}

struct best {
    size_t gpu;
    double score;
    bool warm;
};

static void consider(const struct dilu_admitter *admitter, size_t gpu, double score,
                     struct best *best)
{
    const bool found = best->gpu != DILU_NOWHERE;
    if (found && (score > best->score || (score >= best->score && best->warm)))
        return;
    const enum dilu_admission admission = admitter->ask(admitter->context, gpu);
    const bool better = !found || score < best->score || admission == DILU_WARM;
    if (admission != DILU_REFUSED && better)
        *best = (struct best){gpu, score, admission == DILU_WARM};
}

size_t dilu_place(const struct dilu_rule *rule, const struct dilu_gpu *gpus, size_t count,
                  const struct dilu_need *need, const struct dilu_admitter *admitter)
{
    struct best best[CLASSES];
    for (size_t c = 0; c < CLASSES; c++)
        best[c] = (struct best){.gpu = DILU_NOWHERE};
    for (size_t g = 0; g < count; g++) {
        const size_t class = gpus[g].instances > 0 ? CLASS_ACTIVE : CLASS_UNUSED;
        const bool earlier = class == CLASS_UNUSED && best[CLASS_ACTIVE].gpu != DILU_NOWHERE;
        if (!earlier && dilu_feasible(rule, &gpus[g], need))
            consider(admitter, g, dilu_score(rule, &gpus[g], need), &best[class]);
    }
    for (size_t c = 0; c < CLASSES; c++)
        if (best[c].gpu != DILU_NOWHERE)
            return best[c].gpu;
    return DILU_NOWHERE;
}
