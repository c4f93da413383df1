/* The results table that only a replay writes. It extends the tables of any run. */
#ifndef ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_ROWS_H
#define ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"
#include "traces/capture/replay/replay_pool.h"

/* Adds the table /runs/<hash>/replay to a finished results file. It has one row per batch, in the
 * order of the ends: batch (its number), function, configuration, jobs, units (bit set), copy,
 * modelled_ns, due_ns, asked_ns, placed_ns, begun_ns, ended_ns, device_ms (NaN: not measured). */
bool replay_rows_write(const char *path, const char *hash, const struct pool_row *rows,
                       size_t count, struct error *error);

#endif
