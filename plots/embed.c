#include "plots/embed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plots/plot.h"
#include "sim/base/json.h"
#include "sim/base/unfinished.h"

/* More timelines would make the page slow to open. */
enum { TIMELINES_MOST = 8 };

void embedded_clear(struct embedded *embedded)
{
    for (size_t i = 0; i < embedded->text_count; i++)
        free(embedded->texts[i]);
    free(embedded->texts);
    free(embedded->figures);
    *embedded = (struct embedded){0};
}

/* Reads the list's pictures, and writes a subject and a description for each. */
static bool pictures_read(const struct figure_list *list, struct embedded *embedded,
                          struct error *error)
{
    embedded->figures = calloc(list->count + 1, sizeof *embedded->figures);
    embedded->texts = calloc(3 * list->count + 1, sizeof *embedded->texts);
    if (embedded->figures == NULL || embedded->texts == NULL)
        return figure_no_memory(error);
    for (size_t i = 0; i < list->count; i++) {
        const struct figure *figure = &list->figures[i];
        char **texts = &embedded->texts[embedded->text_count];
        texts[0] = strdup(figure->subject);
        texts[1] = NULL;
        if (asprintf(&texts[1], "Figure %s of %s. %s", figure->script, figure->subject,
                     figure->caption) < 0)
            texts[1] = NULL;
        texts[2] = json_read_text(figure->picture, NULL, error);
        embedded->text_count += 3;
        if (texts[0] == NULL || texts[1] == NULL)
            return figure_no_memory(error);
        if (texts[2] == NULL)
            return false;
        embedded->figures[embedded->count++] = (struct page_figure){texts[0], texts[1], texts[2]};
    }
    return true;
}

bool embed_figures(const struct report *report, struct embedded *embedded, struct error *error)
{
    *embedded = (struct embedded){0};
    char *folder = temporary_folder_create("esgsim-figures", error);
    if (folder == NULL)
        return false;
    struct figure_list list = {.folder = folder, .timelines_most = TIMELINES_MOST};
    bool good = plot_results(report, &list, error) && plot_draw(&list, "svg", error) &&
                pictures_read(&list, embedded, error);
    figure_list_clear(&list);
    temporary_folder_remove(folder);
    if (!good)
        embedded_clear(embedded);
    return good;
}
