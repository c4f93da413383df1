/* Notices of a results file: each distinct warning and note, with the runs that have it. */
#include <string.h>

#include "results/store/record.h"
#include "results/report/report.h"

enum { SETTINGS_LISTED = 4 }; /* of more, only their number is told */

void report_note(struct report *report, bool warning, size_t scenario, size_t runs,
                 const char *text)
{
    size_t n = 0;
    while (n < report->notice_count &&
           (report->notices[n].warning != warning || strcmp(report->notices[n].text, text) != 0))
        n++;
    if (n == report->notice_count) {
        arena_reserve(report->arena, &report->notices, n + 1, sizeof *report->notices);
        report->notices[report->notice_count++] = (struct report_notice){
            .warning = warning,
            .text = arena_text(report->arena, "%s", text),
            .in = arena_allocate(report->arena, report->scenario_count, sizeof(bool))};
    }
    report->notices[n].runs += runs;
    report->notices[n].in[scenario] = true;
}

static void run_notices(struct report *report, size_t scenario, const char *lines)
{
    char text[NOTICE_LENGTH];
    bool warning = false;
    while (lines != NULL && notices_next(&lines, &warning, text, sizeof text))
        report_note(report, warning, scenario, 1, text);
}

/* Tells whether two runs of a contender have the same seed. That happens only if the runs differ
 * in something that the file does not record, as in files older than policy_sha256. */
static void equal_seeds(struct report *report, size_t s, const struct report_contender *contender)
{
    char text[NOTICE_LENGTH];
    size_t count = 0;
    for (size_t r = 1; r < contender->run_count; r++)
        count += report->results->runs[contender->runs[r]].seed ==
                 report->results->runs[contender->runs[r - 1]].seed;
    (void)snprintf(text, sizeof text,
                   "runs of %s with equal seeds are averaged: they differ in something that this "
                   "file does not name; run the sweep again with this version",
                   contender->title);
    if (count > 0)
        report_note(report, true, s, contender->run_count, text);
}

void report_notices_find(struct report *report)
{
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++)
            equal_seeds(report, s, &scenario->contenders[c]);
        for (size_t c = 0; report->results->notices != NULL && c < scenario->contender_count; c++)
            for (size_t r = 0; r < scenario->contenders[c].run_count; r++)
                run_notices(report, s, report->results->notices[scenario->contenders[c].runs[r]]);
    }
}

const char *report_notice_where(const struct report *report, const struct report_notice *notice)
{
    const size_t runs = report->results->run_count;
    char *where = notice->runs < runs
                      ? arena_text(report->arena, "%zu of %zu runs", notice->runs, runs)
                  : runs == 1 ? arena_text(report->arena, "the run")
                              : arena_text(report->arena, "all %zu runs", runs);
    size_t count = 0;
    for (size_t s = 0; notice->runs < runs && s < report->scenario_count; s++)
        if (notice->in[s] && count++ < SETTINGS_LISTED)
            arena_append(report->arena, &where, "%s%s", count == 1 ? ", in " : ", ",
                         report->scenarios[s].title);
    if (count > SETTINGS_LISTED)
        arena_append(report->arena, &where, " and %zu more settings", count - SETTINGS_LISTED);
    return where;
}
