#include "sim/cli/run_once.h"

#include <stdlib.h>

#include "sched/registry.h"

const struct policy *runner_policy(const struct experiment *experiment, double **values,
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
    *values = calloc(policy->parameter_count + 1, sizeof **values);
    if (*values == NULL) {
        error_run(error, "out of memory for the parameters of policy %s", policy->name);
        return NULL;
    }
    if (!policy_configure(policy, experiment->policy_settings, experiment->policy_setting_count,
                          experiment->path, *values, error)) {
        free(*values);
        *values = NULL;
        return NULL;
    }
    return policy;
}
