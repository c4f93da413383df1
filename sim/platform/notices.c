#include "sim/platform/notices.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/base/atomic_file.h"
#include "traces/profile/profile.h"
#include "traces/readers/arrival_trace.h"
#include "workloads/training/training_plan.h"
#include "workloads/world/gpu_sharing.h"

__attribute__((format(printf, 2, 3))) static void add(FILE *text, const char *format, ...)
{
    va_list args;
    if (ftell(text) > 0)
        (void)fputc('\n', text);
    va_start(args, format);
    (void)vfprintf(text, format, args);
    va_end(args);
}

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

static void add_interference(FILE *text, const struct experiment *experiment)
{
    const struct workload *workload = &experiment->workload;
    for (size_t k = 0; k < workload->kind_count; k++) {
        const struct gpu_kind *kind = &workload->kinds[k];
        char gpu[sizeof kind->model + sizeof " for "] = ""; /* among several profiles */
        size_t earlier = 0;
        if (kind->profile == NULL || !co_runners_possible(workload, k))
            continue;
        if (!experiment->platform.interference) {
            add(text, "note: platform.interference is false: batches that share a GPU under MPS "
                      "do not slow one another");
            return;
        }
        while (earlier < k && workload->kinds[earlier].profile != kind->profile)
            earlier++; /* a profile is named once */
        if (kind->interference != NULL || earlier < k)
            continue;
        if (experiment->profiles.count > 1)
            (void)snprintf(gpu, sizeof gpu, " for %s", kind->model);
        const bool stated = kind->profile->states_no_interference;
        add(text,
            "%s: the profile%s %s no interference model: batches that share a GPU under MPS do not "
            "slow one another%s",
            stated ? "note" : "warning", gpu, stated ? "states that it has" : "has",
            stated ? ""
                   : ", so latencies are too short; measure one, or state \"interference\": "
                     "{\"model\": \"none\"} in the profile");
    }
}

/* Says once that times of kernels, without the host's or a turnaround, leave out what a server
 * needs. */
static void add_kernels(FILE *text, const struct workload *workload)
{
    for (size_t k = 0; k < workload->kind_count; k++) {
        const struct profile *profile = workload->kinds[k].profile;
        if (profile == NULL || profile->latency_of != PROFILE_LATENCY_KERNEL)
            continue;
        for (size_t f = 0; f < workload->function_count; f++) {
            const struct function_gpu *gpu = &workload->functions[f].gpus[k];
            if (workload->functions[f].service != SERVICE_PROFILE || !gpu->runs ||
                gpu->turnaround_ms > 0)
                continue;
            add(text,
                "note: the latencies of the profile are times of kernels, and %s has no "
                "turnaround_ms: what a server needs between two batches is left out, so short "
                "batches are served too fast",
                workload->functions[f].name);
            return;
        }
    }
}

/* No figures in the texts: a report counts equal notices over its runs. */
static void add_stationarity(FILE *text, const struct simulation_result *result)
{
    if (result->queues_grew)
        add(text, "warning: the run is not stationary: its queues grew until the last arrival, so "
                  "hit rate and latency " NOTICE_OF_LENGTH);
    else if (result->long_drain)
        add(text, "warning: the drain after the last arrival took over a tenth of the time of "
                  "arrivals, so hit rate and latency " NOTICE_OF_LENGTH);
}

static void add_trace(FILE *text, const struct experiment *experiment,
                      const struct arrival_counts *counts)
{
    const size_t applications = experiment->workload.application_count;
    const double share =
        counts->requests > 0 ? 100.0 * (double)counts->drawn / (double)counts->requests : 0;
    const char *trace = file_name(experiment->arrivals.trace_path);
    if (counts->drawn > 0 && counts->drawn_labels > 0)
        add(text,
            "%s: %zu label%s of trace %s name%s no application: %.3g %% of the requests (%" PRIu64
            " of %" PRIu64 ") %s; \"mapping\" of the arrivals assigns labels",
            applications > 1 ? "warning" : "note", counts->drawn_labels,
            counts->drawn_labels == 1 ? "" : "s", trace, counts->drawn_labels == 1 ? "s" : "",
            share, counts->drawn, counts->requests,
            applications > 1 ? "were assigned to applications at random, by weight"
                             : "went to the only application");
    else if (counts->drawn > 0 && applications > 1)
        add(text,
            "note: trace %s names no applications: each request was assigned to one at random, by "
            "weight",
            trace);
    if (counts->first_s != 0)
        add(text, "note: trace %s begins at %.13g s, which is time 0 of the run and of \"start_s\"",
            trace, counts->first_s);
    if (trace_file_is_cut(experiment->arrivals.trace_path))
        add(text, "note: the last line of trace %s has no end: the file may be cut", trace);
    if (counts->fixed_times && experiment_is_random(experiment))
        add(text,
            "note: every seed replays the arrival times of trace %s: intervals over seeds cover "
            "noise only, not arrivals",
            trace);
}

/* Says tens of per cent, because reports collect equal notices. */
static void add_predicted(FILE *text, const struct run_measures *run)
{
    if (run->predicted_share > 0.1)
        add(text,
            "note: at least %d %% of the execution time is in configurations that were not "
            "measured (predicted_share): their latencies are a model's",
            (int)(10 * run->predicted_share) * 10);
}

/* Without the run's seed, because reports collect equal notices. */
static void add_planning(FILE *text, const struct experiment *experiment)
{
    const struct planning *planning = &experiment->planning;
    const struct experiment_profiles *list = &planning->profiles;
    const bool erring = planning->error_cv > 0 || planning->error_bias != 0;
    const char *next = " with ";
    if (list->count == 0 && !erring && planning->guard == 0)
        return;
    add(text, "note: policies plan");
    for (size_t i = 0; i < list->count; i++, next = ", ")
        (void)fprintf(text, "%s%s%s%s", next, file_name(list->entries[i].profile->path),
                      list->entries[i].model[0] != '\0' ? " for " : "", list->entries[i].model);
    if (erring) {
        (void)fprintf(text, "%serrors of cv %g and bias %g per %s", next, planning->error_cv,
                      planning->error_bias, planning_per_names[planning->error_per]);
        if (planning->error_seed >= 0)
            (void)fprintf(text, " (seed %" PRId64 ")", planning->error_seed);
        next = ", ";
    }
    if (planning->guard > 0)
        (void)fprintf(text, "%sguard %g", next, planning->guard);
    if (planning->guard > 0 && planning->unguarded > 0)
        (void)fprintf(text, " (not for %zu of %zu configurations, which have no expected error)",
                      planning->unguarded, planning->configurations);
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
static void add_trainings(FILE *text, const struct experiment *experiment, bool gpus_shared)
{
    const struct training_models *models = experiment->training->models;
    const bool stated = !isnan(models->default_pair);
    char slowdown[96];
    size_t pairs = 0;
    const size_t missing = training_pairs_missing(models, &pairs);
    if (models->derived != NULL)
        (void)snprintf(slowdown, sizeof slowdown, "the effects of the measured pairs (derived)");
    else if (stated)
        (void)snprintf(slowdown, sizeof slowdown, "%g, its default", models->default_pair);
    else
        (void)snprintf(slowdown, sizeof slowdown,
                       "1; measure them, or state \"pairs\": {\"default\": \"effects\", a slowdown "
                       "or \"none\"}");
    for (size_t k = 0; models->gpu != NULL && k < experiment->workload.kind_count; k++) {
        const struct gpu_kind *kind = &experiment->workload.kinds[k];
        if (kind->speed == 1 && strcasecmp(kind->model, models->gpu) != 0 &&
            !is_measured_on(models, kind->model))
            add(text,
                "note: the training models \"%s\" are of GPU %s, and the cluster has %s: its "
                "\"speed\" says how much faster it is",
                models->name, models->gpu, kind->model);
    }
    if (gpus_shared && missing > 0)
        add(text,
            "%s: %zu of %zu pairs of models have no slowdown in the models \"%s\"; trainings that "
            "share a GPU then slow one another by %s",
            stated ? "note" : "warning", missing, pairs, models->name, slowdown);
}

/* Without figures, because reports collect equal notices. */
static void add_failures(FILE *text, const struct experiment *experiment)
{
    if (!platform_fails(&experiment->platform))
        return;
    add(text, "note: invokers fail (platform.failures)%s%s; the table of outages has what was lost",
        experiment->workload.application_count > 0
            ? ": requests of a lost batch count as dropped, because trying again is the caller's "
              "business"
            : "",
        experiment->training != NULL && experiment->training->checkpoint == 0
            ? ": trainings have no checkpoints, and lose all since they were placed"
            : "");
}

char *notices_text(const struct experiment *experiment, const struct simulation_result *result)
{
    char *lines = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&lines, &size);
    if (text == NULL)
        return NULL;
    add_interference(text, experiment);
    if (experiment->platform.host == 0)
        add_kernels(text, &experiment->workload);
    add_planning(text, experiment);
    add_predicted(text, &result->run);
    add_stationarity(text, result);
    if (experiment->workload.application_count > 0 && experiment->arrivals.process == ARRIVAL_TRACE)
        add_trace(text, experiment, &result->arrivals);
    if (!experiment_is_random(experiment))
        add(text, "note: " NOTICE_NOT_RANDOM ", so every seed gives this run: a sweep runs one "
                  "seed, and there is no interval");
    add_failures(text, experiment);
    if (experiment->training != NULL)
        add_trainings(text, experiment, result->gpus_shared);
    if (fclose(text) == 0)
        return lines;
    free(lines);
    return NULL;
}
