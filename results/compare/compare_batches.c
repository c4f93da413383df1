/* Comparison of the batches of a pair of runs: their execution times, and the number of other
 * batches on the same GPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/compare/compare_run.h"
#include "sim/base/arena.h"

/* Batches with the same function, configuration and number of jobs; matched between the two sides.
 */
enum { FUNCTION, BATCH, VCPU, VGPU, CONFIGURED, JOBS = CONFIGURED, KEYS };
struct kind {
    uint32_t keys[KEYS];
};

struct kept {
    struct kind kind;
    uint32_t side;
    double execution_ms, modelled_ms, ratio;
};

static int order(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int orders(const uint32_t *a, const uint32_t *b, size_t count)
{
    int found = 0;
    for (size_t k = 0; found == 0 && k < count; k++)
        found = order(a[k], b[k]);
    return found;
}

static int kept_compare(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;
    const int kinds = orders(a->kind.keys, b->kind.keys, KEYS);
    if (kinds != 0 || a->side != b->side)
        return kinds != 0 ? kinds : order(a->side, b->side);
    return (a->execution_ms > b->execution_ms) - (a->execution_ms < b->execution_ms);
}

/* Returns whether the first `keys` keys are the same. */
static bool kind_alike(const struct kind *a, const struct kind *b, size_t keys)
{
    return memcmp(a->keys, b->keys, keys * sizeof *a->keys) == 0;
}

/* ---- By configuration ------------------------------------------------------------------------ */

static void batches_sum(const struct kept *kept, size_t count, struct compare_batches *batches)
{
    double squares[2] = {0}, ratios[2] = {0};
    for (size_t i = 0; i < count; i++) {
        const uint32_t s = kept[i].side;
        batches->count[s]++;
        batches->jobs[s] += kept[i].kind.keys[JOBS];
        batches->execution_ms[s] += kept[i].execution_ms;
        batches->modelled_ms[s] += kept[i].modelled_ms;
        ratios[s] += kept[i].ratio;
    }
    for (size_t s = 0; s < 2; s++) {
        const double n = (double)batches->count[s];
        batches->execution_ms[s] = n > 0 ? batches->execution_ms[s] / n : NAN;
        batches->modelled_ms[s] = n > 0 ? batches->modelled_ms[s] / n : NAN;
        ratios[s] = n > 0 ? ratios[s] / n : NAN;
    }
    for (size_t i = 0; i < count; i++) {
        const double off = kept[i].ratio - ratios[kept[i].side];
        squares[kept[i].side] += off * off;
    }
    for (size_t s = 0; s < 2; s++)
        batches->ratio_sd[s] =
            batches->count[s] > 1 ? sqrt(squares[s] / (double)(batches->count[s] - 1)) : NAN;
}

static double real_time(const struct compare_batches *batches)
{
    return batches->count[1] > 0 ? (double)batches->count[1] * batches->execution_ms[1] : 0;
}

/* By real time, longest first, then in the order of configurations. */
static int batches_compare(const void *left, const void *right)
{
    const struct compare_batches *a = left, *b = right;
    const double times[] = {real_time(a), real_time(b)};
    if (times[0] != times[1])
        return times[0] > times[1] ? -1 : 1;
    const int named = strcmp(a->function, b->function);
    if (named != 0)
        return named;
    const uint32_t keys[2][3] = {{a->batch, a->vcpu, a->vgpu}, {b->batch, b->vcpu, b->vgpu}};
    return orders(keys[0], keys[1], 3);
}

static void batches_group(struct compare_run *run, const struct kept *kept, size_t count)
{
    run->batches = arena_allocate(run->arena, count, sizeof *run->batches);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && kind_alike(&kept[from].kind, &kept[to].kind, CONFIGURED);)
            to++;
        const uint32_t *keys = kept[from].kind.keys;
        struct compare_batches *batches = &run->batches[run->batch_kinds++];
        *batches = (struct compare_batches){
            .function = run->outline.workload.functions[keys[FUNCTION]].name,
            .batch = keys[BATCH],
            .vcpu = keys[VCPU],
            .vgpu = keys[VGPU]};
        batches_sum(kept + from, to - from, batches);
    }
    qsort(run->batches, run->batch_kinds, sizeof *run->batches, batches_compare);
}

/* Difference in mean execution per job that is due to the times of batches of the same kind. Kinds
 * are weighted by their real frequency. Only kinds present on both sides count. */
static void difference_fill(struct compare_run *run, const struct kept *kept, size_t count)
{
    double jobs[2] = {0}, time = 0;
    for (size_t i = 0; i < count; i++) {
        jobs[kept[i].side] += kept[i].kind.keys[JOBS];
        run->execution_ms[kept[i].side] += kept[i].kind.keys[JOBS] * kept[i].execution_ms;
    }
    for (size_t from = 0, to; from < count; from = to) {
        double sums[2] = {0}, counts[2] = {0};
        for (to = from; to < count && kind_alike(&kept[from].kind, &kept[to].kind, KEYS); to++) {
            counts[kept[to].side]++;
            sums[kept[to].side] += kept[to].execution_ms;
        }
        if (counts[0] > 0 && counts[1] > 0)
            time += counts[1] * kept[from].kind.keys[JOBS] *
                    (sums[0] / counts[0] - sums[1] / counts[1]);
    }
    for (size_t s = 0; s < 2; s++)
        run->execution_ms[s] = jobs[s] > 0 ? run->execution_ms[s] / jobs[s] : NAN;
    run->time_difference_ms = jobs[1] > 0 ? time / jobs[1] : NAN;
}

/* ---- By number of co-runners ----------------------------------------------------------------- */

/* A batch starts or ends on its GPU. */
struct edge {
    sim_time_t time;
    uint32_t gpu;
    uint32_t batch; /* index of its row */
    bool comes;
};

static int edge_compare(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->gpu != b->gpu)
        return order(a->gpu, b->gpu);
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->comes != b->comes)
        return a->comes ? 1 : -1;
    return order(a->batch, b->batch);
}

/* shared[i] is the integral over time of the number of other batches on batch i's GPU during its
 * execution. It is the difference, between end and start, of the integral of all batches on that
 * GPU, minus the batch itself. */
static double *company_integrate(struct arena *arena, const struct batch_row *rows, size_t count)
{
    double *shared = arena_allocate(arena, count, sizeof *shared);
    struct edge *edges = arena_allocate(arena, 2 * count, sizeof *edges);
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].gpu != SIM_NONE) {
            edges[used++] = (struct edge){rows[i].started_ns, rows[i].gpu, (uint32_t)i, true};
            edges[used++] = (struct edge){rows[i].finished_ns, rows[i].gpu, (uint32_t)i, false};
        }
    qsort(edges, used, sizeof *edges, edge_compare);
    double area = 0, executing = 0;
    for (size_t e = 0; e < used; e++) {
        if (e > 0 && edges[e].gpu != edges[e - 1].gpu)
            area = executing = 0;
        else if (e > 0)
            area += executing * (double)(edges[e].time - edges[e - 1].time);
        shared[edges[e].batch] += edges[e].comes ? -area : area;
        executing += edges[e].comes ? 1 : -1;
    }
    return shared;
}

enum { COMPANY_MOST = 100 };

static uint32_t company_others(const struct batch_row *row, double shared)
{
    const double time = (double)(row->finished_ns - row->started_ns);
    return time > 0 ? (uint32_t)lround(fmin(fmax(shared / time - 1, 0), COMPANY_MOST - 1)) : 0;
}

static void company_fill(struct compare_run *run, const struct run_record *const sides[2])
{
    struct compare_company all[COMPANY_MOST] = {{0}};
    for (size_t s = 0; s < 2; s++) {
        const struct batch_row *rows = sides[s]->batches;
        const struct arena_block *mark = run->arena->blocks;
        const double *shared = company_integrate(run->arena, rows, sides[s]->batch_count);
        for (size_t i = 0; i < sides[s]->batch_count; i++) {
            if (rows[i].gpu == SIM_NONE)
                continue;
            const uint32_t others = company_others(&rows[i], shared[i]);
            all[others].count[s]++;
            all[others].slowdown[s] += rows[i].slowdown;
        }
        arena_rewind(run->arena, mark);
    }
    run->company = arena_allocate(run->arena, COMPANY_MOST, sizeof *run->company);
    for (uint32_t others = 0; others < COMPANY_MOST; others++) {
        struct compare_company *company = &all[others];
        if (company->count[0] + company->count[1] == 0)
            continue;
        company->others = others;
        for (size_t s = 0; s < 2; s++)
            company->slowdown[s] =
                company->count[s] > 0 ? company->slowdown[s] / (double)company->count[s] : NAN;
        run->company[run->company_count++] = *company;
    }
}

/* ---- Both ------------------------------------------------------------------------------------ */

/* Collects the batches of both sides, sorted by kind and side. */
static struct kept *kept_collect(struct arena *arena, const struct workload *workload,
                                 const struct run_record *const sides[2], size_t *count)
{
    const size_t all = sides[0]->batch_count + sides[1]->batch_count;
    struct kept *kept = arena_allocate(arena, all, sizeof *kept);
    *count = 0;
    for (uint32_t s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s]->batch_count; i++) {
            const struct batch_row *row = &sides[s]->batches[i];
            if (row->application >= workload->application_count ||
                row->stage >= workload->applications[row->application].stage_count)
                continue;
            const double ms = sim_to_ms(row->finished_ns - row->started_ns);
            kept[(*count)++] = (struct kept){
                .kind = {{workload->applications[row->application].stages[row->stage].function,
                          row->configured_batch, row->vcpu, row->vgpu, row->jobs}},
                .side = s,
                .execution_ms = ms,
                .modelled_ms = row->slowdown > 0 ? ms / row->slowdown : 0,
                .ratio = row->slowdown};
        }
    qsort(kept, *count, sizeof *kept, kept_compare);
    return kept;
}

void compare_fill_batches(struct compare_run *run, const struct run_record *const sides[2])
{
    size_t count = 0;
    struct kept *kept = kept_collect(run->arena, &run->outline.workload, sides, &count);
    batches_group(run, kept, count);
    company_fill(run, sides);
    difference_fill(run, kept, count);
    arena_release(run->arena, kept);
}
