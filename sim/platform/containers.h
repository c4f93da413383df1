/* Containers: cold starts, idle times, prewarming and its predictor (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_CONTAINERS_H
#define ESGSIM_SIM_PLATFORM_CONTAINERS_H

#include "sim/platform/state.h"

/* Creates the containers that platform.initial requests, before the first arrival. If memory cannot
 * hold them, the run fails with ERROR_INPUT. */
void containers_init(struct platform *platform);
/* Prewarms a container of `function` on `invoker`: starts it without a batch. False: no room. */
bool containers_prewarm(struct platform *platform, uint32_t function, uint32_t invoker);
/* The same, but an unclaimed container is kept until `until`; 0: as the keep-alive policy says. */
bool containers_prewarm_until(struct platform *platform, uint32_t function, uint32_t invoker,
                              sim_time_t until);
/* Where a batch of `function` with `configuration` may run, by platform.cold_dispatch: on any
 * container, on idle ones, or also on new ones. A function that has a container evicts no other
 * with LATE: functions would evict in turn what each of them waits for. With LATE O(queues). */
enum reach containers_reach(const struct platform *platform, uint32_t function,
                            const struct configuration *configuration);
/* Starts a container for a batch that will take whichever is ready first. Fails the run if memory
 * is exhausted. */
void containers_start(struct platform *platform, uint32_t function,
                      const struct placement *placement);
/* Handles EVENT_CONTAINER_READY: the prewarmed container becomes idle. */
void containers_ready(struct platform *platform, uint32_t id);
/* Draws the duration of the container's cold start. The random number depends only on the seed,
 * `purpose`, `a` and `b`, the distribution on its function and the kind of its GPU. */
sim_time_t containers_draw_cold(const struct platform *platform, const struct container *container,
                                enum random_purpose purpose, uint64_t a, uint32_t b);
/* Records one phase of the container, from `from` until now. */
void containers_record(struct platform *platform, const struct container *container,
                       enum container_phase phase, sim_time_t from, bool evicted);
/* Cancels the ready event of a starting container that a batch or an instance has claimed. */
void containers_silence(struct platform *platform, uint32_t id);
/* The container has become idle, after a use (`used`) or for the first time. Sets its idle time. */
void containers_keep(struct platform *platform, uint32_t id, bool used);
/* Handles EVENT_CONTAINER_EXPIRY: evicts the container unless it is in use or its idle time was
 * extended. */
void containers_expire(struct platform *platform, uint32_t id);
/* Updates the predictor: a job of `function` has become ready. */
void predictor_observe(struct platform *platform, uint32_t function);
/* A container of `function` was taken for work. If no other is idle or starting, schedules a
 * prewarm one mean cold start before the predicted arrival of the next job. */
void predictor_plan(struct platform *platform, uint32_t function);
/* Handles EVENT_PREWARM: prewarms a container of `function` unless one is idle or starting. */
void predictor_act(struct platform *platform, uint32_t function);

#endif
