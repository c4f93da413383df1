#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/profile/profile.h"
#include "workloads/loader_internal.h"

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

static bool unknown_function(const struct function_table *table, const struct json_value *value,
                             const char *name, struct error *error)
{
    size_t profiled = table->profile == NULL ? 0 : table->profile->function_count;
    const char **names = load_array(table->entries->count + profiled, sizeof *names, error);
    if (names == NULL)
        return false;
    int count = 0;
    for (size_t i = 0; i < table->entries->count; i++)
        names[count++] = table->entries->entries[i].name;
    for (size_t i = 0; i < profiled; i++)
        names[count++] = table->profile->functions[i].name;
    load_unknown_name(value, "function of \"functions\" or of the profile", name, names, count,
                      error);
    free(names);
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
    if (find_entry(table, name) == NULL &&
        (table->profile == NULL || profile_find(table->profile, name) == NULL))
        return unknown_function(table, value, name, error);
    struct function *functions =
        realloc(workload->functions, (workload->function_count + 1) * sizeof *functions);
    if (functions == NULL)
        return error_input(error, "out of memory");
    workload->functions = functions;
    struct function *function = &functions[workload->function_count];
    memset(function, 0, sizeof *function);
    function->name = strdup(name);
    if (function->name == NULL)
        return error_input(error, "out of memory");
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
    if (c->vcpu > group->vcpus)
        return OBSTACLE_VCPU;
    if (function->host_memory_mb > group->memory_mb)
        return OBSTACLE_HOST;
    double needed = function->gpu_weights_mb + function->gpu_per_item_mb * c->batch;
    if (c->vgpu == 0 && needed <= 0)
        return OBSTACLE_NONE;
    enum obstacle obstacle = OBSTACLE_SHARE;
    for (size_t i = 0; i < group->gpu_count; i++) {
        if (c->vgpu > 0 && !gpu_allows(&group->gpus[i], c->vgpu))
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

static double or_default(double value, double fallback)
{
    return isnan(value) ? fallback : value;
}

/* Copies samples that are given. */
static bool copy_samples(const double *values, size_t count, double **copy, size_t *copied,
                         struct error *error)
{
    if (count == 0)
        return true;
    *copy = load_array(count, sizeof **copy, error);
    if (*copy == NULL)
        return false;
    memcpy(*copy, values, count * sizeof **copy);
    *copied = count;
    return true;
}

/* Mean, cv and samples of the entry override the profile's; an entry with mean or cv has no use for
 * the profile's samples. `p` is NULL if there is no profile, whose mean would be required. */
static bool resolve_cold_start(const struct function_entry *e, const struct profile_function *p,
                               struct function *function, struct error *error)
{
    const struct json_samples *own = &e->cold_start_samples;
    double **copy = &function->cold_start_samples_ms;
    size_t *copied = &function->cold_start_sample_count;
    if (own->count > 0) {
        function->cold_start_mean_ms = own->mean;
        function->cold_start_cv = own->cv;
        return copy_samples(own->values, own->count, copy, copied, error);
    }
    function->cold_start_mean_ms =
        or_default(e->cold_start_mean_ms, p == NULL ? 0 : p->cold_start_mean_ms);
    function->cold_start_cv =
        or_default(or_default(e->cold_start_cv, p == NULL ? 0 : p->cold_start_cv), 0);
    return p == NULL || !isnan(e->cold_start_mean_ms) || !isnan(e->cold_start_cv) ||
           copy_samples(p->cold_start_samples_ms, p->cold_start_sample_count, copy, copied, error);
}

static bool resolve_service(const struct function_entry *entry, const struct cluster_spec *cluster,
                            struct function *function, struct error *error)
{
    function->service = entry->service;
    function->service_mean = sim_from_ms(entry->service_mean_ms);
    function->service_cv = entry->service_cv;
    function->input_bytes = or_default(entry->input_bytes, 0);
    function->gpu_weights_mb = or_default(entry->gpu_weights_mb, 0);
    function->gpu_per_item_mb = or_default(entry->gpu_per_item_mb, 0);
    function->host_memory_mb = or_default(entry->host_memory_mb, 0);
    function->bandwidth_share = or_default(entry->bandwidth_share, 0);
    function->interference_index = SIM_NONE;
    if (!copy_samples(entry->samples.values, entry->samples.count, &function->service_samples_ms,
                      &function->service_sample_count, error) ||
        !resolve_cold_start(entry, NULL, function, error))
        return false;
    function->configurations = load_array(1, sizeof *function->configurations, error);
    if (function->configurations == NULL)
        return false;
    function->configuration_count = 1;
    function->configurations[0] = (struct configuration){.batch = (uint16_t)entry->batch,
                                                         .vcpu = (uint16_t)entry->vcpu,
                                                         .vgpu = (uint16_t)entry->vgpu,
                                                         .time = function->service_mean};
    enum obstacle obstacle = cluster_obstacle(cluster, function, function->configurations);
    return obstacle == OBSTACLE_NONE ||
           json_fault(&entry->place, error,
                      "its configuration cannot run on this cluster: %s; change \"configuration\" "
                      "or the cluster",
                      obstacle_texts[obstacle]);
}

/* ---- Profiled functions ---------------------------------------------------------------------- */

struct source {
    const struct function_entry *entry; /* NULL: profile only */
    const struct profile *profile;
    const struct profile_function *profiled;
    struct json_value place; /* for error messages */
    int *axes[3];
    size_t counts[3];
};

static bool missing(const struct source *source, const struct function *function, const char *key,
                    struct error *error)
{
    return json_fault(&source->place, error,
                      "function \"%s\" has no \"%s\", neither here nor in the profile %s; add it",
                      function->name, key, source->profile->path);
}

static bool merge_values(const struct source *source, struct function *function,
                         struct error *error)
{
    static const struct function_entry nothing = {.input_bytes = NAN,
                                                  .noise_cv = NAN,
                                                  .cold_start_mean_ms = NAN,
                                                  .cold_start_cv = NAN,
                                                  .gpu_weights_mb = NAN,
                                                  .gpu_per_item_mb = NAN,
                                                  .host_memory_mb = NAN,
                                                  .bandwidth_share = NAN};
    const struct function_entry *e = source->entry == NULL ? &nothing : source->entry;
    const struct profile_function *p = source->profiled;
    const struct interference *interference = source->profile->interference;
    function->service = SERVICE_PROFILE;
    function->noise_cv = or_default(or_default(e->noise_cv, p->noise_cv), 0);
    function->input_bytes = or_default(or_default(e->input_bytes, p->input_bytes), 0);
    function->gpu_weights_mb = or_default(e->gpu_weights_mb, p->gpu_weights_mb);
    function->gpu_per_item_mb = or_default(e->gpu_per_item_mb, p->gpu_per_item_mb);
    function->host_memory_mb =
        or_default(or_default(e->host_memory_mb, p->host_memory_mb), DEFAULT_HOST_MEMORY_MB);
    function->bandwidth_share = or_default(e->bandwidth_share, p->bandwidth_share);
    if (!resolve_cold_start(e, p, function, error))
        return false;
    if (isnan(function->cold_start_mean_ms))
        return missing(source, function, "cold_start_ms", error);
    if (isnan(function->gpu_weights_mb))
        return missing(source, function, "gpu_memory_mb.weights", error);
    if (isnan(function->gpu_per_item_mb))
        return missing(source, function, "gpu_memory_mb.per_item", error);
    if (isnan(function->bandwidth_share)) {
        if (interference != NULL && interference->kind == INTERFERENCE_BANDWIDTH)
            return missing(source, function, "bandwidth_share", error);
        function->bandwidth_share = 0;
    }
    function->interference_index = SIM_NONE;
    for (size_t i = 0; interference != NULL && i < interference->pair_count; i++)
        if (strcmp(interference->pair_names[i], function->name) == 0)
            function->interference_index = (uint32_t)i;
    return true;
}

/* Chooses the axes to tabulate: the entry's own, which must be within the profile's, or else the
 * profile's. */
static bool choose_axes(struct source *source, struct error *error)
{
    const struct profile_axis *const grid[3] = {&source->profiled->batch, &source->profiled->vcpu,
                                                &source->profiled->vgpu};
    size_t product = 1;
    for (size_t axis = 0; axis < 3; axis++) {
        const struct json_value *own = source->entry == NULL ? NULL : &source->entry->axes[axis];
        if (source->entry != NULL && source->entry->has_axes[axis]) {
            if (!axis_load(own, grid[axis]->values[0], grid[axis]->values[grid[axis]->count - 1],
                           &source->axes[axis], &source->counts[axis], error))
                return false;
        } else {
            source->axes[axis] = load_array(grid[axis]->count, sizeof(int), error);
            if (source->axes[axis] == NULL)
                return false;
            memcpy(source->axes[axis], grid[axis]->values, grid[axis]->count * sizeof(int));
            source->counts[axis] = grid[axis]->count;
        }
        product *= source->counts[axis];
        if (product > CONFIGURATIONS_LIMIT)
            return json_fault(&source->place, error,
                              "has more than %d configurations; shorten \"configurations\"",
                              CONFIGURATIONS_LIMIT);
    }
    return true;
}

static bool fault_nothing_runs(const struct source *source, const struct function *function,
                               enum obstacle furthest, struct error *error)
{
    size_t tried = source->counts[0] * source->counts[1] * source->counts[2];
    if (function->configuration_count > 0)
        return json_fault(&source->place, error,
                          "function \"%s\" has no configuration of batch 1 that can run on this "
                          "cluster; extend \"configurations\" or the cluster",
                          function->name);
    return json_fault(&source->place, error,
                      "function \"%s\": none of its %zu configurations can run on this cluster: %s",
                      function->name, tried,
                      furthest == OBSTACLE_NONE ? "the profile has no latency for any"
                                                : obstacle_texts[furthest]);
}

static bool tabulate(const struct source *source, const struct cluster_spec *cluster,
                     struct function *function, struct error *error)
{
    enum obstacle furthest = OBSTACLE_NONE;
    size_t product = source->counts[0] * source->counts[1] * source->counts[2];
    function->configurations = load_array(product, sizeof *function->configurations, error);
    if (function->configurations == NULL)
        return false;
    for (size_t i = 0; i < product; i++) {
        size_t g = i % source->counts[2];
        size_t c = i / source->counts[2] % source->counts[1];
        size_t b = i / source->counts[2] / source->counts[1];
        struct configuration trial = {.batch = (uint16_t)source->axes[0][b],
                                      .vcpu = (uint16_t)source->axes[1][c],
                                      .vgpu = (uint16_t)source->axes[2][g]};
        double ms = profile_latency_ms(source->profiled, trial.batch, trial.vcpu, trial.vgpu);
        if (isnan(ms))
            continue;
        enum obstacle obstacle = cluster_obstacle(cluster, function, &trial);
        if (obstacle > furthest)
            furthest = obstacle;
        if (obstacle != OBSTACLE_NONE)
            continue;
        trial.time = sim_from_ms(ms) > 0 ? sim_from_ms(ms) : 1;
        function->configurations[function->configuration_count++] = trial;
    }
    if (function->configuration_count == 0 || function->configurations[0].batch != 1)
        return fault_nothing_runs(source, function, furthest, error);
    return true;
}

static bool check_unit(const struct source *source, const struct cluster_spec *cluster,
                       struct error *error)
{
    for (size_t g = 0; g < cluster->group_count; g++)
        for (size_t i = 0; i < cluster->groups[g].gpu_count; i++)
            if (cluster->groups[g].gpus[i].units != source->profile->unit)
                return json_fault(&source->place, error,
                                  "profile %s slices a GPU in %d units, the cluster's "
                                  "invokers[%zu].gpus[%zu].units is %u; use one unit for both",
                                  source->profile->path, source->profile->unit, g, i,
                                  cluster->groups[g].gpus[i].units);
    return true;
}

static bool resolve_function(const struct function_table *table, const struct json_value *where,
                             struct function *function, struct error *error)
{
    const struct cluster_spec *cluster = &table->workload->cluster;
    struct source source = {.entry = find_entry(table, function->name), .profile = table->profile};
    source.place = source.entry == NULL ? *where : source.entry->place;
    if (table->profile != NULL)
        source.profiled = profile_find(table->profile, function->name);
    const char *model = source.entry == NULL ? NULL : source.entry->model;
    if (model == NULL && source.profiled != NULL)
        model = source.profiled->model;
    function->model = strdup(model == NULL ? function->name : model);
    if (function->model == NULL)
        return error_input(error, "out of memory");
    if (source.entry != NULL && source.entry->has_service)
        return resolve_service(source.entry, cluster, function, error);
    if (source.profiled == NULL)
        return json_fault(&source.place, error,
                          "function \"%s\" has neither a \"service\" nor an entry in the profile "
                          "(%s); add one",
                          function->name,
                          table->profile == NULL ? "none is given" : table->profile->path);
    bool done = check_unit(&source, cluster, error) && merge_values(&source, function, error) &&
                choose_axes(&source, error) && tabulate(&source, cluster, function, error);
    for (size_t axis = 0; axis < 3; axis++)
        free(source.axes[axis]);
    return done;
}

bool function_table_resolve(const struct function_table *table, const struct json_value *where,
                            struct error *error)
{
    struct workload *workload = table->workload;
    for (size_t f = 0; f < workload->function_count; f++)
        if (!resolve_function(table, where, &workload->functions[f], error))
            return false;
    return true;
}
