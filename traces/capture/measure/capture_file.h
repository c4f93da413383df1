/* Writing a capture file (layout.h), a batch of rows at a time, so that what was measured survives
 * whatever ends the program; and reading back what is needed to go on.
 */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_CAPTURE_FILE_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_CAPTURE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"
#include "traces/capture/measure/layout.h"

enum capture_table {
    CAPTURE_LATENCY,
    CAPTURE_COLOCATION,
    CAPTURE_COPIES,
    CAPTURE_COLD_START,
    CAPTURE_MEMORY,
    CAPTURE_CLOCKS,
    CAPTURE_PLAN,
    CAPTURE_TABLES
};

/* Attributes of the root group, see layout.h. */
struct capture_about {
    char device[128], compute_capability[16], date[32], host[128], esgsim[64];
    char access[32], clocks[128];
    char bus[32]; /* the device's PCI address, not written; "": no device */
    int sms, driver, cudnn, cublas, clock_khz, memory_clock_khz, host_cpus, rehearsal, cuda_graphs;
    long long memory_bytes;
};

struct capture_file;

/* Opens the file to go on with it, or makes it. To go on, layout version, device, rehearsal and
 * cuda_graphs must be those of the file: samples of two kinds are not mixed. NULL with an error. */
struct capture_file *capture_file_open(const char *path, const struct capture_about *about,
                                       struct error *error);
/* Flushes and closes; false where the file could not be written. */
bool capture_file_close(struct capture_file *file, struct error *error);

/* Appends `count` rows, an array of the table's struct of layout.h, and flushes. */
bool capture_file_append(struct capture_file *file, enum capture_table table, const void *rows,
                         size_t count, struct error *error);

/* All rows of a table; the caller frees. `count` receives how many; NULL with count 0 where there
 * are none, NULL with an error where they cannot be read. */
void *capture_file_rows(struct capture_file *file, enum capture_table table, size_t *count,
                        struct error *error);

#endif
