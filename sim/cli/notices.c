#include "sim/cli/notices.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/profile/profile.h"
#include "workloads/gpu_sharing.h"

__attribute__((format(printf, 2, 3))) static void add(FILE *text, const char *format, ...)
{
    va_list args;
    if (ftell(text) > 0)
        (void)fputc('\n', text);
    va_start(args, format);
    (void)vfprintf(text, format, args);
    va_end(args);
}

/* The smallest GPU share with which a function of the workload can run; 0 if no function needs a
 * GPU. */
static uint16_t smallest_share(const struct workload *workload)
{
    uint16_t least = 0;
    for (size_t f = 0; f < workload->function_count; f++)
        for (size_t k = 0; k < workload->functions[f].configuration_count; k++) {
            const uint16_t vgpu = workload->functions[f].configurations[k].vgpu;
            least = vgpu > 0 && (least == 0 || vgpu < least) ? vgpu : least;
        }
    return least;
}

/* Returns whether two batches can run on one MPS GPU at the same time. */
static bool co_runners_possible(const struct workload *workload)
{
    const uint16_t share = smallest_share(workload);
    for (size_t g = 0; share > 0 && g < workload->cluster.group_count; g++)
        for (size_t i = 0; i < workload->cluster.groups[g].gpu_count; i++) {
            const struct gpu_spec *gpu = &workload->cluster.groups[g].gpus[i];
            if (gpu_sharing_of(gpu)->interferes && 2 * share <= gpu->units)
                return true;
        }
    return false;
}

static void add_interference(FILE *text, const struct experiment *experiment)
{
    const struct profile *profile = experiment->profile;
    if (profile == NULL || !co_runners_possible(&experiment->workload))
        return;
    if (!experiment->platform.interference)
        add(text, "note: platform.interference is false: batches that share a GPU under MPS do not "
                  "slow one another");
    else if (profile->interference == NULL && profile->states_no_interference)
        add(text, "note: the profile states that it has no interference model: batches that share "
                  "a GPU under MPS do not slow one another");
    else if (profile->interference == NULL)
        add(text, "warning: the profile has no interference model: batches that share a GPU under "
                  "MPS do not slow one another, so latencies are too short; measure one, or state "
                  "\"interference\": {\"model\": \"none\"} in the profile");
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void add_trace(FILE *text, const struct experiment *experiment,
                      const struct arrival_tally *tally)
{
    const size_t applications = experiment->workload.application_count;
    const double share =
        tally->requests > 0 ? 100.0 * (double)tally->drawn / (double)tally->requests : 0;
    const char *trace = file_name(experiment->arrivals.trace_path);
    if (tally->drawn > 0 && tally->drawn_labels > 0)
        add(text,
            "%s: %zu label%s of trace %s name%s no application: %.3g %% of the requests (%" PRIu64
            " of %" PRIu64 ") %s; \"mapping\" of the arrivals assigns labels",
            applications > 1 ? "warning" : "note", tally->drawn_labels,
            tally->drawn_labels == 1 ? "" : "s", trace, tally->drawn_labels == 1 ? "s" : "", share,
            tally->drawn, tally->requests,
            applications > 1 ? "were assigned to applications at random, by weight"
                             : "went to the only application");
    else if (tally->drawn > 0 && applications > 1)
        add(text,
            "note: trace %s names no applications: each request was assigned to one at random, by "
            "weight",
            trace);
    if (tally->fixed_times)
        add(text,
            "note: every seed replays the arrival times of trace %s: intervals over seeds cover "
            "noise only, not arrivals",
            trace);
}

char *notices_text(const struct experiment *experiment, const struct simulation_result *result)
{
    char *lines = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&lines, &size);
    if (text == NULL)
        return NULL;
    add_interference(text, experiment);
    if (experiment->workload.application_count > 0 && experiment->arrivals.process == ARRIVAL_TRACE)
        add_trace(text, experiment, &result->arrivals);
    if (fclose(text) == 0)
        return lines;
    free(lines);
    return NULL;
}
