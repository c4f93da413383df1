/* esgsim list policies, keep-alives. */
#include <stdio.h>

#include "sched/registry.h"
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

static bool json_add_parameter(cJSON *list, const struct key *parameter)
{
    char words[PARAMETER_WORDS];
    const char *word = parameter_word(parameter, parameter->fallback);
    cJSON *object = cJSON_CreateObject();
    bool good = object != NULL && cJSON_AddStringToObject(object, "name", parameter->name) != NULL;
    if (word != NULL) {
        good =
            good && cJSON_AddStringToObject(object, "default", word) != NULL &&
            cJSON_AddStringToObject(object, "choices", parameter_words(parameter, words)) != NULL;
    } else {
        good = good && cJSON_AddNumberToObject(object, "default", parameter->fallback) != NULL &&
               cJSON_AddNumberToObject(object, "low", parameter->low) != NULL &&
               cJSON_AddNumberToObject(object, "high", parameter->high) != NULL;
    }
    good = good && (parameter->help == NULL ||
                    cJSON_AddStringToObject(object, "help", parameter->help) != NULL);
    if (good && cJSON_AddItemToArray(list, object))
        return true;
    cJSON_Delete(object);
    return false;
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
    if (serves != NULL && row != NULL)
        listing->failed = cJSON_AddStringToObject(row, "serves", serves) == NULL || listing->failed;
    cJSON *list = row != NULL ? cJSON_AddArrayToObject(row, "parameters") : NULL;
    listing->failed = listing->failed || (row != NULL && list == NULL);
    for (size_t p = 0; list != NULL && p < keys_count(parameters); p++)
        listing->failed = !json_add_parameter(list, &parameters[p]) || listing->failed;
    for (size_t p = 0; listing->rows == NULL && listing->full && p < keys_count(parameters); p++) {
        struct line own = {.used = 0};
        const char *help = parameters[p].help;
        add_parameter(&own, &parameters[p]);
        printf("    %-47s %s\n", own.text, help != NULL ? help : "");
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

bool list_policies(struct listing *listing, const char *folder, struct error *error)
{
    (void)folder;
    (void)error;
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

bool list_keep_alives(struct listing *listing, const char *folder, struct error *error)
{
    (void)folder;
    (void)error;
    const struct keep_alive *policy = NULL;
    for (size_t i = 0; (policy = keep_alive_at(i)) != NULL; i++)
        list_configurable(listing, policy->name, policy->summary, NULL, policy->parameters);
    return true;
}
