#include "workloads/training/trainings.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/engine/random.h"
#include "workloads/load/loader_internal.h"

enum { COUNT_MOST = TRAINING_MOST_ROWS };

static const char *const processes[] = {"trace", "poisson", NULL};

#define OF training_draw
#define SPLIT(key, kind) KEY_NUMBER(key, OF, split[kind], 0, 1e6, 0, OPTIONAL)
static const struct key split_keys[] = {SPLIT("image", TRAINING_IMAGE),
                                        SPLIT("language", TRAINING_LANGUAGE),
                                        SPLIT("speech", TRAINING_SPEECH), KEY_END};
#define PROCESS KEY_WORD("process", OF, drawn, processes, 0, REQUIRED)
static const struct key trace_keys[] = {PROCESS,
                                        KEY_NEEDED("file"),
                                        KEY_OWN("format"),
                                        KEY_OBJECT("split", split_keys, OPTIONAL),
                                        KEY_TEXT("cluster", OF, cluster, OPTIONAL),
                                        KEY_NUMBER("load", OF, load, 0, 100, 0, SPARSE),
                                        KEY_END};
static const struct key poisson_keys[] = {
    PROCESS,
    KEY_NUMBER("per_hour", OF, per_hour, 1e-6, 1e6, 0, REQUIRED),
    KEY_WHOLE("count", OF, count, 1, COUNT_MOST, 0, REQUIRED),
    KEY_OBJECT("split", split_keys, OPTIONAL),
    KEY_OWN("minutes"),
    KEY_END};
#undef OF
const struct key *const training_arrival_keys[] = {trace_keys, poisson_keys};

/* Sizes of gangs in Synergy's generator, and the probability of at most that size. */
static const struct {
    uint32_t gpus;
    double below;
} gang_sizes[] = {{1, 0.70}, {2, 0.80}, {4, 0.95}, {8, 1}};

/* ---- Loading --------------------------------------------------------------------------------- */

static bool check_split(const struct json_value *object, const struct training_draw *draw,
                        struct error *error)
{
    struct json_value split;
    double sum = 0;
    for (size_t c = 0; c < TRAINING_CLASSES; c++)
        sum += draw->split[c];
    return sum > 0 || !json_child(object, "split", &split) ||
           json_fault(&split, error, "all weights are 0; give one class a weight");
}

static bool load_range(const struct json_value *array, struct training_range *range,
                       struct error *error)
{
    if (!json_is_array(array, 3, 3, error))
        return false;
    const struct json_value weight = json_entry(array, 0);
    const struct json_value low = json_entry(array, 1);
    const struct json_value high = json_entry(array, 2);
    return json_as_number(&weight, 1e-6, 1e6, &range->weight, error) &&
           json_as_number(&low, -3, 6, &range->low, error) &&
           json_as_number(&high, range->low, 6, &range->high, error);
}

static bool load_ranges(const struct json_value *object, struct training_draw *draw,
                        struct error *error)
{
    struct json_value array;
    if (!json_child(object, "minutes", &array)) {
        draw->ranges[0] = (struct training_range){.weight = 0.8, .low = 1.5, .high = 3};
        draw->ranges[1] = (struct training_range){.weight = 0.2, .low = 3, .high = 4};
        draw->range_count = 2;
        return true;
    }
    if (!json_is_array(&array, 1, TRAINING_RANGES_MOST, error))
        return false;
    for (struct json_value entry = {0}; json_next(&array, &entry);)
        if (!load_range(&entry, &draw->ranges[draw->range_count++], error))
            return false;
    return true;
}

/* The virtual cluster to take from a trace that names them, and the load. */
static bool check_choice(const struct json_value *object, const char *format,
                         const struct training_draw *draw, struct error *error)
{
    struct json_value child;
    if (draw->load > 0 && strcmp(format, "openb") != 0)
        return json_fault(object, error,
                          "\"load\" needs a trace of the layout \"openb\", and "
                          "this one's is \"%s\"",
                          format);
    if (!json_child(object, "cluster", &child))
        return true;
    if (draw->cluster[0] == '\0' || strlen(draw->cluster) > NAME_LIMIT)
        return json_fault(&child, error, "is not the name of a virtual cluster");
    return strcmp(format, "philly") == 0 || strcmp(format, "esgsim") == 0 ||
           json_fault(
               &child, error,
               "only the layouts \"philly\" and \"esgsim\" name clusters, and this trace's is "
               "\"%s\"",
               format);
}

static bool load_trace(const struct json_include *document, const struct json_value *value,
                       const struct training_draw *draw, const char **file, const char **format,
                       struct error *error)
{
    struct json_value child;
    int choice = -1;
    if (!json_require(value, "file", &child, error) ||
        !json_choice(value, "format", training_formats, &choice, error))
        return false;
    *file = json_include_find_file(document, &child, error);
    if (*file == NULL)
        return false;
    *format = choice >= 0 ? training_formats[choice] : training_trace_recognise(*file);
    return *format != NULL
               ? check_choice(value, *format, draw, error)
               : json_fault(&child, error,
                            "its layout is not recognised; name it by \"format\": esgsim, synergy, "
                            "muri, gavel, philly, dilu or openb");
}

bool training_arrivals_load(const struct json_include *document, const struct json_value *value,
                            struct training_draw *draw, const char **file, const char **format,
                            struct error *error)
{
    struct json_value child;
    int process = 0;
    *draw = (struct training_draw){0};
    *file = NULL;
    *format = NULL;
    if (!json_is_object(value, NULL, error) || !json_require(value, "process", &child, error) ||
        !json_choice(value, "process", processes, &process, error) ||
        !keys_load(training_arrival_keys[process], value, draw, error) ||
        !check_split(value, draw, error))
        return false;
    return draw->drawn ? load_ranges(value, draw, error)
                       : load_trace(document, value, draw, file, format, error);
}

/* ---- Drawing --------------------------------------------------------------------------------- */

/* A class by weight, of those that have a model; then one of its models. */
static uint32_t draw_model(const struct training_models *models, const struct training_draw *draw,
                           struct random_stream *random)
{
    size_t members[TRAINING_CLASSES] = {0};
    double weights[TRAINING_CLASSES] = {0};
    double sum = 0;
    for (size_t i = 0; i < models->count; i++)
        members[models->models[i].kind]++;
    for (size_t c = 0; c < TRAINING_CLASSES; c++)
        sum += weights[c] = members[c] > 0 ? draw->split[c] : 0;
    const double place = random_uniform(random);
    if (!(sum > 0))
        return (uint32_t)(place * (double)models->count);
    size_t c = 0;
    for (double left = place * sum; c + 1 < TRAINING_CLASSES && left >= weights[c]; c++)
        left -= weights[c];
    while (weights[c] == 0) /* rounding may leave a last class without models */
        c--;
    size_t chosen = (size_t)(random_uniform(random) * (double)members[c]);
    uint32_t model = 0;
    for (;; model++)
        if (models->models[model].kind == (enum training_class)c && chosen-- == 0)
            return model;
}

static double draw_seconds(const struct training_draw *draw, struct random_stream *random)
{
    double sum = 0;
    for (size_t i = 0; i < draw->range_count; i++)
        sum += draw->ranges[i].weight;
    double left = random_uniform(random) * sum;
    size_t r = 0;
    for (; r + 1 < draw->range_count && left >= draw->ranges[r].weight; r++)
        left -= draw->ranges[r].weight;
    const struct training_range *range = &draw->ranges[r];
    return 60 * pow(10, range->low + random_uniform(random) * (range->high - range->low));
}

/* ⌊seconds ÷ iteration_s⌋, at least 1, of a model that has an iteration time. */
static bool fill_iterations(struct training_spec *spec, const struct training_models *models,
                            double seconds, const char *where, struct error *error)
{
    const struct training_model *model = &models->models[spec->model];
    spec->iteration_s = model->iteration_s[training_gang(models, spec->gpus)];
    if (!(spec->iteration_s > 0))
        return error_input(error,
                           "%s: the model \"%s\" has no iteration_s in the models \"%s\"; a drawn "
                           "model needs one",
                           where, model->name, models->name);
    spec->iterations = (uint64_t)fmax(1, floor(fmin(seconds / spec->iteration_s, 0x1p53)));
    spec->gpu_memory_mb = model->gpu_memory_mb;
    return true;
}

/* A training that takes its time: the duration in iterations of about a second, so that policies
 * that count iterations, and leases of whole ones, work as with others. */
static bool fill_time(struct training_spec *spec, double duration_s, const char *path,
                      struct error *error)
{
    if (duration_s > 0) {
        spec->iterations = (uint64_t)fmax(1, round(duration_s));
        spec->iteration_s = duration_s / (double)spec->iterations;
    }
    return spec->iteration_s > 0 ||
           error_input(error,
                       "%s: training %llu has iterations without a time; name a file of models "
                       "(\"training.models\", --models), or give durations",
                       path, (unsigned long long)spec->id);
}

struct training_spec *trainings_draw(const struct training_draw *draw,
                                     const struct training_models *models, uint64_t seed,
                                     struct error *error)
{
    struct training_spec *specs = arena_allocate(models->arena, draw->count, sizeof *specs);
    sim_time_t time = 0;
    for (size_t i = 0; i < draw->count; i++) {
        struct random_stream random;
        size_t g = 0;
        random_stream_open(&random, seed, RANDOM_TRAINING, i, 0);
        time += sim_round(ceil(random_exponential(&random, 3600 / draw->per_hour))) * SIM_S;
        for (const double u = random_uniform(&random); u >= gang_sizes[g].below;)
            g++;
        const double seconds = draw_seconds(draw, &random);
        specs[i] = (struct training_spec){.id = i,
                                          .model = draw_model(models, draw, &random),
                                          .gpus = gang_sizes[g].gpus,
                                          .arrival = time,
                                          .gpu_types = UINT64_MAX};
        if (time >= SIM_CLOCK_END
                ? !error_input(error,
                               "training.arrivals: training %zu arrives after the clock's "
                               "end, 18 years; raise \"per_hour\" or lower \"count\"",
                               i)
                : !fill_iterations(&specs[i], models, seconds, "training.arrivals", error))
            return NULL;
    }
    return specs;
}

/* ---- Traces ---------------------------------------------------------------------------------- */

static bool convert_row(const struct training_row *row, const char *path,
                        const struct training_models *models, const int32_t *map,
                        const struct training_draw *draw, uint64_t seed, size_t number,
                        struct training_spec *spec, struct error *error)
{
    *spec = (struct training_spec){.id = row->id,
                                   .gpus = row->gpus,
                                   .arrival = row->arrival,
                                   .iterations = row->iterations,
                                   .gpu_types = UINT64_MAX,
                                   .iteration_s = row->iteration_ms * models->overhead / 1000};
    if (row->arrival >= SIM_CLOCK_END)
        return error_input(error,
                           "%s: training %llu arrives at %.9g s, after the clock's end, 18 years; "
                           "times are in the unit of the layout, from the start of the run",
                           path, (unsigned long long)row->id, sim_to_s(row->arrival));
    if (row->request > 0 || row->vcpus > 0) {
        spec->model = row->type;
        spec->service = row->model == TRAINING_NO_MODEL ? 0 : (uint32_t)row->model;
        spec->iterations = 1;
        spec->iteration_s = row->duration_s;
        spec->request = row->request;
        spec->limit = row->limit;
        spec->gpu_memory_mb = 1024 * row->memory_gb;
        spec->vcpus = row->vcpus;
        spec->host_gb = row->host_gb;
        return true;
    }
    if (models->models[0].timed) {
        spec->model = row->model == TRAINING_NO_MODEL ? 0 : (uint32_t)map[row->model];
        return fill_time(spec, row->duration_s, path, error);
    }
    if (row->model == TRAINING_NO_MODEL) {
        RANDOM_STREAM(random, seed, RANDOM_TRAINING, number, 0);
        spec->model = draw_model(models, draw, &random);
        return fill_iterations(spec, models, row->duration_s, path, error);
    }
    spec->model = (uint32_t)map[row->model];
    if (row->duration_s > 0)
        return fill_iterations(spec, models, row->duration_s, path, error);
    spec->gpu_memory_mb = models->models[spec->model].gpu_memory_mb;
    if (spec->iteration_s > 0)
        return true;
    spec->iteration_s = models->models[spec->model].iteration_s[training_gang(models, spec->gpus)];
    return spec->iteration_s > 0 ||
           error_input(error,
                       "%s: training %llu is a \"%s\", which has no iteration_s in the models "
                       "\"%s\", and the trace gives none",
                       path, (unsigned long long)row->id, models->models[spec->model].name,
                       models->name);
}

/* The models' number of every name in the trace, unless the names are of services. */
static bool map_names(const struct training_trace *trace, const char *path,
                      const struct training_models *models, int32_t *map, struct error *error)
{
    for (size_t i = 0; i < trace->models.count && !(trace->rows[0].request > 0); i++) {
        const char *name = trace->models.names[i];
        map[i] = training_models_find(models, name);
        if (map[i] >= 0)
            continue;
        const char *near =
            error_nearest_of(name, &models->models[0].name, models->count, sizeof *models->models);
        return error_input(error,
                           "%s: the model \"%s\" is not in \"training.models\", which are "
                           "\"%s\"%s%s%s",
                           path, name, models->name,
                           near == NULL ? "; name a file that has it" : "; did you mean \"",
                           near == NULL ? "" : near, near == NULL ? "" : "\"?");
    }
    return true;
}

struct training_spec *trainings_from_trace(const struct training_trace *trace, const char *path,
                                           const struct training_models *models,
                                           const struct training_draw *draw, uint64_t seed,
                                           struct error *error)
{
    struct training_spec *specs = arena_allocate(models->arena, trace->count, sizeof *specs);
    int32_t *map = arena_allocate(models->arena, trace->models.count, sizeof *map);
    bool good = map_names(trace, path, models, map, error);
    for (size_t i = 0; good && i < trace->count; i++)
        good = convert_row(&trace->rows[i], path, models, map, draw, seed, i, &specs[i], error);
    return good ? specs : NULL;
}

/* ---- Loads ----------------------------------------------------------------------------------- */

/* Thousandths of GPUs. */
static int64_t milli_of(const struct training_spec *pod)
{
    return pod->gpus * sim_round(1000 * pod->request);
}

static size_t draw_index(struct random_stream *random, size_t count)
{
    return (size_t)(random_uniform(random) * (double)count);
}

static void shuffle(struct training_spec *pods, size_t count, struct random_stream *random)
{
    for (size_t i = count; i > 1; i--) {
        const size_t other = draw_index(random, i);
        const struct training_spec last = pods[i - 1];
        pods[i - 1] = pods[other];
        pods[other] = last;
    }
}

/* Leaves out random pods until they ask for no more than `wanted`. */
static void thin(struct training_spec *pods, size_t *count, int64_t milli, double wanted,
                 struct random_stream *random)
{
    while ((double)milli > wanted) {
        const size_t gone = draw_index(random, *count);
        milli -= milli_of(&pods[gone]);
        memmove(&pods[gone], &pods[gone + 1], (--*count - gone) * sizeof *pods);
    }
}

/* Appends pods drawn from the first `own` until one GPU's share of the next would be too much. */
static bool thicken(struct arena *arena, struct training_spec **pods, size_t *count, int64_t milli,
                    double wanted, struct random_stream *random, struct error *error)
{
    const size_t own = *count;
    for (;;) {
        const struct training_spec next = (*pods)[draw_index(random, own)];
        if ((double)(milli + sim_round(1000 * next.request)) > wanted)
            return true;
        if (*count == COUNT_MOST)
            return error_input(error, "training.arrivals.load: more than %d pods; lower it",
                               COUNT_MOST);
        arena_reserve(arena, pods, *count + 1, sizeof **pods);
        milli += milli_of(&next);
        (*pods)[(*count)++] = next;
    }
}

bool trainings_fill(struct arena *arena, struct training_spec **pods, size_t *count, double load,
                    uint64_t gpus, uint64_t seed, struct error *error)
{
    const double capacity = 1000 * (double)gpus;
    struct random_stream random;
    int64_t milli = 0, arrived = 0;
    for (size_t i = 0; i < *count; i++)
        milli += milli_of(&(*pods)[i]);
    if (milli == 0 || gpus == 0)
        return error_input(error,
                           "training.arrivals.load: no pod asks for a GPU, or there is none");
    random_stream_open(&random, seed, RANDOM_TRAINING, 0, 1);
    shuffle(*pods, *count, &random);
    if ((double)milli > load * capacity)
        thin(*pods, count, milli, load * capacity, &random);
    else if (!thicken(arena, pods, count, milli, load * capacity, &random, error))
        return false;
    for (size_t i = 0; i < *count; i++) {
        struct training_spec *pod = &(*pods)[i];
        arrived += milli_of(pod);
        pod->id = i;
        pod->arrival = sim_round(1e11 * (double)arrived / capacity);
    }
    return *count > 0 || error_input(error, "training.arrivals.load: holds no pod; raise it");
}
