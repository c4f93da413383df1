/* esgsim validate: compares the simulator with queueing theory.
 *
 * Each check runs one of workloads/experiments/theory/ with R different seeds. It compares the mean
 * of the R figures with a closed form (sim/engine/queueing_theory.h), evaluated on the experiment
 * as loaded. The R figures are independent, and each is an average over very many requests. So
 * their mean has a Student t interval.
 *
 * For a correct simulator about one in twenty of the 95 % intervals misses the theoretical value.
 * The command fails in two cases. In the first, so many intervals miss it that a binomial count
 * would be as large with a probability below 0.001. In the second, an interval of one check misses
 * it at a joint level of 0.001 over all checks (Bonferroni). Seeds are fixed, so the result is
 * reproducible.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>

#include "results/store/columns.h"
#include "sim/cli/cli.h"
#include "sim/run/run_once.h"
#include "sim/platform/simulation.h"
#include "sim/engine/queueing_theory.h"
#include "workloads/spec/experiment.h"
#include "sim/base/json_write.h"

enum { SEEDS_DEFAULT = 10, SEEDS_MAX = 1000, SEED_STRIDE = 1000 };

static const double false_alarm = 1e-3;

/* ---- Theoretical values of an experiment, in milliseconds ------------------------------------ */

static double rate_per_ms(const struct experiment *experiment)
{
    return experiment->arrivals.rate_per_s / 1e3;
}

static double mean_ms(const struct experiment *experiment, size_t function)
{
    return sim_to_ms(experiment->workload.functions[function].service_mean);
}

/* A function has one server per warm container, and the cluster has a vCPU for each. */
static uint32_t servers(const struct experiment *experiment, size_t function)
{
    return experiment->platform.initial_counts[function];
}

static double expect_mmc_wait(const struct experiment *experiment)
{
    return queueing_mmc_wait(rate_per_ms(experiment), mean_ms(experiment, 0),
                             servers(experiment, 0));
}

static double expect_mm1_p95(const struct experiment *experiment)
{
    return queueing_mm1_sojourn_quantile(rate_per_ms(experiment), mean_ms(experiment, 0), 0.95);
}

/* The turnaround is a part of the service that answers do not wait for. */
static double expect_mg1_wait(const struct experiment *experiment)
{
    const struct function *function = &experiment->workload.functions[0];
    const double cv = function->service == SERVICE_CONSTANT ? 0 : function->service_cv;
    const double mean = mean_ms(experiment, 0);
    const double held = mean + function->gpus[0].turnaround_ms;
    return queueing_mg1_wait(rate_per_ms(experiment), held, cv * mean / held);
}

static uint32_t places(const struct experiment *experiment)
{
    return servers(experiment, 0) + (uint32_t)experiment->platform.queue_capacity;
}

static double expect_mmck_loss(const struct experiment *experiment)
{
    return queueing_mmck_loss(rate_per_ms(experiment), mean_ms(experiment, 0),
                              servers(experiment, 0), places(experiment));
}

static double expect_mmck_latency(const struct experiment *experiment)
{
    return queueing_mmck_wait(rate_per_ms(experiment), mean_ms(experiment, 0),
                              servers(experiment, 0), places(experiment)) +
           mean_ms(experiment, 0);
}

static double expect_pool_cold(const struct experiment *experiment)
{
    return queueing_pool_cold_probability(rate_per_ms(experiment), mean_ms(experiment, 0),
                                          sim_to_ms(experiment->platform.keep_alive));
}

/* Jackson's theorem: in a tandem of such queues each behaves as if it were alone. */
static double expect_tandem_latency(const struct experiment *experiment)
{
    double latency = 0;
    for (size_t f = 0; f < experiment->workload.function_count; f++)
        latency += queueing_mmc_wait(rate_per_ms(experiment), mean_ms(experiment, f),
                                     servers(experiment, f)) +
                   mean_ms(experiment, f);
    return latency;
}

static double expect_closed_latency(const struct experiment *experiment)
{
    return queueing_closed_response(experiment->arrivals.users, experiment->arrivals.think_mean_ms,
                                    mean_ms(experiment, 0), servers(experiment, 0));
}

/* ---- Checks ---------------------------------------------------------------------------------- */

struct check {
    const char *name;
    const char *metric; /* of what is counted, the share of the requests */
    const char *file;
    double (*theory)(const struct experiment *experiment);
    const char *settings; /* KEY=VALUE, separated by blanks */
};

#define THEORY(name) "workloads/experiments/theory/" name ".json"
#define WAIT "queue_ms_mean"
#define LATENCY "latency_ms_mean"
#define P95 "latency_ms_p95"
#define REJECTED "dropped"
#define COLD "cold_start_rate"
#define RATE(text) "arrivals.rate_per_s=" text " "
#define SERVERS(c)                                                                                 \
    "platform.initial.f=" c " cluster.invokers=[{\"count\":1,\"vcpus\":" c                         \
    ",\"memory_mb\":1048576,\"gpus\":[]}] "

static const struct check checks[] = {
    {"M/M/1, load 0.5", WAIT, THEORY("mm1"), expect_mmc_wait, RATE("50")},
    {"M/M/1, load 0.8", WAIT, THEORY("mm1"), expect_mmc_wait, ""},
    {"M/M/1, load 0.9", WAIT, THEORY("mm1"), expect_mmc_wait,
     RATE("90") "requests=400000 warmup_requests=20000"},
    {"M/M/1, load 0.8", P95, THEORY("mm1"), expect_mm1_p95, ""},
    {"M/M/2, load 0.7", WAIT, THEORY("mmc"), expect_mmc_wait, RATE("140") SERVERS("2")},
    {"M/M/4, load 0.8", WAIT, THEORY("mmc"), expect_mmc_wait, ""},
    {"M/M/16, load 0.9", WAIT, THEORY("mmc"), expect_mmc_wait,
     RATE("1440") SERVERS("16") "requests=400000"},
    {"M/D/1, load 0.6", WAIT, THEORY("md1"), expect_mg1_wait, RATE("60")},
    {"M/D/1, load 0.8", WAIT, THEORY("md1"), expect_mg1_wait, ""},
    {"M/G/1 lognormal, load 0.4", WAIT, THEORY("mg1"), expect_mg1_wait, RATE("40")},
    {"M/G/1 lognormal, load 0.7", WAIT, THEORY("mg1"), expect_mg1_wait, "requests=400000"},
    {"M/M/2/6, load 1.1", REJECTED, THEORY("mmck"), expect_mmck_loss, ""},
    {"M/M/2/6, load 1.1", LATENCY, THEORY("mmck"), expect_mmck_latency, ""},
    {"M/M/2/3, load 0.5", REJECTED, THEORY("mmck"), expect_mmck_loss,
     RATE("100") "platform.queue_capacity=1"},
    {"pool of 5, kept 1 service", COLD, THEORY("pool"), expect_pool_cold, ""},
    {"pool of 5, kept 5 services", COLD, THEORY("pool"), expect_pool_cold,
     "platform.keep_alive_s=0.5"},
    {"pool of 0.5, kept 2 services", COLD, THEORY("pool"), expect_pool_cold,
     RATE("5") "platform.keep_alive_s=0.2"},
    {"tandem M/M/1, 0.8 and 0.64", LATENCY, THEORY("tandem"), expect_tandem_latency, ""},
    {"closed, 12 users, 1 server", LATENCY, THEORY("closed"), expect_closed_latency, ""},
    {"closed, 40 users, 3 servers", LATENCY, THEORY("closed"), expect_closed_latency,
     "arrivals.users=40 " SERVERS("3")},
    {"M/D/1, turnaround, load 0.8", WAIT, THEORY("md1"), expect_mg1_wait,
     RATE("64") "functions.functions.0.turnaround_ms=2.5"},
    {"M/G/1, turnaround, load 0.7", WAIT, THEORY("mg1"), expect_mg1_wait,
     RATE("56") "functions.functions.0.turnaround_ms=2.5 requests=400000"},
};

enum { CHECK_COUNT = sizeof checks / sizeof *checks };

/* ---- One check ------------------------------------------------------------------------------- */

struct outcome {
    double theory;
    double mean;
    double half_width;       /* of the 95 % interval */
    double joint_half_width; /* of the interval at the joint level */
    uint64_t requests;
};

static double t_half_width(double deviation, size_t count, double level)
{
    return gsl_cdf_tdist_Qinv(level / 2, (double)count - 1) * deviation / sqrt((double)count);
}

/* Loads the experiment of a check, with its settings. */
static bool check_load(const struct check *check, struct resolved_run *run, struct error *error)
{
    char text[256], *rest = text;
    struct cli_settings settings = {.count = 0};
    bool good = true;
    (void)snprintf(text, sizeof text, "%s", check->settings);
    for (char *one; good && (one = strsep(&rest, " ")) != NULL;)
        good = one[0] == '\0' || cli_settings_add_text(&settings, one, error);
    return good && resolved_run_load(run, NULL, check->file, settings.list, settings.count, error);
}

static double check_figure(const struct check *check, const struct measures *measures)
{
    const struct metric *metric = metric_find(check->metric);
    const double value = metric_number(metric, measures);
    return metric->type == COLUMN_U64 ? value / (double)measures->requests : value;
}

/* Runs a check with seeds that no other check uses. */
static bool check_run(size_t index, size_t seeds, struct outcome *outcome, struct error *error)
{
    const struct check *check = &checks[index];
    const struct simulation_options options = {.bounds = false};
    struct resolved_run run = {0};
    double figures[SEEDS_MAX];
    bool good = check_load(check, &run, error);
    for (size_t r = 0; good && r < seeds; r++) {
        struct simulation_result result = {0};
        run.experiment->seed = 1 + index * SEED_STRIDE + r;
        good = resolved_run_simulate(&run, &options, &result, error);
        figures[r] = good ? check_figure(check, &result.overall) : NAN;
        simulation_result_clear(&result);
    }
    if (good) {
        const double deviation = gsl_stats_sd(figures, 1, seeds);
        *outcome = (struct outcome){.theory = check->theory(run.experiment),
                                    .mean = gsl_stats_mean(figures, 1, seeds),
                                    .half_width = t_half_width(deviation, seeds, 0.05),
                                    .joint_half_width =
                                        t_half_width(deviation, seeds, false_alarm / CHECK_COUNT),
                                    .requests = run.experiment->requests};
    }
    resolved_run_clear(&run);
    return good;
}

static bool lies_inside(const struct outcome *outcome, double half_width)
{
    return fabs(outcome->mean - outcome->theory) <= half_width;
}

static const char *verdict(const struct outcome *outcome)
{
    if (lies_inside(outcome, outcome->half_width))
        return "inside";
    return lies_inside(outcome, outcome->joint_half_width) ? "outside" : "WRONG";
}

/* ---- All checks ------------------------------------------------------------------------------ */

struct summary {
    unsigned outside; /* 95 % intervals that miss the theoretical value */
    unsigned wrong;   /* joint intervals that miss it */
    double chance;    /* probability of at least `outside` misses */
    bool passed;
};

static struct summary summarise(const struct outcome *outcomes)
{
    struct summary summary = {0};
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        summary.outside += !lies_inside(&outcomes[i], outcomes[i].half_width);
        summary.wrong += !lies_inside(&outcomes[i], outcomes[i].joint_half_width);
    }
    summary.chance =
        summary.outside == 0 ? 1 : gsl_cdf_binomial_Q(summary.outside - 1, 0.05, CHECK_COUNT);
    summary.passed = summary.wrong == 0 && summary.chance >= false_alarm;
    return summary;
}

static void print_row(const struct check *check, const struct outcome *outcome)
{
    const struct metric *metric = metric_find(check->metric);
    const double scale = metric->face.scale;
    char title[64];
    (void)snprintf(title, sizeof title, "%s%s", metric->face.title,
                   metric->type == COLUMN_U64 ? " / all" : "");
    printf("%-29s %-26s %11.5g %11.5g ± %-9.2g %s\n", check->name, title, scale * outcome->theory,
           scale * outcome->mean, scale * outcome->half_width, verdict(outcome));
    fflush(stdout);
}

static bool print_json(const struct outcome *outcomes, const struct summary *summary, size_t seeds,
                       struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(root, "checks");
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        cJSON *row = json_append(list);
        json_put(row, "check %s quantity %s unit %s experiment %s theory %g", checks[i].name,
                 checks[i].metric, metric_find(checks[i].metric)->unit, checks[i].file,
                 outcomes[i].theory);
        json_put(row, "simulated %g half_width_95 %g requests %g verdict %s", outcomes[i].mean,
                 outcomes[i].half_width, (double)outcomes[i].requests, verdict(&outcomes[i]));
    }
    json_put(root, "seeds %g outside %u wrong %u chance %g passed %hhd", (double)seeds,
             summary->outside, summary->wrong, summary->chance, summary->passed);
    return cli_print_json(root, error);
}

struct options {
    uint64_t seeds;
    bool json;
};

static const struct cli_option validate_table[] = {
    {"--json", NULL, "one JSON object instead of the table", CLI_MEMBER(struct options, json)},
    {"--seeds", "N", "independent runs of each check (default 10)",
     CLI_MEMBER(struct options, seeds), .least = 2, .most = SEEDS_MAX},
    {.name = NULL},
};

static bool run_all(struct outcome *outcomes, size_t seeds, bool json, bool quiet,
                    struct error *error)
{
    const bool show = !quiet && (json || isatty(STDERR_FILENO));
    if (!json)
        printf("%-29s %-26s %11s %11s ± 95 %%\n", "check", "quantity", "theory", "simulated");
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        if (show)
            fprintf(stderr, "%zu/%d %s\n", i + 1, (int)CHECK_COUNT, checks[i].name);
        if (!check_run(i, seeds, &outcomes[i], error))
            return false;
        if (!json)
            print_row(&checks[i], &outcomes[i]);
    }
    return true;
}

static bool validate_run(int argc, char **argv, bool quiet, struct error *error)
{
    struct outcome outcomes[CHECK_COUNT];
    struct options options = {.seeds = SEEDS_DEFAULT};
    if (!cli_parse(&command_validate, &argc, argv, &options, error) ||
        !run_all(outcomes, options.seeds, options.json, quiet, error))
        return false;
    const struct summary summary = summarise(outcomes);
    if (options.json && !print_json(outcomes, &summary, options.seeds, error))
        return false;
    if (!options.json)
        printf("%u of %d outside their 95 %% interval (probability of as many by chance: %.2g), "
               "%u wrong; %" PRIu64 " seeds per check\n",
               summary.outside, (int)CHECK_COUNT, summary.chance, summary.wrong, options.seeds);
    if (!summary.passed)
        return error_run(error,
                         "validate: the simulator disagrees with theory: %u of %d outside, "
                         "%u wrong",
                         summary.outside, (int)CHECK_COUNT, summary.wrong);
    return true;
}

const struct command command_validate = {
    .name = "validate",
    .summary = "check the simulator against queueing theory",
    .help = "Each check simulates an experiment of workloads/experiments/theory/ and compares it "
            "with a closed form. \"outside\": the theoretical value is outside the 95 % "
            "interval, as expected in one of twenty checks. \"WRONG\": it is outside the "
            "interval with a joint level of 0.999 over all checks. Exit status 1 on any WRONG, "
            "or on more \"outside\" than chance explains (0.001).\n"
            "\n"
            "Example: esgsim validate --seeds 20\n",
    .run = validate_run,
    .options = validate_table,
};
