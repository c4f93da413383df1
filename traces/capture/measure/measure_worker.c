/* Measurements that need a process of their own. */
#include "traces/capture/measure/measure_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The parent ------------------------------------------------------------------------------ */

/* Starts this program as a worker. NULL on failure. */
static FILE *start_worker(const char *what, const char *path, bool half, int batch,
                          struct error *error)
{
    char command[1024];
    (void)snprintf(command, sizeof command, "/proc/%ld/exe --worker %s '%s' %s %d %.6f",
                   (long)getpid(), what, path, half ? "fp16" : "fp32", batch, measure_now_ms());
    /* The only external part of the command line is a file's path. NOLINTNEXTLINE(cert-env33-c) */
    FILE *worker = popen(command, "r");
    if (worker == NULL)
        error_run(error, "capture: a process cannot be started");
    return worker;
}

/* Reads numbers until the worker ends. Returns false if the worker failed. */
static bool read_worker(FILE *worker, double *values, size_t room, size_t *count,
                        struct error *error)
{
    char line[256];
    char text[200] = "";
    *count = 0;
    while (fgets(line, sizeof line, worker) != NULL) {
        char *end = NULL;
        const double value = strtod(line, &end);
        if (end == line)
            (void)snprintf(text, sizeof text, "%.180s", line);
        else if (*count < room)
            values[(*count)++] = value;
    }
    text[strcspn(text, "\n")] = '\0';
    if (pclose(worker) == 0)
        return true;
    return error_run(error, "%s", text[0] == '\0' ? "capture: a process of its own failed" : text);
}

bool measure_cold_start(void *state, const struct plan *plan, const struct plan_point *point,
                        double parts[static MEASURE_PARTS], struct error *error)
{
    size_t count = 0;
    const struct plan_member *member = &point->members[0];
    (void)state;
    FILE *worker = start_worker("cold", plan->networks[member->network].graph->path, point->half,
                                member->batch, error);
    if (worker == NULL || !read_worker(worker, parts, MEASURE_PARTS, &count, error))
        return false;
    return count == MEASURE_PARTS ||
           error_run(error, "capture: a cold start gave %zu parts of %d", count, MEASURE_PARTS);
}

/* Measured once, from this process: the values are the same for every network. */
bool measure_process(struct rig *rig, const char *path, long long bytes[static 2],
                     struct error *error)
{
    size_t before = 0;
    size_t total = 0;
    char line[64];
    if (rig->process_bytes[0] == 0) {
        (void)rig->device.api.cuMemGetInfo(&before, &total);
        FILE *worker = start_worker("context", path, false, 1, error);
        if (worker == NULL)
            return false;
        for (size_t i = 0; i < 2 && fgets(line, sizeof line, worker) != NULL; i++) {
            size_t after = 0;
            (void)rig->device.api.cuMemGetInfo(&after, &total);
            rig->process_bytes[i] = (long long)before - (long long)after;
            before = after;
        }
        if (pclose(worker) != 0)
            return error_run(error, "capture: a process of its own failed");
    }
    memcpy(bytes, rig->process_bytes, sizeof rig->process_bytes);
    return true;
}

/* ---- The worker ------------------------------------------------------------------------------ */

/* `--worker KIND PATH PRECISION BATCH STARTED_MS`: a process that starts one network. "cold" prints
 * the phases of a cold start. "context" prints one line when its context exists and one when its
 * libraries are loaded. It pauses after each line so that the parent can measure. */
struct job {
    const char *kind, *path;
    bool half;
    int batch;
    double started_ms, main_ms;
};

static bool work_context(struct rig *rig, struct error *error)
{
    enum { PAUSE_US = 150000 };
    (void)printf("context\n");
    (void)fflush(stdout);
    (void)usleep(PAUSE_US);
    if (!device_load_kernels(&rig->device, error) || rig_lane(rig, 0, error) == NULL)
        return false;
    (void)printf("module\n");
    (void)fflush(stdout);
    (void)usleep(PAUSE_US);
    return true;
}

static bool work_network(struct rig *rig, const struct job *job, struct error *error)
{
    const double module_start = measure_now_ms();
    if (!device_load_kernels(&rig->device, error) || rig_lane(rig, 0, error) == NULL)
        return false;
    const double module_end = measure_now_ms();
    struct partition_stream *lane = rig_lane(rig, 0, error);
    struct graph *graph = graph_load_resized(job->path, job->batch, error);
    struct executor *executor = graph == NULL ? NULL
                                              : executor_create(&rig->device, graph, job->half,
                                                                RIG_SEED, lane, NULL, error);
    const double first_start = measure_now_ms();
    const bool good =
        executor != NULL && executor_run(executor, lane, error) &&
        device_check(&rig->device, rig->device.api.cuStreamSynchronize(lane->partition.stream),
                     "an inference", error);
    if (good) {
        const double parts[] = {job->main_ms - job->started_ms, rig->device.context_ms,
                                rig->device.libraries_ms + module_end - module_start,
                                executor_sizes(executor).weights_ms,
                                measure_now_ms() - first_start};
        double total = 0;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            (void)printf("%.6f\n", parts[i]);
            total += parts[i];
        }
        (void)printf("%.6f\n", total);
    }
    executor_free(executor);
    graph_free(graph);
    return good;
}

int measure_worker(int argc, char **argv)
{
    struct error error = {0};
    if (argc != 6) {
        (void)fprintf(stderr, "capture: --worker is for capture's own use\n");
        return 2;
    }
    const struct job job = {
        .kind = argv[1],
        .path = argv[2],
        .half = strcmp(argv[3], "fp16") == 0,
        .batch = (int)strtol(argv[4], NULL, 10),
        .started_ms = strtod(argv[5], NULL),
        .main_ms = measure_now_ms(),
    };
    struct rig *rig = calloc(1, sizeof *rig);
    bool good = rig != NULL && device_open(&rig->device, &error);
    if (good)
        good = strcmp(job.kind, "context") == 0 ? work_context(rig, &error)
                                                : work_network(rig, &job, &error);
    if (!good)
        (void)printf("%s\n", error.message);
    if (rig != NULL)
        rig_close(rig);
    return good ? 0 : 1;
}
