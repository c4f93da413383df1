#include "traces/atomic_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_LIMIT = 40 }; /* as many as Linux follows */

/* The folder of a name, to be freed; NULL without memory. */
static char *folder_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL   ? strdup(".")
           : slash == path ? strdup("/")
                           : strndup(path, (size_t)(slash - path));
}

/* What the kernel shows as links of a process are open files, which a name need not have. */
static bool is_of_process(const char *link)
{
    char *folder = folder_name(link);
    char *place = folder == NULL ? NULL : realpath(folder, NULL);
    const bool within = place != NULL && strncmp(place, "/proc/", sizeof "/proc/" - 1) == 0;
    free(place);
    free(folder);
    return within;
}

/* Where one link leads, to be freed; NULL with `errno` where it cannot be told. */
static char *link_follow(const char *link)
{
    char text[PATH_MAX];
    const ssize_t length = readlink(link, text, sizeof text);
    if (length < 0)
        return NULL;
    if ((size_t)length == sizeof text) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    if (text[0] == '/')
        return strndup(text, (size_t)length);
    char *folder = folder_name(link), *next = NULL;
    if (folder == NULL || asprintf(&next, "%s/%.*s", folder, (int)length, text) < 0)
        next = NULL;
    free(folder);
    return next;
}

char *atomic_file_target(const char *path, struct error *error)
{
    struct stat status;
    char *place = strdup(path);
    errno = ENOMEM;
    for (int links = 0; place != NULL && lstat(place, &status) == 0 && S_ISLNK(status.st_mode);
         links++) {
        if (is_of_process(place)) {
            free(place);
            place = strdup(path);
            break;
        }
        char *next = links < LINKS_LIMIT ? link_follow(place) : NULL;
        const int reason = links < LINKS_LIMIT ? errno : ELOOP;
        free(place);
        place = next;
        errno = reason;
    }
    if (place == NULL && errno == ENOMEM)
        (void)error_run(error, "%s: out of memory", path);
    else if (place == NULL)
        (void)error_input(error, "%s: is a link that cannot be followed: %s; name a file", path,
                          strerror(errno));
    return place;
}

static void file_clear(struct atomic_file *file)
{
    free(file->path);
    free(file->target);
    free(file->beside);
    *file = (struct atomic_file){0};
}

/* Fills the names. */
static bool file_place(struct atomic_file *file, const char *path, struct error *error)
{
    struct stat status;
    *file = (struct atomic_file){0};
    if (path[0] == '\0') {
        (void)error_input(error, "the name of the file to write is empty; give one");
        return false;
    }
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        (void)error_input(error, "%s: is a folder; name a file to write", path);
        return false;
    }
    file->target = atomic_file_target(path, error);
    if (file->target == NULL)
        return false;
    file->renames = lstat(file->target, &status) != 0 || S_ISREG(status.st_mode);
    file->path = strdup(path);
    if (asprintf(&file->beside, "%s%s", file->target, file->renames ? ".partial" : "") < 0)
        file->beside = NULL;
    if (file->path != NULL && file->beside != NULL)
        return true;
    file_clear(file);
    (void)error_run(error, "%s: out of memory", path);
    return false;
}

static bool file_stream(struct atomic_file *file, struct error *error)
{
    file->stream = fopen(file->beside, "w");
    if (file->stream != NULL)
        return true;
    (void)error_input(error, "%s: cannot be created: %s; name a folder that can be written",
                      file->path, strerror(errno));
    file_clear(file);
    return false;
}

bool atomic_file_open(struct atomic_file *file, const char *path, struct error *error)
{
    return file_place(file, path, error) && file_stream(file, error);
}

bool atomic_file_begin(struct atomic_file *file, const char *path, struct error *error)
{
    if (!file_place(file, path, error))
        return false;
    /* A pipe would be over with its first closing. */
    if (!file->renames)
        return true;
    if (!file_stream(file, error))
        return false;
    (void)fclose(file->stream);
    file->stream = NULL;
    return true;
}

/* Zero, or what kept the stream's bytes from where they go. */
static int stream_close(FILE *stream)
{
    errno = 0;
    const bool flushed = fflush(stream) == 0 && ferror(stream) == 0;
    const int reason = errno;
    const bool closed = fclose(stream) == 0;
    if (flushed && closed)
        return 0;
    return reason != 0 ? reason : errno != 0 ? errno : EIO;
}

bool atomic_file_end(struct atomic_file *file, bool good, struct error *error)
{
    const int reason = file->stream == NULL ? 0 : stream_close(file->stream);
    if (good && reason != 0)
        good = error_run(error, "%s: cannot be written: %s", file->path, strerror(reason));
    if (good && file->renames && rename(file->beside, file->target) != 0)
        good = error_run(error, "%s: cannot be written: %s", file->path, strerror(errno));
    if (!good && file->renames)
        (void)unlink(file->beside);
    file_clear(file);
    return good;
}

bool atomic_file_check(const char *path, struct error *error)
{
    struct atomic_file file;
    if (!atomic_file_begin(&file, path, error))
        return false;
    (void)atomic_file_end(&file, false, NULL);
    return true;
}

/* Whether two names of files that are not there are one name of one folder. */
static bool names_meet(const char *one, const char *other)
{
    struct stat first, second;
    char *folder = folder_name(one), *other_folder = folder_name(other);
    const bool together = folder != NULL && other_folder != NULL && stat(folder, &first) == 0 &&
                          stat(other_folder, &second) == 0 && first.st_dev == second.st_dev &&
                          first.st_ino == second.st_ino;
    free(folder);
    free(other_folder);
    const char *slash = strrchr(one, '/'), *other_slash = strrchr(other, '/');
    return together && strcmp(slash == NULL ? one : slash + 1,
                              other_slash == NULL ? other : other_slash + 1) == 0;
}

bool atomic_file_same(const char *one, const char *other)
{
    struct stat first, second;
    const bool one_is_there = stat(one, &first) == 0, other_is_there = stat(other, &second) == 0;
    if (one_is_there && other_is_there)
        return S_ISREG(first.st_mode) && first.st_dev == second.st_dev &&
               first.st_ino == second.st_ino;
    if (one_is_there || other_is_there)
        return false;
    char *target = atomic_file_target(one, NULL), *other_target = atomic_file_target(other, NULL);
    const bool same = target != NULL && other_target != NULL && names_meet(target, other_target);
    free(target);
    free(other_target);
    return same;
}
