/* Probes of a GPU's driver: facts on which captures and replays depend.
 *
 * `capture --self-test` runs all probes and prints one line per probe. A replay calls probe_queues
 * before it decides for which sets of units it creates partition streams. The reason: a GPU has 32
 * hardware queues, so streams of disjoint green contexts may share one and then wait for each
 * other.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_PROBE_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_PROBE_H

#include "traces/capture/executor/device.h"

/* Counts of ordered pairs of partitions that share no multiprocessor. In a waiting pair, the second
 * partition waited for work of the first, so their streams share a hardware queue. */
struct probe_queues {
    size_t pairs, waiting;
};

/* Occupies each partition's stream in turn for a few milliseconds. CUDA events show which of the
 * other streams finish meanwhile. Before the call, the kernels are loaded, all streams are idle,
 * and device->green_mode is set. The primary context is current afterwards. Takes about 3 ms per
 * partition: 0.4 s for the 126 sets of sevenths. Returns false with ERROR_RUN if the driver
 * refuses. */
bool probe_queues(const struct device *device, const struct partition *const partitions[],
                  size_t count, struct probe_queues *answer, struct error *error);

enum { PROBE_SMS = 256 }; /* maximum number of multiprocessors of a device */

/* The multiprocessors on which a partition's work ran. */
struct probe_multiprocessors {
    bool seen[PROBE_SMS];
    int count;
};

/* Runs a kernel on the partition whose blocks record their multiprocessor. A correct partition
 * yields partition->sms multiprocessors. The kernels must be loaded. The primary context is current
 * afterwards. */
bool probe_multiprocessors(const struct device *device, const struct partition *partition,
                           struct probe_multiprocessors *answer, struct error *error);

enum { PROBE_THREAD_COUNTS = 3 };

/* Results of probe_run. */
struct probe_answers {
    int driver_version, sms;
    int groups, group_sms, groups_per_seventh;
    int contexts, contexts_made;           /* green contexts: 126 sets of sevenths */
    char limit[128];                       /* reason why no more were created; "" if all were */
    int wrong_by_stream, wrong_by_context; /* sets that ran on other multiprocessors; -1: refused */
    double events_ms; /* measured time of 1 ms in a green stream; NAN: refused */
    struct probe_queues all, side_by_side; /* for all sets, and for contiguous sets only */
    double launch_us[PROBE_THREAD_COUNTS]; /* per launch, with 1, 4 and 7 threads */
    double set_current_us;                 /* two calls of cuCtxSetCurrent: to a context and back */
    double idle_mhz, busy_mhz;             /* multiprocessor clock after 1 s idle, and under load */
    double seconds;                        /* duration of the probe */
};

/* Runs all probes, prints one line per probe (`probe: …`), and releases everything it created.
 * Takes less than 20 s on a GPU. The kernels must be loaded. Returns false with ERROR_RUN if the
 * driver fails, if slices_plan refuses sevenths, or if in both modes some sets run on
 * multiprocessors outside them. */
bool probe_run(struct device *device, struct probe_answers *answers, struct error *error);

#endif
