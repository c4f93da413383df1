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

bool verdict_begins_world(const struct report *report, size_t scenario)
{
    for (size_t s = 0; s < scenario; s++)
        if (verdict_same_world(&report->scenarios[s], &report->scenarios[scenario]))
            return false;
    return true;
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

bool verdict_next_world(const struct report *report, const struct expectation *figure, size_t *next,
                        const struct report_scenario **world, struct judgement *judgement,
                        struct error *error)
{
    *world = NULL;
    for (; *next < report->scenario_count; (*next)++) {
        if (!verdict_begins_world(report, *next))
            continue;
        if (!verdict_judge(report, figure, &report->scenarios[*next], judgement, error))
            return false;
        if (judgement->counts[STANDING_NO_RUN] < judgement->pair_count) {
            *world = &report->scenarios[(*next)++];
            return true;
        }
        judgement_clear(judgement);
    }
    return true;
}

/* A row of a figure's table. */
struct row {
    char title[512];
    char verdict[64];
    char averages[48];
    struct estimate ours[POLICIES_MOST]; /* per column; n = 0: empty */
    int decimals[POLICIES_MOST];
};

static void row_fill(const struct judgement *judgement, const struct report_scenario *world,
                     const char *const *policies, size_t count, struct row *row)
{
    size_t hold = 0;
    memset(row, 0, sizeof *row);
    verdict_world_title(world, row->title, sizeof row->title);
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

/* Writes the worlds of one report in which a pair has run, and counts them. */
static bool add_rows(const struct report *report, const struct expectation *figure,
                     const char *const *policies, size_t count, row_write *write, void *to,
                     size_t *rows, struct error *error)
{
    size_t next = 0;
    for (;;) {
        const struct report_scenario *world = NULL;
        struct judgement judgement;
        struct row row;
        if (!verdict_next_world(report, figure, &next, &world, &judgement, error))
            return false;
        if (world == NULL)
            return true;
        row_fill(&judgement, world, policies, count, &row);
        write(&row, count, to);
        (*rows)++;
        judgement_clear(&judgement);
    }
}

bool verdict_table_html(const struct report *report, const struct expectation *figure, FILE *out,
                        struct error *error)
{
    const char *headers[FIXED_COLUMNS + POLICIES_MOST] = {"assumptions", "verdict (pairs)",
                                                          "averages"};
    const char **policies = headers + FIXED_COLUMNS;
    const size_t count = policies_of(figure, policies);
    size_t rows = 0;
    html_table_begin(out, headers, NULL, FIXED_COLUMNS + count, 7U);
    const bool good = add_rows(report, figure, policies, count, row_html, out, &rows, error);
    html_table_end(out, false);
    return good;
}

static bool figure_table(const struct report *const *reports, size_t count,
                         const struct expectation *figure, FILE *out, struct error *error)
{
    const char *headers[FIXED_COLUMNS + POLICIES_MOST] = {"assumptions", "verdict (pairs)",
                                                          "averages"};
    const char **policies = headers + FIXED_COLUMNS;
    const size_t policy_count = policies_of(figure, policies);
    struct text_table *table = text_table_create(headers, FIXED_COLUMNS + policy_count);
    size_t rows = 0;
    bool good = true;
    for (size_t r = 0; good && r < count; r++)
        good = add_rows(reports[r], figure, policies, policy_count, row_text, table, &rows, error);
    if (good && rows > 0) {
        char range[96];
        verdict_range(figure->low, figure->high, figure->unit, range, sizeof range);
        (void)fprintf(out, "\n%s, %s [%s]%s\n\n", figure->metric, range, figure->evidence,
                      expectation_is_comparison(figure) ? ", against each" : "");
        good = text_table_print(table, 0, out) || error_run(error, "out of memory for the report");
    }
    text_table_free(table);
    return good;
}

bool verdicts_tables(const struct report *const *reports, size_t count,
                     const struct expectations *reference, FILE *out, struct error *error)
{
    (void)fputs("Which assumptions change which verdict. Pairs of policy and setting that hold, of "
                "those that ran.\nAverages: the figure's formula, applied to the averages over the "
                "settings, seed by seed.\n",
                out);
    for (size_t i = 0; i < reference->count; i++)
        if (!figure_table(reports, count, &reference->list[i], out, error))
            return false;
    return true;
}

static bool print_sentences(const struct report *report, const struct expectations *reference,
                            FILE *out, struct error *error)
{
    for (size_t i = 0; i < reference->count; i++) {
        const struct expectation *figure = &reference->list[i];
        struct judgement judgement;
        char range[96];
        if (!verdict_judge(report, figure, NULL, &judgement, error))
            return false;
        verdict_range(figure->low, figure->high, figure->unit, range, sizeof range);
        (void)fprintf(out, "%s, %s [%s]:\n", figure->metric, range, figure->evidence);
        text_print_filled(out, "  ", judgement.sentence);
        judgement_clear(&judgement);
    }
    return true;
}

bool verdicts_text(const struct report *const *reports, size_t count,
                   const struct expectations *reference, FILE *out, struct error *error)
{
    for (size_t r = 0; r < count; r++)
        if (reports[r]->incomplete != NULL)
            (void)fprintf(out, "%s: %s\n\n", reports[r]->results->path, reports[r]->incomplete);
    for (size_t r = 0; r < count; r++) {
        if (!overview_exists(reports[r]))
            continue;
        (void)fprintf(out, "%s\n\n", reports[r]->results->path);
        if (!overview_text(reports[r], out))
            return error_run(error, "out of memory for the report");
        (void)fputc('\n', out);
    }
    text_print_filled(out, "", reference->title);
    text_print_filled(out, "", reference->source);
    (void)fputc('\n', out);
    if (!verdicts_tables(reports, count, reference, out, error))
        return false;
    for (size_t r = 0; r < count; r++) {
        (void)fprintf(out, "\n%s, over all assumptions:\n", reports[r]->results->path);
        if (!print_sentences(reports[r], reference, out, error))
            return false;
    }
    return !ferror(out) || error_run(error, "cannot write the report: %s", strerror(errno));
}
