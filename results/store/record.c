#include "results/store/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sim/base/json.h"
#include "sim/base/json_write.h"
#include "sim/base/utf8.h"
#include "workloads/training/training_plan.h"
#include "workloads/world/capacity.h"

static char *copy_text(struct arena *arena, const char *text)
{
    return arena_text(arena, "%s", text == NULL ? "" : text);
}

/* A word as its name, other parameters as numbers. */
static char *parameters_text(struct arena *arena, const struct policy *policy, const double *values)
{
    cJSON *object = cJSON_CreateObject();
    for (const struct key *key = policy->parameters; key != NULL && key->name != NULL; key++) {
        const double value = values[key - policy->parameters];
        const char *word = parameter_word(key, value);
        (void)(word == NULL ? cJSON_AddNumberToObject(object, key->name, value)
                            : cJSON_AddStringToObject(object, key->name, word));
    }
    char *text = json_print(arena, object);
    cJSON_Delete(object);
    return text;
}

char *lines_join(struct arena *arena, const void *structures, size_t count, size_t size)
{
    char *text = arena_text(arena, "%s", "");
    for (size_t i = 0; i < count; i++)
        arena_append(arena, &text, "%s%s", i > 0 ? "\n" : "",
                     *(char *const *)((const char *)structures + i * size));
    return text;
}

void lines_copy(const char *lines, size_t index, char *text, size_t capacity)
{
    for (; index > 0 && *lines != '\0'; index--) {
        lines += strcspn(lines, "\n");
        lines += *lines == '\n';
    }
    utf8_mark_cut(text, capacity,
                  snprintf(text, capacity, "%.*s", (int)strcspn(lines, "\n"), lines));
}

struct run_metadata *run_metadata_create(const struct experiment *experiment,
                                         const struct policy *policy, const double *values,
                                         bool bounds, const char *label)
{
    struct run_metadata *metadata = arena_home(sizeof *metadata);
    struct arena *arena = metadata->arena;
    char recorded[TEXT_RECORDED];
    (void)snprintf(recorded, sizeof recorded, "%s%s", experiment_record_names[experiment->record],
                   bounds ? " bounds" : "");
    metadata->recorded = copy_text(arena, recorded);
    metadata->hash = copy_text(arena, experiment->hash);
    metadata->name = copy_text(arena, experiment->name);
    metadata->setting = copy_text(arena, experiment->setting_name);
    metadata->label = copy_text(arena, label);
    metadata->policy = copy_text(arena, policy->name);
    metadata->policy_parameters = parameters_text(arena, policy, values);
    metadata->configuration = copy_text(arena, experiment->resolved_json);
    metadata->evidence = copy_text(arena, experiment->profile_evidence);
    metadata->profile_sha256 = copy_text(arena, experiment->profile_sha256);
    metadata->trace_sha256 = copy_text(arena, experiment->trace_sha256);
    metadata->policy_sha256 = copy_text(arena, experiment->policy_sha256);
    metadata->policy_label = copy_text(arena, NULL);
    metadata->setting_label = copy_text(arena, experiment->setting_label);
    metadata->applications =
        lines_join(arena, experiment->workload.applications, experiment->workload.application_count,
                   sizeof *experiment->workload.applications);
    metadata->seed = experiment->seed;
    metadata->warmup_requests = experiment->warmup_requests;
    metadata->record = (uint64_t)experiment->record;
    const struct training_models *models =
        experiment->training == NULL ? NULL : experiment->training->models;
    if (models != NULL) {
        metadata->models = lines_join(arena, models->models, models->count, sizeof *models->models);
        metadata->models_evidence = copy_text(arena, models->evidence);
    }
    char *policy_text = experiment->policy_file == NULL
                            ? NULL
                            : json_read_text(experiment->policy_file, NULL, &(struct error){0});
    if (policy_text != NULL) /* else it is gone, which the run says */
        arena_adopt(arena, policy_text, free);
    metadata->policy_text = policy_text;
    metadata->max_stages = experiment->workload.max_stages;
    metadata->planned = experiment->planning.workload != NULL;
    metadata->fails = platform_fails(&experiment->platform);
    const bool requests = experiment->workload.application_count > 0;
    metadata->arrival_rate_per_s = requests ? arrival_spec_rate(&experiment->arrivals) : NAN;
    metadata->offered_load =
        metadata->arrival_rate_per_s / capacity_find(&experiment->workload).rate_per_s;
    return metadata;
}

/* ---- Two recorders as one -------------------------------------------------------------------- */

#define RECORD(row_type, table, event, level, title)                                               \
    static bool both_##event(void *context, const struct row_type *row, struct error *error)       \
    {                                                                                              \
        const struct recorder *pair = context;                                                     \
        for (size_t i = 0; i < 2; i++)                                                             \
            if (pair[i].event != NULL && !pair[i].event(pair[i].context, row, error))              \
                return false;                                                                      \
        return true;                                                                               \
    }
#include "sim/base/records.def"

struct recorder recorder_join(const struct recorder pair[2])
{
    struct recorder both = {.context = (void *)(uintptr_t)pair};
    /* The platform prepares no row that nobody takes. */
#define RECORD(row_type, table, event, level, title)                                               \
    if (pair[0].event != NULL || pair[1].event != NULL)                                            \
        both.event = both_##event;
#include "sim/base/records.def"
    return both;
}
