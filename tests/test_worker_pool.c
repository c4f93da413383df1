/* The farm of worker processes: what ends when, failures, signals. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "sim/run/worker_pool.h"
#include "tests/suite.h"

enum { JOBS = 40, MANY = 300 };

/* What the workers did, in memory that they share with the test. */
struct shared {
    int worked[MANY];
    int published[MANY];
    atomic_int publications;
};

struct log {
    struct shared *shared;
    size_t held[WORKER_POOL_SERVICE]; /* in a worker */
    size_t held_count;
    size_t collected[MANY]; /* times */
    size_t count, failed_count;
    struct error failures[MANY]; /* by job */
    bool failed[MANY];
    size_t jobs;
    struct progress_bar bar;
    size_t stop_after;   /* make `stop` readable after that many; 0: never */
    int stop[2];         /* a pipe */
    size_t refuse_after; /* collect fails after that many; 0: never */
};

static struct log log_create(void)
{
    void *shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    return (struct log){.shared = shared, .bar = {.quiet = true}};
}

static void log_clear(struct log *log)
{
    assert_int_equal(munmap(log->shared, sizeof *log->shared), 0);
}

#define LOG CLOSED(log_clear) struct log

static bool collect(void *context, size_t job, uint64_t place, const struct error *failure,
                    struct error *error)
{
    struct log *log = context;
    log->collected[job]++;
    log->count++;
    if (failure != NULL) {
        log->failed[job] = true;
        log->failed_count++;
        log->failures[job] = *failure;
    } else {
        assert_int_equal(place, 1000 + job);
        assert_true(log->shared->published[job] > 0);
    }
    if (log->stop_after == log->count)
        assert_int_equal(write(log->stop[1], "x", 1), 1);
    if (log->refuse_after == log->count)
        return error_run(error, "the collector has had enough");
    return true;
}

static enum worker_pool_outcome quick_work(void *context, size_t job, uint64_t *place,
                                           struct error *error)
{
    struct log *log = context;
    log->shared->worked[job]++;
    log->held[log->held_count++] = job;
    *place = 1000 + job;
    return WORKER_POOL_HELD;
}

/* Some jobs take a while. */
static enum worker_pool_outcome plain_work(void *context, size_t job, uint64_t *place,
                                           struct error *error)
{
    if (job % 7 == 0) {
        struct timespec nap = {.tv_nsec = 20000000};
        (void)nanosleep(&nap, NULL);
    }
    return quick_work(context, job, place, error);
}

static bool publish(void *context, struct error *error)
{
    struct log *log = context;
    log->shared->publications++;
    for (size_t i = 0; i < log->held_count; i++)
        log->shared->published[log->held[i]]++;
    log->held_count = 0;
    return true;
}

static enum worker_pool_outcome faulty_work(void *context, size_t job, uint64_t *place,
                                            struct error *error)
{
    if (job == 3)
        abort();
    if (job == 5)
        (void)kill(getpid(), SIGKILL);
    if (job == 8)
        _exit(7);
    if (job == 11) {
        (void)error_input(error, "job eleven has bad input");
        return WORKER_POOL_FAILED;
    }
    return quick_work(context, job, place, error);
}

/* Would never end of itself. */
static enum worker_pool_outcome endless_work(void *context, size_t job, uint64_t *place,
                                             struct error *error)
{
    if (job != 10)
        return quick_work(context, job, place, error);
    (void)alarm(1);
    for (;;)
        (void)pause();
}

static struct worker_pool
worker_pool_of(struct log *log, size_t jobs, size_t workers,
               enum worker_pool_outcome (*work)(void *, size_t, uint64_t *, struct error *))
{
    log->jobs = jobs;
    return (struct worker_pool){.jobs = jobs,
                                .workers = workers,
                                .hold_ms = WORKER_POOL_HOLD_MS,
                                .context = log,
                                .work = work,
                                .publish = publish,
                                .collect = collect,
                                .bar = &log->bar};
}

static void assert_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* Each job ended once, and failed only where it should. */
static void assert_ended(const struct log *log, bool (*fails)(size_t job))
{
    for (size_t job = 0; job < log->jobs; job++) {
        assert_int_equal(log->collected[job], 1);
        assert_int_equal(log->failed[job], fails != NULL && fails(job));
    }
}

CASE(each_job_is_published_and_then_collected_once_for_any_number_of_workers)
{
    for (size_t workers = 1; workers <= 3; workers++) {
        LOG log = log_create();
        struct worker_pool worker_pool = worker_pool_of(&log, JOBS, workers, plain_work);
        assert_true(worker_pool_run(&worker_pool, hear()));
        assert_ended(&log, NULL);
        assert_int_equal(log.bar.done, JOBS);
        for (size_t job = 0; job < JOBS; job++)
            assert_int_equal(log.shared->worked[job], 1);
        /* Not each by itself. */
        assert_in_range(log.shared->publications, 1, JOBS / 2);
    }
    assert_no_children();
}

CASE(without_a_time_to_hold_each_job_is_published_by_itself)
{
    LOG log = log_create();
    struct worker_pool worker_pool = worker_pool_of(&log, JOBS, 2, quick_work);
    worker_pool.hold_ms = 0;
    assert_true(worker_pool_run(&worker_pool, hear()));
    assert_ended(&log, NULL);
    assert_int_equal(log.shared->publications, JOBS);
}

static bool is_faulty(size_t job)
{
    return job == 3 || job == 5 || job == 8 || job == 11;
}

CASE(a_worker_that_crashes_fails_its_job_and_what_it_held_is_done_again)
{
    LOG log = log_create();
    struct worker_pool worker_pool = worker_pool_of(&log, JOBS, 1, faulty_work);
    assert_true(worker_pool_run(&worker_pool, hear()));
    assert_ended(&log, is_faulty);
    assert_contains(log.failures[3].message, "(6)"); /* SIGABRT */
    assert_contains(log.failures[5].message, "(9)"); /* SIGKILL */
    assert_contains(log.failures[8].message, "exit status 7");
    assert_string_equal(log.failures[11].message, "job eleven has bad input");
    assert_int_equal(log.failures[11].kind, ERROR_INPUT);
    /* Unless the machine was so slow that they were published before. */
    assert_in_range(log.shared->worked[2], 1, 2);
    assert_int_equal(log.shared->worked[12], 1);
    assert_no_children();
}

static bool is_ten(size_t job)
{
    return job == 10;
}

CASE(a_worker_killed_from_outside_its_work_is_told)
{
    LOG log = log_create();
    struct worker_pool worker_pool = worker_pool_of(&log, JOBS, 2, endless_work);
    assert_true(worker_pool_run(&worker_pool, hear()));
    assert_ended(&log, is_ten);
    assert_contains(log.failures[10].message, "(14)"); /* SIGALRM */
}

/* Only four end. */
static enum worker_pool_outcome four_work(void *context, size_t job, uint64_t *place,
                                          struct error *error)
{
    if (job >= 4)
        (void)pause();
    return quick_work(context, job, place, error);
}

CASE(a_readable_descriptor_stops_the_worker_pool_and_keeps_what_has_ended)
{
    LOG log = log_create();
    struct worker_pool worker_pool = worker_pool_of(&log, JOBS, 2, four_work);
    worker_pool.hold_ms = 0;
    log.stop_after = 4;
    assert_int_equal(pipe(log.stop), 0);
    worker_pool.stops = true;
    worker_pool.stop = log.stop[0];
    assert_bad_run(worker_pool_run(&worker_pool, hear()), "");
    assert_memory_equal(heard.message, "interrupted", strlen("interrupted"));
    assert_int_equal(log.count, 4);
    assert_int_equal(log.shared->publications, 4);
    assert_no_children();
    assert_int_equal(close(log.stop[0]), 0);
    assert_int_equal(close(log.stop[1]), 0);
}

/* As a handler of a fault would. */
static enum worker_pool_outcome failing_work(void *context, size_t job, uint64_t *place,
                                             struct error *error)
{
    if (job % 3 == 1)
        worker_pool_fail("the words of a handler");
    return quick_work(context, job, place, error);
}

static bool is_failing(size_t job)
{
    return job % 3 == 1;
}

CASE(a_job_that_ends_its_worker_with_a_message_fails_alone)
{
    LOG log = log_create();
    struct worker_pool worker_pool = worker_pool_of(&log, JOBS, 2, failing_work);
    assert_true(worker_pool_run(&worker_pool, hear()));
    assert_ended(&log, is_failing);
    assert_string_equal(log.failures[4].message, "the words of a handler");
    assert_no_children();
}

CASE(a_collector_that_fails_ends_the_worker_pool_with_its_error)
{
    LOG log = log_create();
    struct worker_pool worker_pool = worker_pool_of(&log, JOBS, 3, plain_work);
    log.refuse_after = 4;
    assert_false(worker_pool_run(&worker_pool, hear()));
    assert_string_equal(heard.message, "the collector has had enough");
    assert_int_equal(log.count, 4);
    assert_no_children();
}

static enum worker_pool_outcome broken_work(void *context, size_t job, uint64_t *place,
                                            struct error *error)
{
    if (job < 6)
        return quick_work(context, job, place, error);
    (void)error_run(error, "job %zu finds no room on the disk", job);
    return WORKER_POOL_BROKEN;
}

static bool publish_nothing(void *context, struct error *error)
{
    return error_run(error, "nothing can be published");
}

static bool publish_and_crash(void *context, struct error *error)
{
    abort();
}

CASE(where_no_result_can_be_written_the_worker_pool_ends_with_the_reason)
{
    LOG log = log_create();
    struct worker_pool worker_pool = worker_pool_of(&log, JOBS, 1, broken_work);
    assert_false(worker_pool_run(&worker_pool, hear()));
    assert_string_equal(heard.message, "job 6 finds no room on the disk");
    assert_int_equal(log.failed_count, 0);
    worker_pool.work = plain_work;
    worker_pool.publish = publish_nothing;
    assert_false(worker_pool_run(&worker_pool, hear()));
    assert_string_equal(heard.message, "nothing can be published");
    assert_no_children();
}

/* It would again and again. */
CASE(jobs_whose_worker_crashes_as_it_publishes_fail)
{
    LOG log = log_create();
    struct worker_pool worker_pool = worker_pool_of(&log, 3, 1, quick_work);
    worker_pool.publish = publish_and_crash;
    assert_true(worker_pool_run(&worker_pool, hear()));
    assert_int_equal(log.failed_count, 3);
    assert_no_children();
}

static enum worker_pool_outcome pid_work(void *context, size_t job, uint64_t *place,
                                         struct error *error)
{
    if (job == 250)
        abort();
    const enum worker_pool_outcome outcome = quick_work(context, job, place, error);
    ((struct log *)context)->shared->worked[job] = (int)getpid();
    return outcome;
}

static bool is_250(size_t job)
{
    return job == 250;
}

CASE(workers_serve_many_jobs_and_are_replaced_and_each_job_is_collected_once)
{
    for (size_t workers = 1; workers <= 2; workers++) {
        LOG log = log_create();
        struct worker_pool worker_pool = worker_pool_of(&log, MANY, workers, pid_work);
        assert_true(worker_pool_run(&worker_pool, hear()));
        assert_ended(&log, is_250);
        int pids[20] = {0};
        size_t count = 0;
        for (size_t job = 0; job < MANY; job++) {
            size_t known = 0;
            while (known < count && pids[known] != log.shared->worked[job])
                known++;
            assert_true(known < 20);
            pids[known] = log.shared->worked[job];
            count += known == count;
        }
        /* 299 jobs by processes that serve 100 each, what one held done again, and job 250 by none.
         */
        assert_in_range(count, 3, 6 + workers);
        assert_no_children();
    }
}

CASE(no_jobs_are_no_work)
{
    LOG log = log_create();
    struct worker_pool worker_pool = worker_pool_of(&log, 0, 2, plain_work);
    assert_true(worker_pool_run(&worker_pool, hear()));
    assert_int_equal(log.count, 0);
}

SUITE("worker_pool")
