/* Parts of training_trace.c in files of their own: the layout openb, the order of rows, the fields
 * of foreign files. */
#ifndef ESGSIM_TRACES_READERS_TRAINING_PARTS_H
#define ESGSIM_TRACES_READERS_TRAINING_PARTS_H

#include "traces/readers/trace_layout.h"
#include "traces/readers/training_trace.h"

/* The layouts, in the order of training_formats. */
extern const struct training_columns *const training_layouts[];

/* The GPUs that Slurm names: "cpu=8,gres/gpu=4", or the sum of the types where no total stands,
 * "gres/gpu:a100=2", "gpu:a100:4". Returns false if the text names none so. */
bool slurm_gpus(const char *text, uint64_t *gpus);
/* Whether the id is of a step of a job of Slurm. */
bool slurm_is_step(const char *column, const char *id);
/* Parses "H:M:S", "M:S" or "D-H:M:S". */
bool parse_clock(const char *text, sim_time_t *time);

/* Fills what a pod asks for: vCPUs and host memory, and a share of each of its GPUs. It never ends.
 * `fields` are those of the line, by role. False with ERROR_INPUT for a value that is none, and
 * for GPUs without a share or the reverse. */
bool openb_fill(const struct trace_reader *reader, char *const fields[TRAINING_ROLES],
                struct training_row *row, struct error *error);

/* Sorts by arrival, ties by id. Numbers the rows, or keeps their ids. The first arrives at time 0.
 * O(rows log rows). */
void training_rows_sort(struct training_trace *trace, bool number);

#endif
