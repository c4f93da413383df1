#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "plots/families.h"
#include "plots/plot.h"
#include "plots/selection.h"

static const char script_name[] = "simulated-against-real";
static const char columns[] = "panel,row,contender,side,x,y,colour,point";

/* Returns whether two runs differ only in the seed. They then share a line of the legend. */
static bool contender_same(const struct compare_run *a, const struct compare_run *b)
{
    return strcmp(a->setting, b->setting) == 0 && strcmp(a->real->policy, b->real->policy) == 0 &&
           strcmp(a->real->label, b->real->label) == 0;
}

/* Returns whether the run is the first of its contender, which represents it. */
static bool contender_first(const struct comparison *against, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (contender_same(&against->runs[i], &against->runs[index]))
            return false;
    return true;
}

/* Number of earlier contenders with the same setting and policy. */
static size_t contender_variant(const struct comparison *against, size_t index)
{
    size_t variant = 0;
    for (size_t i = 0; i < index; i++)
        variant += contender_first(against, i) &&
                   strcmp(against->runs[i].setting, against->runs[index].setting) == 0 &&
                   strcmp(against->runs[i].real->policy, against->runs[index].real->policy) == 0;
    return variant;
}

static const char *contender_title(const struct comparison *against, size_t index,
                                   struct arena *arena)
{
    const char *policy = against->runs[index].real->policy;
    const size_t variant = contender_variant(against, index);
    return variant == 0 ? arena_text(arena, "%.60s", policy)
                        : arena_text(arena, "%.60s (%zu)", policy, variant + 1);
}

/* ---- Distributions --------------------------------------------------------------------------- */

struct line {
    const char *title;
    size_t row;
    struct look look;
};

static void cells_write(struct sheet *sheet, size_t panel, const struct line *line, size_t side,
                        double x, double y)
{
    sheet_row(sheet, "%zu %zu %s %zu %g %g %x %d", panel, line->row, line->title, side, x, y,
              line->look.colour, line->look.point);
}

/* Writes both distributions over all seeds of the contender: simulated (side 0) and real (1). */
static void distributions(const struct comparison *against, size_t index, const struct line *line,
                          struct sheet *sheet)
{
    struct arena *arena = figure_memory(sheet->list);
    for (size_t side = 0; side < 2; side++) {
        double *ms = NULL;
        size_t count = 0;
        for (size_t i = index; i < against->run_count; i++) {
            const struct compare_run *run = &against->runs[i];
            if (!contender_same(run, &against->runs[index]))
                continue;
            arena_reserve(arena, &ms, count + run->served[side] + 1, sizeof *ms);
            memcpy(ms + count, run->served_ms[side], run->served[side] * sizeof *ms);
            count += run->served[side];
        }
        gsl_sort(ms, 1, count);
        for (size_t step = 0; count > 0 && step < CDF_STEPS; step++)
            cells_write(sheet, 1, line, side,
                        gsl_stats_quantile_from_sorted_data(ms, 1, count, cdf_share(step)),
                        100 * cdf_share(step));
        arena_release(arena, ms);
    }
}

/* Writes one point per seed and kind of batch that both sides have. */
static void batch_times(const struct comparison *against, size_t index, const struct line *line,
                        struct sheet *sheet)
{
    for (size_t i = index; i < against->run_count; i++) {
        const struct compare_run *run = &against->runs[i];
        for (size_t k = 0; contender_same(run, &against->runs[index]) && k < run->batch_kinds; k++)
            if (run->batches[k].count[0] > 0 && run->batches[k].count[1] > 0)
                cells_write(sheet, 2, line, 0, run->batches[k].execution_ms[1],
                            run->batches[k].execution_ms[0]);
    }
}

/* ---- Figures --------------------------------------------------------------------------------- */

static const char *caption_write(const struct comparison *against, const char *setting,
                                 struct arena *arena)
{
    const struct compare_run *first = NULL;
    bool gpu = true;
    for (size_t i = 0; i < against->run_count; i++)
        if (strcmp(against->runs[i].setting, setting) == 0) {
            first = first == NULL ? &against->runs[i] : first;
            gpu = gpu && against->runs[i].gpu;
        }
    const char *real = gpu ? "Executed on "
                           : "Rehearsal: no GPU took part; real is the model "
                             "with an added error and noise";
    return arena_text(
        arena,
        "%s%s%s%s. Solid: simulated; dashed: real. Left: measured requests of all seeds. "
        "Right: mean times of the batches of one function in one configuration, if both "
        "have some; dashed: equal times.",
        real, gpu ? first->device : "", gpu ? " through " : "", gpu ? first->backend : "");
}

static void setting_rows(const struct comparison *against, const char *setting, struct sheet *sheet)
{
    size_t row = 0;
    for (size_t i = 0; i < against->run_count; i++) {
        if (strcmp(against->runs[i].setting, setting) != 0 || !contender_first(against, i))
            continue;
        row++;
        const struct line line = {
            .title = contender_title(against, i, figure_memory(sheet->list)),
            .row = row,
            .look = palette_policy(against->runs[i].real->policy, contender_variant(against, i))};
        distributions(against, i, &line, sheet);
        batch_times(against, i, &line, sheet);
    }
}

static bool draw_all(const struct comparison *against, struct figure_list *list,
                     struct error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < against->run_count; i++) {
        const char *setting = against->runs[i].setting;
        struct sheet sheet = {0};
        size_t earlier = 0;
        while (strcmp(against->runs[earlier].setting, setting) != 0)
            earlier++;
        if (earlier < i)
            continue;
        good = sheet_begin(&sheet, list, script_name, setting,
                           caption_write(against, setting, figure_memory(list)), columns, error);
        if (good && sheet.out != NULL)
            setting_rows(against, setting, &sheet);
        good = sheet_end(&sheet, good, error);
    }
    return good;
}

bool plot_compare(const struct comparison *against, struct figure_list *list, struct error *error)
{
    struct comparison view;
    if (list->policy_count == 0)
        return draw_all(against, list, error);
    return selection_comparison(against, list->policies, list->policy_count, figure_memory(list),
                                &view, error) &&
           draw_all(&view, list, error);
}
