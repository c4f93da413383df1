/* A fixed time after each use: OpenWhisk's ten minutes, the rule of the large clouds. When memory
 * is short, the least recently used container is evicted.
 */
#include "workloads/keep_alive.h"

struct fixed {
    sim_time_t ttl;
};

static bool fixed_init(void *state, struct arena *arena, const struct workload *workload,
                       const double *values, struct error *error)
{
    struct fixed *self = state;
    (void)arena;
    (void)workload;
    (void)error;
    self->ttl = sim_from_s(values[0]);
    return true;
}

static struct keep_windows fixed_on_idle(void *state, const struct idle_container *container,
                                         bool used, sim_time_t now)
{
    const struct fixed *self = state;
    (void)container;
    (void)used;
    (void)now;
    return (struct keep_windows){.keep_for = self->ttl};
}

static const struct parameter fixed_parameters[] = {
    {"ttl_s", 600, 0, 1e9, NULL, "seconds an idle container is kept [recall: OpenWhisk]"},
};

extern const struct keep_alive keep_alive_fixed;
const struct keep_alive keep_alive_fixed = {
    .name = "fixed",
    .summary = "keeps every idle container for the same time; evicts the least recently used first",
    .parameters = fixed_parameters,
    .parameter_count = sizeof fixed_parameters / sizeof *fixed_parameters,
    .state_bytes = sizeof(struct fixed),
    .init = fixed_init,
    .on_idle = fixed_on_idle,
};
