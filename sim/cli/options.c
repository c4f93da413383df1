#include "sim/cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/atomic_file.h"
#include "sim/base/json_write.h"
#include "sim/base/text.h"

enum { OPTIONS_MAX = 64, WORDS_MAX = 16, NAMES_COLUMN_MAX = 24 };

static size_t options_count(const struct cli_option *options)
{
    size_t count = 0;
    while (options != NULL && options[count].name != NULL)
        count++;
    return count;
}

/* ---- Usage and help -------------------------------------------------------------------------- */

static void print_option_usage(FILE *stream, const struct cli_option *option)
{
    (void)fprintf(stream, option->required ? " %s%s%s" : " [%s%s%s]", option->name,
                  option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
    if (option->repeated)
        (void)fputs("…", stream);
}

/* "usage: esgsim run EXP.json [--set KEY=VALUE]… …" without a line end. */
static void print_usage(FILE *stream, const struct command *command)
{
    (void)fprintf(stream, "usage: esgsim %s", command->name);
    if (command->operands != NULL)
        (void)fprintf(stream, " %s", command->operands);
    const size_t count = options_count(command->options);
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++)
            if (command->options[i].required == (pass == 0))
                print_option_usage(stream, &command->options[i]);
}

static size_t option_columns(const struct cli_option *option)
{
    const char *value = option->value;
    return strlen(option->name) + (value != NULL ? 1 + text_width(value, strlen(value)) : 0);
}

void cli_print_options(FILE *stream, const struct command *command)
{
    const size_t count = options_count(command->options);
    size_t widest = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t columns = option_columns(&command->options[i]);
        if (columns > widest && columns <= NAMES_COLUMN_MAX)
            widest = columns;
    }
    for (size_t i = 0; i < count; i++) {
        const struct cli_option *option = &command->options[i];
        const size_t columns = option_columns(option);
        (void)fprintf(stream, "  %s%s%s", option->name, option->value != NULL ? " " : "",
                      option->value != NULL ? option->value : "");
        if (columns > widest)
            (void)fprintf(stream, "\n%*s", (int)widest + 4, "");
        else
            (void)fprintf(stream, "%*s", (int)(widest - columns) + 2, "");
        (void)fprintf(stream, "%s\n", option->help);
    }
}

void cli_print_help(const struct command *command)
{
    text_begin();
    print_usage(stdout, command);
    printf("\n\n%s\n\n", command->summary);
    cli_print_options(stdout, command);
    printf("%s%s", command->options != NULL ? "\n" : "", command->help);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

bool cli_usage_error(const struct command *command, struct error *error, const char *format, ...)
{
    char usage[sizeof error->message] = "", what[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    FILE *stream = fmemopen(usage, sizeof usage, "w");
    if (stream != NULL) {
        print_usage(stream, command);
        (void)fclose(stream);
    }
    return error_input(error, "%s: %s; %s", command->name, what, usage);
}

/* The option of that name and length. */
static const struct cli_option *find_option(const struct command *command, const char *name,
                                            size_t length)
{
    const size_t count = options_count(command->options);
    for (size_t i = 0; i < count; i++)
        if (strncmp(command->options[i].name, name, length) == 0 &&
            command->options[i].name[length] == '\0')
            return &command->options[i];
    return NULL;
}

static const char *nearest_option(const struct command *command, const char *name)
{
    const char *names[OPTIONS_MAX + 2];
    const size_t count = options_count(command->options);
    int known = 0;
    for (size_t i = 0; i < count && i < OPTIONS_MAX; i++)
        names[known++] = command->options[i].name;
    names[known++] = "--help";
    names[known++] = "--quiet";
    return error_nearest_name(name, names, known);
}

static bool unknown_argument(const struct command *command, const char *argument,
                             struct error *error)
{
    char name[80];
    const char *nearest = NULL;
    const bool dashed = argument[0] == '-' && argument[1] != '\0';
    if (dashed) {
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(argument, "="), argument);
        nearest = nearest_option(command, name);
    }
    return cli_usage_error(command, error, "%s '%.120s'%s%s%s",
                           dashed ? "unknown option" : "unexpected", argument,
                           nearest != NULL ? ", did you mean '" : "",
                           nearest != NULL ? nearest : "", nearest != NULL ? "'" : "");
}

static bool value_missing(const struct command *command, const struct cli_option *option,
                          struct error *error)
{
    return cli_usage_error(command, error, "%s lacks its value %s", option->name, option->value);
}

/* ---- Values ---------------------------------------------------------------------------------- */

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

static bool option_take(const struct cli_option *option, char *value, void *options,
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

/* ---- The command line ------------------------------------------------------------------------ */

/* Parses one option at argv[*i], with its value if it takes one. Sets *i to the last argument used.
 */
static bool parse_option(const struct command *command, int argc, char **argv, int *i,
                         void *options, bool *given, struct error *error)
{
    char *argument = argv[*i];
    const size_t length = strcspn(argument, "=");
    const struct cli_option *option = find_option(command, argument, length);
    char *value = argument[length] == '=' ? argument + length + 1 : NULL;
    if (option == NULL)
        return unknown_argument(command, argument, error);
    if (option->kind == OPTION_FLAG && value != NULL)
        return cli_usage_error(command, error, "%s takes no value", option->name);
    if (option->kind != OPTION_FLAG && value == NULL) {
        /* The next argument is an option, so the value was forgotten. */
        if (*i + 1 == argc || find_option(command, argv[*i + 1], strlen(argv[*i + 1])) != NULL)
            return value_missing(command, option, error);
        value = argv[++*i];
    }
    if (value != NULL && *value == '\0')
        return value_missing(command, option, error);
    given[option - command->options] = true;
    return option_take(option, value, options, error);
}

/* Each operand word takes one operand, in order. A word that ends in "…" takes all remaining ones.
 */
static bool check_operands(const struct command *command, int count, char *const *operands,
                           struct error *error)
{
    const char *word = command->operands != NULL ? command->operands : "";
    int taken = 0;
    for (int i = 0; i < count; i++)
        if (operands[i][0] == '\0')
            return cli_usage_error(command, error, "an operand is empty");
    while (*word != '\0') {
        const size_t length = strcspn(word, " ");
        if (taken == count && word[0] != '[')
            return cli_usage_error(command, error, "%.*s is missing", (int)length, word);
        if (memmem(word, length, "…", strlen("…")) != NULL)
            return true;
        taken += taken < count;
        word += length + (word[length] == ' ');
    }
    return taken == count || unknown_argument(command, operands[taken], error);
}

bool cli_parse(const struct command *command, int *argc, char **argv, void *options,
               struct error *error)
{
    bool given[OPTIONS_MAX] = {false}, ended = false;
    int count = 0;
    for (int i = 1; i < *argc; i++) {
        if (!ended && strcmp(argv[i], "--") == 0)
            ended = true;
        else if (ended || argv[i][0] != '-' || argv[i][1] == '\0')
            argv[++count] = argv[i];
        else if (!parse_option(command, *argc, argv, &i, options, given, error))
            return false;
    }
    *argc = count + 1;
    if (!check_operands(command, count, argv + 1, error))
        return false;
    const size_t known = options_count(command->options);
    for (size_t i = 0; i < known; i++)
        if (command->options[i].required && !given[i])
            return cli_usage_error(command, error, "%s %s is missing", command->options[i].name,
                                   command->options[i].value);
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

bool cli_check_output(const char *option, const char *out, const char *what, const char *other,
                      struct error *error)
{
    if (out == NULL || other == NULL || !atomic_file_same(out, other))
        return true;
    return error_input(error, "%s: %s is %s too; give two files", option, out, what);
}

bool cli_make_folder(const char *path, struct error *error)
{
    struct stat status;
    if (mkdir(path, 0777) == 0)
        return true;
    const int fault = errno;
    if (fault == EEXIST && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return true;
    return error_input(error, "--out %s: cannot be made a folder: %s", path,
                       fault == EEXIST ? "a file is in its place" : strerror(fault));
}

bool cli_print_json(cJSON *root, struct error *error)
{
    return json_write(root, stdout, "JSON output", error);
}

bool cli_print_json_line(cJSON *root, struct error *error)
{
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    if (text == NULL)
        return error_run(error, "out of memory for the JSON output");
    (void)puts(text);
    cJSON_free(text);
    return true;
}
