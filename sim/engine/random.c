#include "sim/engine/random.h"

#include <assert.h>

#include <gsl/gsl_randist.h>

/* GSL has neither streams nor jump-ahead, hence a `gsl_rng_type` of our own: Philox4x32-10 (Salmon,
 * Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11), a keyed bijection of a
 * 128-bit counter. The seed is the key. The counter is (block number, a, purpose and b), so two
 * streams never share a block. One block gives two 64-bit outputs, the lower words first. */
#define PHILOX_MULTIPLIER_0 0xD2511F53u
#define PHILOX_MULTIPLIER_1 0xCD9E8D57u
#define PHILOX_WEYL_0 0x9E3779B9u
#define PHILOX_WEYL_1 0xBB67AE85u

void random_philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)PHILOX_MULTIPLIER_0 * c0;
        uint64_t product1 = (uint64_t)PHILOX_MULTIPLIER_1 * c2;
        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)product1;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)product0;
        k0 += PHILOX_WEYL_0;
        k1 += PHILOX_WEYL_1;
    }
    output[0] = c0;
    output[1] = c1;
    output[2] = c2;
    output[3] = c3;
}

void random_philox_refill(struct random_philox_state *state)
{
    uint32_t output[4];
    random_philox_block(state->counter, state->key, output);
    state->counter[0]++;
    state->ready[0] = (uint64_t)output[1] << 32 | output[0];
    state->ready[1] = (uint64_t)output[3] << 32 | output[2];
    state->ready_next = 0;
}

static void philox_start(struct random_philox_state *state, uint64_t seed,
                         enum random_purpose purpose, uint64_t a, uint32_t b)
{
    assert((uint32_t)purpose < 256 && b < 1u << 24);
    state->key[0] = (uint32_t)seed;
    state->key[1] = (uint32_t)(seed >> 32);
    state->counter[0] = 0;
    state->counter[1] = (uint32_t)a;
    state->counter[2] = (uint32_t)(a >> 32);
    state->counter[3] = (uint32_t)purpose << 24 | b;
    state->ready_next = 2;
}

static void philox_set(void *state, unsigned long seed)
{
    philox_start(state, seed, RANDOM_TEST, 0, 0);
}

static inline uint64_t philox_next(struct random_philox_state *state)
{
    if (state->ready_next == 2)
        random_philox_refill(state);
    return state->ready[state->ready_next++];
}

static unsigned long philox_get(void *state)
{
    return philox_next(state);
}

static double philox_get_double(void *state)
{
    return (double)(philox_next(state) >> 11) * 0x1p-53;
}

_Static_assert(sizeof(unsigned long) == 8, "GSL hands out unsigned long; 64 bits are promised");

static const gsl_rng_type philox_type = {
    "philox",   UINT64_MAX,       0, sizeof(struct random_philox_state), philox_set,
    philox_get, philox_get_double};

const gsl_rng_type *const random_philox = &philox_type;

void random_stream_open(struct random_stream *stream, uint64_t seed, enum random_purpose purpose,
                        uint64_t a, uint32_t b)
{
    stream->rng.type = &philox_type;
    stream->rng.state = &stream->state;
    philox_start(&stream->state, seed, purpose, a, b);
}

double random_noise(struct random_stream *stream, double cv)
{
    if (cv == 0)
        return 1;
    double variance_of_log = log1p(cv * cv);
    double noise = gsl_ran_lognormal(&stream->rng, -variance_of_log / 2, sqrt(variance_of_log));
    /* exp and log of the C library differ in the last place between processors with and without
     * fused multiply-add. Rounding to multiples of 2^-30 makes the result the same on both. */
    return nearbyint(noise * 0x1p30) * 0x1p-30;
}
