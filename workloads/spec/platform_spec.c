#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/arena.h"
#include "workloads/spec/keep_alive.h"
#include "workloads/spec/spec_internal.h"

static const char *const reuse_names[] = {"mru", "lru", "newest", NULL};
static const char *const prewarm_names[] = {"none", "ewma", NULL};
static const char *const cold_dispatch_names[] = {"start", "wait", "late", NULL};
static const char *const admission_names[] = {"none", "lost", NULL};
static const char *const rate_names[] = {"efficient", "proportional", "max-min", NULL};
static const char *const decision_cost_names[] = {"zero", "fixed", "modelled", "measured", NULL};
const char *const initial_names[] = {"cold", "warm", NULL};
static const char *const keep_alive_keys[] = {"name", "params", "note", "evidence", NULL};

#define OF platform_spec
static const struct key cost_keys[] = {
    KEY_WORD("model", OF, decision_cost, decision_cost_names, DECISION_ZERO, REQUIRED),
    KEY_NUMBER("ms", OF, decision_fixed_ms, 0, LIMIT_MS, 0,
               NEEDED_IF(OF, decision_cost, DECISION_FIXED)),
    KEY_NUMBER("ns_per_unit", OF, decision_ns_per_unit, 0, 1e12, 0,
               NEEDED_IF(OF, decision_cost, DECISION_MODELLED)),
    KEY_NOTES, KEY_END};
static const struct key transfer_keys[] = {
    KEY_NUMBER("latency_ms", OF, transfer_latency_ms, 0, LIMIT_MS, 1, OPTIONAL),
    KEY_NUMBER("bandwidth_gbps", OF, transfer_bandwidth_gbps, 1e-6, 1e9, 10, OPTIONAL), KEY_NOTES,
    KEY_END};
static const struct key noise_keys[] = {KEY_NUMBER("cv", OF, noise_cv, 0, 100, -1, SPARSE),
                                        KEY_NOTES, KEY_END};
const struct key pool_keys[] = {
    KEY_NEEDED("target"),
    KEY_MILLISECONDS("period_ms", OF, pool_period, 1, LIMIT_MS, 500, OPTIONAL), KEY_NOTES, KEY_END};
const struct key admission_keys[] = {
    KEY_WORD("rate", OF, admission.rate, rate_names, ADMISSION_EFFICIENT, REQUIRED),
    KEY_NUMBER("misses", OF, admission.misses, 0.0001, 0.9, 0.02, OPTIONAL),
    KEY_NUMBER("step", OF, admission.step, 0, 1, 0.0015, OPTIONAL),
    KEY_NUMBER("start", OF, admission.start, 0, 100, 1, OPTIONAL),
    KEY_NUMBER("least", OF, admission.least, 0, 100, 0.6, OPTIONAL),
    KEY_NUMBER("most", OF, admission.most, 0, 100, 2, OPTIONAL),
    KEY_NUMBER("waiting", OF, admission.waiting, 0, 100, 0, OPTIONAL),
    KEY_NOTES,
    KEY_END};
const struct key failure_keys[] = {
    KEY_NUMBER("mtbf_s", OF, failures.mtbf_s, 1, LIMIT_S, 0, SPARSE),
    KEY_NUMBER("mttr_s", OF, failures.mttr_s, 1e-3, LIMIT_S, 0, SPARSE), KEY_OWN("outages"),
    KEY_NOTES, KEY_END};
const struct key platform_keys[] = {
    KEY_OWN("initial"),
    KEY_WORD("reuse", OF, reuse, reuse_names, REUSE_MRU, OPTIONAL),
    KEY_OWN("keep_alive_s"),
    KEY_WORD("prewarm", OF, prewarm, prewarm_names, PREWARM_EWMA, OPTIONAL),
    KEY_NUMBER("ewma_alpha", OF, ewma_alpha, 1e-6, 1, 0.3, WRITTEN_IF(OF, prewarm, PREWARM_EWMA)),
    KEY_OBJECT("transfer", transfer_keys, OPTIONAL),
    KEY_OBJECT("decision_cost", cost_keys, OPTIONAL),
    KEY_BOOL("interference", OF, interference, true, OPTIONAL),
    KEY_BOOL("turnaround", OF, turnaround, true, SPARSE),
    KEY_OBJECT("noise", noise_keys, SPARSE),
    KEY_NOTES,
    KEY_WHOLE("queue_capacity", OF, queue_capacity, 0, UINT32_MAX, 0, OPTIONAL),
    KEY_NUMBER("ingress_ms", OF, ingress_ms, 0, LIMIT_MS, 0, SPARSE),
    KEY_MILLISECONDS("host_ms", OF, host, 0, LIMIT_MS, 0, SPARSE),
    KEY_SECONDS("sample_interval_s", OF, sample_interval, 1e-6, LIMIT_S, 1, OPTIONAL),
    KEY_OWN("keep_alive"),
    KEY_WORD("cold_dispatch", OF, cold_dispatch, cold_dispatch_names, COLD_DISPATCH_START, SPARSE),
    KEY_OWN("admission"),
    KEY_OWN("pool"),
    KEY_OWN("failures"),
    KEY_END};
#undef OF

static const struct key reference_keys[] = {
    KEY_WHOLE("batch", reference_values, batch, 1, UINT16_MAX, 0, SPARSE),
    KEY_WHOLE("vcpu", reference_values, vcpu, 1, UINT16_MAX, 0, SPARSE),
    KEY_WHOLE("vgpu", reference_values, vgpu, 1, UINT16_MAX, 0, SPARSE), KEY_NOTES, KEY_END};
const struct key slo_reference_key[] = {KEY_OBJECT("reference", reference_keys, SPARSE), KEY_END};
/* What sets an SLO, of all applications or of one. */
struct slo {
    double factor, ms; /* -1: not given */
};
static const struct key slo_keys[] = {KEY_NUMBER("factor", slo, factor, 1e-6, 1e6, -1, SPARSE),
                                      KEY_NUMBER("ms", slo, ms, 1e-6, LIMIT_MS, -1, SPARSE),
                                      KEY_NOTES, KEY_END};

enum { KEYS_OUTAGES_MOST = 1 << 20 };
/* The limit of the event queue, because each idle container may have one event. */
enum { INITIAL_LIMIT = 1 << 24 };

/* Loads one number, of every function in use, or an object of numbers by function, but the member
 * `done`. Each counts `times`. With `invokers`, a list of invokers stands for one on each. */
static bool load_counts(const struct json_value *value, const struct workload *workload,
                        const cJSON *done, uint32_t times, uint32_t *counts, const int **invokers,
                        struct error *error)
{
    const int last = (int)workload->cluster.invoker_count - 1;
    const int64_t limit = INITIAL_LIMIT / times;
    int64_t count = 0;
    if (!cJSON_IsObject(value->node)) {
        if (!json_as_integer(value, 0, limit, &count, error))
            return false;
        for (size_t f = 0; f < workload->function_count; f++)
            counts[f] = (uint32_t)count * times;
        return true;
    }
    for (struct json_value entry = {0}; json_next(value, &entry);) {
        size_t f = 0;
        if (entry.node == done)
            continue;
        if (!load_index(&entry, "function in use", entry.node->string, &workload->functions[0].name,
                        workload->function_count, sizeof *workload->functions, &f, error))
            return false;
        size_t listed = 0;
        const bool list = invokers != NULL && cJSON_IsArray(entry.node);
        if (list ? !axis_load(&entry, 0, last, &invokers[f], &listed, error)
                 : !json_as_integer(&entry, 0, limit, &count, error))
            return false;
        counts[f] = list ? (uint32_t)listed : (uint32_t)count * times;
    }
    return true;
}

/* The counts per invoker, without a node if there are none. If a function has that name, the key is
 * its count. */
static struct json_value per_invoker_of(const struct json_value *value,
                                        const struct workload *workload)
{
    struct json_value per_invoker = {0};
    (void)json_child(value, "per_invoker", &per_invoker);
    for (size_t f = 0; f < workload->function_count; f++)
        if (strcmp(workload->functions[f].name, "per_invoker") == 0)
            per_invoker.node = NULL;
    return per_invoker;
}

static bool load_initial(const struct json_value *platform_value, const struct workload *workload,
                         struct platform_spec *platform, struct error *error)
{
    struct json_value value;
    int initial = INITIAL_WARM;
    if (!json_child(platform_value, "initial", &value) ||
        (!cJSON_IsObject(value.node) && !cJSON_IsNumber(value.node))) {
        if (!json_choice(platform_value, "initial", initial_names, &initial, error))
            return false;
        platform->initial = (enum initial_state)initial;
        return true;
    }
    platform->initial = INITIAL_COUNTS;
    const size_t count = workload->function_count;
    platform->initial_counts = arena_allocate(value.arena, count, sizeof(uint32_t));
    platform->initial_invokers = arena_allocate(value.arena, count, sizeof(int *));
    const struct json_value each = per_invoker_of(&value, workload);
    return (each.node == NULL || load_counts(&each, workload, NULL, workload->cluster.invoker_count,
                                             platform->initial_counts, NULL, error)) &&
           load_counts(&value, workload, each.node, 1, platform->initial_counts,
                       platform->initial_invokers, error);
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

/* Loads "none", or {"target": N or "auto", "period_ms"}. */
static bool load_pool(const struct json_value *value, struct platform_spec *platform,
                      struct error *error)
{
    struct json_value place, target;
    int64_t count = 0;
    if (!json_child(value, "pool", &place) ||
        (cJSON_IsString(place.node) && strcmp(place.node->valuestring, "none") == 0))
        return true;
    if (!cJSON_IsObject(place.node))
        return json_fault(&place, error, "must be \"none\" or an object with \"target\"");
    if (!keys_load(pool_keys, &place, platform, error) ||
        !json_require(&place, "target", &target, error))
        return false;
    const bool automatic =
        cJSON_IsString(target.node) && strcmp(target.node->valuestring, "auto") == 0;
    if (cJSON_IsString(target.node) && !automatic)
        return json_fault(&target, error, "is \"%s\", must be a number or \"auto\"",
                          target.node->valuestring);
    if (!automatic && !json_as_integer(&target, 1, UINT16_MAX, &count, error))
        return false;
    platform->pool_target = automatic ? POOL_TARGET_AUTO : (uint32_t)count;
    return true;
}

/* Loads "none", "lost", or {"rate": …}. */
static bool load_admission(const struct json_value *value, struct platform_spec *platform,
                           struct error *error)
{
    struct json_value place;
    int rule = ADMISSION_DEFAULT;
    if (!json_child(value, "admission", &place) || !cJSON_IsObject(place.node)) {
        const bool good = json_choice(value, "admission", admission_names, &rule, error);
        platform->admission.rule = (enum admission_rule)rule;
        return good;
    }
    platform->admission.rule = ADMISSION_RATE;
    return keys_load(admission_keys, &place, platform, error);
}

bool admission_named(const char *name, struct admission_spec *admission)
{
    admission->rule = ADMISSION_RATE;
    for (unsigned rate = 0; rate_names[rate] != NULL; rate++) {
        admission->rate = rate;
        if (strcmp(rate_names[rate], name) == 0)
            return true;
    }
    admission->rule = ADMISSION_LOST;
    return strcmp(name, admission_names[ADMISSION_LOST]) == 0;
}

/* Loads [invoker, from_s, until_s]. */
static bool load_outage(const struct json_value *entry, int64_t invokers, struct outage *outage,
                        struct error *error)
{
    int64_t invoker = 0;
    double from = 0, until = 0;
    if (!json_is_array(entry, 3, 3, error))
        return false;
    const struct json_value which = json_entry(entry, 0), low = json_entry(entry, 1),
                            high = json_entry(entry, 2);
    if (!json_as_integer(&which, 0, invokers - 1, &invoker, error) ||
        !json_as_number(&low, 0, LIMIT_S, &from, error) ||
        !json_as_number(&high, 0, LIMIT_S, &until, error))
        return false;
    *outage = (struct outage){(uint32_t)invoker, sim_from_s(from), sim_from_s(until)};
    return outage->from < outage->until ||
           json_fault(entry, error, "must be [invoker, from_s, until_s] with from_s < until_s");
}

/* Rows are in the order of their beginnings. An invoker is up between two of its outages. */
static bool load_outages(const struct json_value *value, int64_t invokers,
                         struct failure_spec *failures, struct error *error)
{
    struct outage *outages =
        load_entries(value, 1, KEYS_OUTAGES_MOST, sizeof *failures->outages, error);
    sim_time_t *up = arena_allocate(value->arena, (size_t)invokers, sizeof *up);
    bool good = outages != NULL;
    failures->outages = outages;
    for (struct json_value entry = {0}; good && json_next(value, &entry);) {
        struct outage *outage = &outages[failures->outage_count];
        good = load_outage(&entry, invokers, outage, error) &&
               ((failures->outage_count == 0 || outage[-1].from <= outage->from) ||
                json_fault(&entry, error, "begins before the one above; sort them by from_s")) &&
               (up[outage->invoker] < outage->from || up[outage->invoker] == 0 ||
                json_fault(&entry, error, "begins while invoker %" PRIu32 " is down",
                           outage->invoker));
        if (good)
            up[outage->invoker] = outage->until;
        failures->outage_count++;
    }
    return good;
}

/* Loads {"mtbf_s", "mttr_s"} or {"outages": [[invoker, from_s, until_s], …]}. */
static bool load_failures(const struct json_value *value, const struct workload *workload,
                          struct platform_spec *platform, struct error *error)
{
    struct json_value place, outages;
    struct failure_spec *failures = &platform->failures;
    if (!json_child(value, "failures", &place))
        return true;
    if (!keys_load(failure_keys, &place, platform, error))
        return false;
    const bool listed = json_child(&place, "outages", &outages);
    if ((failures->mtbf_s > 0) != (failures->mttr_s > 0) || listed == (failures->mtbf_s > 0))
        return json_fault(&place, error,
                          "must have \"mtbf_s\" and \"mttr_s\", or else \"outages\"");
    return !listed || load_outages(&outages, workload->cluster.invoker_count, failures, error);
}

static bool load_keep_alive_name(const struct json_value *value, const char *name,
                                 struct platform_spec *platform, struct error *error)
{
    enum { KEEP_ALIVES_MAX = 64 };
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
    char where[4096 + JSON_PATH_LENGTH];
    char owner[96];
    (void)snprintf(where, sizeof where, "%s: %s", params->file, params->path);
    (void)snprintf(owner, sizeof owner, "keep-alive policy \"%s\"", keep_alive_policy->name);
    const bool good = (params->node == NULL || settings_load(params, &settings, &count, error)) &&
                      parameters_configure(keep_alive_policy->parameters, settings, count, where,
                                           owner, platform->keep_alive_values, error);
    /* ttl_s is the only parameter of "fixed". */
    if (good && count == 0 && strcmp(keep_alive_policy->name, "fixed") == 0)
        platform->keep_alive_values[0] = fmin(sim_to_s(platform->keep_alive), LIMIT_S);
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

bool platform_load(const struct json_value *value, const struct workload *workload,
                   struct platform_spec *platform, struct error *error)
{
    *platform = (struct platform_spec){
        .initial = INITIAL_WARM, .keep_alive = 600 * SIM_S, .admission.rule = ADMISSION_DEFAULT};
    keys_default(platform_keys, platform);
    keys_default(pool_keys, platform);
    keys_default(admission_keys, platform);
    keys_default(failure_keys, platform);
    return value->node == NULL ||
           (keys_load(platform_keys, value, platform, error) &&
            load_initial(value, workload, platform, error) &&
            load_keep_alive(value, platform, error) && load_pool(value, platform, error) &&
            load_admission(value, platform, error) &&
            load_failures(value, workload, platform, error) &&
            load_keep_alive_policy(value, platform, error));
}

/* ---- SLO ------------------------------------------------------------------------------------ */

/* `of_all`: the object has other keys, too. */
static bool read_slo(const struct json_value *value, bool of_all, struct slo *slo,
                     struct error *error)
{
    struct json_value child;
    *slo = (struct slo){-1, -1};
    if (json_child(value, "factor", &child) && json_child(value, "ms", &child))
        return json_fault(value, error, "has both \"factor\" and \"ms\"; keep one");
    return (of_all ? keys_read : keys_load)(slo_keys, value, slo, error);
}

static void set_slo(struct application *application, const struct slo *slo)
{
    double slo_ms = slo->ms >= 0 ? slo->ms : slo->factor * sim_to_ms(application->base_latency);
    /* A factor of 10^6 on a base of years would exceed the range of the clock. */
    application->slo = sim_from_ms(slo_ms < LIMIT_MS ? slo_ms : LIMIT_MS);
    if (application->slo < 1)
        application->slo = 1;
}

static bool check_slo_keys(const struct json_value *value, const struct workload *workload,
                           struct error *error)
{
    const char **known =
        arena_allocate(value->arena, workload->application_count + KEYS_MOST + 2, sizeof *known);
    known[0] = slo_reference_key->name;
    const char **names = known + 1 + keys_names(slo_keys, known + 1);
    for (size_t a = 0; a < workload->application_count; a++)
        names[a] = workload->applications[a].name;
    return json_is_object(value, known, error);
}

static bool load_reference(const struct json_value *slo, struct workload *workload,
                           struct error *error)
{
    struct json_value value;
    struct reference_values *wanted = &workload->reference;
    bool found = false;
    if (!json_child(slo, "reference", &value))
        return true;
    if (!keys_load(reference_keys, &value, wanted, error))
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
    struct slo common = {.factor = 1, .ms = -1};
    if (value->node != NULL &&
        (!check_slo_keys(value, workload, error) || !load_reference(value, workload, error) ||
         !read_slo(value, true, &common, error)))
        return false;
    for (size_t a = 0; a < workload->application_count; a++) {
        struct application *application = &workload->applications[a];
        struct json_value own;
        struct slo slo = common;
        if (value->node != NULL && json_child(value, application->name, &own) &&
            !read_slo(&own, false, &slo, error))
            return false;
        if (slo.factor < 0 && slo.ms < 0)
            return json_fault(value, error,
                              "gives no \"factor\" or \"ms\" for application \"%s\"; add one",
                              application->name);
        set_slo(application, &slo);
    }
    return true;
}
