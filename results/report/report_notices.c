/* Notices of a results file: each distinct warning and note, with the runs that have it. */
#include <stdlib.h>
#include <string.h>

#include "results/store/record.h"
#include "results/report/report.h"

enum { SETTINGS_LISTED = 4 }; /* of more, only their number is told */

bool report_note(struct report *report, bool warning, size_t scenario, size_t runs,
                 const char *text)
{
    size_t n = 0;
    while (n < report->notice_count &&
           (report->notices[n].warning != warning || strcmp(report->notices[n].text, text) != 0))
        n++;
    if (n == report->notice_count) {
        struct report_notice *notices = realloc(report->notices, (n + 1) * sizeof *notices);
        if (notices == NULL)
            return false;
        report->notices = notices;
        notices[n] = (struct report_notice){.warning = warning,
                                            .text = strdup(text),
                                            .in = calloc(report->scenario_count + 1, sizeof(bool))};
        report->notice_count++; /* counted before it is complete, so that the report frees it */
        if (notices[n].text == NULL || notices[n].in == NULL)
            return false;
    }
    report->notices[n].runs += runs;
    report->notices[n].in[scenario] = true;
    return true;
}

static bool run_notices(struct report *report, size_t scenario, const char *lines)
{
    char text[NOTICE_LENGTH];
    bool warning = false;
    bool good = true;
    while (good && notices_next(&lines, &warning, text, sizeof text))
        good = report_note(report, warning, scenario, 1, text);
    return good;
}

/* Returns whether two runs of a contender have the same seed. That happens only if the runs differ
 * in something that the file does not record, as in files older than policy_sha256. */
static bool equal_seeds(struct report *report, size_t s, const struct report_contender *contender)
{
    char text[NOTICE_LENGTH];
    size_t count = 0;
    for (size_t r = 1; r < contender->run_count; r++)
        count += report->results->runs[contender->runs[r]].seed ==
                 report->results->runs[contender->runs[r - 1]].seed;
    if (count == 0)
        return true;
    (void)snprintf(text, sizeof text,
                   "runs of %s with equal seeds are averaged: they differ in something that this "
                   "file does not name; run the sweep again with this version",
                   contender->title);
    return report_note(report, true, s, contender->run_count, text);
}

bool report_notices_find(struct report *report)
{
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++)
            if (!equal_seeds(report, s, &scenario->contenders[c]))
                return false;
        for (size_t c = 0; c < scenario->contender_count; c++)
            for (size_t r = 0; r < scenario->contenders[c].run_count; r++) {
                const char *lines = report->results->notices == NULL
                                        ? NULL
                                        : report->results->notices[scenario->contenders[c].runs[r]];
                if (lines != NULL && !run_notices(report, s, lines))
                    return false;
            }
    }
    return true;
}

char *report_notice_where(const struct report *report, const struct report_notice *notice)
{
    char *where = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&where, &size);
    if (text == NULL)
        return NULL;
    const size_t runs = report->results->run_count;
    if (notice->runs == runs)
        (void)fprintf(text, runs == 1 ? "the run" : "all %zu runs", runs);
    else
        (void)fprintf(text, "%zu of %zu runs", notice->runs, runs);
    size_t count = 0;
    for (size_t s = 0; notice->runs < runs && s < report->scenario_count; s++)
        if (notice->in[s] && count++ < SETTINGS_LISTED)
            (void)fprintf(text, "%s%s", count == 1 ? ", in " : ", ", report->scenarios[s].title);
    if (count > SETTINGS_LISTED)
        (void)fprintf(text, " and %zu more settings", count - SETTINGS_LISTED);
    if (fclose(text) == 0)
        return where;
    free(where);
    return NULL;
}
