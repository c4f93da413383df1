#include "workloads/load/policy_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/unfinished.h"
#include "workloads/load/json_include.h"
#include "workloads/load/loader_internal.h"

static char *folder; /* of the modules that were compiled; NULL: none */
void (*policy_bundle_python)(const char *path, const char *to);
static const char *sanitizers; /* NULL: modules have none */

bool path_ends_in(const char *path, const char *ending)
{
    const size_t length = strlen(path), part = strlen(ending);
    return length > part && strcmp(path + length - part, ending) == 0;
}

bool policy_module_named(const char *name)
{
    return path_ends_in(name, ".so") || path_ends_in(name, ".c") || path_ends_in(name, ".py");
}

/* Runs the compiler, whose messages go to standard error. The module is the same in whichever
 * folder source and headers are. The source may include headers of its own, and of the program's
 * those of the contract and what they include: with others it could change the run's own state. */
static bool compile(const char *source, const char *module, struct error *error)
{
    static const char script[] =
        "unset LD_PRELOAD; tree=$1 installed=$1/../../include/esgsim source=$2 module=$3; shift 3\n"
        "case $source in -*) source=./$source ;; esac\n"
        "${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -g -O1 -ffp-contract=off -shared "
        "-fPIC \"-ffile-prefix-map=$PWD=.\" \"-ffile-prefix-map=$tree/=\" "
        "\"-ffile-prefix-map=$installed/=\" -I\"$tree\" -I\"$installed\" -I. \"$@\" "
        "-fno-sanitize-recover=all -MMD -MF \"$module.d\" -o \"$module\" \"$source\" || exit\n"
        "sed 's/^.*: //; s/ *\\\\$//; s/\\\\ /\\t/g' \"$module.d\" | tr ' \\t' '\\n ' |\n"
        "while read -r file; do file=$(readlink -f -- \"$file\")\n"
        "  case $file in\n"
        "  */sim/base/*|*/workloads/world/workload.h|*/workloads/training/training_models.h) ;;\n"
        "  */traces/readers/training_trace.h) ;;\n"
        "  */sim/*/*|*/workloads/*/*|*/traces/*/*|*/results/*/*)\n"
        "    ! test -e \"${file%/*/*/*}/sched/policy.h\" ||\n"
        "      { echo \"$source: includes $file, which is not of the contract\" >&2; rm "
        "\"$module\"; exit 1; } ;;\n"
        "  esac\n"
        "done";
    const char *const words[] = {"sh",   "-c",   script,     "sh", json_include_data_directory(),
                                 source, module, sanitizers, NULL};
    pid_t child;
    int status = 1;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, (char *const *)words, environ) == 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
    return status == 0 || error_input(error, "%s: does not compile, see above", source);
}

bool policy_module_file(const char *name, char file[POLICY_MODULE_PATH], struct error *error)
{
    (void)snprintf(file, POLICY_MODULE_PATH, "%s", name);
    const bool python = policy_bundle_python != NULL && path_ends_in(name, ".py");
    if ((!python && !path_ends_in(name, ".c")) || access(name, R_OK) != 0)
        return true;
    if (folder == NULL && (folder = temporary_folder_create("esgsim-policy", error)) == NULL)
        return false;
    char hex[65];
    hash_bytes(name, strlen(name), hex); /* a/b.c and a%b.c are two */
    (void)snprintf(file, POLICY_MODULE_PATH, "%s/%.32s.so", folder, hex);
    if (access(file, F_OK) != 0 && python)
        policy_bundle_python(name, file);
    return access(file, F_OK) == 0 || compile(name, file, error);
}

bool policy_module_sanitize(int argc, char *const argv[], bool quiet, struct error *error)
{
    static const char script[] =
        "export LD_PRELOAD=\"$(${CC:-cc} -print-file-name=libasan.so)\"; exec \"$@\"";
    const char *words[256] = {"sh", "-c", script, "sh"}, *before = getenv("LD_PRELOAD");
    char program[POLICY_MODULE_PATH] = "";
    sanitizers = "-fsanitize=address,undefined";
    if (dlsym(RTLD_DEFAULT, "__asan_init") != NULL)
        return true;
    if ((before == NULL || strstr(before, "libasan") == NULL) && argc < 250 &&
        readlink("/proc/self/exe", program, sizeof program - 1) > 0) {
        words[4] = program;
        memcpy(&words[5], argv, (size_t)argc * sizeof *argv);
        words[5 + argc] = quiet ? "--quiet" : NULL;
        (void)execv("/bin/sh", (char *const *)words);
    }
    return error_input(error, "--sanitize: $CC or cc has no libasan.so, as gcc has");
}
