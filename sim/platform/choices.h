/* The record of a policy's choices, for "record": "choices" (not a public header).
 *
 * Before each decision the platform notes the features of every queue in which jobs wait. After it,
 * it writes a row per queue, which says whether the policy dispatched from that queue and how. A
 * decision that only dropped requests is left out: it chose no batch, and it did not wait either.
 */
#ifndef ESGSIM_SIM_PLATFORM_CHOICES_H
#define ESGSIM_SIM_PLATFORM_CHOICES_H

#include "sim/platform/state.h"

/* Prepares the record if the run has a recorder of choices. */
void choices_init(struct platform *platform);
/* A job entered the queue. */
void choices_job_ready(struct platform *platform, uint32_t queue);
/* A batch of the policy has released its resources. */
void choices_batch_finished(struct platform *platform, const struct finished_batch *batch);
/* The policy is about to decide. Asks policy.shadow first, if there is one, whose choices are then
 * recorded in place of the policy's. O(queues that are not empty). */
void choices_begin(struct platform *platform);
/* It dispatched `jobs` jobs of the queue, or policy.shadow would. Only the first batch of a queue
 * in a decision counts; returns whether it is one. */
bool choices_dispatched(struct platform *platform, uint32_t queue, uint32_t configuration,
                        uint32_t jobs);
/* It has decided: writes the rows. */
void choices_end(struct platform *platform);

#endif
