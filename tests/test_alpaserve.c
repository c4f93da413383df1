/* AlpaServe: dispatch, refusal and pipelines by hand, and against a recurrence of its own. */
#include "tests/worlds.h"

enum { GROUPS = 4, MODELS = 4, STAGES = 3, REQUESTS = 200 };

/* Models on groups; times in us. A world of exact times: no noise, transfers or decision time. */
struct groups_world {
    uint32_t groups, models;
    uint32_t stages; /* of each model */
    bool hosted[MODELS][GROUPS];
    uint32_t service[MODELS][STAGES], turnaround[MODELS][STAGES];
    uint32_t slo, margin, capacity; /* the last of a queue; 0: none */
    const char *admission;
};

static void functions_add(char *json, const struct groups_world *of)
{
    world_add(json, "'functions':{'functions':[");
    for (uint32_t m = 0; m < of->models; m++)
        for (uint32_t s = 0; s < of->stages; s++)
            world_add(json,
                      "%s{'name':'f%u-%u','service':{'distribution':'constant','mean_ms':%g},"
                      "'configuration':{'batch':1,'vcpu':1,'vgpu':1},'turnaround_ms':%g,'gpu_"
                      "memory_mb':1}",
                      m + s == 0 ? "" : ",", m, s, of->service[m][s] / 1e3,
                      of->turnaround[m][s] / 1e3);
    world_add(json, "]},'applications':[");
    for (uint32_t m = 0; m < of->models; m++) {
        world_add(json, "%s{'name':'m%u','stages':[", m == 0 ? "" : ",", m);
        for (uint32_t s = 0; s < of->stages; s++) {
            world_add(json, "%s{'name':'s%u','function':'f%u-%u'", s == 0 ? "" : ",", s, m, s);
            if (s > 0)
                world_add(json, ",'after':['s%u']", s - 1);
            world_add(json, "}");
        }
        world_add(json, "]}");
    }
}

/* Runs the arrivals, given in us, under the policy. */
static void go_on(const struct groups_world *of, const uint32_t *times, const uint32_t *models,
                  unsigned count)
{
    char json[WORLD_BYTES] = "";
    const char *comma = "";
    TRACE_FILE(trace, path);
    for (unsigned i = 0; i < count; i++)
        (void)fprintf(trace, "%.3f,m%u\n", times[i] / 1e3, models[i]);
    assert_int_equal(fclose(trace), 0);
    world_add(json,
              "{'name':'groups','cluster':{'invokers':[{'count':%u,'vcpus':64,'memory_mb':1000000,"
              "'gpus':[{'count':%u,'sharing':'exclusive','units':1,'memory_mb':16384}]}]},",
              of->groups, of->stages);
    functions_add(json, of);
    world_add(
        json,
        "],'arrivals':{'process':'trace','file':'%s'},'slo':{'ms':%g},'policy':{'name':"
        "'alpaserve','params':{'own_admission':'%s','margin_ms':%g}},'platform':{'keep_alive_s':"
        "'infinite','prewarm':'none','interference':false,'queue_capacity':%u,"
        "'decision_cost':{'model':'zero'},'transfer':{'latency_ms':0,'bandwidth_gbps':1e9},"
        "'initial':{",
        path, of->slo / 1e3, of->admission, of->margin / 1e3, of->capacity);
    for (uint32_t m = 0; m < of->models; m++)
        for (uint32_t s = 0; s < of->stages; s++) {
            const char *first = "[";
            for (uint32_t g = 0; g < of->groups; g++)
                if (of->hosted[m][g]) {
                    if (first[0] == '[')
                        world_add(json, "%s'f%u-%u':", comma, m, s);
                    world_add(json, "%s%u", first, g);
                    first = comma = ",";
                }
            world_add(json, "%s", first[0] == ',' ? "]" : "");
        }
    world_add(json, "}},'requests':%u,'warmup_requests':0}", count);
    run_well(json, NULL, &rows, anew());
    assert_int_equal(rows.request_count, count);
}

/* The group that ran the stage's n-th batch. */
static uint32_t ran_on(uint32_t stage, uint32_t n)
{
    for (size_t i = 0; i < rows.batch_count; i++)
        if (rows.batches[i].stage == stage && n-- == 0)
            return rows.batches[i].invoker;
    return SIM_NONE;
}

/* ---- By hand --------------------------------------------------------------------------------- */

static const struct groups_world pair = {.groups = 3,
                                         .models = 2,
                                         .stages = 1,
                                         .hosted = {{true, true, true}, {false, true, true}},
                                         .service = {{10000}, {10000}},
                                         .turnaround = {{2500}, {2500}},
                                         .slo = 22500,
                                         .admission = "on"};

/* Ties go to the first. m1 is not on group 0, and the third of m0 finds 1, 1 and 0 unfinished. */
CASE(a_request_goes_to_the_first_group_with_the_fewest)
{
    static const uint32_t times[] = {0, 1000, 2000, 3000, 50000}, models[] = {0, 1, 0, 0, 1};
    static const uint32_t expected[] = {0, 1, 2, 0, 1};
    go_on(&pair, times, models, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(ran_on(0, i), expected[i]);
}

/* The second on a group ends after 10 + 2.5 + 10 ms, in time at 22.5 ms and with no margin. */
CASE(a_request_is_refused_if_its_end_after_turnarounds_is_late)
{
    static const uint32_t times[] = {0, 0, 0}, models[] = {1, 1, 1};
    struct groups_world of = pair;
    go_on(&of, times, models, 3);
    assert_int_equal(result.overall.dropped, 0);
    of.slo = 22499;
    go_on(&of, times, models, 3);
    assert_int_equal(result.overall.dropped, 1);
    assert_int_equal(rows.requests[2].dropped, 1);
    of.admission = "off";
    go_on(&of, times, models, 3);
    assert_int_equal(result.overall.dropped, 0);
    of = pair;
    of.margin = 1;
    go_on(&of, times, models, 3);
    assert_int_equal(result.overall.dropped, 1);
}

/* Group 0 alone has m0, whose second stage is slow. Once it is idle, m1 goes to it first. */
CASE(what_a_full_queue_refuses_is_unfinished_no_more)
{
    const struct groups_world of = {.groups = 2,
                                    .models = 2,
                                    .stages = 2,
                                    .hosted = {{true, false}, {true, true}},
                                    .service = {{10000, 100000}, {10000, 1000}},
                                    .slo = 1000000,
                                    .capacity = 1,
                                    .admission = "off"};
    static const uint32_t times[] = {0, 11000, 22000, 33000, 44000, 2000000, 2001000, 2002000};
    static const uint32_t models[] = {0, 0, 0, 0, 0, 1, 1, 1};
    go_on(&of, times, models, 8);
    assert_int_equal(result.overall.dropped, 3);
    assert_int_equal(ran_on(0, 5), 0);
    assert_int_equal(ran_on(0, 6), 1);
    assert_int_equal(ran_on(0, 7), 0);
}

/* ---- A recurrence ---------------------------------------------------------------------------- */

/* Each group is a line of servers in order of arrival, none of which looks ahead. Sets the ends of
 * the requests, -1 of those refused, in us. */
static void recur(const struct groups_world *of, const uint32_t *times, const uint32_t *models,
                  int64_t *ends)
{
    static int64_t released[GROUPS][REQUESTS];
    int64_t servers[GROUPS][STAGES] = {{0}};
    uint32_t counts[GROUPS] = {0};
    for (uint32_t i = 0; i < REQUESTS; i++) {
        const uint32_t m = models[i];
        uint32_t best = GROUPS, fewest = UINT32_MAX;
        for (uint32_t g = 0; g < of->groups; g++) {
            uint32_t unfinished = 0;
            for (uint32_t r = 0; r < counts[g]; r++)
                unfinished += released[g][r] > times[i];
            if (of->hosted[m][g] && unfinished < fewest) {
                fewest = unfinished;
                best = g;
            }
        }
        int64_t end = times[i], after[STAGES] = {0};
        ends[i] = -1;
        for (uint32_t s = 0; best < GROUPS && s < of->stages; s++) {
            end = (end > servers[best][s] ? end : servers[best][s]) + of->service[m][s];
            after[s] = end + of->turnaround[m][s];
        }
        if (best == GROUPS ||
            (strcmp(of->admission, "on") == 0 && end + of->margin > times[i] + of->slo))
            continue;
        for (uint32_t s = 0; s < of->stages; s++)
            servers[best][s] = after[s];
        released[best][counts[best]++] = after[of->stages - 1];
        ends[i] = end;
    }
}

static int compare_ends(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Groups of one model may exchange its requests, so their ends are compared in order. */
static void check_model(uint32_t model, const uint32_t *models, const int64_t *expected,
                        uint64_t *served)
{
    int64_t ends[2][REQUESTS];
    size_t count = 0;
    for (size_t i = 0; i < REQUESTS; i++) {
        if (models[i] != model)
            continue;
        assert_int_equal(rows.requests[i].dropped, expected[i] < 0);
        if (expected[i] < 0)
            continue;
        ends[0][count] = expected[i];
        ends[1][count++] = rows.requests[i].finish_ns / 1000;
    }
    for (size_t i = 0; i < 2; i++)
        qsort(ends[i], count, sizeof ends[i][0], compare_ends);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ends[0][i], ends[1][i]);
    *served += count;
}

static uint32_t draw(gsl_rng *rng, uint32_t least, uint32_t most)
{
    return least + (uint32_t)gsl_rng_uniform_int(rng, most - least + 1);
}

static void world_draw(struct groups_world *of, gsl_rng *rng)
{
    *of = (struct groups_world){.groups = draw(rng, 1, GROUPS),
                                .models = draw(rng, 1, MODELS),
                                .stages = draw(rng, 1, STAGES),
                                .slo = draw(rng, 20000, 200000),
                                .margin = draw(rng, 0, 1) * 5000,
                                .admission = draw(rng, 0, 3) == 0 ? "off" : "on"};
    for (uint32_t m = 0; m < of->models; m++) {
        for (uint32_t g = 0; g < of->groups; g++)
            of->hosted[m][g] = draw(rng, 0, 2) > 0;
        for (uint32_t s = 0; s < of->stages; s++) {
            of->service[m][s] = draw(rng, 2000, 30000);
            of->turnaround[m][s] = draw(rng, 0, 1) * draw(rng, 0, 6000);
        }
    }
    of->hosted[0][0] = true;
}

CASE(ends_and_refusals_are_those_of_a_recurrence)
{
    uint64_t served = 0, requests = 0;
    for (uint64_t world = 0; world < 40; world++) {
        struct groups_world of;
        uint32_t times[REQUESTS], models[REQUESTS], at = 0;
        int64_t expected[REQUESTS];
        RANDOM_STREAM(stream, 2026, RANDOM_TEST, world, 29);
        world_draw(&of, &stream.rng);
        for (uint32_t i = 0; i < REQUESTS; i++) {
            times[i] = at;
            at += draw(&stream.rng, 1, 60000 / of.groups / of.models);
            models[i] = draw(&stream.rng, 0, of.models - 1);
        }
        go_on(&of, times, models, REQUESTS);
        recur(&of, times, models, expected);
        for (uint32_t m = 0; m < of.models; m++)
            check_model(m, models, expected, &served);
        requests += REQUESTS;
    }
    print_message("%lu of %lu requests served\n", (unsigned long)served, (unsigned long)requests);
    assert_in_range(served, requests / 4, requests * 3 / 4);
}

/* ---- Worlds of all policies ------------------------------------------------------------------ */

/* Chains in place of the diamond, which the policy refuses. An invoker that
 * cannot hold a function's fastest configuration, as one without a GPU, does not host it. */
CASE(no_rule_is_broken_in_random_worlds_of_chains)
{
    const struct policy *policy = must(policy_find("alpaserve", hear()));
    uint64_t dropped = 0, most = 0;
    for (uint64_t world = 0; world < 60; world++) {
        char *json = world_random(world, world % 2 == 1);
        world_replace(json, "'c','function':'g','after':['a']", "'c','function':'g','after':['b']");
        world_replace(json, "'after':['b','c']", "'after':['c']");
        if (world % 3 == 1)
            world_exclusive(json);
        if (world % 5 == 4)
            world_replace(json, "'invokers':[",
                          "'invokers':[{'count':1,'vcpus':1,'memory_mb':900,'gpus':[]},");
        if (world % 4 == 2)
            world_replace(json, "'prewarm':'none'", "'prewarm':'none','queue_capacity':3");
        world_serve(json, policy, world % 5 == 3 ? "own_admission" : NULL, 0, NULL, &dropped);
        most += dropped < WORLD_REQUESTS;
    }
    assert_true(most > 30);
}

SUITE("alpaserve")
