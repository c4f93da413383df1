/* Figures of cost components and batch sizes, and comparisons across settings. */
#include <math.h>
#include <string.h>

#include "plots/families.h"

/* ---- Bars ----------------------------------------------------------------------------------- */

enum { PARTS_MOST = 8 };

struct bar_part {
    const char *title;
    uint32_t colour;
};

struct bar {
    size_t panel;
    const char *title, *axis;
    size_t row;
    const char *contender;
    const struct bar_part *parts;
    size_t count;
    double values[PARTS_MOST];
    const char *label; /* printed to the right of the bar's end */
};

static void bar_rows(const struct bar *bar, struct sheet *sheet)
{
    double from = 0;
    for (size_t p = 0; p < bar->count; p++) {
        const double value = isfinite(bar->values[p]) ? bar->values[p] : 0;
        sheet_row(sheet, "%zu %s %s %zu " LABEL " %zu %s %g %g %x %s", bar->panel, bar->title,
                  bar->axis, bar->row, bar->contender, p + 1, bar->parts[p].title, from,
                  from + value, bar->parts[p].colour, p + 1 == bar->count ? bar->label : " ");
        from += value;
    }
}

/* ---- Costs ---------------------------------------------------------------------------------- */

static const struct bar_part cost_parts[] = {
    {"execution", 0x00557F},
    {"held before it", 0xE69F00},
    {"idle and prewarmed containers", 0xBFE3F7},
    {"instances between executions", 0xCC79A7},
};
enum { COST_PARTS = sizeof cost_parts / sizeof cost_parts[0], PAID_PARTS = 2 };

/* $ per 1,000 requests, means over the contender's runs. */
static void cost_values(const struct source *source, const struct report_contender *contender,
                        double values[COST_PARTS])
{
    memset(values, 0, COST_PARTS * sizeof *values);
    for (size_t i = 0; i < contender->run_count; i++) {
        const struct summary_row *run = &source->report->results->runs[contender->runs[i]];
        const double requests =
            (double)(run->measures.requests - run->measures.dropped) * (double)contender->run_count;
        const double costs[COST_PARTS] = {run->measures.cost_usd, run->measures.cost_hold_usd,
                                          run->run.cost_idle_usd, run->run.cost_instance_usd};
        for (size_t p = 0; p < COST_PARTS && requests > 0; p++)
            values[p] += isfinite(costs[p]) ? 1000 * costs[p] / requests : 0;
    }
}

void cost_parts_rows(const struct source *source, const struct report_scenario *scenario,
                     const struct figure_kind *kind, struct sheet *sheet)
{
    const char *axis = metric_find("cost_per_request_usd")->face.title;
    for (size_t panel = 1; panel <= 2; panel++)
        for (size_t c = 0; c < scenario->contender_count && scenario->contenders[c].pale == 0;
             c++) {
            const size_t count = panel == 1 ? PAID_PARTS : COST_PARTS;
            struct bar bar = {panel,
                              panel == 1 ? "while work holds resources" : "all that is provisioned",
                              axis,
                              c + 1,
                              scenario->contenders[c].title,
                              cost_parts,
                              count,
                              {0},
                              ""};
            double total = 0;
            char label[32];
            cost_values(source, &scenario->contenders[c], bar.values);
            for (size_t p = 0; p < count; p++)
                total += bar.values[p];
            (void)snprintf(label, sizeof label, "%.3g", total);
            bar.label = label;
            bar_rows(&bar, sheet);
        }
}

/* ---- Batch sizes ---------------------------------------------------------------------------- */

static const struct {
    const char *title;
    uint32_t most;
} sizes[] = {{"1", 1},
             {"2", 2},
             {"3 to 4", 4},
             {"5 to 8", 8},
             {"9 to 16", 16},
             {"17 to 32", 32},
             {"33 and more", UINT32_MAX}};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Counts the jobs of the contender's recorded runs by batch size, and the batches. */
static bool size_counts(const struct source *source, const struct report_contender *contender,
                        double counts[SIZES], double *batches, struct error *error)
{
    memset(counts, 0, SIZES * sizeof *counts);
    *batches = 0;
    for (size_t i = 0; i < contender->run_count; i++) {
        const char *hash = source->report->results->runs[contender->runs[i]].hash;
        struct batch_row *rows = NULL;
        size_t count = 0;
        if (!run_details_has(source->details, hash, "batches"))
            continue;
        if (!run_details_batches(source->report->arena, source->details, hash, &rows, &count,
                                 error))
            return false;
        for (size_t b = 0; b < count; b++) {
            size_t s = 0;
            while (rows[b].jobs > sizes[s].most)
                s++;
            counts[s] += rows[b].jobs;
        }
        *batches += (double)count;
        arena_release(source->report->arena, rows);
    }
    return true;
}

bool batch_sizes_rows(struct reading *reading, size_t *row, struct sheet *sheet,
                      struct error *error)
{
    struct bar_part parts[SIZES];
    char label[64];
    double batches = 0;
    double jobs = 0;
    struct bar bar = {.panel = 1,
                      .title = "",
                      .axis = "share of the jobs (%)",
                      .row = *row + 1,
                      .contender = reading->contender->title,
                      .parts = parts,
                      .count = SIZES,
                      .label = label};
    for (size_t s = 0; s < SIZES; s++)
        parts[s] = (struct bar_part){sizes[s].title, palette_step(s, SIZES)};
    if (reading->contender->pale > 0)
        return true;
    if (!size_counts(reading->source, reading->contender, bar.values, &batches, error))
        return false;
    for (size_t s = 0; s < SIZES; s++)
        jobs += bar.values[s];
    if (jobs <= 0)
        return true;
    for (size_t s = 0; s < SIZES; s++)
        bar.values[s] *= 100 / jobs;
    (void)snprintf(label, sizeof label, "mean %.2f", jobs / batches);
    (*row)++;
    bar_rows(&bar, sheet);
    return true;
}

/* ---- Across settings ------------------------------------------------------------------------ */

static void kinds_read(struct kinds *kinds, const struct report *report)
{
    const bool alone = source_one_policy(report->scenarios);
    for (size_t s = 0; s < report->scenario_count; s++)
        for (size_t c = 0; c < report->scenarios[s].contender_count; c++) {
            const struct report_contender *contender = &report->scenarios[s].contenders[c];
            kinds_add(kinds, report->arena, contender, "", contender->variant, alone);
        }
}

static void settings_row(const struct source *source, const struct kinds *kinds,
                         const struct metric *metric, bool logarithmic, size_t number, size_t s,
                         size_t row, size_t c, struct sheet *sheet)
{
    const struct report_scenario *scenario = &source->report->scenarios[s];
    const struct report_contender *contender = &scenario->contenders[c];
    const size_t k = kinds_find(kinds, contender, "", contender->variant);
    const struct look *look = &kinds->items[k].look;
    const struct estimate value = report_column_estimate(source->report, contender, NULL, metric);
    sheet_row(sheet, "%zu %s %d %zu %s %zu " LABEL " %g %g %g %x %d", number, metric->face.title,
              logarithmic, row,
              names_conditions(source->report->arena,
                               scenario->title[0] != '\0' ? scenario->title : scenario->name),
              k + 1, contender->title, value.mean, value.low, value.high, look->colour,
              look->point);
}

enum { SETTINGS_MOST = 36 }; /* rows of the figure; of more settings one of several has a row */

bool settings_draw(const struct source *source, const struct figure_kind *kind,
                   struct figure_list *list, struct error *error)
{
    const struct report *report = source->report;
    const bool serves = report_serves(report);
    struct kinds kinds = {0};
    struct sheet sheet = {0};
    if (report->scenario_count < 2)
        return true;
    static const char *const names[2][3] = {
        {"jct_s_mean", "jct_s_p99", "queueing_s_mean"},
        {"slo_hit_rate", "cost_per_request_usd", "latency_ms_p95"}};
    const char *lead = serves ? "All applications; the cost and the latency axis do not begin at 0."
                              : "Logarithmic; 0 is not drawn.";
    kinds_read(&kinds, report);
    const size_t settings = report->scenario_count;
    const size_t apart = list->all ? 1 : (settings - 1) / SETTINGS_MOST + 1;
    const bool good = source_sheet(source, NULL, kind, "", lead, list, &sheet, error);
    for (size_t p = 0; good && p < 3; p++) {
        const struct metric *metric = report_metric_find(names[serves][p]);
        const bool logarithmic = !serves || source_spans_decades(metric);
        for (size_t s = apart / 2; s < settings; s += apart)
            for (size_t c = 0; c < report->scenarios[s].contender_count; c++)
                settings_row(source, &kinds, metric, logarithmic, p + 1, s, s / apart + 1, c,
                             &sheet);
    }
    if (sheet.out != NULL && apart > 1)
        figure_list_note(list, "settings: one in %zu of the %zu settings; --all draws all", apart,
                         settings);
    return sheet_end(&sheet, good, error);
}
