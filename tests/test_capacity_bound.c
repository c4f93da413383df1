/* The bound by capacity, against the best of all schedules of tiny cases, against every policy, and
 * where it is known. */
#include <gsl/gsl_randist.h>

#include "sched/common/capacity_bound.h"
#include "sched/registry.h"
#include "tests/suite.h"
#include "tests/worlds.h"

/* Of all that the cases build. */
static struct arena arena;

/* ---- The best of all schedules --------------------------------------------------------------- */

enum { TINY_REQUESTS = 4, TINY_CASES = 80, RUNNING_MAX = 8, TINY_KINDS = 2 };

struct tiny_request {
    sim_time_t arrival, deadline;
    uint32_t application;
};

struct tiny {
    const struct workload *workload;
    struct tiny_request requests[TINY_REQUESTS];
    int best;
};

struct tiny_batch {
    sim_time_t finish;
    uint32_t units, kind, vcpus, members;
};

struct tiny_state {
    sim_time_t now;
    uint32_t units[TINY_KINDS], vcpus; /* free; there is one GPU of each kind */
    uint32_t stage[TINY_REQUESTS];
    uint32_t busy; /* requests in a batch */
    struct tiny_batch batches[RUNNING_MAX];
    size_t running;
    size_t from; /* dispatches of one instant are in ascending order of their first members */
    int hits;
};

static const struct application *tiny_application(const struct tiny *tiny, size_t r)
{
    return &tiny->workload->applications[tiny->requests[r].application];
}

/* Applications are chains. */
static bool tiny_done(const struct tiny *tiny, const struct tiny_state *state, size_t r)
{
    return state->stage[r] == tiny_application(tiny, r)->stage_count;
}

/* Whether the request waits and could become a hit. */
static bool tiny_waits(const struct tiny *tiny, const struct tiny_state *state, size_t r)
{
    return !tiny_done(tiny, state, r) && (state->busy >> r & 1) == 0 &&
           tiny->requests[r].deadline > state->now;
}

static void tiny_search(struct tiny *tiny, const struct tiny_state *state);

/* Every batch of `members`, which wait for one stage, that fits now. */
static void tiny_dispatch(struct tiny *tiny, const struct tiny_state *state, size_t first,
                          uint32_t members)
{
    const struct application *application = tiny_application(tiny, first);
    const struct function *function =
        &tiny->workload->functions[application->stages[state->stage[first]].function];
    for (size_t k = 0; k < function->configuration_count; k++) {
        const struct configuration *c = &function->configurations[k];
        if (c->batch < __builtin_popcount(members) || c->vgpu > state->units[c->kind] ||
            c->vcpu > state->vcpus)
            continue;
        struct tiny_state next = *state;
        next.units[c->kind] -= c->vgpu;
        next.vcpus -= c->vcpu;
        next.busy |= members;
        next.from = first + 1;
        next.batches[next.running++] =
            (struct tiny_batch){state->now + c->time, c->vgpu, c->kind, c->vcpu, members};
        tiny_search(tiny, &next);
    }
}

/* Ends the batches that finish at the next event, an arrival or a finish. False: there is none. */
static bool tiny_advance(const struct tiny *tiny, struct tiny_state *state)
{
    sim_time_t next = SIM_FOREVER;
    for (size_t b = 0; b < state->running; b++)
        next = state->batches[b].finish < next ? state->batches[b].finish : next;
    for (size_t r = 0; r < TINY_REQUESTS; r++)
        if (tiny->requests[r].arrival > state->now && tiny->requests[r].arrival < next)
            next = tiny->requests[r].arrival;
    if (next == SIM_FOREVER)
        return false;
    state->now = next;
    state->from = 0;
    for (size_t b = 0; b < state->running;) {
        const struct tiny_batch batch = state->batches[b];
        if (batch.finish > next) {
            b++;
            continue;
        }
        state->units[batch.kind] += batch.units;
        state->vcpus += batch.vcpus;
        state->busy &= ~batch.members;
        for (size_t r = 0; r < TINY_REQUESTS; r++)
            if (batch.members >> r & 1) {
                state->stage[r]++;
                state->hits += tiny_done(tiny, state, r) && next <= tiny->requests[r].deadline;
            }
        state->batches[b] = state->batches[--state->running];
    }
    return true;
}

/* A batch that starts between two events may start at the earlier one. So dispatches at events are
 * enough. */
static void tiny_search(struct tiny *tiny, const struct tiny_state *state)
{
    int possible = state->hits;
    uint32_t ready = 0;
    for (size_t r = 0; r < TINY_REQUESTS; r++) {
        possible += !tiny_done(tiny, state, r) && tiny->requests[r].deadline > state->now;
        if (tiny->requests[r].arrival <= state->now && tiny_waits(tiny, state, r))
            ready |= UINT32_C(1) << r;
    }
    tiny->best = state->hits > tiny->best ? state->hits : tiny->best;
    if (possible <= tiny->best || state->running == RUNNING_MAX)
        return;
    for (size_t first = state->from; first < TINY_REQUESTS; first++)
        for (uint32_t members = ready; members != 0; members = (members - 1) & ready) {
            bool alike = (members & ((UINT32_C(1) << first) - 1)) == 0 && (members >> first & 1);
            for (size_t r = first; r < TINY_REQUESTS && alike; r++)
                alike = (members >> r & 1) == 0 ||
                        (tiny->requests[r].application == tiny->requests[first].application &&
                         state->stage[r] == state->stage[first]);
            if (alike)
                tiny_dispatch(tiny, state, first, members);
        }
    struct tiny_state next = *state;
    if (tiny_advance(tiny, &next))
        tiny_search(tiny, &next);
}

/* `few`: whole GPUs and one vCPU only, so that the search ends. */
static void tiny_function(char *json, gsl_rng *rng, const char *name, bool few)
{
    const double base = 20 + 60 * gsl_rng_uniform(rng);
    const double batch = 1 + gsl_rng_uniform(rng);
    const double share = 1 + gsl_rng_uniform(rng);
    if (few)
        world_add(json,
                  "'%s':{'grid':{'batch':[1,2],'vcpu':[1],'vgpu':[2]},'latency_ms':"
                  "[[[%.3f]],[[%.3f]]],",
                  name, base / share, base * batch / share);
    else
        world_add(json,
                  "'%s':{'grid':{'batch':[1,2],'vcpu':[1,2],'vgpu':[1,2]},'latency_ms':"
                  "[[[%.3f,%.3f],[%.3f,%.3f]],[[%.3f,%.3f],[%.3f,%.3f]]],",
                  name, base, base / share, base * 0.9, base * 0.8 / share, base * batch,
                  base * batch / share, base * batch * 0.9, base * batch * 0.8 / share);
    world_add(json, "'noise':{'cv':0},'cold_start_ms':{'mean':1,'cv':0},'gpu_memory_mb':"
                    "{'weights':1,'per_item':0},'host_memory_mb':1,'bandwidth_share':0}");
}

static void tiny_profile(char *json, gsl_rng *rng, bool few)
{
    world_add(json, "{'device':'test','evidence':'assumed','source':'test','licence':"
                    "'none','unit':2,'functions':{");
    tiny_function(json, rng, "f", few);
    world_add(json, ",");
    tiny_function(json, rng, "g", few);
    world_add(json, "},'interference':{'model':'none'}}");
}

/* One invoker with one GPU, or with two of unlike kinds. */
static char *tiny_world(gsl_rng *rng, bool unlike)
{
    static const char *const gpu = "{'model':'%s','sharing':'mps','units':2,'memory_mb':100}";
    char *json = world_blank();
    world_add(json, "{'cluster':{'invokers':[{'vcpus':%lu,'memory_mb':100,'gpus':[",
              2 + gsl_rng_uniform_int(rng, 3));
    world_add(json, gpu, "A");
    if (unlike) {
        world_add(json, ",");
        world_add(json, gpu, "B");
    }
    world_add(json, "]}]},'profile%s':", unlike ? "s" : "");
    if (unlike)
        world_add(json, "{'A':");
    tiny_profile(json, rng, unlike);
    if (unlike) {
        world_add(json, ",'B':");
        tiny_profile(json, rng, unlike);
        world_add(json, "}");
    }
    world_add(json, ",'applications':["
                    "{'name':'one','stages':[{'name':'a','function':'f'}]},"
                    "{'name':'two','stages':[{'name':'a','function':'g'},"
                    "{'name':'b','function':'f','after':['a']}]}],");
    world_add(json, "'arrivals':{'process':'poisson','rate_per_s':1},'slo':{'factor':%.3f}}",
              0.7 + 1.3 * gsl_rng_uniform(rng));
    return json;
}

static double bound_of(const struct tiny *tiny)
{
    static const double noise[WORKLOAD_MAX_STAGES] = {1, 1, 1, 1, 1, 1, 1, 1,
                                                      1, 1, 1, 1, 1, 1, 1, 1};
    struct capacity_bound *bound = must(capacity_bound_create(&arena, tiny->workload));
    for (size_t r = TINY_REQUESTS; r-- > 0;) {
        const struct tiny_request *request = &tiny->requests[r];
        capacity_bound_add(bound, request->application, request->arrival,
                           request->deadline - request->arrival, noise, true);
    }
    return capacity_bound_hits(bound);
}

static void tiny_case(struct random_stream *stream, bool unlike, size_t number, size_t *binding,
                      size_t *equal)
{
    EXPERIMENT *experiment = load(tiny_world(&stream->rng, unlike));
    struct tiny tiny = {.workload = &experiment->workload, .best = -1};
    const struct invoker_group *group = &experiment->workload.cluster.groups[0];
    struct tiny_state start = {.now = -1, .vcpus = group->vcpus};
    const double spread_ms = (unlike ? 10 : 40) * gsl_rng_uniform(&stream->rng);
    for (size_t g = 0; g < group->gpu_count; g++)
        start.units[group->gpus[g].kind] += group->gpus[g].units;
    assert_int_equal(tiny.workload->kind_count, unlike ? 2 : 1);
    for (size_t r = 0; r < TINY_REQUESTS; r++) {
        struct tiny_request *request = &tiny.requests[r];
        request->application = (uint32_t)gsl_rng_uniform_int(&stream->rng, 2);
        request->arrival = sim_from_ms(spread_ms * gsl_rng_uniform(&stream->rng));
        request->deadline =
            request->arrival + experiment->workload.applications[request->application].slo;
    }
    tiny_search(&tiny, &start);
    const double bound = bound_of(&tiny);
    if (tiny.best > bound)
        fail_msg("case %zu: %d hits, and the bound is %g", number, tiny.best, bound);
    *binding += bound < TINY_REQUESTS;
    *equal += bound == tiny.best;
}

CASE(no_schedule_of_a_tiny_case_has_more_hits)
{
    size_t binding = 0;
    size_t equal = 0;
    RANDOM_STREAM(stream, 17, RANDOM_TEST, 2, 1);
    for (size_t c = 0; c < TINY_CASES; c++)
        tiny_case(&stream, false, c, &binding, &equal);
    print_message("of %d cases the bound is below all requests in %zu, and reached in %zu\n",
                  TINY_CASES, binding, equal);
    assert_true(binding >= TINY_CASES / 4 && equal >= TINY_CASES / 2);
}

CASE(nor_of_a_case_with_unlike_gpus)
{
    size_t binding = 0;
    size_t equal = 0;
    RANDOM_STREAM(stream, 17, RANDOM_TEST, 2, 2);
    for (size_t c = 0; c < TINY_CASES; c++)
        tiny_case(&stream, true, c, &binding, &equal);
    print_message("of %d cases the bound is below all requests in %zu, and reached in %zu\n",
                  TINY_CASES, binding, equal);
    assert_true(binding >= TINY_CASES / 8 && equal >= TINY_CASES / 4);
}

/* ---- Policies -------------------------------------------------------------------------------- */

static double hits_of(const struct simulation_result *result)
{
    return result->overall.slo_hit_rate;
}

CASE(no_policy_has_more_hits)
{
    size_t binding = 0;
    size_t runs = 0;
    for (uint64_t world = 0; world < 8; world++) {
        char *json = world_random(world, world % 3 == 0);
        world_replace(json, "'requests':400", "'requests':150");
        world_replace(json, "'rate_per_s':", "'load':3,'note':");
        if (world % 4 == 1)
            world_sliced(json);
        for (size_t p = 0; policy_for_requests(p) != NULL; p++) {
            run_well(json, policy_for_requests(p), NULL, anew());
            const double bound = result.run.bound_capacity_slo_hit_rate;
            if (!(hits_of(&result) <= bound && bound <= 1))
                fail_msg("%s in world %u: %g hits, and the bound is %g",
                         policy_for_requests(p)->name, (unsigned)world, hits_of(&result), bound);
            binding += bound < 1;
            runs++;
        }
    }
    print_message("the bound is below 1 in %zu of %zu runs\n", binding, runs);
    assert_true(binding >= runs / 4);
}

/* ---- Where it is known ----------------------------------------------------------------------- */

/* One function of 10 ms, as many at a time as vCPUs, no batches. */
static struct experiment *station(unsigned vcpus, double slo_ms)
{
    char json[WORLD_BYTES] = "";
    world_add(json,
              "{'cluster':{'invokers':[{'vcpus':%u,'memory_mb':100000}]},'functions':[{"
              "'name':'f','service':{'distribution':'constant','mean_ms':10}}],"
              "'applications':[{'name':'a','stages':[{'name':'s','function':'f'}]}"
              "],'arrivals':{'process':'poisson','rate_per_s':1},'slo':{'ms':%g}}",
              vcpus, slo_ms);
    return load(json);
}

static double station_hits(const struct experiment *experiment, size_t count, double interval_ms,
                           const double *times_ms, size_t times)
{
    struct capacity_bound *bound = capacity_bound_create(&arena, &experiment->workload);
    for (size_t r = 0; r < count; r++)
        capacity_bound_add(bound, 0, sim_from_ms(interval_ms * (double)r),
                           experiment->workload.applications[0].slo, &times_ms[r % times], true);
    return capacity_bound_hits(bound);
}

CASE(a_burst_has_as_many_hits_as_fit_before_its_deadline)
{
    static const double ten = 10;
    for (unsigned vcpus = 1; vcpus <= 4; vcpus++)
        for (unsigned rounds = 1; rounds <= 5; rounds++) {
            EXPERIMENT *experiment = station(vcpus, 10.0 * rounds);
            const double most = vcpus * rounds;
            assert_true(station_hits(experiment, 50, 0, &ten, 1) == most);
            assert_true(station_hits(experiment, (size_t)most, 0, &ten, 1) == most);
        }
}

/* The shortest are served first: with times of 5 and 20 ms, half of the requests each, at twice the
 * capacity 5 ms of 25 go to the short ones, and the rest to half of the long ones. */
CASE(in_overload_the_shortest_are_served)
{
    static const double times[] = {5, 20};
    EXPERIMENT *experiment = station(1, 40);
    const double hits = station_hits(experiment, 4000, 6.25, times, 2);
    const double expected = 2000 + (4000 * 6.25 - 2000 * 5) / 20;
    print_message("%g hits, in theory about %g\n", hits, expected);
    assert_true(hits >= expected && hits <= expected + 5);
}

CASE(all_hit_at_low_load_and_none_below_the_fastest_time)
{
    static const double ten = 10;
    struct experiment *experiment = station(2, 30);
    assert_true(station_hits(experiment, 1000, 6, &ten, 1) == 1000);
    experiment_free(experiment);
    experiment = station(2, 9);
    assert_true(station_hits(experiment, 1000, 6, &ten, 1) == 0);
    experiment_free(experiment);
    for (uint64_t world = 0; world < trials(10); world++) {
        char *json = world_random(world, true);
        world_replace(json, "'rate_per_s':", "'load':0.05,'note':");
        run_well(json, policy_find("edf", NULL), NULL, anew());
        assert_true(result.run.bound_capacity_slo_hit_rate == 1);
    }
}

SUITE("capacity bound")
