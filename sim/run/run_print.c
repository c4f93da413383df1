#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "results/page/report_columns.h"
#include "results/report/table.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"
#include "sim/base/version.h"
#include "sim/run/run_policies.h"
#include "workloads/spec/keep_alive.h"
#include "workloads/world/capacity.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const objects[] = {
#define METRIC_OBJECT(name) #name,
#include "sim/base/metrics.def"
};

/* Puts OBJECT_rest into an object of that name. */
static void json_add_figure(cJSON *object, const char *key, double value)
{
    for (size_t i = 0; i < COUNT(objects); i++) {
        const size_t length = strlen(objects[i]);
        if (strncmp(key, objects[i], length) != 0 || key[length] != '_')
            continue;
        cJSON *inner = cJSON_GetObjectItemCaseSensitive(object, objects[i]);
        object = inner != NULL ? inner : cJSON_AddObjectToObject(object, objects[i]);
        key += length + 1;
        break;
    }
    cJSON_AddNumberToObject(object, key, value);
}

/* Adds the metrics of that scope, which are members of `members`. */
static void json_add_metrics(cJSON *object, enum metric_scope scope, const void *members)
{
    for (size_t i = 0; i < metric_count + training_metric_count; i++)
        if (metrics[i].scope == scope)
            json_add_figure(object, metrics[i].name, metric_number(&metrics[i], members));
}

static void json_add_notices(cJSON *root, const struct notices *notices)
{
    cJSON *lists[] = {cJSON_AddArrayToObject(root, "notes"),
                      cJSON_AddArrayToObject(root, "warnings")};
    for (size_t n = 0; n < notices->count; n++)
        cJSON_AddItemToArray(lists[notices->rows[n].warning],
                             cJSON_CreateString(notices->rows[n].text));
}

/* The policy's name, as reports have it; of several modules of one name the path. */
static const char *name_of(const struct policy_run *runs, size_t count, size_t run)
{
    const struct policy *policy = runs[run].run.policy;
    if (runs[run].variant != NULL)
        return runs[run].variant;
    for (size_t i = 0; i < count; i++)
        if (runs[i].run.policy != policy && strcmp(runs[i].run.policy->name, policy->name) == 0)
            return runs[run].run.experiment->policy_name;
    return policy->name;
}

static bool run_has(const struct policy_run *run, const struct notice *notice)
{
    const struct notices *notices = &run->result.notices;
    size_t n = 0;
    while (n < notices->count && !notice_equals(&notices->rows[n], notice))
        n++;
    return n < notices->count;
}

/* Prints a notice after the names of the policies of the runs that have it, unless all have it. */
static void text_notice(FILE *stream, const char *lead, const struct notice *notice,
                        const struct policy_run *runs, size_t count)
{
    size_t with = 0;
    for (size_t i = 0; i < count; i++)
        with += run_has(&runs[i], notice);
    fprintf(stream, "%s%s: ", lead, notice->warning ? "warning" : "note");
    const bool named = notice->kind == NOTICE_REFUSES; /* its text names the policy */
    for (size_t i = 0, left = with; with < count && !named && i < count; i++)
        if (run_has(&runs[i], notice))
            fprintf(stream, "%s%s", name_of(runs, count, i), --left > 0 ? ", " : ": ");
    fprintf(stream, "%s\n", notice->text);
}

/* Prints each notice of the runs once. `lead`: before every line. */
static void text_notices_of(FILE *stream, const char *lead, bool warnings_only,
                            const struct policy_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < runs[i].result.notices.count; n++) {
            const struct notice *notice = &runs[i].result.notices.rows[n];
            size_t first = 0;
            while (!run_has(&runs[first], notice))
                first++;
            if (first == i && (notice->warning || !warnings_only))
                text_notice(stream, lead, notice, runs, count);
        }
}

/* Cold starts decide the result if more than half of the jobs waited for one, or a tenth while most
 * requests miss their SLO. */
static void note_cold(const struct simulation_result *result)
{
    const struct measures *all = &result->overall;
    if (all->cold_start_rate > 0.5 || (all->cold_start_rate > 0.1 && all->slo_hit_rate < 0.5))
        (void)fprintf(
            text_messages(),
            "esgsim: note: %.3g %% of the jobs waited for a container to start, and others "
            "in queues behind them; "
            "platform.initial sets how many are warm at the beginning, such as "
            "{\"per_invoker\": 5}, and platform.keep_alive_s how long they remain\n",
            100 * all->cold_start_rate);
}

/* Processor time per decision, beside the simulated one that is charged; NAN: a built-in policy. */
static double processor_us(const struct simulation_result *result)
{
    return result->callbacks_s * 1e6 / fmax((double)result->run.decisions, 1);
}

void policy_runs_warn(const struct policy_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        note_cold(&runs[i].result);
    text_notices_of(text_messages(), "esgsim: ", true, runs, count);
}

/* Peak memory of this process so far, KiB. */
static long peak_memory_kb(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

/* Name of the keep-alive policy in effect: see workloads/spec/keep_alive.h. */
static const char *keep_alive_in_force(const struct resolved_run *run)
{
    const struct keep_alive *named = run->experiment->platform.keep_alive_policy;
    return named != NULL                     ? named->name
           : run->policy->keep_alive != NULL ? run->policy->name
                                             : "fixed";
}

/* The load is known before the run, unless a trace or users set the rate. */
static void json_add_load(cJSON *root, const struct experiment *experiment)
{
    if (experiment->workload.application_count == 0)
        return;
    const double rate = arrival_spec_rate(&experiment->arrivals);
    const double capacity = capacity_find(&experiment->workload).rate_per_s;
    json_add_figure(root, "arrival_rate_per_s", rate);
    json_add_figure(root, "capacity_per_s", capacity);
    json_add_figure(root, "offered_load", rate / capacity);
}

cJSON *policy_run_json(const struct policy_run *shown)
{
    const struct experiment *experiment = shown->run.experiment;
    const struct simulation_result *result = &shown->result;
    cJSON *root = cJSON_CreateObject();
    json_put(root, "name %s policy %s keep_alive %s seed %" PRIu64, experiment->name,
             shown->variant != NULL ? shown->variant : experiment->policy_name,
             keep_alive_in_force(&shown->run), experiment->seed);
    json_add_load(root, experiment);
    json_add_metrics(root, METRIC_OF_APPLICATION, &result->overall);
    json_add_metrics(root, METRIC_OF_RUN, &result->run);
    if (result->training != NULL)
        json_add_metrics(cJSON_AddObjectToObject(root, "training"), METRIC_OF_TRAININGS,
                         result->training);
    cJSON *list = cJSON_AddArrayToObject(root, "applications");
    for (size_t a = 0; a < result->application_count; a++) {
        cJSON *entry = json_append(list);
        json_put(entry, "name %s slo_ms %g", experiment->workload.applications[a].name,
                 sim_to_ms(experiment->workload.applications[a].slo));
        json_add_metrics(entry, METRIC_OF_APPLICATION, &result->applications[a]);
    }
    json_put(root, "exact_quantiles %hhd profile_evidence %s deterministic %hhd",
             result->exact_quantiles, experiment->profile_evidence,
             experiment_is_repeatable(experiment));
    json_add_notices(root, &result->notices);
    if (!isnan(result->callbacks_s))
        json_add_figure(root, "decision_processor_us_mean", processor_us(result));
    json_put(root, "wall_s %g peak_memory_kb %g config_hash %s version %s commit %s sources %s",
             result->wall_s, (double)peak_memory_kb(), experiment->hash, version_number(),
             version_commit(), version_sources());
    return root;
}

/* The tighter of the two bounds on hits. fmin ignores NAN: the bound by capacity may be unknown. */
static double table_bound_hits(const struct simulation_result *result)
{
    return fmin(result->overall.bound_slo_hit_rate, result->run.bound_capacity_slo_hit_rate);
}

static void text_served(FILE *stream, const struct policy_run *shown, const char *name)
{
    const struct measures *m = &shown->result.overall;
    report_served_print(stream, name, m->drop_rate, m->latency_ms_mean, m->served_ms_p50,
                        m->served_ms_p99);
}

/* A line of one figure, and what it is. */
static void text_line(FILE *stream, const struct metric *metric, const void *members)
{
    const double value = metric->face.scale * metric_number(metric, members);
    char text[TEXT_TIME];
    if (isnan(value))
        (void)snprintf(text, sizeof text, "none");
    else
        (void)snprintf(text, sizeof text, "%.*f%s%s", metric_decimals(metric, value), value,
                       metric->face.unit[0] == '\0' ? "" : " ", metric->face.unit);
    const int width = 12 + (int)(strlen(text) - text_width(text, strlen(text)));
    fprintf(stream, "  %-31s %*s  %s\n", metric->name, width, text, metric->help);
}

static void text_load(FILE *stream, const struct experiment *experiment)
{
    const double rate = arrival_spec_rate(&experiment->arrivals);
    const struct capacity capacity = capacity_find(&experiment->workload);
    if (isfinite(rate) && isfinite(capacity.rate_per_s))
        fprintf(stream,
                "arrivals: %.4g requests per second, load %.3g (capacity at %s configurations: "
                "%.4g, limited by %s)\n",
                rate, rate / capacity.rate_per_s, capacity.is_referred ? "reference" : "minimum",
                capacity.rate_per_s, capacity.limiting);
}

/* Names the run; `several`: the first of several that differ in their policies. */
static void text_title(FILE *stream, const struct policy_run *shown, bool several)
{
    const struct experiment *experiment = shown->run.experiment;
    const uint64_t requests = shown->result.overall.requests;
    fprintf(stream, "%s: ", experiment->name);
    if (!several)
        fprintf(stream, "policy %s, ", name_of(shown, 1, 0));
    fprintf(stream, "seed %" PRIu64, experiment->seed);
    if (experiment->workload.application_count > 0)
        fprintf(stream, ", %" PRIu64 " requests after %" PRIu64 " of warm-up", requests,
                experiment->warmup_requests);
    if (!several)
        fprintf(stream, ", configuration %s", experiment->hash);
    fputc('\n', stream);
    if (experiment->workload.application_count == 0)
        return;
    if (requests < experiment->requests)
        fprintf(stream, "the trace ended before the %" PRIu64 " requests asked for\n",
                experiment->requests);
    text_load(stream, experiment);
    if (experiment->profile_evidence[0] != '\0')
        fprintf(stream, "profile evidence: %s\n", experiment->profile_evidence);
}

/* What a reader of the figures must know. */
static void text_notices(FILE *stream, const struct policy_run *runs, size_t count)
{
    bool exact = true;
    text_notices_of(stream, "", false, runs, count);
    for (size_t i = 0; i < count; i++)
        exact = exact && runs[i].result.exact_quantiles;
    if (runs[0].run.experiment->platform.decision_cost == DECISION_MEASURED)
        fprintf(stream, "decision times were measured: this result is not deterministic\n");
    if (!exact)
        fprintf(stream, "percentiles are within 0.05 %% (too many samples to keep them all)\n");
}

/* The metrics of that scope in groups. `bare`: those of a run without requests. */
static void text_metrics(FILE *stream, enum metric_scope scope, const void *members, bool bare)
{
    const char *group = NULL;
    for (size_t i = 0; i < metric_count + training_metric_count; i++) {
        if (metrics[i].scope != scope || (bare && (metrics[i].places & IN_BARE_RUN) == 0))
            continue;
        if (group != metric_group_titles[metrics[i].group]) {
            group = metric_group_titles[metrics[i].group];
            fprintf(stream, "\n%s\n", group);
        }
        text_line(stream, &metrics[i], members);
    }
}

/* ---- Tables ---------------------------------------------------------------------------------- */

struct shown_row {
    const char *name;
    const struct measures *measures; /* of an application, or of all */
    const struct simulation_result *result;
    bool bounds; /* the bounds of the metrics */
};

/* NAN: there is none. */
static double cell_value(const struct metric *metric, const struct shown_row *row)
{
    const struct simulation_result *result = row->result;
    const double scale = metric->face.scale;
    char name[64];
    (void)snprintf(name, sizeof name, "%s%s", row->bounds ? "bound_" : "", metric->name);
    metric = report_metric_find(name);
    if (metric == NULL)
        return NAN;
    if (row->measures == &result->overall && strcmp(name, "bound_slo_hit_rate") == 0)
        return scale * table_bound_hits(result);
    return scale * (metric->scope == METRIC_OF_TRAININGS
                        ? metric_number(metric, result->training)
                        : metric_value(metric, row->measures, &result->run));
}

struct shown_rows {
    const struct shown_row *rows;
    size_t count;
};

static double largest_of(const void *context, const struct metric *metric)
{
    const struct shown_rows *shown = context;
    double largest = 0;
    for (size_t r = 0; r < shown->count; r++)
        largest = fmax(largest, fabs(cell_value(metric, &shown->rows[r])));
    return largest;
}

/* The metrics of trainings, or of requests, that have a column there. */
static void print_rows(FILE *stream, const char *first, enum metric_place place, bool trainings,
                       const struct shown_row *rows, size_t count)
{
    struct report_columns columns = {.count = 0};
    const char *headers[1 + REPORT_COLUMNS] = {first};
    metric_columns_select(place, trainings ? METRIC_COMPLETION : METRIC_RESULTS,
                          trainings ? METRIC_GANGS : METRIC_COMPLETION - 1, largest_of,
                          &(struct shown_rows){rows, count}, &columns);
    for (size_t c = 0; c < columns.count; c++)
        headers[1 + c] = columns.metrics[c]->face.header;
    struct text_table *table = text_table_create(headers, 1 + columns.count);
    text_table_dense(table);
    for (size_t r = 0; r < count; r++) {
        text_table_row(table);
        text_table_name(table, 0, "%s", rows[r].name);
        for (size_t c = 0; c < columns.count; c++) {
            const struct metric *metric = columns.metrics[c];
            const double value = cell_value(metric, &rows[r]);
            if (isfinite(value))
                text_table_cell(table, 1 + c, "%.*f",
                                metric_cell_decimals(metric, columns.decimals[c], value), value);
            else if (!rows[r].bounds)
                text_table_cell(table, 1 + c, "-");
        }
    }
    (void)fputc('\n', stream);
    text_table_print(table, 0, stream);
}

static void text_applications(FILE *stream, const struct experiment *experiment,
                              const struct simulation_result *result)
{
    struct arena *arena = arena_create();
    const size_t count = result->application_count;
    struct shown_row *rows = arena_allocate(arena, count + 1, sizeof *rows);
    for (size_t a = 0; a < count; a++)
        rows[a] = (struct shown_row){experiment->workload.applications[a].name,
                                     &result->applications[a], result, false};
    /* Of one application the bounds are those of all. */
    rows[count == 1 ? 0 : count] =
        (struct shown_row){count == 1 ? rows[0].name : "all", &result->overall, result, false};
    print_rows(stream, "application", IN_DETAILS, false, rows, count + (count > 1));
    arena_destroy(arena);
}

void policy_run_text(FILE *stream, const struct policy_run *shown)
{
    const struct experiment *experiment = shown->run.experiment;
    const struct simulation_result *result = &shown->result;
    const struct run_measures *run = &result->run;
    const bool requests = experiment->workload.application_count > 0;
    text_title(stream, shown, false);
    if (requests)
        text_applications(stream, experiment, result);
    text_served(stream, shown, name_of(shown, 1, 0));
    if (result->training != NULL)
        text_metrics(stream, METRIC_OF_TRAININGS, result->training, false);
    text_metrics(stream, METRIC_OF_RUN, run, !requests);
    if (!isnan(result->callbacks_s))
        fprintf(stream, "\nprocessor time: %.3g us/decision in the policy; charged: %.3g us\n",
                processor_us(result), run->decision_us_mean);
    fprintf(stream, "\nwall time: %.3g s (%.4g events/s, %.4g requests/s)\n", result->wall_s,
            (double)run->events / result->wall_s,
            (double)(result->overall.requests + experiment->warmup_requests) / result->wall_s);
    text_notices(stream, shown, 1);
}

/* Arrivals of `closed` depend on the policy, and the bounds with them. Otherwise only the first run
 * has bounds. */
static bool table_has_bounds(const struct policy_run *runs, size_t count)
{
    const double hits = table_bound_hits(&runs[0].result);
    for (size_t i = 1; i < count; i++)
        if (fabs(table_bound_hits(&runs[i].result) - hits) > 0)
            return false;
    return !isnan(hits);
}

void policy_runs_table(FILE *stream, const struct policy_run *runs, size_t count)
{
    struct arena *arena = arena_create();
    struct shown_row *rows = arena_allocate(arena, count + 1, sizeof *rows);
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct shown_row){name_of(runs, count, i), &runs[i].result.overall,
                                     &runs[i].result, false};
    rows[count] = (struct shown_row){"bound", rows[0].measures, rows[0].result, true};
    text_title(stream, runs, count > 1);
    if (runs[0].result.training != NULL)
        print_rows(stream, "policy", IN_RUN, true, rows, count);
    if (runs[0].run.experiment->workload.application_count > 0)
        print_rows(stream, "policy", IN_RUN, false, rows, count + table_has_bounds(runs, count));
    for (size_t i = 0; i < count; i++)
        text_served(stream, &runs[i], name_of(runs, count, i));
    text_notices(stream, runs, count);
    arena_destroy(arena);
}
