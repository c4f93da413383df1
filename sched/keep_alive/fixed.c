/* A fixed time after each use: OpenWhisk's ten minutes, the rule of the large clouds. When memory
 * is short, the least recently used container is evicted.
 */
#include "workloads/spec/keep_alive.h"

struct fixed_parameters {
    sim_time_t ttl_s;
};

struct fixed {
    const struct fixed_parameters *parameters;
};

static bool fixed_init(void *state, struct arena *arena, const struct workload *workload,
                       const void *parameters, struct error *error)
{
    struct fixed *self = state;
    self->parameters = parameters;
    return true;
}

static struct keep_windows fixed_on_idle(void *state, const struct idle_container *container,
                                         bool used, sim_time_t now)
{
    const struct fixed *self = state;
    return (struct keep_windows){.keep_for = self->parameters->ttl_s};
}

static const struct key fixed_parameters[] = {
    PARAMETER_SECONDS(fixed, ttl_s, 0, 1e9, 600,
                      "seconds an idle container is kept [recall: OpenWhisk]"),
    KEY_END,
};

const struct keep_alive keep_alive_fixed = {
    .name = "fixed",
    .summary = "keeps every idle container for the same time; evicts the least recently used first",
    .parameters = fixed_parameters,
    .parameters_bytes = sizeof(struct fixed_parameters),
    .state_bytes = sizeof(struct fixed),
    .init = fixed_init,
    .on_idle = fixed_on_idle,
};
