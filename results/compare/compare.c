#include "results/compare/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sim/base/arena.h"
#include "sim/base/utf8.h"
#include "results/compare/compare_run.h"
#include "results/store/run_details.h"

/* The limits are the project's requirements on the simulator's accuracy. */
const struct compare_measure compare_measures[COMPARE_METRICS] = {
    [COMPARE_MEAN] = {"latency_ms_mean", 5},      [COMPARE_P50] = {"latency_ms_p50", NAN},
    [COMPARE_P90] = {"latency_ms_p90", NAN},      [COMPARE_P95] = {"latency_ms_p95", 5},
    [COMPARE_P99] = {"latency_ms_p99", NAN},      [COMPARE_P999] = {"latency_ms_p999", NAN},
    [COMPARE_QUEUE] = {"queue_ms_mean", NAN},     [COMPARE_TRANSFER] = {"transfer_ms_mean", NAN},
    [COMPARE_EXECUTION] = {"exec_ms_mean", NAN},  [COMPARE_HIT] = {"slo_hit_rate", 2},
    [COMPARE_COST] = {"cost_per_request_usd", 3},
};

const struct metric *compare_metric(size_t metric)
{
    static const struct metric p90 = {
        .name = "latency_ms_p90", .unit = "ms", .face = FACE_MS("p90", "p90 latency")};
    const struct metric *found = metric_find(compare_measures[metric].name);
    return found != NULL ? found : &p90;
}

bool compare_served_alike(const struct compare_run *run)
{
    const struct compare_part *all = &run->parts[run->part_count - 1];
    return fabs((double)all->dropped[0] - (double)all->dropped[1]) <=
               0.005 * (double)all->requests &&
           !(fabs(all->mean_batch[0] / all->mean_batch[1] - 1) > 0.1);
}

enum compare_standing compare_stands(const struct compare_run *run, enum compare_metric metric,
                                     double *by)
{
    const struct compare_figure *figure = &run->parts[run->part_count - 1].figures[metric];
    if (metric < COMPARE_HIT && !compare_served_alike(run))
        return COMPARE_UNTOLD;
    const double limit = compare_measures[metric].limit;
    if (isnan(limit) || isnan(figure->error))
        return COMPARE_UNTOLD;
    const double above = fabs(figure->error) - limit;
    if (by != NULL)
        *by = above > 0 ? above : 0;
    return above > 0 ? COMPARE_MISSED : COMPARE_MET;
}

/* ---- Comparison of configurations ------------------------------------------------------------ */

enum { KEY_SIZE = 256 };

/* A replay may differ in these keys, because it does not use the models of interference, of the
 * host, of turnarounds and of decisions. */
static bool key_is_replay_s(const char *key)
{
    static const char *const keys[] = {"platform.interference", "platform.host_ms",
                                       "platform.turnaround", "platform.decision_cost"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (strcmp(key, keys[k]) == 0)
            return true;
    return false;
}

/* If they differ, `which` becomes the first key that does. */
static bool values_differ(const cJSON *a, const cJSON *b, const char *key, char *which)
{
    const bool objects = cJSON_IsObject(a) && cJSON_IsObject(b);
    const bool arrays = cJSON_IsArray(a) && cJSON_IsArray(b);
    const cJSON *const sides[] = {a, b};
    for (size_t s = 0; s < 2 && (objects || (arrays && s == 0)); s++) {
        const cJSON *child, *entry = sides[1 - s]->child;
        size_t index = 0;
        cJSON_ArrayForEach(child, sides[s])
        {
            char path[KEY_SIZE];
            const char *join = key[0] != '\0' ? "." : "";
            const cJSON *other =
                arrays ? entry : cJSON_GetObjectItemCaseSensitive(sides[1 - s], child->string);
            utf8_mark_cut(path, KEY_SIZE,
                          arrays ? snprintf(path, KEY_SIZE, "%s%s%zu", key, join, index++)
                                 : snprintf(path, KEY_SIZE, "%s%s%s", key, join, child->string));
            if (!key_is_replay_s(path) && values_differ(child, other, path, which))
                return true;
            entry = entry == NULL ? NULL : entry->next;
        }
    }
    if (objects ||
        (arrays ? cJSON_GetArraySize(a) == cJSON_GetArraySize(b) : cJSON_Compare(a, b, true)))
        return false;
    (void)snprintf(which, KEY_SIZE, "%s", key);
    return true;
}

/* Returns whether the resolved configurations differ in more than what a replay changes. */
static bool configurations_differ(const char *a, const char *b, char *which)
{
    cJSON *left = cJSON_Parse(a), *right = cJSON_Parse(b);
    const bool differ = left == NULL || right == NULL || values_differ(left, right, "", which);
    if (left == NULL || right == NULL)
        (void)snprintf(which, KEY_SIZE, "configuration");
    cJSON_Delete(left);
    cJSON_Delete(right);
    return differ;
}

/* ---- A pair ---------------------------------------------------------------------------------- */

static const char *setting_of(const struct summary_row *row)
{
    return row->setting[0] != '\0' ? row->setting : row->name;
}

static char *run_title(struct arena *arena, const struct summary_row *row)
{
    return arena_text(arena, "%s, %s, seed %" PRIu64, setting_of(row), row->policy, row->seed);
}

/* NULL: the run has none. */
static char *text_read(struct arena *arena, const struct run_details *details, const char *hash,
                       const char *name)
{
    const char *text = run_details_text(details, hash, name);
    return text != NULL ? arena_text(arena, "%s", text) : NULL;
}

static void execution_read(const struct run_details *details, const char *hash,
                           struct compare_run *run)
{
    run->backend = text_read(run->arena, details, hash, "replay_backend");
    run->device = text_read(run->arena, details, hash, "replay_device");
    run->driver = text_read(run->arena, details, hash, "replay_driver");
    run->gpu = run_details_number(details, hash, "replay_gpu") == 1;
    run->late_us_mean = run_details_number(details, hash, "late_us_mean");
    run->late_us_p99 = run_details_number(details, hash, "late_us_p99");
    run->late_us_max = run_details_number(details, hash, "late_us_max");
    run->host_ms = run_details_number(details, hash, "host_ms");
    run->details = text_read(run->arena, details, hash, "replay_details");
}

static bool run_compare(struct compare_run *run, const struct run_record *const sides[2],
                        struct error *error)
{
    if (!outline_load(run->arena, sides[1]->configuration, &run->outline, NULL) ||
        run->outline.workload.application_count == 0)
        return error_input(error,
                           "%s: the configuration names no applications and functions; replay it "
                           "again",
                           run->title);
    if (!compare_fill_parts(run, sides, error))
        return false;
    compare_fill_batches(run, sides);
    return true;
}

/* Copies the mean batch sizes from the tables of each run. */
static void mean_batches_fill(const struct comparison *against, struct compare_run *run)
{
    const struct results *const files[] = {against->simulated, against->real};
    const struct summary_row *const rows[] = {run->simulated, run->real};
    for (size_t s = 0; s < 2; s++)
        for (size_t p = 0; p < run->part_count; p++) {
            const struct measures *measures = results_measures(
                files[s], (size_t)(rows[s] - files[s]->runs), run->parts[p].application);
            run->parts[p].mean_batch[s] = measures == NULL ? NAN : measures->mean_batch;
        }
}

/* ---- Pairing --------------------------------------------------------------------------------- */

/* Both files, open for reading. */
struct files {
    const char *paths[2];
    struct run_details *details[2];
};

static bool replayed(const struct run_details *details, const char *hash)
{
    return run_details_text(details, hash, "replay_backend") != NULL;
}

static bool kinds_check(const struct files *files, const struct comparison *against,
                        struct error *error)
{
    const struct results *const results[] = {against->simulated, against->real};
    for (size_t s = 2; s-- > 0;)
        for (size_t i = 0; i < results[s]->run_count; i++)
            if (replayed(files->details[s], results[s]->runs[i].hash) != (s == 1))
                return error_input(error,
                                   s == 1 ? "%s: run %s was simulated, not replayed; --against "
                                            "wants the file that `esgsim replay` or `esgsim run "
                                            "--rehearse` wrote"
                                          : "%s: run %s is itself a replay; give the simulation "
                                            "first and the replay by --against",
                                   files->paths[s], results[s]->runs[i].hash);
    return true;
}

/* Finds the first simulated run with the same policy and seed and an equivalent configuration; else
 * SIZE_MAX. `near` becomes a run of the same setting that differs, and `which` the key. */
static size_t partner_find(const struct files *files, const struct comparison *against,
                           const struct summary_row *real, size_t *near, char *which)
{
    const char *ours = run_details_text(files->details[1], real->hash, "configuration");
    size_t found = SIZE_MAX;
    *near = SIZE_MAX;
    for (size_t i = 0; ours != NULL && found == SIZE_MAX && i < against->simulated->run_count;
         i++) {
        const struct summary_row *run = &against->simulated->runs[i];
        char differs[KEY_SIZE];
        if (run->seed != real->seed || strcmp(run->policy, real->policy) != 0)
            continue;
        const char *theirs = run_details_text(files->details[0], run->hash, "configuration");
        if (theirs != NULL && !configurations_differ(theirs, ours, differs)) {
            found = i;
        } else if (theirs != NULL && *near == SIZE_MAX &&
                   strcmp(setting_of(run), setting_of(real)) == 0) {
            *near = i;
            memcpy(which, differs, KEY_SIZE);
        }
    }
    return found;
}

static void alone_add(struct comparison *against, const struct summary_row *row, const char *what)
{
    *ARENA_NEXT(against->arena, against->alone, against->alone_count) =
        arena_text(against->arena, "%s: %s", run_title(against->arena, row), what);
}

static bool pair_add(const struct files *files, struct comparison *against, size_t simulated,
                     size_t real, struct error *error)
{
    struct compare_run *run = &against->runs[against->run_count++];
    run->simulated = &against->simulated->runs[simulated];
    run->real = &against->real->runs[real];
    run->arena = against->arena;
    run->setting = setting_of(run->real);
    run->title = run_title(run->arena, run->real);
    execution_read(files->details[1], run->real->hash, run);
    struct run_record *records[2] = {
        run_record_load(files->paths[0], run->simulated->hash, false, error), NULL};
    if (records[0] != NULL)
        records[1] = run_record_load(files->paths[1], run->real->hash, false, error);
    const bool good =
        records[1] != NULL &&
        run_compare(run, (const struct run_record *const[2]){records[0], records[1]}, error);
    arena_home_free(records[0]);
    arena_home_free(records[1]);
    if (good)
        mean_batches_fill(against, run);
    return good;
}

static bool pairs_find(const struct files *files, struct comparison *against, struct error *error)
{
    const size_t count = against->real->run_count;
    bool *taken = arena_allocate(against->arena, against->simulated->run_count, sizeof *taken);
    against->runs = arena_allocate(against->arena, count, sizeof *against->runs);
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        const struct summary_row *real = &against->real->runs[i];
        char which[KEY_SIZE];
        size_t near;
        const size_t partner = partner_find(files, against, real, &near, which);
        if (partner != SIZE_MAX) {
            taken[partner] = true;
            good = pair_add(files, against, partner, i, error);
        } else if (near != SIZE_MAX) {
            good = error_input(error,
                               "%s: %s under policy %s, seed %" PRIu64
                               ", is not the experiment of %s: %s differs; replay and simulate the "
                               "same",
                               files->paths[1], setting_of(real), real->policy, real->seed,
                               files->paths[0], which);
        } else {
            alone_add(against, real, "replayed, not simulated");
        }
    }
    for (size_t i = 0; good && i < against->simulated->run_count; i++)
        if (!taken[i])
            alone_add(against, &against->simulated->runs[i], "simulated, not replayed");
    return good;
}

static bool compare_fill(const struct files *files, struct comparison *against, struct error *error)
{
    if (!kinds_check(files, against, error) || !pairs_find(files, against, error))
        return false;
    against->gpu = true;
    for (size_t i = 0; i < against->run_count; i++)
        against->gpu = against->gpu && against->runs[i].gpu;
    return against->run_count > 0 ||
           error_input(
               error,
               "%s has no run of the policy, setting and seed of any in %s; replay what was "
               "simulated",
               files->paths[1], files->paths[0]);
}

struct comparison *compare_load(const char *simulated, const char *real, struct error *error)
{
    struct files files = {.paths = {simulated, real}};
    struct comparison *against = arena_home(sizeof *against);
    against->simulated = results_load(simulated, error);
    if (against->simulated != NULL)
        against->real = results_load(real, error);
    if (against->simulated != NULL && against->real != NULL)
        files.details[0] = run_details_open(simulated, error);
    if (files.details[0] != NULL)
        files.details[1] = run_details_open(real, error);
    const bool good = files.details[1] != NULL && compare_fill(&files, against, error);
    run_details_close(files.details[0]);
    run_details_close(files.details[1]);
    if (good)
        return against;
    compare_free(against);
    return NULL;
}

void compare_free(struct comparison *against)
{
    if (against == NULL)
        return;
    results_free(against->simulated);
    results_free(against->real);
    arena_destroy(against->arena);
}
