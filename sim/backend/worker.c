#include "sim/backend/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/units.h"

/* A sleeping process wakes tens of microseconds late, so the last part of a wait spins. */
static const int64_t SPIN_NS = 60000;
static const int64_t EXIT_NS = INT64_C(3000000000), HURRIED_EXIT_NS = INT64_C(200000000);

enum { LINE = 1024 };

struct worker {
    struct arena *arena; /* of this */
    char *command;
    pid_t process; /* 0: it has ended */
    int input, output, stop;
    double silent_s;
    uint64_t last_id, executing[WORKER_BATCHES];
    size_t count;
    int64_t heard_ns; /* its latest answer, or its first batch since it had none */
    int64_t read_ns;  /* when `text` was read */
    char text[LINE + 1];
    size_t length;
    bool broken;
};

/* ---- The process ----------------------------------------------------------------------------- */

/* With signals as a program expects them: this one ignores some. */
static int spawn(struct worker *worker, const int input[2], const int output[2])
{
    char *const arguments[] = {"sh", "-c", worker->command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    int reason = posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    if (reason == 0)
        reason = posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    if (reason == 0)
        reason =
            posix_spawn(&worker->process, "/bin/sh", &actions, &attributes, arguments, environ);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return reason;
}

static int open_and_spawn(struct worker *worker)
{
    int input[2], output[2];
    if (pipe2(input, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(output, O_CLOEXEC) != 0) {
        (void)close(input[0]);
        (void)close(input[1]);
        return errno;
    }
    const int reason = spawn(worker, input, output);
    (void)close(input[0]);
    (void)close(output[1]);
    worker->input = input[1];
    worker->output = output[0];
    (void)fcntl(worker->input, F_SETFL, O_NONBLOCK);
    (void)fcntl(worker->output, F_SETFL, O_NONBLOCK);
    return reason;
}

struct worker *worker_start(const char *command, double silent_s, int stop, struct error *error)
{
    struct worker *worker = arena_home(sizeof *worker);
    worker->command = arena_text(worker->arena, "%s", command);
    worker->input = worker->output = -1;
    worker->silent_s = silent_s;
    worker->stop = stop;
    const int reason = open_and_spawn(worker);
    if (reason == 0)
        return worker;
    error_run(error, "worker '%s' cannot be started: %s", command, strerror(reason));
    worker->process = 0;
    worker_stop(worker);
    return NULL;
}

static bool asked_to_stop(const struct worker *worker)
{
    struct pollfd stop = {.fd = worker->stop, .events = POLLIN};
    return worker->stop >= 0 && poll(&stop, 1, 0) > 0;
}

/* Waits for the process's end, then kills what it has left of its group. False: it still runs. */
static bool await_exit(struct worker *worker, int64_t patience_ns, int *status)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    const int64_t deadline = clock_ns() + patience_ns;
    siginfo_t ended = {.si_pid = 0};
    /* It stays a zombie meanwhile, so that no other group can have its number. */
    while (waitid(P_PID, (id_t)worker->process, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0) {
        if (clock_ns() >= deadline)
            return false;
        (void)nanosleep(&nap, NULL);
    }
    (void)kill(-worker->process, SIGKILL);
    (void)waitpid(worker->process, status, 0);
    worker->process = 0;
    return true;
}

static void end_process(struct worker *worker, int64_t patience_ns)
{
    int status = 0;
    if (worker->input >= 0)
        (void)close(worker->input);
    worker->input = -1;
    if (worker->process == 0 || await_exit(worker, patience_ns, &status))
        return;
    (void)kill(-worker->process, SIGKILL);
    (void)await_exit(worker, EXIT_NS, &status);
}

void worker_stop(struct worker *worker)
{
    if (worker == NULL)
        return;
    end_process(worker, asked_to_stop(worker) ? HURRIED_EXIT_NS : EXIT_NS);
    if (worker->output >= 0)
        (void)close(worker->output);
    arena_destroy(worker->arena);
}

bool worker_has_ended(const struct worker *worker)
{
    return worker->broken;
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static bool fault(struct worker *worker, struct error *error, const char *what)
{
    error_run(error, "worker '%s' %s", worker->command, what);
    worker->broken = true;
    end_process(worker, 0);
    return false;
}

/* It has closed its standard output, or no longer reads its standard input. */
static bool fault_ended(struct worker *worker, struct error *error)
{
    char what[128];
    int status = 0;
    if (!await_exit(worker, EXIT_NS, &status))
        return fault(worker, error,
                     "has closed its standard input or output; a worker answers until the end of "
                     "its input");
    if (WIFSIGNALED(status))
        (void)snprintf(what, sizeof what, "was ended by signal %d", WTERMSIG(status));
    else
        (void)snprintf(what, sizeof what, "exited with status %d before the end of its input%s",
                       WEXITSTATUS(status),
                       WEXITSTATUS(status) == 127 ? ": the shell finds no such command" : "");
    return fault(worker, error, what);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

bool worker_run(struct worker *worker, const char *function, int batch, uint32_t units,
                uint64_t *id, struct error *error)
{
    char line[LINE];
    if (worker->broken || worker->count == WORKER_BATCHES)
        return error_run(error,
                         worker->broken ? "worker '%s' has ended"
                                        : "worker '%s' executes too many batches",
                         worker->command);
    const int length = snprintf(line, sizeof line, "run %" PRIu64 " %s %d %" PRIu32 "\n",
                                worker->last_id + 1, function, batch, units);
    if (length >= LINE)
        return error_run(error, "worker: the name of function %s is too long", function);
    const ssize_t written = write(worker->input, line, (size_t)length);
    if (written < 0 && errno == EPIPE)
        return fault_ended(worker, error);
    if (written != length) /* a pipe takes a line whole or not at all */
        return fault(worker, error, "does not read its standard input");
    if (worker->count == 0)
        worker->heard_ns = clock_ns();
    *id = ++worker->last_id;
    worker->executing[worker->count++] = *id;
    return true;
}

/* Reads one number that ends at a space or the end of the text. */
static bool take_number(const char **at, bool whole, uint64_t *integer, double *real)
{
    char *end = NULL;
    errno = 0;
    if (**at < '0' || **at > '9')
        return false;
    if (whole)
        *integer = strtoull(*at, &end, 10);
    else
        *real = strtod(*at, &end);
    const bool good = errno == 0 && (*end == ' ' || *end == '\0');
    *at = end;
    return good;
}

/* Parses an answer and takes its batch out of those that execute. */
static bool take_answer(struct worker *worker, const char *line, struct worker_answer *answer,
                        struct error *error)
{
    char what[LINE];
    const char *at = line + sizeof "done " - 1;
    size_t i = 0;
    if (strncmp(line, "done ", sizeof "done " - 1) != 0 ||
        !take_number(&at, true, &answer->id, NULL) || *at++ != ' ' ||
        !take_number(&at, false, NULL, &answer->ms) || *at != '\0' || !isfinite(answer->ms)) {
        (void)snprintf(what, sizeof what,
                       "answered '%.60s', not 'done ID MS'; other output belongs on standard error",
                       line);
        return fault(worker, error, what);
    }
    while (i < worker->count && worker->executing[i] != answer->id)
        i++;
    if (i == worker->count) {
        (void)snprintf(what, sizeof what,
                       answer->id >= 1 && answer->id <= worker->last_id
                           ? "answered twice for batch %" PRIu64
                           : "answered for batch %" PRIu64 ", which it was not given",
                       answer->id);
        return fault(worker, error, what);
    }
    worker->executing[i] = worker->executing[--worker->count];
    answer->at_ns = worker->heard_ns = worker->read_ns;
    return true;
}

/* Takes a line of what was read. False: there is none, or a fault, which leaves `broken`. */
static bool take_line(struct worker *worker, struct worker_answer *answer, struct error *error)
{
    char *end = memchr(worker->text, '\n', worker->length);
    if (end == NULL && worker->length < LINE)
        return false;
    if (end == NULL)
        return fault(worker, error, "answered a line of more than 1024 bytes");
    *end = '\0';
    const bool good = take_answer(worker, worker->text, answer, error);
    worker->length -= (size_t)(end + 1 - worker->text);
    memmove(worker->text, end + 1, worker->length);
    return good;
}

/* Waits for output until the deadline, and reads it. */
static bool read_more(struct worker *worker, int64_t deadline_ns, struct error *error)
{
    struct pollfd polled[] = {{.fd = worker->output, .events = POLLIN},
                              {.fd = worker->stop, .events = POLLIN}};
    int64_t pause = deadline_ns - clock_ns() - SPIN_NS;
    pause = pause < 0 ? 0 : pause;
    const struct timespec limit = {.tv_sec = pause / SIM_S, .tv_nsec = pause % SIM_S};
    if (ppoll(polled, 2, &limit, NULL) < 0)
        return errno == EINTR || fault(worker, error, "cannot be waited for");
    if (polled[1].revents != 0) {
        (void)fault(worker, error, "is stopped");
        return error_run(error, "interrupted");
    }
    if (polled[0].revents == 0)
        return true;
    const ssize_t count =
        read(worker->output, worker->text + worker->length, LINE - worker->length);
    if (count == 0)
        return fault_ended(worker, error);
    worker->read_ns = clock_ns();
    worker->length += count > 0 ? (size_t)count : 0;
    return count > 0 || errno == EAGAIN || errno == EINTR || fault(worker, error, "cannot be read");
}

bool worker_wait(struct worker *worker, int64_t deadline_ns, struct worker_answer *answer,
                 struct error *error)
{
    answer->id = 0;
    if (worker->broken)
        return error_run(error, "worker '%s' has ended", worker->command);
    for (bool first = true;; first = false) {
        if (take_line(worker, answer, error))
            return true;
        if (worker->broken)
            return false;
        const int64_t now = clock_ns();
        const int64_t silent = worker->count == 0
                                   ? INT64_MAX
                                   : worker->heard_ns + (int64_t)(worker->silent_s * (double)SIM_S);
        if (now >= silent) {
            char what[128];
            (void)snprintf(what, sizeof what,
                           "did not answer for %g s; batches without an answer: %zu; "
                           "--worker-timeout sets the limit",
                           worker->silent_s, worker->count);
            return fault(worker, error, what);
        }
        if (!first && now >= deadline_ns)
            return true;
        if (!read_more(worker, deadline_ns < silent ? deadline_ns : silent, error))
            return false;
    }
}

bool worker_drain(struct worker *worker, struct error *error)
{
    struct worker_answer answer;
    while (worker->count > 0)
        if (!worker_wait(worker, INT64_MAX, &answer, error))
            return false;
    return true;
}
