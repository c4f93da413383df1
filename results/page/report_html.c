#include "results/page/report_html.h"
#include "results/page/report_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/page/overview.h"
#include "results/page/verdict_table.h"
#include "results/report/curve.h"
#include "results/report/html.h"
#include "results/report/table.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- Head ----------------------------------------------------------------------------------- */

static const char *version_of(const struct results *results)
{
    return results->version == NULL ? "of unknown version" : results->version;
}

static const char *commit_of(const struct results *results)
{
    return results->commit == NULL ? "unknown" : results->commit;
}

static void term_write(FILE *out, const char *term, const char *text)
{
    html_print(out, "<dt>%s</dt><dd>%s</dd>\n", term, text);
}

/* Adds a text to the distinct ones of a list. */
static void list_add(const struct report *report, const char *between, const char ***texts,
                     size_t *count, char **list, const char *text)
{
    if (text[0] != '\0' && report_name_add(report, texts, count, text))
        arena_append(report->arena, list, "%s%s", *count > 1 ? between : "", text);
}

/* Writes the distinct texts in one column of the runs. */
static void distinct_write(const struct report *report, const char *term, size_t offset, FILE *out)
{
    const struct results *results = report->results;
    const char **texts = NULL;
    char *list = NULL;
    size_t count = 0;
    for (size_t i = 0; i < results->run_count; i++)
        list_add(report, ", ", &texts, &count, &list, (const char *)&results->runs[i] + offset);
    term_write(out, term, list == NULL ? "none" : list);
}

/* Above the tables how many there are, below them each. */
static void notices_count(const struct report *report, FILE *out)
{
    size_t warnings = 0;
    for (size_t n = 0; n < report->notice_count; n++)
        warnings += report->notices[n].notice.warning;
    if (report->notice_count > 0)
        html_print(out, "<p><a href=\"#notes\">Warnings: %zu, notes: %zu</a></p>\n", warnings,
                   report->notice_count - warnings);
}

static void notices_write(const struct report *report, FILE *out)
{
    html_print(out,
               report->notice_count > 0 ? "<h2 id=\"notes\">Warnings and notes</h2>\n<dl>\n" : "");
    for (size_t n = 0; n < report->notice_count; n++)
        html_print(out, "<dt>%s</dt><dd>%s (%s)</dd>\n",
                   report->notices[n].notice.warning ? "Warning" : "Note",
                   report->notices[n].notice.text,
                   report_notice_where(report, &report->notices[n]));
    html_print(out, report->notice_count > 0 ? "</dl>\n" : "");
}

/* A text of the details of a run, "" if there is none. */
static const char *details_text(const struct page *page, const char *hash, const char *name)
{
    const char *text = page->details == NULL ? NULL : run_details_text(page->details, hash, name);
    return text == NULL ? "" : text;
}

/* Writes the distinct evidence of the models files. */
static void models_evidence_write(const struct page *page, FILE *out)
{
    const struct report *report = page->report;
    const char **texts = NULL;
    char *list = NULL;
    size_t count = 0;
    for (size_t s = 0; s < report->scenario_count; s++) {
        const size_t run = report->scenarios[s].contenders[0].runs[0];
        list_add(report, "; ", &texts, &count, &list,
                 details_text(page, report->results->runs[run].hash, "models_evidence"));
    }
    term_write(out, "Evidence of the models of trainings", list == NULL ? "none" : list);
}

static void what_was_run(const struct page *page, FILE *out)
{
    const struct report *report = page->report;
    const struct results *results = report->results;
    const bool trains = results->training_count > 0;
    const bool serves = report_serves(report);
    struct run_ranges ranges;
    report_ranges(results, &ranges);
    html_print(
        out,
        "<h2 id=\"run\">What was run</h2>\n<p>Of <code>%s</code>, written by esgsim %s (%s). "
        "Simulated: every figure follows from %s%s%s and the assumptions below.</p>\n"
        "<dl>\n<dt>Runs</dt><dd>%zu, in %zu setting%s; seeds %s",
        results->path, version_of(results), commit_of(results), serves ? "the latency profile" : "",
        serves && trains ? ", " : "", trains ? "the speeds in the models file" : "",
        results->run_count, report->scenario_count, report->scenario_count == 1 ? "" : "s",
        ranges.seeds);
    if (serves)
        html_print(out, "; %s requests measured in each, after a warm-up of %s", ranges.requests,
                   ranges.warmup);
    if (trains)
        html_print(out, "; %s trainings measured in each", ranges.trainings);
    html_print(out, "</dd>\n");
    if (report->constants[0] != '\0')
        html_print(out, "<dt>In all of them</dt><dd><code>%s</code></dd>\n", report->constants);
    distinct_write(report, "Policies", offsetof(struct summary_row, policy), out);
    if (serves)
        distinct_write(report, "Evidence of the latency profile",
                       offsetof(struct summary_row, evidence), out);
    if (trains)
        models_evidence_write(page, out);
    term_write(out, "Reality", REPORT_REALITY);
    html_print(out, "</dl>\n");
    notices_count(report, out);
}

static void repeat_write(const struct page *page, FILE *out)
{
    const struct results *results = page->report->results;
    const bool swept = results->sweep.shards > 0;
    html_print(out, "<details><summary>To repeat it</summary>\n<pre><code>");
    if (page->command != NULL)
        html_text(out, page->command);
    else
        html_print(out, "%s --out %s",
                   results->command != NULL ? results->command
                   : swept                  ? "esgsim sweep SWEEP.json"
                                            : "esgsim run EXPERIMENT.json",
                   results->path);
    html_print(out, "\nesgsim report %s --format html%s%s%s --out report.html\n</code></pre>\n",
               results->path, page->options == NULL ? "" : page->options,
               page->paper == NULL ? "" : " --paper ", page->paper == NULL ? "" : page->paper);
    if (page->command == NULL && results->command == NULL)
        html_print(out,
                   "<p>The file does not record its %s; each setting's resolved "
                   "configuration is at the end.</p>\n",
                   swept ? "sweep" : "experiment's file");
    html_print(out, "</details>\n");
}

/* Curves summarise the scenarios, which are then shown only on demand. */
static size_t scenarios_shown(const struct report *report)
{
    return report->curves == NULL || report->details ? report->scenario_count : 0;
}

static void navigation_write(const struct report *report, FILE *out)
{
    const struct {
        bool exists;
        const char *name, *title;
    } before[] = {
        {true, "top", "Summary"},
        {overview_exists(report), "overview", "Overview"},
        {report->curves != NULL, "sustained",
         report->curves != NULL && isnan(report->curves->limit) ? "Curves" : "What is sustained"},
        {true, "run", "What was run"},
        {report->expected != NULL, "published", "Published figures and ours"}};
    html_print(out, "<nav aria-label=\"Contents\">");
    for (size_t i = 0; i < COUNT(before); i++)
        if (before[i].exists)
            html_print(out, "<a href=\"#%s\">%s</a>\n", before[i].name, before[i].title);
    for (size_t s = 0; s < scenarios_shown(report); s++)
        html_print(out, "<a class=\"s\" href=\"#s%zu\">%s</a>\n", s + 1,
                   names_conditions(report->arena, report->scenarios[s].title));
    html_print(out, "<a href=\"#read\">How to read the tables</a>\n<a href=\"#assumed\">Assumptions"
                    "</a>\n<a href=\"#provenance\">Provenance</a></nav>\n");
}

static const char *topic_of(const struct report *report)
{
    return report->results->training_count == 0 ? "DNN inference"
           : report_serves(report)              ? "DNN inference and trainings"
                                                : "DNN trainings";
}

static void head_write(const struct page *page, FILE *out)
{
    const struct report *report = page->report;
    navigation_write(report, out);
    html_print(out, "<main>\n<header id=\"top\">");
    if (report->incomplete != NULL)
        html_print(out, "<p class=\"verdict\">%s</p>", report->incomplete);
    html_print(out, "<h1>Scheduling %s on shared GPUs: results</h1>\n", topic_of(report));
    if (report->results->run_count > 0)
        html_print(out, "<p id=\"verdict\">%s</p>", page_verdict(report));
    html_print(out, "</header>\n");
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
    html_print(out,
               "<div class=\"verdict\"><h3><code>%s</code>: %s <span class=\"grade\">%s</span> — "
               "%s%s</h3>\n<p>%s</p>",
               figure->title, judgement->range, figure->evidence, verdict_name(judgement->verdict),
               judgement->verdict == VERDICT_PARTLY || judgement->verdict == VERDICT_NOT
                   ? " reproduced"
                   : "",
               judgement->sentence);
    if (figure->formula != NULL)
        html_print(out, "<p>Formula: <code>%s</code></p>\n", figure->formula);
    if (figure->note != NULL)
        html_print(out, "<p>%s</p>", figure->note);
    verdict_table_html(judgement, out);
    if (judgement->pair_count > 0) {
        html_print(out, "<details><summary>Pair by pair</summary>\n");
        pairs_table(judgement, out);
        html_print(out, "</details>\n");
    }
    html_print(out, "</div>\n");
}

static void published_write(const struct report *report, FILE *out)
{
    if (report->expected == NULL)
        return;
    html_print(
        out,
        "<h2 id=\"published\">Published figures and ours</h2>\n<p>%s</p><p>%s</p>"
        "<p>A pair of policy and setting <em>holds</em> if our whole 95 %% interval is within the "
        "published range. It is <em>below</em> or <em>above</em> if the whole interval is "
        "outside, and <em>undecided</em> if the interval contains an end of the range. "
        "Reproduced: every pair holds; partly: some hold; not: none holds, and at least one is "
        "outside. Each table judges every set of assumptions apart: the pairs that hold, of those "
        "that ran; and the figure's formula applied to the averages over the settings.</p>\n",
        report->expected->title, report->expected->source);
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

/* A figure's data and caption, from which the script draws it. */
static void figure_data_write(const struct page *page, const struct page_figure *figure, FILE *out)
{
    const char *subject = names_conditions(page->report->arena, figure->subject);
    html_print(out,
               "<figure data-kind=\"%s\" data-subject=\"%s\"><figcaption><b>%s</b>%s%s. %s"
               "</figcaption><details class=\"data\"><summary>Its data (=, or nothing: as "
               "above)</summary><pre>%s</pre></details></figure>\n",
               figure->script, subject, figure->script, subject[0] == '\0' ? "" : " of ", subject,
               figure->caption, figure->csv);
}

/* The first screen has it. */
static bool is_published(const struct page_figure *figure)
{
    return strcmp(figure->script, "published") == 0;
}

/* Writes the figures of a scenario; REPORT_NONE: of none, each folded but for curves. */
static void figures_write(const struct page *page, const size_t *places, size_t scenario, FILE *out)
{
    for (size_t f = 0; f < page->figure_count; f++) {
        const struct page_figure *figure = &page->figures[f];
        if (places[f] != scenario || is_published(figure))
            continue;
        if (scenario == REPORT_NONE)
            html_print(out, "<details class=\"part\"%s><summary>%s %s</summary>",
                       page->report->curves != NULL ? " open=\"open\"" : "", figure->script,
                       names_conditions(page->report->arena, figure->subject));
        figure_data_write(page, figure, out);
        if (scenario == REPORT_NONE)
            html_print(out, "</details>\n");
    }
}

/* Folded, unless it is the only one. */
static void scenario_write(const struct page *page, const size_t *places, size_t s, FILE *out)
{
    const struct report_scenario *scenario = &page->report->scenarios[s];
    html_print(out, page->report->scenario_count == 1
                        ? "<details class=\"part setting\" open=\"open\">"
                        : "<details class=\"part setting\">");
    html_print(out, "<summary><h2 id=\"s%zu\">%s</h2></summary>\n<p>Experiment <code>%s</code>",
               s + 1, names_conditions(page->report->arena, scenario->title), scenario->name);
    if (scenario->application_count > 0)
        html_print(out, "; profile: %s",
                   scenario->evidence[0] == '\0' ? "none" : scenario->evidence);
    html_print(out, ".</p>\n");
    page_words(page, scenario, out);
    page_tables(page, scenario, out);
    figures_write(page, places, s, out);
    html_print(out, "</details>\n");
}

static void scenarios_write(const struct page *page, FILE *out)
{
    size_t *places = arena_allocate(page->report->arena, page->figure_count, sizeof *places);
    bool others = false;
    for (size_t f = 0; f < page->figure_count; f++) {
        places[f] = figure_scenario(page->report, page->figures[f].subject);
        others = others || (places[f] == REPORT_NONE && !is_published(&page->figures[f]));
    }
    for (size_t s = 0; s < scenarios_shown(page->report); s++)
        scenario_write(page, places, s, out);
    html_print(out, others ? "<h2 id=\"across\">Across settings</h2>\n" : "");
    figures_write(page, places, REPORT_NONE, out);
}

/* ---- The rest ------------------------------------------------------------------------------- */

static void detail_write(const struct page *page, const char *hash, const char *term,
                         const char *name, FILE *out)
{
    const char *text = details_text(page, hash, name);
    if (text[0] != '\0')
        term_write(out, term, text);
}

/* A row for each configuration, with the runs of its seeds. */
static void runs_table(const struct report *report, FILE *out)
{
    static const char *const headers[] = {"experiment", "what the sweep set", "seed: run"};
    const struct results *results = report->results;
    html_print(out, "<details><summary>All %zu runs</summary>\n", results->run_count);
    struct text_table *table = text_table_create(headers, COUNT(headers));
    for (size_t first = 0, i = 0; first < results->run_count; first = i) {
        const struct summary_row *run = &results->runs[first];
        char *seeds = NULL;
        for (; i < results->run_count && strcmp(results->runs[i].label, run->label) == 0 &&
               strcmp(results->runs[i].name, run->name) == 0;
             i++)
            arena_append(report->arena, &seeds, "%s%" PRIu64 ": %s", i > first ? ", " : "",
                         results->runs[i].seed, results->runs[i].hash);
        text_table_row(table);
        text_table_name(table, 0, "%s", run->name);
        text_table_words(table, 1, "%s", run->label);
        text_table_words(table, 2, "%s", seeds);
    }
    text_table_end(table, true, out);
    html_print(out, "</details>\n");
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
    html_print(
        out, "<h2 id=\"provenance\">Provenance</h2>\n<dl>\n<dt>esgsim</dt><dd>%s, commit %s</dd>\n",
        version_of(results), commit_of(results));
    detail_write(page, first, "Compiler", "compiler", out);
    detail_write(page, first, "GSL", "gsl_version", out);
    detail_write(page, first, "HDF5", "hdf5_version", out);
    detail_write(page, first, "cJSON", "cjson_version", out);
    detail_write(page, first, "zlib", "zlib_version", out);
    html_print(out, "</dl>\n");
    for (size_t s = 0; s < page->report->scenario_count; s++) {
        const struct report_scenario *scenario = &page->report->scenarios[s];
        if (scenarios_shown(page->report) == 0 && !leads_curves(page->report, scenario))
            continue;
        const char *hash = results->runs[scenario->contenders[0].runs[0]].hash;
        const char *configuration = details_text(page, hash, "configuration");
        html_print(out,
                   "<details><summary>%s: profile, trace, first run's resolved configuration"
                   "</summary>\n<dl>\n",
                   scenario->title);
        detail_write(page, hash, "SHA-256 of the profile", "profile_sha256", out);
        detail_write(page, hash, "SHA-256 of the trace", "trace_sha256", out);
        html_print(out, "<dt>Run</dt><dd>%s</dd>\n</dl>\n<pre><code>%s</code></pre></details>\n",
                   hash, configuration[0] == '\0' ? "not in the file" : configuration);
    }
    runs_table(page->report, out);
}

bool report_html(const struct page *page, FILE *out, struct error *error)
{
    const struct report *report = page->report;
    const char *path = report->results->path, *slash = strrchr(path, '/');
    const char *file = slash == NULL ? path : slash + 1;
    if (!html_begin(
            out,
            arena_text(report->arena, "%.*s, %s", (int)strcspn(file, "."), file, topic_of(report)),
            error))
        return false;
    head_write(page, out);
    if (report->results->run_count == 0) {
        html_print(out, "<p>The file holds no finished run.</p>\n");
        return html_end(out, error);
    }
    html_print(out, "<div id=\"first\"></div>\n");
    for (size_t f = 0; f < page->figure_count; f++)
        if (is_published(&page->figures[f]))
            page_published(page, &page->figures[f], out);
    if (overview_exists(report))
        overview_print(report, true, out);
    if (report->curves != NULL) {
        scenarios_write(page, out);
        curves_html(report, out);
    }
    what_was_run(page, out);
    repeat_write(page, out);
    published_write(report, out);
    if (report->curves == NULL)
        scenarios_write(page, out);
    notices_write(report, out);
    page_reading(page, out);
    page_assumptions(page, out);
    provenance_write(page, out);
    return html_end(out, error);
}
