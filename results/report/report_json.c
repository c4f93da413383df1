/* The report as one JSON object. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "results/report/training_table.h"
#include "results/report/curve.h"
#include "results/report/verdict_table.h"
#include "results/store/hdf5_utf8.h"
#include "traces/json/json.h"

void estimate_json(cJSON *object, const char *key, struct estimate estimate)
{
    cJSON *value = cJSON_AddObjectToObject(object, key);
    (void)cJSON_AddNumberToObject(value, "seeds", (double)estimate.n);
    if (estimate.without > 0)
        (void)cJSON_AddNumberToObject(value, "seeds_without", (double)estimate.without);
    (void)cJSON_AddNumberToObject(value, "mean", estimate.mean);
    (void)cJSON_AddNumberToObject(value, "sd", estimate.sd);
    (void)cJSON_AddNumberToObject(value, "half_width_95", estimate.half_width);
    (void)cJSON_AddNumberToObject(value, "low_95", estimate.low);
    (void)cJSON_AddNumberToObject(value, "high_95", estimate.high);
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
    estimate_json(value, REPORT_HIT_POINTS, comparison.hit_points);
    estimate_json(value, REPORT_HIT_RELATIVE, comparison.hit_relative);
    estimate_json(value, REPORT_SAVING, comparison.saving);
}

static cJSON *figures_object(const struct report *report, const struct report_scenario *scenario,
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
    cJSON *object = cJSON_CreateObject();
    (void)cJSON_AddItemToArray(contenders, object);
    (void)cJSON_AddStringToObject(object, "policy", contender->policy);
    (void)cJSON_AddStringToObject(object, "variant", contender->variant);
    (void)cJSON_AddStringToObject(object, "label", contender->label);
    (void)cJSON_AddStringToObject(object, "policy_sha256",
                                  report->results->runs[contender->runs[0]].policy_sha256);
    add_swept(report->results, contender->runs[0], object);
    cJSON *seeds = cJSON_AddArrayToObject(object, "seeds");
    cJSON *hashes = cJSON_AddArrayToObject(object, "config_hashes");
    for (size_t i = 0; i < contender->run_count; i++) {
        const struct summary_row *run = &report->results->runs[contender->runs[i]];
        (void)cJSON_AddItemToArray(seeds, json_whole(run->seed));
        (void)cJSON_AddItemToArray(hashes, cJSON_CreateString(run->hash));
    }
    (void)cJSON_AddItemToObject(object, "overall", figures_object(report, scenario, index, NULL));
    add_trainings(report, contender, object);
    cJSON *applications = cJSON_AddArrayToObject(object, "applications");
    for (size_t a = 0; a < scenario->application_count; a++)
        (void)cJSON_AddItemToArray(
            applications, figures_object(report, scenario, index, scenario->applications[a]));
}

static void add_scenario(const struct report *report, const struct report_scenario *scenario,
                         cJSON *scenarios)
{
    cJSON *object = cJSON_CreateObject();
    (void)cJSON_AddItemToArray(scenarios, object);
    (void)cJSON_AddStringToObject(object, "name", scenario->name);
    (void)cJSON_AddStringToObject(object, "setting", scenario->setting);
    (void)cJSON_AddStringToObject(object, "label", scenario->label);
    (void)cJSON_AddStringToObject(object, "conditions", scenario->conditions);
    (void)cJSON_AddStringToObject(object, "profile_evidence", scenario->evidence);
    cJSON *contenders = cJSON_AddArrayToObject(object, "policies");
    for (size_t c = 0; c < scenario->contender_count; c++)
        add_contender(report, scenario, c, contenders);
}

static void add_notices(const struct report *report, cJSON *root)
{
    cJSON *lists[] = {cJSON_AddArrayToObject(root, "notes"),
                      cJSON_AddArrayToObject(root, "warnings")};
    for (size_t n = 0; n < report->notice_count; n++) {
        const struct report_notice *notice = &report->notices[n];
        cJSON *item = cJSON_CreateObject();
        (void)cJSON_AddItemToArray(lists[notice->warning], item);
        (void)cJSON_AddStringToObject(item, "text", notice->text);
        (void)cJSON_AddNumberToObject(item, "runs", (double)notice->runs);
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
        cJSON *entry = cJSON_CreateObject();
        (void)cJSON_AddItemToArray(ours, entry);
        (void)cJSON_AddStringToObject(entry, "scenario", pair->setting);
        (void)cJSON_AddStringToObject(entry, "policy", pair->policy);
        if (pair->scenario != NULL)
            (void)cJSON_AddStringToObject(entry, "profile_evidence", pair->scenario->evidence);
        (void)cJSON_AddStringToObject(entry, "standing", standing_name(pair->standing));
        estimate_json(entry, "figure", pair->ours);
    }
}

static void add_world(const struct judgement *judgement, const struct report_scenario *world,
                      cJSON *worlds)
{
    char title[512];
    cJSON *entry = cJSON_CreateObject();
    (void)cJSON_AddItemToArray(worlds, entry);
    verdict_world_title(world, title, sizeof title);
    (void)cJSON_AddStringToObject(entry, "assumptions", title);
    (void)cJSON_AddStringToObject(entry, "verdict", verdict_name(judgement->verdict));
    (void)cJSON_AddNumberToObject(entry, "pairs", (double)judgement->pair_count);
    (void)cJSON_AddNumberToObject(entry, "holds", (double)judgement->counts[STANDING_HOLDS]);
    (void)cJSON_AddNumberToObject(entry, "no run", (double)judgement->counts[STANDING_NO_RUN]);
    cJSON *averages = cJSON_AddArrayToObject(entry, "averages");
    for (size_t i = 0; i < judgement->average_count; i++) {
        const struct verdict_average *average = &judgement->averages[i];
        cJSON *item = cJSON_CreateObject();
        (void)cJSON_AddItemToArray(averages, item);
        (void)cJSON_AddStringToObject(item, "policy", average->policy);
        (void)cJSON_AddNumberToObject(item, "settings", (double)average->settings);
        (void)cJSON_AddStringToObject(item, "standing", standing_name(average->standing));
        estimate_json(item, "figure", average->ours);
    }
}

/* Adds the verdict in each world in which a pair has run. */
static bool add_worlds(const struct report *report, const struct reference_figure *figure,
                       cJSON *entry, struct error *error)
{
    cJSON *worlds = cJSON_AddArrayToObject(entry, "assumptions");
    size_t next = 0;
    for (;;) {
        const struct report_scenario *world = NULL;
        struct judgement judgement;
        if (!verdict_next_world(report, figure, &next, &world, &judgement, error))
            return false;
        if (world == NULL)
            return true;
        add_world(&judgement, world, worlds);
        judgement_clear(&judgement);
    }
}

static cJSON *add_figure(const struct judgement *judgement, cJSON *figures)
{
    const struct reference_figure *figure = judgement->figure;
    cJSON *entry = cJSON_CreateObject();
    (void)cJSON_AddItemToArray(figures, entry);
    (void)cJSON_AddStringToObject(entry, "metric", figure->metric);
    (void)cJSON_AddStringToObject(entry, "evidence", figure->evidence);
    (void)cJSON_AddStringToObject(entry, "unit", figure->unit);
    (void)cJSON_AddNumberToObject(entry, "low", figure->low);
    (void)cJSON_AddNumberToObject(entry, "high", figure->high);
    if (figure->formula != NULL)
        (void)cJSON_AddStringToObject(entry, "formula", figure->formula);
    if (figure->note != NULL)
        (void)cJSON_AddStringToObject(entry, "note", figure->note);
    (void)cJSON_AddStringToObject(entry, "verdict", verdict_name(judgement->verdict));
    (void)cJSON_AddStringToObject(entry, "sentence", judgement->sentence);
    add_pairs(judgement, entry);
    return entry;
}

static bool add_figures(const struct report *report, const struct reference *reference,
                        cJSON *object, struct error *error)
{
    cJSON *figures = cJSON_AddArrayToObject(object, "figures");
    for (size_t i = 0; i < reference->figure_count; i++) {
        struct judgement judgement;
        if (!verdict_judge(report, &reference->figures[i], NULL, &judgement, error))
            return false;
        cJSON *entry = add_figure(&judgement, figures);
        judgement_clear(&judgement);
        if (!add_worlds(report, &reference->figures[i], entry, error))
            return false;
    }
    return true;
}

static cJSON *add_paper(const struct reference *reference, cJSON *root)
{
    cJSON *object = cJSON_AddObjectToObject(root, "paper");
    (void)cJSON_AddStringToObject(object, "title", reference->title);
    (void)cJSON_AddStringToObject(object, "source", reference->source);
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
    (void)cJSON_AddStringToObject(incomplete, "text", report->incomplete);
    (void)cJSON_AddNumberToObject(incomplete, "missing", (double)results->sweep.missing);
    cJSON *runs = cJSON_AddArrayToObject(incomplete, "runs");
    for (size_t i = 0; i < results->missing_count; i++) {
        const struct missing_run *run = &results->missing[i];
        cJSON *item = cJSON_CreateObject();
        (void)cJSON_AddItemToArray(runs, item);
        (void)cJSON_AddStringToObject(item, "label", run->label);
        (void)cJSON_AddStringToObject(item, "policy", run->policy);
        (void)cJSON_AddItemToObject(item, "seed", json_whole(run->seed));
        (void)cJSON_AddStringToObject(item, "status", run->status);
        (void)cJSON_AddStringToObject(item, "message", run->message);
    }
}

static void add_file(const struct report *report, cJSON *object)
{
    const struct results *results = report->results;
    add_incomplete(report, object);
    (void)utf8_add_json(object, "file", results->path);
    (void)cJSON_AddStringToObject(object, "version",
                                  results->version == NULL ? "" : results->version);
    (void)cJSON_AddStringToObject(object, "commit", results->commit == NULL ? "" : results->commit);
    (void)cJSON_AddNumberToObject(object, "runs", (double)results->run_count);
}

/* Prints and deletes the object. */
static bool print_root(cJSON *root, FILE *out, struct error *error)
{
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    if (text == NULL)
        return error_run(error, "out of memory for the report");
    (void)fprintf(out, "%s\n", text);
    free(text);
    return !ferror(out) || error_run(error, "cannot write the report: %s", strerror(errno));
}

bool verdicts_json(const struct report *const *reports, size_t count,
                   const struct reference *reference, FILE *out, struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    (void)add_paper(reference, root);
    cJSON *files = cJSON_AddArrayToObject(root, "files");
    bool good = true;
    for (size_t r = 0; good && r < count; r++) {
        cJSON *file = cJSON_CreateObject();
        (void)cJSON_AddItemToArray(files, file);
        add_file(reports[r], file);
        good = add_figures(reports[r], reference, file, error);
    }
    if (good)
        return print_root(root, out, error);
    cJSON_Delete(root);
    return false;
}

bool report_json(const struct report *report, const struct reference *reference, FILE *out,
                 struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    add_file(report, root);
    add_notices(report, root);
    cJSON *scenarios = cJSON_AddArrayToObject(root, "scenarios");
    for (size_t s = 0; s < report->scenario_count; s++)
        add_scenario(report, &report->scenarios[s], scenarios);
    if (report->curves != NULL)
        curves_json(report, root);
    if (reference != NULL && !add_figures(report, reference, add_paper(reference, root), error)) {
        cJSON_Delete(root);
        return false;
    }
    return print_root(root, out, error);
}
