#include "plots/plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plots/divide.h"
#include "plots/families.h"
#include "plots/gnuplot.h"
#include "results/expect/reproduction_check.h"
#include "results/report/curve.h"
#include "workloads/load/json_include.h"

static bool results_file(const char *path, struct figure_list *list, struct error *error)
{
    struct report *report = judged_open(path, NULL, error);
    const struct curve_request request = {list->over, list->metric, NAN, false};
    struct expectations *expected = NULL;
    bool good = report != NULL && report_follow(report, &request, error);
    if (good && list->paper != NULL &&
        (good = (expected = expectations_load(list->paper, EXPECTATION_FIGURES, error)) != NULL))
        report_judge(report, expected);
    if (good && report->results->run_count == 0)
        good = error_input(error, "%s: holds no finished run; there is nothing to draw", path);
    good = good && plot_results(report, list, error);
    judged_close(report);
    arena_home_free(expected);
    return good;
}

bool plot_file(const char *path, const char *trace_format, struct figure_list *list,
               struct error *error)
{
    static const unsigned char hdf5[] = {0x89, 'H', 'D', 'F'};
    static const char points[] = "function,batch,vcpu,";
    char head[64] = {0};
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return error_input(error, "%s: cannot be opened: %s", path, strerror(errno));
    errno = 0;
    size_t length = fread(head, 1, sizeof head - 1, file);
    const int fault = ferror(file) ? errno : 0;
    (void)fclose(file);
    if (fault != 0)
        return error_input(error, "%s: cannot be read: %s", path, strerror(fault));
    if (length >= sizeof hdf5 && memcmp(head, hdf5, sizeof hdf5) == 0)
        return results_file(path, list, error);
    if (list->policy_count > 0 || list->paper != NULL)
        return error_input(error, "%s: %s holds no results of policies; omit it",
                           list->policy_count > 0 ? "--policies" : "--paper", path);
    if (trace_format == NULL && strncmp(head, points, strlen(points)) == 0)
        return families_calibration(path, list, error);
    if (trace_format == NULL && (head[0] == '#' || strncmp(head, "queue\n", 6) == 0))
        return families_tree(path, list, error);
    if (trace_format == NULL && head[strspn(head, " \t\r\n")] == '{')
        return families_profile(path, list, error);
    return families_arrivals(path, trace_format, list, error);
}

bool chart_sheet(const struct chart *chart, struct figure_list *list, struct error *error)
{
    struct sheet sheet = {0};
    const bool good = sheet_begin(&sheet, list, chart->script, chart->subject, chart->caption,
                                  "row,name,shape,other,from,until,part,colour,text,axis", error);
    for (size_t i = 0; good && i < chart->span_count; i++) {
        const struct chart_span *span = &chart->spans[i];
        sheet_row(&sheet, "%zu " LABEL " %d %zu %g %g %s %x %s %s", span->row + 1,
                  chart->rows[span->row], (int)span->shape, span->other + 1, span->from,
                  span->until, span->kind.words, span->kind.colour, span->text, chart->axis);
    }
    return sheet_end(&sheet, good, error);
}

/* Finds the script in the working directory, else in the data directory. */
static const char *script_find(struct arena *arena, const char *name, struct error *error)
{
    const char *local = arena_text(arena, "plots/%s.gp", name);
    const char *path = json_include_find_operand(arena, local);
    if (path == NULL)
        (void)error_run(error,
                        "%s: the figure's script is missing, here and in %s; ESGSIM_DATA "
                        "names the folder that has it",
                        local, json_include_data_directory());
    return path;
}

/* Draws figure `at`. Where its size has no room, its parts or the next figure take its place. */
static bool draw_one(struct figure_list *list, size_t at, const char *format, struct error *error)
{
    struct figure *figure = &list->figures[at];
    char *no_room = NULL;
    const char *script = script_find(figure_memory(list), figure->script, error);
    if (script == NULL)
        return false;
    figure->picture =
        arena_text(figure_memory(list), "%s/%s.%s", list->folder, figure->name, format);
    bool good = gnuplot_draw(figure_memory(list), script, figure->csv, figure->picture,
                             &list->style, &no_room, error);
    if (no_room != NULL)
        good = figure_divide(list, at, no_room, error);
    return good;
}

bool plot_draw(struct figure_list *list, const char *format, struct error *error)
{
    bool good = gnuplot_check(error);
    for (size_t i = 0; good && i < list->count;) {
        good = draw_one(list, i, format, error);
        i += i < list->count && list->figures[i].picture != NULL;
    }
    return good;
}
