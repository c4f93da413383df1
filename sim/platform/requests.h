/* Requests, their jobs and the AFW queues (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_REQUESTS_H
#define ESGSIM_SIM_PLATFORM_REQUESTS_H

#include "sim/platform/state.h"

/* Allocates the empty queues. */
void jobs_init(struct platform *platform);
/* Admits a request that arrives now, and makes its source jobs ready. `slo` 0: the application's.
 */
void jobs_admit(struct platform *platform, uint32_t application, sim_time_t slo, uint32_t user);
/* Begins the request in `slot`: jobs_enter at once, or after platform.ingress_ms. */
void jobs_begin(struct platform *platform, uint32_t slot);
/* Makes the source jobs of the request in `slot` ready. */
void jobs_enter(struct platform *platform, uint32_t slot);
/* Removes the oldest `count` jobs from queue `id`. Returns the first of the list linked by
 * job.next. */
uint32_t jobs_take(struct platform *platform, uint32_t id, uint32_t count);
/* Like jobs_take, from the buffer of an instance. */
uint32_t jobs_take_buffered(struct platform *platform, uint32_t instance, uint32_t count);
/* Moves the oldest job of queue `id` to the end of the buffer of `instance`. */
void jobs_route(struct platform *platform, uint32_t id, uint32_t instance);
/* Moves all jobs in the buffer of `instance` back to their queues, in order of ready times. */
void jobs_return(struct platform *platform, uint32_t instance);
/* Checks Little's law for a queue or buffer that is no longer used. Fails the run if the law is
 * violated or jobs are left. */
void jobs_check_queue(struct platform *platform, struct queue *queue, const char *what,
                      uint32_t id);
/* Completes a job of a finished batch. Makes its successors ready, or ends the request after its
 * last job. */
void jobs_done(struct platform *platform, uint32_t job);
/* Drops the request in `slot`, and removes its waiting jobs from their queues. */
void jobs_drop(struct platform *platform, uint32_t slot);
/* Checks at the end of a run that no jobs are waiting and that Little's law holds for every queue.
 */
bool jobs_check(struct platform *platform);

/* Returns the queue of the job, also after the job has left it. */
uint32_t job_queue(const struct platform *platform, uint32_t job);
/* The same draw on a kind of GPU where kinds have unlike noise. */
double job_noise_unlike(const struct platform *platform, uint32_t job, size_t kind);

/* Returns the job's noise on a kind of GPU: a factor, or the service time in ms at speed 1. */
static inline double job_noise(const struct platform *platform, uint32_t job, size_t kind)
{
    return platform->unlike_noise ? job_noise_unlike(platform, job, kind)
                                  : platform->jobs[job].noise;
}

/* Returns the job at `position` (0: the oldest). The queue must have more jobs than that. */
static inline uint32_t queue_job(const struct queue *queue, uint32_t position)
{
    return queue->ring[(queue->head + position) & (queue->capacity - 1)];
}

/* Returns the slot of the job's request. */
static inline uint32_t job_slot(const struct platform *platform, uint32_t job)
{
    return job >> platform->slot_shift;
}

static inline uint32_t job_stage(const struct platform *platform, uint32_t job)
{
    return job & (platform->stride - 1);
}

static inline struct request *job_request(const struct platform *platform, uint32_t job)
{
    return &platform->requests[job_slot(platform, job)];
}

#endif
