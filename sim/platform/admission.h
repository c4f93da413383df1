/* Requests that the platform drops by platform.admission (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_ADMISSION_H
#define ESGSIM_SIM_PLATFORM_ADMISSION_H

#include "sim/platform/state.h"

/* Computes the fastest way through the rest of an application from each of its stages, by planning
 * times and without waiting, transfers or cold starts; for a rate also the work of a job in its
 * minimum configuration. Does nothing without an admission. */
void admission_init(struct platform *platform);
/* Notes a job that has just entered a queue. */
void admission_note(struct platform *platform, uint32_t queue, uint32_t job);
/* Drops all waiting requests that even their fastest way cannot save, queue by queue, each from the
 * front. Each drop is a unit of work of the decision that begins. O(queues), and O(jobs) of each
 * queue that loses one. */
void admission_drop_lost(struct platform *platform);
/* Judges the request in `slot`, whose first jobs have just become ready, and drops it if its
 * application has had its rate (load_limit.h). */
void admission_judge(struct platform *platform, uint32_t slot);
/* Learns the work of a job from a batch that has finished now. */
void admission_learn(struct platform *platform, const struct batch *batch,
                     const struct configuration *spec);
/* Learns from the end of a request, unless it was dropped by its rate or by the policy, which then
 * has an admission of its own. */
void admission_outcome(struct platform *platform, const struct request *request, bool hit);

#endif
