#include "traces/capture/executor/self_test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "traces/capture/executor/executor.h"
#include "traces/capture/executor/probe.h"
#include "traces/capture/executor/processor.h"

enum { SEED = 7, BATCH = 3 };

/* Finds the largest difference of an output, relative to the output's largest magnitude. */
static bool difference(const struct executor *executor, const struct graph *graph, size_t node,
                       const float *wanted, double *worst, struct error *error)
{
    const size_t count = (size_t)graph_elements(&graph->nodes[node].shape);
    float *values = malloc(count * sizeof *values);
    double largest = 1e-6;
    double off = 0;
    if (values == NULL)
        return error_run(error, "capture: out of memory");
    const bool good = executor_read(executor, node, values, error);
    for (size_t i = 0; good && i < count; i++) {
        largest = fmax(largest, fabs((double)wanted[i]));
        /* A NaN must not pass for a small difference. */
        if (!isfinite(values[i]))
            off = INFINITY;
        off = fmax(off, fabs((double)values[i] - (double)wanted[i]));
    }
    free(values);
    *worst = fmax(*worst, off / largest);
    return good;
}

/* Compares the outputs of the executor's last run with those of the processor. */
static bool judge(const struct executor *executor, const struct graph *graph, float *const *wanted,
                  const char *where, bool half, struct error *error)
{
    const double tolerance = half ? 3e-2 : 1e-2; /* TF32 has a mantissa of 10 bits, as FP16 has */
    double worst = 0;
    for (size_t i = 0; i < graph->output_count; i++)
        if (!difference(executor, graph, graph->outputs[i], wanted[graph->outputs[i]], &worst,
                        error))
            return false;
    (void)printf("%-8s %s %s: off by %.2g of %.2g\n", graph->name, half ? "fp16" : "fp32", where,
                 worst, tolerance);
    return worst <= tolerance ||
           error_run(error, "capture: self-test \"%s\" in %s %s is off by %g, more than rounding",
                     graph->name, half ? "fp16" : "fp32", where, worst);
}

static bool run_and_wait(struct device *device, const struct executor *executor,
                         const struct partition_stream *lane, struct error *error)
{
    return executor_run(executor, lane, error) &&
           device_check(device, device->api.cuStreamSynchronize(lane->partition.stream),
                        "a self-test", error);
}

static bool run_once(struct device *device, const struct executor *executor,
                     const struct partition_stream *lane, struct error *error)
{
    return executor_clear(executor, error) && run_and_wait(device, executor, lane, error);
}

/* A library that cannot be recorded is not an error: CUDA graphs are optional. */
static bool compare_graph(struct device *device, struct partition_stream *lane,
                          const struct executor *executor, const struct graph *graph,
                          float *const *wanted, bool half, struct error *error)
{
    struct error refused = {0};
    struct executor_graph *recorded = executor_record(executor, lane, &refused);
    if (recorded == NULL) {
        (void)printf("%-8s %s as a CUDA graph: %s\n", graph->name, half ? "fp16" : "fp32",
                     device_reason(&refused));
        return true;
    }
    const bool good = executor_clear(executor, error) &&
                      executor_graph_launch(recorded, lane, error) &&
                      device_check(device, device->api.cuStreamSynchronize(lane->partition.stream),
                                   "a CUDA graph", error) &&
                      judge(executor, graph, wanted, "as a CUDA graph", half, error);
    partition_stream_leave(lane);
    executor_graph_free(recorded);
    return good;
}

static bool compare(struct device *device, struct partition_stream *lane, const struct graph *graph,
                    float *const *wanted, bool half, struct error *error)
{
    char where[64];
    (void)snprintf(where, sizeof where, "on %3d multiprocessors", lane->partition.sms);
    struct executor *executor = executor_create(device, graph, half, SEED, lane, NULL, error);
    const bool good = executor != NULL && run_once(device, executor, lane, error) &&
                      judge(executor, graph, wanted, where, half, error) &&
                      compare_graph(device, lane, executor, graph, wanted, half, error);
    executor_free(executor);
    return good;
}

static bool test_network(struct device *device, struct partition_stream *lane, const char *text,
                         struct error *error)
{
    struct graph *graph = graph_parse(text, "self-test", error);
    bool good = graph != NULL && graph_resize(graph, BATCH, 0, 0, error);
    float **wanted = good ? processor_run(graph, SEED) : NULL;
    if (wanted == NULL) {
        graph_free(graph);
        return good ? error_run(error, "capture: out of memory") : false;
    }
    good = compare(device, lane, graph, wanted, false, error) &&
           compare(device, lane, graph, wanted, true, error);
    processor_free(graph, wanted);
    graph_free(graph);
    return good;
}

static bool test_lane(struct device *device, uint64_t groups, struct error *error)
{
    struct partition partition;
    struct partition_stream lane;
    if (!partition_create(device, groups, &partition, error) ||
        !partition_stream_create(device, &partition, &lane, error))
        return false;
    bool good = true;
    for (size_t i = 0; good && self_test_network(i) != NULL; i++)
        good = test_network(device, &lane, self_test_network(i), error);
    partition_stream_destroy(&lane);
    return good;
}

/* ---- Side by side ---------------------------------------------------------------------------- */

enum { PAIR = 2, ROUNDS = 30 };

/* A thread that runs a network repeatedly on its partition of the device. */
struct side {
    struct device *device;
    struct partition_stream lane;
    struct executor *executor;
    struct error error;
    bool good;
};

static void *run_side(void *argument)
{
    struct side *side = argument;
    side->good = true;
    for (int i = 0; i < ROUNDS && side->good; i++)
        side->good = run_and_wait(side->device, side->executor, &side->lane, &side->error);
    partition_stream_leave(&side->lane);
    return NULL;
}

static bool run_sides(struct side sides[static PAIR], struct error *error)
{
    pthread_t threads[PAIR];
    int started = 0;
    /* A green context may be current in only one thread. */
    partition_stream_leave(&sides[0].lane);
    while (started < PAIR &&
           pthread_create(&threads[started], NULL, run_side, &sides[started]) == 0)
        started++;
    for (int i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    if (started < PAIR)
        return error_run(error, "capture: a thread cannot be started");
    for (int i = 0; i < PAIR; i++)
        if (!sides[i].good) {
            *error = sides[i].error;
            return false;
        }
    return true;
}

/* Runs copies of a network concurrently, then a smaller batch in the memory of the first copy, as a
 * replay does. */
static bool test_copies(struct side sides[static PAIR], const struct graph *graph,
                        const struct graph *single, float *const *wanted,
                        float *const *wanted_single, struct error *error)
{
    struct device *device = sides[0].device;
    struct executor_kin kin = {NULL, NULL};
    for (int i = 0; i < PAIR; i++) {
        kin.like = sides[0].executor; /* NULL for the first */
        sides[i].executor = executor_create(device, graph, true, SEED, &sides[0].lane, &kin, error);
        if (sides[i].executor == NULL)
            return false;
    }
    kin = (struct executor_kin){.room = sides[0].executor};
    struct executor *guest =
        executor_create(device, single, true, SEED, &sides[0].lane, &kin, error);
    const bool good = guest != NULL && executor_clear(sides[0].executor, error) &&
                      executor_clear(sides[1].executor, error) && run_sides(sides, error) &&
                      judge(sides[0].executor, graph, wanted, "beside another", true, error) &&
                      judge(sides[1].executor, graph, wanted, "beside another", true, error) &&
                      run_once(device, guest, &sides[1].lane, error) &&
                      judge(guest, single, wanted_single, "in another's room", true, error) &&
                      run_once(device, sides[0].executor, &sides[1].lane, error) &&
                      judge(sides[0].executor, graph, wanted, "after a guest", true, error);
    executor_free(guest);
    return good;
}

static bool test_sides(struct device *device, struct side sides[static PAIR], struct error *error)
{
    bool good = true;
    for (size_t n = 0; good && self_test_network(n) != NULL; n++) {
        struct graph *graph = graph_parse(self_test_network(n), "self-test", error);
        struct graph *single = graph_parse(self_test_network(n), "self-test", error);
        good = graph != NULL && single != NULL && graph_resize(graph, BATCH, 0, 0, error);
        float **wanted = good && graph != NULL ? processor_run(graph, SEED) : NULL;
        float **wanted_single = good && single != NULL ? processor_run(single, SEED) : NULL;
        if (good && (wanted == NULL || wanted_single == NULL))
            good = error_run(error, "capture: out of memory");
        good = good && test_copies(sides, graph, single, wanted, wanted_single, error);
        for (int i = PAIR; i-- > 0;) {
            executor_free(sides[i].executor);
            sides[i].executor = NULL;
        }
        if (graph != NULL)
            processor_free(graph, wanted);
        if (single != NULL)
            processor_free(single, wanted_single);
        graph_free(graph);
        graph_free(single);
    }
    partition_leave(device);
    return good;
}

/* Tests two partitions that are not contiguous and share no multiprocessor, as a replay creates
 * them: first one after the other, then concurrently. */
static bool test_parts(struct device *device, struct error *error)
{
    static const uint32_t units[PAIR] = {0x15, 0x0a};
    struct side sides[PAIR] = {{.device = device}, {.device = device}};
    struct slices slices;
    bool good = device_split(device, error) &&
                slices_plan((int)device->group_count, SLICES_CAPTURED, &slices, error);
    for (int i = 0; i < PAIR && good; i++) {
        struct partition partition;
        good = test_lane(device, slices_groups(&slices, units[i]), error) &&
               partition_create(device, slices_groups(&slices, units[i]), &partition, error) &&
               partition_stream_create(device, &partition, &sides[i].lane, error);
    }
    good = good && test_sides(device, sides, error);
    for (int i = 0; i < PAIR; i++)
        partition_stream_destroy(&sides[i].lane);
    return good;
}

bool self_test_run(struct error *error)
{
    struct device device;
    struct probe_answers answers;
    if (!device_open(&device, error))
        return false;
    bool good = device_load_kernels(&device, error) && test_lane(&device, 0, error);
    if (good && device.api.cuGreenCtxCreate != NULL)
        good = probe_run(&device, &answers, error) && test_parts(&device, error);
    else if (good)
        (void)printf("this driver has no green contexts: parts of the device are not tested\n");
    device_close(&device);
    return good;
}
