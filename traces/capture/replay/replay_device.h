/* The GPU of a replay: partition streams for sets of units, executors for copies of networks, and
 * the function that executes a batch on them. Everything is created before time 0. */
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
    double lanes_s, executors_s, warm_up_s; /* duration of each step of opening */
    size_t lanes, refused; /* sets of units with a partition stream; sets that the driver refused */
    bool side_by_side;     /* only contiguous sets are used */
    size_t queue_pairs, queue_waiting; /* of the sets used; see struct probe_queues */
    size_t bytes;                      /* device memory used */
};

/* Opens the first GPU and creates what the setup needs. The setup must outlive the device. On
 * return every network has run once in every partition stream, and every executor has run at least
 * once. Prints its progress on standard output. A set that the driver refuses has no partition
 * stream. NULL with an error if there is no GPU, too little memory, or a share without any set. */
struct replay_device *replay_device_open(const struct replay_setup *setup, enum replay_sets which,
                                         struct error *error);
void replay_device_close(struct replay_device *device); /* NULL is allowed */

struct pool_runner replay_device_runner(struct replay_device *device);
struct replay_device_about replay_device_about(const struct replay_device *device);

#endif
