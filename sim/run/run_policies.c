#include "sim/run/run_policies.h"

#include <stdio.h>
#include <string.h>

#include "results/inspect/timeline.h"
#include "sim/base/arena.h"
#include "sim/base/atomic_file.h"
#include "sim/platform/actions.h"
#include "sim/run/guard.h"
#include "sim/run/replay.h"
#include "sim/run/run_process.h"
#include "sim/run/worker_pool.h"
#include "workloads/load/policy_module.h"

/* Prints a line on a terminal and nothing elsewhere, because a single run is short. */
static bool report_progress(void *context, uint64_t finished, uint64_t total)
{
    const bool *show = context;
    if (*show)
        fprintf(stderr, "\r%5.1f %% of %llu requests", 100.0 * (double)finished / (double)total,
                (unsigned long long)total);
    return true;
}

/* The destinations of rows, and the backend; NULL: not used. */
struct sinks {
    struct store *store;
    struct timeline *timeline;
    const struct experiment **experiments; /* of the timeline */
    struct emulated *rehearsal;
    struct actions_writer actions;
};

static bool run_simulate(struct policy_run *run, size_t position, struct sinks *sinks,
                         const struct policies_request *request, bool bounds, struct error *error)
{
    bool show = request->show;
    const struct progress progress = {.context = &show, .report = report_progress};
    struct recorder pair[2] = {{0}, {0}};
    struct run_recording recording = {.store = sinks->store,
                                      .position = position,
                                      .progress = &progress,
                                      .bounds = bounds,
                                      .swerve = sim_from_ms(request->swerve_s * 1e3),
                                      .swerve_seed = run->run.experiment->seed};
    struct replay_target target;
    if (sinks->timeline != NULL && !timeline_run(sinks->timeline, position, &pair[0], error))
        return false;
    if (request->record_actions != NULL &&
        !actions_begin(&sinks->actions, request->record_actions, run->run.experiment,
                       run->run.policy, run->run.values, &pair[1], error))
        return false;
    const struct recorder both = recorder_join(pair);
    recording.also = &both;
    if (recording.swerve > 0)
        run->run.experiment->seed ^= UINT64_C(0x9e3779b97f4a7);
    if (sinks->rehearsal != NULL) {
        target = replay_rehearsal(sinks->rehearsal);
        recording.target = &target;
    }
    const bool good = resolved_run_record(&run->run, &recording, &run->result, error);
    if (show)
        fprintf(stderr, "\r%40s\r", "");
    return good;
}

static bool sinks_open(struct arena *arena, const struct policies_request *request,
                       const struct policy_run *runs, size_t count, struct sinks *sinks,
                       struct error *error)
{
    if (request->out != NULL && (sinks->store = store_create(request->out, error)) == NULL)
        return false;
    if (request->rehearsal != NULL)
        sinks->rehearsal = emulated_create(request->rehearsal);
    if (request->timeline == NULL)
        return true;
    sinks->experiments = arena_allocate(arena, count, sizeof *sinks->experiments);
    for (size_t i = 0; i < count; i++)
        sinks->experiments[i] = runs[i].run.experiment;
    sinks->timeline = timeline_create(request->timeline, sinks->experiments, count, error);
    return sinks->timeline != NULL;
}

/* Closes both files; a failed run leaves neither. */
static bool sinks_close(struct sinks *sinks, bool good, struct error *error)
{
    arena_home_free(sinks->rehearsal);
    good = actions_end(&sinks->actions, good, error);
    if (sinks->store != NULL && good)
        good = store_finish(sinks->store, error);
    else
        store_abandon(sinks->store);
    return timeline_close(sinks->timeline, good, error);
}

/* Loads the experiment once per policy, so that a wrong name is refused before the first run. */
static bool runs_load(struct arena *arena, const struct policies_request *request,
                      struct policy_run *runs, size_t count, struct error *error)
{
    struct inputs *inputs = inputs_create(arena);
    size_t settings = request->override_count;
    struct override *overrides = arena_allocate(arena, settings + 1, sizeof *overrides);
    for (size_t i = 0; i < settings; i++)
        overrides[i] = request->overrides[i];
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        if (request->policy_count > 0 && strchr(request->policies[i], '=') != NULL)
            runs[i].variant = request->policies[i];
        if (request->policy_count > 0)
            overrides[settings] = (struct override){"policy.name", request->policies[i]};
        else if (request->replay_actions != NULL)
            overrides[settings] = (struct override){"policy", "{\"name\":\"fifo\"}"};
        good = resolved_run_load(
            &runs[i].run, inputs, request->path, overrides,
            settings + (request->policy_count > 0 || request->replay_actions != NULL), error);
    }
    return good && inputs_spare(inputs, "--out", request->out, error) &&
           inputs_spare(inputs, "--timeline", request->timeline, error) &&
           inputs_spare(inputs, "--record-actions", request->record_actions, error);
}

/* The bounds do not depend on the policy, unless users of a closed process wait for it. */
static bool asks_bounds(const struct policies_request *request, const struct policy_run *runs,
                        size_t run)
{
    return request->bounds ||
           (request->policy_count > 0 &&
            (run == 0 || runs[run].run.experiment->arrivals.process == ARRIVAL_CLOSED));
}

static bool runs_simulate(struct arena *arena, const struct policies_request *request,
                          struct policy_run *runs, size_t count, struct error *error)
{
    struct sinks sinks = {0};
    bool good = sinks_open(arena, request, runs, count, &sinks, error);
    for (size_t i = 0; good && i < count; i++)
        good = run_simulate(&runs[i], i, &sinks, request, asks_bounds(request, runs, i), error);
    return sinks_close(&sinks, good, error);
}

/* ---- The process ----------------------------------------------------------------------------- */

/* Puts the actions of a file in the place of the policy, if the request has one. */
static bool actions_take_over(struct arena *arena, const struct policies_request *request,
                              struct resolved_run *run, struct error *error)
{
    if (request->replay_actions == NULL)
        return true;
    run->policy = actions_read(arena, request->replay_actions, run->experiment, error);
    if (run->policy != NULL)
        run->experiment->policy_name = (char *)(uintptr_t)run->policy->name;
    return run->policy != NULL;
}

static bool request_run(const struct policies_request *request, struct error *error)
{
    const size_t count = request->policy_count > 0 ? request->policy_count : 1;
    struct arena *arena = arena_create();
    struct policy_run *runs = arena_allocate(arena, count, sizeof *runs);
    bool good = runs_load(arena, request, runs, count, error) &&
                actions_take_over(arena, request, &runs[0].run, error) &&
                runs_simulate(arena, request, runs, count, error);
    if (!guard_restore_output() && good)
        good = error_run(error, "standard output has been closed, by a policy perhaps");
    good = good && request->print(request->context, runs, count, error);
    for (size_t i = 0; i < count; i++) {
        simulation_result_clear(&runs[i].result);
        resolved_run_clear(&runs[i].run);
    }
    arena_destroy(arena);
    return good;
}

static enum worker_pool_outcome work(void *context, size_t number, uint64_t *place,
                                     struct error *error)
{
    *place = number; /* the only one */
    return request_run(context, error) ? WORKER_POOL_HELD : WORKER_POOL_FAILED;
}

static bool collect(void *context, size_t job, uint64_t place, const struct error *failure,
                    struct error *error)
{
    (void)context, (void)job, (void)place;
    if (failure != NULL)
        *error = *failure;
    return failure == NULL;
}

/* Removes what a process that was killed has left of an unfinished file. */
static void output_tidy(const char *path)
{
    struct atomic_file file;
    if (path != NULL && atomic_file_begin(&file, path, NULL))
        (void)atomic_file_end(&file, false, NULL);
}

/* Compiles the policies here: a process that is killed removes no module. */
static bool modules_make(const struct policies_request *request, struct error *error)
{
    char file[POLICY_MODULE_PATH];
    bool good = true;
    for (size_t i = 0; good && i < request->policy_count; i++)
        good = policy_module_file(request->policies[i], file, error);
    for (size_t i = 0; good && i < request->override_count; i++)
        good = strcmp(request->overrides[i].key, "policy.name") != 0 ||
               policy_module_file(request->overrides[i].value, file, error);
    return good;
}

bool policies_run(struct policies_request *request, struct error *error)
{
    guard_divert_output();
    run_process_begin(request->decision_timeout);
    if (request->in_process || request->rehearsal != NULL)
        policy_probe = NULL;
    if (!modules_make(request, error))
        return false;
    if (request->in_process) {
        guard_watch_callbacks(request->decision_timeout);
        return request_run(request, error);
    }
    const struct worker_pool worker_pool = {.jobs = 1,
                                            .workers = 1,
                                            .stops = true,
                                            .stop = guard_defer_stop("interrupted"),
                                            .callback_s = request->decision_timeout,
                                            .context = request,
                                            .work = work,
                                            .collect = collect};
    if (worker_pool_run(&worker_pool, error))
        return true;
    output_tidy(request->out);
    output_tidy(request->timeline);
    output_tidy(request->record_actions);
    return false;
}
