/* The assumptions on which the results depend, each with its evidence grade:
 * results/page/assumptions.json.
 *
 *   {"grades": {"published": "read in the abstract …", …},
 *    "assumptions": [{"fact": …, "value": …, "grade": …, "of": "requests" | "trainings"}, …]}
 *
 * sim/ASSUMPTIONS.md contains the same rows, and a test compares the two. Backquotes mark names.
 */
#ifndef ESGSIM_RESULTS_PAGE_ASSUMPTIONS_H
#define ESGSIM_RESULTS_PAGE_ASSUMPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "sim/base/arena.h"
#include "sim/base/error.h"

/* Texts are of the file's document. */
struct assumption {
    const char *fact, *value, *grade;
    bool of_trainings; /* else of requests */
};

struct grade {
    const char *name, *meaning;
};

struct assumptions {
    struct arena *arena;
    struct assumption *entries;
    size_t count;
    struct grade *grades;
    size_t grade_count;
};

/* Returns NULL with ERROR_INPUT, which names the file, the JSON path and the fault. Free with
 * arena_home_free (NULL allowed). */
struct assumptions *assumptions_load(const char *path, struct error *error);

#endif
