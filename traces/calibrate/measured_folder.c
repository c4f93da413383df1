#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/json.h"
#include "traces/calibrate/samples.h"

/* Texts of device.json; NULL: not there. */
struct origin {
    char *by, *device, *evidence, *date, *driver, *torch, *l2;
    bool half, graphs;
};

static bool load_origin(const char *path, struct origin *origin, struct error *error)
{
    if (access(path, F_OK) != 0) {
        error_input(error, "%s: is not there; name a folder that traces/capture/measure.py wrote",
                    path);
        return false;
    }
    cJSON *root = json_parse_file(path, error);
    if (root == NULL)
        return false;
    const struct json_value value = json_root(path, root);
    struct json_value by;
    const bool fine = json_is_object(&value, NULL, error) &&
                      json_require(&value, "by", &by, error) &&
                      json_string(&value, "by", &origin->by, error) &&
                      json_string(&value, "device", &origin->device, error) &&
                      json_string(&value, "evidence", &origin->evidence, error) &&
                      json_string(&value, "date", &origin->date, error) &&
                      json_string(&value, "driver", &origin->driver, error) &&
                      json_string(&value, "torch", &origin->torch, error) &&
                      json_string(&value, "l2", &origin->l2, error) &&
                      json_bool(&value, "half", &origin->half, error) &&
                      json_bool(&value, "graphs", &origin->graphs, error);
    cJSON_Delete(root);
    return fine;
}

static const char *or_unknown(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : "unknown";
}

/* Sets what the command line did not. */
static void note_origin(struct sample_set *set, const struct origin *origin)
{
    struct arena *arena = samples_memory(set);
    if (set->device == NULL)
        set->device = arena_text(arena, "%s, shares by %s", or_unknown(origin->device), origin->by);
    if (set->source == NULL)
        set->source = arena_text(
            arena, "measure.py on %s, driver %s, PyTorch %s, %s, %s, L2 cache %s",
            or_unknown(origin->date), or_unknown(origin->driver), or_unknown(origin->torch),
            origin->half ? "FP16 channels-last" : "FP32", origin->graphs ? "CUDA graphs" : "eager",
            origin->l2 == NULL ? "hot" : origin->l2); /* folders of before do not say it */
    if (set->evidence == NULL)
        set->evidence = arena_text(arena, "%s", or_unknown(origin->evidence));
}

/* A table that was begun may have its header alone. */
static bool has_rows(const char *path)
{
    FILE *file = fopen(path, "r");
    int lines = 0;
    for (int byte = 0; file != NULL && lines < 2 && (byte = fgetc(file)) != EOF;)
        lines += byte == '\n';
    if (file != NULL)
        (void)fclose(file);
    return lines == 2;
}

static bool read_tables(struct sample_set *set, const char *folder, struct error *error)
{
    static const char *const names[] = {"solo.csv", "cold.csv", "groups.csv"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *path = arena_text(samples_memory(set), "%s/%s", folder, names[i]);
        if ((i == 0 || has_rows(path)) && !sample_table_read(set, path, error))
            return false;
    }
    return true;
}

bool measured_folder_read(struct sample_set *set, const char *path, bool rehearsal,
                          struct error *error)
{
    struct origin origin = {0};
    const char *device = arena_text(samples_memory(set), "%s/device.json", path);
    bool fine = load_origin(device, &origin, error);
    if (fine && !rehearsal && strcmp(origin.by, "dry") == 0)
        fine = error_input(error,
                           "%s: its times are a formula's, not measured; give --rehearsal to try "
                           "them all the same",
                           path);
    set->rehearsal = set->rehearsal || (fine && strcmp(origin.by, "dry") == 0);
    set->kernels = true;
    if (fine)
        note_origin(set, &origin);
    fine = fine && read_tables(set, path, error);
    char *const texts[] = {origin.by,     origin.device, origin.evidence, origin.date,
                           origin.driver, origin.torch,  origin.l2};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
    return fine;
}
