/* The orders in which gangs run, and the policies made of them. */
#include <math.h>
#include <string.h>

#include "sched/sharing/gangs.h"

/* ---- Order ----------------------------------------------------------------------------------- */

/* Merge sort, which is stable. Mostly only what arrived last is out of order. */
static void sort_list(struct gang_entry **list, struct gang_entry **scratch, size_t count)
{
    size_t first = 1; /* end of the first part: the sorted beginning, or half of the list */
    while (first < count && list[first]->key >= list[first - 1]->key)
        first++;
    if (first >= count)
        return;
    if (first < count / 2) {
        first = count / 2;
        sort_list(list, scratch, first);
    }
    sort_list(list + first, scratch, count - first);
    size_t to = 0;
    while (to < first && list[to]->key <= list[first]->key)
        to++;
    memcpy(scratch, &list[to], (first - to) * sizeof *list);
    const size_t moved = first - to;
    size_t a = 0;
    size_t b = first;
    while (a < moved && b < count)
        list[to++] = list[b]->key < scratch[a]->key ? list[b++] : scratch[a++];
    memcpy(&list[to], &scratch[a], (moved - a) * sizeof *list);
}

/* Moves the entry at `from` behind those before it that do not come later. */
static void insert(struct gang_entry **list, size_t from)
{
    struct gang_entry *entry = list[from];
    size_t low = 0;
    for (size_t high = from; low < high;) {
        const size_t middle = (low + high) / 2;
        if (list[middle]->key <= entry->key)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&list[low + 1], &list[low], (from - low) * sizeof *list);
    list[low] = entry;
}

/* Stable sort of the list by the discipline's key; equal keys by the last order. Only the keys of
 * those that run change. They are mostly at the front, and their keys fall: the waiting ones behind
 * them are not looked at. */
static void sort_entries(struct gangs *gangs)
{
    size_t end = 0, seen = 0; /* of those that run */
    if (gangs->discipline->key == NULL)
        return;
    for (; end < gangs->sorted && seen < gangs->held; end++) {
        seen += gangs->list[end]->held ? 1 : 0;
        gangs->list[end]->key = gangs->discipline->key(gangs->list[end]);
    }
    sort_list(gangs->list, gangs->scratch, end);
    if (end > 0 && end < gangs->sorted && gangs->list[end]->key < gangs->list[end - 1]->key)
        sort_list(gangs->list, gangs->scratch, gangs->sorted);
    for (; gangs->sorted < gangs->count; gangs->sorted++) {
        gangs->list[gangs->sorted]->key = gangs->discipline->key(gangs->list[gangs->sorted]);
        insert(gangs->list, gangs->sorted);
    }
}

static double by_remaining_time(const struct gang_entry *entry)
{
    return entry->remaining * entry->iteration_s;
}

static double by_remaining_service(const struct gang_entry *entry)
{
    return entry->remaining * entry->iteration_s * entry->gpus;
}

/* ---- In order, with preemption from the end -------------------------------------------------- */

/* Runs and may be preempted. */
static bool is_victim(const struct gangs *gangs, const struct gang_entry *entry)
{
    return gangs->preemption && entry->planned && entry->remaining > gangs->parameters->preemptible;
}

/* The possible victims behind the present place in the order: how many, and the end of the last. */
struct victims {
    size_t count, end;
};

/* Releases trainings from the end of the order, one by one, until the one at `index` fits. They
 * stay released when nothing helps, and their turn comes later. */
static void preempt_for(struct gangs *gangs, size_t index, struct victims *later)
{
    while (later->count > 0 && later->end > index + 1) {
        struct gang_entry *victim = gangs->list[--later->end];
        if (!is_victim(gangs, victim))
            continue;
        gang_unplan(gangs, victim);
        later->count--;
        if (gang_try(gangs, gangs->list[index]))
            return;
    }
}

static struct victims find_victims(const struct gangs *gangs)
{
    struct victims all = {0};
    size_t planned = 0;
    for (size_t i = 0; planned < gangs->planned; i++) {
        planned += gangs->list[i]->planned ? 1 : 0;
        if (is_victim(gangs, gangs->list[i])) {
            all.count++;
            all.end = i + 1;
        }
    }
    return all;
}

/* In order; with preemption from the end of the order (Lai-JX/Scheduler at 615f7a4,
 * scheduler_impl/schedulers.py:206-257). */
static void plan_in_order(struct gangs *gangs)
{
    const bool share = gangs->discipline->share;
    const bool strict = gangs->discipline->waits && gangs->parameters->head_of_line == HEAD_STRICT;
    uint32_t failed = UINT32_MAX; /* without sharing, what is larger than this fails as well */
    sort_entries(gangs);
    struct victims later = find_victims(gangs);
    for (size_t i = 0; i < gangs->count; i++) {
        struct gang_entry *entry = gangs->list[i];
        if (!share && later.count == 0 && gangs->cluster.empty == 0)
            return;
        later.count -= is_victim(gangs, entry) ? 1 : 0;
        if (entry->planned || (entry->gpus >= failed && later.count == 0) || gang_try(gangs, entry))
            continue;
        preempt_for(gangs, i, &later);
        if (strict && !entry->planned)
            return;
        if (!share && !entry->planned && later.count == 0)
            failed = entry->gpus;
    }
}

/* ---- Anew at every event --------------------------------------------------------------------- */

/* Plans on the former GPUs if these are still free. Where every event restarts all, places do not
 * matter, and Muri's simulator keeps none. */
static bool keep_place(struct gangs *gangs, struct gang_entry *entry)
{
    if (!entry->held || gangs->muri)
        return false;
    for (uint32_t i = 0; i < entry->gpus; i++)
        if (gangs->cluster.gpus[entry->actual[i]].count > 0)
            return false;
    gang_plan_on(gangs, entry, entry->actual);
    return true;
}

/* Empties the cluster and plans all in order. */
static void plan_all(struct gangs *gangs)
{
    uint32_t failed = UINT32_MAX;
    for (size_t i = 0; gangs->planned > 0; i++)
        gang_unplan(gangs, gangs->list[i]);
    for (size_t i = 0; i < gangs->count && gangs->cluster.empty > 0; i++) {
        struct gang_entry *entry = gangs->list[i];
        if (entry->gpus > gangs->cluster.empty || keep_place(gangs, entry))
            continue;
        if (entry->gpus < failed && !gang_try(gangs, entry))
            failed = entry->gpus;
    }
}

/* Those that run when only GPUs are counted: the others leave, and those that have to start come
 * into `scratch`. Returns their number. */
static size_t choose_by_count(struct gangs *gangs)
{
    size_t free = gangs->cluster.gpu_count - gangs->cluster.down;
    size_t chosen = 0;
    size_t planned = gangs->planned; /* from i on */
    for (size_t i = 0; i < gangs->count && (free > 0 || planned > 0); i++) {
        struct gang_entry *entry = gangs->list[i];
        planned -= entry->planned ? 1 : 0;
        if (entry->gpus <= free) {
            free -= entry->gpus;
            if (!entry->planned)
                gangs->scratch[chosen++] = entry;
        } else {
            gang_unplan(gangs, entry);
        }
    }
    return chosen;
}

/* All anew at every event, as Muri's simulator does (Rivendile/Muri at 4e69a78, simulator/
 * run_sim.py:303-330), but moves a training only if the order or fragmentation demands it. Who runs
 * already and still does so stays where it is. If a new one then finds no room, because of
 * fragmentation, all are planned in order. */
static void plan_anew(struct gangs *gangs)
{
    sort_entries(gangs);
    if (gangs->muri) {
        plan_all(gangs);
        return;
    }
    const size_t chosen = choose_by_count(gangs);
    for (size_t i = 0; i < chosen; i++)
        if (!gang_try(gangs, gangs->scratch[i])) {
            plan_all(gangs);
            return;
        }
}

/* ---- Tiresias -------------------------------------------------------------------------------- */

/* A running training that has used up its queue's limit joins the next queue's end. One that has
 * waited long enough returns to the end of the first. */
static bool changes_queue(const struct gangs *gangs, struct gang_entry *entry)
{
    if (entry->held && entry->queue + 1 < GANG_QUEUES &&
        entry->executed_s * entry->gpus >= gangs->limits[entry->queue] * (1 - 1e-12)) {
        entry->queue++;
        return true;
    }
    if (!entry->held && entry->queue > 0 && gangs->parameters->starvation > 0 &&
        entry->executed_s > 0 &&
        entry->waited_s >= gangs->parameters->starvation * entry->executed_s) {
        entry->queue = 0;
        entry->executed_s = 0;
        entry->waited_s = 0;
        return true;
    }
    return false;
}

static double by_queue(const struct gang_entry *entry)
{
    return entry->queue;
}

/* Running ones first within a queue. */
static double by_queue_and_state(const struct gang_entry *entry)
{
    return 2 * (double)entry->queue + (entry->planned ? 0 : 1);
}

static void sort_by(struct gangs *gangs, double (*key)(const struct gang_entry *entry))
{
    for (size_t i = 0; i < gangs->count; i++)
        gangs->list[i]->key = key(gangs->list[i]);
    sort_list(gangs->list, gangs->scratch, gangs->count);
}

/* Those that change their queue go to the end of the list, in order of arrival; the sort then puts
 * them behind the others of their new queue. */
static void update_queues(struct gangs *gangs)
{
    size_t kept = 0;
    size_t moved = 0;
    for (size_t i = 0; i < gangs->count; i++) {
        if (!changes_queue(gangs, gangs->list[i])) {
            gangs->list[kept++] = gangs->list[i];
            continue;
        }
        size_t to = moved++;
        for (; to > 0 && gangs->scratch[to - 1]->id > gangs->list[i]->id; to--)
            gangs->scratch[to] = gangs->scratch[to - 1];
        gangs->scratch[to] = gangs->list[i];
    }
    memcpy(&gangs->list[kept], gangs->scratch, moved * sizeof *gangs->list);
    sort_by(gangs, by_queue);
}

/* The next instant at which a training changes its queue. Muri's simulator rounds the whole time in
 * a queue up to seconds. */
static void set_timer(struct gangs *gangs)
{
    double next = INFINITY;
    for (size_t i = 0; i < gangs->count; i++) {
        const struct gang_entry *entry = gangs->list[i];
        const double limit =
            entry->queue + 1 < GANG_QUEUES ? gangs->limits[entry->queue] / entry->gpus : INFINITY;
        if (entry->planned)
            next = fmin(next, (gangs->muri ? ceil(limit) : limit) - entry->executed_s);
        else if (entry->queue > 0 && gangs->parameters->starvation > 0 && entry->executed_s > 0)
            next = fmin(next, gangs->parameters->starvation * entry->executed_s - entry->waited_s);
    }
    if (next < INFINITY)
        gangs_set_timer(
            gangs,
            sim_ceil(1e9 * (gangs->muri ? next : fmax(next, gangs->parameters->interval_s))));
}

/* GPUs are counted, and gangs take any that are free. */
static void plan_by_count(struct gangs *gangs)
{
    const size_t chosen = choose_by_count(gangs);
    uint32_t g = 0;
    for (size_t i = 0; i < chosen; i++) {
        for (uint32_t k = 0; k < gangs->scratch[i]->gpus; g++)
            if (gangs->cluster.gpus[g].count == 0)
                gangs->chosen[k++] = g;
        gang_plan_on(gangs, gangs->scratch[i], gangs->chosen);
    }
}

/* Queues by executed GPU time (schedulers.py:472-545; in Muri's restart mode run_sim.py:369-671,
 * where GPUs are counted and gangs may be anywhere). */
static void plan_tiresias(struct gangs *gangs)
{
    update_queues(gangs);
    if (gangs->muri)
        plan_by_count(gangs);
    else
        plan_in_order(gangs);
    sort_by(gangs, by_queue_and_state);
    set_timer(gangs);
}

/* ---- Policies -------------------------------------------------------------------------------- */

/* clang-format off */
#define DISCIPLINES(ROW) \
    ROW(sjf_bsbf, "sjf-bsbf", plan_in_order, by_remaining_time, true, true, \
        "trainings by least remaining time, two on a GPU where both gain") \
    ROW(sjf_ffs, "sjf-ffs", plan_in_order, by_remaining_time, true, false, \
        "trainings by least remaining time, two on a GPU by first fit") \
    ROW(gang_sjf, "sjf", plan_in_order, by_remaining_time, false, false, \
        "trainings by least remaining time, on GPUs of their own, without preemption") \
    ROW(gang_fifo, "fifo", plan_in_order, NULL, false, false, \
        "trainings strictly in order of arrival, on GPUs of their own, without preemption") \
    ROW(tiresias, "tiresias", plan_tiresias, NULL, false, false, \
        "trainings by queues of attained GPU time, with preemption") \
    ROW(srtf, "srtf", plan_anew, by_remaining_time, false, false, \
        "trainings by least remaining time, preempted and planned anew at every event") \
    ROW(srsf, "srsf", plan_anew, by_remaining_service, false, false, \
        "trainings by least remaining GPU time, preempted and planned anew at every event")
/* clang-format on */

#define POLICY(symbol, text, planner, order, shares, checks, line)                                 \
    static const struct gang_discipline symbol##_discipline = {(planner),                          \
                                                               (order),                            \
                                                               (shares),                           \
                                                               (checks),                           \
                                                               (planner) == plan_tiresias,         \
                                                               (planner) == plan_in_order &&       \
                                                                   (order) == NULL};               \
    static bool symbol##_init(void *state, struct platform *platform, const void *parameters,      \
                              struct error *error)                                                 \
    {                                                                                              \
        return gangs_init(state, &symbol##_discipline, platform, parameters, error);               \
    }                                                                                              \
    extern const struct policy policy_##symbol;                                                    \
    const struct policy policy_##symbol = {                                                        \
        .abi = POLICY_ABI,                                                                         \
        .name = (text),                                                                            \
        .summary = (line),                                                                         \
        .parameters = gang_parameters,                                                             \
        .parameters_bytes = sizeof(struct gang_parameters),                                        \
        .state_bytes = sizeof(struct gangs),                                                       \
        .init = symbol##_init,                                                                     \
        .refuses_gang = gangs_refuse,                                                              \
        .on_timer = gangs_on_timer,                                                                \
        .decide = gangs_decide,                                                                    \
        .on_training_arrived = gangs_on_arrived,                                                   \
        .on_training_finished = gangs_on_finished,                                                 \
        .serves = SERVES_TRAININGS,                                                                \
    };

DISCIPLINES(POLICY)
