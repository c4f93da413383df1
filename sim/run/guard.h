/* Immediate termination by Ctrl-C, SIGTERM or a misbehaving policy.
 *
 * A policy is user code: it may crash, call exit(), or never return. A reader, a generator or a
 * search may take minutes. Loops therefore do not poll a flag. A signal ends the process
 * immediately, after removing its unfinished files (sim/base/unfinished.h), with a one-line
 * message that gives the reason. If a policy is the cause, the message names the rule, the
 * callback, the simulated time, the policy and the seed, and the exit status is 1. What runs
 * in worker processes defers the first interruption: a sweep has finished runs to keep.
 *
 * Signal handlers belong to the whole process, so this module is part of the program and not of the
 * library.
 */
#ifndef ESGSIM_SIM_RUN_GUARD_H
#define ESGSIM_SIM_RUN_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/platform/simulation.h"

/* Wall-clock seconds allowed for one callback of a policy. */
#define GUARD_TIMEOUT_DEFAULT 60.0

/* The option of run and sweep that sets it: a double, `member` of the command's struct `type`. */
#define GUARD_OPTION(type, member)                                                                 \
    {                                                                                              \
        .name = "--decision-timeout", .value = "SECONDS",                                          \
        .help = "wall-clock time that one callback of the policy may take (default 60; 0: no "     \
                "limit); a run that exceeds it fails, and says callback, simulated time and seed", \
        .kind = OPTION_NUMBER, .place = offsetof(type, member), .low = 0, .high = 1e6              \
    }

/* After this call SIGINT and SIGTERM end the process with status 1. A fault (SIGSEGV, SIGBUS,
 * SIGFPE, SIGILL, SIGABRT), an exit() or a fork() inside a policy is reported. Call once per
 * process. */
void guard_install(void);

/* Defers the first SIGINT or SIGTERM: it makes the returned descriptor readable and starts a
 * deadline of GUARD_STOP_MS. At the deadline, or on a second signal, the process ends with the
 * message `late` (copied). Returns -1 if no descriptor is available; signals then end the process
 * as before. */
int guard_defer_stop(const char *late);
enum { GUARD_STOP_MS = 700 };

/* Ends the process if one callback of a policy takes longer than `seconds`; 0: no limit. A policy
 * can block the signal that this needs. A parent that looks from outside (worker_pool.h) sees it
 * nevertheless. */
void guard_watch_callbacks(double seconds);

/* The callback seen at the last look. All zero: none. Of the time between two looks at most a
 * second counts, because both processes may have been stopped (Ctrl-Z). */
struct guard_watch {
    uint64_t calls;
    int64_t looked, waited; /* ns */
};

/* Looks at a run. True: its callback has taken longer than `seconds` (0: no limit), and `message`
 * says so. Call it every guard_tick_ms(seconds). Async-signal-safe. */
enum { GUARD_MESSAGE = 1000 };
bool guard_is_late(struct guard_watch *at, const struct simulation_place *place, double seconds,
                   char message[GUARD_MESSAGE]);
int guard_tick_ms(double seconds);

/* Words a broken rule as the platform does: experiment, `what`, `detail`, callback, simulated time,
 * policy, seed. `place` must have a callback. Async-signal-safe. */
void guard_word(const struct simulation_place *place, const char *what, const char *detail,
                char message[GUARD_MESSAGE]);

/* Redirect a policy's output to standard error, so that standard output has results only. Diverting
 * twice is diverting once. Restoring is false if a policy has closed standard output. */
void guard_divert_output(void);
bool guard_restore_output(void);

/* For a worker process: faults of a policy are passed to `tell`, which does not return
 * (worker_pool_fail). SIGINT, which a terminal sends to all processes, and SIGTERM from outside are
 * left to the parent. Output of a policy goes to standard error. */
void guard_enter_worker(void (*tell)(const char *message));

#endif
