#include "sim/run/theory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "results/expect/reproduction_check.h"
#include "sim/engine/queueing_theory.h"

enum { SEED_STRIDE = 1000, THEORY_SETTINGS = 4 };

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
    const double held =
        mean + sim_to_ms(configuration_turnaround(function, &function->configurations[0]));
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

const struct theory_check theory_checks[THEORY_CHECKS] = {
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

/* ---- One check ------------------------------------------------------------------------------- */

/* Splits "KEY=VALUE KEY=VALUE" in place. */
static size_t settings_split(char *text, struct override settings[THEORY_SETTINGS])
{
    size_t count = 0;
    for (char *one; (one = strsep(&text, " ")) != NULL;)
        if (one[0] != '\0') {
            settings[count].key = strsep(&one, "=");
            settings[count++].value = one;
        }
    return count;
}

static double check_figure(const struct theory_check *check, const struct measures *measures)
{
    const struct metric *metric = metric_find(check->metric);
    const double value = metric_number(metric, measures);
    return metric->type == COLUMN_U64 ? value / (double)measures->requests : value;
}

bool theory_run(size_t index, size_t seeds, struct theory_outcome *outcome, struct error *error)
{
    const struct theory_check *check = &theory_checks[index];
    const struct simulation_options options = {.bounds = false};
    struct resolved_run run = {0};
    double figures[THEORY_SEEDS_MOST];
    struct override settings[THEORY_SETTINGS];
    char text[256];
    (void)snprintf(text, sizeof text, "%s", check->settings);
    const size_t count = settings_split(text, settings);
    bool good = resolved_run_load(&run, NULL, check->file, settings, count, error);
    for (size_t r = 0; good && r < seeds; r++) {
        struct simulation_result result = {0};
        run.experiment->seed = 1 + index * SEED_STRIDE + r;
        good = resolved_run_simulate(&run, &options, &result, error);
        figures[r] = good ? check_figure(check, &result.overall) : NAN;
        simulation_result_clear(&result);
    }
    struct seed_values values = {.values = figures, .valued = seeds, .seeds = seeds};
    if (good) {
        *outcome = (struct theory_outcome){.theory = check->theory(run.experiment),
                                           .ours = statistics_of_seeds(&values),
                                           .requests = run.experiment->requests};
        values.confidence = 1 - false_alarm / THEORY_CHECKS;
        outcome->joint = statistics_of_seeds(&values);
    }
    resolved_run_clear(&run);
    return good;
}

static bool misses(const struct theory_outcome *outcome, struct estimate estimate)
{
    return standing_of(outcome->theory, outcome->theory, estimate) != STANDING_UNDECIDED;
}

const char *theory_verdict(const struct theory_outcome *outcome)
{
    return !misses(outcome, outcome->ours)    ? "inside"
           : !misses(outcome, outcome->joint) ? "outside"
                                              : "WRONG";
}

/* ---- All checks ------------------------------------------------------------------------------ */

struct theory_summary theory_summarise(const struct theory_outcome outcomes[THEORY_CHECKS])
{
    struct theory_summary summary = {0};
    for (size_t i = 0; i < THEORY_CHECKS; i++) {
        summary.outside += misses(&outcomes[i], outcomes[i].ours);
        summary.wrong += misses(&outcomes[i], outcomes[i].joint);
    }
    summary.chance =
        summary.outside == 0 ? 1 : gsl_cdf_binomial_Q(summary.outside - 1, 0.05, THEORY_CHECKS);
    summary.passed = summary.wrong == 0 && summary.chance >= false_alarm;
    return summary;
}
