/* esgsim verify: repeats what the pages claim, and holds the simulator against runs of real
 * systems (results/verify/reality.h).
 *
 * Sections of pages are run and compared by a script, results/verify.sh, which knows the pages'
 * commands and expected lines.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/verify/reality.h"
#include "sim/base/arena.h"
#include "sim/cli/cli.h"
#include "workloads/load/json_include.h"

struct options {
    const char *out;    /* folder; NULL: no figure */
    const char *policy; /* of headline, as `world`; NULL: none */
    const char *world;
    bool json;
    bool details;
};

static const struct cli_option verify_table[] = {
    {"--details", NULL, "of reality: the table of all errors", CLI_MEMBER(struct options, details)},
    {"--json", NULL, "of reality: one JSON object, with a row for each run",
     CLI_MEMBER(struct options, json)},
    {"--out", "DIR",
     "of reality: write figures and their data there: times by request and training, errors by "
     "load",
     CLI_MEMBER(struct options, out)},
    {"--policy", "NAME", "of headline: the policy whose row is repeated",
     CLI_MEMBER(struct options, policy)},
    {"--world", "NAME", "of headline: a world of results/pages/HEADLINE.md, as a1",
     CLI_MEMBER(struct options, world)},
    {.name = NULL},
};

/* Becomes the script, with this program and its data. Returns only if that fails. */
static bool sections_verify(char **names, bool quiet, struct error *error)
{
    char program[PATH_MAX] = "", *arguments[CLI_NAMES_MAX + 4] = {"sh"};
    struct arena *arena = arena_create();
    arguments[1] = json_include_find_operand(arena, "results/verify.sh");
    arguments[2] = json_include_find_operand(arena, "REPRODUCING.md");
    const bool there = arguments[1] != NULL && arguments[2] != NULL;
    for (size_t i = 0; i < CLI_NAMES_MAX && names[i] != NULL; i++)
        arguments[3 + i] = names[i];
    if (!there)
        (void)error_input(error, "verify: no results/verify.sh or REPRODUCING.md in this folder "
                                 "or in ESGSIM_DATA");
    else if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0 ||
             setenv("ESGSIM", program, 1) != 0 ||
             setenv("ESGSIM_DATA", json_include_data_directory(), 1) != 0 ||
             setenv("QUIET", quiet ? "1" : "", 1) != 0 || execvp("sh", arguments) != 0)
        (void)error_run(error, "verify: sh cannot be started: %s", strerror(errno));
    arena_destroy(arena);
    return false;
}

static bool verify_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {0};
    if (!cli_parse(&command_verify, &argc, argv, &options, error))
        return false;
    const bool headline = argc == 2 && strcmp(argv[1], "headline") == 0;
    const int given = (options.world != NULL ? 1 : 0) + (options.policy != NULL ? 1 : 0);
    char *row[] = {argv[1], (char *)options.world, (char *)options.policy, NULL};
    if (given != (headline ? 2 : 0))
        return cli_usage_error(&command_verify, error,
                               "headline wants --world and --policy, and no other section does");
    if (!options.details && !options.json && options.out == NULL)
        return sections_verify(headline ? row : argv + 1, quiet, error);
    if (argc != 2 || strcmp(argv[1], "reality") != 0)
        return cli_usage_error(&command_verify, error, "these options are of 'reality' alone");
    return (options.out == NULL || cli_make_folder(options.out, error)) &&
           reality_verify(options.out, options.json, stdout, error);
}

const struct command command_verify = {
    .name = "verify",
    .summary = "repeat the commands of REPRODUCING.md by section, and compare the output",
    .operands = "[SECTION…]",
    .help =
        "Runs the commands of a section of REPRODUCING.md and compares their output with the "
        "page, line by line. It prints PASS or the differences, then the processor time. Where "
        "numbers with a decimal point differ by 1 % or a unit of their last digit at most, a line "
        "passes \"within 1 %\", and is counted apart; everything else "
        "must be equal. Exit status 1 if a line differs. Without a section it lists them, with "
        "claim, minutes and disk space. It removes its files in $TMPDIR.\n"
        "\n"
        "With an option, `verify reality` runs the sweeps of workloads/experiments/reality/ and "
        "prints the errors against the measured results (results/reality/). Nothing is fitted or "
        "judged: the exit status is 0 if all runs finished. Unmeasured quantities are swept, with "
        "the errors for each value. results/REALITY.md says what the sets cover.\n"
        "\n"
        "`verify headline --world a1 --policy fifo` searches one row of results/pages/HEADLINE.md "
        "again, with Python, and compares its numbers.\n"
        "\n"
        "Example: esgsim verify program\n",
    .run = verify_run,
    .options = verify_table,
};
