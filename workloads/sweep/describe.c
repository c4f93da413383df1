#include "workloads/sweep/describe.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/profile/profile.h"
#include "traces/readers/arrival_trace.h"
#include "traces/readers/training_trace.h"
#include "workloads/load/json_include.h"
#include "workloads/sweep/sweep.h"
#include "workloads/training/training_models.h"
#include "workloads/world/gpu_sharing.h"
#include "workloads/world/world_internal.h"

bool describe_wants(const struct descriptions *all, const char *name)
{
    const char *wanted = all->wanted, *slash = strrchr(name, '/');
    const char *const starts[] = {name, slash != NULL ? slash + 1 : name};
    for (size_t i = 0; wanted != NULL && i < 2; i++)
        if (strcmp(starts[i], wanted) == 0 ||
            (wanted[0] != '\0' && strlen(wanted) == strcspn(starts[i], ".") &&
             strncmp(starts[i], wanted, strlen(wanted)) == 0))
            return true;
    return wanted == NULL;
}

struct description *describe_add(struct descriptions *all, const char *name, const char *text,
                                 const char *note)
{
    const bool wanted = text != NULL && describe_wants(all, name);
    struct description *is = ARENA_NEXT(all->arena, all->list, all->count);
    is->name = arena_text(all->arena, "%s", name);
    is->text = wanted ? arena_text(all->arena, "%s", text) : NULL;
    is->note = arena_text(all->arena, "%s", note);
    return is;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(text) ? text->valuestring : "";
}

/* "sweep of 180 runs" or "run, policy esg". NULL: an error. */
static const char *experiment_text(const cJSON *json, const char *path, struct arena *arena,
                                   struct error *error)
{
    const cJSON *policy = cJSON_GetObjectItemCaseSensitive(json, "policy");
    if (policy != NULL)
        return arena_text(arena, "run, policy %s", text_of(policy, "name"));
    struct sweep *sweep = sweep_load(path, NULL, 0, error);
    if (sweep == NULL)
        return NULL;
    const char *text = arena_text(arena, "sweep of %s%zu runs",
                                  sweep->precision.given ? "at most " : "", sweep->run_count);
    sweep_free(sweep);
    return text;
}

/* An experiment or a sweep, named below workloads/experiments. Other files are left out. */
static bool describe_experiment(const char *path, const char *name, struct descriptions *all,
                                struct error *error)
{
    static const char folder[] = "workloads/experiments/";
    const char *place = strstr(path, folder);
    if (!path_ends_in(name, ".json"))
        return true;
    if (place != NULL)
        name = place + sizeof folder - 1;
    const cJSON *json = json_load(all->arena, path, error).node;
    const bool one = cJSON_HasObjectItem(json, "matrix") || cJSON_HasObjectItem(json, "policy");
    const bool wanted = one && describe_wants(all, name);
    const char *text = wanted ? experiment_text(json, path, all->arena, error) : NULL;
    if (one)
        describe_add(all, name, text, text_of(json, "note"));
    return json != NULL && (text != NULL || !wanted);
}

/* In what a text says of them. */
static bool alike(const struct gpu_spec *a, const struct gpu_spec *b)
{
    return a->sharing == b->sharing && a->units == b->units && strcmp(a->model, b->model) == 0;
}

/* "16 x (16 vCPUs, 1 A100 mps in 7)". */
static void describe_invokers(const struct invoker_group *group, struct arena *arena, char **text)
{
    arena_append(arena, text, "%s%u x (%u vCPUs", *text != NULL ? ", " : "", group->count,
                 group->vcpus);
    for (size_t i = 0, next; i < group->gpu_count; i = next) {
        const struct gpu_spec *gpu = &group->gpus[i];
        for (next = i + 1; next < group->gpu_count && alike(gpu, &group->gpus[next]);)
            next++;
        arena_append(arena, text, ", %zu %s %s in %u", next - i, gpu->model,
                     gpu_sharing_of(gpu)->name, gpu->units);
    }
    arena_append(arena, text, ")");
}

static bool describe_cluster(const char *path, const char *name, struct descriptions *all,
                             struct error *error)
{
    const struct json_value root = json_load(all->arena, path, error);
    struct workload workload = {0};
    char *text = NULL;
    const bool good = root.node != NULL && cluster_load(&root, &workload, error);
    for (size_t g = 0; good && g < workload.cluster.group_count; g++)
        describe_invokers(&workload.cluster.groups[g], all->arena, &text);
    if (good)
        describe_add(all, name, text, text_of(root.node, "note"));
    return good;
}

/* "segmentation, classification (after segment)". */
static bool describe_application(const char *path, const char *name, struct descriptions *all,
                                 struct error *error)
{
    const struct json_value root = json_load(all->arena, path, error);
    struct application application = {0};
    const cJSON *stage, *before;
    char *text = NULL;
    const bool good =
        root.node != NULL && application_load(&root, &root, NULL, &application, error);
    const cJSON *stages = good ? cJSON_GetObjectItemCaseSensitive(root.node, "stages") : NULL;
    cJSON_ArrayForEach(stage, stages)
    {
        const cJSON *after = cJSON_GetObjectItemCaseSensitive(stage, "after");
        arena_append(all->arena, &text, "%s%s", text != NULL ? ", " : "",
                     text_of(stage, "function"));
        cJSON_ArrayForEach(before, after)
        {
            arena_append(all->arena, &text, "%s %s%s", before == after->child ? " (after" : "",
                         before->valuestring, before->next == NULL ? ")" : "");
        }
    }
    if (good)
        describe_add(all, application.name, text, "");
    return good;
}

static bool describe_functions(const char *path, const char *name, struct descriptions *all,
                               struct error *error)
{
    const struct json_value root = json_load(all->arena, path, error);
    struct function_entries functions = {0};
    const bool good = root.node != NULL && function_entries_load(&root, &functions, error);
    for (size_t f = 0; good && f < functions.count; f++) {
        const struct function_entry *entry = &functions.entries[f];
        char *text = arena_text(all->arena, "%s", entry->model != NULL ? entry->model : "");
        if (!isnan(entry->input_bytes))
            arena_append(all->arena, &text, ", input %.0f bytes", entry->input_bytes);
        arena_append(all->arena, &text, ", in %s", name);
        describe_add(all, entry->name, text, "");
    }
    return good;
}

static bool describe_profile(const char *path, const char *name, struct descriptions *all,
                             struct error *error)
{
    struct profile *profile = profile_load(path, error);
    if (profile == NULL)
        return false;
    char *text =
        arena_text(all->arena, "%s in %d units, evidence: %s, %zu functions:", profile->device,
                   profile->unit, profile->evidence, profile->function_count);
    for (size_t f = 0; f < profile->function_count; f++)
        arena_append(all->arena, &text, " %s", profile->functions[f].name);
    describe_add(all, name, text, "");
    profile_free(profile);
    return true;
}

static bool describe_trace(const char *path, const char *name, struct descriptions *all,
                           struct error *error)
{
    const char *training = training_trace_recognise(path);
    if (training != NULL) {
        describe_add(all, name, arena_text(all->arena, "trainings, %s", training), "");
        return true;
    }
    struct trace_reader *reader = trace_open(path, NULL, 1, error);
    const bool bare = reader == NULL;
    if (bare) /* no header identifies the format of bare counts, and either of the two reads them */
        reader = trace_open(path, "counts-per-minute", 1, error);
    if (reader == NULL)
        return false;
    describe_add(all, name,
                 bare ? "counts without a header: give \"format\" (--format), "
                        "counts-per-minute or counts-per-second"
                      : trace_format(reader),
                 "");
    trace_close(reader);
    return true;
}

/* "8 models, measured in pairs: vgg16, vgg19, …". */
static bool describe_models(const char *path, const char *name, struct descriptions *all,
                            struct error *error)
{
    struct training_models *models = training_models_read(path, error);
    if (models == NULL)
        return false;
    char *text = arena_text(all->arena, "%zu models%s%s:", models->count,
                            models->vcpu_count > 0 ? ", by vCPUs" : "",
                            models->pairs != NULL ? ", measured in pairs" : "");
    for (size_t m = 0; m < models->count; m++)
        arena_append(all->arena, &text, "%s %s", m > 0 ? "," : "", models->models[m].name);
    describe_add(all, name, text, "");
    training_models_free(models);
    return true;
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

const struct described_kind described_kinds[DESCRIBED_KINDS] = {
    {"experiments", "experiment", "experiments for `esgsim run` and sweeps for `esgsim sweep`",
     "workloads/experiments workloads/experiments/theory workloads/experiments/known-for",
     describe_experiment},
    {"clusters", "cluster", "invokers and their GPUs", "workloads/clusters", describe_cluster},
    {"applications", "application", "DAGs of functions", "workloads/applications",
     describe_application},
    {"functions", "function", "what a stage runs: a network and its input", "workloads/functions",
     describe_functions},
    {"profiles", "profile", "measured or reconstructed latencies, by device", "traces/profiles",
     describe_profile},
    {"traces", "trace", "arrivals and trainings of real systems",
     "traces/arrivals traces/trainings", describe_trace},
    {"models", "model", "models that are trained; \"training.models\" names the file",
     "workloads/models", describe_models},
};

static int select_data(const struct dirent *entry)
{
    static const char *const endings[] = {".json", ".csv",    ".csv.gz",
                                          ".txt",  ".txt.gz", ".trace.gz"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (entry->d_name[0] != '.' && path_ends_in(entry->d_name, endings[i]))
            return 1;
    return 0;
}

static bool describe_folder(const struct described_kind *kind, const char *folder,
                            struct descriptions *all, struct error *error)
{
    struct dirent **entries = NULL;
    const char *path = access(folder, R_OK) == 0
                           ? folder
                           : arena_text(all->arena, "%s/%s", json_include_data_directory(), folder);
    const int count = scandir(path, &entries, select_data, alphasort);
    bool good =
        count >= 0 ||
        error_input(error, "list: %s is not a folder; set ESGSIM_DATA to the folder that has %s",
                    path, folder);
    for (int i = 0; i < count; i++) {
        const char *file = arena_text(all->arena, "%s/%s", path, entries[i]->d_name);
        good = good && kind->describe(file, entries[i]->d_name, all, error);
        free(entries[i]);
    }
    free(entries);
    return good;
}

bool describe_kind(const struct described_kind *kind, struct descriptions *all, struct error *error)
{
    if (kind->folders == NULL)
        return kind->describe(NULL, NULL, all, error);
    char *rest = arena_text(all->arena, "%s", kind->folders);
    bool good = true;
    for (char *one; good && (one = strsep(&rest, " ")) != NULL;)
        good = describe_folder(kind, one, all, error);
    return good;
}
