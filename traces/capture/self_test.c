#include "traces/capture/self_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "traces/capture/executor.h"
#include "traces/capture/processor.h"

enum { SEED = 7, BATCH = 3 };

/* Largest difference of an output, relative to its largest magnitude. */
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

static bool compare(struct device *device, struct lane *lane, const struct graph *graph,
                    float *const *wanted, bool half, struct error *error)
{
    const double tolerance = half ? 3e-2 : 1e-2; /* TF32 keeps ten bits, as FP16 does */
    double worst = 0;
    struct executor *executor = executor_create(device, graph, half, SEED, lane, NULL, error);
    bool good = executor != NULL && executor_run(executor, lane, error) &&
                device_check(device, device->api.cuStreamSynchronize(lane->partition.stream),
                             "a self-test", error);
    for (size_t i = 0; good && i < graph->output_count; i++)
        good = difference(executor, graph, graph->outputs[i], wanted[graph->outputs[i]], &worst,
                          error);
    executor_free(executor);
    if (!good)
        return false;
    (void)printf("%-8s %s on %3d multiprocessors: off by %.2g of %.2g\n", graph->name,
                 half ? "fp16" : "fp32", lane->partition.sms, worst, tolerance);
    return worst <= tolerance ||
           error_run(error, "capture: self-test \"%s\" in %s is off by %g, more than rounding",
                     graph->name, half ? "fp16" : "fp32", worst);
}

static bool test_network(struct device *device, struct lane *lane, const char *text,
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
    struct lane lane;
    if (!partition_create(device, groups, &partition, error) ||
        !lane_create(device, &partition, &lane, error))
        return false;
    bool good = true;
    for (size_t i = 0; good && self_test_network(i) != NULL; i++)
        good = test_network(device, &lane, self_test_network(i), error);
    lane_destroy(&lane);
    return good;
}

/* Parts that neither lie side by side nor share a multiprocessor, as a replay makes them. */
static bool test_parts(struct device *device, struct error *error)
{
    struct slices slices;
    return device_split(device, error) &&
           slices_plan((int)device->group_count, SLICES_CAPTURED, &slices, error) &&
           test_lane(device, slices_groups(&slices, 0x15), error) &&
           test_lane(device, slices_groups(&slices, 0x0a), error);
}

bool self_test_run(struct error *error)
{
    struct device device;
    if (!device_open(&device, error))
        return false;
    bool good = device_load_kernels(&device, error) && test_lane(&device, 0, error);
    if (good && device.api.cuGreenCtxCreate != NULL)
        good = test_parts(&device, error);
    else if (good)
        (void)printf("this driver has no green contexts: parts of the device are not tested\n");
    device_close(&device);
    return good;
}
