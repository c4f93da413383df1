/* An explanation in words and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "results/inspect/explain.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"

/* ---- In words -------------------------------------------------------------------------------- */

static sim_time_t time_total(const struct stage_time *time)
{
    sim_time_t sum = 0;
    for (size_t p = 0; p < REQUEST_PARTS; p++)
        sum += time->parts[p];
    return sum;
}

static double share(sim_time_t part, sim_time_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

static const struct {
    const char *key;
    struct chart_kind kind;
} parts[REQUEST_PARTS] = {
#define PART(name, words, mark, colour) {#name, {words, mark, colour}},
#include "sim/base/parts.def"
};

#define TIME(ns) text_time(sim_to_s(ns), (char[TEXT_TIME]){0})

/* The parts from `first` to `last` that are not 0, and before them their sum. */
static void print_parts(const struct explained_stage *stage, const char *word, size_t first,
                        size_t last, FILE *out)
{
    sim_time_t all = 0;
    const char *before = ": ";
    for (size_t p = first; p <= last; p++)
        all += stage->time.parts[p];
    fprintf(out, "  %-10s %s", word, TIME(all));
    for (size_t p = first; p <= last; p++)
        if (stage->time.parts[p] > 0) {
            fprintf(out, "%s%s %s", before, TIME(stage->time.parts[p]), parts[p].kind.words);
            before = ", ";
        }
    fprintf(out, "\n");
}

static void print_decision(const struct explained_stage *stage, FILE *out)
{
    const struct batch_row *batch = stage->batch;
    const struct decision_row *decision = stage->decision;
    fprintf(out, "  decided    at %s: batch of up to %u, %u vCPU, %u vGPU",
            TIME(batch->dispatched_ns), batch->configured_batch, batch->vcpu, batch->vgpu);
    if (stage->gpu_model != NULL)
        fprintf(out, " (%s)", stage->gpu_model);
    if (batch->quota != 100)
        fprintf(out, " for %u %% of the time", batch->quota);
    if (stage->choice != NULL)
        fprintf(out, ", as its trees say\n");
    else if (decision == NULL || decision->alternatives == 0)
        fprintf(out, "; the policy gives no reasons\n");
    else
        fprintf(out, ", chosen among %u; planned from here on: %s and $%.4g per 1,000\n",
                decision->alternatives, TIME(decision->plan_time_ns),
                1000 * decision->plan_cost_usd);
    if (decision != NULL)
        fprintf(out, "             %u waited in that queue, %llu units of work\n",
                decision->queue_length, (unsigned long long)decision->units);
}

/* The tests on the way to the leaf of one tree, each as it held, then the leaf. */
static const char *way_text(const struct explanation *explanation, const struct choice_row *choice,
                            const struct tree_node *node)
{
    struct arena *arena = explanation->arena;
    int64_t values[TREE_FEATURE_COUNT];
    char *text = NULL;
    tree_features_recorded(choice, values);
    while (node->yes != NULL) {
        const struct tree_node *next = tree_child(node, values);
        arena_append(arena, &text, "%s",
                     tree_test_text(arena, &explanation->trees, node, next == node->yes));
        if (node->feature != TREE_function)
            arena_append(arena, &text, " (%" PRId64 ")", values[node->feature]);
        arena_append(arena, &text, next->yes != NULL ? "; " : ": ");
        node = next;
    }
    arena_append(arena, &text, "%s", tree_leaf_text(arena, node));
    return text;
}

static void print_place(const struct explained_stage *stage, FILE *out)
{
    enum { SHOWN = 6 };
    const struct batch_row *batch = stage->batch;
    fprintf(out, "  ran        in batch %llu", (unsigned long long)batch->batch);
    if (batch->jobs == 1)
        fprintf(out, ", alone");
    for (uint32_t i = 0; i + 1 < batch->jobs && i < SHOWN; i++)
        fprintf(out, "%s%llu",
                i == 0 ? batch->jobs == 2 ? ", with request " : ", with requests " : ", ",
                (unsigned long long)stage->mates[i]);
    if (batch->jobs > SHOWN + 1)
        fprintf(out, " and %u more", batch->jobs - 1 - SHOWN);
    fprintf(out, "; invoker %u, ", batch->invoker);
    if (stage->gpu != SIM_NONE)
        fprintf(out, "GPU %u, ", stage->gpu);
    fprintf(out, "container %llu%s", (unsigned long long)batch->container,
            stage->time.parts[PART_cold] > 0 ? " (cold)" : " (warm)");
    if (batch->instance != SIM_NONE)
        fprintf(out, " of instance %u", batch->instance);
    fprintf(out, "\n");
}

static void print_execution(const struct explained_stage *stage, FILE *out)
{
    const sim_time_t *time = stage->time.parts;
    const sim_time_t alone = time[PART_alone], slowed = time[PART_slowed], host = time[PART_host];
    const char *more = stage->co_runners == 1 ? "" : "s";
    fprintf(out, "  took       transfer %s, cold start %s, execution %s", TIME(time[PART_transfer]),
            TIME(time[PART_cold]), TIME(alone + slowed + host));
    if (stage->batch->planned_ms > 0)
        fprintf(out, " (planned %s)",
                text_time(stage->batch->planned_ms * 1e-3, (char[TEXT_TIME]){0}));
    if (slowed + host > 0)
        fprintf(out, ": %s alone", TIME(alone));
    if (slowed > 0)
        fprintf(out, ", %s (%.1f %%) lost to %u co-runner%s", TIME(slowed), share(slowed, alone),
                stage->co_runners, more);
    else if (stage->co_runners > 0)
        fprintf(out, ", not slowed by %u co-runner%s", stage->co_runners, more);
    if (host > 0)
        fprintf(out, ", %s with the host", TIME(host));
    fprintf(out, "; noise %.4g\n", stage->batch->noise);
    fprintf(out, "  cost       $%.4g per 1,000", 1000 * stage->job->cost_usd);
    if (stage->batch->jobs > 1)
        fprintf(out, ", one of %u equal parts of the batch's", stage->batch->jobs);
    fprintf(out, "\n");
}

static void print_stage(const struct explanation *explanation, uint32_t index, FILE *out)
{
    const struct explained_stage *stage = &explanation->stages[index];
    fprintf(out, "\n%u. %s", index + 1, stage->name);
    if (strcmp(stage->name, stage->function) != 0)
        fprintf(out, " (function %s)", stage->function);
    for (uint32_t p = 0; p < stage->predecessor_count; p++)
        fprintf(out, "%s%s", p == 0 ? ", after " : " and ",
                explanation->stages[stage->predecessors[p]].name);
    if (stage->job == NULL && stage->lost == NULL) {
        fprintf(out, ": never ran\n");
        return;
    }
    const sim_time_t ready = stage->job != NULL ? stage->job->ready_ns : stage->lost->ready_ns;
    fprintf(out, "\n");
    if (stage->time.parts[PART_frame] + stage->time.parts[PART_ingress] > 0)
        print_parts(stage, "arrived", PART_frame, PART_ingress, out);
    fprintf(out, "  ready      at %s, %s after the request arrived\n", TIME(ready),
            TIME(ready - explanation->request->arrival_ns));
    print_parts(stage, "waited", PART_down, PART_deciding, out);
    if (stage->job == NULL) {
        fprintf(out, "  lost       at %s: invoker %u failed, with batch %llu, dispatched at %s\n",
                TIME(stage->lost->lost_ns), stage->lost->invoker,
                (unsigned long long)stage->lost->batch, TIME(stage->lost->dispatched_ns));
        return;
    }
    print_decision(stage, out);
    if (explanation->trees.queue != NULL && stage->choice != NULL) {
        fprintf(out, "  tree       queue: %s\n             configuration: %s",
                way_text(explanation, stage->choice, explanation->trees.queue),
                way_text(explanation, stage->choice, explanation->trees.configuration));
        fprintf(out, "; taken: %u:%u\n", stage->choice->batch, stage->choice->rank);
    }
    print_place(stage, out);
    print_execution(stage, out);
    fprintf(out, "  finished   at %s, %s after it was ready\n", TIME(stage->batch->finished_ns),
            TIME(stage->batch->finished_ns - stage->job->ready_ns));
}

static void print_verdict(const struct request_row *request, FILE *out)
{
    const sim_time_t latency = request->finish_ns - request->arrival_ns;
    const sim_time_t spare = request->slo_ns - latency;
    if (request->dropped) {
        fprintf(out, "\nDropped at %s, %s after it arrived; it counts as a miss.\n",
                TIME(request->finish_ns), TIME(latency));
        return;
    }
    fprintf(out, "\nFinished at %s, after %s: ", TIME(request->finish_ns), TIME(latency));
    if (spare >= 0)
        fprintf(out, "SLO met with %s (%.1f %% of it) to spare.\n", TIME(spare),
                share(spare, request->slo_ns));
    else
        fprintf(out, "SLO missed by %s (%.1f %% of it).\n", TIME(-spare),
                share(-spare, request->slo_ns));
}

static void print_time(const struct explanation *explanation, FILE *out)
{
    const sim_time_t all = time_total(&explanation->path);
    const struct explained_stage *most = NULL;
    uint32_t on_path = 0;
    for (uint32_t s = 0; s < explanation->stage_count; s++) {
        const struct explained_stage *stage = &explanation->stages[s];
        on_path += stage->on_path;
        if (stage->on_path && (most == NULL || time_total(&stage->time) > time_total(&most->time)))
            most = stage;
    }
    if (most == NULL)
        return;
    fprintf(out, "Its time");
    if (on_path < explanation->stage_count) {
        fprintf(out, " along the longest path (");
        const char *before = "";
        for (uint32_t s = 0; s < explanation->stage_count; s++)
            if (explanation->stages[s].on_path) {
                fprintf(out, "%s%s", before, explanation->stages[s].name);
                before = ", ";
            }
        fprintf(out, ")");
    }
    const char *before = ": ";
    for (size_t p = 0; p < REQUEST_PARTS; p++)
        if (explanation->path.parts[p] > 0) {
            fprintf(out, "%s%s %s (%.1f %%)", before, parts[p].kind.words,
                    TIME(explanation->path.parts[p]), share(explanation->path.parts[p], all));
            before = ", ";
        }
    fprintf(out, ".\nMost of it in %s: %s (%.1f %%).\n", most->name, TIME(time_total(&most->time)),
            share(time_total(&most->time), all));
}

static void print_money(const struct explanation *explanation, FILE *out)
{
    const double all = explanation->request->cost_usd;
    const struct explained_stage *most = NULL;
    for (uint32_t s = 0; s < explanation->stage_count; s++) {
        const struct explained_stage *stage = &explanation->stages[s];
        if (stage->job != NULL && (most == NULL || stage->job->cost_usd > most->job->cost_usd))
            most = stage;
    }
    fprintf(out, "Its cost: $%.4g for 1,000 such requests", 1000 * all);
    if (most != NULL && all > 0)
        fprintf(out, ", most of it for %s: $%.4g (%.1f %%)", most->name, 1000 * most->job->cost_usd,
                100 * most->job->cost_usd / all);
    fprintf(out, ".\n");
}

static double since_arrival(const struct explanation *explanation, sim_time_t at)
{
    return sim_to_ms(at - explanation->request->arrival_ns);
}

/* Adds a stage: what it waited for and did, and what was planned. */
static void chart_stage(const struct explanation *explanation, const struct explained_stage *stage,
                        struct chart *chart)
{
    static const struct chart_kind group = {"planned, to the end of its group", '-', 0x0072B2},
                                   execution = {"planned execution", '=', 0x000000};
    const struct batch_row *batch = stage->batch;
    const sim_time_t end = batch != NULL ? batch->finished_ns : stage->lost->lost_ns;
    sim_time_t at = end - time_total(&stage->time);
    for (uint32_t p = 0; p < stage->predecessor_count; p++)
        chart_add(chart, CHART_LINK, NULL,
                  since_arrival(explanation,
                                explanation->stages[stage->predecessors[p]].batch->finished_ns),
                  since_arrival(explanation, at))
            ->other = stage->predecessors[p];
    for (size_t p = 0; p < REQUEST_PARTS; at += stage->time.parts[p++])
        if (stage->time.parts[p] > 0)
            chart_add(chart, CHART_BAR, &parts[p].kind, since_arrival(explanation, at),
                      since_arrival(explanation, at + stage->time.parts[p]));
    if (batch == NULL)
        return;
    if (stage->decision != NULL && stage->decision->alternatives > 0)
        chart_add(chart, CHART_PLAN, &group, since_arrival(explanation, batch->dispatched_ns),
                  since_arrival(explanation, batch->dispatched_ns + stage->decision->plan_time_ns));
    if (batch->planned_ms > 0)
        chart_add(chart, CHART_PLAN, &execution, since_arrival(explanation, batch->started_ns),
                  since_arrival(explanation, batch->started_ns) + batch->planned_ms);
}

void explanation_chart(const struct explanation *explanation, struct chart *chart)
{
    const struct request_row *request = explanation->request;
    struct arena *arena = explanation->arena;
    const struct chart_kind never = {"never ran", 'x', 0x767676},
                            due = {
                                arena_text(arena, "due: SLO %.3f ms", sim_to_ms(request->slo_ns)),
                                '|', 0x222222};
    *chart = (struct chart){
        .script = "request",
        .subject = arena_text(arena, "%" PRIu64 " of %s under %s", request->request,
                              explanation->application, explanation->run->policy),
        .caption = "A row is a stage, from when it was ready until it finished; below it what its "
                   "policy planned. Arrows: what it waited for.",
        .axis = "ms after it arrived",
        .arena = arena};
    for (uint32_t s = 0; s < explanation->stage_count; s++) {
        chart_row(chart, "%s", explanation->stages[s].name);
        if (explanation->stages[s].job != NULL || explanation->stages[s].lost != NULL)
            chart_stage(explanation, &explanation->stages[s], chart);
        else
            chart_add(chart, CHART_BAR, &never, 0, 0);
    }
    chart_add(chart, CHART_LINE, &due, sim_to_ms(request->slo_ns), sim_to_ms(request->slo_ns));
}

void explanation_text(const struct explanation *explanation, FILE *out)
{
    struct chart chart;
    explanation_chart(explanation, &chart);
    const struct request_row *request = explanation->request;
    const struct summary_row *run = explanation->run;
    fprintf(out, "Request %llu of run %s: %s under %s, seed %llu\n",
            (unsigned long long)request->request, run->hash,
            run->setting[0] != '\0' ? run->setting : run->name, run->policy,
            (unsigned long long)run->seed);
    fprintf(out, "It arrived at %s for %s%s, SLO %s: due by %s.\n", TIME(request->arrival_ns),
            explanation->application, request->measured ? "" : " (warm-up, not measured)",
            TIME(request->slo_ns), TIME(request->arrival_ns + request->slo_ns));
    for (uint32_t s = 0; s < explanation->stage_count; s++)
        print_stage(explanation, s, out);
    chart_print(&chart, out);
    print_verdict(request, out);
    print_time(explanation, out);
    print_money(explanation, out);
}

/* ---- As JSON --------------------------------------------------------------------------------- */

static void json_time(cJSON *object, const char *name, const struct stage_time *time)
{
    cJSON *list = cJSON_AddObjectToObject(object, name);
    for (size_t p = 0; p < REQUEST_PARTS; p++) {
        char key[32];
        (void)snprintf(key, sizeof key, "%s_ms", parts[p].key);
        cJSON_AddNumberToObject(list, key, sim_to_ms(time->parts[p]));
    }
}

static void json_decision(cJSON *item, const struct explained_stage *stage)
{
    const struct batch_row *batch = stage->batch;
    cJSON *object = cJSON_AddObjectToObject(item, "decision");
    json_put(object, "batch %d vcpu %d vgpu %d gpu %s quota %d", batch->configured_batch,
             batch->vcpu, batch->vgpu, stage->gpu_model, batch->quota);
    if (stage->decision == NULL)
        return;
    json_put(object, "alternatives %u plan_cost_usd %g plan_ms %g queue_length %u units %g",
             stage->decision->alternatives, stage->decision->plan_cost_usd,
             sim_to_ms(stage->decision->plan_time_ns), stage->decision->queue_length,
             (double)stage->decision->units);
}

static void json_stage(cJSON *list, const struct explanation *explanation,
                       const struct explained_stage *stage)
{
    cJSON *item = json_append(list);
    json_put(item, "name %s function %s ran %hhd", stage->name, stage->function,
             (bool)(stage->job != NULL));
    if (stage->lost != NULL) {
        json_put(item, "lost_ms %g invoker %u", sim_to_ms(stage->lost->lost_ns),
                 stage->lost->invoker);
        json_time(item, "time", &stage->time);
    }
    if (stage->job == NULL)
        return;
    const struct batch_row *batch = stage->batch;
    json_put(item, "ready_ms %g dispatched_ms %g started_ms %g finished_ms %g",
             sim_to_ms(stage->job->ready_ns), sim_to_ms(batch->dispatched_ns),
             sim_to_ms(batch->started_ns), sim_to_ms(batch->finished_ns));
    json_decision(item, stage);
    if (explanation->trees.queue != NULL && stage->choice != NULL)
        json_put(item, "tree_queue %s tree_configuration %s",
                 way_text(explanation, stage->choice, explanation->trees.queue),
                 way_text(explanation, stage->choice, explanation->trees.configuration));
    cJSON_AddNumberToObject(item, "batch", (double)batch->batch);
    cJSON *mates = cJSON_AddArrayToObject(item, "mates");
    for (uint32_t i = 0; i + 1 < batch->jobs; i++)
        cJSON_AddItemToArray(mates, cJSON_CreateNumber((double)stage->mates[i]));
    cJSON_AddNumberToObject(item, "invoker", batch->invoker);
    if (stage->gpu != SIM_NONE)
        cJSON_AddNumberToObject(item, "gpu", stage->gpu);
    cJSON_AddNumberToObject(item, "container", (double)batch->container);
    if (batch->instance != SIM_NONE)
        cJSON_AddNumberToObject(item, "instance", batch->instance);
    cJSON_AddNumberToObject(item, "co_runners", stage->co_runners);
    if (batch->planned_ms > 0)
        cJSON_AddNumberToObject(item, "planned_ms", batch->planned_ms);
    json_put(item, "noise %g slowdown %g cost_usd %g on_longest_path %hhd", batch->noise,
             batch->slowdown, stage->job->cost_usd, stage->on_path);
    json_time(item, "time", &stage->time);
}

bool explanation_json(const struct explanation *explanation, FILE *out, struct error *error)
{
    const struct request_row *request = explanation->request;
    cJSON *root = cJSON_CreateObject();
    json_put(root, "request %g run %s policy %s seed %" PRIu64 " application %s arrival_ms %g",
             (double)request->request, explanation->run->hash, explanation->run->policy,
             explanation->run->seed, explanation->application, sim_to_ms(request->arrival_ns));
    json_put(root, "finish_ms %g slo_ms %g hit %hhd dropped %hhd cost_usd %g",
             sim_to_ms(request->finish_ns), sim_to_ms(request->slo_ns), (bool)(request->hit != 0),
             (bool)(request->dropped != 0), request->cost_usd);
    cJSON *stages = cJSON_AddArrayToObject(root, "stages");
    for (uint32_t s = 0; s < explanation->stage_count; s++)
        json_stage(stages, explanation, &explanation->stages[s]);
    json_time(root, "time", &explanation->path);
    return json_write(root, out, "standard output", error);
}

/* ---- The latest ------------------------------------------------------------------------------ */

static sim_time_t lateness(const struct request_row *request)
{
    return request->finish_ns - request->arrival_ns - request->slo_ns;
}

static int compare_lateness(const void *a, const void *b)
{
    const struct request_row *const *left = a, *const *right = b;
    const sim_time_t first = lateness(*left), second = lateness(*right);
    if (first != second)
        return first > second ? -1 : 1;
    return ((*left)->request > (*right)->request) - ((*left)->request < (*right)->request);
}

static void worst_print(const struct explanation *told, cJSON *list, FILE *out)
{
    const struct request_row *request = told->request;
    const sim_time_t late = lateness(request), all = time_total(&told->path);
    size_t most = 0;
    for (size_t p = 1; p < REQUEST_PARTS; p++)
        most = told->path.parts[p] > told->path.parts[most] ? p : most;
    if (list != NULL) {
        json_put(json_append(list),
                 "request %" PRIu64 " application %s latency_ms %g late_ms %g most %s most_ms %g",
                 request->request, told->application, sim_to_ms(all), sim_to_ms(late),
                 parts[most].key, sim_to_ms(told->path.parts[most]));
        return;
    }
    fprintf(out, "request %" PRIu64 " of %s: %s %s, after %s; most: %s %s (%.1f %%)\n",
            request->request, told->application, TIME(late > 0 ? late : -late),
            late > 0 ? "late" : "early", TIME(all), parts[most].kind.words,
            TIME(told->path.parts[most]), share(told->path.parts[most], all));
}

/* Collects them in order; returns how many there are. */
static size_t latest(const struct run_record *record, const struct workload *workload,
                     const struct application *application, const struct request_row **rows)
{
    size_t found = 0;
    for (size_t r = 0; r < record->request_count; r++) {
        const struct request_row *row = &record->requests[r];
        if (row->measured && !row->dropped &&
            (application == NULL ||
             row->application == (uint32_t)(application - workload->applications)))
            rows[found++] = row;
    }
    qsort(rows, found, sizeof *rows, compare_lateness);
    return found;
}

bool explanation_worst(const struct summary_row *run, const struct run_record *record,
                       const char *application, size_t count, bool json, FILE *out,
                       struct error *error)
{
    struct outline outline = {.closed = false};
    struct arena *arena = arena_create();
    const struct request_row **rows = arena_allocate(arena, record->request_count, sizeof *rows);
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "requests");
    const struct application *of = NULL;
    bool good = outline_load(arena, record->configuration, &outline, error);
    if (good && application != NULL)
        good = (of = workload_find_application(&outline.workload, application, error)) != NULL;
    const size_t found = good ? latest(record, &outline.workload, of, rows) : 0;
    if (good && found == 0)
        good = error_input(error, "run %s served no such request; --training N is for trainings",
                           run->hash);
    for (size_t r = 0; good && r < found && r < count; r++) {
        struct explanation *told = explanation_build(run, record, rows[r]->request, error);
        good = told != NULL;
        if (good)
            worst_print(told, json ? list : NULL, out);
        arena_home_free(told);
    }
    if (good && json)
        good = json_write(root, out, "standard output", error);
    else
        cJSON_Delete(root);
    arena_destroy(arena);
    return good;
}
