/* esgsim list policies, keep-alives. */
#include <stdio.h>

#include "sched/registry.h"
#include "sim/base/json_write.h"
#include "sim/cli/listing.h"
#include "workloads/keep_alive.h"

/* "name = default [range or choices]". */
static void add_parameter(struct line *line, const struct key *parameter)
{
    char words[PARAMETER_WORDS];
    const char *word = parameter_word(parameter, parameter->fallback);
    line_add(line, "%s = ", parameter->name);
    if (word != NULL)
        line_add(line, "%s [%s]", word, parameter_words(parameter, words));
    else
        line_add(line, "%g [%g..%g]", parameter->fallback, parameter->low, parameter->high);
}

static void json_add_parameter(cJSON *list, const struct key *parameter)
{
    char words[PARAMETER_WORDS];
    const char *word = parameter_word(parameter, parameter->fallback);
    cJSON *object = json_append(list);
    if (word != NULL)
        json_put(object, "name %s default %s choices %s", parameter->name, word,
                 parameter_words(parameter, words));
    else
        json_put(object, "name %s default %g low %g high %g", parameter->name, parameter->fallback,
                 parameter->low, parameter->high);
    json_put(object, "help %s", parameter->help);
}

/* In text, each parameter has a line with its meaning, if the entry is printed in full. `serves`:
 * NULL for a keep-alive. */
static void list_configurable(struct listing *listing, const char *name, const char *summary,
                              const char *serves, const struct key *parameters)
{
    struct line text = {.used = 0};
    if (!listing_wants(listing, name))
        return;
    line_add(&text, "%s", summary);
    if (serves != NULL && listing->rows == NULL)
        line_add(&text, " [%s]", serves);
    cJSON *row = listing_show(listing, name, text.text);
    json_put(row, "serves %s", serves);
    cJSON *list = cJSON_AddArrayToObject(row, "parameters");
    for (size_t p = 0; row != NULL && p < keys_count(parameters); p++)
        json_add_parameter(list, &parameters[p]);
    for (size_t p = 0; row == NULL && listing->full && p < keys_count(parameters); p++) {
        struct line own = {.used = 0};
        add_parameter(&own, &parameters[p]);
        printf("    %-47s %s\n", own.text, parameters[p].help != NULL ? parameters[p].help : "");
    }
}

/* Where a policy's facts come from. */
static void print_source(const struct listing *listing)
{
    if (listing->rows == NULL && listing->only != NULL && listing->shown > 0 && !listing->counting)
        printf("source and every decision of the port: sched/README.md; grades: sim/README.md\n");
}

static void list_policy(struct listing *listing, const struct policy *policy)
{
    static const char *const serves[] = {
        [SERVES_REQUESTS] = "requests", [SERVES_TRAININGS] = "trainings", [SERVES_BOTH] = "both"};
    list_configurable(listing, policy->name, policy->summary, serves[policy->serves],
                      policy->parameters);
}

bool list_policies(struct listing *listing, const char *path, const char *name, struct error *error)
{
    (void)path, (void)name, (void)error;
    const struct policy *policy = NULL;
    for (size_t i = 0; (policy = policy_at(i)) != NULL; i++) {
        list_policy(listing, policy);
        const struct policy *form = policy_training_form(policy->name);
        if (form != NULL)
            list_policy(listing, form);
    }
    print_source(listing);
    return true;
}

bool list_keep_alives(struct listing *listing, const char *path, const char *name,
                      struct error *error)
{
    (void)path, (void)name, (void)error;
    const struct keep_alive *policy = NULL;
    for (size_t i = 0; (policy = keep_alive_at(i)) != NULL; i++)
        list_configurable(listing, policy->name, policy->summary, NULL, policy->parameters);
    return true;
}
