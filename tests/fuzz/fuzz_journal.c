/* The journal of a sweep: on any bytes, and on a journal of ours that was damaged. Also the
 * unpacking of a run from any bytes.
 *
 * An input that begins as a journal does is opened as it is. From any other the target takes
 * records, appends them, damages the file and opens it again: what is left must be what was
 * appended. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/journal.h"
#include "results/record.h"
#include "tests/fuzz/input.h"

enum { RUNS = 6, RECORD_MOST = 64, MAGIC = 16, DAMAGES_MOST = 4 };

static const char identity[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

struct appended {
    uint8_t bytes[RECORD_MOST];
    size_t size;
    bool there;
};

static void unpack(const void *bytes, size_t size)
{
    struct error error = {0};
    struct run_facts *facts = NULL;
    struct simulation_result result;
    struct run_rows rows;
    if (!run_unpack(bytes, size, &facts, &result, &rows, &error))
        return;
    run_facts_free(facts);
    free(result.applications);
    run_rows_clear(&rows);
}

static void journal_fill(const char *path, struct appended runs[RUNS], struct input_cursor *cursor)
{
    struct error error = {0};
    struct journal *journal = journal_open(path, identity, RUNS, JOURNAL_NEW, &error);
    const size_t count = input_byte(cursor) % (RUNS + 1);
    if (journal == NULL)
        abort();
    for (size_t i = 0; i < count; i++) {
        const size_t run = input_byte(cursor) % RUNS;
        if (runs[run].there)
            continue;
        runs[run].there = true;
        runs[run].size = 1 + input_byte(cursor) % RECORD_MOST; /* no run is empty */
        input_bytes(cursor, runs[run].bytes, runs[run].size);
        if (!journal_append(journal, run, runs[run].bytes, runs[run].size, &error))
            abort();
    }
    (void)journal_close(journal, false, NULL);
}

/* Bytes changed and, at last, the end cut off. False: nothing is changed. */
static bool damage(const char *path, struct input_cursor *cursor)
{
    struct stat status;
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0)
        abort();
    bool changed = false;
    for (size_t i = input_byte(cursor) % DAMAGES_MOST; i > 0; i--) {
        const off_t at = (input_byte(cursor) * 256 + input_byte(cursor)) % status.st_size;
        const uint8_t mask = input_byte(cursor);
        uint8_t byte = 0;
        if (pread(file, &byte, 1, at) != 1)
            abort();
        byte ^= mask;
        changed = changed || mask != 0;
        if (pwrite(file, &byte, 1, at) != 1)
            abort();
    }
    const off_t cut = input_byte(cursor);
    if (cut > 0 && ftruncate(file, cut < status.st_size ? status.st_size - cut : 0) != 0)
        abort();
    (void)close(file);
    return changed || cut > 0;
}

static void journal_check(const char *path, const struct appended runs[RUNS], bool damaged)
{
    struct error error = {0};
    struct journal *journal = journal_open(path, identity, RUNS, JOURNAL_RESUME, &error);
    if (journal == NULL) {
        if (!damaged)
            abort();
        input_require_refusal(&error);
        return;
    }
    size_t count = 0;
    for (size_t run = 0; run < RUNS; run++) {
        struct blob blob = {0};
        if (!journal_has(journal, run)) {
            if (runs[run].there && !damaged)
                abort();
            continue;
        }
        count++;
        if (!runs[run].there || !journal_read(journal, run, &blob, &error) ||
            blob.size != runs[run].size || memcmp(blob.bytes, runs[run].bytes, blob.size) != 0)
            abort();
        blob_clear(&blob);
    }
    if (count != journal_count(journal))
        abort();
    (void)journal_close(journal, true, NULL);
}

/* Records that are whole by themselves: whatever they hold is read back. */
static void journal_read_raw(const char *path, const uint8_t *data)
{
    char named[JOURNAL_IDENTITY + 1] = "";
    struct error error = {0};
    memcpy(named, data + MAGIC, JOURNAL_IDENTITY);
    struct journal *journal = journal_open(path, named, RUNS, JOURNAL_RESUME, &error);
    if (journal == NULL) {
        input_require_refusal(&error);
        return;
    }
    for (size_t run = 0; run < RUNS; run++) {
        struct blob blob = {0};
        if (!journal_has(journal, run))
            continue;
        if (!journal_read(journal, run, &blob, &error))
            abort();
        unpack(blob.bytes, blob.size);
        blob_clear(&blob);
    }
    (void)journal_close(journal, true, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bool is_file =
        size >= MAGIC + JOURNAL_IDENTITY && memcmp(data, "esgsim journal", 14) == 0;
    char path[256];
    int file = input_save(data, is_file ? size : 0, path);
    if (is_file) {
        journal_read_raw(path, data);
    } else {
        struct appended runs[RUNS] = {0};
        struct input_cursor cursor = {data, size};
        journal_fill(path, runs, &cursor);
        journal_check(path, runs, damage(path, &cursor));
        unpack(data, size);
    }
    (void)close(file);
    (void)unlink(path);
    return 0;
}
