#include "results/page/overview.h"

#include <math.h>
#include <string.h>

#include "results/expect/reproduction_check.h"
#include "results/page/report_columns.h"
#include "results/report/table.h"

enum {
    CELL_WIDTH = 20, /* "12.5 ± 13 at 0.378" and two blanks */
    COLUMNS_MOST = 8
};

/* From this on an interval is told: half of it, in points of the hit rate. */
static const double told_points = 1;
/* The same of a completion time, as a share of the mean. */
static const double told_share = 0.01;

struct block {
    const char *title; /* of the first column, which names the policies */
    const struct report_scenario *columns[COLUMNS_MOST];
    const char *headers[COLUMNS_MOST];
    size_t count;
    size_t width; /* of the columns */
};

bool overview_exists(const struct report *report)
{
    return report->scenario_count >= 2 && report->curves == NULL;
}

/* Whether an earlier column of the block has the contender. */
static bool row_exists(const struct block *block, size_t column,
                       const struct report_contender *contender)
{
    for (size_t s = 0; s < column; s++)
        if (report_contender_like(block->columns[s], contender) != NULL)
            return true;
    return false;
}

/* A significant digit less than in a column: a cell is narrow, and has no larger one beside it. */
static int decimals_of(const struct metric *metric, double value)
{
    const int digits = metric->face.digits;
    return digits > 0 ? text_table_decimals(fabs(value), digits - 1)
                      : metric_decimals(metric, value);
}

/* "12.5 ± 13 at 0.378": hit rate in % and cost; of trainings alone "4.62 ± 0.2, p99 12.4", their
 * completion times in hours; "-" if one of the two is missing. `*value`: the first. */
static const char *cell_text(const struct report *report, const struct report_contender *contender,
                             double *value)
{
    const bool serves = report_serves(report);
    const struct metric *const told[] = {
        report_metric_find(serves ? "slo_hit_rate" : "jct_s_mean"),
        report_metric_find(serves ? "cost_per_request_usd" : "jct_s_p99")};
    const struct estimate first = report_column_estimate(report, contender, NULL, told[0]);
    const double beside = report_column_estimate(report, contender, NULL, told[1]).mean;
    char interval[INTERVAL_TEXT] = "";
    if (first.half_width >= (serves ? told_points : told_share * first.mean))
        interval_text(&first, serves ? 0 : text_table_decimals(first.half_width, 1), interval);
    *value = first.mean;
    return isnan(first.mean) || isnan(beside)
               ? "-"
               : arena_text(report->arena, "%.*f%s%s%.*f", decimals_of(told[0], first.mean),
                            first.mean, interval, serves ? " at " : ", p99 ",
                            decimals_of(told[1], beside), beside);
}

/* A scenario leaves out the parameters of its only contender of a policy; the block may have others
 * of that policy. */
static const char *name_text(const struct report *report, const struct block *block,
                             const struct report_contender *contender)
{
    bool several = false;
    for (size_t s = 0; s < block->count; s++)
        for (size_t c = 0; c < block->columns[s]->contender_count; c++) {
            const struct report_contender *other = &block->columns[s]->contenders[c];
            several = several || (strcmp(other->policy, contender->policy) == 0 &&
                                  strcmp(other->label, contender->label) == 0 &&
                                  strcmp(other->variant, contender->variant) != 0);
        }
    return several && contender->label[0] == '\0' && contender->distinction[0] != '\0'
               ? arena_text(report->arena, "%s %s", contender->policy, contender->distinction)
               : contender->title;
}

/* Adds a row: the policy's name, then a cell per column from `first` on. A column sorts by the hit
 * rate, or by the mean completion time. */
static void row_add(const struct report *report, const struct block *block, size_t first,
                    const struct report_contender *contender, struct text_table *table)
{
    const char *name = name_text(report, block, contender);
    text_table_row(table);
    text_table_name(table, 0, "%s", name);
    for (size_t s = first; s < block->count; s++) {
        const struct report_contender *here = report_contender_like(block->columns[s], contender);
        if (here == NULL)
            continue;
        double value;
        const char *cell = cell_text(report, here, &value);
        if (isnan(value))
            text_table_cell(table, 1 + s, "-");
        else
            text_table_number(table, 1 + s, value, 17, "%s", cell);
        const char *seeds = report_seeds_text(report, here, NULL, metric_find("slo_hit_rate"));
        if (seeds[0] != '\0')
            text_table_note(table, "%s, %s: seeds %s", name, block->headers[s], seeds);
    }
}

static void block_print(const struct report *report, const struct block *block, bool html,
                        FILE *out)
{
    const char *headers[1 + COLUMNS_MOST] = {block->title};
    memcpy(headers + 1, block->headers, block->count * sizeof *headers);
    struct text_table *table = text_table_create(headers, 1 + block->count);
    text_table_indent(table, NULL);
    for (size_t s = 0; s < block->count; s++)
        for (size_t c = 0; c < block->columns[s]->contender_count; c++) {
            const struct report_contender *contender = &block->columns[s]->contenders[c];
            if (!row_exists(block, s, contender))
                row_add(report, block, s, contender, table);
        }
    (void)fputs(html ? "" : "\n", out);
    text_table_end(table, html, out);
}

/* Whether a world has two settings. If not, the scenarios differ in their conditions alone. */
static bool settings_exist(const struct report *report)
{
    for (size_t s = 0; s < report->scenario_count; s++)
        if (!verdict_begins_world(report, s))
            return true;
    return false;
}

/* Prints the world of scenarios[first]; without `settings`, all scenarios. */
static void print_world(const struct report *report, size_t first, bool settings, bool html,
                        FILE *out)
{
    struct block block = {.title = settings ? report->scenarios[first].assumptions : "policy"};
    for (size_t s = first; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        if (settings && !verdict_same_world(&report->scenarios[first], scenario))
            continue;
        const char *header = settings ? report_setting_title(scenario) : scenario->title;
        const size_t length = strlen(header) + 2;
        const size_t width = length > CELL_WIDTH ? length : CELL_WIDTH;
        if (block.count > 0 && block.width + width > CELL_WIDTH * COLUMNS_MOST) {
            block_print(report, &block, html, out);
            block.count = block.width = 0;
        }
        block.headers[block.count] = header;
        block.columns[block.count++] = scenario;
        block.width += width;
    }
    block_print(report, &block, html, out);
}

static void print_legend(const struct report *report, FILE *out)
{
    struct text_range seeds = TEXT_RANGE_NONE;
    char of_seeds[RANGE_TEXT];
    for (size_t s = 0; s < report->scenario_count; s++)
        for (size_t c = 0; c < report->scenarios[s].contender_count; c++) {
            const struct report_contender *contender = &report->scenarios[s].contenders[c];
            text_range_widen(&seeds, contender->copies ? 1 : contender->run_count);
        }
    const bool serves = report_serves(report);
    (void)fprintf(out, "Overview: %s, mean over %s seed%s%s.\n",
                  serves ? "SLO hit % at cost in $ per 1,000 requests"
                         : "mean completion time of trainings and its 99th percentile in hours",
                  text_range(&seeds, true, of_seeds), seeds.high == 1 ? "" : "s",
                  serves ? ", all applications together" : "");
    if (seeds.high > 1)
        (void)fprintf(out, "± x: half of the 95 %% interval of the %s\n",
                      serves ? "hit rate, if that is 1 point or more; [a, b]: its ends, if not "
                               "symmetric."
                             : "mean, if that is 1 % of it or more.");
}

void overview_print(const struct report *report, bool html, FILE *out)
{
    const bool settings = settings_exist(report);
    (void)fputs(!html                   ? ""
                : report_serves(report) ? "<h2 id=\"overview\" class=\"rates\">Overview</h2>\n<p>"
                                        : "<h2 id=\"overview\">Overview</h2>\n<p>",
                out);
    print_legend(report, out);
    (void)fputs(html ? "</p>\n" : "", out);
    for (size_t s = 0; s < report->scenario_count; s++)
        if (settings ? verdict_begins_world(report, s) : s == 0)
            print_world(report, s, settings, html, out);
}
