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
    cJSON *assumed;            /* the values that nobody has measured, by name */
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
/* Returns values for output_fill: the row of the network in models.csv, its weights_mb, restart_ms
 * and restart_cv: the mean process restart, of this network if it was measured, else of the two
 * convolutional networks that were, and the spread of CUDA initialisation. NULL with ERROR_INPUT
 * if there is no such row. The caller frees them. */
cJSON *raw_network(const struct raw *raw, const char *network, struct error *error);

/* ---- Output (output.c) ----------------------------------------------------------------------- */

/* Fills the holes below `item` that `values`, an object of strings, names. */
void output_fill(cJSON *item, const cJSON *values);

/* Latency in ms of a configuration; NAN: did not run. */
typedef double output_latency(const void *context, int batch, int vcpu, int vgpu);
/* Adds a function to the profile. */
cJSON *output_function(cJSON *profile, const char *name);
/* Fills it from `sources`, in their order up to NULL, and sets the latencies on its grid, in one
 * line per batch size. ERROR_RUN if memory is exhausted. */
bool output_values(cJSON *function, const cJSON *const *sources, output_latency *latency,
                   const void *context, struct error *error);

/* ---- The profiles ---------------------------------------------------------------------------- */

struct derived {
    const char *template, *name; /* files below the raw folder and the output */
    bool (*fill)(const struct raw *raw, const struct derived *derived, cJSON *profile,
                 struct error *error);
    /* The fraction of the latency of ESG's minimum configuration that is spent on the vCPUs, or of
     * what the GPU leaves of it if its time is `absolute`. */
    double cpu_fraction;
};

bool fill_parvagpu(const struct raw *raw, const struct derived *derived, cJSON *profile,
                   struct error *error);
bool fill_igniter(const struct raw *raw, const struct derived *derived, cJSON *profile,
                  struct error *error);
/* Reconstructions of ESG's profile. Absolute: the time on the GPU is measured, not a fraction of
 * the anchor. */
bool fill_esg(const struct raw *raw, const struct derived *derived, cJSON *profile,
              struct error *error);
bool fill_esg_absolute(const struct raw *raw, const struct derived *derived, cJSON *profile,
                       struct error *error);

#endif
