#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/record.h"
#include "results/store.h"
#include "sim/cli/cli.h"
#include "sim/cli/meter.h"
#include "sim/cli/runner.h"
#include "sim/farm.h"
#include "sim/simulation.h"
#include "workloads/experiment.h"

struct options {
    const char *file;
    const char *out;
    uint64_t jobs;
    struct override *overrides; /* keys owned, values within argv */
    size_t override_count;
};

struct sweep_work {
    const struct sweep *sweep;
    struct store *store;
    struct meter meter;
    size_t failed;
    struct error first_failure;
};

/* ---- Options ------------------------------------------------------------------------------- */

static bool option_set(const char *text, struct options *options, struct error *error)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return error_input(error, "--set %s: should be KEY=VALUE, e.g. requests=1000", text);
    char *key = strndup(text, (size_t)(equals - text));
    if (key == NULL)
        return error_run(error, "out of memory for the options");
    options->overrides[options->override_count++] = (struct override){key, equals + 1};
    return true;
}

static bool option_parse(const char *name, const char *value, struct options *options,
                         struct error *error)
{
    if (strcmp(name, "--out") == 0) {
        options->out = value;
        return true;
    }
    if (strcmp(name, "--jobs") == 0)
        return cli_parse_u64(name, value, 1, 1024, &options->jobs, error);
    return option_set(value, options, error);
}

static bool options_parse(int argc, char **argv, struct options *options, struct error *error)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    options->jobs = cores < 1 ? 1 : (uint64_t)cores;
    options->overrides = calloc((size_t)argc + 1, sizeof *options->overrides);
    if (options->overrides == NULL)
        return error_run(error, "out of memory for the options");
    for (int i = 1; i < argc; i++) {
        bool known = strcmp(argv[i], "--out") == 0 || strcmp(argv[i], "--jobs") == 0 ||
                     strcmp(argv[i], "--set") == 0;
        if (known && i + 1 == argc)
            return cli_usage_error(&command_sweep, "an option lacks its value", error);
        if (known) {
            if (!option_parse(argv[i], argv[i + 1], options, error))
                return false;
            i++;
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            return cli_unknown_argument(&command_sweep, argv[i], error);
        } else if (options->file != NULL) {
            return cli_usage_error(&command_sweep, "one sweep at a time", error);
        } else {
            options->file = argv[i];
        }
    }
    if (options->file == NULL)
        return cli_usage_error(&command_sweep, "a sweep file is missing", error);
    return options->out != NULL || cli_usage_error(&command_sweep, "--out F.h5 is missing", error);
}

static void options_clear(struct options *options)
{
    for (size_t i = 0; i < options->override_count; i++)
        free((char *)options->overrides[i].key);
    free(options->overrides);
}

/* ---- One run ------------------------------------------------------------------------------- */

struct plan {
    struct experiment *experiment;
    const struct policy *policy;
    double *values;
};

static void plan_clear(struct plan *plan)
{
    free(plan->values);
    experiment_free(plan->experiment);
}

static bool plan_load(const struct sweep *sweep, size_t run, struct plan *plan, struct error *error)
{
    *plan = (struct plan){.experiment = sweep_experiment(sweep, run, error)};
    if (plan->experiment == NULL)
        return false;
    plan->policy = runner_policy(plan->experiment, &plan->values, error);
    if (plan->policy != NULL)
        return true;
    plan_clear(plan);
    return false;
}

/* In the worker process. */
static bool work(void *context, size_t job, struct blob *blob, struct error *error)
{
    const struct sweep *sweep = ((const struct sweep_work *)context)->sweep;
    struct plan plan;
    if (!plan_load(sweep, job, &plan, error))
        return false;
    struct run_rows rows = {0};
    struct recorder recorder = run_rows_recorder(&rows, plan.experiment->record);
    struct simulation_result result;
    struct run_facts *facts =
        run_facts_create(plan.experiment, plan.policy, plan.values, sweep->runs[job].label, error);
    bool good = facts != NULL && runner_execute(plan.experiment, plan.policy, plan.values,
                                                &recorder, NULL, &result, error);
    if (good) {
        good = run_pack(blob, facts, &result, &rows, error);
        simulation_result_clear(&result);
    }
    run_facts_free(facts);
    run_rows_clear(&rows);
    plan_clear(&plan);
    return good;
}

static bool collect(void *context, size_t job, const void *bytes, size_t size,
                    const struct error *failure, struct error *error)
{
    struct sweep_work *sweep_work = context;
    const struct sweep_run *run = &sweep_work->sweep->runs[job];
    if (failure == NULL)
        return store_add_packed(sweep_work->store, bytes, size, error);
    if (sweep_work->failed++ == 0)
        sweep_work->first_failure = *failure;
    meter_end(&sweep_work->meter);
    if (!sweep_work->meter.quiet)
        (void)fprintf(stderr, "run %zu (%s seed=%" PRIu64 ") failed: %s\n", job, run->label,
                      run->seed, failure->message);
    return true;
}

static void progress(void *context, size_t ended, size_t jobs)
{
    meter_update(&((struct sweep_work *)context)->meter, ended, jobs);
}

/* ---- The sweep ----------------------------------------------------------------------------- */

/* Loads one run of each combination, so that a mistake in the last one is told at once and not
 * after the others have run; and no two may be the same, or the results would hold one run twice.
 */
static bool sweep_check(const struct sweep *sweep, struct error *error)
{
    char(*hashes)[TEXT_HASH + 1] = calloc(sweep->run_count + 1, sizeof *hashes);
    if (hashes == NULL)
        return error_run(error, "out of memory for the sweep");
    bool good = true;
    size_t step = sweep->seeds > 0 ? sweep->seeds : 1;
    for (size_t run = 0; good && run < sweep->run_count; run += step) {
        struct plan plan;
        good = plan_load(sweep, run, &plan, error);
        if (!good)
            break;
        memcpy(hashes[run], plan.experiment->hash, sizeof hashes[run]);
        plan_clear(&plan);
        for (size_t earlier = 0; good && earlier < run; earlier += step)
            if (strcmp(hashes[earlier], hashes[run]) == 0)
                good = error_input(error,
                                   "%s: the matrix gives one configuration twice: \"%s\" and "
                                   "\"%s\"; take one out",
                                   sweep->base_path, sweep->runs[earlier].label,
                                   sweep->runs[run].label);
    }
    free(hashes);
    return good;
}

/* What has finished is kept, whatever ended the rest. */
static bool sweep_finish(struct sweep_work *sweep_work, const char *out, bool farmed,
                         struct error *error)
{
    size_t kept = store_run_count(sweep_work->store);
    if (kept == 0) {
        store_abandon(sweep_work->store);
        if (farmed && sweep_work->failed > 0)
            return error_run(error, "all %zu runs failed; the first: %s", sweep_work->failed,
                             sweep_work->first_failure.message);
        return false;
    }
    struct error closing;
    if (!store_finish(sweep_work->store, &closing)) {
        *error = closing;
        return false;
    }
    (void)printf("%zu of %zu runs are in %s\n", kept, sweep_work->sweep->run_count, out);
    if (farmed && sweep_work->failed > 0)
        return error_run(error, "%zu of %zu runs failed; the first: %s", sweep_work->failed,
                         sweep_work->sweep->run_count, sweep_work->first_failure.message);
    return farmed;
}

static bool sweep_run_all(const struct sweep *sweep, const struct options *options, bool quiet,
                          struct error *error)
{
    struct sweep_work sweep_work = {.sweep = sweep, .store = store_create(options->out, error)};
    if (sweep_work.store == NULL)
        return false;
    size_t workers = options->jobs < sweep->run_count ? (size_t)options->jobs : sweep->run_count;
    struct farm farm = {.jobs = sweep->run_count,
                        .workers = workers,
                        .context = &sweep_work,
                        .work = work,
                        .collect = collect,
                        .progress = progress};
    meter_start(&sweep_work.meter, "runs", quiet);
    bool farmed = farm_run(&farm, error);
    meter_end(&sweep_work.meter);
    return sweep_finish(&sweep_work, options->out, farmed, error);
}

static bool command_run_sweep(int argc, char **argv, bool quiet, struct error *error)
{
    struct options options = {0};
    struct sweep *sweep = NULL;
    bool good = options_parse(argc, argv, &options, error);
    if (good)
        sweep = sweep_load(options.file, options.overrides, options.override_count, error);
    good =
        sweep != NULL && sweep_check(sweep, error) && sweep_run_all(sweep, &options, quiet, error);
    if (sweep != NULL)
        sweep_free(sweep);
    options_clear(&options);
    return good;
}

const struct command command_sweep = {
    "sweep", "sweep SWEEP.json --out F.h5 [--jobs N] [--set KEY=VALUE]...",
    "every combination x seed, in parallel worker processes",
    "  --out F.h5       where the results go; written beside, named when finished\n"
    "  --jobs N         worker processes at a time (default: the machine's cores)\n"
    "  --set KEY=VALUE  change a key of the base experiment, e.g. requests=1000\n"
    "\n"
    "The tables are the same, byte for byte, for any number of jobs. A run that fails is told and\n"
    "left out; Ctrl-C keeps what is finished.\n"
    "\n"
    "Example: esgsim sweep workloads/experiments/paper.json --out paper.h5\n",
    command_run_sweep};
