/* The report as CSV (RFC 4180), one line per figure, so that any table can be derived from it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/csv.h"
#include "results/report/curve.h"
#include "results/report/reproduction_check.h"
#include "results/report/training_table.h"
#include "results/report/verdict_table.h"

static void print_number(FILE *out, double value)
{
    (void)fputc(',', out);
    csv_number(out, value);
}

struct line {
    const struct report_scenario *scenario;
    const struct report_contender *contender;
    const char *application; /* NULL: all */
    const struct results *results;
};

/* Returns whether the key is a column behind the others: `name` and `setting` are columns before.
 */
static bool is_behind(const struct results *results, size_t key)
{
    return results->swept->columns[key].type != COLUMN_TEXT ||
           !swept_is_shared(results->swept->columns[key].name);
}

/* Prints the values of the swept keys, which all runs of a contender have in common; empty fields
 * for a line without runs. */
static void print_swept(FILE *out, const struct line *line)
{
    for (size_t k = 0; k < results_key_count(line->results); k++) {
        if (!is_behind(line->results, k))
            continue;
        (void)fputc(',', out);
        if (line->contender->run_count > 0)
            csv_swept(out, line->results, line->contender->runs[0], k);
    }
}

static void print_judged(FILE *out, const struct line *line, const char *metric, const char *unit,
                         const char *against, struct estimate estimate, const char *verdict)
{
    const char *const texts[] = {line->scenario->name,
                                 line->scenario->setting,
                                 line->scenario->conditions,
                                 line->contender->policy,
                                 line->contender->variant,
                                 line->application == NULL ? "" : line->application,
                                 metric,
                                 unit,
                                 against};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (i > 0)
            (void)fputc(',', out);
        csv_text(out, texts[i]);
    }
    (void)fprintf(out, ",%zu", estimate.n);
    print_number(out, estimate.mean);
    print_number(out, estimate.sd);
    print_number(out, estimate.half_width);
    (void)fputc(',', out);
    csv_text(out, line->scenario->evidence == NULL ? "" : line->scenario->evidence);
    const char *const last[] = {verdict, line->scenario->label, line->contender->label};
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        (void)fputc(',', out);
        csv_text(out, last[i] == NULL ? "" : last[i]);
    }
    print_number(out, estimate.low);
    print_number(out, estimate.high);
    print_swept(out, line);
    (void)fputs("\r\n", out);
}

static void print_line(FILE *out, const struct line *line, const char *metric, const char *unit,
                       const char *against, struct estimate estimate)
{
    print_judged(out, line, metric, unit, against, estimate, "");
}

static void print_measures(const struct report *report, FILE *out, const struct line *line)
{
    for (size_t m = 0; m < metric_count; m++)
        if (line->application == NULL || !metrics[m].of_run)
            print_line(out, line, metrics[m].name, metrics[m].unit, "",
                       report_estimate(report, line->contender, line->application, &metrics[m]));
}

static void print_trainings(const struct report *report, FILE *out, const struct line *line)
{
    for (size_t m = 0; m < training_metric_count; m++) {
        const struct metric *metric = &training_metrics[m];
        const struct estimate estimate = report_estimate(report, line->contender, NULL, metric);
        char name[96];
        (void)snprintf(name, sizeof name, "training_%s", metric->name);
        if (estimate.n > 0)
            print_line(out, line, name, metric->unit, "", estimate);
    }
}

/* Prints the comparison on the reference's line; the column `against` names the other policy. */
static void print_comparison(const struct report *report, FILE *out, const struct line *other)
{
    const struct report_scenario *scenario = other->scenario;
    size_t contender = (size_t)(other->contender - scenario->contenders);
    if (scenario->reference == REPORT_NONE || contender == scenario->reference)
        return;
    struct report_comparison comparison =
        report_compare(report, scenario, contender, other->application);
    struct line line = *other;
    line.contender = &scenario->contenders[scenario->reference];
    const char *against = other->contender->title;
    print_line(out, &line, REPORT_HIT_POINTS, "percentage points", against, comparison.hit_points);
    print_line(out, &line, REPORT_HIT_RELATIVE, "%", against, comparison.hit_relative);
    print_line(out, &line, REPORT_SAVING, "%", against, comparison.saving);
}

/* Prints one line per curve: where it ends. The column `against` has the limit, the verdict whether
 * the sweep ends first. */
static void print_curves(const struct report *report, FILE *out)
{
    const struct curves *curves = report->curves;
    char metric[TEXT_LABEL];
    char limit[TEXT_LABEL];
    (void)snprintf(metric, sizeof metric, "%s_sustained", curves->key);
    (void)snprintf(limit, sizeof limit, "%s at %s %g", curves->metric->name,
                   curves->at_most ? "most" : "least", curves->limit);
    for (size_t g = 0; g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++)
            for (size_t l = 0; l < curves->groups[g].panels[p].line_count; l++) {
                const struct curve_panel *panel = &curves->groups[g].panels[p];
                const struct curve_line *ours = &panel->lines[l];
                struct report_scenario scenario = *curves->groups[g].like;
                struct report_contender contender = *ours->like;
                struct estimate value = statistics_none;
                char text[64];
                scenario.conditions = panel->conditions;
                scenario.setting = curve_group_setting(&curves->groups[g]);
                scenario.label = curves->groups[g].named ? "" : scenario.label;
                contender.variant = ours->variant;
                contender.run_count = 0;
                value.mean = ours->sustained;
                value.n = ours->like->run_count;
                curve_sustained_text(panel, ours, text);
                const struct line line = {&scenario, &contender, NULL, report->results};
                print_judged(out, &line, metric, "1", limit, value, text);
            }
}

/* Prints the published figure: its bounds, then the verdict. The column for conditions has its
 * evidence grade. */
static void print_figure(const struct results *results, FILE *out,
                         const struct judgement *judgement)
{
    const struct reference_figure *figure = judgement->figure;
    struct report_scenario scenario = {
        .name = "reference", .setting = "", .conditions = figure->evidence};
    struct report_contender contender = {.policy = figure->policy, .variant = (char[]){""}};
    struct line line = {&scenario, &contender, figure->application, results};
    struct estimate value = statistics_none;
    value.mean = figure->low;
    if (!isnan(figure->low))
        print_line(out, &line, figure->metric, figure->unit, "low", value);
    value.mean = figure->high;
    if (!isnan(figure->high))
        print_line(out, &line, figure->metric, figure->unit, "high", value);
    print_judged(out, &line, figure->metric, figure->unit, "verdict", statistics_none,
                 judgement->sentence);
}

/* Prints one line per pair: our estimate and its standing. */
static void print_pairs(const struct results *results, FILE *out, const struct judgement *judgement)
{
    const struct reference_figure *figure = judgement->figure;
    const bool comparison = reference_is_comparison(figure);
    for (size_t p = 0; p < judgement->pair_count; p++) {
        const struct verdict_pair *pair = &judgement->pairs[p];
        struct report_scenario scenario = {
            .name = "reference",
            .setting = pair->setting,
            .conditions = figure->evidence,
            .evidence = pair->scenario == NULL ? NULL : pair->scenario->evidence};
        struct report_contender contender = {.policy = comparison ? figure->policy : pair->policy,
                                             .variant = (char[]){""}};
        struct line line = {&scenario, &contender, figure->application, results};
        print_judged(out, &line, figure->metric, figure->unit, comparison ? pair->policy : "",
                     pair->ours, standing_name(pair->standing));
    }
}

static bool print_reference(const struct report *report, const struct reference *reference,
                            FILE *out, struct error *error)
{
    for (size_t i = 0; i < reference->figure_count; i++) {
        struct judgement judgement;
        if (!verdict_judge(report, &reference->figures[i], NULL, &judgement, error))
            return false;
        print_figure(report->results, out, &judgement);
        print_pairs(report->results, out, &judgement);
        judgement_clear(&judgement);
    }
    return true;
}

static void print_notice(const struct report *report, FILE *out, const char *where,
                         const char *kind, size_t runs, const char *text)
{
    struct report_scenario scenario = {.name = "notice", .setting = "", .conditions = (char[]){""}};
    struct report_contender contender = {.policy = "", .variant = (char[]){""}};
    const struct line line = {&scenario, &contender, NULL, report->results};
    struct estimate value = statistics_none;
    value.mean = (double)runs;
    print_judged(out, &line, kind, "runs", where, value, text);
}

/* Prints what a reader must know first: the missing runs, then one line per warning and note. The
 * mean is the number of runs, `against` says which, the verdict has the text. */
static bool print_notices(const struct report *report, FILE *out)
{
    if (report->incomplete != NULL)
        print_notice(report, out, "", "incomplete", (size_t)report->results->sweep.missing,
                     report->incomplete);
    for (size_t n = 0; n < report->notice_count; n++) {
        const struct report_notice *notice = &report->notices[n];
        char *where = report_notice_where(report, notice);
        if (where == NULL)
            return false;
        print_notice(report, out, where, notice->warning ? "warning" : "note", notice->runs,
                     notice->text);
        free(where);
    }
    return true;
}

bool report_csv(const struct report *report, const struct reference *reference, FILE *out,
                struct error *error)
{
    (void)fputs("name,setting,conditions,policy,variant,application,metric,unit,against,seeds,mean,"
                "sd,half_width_95,profile_evidence,verdict,setting_label,policy_label,low_95,"
                "high_95",
                out);
    for (size_t k = 0; k < results_key_count(report->results); k++)
        if (is_behind(report->results, k)) {
            (void)fputc(',', out);
            csv_text(out, report->results->swept->columns[k].name);
        }
    (void)fputs("\r\n", out);
    if (!print_notices(report, out))
        return error_run(error, "out of memory for the report");
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++) {
            /* Each application, then all together. */
            for (size_t a = 0; a <= scenario->application_count; a++) {
                struct line line = {scenario, &scenario->contenders[c],
                                    a < scenario->application_count ? scenario->applications[a]
                                                                    : NULL,
                                    report->results};
                print_measures(report, out, &line);
                if (line.application == NULL)
                    print_trainings(report, out, &line);
                print_comparison(report, out, &line);
            }
        }
    }
    if (report->curves != NULL && !isnan(report->curves->limit))
        print_curves(report, out);
    if (reference != NULL && !print_reference(report, reference, out, error))
        return false;
    return !ferror(out) || error_run(error, "cannot write the report: %s", strerror(errno));
}

/* ---- Verdicts alone -------------------------------------------------------------------------- */

/* Where a line of verdicts belongs: the texts of its columns, in their order. */
struct place {
    const char *file, *of, *assumptions, *setting, *policy;
};

/* `ours` and `standing` may be NULL. */
static void verdict_line(FILE *out, const struct place *place, const struct judgement *judgement,
                         const struct estimate *ours, const char *standing)
{
    const struct reference_figure *figure = judgement->figure;
    const bool comparison = reference_is_comparison(figure) && place->policy[0] != '\0';
    const char *const texts[] = {place->file,
                                 figure->metric,
                                 figure->unit,
                                 figure->evidence,
                                 place->of,
                                 place->assumptions,
                                 place->setting,
                                 comparison ? figure->policy : place->policy,
                                 comparison ? place->policy : ""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        csv_text(out, texts[i]);
        (void)fputc(',', out);
    }
    csv_number(out, figure->low);
    print_number(out, figure->high);
    (void)fprintf(out, ",%zu", ours == NULL ? 0 : ours->n);
    print_number(out, ours == NULL ? NAN : ours->mean);
    print_number(out, ours == NULL ? NAN : ours->half_width);
    (void)fprintf(out, ",%s,%s", standing == NULL ? "" : standing,
                  standing == NULL ? verdict_name(judgement->verdict) : "");
    print_number(out, ours == NULL ? NAN : ours->low);
    print_number(out, ours == NULL ? NAN : ours->high);
    (void)fputs("\r\n", out);
}

static void world_lines(FILE *out, const char *file, const struct report_scenario *world,
                        const struct judgement *judgement)
{
    char title[512];
    verdict_world_title(world, title, sizeof title);
    const struct place whole = {file, "assumptions", title, "", ""};
    verdict_line(out, &whole, judgement, NULL, NULL);
    for (size_t p = 0; p < judgement->pair_count; p++) {
        const struct verdict_pair *pair = &judgement->pairs[p];
        const bool named = pair->scenario != NULL && pair->scenario->setting[0] != '\0';
        const struct place place = {file, "pair", title,
                                    named ? pair->scenario->setting : pair->setting, pair->policy};
        verdict_line(out, &place, judgement, &pair->ours, standing_name(pair->standing));
    }
    for (size_t a = 0; a < judgement->average_count; a++) {
        const struct verdict_average *average = &judgement->averages[a];
        const struct place place = {file, "average", title, "", average->policy};
        verdict_line(out, &place, judgement, &average->ours, standing_name(average->standing));
    }
}

static bool figure_lines(const struct report *report, const struct reference_figure *figure,
                         FILE *out, struct error *error)
{
    const struct place all = {report->results->path, "all", "", "", ""};
    struct judgement judgement;
    size_t next = 0;
    if (!verdict_judge(report, figure, NULL, &judgement, error))
        return false;
    verdict_line(out, &all, &judgement, NULL, NULL);
    judgement_clear(&judgement);
    for (;;) {
        const struct report_scenario *world = NULL;
        if (!verdict_next_world(report, figure, &next, &world, &judgement, error))
            return false;
        if (world == NULL)
            return true;
        world_lines(out, report->results->path, world, &judgement);
        judgement_clear(&judgement);
    }
}

bool verdicts_csv(const struct report *const *reports, size_t count,
                  const struct reference *reference, FILE *out, struct error *error)
{
    (void)fputs("file,metric,unit,evidence,of,assumptions,setting,policy,against,low,high,seeds,"
                "mean,half_width_95,standing,verdict,low_95,high_95\r\n",
                out);
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < reference->figure_count; i++)
            if (!figure_lines(reports[r], &reference->figures[i], out, error))
                return false;
    return !ferror(out) || error_run(error, "cannot write the report: %s", strerror(errno));
}
