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
#include "traces/calibrate/table_reader.h"

/* ---- Inputs (raw.c) -------------------------------------------------------------------------- */

/* Tables with a header line, without quoting. */
enum raw_table {
    RAW_MODELS,      /* parameter counts and input sizes */
    RAW_SOLO,        /* iGniter, one model alone */
    RAW_GPU_TIME,    /* iGniter, the hold-out set */
    RAW_SLICES,      /* memory of the MIG slices */
    RAW_RESTARTS,    /* PipeSwitch */
    RAW_CUDA_INIT,   /* StreamBox */
    RAW_ANCHORS,     /* ESG's six functions */
    RAW_ABSOLUTE,    /* their multiply-accumulates and donors on the A100 */
    RAW_ASSUMPTIONS, /* values that nobody has measured */
    RAW_TABLES
};

struct raw {
    const char *folder;
    cJSON *tables[RAW_TABLES];  /* arrays of rows, each an object of its cells as strings */
    struct sample_set igniter;  /* alone, and in pairs on one GPU; shares in percent */
    struct sample_set parvagpu; /* A100 MIG; shares in sevenths */
    struct sample_set infless;  /* latency over CPU cores */
};

/* Reads everything below `folder`. Call raw_close even after a failure. */
bool raw_open(struct raw *raw, const char *folder, struct error *error);
void raw_close(struct raw *raw);

/* The cell's text, "" for no row. `column` must be one that raw_open checks. */
const char *raw_text(const cJSON *row, const char *column);
/* The cell as a number, NAN if it is not one. */
double raw_number(const cJSON *row, const char *column);
/* The first row whose `column` equals `wanted`, NULL if there is none. */
const cJSON *raw_find(const cJSON *table, const char *column, const char *wanted);
/* An entry of the assumptions, NAN if there is none. */
double raw_assumption(const struct raw *raw, const char *quantity);

/* The measurements of one model. */
struct raw_runs {
    const struct sample_set *set;
    const char *model;
};
/* Latency in ms of a batch alone by `runs`, a struct raw_runs. NAN if it was not measured; `vcpu`
 * does not matter. O(samples). */
double raw_latency_ms(const void *runs, int batch, int vcpu, int share);

/* Mean of the measured process restarts of `model` (as PipeSwitch names it), NAN if not measured.
 */
double raw_restart_ms(const struct raw *raw, const char *model);
/* Says what the mean cold start by raw_function is. */
extern const char raw_restart_note[];
/* Returns the row of the network in RAW_MODELS, NULL with ERROR_INPUT if there is none. Sets what
 * the inputs give for every set: the weights, the host's memory, the input, the assumed noise, the
 * mean restart of the two convolutional networks that were measured, and the spread of CUDA
 * initialisation. */
const cJSON *raw_function(const struct raw *raw, const char *network,
                          struct profile_function *function, struct error *error);
/* What RAW_MODELS says of the weights of a network. */
struct output_note raw_weights_note(const cJSON *network);

/* ---- Latency over batch and share (share_law.c) ---------------------------------------------- */

/* The latency law without a floor per item, and with kink and exponent 1. That is the form of
 * iGniter (Xu et al., IEEE TPDS 2023, the GPU active time of its performance model):
 * t(b, s) = (k1·b² + k2·b + k3) / (s + k4) + k5 ms. */
struct share_law {
    struct latency_law law;
    double mape; /* mean |predicted / measured − 1| over the samples */
};

/* Fits all measurements of a model alone, by least squares of relative errors. */
bool share_law_fit(const struct sample_set *set, const char *model, struct share_law *law,
                   struct error *error);

/* ---- Output (output.c) ----------------------------------------------------------------------- */

/* Latency in ms of a configuration; NAN: did not run. */
typedef double output_latency(const void *context, int batch, int vcpu, int vgpu);

/* What the profile says of one value: its grade and where it comes from; NULL: nothing. */
struct output_note {
    const char *key, *evidence;
    cJSON *derivation;
};

/* Adds a function to the profile: the latencies on the axes of `facts`, what else `facts` knows,
 * and the notes up to the first without a key, whose derivations it takes. ERROR_RUN if memory is
 * exhausted. The file gets one line per batch size. */
bool output_function(cJSON *profile, const char *name, const char *model,
                     const struct profile_function *facts, const struct output_note *notes,
                     output_latency *latency, const void *context, struct error *error);

struct output_head {
    const char *device, *evidence, *source, *licence;
    cJSON *derivation; /* taken */
    int unit;
};
/* A profile without functions. */
cJSON *output_profile(const struct output_head *head);

/* If `good`, writes the profile to FOLDER/NAME atomically (traces/json/atomic_file.h). Frees it.
 * Returns whether it was written. */
bool output_end(cJSON *profile, bool good, const char *folder, const char *name,
                struct error *error);

/* ---- The profiles ---------------------------------------------------------------------------- */

/* a100-mig-parvagpu.json */
bool derive_parvagpu(const struct raw *raw, const char *out, struct error *error);
/* v100-mps-igniter.json */
bool derive_igniter(const struct raw *raw, const char *out, struct error *error);
/* A reconstruction of ESG's profile. */
struct esg_variant {
    const char *name; /* of the file */
    bool absolute;    /* the time on the GPU is measured, not a fraction of the anchor */
    /* The fraction of the minimum configuration's latency, or of what the GPU leaves of it if
     * `absolute`, that is spent on the vCPUs. */
    double cpu_fraction;
};

/* esg-reconstructed*.json */
bool derive_esg(const struct raw *raw, const struct esg_variant *variant, const char *out,
                struct error *error);

#endif
