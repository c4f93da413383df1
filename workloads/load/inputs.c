#include "workloads/load/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/sha2.h>

#include "sim/base/arena.h"
#include "sim/base/atomic_file.h"
#include "traces/profile/profile.h"
#include "workloads/load/loader_internal.h"

struct input {
    const char *path;
    char *text; /* NULL if only the digest is cached */
    size_t size;
    struct stat identity;
    char sha256[65];         /* "" if only the text is cached */
    struct profile *profile; /* NULL if the file was not asked for as a profile */
    char profile_sha256[65];
};

struct inputs {
    struct arena *arena;
    struct input *entries;
    size_t count;
};

struct inputs *inputs_create(struct arena *arena)
{
    struct inputs *inputs = arena_allocate(arena, 1, sizeof *inputs);
    inputs->arena = arena;
    return inputs;
}

/* The entry of this path; a new one is added empty. */
static struct input *input_of(struct inputs *inputs, const char *path)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->entries[i].path, path) == 0)
            return &inputs->entries[i];
    arena_reserve(inputs->arena, &inputs->entries, inputs->count + 1, sizeof *inputs->entries);
    inputs->entries[inputs->count].path = arena_text(inputs->arena, "%s", path);
    return &inputs->entries[inputs->count++];
}

const char *inputs_text(struct inputs *inputs, const char *path, size_t *size, struct error *error)
{
    struct input *input = input_of(inputs, path);
    if (input->text == NULL && (input->text = json_read_text(path, &input->size, error)) != NULL)
        arena_adopt(inputs->arena, input->text, free);
    if (size != NULL)
        *size = input->size;
    return input->text;
}

static void profile_end(void *profile)
{
    profile_free(profile);
}

const struct profile *inputs_profile(struct inputs *inputs, const char *path, char sha256[65],
                                     struct error *error)
{
    size_t size = 0;
    const char *text = inputs_text(inputs, path, &size, error);
    struct input *input = input_of(inputs, path);
    if (input->profile == NULL && text != NULL) {
        input->profile = profile_parse(text, path, error);
        arena_adopt(inputs->arena, input->profile, profile_end);
        hash_bytes(text, size, input->profile_sha256);
    }
    memcpy(sha256, input->profile_sha256, sizeof input->profile_sha256);
    return input->profile;
}

bool inputs_spare(const struct inputs *inputs, const char *option, const char *out,
                  struct error *error)
{
    for (size_t i = 0; out != NULL && i < inputs->count; i++)
        if (atomic_file_same(inputs->entries[i].path, out))
            return error_input(error, "%s: the run reads %s; name another file", option, out);
    return true;
}

/* ---- Digests -------------------------------------------------------------------------------- */

static bool time_equal(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec == other->tv_sec && one->tv_nsec == other->tv_nsec;
}

static bool identity_equal(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
           one->st_size == other->st_size && time_equal(&one->st_mtim, &other->st_mtim) &&
           time_equal(&one->st_ctim, &other->st_ctim);
}

/* Opens a regular file for reading; -1 with an error. A FIFO is refused without waiting for a
 * writer. */
static int input_open(const char *path, struct stat *identity, struct error *error)
{
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        (void)error_input(error, "%s: cannot be opened: %s", path, strerror(errno));
        return -1;
    }
    if (fstat(descriptor, identity) != 0 || !S_ISREG(identity->st_mode)) {
        (void)error_input(error,
                          "%s: is not a regular file; a run hashes this input and then reads it "
                          "again, so write it to a file first",
                          path);
        (void)close(descriptor);
        return -1;
    }
    return descriptor;
}

/* Closes the descriptor. */
static bool hash_descriptor(int descriptor, const char *path, char sha256[65], struct error *error)
{
    enum { BLOCK = 65536 };
    uint8_t block[BLOCK];
    struct sha256_ctx context;
    ssize_t length = 1;
    sha256_init(&context);
    while (length > 0) {
        length = read(descriptor, block, BLOCK);
        if (length > 0)
            sha256_update(&context, (size_t)length, block);
        else if (length < 0 && errno == EINTR)
            length = 1;
    }
    if (length < 0)
        (void)error_input(error, "%s: cannot be read: %s", path, strerror(errno));
    (void)close(descriptor);
    if (length == 0)
        hash_finish(&context, sha256);
    return length == 0;
}

static bool changed(const char *path, const char *before, const char *now, struct error *error)
{
    return error_run(error,
                     "%s: has changed since it was first read: its SHA-256 was %s and is %s; leave "
                     "the inputs alone until the runs have ended",
                     path, before, now);
}

bool inputs_hash(struct inputs *inputs, const char *path, struct stat *identity, char sha256[65],
                 struct error *error)
{
    struct input *input = input_of(inputs, path);
    const int descriptor = input_open(path, identity, error);
    if (descriptor < 0)
        return false;
    const bool known = input->sha256[0] != '\0';
    if (known && identity_equal(identity, &input->identity)) {
        memcpy(sha256, input->sha256, sizeof input->sha256);
        (void)close(descriptor);
        return true;
    }
    if (!hash_descriptor(descriptor, path, sha256, error))
        return false;
    if (known && strcmp(sha256, input->sha256) != 0)
        return changed(path, input->sha256, sha256, error);
    input->identity = *identity;
    memcpy(input->sha256, sha256, sizeof input->sha256);
    return true;
}

bool inputs_unchanged(const char *path, const struct stat *identity, const char sha256[65],
                      struct error *error)
{
    struct stat now;
    char digest[65];
    const int descriptor = input_open(path, &now, error);
    if (descriptor < 0)
        return false;
    if (identity_equal(&now, identity)) {
        (void)close(descriptor);
        return true;
    }
    return hash_descriptor(descriptor, path, digest, error) &&
           (strcmp(digest, sha256) == 0 || changed(path, sha256, digest, error));
}
