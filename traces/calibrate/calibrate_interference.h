/* Selects the interference law that describes measured slowdowns best, by cross-validation.
 *
 * The laws (traces/profile/interference.h) are `constant`, `pairs`, `bandwidth`, and pairs with a
 * shape. For a co-location of three or more they predict the sum of the pairs' excess slowdowns, as
 * the simulator does. Pair table and shape are fitted to pairs only: the shape by least squares
 * of relative errors of slowdowns, then the cells' levels. Where groups were measured, the law that
 * predicts them best from the pairs is chosen, and with it the number of slopes. Each level is
 * shrunk towards the mean of all, by an amount that follows from the variances within and between
 * cells. Functions that were not measured together use the constant of the table.
 *
 * There are four ways to form folds, and each answers a different question:
 * - One co-location (both its sides): how well does the law interpolate between batches and shares
 *   of functions that were measured together?
 * - All co-locations of the same functions at the same batch sizes: the same question for
 *   combinations of batch sizes that were not measured.
 * - All co-locations of the same functions: how well does the law predict functions that were not
 *   measured together?
 * - All co-locations of three or more: what do pairs say of larger groups?
 */
#ifndef ESGSIM_TRACES_CALIBRATE_CALIBRATE_INTERFERENCE_H
#define ESGSIM_TRACES_CALIBRATE_CALIBRATE_INTERFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"
#include "traces/calibrate/calibrate_surface.h"
#include "traces/profile/interference.h"
#include "traces/calibrate/samples.h"

/* What is fitted: the kinds up to INTERFERENCE_SHAPED, then it with the slopes of batch and of
 * share alone, without those of their product, and with the slopes of share alone. */
enum interference_choice {
    CHOICE_BATCH_AND_SHARE = INTERFERENCE_SHAPED + 1,
    CHOICE_SHARE,
    INTERFERENCE_LAWS
};
enum { INTERFERENCE_MET = 4 };

enum interference_fold {
    FOLD_LOCATION,
    FOLD_BATCHES,
    FOLD_FUNCTIONS,
    FOLD_GROUPS,
    INTERFERENCE_FOLDS
};

extern const char *const interference_law_names[INTERFERENCE_LAWS];
/* Numbers of known co-locations per pair of functions: 1, 2, 4, 8. */
extern const size_t interference_met[INTERFERENCE_MET];
extern const char *const interference_fold_names[INTERFERENCE_FOLDS];

struct interference_fit {
    struct interference laws[INTERFERENCE_LAWS]; /* pair names belong to the sample set */
    /* The law selected: least error by FOLD_GROUPS where there are groups, which tell how many
     * slopes the pairs carry, else by FOLD_LOCATION; if equal to 0.01 %, the one before. */
    int choice;
    /* Errors of predicting no interference, and of each law. */
    struct mean_error none;
    struct mean_error errors[INTERFERENCE_LAWS][INTERFERENCE_FOLDS];
    /* Errors on the remaining co-locations of two functions if `interference_met` of them are
     * known. Not computed for bandwidth, whose fits are too slow. Count 0: no pair has more
     * co-locations. */
    struct mean_error met[INTERFERENCE_LAWS][INTERFERENCE_MET];
    size_t locations;
    bool has_demand; /* false: no demands were measured, so bandwidth was not fitted */
};

/* Fits a law to the co-runs that have a slowdown, except those with `left_out[location]` (NULL:
 * none). Allocates `law->pairs`. */
bool interference_law_fit(int choice, const struct sample_set *set, const bool *left_out,
                          struct interference *law, struct error *error);
/* Predicted slowdown of co-run `index`. */
double interference_law_slowdown(const struct interference *law, const struct sample_set *set,
                                 size_t index);
/* Fits all laws and selects one. ERROR_INPUT if the set has no slowdowns. Free with
 * interference_fit_clear. */
bool interference_calibrate(const struct sample_set *set, struct interference_fit *fit,
                            struct error *error);
void interference_fit_clear(struct interference_fit *fit);

#endif
