/* Synergy (Mohan et al., OSDI 2022) as a policy: every round places all trainings anew, by
 * sched/synergy/round.h. Each placement is a lease of one round.
 *
 * The first round is the first multiple of the round's length at or after the first arrival. A set
 * that arrives within the first second, which the authors call static, starts after one second
 * (msr-fiddle/synergy at 1bb2bed, simulator/runner.py:286-301). Without an unfinished training no
 * round takes place until the next one arrives.
 *
 * The optimum of `opt` knows the cluster as a whole and no servers. Its gangs take GPUs in order of
 * number, and vCPUs and memory from all invokers as one: an upper bound, as in the paper.
 */
#include "sched/memory.h"
#include "sched/policy_reproduction.h"
#include "sched/policy_training.h"
#include "sched/synergy/optimum.h"
#include "sched/synergy/profile.h"
#include "sched/synergy/round.h"

struct synergy_parameters {
    enum synergy_order order;
    enum synergy_allocation allocation;
    sim_time_t round_s;
    double starved_s;
    uint32_t profile_points;
};

static const struct key synergy_parameters[] = {
    PARAMETER_WORD(synergy, order, WORDS("fifo", "srtf", "las", "ftf"), SYNERGY_FIFO,
                   "who comes first: arrival, least remaining time, least attained "
                   "service, finish-time fairness"),
    PARAMETER_WORD(synergy, allocation, WORDS("proportional", "greedy", "tune", "opt"),
                   SYNERGY_PROPORTIONAL,
                   "vCPUs and memory: by GPUs, by demand first come first "
                   "served, by demand and at the cost of those that have more "
                   "than their share, by an optimum"),
    PARAMETER_SECONDS(synergy, round_s, 1, 1e6, 300,
                      "length of a round, s (as in the authors' simulator)"),
    PARAMETER_NUMBER(synergy, starved_s, 1, 1e9, 3600000,
                     "a training that has not run for longer comes first from then "
                     "on, s (as in the authors' simulator)"),
    PARAMETER_WHOLE(synergy, profile_points, 0, 64, 0,
                    "optimistic profiling: numbers of vCPUs per model that are measured for "
                    "the plan; 0: the models file is the plan"),
    KEY_END,
};

struct synergy {
    struct synergy_round *round;
    struct synergy_training **entries; /* by training; NULL: not there */
    sim_time_t length;
    sim_time_t next; /* the next round; SIM_FOREVER: none is due */
    sim_time_t first;
    bool due; /* the next round's timer has expired */
    struct training_grant *grants;
    const struct training_models *models; /* to plan with */
    struct synergy_cells *cells;          /* opt: per model; else NULL */
    uint32_t next_gpu;                    /* opt: the first that this round has not given */
    struct error fault;
};

/* ---- Set-up ---------------------------------------------------------------------------------- */

/* All servers must be alike, with whole GPUs of one kind. */
static bool servers_fill(const struct platform *platform, struct synergy_servers *servers,
                         struct error *error)
{
    const struct cluster_spec *cluster = &platform_workload(platform)->cluster;
    const struct invoker_group *first = &cluster->groups[0];
    *servers = (struct synergy_servers){.gpus = (uint32_t)first->gpu_count,
                                        .vcpus = first->vcpus,
                                        .memory = first->memory_mb / 1024};
    for (size_t g = 0; g < cluster->group_count; g++) {
        const struct invoker_group *group = &cluster->groups[g];
        if (group->gpu_count != first->gpu_count || group->vcpus != first->vcpus ||
            group->memory_mb < first->memory_mb || group->memory_mb > first->memory_mb)
            return error_input(error,
                               "policy synergy: all invokers must be alike; invokers of "
                               "group %zu differ from those of the first",
                               g);
        for (size_t i = 0; i < group->gpu_count; i++)
            if (group->gpus[i].kind != first->gpus[0].kind)
                return error_input(error,
                                   "policy synergy: all GPUs must be alike; GPU %zu of group "
                                   "%zu is of another kind than the first",
                                   i, g);
        servers->count += group->count;
    }
    return servers->gpus > 0 ||
           error_input(error, "policy synergy: the cluster has no GPU; give its invokers some");
}

/* The cells of every model that are at least as fast as the proportional share. */
static void cells_build(struct synergy *synergy, struct arena *arena)
{
    const struct training_models *models = synergy->models;
    const double vcpus = synergy_fair_vcpus(&synergy->round->servers);
    const double memory = synergy_fair_memory(&synergy->round->servers);
    synergy->cells = arena_allocate(arena, models->count, sizeof *synergy->cells);
    for (uint32_t m = 0; m < models->count; m++)
        synergy_cells_build(arena, models->vcpus, models->vcpu_count, models->memory_gb,
                            models->memory_count, models->models[m].throughput, vcpus, memory,
                            training_throughput(models, m, vcpus, memory), &synergy->cells[m]);
}

static bool synergy_init(void *state, struct platform *platform, const void *parameters,
                         struct error *error)
{
    struct synergy *synergy = state;
    const struct synergy_parameters *own = parameters;
    struct synergy_servers servers;
    synergy->length = own->round_s;
    synergy->next = SIM_FOREVER;
    if (!servers_fill(platform, &servers, error))
        return false;
    struct arena *arena = platform_arena(platform);
    synergy->round =
        synergy_round_create(arena, &servers, own->order, own->allocation, own->starved_s);
    synergy->models = platform_training_models(platform);
    if (own->profile_points > 0)
        synergy->models =
            synergy_profile(arena, synergy->models, synergy_fair_vcpus(&synergy->round->servers),
                            own->profile_points);
    if (own->allocation != SYNERGY_OPT)
        return true;
    platform_pool_servers(platform);
    cells_build(synergy, arena);
    return true;
}

/* ---- Trainings ------------------------------------------------------------------------------- */

/* First multiple of the round's length, from the first round on, that is not before now. */
static sim_time_t next_round(const struct synergy *synergy, sim_time_t now)
{
    if (now <= synergy->first)
        return synergy->first;
    const sim_time_t rounds = (now - synergy->first + synergy->length - 1) / synergy->length;
    return synergy->first + rounds * synergy->length;
}

/* NULL, with the fault, where the training's speed is not defined. */
static struct synergy_training *entry_create(struct synergy *synergy, struct platform *platform,
                                             uint32_t training)
{
    const struct training_view view = platform_training(platform, training);
    const struct training_models *models = synergy->models;
    const struct synergy_servers *servers = &synergy->round->servers;
    const struct training_server server = {servers->vcpus, servers->memory, servers->gpus};
    struct training_demand demand;
    if (!training_demand(models, view.model, view.gpus, &server, &demand)) {
        error_run(&synergy->fault,
                  "policy synergy: the demand of model \"%s\" exceeds a server and equals its "
                  "proportional share, so its speed is not defined",
                  models->models[view.model].name);
        return NULL;
    }
    struct synergy_training *entry = platform_allocate(platform, 1, sizeof *entry);
    *entry = (struct synergy_training){
        .id = training,
        .gpus = view.gpus,
        .arrival_s = sim_to_s(view.arrival),
        .iteration_s = view.iteration_s,
        .iterations = view.iterations,
        .vcpus = demand.vcpus,
        .memory = demand.memory_gb,
        .speedup = demand.speed,
        .speed = demand.speed,
        .fair_speed = training_fair_speed(models, view.model, &server),
        .cells = synergy->cells != NULL ? &synergy->cells[view.model] : NULL,
        .last_end_s = -1};
    return entry;
}

static void synergy_on_arrived(void *state, struct platform *platform, uint32_t training)
{
    struct synergy *synergy = state;
    struct arena *arena = platform_arena(platform);
    const sim_time_t now = platform_now(platform);
    if (synergy->fault.kind != ERROR_NONE)
        return;
    struct synergy_training *entry = entry_create(synergy, platform, training);
    if (entry == NULL) {
        platform_stop(platform, synergy->fault.message);
        return;
    }
    arena_reserve(arena, &synergy->entries, (size_t)training + 1,
                  sizeof(struct synergy_training *));
    arena_reserve(arena, &synergy->grants, entry->gpus, sizeof *synergy->grants);
    synergy_round_add(synergy->round, entry);
    synergy->entries[training] = entry;
    if (synergy->first == 0 && training == 0) {
        synergy->first = platform_trainings_static(platform) ? SIM_S : 0;
        if (synergy->first == 0)
            synergy->first = (now + synergy->length - 1) / synergy->length * synergy->length;
    }
    if (synergy->next == SIM_FOREVER) {
        synergy->next = next_round(synergy, now);
        platform_set_timer(platform, synergy->next, 0);
    }
}

static void synergy_on_finished(void *state, struct platform *platform, uint32_t training)
{
    struct synergy *synergy = state;
    synergy_round_remove(synergy->round, synergy->entries[training]);
    arena_release(platform_arena(platform), synergy->entries[training]);
    synergy->entries[training] = NULL;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static void entry_update(struct synergy_training *entry, const struct platform *platform)
{
    const struct training_view view = platform_training(platform, entry->id);
    entry->done = (uint64_t)view.done;
    entry->attained_s = sim_to_s(view.attained);
    if (view.first_start < SIM_FOREVER)
        entry->last_end_s = sim_to_s(view.last_stop);
}

static struct training_grant grant_of(const struct platform *platform,
                                      const struct synergy_training *entry, uint32_t invoker,
                                      uint32_t gpu)
{
    const struct cluster_spec *cluster = &platform_workload(platform)->cluster;
    return (struct training_grant){.invoker = invoker,
                                   .gpu = gpu,
                                   .share = cluster->groups[0].gpus[0].units,
                                   .quota = 100,
                                   .vcpus = entry->vcpus_per_gpu,
                                   .memory_mb = entry->memory_per_gpu * 1024};
}

static bool entry_place(struct synergy *synergy, struct platform *platform,
                        const struct synergy_training *entry, sim_time_t end)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < entry->pieces; k++) {
        const struct synergy_piece *piece = &synergy->round->pieces[entry->piece + k];
        for (uint32_t g = 0; g < piece->gpus; g++)
            synergy->grants[count++] = grant_of(platform, entry, piece->server, piece->first + g);
    }
    const uint32_t gpus = synergy->round->servers.gpus;
    for (; entry->pieces == 0 && count < entry->gpus; synergy->next_gpu++)
        synergy->grants[count++] =
            grant_of(platform, entry, synergy->next_gpu / gpus, synergy->next_gpu % gpus);
    return platform_place(platform, entry->id, synergy->grants, count, end);
}

static void synergy_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct synergy *synergy = state;
    synergy->due = true;
}

static bool synergy_decide(void *state, struct platform *platform)
{
    struct synergy *synergy = state;
    struct synergy_round *round = synergy->round;
    if (!synergy->due)
        return false;
    synergy->due = false;
    synergy->next = SIM_FOREVER;
    if (round->count == 0)
        return false;
    const sim_time_t now = platform_now(platform);
    for (uint32_t s = 0; platform_outages(platform) > 0 && s < round->servers.count; s++)
        round->down[s] = !platform_invoker_up(platform, s);
    for (size_t i = 0; i < round->count; i++)
        entry_update(round->list[i], platform);
    if (!synergy_round_run(round, sim_to_s(now), &synergy->fault)) {
        platform_stop(platform, synergy->fault.message);
        return false;
    }
    synergy->next_gpu = 0;
    for (size_t i = 0; i < round->count; i++)
        if (round->list[i]->placed &&
            !entry_place(synergy, platform, round->list[i], now + synergy->length)) {
            platform_stop(platform, "a placement of the round does not fit the ledger");
            return false;
        }
    synergy->next = now + synergy->length;
    platform_set_timer(platform, synergy->next, 0);
    return false;
}

const struct policy policy_synergy = {
    .abi = POLICY_ABI,
    .name = "synergy",
    .summary = "trainings in rounds, with vCPUs and memory by their sensitivity",
    .parameters = synergy_parameters,
    .parameters_bytes = sizeof(struct synergy_parameters),
    .state_bytes = sizeof(struct synergy),
    .init = synergy_init,
    .on_timer = synergy_on_timer,
    .decide = synergy_decide,
    .on_training_arrived = synergy_on_arrived,
    .on_training_finished = synergy_on_finished,
    .serves = SERVES_TRAININGS,
};
