/* Sweeps: which runs, in which order, with which experiment; and what `check` takes a file for. */
#include <sys/stat.h>

#include "tests/fixture_folder.h"
#include "traces/profile/profile.h"
#include "workloads/sweep/sweep.h"

OWNER(experiment_free, struct experiment)
OWNER(sweep_free, struct sweep)
#define SWEEP OWNED(sweep_free) struct sweep

static const char base[] =
    "{'cluster': {'invokers': [{'vcpus': 4, 'memory_mb': 4096}]}, 'functions': [{'name': 'f', "
    "'service': {'distribution': 'constant', 'mean_ms': 10}}], 'applications': [{'name': 'app', "
    "'stages': [{'name': 's', 'function': 'f'}]}], 'arrivals': {'process': 'poisson', "
    "'rate_per_s': 10}, 'policy': {'name': 'fifo', 'params': {'k': 3}}, 'seed': 7}";

static struct sweep *load(const char *matrix, const struct override *overrides, size_t count,
                          struct error *error)
{
    STRING *text = NULL;
    assert_true(asprintf(&text, "{'base': %s, %s}", base, matrix) > 0);
    write_json(in_folder("sweep.json"), text);
    return sweep_load(in_folder("sweep.json"), overrides, count, error);
}

static struct sweep *must_load(const char *matrix, const struct override *overrides, size_t count)
{
    return must(load(matrix, overrides, count, hear()));
}

static struct experiment *must_resolve(const struct sweep *sweep, size_t run)
{
    struct experiment *experiment = sweep_experiment(sweep, run, hear());
    if (experiment == NULL) {
        fail_msg("run %zu: %s", run, heard.message);
        abort(); /* fail_msg does not return; analysers do not know */
    }
    return experiment;
}

CASE(the_first_key_varies_slowest_and_the_seed_fastest)
{
    SWEEP *sweep =
        must_load("'matrix': {'setting': [{'name': 'low', 'arrivals.rate_per_s': 1}, {'name': "
                  "'high', 'arrivals': {'process': 'poisson', 'rate_per_s': 9}, 'slo.ms': 5}], "
                  "'policy.name': ['fifo', 'edf', 'sjf']}, 'seeds': 2",
                  NULL, 0);
    static const char *const settings[] = {"low", "high"};
    static const char *const policies[] = {"fifo", "edf", "sjf"};
    assert_int_equal(sweep->run_count, 12);
    assert_int_equal(sweep->seeds, 2);
    for (size_t r = 0; r < 12; r++) {
        const char *setting = settings[r / 6];
        const char *policy = policies[r / 2 % 3];
        OWNED(experiment_free) struct experiment *e = must_resolve(sweep, r);
        char *label = formatted("setting=%s policy.name=%s", setting, policy);
        assert_string_equal(sweep->runs[r].label, label);
        assert_string_equal(sweep->runs[r].setting_name, setting);
        assert_string_equal(e->setting_name, setting);
        assert_string_equal(e->policy_name, policy);
        assert_int_equal(e->seed, 7 + r % 2);
        assert_int_equal(sweep->runs[r].seed, 7 + r % 2);
        assert_true((int)e->arrivals.rate_per_s == (r < 6 ? 1 : 9));
        assert_true(e->workload.applications[0].slo == (r < 6 ? 10 : 5) * SIM_MS);
        /* The base's parameters belong to its own policy. */
        assert_int_equal(e->policy_setting_count, strcmp(policy, "fifo") == 0 ? 1 : 0);
    }
}

CASE(every_run_has_a_hash_of_its_own)
{
    SWEEP *sweep = must_load(
        "'matrix': {'requests': [10, 20, 30], 'policy.params.k': [1, 2, 'three']}, 'seeds': [5, 9]",
        NULL, 0);
    char hashes[18][17];
    assert_int_equal(sweep->run_count, 18);
    for (size_t r = 0; r < 18; r++) {
        OWNED(experiment_free) struct experiment *e = must_resolve(sweep, r);
        memcpy(hashes[r], e->hash, sizeof hashes[r]);
        assert_int_equal(e->seed, r % 2 == 0 ? 5 : 9);
        for (size_t other = 0; other < r; other++)
            assert_string_not_equal(hashes[other], hashes[r]);
    }
    assert_string_equal(sweep->runs[17].label, "requests=30 policy.params.k=three");
    assert_string_equal(sweep->runs[17].setting_name, "");
}

CASE(a_list_of_objects_under_an_experiments_key_is_its_values)
{
    SWEEP *sweep = must_load("'matrix': {'slo': [{'factor': 2}, {'ms': 5}], 'load': "
                             "[{'arrivals.rate_per_s': 2}, {'name': 'b'}]}",
                             NULL, 0);
    assert_int_equal(sweep->run_count, 4);
    assert_string_equal(sweep->runs[0].label, "slo.factor=2 load=1");
    assert_string_equal(sweep->runs[3].label, "slo.ms=5 load=b");
    OWNED(experiment_free) struct experiment *e = must_resolve(sweep, 3);
    assert_true(e->workload.applications[0].slo == 5 * SIM_MS);
}

CASE(overrides_reach_the_base_and_the_sweep_but_not_the_matrix)
{
    struct override overrides[] = {{"seeds", "3"}, {"seed", "100"}, {"requests", "55"}};
    SWEEP *sweep = must_load("'matrix': {'slo.factor': [1, 2]}", overrides, 3);
    assert_int_equal(sweep->run_count, 6);
    OWNED(experiment_free) struct experiment *e = must_resolve(sweep, 5);
    assert_int_equal(e->seed, 102);
    assert_int_equal(e->requests, 55);
    assert_bad_input(load("'matrix': {'requests': [1, 2]}", overrides, 3, hear()),
                     "the matrix sets \"requests\" itself");
    assert_string_equal(sweep->kept, "");
    const char *rows = "'matrix': {'setting': [{'name': 'a', 'requests': 9}, {'name': 'b'}]}";
    SWEEP *partly = must_load(rows, overrides, 3);
    assert_string_equal(partly->kept, "a (\"requests\")");
}

CASE(a_path_in_the_matrix_is_relative_to_the_sweep)
{
    const char *cluster = in_folder("big.json");
    write_json(cluster, "{'invokers': [{'count': 99, 'vcpus': 1, 'memory_mb': 1}]}");
    struct sweep *sweep = must_load("'matrix': {'setting': [{'cluster': 'big.json'}]}", NULL, 0);
    OWNED(experiment_free) struct experiment *e = must_resolve(sweep, 0);
    assert_int_equal(e->workload.cluster.invoker_count, 99);
    sweep_free(sweep);
    /* Also below "profiles", whose keys are models of GPU. */
    sweep = must_load("'matrix': {'setting': [{'profiles': {'A100': 'big.json'}}, "
                      "{'profiles.A100': 'big.json'}]}",
                      NULL, 0);
    for (size_t r = 0; r < 2; r++) {
        size_t found = 0;
        for (size_t i = 0; i < sweep->runs[r].override_count; i++)
            found += strstr(sweep->runs[r].overrides[i].value, cluster) != NULL;
        assert_int_equal(found, 1);
    }
    sweep_free(sweep);
    assert_int_equal(unlink(cluster), 0);
}

static void assert_refused(const char *matrix, const char *fragment)
{
    assert_bad_input(load(matrix, NULL, 0, hear()), fragment);
}

CASE(combinations_of_one_name_are_refused)
{
    assert_refused("'matrix': {'setting': [{'name': 'a', 'slo.factor': 0.8}, {'name': 'a', "
                   "'slo.factor': 1.2}]}",
                   "matrix.setting[1]: is named \"a\", as matrix.setting[0] is");
    /* A row without a name is called by its number. */
    assert_refused("'matrix': {'setting': [{'slo.factor': 0.8}, {'slo.factor': 1}, {'name': '2', "
                   "'slo.factor': 1.2}]}",
                   "matrix.setting[2]: is named \"2\", as matrix.setting[1] is");
    assert_refused("'matrix': {'setting': [{'name': 'a', 'evidence': null}]}",
                   "matrix.setting[0].evidence: must be a");
    assert_refused("'matrix': {'policy.params.k': ['5', 5]}",
                   "two combinations of the matrix have the same label \"policy.params.k=5\"");
}

/* A run must not bear the label of a value that another entry replaced. */
CASE(a_key_is_set_in_one_place_of_the_matrix)
{
    assert_refused(
        "'matrix': {'slo.factor': [1], 'setting': [{'name': 'a'}, {'name': 'b', 'slo.factor': 3}]}",
        "matrix.setting[1].slo.factor: sets \"slo.factor\", but \"slo.factor\" of the matrix sets "
        "\"slo.factor\"");
    assert_refused("'matrix': {'setting': [{'slo.factor': 3}], 'slo.factor': [1]}",
                   "matrix.slo.factor[0]: sets \"slo.factor\", but \"setting\"");
    assert_refused("'matrix': {'policy.name': ['esg'], 'policy': [{'name': 'fifo'}]}",
                   "sets \"policy\", but \"policy.name\" of the matrix sets \"policy.name\"");
    assert_refused("'matrix': {'policy': [{'name': 'fifo'}], 'policy.name': ['esg']}",
                   "sets \"policy.name\", but \"policy\"");
    assert_refused("'matrix': {'setting': [{'slo.factor': 3, 'slo': {'factor': 1}}]}",
                   "sets \"slo\", but \"setting\"");
    sweep_free(must_load(
        "'matrix': {'policy': [{'name': 'esg'}, {'name': 'fifo'}], 'policy.params.k': [3, 5]}",
        NULL, 0));
}

CASE(labels_name_settings_and_are_given_once)
{
    SWEEP *sweep = must_load("'labels': {'light': 'Light load'}, 'matrix': {'setting': [{'name': "
                             "'light'}, {'name': 'heavy', 'slo.factor': 2}]}",
                             NULL, 0);
    struct experiment *light = must_resolve(sweep, 0);
    struct experiment *heavy = must_resolve(sweep, 1);
    assert_string_equal(light->setting_label, "Light load");
    assert_string_equal(heavy->setting_label, "");
    experiment_free(light);
    experiment_free(heavy);
    assert_refused("'labels': {'a': 'x', 'b': 'x'}",
                   "labels.b: \"x\" is the label of \"a\" already");
    assert_refused("'labels': {'a': 'x\\ny'}", "labels.a: \"x\\ny\" holds a control character");
    assert_refused("'labels': {'a': ''}", "labels.a: has 0 characters");
    assert_refused("'labels': {'light': 'heavy'}, 'matrix': {'setting': [{'name': 'light'}, "
                   "{'name': 'heavy', 'slo.factor': 2}]}",
                   "labels.light: \"heavy\" is the name of another setting");
}

CASE(names_of_the_matrix_hold_no_control_characters)
{
    assert_refused("'matrix': {'setting': [{'name': 'a\\u001b[31m', 'slo.factor': 1}]}",
                   "\"a\\x1b[31m\" holds a control character");
    assert_refused("'matrix': {'policy.params.k': ['a\\nb']}", "holds a control character");
}

CASE(seeds_are_exact_up_to_two_to_the_53)
{
    static const uint64_t wanted[] = {9007199254740990U, 9007199254740991U, 9007199254740992U,
                                      1000000000000001U, 1000000000000002U};
    SWEEP *sweep = must_load("'seeds': [9007199254740990, 9007199254740991, 9007199254740992, "
                             "1000000000000001, 1000000000000002]",
                             NULL, 0);
    char hashes[5][17];
    assert_int_equal(sweep->run_count, 5);
    for (size_t r = 0; r < sweep->run_count; r++) {
        OWNED(experiment_free) struct experiment *e = must_resolve(sweep, r);
        assert_true(e->seed == wanted[r]);
        char *text = formatted("\"seed\":%llu,", (unsigned long long)wanted[r]);
        assert_contains(e->resolved_json, text);
        memcpy(hashes[r], e->hash, sizeof hashes[r]);
        for (size_t other = 0; other < r; other++)
            assert_string_not_equal(hashes[other], hashes[r]);
    }
    assert_refused("'seeds': [1, 9007199254740993]",
                   "seeds[1]: 9007199254740993 would be rounded to 9007199254740992");
    assert_refused("'seeds': [9007199254740994]", "seeds[0]: is 9007199254740994");
    assert_refused("'seeds': [1.5]", "seeds[0]: is 1.5, must be a whole number");
    struct override last = {"seed", "9007199254740992"};
    assert_bad_input(load("'seeds': 2", &last, 1, hear()), "the last of 2 seeds");
    struct override beyond = {"seed", "9007199254740993"};
    assert_bad_input(load("'seeds': 1", &beyond, 1, hear()),
                     "seed: 9007199254740993 would be rounded");
}

CASE(a_json_input_is_read_once_for_all_runs)
{
    const char *cluster = in_folder("cluster.json");
    write_json(cluster, "{'invokers': [{'count': 9, 'vcpus': 1, 'memory_mb': 1}]}");
    SWEEP *sweep = must_load("'matrix': {'cluster': ['cluster.json']}, 'seeds': 2", NULL, 0);
    OWNED(experiment_free) struct experiment *first = must_resolve(sweep, 0);
    write_json(cluster, "{'invokers': [{'count': 8, 'vcpus': 1, 'memory_mb': 1}]}");
    OWNED(experiment_free) struct experiment *second = must_resolve(sweep, 1);
    assert_int_equal(first->workload.cluster.invoker_count, 9);
    assert_int_equal(second->workload.cluster.invoker_count, 9);
    assert_int_equal(unlink(cluster), 0);
}

CASE(a_profile_is_parsed_once_and_outlives_its_sweep)
{
    SWEEP *sweep =
        must(sweep_load("workloads/experiments/mixed-gpus-policies.json", NULL, 0, hear()));
    OWNED(experiment_free) struct experiment *first = must_resolve(sweep, 0);
    OWNED(experiment_free) struct experiment *last = must_resolve(sweep, sweep->run_count - 1);
    OWNED(experiment_free)
    struct experiment *alone =
        must(experiment_load("workloads/experiments/mixed-gpus.json", NULL, 0, NULL));
    assert_int_equal(first->profiles.count, 2);
    for (size_t i = 0; i < first->profiles.count; i++) {
        assert_ptr_equal(first->profiles.entries[i].profile, last->profiles.entries[i].profile);
        assert_ptr_not_equal(first->profiles.entries[i].profile,
                             alone->profiles.entries[i].profile);
        assert_string_equal(first->profiles.entries[i].sha256, alone->profiles.entries[i].sha256);
    }
    assert_string_equal(last->profiles.entries[0].profile->device,
                        alone->profiles.entries[0].profile->device);
}

CASE(a_trace_that_changes_between_two_runs_is_refused_with_both_digests)
{
    const char *trace = in_folder("trace.csv");
    write_text(trace, "time_ms,application\n1,app\n");
    SWEEP *sweep = must_load(
        "'matrix': {'arrivals': [{'process': 'trace', 'file': 'trace.csv'}]}, 'seeds': 3", NULL, 0);
    OWNED(experiment_free) struct experiment *first = must_resolve(sweep, 0);
    assert_true(experiment_inputs_check(first, hear()));
    /* The same contents in another file are the same input. */
    assert_int_equal(unlink(trace), 0);
    write_text(trace, "time_ms,application\n1,app\n");
    experiment_free(must_resolve(sweep, 1));
    assert_true(experiment_inputs_check(first, hear()));
    write_text(trace, "time_ms,application\n2,app\n");
    assert_bad_run(experiment_inputs_check(first, hear()), "trace.csv: has changed");
    assert_contains(heard.message, first->trace_sha256);
    assert_bad_run(sweep_experiment(sweep, 2, hear()), first->trace_sha256);
    assert_int_equal(unlink(trace), 0);
}

CASE(a_device_is_no_input)
{
    struct sweep *sweep =
        must_load("'matrix': {'arrivals': [{'process': 'trace', 'file': '/dev/zero'}]}", NULL, 0);
    assert_bad_input(sweep_experiment(sweep, 0, hear()), "/dev/zero: is not a regular file");
    sweep_free(sweep);
    sweep = must_load("'matrix': {'profile': ['/dev/zero']}", NULL, 0);
    assert_bad_input(sweep_experiment(sweep, 0, hear()), "/dev/zero: is not a regular file");
    sweep_free(sweep);
}

static struct sweep *load_shipped(const char *path)
{
    return must(sweep_load(path, NULL, 0, hear()));
}

CASE(the_papers_sweeps_are_profiles_by_settings_by_policies_by_seeds)
{
    enum { PROFILES = 4, SETTINGS = 3 };
    static const char *const settings[] = {"strict-light", "moderate-normal", "relaxed-heavy"};
    SWEEP *mps = load_shipped("workloads/experiments/paper-mps.json");
    SWEEP *mig = load_shipped("workloads/experiments/paper.json");
    assert_int_equal(mps->run_count % (PROFILES * SETTINGS * mps->seeds), 0);
    const size_t runs = mps->run_count / (PROFILES * SETTINGS);
    for (size_t s = 0; s < SETTINGS; s++) {
        char *path = formatted("workloads/experiments/%s.json", settings[s]);
        OWNED(experiment_free) struct experiment *of_sweep = must_resolve(mps, s * runs);
        const struct override late = {"platform.cold_dispatch", "\"late\""};
        OWNED(experiment_free)
        struct experiment *own = must(experiment_load(path, &late, 1, hear()));
        /* The row of the sweep and the file of that name are the same experiment, but for the rule
         * of cold dispatch. */
        assert_string_equal(of_sweep->hash, own->hash);
        assert_string_equal(of_sweep->setting_name, settings[s]);
    }
    /* On MIG slices everything else is the same. */
    assert_int_equal(mig->run_count, mps->run_count);
    for (size_t r = 0; r < mig->run_count; r++) {
        const char *of_mig = must(strstr(mig->runs[r].label, " profile="));
        const char *of_mps = must(strstr(mps->runs[r].label, " profile="));
        assert_string_equal(of_mig, of_mps);
        assert_int_equal(strncmp(mig->runs[r].label, "cluster=esg-16-mig ", 19), 0);
    }
}

/* "1" where the run is of the first policy of its setting and seed. */
static void assert_first_policies(const char *sweep_text, const char *wanted)
{
    SWEEP *sweep = must_load(sweep_text, NULL, 0);
    assert_true(sweep->bounds);
    assert_int_equal(sweep->run_count, strlen(wanted));
    for (size_t r = 0; r < sweep->run_count; r++)
        assert_int_equal(sweep->runs[r].first_policy, wanted[r] == '1');
}

CASE(bounds_are_asked_for_once_per_setting_and_seed)
{
    assert_first_policies("'bounds': true, 'seeds': 2, 'matrix': {'policy.name': ['fifo', 'edf'], "
                          "'requests': [10, 20]}",
                          "11110000");
    assert_first_policies("'bounds': true, 'matrix': {'requests': [10, 20], 'policy': [{'name': "
                          "'esg'}, {'name': 'fifo'}], 'policy.params.k': [3, 4]}",
                          "10001000");
    /* Rows that set the policy alone are policies. Rows that set anything else are settings. */
    assert_first_policies("'bounds': true, 'matrix': {'who': [{'name': 'a', 'policy.name': "
                          "'fifo'}, {'policy.name': 'edf'}]}",
                          "10");
    assert_first_policies("'bounds': true, 'matrix': {'who': [{'requests': 10, 'policy.name': "
                          "'fifo'}, {'policy.name': 'edf'}]}",
                          "11");
    SWEEP *sweep = must_load("'seeds': 2", NULL, 0);
    assert_false(sweep->bounds);
    assert_refused("'bounds': 1", "bounds");
}

CASE(check_tells_what_a_file_is)
{
    static const struct {
        const char *path, *kind;
    } files[] = {{"workloads/experiments/paper.json", "sweep"},
                 {"workloads/experiments/known-for/aquatope.json", "sweep"},
                 {"workloads/experiments/known-for/clipper.json", "sweep"},
                 {"workloads/experiments/known-for/clockwork.json", "sweep"},
                 {"workloads/experiments/known-for/faascache.json", "sweep"},
                 {"workloads/experiments/known-for/gpulet.json", "sweep"},
                 {"workloads/experiments/known-for/grandslam.json", "sweep"},
                 {"workloads/experiments/known-for/hybrid-histogram.json", "sweep"},
                 {"workloads/experiments/known-for/lsth.json", "sweep"},
                 {"workloads/experiments/known-for/nexus.json", "sweep"},
                 {"workloads/experiments/known-for/orion.json", "sweep"},
                 {"workloads/experiments/strict-light.json", "experiment"},
                 {"workloads/clusters/esg-16.json", "cluster"},
                 {"workloads/clusters/v100-mps-2.json", "cluster"},
                 {"workloads/functions/esg.json", "functions"},
                 {"workloads/applications/v100-detect.json", "application"},
                 {"traces/profiles/a100-mig-parvagpu.json", "profile"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct input_found input = {0};
        assert_good(input_check(files[i].path, &input, hear()));
        assert_string_equal(input.kind, files[i].kind);
    }
}

SUITE_WITH("sweep", folder_make, folder_remove)
