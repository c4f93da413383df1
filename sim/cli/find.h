/* What several commands look up by name. */
#ifndef ESGSIM_SIM_CLI_FIND_H
#define ESGSIM_SIM_CLI_FIND_H

#include "sim/error.h"
#include "workloads/workload.h"

/* The workload's application of that name; NULL with ERROR_INPUT that offers the nearest. */
const struct application *cli_find_application(const struct workload *workload, const char *name,
                                               struct error *error);

#endif
