/* esgsim: finds the command, runs it, turns its error into an exit status. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include <gsl/gsl_errno.h>

#include "sim/base/arena.h"
#include "sim/base/text.h"
#include "sim/base/unfinished.h"
#include "sim/base/version.h"
#include "sim/cli/cli.h"
#include "sim/cli/output.h"
#include "sim/run/guard.h"
#include "sim/run/run_process.h"

static const struct command *const commands[] = {
    &command_run,   &command_sweep,  &command_capacity,  &command_merge,   &command_report,
    &command_plot,  &command_search, &command_slo,       &command_explain, &command_list,
    &command_check, &command_trace,  &command_calibrate, &command_predict, &command_validate,
    &command_bench, &command_claims, &command_replay,    &command_verify,  &command_distill,
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_usage(FILE *stream)
{
    fprintf(stream,
            "esgsim %s: simulator of serverless DNN inference on shareable GPUs\n\n"
            "usage: esgsim COMMAND [--help] [--quiet] …\n\n",
            version_number());
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(stream, "  %-9s  %s\n", commands[i]->name, commands[i]->summary);
    fprintf(stream,
            "\n`esgsim COMMAND --help` describes one. Exit status: 0 done, 1 the run failed, "
            "2 bad usage or bad input.\n"
            "Begin with: esgsim run workloads/experiments/strict-light.json. Keys of an "
            "experiment: sim/KEYS.md.\n");
}

static const struct command *find_command(const char *name, struct error *error)
{
    const char *names[COMMAND_COUNT];
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
        names[i] = commands[i]->name;
    }
    const char *near = error_nearest_name(name, names, COMMAND_COUNT);
    error_input(error, "unknown command '%s'%s%s%s; `esgsim --help` lists them", name,
                near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                near != NULL ? "'" : "");
    return NULL;
}

/* Takes --help and --quiet out of the arguments before "--"; returns the new count. */
static int take_common_options(int argc, char **argv, bool *help, bool *quiet)
{
    int kept = 0;
    bool ended = false;
    for (int i = 0; i < argc; i++) {
        ended = ended || strcmp(argv[i], "--") == 0;
        if (ended)
            argv[kept++] = argv[i];
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            *help = true;
        else if (strcmp(argv[i], "--quiet") == 0)
            *quiet = true;
        else
            argv[kept++] = argv[i];
    }
    argv[kept] = NULL;
    return kept;
}

static int report_error(const struct error *error)
{
    if (error->message[0] != '\0') /* nobody reads standard output: the status tells it */
        fprintf(text_messages(), "esgsim: %s\n", error->message);
    return error->kind == ERROR_INPUT ? 2 : 1;
}

/* Takes the last `count` parts off a path; false where it has fewer. */
static bool cut_parts(char *path, int count)
{
    for (int i = 0; i < count; i++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
    return true;
}

/* Data that lie beside the program, as in an installation that was moved (PREFIX/bin and
 * PREFIX/share/esgsim) or in a source tree (build/ and workloads/), are nearer than the folder
 * compiled in. For this process and its workers alone. */
static void locate_data(void)
{
    static const char *const places[] = {"/share/esgsim", ""};
    char program[PATH_MAX], folder[PATH_MAX + 16], applications[PATH_MAX + 64];
    const char *given = getenv("ESGSIM_DATA");
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if ((given != NULL && given[0] != '\0') || length <= 0)
        return;
    program[length] = '\0';
    if (!cut_parts(program, 2))
        return;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        (void)snprintf(folder, sizeof folder, "%s%s", program, places[i]);
        (void)snprintf(applications, sizeof applications, "%s/workloads/applications", folder);
        if (access(applications, F_OK) == 0) {
            (void)setenv("ESGSIM_DATA", folder, 1);
            return;
        }
    }
}

static bool program_run(int argc, char **argv, struct error *error)
{
    bool help = strcmp(argv[1], "help") == 0, quiet = false;
    if (strcmp(argv[1], "--version") == 0) {
        printf("esgsim %s (%s, sources %s)\n", version_number(), version_commit(),
               version_sources());
        return true;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || (help && argc == 2)) {
        text_begin();
        print_usage(stdout);
        return true;
    }
    if (help) { /* esgsim help COMMAND */
        argc--;
        argv++;
    }
    const struct command *command = find_command(argv[1], error);
    if (command == NULL)
        return false;
    const int count = take_common_options(argc - 1, argv + 1, &help, &quiet);
    if (!help)
        return command->run(count, argv + 1, quiet, error);
    cli_print_help(command);
    return true;
}

/* A results file must not become standard output where the caller has closed that. */
static void keep_standard_streams(void)
{
    int descriptor;
    do {
        descriptor = open("/dev/null", O_RDONLY);
    } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0)
        (void)close(descriptor);
}

/* GSL's own handler aborts, also where memory is exhausted. */
static void on_gsl_fault(const char *reason, const char *file, int line, int number)
{
    if (number == GSL_ENOMEM)
        arena_exhaust(arena_create(), 1, 1);
    (void)fprintf(stderr, "gsl: %s:%d: %s\n", file, line, reason);
    abort();
}

/* A module that orders by addresses gives the same in every run only where they do not change. That
 * is a matter of a program's start. */
static void addresses_fix(int argc, char **argv)
{
    const int now = personality(0xffffffff);
    const char *preload =
        getenv("LD_PRELOAD"); /* valgrind would lose the program that begins anew */
    bool module = argc > 1 && strcmp(argv[1], "sweep") == 0;
    for (int i = 2; i < argc; i++)
        module = module || strstr(argv[i], ".c") != NULL || strstr(argv[i], ".so") != NULL;
    if (module && (preload == NULL || strstr(preload, "vgpreload") == NULL) && now >= 0 &&
        (now & ADDR_NO_RANDOMIZE) == 0 && personality((unsigned)now | ADDR_NO_RANDOMIZE) >= 0)
        (void)execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    struct error error = {0};
    addresses_fix(argc, argv);
    keep_standard_streams();
    /* A file that may grow no further, and a pipe that nobody reads, are errors of the write. */
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)gsl_set_error_handler(on_gsl_fault);
    guard_install();
    run_process_begin(GUARD_TIMEOUT_DEFAULT);
    locate_data();
    if (argc < 2) {
        print_usage(stderr);
        return 2;
    }
    bool ok = program_run(argc, argv, &error);
    ok = output_close(ok ? &error : NULL) && ok;
    unfinished_remove_all(); /* of a command that failed and did not end a file */
    return ok ? 0 : report_error(&error);
}
