/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11,
 * section 3.3 and table 2): a keyed bijection of a 128-bit counter. Eight blocks at once take a
 * third of what they take one by one, or less where the processor has wider vectors; the numbers
 * are the same.
 */
#ifndef ESGSIM_SIM_PHILOX_H
#define ESGSIM_SIM_PHILOX_H

#include <stdint.h>

enum { PHILOX_EIGHT = 8 };

/* Counters of eight blocks: word w of block i is word[w][i]. */
struct philox_counters {
    uint32_t word[4][PHILOX_EIGHT];
};

/* Their outputs, two of 64 bits a block: words 0 and 1, and words 2 and 3, the lower first. */
struct philox_outputs {
    uint64_t first[PHILOX_EIGHT], second[PHILOX_EIGHT];
};

/* One block, word by word. */
void philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t output[4]);

/* Eight blocks under the key (low, then high half of `key`). */
void philox_eight(const struct philox_counters *counters, uint64_t key,
                  struct philox_outputs *outputs);

/* The ways in which philox_eight computes on one processor or another, for tests. */
enum philox_way { PHILOX_PLAIN, PHILOX_SSE2, PHILOX_AVX2, PHILOX_WAYS };

/* philox_eight in one way; 0, and nothing computed, where this processor has not got it. */
int philox_eight_by(enum philox_way way, const struct philox_counters *counters, uint64_t key,
                    struct philox_outputs *outputs);

#endif
