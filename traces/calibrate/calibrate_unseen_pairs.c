#include "traces/calibrate/calibrate_unseen_pairs.h"

#include <math.h>
#include <string.h>

#include "traces/profile/pair_effects.h"

const char *const unseen_level_names[UNSEEN_LEVELS] = {"one for all", "by function"};

/* Cells by victim and co-runner. Only pairs with both sides are in the table. */
struct levels {
    size_t functions, cells;
    double *level;  /* mean slowdown; NAN: not measured */
    double *weight; /* number of samples */
    double *known, *found;
};

static void add_sample(struct levels *levels, const struct co_run *victim,
                       const struct co_run *other)
{
    const size_t cell = victim->function * levels->functions + other->function;
    const double before = levels->weight[cell] == 0 ? 0 : levels->level[cell];
    levels->weight[cell]++;
    levels->level[cell] = before + (victim->slowdown - before) / levels->weight[cell];
}

static void collect(const struct sample_set *set, struct arena *arena, struct levels *levels)
{
    const size_t cells = set->functions.count * set->functions.count;
    *levels = (struct levels){.functions = set->functions.count,
                              .cells = cells,
                              .level = arena_allocate(arena, 4 * cells, sizeof *levels->level)};
    levels->weight = levels->level + cells;
    levels->known = levels->weight + cells;
    levels->found = levels->known + cells;
    for (size_t i = 0; i < cells; i++)
        levels->level[i] = NAN;
    for (size_t i = 0; i < set->co_run_count; i++) {
        const struct co_run *run = &set->co_runs[i], *other = samples_partner(set, i);
        if (other != NULL && run->function != other->function && !isnan(run->slowdown) &&
            !isnan(other->slowdown))
            add_sample(levels, run, other);
    }
}

/* Sum of the errors of one level for both sides of the pair of `cell`, or of what was found. */
static double pair_error(const struct levels *levels, size_t cell, const double *one)
{
    const size_t n = levels->functions, sides[] = {cell, cell % n * n + cell / n};
    double sum = 0;
    for (size_t i = 0; i < 2; i++) {
        const double level = one != NULL ? *one : levels->found[sides[i]];
        sum += levels->weight[sides[i]] * fabs(fmax(1, level) / levels->level[sides[i]] - 1);
    }
    return sum;
}

/* Finds the levels by function, without a pair if `out` is one of its cells. */
static bool find_levels(const struct levels *levels, size_t out)
{
    const size_t n = levels->functions;
    memcpy(levels->known, levels->level, levels->cells * sizeof *levels->known);
    if (out < levels->cells)
        levels->known[out] = levels->known[out % n * n + out / n] = NAN;
    return pair_effects_fit(levels->known, n, PAIR_EFFECTS_STRENGTH, levels->found);
}

/* Whether the cell is the one by which a measured pair is visited. */
static bool is_visited(const struct levels *levels, size_t cell)
{
    return cell / levels->functions < cell % levels->functions && levels->weight[cell] > 0;
}

/* Error of one level at all pairs. */
static double error_of_one(const struct levels *levels, double level)
{
    double sum = 0;
    for (size_t cell = 0; cell < levels->cells; cell++)
        if (is_visited(levels, cell))
            sum += pair_error(levels, cell, &level);
    return sum;
}

static bool measure_errors(const struct levels *levels, double mean, struct unseen_pairs *unseen)
{
    const double sides = 2 * (double)unseen->pairs;
    double samples = 0;
    unseen->seen[UNSEEN_ONE] = INFINITY;
    for (size_t cell = 0; cell < levels->cells; cell++) {
        if (levels->weight[cell] == 0)
            continue;
        /* The error is convex and piecewise linear, so its minimum is at the level of one side. */
        samples += levels->weight[cell];
        unseen->seen[UNSEEN_ONE] =
            fmin(unseen->seen[UNSEEN_ONE], error_of_one(levels, levels->level[cell]));
        if (!is_visited(levels, cell))
            continue;
        const size_t n = levels->functions, other = cell % n * n + cell / n;
        const double others =
            (sides * mean - levels->level[cell] - levels->level[other]) / (sides - 2);
        unseen->left_out[UNSEEN_ONE] += pair_error(levels, cell, &others);
        if (!find_levels(levels, SIZE_MAX))
            return false;
        unseen->seen[UNSEEN_FUNCTIONS] += pair_error(levels, cell, NULL);
        if (!find_levels(levels, cell))
            return false;
        unseen->left_out[UNSEEN_FUNCTIONS] += pair_error(levels, cell, NULL);
    }
    for (int i = 0; i < UNSEEN_LEVELS; i++) {
        unseen->seen[i] /= samples;
        unseen->left_out[i] /= samples;
    }
    return true;
}

bool unseen_pairs_measure(const struct sample_set *set, struct arena *arena,
                          struct unseen_pairs *unseen, struct error *error)
{
    struct levels levels;
    double mean = 0;
    size_t sides = 0;
    *unseen = (struct unseen_pairs){0};
    collect(set, arena, &levels);
    for (size_t cell = 0; cell < levels.cells; cell++)
        if (levels.weight[cell] > 0)
            mean += (levels.level[cell] - mean) / (double)++sides;
    if (sides < 6)
        return true;
    unseen->pairs = sides / 2;
    return measure_errors(&levels, mean, unseen) ||
           error_run(error, "a fit of %zu pairs failed", unseen->pairs);
}
