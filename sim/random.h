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
#ifndef ESGSIM_SIM_RANDOM_H
#define ESGSIM_SIM_RANDOM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <gsl/gsl_rng.h>

#include "sim/philox.h"

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
    RANDOM_REHEARSAL, /* a = number of the batch: what it takes other than the model says */
    RANDOM_BOOTSTRAP  /* a = replicate: blocks drawn for an interval */
};

/* Philox as a GSL generator type, 64-bit outputs, name "philox". gsl_rng_set(r, s) is
 * random_stream_open(stream, s, RANDOM_TEST, 0, 0). */
extern const gsl_rng_type *const random_philox;

/* A stream's first blocks are computed one by one, since most streams are read a few times at most;
 * a stream read on computes several at once, which costs a third per number. */
enum {
    RANDOM_BLOCKS_ALONE = 2,
    RANDOM_BLOCKS_AHEAD = PHILOX_EIGHT,
    RANDOM_EXPONENTIALS_AHEAD = 16
};

/* A generator held by value: no allocation. Use `&stream.rng` with gsl_ran_*. Not copyable (the
 * gsl_rng points into the structure). */
struct random_stream {
    gsl_rng rng;
    struct random_philox_state {
        uint32_t key[2];
        uint32_t counter[4];                     /* of the next block to compute */
        uint32_t ready_next;                     /* the first output not yet handed out */
        uint32_t ready_end;                      /* end of the outputs computed */
        uint64_t ready[2 * RANDOM_BLOCKS_AHEAD]; /* outputs computed */
    } state;
};

/* Start the stream named (seed, purpose, a, b) from its beginning. `b` < 2^24, purpose < 256
 * (asserted). */
void random_stream_open(struct random_stream *stream, uint64_t seed, enum random_purpose purpose,
                        uint64_t a, uint32_t b);

/* The first two outputs of several streams of consecutive `a`. */
struct random_firsts {
    uint64_t bits[2][RANDOM_BLOCKS_AHEAD];
};

/* Those of the streams (seed, purpose, a + i, b), i < RANDOM_BLOCKS_AHEAD, at a third of what
 * opening them one by one takes, or less. `b` and purpose as for random_stream_open. */
void random_firsts_draw(struct random_firsts *firsts, uint64_t seed, enum random_purpose purpose,
                        uint64_t a, uint32_t b);

/* random_stream_open, where the stream's first two outputs are known. */
void random_stream_open_known(struct random_stream *stream, uint64_t seed,
                              enum random_purpose purpose, uint64_t a, uint32_t b,
                              const uint64_t outputs[static 2]);

/* For streams (seed, purpose, a, b) of which the one after the other begins, a = 17, 18, 19, …:
 * their first outputs are drawn for several at a time. Begin with zeroes; always ask for the same
 * seed, purpose and b. */
struct random_ahead {
    uint64_t begin, end; /* of the streams drawn */
    struct random_firsts firsts;
    bool logged; /* `exponentials` are those of `firsts` */
    double exponentials[RANDOM_BLOCKS_AHEAD];
};

/* Which of `ahead->firsts` belongs to the stream (seed, purpose, a, b). */
static inline uint64_t random_ahead_place(struct random_ahead *ahead, uint64_t seed,
                                          enum random_purpose purpose, uint64_t a, uint32_t b)
{
    if (a < ahead->begin || a >= ahead->end) {
        random_firsts_draw(&ahead->firsts, seed, purpose, a, b);
        ahead->begin = a;
        ahead->end = a + RANDOM_BLOCKS_AHEAD;
        ahead->logged = false;
    }
    return a - ahead->begin;
}

/* Makes `exponentials`, all at once; called by random_ahead_exponential. */
void random_ahead_log(struct random_ahead *ahead);

/* random_exponential_of the first output of the stream at that place. */
static inline double random_ahead_exponential(struct random_ahead *ahead, uint64_t place,
                                              double mean)
{
    if (!ahead->logged)
        random_ahead_log(ahead);
    return mean * ahead->exponentials[place];
}

/* The stream's first output. */
static inline uint64_t random_ahead_first(struct random_ahead *ahead, uint64_t seed,
                                          enum random_purpose purpose, uint64_t a, uint32_t b)
{
    uint64_t place = random_ahead_place(ahead, seed, purpose, a, b);
    return ahead->firsts.bits[0][place];
}

/* Computes the next outputs once all are handed out; called by random_uint64. */
void random_philox_refill(struct random_philox_state *state);

/* The next 64 bits, as gsl_rng_get(&stream->rng) gives them, without the calls through pointers. */
static inline uint64_t random_uint64(struct random_stream *stream)
{
    struct random_philox_state *state = &stream->state;
    if (state->ready_next == state->ready_end)
        random_philox_refill(state);
    return state->ready[state->ready_next++];
}

/* 64 random bits as a uniform number in [0, 1) of 53 bits. */
static inline double random_uniform_of(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

/* Uniform in [0, 1), 53 bits; as gsl_rng_uniform(&stream->rng). */
static inline double random_uniform(struct random_stream *stream)
{
    return random_uniform_of(random_uint64(stream));
}

/* Exponential of the given mean, from one uniform: gsl_ran_exponential's inversion. With 53 bits 1
 * - u is exact, so log serves where GSL calls the slower log1p; the two agree to the last place or
 * so. */
static inline double random_exponential(struct random_stream *stream, double mean)
{
    return -mean * log(1 - random_uniform(stream));
}

/* A stream of nothing but exponentials, of which some are made at a time: the processor works on
 * several logarithms at once, where a caller who waits for each has it work on one. */
struct random_exponentials {
    struct random_stream stream;
    double ahead[RANDOM_EXPONENTIALS_AHEAD]; /* of mean 1 */
    uint32_t next;
};

void random_exponentials_open(struct random_exponentials *exponentials, uint64_t seed,
                              enum random_purpose purpose, uint64_t a, uint32_t b);

/* Makes the next ones once all are handed out; called by random_exponentials_next. */
void random_exponentials_refill(struct random_exponentials *exponentials);

/* What random_exponential would give of the stream next. */
static inline double random_exponentials_next(struct random_exponentials *exponentials, double mean)
{
    if (exponentials->next == RANDOM_EXPONENTIALS_AHEAD)
        random_exponentials_refill(exponentials);
    return mean * exponentials->ahead[exponentials->next++];
}

/* The same made of a uniform number, as GSL makes it. */
static inline double random_exponential_of(double uniform, double mean)
{
    return -mean * log1p(-uniform);
}

/* gsl_ran_exponential(&stream->rng, mean), bit for bit, without the calls through pointers. */
static inline double random_exponential_gsl(struct random_stream *stream, double mean)
{
    return random_exponential_of(random_uniform(stream), mean);
}

/* Lognormal of mean 1 and coefficient of variation cv >= 0 (cv 0: exactly 1, nothing drawn), in
 * steps of 2^-30, so that every processor draws the same. */
double random_noise(struct random_stream *stream, double cv);

#endif
