/* FGD's measure of fragmentation: free GPUs that the typical work of a run cannot use.
 *
 * Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
 * Gradient Descent" (USENIX ATC 2023), as in hkust-adsl/kubernetes-scheduler-simulator at 29a1e4c,
 * pkg/utils/frag.go (NodeGpuShareFragAmount, GetTypicalPods), in our own words. For a node and a
 * shape m of work, what is left of a GPU is a fragment if m does not fit the node, or if m fits
 * but cannot use this GPU. F is the mean over the shapes, weighted by their frequency. */
#ifndef ESGSIM_SCHED_COMMON_FRAGMENTATION_H
#define ESGSIM_SCHED_COMMON_FRAGMENTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a piece of work asks for on one node. */
struct fragment_shape {
    uint32_t gpus;               /* 0: vCPUs only, for which every GPU is a fragment */
    double share, gpu_memory_mb; /* of each GPU; share 1: a whole one */
    uint64_t gpu_types;          /* that it accepts, bit gpu_spec.type; without GPUs all */
    double vcpus, memory_gb;     /* per GPU, or in all without GPUs */
    double frequency;            /* count, or part of all work */
    bool exact; /* it needs all of its vCPUs and memory, also beyond the proportional share */
};

struct fragment_gpu {
    double left;      /* part of the GPU that is free, 0..1 */
    double memory_mb; /* free */
    uint32_t type;    /* gpu_spec.type */
};

struct fragment_node {
    const struct fragment_gpu *gpus; /* those of which nothing is left need not be there */
    uint32_t gpu_count;
    double vcpus, memory_gb;                 /* free */
    double vcpus_per_gpu, memory_gb_per_gpu; /* most that a shape which is not exact asks for */
};

/* Order of two shapes by what they ask for, the larger first; 0: they ask for the same. */
int fragment_compare(const void *a, const void *b);
/* What the shape asks of this node, per GPU. */
double fragment_vcpus(const struct fragment_node *node, const struct fragment_shape *shape);
double fragment_memory_gb(const struct fragment_node *node, const struct fragment_shape *shape);

/* F of the node in GPUs. Frequencies are parts of 1. vCPUs and memory are compared to a millionth.
 * O(shapes × GPUs). */
double fragmentation_of(const struct fragment_node *node, const struct fragment_shape *shapes,
                        size_t count);

/* Merges equal shapes and sorts them by frequency, descending, of equal ones the larger first.
 * Keeps the first that make up `part` of the sum; their frequencies become parts of 1. Returns
 * their number. O(count log count). */
size_t fragmentation_typical(struct fragment_shape *shapes, size_t count, double part);

#endif
