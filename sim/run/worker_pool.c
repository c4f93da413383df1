#include "sim/run/worker_pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/clock.h"
#include "sim/base/unfinished.h"
#include "sim/run/guard.h"

#define NO_JOB SIZE_MAX
enum { GRACE_MS = 500 }; /* for a worker that has closed its channel */

/* A message to a worker. It has no padding, because padding bytes would be undefined. */
struct order {
    size_t job;     /* NO_JOB: only publish */
    size_t publish; /* not 0: publish all held results, with that of this job */
};

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_HELD, JOB_ENDED };

struct job {
    enum job_state state;
    bool lost; /* its worker died before it published the result */
    uint64_t place;
    struct error *failure; /* NULL: it did not fail */
};

struct worker {
    pid_t pid;   /* 0: no process */
    int channel; /* socket: sends orders, receives messages */
    bool busy;
    size_t job; /* while busy */
    size_t held[WORKER_POOL_SERVICE];
    size_t held_count;
    struct guard_watch watch;
};

struct yard {
    struct arena *arena; /* of what it has */
    const struct worker_pool *worker_pool;
    struct job *jobs;
    struct worker *workers;
    size_t worker_count;
    struct simulation_place *places; /* one per worker, in memory shared with it */
    struct pollfd *polls;            /* one per worker, then worker_pool.stop */
    size_t *ended;                   /* jobs in the order in which they ended */
    size_t ended_count, collected;
    size_t next;          /* no job below this index is waiting */
    size_t busy;          /* number of busy workers */
    uint64_t done_before; /* in earlier pools, for the progress bar */
    bool stopped;
    bool broken;
    struct error fault; /* if broken */
};

/* The reply of a child to an order. */
struct message {
    enum worker_pool_outcome outcome; /* of the job; WORKER_POOL_HELD for NO_JOB */
    bool published;                   /* all held results, with that of this job */
    bool last;                        /* the worker exits now */
    uint64_t place;
    struct error error;
};

/* ---- The child ------------------------------------------------------------------------------- */

/* Results that this worker holds. */
struct holding {
    size_t count;
    int64_t since; /* ns: when the first job began */
};

static int child_channel = -1; /* of this process if it is a worker */

/* Sends a message atomically: completely or not at all. */
static bool send_whole(int fd, const void *bytes, size_t size)
{
    ssize_t sent;
    do {
        sent = send(fd, bytes, size, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)size;
}

/* Returns the number of bytes; 0: the peer closed its end; −1 with EAGAIN: no message. */
static ssize_t receive_whole(int fd, void *bytes, size_t size, int flags)
{
    ssize_t got;
    do {
        got = recv(fd, bytes, size, flags);
    } while (got < 0 && errno == EINTR);
    return got;
}

_Noreturn void worker_pool_fail(const char *message)
{
    static struct message failure = {
        .outcome = WORKER_POOL_FAILED, .last = true, .error = {.kind = ERROR_RUN}};
    strncpy(failure.error.message, message, sizeof failure.error.message - 1);
    (void)send_whole(child_channel, &failure, sizeof failure);
    _exit(1);
}

static bool child_serve(const struct worker_pool *worker_pool, const struct order *order, bool last,
                        struct holding *holding)
{
    const size_t job = order->job;
    struct message message = {.outcome = WORKER_POOL_HELD, .last = last};
    const int64_t begin = clock_ns();
    if (job != NO_JOB)
        message.outcome =
            worker_pool->work(worker_pool->context, job, &message.place, &message.error);
    if (job != NO_JOB && message.outcome == WORKER_POOL_HELD && holding->count++ == 0)
        holding->since = begin;
    const int64_t held_ms = (clock_ns() - holding->since) / 1000000;
    const bool due = order->publish != 0 || last || held_ms >= (int64_t)worker_pool->hold_ms;
    if (holding->count > 0 && due && message.outcome != WORKER_POOL_BROKEN) {
        message.published = worker_pool->publish == NULL ||
                            worker_pool->publish(worker_pool->context, &message.error);
        message.outcome = message.published ? message.outcome : WORKER_POOL_BROKEN;
        holding->count = 0;
    }
    return send_whole(child_channel, &message, sizeof message);
}

static _Noreturn void child_run(const struct worker_pool *worker_pool, int fd,
                                struct simulation_place *place, pid_t parent)
{
    child_channel = fd;
    simulation_share_place(place);
    guard_enter_worker(worker_pool_fail);
    /* If the parent dies, the kernel kills its children. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    struct holding holding = {.count = 0};
    struct order order;
    bool good = true;
    for (size_t served = 1; good && served <= WORKER_POOL_SERVICE; served++)
        good = receive_whole(fd, &order, sizeof order, 0) == (ssize_t)sizeof order &&
               child_serve(worker_pool, &order, served == WORKER_POOL_SERVICE, &holding);
    unfinished_remove_all(); /* of this process: modules of policies */
    _exit(good ? 0 : 1);
}

/* ---- Orders ---------------------------------------------------------------------------------- */

static bool worker_start(struct yard *yard, struct worker *worker, struct error *error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return error_run(error, "cannot open a channel to a worker process: %s", strerror(errno));
    (void)fflush(NULL);
    struct simulation_place *place = &yard->places[worker - yard->workers];
    *place = (struct simulation_place){.inside = false};
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        child_run(yard->worker_pool, ends[1], place, parent);
    }
    int reason = errno;
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return error_run(error, "cannot start a worker process: %s", strerror(reason));
    }
    *worker = (struct worker){.pid = pid, .channel = ends[0]};
    return true;
}

/* Sends an order. A repeated job is published immediately, so that it cannot be lost again. The
 * send does not block, because the channel is empty. The death of a worker is detected later, when
 * its end of the channel closes. */
static void worker_order(struct yard *yard, struct worker *worker, size_t job)
{
    const struct order order = {job, job == NO_JOB || yard->jobs[job].lost};
    (void)send_whole(worker->channel, &order, sizeof order);
    worker->busy = true;
    worker->job = job;
    yard->busy++;
    if (job != NO_JOB)
        yard->jobs[job].state = JOB_RUNNING;
}

/* Returns the first waiting job; NO_JOB: none. */
static size_t job_next(struct yard *yard)
{
    while (yard->next < yard->worker_pool->jobs && yard->jobs[yard->next].state != JOB_WAITING)
        yard->next++;
    return yard->next < yard->worker_pool->jobs ? yard->next : NO_JOB;
}

/* If no process can be started, continues with the running ones. Fails only if there are none. */
static bool orders_give(struct yard *yard, struct error *error)
{
    struct error failure = {0};
    bool short_of_processes = false;
    for (size_t w = 0; w < yard->worker_count; w++) {
        struct worker *worker = &yard->workers[w];
        const size_t job = job_next(yard);
        if (worker->busy || (job == NO_JOB && worker->held_count == 0))
            continue;
        if (worker->pid != 0 || worker_start(yard, worker, &failure))
            worker_order(yard, worker, job);
        else
            short_of_processes = true;
    }
    if (!short_of_processes || yard->busy > 0)
        return true;
    if (error != NULL)
        *error = failure;
    return false;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void progress_show(const struct yard *yard)
{
    struct progress_bar *bar = yard->worker_pool->bar;
    if (bar != NULL)
        progress_bar_update(bar, yard->done_before + yard->ended_count,
                            yard->done_before + yard->worker_pool->jobs);
}

static void job_end(struct yard *yard, size_t index, const struct error *failure)
{
    struct job *job = &yard->jobs[index];
    job->state = JOB_ENDED;
    if (failure != NULL)
        job->failure = arena_copy(yard->arena, failure, 1, sizeof *failure);
    yard->ended[yard->ended_count++] = index;
    progress_show(yard);
}

/* Ends all jobs whose results the worker held: published, or failed with `failure`. */
static void held_end(struct yard *yard, struct worker *worker, const struct error *failure)
{
    for (size_t i = 0; i < worker->held_count; i++)
        job_end(yard, worker->held[i], failure);
    worker->held_count = 0;
}

/* Has all jobs repeated whose results the worker held. */
static void held_repeat(struct yard *yard, struct worker *worker)
{
    for (size_t i = 0; i < worker->held_count; i++) {
        yard->jobs[worker->held[i]].state = JOB_WAITING;
        yard->jobs[worker->held[i]].lost = true;
        yard->next = worker->held[i] < yard->next ? worker->held[i] : yard->next;
    }
    worker->held_count = 0;
}

/* Waits for the end of a worker. */
static int worker_reap(struct worker *worker)
{
    (void)close(worker->channel);
    const int status = worker_pool_reap(worker->pid);
    worker->pid = 0;
    return status;
}

int worker_pool_reap(pid_t pid)
{
    siginfo_t ended = {.si_pid = 0};
    int status = 0;
    for (int ms = 0; ms < GRACE_MS && ended.si_pid == 0; ms++) {
        (void)waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT);
        if (ended.si_pid == 0)
            (void)usleep(1000);
    }
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return ended.si_pid != 0 ? status : 0;
}

void worker_pool_word_end(const struct simulation_place *place, int status, struct error *failure)
{
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *what =
        number == 0 ? "rule process: the policy ended or replaced its process, or closed its files"
        : place->inside ? "rule crash: the policy caused a signal: "
                        : "crashed outside the policy, which may have damaged memory if it is your "
                          "own (see Debugging in sched/WRITING.md): ";
    char message[GUARD_MESSAGE];
    if (place->callback != NULL && number != SIGKILL && number != SIGTERM) {
        guard_word(place, what, number != 0 ? strsignal(number) : "", message);
        (void)error_run(failure, "%s", message);
    } else if (number != 0) {
        (void)error_run(failure, WORKER_POOL_KILLED ": %s (%d)", strsignal(number), number);
    } else {
        (void)error_run(failure,
                        "the worker process ended before it had handed back (exit status %d)",
                        WEXITSTATUS(status));
    }
}

/* Handles a worker that died before it replied, or, for `reason`, has to die. If it died while it
 * published, a repetition would die too, so the held jobs fail. Else they are repeated. */
static void worker_lose(struct yard *yard, struct worker *worker, const char *reason)
{
    struct error failure = {0};
    if (reason != NULL)
        (void)kill(worker->pid, SIGKILL);
    const int status = worker_reap(worker);
    if (reason != NULL)
        (void)error_run(&failure, "%s", reason);
    else
        worker_pool_word_end(&yard->places[worker - yard->workers], status, &failure);
    if (worker->busy && worker->job == NO_JOB)
        held_end(yard, worker, &failure);
    else if (worker->busy)
        job_end(yard, worker->job, &failure);
    held_repeat(yard, worker);
    yard->busy -= worker->busy;
    worker->busy = false;
}

static void message_take(struct yard *yard, struct worker *worker, const struct message *message)
{
    const size_t index = worker->job;
    worker->busy = false;
    yard->busy--;
    if (message->outcome == WORKER_POOL_BROKEN) {
        yard->broken = true;
        yard->fault = message->error;
        return;
    }
    if (index != NO_JOB && message->outcome == WORKER_POOL_FAILED) {
        job_end(yard, index, &message->error);
    } else if (index != NO_JOB) {
        yard->jobs[index].state = JOB_HELD;
        yard->jobs[index].place = message->place;
        worker->held[worker->held_count++] = index;
    }
    if (message->published)
        held_end(yard, worker, NULL);
    if (!message->last)
        return;
    held_repeat(yard, worker);
    (void)worker_reap(worker);
}

static void worker_read(struct yard *yard, struct worker *worker)
{
    struct message message;
    const ssize_t got = receive_whole(worker->channel, &message, sizeof message, MSG_DONTWAIT);
    if (got == (ssize_t)sizeof message && worker->busy)
        message_take(yard, worker, &message);
    else if (got >= 0 || errno != EAGAIN)
        worker_lose(yard, worker, NULL);
}

/* ---- The yard -------------------------------------------------------------------------------- */

static bool job_collect(struct yard *yard, struct error *error)
{
    const struct worker_pool *worker_pool = yard->worker_pool;
    const size_t index = yard->ended[yard->collected++];
    struct job *job = &yard->jobs[index];
    const bool good =
        worker_pool->collect(worker_pool->context, index, job->place, job->failure, error);
    arena_release(yard->arena, job->failure);
    return good;
}

static void yard_kill(struct yard *yard)
{
    for (size_t w = 0; w < yard->worker_count; w++) {
        struct worker *worker = &yard->workers[w];
        if (worker->pid == 0)
            continue;
        (void)kill(worker->pid, SIGKILL);
        (void)worker_reap(worker);
    }
}

/* Ends workers whose policy does not return, and which may have blocked all signals. */
static void yard_watch(struct yard *yard)
{
    char message[GUARD_MESSAGE];
    for (size_t w = 0; w < yard->worker_count; w++)
        if (yard->workers[w].busy && guard_is_late(&yard->workers[w].watch, &yard->places[w],
                                                   yard->worker_pool->callback_s, message))
            worker_lose(yard, &yard->workers[w], message);
}

static void yard_poll(struct yard *yard)
{
    const int tick_ms = guard_tick_ms(yard->worker_pool->callback_s);
    const size_t workers = yard->worker_count;
    for (size_t w = 0; w < workers; w++)
        yard->polls[w] = (struct pollfd){
            .fd = yard->workers[w].pid != 0 ? yard->workers[w].channel : -1, .events = POLLIN};
    yard->polls[workers] = (struct pollfd){
        .fd = yard->worker_pool->stops ? yard->worker_pool->stop : -1, .events = POLLIN};
    const bool waits = yard->collected == yard->ended_count;
    int ready = poll(yard->polls, (nfds_t)workers + 1, waits ? tick_ms : 0);
    yard_watch(yard);
    if (waits && ready == 0)
        progress_show(yard);
    if (ready <= 0)
        return;
    for (size_t w = 0; w < workers; w++)
        if (yard->polls[w].revents != 0 && yard->workers[w].pid != 0)
            worker_read(yard, &yard->workers[w]);
    if (yard->polls[workers].revents != 0)
        yard->stopped = true;
}

/* Gives orders before it collects an ended job, so that workers are not idle meanwhile. */
static bool yard_work(struct yard *yard, struct error *error)
{
    const struct worker_pool *worker_pool = yard->worker_pool;
    while (yard->collected < worker_pool->jobs && !yard->stopped && !yard->broken) {
        if (!orders_give(yard, error))
            return false;
        if (yard->collected < yard->ended_count && !job_collect(yard, error))
            return false;
        if (yard->collected < worker_pool->jobs)
            yard_poll(yard);
    }
    if (!yard->stopped && !yard->broken)
        return true;
    yard_kill(yard);
    while (yard->collected < yard->ended_count)
        if (!job_collect(yard, error))
            return false;
    if (yard->broken && error != NULL)
        *error = yard->fault;
    if (yard->broken)
        return false;
    return worker_pool->jobs == 1 ? error_run(error, "interrupted")
                                  : error_run(error, "interrupted: %zu of %zu jobs had ended",
                                              yard->ended_count, worker_pool->jobs);
}

static bool yard_open(struct yard *yard, struct error *error)
{
    const size_t jobs = yard->worker_pool->jobs;
    const size_t workers = yard->worker_count;
    yard->arena = arena_create();
    yard->jobs = arena_allocate(yard->arena, jobs, sizeof *yard->jobs);
    yard->workers = arena_allocate(yard->arena, workers, sizeof *yard->workers);
    yard->polls = arena_allocate(yard->arena, workers + 1, sizeof *yard->polls);
    yard->ended = arena_allocate(yard->arena, jobs, sizeof *yard->ended);
    yard->places = mmap(NULL, workers * sizeof *yard->places, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return yard->places != MAP_FAILED ||
           error_run(error, "out of memory for %zu jobs on %zu worker processes", jobs, workers);
}

static void yard_close(struct yard *yard)
{
    yard_kill(yard);
    if (yard->places != MAP_FAILED)
        (void)munmap(yard->places, yard->worker_count * sizeof *yard->places);
    arena_destroy(yard->arena);
}

size_t worker_pool_size(uint64_t asked, size_t jobs)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t most = asked > 0 ? asked : cores < 1 ? 1 : (uint64_t)cores;
    return jobs == 0 ? 1 : most < jobs ? (size_t)most : jobs;
}

bool worker_pool_run(const struct worker_pool *worker_pool, struct error *error)
{
    struct yard yard = {.worker_pool = worker_pool,
                        .worker_count = worker_pool_size(worker_pool->workers, worker_pool->jobs),
                        .done_before = worker_pool->bar == NULL ? 0 : worker_pool->bar->done};
    const bool good = yard_open(&yard, error) && yard_work(&yard, error);
    yard_close(&yard);
    return good;
}
