#include "sim/random.h"

#include <assert.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <gsl/gsl_randist.h>

/* Multipliers and Weyl increments of Philox4x32 (Salmon et al. 2011, section 3.3 and table 2). */
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

#ifdef __SSE2__
/* Pairs of blocks side by side: each word of a block in the low half of a 64-bit lane, the high
 * half left to hold rubbish, since the one instruction that looks at more than 32 bits of a lane is
 * the shift that brings a product's high word down. */
enum { PHILOX_PAIRS = RANDOM_BLOCKS_AHEAD / 2 };

struct philox_pairs {
    __m128i word[4][PHILOX_PAIRS];
};

static inline void philox_round_pairs(struct philox_pairs *blocks, uint32_t key0, uint32_t key1)
{
    const __m128i multiplier0 = _mm_set1_epi64x(PHILOX_MULTIPLIER_0);
    const __m128i multiplier1 = _mm_set1_epi64x(PHILOX_MULTIPLIER_1);
    const __m128i k0 = _mm_set1_epi64x(key0), k1 = _mm_set1_epi64x(key1);
#pragma GCC unroll 8
    for (int i = 0; i < PHILOX_PAIRS; i++) {
        __m128i product0 = _mm_mul_epu32(multiplier0, blocks->word[0][i]);
        __m128i product1 = _mm_mul_epu32(multiplier1, blocks->word[2][i]);
        __m128i high0 = _mm_srli_epi64(product0, 32), high1 = _mm_srli_epi64(product1, 32);
        blocks->word[0][i] = _mm_xor_si128(_mm_xor_si128(high1, k0), blocks->word[1][i]);
        blocks->word[1][i] = product1;
        blocks->word[2][i] = _mm_xor_si128(_mm_xor_si128(high0, k1), blocks->word[3][i]);
        blocks->word[3][i] = product0;
    }
}

/* A pair's outputs: (low word, high word) of each block joined to 64 bits. */
static inline __m128i philox_join(__m128i low, __m128i high)
{
    const __m128i low_half = _mm_set1_epi64x(0xFFFFFFFF);
    return _mm_or_si128(_mm_and_si128(low, low_half), _mm_slli_epi64(high, 32));
}

static inline void philox_rounds_pairs(struct philox_pairs *blocks, uint32_t key0, uint32_t key1)
{
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        philox_round_pairs(blocks, key0, key1);
        key0 += PHILOX_WEYL_0;
        key1 += PHILOX_WEYL_1;
    }
}

static void philox_compute_ahead(struct random_philox_state *state)
{
    struct philox_pairs blocks;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < PHILOX_PAIRS; i++) {
        uint32_t first = state->counter[0] + 2 * i;
        blocks.word[0][i] = _mm_set_epi64x((uint32_t)(first + 1), first);
        blocks.word[1][i] = _mm_set1_epi64x(state->counter[1]);
        blocks.word[2][i] = _mm_set1_epi64x(state->counter[2]);
        blocks.word[3][i] = _mm_set1_epi64x(state->counter[3]);
    }
    philox_rounds_pairs(&blocks, state->key[0], state->key[1]);
#pragma GCC unroll 8
    for (int i = 0; i < PHILOX_PAIRS; i++) {
        __m128i even = philox_join(blocks.word[0][i], blocks.word[1][i]);
        __m128i odd = philox_join(blocks.word[2][i], blocks.word[3][i]);
        __m128i *ready = (__m128i *)&state->ready[4 * i];
        _mm_storeu_si128(ready, _mm_unpacklo_epi64(even, odd));
        _mm_storeu_si128(ready + 1, _mm_unpackhi_epi64(even, odd));
    }
    state->counter[0] += RANDOM_BLOCKS_AHEAD;
}

static void philox_compute_firsts(struct random_firsts *firsts, uint64_t seed, uint32_t last_word,
                                  uint64_t a)
{
    struct philox_pairs blocks;
#pragma GCC unroll 8
    for (uint32_t i = 0; i < PHILOX_PAIRS; i++) {
        const uint64_t one = a + 2 * i, next = one + 1;
        blocks.word[0][i] = _mm_setzero_si128();
        blocks.word[1][i] = _mm_set_epi64x((uint32_t)next, (uint32_t)one);
        blocks.word[2][i] = _mm_set_epi64x((uint32_t)(next >> 32), (uint32_t)(one >> 32));
        blocks.word[3][i] = _mm_set1_epi64x(last_word);
    }
    philox_rounds_pairs(&blocks, (uint32_t)seed, (uint32_t)(seed >> 32));
#pragma GCC unroll 8
    for (int i = 0; i < PHILOX_PAIRS; i++) {
        _mm_storeu_si128((__m128i *)&firsts->bits[0][2 * i],
                         philox_join(blocks.word[0][i], blocks.word[1][i]));
        _mm_storeu_si128((__m128i *)&firsts->bits[1][2 * i],
                         philox_join(blocks.word[2][i], blocks.word[3][i]));
    }
}
#endif

static void philox_compute(struct random_philox_state *state, uint32_t blocks)
{
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t output[4];
        random_philox_block(state->counter, state->key, output);
        state->counter[0]++;
        state->ready[2 * i] = (uint64_t)output[1] << 32 | output[0];
        state->ready[2 * i + 1] = (uint64_t)output[3] << 32 | output[2];
    }
}

void random_philox_refill(struct random_philox_state *state)
{
    uint32_t blocks = state->counter[0] < RANDOM_BLOCKS_ALONE ? 1 : RANDOM_BLOCKS_AHEAD;
#ifdef __SSE2__
    if (blocks == RANDOM_BLOCKS_AHEAD)
        philox_compute_ahead(state);
    else
#endif
        philox_compute(state, blocks);
    state->ready_next = 0;
    state->ready_end = 2 * blocks;
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
#ifdef __SSE2__
    philox_compute_firsts(firsts, seed, (uint32_t)purpose << 24 | b, a);
#else
    for (uint64_t i = 0; i < RANDOM_BLOCKS_AHEAD; i++) {
        struct random_stream stream;
        random_stream_open(&stream, seed, purpose, a + i, b);
        firsts->bits[0][i] = random_uint64(&stream);
        firsts->bits[1][i] = random_uint64(&stream);
    }
#endif
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
