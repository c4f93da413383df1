/* Questions to a GPU's driver on which captures and replays depend.
 *
 * `capture --self-test` asks all of them and prints a line for each. A replay asks probe_queues
 * before it decides for which sets of units it makes lanes: streams of disjoint green contexts may
 * share a hardware queue, of which there are 32, and then wait for each other.
 */
#ifndef ESGSIM_TRACES_CAPTURE_EXECUTOR_PROBE_H
#define ESGSIM_TRACES_CAPTURE_EXECUTOR_PROBE_H

#include "traces/capture/executor/device.h"

/* Ordered pairs of partitions without a multiprocessor in common, and those of which the second
 * waited for work of the first: their streams share a hardware queue. */
struct probe_queues {
    size_t pairs, waiting;
};

/* Occupies each partition's stream in turn for a few milliseconds and looks, by events of the
 * device, which of the others finish meanwhile. Kernels are loaded, all streams are idle, and the
 * mode is device->green_mode. `partitions` of the lanes or sets in question; the primary context is
 * current afterwards. About 3 ms a partition: 0.4 s for 126 sets of sevenths. ERROR_RUN where the
 * driver refuses. */
bool probe_queues(const struct device *device, const struct partition *const partitions[],
                  size_t count, struct probe_queues *answer, struct error *error);

enum { PROBE_SMS = 256 }; /* multiprocessors of a device, at most */

/* Multiprocessors on which work of a partition was seen. */
struct probe_multiprocessors {
    bool seen[PROBE_SMS];
    int count;
};

/* Runs a kernel on the partition whose blocks write down where they are. A right answer counts
 * partition->sms. Kernels are loaded; the primary context is current afterwards. */
bool probe_multiprocessors(const struct device *device, const struct partition *partition,
                           struct probe_multiprocessors *answer, struct error *error);

enum { PROBE_THREAD_COUNTS = 3 };

/* What probe_run found out. */
struct probe_answers {
    int driver_version, sms;
    int groups, group_sms, groups_per_seventh;
    int contexts, contexts_made;           /* green contexts of sets of sevenths: 126 */
    char limit[128];                       /* why no more were made; "" */
    int wrong_by_stream, wrong_by_context; /* sets that ran elsewhere; -1: refused */
    double events_ms;                      /* of 1 ms in a green stream; NAN: refused */
    struct probe_queues all, side_by_side; /* of all sets; of those that lie side by side */
    double launch_us[PROBE_THREAD_COUNTS]; /* for each launch, at 1, 4 and 7 threads */
    double set_current_us;                 /* cuCtxSetCurrent, there and back */
    double idle_mhz, busy_mhz;             /* multiprocessors' clock after 1 s idle, and busy */
    double seconds;                        /* that the probe took */
};

/* Asks all questions, prints a line for each (`probe: …`), and leaves nothing behind; less than 20
 * s on a GPU. Kernels are loaded. ERROR_RUN where the driver fails, where sevenths are refused
 * (slices_plan), or where sets run on other multiprocessors than their own in both modes. */
bool probe_run(struct device *device, struct probe_answers *answers, struct error *error);

#endif
