#include "sim/base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/json_scan.h"
#include "sim/base/utf8.h"

static const off_t SIZE_LIMIT = (off_t)256 << 20;

/* ---- Text ---------------------------------------------------------------------------------- */

static bool read_all(int fd, char *text, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, text + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static char *read_open_file(int fd, const char *path, size_t *size, struct error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        error_input(error, "%s: is not a regular file; give a file's name", path);
        return NULL;
    }
    if (status.st_size > SIZE_LIMIT) {
        error_input(error, "%s: is larger than 256 MiB; not a JSON input of this program", path);
        return NULL;
    }
    size_t length = (size_t)status.st_size;
    char *text = malloc(length + 1);
    if (text == NULL || !read_all(fd, text, length)) {
        error_input(error, "%s: cannot be read: %s", path, strerror(errno));
        free(text);
        return NULL;
    }
    text[length] = '\0';
    if (memchr(text, '\0', length) != NULL) {
        error_input(error, "%s: holds NUL bytes; a JSON file is text", path);
        free(text);
        return NULL;
    }
    *size = length;
    return text;
}

char *json_read_text(const char *path, size_t *size, struct error *error)
{
    /* Non-blocking, because opening a FIFO would otherwise block; it is refused below. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        error_input(error, "%s: cannot be opened: %s", path, strerror(errno));
        return NULL;
    }
    size_t length = 0;
    char *text = read_open_file(fd, path, &length, error);
    (void)close(fd);
    if (text != NULL && size != NULL)
        *size = length;
    return text;
}

/* ---- Duplicate keys ------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns a key that the object has twice, NULL if there is none. */
static const char *duplicate_key(const cJSON *object)
{
    size_t count = 0;
    for (const cJSON *child = object->child; child != NULL; child = child->next)
        count++;
    if (count < 2)
        return NULL;
    const char **keys = malloc(count * sizeof *keys);
    if (keys == NULL)
        return "(out of memory)";
    size_t i = 0;
    for (const cJSON *child = object->child; child != NULL; child = child->next)
        keys[i++] = child->string;
    qsort(keys, count, sizeof *keys, compare_keys);
    const char *twice = NULL;
    for (i = 1; i < count && twice == NULL; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            twice = keys[i];
    free(keys);
    return twice;
}

/* A member of an object, or the entry `index` of an array. */
static struct json_value child_of(const struct json_value *parent, const cJSON *node, size_t index)
{
    struct json_value child = {
        .file = parent->file, .node = node, .arena = parent->arena, .index = index};
    const char *dot = parent->path[0] == '\0' ? "" : ".";
    const int length =
        cJSON_IsObject(parent->node)
            ? snprintf(child.path, sizeof child.path, "%s%s%s", parent->path, dot,
                       node == NULL || node->string == NULL ? "" : node->string)
            : snprintf(child.path, sizeof child.path, "%s[%zu]", parent->path, index);
    if (length >= (int)sizeof child.path)
        memcpy(child.path + sizeof child.path - 4, "...", 4);
    return child;
}

bool json_next(const struct json_value *parent, struct json_value *child)
{
    const bool first = child->node == NULL;
    const cJSON *node = first ? parent->node->child : child->node->next;
    if (node == NULL)
        return false;
    *child = child_of(parent, node, first ? 0 : child->index + 1);
    return true;
}

static bool refuse_duplicates(const struct json_value *value, struct error *error)
{
    const char *twice = cJSON_IsObject(value->node) ? duplicate_key(value->node) : NULL;
    if (twice != NULL)
        return json_fault(value, error, "key \"%s\" is given twice; keep one", twice);
    for (struct json_value child = {0}; json_next(value, &child);)
        if (!refuse_duplicates(&child, error))
            return false;
    return true;
}

/* Finds the number at position *left, in document order, within the value and refuses it. Otherwise
 * returns true and subtracts the count of numbers in the value from *left. */
static bool refuse_rounded(const struct json_value *value, size_t *left,
                           const struct json_numbers *numbers, struct error *error)
{
    if (cJSON_IsNumber(value->node) && --*left == 0) {
        const size_t length = strspn(numbers->text, "+-.0123456789eE");
        return json_fault(value, error,
                          "%.*s would be rounded to %.0f; a whole number is exact up to 2^53, "
                          "9007199254740992",
                          (int)length, numbers->text, value->node->valuedouble);
    }
    for (struct json_value child = {0}; json_next(value, &child);)
        if (!refuse_rounded(&child, left, numbers, error))
            return false;
    return true;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

static void *tree_allocate(size_t size)
{
    void *memory = malloc(size);
    if (memory == NULL)
        arena_exhaust(arena_create(), 1, size);
    return memory;
}

/* A tree that lacks a member for want of memory would be a wrong result. */
__attribute__((constructor)) static void trees_are_whole(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = tree_allocate, .free_fn = free});
}

/* ---- Parsing -------------------------------------------------------------------------------- */

static void syntax_fault(const char *file, const char *text, const char *where, struct error *error)
{
    char what[96];
    while (*where == ' ' || *where == '\t' || *where == '\n' || *where == '\r')
        where++;
    if (*where == '\0')
        (void)snprintf(what, sizeof what, "syntax error: the text ends too early");
    else
        (void)snprintf(what, sizeof what,
                       "syntax error at '%.12s'; look for a missing or extra comma, colon, quote "
                       "or bracket",
                       where);
    json_fault_at(file, text, where, what, error);
}

cJSON *json_parse(const char *text, const char *file, struct error *error)
{
    struct json_numbers numbers = {0};
    if (!json_scan(file, text, &numbers, error))
        return NULL;
    const char *end = text;
    cJSON *root = cJSON_ParseWithOpts(text, &end, true);
    if (root == NULL) {
        syntax_fault(file, text, end, error);
        return NULL;
    }
    struct json_value value = json_root(file, root);
    if (!refuse_duplicates(&value, error) ||
        (numbers.rounded > 0 && !refuse_rounded(&value, &numbers.rounded, &numbers, error))) {
        cJSON_Delete(root);
        return NULL;
    }
    return root;
}

cJSON *json_parse_file(const char *path, struct error *error)
{
    char *text = json_read_text(path, NULL, error);
    if (text == NULL)
        return NULL;
    cJSON *root = json_parse(text, path, error);
    free(text);
    return root;
}

struct json_value json_root(const char *file, const cJSON *root)
{
    return (struct json_value){.file = file, .node = root};
}

static void tree_end(void *tree)
{
    cJSON_Delete(tree);
}

cJSON *json_parse_into(struct arena *arena, const char *text, const char *file, struct error *error)
{
    cJSON *root = json_parse(text, file, error);
    arena_adopt(arena, root, tree_end);
    return root;
}

struct json_value json_load(struct arena *arena, const char *path, struct error *error)
{
    struct json_value root = {.file = path, .arena = arena};
    char *text = json_read_text(path, NULL, error);
    if (text != NULL)
        root.node = json_parse_into(arena, text, path, error);
    free(text);
    return root;
}

bool json_fault(const struct json_value *value, struct error *error, const char *format, ...)
{
    char message[sizeof error->message];
    va_list args;
    va_start(args, format);
    utf8_mark_cut(message, sizeof message, vsnprintf(message, sizeof message, format, args));
    va_end(args);
    if (value->path[0] == '\0')
        return error_input(error, "%s: %s", value->file, message);
    return error_input(error, "%s: %s: %s", value->file, value->path, message);
}

/* ---- Recording ------------------------------------------------------------------------------ */

static json_recorder *current_recorder;
static void *current_context;

void json_record(json_recorder *recorder, void *context)
{
    current_recorder = recorder;
    current_context = context;
}

void json_asked(const char *ask, const struct json_value *value, const char *key, double low,
                double high, const char *const *words)
{
    if (current_recorder != NULL)
        current_recorder(current_context, ask, value, key, low, high, words);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static const char *kind_name(const cJSON *node)
{
    if (cJSON_IsObject(node))
        return "an object";
    if (cJSON_IsArray(node))
        return "an array";
    if (cJSON_IsString(node))
        return "a string";
    if (cJSON_IsNumber(node))
        return "a number";
    if (cJSON_IsBool(node))
        return "a boolean";
    return "null";
}

bool json_fault_unknown(const struct json_value *value, const char *fault, const char *name,
                        const char *const *names, int count, struct error *error)
{
    char list[512];
    const char *nearest = error_nearest_name(name, names, count);
    if (nearest != NULL)
        return json_fault(value, error, "%s; did you mean \"%s\"?", fault, nearest);
    error_list_names(names, count, list, sizeof list);
    return json_fault(value, error, "%s; known are %s", fault, count == 0 ? "none" : list);
}

static bool unknown_key(const struct json_value *value, const char *key, const char *const *keys,
                        struct error *error)
{
    char fault[sizeof error->message / 2];
    int count = 0;
    while (keys[count] != NULL)
        count++;
    utf8_mark_cut(fault, sizeof fault, snprintf(fault, sizeof fault, "unknown key \"%s\"", key));
    return json_fault_unknown(value, fault, key, keys, count, error);
}

bool json_is_object(const struct json_value *value, const char *const *keys, struct error *error)
{
    json_asked("object", value, NULL, 0, 0, keys);
    if (!cJSON_IsObject(value->node))
        return json_fault(value, error, "must be an object, is %s", kind_name(value->node));
    for (const cJSON *child = value->node->child; keys != NULL && child != NULL;
         child = child->next) {
        size_t i = 0;
        while (keys[i] != NULL && strcmp(keys[i], child->string) != 0)
            i++;
        if (keys[i] == NULL)
            return unknown_key(value, child->string, keys, error);
    }
    return true;
}

bool json_is_array(const struct json_value *value, size_t low, size_t high, struct error *error)
{
    json_asked("array", value, NULL, (double)low, (double)high, NULL);
    if (!cJSON_IsArray(value->node))
        return json_fault(value, error, "must be an array, is %s", kind_name(value->node));
    size_t size = json_size(value);
    if (size < low || size > high)
        return json_fault(value, error, "has %zu entries, must have %zu to %zu", size, low, high);
    return true;
}

size_t json_size(const struct json_value *value)
{
    size_t count = 0;
    for (const cJSON *child = value->node->child; child != NULL; child = child->next)
        count++;
    return count;
}

bool json_child(const struct json_value *value, const char *key, struct json_value *child)
{
    const cJSON *node =
        cJSON_IsObject(value->node) ? cJSON_GetObjectItemCaseSensitive(value->node, key) : NULL;
    if (node == NULL)
        return false;
    *child = child_of(value, node, 0);
    return true;
}

bool json_require(const struct json_value *value, const char *key, struct json_value *child,
                  struct error *error)
{
    json_asked("key", value, key, 0, 0, NULL);
    if (!cJSON_IsObject(value->node))
        return json_fault(value, error, "must be an object, is %s", kind_name(value->node));
    if (!json_child(value, key, child))
        return json_fault(value, error, "key \"%s\" is missing", key);
    return true;
}

struct json_value json_entry(const struct json_value *array, size_t index)
{
    const cJSON *node = array->node->child;
    for (size_t i = 0; i < index && node != NULL; i++)
        node = node->next;
    return child_of(array, node, index);
}

/* ---- Scalars -------------------------------------------------------------------------------- */

bool json_as_number(const struct json_value *value, double low, double high, double *out,
                    struct error *error)
{
    json_asked("number", value, NULL, low, high, NULL);
    if (!cJSON_IsNumber(value->node))
        return json_fault(value, error, "must be a number, is %s", kind_name(value->node));
    double number = value->node->valuedouble;
    if (!isfinite(number))
        return json_fault(value, error, "must be a finite number");
    if (number < low || number > high) {
        if (isinf(high) || high >= 1e300)
            return json_fault(value, error, "is %.12g, must be at least %.12g", number, low);
        return json_fault(value, error, "is %.12g, must lie within %.12g..%.12g", number, low,
                          high);
    }
    *out = number;
    return true;
}

bool json_as_integer(const struct json_value *value, int64_t low, int64_t high, int64_t *out,
                     struct error *error)
{
    json_asked("integer", value, NULL, (double)low, (double)high, NULL);
    if (!cJSON_IsNumber(value->node))
        return json_fault(value, error, "must be a whole number, is %s", kind_name(value->node));
    double number = value->node->valuedouble;
    if (!isfinite(number) || fabs(number) > JSON_EXACT_LIMIT || number != floor(number))
        return json_fault(value, error, "is %.17g, must be a whole number (at most 2^53)", number);
    int64_t whole = (int64_t)number;
    if (whole < low || whole > high)
        return json_fault(value, error, "is %" PRId64 ", must lie within %" PRId64 "..%" PRId64,
                          whole, low, high);
    *out = whole;
    return true;
}

static const char *text_of(const struct json_value *value, struct error *error)
{
    if (!cJSON_IsString(value->node)) {
        json_fault(value, error, "must be a string, is %s", kind_name(value->node));
        return NULL;
    }
    return value->node->valuestring;
}

const char *json_as_text(const struct json_value *value, struct error *error)
{
    json_asked("string", value, NULL, 0, 0, NULL);
    return text_of(value, error);
}

bool json_is_name(const struct json_value *value, const char *name, struct error *error)
{
    return utf8_is_name(name) ||
           json_fault(value, error, "\"%s\" holds a control character; remove it", name);
}

const char *json_as_string(const struct json_value *value, struct error *error)
{
    const char *text = json_as_text(value, error);
    return text != NULL && json_is_name(value, text, error) ? text : NULL;
}

bool json_number(const struct json_value *object, const char *key, double low, double high,
                 double *out, struct error *error)
{
    json_asked("number", object, key, low, high, NULL);
    struct json_value child;
    return !json_child(object, key, &child) || json_as_number(&child, low, high, out, error);
}

bool json_integer(const struct json_value *object, const char *key, int64_t low, int64_t high,
                  int64_t *out, struct error *error)
{
    json_asked("integer", object, key, (double)low, (double)high, NULL);
    struct json_value child;
    return !json_child(object, key, &child) || json_as_integer(&child, low, high, out, error);
}

bool json_bool(const struct json_value *object, const char *key, bool *out, struct error *error)
{
    json_asked("boolean", object, key, 0, 0, NULL);
    struct json_value child;
    if (!json_child(object, key, &child))
        return true;
    if (!cJSON_IsBool(child.node))
        return json_fault(&child, error, "must be true or false, is %s", kind_name(child.node));
    *out = cJSON_IsTrue(child.node);
    return true;
}

bool json_text(const struct json_value *object, const char *key, const char **out,
               struct error *error)
{
    json_asked("string", object, key, 0, 0, NULL);
    struct json_value child;
    if (!json_child(object, key, &child))
        return true;
    const char *text = json_as_string(&child, error);
    *out = text != NULL ? text : *out;
    return text != NULL;
}

bool json_string(const struct json_value *object, const char *key, char **out, struct error *error)
{
    const char *text = NULL;
    if (!json_text(object, key, &text, error))
        return false;
    if (text == NULL)
        return true;
    char *copy = strdup(text);
    if (copy == NULL)
        return json_fault(object, error, "out of memory");
    free(*out);
    *out = copy;
    return true;
}

bool json_choice(const struct json_value *object, const char *key, const char *const *choices,
                 int *out, struct error *error)
{
    json_asked("choice", object, key, 0, 0, choices);
    struct json_value child;
    if (!json_child(object, key, &child))
        return true;
    const char *text = text_of(&child, error);
    if (text == NULL || !json_is_name(&child, text, error))
        return false;
    int count = 0;
    for (; choices[count] != NULL; count++)
        if (strcmp(choices[count], text) == 0) {
            *out = count;
            return true;
        }
    char list[512];
    error_list_names(choices, count, list, sizeof list);
    const char *nearest = error_nearest_name(text, choices, count);
    if (nearest != NULL)
        return json_fault(&child, error, "is \"%s\", must be one of %s; did you mean \"%s\"?", text,
                          list, nearest);
    return json_fault(&child, error, "is \"%s\", must be one of %s", text, list);
}

cJSON *json_whole(uint64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    return cJSON_CreateRaw(text);
}
