#include "sim/base/keys.h"

#include <string.h>

#include "sim/base/json.h"

/* A whole number, a bool or an enumeration of any size. */
union whole {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    int64_t eight;
};

static int64_t whole_at(const void *structure, size_t offset, size_t size)
{
    union whole whole = {.eight = 0};
    memcpy(&whole, (const char *)structure + offset, size);
    return size == 1 ? whole.one : size == 2 ? whole.two : size == 4 ? whole.four : whole.eight;
}

static void whole_set(const struct key *key, void *out, int64_t number)
{
    union whole whole = {.eight = number};
    if (key->size == 1)
        whole.one = (uint8_t)number;
    else if (key->size == 2)
        whole.two = (uint16_t)number;
    else if (key->size == 4)
        whole.four = (uint32_t)number;
    memcpy((char *)out + key->offset, &whole, key->size);
}

static double number_at(const struct key *key, const void *in)
{
    double number = 0;
    if (key->kind == KIND_TIME)
        return sim_to_s(whole_at(in, key->offset, key->size));
    if (key->kind == KIND_MS)
        return sim_to_ms(whole_at(in, key->offset, key->size));
    if (key->kind != KIND_NUMBER)
        return (double)whole_at(in, key->offset, key->size);
    memcpy(&number, (const char *)in + key->offset, sizeof number);
    return number;
}

void key_set(const struct key *key, void *out, double number)
{
    if (key->kind == KIND_NUMBER)
        memcpy((char *)out + key->offset, &number, sizeof number);
    else
        whole_set(key, out,
                  key->kind == KIND_TIME ? sim_from_s(number)
                  : key->kind == KIND_MS ? sim_from_ms(number)
                                         : (int64_t)number);
}

size_t keys_count(const struct key *keys)
{
    size_t count = 0;
    while (keys != NULL && keys[count].name != NULL)
        count++;
    return count;
}

static bool applies(const struct key *key, const void *in)
{
    return key->if_size == 0 || whole_at(in, key->if_offset, key->if_size) == key->if_is;
}

void keys_default(const struct key *keys, void *out)
{
    for (const struct key *key = keys; key->name != NULL; key++)
        if (key->kind == KIND_OBJECT)
            keys_default(key->keys, out);
        else if (key->kind != KIND_OWN)
            key_set(key, out, key->fallback);
}

static bool load_object(const struct key *key, const struct json_value *value, void *out,
                        struct error *error)
{
    double number = 0;
    if (!key->or_number || !cJSON_IsNumber(value->node))
        return keys_load(key->keys, value, out, error);
    const struct key *first = key->keys;
    if (!json_as_number(value, first->low, first->high, &number, error))
        return false;
    key_set(first, out, number);
    return true;
}

/* The value of the key if the object has it. */
static bool load_one(const struct key *key, const struct json_value *value, void *out,
                     struct error *error)
{
    struct json_value child;
    const bool given = json_child(value, key->name, &child);
    double number = 0;
    int64_t whole = 0;
    int word = 0;
    bool good = true, yes = false;
    if (key->kind == KIND_OBJECT)
        return !given || load_object(key, &child, out, error);
    if (key->kind == KIND_NUMBER || key->kind == KIND_TIME || key->kind == KIND_MS) {
        good = json_number(value, key->name, key->low, key->high, &number, error);
    } else if (key->kind == KIND_WHOLE) {
        good = json_integer(value, key->name, (int64_t)key->low, (int64_t)key->high, &whole, error);
        number = (double)whole;
    } else if (key->kind == KIND_BOOL) {
        good = json_bool(value, key->name, &yes, error);
        number = yes;
    } else if (key->kind == KIND_WORD) {
        good = json_choice(value, key->name, key->words, &word, error);
        number = word;
    }
    if (good && given && key->kind != KIND_OWN)
        key_set(key, out, number);
    return good;
}

bool keys_load(const struct key *keys, const struct json_value *value, void *out,
               struct error *error)
{
    const char *names[KEYS_MOST + 1] = {NULL};
    struct json_value child;
    for (size_t i = 0; i < KEYS_MOST && keys[i].name != NULL; i++)
        names[i] = keys[i].name;
    if (!json_is_object(value, names, error))
        return false;
    for (const struct key *key = keys; key->name != NULL; key++)
        if (!load_one(key, value, out, error) ||
            (key->required && applies(key, out) && !json_require(value, key->name, &child, error)))
            return false;
    return true;
}

static cJSON *written(const struct key *key, const void *in)
{
    const double number = number_at(key, in);
    switch (key->kind) {
    case KIND_NUMBER:
    case KIND_TIME:
    case KIND_MS:
        return cJSON_CreateNumber(number);
    case KIND_BOOL:
        return cJSON_CreateBool(number != 0);
    case KIND_WORD:
        return cJSON_CreateString(key->words[(size_t)number]);
    case KIND_WHOLE:
        return json_whole((uint64_t)whole_at(in, key->offset, key->size));
    case KIND_OBJECT:
        return cJSON_CreateObject();
    case KIND_OWN:
        break;
    }
    return NULL;
}

static bool write_one(const struct key *key, const void *in, cJSON *object)
{
    cJSON *item = written(key, in);
    const bool good = item != NULL && (key->keys == NULL || keys_write(key->keys, in, item));
    const bool empty = good && key->keys != NULL && key->sparse && item->child == NULL;
    if (good && !empty && cJSON_AddItemToObject(object, key->name, item))
        return true;
    cJSON_Delete(item);
    return empty;
}

bool keys_write(const struct key *keys, const void *in, cJSON *object)
{
    for (const struct key *key = keys; key->name != NULL; key++) {
        const bool left_out =
            key->kind == KIND_OWN || !applies(key, in) ||
            (key->sparse && key->keys == NULL && number_at(key, in) == key->fallback);
        if (!left_out && !write_one(key, in, object))
            return false;
    }
    return true;
}
