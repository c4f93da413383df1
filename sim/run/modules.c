#include "sim/run/modules.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"

/* A policy of the sweep, under one display name. */
struct module {
    const char *name;    /* the policy's own name */
    char path[PATH_MAX]; /* as written in the sweep */
    char display[POLICY_LABEL];
};

struct modules {
    struct arena *arena; /* has all of it */
    const struct sweep *sweep;
    struct module *entries;
    size_t count;
    bool *used; /* per label */
};

/* ---- Labels --------------------------------------------------------------------------------- */

/* Returns whether `text` of `length` characters is the parameter's value. */
static bool value_equals(const struct key *parameter, double value, const char *text, size_t length)
{
    const char *word = parameter_word(parameter, value);
    if (word != NULL)
        return strlen(word) == length && strncmp(word, text, length) == 0;
    char *end = NULL;
    const double given = strtod(text, &end);
    return end == text + length && given == value;
}

/* Number of parameters in " k=5 placement=spread"; -1 if one differs from the policy's value. */
static int pairs_match(const char *pairs, const struct resolved_run *run)
{
    const struct policy *policy = run->policy;
    int count = 0;
    while (*pairs == ' ') {
        const char *key = pairs + 1;
        const size_t key_length = strcspn(key, "= ");
        if (key[key_length] != '=')
            return -1;
        const char *value = key + key_length + 1;
        const size_t length = strcspn(value, " ");
        bool found = false;
        for (size_t i = 0; !found && i < keys_count(policy->parameters); i++)
            found = strlen(policy->parameters[i].name) == key_length &&
                    strncmp(policy->parameters[i].name, key, key_length) == 0 &&
                    value_equals(&policy->parameters[i], run->values[i], value, length);
        if (!found)
            return -1;
        pairs = value + length;
        count++;
    }
    return *pairs == '\0' ? count : -1;
}

/* Number of parameters in the label's key; -1 if the key does not match this policy. */
static int label_match(const char *key, const char *name, const struct resolved_run *run)
{
    const size_t length = strlen(name);
    return strncmp(key, name, length) == 0 ? pairs_match(key + length, run) : -1;
}

/* Index of the best matching label; the number of labels if none matches. */
static size_t label_find(const struct sweep *sweep, const struct resolved_run *run)
{
    size_t found = sweep->label_count;
    int most = -1;
    for (size_t i = 0; i < sweep->label_count; i++) {
        const char *key = sweep->labels[i].name;
        const int by_path = label_match(key, run->experiment->policy_name, run);
        const int by_name = label_match(key, run->policy->name, run);
        /* A path has precedence over a name, because several modules may have that name. */
        const int match = by_path >= 0 ? 2 * by_path + 1 : 2 * by_name;
        if (match > most && (by_path >= 0 || by_name >= 0)) {
            most = match;
            found = i;
        }
    }
    return found;
}

void modules_label(const struct sweep *sweep, const struct resolved_run *run,
                   char label[POLICY_LABEL])
{
    const size_t found = label_find(sweep, run);
    (void)snprintf(label, POLICY_LABEL, "%s",
                   found < sweep->label_count ? sweep->labels[found].label : "");
}

/* ---- Modules -------------------------------------------------------------------------------- */

struct modules *modules_create(const struct sweep *sweep)
{
    struct modules *modules = arena_home(sizeof *modules);
    modules->sweep = sweep;
    modules->used = arena_allocate(modules->arena, sweep->label_count + 1, sizeof *modules->used);
    return modules;
}

/* Two policies with one display name are an error: their runs would be averaged as seeds of one
 * policy. */
static bool clash(const struct modules *modules, const struct module *one,
                  const struct module *other, struct error *error)
{
    const char *path = modules->sweep->path;
    if (strcmp(one->name, other->name) == 0 && strcmp(one->display, one->name) == 0)
        return error_input(error,
                           "%s: policies \"%s\" and \"%s\" both call themselves \"%s\"; tell them "
                           "apart by \"labels\": {\"%s\": \"%s, other\"} in the sweep",
                           path, one->path, other->path, one->name, other->path, other->name);
    return error_input(error,
                       "%s: policies \"%s\" and \"%s\" are both displayed as \"%s\"; give "
                       "them different \"labels\"",
                       path, one->path, other->path, other->display);
}

bool modules_note(struct modules *modules, const struct resolved_run *run,
                  const char label[POLICY_LABEL], struct error *error)
{
    struct module module = {.name = run->policy->name};
    (void)snprintf(module.path, sizeof module.path, "%s", run->experiment->policy_name);
    (void)snprintf(module.display, sizeof module.display, "%s",
                   label[0] != '\0' ? label : run->policy->name);
    modules->used[label_find(modules->sweep, run)] = true;
    for (size_t i = 0; i < modules->count; i++) {
        const struct module *other = &modules->entries[i];
        if (strcmp(other->display, module.display) != 0)
            continue;
        if (strcmp(other->path, module.path) == 0)
            return true;
        return clash(modules, other, &module, error);
    }
    *ARENA_NEXT(modules->arena, modules->entries, modules->count) = module;
    return true;
}

bool modules_check_labels(const struct modules *modules, struct error *error)
{
    const struct sweep *sweep = modules->sweep;
    for (size_t i = 0; !sweep->cut && i < sweep->label_count; i++) {
        bool used = modules->used[i];
        for (size_t r = 0; !used && r < sweep->run_count; r += sweep->seeds)
            used = strcmp(sweep->runs[r].setting_name, sweep->labels[i].name) == 0;
        if (!used)
            return error_input(error,
                               "%s: labels.%s: is no policy and no setting of this sweep; a key is "
                               "a setting's name, or a policy's with any of its parameters, such "
                               "as \"esg k=5\"",
                               sweep->path, sweep->labels[i].name);
    }
    return true;
}
