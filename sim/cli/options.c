#include "sim/cli/cli.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/atomic_file.h"
#include "sim/base/json_write.h"

enum { OPTIONS_MAX = 64 };

size_t cli_options_count(const struct cli_option *options)
{
    size_t count = 0;
    while (options != NULL && options[count].name != NULL)
        count++;
    return count;
}

/* The option of that name and length. */
static const struct cli_option *find_option(const struct command *command, const char *name,
                                            size_t length)
{
    const size_t count = cli_options_count(command->options);
    for (size_t i = 0; i < count; i++)
        if (strncmp(command->options[i].name, name, length) == 0 &&
            command->options[i].name[length] == '\0')
            return &command->options[i];
    return NULL;
}

static const char *nearest_option(const struct command *command, const char *name)
{
    const char *names[OPTIONS_MAX + 2];
    const size_t count = cli_options_count(command->options);
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
    if (value != NULL && *value == '\0' && !option->may_be_empty)
        return value_missing(command, option, error);
    given[option - command->options] = true;
    return cli_option_take(option, value, options, error);
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
    const size_t known = cli_options_count(command->options);
    for (size_t i = 0; i < known; i++)
        if (command->options[i].required && !given[i])
            return cli_usage_error(command, error, "%s %s is missing", command->options[i].name,
                                   command->options[i].value);
    return true;
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
    return json_write(root, stdout, "standard output", error);
}

bool cli_print_json_line(cJSON *root, struct error *error)
{
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    (void)puts(text);
    cJSON_free(text);
    return !ferror(stdout) || error_write(error, "standard output", errno);
}
