/* Finds what a reader of a run's figures must know: the notices of a run in notices.def. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sim/base/atomic_file.h"
#include "sim/platform/simulation_internal.h"
#include "traces/profile/profile.h"
#include "traces/readers/arrival_trace.h"
#include "workloads/training/training_plan.h"
#include "workloads/world/gpu_sharing.h"

/* The smallest share of a GPU of this kind with which a function of the workload can run; 0 if none
 * runs on such a GPU. */
static uint16_t smallest_share(const struct workload *workload, size_t kind)
{
    uint16_t least = 0;
    for (size_t f = 0; f < workload->function_count; f++)
        for (size_t k = 0; k < workload->functions[f].configuration_count; k++) {
            const struct configuration *c = &workload->functions[f].configurations[k];
            if (c->kind == kind && c->vgpu > 0 && (least == 0 || c->vgpu < least))
                least = c->vgpu;
        }
    return least;
}

/* Returns whether two batches can run on one MPS GPU of this kind at the same time. */
static bool co_runners_possible(const struct workload *workload, size_t kind)
{
    const uint16_t share = smallest_share(workload, kind);
    for (size_t g = 0; share > 0 && g < workload->cluster.group_count; g++)
        for (size_t i = 0; i < workload->cluster.groups[g].gpu_count; i++) {
            const struct gpu_spec *gpu = &workload->cluster.groups[g].gpus[i];
            if (gpu->kind == kind && gpu_sharing_of(gpu)->interferes && 2 * share <= gpu->units)
                return true;
        }
    return false;
}

static void add_interference(struct notices *notices, const struct experiment *experiment)
{
    const struct workload *workload = &experiment->workload;
    for (size_t k = 0; k < workload->kind_count; k++) {
        const struct gpu_kind *kind = &workload->kinds[k];
        char gpu[sizeof kind->model + sizeof " for "] = ""; /* among several profiles */
        size_t earlier = 0;
        if (kind->profile == NULL || !co_runners_possible(workload, k))
            continue;
        if (!experiment->platform.interference) {
            notices_add(notices, NOTICE_OF(INTERFERENCE_OFF));
            return;
        }
        while (earlier < k && workload->kinds[earlier].profile != kind->profile)
            earlier++; /* a profile is named once */
        if (kind->interference != NULL || earlier < k)
            continue;
        if (experiment->profiles.count > 1)
            (void)snprintf(gpu, sizeof gpu, " for %s", kind->model);
        if (kind->profile->states_no_interference)
            notices_add(notices, NOTICE_OF(INTERFERENCE_NONE), gpu);
        else
            notices_add(notices, NOTICE_OF(INTERFERENCE_MISSING), gpu);
    }
}

/* Says once that times of kernels, without the host's or a turnaround, leave out what a server
 * needs. */
static void add_kernels(struct notices *notices, const struct workload *workload)
{
    for (size_t k = 0; k < workload->kind_count; k++) {
        const struct profile *profile = workload->kinds[k].profile;
        if (profile == NULL || profile->latency_of != PROFILE_LATENCY_KERNEL)
            continue;
        for (size_t f = 0; f < workload->function_count; f++) {
            const struct function_gpu *gpu = &workload->functions[f].gpus[k];
            if (workload->functions[f].service != SERVICE_PROFILE || !gpu->runs ||
                gpu->turnaround_ms > 0 || gpu->turnaround_per_item_ms > 0)
                continue;
            notices_add(notices, NOTICE_OF(KERNELS), workload->functions[f].name);
            return;
        }
    }
}

static void add_stationarity(struct notices *notices, const struct simulation_result *result)
{
    if (result->queues_grew)
        notices_add(notices, NOTICE_OF(LENGTH),
                    "the run is not stationary: its queues grew until the last arrival");
    else if (result->long_drain)
        notices_add(notices, NOTICE_OF(LENGTH),
                    "the drain after the last arrival took over a tenth of the time of arrivals");
}

static void add_trace(struct notices *notices, const struct experiment *experiment,
                      const struct arrival_counts *counts)
{
    const size_t applications = experiment->workload.application_count;
    const double share =
        counts->requests > 0 ? 100.0 * (double)counts->drawn / (double)counts->requests : 0;
    const char *trace = file_name(experiment->arrivals.trace_path);
    char labels[512];
    (void)snprintf(labels, sizeof labels,
                   "%zu label%s of trace %s name%s no application: %.3g %% of the requests "
                   "(%" PRIu64 " of %" PRIu64 ")",
                   counts->drawn_labels, counts->drawn_labels == 1 ? "" : "s", trace,
                   counts->drawn_labels == 1 ? "s" : "", share, counts->drawn, counts->requests);
    if (counts->drawn > 0 && counts->drawn_labels > 0 && applications > 1)
        notices_add(notices, NOTICE_OF(LABELS_DRAWN), labels);
    else if (counts->drawn > 0 && counts->drawn_labels > 0)
        notices_add(notices, NOTICE_OF(LABELS_OF_ONE), labels);
    else if (counts->drawn > 0 && applications > 1)
        notices_add(notices, NOTICE_OF(APPLICATIONS_DRAWN), trace);
    if (counts->first_s != 0)
        notices_add(notices, NOTICE_OF(TRACE_BEGINS), trace, counts->first_s);
    if (trace_file_is_cut(experiment->arrivals.trace_path))
        notices_add(notices, NOTICE_OF(TRACE_CUT), trace);
    if (experiment->arrivals.windows > 1)
        notices_add(notices, NOTICE_OF(WINDOWS), trace, experiment->arrivals.window_s,
                    experiment->arrivals.windows);
    if (counts->fixed_times && experiment_is_random(experiment))
        notices_add(notices, NOTICE_OF(TIMES_FIXED), trace);
}

/* In tens of per cent, because reports collect equal notices. */
static void add_predicted(struct notices *notices, const struct run_measures *run)
{
    if (run->predicted_share > 0.1)
        notices_add(notices, NOTICE_OF(PREDICTED), (int)(10 * run->predicted_share) * 10);
}

/* Without the run's seed, because reports collect equal notices. */
static void add_planning(struct notices *notices, struct arena *arena,
                         const struct planning *planning)
{
    const struct experiment_profiles *list = &planning->profiles;
    const bool erring = planning->error_cv > 0 || planning->error_bias != 0;
    const char *next = " with ";
    char *with = NULL;
    for (size_t i = 0; i < list->count; i++, next = ", ")
        arena_append(arena, &with, "%s%s%s%s", next, file_name(list->entries[i].profile->path),
                     list->entries[i].model[0] != '\0' ? " for " : "", list->entries[i].model);
    if (erring) {
        arena_append(arena, &with, "%serrors of cv %g and bias %g per %s", next, planning->error_cv,
                     planning->error_bias, planning_per_names[planning->error_per]);
        if (planning->error_seed >= 0)
            arena_append(arena, &with, " (seed %" PRId64 ")", planning->error_seed);
        next = ", ";
    }
    if (planning->guard > 0)
        arena_append(arena, &with, "%sguard %g", next, planning->guard);
    if (planning->guard > 0 && planning->unguarded > 0)
        arena_append(arena, &with,
                     " (not for %zu of %zu configurations, which have no expected error)",
                     planning->unguarded, planning->configurations);
    if (with != NULL)
        notices_add(notices, NOTICE_OF(PLANNING), with);
}

/* Whether the file has the times of all used models on this GPU model. */
static bool is_measured_on(const struct training_models *models, const char *gpu)
{
    for (uint32_t m = 0; m < models->count; m++)
        if (models->models[m].used && isnan(training_gpu_speed(models, m, gpu, NAN, 1)))
            return false;
    return true;
}

/* What is assumed about trainings: GPUs of another model, pairs without a measurement. */
static void add_trainings(struct notices *notices, const struct experiment *experiment,
                          bool gpus_shared)
{
    const struct training_models *models = experiment->training->models;
    char slowdown[64] = "the effects of the measured pairs (derived)";
    size_t pairs = 0;
    const size_t missing = gpus_shared ? training_pairs_missing(models, &pairs) : 0;
    for (size_t k = 0; models->gpu != NULL && k < experiment->workload.kind_count; k++) {
        const struct gpu_kind *kind = &experiment->workload.kinds[k];
        if (kind->speed == 1 && strcasecmp(kind->model, models->gpu) != 0 &&
            !is_measured_on(models, kind->model))
            notices_add(notices, NOTICE_OF(OTHER_GPU), models->name, models->gpu, kind->model);
    }
    if (models->derived == NULL)
        (void)snprintf(slowdown, sizeof slowdown, "%g, its default", models->default_pair);
    if (missing > 0 && isnan(models->default_pair))
        notices_add(notices, NOTICE_OF(PAIRS_MISSING), missing, pairs, models->name);
    else if (missing > 0)
        notices_add(notices, NOTICE_OF(PAIRS_STATED), missing, pairs, models->name, slowdown);
}

static void add_failures(struct notices *notices, const struct experiment *experiment)
{
    if (!platform_fails(&experiment->platform))
        return;
    notices_add(
        notices, NOTICE_OF(FAILURES),
        experiment->workload.application_count > 0
            ? ": requests of a lost batch count as dropped, because trying again is the caller's "
              "business"
            : "",
        experiment->training != NULL && experiment->training->checkpoint == 0
            ? ": trainings have no checkpoints, and lose all since they were placed"
            : "");
}

/* What makes seeds more alike, and policies faster, than in reality. `real`: a backend gave the
 * times of executions. */
static void add_free(struct notices *notices, const struct experiment *experiment, bool real)
{
    const struct workload *workload = &experiment->workload;
    const enum decision_cost_kind cost = experiment->platform.decision_cost;
    bool vary = real || workload->application_count == 0;
    for (size_t f = 0; f < workload->function_count; f++)
        vary = vary || function_time_varies(&workload->functions[f], workload->kind_count);
    if (!vary)
        notices_add(notices, NOTICE_OF(EXECUTIONS_FIXED));
    if (workload->application_count > 0 && cost == DECISION_ZERO)
        notices_add(notices, NOTICE_OF(DECISIONS_FREE));
    else if (workload->application_count > 0 && cost != DECISION_MEASURED)
        notices_add(notices, NOTICE_OF(DECISIONS_ASSUMED));
}

void notices_fill(struct arena *arena, const struct experiment *experiment, bool real,
                  struct simulation_result *result)
{
    struct notices *notices = &result->notices;
    add_interference(notices, experiment);
    if (experiment->platform.host == 0)
        add_kernels(notices, &experiment->workload);
    add_planning(notices, arena, &experiment->planning);
    add_predicted(notices, &result->run);
    add_stationarity(notices, result);
    if (experiment->workload.application_count > 0 && experiment->arrivals.process == ARRIVAL_TRACE)
        add_trace(notices, experiment, &result->arrivals);
    add_free(notices, experiment, real);
    if (experiment->platform.decision_cost != DECISION_ZERO &&
        result->callbacks_s * 1e6 >
            100 * result->run.decision_us_mean * (double)result->run.decisions)
        notices_add(notices, NOTICE_OF(DECISIONS_UNCHARGED));
    if (!experiment_is_random(experiment))
        notices_add(notices, NOTICE_OF(NOT_RANDOM));
    add_failures(notices, experiment);
    if (experiment->training != NULL)
        add_trainings(notices, experiment, result->gpus_shared);
}
