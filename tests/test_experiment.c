/* Experiments: what is read is what was meant, whatever the text looks like; faults are told. */
#include <sys/stat.h>

#include <gsl/gsl_randist.h>

#include "tests/fixture_simulation.h"
#include "traces/profile/interference.h"
#include "sim/base/json.h"
#include "traces/profile/profile.h"
#include "workloads/sweep/sweep.h"
#include "workloads/world/gpu_sharing.h"

OWNER(cJSON_free, char)

static const char plain[] =
    "{\"cluster\": {\"invokers\": [{\"count\": 2, \"vcpus\": 4, \"memory_mb\": 4096}]},"
    " \"functions\": {\"functions\": ["
    "  {\"name\": \"f\", \"service\": {\"distribution\": \"exponential\", \"mean_ms\": 10}},"
    "  {\"name\": \"g\", \"service\": {\"distribution\": \"empirical\", \"samples_ms\": [2, 4]},"
    "   \"configuration\": {\"batch\": 2, \"vcpu\": 3}, \"cold_start_ms\": 5}]},"
    " \"applications\": [{\"name\": \"app\", \"stages\": [{\"name\": \"one\", \"function\": \"f\"},"
    "  {\"name\": \"two\", \"function\": \"g\", \"after\": [\"one\"]}]}],"
    " \"arrivals\": {\"process\": \"poisson\", \"rate_per_s\": 10}, \"slo\": {\"factor\": 2},"
    " \"policy\": {\"name\": \"fifo\", \"params\": {\"b\": true, \"a\": 3, \"c\": \"x\"}},"
    " \"requests\": 100}";

/* A small measured device: two batches, two vCPU counts, shares 1, 3, 5 and 7. */
static const char profiled[] =
    "{\"cluster\": {\"invokers\": [{\"vcpus\": 4, \"memory_mb\": 65536, \"gpus\": [{\"model\": "
    "\"A100\","
    "   \"sharing\": \"mps\", \"units\": 7, \"memory_mb\": 1000}]}],"
    "  \"price\": {\"vcpu_hour_usd\": 0.036, \"vgpu_hour_usd\": 0.72}},"
    " \"profile\": {\"device\": \"A100\", \"evidence\": \"assumed\", \"source\": \"test\","
    "  \"licence\": \"none\", \"unit\": 7, \"functions\": {\"net\": {"
    "   \"grid\": {\"batch\": [1, 4], \"vcpu\": [1, 2], \"vgpu\": [1, 3, 5, 7]},"
    "   \"latency_ms\": [[[40, 20, 10, 8], [30, 15, 9, 7]], [[null, 60, 30, 20], [90, 50, 25, "
    "18]]],"
    "   \"noise\": {\"cv\": 0.1}, \"cold_start_ms\": {\"mean\": 3000, \"cv\": 0.2},"
    "   \"gpu_memory_mb\": {\"weights\": 100, \"per_item\": 50}}}},"
    " \"applications\": [{\"name\": \"app\", \"stages\": [{\"name\": \"s\", \"function\": "
    "\"net\"}]}],"
    " \"arrivals\": {\"process\": \"uniform\", \"low_ms\": 1, \"high_ms\": 2}}";

static struct experiment *parse(const char *text, const struct override *overrides, size_t count)
{
    return must(experiment_parse(text, "e.json", ".", overrides, count, hear()));
}

#define assert_close(a, b) assert_relative(a, b, 1e-12)

/* ---- What is read ---------------------------------------------------------------------------- */

CASE(what_is_left_out_has_the_documented_default)
{
    OWNED(experiment_free) struct experiment *e = parse(plain, NULL, 0);
    assert_int_equal(e->platform.initial, INITIAL_WARM);
    assert_int_equal(e->platform.reuse, REUSE_MRU);
    assert_true(e->platform.keep_alive == 600 * SIM_S);
    assert_int_equal(e->platform.prewarm, PREWARM_EWMA);
    assert_close(e->platform.ewma_alpha, 0.3);
    assert_int_equal(e->platform.decision_cost, DECISION_ZERO);
    assert_close(e->platform.transfer_latency_ms, 1);
    assert_close(e->platform.transfer_bandwidth_gbps, 10);
    assert_true(e->platform.interference);
    assert_true(e->platform.noise_cv < 0);
    assert_true(e->platform.sample_interval == SIM_S);
    assert_close(e->workload.cluster.vcpu_hour_usd, 0.034);
    assert_close(e->workload.kinds[0].vgpu_hour_usd, 0.67);
    assert_int_equal(e->seed, 1);
    assert_int_equal(e->warmup_requests, 10);
    assert_int_equal(e->record, RECORD_REQUESTS);
    assert_string_equal(e->name, "e");
}

/* Ten arrive in a second. */
CASE(a_time_counts_the_requests_that_arrive_in_it)
{
    static const struct override times[] = {{"measured_s", "60.01"}, {"warmup_s", "12"}};
    static const struct override counts[] = {{"requests", "601"}, {"warmup_requests", "120"}};
    OWNED(experiment_free) struct experiment *e = parse(plain, times, 2);
    OWNED(experiment_free) struct experiment *same = parse(plain, counts, 2);
    assert_int_equal(e->requests, 601);
    assert_int_equal(e->warmup_requests, 120);
    assert_string_equal(e->resolved_json, same->resolved_json);
    assert_text_refused(plain, "measured_s", "-1", "measured_s");
}

CASE(service_functions_have_one_configuration_and_their_mean)
{
    OWNED(experiment_free) struct experiment *e = parse(plain, NULL, 0);
    const struct function *f = &e->workload.functions[0];
    const struct function *g = &e->workload.functions[1];
    assert_int_equal(e->workload.function_count, 2);
    assert_int_equal(f->service, SERVICE_EXPONENTIAL);
    assert_int_equal(f->configuration_count, 1);
    assert_true(f->configurations[0].time == 10 * SIM_MS);
    assert_int_equal(f->configurations[0].vgpu, 0);
    assert_int_equal(f->gpus[0].interference_index, SIM_NONE);
    assert_int_equal(g->service, SERVICE_EMPIRICAL);
    assert_true(g->service_mean == 3 * SIM_MS);
    assert_int_equal(g->configurations[0].batch, 2);
    assert_int_equal(g->configurations[0].vcpu, 3);
    assert_close(g->gpus[0].cold_start_mean_ms, 5);
    /* 3 ms x 3 vCPUs at 0.034 USD an hour, for two jobs. */
    assert_close(g->configurations[0].cost_usd, 0.003 / 3600 * 3 * 0.034);
    assert_close(g->configurations[0].cost_per_job_usd, 0.003 / 3600 * 3 * 0.034 / 2);
    assert_true(e->workload.applications[0].base_latency == 13 * SIM_MS);
    assert_true(e->workload.applications[0].slo == 26 * SIM_MS);
}

CASE(policy_parameters_are_sorted_and_typed)
{
    OWNED(experiment_free) struct experiment *e = parse(plain, NULL, 0);
    assert_string_equal(e->policy_name, "fifo");
    assert_int_equal(e->policy_setting_count, 3);
    assert_string_equal(e->policy_settings[0].key, "a");
    assert_close(e->policy_settings[0].number, 3);
    assert_close(e->policy_settings[1].number, 1);
    assert_string_equal(e->policy_settings[2].text, "x");
}

CASE(configurations_are_the_grid_less_what_cannot_run)
{
    OWNED(experiment_free) struct experiment *e = parse(profiled, NULL, 0);
    const struct function *net = &e->workload.functions[0];
    assert_int_equal(net->configuration_count, 15); /* 16, one of them null */
    const struct configuration *c = &net->configurations[net->minimum_configuration];
    assert_int_equal(c->batch, 1);
    assert_int_equal(c->vcpu, 1);
    assert_int_equal(c->vgpu, 1);
    assert_true(c->time == 40 * SIM_MS);
    assert_close(c->cost_usd, 0.040 / 3600 * (0.036 + 0.72));
    assert_close(c->gpu_memory_mb, 150);
    assert_true(net->configurations[net->fastest_single].time == 7 * SIM_MS);
    assert_close(net->gpus[0].noise_cv, 0.1);
    assert_close(net->host_memory_mb, 2048);
    for (size_t k = 1; k < net->configuration_count; k++) {
        const struct configuration *a = &net->configurations[k - 1];
        const struct configuration *b = &net->configurations[k];
        assert_true(a->batch < b->batch || (a->batch == b->batch && a->vcpu < b->vcpu) ||
                    (a->batch == b->batch && a->vcpu == b->vcpu && a->vgpu < b->vgpu));
    }
}

static size_t configurations_with(const char *key, const char *value)
{
    struct override override = {key, value};
    OWNED(experiment_free) struct experiment *e = parse(profiled, &override, 1);
    size_t count = e->workload.functions[0].configuration_count;
    return count;
}

CASE(the_cluster_decides_which_configurations_run)
{
    const char *gpu = "cluster.invokers.0.gpus.0.sharing";
    assert_int_equal(configurations_with("cluster.invokers.0.vcpus", "1"), 7);
    assert_int_equal(configurations_with(gpu, "exclusive"), 4);
    /* MIG has no slice of 5; of 1000 MB a slice of 1 has 125, one of 3 has 500: batch 1 needs 150,
     * batch 4 needs 300. */
    assert_int_equal(configurations_with(gpu, "mig"), 8);
    assert_int_equal(configurations_with("cluster.invokers.0.gpus.0.memory_mb", "200"), 8);
    assert_text_refused(
        profiled, "cluster.invokers.0.gpus.0.memory_mb", "149",
        "none of its 16 configurations can run on this cluster: no GPU that allows");
    assert_text_refused(profiled, "cluster.invokers.0.gpus", "[]", "no GPU of these invokers");
    assert_text_refused(profiled, "slo.reference.vgpu", "6", "is a configuration of no function");
    assert_text_refused(profiled, "slo.reference.vgpus", "1", "did you mean \"vgpu\"");
    assert_text_refused(profiled, "cluster.invokers.0.gpus.0.units", "8",
                        "slices a GPU in 7 units, the cluster's invokers[0].gpus[0].units is 8");
}

CASE(a_functions_file_goes_before_the_profile)
{
    struct override overrides[] = {
        {"functions", "[{\"name\": \"net\", \"cold_start_ms\": 70, \"noise\": 0,"
                      " \"gpu_memory_mb\": {\"per_item\": 10}, \"host_memory_mb\": 5,"
                      " \"configurations\": {\"batch\": [1, 2, 4], \"vgpu\": [1, 2]}}]"}};
    OWNED(experiment_free) struct experiment *e = parse(profiled, overrides, 1);
    const struct function *net = &e->workload.functions[0];
    assert_close(net->gpus[0].cold_start_mean_ms, 70);
    assert_close(net->gpus[0].cold_start_cv, 0.2);
    assert_true(net->gpus[0].noise_cv < 1e-15);
    assert_close(net->gpus[0].gpu_weights_mb, 100);
    assert_close(net->gpus[0].gpu_per_item_mb, 10);
    assert_close(net->host_memory_mb, 5);
    /* Between grid points the value lies between its neighbours'. */
    assert_int_equal(net->configurations[1].vgpu, 2);
    assert_true(net->configurations[1].time < 40 * SIM_MS &&
                net->configurations[1].time > 20 * SIM_MS);
    assert_text_refused(profiled, "functions",
                        "[{\"name\": \"net\", \"configurations\": {\"batch\": [1, 5]}}]",
                        "functions[0].configurations.batch[1]: is 5, must lie within 1..4");
    assert_text_refused(profiled, "functions",
                        "[{\"name\": \"net\", \"configurations\": {\"batch\": [4]}}]",
                        "no configuration of batch 1");
}

CASE(mig_offers_the_slices_of_nvidias_table)
{
    struct gpu_spec gpu = {.model = "A100", .sharing = SHARING_MIG, .units = 7, .memory_mb = 40960};
    /* 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb. */
    static const double memory_gb[] = {0, 5, 10, 20, 20, 0, 0, 40};
    for (uint16_t g = 1; g <= 8; g++)
        assert_int_equal(gpu_allows(&gpu, g), g <= 7 && memory_gb[g] > 0);
    for (uint16_t g = 1; g <= 7; g++)
        if (gpu_allows(&gpu, g)) {
            assert_true(gpu_holds(&gpu, g, memory_gb[g] * 1024));
            assert_false(gpu_holds(&gpu, g, memory_gb[g] * 1024 + 1));
        }
    gpu.sharing = SHARING_EXCLUSIVE;
    for (uint16_t g = 1; g <= 8; g++)
        assert_int_equal(gpu_allows(&gpu, g), g == 7);
    char why[256];
    gpu = (struct gpu_spec){.model = "A30", .sharing = SHARING_MIG, .units = 4};
    assert_true(gpu_sharing_of(&gpu)->suits(&gpu, why, sizeof why));
    gpu = (struct gpu_spec){.model = "V100", .sharing = SHARING_MIG, .units = 4};
    assert_false(gpu_sharing_of(&gpu)->suits(&gpu, why, sizeof why));
}

CASE(the_papers_settings_are_read_as_published)
{
    /* Milliseconds at the minimum configuration: 86, 293, 319, 147, 1047, 828. */
    static const double base_ms[] = {86 + 293 + 147, 319 + 86 + 828, 86 + 319 + 1047,
                                     319 + 86 + 1047 + 293 + 147};
    static const struct {
        const char *path;
        double factor, low, high;
    } settings[] = {{"workloads/experiments/strict-light.json", 0.8, 40, 67.2},
                    {"workloads/experiments/moderate-normal.json", 1.0, 20, 33.6},
                    {"workloads/experiments/relaxed-heavy.json", 1.2, 10, 16.8}};
    for (size_t i = 0; i < 3; i++) {
        OWNED(experiment_free)
        struct experiment *e = must(experiment_load(settings[i].path, NULL, 0, hear()));
        assert_int_equal(e->workload.application_count, 4);
        assert_int_equal(e->workload.function_count, 6);
        assert_int_equal(e->workload.cluster.invoker_count, 16);
        for (size_t a = 0; a < 4; a++) {
            const struct application *application = &e->workload.applications[a];
            assert_true(application->base_latency == sim_from_ms(base_ms[a]));
            assert_true(application->slo == sim_from_ms(settings[i].factor * base_ms[a]));
            assert_close(application->weight, 0.25);
        }
        for (size_t f = 0; f < 6; f++)
            assert_int_equal(e->workload.functions[f].configuration_count, 256);
        assert_close(e->arrivals.low_ms, settings[i].low);
        assert_close(e->arrivals.high_ms, settings[i].high);
        assert_int_equal(e->requests, 10000);
        assert_int_equal(e->warmup_requests, 1000);
        assert_string_equal(e->policy_name, "esg");
    }
}

/* ---- Applications ---------------------------------------------------------------------------- */

enum { STAGES = 10 };

struct random_dag {
    bool edge[STAGES][STAGES]; /* from a smaller to a larger number */
    int position[STAGES];      /* in the file */
    int at[STAGES];
};

static void draw_dag(gsl_rng *rng, struct random_dag *dag)
{
    memset(dag, 0, sizeof *dag);
    for (int s = 0; s < STAGES; s++) {
        dag->at[s] = s;
        for (int t = s + 1; t < STAGES; t++)
            dag->edge[s][t] = gsl_rng_uniform(rng) < 0.3;
        if (s > 0) /* connected */
            dag->edge[gsl_rng_uniform_int(rng, (unsigned long)s)][s] = true;
    }
    gsl_ran_shuffle(rng, dag->at, STAGES, sizeof dag->at[0]);
    for (int p = 0; p < STAGES; p++)
        dag->position[dag->at[p]] = p;
}

/* Stage s is named "s<number>" and takes 1 + s ms. */
static void write_dag(const struct random_dag *dag, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size,
                                   "{\"cluster\":{\"invokers\":[{\"vcpus\":1,"
                                   "\"memory_mb\":1}]},\"functions\":[");
    for (int s = 0; s < STAGES; s++)
        used += (size_t)snprintf(text + used, size - used,
                                 "%s{\"name\":\"f%d\",\"service\":{\"distribution\":\"constant\","
                                 "\"mean_ms\":%d}}",
                                 s == 0 ? "" : ",", s, s + 1);
    used += (size_t)snprintf(text + used, size - used,
                             "],\"applications\":[{\"name\":\"a\",\"stages\":[");
    for (int p = 0; p < STAGES; p++) {
        int t = dag->at[p];
        used += (size_t)snprintf(text + used, size - used,
                                 "%s{\"name\":\"s%d\",\"function\":\"f%d\",\"after\":[",
                                 p == 0 ? "" : ",", t, t);
        bool first = true;
        for (int s = 0; s < t; s++)
            if (dag->edge[s][t]) {
                used +=
                    (size_t)snprintf(text + used, size - used, "%s\"s%d\"", first ? "" : ",", s);
                first = false;
            }
        used += (size_t)snprintf(text + used, size - used, "]}");
    }
    snprintf(text + used, size - used,
             "]}],\"arrivals\":{\"process\":\"poisson\",\"rate_per_s\":1}}");
}

static double longest_to(const struct random_dag *dag, int t)
{
    double longest = 0;
    for (int s = 0; s < t; s++)
        if (dag->edge[s][t])
            longest = fmax(longest, longest_to(dag, s));
    return longest + t + 1;
}

/* 7 for "s7". */
static int number_of(const char *stage_name)
{
    return (int)strtol(stage_name + 1, NULL, 10);
}

static void assert_same_dag(const struct random_dag *dag, const struct application *application)
{
    size_t edges = 0;
    size_t successors = 0;
    double longest = 0;
    assert_int_equal(application->stage_count, STAGES);
    for (size_t n = 0; n < STAGES; n++) {
        const struct stage *stage = &application->stages[n];
        int t = number_of(stage->name);
        for (size_t i = 0; i < stage->after_count; i++) {
            assert_true(stage->after[i] < n);
            assert_true(dag->edge[number_of(application->stages[stage->after[i]].name)][t]);
        }
        for (size_t i = 0; i < stage->next_count; i++)
            assert_true(dag->edge[t][number_of(application->stages[stage->next[i]].name)]);
        edges += stage->after_count;
        successors += stage->next_count;
        longest = fmax(longest, longest_to(dag, t));
        for (int s = 0; s < t; s++)
            edges -= dag->edge[s][t];
    }
    assert_int_equal(edges, 0);
    assert_true(successors > 0);
    assert_true(application->base_latency == sim_from_ms(longest));
}

CASE(stages_in_any_order_become_the_same_graph_in_topological_order)
{
    gsl_rng *rng = seeded(7);
    char text[8192];
    for (size_t round = 0; round < trials(200); round++) {
        struct random_dag dag;
        draw_dag(rng, &dag);
        write_dag(&dag, text, sizeof text);
        OWNED(experiment_free) struct experiment *e = parse(text, NULL, 0);
        assert_same_dag(&dag, &e->workload.applications[0]);
    }
}

/* ---- Overrides ------------------------------------------------------------------------------- */

CASE(overrides_reach_into_files_arrays_and_new_objects)
{
    struct override overrides[] = {
        {"cluster.price.vcpu_hour_usd", "1.5"}, {"applications.0.weight", "5"},
        {"platform.noise.cv", "0.25"},          {"policy.params.method", "frontier"},
        {"slo.image-classification.ms", "123"}, {"seed", "42"}};
    struct experiment *e =
        must(experiment_load("workloads/experiments/strict-light.json", overrides, 6, hear()));
    assert_close(e->workload.cluster.vcpu_hour_usd, 1.5);
    assert_close(e->workload.applications[0].weight, 5.0 / 8);
    assert_close(e->platform.noise_cv, 0.25);
    assert_string_equal(e->policy_settings[0].text, "frontier");
    assert_true(e->workload.applications[0].slo == 123 * SIM_MS);
    assert_true(e->workload.applications[1].slo == sim_from_ms(986.4));
    assert_int_equal(e->seed, 42);
    experiment_free(e);
}

CASE(another_policy_does_not_get_the_files_parameters)
{
    struct override overrides[] = {{"policy.params.d", "4"}, {"policy.name", "edf"}};
    struct experiment *e = parse(plain, overrides, 2);
    assert_string_equal(e->policy_name, "edf");
    assert_int_equal(e->policy_setting_count, 1);
    assert_string_equal(e->policy_settings[0].key, "d");
    experiment_free(e);
    overrides[1].value = "\"fifo\"";
    e = parse(plain, overrides, 2);
    assert_int_equal(e->policy_setting_count, 4);
    experiment_free(e);
}

CASE(names_hold_no_control_characters)
{
    static const char *const keys[] = {"name",
                                       "applications.0.name",
                                       "applications.0.stages.0.name",
                                       "functions.functions.0.name",
                                       "functions.functions.0.model",
                                       "policy.name",
                                       "policy.params.b",
                                       "cluster.invokers.0.gpus.0.model"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *text = strncmp(keys[i], "cluster", 7) == 0 ? profiled : plain;
        assert_text_refused(text, keys[i], "a\nb", "\"a\\nb\" holds a control character");
        assert_text_refused(text, keys[i], "\"a\\u009bb\"",
                            "\\xc2\\x9bb\" holds a control character");
    }
    assert_bad_input(experiment_parse(plain, "a\nb.json", ".", NULL, 0, hear()),
                     "the file's name holds control characters");
}

CASE(faulty_overrides_are_told)
{
    assert_text_refused(plain, "a..b", "1", "\"a..b\" is no dotted key");
    assert_text_refused(plain, "", "1", "is no dotted key");
    assert_text_refused(plain, "requests.x", "1", "requests: is neither an object nor an array");
    assert_text_refused(plain, "applications.1.name", "x", "\"1\" is no entry of this array of 1");
    assert_text_refused(plain, "applications.x.name", "x", "\"x\" is no entry");
    assert_text_refused(plain, "polcy.name", "x", "did you mean \"policy\"?");
    assert_text_refused(plain, "requests", "many", "requests: must be a whole number, is a string");
    assert_text_refused(plain, "policy.name.x", "1", "policy.name: file \"fifo\" does not exist");
    assert_text_refused(plain, "cluster", "none.json",
                        "cluster: file \"none.json\" does not exist");
}

/* ---- Identity -------------------------------------------------------------------------------- */

static void shuffle_members(gsl_rng *rng, cJSON *node)
{
    int count = cJSON_GetArraySize(node);
    for (cJSON *child = node->child; child != NULL; child = child->next)
        shuffle_members(rng, child);
    for (int i = 0; cJSON_IsObject(node) && i < count; i++) {
        unsigned long which = gsl_rng_uniform_int(rng, (unsigned long)(count - i));
        cJSON *member = cJSON_GetArrayItem(node, (int)which);
        cJSON *taken = cJSON_DetachItemViaPointer(node, member);
        STRING *key = strdup(taken->string);
        assert_true(cJSON_AddItemToObject(node, key, taken));
    }
}

CASE(the_hash_does_not_depend_on_key_order_or_white_space)
{
    gsl_rng *rng = seeded(11);
    static const char *const texts[] = {plain, profiled};
    for (size_t round = 0; round < trials(200); round++) {
        const char *text = texts[round % 2];
        OWNED(experiment_free) struct experiment *e = parse(text, NULL, 0);
        JSON *root = cJSON_Parse(text);
        shuffle_members(rng, root);
        OWNED(cJSON_free)
        char *shuffled = round % 4 < 2 ? cJSON_Print(root) : cJSON_PrintUnformatted(root);
        OWNED(experiment_free) struct experiment *other = parse(shuffled, NULL, 0);
        assert_string_equal(e->resolved_json, other->resolved_json);
        assert_string_equal(e->hash, other->hash);
        assert_int_equal(strlen(e->hash), 16);
        assert_null(strchr(e->resolved_json, '\n'));
    }
}

CASE(the_hash_knows_what_decides_a_run_and_nothing_else)
{
    static const struct override same[] = {{"name", "other"},
                                           {"record", "summary"},
                                           {"note", "words"},
                                           {"seed", "1"},
                                           {"cluster.note", "words"},
                                           {"platform.keep_alive_s", "600"},
                                           {"applications.0.weight", "17"}};
    static const struct override different[] = {{"seed", "2"},
                                                {"policy.name", "edf"},
                                                {"policy.params.a", "4"},
                                                {"requests", "101"},
                                                {"warmup_requests", "11"},
                                                {"slo.factor", "2.5"},
                                                {"platform.keep_alive_s", "infinite"},
                                                {"platform.noise.cv", "0"},
                                                {"arrivals.rate_per_s", "11"},
                                                {"cluster.price.vcpu_hour_usd", "1"},
                                                {"functions.functions.0.input_bytes", "1"},
                                                {"applications.0.stages.0.output_bytes", "1"}};
    OWNED(experiment_free) struct experiment *e = parse(plain, NULL, 0);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        OWNED(experiment_free) struct experiment *other = parse(plain, &same[i], 1);
        assert_string_equal(e->hash, other->hash);
    }
    for (size_t i = 0; i < sizeof different / sizeof different[0]; i++) {
        OWNED(experiment_free) struct experiment *other = parse(plain, &different[i], 1);
        assert_string_not_equal(e->hash, other->hash);
    }
}

CASE(the_canonical_form_is_an_experiment_of_the_same_hash)
{
    OWNED(experiment_free) struct experiment *e = parse(plain, NULL, 0);
    OWNED(experiment_free) struct experiment *again = parse(e->resolved_json, NULL, 0);
    assert_string_equal(e->resolved_json, again->resolved_json);
}

/* The same experiment as one file and as three in two folders, found beside the file and through
 * the data folder. */
CASE(the_hash_does_not_depend_on_where_files_lie)
{
    char folder[] = "/tmp/esgsim-experiment-XXXXXX";
    char path[4][128];
    assert_non_null(mkdtemp(folder));
    snprintf(path[0], sizeof path[0], "%s/parts", folder);
    snprintf(path[1], sizeof path[1], "%s/parts/cluster.json", folder);
    snprintf(path[2], sizeof path[2], "%s/application.json", folder);
    snprintf(path[3], sizeof path[3], "%s/experiment.json", folder);
    assert_int_equal(mkdir(path[0], 0700), 0);
    cJSON *root = cJSON_Parse(plain);
    cJSON *cluster = cJSON_DetachItemFromObject(root, "cluster");
    cJSON *application = cJSON_DetachItemFromArray(cJSON_GetObjectItem(root, "applications"), 0);
    assert_non_null(cJSON_AddStringToObject(root, "cluster", "cluster.json"));
    assert_true(cJSON_AddItemToArray(cJSON_GetObjectItem(root, "applications"),
                                     cJSON_CreateString("application.json")));
    cJSON *const parts[] = {cluster, application, root};
    for (int i = 0; i < 3; i++) {
        OWNED(cJSON_free) char *text = cJSON_Print(parts[i]);
        write_text(path[i + 1], text);
        cJSON_Delete(parts[i]);
    }
    assert_bad_input(experiment_load(path[3], NULL, 0, hear()),
                     "cluster: file \"cluster.json\" does not exist");
    assert_int_equal(setenv("ESGSIM_DATA", path[0], 1), 0);
    OWNED(experiment_free)
    struct experiment *split = must(experiment_load(path[3], NULL, 0, hear()));
    OWNED(experiment_free) struct experiment *whole = parse(plain, NULL, 0);
    assert_string_equal(split->hash, whole->hash);
    /* A fault is told with the file to mend. */
    write_text(path[1], "{\"invokers\": [{\"vcpus\": 0, \"memory_mb\": 1}]}");
    assert_bad_input(experiment_load(path[3], NULL, 0, hear()),
                     "parts/cluster.json: invokers[0].vcpus: is 0");
    assert_int_equal(unsetenv("ESGSIM_DATA"), 0);
    for (int i = 3; i > 0; i--)
        assert_int_equal(unlink(path[i]), 0);
    assert_int_equal(rmdir(path[0]), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

CASE(every_malformed_file_of_the_corpus_is_refused_in_one_line)
{
    size_t files = 0;
    STRING *table = must(json_read_text("tests/corpus/loaders.md", NULL, hear()));
    char *rest = NULL;
    for (char *line = strtok_r(table, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char name[128];
        char fragment[256];
        if (sscanf(line, "| %127[^ |] | %255[^\n]", name, fragment) != 2 ||
            strchr(name, '/') == NULL)
            continue;
        fragment[strlen(fragment) - 2] = '\0'; /* " |" */
        char *path = formatted("tests/corpus/%s", name);
        if (input_check(path, &(struct input_found){0}, hear()))
            fail_msg("%s is accepted", path);
        assert_input_error(fragment);
        assert_contains(heard.message, name);
        files++;
    }
    assert_true(files >= 45);
}

/* Under the address sanitizer this also shows that every path out of a fault frees what it had. */
CASE(an_experiment_cut_off_anywhere_or_short_of_any_part_is_refused)
{
    static const char *const texts[] = {plain, profiled};
    for (size_t t = 0; t < 2; t++) {
        size_t length = strlen(texts[t]);
        STRING *text = strdup(texts[t]);
        for (size_t cut = 0; cut < length; cut++) {
            memcpy(text, texts[t], length);
            text[cut] = '\0';
            assert_bad_input(experiment_parse(text, "e.json", ".", NULL, 0, hear()), "");
            /* One character changed: refused or read, never a crash. */
            memcpy(text, texts[t], length);
            text[cut] = "0]}\"-x"[cut % 6];
            OWNED(experiment_free)
            struct experiment *e = experiment_parse(text, "e.json", ".", NULL, 0, hear());
            assert_true(e != NULL || heard.kind == ERROR_INPUT);
        }
    }
}

SUITE("experiment")
