/* The workload of a run: functions, applications and the cluster. Resolved, immutable, shared by
 * all runs. Its memory is of the arena into which it was loaded.
 *
 * The loaders (workloads/spec/experiment.h) build it from JSON. The simulator and the policies only
 * read it. Everything is addressed by index: function f, application a, stage s of application a,
 * queue q (one per (application, stage), numbered application by application), invoker i.
 *
 * The latency surface of a function is tabulated once, as an array of `configuration`s with time
 * and cost, sorted by (kind of GPU, batch, vCPU, vGPU). Later code never interpolates.
 * "Configuration k of function f" is an index into this array everywhere.
 *
 * A cluster may have several kinds of GPU. A configuration belongs to one kind and runs only on
 * GPUs of that kind. Its time, cost and memory are those on that kind, the GPU's speed included.
 */
#ifndef ESGSIM_WORKLOADS_WORLD_WORKLOAD_H
#define ESGSIM_WORKLOADS_WORLD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"

struct arena;

struct profile;      /* traces/profile/profile.h */
struct interference; /* how batches slow one another under MPS: traces/profile/interference.h */

/* Most stages of one application, and most kinds of GPU of a cluster. */
enum { WORKLOAD_MAX_STAGES = 16, WORKLOAD_MAX_KINDS = 64 };

/* GPUs with the same profile, units, speed and price. They may differ in sharing and memory. */
struct gpu_kind {
    char model[32];       /* of the first such GPU in the cluster file */
    uint16_t units;       /* slicing units of one GPU; unlike kinds may have unlike units */
    double speed;         /* rate relative to the profile; the configurations' times include it */
    double vgpu_hour_usd; /* price of one unit */
    const struct profile *profile;           /* NULL: none */
    const struct interference *interference; /* of the profile; NULL: none */
    struct interference *fused_interference; /* the same with rows of fused functions, or NULL */
};

/* What a configuration's time rests on, best first. */
enum configuration_grade {
    CONFIGURATION_MEASURED, /* a cell that the profile does not mark as predicted, or a service */
    CONFIGURATION_INTERPOLATED, /* marked so, or between the profile's cells */
    CONFIGURATION_EXTRAPOLATED,
    CONFIGURATION_GRADES /* their number */
};

/* One way to run a batch: b jobs, c vCPUs, g units of one GPU (0: no GPU). */
struct configuration {
    uint16_t batch;
    uint16_t vcpu;
    uint16_t vgpu;
    uint16_t kind;           /* of the GPU, index into workload.kinds; 0 if vgpu is 0. Without a
                              * GPU a configuration runs on every invoker */
    sim_time_t time;         /* nominal execution time of the whole batch, without noise and
                              * interference; on a GPU of speed s, 1/s of the profile's */
    double cost_usd;         /* of the batch: time × (c × vCPU price + g × the kind's price) */
    double cost_per_job_usd; /* cost_usd / batch */
    double gpu_memory_mb;    /* weights + activations of the batch, resident while it runs */
    uint8_t grade;           /* enum configuration_grade */
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

/* A function on one kind of GPU. Entry 0 also holds for its containers without a GPU. A kind on
 * which the function does not run has the values of the first one on which it does. */
struct function_gpu {
    double noise_cv;
    double cold_start_mean_ms;
    double cold_start_cv;          /* lognormal; 0: constant */
    double *cold_start_samples_ms; /* each with equal probability, in place of the lognormal; mean
                                    * and cv are theirs. NULL: none */
    size_t cold_start_sample_count;
    double gpu_weights_mb;  /* resident while a container exists */
    double gpu_per_item_mb; /* activations, per job of the running batch */
    double bandwidth_share; /* demand for memory bandwidth, 0..1, for the interference model */
    double turnaround_ms;   /* after a batch: its share and container stay held for so long */
    double turnaround_per_item_ms; /* and for each job of its size */
    uint32_t interference_index;   /* row in the profile's pair table; SIM_NONE if not in it */
    /* The kind's configurations are function.configurations[first .. first + count). Those without
     * a GPU are among kind 0's. */
    size_t first, count;
    size_t minimum, reference; /* of these, as those of the function; if count > 0 */
    bool runs;                 /* one of these uses a GPU */
};

struct function {
    const char *name;
    const char *model;
    enum service_kind service;
    bool fused; /* executes functions, which its name joins by "+", one after another */
    sim_time_t service_mean; /* at speed 1 */
    double service_cv;
    double *service_samples_ms; /* SERVICE_EMPIRICAL */
    size_t service_sample_count;
    double input_bytes; /* bytes that the client sends to a source stage of this function */
    double *cold_start_samples_ms; /* of the functions file; NULL: none */
    size_t cold_start_sample_count;
    double host_memory_mb;                /* held by a container from its start to its eviction */
    struct function_gpu *gpus;            /* one per kind of GPU */
    struct configuration *configurations; /* sorted by (kind, batch, vcpu, vgpu); at least one */
    size_t configuration_count;
    size_t minimum_configuration;   /* the least by configuration_is_smaller; its batch is 1 */
    size_t reference_configuration; /* the least with the values of workload.reference; without one
                                     * the minimum */
    size_t fastest_single;          /* shortest time at batch 1, on any kind */
};

struct stage {
    const char *name;
    uint32_t function;
    double output_bytes; /* bytes that one job sends to each successor */
    uint32_t *after;     /* predecessors, indices into the application's stages */
    size_t after_count;
    uint32_t *next; /* successors; allocated for all later stages */
    size_t next_count;
};

/* A DAG of stages in topological order: after[] contains only indices below the stage's own. */
struct application {
    const char *name;
    struct stage *stages;
    size_t stage_count;
    uint32_t first_queue;    /* queue of stage s is first_queue + s */
    sim_time_t base_latency; /* L: critical path at each function's reference */
    sim_time_t slo;          /* factor × L, or an absolute value */
    double weight;           /* share of arrivals; the weights of all applications sum to 1 */
};

/* Index into the table of workloads/world/gpu_sharing.h. */
enum sharing {
    SHARING_MPS,      /* active-thread percentage: compute is partitioned, bandwidth is shared */
    SHARING_MIG,      /* isolated slices in the shapes that the device offers */
    SHARING_EXCLUSIVE /* one batch holds the whole GPU; requires vgpu == units */
};

struct gpu_spec {
    char model[32];
    enum sharing sharing;
    uint16_t units; /* number of slicing units; a share is g / units */
    uint16_t kind;  /* index into workload.kinds */
    uint16_t type;  /* number of its model, the same for all GPUs of it; below WORKLOAD_MAX_KINDS */
    double memory_mb;
    double oversubscription; /* most shares held at one time, in whole GPUs; below 1 counts as 1 */
};

/* Whether a set of types of GPU, bit gpu_spec.type of each, has this one. */
static inline bool gpu_types_have(uint64_t types, uint32_t type)
{
    return (types >> type & 1) != 0;
}

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
};

/* Values that references have; 0: any. SLO factors, loads and prices of idle containers are
 * relative to references. */
struct reference_values {
    int64_t batch, vcpu, vgpu;
};

struct workload {
    struct reference_values reference;
    struct function *functions;
    size_t function_count;
    struct application *applications;
    size_t application_count;
    uint32_t queue_count; /* Σ stage_count */
    size_t max_stages;    /* most stages of any application */
    struct cluster_spec cluster;
    struct gpu_kind *kinds; /* in the order of the cluster file; one if the cluster has no GPU */
    size_t kind_count;      /* at least 1 */
};

/* Orders by batch, grade, kind of GPU, vGPUs, then vCPUs. What a denser grid adds is predicted, and
 * therefore never the least. */
bool configuration_is_smaller(const struct configuration *a, const struct configuration *b);
bool configuration_matches(const struct configuration *c, const struct reference_values *wanted);

/* Fills the derived fields: configuration costs, each kind's range of configurations, minimum,
 * reference and fastest configurations, queue numbers, base_latency and counts. next[] is filled
 * from after[]. Kinds, functions,
 * applications and cluster must be set, with stages in topological order. May be called again.
 * O(size). */
void workload_derive(struct workload *workload);

/* Returns for how long a batch of the configuration keeps its share of a GPU after its end. */
static inline sim_time_t configuration_turnaround(const struct function *function,
                                                  const struct configuration *configuration)
{
    const struct function_gpu *gpu = &function->gpus[configuration->kind];
    return sim_from_ms(gpu->turnaround_ms + gpu->turnaround_per_item_ms * configuration->batch);
}

/* Returns the time from the start of a batch until the next one can start in its place: what counts
 * for throughput and occupancy. Latencies have `time` alone. */
static inline sim_time_t configuration_held(const struct function *function,
                                            const struct configuration *configuration)
{
    return configuration->time + configuration_turnaround(function, configuration);
}

/* Fills a function's own fields of these: costs, ranges, minimum, reference and fastest. */
void workload_derive_function(struct function *function, const struct workload *workload);

/* Returns the application of that name, which --application gives; of no name, the only one. NULL:
 * ERROR_INPUT, with the names of all. */
const struct application *workload_find_application(const struct workload *workload,
                                                    const char *name, struct error *error);

/* Least common multiple of the units of all kinds of GPU, in which units of unlike kinds are
 * counted together: one unit of kind k is this number / kinds[k].units of them. UINT32_MAX: more
 * than that.
 */
uint32_t workload_common_units(const struct workload *workload);

/* Joins kinds of GPU with the same units, speed and price that `alike` calls alike, and renumbers
 * them in the cluster. The first one of those joined remains. */
void workload_join_kinds(struct workload *workload,
                         bool (*alike)(const void *context, const struct gpu_kind *a,
                                       const struct gpu_kind *b),
                         const void *context);

/* The GPUs of a cluster, numbered invoker by invoker. */
struct gpu_list {
    uint32_t count;
    uint32_t *first; /* number of each invoker's first GPU, and `count` */
    const struct gpu_spec **specs;
};
/* The list of the cluster, in the arena. O(GPUs). */
struct gpu_list cluster_list_gpus(const struct cluster_spec *cluster, struct arena *arena);

/* True if a configuration with `vgpu` units can run on a GPU of this kind. MPS allows 0..units, MIG
 * the device's shapes (A100: 1, 2, 3, 4, 7 sevenths), exclusive only `units`. Not for vgpu 0, which
 * needs no GPU. */
bool gpu_allows(const struct gpu_spec *gpu, uint16_t vgpu);

/* True if a slice of `vgpu` units, allowed by gpu_allows, has `memory_mb` of memory. Under MPS and
 * exclusive this is the memory of the whole GPU; under MIG it is the slice's own eighths (1: 1/8,
 * 2: 2/8, 3 and 4: 4/8, 7: 8/8). */
bool gpu_holds(const struct gpu_spec *gpu, uint16_t vgpu, double memory_mb);

/* True if an empty GPU runs the configuration, which needs one: kind, share and memory suit. */
bool gpu_runs(const struct gpu_spec *gpu, const struct configuration *configuration);

#endif
