#include "sim/base/string_index.h"

#include <search.h>
#include <string.h>

#include "sim/base/arena.h"

struct label {
    const char *name; /* owned by the table's names */
    int32_t number;
};

static int label_compare(const void *a, const void *b)
{
    const struct label *left = a, *right = b;
    return strcmp(left->name, right->name);
}

int32_t string_index_find(const struct string_index *labels, const char *name)
{
    const struct label key = {.name = name, .number = 0};
    struct label *const *found = tfind(&key, &labels->tree, label_compare);
    return found == NULL ? STRING_INDEX_NONE : (*found)->number;
}

int32_t string_index_add(struct string_index *labels, const char *name)
{
    int32_t number = string_index_find(labels, name);
    if (number != STRING_INDEX_NONE || labels->count == STRING_INDEX_MOST)
        return number;
    if (labels->arena == NULL)
        labels->arena = arena_create();
    struct label *label = arena_allocate(labels->arena, 1, sizeof *label);
    arena_reserve(labels->arena, &labels->names, labels->count + 1, sizeof *labels->names);
    char *copy = arena_text(labels->arena, "%s", name);
    *label = (struct label){.name = copy, .number = (int32_t)labels->count};
    if (tsearch(label, &labels->tree, label_compare) == NULL)
        arena_exhaust(labels->arena, 1, sizeof *label);
    labels->names[labels->count++] = copy;
    return label->number;
}

static void label_keep(void *label) {}

void string_index_clear(struct string_index *labels)
{
    tdestroy(labels->tree, label_keep);
    arena_destroy(labels->arena);
    *labels = (struct string_index){0};
}
