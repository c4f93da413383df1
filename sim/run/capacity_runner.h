/* Runs the simulations of `esgsim capacity`, for several policies side by side.
 *
 * Every policy has a search of its own (capacity_search.h). In each round, every search that has
 * not ended names its next value. Worker processes simulate these values with the same seeds, so
 * that all values and policies have common random numbers. The results do not depend on the number
 * of workers.
 */
#ifndef ESGSIM_SIM_RUN_CAPACITY_RUNNER_H
#define ESGSIM_SIM_RUN_CAPACITY_RUNNER_H

#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "sim/base/arena.h"
#include "results/store/columns.h"
#include "sim/base/error.h"
#include "sim/run/capacity_search.h"
#include "workloads/spec/experiment.h"

enum { CAPACITY_POLICIES = 64, CAPACITY_SEEDS = 1000 };

struct capacity_question {
    const char *path; /* the experiment */
    const struct override *overrides;
    size_t override_count;
    const char *key; /* dotted */
    const struct metric *metric;
    bool at_most;     /* else at least */
    double threshold; /* in the metric's unit */
    enum capacity_direction direction;
    double low, high; /* NAN: not given */
    double tolerance;
    const char *const *policies;
    size_t policy_count; /* 0: the experiment's policy */
    uint64_t seeds;      /* 2..CAPACITY_SEEDS at first, from the experiment's seed on */
    uint64_t most_seeds; /* at least `seeds`, if the interval needs them */
    uint64_t jobs;       /* concurrent worker processes; 0: one for each core */
    double decision_timeout;
    bool quiet;
};

struct capacity_run {
    double value;        /* of the metric; NAN: none */
    double observations; /* as metric_observations has them */
    uint64_t digest;     /* of all metrics */
};

struct capacity_curve {
    const char *policy;
    struct capacity_search search;
    double refused;     /* the last value that was not valid; NAN: none */
    const char *reason; /* why it was not */
};

struct capacity_answer {
    struct arena *arena;           /* of all of it; exhausted memory ends the process */
    struct capacity_curve *curves; /* per policy */
    size_t curve_count;
    struct counted_notice *notices; /* distinct, in order of appearance */
    size_t notice_count;
    size_t runs;
    uint64_t first_seed;
    const char *setting;  /* the experiment's name */
    const char *evidence; /* evidence grade of its profile, or "" */
    bool whole;           /* the key takes only whole numbers */
    bool deterministic;   /* experiment_is_repeatable, with all policies */
};

/* The side of a key on which a limit is met. More requests or trainings make it harder to meet, a
 * larger cluster and a longer SLO easier; of other keys it is not known. */
enum capacity_direction capacity_key_direction(const char *key);

/* False: ERROR_INPUT names the experiment, key or metric at fault; ERROR_RUN names policy, value
 * and seed of a run that failed. Free the answer with capacity_answer_clear in both cases. */
bool capacity_run(const struct capacity_question *question, struct capacity_answer *answer,
                  struct error *error);
void capacity_answer_clear(struct capacity_answer *answer);

/* Returns whether one run stands for all seeds at the value: there is no interval. */
bool capacity_point_is_exact(const struct capacity_point *point);
/* "surely holds", "not sure", "surely fails" or "refused"; "holds" or "fails" where it is exact. */
const char *capacity_answer_name(const struct capacity_point *point);

/* Writes the answer as text, with `details` also each value that was visited; and as JSON, which
 * the caller deletes. */
void capacity_text(const struct capacity_question *question, const struct capacity_answer *answer,
                   bool details, FILE *out);
cJSON *capacity_json(const struct capacity_question *question,
                     const struct capacity_answer *answer);

#endif
