/* FGD's placement of pods that share GPUs, and its baselines: nodes, demands, scores. Internal to
 * sched/fgd/.
 *
 * Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
 * Gradient Descent" (USENIX ATC 2023), as in hkust-adsl/kubernetes-scheduler-simulator at 29a1e4c,
 * pkg/simulator/plugin [code]. A pod is a training, a node an invoker. Every node that fits gets a
 * score, a whole number of 0..100, and the first of the greatest takes the pod. A score depends on
 * the node and the demand alone, so it is kept until the node changes. */
#ifndef ESGSIM_SCHED_FGD_FGD_H
#define ESGSIM_SCHED_FGD_FGD_H

#include "sched/common/kinds.h"
#include "sched/policy_training.h"
#include "sched/common/fragmentation.h"

/* GPUs of one invoker, and classes of pods: shares of one GPU (0), and 1, 2, … whole GPUs. */
enum { FGD_GPUS_MOST = 64, FGD_CLASSES = FGD_GPUS_MOST + 1 };

enum { FGD_SCORES = 6, FGD_NO_FIT = -1 };

struct fgd_gpu {
    uint32_t left, whole; /* hundredths of units */
    double memory_mb;     /* free */
    uint32_t type;        /* gpu_spec.type */
};

struct fgd_node {
    struct fgd_gpu *gpus;
    uint32_t gpu_count;
    int64_t micro_vcpus, kb;     /* free */
    struct fragment_node shares; /* the proportional ones alone */
    uint32_t *pods;              /* by class */
    uint32_t classes;            /* that have a pod */
    uint32_t version;            /* from 1; changes with the node */
    double fragmented;           /* F, in GPUs */
};

/* What pods of one kind ask for, and what each node last answered. */
struct fgd_demand {
    struct fragment_shape shape;
    struct fgd_answer {
        uint32_t version; /* of the node then; 0: never asked */
        int16_t score;    /* FGD_NO_FIT: it does not fit */
        uint16_t gpu;     /* for a share of one GPU */
    } * answers;
};

struct fgd;
/* A score of a node on which the demand fits. Sets the GPU of a share. */
typedef int fgd_score(const struct fgd *self, const struct fgd_node *node,
                      const struct fragment_shape *shape, uint16_t *gpu);

struct fgd {
    struct platform *platform;
    const struct fragment_shape *typical;
    size_t typical_count;
    fgd_score *score;             /* NULL: any node that fits */
    double most_vcpus, most_gpus; /* of an invoker, by which scores are relative */
    struct fgd_node *nodes;
    uint32_t node_count;
    uint32_t *order; /* of nodes of equal score; drawn */
    struct fgd_demand *demands;
    uint32_t demand_count;
    struct fgd_place {
        uint32_t node, demand;
        uint64_t gpus; /* bits */
    } * places;        /* by training; node SIM_NONE: none */
    uint32_t next;     /* the first training that has not been tried since the last end */
    uint64_t outages;  /* that it knows of */
};

/* Whether a pod asks for a part of one GPU. */
static inline bool fgd_is_share(const struct fragment_shape *shape)
{
    return shape->gpus == 1 && shape->share < 1;
}

/* Parts of a GPU that a share takes, as a grant can hold them. */
uint32_t fgd_parts(const struct fgd_gpu *gpu, double share);
/* Whether the demand fits on this GPU. */
bool fgd_gpu_fits(const struct fgd_gpu *gpu, const struct fragment_shape *shape);
/* What the demand takes of the node's vCPUs (millionths) and memory (KiB), per grant. */
int64_t fgd_micro_vcpus(const struct fgd_node *node, const struct fragment_shape *shape);
int64_t fgd_kb(const struct fgd_node *node, const struct fragment_shape *shape);

/* fgd, random (NULL), dot-product, clustering, packing, best-fit. */
extern fgd_score *const fgd_scores[FGD_SCORES];

/* F of a node now, in GPUs. O(typical shapes × GPUs). */
double fgd_fragmented(const struct fgd *self, const struct fgd_node *node);

#endif
