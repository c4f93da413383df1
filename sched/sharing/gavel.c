/* Gavel (Narayanan et al., OSDI 2020): which type of GPU a training runs on, and for how long.
 *
 * The shares of gavel_shares.h are computed anew in the first round after an arrival or an end, but
 * not within `reset_s` of the last time. In every round each type of GPU, in the order of the
 * cluster file, takes the trainings with the greatest share ÷ part of the type's time since then.
 * Larger gangs are placed first, and of equal ones those first that can stay. What nobody's share
 * takes is given away. As stanford-futuredata/gavel at c4fa400 in simulation
 * (scheduler/scheduler.py:714-957, 2265-2463), where equal trainings go by what they missed before.
 * A training waits for its first share. Packing, priorities, costs and deadlines are left out. */
#include <stdlib.h>
#include <string.h>

#include "sched/memory.h"
#include "sched/sharing/gangs.h"
#include "sched/sharing/gavel_shares.h"

struct gavel_parameters {
    enum { GOAL_LAS, GOAL_MAX_SUM } goal;
    sim_time_t round_s;
    double reset_s;
};

static const struct key gavel_parameter_keys[] = {
    PARAMETER_WORD(gavel, goal, WORDS("las", "max-sum"), GOAL_LAS,
                   "shares of time for equal attained service by rates, or for the greatest sum of "
                   "iterations per second (paper)"),
    PARAMETER_SECONDS(gavel, round_s, 1, 1e6, 360, "length of a round, s (code)"),
    PARAMETER_NUMBER(gavel, reset_s, 0, 1e6, 1920, "least time between new shares, s (code)"),
    KEY_END,
};

struct gavel {
    struct gangs gangs;
    struct gang_parameters own;
    const struct gavel_parameters *parameters;
    uint32_t types;
    const struct gpu_spec *specs[GAVEL_TYPES_MOST];       /* of a GPU of the type; NULL: none */
    double gpus[GAVEL_TYPES_MOST], all[GAVEL_TYPES_MOST]; /* by type: up; s received by trainings */
    struct gavel_item {
        struct gavel_class *class;         /* of the last programme; NULL: it came later */
        uint32_t type;                     /* in this round; SIM_NONE: none */
        double received[GAVEL_TYPES_MOST]; /* s since the last reset, by type */
        struct gavel_class like;           /* a class of this training alone */
    } * items;                             /* by training */
    struct turn {
        double key; /* the greatest comes first */
        size_t at;  /* in the list */
    } * turns;
    struct gavel_class *classes;
    double round_s, reset_s; /* their last times */
    bool changed;            /* since then */
};

/* ---- Trainings ------------------------------------------------------------------------------- */

static void gavel_on_arrived(void *state, struct platform *platform, uint32_t training)
{
    struct gavel *self = state;
    struct arena *arena = platform_arena(platform);
    const struct workload *workload = platform_workload(platform);
    const struct training_view view = platform_training(platform, training);
    gangs_on_arrived(state, platform, training);
    arena_reserve(arena, &self->items, (size_t)training + 1, sizeof *self->items);
    arena_reserve(arena, &self->turns, self->gangs.count, sizeof *self->turns);
    struct gavel_item *item = &self->items[training];
    *item = (struct gavel_item){.type = SIM_NONE, .like.gpus = view.gpus};
    for (uint32_t t = 0; t < self->types; t++) {
        const struct gpu_spec *spec = self->specs[t];
        item->received[t] = sim_to_s(self->own.round_s) / 2;
        if (spec != NULL && gpu_types_have(view.gpu_types, t))
            item->like.rates[t] =
                training_gpu_speed(platform_training_models(platform), view.model, spec->model,
                                   workload->kinds[spec->kind].speed, view.gpus) /
                view.iteration_s;
    }
    self->changed = true;
}

static void gavel_on_finished(void *state, struct platform *platform, uint32_t training)
{
    gangs_on_finished(state, platform, training);
    ((struct gavel *)state)->changed = true;
}

static struct gavel_item *item_of(const struct gavel *self, size_t at)
{
    return &self->items[self->gangs.list[at]->id];
}

static bool same_class(const struct gavel_class *a, const struct gavel_class *b)
{
    bool same = a->gpus == b->gpus;
    for (size_t t = 0; t < GAVEL_TYPES_MOST; t++)
        same = same && a->rates[t] == b->rates[t];
    return same;
}

/* Computes new shares. */
static void reset(struct gavel *self, struct arena *arena, double now)
{
    const double half = sim_to_s(self->own.round_s) / 2;
    struct gavel_class *old = self->classes, *classes;
    size_t count = 0;
    self->classes = classes = arena_allocate(arena, self->gangs.count, sizeof *classes);
    for (size_t i = 0; i < self->gangs.count; i++) {
        struct gavel_item *item = item_of(self, i);
        size_t c = 0;
        for (uint32_t t = 0; t < self->types; t++) {
            item->received[t] = half;
            self->all[t] = half * (double)self->gangs.count;
        }
        while (c < count && !same_class(&classes[c], &item->like))
            c++;
        if (c == count)
            classes[count++] = item->like;
        classes[c].count++;
        item->class = &classes[c];
    }
    gavel_share(arena, self->parameters->goal == GOAL_MAX_SUM, classes, count, self->gpus,
                self->types);
    arena_release(arena, old);
    self->reset_s = now;
    self->changed = false;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static int compare_turns(const void *a, const void *b)
{
    const struct turn *left = a, *right = b;
    const double by = right->key - left->key;
    return by < 0 ? -1 : by > 0 ? 1 : (left->at > right->at) - (left->at < right->at);
}

/* Gives the GPUs of a type to trainings that have none yet. */
static void choose(struct gavel *self, uint32_t type)
{
    double left = self->gpus[type];
    size_t count = 0;
    for (size_t i = 0; i < self->gangs.count; i++) {
        const struct gavel_item *item = item_of(self, i);
        if (item->class != NULL && item->type == SIM_NONE && item->like.rates[type] > 0)
            self->turns[count++] = (struct turn){
                item->class->shares[type] * self->all[type] / item->received[type], i};
    }
    qsort(self->turns, count, sizeof *self->turns, compare_turns);
    for (size_t i = 0; i < count; i++) {
        struct gavel_item *item = item_of(self, self->turns[i].at);
        if (item->like.gpus > left)
            continue;
        left -= item->like.gpus;
        item->type = type;
    }
}

/* Plans a training where it runs, if that is free and of its type. */
static void stay(struct gangs *gangs, struct gang_entry *entry)
{
    bool free = entry->held;
    for (uint32_t g = 0; g < entry->gpus && free; g++) {
        const struct gang_gpu *gpu = &gangs->cluster.gpus[entry->actual[g]];
        free = gpu->count == 0 && gpu_types_have(entry->gpu_types, gpu->type);
    }
    if (free)
        gang_plan_on(gangs, entry, entry->actual);
}

static void place(struct gavel *self)
{
    struct gangs *gangs = &self->gangs;
    size_t count = 0;
    for (size_t i = 0; i < gangs->count; i++) {
        gang_unplan(gangs, gangs->list[i]);
        if (item_of(self, i)->type == SIM_NONE)
            continue;
        gangs->list[i]->gpu_types = UINT64_C(1) << item_of(self, i)->type;
        self->turns[count++] = (struct turn){gangs->list[i]->gpus, i};
    }
    qsort(self->turns, count, sizeof *self->turns, compare_turns);
    for (size_t i = 0, end = 0; i < count; i = end) {
        for (; end < count && !(self->turns[end].key < self->turns[i].key); end++)
            stay(gangs, gangs->list[self->turns[end].at]);
        for (size_t k = i; k < end; k++)
            if (!gangs->list[self->turns[k].at]->planned)
                (void)gang_try(gangs, gangs->list[self->turns[k].at]);
    }
}

static void plan_gavel(struct gangs *gangs)
{
    struct gavel *self = (struct gavel *)gangs;
    const double now = sim_to_s(platform_now(gangs->platform));
    memset(self->gpus, 0, sizeof self->gpus);
    for (size_t g = 0; g < gangs->cluster.gpu_count; g++)
        self->gpus[gangs->cluster.gpus[g].type] +=
            gangs->cluster.nodes[gangs->cluster.gpus[g].node].down ? 0 : 1;
    for (size_t i = 0; i < gangs->count; i++) {
        struct gavel_item *item = item_of(self, i);
        if (gangs->list[i]->held) {
            item->received[item->type] += now - self->round_s;
            self->all[item->type] += now - self->round_s;
        }
        item->type = SIM_NONE;
    }
    if (self->changed && gangs->count > 0 && now - self->reset_s >= self->parameters->reset_s)
        reset(self, platform_arena(gangs->platform), now);
    for (uint32_t t = 0; t < self->types; t++)
        choose(self, t);
    place(self);
    self->round_s = now;
    if (gangs->count > 0)
        gangs_set_timer(gangs, self->own.round_s);
}

/* ---- Policy ---------------------------------------------------------------------------------- */

static bool gavel_init(void *state, struct platform *platform, const void *parameters,
                       struct error *error)
{
    static const struct gang_discipline discipline = {.plan = plan_gavel};
    struct gavel *self = state;
    self->parameters = parameters;
    self->own.round_s = self->parameters->round_s;
    self->reset_s = -self->parameters->reset_s;
    if (!gangs_init(&self->gangs, &discipline, platform, &self->own, error))
        return false;
    for (size_t g = 0; g < self->gangs.cluster.gpu_count; g++) {
        const uint32_t type = self->gangs.cluster.gpus[g].type;
        if (type >= GAVEL_TYPES_MOST)
            return error_input(error,
                               "policy gavel: knows %d models of GPU at most; the cluster "
                               "has more",
                               GAVEL_TYPES_MOST);
        self->specs[type] = self->gangs.sites[g].spec;
        self->types = type >= self->types ? type + 1 : self->types;
    }
    return true;
}

static const char *gavel_refuses(void *state, uint32_t gpus, double gpu_memory_mb,
                                 uint64_t gpu_types)
{
    const char *reason = gangs_refuse(state, gpus, gpu_memory_mb, 0);
    for (uint32_t t = 0; t < GAVEL_TYPES_MOST && reason != NULL; t++)
        reason = gangs_refuse(state, gpus, gpu_memory_mb, gpu_types & UINT64_C(1) << t);
    return reason;
}

const struct policy policy_gavel = {
    .abi = POLICY_ABI,
    .name = "gavel",
    .summary = "trainings in rounds, by shares of time on the types of GPU that suit them",
    .parameters = gavel_parameter_keys,
    .parameters_bytes = sizeof(struct gavel_parameters),
    .state_bytes = sizeof(struct gavel),
    .init = gavel_init,
    .refuses_gang = gavel_refuses,
    .on_timer = gangs_on_timer,
    .decide = gangs_decide,
    .on_training_arrived = gavel_on_arrived,
    .on_training_finished = gavel_on_finished,
    .serves = SERVES_TRAININGS,
};
