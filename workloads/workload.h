/* The workload of a run: functions, applications and the cluster. Resolved, immutable, shared by
 * all runs.
 *
 * The loaders (workloads/experiment.h) build it from JSON. The simulator and the policies only read
 * it. Everything is addressed by index: function f, application a, stage s of application a, queue
 * q (one per (application, stage), numbered application by application), invoker i.
 *
 * The latency surface of a function is tabulated once, as an array of `configuration`s with time
 * and cost, sorted by (batch, vCPU, vGPU). Later code never interpolates. "Configuration k of
 * function f" is an index into this array everywhere.
 */
#ifndef ESGSIM_WORKLOADS_WORKLOAD_H
#define ESGSIM_WORKLOADS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/units.h"

/* Most stages of one application. */
enum { WORKLOAD_MAX_STAGES = 16 };

/* One way to run a batch: b jobs, c vCPUs, g units of one GPU (0: no GPU). */
struct configuration {
    uint16_t batch;
    uint16_t vcpu;
    uint16_t vgpu;
    sim_time_t time;         /* nominal execution time of the whole batch, without noise and
                              * interference */
    double cost_usd;         /* of the batch: time × (c × vCPU price + g × vGPU price) */
    double cost_per_job_usd; /* cost_usd / batch */
    double gpu_memory_mb;    /* weights + activations of the batch, resident while it runs */
};

/* Origin of a function's execution time. All kinds except SERVICE_PROFILE ignore the configuration
 * and are meant for comparison with queueing theory: each job's time is drawn from the
 * distribution, and `configuration.time` is its mean. */
enum service_kind {
    SERVICE_PROFILE,     /* configuration.time × lognormal noise of mean 1 and cv noise_cv */
    SERVICE_CONSTANT,    /* mean */
    SERVICE_EXPONENTIAL, /* mean */
    SERVICE_LOGNORMAL,   /* mean and service_cv */
    SERVICE_EMPIRICAL    /* one of samples_ms, each with equal probability */
};

struct function {
    char *name;
    char *model;
    enum service_kind service;
    sim_time_t service_mean;
    double service_cv;
    double *service_samples_ms; /* SERVICE_EMPIRICAL */
    size_t service_sample_count;
    double noise_cv;
    double input_bytes; /* bytes that the client sends to a source stage of this function */
    double cold_start_mean_ms;
    double cold_start_cv;          /* lognormal; 0: constant */
    double *cold_start_samples_ms; /* each with equal probability, in place of the lognormal; mean
                                    * and cv are theirs. NULL: none */
    size_t cold_start_sample_count;
    double gpu_weights_mb;       /* resident while a container exists */
    double gpu_per_item_mb;      /* activations, per job of the running batch */
    double host_memory_mb;       /* held by a container from its start to its eviction */
    double bandwidth_share;      /* demand for memory bandwidth, 0..1, for the interference model */
    uint32_t interference_index; /* row in the profile's pair table; SIM_NONE if not in it */
    struct configuration *configurations; /* sorted by (batch, vcpu, vgpu); at least one */
    size_t configuration_count;
    size_t minimum_configuration; /* batch 1, fewest vGPUs, then fewest vCPUs */
    size_t fastest_single;        /* shortest time at batch 1 */
};

struct stage {
    char *name;
    uint32_t function;
    double output_bytes; /* bytes that one job sends to each successor */
    uint32_t *after;     /* predecessors, indices into the application's stages */
    size_t after_count;
    uint32_t *next; /* successors; allocated for all later stages */
    size_t next_count;
};

/* A DAG of stages in topological order: after[] contains only indices below the stage's own. */
struct application {
    char *name;
    struct stage *stages;
    size_t stage_count;
    uint32_t first_queue;    /* queue of stage s is first_queue + s */
    sim_time_t base_latency; /* L: critical path at each function's minimum configuration */
    sim_time_t slo;          /* factor × L, or an absolute value */
    double weight;           /* share of arrivals; the weights of all applications sum to 1 */
};

/* Index into the table of workloads/gpu_sharing.h. */
enum sharing {
    SHARING_MPS,      /* active-thread percentage: compute is partitioned, bandwidth is shared */
    SHARING_MIG,      /* isolated slices in the shapes that the device offers */
    SHARING_EXCLUSIVE /* one batch holds the whole GPU; requires vgpu == units */
};

struct gpu_spec {
    char model[32];
    enum sharing sharing;
    uint16_t units; /* number of slicing units; a share is g / units */
    double memory_mb;
    double speed; /* execution rate relative to the profiled device, default 1 */
};

/* A group of identical invokers. Invoker ids are numbered group by group. */
struct invoker_group {
    uint32_t count;
    uint16_t vcpus;
    double memory_mb;
    struct gpu_spec *gpus;
    size_t gpu_count;
};

struct cluster_spec {
    struct invoker_group *groups;
    size_t group_count;
    uint32_t invoker_count; /* Σ count */
    double vcpu_hour_usd;
    double vgpu_hour_usd; /* per slicing unit */
};

/* How batches slow one another on the same GPU under MPS; see traces/profile/interference.h. */
struct interference;

struct workload {
    struct function *functions;
    size_t function_count;
    struct application *applications;
    size_t application_count;
    uint32_t queue_count; /* Σ stage_count */
    size_t max_stages;    /* most stages of any application */
    struct cluster_spec cluster;
    const struct interference *interference; /* NULL if the profile has none */
};

/* Fills the derived fields: configuration costs, minimum and fastest configurations, queue numbers,
 * base_latency and counts. next[] is filled from after[]; it is allocated with stage_count entries
 * if it is NULL. Functions, applications and cluster must be set, with stages in topological order.
 * O(size). */
void workload_derive(struct workload *workload);

/* True if a configuration with `vgpu` units can run on a GPU of this kind. MPS allows 0..units, MIG
 * the device's shapes (A100: 1, 2, 3, 4, 7 sevenths), exclusive only `units`. Not for vgpu 0, which
 * needs no GPU. */
bool gpu_allows(const struct gpu_spec *gpu, uint16_t vgpu);

/* True if a slice of `vgpu` units, allowed by gpu_allows, has `memory_mb` of memory. Under MPS and
 * exclusive this is the memory of the whole GPU; under MIG it is the slice's own eighths (1: 1/8,
 * 2: 2/8, 3 and 4: 4/8, 7: 8/8). */
bool gpu_holds(const struct gpu_spec *gpu, uint16_t vgpu, double memory_mb);

/* Frees everything that the workload owns, but neither the structure itself nor the interference
 * model. */
void workload_clear(struct workload *workload);

#endif
