/* Failures of invokers (not a public header): platform.failures of the experiment.
 *
 * While an invoker is down nothing of it is free. What ran there is lost:
 *
 * - Its batches. Their requests are dropped, as OpenWhisk answers an activation whose invoker is
 *   gone with an error, and Knative with 502: trying again is the caller's business. The policy
 *   hears of the end of the batch as of any other. What had run is not billed, and is
 *   recorded as lost.
 * - Its containers.
 * - Its instances start again when it is back, as a Kubernetes node restarts its own pods. They
 *   keep their place and their buffers, so policies need no other plan, and batches wait.
 * - The gangs of its trainings, whole. The training waits again, with the work of its last
 *   checkpoint. For its policy it has finished and arrived anew.
 *
 * Outputs of earlier stages survive: platforms keep them in a store of their own.
 */
#ifndef ESGSIM_SIM_PLATFORM_FAILURES_H
#define ESGSIM_SIM_PLATFORM_FAILURES_H

#include "sim/platform/state.h"

struct failures {
    const struct failure_spec *spec;
    uint64_t changes; /* invokers that failed or came back so far */
    uint32_t down;    /* invokers that will come back */
    uint64_t ended;   /* requests and trainings that have ended */
    uint64_t since;   /* `changes` when the last of them had */
    struct failing {
        bool down;
        struct outage_row row;       /* of the present outage */
        struct random_stream stream; /* of its times; opened in place */
    } * invokers;
};

/* Sets up the failures that the experiment asks for, if any. */
void failures_init(struct platform *platform);
/* Schedules the first failure of each invoker, or all of the list. */
void failures_begin(struct platform *platform);

/* An invoker fails: `subject` is its number, or with a list the row. O(batches + instances +
 * containers + trainings). */
void failures_fail(struct platform *platform, uint32_t subject);
/* The invoker is back. */
void failures_repair(struct platform *platform, uint32_t invoker);
/* Ends all outages at the end of the run. */
void failures_close(struct platform *platform);
/* Takes what was released on an invoker off the ledger, if it is down. */
void failures_withdraw(struct platform *platform, uint32_t invoker);

/* Notes the work of training `id` at its last checkpoint, as a piece of constant speed ends now
 * that began at `from`, before the piece's work is added. */
void failures_checkpoint(struct platform *platform, uint32_t id, sim_time_t from);
/* Training `id` was placed anew: all its work so far is safe. */
void failures_checkpoint_now(struct platform *platform, uint32_t id);

#endif
