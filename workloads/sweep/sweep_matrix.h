/* The matrix of a sweep file; internal to workloads/sweep/sweep.c. */
#ifndef ESGSIM_WORKLOADS_SWEEP_SWEEP_MATRIX_H
#define ESGSIM_WORKLOADS_SWEEP_SWEEP_MATRIX_H

#include "sim/base/json.h"
#include "workloads/spec/experiment.h"

enum { RUNS_LIMIT = 1000000, DIMENSIONS_LIMIT = 32, VALUES_LIMIT = 10000, SWEEP_NUMBER = 24 };

/* One key of the matrix. */
struct sweep_dimension {
    struct json_value values; /* an array */
    const char *key;
    bool rows; /* each value is an object of several dotted keys */
    size_t count;
};

struct sweep_plan {
    struct arena *arena; /* the sweep's */
    struct sweep_dimension dimensions[DIMENSIONS_LIMIT];
    size_t dimension_count;
    size_t combinations;
    uint64_t *seeds;
    size_t seed_count;
};

/* Reads "matrix" of the sweep file `root` into the plan's dimensions, which keep pointers into the
 * document. Checks that every key is an experiment's key and that no value and no row name occurs
 * twice. */
bool sweep_matrix_load(const struct json_value *root, struct sweep_plan *plan, struct error *error);

/* Returns whether all that the key sets is the policy. O(values). */
bool sweep_dimension_is_policy(const struct sweep_dimension *dimension);

/* Keys of a matrix row that describe it, NULL-terminated; the others are keys of the experiment. */
extern const char *const sweep_row_texts[];

/* The name of a matrix row: its "name", else its number counted from 1, which is written to
 * `number`. */
const char *sweep_row_name(const cJSON *row, size_t index, char number[SWEEP_NUMBER]);

/* True if `name` is an entry of `names`, which is NULL-terminated. */
bool sweep_names(const char *name, const char *const *names);

#endif
