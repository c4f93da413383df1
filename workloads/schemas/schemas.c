/* Generates the JSON Schemas of the input files from the loaders.
 *
 *   build/schemas --out FOLDER FILE.json…
 *
 * The loaders read the files while sim/base/json.h records what they ask: the keys of an object,
 * the range of a number, the words of a choice. What they ask of all files of a kind becomes the
 * kind's schema. A value that a loader accepts without such a question adds its own type. So every
 * file given here is valid by the schema, and a key, range or word that changes in a loader changes
 * in the schema. tests/schemas/ has files with the forms that no shipped file has.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/report/expectation.h"
#include "sim/base/json.h"
#include "workloads/experiment.h"

enum { TYPES = 7, KINDS_MOST = 16, WORDS_MOST = 64 };
enum type { TYPE_OBJECT, TYPE_ARRAY, TYPE_STRING, TYPE_NUMBER, TYPE_INTEGER, TYPE_BOOL, TYPE_NULL };
static const char *const type_names[TYPES] = {"object",  "array",   "string", "number",
                                              "integer", "boolean", "null"};

/* What is known of the values at one place. */
struct node {
    char *name; /* of a member; "" for the members of any name, and for the entries of an array */
    struct node *next, *children, *entries;
    bool types[TYPES];
    bool closed;      /* its keys are those of the children */
    bool named;       /* and names that the file itself defines */
    bool in_file;     /* may be the name of a file that has the value */
    bool of_ref;      /* a key beside "ref" */
    double low, high; /* of numbers */
    double least, most;
    const char *words[WORDS_MOST]; /* of a choice */
    size_t word_count;
    size_t visits; /* by a loader that knows its keys */
    size_t needed; /* visits of the parent in which this member was required */
    size_t needed_in;
};

struct schema {
    char *kind; /* "experiment", … */
    struct node root;
};

struct generator {
    struct schema schemas[KINDS_MOST];
    size_t count;
    struct schema *current;
    const char *file;                                               /* which is read */
    const cJSON *content;                                           /* of it */
    enum { PASS_SHAPES, PASS_QUESTIONS, PASS_VALUES, PASSES } pass; /* each over all files */
};

static void fail(const char *what)
{
    (void)fprintf(stderr, "schemas: %s\n", what);
    exit(1);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static struct node *child_find(const struct node *parent, const char *name, size_t length)
{
    struct node *child = parent->children;
    while (child != NULL &&
           (strlen(child->name) != length || memcmp(child->name, name, length) != 0))
        child = child->next;
    return child;
}

/* Children keep the order in which loaders list them. */
static struct node *child_add(struct node *parent, const char *name, size_t length)
{
    struct node **end = &parent->children;
    while (*end != NULL)
        end = &(*end)->next;
    *end = calloc(1, sizeof **end);
    if (*end == NULL || ((*end)->name = strndup(name, length)) == NULL)
        fail("out of memory");
    return *end;
}

/* The place of a member. One that is not among the known keys has any name. */
static struct node *member(struct node *parent, const char *name, size_t length)
{
    struct node *child = parent->closed ? child_find(parent, name, length) : NULL;
    if (child == NULL)
        child = child_find(parent, "", 0);
    return child != NULL ? child : child_add(parent, "", 0);
}

static struct node *entries(struct node *parent)
{
    if (parent->entries == NULL && (parent->entries = calloc(1, sizeof *parent->entries)) == NULL)
        fail("out of memory");
    return parent->entries;
}

/* First child; NULL: there is none, or no value. */
static const cJSON *first_of(const cJSON *value)
{
    return value != NULL ? value->child : NULL;
}

/* The member of `content` with which the path begins: names may have dots, so the longest counts.
 */
static const cJSON *longest_member(const cJSON *content, const char *path)
{
    const cJSON *found = NULL, *each = NULL;
    for (each = first_of(content); each != NULL; each = each->next) {
        const size_t length = strlen(each->string);
        if (strncmp(path, each->string, length) == 0 && strchr(".[", path[length]) != NULL &&
            (found == NULL || length > strlen(found->string)))
            found = each;
    }
    return found;
}

/* The place of a path of json.h; NULL if the file has none. */
static struct node *place_find(struct generator *generator, const char *path)
{
    struct node *node = &generator->current->root;
    const cJSON *content = generator->content;
    while (content != NULL && *path != '\0') {
        if (*path == '[') {
            content = cJSON_GetArrayItem(content, (int)strtol(path + 1, NULL, 10));
            node = entries(node);
            path += strcspn(path, "]") + 1;
            continue;
        }
        path += *path == '.';
        content = longest_member(content, path);
        if (content != NULL) {
            node = member(node, content->string, strlen(content->string));
            path += strlen(content->string);
        }
    }
    return content != NULL ? node : NULL;
}

/* ---- What loaders ask ------------------------------------------------------------------------ */

/* A key of a loader's table lies among the program's data; a name that the file defines, such as
 * that of an application, does not. See end(3). */
static bool is_of_program(const char *key)
{
    extern char end;
    return (uintptr_t)key < (uintptr_t)&end;
}

static void ask_keys(struct node *node, const char *const *keys)
{
    bool of_ref = false;
    for (size_t i = 0; keys != NULL && keys[i] != NULL; i++)
        of_ref = of_ref || strcmp(keys[i], "ref") == 0;
    for (size_t i = 0; keys != NULL && keys[i] != NULL; i++) {
        if (!is_of_program(keys[i])) {
            node->named = true;
            continue;
        }
        struct node *child = child_find(node, keys[i], strlen(keys[i]));
        if (child == NULL)
            child = child_add(node, keys[i], strlen(keys[i]));
        child->of_ref = child->of_ref || of_ref;
    }
    node->closed = node->closed || keys != NULL;
}

static void ask_range(struct node *node, enum type type, double low, double high)
{
    const bool first = !node->types[TYPE_NUMBER] && !node->types[TYPE_INTEGER];
    node->low = first ? low : fmin(node->low, low);
    node->high = first ? high : fmax(node->high, high);
    node->types[type] = true;
}

static void ask_words(struct node *node, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        size_t w = 0;
        while (w < node->word_count && strcmp(node->words[w], words[i]) != 0)
            w++;
        if (w == WORDS_MOST)
            fail("too many words of a choice");
        if (w == node->word_count && (node->words[node->word_count++] = strdup(words[i])) == NULL)
            fail("out of memory");
    }
}

/* A fixed length depends on another value, such as the number of functions: it is not kept. */
static void ask_length(struct node *node, double least, double most)
{
    if (least == most) {
        least = 0;
        most = INFINITY;
    }
    const bool first = !node->types[TYPE_ARRAY];
    node->least = first ? least : fmin(node->least, least);
    node->most = first ? most : fmax(node->most, most);
    node->types[TYPE_ARRAY] = true;
}

static void ask_key(struct node *parent, const char *key)
{
    struct node *child = key != NULL ? child_find(parent, key, strlen(key)) : NULL;
    if (child == NULL || child->needed_in == parent->visits)
        return;
    child->needed_in = parent->visits;
    child->needed++;
}

static void record(void *context, const struct json_question *question)
{
    struct generator *generator = context;
    if (strcmp(question->value->file, generator->file) != 0)
        return;
    struct node *node = place_find(generator, question->value->path);
    if (node == NULL || (generator->pass == PASS_SHAPES && question->ask != JSON_ASK_OBJECT))
        return;
    if (question->key != NULL && question->ask != JSON_ASK_KEY)
        node = member(node, question->key, strlen(question->key));
    switch (question->ask) {
    case JSON_ASK_OBJECT:
        node->types[TYPE_OBJECT] = true;
        node->visits += generator->pass == PASS_QUESTIONS && question->words != NULL;
        ask_keys(node, question->words);
        break;
    case JSON_ASK_ARRAY:
        ask_length(node, question->low, question->high);
        break;
    case JSON_ASK_NUMBER:
        ask_range(node, TYPE_NUMBER, question->low, question->high);
        break;
    case JSON_ASK_INTEGER:
        ask_range(node, TYPE_INTEGER, question->low, question->high);
        break;
    case JSON_ASK_BOOL:
        node->types[TYPE_BOOL] = true;
        break;
    case JSON_ASK_STRING:
        node->types[TYPE_STRING] = true;
        break;
    case JSON_ASK_CHOICE:
        ask_words(node, question->words);
        break;
    case JSON_ASK_FILE:
        node->in_file = true;
        break;
    case JSON_ASK_KEY:
        ask_key(node, question->key);
        break;
    }
}

/* ---- What accepted files have ---------------------------------------------------------------- */

static enum type type_of(const cJSON *value)
{
    return cJSON_IsObject(value)   ? TYPE_OBJECT
           : cJSON_IsArray(value)  ? TYPE_ARRAY
           : cJSON_IsString(value) ? TYPE_STRING
           : cJSON_IsBool(value)   ? TYPE_BOOL
           : cJSON_IsNumber(value) ? TYPE_NUMBER
                                   : TYPE_NULL;
}

static bool is_word(const struct node *node, const char *text)
{
    for (size_t i = 0; i < node->word_count; i++)
        if (strcmp(node->words[i], text) == 0)
            return true;
    return false;
}

/* A node of which a loader asked something: its ranges and words are known. */
static bool is_asked(const struct node *node)
{
    bool asked = node->word_count > 0 || node->in_file;
    for (size_t t = 0; t < TYPES; t++)
        asked = asked || node->types[t];
    return asked;
}

static void learn(struct node *node, const cJSON *value)
{
    const enum type type = type_of(value);
    const cJSON *each = NULL;
    if (!is_asked(node)) /* a note or an evidence, of any type */
        return;
    if (type == TYPE_NUMBER && !node->types[TYPE_NUMBER] && !node->types[TYPE_INTEGER])
        ask_range(node, TYPE_NUMBER, -INFINITY, INFINITY);
    else if (type == TYPE_ARRAY && !node->types[TYPE_ARRAY])
        ask_length(node, 0, INFINITY);
    else if (type != TYPE_NUMBER && !(type == TYPE_STRING && is_word(node, value->valuestring)))
        node->types[type] = true;
    for (each = first_of(value); each != NULL; each = each->next)
        learn(type == TYPE_ARRAY ? entries(node) : member(node, each->string, strlen(each->string)),
              each);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool read_as(const char *path, const char *kind, struct error *error)
{
    const char *found = NULL;
    if (strcmp(kind, "sweep") == 0) {
        struct sweep *sweep = sweep_load(path, NULL, 0, error);
        sweep_free(sweep);
        return sweep != NULL;
    }
    const bool claims = strcmp(kind, "claims") == 0;
    if (claims || strcmp(kind, "reference figures") == 0) {
        struct expectations *expectations =
            expectations_load(path, claims ? EXPECTATION_CLAIMS : EXPECTATION_FIGURES, error);
        expectations_free(expectations);
        return expectations != NULL;
    }
    return input_check(path, &found, error);
}

static struct schema *schema_of(struct generator *generator, const char *kind)
{
    size_t i = 0;
    while (i < generator->count && strcmp(generator->schemas[i].kind, kind) != 0)
        i++;
    if (i == KINDS_MOST)
        fail("too many kinds");
    if (i == generator->count &&
        (generator->schemas[generator->count++].kind = strdup(kind)) == NULL)
        fail("out of memory");
    return &generator->schemas[i];
}

static void file_read(struct generator *generator, const char *path)
{
    struct error error = {0};
    cJSON *content = json_parse_file(path, &error);
    const char *kind = input_kind(content);
    if (content == NULL || kind == NULL)
        fail(content == NULL ? error.message : path);
    generator->current = schema_of(generator, kind);
    generator->file = path;
    generator->content = content;
    json_record(record, generator);
    if (generator->pass != PASS_VALUES && !read_as(path, kind, &error))
        fail(error.message);
    json_record(NULL, NULL);
    if (generator->pass == PASS_VALUES)
        learn(&generator->current->root, content);
    cJSON_Delete(content);
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The kind of the file that a place may name; NULL: it is of no kind of its own. */
static const char *kind_of_file(const char *name)
{
    static const char *const kinds[][2] = {{"cluster", "cluster"}, {"functions", "functions"},
                                           {"profile", "profile"}, {"applications", "application"},
                                           {"ref", "application"}, {"profiles", "profile"},
                                           {"base", "experiment"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i][0], name) == 0)
            return kinds[i][1];
    return NULL;
}

static cJSON *node_schema(const struct node *node, const char *name);

static cJSON *typed(enum type type)
{
    cJSON *schema = cJSON_CreateObject();
    cJSON_AddStringToObject(schema, "type", type_names[type]);
    return schema;
}

/* A bound with all its digits. */
static void add_bound(cJSON *schema, const char *key, double bound)
{
    char text[32];
    const bool whole = bound == floor(bound) && fabs(bound) < 1e17;
    (void)snprintf(text, sizeof text, whole ? "%.0f" : "%g", bound);
    cJSON_AddRawToObject(schema, key, text);
}

static cJSON *number_schema(const struct node *node)
{
    cJSON *schema = typed(node->types[TYPE_NUMBER] ? TYPE_NUMBER : TYPE_INTEGER);
    if (node->low > -1e300)
        add_bound(schema, "minimum", node->low);
    if (node->high < 1e300)
        add_bound(schema, "maximum", node->high);
    return schema;
}

static cJSON *array_schema(const struct node *node, const char *name)
{
    cJSON *schema = typed(TYPE_ARRAY);
    if (node->entries != NULL)
        cJSON_AddItemToObject(schema, "items", node_schema(node->entries, name));
    if (node->least > 0)
        add_bound(schema, "minItems", node->least);
    if (node->most < 1e15)
        add_bound(schema, "maxItems", node->most);
    return schema;
}

/* `of_ref`: only the keys beside "ref". */
static cJSON *object_schema(const struct node *node, const char *name, bool of_ref)
{
    cJSON *schema = typed(TYPE_OBJECT), *properties = cJSON_CreateObject();
    cJSON *required = cJSON_CreateArray();
    const struct node *any = child_find(node, "", 0);
    for (const struct node *child = node->children; child != NULL; child = child->next) {
        if (child == any || (of_ref && !child->of_ref))
            continue;
        cJSON_AddItemToObject(properties, child->name, node_schema(child, child->name));
        if (node->visits > 0 && child->needed == node->visits)
            cJSON_AddItemToArray(required, cJSON_CreateString(child->name));
    }
    if (cJSON_GetArraySize(required) > 0)
        cJSON_AddItemToObject(schema, "required", required);
    else
        cJSON_Delete(required);
    if (cJSON_GetArraySize(properties) > 0)
        cJSON_AddItemToObject(schema, "properties", properties);
    else
        cJSON_Delete(properties);
    if (node->closed && !node->named)
        cJSON_AddBoolToObject(schema, "additionalProperties", false);
    else if (any != NULL)
        cJSON_AddItemToObject(schema, "additionalProperties", node_schema(any, name));
    return schema;
}

static cJSON *word_schema(const struct node *node)
{
    cJSON *schema = cJSON_CreateObject();
    cJSON *words = cJSON_AddArrayToObject(schema, "enum");
    for (size_t i = 0; i < node->word_count; i++)
        cJSON_AddItemToArray(words, cJSON_CreateString(node->words[i]));
    return schema;
}

/* The alternatives for what is in another file, or may be. */
static void add_file(cJSON *list, const struct node *node, const char *name, const char *kind)
{
    char file[64];
    cJSON *reference = cJSON_CreateObject();
    (void)snprintf(file, sizeof file, "%s.json", kind);
    cJSON_AddStringToObject(reference, "$ref", file);
    cJSON_AddItemToArray(list, typed(TYPE_STRING));
    cJSON_AddItemToArray(list, reference);
    if (strcmp(kind, "functions") == 0) { /* within an experiment, the list alone will do */
        cJSON *array = typed(TYPE_ARRAY);
        cJSON_AddStringToObject(cJSON_AddObjectToObject(array, "items"), "$ref",
                                "functions.json#/properties/functions/items");
        cJSON_AddItemToArray(list, array);
    }
    if (child_find(node, "ref", 3) != NULL)
        cJSON_AddItemToArray(list, object_schema(node, name, true));
    if (strcmp(kind, "profile") == 0 && child_find(node, "", 0) != NULL) /* or one by model */
        cJSON_AddItemToArray(list, object_schema(node, name, false));
}

/* `name` is that of the member that has the value, or of the nearest one around it. */
static cJSON *node_schema(const struct node *node, const char *name)
{
    const char *kind = node->in_file ? kind_of_file(name) : NULL;
    cJSON *list = cJSON_CreateArray();
    if (kind != NULL) {
        add_file(list, node, name, kind);
    } else {
        if (node->types[TYPE_STRING] || (node->in_file && node->word_count == 0))
            cJSON_AddItemToArray(list, typed(TYPE_STRING));
        else if (node->word_count > 0)
            cJSON_AddItemToArray(list, word_schema(node));
        if (node->types[TYPE_NUMBER] || node->types[TYPE_INTEGER])
            cJSON_AddItemToArray(list, number_schema(node));
        if (node->types[TYPE_BOOL])
            cJSON_AddItemToArray(list, typed(TYPE_BOOL));
        if (node->types[TYPE_NULL])
            cJSON_AddItemToArray(list, typed(TYPE_NULL));
        if (node->types[TYPE_ARRAY])
            cJSON_AddItemToArray(list, array_schema(node, name));
        if (node->types[TYPE_OBJECT])
            cJSON_AddItemToArray(list, object_schema(node, name, false));
    }
    const int count = cJSON_GetArraySize(list);
    cJSON *schema = count == 1 ? cJSON_DetachItemFromArray(list, 0) : cJSON_CreateObject();
    if (count > 1)
        cJSON_AddItemToObject(schema, "anyOf", list);
    else
        cJSON_Delete(list);
    return schema;
}

static void schema_write(const struct schema *schema, const char *folder)
{
    char path[4096], title[96], file[64];
    cJSON *root = cJSON_CreateObject();
    (void)snprintf(file, sizeof file, "%s", schema->kind);
    for (char *blank = file; (blank = strchr(blank, ' ')) != NULL;)
        *blank = '-';
    (void)snprintf(path, sizeof path, "%s/%s.json", folder, file);
    (void)snprintf(title, sizeof title, "esgsim: %s", schema->kind);
    cJSON_AddStringToObject(root, "$schema", "http://json-schema.org/draft-07/schema#");
    cJSON_AddStringToObject(root, "title", title);
    cJSON *content = node_schema(&schema->root, "");
    while (content->child != NULL) {
        cJSON *item = cJSON_DetachItemViaPointer(content, content->child);
        cJSON_AddItemToObject(root, item->string, item);
    }
    char *text = cJSON_Print(root);
    FILE *stream = text != NULL ? fopen(path, "w") : NULL;
    if (stream == NULL || fprintf(stream, "%s\n", text) < 0 || fclose(stream) != 0)
        fail(path);
    cJSON_free(text);
    cJSON_Delete(content);
    cJSON_Delete(root);
}

int main(int argc, char **argv)
{
    static struct generator generator;
    if (argc < 4 || strcmp(argv[1], "--out") != 0)
        fail("usage: schemas --out FOLDER FILE.json…");
    for (; generator.pass < PASSES; generator.pass++)
        for (int i = 3; i < argc; i++)
            file_read(&generator, argv[i]);
    for (size_t i = 0; i < generator.count; i++)
        schema_write(&generator.schemas[i], argv[2]);
    return 0;
}
