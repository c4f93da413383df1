/* Comparison of the requests of a pair of runs: both distributions, their errors and confidence
 * intervals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "results/compare/compare_run.h"
#include "sim/base/arena.h"
#include "sim/engine/random.h"

enum { REPLICATES = 1000, BLOCKS_LEAST = 8 };

static const double probabilities[] = {0.5, 0.9, 0.95, 0.99, 0.999};
enum { PROBABILITIES = sizeof probabilities / sizeof *probabilities };

/* A latency and the block of its request. */
struct sample {
    double ms;
    uint32_t block;
};

/* Sums over a block of requests, from which means are computed. */
enum { REQUESTS, SERVED, HITS, COST, LATENCY, QUEUE, TRANSFER, EXECUTION, SUMS };

/* One side's requests of one application, or of all. */
struct side {
    struct sample *samples; /* the requests that were served, ascending */
    size_t count;
    double (*blocks)[SUMS];
};

static int sample_compare(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    if (a->ms != b->ms)
        return a->ms < b->ms ? -1 : 1;
    return (a->block > b->block) - (a->block < b->block);
}

static void side_add(struct side *side, const struct request_row *row, uint32_t block)
{
    const double latency = sim_to_ms(row->finish_ns - row->arrival_ns);
    double *sums = side->blocks[block];
    sums[REQUESTS]++;
    sums[HITS] += row->hit;
    sums[COST] += row->cost_usd;
    sums[QUEUE] += sim_to_ms(row->queue_ns);
    sums[TRANSFER] += sim_to_ms(row->transfer_ns);
    sums[EXECUTION] += sim_to_ms(row->exec_ns);
    if (row->dropped)
        return;
    sums[SERVED]++;
    sums[LATENCY] += latency;
    side->samples[side->count++] = (struct sample){latency, block};
}

/* ---- Figures --------------------------------------------------------------------------------- */

/* Quantiles of the weighted samples; a sample's weight is the number of times its block was drawn.
 * `served` is the sum of the weights. For the convention see sim/engine/quantile.h. */
static void quantiles_weighed(const struct side *side, const double *drawn, double served,
                              double values[PROBABILITIES])
{
    double before = 0;
    size_t next = 0;
    double last = NAN;
    /* A position between two samples is interpolated linearly between them. */
    for (size_t i = 0; i < side->count && next < PROBABILITIES; i++) {
        const double weight = drawn[side->samples[i].block];
        if (weight == 0)
            continue;
        const double ms = side->samples[i].ms;
        const double after =
            before + weight; /* this sample covers the positions before … after − 1 */
        while (next < PROBABILITIES) {
            const double position = (served - 1) * probabilities[next];
            if (position > after - 1)
                break;
            values[next++] =
                position >= before ? ms : last + (ms - last) * (position - (before - 1));
        }
        before = after;
        last = ms;
    }
    while (next < PROBABILITIES)
        values[next++] = last;
}

static void side_measure(const struct side *side, const double *drawn, size_t blocks,
                         double values[COMPARE_METRICS])
{
    double all[SUMS] = {0};
    for (size_t b = 0; b < blocks; b++)
        for (size_t s = 0; s < SUMS; s++)
            all[s] += drawn[b] * side->blocks[b][s];
    quantiles_weighed(side, drawn, all[SERVED], &values[COMPARE_P50]);
    values[COMPARE_MEAN] = all[LATENCY] / all[SERVED];
    values[COMPARE_QUEUE] = all[QUEUE] / all[REQUESTS];
    values[COMPARE_TRANSFER] = all[TRANSFER] / all[REQUESTS];
    values[COMPARE_EXECUTION] = all[EXECUTION] / all[REQUESTS];
    values[COMPARE_HIT] = all[HITS] / all[REQUESTS];
    values[COMPARE_COST] = all[COST] / all[REQUESTS];
}

static double metric_error(enum compare_metric metric, double simulated, double real)
{
    if (compare_metric(metric)->share)
        return 100 * (simulated - real);
    return real > 0 ? 100 * (simulated - real) / real : NAN;
}

/* ---- Intervals ------------------------------------------------------------------------------- */

/* Draws as many blocks as there are, with replacement. drawn[b] is the number of times block b was
 * drawn. */
static void blocks_draw(uint64_t seed, uint64_t replicate, double *drawn, size_t blocks)
{
    RANDOM_STREAM(stream, seed, RANDOM_BOOTSTRAP, replicate, 0);
    memset(drawn, 0, blocks * sizeof *drawn);
    for (size_t b = 0; b < blocks; b++)
        drawn[gsl_rng_uniform_int(&stream.rng, blocks)]++;
}

/* The 2.5 % and 97.5 % quantiles of the errors over replicates. No interval if some replicate has
 * no error. */
static void interval_fill(double *errors, struct compare_figure *figure)
{
    for (size_t r = 0; r < REPLICATES; r++)
        if (isnan(errors[r]))
            return;
    gsl_sort(errors, 1, REPLICATES);
    figure->low = gsl_stats_quantile_from_sorted_data(errors, 1, REPLICATES, 0.025);
    figure->high = gsl_stats_quantile_from_sorted_data(errors, 1, REPLICATES, 0.975);
}

static void intervals_fill(struct arena *arena, const struct side sides[2], size_t blocks,
                           uint64_t seed, struct compare_part *part, double *drawn)
{
    double *errors = arena_allocate(arena, COMPARE_METRICS * REPLICATES, sizeof *errors);
    for (size_t r = 0; r < REPLICATES; r++) {
        double values[2][COMPARE_METRICS];
        blocks_draw(seed, r, drawn, blocks);
        for (size_t s = 0; s < 2; s++)
            side_measure(&sides[s], drawn, blocks, values[s]);
        for (size_t m = 0; m < COMPARE_METRICS; m++)
            errors[m * REPLICATES + r] =
                metric_error((enum compare_metric)m, values[0][m], values[1][m]);
    }
    for (size_t m = 0; m < COMPARE_METRICS; m++)
        interval_fill(errors + m * REPLICATES, &part->figures[m]);
}

/* Kolmogorov-Smirnov distance: the largest difference of the two empirical distributions. */
static double distance(const struct side sides[2])
{
    size_t at[2] = {0, 0};
    double most = 0;
    while (at[0] < sides[0].count && at[1] < sides[1].count) {
        const double ms = fmin(sides[0].samples[at[0]].ms, sides[1].samples[at[1]].ms);
        for (size_t s = 0; s < 2; s++)
            while (at[s] < sides[s].count && sides[s].samples[at[s]].ms <= ms)
                at[s]++;
        most = fmax(most, fabs((double)at[0] / (double)sides[0].count -
                               (double)at[1] / (double)sides[1].count));
    }
    return most;
}

static void part_figures(struct arena *arena, const struct side sides[2], size_t blocks,
                         uint64_t seed, struct compare_part *part)
{
    double *drawn = arena_allocate(arena, blocks, sizeof *drawn);
    double values[2][COMPARE_METRICS];
    for (size_t b = 0; b < blocks; b++)
        drawn[b] = 1;
    for (size_t s = 0; s < 2; s++)
        side_measure(&sides[s], drawn, blocks, values[s]);
    for (size_t m = 0; m < COMPARE_METRICS; m++)
        part->figures[m] = (struct compare_figure){
            .simulated = values[0][m],
            .real = values[1][m],
            .error = metric_error((enum compare_metric)m, values[0][m], values[1][m]),
            .low = NAN,
            .high = NAN};
    part->distance = distance(sides);
    if (blocks >= BLOCKS_LEAST)
        intervals_fill(arena, sides, blocks, seed, part, drawn);
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* Returns the rows in the order of their numbers; NULL if a number is missing. */
static const struct request_row **requests_by_number(struct arena *arena,
                                                     const struct run_record *record)
{
    const struct request_row **rows = arena_allocate(arena, record->request_count, sizeof *rows);
    for (size_t i = 0; i < record->request_count; i++) {
        const struct request_row *row = &record->requests[i];
        if (row->request >= record->request_count || rows[row->request] != NULL)
            return NULL;
        rows[row->request] = row;
    }
    return rows;
}

static bool requests_same(const struct request_row **const rows[2], size_t count, bool closed,
                          const char *title, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct request_row *a = rows[0][i], *b = rows[1][i];
        if (a->application != b->application || a->measured != b->measured ||
            a->slo_ns != b->slo_ns || (!closed && a->arrival_ns != b->arrival_ns))
            return error_input(error,
                               "%s: request %zu is not the same in both files; replay and simulate "
                               "the same experiment with the same program",
                               title, i);
    }
    return true;
}

void compare_fill_part(struct arena *arena, const struct request_row **const rows[2], size_t count,
                       size_t application, uint64_t seed, struct compare_part *part)
{
    const struct arena_block *mark = arena->blocks;
    struct side sides[2] = {{0}};
    size_t first = 0;
    while (first < count && !rows[0][first]->measured)
        first++;
    const size_t length = 1 + (size_t)sqrt((double)(count - first));
    const size_t blocks = (count - first + length - 1) / length;
    for (size_t s = 0; s < 2; s++) {
        sides[s].samples = arena_allocate(arena, count, sizeof *sides[s].samples);
        sides[s].blocks = arena_allocate(arena, blocks, sizeof *sides[s].blocks);
        for (size_t i = first; i < count; i++)
            if (application == SIZE_MAX || rows[s][i]->application == application)
                side_add(&sides[s], rows[s][i], (uint32_t)((i - first) / length));
        qsort(sides[s].samples, sides[s].count, sizeof *sides[s].samples, sample_compare);
    }
    for (size_t b = 0; b < blocks; b++)
        part->requests += (size_t)sides[0].blocks[b][REQUESTS];
    for (size_t s = 0; s < 2; s++)
        part->dropped[s] = part->requests - sides[s].count;
    part_figures(arena, sides, blocks, seed, part);
    arena_rewind(arena, mark);
}

static bool parts_fill(struct compare_run *run, const struct request_row **const rows[2],
                       size_t count, struct error *error)
{
    const struct workload *workload = &run->outline.workload;
    const size_t parts = workload->application_count == 1 ? 1 : workload->application_count + 1;
    if (!requests_same(rows, count, run->outline.closed, run->title, error))
        return false;
    for (size_t s = 0; s < 2; s++) {
        run->served_ms[s] = arena_allocate(run->arena, count, sizeof *run->served_ms[s]);
        for (size_t i = 0; i < count; i++)
            if (rows[s][i]->measured && !rows[s][i]->dropped)
                run->served_ms[s][run->served[s]++] =
                    sim_to_ms(rows[s][i]->finish_ns - rows[s][i]->arrival_ns);
        gsl_sort(run->served_ms[s], 1, run->served[s]);
    }
    run->parts = arena_allocate(run->arena, parts, sizeof *run->parts);
    run->part_count = parts;
    for (size_t p = 0; p < parts; p++) {
        const bool all = p + 1 == parts;
        run->parts[p].application = all ? NULL : workload->applications[p].name;
        compare_fill_part(run->arena, rows, count, all ? SIZE_MAX : p, run->simulated->seed,
                          &run->parts[p]);
    }
    return true;
}

bool compare_fill_parts(struct compare_run *run, const struct run_record *const sides[2],
                        struct error *error)
{
    const struct request_row **rows[2] = {requests_by_number(run->arena, sides[0]),
                                          requests_by_number(run->arena, sides[1])};
    const size_t count = sides[0]->request_count;
    if (rows[0] == NULL || rows[1] == NULL || count != sides[1]->request_count || count == 0)
        return error_input(error,
                           "%s: the files do not hold the same requests, %zu and %zu; run both "
                           "anew",
                           run->title, count, sides[1]->request_count);
    return parts_fill(run, (const struct request_row **const *)rows, count, error);
}
