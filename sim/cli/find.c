#include "sim/cli/find.h"

#include <stdlib.h>
#include <string.h>

const struct application *cli_find_application(const struct workload *workload, const char *name,
                                               struct error *error)
{
    size_t count = workload->application_count;
    if (count == 0) {
        (void)error_input(error, "--application: the experiment has no applications");
        return NULL;
    }
    const char **names = calloc(count + 1, sizeof *names);
    if (names == NULL) {
        (void)error_run(error, "--application: out of memory");
        return NULL;
    }
    for (size_t a = 0; a < count; a++) {
        names[a] = workload->applications[a].name;
        if (strcmp(names[a], name) == 0) {
            free(names);
            return &workload->applications[a];
        }
    }
    const char *nearest = error_nearest_name(name, names, (int)count);
    (void)error_input(error, "--application: the experiment has no '%s'; %s '%s'", name,
                      nearest != NULL ? "did you mean" : "it has, for example,",
                      nearest != NULL ? nearest : names[0]);
    free(names);
    return NULL;
}
