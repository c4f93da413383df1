/* Commands of the esgsim program. Each is one file and one line in the table of sim/main.c. */
#ifndef ESGSIM_SIM_CLI_CLI_H
#define ESGSIM_SIM_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "sim/base/error.h"
#include "traces/readers/listing.h"
#include "workloads/spec/experiment.h"

/* ---- Options ---------------------------------------------------------------------------------
 * Each command describes its options in one table. The parser, the usage line and --help read it;
 * the manual page and the completion are generated from these. */

enum option_kind {
    OPTION_FLAG,   /* bool: takes no value */
    OPTION_TEXT,   /* const char *: a pointer into argv */
    OPTION_WHOLE,  /* uint64_t, from `least` to `most` */
    OPTION_NUMBER, /* double, from `low` to `high` */
    OPTION_CHOICE, /* int: index of the word in `value`, "text|csv|json", from 0 */
    OPTION_WORD,   /* const char *: the word itself, one of those in `value` */
    OPTION_SET,    /* struct cli_settings: adds KEY=VALUE; with a `key`, the value of that key */
    OPTION_NAMES,  /* struct cli_names: at most `most` names, separated by commas */
    OPTION_TAKE    /* parsed by `take` */
};

struct cli_option {
    const char *name;  /* "--seed" */
    const char *value; /* its value in usage and help: "N"; NULL for a flag */
    const char *help;  /* one sentence; wrapped when printed */
    enum option_kind kind;
    bool required;
    bool may_be_empty;
    bool repeated; /* usage shows that it may be repeated; for other options the last one wins */
    size_t place;  /* offsetof its destination in the command's own struct */
    uint64_t least, most;
    double low, high;
    const char *key;
    /* `options` is the command's own struct. `value` points into argv and may be modified. */
    bool (*take)(void *options, const char *name, char *value, struct error *error);
};

/* Kind and place of an option whose destination is `member` of the command's struct `type`. The
 * member's type determines the kind. */
#define CLI_MEMBER(type, member)                                                                   \
    .kind = _Generic(((type *)NULL)->member, bool: OPTION_FLAG, const char *: OPTION_TEXT,         \
                     uint64_t: OPTION_WHOLE, double: OPTION_NUMBER, int: OPTION_CHOICE,            \
                     struct cli_settings: OPTION_SET, struct cli_names: OPTION_NAMES),                                             \
    .place = offsetof(type, member)

/* The options of a command that reads tables of any form. Its struct begins with a struct
 * listing_options (traces/readers/listing.h). */
#define CLI_TABLE_OPTIONS                                                                          \
    {"--header", "NAME,NAME,…", "names of the columns of a table without a header",                \
     .kind = OPTION_TEXT, .place = offsetof(struct listing_options, header)},                      \
        {"--where",                                                                                \
         "COLUMN=VALUE",                                                                           \
         "use only the rows with that value, or by COLUMN!=VALUE without it; values of one "       \
         "column are alternatives",                                                                \
         .kind = OPTION_TAKE,                                                                      \
         .repeated = true,                                                                         \
         .take = cli_take_where},                                                                  \
    {                                                                                              \
        "--ignore", "COLUMN", "ignore an unknown column of a table; '' is one without a name",     \
            .kind = OPTION_TAKE, .repeated = true, .may_be_empty = true, .take = cli_take_ignore   \
    }
bool cli_take_where(void *options, const char *name, char *text, struct error *error);
bool cli_take_ignore(void *options, const char *name, char *text, struct error *error);

struct command {
    const char *name;
    const char *summary; /* one line */
    /* One word per operand, as in usage: "EXP.json", "FILE…" (one or more), "[FILE…]"; NULL if the
     * command takes none. */
    const char *operands;
    const struct cli_option *options; /* ended by an entry without a name */
    const char *help; /* text after the options: a line per paragraph, with an example */
    /* argv[0] is the command's name; --help and --quiet have been removed. False: `error` is
     * printed as one line and determines the exit status. */
    bool (*run)(int argc, char **argv, bool quiet, struct error *error);
};

/* Every command is an object `command_NAME`, e.g. extern const struct command command_run. */
extern const struct command command_run, command_sweep, command_merge, command_report,
    command_capacity, command_search, command_slo, command_explain, command_list, command_check,
    command_trace, command_calibrate, command_validate, command_bench, command_plot, command_claims,
    command_predict, command_replay, command_verify, command_distill;

/* Parses the command line by the command's table. Values are stored in `options`, the command's own
 * struct, which initially has the defaults. Operands are moved to argv[1] and following, and `argc`
 * becomes 1 + their number. "--name=value" is equivalent to "--name value"; arguments after "--"
 * are operands. ERROR_INPUT if an argument is unknown (names the nearest), lacks its value, is out
 * of range, is missing or is one too many. */
bool cli_parse(const struct command *command, int *argc, char **argv, void *options,
               struct error *error);

/* Options in a table. */
size_t cli_options_count(const struct cli_option *options);

/* Takes the value of an option into `options`, the command's own struct; a flag has none. `value`
 * points into argv and may be modified. ERROR_INPUT, names the option. */
bool cli_option_take(const struct cli_option *option, char *value, void *options,
                     struct error *error);

/* Prints usage, summary, options and help of the command on standard output. */
void cli_print_help(const struct command *command);

/* Prints the table of options, one line each: `stream` folds them (sim/base/text.h). */
void cli_print_options(FILE *stream, const struct command *command);

/* Sets ERROR_INPUT for a usage error, naming the command and its usage. Returns false. */
bool cli_usage_error(const struct command *command, struct error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Settings from --set KEY=VALUE and similar options, in order; they point into argv. */
enum { CLI_SETTINGS_MAX = 256 };
struct cli_settings {
    struct override list[CLI_SETTINGS_MAX];
    size_t count;
};

/* ERROR_INPUT if there are too many. */
bool cli_settings_add(struct cli_settings *settings, const char *key, const char *value,
                      struct error *error);

/* Adds "KEY=VALUE", which is split in place. ERROR_INPUT if it has another form. */
bool cli_settings_add_text(struct cli_settings *settings, char *text, struct error *error);

/* Number of policies that one command compares. */
enum { CLI_POLICIES_MAX = 32 };

/* Names separated by commas, which point into argv. None is empty or occurs twice. */
enum { CLI_NAMES_MAX = 64 };
struct cli_names {
    const char *list[CLI_NAMES_MAX];
    size_t count;
};

/* ERROR_INPUT if `option` would overwrite the file that `what` names; either may be NULL. */
bool cli_check_output(const char *option, const char *out, const char *what, const char *other,
                      struct error *error);

/* Makes the folder of `--out` if there is none; its parent must exist. */
bool cli_make_folder(const char *path, struct error *error);

/* Prints the object on standard output, indented or in one line, and always deletes it. ERROR_RUN
 * if memory is exhausted or root is NULL. */
bool cli_print_json(cJSON *root, struct error *error);
bool cli_print_json_line(cJSON *root, struct error *error);

/* Parse a number from an option's value. The whole string must be a number within the range; else
 * ERROR_INPUT names the option. */
bool cli_parse_u64(const char *option, const char *text, uint64_t low, uint64_t high,
                   uint64_t *value, struct error *error);
bool cli_parse_double(const char *option, const char *text, double low, double high, double *value,
                      struct error *error);

/* Returns whether a list such as 6,8-12 has the seed. `good` becomes false, with ERROR_INPUT that
 * names the option, if it is no such list. */
bool cli_seed_listed(const char *option, const struct cli_names *names, uint64_t seed, bool *good,
                     struct error *error);

/* Repeats the sweep of a command line that results keep (sim/cli/sweep.c), with one more --set and
 * another --out, and continues an interrupted one. False with error->kind ERROR_NONE: it is no such
 * command line. */
bool cli_sweep_again(const char *command, char *setting, const char *out, bool quiet,
                     struct error *error);

#endif
