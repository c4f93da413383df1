/* Names of contenders and scenarios, as users and reference files write them. */
#include <stdlib.h>
#include <string.h>

#include "results/report/report.h"
#include "results/store/run_label.h"

static bool same_pairs(const char *one, const char *other)
{
    char *rest[] = {run_label_without(one, other), run_label_without(other, one)};
    const bool same =
        rest[0] != NULL && rest[1] != NULL && rest[0][0] == '\0' && rest[1][0] == '\0';
    free(rest[0]);
    free(rest[1]);
    return same;
}

bool report_is_contender(const struct report_contender *contender, const char *name)
{
    const size_t length = strcspn(name, " ");
    return strlen(contender->policy) == length && strncmp(contender->policy, name, length) == 0 &&
           same_pairs(name + length + strspn(name + length, " "), contender->variant);
}

bool report_has_name(const struct report_contender *contender, const char *name)
{
    const size_t length = strcspn(name, " ");
    if (strlen(contender->policy) != length || strncmp(contender->policy, name, length) != 0)
        return false;
    char *more = run_label_without(name + length + strspn(name + length, " "), contender->variant);
    const bool has = more != NULL && more[0] == '\0';
    free(more);
    return has;
}

bool report_same_beyond(const struct report_contender *one, const char *one_name,
                        const struct report_contender *other, const char *other_name)
{
    char *rest[] = {run_label_without(one->variant, one_name),
                    run_label_without(other->variant, other_name)};
    const bool same = rest[0] != NULL && rest[1] != NULL && same_pairs(rest[0], rest[1]);
    free(rest[0]);
    free(rest[1]);
    return same;
}

bool report_is_setting(const struct report *report, const struct report_scenario *scenario,
                       const char *name)
{
    if (strcmp(scenario->setting, name) == 0 || strcmp(scenario->title, name) == 0)
        return true;
    char *more = run_label_without(name, scenario->conditions);
    char *without = run_label_without(scenario->conditions, name);
    char *rest = without == NULL ? NULL : run_label_without(without, report->constants);
    const bool is = more != NULL && rest != NULL && more[0] == '\0' && rest[0] == '\0';
    free(more);
    free(without);
    free(rest);
    return is;
}

bool report_set_reference(struct report *report, const char *name, struct error *error)
{
    bool found = false;
    for (size_t s = 0; s < report->scenario_count; s++) {
        struct report_scenario *scenario = &report->scenarios[s];
        for (size_t c = 0; c < scenario->contender_count; c++)
            if (report_is_contender(&scenario->contenders[c], name)) {
                scenario->reference = c;
                found = true;
                break;
            }
    }
    return found || error_input(error,
                                "%s: no run of \"%s\"; name a policy with all parameters that the "
                                "sweep sets for it, as the column \"policy\" of the report does",
                                report->results->path, name);
}
