/* Measured samples for calibration: latencies of batches that ran alone, slowdowns of batches that
 * shared the GPU, and known properties of the functions and the device.
 *
 * Readers (sample_table_read for a table, measured_folder_read for a folder of measure.py) add raw
 * samples. samples_reduce then merges all repeats of a configuration into one point: their median,
 * their number and their spread.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_SAMPLES_H
#define ESGSIM_TRACES_CALIBRATE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/error.h"
#include "sim/base/string_index.h"
#include "traces/readers/listing.h"

struct latency_sample {
    uint32_t function;
    int batch;
    int vcpu;
    int share; /* in units of the set: share / unit of the GPU; 0: ran without a GPU */
    double ms; /* above 0; after samples_reduce the median of the repeats */
    size_t repeats;
    double cv;   /* of the repeats: standard deviation of their logarithms; NAN for one */
    double part; /* multiprocessors of the share / those of the GPU; 0: not known */
};

/* One batch of a co-location. All runs with the same `group` ran together. Groups with the same
 * `location` are one co-location, with each member measured in turn. */
struct co_run {
    uint32_t group;
    uint32_t location;
    uint32_t function;
    int batch;
    int share;
    double slowdown; /* latency / latency alone at this batch and share; NAN: not measured */
    double cv;       /* of its latency; NAN: not measured */
};

/* Weighted numbers, sums and products of pairs (x, y), for a line through them. */
struct line_sums {
    double n, x, y, squares, products;
};

/* Properties that calibration copies to the profile unchanged; NAN: not measured. */
struct function_properties {
    double weights_mb;
    double per_item_mb;
    double demand; /* memory bandwidth used on a whole GPU, as a fraction 0..1 */
    double turnaround_ms, turnaround_per_item_ms;
    double demand_share; /* share at which the demand was measured; 0 before the first */
    size_t demand_reads;
    double *cold_samples_ms;
    size_t cold_count;
    /* Of cells that were measured anew, minutes apart, by rows that each state their own spread:
     * the errors |others / one - 1|, ascending after samples_reduce, and the sum of the squared
     * deviations of logarithms with its degrees of freedom. */
    double *repeat_errors;
    size_t repeat_count;
    double repeat_squares, repeat_freedom;
    struct line_sums memory, turnaround; /* by batch: of GPU memory in MiB, of ms */
};

/* What the columns of a table are for, if the names do not say so: the index of sample_roles. */
enum { SAMPLE_ROLE_LATENCY = 2, SAMPLE_ROLES = 14, SMS_MOST = 1000 };
/* Behind them latency in s, ms and us, for commands; ended by NULL. */
extern const char *const sample_roles[SAMPLE_ROLES + 4];

struct sample_set {
    struct arena *memory;          /* NULL: nothing yet */
    struct string_index functions; /* names by index */
    struct function_properties *properties;
    struct latency_sample *latencies;
    size_t latency_count;
    struct latency_sample *refused; /* did not run: out of memory, or saturated; without a time */
    size_t refused_count;
    struct co_run *co_runs; /* groups are contiguous */
    size_t co_run_count;
    uint32_t groups;
    int unit; /* shares in a whole GPU; 0 until a file gives it */
    int base; /* the unit that files give, of which `unit` is a multiple */
    int sms;  /* multiprocessors of the GPU, for tables that count them; 0: not known */
    struct listing_options table;
    const char *columns[SAMPLE_ROLES]; /* by role; all NULL: columns are known by their names */
    double latency_ms;                 /* unit of the role latency */
    struct line_reader *lines;         /* the table, opened: it is taken over; NULL: by its path */
    const char *format;                /* of a table without a header; NULL: by its file's name */
    char *device, *evidence, *source, *licence; /* NULL: not known */
    bool rehearsal;                             /* values are drawn from a formula */
    bool kernels;                               /* latencies are those of the GPU's work alone */
    char *left_out; /* what the readers skipped, one sentence each; NULL: nothing */
};

/* A zeroed structure is an empty set. */
void samples_clear(struct sample_set *set);

/* Returns the function's index. A new function is added with unknown properties. False: out of
 * memory. */
bool samples_function(struct sample_set *set, const char *name, uint32_t *index,
                      struct error *error);
bool samples_add_latency(struct sample_set *set, const struct latency_sample *sample,
                         struct error *error);
/* Adds a configuration that did not run. */
bool samples_add_refused(struct sample_set *set, const struct latency_sample *sample,
                         struct error *error);
bool samples_add_co_run(struct sample_set *set, const struct co_run *run, struct error *error);
/* Adds a time alone of the configuration of a co-run, as a repeat of its cell; if it has one. */
bool samples_add_repeat(struct sample_set *set, const struct co_run *run, double ms,
                        struct error *error);
/* Adds a measured use of memory bandwidth. The demand is the mean over those at the largest share.
 */
void samples_add_demand(struct sample_set *set, uint32_t function, int share, double demand);
/* Adds a measured use of GPU memory by a running batch; NAN: nothing. samples_reduce fits a line.
 */
void samples_add_memory(struct sample_set *set, uint32_t function, int batch, double mb);
/* Adds a measured time from the end of a batch of that latency until the next one starts; NAN:
 * nothing. samples_reduce fits a line. */
void samples_add_turnaround(struct sample_set *set, uint32_t function, int batch, double latency_ms,
                            double ms);
bool samples_add_cold_start(struct sample_set *set, uint32_t function, double ms,
                            struct error *error);
/* The memory of the set, until it is cleared. */
struct arena *samples_memory(struct sample_set *set);
/* Appends a sentence to set->left_out. */
void samples_note(struct sample_set *set, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the unit. ERROR_INPUT naming `path` if another file gave a different unit. */
bool samples_set_unit(struct sample_set *set, int unit, const char *path, struct error *error);

/* Makes the unit finer: converts all shares to `unit`, a multiple of the present one. */
void samples_refine_unit(struct sample_set *set, int unit);

/* Sorts by function, first with a GPU and then without, vCPU, batch and share, and merges repeats.
 * Fits memory: weights, and what each item of a batch adds. */
bool samples_reduce(struct sample_set *set, struct error *error);

/* Removes from a reduced set the functions that have a single point with a GPU, or without one,
 * because no law can be fitted to one point. Adds a note for each. ERROR_INPUT if nothing remains.
 */
bool samples_leave_out_lone(struct sample_set *set, struct error *error);

/* The co-runs of one group are [first, end). */
struct sample_group {
    size_t first, end;
};
/* The group of co-run `index`. O(its members). */
struct sample_group samples_group(const struct sample_set *set, size_t index);
/* The other member of a pair; NULL in a larger group. */
const struct co_run *samples_partner(const struct sample_set *set, size_t index);

/* Returns whether two samples are of one function, both with a GPU or both without. */
bool samples_alike(const struct latency_sample *a, const struct latency_sample *b);

/* A share of the set in units of 1/`unit` of the GPU; -1 if it is no whole number of them. Shares
 * in hundredths or finer may be rounded, as far as `unit` is coarser: 14.3 % is 1 of 7. */
int samples_in_unit(const struct sample_set *set, int share, int unit);

/* Fraction of the GPU that the sample ran on, 0..1. It is the sample's `part` if that is known,
 * else share / unit. The two differ for slices: a slice consists of whole groups of
 * multiprocessors, while the whole GPU also contains multiprocessors outside any group. So k slices
 * of n have less than k/n of the GPU. */
double samples_share(const struct sample_set *set, const struct latency_sample *sample);

/* Whether a file of that name and first line is such a table. */
bool sample_table_is(const char *path, const char *line);

/* Reads a text table. The format is recognised by its header line, or without one by the published
 * name of its file or the set's format; sample_table.c lists the formats. ERROR_INPUT "FILE:LINE:
 * …".
 */
bool sample_table_read(struct sample_set *set, const char *path, struct error *error);

/* Reads a folder that traces/capture/measure.py wrote: device.json, which says what was measured
 * and how, and the tables solo.csv, cold.csv and groups.csv, of which the last two may be missing
 * or without rows. Sets device, evidence and source where the set has none. ERROR_INPUT names the
 * file and the fault. Without `rehearsal` a folder of `--by dry` is refused: its times are a
 * formula's.
 */
bool measured_folder_read(struct sample_set *set, const char *path, bool rehearsal,
                          struct error *error);

/* Reads files into a set that has the options, the multiprocessors and the texts that the caller
 * gives: folders as measured_folder_read, others as tables. Then reduces it and leaves lone points
 * out. ERROR_INPUT also for a rule whose column no table has. */
bool samples_read(struct sample_set *set, const char *const *files, size_t count, bool rehearsal,
                  struct error *error);

/* Notes the points that are no cells of a profile in that unit, and that none is of a whole GPU. */
void samples_note_cells(struct sample_set *set, int unit);

#endif
