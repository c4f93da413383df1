#include "traces/capture/replay/replay_setup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Estimated memory. Per partition stream: stream and library handles, of which cuBLAS takes 32 MiB
 * on Hopper. Per copy: cuDNN's convolutions, whose real need is known only on the device. Per
 * context: the libraries' code. */
static const size_t LANE_BYTES = (size_t)40 << 20;
static const size_t WORKSPACE_BYTES = (size_t)128 << 20;
static const size_t CONTEXT_BYTES = (size_t)2 << 30;
static const double MEGABYTE = 1048576;

enum { NAME_LENGTH = 128, PATH_LENGTH = 512, ALIGNMENT = 256 };

/* ---- Networks by name ------------------------------------------------------------------------ */

struct network_names {
    char files[REPLAY_NETWORKS][NAME_LENGTH]; /* without ".json" */
    size_t count;
};

static void plain_text(const char *text, char plain[static NAME_LENGTH])
{
    size_t used = 0;
    for (; *text != '\0' && used + 1 < NAME_LENGTH; text++)
        if (isalnum((unsigned char)*text))
            plain[used++] = (char)tolower((unsigned char)*text);
    plain[used] = '\0';
}

static bool list_networks(const char *folder, struct network_names *names, struct error *error)
{
    struct dirent **entries = NULL;
    const int count = graph_files(folder, &entries);
    if (count < 0)
        return error_input(error, "replay: %s is no folder of networks; name it with --folder",
                           folder);
    for (int i = 0; i < count; i++) {
        if (names->count < REPLAY_NETWORKS)
            (void)snprintf(names->files[names->count++], NAME_LENGTH, "%.*s",
                           (int)(strlen(entries[i]->d_name) - 5), entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return true;
}

/* The network with this name, or the only one with this prefix. NULL: none. */
static const char *match_network(const struct network_names *names, const char *text)
{
    char wanted[NAME_LENGTH];
    const char *beginning = NULL;
    size_t beginnings = 0;
    plain_text(text, wanted);
    for (size_t i = 0; i < names->count; i++) {
        char plain[NAME_LENGTH];
        plain_text(names->files[i], plain);
        if (strcmp(plain, wanted) == 0)
            return names->files[i];
        if (wanted[0] != '\0' && strncmp(plain, wanted, strlen(wanted)) == 0) {
            beginning = names->files[i];
            beginnings++;
        }
    }
    return beginnings == 1 ? beginning : NULL;
}

static const char *find_network(const struct network_names *names, const char *folder,
                                const struct function *function, struct error *error)
{
    const char *found = match_network(names, function->model);
    if (found == NULL)
        found = match_network(names, function->name);
    if (found == NULL)
        error_input(error,
                    "replay: function %s is a \"%s\", and %s has no network of that name; "
                    "`esgsim list networks` lists them, the function's \"model\" names one",
                    function->name, function->model, folder);
    return found;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static bool add_batch(struct replay_function *f, const char *path, int batch, bool half,
                      struct error *error)
{
    struct replay_batch *entry = &f->batches[f->batch_count];
    struct graph_arena arena;
    entry->batch = batch;
    entry->graph = graph_load_resized(path, batch, error);
    if (entry->graph == NULL)
        return false;
    f->batch_count++;
    if (!graph_arena_plan(entry->graph, half ? 2 : 4, ALIGNMENT, &arena, error))
        return false;
    entry->arena_bytes = arena.bytes;
    graph_arena_free(&arena);
    for (size_t i = 0; i < entry->graph->node_count; i++)
        if (entry->graph->nodes[i].kind == GRAPH_INPUT)
            entry->input_bytes += (size_t)graph_elements(&entry->graph->nodes[i].shape) *
                                  (entry->graph->nodes[i].tokens || !half ? 4 : 2);
    f->weight_bytes = graph_weight_bytes(entry->graph, half ? 2 : 4);
    return true;
}

/* Configurations are sorted by batch, so equal batch sizes are adjacent. */
static bool add_batches(struct replay_function *f, const struct function *function,
                        const char *path, bool half, struct error *error)
{
    f->batches = calloc(function->configuration_count, sizeof *f->batches);
    if (f->batches == NULL)
        return error_run(error, "replay: out of memory");
    for (size_t k = 0; k < function->configuration_count; k++) {
        const int batch = function->configurations[k].batch;
        if ((f->batch_count == 0 || f->batches[f->batch_count - 1].batch != batch) &&
            !add_batch(f, path, batch, half, error))
            return false;
    }
    return true;
}

static uint32_t containers_of(const struct experiment *experiment, size_t function)
{
    return experiment->platform.initial == INITIAL_COUNTS
               ? experiment->platform.initial_counts[function]
               : 1;
}

static bool take_shares(struct replay_setup *setup, const struct function *function,
                        struct replay_function *f, uint32_t *sizes, struct error *error)
{
    uint32_t least = UINT32_MAX;
    for (size_t k = 0; k < function->configuration_count; k++) {
        const struct configuration *c = &function->configurations[k];
        if (c->vgpu < 1 || c->vgpu > setup->units)
            return error_input(error,
                               "replay: function %s has a configuration of %d units of the GPU, "
                               "1..%d can be replayed; give it \"configurations\": {\"vgpu\": […]}",
                               function->name, c->vgpu, setup->units);
        const double work_s = sim_to_s(c->time) * c->vgpu;
        if (c->batch == 1 && (f->work_s == 0 || work_s < f->work_s))
            f->work_s = work_s;
        if (c->vgpu < least)
            least = c->vgpu;
        *sizes |= UINT32_C(1) << (c->vgpu - 1);
    }
    f->copies = (uint32_t)setup->units / least;
    return true;
}

static bool make_function(struct replay_setup *setup, const struct experiment *experiment,
                          const struct network_names *names, const char *folder, size_t index,
                          uint32_t *sizes, struct error *error)
{
    const struct function *function = &experiment->workload.functions[index];
    struct replay_function *f = &setup->functions[index];
    const uint32_t containers = containers_of(experiment, index);
    char path[PATH_LENGTH];
    f->name = strdup(function->name);
    if (f->name == NULL)
        return error_run(error, "replay: out of memory");
    const char *network = find_network(names, folder, function, error);
    if (network == NULL || !take_shares(setup, function, f, sizes, error))
        return false;
    if (containers < f->copies)
        f->copies = containers;
    if (f->copies == 0)
        return error_input(error,
                           "%s: platform.initial: function %s has no container, and a replay "
                           "starts none; give it some",
                           experiment->path, f->name);
    (void)snprintf(path, sizeof path, "%s/%s.json", folder, network);
    return add_batches(f, function, path, setup->half, error);
}

/* ---- The setup ------------------------------------------------------------------------------- */

static bool check_cluster(const struct experiment *experiment, struct replay_setup *setup,
                          struct error *error)
{
    const struct cluster_spec *cluster = &experiment->workload.cluster;
    if (cluster->invoker_count != 1 || cluster->groups[0].gpu_count != 1)
        return error_input(error,
                           "%s: cluster: a replay plays one invoker with one GPU on one GPU; take "
                           "workloads/clusters/h200-1.json",
                           experiment->path);
    const struct gpu_spec *gpu = &cluster->groups[0].gpus[0];
    if (gpu->units < 1 || gpu->units > SLICES_UNITS)
        return error_input(error,
                           "%s: cluster: a GPU of %d units; a green context is made for every set "
                           "of them, so 1..%d can be replayed, and 7 are what captures measure",
                           experiment->path, gpu->units, SLICES_UNITS);
    if (experiment->platform.initial == INITIAL_COLD)
        return error_input(error,
                           "%s: platform.initial: \"cold\", and a replay starts no containers; "
                           "give the containers of each function",
                           experiment->path);
    setup->units = gpu->units;
    setup->memory_mb = gpu->memory_mb;
    return true;
}

static double capacity_of(const struct replay_setup *setup, const struct workload *workload)
{
    double work_s = 0;
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        for (size_t s = 0; s < application->stage_count; s++)
            work_s +=
                application->weight * setup->functions[application->stages[s].function].work_s;
    }
    return setup->units / work_s;
}

bool replay_setup_make(const struct experiment *experiment, const char *folder, bool half,
                       struct replay_setup *setup, struct error *error)
{
    struct network_names *names = calloc(1, sizeof *names);
    uint32_t sizes = 0;
    *setup = (struct replay_setup){.half = half};
    setup->function_count = experiment->workload.function_count;
    setup->functions = calloc(setup->function_count, sizeof *setup->functions);
    bool good = names != NULL && setup->functions != NULL;
    if (!good)
        error_run(error, "replay: out of memory");
    good = good && check_cluster(experiment, setup, error) && list_networks(folder, names, error);
    for (size_t f = 0; good && f < setup->function_count; f++)
        good = make_function(setup, experiment, names, folder, f, &sizes, error);
    free(names);
    if (!good) {
        replay_setup_clear(setup);
        return false;
    }
    setup->set_count = slices_sets(setup->units, sizes, setup->sets);
    setup->capacity = capacity_of(setup, &experiment->workload);
    return true;
}

void replay_setup_clear(struct replay_setup *setup)
{
    for (size_t f = 0; setup->functions != NULL && f < setup->function_count; f++) {
        for (size_t b = 0; b < setup->functions[f].batch_count; b++)
            graph_free(setup->functions[f].batches[b].graph);
        free(setup->functions[f].batches);
        free(setup->functions[f].name);
    }
    free(setup->functions);
    *setup = (struct replay_setup){.units = 0};
}

size_t replay_setup_batch(const struct replay_function *function, int batch)
{
    size_t b = 0;
    while (b + 1 < function->batch_count && function->batches[b].batch < batch)
        b++;
    return b;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Weights, activations of the largest batch, inputs of every batch, one workspace. */
static size_t copy_bytes(const struct replay_function *f)
{
    size_t most = 0;
    size_t inputs = 0;
    for (size_t b = 0; b < f->batch_count; b++) {
        inputs += f->batches[b].input_bytes;
        if (f->batches[b].arena_bytes > most)
            most = f->batches[b].arena_bytes;
    }
    return f->weight_bytes + most + inputs + WORKSPACE_BYTES;
}

size_t replay_setup_bytes(const struct replay_setup *setup)
{
    size_t bytes = CONTEXT_BYTES + setup->set_count * LANE_BYTES;
    for (size_t f = 0; f < setup->function_count; f++)
        bytes += setup->functions[f].copies * copy_bytes(&setup->functions[f]);
    return bytes;
}

bool replay_setup_fits(const struct replay_setup *setup, double bytes, struct error *error)
{
    size_t largest = 0;
    const double wanted = (double)replay_setup_bytes(setup);
    if (wanted <= bytes)
        return true;
    for (size_t f = 1; f < setup->function_count; f++)
        if (setup->functions[f].copies * copy_bytes(&setup->functions[f]) >
            setup->functions[largest].copies * copy_bytes(&setup->functions[largest]))
            largest = f;
    const struct replay_function *f = &setup->functions[largest];
    return error_input(error,
                       "replay: %.0f MB of GPU memory are needed and there are %.0f; the most, "
                       "%.0f MB, go to %u copies of %s at batches up to %d: lower its largest "
                       "batch (\"configurations\": {\"batch\": […]}) or platform.initial.%s",
                       wanted / MEGABYTE, bytes / MEGABYTE,
                       (double)(f->copies * copy_bytes(f)) / MEGABYTE, f->copies, f->name,
                       f->batches[f->batch_count - 1].batch, f->name);
}

/* ---- Telling --------------------------------------------------------------------------------- */

void replay_setup_print(const struct replay_setup *setup, FILE *out)
{
    (void)fprintf(out, "%-24s %-20s %7s %12s %12s %12s  %s\n", "function", "network", "copies",
                  "weights MB", "memory MB", "together MB", "batches");
    for (size_t i = 0; i < setup->function_count; i++) {
        const struct replay_function *f = &setup->functions[i];
        const double bytes = (double)copy_bytes(f);
        (void)fprintf(out, "%-24s %-20s %7u %12.1f %12.1f %12.1f ", f->name,
                      f->batches[0].graph->name, f->copies, (double)f->weight_bytes / MEGABYTE,
                      bytes / MEGABYTE, bytes * f->copies / MEGABYTE);
        for (size_t b = 0; b < f->batch_count; b++)
            (void)fprintf(out, " %d", f->batches[b].batch);
        (void)fputc('\n', out);
    }
    (void)fprintf(out, "%zu sets of %d units, a green context with its handles each: %.1f MB\n",
                  setup->set_count, setup->units,
                  (double)(setup->set_count * LANE_BYTES) / MEGABYTE);
    (void)fprintf(out, "memory in all: %.0f MB of the experiment's %.0f\n",
                  (double)replay_setup_bytes(setup) / MEGABYTE, setup->memory_mb);
    (void)fprintf(out, "capacity: %.3f requests per second of jobs alone\n", setup->capacity);
}

static bool equal_functions(const struct replay_function *a, const struct replay_function *b)
{
    bool equal = strcmp(a->name, b->name) == 0 && a->copies == b->copies &&
                 a->batch_count == b->batch_count &&
                 strcmp(a->batches[0].graph->path, b->batches[0].graph->path) == 0;
    for (size_t i = 0; equal && i < a->batch_count; i++)
        equal = a->batches[i].batch == b->batches[i].batch;
    return equal;
}

bool replay_setup_equal(const struct replay_setup *a, const struct replay_setup *b)
{
    bool equal = a->units == b->units && a->half == b->half && a->set_count == b->set_count &&
                 a->function_count == b->function_count &&
                 memcmp(a->sets, b->sets, a->set_count * sizeof a->sets[0]) == 0;
    for (size_t f = 0; equal && f < a->function_count; f++)
        equal = equal_functions(&a->functions[f], &b->functions[f]);
    return equal;
}
