#include "sim/cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include <cjson/cJSON.h>

#include "workloads/keep_alive.h"
#include "results/store/columns.h"
#include "results/store/record.h"
#include "sched/registry.h"
#include "sim/base/version.h"
#include "sim/base/json.h"
#include "sim/base/json_write.h"
#include "workloads/capacity.h"

/* Metrics named GROUP_rest are put into an object GROUP with key rest. Other names are used as
 * keys. */
static const char *const groups[] = {"latency_ms", "bound", "jct_s"};

static void json_add_figure(cJSON *object, const char *key, double value)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const size_t length = strlen(groups[i]);
        if (strncmp(key, groups[i], length) != 0 || key[length] != '_')
            continue;
        cJSON *group = cJSON_GetObjectItemCaseSensitive(object, groups[i]);
        object = group != NULL ? group : cJSON_AddObjectToObject(object, groups[i]);
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

static void json_add_notices(cJSON *root, const char *notices)
{
    cJSON *lists[] = {cJSON_AddArrayToObject(root, "notes"),
                      cJSON_AddArrayToObject(root, "warnings")};
    bool warning = false;
    char text[NOTICE_LENGTH];
    for (const char *at = notices; at != NULL && notices_next(&at, &warning, text, sizeof text);)
        cJSON_AddItemToArray(lists[warning], cJSON_CreateString(text));
}

/* Names the policies of the runs that have the notice, unless all have it. */
static void notice_policies(FILE *stream, const struct output_run *runs, size_t count,
                            const char *text)
{
    size_t with = 0;
    for (size_t i = 0; i < count; i++)
        with += strstr(runs[i].result->notices, text) != NULL;
    for (size_t i = 0, left = with; with < count && i < count; i++)
        if (strstr(runs[i].result->notices, text) != NULL)
            fprintf(stream, "%s%s", runs[i].experiment->policy_name, --left > 0 ? ", " : ": ");
}

/* Prints each notice of the runs once. `lead`: before every line. */
static void text_notices_of(FILE *stream, const char *lead, bool warnings_only,
                            const struct output_run *runs, size_t count)
{
    bool warning = false;
    char text[NOTICE_LENGTH];
    for (size_t i = 0; i < count; i++)
        for (const char *at = runs[i].result->notices;
             at != NULL && notices_next(&at, &warning, text, sizeof text);) {
            size_t first = 0;
            while (strstr(runs[first].result->notices, text) == NULL)
                first++;
            if (first < i || (warnings_only && !warning))
                continue;
            fprintf(stream, "%s%s: ", lead, warning ? "warning" : "note");
            notice_policies(stream, runs, count, text);
            fprintf(stream, "%s\n", text);
        }
}

void output_warnings(const struct output_run *runs, size_t count)
{
    text_notices_of(stderr, "esgsim: ", true, runs, count);
}

static bool is_set(const struct cli_settings *settings, const char *key)
{
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->list[i].key, key) == 0)
            return true;
    return false;
}

void output_note_warmup(const struct cli_settings *settings, const struct experiment *experiment)
{
    const uint64_t tenth = experiment->requests / 10;
    if (is_set(settings, "requests") && !is_set(settings, "warmup_requests") &&
        experiment->warmup_requests > tenth)
        fprintf(stderr,
                "esgsim: note: the warm-up remains %" PRIu64 " requests, as in the file; "
                "--set warmup_requests=%" PRIu64 " makes it a tenth of the measured ones\n",
                experiment->warmup_requests, tenth);
}

void output_note_cold(const struct simulation_result *result)
{
    const struct measures *all = &result->overall;
    if (all->cold_start_rate > 0.5 || (all->cold_start_rate > 0.1 && all->slo_hit_rate < 0.5))
        fprintf(stderr,
                "esgsim: note: %.3g %% of the jobs waited for a container to start, and others "
                "in queues behind them; "
                "platform.initial sets how many are warm at the beginning, such as "
                "{\"per_invoker\": 5}, and platform.keep_alive_s how long they remain\n",
                100 * all->cold_start_rate);
}

/* Peak memory of this process so far, KiB. */
static long peak_memory_kb(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

/* Name of the keep-alive policy in effect: see workloads/keep_alive.h. */
static const char *keep_alive_in_force(const struct experiment *experiment)
{
    if (experiment->platform.keep_alive_policy != NULL)
        return experiment->platform.keep_alive_policy->name;
    const struct policy *policy = policy_find_for(experiment, NULL);
    return policy != NULL && policy->keep_alive != NULL ? policy->name : "fixed";
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

cJSON *output_run_json(const struct output_run *shown)
{
    const struct experiment *experiment = shown->experiment;
    const struct simulation_result *result = shown->result;
    cJSON *root = cJSON_CreateObject();
    json_put(root, "name %s policy %s keep_alive %s seed %" PRIu64, experiment->name,
             experiment->policy_name, keep_alive_in_force(experiment), experiment->seed);
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
             (bool)(experiment->platform.decision_cost != DECISION_MEASURED));
    json_add_notices(root, result->notices);
    json_put(root, "wall_s %g peak_memory_kb %g config_hash %s version %s commit %s sources %s",
             result->wall_s, (double)peak_memory_kb(), experiment->hash, version_number(),
             version_commit(), version_sources());
    return root;
}

static void table_cell(FILE *stream, int width, int digits, double value)
{
    if (isfinite(value))
        fprintf(stream, " %*.*f", width, digits, value);
    else
        fprintf(stream, " %*s", width, "-");
}

/* The tighter of the two bounds on hits. fmin ignores NAN: the bound by capacity may be unknown. */
static double table_bound_hits(const struct simulation_result *result)
{
    return fmin(result->overall.bound_slo_hit_rate, result->run.bound_capacity_slo_hit_rate);
}

static void text_row(FILE *stream, const char *name, const struct measures *m, double bound_hits)
{
    if (m->requests == 0) {
        fprintf(stream, "%-30s %8d %8s\n", name, 0,
                "-"); /* a ratio with denominator 0 is not 0 % */
        return;
    }
    fprintf(stream, "%-30s %8" PRIu64, name, m->requests);
    table_cell(stream, 8, 2, 100 * m->slo_hit_rate);
    table_cell(stream, 8, 2, m->goodput_per_s);
    table_cell(stream, 8, 4, 1000 * m->cost_per_request_usd);
    table_cell(stream, 8, 4, 1000 * m->cost_per_hit_usd);
    table_cell(stream, 9, 1, m->latency_ms_p50);
    table_cell(stream, 9, 1, m->latency_ms_p95);
    table_cell(stream, 9, 1, m->latency_ms_p99);
    table_cell(stream, 8, 2, 100 * m->cold_start_rate);
    table_cell(stream, 6, 2, m->mean_batch);
    fputs(" |", stream);
    table_cell(stream, 8, 2, 100 * bound_hits);
    table_cell(stream, 10, 4, 1000 * m->bound_cost_per_request_usd);
    fputc('\n', stream);
}

/* A policy that drops what is late has few and fast requests left. */
static void text_base(FILE *stream, const struct output_run *shown)
{
    const struct measures *m = &shown->result->overall;
    if (m->dropped > 0)
        fprintf(stream, "percentiles of %s: of %" PRIu64 " finished, %" PRIu64 " dropped\n",
                shown->experiment->policy_name, m->requests - m->dropped, m->dropped);
}

static void text_line(FILE *stream, const char *name, double value, const char *unit,
                      const char *help)
{
    char text[32] = "none";
    if (!isnan(value))
        (void)snprintf(text, sizeof text, "%.6g", value);
    fprintf(stream, "  %-31s %11s %-2s  %s\n", name, text, strcmp(unit, "1") == 0 ? "" : unit,
            help);
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
static void text_title(FILE *stream, const struct output_run *shown, bool several)
{
    const struct experiment *experiment = shown->experiment;
    const uint64_t requests = shown->result->overall.requests;
    fprintf(stream, "%s: ", experiment->name);
    if (!several)
        fprintf(stream, "policy %s, ", experiment->policy_name);
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
static void text_notices(FILE *stream, const struct output_run *runs, size_t count)
{
    bool exact = true;
    text_notices_of(stream, "", false, runs, count);
    for (size_t i = 0; i < count; i++)
        exact = exact && runs[i].result->exact_quantiles;
    if (runs[0].experiment->platform.decision_cost == DECISION_MEASURED)
        fprintf(stream, "decision times were measured: this result is not deterministic\n");
    if (!exact)
        fprintf(stream, "percentiles are within 0.05 %% (too many samples to keep them all)\n");
}

static void text_metrics(FILE *stream, enum metric_scope scope, const void *members)
{
    for (size_t i = 0; i < metric_count + training_metric_count; i++)
        if (metrics[i].scope == scope)
            text_line(stream, metrics[i].name, metric_number(&metrics[i], members), metrics[i].unit,
                      metrics[i].help);
}

/* The run's figures that do not need requests. */
static void text_run_of_trainings(FILE *stream, const struct run_measures *run)
{
    text_line(stream, "cost_cluster_usd", run->cost_cluster_usd, "$",
              "the whole cluster rented for the measured time");
    text_line(stream, "decisions", (double)run->decisions, "1",
              "calls of the policy's decide that acted or charged work");
    text_line(stream, "vcpu_utilisation", run->vcpu_utilisation, "1",
              "vCPU-time held / vCPU capacity");
    text_line(stream, "memory_utilisation", run->memory_utilisation, "1",
              "host memory held / capacity");
    text_line(stream, "gpu_memory_utilisation", run->gpu_memory_utilisation, "1",
              "GPU memory held / capacity");
    text_line(stream, "gpu_fragmentation", run->gpu_fragmentation, "1",
              "free share of GPUs that run something (Dilu's per-active-GPU form)");
    text_line(stream, "simulated_s", run->simulated_s, "s",
              "from the first measured arrival to the end");
    text_line(stream, "events", (double)run->events, "1", "events processed");
}

static void text_applications(FILE *stream, const struct experiment *experiment,
                              const struct simulation_result *result)
{
    fprintf(stream, "\n%-30s %8s %8s %8s %8s %8s %9s %9s %9s %8s %6s | %19s\n", "", "", "SLO hit",
            "goodput", "$/1000", "$/1000", "p50", "p95", "p99", "cold", "mean", "bound");
    fprintf(stream, "%-30s %8s %8s %8s %8s %8s %9s %9s %9s %8s %6s | %8s %10s\n", "application",
            "requests", "%", "/s", "requests", "hits", "ms", "ms", "ms", "% jobs", "batch", "hit %",
            "$/1000");
    for (size_t a = 0; a < result->application_count; a++)
        text_row(stream, experiment->workload.applications[a].name, &result->applications[a],
                 result->application_count > 1 ? result->applications[a].bound_slo_hit_rate
                                               : table_bound_hits(result));
    if (result->application_count > 1)
        text_row(stream, "all", &result->overall, table_bound_hits(result));
    fputc('\n', stream);
}

void output_run_text(FILE *stream, const struct output_run *shown)
{
    const struct experiment *experiment = shown->experiment;
    const struct simulation_result *result = shown->result;
    const struct run_measures *run = &result->run;
    const bool requests = experiment->workload.application_count > 0;
    text_title(stream, shown, false);
    if (requests)
        text_applications(stream, experiment, result);
    text_base(stream, shown);
    if (result->training != NULL) {
        fprintf(stream, "\ntrainings\n");
        text_metrics(stream, METRIC_OF_TRAININGS, result->training);
        fputc('\n', stream);
    }
    if (requests)
        text_metrics(stream, METRIC_OF_RUN, run);
    else
        text_run_of_trainings(stream, run);
    fprintf(stream, "  %-26s %.3g s (%.4g events/s, %.4g requests/s)\n", "wall time",
            result->wall_s, (double)run->events / result->wall_s,
            (double)(result->overall.requests + experiment->warmup_requests) / result->wall_s);
    text_notices(stream, shown, 1);
}

/* ---- One row per policy -----------------------------------------------------------------------
 */

static void table_row(FILE *stream, int width, const struct output_run *shown)
{
    const struct measures *m = &shown->result->overall;
    fprintf(stream, "%-*s", width, shown->experiment->policy_name);
    table_cell(stream, 7, 2, 100 * m->slo_hit_rate);
    table_cell(stream, 6, 2, 100 * shown->result->run.slo_hit_rate_worst_application);
    table_cell(stream, 5, 1, 100 * shown->result->run.jain_index);
    table_cell(stream, 7, 2, m->goodput_per_s);
    table_cell(stream, 7, 4, 1000 * m->cost_per_request_usd);
    table_cell(stream, 7, m->cost_per_hit_usd < 0.01 ? 4 : 2, 1000 * m->cost_per_hit_usd);
    table_cell(stream, 8, 1, m->latency_ms_p99);
    table_cell(stream, 5, 2, m->mean_batch);
    table_cell(stream, 7, 1, shown->result->run.decision_us_mean);
    fputc('\n', stream);
}

/* Arrivals of `closed` depend on the policy, and the bounds with them. Otherwise only the first run
 * has bounds. */
static bool table_has_bounds(const struct output_run *runs, size_t count)
{
    const double hits = table_bound_hits(runs[0].result);
    for (size_t i = 1; i < count; i++)
        if (fabs(table_bound_hits(runs[i].result) - hits) > 0)
            return false;
    return !isnan(hits);
}

/* Trainings: a row per policy. */
static void trainings_table(FILE *stream, int width, const struct output_run *runs, size_t count)
{
    fprintf(stream, "\n%-*s %9s %10s %10s %10s %11s %9s %9s %9s\n", width, "", "trainings",
            "mean JCT", "p99", "makespan", "queueing", "slowdown", "restarts", "effective");
    fprintf(stream, "%-*s %9s %10s %10s %10s %11s %9s %9s %9s\n", width, "policy", "finished", "h",
            "h", "h", "h", "", "", "GPU %");
    for (size_t i = 0; i < count; i++) {
        const struct training_measures *m = runs[i].result->training;
        if (m == NULL)
            continue;
        fprintf(stream, "%-*s %9" PRIu64, width, runs[i].experiment->policy_name, m->finished);
        table_cell(stream, 10, 3, m->jct_s_mean / 3600);
        table_cell(stream, 10, 2, m->jct_s_p99 / 3600);
        table_cell(stream, 10, 2, m->makespan_s / 3600);
        table_cell(stream, 11, 3, m->queueing_s_mean / 3600);
        table_cell(stream, 9, 2, m->slowdown);
        fprintf(stream, " %9" PRIu64, m->restarts);
        table_cell(stream, 9, 1, 100 * m->gpu_effective);
        fputc('\n', stream);
    }
}

static void requests_table(FILE *stream, int width, const struct output_run *runs, size_t count)
{
    fprintf(stream, "\n%-*s %7s %6s %5s %7s %7s %7s %8s %5s %7s\n", width, "", "SLO hit", "worst",
            "Jain", "goodput", "$/1000", "$/1000", "p99", "mean", "decide");
    fprintf(stream, "%-*s %7s %6s %5s %7s %7s %7s %8s %5s %7s\n", width, "policy", "%", "app %",
            "%", "/s", "req", "hits", "ms", "batch", "us");
    for (size_t i = 0; i < count; i++)
        table_row(stream, width, &runs[i]);
    if (table_has_bounds(runs, count)) {
        fprintf(stream, "%-*s", width, "bound");
        table_cell(stream, 7, 2, 100 * table_bound_hits(runs[0].result));
        table_cell(stream, 29, 4, 1000 * runs[0].result->overall.bound_cost_per_request_usd);
        fputc('\n', stream);
    }
    for (size_t i = 0; i < count; i++)
        text_base(stream, &runs[i]);
}

void output_table_text(FILE *stream, const struct output_run *runs, size_t count)
{
    int width = 12;
    for (size_t i = 0; i < count; i++)
        if (strlen(runs[i].experiment->policy_name) > (size_t)width)
            width = (int)strlen(runs[i].experiment->policy_name);
    text_title(stream, runs, count > 1);
    if (runs[0].result->training != NULL)
        trainings_table(stream, width, runs, count);
    if (runs[0].experiment->workload.application_count > 0)
        requests_table(stream, width, runs, count);
    text_notices(stream, runs, count);
}

bool output_close(struct error *error)
{
    const bool failed = ferror(stdout) != 0;
    errno = 0;
    /* The reason of an earlier failure is lost, so fail once more. */
    if (failed)
        putchar('\n');
    const bool flushed = fflush(stdout) == 0;
    int reason = errno;
    const bool closed = fclose(stdout) == 0;
    if (!failed && flushed && closed)
        return true;
    reason = reason != 0 ? reason : errno != 0 ? errno : EIO;
    return error_write(error, "standard output", reason);
}
