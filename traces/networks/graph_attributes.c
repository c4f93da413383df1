/* The attributes of layers in a network file: their types and ranges. */
#include <stddef.h>
#include <string.h>

#include "traces/networks/graph_kinds.h"

enum { SIDE_LIMIT = 1 << 20 };

enum attribute_type { ATTRIBUTE_INTEGER, ATTRIBUTE_PAIR, ATTRIBUTE_FLAG, ATTRIBUTE_NUMBER };

#define PLACE(member) offsetof(struct graph_attributes, member)

static const struct attribute {
    const char *key;
    enum attribute_type type;
    size_t place;
    double low, high;
} attributes_known[] = {
    {"channels", ATTRIBUTE_INTEGER, PLACE(channels), 1, SIDE_LIMIT},
    {"kernel", ATTRIBUTE_PAIR, PLACE(kernel), 1, 1024},
    {"stride", ATTRIBUTE_PAIR, PLACE(stride), 1, 1024},
    {"pad", ATTRIBUTE_PAIR, PLACE(pad), 0, 1024},
    {"dilation", ATTRIBUTE_PAIR, PLACE(dilation), 1, 1024},
    {"output_pad", ATTRIBUTE_PAIR, PLACE(output_pad), 0, 1024},
    {"groups", ATTRIBUTE_INTEGER, PLACE(groups), 1, SIDE_LIMIT},
    {"factor", ATTRIBUTE_INTEGER, PLACE(factor), 1, 1024},
    {"size", ATTRIBUTE_PAIR, PLACE(size), 1, SIDE_LIMIT},
    {"heads", ATTRIBUTE_INTEGER, PLACE(heads), 1, SIDE_LIMIT},
    {"entries", ATTRIBUTE_INTEGER, PLACE(entries), 1, 1 << 30},
    {"index", ATTRIBUTE_INTEGER, PLACE(index), 0, SIDE_LIMIT},
    {"bias", ATTRIBUTE_FLAG, PLACE(bias), 0, 0},
    {"affine", ATTRIBUTE_FLAG, PLACE(affine), 0, 0},
    {"ceil", ATTRIBUTE_FLAG, PLACE(ceil), 0, 0},
    {"count_pad", ATTRIBUTE_FLAG, PLACE(count_pad), 0, 0},
    {"per_channel", ATTRIBUTE_FLAG, PLACE(per_channel), 0, 0},
    {"align_corners", ATTRIBUTE_FLAG, PLACE(align_corners), 0, 0},
    {"transpose", ATTRIBUTE_FLAG, PLACE(transpose), 0, 0},
    {"epsilon", ATTRIBUTE_NUMBER, PLACE(epsilon), 0, 1},
    {"slope", ATTRIBUTE_NUMBER, PLACE(slope), -100, 100},
    {"low", ATTRIBUTE_NUMBER, PLACE(low), -1e30, 1e30},
    {"high", ATTRIBUTE_NUMBER, PLACE(high), -1e30, 1e30},
};

/* Reads a number, or [height, width]. */
static bool read_pair(const struct json_value *layer, const struct attribute *known, int64_t *pair,
                      struct error *error)
{
    struct json_value value;
    const int64_t low = (int64_t)known->low;
    const int64_t high = (int64_t)known->high;
    if (!json_child(layer, known->key, &value))
        return true;
    if (!cJSON_IsArray(value.node)) {
        if (!json_as_integer(&value, low, high, &pair[0], error))
            return false;
        pair[1] = pair[0];
        return true;
    }
    if (!json_is_array(&value, 2, 2, error))
        return false;
    for (size_t i = 0; i < 2; i++) {
        struct json_value entry = json_entry(&value, i);
        if (!json_as_integer(&entry, low, high, &pair[i], error))
            return false;
    }
    return true;
}

static bool read_attribute(const struct json_value *layer, const struct attribute *known,
                           struct graph_attributes *attributes, struct error *error)
{
    char *place = (char *)attributes + known->place;
    switch (known->type) {
    case ATTRIBUTE_INTEGER:
        return json_integer(layer, known->key, (int64_t)known->low, (int64_t)known->high,
                            (int64_t *)(void *)place, error);
    case ATTRIBUTE_PAIR:
        return read_pair(layer, known, (int64_t *)(void *)place, error);
    case ATTRIBUTE_FLAG:
        return json_bool(layer, known->key, (bool *)(void *)place, error);
    case ATTRIBUTE_NUMBER:
        return json_number(layer, known->key, known->low, known->high, (double *)(void *)place,
                           error);
    }
    return false;
}

static bool read_mode(const struct json_value *layer, struct graph_attributes *a,
                      struct error *error)
{
    static const char *const modes[] = {"nearest", "bilinear", NULL};
    int mode = GRAPH_NEAREST;
    if (!json_choice(layer, "mode", modes, &mode, error))
        return false;
    a->mode = (enum graph_upsample)mode;
    return true;
}

static const struct attribute *find_attribute(const char *key)
{
    for (size_t i = 0; i < sizeof attributes_known / sizeof attributes_known[0]; i++)
        if (strcmp(attributes_known[i].key, key) == 0)
            return &attributes_known[i];
    return NULL;
}

bool graph_attribute_read(const struct json_value *layer, const char *key,
                          struct graph_attributes *attributes, struct error *error)
{
    const struct attribute *known = find_attribute(key);
    return known == NULL ? read_mode(layer, attributes, error)
                         : read_attribute(layer, known, attributes, error);
}
