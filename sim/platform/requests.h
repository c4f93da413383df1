/* Requests, their jobs and the AFW queues (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_REQUESTS_H
#define ESGSIM_SIM_PLATFORM_REQUESTS_H

#include "sim/platform/state.h"

/* Makes the empty queues. False when out of memory. */
bool jobs_init(struct platform *platform);
/* Frees what jobs_init and the run allocated. */
void jobs_clear(struct platform *platform);
/* Admits a request that arrives now and readies its source jobs. */
void jobs_admit(struct platform *platform, uint32_t application, sim_time_t slo, uint32_t user);
/* Takes the oldest `count` jobs off queue `id`, linked through job.next; returns the first. */
uint32_t jobs_take(struct platform *platform, uint32_t id, uint32_t count);
/* The same off the buffer of an instance. */
uint32_t jobs_take_buffered(struct platform *platform, uint32_t instance, uint32_t count);
/* The oldest job of queue `id` goes to the end of the buffer of `instance`. */
void jobs_route(struct platform *platform, uint32_t id, uint32_t instance);
/* All jobs buffered at `instance` go back into their queues, each before those younger than it. */
void jobs_return(struct platform *platform, uint32_t instance);
/* Little's law of a queue or buffer that is empty for good; fails the run where it is broken. */
void jobs_check_queue(struct platform *platform, struct queue *queue, const char *what,
                      uint32_t id);
/* A job of a finished batch is done: readies its successors, ends the request with its last job. */
void jobs_done(struct platform *platform, uint32_t job);
/* Gives up the request in `slot`: its waiting jobs leave their queues. */
void jobs_drop(struct platform *platform, uint32_t slot);
/* Checks that nothing waits and that Little's law held in every queue. */
bool jobs_check(struct platform *platform);

/* The queue that job waits in, or came from. */
uint32_t job_queue(const struct platform *platform, uint32_t job);

/* The job at `position`, 0 for the oldest, of a queue with more jobs than that. */
static inline uint32_t queue_job(const struct queue *queue, uint32_t position)
{
    return queue->ring[(queue->head + position) & (queue->capacity - 1)];
}

/* The slot of the request that the job is part of. */
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
