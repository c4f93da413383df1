#include "sched/common/capacity_bound.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_heapsort.h>
#include <gsl/gsl_sort.h>

#include "sched/common/fluid.h"
#include "sched/common/kinds.h"

/* Times are rounded to nanoseconds, and sums of doubles have errors. */
static const double rounding = 1e-6;

/* Mixture i counts i / (MIXTURES − 1) of the cluster's GPUs and the rest of its vCPUs. */
enum { MIXTURES = 5, MATES_MAX = 32, MULTIPLIER_STEPS = 40, OPTIONS_MAX = 128 };

struct entry {
    sim_time_t arrival, deadline;
    uint32_t application;
    uint32_t mates;        /* m(r) */
    double own[MIXTURES];  /* work of the stages that have the request's own noise */
    double work[MIXTURES]; /* w(r); INFINITY: no hit */
};

/* What is known of an application. */
struct class
{
    double least_noise[WORKLOAD_MAX_STAGES];
    sim_time_t slo;                           /* of all its measured requests; else SIM_FOREVER */
    uint32_t batch_most;                      /* at most MATES_MAX, which means: any number */
    uint32_t stage_most[WORKLOAD_MAX_STAGES]; /* hits in a batch of the stage; also capped so */
    bool known[MATES_MAX + 1];                /* by m: `work` is computed */
    double work[MATES_MAX + 1][MIXTURES];     /* by m: a lower bound with the least noise */
    double shared[MATES_MAX + 1][MIXTURES];   /* by m: the part of stages without own noise */
};

struct capacity_bound {
    struct arena *arena;
    const struct workload *workload;
    double *units;   /* by kind of GPU: of the cluster; the next two are in its memory */
    double *weights; /* by kind: of its units in a mixture; the sum is 1 */
    double vcpus;    /* of the cluster */
    double *alone;   /* by function and mixture: its least work, if it has no batches; else 0 */
    struct class *classes;
    size_t **by_time;      /* by function: its configurations in ascending nominal time */
    struct entry *entries; /* measured requests */
    size_t count;
    bool too_many;
};

static const struct function *stage_function(const struct capacity_bound *bound,
                                             const struct application *application, size_t stage)
{
    return &bound->workload->functions[application->stages[stage].function];
}

/* The configurations of each kind of GPU are sorted by batch. */
static uint32_t batch_largest(const struct capacity_bound *bound, const struct function *function)
{
    uint32_t largest = 0;
    for (size_t k = 0; k < bound->workload->kind_count; k++) {
        const struct function_gpu *gpu = &function->gpus[k];
        if (gpu->count > 0 && function->configurations[gpu->first + gpu->count - 1].batch > largest)
            largest = function->configurations[gpu->first + gpu->count - 1].batch;
    }
    return largest;
}

/* Share of the cluster that the configuration holds. Work is this share × time, per unit of noise
 * and hit. */
static double configuration_work(const struct capacity_bound *bound,
                                 const struct function *function, const struct configuration *c,
                                 uint32_t most, int mixture)
{
    const double part = (double)mixture / (MIXTURES - 1);
    const uint32_t hits = most < MATES_MAX && most < c->batch ? most : c->batch;
    const double units = bound->units[c->kind] > 0
                             ? part * bound->weights[c->kind] * c->vgpu / bound->units[c->kind]
                             : 0;
    const double vcpus = (1 - part) * c->vcpu / bound->vcpus;
    return (units + vcpus) * kinds_time(bound->workload, function, c) / hits;
}

static double least_work(const struct capacity_bound *bound, const struct function *function,
                         uint32_t most, int mixture)
{
    double least = INFINITY;
    for (size_t k = 0; k < function->configuration_count; k++)
        least = fmin(least, configuration_work(bound, function, &function->configurations[k], most,
                                               mixture));
    return least;
}

static void alone_fill(struct capacity_bound *bound)
{
    for (size_t f = 0; f < bound->workload->function_count; f++) {
        const struct function *function = &bound->workload->functions[f];
        for (int m = 0; m < MIXTURES && batch_largest(bound, function) == 1; m++)
            bound->alone[f * MIXTURES + (size_t)m] = least_work(bound, function, 1, m);
    }
}

/* The shortest time of a batch of at least `jobs` on any kind of GPU; INFINITY: none. */
static double fastest_time(const struct capacity_bound *bound, const struct function *function,
                           uint32_t jobs)
{
    double fastest = INFINITY;
    for (size_t k = 0; k < function->configuration_count; k++)
        if (function->configurations[k].batch >= jobs)
            fastest =
                fmin(fastest, kinds_time(bound->workload, function, &function->configurations[k]));
    return fastest;
}

static int compare_times(const void *a, const void *b)
{
    const sim_time_t left = ((const struct configuration *)a)->time;
    const sim_time_t right = ((const struct configuration *)b)->time;
    return (left > right) - (left < right);
}

static void by_time_sort(struct capacity_bound *bound)
{
    const struct workload *workload = bound->workload;
    bound->by_time = arena_allocate(bound->arena, workload->function_count, sizeof *bound->by_time);
    for (size_t f = 0; f < workload->function_count; f++) {
        const struct function *function = &workload->functions[f];
        bound->by_time[f] =
            arena_allocate(bound->arena, function->configuration_count, sizeof **bound->by_time);
        gsl_heapsort_index(bound->by_time[f], function->configurations,
                           function->configuration_count, sizeof *function->configurations,
                           compare_times);
    }
}

struct capacity_bound *capacity_bound_create(struct arena *arena, const struct workload *workload)
{
    const size_t kinds = workload->kind_count;
    struct capacity_bound *bound = arena_allocate(arena, 1, sizeof *bound);
    bound->arena = arena;
    bound->workload = workload;
    bound->classes = arena_allocate(arena, workload->application_count, sizeof *bound->classes);
    bound->units =
        arena_allocate(arena, 2 * kinds + workload->function_count * MIXTURES, sizeof(double));
    by_time_sort(bound);
    for (size_t i = 0; i < workload->cluster.group_count; i++)
        bound->vcpus +=
            (double)workload->cluster.groups[i].vcpus * workload->cluster.groups[i].count;
    bound->weights = bound->units + kinds;
    bound->alone = bound->weights + kinds;
    kinds_weights(workload, bound->units, bound->weights);
    alone_fill(bound);
    for (size_t a = 0; a < workload->application_count; a++) {
        struct class *class = &bound->classes[a];
        for (size_t s = 0; s < workload->applications[a].stage_count; s++) {
            const uint32_t batch =
                batch_largest(bound, stage_function(bound, &workload->applications[a], s));
            if (batch > class->batch_most)
                class->batch_most = batch < MATES_MAX ? batch : MATES_MAX;
            class->least_noise[s] = INFINITY;
        }
    }
    return bound;
}

/* ---- Requests -------------------------------------------------------------------------------- */

void capacity_bound_add(struct capacity_bound *bound, uint32_t application, sim_time_t arrival,
                        sim_time_t slo, const double *noise, bool measured)
{
    const struct application *spec = &bound->workload->applications[application];
    struct class *class = &bound->classes[application];
    struct entry entry = {
        .arrival = arrival, .deadline = arrival + slo, .application = application};
    for (size_t s = 0; s < spec->stage_count; s++)
        class->least_noise[s] = fmin(class->least_noise[s], noise[s]);
    if (!measured || bound->too_many)
        return;
    bound->too_many = bound->count == CAPACITY_BOUND_REQUESTS;
    if (bound->too_many)
        return;
    arena_reserve(bound->arena, &bound->entries, bound->count + 1, sizeof entry);
    for (size_t s = 0; s < spec->stage_count; s++) {
        const double *alone = &bound->alone[spec->stages[s].function * MIXTURES];
        for (int m = 0; m < MIXTURES && alone[1] > 0; m++)
            entry.own[m] += alone[m] * noise[s];
    }
    class->slo = class->slo == 0 || class->slo == slo ? slo : SIM_FOREVER;
    bound->entries[bound->count++] = entry;
}

/* ---- The most hits in one batch -------------------------------------------------------------- */

static int compare_arrivals(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    if (left->arrival != right->arrival)
        return left->arrival < right->arrival ? -1 : 1;
    return (left->deadline > right->deadline) - (left->deadline < right->deadline);
}

static int compare_applications(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    const int order =
        (left->application > right->application) - (left->application < right->application);
    return order != 0 ? order : compare_arrivals(a, b);
}

/* The windows of one application in order of arrival. A deadline is taken to be not before that of
 * an earlier arrival, which makes windows longer and m larger. */
struct window {
    struct entry *entry;
    sim_time_t end;
    uint32_t depth; /* windows that contain its arrival, so far */
};

/* The number of windows that share an instant is largest at an arrival. O(n × batch_most). */
static void windows_count(struct window *windows, size_t count, uint32_t most)
{
    size_t first = 0;
    for (size_t i = 0; i < count; i++) {
        windows[i].end = windows[i].entry->deadline;
        if (i > 0 && windows[i - 1].end > windows[i].end)
            windows[i].end = windows[i - 1].end;
        while (windows[first].end < windows[i].entry->arrival)
            first++;
        windows[i].depth = i - first + 1 < most ? (uint32_t)(i - first + 1) : most;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t mates = 0;
        for (size_t j = i; j < count && windows[j].entry->arrival <= windows[i].end && mates < most;
             j++)
            mates = windows[j].depth > mates ? windows[j].depth : mates;
        windows[i].entry->mates = mates;
    }
}

/* The most arrivals within a window of this length. O(n). */
static uint32_t most_within(const struct window *windows, size_t count, double length)
{
    size_t most = 0;
    for (size_t i = 0, first = 0; i < count && length >= 0; i++) {
        while (first < i &&
               (double)(windows[i].entry->arrival - windows[first].entry->arrival) > length)
            first++;
        most = i - first + 1 > most ? i - first + 1 : most;
    }
    return most < MATES_MAX ? (uint32_t)most : MATES_MAX;
}

/* The shortest time of a longest path through each stage, without the stage itself. */
static void paths_find(const struct capacity_bound *bound, const struct application *application,
                       const struct class *class, double others[WORKLOAD_MAX_STAGES])
{
    double after[WORKLOAD_MAX_STAGES] = {0};
    double own[WORKLOAD_MAX_STAGES] = {0};
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        own[s] =
            fastest_time(bound, stage_function(bound, application, s), 1) * class->least_noise[s];
        others[s] = 0;
        for (size_t i = 0; i < stage->after_count; i++)
            others[s] = fmax(others[s], others[stage->after[i]] + own[stage->after[i]]);
    }
    for (size_t s = application->stage_count; s-- > 0;)
        for (size_t i = 0; i < application->stages[s].after_count; i++) {
            const uint32_t before = application->stages[s].after[i];
            after[before] = fmax(after[before], after[s] + own[s]);
        }
    for (size_t s = 0; s < application->stage_count; s++)
        others[s] += after[s];
}

/* A batch of h hits takes at least the fastest time t of h jobs, and the rest of each hit's path
 * the time p. So the hits arrive within SLO − p − t of one another. */
static void stages_count(struct capacity_bound *bound, uint32_t a, const struct window *windows,
                         size_t count)
{
    const struct application *application = &bound->workload->applications[a];
    struct class *class = &bound->classes[a];
    double others[WORKLOAD_MAX_STAGES];
    paths_find(bound, application, class, others);
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct function *function = stage_function(bound, application, s);
        uint32_t batch = 0;
        class->stage_most[s] = class->slo == SIM_FOREVER ? MATES_MAX : 0;
        for (size_t k = 0; k < function->configuration_count && class->slo != SIM_FOREVER; k++) {
            if (function->configurations[k].batch == batch)
                continue;
            batch = function->configurations[k].batch;
            const double time = fastest_time(bound, function, batch) * class->least_noise[s];
            const uint32_t within = most_within(
                windows, count, (double)class->slo - (others[s] + time) * (1 - rounding));
            const uint32_t most = batch < MATES_MAX && batch < within ? batch : within;
            class->stage_most[s] = most > class->stage_most[s] ? most : class->stage_most[s];
        }
    }
}

/* Leaves the entries sorted by application. */
static void mates_count(struct capacity_bound *bound)
{
    struct window *windows = arena_allocate(bound->arena, bound->count, sizeof *windows);
    qsort(bound->entries, bound->count, sizeof *bound->entries, compare_applications);
    for (size_t i = 0; i < bound->count; i++)
        windows[i].entry = &bound->entries[i];
    for (size_t i = 0, end; i < bound->count; i = end) {
        const uint32_t application = bound->entries[i].application;
        for (end = i; end < bound->count && bound->entries[end].application == application;)
            end++;
        windows_count(windows + i, end - i, bound->classes[application].batch_most);
        stages_count(bound, application, windows + i, end - i);
    }
    arena_release(bound->arena, windows);
}

/* ---- Least work within the SLO --------------------------------------------------------------- */

/* The stages of the longest path at minimum configurations. */
static void path_choose(const struct capacity_bound *bound, const struct application *application,
                        const struct class *class, bool on_path[WORKLOAD_MAX_STAGES])
{
    double ends[WORKLOAD_MAX_STAGES] = {0};
    size_t before[WORKLOAD_MAX_STAGES] = {0};
    size_t last = 0;
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        const struct function *function = stage_function(bound, application, s);
        const struct configuration *minimum =
            &function->configurations[function->minimum_configuration];
        before[s] = s;
        for (size_t i = 0; i < stage->after_count; i++)
            if (ends[stage->after[i]] > ends[s]) {
                ends[s] = ends[stage->after[i]];
                before[s] = stage->after[i];
            }
        ends[s] += kinds_time(bound->workload, function, minimum) * class->least_noise[s];
        last = ends[s] > ends[last] ? s : last;
        on_path[s] = false;
    }
    for (on_path[last] = true; before[last] != last; on_path[last] = true)
        last = before[last];
}

/* The most hits in a batch of stage s with a request of `mates`. */
static uint32_t stage_mates(const struct class *class, size_t s, uint32_t mates)
{
    return class->stage_most[s] < mates ? class->stage_most[s] : mates;
}

/* Configurations of one stage of which none is better than another in time and in work, in
 * ascending time. Only they can minimise a Lagrangian. */
struct options {
    size_t count;
    struct {
        double time, work; /* at the least noise; time is 0 off the path */
    } of[OPTIONS_MAX];
};

static void options_find(const struct capacity_bound *bound, const struct application *application,
                         size_t stage, bool on_path, uint32_t most, int mixture,
                         struct options *options)
{
    const uint32_t f = application->stages[stage].function;
    const struct function *function = &bound->workload->functions[f];
    const struct class *class = &bound->classes[application - bound->workload->applications];
    const double noise = class->least_noise[stage];
    double least = INFINITY;
    options->count = 0;
    for (size_t i = 0; i < function->configuration_count; i++) {
        const struct configuration *c = &function->configurations[bound->by_time[f][i]];
        const double work = configuration_work(bound, function, c, most, mixture) * noise;
        if (work >= least)
            continue;
        least = work;
        /* Off the path only the least work counts. A full list loses its slowest option to a
         * pair that no configuration has, which is better in both and so keeps the bound valid. */
        if (!on_path)
            options->count = 0;
        if (options->count == OPTIONS_MAX)
            options->count--;
        else
            options->of[options->count].time =
                on_path ? kinds_time(bound->workload, function, c) * noise : 0;
        options->of[options->count++].work = work;
    }
}

/* The minimum of the Lagrangian at multiplier λ, without − λ SLO. `*time` receives the time on the
 * path at the minimum. */
static double lagrangian(const struct options *stages, size_t count, double lambda, double *time)
{
    double sum = 0;
    *time = 0;
    for (size_t s = 0; s < count; s++) {
        double best = INFINITY, best_time = 0;
        for (size_t i = 0; i < stages[s].count; i++) {
            const double value = stages[s].of[i].work + lambda * stages[s].of[i].time;
            if (value < best) {
                best = value;
                best_time = stages[s].of[i].time;
            }
        }
        sum += best;
        *time += best_time;
    }
    return sum;
}

/* The best λ is found by bisection of its logarithm: the derivative is time − SLO. Every λ gives a
 * bound. A λ of 1 makes a nanosecond on the path as dear as the whole cluster. */
static double work_within(const struct capacity_bound *bound, const struct application *application,
                          const bool *on_path, uint32_t mates, int mixture)
{
    const struct class *class = &bound->classes[application - bound->workload->applications];
    const size_t count = application->stage_count;
    struct options stages[WORKLOAD_MAX_STAGES];
    for (size_t s = 0; s < count; s++)
        options_find(bound, application, s, on_path[s], stage_mates(class, s, mates), mixture,
                     &stages[s]);
    double time = 0;
    double best = lagrangian(stages, count, 0, &time);
    double low = 1e-12, high = 1;
    if (class->slo == SIM_FOREVER || time <= (double)class->slo)
        return best;
    for (int step = 0; step < MULTIPLIER_STEPS; step++) {
        const double lambda = sqrt(low * high);
        const double value = lagrangian(stages, count, lambda, &time);
        best = fmax(best, value - lambda * (double)class->slo);
        *(time > (double)class->slo ? &low : &high) = lambda;
    }
    return best;
}

static void class_work(struct capacity_bound *bound, uint32_t a, uint32_t mates)
{
    const struct application *application = &bound->workload->applications[a];
    struct class *class = &bound->classes[a];
    bool on_path[WORKLOAD_MAX_STAGES];
    bool possible = true;
    path_choose(bound, application, class, on_path);
    for (size_t s = 0; s < application->stage_count; s++)
        possible = possible && class->stage_most[s] > 0;
    class->known[mates] = true;
    for (int m = 0; m < MIXTURES; m++) {
        class->work[mates][m] =
            possible ? work_within(bound, application, on_path, mates, m) : INFINITY;
        for (size_t s = 0; possible && s < application->stage_count; s++) {
            const struct function *function = stage_function(bound, application, s);
            if (batch_largest(bound, function) > 1)
                class->shared[mates][m] +=
                    least_work(bound, function, stage_mates(class, s, mates), m) *
                    class->least_noise[s];
        }
    }
}

static void works_find(struct capacity_bound *bound)
{
    for (size_t i = 0; i < bound->count; i++) {
        struct entry *entry = &bound->entries[i];
        struct class *class = &bound->classes[entry->application];
        if (!class->known[entry->mates])
            class_work(bound, entry->application, entry->mates);
        for (int m = 0; m < MIXTURES; m++)
            entry->work[m] =
                fmax(class->work[entry->mates][m], entry->own[m] + class->shared[entry->mates][m]) *
                (1 - rounding);
    }
}

/* ---- The linear program --------------------------------------------------------------------- */

/* F(S) of the requests with a work of at most `most`. `wanted` receives the sum of their works. */
static double fluid_most(const struct capacity_bound *bound, int mixture, double most,
                         struct fluid_waiting *heap, double *wanted)
{
    struct fluid fluid = {.heap = heap};
    *wanted = 0;
    for (size_t i = 0; i < bound->count; i++) {
        const struct entry *entry = &bound->entries[i];
        const double work = entry->work[mixture];
        if (work > most || !(work > 0) || isinf(work))
            continue;
        fluid_advance(&fluid, (double)entry->arrival);
        fluid_push(&fluid, entry->deadline, work);
        *wanted += work;
    }
    fluid_advance(&fluid, (double)SIM_FOREVER);
    return fluid.served;
}

/* ---- Levels ---------------------------------------------------------------------------------- */

/* Chooses at most CAPACITY_LEVELS of the finite works above 0, among them the least, and rounds
 * every work down to one of them. Returns their number. `works` has room for all. */
static size_t levels_choose(struct capacity_bound *bound, int mixture, double *works,
                            double levels[CAPACITY_LEVELS])
{
    size_t count = 0;
    size_t distinct = 0;
    size_t chosen = 0;
    for (size_t i = 0; i < bound->count; i++)
        if (bound->entries[i].work[mixture] > 0 && isfinite(bound->entries[i].work[mixture]))
            works[count++] = bound->entries[i].work[mixture];
    gsl_sort(works, 1, count);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || works[i] > works[distinct - 1])
            works[distinct++] = works[i];
    for (size_t l = 0; l < CAPACITY_LEVELS && distinct > 0; l++) {
        const double work = works[distinct <= CAPACITY_LEVELS ? (l < distinct ? l : distinct - 1)
                                                              : l * distinct / CAPACITY_LEVELS];
        if (chosen == 0 || work > levels[chosen - 1])
            levels[chosen++] = work;
    }
    for (size_t i = 0; i < bound->count; i++) {
        double *work = &bound->entries[i].work[mixture];
        size_t l = chosen;
        while (l > 1 && levels[l - 1] > *work)
            l--;
        if (l > 0 && *work > 0 && isfinite(*work))
            *work = levels[l - 1];
    }
    return chosen;
}

/* Most hits by one mixture: those that take no work, and the linear program over the others. */
static double mixture_hits(struct capacity_bound *bound, int mixture, double *works,
                           struct fluid_waiting *heap)
{
    double levels[CAPACITY_LEVELS] = {0};
    double wanted = 0;
    size_t possible = 0;
    size_t free_of_work = 0;
    for (size_t i = 0; i < bound->count; i++) {
        possible += isfinite(bound->entries[i].work[mixture]) ? 1 : 0;
        free_of_work += bound->entries[i].work[mixture] <= 0;
    }
    if (fluid_most(bound, mixture, INFINITY, heap, &wanted) >= wanted * (1 - rounding))
        return (double)possible;
    const size_t count = levels_choose(bound, mixture, works, levels);
    double sum = (double)free_of_work;
    for (size_t l = 0; l < count; l++) {
        const double next = l + 1 < count ? 1 / levels[l + 1] : 0;
        sum += (1 / levels[l] - next) * fluid_most(bound, mixture, levels[l], heap, &wanted);
    }
    return fmin((double)possible, floor(sum * (1 + rounding) + rounding));
}

double capacity_bound_hits(struct capacity_bound *bound)
{
    double hits = NAN;
    if (bound->count == 0 || bound->too_many)
        return hits;
    mates_count(bound);
    works_find(bound);
    qsort(bound->entries, bound->count, sizeof *bound->entries, compare_arrivals);
    double *works = arena_allocate(bound->arena, bound->count, sizeof *works);
    struct fluid_waiting *heap = arena_allocate(bound->arena, bound->count, sizeof *heap);
    for (int m = 0; m < MIXTURES; m++)
        hits = fmin(hits, mixture_hits(bound, m, works, heap));
    arena_release(bound->arena, works);
    arena_release(bound->arena, heap);
    return hits;
}
