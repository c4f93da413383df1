/* The report as one JSON object. */
#include <inttypes.h>

#include <cjson/cJSON.h>

#include "results/page/verdict_table.h"
#include "results/report/curve.h"
#include "sim/base/json.h"
#include "sim/base/json_write.h"

void estimate_json(cJSON *object, const char *key, struct estimate estimate)
{
    cJSON *value = cJSON_AddObjectToObject(object, key);
    (void)cJSON_AddNumberToObject(value, "seeds", (double)estimate.n);
    if (estimate.without > 0)
        (void)cJSON_AddNumberToObject(value, "seeds_without", (double)estimate.without);
    json_put(value, "mean %g sd %g half_width_95 %g low_95 %g high_95 %g", estimate.mean,
             estimate.sd, estimate.half_width, estimate.low, estimate.high);
}

static void add_comparison(const struct report *report, const struct report_scenario *scenario,
                           size_t contender, const char *application, cJSON *object)
{
    if (scenario->reference == REPORT_NONE || contender == scenario->reference)
        return;
    struct report_comparison comparison = report_compare(report, scenario, contender, application);
    cJSON *value = cJSON_AddObjectToObject(object, "reference_gain");
    (void)cJSON_AddStringToObject(value, "reference",
                                  scenario->contenders[scenario->reference].title);
    for (size_t g = 0; g < GAINS; g++)
        estimate_json(value, paired_gains[g].name, comparison.gains[g]);
    (void)cJSON_AddBoolToObject(value, "costs_compare", report_costs_compare(&comparison));
}

static cJSON *metrics_object(const struct report *report, const struct report_scenario *scenario,
                             size_t contender, const char *application)
{
    cJSON *object = cJSON_CreateObject();
    const struct report_contender *ours = &scenario->contenders[contender];
    if (application != NULL)
        (void)cJSON_AddStringToObject(object, "application", application);
    for (size_t m = 0; m < metric_count; m++)
        if (application == NULL || metrics[m].scope != METRIC_OF_RUN)
            estimate_json(object, metrics[m].name,
                          report_estimate(report, ours, application, &metrics[m]));
    add_comparison(report, scenario, contender, application, object);
    return object;
}

/* Adds the keys that the sweep set for the runs. */
static void add_swept(const struct results *results, size_t run, cJSON *object)
{
    if (results_key_count(results) == 0)
        return;
    cJSON *values = cJSON_AddObjectToObject(object, "swept");
    for (size_t k = 0; k < results_key_count(results); k++) {
        const struct column *column = &results->swept->columns[k];
        const void *row = results_values(results, run);
        if (column->type == COLUMN_TEXT)
            (void)cJSON_AddStringToObject(values, column->name,
                                          swept_text(results->swept, row, k, NULL));
        else
            (void)cJSON_AddNumberToObject(values, column->name,
                                          swept_number(results->swept, row, k));
    }
}

/* "training": the measures of /training, if the contender's runs have trainings. */
static void add_trainings(const struct report *report, const struct report_contender *contender,
                          cJSON *object)
{
    if (report->results->training_count == 0 ||
        report_estimate(report, contender, NULL, &training_metrics[0]).n == 0)
        return;
    cJSON *training = cJSON_AddObjectToObject(object, "training");
    for (size_t m = 0; m < training_metric_count; m++)
        estimate_json(training, training_metrics[m].name,
                      report_estimate(report, contender, NULL, &training_metrics[m]));
}

static void add_contender(const struct report *report, const struct report_scenario *scenario,
                          size_t index, cJSON *contenders)
{
    const struct report_contender *contender = &scenario->contenders[index];
    cJSON *object = json_append(contenders);
    json_put(object, "policy %s variant %s label %s policy_sha256 %s", contender->policy,
             contender->variant, contender->label,
             report->results->runs[contender->runs[0]].policy_sha256);
    add_swept(report->results, contender->runs[0], object);
    cJSON *seeds = cJSON_AddArrayToObject(object, "seeds");
    cJSON *hashes = cJSON_AddArrayToObject(object, "config_hashes");
    for (size_t i = 0; i < contender->run_count; i++) {
        const struct summary_row *run = &report->results->runs[contender->runs[i]];
        (void)cJSON_AddItemToArray(seeds, json_whole(run->seed));
        (void)cJSON_AddItemToArray(hashes, cJSON_CreateString(run->hash));
    }
    (void)cJSON_AddItemToObject(object, "overall", metrics_object(report, scenario, index, NULL));
    add_trainings(report, contender, object);
    cJSON *applications = cJSON_AddArrayToObject(object, "applications");
    for (size_t a = 0; a < scenario->application_count; a++)
        (void)cJSON_AddItemToArray(
            applications, metrics_object(report, scenario, index, scenario->applications[a]));
}

static void add_scenario(const struct report *report, const struct report_scenario *scenario,
                         cJSON *scenarios)
{
    cJSON *object = json_append(scenarios);
    json_put(object, "name %s setting %s label %s conditions %s profile_evidence %s",
             scenario->name, scenario->setting, scenario->label, scenario->conditions,
             scenario->evidence);
    cJSON *contenders = cJSON_AddArrayToObject(object, "policies");
    for (size_t c = 0; c < scenario->contender_count; c++)
        add_contender(report, scenario, c, contenders);
}

static void add_notices(const struct report *report, cJSON *root)
{
    cJSON *lists[] = {cJSON_AddArrayToObject(root, "notes"),
                      cJSON_AddArrayToObject(root, "warnings")};
    for (size_t n = 0; n < report->notice_count; n++) {
        const struct counted_notice *notice = &report->notices[n];
        cJSON *item = json_append(lists[notice->notice.warning]);
        json_put(item, "text %s runs %g", notice->notice.text, (double)notice->runs);
        cJSON *settings = cJSON_AddArrayToObject(item, "scenarios");
        for (size_t s = 0; s < report->scenario_count; s++)
            if (notice->in[s])
                (void)cJSON_AddItemToArray(settings,
                                           cJSON_CreateString(report->scenarios[s].title));
    }
}

/* Adds the number of pairs of each standing, and the pairs. */
static void add_pairs(const struct judgement *judgement, cJSON *object)
{
    cJSON *counts = cJSON_AddObjectToObject(object, "pairs");
    for (int s = 0; s < STANDING_COUNT; s++)
        (void)cJSON_AddNumberToObject(counts, standing_name((enum standing)s),
                                      (double)judgement->counts[s]);
    cJSON *ours = cJSON_AddArrayToObject(object, "ours");
    for (size_t p = 0; p < judgement->pair_count; p++) {
        const struct verdict_pair *pair = &judgement->pairs[p];
        cJSON *entry = json_append(ours);
        json_put(entry, "scenario %s policy %s profile_evidence %s standing %s", pair->setting,
                 pair->policy, pair->scenario == NULL ? NULL : pair->scenario->evidence,
                 standing_name(pair->standing));
        estimate_json(entry, "figure", pair->ours);
    }
}

static void add_world(const struct judgement *judgement, cJSON *worlds)
{
    cJSON *entry = json_append(worlds);
    json_put(entry, "assumptions %s verdict %s pairs %zu holds %zu", judgement->world->assumptions,
             verdict_name(judgement->verdict), judgement->pair_count,
             judgement->counts[STANDING_HOLDS]);
    (void)cJSON_AddNumberToObject(entry, "no run", (double)judgement->counts[STANDING_NO_RUN]);
    cJSON *averages = cJSON_AddArrayToObject(entry, "averages");
    for (size_t i = 0; i < judgement->average_count; i++) {
        const struct verdict_pair *average = &judgement->averages[i];
        cJSON *item = json_append(averages);
        json_put(item, "policy %s settings %zu standing %s", average->policy, average->settings,
                 standing_name(average->standing));
        estimate_json(item, "figure", average->ours);
    }
}

static void add_figure(const struct judgement *judgement, cJSON *figures)
{
    const struct expectation *figure = judgement->figure;
    cJSON *entry = json_append(figures);
    json_put(entry,
             "metric %s policy %s evidence %s unit %s low %g high %g formula %s note %s verdict %s "
             "sentence %s",
             figure->metric, figure->policy, figure->evidence, figure->unit, figure->low,
             figure->high, figure->formula, figure->note, verdict_name(judgement->verdict),
             judgement->sentence);
    add_pairs(judgement, entry);
    cJSON *worlds = cJSON_AddArrayToObject(entry, "assumptions");
    for (size_t w = 0; w < judgement->apart_count; w++)
        add_world(&judgement->apart[w], worlds);
}

static void add_figures(const struct report *report, cJSON *object)
{
    cJSON *figures = cJSON_AddArrayToObject(object, "figures");
    for (size_t i = 0; i < report->judgement_count; i++)
        add_figure(&report->judgements[i], figures);
}

static cJSON *add_paper(const struct expectations *expected, cJSON *root)
{
    cJSON *object = cJSON_AddObjectToObject(root, "paper");
    json_put(object, "title %s source %s", expected->title, expected->source);
    return object;
}

/* "incomplete": null, or the runs that are missing. */
static void add_incomplete(const struct report *report, cJSON *object)
{
    const struct results *results = report->results;
    cJSON *incomplete = report->incomplete == NULL ? cJSON_CreateNull() : cJSON_CreateObject();
    (void)cJSON_AddItemToObject(object, "incomplete", incomplete);
    if (report->incomplete == NULL)
        return;
    json_put(incomplete, "text %s missing %g", report->incomplete, (double)results->sweep.missing);
    cJSON *runs = cJSON_AddArrayToObject(incomplete, "runs");
    for (size_t i = 0; i < results->missing_count; i++) {
        const struct missing_run *run = &results->missing[i];
        cJSON *item = json_append(runs);
        json_put(item, "label %s policy %s seed %" PRIu64 " status %s message %s", run->label,
                 run->policy, run->seed, run->status, run->message);
    }
}

static void add_file(const struct report *report, cJSON *object)
{
    const struct results *results = report->results;
    add_incomplete(report, object);
    utf8_add_json(object, "file", results->path);
    json_put(object, "reality %s version %s commit %s runs %g", REPORT_REALITY,
             results->version == NULL ? "" : results->version,
             results->commit == NULL ? "" : results->commit, (double)results->run_count);
}

bool verdicts_json(const struct report *const *reports, size_t count, FILE *out,
                   struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    (void)add_paper(reports[0]->expected, root);
    cJSON *files = cJSON_AddArrayToObject(root, "files");
    for (size_t r = 0; r < count; r++) {
        cJSON *file = json_append(files);
        add_file(reports[r], file);
        add_figures(reports[r], file);
    }
    return json_write(root, out, "the report", error);
}

bool report_json(const struct report *report, FILE *out, struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    add_file(report, root);
    add_notices(report, root);
    cJSON *scenarios = cJSON_AddArrayToObject(root, "scenarios");
    for (size_t s = 0; s < report->scenario_count; s++)
        add_scenario(report, &report->scenarios[s], scenarios);
    if (report->curves != NULL)
        curves_json(report, root);
    if (report->expected != NULL)
        add_figures(report, add_paper(report->expected, root));
    return json_write(root, out, "the report", error);
}
