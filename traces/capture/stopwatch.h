/* How long an inference takes by the device: from before its first launch to the end of its last
 * kernel, between two events.
 */
#ifndef ESGSIM_TRACES_CAPTURE_STOPWATCH_H
#define ESGSIM_TRACES_CAPTURE_STOPWATCH_H

#include "traces/capture/executor.h"

struct stopwatch {
    struct device *device;
    CUevent start, end;
};

/* For inferences on `lane`, whose context is current afterwards: events belong to the context that
 * is current when they are made. Destroyed, whether or not it was made, before the lane. */
bool stopwatch_create(const struct lane *lane, struct stopwatch *watch, struct error *error);
void stopwatch_destroy(struct stopwatch *watch);

/* Runs one inference and waits for it; the lane's context is current afterwards. */
bool stopwatch_run(const struct stopwatch *watch, const struct executor *executor,
                   const struct lane *lane, double *ms, struct error *error);

#endif
