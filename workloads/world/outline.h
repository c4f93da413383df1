/* The outline of a recorded experiment: names, DAGs and cluster, by the resolved configuration that
 * results files keep. */
#ifndef ESGSIM_WORKLOADS_WORLD_OUTLINE_H
#define ESGSIM_WORKLOADS_WORLD_OUTLINE_H

#include "sim/base/error.h"
#include "workloads/world/workload.h"

struct outline {
    /* Cluster with its kinds of GPU, functions with their names, and applications with their
     * stages. All else is not set. */
    struct workload workload;
    bool closed; /* users of a closed process: arrivals depend on responses */
};

/* Reads it from experiment.resolved_json, into the arena. False: ERROR_INPUT, not such a text. */
bool outline_load(struct arena *arena, const char *configuration, struct outline *outline,
                  struct error *error);

#endif
