#include "sim/philox.h"

#include <string.h>

#define PHILOX_MULTIPLIER_0 0xD2511F53u
#define PHILOX_MULTIPLIER_1 0xCD9E8D57u
#define PHILOX_WEYL_0 0x9E3779B9u
#define PHILOX_WEYL_1 0xBB67AE85u

void philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4])
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

static void eight_plain(const struct philox_counters *counters, uint64_t key,
                        struct philox_outputs *outputs)
{
    const uint32_t halves[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    for (int i = 0; i < PHILOX_EIGHT; i++) {
        const uint32_t counter[4] = {counters->word[0][i], counters->word[1][i],
                                     counters->word[2][i], counters->word[3][i]};
        uint32_t output[4];
        philox_block(counter, halves, output);
        outputs->first[i] = (uint64_t)output[1] << 32 | output[0];
        outputs->second[i] = (uint64_t)output[3] << 32 | output[2];
    }
}

#ifdef __x86_64__
#include <immintrin.h>

#define LANES 2
#define VECTOR __m128i
#define OP(name) _mm_##name
#define NAME(stem) sse2_##stem
#define TARGET
static inline VECTOR sse2_load(const uint32_t words[2])
{
    return _mm_set_epi64x(words[1], words[0]);
}
#include "sim/philox_lanes.h"
#undef LANES
#undef VECTOR
#undef OP
#undef NAME
#undef TARGET

#define LANES 4
#define VECTOR __m256i
#define OP(name) _mm256_##name
#define NAME(stem) avx2_##stem
#define TARGET __attribute__((target("avx2")))
TARGET static inline VECTOR avx2_load(const uint32_t words[4])
{
    return _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)words));
}
#include "sim/philox_lanes.h"
#endif

int philox_eight_by(enum philox_way way, const struct philox_counters *counters, uint64_t key,
                    struct philox_outputs *outputs)
{
    switch (way) {
    case PHILOX_PLAIN:
        eight_plain(counters, key, outputs);
        return 1;
#ifdef __x86_64__
    case PHILOX_SSE2:
        sse2_eight(counters, key, outputs);
        return 1;
    case PHILOX_AVX2:
        if (!__builtin_cpu_supports("avx2"))
            return 0;
        avx2_eight(counters, key, outputs);
        return 1;
#endif
    default:
        return 0;
    }
}

void philox_eight(const struct philox_counters *counters, uint64_t key,
                  struct philox_outputs *outputs)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        avx2_eight(counters, key, outputs);
    else
        sse2_eight(counters, key, outputs);
#else
    eight_plain(counters, key, outputs);
#endif
}
