/* The layout of a capture file (HDF5), written by the capture tool and read by calibration.
 *
 * The file has one table per kind of measurement (H5T compound, one dimension, extendible, chunked,
 * deflate). Each row is one raw sample: nothing is reduced to a median. A reader groups rows by the
 * columns that name the configuration. Within a group, samples are in the order of measurement
 * (`sample` 0, 1, …). If a configuration was measured again because its first round was too
 * uncertain, its rows differ in `round`.
 *
 *   /latency     one inference of a network that runs alone on its share
 *   /colocation  one inference while other networks run on the same device
 *   /copies      copies from host to device and back
 *   /cold_start  the phases of starting a network in a fresh process
 *   /memory      bytes of device memory by network, precision, batch
 *   /clocks      clocks, power and temperature of the device during the whole run
 *   /plan        the planned points and their outcome: "done" or "failed"
 *
 * Strings are fixed-width, NUL-padded UTF-8 of LAYOUT_TEXT or LAYOUT_LONG bytes. Integers are int32
 * and times are doubles in milliseconds, unless stated otherwise. A column that does not apply is 0
 * or "". Tables may have further columns, so readers must find columns by name.
 *
 * Attributes of the root group:
 *
 *   format              "esgsim-capture"
 *   version             LAYOUT_VERSION
 *   device              name given by the driver
 *   device_count        1
 *   sms, memory_bytes, clock_khz, memory_clock_khz
 *                       of the device; the clocks are its maxima
 *   compute_capability  "9.0"
 *   driver              version of the CUDA driver, 13000 for 13.0
 *   cudnn, cublas       versions of the libraries
 *   date                UTC, ISO 8601
 *   host, host_cpus     model and number of CPUs
 *   esgsim              version and commit
 *   seed                of the random numbers
 *   access              how work is submitted to a green context, see device.h
 *   cuda_graphs         1: each inference is one CUDA graph; 0: separate launches
 *   clocks              the source of /clocks, or why there is none
 *   rehearsal           1: the samples come from a formula and not from a device
 *
 * A calibration must refuse a file with `rehearsal` 1 unless asked for a rehearsal.
 *
 * Versions. A new column or table that readers may ignore does not change the version. Version 2
 * made `others` and `key` longer (128 to 256 bytes, for seven networks). It dropped two tables of
 * version 1 that nothing read: /share (changing a network's share) and /cpu (now the output of
 * build/measure-cpu). Version 1 may contain rows of the mechanism "mps". A reader of version 2 also
 * reads version 1. The tool continues only files of its own version.
 */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_LAYOUT_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_LAYOUT_H

#include <stdint.h>

enum { LAYOUT_VERSION = 2, LAYOUT_TEXT = 32, LAYOUT_LONG = 8 * LAYOUT_TEXT };

/* The mechanism that gives a network its share. "full": the whole device, no mechanism. "green": a
 * green context of `sms` multiprocessors. */
#define LAYOUT_MECHANISMS "full", "green"

/* /latency. Time from the first launch to the end of the last kernel, between CUDA events. Input
 * and output stay on the device. */
struct layout_latency {
    char network[LAYOUT_TEXT];   /* "resnet50": a file of traces/networks */
    char precision[LAYOUT_TEXT]; /* "fp32", "fp16" */
    char mechanism[LAYOUT_TEXT];
    int32_t batch;
    double share_percent; /* requested: 100 k / 7, or a multiple of 10 */
    int32_t sms;          /* multiprocessors of the share */
    int32_t round;        /* 0: first measurement; more: repeated for precision */
    int32_t sample;
    double ms;
    int32_t launches;  /* kernels and library calls per inference */
    double warm_up_ms; /* device time of the inferences before the first sample */
    int32_t settled;   /* 1: the warm-up reached stable times; 0: it reached its maximum length */
    int32_t sm_mhz_least, sm_mhz_most; /* SM clock during the samples; 0: not logged */
};

/* /colocation. One row per inference of the victim while the other networks run in a loop. `group`
 * numbers a set of networks that ran together. Every member is the victim in its own rows. Each
 * member's share is in its own rows. A sum of shares above 100 is over-subscription. An example of
 * `others` is "vgg19:4:28.5714+srgan:1:14.2857". */
struct layout_colocation {
    int32_t group;
    int32_t members;           /* number of networks that ran together, from 1 */
    char network[LAYOUT_TEXT]; /* the victim */
    char precision[LAYOUT_TEXT];
    char mechanism[LAYOUT_TEXT];
    char others[LAYOUT_LONG]; /* co-runners, each NETWORK:BATCH:SHARE, joined by "+" */
    int32_t batch;
    double share_percent;
    int32_t sms;
    double alone_ms; /* median of the same configuration alone, measured just before */
    int32_t sample;
    double ms;
    int32_t sm_mhz_least, sm_mhz_most; /* SM clock during the group's run; 0: not logged */
};

/* /copies. One row per copy. */
struct layout_copies {
    char direction[LAYOUT_TEXT]; /* "to_device", "to_host" */
    char memory[LAYOUT_TEXT];    /* "pinned", "pageable" */
    int64_t bytes;
    int32_t sample;
    double ms;
};

/* /cold_start. `part`: "process" (fork to main), "context", "module" (kernels and libraries),
 * "weights" (allocate and upload), "first" (first inference), "total" (fork to first result). Each
 * sample is one fresh process. The parts of a process have the same `sample`. */
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
 * convolutions). `planned_bytes` follows from the graph (activations: the peak of live tensors).
 * `bytes` is the memory allocated. For context and module it is the decrease of the driver's free
 * memory, measured in another process. */
struct layout_memory {
    char network[LAYOUT_TEXT];
    char precision[LAYOUT_TEXT];
    char part[LAYOUT_TEXT];
    int32_t batch;
    int64_t planned_bytes;
    int64_t bytes;
};

/* /clocks. One row per CLOCKS_EVERY_MS (clocks.h) during the whole run, read from NVML. Without
 * NVML the table is empty. */
struct layout_clocks {
    double time_s; /* seconds since 1970, UTC; see began_s of /plan */
    int32_t sm_mhz, memory_mhz;
    double power_w;
    int32_t celsius;
    int64_t reasons; /* why clocks are below the maximum: bits of NVML's nvmlClocksEventReason… */
};

/* /plan. One row per attempt to measure a point. */
struct layout_plan {
    char what[LAYOUT_TEXT]; /* name of the point's table */
    char key[LAYOUT_LONG];  /* description of the configuration; unique within `what` and `round` */
    int32_t round;
    char state[LAYOUT_TEXT]; /* "done", "failed" */
    char reason[4 * LAYOUT_TEXT];
    double estimated_s;
    double spent_s;
    double began_s; /* seconds since 1970, UTC */
};

#endif
