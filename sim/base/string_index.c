#include "sim/base/string_index.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/array.h"

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

static int32_t string_index_insert(struct string_index *labels, const char *name)
{
    struct label *label = malloc(sizeof *label);
    char *copy = strdup(name);
    if (label == NULL || copy == NULL) {
        free(label);
        free(copy);
        return STRING_INDEX_NONE;
    }
    *label = (struct label){.name = copy, .number = (int32_t)labels->count};
    if (tsearch(label, &labels->tree, label_compare) == NULL) {
        free(label);
        free(copy);
        return STRING_INDEX_NONE;
    }
    labels->names[labels->count++] = copy;
    return label->number;
}

int32_t string_index_add(struct string_index *labels, const char *name)
{
    int32_t number = string_index_find(labels, name);
    if (number != STRING_INDEX_NONE || labels->count == STRING_INDEX_MOST)
        return number;
    if (!array_reserve(&labels->names, &labels->capacity, labels->count + 1, sizeof(char *)))
        return STRING_INDEX_NONE;
    return string_index_insert(labels, name);
}

void string_index_clear(struct string_index *labels)
{
    tdestroy(labels->tree, free);
    for (size_t i = 0; i < labels->count; i++)
        free(labels->names[i]);
    free(labels->names);
    *labels = (struct string_index){0};
}
