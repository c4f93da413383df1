#include "results/store/run_details.h"

#include <stdio.h>
#include <string.h>

static bool functions_equal(const struct workload *a, const struct workload *b)
{
    bool equal = a->function_count == b->function_count;
    for (size_t f = 0; equal && f < a->function_count; f++)
        equal = strcmp(a->functions[f].name, b->functions[f].name) == 0;
    return equal;
}

/* Checks what the run's configuration says: its functions, and who was asked. */
static bool run_check(struct arena *arena, const struct results *results,
                      const struct summary_row *run, const char *configuration, const char *teacher,
                      struct outline *outline, struct error *error)
{
    char asked[96];
    struct outline other = {.closed = false};
    const bool first = outline->workload.function_count == 0;
    bool good = true;
    (void)snprintf(asked, sizeof asked, "\"shadow\":\"%s\"", teacher);
    if (configuration == NULL ||
        !outline_load(arena, configuration, first ? outline : &other, NULL))
        good = error_input(error, "%s: the configuration of run %s is damaged; run it again",
                           results->path, run->hash);
    else if (strcmp(run->policy, teacher) != 0 && strstr(configuration, asked) == NULL)
        good = error_input(error, "%s: run %s has no choices of %s, the first file's policy",
                           results->path, run->hash, teacher);
    else if (!first && !functions_equal(&outline->workload, &other.workload))
        good = error_input(error,
                           "%s: run %s has other functions than the first; distill learns "
                           "from runs with the same list of them",
                           results->path, run->hash);
    return good;
}

bool choices_read(struct arena *arena, const struct results *results, const char *teacher,
                  struct outline *outline,
                  bool (*take)(void *context, const struct results *results, size_t run,
                               const struct choice_row *rows, size_t count, struct error *error),
                  void *context, struct error *error)
{
    struct run_details *details = run_details_open(results->path, error);
    bool good = details != NULL;
    for (size_t r = 0; good && r < results->run_count; r++) {
        const struct summary_row *run = &results->runs[r];
        struct choice_row *rows = NULL;
        size_t count = 0;
        if (strcmp(run->policy, results->runs[0].policy) != 0) {
            good = error_input(error, "%s: has runs of %s and %s; distill learns from one policy",
                               results->path, results->runs[0].policy, run->policy);
            break;
        }
        good = run_details_choices(arena, details, run->hash, &rows, &count, error);
        const char *configuration =
            good ? run_details_text(details, run->hash, "configuration") : NULL;
        good = good && run_check(arena, results, run, configuration, teacher, outline, error) &&
               take(context, results, r, rows, count, error);
        arena_release(arena, rows);
    }
    run_details_close(details);
    return good;
}
