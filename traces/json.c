#include "traces/json.h"

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

enum { DEPTH_LIMIT = 64, NAMES_LIMIT = 64 };
static const off_t SIZE_LIMIT = (off_t)256 << 20;
/* Whole numbers beyond 2^53 do not survive the double that cJSON keeps them in. */
static const double EXACT_LIMIT = 9007199254740992.0;

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
    /* Non-blocking, so that a FIFO is refused and not waited for. */
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

static bool fault_at(const char *file, const char *text, const char *where, const char *what,
                     struct error *error)
{
    size_t line = 1;
    size_t column = 1;
    for (const char *c = text; c < where && *c != '\0'; c++) {
        if (*c == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)*c & 0xC0) != 0x80) {
            column++; /* characters, not bytes */
        }
    }
    return error_input(error, "%s:%zu:%zu: %s", file, line, column, what);
}

/* Bytes of the UTF-8 character at `c` (RFC 3629, table 3-7 of Unicode); 0 where it is none. */
static size_t utf8_length(const unsigned char *c)
{
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    size_t length = 0;
    if (c[0] < 0x80)
        return 1;
    if (c[0] >= 0xC2 && c[0] <= 0xDF)
        length = 2;
    else if (c[0] >= 0xE0 && c[0] <= 0xEF)
        length = 3;
    else if (c[0] >= 0xF0 && c[0] <= 0xF4)
        length = 4;
    else
        return 0;
    if (c[0] == 0xE0)
        low = 0xA0;
    if (c[0] == 0xED)
        high = 0x9F;
    if (c[0] == 0xF0)
        low = 0x90;
    if (c[0] == 0xF4)
        high = 0x8F;
    if (c[1] < low || c[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

/* What cJSON lets pass inside a string: raw control characters, \u0000 (which would end the C
 * string early) and broken UTF-8. Returns the closing quote, NULL with the fault told. */
static const char *scan_string(const char *file, const char *text, const char *open,
                               struct error *error)
{
    const char *c = open + 1;
    while (*c != '"') {
        const char *what = NULL;
        size_t length = utf8_length((const unsigned char *)c);
        if (*c == '\0') {
            c = open;
            what = "string is not closed; add the quotation mark";
        } else if ((unsigned char)*c < ' ') {
            what = "control character or line break inside a string; escape it";
        } else if (length == 0) {
            what = "not UTF-8; save the file in that encoding";
        } else if (strncmp(c, "\\u0000", 6) == 0) {
            what = "\\u0000 inside a string; remove it";
        }
        if (what != NULL) {
            fault_at(file, text, c, what, error);
            return NULL;
        }
        c += c[0] == '\\' && c[1] != '\0' ? 2 : length;
    }
    return c;
}

static const char *skip_digits(const char *c)
{
    while (*c >= '0' && *c <= '9')
        c++;
    return c;
}

/* cJSON hands numbers to strtod, which takes more than JSON's grammar and overflows to infinity. */
static const char *scan_number(const char *file, const char *text, const char *start,
                               struct error *error)
{
    const char *c = start + (*start == '-');
    const char *digits = c;
    c = skip_digits(c);
    bool good = c > digits && (digits[0] != '0' || c == digits + 1);
    if (good && *c == '.') {
        digits = ++c;
        c = skip_digits(c);
        good = c > digits;
    }
    if (good && (*c == 'e' || *c == 'E')) {
        c++;
        digits = c += *c == '+' || *c == '-';
        c = skip_digits(c);
        good = c > digits;
    }
    if (!good || c - start > 60) {
        fault_at(file, text, start, "not a JSON number; write it like -12.5 or 1e-3", error);
        return NULL;
    }
    if (!isfinite(strtod(start, NULL))) {
        fault_at(file, text, start, "number is too large for a double; give a finite one", error);
        return NULL;
    }
    return c;
}

/* cJSON points one character past a key that is not a string, so this case is told here. */
static bool scan_key_place(const char *file, const char *text, const char *c, char previous,
                           struct error *error)
{
    if (*c == '"' || (*c == '}' && previous == '{'))
        return true;
    return fault_at(file, text, c,
                    *c == '}' ? "syntax error: no comma before a closing brace"
                              : "syntax error: a key in quotation marks belongs here",
                    error);
}

/* Everything cJSON is lenient or imprecise about, before it sees the text. */
static bool scan_text(const char *file, const char *text, struct error *error)
{
    char open[DEPTH_LIMIT + 1] = {0}; /* brackets around the place, outermost at 1 */
    size_t depth = 0;
    char previous = '\0';
    const char *c = text;
    while (*c != '\0') {
        if (*c == ' ' || *c == '\t' || *c == '\n' || *c == '\r') {
            c++;
            continue;
        }
        if (open[depth] == '{' && (previous == '{' || previous == ',') &&
            !scan_key_place(file, text, c, previous, error))
            return false;
        previous = *c;
        if (*c == '"') {
            c = scan_string(file, text, c, error);
        } else if (*c == '-' || (*c >= '0' && *c <= '9')) {
            c = scan_number(file, text, c, error);
            if (c != NULL)
                c--; /* at the number's last character, as a string's scan is at its quote */
        } else if (*c == '{' || *c == '[') {
            if (depth == DEPTH_LIMIT)
                return fault_at(file, text, c, "nested deeper than 64 levels; flatten it", error);
            open[++depth] = *c;
        } else if ((*c == '}' || *c == ']') && depth > 0) {
            depth--;
        }
        if (c == NULL)
            return false;
        c++;
    }
    return true;
}

/* ---- Duplicate keys ------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A key that the object has twice, NULL where there is none. */
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

static struct json_value child_of(const struct json_value *parent, const cJSON *node)
{
    struct json_value child = {.file = parent->file, .node = node};
    const char *dot = parent->path[0] == '\0' ? "" : ".";
    int length = snprintf(child.path, sizeof child.path, "%s%s%s", parent->path, dot,
                          node->string == NULL ? "" : node->string);
    if (length >= (int)sizeof child.path)
        memcpy(child.path + sizeof child.path - 4, "...", 4);
    return child;
}

static struct json_value entry_of(const struct json_value *parent, const cJSON *node, size_t index)
{
    struct json_value child = {.file = parent->file, .node = node};
    int length = snprintf(child.path, sizeof child.path, "%s[%zu]", parent->path, index);
    if (length >= (int)sizeof child.path)
        memcpy(child.path + sizeof child.path - 4, "...", 4);
    return child;
}

static bool refuse_duplicates(const struct json_value *value, struct error *error)
{
    if (cJSON_IsObject(value->node)) {
        const char *twice = duplicate_key(value->node);
        if (twice != NULL)
            return json_fault(value, error, "key \"%s\" is given twice; keep one", twice);
    }
    size_t index = 0;
    for (const cJSON *node = value->node->child; node != NULL; node = node->next, index++) {
        if (node->child == NULL)
            continue;
        struct json_value child =
            cJSON_IsObject(value->node) ? child_of(value, node) : entry_of(value, node, index);
        if (!refuse_duplicates(&child, error))
            return false;
    }
    return true;
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
    fault_at(file, text, where, what, error);
}

cJSON *json_parse(const char *text, const char *file, struct error *error)
{
    if (!scan_text(file, text, error))
        return NULL;
    const char *end = text;
    cJSON *root = cJSON_ParseWithOpts(text, &end, true);
    if (root == NULL) {
        syntax_fault(file, text, end, error);
        return NULL;
    }
    struct json_value value = json_root(file, root);
    if (!refuse_duplicates(&value, error)) {
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
    struct json_value value = {.file = file, .node = root};
    return value;
}

bool json_fault(const struct json_value *value, struct error *error, const char *format, ...)
{
    char message[768];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (value->path[0] == '\0')
        return error_input(error, "%s: %s", value->file, message);
    return error_input(error, "%s: %s: %s", value->file, value->path, message);
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

static bool unknown_key(const struct json_value *value, const char *key, const char *const *keys,
                        struct error *error)
{
    int count = 0;
    while (keys[count] != NULL)
        count++;
    const char *nearest = error_nearest_name(key, keys, count);
    if (nearest != NULL)
        return json_fault(value, error, "unknown key \"%s\"; did you mean \"%s\"?", key, nearest);
    char list[512] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof list; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", keys[i]);
    return json_fault(value, error, "unknown key \"%s\"; known are %s", key, list);
}

bool json_is_object(const struct json_value *value, const char *const *keys, struct error *error)
{
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
    const char *twice = duplicate_key(value->node);
    if (twice != NULL)
        return json_fault(value, error, "key \"%s\" is given twice; keep one", twice);
    return true;
}

bool json_is_array(const struct json_value *value, size_t low, size_t high, struct error *error)
{
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
    *child = child_of(value, node);
    return true;
}

bool json_require(const struct json_value *value, const char *key, struct json_value *child,
                  struct error *error)
{
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
    return entry_of(array, node, index);
}

struct json_value json_first(const struct json_value *parent)
{
    struct json_value child = {.file = parent->file};
    if (parent->node->child == NULL)
        return child;
    return cJSON_IsObject(parent->node) ? child_of(parent, parent->node->child)
                                        : entry_of(parent, parent->node->child, 0);
}

struct json_value json_after(const struct json_value *parent, const struct json_value *child,
                             size_t index)
{
    struct json_value next = {.file = parent->file};
    if (child->node->next == NULL)
        return next;
    return cJSON_IsObject(parent->node) ? child_of(parent, child->node->next)
                                        : entry_of(parent, child->node->next, index);
}

/* ---- Scalars -------------------------------------------------------------------------------- */

bool json_as_number(const struct json_value *value, double low, double high, double *out,
                    struct error *error)
{
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
    if (!cJSON_IsNumber(value->node))
        return json_fault(value, error, "must be a whole number, is %s", kind_name(value->node));
    double number = value->node->valuedouble;
    if (!isfinite(number) || fabs(number) > EXACT_LIMIT || number != floor(number))
        return json_fault(value, error, "is %.17g, must be a whole number (at most 2^53)", number);
    int64_t whole = (int64_t)number;
    if (whole < low || whole > high)
        return json_fault(value, error, "is %" PRId64 ", must lie within %" PRId64 "..%" PRId64,
                          whole, low, high);
    *out = whole;
    return true;
}

const char *json_as_string(const struct json_value *value, struct error *error)
{
    if (!cJSON_IsString(value->node)) {
        json_fault(value, error, "must be a string, is %s", kind_name(value->node));
        return NULL;
    }
    return value->node->valuestring;
}

bool json_number(const struct json_value *object, const char *key, double low, double high,
                 double *out, struct error *error)
{
    struct json_value child;
    return !json_child(object, key, &child) || json_as_number(&child, low, high, out, error);
}

bool json_integer(const struct json_value *object, const char *key, int64_t low, int64_t high,
                  int64_t *out, struct error *error)
{
    struct json_value child;
    return !json_child(object, key, &child) || json_as_integer(&child, low, high, out, error);
}

bool json_bool(const struct json_value *object, const char *key, bool *out, struct error *error)
{
    struct json_value child;
    if (!json_child(object, key, &child))
        return true;
    if (!cJSON_IsBool(child.node))
        return json_fault(&child, error, "must be true or false, is %s", kind_name(child.node));
    *out = cJSON_IsTrue(child.node);
    return true;
}

bool json_string(const struct json_value *object, const char *key, char **out, struct error *error)
{
    struct json_value child;
    if (!json_child(object, key, &child))
        return true;
    const char *text = json_as_string(&child, error);
    if (text == NULL)
        return false;
    char *copy = strdup(text);
    if (copy == NULL)
        return json_fault(&child, error, "out of memory");
    free(*out);
    *out = copy;
    return true;
}

bool json_choice(const struct json_value *object, const char *key, const char *const *choices,
                 int *out, struct error *error)
{
    struct json_value child;
    if (!json_child(object, key, &child))
        return true;
    const char *text = json_as_string(&child, error);
    if (text == NULL)
        return false;
    char list[512] = "";
    size_t used = 0;
    int count = 0;
    for (; choices[count] != NULL; count++) {
        if (strcmp(choices[count], text) == 0) {
            *out = count;
            return true;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                     count == 0 ? "" : ", ", choices[count]);
    }
    const char *nearest = error_nearest_name(text, choices, count);
    if (nearest != NULL)
        return json_fault(&child, error, "is \"%s\", must be one of %s; did you mean \"%s\"?", text,
                          list, nearest);
    return json_fault(&child, error, "is \"%s\", must be one of %s", text, list);
}
