/* The capacity of a cluster for the experiment's mix of requests, and the load that arrivals offer.
 *
 * The load ρ is the mean arrival rate divided by the capacity. It tells how hard a setting is
 * without rates: `"arrivals": {"process": "poisson", "load": 0.8}`.
 *
 * The capacity is the rate at which all GPU units, or all vCPUs, of the cluster would be busy if
 * every job ran at its function's reference: by default the minimum configuration, which is batch 1
 * on the fewest units and vCPUs that were measured (`slo.reference`).
 * Per request of the mix, weighted as the applications are,
 *
 *   GPU-unit time = Σ over stages of (time + turnaround) × vGPUs / batch,   vCPU time likewise,
 *   capacity = min(GPU units / GPU-unit time, vCPUs / vCPU time).
 *
 * For one stage with c servers this is the ρ = λ / (c μ) of queueing theory.
 *
 * The times are nominal. Noise, interference, transfers, cold starts and decisions are left out,
 * and so are the units that no slice or batch fits into (fragmentation). A scheduler therefore may
 * not sustain a load of 1. It may also sustain more than 1, because a batch, and some larger
 * shares, serve a job with fewer unit-seconds than the reference.
 *
 * With several kinds of GPU, each function's jobs are divided among the kinds on which it runs, in
 * proportion to the rates at which all GPUs of a kind would serve this function alone, at its
 * reference on that kind. If every function runs on every kind, all kinds are then
 * equally busy. The capacity is that of the kind that is busy first. Units and vCPUs are sums over
 * the cluster. Where invokers are unlike, some of them may be out of reach of a job that needs
 * both, so that the capacity is an upper bound.
 */
#ifndef ESGSIM_WORKLOADS_WORLD_CAPACITY_H
#define ESGSIM_WORKLOADS_WORLD_CAPACITY_H

#include "workloads/world/workload.h"

struct capacity {
    double gpu_unit_s;    /* of a mean request, on the kind of GPU that is busy first */
    double gpu_units;     /* of all GPUs of that kind */
    double vcpu_s;        /* of a mean request */
    double vcpus;         /* of the cluster */
    double rate_per_s;    /* requests per second; INFINITY if requests take no time at all */
    bool is_referred;     /* some function's reference is not its minimum configuration */
    const char *limiting; /* the resource that is busy first: "GPU units" or "vCPUs" */
};

/* The workload must be derived, with weights that sum to 1. O(stages + GPUs). */
struct capacity capacity_find(const struct workload *workload);

#endif
