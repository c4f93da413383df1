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

/* Writes the distinct texts in one column of the runs, separated by commas. */
static void distinct_write(const struct results *results, size_t offset, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < results->run_count; i++) {
        const char *text = (const char *)&results->runs[i] + offset;
        size_t earlier = 0;
        while (earlier < i && strcmp((const char *)&results->runs[earlier] + offset, text) != 0)
            earlier++;
        if (earlier < i || text[0] == '\0')
            continue;
        (void)fputs(any ? ", " : "", out);
        html_text(out, text);
        any = true;
    }
    if (!any)
        (void)fputs("none", out);
}

static void notices_write(const struct report *report, FILE *out)
{
    for (size_t n = 0; n < report->notice_count; n++) {
        const struct report_notice *notice = &report->notices[n];
        char *where = report_notice_where(report, notice);
        term_begin(out, notice->warning ? "Warning" : "Note");
        html_text(out, notice->text);
        (void)fputs(" (", out);
        html_text(out, where == NULL ? "" : where);
        (void)fputs(")</dd>\n", out);
        free(where);
    }
}

/* Writes the distinct evidence of the models files, separated by semicolons. */
static void models_evidence_write(const struct page *page, FILE *out)
{
    const struct report *report = page->report;
    char *last = NULL;
    for (size_t s = 0; page->details != NULL && s < report->scenario_count; s++) {
        const size_t run = report->scenarios[s].contenders[0].runs[0];
        char *text =
            run_details_text(page->details, report->results->runs[run].hash, "models_evidence");
        if (text == NULL || text[0] == '\0' || (last != NULL && strcmp(text, last) == 0)) {
            free(text);
            continue;
        }
        (void)fputs(last != NULL ? "; " : "", out);
        html_text(out, text);
        free(last);
        last = text;
    }
    if (last == NULL)
        (void)fputs("none", out);
    free(last);
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
    term_begin(out, "Policies");
    distinct_write(results, offsetof(struct summary_row, policy), out);
    (void)fputs("</dd>\n", out);
    if (report_serves(page->report)) {
        term_begin(out, "Evidence of the latency profile");
        distinct_write(results, offsetof(struct summary_row, evidence), out);
        (void)fputs("</dd>\n", out);
    }
    if (results->training_count > 0) {
        term_begin(out, "Evidence of the models of trainings");
        models_evidence_write(page, out);
        (void)fputs("</dd>\n", out);
    }
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
    const unsigned texts = 1U | 1U << 1 | 1U << 3;
    html_table_begin(out, headers, NULL, COUNT(headers), texts);
    for (size_t p = 0; p < judgement->pair_count; p++) {
        const struct verdict_pair *pair = &judgement->pairs[p];
        html_row_begin(out);
        html_cell_text(out, pair->setting);
        html_cell_text(out, pair->policy);
        html_cell_estimate(out, pair->ours, verdict_decimals(judgement->figure, pair->ours.mean),
                           "");
        html_cell_text(out, standing_name(pair->standing));
        html_row_end(out);
    }
    html_table_end(out, false);
}

/* Writes the verdict over all sets of assumptions, then that on each. */
static bool figure_write(const struct judgement *judgement, FILE *out)
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
    const bool good = verdict_table_html(judgement, out);
    if (judgement->pair_count > 0) {
        (void)fputs("<details><summary>Pair by pair</summary>\n", out);
        pairs_table(judgement, out);
        (void)fputs("</details>\n", out);
    }
    (void)fputs("</div>\n", out);
    return good;
}

static bool published_write(const struct report *report, FILE *out)
{
    bool good = true;
    if (report->expected == NULL)
        return true;
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
        good = figure_write(&report->judgements[i], out) && good;
    return good;
}

/* ---- Scenarios and figures ------------------------------------------------------------------ */

/* A scenario with its title, for lookup by title. */
struct titled {
    const char *title;
    size_t scenario;
};

static int compare_titled(const void *a, const void *b)
{
    const struct titled *one = a, *other = b;
    const int order = strcmp(one->title, other->title);
    return order != 0 ? order
                      : (one->scenario > other->scenario) - (one->scenario < other->scenario);
}

/* The first scenario whose title equals the first `length` characters of the subject, or
 * REPORT_NONE. */
static size_t titled_find(const struct titled *titled, size_t count, const char *subject,
                          size_t length)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const char *title = titled[middle].title;
        const int order = strncmp(title, subject, length);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const bool found = low < count && strncmp(titled[low].title, subject, length) == 0 &&
                       titled[low].title[length] == '\0';
    return found ? titled[low].scenario : REPORT_NONE;
}

/* The first scenario whose title is the subject, or its part before a comma. */
static size_t figure_scenario(const struct titled *titled, size_t count, const char *subject)
{
    size_t first = REPORT_NONE;
    for (size_t length = 0;; length++) {
        length += strcspn(subject + length, ",");
        const size_t found = titled_find(titled, count, subject, length);
        first = found < first ? found : first;
        if (subject[length] == '\0')
            return first;
    }
}

/* Index of every figure's scenario, or REPORT_NONE. The caller frees it; NULL: memory exhausted. */
static size_t *figures_place(const struct page *page)
{
    const size_t count = page->report->scenario_count;
    struct titled *titled = calloc(count + 1, sizeof *titled);
    size_t *places = calloc(page->figure_count + 1, sizeof *places);
    if (titled == NULL || places == NULL) {
        free(titled);
        free(places);
        return NULL;
    }
    for (size_t s = 0; s < count; s++)
        titled[s] = (struct titled){page->report->scenarios[s].title, s};
    qsort(titled, count, sizeof *titled, compare_titled);
    for (size_t f = 0; f < page->figure_count; f++)
        places[f] = figure_scenario(titled, count, page->figures[f].subject);
    free(titled);
    return places;
}

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
    size_t *places = figures_place(page);
    if (places == NULL)
        return error_run(error, "out of memory for the page's figures");
    bool good = true;
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
        if (!page_tables(page, scenario, out))
            good = error_run(error, "out of memory for the report");
        good = good && figures_write(page, places, s, out, error);
    }
    bool others = false;
    for (size_t f = 0; f < page->figure_count; f++)
        others = others || places[f] == REPORT_NONE;
    if (good && others) {
        (void)fputs("<h2 id=\"across\">Across settings</h2>\n", out);
        good = figures_write(page, places, REPORT_NONE, out, error);
    }
    free(places);
    return good;
}

/* ---- The rest ------------------------------------------------------------------------------- */

static void fact_write(const struct page *page, const char *hash, const char *term,
                       const char *name, FILE *out)
{
    char *text = page->details == NULL ? NULL : run_details_text(page->details, hash, name);
    if (text != NULL && text[0] != '\0') {
        term_begin(out, term);
        html_text(out, text);
        (void)fputs("</dd>\n", out);
    }
    free(text);
}

static void runs_table(const struct results *results, FILE *out)
{
    static const char *const headers[] = {"run", "experiment", "what the sweep set", "seed"};
    (void)fprintf(out, "<details><summary>All %zu runs</summary>\n", results->run_count);
    html_table_begin(out, headers, NULL, COUNT(headers), 7U);
    for (size_t i = 0; i < results->run_count; i++) {
        const struct summary_row *run = &results->runs[i];
        html_row_begin(out);
        html_cell_text(out, run->hash);
        html_cell_text(out, run->name);
        html_cell_words(out, run->label);
        (void)fprintf(out, "<td data-v=\"%" PRIu64 "\">%" PRIu64 "</td>", run->seed, run->seed);
        html_row_end(out);
    }
    html_table_end(out, false);
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
    fact_write(page, first, "Compiler", "compiler", out);
    fact_write(page, first, "GSL", "gsl_version", out);
    fact_write(page, first, "HDF5", "hdf5_version", out);
    fact_write(page, first, "cJSON", "cjson_version", out);
    fact_write(page, first, "zlib", "zlib_version", out);
    (void)fputs("</dl>\n", out);
    for (size_t s = 0; s < page->report->scenario_count; s++) {
        const struct report_scenario *scenario = &page->report->scenarios[s];
        if (scenarios_shown(page->report) == 0 && !leads_curves(page->report, scenario))
            continue;
        const char *hash = results->runs[scenario->contenders[0].runs[0]].hash;
        char *configuration =
            page->details == NULL ? NULL : run_details_text(page->details, hash, "configuration");
        (void)fputs("<details><summary>", out);
        html_text(out, scenario->title);
        (void)fputs(": profile, trace, first run's resolved configuration</summary>\n<dl>\n", out);
        fact_write(page, hash, "SHA-256 of the profile", "profile_sha256", out);
        fact_write(page, hash, "SHA-256 of the trace", "trace_sha256", out);
        term_begin(out, "Run");
        html_text(out, hash);
        (void)fputs("</dd>\n</dl>\n<pre><code>", out);
        html_text(out, configuration == NULL ? "not in the file" : configuration);
        (void)fputs("</code></pre></details>\n", out);
        free(configuration);
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
    if (overview_exists(page->report) && !overview_html(page->report, out))
        return error_run(error, "out of memory for the report");
    if (page->report->curves != NULL && !curves_html(page->report, out))
        return error_run(error, "out of memory for the report");
    words_write(page, out);
    if (!published_write(page->report, out))
        return error_run(error, "out of memory for the report");
    if (!scenarios_write(page, out, error))
        return false;
    page_reading(page, out);
    page_assumptions(page, out);
    provenance_write(page, out);
    (void)fprintf(out, "<script>%s</script>\n</body>\n</html>\n", html_script);
    return !ferror(out) || error_run(error, "cannot write the report: %s", strerror(errno));
}
