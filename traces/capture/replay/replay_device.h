/* The GPU of a replay: lanes for sets of units, executors for copies of networks, and the runner
 * that executes a batch on them. All is made before time 0; nothing is made later.
 */
#ifndef ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_DEVICE_H
#define ESGSIM_TRACES_CAPTURE_REPLAY_REPLAY_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"
#include "traces/capture/replay/replay.h"

struct replay_device;

struct replay_device_about {
    char name[128], driver[96];
    int sms, unit_sms;                      /* multiprocessors of the device, and of a unit */
    double lanes_s, executors_s, warm_up_s; /* what each took */
    size_t lanes, refused; /* sets of units with a lane; those that the driver refused */
    bool side_by_side;     /* only sets side by side are used */
    size_t queue_pairs, queue_waiting; /* see struct probe_queues; of the sets that are used */
    size_t bytes;                      /* of device memory taken by all of it */
};

/* Opens the first GPU and makes what the setup asks for, which outlives it; every network has run
 * once on every lane afterwards, every executor at all. Says on standard output what it does. A set
 * that the driver refuses has no lane. NULL with an error where there is no GPU, too little memory,
 * or a share without any set. */
struct replay_device *replay_device_open(const struct replay_setup *setup, enum replay_sets which,
                                         struct error *error);
void replay_device_close(struct replay_device *device); /* NULL is allowed */

struct pool_runner replay_device_runner(struct replay_device *device);
struct replay_device_about replay_device_about(const struct replay_device *device);

#endif
