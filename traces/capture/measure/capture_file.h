/* Writes a capture file (layout.h) and reads back the rows needed to continue it. Rows are flushed
 * at each append, so samples survive however the program ends. */
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

/* Attributes of the root group: see layout.h. */
struct capture_about {
    char device[128], compute_capability[16], date[32], host[128], esgsim[64];
    char access[32], clocks[128];
    char bus[32]; /* the device's PCI address, not written to the file; "": no device */
    int sms, driver, cudnn, cublas, clock_khz, memory_clock_khz, host_cpus, rehearsal, cuda_graphs;
    long long memory_bytes;
};

struct capture_file;

/* Opens an existing file to continue it, or creates it. To continue, the file must have the same
 * layout version, device, rehearsal and cuda_graphs, so that samples of two kinds are never mixed.
 * NULL with an error otherwise. */
struct capture_file *capture_file_open(const char *path, const struct capture_about *about,
                                       struct error *error);
/* Flushes and closes the file. Returns false if it could not be written. */
bool capture_file_close(struct capture_file *file, struct error *error);

/* Appends `count` rows, an array of the table's struct in layout.h, and flushes. */
bool capture_file_append(struct capture_file *file, enum capture_table table, const void *rows,
                         size_t count, struct error *error);

/* Reads all rows of a table. `count` receives their number. The caller frees the array. Returns
 * NULL with count 0 if the table is empty, and NULL with an error if it cannot be read. */
void *capture_file_rows(struct capture_file *file, enum capture_table table, size_t *count,
                        struct error *error);

#endif
