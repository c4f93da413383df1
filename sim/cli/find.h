/* Lookups by name shared by several commands. */
#ifndef ESGSIM_SIM_CLI_FIND_H
#define ESGSIM_SIM_CLI_FIND_H

#include "sim/base/error.h"
#include "workloads/workload.h"

/* Returns the workload's application of that name; NULL with ERROR_INPUT, which suggests the
 * nearest name. */
const struct application *cli_find_application(const struct workload *workload, const char *name,
                                               struct error *error);

#endif
