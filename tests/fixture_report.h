/* A report of made-up runs and what it prints. */
#ifndef ESGSIM_TESTS_FIXTURE_REPORT_H
#define ESGSIM_TESTS_FIXTURE_REPORT_H

#include "results/report/report.h"
#include "tests/fixture_results.h"

struct opened {
    struct results *results;
    struct report *report;
};

/* The runs as a report sees them once `change` has been at them; NULL: as they are. */
static inline struct opened report_open(const struct fixture *runs, size_t count,
                                        void (*change)(struct results *))
{
    struct opened opened = {.results = fixture_results(runs, count)};
    assert_non_null(opened.results);
    if (change != NULL)
        change(opened.results);
    opened.report = report_build(opened.results);
    assert_non_null(opened.report);
    opened.report->details = true;
    return opened;
}

static inline void report_close(struct opened *opened)
{
    arena_home_free(opened->report);
    results_free(opened->results);
}

#define OPENED CLOSED(report_close) struct opened

/* The caller frees it. Inlined, gcc 12 takes what points into the text for a dangling pointer. */
__attribute__((noinline, unused)) static char *
printed(const struct opened *opened, bool (*print)(const struct report *, FILE *, struct error *))
{
    assert_int_equal(setenv("ESGSIM_WIDTH", "160", 1), 0); /* no table is cut */
    MEMORY_STREAM(out, text);
    assert_true(print(opened->report, out, hear()));
    assert_int_equal(fclose(out), 0);
    return text;
}

/* What is printed in one of the formats, a text for one assertion. */
static inline void assert_prints(const struct opened *opened,
                                 bool (*print)(const struct report *, FILE *, struct error *),
                                 const char *part)
{
    STRING *text = printed(opened, print);
    assert_contains(text, part);
}

#endif
