/* Time sharing of a GPU: FaST-GShare's token scheduler (ICPP'23, FaST-Manager) and its fluid limit.
 *
 * The token scheduler [code: KontonGu/ST-vGPU, fast_scheduler]: in a sliding window of 40 ms a pod
 * shall get at least request × window and at most limit × window of token time. While it holds a
 * token it uses its share of the SMs. Whenever a token may be granted, pods below their request
 * come first, by the larger unmet fraction of it. The others follow by the least use (ties: the
 * longest waiting [derived]). Each grant is a slice of request × window, as long as the shares of
 * all holders fit the GPU.
 *
 * The fluid limit [derived] replaces tokens in the simulator: each working pod proceeds at a rate ρ
 * ∈ [request, limit] of its share's speed, with Σ share × ρ within the GPU. Every pod gets its
 * request. The remaining time goes to the pods below their limit, lowest rate first (least use),
 * which is water-filling.
 *
 * The fluid limit is a relaxation, which favours the policy. Shares that do not pack (three of 60 %
 * cannot take turns two at a time) may get more rate than tokens could give them. The policy's
 * requests are rectangles that pack, so its guarantees can be met; only lent time may be
 * unrealisable. Real tokens are whole slices: with all time requested, some pods get more than
 * their request while others miss theirs, by up to a sixth of the time in the tests.
 */
#ifndef ESGSIM_SCHED_FAST_GSHARE_TOKENS_H
#define ESGSIM_SCHED_FAST_GSHARE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct token_pod {
    uint32_t share;        /* share of the GPU while it holds a token */
    double request, limit; /* fractions of time, 0 < request <= limit <= 1 */
};

/* Fills rates[i] ∈ [request, limit] of each pod so that Σ share × rate <= capacity, with nothing
 * left over unless all are at their limit. False, with rates = request, where the requests alone
 * exceed the capacity. O(count²). */
bool tokens_fluid(uint32_t capacity, const struct token_pod *pods, size_t count, double *rates);

#endif
