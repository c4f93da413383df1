#include "sim/farm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_COLLECTED };

struct job {
    enum job_state state;
    struct blob blob;
    struct error *failure;
};

struct worker {
    pid_t pid; /* 0: idle */
    int pipe;
    size_t job;
    struct blob received;
};

struct yard {
    const struct farm *farm;
    struct job *jobs;
    struct worker *workers;
    struct pollfd *polls; /* one a worker, then the signals */
    int signals;
    sigset_t old_mask;
    size_t next;    /* first job not started */
    size_t collect; /* first job not collected */
    size_t ended;
    size_t running;
    bool stopped;
};

/* What a child sends first. */
struct message_header {
    uint64_t size;
    uint64_t succeeded;
};

static bool write_all(int fd, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        ssize_t written = write(fd, from, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        from += written;
        size -= (size_t)written;
    }
    return true;
}

static _Noreturn void child_run(const struct yard *yard, size_t job, int fd, pid_t parent)
{
    const struct farm *farm = yard->farm;
    /* A terminal sends Ctrl-C to the whole group: the parent decides, the child goes on until it is
     * told. A parent that dies takes its children with it. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &yard->old_mask, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);

    struct blob blob = {0};
    struct error error = {0};
    bool succeeded = farm->work(farm->context, job, &blob, &error);
    if (!succeeded) {
        blob.size = 0;
        if (!blob_put(&blob, &error, sizeof error))
            _exit(1);
    }
    struct message_header header = {.size = blob.size, .succeeded = succeeded};
    bool sent = write_all(fd, &header, sizeof header) && write_all(fd, blob.bytes, blob.size);
    _exit(sent ? 0 : 1);
}

static void worker_start(struct yard *yard, struct worker *worker, struct error *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        error_run(error, "cannot open a pipe for a worker process: %s", strerror(errno));
        return;
    }
    (void)fflush(NULL);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        child_run(yard, yard->next, ends[1], parent);
    }
    (void)close(ends[1]);
    if (pid < 0) {
        error_run(error, "cannot start a worker process: %s", strerror(errno));
        (void)close(ends[0]);
        return;
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    worker->pid = pid;
    worker->pipe = ends[0];
    worker->job = yard->next;
    worker->received = (struct blob){0};
    yard->jobs[yard->next++].state = JOB_RUNNING;
    yard->running++;
}

/* Where processes are short, go on with those that run; with none at all there is no way on. */
static bool start_workers(struct yard *yard, struct error *error)
{
    const struct farm *farm = yard->farm;
    for (size_t w = 0; w < farm->workers; w++) {
        bool ahead = !farm->unordered && yard->next - yard->collect >= FARM_WINDOW * farm->workers;
        if (yard->next == farm->jobs || ahead)
            break;
        if (yard->workers[w].pid != 0)
            continue;
        struct error failure = {0};
        worker_start(yard, &yard->workers[w], &failure);
        if (yard->workers[w].pid != 0)
            continue;
        if (yard->running > 0)
            break;
        if (error != NULL)
            *error = failure;
        return false;
    }
    return true;
}

static void job_fail(struct job *job, const char *format, const char *what, int number)
{
    job->state = JOB_FAILED;
    job->failure = calloc(1, sizeof *job->failure);
    (void)error_run(job->failure, format, what, number);
}

/* The process has closed its pipe: what did it leave, and how did it end? */
static void job_settle(struct job *job, struct worker *worker, int status)
{
    struct message_header header = {0};
    struct blob_cursor cursor = {worker->received.bytes, worker->received.size};
    bool whole = blob_take(&cursor, &header, sizeof header) && cursor.left == header.size;
    if (WIFSIGNALED(status)) {
        job_fail(job, "the worker process was ended by a signal: %s (%d)",
                 strsignal(WTERMSIG(status)), WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0 || !whole) {
        job_fail(job, "the worker process ended %s (exit status %d)", "before it had handed back",
                 WEXITSTATUS(status));
    } else if (header.succeeded == 0) {
        job->state = JOB_FAILED;
        job->failure = calloc(1, sizeof *job->failure);
        if (job->failure != NULL)
            (void)blob_take(&cursor, job->failure, sizeof *job->failure);
    } else {
        job->state = JOB_DONE;
        job->blob = worker->received;
        worker->received = (struct blob){0};
    }
    blob_clear(&worker->received);
}

static int wait_for(pid_t pid)
{
    int status = 0;
    pid_t ended;
    do {
        ended = waitpid(pid, &status, 0);
    } while (ended < 0 && errno == EINTR);
    return status;
}

static bool job_collect(const struct farm *farm, struct job *job, size_t index, struct error *error)
{
    static const struct error lost = {ERROR_RUN, "out of memory while noting how the job failed"};
    const size_t head = sizeof(struct message_header);
    const struct error *failure = NULL;
    if (job->state == JOB_FAILED)
        failure = job->failure != NULL ? job->failure : &lost;
    bool good = farm->collect(farm->context, index, failure == NULL ? job->blob.bytes + head : NULL,
                              failure == NULL ? job->blob.size - head : 0, failure, error);
    blob_clear(&job->blob);
    job->state = JOB_COLLECTED;
    return good;
}

static bool worker_end(struct yard *yard, struct worker *worker, struct error *error)
{
    (void)close(worker->pipe);
    int status = wait_for(worker->pid);
    job_settle(&yard->jobs[worker->job], worker, status);
    worker->pid = 0;
    yard->running--;
    yard->ended++;
    if (yard->farm->progress != NULL)
        yard->farm->progress(yard->farm->context, yard->ended, yard->farm->jobs);
    return !yard->farm->unordered ||
           job_collect(yard->farm, &yard->jobs[worker->job], worker->job, error);
}

/* Read what is there; false once the pipe is closed or memory is short (the job then fails, since
 * what came is not whole). */
static bool worker_read(struct worker *worker)
{
    unsigned char chunk[65536];
    for (;;) {
        ssize_t got = read(worker->pipe, chunk, sizeof chunk);
        if (got < 0)
            return errno == EAGAIN || errno == EINTR;
        if (got == 0 || !blob_put(&worker->received, chunk, (size_t)got))
            return false;
        if ((size_t)got < sizeof chunk)
            return true;
    }
}

/* Hand over, in order, what has ended; after a stop, jobs that never ended are passed over. */
static bool collect_ready(struct yard *yard, struct error *error)
{
    const struct farm *farm = yard->farm;
    for (; yard->collect < farm->jobs; yard->collect++) {
        struct job *job = &yard->jobs[yard->collect];
        if (job->state == JOB_WAITING || job->state == JOB_RUNNING) {
            if (!yard->stopped)
                return true;
            continue;
        }
        if (job->state != JOB_COLLECTED && !job_collect(farm, job, yard->collect, error))
            return false;
    }
    return true;
}

static void yard_kill(struct yard *yard)
{
    for (size_t w = 0; w < yard->farm->workers; w++) {
        struct worker *worker = &yard->workers[w];
        if (worker->pid == 0)
            continue;
        (void)kill(worker->pid, SIGKILL);
        (void)close(worker->pipe);
        (void)wait_for(worker->pid);
        blob_clear(&worker->received);
        worker->pid = 0;
        yard->running--;
    }
}

static bool yard_poll(struct yard *yard, struct error *error)
{
    const size_t workers = yard->farm->workers;
    for (size_t w = 0; w < workers; w++)
        yard->polls[w] = (struct pollfd){
            .fd = yard->workers[w].pid != 0 ? yard->workers[w].pipe : -1, .events = POLLIN};
    yard->polls[workers] = (struct pollfd){.fd = yard->signals, .events = POLLIN};
    int ready = poll(yard->polls, (nfds_t)workers + 1, 500);
    if (ready == 0 && yard->farm->progress != NULL)
        yard->farm->progress(yard->farm->context, yard->ended, yard->farm->jobs);
    if (ready <= 0)
        return true;
    for (size_t w = 0; w < workers; w++)
        if (yard->polls[w].revents != 0 && !worker_read(&yard->workers[w]) &&
            !worker_end(yard, &yard->workers[w], error))
            return false;
    struct signalfd_siginfo signal_read;
    if (yard->polls[workers].revents != 0 &&
        read(yard->signals, &signal_read, sizeof signal_read) == (ssize_t)sizeof signal_read)
        yard->stopped = true;
    return true;
}

static bool yard_work(struct yard *yard, struct error *error)
{
    const struct farm *farm = yard->farm;
    while (yard->collect < farm->jobs && !yard->stopped) {
        if (!start_workers(yard, error))
            return false;
        if (!yard_poll(yard, error))
            return false;
        if (!yard->stopped && !collect_ready(yard, error))
            return false;
    }
    if (!yard->stopped)
        return true;
    yard_kill(yard);
    return collect_ready(yard, error) &&
           error_run(error, "interrupted: %zu of %zu jobs had ended", yard->ended, farm->jobs);
}

static bool yard_open(struct yard *yard, const struct farm *farm, struct error *error)
{
    yard->farm = farm;
    yard->jobs = calloc(farm->jobs + 1, sizeof *yard->jobs);
    yard->workers = calloc(farm->workers, sizeof *yard->workers);
    yard->polls = calloc(farm->workers + 1, sizeof *yard->polls);
    if (yard->jobs == NULL || yard->workers == NULL || yard->polls == NULL)
        return error_run(error, "out of memory for %zu jobs on %zu worker processes", farm->jobs,
                         farm->workers);
    sigset_t stop;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGINT);
    (void)sigaddset(&stop, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &stop, &yard->old_mask) != 0)
        return error_run(error, "cannot block signals: %s", strerror(errno));
    yard->signals = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
    if (yard->signals >= 0)
        return true;
    (void)sigprocmask(SIG_SETMASK, &yard->old_mask, NULL);
    return error_run(error, "cannot watch for signals: %s", strerror(errno));
}

static void yard_close(struct yard *yard)
{
    if (yard->signals >= 0) {
        yard_kill(yard);
        /* A second signal that came meanwhile must not end the process before results are closed.
         */
        struct signalfd_siginfo drained;
        ssize_t got;
        do {
            got = read(yard->signals, &drained, sizeof drained);
        } while (got > 0);
        (void)close(yard->signals);
        (void)sigprocmask(SIG_SETMASK, &yard->old_mask, NULL);
    }
    for (size_t j = 0; yard->jobs != NULL && j < yard->farm->jobs; j++) {
        blob_clear(&yard->jobs[j].blob);
        free(yard->jobs[j].failure);
    }
    free(yard->jobs);
    free(yard->workers);
    free(yard->polls);
}

bool farm_run(const struct farm *farm, struct error *error)
{
    struct yard yard = {.signals = -1};
    bool good = yard_open(&yard, farm, error) && yard_work(&yard, error);
    yard_close(&yard);
    return good;
}
