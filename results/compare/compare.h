/* Comparison of a simulation with a replay of the same experiments on hardware: the errors, their
 * confidence intervals, and where they come from.
 *
 * Runs are paired by policy, setting and seed. Both runs of a pair received the same requests at
 * the same times. An error is (simulated − real) / real. Its 95 % interval is a percentile
 * bootstrap over blocks of consecutive requests. Both sides use the same blocks, so variation
 * common to both cancels (Künsch, Annals of Statistics 17, 1989; non-overlapping blocks of √n
 * requests, Carlstein, Annals of Statistics 14, 1986). The interval covers the variation due to
 * other requests of the same kind. It does not cover another day or another GPU.
 */
#ifndef ESGSIM_RESULTS_COMPARE_COMPARE_H
#define ESGSIM_RESULTS_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "results/store/store.h"
#include "sim/base/error.h"
#include "workloads/world/outline.h"

/* In the order in which they are printed. */
enum compare_metric {
    COMPARE_MEAN, /* of latency, ms; likewise the seven that follow */
    COMPARE_P50,
    COMPARE_P90,
    COMPARE_P95,
    COMPARE_P99,
    COMPARE_P999,
    COMPARE_QUEUE, /* mean components of latency, summed over a request's jobs */
    COMPARE_TRANSFER,
    COMPARE_EXECUTION,
    COMPARE_HIT,  /* fraction of the requests */
    COMPARE_COST, /* $ per request */
    COMPARE_METRICS
};

struct compare_measure {
    const char *name; /* as in metrics.def, if it is one of those */
    double limit;     /* required bound on the error over all requests; NAN: none */
};
extern const struct compare_measure compare_measures[COMPARE_METRICS];

/* The metric of one of these. The error of a share is in points, others are in % of the real value.
 */
const struct metric *compare_metric(size_t metric);

struct compare_figure {
    double simulated, real;
    double error;     /* % of the real value, or points; NAN if the real value is 0 */
    double low, high; /* 95 % interval; NAN for fewer than 8 blocks of requests */
};

enum compare_standing { COMPARE_MET, COMPARE_MISSED, COMPARE_UNTOLD };

/* The comparison for one application, or for all. */
struct compare_part {
    const char *application; /* NULL: all */
    size_t requests;         /* measured requests, the same on both sides */
    size_t dropped[2];       /* simulated, real */
    double mean_batch[2];
    double distance; /* Kolmogorov-Smirnov distance between the two latency distributions */
    struct compare_figure figures[COMPARE_METRICS];
};

/* Batches of one function in one configuration; [0] simulated, [1] real. */
struct compare_batches {
    const char *function;
    uint32_t batch, vcpu, vgpu;
    size_t count[2];
    double jobs[2];         /* total */
    double execution_ms[2]; /* mean */
    double modelled_ms[2];  /* mean latency of the batch alone, according to the model */
    double ratio_sd[2];     /* of execution / model */
};

/* Batches grouped by how many other batches ran on the same GPU (mean over the batch's execution,
 * rounded). */
struct compare_company {
    uint32_t others;
    size_t count[2];
    double slowdown[2]; /* mean of execution / model */
};

struct compare_run {
    struct arena *arena; /* the comparison's */
    const struct summary_row *simulated, *real;
    const char *setting; /* of the real run; the experiment's name if that has none */
    char *title;         /* "strict-light, esg, seed 1" */
    /* Where the real run executed (sim/run/replay.h). */
    char *backend, *device, *driver;
    bool gpu;
    double late_us_mean, late_us_p99, late_us_max;
    double host_ms;             /* struct execution; NAN: written by an earlier version */
    const char *details;        /* of the replay, JSON: "host_ms_by_part"; or NULL */
    struct compare_part *parts; /* applications in order, then all; with one application only all */
    size_t part_count;
    double *served_ms[2]; /* latencies of the measured requests that were served, ascending */
    size_t served[2];
    struct compare_batches *batches; /* sorted by total real execution time, longest first */
    size_t batch_kinds;
    struct compare_company *company; /* ascending */
    size_t company_count;
    /* Mean execution per job, ms. time_difference_ms is the part of the difference (simulated −
     * real) that is due to the execution times of batches with equal configuration and jobs. The
     * rest is due to a different composition of batches. */
    double execution_ms[2], time_difference_ms;
    struct outline outline; /* has the names in `parts` and `batches` */
};

struct comparison {
    struct arena *arena; /* of all but the results */
    struct results *simulated, *real;
    struct compare_run *runs; /* pairs, in the order of the real file */
    size_t run_count;
    char **alone; /* one line for each run without a partner */
    size_t alone_count;
    bool gpu; /* every pair's real run used a GPU */
};

/* Returns NULL with ERROR_INPUT if a file is not a results file or lacks the detailed record; if
 * the first was replayed or the second simulated; if no runs pair; or if the experiments of a pair
 * differ in more than what a replay changes (platform.interference, platform.host_ms,
 * platform.turnaround, platform.decision_cost). In the last case the message names the first key
 * that differs. */
struct comparison *compare_load(const char *simulated, const char *real, struct error *error);
void compare_free(struct comparison *against);

/* Compares requests, simulated and real, in order of their numbers, from the first measured one on:
 * the part's counts, figures and distance. `application`: an index, SIZE_MAX for all. `seed`: of
 * the bootstrap. */
void compare_fill_part(struct arena *arena, const struct request_row **const rows[2], size_t count,
                       size_t application, uint64_t seed, struct compare_part *part);

/* Whether both sides serve the same: as many requests, to 0.5 %, in batches of one size, to 10 %.
 * If not, their latencies are not judged. Memory and slices are equal by the pairing. */
bool compare_served_alike(const struct compare_run *run);

/* Compares the error over all requests with the metric's limit. *by (may be NULL) is the excess
 * over the limit. COMPARE_UNTOLD if the metric has no limit or no error. */
enum compare_standing compare_stands(const struct compare_run *run, enum compare_metric metric,
                                     double *by);

/* Writes the comparison as text with tables; as CSV with one line per figure; as one JSON object;
 * as one HTML page. */
bool compare_text(const struct comparison *against, FILE *out, struct error *error);
bool compare_csv(const struct comparison *against, FILE *out, struct error *error);
bool compare_json(const struct comparison *against, FILE *out, struct error *error);
bool compare_html(const struct comparison *against, FILE *out, struct error *error);

#endif
