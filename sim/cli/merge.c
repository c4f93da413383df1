#include <stdio.h>
#include <string.h>

#include "results/store.h"
#include "sim/cli/cli.h"

static bool run(int argc, char **argv, bool quiet, struct error *error)
{
    const char *out = NULL;
    const char **shards = (const char **)argv;
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--out") == 0) {
            if (i + 1 == argc)
                return cli_usage_error(&command_merge, "--out needs a file", error);
            out = argv[++i];
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            return cli_unknown_argument(&command_merge, argv[i], error);
        } else {
            shards[count++] = argv[i];
        }
    }
    if (out == NULL)
        return cli_usage_error(&command_merge, "--out F.h5 is missing", error);
    if (count == 0)
        return cli_usage_error(&command_merge, "the files of the shards are missing", error);
    if (!store_merge(out, shards, count, error))
        return false;
    if (!quiet)
        (void)printf("%zu shards are joined in %s\n", count, out);
    return true;
}

const struct command command_merge = {
    "merge", "merge --out F.h5 SHARD.h5...",
    "join the shards of a sweep, as if it had not been cut",
    "  --out F.h5  where the joined results go; written beside, named when finished\n"
    "\n"
    "SHARD.h5... are the files that `esgsim sweep --shard I/N` wrote, in any order, each whole "
    "and\n"
    "each once. The tables are, byte for byte, those of the sweep run in one piece.\n"
    "\n"
    "Example: esgsim merge --out paper.h5 part1.h5 part2.h5\n",
    run};
