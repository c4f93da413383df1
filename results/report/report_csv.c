/* The report as CSV (RFC 4180), one line per figure, so that any table can be derived from it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/csv.h"
#include "results/report/curve.h"
#include "results/report/reproduction_check.h"
#include "results/report/verdict_table.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void print_number(FILE *out, double value)
{
    (void)fputc(',', out);
    csv_number(out, value);
}

/* One line, by its columns; a text that is NULL is empty. */
struct line {
    const struct results *results;
    size_t run; /* one of the contender's, for the values of the swept keys; REPORT_NONE: none */
    const char *name, *setting, *conditions, *policy, *variant, *application;
    const char *metric, *unit, *against, *evidence, *verdict, *setting_label, *policy_label;
    struct estimate estimate;
};

static struct line line_of(const struct report *report, const struct report_scenario *scenario,
                           const struct report_contender *contender, const char *application)
{
    return (struct line){.results = report->results,
                         .run = contender->run_count > 0 ? contender->runs[0] : REPORT_NONE,
                         .name = scenario->name,
                         .setting = scenario->setting,
                         .conditions = scenario->conditions,
                         .policy = contender->policy,
                         .variant = contender->variant,
                         .application = application,
                         .evidence = scenario->evidence,
                         .setting_label = scenario->label,
                         .policy_label = contender->label};
}

static struct estimate alone(double value)
{
    struct estimate estimate = statistics_none;
    estimate.mean = value;
    return estimate;
}

/* Returns whether the key is a column behind the others: `name` and `setting` are columns before.
 */
static bool is_behind(const struct results *results, size_t key)
{
    return results->swept->columns[key].type != COLUMN_TEXT ||
           !swept_is_shared(results->swept->columns[key].name);
}

static void print_texts(FILE *out, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        csv_text(out, texts[i] == NULL ? "" : texts[i]);
        (void)fputc(',', out);
    }
}

static void print_line(FILE *out, const struct line *line)
{
    const char *const texts[] = {line->name,   line->setting, line->conditions,
                                 line->policy, line->variant, line->application,
                                 line->metric, line->unit,    line->against};
    const char *const last[] = {line->evidence, line->verdict, line->setting_label,
                                line->policy_label};
    const struct estimate *estimate = &line->estimate;
    print_texts(out, texts, COUNT(texts));
    (void)fprintf(out, "%zu", estimate->n);
    print_number(out, estimate->mean);
    print_number(out, estimate->sd);
    print_number(out, estimate->half_width);
    (void)fputc(',', out);
    print_texts(out, last, COUNT(last));
    csv_number(out, estimate->low);
    print_number(out, estimate->high);
    for (size_t k = 0; k < results_key_count(line->results); k++) {
        if (!is_behind(line->results, k))
            continue;
        (void)fputc(',', out);
        if (line->run != REPORT_NONE)
            csv_swept(out, line->results, line->run, k);
    }
    (void)fputs("\r\n", out);
}

static void print_figure(FILE *out, struct line line, const char *metric, const char *unit,
                         struct estimate estimate)
{
    line.metric = metric;
    line.unit = unit;
    line.estimate = estimate;
    print_line(out, &line);
}

static void print_trainings(const struct report *report, FILE *out, const struct line *line,
                            const struct report_contender *contender)
{
    for (size_t m = 0; m < training_metric_count; m++) {
        const struct metric *metric = &training_metrics[m];
        const struct estimate estimate = report_estimate(report, contender, NULL, metric);
        char name[96];
        (void)snprintf(name, sizeof name, "training_%s", metric->name);
        if (estimate.n > 0)
            print_figure(out, *line, name, metric->unit, estimate);
    }
}

/* Prints the comparison on the reference's line; the column `against` names the other policy. */
static void print_comparison(const struct report *report, FILE *out,
                             const struct report_scenario *scenario, size_t contender,
                             const char *application)
{
    if (scenario->reference == REPORT_NONE || contender == scenario->reference)
        return;
    const struct report_comparison comparison =
        report_compare(report, scenario, contender, application);
    struct line line =
        line_of(report, scenario, &scenario->contenders[scenario->reference], application);
    line.against = scenario->contenders[contender].title;
    print_figure(out, line, REPORT_HIT_POINTS, "percentage points", comparison.hit_points);
    print_figure(out, line, REPORT_HIT_RELATIVE, "%", comparison.hit_relative);
    print_figure(out, line, REPORT_SAVING, "%", comparison.saving);
}

/* Prints the figures of a contender, for an application or all together. */
static void print_contender(const struct report *report, FILE *out,
                            const struct report_scenario *scenario, size_t contender,
                            const char *application)
{
    const struct report_contender *ours = &scenario->contenders[contender];
    const struct line line = line_of(report, scenario, ours, application);
    for (size_t m = 0; m < metric_count; m++)
        if (application == NULL || metrics[m].scope != METRIC_OF_RUN)
            print_figure(out, line, metrics[m].name, metrics[m].unit,
                         report_estimate(report, ours, application, &metrics[m]));
    if (application == NULL)
        print_trainings(report, out, &line, ours);
    print_comparison(report, out, scenario, contender, application);
}

/* Prints one line per curve: where it ends. The column `against` has the limit, the verdict whether
 * the sweep ends first. */
static void print_curves(const struct report *report, FILE *out)
{
    const struct curves *curves = report->curves;
    char metric[TEXT_LABEL], limit[TEXT_LABEL], text[64];
    (void)snprintf(metric, sizeof metric, "%s_sustained", curves->key);
    (void)snprintf(limit, sizeof limit, "%s at %s %g", curves->metric->name,
                   curves->at_most ? "most" : "least", curves->limit);
    for (size_t g = 0; g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++)
            for (size_t l = 0; l < curves->groups[g].panels[p].line_count; l++) {
                const struct curve_group *group = &curves->groups[g];
                const struct curve_line *ours = &group->panels[p].lines[l];
                struct line line = line_of(report, group->like, ours->like, NULL);
                line.run = REPORT_NONE;
                line.conditions = group->panels[p].conditions;
                line.setting = curve_group_setting(group);
                line.setting_label = group->named ? "" : line.setting_label;
                line.variant = ours->variant;
                line.against = limit;
                line.verdict = text;
                line.estimate = alone(ours->sustained);
                line.estimate.n = ours->like->run_count;
                curve_sustained_text(&group->panels[p], ours, text);
                print_figure(out, line, metric, "1", line.estimate);
            }
}

/* Prints the published figure: its bounds, then the verdict, then one line per pair with our
 * estimate and its standing. The column for conditions has the figure's evidence grade. */
static void print_judgement(const struct results *results, FILE *out,
                            const struct judgement *judgement)
{
    const struct expectation *figure = judgement->figure;
    const bool comparison = expectation_is_comparison(figure);
    struct line line = {.results = results,
                        .run = REPORT_NONE,
                        .name = "reference",
                        .conditions = figure->evidence,
                        .policy = figure->policy,
                        .application = figure->application,
                        .against = "low"};
    if (!isnan(figure->low))
        print_figure(out, line, figure->metric, figure->unit, alone(figure->low));
    line.against = "high";
    if (!isnan(figure->high))
        print_figure(out, line, figure->metric, figure->unit, alone(figure->high));
    line.against = "verdict";
    line.verdict = judgement->sentence;
    print_figure(out, line, figure->metric, figure->unit, statistics_none);
    for (size_t p = 0; p < judgement->pair_count; p++) {
        const struct verdict_pair *pair = &judgement->pairs[p];
        line.setting = pair->setting;
        line.evidence = pair->scenario == NULL ? NULL : pair->scenario->evidence;
        line.policy = comparison ? figure->policy : pair->policy;
        line.against = comparison ? pair->policy : "";
        line.verdict = standing_name(pair->standing);
        print_figure(out, line, figure->metric, figure->unit, pair->ours);
    }
}

/* Prints what a reader must know first: the missing runs, then one line per warning and note. The
 * mean is the number of runs, `against` says which, the verdict has the text. */
static void print_notices(const struct report *report, FILE *out)
{
    struct line line = {.results = report->results, .run = REPORT_NONE, .name = "notice"};
    line.verdict = report->incomplete;
    if (report->incomplete != NULL)
        print_figure(out, line, "incomplete", "runs",
                     alone((double)report->results->sweep.missing));
    for (size_t n = 0; n < report->notice_count; n++) {
        const struct report_notice *notice = &report->notices[n];
        line.against = report_notice_where(report, notice);
        line.verdict = notice->text;
        print_figure(out, line, notice->warning ? "warning" : "note", "runs",
                     alone((double)notice->runs));
    }
}

bool report_csv(const struct report *report, FILE *out, struct error *error)
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
    print_notices(report, out);
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++) /* each application, then all */
            for (size_t a = 0; a <= scenario->application_count; a++)
                print_contender(report, out, scenario, c,
                                a < scenario->application_count ? scenario->applications[a] : NULL);
    }
    if (report->curves != NULL && !isnan(report->curves->limit))
        print_curves(report, out);
    for (size_t i = 0; i < report->judgement_count; i++)
        print_judgement(report->results, out, &report->judgements[i]);
    return !ferror(out) || error_run(error, "cannot write the report: %s", strerror(errno));
}

/* ---- Verdicts alone -------------------------------------------------------------------------- */

/* Where a line of verdicts belongs: the texts of its columns, in their order. */
struct place {
    const char *file, *of, *assumptions, *setting, *policy;
};

/* `standing` NULL: the line is of the whole figure. */
static void verdict_line(FILE *out, const struct place *place, const struct judgement *judgement,
                         struct estimate ours, const char *standing)
{
    const struct expectation *figure = judgement->figure;
    const bool comparison = expectation_is_comparison(figure) && place->policy[0] != '\0';
    const char *const texts[] = {place->file,
                                 figure->metric,
                                 figure->unit,
                                 figure->evidence,
                                 place->of,
                                 place->assumptions,
                                 place->setting,
                                 comparison ? figure->policy : place->policy,
                                 comparison ? place->policy : ""};
    print_texts(out, texts, COUNT(texts));
    csv_number(out, figure->low);
    print_number(out, figure->high);
    (void)fprintf(out, ",%zu", ours.n);
    print_number(out, ours.mean);
    print_number(out, ours.half_width);
    (void)fprintf(out, ",%s,%s", standing == NULL ? "" : standing,
                  standing == NULL ? verdict_name(judgement->verdict) : "");
    print_number(out, ours.low);
    print_number(out, ours.high);
    (void)fputs("\r\n", out);
}

static void world_lines(FILE *out, const char *file, const struct judgement *judgement)
{
    char title[512];
    verdict_world_title(judgement->world, title, sizeof title);
    const struct place whole = {file, "assumptions", title, "", ""};
    verdict_line(out, &whole, judgement, statistics_none, NULL);
    for (size_t p = 0; p < judgement->pair_count; p++) {
        const struct verdict_pair *pair = &judgement->pairs[p];
        const bool named = pair->scenario != NULL && pair->scenario->setting[0] != '\0';
        const struct place place = {file, "pair", title,
                                    named ? pair->scenario->setting : pair->setting, pair->policy};
        verdict_line(out, &place, judgement, pair->ours, standing_name(pair->standing));
    }
    for (size_t a = 0; a < judgement->average_count; a++) {
        const struct verdict_average *average = &judgement->averages[a];
        const struct place place = {file, "average", title, "", average->policy};
        verdict_line(out, &place, judgement, average->ours, standing_name(average->standing));
    }
}

static void figure_lines(const char *file, const struct judgement *judgement, FILE *out)
{
    const struct place all = {file, "all", "", "", ""};
    verdict_line(out, &all, judgement, statistics_none, NULL);
    for (size_t w = 0; w < judgement->apart_count; w++)
        world_lines(out, file, &judgement->apart[w]);
}

bool verdicts_csv(const struct report *const *reports, size_t count, FILE *out, struct error *error)
{
    (void)fputs("file,metric,unit,evidence,of,assumptions,setting,policy,against,low,high,seeds,"
                "mean,half_width_95,standing,verdict,low_95,high_95\r\n",
                out);
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < reports[r]->judgement_count; i++)
            figure_lines(reports[r]->results->path, &reports[r]->judgements[i], out);
    return !ferror(out) || error_run(error, "cannot write the report: %s", strerror(errno));
}
