/* Commands of the esgsim program: one file each, one line each in the table of sim/main.c. */
#ifndef ESGSIM_SIM_CLI_CLI_H
#define ESGSIM_SIM_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "sim/error.h"
#include "workloads/experiment.h"

/* ---- Options ---------------------------------------------------------------------------------
 * One table a command says all there is to know of its options: parser, usage, --help and, through
 * these, manual page and completion read it. */

enum option_kind {
    OPTION_FLAG,   /* bool: takes no value */
    OPTION_TEXT,   /* const char *: within argv */
    OPTION_WHOLE,  /* uint64_t, from `least` to `most` */
    OPTION_NUMBER, /* double, from `low` to `high` */
    OPTION_CHOICE, /* int: which of the words of `value`, "text|csv|json", from 0 */
    OPTION_WORD,   /* const char *: the word itself, one of those of `value` */
    OPTION_TAKE    /* what `take` makes of it */
};

struct cli_option {
    const char *name;  /* "--seed" */
    const char *value; /* what follows it, as usage and help write it: "N"; NULL of a flag */
    const char *help;  /* one sentence; lines are broken where it is printed */
    enum option_kind kind;
    bool required;
    bool repeated; /* usage says that it may be given again; otherwise the last one holds */
    size_t place;  /* offsetof its destination in the command's own struct */
    uint64_t least, most;
    double low, high;
    /* `options` is the command's own struct, `value` lies within argv and may be written to. */
    bool (*take)(void *options, const char *name, char *value, struct error *error);
};

struct command {
    const char *name;
    const char *summary; /* one line */
    /* One word each, as usage writes them: "EXP.json", "FILE…" (one and more), "[FILE…]"; NULL of
     * a command without. */
    const char *operands;
    const struct cli_option *options; /* up to one without a name */
    const char *help;                 /* what follows the options: many lines, with an example */
    /* argv[0] is the command's name. --help and --quiet have been taken out. False: `error` is
     * printed as one line and becomes the exit status. */
    bool (*run)(int argc, char **argv, bool quiet, struct error *error);
};

/* Every command is an object `command_NAME`, e.g. extern const struct command command_run. */
extern const struct command command_run, command_sweep, command_merge, command_report,
    command_search, command_slo, command_explain, command_list, command_check, command_trace,
    command_calibrate, command_validate, command_bench, command_plot;

/* Reads the command line by the command's table: values go to `options`, the command's own struct,
 * which holds the defaults; operands, as many as the command has, are moved to the front of argv,
 * from argv[1] on, and `argc` counts argv[0] and them. "--name=value" is "--name value", and what
 * follows "--" is operands. ERROR_INPUT names what is unknown (with the nearest name), lacks its
 * value, is out of range, is missing or is too much. */
bool cli_parse(const struct command *command, int *argc, char **argv, void *options,
               struct error *error);

/* "run EXP.json [--set KEY=VALUE]… …", in one line without its end. */
void cli_print_usage(FILE *stream, const struct command *command);

/* The table of options, a paragraph each, lines of at most 90 columns. */
void cli_print_options(FILE *stream, const struct command *command);

/* ERROR_INPUT for a fault of usage; names the command and its usage. */
bool cli_usage_error(const struct command *command, const char *what, struct error *error);

/* The same, for an argument that the command has no place for. */
bool cli_unknown_argument(const struct command *command, const char *argument, struct error *error);

/* --set KEY=VALUE and its like, in their order; both within argv. */
enum { CLI_SETTINGS_MAX = 256 };
struct cli_settings {
    struct override list[CLI_SETTINGS_MAX];
    size_t count;
};

/* ERROR_INPUT where there are too many. */
bool cli_settings_add(struct cli_settings *settings, const char *key, const char *value,
                      struct error *error);

/* The same of "KEY=VALUE", cut in two where it lies; ERROR_INPUT where it is not. */
bool cli_settings_add_text(struct cli_settings *settings, char *text, struct error *error);

/* ERROR_INPUT where `option` would write the very file that `what` names; either may be NULL. */
bool cli_check_output(const char *option, const char *out, const char *what, const char *other,
                      struct error *error);

/* Prints the object on standard output and deletes it, whatever comes of it; indented, or in one
 * line. ERROR_RUN where memory is out, also for a NULL root. */
bool cli_print_json(cJSON *root, struct error *error);
bool cli_print_json_line(cJSON *root, struct error *error);

/* Strict numbers from option values: whole string, range checked, ERROR_INPUT names the option. */
bool cli_parse_u64(const char *option, const char *text, uint64_t low, uint64_t high,
                   uint64_t *value, struct error *error);
bool cli_parse_double(const char *option, const char *text, double low, double high, double *value,
                      struct error *error);

#endif
