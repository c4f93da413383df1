/* Parts of training_trace.c in files of their own: the layout openb, the order of rows. */
#ifndef ESGSIM_TRACES_READERS_TRAINING_PARTS_H
#define ESGSIM_TRACES_READERS_TRAINING_PARTS_H

#include "traces/readers/trace_layout.h"
#include "traces/readers/training_trace.h"

/* Fills what a pod asks for: vCPUs and host memory, and a share of each of its GPUs. It never ends.
 * `fields` are those of the line, by role. False with ERROR_INPUT for a value that is none, and
 * for GPUs without a share or the reverse. */
bool openb_fill(const struct trace_reader *reader, char *const fields[TRAINING_ROLES],
                struct training_row *row, struct error *error);

/* Sorts by arrival, ties by id. Numbers the rows, or keeps their ids. The first arrives at time 0.
 * O(rows log rows). */
void training_rows_sort(struct training_trace *trace, bool number);

#endif
