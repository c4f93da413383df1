/* A recorder that keeps a run's rows in memory. Include after cmocka.h. */
#ifndef ESGSIM_TESTS_FIXTURE_ROWS_H
#define ESGSIM_TESTS_FIXTURE_ROWS_H

#include "sim/platform/simulation.h"
#include "tests/suite.h"

/* Rows of one kind, as they are in memory. */
struct kept {
    unsigned char *bytes;
    size_t size;
};

/* All of a run, in the order they came. Zero-initialised is empty; ends with run_rows_clear. */
struct run_rows {
    struct kept request, batch, job, container, decision, timeline;
};

static inline bool kept_add(struct kept *kept, const void *row, size_t size)
{
    unsigned char *grown = must(realloc(kept->bytes, kept->size + size));
    memcpy(grown + kept->size, row, size);
    kept->bytes = grown;
    kept->size += size;
    return true;
}

#define KEEP(event, row_type)                                                                      \
    static inline bool keep_##event(void *context, const struct row_type *row,                     \
                                    struct error *error)                                           \
    {                                                                                              \
        (void)error;                                                                               \
        return kept_add(&((struct run_rows *)context)->event, row, sizeof *row);                   \
    }
KEEP(request, request_row)
KEEP(batch, batch_row)
KEEP(job, job_row)
KEEP(container, container_row)
KEEP(decision, decision_row)
KEEP(timeline, timeline_row)
#undef KEEP

static inline struct recorder run_rows_recorder(struct run_rows *rows)
{
    return (struct recorder){.context = rows,
                             .request = keep_request,
                             .batch = keep_batch,
                             .job = keep_job,
                             .container = keep_container,
                             .decision = keep_decision,
                             .timeline = keep_timeline};
}

static inline void run_rows_clear(struct run_rows *rows)
{
    free(rows->request.bytes);
    free(rows->batch.bytes);
    free(rows->job.bytes);
    free(rows->container.bytes);
    free(rows->decision.bytes);
    free(rows->timeline.bytes);
    *rows = (struct run_rows){0};
}

#endif
