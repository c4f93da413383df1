/* A folder for the tests of a suite, gone with all in it at the end, and paths in it. */
#ifndef ESGSIM_TESTS_FIXTURE_FOLDER_H
#define ESGSIM_TESTS_FIXTURE_FOLDER_H

#include <ftw.h>

#include "tests/suite.h"

enum { FOLDER_PATHS = 128 };

static char folder[] = "/tmp/esgsim-tests-XXXXXX";
static char folder_paths[FOLDER_PATHS][96];

static inline int folder_make(void **state)
{
    memset(folder_paths, 0, sizeof folder_paths);
    return mkdtemp(strcpy(folder, "/tmp/esgsim-tests-XXXXXX")) == NULL ? -1 : 0;
}

static inline int folder_remove_one(const char *path, const struct stat *status, int kind,
                                    struct FTW *place)
{
    return place->level == 0 ? 0 : remove(path);
}

static inline int folder_empty(void **state)
{
    return nftw(folder, folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline int folder_remove(void **state)
{
    return folder_empty(state) + rmdir(folder);
}

/* The path of a file of that name, valid to the end of the folder. */
static inline const char *in_folder(const char *name)
{
    char path[sizeof folder_paths[0]];
    size_t i = 0;
    assert_true(snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path);
    while (folder_paths[i][0] != '\0' && strcmp(folder_paths[i], path) != 0)
        assert_true(++i < FOLDER_PATHS);
    return strcpy(folder_paths[i], path);
}

/* JSON, which may have ' for ". */
static inline void write_json(const char *path, const char *json)
{
    STRING *text = json_requote(strdup(json));
    write_text(path, text);
}

#endif
