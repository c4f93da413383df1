/* capture: measures networks on this machine's GPU and writes one file (layout.h). */
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "traces/capture/measure/measure.h"
#include "traces/capture/replay/replay.h"
#include "traces/capture/executor/self_test.h"
#include "traces/capture/measure/session.h"

enum { NAMES = 64 };

/* A session with the self-test fits into ten minutes. */
static const double BUDGET_S = 420;

struct options {
    struct session_options session;
    struct plan_options plan;
    const char *names[NAMES]; /* point into argv */
    int precision, shares;    /* indices of their words */
    uint64_t largest_batch, cold_starts;
    bool dry_run, self_test;
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool take_networks(void *context, const char *name, char *value, struct error *error)
{
    struct options *o = context;
    for (char *rest = value, *part; (part = strsep(&rest, ",")) != NULL;) {
        if (o->plan.name_count == NAMES)
            return error_input(error, "%s: more than %d", name, NAMES);
        o->names[o->plan.name_count++] = part;
    }
    o->plan.names = o->names;
    return true;
}

#define MEMBER(member) CLI_MEMBER(struct options, member)

static const struct cli_option capture_table[] = {
    {"--out", "FILE", "the capture file (default capture.h5)", MEMBER(session.out)},
    {"--budget-s", "S",
     "stop after S seconds (default 420); spent where the model is most uncertain",
     MEMBER(session.budget_s), .low = 1, .high = 1e6},
    {"--networks", "A,B", "of the folder's (default: all)", .kind = OPTION_TAKE,
     .take = take_networks},
    {"--folder", "DIR", "of network files (default traces/networks)", MEMBER(plan.folder)},
    {"--precision", "fp16|fp32|both", "default fp16", MEMBER(precision)},
    {"--batch", "N", "largest batch (default 16)", MEMBER(largest_batch), .least = 1, .most = 256},
    {"--shares", "sevenths|all", "default sevenths; all: tens of per cent too", MEMBER(shares)},
    {"--cold-starts", "N", "fresh processes for each network, at batch 1 (default 1; 0: none)",
     MEMBER(cold_starts), .most = 100},
    {"--cuda-graphs", NULL, "launch each inference as one CUDA graph", MEMBER(session.cuda_graphs)},
    {"--dry-run", NULL, "print the plan and what it will take, measure nothing", MEMBER(dry_run)},
    {"--rehearse", NULL, "samples from a formula in place of a GPU, marked so in the file",
     MEMBER(session.rehearse)},
    {"--self-test", NULL, "compare small networks on the GPU with the processor, then end",
     MEMBER(self_test)},
    {.name = NULL},
};

static const struct command command_capture = {
    .name = "capture",
    .alone = true,
    .summary = "measures networks on the first GPU of this machine into a capture file (HDF5)",
    .help = "If the file is there, the capture goes on with it: what it holds is not measured\n"
            "again. `capture replay --help` describes the replay of an experiment.\n",
    .options = capture_table,
};

static bool read_options(int argc, char **argv, struct options *o, struct error *error)
{
    enum { FP16, FP32 }; /* the first words of --precision */
    *o = (struct options){
        .session = {.out = "capture.h5", .budget_s = BUDGET_S},
        .plan = {.folder = "traces/networks"},
        .cold_starts = 1,
    };
    if (!cli_parse(&command_capture, &argc, argv, o, error))
        return false;
    o->plan.fp16 = o->precision != FP32;
    o->plan.fp32 = o->precision != FP16;
    o->plan.tens = o->shares == 1;
    o->plan.largest_batch = (int)o->largest_batch;
    o->plan.cold_starts = (int)o->cold_starts;
    return true;
}

/* ---- The plan -------------------------------------------------------------------------------- */

static void print_plan(const struct plan *plan, const struct options *o)
{
    double total = 0;
    printf("%-12s %8s %10s\n", "table", "points", "seconds");
    for (int table = 0; table < PLAN_TABLES; table++) {
        size_t count = 0;
        const double seconds = plan_remaining(plan, (enum plan_table)table, &count);
        printf("%-12s %8zu %10.1f\n", plan_table_name((enum plan_table)table), count, seconds);
        total += seconds;
    }
    printf("%-12s %8zu %10.1f\n\n", "all", plan->count, total);
    printf("%-20s %10s %14s %14s\n", "network", "points", "seconds", "ms, batch 1");
    for (size_t n = 0; n < plan->network_count; n++) {
        double seconds = 0;
        size_t count = 0;
        const struct plan_member member = {n, 1, 100};
        for (size_t i = 0; i < plan->count; i++)
            if (plan->points[i].table == PLAN_LATENCY && plan->points[i].members[0].network == n) {
                seconds += plan->points[i].estimated_s;
                count++;
            }
        printf("%-20s %10zu %14.1f %14.3f\n", plan->networks[n].graph->name, count, seconds,
               plan_estimate_ms(plan, &member, true));
    }
    printf("\nthe plan takes %.0f s of a budget of %.0f s%s\n", total, o->session.budget_s,
           total > o->session.budget_s
               ? ": not all points fit; those that the rest tells least about come first"
               : ": all points fit; what is left over refines the widest");
}

/* Prints the points that the budget reaches, in the order of measurement if all estimates are
 * right. */
static void print_schedule(struct plan *plan, double budget_s)
{
    char key[PLAN_KEY];
    double spent_s[PLAN_TABLES] = {0};
    double total = 0;
    size_t count = 0;
    printf("\n%10s  %s\n", "seconds", "in this order");
    for (;;) {
        double samples[MEASURE_LEAST];
        struct plan_point *point = plan_next(plan, spent_s, budget_s);
        if (point == NULL)
            break;
        printf("%10.2f  %-11s %s\n", point->estimated_s, plan_table_name(point->table),
               plan_key(plan, point, key));
        spent_s[point->table] += point->estimated_s;
        total += point->estimated_s;
        count++;
        for (size_t i = 0; i < MEASURE_LEAST && point->table == PLAN_LATENCY; i++)
            samples[i] = plan_estimate_ms(plan, &point->members[0], point->half);
        plan_book(plan, point, samples, point->table == PLAN_LATENCY ? MEASURE_LEAST : 0);
    }
    printf("%10.1f  for %zu of %zu points within a budget of %.0f s\n", total, count, plan->count,
           budget_s);
}

static bool run(const struct options *o, struct error *error)
{
    if (o->self_test)
        return self_test_run(error);
    struct plan *plan = plan_create(&o->plan, error);
    if (plan == NULL)
        return false;
    bool good = true;
    print_plan(plan, o);
    if (o->dry_run)
        print_schedule(plan, o->session.budget_s);
    else
        good = session_run(&o->session, plan, error);
    plan_free(plan);
    return good;
}

int main(int argc, char **argv)
{
    struct options options;
    struct error error = {0};
    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return measure_worker(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "replay") == 0)
        return replay_command(argc - 1, argv + 1);
    if (cli_asks_help(argc, argv)) {
        cli_print_help(&command_capture);
        return 0;
    }
    if (read_options(argc, argv, &options, &error) && run(&options, &error))
        return 0;
    (void)fprintf(stderr, "%s\n", error.message);
    return error.kind == ERROR_INPUT ? 2 : 1;
}
