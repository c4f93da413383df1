/* The layout of a capture file (HDF5): what the capture tool writes and calibration reads.
 *
 * One table (H5T compound, one dimension, extendible, chunked, deflate) for each question, one row
 * for each raw sample: nothing is reduced to a median on the way. A reader groups rows by the
 * columns that name the configuration; within a group samples lie in the order in which they were
 * taken (`sample` 0, 1, …). Rows of a configuration that was measured twice, because a first round
 * left it uncertain, differ in `round`.
 *
 *   /latency     one inference of a network alone on its share
 *   /colocation  the same while others run beside it
 *   /copies      host to device and back
 *   /cold_start  the parts of bringing a network up from nothing
 *   /memory      bytes of the device by network, precision, batch
 *   /share       changing the share of a network that is up
 *   /cpu         pre- and post-processing on the host
 *   /plan        what was to be measured, and how it ended: "done", "failed", "skipped"
 *
 * Strings are fixed-width, NUL-padded UTF-8 of LAYOUT_TEXT bytes; integers int32 unless said, times
 * double milliseconds. A column that does not apply is 0 or "". Tables may hold columns beyond
 * these: read by column name.
 *
 * Attributes of the root group: `format` "esgsim-capture", `version` LAYOUT_VERSION, `device` (name
 * as the driver gives it), `device_count`, `sms`, `compute_capability` "9.0", `memory_bytes`,
 * `driver` (of the CUDA driver, 13000 for 13.0), `cudnn`, `cublas` (their version numbers),
 * `clock_khz`, `memory_clock_khz`, `date` (UTC, ISO 8601), `host` (CPU model), `host_cpus`,
 * `esgsim` (version and commit), `seed`, and `rehearsal`: 1 where the samples are drawn from a
 * formula in place of a device. A calibration must refuse such a file unless asked for a rehearsal.
 */
#ifndef ESGSIM_TRACES_CAPTURE_LAYOUT_H
#define ESGSIM_TRACES_CAPTURE_LAYOUT_H

#include <stdint.h>

enum { LAYOUT_VERSION = 1, LAYOUT_TEXT = 32 };

/* How a share is given to a network: "full" the whole device, no mechanism; "green" a green context
 * of `sms` multiprocessors; "mps" a process of its own under CUDA_MPS_ACTIVE_THREAD_PERCENTAGE =
 * `share_percent`. */
#define LAYOUT_MECHANISMS "full", "green", "mps"

/* /latency. From the first launch to the last kernel's end, between CUDA events; input and output
 * stay on the device. */
struct layout_latency {
    char network[LAYOUT_TEXT];   /* "resnet50", a file of traces/capture/networks */
    char precision[LAYOUT_TEXT]; /* "fp32", "fp16" */
    char mechanism[LAYOUT_TEXT];
    int32_t batch;
    double share_percent; /* asked for: 100 k / 7, or a multiple of 10 */
    int32_t sms;          /* multiprocessors that it came to; 0 under mps, where nobody says */
    int32_t round;        /* 0 first, more where it was refined */
    int32_t sample;
    double ms;
};

/* /colocation. One row for each inference of the victim while the others loop. `group` numbers a
 * set of networks that ran together; every member is the victim in its own rows. The members'
 * shares are those of their own rows, so that sum above 100 is over-subscription. */
struct layout_colocation {
    int32_t group;
    int32_t members;           /* 1..: how many ran together */
    char network[LAYOUT_TEXT]; /* the victim */
    char precision[LAYOUT_TEXT];
    char mechanism[LAYOUT_TEXT];
    char others[4 * LAYOUT_TEXT]; /* the co-runners, "+" between, each NETWORK:BATCH:SHARE, as
                                   * "vgg19:4:28.5714+srgan:1:14.2857" */
    int32_t batch;
    double share_percent;
    int32_t sms;
    double alone_ms; /* median of the same configuration alone, taken just before */
    int32_t sample;
    double ms;
};

/* /copies. */
struct layout_copies {
    char direction[LAYOUT_TEXT]; /* "to_device", "to_host" */
    char memory[LAYOUT_TEXT];    /* "pinned", "pageable" */
    int64_t bytes;
    int32_t sample;
    double ms;
};

/* /cold_start. `part`: "process" (fork to main), "context", "module" (kernels and libraries),
 * "weights" (allocate and upload), "first" (first inference), "total" (fork to first result). A
 * sample is one fresh process; its parts share `sample`. */
struct layout_cold_start {
    char network[LAYOUT_TEXT];
    char precision[LAYOUT_TEXT];
    char part[LAYOUT_TEXT];
    int32_t batch;
    int32_t sample;
    double ms;
};

/* /memory. `part`: "context" (of an idle process; network and precision "", batch 0), "module"
 * (kernels and library handles), "weights", "activations" (arena of the batch), "workspace" (of
 * convolutions). `planned_bytes` is what the graph says (activations: the peak of tensors alive);
 * `bytes` what was allocated, of context and module what the driver's free memory fell by in
 * another process. */
struct layout_memory {
    char network[LAYOUT_TEXT];
    char precision[LAYOUT_TEXT];
    char part[LAYOUT_TEXT];
    int32_t batch;
    int64_t planned_bytes;
    int64_t bytes;
};

/* /share. `part`: "create" a green context of the new share with its stream and handles, "switch"
 * to one that exists, "destroy". */
struct layout_share {
    char part[LAYOUT_TEXT];
    char mechanism[LAYOUT_TEXT];
    double from_percent;
    double to_percent;
    int32_t sample;
    double ms;
};

/* /cpu. `task`: "decode" (JPEG), "resize" (to the network's input), "normalise" (bytes to planes of
 * floats), "all" (the three after each other), "post" (best five of 1000). `items` images are
 * shared out to `threads` threads; ms is the time until the last is through. */
struct layout_cpu {
    char task[LAYOUT_TEXT];
    int32_t threads;
    int32_t items;
    int32_t width, height; /* of the source image */
    int32_t sample;
    double ms;
};

/* /plan. */
struct layout_plan {
    char what[LAYOUT_TEXT];    /* a table's name */
    char key[4 * LAYOUT_TEXT]; /* the configuration in words; unique within `what` and `round` */
    int32_t round;
    char state[LAYOUT_TEXT]; /* "done", "failed", "skipped" */
    char reason[4 * LAYOUT_TEXT];
    double estimated_s;
    double spent_s;
};

#endif
