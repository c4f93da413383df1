/* The farm of worker processes: order, failures, signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/farm.h"

enum { JOBS = 40 };

struct log {
    struct blob bytes; /* all blobs, in the order in which they came */
    size_t jobs[JOBS];
    size_t count;
    struct error failures[JOBS]; /* by job */
    bool failed[JOBS];
    size_t progress;
    size_t stop_after;   /* make `stop` readable after that many; 0: never */
    int stop[2];         /* a pipe */
    size_t refuse_after; /* collect fails after that many; 0: never */
};

static void log_clear(struct log *log)
{
    blob_clear(&log->bytes);
}

static bool collect(void *context, size_t job, const void *bytes, size_t size,
                    const struct error *failure, struct error *error)
{
    struct log *log = context;
    log->jobs[log->count++] = job;
    if (failure != NULL) {
        assert_null(bytes);
        log->failed[job] = true;
        log->failures[job] = *failure;
    } else {
        assert_true(blob_put(&log->bytes, bytes, size));
    }
    if (log->stop_after == log->count)
        assert_int_equal(write(log->stop[1], "x", 1), 1);
    if (log->refuse_after == log->count)
        return error_run(error, "the collector has had enough");
    return true;
}

static void progress(void *context, size_t ended, size_t jobs)
{
    struct log *log = context;
    assert_int_equal(jobs, JOBS);
    if (ended > log->progress)
        log->progress = ended;
}

/* Blobs of very different sizes, some far larger than a pipe holds; early jobs take longest. */
static bool plain_work(void *context, size_t job, struct blob *blob, struct error *error)
{
    (void)context;
    (void)error;
    if (job % 7 == 0) {
        struct timespec nap = {.tv_nsec = 20000000};
        (void)nanosleep(&nap, NULL);
    }
    size_t words = job % 5 == 0 ? 50000 : job;
    for (size_t i = 0; i < words; i++)
        if (!blob_put_u64(blob, job * 1000003 + i))
            return false;
    return true;
}

static bool faulty_work(void *context, size_t job, struct blob *blob, struct error *error)
{
    if (job == 3)
        abort();
    if (job == 5)
        (void)kill(getpid(), SIGKILL);
    if (job == 8)
        _exit(7);
    if (job == 11)
        return error_input(error, "job eleven has bad input");
    return plain_work(context, job, blob, error);
}

/* Would never end of itself. */
static bool endless_work(void *context, size_t job, struct blob *blob, struct error *error)
{
    if (job != 10)
        return plain_work(context, job, blob, error);
    (void)alarm(1);
    for (;;)
        (void)pause();
}

static struct farm farm_of(struct log *log, size_t workers,
                           bool (*work)(void *, size_t, struct blob *, struct error *))
{
    return (struct farm){.jobs = JOBS,
                         .workers = workers,
                         .context = log,
                         .work = work,
                         .collect = collect,
                         .progress = progress};
}

static void assert_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void assert_ascending(const struct log *log)
{
    for (size_t i = 1; i < log->count; i++)
        assert_true(log->jobs[i - 1] < log->jobs[i]);
}

static void blobs_come_in_job_order_and_whole_for_any_number_of_workers(void **state)
{
    struct blob expected = {0};
    (void)state;
    for (size_t job = 0; job < JOBS; job++)
        assert_true(plain_work(NULL, job, &expected, NULL));
    for (size_t workers = 1; workers <= 3; workers++) {
        struct log log = {0};
        struct farm farm = farm_of(&log, workers, plain_work);
        struct error error = {0};
        assert_true(farm_run(&farm, &error));
        assert_int_equal(log.count, JOBS);
        assert_int_equal(log.progress, JOBS);
        assert_ascending(&log);
        assert_int_equal(log.bytes.size, expected.size);
        assert_memory_equal(log.bytes.bytes, expected.bytes, expected.size);
        log_clear(&log);
    }
    blob_clear(&expected);
    assert_no_children();
}

static void a_worker_that_crashes_loses_only_its_own_job(void **state)
{
    struct log log = {0};
    struct farm farm = farm_of(&log, 3, faulty_work);
    struct error error = {0};
    (void)state;
    assert_true(farm_run(&farm, &error));
    assert_int_equal(log.count, JOBS);
    assert_ascending(&log);
    for (size_t job = 0; job < JOBS; job++)
        assert_int_equal(log.failed[job], job == 3 || job == 5 || job == 8 || job == 11);
    assert_non_null(strstr(log.failures[3].message, "(6)")); /* SIGABRT */
    assert_non_null(strstr(log.failures[5].message, "(9)")); /* SIGKILL */
    assert_non_null(strstr(log.failures[8].message, "exit status 7"));
    assert_string_equal(log.failures[11].message, "job eleven has bad input");
    assert_int_equal(log.failures[11].kind, ERROR_INPUT);
    log_clear(&log);
    assert_no_children();
}

static void a_worker_killed_from_outside_its_work_is_told(void **state)
{
    struct log log = {0};
    struct farm farm = farm_of(&log, 2, endless_work);
    struct error error = {0};
    (void)state;
    assert_true(farm_run(&farm, &error));
    for (size_t job = 0; job < JOBS; job++)
        assert_int_equal(log.failed[job], job == 10);
    assert_non_null(strstr(log.failures[10].message, "(14)")); /* SIGALRM */
    log_clear(&log);
}

static void a_readable_descriptor_stops_the_farm_and_keeps_what_has_finished(void **state)
{
    struct log log = {.stop_after = 5};
    struct farm farm = farm_of(&log, 2, plain_work);
    struct error error = {0};
    (void)state;
    assert_int_equal(pipe(log.stop), 0);
    farm.stops = true;
    farm.stop = log.stop[0];
    assert_false(farm_run(&farm, &error));
    assert_int_equal(error.kind, ERROR_RUN);
    assert_memory_equal(error.message, "interrupted", strlen("interrupted"));
    assert_in_range(log.count, 5, JOBS - 1);
    assert_ascending(&log);
    assert_no_children();
    assert_int_equal(close(log.stop[0]), 0);
    assert_int_equal(close(log.stop[1]), 0);
    log_clear(&log);
}

/* As a handler of a fault would. */
static bool failing_work(void *context, size_t job, struct blob *blob, struct error *error)
{
    if (job % 3 == 1)
        farm_fail("the words of a handler");
    return plain_work(context, job, blob, error);
}

static void a_job_that_ends_its_worker_with_a_message_fails_alone(void **state)
{
    struct log log = {0};
    struct farm farm = farm_of(&log, 2, failing_work);
    struct error error = {0};
    (void)state;
    assert_true(farm_run(&farm, &error));
    assert_int_equal(log.count, JOBS);
    for (size_t job = 0; job < JOBS; job++) {
        assert_int_equal(log.failed[job], job % 3 == 1);
        if (log.failed[job])
            assert_string_equal(log.failures[job].message, "the words of a handler");
    }
    assert_no_children();
    log_clear(&log);
}

static void a_collector_that_fails_ends_the_farm_with_its_error(void **state)
{
    (void)state;
    for (int unordered = 0; unordered < 2; unordered++) {
        struct log log = {.refuse_after = 4};
        struct farm farm = farm_of(&log, 3, plain_work);
        struct error error = {0};
        farm.unordered = unordered;
        assert_false(farm_run(&farm, &error));
        assert_string_equal(error.message, "the collector has had enough");
        assert_int_equal(log.count, 4);
        log_clear(&log);
        assert_no_children();
    }
}

/* What a service of several jobs by one process leaves in memory. */
static bool pid_work(void *context, size_t job, struct blob *blob, struct error *error)
{
    (void)context;
    (void)error;
    if (job == 250)
        abort();
    return blob_put_u64(blob, (uint64_t)getpid());
}

struct service {
    size_t jobs[300]; /* times each was collected */
    uint64_t pids[20];
    size_t pid_count, failed;
};

static bool collect_service(void *context, size_t job, const void *bytes, size_t size,
                            const struct error *failure, struct error *error)
{
    struct service *service = context;
    uint64_t pid = 0;
    (void)error;
    service->jobs[job]++;
    if (failure != NULL) {
        service->failed++;
        return true;
    }
    assert_int_equal(size, sizeof pid);
    memcpy(&pid, bytes, sizeof pid);
    size_t known = 0;
    while (known < service->pid_count && service->pids[known] != pid)
        known++;
    assert_true(known < 20);
    service->pids[known] = pid;
    service->pid_count += known == service->pid_count;
    return true;
}

static void workers_serve_many_jobs_and_are_replaced_and_each_job_is_collected_once(void **state)
{
    (void)state;
    for (size_t workers = 1; workers <= 2; workers++) {
        struct service service = {.failed = 0};
        struct farm farm = {.jobs = 300,
                            .workers = workers,
                            .unordered = true,
                            .context = &service,
                            .work = pid_work,
                            .collect = collect_service};
        struct error error = {0};
        assert_true(farm_run(&farm, &error));
        for (size_t job = 0; job < 300; job++)
            assert_int_equal(service.jobs[job], 1);
        assert_int_equal(service.failed, 1);
        /* 299 jobs by processes that serve 100 each, and one that was replaced. */
        assert_in_range(service.pid_count, 3, 4 + workers);
        assert_no_children();
    }
}

static void no_jobs_are_no_work(void **state)
{
    struct log log = {0};
    struct farm farm = farm_of(&log, 2, plain_work);
    struct error error = {0};
    (void)state;
    farm.jobs = 0;
    assert_true(farm_run(&farm, &error));
    assert_int_equal(log.count, 0);
}

static void a_blob_cut_short_is_noticed(void **state)
{
    struct blob blob = {0};
    char *text = NULL;
    uint64_t number = 0;
    (void)state;
    assert_true(blob_put_u64(&blob, 42) && blob_put_text(&blob, "forty-two"));
    for (size_t size = 0; size < blob.size; size++) {
        struct blob_cursor cursor = {blob.bytes, size};
        bool whole = blob_take_u64(&cursor, &number) && blob_take_text(&cursor, &text);
        assert_false(whole);
    }
    struct blob_cursor cursor = {blob.bytes, blob.size};
    assert_true(blob_take_u64(&cursor, &number) && blob_take_text(&cursor, &text));
    assert_int_equal(number, 42);
    assert_string_equal(text, "forty-two");
    assert_int_equal(cursor.left, 0);
    free(text);
    blob_clear(&blob);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blobs_come_in_job_order_and_whole_for_any_number_of_workers),
        cmocka_unit_test(a_worker_that_crashes_loses_only_its_own_job),
        cmocka_unit_test(a_worker_killed_from_outside_its_work_is_told),
        cmocka_unit_test(a_readable_descriptor_stops_the_farm_and_keeps_what_has_finished),
        cmocka_unit_test(a_job_that_ends_its_worker_with_a_message_fails_alone),
        cmocka_unit_test(a_collector_that_fails_ends_the_farm_with_its_error),
        cmocka_unit_test(workers_serve_many_jobs_and_are_replaced_and_each_job_is_collected_once),
        cmocka_unit_test(no_jobs_are_no_work),
        cmocka_unit_test(a_blob_cut_short_is_noticed),
    };
    return cmocka_run_group_tests_name("farm", tests, NULL, NULL);
}
