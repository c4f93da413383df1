#include "results/inspect/decision_chart.h"

#include <inttypes.h>
#include <math.h>

#include "sim/engine/random.h"

enum { CLOUD_PATHS = 20000, ROWS = 15, PICTURE_ROWS = 60, PICTURE_COLUMNS = 110 };

/* What keeps a path from being found: a blade, or the budget or the K-th cost; or it is found. */
enum cloud_kind { CLOUD_TIME, CLOUD_COST, CLOUD_WITHIN, CLOUD_FOUND };

struct cloud {
    struct cloud_point {
        double time_ms, cost; /* $ per 1,000 jobs */
        enum cloud_kind kind;
    } * points, low, high; /* the least and the most of each, with the budget */
    size_t count;
};

/* The stages that a search plans, in order: so many of the chain, or all that follow. */
struct planned {
    size_t stages[WORKLOAD_MAX_STAGES], count;
};

static struct planned planned_stages(const struct decision *decision)
{
    const struct application *application = decision->application;
    struct planned all = {.count = 0};
    bool planned[WORKLOAD_MAX_STAGES] = {false};
    for (size_t s = decision->question->stage; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        planned[s] = s == decision->question->stage;
        for (size_t p = 0; p < stage->after_count; p++)
            planned[s] = planned[s] || planned[stage->after[p]];
        if (planned[s])
            all.stages[all.count++] = s;
    }
    if (decision->question->stages > 0)
        all.count = decision->chain_length;
    return all;
}

/* Draws a path, faster ones more often. Its kind is that of the blade that cuts it first, or what
 * excludes it as a whole. `limit`: cost of the K-th path. False: the batches that it would have are
 * not allowed. */
static bool path_draw(const struct decision *decision, const struct planned *planned, double limit,
                      struct random_stream *stream, struct cloud_point *point)
{
    const struct decision_question *question = decision->question;
    const double lean = 1 + 3 * random_uniform(stream);
    double late_ms[WORKLOAD_MAX_STAGES], dear[WORKLOAD_MAX_STAGES]; /* beyond the least possible */
    double least_ms = 0, cheapest = 0;
    sim_time_t finish[WORKLOAD_MAX_STAGES] = {0};
    uint32_t batch = (uint32_t)question->queue_length;
    *point = (struct cloud_point){.kind = CLOUD_WITHIN};
    for (size_t i = 0; i < planned->count; i++) {
        const size_t s = planned->stages[i];
        const struct stage *stage = &decision->application->stages[s];
        const struct search_table *table = decision->tables[s];
        if (i > 0 && question->bounded)
            table = search_table_up_to(table, batch);
        if (table == NULL)
            return false;
        const size_t entry = (size_t)((double)table->count * pow(random_uniform(stream), lean));
        if (i == 0 && table->batch[entry] > batch)
            return false;
        batch = i == 0 ? table->batch[entry] : batch;
        for (size_t p = 0; p < stage->after_count; p++)
            finish[s] = finish[stage->after[p]] > finish[s] ? finish[stage->after[p]] : finish[s];
        finish[s] += table->time[entry];
        point->time_ms = fmax(point->time_ms, sim_to_ms(finish[s]));
        point->cost += 1000 * table->cost[entry];
        late_ms[i] = sim_to_ms(table->time[entry] - table->fastest);
        dear[i] = 1000 * (table->cost[entry] - table->cheapest);
        least_ms += sim_to_ms(table->fastest);
        cheapest += 1000 * table->cheapest;
    }
    for (size_t i = 0; i < planned->count && point->kind == CLOUD_WITHIN; i++) {
        const bool whole = i + 1 == planned->count;
        const bool blades = whole || decision->method == DECISION_ASTAR;
        least_ms = whole ? point->time_ms : least_ms + late_ms[i];
        cheapest += dear[i];
        if (least_ms > question->budget_ms && blades && (whole || question->time_blade))
            point->kind = CLOUD_TIME;
        else if (cheapest > limit && blades && (whole || question->cost_blade))
            point->kind = CLOUD_COST;
    }
    return true;
}

static struct cloud cloud_draw(const struct decision *decision)
{
    const struct search_result *result = &decision->result;
    const size_t k = decision->question->k;
    const double limit = result->path_count < k ? INFINITY : 1000 * result->paths[k - 1].cost_usd;
    const double budget_ms =
        decision->question->budget_ms > 0 ? decision->question->budget_ms : NAN;
    const struct planned planned = planned_stages(decision);
    struct random_stream stream;
    struct cloud_point *points =
        arena_allocate(decision->arena, CLOUD_PATHS + SEARCH_MAX_K, sizeof *points);
    struct cloud cloud = {.points = points,
                          .low = {.time_ms = budget_ms, .cost = INFINITY},
                          .high = {.time_ms = budget_ms}};
    random_stream_open(&stream, 0, RANDOM_PICTURE, 0, 0);
    for (size_t i = 0; i < CLOUD_PATHS; i++)
        cloud.count += path_draw(decision, &planned, limit, &stream, &points[cloud.count]);
    for (size_t p = 0; p < result->path_count; p++)
        points[cloud.count++] = (struct cloud_point){sim_to_ms(result->paths[p].time),
                                                     1000 * result->paths[p].cost_usd, CLOUD_FOUND};
    for (size_t i = 0; i < cloud.count; i++) {
        cloud.low.time_ms = fmin(cloud.low.time_ms, points[i].time_ms);
        cloud.low.cost = fmin(cloud.low.cost, points[i].cost);
        cloud.high.time_ms = fmax(cloud.high.time_ms, points[i].time_ms);
        cloud.high.cost = fmax(cloud.high.cost, points[i].cost);
    }
    return cloud;
}

/* The part of a logarithmic axis in which a value lies, of `parts`; and where a part begins. */
static size_t part_of(double value, double low, double high, size_t parts)
{
    const double part = high > low ? log(value / low) / log(high / low) * (double)parts : 0;
    return part < (double)parts ? (size_t)part : parts - 1;
}
static double part_begin(size_t part, double low, double high, size_t parts)
{
    return low * pow(high / low, (double)part / (double)parts);
}

/* Rows of equal cost and columns of equal time, so many of each. */
static struct chart chart_make(const struct decision *decision, const struct cloud *cloud,
                               size_t rows, size_t columns)
{
    const struct decision_question *question = decision->question;
    const struct search_result *result = &decision->result;
    const bool astar = decision->method == DECISION_ASTAR;
    const struct cloud_point low = cloud->low, high = cloud->high;
    const struct chart_kind kinds[] = {
        {astar && question->time_blade ? "cut by the time blade" : "over the budget", 't',
         0xE69F00},
        {astar && question->cost_blade ? "cut by the cost blade" : "dearer than the K found", 'c',
         0x56B4E9},
        {"neither", 'o', 0x009E73},
        {"found", '*', 0x000000},
        {"budget", '|', 0x222222}};
    struct chart chart = {
        .script = "search",
        .subject = decision->application->name,
        .caption = arena_text(
            decision->arena,
            "Both axes are logarithmic. %d paths drawn at random, the faster ones more often. The "
            "search built %" PRIu64 " paths and parts of paths; the time blade cut %" PRIu64
            " extensions by a stage, the cost blade %" PRIu64 ".",
            CLOUD_PATHS, result->expansions, result->pruned_time, result->pruned_cost),
        .axis = "$ per 1,000 jobs / ms",
        .logarithmic = true,
        .arena = decision->arena};
    if (!(low.cost > 0 && high.cost > low.cost))
        return chart;
    int *cells = arena_allocate(decision->arena, rows * columns, sizeof *cells);
    for (size_t i = 0; i < cloud->count; i++) { /* the last of the kinds in each cell */
        const struct cloud_point *at = &cloud->points[i];
        int *cell = &cells[part_of(at->cost, low.cost, high.cost, rows) * columns +
                           part_of(at->time_ms, low.time_ms, high.time_ms, columns)];
        *cell = (int)at->kind >= *cell ? (int)at->kind + 1 : *cell;
    }
    for (size_t row = rows; row-- > 0;) {
        chart_row(&chart, "%.4g", part_begin(row, low.cost, high.cost, rows));
        for (size_t c = 0; c < columns; c++)
            if (cells[row * columns + c] > 0)
                chart_add(&chart, CHART_BAR, &kinds[cells[row * columns + c] - 1],
                          part_begin(c, low.time_ms, high.time_ms, columns),
                          part_begin(c + 1, low.time_ms, high.time_ms, columns));
    }
    if (question->budget_ms > 0)
        chart_add(&chart, CHART_LINE, &kinds[4], question->budget_ms, question->budget_ms);
    return chart;
}

void decision_charts(const struct decision *decision, struct chart *printed, struct chart *picture)
{
    const struct cloud cloud = cloud_draw(decision);
    *printed = chart_make(decision, &cloud, ROWS, CHART_COLUMNS);
    *picture = chart_make(decision, &cloud, PICTURE_ROWS, PICTURE_COLUMNS);
}
