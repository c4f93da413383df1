#include "sim/base/keys.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
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

static bool is_text(const struct key *key)
{
    return key->kind == KIND_TEXT || key->kind == KIND_BORROWED;
}

static char *text_at(const struct key *key, const void *in)
{
    char *text = NULL;
    memcpy(&text, (const char *)in + key->offset, sizeof text);
    return text;
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

int keys_names(const struct key *keys, const char *names[KEYS_MOST + 1])
{
    int count = 0;
    for (; count < KEYS_MOST && keys[count].name != NULL; count++)
        names[count] = keys[count].name;
    names[count] = NULL;
    return count;
}

bool keys_have(const struct key *keys, const char *name, size_t length)
{
    for (; keys->name != NULL; keys++)
        if (strlen(keys->name) == length && strncmp(keys->name, name, length) == 0)
            return true;
    return false;
}

void keys_default(const struct key *keys, void *out)
{
    for (const struct key *key = keys; key->name != NULL; key++)
        if (key->kind == KIND_OBJECT)
            keys_default(key->keys, out);
        else if (key->kind != KIND_OWN && !is_text(key))
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

static bool load_text(const struct key *key, const struct json_value *value, void *out,
                      struct error *error)
{
    const char *text = NULL;
    struct json_value child;
    if (!json_text(value, key->name, &text, error))
        return false;
    if (text == NULL)
        return true;
    if (key->kind == KIND_TEXT)
        text = arena_text(value->arena, "%s", text);
    memcpy((char *)out + key->offset, &text, sizeof text);
    if (key->high == 0 || !json_child(value, key->name, &child))
        return true;
    const size_t length = strlen(text);
    return (length > 0 && length <= KEYS_NAME_MOST) ||
           json_fault(&child, error, "has %zu characters, a name has 1..%d", length,
                      KEYS_NAME_MOST);
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
    if (is_text(key))
        return load_text(key, value, out, error);
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
    const char *names[KEYS_MOST + 1];
    (void)keys_names(keys, names);
    return json_is_object(value, names, error) && keys_read(keys, value, out, error);
}

bool keys_read(const struct key *keys, const struct json_value *value, void *out,
               struct error *error)
{
    struct json_value child;
    for (const struct key *key = keys; key->name != NULL; key++)
        if (!load_one(key, value, out, error) ||
            (key->required && applies(key, out) && !json_require(value, key->name, &child, error)))
            return false;
    return true;
}

static cJSON *written(const struct key *key, const void *in)
{
    switch (key->kind) {
    case KIND_NUMBER:
    case KIND_TIME:
    case KIND_MS:
        return cJSON_CreateNumber(number_at(key, in));
    case KIND_BOOL:
        return cJSON_CreateBool(number_at(key, in) != 0);
    case KIND_WORD:
        return cJSON_CreateString(key->words[whole_at(in, key->offset, key->size)]);
    case KIND_TEXT:
    case KIND_BORROWED:
        return cJSON_CreateString(text_at(key, in));
    case KIND_WHOLE:
        return json_whole((uint64_t)whole_at(in, key->offset, key->size));
    case KIND_OBJECT:
        return cJSON_CreateObject();
    case KIND_OWN:
        break;
    }
    return NULL;
}

static void write_one(const struct key *key, const void *in, cJSON *object)
{
    cJSON *item = written(key, in);
    if (key->keys != NULL)
        keys_write(key->keys, in, item);
    const bool empty = key->keys != NULL && key->sparse && item->child == NULL;
    if (!empty && key->keys != NULL && key->or_number && key->sparse && item->child->next == NULL &&
        strcmp(item->child->string, key->keys->name) == 0) {
        cJSON *number = cJSON_DetachItemViaPointer(item, item->child);
        cJSON_Delete(item);
        item = number;
    }
    if (empty)
        cJSON_Delete(item);
    else
        (void)cJSON_AddItemToObject(object, key->name, item);
}

static bool is_left_out(const struct key *key, const void *in)
{
    if (key->kind == KIND_OWN || key->unwritten || !applies(key, in))
        return true;
    if (key->kind == KIND_OBJECT || is_text(key))
        return key->kind != KIND_OBJECT && text_at(key, in) == NULL;
    const double number = number_at(key, in);
    return isnan(number) || (key->sparse && number == key->fallback);
}

void keys_write(const struct key *keys, const void *in, cJSON *object)
{
    for (const struct key *key = keys; key->name != NULL; key++)
        if (!is_left_out(key, in))
            write_one(key, in, object);
}
