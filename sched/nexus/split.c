#include "sched/nexus/split.h"

#include <math.h>
#include <string.h>

#include "sched/common/slo.h"

/* Table of the recursion. Each row is a stage, or a level of stages. */
struct table {
    size_t width;       /* steps + 1 */
    const double *cost; /* rows × width */
    double *best;       /* f(row, t) */
    uint16_t *own;      /* the row's own budget at that time */
};

static bool is_tree(const struct application *application, bool towards_leaves)
{
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        if ((towards_leaves ? stage->after_count : stage->next_count) > 1)
            return false;
    }
    return true;
}

static size_t child_count(const struct stage *stage, bool towards_leaves)
{
    return towards_leaves ? stage->next_count : stage->after_count;
}

/* Computes f of one row; `below` contains the sum of its successors' f for each time. */
static void row_fill(struct table *table, size_t row, const double *below, uint64_t *work)
{
    const double *cost = &table->cost[row * table->width];
    for (size_t t = 0; t < table->width; t++) {
        double least = (double)INFINITY;
        size_t own = 0;
        for (size_t k = 0; k <= t; k++) {
            const double sum = cost[k] + below[t - k];
            if (sum < least) {
                least = sum;
                own = k;
            }
        }
        *work += t + 1;
        table->best[row * table->width + t] = least;
        table->own[row * table->width + t] = (uint16_t)own;
    }
}

static void tree_fill(struct table *table, const struct application *application,
                      bool towards_leaves, double *below, uint64_t *work)
{
    const size_t count = application->stage_count;
    for (size_t i = 0; i < count; i++) {
        const size_t s = towards_leaves ? count - 1 - i : i;
        const struct stage *stage = &application->stages[s];
        memset(below, 0, table->width * sizeof *below);
        for (size_t c = 0; c < child_count(stage, towards_leaves); c++) {
            const size_t child = towards_leaves ? stage->next[c] : stage->after[c];
            for (size_t t = 0; t < table->width; t++)
                below[t] += table->best[child * table->width + t];
        }
        row_fill(table, s, below, work);
    }
}

/* Reads the result down the tree; each root has all the time. Returns the sum over the roots. */
static double tree_read(const struct table *table, const struct application *application,
                        bool towards_leaves, double *least)
{
    const size_t count = application->stage_count;
    size_t left[WORKLOAD_MAX_STAGES];
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t s = towards_leaves ? i : count - 1 - i;
        const struct stage *stage = &application->stages[s];
        size_t time = table->width - 1;
        if (child_count(stage, !towards_leaves) > 0)
            time = left[towards_leaves ? stage->after[0] : stage->next[0]];
        else
            total += table->best[s * table->width + time];
        const size_t own = table->own[s * table->width + time];
        least[s] = (double)own;
        left[s] = time - own;
    }
    return total;
}

static size_t levels_of(const struct application *application, size_t *level)
{
    size_t count = 0;
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        level[s] = 0;
        for (size_t i = 0; i < stage->after_count; i++)
            if (level[stage->after[i]] + 1 > level[s])
                level[s] = level[stage->after[i]] + 1;
        count = level[s] + 1 > count ? level[s] + 1 : count;
    }
    return count;
}

/* Splits a chain of levels; `sums` has room for their costs. */
static double levels_split(struct table *table, const struct application *application, double *sums,
                           double *below, double *least, uint64_t *work)
{
    size_t level[WORKLOAD_MAX_STAGES];
    const size_t width = table->width;
    const size_t count = levels_of(application, level);
    memset(sums, 0, count * width * sizeof *sums);
    for (size_t s = 0; s < application->stage_count; s++)
        for (size_t k = 0; k < width; k++)
            sums[level[s] * width + k] += table->cost[s * width + k];
    table->cost = sums;
    memset(below, 0, width * sizeof *below);
    for (size_t l = count; l-- > 0;) {
        row_fill(table, l, below, work);
        memcpy(below, &table->best[l * width], width * sizeof *below);
    }
    size_t own[WORKLOAD_MAX_STAGES] = {0};
    size_t left = width - 1;
    for (size_t l = 0; l < count; l++) {
        own[l] = table->own[l * width + left];
        left -= own[l];
    }
    for (size_t s = 0; s < application->stage_count; s++)
        least[s] = (double)own[level[s]];
    return table->best[width - 1];
}

/* Divides each stage's least budget by the longest path of least budgets through it. */
static void stretch(const struct application *application, const double *least, double *share)
{
    double before[WORKLOAD_MAX_STAGES], after[WORKLOAD_MAX_STAGES];
    slo_paths(application, least, before, after);
    for (size_t s = 0; s < application->stage_count; s++) {
        const double path = before[s] + least[s] + after[s];
        share[s] = path > 0 ? least[s] / path : 1 / (double)application->stage_count;
    }
}

void split_budgets(struct arena *arena, const struct application *application, const double *cost,
                   size_t steps, double *share, double *total, uint64_t *work)
{
    const size_t count = application->stage_count;
    const size_t cells = count * (steps + 1);
    double least[WORKLOAD_MAX_STAGES];
    struct table table = {.width = steps + 1, .cost = cost};
    double *room = arena_allocate(arena, 2 * cells + steps + 1, sizeof *room);
    table.own = arena_allocate(arena, cells, sizeof *table.own);
    table.best = room;
    double *sums = room + cells;
    double *below = sums + cells;
    if (is_tree(application, true) || is_tree(application, false)) {
        const bool towards_leaves = is_tree(application, true);
        tree_fill(&table, application, towards_leaves, below, work);
        *total = tree_read(&table, application, towards_leaves, least);
    } else {
        *total = levels_split(&table, application, sums, below, least, work);
    }
    if (isfinite(*total))
        stretch(application, least, share);
    arena_release(arena, room);
    arena_release(arena, table.own);
}
