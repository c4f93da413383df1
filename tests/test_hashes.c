/* The config_hash of every experiment that ships, and of the first and last run of every sweep, are
 * those of tests/hashes.txt. A run that anybody recorded is found by them. */
#include <glob.h>

#include "tests/suite.h"
#include "workloads/sweep/sweep.h"

OWNER(sweep_free, struct sweep)

enum { LINE = 256 };

/* "FILE HASH", and of a sweep the last run's hash after that. */
static void line_of(const char *path, char line[LINE])
{
    OWNED(sweep_free) struct sweep *sweep = sweep_load(path, NULL, 0, NULL);
    struct experiment *first =
        sweep == NULL ? experiment_load(path, NULL, 0, hear()) : sweep_experiment(sweep, 0, hear());
    struct experiment *last =
        sweep == NULL ? NULL : sweep_experiment(sweep, sweep->run_count - 1, hear());
    if (first == NULL || (sweep != NULL && last == NULL))
        fail_msg("%s: %s", path, heard.message);
    snprintf(line, LINE, "%s %s%s%s\n", path, first->hash, last == NULL ? "" : " ",
             last == NULL ? "" : last->hash);
    experiment_free(first);
    experiment_free(last);
}

CASE(hashes_are_as_in_the_list)
{
    glob_t files;
    assert_int_equal(glob("workloads/experiments/*.json", 0, NULL, &files), 0);
    assert_int_equal(glob("workloads/experiments/*/*.json", GLOB_APPEND, NULL, &files), 0);
    FILE *list = must(fopen("tests/hashes.txt", "r"));
    char then[LINE], now[LINE];
    int unlike = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        line_of(files.gl_pathv[i], now);
        rewind(list);
        bool found = false;
        while (!found && fgets(then, sizeof then, list) != NULL)
            found = strcmp(then, now) == 0;
        if (!found)
            printf("not in tests/hashes.txt: %s", now);
        unlike += !found;
    }
    assert_int_equal(unlike, 0);
    fclose(list);
    globfree(&files);
}

SUITE("hashes")
