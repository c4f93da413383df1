#include "plots/embed.h"

#include <stdlib.h>

#include "plots/plot.h"
#include "sim/base/json.h"
#include "sim/base/unfinished.h"

/* More timelines would make the page slow to open. */
enum { TIMELINES_MOST = 8 };

/* Reads the list's pictures, and writes a subject and a description for each. */
static bool pictures_read(const struct figure_list *list, struct arena *arena,
                          struct embedded *embedded, struct error *error)
{
    embedded->figures = arena_allocate(arena, list->count, sizeof *embedded->figures);
    for (size_t i = 0; i < list->count; i++) {
        const struct figure *figure = &list->figures[i];
        char *picture = json_read_text(figure->picture, NULL, error);
        if (picture == NULL)
            return false;
        embedded->figures[embedded->count++] =
            (struct page_figure){arena_text(arena, "%s", figure->subject),
                                 arena_text(arena, "Figure %s of %s. %s", figure->script,
                                            figure->subject, figure->caption),
                                 arena_text(arena, "%s", picture)};
        free(picture);
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
                pictures_read(&list, report->arena, embedded, error);
    figure_list_clear(&list);
    temporary_folder_remove(folder);
    return good;
}
