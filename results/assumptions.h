/* What the results hang on, each with how sure we are of it: results/assumptions.json.
 *
 *   {"grades": {"published": "read in the abstract …", …},
 *    "assumptions": [{"fact": …, "value": …, "grade": …}, …]}
 *
 * The same table stands in README.md; a test holds the two together. Backquotes mark names.
 */
#ifndef ESGSIM_RESULTS_ASSUMPTIONS_H
#define ESGSIM_RESULTS_ASSUMPTIONS_H

#include <stddef.h>

#include "sim/error.h"

struct assumption {
    char *fact;
    char *value;
    char *grade;
};

struct grade {
    char *name;
    char *meaning;
};

struct assumptions {
    struct assumption *entries;
    size_t count;
    struct grade *grades;
    size_t grade_count;
};

/* NULL: ERROR_INPUT naming file, JSON path and fault. Free with assumptions_free (NULL allowed). */
struct assumptions *assumptions_load(const char *path, struct error *error);
void assumptions_free(struct assumptions *assumptions);

#endif
