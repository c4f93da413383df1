/* Who refuses requests, and how. */
#include "sched/registry.h"
#include "sim/base/arena.h"

/* Whether the policy refuses requests by a rule of its own. */
static bool refuses_itself(const struct policy *policy, const double *values)
{
    const size_t own = parameter_index(policy->parameters, "own_admission");
    const bool known = own < keys_count(policy->parameters);
    return policy->refuses != NULL &&
           (!known || (values != NULL ? values[own] : policy->parameters[own].fallback) != 0);
}

struct admission_spec policy_admission(const struct policy *policy, const double *values,
                                       const struct experiment *experiment)
{
    struct admission_spec admission = {.rule = ADMISSION_NONE};
    if (policy->admits_requests && refuses_itself(policy, values))
        return admission;
    if (experiment != NULL && experiment->platform.admission.rule != ADMISSION_DEFAULT)
        return experiment->platform.admission;
    if (policy->admission != NULL)
        (void)admission_named(policy->admission, &admission);
    return admission;
}

const char *policy_refusal(struct arena *arena, const struct policy *policy, const double *values,
                           const struct experiment *experiment)
{
    const struct admission_spec admission = policy_admission(policy, values, experiment);
    const bool given =
        experiment != NULL && experiment->platform.admission.rule != ADMISSION_DEFAULT;
    char *how = NULL;
    if (policy->serves != SERVES_TRAININGS && refuses_itself(policy, values))
        arena_append(arena, &how, "by a rule of its own (%s)", policy->refuses);
    if (policy->serves != SERVES_TRAININGS && admission.rule != ADMISSION_NONE)
        arena_append(arena, &how, "%sby %s (%s%s)", how != NULL ? " and " : "",
                     given ? "platform.admission" : "its default admission",
                     admission.rule == ADMISSION_RATE ? "rate " : "", admission_name(&admission));
    return how;
}
