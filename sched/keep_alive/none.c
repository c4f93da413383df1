/* The lower extreme: a container is evicted after its use, so that every start is cold. */
#include "workloads/spec/keep_alive.h"

static struct keep_windows none_on_idle(void *state, const struct idle_container *container,
                                        bool used, sim_time_t now)
{
    return (struct keep_windows){0};
}

const struct keep_alive keep_alive_none = {
    .name = "none",
    .summary = "evicts every container after its use: every batch starts cold",
    .on_idle = none_on_idle,
};
