#include <math.h>

#include "sched/paths/decision.h"
#include "sim/engine/random.h"

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

/* What each stage of a path has beyond the least that it could have. */
struct excess {
    double late_ms[WORKLOAD_MAX_STAGES], dear[WORKLOAD_MAX_STAGES];
    double least_ms, cheapest; /* the sums of the least */
};

/* Draws a path. False: the batches that it would have are not allowed. */
static bool path_draw(const struct decision *decision, const struct planned *planned,
                      struct random_stream *stream, struct cloud_point *point,
                      struct excess *excess)
{
    const double lean = 1 + 3 * random_uniform(stream);
    sim_time_t finish[WORKLOAD_MAX_STAGES] = {0};
    uint32_t batch = (uint32_t)decision->question->queue_length;
    for (size_t i = 0; i < planned->count; i++) {
        const size_t s = planned->stages[i];
        const struct stage *stage = &decision->application->stages[s];
        const struct search_table *table = decision->tables[s];
        if (i > 0 && decision->question->bounded)
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
        excess->late_ms[i] = sim_to_ms(table->time[entry] - table->fastest);
        excess->dear[i] = 1000 * (table->cost[entry] - table->cheapest);
        excess->least_ms += sim_to_ms(table->fastest);
        excess->cheapest += 1000 * table->cheapest;
    }
    return true;
}

/* What excludes a path, part by part from its first stage on, and then as a whole. `limit`: cost of
 * the K-th path. */
static enum cloud_kind path_kind(const struct decision *decision, size_t stages, double limit,
                                 const struct cloud_point *point, const struct excess *excess)
{
    const struct decision_question *question = decision->question;
    double least_ms = excess->least_ms, cheapest = excess->cheapest;
    for (size_t i = 0; i < stages; i++) {
        const bool whole = i + 1 == stages;
        const bool pruned = whole || decision->method == DECISION_ASTAR;
        least_ms = whole ? point->time_ms : least_ms + excess->late_ms[i];
        cheapest += excess->dear[i];
        if (least_ms > question->budget_ms && pruned && (whole || question->time_blade))
            return CLOUD_TIME;
        if (cheapest > limit && pruned && (whole || question->cost_blade))
            return CLOUD_COST;
    }
    return CLOUD_WITHIN;
}

struct cloud decision_cloud(const struct decision *decision)
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
    for (size_t i = 0; i < CLOUD_PATHS; i++) {
        struct cloud_point *point = &points[cloud.count];
        struct excess excess = {.least_ms = 0};
        *point = (struct cloud_point){.kind = CLOUD_WITHIN};
        if (!path_draw(decision, &planned, &stream, point, &excess))
            continue;
        point->kind = path_kind(decision, planned.count, limit, point, &excess);
        cloud.count++;
    }
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
