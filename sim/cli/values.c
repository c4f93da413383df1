/* Values of options: numbers, words, names, settings. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"

enum { WORDS_MAX = 16 };

bool cli_parse_u64(const char *option, const char *text, uint64_t low, uint64_t high,
                   uint64_t *value, struct error *error)
{
    size_t length = strlen(text);
    errno = 0;
    unsigned long long number = strtoull(text, NULL, 10);
    if (length == 0 || strspn(text, "0123456789") != length || errno != 0 || number < low ||
        number > high)
        return error_input(error, "%s: '%s' is not a whole number from %" PRIu64 " to %" PRIu64,
                           option, text, low, high);
    *value = number;
    return true;
}

bool cli_parse_double(const char *option, const char *text, double low, double high, double *value,
                      struct error *error)
{
    size_t length = strlen(text);
    char *end = NULL;
    /* Only decimal notation: strtod also accepts "nan", "inf", "0x1p3" and leading blanks. */
    bool decimal = length > 0 && strspn(text, "0123456789+-.eE") == length;
    double number = decimal ? strtod(text, &end) : NAN;
    if (!decimal || end != text + length || !isfinite(number) || number < low || number > high)
        return error_input(error, "%s: '%s' is not a number from %g to %g", option, text, low,
                           high);
    *value = number;
    return true;
}

bool cli_seed_listed(const char *option, const struct cli_names *names, uint64_t seed, bool *good,
                     struct error *error)
{
    bool listed = false;
    for (size_t i = 0; i < names->count; i++) {
        char text[64];
        uint64_t from = 0, until = 0;
        (void)snprintf(text, sizeof text, "%s", names->list[i]);
        char *dash = strchr(text, '-');
        if (dash != NULL)
            *dash = '\0';
        *good = *good && cli_parse_u64(option, text, 0, UINT64_MAX, &from, error);
        until = from;
        if (dash != NULL)
            *good = *good && cli_parse_u64(option, dash + 1, from, UINT64_MAX, &until, error);
        listed = listed || (*good && seed >= from && seed <= until);
    }
    return listed;
}

/* Index of the word in `words`, "text|csv|json"; negative if it is not one of them. */
static int word_find(const char *words, const char *text)
{
    const size_t wanted = strlen(text);
    for (int i = 0;; i++) {
        const size_t length = strcspn(words, "|");
        if (length == wanted && strncmp(words, text, length) == 0)
            return i;
        if (words[length] == '\0')
            return -1;
        words += length + 1;
    }
}

static bool word_fault(const struct cli_option *option, const char *text, struct error *error)
{
    char copy[256], list[320] = "";
    const char *names[WORDS_MAX];
    int count = 0;
    size_t used = 0;
    (void)snprintf(copy, sizeof copy, "%s", option->value);
    for (char *word = strtok(copy, "|"); word != NULL && count < WORDS_MAX;
         word = strtok(NULL, "|"))
        names[count++] = word;
    for (int i = 0; i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 i == 0           ? ""
                                 : i == count - 1 ? " or "
                                                  : ", ",
                                 names[i]);
    const char *nearest = error_nearest_name(text, names, count);
    return error_input(error, "%s: '%.80s' is unknown%s%s%s; give %s", option->name, text,
                       nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
                       nearest != NULL ? "'" : "", list);
}

/* Splits "a,b,c" in place; an earlier list is replaced. */
static bool names_take(const struct cli_option *option, char *value, struct cli_names *names,
                       struct error *error)
{
    names->count = 0;
    for (char *rest = value, *name; (name = strsep(&rest, ",")) != NULL;) {
        if (name[0] == '\0')
            return error_input(error, "%s: wants names separated by commas, such as esg,fifo",
                               option->name);
        for (size_t i = 0; i < names->count; i++)
            if (strcmp(names->list[i], name) == 0)
                return error_input(error, "%s: '%.80s' occurs twice", option->name, name);
        if (names->count == option->most)
            return error_input(error, "%s: more than %" PRIu64 " names", option->name,
                               option->most);
        names->list[names->count++] = name;
    }
    return true;
}

bool cli_option_take(const struct cli_option *option, char *value, void *options,
                     struct error *error)
{
    void *place = (char *)options + option->place;
    int word;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)place = true;
        return true;
    case OPTION_TEXT:
        *(const char **)place = value;
        return true;
    case OPTION_WHOLE:
        return cli_parse_u64(option->name, value, option->least, option->most, place, error);
    case OPTION_NUMBER:
        return cli_parse_double(option->name, value, option->low, option->high, place, error);
    case OPTION_SET:
        return option->key != NULL ? cli_settings_add(place, option->key, value, error)
                                   : cli_settings_add_text(place, value, error);
    case OPTION_NAMES:
        return names_take(option, value, place, error);
    case OPTION_TAKE:
        return option->take(options, option->name, value, error);
    case OPTION_CHOICE:
    case OPTION_WORD:
        break;
    }
    word = word_find(option->value, value);
    if (word < 0)
        return word_fault(option, value, error);
    if (option->kind == OPTION_CHOICE)
        *(int *)place = word;
    else
        *(const char **)place = value;
    return true;
}

bool cli_settings_add(struct cli_settings *settings, const char *key, const char *value,
                      struct error *error)
{
    if (settings->count == CLI_SETTINGS_MAX)
        return error_input(error, "--set: more than %d settings; put them into the file",
                           CLI_SETTINGS_MAX);
    settings->list[settings->count++] = (struct override){key, value};
    return true;
}

bool cli_settings_add_text(struct cli_settings *settings, char *text, struct error *error)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return error_input(error, "--set: wants KEY=VALUE, such as policy.params.k=10, not '%.80s'",
                           text);
    *equals = '\0';
    return cli_settings_add(settings, text, equals + 1, error);
}

bool cli_take_where(void *options, const char *name, char *text, struct error *error)
{
    return listing_add_rule(options, name, text, false, error);
}

bool cli_take_ignore(void *options, const char *name, char *text, struct error *error)
{
    return listing_add_rule(options, name, text, true, error);
}
