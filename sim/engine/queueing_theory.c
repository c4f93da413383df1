#include "sim/engine/queueing_theory.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include <gsl/gsl_eigen.h>
#include <gsl/gsl_matrix.h>
#include <gsl/gsl_vector.h>

double queueing_erlang_b(uint32_t servers, double offered)
{
    double blocked = 1;
    for (uint32_t c = 1; c <= servers; c++)
        blocked = offered * blocked / (c + offered * blocked);
    return blocked;
}

double queueing_erlang_c(uint32_t servers, double offered)
{
    if (servers == 0 || !(offered < servers))
        return NAN;
    const double blocked = queueing_erlang_b(servers, offered);
    const double load = offered / servers;
    return blocked / (1 - load * (1 - blocked));
}

double queueing_mmc_wait(double rate, double mean, uint32_t servers)
{
    const double offered = rate * mean;
    return queueing_erlang_c(servers, offered) * mean / (servers - offered);
}

double queueing_mm1_sojourn_quantile(double rate, double mean, double p)
{
    const double load = rate * mean;
    return load < 1 ? -log1p(-p) * mean / (1 - load) : NAN;
}

double queueing_mg1_wait(double rate, double mean, double cv)
{
    const double load = rate * mean;
    return load < 1 ? load * mean * (1 + cv * cv) / (2 * (1 - load)) : NAN;
}

struct birth_death {
    double customers;  /* mean number present */
    double throughput; /* completions per unit of time */
    double full;       /* probability of the last state */
};

/* Solves the birth-death chain on states 0..last. Births occur at `rate`, or for a finite source at
 * (last − n) × rate from state n. */
static struct birth_death birth_death_solve(double rate, double mean, uint32_t servers,
                                            uint32_t last, bool finite_source)
{
    struct birth_death sum = {0, 0, 0};
    double weight = 1;
    double total = 0;
    for (uint32_t n = 0;; n++) {
        const double serving = n < servers ? n : servers;
        total += weight;
        sum.customers += weight * n;
        sum.throughput += weight * serving / mean;
        if (n == last)
            break;
        const double births = finite_source ? rate * (last - n) : rate;
        weight *= births * mean / (n + 1 < servers ? n + 1 : servers);
        /* Only ratios matter. Rescaling prevents overflow for long queues under overload. */
        if (weight > 1e250) {
            weight /= 1e250;
            total /= 1e250;
            sum.customers /= 1e250;
            sum.throughput /= 1e250;
        }
    }
    sum.customers /= total;
    sum.throughput /= total;
    sum.full = weight / total;
    return sum;
}

double queueing_mmck_loss(double rate, double mean, uint32_t servers, uint32_t places)
{
    if (servers == 0 || places < servers)
        return NAN;
    return birth_death_solve(rate, mean, servers, places, false).full;
}

double queueing_mmck_wait(double rate, double mean, uint32_t servers, uint32_t places)
{
    if (servers == 0 || places < servers)
        return NAN;
    const struct birth_death state = birth_death_solve(rate, mean, servers, places, false);
    return state.customers / state.throughput - mean;
}

double queueing_closed_response(uint32_t users, double think, double mean, uint32_t servers)
{
    if (users == 0 || servers == 0 || !(think > 0))
        return NAN;
    const struct birth_death state = birth_death_solve(1 / think, mean, servers, users, true);
    return state.customers / state.throughput;
}

/* Workspace for the eigenproblems of chains on at most 0..size-1. */
struct passage {
    double rate;  /* of births */
    double death; /* per customer */
    gsl_matrix *matrix;
    gsl_matrix *vectors;
    gsl_vector *values;
};

static bool passage_open(struct passage *passage, double rate, double death, size_t size)
{
    *passage = (struct passage){
        .rate = rate,
        .death = death,
        .matrix = gsl_matrix_alloc(size, size),
        .vectors = gsl_matrix_alloc(size, size),
        .values = gsl_vector_alloc(size),
    };
    return passage->matrix != NULL && passage->vectors != NULL && passage->values != NULL;
}

static void passage_close(struct passage *passage)
{
    gsl_matrix_free(passage->matrix);
    gsl_matrix_free(passage->vectors);
    gsl_vector_free(passage->values);
}

/* Log of the stationary weight of n customers, up to a constant. */
static double log_weight(const struct passage *passage, size_t n)
{
    return (double)n * log(passage->rate / passage->death) - lgamma((double)n + 1);
}

/* Returns the probability that the busy count of M/M/∞ needs longer than `time` to pass from n to n
 * + 1. A birth in state n is absorbing, so the generator covers states 0..n. Scaling by the roots
 * of the stationary weights makes it symmetric. Its eigenvalues are the decay rates of the survival
 * probability. */
static double passage_survival(struct passage *passage, size_t n, double time)
{
    const size_t size = n + 1;
    gsl_matrix_view matrix = gsl_matrix_submatrix(passage->matrix, 0, 0, size, size);
    gsl_matrix_view vectors = gsl_matrix_submatrix(passage->vectors, 0, 0, size, size);
    gsl_vector_view values = gsl_vector_subvector(passage->values, 0, size);
    gsl_matrix_set_zero(&matrix.matrix);
    for (size_t i = 0; i < size; i++) {
        gsl_matrix_set(&matrix.matrix, i, i, -(passage->rate + (double)i * passage->death));
        if (i > 0) {
            const double across = sqrt(passage->rate * (double)i * passage->death);
            gsl_matrix_set(&matrix.matrix, i, i - 1, across);
            gsl_matrix_set(&matrix.matrix, i - 1, i, across);
        }
    }
    gsl_eigen_symmv_workspace *workspace = gsl_eigen_symmv_alloc(size);
    if (workspace == NULL)
        return NAN;
    gsl_eigen_symmv(&matrix.matrix, &values.vector, &vectors.matrix, workspace);
    gsl_eigen_symmv_free(workspace);
    double survival = 0;
    for (size_t k = 0; k < size; k++) {
        double sum = 0;
        for (size_t i = 0; i < size; i++)
            sum += gsl_matrix_get(&vectors.matrix, i, k) *
                   exp((log_weight(passage, i) - log_weight(passage, n)) / 2);
        survival += gsl_matrix_get(&vectors.matrix, n, k) * sum *
                    exp(gsl_vector_get(&values.vector, k) * time);
    }
    return survival;
}

double queueing_pool_cold_probability(double rate, double mean, double keep_alive)
{
    const double offered = rate * mean;
    /* Beyond `most` the Poisson tail is below 1e-15. */
    const size_t most = (size_t)(offered + 10 * sqrt(offered) + 20);
    struct passage passage;
    double cold = NAN;
    if (passage_open(&passage, rate, 1 / mean, most + 1)) {
        cold = 0;
        for (size_t n = 0; n <= most; n++) {
            const double busy = exp(log_weight(&passage, n) - offered);
            if (busy > 1e-16)
                cold += busy * passage_survival(&passage, n, keep_alive);
        }
    }
    passage_close(&passage);
    return cold;
}
