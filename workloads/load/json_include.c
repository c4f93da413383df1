#include "workloads/load/json_include.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/atomic_file.h"
#include "workloads/load/inputs.h"

#ifndef ESGSIM_DATADIR
#define ESGSIM_DATADIR "."
#endif

const char *json_include_data_directory(void)
{
    const char *directory = getenv("ESGSIM_DATA");
    return directory != NULL && directory[0] != '\0' ? directory : ESGSIM_DATADIR;
}

char *json_include_join(struct arena *arena, const char *directory, const char *name)
{
    const bool alone = name[0] == '/' || strcmp(directory, ".") == 0;
    return arena_text(arena, "%s%s%s", alone ? "" : directory, alone ? "" : "/", name);
}

static char *directory_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return arena_text(arena, ".");
    return arena_text(arena, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* ---- Finding files -------------------------------------------------------------------------- */

/* The first existing path of directory/name, name and data folder/name; NULL if there is none. */
static char *find_existing(struct arena *arena, const char *directory, const char *name)
{
    const char *const folders[] = {directory, ".", json_include_data_directory()};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char *path = json_include_join(arena, folders[i], name);
        if (access(path, F_OK) == 0)
            return path;
    }
    return NULL;
}

char *json_include_find_operand(struct arena *arena, const char *path)
{
    return find_existing(arena, ".", path);
}

const char *json_include_operand(struct arena *arena, const char *path)
{
    const char *found = json_include_find_operand(arena, path);
    return found != NULL ? found : path;
}

/* A file of `folder` with a name close to `name`; NULL if there is none. */
static const char *find_nearest(struct arena *arena, const char *folder, const char *name)
{
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return NULL;
    enum { LIMIT = 256 };
    const char *names[LIMIT];
    int count = 0;
    for (const struct dirent *entry; count < LIMIT && (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.')
            names[count++] = arena_text(arena, "%s", entry->d_name);
    (void)closedir(directory);
    return error_nearest_name(name, names, count);
}

static void fault_missing(const struct json_value *value, const char *directory, const char *name,
                          struct error *error)
{
    struct arena *arena = value->arena;
    const char *folder = directory_of(arena, json_include_join(arena, directory, name));
    const char *nearest = find_nearest(arena, folder, file_name(name));
    if (nearest != NULL)
        json_fault(value, error, "file \"%s\" does not exist; did you mean \"%s\"?", name, nearest);
    else
        json_fault(value, error,
                   "file \"%s\" does not exist in \"%s\", in the working folder or in the data "
                   "folder \"%s\"",
                   name, directory, json_include_data_directory());
}

const char *json_include_directory(const struct json_include *document,
                                   const struct json_value *value)
{
    for (size_t i = 0; i < document->source_count; i++)
        if (document->sources[i].path == value->file)
            return document->sources[i].directory;
    return ".";
}

char *json_include_find_file(const struct json_include *document, const struct json_value *value,
                             struct error *error)
{
    const char *name = json_as_string(value, error);
    json_asked("file", value, NULL, 0, 0, NULL);
    if (name == NULL)
        return NULL;
    const char *directory = json_include_directory(document, value);
    char *path = name[0] == '\0' ? NULL : find_existing(document->arena, directory, name);
    if (path == NULL)
        fault_missing(value, directory, name, error);
    return path;
}

/* ---- Sources -------------------------------------------------------------------------------- */

/* The directory is that of the file unless it is given. */
static void add_source(struct json_include *document, const cJSON *node, const char *path,
                       const char *directory)
{
    struct arena *arena = document->arena;
    *ARENA_NEXT(arena, document->sources, document->source_count) = (struct json_include_source){
        .node = node,
        .path = arena_text(arena, "%s", path),
        .directory =
            directory == NULL ? directory_of(arena, path) : arena_text(arena, "%s", directory)};
}

static void forget_sources(struct json_include *document, const cJSON *node)
{
    for (size_t i = 1; i < document->source_count; i++)
        if (document->sources[i].node == node)
            document->sources[i].node = NULL;
    for (const cJSON *child = node->child; child != NULL; child = child->next)
        forget_sources(document, child);
}

static struct json_value value_of(const struct json_include *document, const char *path,
                                  const cJSON *node)
{
    return (struct json_value){.file = path, .node = node, .arena = document->arena};
}

bool json_include_parse(struct json_include *document, struct arena *arena, struct inputs *inputs,
                        const char *text, const char *name, const char *directory,
                        struct error *error)
{
    *document = (struct json_include){.arena = arena,
                                      .inputs = inputs != NULL ? inputs : inputs_create(arena),
                                      .root = json_parse_into(arena, text, name, error)};
    if (document->root != NULL)
        add_source(document, document->root, name, directory);
    return document->root != NULL;
}

char *json_include_find_document(struct arena *arena, const char *path)
{
    char *found = json_include_find_operand(arena, path);
    for (size_t i = 0; found == NULL && strchr(path, '/') == NULL && i < 2; i++)
        found = json_include_find_operand(
            arena, arena_text(arena, "workloads/experiments/%s%s", path, i == 0 ? "" : ".json"));
    return found;
}

/* A shipped experiment whose name is close to that of a path without a folder; else NULL. */
static const char *nearest_experiment(struct arena *arena, const char *path)
{
    const char *folder = json_include_find_operand(arena, "workloads/experiments");
    const bool ended = strstr(path, ".json") != NULL;
    return strchr(path, '/') != NULL || folder == NULL
               ? NULL
               : find_nearest(arena, folder, arena_text(arena, "%s%s", path, ended ? "" : ".json"));
}

bool json_include_open(struct json_include *document, struct arena *arena, struct inputs *inputs,
                       const char *path, struct error *error)
{
    const char *found = json_include_find_document(arena, path);
    const char *nearest = found == NULL ? nearest_experiment(arena, path) : NULL;
    if (nearest != NULL)
        return error_input(error, "%s: does not exist; did you mean \"%s\"?", path, nearest);
    if (found == NULL)
        return error_input(error,
                           "%s: does not exist, neither here nor in the data folder \"%s\" "
                           "(ESGSIM_DATA names another); `esgsim list experiments` names what "
                           "ships",
                           path, json_include_data_directory());
    if (inputs == NULL)
        inputs = inputs_create(arena);
    const char *text = inputs_text(inputs, found, NULL, error);
    return text != NULL && json_include_parse(document, arena, inputs, text, found, NULL, error);
}

struct json_value json_include_root(const struct json_include *document)
{
    return value_of(document, document->sources[0].path, document->root);
}

/* ---- References ----------------------------------------------------------------------------- */

/* Replaces the string `node`, which names a file, by the file's content. The node keeps its
 * address, its key and its siblings. */
static bool load_reference(struct json_include *document, cJSON *node,
                           const struct json_value *value, struct error *error)
{
    const char *path = json_include_find_file(document, value, error);
    const char *text = path == NULL ? NULL : inputs_text(document->inputs, path, NULL, error);
    cJSON *loaded = text == NULL ? NULL : json_parse(text, path, error);
    if (loaded == NULL)
        return false;
    const bool good = cJSON_IsObject(loaded) || cJSON_IsArray(loaded);
    if (good) {
        cJSON_free(node->valuestring);
        node->valuestring = NULL;
        node->type = loaded->type;
        node->child = loaded->child;
        loaded->child = NULL;
        add_source(document, node, path, NULL);
    }
    cJSON_Delete(loaded);
    return good || error_input(error, "%s: must hold an object; %s of %s refers to it", path,
                               value->path, value->file);
}

static bool enter(struct json_include *document, cJSON *node, struct json_value *child,
                  struct error *error)
{
    child->node = node;
    if (cJSON_IsString(node) && !load_reference(document, node, child, error))
        return false;
    for (size_t i = 1; i < document->source_count; i++)
        if (document->sources[i].node == node)
            *child = value_of(document, document->sources[i].path, node);
    return true;
}

bool json_include_member(struct json_include *document, const struct json_value *object,
                         const char *key, struct json_value *child, struct error *error)
{
    json_asked("file", object, key, 0, 0, NULL);
    if (!json_child(object, key, child)) {
        child->node = NULL;
        return true;
    }
    return enter(document, cJSON_GetObjectItemCaseSensitive(object->node, key), child, error);
}

bool json_include_entry(struct json_include *document, const struct json_value *array, size_t index,
                        struct json_value *child, struct error *error)
{
    *child = json_entry(array, index);
    json_asked("file", child, NULL, 0, 0, NULL);
    return enter(document, cJSON_GetArrayItem(array->node, (int)index), child, error);
}

/* ---- Overrides ------------------------------------------------------------------------------ */

static bool parse_index(const struct json_value *array, const char *text, size_t limit,
                        size_t *index, struct error *error)
{
    char *end = NULL;
    unsigned long number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number >= limit)
        return json_fault(array, error, "\"%s\" is no entry of this array of %zu; give 0..%zu",
                          text, json_size(array), limit - 1);
    *index = number;
    return true;
}

/* Follows one step of a dotted key. The new place must be an object or an array. */
static bool override_step(struct json_include *document, struct json_value *place, const char *name,
                          struct error *error)
{
    struct json_value child;
    if (cJSON_IsArray(place->node)) {
        size_t index = 0;
        if (!parse_index(place, name, json_size(place), &index, error) ||
            !json_include_entry(document, place, index, &child, error))
            return false;
    } else {
        if (!json_include_member(document, place, name, &child, error))
            return false;
        if (child.node == NULL) {
            /* Casting away const is safe: the node belongs to the document that is being changed.
             */
            if (cJSON_AddObjectToObject((cJSON *)(uintptr_t)place->node, name) == NULL)
                arena_exhaust(document->arena, 1, sizeof(cJSON));
            (void)json_child(place, name, &child);
        }
    }
    if (!cJSON_IsObject(child.node) && !cJSON_IsArray(child.node))
        return json_fault(&child, error,
                          "is neither an object nor an array; the dotted key must end here");
    *place = child;
    return true;
}

/* Takes ownership of `node`. */
static bool override_set(struct json_include *document, const struct json_value *place,
                         const char *name, cJSON *node, struct error *error)
{
    cJSON *parent = (cJSON *)(uintptr_t)place->node;
    bool done = false;
    if (cJSON_IsArray(parent)) {
        size_t index = 0;
        size_t size = json_size(place);
        if (!parse_index(place, name, size + 1, &index, error)) {
            cJSON_Delete(node);
            return false;
        }
        if (index < size)
            forget_sources(document, cJSON_GetArrayItem(parent, (int)index));
        done = index < size ? cJSON_ReplaceItemInArray(parent, (int)index, node)
                            : cJSON_AddItemToArray(parent, node);
    } else {
        const cJSON *old = cJSON_GetObjectItemCaseSensitive(parent, name);
        if (old != NULL)
            forget_sources(document, old);
        done = old != NULL ? cJSON_ReplaceItemInObjectCaseSensitive(parent, name, node)
                           : cJSON_AddItemToObject(parent, name, node);
        done = done && node->string != NULL;
    }
    if (!done)
        arena_exhaust(document->arena, 1, sizeof *node);
    return true;
}

/* True for a whole number in JSON syntax, of any length. */
static bool is_whole(const char *text)
{
    const char *digits = text + (*text == '-');
    const size_t length = strspn(digits, "0123456789");
    return length > 0 && digits[length] == '\0' && (digits[0] != '0' || length == 1);
}

static bool override_walk(struct json_include *document, const char *key, char *name,
                          const char *value, struct error *error)
{
    struct json_value place = json_include_root(document);
    for (char *dot = strchr(name, '.'); dot != NULL; dot = strchr(name, '.')) {
        *dot = '\0';
        if (!override_step(document, &place, name, error))
            return false;
        name = dot + 1;
    }
    /* Text that begins like an object or an array, or has only digits, is intended as JSON. Any
     * other text that is not JSON is taken as a string. */
    const bool meant = value[0] == '{' || value[0] == '[' || is_whole(value);
    cJSON *node = json_parse(value, key, meant ? error : NULL);
    if (node == NULL && meant)
        return false;
    if (node == NULL)
        node = cJSON_CreateString(value);
    return override_set(document, &place, name, node, error);
}

bool json_include_override(struct json_include *document, const char *key, const char *value,
                           struct error *error)
{
    struct json_value root = json_include_root(document);
    size_t length = strlen(key);
    if (!json_is_object(&root, NULL, error))
        return false;
    if (length == 0 || key[0] == '.' || key[length - 1] == '.' || strstr(key, "..") != NULL)
        return json_fault(&root, error, "\"%s\" is no dotted key; write it like policy.params.k",
                          key);
    return override_walk(document, key, arena_text(document->arena, "%s", key), value, error);
}
