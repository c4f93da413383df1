#include "results/report/report_columns.h"
#include "results/report/report_html.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/curve.h"
#include "results/report/html.h"
#include "results/report/overview.h"
#include "results/report/table.h"
#include "results/report/verdict_table.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- Head ----------------------------------------------------------------------------------- */

static void term_begin(FILE *out, const char *term)
{
    html_element(out, "dt", term);
    (void)fputs("<dd>", out);
}

/* Writes the distinct texts, separated by `between`; "none" if there are none. */
static void list_write(const char *const *texts, size_t count, const char *between, FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        (void)fputs(i > 0 ? between : "", out);
        html_text(out, texts[i]);
    }
    (void)fputs(count == 0 ? "none</dd>\n" : "</dd>\n", out);
}

/* Writes the distinct texts in one column of the runs. */
static void distinct_write(const struct report *report, const char *term, size_t offset, FILE *out)
{
    const struct results *results = report->results;
    const char **texts = NULL;
    size_t count = 0;
    for (size_t i = 0; i < results->run_count; i++) {
        const char *text = (const char *)&results->runs[i] + offset;
        if (text[0] != '\0')
            report_name_add(report, &texts, &count, text);
    }
    term_begin(out, term);
    list_write(texts, count, ", ", out);
}

static void notices_write(const struct report *report, FILE *out)
{
    for (size_t n = 0; n < report->notice_count; n++) {
        const struct report_notice *notice = &report->notices[n];
        term_begin(out, notice->warning ? "Warning" : "Note");
        html_text(out, notice->text);
        (void)fputs(" (", out);
        html_text(out, report_notice_where(report, notice));
        (void)fputs(")</dd>\n", out);
    }
}

/* A text of the details of a run, "" if there is none; of the report's arena. */
static const char *details_text(const struct page *page, const char *hash, const char *name)
{
    char *text = page->details == NULL ? NULL : run_details_text(page->details, hash, name);
    const char *kept = arena_text(page->report->arena, "%s", text == NULL ? "" : text);
    free(text);
    return kept;
}

/* Writes the distinct evidence of the models files. */
static void models_evidence_write(const struct page *page, FILE *out)
{
    const struct report *report = page->report;
    const char **texts = NULL;
    size_t count = 0;
    for (size_t s = 0; s < report->scenario_count; s++) {
        const size_t run = report->scenarios[s].contenders[0].runs[0];
        const char *text = details_text(page, report->results->runs[run].hash, "models_evidence");
        if (text[0] != '\0')
            report_name_add(report, &texts, &count, text);
    }
    term_begin(out, "Evidence of the models of trainings");
    list_write(texts, count, "; ", out);
}

static void what_was_run(const struct page *page, FILE *out)
{
    const struct results *results = page->report->results;
    struct run_ranges ranges;
    report_ranges(results, &ranges);
    (void)fputs("<h2 id=\"run\">What was run</h2>\n<dl>\n", out);
    term_begin(out, "Runs");
    (void)fprintf(out, "%zu, in %zu setting%s; seeds %s", results->run_count,
                  page->report->scenario_count, page->report->scenario_count == 1 ? "" : "s",
                  ranges.seeds);
    if (report_serves(page->report))
        (void)fprintf(out, "; %s requests measured in each, after a warm-up of %s", ranges.requests,
                      ranges.warmup);
    if (results->training_count > 0)
        (void)fprintf(out, "; %s trainings measured in each", ranges.trainings);
    (void)fputs("</dd>\n", out);
    if (page->report->constants[0] != '\0') {
        term_begin(out, "In all of them");
        html_element(out, "code", page->report->constants);
        (void)fputs("</dd>\n", out);
    }
    distinct_write(page->report, "Policies", offsetof(struct summary_row, policy), out);
    if (report_serves(page->report))
        distinct_write(page->report, "Evidence of the latency profile",
                       offsetof(struct summary_row, evidence), out);
    if (results->training_count > 0)
        models_evidence_write(page, out);
    notices_write(page->report, out);
    (void)fputs("</dl>\n", out);
}

static void repeat_write(const struct page *page, FILE *out)
{
    const struct results *results = page->report->results;
    const bool swept = results->sweep.shards > 0;
    (void)fputs("<h3>To repeat it</h3>\n<pre><code>", out);
    if (page->command != NULL) {
        html_text(out, page->command);
    } else {
        html_text(out, results->command != NULL ? results->command
                       : swept                  ? "esgsim sweep SWEEP.json"
                                                : "esgsim run EXPERIMENT.json");
        (void)fputs(" --out ", out);
        html_text(out, results->path);
    }
    (void)fputs("\nesgsim report ", out);
    html_text(out, results->path);
    (void)fputs(" --format html", out);
    html_text(out, page->options == NULL ? "" : page->options);
    if (page->paper != NULL) {
        (void)fputs(" --paper ", out);
        html_text(out, page->paper);
    }
    (void)fputs(" --out report.html\n</code></pre>\n", out);
    if (page->command == NULL && results->command == NULL)
        (void)fprintf(out,
                      "<p>The file does not record its %s; each setting's resolved "
                      "configuration is at the end.</p>\n",
                      swept ? "sweep" : "experiment's file");
}

/* Curves summarise the scenarios, which are then shown only on demand. */
static size_t scenarios_shown(const struct report *report)
{
    return report->curves == NULL || report->details ? report->scenario_count : 0;
}

/* The comparisons in words are of requests. */
static bool words_exist(const struct report *report)
{
    return scenarios_shown(report) > 0 && report_serves(report);
}

static void head_write(const struct page *page, FILE *out)
{
    const char *path = page->report->results->path;
    const bool trains = page->report->results->training_count > 0;
    const bool serves = report_serves(page->report);
    (void)fputs(
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<link rel=\"icon\" href=\"data:,\"/>\n<title>esgsim: ",
        out);
    html_text(out, path);
    (void)fprintf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n", html_style);
    if (page->report->incomplete != NULL)
        html_element(out, "p class=\"verdict\"", page->report->incomplete);
    (void)fprintf(out, "<h1>Scheduling %s on shared GPUs: results</h1>\n<p>Of ",
                  !trains  ? "DNN inference"
                  : serves ? "DNN inference and trainings"
                           : "DNN trainings");
    html_element(out, "code", path);
    (void)fputs(", written by esgsim ", out);
    html_text(out, page->report->results->version == NULL ? "of unknown version"
                                                          : page->report->results->version);
    (void)fputs(" (", out);
    html_text(out,
              page->report->results->commit == NULL ? "unknown" : page->report->results->commit);
    (void)fprintf(out,
                  "). Simulated: every figure follows from %s%s%s and the assumptions below.</p>\n"
                  "<nav><ul><li><a href=\"#run\">What was run</a></li>",
                  serves ? "the latency profile" : "", serves && trains ? ", " : "",
                  trains ? "the speeds in the models file" : "");
    if (overview_exists(page->report))
        (void)fputs("<li><a href=\"#overview\">Overview</a></li>", out);
    if (words_exist(page->report))
        (void)fputs("<li><a href=\"#words\">In words</a></li>", out);
    if (page->report->curves != NULL)
        (void)fprintf(out, "<li><a href=\"#sustained\">%s</a></li>",
                      isnan(page->report->curves->limit) ? "Curves" : "What is sustained");
    if (page->report->expected != NULL)
        (void)fputs("<li><a href=\"#published\">Published figures and ours</a></li>", out);
    for (size_t s = 0; s < scenarios_shown(page->report); s++) {
        (void)fprintf(out, "<li><a href=\"#s%zu\">", s + 1);
        html_text(out, page->report->scenarios[s].title);
        (void)fputs("</a></li>", out);
    }
    (void)fputs("<li><a href=\"#read\">How to read the tables</a></li><li><a "
                "href=\"#assumed\">Assumptions</a>"
                "</li><li><a href=\"#provenance\">Provenance</a></li></ul></nav>\n",
                out);
}

/* ---- Published ------------------------------------------------------------------------------ */

static void pairs_table(const struct judgement *judgement, FILE *out)
{
    static const char *const headers[] = {"setting", "policy", "ours", "stands"};
    struct text_table *table = text_table_create(headers, COUNT(headers));
    for (size_t p = 0; p < judgement->pair_count; p++) {
        const struct verdict_pair *pair = &judgement->pairs[p];
        text_table_row(table);
        text_table_name(table, 0, "%s", pair->setting);
        text_table_name(table, 1, "%s", pair->policy);
        text_table_estimate(table, 2, pair->ours,
                            verdict_decimals(judgement->figure, pair->ours.mean));
        text_table_name(table, 3, "%s", standing_name(pair->standing));
    }
    text_table_end(table, true, out);
}

/* Writes the verdict over all sets of assumptions, then that on each. */
static void figure_write(const struct judgement *judgement, FILE *out)
{
    const struct expectation *figure = judgement->figure;
    (void)fputs("<div class=\"verdict\"><h3>", out);
    html_element(out, "code", figure->metric);
    (void)fputs(": ", out);
    html_text(out, judgement->range);
    (void)fputs(" ", out);
    html_element(out, "span class=\"grade\"", figure->evidence);
    (void)fprintf(out, " — %s%s</h3>\n", verdict_name(judgement->verdict),
                  judgement->verdict == VERDICT_PARTLY || judgement->verdict == VERDICT_NOT
                      ? " reproduced"
                      : "");
    html_element(out, "p", judgement->sentence);
    if (figure->formula != NULL) {
        (void)fputs("<p>Formula: ", out);
        html_element(out, "code", figure->formula);
        (void)fputs("</p>\n", out);
    }
    if (figure->note != NULL)
        html_element(out, "p", figure->note);
    verdict_table_html(judgement, out);
    if (judgement->pair_count > 0) {
        (void)fputs("<details><summary>Pair by pair</summary>\n", out);
        pairs_table(judgement, out);
        (void)fputs("</details>\n", out);
    }
    (void)fputs("</div>\n", out);
}

static void published_write(const struct report *report, FILE *out)
{
    if (report->expected == NULL)
        return;
    (void)fputs("<h2 id=\"published\">Published figures and ours</h2>\n", out);
    html_element(out, "p", report->expected->title);
    html_element(out, "p", report->expected->source);
    (void)fputs(
        "<p>A pair of policy and setting <em>holds</em> if our whole 95 % interval is within the "
        "published range. It is <em>below</em> or <em>above</em> if the whole interval is "
        "outside, and <em>undecided</em> if the interval contains an end of the range. "
        "Reproduced: every pair holds; partly: some hold; not: none holds, and at least one is "
        "outside. Each table judges every set of assumptions apart: the pairs that hold, of those "
        "that ran; and the figure's formula applied to the averages over the settings.</p>\n",
        out);
    for (size_t i = 0; i < report->judgement_count; i++)
        figure_write(&report->judgements[i], out);
}

/* ---- Scenarios and figures ------------------------------------------------------------------ */

/* The first scenario whose title is the figure's subject, or its part before a comma; REPORT_NONE:
 * none. */
static size_t figure_scenario(const struct report *report, const char *subject)
{
    for (size_t s = 0; s < report->scenario_count; s++) {
        const char *title = report->scenarios[s].title;
        const size_t length = strlen(title);
        if (strncmp(title, subject, length) == 0 &&
            (subject[length] == '\0' || subject[length] == ','))
            return s;
    }
    return REPORT_NONE;
}

/* `scenario` REPORT_NONE: the figures that are of none. */
static bool figures_write(const struct page *page, const size_t *places, size_t scenario, FILE *out,
                          struct error *error)
{
    for (size_t f = 0; f < page->figure_count; f++) {
        char prefix[32];
        if (places[f] != scenario)
            continue;
        (void)snprintf(prefix, sizeof prefix, "f%zu-", f + 1);
        (void)fputs("<figure tabindex=\"0\">", out);
        if (!html_svg(out, page->figures[f].svg, prefix, page->figures[f].label))
            return error_run(error, "figure %zu is not an SVG document", f + 1);
        (void)fputs("</figure>\n", out);
    }
    return true;
}

static bool scenarios_write(const struct page *page, FILE *out, struct error *error)
{
    size_t *places = arena_allocate(page->report->arena, page->figure_count, sizeof *places);
    bool good = true, others = false;
    for (size_t f = 0; f < page->figure_count; f++) {
        places[f] = figure_scenario(page->report, page->figures[f].subject);
        others = others || places[f] == REPORT_NONE;
    }
    if (page->without_figures != NULL) {
        (void)fputs("<p><strong>Without figures:</strong> ", out);
        html_text(out, page->without_figures);
        (void)fputs("</p>\n", out);
    }
    for (size_t s = 0; good && s < scenarios_shown(page->report); s++) {
        const struct report_scenario *scenario = &page->report->scenarios[s];
        (void)fprintf(out, "<h2 id=\"s%zu\">", s + 1);
        html_text(out, scenario->title);
        (void)fputs("</h2>\n<p>Experiment ", out);
        html_element(out, "code", scenario->name);
        if (scenario->application_count > 0) {
            (void)fputs("; profile: ", out);
            html_text(out, scenario->evidence[0] == '\0' ? "none" : scenario->evidence);
        }
        (void)fputs(".</p>\n", out);
        page_tables(page, scenario, out);
        good = figures_write(page, places, s, out, error);
    }
    if (good && others) {
        (void)fputs("<h2 id=\"across\">Across settings</h2>\n", out);
        good = figures_write(page, places, REPORT_NONE, out, error);
    }
    return good;
}

/* ---- The rest ------------------------------------------------------------------------------- */

static void detail_write(const struct page *page, const char *hash, const char *term,
                         const char *name, FILE *out)
{
    const char *text = details_text(page, hash, name);
    if (text[0] == '\0')
        return;
    term_begin(out, term);
    html_text(out, text);
    (void)fputs("</dd>\n", out);
}

static void runs_table(const struct results *results, FILE *out)
{
    static const char *const headers[] = {"run", "experiment", "what the sweep set", "seed"};
    (void)fprintf(out, "<details><summary>All %zu runs</summary>\n", results->run_count);
    struct text_table *table = text_table_create(headers, COUNT(headers));
    for (size_t i = 0; i < results->run_count; i++) {
        const struct summary_row *run = &results->runs[i];
        text_table_row(table);
        text_table_name(table, 0, "%s", run->hash);
        text_table_name(table, 1, "%s", run->name);
        text_table_words(table, 2, "%s", run->label);
        text_table_number(table, 3, (double)run->seed, 17, "%" PRIu64, run->seed);
    }
    text_table_end(table, true, out);
    (void)fputs("</details>\n", out);
}

/* The first scenario of a group of curves stands for the group. */
static bool leads_curves(const struct report *report, const struct report_scenario *scenario)
{
    bool leads = false;
    for (size_t g = 0; g < report->curves->group_count; g++)
        leads = leads || report->curves->groups[g].like == scenario;
    return leads;
}

static void provenance_write(const struct page *page, FILE *out)
{
    const struct results *results = page->report->results;
    const char *first = results->runs[0].hash;
    (void)fputs("<h2 id=\"provenance\">Provenance</h2>\n<dl>\n", out);
    term_begin(out, "esgsim");
    html_text(out, results->version == NULL ? "of unknown version" : results->version);
    (void)fputs(", commit ", out);
    html_text(out, results->commit == NULL ? "unknown" : results->commit);
    (void)fputs("</dd>\n", out);
    detail_write(page, first, "Compiler", "compiler", out);
    detail_write(page, first, "GSL", "gsl_version", out);
    detail_write(page, first, "HDF5", "hdf5_version", out);
    detail_write(page, first, "cJSON", "cjson_version", out);
    detail_write(page, first, "zlib", "zlib_version", out);
    (void)fputs("</dl>\n", out);
    for (size_t s = 0; s < page->report->scenario_count; s++) {
        const struct report_scenario *scenario = &page->report->scenarios[s];
        if (scenarios_shown(page->report) == 0 && !leads_curves(page->report, scenario))
            continue;
        const char *hash = results->runs[scenario->contenders[0].runs[0]].hash;
        const char *configuration = details_text(page, hash, "configuration");
        (void)fputs("<details><summary>", out);
        html_text(out, scenario->title);
        (void)fputs(": profile, trace, first run's resolved configuration</summary>\n<dl>\n", out);
        detail_write(page, hash, "SHA-256 of the profile", "profile_sha256", out);
        detail_write(page, hash, "SHA-256 of the trace", "trace_sha256", out);
        term_begin(out, "Run");
        html_text(out, hash);
        (void)fputs("</dd>\n</dl>\n<pre><code>", out);
        html_text(out, configuration[0] == '\0' ? "not in the file" : configuration);
        (void)fputs("</code></pre></details>\n", out);
    }
    runs_table(results, out);
}

static void words_write(const struct page *page, FILE *out)
{
    if (!words_exist(page->report))
        return;
    (void)fputs("<h2 id=\"words\">In words</h2>\n<p>One policy of each setting compared with the "
                "others. <em>More</em>, <em>fewer</em> and <em>less</em> are used only if the 95 % "
                "interval of the paired difference excludes zero.</p>\n",
                out);
    for (size_t s = 0; s < page->report->scenario_count; s++) {
        html_element(out, "h3", page->report->scenarios[s].title);
        page_words(page, &page->report->scenarios[s], out);
    }
}

bool report_html(const struct page *page, FILE *out, struct error *error)
{
    head_write(page, out);
    if (page->report->results->run_count == 0) {
        (void)fputs("<p>The file holds no finished run.</p>\n</body>\n</html>\n", out);
        return !ferror(out) || error_run(error, "cannot write the report: %s", strerror(errno));
    }
    what_was_run(page, out);
    repeat_write(page, out);
    if (overview_exists(page->report))
        overview_print(page->report, true, out);
    if (page->report->curves != NULL)
        curves_html(page->report, out);
    words_write(page, out);
    published_write(page->report, out);
    if (!scenarios_write(page, out, error))
        return false;
    page_reading(page, out);
    page_assumptions(page, out);
    provenance_write(page, out);
    (void)fprintf(out, "<script>%s</script>\n</body>\n</html>\n", html_script);
    return !ferror(out) || error_run(error, "cannot write the report: %s", strerror(errno));
}
