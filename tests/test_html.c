/* The HTML report: well-formed by a strict reader of our own, hostile names, what it must hold. */
#include <ctype.h>

#include "results/page/assumptions.h"
#include "results/page/overview.h"
#include "results/page/report_html.h"
#include "results/page/verdict_table.h"
#include "results/report/html.h"
#include "sim/base/utf8.h"
#include "tests/fixture_results.h"
#include "tests/suite.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- A strict reader ------------------------------------------------------------------------ */

enum { DEEPEST = 64, NAME_LENGTH = 32 };

struct reader {
    const char *at;
    char open[DEEPEST][NAME_LENGTH];
    size_t depth;
};

static void malformed(const struct reader *reader, const char *what)
{
    fail_msg("%s at: %.80s", what, reader->at);
}

static void entity_read(struct reader *reader)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (size_t i = 0; i < COUNT(known); i++)
        if (strncmp(reader->at, known[i], strlen(known[i])) == 0) {
            reader->at += strlen(known[i]);
            return;
        }
    malformed(reader, "a bare &");
}

static void name_read(struct reader *reader, char name[NAME_LENGTH])
{
    const size_t length = strspn(reader->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789-:");
    if (length == 0 || length >= NAME_LENGTH)
        malformed(reader, "no name");
    memcpy(name, reader->at, length);
    name[length] = '\0';
    reader->at += length;
}

/* name="value", each once; values have no < and no bare &. */
static void attributes_read(struct reader *reader)
{
    char seen[32][NAME_LENGTH];
    size_t count = 0;
    for (reader->at += strspn(reader->at, " \n\t"); *reader->at != '>' && *reader->at != '/';
         reader->at += strspn(reader->at, " \n\t")) {
        assert_true(count < COUNT(seen));
        name_read(reader, seen[count]);
        for (size_t i = 0; i < count; i++)
            if (strcmp(seen[i], seen[count]) == 0)
                malformed(reader, "an attribute twice");
        count++;
        const char quote = reader->at[0] == '=' ? reader->at[1] : '\0';
        if (quote != '"' && quote != '\'')
            malformed(reader, "an attribute without a quoted value");
        for (reader->at += 2; *reader->at != quote;) {
            if (*reader->at == '<' || *reader->at == '\0')
                malformed(reader, "a value that does not end");
            if (*reader->at == '&')
                entity_read(reader);
            else
                reader->at++;
        }
        reader->at++;
    }
}

static void tag_read(struct reader *reader)
{
    char name[NAME_LENGTH];
    if (reader->at[1] == '/') {
        reader->at += 2;
        name_read(reader, name);
        if (reader->depth == 0 || strcmp(reader->open[reader->depth - 1], name) != 0)
            malformed(reader, "closes what is not open");
        reader->depth--;
        if (*reader->at++ != '>')
            malformed(reader, "no >");
        return;
    }
    reader->at++;
    name_read(reader, name);
    attributes_read(reader);
    const bool empty = *reader->at == '/';
    reader->at += empty;
    if (*reader->at++ != '>')
        malformed(reader, "no >");
    if (empty)
        return;
    assert_true(reader->depth < DEEPEST);
    memcpy(reader->open[reader->depth++], name, sizeof name);
    if (strcmp(name, "script") == 0 || strcmp(name, "style") == 0) {
        if (strncmp(reader->at, "//<![CDATA[\n", 12) == 0) {
            const char *end = strstr(reader->at, "//]]>");
            reader->at = end == NULL ? reader->at : end + 5;
        }
        reader->at += strcspn(reader->at, "<&");
        if (*reader->at != '<')
            malformed(reader, "a script that XML would read otherwise");
    }
}

/* Every element closed in order, every attribute quoted and once, no unknown entity, no stray
 * control character, UTF-8 throughout, one root. */
static void assert_well_formed(const char *page)
{
    struct reader reader = {.at = page};
    static const char head[] = "<!DOCTYPE html>\n";
    assert_memory_equal(page, head, sizeof head - 1);
    reader.at += sizeof head - 1;
    while (*reader.at != '\0') {
        const size_t length = utf8_sequence(reader.at);
        if (length == 0 ||
            ((unsigned char)*reader.at < 0x20 && strchr("\n\t\r", *reader.at) == NULL))
            malformed(&reader, "a character that does not belong");
        if (reader.depth == 0 && *reader.at != '<' && !isspace((unsigned char)*reader.at))
            malformed(&reader, "text outside of the root");
        if (*reader.at == '<')
            tag_read(&reader);
        else if (*reader.at == '&')
            entity_read(&reader);
        else
            reader.at += length;
    }
    assert_int_equal(reader.depth, 0);
}

/* ---- Pages ---------------------------------------------------------------------------------- */

static const struct fixture light[] = {
    FIXTURE_ESG_RUNS,
    FIXTURE_FIFO_RUN_1,
    FIXTURE_FIFO_RUN_2,
    FIXTURE_FIFO_RUN_3,
};

/* The command that the results file names; NULL: none. */
static const char *made_by;

/* Whether the runs are of trainings alone. */
static bool trained;

/* The costs of the runs become mean completion times in hours. */
static void trainings_make(struct results *results, const struct fixture *runs)
{
    results->application_count = 0;
    results->training_count = results->run_count;
    results->training =
        arena_allocate(results->arena, results->run_count, sizeof *results->training);
    for (size_t i = 0; i < results->run_count; i++) {
        memcpy(results->training[i].hash, results->runs[i].hash, sizeof results->runs[i].hash);
        results->training[i].measures.finished = 1234;
        results->training[i].measures.jct_s_mean = 3600 * runs[i].cost;
        results->training[i].measures.jct_s_p99 = 3600 * 10 * runs[i].cost;
    }
}

static char *page_of(const struct fixture *runs, size_t count, bool paper, const char *command)
{
    char *text = NULL;
    size_t size = 0;
    RESULTS *results = must(fixture_results(runs, count));
    if (trained)
        trainings_make(results, runs);
    results->command = made_by == NULL ? NULL : arena_text(results->arena, "%s", made_by);
    OWNED(arena_home_free) struct report *report = report_build(results);
    struct expectations *reference =
        paper ? expectations_load("results/paper/esg-hpdc24.json", EXPECTATION_FIGURES, hear())
              : NULL;
    if (reference != NULL)
        report_judge(report, reference);
    OWNED(arena_home_free)
    struct assumptions *assumptions =
        must(assumptions_load("results/page/assumptions.json", hear()));
    const struct page_figure figures[] = {
        {report->scenario_count > 0 ? report->scenarios[0].title : "", "hit-rate",
         "of <it> & \"that\"", "panel,value\n1,<2\n"},
        {"k", "sensitivity", "across", "panel\n1\n"}};
    const struct page page = {.report = report,
                              .assumptions = assumptions,
                              .figures = figures,
                              .figure_count = count > 0 ? COUNT(figures) : 0,
                              .command = command};
    FILE *out = open_memstream(&text, &size);
    assert_true(report_html(&page, out, hear()));
    assert_int_equal(fclose(out), 0);
    arena_home_free(reference);
    return text;
}

CASE(the_page_is_well_formed_and_holds_its_parts)
{
    STRING *page = page_of(light, COUNT(light), true, "make reproduce");
    assert_well_formed(page);
    static const char *const parts[] = {"<h2 id=\"run\">",
                                        "<p id=\"verdict\">",
                                        "<h2 id=\"published\">",
                                        "<h2 id=\"s1\">light</h2>",
                                        "<h2 id=\"across\">",
                                        "<h2 id=\"read\">",
                                        "<h2 id=\"assumed\">",
                                        "<h2 id=\"provenance\">",
                                        "<pre><code>make reproduce\n",
                                        "name=\"viewport\"",
                                        "cost_saving"};
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(page, parts[i]);
}

CASE(a_page_of_trainings_alone_says_nothing_of_requests)
{
    static const struct fixture two[] = {
        {"light", "sjf", "policy.name=sjf setting=light", 1, 0, 2.5, RECORD_SUMMARY},
        {"heavy", "sjf", "policy.name=sjf setting=heavy", 1, 0, 40, RECORD_SUMMARY}};
    static const char *const parts[] = {
        "<h1>Scheduling DNN trainings on shared GPUs: results</h1>",
        "2, in 2 settings; seeds 1; 1,234 trainings measured in each</dd>",
        "<dt>Evidence of the models of trainings</dt>",
        "<td data-v=\"2.5\" style=\"--v:2.5\">2.50, p99 25.0</td>",
        "<td data-v=\"40\" style=\"--v:40\">40.0, p99 400</td>",
        "<li>mean JCT h: job completion time",
        "iteration times of trainings, and their speed"};
    static const char *const others[] = {"SLO",     "latency profile",   "requests",    "inference",
                                         "ESG: A*", "percentage points", "id=\"words\""};
    trained = true;
    STRING *page = page_of(two, COUNT(two), false, NULL);
    trained = false;
    assert_well_formed(page);
    for (size_t i = 0; i < COUNT(parts); i++)
        assert_contains(page, parts[i]);
    *strstr(page, "<script>") = '\0';
    for (size_t i = 0; i < COUNT(others); i++)
        if (strstr(page, others[i]) != NULL)
            fail_msg("a page of trainings says %s", others[i]);
}

CASE(the_tables_hold_the_figures_and_the_verdict_in_words)
{
    STRING *page = page_of(light, COUNT(light), false, NULL);
    /* 0.8 of 0.92; sd 0.016, t 4.3027, three seeds. */
    assert_contains(page, "<td data-v=\"73.6\">73.6<small> [69.4, 77.4]</small></td>");
    /* FIFO costs 2.5 times as much at every seed. */
    assert_contains(page, "<td data-v=\"150\">150.0<small> ± 0.0</small></td>");
    assert_contains(page, "with Holm over 2 comparisons");
    assert_contains(page, ">better</td><td class=\"t\">better</td>");
    assert_contains(page,
                    "<code>esg</code> meets 73.6 % of the SLOs at $0.3360 for 1,000 requests.</p>\n"
                    "<ul>\n<li>It meets more SLOs than <code>fifo</code>.</li>\n"
                    "<li>It costs less than <code>fifo</code>.</li>\n</ul>\n");
    assert_contains(page, "or as cheap and better: <code>esg</code>.");
}

static const struct fixture two_settings[] = {
    FIXTURE_ESG_RUNS,
    FIXTURE_FIFO_RUN_1,
    FIXTURE_FIFO_RUN_2,
    {"heavy", "esg", "policy.name=esg setting=heavy", 1, 0.7, 0.0004, RECORD_SUMMARY},
    {"heavy", "fifo", "policy.name=fifo setting=heavy", 1, 0.8, 0.0006, RECORD_SUMMARY},
};

/* Prints what the text report has; the caller frees it. */
static char *text_of(const struct fixture *runs, size_t count,
                     bool print(const struct report *, FILE *))
{
    char *text = NULL;
    size_t size = 0;
    RESULTS *results = fixture_results(runs, count);
    OWNED(arena_home_free) struct report *report = report_build(results);
    struct expectations *reference =
        expectations_load("results/paper/esg-hpdc24.json", EXPECTATION_FIGURES, hear());
    FILE *out = open_memstream(&text, &size);
    report_judge(report, reference);
    assert_true(print(report, out));
    assert_int_equal(fclose(out), 0);
    arena_home_free(reference);
    return text;
}

/* Each text between > and < of the page's part occurs in `text`. Returns how many hold `mark`. */
static size_t assert_cells(const char *begin, const char *end, const char *text, const char *mark)
{
    size_t marked = 0;
    for (const char *at = strchr(begin, '>'); at != NULL && at < end; at = strchr(at + 1, '>')) {
        const size_t length = strcspn(at + 1, "<");
        char *cell = formatted("%.*s", (int)length, at + 1);
        if (strstr(cell, mark) == NULL || at[1] == '\n')
            continue;
        if (strstr(text, cell) == NULL)
            fail_msg("the text has no \"%s\"", cell);
        marked++;
    }
    return marked;
}

static bool print_verdicts(const struct report *report, FILE *out)
{
    verdicts_tables(&report, 1, out);
    return !ferror(out);
}

static bool print_overview(const struct report *report, FILE *out)
{
    overview_print(report, false, out);
    return !ferror(out);
}

CASE(the_overview_is_that_of_the_text)
{
    char *page = page_of(two_settings, COUNT(two_settings), false, NULL);
    STRING *text = text_of(two_settings, COUNT(two_settings), print_overview);
    const char *begin = strstr(strstr(page, "<h2 id=\"overview\""), "<table");
    assert_int_equal(assert_cells(begin, strstr(begin, "</table>"), text, " at "), 4);
    assert_well_formed(page);
    free(page);
    page = page_of(light, COUNT(light), false, NULL);
    assert_null(strstr(page, "id=\"overview\""));
    free(page);
}

/* Every verdict on a set of assumptions is one of the text's table. */
CASE(the_verdicts_are_those_of_the_text)
{
    STRING *page = page_of(two_settings, COUNT(two_settings), true, NULL);
    STRING *text = text_of(two_settings, COUNT(two_settings), print_verdicts);
    size_t verdicts = 0, wanted = 0;
    for (const char *at = strstr(page, "verdict (pairs)"); at != NULL;
         at = strstr(at + 1, "verdict (pairs)"))
        verdicts += assert_cells(at, strstr(at, "</table>"), text, " of ");
    for (const char *at = strstr(text, " of "); at != NULL; at = strstr(at + 1, " of "))
        wanted += at[-1] >= '0' && at[-1] <= '9';
    assert_true(wanted > 0);
    assert_int_equal(verdicts, wanted);
}

CASE(the_page_tells_which_sweep_it_is_of)
{
    made_by = "esgsim sweep 'my <sweep>.json' --set requests=5";
    char *page = page_of(light, COUNT(light), false, NULL);
    made_by = NULL;
    assert_contains(page,
                    "<code>esgsim sweep &#39;my &lt;sweep&gt;.json&#39; --set requests=5 --out ");
    assert_null(strstr(page, "does not record"));
    free(page);
    page = page_of(light, COUNT(light), false, NULL);
    assert_contains(page, "does not record");
    free(page);
}

CASE(one_seed_says_nothing)
{
    const struct fixture one[] = {light[0], light[3]};
    STRING *page = page_of(one, COUNT(one), false, NULL);
    assert_well_formed(page);
    assert_contains(page, ">one seed<");
    assert_null(strstr(page, "meets more SLOs than"));
}

CASE(a_figure_that_is_not_there_is_a_dash_and_the_page_goes_on)
{
    struct fixture runs[COUNT(light)];
    memcpy(runs, light, sizeof runs);
    for (size_t i = 0; i < 3; i++) /* ESG's seeds */
        runs[i].hit = NAN;
    STRING *page = page_of(runs, COUNT(runs), true, NULL);
    assert_well_formed(page);
    assert_contains(page,
                    "<code>esg</code> meets – % of the SLOs at $0.3360 for 1,000 requests.</p>");
    assert_contains(page, "or as cheap and better: <code>fifo</code>.");
    assert_contains(page, "not every seed has both figures");
    assert_contains(page, "It costs less than <code>fifo</code>");
    assert_null(strstr(page, "It meets"));
    assert_null(strstr(page, "does not differ significantly"));
    static const char *const shown[] = {">nan", "\"nan", "-nan", "$nan", " nan "};
    for (size_t i = 0; i < COUNT(shown); i++)
        assert_null(strstr(page, shown[i]));
}

CASE(what_is_no_text_of_a_page_is_replaced)
{
    OWNED_STREAM(out, text);
    html_text(out, "a\x01"
                   "b\xc3"
                   "c\xff");
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "a\uFFFDb\uFFFDc\uFFFD");
}

CASE(hostile_names_stay_text)
{
    static const struct fixture hostile[] = {
        {"</h2><script>alert(1)</script>", "esg", "policy.name=esg a=<b>&\"'\u00e9", 1, 0.5, 0.001,
         RECORD_SUMMARY},
        {"</h2><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "x=]]>", 1, 0.5,
         0.001, RECORD_SUMMARY}};
    STRING *page = page_of(hostile, COUNT(hostile), true, "</code><script>x()</script>");
    assert_well_formed(page);
    assert_null(strstr(page, "<script>alert"));
    assert_null(strstr(page, "<script>x()"));
    assert_null(strstr(page, "<img"));
    assert_contains(page, "&lt;/h2&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
}

CASE(nothing_is_fetched_from_elsewhere)
{
    STRING *page = page_of(light, COUNT(light), true, NULL);
    static const char *const marks[] = {" src=",         "@import",  "<link rel=\"stylesheet\"",
                                        "href=\"http",   "url(http", "fetch(",
                                        "XMLHttpRequest"};
    for (size_t i = 0; i < COUNT(marks); i++)
        if (strstr(page, marks[i]) != NULL)
            fail_msg("the page has %s", marks[i]);
}

CASE(a_figure_is_its_data_and_its_caption)
{
    STRING *page = page_of(light, COUNT(light), false, NULL);
    assert_contains(page, "<figure data-kind=\"hit-rate\" data-subject=\"light\"><figcaption>"
                          "<b>hit-rate</b> of light. of &lt;it&gt; &amp; &quot;that&quot;");
    assert_contains(page, "<pre>panel,value\n1,&lt;2\n</pre>");
    assert_contains(page, "<summary>sensitivity k</summary><figure data-kind=\"sensitivity\"");
    assert_null(strstr(page, "<svg"));
}

static void assert_verdict(const struct fixture *runs, size_t count, const char *expected)
{
    STRING *page = page_of(runs, count, true, NULL);
    const char *verdict = strstr(page, "<p id=\"verdict\">") + strlen("<p id=\"verdict\">");
    size_t words = 1;
    for (const char *at = verdict; *at != '<'; at++)
        words += *at == ' ';
    assert_true(words <= 35);
    assert_contains(verdict, expected);
}

CASE(the_verdict_tells_a_tie_as_a_whole_and_which_of_it_costs_least)
{
#define LEVEL(policy, hits, cost)                                                                  \
    {"a", policy, "setting=a policy.name=" policy, 1, hits, cost, RECORD_SUMMARY},                 \
    {                                                                                              \
        "b", policy, "setting=b policy.name=" policy, 1, hits, cost, RECORD_SUMMARY                \
    }
    static const struct fixture level[] = {LEVEL("esg", 0.99, 0.003), LEVEL("fifo", 0.99, 0.001),
                                           LEVEL("edf", 0.99, 0.002), LEVEL("sjf", 0.98, 0.0001)};
    assert_verdict(
        level, COUNT(level),
        "alone or shared: esg, fifo, edf in 2 of 2 settings; cheapest of those level: fifo "
        "in 2 of 2.</p>");
    static const struct fixture first[] = {
        LEVEL("esg", 0.99, 0.003),
        LEVEL("fifo", 0.98, 0.001),
        LEVEL("edf", 0.97, 0.002),
        {"c", "esg", "setting=c policy.name=esg", 1, 0.5, 0.001, RECORD_SUMMARY},
        {"c", "fifo", "setting=c policy.name=fifo", 1, 0.5, 0.001, RECORD_SUMMARY},
        {"c", "edf", "setting=c policy.name=edf", 1, 0.5, 0.002, RECORD_SUMMARY}};
    assert_verdict(first, COUNT(first),
                   ": esg in 3 of 3 settings; fifo, edf in 1; cheapest of those level: esg, "
                   "fifo in 1 of 1.</p>");
    static const struct fixture one[] = {
        {"a", "esg", "policy.name=esg", 1, 0.99, 0.003, RECORD_SUMMARY},
        {"a", "fifo", "policy.name=fifo", 1, 0.99, 0.001, RECORD_SUMMARY},
        {"a", "edf", "policy.name=edf", 1, 0.5, 0.001, RECORD_SUMMARY}};
    assert_verdict(one, COUNT(one),
                   ": esg, fifo 79.2 %; edf 40 %; cheapest of those level: fifo.</p>");
}

CASE(the_verdict_says_who_is_first_in_thirty_five_words)
{
    assert_verdict(light, COUNT(light), "Highest mean SLO hit rate: esg 73.6 %; fifo ");
    assert_verdict(light, 3, "The mean SLO hit rate: esg 73.6 %.</p>");
    assert_verdict(two_settings, COUNT(two_settings),
                   "Highest mean SLO hit rate, alone or shared: esg, fifo in 1 of 2 settings.</p>");
#define LONG                                                                                       \
    " policy.params.p=2 policy.params.q=3 policy.params.r=4 policy.params.s=5 policy.params.t=6"
    static const struct fixture long_names[] = {
        {"a", "esg", "policy.name=esg setting=a policy.params.k=1" LONG " policy.params.u=7", 1,
         0.9, 0.001, RECORD_SUMMARY},
        {"a", "fifo", "policy.name=fifo setting=a", 1, 0.8, 0.001, RECORD_SUMMARY},
        {"b", "esg", "policy.name=esg setting=b policy.params.k=2" LONG, 1, NAN, 0.001,
         RECORD_SUMMARY},
        {"b", "fifo", "policy.name=fifo setting=b", 1, 0.2, 0.001, RECORD_SUMMARY}};
    assert_verdict(long_names, COUNT(long_names), " in 1 of 2 settings");
    static const struct fixture nothing[] = {
        {"a", "esg", "policy.name=esg", 1, NAN, 0.001, RECORD_SUMMARY}};
    assert_verdict(nothing, 1, "No policy has a value of mean SLO hit rate.</p>");
}

CASE(a_file_without_runs_has_a_page_that_says_so)
{
    STRING *page = page_of(light, 0, true, NULL);
    assert_well_formed(page);
    assert_contains(page, "holds no finished run");
}

/* The vectors of RFC 3629 and of Markus Kuhn's stress test, in short. */
CASE(utf8_is_told_from_what_is_none)
{
    static const struct {
        const char *text;
        size_t length;
    } vectors[] = {
        {"a", 1},
        {"", 1},
        {"\xC2\x80", 2},
        {"\xDF\xBF", 2},
        {"\xE0\xA0\x80", 3},
        {"\xEF\xBF\xBD", 3},
        {"\xF0\x90\x80\x80", 4},
        {"\xF4\x8F\xBF\xBF", 4},
        {"\x80", 0},
        {"\xC0\xAF", 0},
        {"\xC1\xBF", 0},
        {"\xC3", 0},
        {"\xE0\x80\x80", 0},
        {"\xE0\x9F\xBF", 0},
        {"\xED\xA0\x80", 0},
        {"\xED\xBF\xBF", 0},
        {"\xF0\x8F\xBF\xBF", 0},
        {"\xF4\x90\x80\x80", 0},
        {"\xF5\x80\x80\x80", 0},
        {"\xFF", 0},
        {"\xE2\x82", 0},
    };
    for (size_t i = 0; i < COUNT(vectors); i++)
        assert_int_equal(utf8_sequence(vectors[i].text), vectors[i].length);
}

SUITE("html")
