#include "sched/common/fragmentation.h"

#include <stdlib.h>

#include "workloads/world/workload.h"

static const double MILLIONTH = 1e-6;

double fragment_vcpus(const struct fragment_node *node, const struct fragment_shape *shape)
{
    return shape->exact || shape->vcpus < node->vcpus_per_gpu ? shape->vcpus : node->vcpus_per_gpu;
}

double fragment_memory_gb(const struct fragment_node *node, const struct fragment_shape *shape)
{
    return shape->exact || shape->memory_gb < node->memory_gb_per_gpu ? shape->memory_gb
                                                                      : node->memory_gb_per_gpu;
}

static bool server_fits(const struct fragment_node *node, const struct fragment_shape *shape)
{
    return shape->gpus * fragment_vcpus(node, shape) <= node->vcpus + MILLIONTH &&
           shape->gpus * fragment_memory_gb(node, shape) <= node->memory_gb + MILLIONTH;
}

double fragmentation_of(const struct fragment_node *node, const struct fragment_shape *shapes,
                        size_t count)
{
    double sum = 0, all = 0;
    for (uint32_t g = 0; g < node->gpu_count; g++)
        all += node->gpus[g].left;
    for (size_t m = 0; m < count && all > 0; m++) {
        const struct fragment_shape *shape = &shapes[m];
        double useless = 0;
        uint32_t usable = 0;
        for (uint32_t g = 0; g < node->gpu_count; g++) {
            if (node->gpus[g].left >= shape->share &&
                node->gpus[g].memory_mb >= shape->gpu_memory_mb &&
                gpu_types_have(shape->gpu_types, node->gpus[g].type))
                usable++;
            else
                useless += node->gpus[g].left;
        }
        const bool fits = shape->gpus > 0 && usable >= shape->gpus && server_fits(node, shape);
        sum += shape->frequency * (fits ? useless : all);
    }
    return sum;
}

static int descending(double left, double right)
{
    return (left < right) - (left > right);
}

int fragment_compare(const void *a, const void *b)
{
    const struct fragment_shape *left = a, *right = b;
    int order = descending(left->gpus, right->gpus);
    order = order != 0 ? order : descending(left->share, right->share);
    order = order != 0 ? order : descending(left->vcpus, right->vcpus);
    order = order != 0 ? order : descending(left->memory_gb, right->memory_gb);
    order = order != 0 ? order : descending(left->gpu_memory_mb, right->gpu_memory_mb);
    return order != 0 ? order
                      : (left->gpu_types < right->gpu_types) - (left->gpu_types > right->gpu_types);
}

static int compare_frequencies(const void *a, const void *b)
{
    const struct fragment_shape *left = a, *right = b;
    const int order = descending(left->frequency, right->frequency);
    return order != 0 ? order : fragment_compare(a, b);
}

/* Merges equal shapes. Returns the number of unlike ones. */
static size_t merge(struct fragment_shape *shapes, size_t count)
{
    size_t unlike = 0;
    qsort(shapes, count, sizeof *shapes, fragment_compare);
    for (size_t m = 0; m < count; m++) {
        if (unlike > 0 && fragment_compare(&shapes[unlike - 1], &shapes[m]) == 0)
            shapes[unlike - 1].frequency += shapes[m].frequency;
        else
            shapes[unlike++] = shapes[m];
    }
    return unlike;
}

size_t fragmentation_typical(struct fragment_shape *shapes, size_t count, double part)
{
    double all = 0, kept = 0;
    size_t typical = 0;
    count = merge(shapes, count);
    qsort(shapes, count, sizeof *shapes, compare_frequencies);
    for (size_t m = 0; m < count; m++)
        all += shapes[m].frequency;
    while (typical < count && kept < part * all)
        kept += shapes[typical++].frequency;
    for (size_t m = 0; m < typical; m++)
        shapes[m].frequency /= kept;
    return typical;
}
