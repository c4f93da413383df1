#include "sim/base/atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/unfinished.h"

enum {
    LINKS_LIMIT = 40,   /* limit of Linux */
    LOCK_ATTEMPTS = 100 /* each fails if the holder ends at that moment */
};

/* The directory part of a path. */
static char *folder_name(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? arena_text(arena, ".")
                         : arena_text(arena, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* Links in /proc/PID/fd denote open files, which may have no name. */
static bool is_of_process(struct arena *arena, const char *link)
{
    char place[PATH_MAX];
    return realpath(folder_name(arena, link), place) != NULL &&
           strncmp(place, "/proc/", sizeof "/proc/" - 1) == 0;
}

/* Target of one link. NULL with `errno` on failure. */
static char *link_follow(struct arena *arena, const char *link)
{
    char text[PATH_MAX];
    const ssize_t length = readlink(link, text, sizeof text);
    if (length < 0)
        return NULL;
    if ((size_t)length == sizeof text) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return text[0] == '/'
               ? arena_text(arena, "%.*s", (int)length, text)
               : arena_text(arena, "%s/%.*s", folder_name(arena, link), (int)length, text);
}

char *atomic_file_target(struct arena *arena, const char *path, struct error *error)
{
    struct stat status;
    char *place = arena_text(arena, "%s", path);
    for (int links = 0; place != NULL && lstat(place, &status) == 0 && S_ISLNK(status.st_mode);
         links++) {
        if (is_of_process(arena, place))
            return arena_text(arena, "%s", path);
        errno = ELOOP;
        place = links < LINKS_LIMIT ? link_follow(arena, place) : NULL;
    }
    if (place == NULL)
        (void)error_input(error, "%s: is a link that cannot be followed: %s; name a file", path,
                          strerror(errno));
    return place;
}

const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* ---- The lock -------------------------------------------------------------------------------- */

/* Result of one attempt to lock. */
enum lock_outcome { LOCK_TAKEN, LOCK_HELD, LOCK_AGAIN, LOCK_UNKNOWN, LOCK_FOREIGN, LOCK_FAILED };

/* Finds the holder's process id, or 0 if unknown. LOCK_AGAIN: the holder has ended in the meantime.
 */
static enum lock_outcome lock_holder(int descriptor, pid_t *holder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK)
        return LOCK_AGAIN;
    *holder = lock.l_pid > 0 ? lock.l_pid : 0;
    return LOCK_HELD;
}

/* Locks the open file. The lock is valid only if `path` still names that file, because a holder
 * removes the name before it unlocks. */
static enum lock_outcome lock_descriptor(const char *path, int descriptor, pid_t *holder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat opened, named;
    if (fcntl(descriptor, F_SETLK, &lock) != 0)
        return errno == EACCES || errno == EAGAIN ? lock_holder(descriptor, holder)
               : errno == EINTR                   ? LOCK_AGAIN
                                                  : LOCK_UNKNOWN;
    if (fstat(descriptor, &opened) != 0 || lstat(path, &named) != 0 ||
        opened.st_dev != named.st_dev || opened.st_ino != named.st_ino)
        return LOCK_AGAIN;
    return S_ISREG(opened.st_mode) && opened.st_size == 0 ? LOCK_TAKEN : LOCK_FOREIGN;
}

/* All signals are blocked. `*left`: the lock file already existed, left behind by a killed process.
 */
static enum lock_outcome lock_try(struct atomic_file *file, const char *path, bool *left,
                                  pid_t *holder)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    /* Closing another descriptor of a locked file would unlock it, so this process's own locks are
     * checked first. */
    *holder = getpid();
    if (unfinished_has(path))
        return LOCK_HELD;
    file->lock = open(path, flags | O_CREAT | O_EXCL, 0666);
    *left = file->lock < 0 && errno == EEXIST;
    if (*left)
        file->lock = open(path, flags);
    if (file->lock < 0)
        return *left && errno == ENOENT ? LOCK_AGAIN : LOCK_FAILED;
    enum lock_outcome outcome = lock_descriptor(path, file->lock, holder);
    if (outcome == LOCK_TAKEN) {
        file->lock_entry = unfinished_note(path, UNFINISHED_LOCK);
        file->locked = file->lock_entry >= 0;
    }
    if (outcome == LOCK_TAKEN && !file->locked) {
        errno = ENOMEM;
        outcome = LOCK_FAILED;
    }
    if (outcome == LOCK_UNKNOWN && !*left)
        (void)unlink(path);
    if (!file->locked) {
        const int reason = errno;
        (void)close(file->lock);
        errno = reason;
    }
    return outcome;
}

static bool lock_fault(const struct atomic_file *file, const char *path, enum lock_outcome outcome,
                       pid_t holder, struct error *error)
{
    char who[64] = "another process";
    if (outcome == LOCK_FAILED && errno == ENOMEM)
        return error_run(error, "%s: out of memory", file->path);
    if (outcome == LOCK_FAILED)
        return error_input(error, "%s: cannot be created: %s; name a folder that can be written",
                           file->path, strerror(errno));
    if (outcome == LOCK_FOREIGN)
        return error_input(error, "%s: is in the way of a lock on %s; move it away", path,
                           file->path);
    if (holder > 0)
        (void)snprintf(who, sizeof who, "process %ld", (long)holder);
    return error_run(error, "%s: %s is writing there; wait for it or give another name", file->path,
                     who);
}

/* Locks `path`. `*left`: the lock file was left behind by a killed process. */
static bool lock_take(struct atomic_file *file, const char *path, bool *left, struct error *error)
{
    enum lock_outcome outcome = LOCK_AGAIN;
    pid_t holder = 0;
    for (int i = 0; i < LOCK_ATTEMPTS && outcome == LOCK_AGAIN; i++) {
        sigset_t old;
        unfinished_block(&old);
        outcome = lock_try(file, path, left, &holder);
        const int reason = errno;
        unfinished_unblock(&old);
        errno = reason;
    }
    return outcome == LOCK_TAKEN || outcome == LOCK_UNKNOWN ||
           lock_fault(file, path, outcome, holder, error);
}

/* Removes the name before unlocking. In the other order another process could lock the file just
 * before its name is removed. */
static void lock_drop(struct atomic_file *file, const char *path)
{
    sigset_t old;
    unfinished_block(&old);
    (void)unlink(path);
    (void)close(file->lock);
    unfinished_forget(file->lock_entry);
    unfinished_unblock(&old);
}

/* Name of the lock file. */
static char *lock_name(const struct atomic_file *file)
{
    const char *base = file_name(file->target);
    return arena_text(file->arena, "%.*s.%s.lock", (int)(base - file->target), file->target, base);
}

/* ---- The temporary file ---------------------------------------------------------------------- */

static const char partial[] = ".partial-";

/* BASE.partial-DIGITS-DIGITS */
static bool is_partial_of(const char *name, const char *base)
{
    static const char digits[] = "0123456789";
    const size_t length = strlen(base);
    if (strncmp(name, base, length) != 0 ||
        strncmp(name + length, partial, sizeof partial - 1) != 0)
        return false;
    const char *at = name + length + sizeof partial - 1;
    const size_t process = strspn(at, digits);
    const size_t number = at[process] == '-' ? strspn(at + process + 1, digits) : 0;
    return process > 0 && number > 0 && at[process + 1 + number] == '\0';
}

/* Removes temporary files left behind by killed processes. The destination is locked. O(files in
 * the directory). */
static void partials_remove(struct arena *arena, const char *target)
{
    DIR *listing = opendir(folder_name(arena, target));
    for (const struct dirent *file; listing != NULL && (file = readdir(listing)) != NULL;)
        if (is_partial_of(file->d_name, file_name(target)))
            (void)unlinkat(dirfd(listing), file->d_name, 0);
    if (listing != NULL)
        (void)closedir(listing);
}

static void file_clear(struct atomic_file *file)
{
    if (file->target != NULL && file->locked && file->owner == getpid())
        lock_drop(file, lock_name(file));
    arena_destroy(file->arena);
    *file = (struct atomic_file){0};
}

/* Sets path, target, beside and renames. */
static bool file_place(struct atomic_file *file, const char *path, struct error *error)
{
    struct stat status;
    *file = (struct atomic_file){.owner = getpid(), .lock_entry = -1, .beside_entry = -1};
    if (path[0] == '\0')
        return error_input(error, "the name of the file to write is empty; give one");
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return error_input(error, "%s: is a folder; name a file to write", path);
    file->arena = arena_create();
    file->target = atomic_file_target(file->arena, path, error);
    if (file->target == NULL) {
        file_clear(file);
        return false;
    }
    const bool is_there = lstat(file->target, &status) == 0;
    file->renames = !is_there || S_ISREG(status.st_mode);
    file->mode = is_there ? status.st_mode & 0777 : 0;
    file->path = arena_text(file->arena, "%s", path);
    file->beside = file->renames ? NULL : file->path;
    return true;
}

static bool file_lock(struct atomic_file *file, struct error *error)
{
    bool left = false;
    const bool good = lock_take(file, lock_name(file), &left, error);
    if (file->locked && left)
        partials_remove(file->arena, file->target);
    return good;
}

/* Creates and registers the temporary file. Returns its descriptor, or -1 with `errno`. */
static int partial_create(struct atomic_file *file)
{
    static unsigned number;
    const mode_t mode = file->mode == 0 ? 0666 : file->mode | S_IRUSR | S_IWUSR;
    int descriptor = -1;
    do {
        sigset_t old;
        file->beside =
            arena_text(file->arena, "%s%s%ld-%u", file->target, partial, (long)getpid(), number++);
        unfinished_block(&old);
        descriptor = open(file->beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        int reason = errno;
        if (descriptor >= 0 &&
            (file->beside_entry = unfinished_note(file->beside, UNFINISHED_FILE)) < 0) {
            reason = ENOMEM;
            (void)unlink(file->beside);
            (void)close(descriptor);
            descriptor = -1;
        }
        unfinished_unblock(&old);
        errno = reason;
    } while (descriptor < 0 && errno == EEXIST);
    return descriptor;
}

/* Returns the descriptor to write to; -1 with `error` set and everything released. */
static int file_create(struct atomic_file *file, struct error *error)
{
    if (file->renames && !file_lock(file, error)) {
        file_clear(file);
        return -1;
    }
    const int descriptor = file->renames
                               ? partial_create(file)
                               : open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor >= 0)
        return descriptor;
    if (errno == ENOMEM)
        (void)error_run(error, "%s: out of memory", file->path);
    else
        (void)error_input(error, "%s: cannot be created: %s; name a folder that can be written",
                          file->path, strerror(errno));
    file_clear(file);
    return -1;
}

bool atomic_file_open(struct atomic_file *file, const char *path, struct error *error)
{
    if (!file_place(file, path, error))
        return false;
    const int descriptor = file_create(file, error);
    if (descriptor < 0)
        return false;
    file->stream = fdopen(descriptor, "w");
    if (file->stream != NULL)
        return true;
    (void)close(descriptor);
    (void)error_run(error, "%s: out of memory", path);
    (void)atomic_file_end(file, false, NULL);
    return false;
}

bool atomic_file_begin(struct atomic_file *file, const char *path, struct error *error)
{
    if (!file_place(file, path, error))
        return false;
    /* Opening and closing a pipe would end it for its reader. */
    if (!file->renames)
        return true;
    const int descriptor = file_create(file, error);
    if (descriptor >= 0)
        (void)close(descriptor);
    return descriptor >= 0;
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Returns 0, or the errno of the first failed write. */
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

/* Returns 0 or `errno`. */
static int name_sync(const char *path, int flags)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (descriptor < 0)
        return errno;
    const int reason = fsync(descriptor) == 0 ? 0 : errno;
    (void)close(descriptor);
    return reason;
}

/* Returns 0 or `errno`. A failure to sync the directory is ignored, because the rename has
 * succeeded. */
static int file_publish(const struct atomic_file *file)
{
    const int reason = name_sync(file->beside, 0);
    if (reason != 0)
        return reason;
    if ((file->mode != 0 && chmod(file->beside, file->mode) != 0) ||
        rename(file->beside, file->target) != 0)
        return errno;
    (void)name_sync(folder_name(file->arena, file->target), O_DIRECTORY);
    return 0;
}

bool atomic_file_end(struct atomic_file *file, bool good, struct error *error)
{
    const bool own = file->path != NULL && file->owner == getpid();
    int reason = own && file->stream != NULL ? stream_close(file->stream) : 0;
    if (own && good && reason == 0 && file->renames && file->beside_entry >= 0)
        reason = file_publish(file);
    if (good && reason != 0)
        good = error_run(error, "%s: cannot be written: %s", file->path, strerror(reason));
    if (own && !good && file->beside_entry >= 0)
        (void)unlink(file->beside);
    if (own)
        unfinished_forget(file->beside_entry);
    file_clear(file);
    return good;
}

bool atomic_file_hold_folder(struct atomic_file *file, const char *folder, struct error *error)
{
    *file = (struct atomic_file){.owner = getpid(), .lock_entry = -1, .beside_entry = -1};
    file->arena = arena_create();
    file->path = arena_text(file->arena, "%s", folder);
    file->target = arena_text(file->arena, "%s/", folder);
    const bool good = file_lock(file, error);
    if (!good)
        file_clear(file);
    return good;
}

/* Returns whether two names of files that do not exist have the same directory and base name. */
static bool names_meet(struct arena *arena, const char *one, const char *other)
{
    struct stat first, second;
    return stat(folder_name(arena, one), &first) == 0 &&
           stat(folder_name(arena, other), &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino && strcmp(file_name(one), file_name(other)) == 0;
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
    struct arena *arena = arena_create();
    one = atomic_file_target(arena, one, NULL);
    other = atomic_file_target(arena, other, NULL);
    const bool same = one != NULL && other != NULL && names_meet(arena, one, other);
    arena_destroy(arena);
    return same;
}
