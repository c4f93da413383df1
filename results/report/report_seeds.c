/* Which seeds the figures of a report rest on: runs that are missing, copies, few seeds. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/report.h"
#include "results/report/training_table.h"
#include "results/store/run_label.h"

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

static int compare_seeds(const void *a, const void *b)
{
    const uint64_t *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

/* Prints "seed 3" or "seeds 1, 3-6". Sorts the seeds. */
static void seeds_print(FILE *out, uint64_t *seeds, size_t count)
{
    qsort(seeds, count, sizeof *seeds, compare_seeds);
    (void)fputs(seeds[0] == seeds[count - 1] ? "seed" : "seeds", out);
    for (size_t i = 0, last = 0; i < count; i = last + 1) {
        last = i;
        while (last + 1 < count && seeds[last + 1] - seeds[last] <= 1)
            last++;
        (void)fprintf(out, "%s %" PRIu64, i == 0 ? "" : ",", seeds[i]);
        if (seeds[last] > seeds[i])
            (void)fprintf(out, "-%" PRIu64, seeds[last]);
    }
}

/* Prints " (flaky: seeds 3-6; esg: seed 1)". False: memory exhausted. */
static bool policies_print(FILE *out, const struct results *results)
{
    uint64_t *seeds = calloc(results->missing_count + 1, sizeof *seeds);
    const char *before = " (";
    for (size_t i = 0; seeds != NULL && i < results->missing_count; i++) {
        const char *name = name_of(&results->missing[i]);
        size_t earlier = 0, count = 0;
        while (strcmp(name_of(&results->missing[earlier]), name) != 0)
            earlier++;
        for (size_t other = i; earlier == i && other < results->missing_count; other++)
            if (strcmp(name_of(&results->missing[other]), name) == 0)
                seeds[count++] = results->missing[other].seed;
        if (count == 0)
            continue;
        (void)fprintf(out, "%s%s: ", before, name);
        seeds_print(out, seeds, count);
        before = "; ";
    }
    (void)fputs(results->missing_count > 0 ? ")" : "", out);
    free(seeds);
    return seeds != NULL;
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

static bool is_in(const struct report_scenario *scenario, const struct missing_run *run)
{
    char *conditions = run_label_conditions(run->label);
    const bool in = conditions != NULL && strcmp(conditions, scenario->conditions) == 0 &&
                    strcmp(run->setting, scenario->setting) == 0 &&
                    strcmp(run->setting_label, scenario->label) == 0;
    free(conditions);
    return in;
}

/* Counts the missing runs of a scenario and of its contenders. A file of an earlier version does
 * not say which runs are missing: then all contenders lack some. */
static void missing_count(const struct report *report, struct report_scenario *scenario)
{
    const struct results *results = report->results;
    const bool unknown = results->missing_count < results->sweep.missing;
    scenario->missing = unknown ? 1 : 0;
    for (size_t i = 0; i < results->missing_count; i++)
        scenario->missing += is_in(scenario, &results->missing[i]);
    for (size_t c = 0; c < scenario->contender_count; c++) {
        struct report_contender *contender = &scenario->contenders[c];
        contender->missing = unknown ? 1 : 0;
        for (size_t i = 0; scenario->missing > 0 && i < results->missing_count; i++)
            contender->missing +=
                strcmp(results->missing[i].label, results->runs[contender->runs[0]].label) == 0;
    }
}

bool report_lacks(const struct report *report, const char *policy)
{
    const size_t length = strcspn(policy, " ");
    for (size_t i = 0; i < report->results->missing_count; i++)
        if (strlen(report->results->missing[i].policy) == length &&
            strncmp(report->results->missing[i].policy, policy, length) == 0)
            return true;
    return report->results->missing_count < report->results->sweep.missing;
}

/* ---- Common seeds ---------------------------------------------------------------------------- */

static bool is_common(const struct report *report, const struct report_scenario *scenario,
                      uint64_t seed)
{
    for (size_t c = 0; c < scenario->contender_count; c++) {
        const struct report_contender *contender = &scenario->contenders[c];
        size_t r = 0;
        while (r < contender->run_count && report->results->runs[contender->runs[r]].seed != seed)
            r++;
        if (r == contender->run_count)
            return false;
    }
    return true;
}

/* Puts the contender's seeds behind its title. */
static bool seeds_mark(const struct report *report, struct report_contender *contender)
{
    char *title = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&title, &size);
    uint64_t *seeds = calloc(contender->run_count + 1, sizeof *seeds);
    const bool good = out != NULL && seeds != NULL;
    if (good) {
        for (size_t r = 0; r < contender->run_count; r++)
            seeds[r] = report->results->runs[contender->runs[r]].seed;
        (void)fprintf(out, "%s, ", contender->title);
        seeds_print(out, seeds, contender->run_count);
    }
    free(seeds);
    if (out == NULL || fclose(out) != 0 || !good) {
        free(title);
        return false;
    }
    free(contender->title);
    contender->title = title;
    return true;
}

/* Leaves the seeds that all contenders of the scenario have. If there is none, marks its rows. */
static bool common_leave(const struct report *report, struct report_scenario *scenario)
{
    const struct report_contender *first = &scenario->contenders[0];
    uint64_t *seeds = calloc(first->run_count + 1, sizeof *seeds);
    size_t count = 0;
    bool good = seeds != NULL;
    for (size_t r = 0; good && r < first->run_count; r++) {
        const uint64_t seed = report->results->runs[first->runs[r]].seed;
        if (is_common(report, scenario, seed))
            seeds[count++] = seed;
    }
    for (size_t c = 0; good && c < scenario->contender_count; c++) {
        struct report_contender *contender = &scenario->contenders[c];
        size_t left = 0;
        for (size_t r = 0; count > 0 && r < contender->run_count; r++)
            if (bsearch(&report->results->runs[contender->runs[r]].seed, seeds, count,
                        sizeof *seeds, compare_seeds) != NULL)
                contender->runs[left++] = contender->runs[r];
        if (count > 0)
            contender->run_count = left;
        else
            good = seeds_mark(report, contender);
    }
    free(seeds);
    return good;
}

/* ---- Copies and few seeds -------------------------------------------------------------------- */

static bool runs_equal(const struct results *results, size_t one, size_t other)
{
    const struct training_summary_row *trainings[] = {training_row_find(results, one),
                                                      training_row_find(results, other)};
    const struct summary_row *a = &results->runs[one], *b = &results->runs[other];
    return a->seed != b->seed && memcmp(&a->measures, &b->measures, sizeof a->measures) == 0 &&
           memcmp(&a->run, &b->run, sizeof a->run) == 0 &&
           (trainings[0] == NULL) == (trainings[1] == NULL) &&
           (trainings[0] == NULL || memcmp(&trainings[0]->measures, &trainings[1]->measures,
                                           sizeof trainings[0]->measures) == 0);
}

/* Finds copies. If all contenders of a scenario are copies, it has one seed. */
static bool copies_find(struct report *report, size_t s)
{
    struct report_scenario *scenario = &report->scenarios[s];
    size_t copied = 0;
    bool good = true;
    for (size_t c = 0; good && c < scenario->contender_count; c++) {
        struct report_contender *contender = &scenario->contenders[c];
        contender->copies = contender->run_count > 1;
        for (size_t r = 1; contender->copies && r < contender->run_count; r++)
            contender->copies = runs_equal(report->results, contender->runs[0], contender->runs[r]);
        copied += contender->copies;
        if (contender->copies)
            good = report_note(report, s, contender->run_count,
                               "all seeds gave the same run, because nothing random decides it: "
                               "they count as one seed without an interval");
        else if (contender->run_count > 1 && contender->run_count < SEEDS_FEW)
            good = report_note(report, s, contender->run_count,
                               "fewer than five seeds: the intervals are rough");
    }
    for (size_t c = 0; copied == scenario->contender_count && c < copied; c++)
        scenario->contenders[c].run_count = 1;
    return good;
}

bool report_seeds_find(struct report *report)
{
    bool good = report_incomplete(report->results, &report->incomplete);
    for (size_t s = 0; good && s < report->scenario_count; s++) {
        struct report_scenario *scenario = &report->scenarios[s];
        missing_count(report, scenario);
        if ((scenario->missing > 0 || report->results->sweep.shards > 1) &&
            scenario->contender_count > 1)
            good = common_leave(report, scenario);
        good = good && copies_find(report, s);
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
