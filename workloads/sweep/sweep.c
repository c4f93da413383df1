#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/array.h"
#include "sim/base/atomic_file.h"
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
static char *const metric_names[] = {
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
    plan->seeds = load_array(plan->seed_count, sizeof *plan->seeds, error);
    for (size_t i = 0; plan->seeds != NULL && i < plan->seed_count; i++)
        plan->seeds[i] = base_seed + i;
    return plan->seeds != NULL;
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
static void rebase_paths(cJSON *node, const char *directory, bool is_file)
{
    if (cJSON_IsString(node) && is_file) {
        char *path = json_include_join(directory, node->valuestring);
        if (path != NULL && node->valuestring[0] != '\0' && access(path, F_OK) == 0)
            (void)cJSON_SetValuestring(node, path);
        free(path);
    }
    for (cJSON *child = node->child; child != NULL; child = child->next)
        rebase_paths(child, directory,
                     cJSON_IsArray(node)
                         ? is_file
                         : (node->string != NULL && strcmp(node->string, "profiles") == 0) ||
                               sweep_names(child->string, file_keys));
}

static bool add_override(struct sweep_run *run, const char *key, const char *value,
                         struct error *error)
{
    if (!array_extend(&run->overrides, run->override_count, sizeof *run->overrides))
        return error_input(error, "out of memory");
    struct override *added = &run->overrides[run->override_count++];
    *added = (struct override){.key = strdup(key), .value = strdup(value)};
    return (added->key != NULL && added->value != NULL) || error_input(error, "out of memory");
}

static bool add_value(struct sweep_run *run, const char *directory, const struct json_value *value,
                      const char *key, struct error *error)
{
    const char *dot = strrchr(key, '.');
    const char *last = dot == NULL ? key : dot + 1;
    bool is_file = sweep_names(last, file_keys) || strncmp(key, "applications.", 13) == 0 ||
                   (dot == key + 8 && strncmp(key, "profiles", 8) == 0);
    cJSON *copy = cJSON_Duplicate(value->node, true);
    if (copy != NULL)
        rebase_paths(copy, directory, is_file);
    char *text = copy == NULL ? NULL : cJSON_PrintUnformatted(copy);
    bool done =
        text != NULL ? add_override(run, key, text, error) : error_input(error, "out of memory");
    cJSON_free(text);
    cJSON_Delete(copy);
    return done;
}

/* Appends to a string, behind the separator unless it is empty. It becomes NULL without memory. */
static bool join(char **text, const char *separator, const char *more)
{
    char *longer = NULL;
    if (*text == NULL ||
        asprintf(&longer, "%s%s%s", *text, **text == '\0' ? "" : separator, more) < 0)
        longer = NULL;
    free(*text);
    *text = longer;
    return longer != NULL;
}

/* Appends " KEY=VALUE" to the run's label. */
static bool label_pair(struct sweep_run *run, const char *key, const char *value)
{
    return join(&run->label, " ", key) && join(&run->label, "=", value);
}

/* Appends one pair for a value. That of a file in JSON has its name alone:
 * "profile=esg-reconstructed". */
static bool label_leaf(void *context, const char *key, const char *text, const cJSON *value)
{
    struct sweep_run *run = context;
    const char *name = file_name(text);
    const bool file = cJSON_IsString(value) && path_ends_in(name, ".json");
    if (!label_pair(run, key, file ? name : text))
        return false;
    if (file)
        run->label[strlen(run->label) - 5] = '\0';
    return true;
}

/* Uses the row's name in the label and as the name of the setting. */
static bool label_row(struct sweep_run *run, const struct sweep_dimension *dimension,
                      const char *name, struct error *error)
{
    if (!label_pair(run, dimension->key, name) || !join(&run->setting_name, "/", name))
        return error_input(error, "out of memory");
    return strlen(run->setting_name) <= NAME_LIMIT ||
           json_fault(&dimension->values, error, "\"%s\" is longer than %d characters; shorten it",
                      run->setting_name, NAME_LIMIT);
}

static bool apply_row(struct sweep_run *run, const char *directory,
                      const struct sweep_dimension *dimension, size_t index, struct error *error)
{
    struct json_value row = json_entry(&dimension->values, index);
    char number[SWEEP_NUMBER];
    for (struct json_value value = {0}; json_next(&row, &value);) {
        const char *key = value.node->string;
        if (!sweep_names(key, sweep_row_texts) && !add_value(run, directory, &value, key, error))
            return false;
    }
    return label_row(run, dimension, sweep_row_name(row.node, index, number), error);
}

static bool apply_dimension(struct sweep_run *run, const char *directory,
                            const struct sweep_dimension *dimension, size_t index,
                            struct error *error)
{
    if (dimension->rows)
        return apply_row(run, directory, dimension, index, error);
    struct json_value value = json_entry(&dimension->values, index);
    if (!add_value(run, directory, &value, dimension->key, error))
        return false;
    return sweep_each_leaf(dimension->key, value.node, NULL, label_leaf, run, error) ||
           error_input(error, "out of memory");
}

static bool make_run(const struct sweep *sweep, const struct sweep_plan *plan, size_t combination,
                     uint64_t seed, const struct override *overrides, size_t override_count,
                     struct sweep_run *run, struct error *error)
{
    char text[24];
    run->seed = seed;
    run->first_policy = true;
    run->label = strdup("");
    run->setting_name = strdup("");
    for (size_t i = 0; i < override_count; i++)
        if (!add_override(run, overrides[i].key, overrides[i].value, error))
            return false;
    size_t stride = plan->combinations;
    for (size_t d = 0; d < plan->dimension_count; d++) {
        const struct sweep_dimension *dimension = &plan->dimensions[d];
        stride /= dimension->count;
        const size_t index = combination / stride % dimension->count;
        if (!apply_dimension(run, sweep->directory, dimension, index, error))
            return false;
        run->first_policy =
            run->first_policy && (index == 0 || !sweep_dimension_is_policy(dimension));
    }
    if (!utf8_is_name(run->label))
        return error_input(error, "%s: matrix: \"%s\" holds a control character; remove it",
                           sweep->path, run->label);
    (void)snprintf(text, sizeof text, "%" PRIu64, seed);
    return add_override(run, "seed", text, error);
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
        if (number == STRING_INDEX_NONE)
            good = error_input(error, "out of memory");
        else if (number < (int32_t)c)
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
    struct sweep_label *added = &sweep->labels[sweep->label_count++];
    added->name = strdup(value->node->string);
    added->label = strdup(label);
    return (added->name != NULL && added->label != NULL) || error_input(error, "out of memory");
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
    sweep->labels = load_array(json_size(&labels), sizeof *sweep->labels, error);
    bool good = sweep->labels != NULL;
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
    sweep->runs = load_array(plan->combinations * plan->seed_count, sizeof *sweep->runs, error);
    if (sweep->runs == NULL)
        return false;
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
    sweep->path = strdup(root->file);
    sweep->directory = strdup(json_include_directory(document, root));
    if (sweep->path == NULL || sweep->directory == NULL)
        return error_input(error, "out of memory");
    if (cJSON_IsObject(base.node)) {
        sweep->base_path = strdup(root->file);
        sweep->base_text = cJSON_PrintUnformatted(base.node);
        return (sweep->base_path != NULL && sweep->base_text != NULL) ||
               error_input(error, "out of memory");
    }
    sweep->base_path = json_include_find_file(document, &base, error);
    return sweep->base_path != NULL;
}

static bool open_base(const struct sweep *sweep, struct json_include *base, struct error *error)
{
    if (sweep->base_text == NULL)
        return json_include_open(base, sweep->inputs, sweep->base_path, error);
    if (!json_include_parse(base, sweep->base_text, sweep->base_path, sweep->directory, error))
        return false;
    base->inputs = sweep->inputs;
    return true;
}

/* Reads the base's seed after applying the overrides, which must all be valid. */
static bool read_base_seed(const struct sweep *sweep, const struct override *overrides,
                           size_t override_count, int64_t *seed, struct error *error)
{
    struct json_include base;
    if (!open_base(sweep, &base, error))
        return false;
    struct json_value root = json_include_root(&base);
    const char *names[KEYS_MOST + 1];
    (void)keys_names(experiment_keys, names);
    bool good = json_is_object(&root, names, error);
    for (size_t i = 0; good && i < override_count; i++)
        good = json_include_override(&base, overrides[i].key, overrides[i].value, error);
    good = good && json_integer(&root, "seed", 0, SEED_MOST, seed, error);
    json_include_close(&base);
    return good;
}

static bool is_sweep_key(const char *key)
{
    return strcmp(key, "seeds") == 0 || strcmp(key, "bounds") == 0 ||
           strcmp(key, "precision") == 0 || strncmp(key, "precision.", 10) == 0 ||
           strncmp(key, "matrix.", 7) == 0 || strncmp(key, "base.", 5) == 0;
}

/* If a row does not set the key, the override has an effect. */
static bool dimension_undoes(const struct sweep_dimension *dimension, const char *key)
{
    if (!dimension->rows)
        return sweep_key_replaces(dimension->key, key);
    for (size_t v = 0; v < dimension->count; v++) {
        const cJSON *row = cJSON_GetArrayItem(dimension->values.node, (int)v);
        bool sets = false;
        for (const cJSON *entry = row->child; entry != NULL; entry = entry->next)
            sets = sets || sweep_key_replaces(entry->string, key);
        if (!sets)
            return false;
    }
    return true;
}

/* Refuses an override that the matrix would silently replace. */
static bool check_conflicts(const struct sweep_plan *plan, const struct override *overrides,
                            size_t override_count, struct error *error)
{
    for (size_t i = 0; i < override_count; i++)
        for (size_t d = 0; d < plan->dimension_count; d++) {
            const struct sweep_dimension *dimension = &plan->dimensions[d];
            if (dimension_undoes(dimension, overrides[i].key))
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
    struct override *own = load_array(override_count, sizeof *own, error);
    size_t own_count = 0;
    int64_t seed = 1;
    bool good = own != NULL;
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
    good = good && keys_load(sweep_keys, &root, sweep, error) &&
           load_base(document, &root, sweep, error) && load_labels(&root, sweep, error) &&
           sweep_matrix_load(&root, plan, error) && check_conflicts(plan, own, own_count, error) &&
           read_base_seed(sweep, own, own_count, &seed, error) &&
           load_precision(&root, seed, plan, &sweep->precision, error) &&
           make_runs(sweep, &root, plan, own, own_count, error) &&
           (sweep->keys = sweep_keys_find(plan, error)) != NULL;
    free(own);
    return good;
}

struct sweep *sweep_load(const char *path, const struct override *overrides, size_t override_count,
                         struct error *error)
{
    struct json_include document;
    if (!json_include_open(&document, NULL, path, error))
        return NULL;
    struct sweep_plan *plan = load_array(1, sizeof *plan, error);
    struct sweep *sweep = load_array(1, sizeof *sweep, error);
    bool good = plan != NULL && sweep != NULL && (sweep->inputs = inputs_create(error)) != NULL &&
                load_sweep(sweep, &document, plan, overrides, override_count, error);
    if (plan != NULL)
        free(plan->seeds);
    free(plan);
    json_include_close(&document);
    if (good)
        return sweep;
    sweep_free(sweep);
    return NULL;
}

void sweep_free(struct sweep *sweep)
{
    if (sweep == NULL)
        return;
    for (size_t r = 0; r < sweep->run_count; r++) {
        struct sweep_run *run = &sweep->runs[r];
        for (size_t i = 0; i < run->override_count; i++) {
            free((char *)(uintptr_t)run->overrides[i].key);
            free((char *)(uintptr_t)run->overrides[i].value);
        }
        free(run->overrides);
        free(run->label);
        free(run->setting_name);
    }
    inputs_free(sweep->inputs);
    sweep_keys_free(sweep->keys);
    for (size_t i = 0; i < sweep->label_count; i++) {
        free(sweep->labels[i].name);
        free(sweep->labels[i].label);
    }
    free(sweep->labels);
    free(sweep->show);
    free(sweep->runs);
    free(sweep->path);
    free(sweep->directory);
    free(sweep->base_path);
    cJSON_free(sweep->base_text);
    free(sweep);
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
    struct json_include base;
    struct experiment *experiment =
        open_base(sweep, &base, &fault)
            ? experiment_resolve(&base, chosen->overrides, chosen->override_count, &fault)
            : NULL;
    if (experiment == NULL)
        (void)sweep_fault(sweep, run, &fault, error);
    else {
        const char *label = setting_label(sweep, chosen->setting_name);
        (void)snprintf(experiment->setting_name, sizeof experiment->setting_name, "%s",
                       chosen->setting_name);
        (void)snprintf(experiment->setting_label, sizeof experiment->setting_label, "%s",
                       label == NULL ? "" : label);
    }
    return experiment;
}
