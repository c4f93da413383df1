/* How fast the simulator is on this machine: the event queue, the random streams, and the commands
 * run and sweep, each in processes of their own. */
#ifndef ESGSIM_SIM_RUN_BENCHMARKS_H
#define ESGSIM_SIM_RUN_BENCHMARKS_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "sim/base/error.h"

struct benchmark {
    const char *name; /* the first key of its figures */
    const char *summary;
    /* Adds the figures, medians of several runs, to `result`, by keys that contain the units. */
    bool (*run)(const char *name, cJSON *result, struct error *error);
};
enum { BENCHMARKS = 7 };
extern const struct benchmark benchmarks[BENCHMARKS];

#endif
