#include "sim/random.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include <gsl/gsl_randist.h>

/* The next eight blocks of one stream. */
static void philox_compute_ahead(struct random_philox_state *state)
{
    struct philox_counters counters;
    struct philox_outputs outputs;
    for (uint32_t i = 0; i < PHILOX_EIGHT; i++) {
        counters.word[0][i] = state->counter[0] + i;
        counters.word[1][i] = state->counter[1];
        counters.word[2][i] = state->counter[2];
        counters.word[3][i] = state->counter[3];
    }
    philox_eight(&counters, (uint64_t)state->key[1] << 32 | state->key[0], &outputs);
    for (uint32_t i = 0; i < PHILOX_EIGHT; i++) {
        state->ready[2 * i] = outputs.first[i];
        state->ready[2 * i + 1] = outputs.second[i];
    }
    state->counter[0] += PHILOX_EIGHT;
}

static void philox_compute(struct random_philox_state *state)
{
    uint32_t output[4];
    philox_block(state->counter, state->key, output);
    state->counter[0]++;
    state->ready[0] = (uint64_t)output[1] << 32 | output[0];
    state->ready[1] = (uint64_t)output[3] << 32 | output[2];
}

void random_philox_refill(struct random_philox_state *state)
{
    const bool alone = state->counter[0] < RANDOM_BLOCKS_ALONE;
    if (alone)
        philox_compute(state);
    else
        philox_compute_ahead(state);
    state->ready_next = 0;
    state->ready_end = alone ? 2 : 2 * RANDOM_BLOCKS_AHEAD;
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
    state->ready_next = 0;
    state->ready_end = 0;
}

static void philox_set(void *state, unsigned long seed)
{
    philox_start(state, seed, RANDOM_TEST, 0, 0);
}

static inline uint64_t philox_next(struct random_philox_state *state)
{
    if (state->ready_next == state->ready_end)
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

void random_stream_open_known(struct random_stream *stream, uint64_t seed,
                              enum random_purpose purpose, uint64_t a, uint32_t b,
                              const uint64_t outputs[static 2])
{
    random_stream_open(stream, seed, purpose, a, b);
    stream->state.counter[0] = 1;
    stream->state.ready[0] = outputs[0];
    stream->state.ready[1] = outputs[1];
    stream->state.ready_end = 2;
}

void random_firsts_draw(struct random_firsts *firsts, uint64_t seed, enum random_purpose purpose,
                        uint64_t a, uint32_t b)
{
    assert((uint32_t)purpose < 256 && b < 1u << 24);
    struct philox_counters counters;
    struct philox_outputs outputs;
    for (uint32_t i = 0; i < PHILOX_EIGHT; i++) {
        counters.word[0][i] = 0;
        counters.word[1][i] = (uint32_t)(a + i);
        counters.word[2][i] = (uint32_t)((a + i) >> 32);
        counters.word[3][i] = (uint32_t)purpose << 24 | b;
    }
    philox_eight(&counters, seed, &outputs);
    memcpy(firsts->bits[0], outputs.first, sizeof outputs.first);
    memcpy(firsts->bits[1], outputs.second, sizeof outputs.second);
}

void random_ahead_log(struct random_ahead *ahead)
{
    for (uint32_t i = 0; i < RANDOM_BLOCKS_AHEAD; i++)
        ahead->exponentials[i] =
            random_exponential_of(random_uniform_of(ahead->firsts.bits[0][i]), 1);
    ahead->logged = true;
}

void random_exponentials_open(struct random_exponentials *exponentials, uint64_t seed,
                              enum random_purpose purpose, uint64_t a, uint32_t b)
{
    random_stream_open(&exponentials->stream, seed, purpose, a, b);
    exponentials->next = RANDOM_EXPONENTIALS_AHEAD;
}

void random_exponentials_refill(struct random_exponentials *exponentials)
{
    for (uint32_t i = 0; i < RANDOM_EXPONENTIALS_AHEAD; i++)
        exponentials->ahead[i] = random_exponential(&exponentials->stream, 1);
    exponentials->next = 0;
}

double random_noise(struct random_stream *stream, double cv)
{
    if (cv == 0)
        return 1;
    double variance_of_log = log1p(cv * cv);
    double noise = gsl_ran_lognormal(&stream->rng, -variance_of_log / 2, sqrt(variance_of_log));
    /* The C library's exp and log differ in the last place between processors with and without
     * fused multiply-add; a noise of 2^-30 steps does not. */
    return nearbyint(noise * 0x1p30) * 0x1p-30;
}
