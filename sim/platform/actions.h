/* What a policy did in a run, and a run that does the same without the policy.
 *
 * A row names its callback by number, so that a replay acts at the same moments and in the same
 * order. Words about a decision (platform_explain, platform_remark) and trainings have no rows.
 */
#ifndef ESGSIM_SIM_PLATFORM_ACTIONS_H
#define ESGSIM_SIM_PLATFORM_ACTIONS_H

#include "sim/base/atomic_file.h"
#include "sim/platform/simulation.h"

/* Each with its call, of its numbers a to e. `more`: what decide returned, where that is not
 * whether it acted. `keep`: what keep_alive returned. */
/* clang-format off */
#define ACTIONS(ACTION)                                                                            \
    ACTION(dispatch, platform_dispatch(platform, a, b, c, d))                                      \
    ACTION(drop, platform_drop(platform, a, b))                                                    \
    ACTION(prewarm, platform_prewarm(platform, a, b))                                              \
    ACTION(timer, platform_set_timer(platform, row->a, b))                                         \
    ACTION(planned, platform_planned(platform, a))                                                 \
    ACTION(work, platform_tell_work(platform, a, row->b))                                          \
    ACTION(create, platform_create(platform, &(struct instance_request){a, b, c, d, e}))           \
    ACTION(kill, platform_kill(platform, a))                                                       \
    ACTION(share, platform_set_share(platform, a, b, c))                                           \
    ACTION(route, platform_route(platform, a, b))                                                  \
    ACTION(return, platform_return(platform, a))                                                   \
    ACTION(launch, platform_launch(platform, a, b))                                                \
    ACTION(more, 0)                                                                                \
    ACTION(keep, 0)
enum action {
#define ACTION(name, call) ACTION_##name,
    ACTIONS(ACTION)
#undef ACTION
    ACTION_COUNT
};
/* clang-format on */

/* Gives the run's recorder a row, if it takes actions, with all that was charged since the last.
 * Numbers left out are 0. */
void action_note(struct platform *platform, enum action action, const int64_t numbers[5]);
#define ACTION_NOTE(platform, name, ...)                                                           \
    ((platform)->numbered ? action_note(platform, ACTION_##name, (const int64_t[5]){__VA_ARGS__})  \
                          : (void)0)

/* A file of actions that is being written. All zero: not begun. */
struct actions_writer {
    struct atomic_file file;
    unsigned long checksum;
};

/* Begins the file of a run, and sets the recorder of its rows. False: ERROR_INPUT, also if the
 * experiment has trainings, or its decisions take a measured time. */
bool actions_begin(struct actions_writer *writer, const char *path,
                   const struct experiment *experiment, const struct policy *policy,
                   const double *values, struct recorder *recorder, struct error *error);
/* Ends the file, which is there if `good` and nothing failed. Returns that. */
bool actions_end(struct actions_writer *writer, bool good, struct error *error);

/* Reads the actions of a run of the experiment's world and seed. Returns a policy that does what
 * they say, and fails the run where they do not fit it; its name is the recorded policy's, and the
 * arena has it. NULL: ERROR_INPUT names the file and what is wrong. O(bytes). */
const struct policy *actions_read(struct arena *arena, const char *path,
                                  const struct experiment *experiment, struct error *error);

#endif
