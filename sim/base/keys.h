/* The keys of an object in a file: one line for each, from which it is read and written.
 *
 *     static const struct key noise_keys[] = {
 *         KEY_NUMBER("cv", struct noise, cv, 0, 100, 0.05, OPTIONAL), KEY_NOTES, KEY_END};
 *
 * A line has the key, the field that has its value, the range or the words, and the default. The
 * same lines describe the parameters of policies (sim/base/parameters.h). Keys
 * whose value is not one field are named by KEY_OWN, and their loader reads them. Unknown keys are
 * refused with the list of known ones, in the order of the table.
 */
#ifndef ESGSIM_SIM_BASE_KEYS_H
#define ESGSIM_SIM_BASE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"

struct cJSON;
struct json_value;

enum key_kind {
    KIND_OWN,
    KIND_NUMBER,
    KIND_WHOLE,
    KIND_TIME,
    KIND_MS,
    KIND_BOOL,
    KIND_WORD,
    KIND_TEXT,
    KIND_BORROWED,
    KIND_OBJECT
};

struct key {
    const char *name; /* NULL ends a table */
    enum key_kind kind;
    size_t offset, size; /* of the field */
    double low, high, fallback;
    const char *const *words; /* the field has the index of one of them */
    const struct key *keys;   /* of an object within the object; their fields are of the same
                               * structure */
    bool required;
    bool or_number;   /* a number in place of the object is the value of its first key */
    bool sparse;      /* not written at its default; an object: not written if empty, and as the
                       * number that it may be if it has no key but the first */
    bool unwritten;   /* only loaded */
    const char *help; /* of a parameter: one line, with the evidence grade of the default */
    size_t if_offset, if_size; /* required and written only if this field has the value `if_is`; */
    int64_t if_is;             /* if_size 0: always */
};

/* Most keys of one table, and most characters of a name. */
enum { KEYS_MOST = 63, KEYS_NAME_MOST = 63 };

/* Words as an argument of a line. */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The rules of a line. */
#define OPTIONAL .required = false
#define REQUIRED .required = true
#define SPARSE .sparse = true
#define OR_NUMBER .or_number = true
#define UNWRITTEN .unwritten = true
/* Written only if the other field has the value. */
#define WRITTEN_IF(of, other, value) .if_is = (value), KEY_FIELD(of, other, if_offset, if_size)
/* Required, too. */
#define NEEDED_IF(of, other, value) .required = true, WRITTEN_IF(of, other, value)

#define KEY_FIELD(of, field, at, length)                                                           \
    .at = offsetof(struct of, field), .length = sizeof((struct of *)NULL)->field
/* A compile error for a field of another type. */
#define KEY_TYPE(of, field, type, kind) _Generic(&((struct of *)NULL)->field, type * : (kind))

#define KEY_ENTRY(...)                                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define KEY_RANGE(key, of, field, sort, least, most, value, ...)                                   \
    KEY_ENTRY(.name = (key), KEY_FIELD(of, field, offset, size), .kind = (sort),                   \
              .low = (double)(least), .high = (double)(most), .fallback = (double)(value),         \
              __VA_ARGS__)

/* A double, which is not written if it is NAN; a whole number of 16, 32 or 64 bits; a sim_time_t
 * given in seconds or ms; a bool; a bool or an enumeration given by its word; a string of the
 * value's arena, or for a const char * one of the document; one of 1..63 characters. `of` is the
 * tag of the structure. Rules end the line. */
#define KEY_NUMBER(key, of, field, least, most, value, ...)                                        \
    KEY_RANGE(key, of, field, KEY_TYPE(of, field, double, KIND_NUMBER), least, most, value,        \
              __VA_ARGS__)
#define KEY_WHOLE(key, of, field, least, most, value, ...)                                         \
    KEY_RANGE(key, of, field, KIND_WHOLE, least, most, value, __VA_ARGS__)
#define KEY_SECONDS(key, of, field, least, most, value, ...)                                       \
    KEY_RANGE(key, of, field, KEY_TYPE(of, field, sim_time_t, KIND_TIME), least, most, value,      \
              __VA_ARGS__)
#define KEY_MILLISECONDS(key, of, field, least, most, value, ...)                                  \
    KEY_RANGE(key, of, field, KEY_TYPE(of, field, sim_time_t, KIND_MS), least, most, value,        \
              __VA_ARGS__)
#define KEY_BOOL(key, of, field, value, ...)                                                       \
    KEY_RANGE(key, of, field, KEY_TYPE(of, field, bool, KIND_BOOL), 0, 1, value, __VA_ARGS__)
#define KEY_WORD(key, of, field, list, value, ...)                                                 \
    KEY_RANGE(key, of, field, KIND_WORD, 0, 0, value, .words = (list), __VA_ARGS__)
#define KEY_TEXT(key, of, field, ...)                                                              \
    KEY_ENTRY(.name = (key), KEY_FIELD(of, field, offset, size),                                   \
              .kind = _Generic(&((struct of *)NULL)->field,                                        \
                       char **: KIND_TEXT,                                                         \
                       const char **: KIND_BORROWED),                                              \
              __VA_ARGS__)
#define KEY_NAME(key, of, field, ...) KEY_TEXT(key, of, field, .high = KEYS_NAME_MOST, __VA_ARGS__)
#define KEY_OBJECT(key, table, ...)                                                                \
    KEY_ENTRY(.name = (key), .kind = KIND_OBJECT, .keys = (table), __VA_ARGS__)
#define KEY_OWN(key) KEY_ENTRY(.name = (key))
#define KEY_NEEDED(key) KEY_ENTRY(.name = (key), REQUIRED)
#define KEY_NOTES KEY_OWN("note"), KEY_OWN("evidence")
#define KEY_END KEY_ENTRY(.name = NULL)

/* Number of lines; 0 if `keys` is NULL. */
size_t keys_count(const struct key *keys);

/* Sets the field of a number, a whole number (cut off after the point), a time, a bool or a
 * word. */
void key_set(const struct key *key, void *out, double number);

/* The names of a table, ended by NULL. Returns their number. */
int keys_names(const struct key *keys, const char *names[KEYS_MOST + 1]);

/* Whether the first `length` characters of `name` are a key of the table. */
bool keys_have(const struct key *keys, const char *name, size_t length);

/* Sets the fields of all lines to their defaults, but of strings. */
void keys_default(const struct key *keys, void *out);

/* Checks that the value is an object with keys only from the table, and sets the fields of the keys
 * that it has. Fields of absent keys keep their value. A missing key that is required, a wrong
 * type, range or word is a fault. */
bool keys_load(const struct key *keys, const struct json_value *value, void *out,
               struct error *error);

/* The same for an object that may have other keys. */
bool keys_read(const struct key *keys, const struct json_value *value, void *out,
               struct error *error);

/* Adds the fields to `object` in the form that keys_load reads, with all digits. */
void keys_write(const struct key *keys, const void *in, struct cJSON *object);

#endif
