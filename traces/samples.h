/* Measured samples, as calibration takes them: times of batches alone, and slowdowns of batches
 * side by side, with what else is known of the functions and the device.
 *
 * Readers (sample_table_read for text, results/capture.h for our own captures) add raw samples;
 * samples_reduce then makes one point of all repeats of a configuration: their median, how many
 * they were and how they spread.
 */
#ifndef ESGSIM_TRACES_SAMPLES_H
#define ESGSIM_TRACES_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"
#include "traces/labels.h"

struct latency_sample {
    uint32_t function;
    int batch;
    int vcpu;
    int share; /* in units of the set: share / unit of the GPU */
    double ms; /* above 0; after samples_reduce the median of the repeats */
    size_t repeats;
    double cv;   /* of the repeats, as the standard deviation of their logarithms; NAN for one */
    double part; /* what the share came to: its multiprocessors / those of the GPU; 0: not known */
};

/* One batch of a co-location; all runs with one `group` ran together, and groups of one `location`
 * are the same co-location seen by its members in turn. */
struct co_run {
    uint32_t group;
    uint32_t location;
    uint32_t function;
    int batch;
    int share;
    double slowdown; /* its time over its time alone at the same batch and share; NAN: not measured
                      */
    double cv;       /* of its time; NAN: not measured */
};

/* What calibration passes on as it is; NAN: not measured. */
struct function_facts {
    double input_bytes;
    double weights_mb;
    double per_item_mb;
    double host_memory_mb;
    double cold_start_ms;
    double cold_start_cv;
    double demand;       /* share of the memory bandwidth that it uses on a whole GPU, 0..1 */
    double demand_share; /* the share at which the demand was read; 0 before the first */
    size_t demand_reads;
    double launches; /* kernels and library calls of one inference */
};

struct sample_set {
    struct labels functions; /* names by index */
    struct function_facts *facts;
    size_t fact_capacity;
    struct latency_sample *latencies;
    size_t latency_count, latency_capacity;
    struct co_run *co_runs; /* groups are contiguous */
    size_t co_run_count, co_run_capacity;
    uint32_t groups;
    int unit; /* a whole GPU in shares; 0 until the first file says it */
    char *device, *evidence, *source, *licence; /* NULL: not known */
    char *left_out; /* what the readers did not take, one sentence each; NULL: all was taken */
};

/* A zeroed structure is an empty set. */
void samples_clear(struct sample_set *set);

/* The function's index, new with unknown facts where it is not there yet. False: out of memory. */
bool samples_function(struct sample_set *set, const char *name, uint32_t *index,
                      struct error *error);
bool samples_add_latency(struct sample_set *set, const struct latency_sample *sample,
                         struct error *error);
bool samples_add_co_run(struct sample_set *set, const struct co_run *run, struct error *error);
/* A reading of memory bandwidth in use; those at the largest share are averaged. */
void samples_add_demand(struct sample_set *set, uint32_t function, int share, double demand);
/* Replaces *text by a copy of `value`. */
bool samples_set_text(char **text, const char *value, struct error *error);
/* Appends a sentence to set->left_out. */
bool samples_note(struct sample_set *set, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the unit; ERROR_INPUT naming `path` where another file gave another. */
bool samples_set_unit(struct sample_set *set, int unit, const char *path, struct error *error);

/* Sorts by function, vCPU, batch and share and joins repeats. */
void samples_reduce(struct sample_set *set);

/* Leaves out, with a note, the functions of a reduced set that have one point at a vCPU count, to
 * which nothing can be fitted. ERROR_INPUT where nothing is left. */
bool samples_leave_out_lone(struct sample_set *set, struct error *error);

/* The part of the GPU that the sample's work had, 0..1: what its share came to, where that is
 * known, else the share as it is named. Slices hold whole groups of multiprocessors and the whole
 * GPU also those that make no group, so that k slices of n are less than k/n of it. */
double samples_share(const struct sample_set *set, const struct latency_sample *sample);

/* Reads a text table; see sample_table.c for the formats, which are known by their header.
 * ERROR_INPUT "FILE:LINE: …". */
bool sample_table_read(struct sample_set *set, const char *path, struct error *error);

#endif
