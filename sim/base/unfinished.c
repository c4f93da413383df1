#include "sim/base/unfinished.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A terminating gnuplot may add a file while its directory is being emptied. */
enum { FOLDER_ATTEMPTS = 8 };

struct entry {
    char *path; /* NULL: free */
    enum unfinished_kind kind;
    pid_t owner;
};

/* Modified only with all signals blocked, so that a handler sees complete entries. */
static struct entry entries[UNFINISHED_MOST];

void unfinished_block(sigset_t *old)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, old);
}

void unfinished_unblock(const sigset_t *old)
{
    (void)sigprocmask(SIG_SETMASK, old, NULL);
}

static int entry_find(const char *path)
{
    for (int i = 0; i < UNFINISHED_MOST; i++)
        if (entries[i].path != NULL && entries[i].owner == getpid() &&
            strcmp(entries[i].path, path) == 0)
            return i;
    return -1;
}

int unfinished_note(const char *path, enum unfinished_kind kind)
{
    int free_entry = 0;
    while (free_entry < UNFINISHED_MOST && entries[free_entry].path != NULL)
        free_entry++;
    char *copy = free_entry < UNFINISHED_MOST ? strdup(path) : NULL;
    if (copy == NULL)
        return -1;
    sigset_t old;
    unfinished_block(&old);
    entries[free_entry] = (struct entry){copy, kind, getpid()};
    unfinished_unblock(&old);
    return free_entry;
}

void unfinished_forget(int entry)
{
    if (entry < 0 || entries[entry].owner != getpid())
        return;
    sigset_t old;
    unfinished_block(&old);
    char *path = entries[entry].path;
    entries[entry] = (struct entry){0};
    unfinished_unblock(&old);
    free(path);
}

bool unfinished_has(const char *path)
{
    return entry_find(path) >= 0;
}

/* Async-signal-safe: uses the system call, because readdir is not safe. */
static void folder_empty(const char *path)
{
    _Alignas(struct dirent64) char block[4096];
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t got = 0;
    while (folder >= 0 && (got = getdents64(folder, block, sizeof block)) > 0)
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *file = (const struct dirent64 *)(const void *)(block + at);
            (void)unlinkat(folder, file->d_name, 0); /* fails for "." and ".." */
            at += file->d_reclen;
        }
    if (folder >= 0)
        (void)close(folder);
}

static void folder_remove(const char *path)
{
    for (int i = 0; i < FOLDER_ATTEMPTS && rmdir(path) != 0; i++) {
        if (errno != ENOTEMPTY && errno != EEXIST)
            return;
        folder_empty(path);
    }
}

static void entries_remove(bool locks)
{
    for (int i = 0; i < UNFINISHED_MOST; i++) {
        const struct entry *entry = &entries[i];
        if (entry->path == NULL || entry->owner != getpid() ||
            (entry->kind == UNFINISHED_LOCK) != locks)
            continue;
        if (entry->kind == UNFINISHED_FOLDER)
            folder_remove(entry->path);
        else
            (void)unlink(entry->path);
    }
}

void unfinished_remove_all(void)
{
    const int number = errno;
    entries_remove(false);
    entries_remove(true);
    errno = number;
}

char *temporary_folder_create(const char *name, struct error *error)
{
    const char *given = getenv("TMPDIR");
    char *folder = NULL;
    if (asprintf(&folder, "%s/%s-XXXXXX", given != NULL && given[0] != '\0' ? given : P_tmpdir,
                 name) < 0) {
        (void)error_run(error, "%s: out of memory", name);
        return NULL;
    }
    sigset_t old;
    unfinished_block(&old);
    const bool made = mkdtemp(folder) != NULL;
    const int reason = errno;
    const bool noted = made && unfinished_note(folder, UNFINISHED_FOLDER) >= 0;
    if (made && !noted)
        (void)rmdir(folder);
    unfinished_unblock(&old);
    if (noted)
        return folder;
    (void)error_run(error, "%s: the temporary folder cannot be made: %s; set TMPDIR", folder,
                    strerror(made ? ENOMEM : reason));
    free(folder);
    return NULL;
}

void temporary_folder_remove(char *folder)
{
    const int entry = folder == NULL ? -1 : entry_find(folder);
    if (entry >= 0) {
        folder_remove(folder);
        unfinished_forget(entry);
    }
    free(folder);
}
