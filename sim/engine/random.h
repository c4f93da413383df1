/* Random numbers with names: a draw is found by (seed, purpose, a, b), not by what was drawn
 * before.
 *
 * The draws of request 17 for stage 2 are therefore the same under every policy (common random
 * numbers), and runs can be compared in pairs. Opening a stream costs a few assignments, and it
 * repeats after 2^33 outputs. All gsl_ran_* functions accept it.
 */
#ifndef ESGSIM_SIM_ENGINE_RANDOM_H
#define ESGSIM_SIM_ENGINE_RANDOM_H

#include <math.h>
#include <stdint.h>

#include <gsl/gsl_rng.h>

/* Use of a stream. It is part of the stream's identity, so that no two uses share numbers. Append
 * only, because existing values determine the results of existing seeds. */
enum random_purpose {
    RANDOM_ARRIVAL,     /* a = request: interval before its arrival */
    RANDOM_APPLICATION, /* a = request */
    RANDOM_NOISE,       /* a = request, b = stage: execution noise, or whole service time */
    RANDOM_COLD_START,  /* a = request of the batch's head job, b = stage */
    RANDOM_PREWARM,     /* a = serial number of the prewarmed container */
    RANDOM_THINK,       /* a = request, closed process */
    RANDOM_MMPP,        /* a = transition */
    RANDOM_TRACE_BIN,   /* a = bin, b = source */
    RANDOM_POLICY,      /* a, b: chosen by the policy */
    RANDOM_TEST,
    RANDOM_EMULATED,  /* a = number of the batch: deviation from the modelled time */
    RANDOM_BOOTSTRAP, /* a = replicate: blocks drawn for a confidence interval */
    RANDOM_TRAINING,  /* a = number of the training: interval, gang, duration, model */
    RANDOM_MODULE,    /* platform_random */
    RANDOM_PLANNING,  /* a = hash of the names and values of what a planning error is of */
    RANDOM_FAILURE,   /* a = invoker: times until it fails, and of its outages, in turn */
    RANDOM_PICTURE    /* points that stand for many in a picture */
};

/* Philox as a GSL generator type, with 64-bit outputs and the name "philox". gsl_rng_set(r, s) is
 * equivalent to random_stream_open(stream, s, RANDOM_TEST, 0, 0). */
extern const gsl_rng_type *const random_philox;

/* A generator stored by value, without allocation. Use `&stream.rng` with gsl_ran_*. Must not be
 * copied, because the gsl_rng points into the structure. */
struct random_stream {
    gsl_rng rng;
    struct random_philox_state {
        uint32_t key[2];
        uint32_t counter[4]; /* counter of the next block */
        uint32_t ready_next; /* index of the first unused output */
        uint64_t ready[2];   /* outputs of the last block */
    } state;
};

/* Opens the stream (seed, purpose, a, b) at its beginning. `b` < 2^24, purpose < 256 (asserted). */
void random_stream_open(struct random_stream *stream, uint64_t seed, enum random_purpose purpose,
                        uint64_t a, uint32_t b);
/* Declares a stream and opens it. */
#define RANDOM_STREAM(stream, ...)                                                                 \
    struct random_stream stream;                                                                   \
    random_stream_open(&stream, __VA_ARGS__)

/* Computes the output words of one block: the bijection of `counter` under `key`. */
void random_philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]);

/* Computes the next block after all outputs have been used. Called by random_uint64. */
void random_philox_refill(struct random_philox_state *state);

/* Returns the next 64 bits. The same as gsl_rng_get(&stream->rng), without calls through pointers.
 */
static inline uint64_t random_uint64(struct random_stream *stream)
{
    struct random_philox_state *state = &stream->state;
    if (state->ready_next == 2)
        random_philox_refill(state);
    return state->ready[state->ready_next++];
}

/* Uniform in [0, 1), 53 bits. The same as gsl_rng_uniform(&stream->rng). */
static inline double random_uniform(struct random_stream *stream)
{
    return (double)(random_uint64(stream) >> 11) * 0x1p-53;
}

/* Exponential with the given mean, by inversion of one uniform, as in gsl_ran_exponential. With 53
 * bits 1 - u is exact. So log replaces GSL's slower log1p, and the two differ in about the last
 * place. */
static inline double random_exponential(struct random_stream *stream, double mean)
{
    return -mean * log(1 - random_uniform(stream));
}

/* The same bits as gsl_ran_exponential(&stream->rng, mean), without calls through pointers. */
static inline double random_exponential_gsl(struct random_stream *stream, double mean)
{
    return -mean * log1p(-random_uniform(stream));
}

/* Lognormal with mean 1 and coefficient of variation cv >= 0, in steps of 2^-30, so that results
 * are the same on every processor. For cv 0 it is exactly 1, and nothing is drawn. */
double random_noise(struct random_stream *stream, double cv);

#endif
