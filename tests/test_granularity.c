/* Stages as one function: times, memory, means and the contracted DAG, each against a computation
 * of the test's own. */
#include "sched/registry.h"
#include "sim/engine/random.h"
#include "tests/random_dag.h"
#include "tests/worlds.h"
#include "traces/profile/interference.h"

/* Two functions in profile P with their own grids, latencies that are odd numbers of ns, and a pair
 * table that lacks one pair. */
#define NOISY(cv) "'noise':{'cv':" cv "},"
#define THREE(f_noise, interference)                                                               \
    "{'name':'three','cluster':{'invokers':[{'count':2,'vcpus':8,'memory_mb':8000,'gpus':["        \
    "{'model':'test','sharing':'mps','units':4,'memory_mb':2000}]}],'price':{'vcpu_hour_usd':3.6," \
    "'vgpu_hour_usd':36}},'profile':{'device':'test','evidence':'assumed','source':'test',"        \
    "'licence':'none','unit':4,'functions':{"                                                      \
    "'f':{'grid':{'batch':[1,2],'vcpu':[1,2],'vgpu':[1,2,4]},'latency_ms':"                        \
    "[[[80.000001,50.5,30.3],[70.7,40.4,20.2]],[[120.1,80.8,50.5],[100.1,70.7,40.4]]],"            \
    "'source':[['mmi','mmm'],['mmm','mmm']]," f_noise                                              \
    "'cold_start_ms':{'mean':300,'cv':0.1},'gpu_memory_mb':{'weights':100,'per_item':10},"         \
    "'host_memory_mb':100,'bandwidth_share':0.5,'turnaround_ms':3},"                               \
    "'g':{'grid':{'batch':[1,2,4],'vcpu':[1],'vgpu':[1,2,4]},'latency_ms':"                        \
    "[[[40.000003,null,15.1]],[[60.6,40.4,25.2]],[[90,80,70]]],'source':[['m-m'],['mxm'],['mmm']]" \
    ","                                                                                            \
    "'noise':{'cv':0.1},'cold_start_ms':{'samples_ms':[100,300]},'gpu_memory_mb':"                 \
    "{'weights':200,'per_item':20},'host_memory_mb':200,'bandwidth_share':0.2,'turnaround_ms':1}," \
    "'h':{'grid':{'batch':[1,2],'vcpu':[1,2],'vgpu':[1,4]},'latency_ms':"                          \
    "[[[20.000007,9.3],[19,8]],[[30.3,10.1],[29,9]]],'noise':{'cv':0.3},'cold_start_ms':"          \
    "{'mean':500,'cv':0.4},'gpu_memory_mb':{'weights':400,'per_item':400},'host_memory_mb':300,"   \
    "'bandwidth_share':0.9}}," interference "},'applications':[{'name':'chain','stages':["         \
    "{'name':'a','function':'f','output_bytes':1000000},{'name':'b','function':'g','after':['a']," \
    "'output_bytes':2000000},{'name':'c','function':'h','after':['b'],'output_bytes':3}]}],"       \
    "'arrivals':{'process':'poisson','rate_per_s':0.1},'slo':{'factor':9},'platform':"             \
    "{'prewarm':'none'},'requests':1,'warmup_requests':0}"

#define PAIRS                                                                                      \
    "'interference':{'model':'pairs','constant':0.7,'functions':['f','g'],"                        \
    "'excess':[[0.1,0.2],[0.3,null]]}"
#define NONE "'interference':{'model':'none'}"

/* ---- One function of several ----------------------------------------------------------------- */

static const struct configuration *cell_of(const struct function *f, unsigned batch, unsigned vcpu,
                                           unsigned vgpu)
{
    for (size_t k = 0; k < f->configuration_count; k++) {
        const struct configuration *c = &f->configurations[k];
        if (c->batch == batch && c->vcpu == vcpu && c->vgpu == vgpu)
            return c;
    }
    return NULL;
}

CASE(the_cells_are_those_of_all_parts_with_their_sums_and_their_worst_grade)
{
    EXPERIMENT *apart = load(THREE(NOISY("0.05"), PAIRS));
    EXPERIMENT *joined = load_with(THREE(NOISY("0.05"), PAIRS), "granularity", "fused");
    const struct function *fused = &joined->workload.functions[0];
    const struct function *parts = apart->workload.functions;
    assert_int_equal(joined->workload.function_count, 1);
    assert_string_equal(fused->name, "f+g+h");
    size_t found = 0;
    for (unsigned batch = 1; batch <= 4; batch++)
        for (unsigned vcpu = 1; vcpu <= 2; vcpu++)
            for (unsigned vgpu = 1; vgpu <= 4; vgpu++) {
                const struct configuration *c = cell_of(fused, batch, vcpu, vgpu);
                sim_time_t time = 0;
                unsigned grade = 0;
                bool all = true;
                for (size_t p = 0; p < 3; p++) {
                    const struct configuration *one = cell_of(&parts[p], batch, vcpu, vgpu);
                    all = all && one != NULL;
                    time += one != NULL ? one->time : 0;
                    grade = one != NULL && one->grade > grade ? one->grade : grade;
                }
                assert_int_equal(c != NULL, all);
                if (c == NULL)
                    continue;
                assert_int_equal(c->time, time);
                assert_int_equal(c->grade, grade);
                assert_relative(c->cost_usd, (double)time / 3.6e12 * (3.6 * vcpu + 36 * vgpu),
                                1e-12);
                assert_relative(c->gpu_memory_mb, 700 + 430 * batch, 1e-12);
                found++;
            }
    assert_int_equal(found, 4);
    assert_int_equal(fused->configuration_count, 4);
    assert_int_equal(cell_of(fused, 1, 1, 1)->time, 140000011);
    assert_int_equal(cell_of(fused, 1, 1, 1)->grade, CONFIGURATION_MEASURED);
    assert_int_equal(cell_of(fused, 1, 1, 4)->grade, CONFIGURATION_INTERPOLATED);
    assert_int_equal(joined->workload.applications[0].base_latency, 140000011);
    assert_int_equal(joined->workload.applications[0].slo, apart->workload.applications[0].slo);
}

CASE(a_configuration_that_no_gpu_can_hold_is_left_out)
{
    EXPERIMENT *joined =
        load_with(THREE(NOISY("0"), NONE), "cluster.invokers.0.gpus.0.memory_mb", "1300");
    assert_int_equal(joined->workload.function_count, 3);
    STRING *text = json_requote(strdup(THREE(NOISY("0"), NONE)));
    const struct override overrides[] = {{"cluster.invokers.0.gpus.0.memory_mb", "1300"},
                                         {"granularity", "fused"}};
    EXPERIMENT *fused = must(experiment_parse(text, "e.json", ".", overrides, 2, hear()));
    assert_int_equal(fused->workload.functions[0].configuration_count, 2); /* batch 1 */
    assert_null(cell_of(&fused->workload.functions[0], 2, 1, 1));
}

CASE(memory_and_cold_starts_add_up_and_noise_and_bandwidth_are_means_over_time)
{
    EXPERIMENT *joined = load_with(THREE(NOISY("0.05"), PAIRS), "granularity", "fused");
    const struct function *fused = &joined->workload.functions[0];
    const struct function_gpu *gpu = &fused->gpus[0];
    const double f = 80.000001, g = 40.000003, h = 20.000007, sum = f + g + h;
    assert_relative(fused->host_memory_mb, 600, 1e-12);
    assert_relative(gpu->gpu_weights_mb, 700, 1e-12);
    assert_relative(gpu->gpu_per_item_mb, 430, 1e-12);
    assert_relative(gpu->turnaround_ms, 3, 1e-12);
    assert_relative(gpu->cold_start_mean_ms, 1000, 1e-12);
    assert_relative(gpu->cold_start_cv, (300 * 0.1 + 200 * 0.5 + 500 * 0.4) / 1000, 1e-12);
    assert_null(gpu->cold_start_samples_ms);
    assert_relative(gpu->noise_cv, (f * 0.05 + g * 0.1 + h * 0.3) / sum, 1e-12);
    assert_relative(gpu->bandwidth_share, (f * 0.5 + g * 0.2 + h * 0.9) / sum, 1e-12);
}

/* Excess of the victim by the other; each is a mixture of f, g and h by these parts of the time. */
static double mixed(const double victim[3], const double other[3])
{
    static const double table[3][3] = {{0.1, 0.2, 0.7}, {0.3, 0.7, 0.7}, {0.7, 0.7, 0.7}};
    double sum = 0;
    for (size_t v = 0; v < 3; v++)
        for (size_t o = 0; o < 3; o++)
            sum += victim[v] * other[o] * table[v][o];
    return sum;
}

static double excess(const struct workload *workload, uint32_t victim, uint32_t other)
{
    const struct co_runner runners[] = {
        {workload->functions[victim].gpus[0].interference_index, 0, 1, 1},
        {workload->functions[other].gpus[0].interference_index, 0, 1, 1}};
    return interference_slowdown(workload->kinds[0].interference, runners, 2, 0) - 1;
}

CASE(slowdowns_of_pairs_are_means_over_the_time_of_the_parts)
{
    EXPERIMENT *whole = load_with(THREE(NOISY("0"), PAIRS), "granularity", "fused");
    EXPERIMENT *head = load_with(THREE(NOISY("0"), PAIRS), "granularity", "{'head':['a','b']}");
    const double f = 80.000001, g = 40.000003, h = 20.000007;
    const double fgh[] = {f / (f + g + h), g / (f + g + h), h / (f + g + h)};
    const double fg[] = {f / (f + g), g / (f + g), 0}, only_h[] = {0, 0, 1};
    assert_relative(excess(&whole->workload, 0, 0), mixed(fgh, fgh), 1e-9);
    assert_string_equal(head->workload.functions[0].name, "f+g");
    assert_relative(excess(&head->workload, 0, 0), mixed(fg, fg), 1e-9);
    assert_relative(excess(&head->workload, 0, 1), mixed(fg, only_h), 1e-9);
    assert_relative(excess(&head->workload, 1, 0), mixed(only_h, fg), 1e-9);
    assert_relative(excess(&head->workload, 1, 1), 0.7, 1e-9);
}

/* A function of its own: its errors are, too, and another profile would have to have it. */
CASE(a_fused_function_is_planned_with_errors_of_its_own_sum)
{
    char *json = world_copy(THREE(NOISY("0"), NONE));
    world_replace(json, "'requests':1", "'granularity':'fused','requests':1");
    EXPERIMENT *late = load_with(json, "planning.error.bias", "0.5");
    const struct function *world = &late->workload.functions[0];
    const struct function *planned = &experiment_planned(late)->functions[0];
    for (size_t k = 0; k < world->configuration_count; k++)
        assert_relative((double)planned->configurations[k].time,
                        1.5 * (double)world->configurations[k].time, 1e-8);
    char *profile = strstr(json, "\"profile\":"), value[WORLD_BYTES] = "";
    (void)snprintf(value, sizeof value, "%.*s",
                   (int)(strstr(profile, ",\"applications\"") - profile - 10), profile + 10);
    assert_text_refused(json, "planning.profile", value,
                        "planning: function \"f+g+h\" has no latency at batch 1");
}

/* ---- Runs ------------------------------------------------------------------------------------ */

#define QUIET THREE(NOISY("0"), NONE)

/* One request, warm and without noise, of which each policy of one batch takes the same cells. */
CASE(a_fused_chain_takes_the_sum_of_its_stages_and_no_transfer)
{
    static struct log apart, joined;
    static const char *const policies[] = {"min-config", "max-config", "fifo", "least-loaded"};
    size_t transfers = 0;
    for (size_t p = 0; p < sizeof policies / sizeof *policies; p++)
        for (int slow = 0; slow < 2; slow++) {
            RESULT one = {0}, other = {0};
            char *json = world_copy(QUIET);
            world_replace(json, "'noise':{'cv':0.1}", "'noise':{'cv':0}");
            world_replace(json, "'noise':{'cv':0.3}", "'noise':{'cv':0}");
            if (slow != 0)
                world_replace(json, "'prewarm':'none'",
                              "'prewarm':'none','transfer':{'latency_ms':7,'bandwidth_gbps':1}");
            /* So that each stage may take the cells of the fused function alone. */
            world_replace(
                json,
                "'vcpu':[1,2],'vgpu':[1,2,4]},'latency_ms':[[[80.000001,50.5,30.3],"
                "[70.7,40.4,20.2]],[[120.1,80.8,50.5],[100.1,70.7,40.4]]],"
                "'source':[['mmi','mmm'],['mmm','mmm']]",
                "'vcpu':[1],'vgpu':[1,4]},'latency_ms':[[[80.000001,30.3]],[[120.1,50.5]]]");
            world_replace(json,
                          "'batch':[1,2,4],'vcpu':[1],'vgpu':[1,2,4]},'latency_ms':"
                          "[[[40.000003,null,15.1]],[[60.6,40.4,25.2]],[[90,80,70]]],"
                          "'source':[['m-m'],['mxm'],['mmm']]",
                          "'batch':[1,2],'vcpu':[1],'vgpu':[1,4]},'latency_ms':"
                          "[[[40.000003,15.1]],[[60.6,25.2]]]");
            world_replace(
                json,
                "'vcpu':[1,2],'vgpu':[1,4]},'latency_ms':[[[20.000007,9.3],[19,8]],"
                "[[30.3,10.1],[29,9]]]",
                "'vcpu':[1],'vgpu':[1,4]},'latency_ms':[[[20.000007,9.3]],[[30.3,10.1]]]");
            char *fused = world_copy(json);
            world_replace(fused, "'requests':1", "'granularity':'fused','requests':1");
            run_well(json, policy_find(policies[p], NULL), &apart, &one);
            run_well(fused, policy_find(policies[p], NULL), &joined, &other);
            const struct request_row *a = &apart.requests[0], *b = &joined.requests[0];
            assert_int_equal(apart.batch_count, 3);
            assert_int_equal(joined.batch_count, 1);
            assert_int_equal(b->transfer_ns, 0);
            assert_int_equal(b->exec_ns, a->exec_ns);
            assert_int_equal(b->finish_ns - b->arrival_ns, b->exec_ns);
            assert_int_equal(a->finish_ns - a->arrival_ns,
                             a->exec_ns + a->transfer_ns + a->queue_ns);
            assert_true(b->exec_ns == 140000011 || b->exec_ns == 54700000);
            assert_relative(b->cost_usd, a->cost_usd, 1e-12);
            transfers += a->transfer_ns > 0;
        }
    assert_true(transfers > 0);
}

/* ---- DAGs ------------------------------------------------------------------------------------ */

enum { STAGES = 9 };

struct drawn {
    bool edge[STAGES][STAGES]; /* from a smaller to a larger number */
    int group[STAGES];         /* 0: none */
};

/* Stage s takes 1 + s ms and sends 2^s bytes. */
static void write_drawn(const struct drawn *drawn, char json[WORLD_BYTES])
{
    world_add(json, "{'cluster':{'invokers':[{'vcpus':1,'memory_mb':1}]},'functions':[");
    for (int s = 0; s < STAGES; s++)
        world_add(json, "%s{'name':'f%d','service':{'distribution':'constant','mean_ms':%d}}",
                  s == 0 ? "" : ",", s, s + 1);
    world_add(json, "],'applications':[{'name':'drawn','granularity':{");
    for (int g = 1, any = 0; g <= STAGES; g++) {
        for (int s = 0, first = 1; s < STAGES; s++)
            if (drawn->group[s] == g) {
                world_add(json, first ? "%s'g%d':['s%d'" : "%s%.0d's%d'",
                          first ? any ? "]," : "" : ",", first ? g : 0, s);
                first = 0;
                any = 1;
            }
        if (g == STAGES && any)
            world_add(json, "]");
    }
    world_add(json, "},'stages':[");
    for (int s = STAGES - 1; s >= 0; s--) {
        world_add(json, "%s{'name':'s%d','function':'f%d','output_bytes':%d,'after':[",
                  s == STAGES - 1 ? "" : ",", s, s, 1 << s);
        const char *comma = "";
        for (int p = 0; p < s; p++)
            if (drawn->edge[p][s]) {
                world_add(json, "%s's%d'", comma, p);
                comma = ",";
            }
        world_add(json, "]}");
    }
    world_add(json, "]}],'arrivals':{'process':'poisson','rate_per_s':1}}");
}

/* The representative of a stage: the first of its group. */
static int home(const struct drawn *drawn, int s)
{
    for (int t = 0; drawn->group[s] != 0 && t < s; t++)
        if (drawn->group[t] == drawn->group[s])
            return t;
    return s;
}

/* The contracted graph with all paths. */
static void contract(const struct drawn *drawn, bool edge[STAGES][STAGES],
                     bool path[STAGES][STAGES])
{
    memset(edge, 0, sizeof(bool[STAGES][STAGES]));
    for (int s = 0; s < STAGES; s++)
        for (int t = 0; t < STAGES; t++)
            if (drawn->edge[s][t] && home(drawn, s) != home(drawn, t))
                edge[home(drawn, s)][home(drawn, t)] = true;
    memcpy(path, edge, sizeof(bool[STAGES][STAGES]));
    for (int k = 0; k < STAGES; k++)
        for (int s = 0; s < STAGES; s++)
            for (int t = 0; t < STAGES; t++)
                path[s][t] |= path[s][k] && path[k][t];
}

static int ms_of(const struct drawn *drawn, int s)
{
    int sum = 0;
    for (int t = 0; t < STAGES; t++)
        sum += home(drawn, t) == s ? t + 1 : 0;
    return sum;
}

static int longest_from(const struct drawn *drawn, bool edge[STAGES][STAGES], int s)
{
    int longest = 0;
    for (int t = 0; t < STAGES; t++)
        if (edge[s][t]) {
            const int rest = longest_from(drawn, edge, t);
            longest = rest > longest ? rest : longest;
        }
    return longest + ms_of(drawn, s);
}

/* The bytes that the group of s sends: of its stages that others wait for. */
static int bytes_of(const struct drawn *drawn, int s)
{
    int sum = 0, members = 0;
    for (int t = 0; t < STAGES; t++) {
        bool leaves = false;
        for (int u = 0; u < STAGES; u++)
            leaves |= drawn->edge[t][u] && home(drawn, u) != s;
        if (home(drawn, t) == s) {
            sum += leaves ? 1 << t : 0;
            members++;
        }
    }
    return members == 1 ? 1 << s : sum;
}

static int home_of_name(const struct drawn *drawn, const char *name)
{
    const int number = (int)strtol(name + 1, NULL, 10);
    for (int s = 0; name[0] == 'g' && s < STAGES; s++)
        if (drawn->group[s] == number)
            return s;
    return number;
}

static void assert_contracted(const struct drawn *drawn, bool edge[STAGES][STAGES],
                              const struct workload *workload)
{
    const struct application *application = &workload->applications[0];
    int count = 0, edges = 0, longest = 0;
    for (int s = 0; s < STAGES; s++) {
        count += home(drawn, s) == s;
        const int here = home(drawn, s) == s ? longest_from(drawn, edge, s) : 0;
        longest = here > longest ? here : longest;
        for (int t = 0; t < STAGES; t++)
            edges += edge[s][t];
    }
    assert_int_equal(application->stage_count, count);
    assert_int_equal(workload->function_count, count);
    assert_int_equal(application->base_latency, longest * SIM_MS);
    for (size_t n = 0; n < application->stage_count; n++) {
        const struct stage *stage = &application->stages[n];
        const int s = home_of_name(drawn, stage->name);
        const struct function *function = &workload->functions[stage->function];
        assert_int_equal(function->configurations[0].time, ms_of(drawn, s) * SIM_MS);
        assert_int_equal((int)stage->output_bytes, bytes_of(drawn, s));
        for (size_t i = 0; i < stage->after_count; i++) {
            assert_true(stage->after[i] < n);
            assert_true(edge[home_of_name(drawn, application->stages[stage->after[i]].name)][s]);
        }
        edges -= (int)stage->after_count;
    }
    assert_int_equal(edges, 0);
}

CASE(random_groups_of_random_dags_are_contracted_or_refused_for_a_path_that_returns)
{
    uint64_t state = 29;
    size_t taken = 0, refused = 0;
    for (size_t round = 0; round < trials(2000); round++) {
        struct drawn drawn = {.group = {0}};
        const size_t groups = 1 + test_below(&state, 4);
        for (int s = 0; s < STAGES; s++) {
            drawn.group[s] = (int)test_below(&state, groups + 2) - 1;
            drawn.group[s] = drawn.group[s] < 0 ? 0 : drawn.group[s];
            for (int t = s + 1; t < STAGES; t++)
                drawn.edge[s][t] = test_uniform(&state) < 0.2;
            if (s > 0)
                drawn.edge[test_below(&state, (size_t)s)][s] = true;
            /* Neighbours often stay together, or most groups would be refused. */
            if (s > 0 && test_uniform(&state) < 0.5)
                drawn.group[s] = drawn.group[s - 1];
        }
        char json[WORLD_BYTES] = "";
        bool edge[STAGES][STAGES], path[STAGES][STAGES], cyclic = false;
        write_drawn(&drawn, json);
        contract(&drawn, edge, path);
        for (int s = 0; s < STAGES; s++)
            cyclic |= path[s][s];
        EXPERIMENT *experiment = experiment_parse(json, "e.json", ".", NULL, 0, hear());
        if (experiment != NULL) {
            assert_false(cyclic);
            assert_contracted(&drawn, edge, &experiment->workload);
            taken++;
            continue;
        }
        assert_input_error("application \"drawn\"");
        const char *group = strstr(heard.message, "leaves group \"");
        const char *stage = strstr(heard.message, "from stage \"");
        assert_true(cyclic && group != NULL && stage != NULL);
        const int g = home_of_name(&drawn, group + 14);
        const int s = home(&drawn, home_of_name(&drawn, stage + 12));
        assert_true(path[g][s] && edge[s][g]);
        refused++;
    }
    assert_true(taken > trials(2000) / 5 && refused > trials(2000) / 5);
}

/* ---- What is said of it ---------------------------------------------------------------------- */

static void assert_granularity_refused(const char *value, const char *part)
{
    assert_text_refused(QUIET, "granularity", value, part);
}

CASE(a_fault_names_what_is_wrong)
{
    assert_granularity_refused("{'x':['a','c']}",
                               "application \"chain\": a path leaves group \"x\" and returns to it "
                               "from stage \"b\"");
    assert_granularity_refused("fussed", "did you mean \"fused\"");
    assert_granularity_refused("3", "granularity");
    assert_granularity_refused("{'x':'a'}", "granularity.x");
    assert_granularity_refused("{'x':[]}", "granularity.x");
    assert_granularity_refused("{'x':['d']}", "granularity.x[0]");
    assert_granularity_refused("{'x':['a'],'y':['b','a']}", "granularity.y[1]: stage \"a\"");
    assert_granularity_refused("{'x':['a','a']}", "stage \"a\"");
    assert_granularity_refused("{'b':['a']}", "two stages are named \"b\"");
    assert_granularity_refused("{'':['a']}", "granularity");
    assert_text_refused(QUIET, "applications.0.granularity", "fused ", "applications[0]");
    /* 1 GB of weights and activations for batch 1. */
    char *json = world_copy(QUIET);
    world_replace(json, "'memory_mb':2000", "'memory_mb':1000");
    assert_text_refused(json, "granularity", "fused", "\"f+g+h\" have no configuration of batch 1");
    world_replace(json, "'name':'three'",
                  "'name':'three','functions':[{'name':'g','service':{'distribution':'constant',"
                  "'mean_ms':1}}]");
    assert_text_refused(json, "granularity", "fused",
                        "function \"g\" cannot be a part of \"f+g+h\"");
}

/* ---- Which key counts ------------------------------------------------------------------------ */

CASE(an_application_s_own_granularity_precedes_that_of_the_experiment)
{
    EXPERIMENT *none = load(QUIET);
    EXPERIMENT *stages = load_with(QUIET, "granularity", "stages");
    EXPERIMENT *empty = load_with(QUIET, "granularity", "{}");
    assert_string_equal(none->hash, stages->hash);
    assert_string_equal(none->hash, empty->hash);
    char json[WORLD_BYTES] = "", referred[WORLD_BYTES] = "";
    world_add(json, "%s", QUIET);
    world_replace(json, "'name':'chain'", "'name':'chain','granularity':{'x':['b','c']}");
    EXPERIMENT *own = load_with(json, "granularity", "fused");
    assert_int_equal(own->workload.applications[0].stage_count, 2);
    assert_string_equal(own->workload.applications[0].stages[1].name, "x");
    assert_string_equal(own->workload.functions[1].name, "g+h");
    assert_string_not_equal(own->hash, none->hash);
    EXPERIMENT *over = load_with(json, "applications.0.granularity", "stages");
    assert_string_equal(over->hash, none->hash);
    world_add(referred, "%s", json);
    world_replace(referred, "[{'name':'chain'", "[{'granularity':'fused','ref':{'name':'chain'");
    world_replace(referred, "'output_bytes':3}]}]", "'output_bytes':3}]}}]");
    EXPERIMENT *ref = load(referred);
    assert_int_equal(ref->workload.applications[0].stage_count, 1);
    assert_string_equal(ref->workload.applications[0].stages[0].name, "chain");
}

SUITE("granularity")
