/* The frames of periodic tasks, one after another (not a public header). See "Periodic tasks" in
 * sim/README.md. */
#ifndef ESGSIM_SIM_PLATFORM_FRAMES_H
#define ESGSIM_SIM_PLATFORM_FRAMES_H

#include "sim/platform/state.h"

/* Allocates platform->tasks if the arrivals are periodic. */
void frames_init(struct platform *platform);
/* The request in `slot` is a new frame of the task. It waits for the last one, in place of a frame
 * that waited already, which is dropped. */
void frames_admit(struct platform *platform, uint32_t slot, struct task *task);
/* A request of the task is over, and its slot is free. A frame that waited begins in what is left
 * of its period, or is dropped. */
void frames_end(struct platform *platform, uint32_t slot, struct task *task);

#endif
