/* What ends the process at once: Ctrl-C, SIGTERM, and what a policy must not do.
 *
 * A policy is somebody's code. It may crash, call exit(), or never return; a reader, a generator or
 * a search may take minutes. No loop asks whether it should stop: a signal ends the process where
 * it is, after removing this process's unfinished files (traces/unfinished.h), with one line that
 * says why. Where a policy is to blame, the line names rule, callback, simulated time, policy and
 * seed, and the exit status is 1. Only a sweep, which has finished runs to keep, defers the first
 * interruption.
 *
 * Handlers are the process's own, so this is for the program and not for the library.
 */
#ifndef ESGSIM_SIM_CLI_GUARD_H
#define ESGSIM_SIM_CLI_GUARD_H

/* Wall-clock seconds that one callback of a policy may take. */
#define GUARD_TIMEOUT_DEFAULT 60.0

/* The option of run and sweep that sets it: a double, `member` of the command's `type`. */
#define GUARD_OPTION(type, member)                                                                 \
    {                                                                                              \
        .name = "--decision-timeout", .value = "SECONDS",                                          \
        .help = "wall-clock time that one callback of the policy may take (default 60; 0: no "     \
                "limit); a run that exceeds it fails, and says callback, simulated time and seed", \
        .kind = OPTION_NUMBER, .place = offsetof(type, member), .low = 0, .high = 1e6              \
    }

/* From now on SIGINT and SIGTERM end the process with status 1, and a fault (SIGSEGV, SIGBUS,
 * SIGFPE, SIGILL, SIGABRT), an exit() or a fork() inside a policy is reported. Once per process. */
void guard_install(void);

/* The first SIGINT or SIGTERM after this makes the descriptor returned readable and starts a
 * deadline of GUARD_STOP_MS. At the deadline, or with a second signal, the process ends all the
 * same, with the message `late` (copied). Returns -1 where there is no descriptor to be had:
 * signals then end the process as before. */
int guard_defer_stop(const char *late);
enum { GUARD_STOP_MS = 700 };

/* Ends the process where one callback of a policy takes longer than `seconds`; 0: never. */
void guard_watch_callbacks(double seconds);

/* Standard output carries results alone: between these two, a policy's own prints go to standard
 * error. `kept` is what the first returned. */
int guard_divert_output(void);
void guard_restore_output(int kept);

/* In a worker process: faults of a policy go to `tell`, which does not return (farm_fail). Both
 * SIGINT, which a terminal sends to all, and SIGTERM from outside are left to the parent. What a
 * policy prints goes to standard error. */
void guard_enter_worker(void (*tell)(const char *message));

#endif
