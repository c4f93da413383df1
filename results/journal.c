#include "results/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

/* The last character is the format's version. */
static const char magic[16] = "esgsim journal2";
enum { MAGIC_NAME = 14 };

struct head {
    char magic[sizeof magic];
    char identity[JOURNAL_IDENTITY];
};

/* Unlike any text, and any small number. */
static const unsigned char mark[8] = {0xA7, 'r', 'u', 'n', 0x1C, 0x9E, 0xF3, 0x85};

struct record {
    unsigned char mark[sizeof mark];
    uint64_t run;
    uint64_t size;
    uint32_t checksum;      /* CRC-32 of the bytes that follow */
    uint32_t head_checksum; /* CRC-32 of all before */
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
    bool dirty;
    time_t synced; /* CLOCK_MONOTONIC */
};

static uint32_t checksum_of(const void *bytes, size_t size)
{
    return (uint32_t)crc32_z(0, bytes, size);
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

/* ---- Opening --------------------------------------------------------------------------------- */

/* The whole record that begins at `at`, of `left` bytes; false where none does. */
static bool record_check(const struct journal *journal, const unsigned char *at, size_t left,
                         struct record *record)
{
    if (left < sizeof *record)
        return false;
    memcpy(record, at, sizeof *record);
    return memcmp(record->mark, mark, sizeof mark) == 0 &&
           record->head_checksum == checksum_of(record, offsetof(struct record, head_checksum)) &&
           record->size <= left - sizeof *record && record->run < journal->runs &&
           record->checksum == checksum_of(at + sizeof *record, (size_t)record->size) &&
           journal->entries[record->run].offset == 0;
}

/* Notes all whole records of the file's bytes. */
static void records_scan(struct journal *journal, const unsigned char *bytes, size_t size)
{
    size_t at = sizeof(struct head), whole = at;
    while (at < size) {
        struct record record;
        if (!record_check(journal, bytes + at, size - at, &record)) {
            const unsigned char *next = memmem(bytes + at + 1, size - at - 1, mark, sizeof mark);
            at = next == NULL ? size : (size_t)(next - bytes);
            continue;
        }
        at += sizeof record;
        journal->entries[record.run] = (struct entry){(off_t)at, (size_t)record.size};
        journal->count++;
        at += (size_t)record.size;
        whole += sizeof record + (size_t)record.size;
        journal->end = (off_t)at;
    }
    journal->discarded = size - whole;
}

static bool records_read(struct journal *journal, size_t size, struct error *error)
{
    journal->end = (off_t)sizeof(struct head);
    if (size == sizeof(struct head))
        return true;
    unsigned char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, journal->fd, 0);
    if (bytes == MAP_FAILED)
        return error_run(error, "%s: cannot be read: %s", journal->path, strerror(errno));
    records_scan(journal, bytes, size);
    (void)munmap(bytes, size);
    return true;
}

static bool runs_refuse(const struct journal *journal, bool other, struct error *error)
{
    if (other)
        return error_input(error,
                           "%s: holds finished runs of another sweep, shard or version of esgsim; "
                           "give another --out, or discard them with --restart (--resume would go "
                           "on with that sweep alone)",
                           journal->path);
    return error_input(error,
                       "%s: holds %zu finished runs of this sweep; go on with --resume, or discard "
                       "them with --restart",
                       journal->path, journal->count);
}

/* A file shorter than a head was cut short before any run could be added. */
static bool journal_scan(struct journal *journal, const char *identity, enum journal_start start,
                         struct error *error)
{
    struct stat status;
    struct head head;
    if (fstat(journal->fd, &status) != 0)
        return error_input(error, "%s: cannot be read: %s", journal->path, strerror(errno));
    if (status.st_size == 0)
        return true;
    const bool whole = status.st_size >= (off_t)sizeof head;
    const size_t length = whole ? sizeof head : (size_t)status.st_size;
    if (!read_at(journal, &head, length, 0))
        return error_input(error, "%s: cannot be read: %s", journal->path, strerror(errno));
    if (memcmp(head.magic, magic, length < MAGIC_NAME ? length : MAGIC_NAME) != 0)
        return error_input(error,
                           "%s: is not the journal of a sweep; move it away or give another "
                           "--out",
                           journal->path);
    if (!whole || start == JOURNAL_RESTART || status.st_size == (off_t)sizeof head)
        return true;
    if (memcmp(head.magic, magic, sizeof magic) != 0 ||
        memcmp(head.identity, identity, JOURNAL_IDENTITY) != 0)
        return runs_refuse(journal, true, error);
    if (!records_read(journal, (size_t)status.st_size, error))
        return false;
    return start == JOURNAL_RESUME || journal->count == 0 || runs_refuse(journal, false, error);
}

/* Behind the last whole record there is nothing; an empty journal gets its head. */
static bool journal_trim(struct journal *journal, const char *identity, struct error *error)
{
    struct head head;
    memcpy(head.magic, magic, sizeof magic);
    memcpy(head.identity, identity, JOURNAL_IDENTITY);
    if (journal->count == 0)
        journal->end = 0;
    if (ftruncate(journal->fd, journal->end) == 0 &&
        (journal->end > 0 || write_at(journal, &head, sizeof head, 0))) {
        if (journal->end == 0)
            journal->end = (off_t)sizeof head;
        return true;
    }
    return error_run(error, "%s: cannot be written: %s", journal->path, strerror(errno));
}

struct journal *journal_open(const char *path, const char *identity, size_t runs,
                             enum journal_start start, struct error *error)
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
    good = good && journal_scan(journal, identity, start, error) &&
           journal_trim(journal, identity, error);
    if (good)
        return journal;
    struct stat status;
    const bool empty = journal->fd >= 0 && fstat(journal->fd, &status) == 0 && status.st_size == 0;
    (void)journal_close(journal, empty, NULL);
    return NULL;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool sync_now(struct journal *journal, time_t now, struct error *error)
{
    if (!journal->dirty)
        return true;
    if (fdatasync(journal->fd) != 0)
        return error_run(error, "%s: cannot be synced to the disk: %s", journal->path,
                         strerror(errno));
    journal->dirty = false;
    journal->synced = now;
    return true;
}

bool journal_sync(struct journal *journal, struct error *error)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - journal->synced < JOURNAL_SYNC_S || sync_now(journal, now.tv_sec, error);
}

bool journal_append(struct journal *journal, size_t run, const void *bytes, size_t size,
                    struct error *error)
{
    struct record record = {.run = run, .size = size, .checksum = checksum_of(bytes, size)};
    memcpy(record.mark, mark, sizeof mark);
    record.head_checksum = checksum_of(&record, offsetof(struct record, head_checksum));
    off_t body = journal->end + (off_t)sizeof record;
    if (!write_at(journal, &record, sizeof record, journal->end) ||
        !write_at(journal, bytes, size, body)) {
        int reason = errno;
        /* Where that fails as well, the torn record is no whole one. */
        if (ftruncate(journal->fd, journal->end) != 0)
            reason = errno;
        return error_run(error, "%s: cannot be written: %s; make room", journal->path,
                         strerror(reason));
    }
    journal->entries[run] = (struct entry){body, size};
    journal->end = body + (off_t)size;
    journal->count++;
    journal->dirty = true;
    return journal_sync(journal, error);
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

bool journal_close(struct journal *journal, bool remove, struct error *error)
{
    if (journal == NULL)
        return true;
    if (remove && journal->path != NULL)
        (void)unlink(journal->path);
    const bool good = remove || journal->fd < 0 || sync_now(journal, 0, error);
    if (journal->fd >= 0)
        (void)close(journal->fd);
    free(journal->path);
    free(journal->entries);
    free(journal);
    return good;
}
