/* What a policy of a module sees of its world: a copy in read-only memory (not a public header). */
#ifndef ESGSIM_SIM_PLATFORM_SHOWN_H
#define ESGSIM_SIM_PLATFORM_SHOWN_H

#include "sched/common/fragmentation.h"
#include "workloads/training/training_models.h"
#include "workloads/world/workload.h"

struct shown {
    bool whole; /* its kinds keep profiles and interference: built-in policies plan by them */
    struct workload workload;
    struct training_models models;
    struct fragment_shape *shapes;
    size_t shape_count;
    size_t cells, pairs; /* of the models' throughput and pairs; shown_create fills them */
    size_t bytes;        /* of this and all that it points to, which follows it */
};

/* A read-only copy of what `from` and its structures point to. NULL:
 * there is no memory. End with shown_clear (NULL allowed). O(bytes). */
struct shown *shown_create(const struct shown *from);
void shown_clear(struct shown *shown);

#endif
