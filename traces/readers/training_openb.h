/* Parts of training_trace.c in files of their own: the layout openb, the order of rows. */
#ifndef ESGSIM_TRACES_READERS_TRAINING_OPENB_H
#define ESGSIM_TRACES_READERS_TRAINING_OPENB_H

#include "traces/readers/trace_layout.h"
#include "traces/readers/training_trace.h"

enum { OPENB_FIELDS = 11 };

/* The first line of a file. */
extern const char openb_header[];

struct reader; /* it begins with a struct trace_reader */
/* Reads the fields of a line into a row. False with ERROR_INPUT for a value that is none, for GPUs
 * without a share or the reverse, and for a gpu_spec. */
bool openb_row(struct reader *of, char **fields, struct training_row *row, struct error *error);

#endif
