/* FaasCache (Fuerst and Sharma, ASPLOS'21, section 4): keep-alive as caching. Containers are kept
 * until memory is short; then the one of the lowest priority is evicted:
 *
 *     priority = clock + frequency × cost / size
 *
 * The clock is the server's at the container's last use. An eviction sets the server's clock to the
 * priority of the evicted container, so that unused containers age. Variants drop terms: `size` =
 * clock + frequency / size, `freq` = clock + frequency × cost, `landlord` = clock + cost / size.
 * The last is Landlord (Young, SODA'98) with full renewal of credit. Charging all containers rent
 * in proportion to size until one has no credit gives the same order as setting the clock to that
 * one's priority. `lru` ranks by the last use.
 *
 * Porting assumptions [derived]:
 * - Size is the memory that is scarce: weights in GPU memory, or host memory. By default it is the
 *   one of which a container of each function together would fill more of the cluster. It is host
 *   memory for a function without a GPU. Cost is the mean cold start, the time that a hit saves.
 * - Every invoker is a server with its own clock and its own frequencies of functions. The
 *   frequency counts batches since the function's first container on the invoker. It is reset when
 *   the last container of the function there is evicted [recall].
 * - Only idle containers of a GPU are evicted to free memory of that GPU.
 * - FaasCache evicts in batches outside the request path to make room in advance. Here only as many
 *   as needed are evicted, and eviction takes no time.
 */
#include "workloads/spec/keep_alive.h"

struct greedy_dual_parameters {
    enum { VARIANT_GREEDY_DUAL, VARIANT_LRU, VARIANT_FREQ, VARIANT_SIZE, VARIANT_LANDLORD } variant;
    double ttl_s;
    enum { SIZE_SCARCE, SIZE_GPU, SIZE_HOST } size;
};

struct greedy_dual {
    const struct greedy_dual_parameters *parameters;
    sim_time_t ttl;
    size_t functions;
    double *cost_ms;     /* per function */
    double *size_mb;     /* per function */
    double *clock;       /* per invoker */
    uint64_t *frequency; /* [invoker × functions + function] */
};

/* Is GPU memory scarcer than host memory, for a container of each function? */
static bool gpu_memory_is_scarce(const struct workload *workload)
{
    double host = 0;
    double gpu = 0;
    double host_needed = 0;
    double gpu_needed = 0;
    for (size_t i = 0; i < workload->cluster.group_count; i++) {
        const struct invoker_group *group = &workload->cluster.groups[i];
        host += group->count * (double)group->memory_mb;
        for (size_t g = 0; g < group->gpu_count; g++)
            gpu += group->count * (double)group->gpus[g].memory_mb;
    }
    for (size_t f = 0; f < workload->function_count; f++) {
        host_needed += workload->functions[f].host_memory_mb;
        gpu_needed += workload->functions[f].gpus[0].gpu_weights_mb;
    }
    return gpu_needed * host > host_needed * gpu;
}

static bool greedy_dual_init(void *state, struct arena *arena, const struct workload *workload,
                             const void *parameters, struct error *error)
{
    struct greedy_dual *self = state;
    const size_t invokers = workload->cluster.invoker_count;
    self->parameters = parameters;
    self->ttl = self->parameters->ttl_s > 0 ? sim_from_s(self->parameters->ttl_s) : SIM_FOREVER;
    self->functions = workload->function_count;
    self->cost_ms = arena_allocate(arena, self->functions, sizeof *self->cost_ms);
    self->size_mb = arena_allocate(arena, self->functions, sizeof *self->size_mb);
    self->clock = arena_allocate(arena, invokers, sizeof *self->clock);
    self->frequency = arena_allocate(arena, invokers * self->functions, sizeof *self->frequency);
    const bool weights = self->parameters->size == SIZE_GPU ||
                         (self->parameters->size == SIZE_SCARCE && gpu_memory_is_scarce(workload));
    for (size_t f = 0; f < self->functions; f++) {
        const struct function *function = &workload->functions[f];
        const bool gpu =
            weights && function->configurations[function->minimum_configuration].vgpu > 0;
        const double size = gpu ? function->gpus[0].gpu_weights_mb : function->host_memory_mb;
        self->cost_ms[f] = function->gpus[0].cold_start_mean_ms;
        self->size_mb[f] = size > 0 ? size : 1; /* a container without memory is never evicted
                                                 * for room */
    }
    return true;
}

static uint64_t *frequency_of(const struct greedy_dual *self, uint32_t function, uint32_t invoker)
{
    return &self->frequency[(size_t)invoker * self->functions + function];
}

static void greedy_dual_on_use(void *state, uint32_t function, uint32_t invoker, sim_time_t now)
{
    ++*frequency_of(state, function, invoker);
}

static struct keep_windows greedy_dual_on_idle(void *state, const struct idle_container *container,
                                               bool used, sim_time_t now)
{
    const struct greedy_dual *self = state;
    return (struct keep_windows){.keep_for = self->ttl, .stamp = self->clock[container->invoker]};
}

static double greedy_dual_priority(void *state, const struct idle_container *container)
{
    const struct greedy_dual *self = state;
    const double cost = self->cost_ms[container->function];
    const double size = self->size_mb[container->function];
    const double frequency = (double)*frequency_of(self, container->function, container->invoker);
    switch (self->parameters->variant) {
    case VARIANT_LRU:
        return sim_to_ms(container->idle_since);
    case VARIANT_FREQ:
        return container->stamp + frequency * cost;
    case VARIANT_SIZE:
        return container->stamp + frequency / size;
    case VARIANT_LANDLORD:
        return container->stamp + cost / size;
    case VARIANT_GREEDY_DUAL:
        break;
    }
    return container->stamp + frequency * cost / size;
}

static void greedy_dual_on_evict(void *state, const struct idle_container *container, bool pressed,
                                 uint32_t left)
{
    struct greedy_dual *self = state;
    double *clock = &self->clock[container->invoker];
    /* With several GPUs the lowest priority on one may be below that of an earlier eviction on
     * another. */
    const double priority = greedy_dual_priority(self, container);
    if (pressed && self->parameters->variant != VARIANT_LRU && priority > *clock)
        *clock = priority;
    if (left == 0)
        *frequency_of(self, container->function, container->invoker) = 0;
}

static const struct key greedy_dual_parameters[] = {
    PARAMETER_WORD(greedy_dual, variant, WORDS("greedy-dual", "lru", "freq", "size", "landlord"),
                   VARIANT_GREEDY_DUAL, "priority of idle containers [code: faascache-sim]"),
    PARAMETER_NUMBER(greedy_dual, ttl_s, 0, 1e9, 0,
                     "longest idle time; 0: until memory is short [code]"),
    PARAMETER_WORD(greedy_dual, size, WORDS("scarce", "gpu", "host"), SIZE_SCARCE,
                   "memory that counts as a container's size [derived]"),
    KEY_END,
};

const struct keep_alive keep_alive_greedy_dual = {
    .name = "greedy-dual",
    .summary = "FaasCache: evicts only for memory, lowest clock + frequency x cost / size first",
    .parameters = greedy_dual_parameters,
    .parameters_bytes = sizeof(struct greedy_dual_parameters),
    .state_bytes = sizeof(struct greedy_dual),
    .init = greedy_dual_init,
    .on_use = greedy_dual_on_use,
    .on_idle = greedy_dual_on_idle,
    .priority = greedy_dual_priority,
    .on_evict = greedy_dual_on_evict,
};
