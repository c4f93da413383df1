/* Readers of training traces, the models file and its queries, and drawn sets. */
#include "tests/fixture_simulation.h"
#include "workloads/training/trainings.h"

OWNER(training_models_free, struct training_models)
#define MODELS OWNED(training_models_free) struct training_models
OWNER(training_trace_free, struct training_trace)
#define TRAININGS OWNED(training_trace_free) struct training_trace

static struct training_models *models_of(const char *text, struct error *error)
{
    STRING *json = strdup(text);
    if (strchr(json, '"') == NULL) /* not the text of a file */
        json_requote(json);
    JSON *root = must(json_parse(json, "models.json", error));
    const struct json_value value = json_root("models.json", root);
    struct training_models *models = training_models_load(&value, error);
    return models;
}

static struct training_trace *trace_of(const char *text, const char *format, struct error *error)
{
    TEMPORARY(path, text);
    return training_trace_read(path, format, error);
}

/* ---- Traces ---------------------------------------------------------------------------------- */

/* Counts and totals computed from the files by awk. */
CASE(every_shipped_trace_is_read_whole)
{
    static const struct {
        const char *path, *format;
        size_t rows, models;
        uint64_t gpus;
        sim_time_t last;
    } traces[] = {
        {"traces/trainings/muri_trace1.csv.gz", "muri", 1494, 8, 0, 0},
        {"traces/trainings/muri_trace3.csv.gz", "muri", 992, 8, 9346, 0},
        {"traces/trainings/muri_testbed.csv.gz", "muri", 400, 8, 3766, 2344695 * SIM_S},
        {"traces/trainings/sjf_bsbf_new_32.csv.gz", "muri", 61, 8, 258, 0},
        {"traces/trainings/gavel_msr_seed_0_103959.trace.gz", "gavel", 986, 26, 2364, 0},
        {"traces/trainings/sia_philly.csv.gz", "philly", 82247, 0, 0, 9408690 * SIM_S},
        {"traces/trainings/synergy_dynamic_100job.csv.gz", "synergy", 100, 9, 0, 0},
        {"traces/trainings/instances_3200.txt.gz", "dilu", 3200, 3200, 0, 3199 * SIM_S},
        {"traces/trainings/openb_default.csv.gz", "openb", 8152, 0, 7433, 12901761 * SIM_S},
    };
    for (size_t t = 0; t < sizeof traces / sizeof traces[0]; t++) {
        uint64_t gpus = 0;
        TRAININGS *trace = must(training_trace_read(traces[t].path, traces[t].format, hear()));
        assert_string_equal(heard.message, "");
        assert_string_equal(training_trace_recognise(traces[t].path), traces[t].format);
        assert_int_equal(trace->count, traces[t].rows);
        assert_int_equal(trace->models.count, traces[t].models);
        for (size_t i = 0; i < trace->count; i++) {
            gpus += trace->rows[i].gpus;
            assert_true(i == 0 || trace->rows[i].arrival >= trace->rows[i - 1].arrival);
        }
        if (traces[t].gpus > 0)
            assert_int_equal(gpus, traces[t].gpus);
        if (traces[t].last > 0)
            assert_int_equal(trace->rows[trace->count - 1].arrival, traces[t].last);
    }
}

#define OPENB                                                                                      \
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"            \
    "deletion_time,scheduled_time\n"

CASE(a_bad_line_is_named_with_its_number)
{
    static const struct refusal_of cases[] = {
        {"synergy", "0,a,5,10,1\n1,a,4,10,1\n", ":2: arrival 4 s is before the previous one, 5 s"},
        {"synergy", "0,a,5,-10,1\n", ":1: iterations '-10' is not a whole number"},
        {"synergy", "0,a,5,0,1\n", ":1: iterations is 0"},
        {"synergy", "0,a,5,10\n", ":1: has 4 fields, not 5"},
        {"synergy", "0,a,x,10,1\n", ":1: arrival 'x'"},
        {"synergy", "0,a,5,10,0\n", ":1: GPUs is 0"},
        {"synergy", "0,a,5,10,99999999\n", ":1: GPUs 99999999 is above 65536"},
        {"synergy", "", "holds no training"},
        {"muri", "job_id,num_gpu\n", ":1: has no column \"submit_time\""},
        {"muri", "job_id,num_gpu,submit_time,iterations,model_name,iteration_time\n0,1,2,3,a,0\n",
         ":2: iteration_time is 0"},
        {"gavel", "a\tb\tc\t1\t10\t-3\t1\n", ":1: arrival -3 is outside"},
        {"philly", "timestamp,duration\n", ":1: has no column \"num_gpus\""},
        {"esgsim", "arrival_s,gpu,duration_s\n",
         ":1: has no column \"gpus\"; did you mean \"gpu\"?"},
        {"esgsim", "arrival_s,gpus,gpus\n", ":1: has 2 columns \"gpus\""},
        {"esgsim", "arrival_s,gpus\n0,1\n",
         ":2: has no work; give either iterations or a duration"},
        {"esgsim", "arrival_s,gpus,iterations,duration_s,model\n0,1,2,,a\n0,1,2,3,a\n",
         ":3: has iterations and a duration; give either"},
        {"esgsim", "arrival_s,gpus,iterations\n0,1,2\n",
         ":2: model is missing; iterations need one"},
        {"esgsim", "arrival_s,gpus,duration_s\n5,1,2\n4,1,2\n", ":3: arrival 4 s is before"},
        {"esgsim", "arrival_s,gpus,duration_s\n0,0.5,2\n", ":2: gpus '0.5' is not a whole number"},
        {"esgsim", "arrival_s,gpus,duration_s,model\n0,1,2,\"a\n",
         ":2: field 4 begins with a quote"},
        {"philly",
         "timestamp,duration,num_gpus,gpu_time,cluster\n2017-13-09 07:01:55,66.0,1,66.0,1\n",
         ":2: timestamp '2017-13-09 07:01:55'"},
        {"philly", "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,0,1,0,1\n",
         ":2: duration is 0"},
        {"dilu", "{\"Time\": 1}\n", ":1: lacks \"{'Time': '\" from column 1"},
        {"openb", "name,cpu_milli\n", ":1: has no column"},
        {"openb", OPENB "p,0,1,1,500,,LS,Running,5,6,5\n", ":2: cpu_milli is 0"},
        {"openb", OPENB "p,1,1,1,0,,LS,Running,5,6,5\n", ":2: one of num_gpu and gpu_milli is 0"},
        {"openb", OPENB "p,1,1,1,1001,,LS,Running,5,6,5\n", ":2: gpu_milli"},
        {"csv", "0,a,5,10,1\n", "unknown format \"csv\""},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        assert_bad_input(trace_of(cases[c].text, cases[c].key, hear()), cases[c].words);
}

CASE(each_layout_gives_its_fields)
{
    struct training_trace *trace = must(trace_of("7,a,0.002,10,4\n", "synergy", hear()));
    assert_int_equal(trace->rows[0].id, 7);
    assert_int_equal(trace->rows[0].arrival, 2000000);
    assert_int_equal(trace->rows[0].iterations, 10);
    assert_int_equal(trace->rows[0].gpus, 4);
    training_trace_free(trace);
    trace = must(trace_of("iteration_time,job_id,num_gpu,submit_time,iterations,model_name\n"
                          "490,3,2,46122000,9,dqn\n",
                          "muri", hear()));
    assert_true(trace->rows[0].iteration_ms == 490);
    assert_int_equal(trace->rows[0].arrival, 46122 * SIM_S);
    assert_string_equal(trace->models.names[trace->rows[0].model], "dqn");
    training_trace_free(trace);
    trace = must(trace_of("timestamp,duration,num_gpus,gpu_time,cluster\n"
                          "2017-10-09 07:01:55,66.0,1,66.0,b\n2017-10-08 07:01:55,2.5,3,66.0,a\n",
                          "philly", hear()));
    assert_int_equal(trace->rows[0].arrival, 0);
    assert_true(trace->rows[0].duration_s == 2.5);
    assert_int_equal(trace->rows[1].arrival, 86400 * SIM_S);
    assert_int_equal(trace->rows[1].model, TRAINING_NO_MODEL);
    assert_bad_input(training_trace_keep(trace, "f.csv", "c", hear()),
                     "f.csv: has no training of the cluster \"c\"");
    assert_true(training_trace_keep(trace, "f.csv", "b", hear()));
    assert_int_equal(trace->count, 1);
    assert_int_equal(trace->rows[0].id, 0);
    assert_int_equal(trace->rows[0].arrival, 0);
    assert_true(trace->rows[0].duration_s == 66);
    training_trace_free(trace);
}

/* Counted by awk. */
CASE(a_virtual_cluster_of_philly_is_taken_alone)
{
    TRAININGS *trace =
        must(training_trace_read("traces/trainings/sia_philly.csv.gz", "philly", hear()));
    assert_int_equal(trace->clusters.count, 15);
    assert_true(training_trace_keep(trace, "f", "6c71a0", hear()));
    assert_int_equal(trace->count, 9953);
    assert_int_equal(trace->rows[9952].arrival, 7742842 * SIM_S);
}

#define DILU(second, action, name, rest)                                                           \
    "{'Time': '2024-06-19 15:46:" second "', 'Action': '" action                                   \
    "', 'Instance': {'service_name': '" name "', 'type': '" rest "]}}\n"
#define DILU_A "training', 'gpu_num': 2, 'sm_requests': 0.55, 'sm_limits': 0.81, 'memory': [30, 30"
#define DILU_B "inference', 'gpu_num': 1, 'sm_requests': 0.2, 'sm_limits': 1, 'memory': [2.5"

/* A delete ends all running instances of its service; what no line deletes does not end. */
CASE(instances_have_their_times_and_shares)
{
    TRAININGS *trace =
        trace_of(DILU("58", "start", "a", DILU_A) DILU("58", "start", "b", DILU_B)
                     DILU("59", "start", "b", DILU_B) DILU("59", "delete", "b", DILU_B)
                         DILU("59", "start", "b", DILU_B),
                 "dilu", hear());
    assert_string_equal(heard.message, "");
    assert_int_equal(trace->count, 4);
    assert_int_equal(trace->models.count, 2);
    const struct training_row *rows = trace->rows;
    assert_int_equal(rows[0].arrival, 0);
    assert_int_equal(rows[1].arrival, SIM_US);
    assert_int_equal(rows[2].arrival, SIM_S);
    assert_int_equal(rows[3].arrival, SIM_S + 2 * SIM_US);
    assert_true(isinf(rows[0].duration_s) && isinf(rows[3].duration_s));
    assert_true(fabs(rows[1].duration_s - 1) <= 1e-12);
    assert_true(fabs(rows[2].duration_s - 1e-6) <= 1e-12);
    assert_int_equal(rows[0].type, INSTANCE_TRAINING);
    assert_int_equal(rows[1].type, INSTANCE_INFERENCE);
    assert_int_equal(rows[1].model, rows[3].model);
    assert_int_equal(rows[0].gpus, 2);
    assert_true(rows[0].request == 0.55 && rows[0].limit == 0.81 && rows[1].memory_gb == 2.5);
}

/* ---- Models ---------------------------------------------------------------------------------- */

#define AXES "'name':'m','vcpus':[1,3,6],'memory_gb':[20,60],'gangs':[1,4],"

CASE(instances_do_not_slow_one_another)
{
    MODELS *models = must(training_models_of_instances(hear()));
    assert_int_equal(models->count, INSTANCE_TYPES);
    for (uint32_t type = 0; type < INSTANCE_TYPES; type++) {
        assert_string_equal(models->models[type].name, instance_type_names[type]);
        assert_true(models->models[type].timed && models->models[type].type == type);
        assert_true(training_pair(models, type, 0, 1, NULL) == 1);
    }
    assert_true(models->overhead == 1);
}

CASE(queries_take_the_next_lower_cell_and_the_next_larger_gang)
{
    MODELS *models = must(models_of(
        "{" AXES "'models':{'a':{'class':'speech','iteration_s':[0.5,0.25],'throughput':[[1,2],[3,"
        "4],[5,6]]},'b':{'restart_s':9}},'pairs':{'a':{'b':[1.5,2],'a':null}}}",
        hear()));
    static const double cells[][3] = {{0, 0, 1},    {1, 59.9, 1}, {2.9, 60, 2}, {3, 20, 3},
                                      {5.9, 99, 4}, {6, 59, 5},   {99, 99, 6}};
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
        assert_true(training_throughput(models, 0, cells[i][0], cells[i][1]) == cells[i][2]);
    assert_true(training_throughput(models, 1, 3, 20) == 1);
    assert_int_equal(training_gang(models, 1), 0);
    assert_int_equal(training_gang(models, 2), 1);
    assert_int_equal(training_gang(models, 64), 1);
    bool measured = false;
    assert_true(training_pair(models, 0, 1, 1, &measured) == 1.5 && measured);
    assert_true(training_pair(models, 0, 1, 3, NULL) == 2);
    assert_true(isinf(training_pair(models, 0, 0, 1, &measured)) && measured);
    assert_true(training_pair(models, 1, 0, 1, &measured) == 1 && !measured);
    assert_true(models->models[1].restart_s[0] == 9 && models->models[1].restart_s[1] == 9);
    assert_int_equal(models->models[0].kind, TRAINING_SPEECH);
}

/* The same matrix relative to another cell: all speeds are relative to the base. */
CASE(speeds_are_relative_to_the_base)
{
    MODELS *models = must(models_of("{" AXES "'base':{'vcpus':5,'memory_gb':20},'models':{'a':{'"
                                    "throughput':[[1,2],[4,6],[5,6]]},'b':{}}}",
                                    hear()));
    assert_true(training_throughput(models, 0, 5, 20) == 1);
    assert_true(training_throughput(models, 0, 1, 20) == 0.25);
    assert_true(training_throughput(models, 0, 9, 99) == 1.5);
    assert_true(training_throughput(models, 1, 9, 99) == 1);
}

/* Pairs that no one measured take the default, and are counted over the models that are used. */
CASE(pairs_without_a_measurement_take_the_default)
{
    static const struct {
        const char *pairs;
        double slowdown, missing;
    } cases[] = {{"{'a':{'b':1.5}}", 1, 3},
                 {"{'a':{'b':1.5},'default':2.5}", 2.5, 3},
                 {"{'default':'none'}", 1, 4},
                 {"{'a':{'a':1,'b':1},'b':{'a':1,'b':null}}", 1, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t pairs = 0;
        char *text =
            formatted("{'name':'m','models':{'a':{},'b':{},'c':{}},'pairs':%s}", cases[c].pairs);
        MODELS *models = must(models_of(text, hear()));
        assert_int_equal(training_pairs_missing(models, &pairs), 0);
        assert_int_equal(pairs, 0);
        models->models[0].used = models->models[1].used = true;
        assert_int_equal(training_pairs_missing(models, &pairs), cases[c].missing);
        assert_int_equal(pairs, 4);
        assert_true(training_pair(models, 1, 0, 1, NULL) == cases[c].slowdown);
    }
}

/* `excess` scales what slowdowns have above 1, and leaves pairs that do not fit as they are. */
CASE(the_excess_of_pairs_is_scaled)
{
    static const double scaled[][3] = {{1, 2.25, 1.25}, {0, 1, 1}, {0.5, 1.625, 1.125}};
    for (size_t c = 0; c < sizeof scaled / sizeof *scaled; c++) {
        char *text =
            formatted("{'name':'m','models':{'a':{},'b':{}},'pairs':{'a':{'a':2.25,'b':null},"
                      "'excess':%g,'default':1.25}}",
                      scaled[c][0]);
        MODELS *models = must(models_of(text, hear()));
        assert_true(training_pair(models, 0, 0, 1, NULL) == scaled[c][1]);
        assert_true(training_pair(models, 1, 0, 1, NULL) == scaled[c][2]);
        assert_true(isinf(training_pair(models, 0, 1, 1, NULL)));
    }
    MODELS *all =
        must(models_of("{'name':'m','models':{'a':{},'b':{}},'pairs':{'default':'effects','a':"
                       "{'a':3,'b':3},'b':{'a':3},'excess':0.5}}",
                       hear()));
    assert_true(fabs(training_pair(all, 1, 1, 1, NULL) - 2) < 1e-9); /* all listed are 2 now */
}

/* What the models file, in which every tenth pair of models is left out, says of those pairs by
 * `fill`; NULL: their mean. Returns the mean |slowdown / measured - 1|. */
static double left_out_error(const char *fill, size_t *count)
{
    MODELS *whole = must(training_models_read("workloads/models/gavel-v100.json", hear()));
    STRING *text = json_read_text("workloads/models/gavel-v100.json", NULL, hear());
    double sum = 0, mean = 0;
    size_t known = 0;
    assert_non_null(text);
    const uint32_t n = (uint32_t)whole->count;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            if (isfinite(training_pair(whole, a, b, 1, NULL)))
                mean += (training_pair(whole, a, b, 1, NULL) - mean) / (double)++known;
    for (uint32_t fold = 0; fold < 10; fold++) {
        JSON *root = cJSON_Parse(text);
        cJSON *pairs = cJSON_GetObjectItemCaseSensitive(root, "pairs");
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = 0; b < n; b++)
                if ((a + b + a * b) % 10 == fold)
                    cJSON_DeleteItemFromObjectCaseSensitive(
                        cJSON_GetObjectItemCaseSensitive(pairs, whole->models[a].name),
                        whole->models[b].name);
        (void)cJSON_AddStringToObject(pairs, "default", fill != NULL ? fill : "none");
        STRING *changed = cJSON_PrintUnformatted(root);
        MODELS *models = must(models_of(changed, hear()));
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = 0; b < n; b++) {
                bool measured = true;
                const double truth = training_pair(whole, a, b, 1, NULL);
                double said = training_pair(models, a, b, 1, &measured);
                assert_true(measured == ((a + b + a * b) % 10 != fold));
                assert_true(!measured || said == truth);
                if (measured || isinf(truth))
                    continue;
                said = fill != NULL ? said : mean;
                sum += fabs(said / truth - 1);
                ++*count;
            }
    }
    return sum / (double)*count;
}

/* The mean has even seen the pairs that are left out. */
CASE(effects_say_more_of_a_pair_left_out_than_one_or_the_mean)
{
    size_t counts[3] = {0};
    const double effects = left_out_error("effects", &counts[0]);
    const double one = left_out_error("none", &counts[1]);
    const double mean = left_out_error(NULL, &counts[2]);
    print_message("pairs left out: effects %.1f %%, 1: %.1f %%, mean: %.1f %%\n", 100 * effects,
                  100 * one, 100 * mean);
    assert_int_equal(counts[0], 636);
    assert_int_equal(counts[1], 636);
    assert_true(effects < 0.25 && one > 0.3 && mean > one);
}

/* Speeds 0.9, 0.8, 0.7 and, not listed, the sum of their effects: 0.6, where nothing pulls. The
 * penalty pulls it to the mean. */
CASE(effects_are_between_the_sum_and_the_mean)
{
    MODELS *models = must(
        models_of("{'name':'m','models':{'a':{},'b':{}},'pairs':{'default':'effects','a':{'a':1."
                  "1111111111111112,'b':1.25},'b':{'a':1.4285714285714286}}}",
                  hear()));
    const double derived = 1 / training_pair(models, 1, 1, 1, NULL);
    assert_true(derived >= 0.7 && derived < 0.8);
    assert_true(training_pair(models, 0, 1, 1, NULL) == 1.25);
}

/* Step times are the constants of lines through Gavel's measurements at four batch sizes. */
CASE(sub_batches_follow_gavels_measurements)
{
    static const char *const stands[][2] = {
        {"vgg16", "ResNet-50"},  {"vgg19", "ResNet-50"},    {"bert", "Transformer"},
        {"gpt2", "Transformer"}, {"resnet18", "ResNet-18"}, {"shufflenet_v2_x1_0", "ResNet-18"}};
    MODELS *models = training_models_read("workloads/models/muri-v100-sub-batches.json", hear());
    MODELS *gavel = training_models_read("workloads/models/gavel-v100.json", hear());
    assert_good(models);
    assert_good(gavel);
    for (size_t m = 0; m < sizeof stands / sizeof *stands; m++) {
        const int32_t model = training_models_find(models, stands[m][0]);
        double sums[4] = {0}; /* x, y, x², xy */
        for (double x = 16; x <= 128; x *= 2) {
            char *name = formatted("%s (batch size %.0f)", stands[m][1], x);
            const double y = gavel->models[training_models_find(gavel, name)].iteration_s[0];
            sums[0] += x;
            sums[1] += y;
            sums[2] += x * x;
            sums[3] += x * y;
        }
        const double slope = (4 * sums[3] - sums[0] * sums[1]) / (4 * sums[2] - sums[0] * sums[0]);
        const double constant = (sums[1] - slope * sums[0]) / 4;
        assert_true(fabs(models->models[model].step_s - constant) <= 1e-4);
    }
}

CASE(the_models_with_sub_batches_are_muris_in_all_else)
{
    static const char *const own[] = {"name", "note", "evidence"};
    STRING *text = json_read_text("workloads/models/muri-v100.json", NULL, NULL);
    STRING *split = json_read_text("workloads/models/muri-v100-sub-batches.json", NULL, NULL);
    JSON *left = cJSON_Parse(text);
    JSON *right = cJSON_Parse(split);
    cJSON *model = NULL;
    cJSON_ArrayForEach(model, cJSON_GetObjectItem(right, "models"))
    {
        cJSON_DeleteItemFromObject(model, "sub_batches");
    }
    for (size_t k = 0; k < sizeof own / sizeof *own; k++) {
        cJSON_DeleteItemFromObject(left, own[k]);
        cJSON_DeleteItemFromObject(right, own[k]);
    }
    assert_true(cJSON_GetArraySize(left) > 3 && cJSON_Compare(left, right, true));
}

CASE(a_fault_in_the_models_file_is_named_by_its_key)
{
    static const struct refusal cases[] = {
        {"{" AXES "'models':{}}", "models: has 0 models"},
        {"{'name':'m','models':{'a':{'share':{'request':0.5,'limit':0.4}}}}",
         "models.a.share: must have a \"limit\""},
        {"{'name':'m','models':{'a':{'share':{'limit':0.4}}}}",
         "models.a.share: must have a \"limit\""},
        {"{'name':'m','models':{'a':{'share':{'speed':[0.5,0.4]}}}}",
         "models.a.share.speed[1]: must not be below"},
        {"{'name':'m','models':{'a':{'share':{'speed':[0.5,0.9]}}}}",
         "models.a.share.speed[1]: must be 1"},
        {"{'name':'m','models':{'a':{'throughput':[[1]]}}}", "models.a.throughput: needs"},
        {"{" AXES "'models':{'a':{'throughput':[[1,2],[3,4]]}}}",
         "models.a.throughput: has 2 rows, not one per entry of \"vcpus\" (3)"},
        {"{" AXES "'models':{'a':{'throughput':[[1,2],[3],[4,5]]}}}",
         "models.a.throughput[1]: has 1 numbers"},
        {"{" AXES "'models':{'a':{'iteration_s':[1]}}}", "models.a.iteration_s: has 1 number"},
        {"{" AXES "'models':{'a':{'iteration_s':-1}}}", "models.a.iteration_s"},
        {"{" AXES "'models':{'a':{'class':'images'}}}", "did you mean \"image\""},
        {"{" AXES "'models':{'a':{}},'pairs':{'b':{}}}", "pairs.b: no model of that name"},
        {"{" AXES "'models':{'a':{}},'pairs':{'a':{'a':0.5}}}", "pairs.a.a"},
        {"{'name':'m','models':{'a':{}},'pairs':{'default':0.5}}", "pairs.default: is 0.5"},
        {"{'name':'m','models':{'a':{}},'pairs':{'excess':-1}}", "pairs.excess: is -1"},
        {"{'name':'m','models':{'a':{}},'pairs':{'default':'no'}}",
         "pairs.default: must be a slowdown of at least 1, \"none\" or \"effects\""},
        {"{'name':'m','models':{'a':{}},'pairs':{'default':'effects','a':{'a':null}}}",
         "pairs: \"effects\" needs pairs with a slowdown"},
        {"{'name':'m','base':{'vcpus':3},'models':{'a':{}}}", "memory_gb"},
        {"{'name':'m','overhead':0,'models':{'a':{}}}", "overhead: is 0"},
        {"{'name':'m','penalty':[1,0],'models':{'a':{}}}", "penalty[1]: is 0"},
        {"{'name':'m','penalty':[],'models':{'a':{}}}", "penalty: "},
        {"{'name':'m','models':{'a':{'penalty':[1,1.5]}}}", "models.a.penalty[1]: is 1.5"},
        {"{'name':'m','models':{'a':{'penalty':0.9}}}", "models.a.penalty: must be an array"},
        {"{'name':'m','gangs':[2,1],'models':{'a':{}}}", "gangs[1]: must be above"},
        {"{'name':'m','models':{'a':{'sub_batches':{'most':2,'step_s':1,'fixed_mb':3}}}}",
         "models.a.sub_batches: has a \"fixed_mb\" of 3, above"},
        {"{'name':'m'}", "models"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        assert_bad_input(models_of(cases[c].text, hear()), cases[c].words);
}

CASE(the_shipped_models_cover_the_shipped_traces)
{
    static const char *const pairs[][3] = {
        {"workloads/models/muri-v100.json", "traces/trainings/muri_trace2.csv.gz", "muri"},
        {"workloads/models/gavel-v100.json", "traces/trainings/gavel_msr_seed_0_ee9e8c.trace.gz",
         "gavel"},
        {"workloads/models/synergy-v100.json", "traces/trainings/synergy_s42_4jph_multi.csv.gz",
         "synergy"},
        {"workloads/models/synergy-v100.json", "traces/trainings/sia_philly.csv.gz", "philly"},
    };
    for (size_t p = 0; p < 4; p++) {
        const struct training_draw draw = {0};
        MODELS *models = must(training_models_read(pairs[p][0], hear()));
        TRAININGS *trace = must(training_trace_read(pairs[p][1], pairs[p][2], hear()));
        struct training_spec *specs =
            trainings_from_trace(trace, pairs[p][1], models, &draw, 1, hear());
        assert_string_equal(heard.message, "");
        assert_non_null(specs);
        for (size_t i = 0; i < trace->count; i++) {
            assert_true(specs[i].model < models->count && specs[i].iterations > 0);
            assert_true(specs[i].iteration_s > 0);
            if (p == 0) /* the table has the same times as the trace, to its nine digits */
                assert_true(fabs(models->models[specs[i].model]
                                         .iteration_s[training_gang(models, specs[i].gpus)] /
                                     specs[i].iteration_s -
                                 1) < 1e-8);
        }
    }
}

CASE(a_model_that_is_not_in_the_table_is_refused)
{
    const struct training_draw draw = {0};
    MODELS *models = models_of("{'name':'m','models':{'alexnet':{}}}", hear());
    struct training_trace *trace = trace_of("0,alexne,5,10,1\n", "synergy", hear());
    assert_null(trainings_from_trace(trace, "t.csv", models, &draw, 1, hear()));
    assert_string_equal(heard.message, "t.csv: the model \"alexne\" is not in \"training.models\", "
                                       "which are \"m\"; did you mean \"alexnet\"?");
    training_trace_free(trace);
    trace = trace_of("8,alexnet,5,10,1\n", "synergy", hear());
    assert_bad_input(trainings_from_trace(trace, "t.csv", models, &draw, 1, hear()),
                     "t.csv: training 8 is a \"alexnet\", which has no");
    training_trace_free(trace);
}

/* The times of a trace of Muri's layout, by a models file that states an overhead and by another.
 */
CASE(only_the_models_file_multiplies_the_times_of_a_trace)
{
    static const char *const files[] = {
        "{'name':'m','overhead':1.015,'models':{'dqn':{}}}",
        "{'name':'m','models':{'dqn':{}}}",
    };
    static const double expected_s[] = {490 * 1.015 / 1000, 0.49};
    for (int f = 0; f < 2; f++) {
        const struct training_draw draw = {0};
        MODELS *models = models_of(files[f], hear());
        TRAININGS *trace =
            trace_of("iteration_time,job_id,num_gpu,submit_time,iterations,model_name\n"
                     "490,3,2,46122000,9,dqn\n",
                     "muri", hear());
        assert_non_null(models);
        struct training_spec *specs =
            must(trainings_from_trace(trace, "t.csv", models, &draw, 1, hear()));
        assert_true(specs[0].iteration_s == expected_s[f]);
    }
}

CASE(an_arrival_after_the_clocks_end_names_the_trace)
{
    const struct training_draw draw = {0};
    MODELS *models = models_of("{'name':'m','models':{'a':{'iteration_s':1}}}", hear());
    TRAININGS *trace = must(trace_of("7,a,1000000000,10,1\n", "synergy", hear()));
    assert_bad_input(trainings_from_trace(trace, "t.csv", models, &draw, 1, hear()),
                     "t.csv: training 7 arrives at 1e+09 s");
}

/* ---- Drawn sets ------------------------------------------------------------------------------ */

/* Shares and means within four standard errors of the law. */
CASE(a_drawn_set_follows_its_law)
{
    enum { COUNT = 40000 };
    MODELS *models = must(training_models_read("workloads/models/synergy-v100.json", hear()));
    const struct training_draw draw = {.split = {20, 70, 10},
                                       .per_hour = 9,
                                       .count = COUNT,
                                       .ranges = {{0.8, 1.5, 3}, {0.2, 3, 4}},
                                       .range_count = 2};
    struct training_spec *specs = must(trainings_draw(&draw, models, 7, hear()));
    double kinds[TRAINING_CLASSES] = {0};
    double gangs[9] = {0};
    double long_ones = 0;
    double alexnet = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const double minutes = (double)specs[i].iterations * specs[i].iteration_s / 60;
        kinds[models->models[specs[i].model].kind] += 1.0 / COUNT;
        gangs[specs[i].gpus] += 1.0 / COUNT;
        long_ones += minutes >= 1000 ? 1.0 / COUNT : 0;
        alexnet += specs[i].model == 0 ? 1.0 / COUNT : 0;
        assert_true(minutes > 31 && minutes <= 10000);
        assert_true(specs[i].arrival % SIM_S == 0);
        assert_true(i == 0 || specs[i].arrival > specs[i - 1].arrival);
    }
    assert_true(fabs(kinds[TRAINING_LANGUAGE] - 0.7) < 4 * sqrt(0.21 / COUNT));
    assert_true(fabs(kinds[TRAINING_SPEECH] - 0.1) < 4 * sqrt(0.09 / COUNT));
    assert_true(fabs(alexnet - 0.2 / 5) < 4 * sqrt(0.04 / COUNT));
    assert_true(fabs(gangs[1] - 0.7) < 4 * sqrt(0.21 / COUNT));
    assert_true(fabs(gangs[4] - 0.15) < 4 * sqrt(0.13 / COUNT));
    assert_true(fabs(gangs[8] - 0.05) < 4 * sqrt(0.05 / COUNT));
    assert_true(fabs(long_ones - 0.2) < 4 * sqrt(0.16 / COUNT));
    /* The mean of ⌈X⌉ with X exponential of mean m is 1 ÷ (1 − exp(−1/m)). */
    const double mean = 1 / (1 - exp(-1 / 400.0));
    const double measured = sim_to_s(specs[COUNT - 1].arrival) / COUNT;
    assert_true(fabs(measured - mean) < 4 * 400 / sqrt(COUNT));
}

SUITE("trainings")
