/* Builds the shipped profiles from raw measurements; every function writes one kind of profile to
 * the folder `out` and returns false with the error told.
 *
 * The same raw files give the same bytes: all numbers are rounded to 6 significant digits and
 * nothing depends on the time or the machine.
 */
#ifndef ESGSIM_TRACES_DERIVE_DERIVE_H
#define ESGSIM_TRACES_DERIVE_DERIVE_H

#include <stdbool.h>

#include "sim/error.h"
#include "traces/derive/fit.h"
#include "traces/derive/table.h"

/* ---- What several profiles draw from (raw.c) ------------------------------------------------- */

struct raw {
    struct table *models;      /* parameter counts and input sizes */
    struct table *solo;        /* iGniter, one model alone */
    struct table *pairs;       /* iGniter, two models side by side */
    struct table *gpu_time;    /* iGniter, the hold-out */
    struct table *parvagpu;    /* A100 MIG */
    struct table *slices;      /* memory of the MIG slices */
    struct table *restarts;    /* PipeSwitch */
    struct table *cuda_init;   /* StreamBox */
    struct table *infless;     /* latency over CPU cores */
    struct table *anchors;     /* ESG's six functions */
    struct table *assumptions; /* what nobody has measured */
};

/* Reads all tables below `folder`. Close with raw_close in any case. */
bool raw_open(struct raw *raw, const char *folder, struct error *error);
void raw_close(struct raw *raw);

/* Weights in MB (2^20 bytes) of a network at 4 bytes a parameter, NAN where the network is unknown.
 */
double raw_weights_mb(const struct raw *raw, const char *network);
/* An entry of the assumptions, NAN where there is none. */
double raw_assumption(const struct raw *raw, const char *quantity);
/* Spread of cold starts: standard deviation / mean of CUDA initialisation. */
double raw_cold_start_cv(const struct raw *raw);
/* Mean of the measured process restarts of `model` (as PipeSwitch names it), NAN where not
 * measured. */
double raw_restart_ms(const struct raw *raw, const char *model);
/* Mean restart of the two convolutional networks that were measured. */
double raw_restart_convolutional_ms(const struct raw *raw);

/* iGniter's models, in the order of every table made here. */
enum { IGNITER_MODELS = 4 };
extern const char *const igniter_models[IGNITER_MODELS];
/* Index of a model, IGNITER_MODELS where it is none. */
size_t igniter_index(const char *name);
/* Bandwidth demand of a model: its DRAM utilisation, 0..1, at the 80 % share (the largest that was
 * measured), mean over the batches of the co-location runs (2, 4, 8, 16, 32). */
double igniter_demand(const struct raw *raw, const char *model);
/* The share law fitted to every solo measurement of a model. */
bool igniter_law(const struct raw *raw, const char *model, struct share_law *law,
                 struct error *error);

/* ---- The profiles ---------------------------------------------------------------------------- */

/* a100-mig-parvagpu.json */
bool derive_parvagpu(const struct raw *raw, const char *out, struct error *error);
/* v100-mps-igniter.json */
bool derive_igniter(const struct raw *raw, const char *out, struct error *error);
/* The reconstruction of ESG's profile, written as `name`, with `cpu_fraction` of the minimum
 * configuration's latency spent on the CPU. */
bool derive_esg(const struct raw *raw, double cpu_fraction, const char *out, const char *name,
                struct error *error);

#endif
