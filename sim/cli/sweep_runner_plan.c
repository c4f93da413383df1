#include "sim/cli/sweep_runner_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/store/columns.h"
#include "sim/cli/modules.h"
#include "sim/cli/run_once.h"
#include "sim/version.h"
#include "workloads/loader_internal.h"
#include "workloads/sweep_keys.h"

void plan_clear(struct plan *plan)
{
    free(plan->values);
    experiment_free(plan->experiment);
}

bool plan_load(const struct sweep *sweep, size_t run, struct plan *plan, struct error *error)
{
    *plan = (struct plan){.experiment = sweep_experiment(sweep, run, error)};
    if (plan->experiment == NULL)
        return false;
    plan->bounds = sweep->bounds && (sweep->runs[run].first_policy ||
                                     plan->experiment->arrivals.process == ARRIVAL_CLOSED);
    struct error fault = {0};
    plan->policy = runner_policy(plan->experiment, &plan->values, &fault);
    if (plan->policy != NULL)
        return true;
    plan_clear(plan);
    (void)sweep_fault(sweep, run, &fault, error);
    return false;
}

struct run_facts *plan_facts(const struct sweep *sweep, size_t run, const struct plan *plan,
                             const char **values, struct error *error)
{
    char label[POLICY_LABEL];
    struct run_facts *facts = run_facts_create(plan->experiment, plan->policy, plan->values,
                                               plan->bounds, sweep->runs[run].label, error);
    if (facts == NULL)
        return NULL;
    sweep_keys_values(sweep->keys, run / sweep->seeds, values);
    modules_label(sweep, plan->experiment, plan->policy, plan->values, label);
    free(facts->policy_label);
    facts->policy_label = strdup(label);
    facts->position = run;
    facts->swept = values;
    if (facts->policy_label != NULL)
        return facts;
    run_facts_free(facts);
    (void)error_run(error, "out of memory for a run's label");
    return NULL;
}

struct swept_keys *plan_swept(const struct sweep *sweep, struct error *error)
{
    struct swept_keys *swept = swept_keys_create();
    bool good = swept != NULL;
    for (size_t k = 0; good && k < sweep->keys->count; k++) {
        const struct sweep_key *key = &sweep->keys->keys[k];
        good = swept_keys_add(swept, key->name, key->number, key->length);
    }
    if (good)
        return swept;
    swept_keys_free(swept);
    (void)error_run(error, "out of memory for the sweep");
    return NULL;
}

bool plan_is_ours(const struct sweep *sweep, const struct plan_cell *cells, uint64_t shard,
                  uint64_t shards, size_t run)
{
    const size_t combination = run / sweep->seeds, seed = run % sweep->seeds;
    const size_t unit = sweep->precision.given ? combination : cells[combination].before + seed;
    return seed < cells[combination].seeds && unit % shards == shard - 1;
}

struct row {
    char hash[TEXT_HASH + 1];
    size_t run;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a;
    const struct row *right = b;
    int order = strcmp(left->hash, right->hash);
    return order != 0 ? order : (left->run > right->run) - (left->run < right->run);
}

static bool rows_check(const struct sweep *sweep, struct row *rows, size_t count,
                       struct error *error)
{
    qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t i = 1; i < count; i++)
        if (strcmp(rows[i - 1].hash, rows[i].hash) == 0)
            return error_input(error,
                               "%s: the matrix gives one configuration twice: \"%s\" and \"%s\"; "
                               "take one out",
                               sweep->base_path, sweep->runs[rows[i - 1].run].label,
                               sweep->runs[rows[i].run].label);
    return true;
}

/* A text of the identity, behind its length: no two lists of texts are written alike. */
static void identity_add(FILE *identity, const char *text)
{
    (void)fprintf(identity, "%zu:%s\n", text == NULL ? 0 : strlen(text), text == NULL ? "" : text);
}

/* All that decides the tables but the runs' own configurations. */
static void identity_begin(const struct sweep *sweep, FILE *identity)
{
    for (size_t k = 0; k < sweep->keys->count; k++)
        identity_add(identity, sweep->keys->keys[k].name);
    identity_add(identity, version_number());
    identity_add(identity, version_sources());
    identity_add(identity, sweep->precision.metric);
    (void)fprintf(identity, "%zu %" PRIu64 " %a %" PRIu64 "\n", sweep->run_count,
                  (uint64_t)sweep->seeds, sweep->precision.half_width,
                  (uint64_t)sweep->precision.first_seeds);
    for (size_t seed = 0; seed < sweep->seeds && seed < sweep->run_count; seed++)
        (void)fprintf(identity, "%" PRIu64 "\n", sweep->runs[seed].seed);
}

/* One combination, by its first run. What the run is displayed as belongs to the sweep's identity:
 * merged shards are labelled alike. */
static bool combination_add(const struct sweep *sweep, size_t run, struct row *row,
                            struct plan_cell *cell, struct modules *modules, FILE *identity,
                            struct error *error)
{
    struct plan plan;
    const char *values[SWEEP_KEYS_LIMIT];
    if (!plan_load(sweep, run, &plan, error))
        return false;
    memcpy(row->hash, plan.experiment->hash, sizeof row->hash);
    row->run = run;
    identity_add(identity, row->hash);
    identity_add(identity, sweep->runs[run].label);
    identity_add(identity, sweep->runs[run].setting_name);
    column_copy_text(cell->policy, sizeof cell->policy, plan.policy->name);
    column_copy_text(cell->setting_label, sizeof cell->setting_label,
                     plan.experiment->setting_label);
    memcpy(cell->policy_sha256, plan.experiment->policy_sha256, sizeof cell->policy_sha256);
    run_recorded(plan.experiment, plan.bounds, cell->recorded);
    cell->seeds = experiment_is_random(plan.experiment) ? sweep->seeds : 1;
    cell->before = run == 0 ? 0 : cell[-1].before + cell[-1].seeds;
    identity_add(identity, cell->recorded);
    modules_label(sweep, plan.experiment, plan.policy, plan.values, cell->policy_label);
    identity_add(identity, cell->policy_label);
    identity_add(identity, plan.experiment->setting_label);
    sweep_keys_values(sweep->keys, run / sweep->seeds, values);
    for (size_t k = 0; k < sweep->keys->count; k++)
        identity_add(identity, values[k]);
    const bool good =
        modules_note(modules, plan.experiment, plan.policy, plan.values, cell->policy_label, error);
    plan_clear(&plan);
    return good;
}

void plan_missing(const struct sweep *sweep, const struct plan_cell *cells, size_t run,
                  const char *status, const char *message, struct missing_run *row)
{
    const struct plan_cell *cell = &cells[run / sweep->seeds];
    memset(row, 0, sizeof *row);
    row->position = run;
    row->seed = sweep->runs[run].seed;
    column_copy_text(row->setting, sizeof row->setting, sweep->runs[run].setting_name);
    column_copy_text(row->setting_label, sizeof row->setting_label, cell->setting_label);
    column_copy_text(row->policy, sizeof row->policy, cell->policy);
    column_copy_text(row->policy_label, sizeof row->policy_label, cell->policy_label);
    column_copy_text(row->label, sizeof row->label, sweep->runs[run].label);
    column_copy_text(row->status, sizeof row->status, status);
    column_copy_text(row->message, sizeof row->message, message != NULL ? message : "");
}

bool plans_check(const struct sweep *sweep, struct plan_cell *cells, char identity_hash[65],
                 struct error *error)
{
    const size_t combinations = sweep->run_count / sweep->seeds;
    char *text = NULL;
    size_t size = 0;
    struct row *rows = calloc(combinations + 1, sizeof *rows);
    FILE *identity = open_memstream(&text, &size);
    struct modules *modules = modules_create(sweep, error);
    bool good = modules != NULL && rows != NULL && identity != NULL;
    if (modules != NULL && !good)
        (void)error_run(error, "out of memory for the sweep");
    if (good)
        identity_begin(sweep, identity);
    for (size_t c = 0; good && c < combinations; c++)
        good =
            combination_add(sweep, c * sweep->seeds, &rows[c], &cells[c], modules, identity, error);
    good = good && modules_check_labels(modules, error) &&
           rows_check(sweep, rows, combinations, error);
    if (identity != NULL && fclose(identity) != 0 && good)
        good = error_run(error, "out of memory for the sweep");
    if (good)
        hash_bytes(text, size, identity_hash);
    modules_free(modules);
    free(text);
    free(rows);
    return good;
}
