/* A process that executes batches on a device, and is told by lines of text what to execute.
 *
 * For each batch it reads `run ID FUNCTION BATCH UNITS` on its standard input: a whole number that
 * it did not see before, the function's name (without spaces), the batch size, and the bit set of
 * the GPU's units as a decimal number. It answers `done ID MS` on its standard output when the
 * batch has ended. MS is the device's time. Batches overlap, on units that do not, so answers may
 * come in any order. It exits at the end of its standard input. Its standard error passes through.
 *
 * One thread, no signals of its own: the owner ignores SIGPIPE, and waits for answers with a
 * deadline. A worker that ends, answers something else, or is silent for too long is killed, and
 * all later calls fail.
 */
#ifndef ESGSIM_SIM_BACKEND_WORKER_H
#define ESGSIM_SIM_BACKEND_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/clock.h"
#include "sim/base/error.h"

struct worker;

enum { WORKER_BATCHES = 8 }; /* at most, that execute at one time */

/* Starts `command` by the shell, in a process group of its own. `silent_s`: how long it may leave
 * every batch that it executes without an answer. `stop`: a descriptor that becomes readable if the
 * owner shall stop waiting; -1: none. NULL: ERROR_RUN. */
struct worker *worker_start(const char *command, double silent_s, int stop, struct error *error);

/* Ends its standard input, waits a few seconds for its end, then kills the group, so that no
 * process remains. NULL is allowed. */
void worker_stop(struct worker *worker);

/* Whether it was killed or ended by a fault, so that it executes nothing more. */
bool worker_has_ended(const struct worker *worker);

/* Tells it to execute a batch, of which at most WORKER_BATCHES may execute. Sets *id, from 1,
 * ascending. False: ERROR_RUN. */
bool worker_run(struct worker *worker, const char *function, int batch, uint32_t units,
                uint64_t *id, struct error *error);

struct worker_answer {
    uint64_t id;   /* of worker_run; 0: none before the deadline */
    double ms;     /* the device's time */
    int64_t at_ns; /* when it was read */
};

/* Waits for an answer, but at most until clock_ns() is `deadline_ns`; INT64_MAX: no limit. What
 * is there already is taken even if the deadline has passed. False: ERROR_RUN, in one line that
 * names the command and what it did: it ended (with its status), answered nonsense, an unknown
 * batch or one twice, was silent for too long; or the owner was asked to stop. */
bool worker_wait(struct worker *worker, int64_t deadline_ns, struct worker_answer *answer,
                 struct error *error);

/* Waits until it executes nothing. Answers are dropped. False: as worker_wait. */
bool worker_drain(struct worker *worker, struct error *error);

#endif
