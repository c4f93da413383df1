#include "traces/capture/measure/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

enum { BATCHES = 9, SAMPLES_LEAST = 12, UP_BATCH_STEP = 8 };
static const double POINT_SECONDS = 0.25; /* minimum target time of samples */
static const double WARM_UP_SECONDS = 0.08;
static const double WIDTH_ENOUGH = 0.01;

/* Rates of a large current GPU for the convolutions of real networks. The capture corrects them, so
 * an error by a factor of two costs only one or two points of the budget. */
static const double MACS_PER_S[2] = {3e13, 9e13}; /* FP32 with TF32, FP16 */
static const double BYTES_PER_S = 2e12;
static const double LAUNCH_S = 3e-6;

/* Parts of the budget by table. Later tables may use what an earlier one leaves. Any table may use
 * the rest at the end. */
static const double parts[PLAN_TABLES] = {
    [PLAN_MEMORY] = 0.06,  [PLAN_COPIES] = 0.01,     [PLAN_COLD_START] = 0.08,
    [PLAN_LATENCY] = 0.52, [PLAN_COLOCATION] = 0.33,
};

static const char *const table_names[PLAN_TABLES] = {"memory", "copies", "cold_start", "latency",
                                                     "colocation"};

const char *plan_table_name(enum plan_table table)
{
    return table_names[table];
}

const char *plan_mechanism_name(enum plan_mechanism mechanism)
{
    static const char *const names[] = {LAYOUT_MECHANISMS};
    return names[mechanism];
}

/* ---- Networks -------------------------------------------------------------------------------- */

static double count_launches(const struct graph *graph)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        count += graph->nodes[i].kind != GRAPH_INPUT && !graph_runs_in_place(graph, i);
    return (double)count * 1.6; /* a product and one kernel for all that follows it */
}

static bool is_wanted(const struct plan_options *options, const char *name)
{
    if (options->names == NULL)
        return true;
    for (size_t i = 0; i < options->name_count; i++)
        if (strcmp(options->names[i], name) == 0)
            return true;
    return false;
}

static bool load_network(struct plan *plan, const char *folder, const char *file,
                         struct error *error)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    struct graph *graph = graph_load(path, error);
    if (graph == NULL)
        return false;
    plan->networks[plan->network_count++] =
        (struct plan_network){.graph = graph, .launches = count_launches(graph), .correction = 1};
    return true;
}

static bool load_networks(struct plan *plan, const struct plan_options *options,
                          struct error *error)
{
    struct dirent **entries = NULL;
    const int count = graph_files(options->folder, &entries);
    if (count < 0)
        return error_input(error, "capture: %s is no folder of networks", options->folder);
    plan->networks = calloc((size_t)count + 1, sizeof *plan->networks);
    bool good = plan->networks != NULL;
    if (!good)
        error_run(error, "capture: out of memory");
    for (int i = 0; i < count; i++) {
        char name[256];
        (void)snprintf(name, sizeof name, "%.*s", (int)(strlen(entries[i]->d_name) - 5),
                       entries[i]->d_name);
        if (good && is_wanted(options, name))
            good = load_network(plan, options->folder, entries[i]->d_name, error);
        free(entries[i]);
    }
    free(entries);
    const size_t wanted = options->names == NULL ? 1 : options->name_count;
    if (good && plan->network_count < wanted)
        return error_input(error,
                           "capture: %s holds only %zu of the networks named; `esgsim list "
                           "networks` lists them",
                           options->folder, plan->network_count);
    return good;
}

/* ---- Points ---------------------------------------------------------------------------------- */

size_t plan_shares(bool tens, double shares[static 32])
{
    size_t count = 0;
    for (int k = 1; k <= 7; k++)
        shares[count++] = 100.0 * k / 7;
    for (int k = 1; k < 10 && tens; k++)
        shares[count++] = 10.0 * k;
    gsl_sort(shares, 1, count);
    return count;
}

struct graph *plan_graph(const struct plan *plan, const struct plan_member *member,
                         struct error *error)
{
    return graph_load_resized(plan->networks[member->network].graph->path, member->batch, error);
}

double plan_estimate_ms(const struct plan *plan, const struct plan_member *member, bool half)
{
    const struct plan_network *network = &plan->networks[member->network];
    const struct graph *graph = network->graph;
    const double part = member->share_percent / 100;
    const double bytes = (double)graph_weight_bytes(graph, half ? 2 : 4);
    const double work = member->batch * (double)graph->macs / (MACS_PER_S[half] * part);
    const double launches = network->launches * LAUNCH_S;
    return network->correction * 1e3 * fmax(launches, work + bytes / BYTES_PER_S);
}

static double weights_of(const struct plan *plan, const struct plan_point *point)
{
    return point->member_count == 0
               ? 0
               : (double)plan->networks[point->members[0].network].graph->parameters;
}

/* Time of the warm-up (measure_device.c), then twelve samples or a quarter of a second. */
static double estimate_latency_s(const struct plan *plan, const struct plan_point *point)
{
    const double once_s = plan_estimate_ms(plan, &point->members[0], point->half) / 1e3;
    return fmax(WARM_UP_SECONDS, 6 * once_s) +
           fmax(SAMPLES_LEAST * once_s, fmin(POINT_SECONDS, 100 * once_s));
}

static double estimate_s(const struct plan *plan, const struct plan_point *point)
{
    const double weights = weights_of(plan, point);
    switch (point->table) {
    case PLAN_LATENCY: /* weights are drawn once for all shares and batches */
        return estimate_latency_s(plan, point) + 0.03 + weights * 1e-9;
    case PLAN_COLOCATION: /* each alone, then all together; the weights exist already */
        return 0.5 + 0.2 * (double)point->member_count;
    case PLAN_COLD_START:
        return plan->cold_starts * (1.5 + weights * 1e-8);
    case PLAN_MEMORY: /* batch 1, the first point of a network, also creates it */
        return point->members[0].batch == 1 ? 0.5 + weights * 1e-8 : 0.15;
    case PLAN_COPIES:
        return 0.02 + 25 * point->bytes / 1e10;
    case PLAN_TABLES:
        break;
    }
    return 0;
}

static bool add_point(struct plan *plan, struct plan_point point)
{
    if (plan->count == plan->room) {
        const size_t room = plan->room == 0 ? 256 : 2 * plan->room;
        struct plan_point *points = realloc(plan->points, room * sizeof *points);
        if (points == NULL)
            return false;
        plan->points = points;
        plan->room = room;
    }
    point.estimated_s = 0;
    point.width = 1;
    plan->points[plan->count] = point;
    plan->points[plan->count].estimated_s = estimate_s(plan, &point);
    plan->count++;
    return true;
}

static bool add_latencies(struct plan *plan, const struct plan_options *options, size_t network,
                          bool half)
{
    double shares[32];
    const size_t count = plan_shares(options->tens, shares);
    const size_t block = plan->count;
    for (int batch = 1; batch <= plan->largest_batch && batch <= 1 << (BATCHES - 1); batch *= 2)
        for (size_t s = 0; s < count; s++) {
            const struct plan_point point = {
                .table = PLAN_LATENCY,
                .mechanism = shares[s] >= 100 ? PLAN_FULL : PLAN_GREEN,
                .half = half,
                .members = {{network, batch, shares[s]}},
                .member_count = 1,
                .block = block,
            };
            if (!add_point(plan, point))
                return false;
        }
    for (size_t i = block; i < plan->count; i++)
        plan->points[i].block_end = plan->count;
    return true;
}

/* Seven networks at one seventh each. The point shows the interference of many small batches and of
 * as many launching threads. */
static bool add_crowd(struct plan *plan, const struct plan_options *options, size_t first)
{
    struct plan_point point = {
        .table = PLAN_COLOCATION,
        .mechanism = PLAN_GREEN,
        .half = options->fp16 || !options->fp32,
        .member_count = PLAN_MEMBERS,
    };
    for (size_t m = 0; m < PLAN_MEMBERS; m++)
        point.members[m] = (struct plan_member){(first + m) % plan->network_count, 2, 100.0 / 7};
    return add_point(plan, point);
}

static bool add_groups(struct plan *plan, const struct plan_options *options)
{
    static const double pair_shares[] = {300.0 / 7, 500.0 / 7};
    const bool half = options->fp16 || !options->fp32;
    const size_t n = plan->network_count;
    for (size_t a = 0; a < n; a++)
        if (!add_crowd(plan, options, a))
            return false;
    for (size_t a = 0; a < n; a++)
        for (size_t b = a; b < n; b++)
            for (size_t s = 0; s < 2; s++) {
                struct plan_point point = {
                    .table = PLAN_COLOCATION,
                    .mechanism = PLAN_GREEN,
                    .half = half,
                    .members = {{a, 4, pair_shares[s]}, {b, 4, pair_shares[s]}},
                    .member_count = 2,
                };
                if (!add_point(plan, point))
                    return false;
                if (s == 0) { /* a triple with the next network, two sevenths each */
                    const double third = 200.0 / 7;
                    point.members[0].share_percent = point.members[1].share_percent = third;
                    point.members[2] = (struct plan_member){(a + b + 1) % n, 2, third};
                    point.member_count = 3;
                    if ((a + b) % 4 == 0 && !add_point(plan, point))
                        return false;
                }
            }
    return true;
}

/* Points for starting a network: memory at batch 1 and larger ones, cold start at batch 1. */
static bool add_up(struct plan *plan, const struct plan_options *options, size_t network)
{
    for (int batch = 1; batch <= plan->largest_batch; batch *= UP_BATCH_STEP) {
        struct plan_point point = {
            .table = PLAN_MEMORY,
            .half = options->fp16 || !options->fp32,
            .members = {{network, batch, 100}},
            .member_count = 1,
        };
        if (!add_point(plan, point))
            return false;
        point.table = PLAN_COLD_START;
        if (batch == 1 && plan->cold_starts > 0 && !add_point(plan, point))
            return false;
    }
    return true;
}

static bool add_rest(struct plan *plan, const struct plan_options *options)
{
    bool good = true;
    for (size_t n = 0; n < plan->network_count && good; n++)
        good = add_up(plan, options, n);
    for (double bytes = 4096; bytes <= 268435456 && good; bytes *= 4)
        good = add_point(plan, (struct plan_point){.table = PLAN_COPIES, .bytes = bytes});
    return good;
}

static bool add_points(struct plan *plan, const struct plan_options *options, struct error *error)
{
    const bool neither = !options->fp32 && !options->fp16;
    bool good = add_rest(plan, options);
    for (size_t n = 0; n < plan->network_count && good; n++)
        for (int half = 0; half < 2 && good; half++)
            if (half == 1 ? options->fp16 || neither : options->fp32)
                good = add_latencies(plan, options, n, half == 1);
    good = good && add_groups(plan, options);
    return good || error_run(error, "capture: out of memory");
}

struct plan *plan_create(const struct plan_options *options, struct error *error)
{
    struct plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        error_run(error, "capture: out of memory");
        return NULL;
    }
    plan->largest_batch = options->largest_batch > 0 ? options->largest_batch : PLAN_LARGEST_BATCH;
    plan->cold_starts = options->cold_starts;
    if (load_networks(plan, options, error) && add_points(plan, options, error))
        return plan;
    plan_free(plan);
    return NULL;
}

void plan_free(struct plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->network_count; i++)
        graph_free(plan->networks[i].graph);
    free(plan->networks);
    free(plan->points);
    free(plan);
}

const char *plan_key(const struct plan *plan, const struct plan_point *point,
                     char key[static PLAN_KEY])
{
    size_t used = 0;
    key[0] = '\0';
    if (point->table == PLAN_COPIES)
        (void)snprintf(key, PLAN_KEY, "%.0f bytes", point->bytes);
    for (size_t i = 0; i < point->member_count && used < PLAN_KEY; i++) {
        const struct plan_member *m = &point->members[i];
        const int wrote =
            snprintf(key + used, PLAN_KEY - used, "%s%s:%d:%.4f", i == 0 ? "" : "+",
                     plan->networks[m->network].graph->name, m->batch, m->share_percent);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    if (point->member_count > 0 && used < PLAN_KEY)
        (void)snprintf(key + used, PLAN_KEY - used, " %s %s", point->half ? "fp16" : "fp32",
                       plan_mechanism_name(point->mechanism));
    return key;
}

/* ---- Uncertainty ----------------------------------------------------------------------------- */

/* The nearest measured points, below and above, of the same network and precision that differ along
 * one axis only. Axis 0: share, 1: batch. */
struct neighbours {
    const struct plan_point *below, *above;
};

static double axis_value(const struct plan_point *point, int along)
{
    return along == 0 ? point->members[0].share_percent : (double)point->members[0].batch;
}

static bool is_comparable(const struct plan_point *a, const struct plan_point *b, int along)
{
    return b->state == PLAN_DONE && axis_value(a, 1 - along) == axis_value(b, 1 - along);
}

static struct neighbours find_neighbours(const struct plan *plan, const struct plan_point *point,
                                         int along)
{
    struct neighbours found = {NULL, NULL};
    const double at = axis_value(point, along);
    for (size_t i = point->block; i < point->block_end; i++) {
        const struct plan_point *other = &plan->points[i];
        if (!is_comparable(point, other, along))
            continue;
        const double value = axis_value(other, along);
        if (value < at && (found.below == NULL || value > axis_value(found.below, along)))
            found.below = other;
        if (value > at && (found.above == NULL || value < axis_value(found.above, along)))
            found.above = other;
    }
    return found;
}

/* Interpolates the logarithm of the latency between two neighbours. `difference` receives a
 * measure of how much they differ. */
static double interpolate(const struct neighbours *n, const struct plan_point *point, int along,
                          double *difference)
{
    const double low = log(axis_value(n->below, along));
    const double high = log(axis_value(n->above, along));
    const double t = (log(axis_value(point, along)) - low) / (high - low);
    const double from = log(n->below->median_ms);
    const double to = log(n->above->median_ms);
    *difference = fabs(to - from) * t * (1 - t) * 2;
    return from + t * (to - from);
}

static double uncertainty(const struct plan *plan, const struct plan_point *point)
{
    double difference[2] = {0, 0};
    double predicted[2] = {0, 0};
    if (point->state == PLAN_DONE)
        return point->width;
    int between = 0;
    for (int along = 0; along < 2; along++) {
        const struct neighbours found = find_neighbours(plan, point, along);
        if (found.below == NULL || found.above == NULL)
            continue;
        predicted[between] = interpolate(&found, point, along, &difference[between]);
        between++;
    }
    if (between == 0)
        return 1;
    if (between == 1) /* a single prediction cannot be compared */
        return fmin(1, difference[0] + 0.02);
    return fmin(1, fabs(predicted[0] - predicted[1]) + 0.5 * fmin(difference[0], difference[1]) +
                       0.01);
}

/* A corner of a network's grid of shares and batches. All other points are between the corners. */
static bool is_corner(const struct plan *plan, const struct plan_point *point)
{
    bool lower = false;
    bool upper = false;
    bool smaller = false;
    bool larger = false;
    for (size_t i = point->block; i < point->block_end; i++) {
        const struct plan_point *other = &plan->points[i];
        lower = lower || axis_value(other, 0) < axis_value(point, 0);
        upper = upper || axis_value(other, 0) > axis_value(point, 0);
        smaller = smaller || axis_value(other, 1) < axis_value(point, 1);
        larger = larger || axis_value(other, 1) > axis_value(point, 1);
    }
    return !(lower && upper) && !(smaller && larger);
}

/* Uncertainty per second. Unmeasured corners have the highest score, then points on an edge. */
static double score(const struct plan *plan, const struct plan_point *point)
{
    double value = 1;
    if (point->table == PLAN_LATENCY) {
        value = uncertainty(plan, point);
        if (point->state == PLAN_WAITING && value >= 1)
            value = is_corner(plan, point) ? 1e6 : 1e3;
    } else if (point->state == PLAN_DONE) {
        value = 0;
    } else if (point->table == PLAN_MEMORY) {
        value = point->members[0].batch == 1 ? 1 : 1e-3; /* every network first */
    } else if (point->table == PLAN_COLOCATION) {
        value = point->member_count == PLAN_MEMBERS ? 1e3 : 1; /* few, and least similar to pairs */
    }
    return value / fmax(point->estimated_s, 1e-3);
}

static struct plan_point *best_of(struct plan *plan, enum plan_table table, enum plan_state state,
                                  double left_s)
{
    struct plan_point *best = NULL;
    double most = 0;
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_point *point = &plan->points[i];
        const bool known = point->state == PLAN_DONE && point->width <= WIDTH_ENOUGH;
        if (point->table != table || point->state != state || known || point->estimated_s > left_s)
            continue;
        const double value = score(plan, point);
        if (value > most) {
            most = value;
            best = point;
        }
    }
    return best;
}

struct plan_point *plan_next(struct plan *plan, const double spent_s[static PLAN_TABLES],
                             double budget_s)
{
    double allowed = 0;
    double spent = 0;
    for (int table = 0; table < PLAN_TABLES; table++) {
        allowed += parts[table] * budget_s;
        spent += spent_s[table];
        if (table + 1 == PLAN_TABLES)
            allowed = budget_s;
        struct plan_point *point =
            best_of(plan, (enum plan_table)table, PLAN_WAITING, allowed - spent);
        if (point != NULL)
            return point;
    }
    /* A table that exceeded its part may still use what the others left. */
    for (int table = 0; table < PLAN_TABLES; table++) {
        struct plan_point *point =
            best_of(plan, (enum plan_table)table, PLAN_WAITING, budget_s - spent);
        if (point != NULL)
            return point;
    }
    return best_of(plan, PLAN_LATENCY, PLAN_DONE, budget_s - spent);
}

/* ---- Booking --------------------------------------------------------------------------------- */

void plan_book(struct plan *plan, struct plan_point *point, const double *samples, size_t count)
{
    double *sorted = malloc((count + 1) * sizeof *sorted);
    point->state = PLAN_DONE;
    point->round++;
    if (sorted == NULL || count == 0 || point->table != PLAN_LATENCY) {
        point->width = 0;
        free(sorted);
        return;
    }
    memcpy(sorted, samples, count * sizeof *sorted);
    gsl_sort(sorted, 1, count);
    point->median_ms = gsl_stats_median_from_sorted_data(sorted, 1, count);
    /* Distribution-free interval of the median from order statistics, with the normal approximation
     * to the binomial. */
    const double reach = 0.98 / sqrt((double)count);
    const double low = gsl_stats_quantile_from_sorted_data(sorted, 1, count, fmax(0, 0.5 - reach));
    const double high = gsl_stats_quantile_from_sorted_data(sorted, 1, count, fmin(1, 0.5 + reach));
    point->width = (high - low) / (2 * point->median_ms);
    free(sorted);
    /* The error of this point's estimate corrects the estimates of the network's other points. */
    struct plan_network *network = &plan->networks[point->members[0].network];
    const double estimated = plan_estimate_ms(plan, &point->members[0], point->half);
    network->correction *= pow(point->median_ms / estimated, 0.3);
    for (size_t i = 0; i < plan->count; i++)
        if (plan->points[i].member_count > 0 &&
            plan->points[i].members[0].network == point->members[0].network)
            plan->points[i].estimated_s = estimate_s(plan, &plan->points[i]);
}

double plan_remaining(const struct plan *plan, enum plan_table table, size_t *count)
{
    double seconds = 0;
    *count = 0;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->points[i].table == table && plan->points[i].state == PLAN_WAITING) {
            seconds += plan->points[i].estimated_s;
            (*count)++;
        }
    return seconds;
}
