/* capture: measures networks on this machine's GPU and writes one file (layout.h). */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/capture/measure/measure.h"
#include "traces/capture/replay/replay.h"
#include "traces/capture/executor/self_test.h"
#include "traces/capture/measure/session.h"

enum { NAMES = 64 };

/* A session with the self-test fits into ten minutes. */
static const double BUDGET_S = 420;

static const char usage[] =
    "usage: capture [OPTION…], or capture replay EXP.json --out F.h5 (capture replay --help)\n"
    "Measures networks on the first GPU of this machine into a capture file (HDF5). If the file "
    "is\n"
    "there, the capture goes on with it: what it holds is not measured again.\n"
    "\n"
    "  --out FILE        the file (capture.h5)\n"
    "  --budget-s S      stop after S seconds (420); spent where the model is most uncertain\n"
    "  --networks A,B    of the folder's (all)\n"
    "  --folder DIR      of network files (traces/networks)\n"
    "  --precision P     fp16, fp32 or both (fp16)\n"
    "  --batch N         largest batch (16)\n"
    "  --shares S        sevenths, or all: tens of per cent too (sevenths)\n"
    "  --cold-starts N   fresh processes for each network, at batch 1 (1; 0: none)\n"
    "  --cuda-graphs     launch each inference as one CUDA graph\n"
    "  --dry-run         print the plan and what it will take, measure nothing\n"
    "  --rehearse        samples from a formula in place of a GPU, marked so in the file\n"
    "  --self-test       compare small networks on the GPU with the processor, then end\n"
    "  --help\n";

struct options {
    struct session_options session;
    bool dry_run, self_test, help;
    struct plan_options plan;
    const char *names[NAMES];
    char *names_text;
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool read_number(const char *text, const char *what, double low, double high, double *value,
                        struct error *error)
{
    char *end = NULL;
    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !(*value >= low && *value <= high))
        return error_input(error, "capture: --%s is \"%s\", must be a number within %g..%g", what,
                           text, low, high);
    return true;
}

static bool read_precision(struct options *o, const char *text, struct error *error)
{
    const bool both = strcmp(text, "both") == 0;
    o->plan.fp16 = both || strcmp(text, "fp16") == 0;
    o->plan.fp32 = both || strcmp(text, "fp32") == 0;
    if (o->plan.fp16 || o->plan.fp32)
        return true;
    return error_input(error, "capture: --precision is \"%s\", must be fp16, fp32 or both", text);
}

static bool read_shares(struct options *o, const char *text, struct error *error)
{
    o->plan.tens = strcmp(text, "all") == 0;
    return o->plan.tens || strcmp(text, "sevenths") == 0 ||
           error_input(error, "capture: --shares is \"%s\", must be sevenths or all", text);
}

static bool read_names(struct options *o, const char *text, struct error *error)
{
    o->names_text = strdup(text);
    char *rest = o->names_text;
    for (char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ",")) {
        if (o->plan.name_count == NAMES)
            return error_input(error, "capture: --networks names more than %d", NAMES);
        o->names[o->plan.name_count++] = name;
    }
    o->plan.names = o->names;
    return true;
}

static bool read_option(struct options *o, int option, const char *text, struct error *error)
{
    double number = 0;
    switch (option) {
    case 'o':
        o->session.out = text;
        return true;
    case 'b':
        return read_number(text, "budget-s", 1, 1e6, &o->session.budget_s, error);
    case 'n':
        return read_names(o, text, error);
    case 'f':
        o->plan.folder = text;
        return true;
    case 'p':
        return read_precision(o, text, error);
    case 'B':
        if (!read_number(text, "batch", 1, 256, &number, error))
            return false;
        o->plan.largest_batch = (int)number;
        return true;
    case 'S':
        return read_shares(o, text, error);
    case 'c':
        if (!read_number(text, "cold-starts", 0, 100, &number, error))
            return false;
        o->plan.cold_starts = (int)number;
        return true;
    case 'g':
        return o->session.cuda_graphs = true;
    case 'd':
        return o->dry_run = true;
    case 'r':
        return o->session.rehearse = true;
    case 's':
        return o->self_test = true;
    case 'h':
        return o->help = true;
    default:
        return error_input(error, "capture: unknown option; see capture --help");
    }
}

static bool read_options(int argc, char **argv, struct options *o, struct error *error)
{
    static const struct option known[] = {
        {"out", required_argument, NULL, 'o'},
        {"budget-s", required_argument, NULL, 'b'},
        {"networks", required_argument, NULL, 'n'},
        {"folder", required_argument, NULL, 'f'},
        {"precision", required_argument, NULL, 'p'},
        {"batch", required_argument, NULL, 'B'},
        {"shares", required_argument, NULL, 'S'},
        {"cold-starts", required_argument, NULL, 'c'},
        {"cuda-graphs", no_argument, NULL, 'g'},
        {"dry-run", no_argument, NULL, 'd'},
        {"rehearse", no_argument, NULL, 'r'},
        {"self-test", no_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *o = (struct options){
        .session = {.out = "capture.h5", .budget_s = BUDGET_S},
        .plan = {.folder = "traces/networks", .cold_starts = 1},
    };
    opterr = 0;
    for (int c = getopt_long(argc, argv, "", known, NULL); c != -1;
         c = getopt_long(argc, argv, "", known, NULL))
        if (!read_option(o, c, optarg, error))
            return false;
    if (optind < argc)
        return error_input(error, "capture: unexpected \"%s\"; see capture --help", argv[optind]);
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
    if (o->help) {
        (void)fputs(usage, stdout);
        return true;
    }
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
    const bool good = read_options(argc, argv, &options, &error) && run(&options, &error);
    free(options.names_text);
    if (good)
        return 0;
    (void)fprintf(stderr, "%s\n", error.message);
    return error.kind == ERROR_INPUT ? 2 : 1;
}
