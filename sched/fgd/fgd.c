/* fgd: pods by the gradient of fragmentation, or by a baseline's score. See fgd.h.
 *
 * Each training that arrives is tried once, in order; what does not fit waits for the next end of a
 * training, and then all that wait are tried again in order of arrival. Pods that never end
 * therefore stay out, as in FGD's experiments. Whole GPUs are the lowest that fit; a share takes
 * the GPU of its score, for the baselines the fullest that fits, for random any. */
#include "sched/fgd/fgd.h"

#include <math.h>

#include "sched/memory.h"
#include "workloads/world/gpu_sharing.h"

struct fgd_parameters {
    enum { FGD_SCORE_FGD, FGD_SCORE_BEST_FIT = FGD_SCORES - 1 } score;
};

static const struct key fgd_parameter_keys[] = {
    PARAMETER_WORD(fgd, score,
                   WORDS("fgd", "random", "dot-product", "clustering", "packing", "best-fit"),
                   FGD_SCORE_FGD,
                   "which node takes a training: the least growth of fragmentation, or a baseline "
                   "(code)"),
    KEY_END,
};

/* ---- Amounts --------------------------------------------------------------------------------- */

uint32_t fgd_parts(const struct fgd_gpu *gpu, double share)
{
    const double parts = floor(share * gpu->whole + 1e-6);
    const uint32_t wanted = parts < 1 ? 1 : (uint32_t)parts;
    const uint32_t units = (wanted + UNIT_PARTS - 1) / UNIT_PARTS;
    return units * (wanted / units);
}

bool fgd_gpu_fits(const struct fgd_gpu *gpu, const struct fragment_shape *shape)
{
    return gpu->left >= fgd_parts(gpu, shape->share) && gpu->memory_mb >= shape->gpu_memory_mb &&
           gpu_types_have(shape->gpu_types, gpu->type);
}

int64_t fgd_micro_vcpus(const struct fgd_node *node, const struct fragment_shape *shape)
{
    return sim_round(1e6 * fragment_vcpus(&node->shares, shape));
}

int64_t fgd_kb(const struct fgd_node *node, const struct fragment_shape *shape)
{
    return sim_round(1024.0 * 1024.0 * fragment_memory_gb(&node->shares, shape));
}

static bool fits(const struct fgd *self, uint32_t n, const struct fragment_shape *shape)
{
    const struct fgd_node *node = &self->nodes[n];
    const int64_t grants = shape->gpus > 0 ? shape->gpus : 1;
    uint32_t usable = 0;
    if (node->gpu_count == 0 || !platform_invoker_up(self->platform, n) ||
        grants * fgd_micro_vcpus(node, shape) > node->micro_vcpus ||
        grants * fgd_kb(node, shape) > node->kb)
        return false;
    for (uint32_t g = 0; g < node->gpu_count && usable < shape->gpus; g++)
        usable += fgd_gpu_fits(&node->gpus[g], shape);
    return usable == shape->gpus;
}

/* ---- Set-up ---------------------------------------------------------------------------------- */

static void node_open(struct fgd *self, struct fgd_node *node, const struct invoker_group *group)
{
    const double gpus = group->gpu_count > 0 ? (double)group->gpu_count : 1;
    *node = (struct fgd_node){
        .gpus = platform_allocate(self->platform, group->gpu_count, sizeof *node->gpus),
        .gpu_count = (uint32_t)group->gpu_count,
        .micro_vcpus = (int64_t)group->vcpus * 1000000,
        .kb = (int64_t)(group->memory_mb * 1024),
        .shares = {.vcpus_per_gpu = group->vcpus / gpus,
                   .memory_gb_per_gpu = group->memory_mb / 1024 / gpus},
        .pods = platform_allocate(self->platform, FGD_CLASSES, sizeof *node->pods)};
    for (uint32_t g = 0; g < node->gpu_count; g++) {
        const uint32_t parts = (uint32_t)group->gpus[g].units * UNIT_PARTS;
        node->gpus[g] =
            (struct fgd_gpu){parts, parts, group->gpus[g].memory_mb, group->gpus[g].type};
    }
    self->most_vcpus = fmax(self->most_vcpus, group->vcpus);
    self->most_gpus = fmax(self->most_gpus, (double)group->gpu_count);
}

/* The original gives its nodes random names at the start of a run, and takes the smallest name
 * among nodes of equal score (pkg/simulator/simulator.go, syncClusterResourceList). */
static void order_draw(struct fgd *self)
{
    self->order = platform_allocate(self->platform, self->node_count, sizeof *self->order);
    for (uint32_t n = 0; n < self->node_count; n++) {
        const uint32_t other = (uint32_t)(platform_random(self->platform) * (n + 1));
        self->order[n] = self->order[other];
        self->order[other] = n;
    }
}

static bool fgd_init(void *state, struct platform *platform, const void *parameters,
                     struct error *error)
{
    struct fgd *self = state;
    const struct cluster_spec *cluster = &platform_workload(platform)->cluster;
    self->platform = platform;
    self->score = fgd_scores[((const struct fgd_parameters *)parameters)->score];
    self->typical = platform_typical_shapes(platform, &self->typical_count);
    self->nodes = platform_allocate(platform, cluster->invoker_count, sizeof *self->nodes);
    for (size_t k = 0; k < cluster->group_count; k++) {
        const struct invoker_group *group = &cluster->groups[k];
        for (size_t g = 0; g < group->gpu_count; g++)
            if (group->gpus[g].sharing != SHARING_MPS)
                return error_input(error,
                                   "policy.name: \"fgd\" gives shares of GPUs, which need "
                                   "\"sharing\": \"mps\"; cluster.invokers.%zu has others",
                                   k);
        for (uint32_t i = 0; i < group->count; i++)
            node_open(self, &self->nodes[self->node_count++], group);
    }
    for (uint32_t n = 0; n < self->node_count; n++) {
        self->nodes[n].version = 1;
        self->nodes[n].fragmented = fgd_fragmented(self, &self->nodes[n]);
    }
    order_draw(self);
    return true;
}

static const char *fgd_refuses(void *state, uint32_t gpus, double gpu_memory_mb, uint64_t gpu_types)
{
    const struct fgd *self = state;
    uint32_t most = 0;
    for (uint32_t n = 0; n < self->node_count && most < gpus; n++) {
        uint32_t accepted = 0;
        for (uint32_t g = 0; g < self->nodes[n].gpu_count; g++)
            accepted += gpu_types_have(gpu_types, self->nodes[n].gpus[g].type);
        most = accepted > most ? accepted : most;
    }
    return most < gpus ? "its gangs are on one invoker each, and none has as many GPUs" : NULL;
}

/* ---- Choice ---------------------------------------------------------------------------------- */

static uint32_t demand_of(struct fgd *self, uint32_t training)
{
    struct fragment_shape shape;
    uint32_t d = 0;
    (void)platform_training_shape(self->platform, training, &shape);
    shape.gpu_memory_mb = ceil(1024 * shape.gpu_memory_mb) / 1024; /* as the ledger counts */
    while (d < self->demand_count && fragment_compare(&self->demands[d].shape, &shape) != 0)
        d++;
    if (d < self->demand_count)
        return d;
    arena_reserve(platform_arena(self->platform), &self->demands, (size_t)d + 1,
                  sizeof *self->demands);
    self->demands[d] = (struct fgd_demand){
        .shape = shape,
        .answers = platform_allocate(self->platform, self->node_count, sizeof(struct fgd_answer))};
    self->demand_count++;
    return d;
}

/* The first node of the greatest score, in the drawn order; SIM_NONE if it fits nowhere. With
 * random scores any that fits: the k-th replaces the choice with probability 1/k. */
static uint32_t choose_node(struct fgd *self, const struct fgd_demand *demand)
{
    const bool random = self->score == NULL;
    uint32_t best = SIM_NONE, fitting = 0;
    for (uint32_t i = 0; i < self->node_count; i++) {
        const uint32_t n = self->order[i];
        const struct fgd_node *node = &self->nodes[n];
        struct fgd_answer *answer = &demand->answers[n];
        if (answer->version != node->version) {
            answer->version = node->version;
            answer->score =
                (int16_t)(!fits(self, n, &demand->shape) ? FGD_NO_FIT
                          : random                       ? 0
                                   : self->score(self, node, &demand->shape, &answer->gpu));
        }
        if (answer->score == FGD_NO_FIT)
            continue;
        fitting++;
        if (best == SIM_NONE || (random ? platform_random(self->platform) * fitting < 1
                                        : answer->score > demand->answers[best].score))
            best = n;
    }
    return best;
}

/* The GPUs of a node on which the demand is placed, as bits. */
static uint64_t choose_gpus(struct fgd *self, const struct fgd_demand *demand, uint32_t n)
{
    const struct fgd_node *node = &self->nodes[n];
    const struct fragment_shape *shape = &demand->shape;
    const bool random = self->score == NULL;
    uint64_t gpus = 0;
    uint32_t fitting = 0;
    if (fgd_is_share(shape) && !random)
        return UINT64_C(1) << demand->answers[n].gpu;
    for (uint32_t g = 0; g < node->gpu_count; g++) {
        if (!fgd_gpu_fits(&node->gpus[g], shape))
            continue;
        fitting++;
        if (!fgd_is_share(shape) && fitting <= shape->gpus)
            gpus |= UINT64_C(1) << g;
        else if (fgd_is_share(shape) && platform_random(self->platform) * fitting < 1)
            gpus = UINT64_C(1) << g;
    }
    return gpus;
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* Takes (sign 1) or returns (-1) what a place holds. */
static void node_change(struct fgd *self, const struct fgd_place *place, int sign)
{
    struct fgd_node *node = &self->nodes[place->node];
    const struct fragment_shape *shape = &self->demands[place->demand].shape;
    const int64_t grants = shape->gpus > 0 ? shape->gpus : 1;
    node->micro_vcpus -= sign * grants * fgd_micro_vcpus(node, shape);
    node->kb -= sign * grants * fgd_kb(node, shape);
    for (uint32_t g = 0; g < node->gpu_count; g++)
        if ((place->gpus >> g & 1) != 0) {
            struct fgd_gpu *gpu = &node->gpus[g];
            gpu->left =
                (uint32_t)((int64_t)gpu->left - (int64_t)sign * fgd_parts(gpu, shape->share));
            gpu->memory_mb -= sign * shape->gpu_memory_mb;
        }
    if (shape->gpus > 0) {
        uint32_t *pods = &node->pods[fgd_is_share(shape) ? 0 : shape->gpus];
        node->classes += sign > 0 && *pods == 0;
        *pods = (uint32_t)((int64_t)*pods + sign);
        node->classes -= sign < 0 && *pods == 0;
    }
    node->version++;
    if (self->score == fgd_scores[FGD_SCORE_FGD])
        node->fragmented = fgd_fragmented(self, node);
}

static bool place(struct fgd *self, uint32_t training, const struct fgd_place *chosen)
{
    const struct fgd_node *node = &self->nodes[chosen->node];
    const struct fragment_shape *shape = &self->demands[chosen->demand].shape;
    struct training_grant grants[FGD_GPUS_MOST];
    uint32_t count = 0;
    const struct training_grant server = {.invoker = chosen->node,
                                          .vcpus = ((double)fgd_micro_vcpus(node, shape) + 0.5) /
                                                   1e6, /* the ledger rounds down */
                                          .memory_mb = (double)fgd_kb(node, shape) / 1024,
                                          .gpu_memory_mb = shape->gpu_memory_mb};
    grants[0] = server;
    for (uint32_t g = 0; g < node->gpu_count; g++)
        if ((chosen->gpus >> g & 1) != 0) {
            const double parts = floor(shape->share * node->gpus[g].whole + 1e-6);
            const uint32_t held = fgd_parts(&node->gpus[g], shape->share);
            grants[count] = server;
            grants[count].gpu = g;
            grants[count].share = (uint32_t)fmax(1, ceil(parts / UNIT_PARTS));
            grants[count].quota = held / grants[count].share;
            count++;
        }
    return platform_place(self->platform, training, grants, count > 0 ? count : 1, SIM_FOREVER);
}

static bool fgd_decide(void *state, struct platform *platform)
{
    struct fgd *self = state;
    if (self->outages != platform_outages(platform)) {
        self->outages = platform_outages(platform);
        self->next = 0;
        for (uint32_t n = 0; n < self->node_count; n++)
            self->nodes[n].version++;
    }
    for (uint32_t id; (id = platform_next_training(platform, self->next)) != SIM_NONE;
         self->next = id + 1) {
        if (self->places[id].node != SIM_NONE)
            continue;
        struct fgd_place chosen = {.demand = demand_of(self, id)};
        const struct fgd_demand *demand = &self->demands[chosen.demand];
        platform_charge(platform, self->node_count);
        chosen.node = choose_node(self, demand);
        if (chosen.node == SIM_NONE)
            continue;
        chosen.gpus = choose_gpus(self, demand, chosen.node);
        if (!place(self, id, &chosen)) {
            platform_stop(platform, "a placement of fgd does not fit the ledger");
            return false;
        }
        node_change(self, &chosen, 1);
        self->places[id] = chosen;
    }
    return false;
}

static void fgd_on_arrived(void *state, struct platform *platform, uint32_t training)
{
    struct fgd *self = state;
    arena_reserve(platform_arena(platform), &self->places, (size_t)training + 1,
                  sizeof *self->places);
    self->places[training].node = SIM_NONE;
}

static void fgd_on_finished(void *state, struct platform *platform, uint32_t training)
{
    struct fgd *self = state;
    node_change(self, &self->places[training], -1);
    self->next = 0;
}

const struct policy policy_fgd = {
    .abi = POLICY_ABI,
    .name = "fgd",
    .summary = "trainings on shares of GPUs, where fragmentation grows least",
    .parameters = fgd_parameter_keys,
    .parameters_bytes = sizeof(struct fgd_parameters),
    .state_bytes = sizeof(struct fgd),
    .init = fgd_init,
    .refuses_gang = fgd_refuses,
    .decide = fgd_decide,
    .on_training_arrived = fgd_on_arrived,
    .on_training_finished = fgd_on_finished,
    .serves = SERVES_TRAININGS,
};
