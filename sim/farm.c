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
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_COLLECTED };

struct job {
    enum job_state state;
    struct blob blob;
    struct error *failure;
};

struct worker {
    pid_t pid;   /* 0: there is none */
    int channel; /* jobs' numbers go out, messages come in */
    bool busy;
    size_t job;    /* while busy */
    size_t served; /* jobs that it has ended */
    struct blob received;
};

struct yard {
    const struct farm *farm;
    struct job *jobs;
    struct worker *workers;
    struct pollfd *polls; /* one per worker, then farm.stop */
    size_t *ready;        /* jobs that ended since the last collection */
    size_t ready_count;
    size_t next;    /* first job not started */
    size_t collect; /* first job not collected */
    size_t ended;
    size_t running;
    bool stopped;
};

/* What a child sends first of each job. */
struct message_header {
    uint64_t size;
    uint64_t succeeded;
    uint64_t last; /* the worker ends now */
};

static bool send_all(int fd, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        ssize_t sent = send(fd, from, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        from += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool receive_job(int fd, size_t *job)
{
    ssize_t got;
    do {
        got = recv(fd, job, sizeof *job, MSG_WAITALL);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof *job;
}

static int child_channel = -1; /* of this process, where it is a worker */

_Noreturn void farm_fail(const char *message)
{
    static struct error error = {.kind = ERROR_RUN};
    const struct message_header header = {.size = sizeof error, .last = 1};
    strncpy(error.message, message, sizeof error.message - 1);
    (void)(send_all(child_channel, &header, sizeof header) &&
           send_all(child_channel, &error, sizeof error));
    _exit(1);
}

static bool child_serve(const struct farm *farm, size_t job, int fd)
{
    struct blob blob = {0};
    struct error error = {0};
    bool succeeded = farm->work(farm->context, job, &blob, &error);
    if (!succeeded) {
        blob.size = 0;
        if (!blob_put(&blob, &error, sizeof error))
            return false;
    }
    struct message_header header = {.size = blob.size, .succeeded = succeeded};
    bool sent = send_all(fd, &header, sizeof header) && send_all(fd, blob.bytes, blob.size);
    blob_clear(&blob);
    return sent;
}

static _Noreturn void child_run(const struct yard *yard, int fd, pid_t parent)
{
    /* A terminal sends Ctrl-C to the whole group: the parent decides, the child goes on until it is
     * told. A parent that dies takes its children with it. */
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_DFL);
    child_channel = fd;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    size_t job = 0;
    bool good = true;
    for (size_t served = 0; good && served < FARM_SERVICE && receive_job(fd, &job); served++)
        good = child_serve(yard->farm, job, fd);
    _exit(good ? 0 : 1);
}

static bool worker_start(struct yard *yard, struct worker *worker, struct error *error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return error_run(error, "cannot open a channel to a worker process: %s", strerror(errno));
    (void)fflush(NULL);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        child_run(yard, ends[1], parent);
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

/* The channel takes a number at once: nothing else is in it. A worker that has just died is noticed
 * when its end of the channel is. */
static void worker_order(struct yard *yard, struct worker *worker)
{
    (void)send_all(worker->channel, &yard->next, sizeof yard->next);
    worker->busy = true;
    worker->job = yard->next;
    yard->jobs[yard->next++].state = JOB_RUNNING;
    yard->running++;
}

/* Where processes are short, go on with those that run; with none at all there is no way on. */
static bool start_workers(struct yard *yard, struct error *error)
{
    const struct farm *farm = yard->farm;
    for (size_t w = 0; w < farm->workers; w++) {
        struct worker *worker = &yard->workers[w];
        struct error failure = {0};
        bool ahead = !farm->unordered && yard->next - yard->collect >= FARM_WINDOW * farm->workers;
        if (yard->next == farm->jobs || ahead)
            break;
        if (worker->busy)
            continue;
        if (worker->pid != 0 || worker_start(yard, worker, &failure)) {
            worker_order(yard, worker);
            continue;
        }
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

/* A whole message has come. Returns whether the worker goes on. */
static bool job_settle(struct job *job, struct worker *worker)
{
    struct message_header header = {0};
    struct blob_cursor cursor = {worker->received.bytes, worker->received.size};
    (void)blob_take(&cursor, &header, sizeof header);
    if (header.succeeded == 0) {
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
    return header.last == 0;
}

/* The process has ended before that: how? */
static void job_lose(struct job *job, int status)
{
    if (WIFSIGNALED(status))
        job_fail(job, "the worker process was ended by a signal: %s (%d)",
                 strsignal(WTERMSIG(status)), WTERMSIG(status));
    else
        job_fail(job, "the worker process ended %s (exit status %d)", "before it had handed back",
                 WEXITSTATUS(status));
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

static int worker_reap(struct worker *worker)
{
    (void)close(worker->channel);
    int status = wait_for(worker->pid);
    worker->pid = 0;
    blob_clear(&worker->received);
    return status;
}

/* Its job has ended, or it has (`closed`). */
static void worker_end(struct yard *yard, struct worker *worker, bool closed)
{
    const size_t index = worker->job;
    const bool was_busy = worker->busy;
    worker->busy = false;
    const bool goes_on = !closed && (!was_busy || job_settle(&yard->jobs[index], worker));
    if (!goes_on || ++worker->served == FARM_SERVICE) {
        int status = worker_reap(worker);
        if (was_busy && closed)
            job_lose(&yard->jobs[index], status);
    }
    if (!was_busy)
        return;
    yard->running--;
    yard->ended++;
    yard->ready[yard->ready_count++] = index;
    if (yard->farm->progress != NULL)
        yard->farm->progress(yard->farm->context, yard->ended, yard->farm->jobs);
}

static bool message_is_whole(const struct blob *received)
{
    struct message_header header;
    struct blob_cursor cursor = {received->bytes, received->size};
    return blob_take(&cursor, &header, sizeof header) && cursor.left == header.size;
}

/* Read what is there. */
static void worker_read(struct yard *yard, struct worker *worker)
{
    unsigned char chunk[65536];
    for (;;) {
        ssize_t got = recv(worker->channel, chunk, sizeof chunk, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        /* A message that memory is short for ends the worker, and so the job fails. */
        if (got > 0 && !blob_put(&worker->received, chunk, (size_t)got))
            (void)kill(worker->pid, SIGKILL);
        if (got <= 0) {
            worker_end(yard, worker, true);
            return;
        }
        if (message_is_whole(&worker->received)) {
            worker_end(yard, worker, false);
            return;
        }
    }
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

/* Hand over what has ended, whatever its place. */
static bool collect_unordered(struct yard *yard, struct error *error)
{
    const size_t count = yard->ready_count;
    yard->ready_count = 0;
    for (size_t i = 0; yard->farm->unordered && i < count; i++)
        if (!job_collect(yard->farm, &yard->jobs[yard->ready[i]], yard->ready[i], error))
            return false;
    return true;
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
        (void)worker_reap(worker);
        worker->busy = false;
    }
}

static void yard_poll(struct yard *yard)
{
    const size_t workers = yard->farm->workers;
    for (size_t w = 0; w < workers; w++)
        yard->polls[w] = (struct pollfd){
            .fd = yard->workers[w].pid != 0 ? yard->workers[w].channel : -1, .events = POLLIN};
    yard->polls[workers] =
        (struct pollfd){.fd = yard->farm->stops ? yard->farm->stop : -1, .events = POLLIN};
    int ready = poll(yard->polls, (nfds_t)workers + 1, 500);
    if (ready == 0 && yard->farm->progress != NULL)
        yard->farm->progress(yard->farm->context, yard->ended, yard->farm->jobs);
    if (ready <= 0)
        return;
    for (size_t w = 0; w < workers; w++)
        if (yard->polls[w].revents != 0)
            worker_read(yard, &yard->workers[w]);
    if (yard->polls[workers].revents != 0)
        yard->stopped = true;
}

/* Workers get their next job before what they handed back is looked at. */
static bool yard_work(struct yard *yard, struct error *error)
{
    const struct farm *farm = yard->farm;
    while (yard->collect < farm->jobs && !yard->stopped) {
        if (!start_workers(yard, error))
            return false;
        yard_poll(yard);
        if (yard->stopped)
            break;
        if (!start_workers(yard, error) || !collect_unordered(yard, error) ||
            !collect_ready(yard, error))
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
    yard->ready = calloc(farm->workers + 1, sizeof *yard->ready);
    if (yard->ready == NULL || yard->jobs == NULL || yard->workers == NULL || yard->polls == NULL)
        return error_run(error, "out of memory for %zu jobs on %zu worker processes", farm->jobs,
                         farm->workers);
    return true;
}

static void yard_close(struct yard *yard)
{
    if (yard->workers != NULL)
        yard_kill(yard);
    for (size_t j = 0; yard->jobs != NULL && j < yard->farm->jobs; j++) {
        blob_clear(&yard->jobs[j].blob);
        free(yard->jobs[j].failure);
    }
    free(yard->jobs);
    free(yard->workers);
    free(yard->polls);
    free(yard->ready);
}

bool farm_run(const struct farm *farm, struct error *error)
{
    struct yard yard = {.farm = farm};
    bool good = yard_open(&yard, farm, error) && yard_work(&yard, error);
    yard_close(&yard);
    return good;
}
