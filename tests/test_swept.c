/* The keys of a sweep as columns: each value is the one with which the run was resolved. */
#include "tests/fixture_sweep.h"

#include <cjson/cJSON.h>

#include "results/page/tidy.h"
#include "results/report/curve.h"
#include "results/store/store.h"
#include "sim/engine/random.h"
#include "workloads/sweep/sweep_keys.h"

OWNER(experiment_free, struct experiment)
OWNER(results_free, struct results)
#define RESULTS OWNED(results_free) struct results
OWNER(sweep_free, struct sweep)

static char sweep_path[64], out_path[64], other_path[64];

static int make_paths(void **state)
{
    (void)snprintf(sweep_path, sizeof sweep_path, "/tmp/esgsim-swept-%d.json", (int)getpid());
    (void)snprintf(out_path, sizeof out_path, "/tmp/esgsim-swept-%d.h5", (int)getpid());
    (void)snprintf(other_path, sizeof other_path, "/tmp/esgsim-swept-%d-b.h5", (int)getpid());
    return 0;
}

static int remove_paths(void **state)
{
    (void)unlink(sweep_path);
    (void)unlink(out_path);
    (void)unlink(other_path);
    return 0;
}

/* NULL: two entries of the matrix set one key. */
static struct sweep *load_any(const char *rest)
{
    sweep_write(sweep_path, rest);
    struct sweep *sweep = sweep_load(sweep_path, NULL, 0, hear());
    if (sweep == NULL && strstr(heard.message, "set a key in one place") == NULL)
        fail_msg("%s: %s", rest, heard.message);
    return sweep;
}

static struct sweep *load(const char *rest)
{
    struct sweep *sweep = load_any(rest);
    if (sweep == NULL)
        fail_msg("%s: sets a key twice", rest);
    return sweep;
}

static int execute_status(const char *rest, const char *out, uint64_t shard, uint64_t shards)
{
    const struct sweep_runner_options options = {
        .out = out, .jobs = 2, .shard = shard, .shards = shards, .restart = true};
    sweep_write(sweep_path, rest);
    return sweep_run(sweep_path, &options, NULL);
}

static void execute(const char *rest, const char *out, uint64_t shard, uint64_t shards)
{
    assert_int_equal(execute_status(rest, out, shard, shards), 0);
}

static struct results *results_of(const char *path)
{
    return must(results_load(path, hear()));
}

/* ---- Random sweeps --------------------------------------------------------------------------- */

/* Keys that the resolved configuration has under the same name, with any value in 1..999. */
static const char *const pool[] = {"arrivals.rate_per_s", "platform.noise.cv",
                                   "platform.keep_alive_s", "platform.queue_capacity",
                                   "warmup_requests"};
enum { POOL = sizeof pool / sizeof *pool };

static struct random_stream stream;

static unsigned draw(unsigned below)
{
    return (unsigned)(random_uniform(&stream) * below);
}

/* `"NAME": [ROW, …]` of named settings, of which each sets some keys. */
static void write_rows(FILE *out, const char *name)
{
    (void)fprintf(out, "\"%s\": [", name);
    const unsigned rows = 1 + draw(3);
    for (unsigned r = 0; r < rows; r++) {
        (void)fprintf(out, "%s{\"name\": \"%c\", \"note\": \"x\"", r == 0 ? "" : ", ", 'a' + r);
        for (unsigned k = 0; k < POOL; k++)
            if (draw(2) == 0)
                (void)fprintf(out, ", \"%s\": %u", pool[k], 1 + draw(9));
        (void)fputs("}", out);
    }
    (void)fputs("], ", out);
}

/* A list of objects. They set several keys each, which other rows may set, too. */
static void write_objects(FILE *out)
{
    if (draw(2) == 0)
        (void)fprintf(out,
                      "\"arrivals\": [{\"process\": \"poisson\", \"rate_per_s\": %u}, "
                      "{\"process\": \"poisson\", \"rate_per_s\": 950}], ",
                      1 + draw(900));
    if (draw(2) == 0)
        (void)fprintf(out, "\"platform\": [{\"noise\": {\"cv\": %u}}, {\"ewma_alpha\": 0.5}], ",
                      10 + draw(9));
}

static char *random_sweep(void)
{
    MEMORY_STREAM(out, text);
    (void)fputs("\"matrix\": {", out);
    const bool objects_first = draw(2) == 0;
    if (objects_first)
        write_objects(out);
    write_rows(out, "setting");
    if (draw(2) == 0)
        write_rows(out, "world");
    if (!objects_first)
        write_objects(out);
    (void)fputs("\"policy.name\": [\"fifo\", \"edf\"]}, \"seeds\": 2", out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static const cJSON *member_at(const cJSON *object, const char *key)
{
    while (object != NULL && *key != '\0') {
        const size_t length = strcspn(key, ".");
        object = cJSON_GetObjectItemCaseSensitive(object, formatted("%.*s", (int)length, key));
        key += length + (key[length] == '.');
    }
    return object;
}

static cJSON *resolved(const struct experiment *experiment)
{
    assert_non_null(experiment);
    cJSON *object = must(cJSON_Parse(experiment->resolved_json));
    return object;
}

/* Each key has in `configuration` its value, or that of `base` where the run sets none. */
static size_t assert_values(const struct sweep_keys *keys, const char *const *values,
                            const cJSON *configuration, const cJSON *base)
{
    size_t compared = 0;
    for (size_t k = 0; k < keys->count; k++) {
        const char *key = keys->keys[k].name;
        const cJSON *truth = member_at(configuration, key);
        if (!keys->keys[k].number || truth == NULL)
            continue;
        const cJSON *usual = member_at(base, key);
        const double wanted = values[k] != NULL ? strtod(values[k], NULL)
                              : usual == NULL   ? NAN
                                                : usual->valuedouble;
        if (truth->valuedouble != wanted)
            fail_msg("%s is %g but was resolved to %g", key, wanted, truth->valuedouble);
        compared++;
    }
    return compared;
}

CASE(a_value_is_the_one_with_which_the_run_was_resolved)
{
    size_t compared = 0;
    random_stream_open(&stream, 18, RANDOM_TEST, 4, 0);
    OWNED(sweep_free) struct sweep *plain = load("\"seeds\": 1");
    OWNED(experiment_free) struct experiment *plain_experiment = sweep_experiment(plain, 0, hear());
    JSON *base = resolved(plain_experiment);
    for (int instance = 0; instance < 300; instance++) {
        STRING *text = random_sweep();
        OWNED(sweep_free) struct sweep *sweep = load_any(text);
        for (size_t run = 0; sweep != NULL && run < sweep->run_count; run++) {
            const char *values[SWEEP_KEYS_LIMIT];
            OWNED(experiment_free)
            struct experiment *experiment = sweep_experiment(sweep, run, hear());
            JSON *configuration = resolved(experiment);
            sweep_keys_values(sweep->keys, run / sweep->seeds, values);
            compared += assert_values(sweep->keys, values, configuration, base);
        }
    }
    assert_true(compared > 1000);
}

CASE(the_file_has_the_values_of_the_sweep)
{
    random_stream_open(&stream, 18, RANDOM_TEST, 5, 0);
    for (int executed = 0; executed < 4;) {
        char *text = random_sweep();
        const int status = execute_status(text, out_path, 1, 1);
        if (status == 2) { /* two combinations are the same, or a key is set twice */
            free(text);
            continue;
        }
        assert_int_equal(status, 0);
        executed++;
        OWNED(sweep_free) struct sweep *sweep = load(text);
        RESULTS *results = results_of(out_path);
        assert_int_equal(results->run_count, sweep->run_count);
        assert_int_equal(results->swept->count, sweep->keys->count);
        for (size_t run = 0; run < sweep->run_count; run++) {
            const char *values[SWEEP_KEYS_LIMIT];
            char number[SWEPT_NUMBER];
            sweep_keys_values(sweep->keys, run / sweep->seeds, values);
            for (size_t k = 0; k < sweep->keys->count; k++) {
                const char *name = results->swept->columns[k].name;
                assert_string_equal(name, sweep->keys->keys[k].name);
                const char *found =
                    swept_text(results->swept, results_values(results, run), k, number);
                if (strcmp(name, "setting") != 0 && !swept_is_shared(name))
                    assert_string_equal(found, values[k] == NULL ? "" : values[k]);
                if (strcmp(name, "warmup_requests") == 0 && values[k] != NULL)
                    assert_string_equal(found, values[k]);
            }
        }
        free(text);
    }
}

/* ---- Kinds of values ------------------------------------------------------------------------- */

static const char kinds[] =
    "\"matrix\": {\"cluster\": [{\"invokers\": [{\"vcpus\": 4, \"memory_mb\": 4096}]},"
    " {\"invokers\": [{\"vcpus\": 8, \"memory_mb\": 4096}]}],"
    " \"platform.keep_alive_s\": [600, \"infinite\"], \"platform.interference\": [true],"
    " \"setting\": [{\"name\": \"low\", \"arrivals.rate_per_s\": 50, \"slo.ms\": 30},"
    " {\"name\": \"middle\", \"arrivals.rate_per_s\": 100, \"slo.ms\": 30},"
    " {\"name\": \"high\", \"arrivals.rate_per_s\": 310, \"slo.ms\": 30}]}, \"seeds\": 2";

static size_t key_of(const struct results *results, const char *name)
{
    size_t k = 0;
    while (k < results->swept->count && strcmp(results->swept->columns[k].name, name) != 0)
        k++;
    assert_true(k < results->swept->count);
    return k;
}

CASE(numbers_are_numbers_and_all_else_is_text)
{
    char number[SWEPT_NUMBER];
    execute(kinds, out_path, 1, 1);
    RESULTS *results = results_of(out_path);
    const struct swept_keys *swept = results->swept;
    const void *last = results_values(results, results->run_count - 1);
    const size_t rate = key_of(results, "arrivals.rate_per_s");
    assert_int_equal(swept->columns[rate].type, COLUMN_F64);
    assert_string_equal(swept->columns[rate].unit, "1/s");
    assert_string_equal(swept->columns[key_of(results, "slo.ms")].unit, "ms");
    assert_true(swept_number(swept, last, rate) == 310);
    assert_string_equal(swept_text(swept, last, key_of(results, "cluster"), number),
                        "{\"invokers\":[{\"vcpus\":8,\"memory_mb\":4096}]}");
    assert_string_equal(swept_text(swept, last, key_of(results, "platform.keep_alive_s"), number),
                        "infinite");
    assert_string_equal(swept_text(swept, results_values(results, 0),
                                   key_of(results, "platform.keep_alive_s"), number),
                        "600");
    assert_string_equal(swept_text(swept, last, key_of(results, "platform.interference"), number),
                        "true");
}

CASE(shards_have_the_columns_of_the_whole)
{
    execute(kinds, out_path, 1, 1);
    TABLES whole = tables_read(out_path);
    execute(kinds, out_path, 1, 2);
    execute(kinds, other_path, 2, 2);
    const char *shards[] = {other_path, out_path};
    STRING *merged = strdup(out_path);
    assert_true(store_merge(merged, shards, 2, hear()));
    assert_tables(merged, &whole);
}

/* Each point has the runs with that value, whatever their setting is called. */
CASE(a_key_that_only_named_settings_set_can_be_followed)
{
    const struct curve_request request = {"arrivals.rate_per_s", CURVE_METRIC, CURVE_AT_LEAST,
                                          false};
    const struct curve_request constant = {"slo.ms", CURVE_METRIC, CURVE_AT_LEAST, false};
    execute(kinds, out_path, 1, 1);
    RESULTS *results = results_of(out_path);
    OWNED(arena_home_free) struct report *report = must(report_build(results));
    assert_null(report->curves);
    assert_true(report_follow(report, &request, hear()));
    const size_t key = key_of(results, request.key);
    const struct curve_group *group = report->curves->groups;
    size_t points = 0;
    assert_int_equal(report->curves->group_count, 1);
    assert_int_equal(group->panel_count, 4); /* two clusters, two times to keep alive */
    assert_string_equal(curve_group_setting(group), "");
    for (size_t p = 0; p < group->panel_count; p++) {
        const struct curve_panel *panel = &group->panels[p];
        assert_int_equal(panel->value_count, 3);
        assert_null(strstr(panel->conditions, "rate_per_s"));
        assert_contains(panel->conditions, "keep_alive_s=");
        for (size_t i = 0; i < panel->lines[0].point_count; i++, points++) {
            const struct curve_point *point = &panel->lines[0].points[i];
            assert_int_equal(point->contender->run_count, 2);
            for (size_t r = 0; r < 2; r++)
                assert_true(swept_number(results->swept,
                                         results_values(results, point->contender->runs[r]),
                                         key) == point->value);
        }
    }
    assert_int_equal(points, 12);
    assert_bad_input(report_follow(report, &constant, hear()), "differ in other keys");
}

/* ---- As one table ---------------------------------------------------------------------------- */

/* Splits a line of CSV without quotes inside fields in place; returns its number of fields. */
static size_t fields_split(char *line, char **fields, size_t most)
{
    size_t count = 0;
    bool quoted = false;
    for (size_t i = 0; i < most; i++)
        fields[i] = line + strlen(line);
    fields[count++] = line;
    for (char *c = line; *c != '\0'; c++) {
        quoted ^= *c == '"';
        if (*c != ',' || quoted)
            continue;
        *c = '\0';
        assert_true(count < most);
        fields[count++] = c + 1;
    }
    return count;
}

CASE(a_table_of_two_files_has_every_run_and_every_key)
{
    STRING *text = NULL;
    char *rest = NULL, *fields[200], *names[200];
    size_t size = 0;
    execute(kinds, out_path, 1, 1);
    execute("\"matrix\": {\"=cmd()\": [{\"name\": \"@one\", \"requests\": 30}],"
            " \"platform.ewma_alpha\": [0.1, 0.7]}, \"seeds\": 1",
            other_path, 1, 1);
    struct results *const files[] = {results_of(out_path), results_of(other_path)};
    FILE *out = open_memstream(&text, &size);
    assert_true(tidy_csv((const struct results *const *)files, 2, out, hear()));
    assert_int_equal(fclose(out), 0);
    const size_t columns = fields_split(strtok_r(text, "\r\n", &rest), names, 200);
    /* Five keys of the first file, two of the second; setting and requests are columns anyway. */
    assert_int_equal(columns, 2 + layout_summary.count + 5 + 2);
    for (size_t f = 0; f < 2; f++)
        for (size_t run = 0; run < files[f]->run_count; run++) {
            assert_int_equal(fields_split(strtok_r(NULL, "\r\n", &rest), fields, 200), columns);
            assert_string_equal(fields[0], f == 0 ? out_path : other_path);
            for (size_t c = 0; c < columns; c++) {
                const bool marked = strcmp(names[c], "'=cmd()") == 0;
                if (strcmp(names[c], "platform.ewma_alpha") == 0)
                    assert_string_equal(fields[c], f == 0 ? "" : run == 0 ? "0.1" : "0.7");
                if (strcmp(names[c], "slo_hit_rate") == 0)
                    assert_true(strtod(fields[c], NULL) ==
                                files[f]->runs[run].measures.slo_hit_rate);
                if (strcmp(names[c], "requests") == 0)
                    assert_string_equal(fields[c], f == 0 ? "60" : "30");
                if (marked)
                    assert_string_equal(fields[c], f == 0 ? "" : "'@one");
            }
        }
    assert_null(strtok_r(NULL, "\r\n", &rest));
    results_free(files[0]);
    results_free(files[1]);
}

/* ---- Files of others ------------------------------------------------------------------------- */

/* Makes of the file one that an earlier version might have written, or a damaged one. */
static void change_attribute(const char *names)
{
    const hid_t file = H5Fopen(out_path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0 && H5Adelete(file, "swept_keys") >= 0);
    if (names != NULL) {
        const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
        assert_true(H5Tset_size(type, strlen(names) + 1) >= 0);
        const hid_t attribute =
            H5Acreate2(file, "swept_keys", type, space, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(attribute >= 0 && H5Awrite(attribute, type, names) >= 0);
        (void)H5Aclose(attribute);
        (void)H5Sclose(space);
        (void)H5Tclose(type);
    }
    (void)H5Fclose(file);
}

CASE(a_file_without_the_list_is_read_without_the_keys)
{
    execute(kinds, out_path, 1, 1);
    change_attribute(NULL);
    RESULTS *results = results_of(out_path);
    assert_int_equal(results->swept->count, 0);
    assert_null(results_values(results, 0));
}

CASE(a_list_that_does_not_match_is_refused)
{
    static const char *const lists[] = {"no.such.key", "slo.ms\nno.such.key", "slo.ms\n\x07"};
    execute(kinds, out_path, 1, 1);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        change_attribute(lists[i]);
        assert_bad_input(results_load(out_path, hear()), "swept_keys");
    }
}

CASE(too_many_keys_and_control_characters_are_refused)
{
    char text[8192] = "\"matrix\": {\"slo\": [{\"ms\": 5";
    for (int i = 0; i < SWEEP_KEYS_LIMIT + 1; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), ", \"a%d\": 1", i);
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "}]}");
    sweep_write(sweep_path, text);
    assert_bad_input(sweep_load(sweep_path, NULL, 0, hear()), "more than 256 keys");
    sweep_write(sweep_path, "\"matrix\": {\"setting\": [{\"cluster\": \"a\\u0007b\"}]}");
    assert_bad_input(sweep_load(sweep_path, NULL, 0, hear()), "control character");
}

SUITE_WITH("swept", make_paths, remove_paths)
