/* Who uses a GPU when: FaST-GShare's token scheduler (ICPP'23, FaST-Manager) and its fluid limit.
 *
 * The token scheduler [code: KontonGu/ST-vGPU, fast_scheduler]: over a sliding window of 40 ms a
 * pod is to have at least request × window and at most limit × window of token time, and while it
 * holds a token it uses its share of the SMs. Whenever one may be granted, the pods below their
 * request come first, by the larger unmet fraction of it, then the others by the least used
 * (ties: who waits longest [derived]); each is granted a slice of request × window as long as the
 * shares of all holders are within the GPU.
 *
 * The fluid limit [derived] replaces tokens in the simulator: each working pod proceeds at rate
 * ρ ∈ [request, limit] of its share's speed, Σ share × ρ within the GPU. Every pod has its request,
 * the rest of the time area goes to those that are not at their limit, the lowest rate first (least
 * used), which is water-filling. It is a relaxation: shares that do not pack (three of 60 % cannot
 * take turns two at a time) may have more rate in it than tokens could give them. The policy's
 * requests are rectangles that pack, so what it guarantees can be kept; only lent time may not. Nor
 * is a token's slice fluid: with all time requested, pods that have theirs are served whole slices
 * while others fall short, by up to a sixth of the time in the tests. The fluid flatters.
 */
#ifndef ESGSIM_SCHED_FAST_GSHARE_TOKENS_H
#define ESGSIM_SCHED_FAST_GSHARE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct token_pod {
    uint32_t share;        /* of the GPU while it holds a token */
    double request, limit; /* fractions of time, 0 < request <= limit <= 1 */
};

/* Fills rates[i] ∈ [request, limit] of each pod so that Σ share × rate <= capacity, with nothing
 * left over unless all are at their limit. False, with rates = request, where the requests alone
 * exceed the capacity. O(count²). */
bool tokens_fluid(uint32_t capacity, const struct token_pod *pods, size_t count, double *rates);

#endif
