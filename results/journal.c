#include "results/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

static const char magic[16] = "esgsim journal1";

struct head {
    char magic[sizeof magic];
    char identity[JOURNAL_IDENTITY];
};

struct record {
    uint64_t run;
    uint64_t size;
    uint64_t checksum; /* CRC-32 of run, size and what follows */
};

struct entry {
    off_t offset; /* of the run's bytes; 0: not there */
    size_t size;
};

struct journal {
    char *path;
    int fd;
    struct entry *entries;
    size_t runs;
    size_t count;
    off_t end; /* behind the last whole record */
    size_t discarded;
};

static uint64_t record_checksum(const struct record *record, const void *bytes)
{
    uLong crc = crc32_z(0, (const unsigned char *)record, offsetof(struct record, checksum));
    return crc32_z(crc, bytes, (z_size_t)record->size);
}

static bool write_at(const struct journal *journal, const void *bytes, size_t size, off_t offset)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        ssize_t written = pwrite(journal->fd, from, size, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        from += written;
        offset += written;
        size -= (size_t)written;
    }
    return true;
}

static bool read_at(const struct journal *journal, void *bytes, size_t size, off_t offset)
{
    unsigned char *to = bytes;
    while (size > 0) {
        ssize_t got = pread(journal->fd, to, size, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        offset += got;
        size -= (size_t)got;
    }
    return true;
}

/* The record at the journal's end, if it is whole. */
static bool record_take(struct journal *journal, off_t file_size, struct blob *buffer)
{
    struct record record;
    off_t body = journal->end + (off_t)sizeof record;
    if (body > file_size || !read_at(journal, &record, sizeof record, journal->end) ||
        record.run >= journal->runs || record.size > (uint64_t)(file_size - body) ||
        journal->entries[record.run].offset != 0)
        return false;
    if (record.size > buffer->capacity) {
        unsigned char *grown = realloc(buffer->bytes, (size_t)record.size);
        if (grown == NULL)
            return false;
        buffer->bytes = grown;
        buffer->capacity = (size_t)record.size;
    }
    if (!read_at(journal, buffer->bytes, (size_t)record.size, body) ||
        record.checksum != record_checksum(&record, buffer->bytes))
        return false;
    journal->entries[record.run] = (struct entry){body, (size_t)record.size};
    journal->count++;
    journal->end = body + (off_t)record.size;
    return true;
}

/* A file shorter than a head was cut short before any run could be added. */
static bool journal_scan(struct journal *journal, const char *identity, struct error *error)
{
    struct stat status;
    struct head head;
    if (fstat(journal->fd, &status) != 0)
        return error_input(error, "%s: cannot be read: %s", journal->path, strerror(errno));
    if (status.st_size < (off_t)sizeof head)
        return true;
    if (!read_at(journal, &head, sizeof head, 0))
        return error_input(error, "%s: cannot be read: %s", journal->path, strerror(errno));
    if (memcmp(head.magic, magic, sizeof magic) != 0)
        return error_input(error,
                           "%s: is not the journal of a sweep; remove it, or leave out "
                           "--resume to begin anew",
                           journal->path);
    if (memcmp(head.identity, identity, JOURNAL_IDENTITY) != 0)
        return error_input(error,
                           "%s: is the journal of another sweep, shard or version of esgsim; give "
                           "another --out, or leave out --resume to begin anew",
                           journal->path);
    journal->end = (off_t)sizeof head;
    struct blob buffer = {0};
    while (record_take(journal, status.st_size, &buffer)) {
    }
    blob_clear(&buffer);
    journal->discarded = (size_t)(status.st_size - journal->end);
    return true;
}

/* Behind the last whole record there is nothing; an empty journal gets its head. */
static bool journal_trim(struct journal *journal, const char *identity, struct error *error)
{
    struct head head;
    memcpy(head.magic, magic, sizeof magic);
    memcpy(head.identity, identity, JOURNAL_IDENTITY);
    if (ftruncate(journal->fd, journal->end) == 0 &&
        (journal->end > 0 || write_at(journal, &head, sizeof head, 0))) {
        if (journal->end == 0)
            journal->end = (off_t)sizeof head;
        return true;
    }
    return error_run(error, "%s: cannot be written: %s", journal->path, strerror(errno));
}

/* The lock is the process's own: its children neither hold nor keep it. */
static bool journal_lock(const struct journal *journal, struct error *error)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat status;
    if (fcntl(journal->fd, F_SETLK, &lock) == 0)
        return (fstat(journal->fd, &status) == 0 && status.st_nlink > 0) ||
               error_input(error, "%s: a sweep has ended there this moment; run again",
                           journal->path);
    if (errno == EACCES || errno == EAGAIN)
        return error_input(error,
                           "%s: another sweep is writing there; wait for it, or give "
                           "another --out",
                           journal->path);
    return error_input(error, "%s: cannot be locked: %s", journal->path, strerror(errno));
}

struct journal *journal_open(const char *path, const char *identity, size_t runs, bool resume,
                             struct error *error)
{
    struct journal *journal = calloc(1, sizeof *journal);
    if (journal == NULL) {
        error_run(error, "%s: out of memory for %zu runs", path, runs);
        return NULL;
    }
    journal->fd = -1;
    journal->runs = runs;
    journal->path = strdup(path);
    journal->entries = calloc(runs + 1, sizeof *journal->entries);
    bool good = (journal->path != NULL && journal->entries != NULL) ||
                error_run(error, "%s: out of memory for %zu runs", path, runs);
    if (good)
        journal->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (good && journal->fd < 0)
        good = error_input(error, "%s: cannot be created: %s; name a folder that can be written",
                           path, strerror(errno));
    good = good && journal_lock(journal, error) &&
           (!resume || journal_scan(journal, identity, error)) &&
           journal_trim(journal, identity, error);
    if (good)
        return journal;
    journal_close(journal, false);
    return NULL;
}

bool journal_append(struct journal *journal, size_t run, const void *bytes, size_t size,
                    struct error *error)
{
    struct record record = {.run = run, .size = size};
    record.checksum = record_checksum(&record, bytes);
    off_t body = journal->end + (off_t)sizeof record;
    if (!write_at(journal, &record, sizeof record, journal->end) ||
        !write_at(journal, bytes, size, body)) {
        int reason = errno;
        /* Failing that as well, the torn record is told by its length. */
        if (ftruncate(journal->fd, journal->end) != 0)
            reason = errno;
        return error_run(error, "%s: cannot be written: %s; make room and go on with --resume",
                         journal->path, strerror(reason));
    }
    journal->entries[run] = (struct entry){body, size};
    journal->end = body + (off_t)size;
    journal->count++;
    return true;
}

bool journal_has(const struct journal *journal, size_t run)
{
    return journal->entries[run].offset != 0;
}

bool journal_read(const struct journal *journal, size_t run, struct blob *blob, struct error *error)
{
    const struct entry *entry = &journal->entries[run];
    blob->bytes = malloc(entry->size + 1);
    if (blob->bytes == NULL)
        return error_run(error, "%s: out of memory for a run of %zu bytes", journal->path,
                         entry->size);
    blob->capacity = entry->size + 1;
    blob->size = entry->size;
    if (read_at(journal, blob->bytes, entry->size, entry->offset))
        return true;
    blob_clear(blob);
    return error_run(error, "%s: cannot be read back: %s", journal->path, strerror(errno));
}

size_t journal_count(const struct journal *journal)
{
    return journal->count;
}

size_t journal_discarded(const struct journal *journal)
{
    return journal->discarded;
}

void journal_close(struct journal *journal, bool remove)
{
    if (journal == NULL)
        return;
    /* Removed while the lock is held: no other sweep can have begun on it. */
    if (remove)
        (void)unlink(journal->path);
    if (journal->fd >= 0)
        (void)close(journal->fd);
    free(journal->path);
    free(journal->entries);
    free(journal);
}
