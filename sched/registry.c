#include "sched/registry.h"

#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sched/module.h"
#include "sim/base/utf8.h"

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

/* Appends ", name", truncated to the list's length. */
static void list_append(char list[LIST_LENGTH], const char *name)
{
    const size_t used = strlen(list);
    (void)snprintf(list + used, LIST_LENGTH - used, "%s%s", used > 0 ? ", " : "", name);
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
    char owner[256];
    (void)snprintf(owner, sizeof owner, "%.120s: policy \"%.64s\"", path, policy->name);
    return parameters_check(policy->parameters, policy->parameters_bytes, owner, error);
}

static const struct policy *plugin_load(const char *path, struct error *error)
{
    if (access(path, R_OK) != 0) {
        error_input(
            error,
            "%s: cannot read this policy file; a relative path counts from the working folder",
            path);
        return NULL;
    }
    /* Without a slash dlopen would search the system's library folders. */
    char location[4096];
    const char *prefix = strchr(path, '/') == NULL ? "./" : "";
    if ((size_t)snprintf(location, sizeof location, "%s%s", prefix, path) >= sizeof location) {
        error_input(error, "policy file: path longer than %zu bytes", sizeof location - 1);
        return NULL;
    }
    /* A module that was compiled with -ffast-math changes how the process rounds when it is loaded.
     */
    fenv_t rounding;
    (void)fegetenv(&rounding);
    void *library = dlopen(location, RTLD_NOW | RTLD_LOCAL);
    (void)fesetenv(&rounding);
    if (library == NULL) {
        const char *why = dlerror();
        error_input(error, "%s: cannot be loaded as a policy: %s", path,
                    why != NULL ? why : "unknown fault");
        return NULL;
    }
    const struct policy *policy = dlsym(library, "esgsim_policy");
    if (policy == NULL) {
        error_input(
            error, "%s: no symbol esgsim_policy; define `const struct policy esgsim_policy`", path);
        (void)dlclose(library);
        return NULL;
    }
    if (!plugin_check(policy, path, error) || !module_adopt(library, policy, path, error)) {
        (void)dlclose(library);
        return NULL;
    }
    return policy;
}

const struct policy *policy_find(const char *name, struct error *error)
{
    const size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".so") == 0)
        return plugin_load(name, error);
    const char *names[POLICY_COUNT];
    char list[LIST_LENGTH] = "";
    for (size_t i = 0; i < POLICY_COUNT; i++) {
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
        names[i] = policies[i]->name;
        list_append(list, policies[i]->name);
    }
    const char *nearest = error_nearest_name(name, names, POLICY_COUNT);
    if (nearest != NULL)
        error_input(error,
                    "unknown policy \"%.64s\"; did you mean \"%s\"? There are: %s; or a path "
                    "that ends in .so",
                    name, nearest, list);
    else
        error_input(error, "unknown policy \"%.64s\"; there are: %s; or a path that ends in .so",
                    name, list);
    return NULL;
}

static bool serves(const struct policy *policy, const struct experiment *experiment)
{
    return (experiment->training == NULL || policy->serves != SERVES_REQUESTS) &&
           (experiment->workload.application_count == 0 || policy->serves != SERVES_TRAININGS);
}

const struct policy *policy_find_for(const struct experiment *experiment, struct error *error)
{
    for (size_t i = 0; i < sizeof training_forms / sizeof *training_forms; i++)
        if (strcmp(training_forms[i]->name, experiment->policy_name) == 0 &&
            experiment->training != NULL && serves(training_forms[i], experiment))
            return training_forms[i];
    return policy_find(experiment->policy_name, error);
}

/* The registered policies that serve trainings, or requests. */
static void list_serving(char list[LIST_LENGTH], bool trainings)
{
    for (size_t i = 0; i < POLICY_COUNT; i++)
        if (policies[i]->serves != (trainings ? SERVES_REQUESTS : SERVES_TRAININGS))
            list_append(list, policies[i]->name);
    for (size_t i = 0; trainings && i < sizeof training_forms / sizeof *training_forms; i++)
        list_append(list, training_forms[i]->name);
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

bool policy_serves(const struct policy *policy, const struct experiment *experiment,
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

/* Parameters that the platform's keys have replaced, for every policy without an own one. */
static const struct {
    const char *parameter, *key;
} replaced[] = {{"containers", "platform.cold_dispatch"},
                {"pool", "platform.pool"},
                {"pool_ms", "platform.pool"},
                {"drop", "platform.admission"},
                {"lost", "platform.admission"},
                {"shedding", "platform.admission"}};

static bool refuse_replaced(const struct policy *policy, const char *name, const char *where,
                            struct error *error)
{
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        if (strcmp(replaced[i].parameter, name) == 0 &&
            parameter_index(policy->parameters, name) == keys_count(policy->parameters))
            return error_input(error,
                               "%s: policy.params.%s: policy \"%.64s\" has no such parameter; set "
                               "\"%s\" of the experiment, which holds for every policy",
                               where, name, policy->name, replaced[i].key);
    return true;
}

bool policy_configure(const struct policy *policy, const struct setting *settings,
                      size_t setting_count, const char *where, double *values, struct error *error)
{
    char place[WHERE_LENGTH];
    char owner[96];
    (void)snprintf(place, sizeof place, "%s: policy.params", where);
    (void)snprintf(owner, sizeof owner, "policy \"%.64s\"", policy->name);
    for (size_t s = 0; s < setting_count; s++)
        if (!refuse_replaced(policy, settings[s].key, where, error))
            return false;
    return parameters_configure(policy->parameters, settings, setting_count, place, owner, values,
                                error);
}
