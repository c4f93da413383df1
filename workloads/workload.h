/* What is run: functions, applications, the cluster — resolved, immutable, shared by every run.
 *
 * The loaders (workloads/experiment.h) build these from JSON; the simulator and the policies only
 * read them. Everything is addressed by index: function f, application a, stage s of application a,
 * queue q (one per (application, stage), numbered application by application), invoker i.
 *
 * The one idea: a function's latency surface is tabulated once, into an array of `configuration`s
 * sorted by (batch, vCPU, vGPU), with time and cost beside each, so that nothing downstream ever
 * interpolates. "Configuration k of function f" is an index into that array everywhere.
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
    sim_time_t time;         /* nominal execution of the whole batch, noise and interference 1 */
    double cost_usd;         /* of the batch: time × (c × vCPU price + g × vGPU price) */
    double cost_per_job_usd; /* cost_usd / batch */
    double gpu_memory_mb;    /* weights + activations of the batch, all resident while it runs */
};

/* Where a function's execution time comes from. All but SERVICE_PROFILE ignore the configuration
 * and exist for theory: the time of each job is drawn whole, and `configuration.time` is the mean.
 */
enum service_kind {
    SERVICE_PROFILE,     /* configuration.time × lognormal noise of mean 1 and cv noise_cv */
    SERVICE_CONSTANT,    /* mean */
    SERVICE_EXPONENTIAL, /* mean */
    SERVICE_LOGNORMAL,   /* mean and service_cv */
    SERVICE_EMPIRICAL    /* one of samples_ms, uniformly */
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
    double input_bytes; /* what a source stage of this function receives from the client */
    double cold_start_mean_ms;
    double cold_start_cv;        /* lognormal; 0: constant */
    double gpu_weights_mb;       /* resident while a container exists */
    double gpu_per_item_mb;      /* activations, per job of the running batch */
    double host_memory_mb;       /* held by a container from its start to its eviction */
    double bandwidth_share;      /* demand on memory bandwidth, 0..1, for the interference law */
    uint32_t interference_index; /* row in the profile's pair table; SIM_NONE: not in it */
    struct configuration *configurations; /* sorted by (batch, vcpu, vgpu); at least one */
    size_t configuration_count;
    size_t minimum_configuration; /* batch 1, fewest vGPUs, then fewest vCPUs */
    size_t fastest_single;        /* shortest time at batch 1 */
};

struct stage {
    char *name;
    uint32_t function;
    double output_bytes; /* what one job passes to each successor */
    uint32_t *after;     /* predecessors, indices into the application's stages */
    size_t after_count;
    uint32_t *next; /* successors; room for all later stages */
    size_t next_count;
};

/* A DAG of stages in topological order: after[] holds only smaller indices than the stage's own. */
struct application {
    char *name;
    struct stage *stages;
    size_t stage_count;
    uint32_t first_queue;    /* queue of stage s is first_queue + s */
    sim_time_t base_latency; /* L: critical path at each function's minimum configuration */
    sim_time_t slo;          /* factor × L, or given */
    double weight;           /* share of arrivals, Σ over applications = 1 */
};

enum sharing {
    SHARING_MPS,      /* active-thread percentage: compute partitioned, bandwidth shared */
    SHARING_MIG,      /* isolated slices of the shapes the device offers */
    SHARING_EXCLUSIVE /* one batch holds the whole GPU: only vgpu == units fits */
};

struct gpu_spec {
    char model[32];
    enum sharing sharing;
    uint16_t units; /* slicing unit: shares are g / units */
    double memory_mb;
    double speed; /* execution rate relative to the profiled device, default 1 */
};

/* A group of like invokers; invoker ids run group by group. */
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
    double vgpu_hour_usd; /* per unit of the slicing */
};

/* How one batch slows another on the same GPU under MPS; see traces/interference.h. */
struct interference;

struct workload {
    struct function *functions;
    size_t function_count;
    struct application *applications;
    size_t application_count;
    uint32_t queue_count; /* Σ stage_count */
    size_t max_stages;    /* most stages of any application */
    struct cluster_spec cluster;
    const struct interference *interference; /* NULL: none in the profile */
};

/* Fill the derived fields of a workload whose functions, applications (without derived fields) and
 * cluster are set: configuration costs, minimum and fastest configurations, queue numbers, next[]
 * from after[] (allocated, stage_count entries, where it is NULL), base_latency, counts. Stages
 * must already be in topological order. O(size). */
void workload_derive(struct workload *workload);

/* True where configuration `vgpu` can run on a GPU of this kind: 0..units for MPS, a shape of the
 * device for MIG (A100: 1, 2, 3, 4, 7 sevenths), exactly `units` for exclusive. vgpu 0 needs no GPU
 * and is not asked here. */
bool gpu_allows(const struct gpu_spec *gpu, uint16_t vgpu);

/* True where a slice of `vgpu` units, allowed by gpu_allows, has room for `memory_mb`: the whole
 * GPU's memory under MPS and exclusive, the slice's own eighths under MIG (1: 1/8, 2: 2/8, 3 and 4:
 * 4/8, 7: 8/8). */
bool gpu_holds(const struct gpu_spec *gpu, uint16_t vgpu, double memory_mb);

/* Compute slices of a MIG device (7 for A100 and H100, 4 for A30), by the beginning of the model's
 * name; 0 where the model has no MIG. */
uint16_t gpu_mig_units(const char *model);

/* Frees what the workload owns (not the structure itself, nor the interference model). */
void workload_clear(struct workload *workload);

#endif
