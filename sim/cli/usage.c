/* What a command says of itself: its usage, its help, and what was wrong with its usage. */
#include <stdarg.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/cli/cli.h"

enum { NAMES_COLUMN_MAX = 24 };

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
    const size_t count = cli_options_count(command->options);
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
    const size_t count = cli_options_count(command->options);
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
