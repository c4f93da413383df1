/* Trainings of the policy dilu: their gangs, and their shares beside inference.
 *
 * The pool (gpu_pool.h) admits and places trainings and instances alike. With Dilu's own placement
 * the share of a training changes with the inference on its GPU (rckm.h); the gang runs at the
 * least of its shares. The baselines give a training its limit (infless-l), its request (infless-r)
 * or whole GPUs (exclusive), which do not change.
 *
 * In the simulator what an instance holds is taken from the GPU whether it works or not, and what
 * all hold never exceeds the GPU. So while the instances are idle and the trainings have their
 * limits, the instances' holdings are cut to the rest, down to 1 % of the time (as in share.h). If
 * the limits of trainings exceed the GPU, each has its part of it.
 */
#ifndef ESGSIM_SCHED_DILU_TRAININGS_H
#define ESGSIM_SCHED_DILU_TRAININGS_H

#include "sched/dilu/gpu_pool.h"
#include "sched/dilu/placement.h"
#include "sched/policy.h"
#include "sched/policy_training.h"

struct dilu_training {
    double request, limit; /* parts of a GPU */
    uint32_t placed;       /* in the pool; DILU_NOT_PLACED */
};

struct dilu_trainings_rule {
    struct dilu_pool_rule pool;
    bool serving; /* the experiment has trainings */
    bool vertical;
    double vcpus;        /* of a gang, for each GPU */
    double limit_factor; /* limit / request where a model does not give its limit */
    double target;       /* part of the full speed that a model has at its request */
};

struct dilu_trainings {
    struct dilu_trainings_rule rule;
    struct platform *platform;
    struct dilu_pool pool;
    const struct dilu_gpu *gpus; /* of the cluster, invoker by invoker */
    bool retry;                  /* a waiting training may fit now */
    double invoker_vcpus;        /* of every invoker */
    char reason[128];            /* of a refused gang */
    uint32_t functions;          /* of requests; services of a trace are numbered after them */
    struct dilu_training *items; /* by training */
    uint32_t *waiting;           /* in order of arrival */
    uint32_t waiting_count;
    struct training_grant *grants; /* scratch, a grant per GPU */
    uint32_t *wanted;              /* scratch: parts of the trainings of one GPU */
};

/* The GPUs must be alike: as many per invoker, of the same size. False with ERROR_INPUT. */
bool dilu_trainings_init(struct dilu_trainings *trainings, struct platform *platform,
                         const struct dilu_gpu *gpus, const struct dilu_trainings_rule *rule,
                         struct error *error);

/* Request and limit of a model: its own; else the least multiple of 5 % with which it has `target`
 * of its full speed, and `factor` times that; a whole GPU for a model of unknown speed. O(1). */
void dilu_training_shares(const struct training_model *model, double target, double factor,
                          double *request, double *limit);

/* Why a gang never fits, see policy.refuses_gang; NULL: it does. O(1). */
const char *dilu_trainings_refuse(struct dilu_trainings *trainings, uint32_t gpus);
void dilu_trainings_arrived(struct dilu_trainings *trainings, uint32_t id);

/* The gang's GPUs are in pool.placed[items[id].placed] until this call. */
void dilu_trainings_finished(struct dilu_trainings *trainings, uint32_t id);

/* Chooses the GPUs of a waiting training and notes it in the pool. SIM_NONE if there is no place,
 * else the number of GPUs, which are in pool.placed[items[id].placed]. */
uint32_t dilu_trainings_choose(struct dilu_trainings *trainings, uint32_t id);

/* Places a chosen training at its request or less, or forgets the choice and bars its GPUs in the
 * pool. */
bool dilu_trainings_place(struct dilu_trainings *trainings, uint32_t id);

/* Number of trainings on a GPU. O(number). */
uint32_t dilu_trainings_on(const struct dilu_trainings *trainings, uint32_t gpu);

/* Σ request of the trainings on a GPU. O(number). */
double dilu_trainings_requests(const struct dilu_trainings *trainings, uint32_t gpu);

/* Computes what the trainings of a GPU shall hold, in hundredths of units: at most `available`
 * together. Returns the sum. */
uint32_t dilu_trainings_plan(struct dilu_trainings *trainings, uint32_t gpu, uint32_t available);

/* Resizes the trainings of the GPU that shall hold less (`less`) or more than they do, after
 * dilu_trainings_plan. Only within decide. */
void dilu_trainings_apply(struct dilu_trainings *trainings, uint32_t gpu, bool less);

#endif
