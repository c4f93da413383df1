/* What published systems are known for, each as an effect that a small sweep can show.
 *
 *   {"title": …, "claims": [
 *      {"system": "Tiresias", "kind": "exact", "claim": …, "published": "5.5x mean completion
 * time", "evidence": "published", "source": …, "sweep":
 * "workloads/experiments/known-for/size-order.json", "metric": "queue_ms_mean", "formula": "ratio",
 * "application": …, "of": {"policy": "sjf", "setting": "size-order"}, "against": {"policy":
 * "fifo"}, "low": 0.27, "high": 0.28, "expected": "Cobham's formula", "note": …}, …]}
 *
 * - `kind` is one of exact (a closed form gives the value), paired (the sign and the size of a
 *   paired comparison), open (an effect that depends on what is assumed).
 * - `formula` is one of value (`of` alone), difference (of - against), ratio (of / against), each
 *   computed seed by seed. Default: value without `against`, else ratio.
 * - `metric` is a metric of sim/platform/metrics.def or training_metrics.def; or late_rate, the
 *   share of requests that were served after their SLO; or gpu_use_s, the time for which GPUs run
 *   something, divided by the number of GPUs.
 * - `policy` is the name of a policy, followed by all parameters that the sweep sets for it:
 *   "clockwork max_batch=32". `setting` is the setting's name, or the keys that the sweep sets:
 *   "arrivals.rate_per_s=1500 platform.noise.cv=0". It may be absent if the sweep has only one.
 * - `low` and `high` are the effect expected here, and `expected` is where it comes from. A
 *   published figure is of another machine, so it is told and not judged. Metrics whose unit is a
 *   share, and which reports show in per cent, are in per cent, their differences in points.
 *
 * The verdicts are defined in results/report/reproduction_check.h.
 */
#ifndef ESGSIM_RESULTS_REPORT_CLAIM_H
#define ESGSIM_RESULTS_REPORT_CLAIM_H

#include "results/report/paired.h"
#include "results/report/reproduction_check.h"

enum claim_kind { CLAIM_EXACT, CLAIM_PAIRED, CLAIM_OPEN, CLAIM_KIND_COUNT };

/* A contender of the sweep. */
struct claim_side {
    char *policy;  /* with its parameters; NULL: the side is absent */
    char *setting; /* NULL: the sweep's only one */
};

struct claim {
    char *system;
    char *text;
    char *published;      /* the published figure in words */
    const char *evidence; /* its grade, one of reference_grades */
    char *source;
    char *sweep;       /* path of the sweep file, relative to the working or the data folder */
    char *application; /* NULL: all together */
    char *expected;    /* source of `low` and `high`; may be NULL */
    char *note;        /* may be NULL */
    enum claim_kind kind;
    enum paired_formula formula; /* PAIRED_VALUE, PAIRED_DIFFERENCE or PAIRED_RATIO */
    const struct metric *metric;
    struct claim_side of, against;
    double low, high; /* NAN if not given */
    char *file;       /* the file and place of the claim, for messages: "FILE: claims[3]" */
};

struct claims {
    char *title;
    struct claim *claims; /* sorted by kind, otherwise in the order of the file */
    size_t count;
};

/* Returns NULL with ERROR_INPUT, which names the file, the JSON path and the fault. Free with
 * claims_free (NULL allowed). */
struct claims *claims_load(const char *path, struct error *error);
void claims_free(struct claims *claims);
/* Frees what one claim owns, so that it can be removed from the list. */
void claim_clear(struct claim *claim);

/* Our estimate of a claim, in the units of `low` and `high`. False: ERROR_INPUT that names the
 * claim, because the report has no such contender, or several. */
bool claim_estimate(const struct report *report, const struct claim *claim, struct estimate *ours,
                    struct error *error);

/* The verdict on `ours`; see reproduction_check.h. */
enum claim_verdict claim_judge(const struct claim *claim, struct estimate ours);

/* "exact", "paired", "open". */
const char *claim_kind_name(enum claim_kind kind);
/* "%", "points", "x", or the metric's unit; "" for a count. */
const char *claim_unit(const struct claim *claim);
/* "queue_ms_mean: sjf / fifo in size-order". */
void claim_quantity(const struct claim *claim, char *text, size_t size);

/* Print the claims with our estimates (`ours` has one per claim) as a table, with `details` also
 * the sources and notes; or as one JSON object. False: ERROR_RUN. */
bool claims_text(const struct claims *claims, const struct estimate *ours, bool details, FILE *out,
                 struct error *error);
bool claims_json(const struct claims *claims, const struct estimate *ours, FILE *out,
                 struct error *error);

#endif
