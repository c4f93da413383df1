/* Notices of a results file: each distinct warning and note, with the runs that have it. */
#include <stdarg.h>

#include "results/report/report.h"

enum { SETTINGS_LISTED = 4 }; /* of more, only their number is told */

static void note(struct report *report, size_t scenario, size_t runs, const struct notice *notice)
{
    struct counted_notice *counted =
        notice_count(report->arena, &report->notices, &report->notice_count, notice, runs);
    if (counted->in == NULL)
        counted->in = arena_allocate(report->arena, report->scenario_count, sizeof(bool));
    counted->in[scenario] = true;
}

void report_note(struct report *report, size_t scenario, size_t runs, enum notice_kind kind,
                 const char *text, ...)
{
    struct notice notice = {kind, notice_kinds[kind].warning, NULL};
    va_list args;
    va_start(args, text);
    arena_append_of(report->arena, &notice.text, text, args);
    va_end(args);
    note(report, scenario, runs, &notice);
}

/* Tells whether two runs of a contender have the same seed. That happens only if the runs differ
 * in something that the file does not record, as in files older than policy_sha256. */
static void equal_seeds(struct report *report, size_t s, const struct report_contender *contender)
{
    size_t count = 0;
    for (size_t r = 1; r < contender->run_count; r++)
        count += report->results->runs[contender->runs[r]].seed ==
                 report->results->runs[contender->runs[r - 1]].seed;
    if (count > 0)
        report_note(report, s, contender->run_count, NOTICE_OF(SEEDS_EQUAL), contender->title);
}

/* Adds the notices of the contender's runs. */
static void runs_note(struct report *report, size_t s, const struct report_contender *contender)
{
    for (size_t r = 0; report->results->notices != NULL && r < contender->run_count; r++) {
        const struct notices *notices = &report->results->notices[contender->runs[r]];
        for (size_t n = 0; n < notices->count; n++)
            note(report, s, 1, &notices->rows[n]);
    }
}

void report_notices_find(struct report *report)
{
    for (size_t s = 0; s < report->scenario_count; s++) {
        const struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++)
            equal_seeds(report, s, &scenario->contenders[c]);
        for (size_t c = 0; c < scenario->contender_count; c++)
            runs_note(report, s, &scenario->contenders[c]);
    }
}

const char *report_notice_where(const struct report *report, const struct counted_notice *notice)
{
    const size_t runs = report->results->run_count;
    char *where = notice->runs < runs
                      ? arena_text(report->arena, "%zu of %zu runs", notice->runs, runs)
                  : runs == 1 ? arena_text(report->arena, "the run")
                              : arena_text(report->arena, "all %zu runs", runs);
    size_t count = 0, listed = 0;
    for (size_t s = 0; s < report->scenario_count; s++)
        count += notice->in[s];
    if (notice->runs == runs)
        return where;
    if (count == report->scenario_count && count > 1)
        arena_append(report->arena, &where, ", in %s settings",
                     count == 2 ? "both" : arena_text(report->arena, "all %zu", count));
    for (size_t s = 0; count < report->scenario_count && s < report->scenario_count; s++)
        if (notice->in[s] && listed++ < SETTINGS_LISTED)
            arena_append(report->arena, &where, "%s%s", listed == 1 ? ", in " : "; ",
                         names_conditions(report->arena, report->scenarios[s].title));
    if (listed > SETTINGS_LISTED)
        arena_append(report->arena, &where, "; and %zu more settings", listed - SETTINGS_LISTED);
    return where;
}
