#include "results/report/verdict_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/html.h"
#include "results/report/overview.h"
#include "results/report/table.h"

enum { POLICIES_MOST = 16, FIXED_COLUMNS = 3 };

/* Whether the pair names a file whose name says what it is. */
static bool is_of_file(const char *pair)
{
    return strncmp(pair, "cluster=", strlen("cluster=")) == 0 ||
           strncmp(pair, "profile=", strlen("profile=")) == 0;
}

void verdict_world_title(const struct report_scenario *scenario, char *text, size_t size)
{
    static const char ending[] = ".json";
    const char *at = scenario->conditions;
    size_t used = 0;
    (void)snprintf(text, size, "%s", at[0] == '\0' ? scenario->name : "");
    while (*at != '\0' && used + 1 < size) {
        const size_t length = strcspn(at, " ");
        const char *from = at;
        const bool file = is_of_file(at);
        const char *last = at + (file ? length : strcspn(at, "="));
        for (const char *c = at; c < last; c++)
            from = strchr(file ? "/=" : ".", *c) != NULL ? c + 1 : from;
        size_t shown = (size_t)(at + length - from);
        if (file && shown > strlen(ending) &&
            strncmp(at + length - strlen(ending), ending, strlen(ending)) == 0)
            shown -= strlen(ending);
        const int written =
            snprintf(text + used, size - used, "%s%.*s", used == 0 ? "" : ", ", (int)shown, from);
        used += written > 0 ? (size_t)written : 0;
        at += length + (at[length] == ' ');
    }
}

/* The names of the columns: the policies of the figure. Returns their number. */
static size_t policies_of(const struct expectation *figure, const char **names)
{
    if (!expectation_is_comparison(figure)) {
        names[0] = figure->policy;
        return 1;
    }
    size_t count = 0;
    for (; count < figure->compare_count && count < POLICIES_MOST; count++)
        names[count] = figure->against[count];
    return count;
}

/* A row of a figure's table. */
struct row {
    char title[512];
    char verdict[64];
    char averages[48];
    struct estimate ours[POLICIES_MOST]; /* per column; n = 0: empty */
    int decimals[POLICIES_MOST];
};

static void row_fill(const struct judgement *judgement, const char *const *policies, size_t count,
                     struct row *row)
{
    size_t hold = 0;
    memset(row, 0, sizeof *row);
    verdict_world_title(judgement->world, row->title, sizeof row->title);
    (void)snprintf(row->verdict, sizeof row->verdict, "%s (%zu of %zu)",
                   verdict_name(judgement->verdict), judgement->counts[STANDING_HOLDS],
                   judgement->pair_count - judgement->counts[STANDING_NO_RUN]);
    for (size_t i = 0; i < judgement->average_count; i++) {
        const struct verdict_average *average = &judgement->averages[i];
        hold += average->standing == STANDING_HOLDS;
        for (size_t p = 0; p < count; p++)
            if (strcmp(average->policy, policies[p]) == 0) {
                row->ours[p] = average->ours;
                row->decimals[p] = verdict_decimals(judgement->figure, average->ours.mean);
            }
    }
    (void)snprintf(row->averages, sizeof row->averages, "%zu of %zu", hold,
                   judgement->average_count);
}

static void row_text(const struct row *row, size_t count, void *table)
{
    text_table_row(table);
    text_table_cell(table, 0, "%s", row->title);
    text_table_cell(table, 1, "%s", row->verdict);
    text_table_cell(table, 2, "%s", row->averages);
    for (size_t p = 0; p < count; p++)
        if (row->ours[p].n > 0)
            text_table_estimate(table, FIXED_COLUMNS + p, row->ours[p], row->decimals[p]);
}

static void row_html(const struct row *row, size_t count, void *out)
{
    html_row_begin(out);
    html_cell_text(out, row->title);
    html_cell_text(out, row->verdict);
    html_cell_text(out, row->averages);
    for (size_t p = 0; p < count; p++)
        if (row->ours[p].n > 0)
            html_cell_estimate(out, row->ours[p], row->decimals[p], "");
        else
            (void)fputs("<td></td>", out);
    html_row_end(out);
}

typedef void row_write(const struct row *row, size_t count, void *to);

/* Writes a row of each world in which a pair has run. */
static void add_rows(const struct judgement *judgement, const char *const *policies, size_t count,
                     row_write *write, void *to)
{
    for (size_t w = 0; w < judgement->apart_count; w++) {
        struct row row;
        row_fill(&judgement->apart[w], policies, count, &row);
        write(&row, count, to);
    }
}

void verdict_table_html(const struct judgement *judgement, FILE *out)
{
    const char *headers[FIXED_COLUMNS + POLICIES_MOST] = {"assumptions", "verdict (pairs)",
                                                          "averages"};
    const char **policies = headers + FIXED_COLUMNS;
    const size_t count = policies_of(judgement->figure, policies);
    html_table_begin(out, headers, NULL, FIXED_COLUMNS + count, 7U);
    add_rows(judgement, policies, count, row_html, out);
    html_table_end(out, false);
}

static void print_figure(const struct judgement *judgement, const char *end, FILE *out)
{
    const struct expectation *figure = judgement->figure;
    (void)fprintf(out, "%s, %s [%s]%s\n", figure->metric, judgement->range, figure->evidence, end);
}

static bool figure_table(const struct report *const *reports, size_t count, size_t index, FILE *out)
{
    const char *headers[FIXED_COLUMNS + POLICIES_MOST] = {"assumptions", "verdict (pairs)",
                                                          "averages"};
    const char **policies = headers + FIXED_COLUMNS;
    const struct judgement *first = &reports[0]->judgements[index];
    const size_t policy_count = policies_of(first->figure, policies);
    struct text_table *table = text_table_create(headers, FIXED_COLUMNS + policy_count);
    size_t rows = 0;
    for (size_t r = 0; r < count; r++) {
        add_rows(&reports[r]->judgements[index], policies, policy_count, row_text, table);
        rows += reports[r]->judgements[index].apart_count;
    }
    if (rows > 0) {
        (void)fputc('\n', out);
        print_figure(first, expectation_is_comparison(first->figure) ? ", against each\n" : "\n",
                     out);
    }
    const bool good = rows == 0 || text_table_print(table, 0, out);
    text_table_free(table);
    return good;
}

bool verdicts_tables(const struct report *const *reports, size_t count, FILE *out)
{
    (void)fputs("Which assumptions change which verdict. Pairs of policy and setting that hold, of "
                "those that ran.\nAverages: the figure's formula, applied to the averages over the "
                "settings, seed by seed.\n",
                out);
    for (size_t i = 0; i < reports[0]->judgement_count; i++)
        if (!figure_table(reports, count, i, out))
            return false;
    return true;
}

void verdict_text(const struct judgement *judgement, bool note, FILE *out)
{
    print_figure(judgement, ":", out);
    text_print_filled(out, "  ", judgement->sentence);
    if (note && judgement->figure->note != NULL)
        text_print_filled(out, "  Note: ", judgement->figure->note);
}

bool verdicts_text(const struct report *const *reports, size_t count, FILE *out,
                   struct error *error)
{
    const struct expectations *expected = reports[0]->expected;
    bool good = true;
    for (size_t r = 0; r < count; r++)
        if (reports[r]->incomplete != NULL)
            (void)fprintf(out, "%s: %s\n\n", reports[r]->results->path, reports[r]->incomplete);
    for (size_t r = 0; r < count; r++) {
        if (!overview_exists(reports[r]))
            continue;
        (void)fprintf(out, "%s\n\n", reports[r]->results->path);
        good = overview_text(reports[r], out) && good;
        (void)fputc('\n', out);
    }
    text_print_filled(out, "", expected->title);
    text_print_filled(out, "", expected->source);
    (void)fputc('\n', out);
    if (!verdicts_tables(reports, count, out) || !good)
        return error_run(error, "out of memory for the report");
    for (size_t r = 0; r < count; r++) {
        (void)fprintf(out, "\n%s, over all assumptions:\n", reports[r]->results->path);
        for (size_t i = 0; i < reports[r]->judgement_count; i++)
            verdict_text(&reports[r]->judgements[i], false, out);
    }
    return !ferror(out) || error_run(error, "cannot write the report: %s", strerror(errno));
}
