#include "results/page/verdict_table.h"

#include <errno.h>
#include <string.h>

#include "results/page/overview.h"
#include "results/report/table.h"

enum { POLICIES = 3, COLUMNS_MOST = POLICIES + 16 }; /* the first column of a policy */

/* The headers of a figure's table, which end with its policies. Returns their number. */
static size_t headers_of(const struct expectation *figure, const char *headers[COLUMNS_MOST])
{
    size_t count = 0;
    headers[count++] = "assumptions";
    headers[count++] = "verdict (pairs)";
    headers[count++] = "averages";
    if (!expectation_is_comparison(figure))
        headers[count++] = figure->policy;
    else
        for (size_t i = 0; i < figure->compare_count && count < COLUMNS_MOST; i++)
            headers[count++] = figure->against[i];
    return count;
}

/* Adds the row of one world. */
static void add_row(const struct judgement *judgement, struct text_table *table)
{
    const char *headers[COLUMNS_MOST];
    const size_t count = headers_of(judgement->figure, headers);
    size_t hold = 0;
    text_table_row(table);
    text_table_name(table, 0, "%s", judgement->world->assumptions);
    text_table_name(table, 1, "%s (%zu of %zu)", verdict_name(judgement->verdict),
                    judgement->counts[STANDING_HOLDS],
                    judgement->pair_count - judgement->counts[STANDING_NO_RUN]);
    for (size_t i = 0; i < judgement->average_count; i++) {
        const struct verdict_pair *average = &judgement->averages[i];
        hold += average->standing == STANDING_HOLDS;
        for (size_t c = POLICIES; c < count; c++)
            if (strcmp(average->policy, headers[c]) == 0 && average->ours.n > 0)
                text_table_estimate(table, c, average->ours,
                                    verdict_decimals(judgement->figure, average->ours.mean));
    }
    text_table_name(table, 2, "%zu of %zu", hold, judgement->average_count);
}

/* The table of one figure over all worlds of the reports; NULL: nothing ran. */
static struct text_table *figure_table(const struct judgement *const *judgements, size_t count)
{
    const char *headers[COLUMNS_MOST];
    const size_t columns = headers_of(judgements[0]->figure, headers);
    struct text_table *table = NULL;
    for (size_t r = 0; r < count; r++)
        for (size_t w = 0; w < judgements[r]->apart_count; w++) {
            table = table == NULL ? text_table_create(headers, columns) : table;
            add_row(&judgements[r]->apart[w], table);
        }
    return table;
}

void verdict_table_html(const struct judgement *judgement, FILE *out)
{
    struct text_table *table = figure_table(&judgement, 1);
    if (table != NULL)
        text_table_end(table, true, out);
}

static void print_figure(const struct judgement *judgement, const char *end, FILE *out)
{
    const struct expectation *figure = judgement->figure;
    (void)fprintf(out, "%s, %s [%s]%s\n", figure->title, judgement->range, figure->evidence, end);
}

void verdicts_tables(const struct report *const *reports, size_t count, FILE *out)
{
    (void)fputs("Which assumptions change which verdict. Pairs of policy and setting that hold, of "
                "those that ran. Averages: the figure's formula, applied to the averages over the "
                "settings, seed by seed.\n",
                out);
    for (size_t i = 0; i < reports[0]->judgement_count; i++) {
        const struct judgement **judgements =
            arena_allocate(reports[0]->arena, count, sizeof *judgements);
        for (size_t r = 0; r < count; r++)
            judgements[r] = &reports[r]->judgements[i];
        struct text_table *table = figure_table(judgements, count);
        if (table == NULL)
            continue;
        (void)fputc('\n', out);
        print_figure(judgements[0],
                     expectation_is_comparison(judgements[0]->figure) ? ", against each\n" : "\n",
                     out);
        text_table_end(table, false, out);
    }
}

void verdict_text(const struct judgement *judgement, bool note, FILE *out)
{
    print_figure(judgement, ":", out);
    (void)fprintf(out, "  %s\n", judgement->sentence);
    if (note && judgement->figure->note != NULL)
        (void)fprintf(out, "  Note: %s\n", judgement->figure->note);
}

bool verdicts_text(const struct report *const *reports, size_t count, FILE *out,
                   struct error *error)
{
    const struct expectations *expected = reports[0]->expected;
    for (size_t r = 0; r < count; r++)
        if (reports[r]->incomplete != NULL)
            (void)fprintf(out, "%s: %s\n\n", reports[r]->results->path, reports[r]->incomplete);
    for (size_t r = 0; r < count; r++) {
        if (!overview_exists(reports[r]))
            continue;
        (void)fprintf(out, "%s\n\n", reports[r]->results->path);
        overview_print(reports[r], false, out);
        (void)fputc('\n', out);
    }
    (void)fprintf(out, "%s\n", expected->title);
    (void)fprintf(out, "%s\n", expected->source);
    (void)fputc('\n', out);
    verdicts_tables(reports, count, out);
    for (size_t r = 0; r < count; r++) {
        (void)fprintf(out, "\n%s, over all assumptions:\n", reports[r]->results->path);
        for (size_t i = 0; i < reports[r]->judgement_count; i++)
            verdict_text(&reports[r]->judgements[i], false, out);
    }
    return !ferror(out) || error_write(error, "the report", errno);
}
