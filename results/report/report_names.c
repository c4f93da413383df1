/* Names of contenders and scenarios, as users and reference files write them. */
#include <stdio.h>
#include <string.h>

#include "results/report/report.h"
#include "results/store/run_label.h"
#include "workloads/load/inputs.h"

static bool same_pairs(const char *one, const char *other)
{
    return run_label_within(one, other, "") && run_label_within(other, one, "");
}

/* The parameters that follow the policy in a name. */
static const char *parameters_of(const char *name)
{
    const size_t length = strcspn(name, " ");
    return name + length + strspn(name + length, " ");
}

bool report_is_policy(const char *policy, const char *name)
{
    const size_t length = strcspn(name, " ");
    return strlen(policy) == length && strncmp(policy, name, length) == 0;
}

bool report_is_contender(const struct report_contender *contender, const char *name)
{
    return report_is_policy(contender->policy, name) &&
           same_pairs(parameters_of(name), contender->variant);
}

bool report_has_name(const struct report_contender *contender, const char *name)
{
    return report_is_policy(contender->policy, name) &&
           run_label_within(parameters_of(name), contender->variant, "");
}

/* Whether the run's policy is the module that `path` names: as the sweep wrote it, or the same
 * file. */
static bool is_module(const struct summary_row *run, const char *path)
{
    const size_t length = strlen(path);
    struct stat identity;
    char pair[TEXT_LABEL + 16], digest[65];
    if (run->policy_sha256[0] == '\0' || length < 3 || strcmp(path + length - 3, ".so") != 0)
        return false;
    (void)snprintf(pair, sizeof pair, "policy.name=%s", path);
    return run_label_within(pair, run->label, "") ||
           (inputs_hash(NULL, path, &identity, digest, NULL) &&
            strcmp(digest, run->policy_sha256) == 0);
}

bool report_is_called(const struct report *report, const struct report_contender *contender,
                      const char *name)
{
    return strcmp(contender->label, name) == 0 || strcmp(contender->title, name) == 0 ||
           report_is_contender(contender, name) ||
           (contender->run_count > 0 &&
            is_module(&report->results->runs[contender->runs[0]], name));
}

bool report_same_beyond(const struct report *report, const struct report_contender *one,
                        const char *one_name, const struct report_contender *other,
                        const char *other_name)
{
    return same_pairs(run_label_without(report->arena, one->variant, one_name),
                      run_label_without(report->arena, other->variant, other_name));
}

bool report_is_setting(const struct report *report, const struct report_scenario *scenario,
                       const char *name)
{
    return strcmp(scenario->setting, name) == 0 || strcmp(scenario->title, name) == 0 ||
           (run_label_within(name, scenario->conditions, "") &&
            run_label_within(scenario->conditions, name, report->constants));
}

bool report_name_add(const struct report *report, const char ***names, size_t *count,
                     const char *name)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*names)[i], name) == 0)
            return false;
    *ARENA_NEXT(report->arena, *names, *count) = name;
    return true;
}

bool report_set_reference(struct report *report, const char *name, struct error *error)
{
    bool found = false;
    for (size_t s = 0; s < report->scenario_count; s++) {
        struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++)
            if (report_is_called(report, &scenario->contenders[c], name)) {
                scenario->reference = c;
                found = true;
                break;
            }
    }
    return found || error_input(error,
                                "%s: no run of \"%s\"; name a policy as the column \"policy\" of "
                                "the report does, by its label, with all parameters that the "
                                "sweep sets for it, or by the path of its module",
                                report->results->path, name);
}
