/* The report as CSV (RFC 4180), one line per metric of a contender, so that any table can be
 * derived from it. */
#include <errno.h>
#include <math.h>

#include "results/expect/reproduction_check.h"
#include "results/page/csv.h"
#include "results/page/verdict_table.h"
#include "results/report/curve.h"

/* One line, by its columns; a text that is NULL is empty. */
struct line {
    const struct results *results;
    size_t run; /* one of the contender's, for the values of the swept keys; REPORT_NONE: none */
    const char *name, *setting, *conditions, *policy, *variant, *application;
    const char *against, *evidence, *verdict, *setting_label, *policy_label;
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

static struct estimate alone(size_t n, double value)
{
    struct estimate estimate = statistics_none;
    estimate.n = n;
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

static void print_line(FILE *out, const struct line *line, const char *metric, const char *unit,
                       struct estimate estimate)
{
    csv_print(out, "%s,%s,%s,%s,%s,%s,%s,%s,%s,%zu,%g,%g,%g,%s,%s,%s,%s,%g,%g", line->name,
              line->setting, line->conditions, line->policy, line->variant, line->application,
              metric, unit, line->against, estimate.n, estimate.mean, estimate.sd,
              estimate.half_width, line->evidence, line->verdict, line->setting_label,
              line->policy_label, estimate.low, estimate.high);
    for (size_t k = 0; k < results_key_count(line->results); k++) {
        if (!is_behind(line->results, k))
            continue;
        (void)fputc(',', out);
        if (line->run != REPORT_NONE)
            csv_column(out, results_values(line->results, line->run),
                       &line->results->swept->columns[k]);
    }
    (void)fputs("\r\n", out);
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
    for (size_t g = 0; g < GAINS; g++)
        print_line(out, &line, paired_gains[g].name, paired_gains[g].long_unit,
                   comparison.gains[g]);
}

/* Prints the metrics of a contender, for an application or, with those of the run and of its
 * trainings, for all together. */
static void print_contender(const struct report *report, FILE *out,
                            const struct report_scenario *scenario, size_t contender,
                            const char *application)
{
    const struct report_contender *ours = &scenario->contenders[contender];
    const struct line line = line_of(report, scenario, ours, application);
    for (size_t m = 0; m < metric_count + training_metric_count; m++) {
        const bool trains = metrics[m].scope == METRIC_OF_TRAININGS;
        char name[96];
        if (application != NULL && metrics[m].scope != METRIC_OF_APPLICATION)
            continue;
        const struct estimate estimate = report_estimate(report, ours, application, &metrics[m]);
        (void)snprintf(name, sizeof name, "%s%s", trains ? "training_" : "", metrics[m].name);
        if (estimate.n > 0 || !trains)
            print_line(out, &line, name, metrics[m].unit, estimate);
    }
    print_comparison(report, out, scenario, contender, application);
}

/* Prints one line per curve: where it ends. The column `against` has the limit, the verdict whether
 * the sweep ends first. */
static void print_panel(const struct report *report, const struct curve_group *group,
                        const struct curve_panel *panel, FILE *out)
{
    const struct curves *curves = report->curves;
    const char *metric = arena_text(report->arena, "%s_sustained", curves->key);
    const char *limit = arena_text(report->arena, "%s at %s %g", curves->metric->name,
                                   curves->at_most ? "most" : "least", curves->limit);
    for (size_t l = 0; l < panel->line_count; l++) {
        const struct curve_line *ours = &panel->lines[l];
        struct line line = line_of(report, group->like, ours->like, NULL);
        line.run = REPORT_NONE;
        line.conditions = panel->conditions;
        line.setting = curve_group_setting(group);
        line.setting_label = group->named ? "" : line.setting_label;
        line.variant = ours->variant;
        line.against = limit;
        line.verdict = ours->words;
        print_line(out, &line, metric, "1", alone(ours->like->run_count, ours->sustained));
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
        print_line(out, &line, figure->metric, figure->unit, alone(0, figure->low));
    line.against = "high";
    if (!isnan(figure->high))
        print_line(out, &line, figure->metric, figure->unit, alone(0, figure->high));
    line.against = "verdict";
    line.verdict = judgement->sentence;
    print_line(out, &line, figure->metric, figure->unit, statistics_none);
    for (size_t p = 0; p < judgement->pair_count; p++) {
        const struct verdict_pair *pair = &judgement->pairs[p];
        line.setting = pair->setting;
        line.evidence = pair->scenario == NULL ? NULL : pair->scenario->evidence;
        line.policy = comparison ? figure->policy : pair->policy;
        line.against = comparison ? pair->policy : "";
        line.verdict = standing_name(pair->standing);
        print_line(out, &line, figure->metric, figure->unit, pair->ours);
    }
}

/* Prints what a reader must know first: the missing runs, then one line per warning and note. The
 * mean is the number of runs, `against` says which, the verdict has the text. */
static void print_notices(const struct report *report, FILE *out)
{
    struct line line = {.results = report->results, .run = REPORT_NONE, .name = "notice"};
    line.verdict = report->incomplete;
    if (report->incomplete != NULL)
        print_line(out, &line, "incomplete", "runs",
                   alone(0, (double)report->results->sweep.missing));
    for (size_t n = 0; n < report->notice_count; n++) {
        const struct counted_notice *notice = &report->notices[n];
        line.against = report_notice_where(report, notice);
        line.verdict = notice->notice.text;
        print_line(out, &line, notice->notice.warning ? "warning" : "note", "runs",
                   alone(0, (double)notice->runs));
    }
}

static void print_scenario(const struct report *report, const struct report_scenario *scenario,
                           FILE *out)
{
    for (size_t c = 0; c < scenario->contender_count; c++) { /* each application, then all */
        for (size_t a = 0; a < scenario->application_count; a++)
            print_contender(report, out, scenario, c, scenario->applications[a]);
        print_contender(report, out, scenario, c, NULL);
    }
}

bool report_csv(const struct report *report, FILE *out, struct error *error)
{
    const struct curves *curves = report->curves;
    (void)fputs("name,setting,conditions,policy,variant,application,metric,unit,against,seeds,mean,"
                "sd,half_width_95,profile_evidence,verdict,setting_label,policy_label,low_95,"
                "high_95",
                out);
    for (size_t k = 0; k < results_key_count(report->results); k++)
        if (is_behind(report->results, k))
            csv_print(out, ",%s", report->results->swept->columns[k].name);
    (void)fputs("\r\n", out);
    print_notices(report, out);
    for (size_t s = 0; s < report->scenario_count; s++)
        print_scenario(report, &report->scenarios[s], out);
    for (size_t g = 0; curves != NULL && !isnan(curves->limit) && g < curves->group_count; g++)
        for (size_t p = 0; p < curves->groups[g].panel_count; p++)
            print_panel(report, &curves->groups[g], &curves->groups[g].panels[p], out);
    for (size_t i = 0; i < report->judgement_count; i++)
        print_judgement(report->results, out, &report->judgements[i]);
    return !ferror(out) || error_write(error, "the report", errno);
}

/* ---- Verdicts alone -------------------------------------------------------------------------- */

/* Prints a line on a part of a figure: its setting, policy, our estimate and its standing. They are
 * empty on a line of the whole figure, which has the verdict. */
static void verdict_line(FILE *out, const char *file, const struct judgement *judgement,
                         const char *of, const struct verdict_pair *part)
{
    const struct expectation *figure = judgement->figure;
    const bool comparison = expectation_is_comparison(figure) && part != NULL;
    const struct estimate *ours = part == NULL ? &statistics_none : &part->ours;
    const char *policy = part == NULL ? "" : part->policy;
    const char *assumptions = judgement->world == NULL ? "" : judgement->world->assumptions;
    csv_print(out, "%s,%s,%s,%s,%s,%s,%s,%s,%s,%g,%g,%zu,%g,%g,%s,%s,%g,%g\r\n", file,
              figure->metric, figure->unit, figure->evidence, of, assumptions,
              part == NULL ? "" : part->setting, comparison ? figure->policy : policy,
              comparison ? policy : "", figure->low, figure->high, ours->n, ours->mean,
              ours->half_width, part == NULL ? "" : standing_name(part->standing),
              part == NULL ? verdict_name(judgement->verdict) : "", ours->low, ours->high);
}

static void world_lines(FILE *out, const char *file, const struct judgement *judgement)
{
    verdict_line(out, file, judgement, "assumptions", NULL);
    for (size_t p = 0; p < judgement->pair_count; p++) {
        struct verdict_pair pair = judgement->pairs[p];
        if (pair.scenario != NULL && pair.scenario->setting[0] != '\0')
            pair.setting = pair.scenario->setting;
        verdict_line(out, file, judgement, "pair", &pair);
    }
    for (size_t a = 0; a < judgement->average_count; a++)
        verdict_line(out, file, judgement, "average", &judgement->averages[a]);
}

bool verdicts_csv(const struct report *const *reports, size_t count, FILE *out, struct error *error)
{
    (void)fputs("file,metric,unit,evidence,of,assumptions,setting,policy,against,low,high,seeds,"
                "mean,half_width_95,standing,verdict,low_95,high_95\r\n",
                out);
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < reports[r]->judgement_count; i++) {
            const struct judgement *judgement = &reports[r]->judgements[i];
            verdict_line(out, reports[r]->results->path, judgement, "all", NULL);
            for (size_t w = 0; w < judgement->apart_count; w++)
                world_lines(out, reports[r]->results->path, &judgement->apart[w]);
        }
    return !ferror(out) || error_write(error, "the report", errno);
}
