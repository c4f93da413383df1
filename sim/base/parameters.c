#include "sim/base/parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/utf8.h"

enum { LIST_LENGTH = 512, NAMES_MAX = 64 };

size_t parameter_index(const struct key *table, const char *name)
{
    const size_t count = keys_count(table);
    size_t i = 0;
    while (i < count && strcmp(table[i].name, name) != 0)
        i++;
    return i;
}

const char *parameter_word(const struct key *parameter, double value)
{
    return parameter->words == NULL ? NULL : parameter->words[(size_t)value];
}

const char *parameter_words(const struct key *parameter, char text[PARAMETER_WORDS])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; parameter->words[i] != NULL && used < PARAMETER_WORDS; i++)
        used += (size_t)snprintf(text + used, PARAMETER_WORDS - used, "%s%s", i > 0 ? "|" : "",
                                 parameter->words[i]);
    return text;
}

/* The greatest value: of a word its index. */
static double greatest(const struct key *parameter)
{
    double count = 0;
    for (; parameter->words != NULL && parameter->words[(size_t)count] != NULL; count++)
        ;
    return parameter->words == NULL ? parameter->high : count - 1;
}

/* Whether parameters_fill can set the field. */
static bool fits(const struct key *parameter, size_t bytes)
{
    const size_t size = parameter->size;
    const bool typed = parameter->kind == KIND_NUMBER || parameter->kind == KIND_TIME ||
                       parameter->kind == KIND_MS;
    return parameter->kind != KIND_OWN && parameter->kind != KIND_OBJECT &&
           (typed ? size == 8 : size == 1 || size == 2 || size == 4 || size == 8) &&
           size <= bytes && parameter->offset <= bytes - size;
}

bool parameters_check(const struct key *table, size_t bytes, const char *owner, struct error *error)
{
    for (size_t i = 0; i < keys_count(table); i++) {
        const struct key *parameter = &table[i];
        if (!utf8_is_name(parameter->name))
            return error_input(
                error, "%s: parameter %zu has no name or one with control characters", owner, i);
        if (!fits(parameter, bytes))
            return error_input(error,
                               "%s: parameter \"%s\" has no field within the %zu bytes of "
                               ".parameters_bytes",
                               owner, parameter->name, bytes);
        if (!(parameter->fallback >= parameter->low && parameter->fallback <= greatest(parameter)))
            return error_input(
                error, "%s: default %g of parameter \"%s\" is outside its range %g..%g", owner,
                parameter->fallback, parameter->name, parameter->low, greatest(parameter));
    }
    return true;
}

static bool unknown(const struct key *table, const char *key, const char *where, const char *owner,
                    struct error *error)
{
    const size_t count = keys_count(table);
    const char *names[NAMES_MAX];
    char list[LIST_LENGTH] = "";
    int listed = 0;
    if (count == 0)
        return error_input(error, "%s.%s: %s has no parameters", where, key, owner);
    for (size_t i = 0; i < count && listed < NAMES_MAX; i++) {
        const size_t used = strlen(list);
        names[listed++] = table[i].name;
        (void)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "",
                       table[i].name);
    }
    const char *nearest = error_nearest_name(key, names, listed);
    return error_input(error, "%s.%s: %s has no such parameter; %s%s%s has: %s", where, key, owner,
                       nearest != NULL ? "did you mean \"" : "it", nearest != NULL ? nearest : "",
                       nearest != NULL ? "\"? It" : "", list);
}

static bool choose(const struct key *parameter, const struct setting *setting, const char *where,
                   const char *owner, double *value, struct error *error)
{
    char number[32]; /* a word may look like one */
    char words[PARAMETER_WORDS];
    (void)snprintf(number, sizeof number, "%.17g", setting->number);
    const char *text = setting->text != NULL ? setting->text : number;
    for (size_t i = 0; parameter->words[i] != NULL; i++)
        if (strcmp(parameter->words[i], text) == 0) {
            *value = (double)i;
            return true;
        }
    return error_input(error, "%s.%s: \"%.64s\" is none of the choices of %s: %s", where,
                       parameter->name, text, owner, parameter_words(parameter, words));
}

static bool take_number(const struct key *parameter, const struct setting *setting,
                        const char *where, const char *owner, double *value, struct error *error)
{
    if (setting->text != NULL)
        return error_input(error, "%s.%s: \"%.64s\" is text; %s wants a number from %g to %g",
                           where, parameter->name, setting->text, owner, parameter->low,
                           parameter->high);
    if (!(setting->number >= parameter->low && setting->number <= parameter->high))
        return error_input(error, "%s.%s: %g is out of range; %s wants a number from %g to %g",
                           where, parameter->name, setting->number, owner, parameter->low,
                           parameter->high);
    *value = setting->number;
    return true;
}

bool parameters_configure(const struct key *table, const struct setting *settings,
                          size_t setting_count, const char *where, const char *owner,
                          double *values, struct error *error)
{
    const size_t count = keys_count(table);
    for (size_t i = 0; i < count; i++)
        values[i] = table[i].fallback;
    for (size_t s = 0; s < setting_count; s++) {
        const size_t i = parameter_index(table, settings[s].key);
        if (i == count)
            return unknown(table, settings[s].key, where, owner, error);
        if (!(table[i].words != NULL ? choose : take_number)(&table[i], &settings[s], where, owner,
                                                             &values[i], error))
            return false;
    }
    return true;
}

bool parameters_fill(const struct key *table, const double *values, const char *where, void *out,
                     struct error *error)
{
    for (size_t i = 0; i < keys_count(table); i++) {
        if (table[i].kind == KIND_WHOLE && values[i] != floor(values[i]))
            return error_input(error, "%s.%s is %g; give a whole number", where, table[i].name,
                               values[i]);
        key_set(&table[i], out, values[i]);
    }
    return true;
}
