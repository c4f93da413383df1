#include "results/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/array.h"
#include "results/report/curve.h"
#include "results/report/paired.h"
#include "results/report/reproduction_check.h"
#include "results/report/training_table.h"
#include "results/store/run_label.h"

static bool no_memory(struct error *error)
{
    return error_run(error, "out of memory for the report");
}

/* ---- Building ------------------------------------------------------------------------------ */

static struct report_scenario *scenario_of(struct report *report, const struct summary_row *run)
{
    char *conditions = run_label_conditions(run->label);
    if (conditions == NULL)
        return NULL;
    for (size_t s = 0; s < report->scenario_count; s++) {
        struct report_scenario *scenario = &report->scenarios[s];
        if (strcmp(scenario->name, run->name) == 0 &&
            strcmp(scenario->setting, run->setting) == 0 &&
            strcmp(scenario->label, run->setting_label) == 0 &&
            strcmp(scenario->evidence, run->evidence) == 0 &&
            strcmp(scenario->conditions, conditions) == 0) {
            free(conditions);
            return scenario;
        }
    }
    struct report_scenario *scenario = &report->scenarios[report->scenario_count];
    scenario->number = report->scenario_count++;
    scenario->name = run->name;
    scenario->setting = run->setting;
    scenario->label = run->setting_label;
    scenario->evidence = run->evidence;
    scenario->conditions = conditions;
    scenario->reference = REPORT_NONE;
    return scenario;
}

/* Returns the run's parameters. If policies of different modules have the same name, a pair
 * "sha256=1a2b3c4d" precedes them. The caller frees it; NULL: memory exhausted. */
static char *variant_of(const struct results *results, const struct summary_row *run)
{
    char *variant = run_label_of_policy(run->label);
    bool several = false;
    for (size_t i = 0; run->policy_sha256[0] != '\0' && !several && i < results->run_count; i++)
        several = strcmp(results->runs[i].policy, run->policy) == 0 &&
                  strcmp(results->runs[i].policy_sha256, run->policy_sha256) != 0;
    if (!several || variant == NULL)
        return variant;
    char *longer = NULL;
    const char *between = variant[0] == '\0' ? "" : " ";
    if (asprintf(&longer, "sha256=%.8s%s%s", run->policy_sha256, between, variant) < 0)
        longer = NULL;
    free(variant);
    return longer;
}

static struct report_contender *contender_of(const struct results *results,
                                             struct report_scenario *scenario,
                                             const struct summary_row *run)
{
    char *variant = variant_of(results, run);
    if (variant == NULL)
        return NULL;
    for (size_t c = 0; c < scenario->contender_count; c++) {
        struct report_contender *contender = &scenario->contenders[c];
        if (strcmp(contender->policy, run->policy) == 0 &&
            strcmp(contender->label, run->policy_label) == 0 &&
            strcmp(contender->variant, variant) == 0) {
            free(variant);
            return contender;
        }
    }
    if (!array_extend(&scenario->contenders, scenario->contender_count,
                      sizeof *scenario->contenders)) {
        free(variant);
        return NULL;
    }
    struct report_contender *contender = &scenario->contenders[scenario->contender_count++];
    *contender = (struct report_contender){
        .policy = run->policy, .label = run->policy_label, .variant = variant};
    return contender;
}

/* Inserts a run, keeping the runs sorted by seed. */
static bool contender_add(const struct report *report, struct report_contender *contender,
                          size_t run)
{
    const struct summary_row *rows = report->results->runs;
    if (!array_extend(&contender->runs, contender->run_count, sizeof run))
        return false;
    size_t at = contender->run_count++;
    for (; at > 0 && rows[contender->runs[at - 1]].seed > rows[run].seed; at--)
        contender->runs[at] = contender->runs[at - 1];
    contender->runs[at] = run;
    return true;
}

struct run_key {
    const char *hash;
    size_t run;
};

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct run_key *)a)->hash, ((const struct run_key *)b)->hash);
}

/* Links each run's application rows, in the order of the file. */
static bool rows_link(struct report *report)
{
    const struct results *results = report->results;
    struct run_key *keys = calloc(results->run_count + 1, sizeof *keys);
    report->first_row = calloc(results->run_count + 1, sizeof *report->first_row);
    report->next_row = calloc(results->application_count + 1, sizeof *report->next_row);
    if (keys == NULL || report->first_row == NULL || report->next_row == NULL) {
        free(keys);
        return false;
    }
    for (size_t i = 0; i < results->run_count; i++) {
        keys[i] = (struct run_key){results->runs[i].hash, i};
        report->first_row[i] = REPORT_NONE;
    }
    qsort(keys, results->run_count, sizeof *keys, compare_keys);
    for (size_t row = results->application_count; row-- > 0;) {
        struct run_key wanted = {results->applications[row].hash, 0};
        const struct run_key *key =
            bsearch(&wanted, keys, results->run_count, sizeof *keys, compare_keys);
        if (key == NULL)
            continue;
        report->next_row[row] = report->first_row[key->run];
        report->first_row[key->run] = row;
    }
    free(keys);
    return true;
}

static bool scenario_name_applications(const struct report *report,
                                       struct report_scenario *scenario, size_t run)
{
    for (size_t row = report->first_row[run]; row != REPORT_NONE; row = report->next_row[row]) {
        const char *name = report->results->applications[row].application;
        size_t known = 0;
        while (known < scenario->application_count &&
               strcmp(scenario->applications[known], name) != 0)
            known++;
        if (known < scenario->application_count)
            continue;
        if (!array_extend(&scenario->applications, known, sizeof name))
            return false;
        scenario->applications[scenario->application_count++] = name;
    }
    return true;
}

/* Joins two texts, with a blank if neither is empty. The caller frees it; NULL: memory exhausted.
 */
static char *joined(const char *one, const char *other)
{
    char *text = NULL;
    const char *between = one[0] != '\0' && other[0] != '\0' ? " " : "";
    return asprintf(&text, "%s%s%s", one, between, other) < 0 ? NULL : text;
}

/* Finds the keys that the sweep set to the same value in all runs. */
static bool constants_find(struct report *report)
{
    const struct summary_row *runs = report->results->runs;
    const size_t count = report->results->run_count;
    char *common = strdup(count == 0 ? "" : runs[0].label);
    for (size_t i = 1; common != NULL && i < count; i++)
        if (strcmp(runs[i].label, runs[i - 1].label) != 0)
            run_label_keep_common(common, runs[i].label);
    char *conditions = common == NULL ? NULL : run_label_conditions(common);
    char *parameters = common == NULL ? NULL : run_label_of_policy(common);
    if (conditions != NULL && parameters != NULL)
        report->constants = joined(conditions, parameters);
    free(common);
    free(conditions);
    free(parameters);
    return report->constants != NULL;
}

/* The label, followed by the parameters that differ among contenders with that label. */
static char *labelled_title(const struct report_scenario *scenario,
                            const struct report_contender *contender)
{
    char *common = strdup(contender->variant);
    for (size_t c = 0; common != NULL && c < scenario->contender_count; c++)
        if (strcmp(scenario->contenders[c].label, contender->label) == 0)
            run_label_keep_common(common, scenario->contenders[c].variant);
    char *rest = common == NULL ? NULL : run_label_without(contender->variant, common);
    char *title = rest == NULL ? NULL : joined(contender->label, rest);
    free(common);
    free(rest);
    return title;
}

static bool contender_name(const struct report *report, const struct report_scenario *scenario,
                           struct report_contender *contender)
{
    size_t same = 0;
    for (size_t other = 0; other < scenario->contender_count; other++)
        same += strcmp(scenario->contenders[other].policy, contender->policy) == 0 &&
                scenario->contenders[other].label[0] == '\0';
    contender->distinction = run_label_without(contender->variant, report->constants);
    if (contender->distinction != NULL && contender->label[0] != '\0')
        contender->title = labelled_title(scenario, contender);
    else if (contender->distinction != NULL)
        contender->title = joined(contender->policy, same == 1 ? "" : contender->distinction);
    return contender->title != NULL;
}

static bool scenario_finish(const struct report *report, struct report_scenario *scenario)
{
    for (size_t c = 0; c < scenario->contender_count; c++) {
        struct report_contender *contender = &scenario->contenders[c];
        if (!contender_name(report, scenario, contender))
            return false;
        if (scenario->reference == REPORT_NONE &&
            strcmp(contender->policy, REPORT_REFERENCE_POLICY) == 0)
            scenario->reference = c;
    }
    if (scenario->reference == REPORT_NONE && scenario->contender_count > 0)
        scenario->reference = 0;
    const char *head = scenario->label[0] != '\0'     ? scenario->label
                       : scenario->setting[0] != '\0' ? scenario->setting
                                                      : scenario->name;
    char *conditions = run_label_without(scenario->conditions, report->constants);
    if (conditions != NULL)
        scenario->title = joined(head, conditions);
    free(conditions);
    return scenario->title != NULL;
}

/* Prefixes the experiment's name to the titles of scenarios if several experiments have the same
 * setting. */
static bool titles_part(struct report *report)
{
    for (size_t s = 0; s < report->scenario_count; s++) {
        struct report_scenario *scenario = &report->scenarios[s];
        bool shared = false;
        for (size_t o = 0; o < report->scenario_count && scenario->setting[0] != '\0'; o++) {
            const struct report_scenario *other = &report->scenarios[o];
            shared = shared || (o != s && strcmp(other->setting, scenario->setting) == 0 &&
                                strcmp(other->conditions, scenario->conditions) == 0);
        }
        char *title = NULL;
        if (!shared)
            continue;
        if (asprintf(&title, "%s %s", scenario->name, scenario->title) < 0)
            return false;
        free(scenario->title);
        scenario->title = title;
    }
    return true;
}

static bool build(struct report *report)
{
    const struct results *results = report->results;
    report->scenarios = calloc(results->run_count + 1, sizeof *report->scenarios);
    if (report->scenarios == NULL || !rows_link(report))
        return false;
    for (size_t i = 0; i < results->run_count; i++) {
        struct report_scenario *scenario = scenario_of(report, &results->runs[i]);
        if (scenario == NULL)
            return false;
        struct report_contender *contender = contender_of(results, scenario, &results->runs[i]);
        if (contender == NULL || !contender_add(report, contender, i))
            return false;
        if (!scenario_name_applications(report, scenario, i))
            return false;
    }
    if (!constants_find(report))
        return false;
    for (size_t s = 0; s < report->scenario_count; s++)
        if (!scenario_finish(report, &report->scenarios[s]))
            return false;
    return titles_part(report) && report_notices_find(report) && report_seeds_find(report);
}

struct report *report_build(const struct results *results, struct error *error)
{
    struct report *report = calloc(1, sizeof *report);
    if (report != NULL) {
        report->results = results;
        const struct curve_request load = {.limit = NAN};
        if (build(report) && curves_find(report, &load, &report->curves, NULL))
            return report;
    }
    report_free(report);
    (void)no_memory(error);
    return NULL;
}

void report_free(struct report *report)
{
    if (report == NULL)
        return;
    curves_free(report->curves);
    judgements_free(report);
    for (size_t s = 0; s < report->scenario_count; s++) {
        struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++) {
            free(scenario->contenders[c].variant);
            free(scenario->contenders[c].distinction);
            free(scenario->contenders[c].title);
            free(scenario->contenders[c].runs);
        }
        free(scenario->contenders);
        free(scenario->applications);
        free(scenario->conditions);
        free(scenario->title);
    }
    free(report->scenarios);
    for (size_t n = 0; n < report->notice_count; n++) {
        free(report->notices[n].text);
        free(report->notices[n].in);
    }
    free(report->notices);
    free(report->constants);
    free(report->incomplete);
    free(report->first_row);
    free(report->next_row);
    free(report);
}

bool report_serves(const struct report *report)
{
    return report->results->application_count > 0 || report->results->training_count == 0;
}

/* ---- Figures ------------------------------------------------------------------------------- */

/* Returns NULL if the run has no such application. */
static const struct measures *measures_of(const struct report *report, size_t run,
                                          const char *application)
{
    if (application == NULL)
        return &report->results->runs[run].measures;
    for (size_t row = report->first_row[run]; row != REPORT_NONE; row = report->next_row[row])
        if (strcmp(report->results->applications[row].application, application) == 0)
            return &report->results->applications[row].measures;
    return NULL;
}

const struct metric report_late_rate = {.name = "late_rate",
                                        .unit = "1",
                                        .help = "share of requests that were served, and too late",
                                        .type = COLUMN_F64,
                                        .column = {.scale = 100},
                                        .share = true};

const struct metric report_gpu_use = {
    .name = "gpu_use_s",
    .unit = "s",
    .help = "time for which GPUs run something, as if all of the cluster did",
    .type = COLUMN_F64,
    .scope = METRIC_OF_RUN,
    .column = {.scale = 1}};

/* gpu_fragmentation is 1 - held / use. */
static double gpu_use(const struct run_measures *run)
{
    return run->gpu_fragmentation < 1
               ? run->gpu_utilisation / (1 - run->gpu_fragmentation) * run->simulated_s
               : NAN;
}

/* Computed from whole numbers, so that 0 is exact. */
static double late_rate(const struct measures *measures)
{
    const double requests = (double)measures->requests;
    const double hits = round(measures->slo_hit_rate * requests);
    return requests > 0 ? (requests - hits - (double)measures->dropped) / requests : NAN;
}

const struct metric *report_metric_find(const char *name)
{
    for (size_t i = 0; i < training_metric_count; i++)
        if (strcmp(training_metrics[i].name, name) == 0)
            return &training_metrics[i];
    if (strcmp(name, report_late_rate.name) == 0)
        return &report_late_rate;
    if (strcmp(name, report_gpu_use.name) == 0)
        return &report_gpu_use;
    return metric_find(name);
}

/* False: the run has no such application, or no trainings; `value` is NAN then. */
static bool value_find(const struct report *report, size_t run, const char *application,
                       const struct metric *metric, double *value)
{
    *value = NAN;
    if (metric->scope == METRIC_OF_TRAININGS) {
        const struct training_summary_row *row = training_row_find(report->results, run);
        if (row != NULL)
            *value = metric_number(metric, &row->measures);
        return row != NULL;
    }
    const struct measures *measures =
        measures_of(report, run, metric->scope == METRIC_OF_RUN ? NULL : application);
    if (measures != NULL)
        *value = metric == &report_late_rate ? late_rate(measures)
                 : metric == &report_gpu_use
                     ? gpu_use(&report->results->runs[run].run)
                     : metric_value(metric, measures, &report->results->runs[run].run);
    return measures != NULL;
}

double report_value(const struct report *report, size_t run, const char *application,
                    const struct metric *metric)
{
    double value;
    (void)value_find(report, run, application, metric, &value);
    return value;
}

struct estimate report_estimate(const struct report *report,
                                const struct report_contender *contender, const char *application,
                                const struct metric *metric)
{
    double *values = calloc(contender->run_count + 1, sizeof *values);
    size_t count = 0;
    if (values == NULL)
        return statistics_none;
    for (size_t i = 0; i < contender->run_count; i++)
        count += value_find(report, contender->runs[i], application, metric, &values[count]);
    /* Seeds without a value are counted and excluded. An example is the latency of a run in which
     * every request was dropped. */
    size_t valued = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            values[valued++] = values[i];
    const size_t used = valued == 0 ? count : contender->copies ? 1 : valued;
    struct estimate result = metric_is_share(metric) ? statistics_estimate_share(values, used)
                                                     : statistics_estimate(values, used);
    result.without = valued == 0 ? 0 : count - valued;
    result.exact = contender->copies && valued > 0;
    free(values);
    return result;
}

struct report_comparison report_compare(const struct report *report,
                                        const struct report_scenario *scenario, size_t contender,
                                        const char *application)
{
    struct report_comparison comparison = {statistics_none, statistics_none, statistics_none};
    if (scenario->reference == REPORT_NONE)
        return comparison;
    const struct paired_contenders gain = {.first = &scenario->contenders[scenario->reference],
                                           .second = &scenario->contenders[contender]};
    const struct paired_contenders saved = {.first = gain.second, .second = gain.first};
    const struct metric *hits = metric_find("slo_hit_rate");
    const struct metric *cost = metric_find("cost_per_request_usd");
    comparison = (struct report_comparison){
        paired_estimate(report, &gain, 1, application, hits, PAIRED_DIFFERENCE),
        paired_estimate(report, &gain, 1, application, hits, PAIRED_GAIN),
        paired_estimate(report, &saved, 1, application, cost, PAIRED_GAIN)};
    comparison.hit_points = statistics_scaled(comparison.hit_points, 100);
    comparison.hit_relative = statistics_scaled(comparison.hit_relative, 100);
    comparison.saving = statistics_scaled(comparison.saving, 100);
    return comparison;
}

static bool led_by_esg(const struct report_scenario *scenario)
{
    return scenario->reference != REPORT_NONE &&
           strcmp(scenario->contenders[scenario->reference].policy, REPORT_REFERENCE_POLICY) == 0;
}

const char *report_reference_name(const struct report_scenario *scenario)
{
    return led_by_esg(scenario) ? "ESG" : scenario->contenders[scenario->reference].title;
}
