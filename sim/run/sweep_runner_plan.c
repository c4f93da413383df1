#include "sim/run/sweep_runner_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/store/columns.h"
#include "sim/base/version.h"
#include "sim/run/modules.h"
#include "workloads/load/loader_internal.h"

void plan_clear(struct plan *plan)
{
    arena_home_free(plan->metadata);
    resolved_run_clear(&plan->run);
}

static void metadata_make(const struct sweep *sweep, size_t run, struct plan *plan)
{
    char label[POLICY_LABEL];
    plan->metadata = run_metadata_create(plan->run.experiment, plan->run.policy, plan->run.values,
                                         plan->bounds, sweep->runs[run].label);
    sweep_keys_values(sweep->keys, run / sweep->seeds, plan->swept);
    modules_label(sweep, &plan->run, label);
    plan->metadata->policy_label = arena_text(plan->metadata->arena, "%s", label);
    plan->metadata->position = run;
    plan->metadata->swept = plan->swept;
}

bool plan_load(const struct sweep *sweep, size_t run, struct plan *plan, struct error *error)
{
    struct experiment *experiment = sweep_experiment(sweep, run, error);
    *plan = (struct plan){.run.experiment = experiment};
    if (experiment == NULL)
        return false;
    plan->bounds = sweep->bounds && (sweep->runs[run].first_policy ||
                                     experiment->arrivals.process == ARRIVAL_CLOSED);
    struct error fault = {0};
    plan->run.policy = policy_resolve(experiment, &plan->run.values, &fault);
    if (plan->run.policy != NULL) {
        metadata_make(sweep, run, plan);
        return true;
    }
    (void)sweep_fault(sweep, run, &fault, error);
    plan_clear(plan);
    return false;
}

static bool swept_make(const struct sweep *sweep, struct swept_keys *swept, struct error *error)
{
    bool good = true;
    for (size_t k = 0; good && k < sweep->keys->count; k++) {
        const struct sweep_key *key = &sweep->keys->keys[k];
        good = swept_keys_add(swept, key->name, key->number, key->length);
    }
    return good || error_run(error, "%s: more than %d keys", sweep->path, SWEPT_MOST);
}

bool plans_have(const struct plans *plans, size_t run)
{
    const size_t seeds = plans->sweep->seeds;
    const struct plan_cell *cell = &plans->cells[run / seeds];
    const size_t unit = plans->sweep->precision.given ? run / seeds : cell->before + run % seeds;
    return run % seeds < cell->seeds && unit % plans->metadata.shards == plans->metadata.shard - 1;
}

bool plans_want(const struct plans *plans, size_t run)
{
    const size_t seeds = plans->sweep->seeds;
    return plans_have(plans, run) && run % seeds < plans->cells[run / seeds].wanted;
}

size_t plans_wanted(const struct plans *plans)
{
    size_t count = 0;
    for (size_t run = 0; run < plans->sweep->run_count; run++)
        count += plans_want(plans, run);
    return count;
}

int plan_hash_compare(const void *one, const void *other)
{
    return strcmp(((const struct plan_hash *)one)->hash, ((const struct plan_hash *)other)->hash);
}

static bool hashes_check(const struct sweep *sweep, struct plan_hash *hashes, size_t count,
                         struct error *error)
{
    qsort(hashes, count, sizeof *hashes, plan_hash_compare);
    for (size_t i = 1; i < count; i++)
        if (strcmp(hashes[i - 1].hash, hashes[i].hash) == 0) {
            const bool ordered = hashes[i - 1].run < hashes[i].run;
            return error_input(error,
                               "%s: the matrix gives one configuration twice: \"%s\" and \"%s\"; "
                               "take one out",
                               sweep->base_path, sweep->runs[hashes[i - ordered].run].label,
                               sweep->runs[hashes[i - !ordered].run].label);
        }
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
static void cell_fill(const struct sweep *sweep, const struct plan *plan, struct plan_cell *cell,
                      FILE *identity)
{
    const struct run_metadata *metadata = plan->metadata;
    const char *const texts[] = {metadata->hash,         metadata->label,
                                 metadata->setting,      metadata->recorded,
                                 metadata->policy_label, metadata->setting_label};
    struct missing_run *names = &cell->names;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        identity_add(identity, texts[i]);
    for (size_t k = 0; k < sweep->keys->count; k++)
        identity_add(identity, metadata->swept[k]);
    column_copy_text(names->setting, sizeof names->setting, metadata->setting);
    column_copy_text(names->setting_label, sizeof names->setting_label, metadata->setting_label);
    column_copy_text(names->policy, sizeof names->policy, metadata->policy);
    column_copy_text(names->policy_label, sizeof names->policy_label, metadata->policy_label);
    column_copy_text(names->label, sizeof names->label, metadata->label);
    column_copy_text(cell->policy_sha256, sizeof cell->policy_sha256, metadata->policy_sha256);
    column_copy_text(cell->recorded, sizeof cell->recorded, metadata->recorded);
    cell->seeds = experiment_is_random(plan->run.experiment) ? sweep->seeds : 1;
    cell->before = metadata->position == 0 ? 0 : cell[-1].before + cell[-1].seeds;
    cell->decided = !sweep->precision.given || cell->seeds == 1;
    cell->wanted = cell->decided ? cell->seeds : sweep->precision.first_seeds;
}

static bool combination_add(const struct sweep *sweep, size_t run, struct plan_hash *hash,
                            struct plan_cell *cell, struct modules *modules, FILE *identity,
                            struct error *error)
{
    struct plan plan;
    if (!plan_load(sweep, run, &plan, error))
        return false;
    column_copy_text(hash->hash, sizeof hash->hash, plan.metadata->hash);
    hash->run = run;
    cell_fill(sweep, &plan, cell, identity);
    const bool good = modules_note(modules, &plan.run, plan.metadata->policy_label, error);
    plan_clear(&plan);
    return good;
}

void plans_fill_missing(const struct plans *plans, size_t run, const char *status,
                        const char *message, struct missing_run *row)
{
    *row = plans->cells[run / plans->sweep->seeds].names;
    row->position = run;
    row->seed = plans->sweep->runs[run].seed;
    column_copy_text(row->status, sizeof row->status, status);
    column_copy_text(row->message, sizeof row->message, message != NULL ? message : "");
}

/* Fills the cells and the identity. */
static bool cells_fill(struct plans *plans, struct modules *modules, struct plan_hash *hashes,
                       FILE *identity, struct error *error)
{
    const struct sweep *sweep = plans->sweep;
    bool good = true;
    identity_begin(sweep, identity);
    for (size_t c = 0; good && c < plans->combinations; c++)
        good = combination_add(sweep, c * sweep->seeds, &hashes[c], &plans->cells[c], modules,
                               identity, error);
    return good && modules_check_labels(modules, error) &&
           hashes_check(sweep, hashes, plans->combinations, error);
}

bool plans_make(struct plans *plans, const struct sweep *sweep, uint64_t shard, uint64_t shards,
                struct error *error)
{
    const size_t combinations = sweep->run_count / sweep->seeds;
    char *text = NULL;
    size_t size = 0;
    struct arena *arena = arena_create();
    *plans =
        (struct plans){.sweep = sweep,
                       .combinations = combinations,
                       .arena = arena,
                       .cells = arena_allocate(arena, combinations, sizeof *plans->cells),
                       .swept = swept_keys_create(),
                       .metadata = {.shard = shard, .shards = shards, .runs = sweep->run_count}};
    struct plan_hash *hashes = arena_allocate(arena, combinations, sizeof *hashes);
    FILE *identity = open_memstream(&text, &size);
    if (identity == NULL)
        arena_exhaust(arena, 1, 1);
    struct modules *modules = modules_create(sweep);
    bool good = swept_make(sweep, plans->swept, error) &&
                cells_fill(plans, modules, hashes, identity, error);
    if (fclose(identity) != 0)
        arena_exhaust(arena, 1, size);
    if (good)
        hash_bytes(text, size, plans->metadata.identity);
    arena_home_free(modules);
    free(text);
    return good;
}

void plans_clear(struct plans *plans)
{
    arena_home_free(plans->swept);
    arena_destroy(plans->arena);
}
