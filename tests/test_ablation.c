/* What takes ESG's ideas away one at a time, and its dispatch, shared with other policies, against
 * a scan of all invokers. */
#include "sched/common/kinds.h"
#include "sched/common/load_index.h"
#include "sched/common/placement.h"
#include "sched/esg/esg_internal.h"
#include "sched/common/planner.h"
#include "sched/registry.h"
#include "tests/suite.h"
#include "tests/worlds.h"

enum {
    WORLDS = 25,
    OFF = 0,
    WARM = 1,
    SPREAD = 1,
    BOUNDED = 1,
    EACH_STEP = 1,
    MINIMUM = 2,
    LEAD = 0
};

/* ---- Placement against a scan ---------------------------------------------------------------- */

struct probe {
    struct load_index *loads;
    struct random_stream stream;
    uint32_t cursor;
    uint32_t answers; /* compared, and not SIM_NONE */
};

static uint32_t probe_answers;

static bool probe_init(void *state, struct platform *platform, const void *parameters,
                       struct error *error)
{
    struct probe *probe = state;
    random_stream_open(&probe->stream, platform_seed(platform), RANDOM_TEST, 5, 0);
    probe->loads = load_index_create(platform);
    return true;
}

static void probe_finish(void *state)
{
    struct probe *probe = state;
    probe_answers += probe->answers;
}

static void probe_on_finish(void *state, struct platform *platform,
                            const struct finished_batch *batch)
{
    const struct probe *probe = state;
    load_index_update(probe->loads, platform, batch->invoker);
}

static bool ran_predecessor(const struct platform *platform, uint32_t queue, uint32_t invoker)
{
    for (uint32_t which = 0;; which++) {
        const uint32_t ran = platform_predecessor_invoker(platform, queue, 0, which);
        if (ran == SIM_NONE || ran == invoker)
            return ran == invoker;
    }
}

static bool is_home(const struct platform *platform, uint32_t function, uint32_t invoker)
{
    const uint32_t count = platform_workload(platform)->cluster.invoker_count;
    for (uint32_t which = 0; which < 4 && which < count; which++)
        if (platform_home(platform, function, which) == invoker)
            return true;
    return false;
}

/* ESG_Dispatch's rank of an invoker, by its definition; UINT32_MAX: it does not fit. */
static uint32_t rank_of(const struct platform *platform, uint32_t queue, uint32_t configuration,
                        uint32_t invoker, enum placement_preference preference, bool warm_only)
{
    const uint32_t function = platform_queue_function(platform, queue);
    const bool warm = platform_fits_warm(platform, function, configuration, invoker);
    const bool near = ran_predecessor(platform, queue, invoker);
    if (!(warm_only ? warm : platform_fits(platform, function, configuration, invoker)))
        return UINT32_MAX;
    if (preference == PLACEMENT_ANY)
        return 4;
    if (preference == PLACEMENT_WARM)
        return warm ? 1 : 4;
    if (warm)
        return near ? 0 : 1;
    if (near)
        return 2;
    return is_home(platform, function, invoker) ? 3 : 4;
}

/* Batches there, or what is free there: the less the better, by either rule. */
static uint64_t key_of(const struct platform *platform, uint32_t invoker, bool spread)
{
    return spread ? platform_running_batches(platform, invoker)
                  : (uint64_t)platform_free_vgpus(platform, invoker) << 32 |
                        platform_free_vcpus(platform, invoker);
}

static void check_place(struct probe *probe, struct platform *platform, uint32_t queue,
                        uint32_t configuration, enum placement_preference preference, bool spread,
                        bool warm_only)
{
    const uint32_t count = platform_workload(platform)->cluster.invoker_count;
    const uint32_t chosen = placement_esg(platform, queue, configuration, preference,
                                          spread ? probe->loads : NULL, warm_only);
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t rank = rank_of(platform, queue, configuration, i, preference, warm_only);
        best = rank < best ? rank : best;
    }
    assert_int_equal(chosen == SIM_NONE, best == UINT32_MAX);
    if (chosen == SIM_NONE)
        return;
    probe->answers++;
    assert_int_equal(rank_of(platform, queue, configuration, chosen, preference, warm_only), best);
    /* By best fit a predecessor is the first that fits, and a home the first of the walk. */
    if (best == 3 || (!spread && (best == 0 || best == 2)))
        return;
    for (uint32_t i = 0; i < count; i++)
        if (rank_of(platform, queue, configuration, i, preference, warm_only) == best)
            assert_true(key_of(platform, chosen, spread) <= key_of(platform, i, spread));
}

static bool probe_decide(void *state, struct platform *platform)
{
    struct probe *probe = state;
    const struct workload *workload = platform_workload(platform);
    const uint32_t queue = platform_next_queue(platform, probe->cursor);
    if (queue == SIM_NONE)
        return false;
    const uint32_t function = platform_queue_function(platform, queue);
    const struct function *spec = &workload->functions[function];
    const uint32_t configuration =
        (uint32_t)gsl_rng_uniform_int(&probe->stream.rng, spec->configuration_count);
    for (uint32_t preference = 0; preference < 3; preference++)
        for (uint32_t rule = 0; rule < 4; rule++)
            check_place(probe, platform, queue, configuration,
                        (enum placement_preference)preference, rule / 2 == 1, rule % 2 == 1);
    assert_int_equal(placement_choose(platform, queue, configuration, PLACEMENT_ESG, false),
                     placement_esg(platform, queue, configuration, PLACEMENT_NEAR, NULL, false));
    const bool spread = gsl_rng_uniform_int(&probe->stream.rng, 2) > 0;
    const uint32_t invoker = placement_esg(platform, queue, configuration, PLACEMENT_NEAR,
                                           spread ? probe->loads : NULL, false);
    if (invoker == SIM_NONE)
        return false;
    const uint32_t length = platform_queue_length(platform, queue);
    const uint32_t batch = spec->configurations[configuration].batch;
    probe->cursor = (queue + 1) % workload->queue_count;
    if (!platform_dispatch(platform, queue, length < batch ? length : batch, configuration,
                           invoker))
        return false;
    load_index_update(probe->loads, platform, invoker);
    return platform_next_queue(platform, 0) != SIM_NONE;
}

static const struct policy probe_policy = {
    .abi = POLICY_ABI,
    .name = "probe",
    .state_bytes = sizeof(struct probe),
    .init = probe_init,
    .on_finish = probe_on_finish,
    .decide = probe_decide,
    .finish = probe_finish,
};

CASE(placement_equals_a_scan_of_all_invokers_by_its_definition)
{
    probe_answers = 0;
    for (uint64_t n = 0; n < trials(WORLDS); n++) {
        run_well(world_random(n, false), &probe_policy, &rows, anew());
        world_check_conserved(&rows, &result, 400);
    }
    print_message("%u placements\n", probe_answers);
    assert_true(probe_answers > trials(100000));
}

/* ---- ESG without one of its ideas ------------------------------------------------------------ */

static void check_variant(const struct log *log, const char *key, double value)
{
    for (size_t i = 0; i < log->batch_count; i++) {
        const struct batch_row *batch = &log->batches[i];
        if (strcmp(key, "batching") == 0)
            assert_true(batch->jobs == 1 && batch->configured_batch == 1);
        if (strcmp(key, "sharing") != 0)
            continue;
        assert_int_equal(batch->vgpu, 4);
        assert_true(batch->slowdown < 1.0001); /* times are whole ns */
        for (size_t j = 0; j < i; j++) {
            const struct batch_row *other = &log->batches[j];
            assert_true(other->invoker != batch->invoker || other->gpu != batch->gpu ||
                        other->finished_ns <= batch->dispatched_ns ||
                        batch->finished_ns <= other->dispatched_ns);
        }
    }
}

CASE(every_variant_of_esg_serves_all_within_the_cluster)
{
    static const struct {
        const char *key;
        double value;
    } variants[] = {{"sharing", OFF},       {"batching", OFF},       {"redistribution", OFF},
                    {"locality", OFF},      {"locality", WARM},      {"split", SLO_PROPORTIONAL},
                    {"split", SLO_EQUAL},   {"placement", SPREAD},   {"later_batches", BOUNDED},
                    {"recheck", EACH_STEP}, {"infeasible", MINIMUM}, {"late", LEAD}};
    const struct policy *esg = policy_find("esg", NULL);
    for (uint64_t n = 0; n < trials(WORLDS); n++)
        for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
            char *json = world_random(n, false);
            run_well_with(json, esg, variants[v].key, variants[v].value, &rows, anew());
            world_check_conserved(&rows, &result, 400);
            check_variant(&rows, variants[v].key, variants[v].value);
        }
}

/* Configurations of a stage's batches under one policy; how many different ones. */
static size_t configurations_of(const struct log *log, uint32_t queue, uint32_t *vcpu,
                                uint32_t *vgpu)
{
    size_t count = 0;
    for (size_t i = 0; i < log->batch_count; i++) {
        const struct batch_row *batch = &log->batches[i];
        if (batch->queue != queue || (count > 0 && batch->vcpu == *vcpu && batch->vgpu == *vgpu))
            continue;
        *vcpu = batch->vcpu;
        *vgpu = batch->vgpu;
        count++;
    }
    return count;
}

/* The smaller a share the cheaper, at a price in time. */
#define SHARES                                                                                     \
    {                                                                                              \
        {"f", "1", "1", "1,2,4", "[[80,48,30]]", 0, 300, 0.5},                                     \
        {                                                                                          \
            "g", "1", "1", "1,2,4", "[[40,24,15]]", 0, 200, 0.5                                    \
        }                                                                                          \
    }

/* A chain at a trickle: nothing waits, so that budgets alone decide. */
static const struct world trickle = {.invokers = 4,
                                     .functions = SHARES,
                                     .interference = 0.5,
                                     .applications = "chain: a=f b=g(a) c=f(b)",
                                     .every_ms = {1000, 1100},
                                     .slo_factor = 0.75,
                                     .platform = "'noise':{'cv':0.4},'initial':{'f':8,'g':8}",
                                     .requests = 300,
                                     .seed = 3};

CASE(without_redistribution_every_stage_keeps_the_plan_of_its_quota)
{
    char *json = world_build(&trickle);
    EXPERIMENT *experiment = load(json);
    struct planner *planner = must(
        planner_create(suite_arena(), &experiment->workload, 65535, PLANNER_DOMINATOR, hear()));
    const struct policy *esg = policy_find("esg", NULL);
    run_well_with(json, esg, "redistribution", OFF, &rows, anew());
    for (uint32_t queue = 0; queue < 3; queue++) {
        const uint32_t function = experiment->workload.applications[0].stages[queue].function;
        const sim_time_t budget =
            planner_budget(planner, queue, experiment->workload.applications[0].slo);
        const struct configuration *wanted =
            &experiment->workload.functions[function]
                 .configurations[planner_cheapest_among(planner, KINDS_ALL, function, 1, budget)];
        uint32_t vcpu = 0, vgpu = 0;
        assert_int_equal(configurations_of(&rows, queue, &vcpu, &vgpu), 1);
        assert_int_equal(vcpu, wanted->vcpu);
        assert_int_equal(vgpu, wanted->vgpu);
    }
    /* With it, what the noise of the first stages leaves or takes moves the later ones' plans. */
    uint32_t vcpu = 0, vgpu = 0;
    run_well(json, esg, &rows, anew());
    assert_true(configurations_of(&rows, 2, &vcpu, &vgpu) > 1);
}

/* Jobs of later stages that ran where the first did. */
static size_t stayed(const struct log *log)
{
    size_t count = 0;
    for (size_t i = 0; i < log->batch_count; i++)
        for (size_t j = 0; j < i; j++)
            count += log->batches[i].stage > 0 && log->batches[j].stage == 0 &&
                     log->batches[j].first_request == log->batches[i].first_request &&
                     log->batches[j].invoker == log->batches[i].invoker;
    return count;
}

CASE(locality_keeps_a_request_where_its_data_is)
{
    const struct policy *esg = policy_find("esg", NULL);
    RESULT near = {0};
    RESULT warm = {0};
    char *json = world_build(&trickle);
    run_well(json, esg, &rows, &near);
    assert_int_equal(stayed(&rows), 600);
    assert_true(near.overall.transfer_ms_mean == 0);
    run_well_with(json, esg, "placement", SPREAD, &rows, &warm);
    assert_int_equal(stayed(&rows), 600);
}

/* Two single-stage requests at a time on four empty invokers: packed on one, or spread. */
CASE(spreading_gives_co_runners_gpus_of_their_own)
{
    static const struct world pairs = {.invokers = 4,
                                       .functions = SHARES,
                                       .interference = 0.5,
                                       .applications = "one: a=f",
                                       .every_ms = {40, 41},
                                       .slo_factor = 3,
                                       .platform = "'initial':{'f':8}",
                                       .requests = 300,
                                       .seed = 3};
    const struct policy *esg = policy_find("esg", NULL);
    RESULT packed = {0};
    RESULT spread = {0};
    char *json = world_build(&pairs);
    run_well(json, esg, &rows, &packed);
    double slowest = 1;
    for (size_t i = 0; i < rows.batch_count; i++)
        slowest = fmax(slowest, rows.batches[i].slowdown);
    assert_true(slowest > 1.4); /* one co-runner: 1.5 */
    run_well_with(json, esg, "placement", SPREAD, &rows, &spread);
    for (size_t i = 0; i < rows.batch_count; i++)
        assert_true(rows.batches[i].slowdown < 1.0001);
    assert_true(spread.overall.cost_per_request_usd < packed.overall.cost_per_request_usd);
}

/* ---- What the accounts of the paper leave open ----------------------------------------------- */

/* The fastest configuration is (1, 1, 4), the cheapest per job the largest batch on one unit, the
 * minimum (1, 1, 1). */
static const struct world_function batches = {
    "f", "1,2,4", "1", "1,2,4", "[[80,48,30]],[[100,60,38]],[[140,84,54]]", 0.2, 300, 0.5};

/* One GPU with an arrival every `interval` ms. */
static void run_open(struct log *log, const char *applications, double interval, double slo,
                     const char *params)
{
    char *policy = formatted("'policy':{'name':'esg','params':{'headroom':0,%s%s}}",
                             strstr(params, "'late'") != NULL ? "" : "'late':'lead',", params);
    char *json = world_build(&(struct world){.functions = {batches},
                                             .applications = applications,
                                             .every_ms = {0.9 * interval, 1.1 * interval},
                                             .slo_factor = slo,
                                             .platform = "'initial':{'f':8}",
                                             .more = policy,
                                             .requests = 300,
                                             .seed = 3});
    run_well(json, NULL, log, anew());
}

/* At a trickle one job waits at most, so that a later batch of two jobs never exists. */
CASE(bounded_plans_of_one_job_are_those_of_batches_of_one)
{
    static const char *const methods[] = {"'method':'astar'", "'method':'frontier'"};
    OWNED(free) struct log *logs = must(malloc(3 * sizeof *logs));
    for (size_t m = 0; m < 2; m++) {
        static const char *const readings[] = {"'later_batches':'bounded'", "'batching':'off'",
                                               "'later_batches':'any'"};
        for (size_t r = 0; r < 3; r++) {
            char *params = formatted("%s,%s", methods[m], readings[r]);
            run_open(&logs[r], "a: a=f b=f(a) c=f(b)", 1000, 0.8, params);
        }
        assert_same_rows(&logs[0], &logs[1]);
        /* A batch that will not exist is slower, so that less time is left for the first stage. */
        size_t differ = 0;
        for (size_t i = 0; i < logs[2].batch_count; i++)
            differ += logs[2].batches[i].configuration != logs[0].batches[i].configuration;
        assert_true(differ > 0);
    }
}

/* How many jobs waited when the batch was chosen. */
static uint32_t waiting_at(const struct log *log, const struct batch_row *batch)
{
    uint32_t waiting = 0;
    for (size_t r = batch->first_request; r < log->request_count; r++)
        waiting += log->requests[r].arrival_ns <= batch->dispatched_ns;
    return waiting;
}

/* Batches whose configuration is not the one that `infeasible` names. */
static size_t otherwise(const struct log *log, bool largest, uint32_t vgpu)
{
    size_t count = 0;
    for (size_t i = 0; i < log->batch_count; i++) {
        const struct batch_row *batch = &log->batches[i];
        const uint32_t waiting = waiting_at(log, batch);
        const uint32_t wanted = !largest || waiting < 2 ? 1 : waiting < 4 ? 2 : 4;
        count += batch->configured_batch != wanted || batch->vgpu != vgpu;
    }
    return count;
}

/* No deadline can be met, and more jobs come than one GPU serves. */
CASE(late_jobs_run_in_the_configuration_that_infeasible_names)
{
    static const struct {
        const char *name;
        bool largest;
        uint32_t vgpu;
    } choices[] = {{"fastest", false, 4}, {"cheapest", true, 1}, {"minimum", false, 1}};
    for (size_t c = 0; c < sizeof choices / sizeof *choices; c++) {
        char *params = formatted("'infeasible':'%s','recheck_limit':1000", choices[c].name);
        run_open(&rows, "a: a=f", 12, 0.1, params);
        assert_int_equal(otherwise(&rows, choices[c].largest, choices[c].vgpu), 0);
    }
    /* Of jobs that ride the minimum configuration has the largest batch, too. */
    run_open(&rows, "a: a=f", 12, 0.1, "'infeasible':'minimum','late':'ride','recheck_limit':1000");
    assert_int_equal(otherwise(&rows, true, 1), 0);
    run_open(&rows, "a: a=f", 12, 0.1, "'late':'ride','recheck_limit':0");
    size_t filled = 0;
    for (size_t i = 0; i < rows.batch_count; i++) {
        const uint32_t waiting = waiting_at(&rows, &rows.batches[i]);
        if (rows.batches[i].vgpu > 1)
            continue;
        assert_int_equal(rows.batches[i].configured_batch, waiting < 2 ? 1 : waiting < 4 ? 2 : 4);
        filled += rows.batches[i].configured_batch > 1;
    }
    assert_true(filled > 20);
    /* At each step the plan is kept with which the queue was listed, whatever has joined it. */
    run_open(&rows, "a: a=f", 12, 0.1,
             "'infeasible':'cheapest','recheck_limit':1000,'recheck':'each-step'");
    assert_true(otherwise(&rows, true, 1) > 0);
}

/* ---- Late jobs ------------------------------------------------------------------------------- */

enum { LATE_QUEUES = 7 };

static bool (*esg_decide_itself)(void *state, struct platform *platform);
static uint64_t leads_seen; /* plans whose lead was not the oldest job */

/* Time of the fastest configurations of the stages that are planned together. */
static sim_time_t fastest_of(const struct esg *esg, const struct workload *workload,
                             const struct application *application, uint32_t application_index,
                             uint32_t stage, uint32_t length)
{
    const struct slo_stage *part = &esg->applications[application_index].plan->stages[stage];
    sim_time_t sum = 0;
    for (size_t s = 0; s < part->chain_length; s++) {
        const struct function *spec =
            &workload->functions[application->stages[part->chain[s]].function];
        sim_time_t least = SIM_FOREVER;
        for (size_t c = 0; c < spec->configuration_count; c++)
            if (s > 0 || spec->configurations[c].batch <= length)
                least = spec->configurations[c].time < least ? spec->configurations[c].time : least;
        sum += least;
    }
    return sum;
}

/* The budget by its definition: of the first job whose fastest plan is in time, else of the last.
 */
static sim_time_t budget_of(const struct esg *esg, const struct platform *platform, uint32_t queue,
                            const struct job_view *jobs, uint32_t length)
{
    const struct workload *workload = platform_workload(platform);
    const uint32_t which = platform_queue_application(platform, queue);
    const uint32_t stage = platform_queue_stage(platform, queue);
    const sim_time_t needed =
        fastest_of(esg, workload, &workload->applications[which], which, stage, length);
    const double kept = 1 - esg->parameters->headroom;
    const double part = esg->applications[which].plan->stages[stage].deadline_fraction;
    sim_time_t budget = 0;
    for (uint32_t i = 0; i < length; i++) {
        budget = jobs[i].arrival + (sim_time_t)((double)jobs[i].slo * kept * part) -
                 platform_now(platform);
        if (budget < needed)
            continue;
        leads_seen += i > 0;
        break;
    }
    return budget;
}

static bool watched_decide(void *state, struct platform *platform)
{
    static struct job_view jobs[LATE_QUEUES][WORLD_REQUESTS];
    const struct esg *esg = state;
    uint32_t length[LATE_QUEUES];
    struct esg_queue before[LATE_QUEUES];
    assert_int_equal(esg->queue_count, LATE_QUEUES);
    for (uint32_t q = 0; q < LATE_QUEUES; q++) {
        before[q] = esg->queues[q];
        length[q] = platform_queue_length(platform, q);
        for (uint32_t i = 0; i < length[q]; i++)
            jobs[q][i] = platform_job(platform, q, i);
    }
    const bool more = esg_decide_itself(state, platform);
    for (uint32_t q = 0; q < LATE_QUEUES; q++)
        if (esg->queues[q].budget != before[q].budget ||
            esg->queues[q].length != before[q].length) {
            assert_int_equal(esg->queues[q].length, length[q]);
            assert_int_equal(esg->queues[q].budget,
                             budget_of(esg, platform, q, jobs[q], length[q]));
        }
    return more;
}

CASE(late_jobs_ride_with_the_oldest_that_can_still_be_met)
{
    struct policy watched = *policy_find("esg", NULL);
    esg_decide_itself = watched.decide;
    watched.decide = watched_decide;
    leads_seen = 0;
    for (uint64_t n = 0; n < trials(WORLDS); n++) {
        run_well_with(world_random(n, n % 2 == 1), &watched, NULL, 0, &rows, anew());
        world_check_conserved(&rows, &result, WORLD_REQUESTS);
        world_check_batches(&rows);
    }
    print_message("%lu plans of a later job than the oldest\n", (unsigned long)leads_seen);
    assert_true(leads_seen > trials(1000));
}

/* Where one GPU has more jobs than it serves one by one, batches form only if late jobs ride. */
CASE(batches_form_in_overload_if_late_jobs_ride)
{
    static const char *const late[] = {"lead", "ride"};
    for (size_t i = 0; i < 2; i++) {
        size_t jobs = 0;
        run_open(&rows, "a: a=f b=f(a)", 20, 1.5, formatted("'late':'%s'", late[i]));
        for (size_t b = 0; b < rows.batch_count; b++)
            jobs += rows.batches[b].jobs;
        print_message("%s: %zu jobs in %zu batches\n", late[i], jobs, rows.batch_count);
        assert_true(i == 0 ? 10 * jobs < 13 * rows.batch_count : 10 * jobs > 15 * rows.batch_count);
    }
}

static size_t on_one_unit(const struct log *log)
{
    size_t count = 0;
    for (size_t i = 0; i < log->batch_count; i++)
        count += log->batches[i].vgpu == 1;
    return count;
}

/* Two queues take the whole GPU in turns: each gets it at the second finish at the latest, before
 * its rechecks are used up. Many jobs arrive in between, which are no reason for a recheck. */
CASE(a_recheck_waits_for_a_batch_to_finish)
{
    run_open(&rows, "a: a=f; b: a=f", 4, 0.1, "'recheck':'changed'");
    assert_int_equal(on_one_unit(&rows), 0);
    run_open(&rows, "a: a=f; b: a=f", 4, 0.1, "'recheck':'each-step'");
    print_message("%zu of %zu batches at each step\n", on_one_unit(&rows), rows.batch_count);
    assert_true(on_one_unit(&rows) > 50);
    /* With five queues the last waits for longer than three finishes. */
    run_open(&rows, "a: a=f; b: a=f; c: a=f; d: a=f; e: a=f", 4, 0.1, "'recheck':'changed'");
    assert_true(on_one_unit(&rows) > 0);
}

SUITE("ablation")
