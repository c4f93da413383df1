#include "sim/base/parameters.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/utf8.h"

enum { LIST_LENGTH = 512, NAMES_MAX = 64 };

size_t parameter_index(const struct parameter *table, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(table[i].name, name) != 0)
        i++;
    return i;
}

const char *parameter_word(const struct parameter *parameter, double value, size_t *length)
{
    const char *word = parameter->choices;
    for (double index = 0; index < value && word != NULL; index++) {
        word = strchr(word, '|');
        word = word == NULL ? NULL : word + 1;
    }
    *length = word == NULL ? 0 : strcspn(word, "|");
    return word;
}

bool parameters_check(const struct parameter *table, size_t count, const char *owner,
                      struct error *error)
{
    if (count > 0 && table == NULL)
        return error_input(error, "%s counts %zu parameters but has no table", owner, count);
    for (size_t i = 0; i < count; i++) {
        const struct parameter *parameter = &table[i];
        if (parameter->name == NULL || !utf8_is_name(parameter->name))
            return error_input(
                error, "%s: parameter %zu has no name or one with control characters", owner, i);
        if (!(parameter->fallback >= parameter->low && parameter->fallback <= parameter->high))
            return error_input(
                error, "%s: default %g of parameter \"%s\" is outside its range %g..%g", owner,
                parameter->fallback, parameter->name, parameter->low, parameter->high);
    }
    return true;
}

static bool unknown(const struct parameter *table, size_t count, const char *key, const char *where,
                    const char *owner, struct error *error)
{
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

/* The index of `text` in "a|b|c", or -1. */
static int choice_index(const char *choices, const char *text)
{
    const size_t length = strlen(text);
    int index = 0;
    for (const char *start = choices;; index++) {
        const char *end = strchrnul(start, '|');
        if ((size_t)(end - start) == length && strncmp(start, text, length) == 0)
            return index;
        if (*end == '\0')
            return -1;
        start = end + 1;
    }
}

static bool choose(const struct parameter *parameter, const struct setting *setting,
                   const char *where, const char *owner, double *value, struct error *error)
{
    char number[32]; /* a choice may look like one */
    (void)snprintf(number, sizeof number, "%.17g", setting->number);
    const char *text = setting->text != NULL ? setting->text : number;
    const int index = choice_index(parameter->choices, text);
    if (index < 0)
        return error_input(error, "%s.%s: \"%.64s\" is none of the choices of %s: %s", where,
                           parameter->name, text, owner, parameter->choices);
    *value = index;
    return true;
}

static bool take_number(const struct parameter *parameter, const struct setting *setting,
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

bool parameters_configure(const struct parameter *table, size_t count,
                          const struct setting *settings, size_t setting_count, const char *where,
                          const char *owner, double *values, struct error *error)
{
    for (size_t i = 0; i < count; i++)
        values[i] = table[i].fallback;
    for (size_t s = 0; s < setting_count; s++) {
        const size_t i = parameter_index(table, count, settings[s].key);
        if (i == count)
            return unknown(table, count, settings[s].key, where, owner, error);
        if (!(table[i].choices != NULL
                  ? choose(&table[i], &settings[s], where, owner, &values[i], error)
                  : take_number(&table[i], &settings[s], where, owner, &values[i], error)))
            return false;
    }
    return true;
}
