/* The file of a trace that the tests of one suite write anew for each run: created before the first
 * test, removed after the last. */
#ifndef ESGSIM_TESTS_FIXTURE_TRACE_H
#define ESGSIM_TESTS_FIXTURE_TRACE_H

#include "tests/fixture_simulation.h"

static char trace_path[] = "/tmp/esgsim-trace-XXXXXX";

/* A group's set-up and tear-down. */
static inline int trace_create(void **state)
{
    const int file = mkstemp(trace_path);
    return file < 0 ? -1 : close(file);
}

static inline int trace_remove(void **state)
{
    return unlink(trace_path);
}

/* From now on the trace is `text`. */
static inline void trace_is(const char *text)
{
    write_text(trace_path, text);
}

#endif
