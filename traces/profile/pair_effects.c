#include "traces/profile/pair_effects.h"

#include <math.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>

/* Normal equations. Unknowns: the mean, the effect of each row, then the effect of each column. */
static void add_cell(gsl_matrix *normal, gsl_vector *right, const size_t at[3], double value)
{
    for (size_t i = 0; i < 3; i++) {
        *gsl_vector_ptr(right, at[i]) += value;
        for (size_t j = 0; j < 3; j++)
            *gsl_matrix_ptr(normal, at[i], at[j]) += 1;
    }
}

static bool solve(gsl_matrix *normal, const gsl_vector *right, double strength, gsl_vector *found)
{
    for (size_t i = 1; i < found->size; i++)
        *gsl_matrix_ptr(normal, i, i) += strength;
    return gsl_linalg_cholesky_decomp1(normal) == GSL_SUCCESS &&
           gsl_linalg_cholesky_solve(normal, right, found) == GSL_SUCCESS;
}

bool pair_effects_fit(const double *cells, size_t count, double strength, double *fitted)
{
    gsl_matrix *normal = gsl_matrix_calloc(1 + 2 * count, 1 + 2 * count);
    gsl_vector *right = gsl_vector_calloc(1 + 2 * count);
    gsl_vector *found = gsl_vector_alloc(1 + 2 * count);
    bool fine = normal != NULL && right != NULL && found != NULL;
    for (size_t k = 0; fine && k < count * count; k++)
        if (!isnan(cells[k]))
            add_cell(normal, right, (size_t[]){0, 1 + k / count, 1 + count + k % count}, cells[k]);
    fine = fine && solve(normal, right, strength, found);
    for (size_t k = 0; fine && k < count * count; k++)
        fitted[k] = gsl_vector_get(found, 0) + gsl_vector_get(found, 1 + k / count) +
                    gsl_vector_get(found, 1 + count + k % count);
    gsl_vector_free(found);
    gsl_vector_free(right);
    gsl_matrix_free(normal);
    return fine;
}
