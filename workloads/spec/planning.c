/* What policies plan with: the workload with other times and costs of its configurations. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/engine/random.h"
#include "traces/profile/profile.h"
#include "workloads/spec/spec_internal.h"

const char *const planning_per_names[] = {"cell", "function", NULL};
enum { PER_CELL, PER_FUNCTION };
static const struct key error_keys[] = {
    KEY_NUMBER("cv", planning, error_cv, 0, 100, 0, OPTIONAL),
    KEY_NUMBER("bias", planning, error_bias, -0.99, 100, 0, OPTIONAL),
    KEY_WORD("per", planning, error_per, planning_per_names, PER_CELL, OPTIONAL),
    KEY_WHOLE("seed", planning, error_seed, 0, INT64_C(1) << 53, -1, SPARSE),
    KEY_NOTES,
    KEY_END};
const struct key planning_keys[] = {KEY_OWN("profile"), KEY_OBJECT("error", error_keys, OPTIONAL),
                                    KEY_NUMBER("guard", planning, guard, 0, 100, 0, OPTIONAL),
                                    KEY_NOTES, KEY_END};

const struct workload *experiment_planned(const struct experiment *experiment)
{
    return experiment->planning.workload != NULL ? experiment->planning.workload
                                                 : &experiment->workload;
}

/* ---- Like grids ------------------------------------------------------------------------------ */

static const struct profile *planned_profile(const struct planning *planning,
                                             const struct gpu_kind *kind)
{
    const struct profile *found = profiles_find(&planning->profiles, kind->model);
    return found != NULL ? found : kind->profile;
}

/* `profiles`: the world's, and the one that policies plan with. */
static bool check_grid(const struct json_value *value, const struct profile *const profiles[2],
                       const char *name, struct error *error)
{
    static const char *const names[] = {"batch", "vcpu", "vgpu"};
    const struct profile_function *const world = profile_find(profiles[0], name);
    const struct profile_function *const planned = profile_find(profiles[1], name);
    if (world == NULL)
        return true;
    if (planned == NULL)
        return json_fault(value, error, "function \"%s\" of %s is not in %s; add it", name,
                          profiles[0]->path, profiles[1]->path);
    const struct profile_axis *const axes[][2] = {{&world->batch, &planned->batch},
                                                  {&world->vcpu, &planned->vcpu},
                                                  {&world->vgpu, &planned->vgpu}};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        const size_t count = axes[i][0]->count;
        if (count != axes[i][1]->count ||
            memcmp(axes[i][0]->values, axes[i][1]->values, count * sizeof(int)) != 0)
            return json_fault(value, error,
                              "function \"%s\" has other values of %s in %s than in %s; plan with "
                              "a profile of the same grid",
                              name, names[i], profiles[1]->path, profiles[0]->path);
    }
    return true;
}

/* A planning profile has the unit and grids of the world's, for each function that takes its time
 * from a profile. */
static bool check_profiles(const struct json_value *value, const struct workload *workload,
                           const struct planning *planning, struct error *error)
{
    for (size_t k = 0; k < workload->kind_count; k++) {
        const struct gpu_kind *kind = &workload->kinds[k];
        const struct profile *const both[2] = {kind->profile, planned_profile(planning, kind)};
        if (both[0] == NULL)
            return json_fault(value, error,
                              "needs a \"profile\" of the experiment that it differs from; add "
                              "one, or remove this one");
        if (both[0]->unit != both[1]->unit)
            return json_fault(value, error,
                              "%s slices a GPU in %d units and %s in %d; plan with a profile of "
                              "the same unit",
                              both[0]->path, both[0]->unit, both[1]->path, both[1]->unit);
        for (size_t f = 0; f < workload->function_count; f++)
            if (workload->functions[f].service == SERVICE_PROFILE &&
                !check_grid(value, both, workload->functions[f].name, error))
                return false;
    }
    return true;
}

/* ---- Times ----------------------------------------------------------------------------------- */

/* Time at speed 1 in the planning profile, and the error that it expects; NAN: not known. What
 * needs no GPU comes from the first profile that has it, as the world's time does. */
static double profile_ms(const struct planning *planning, const struct workload *workload,
                         const char *name, const struct configuration *c, double *expected_error)
{
    double ms = NAN;
    for (size_t k = c->kind; isnan(ms) && k < workload->kind_count; k++) {
        const struct gpu_kind *kind = &workload->kinds[k];
        const struct profile_function *planned =
            profile_find(planned_profile(planning, kind), name);
        if (planned == NULL)
            continue;
        ms = profile_latency_ms(planned, c->batch, c->vcpu, c->vgpu);
        *expected_error = profile_origin_at(planned, c->batch, c->vcpu, c->vgpu).expected_error_50;
        if (c->vgpu > 0)
            break;
    }
    return ms;
}

/* The factor of synthetic errors. It depends on nothing but the seed and the names and values of
 * what it is for, so that every policy meets the same errors. */
static double draw_factor(const struct experiment *experiment, const struct function *function,
                          const struct configuration *c)
{
    const struct planning *planning = &experiment->planning;
    const struct gpu_kind *kind = &experiment->workload.kinds[c->kind];
    const uint64_t seed =
        planning->error_seed < 0 ? experiment->seed : (uint64_t)planning->error_seed;
    char gpu[64] = "";
    char cell[32] = "";
    char sha256[65];
    struct random_stream stream;
    if (c->vgpu > 0)
        (void)snprintf(gpu, sizeof gpu, "%s\n%u", kind->model, kind->units);
    if (planning->error_per == PER_CELL)
        (void)snprintf(cell, sizeof cell, "\n%u %u %u", c->batch, c->vcpu, c->vgpu);
    char *name = arena_text(experiment->arena, "%s\n%s%s", function->name, gpu, cell);
    hash_bytes(name, strlen(name), sha256);
    arena_release(experiment->arena, name);
    sha256[16] = '\0';
    random_stream_open(&stream, seed, RANDOM_PLANNING, strtoull(sha256, NULL, 16), 0);
    return random_noise(&stream, planning->error_cv) * (1 + planning->error_bias);
}

static bool plan_function(const struct json_value *value, struct experiment *experiment,
                          struct function *function, struct error *error)
{
    struct planning *planning = &experiment->planning;
    const struct workload *world = &experiment->workload;
    for (size_t i = 0; i < function->configuration_count; i++) {
        struct configuration *c = &function->configurations[i];
        const bool profiled = function->service == SERVICE_PROFILE &&
                              (!function->fused || planning->profiles.count > 0);
        double expected = NAN;
        double ms = profiled ? profile_ms(planning, world, function->name, c, &expected) /
                                   (c->vgpu > 0 ? world->kinds[c->kind].speed : 1)
                             : sim_to_ms(c->time);
        if (isnan(ms))
            return json_fault(value, error,
                              "function \"%s\" has no latency at batch %u, vcpu %u, vgpu %u in %s, "
                              "where it runs; add it",
                              function->name, c->batch, c->vcpu, c->vgpu,
                              planned_profile(planning, &world->kinds[c->kind])->path);
        planning->configurations++;
        planning->unguarded += isnan(expected) ? 1 : 0;
        ms *= draw_factor(experiment, function, c);
        c->time = configuration_time(isnan(expected) ? ms : ms * (1 + planning->guard * expected));
    }
    workload_derive_function(function, world);
    return true;
}

/* Copies what differs, which are the functions' configurations; the rest is the experiment's. */
static void copy_functions(struct experiment *experiment)
{
    const struct workload *world = &experiment->workload;
    struct arena *arena = experiment->arena;
    struct workload *planned = arena_copy(arena, world, 1, sizeof *world);
    planned->functions =
        arena_copy(arena, world->functions, world->function_count, sizeof *world->functions);
    for (size_t f = 0; f < world->function_count; f++) {
        struct function *copy = &planned->functions[f];
        copy->configurations = arena_copy(arena, copy->configurations, copy->configuration_count,
                                          sizeof *copy->configurations);
    }
    experiment->planning.workload = planned;
}

/* ---- Whole ---------------------------------------------------------------------------------- */

bool planning_load(const struct json_value *value, struct experiment *experiment,
                   struct error *error)
{
    struct planning *planning = &experiment->planning;
    struct json_value profile;
    keys_default(planning_keys, planning);
    if (value->node == NULL)
        return true;
    if (!keys_load(planning_keys, value, planning, error) ||
        (json_child(value, "profile", &profile) &&
         !check_profiles(&profile, &experiment->workload, planning, error)))
        return false;
    if (planning->profiles.count == 0 && planning->error_cv == 0 && planning->error_bias == 0 &&
        planning->error_per == PER_CELL && planning->error_seed < 0 && planning->guard == 0)
        return true;
    bool good = true;
    copy_functions(experiment);
    for (size_t f = 0; good && f < experiment->workload.function_count; f++)
        good = plan_function(value, experiment, &planning->workload->functions[f], error);
    return good;
}
