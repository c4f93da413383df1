#include <stdio.h>

#include "results/store/store.h"
#include "sim/cli/cli.h"

struct options {
    const char *out;
};

static const struct cli_option merge_table[] = {
    {"--out", "F.h5", "the joined results; the file gets its name when finished",
     CLI_MEMBER(struct options, out), .required = true},
    {.name = NULL},
};

static bool merge_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {0};
    if (!cli_parse(&command_merge, &argc, argv, &options, error))
        return false;
    const size_t count = (size_t)argc - 1;
    for (size_t i = 1; i <= count; i++)
        if (!cli_check_output("--out", options.out, "a shard", argv[i], error))
            return false;
    if (!store_merge(options.out, (const char **)(argv + 1), count, error))
        return false;
    struct results *joined = quiet ? NULL : results_load(options.out, error);
    if (joined != NULL)
        (void)printf("%zu shards are joined in %s%s\n", count, options.out,
                     joined->missing_count > 0 ? ", without the runs that failed" : "");
    const bool good = quiet || joined != NULL;
    results_free(joined);
    return good;
}

const struct command command_merge = {
    .name = "merge",
    .summary = "join the shards of a sweep into one results file",
    .help = "SHARD.h5… are the files that `esgsim sweep --shard I/N` wrote, in any order, each "
            "once. Their failed runs are listed in /missing; a shard with runs that were not run "
            "is refused, and so are shards of different programs. The tables are, byte for byte, "
            "those of an undivided sweep.\n"
            "\n"
            "Example: esgsim merge --out paper.h5 part1.h5 part2.h5\n",
    .run = merge_run,
    .operands = "SHARD.h5…",
    .options = merge_table,
};
