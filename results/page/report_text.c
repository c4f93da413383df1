/* The report as text. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "results/expect/reproduction_check.h"
#include "results/page/overview.h"
#include "results/page/report_columns.h"
#include "results/page/scenario_tables.h"
#include "results/page/verdict_table.h"
#include "results/report/curve.h"
#include "results/report/table.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- Header -------------------------------------------------------------------------------- */

/* Two modules may have the same name, so their hashes are compared too. */
static size_t distinct_policies(const struct report *report)
{
    const char **names = NULL;
    size_t count = 0;
    for (size_t i = 0; i < report->results->run_count; i++)
        report_name_add(report, &names, &count,
                        arena_text(report->arena, "%s %s", report->results->runs[i].policy,
                                   report->results->runs[i].policy_sha256));
    return count;
}

static void print_evidence(const struct report *report, FILE *out)
{
    const struct results *results = report->results;
    const char **told = NULL;
    size_t count = 0;
    (void)fputs("  profile    evidence:", out);
    for (size_t i = 0; i < results->run_count; i++) {
        const char *evidence = results->runs[i].evidence;
        if (report_name_add(report, &told, &count, evidence))
            (void)fprintf(out, "%s %s", count > 1 ? "," : "",
                          evidence[0] == '\0' ? "no profile" : evidence);
    }
    (void)fputc('\n', out);
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void print_header(const struct report *report, FILE *out)
{
    const struct results *results = report->results;
    struct run_ranges ranges;
    report_ranges(results, &ranges);
    const size_t policies = distinct_policies(report);
    (void)fprintf(out, "Results of %s, written by esgsim %s (%s)\n\n", results->path,
                  results->version == NULL ? "of unknown version" : results->version,
                  results->commit == NULL ? "unknown" : results->commit);
    (void)fprintf(out, "  runs       %zu: %zu setting%s, %zu polic%s, seed%s %s\n",
                  results->run_count, report->scenario_count, plural(report->scenario_count),
                  policies, policies == 1 ? "y" : "ies",
                  strstr(ranges.seeds, " to ") == NULL ? "" : "s", ranges.seeds);
    if (results->application_count > 0)
        (void)fprintf(out, "  measured   %s requests per run, after a warm-up of %s\n",
                      ranges.requests, ranges.warmup);
    if (report->constants[0] != '\0')
        (void)fprintf(out, "  in all     %s\n", report->constants);
    if (results->application_count > 0)
        print_evidence(report, out);
    (void)fprintf(out, "  reality    %s\n", REPORT_REALITY);
}

/* Prints the assumptions before any metrics. */
static void print_notices(const struct report *report, FILE *out)
{
    for (size_t n = 0; n < report->notice_count; n++)
        (void)fprintf(
            out, "  %-10s %s (%s)\n", report->notices[n].notice.warning ? "WARNING" : "note",
            report->notices[n].notice.text, report_notice_where(report, &report->notices[n]));
}

static void print_legend(FILE *out)
{
    (void)fputs(
        "\nHow to read the tables\n"
        "  a ± h        mean over the seeds and half-width of its 95 % interval; a [b, c] if that "
        "is not symmetric: a share stays within 0 to 100 %; a alone: one seed\n"
        "  SLO hit %    requests that finished within their SLO\n"
        "  dropped %    given up by the policy, or refused by the platform; above 0.5 % it is "
        "shown\n"
        "  $/1,000 served  pay-per-use of all work: execution time x (vCPU + vGPU price), for "
        "1,000 "
        "requests that were not dropped\n"
        "  p50 p95 p99  percentiles of latency, from arrival to finish, of all requests: a dropped "
        "one "
        "is infinitely late; -: it lies among dropped ones\n"
        "  cold %       jobs that waited for a container to start, after they left their queue\n"
        "  plan missed  batches with fewer jobs, or in another configuration, than planned; - if "
        "the policy does not plan ahead\n"
        "  mean ms …    mean latency of the requests that were not dropped, and its components, "
        "summed over a request's jobs; with parallel branches their sum may exceed it\n"
        "  units        work that the policy reports: node expansions, candidates\n"
        "  goodput      requests that end in the time of arrivals, and within their SLO, per "
        "second\n"
        "  Jain         fairness of the applications' hit rates: 100 % where all are equal\n"
        "  bound        upper bound of SLO hits: requests whose fastest path, alone and with its "
        "noise, meets the SLO; of all applications on this cluster, where that is known. Cost of "
        "the cheapest path whose nominal time meets the SLO; short service times or missed SLOs "
        "can cost less\n",
        out);
}

/* ---- Tables of figures --------------------------------------------------------------------- */

static double mean_of(const struct report *report, const struct report_contender *contender,
                      const char *metric)
{
    return report_estimate(report, contender, NULL, metric_find(metric)).mean;
}

/* A policy that drops what is late has few and fast requests left. */
static void print_served(const struct report *report, const struct report_scenario *scenario,
                         FILE *out)
{
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_contender *contender = &scenario->contenders[c];
        report_served_print(out, contender->title, mean_of(report, contender, "drop_rate"),
                            mean_of(report, contender, "latency_ms_mean"),
                            mean_of(report, contender, "served_ms_p50"),
                            mean_of(report, contender, "served_ms_p99"));
    }
}

static void print_tables(const struct report *report, const struct report_scenario *scenario,
                         FILE *out)
{
    static const enum metric_group tables[][2] = {{METRIC_WORTH, METRIC_WORTH},
                                                  {METRIC_USE, METRIC_BASIS},
                                                  {METRIC_TIME, METRIC_TIME},
                                                  {METRIC_DECISIONS, METRIC_DECISIONS}};
    scenario_by_application(report, scenario, false, out);
    print_served(report, scenario, out);
    for (size_t i = 0; i < COUNT(tables); i++) {
        (void)fputc('\n', out);
        scenario_overall(report, scenario, tables[i][0], tables[i][1], false, out);
    }
}

static void print_comparisons(const struct report *report, const struct report_scenario *scenario,
                              FILE *out)
{
    const char *name = report_reference_name(scenario);
    if (scenario->contender_count <= 1) {
        (void)fputs("\nNo comparison: no other policy has run in this setting.\n", out);
        return;
    }
    (void)fprintf(out,
                  "\nPaired by seed (same arrivals and noise). Gain = %s - baseline in points, "
                  "(%s - baseline) / baseline in %%; "
                  "saving = (baseline - %s) / %s, in cost per request. Above 0: %s is better.\n\n",
                  name, name, name, name, name);
    scenario_comparisons(report, scenario, false, out);
    scenario_places(report, scenario, out);
}

/* What the columns of trainings are. */
static const char trainings_legend[] =
    "JCT: job completion time, from arrival to finish; slowdown: JCT / time alone at the "
    "proportional share; FTF rho: slowdown / max(1, mean of the GPUs demanded while present / "
    "GPUs); effective: share of GPUs held x speed / best speed; most GPUs: with a training at one "
    "time; fragmented: free GPUs that a typical training cannot use, mean over time (F of FGD)";

/* ---- Published figures --------------------------------------------------------------------- */

/* Adds the pairs that ran. The verdict, below the table, names the others. */
static void add_published(const struct report *report, const struct judgement *judgement,
                          struct text_table *table)
{
    const struct expectation *figure = judgement->figure;
    const bool comparison = expectation_is_comparison(figure);
    bool any = false;
    text_table_group(table,
                     arena_text(report->arena, "%s: %s [%s]%s%s", figure->title, judgement->range,
                                figure->evidence, figure->formula == NULL ? "" : ", ",
                                figure->formula == NULL ? "" : figure->formula));
    for (size_t p = 0; p < judgement->pair_count; p++) {
        const struct verdict_pair *pair = &judgement->pairs[p];
        if (pair->standing == STANDING_NO_RUN)
            continue;
        any = true;
        text_table_row(table);
        text_table_cell(table, 0, "  %s", pair->setting);
        /* Only the grade: the scenario's header has the full text, "measured: how". */
        text_table_cell(table, 1, "%.*s", (int)strcspn(pair->scenario->evidence, ":;,("),
                        pair->scenario->evidence);
        text_table_cell(table, 2, "%s%s", comparison ? "against " : "", pair->policy);
        text_table_estimate(table, 3, pair->ours, verdict_decimals(figure, pair->ours.mean));
        text_table_cell(table, 4, "%s", standing_name(pair->standing));
    }
    if (!any) {
        text_table_row(table);
        text_table_cell(table, 0, "  no run in this file to compare with");
    }
}

static bool setting_ran(const struct report *report, const char *setting)
{
    for (size_t i = 0; i < report->results->run_count; i++)
        if (strcmp(report->results->runs[i].setting, setting) == 0 ||
            strcmp(report->results->runs[i].name, setting) == 0)
            return true;
    return false;
}

/* Prints the policies or settings of the published figures that have no run in this file. */
static void print_absent(const struct report *report, bool settings, FILE *out)
{
    const struct expectations *expected = report->expected;
    const char **absent = NULL;
    size_t count = 0;
    for (size_t i = 0; i < expected->count; i++) {
        const struct expectation *figure = &expected->list[i];
        const size_t listed = settings ? figure->setting_count : figure->compare_count;
        for (size_t n = 0; n < listed + !settings; n++) {
            const char *name = n == listed ? figure->policy
                               : settings  ? figure->settings[n]
                                           : figure->against[n];
            if (settings ? !setting_ran(report, name) : !verdict_policy_ran(report, name))
                report_name_add(report, &absent, &count, name);
        }
    }
    if (count == 0)
        return;
    (void)fprintf(out, "Absent from this file: %s", settings ? "settings" : "policies");
    for (size_t t = 0; t < count; t++)
        (void)fprintf(out, "%s %s", t > 0 ? "," : "", absent[t]);
    (void)fputs(".\n", out);
}

/* The pairs of every published figure. */
static void print_pairs(const struct report *report, FILE *out)
{
    static const char *const headers[] = {"published figure, setting", "profile", "policy", "ours",
                                          "ours"};
    struct text_table *table = text_table_create(headers, COUNT(headers));
    for (size_t i = 0; i < report->judgement_count; i++)
        add_published(report, &report->judgements[i], table);
    text_table_end(table, false, out);
    (void)fputs("\nThe 95 % interval over the seeds, paired for a comparison, is wholly within the "
                "published range (holds), below it, above it, or contains an end of it "
                "(undecided).\n\n",
                out);
}

static void print_expected(const struct report *report, FILE *out)
{
    text_print_heading(out, "published figures and ours");
    (void)fputc('\n', out);
    (void)fprintf(out, "%s\n", report->expected->title);
    (void)fprintf(out, "%s\n", report->expected->source);
    (void)fputc('\n', out);
    if (report->details)
        print_pairs(report, out);
    print_absent(report, false, out);
    print_absent(report, true, out);
    for (size_t i = 0; i < report->judgement_count; i++)
        verdict_text(&report->judgements[i], true, out);
    (void)fputc('\n', out);
    verdicts_tables(&report, 1, out);
}

static void scenario_heading(const struct report_scenario *scenario, FILE *out)
{
    text_print_heading(out, scenario->title);
    (void)fputc('\n', out);
    if (scenario->application_count > 0)
        (void)fprintf(out, "profile evidence: %s\n\n",
                      scenario->evidence[0] == '\0' ? "no profile" : scenario->evidence);
}

static void print_scenario(const struct report *report, const struct report_scenario *scenario,
                           FILE *out)
{
    scenario_heading(scenario, out);
    if (report_trains(report, scenario)) {
        scenario_trainings(report, scenario, false, out);
        (void)fputc('\n', out);
        (void)fprintf(out, "%s\n", trainings_legend);
    }
    if (scenario->application_count == 0)
        return;
    print_tables(report, scenario, out);
    print_comparisons(report, scenario, out);
}

/* Curves come before all other tables, because they summarise them. */
static void print_curves(const struct report *report, FILE *out)
{
    const bool limited = !isnan(report->curves->limit);
    if (limited) {
        (void)fputc('\n', out);
        curves_text_sustained(report, out);
    }
    if (report->curves_in_full)
        curves_panels(report, false, out);
}

/* How to see what the summary leaves out. */
static void print_more(const struct report *report, FILE *out)
{
    (void)fputc('\n', out);
    if (report->curves != NULL && !report->curves_in_full)
        (void)fprintf(out, "--over %s prints the curves, ", report->curves->key);
    (void)fprintf(out, "--details prints the tables of all %zu settings%s\n",
                  report->scenario_count,
                  report->expected == NULL ? "" : ", and all pairs of the published figures");
}

bool report_text(const struct report *report, FILE *out, struct error *error)
{
    if (report->incomplete != NULL)
        (void)fprintf(out, "%s\n\n", report->incomplete);
    if (report->results->run_count == 0) {
        (void)fprintf(out, "%s holds no finished run.\n", report->results->path);
        return true;
    }
    print_header(report, out);
    print_notices(report, out);
    if (report->curves != NULL)
        print_curves(report, out);
    if (overview_exists(report)) {
        (void)fputc('\n', out);
        overview_print(report, false, out);
    }
    if (report->expected != NULL)
        print_expected(report, out);
    const bool summarised = report->curves != NULL || overview_exists(report);
    const bool tables = !summarised || report->details;
    if (!tables)
        print_more(report, out);
    if (tables && report_serves(report))
        print_legend(out);
    for (size_t s = 0; s < report->scenario_count; s++)
        if (tables) {
            print_scenario(report, &report->scenarios[s], out);
        } else if (report->compares && report->scenarios[s].application_count > 0) {
            scenario_heading(&report->scenarios[s], out);
            print_comparisons(report, &report->scenarios[s], out);
        }
    return !ferror(out) || error_write(error, "the report", errno);
}
