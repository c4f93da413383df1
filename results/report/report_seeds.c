/* Which seeds the figures of a report rest on: runs that are missing, copies, few seeds. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/paired.h"

enum {
    SEEDS_FEW = 5,     /* with fewer, a note says that the intervals are rough */
    SEEDS_LISTED = 20, /* of more seeds, only the lowest and the highest value are listed */
    SPAN_POINTS = 20
};

/* ---- Missing runs ---------------------------------------------------------------------------- */

static const char *name_of(const struct missing_run *run)
{
    return run->policy_label[0] != '\0' ? run->policy_label : run->policy;
}

static int compare_missing(const void *a, const void *b)
{
    const struct missing_run *one = *(const struct missing_run *const *)a;
    const struct missing_run *other = *(const struct missing_run *const *)b;
    const int order = strcmp(name_of(one), name_of(other));
    return order != 0 ? order : (one->seed > other->seed) - (one->seed < other->seed);
}

/* " (esg: seed 1; flaky: seeds 3-6)", or "". */
static const char *policies_text(struct arena *arena, const struct results *results)
{
    const size_t count = results->missing_count;
    const struct missing_run **rows = arena_allocate(arena, count, sizeof *rows);
    char *text = NULL;
    for (size_t i = 0; i < count; i++)
        rows[i] = &results->missing[i];
    qsort(rows, count, sizeof *rows, compare_missing);
    for (size_t i = 0, end = 0; i < count; i = end) {
        while (end < count && strcmp(name_of(rows[end]), name_of(rows[i])) == 0)
            end++;
        arena_append(arena, &text, "%s%s: seed%s", i == 0 ? " (" : "; ", name_of(rows[i]),
                     rows[i]->seed == rows[end - 1]->seed ? "" : "s");
        for (size_t first = i, last = i; first < end; first = ++last) {
            while (last + 1 < end && rows[last + 1]->seed - rows[last]->seed <= 1)
                last++;
            arena_append(arena, &text, "%s%" PRIu64, first == i ? " " : ", ", rows[first]->seed);
            if (rows[last]->seed > rows[first]->seed)
                arena_append(arena, &text, "-%" PRIu64, rows[last]->seed);
        }
    }
    return count > 0 ? arena_text(arena, "%s)", text) : "";
}

/* "INCOMPLETE: 8 of 24 runs are missing (…)"; NULL: no run is missing. */
static const char *incomplete_text(struct arena *arena, const struct results *results)
{
    const struct sweep_metadata *sweep = &results->sweep;
    const char *shard = "", *missing = "";
    if (sweep->missing == 0 && sweep->shards <= 1)
        return NULL;
    if (sweep->shards > 1)
        shard = arena_text(arena, "shard %" PRIu64 " of %" PRIu64 " of the sweep%s", sweep->shard,
                           sweep->shards, sweep->missing > 0 ? "; " : "");
    if (sweep->missing > 0)
        missing = arena_text(arena,
                             "%" PRIu64 " of %" PRIu64 " runs are missing%s. Rows of a setting are "
                             "over the seeds that all its policies have.",
                             sweep->missing, sweep->missing + results->run_count,
                             policies_text(arena, results));
    return arena_text(arena, "INCOMPLETE: %s%s", shard, missing);
}

/* A file of an earlier version does not say which runs are missing: then each contender lacks some.
 */
static size_t missing_count(const struct results *results, const struct report_contender *contender)
{
    size_t count = results->missing_count < results->sweep.missing;
    for (size_t i = 0; i < results->missing_count; i++)
        count += strcmp(results->missing[i].label, results->runs[contender->runs[0]].label) == 0;
    return count;
}

bool report_lacks(const struct report *report, const char *policy)
{
    for (size_t i = 0; i < report->results->missing_count; i++)
        if (report_is_policy(report->results->missing[i].policy, policy))
            return true;
    return report->results->missing_count < report->results->sweep.missing ||
           report->results->sweep.shards > 1;
}

/* ---- Common seeds ---------------------------------------------------------------------------- */

static bool is_common(const struct report *report, const struct report_scenario *scenario,
                      size_t run)
{
    bool common = true;
    for (size_t c = 0; c < scenario->contender_count; c++)
        common = common && paired_run(report, &scenario->contenders[c],
                                      report->results->runs[run].seed) != REPORT_NONE;
    return common;
}

/* Leaves the seeds that all contenders of the scenario have. If there is none, marks its rows. A
 * copy has all seeds. */
static void common_leave(const struct report *report, struct report_scenario *scenario)
{
    size_t common = 0;
    for (size_t c = 0; c < scenario->contender_count; c++)
        for (size_t r = 0; r < scenario->contenders[c].run_count; r++)
            common += is_common(report, scenario, scenario->contenders[c].runs[r]);
    for (size_t c = 0; c < scenario->contender_count; c++) {
        struct report_contender *contender = &scenario->contenders[c];
        size_t left = 0;
        if (contender->copies)
            continue;
        if (common == 0)
            contender->title = arena_text(report->arena, "%s, own seeds", contender->title);
        for (size_t r = 0; r < contender->run_count; r++)
            if (common == 0 || is_common(report, scenario, contender->runs[r]))
                contender->runs[left++] = contender->runs[r];
        contender->run_count = left;
    }
}

/* ---- Copies and few seeds -------------------------------------------------------------------- */

/* Whether the run says that every seed would repeat it. */
static bool is_exact(const struct results *results, size_t run)
{
    return results->notices != NULL && notices_find(&results->notices[run], NOTICE_NOT_RANDOM);
}

/* But for the rounding of sums, which may be in another order. */
static bool runs_equal(const struct report *report, size_t one, size_t other)
{
    const double rounding = 1e-9;
    bool equal = report->results->runs[one].seed != report->results->runs[other].seed;
    for (size_t m = 0; equal && m < metric_count + training_metric_count; m++) {
        const double a = report_value(report, one, NULL, &metrics[m]);
        const double b = report_value(report, other, NULL, &metrics[m]);
        equal = fabs(a - b) <= rounding * fabs(a) || (isnan(a) && isnan(b));
    }
    return equal;
}

static bool are_copies(const struct report *report, const struct report_contender *contender)
{
    bool copies = contender->run_count > 1 || is_exact(report->results, contender->runs[0]);
    for (size_t r = 1; copies && r < contender->run_count; r++)
        copies = runs_equal(report, contender->runs[0], contender->runs[r]);
    return copies;
}

/* Notes the contender's seeds if they are copies or few. */
static void seeds_note(struct report *report, size_t s, const struct report_contender *contender)
{
    const size_t runs = contender->run_count;
    if (runs > 1 && contender->copies)
        report_note(report, s, runs, NOTICE_OF(SEEDS_COPIES));
    else if (runs > 1 && runs < SEEDS_FEW)
        report_note(report, s, runs, NOTICE_OF(SEEDS_FEW));
}

void report_seeds_find(struct report *report)
{
    const struct results *results = report->results;
    report->incomplete = incomplete_text(report->arena, results);
    for (size_t s = 0; s < report->scenario_count; s++) {
        struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++) {
            struct report_contender *contender = &scenario->contenders[c];
            contender->missing = missing_count(results, contender);
            contender->copies = are_copies(report, contender);
        }
        if (report->incomplete != NULL)
            common_leave(report, scenario);
        for (size_t c = 0; c < scenario->contender_count; c++)
            seeds_note(report, s, &scenario->contenders[c]);
    }
}

/* ---- Seeds that differ much ------------------------------------------------------------------ */

void report_seeds_text(const struct report *report, const struct report_contender *contender,
                       const char *application, const struct metric *metric,
                       char text[REPORT_SEEDS])
{
    double low = INFINITY, high = -INFINITY;
    size_t used = 0;
    text[0] = '\0';
    if (!metric->share)
        return;
    for (size_t r = 0; r < contender->run_count; r++) {
        const double value = 100 * report_value(report, contender->runs[r], application, metric);
        low = fmin(low, value);
        high = fmax(high, value);
        if (r < SEEDS_LISTED && !isnan(value))
            used += (size_t)snprintf(text + used, REPORT_SEEDS - used, "%s%.1f",
                                     used == 0 ? "" : ", ", value);
    }
    if (contender->run_count > SEEDS_LISTED)
        (void)snprintf(text, REPORT_SEEDS, "from %.1f to %.1f", low, high);
    if (!(high - low > SPAN_POINTS))
        text[0] = '\0';
}
