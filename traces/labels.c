#include "traces/labels.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct label {
    const char *name; /* owned by the table's names */
    int32_t number;
};

static int label_compare(const void *a, const void *b)
{
    const struct label *left = a, *right = b;
    return strcmp(left->name, right->name);
}

int32_t labels_find(const struct labels *labels, const char *name)
{
    const struct label key = {.name = name, .number = 0};
    struct label *const *found = tfind(&key, &labels->tree, label_compare);
    return found == NULL ? LABELS_NONE : (*found)->number;
}

static int32_t labels_insert(struct labels *labels, const char *name)
{
    struct label *label = malloc(sizeof *label);
    char *copy = strdup(name);
    if (label == NULL || copy == NULL) {
        free(label);
        free(copy);
        return LABELS_NONE;
    }
    *label = (struct label){.name = copy, .number = (int32_t)labels->count};
    if (tsearch(label, &labels->tree, label_compare) == NULL) {
        free(label);
        free(copy);
        return LABELS_NONE;
    }
    labels->names[labels->count++] = copy;
    return label->number;
}

int32_t labels_add(struct labels *labels, const char *name)
{
    int32_t number = labels_find(labels, name);
    if (number != LABELS_NONE || labels->count == LABELS_MOST)
        return number;
    if (labels->count == labels->capacity) {
        size_t capacity = labels->capacity == 0 ? 64 : 2 * labels->capacity;
        char **names = realloc(labels->names, capacity * sizeof *names);
        if (names == NULL)
            return LABELS_NONE;
        labels->names = names;
        labels->capacity = capacity;
    }
    return labels_insert(labels, name);
}

void labels_clear(struct labels *labels)
{
    tdestroy(labels->tree, free);
    for (size_t i = 0; i < labels->count; i++)
        free(labels->names[i]);
    free(labels->names);
    *labels = (struct labels){0};
}
