#include "sched/registry.h"

#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sched/module.h"
#include "sim/base/arena.h"
#include "sim/base/utf8.h"
#include "workloads/load/policy_module.h"

/* One line per policy; its structure is policy_NAME. Figures give colours in this order, so the
 * policies that are compared most are first. */
/* clang-format off */
#define POLICIES(ROW) \
    ROW(esg) \
    ROW(infless) \
    ROW(fast_gshare) \
    ROW(orion) \
    ROW(aquatope) \
    ROW(fifo) \
    ROW(headway) \
    ROW(least_loaded) \
    ROW(clockwork) \
    ROW(dilu) \
    ROW(edf) \
    ROW(sjf) \
    ROW(llf) \
    ROW(min_config) \
    ROW(max_config) \
    ROW(power_of_two) \
    ROW(openwhisk) \
    ROW(grandslam) \
    ROW(nexus) \
    ROW(gpulet) \
    ROW(clipper) \
    ROW(alpaserve) \
    ROW(sgprs) \
    ROW(synergy) \
    ROW(sjf_bsbf) \
    ROW(sjf_ffs) \
    ROW(tiresias) \
    ROW(srtf) \
    ROW(srsf) \
    ROW(fgd) \
    ROW(gavel) \
    ROW(tree)
/* clang-format on */

#define DECLARE(name) extern const struct policy policy_##name;
#define ADDRESS(name) &policy_##name,
POLICIES(DECLARE)
static const struct policy *const policies[] = {POLICIES(ADDRESS)};

/* The forms for trainings of policies of that name that serve requests. */
extern const struct policy policy_gang_fifo, policy_gang_sjf;
static const struct policy *const training_forms[] = {&policy_gang_fifo, &policy_gang_sjf};

enum {
    POLICY_COUNT = sizeof policies / sizeof *policies,
    LIST_LENGTH = 512,
    WHERE_LENGTH = 4096 + 64
};

const struct policy *policy_at(size_t index)
{
    return index < POLICY_COUNT ? policies[index] : NULL;
}

const struct policy *policy_training_form(const char *name)
{
    for (size_t i = 0; i < sizeof training_forms / sizeof *training_forms; i++)
        if (strcmp(training_forms[i]->name, name) == 0)
            return training_forms[i];
    return NULL;
}

/* Checks a policy from a module like input, because it was compiled with an unknown header. */
static bool plugin_check(const struct policy *policy, const char *path, struct error *error)
{
    if (policy->abi != POLICY_ABI)
        return error_input(error,
                           "%s: policy built for version %u of sched/policy.h, this program has "
                           "version %d; build it again with this version's header",
                           path, policy->abi, POLICY_ABI);
    if (policy->name == NULL || policy->name[0] == '\0')
        return error_input(error, "%s: esgsim_policy has no name; set .name", path);
    if (!utf8_is_name(policy->name))
        return error_input(error,
                           "%s: the policy's name \"%s\" holds control characters or is not "
                           "UTF-8; mend .name",
                           path, policy->name);
    if (policy->decide == NULL)
        return error_input(error, "%s: policy \"%s\" has no decide function; set .decide", path,
                           policy->name);
    if (policy->admission != NULL &&
        !admission_named(policy->admission, &(struct admission_spec){0}))
        return error_input(error,
                           "%s: policy \"%s\": .admission is \"%.64s\", must be \"lost\" or a "
                           "rate: \"efficient\", \"proportional\" or \"max-min\"",
                           path, policy->name, policy->admission);
    char owner[256];
    (void)snprintf(owner, sizeof owner, "%.120s: policy \"%.64s\"", path, policy->name);
    return parameters_check(policy->parameters, policy->parameters_bytes, owner, error);
}

const struct policy *(*policy_load_python)(const char *path, struct error *error);

const struct policy *(*policy_probe)(const char *path, struct error *error);

static const struct policy *plugin_load(const char *path, struct error *error)
{
    const bool python = strcmp(path + strlen(path) - strlen(".py"), ".py") == 0;
    if (python ? policy_load_python == NULL : access(path, R_OK) != 0) {
        error_input(error,
                    python ? "%s: a policy in Python; run results/python/esgsim_policy.py"
                           : "%s: cannot read it; a relative path counts from the working folder",
                    path);
        return NULL;
    }
    if (policy_probe != NULL || python)
        return policy_probe != NULL ? policy_probe(path, error) : policy_load_python(path, error);
    /* Without a slash dlopen would search the system's library folders. */
    char location[2 + POLICY_MODULE_PATH] = "./";
    char *file = location + strlen(location);
    if (!policy_module_file(path, file, error))
        return NULL;
    /* A module compiled with -ffast-math changes how the process rounds when it is loaded. */
    fenv_t rounding;
    (void)fegetenv(&rounding);
    void *library = dlopen(strchr(file, '/') == NULL ? location : file, RTLD_NOW | RTLD_LOCAL);
    (void)fesetenv(&rounding);
    if (library == NULL) {
        const char *why = dlerror();
        error_input(error, "%s: cannot be loaded as a policy: %s", path,
                    why != NULL ? why : "unknown fault");
        return NULL;
    }
    const struct policy *policy = dlsym(library, "esgsim_policy");
    const bool good =
        policy != NULL
            ? plugin_check(policy, path, error) && module_adopt(library, policy, path, error)
            : error_input(error,
                          "%s: no symbol esgsim_policy; define `const struct policy esgsim_policy`",
                          path);
    if (!good)
        (void)dlclose(library);
    return good ? policy : NULL;
}

const struct policy *policy_find(const char *name, struct error *error)
{
    if (policy_module_named(name))
        return plugin_load(name, error);
    const char *names[POLICY_COUNT];
    char list[LIST_LENGTH];
    for (size_t i = 0; i < POLICY_COUNT; i++) {
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
        names[i] = policies[i]->name;
    }
    error_list_names(names, POLICY_COUNT, list, sizeof list);
    const char *nearest = error_nearest_name(name, names, POLICY_COUNT);
    error_input(error, "unknown policy \"%.64s\"; %s%s%s are: %s; or a path that ends in .c or .so",
                name, nearest != NULL ? "did you mean \"" : "", nearest != NULL ? nearest : "",
                nearest != NULL ? "\"? There" : "there", list);
    return NULL;
}

static bool serves(const struct policy *policy, const struct experiment *experiment)
{
    return (experiment->training == NULL || policy->serves != SERVES_REQUESTS) &&
           (experiment->workload.application_count == 0 || policy->serves != SERVES_TRAININGS);
}

const struct policy *policy_find_for(const struct experiment *experiment, struct error *error)
{
    const struct policy *form = policy_training_form(experiment->policy_name);
    return form != NULL && experiment->training != NULL && serves(form, experiment)
               ? form
               : policy_find(experiment->policy_name, error);
}

/* The registered policies that serve trainings, or requests. */
static void list_serving(char list[LIST_LENGTH], bool trainings)
{
    const char *names[POLICY_COUNT + sizeof training_forms / sizeof *training_forms];
    int count = 0;
    for (size_t i = 0; i < POLICY_COUNT; i++)
        if (policies[i]->serves != (trainings ? SERVES_REQUESTS : SERVES_TRAININGS))
            names[count++] = policies[i]->name;
    for (size_t i = 0; trainings && i < sizeof training_forms / sizeof *training_forms; i++)
        names[count++] = training_forms[i]->name;
    error_list_names(names, count, list, LIST_LENGTH);
}

/* Whether the policy that is asked and not obeyed can be. */
static bool shadow_check(const struct experiment *experiment, struct error *error)
{
    struct error fault = {0};
    const struct policy *shadow = policy_find(experiment->policy_shadow, &fault);
    if (shadow == NULL)
        return error_input(error, "%s: policy.shadow: %s", experiment->path, fault.message);
    if (!shadow->advises)
        return error_input(error,
                           "%s: policy.shadow: policy \"%.64s\" keeps accounts of its batches; "
                           "\"esg\" can be asked where another policy decides",
                           experiment->path, shadow->name);
    return experiment->record == RECORD_CHOICES ||
           error_input(error,
                       "%s: policy.shadow: it is only asked for its choices; set \"record\" to "
                       "\"choices\"",
                       experiment->path);
}

/* ERROR_INPUT if the policy does not serve the experiment's work: requests, trainings or both. */
static bool policy_serves(const struct policy *policy, const struct experiment *experiment,
                          struct error *error)
{
    char list[LIST_LENGTH] = "";
    if (policy->reads_file != (experiment->policy_file != NULL))
        return error_input(
            error, "%s: policy.file: policy \"%.64s\" reads %s", experiment->path, policy->name,
            policy->reads_file ? "a file: name one that `esgsim distill` has written" : "no file");
    const bool trainings = experiment->training != NULL && policy->serves == SERVES_REQUESTS;
    if (serves(policy, experiment))
        return experiment->policy_shadow == NULL || shadow_check(experiment, error);
    list_serving(list, trainings);
    return error_input(error,
                       "%s: policy.name: policy \"%.64s\" serves %s only, and the experiment has "
                       "\"%s\"; there are: %s",
                       experiment->path, policy->name, trainings ? "requests" : "trainings",
                       trainings ? "training" : "applications", list);
}

bool policy_configure(const struct policy *policy, const struct setting *settings,
                      size_t setting_count, const char *where, double *values, struct error *error)
{
    char place[WHERE_LENGTH];
    char owner[96];
    (void)snprintf(place, sizeof place, "%s: policy.params", where);
    (void)snprintf(owner, sizeof owner, "policy \"%.64s\"", policy->name);
    return parameters_configure(policy->parameters, settings, setting_count, place, owner, values,
                                error);
}

const struct policy *policy_resolve(const struct experiment *experiment, double **values,
                                    struct error *error)
{
    struct error fault = {0};
    const struct policy *policy = policy_find_for(experiment, &fault);
    if (policy == NULL) {
        error_input(error, "%s: policy.name: %s", experiment->path, fault.message);
        return NULL;
    }
    if (!policy_serves(policy, experiment, error))
        return NULL;
    *values = arena_allocate(experiment->arena, keys_count(policy->parameters), sizeof **values);
    const bool good =
        policy_configure(policy, experiment->policy_settings, experiment->policy_setting_count,
                         experiment->path, *values, error);
    return good ? policy : NULL;
}
