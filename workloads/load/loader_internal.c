#include "workloads/load/loader_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/utf8.h"

void *load_array(size_t count, size_t size, struct error *error)
{
    void *array = calloc(count == 0 ? 1 : count, size);
    if (array == NULL)
        error_input(error, "out of memory");
    return array;
}

void *load_entries(const struct json_value *array, size_t low, size_t high, size_t size,
                   struct error *error)
{
    return json_is_array(array, low, high, error) ? load_array(json_size(array), size, error)
                                                  : NULL;
}

bool load_unknown_name(const struct json_value *value, const char *what, const char *name,
                       const char *const *names, int count, struct error *error)
{
    char fault[sizeof error->message / 2];
    utf8_mark_cut(fault, sizeof fault,
                  snprintf(fault, sizeof fault, "\"%s\" is no %s", name, what));
    return json_fault_unknown(value, fault, name, names, count, error);
}

static const char *name_at(char *const *first, size_t size, size_t index)
{
    return *(char *const *)(const void *)((const char *)first + index * size);
}

bool load_index(const struct json_value *value, const char *what, const char *name,
                char *const *first, size_t count, size_t size, size_t *index, struct error *error)
{
    for (*index = 0; *index < count; ++*index)
        if (strcmp(name_at(first, size, *index), name) == 0)
            return true;
    const char **names = load_array(count, sizeof *names, error);
    for (size_t i = 0; names != NULL && i < count; i++)
        names[i] = name_at(first, size, i);
    if (names != NULL)
        (void)load_unknown_name(value, what, name, names, (int)count, error);
    free(names);
    return false;
}

bool load_is_new(const struct json_value *value, const char *what, char *const *first, size_t count,
                 size_t size, struct error *error)
{
    const char *name = name_at(first, size, count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(name_at(first, size, i), name) == 0)
            return json_fault(value, error, "two %s are named \"%s\"; rename one", what, name);
    return true;
}

static int compare_members(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

/* Sorts the members of objects by key, at every depth. cJSON's list is circular backwards: the
 * first element's prev is the last. */
static bool sort_members(cJSON *node)
{
    size_t count = 0;
    for (cJSON *child = node->child; child != NULL; child = child->next, count++)
        if (!sort_members(child))
            return false;
    if (!cJSON_IsObject(node) || count < 2)
        return true;
    cJSON **members = malloc(count * sizeof *members);
    if (members == NULL)
        return false;
    size_t i = 0;
    for (cJSON *child = node->child; child != NULL; child = child->next)
        members[i++] = child;
    qsort(members, count, sizeof(cJSON *), compare_members);
    for (i = 0; i < count; i++) {
        members[i]->next = i + 1 < count ? members[i + 1] : NULL;
        members[i]->prev = members[i > 0 ? i - 1 : count - 1];
    }
    node->child = members[0];
    free(members);
    return true;
}

char *json_print_sorted(cJSON *root)
{
    char *printed = sort_members(root) ? cJSON_PrintUnformatted(root) : NULL;
    char *text = printed == NULL ? NULL : strdup(printed);
    cJSON_free(printed);
    return text;
}

void hash_finish(struct sha256_ctx *context, char hex[65])
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

void hash_bytes(const char *bytes, size_t size, char hex[65])
{
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, size, (const uint8_t *)bytes);
    hash_finish(&context, hex);
}
