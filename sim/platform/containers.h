/* Containers: cold starts, idle times, prewarming and its predictor (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_CONTAINERS_H
#define ESGSIM_SIM_PLATFORM_CONTAINERS_H

#include "sim/platform/state.h"

/* Containers made before the first arrival, as platform.initial says; fails (ERROR_INPUT) where it
 * counts more than memory holds. */
void containers_init(struct platform *platform);
/* Starts a container of `function` on `invoker`, for nobody yet. False if it has no room. */
bool containers_prewarm(struct platform *platform, uint32_t function, uint32_t invoker);
/* The same, kept until `until` where nobody claims it; 0: as the keep-alive says. */
bool containers_prewarm_until(struct platform *platform, uint32_t function, uint32_t invoker,
                              sim_time_t until);
/* EVENT_CONTAINER_READY: the container, which started for nobody, is idle from now on. */
void containers_ready(struct platform *platform, uint32_t id);
/* A cold start's time, drawn by (seed, purpose, a, b). */
sim_time_t containers_draw_cold(const struct platform *platform, uint32_t function,
                                enum random_purpose purpose, uint64_t a, uint32_t b);
/* The recorder's row of a container's phase, from `from` until now. */
void containers_record(struct platform *platform, const struct container *container,
                       enum container_phase phase, sim_time_t from, bool evicted);
/* A container that was starting for nobody has been claimed. */
void containers_silence(struct platform *platform, uint32_t id);
/* A container has become idle, after a use or for the first time: asks how long it is kept. */
void containers_keep(struct platform *platform, uint32_t id, bool used);
/* EVENT_CONTAINER_EXPIRY: evicts the container unless it is in use or stays longer. */
void containers_expire(struct platform *platform, uint32_t id);
/* A job of `function` has become ready. */
void predictor_observe(struct platform *platform, uint32_t function);
/* A container of `function` was taken. Where it was the last, another must start a cold start's
 * time before the next job is expected. */
void predictor_plan(struct platform *platform, uint32_t function);
/* EVENT_PREWARM. */
void predictor_act(struct platform *platform, uint32_t function);

#endif
