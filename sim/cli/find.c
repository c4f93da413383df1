#include "sim/cli/find.h"

#include <string.h>

const struct application *cli_find_application(const struct workload *workload, const char *name,
                                               struct error *error)
{
    const size_t count = workload->application_count;
    if (count == 0) {
        (void)error_input(error, "--application: the experiment has no applications");
        return NULL;
    }
    const struct application *all = workload->applications;
    for (size_t a = 0; a < count; a++)
        if (strcmp(all[a].name, name) == 0)
            return &all[a];
    const char *nearest = error_nearest_of(name, &all[0].name, count, sizeof *all);
    (void)error_input(error, "--application: the experiment has no '%s'; %s '%s'", name,
                      nearest != NULL ? "did you mean" : "it has, for example,",
                      nearest != NULL ? nearest : all[0].name);
    return NULL;
}
