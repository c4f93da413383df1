/* The journal of a sweep: whole records are kept, torn and damaged ones given up. */
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
#include <sys/wait.h>
#include <unistd.h>

#include "results/journal.h"

enum { RUNS = 6, HEAD = 80, RECORD_HEAD = 24 };

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

static struct journal *must_open(bool resume)
{
    struct error error = {0};
    struct journal *journal = journal_open(path, identity, RUNS, resume, &error);
    if (journal == NULL) {
        fail_msg("%s", error.message);
        abort(); /* fail_msg does not return; analysers do not know */
    }
    return journal;
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
    struct journal *journal = must_open(false);
    fill(journal, order, RUNS);
    assert_holds(journal, order, RUNS);
    journal_close(journal, false);
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
        struct journal *journal = must_open(true);
        assert_holds(journal, order, whole);
        assert_int_equal(journal_discarded(journal), cut < HEAD ? 0 : cut - end);
        fill(journal, order + whole, RUNS - whole);
        journal_close(journal, false);
        assert_int_equal(file_read(again, sizeof again), size);
        assert_memory_equal(again, bytes, size);
    }
    assert_int_equal(whole, RUNS);
}

static void a_flipped_bit_is_never_read_as_a_run(void **state)
{
    unsigned char bytes[2000];
    (void)state;
    const size_t size = write_all(bytes, sizeof bytes);
    for (size_t bit = 8 * HEAD; bit < 8 * size; bit += 3) {
        struct error error = {0};
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
        file_write(bytes, size);
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
        struct journal *journal = journal_open(path, identity, RUNS, true, &error);
        assert_non_null(journal);
        assert_true(journal_count(journal) < RUNS);
        assert_holds(journal, order, journal_count(journal));
        journal_close(journal, false);
    }
}

static void the_journal_of_another_sweep_and_what_is_none_are_refused(void **state)
{
    unsigned char bytes[2000];
    struct error error = {0};
    (void)state;
    const size_t size = write_all(bytes, sizeof bytes);
    assert_null(journal_open(path, other, RUNS, true, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_non_null(strstr(error.message, "another sweep"));
    bytes[3] ^= 1;
    file_write(bytes, size);
    assert_null(journal_open(path, identity, RUNS, true, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_non_null(strstr(error.message, "is not the journal"));
    assert_null(journal_open("/no/such/folder/j", identity, RUNS, true, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    /* Without resuming, what is there does not matter. */
    struct journal *journal = must_open(false);
    assert_holds(journal, order, 0);
    journal_close(journal, false);
}

static void two_processes_do_not_share_a_journal(void **state)
{
    (void)state;
    struct journal *journal = must_open(false);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct error error = {0};
        bool refused = journal_open(path, identity, RUNS, true, &error) == NULL &&
                       error.kind == ERROR_INPUT &&
                       strstr(error.message, "another sweep is writing") != NULL;
        _exit(refused ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    journal_close(journal, false);
}

static void a_full_disk_is_told_and_loses_no_earlier_run(void **state)
{
    (void)state;
    struct rlimit old, small;
    struct error error = {0};
    unsigned char bytes[100];
    struct journal *journal = must_open(false);
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
    journal_close(journal, false);
    journal = must_open(true);
    assert_holds(journal, order, 2);
    assert_int_equal(journal_discarded(journal), 0);
    fill(journal, order + 2, RUNS - 2);
    assert_holds(journal, order, RUNS);
    journal_close(journal, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_any_byte_it_keeps_exactly_the_whole_records_and_goes_on),
        cmocka_unit_test(a_flipped_bit_is_never_read_as_a_run),
        cmocka_unit_test(the_journal_of_another_sweep_and_what_is_none_are_refused),
        cmocka_unit_test(two_processes_do_not_share_a_journal),
        cmocka_unit_test(a_full_disk_is_told_and_loses_no_earlier_run),
    };
    return cmocka_run_group_tests_name("journal", tests, make_file, remove_file);
}
