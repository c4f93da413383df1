/* Counter-based random streams behind GSL's generator interface.
 *
 * GSL has no streams and no jump-ahead, so we bring our own `gsl_rng_type`: Philox4x32-10 (Salmon,
 * Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11), a keyed bijection of a
 * 128-bit counter. A stream is named by (seed, purpose, a, b): what request 17 draws for stage 2 is
 * the same whatever was drawn before, by whom, and in which order — this is what makes runs under
 * different policies comparable pair by pair (common random numbers). Opening a stream costs a few
 * assignments; all of gsl_ran_* works on it.
 */
#ifndef ESGSIM_SIM_RANDOM_H
#define ESGSIM_SIM_RANDOM_H

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
    RANDOM_TEST
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
        uint32_t counter[4];
        uint64_t ready[2]; /* outputs of the current block not yet handed out */
        uint32_t ready_count;
    } state;
};

/* Start the stream named (seed, purpose, a, b) from its beginning. `b` < 2^24, purpose < 256. */
void random_stream_open(struct random_stream *stream, uint64_t seed, enum random_purpose purpose,
                        uint64_t a, uint32_t b);

/* One Philox4x32-10 block, exposed for its known-answer test. */
void random_philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]);

/* Lognormal of mean 1 and coefficient of variation cv (cv 0: exactly 1). */
double random_noise(struct random_stream *stream, double cv);

#endif
