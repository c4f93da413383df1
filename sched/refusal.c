/* Who refuses requests, and how. */
#include "sched/registry.h"

/* Whether the policy refuses requests by a rule of its own. */
static bool refuses_itself(const struct policy *policy, const double *values)
{
    const size_t own = parameter_index(policy->parameters, "own_admission");
    if (policy->refuses == NULL || own == keys_count(policy->parameters))
        return policy->refuses != NULL;
    return (values != NULL ? values[own] : policy->parameters[own].fallback) != 0;
}

struct admission_spec policy_admission(const struct policy *policy, const double *values,
                                       const struct experiment *experiment)
{
    struct admission_spec admission = {.rule = ADMISSION_DEFAULT};
    if (experiment != NULL)
        admission = experiment->platform.admission; /* has the defaults of a rate's keys */
    if (policy->admits_requests && refuses_itself(policy, values))
        admission.rule = ADMISSION_NONE;
    if (admission.rule == ADMISSION_DEFAULT &&
        (policy->admission == NULL || !admission_named(policy->admission, &admission)))
        admission.rule = ADMISSION_NONE;
    return admission;
}

const char *policy_refusal(struct arena *arena, const struct policy *policy, const double *values,
                           const struct experiment *experiment)
{
    char *how = NULL;
    if (refuses_itself(policy, values))
        arena_append(arena, &how, "by a rule of its own (%s)", policy->refuses);
    if (policy_admission(policy, values, experiment).rule == ADMISSION_NONE)
        return how;
    arena_append(arena, &how, how != NULL ? " and " : "");
    if (experiment != NULL && experiment->platform.admission.rule != ADMISSION_DEFAULT)
        arena_append(arena, &how, "by platform.admission");
    else
        arena_append(arena, &how, "by its default admission (%s)", policy->admission);
    return how;
}
