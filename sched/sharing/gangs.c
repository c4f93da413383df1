#include "sched/sharing/gangs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RETRY SIM_S

/* ---- Set-up ---------------------------------------------------------------------------------- */

enum { PREEMPTION_DEFAULT, PREEMPTION_OFF };

const struct parameter gang_parameters[GANG_PARAMETERS] = {
    [GANG_VCPUS] = {"vcpus_per_gpu", 4, 0, 1024, NULL,
                    "vCPUs per GPU of a gang; at most the GPU's part of its invoker, half of it "
                    "where gangs share GPUs"},
    [GANG_CONSOLIDATE] = {"consolidate", 0, 0, 1, "off|on",
                          "sjf-bsbf, sjf-ffs: prefer GPUs of one invoker"},
    [GANG_PREEMPTION] =
        {"preemption", PREEMPTION_DEFAULT, 0, 2, "default|off|on",
         "a training that does not fit preempts later ones; default: off for sjf-bsbf "
         "and sjf-ffs, on for sjf and fifo; the others always preempt"},
    [GANG_PREEMPTIBLE] = {"preemptible", 100, 0, 1e15, NULL,
                          "a training with more iterations left may be preempted"},
    [GANG_LIMITS] = {"limits", 0, 0, 1, "700|3250-7200",
                     "tiresias: GPU seconds at which a training joins the next queue"},
    [GANG_STARVATION] = {"starvation", 1, 0, 1e9, NULL,
                         "tiresias: a training that has waited for so many times its executed "
                         "time returns to the first queue; 0: never"},
    [GANG_INTERVAL] = {"interval_s", 60, 1e-3, 1e9, NULL,
                       "tiresias: least time from an event to the next change of queues, s"},
    [GANG_RESTART_MODE] = {"restart_mode", 0, 0, 1, "model|muri",
                           "srtf, srsf, tiresias: a training restarts when it moves; muri: every "
                           "event restarts all, as in Muri's simulator"},
};

/* Whole GPUs of all invokers, in order, as nodes of the module's cluster. */
static bool open_cluster(struct gangs *gangs, const struct cluster_spec *spec, struct error *error)
{
    size_t nodes = 0;
    size_t gpus = 0;
    double memory_mb = INFINITY;
    for (size_t g = 0; g < spec->group_count; g++) {
        nodes += spec->groups[g].count;
        gpus += (size_t)spec->groups[g].count * spec->groups[g].gpu_count;
    }
    uint32_t *counts = calloc(nodes + 1, sizeof *counts);
    double *vcpus = calloc(nodes + 1, sizeof *vcpus);
    gangs->slots = calloc(gpus + 1, sizeof *gangs->slots);
    gangs->chosen = calloc(gpus + 1, sizeof *gangs->chosen);
    gangs->grants = calloc(gpus + 1, sizeof *gangs->grants);
    bool good = counts != NULL && vcpus != NULL && gangs->slots != NULL && gangs->chosen != NULL &&
                gangs->grants != NULL;
    uint32_t node = 0;
    size_t slot = 0;
    for (size_t g = 0; good && g < spec->group_count; g++) {
        const struct invoker_group *group = &spec->groups[g];
        for (uint32_t i = 0; i < group->count; i++, node++) {
            counts[node] = (uint32_t)group->gpu_count;
            vcpus[node] = group->vcpus;
            for (uint32_t k = 0; k < group->gpu_count; k++) {
                gangs->slots[slot++] = (struct gang_slot){node, k, group->gpus[k].units};
                memory_mb = fmin(memory_mb, group->gpus[k].memory_mb);
            }
        }
    }
    good = good && gang_cluster_open(&gangs->cluster, counts, vcpus, nodes, memory_mb);
    free(counts);
    free(vcpus);
    return good || error_run(error, "out of memory");
}

/* What each GPU of a gang gets of its invoker: its part, or half of it where gangs share. */
static bool set_demands(struct gangs *gangs, const struct cluster_spec *spec, double vcpus,
                        struct error *error)
{
    const double residents = gangs->discipline->share ? 2 : 1;
    gangs->vcpus_per_gpu = vcpus;
    gangs->memory_per_gpu = INFINITY;
    for (size_t g = 0; g < spec->group_count; g++) {
        const struct invoker_group *group = &spec->groups[g];
        const double gpus = residents * (double)group->gpu_count;
        if (group->gpu_count == 0)
            continue;
        gangs->vcpus_per_gpu = fmin(gangs->vcpus_per_gpu, group->vcpus / gpus);
        gangs->memory_per_gpu = fmin(gangs->memory_per_gpu, floor(group->memory_mb / gpus));
        for (size_t k = 0; k < group->gpu_count; k++)
            if (gangs->discipline->share &&
                (group->gpus[k].sharing != SHARING_MPS || group->gpus[k].units < 2))
                return error_input(error,
                                   "policy.name: gangs that share GPUs need GPUs with "
                                   "\"sharing\": \"mps\" and at least 2 units; invokers of "
                                   "group %zu have others",
                                   g);
    }
    return true;
}

bool gangs_init(struct gangs *gangs, const struct gang_discipline *discipline,
                struct platform *platform, const double *values, struct error *error)
{
    const struct cluster_spec *spec = &platform_workload(platform)->cluster;
    gangs->discipline = discipline;
    gangs->timer = SIM_FOREVER;
    gangs->consolidate = values[GANG_CONSOLIDATE] > 0;
    gangs->preemption = values[GANG_PREEMPTION] > PREEMPTION_OFF || discipline->preempts ||
                        (!discipline->share && values[GANG_PREEMPTION] < PREEMPTION_OFF);
    gangs->preemptible = values[GANG_PREEMPTIBLE];
    gangs->limits[0] = values[GANG_LIMITS] > 0 ? 3250 : 700;
    gangs->limits[1] = values[GANG_LIMITS] > 0 ? 7200 : INFINITY;
    gangs->starvation = values[GANG_STARVATION];
    gangs->interval_s = values[GANG_INTERVAL];
    gangs->muri = values[GANG_RESTART_MODE] > 0;
    return set_demands(gangs, spec, values[GANG_VCPUS], error) && open_cluster(gangs, spec, error);
}

static void free_entry(struct gang_entry *entry)
{
    if (entry == NULL)
        return;
    free(entry->place);
    free(entry);
}

void gangs_finish(void *state)
{
    struct gangs *gangs = state;
    for (size_t i = 0; i < gangs->capacity; i++)
        free_entry(gangs->entries[i]);
    free(gangs->entries);
    free(gangs->list);
    free(gangs->scratch);
    free(gangs->grants);
    free(gangs->chosen);
    free(gangs->slots);
    gang_cluster_close(&gangs->cluster);
}

/* ---- Trainings ------------------------------------------------------------------------------- */

static bool reserve(struct gangs *gangs, uint32_t training)
{
    size_t capacity = gangs->capacity == 0 ? 64 : gangs->capacity;
    while (training >= capacity)
        capacity *= 2;
    if (capacity > gangs->capacity) {
        struct gang_entry **entries = realloc(gangs->entries, capacity * sizeof *entries);
        if (entries == NULL)
            return false;
        memset(&entries[gangs->capacity], 0, (capacity - gangs->capacity) * sizeof *entries);
        gangs->entries = entries;
        gangs->capacity = capacity;
    }
    if (gangs->count < gangs->room)
        return true;
    const size_t room = gangs->room == 0 ? 256 : 2 * gangs->room;
    struct gang_entry **list = realloc(gangs->list, room * sizeof *list);
    if (list == NULL)
        return false;
    gangs->list = list;
    struct gang_entry **scratch = realloc(gangs->scratch, room * sizeof *scratch);
    if (scratch == NULL)
        return false;
    gangs->scratch = scratch;
    gangs->room = room;
    return true;
}

static struct gang_entry *new_entry(const struct platform *platform, uint32_t training)
{
    const struct training_view view = platform_training(platform, training);
    struct gang_entry *entry = calloc(1, sizeof *entry);
    uint32_t *numbers = calloc(3 * (size_t)view.gpus, sizeof *numbers);
    if (entry == NULL || numbers == NULL) {
        free(entry);
        free(numbers);
        return NULL;
    }
    *entry = (struct gang_entry){.id = training,
                                 .gpus = view.gpus,
                                 .model = view.model,
                                 .memory_mb = view.gpu_memory_mb,
                                 .iteration_s = view.iteration_s,
                                 .arrival_s = sim_to_s(view.arrival),
                                 .remaining = (double)view.iterations - view.done,
                                 .place = numbers,
                                 .actual = numbers + view.gpus,
                                 .shares = numbers + 2 * (size_t)view.gpus};
    return entry;
}

void gangs_on_arrived(void *state, struct platform *platform, uint32_t training)
{
    struct gangs *gangs = state;
    struct gang_entry *entry = NULL;
    if (!reserve(gangs, training) || (entry = new_entry(platform, training)) == NULL) {
        platform_stop(platform, "out of memory");
        return;
    }
    gangs->entries[training] = entry;
    gangs->list[gangs->count++] = entry;
    gangs->due = true;
}

void gangs_on_finished(void *state, struct platform *platform, uint32_t training)
{
    struct gangs *gangs = state;
    struct gang_entry *entry = gangs->entries[training];
    size_t i = 0;
    (void)platform;
    gang_unplan(gangs, entry);
    gangs->held -= entry->held ? 1 : 0;
    while (gangs->list[i] != entry)
        i++;
    gangs->count--;
    memmove(&gangs->list[i], &gangs->list[i + 1], (gangs->count - i) * sizeof *gangs->list);
    gangs->entries[training] = NULL;
    free_entry(entry);
    gangs->due = true;
}

void gangs_on_timer(void *state, struct platform *platform, uint32_t id)
{
    struct gangs *gangs = state;
    (void)id;
    gangs->due = gangs->due || platform_now(platform) == gangs->timer; /* else it was replaced */
}

void gangs_set_timer(struct gangs *gangs, sim_time_t after)
{
    const sim_time_t at = platform_now(gangs->platform) + after;
    gangs->timer = at < gangs->timer ? at : gangs->timer;
}

/* ---- Planning -------------------------------------------------------------------------------- */

void gang_plan_on(struct gangs *gangs, struct gang_entry *entry, const uint32_t *gpus)
{
    memcpy(entry->place, gpus, entry->gpus * sizeof *gpus);
    gang_take(&gangs->cluster, entry->id, entry->memory_mb, gangs->vcpus_per_gpu, entry->place,
              entry->gpus);
    entry->planned = true;
    gangs->planned++;
}

void gang_unplan(struct gangs *gangs, struct gang_entry *entry)
{
    if (!entry->planned)
        return;
    gang_release(&gangs->cluster, entry->id, entry->memory_mb, gangs->vcpus_per_gpu, entry->place,
                 entry->gpus);
    entry->planned = false;
    gangs->planned--;
}

/* The two sides of the share check. */
struct sides {
    const struct gangs *gangs;
    const struct gang_entry *incoming;
};

static bool is_worth_it(void *context, uint32_t resident, double *time_s)
{
    const struct sides *sides = context;
    const struct training_models *models = platform_training_models(sides->gangs->platform);
    const struct gang_entry *a = sides->incoming;
    const struct gang_entry *b = sides->gangs->entries[resident];
    const struct gang_work incoming = {a->remaining, a->iteration_s,
                                       training_pair(models, a->model, b->model, a->gpus, NULL)};
    const struct gang_work other = {b->remaining, b->iteration_s,
                                    training_pair(models, b->model, a->model, b->gpus, NULL)};
    double sequential = 0;
    *time_s = gang_share_check(&incoming, &other, &sequential);
    return *time_s < sequential;
}

static bool fits_beside(void *context, uint32_t resident)
{
    const struct sides *sides = context;
    const struct training_models *models = platform_training_models(sides->gangs->platform);
    const struct gang_entry *a = sides->incoming;
    const struct gang_entry *b = sides->gangs->entries[resident];
    return !isinf(training_pair(models, a->model, b->model, a->gpus, NULL)) &&
           !isinf(training_pair(models, b->model, a->model, b->gpus, NULL));
}

/* Places it on the cluster before the first arrival. Muri's Tiresias counts GPUs only. */
const char *gangs_refuse(void *state, uint32_t gpus, double gpu_memory_mb)
{
    struct gangs *gangs = state;
    const struct gang_request request = {
        .gpus = gpus, .memory_mb = gpu_memory_mb, .vcpus_per_gpu = gangs->vcpus_per_gpu};
    if (gangs->muri && gangs->discipline->preempts)
        return NULL;
    const bool found = gangs->discipline->share
                           ? gang_place_shared(&gangs->cluster, &request, gangs->chosen)
                           : gang_place_alone(&gangs->cluster, &request, gangs->chosen);
    if (found)
        return NULL;
    return gangs->discipline->share
               ? "it counts on no more memory than the smallest GPU has"
               : "a gang larger than an invoker takes whole ones of the largest size, and one for "
                 "the rest, with no more memory than the smallest GPU has";
}

bool gang_try(struct gangs *gangs, struct gang_entry *entry)
{
    struct sides sides = {gangs, entry};
    const struct gang_request request = {.gpus = entry->gpus,
                                         .memory_mb = entry->memory_mb,
                                         .vcpus_per_gpu = gangs->vcpus_per_gpu,
                                         .share = gangs->discipline->share,
                                         .consolidate = gangs->consolidate,
                                         .fits = fits_beside,
                                         .check = gangs->discipline->check ? is_worth_it : NULL,
                                         .context = &sides};
    const bool found = request.share ? gang_place_shared(&gangs->cluster, &request, gangs->chosen)
                                     : gang_place_alone(&gangs->cluster, &request, gangs->chosen);
    if (found)
        gang_plan_on(gangs, entry, gangs->chosen);
    return found;
}

/* ---- The platform ---------------------------------------------------------------------------- */

/* Units on a GPU: all of a lone gang; of two, the older one has the larger half. */
static uint32_t share_on(const struct gangs *gangs, const struct gang_entry *entry, uint32_t gpu)
{
    const struct gang_gpu *own = &gangs->cluster.gpus[gpu];
    const uint32_t units = gangs->slots[gpu].units;
    if (own->count < GANG_RESIDENTS)
        return units;
    return own->residents[0] == entry->id ? units - units / 2 : units / 2;
}

/* Fills the grants of a gang; returns whether any share differs from what it holds. */
static bool fill_grants(struct gangs *gangs, const struct gang_entry *entry, bool only_less)
{
    bool differs = false;
    for (uint32_t i = 0; i < entry->gpus; i++) {
        const struct gang_slot *slot = &gangs->slots[entry->place[i]];
        uint32_t share = share_on(gangs, entry, entry->place[i]);
        if (only_less && entry->held && share > entry->shares[i])
            share = entry->shares[i];
        differs = differs || share != entry->shares[i];
        gangs->grants[i] = (struct training_grant){.invoker = slot->invoker,
                                                   .gpu = slot->gpu,
                                                   .share = share,
                                                   .quota = 100,
                                                   .vcpus = gangs->vcpus_per_gpu,
                                                   .memory_mb = gangs->memory_per_gpu};
    }
    return differs;
}

static void keep_shares(struct gangs *gangs, struct gang_entry *entry)
{
    for (uint32_t i = 0; i < entry->gpus; i++)
        entry->shares[i] = gangs->grants[i].share;
}

static bool resize(struct gangs *gangs, struct gang_entry *entry, bool only_less)
{
    if (!entry->held || !fill_grants(gangs, entry, only_less))
        return true;
    if (!platform_resize(gangs->platform, entry->id, gangs->grants, entry->gpus))
        return false;
    keep_shares(gangs, entry);
    return true;
}

static bool start(struct gangs *gangs, struct gang_entry *entry)
{
    (void)fill_grants(gangs, entry, false);
    if (!platform_place(gangs->platform, entry->id, gangs->grants, entry->gpus, SIM_FOREVER))
        return false;
    memcpy(entry->actual, entry->place, entry->gpus * sizeof *entry->place);
    keep_shares(gangs, entry);
    entry->held = true;
    gangs->held++;
    return true;
}

static bool moves(const struct gang_entry *entry)
{
    return entry->held && (!entry->planned || memcmp(entry->actual, entry->place,
                                                     entry->gpus * sizeof *entry->place) != 0);
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
        good = resize(gangs, gangs->list[i], false);
    return good;
}

/* Only tiresias asks how long those wait that ran before. */
static void refresh(struct gangs *gangs)
{
    const double now = sim_to_s(platform_now(gangs->platform));
    const bool waits = gangs->discipline->plan == gangs_plan_tiresias;
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

bool gangs_decide(void *state, struct platform *platform)
{
    struct gangs *gangs = state;
    if (!gangs->due)
        return false;
    gangs->due = false;
    gangs->platform = platform;
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
