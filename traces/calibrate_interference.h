/* Which interference law describes measured slowdowns best, by leaving co-locations out.
 *
 * Laws (traces/interference.h): `constant`, `pairs` and `bandwidth`; a co-location of three or more
 * counts with the sum of its members' excess slowdowns, as the simulator adds them. The pair table
 * is fitted on pairs alone, each cell pulled to the mean of all as far as the variances within and
 * between cells tell; functions that were not measured together fall back to its constant.
 *
 * Three ways of leaving out ask three questions: one co-location (both its sides), how well the law
 * interpolates between batches and shares of functions that were measured together; all
 * co-locations of the same batches; and all of the same functions, how well it speaks of functions
 * that never met.
 */
#ifndef ESGSIM_TRACES_CALIBRATE_INTERFERENCE_H
#define ESGSIM_TRACES_CALIBRATE_INTERFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"
#include "traces/calibrate_surface.h"
#include "traces/interference.h"
#include "traces/samples.h"

enum { INTERFERENCE_LAWS = INTERFERENCE_BANDWIDTH + 1 };

enum { INTERFERENCE_MET = 3 };

enum interference_fold { FOLD_LOCATION, FOLD_BATCHES, FOLD_FUNCTIONS, INTERFERENCE_FOLDS };

extern const char *const interference_law_names[INTERFERENCE_LAWS];
/* How many co-locations of two functions were seen: 1, 2, 4. */
extern const size_t interference_met[INTERFERENCE_MET];
extern const char *const interference_fold_names[INTERFERENCE_FOLDS];

struct interference_fit {
    struct interference laws[INTERFERENCE_LAWS]; /* names are the sample set's */
    enum interference_kind kind;                 /* the one chosen: least error by FOLD_LOCATION, of
                                                  * equals to a hundredth of a percent the simpler */
    /* Of no interference at all (what one assumes who measures none), and of each law. */
    struct mean_error none;
    struct mean_error errors[INTERFERENCE_LAWS][INTERFERENCE_FOLDS];
    /* Of the other co-locations of two functions when `interference_met` of them were seen; not of
     * bandwidth, whose fits are too slow for as many. Count 0: no pair has more. */
    struct mean_error met[INTERFERENCE_LAWS][INTERFERENCE_MET];
    size_t locations;
    bool has_demand; /* false: no demands were measured, and bandwidth took no part */
};

/* Fits the laws to the co-runs that have a slowdown, not those whose location is left out
 * (`left_out[location]`, NULL: none). `law->pairs` is allocated. */
bool interference_law_fit(enum interference_kind kind, const struct sample_set *set,
                          const bool *left_out, struct interference *law, struct error *error);
/* Predicted slowdown of co-run `index`, a member of the group that begins at `first`. */
double interference_law_slowdown(const struct interference *law, const struct sample_set *set,
                                 size_t index);
/* ERROR_INPUT where the set has no slowdowns. */
bool interference_calibrate(const struct sample_set *set, struct interference_fit *fit,
                            struct error *error);
void interference_fit_clear(struct interference_fit *fit);

#endif
