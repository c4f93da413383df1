/* What a policy is told of the jobs that wait, and the backlog kept by it, against a model that
 * asks the platform anew each time. */
#include "sched/common/backlog.h"
#include "sched/memory.h"
#include "sched/policy_instances.h"
#include "sched/common/unique_fifo.h"
#include "tests/suite.h"
#include "tests/worlds.h"

enum { QUEUES_MAX = 16, INSTANCES_MAX = 6, FUNCTIONS = 2, BUFFER_MAX = 5, WORLDS = 40 };

/* Acts at random, knows queues and buffers from what it is told and does alone, and keeps a backlog
 * for each function. */
struct census {
    struct backlog backlogs[FUNCTIONS];
    struct backlog_slot slots[QUEUES_MAX];
    uint32_t queue_count;
    uint32_t waiting[QUEUES_MAX];
    uint32_t buffered[INSTANCES_MAX]; /* by place in `instances` */
    uint32_t instances[INSTANCES_MAX];
    uint32_t instance_count;
    struct random_stream stream;
};

/* What the runs of a test saw, over all of them. */
static struct seen {
    uint64_t looks, dropped, withdrawn, from_buffers, elsewhere, returned;
    uint32_t dropping; /* queue of the drop in progress; SIM_NONE */
} seen;                // NOLINT: a policy's functions have no other context

static uint32_t below(struct census *census, uint32_t count)
{
    return (uint32_t)gsl_rng_uniform_int(&census->stream.rng, count);
}

static uint32_t place_of(const struct census *census, uint32_t instance)
{
    uint32_t place = 0;
    while (place < census->instance_count && census->instances[place] != instance)
        place++;
    assert_true(place < census->instance_count);
    return place;
}

/* Here and now, in the midst of whatever made it change. */
static void update(struct census *census, const struct platform *platform, uint32_t queue)
{
    struct backlog_slot *slot = &census->slots[queue];
    assert_int_equal(platform_queue_length(platform, queue), census->waiting[queue]);
    backlog_update(&census->backlogs[slot->owner], slot, platform);
}

static bool census_init(void *state, struct platform *platform, const void *parameters,
                        struct error *error)
{
    struct census *census = state;
    census->queue_count = platform_workload(platform)->queue_count;
    assert_true(census->queue_count <= QUEUES_MAX);
    random_stream_open(&census->stream, 11, RANDOM_TEST, platform_seed(platform), 0);
    for (uint32_t q = 0; q < census->queue_count; q++) {
        const uint32_t function = platform_queue_function(platform, q);
        backlog_add(&census->backlogs[function], platform_arena(platform), &census->slots[q],
                    function, q);
    }
    for (uint32_t f = 0; f < FUNCTIONS; f++)
        backlog_start(&census->backlogs[f], platform_arena(platform));
    seen.dropping = SIM_NONE;
    return true;
}

static void census_on_ready(void *state, struct platform *platform, uint32_t queue)
{
    struct census *census = state;
    census->waiting[queue]++;
    update(census, platform, queue);
}

static void census_on_withdrawn(void *state, struct platform *platform, uint32_t queue,
                                uint32_t instance)
{
    struct census *census = state;
    seen.withdrawn++;
    seen.elsewhere += seen.dropping != queue;
    if (instance == SIM_NONE) {
        census->waiting[queue]--;
    } else {
        const uint32_t place = place_of(census, instance);
        census->buffered[place]--;
        seen.from_buffers++;
        assert_int_equal(platform_instance(platform, instance).buffered, census->buffered[place]);
    }
    update(census, platform, queue);
}

static void check(const struct census *census, const struct platform *platform)
{
    seen.looks++;
    for (uint32_t q = 0; q < census->queue_count; q++)
        assert_int_equal(census->waiting[q], platform_queue_length(platform, q));
    for (uint32_t i = 0; i < census->instance_count; i++)
        assert_int_equal(census->buffered[i],
                         platform_instance(platform, census->instances[i]).buffered);
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        uint32_t oldest = SIM_NONE;
        uint32_t waiting = 0;
        sim_time_t since = SIM_FOREVER;
        for (uint32_t q = 0; q < census->queue_count; q++) {
            const uint32_t length = platform_queue_length(platform, q);
            if (platform_queue_function(platform, q) != f || length == 0)
                continue;
            waiting += length;
            if (platform_job(platform, q, 0).ready < since) {
                since = platform_job(platform, q, 0).ready;
                oldest = q;
            }
        }
        assert_int_equal(backlog_oldest(&census->backlogs[f]), oldest);
        assert_true(backlog_since(&census->backlogs[f]) == since);
        assert_int_equal(census->backlogs[f].waiting, waiting);
    }
}

/* ---- Acts: true where there was something to do ---------------------------------------------- */

static bool act_drop(struct census *census, struct platform *platform)
{
    const uint32_t queue = platform_next_queue(platform, below(census, census->queue_count));
    if (queue == SIM_NONE)
        return false;
    seen.dropped++;
    seen.dropping = queue;
    assert_true(
        platform_drop(platform, queue, below(census, platform_queue_length(platform, queue))));
    seen.dropping = SIM_NONE;
    return true;
}

static bool act_create(struct census *census, struct platform *platform)
{
    if (census->instance_count == INSTANCES_MAX)
        return false;
    const uint32_t function = below(census, FUNCTIONS);
    const uint32_t smallest =
        (uint32_t)platform_workload(platform)->functions[function].minimum_configuration;
    const uint32_t invoker = platform_best_fit(platform, function, smallest, false);
    if (invoker == SIM_NONE)
        return false;
    const uint32_t id = platform_create(
        platform, &(struct instance_request){function, smallest, 100, invoker, SIM_NONE});
    if (id == SIM_NONE)
        return false;
    census->buffered[census->instance_count] = 0;
    census->instances[census->instance_count++] = id;
    return true;
}

static bool act_kill(struct census *census, struct platform *platform)
{
    for (uint32_t i = 0; i < census->instance_count; i++) {
        const uint32_t id = census->instances[i];
        if (platform_instance(platform, id).state != INSTANCE_IDLE || census->buffered[i] > 0)
            continue;
        census->instances[i] = census->instances[--census->instance_count];
        census->buffered[i] = census->buffered[census->instance_count];
        return platform_kill(platform, id);
    }
    return false;
}

static bool act_route(struct census *census, struct platform *platform)
{
    if (census->instance_count == 0)
        return false;
    const uint32_t place = below(census, census->instance_count);
    const uint32_t id = census->instances[place];
    const uint32_t function = platform_instance(platform, id).function;
    const uint32_t queue = backlog_oldest(&census->backlogs[function]);
    if (queue == SIM_NONE || census->buffered[place] == BUFFER_MAX)
        return false;
    assert_true(platform_route(platform, queue, id));
    census->waiting[queue]--;
    census->buffered[place]++;
    update(census, platform, queue);
    return true;
}

/* Which queues they go back to is for the platform to say. */
static bool act_return(struct census *census, struct platform *platform)
{
    if (census->instance_count == 0)
        return false;
    const uint32_t place = below(census, census->instance_count);
    if (census->buffered[place] == 0)
        return false;
    assert_true(platform_return(platform, census->instances[place]));
    seen.returned += census->buffered[place];
    census->buffered[place] = 0;
    for (uint32_t q = 0; q < census->queue_count; q++) {
        census->waiting[q] = platform_queue_length(platform, q);
        update(census, platform, q);
    }
    return true;
}

static bool act_launch(struct census *census, struct platform *platform)
{
    for (uint32_t i = 0; i < census->instance_count; i++) {
        const uint32_t id = census->instances[i];
        if (platform_instance(platform, id).state != INSTANCE_IDLE || census->buffered[i] == 0)
            continue;
        census->buffered[i]--;
        return platform_launch(platform, id, 1);
    }
    return false;
}

static bool act_dispatch(struct census *census, struct platform *platform)
{
    const uint32_t queue = platform_next_queue(platform, below(census, census->queue_count));
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const uint32_t smallest =
        (uint32_t)platform_workload(platform)->functions[function].minimum_configuration;
    const uint32_t invoker = platform_best_fit(platform, function, smallest, false);
    if (invoker == SIM_NONE)
        return false;
    census->waiting[queue]--;
    assert_true(platform_dispatch(platform, queue, 1, smallest, invoker));
    update(census, platform, queue);
    return true;
}

static bool census_decide(void *state, struct platform *platform)
{
    static bool (*const acts[])(struct census *, struct platform *) = {
        act_launch, act_dispatch, act_kill,  act_create, act_drop, act_return,
        act_route,  act_route,    act_route, act_route,  act_route};
    struct census *census = state;
    check(census, platform);
    const uint32_t which = below(census, sizeof acts / sizeof *acts);
    /* Work first, should the draw have nothing to do: so that every world comes to its end. */
    const bool acted = acts[which](census, platform) || act_launch(census, platform) ||
                       act_dispatch(census, platform) || act_kill(census, platform);
    check(census, platform);
    return acted;
}

POLICY(census, .state_bytes = sizeof(struct census), .init = census_init,
       .on_ready = census_on_ready, .on_withdrawn = census_on_withdrawn, .decide = census_decide);

/* Every other world has short queues, which give up requests by themselves. */
CASE(counts_by_hooks_and_backlogs_agree_with_the_platform_whatever_is_dropped)
{
    seen = (struct seen){0};
    uint64_t full = 0;
    for (uint64_t world = 0; world < WORLDS; world++) {
        char *json = world_random(world, world % 3 == 0);
        if (world % 2 == 1)
            world_replace(json, "'prewarm':'none'", "'prewarm':'none','queue_capacity':3");
        const uint64_t before = seen.dropped;
        run_well(json, &census, &rows, anew());
        world_check_conserved(&rows, &result, 400);
        full += result.overall.dropped - (seen.dropped - before);
    }
    print_message("%lu looks, %lu drops and %lu by full queues: %lu jobs withdrawn, %lu of other "
                  "queues, %lu from buffers; %lu returned\n",
                  seen.looks, seen.dropped, full, seen.withdrawn, seen.elsewhere, seen.from_buffers,
                  seen.returned);
    assert_true(seen.dropped > 500 && full > 100);
    assert_true(seen.elsewhere > 500 && seen.from_buffers > 50 && seen.returned > 100);
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static void act_when_told(void *state, struct platform *platform, uint32_t queue, uint32_t instance)
{
    platform_drop(platform, queue, 0);
}

static bool drop_the_first(void *state, struct platform *platform)
{
    const uint32_t queue = platform_next_queue(platform, 0);
    return queue != SIM_NONE && platform_drop(platform, queue, 0);
}

CASE(acting_on_a_withdrawal_is_refused_within_decide_too)
{
    POLICY(hasty, .on_withdrawn = act_when_told, .decide = drop_the_first);
    assert_bad_run(run(diamond, &hasty, &rows, anew(), hear()), "rule timing: drop outside decide");
}

/* ---- Turns ----------------------------------------------------------------------------------- */

CASE(turns_come_in_the_order_of_asking_and_once)
{
    enum { ROOM = 7, STEPS = 5000 };
    struct unique_fifo turns;
    uint32_t line[ROOM];
    uint32_t length = 0;
    RANDOM_STREAM(stream, 3, RANDOM_TEST, 0, 0);
    unique_fifo_init(&turns, suite_arena(), ROOM);
    for (uint32_t step = 0; step < STEPS; step++) {
        if (gsl_rng_uniform_int(&stream.rng, 2) == 0) {
            const uint32_t number = (uint32_t)gsl_rng_uniform_int(&stream.rng, ROOM);
            uint32_t at = 0;
            while (at < length && line[at] != number)
                at++;
            line[at] = number;
            length += at == length;
            unique_fifo_add(&turns, number);
        } else {
            assert_int_equal(unique_fifo_next(&turns), length > 0 ? line[0] : SIM_NONE);
            length -= length > 0;
            memmove(line, line + 1, length * sizeof *line);
        }
    }
}

SUITE("backlog")
