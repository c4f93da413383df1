#include "traces/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void file_clear(struct whole_file *file)
{
    free(file->path);
    free(file->beside);
    *file = (struct whole_file){0};
}

/* Fills the names. */
static bool file_place(struct whole_file *file, const char *path, struct error *error)
{
    struct stat status;
    const bool is_there = lstat(path, &status) == 0;
    *file = (struct whole_file){.renames = !is_there || S_ISREG(status.st_mode)};
    if (path[0] == '\0') {
        (void)error_input(error, "the name of the file to write is empty; give one");
        return false;
    }
    if (is_there && stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        (void)error_input(error, "%s: is a folder; name a file to write", path);
        return false;
    }
    file->path = strdup(path);
    if (asprintf(&file->beside, "%s%s", path, file->renames ? ".partial" : "") < 0)
        file->beside = NULL;
    if (file->path != NULL && file->beside != NULL)
        return true;
    file_clear(file);
    (void)error_run(error, "%s: out of memory", path);
    return false;
}

static bool file_stream(struct whole_file *file, struct error *error)
{
    file->stream = fopen(file->beside, "w");
    if (file->stream != NULL)
        return true;
    (void)error_input(error, "%s: cannot be created: %s; name a folder that can be written",
                      file->path, strerror(errno));
    file_clear(file);
    return false;
}

bool whole_file_open(struct whole_file *file, const char *path, struct error *error)
{
    return file_place(file, path, error) && file_stream(file, error);
}

bool whole_file_begin(struct whole_file *file, const char *path, struct error *error)
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

bool whole_file_end(struct whole_file *file, bool good, struct error *error)
{
    const int reason = file->stream == NULL ? 0 : stream_close(file->stream);
    if (good && reason != 0)
        good = error_run(error, "%s: cannot be written: %s", file->path, strerror(reason));
    if (good && file->renames && rename(file->beside, file->path) != 0)
        good = error_run(error, "%s: cannot be written: %s", file->path, strerror(errno));
    if (!good && file->renames)
        (void)unlink(file->beside);
    file_clear(file);
    return good;
}

bool whole_file_check(const char *path, struct error *error)
{
    struct whole_file file;
    if (!whole_file_begin(&file, path, error))
        return false;
    (void)whole_file_end(&file, false, NULL);
    return true;
}

/* Where a name lies: its folder's place in the file system. False where that is not there. */
static bool folder_find(const char *path, struct stat *status)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL   ? strdup(".")
                   : slash == path ? strdup("/")
                                   : strndup(path, (size_t)(slash - path));
    const bool found = folder != NULL && stat(folder, status) == 0;
    free(folder);
    return found;
}

bool whole_file_same(const char *one, const char *other)
{
    struct stat first, second;
    const bool one_is_there = stat(one, &first) == 0, other_is_there = stat(other, &second) == 0;
    if (one_is_there && other_is_there)
        return S_ISREG(first.st_mode) && first.st_dev == second.st_dev &&
               first.st_ino == second.st_ino;
    if (one_is_there || other_is_there || !folder_find(one, &first) || !folder_find(other, &second))
        return false;
    const char *one_slash = strrchr(one, '/'), *other_slash = strrchr(other, '/');
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino &&
           strcmp(one_slash == NULL ? one : one_slash + 1,
                  other_slash == NULL ? other : other_slash + 1) == 0;
}
