#include "sched/sharing/gangs.h"

#include <math.h>
#include <string.h>

#include "sched/memory.h"
#include "sched/policy_reproduction.h"

#define RETRY SIM_S

/* ---- Set-up ---------------------------------------------------------------------------------- */

const struct key gang_parameters[] = {
    PARAMETER_NUMBER(
        gang, vcpus_per_gpu, 0, 1024, 0,
        "vCPUs per GPU of a gang; 0: its model's demand; at most the GPU's part of its "
        "invoker, half of it beside another gang"),
    PARAMETER_SWITCH(gang, consolidate, false, "sjf-bsbf, sjf-ffs: prefer GPUs of one invoker"),
    PARAMETER_SWITCH(gang, accumulate, false,
                     "sjf-bsbf: gradient accumulation: a training may share a GPU with a part of "
                     "its batch at a time, where its model has \"sub_batches\""),
    PARAMETER_SWITCH(gang, preemption, false,
                     "a training that does not fit preempts later ones; tiresias, srtf and "
                     "srsf always preempt"),
    PARAMETER_NUMBER(gang, preemptible, 0, 1e15, 100,
                     "a training with more iterations left may be preempted"),
    PARAMETER_WORD(gang, limits, WORDS("700", "3250-7200"), LIMITS_700,
                   "tiresias: GPU seconds at which a training joins the next queue"),
    PARAMETER_NUMBER(gang, starvation, 0, 1e9, 0,
                     "tiresias: a training that has waited for so many times its executed "
                     "time returns to the first queue; 0: never"),
    PARAMETER_NUMBER(gang, interval_s, 1e-3, 1e9, 60,
                     "tiresias: least time from an event to the next change of queues, s"),
    PARAMETER_WORD(gang, restart_mode, WORDS("model", "muri"), RESTART_MODEL,
                   "srtf, srsf, tiresias: a training restarts when it moves; muri: every "
                   "event restarts all, as in Muri's simulator"),
    PARAMETER_WORD(gang, head_of_line, WORDS("strict", "skip"), HEAD_STRICT,
                   "fifo: later gangs wait while the first does not fit; skip: those that fit "
                   "overtake it, as under all other orders"),
    PARAMETER_SECONDS(gang, round_s, 0, 1e6, 0,
                      "changes of gangs take place at multiples of this time, s; 0: at every "
                      "arrival, finish and queue jump"),
    KEY_END,
};

/* Whole GPUs of all invokers, in order, are the GPUs of the module's cluster. */
static void open_cluster(struct gangs *gangs, struct arena *arena, const struct workload *workload)
{
    uint32_t gpus = 0;
    double memory_mb = INFINITY;
    gangs->sites = kinds_gpus(arena, workload, &gpus);
    uint32_t *counts = arena_allocate(arena, workload->cluster.invoker_count, sizeof *counts);
    gangs->chosen = arena_allocate(arena, gpus, sizeof *gangs->chosen);
    gangs->grants = arena_allocate(arena, gpus, sizeof *gangs->grants);
    gangs->held_grants = arena_allocate(arena, gpus, sizeof *gangs->held_grants);
    for (uint32_t g = 0; g < gpus; g++) {
        counts[gangs->sites[g].invoker]++;
        memory_mb = fmin(memory_mb, gangs->sites[g].spec->memory_mb);
    }
    gang_cluster_open(&gangs->cluster, arena, counts, workload->cluster.invoker_count, memory_mb);
    for (uint32_t g = 0; g < gpus; g++)
        gangs->cluster.gpus[g].type = gangs->sites[g].spec->type;
    arena_release(arena, counts);
}

/* Gangs that share need GPUs that can be shared, and to know what that costs. */
static bool check_sharing(const struct platform *platform, const struct cluster_spec *spec,
                          struct error *error)
{
    const struct training_models *models = platform_training_models(platform);
    size_t pairs = 0;
    for (size_t g = 0; g < spec->group_count; g++)
        for (size_t k = 0; k < spec->groups[g].gpu_count; k++)
            if (spec->groups[g].gpus[k].sharing != SHARING_MPS || spec->groups[g].gpus[k].units < 2)
                return error_input(error,
                                   "policy.name: gangs that share GPUs need GPUs with "
                                   "\"sharing\": \"mps\" and at least 2 units; invokers of "
                                   "group %zu have others",
                                   g);
    const size_t missing = training_pairs_missing(models, &pairs);
    return missing == 0 || !isnan(models->default_pair) ||
           error_input(error,
                       "policy.name: gangs that share GPUs need the slowdown of every pair of "
                       "models, and %zu of %zu pairs are not in \"pairs\" of the models \"%s\"; "
                       "measure them, or state \"pairs\": {\"default\": \"effects\", a slowdown or "
                       "\"none\"}",
                       missing, pairs, models->name);
}

static bool check_accumulation(const struct training_models *models, struct error *error)
{
    for (size_t i = 0; i < models->count; i++)
        if (models->models[i].used && models->models[i].most_sub_batches > 1)
            return true;
    return error_input(error,
                       "policy.params.accumulate: is \"on\", and no model of the trainings has "
                       "\"sub_batches\" in the models \"%s\"; state them, or set \"off\"",
                       models->name);
}

bool gangs_init(struct gangs *gangs, const struct gang_discipline *discipline,
                struct platform *platform, const struct gang_parameters *parameters,
                struct error *error)
{
    const struct cluster_spec *spec = &platform_workload(platform)->cluster;
    gangs->discipline = discipline;
    gangs->timer = SIM_FOREVER;
    gangs->parameters = parameters;
    gangs->preemption = parameters->preemption || discipline->preempts;
    gangs->limits[0] = parameters->limits == LIMITS_3250_7200 ? 3250 : 700;
    gangs->limits[1] = parameters->limits == LIMITS_3250_7200 ? 7200 : INFINITY;
    gangs->muri = parameters->restart_mode == RESTART_MURI;
    if (discipline->check && parameters->accumulate &&
        !check_accumulation(platform_training_models(platform), error))
        return false;
    if (discipline->share && !check_sharing(platform, spec, error))
        return false;
    open_cluster(gangs, platform_arena(platform), platform_workload(platform));
    return true;
}

/* ---- Trainings ------------------------------------------------------------------------------- */

static struct gang_entry *new_entry(const struct gangs *gangs, struct platform *platform,
                                    uint32_t training)
{
    const struct training_view view = platform_training(platform, training);
    const struct training_model *model = &platform_training_models(platform)->models[view.model];
    const double given = gangs->parameters->vcpus_per_gpu;
    const double vcpus = given > 0 ? given : model->demand_vcpus;
    struct gang_entry *entry = platform_allocate(platform, 1, sizeof *entry);
    uint32_t *numbers = platform_allocate(platform, 2 * (size_t)view.gpus, sizeof *numbers);
    *entry =
        (struct gang_entry){.id = training,
                            .gpus = view.gpus,
                            .model = view.model,
                            .parts = 1,
                            .told = 1,
                            .gpu_types = view.gpu_types,
                            .memory_mb = view.gpu_memory_mb,
                            .whole_mb = view.gpu_memory_mb,
                            .whole_s = view.iteration_s,
                            .vcpus = vcpus > 0 ? vcpus : INFINITY,
                            .host_mb = model->demand_gb > 0 ? 1024 * model->demand_gb : INFINITY,
                            .iteration_s = view.iteration_s,
                            .arrival_s = sim_to_s(view.arrival),
                            .remaining = (double)view.iterations - view.done,
                            .executed_s = sim_to_s(view.attained),
                            .place = numbers,
                            .actual = numbers + view.gpus};
    while (entry->queue + 1 < GANG_QUEUES &&
           entry->executed_s * entry->gpus >= gangs->limits[entry->queue])
        entry->queue++;
    return entry;
}

void gangs_on_arrived(void *state, struct platform *platform, uint32_t training)
{
    struct gangs *gangs = state;
    struct gang_entry *entry = new_entry(gangs, platform, training);
    struct arena *arena = platform_arena(platform);
    arena_reserve(arena, &gangs->entries, (size_t)training + 1, sizeof(struct gang_entry *));
    arena_reserve(arena, &gangs->list, gangs->count + 1, sizeof(struct gang_entry *));
    arena_reserve(arena, &gangs->scratch, gangs->count + 1, sizeof(struct gang_entry *));
    gangs->entries[training] = entry;
    size_t to = gangs->count++; /* one that lost its gang arrives anew: its turn is as before */
    for (; gangs->discipline->key == NULL && to > 0 && gangs->list[to - 1]->id > training; to--)
        gangs->list[to] = gangs->list[to - 1];
    gangs->list[to] = entry;
    gangs->due = true;
}

void gangs_on_finished(void *state, struct platform *platform, uint32_t training)
{
    struct gangs *gangs = state;
    struct gang_entry *entry = gangs->entries[training];
    size_t i = 0;
    gang_unplan(gangs, entry);
    gangs->held -= entry->held ? 1 : 0;
    while (gangs->list[i] != entry)
        i++;
    gangs->count--;
    gangs->sorted -= i < gangs->sorted ? 1 : 0;
    memmove(&gangs->list[i], &gangs->list[i + 1], (gangs->count - i) * sizeof *gangs->list);
    gangs->entries[training] = NULL;
    arena_release(platform_arena(platform), entry->place);
    arena_release(platform_arena(platform), entry);
    gangs->due = true;
}

void gangs_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct gangs *gangs = state;
    gangs->due = gangs->due || platform_now(platform) == gangs->timer; /* else it was replaced */
}

/* The first round at or after an instant; without rounds, the instant. */
static sim_time_t round_from(const struct gangs *gangs, sim_time_t at)
{
    const sim_time_t length = gangs->parameters->round_s;
    return length > 0 && at % length > 0 ? at - at % length + length : at;
}

void gangs_set_timer(struct gangs *gangs, sim_time_t after)
{
    const sim_time_t at = round_from(gangs, platform_now(gangs->platform) + after);
    gangs->timer = at < gangs->timer ? at : gangs->timer;
}

/* Whether the next round is later; then it has a timer. */
static bool awaits_round(struct gangs *gangs)
{
    const sim_time_t now = platform_now(gangs->platform);
    const sim_time_t round = round_from(gangs, now);
    if (now < round && round < gangs->timer) {
        gangs->timer = round;
        platform_set_timer(gangs->platform, round, 0);
    }
    return now < round;
}

/* ---- Planning -------------------------------------------------------------------------------- */

static const struct training_model *model_of(const struct gangs *gangs,
                                             const struct gang_entry *entry)
{
    return &platform_training_models(gangs->platform)->models[entry->model];
}

static void split(const struct gangs *gangs, struct gang_entry *entry, uint32_t parts)
{
    const struct training_model *model = model_of(gangs, entry);
    entry->parts = parts;
    entry->memory_mb = training_split_mb(model, parts, entry->whole_mb);
    entry->iteration_s = training_split_s(model, parts, entry->whole_s);
}

void gang_plan_on(struct gangs *gangs, struct gang_entry *entry, const uint32_t *gpus)
{
    memmove(entry->place, gpus, entry->gpus * sizeof *gpus);
    gang_take(&gangs->cluster, entry->id, entry->memory_mb, entry->place, entry->gpus);
    entry->planned = true;
    gangs->planned++;
}

void gang_unplan(struct gangs *gangs, struct gang_entry *entry)
{
    if (!entry->planned)
        return;
    gang_release(&gangs->cluster, entry->id, entry->memory_mb, entry->place, entry->gpus);
    entry->planned = false;
    gangs->planned--;
    if (entry->parts > 1)
        split(gangs, entry, 1);
}

/* The GPU's part of its invoker's memory, MB. */
static double host_part(const struct gpu_site *site)
{
    return site->group->memory_mb / (double)site->group->gpu_count;
}

/* What a gang gets on a GPU, alone or `beside` another (NULL: alone): its demand, at most the GPU's
 * part of the invoker. Of two gangs one may have what the other leaves, and each the half. */
static struct training_grant grant_on(const struct gangs *gangs, const struct gang_entry *entry,
                                      const struct gang_entry *beside, uint32_t gpu)
{
    const struct gpu_site *site = &gangs->sites[gpu];
    double vcpus = site->group->vcpus / (double)site->group->gpu_count;
    double host_mb = host_part(site);
    if (beside != NULL) {
        vcpus = fmax(vcpus / 2, vcpus - beside->vcpus);
        host_mb = fmax(host_mb / 2, host_mb - beside->host_mb);
    }
    return (struct training_grant){.invoker = site->invoker,
                                   .gpu = site->which,
                                   .share = site->spec->units,
                                   .quota = 100,
                                   .vcpus = fmin(entry->vcpus, vcpus),
                                   .memory_mb = fmin(entry->host_mb, host_mb)};
}

/* The two sides of the share check. */
struct sides {
    const struct gangs *gangs;
    const struct gang_entry *incoming;
};

/* The work of a gang, and how much another one on its GPUs slows it: by the pair, and by the vCPUs
 * and the memory that it takes. */
static struct gang_work work_beside(const struct gangs *gangs, const struct gang_entry *entry,
                                    const struct gang_entry *beside, uint32_t gpu)
{
    const struct training_models *models = platform_training_models(gangs->platform);
    const struct training_grant alone = grant_on(gangs, entry, NULL, gpu);
    const struct training_grant both = grant_on(gangs, entry, beside, gpu);
    const double slowdown =
        training_throughput(models, entry->model, alone.vcpus, alone.memory_mb / 1024) /
        training_throughput(models, entry->model, both.vcpus, both.memory_mb / 1024);
    return (struct gang_work){
        entry->remaining, entry->iteration_s,
        slowdown * training_pair(models, entry->model, beside->model, entry->gpus, NULL)};
}

static bool is_worth_it(void *context, uint32_t resident, double *time_s)
{
    const struct sides *sides = context;
    const struct gang_entry *other = sides->gangs->entries[resident];
    const struct gang_work incoming =
        work_beside(sides->gangs, sides->incoming, other, other->place[0]);
    const struct gang_work work =
        work_beside(sides->gangs, other, sides->incoming, other->place[0]);
    double sequential = 0;
    *time_s = gang_share_check(&incoming, &work, &sequential);
    sequential += 0.5 * sides->incoming->remaining *
                  (sides->incoming->whole_s - sides->incoming->iteration_s);
    return *time_s < sequential;
}

/* Like the GPU's memory, the demand of host memory is met or not: with less of it a training may be
 * ten times slower. */
static bool fits_beside(void *context, uint32_t resident)
{
    const struct sides *sides = context;
    const struct training_models *models = platform_training_models(sides->gangs->platform);
    const struct gang_entry *a = sides->incoming;
    const struct gang_entry *b = sides->gangs->entries[resident];
    if (!isinf(a->host_mb) && !isinf(b->host_mb) &&
        a->host_mb + b->host_mb > host_part(&sides->gangs->sites[b->place[0]]))
        return false;
    return !isinf(training_pair(models, a->model, b->model, a->gpus, NULL)) &&
           !isinf(training_pair(models, b->model, a->model, b->gpus, NULL));
}

static bool find_place(struct gangs *gangs, const struct gang_request *request)
{
    return gangs->discipline->share ? gang_place_shared(&gangs->cluster, request, gangs->chosen)
                                    : gang_place_alone(&gangs->cluster, request, gangs->chosen);
}

/* Places it on the cluster before the first arrival. Muri's Tiresias counts GPUs only. */
const char *gangs_refuse(void *state, uint32_t gpus, double gpu_memory_mb, uint64_t gpu_types)
{
    struct gangs *gangs = state;
    const struct gang_request request = {
        .gpus = gpus, .memory_mb = gpu_memory_mb, .gpu_types = gpu_types};
    if (gpus == 0)
        return "it places no training without a GPU";
    if ((gangs->muri && gangs->discipline->preempts) || find_place(gangs, &request))
        return NULL;
    return gangs->discipline->share
               ? "it counts on no more memory than the smallest GPU has, on GPUs of its gpu_types"
               : "a gang larger than an invoker takes whole ones of the largest size, and one for "
                 "the rest, with no more memory than the smallest GPU has, on GPUs of its "
                 "gpu_types";
}

/* Finds the place for a batch in that many parts, into gangs->chosen. Returns the time of the last
 * partner, or INFINITY without a place. */
static double try_split(struct gangs *gangs, struct gang_entry *entry, uint32_t parts)
{
    double worst_s = 0;
    struct sides sides = {gangs, entry};
    split(gangs, entry, parts);
    const struct gang_request request = {.gpus = entry->gpus,
                                         .memory_mb = entry->memory_mb,
                                         .gpu_types = entry->gpu_types,
                                         .share = gangs->discipline->share,
                                         .consolidate = gangs->parameters->consolidate,
                                         .fits = fits_beside,
                                         .check = gangs->discipline->check ? is_worth_it : NULL,
                                         .context = &sides,
                                         .worst_s = &worst_s};
    return find_place(gangs, &request) ? worst_s : (double)INFINITY;
}

bool gang_try(struct gangs *gangs, struct gang_entry *entry)
{
    const bool accumulates = gangs->discipline->check && gangs->parameters->accumulate;
    const uint32_t most = accumulates ? model_of(gangs, entry)->most_sub_batches : 1;
    uint32_t best = 0;
    double best_s = INFINITY;
    for (uint32_t parts = 1; parts <= most && best_s > 0; parts *= 2) {
        const double time_s = try_split(gangs, entry, parts);
        if (!(time_s < best_s))
            continue;
        memcpy(entry->place, gangs->chosen, entry->gpus * sizeof *entry->place);
        best = parts;
        best_s = time_s;
    }
    split(gangs, entry, best > 0 ? best : 1);
    if (best > 0)
        gang_plan_on(gangs, entry, entry->place);
    return best > 0;
}

/* ---- The platform ---------------------------------------------------------------------------- */

/* Fills the grants of a gang; returns whether any differs from what it holds. Of two gangs on a GPU
 * the older one has the larger half of the units. */
static bool fill_grants(struct gangs *gangs, const struct gang_entry *entry, bool only_less)
{
    const struct training_grant *held = gangs->held_grants;
    const bool holds = entry->held && platform_gang(gangs->platform, entry->id, gangs->held_grants,
                                                    entry->gpus) == entry->gpus;
    bool differs = false;
    for (uint32_t i = 0; i < entry->gpus; i++) {
        const struct gang_gpu *gpu = &gangs->cluster.gpus[entry->place[i]];
        const bool older = gpu->residents[0] == entry->id;
        const bool pair = gpu->count == GANG_RESIDENTS;
        struct training_grant *grant = &gangs->grants[i];
        *grant = grant_on(gangs, entry, pair ? gangs->entries[gpu->residents[older ? 1 : 0]] : NULL,
                          entry->place[i]);
        if (pair)
            grant->share = older ? grant->share - grant->share / 2 : grant->share / 2;
        if (!holds)
            continue;
        if (only_less) {
            grant->share = grant->share < held[i].share ? grant->share : held[i].share;
            grant->vcpus = fmin(grant->vcpus, held[i].vcpus);
            grant->memory_mb = fmin(grant->memory_mb, held[i].memory_mb);
        }
        differs = differs || grant->share != held[i].share || grant->vcpus != held[i].vcpus ||
                  grant->memory_mb != held[i].memory_mb;
    }
    return differs;
}

static bool resize(struct gangs *gangs, const struct gang_entry *entry, bool only_less)
{
    return !entry->held || !fill_grants(gangs, entry, only_less) ||
           platform_resize(gangs->platform, entry->id, gangs->grants, entry->gpus);
}

static bool start(struct gangs *gangs, struct gang_entry *entry)
{
    if (entry->parts != entry->told && !platform_split(gangs->platform, entry->id, entry->parts))
        return false;
    entry->told = entry->parts;
    (void)fill_grants(gangs, entry, false);
    if (!platform_place(gangs->platform, entry->id, gangs->grants, entry->gpus, SIM_FOREVER))
        return false;
    memcpy(entry->actual, entry->place, entry->gpus * sizeof *entry->place);
    entry->held = true;
    gangs->held++;
    return true;
}

static bool moves(const struct gang_entry *entry)
{
    return entry->held &&
           (!entry->planned || entry->parts != entry->told ||
            memcmp(entry->actual, entry->place, entry->gpus * sizeof *entry->place) != 0);
}

/* With whole iterations, the end of the lease may make the last one; the list is then shorter, and
 * `place` in it points before the next entry. */
static bool preempt(struct gangs *gangs, struct gang_entry *entry, size_t *place)
{
    entry->held = false;
    gangs->held--;
    if (!platform_preempt(gangs->platform, entry->id))
        return false;
    if (*place >= gangs->count || gangs->list[*place] != entry)
        --*place;
    return true;
}

/* What has to leave leaves; residents make room; the new ones start; residents use what is left. A
 * gang that does not fit the ledger, because a preempted one is still being saved or because of
 * instances and containers, is tried again a little later. */
static bool apply(struct gangs *gangs)
{
    const bool share = gangs->discipline->share;
    bool good = true;
    size_t seen = 0;
    for (size_t i = 0, held = gangs->held; seen < held && good; i++) {
        struct gang_entry *entry = gangs->list[i];
        seen += entry->held ? 1 : 0;
        if (moves(entry))
            good = preempt(gangs, entry, &i);
    }
    for (size_t i = 0; share && i < gangs->count && good; i++)
        good = resize(gangs, gangs->list[i], true);
    seen = 0;
    for (size_t i = 0, planned = gangs->planned; seen < planned && good; i++) {
        struct gang_entry *entry = gangs->list[i];
        seen += entry->planned ? 1 : 0;
        if (entry->planned && !entry->held && !start(gangs, entry)) {
            gang_unplan(gangs, entry);
            gangs_set_timer(gangs, RETRY);
        }
    }
    for (size_t i = 0; share && i < gangs->count && good; i++)
        if (!resize(gangs, gangs->list[i], false))
            gangs_set_timer(gangs, RETRY);
    return good;
}

/* Only tiresias asks how long those wait that ran before. */
static void refresh(struct gangs *gangs)
{
    const double now = sim_to_s(platform_now(gangs->platform));
    const bool waits = gangs->discipline->preempts;
    size_t seen = 0;
    for (size_t i = 0; waits ? i < gangs->count : seen < gangs->held; i++) {
        struct gang_entry *entry = gangs->list[i];
        if (!entry->held) {
            entry->waited_s += entry->executed_s > 0 ? now - gangs->last_s : 0;
            continue;
        }
        const struct training_view view = platform_training(gangs->platform, entry->id);
        entry->remaining = (double)view.iterations - view.done;
        entry->executed_s += now - gangs->last_s;
        seen++;
    }
    gangs->last_s = now;
}

/* Takes up which invokers are down. */
static void follow_outages(struct gangs *gangs, const struct platform *platform)
{
    if (gangs->outages == platform_outages(platform))
        return;
    gangs->outages = platform_outages(platform);
    for (uint32_t n = 0; n < gangs->cluster.node_count; n++)
        gang_node_set(&gangs->cluster, n, !platform_invoker_up(platform, n));
    gangs->due = true;
}

bool gangs_decide(void *state, struct platform *platform)
{
    struct gangs *gangs = state;
    follow_outages(gangs, platform);
    if (!gangs->due)
        return false;
    gangs->due = false;
    gangs->platform = platform;
    if (awaits_round(gangs))
        return false;
    gangs->timer = SIM_FOREVER;
    if (gangs->muri)
        platform_interrupt_trainings(platform);
    refresh(gangs);
    gangs->discipline->plan(gangs);
    if (!apply(gangs))
        platform_stop(platform, "a change of shares does not fit the ledger");
    if (gangs->timer < SIM_FOREVER)
        platform_set_timer(platform, gangs->timer, 0);
    return false;
}
