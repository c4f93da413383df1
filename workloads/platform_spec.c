#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/keep_alive.h"
#include "workloads/loader_internal.h"

static const char *const platform_keys[] = {
    "initial",  "reuse",          "keep_alive_s",      "prewarm",    "ewma_alpha",
    "transfer", "decision_cost",  "interference",      "noise",      "note",
    "evidence", "queue_capacity", "sample_interval_s", "keep_alive", NULL};
static const char *const keep_alive_keys[] = {"name", "params", "note", "evidence", NULL};
const char *const initial_names[] = {"cold", "warm", NULL};
const char *const reuse_names[] = {"mru", "lru", "newest", NULL};
const char *const prewarm_names[] = {"none", "ewma", NULL};
const char *const decision_cost_names[] = {"zero", "fixed", "modelled", "measured", NULL};
static const char *const cost_keys[] = {"model", "ms", "ns_per_unit", "note", "evidence", NULL};
static const char *const transfer_keys[] = {"latency_ms", "bandwidth_gbps", "note", "evidence",
                                            NULL};
static const char *const noise_keys[] = {"cv", "note", "evidence", NULL};
/* An application's own SLO has the keys from the second on. */
static const char *const slo_keys[] = {"reference", "factor", "ms", "note", "evidence", NULL};
static const char *const reference_keys[] = {"batch", "vcpu", "vgpu", "note", "evidence", NULL};

/* The limit of the event event queue, because each idle container may have one event. */
enum { INITIAL_LIMIT = 1 << 24 };

/* Loads one number, of every function in use, or an object of numbers by function. Each counts
 * `times`. */
static bool load_counts(const struct json_value *value, const struct workload *workload,
                        uint32_t times, uint32_t *counts, struct error *error)
{
    const int64_t limit = INITIAL_LIMIT / times;
    int64_t count = 0;
    if (!cJSON_IsObject(value->node)) {
        if (!json_as_integer(value, 0, limit, &count, error))
            return false;
        for (size_t f = 0; f < workload->function_count; f++)
            counts[f] = (uint32_t)count * times;
        return true;
    }
    const char **names = load_array(workload->function_count, sizeof *names, error);
    bool good = names != NULL;
    for (size_t f = 0; good && f < workload->function_count; f++)
        names[f] = workload->functions[f].name;
    for (struct json_value entry = json_first(value); good && entry.node != NULL;
         entry = json_after(value, &entry, 0)) {
        const char *name = entry.node->string;
        size_t f = 0;
        while (f < workload->function_count && strcmp(names[f], name) != 0)
            f++;
        if (f == workload->function_count && times == 1 && strcmp(name, "per_invoker") == 0)
            continue; /* loaded before */
        good = f < workload->function_count
                   ? json_as_integer(&entry, 0, limit, &count, error)
                   : load_unknown_name(&entry, "function in use", name, names, (int)f, error);
        if (good)
            counts[f] = (uint32_t)count * times;
    }
    free(names);
    return good;
}

/* Whether the object gives counts per invoker. If a function has that name, the key is its count.
 */
static bool has_per_invoker(const struct json_value *value, const struct workload *workload,
                            struct json_value *per_invoker)
{
    for (size_t f = 0; f < workload->function_count; f++)
        if (strcmp(workload->functions[f].name, "per_invoker") == 0)
            return false;
    return cJSON_IsObject(value->node) && json_child(value, "per_invoker", per_invoker);
}

static bool load_initial(const struct json_value *platform_value, const struct workload *workload,
                         struct platform_spec *platform, struct error *error)
{
    struct json_value value, per_invoker;
    int initial = INITIAL_WARM;
    if (!json_child(platform_value, "initial", &value) ||
        (!cJSON_IsObject(value.node) && !cJSON_IsNumber(value.node))) {
        if (!json_choice(platform_value, "initial", initial_names, &initial, error))
            return false;
        platform->initial = (enum initial_state)initial;
        return true;
    }
    platform->initial = INITIAL_COUNTS;
    platform->initial_counts =
        load_array(workload->function_count, sizeof *platform->initial_counts, error);
    return platform->initial_counts != NULL &&
           (!has_per_invoker(&value, workload, &per_invoker) ||
            load_counts(&per_invoker, workload, workload->cluster.invoker_count,
                        platform->initial_counts, error)) &&
           load_counts(&value, workload, 1, platform->initial_counts, error);
}

static bool load_keep_alive(const struct json_value *value, struct platform_spec *platform,
                            struct error *error)
{
    struct json_value child;
    double seconds = 0;
    if (!json_child(value, "keep_alive_s", &child))
        return true;
    if (cJSON_IsString(child.node)) {
        if (strcmp(child.node->valuestring, "infinite") != 0)
            return json_fault(&child, error,
                              "is \"%s\", must be a number of seconds or "
                              "\"infinite\"",
                              child.node->valuestring);
        platform->keep_alive = SIM_FOREVER;
        return true;
    }
    if (!json_as_number(&child, 0, LIMIT_S, &seconds, error))
        return false;
    platform->keep_alive = sim_from_s(seconds);
    return true;
}

enum { KEEP_ALIVES_MAX = 64, WHERE_LENGTH = 4096 + JSON_PATH_LENGTH };

static bool load_keep_alive_name(const struct json_value *value, const char *name,
                                 struct platform_spec *platform, struct error *error)
{
    const char *names[KEEP_ALIVES_MAX];
    int count = 0;
    platform->keep_alive_policy = keep_alive_find(name);
    if (platform->keep_alive_policy != NULL)
        return true;
    for (const struct keep_alive *each = NULL;
         count < KEEP_ALIVES_MAX && (each = keep_alive_at((size_t)count)) != NULL;)
        names[count++] = each->name;
    return load_unknown_name(value, "keep-alive policy", name, names, count, error);
}

/* Fills the values of the keep-alive's parameters. `params` has no node if the experiment has none.
 */
static bool configure_keep_alive(const struct json_value *params, struct platform_spec *platform,
                                 struct error *error)
{
    const struct keep_alive *keep_alive_policy = platform->keep_alive_policy;
    struct setting *settings = NULL;
    size_t count = 0;
    char where[WHERE_LENGTH];
    char owner[96];
    (void)snprintf(where, sizeof where, "%s: %s", params->file, params->path);
    (void)snprintf(owner, sizeof owner, "keep-alive policy \"%s\"", keep_alive_policy->name);
    const bool good =
        (params->node == NULL || settings_load(params, &settings, &count, error)) &&
        parameters_configure(keep_alive_policy->parameters, keep_alive_policy->parameter_count,
                             settings, count, where, owner, platform->keep_alive_values, error);
    /* ttl_s is the only parameter of "fixed". */
    if (good && count == 0 && strcmp(keep_alive_policy->name, "fixed") == 0)
        platform->keep_alive_values[0] = fmin(sim_to_s(platform->keep_alive), LIMIT_S);
    settings_free(settings, count);
    return good;
}

/* Loads "NAME" or {"name": "NAME", "params": {…}}. For "fixed" the default time is keep_alive_s;
 * the others ignore that key. */
static bool load_keep_alive_policy(const struct json_value *value, struct platform_spec *platform,
                                   struct error *error)
{
    struct json_value child;
    struct json_value place = *value;
    if (!json_child(value, "keep_alive", &place))
        return true;
    struct json_value name = place;
    if (!cJSON_IsString(place.node) && (!json_is_object(&place, keep_alive_keys, error) ||
                                        !json_require(&place, "name", &name, error)))
        return false;
    const char *text = json_as_string(&name, error);
    if (text == NULL || !load_keep_alive_name(&name, text, platform, error))
        return false;
    if (!cJSON_IsObject(place.node) || !json_child(&place, "params", &child))
        child = (struct json_value){.file = value->file, .node = NULL};
    return configure_keep_alive(&child, platform, error);
}

static bool load_decision_cost(const struct json_value *value, struct platform_spec *platform,
                               struct error *error)
{
    struct json_value child;
    int kind = DECISION_ZERO;
    if (!json_is_object(value, cost_keys, error) || !json_require(value, "model", &child, error) ||
        !json_choice(value, "model", decision_cost_names, &kind, error) ||
        !json_number(value, "ms", 0, LIMIT_MS, &platform->decision_fixed_ms, error) ||
        !json_number(value, "ns_per_unit", 0, 1e12, &platform->decision_ns_per_unit, error))
        return false;
    platform->decision_cost = (enum decision_cost_kind)kind;
    const char *needed = kind == DECISION_FIXED      ? "ms"
                         : kind == DECISION_MODELLED ? "ns_per_unit"
                                                     : NULL;
    return needed == NULL || json_require(value, needed, &child, error);
}

static bool load_parts(const struct json_value *value, struct platform_spec *platform,
                       struct error *error)
{
    struct json_value child;
    if (json_child(value, "decision_cost", &child) && !load_decision_cost(&child, platform, error))
        return false;
    if (json_child(value, "transfer", &child) &&
        (!json_is_object(&child, transfer_keys, error) ||
         !json_number(&child, "latency_ms", 0, LIMIT_MS, &platform->transfer_latency_ms, error) ||
         !json_number(&child, "bandwidth_gbps", 1e-6, 1e9, &platform->transfer_bandwidth_gbps,
                      error)))
        return false;
    return !json_child(value, "noise", &child) ||
           (json_is_object(&child, noise_keys, error) &&
            json_number(&child, "cv", 0, 100, &platform->noise_cv, error));
}

bool platform_load(const struct json_value *value, const struct workload *workload,
                   struct platform_spec *platform, struct error *error)
{
    *platform = (struct platform_spec){.initial = INITIAL_WARM,
                                       .reuse = REUSE_MRU,
                                       .keep_alive = 600 * SIM_S,
                                       .prewarm = PREWARM_EWMA,
                                       .ewma_alpha = 0.3,
                                       .decision_cost = DECISION_ZERO,
                                       .transfer_latency_ms = 1,
                                       .transfer_bandwidth_gbps = 10,
                                       .interference = true,
                                       .noise_cv = -1,
                                       .sample_interval = SIM_S};
    if (value->node == NULL)
        return true;
    int reuse = REUSE_MRU;
    int prewarm = PREWARM_EWMA;
    int64_t capacity = 0;
    double interval_s = 1;
    if (!json_is_object(value, platform_keys, error) ||
        !load_initial(value, workload, platform, error) ||
        !json_choice(value, "reuse", reuse_names, &reuse, error) ||
        !load_keep_alive(value, platform, error) ||
        !load_keep_alive_policy(value, platform, error) ||
        !json_choice(value, "prewarm", prewarm_names, &prewarm, error) ||
        !json_number(value, "ewma_alpha", 1e-6, 1, &platform->ewma_alpha, error) ||
        !json_bool(value, "interference", &platform->interference, error) ||
        !json_integer(value, "queue_capacity", 0, UINT32_MAX, &capacity, error) ||
        !json_number(value, "sample_interval_s", 1e-6, LIMIT_S, &interval_s, error) ||
        !load_parts(value, platform, error))
        return false;
    platform->reuse = (enum reuse_order)reuse;
    platform->prewarm = (enum prewarm_kind)prewarm;
    platform->queue_capacity = (size_t)capacity;
    platform->sample_interval = sim_from_s(interval_s);
    return true;
}

/* ---- SLO ------------------------------------------------------------------------------------ */

/* `given` receives whether the object sets an SLO. */
static bool read_slo(const struct json_value *value, double *factor, double *ms, bool *given,
                     struct error *error)
{
    struct json_value child;
    bool has_factor = json_child(value, "factor", &child);
    bool has_ms = json_child(value, "ms", &child);
    if (has_factor && has_ms)
        return json_fault(value, error, "has both \"factor\" and \"ms\"; keep one");
    *factor = -1;
    *ms = -1;
    *given = has_factor || has_ms;
    return json_number(value, "factor", 1e-6, 1e6, factor, error) &&
           json_number(value, "ms", 1e-6, LIMIT_MS, ms, error);
}

static void set_slo(struct application *application, double factor, double ms)
{
    double slo_ms = ms >= 0 ? ms : factor * sim_to_ms(application->base_latency);
    /* A factor of 10^6 on a base of years would exceed the range of the clock. */
    application->slo = sim_from_ms(slo_ms < LIMIT_MS ? slo_ms : LIMIT_MS);
    if (application->slo < 1)
        application->slo = 1;
}

static bool check_slo_keys(const struct json_value *value, const struct workload *workload,
                           struct error *error)
{
    enum { FIXED = 5 };
    const char **known = load_array(workload->application_count + FIXED + 1, sizeof *known, error);
    if (known == NULL)
        return false;
    for (size_t i = 0; i < FIXED; i++)
        known[i] = slo_keys[i];
    for (size_t a = 0; a < workload->application_count; a++)
        known[FIXED + a] = workload->applications[a].name;
    bool good = json_is_object(value, known, error);
    free(known);
    return good;
}

static bool load_reference(const struct json_value *slo, struct workload *workload,
                           struct error *error)
{
    struct json_value value;
    struct reference_values *wanted = &workload->reference;
    bool found = false;
    if (!json_child(slo, "reference", &value))
        return true;
    if (!json_is_object(&value, reference_keys, error) ||
        !json_integer(&value, "batch", 1, UINT16_MAX, &wanted->batch, error) ||
        !json_integer(&value, "vcpu", 1, UINT16_MAX, &wanted->vcpu, error) ||
        !json_integer(&value, "vgpu", 1, UINT16_MAX, &wanted->vgpu, error))
        return false;
    workload_derive(workload);
    for (size_t f = 0; f < workload->function_count; f++) {
        const struct function *function = &workload->functions[f];
        found |= configuration_matches(&function->configurations[function->reference_configuration],
                                       wanted);
    }
    return found ||
           json_fault(&value, error,
                      "is a configuration of no function on this cluster; give values that "
                      "some configuration has together");
}

bool slo_load(const struct json_value *value, struct workload *workload, struct error *error)
{
    double factor = 1;
    double ms = -1;
    bool common = true;
    if (value->node != NULL &&
        (!check_slo_keys(value, workload, error) || !load_reference(value, workload, error) ||
         !read_slo(value, &factor, &ms, &common, error)))
        return false;
    for (size_t a = 0; a < workload->application_count; a++) {
        struct application *application = &workload->applications[a];
        struct json_value own;
        double own_factor = factor;
        double own_ms = ms;
        bool given = common;
        if (value->node != NULL && json_child(value, application->name, &own) &&
            (!json_is_object(&own, slo_keys + 1, error) ||
             !read_slo(&own, &own_factor, &own_ms, &given, error)))
            return false;
        if (!given)
            return json_fault(value, error,
                              "gives no \"factor\" or \"ms\" for application \"%s\"; add one",
                              application->name);
        set_slo(application, own_factor, own_ms);
    }
    return true;
}
