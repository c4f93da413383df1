/* The recorded runs of Dilu's large-scale simulation (tests/data/training/dilu_placements.csv.gz).
 */
#ifndef ESGSIM_TESTS_DILU_PLACEMENTS_H
#define ESGSIM_TESTS_DILU_PLACEMENTS_H

#include "sched/dilu/gpu_pool.h"
#include "tests/read_numbers.h"
#include "tests/suite.h"
#include "traces/readers/line_reader.h"

enum { SCHEMES = 4, JOBS = 4096, EVENTS = 2 * JOBS };

static const struct dilu_pool_rule rules[SCHEMES] = {
    [DILU_WHOLE] = {.scheme = DILU_WHOLE, .omega = 1, .gamma = 1.5, .alpha = 0.6},
    [DILU_INFLESS_L] = {.scheme = DILU_INFLESS_L, .omega = 1, .gamma = 1.5, .alpha = 0.6},
    [DILU_INFLESS_R] = {.scheme = DILU_INFLESS_R, .omega = 1, .gamma = 1.5, .alpha = 0.6},
    [DILU_EXCLUSIVE] = {.scheme = DILU_EXCLUSIVE, .omega = 1, .gamma = 2, .alpha = 0.6},
};

struct event {
    bool start;
    uint32_t id;
    struct dilu_job job;
    uint32_t active[SCHEMES];      /* after it */
    double fragmentation[SCHEMES]; /* NAN: not recorded */
};

/* Means over the active GPUs of 1 − Σ request, and of 1 − Σ memory / memory; 0 if none is active.
 */
static inline void pool_fragmentation(const struct dilu_pool *pool, double *compute, double *memory)
{
    *compute = 0;
    *memory = 0;
    for (uint32_t i = 0; i < pool->active.count; i++) {
        const struct dilu_pool_gpu *gpu = &pool->gpus[pool->active.numbers[i]];
        *compute += (1 - gpu->request) / pool->active.count;
        *memory += (1 - gpu->memory / pool->gpu_memory) / pool->active.count;
    }
}

/* Fields of a line that may be empty. */
static inline void read_figures(char *text, struct event *event)
{
    for (size_t s = 0; s < SCHEMES; s++) {
        event->active[s] = (uint32_t)strtoul(text, &text, 10);
        assert_int_equal(*text++, ',');
    }
    for (size_t s = 0; s < SCHEMES; s++) {
        char *end = text;
        event->fragmentation[s] = strtod(text, &end);
        if (end == text)
            event->fragmentation[s] = NAN;
        text = end;
        if (s + 1 < SCHEMES)
            assert_int_equal(*text++, ',');
    }
}

static inline void read_event(char *line, struct event *event)
{
    event->start = *line == '+';
    line++;
    event->id = (uint32_t)next_number(&line);
    if (event->start) {
        const char *kind = next_word(&line);
        event->job.kind = *kind == 't' ? DILU_TRAINING : *kind == 'l' ? DILU_LLM : DILU_INFERENCE;
        event->job.gpus = (uint32_t)next_number(&line);
        event->job.request = next_number(&line);
        event->job.limit = next_number(&line);
        event->job.memory = next_number(&line);
        event->job.function = event->id; /* every instance is of its own function */
    }
    read_figures(line + 1, event);
}

static inline void placements_open(struct line_reader *lines)
{
    assert_true(line_reader_open(lines, "tests/data/training/dilu_placements.csv.gz", hear()));
}

/* The next set; false after the last. `events` has room for EVENTS. */
static inline bool placements_next(struct line_reader *lines, unsigned *size, struct event *events,
                                   size_t *count)
{
    char *line = NULL;
    if (line_reader_next(lines, &line, hear()) != LINE_READ)
        return false;
    *size = (unsigned)next_number(&line);
    *count = (size_t)next_number(&line);
    for (size_t e = 0; e < *count; e++) {
        assert_int_equal(line_reader_next(lines, &line, hear()), LINE_READ);
        read_event(line, &events[e]);
    }
    return true;
}

#endif
