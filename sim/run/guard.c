#include "sim/run/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "sim/base/clock.h"
#include "sim/base/unfinished.h"
#include "sim/platform/simulation.h"

static const struct {
    int number;
    const char *name;
} faults[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
              {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"}, {SIGSYS, "SIGSYS"}};
enum { FAULTS = sizeof faults / sizeof *faults, TICK_MS = 100, STACK = 65536 };

static void (*report)(const char *message); /* NULL: print on standard error */
static struct sigaction before[FAULTS];     /* previous handlers of these faults */
static int stop_event = -1;
static char stop_late[sizeof((struct error *)NULL)->message];
static volatile sig_atomic_t stopping;
static volatile int64_t stop_deadline; /* ns; 0: none */
static double callback_limit;          /* s; 0: none */
static struct guard_watch watch;       /* of this process's own callbacks */
static int output = -1;                /* standard output, while it is diverted */

/* ---- Text without stdio, which signal handlers must not use ---------------------------------- */

struct text {
    char bytes[GUARD_MESSAGE];
    size_t length;
};

static void text_add(struct text *text, const char *part)
{
    for (; *part != '\0' && text->length + 1 < sizeof text->bytes; part++)
        text->bytes[text->length++] = *part;
    text->bytes[text->length] = '\0';
}

/* Appends a number with at least `digits` digits. */
static void text_add_number(struct text *text, uint64_t number, int digits)
{
    char reversed[24], part[24];
    int count = 0;
    for (; number > 0 || count < digits; number /= 10)
        reversed[count++] = (char)('0' + number % 10);
    for (int i = 0; i < count; i++)
        part[i] = reversed[count - 1 - i];
    part[count] = '\0';
    text_add(text, part);
}

static void text_add_ms(struct text *text, uint64_t ns)
{
    text_add_number(text, ns / 1000000, 1);
    text_add(text, ".");
    text_add_number(text, ns % 1000000, 6);
    text_add(text, " ms");
}

/* ---- Termination ----------------------------------------------------------------------------- */

static _Noreturn void end_process(const char *message)
{
    struct text line = {.length = 0};
    unfinished_remove_all();
    if (report != NULL)
        report(message);
    text_add(&line, "esgsim: ");
    text_add(&line, message);
    text_add(&line, "\n");
    if (write(STDERR_FILENO, line.bytes, line.length) < 0) {
        /* The message cannot be written, but the exit status still reports the failure. */
    }
    _exit(1);
}

void guard_word(const struct simulation_place *place, const char *what, const char *detail,
                char message[GUARD_MESSAGE])
{
    struct text text = {.length = 0};
    text_add(&text, place->experiment);
    text_add(&text, ": ");
    text_add(&text, what);
    text_add(&text, detail);
    text_add(&text, " (");
    text_add(&text, place->callback);
    text_add(&text, ", at ");
    text_add_ms(&text, (uint64_t)place->now);
    text_add(&text, ", policy ");
    text_add(&text, place->policy);
    text_add(&text, ", seed ");
    text_add_number(&text, place->seed, 1);
    text_add(&text, ")");
    memcpy(message, text.bytes, text.length + 1);
}

/* Ends the process if a callback of a policy is in progress. */
static void end_in_policy(const char *what, const char *detail)
{
    const struct simulation_place *place = simulation_where();
    char message[GUARD_MESSAGE];
    if (place == NULL || !place->inside)
        return;
    guard_word(place, what, detail, message);
    end_process(message);
}

/* ---- Faults of a policy ---------------------------------------------------------------------- */

static void on_fault(int number, siginfo_t *info, void *context)
{
    size_t f = 0;
    while (f + 1 < FAULTS && faults[f].number != number)
        f++;
    if (number == SIGSEGV && simulation_shows(info->si_addr))
        end_in_policy("rule world: the policy wrote into what it may only read", "");
    if (number == SIGSYS)
        end_in_policy("rule walls: the policy started a process, took chance of the system, or "
                      "reached beyond its run",
                      "");
    end_in_policy("rule crash: the policy caused ", faults[f].name);
    /* A fault of our own code: the previous handler, a debugger or a core dump, gets it unchanged.
     */
    (void)sigaction(number, &before[f], NULL);
    if (number == SIGABRT || number == SIGSYS)
        (void)raise(number);
}

static void on_exit_in_policy(void)
{
    end_in_policy("rule exit: the policy called exit()", "");
}

static void on_fork_in_policy(void)
{
    end_in_policy("rule fork: the policy called fork()", "");
}

bool guard_is_late(struct guard_watch *at, const struct simulation_place *place, double seconds,
                   char message[GUARD_MESSAGE])
{
    const int64_t now = clock_ns(), limit = (int64_t)(seconds * 1e9), most = 1000000000;
    const int64_t passed = now - at->looked < most ? now - at->looked : most;
    const bool same = place->inside && place->calls == at->calls;
    struct text text = {.length = 0};
    *at = (struct guard_watch){place->calls, now, same ? at->waited + passed : 0};
    if (limit == 0 || at->waited < limit)
        return false;
    text_add_ms(&text, (uint64_t)limit);
    text_add(&text, " of wall-clock time (--decision-timeout)");
    guard_word(place, "rule decision time: the policy has not returned within ", text.bytes,
               message);
    return true;
}

/* ---- Signals --------------------------------------------------------------------------------- */

static void on_tick(int number)
{
    const int kept = errno;
    const struct simulation_place *place = simulation_where();
    char message[GUARD_MESSAGE];
    if (stop_deadline != 0 && clock_ns() >= stop_deadline)
        end_process(stop_late);
    if (place != NULL && guard_is_late(&watch, place, callback_limit, message))
        end_process(message);
    errno = kept;
}

static void start_ticks(long ms)
{
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART | SA_ONSTACK};
    const struct timeval every = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    const struct itimerval timer = {.it_interval = every, .it_value = every};
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_stop(int number, siginfo_t *info, void *context)
{
    if (info->si_code <= 0 && info->si_pid == getpid())
        end_in_policy("rule signal: the policy raised ", number == SIGINT ? "SIGINT" : "SIGTERM");
    if (report != NULL) { /* a worker that was ended from outside */
        (void)signal(number, SIG_DFL);
        (void)raise(number);
        return;
    }
    if (stop_event < 0 || stopping)
        end_process(stopping ? stop_late : "interrupted");
    const uint64_t one = 1;
    const int kept = errno;
    stopping = 1;
    stop_deadline = clock_ns() + (int64_t)GUARD_STOP_MS * 1000000;
    if (write(stop_event, &one, sizeof one) != (ssize_t)sizeof one)
        end_process("interrupted");
    start_ticks(TICK_MS);
    errno = kept;
}

void guard_install(void)
{
    /* A handler cannot run on the normal stack after a policy's recursion has overflowed it. */
    static char stack[STACK];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    (void)sigaltstack(&other, NULL);
    for (size_t f = 0; f < FAULTS; f++)
        (void)sigaction(faults[f].number, &action, &before[f]);
    action.sa_sigaction = on_stop;
    action.sa_flags |= SA_RESTART;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)atexit(on_exit_in_policy);
    (void)at_quick_exit(on_exit_in_policy);
    (void)pthread_atfork(on_fork_in_policy, NULL, NULL);
}

int guard_defer_stop(const char *late)
{
    (void)snprintf(stop_late, sizeof stop_late, "%s", late);
    if (stop_event < 0)
        stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return stop_event;
}

int guard_tick_ms(double seconds)
{
    const double tick = seconds * 1000 / 4;
    return seconds <= 0 || tick >= TICK_MS ? TICK_MS : tick >= 1 ? (int)tick : 1;
}

void guard_watch_callbacks(double seconds)
{
    callback_limit = seconds;
    if (seconds > 0)
        start_ticks(guard_tick_ms(seconds));
}

void guard_divert_output(void)
{
    if (output >= 0)
        return;
    (void)fflush(stdout);
    output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
}

bool guard_restore_output(void)
{
    (void)fflush(stdout);
    const bool good = output < 0 || dup2(output, STDOUT_FILENO) >= 0;
    if (output >= 0)
        (void)close(output);
    output = -1;
    return good;
}

void guard_enter_worker(void (*tell)(const char *message))
{
    guard_divert_output();
    report = tell;
    (void)signal(SIGINT, SIG_IGN);
}
