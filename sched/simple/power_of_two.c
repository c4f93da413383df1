/* The power of two choices: draws two invokers and takes the less loaded.
 *
 * Chooses only the invoker. Two random choices reduce the longest of n queues from order log n /
 * log log n to log log n (Mitzenmacher, IEEE TPDS 12(10), 2001; Azar et al., STOC'94) [recall]. The
 * price is two O(1) queries per batch.
 *
 * Porting assumptions [derived]:
 * - The load is the number of batches that run on the invoker: the platform's invokers have no
 *   queues.
 * - The two are different invokers, drawn uniformly among those with the configuration's kind of
 *   GPU. The n-th query of a run draws from the
 *   policy's random stream n, so that a run is repeatable. Ties go to the first draw.
 * - If only one of the two has an idle container of the function, that one is taken. The theory's
 *   queues have no cold starts, which cost more here than any load, and every other policy prefers
 *   a warm container. `warm` "ignore" disables this. An invoker without room is never taken. If
 *   neither has room, the batch goes to the best fit, because it cannot queue at an invoker.
 *   Otherwise a batch that only one invoker in a thousand could take would wait until that is
 *   drawn.
 * - Order and configuration are those of "fifo". Parameter `placement` has no effect.
 */
#include "sched/common/static_plan.h"
#include "sim/engine/random.h"

struct power_of_two_parameters {
    struct dispatcher_parameters dispatcher; /* first member */
    enum { WARM_PREFER, WARM_IGNORE } warm;
};

struct power_of_two {
    struct dispatcher dispatcher; /* first member, so that the dispatcher's functions accept this
                                   * state */
    const struct power_of_two_parameters *parameters;
    uint64_t questions; /* number of queries answered; selects the next random stream */
    /* Invokers by kind of GPU, one list after another; list k ends at end[k]. With one kind it has
     * all invokers, also those without a GPU. */
    uint32_t *invokers;
    size_t *end;
};

static bool has_kind(const struct invoker_group *group, uint32_t kind)
{
    for (size_t g = 0; g < group->gpu_count; g++)
        if (group->gpus[g].kind == kind)
            return true;
    return false;
}

static void lists_fill(struct power_of_two *self, struct platform *platform)
{
    const struct workload *workload = platform_workload(platform);
    const uint32_t kinds = (uint32_t)workload->kind_count;
    const struct cluster_spec *cluster = &workload->cluster;
    size_t count = 0;
    self->invokers =
        platform_allocate(platform, (size_t)cluster->invoker_count * kinds, sizeof *self->invokers);
    self->end = platform_allocate(platform, kinds, sizeof *self->end);
    for (uint32_t k = 0; k < kinds; k++) {
        uint32_t invoker = 0;
        for (size_t g = 0; g < cluster->group_count; g++)
            for (uint32_t i = 0; i < cluster->groups[g].count; i++, invoker++)
                if (kinds == 1 || has_kind(&cluster->groups[g], k))
                    self->invokers[count++] = invoker;
        self->end[k] = count;
    }
}

/* Draws two different invokers with GPUs of the kind, or the only one twice. */
static void draw_two(struct power_of_two *state, const struct platform *platform, uint32_t kind,
                     uint32_t drawn[2])
{
    const size_t first = kind > 0 ? state->end[kind - 1] : 0;
    const uint32_t count = (uint32_t)(state->end[kind] - first);
    RANDOM_STREAM(stream, platform_seed(platform), RANDOM_POLICY, state->questions++, 0);
    drawn[0] = (uint32_t)gsl_rng_uniform_int(&stream.rng, count);
    drawn[1] = drawn[0];
    if (count > 1) {
        drawn[1] = (uint32_t)gsl_rng_uniform_int(&stream.rng, count - 1);
        drawn[1] += drawn[1] >= drawn[0];
    }
    for (size_t i = 0; i < 2; i++)
        drawn[i] = state->invokers[first + drawn[i]];
}

/* The less loaded of the two among those with room; the first if they are equal. SIM_NONE if
 * neither has room. */
static uint32_t better_of(const struct platform *platform, const uint32_t drawn[2],
                          uint32_t function, uint32_t configuration, bool warm)
{
    const bool room[2] = {placement_fits(platform, function, configuration, drawn[0], warm),
                          placement_fits(platform, function, configuration, drawn[1], warm)};
    if (!room[0] && !room[1])
        return SIM_NONE;
    if (!room[0] || !room[1])
        return drawn[room[0] ? 0 : 1];
    const bool second =
        platform_running_batches(platform, drawn[1]) < platform_running_batches(platform, drawn[0]);
    return drawn[second ? 1 : 0];
}

static uint32_t power_of_two_place(void *state, struct platform *platform, uint32_t queue,
                                   uint32_t configuration)
{
    const uint32_t function = platform_queue_function(platform, queue);
    struct power_of_two *self = state;
    /* No draw for a batch that has to wait. */
    if (platform_best_fit(platform, function, configuration, false) == SIM_NONE)
        return SIM_NONE;
    uint32_t drawn[2];
    draw_two(self, platform,
             platform_workload(platform)->functions[function].configurations[configuration].kind,
             drawn);
    uint32_t invoker = SIM_NONE;
    if (self->parameters->warm == WARM_PREFER)
        invoker = better_of(platform, drawn, function, configuration, true);
    if (invoker == SIM_NONE)
        invoker = better_of(platform, drawn, function, configuration, false);
    if (invoker == SIM_NONE)
        invoker = placement_choose(platform, queue, configuration, PLACEMENT_BEST_FIT, false);
    return invoker;
}

static bool power_of_two_init(void *state, struct platform *platform, const void *parameters,
                              struct error *error)
{
    struct power_of_two *self = state;
    self->parameters = parameters;
    if (!dispatcher_init(
            &self->dispatcher, platform,
            (struct dispatch_rule){static_plan_rank, static_plan_configure, power_of_two_place},
            parameters, error))
        return false;
    lists_fill(self, platform);
    return true;
}

static const struct key power_of_two_parameters[] = {
    DISPATCHER_PARAMETERS(1),
    DISPATCHER_SPLIT_PARAMETER,
    PARAMETER_WORD(power_of_two, warm, WORDS("prefer", "ignore"), WARM_PREFER,
                   "prefer the drawn invoker that has an idle container"),
    KEY_END,
};

const struct policy policy_power_of_two = {
    .name = "power-of-two",
    .summary = "requests in order of arrival, each to the less loaded of two random invokers",
    .init = power_of_two_init,
    DISPATCHER_POLICY(struct power_of_two, struct power_of_two_parameters, power_of_two_parameters),
};
