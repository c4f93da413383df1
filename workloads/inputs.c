#include "workloads/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/sha2.h>

#include "sim/base/array.h"
#include "sim/base/atomic_file.h"
#include "traces/profile/profile.h"
#include "workloads/loader_internal.h"

struct input {
    char *path;
    char *text; /* NULL if only the digest is cached */
    size_t size;
    struct file_identity identity;
    char sha256[65];         /* "" if only the text is cached */
    struct profile *profile; /* NULL if the file was not asked for as a profile */
    char profile_sha256[65];
};

struct inputs {
    struct input *entries;
    size_t count;
};

struct inputs *inputs_create(struct error *error)
{
    struct inputs *inputs = calloc(1, sizeof *inputs);
    if (inputs == NULL)
        (void)error_run(error, "out of memory for the input files");
    return inputs;
}

void inputs_free(struct inputs *inputs)
{
    for (size_t i = 0; inputs != NULL && i < inputs->count; i++) {
        free(inputs->entries[i].path);
        free(inputs->entries[i].text);
        profile_free(inputs->entries[i].profile);
    }
    if (inputs != NULL)
        free(inputs->entries);
    free(inputs);
}

/* The entry of this path; a new one is added empty. NULL when out of memory. */
static struct input *input_of(struct inputs *inputs, const char *path, struct error *error)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->entries[i].path, path) == 0)
            return &inputs->entries[i];
    char *copy = strdup(path);
    if (copy == NULL || !array_extend(&inputs->entries, inputs->count, sizeof *inputs->entries)) {
        free(copy);
        (void)error_run(error, "out of memory for the input files");
        return NULL;
    }
    inputs->entries[inputs->count] = (struct input){.path = copy};
    return &inputs->entries[inputs->count++];
}

char *inputs_text(struct inputs *inputs, const char *path, size_t *size, struct error *error)
{
    if (inputs == NULL)
        return json_read_text(path, size, error);
    struct input *input = input_of(inputs, path, error);
    if (input == NULL)
        return NULL;
    if (input->text == NULL && (input->text = json_read_text(path, &input->size, error)) == NULL)
        return NULL;
    char *copy = malloc(input->size + 1);
    if (copy == NULL) {
        (void)error_run(error, "%s: out of memory", path);
        return NULL;
    }
    memcpy(copy, input->text, input->size + 1);
    if (size != NULL)
        *size = input->size;
    return copy;
}

static struct profile *read_profile(struct inputs *inputs, const char *path, char sha256[65],
                                    struct error *error)
{
    size_t size = 0;
    char *text = inputs_text(inputs, path, &size, error);
    struct profile *profile = text == NULL ? NULL : profile_parse(text, path, error);
    if (profile != NULL)
        hash_bytes(text, size, sha256);
    free(text);
    return profile;
}

struct profile *inputs_profile(struct inputs *inputs, const char *path, char sha256[65],
                               struct error *error)
{
    if (inputs == NULL)
        return read_profile(NULL, path, sha256, error);
    struct input *input = input_of(inputs, path, error);
    if (input == NULL)
        return NULL;
    if (input->profile == NULL)
        input->profile = read_profile(inputs, path, input->profile_sha256, error);
    if (input->profile == NULL)
        return NULL;
    memcpy(sha256, input->profile_sha256, sizeof input->profile_sha256);
    return profile_share(input->profile);
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

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool identity_equal(const struct file_identity *one, const struct file_identity *other)
{
    return one->device == other->device && one->inode == other->inode && one->size == other->size &&
           one->modified_ns == other->modified_ns && one->changed_ns == other->changed_ns;
}

/* Opens a regular file for reading; -1 with an error. A FIFO is refused without waiting for a
 * writer. */
static int input_open(const char *path, struct file_identity *identity, struct error *error)
{
    struct stat status;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        (void)error_input(error, "%s: cannot be opened: %s", path, strerror(errno));
        return -1;
    }
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        (void)error_input(error,
                          "%s: is not a regular file; a run hashes this input and then reads it "
                          "again, so write it to a file first",
                          path);
        (void)close(descriptor);
        return -1;
    }
    *identity = (struct file_identity){.device = (uint64_t)status.st_dev,
                                       .inode = (uint64_t)status.st_ino,
                                       .size = (int64_t)status.st_size,
                                       .modified_ns = nanoseconds(status.st_mtim),
                                       .changed_ns = nanoseconds(status.st_ctim)};
    return descriptor;
}

/* Closes the descriptor. */
static bool hash_descriptor(int descriptor, const char *path, char sha256[65], struct error *error)
{
    enum { BLOCK = 65536 };
    uint8_t *block = load_array(BLOCK, 1, error);
    struct sha256_ctx context;
    ssize_t length = block == NULL ? -1 : 1;
    sha256_init(&context);
    while (length > 0) {
        length = read(descriptor, block, BLOCK);
        if (length > 0)
            sha256_update(&context, (size_t)length, block);
        else if (length < 0 && errno == EINTR)
            length = 1;
    }
    if (length < 0 && block != NULL)
        (void)error_input(error, "%s: cannot be read: %s", path, strerror(errno));
    (void)close(descriptor);
    free(block);
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

bool inputs_hash(struct inputs *inputs, const char *path, struct file_identity *identity,
                 char sha256[65], struct error *error)
{
    struct input *input = inputs == NULL ? NULL : input_of(inputs, path, error);
    const int descriptor = inputs != NULL && input == NULL ? -1 : input_open(path, identity, error);
    if (descriptor < 0)
        return false;
    const bool known = input != NULL && input->sha256[0] != '\0';
    if (known && identity_equal(identity, &input->identity)) {
        memcpy(sha256, input->sha256, sizeof input->sha256);
        (void)close(descriptor);
        return true;
    }
    if (!hash_descriptor(descriptor, path, sha256, error))
        return false;
    if (known && strcmp(sha256, input->sha256) != 0)
        return changed(path, input->sha256, sha256, error);
    if (input != NULL) {
        input->identity = *identity;
        memcpy(input->sha256, sha256, sizeof input->sha256);
    }
    return true;
}

bool inputs_unchanged(const char *path, const struct file_identity *identity, const char sha256[65],
                      struct error *error)
{
    struct file_identity now;
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
