#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/atomic_file.h"
#include "sim/base/json_write.h"
#include "sim/base/string_index.h"
#include "sim/base/utf8.h"
#include "workloads/load/inputs.h"
#include "workloads/spec/spec_internal.h"
#include "workloads/sweep/sweep.h"
#include "workloads/sweep/sweep_keys.h"
#include "workloads/sweep/sweep_matrix.h"

/* With fewer seeds an interval is unreliable, and the stopping rule could end by chance. */
enum { PRECISION_SEEDS = 10 };

/* Largest whole number up to which a double represents all of them. */
#define SEED_MOST ((int64_t)1 << 53)

static const struct key sweep_keys[] = {KEY_NEEDED("base"),
                                        KEY_OWN("matrix"),
                                        KEY_OWN("seeds"),
                                        KEY_OWN("precision"),
                                        KEY_OWN("name"),
                                        KEY_OWN("note"),
                                        KEY_OWN("source"),
                                        KEY_OWN("evidence"),
                                        KEY_OWN("labels"),
                                        KEY_TEXT("show", sweep, show, OPTIONAL),
                                        KEY_BOOL("bounds", sweep, bounds, false, OPTIONAL),
                                        KEY_END};
static const struct key precision_keys[] = {
    KEY_NEEDED("metric"),
    KEY_NUMBER("half_width", sweep_precision, half_width, 1e-300, 1e300, 0, REQUIRED),
    KEY_WHOLE("max_seeds", sweep_precision, max_seeds, 2, VALUES_LIMIT, 0, REQUIRED), KEY_END};
static const char *const metric_names[] = {
#define METRIC(type, name, ...) #name,
#define RUN_METRIC(type, name, ...) #name,
#include "sim/base/metrics.def"
};
/* Which of them are shares of 0..1. */
static const bool metric_shares[] = {
#define SHARE_u64 false
#define SHARE_f64 false
#define SHARE_share true
#define METRIC(type, name, ...) SHARE_##type,
#define RUN_METRIC(type, name, ...) SHARE_##type,
#include "sim/base/metrics.def"
};
/* Keys whose string values are files. */
static const char *const file_keys[] = {"cluster", "functions", "profile", "applications", "file",
                                        "ref",     "arrivals",  "slo",     "platform",     NULL};

bool share_allows(const char *name, double limit, char fault[SHARE_FAULT])
{
    if (isnan(limit) || (limit >= 0 && limit <= 1))
        return true;
    int length = snprintf(fault, SHARE_FAULT, "%.64s is a share of 0..1", name);
    if (limit > 1 && limit <= 100)
        (void)snprintf(fault + length, SHARE_FAULT - (size_t)length, "; %g for %g %%", limit / 100,
                       limit);
    return false;
}

/* ---- Seeds ----------------------------------------------------------------------------------- */

static bool list_seeds(const struct json_value *array, struct sweep_plan *plan, struct error *error)
{
    plan->seeds = load_entries(array, 1, VALUES_LIMIT, sizeof *plan->seeds, error);
    if (plan->seeds == NULL)
        return false;
    for (struct json_value entry = {0}; json_next(array, &entry);) {
        int64_t seed = 0;
        if (!json_as_integer(&entry, 0, SEED_MOST, &seed, error))
            return false;
        for (size_t i = 0; i < plan->seed_count; i++)
            if (plan->seeds[i] == (uint64_t)seed)
                return json_fault(&entry, error, "seed %" PRId64 " occurs twice", seed);
        plan->seeds[plan->seed_count++] = (uint64_t)seed;
    }
    return true;
}

static bool count_seeds(uint64_t base_seed, size_t count, struct sweep_plan *plan,
                        struct error *error)
{
    if (base_seed + count - 1 > (uint64_t)SEED_MOST)
        return error_input(error,
                           "the last of %zu seeds from %" PRIu64 " on is above 2^53; lower the "
                           "base's \"seed\"",
                           count, base_seed);
    plan->seed_count = count;
    plan->seeds = arena_allocate(plan->arena, count, sizeof *plan->seeds);
    for (size_t i = 0; i < count; i++)
        plan->seeds[i] = base_seed + i;
    return true;
}

static bool load_seeds(const struct json_value *root, int64_t base_seed, struct sweep_plan *plan,
                       struct error *error)
{
    struct json_value value;
    int64_t count = 1;
    if (json_child(root, "seeds", &value)) {
        if (cJSON_IsArray(value.node))
            return list_seeds(&value, plan, error);
        if (!json_as_integer(&value, 1, RUNS_LIMIT, &count, error))
            return false;
    }
    return count_seeds((uint64_t)base_seed, (size_t)count, plan, error);
}

/* With a precision, "seeds" is the number of runs before the interval is first checked. */
static bool load_precision(const struct json_value *root, int64_t base_seed,
                           struct sweep_plan *plan, struct sweep_precision *precision,
                           struct error *error)
{
    struct json_value value, metric = {0}, width = {0}, seeds;
    char fault[SHARE_FAULT];
    size_t known = 0;
    if (!json_child(root, "precision", &value))
        return load_seeds(root, base_seed, plan, error);
    if (!keys_load(precision_keys, &value, precision, error) ||
        !json_require(&value, "metric", &metric, error) ||
        !json_require(&value, "half_width", &width, error))
        return false;
    const char *name = json_as_string(&metric, error);
    if (name == NULL || !load_index(&metric, "metric", name, metric_names,
                                    sizeof metric_names / sizeof *metric_names,
                                    sizeof *metric_names, &known, error))
        return false;
    if (metric_shares[known] && !share_allows(name, precision->half_width, fault))
        return json_fault(&width, error, "%s", fault);
    const int64_t most = (int64_t)precision->max_seeds;
    int64_t first = most < PRECISION_SEEDS ? most : PRECISION_SEEDS;
    if (json_child(root, "seeds", &seeds) && !json_as_integer(&seeds, 2, most, &first, error))
        return false;
    precision->given = true;
    precision->first_seeds = (size_t)first;
    (void)snprintf(precision->metric, sizeof precision->metric, "%s", name);
    return count_seeds((uint64_t)base_seed, precision->max_seeds, plan, error);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* A path in a sweep is relative to the sweep, but is later resolved relative to the base. If the
 * file exists relative to the sweep, the path is prefixed with the sweep's directory. */
static void rebase_paths(struct arena *arena, cJSON *node, const char *directory, bool is_file)
{
    if (cJSON_IsString(node) && is_file) {
        const char *path = json_include_join(arena, directory, node->valuestring);
        if (node->valuestring[0] != '\0' && access(path, F_OK) == 0)
            (void)cJSON_SetValuestring(node, path);
    }
    for (cJSON *child = node->child; child != NULL; child = child->next)
        rebase_paths(arena, child, directory,
                     cJSON_IsArray(node)
                         ? is_file
                         : (node->string != NULL && strcmp(node->string, "profiles") == 0) ||
                               sweep_names(child->string, file_keys));
}

static void add_override(struct arena *arena, struct sweep_run *run, const char *key,
                         const char *value)
{
    *ARENA_NEXT(arena, run->overrides, run->override_count) =
        (struct override){.key = key, .value = value};
}

static void add_value(struct sweep *sweep, struct sweep_run *run, const struct json_value *value,
                      const char *key)
{
    const char *dot = strrchr(key, '.');
    const char *last = dot == NULL ? key : dot + 1;
    const bool is_file = sweep_names(last, file_keys) || strncmp(key, "applications.", 13) == 0 ||
                         (dot == key + 8 && strncmp(key, "profiles", 8) == 0);
    cJSON *copy = cJSON_Duplicate(value->node, true);
    rebase_paths(sweep->arena, copy, sweep->directory, is_file);
    add_override(sweep->arena, run, key, json_print(sweep->arena, copy));
    cJSON_Delete(copy);
}

/* Appends " KEY=VALUE" to the run's label. */
static void label_pair(struct arena *arena, struct sweep_run *run, const char *key,
                       const char *value)
{
    arena_append(arena, &run->label, "%s%s=%s", run->label[0] == '\0' ? "" : " ", key, value);
}

struct labelled {
    struct arena *arena;
    struct sweep_run *run;
};

/* Appends one pair for a value. That of a file in JSON has its name alone:
 * "profile=esg-reconstructed". */
static bool label_leaf(void *context, const char *key, const char *text, const cJSON *value)
{
    const struct labelled *labelled = context;
    struct sweep_run *run = labelled->run;
    const char *name = file_name(text);
    const bool file = cJSON_IsString(value) && path_ends_in(name, ".json");
    label_pair(labelled->arena, run, key, file ? name : text);
    if (file)
        run->label[strlen(run->label) - 5] = '\0';
    return true;
}

/* Uses the row's name in the label and as the name of the setting. */
static bool label_row(struct arena *arena, struct sweep_run *run,
                      const struct sweep_dimension *dimension, const char *name,
                      struct error *error)
{
    label_pair(arena, run, dimension->key, name);
    arena_append(arena, &run->setting_name, "%s%s", run->setting_name[0] == '\0' ? "" : "/", name);
    return strlen(run->setting_name) <= NAME_LIMIT ||
           json_fault(&dimension->values, error, "\"%s\" is longer than %d characters; shorten it",
                      run->setting_name, NAME_LIMIT);
}

static bool apply_row(struct sweep *sweep, struct sweep_run *run,
                      const struct sweep_dimension *dimension, size_t index, struct error *error)
{
    struct json_value row = json_entry(&dimension->values, index);
    char number[SWEEP_NUMBER];
    for (struct json_value value = {0}; json_next(&row, &value);) {
        const char *key = value.node->string;
        if (!sweep_names(key, sweep_row_texts))
            add_value(sweep, run, &value, key);
    }
    return label_row(sweep->arena, run, dimension, sweep_row_name(row.node, index, number), error);
}

static bool apply_dimension(struct sweep *sweep, struct sweep_run *run,
                            const struct sweep_dimension *dimension, size_t index,
                            struct error *error)
{
    if (dimension->rows)
        return apply_row(sweep, run, dimension, index, error);
    const struct json_value value = json_entry(&dimension->values, index);
    struct labelled labelled = {sweep->arena, run};
    add_value(sweep, run, &value, dimension->key);
    return sweep_each_leaf(sweep->arena, dimension->key, value.node, NULL, label_leaf, &labelled);
}

static bool make_run(struct sweep *sweep, const struct sweep_plan *plan, size_t combination,
                     uint64_t seed, const struct override *overrides, size_t override_count,
                     struct sweep_run *run, struct error *error)
{
    struct arena *arena = sweep->arena;
    run->seed = seed;
    run->first_policy = true;
    run->label = arena_text(arena, "%s", "");
    run->setting_name = arena_text(arena, "%s", "");
    for (size_t i = 0; i < override_count; i++)
        add_override(arena, run, overrides[i].key, overrides[i].value);
    size_t stride = plan->combinations;
    for (size_t d = 0; d < plan->dimension_count; d++) {
        const struct sweep_dimension *dimension = &plan->dimensions[d];
        stride /= dimension->count;
        const size_t index = combination / stride % dimension->count;
        if (!apply_dimension(sweep, run, dimension, index, error))
            return false;
        run->first_policy =
            run->first_policy && (index == 0 || !sweep_dimension_is_policy(dimension));
    }
    if (!utf8_is_name(run->label))
        return error_input(error, "%s: matrix: \"%s\" holds a control character; remove it",
                           sweep->path, run->label);
    add_override(arena, run, "seed", arena_text(arena, "%" PRIu64, seed));
    return true;
}

/* Runs with the same label count as seeds of one combination, so labels must differ. */
static bool check_labels(const struct sweep *sweep, size_t count, const struct json_value *root,
                         struct error *error)
{
    struct string_index labels = {0};
    bool good = true;
    for (size_t c = 0; good && c < count; c++) {
        const char *label = sweep->runs[c * sweep->seeds].label;
        const int32_t number = string_index_add(&labels, label);
        if (number < (int32_t)c)
            good = json_fault(root, error,
                              "two combinations of the matrix have the same label \"%s\"; rename "
                              "a row, and do not list a number as text as well",
                              label);
    }
    string_index_clear(&labels);
    return good;
}

static bool add_label(struct sweep *sweep, const struct json_value *value, struct error *error)
{
    const char *label = json_as_string(value, error);
    if (label == NULL || !json_is_name(value, value->node->string, error))
        return false;
    if (label[0] == '\0' || strlen(label) > NAME_LIMIT)
        return json_fault(value, error, "has %zu characters, a label has 1..%d", strlen(label),
                          NAME_LIMIT);
    for (size_t i = 0; i < sweep->label_count; i++)
        if (strcmp(sweep->labels[i].label, label) == 0)
            return json_fault(value, error, "\"%s\" is the label of \"%s\" already; choose another",
                              label, sweep->labels[i].name);
    sweep->labels[sweep->label_count++] = (struct sweep_label){value->node->string, label};
    return true;
}

static bool load_labels(const struct json_value *root, struct sweep *sweep, struct error *error)
{
    struct json_value labels;
    if (!json_child(root, "labels", &labels))
        return true;
    if (!json_is_object(&labels, NULL, error))
        return false;
    if (json_size(&labels) > VALUES_LIMIT)
        return json_fault(&labels, error, "has more than %d entries", VALUES_LIMIT);
    sweep->labels = arena_allocate(sweep->arena, json_size(&labels), sizeof *sweep->labels);
    bool good = true;
    for (struct json_value value = {0}; good && json_next(&labels, &value);)
        good = add_label(sweep, &value, error);
    return good;
}

/* The label of a setting; NULL if it has none. */
static const char *setting_label(const struct sweep *sweep, const char *setting)
{
    for (size_t i = 0; i < sweep->label_count; i++)
        if (strcmp(sweep->labels[i].name, setting) == 0)
            return sweep->labels[i].label;
    return NULL;
}

/* Checks that no setting's label is the name of another setting. */
static bool check_setting_labels(const struct sweep *sweep, const struct json_value *root,
                                 struct error *error)
{
    for (size_t r = 0; r < sweep->run_count; r += sweep->seeds) {
        const char *setting = sweep->runs[r].setting_name;
        for (size_t i = 0; setting_label(sweep, setting) == NULL && i < sweep->label_count; i++)
            if (strcmp(sweep->labels[i].label, setting) == 0)
                return json_fault(
                    root, error, "labels.%s: \"%s\" is the name of another setting; choose another",
                    sweep->labels[i].name, setting);
    }
    return true;
}

static bool make_runs(struct sweep *sweep, const struct json_value *root,
                      const struct sweep_plan *plan, const struct override *overrides,
                      size_t override_count, struct error *error)
{
    if (plan->combinations * plan->seed_count > RUNS_LIMIT)
        return json_fault(root, error, "has more than %d runs; split the sweep", RUNS_LIMIT);
    sweep->seeds = plan->seed_count;
    sweep->runs =
        arena_allocate(sweep->arena, plan->combinations * plan->seed_count, sizeof *sweep->runs);
    for (size_t c = 0; c < plan->combinations; c++)
        for (size_t s = 0; s < plan->seed_count; s++)
            if (!make_run(sweep, plan, c, plan->seeds[s], overrides, override_count,
                          &sweep->runs[sweep->run_count++], error))
                return false;
    return check_labels(sweep, plan->combinations, root, error) &&
           check_setting_labels(sweep, root, error);
}

/* ---- Base ------------------------------------------------------------------------------------ */

static bool load_base(const struct json_include *document, const struct json_value *root,
                      struct sweep *sweep, struct error *error)
{
    struct json_value base;
    if (!json_require(root, "base", &base, error))
        return false;
    sweep->path = root->file;
    sweep->directory = json_include_directory(document, root);
    if (cJSON_IsObject(base.node)) {
        sweep->base_path = root->file;
        sweep->base_text = json_print(sweep->arena, base.node);
        return true;
    }
    sweep->base_path = json_include_find_file(document, &base, error);
    return sweep->base_path != NULL;
}

static bool open_base(const struct sweep *sweep, struct arena *arena, struct json_include *base,
                      struct error *error)
{
    return sweep->base_text == NULL
               ? json_include_open(base, arena, sweep->inputs, sweep->base_path, error)
               : json_include_parse(base, arena, sweep->inputs, sweep->base_text, sweep->base_path,
                                    sweep->directory, error);
}

/* Reads the base's seed after applying the overrides, which must all be valid. */
static bool read_base_seed(const struct sweep *sweep, const struct override *overrides,
                           size_t override_count, int64_t *seed, struct error *error)
{
    struct json_include base;
    if (!open_base(sweep, sweep->arena, &base, error))
        return false;
    struct json_value root = json_include_root(&base);
    const char *names[KEYS_MOST + 1];
    (void)keys_names(experiment_keys, names);
    bool good = json_is_object(&root, names, error);
    for (size_t i = 0; good && i < override_count; i++)
        good = json_include_override(&base, overrides[i].key, overrides[i].value, error);
    return good && json_integer(&root, "seed", 0, SEED_MOST, seed, error);
}

static bool is_sweep_key(const char *key)
{
    return strcmp(key, "seeds") == 0 || strcmp(key, "bounds") == 0 ||
           strcmp(key, "precision") == 0 || strncmp(key, "precision.", 10) == 0 ||
           strncmp(key, "matrix.", 7) == 0 || strncmp(key, "base.", 5) == 0;
}

static bool row_replaces(const cJSON *row, const char *key)
{
    for (const cJSON *entry = row->child; entry != NULL; entry = entry->next)
        if (sweep_key_replaces(entry->string, key))
            return true;
    return false;
}

/* Whether the dimension replaces the override in all values. Rows that do go to `kept`. */
static bool dimension_undoes(struct sweep *sweep, const struct sweep_dimension *dimension,
                             const char *key)
{
    char number[SWEEP_NUMBER];
    size_t rows = 0;
    if (!dimension->rows)
        return sweep_key_replaces(dimension->key, key);
    for (size_t v = 0; v < dimension->count; v++) {
        const cJSON *row = cJSON_GetArrayItem(dimension->values.node, (int)v);
        if (!row_replaces(row, key))
            continue;
        rows++;
        arena_append(sweep->arena, &sweep->kept, "%s%s (\"%s\")",
                     sweep->kept[0] != '\0' ? ", " : "", sweep_row_name(row, v, number), key);
    }
    return rows == dimension->count;
}

/* Refuses an override that the matrix would silently replace. */
static bool check_conflicts(struct sweep *sweep, const struct sweep_plan *plan,
                            const struct override *overrides, size_t override_count,
                            struct error *error)
{
    sweep->kept = arena_text(sweep->arena, "%s", "");
    for (size_t i = 0; i < override_count; i++)
        for (size_t d = 0; d < plan->dimension_count; d++) {
            const struct sweep_dimension *dimension = &plan->dimensions[d];
            if (dimension_undoes(sweep, dimension, overrides[i].key))
                return json_fault(&dimension->values, error,
                                  "the matrix sets \"%s\" itself; change the matrix or do not "
                                  "override the key",
                                  overrides[i].key);
        }
    return true;
}

static bool load_sweep(struct sweep *sweep, struct json_include *document, struct sweep_plan *plan,
                       const struct override *overrides, size_t override_count, struct error *error)
{
    struct json_value root = json_include_root(document);
    struct override *own = arena_allocate(sweep->arena, override_count, sizeof *own);
    size_t own_count = 0;
    int64_t seed = 1;
    bool good = true;
    for (size_t i = 0; good && i < override_count; i++) {
        sweep->cut = sweep->cut || strncmp(overrides[i].key, "matrix.", 7) == 0;
        if (is_sweep_key(overrides[i].key))
            good = json_include_override(document, overrides[i].key, overrides[i].value, error);
        else
            own[own_count++] = overrides[i];
    }
    struct json_value applications;
    if (good && json_child(&root, "applications", &applications))
        good = error_input(error, "%s: is an experiment, not a sweep; run it with `esgsim run`",
                           document->sources[0].path);
    return good && keys_load(sweep_keys, &root, sweep, error) &&
           load_base(document, &root, sweep, error) && load_labels(&root, sweep, error) &&
           sweep_matrix_load(&root, plan, error) &&
           check_conflicts(sweep, plan, own, own_count, error) &&
           read_base_seed(sweep, own, own_count, &seed, error) &&
           load_precision(&root, seed, plan, &sweep->precision, error) &&
           make_runs(sweep, &root, plan, own, own_count, error) &&
           (sweep->keys = sweep_keys_find(sweep->arena, plan, error)) != NULL;
}

struct sweep *sweep_load(const char *path, const struct override *overrides, size_t override_count,
                         struct error *error)
{
    struct json_include document;
    struct arena *arena = arena_create();
    struct sweep_plan *plan = arena_allocate(arena, 1, sizeof *plan);
    struct sweep *sweep = arena_allocate(arena, 1, sizeof *sweep);
    plan->arena = sweep->arena = arena;
    sweep->inputs = inputs_create(arena);
    if (json_include_open(&document, arena, NULL, path, error) &&
        load_sweep(sweep, &document, plan, overrides, override_count, error))
        return sweep;
    arena_destroy(arena);
    return NULL;
}

void sweep_free(struct sweep *sweep)
{
    if (sweep != NULL)
        arena_destroy(sweep->arena);
}

bool sweep_fault(const struct sweep *sweep, size_t run, const struct error *fault,
                 struct error *error)
{
    const char *label = sweep->runs[run].label;
    if (fault->kind == ERROR_INPUT && label[0] != '\0')
        return error_input(error, "%s: with %.160s: %s", sweep->path, label, fault->message);
    if (error != NULL)
        *error = *fault;
    return false;
}

struct experiment *sweep_experiment(const struct sweep *sweep, size_t run, struct error *error)
{
    const struct sweep_run *chosen = &sweep->runs[run];
    struct error fault = {0};
    struct json_include base = {.arena = arena_create()};
    const bool opened = open_base(sweep, base.arena, &base, &fault);
    struct experiment *experiment =
        experiment_resolve(opened, &base, chosen->overrides, chosen->override_count, &fault);
    if (experiment == NULL) {
        (void)sweep_fault(sweep, run, &fault, error);
        return NULL;
    }
    const char *label = setting_label(sweep, chosen->setting_name);
    (void)snprintf(experiment->setting_name, sizeof experiment->setting_name, "%s",
                   chosen->setting_name);
    (void)snprintf(experiment->setting_label, sizeof experiment->setting_label, "%s",
                   label == NULL ? "" : label);
    return experiment;
}
