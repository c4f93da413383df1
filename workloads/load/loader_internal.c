#include "workloads/load/loader_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/json_write.h"
#include "sim/base/utf8.h"

void *load_entries(const struct json_value *array, size_t low, size_t high, size_t size,
                   struct error *error)
{
    return json_is_array(array, low, high, error)
               ? arena_allocate(array->arena, json_size(array), size)
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

static const char *name_at(const char *const *first, size_t size, size_t index)
{
    return *(const char *const *)(const void *)((const char *)first + index * size);
}

bool load_index(const struct json_value *value, const char *what, const char *name,
                const char *const *first, size_t count, size_t size, size_t *index,
                struct error *error)
{
    for (*index = 0; *index < count; ++*index)
        if (strcmp(name_at(first, size, *index), name) == 0)
            return true;
    const char **names = arena_allocate(value->arena, count, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = name_at(first, size, i);
    return load_unknown_name(value, what, name, names, (int)count, error);
}

bool load_is_new(const struct json_value *value, const char *what, const char *const *first,
                 size_t count, size_t size, struct error *error)
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
static void sort_members(struct arena *arena, cJSON *node)
{
    size_t count = 0;
    for (cJSON *child = node->child; child != NULL; child = child->next, count++)
        sort_members(arena, child);
    if (!cJSON_IsObject(node) || count < 2)
        return;
    cJSON **members = arena_allocate(arena, count, sizeof *members);
    size_t i = 0;
    for (cJSON *child = node->child; child != NULL; child = child->next)
        members[i++] = child;
    qsort(members, count, sizeof(cJSON *), compare_members);
    for (i = 0; i < count; i++) {
        members[i]->next = i + 1 < count ? members[i + 1] : NULL;
        members[i]->prev = members[i > 0 ? i - 1 : count - 1];
    }
    node->child = members[0];
    arena_release(arena, members);
}

char *json_print_sorted(struct arena *arena, cJSON *root)
{
    sort_members(arena, root);
    return json_print(arena, root);
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
