/* Which seeds the figures of a report rest on: runs that are missing, copies, few seeds. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/paired.h"
#include "results/report/training_table.h"
#include "results/store/record.h"
#include "sim/platform/notices.h"

enum {
    SEEDS_FEW = 5,     /* with fewer, a note says that the intervals are rough */
    SEEDS_LISTED = 10, /* of more seeds, only the lowest and the highest value are listed */
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

/* Prints " (esg: seed 1; flaky: seeds 3-6)". False: memory exhausted. */
static bool policies_print(FILE *out, const struct results *results)
{
    const size_t count = results->missing_count;
    const struct missing_run **rows = calloc(count + 1, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < count; i++)
        rows[i] = &results->missing[i];
    if (rows != NULL)
        qsort(rows, count, sizeof *rows, compare_missing);
    for (size_t i = 0, end = 0; rows != NULL && i < count; i = end) {
        while (end < count && strcmp(name_of(rows[end]), name_of(rows[i])) == 0)
            end++;
        (void)fprintf(out, "%s%s: seed%s", i == 0 ? " (" : "; ", name_of(rows[i]),
                      rows[i]->seed == rows[end - 1]->seed ? "" : "s");
        for (size_t first = i, last = i; first < end; first = ++last) {
            while (last + 1 < end && rows[last + 1]->seed - rows[last]->seed <= 1)
                last++;
            (void)fprintf(out, "%s%" PRIu64, first == i ? " " : ", ", rows[first]->seed);
            if (rows[last]->seed > rows[first]->seed)
                (void)fprintf(out, "-%" PRIu64, rows[last]->seed);
        }
    }
    (void)fputs(count > 0 ? ")" : "", out);
    free(rows);
    return rows != NULL;
}

bool report_incomplete(const struct results *results, char **text)
{
    const struct sweep_facts *sweep = &results->sweep;
    size_t size = 0;
    *text = NULL;
    if (sweep->missing == 0 && sweep->shards <= 1)
        return true;
    FILE *out = open_memstream(text, &size);
    if (out == NULL)
        return false;
    (void)fputs("INCOMPLETE: ", out);
    if (sweep->shards > 1)
        (void)fprintf(out, "shard %" PRIu64 " of %" PRIu64 " of the sweep%s", sweep->shard,
                      sweep->shards, sweep->missing > 0 ? "; " : "");
    bool good = true;
    if (sweep->missing > 0) {
        (void)fprintf(out, "%" PRIu64 " of %" PRIu64 " runs are missing", sweep->missing,
                      sweep->missing + results->run_count);
        good = policies_print(out, results);
        (void)fputs(". Rows of a setting are over the seeds that all its policies have.", out);
    }
    return fclose(out) == 0 && good;
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
    const size_t length = strcspn(policy, " ");
    for (size_t i = 0; i < report->results->missing_count; i++)
        if (strlen(report->results->missing[i].policy) == length &&
            strncmp(report->results->missing[i].policy, policy, length) == 0)
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
static bool common_leave(const struct report *report, struct report_scenario *scenario)
{
    size_t common = 0;
    for (size_t c = 0; c < scenario->contender_count; c++)
        for (size_t r = 0; r < scenario->contenders[c].run_count; r++)
            common += is_common(report, scenario, scenario->contenders[c].runs[r]);
    for (size_t c = 0; c < scenario->contender_count; c++) {
        struct report_contender *contender = &scenario->contenders[c];
        size_t left = 0;
        char *title = NULL;
        if (contender->copies)
            continue;
        if (common == 0) {
            if (asprintf(&title, "%s, own seeds", contender->title) < 0)
                return false;
            free(contender->title);
            contender->title = title;
        }
        for (size_t r = 0; r < contender->run_count; r++)
            if (common == 0 || is_common(report, scenario, contender->runs[r]))
                contender->runs[left++] = contender->runs[r];
        contender->run_count = left;
    }
    return true;
}

/* ---- Copies and few seeds -------------------------------------------------------------------- */

/* Whether the run says that every seed would repeat it. */
static bool is_exact(const struct results *results, size_t run)
{
    const char *lines = results->notices == NULL ? NULL : results->notices[run];
    return lines != NULL && strstr(lines, NOTICE_NOT_RANDOM) != NULL;
}

static bool values_equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool runs_equal(const struct results *results, size_t one, size_t other)
{
    const struct training_summary_row *trainings[] = {training_row_find(results, one),
                                                      training_row_find(results, other)};
    const struct summary_row *a = &results->runs[one], *b = &results->runs[other];
    bool equal = a->seed != b->seed && (trainings[0] == NULL) == (trainings[1] == NULL);
    for (size_t m = 0; equal && m < metric_count; m++)
        equal = values_equal(metric_value(&metrics[m], &a->measures, &a->run),
                             metric_value(&metrics[m], &b->measures, &b->run));
    for (size_t m = 0; equal && trainings[0] != NULL && m < training_metric_count; m++)
        equal = values_equal(metric_number(&training_metrics[m], &trainings[0]->measures),
                             metric_number(&training_metrics[m], &trainings[1]->measures));
    return equal;
}

static bool are_copies(const struct results *results, const struct report_contender *contender)
{
    bool copies = contender->run_count > 1 || is_exact(results, contender->runs[0]);
    for (size_t r = 1; copies && r < contender->run_count; r++)
        copies = runs_equal(results, contender->runs[0], contender->runs[r]);
    return copies;
}

/* Notes the contender's seeds if they are copies or few. */
static bool seeds_note(struct report *report, size_t s, const struct report_contender *contender)
{
    const size_t runs = contender->run_count;
    if (runs > 1 && contender->copies)
        return report_note(report, false, s, runs,
                           "all seeds gave the same run, because nothing random decides it: "
                           "they count as one seed without an interval");
    return runs <= 1 || runs >= SEEDS_FEW ||
           report_note(report, false, s, runs, "fewer than five seeds: the intervals are rough");
}

bool report_seeds_find(struct report *report)
{
    const struct results *results = report->results;
    const bool whole = results->sweep.missing == 0 && results->sweep.shards <= 1;
    bool good = report_incomplete(results, &report->incomplete);
    for (size_t s = 0; good && s < report->scenario_count; s++) {
        struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++) {
            struct report_contender *contender = &scenario->contenders[c];
            contender->missing = missing_count(results, contender);
            contender->copies = are_copies(results, contender);
        }
        good = whole || common_leave(report, scenario);
        for (size_t c = 0; good && c < scenario->contender_count; c++)
            good = seeds_note(report, s, &scenario->contenders[c]);
    }
    return good;
}

/* ---- Seeds that differ much ------------------------------------------------------------------ */

void report_seeds_text(const struct report *report, const struct report_contender *contender,
                       const char *application, const struct metric *metric,
                       char text[REPORT_SEEDS])
{
    double low = INFINITY, high = -INFINITY;
    size_t used = 0;
    text[0] = '\0';
    if (!metric_is_share(metric))
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
