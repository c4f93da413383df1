/* Loader of "arrivals"; not for other modules. */
#ifndef ESGSIM_WORKLOADS_ARRIVALS_ARRIVALS_INTERNAL_H
#define ESGSIM_WORKLOADS_ARRIVALS_ARRIVALS_INTERNAL_H

#include "workloads/arrivals/arrivals.h"
#include "workloads/load/json_include.h"
#include "workloads/load/loader_internal.h"

/* Names of enum arrival_phase but its last, NULL-terminated. */
extern const char *const phase_names[];
/* The keys of "arrivals", by process, and of a state of an MMPP. */
extern const struct key *const arrival_keys[], mmpp_state_keys[];

bool arrivals_load(const struct json_include *document, const struct json_value *value,
                   const struct workload *workload, struct arrival_spec *arrivals,
                   struct error *error);

#endif
