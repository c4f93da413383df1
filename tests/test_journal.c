/* The journal of a sweep: whole records are kept, torn and damaged ones given up and told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/journal.h"

enum { RUNS = 6, HEAD = 80, RECORD_HEAD = 32 };

static const char identity[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const char other[] = "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static char path[] = "/tmp/esgsim-journal-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* Run r's bytes: r + 1 times 10, each its place times run. */
static size_t content(size_t run, unsigned char bytes[100])
{
    size_t size = 10 * (run + 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * run + run);
    return size;
}

static struct journal *must_open(enum journal_start start)
{
    struct error error = {0};
    struct journal *journal = journal_open(path, identity, RUNS, start, &error);
    if (journal == NULL) {
        fail_msg("%s", error.message);
        abort(); /* fail_msg does not return; analysers do not know */
    }
    return journal;
}

static void must_close(struct journal *journal)
{
    assert_true(journal_close(journal, false, NULL));
}

static void fill(struct journal *journal, const size_t *runs, size_t count)
{
    struct error error = {0};
    unsigned char bytes[100];
    for (size_t i = 0; i < count; i++)
        assert_true(journal_append(journal, runs[i], bytes, content(runs[i], bytes), &error));
}

/* Exactly the first `whole` of `runs` are there, with their bytes. */
static void assert_holds(const struct journal *journal, const size_t *runs, size_t whole)
{
    struct error error = {0};
    unsigned char bytes[100];
    assert_int_equal(journal_count(journal), whole);
    for (size_t i = 0; i < whole; i++) {
        struct blob blob = {0};
        assert_true(journal_has(journal, runs[i]));
        assert_true(journal_read(journal, runs[i], &blob, &error));
        assert_int_equal(blob.size, content(runs[i], bytes));
        assert_memory_equal(blob.bytes, bytes, blob.size);
        blob_clear(&blob);
    }
}

static size_t file_read(unsigned char *bytes, size_t capacity)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(bytes, 1, capacity, file);
    (void)fclose(file);
    return size;
}

static void file_write(const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static const size_t order[RUNS] = {3, 0, 5, 1, 4, 2};

static size_t write_all(unsigned char *bytes, size_t capacity)
{
    struct journal *journal = must_open(JOURNAL_RESTART);
    fill(journal, order, RUNS);
    assert_holds(journal, order, RUNS);
    must_close(journal);
    return file_read(bytes, capacity);
}

static void cut_at_any_byte_it_keeps_exactly_the_whole_records_and_goes_on(void **state)
{
    unsigned char bytes[2000], again[2000];
    (void)state;
    const size_t size = write_all(bytes, sizeof bytes);
    size_t end = HEAD;
    size_t whole = 0;
    for (size_t cut = 0; cut <= size; cut++) {
        unsigned char unused[100];
        while (whole < RUNS && cut >= end + RECORD_HEAD + content(order[whole], unused))
            end += RECORD_HEAD + content(order[whole++], unused);
        file_write(bytes, cut);
        struct journal *journal = must_open(JOURNAL_RESUME);
        assert_holds(journal, order, whole);
        assert_int_equal(journal_discarded(journal), cut < HEAD ? 0 : cut - end);
        fill(journal, order + whole, RUNS - whole);
        must_close(journal);
        assert_int_equal(file_read(again, sizeof again), size);
        assert_memory_equal(again, bytes, size);
    }
    assert_int_equal(whole, RUNS);
}

/* Nothing is lost but the record that is hit, wherever it is. */
static void a_flipped_bit_costs_one_record_and_is_told(void **state)
{
    unsigned char bytes[2000];
    (void)state;
    const size_t size = write_all(bytes, sizeof bytes);
    size_t hit = 0, begin = HEAD;
    for (size_t bit = 8 * HEAD; bit < 8 * size; bit += 3) {
        unsigned char unused[100];
        while (bit / 8 >= begin + RECORD_HEAD + content(order[hit], unused))
            begin += RECORD_HEAD + content(order[hit++], unused);
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
        file_write(bytes, size);
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
        struct journal *journal = must_open(JOURNAL_RESUME);
        assert_int_equal(journal_count(journal), RUNS - 1);
        assert_false(journal_has(journal, order[hit]));
        assert_int_equal(journal_discarded(journal), RECORD_HEAD + content(order[hit], unused));
        /* Done again, it is behind the others. */
        fill(journal, order + hit, 1);
        assert_holds(journal, order, RUNS);
        must_close(journal);
        journal = must_open(JOURNAL_RESUME);
        assert_holds(journal, order, RUNS);
        must_close(journal);
    }
    assert_int_equal(hit, RUNS - 1);
}

/* `start` is refused with `complaint`, and the file's bytes stay. */
static void assert_refused(const char *sweep, enum journal_start start, const char *complaint)
{
    unsigned char before[2000], after[2000];
    struct error error = {0};
    const size_t size = file_read(before, sizeof before);
    assert_null(journal_open(path, sweep, RUNS, start, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    if (strstr(error.message, complaint) == NULL)
        fail_msg("%s", error.message);
    assert_int_equal(file_read(after, sizeof after), size);
    assert_memory_equal(before, after, size);
}

static void runs_are_never_discarded_unless_that_is_asked_for(void **state)
{
    unsigned char bytes[2000];
    (void)state;
    const size_t size = write_all(bytes, sizeof bytes);
    assert_refused(identity, JOURNAL_NEW,
                   "holds 6 finished runs of this sweep; go on with "
                   "--resume, or discard them with --restart");
    assert_refused(other, JOURNAL_NEW, "of another sweep");
    assert_refused(other, JOURNAL_NEW, "--restart (--resume would");
    assert_refused(other, JOURNAL_RESUME, "of another sweep");
    /* Of another version of the format. */
    bytes[14] = '1';
    file_write(bytes, size);
    assert_refused(identity, JOURNAL_NEW, "another sweep, shard or version");
    struct journal *journal = must_open(JOURNAL_RESTART);
    assert_holds(journal, order, 0);
    must_close(journal);
    /* A journal without a run holds nothing that could be lost. */
    journal = must_open(JOURNAL_NEW);
    assert_holds(journal, order, 0);
    assert_int_equal(journal_discarded(journal), 0);
    must_close(journal);
}

static void what_is_no_journal_is_refused_and_stays(void **state)
{
    unsigned char bytes[2000];
    struct error error = {0};
    (void)state;
    const size_t size = write_all(bytes, sizeof bytes);
    bytes[3] ^= 1;
    for (size_t length = size; length > 10; length /= 4) {
        file_write(bytes, length);
        for (int start = JOURNAL_NEW; start <= JOURNAL_RESTART; start++)
            assert_refused(identity, (enum journal_start)start, "is not the journal");
    }
    assert_null(journal_open("/no/such/folder/j", identity, RUNS, JOURNAL_RESUME, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    file_write(bytes, 0);
}

static void a_full_disk_is_told_and_loses_no_earlier_run(void **state)
{
    (void)state;
    struct rlimit old, small;
    struct error error = {0};
    unsigned char bytes[100];
    struct journal *journal = must_open(JOURNAL_RESTART);
    fill(journal, order, 2);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 250; /* within the third record */
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool good = journal_append(journal, order[2], bytes, content(order[2], bytes), &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, SIG_DFL);
    assert_false(good);
    assert_int_equal(error.kind, ERROR_RUN);
    assert_non_null(strstr(error.message, "make room"));
    must_close(journal);
    journal = must_open(JOURNAL_RESUME);
    assert_holds(journal, order, 2);
    assert_int_equal(journal_discarded(journal), 0);
    fill(journal, order + 2, RUNS - 2);
    assert_holds(journal, order, RUNS);
    must_close(journal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_any_byte_it_keeps_exactly_the_whole_records_and_goes_on),
        cmocka_unit_test(a_flipped_bit_costs_one_record_and_is_told),
        cmocka_unit_test(runs_are_never_discarded_unless_that_is_asked_for),
        cmocka_unit_test(what_is_no_journal_is_refused_and_stays),
        cmocka_unit_test(a_full_disk_is_told_and_loses_no_earlier_run),
    };
    return cmocka_run_group_tests_name("journal", tests, make_file, remove_file);
}
