/* Builds the shipped profiles from raw measurements. Each derive function writes one kind of
 * profile to the directory `out`, or returns false with `error` set.
 *
 * The output depends only on the raw files, not on the time or the machine. All numbers are rounded
 * to 6 significant digits.
 */
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

/* Reads a template, a file below the raw folder. It is a profile without functions, whose member
 * "function" is the template of each. Strings have holes, <name>; one that begins with # becomes a
 * number. NULL with `error` set. */
cJSON *output_begin(const struct raw *raw, const char *template, struct error *error);
/* Fills the holes below `item` that `values`, an object of strings, names. */
void output_fill(cJSON *item, const cJSON *values);

/* Adds a function. */
cJSON *output_function(cJSON *profile, const char *name);
/* Latency in ms of a configuration; NAN: did not run. */
typedef double output_latency(const void *context, int batch, int vcpu, int vgpu);
/* Sets the latencies on the function's grid, in one line per batch size. ERROR_RUN if memory is
 * exhausted. */
bool output_latencies(cJSON *function, output_latency *latency, const void *context,
                      struct error *error);

/* If `good`, writes the profile to FOLDER/NAME atomically (traces/json/atomic_file.h). Frees it.
 * Returns whether it was written. ERROR_INPUT if a hole was not filled. */
bool output_end(cJSON *profile, bool good, const char *folder, const char *name,
                struct error *error);

/* ---- The profiles ---------------------------------------------------------------------------- */

/* a100-mig-parvagpu.json, v100-mps-igniter.json */
bool derive_parvagpu(const struct raw *raw, const char *out, struct error *error);
bool derive_igniter(const struct raw *raw, const char *out, struct error *error);

/* A reconstruction of ESG's profile, esg-reconstructed*.json. */
struct esg_variant {
    const char *name; /* of the file */
    bool absolute;    /* the time on the GPU is measured, not a fraction of the anchor */
    /* The fraction of the minimum configuration's latency, or of what the GPU leaves of it if
     * `absolute`, that is spent on the vCPUs. */
    double cpu_fraction;
};
bool derive_esg(const struct raw *raw, const struct esg_variant *variant, const char *out,
                struct error *error);

#endif
