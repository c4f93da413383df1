/* The layout of a capture file (HDF5): what the capture tool writes and calibration reads.
 *
 * One table (H5T compound, one dimension, extendible, chunked, deflate) for each question, one row
 * for each raw sample: nothing is reduced to a median on the way. A reader groups rows by the
 * columns that name the configuration. Within a group, samples are in the order in which they were
 * taken (`sample` 0, 1, …). Rows of a configuration that was measured twice, because a first round
 * left it uncertain, differ in `round`.
 *
 *   /latency     one inference of a network alone on its share
 *   /colocation  the same while others run beside it
 *   /copies      host to device and back
 *   /cold_start  the parts of bringing a network up from nothing
 *   /memory      bytes of the device by network, precision, batch
 *   /clocks      clocks, power and temperature of the device during the whole run
 *   /plan        what was to be measured, and how it ended: "done" or "failed"
 *
 * Strings are fixed-width, NUL-padded UTF-8 of LAYOUT_TEXT or LAYOUT_LONG bytes; integers int32
 * unless said, times double milliseconds. A column that does not apply is 0 or "". Tables may hold
 * columns beyond these: read by column name.
 *
 * Attributes of the root group: `format` "esgsim-capture", `version` LAYOUT_VERSION, `device` (name
 * as the driver gives it), `device_count`, `sms`, `compute_capability` "9.0", `memory_bytes`,
 * `driver` (of the CUDA driver, 13000 for 13.0), `cudnn`, `cublas` (their version numbers),
 * `clock_khz`, `memory_clock_khz` (the highest), `date` (UTC, ISO 8601), `host` (CPU model),
 * `host_cpus`, `esgsim` (version and commit), `seed`, `access` (how work reaches a green context,
 * see device.h), `cuda_graphs` (1: each inference is one CUDA graph; 0: one launch after the
 * other), `clocks` (what logged /clocks, or why nothing did), and `rehearsal`: 1 where the samples
 * are drawn from a formula in place of a device. A calibration must refuse such a file unless asked
 * for a rehearsal.
 *
 * Versions. A column or table that a reader may ignore does not change the version. Version 2 made
 * `others` and `key` longer (128 to 256 bytes, for a crowd of seven) and dropped two tables of
 * version 1 that nothing read: /share (changing a network's share) and /cpu (now the output of
 * build/measure-cpu). Version 1 may hold rows of the mechanism "mps". A reader of version 2 reads
 * version 1; the tool goes on with a file of its own version only.
 */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_LAYOUT_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_LAYOUT_H

#include <stdint.h>

enum { LAYOUT_VERSION = 2, LAYOUT_TEXT = 32, LAYOUT_LONG = 8 * LAYOUT_TEXT };

/* How a share is given to a network: "full" the whole device, no mechanism; "green" a green context
 * of `sms` multiprocessors. */
#define LAYOUT_MECHANISMS "full", "green"

/* /latency. From the first launch to the last kernel's end, between CUDA events; input and output
 * stay on the device. */
struct layout_latency {
    char network[LAYOUT_TEXT];   /* "resnet50", a file of traces/networks */
    char precision[LAYOUT_TEXT]; /* "fp32", "fp16" */
    char mechanism[LAYOUT_TEXT];
    int32_t batch;
    double share_percent; /* asked for: 100 k / 7, or a multiple of 10 */
    int32_t sms;          /* multiprocessors that it came to */
    int32_t round;        /* 0 first, more where it was refined */
    int32_t sample;
    double ms;
    int32_t launches;  /* kernels and library calls of one inference */
    double warm_up_ms; /* device time of the inferences before the first sample */
    int32_t settled;   /* 1: they ended because their times agreed; 0: at the longest allowed */
    int32_t sm_mhz_least, sm_mhz_most; /* SM clock while the samples were taken; 0: not logged */
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
    char others[LAYOUT_LONG]; /* the co-runners, "+" between, each NETWORK:BATCH:SHARE, as
                               * "vgg19:4:28.5714+srgan:1:14.2857" */
    int32_t batch;
    double share_percent;
    int32_t sms;
    double alone_ms; /* median of the same configuration alone, taken just before */
    int32_t sample;
    double ms;
    int32_t sm_mhz_least, sm_mhz_most; /* SM clock while they ran together; 0: not logged */
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

/* /clocks. A row every CLOCKS_EVERY_MS (clocks.h) of the whole run, by NVML; without NVML none. */
struct layout_clocks {
    double time_s; /* since 1970, UTC; see began_s of /plan */
    int32_t sm_mhz, memory_mhz;
    double power_w;
    int32_t celsius;
    int64_t reasons; /* why clocks are below the highest: NVML's nvmlClocksEventReason… bits */
};

/* /plan. */
struct layout_plan {
    char what[LAYOUT_TEXT]; /* a table's name */
    char key[LAYOUT_LONG];  /* the configuration in words; unique within `what` and `round` */
    int32_t round;
    char state[LAYOUT_TEXT]; /* "done", "failed" */
    char reason[4 * LAYOUT_TEXT];
    double estimated_s;
    double spent_s;
    double began_s; /* since 1970, UTC */
};

#endif
