/* Builds the shipped profiles from raw measurements. Each derive function writes one kind of
 * profile to the directory `out`, or returns false with `error` set.
 *
 * The output depends only on the raw files, not on the time or the machine. All numbers are rounded
 * to 6 significant digits.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_DERIVE_DERIVE_H
#define ESGSIM_TRACES_CALIBRATE_DERIVE_DERIVE_H

#include <stdbool.h>

#include "sim/error.h"
#include "traces/calibrate/derive/fit.h"
#include "traces/calibrate/derive/table.h"

/* ---- Inputs shared by several profiles (raw.c) ---- */

struct raw {
    struct table *models;      /* parameter counts and input sizes */
    struct table *solo;        /* iGniter, one model alone */
    struct table *pairs;       /* iGniter, two models on one GPU */
    struct table *gpu_time;    /* iGniter, the hold-out set */
    struct table *parvagpu;    /* A100 MIG */
    struct table *slices;      /* memory of the MIG slices */
    struct table *restarts;    /* PipeSwitch */
    struct table *cuda_init;   /* StreamBox */
    struct table *infless;     /* latency over CPU cores */
    struct table *anchors;     /* ESG's six functions */
    struct table *absolute;    /* their multiply-accumulates and donors on the A100 */
    struct table *assumptions; /* values that nobody has measured */
};

/* Reads all tables below `folder`. Call raw_close even after a failure. */
bool raw_open(struct raw *raw, const char *folder, struct error *error);
void raw_close(struct raw *raw);

/* Weights of a network in MB (2^20 bytes), at 4 bytes per parameter. NAN if the network is unknown.
 */
double raw_weights_mb(const struct raw *raw, const char *network);
/* An entry of the assumptions, NAN if there is none. */
double raw_assumption(const struct raw *raw, const char *quantity);
/* Spread of cold starts: standard deviation / mean of CUDA initialisation. */
double raw_cold_start_cv(const struct raw *raw);
/* Mean of the measured process restarts of `model` (as PipeSwitch names it), NAN if not measured.
 */
double raw_restart_ms(const struct raw *raw, const char *model);
/* Mean restart of the two convolutional networks that were measured. */
double raw_restart_convolutional_ms(const struct raw *raw);

/* iGniter's models, in the order of every table made here. */
enum { IGNITER_MODELS = 4 };
extern const char *const igniter_models[IGNITER_MODELS];
/* Index of a model; IGNITER_MODELS if unknown. */
size_t igniter_index(const char *name);
/* Bandwidth demand of a model: DRAM utilisation, 0..1, at a share of 80 % (the largest measured),
 * mean over the batch sizes of the co-location runs (2, 4, 8, 16, 32). */
double igniter_demand(const struct raw *raw, const char *model);
/* Fits the share law to all measurements of a model alone. */
bool igniter_law(const struct raw *raw, const char *model, struct share_law *law,
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
