/* The power of two choices: draws two invokers and takes the less loaded.
 *
 * Chooses only the invoker. Two random choices reduce the longest of n queues from order log n /
 * log log n to log log n (Mitzenmacher, IEEE TPDS 12(10), 2001; Azar et al., STOC'94) [recall]. The
 * price is two O(1) queries per batch.
 *
 * Porting assumptions [derived]:
 * - The load is the number of batches that run on the invoker: the platform's invokers have no
 *   queues.
 * - The two are different invokers, drawn uniformly. The n-th query of a run draws from the
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

struct power_of_two {
    struct dispatcher dispatcher; /* first member, so that the dispatcher's functions accept this
                                   * state */
    uint64_t questions;           /* number of queries answered; selects the next random stream */
    bool ignore_warm;
};

/* Draws two different invokers, or the only one twice. */
static void draw_two(struct power_of_two *state, const struct platform *platform, uint32_t drawn[2])
{
    const uint32_t count = platform_workload(platform)->cluster.invoker_count;
    struct random_stream stream;
    random_stream_open(&stream, platform_seed(platform), RANDOM_POLICY, state->questions++, 0);
    drawn[0] = (uint32_t)gsl_rng_uniform_int(&stream.rng, count);
    drawn[1] = drawn[0];
    if (count > 1) {
        drawn[1] = (uint32_t)gsl_rng_uniform_int(&stream.rng, count - 1);
        drawn[1] += drawn[1] >= drawn[0];
    }
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
                                   uint32_t configuration, bool warm_only)
{
    const uint32_t function = platform_queue_function(platform, queue);
    struct power_of_two *self = state;
    /* No draw for a batch that has to wait. */
    if (platform_best_fit(platform, function, configuration, warm_only) == SIM_NONE)
        return SIM_NONE;
    uint32_t drawn[2];
    draw_two(self, platform, drawn);
    uint32_t invoker = SIM_NONE;
    if (warm_only || !self->ignore_warm)
        invoker = better_of(platform, drawn, function, configuration, true);
    if (invoker == SIM_NONE && !warm_only)
        invoker = better_of(platform, drawn, function, configuration, false);
    if (invoker == SIM_NONE)
        invoker = placement_choose(platform, queue, configuration, PLACEMENT_BEST_FIT, warm_only);
    return invoker;
}

static bool power_of_two_init(void *state, struct platform *platform, const double *values,
                              struct error *error)
{
    struct power_of_two *self = state;
    const double *own = values + DISPATCHER_PARAMETER_COUNT;
    if (!dispatcher_init(&self->dispatcher, platform,
                         (struct dispatch_rule){static_plan_rank, static_plan_configure}, values,
                         (enum planner_split)own[0], error))
        return false;
    self->dispatcher.place = power_of_two_place;
    self->ignore_warm = own[1] > 0;
    return true;
}

static const struct parameter power_of_two_parameters[] = {
    DISPATCHER_PARAMETERS(1),
    DISPATCHER_SPLIT_PARAMETER,
    {"warm", 0, 0, 1, "prefer|ignore", "prefer the drawn invoker that has an idle container"},
};

extern const struct policy policy_power_of_two;
const struct policy policy_power_of_two = {
    .abi = POLICY_ABI,
    .name = "power-of-two",
    .summary = "requests in order of arrival, each to the less loaded of two random invokers",
    .parameters = power_of_two_parameters,
    .parameter_count = sizeof power_of_two_parameters / sizeof *power_of_two_parameters,
    .state_bytes = sizeof(struct power_of_two),
    .init = power_of_two_init,
    .on_ready = dispatcher_on_ready,
    .on_withdrawn = dispatcher_on_withdrawn,
    .on_finish = dispatcher_on_finish,
    .decide = dispatcher_decide,
    .finish = dispatcher_finish,
};
