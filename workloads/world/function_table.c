#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/string_index.h"
#include "traces/profile/profile.h"
#include "workloads/world/world_internal.h"

/* Default if neither file sets it: a serving process of a deep-learning framework on the host. */
static const double DEFAULT_HOST_MEMORY_MB = 2048;
enum { CONFIGURATIONS_LIMIT = 1000000 };

/* ---- Use ------------------------------------------------------------------------------------ */

static const struct function_entry *find_entry(const struct function_table *table, const char *name)
{
    for (size_t i = 0; i < table->entries->count; i++)
        if (strcmp(table->entries->entries[i].name, name) == 0)
            return &table->entries->entries[i];
    return NULL;
}

/* The function in the profile of the first kind of GPU at or after *kind that has it; *kind
 * receives the kind. NULL if there is none. */
static const struct profile_function *find_profiled(const struct workload *workload,
                                                    const char *name, size_t *kind)
{
    for (; *kind < workload->kind_count; ++*kind) {
        const struct profile *profile = workload->kinds[*kind].profile;
        const struct profile_function *found = profile == NULL ? NULL : profile_find(profile, name);
        if (found != NULL)
            return found;
    }
    return NULL;
}

static bool unknown_function(const struct function_table *table, const struct json_value *value,
                             const char *name, struct error *error)
{
    const struct workload *workload = table->workload;
    struct string_index names = {0};
    for (size_t i = 0; i < table->entries->count; i++)
        (void)string_index_add(&names, table->entries->entries[i].name);
    for (size_t k = 0; k < workload->kind_count; k++) {
        const struct profile *profile = workload->kinds[k].profile;
        for (size_t i = 0; profile != NULL && i < profile->function_count; i++)
            (void)string_index_add(&names, profile->functions[i].name);
    }
    (void)load_unknown_name(value, "function of \"functions\" or of the profile", name,
                            (const char *const *)names.names, (int)names.count, error);
    string_index_clear(&names);
    return false;
}

bool function_table_use(struct function_table *table, const struct json_value *value,
                        const char *name, uint32_t *index, struct error *error)
{
    struct workload *workload = table->workload;
    for (size_t f = 0; f < workload->function_count; f++)
        if (strcmp(workload->functions[f].name, name) == 0) {
            *index = (uint32_t)f;
            return true;
        }
    size_t kind = 0;
    const bool known =
        find_entry(table, name) != NULL || find_profiled(workload, name, &kind) != NULL;
    if (!known && strchr(name, '+') == NULL)
        return unknown_function(table, value, name, error);
    arena_reserve(value->arena, &workload->functions, workload->function_count + 1,
                  sizeof *workload->functions);
    workload->functions[workload->function_count] =
        (struct function){.name = arena_text(value->arena, "%s", name), .fused = !known};
    *index = (uint32_t)workload->function_count++;
    return true;
}

/* ---- Configurations that the cluster can run ------------------------------------------------- */

/* Why a configuration cannot run, in the order of the tests. */
enum obstacle { OBSTACLE_NONE, OBSTACLE_VCPU, OBSTACLE_HOST, OBSTACLE_SHARE, OBSTACLE_MEMORY };

static const char *const obstacle_texts[] = {
    "",
    "no invoker has the vCPUs",
    "no invoker with the vCPUs has the host memory",
    "no GPU of these invokers allows such a share (sharing and units)",
    "no GPU that allows the share has the memory for weights and activations",
};

static enum obstacle group_obstacle(const struct invoker_group *group,
                                    const struct function *function, const struct configuration *c)
{
    const struct function_gpu *gpu = &function->gpus[c->kind];
    if (c->vcpu > group->vcpus)
        return OBSTACLE_VCPU;
    if (function->host_memory_mb > group->memory_mb)
        return OBSTACLE_HOST;
    const double needed = gpu->gpu_weights_mb + gpu->gpu_per_item_mb * c->batch;
    if (c->vgpu == 0 && needed <= 0)
        return OBSTACLE_NONE;
    enum obstacle obstacle = OBSTACLE_SHARE;
    for (size_t i = 0; i < group->gpu_count; i++) {
        if (c->vgpu > 0 &&
            (group->gpus[i].kind != c->kind || !gpu_allows(&group->gpus[i], c->vgpu)))
            continue;
        if (c->vgpu == 0 ? needed <= group->gpus[i].memory_mb
                         : gpu_holds(&group->gpus[i], c->vgpu, needed))
            return OBSTACLE_NONE;
        obstacle = OBSTACLE_MEMORY;
    }
    return obstacle;
}

/* The obstacle on the invokers that satisfy most tests. */
static enum obstacle cluster_obstacle(const struct cluster_spec *cluster,
                                      const struct function *function,
                                      const struct configuration *c)
{
    enum obstacle furthest = OBSTACLE_VCPU;
    for (size_t g = 0; g < cluster->group_count; g++) {
        enum obstacle obstacle = group_obstacle(&cluster->groups[g], function, c);
        if (obstacle == OBSTACLE_NONE)
            return OBSTACLE_NONE;
        if (obstacle > furthest)
            furthest = obstacle;
    }
    return furthest;
}

/* ---- Service functions ----------------------------------------------------------------------- */

sim_time_t configuration_time(double ms)
{
    const sim_time_t time = sim_from_ms(ms);
    return time <= 0 ? 1 : time < SIM_CLOCK_END ? time : SIM_CLOCK_END;
}

static double or_default(double value, double fallback)
{
    return isnan(value) ? fallback : value;
}

/* Mean, cv and samples of the entry override the profile's. An entry with mean or cv has no use for
 * the profile's samples. `p` is NULL if there is no profile, whose mean would be required. */
static void merge_cold_start(const struct function_entry *e, const struct profile_function *p,
                             const struct function *function, struct function_gpu *gpu)
{
    const bool sampled = function->cold_start_sample_count > 0;
    gpu->cold_start_samples_ms = function->cold_start_samples_ms;
    gpu->cold_start_sample_count = function->cold_start_sample_count;
    gpu->cold_start_mean_ms = sampled ? e->cold_start_samples.mean : e->cold_start_mean_ms;
    gpu->cold_start_cv = sampled ? e->cold_start_samples.cv : e->cold_start_cv;
    if (p != NULL && isnan(gpu->cold_start_mean_ms) && isnan(gpu->cold_start_cv)) {
        gpu->cold_start_samples_ms = p->cold_start_samples_ms;
        gpu->cold_start_sample_count = p->cold_start_sample_count;
    }
    gpu->cold_start_mean_ms =
        or_default(gpu->cold_start_mean_ms, p == NULL ? 0 : p->cold_start_mean_ms);
    gpu->cold_start_cv =
        or_default(or_default(gpu->cold_start_cv, p == NULL ? 0 : p->cold_start_cv), 0);
}

/* Takes the values of the entry, on every kind of GPU. */
static void service_values(const struct function_entry *entry, size_t kind_count,
                           struct function *function)
{
    function->service = (enum service_kind)(SERVICE_CONSTANT + entry->distribution);
    function->service_mean = sim_from_ms(entry->service_mean_ms);
    function->service_cv = or_default(entry->service_cv, 0);
    function->input_bytes = or_default(entry->input_bytes, 0);
    function->host_memory_mb = or_default(entry->host_memory_mb, 0);
    for (size_t k = 0; k < kind_count; k++) {
        function->gpus[k] = (struct function_gpu){
            .gpu_weights_mb = or_default(entry->gpu_weights_mb, 0),
            .gpu_per_item_mb = or_default(entry->gpu_per_item_mb, 0),
            .bandwidth_share = or_default(entry->bandwidth_share, 0),
            .turnaround_ms = or_default(entry->turnaround_ms, 0),
            .turnaround_per_item_ms = or_default(entry->turnaround_per_item_ms, 0),
            .interference_index = SIM_NONE};
        merge_cold_start(entry, NULL, function, &function->gpus[k]);
    }
    function->service_samples_ms = entry->samples.values;
    function->service_sample_count = entry->samples.count;
}

/* One configuration for each kind of GPU that allows it. */
static bool resolve_service(const struct function_entry *entry, const struct workload *workload,
                            struct function *function, struct error *error)
{
    enum obstacle furthest = OBSTACLE_NONE;
    function->configurations =
        arena_allocate(entry->place.arena, workload->kind_count, sizeof *function->configurations);
    service_values(entry, workload->kind_count, function);
    for (size_t k = 0; k < (entry->vgpu > 0 ? workload->kind_count : 1); k++) {
        const double speed = entry->vgpu > 0 ? workload->kinds[k].speed : 1;
        const struct configuration trial = {.batch = (uint16_t)entry->batch,
                                            .vcpu = (uint16_t)entry->vcpu,
                                            .vgpu = (uint16_t)entry->vgpu,
                                            .kind = (uint16_t)k,
                                            .time =
                                                configuration_time(entry->service_mean_ms / speed)};
        const enum obstacle obstacle = cluster_obstacle(&workload->cluster, function, &trial);
        if (obstacle == OBSTACLE_NONE)
            function->configurations[function->configuration_count++] = trial;
        furthest = obstacle > furthest ? obstacle : furthest;
    }
    return function->configuration_count > 0 ||
           json_fault(&entry->place, error,
                      "its configuration cannot run on this cluster: %s; change \"configuration\" "
                      "or the cluster",
                      obstacle_texts[furthest]);
}

/* ---- Profiled functions ---------------------------------------------------------------------- */

/* Where a function's values on one kind of GPU come from. */
struct source {
    const struct function_entry *entry;
    const struct profile *profile;
    const struct profile_function *profiled;
    size_t kind;
    double speed;
    const int *axes[3];
    size_t counts[3];
    /* of all kinds so far */
    size_t tried;
    enum obstacle furthest;
};

static bool missing(const struct source *source, const struct function *function, const char *key,
                    struct error *error)
{
    return json_fault(&source->entry->place, error,
                      "function \"%s\" has no \"%s\", neither here nor in the profile %s; add it",
                      function->name, key, source->profile->path);
}

/* Values that do not depend on the kind of GPU, from the first profile that has the function. */
static void merge_common(const struct source *source, struct function *function)
{
    const struct function_entry *e = source->entry;
    const struct profile_function *p = source->profiled;
    function->service = SERVICE_PROFILE;
    function->input_bytes = or_default(or_default(e->input_bytes, p->input_bytes), 0);
    function->host_memory_mb =
        or_default(or_default(e->host_memory_mb, p->host_memory_mb), DEFAULT_HOST_MEMORY_MB);
}

static bool merge_values(const struct source *source, struct function *function,
                         struct error *error)
{
    const struct function_entry *e = source->entry;
    const struct profile_function *p = source->profiled;
    const struct interference *interference = source->profile->interference;
    struct function_gpu *gpu = &function->gpus[source->kind];
    gpu->noise_cv = or_default(or_default(e->noise_cv, p->noise_cv), 0);
    merge_cold_start(e, p, function, gpu);
    gpu->gpu_weights_mb = or_default(e->gpu_weights_mb, p->gpu_weights_mb);
    gpu->gpu_per_item_mb = or_default(e->gpu_per_item_mb, p->gpu_per_item_mb);
    gpu->bandwidth_share = or_default(e->bandwidth_share, p->bandwidth_share);
    const bool own = !isnan(e->turnaround_ms);
    gpu->turnaround_ms = or_default(own ? e->turnaround_ms : p->turnaround_ms, 0);
    gpu->turnaround_per_item_ms =
        or_default(own ? e->turnaround_per_item_ms : p->turnaround_per_item_ms, 0);
    if (isnan(gpu->cold_start_mean_ms))
        return missing(source, function, "cold_start_ms", error);
    if (isnan(gpu->gpu_weights_mb))
        return missing(source, function, "gpu_memory_mb.weights", error);
    if (isnan(gpu->gpu_per_item_mb))
        return missing(source, function, "gpu_memory_mb.per_item", error);
    if (isnan(gpu->bandwidth_share)) {
        if (interference != NULL && interference->kind == INTERFERENCE_BANDWIDTH)
            return missing(source, function, "bandwidth_share", error);
        gpu->bandwidth_share = 0;
    }
    gpu->interference_index = SIM_NONE;
    for (size_t i = 0; interference != NULL && i < interference->pair_count; i++)
        if (strcmp(interference->pair_names[i], function->name) == 0)
            gpu->interference_index = (uint32_t)i;
    return true;
}

/* The entry's own values of an axis: a list, or one by model of GPU. NULL node: none. */
static struct json_value own_axis(const struct source *source, size_t axis, const char *model)
{
    const struct json_value *own = &source->entry->axes[axis];
    struct json_value list = {0};
    if (!cJSON_IsObject(own->node))
        return *own;
    (void)json_child(own, model, &list);
    return list;
}

/* Chooses the axes to tabulate: the entry's own, which must be within the profile's, or else the
 * profile's. */
static bool choose_axes(struct source *source, const char *model, struct error *error)
{
    const struct profile_axis *const grid[3] = {&source->profiled->batch, &source->profiled->vcpu,
                                                &source->profiled->vgpu};
    size_t product = 1;
    for (size_t axis = 0; axis < 3; axis++) {
        const struct json_value own = own_axis(source, axis, model);
        if (own.node != NULL) {
            if (!axis_load(&own, grid[axis]->values[0], grid[axis]->values[grid[axis]->count - 1],
                           &source->axes[axis], &source->counts[axis], error))
                return false;
        } else {
            source->axes[axis] = grid[axis]->values;
            source->counts[axis] = grid[axis]->count;
        }
        product *= source->counts[axis];
        if (product > CONFIGURATIONS_LIMIT)
            return json_fault(&source->entry->place, error,
                              "has more than %d configurations; shorten \"configurations\"",
                              CONFIGURATIONS_LIMIT);
    }
    return true;
}

static bool fault_nothing_runs(const struct source *source, const struct function *function,
                               struct error *error)
{
    if (function->configuration_count > 0)
        return json_fault(
            &source->entry->place, error,
            "function \"%s\" has no configuration of batch 1 that can run on this "
            "cluster; extend \"configurations\" or the cluster, or fill in batches that were "
            "not measured by `esgsim calibrate --grid`",
            function->name);
    return json_fault(&source->entry->place, error,
                      "function \"%s\": none of its %zu configurations can run on this cluster: %s",
                      function->name, source->tried,
                      source->furthest == OBSTACLE_NONE ? "the profile has no latency for any"
                                                        : obstacle_texts[source->furthest]);
}

static uint8_t grade_at(const struct profile_function *function, const struct configuration *c)
{
    const enum profile_source source =
        profile_origin_at(function, c->batch, c->vcpu, c->vgpu).source;
    return source == PROFILE_EXTRAPOLATED   ? CONFIGURATION_EXTRAPOLATED
           : source == PROFILE_INTERPOLATED ? CONFIGURATION_INTERPOLATED
                                            : CONFIGURATION_MEASURED;
}

/* Appends the configurations that some GPU of the source's kind can run. */
static bool tabulate(struct source *source, const struct cluster_spec *cluster,
                     struct function *function, struct error *error)
{
    const size_t product = source->counts[0] * source->counts[1] * source->counts[2];
    source->tried += product;
    if (source->tried > CONFIGURATIONS_LIMIT)
        return json_fault(&source->entry->place, error,
                          "has more than %d configurations; shorten \"configurations\"",
                          CONFIGURATIONS_LIMIT);
    arena_reserve(source->entry->place.arena, &function->configurations,
                  function->configuration_count + product, sizeof *function->configurations);
    for (size_t i = 0; i < product; i++) {
        size_t g = i % source->counts[2];
        size_t c = i / source->counts[2] % source->counts[1];
        size_t b = i / source->counts[2] / source->counts[1];
        struct configuration trial = {.batch = (uint16_t)source->axes[0][b],
                                      .vcpu = (uint16_t)source->axes[1][c],
                                      .vgpu = (uint16_t)source->axes[2][g],
                                      .kind = (uint16_t)source->kind};
        double ms = profile_latency_ms(source->profiled, trial.batch, trial.vcpu, trial.vgpu);
        if (isnan(ms))
            continue;
        enum obstacle obstacle = cluster_obstacle(cluster, function, &trial);
        if (obstacle > source->furthest)
            source->furthest = obstacle;
        if (obstacle != OBSTACLE_NONE)
            continue;
        trial.time = configuration_time(ms / (trial.vgpu > 0 ? source->speed : 1));
        trial.grade = grade_at(source->profiled, &trial);
        function->configurations[function->configuration_count++] = trial;
    }
    return true;
}

/* A GPU has the profile's units, or if it is a context, a part of them. */
static bool has_unit(const struct gpu_spec *gpu, const struct profile *profile)
{
    const struct interference *model = profile->interference;
    return gpu->units == profile->unit ||
           (model != NULL && model->kind == INTERFERENCE_CONTEXTS && gpu->units < profile->unit);
}

static bool check_unit(const struct source *source, const struct workload *workload,
                       struct error *error)
{
    const struct cluster_spec *cluster = &workload->cluster;
    const struct gpu_kind *kinds = workload->kinds;
    const char *remedy = "use one unit for both";
    for (size_t k = 1; k < workload->kind_count; k++)
        if (kinds[k].profile == kinds[0].profile && kinds[k].units != kinds[0].units)
            remedy = "give one profile for each model of GPU under \"profiles\"";
    for (size_t g = 0; g < cluster->group_count; g++)
        for (size_t i = 0; i < cluster->groups[g].gpu_count; i++) {
            const struct gpu_spec *gpu = &cluster->groups[g].gpus[i];
            if (gpu->kind == source->kind && !has_unit(gpu, source->profile))
                return json_fault(&source->entry->place, error,
                                  "profile %s slices a GPU in %d units, the cluster's "
                                  "invokers[%zu].gpus[%zu].units is %u; %s",
                                  source->profile->path, source->profile->unit, g, i, gpu->units,
                                  remedy);
        }
    return true;
}

/* Adds the values and configurations on one kind of GPU. */
static bool resolve_kind(struct source *source, const struct workload *workload,
                         struct function *function, struct error *error)
{
    const struct cluster_spec *cluster = &workload->cluster;
    return check_unit(source, workload, error) && merge_values(source, function, error) &&
           choose_axes(source, workload->kinds[source->kind].model, error) &&
           tabulate(source, cluster, function, error);
}

static int compare_numbers(int a, int b)
{
    return (a > b) - (a < b);
}

/* Equal ones, which have no GPU, are in the order of their source. */
int configuration_compare(const void *left, const void *right)
{
    const struct configuration *a = left, *b = right;
    const int orders[] = {compare_numbers(a->vgpu > 0 ? a->kind : 0, b->vgpu > 0 ? b->kind : 0),
                          compare_numbers(a->batch, b->batch), compare_numbers(a->vcpu, b->vcpu),
                          compare_numbers(a->vgpu, b->vgpu), compare_numbers(a->kind, b->kind)};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (orders[i] != 0)
            return orders[i];
    return 0;
}

/* Sorts the configurations of several kinds. One without a GPU that several profiles have is the
 * first profile's. */
static void join_kinds(struct function *function)
{
    struct configuration *list = function->configurations;
    size_t count = 0;
    qsort(list, function->configuration_count, sizeof *list, configuration_compare);
    for (size_t k = 0; k < function->configuration_count; k++) {
        struct configuration next = list[k];
        if (next.vgpu == 0)
            next.kind = 0;
        if (count == 0 || configuration_compare(&list[count - 1], &next) != 0)
            list[count++] = next;
    }
    function->configuration_count = count;
}

static bool has_single(const struct function *function)
{
    for (size_t k = 0; k < function->configuration_count; k++)
        if (function->configurations[k].batch == 1)
            return true;
    return false;
}

/* A function runs on the kinds of GPU whose profiles have it. */
static bool resolve_profiled(struct source *source, const struct workload *workload,
                             struct function *function, struct error *error)
{
    const size_t first = source->kind;
    merge_common(source, function);
    for (; source->profiled != NULL; source->kind++, source->profiled = find_profiled(
                                                         workload, function->name, &source->kind)) {
        source->profile = workload->kinds[source->kind].profile;
        source->speed = workload->kinds[source->kind].speed;
        if (!resolve_kind(source, workload, function, error))
            return false;
    }
    for (size_t k = 0; k < workload->kind_count; k++) {
        size_t own = k;
        (void)find_profiled(workload, function->name, &own);
        if (own != k)
            function->gpus[k] = function->gpus[first];
    }
    join_kinds(function);
    return has_single(function) || fault_nothing_runs(source, function, error);
}

static bool resolve_function(const struct function_table *table, const struct json_value *where,
                             struct function *function, struct error *error)
{
    const struct workload *workload = table->workload;
    struct function_entry none = {.place = *where}; /* of a function that only profiles have */
    keys_default(function_keys, &none);
    struct source source = {.entry = find_entry(table, function->name)};
    if (source.entry == NULL)
        source.entry = &none;
    source.profiled = find_profiled(workload, function->name, &source.kind);
    const char *model = source.entry->model;
    if (model == NULL && source.profiled != NULL)
        model = source.profiled->model;
    function->model = model == NULL ? function->name : model;
    function->gpus = arena_allocate(where->arena, workload->kind_count, sizeof *function->gpus);
    function->cold_start_samples_ms = source.entry->cold_start_samples.values;
    function->cold_start_sample_count = source.entry->cold_start_samples.count;
    if (source.entry->has_service)
        return resolve_service(source.entry, workload, function, error);
    const struct profile *profile = workload->kinds[0].profile;
    if (source.profiled == NULL)
        return json_fault(&source.entry->place, error,
                          "function \"%s\" has neither a \"service\" nor an entry in the profile "
                          "(%s); add one",
                          function->name, profile == NULL ? "none is given" : profile->path);
    return resolve_profiled(&source, workload, function, error);
}

/* Fills a function from those that its name joins. */
static bool resolve_fused(const struct function_table *table, const struct json_value *where,
                          struct function *function, struct error *error)
{
    char *rest = arena_text(where->arena, "%s", function->name);
    bool good = true;
    while (good && rest != NULL) {
        struct function part = {.name = strsep(&rest, "+")};
        good = resolve_function(table, where, &part, error) &&
               function_fuse(table->workload, function, &part, where, error);
    }
    size_t count = 0;
    for (size_t k = 0; k < function->configuration_count; k++)
        if (cluster_obstacle(&table->workload->cluster, function, &function->configurations[k]) ==
            OBSTACLE_NONE)
            function->configurations[count++] = function->configurations[k];
    function->configuration_count = count;
    return good && (has_single(function) ||
                    json_fault(where, error,
                               "the functions of \"%s\" have no configuration of batch 1 in common "
                               "that the cluster can run; choose another \"granularity\"",
                               function->name));
}

bool function_table_resolve(const struct function_table *table, const struct json_value *where,
                            struct error *error)
{
    struct workload *workload = table->workload;
    for (size_t f = 0; f < workload->function_count; f++)
        if (!(workload->functions[f].fused ? resolve_fused : resolve_function)(
                table, where, &workload->functions[f], error))
            return false;
    return true;
}
