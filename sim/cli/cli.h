/* Commands of the esgsim program: one file each, one line each in the table of sim/main.c. */
#ifndef ESGSIM_SIM_CLI_CLI_H
#define ESGSIM_SIM_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/error.h"

struct command {
    const char *name;
    const char *usage;   /* "run EXP.json [--set KEY=VALUE]… …" */
    const char *summary; /* one line */
    const char *help;    /* options and an example, many lines */
    /* argv[0] is the command's name. --help and --quiet have been taken out. False: `error` is
     * printed as one line and becomes the exit status. */
    bool (*run)(int argc, char **argv, bool quiet, struct error *error);
};

/* Every command is an object `command_NAME`, e.g. extern const struct command command_run. */
extern const struct command command_run, command_sweep, command_merge, command_report,
    command_search, command_slo, command_explain, command_list, command_check, command_trace,
    command_calibrate, command_validate, command_bench, command_plot;

/* ERROR_INPUT for an unknown option or a missing operand; names the command's usage. */
bool cli_usage_error(const struct command *command, const char *what, struct error *error);

/* The same, for an argument that the command has no place for. */
bool cli_unknown_argument(const struct command *command, const char *argument, struct error *error);

/* Strict numbers from option values: whole string, range checked, ERROR_INPUT names the option. */
bool cli_parse_u64(const char *option, const char *text, uint64_t low, uint64_t high,
                   uint64_t *value, struct error *error);
bool cli_parse_double(const char *option, const char *text, double low, double high, double *value,
                      struct error *error);

#endif
