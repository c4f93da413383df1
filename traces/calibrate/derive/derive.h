/* Derives the shipped profiles from raw measurements. They depend only on the raw files, not on the
 * time or the machine. All numbers are rounded to 6 significant digits.
 *
 * A profile is a template with its holes filled. The template is a profile without functions, whose
 * member "function" is the template of each. Strings have holes, <name>. A string that begins with
 * # becomes a number. */
#ifndef ESGSIM_TRACES_CALIBRATE_DERIVE_DERIVE_H
#define ESGSIM_TRACES_CALIBRATE_DERIVE_DERIVE_H

#include "traces/calibrate/profile_writer.h"
#include "traces/calibrate/samples.h"

/* ---- Inputs (raw.c) -------------------------------------------------------------------------- */

struct raw {
    const char *folder;
    cJSON *tables;             /* by file, arrays of rows, each an object of its cells as strings */
    cJSON *values;             /* by name, for all profiles: what nobody has measured, restart_cv */
    struct sample_set igniter; /* alone, and in pairs on one GPU; shares in percent */
    struct sample_set parvagpu; /* A100 MIG; shares in sevenths */
    struct sample_set infless;  /* latency over CPU cores */
};

/* Reads everything below `folder`. Call raw_close even after a failure. */
bool raw_open(struct raw *raw, const char *folder, struct error *error);
void raw_close(struct raw *raw);

/* The cell's text, "" for no row; as a number, NAN if it is not one. */
const char *raw_text(const cJSON *row, const char *column);
double raw_number(const cJSON *row, const char *column);
/* The first row of a file, and the one that begins with `name`, NULL if there is none. */
const cJSON *raw_rows(const struct raw *raw, const char *file);
const cJSON *raw_find(const struct raw *raw, const char *file, const char *name);

/* Bandwidth demand of a model: DRAM utilisation, 0..1, at a share of 80 % (the largest measured),
 * mean over the five batch sizes of iGniter's co-locations: 2, 4, 8, 16, 32. */
double raw_demand(const struct raw *raw, const char *model);

/* The measurements of one model. */
struct raw_runs {
    const struct sample_set *set;
    const char *model;
};
/* Latency in ms of a batch alone by `runs`, a struct raw_runs. NAN if it was not measured; `vcpu`
 * does not matter. O(samples). */
double raw_latency_ms(const void *runs, int batch, int vcpu, int share);

/* Sets a value for output_fill. */
void raw_put(cJSON *values, const char *name, double value);
/* Returns values for output_fill: the row of the network in models.csv, its weights_mb, and
 * restart_ms, the mean process restart, of this network if it was measured, else of the two
 * convolutional networks that were. NULL with ERROR_INPUT if there is no such row. The caller frees
 * them. */
cJSON *raw_network(const struct raw *raw, const char *network, struct error *error);

/* ---- Output (derive.c) ----------------------------------------------------------------------- */

/* Fills the holes below `item` that `values`, an object of strings, names. */
void output_fill(cJSON *item, const cJSON *values);
/* Adds a function to the profile. */
cJSON *output_function(cJSON *profile, const char *name);
/* Latency in ms of a configuration; NAN: did not run. */
typedef double output_latency(const void *context, int batch, int vcpu, int vgpu);
/* Sets the latencies on the function's grid, in one line per batch size. ERROR_INPUT if it
 * has no grid. */
bool output_latencies(cJSON *function, output_latency *latency, const void *context,
                      struct error *error);

/* ---- The profiles ---------------------------------------------------------------------------- */

struct derived;
/* Fills the template of one kind of profile. */
typedef bool profile_fill(const struct raw *raw, const struct derived *derived, cJSON *profile,
                          struct error *error);
profile_fill fill_parvagpu, fill_igniter, fill_esg;

struct derived {
    const char *template, *name; /* files below the raw folder and the output */
    profile_fill *fill;
    /* Of ESG's reconstructions: the fraction that is spent on the vCPUs of the latency of the
     * minimum configuration, or of what the GPU leaves of it if the GPU's time is measured. */
    double cpu_fraction;
    bool absolute; /* the GPU's time is measured, not a fraction of the anchor */
};

#endif
