/* A simulation held against a replay of the same experiments: how far off it is, how sure that is,
 * and where it comes from.
 *
 * Runs are paired by policy, setting and seed; both of a pair met the same requests at the same
 * times. An error is simulated less real, as a share of the real. Its 95 % interval is a
 * percentile bootstrap over blocks of consecutive requests, the same blocks drawn on both sides, so
 * that what both have in common drops out (Künsch, Annals of Statistics 17, 1989; blocks of √n as
 * non-overlapping ones, Carlstein, Annals of Statistics 14, 1986). It tells what other requests of
 * the same kind would change, not what another day or another GPU would.
 */
#ifndef ESGSIM_RESULTS_AGAINST_H
#define ESGSIM_RESULTS_AGAINST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "results/store.h"
#include "sim/error.h"

/* In the order in which they are printed. */
enum against_metric {
    AGAINST_MEAN, /* of latency, ms; as the seven after it */
    AGAINST_P50,
    AGAINST_P90,
    AGAINST_P95,
    AGAINST_P99,
    AGAINST_P999,
    AGAINST_QUEUE, /* mean parts of it, summed over a request's jobs */
    AGAINST_TRANSFER,
    AGAINST_EXECUTION,
    AGAINST_HIT,  /* share of the requests */
    AGAINST_COST, /* $ a request */
    AGAINST_METRICS
};

struct against_metric_facts {
    const char *name; /* as in metrics.def, where it is there */
    const char *unit;
    bool points;  /* its error is a difference of shares in points, not per cent of the real */
    double limit; /* that the error of all requests together is to stay within; NAN: none */
};
extern const struct against_metric_facts against_metrics[AGAINST_METRICS];

struct against_figure {
    double simulated, real;
    double error;     /* % of the real, or points; NAN where the real is 0 */
    double low, high; /* its 95 % interval; NAN for fewer than 8 blocks of requests */
};

enum against_standing { AGAINST_MET, AGAINST_MISSED, AGAINST_UNTOLD };

/* Of one application, or of all. */
struct against_part {
    const char *application; /* NULL: all */
    size_t requests;         /* measured, the same on both sides */
    size_t dropped[2];       /* simulated, real */
    double mean_batch[2];
    double
        distance; /* Kolmogorov-Smirnov: largest difference of the two distributions of latency */
    struct against_figure figures[AGAINST_METRICS];
};

/* Batches of one function in one configuration; [0] simulated, [1] real. */
struct against_batches {
    const char *function;
    uint32_t batch, vcpu, vgpu;
    size_t count[2];
    double jobs[2];         /* in all */
    double execution_ms[2]; /* mean */
    double modelled_ms[2];  /* mean of what the model gave them alone */
    double ratio_sd[2];     /* of execution over model */
};

/* Batches by how many others executed on the same GPU beside them, rounded mean over their time. */
struct against_company {
    uint32_t others;
    size_t count[2];
    double slowdown[2]; /* mean of execution over model */
};

struct against_names;

struct against_run {
    const struct summary_row *simulated, *real;
    char *title; /* "strict-light, esg, seed 1" */
    /* Where it executed (results/replay.h); the texts are owned. */
    char *backend, *device, *driver;
    bool gpu;
    double late_us_mean, late_us_p99, late_us_max;
    struct against_part *parts; /* applications in order, then all; with one application only all */
    size_t part_count;
    struct against_batches *batches; /* by their real time, the longest first */
    size_t batch_kinds;
    struct against_company *company; /* ascending */
    size_t company_count;
    /* A job's mean execution, ms: simulated less real, and how much of it is the time of batches of
     * the same configuration and jobs; the rest is that there were other batches. */
    double execution_ms[2], time_difference_ms;
    struct against_names *names; /* that `parts` and `batches` point to */
};

struct against {
    struct results *simulated, *real;
    struct against_run *runs; /* pairs, in the order of the real file */
    size_t run_count;
    char **alone; /* a line a run without a partner */
    size_t alone_count;
    bool gpu; /* a GPU took part in every pair */
};

/* NULL: ERROR_INPUT where a file is none, was not recorded whole, is simulated where it should be
 * replayed or the reverse, where the two have no pair, or where a pair's experiments differ in more
 * than a replay changes (platform.interference, platform.decision_cost): the first key that differs
 * is named. */
struct against *against_load(const char *simulated, const char *real, struct error *error);
void against_free(struct against *against);

/* How the error of all requests together stands to the metric's limit; *by (may be NULL): how far
 * it is above it. AGAINST_UNTOLD where the metric has none. */
enum against_standing against_stands(const struct against_run *run, enum against_metric metric,
                                     double *by);

/* The comparison in words and tables; a line a figure; one object; one page. */
bool against_text(const struct against *against, FILE *out, struct error *error);
bool against_csv(const struct against *against, FILE *out, struct error *error);
bool against_json(const struct against *against, FILE *out, struct error *error);
bool against_html(const struct against *against, FILE *out, struct error *error);

#endif
