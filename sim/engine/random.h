/* Counter-based random streams behind GSL's generator interface.
 *
 * GSL has no streams and no jump-ahead, so we bring our own `gsl_rng_type`: Philox4x32-10 (Salmon,
 * Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11), a keyed bijection of a
 * 128-bit counter. A stream is named by (seed, purpose, a, b): what request 17 draws for stage 2 is
 * the same whatever was drawn before, by whom, and in which order — this is what makes runs under
 * different policies comparable pair by pair (common random numbers). Opening a stream costs a few
 * assignments; all of gsl_ran_* works on it.
 *
 * The seed is the key; the counter is (block number, a, purpose and b), so two names never share a
 * block. One block gives two 64-bit outputs, the lower words first. A stream repeats after 2^33
 * outputs.
 */
#ifndef ESGSIM_SIM_ENGINE_RANDOM_H
#define ESGSIM_SIM_ENGINE_RANDOM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <gsl/gsl_rng.h>

/* What a stream is for; part of its name, so that no two uses share numbers. Append only. */
enum random_purpose {
    RANDOM_ARRIVAL,     /* a = request (interval before it) */
    RANDOM_APPLICATION, /* a = request */
    RANDOM_NOISE,       /* a = request, b = stage: execution noise, or whole service time */
    RANDOM_COLD_START,  /* a = request of the batch's head job, b = stage */
    RANDOM_PREWARM,     /* a = serial number of the prewarmed container */
    RANDOM_THINK,       /* a = request, closed process */
    RANDOM_MMPP,        /* a = transition */
    RANDOM_TRACE_BIN,   /* a = bin, b = source */
    RANDOM_POLICY,      /* a, b: the policy's own */
    RANDOM_TEST,
    RANDOM_EMULATED, /* a = number of the batch: what it takes other than the model says */
    RANDOM_BOOTSTRAP /* a = replicate: blocks drawn for an interval */
};

/* Philox as a GSL generator type, 64-bit outputs, name "philox". gsl_rng_set(r, s) is
 * random_stream_open(stream, s, RANDOM_TEST, 0, 0). */
extern const gsl_rng_type *const random_philox;

/* A generator held by value: no allocation. Use `&stream.rng` with gsl_ran_*. Not copyable (the
 * gsl_rng points into the structure). */
struct random_stream {
    gsl_rng rng;
    struct random_philox_state {
        uint32_t key[2];
        uint32_t counter[4]; /* of the next block to compute */
        uint32_t ready_next; /* the first output not yet handed out */
        uint64_t ready[2];   /* outputs of the last block */
    } state;
};

/* Start the stream named (seed, purpose, a, b) from its beginning. `b` < 2^24, purpose < 256
 * (asserted). */
void random_stream_open(struct random_stream *stream, uint64_t seed, enum random_purpose purpose,
                        uint64_t a, uint32_t b);

/* One block under the key, word by word. */
void random_philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]);

/* Computes the next block once its outputs are handed out; called by random_uint64. */
void random_philox_refill(struct random_philox_state *state);

/* The next 64 bits, as gsl_rng_get(&stream->rng) gives them, without the calls through pointers. */
static inline uint64_t random_uint64(struct random_stream *stream)
{
    struct random_philox_state *state = &stream->state;
    if (state->ready_next == 2)
        random_philox_refill(state);
    return state->ready[state->ready_next++];
}

/* Uniform in [0, 1), 53 bits; as gsl_rng_uniform(&stream->rng). */
static inline double random_uniform(struct random_stream *stream)
{
    return (double)(random_uint64(stream) >> 11) * 0x1p-53;
}

/* Exponential of the given mean, from one uniform: gsl_ran_exponential's inversion. With 53 bits 1
 * - u is exact, so log serves where GSL calls the slower log1p; the two agree to the last place or
 * so. */
static inline double random_exponential(struct random_stream *stream, double mean)
{
    return -mean * log(1 - random_uniform(stream));
}

/* gsl_ran_exponential(&stream->rng, mean), bit for bit, without the calls through pointers. */
static inline double random_exponential_gsl(struct random_stream *stream, double mean)
{
    return -mean * log1p(-random_uniform(stream));
}

/* Lognormal of mean 1 and coefficient of variation cv >= 0 (cv 0: exactly 1, nothing drawn), in
 * steps of 2^-30, so that every processor draws the same. */
double random_noise(struct random_stream *stream, double cv);

#endif
