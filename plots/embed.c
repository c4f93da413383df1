#include "plots/embed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plots/plot.h"
#include "sim/base/json.h"
#include "sim/base/unfinished.h"
#include "workloads/load/json_include.h"

enum {
    TIMELINES_MOST = 8, /* more would make the page slow to open */
    COLUMNS_MOST = 32,
    TEXTS = 2, /* the last columns, subject and caption, which the page has as texts */
    DIGITS = 5 /* significant, more than a screen shows */
};

struct embedded {
    struct page_figure *figures;
    size_t count;
};

/* Packs a CSV, which is overwritten, for the page (page.js unpacks it): numbers with fewer digits;
 * without the last columns; a cell that is as above is "=", and such cells at a row's end are left
 * out. Of a distribution, whose third column is `percent`, the halves are left out below 99. */
static void csv_pack(char *csv, FILE *out)
{
    char *line, *end;
    const char *above[COLUMNS_MOST] = {NULL};
    bool spread = false;
    while ((line = strsep(&csv, "\n")) != NULL && *line != '\0') {
        char *cells[COLUMNS_MOST];
        bool same[COLUMNS_MOST];
        size_t count = 0;
        for (; count < COLUMNS_MOST && (cells[count] = strsep(&line, ",")) != NULL; count++)
            same[count] = above[count] != NULL && strcmp(cells[count], above[count]) == 0;
        size_t told = count - (count > TEXTS ? TEXTS : 0);
        spread = spread || (told > 2 && strcmp(cells[2], "percent") == 0);
        if (spread && strchr(cells[2], '.') != NULL && strtod(cells[2], NULL) < 99)
            continue;
        while (told > 0 && same[told - 1])
            told--;
        for (size_t c = 0; c < told; c++) {
            const double number = strtod(cells[c], &end);
            const bool shorter =
                *end == '\0' && strlen(cells[c]) > DIGITS + 1 && cells[c][1] != 'x';
            (void)fputs(c > 0 ? "," : "", out);
            if (shorter && !same[c])
                (void)fprintf(out, "%.*g", DIGITS, number);
            else
                (void)fputs(same[c] ? "=" : cells[c], out);
        }
        (void)fputc('\n', out);
        memcpy(above, cells, count * sizeof *above);
    }
}

/* Reads the list's data, with the texts of each figure. */
static bool sheets_read(const struct figure_list *list, struct arena *arena,
                        struct embedded *embedded, struct error *error)
{
    embedded->figures = arena_allocate(arena, list->count, sizeof *embedded->figures);
    for (size_t i = 0; i < list->count; i++) {
        const struct figure *figure = &list->figures[i];
        char *csv = json_read_text(figure->csv, NULL, error), *packed = NULL;
        size_t size = 0;
        FILE *out = csv == NULL ? NULL : open_memstream(&packed, &size);
        if (csv == NULL)
            return false;
        if (out == NULL)
            abort();
        csv_pack(csv, out);
        (void)fclose(out);
        embedded->figures[embedded->count++] = (struct page_figure){
            arena_text(arena, "%s", figure->subject), arena_text(arena, "%s", figure->script),
            arena_text(arena, "%s", figure->caption), arena_text(arena, "%s", packed)};
        free(packed);
        free(csv);
    }
    return true;
}

/* Writes the CSV of every figure, and packs it. The texts are the report's. */
static bool embed_figures(const struct report *report, struct embedded *embedded,
                          struct error *error)
{
    *embedded = (struct embedded){0};
    char *folder = temporary_folder_create("esgsim-figures", error);
    if (folder == NULL)
        return false;
    struct figure_list list = {.folder = folder, .all = true, .timelines_most = TIMELINES_MOST};
    const bool good =
        plot_results(report, &list, error) && sheets_read(&list, report->arena, embedded, error);
    figure_list_clear(&list);
    temporary_folder_remove(folder);
    return good;
}

bool embed_page(const struct page *page, FILE *out, struct error *error)
{
    static const char local[] = "results/page/assumptions.json";
    const struct results *results = page->report->results;
    struct page whole = *page;
    struct embedded embedded = {0};
    struct run_details *details = run_details_open(results->path, error);
    struct arena *arena = arena_create();
    struct assumptions *assumptions =
        details == NULL ? NULL : assumptions_load(json_include_operand(arena, local), error);
    bool good = assumptions != NULL &&
                (results->run_count == 0 || embed_figures(page->report, &embedded, error));
    whole.assumptions = assumptions;
    whole.details = details;
    whole.figures = embedded.figures;
    whole.figure_count = embedded.count;
    good = good && report_html(&whole, out, error);
    arena_home_free(assumptions);
    run_details_close(details);
    arena_destroy(arena);
    return good;
}
