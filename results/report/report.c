#include "results/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/curve.h"
#include "results/report/paired.h"
#include "results/store/run_label.h"

/* ---- Building ------------------------------------------------------------------------------ */

static struct report_scenario *scenario_of(struct report *report, const struct summary_row *run)
{
    const char *conditions = run_label_conditions(report->arena, run->label);
    for (size_t s = 0; s < report->scenario_count; s++) {
        struct report_scenario *scenario = &report->scenarios[s];
        if (strcmp(scenario->name, run->name) == 0 &&
            strcmp(scenario->setting, run->setting) == 0 &&
            strcmp(scenario->label, run->setting_label) == 0 &&
            strcmp(scenario->evidence, run->evidence) == 0 &&
            strcmp(scenario->conditions, conditions) == 0)
            return scenario;
    }
    struct report_scenario *scenario = &report->scenarios[report->scenario_count];
    *scenario = (struct report_scenario){.number = report->scenario_count++,
                                         .name = run->name,
                                         .setting = run->setting,
                                         .label = run->setting_label,
                                         .evidence = run->evidence,
                                         .conditions = conditions,
                                         .reference = REPORT_NONE};
    return scenario;
}

/* Returns the run's parameters. If policies of different modules have the same name, a pair
 * "sha256=1a2b3c4d" precedes them. */
static const char *variant_of(const struct report *report, const struct summary_row *run)
{
    const struct results *results = report->results;
    const char *variant = run_label_of_policy(report->arena, run->label);
    bool several = false;
    for (size_t i = 0; run->policy_sha256[0] != '\0' && !several && i < results->run_count; i++)
        several = strcmp(results->runs[i].policy, run->policy) == 0 &&
                  strcmp(results->runs[i].policy_sha256, run->policy_sha256) != 0;
    return several ? arena_text(report->arena, "sha256=%.8s%s%s", run->policy_sha256,
                                variant[0] == '\0' ? "" : " ", variant)
                   : variant;
}

const struct report_contender *report_contender_like(const struct report_scenario *scenario,
                                                     const struct report_contender *like)
{
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_contender *one = &scenario->contenders[c];
        if (strcmp(one->policy, like->policy) == 0 && strcmp(one->label, like->label) == 0 &&
            strcmp(one->variant, like->variant) == 0)
            return one;
    }
    return NULL;
}

static struct report_contender *contender_of(const struct report *report,
                                             struct report_scenario *scenario,
                                             const struct summary_row *run)
{
    const struct report_contender like = {
        .policy = run->policy, .label = run->policy_label, .variant = variant_of(report, run)};
    const struct report_contender *found = report_contender_like(scenario, &like);
    if (found == NULL)
        *ARENA_NEXT(report->arena, scenario->contenders, scenario->contender_count) = like;
    return &scenario->contenders[found == NULL ? scenario->contender_count - 1
                                               : (size_t)(found - scenario->contenders)];
}

/* Inserts a run, keeping the runs sorted by seed. */
static void contender_add(const struct report *report, struct report_contender *contender,
                          size_t run)
{
    const struct summary_row *rows = report->results->runs;
    arena_reserve(report->arena, &contender->runs, contender->run_count + 1, sizeof run);
    size_t at = contender->run_count++;
    for (; at > 0 && rows[contender->runs[at - 1]].seed > rows[run].seed; at--)
        contender->runs[at] = contender->runs[at - 1];
    contender->runs[at] = run;
}

/* Joins two texts, with a blank if neither is empty. */
static const char *joined(const struct report *report, const char *one, const char *other)
{
    const char *between = one[0] != '\0' && other[0] != '\0' ? " " : "";
    return arena_text(report->arena, "%s%s%s", one, between, other);
}

/* Finds the keys that the sweep set to the same value in all runs. */
static void constants_find(struct report *report)
{
    const struct summary_row *runs = report->results->runs;
    const size_t count = report->results->run_count;
    char *common = arena_text(report->arena, "%s", count == 0 ? "" : runs[0].label);
    for (size_t i = 1; i < count; i++)
        if (strcmp(runs[i].label, runs[i - 1].label) != 0)
            run_label_keep_common(common, runs[i].label);
    report->constants = joined(report, run_label_conditions(report->arena, common),
                               run_label_of_policy(report->arena, common));
}

/* The label, followed by the parameters that differ among contenders with that label. */
static const char *labelled_title(const struct report *report,
                                  const struct report_scenario *scenario,
                                  const struct report_contender *contender)
{
    char *common = arena_text(report->arena, "%s", contender->variant);
    for (size_t c = 0; c < scenario->contender_count; c++)
        if (strcmp(scenario->contenders[c].label, contender->label) == 0)
            run_label_keep_common(common, scenario->contenders[c].variant);
    return joined(report, contender->label,
                  run_label_without(report->arena, contender->variant, common));
}

static void contender_name(const struct report *report, const struct report_scenario *scenario,
                           struct report_contender *contender)
{
    size_t same = 0;
    for (size_t other = 0; other < scenario->contender_count; other++)
        same += strcmp(scenario->contenders[other].policy, contender->policy) == 0 &&
                scenario->contenders[other].label[0] == '\0';
    contender->distinction =
        run_label_without(report->arena, contender->variant, report->constants);
    contender->title =
        contender->label[0] != '\0'
            ? labelled_title(report, scenario, contender)
            : joined(report, contender->policy, same == 1 ? "" : contender->distinction);
}

const char *report_setting_title(const struct report_scenario *scenario)
{
    return scenario->label[0] != '\0'     ? scenario->label
           : scenario->setting[0] != '\0' ? scenario->setting
                                          : scenario->name;
}

/* Whether the pair names a file whose name says what it is. */
static bool is_of_file(const char *pair)
{
    return strncmp(pair, "cluster=", strlen("cluster=")) == 0 ||
           strncmp(pair, "profile=", strlen("profile=")) == 0;
}

static const char *assumptions_of(const struct report *report,
                                  const struct report_scenario *scenario)
{
    static const char ending[] = ".json";
    char *text = NULL;
    for (const char *at = scenario->conditions; *at != '\0';) {
        const size_t length = strcspn(at, " ");
        const bool file = is_of_file(at);
        const char *from = at, *end = at + length;
        const char *last = file ? end : at + strcspn(at, "=");
        for (const char *c = at; c < last; c++)
            from = strchr(file ? "/=" : ".", *c) != NULL ? c + 1 : from;
        if (file && (size_t)(end - from) > strlen(ending) &&
            strncmp(end - strlen(ending), ending, strlen(ending)) == 0)
            end -= strlen(ending);
        arena_append(report->arena, &text, "%s%.*s", text == NULL ? "" : ", ", (int)(end - from),
                     from);
        at += length + (at[length] == ' ');
    }
    return text == NULL ? scenario->name : text;
}

static void scenario_finish(const struct report *report, struct report_scenario *scenario)
{
    for (size_t c = 0; c < scenario->contender_count; c++) {
        struct report_contender *contender = &scenario->contenders[c];
        contender_name(report, scenario, contender);
        if (scenario->reference == REPORT_NONE &&
            strcmp(contender->policy, REPORT_REFERENCE_POLICY) == 0)
            scenario->reference = c;
    }
    if (scenario->reference == REPORT_NONE && scenario->contender_count > 0)
        scenario->reference = 0;
    scenario->assumptions = assumptions_of(report, scenario);
    scenario->title =
        joined(report, report_setting_title(scenario),
               run_label_without(report->arena, scenario->conditions, report->constants));
}

/* Prefixes the experiment's name to the titles of scenarios if several experiments have the same
 * setting. */
static void titles_part(struct report *report)
{
    for (size_t s = 0; s < report->scenario_count; s++) {
        struct report_scenario *scenario = &report->scenarios[s];
        bool shared = false;
        for (size_t o = 0; o < report->scenario_count && scenario->setting[0] != '\0'; o++) {
            const struct report_scenario *other = &report->scenarios[o];
            shared = shared || (o != s && strcmp(other->setting, scenario->setting) == 0 &&
                                strcmp(other->conditions, scenario->conditions) == 0);
        }
        if (shared)
            scenario->title = arena_text(report->arena, "%s %s", scenario->name, scenario->title);
    }
}

struct report *report_build(const struct results *results)
{
    struct report *report = arena_home(sizeof *report);
    report->results = results;
    report->scenarios =
        arena_allocate(report->arena, results->run_count, sizeof *report->scenarios);
    for (size_t i = 0; i < results->run_count; i++) {
        struct report_scenario *scenario = scenario_of(report, &results->runs[i]);
        contender_add(report, contender_of(report, scenario, &results->runs[i]), i);
        for (size_t row = results_first_row(results, i); row != RESULTS_NONE;
             row = results->next_row[row])
            report_name_add(report, &scenario->applications, &scenario->application_count,
                            results->applications[row].application);
    }
    constants_find(report);
    for (size_t s = 0; s < report->scenario_count; s++)
        scenario_finish(report, &report->scenarios[s]);
    titles_part(report);
    report_notices_find(report);
    report_seeds_find(report);
    /* Without a key to follow the request has no fault. */
    report_follow(report, &(struct curve_request){.limit = NAN}, NULL);
    return report;
}

bool report_serves(const struct report *report)
{
    return report->results->application_count > 0 || report->results->training_count == 0;
}

bool report_trains(const struct report *report, const struct report_scenario *scenario)
{
    for (size_t c = 0; c < scenario->contender_count; c++)
        for (size_t r = 0; r < scenario->contenders[c].run_count; r++)
            if (results_training(report->results, scenario->contenders[c].runs[r]) != NULL)
                return true;
    return false;
}

/* ---- Metrics ------------------------------------------------------------------------------- */

const struct metric report_late_rate = {.name = "late_rate",
                                        .unit = "1",
                                        .help = "share of requests that were served, and too late",
                                        .type = COLUMN_F64,
                                        .share = true,
                                        .population = "measured requests",
                                        .face = FACE_PERCENT("late", "requests served too late")};
const struct metric report_miss_rate = {.name = "miss_rate",
                                        .unit = "1",
                                        .help = "share of requests that did not meet their SLO",
                                        .type = COLUMN_F64,
                                        .share = true,
                                        .population = "measured requests",
                                        .face = FACE_PERCENT("SLO missed", "requests not in time")};

const struct metric report_gpu_use = {
    .name = "gpu_use_s",
    .unit = "s",
    .help = "time for which GPUs run something, as if all of the cluster did",
    .type = COLUMN_F64,
    .scope = METRIC_OF_RUN,
    .population = "the whole cluster",
    .face = FACE_SECONDS("GPU use", "time of GPUs in use")};

/* gpu_fragmentation is 1 - held / use. */
static double gpu_use(const struct run_measures *run)
{
    return run->gpu_utilisation <= 0 ? 0
           : run->gpu_fragmentation < 1
               ? run->gpu_utilisation / (1 - run->gpu_fragmentation) * run->simulated_s
               : NAN;
}

/* The share of requests that are neither in time nor spared; of whole numbers, so that 0 is exact.
 */
static double late_rate(const struct measures *measures, uint64_t spared)
{
    const double requests = (double)measures->requests;
    const double hits = round(measures->slo_hit_rate * requests);
    return requests > 0 ? (requests - hits - (double)spared) / requests : NAN;
}

const struct metric *report_metric_find(const char *name)
{
    for (size_t i = 0; i < metric_count + training_metric_count; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return strcmp(name, report_late_rate.name) == 0   ? &report_late_rate
           : strcmp(name, report_miss_rate.name) == 0 ? &report_miss_rate
           : strcmp(name, report_gpu_use.name) == 0   ? &report_gpu_use
                                                      : NULL;
}

/* False: the run has no such application, or no trainings; `value` is NAN then. */
static bool value_find(const struct report *report, size_t run, const char *application,
                       const struct metric *metric, double *value)
{
    *value = NAN;
    if (metric->scope == METRIC_OF_TRAININGS) {
        const struct training_summary_row *row = results_training(report->results, run);
        if (row != NULL)
            *value = metric_number(metric, &row->measures);
        return row != NULL;
    }
    const struct measures *measures =
        results_measures(report->results, run, metric->scope == METRIC_OF_RUN ? NULL : application);
    if (measures != NULL)
        *value = metric == &report_late_rate   ? late_rate(measures, measures->dropped)
                 : metric == &report_miss_rate ? late_rate(measures, 0)
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

double report_observations(const struct report *report, size_t run, const char *application,
                           const struct metric *metric)
{
    const struct summary_row *row = &report->results->runs[run];
    const struct measures *measures = results_measures(report->results, run, application);
    return measures == NULL ? NAN
                            : metric_observations(metric, measures, &row->measures, &row->run);
}

struct estimate report_estimate(const struct report *report,
                                const struct report_contender *contender, const char *application,
                                const struct metric *metric)
{
    double *values = arena_allocate(report->arena, contender->run_count, sizeof *values);
    double *worth = arena_allocate(report->arena, contender->run_count, sizeof *worth);
    struct seed_values seeds = {
        .values = values, .worth = worth, .exact = contender->copies, .share = metric->share};
    for (size_t i = 0; i < contender->run_count; i++) {
        const size_t run = contender->runs[i];
        seeds.seeds += value_find(report, run, application, metric, &values[seeds.valued]);
        if (!isnan(values[seeds.valued]))
            worth[seeds.valued++] = report_observations(report, run, application, metric);
    }
    const struct estimate estimate = statistics_of_seeds(&seeds);
    arena_release(report->arena, worth);
    arena_release(report->arena, values);
    return estimate;
}

struct report_comparison report_compare(const struct report *report,
                                        const struct report_scenario *scenario, size_t contender,
                                        const char *application)
{
    struct report_comparison comparison = {.drops = NAN};
    const struct report_contender *reference =
        scenario->reference == REPORT_NONE ? NULL : &scenario->contenders[scenario->reference];
    const struct report_contender *other = &scenario->contenders[contender];
    for (size_t g = 0; g < GAINS; g++) {
        const struct paired_gain *gain = &paired_gains[g];
        const struct paired_contenders sides = {gain->turned ? other : reference,
                                                gain->turned ? reference : other};
        comparison.gains[g] =
            reference == NULL
                ? statistics_none
                : statistics_scaled(paired_estimate(report, &sides, 1, application,
                                                    metric_find(gain->metric), gain->formula),
                                    100);
    }
    if (reference != NULL)
        comparison.drops =
            100 * paired_estimate(report, &(struct paired_contenders){reference, other}, 1,
                                  application, metric_find("drop_rate"), PAIRED_DIFFERENCE)
                      .mean;
    return comparison;
}

bool report_costs_compare(const struct report_comparison *comparison)
{
    return !(fabs(comparison->drops) > REPORT_DROPS_UNLIKE);
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
