/* Eight Philox blocks in vectors of LANES 64-bit lanes, a word of a block in the low half of each;
 * the high half is left to hold rubbish, since the one instruction that looks at more than 32 bits
 * of a lane is the shift that brings a product's high word down.
 *
 * Included by philox.c once for every width, with LANES, VECTOR (the type), OP (an intrinsic by its
 * name after the prefix), NAME (of a function by its stem) and TARGET (a function's attribute);
 * nothing without them.
 */
#ifdef LANES
struct NAME(words) {
    VECTOR word[4][PHILOX_EIGHT / LANES];
};

TARGET static inline void NAME(round)(struct NAME(words) * blocks, uint32_t key0, uint32_t key1)
{
    const VECTOR multiplier0 = OP(set1_epi64x)(PHILOX_MULTIPLIER_0);
    const VECTOR multiplier1 = OP(set1_epi64x)(PHILOX_MULTIPLIER_1);
    const VECTOR k0 = OP(set1_epi64x)(key0), k1 = OP(set1_epi64x)(key1);
#pragma GCC unroll 8
    for (int i = 0; i < PHILOX_EIGHT / LANES; i++) {
        const VECTOR product0 = OP(mul_epu32)(multiplier0, blocks->word[0][i]);
        const VECTOR product1 = OP(mul_epu32)(multiplier1, blocks->word[2][i]);
        blocks->word[0][i] = OP(srli_epi64)(product1, 32) ^ k0 ^ blocks->word[1][i];
        blocks->word[1][i] = product1;
        blocks->word[2][i] = OP(srli_epi64)(product0, 32) ^ k1 ^ blocks->word[3][i];
        blocks->word[3][i] = product0;
    }
}

/* (low word, high word) of each block joined to 64 bits. */
TARGET static inline VECTOR NAME(join)(VECTOR low, VECTOR high)
{
    return (low & OP(set1_epi64x)(0xFFFFFFFF)) | OP(slli_epi64)(high, 32);
}

TARGET static void NAME(eight)(const struct philox_counters *counters, uint64_t key,
                               struct philox_outputs *outputs)
{
    struct NAME(words) blocks;
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
#pragma GCC unroll 8
    for (int i = 0; i < PHILOX_EIGHT / LANES; i++)
        for (int w = 0; w < 4; w++)
            blocks.word[w][i] = NAME(load)(&counters->word[w][LANES * i]);
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        NAME(round)(&blocks, key0, key1);
        key0 += PHILOX_WEYL_0;
        key1 += PHILOX_WEYL_1;
    }
#pragma GCC unroll 8
    for (int i = 0; i < PHILOX_EIGHT / LANES; i++) {
        const VECTOR first = NAME(join)(blocks.word[0][i], blocks.word[1][i]);
        const VECTOR second = NAME(join)(blocks.word[2][i], blocks.word[3][i]);
        memcpy(&outputs->first[LANES * i], &first, sizeof first);
        memcpy(&outputs->second[LANES * i], &second, sizeof second);
    }
}
#endif
