#include "sched/headway/suffix.h"

#include <math.h>
#include <stdlib.h>

#include "sched/common/kinds.h"
#include "sched/common/planner.h"
#include "sched/common/slo.h"
#include "sched/paths/frontier.h"

/* Bounds on the batches of a plan are 1, 2, 4 … 2^(LEVELS_MOST - 1). */
enum { LEVELS_MOST = 4, QUANTA = 1024 };

/* One configuration of a stage, at inflated time. */
struct entry {
    uint32_t configuration;
    uint32_t batch;
    size_t level;                  /* of the plans that begin with it */
    sim_time_t time;               /* t', whole quanta */
    sim_time_t mean;               /* t m + d */
    double price[OBJECTIVE_COUNT]; /* per job: dollars × m, ns of the cluster */
    double held;                   /* per job: ns of the cluster, without what it costs others */
};

struct stage_tables {
    const struct function *function;
    struct entry *entries; /* usable ones, by (level, time) */
    size_t entry_count;
    size_t first[LEVELS_MOST + 1]; /* of each level; the last is entry_count */
    struct search_table *tables[OBJECTIVE_COUNT][LEVELS_MOST];
    double *factors; /* by class of share; these and the next are of the tables as they are */
    double delay, wait, container;
    sim_time_t ahead;        /* `wait` in whole quanta */
    sim_time_t fastest;      /* least nominal time */
    sim_time_t fastest_mean; /* least mean time of a batch of 1 */
    sim_time_t way;          /* and of all later stages */
    double work;             /* of one job, alone, under the plan of least work */
};

struct plan_tables {
    struct frontier_set *sets[OBJECTIVE_COUNT][LEVELS_MOST];
    double alone; /* work of a request under the plan of least work with batches of 1 */
    double quantum;
};

struct suffix {
    struct arena *arena;
    const struct workload *workload;
    struct suffix_settings settings;
    struct suffix_inputs inputs;
    size_t levels;
    size_t room;
    struct stage_tables *stages;    /* by queue */
    struct plan_tables *plans;      /* by application */
    struct configuration *inflated; /* scratch */
};

/* ---- Set-up ---------------------------------------------------------------------------------- */

static size_t level_of(const struct suffix *suffix, double batch)
{
    size_t level = 0;
    while (level + 1 < suffix->levels && batch >= (double)(UINT32_C(2) << level))
        level++;
    return level;
}

static bool stage_start(const struct suffix *suffix, struct arena *arena,
                        struct stage_tables *stage, uint32_t function, struct error *error)
{
    const struct function *spec = &suffix->workload->functions[function];
    stage->function = spec;
    stage->fastest = SIM_FOREVER;
    stage->entries = arena_allocate(arena, spec->configuration_count, sizeof *stage->entries);
    stage->factors = arena_allocate(arena, suffix->inputs.class_count, sizeof *stage->factors);
    bool single = false;
    for (uint32_t k = 0; k < spec->configuration_count; k++) {
        const struct configuration *here = &spec->configurations[k];
        if (here->batch > suffix->settings.max_batch ||
            !planner_cluster_runs(&suffix->workload->cluster, spec, here))
            continue;
        stage->entries[stage->entry_count++] = (struct entry){
            .configuration = k, .batch = here->batch, .level = level_of(suffix, here->batch)};
        single = single || here->batch == 1;
        stage->fastest = here->time < stage->fastest ? here->time : stage->fastest;
    }
    return single ||
           error_input(error,
                       "function \"%s\" has no configuration of batch 1 that any invoker of the "
                       "cluster could run; give it one, or the cluster larger invokers",
                       spec->name);
}

static bool suffix_start(struct suffix *suffix, struct arena *arena, struct error *error)
{
    const struct workload *workload = suffix->workload;
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        const double quantum = (double)application->base_latency / QUANTA;
        suffix->plans[a].quantum = quantum > 1 ? quantum : 1;
        for (uint32_t s = 0; s < application->stage_count; s++)
            if (!stage_start(suffix, arena, &suffix->stages[application->first_queue + s],
                             application->stages[s].function, error))
                return false;
    }
    (void)suffix_refresh(suffix, -1);
    return true;
}

struct suffix *suffix_create(struct arena *arena, const struct workload *workload,
                             const struct suffix_settings *settings,
                             const struct suffix_inputs *inputs, struct error *error)
{
    struct suffix *suffix = arena_allocate(arena, 1, sizeof *suffix);
    *suffix = (struct suffix){.arena = arena,
                              .workload = workload,
                              .settings = *settings,
                              .inputs = *inputs,
                              .levels = 1,
                              .room = 1};
    while (suffix->levels < LEVELS_MOST && (UINT32_C(1) << suffix->levels) <= settings->max_batch)
        suffix->levels++;
    for (size_t f = 0; f < workload->function_count; f++)
        if (workload->functions[f].configuration_count > suffix->room)
            suffix->room = workload->functions[f].configuration_count;
    suffix->stages = arena_allocate(arena, workload->queue_count, sizeof *suffix->stages);
    suffix->plans = arena_allocate(arena, workload->application_count, sizeof *suffix->plans);
    suffix->inflated = arena_allocate(arena, suffix->room, sizeof *suffix->inflated);
    return suffix_start(suffix, arena, error) ? suffix : NULL;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->configuration < b->configuration ? -1 : a->configuration > b->configuration;
}

/* In the order of compare_entries. They were in it before their times moved, mostly by little. */
static void sort_entries(struct entry *entries, size_t count)
{
    size_t moves = 0;
    for (size_t i = 1; i < count && moves <= 8 * count; i++)
        for (size_t at = i; at > 0 && compare_entries(&entries[at - 1], &entries[at]) > 0; at--) {
            const struct entry earlier = entries[at];
            entries[at] = entries[at - 1];
            entries[at - 1] = earlier;
            moves++;
        }
    if (moves > 8 * count)
        qsort(entries, count, sizeof *entries, compare_entries);
}

static const struct risk *risk_of(const struct suffix *suffix, uint32_t function, uint32_t class)
{
    return &suffix->inputs.risks[function * suffix->inputs.class_count + class];
}

static double stage_factor(const struct suffix *suffix, const struct application *application,
                           uint32_t s, uint32_t class)
{
    const struct stage *stage = &application->stages[s];
    const bool last = stage->next_count == 0;
    return risk_factor(risk_of(suffix, stage->function, class),
                       last ? suffix->settings.reserve_last : suffix->settings.reserve);
}

/* GPU units for which a batch stands beside its own: what it costs its neighbours. `mean` is its
 * execution / nominal time. */
static double harm_of(const struct suffix *suffix, const struct configuration *configuration,
                      double mean)
{
    return mean > 1 && kinds_interfere(suffix->workload, configuration->kind)
               ? suffix->settings.harm * (mean - 1) / mean * *suffix->inputs.neighbour
               : 0;
}

/* The part of the cluster that a batch holds, of the resource of which it holds most. `harm` are
 * GPU units that it holds beside its own. */
static double dominant_share(const struct suffix *suffix, const struct configuration *configuration,
                             double container, double harm)
{
    const struct suffix_settings *cluster = &suffix->settings;
    const double units =
        configuration->vgpu * kinds_scale(suffix->workload, configuration->kind) + harm;
    const double gpu = cluster->units > 0 ? units / cluster->units : 0;
    const double vcpu = cluster->vcpus > 0 ? configuration->vcpu / cluster->vcpus : 0;
    const double most = gpu > vcpu ? gpu : vcpu;
    return most > container ? most : container;
}

static sim_time_t whole_quanta(double time, double quantum)
{
    const sim_time_t whole = sim_ceil(ceil(time / quantum) * quantum);
    return whole < SIM_CLOCK_END ? whole : SIM_CLOCK_END;
}

static void stage_inflate(const struct suffix *suffix, struct stage_tables *stage,
                          uint32_t function, double quantum)
{
    stage->fastest_mean = SIM_FOREVER;
    for (size_t i = 0; i < stage->entry_count; i++) {
        struct entry *entry = &stage->entries[i];
        const struct configuration *spec = &stage->function->configurations[entry->configuration];
        const double nominal = (double)spec->time;
        const uint32_t class = risk_class(suffix->workload, spec);
        const double mean = risk_of(suffix, function, class)->mean;
        entry->mean = sim_ceil(nominal * mean + stage->delay);
        entry->time = whole_quanta(nominal * stage->factors[class] + stage->delay, quantum);
        entry->price[OBJECTIVE_COST] = spec->cost_per_job_usd * mean;
        const double each = (double)entry->mean / entry->batch;
        entry->held = dominant_share(suffix, spec, stage->container, 0) * each;
        entry->price[OBJECTIVE_WORK] =
            dominant_share(suffix, spec, stage->container, harm_of(suffix, spec, mean)) * each;
        if (entry->batch == 1 && entry->mean < stage->fastest_mean)
            stage->fastest_mean = entry->mean;
    }
    sort_entries(stage->entries, stage->entry_count);
}

/* A table of the stage's first `count` entries with batches of at most 2^level, as far as a plan
 * can need them: of each level an entry that takes longer and costs as much as another is none of a
 * frontier. */
static void table_fill(struct suffix *suffix, struct stage_tables *stage, enum objective objective,
                       size_t level, size_t count)
{
    size_t within = 0;
    double least = (double)INFINITY;
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &stage->entries[i];
        if (i > 0 && entry->level != entry[-1].level)
            least = (double)INFINITY;
        if (entry->batch > UINT32_C(1) << level || entry->price[objective] >= least)
            continue;
        least = entry->price[objective];
        suffix->inflated[within++] = (struct configuration){.batch = (uint16_t)entry->batch,
                                                            .time = entry->time + stage->ahead,
                                                            .cost_per_job_usd = least};
    }
    search_table_release(suffix->arena, stage->tables[objective][level]);
    stage->tables[objective][level] = search_table_create(suffix->arena, suffix->inflated, within);
}

/* Entries are sorted by level, so those of a level and of all below are a prefix. */
static void stage_tabulate(struct suffix *suffix, struct stage_tables *stage, uint64_t *units)
{
    size_t count = 0;
    for (size_t l = 0; l < suffix->levels; l++) {
        stage->first[l] = count;
        while (count < stage->entry_count && stage->entries[count].level == l)
            count++;
        for (enum objective o = OBJECTIVE_COST; o < OBJECTIVE_COUNT; o++)
            table_fill(suffix, stage, o, l, count);
        *units += OBJECTIVE_COUNT * count;
    }
    for (size_t l = suffix->levels; l <= LEVELS_MOST; l++)
        stage->first[l] = count;
}

/* Least price of the later stages within `left`; INFINITY if nothing is. `*hint` is the result's
 * position, from which the next search, with less time left, starts. */
static double rest_price(const struct frontier *after, sim_time_t left, size_t *hint)
{
    *hint = frontier_reach(after, left, *hint < after->count ? *hint : after->count);
    return *hint > 0 ? after->points[*hint - 1].cost_usd : (double)INFINITY;
}

/* The entry with which the plan of least work within `left` begins; the fastest batch of 1 if there
 * is none. */
static const struct entry *plan_entry(const struct suffix *suffix, uint32_t queue, size_t level,
                                      const struct frontier *after, sim_time_t left)
{
    const struct stage_tables *stage = &suffix->stages[queue];
    const struct entry *best = &stage->entries[0];
    double least = (double)INFINITY;
    for (size_t i = 0; i < stage->first[level + 1]; i++) {
        const struct entry *entry = &stage->entries[i];
        if (entry->batch > UINT32_C(1) << level)
            continue;
        size_t hint = after->count;
        const double price =
            entry->price[OBJECTIVE_WORK] + rest_price(after, left - entry->time, &hint);
        if (price < least) {
            least = price;
            best = entry;
        }
    }
    return best;
}

/* Walks the plan of least work within `budget` and adds up its work. INFINITY if it does not reach
 * the end in time. `stage_work`, if not NULL, receives each stage's. */
static double plan_work(const struct suffix *suffix, uint32_t index, size_t level,
                        sim_time_t budget, double *stage_work)
{
    const struct application *application = &suffix->workload->applications[index];
    const struct plan_tables *plan = &suffix->plans[index];
    sim_time_t finish[WORKLOAD_MAX_STAGES];
    double work = 0;
    bool late = false;
    for (uint32_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        sim_time_t start = 0;
        for (size_t i = 0; i < stage->after_count; i++)
            start = finish[stage->after[i]] > start ? finish[stage->after[i]] : start;
        const struct entry *entry =
            plan_entry(suffix, application->first_queue + s, level,
                       frontier_after(plan->sets[OBJECTIVE_WORK][level], s),
                       budget - start - suffix->stages[application->first_queue + s].ahead);
        finish[s] = start + entry->time + suffix->stages[application->first_queue + s].ahead;
        late = late || finish[s] > budget;
        work += entry->held;
        if (stage_work != NULL)
            stage_work[s] = entry->held;
    }
    return late && stage_work == NULL ? (double)INFINITY : work;
}

static void plan_ways(struct suffix *suffix, const struct application *application)
{
    sim_time_t alone[WORKLOAD_MAX_STAGES];
    sim_time_t rest[WORKLOAD_MAX_STAGES];
    struct stage_tables *stages = &suffix->stages[application->first_queue];
    for (uint32_t s = 0; s < application->stage_count; s++)
        alone[s] = stages[s].fastest_mean;
    slo_rest(application, alone, rest);
    for (uint32_t s = 0; s < application->stage_count; s++)
        stages[s].way = alone[s] + rest[s];
}

static void plan_compose(struct suffix *suffix, uint32_t index, enum objective objective,
                         size_t level, uint64_t *units)
{
    const struct application *application = &suffix->workload->applications[index];
    struct plan_tables *plan = &suffix->plans[index];
    const struct search_table *tables[WORKLOAD_MAX_STAGES];
    for (uint32_t s = 0; s < application->stage_count; s++)
        tables[s] = suffix->stages[application->first_queue + s].tables[objective][level];
    struct frontier_set *set = frontier_build(suffix->arena, application, tables, 0, NULL);
    frontier_release(suffix->arena, plan->sets[objective][level]);
    plan->sets[objective][level] = set;
    for (uint32_t s = 0; s < application->stage_count; s++)
        *units += frontier_after(set, s)->count;
}

static void plan_fill(struct suffix *suffix, uint32_t index, uint64_t *units)
{
    const struct application *application = &suffix->workload->applications[index];
    struct plan_tables *plan = &suffix->plans[index];
    for (uint32_t s = 0; s < application->stage_count; s++) {
        const uint32_t queue = application->first_queue + s;
        struct stage_tables *stage = &suffix->stages[queue];
        for (uint32_t k = 0; k < suffix->inputs.class_count; k++)
            stage->factors[k] = stage_factor(suffix, application, s, k);
        stage->delay = suffix->inputs.delay[queue];
        stage->wait = suffix->inputs.wait[queue];
        stage->ahead = whole_quanta(stage->wait, plan->quantum);
        stage->container = suffix->inputs.container_share[application->stages[s].function];
        stage_inflate(suffix, stage, application->stages[s].function, plan->quantum);
        stage_tabulate(suffix, stage, units);
    }
    plan_ways(suffix, application);
    for (size_t l = 0; l < suffix->levels; l++)
        for (enum objective o = OBJECTIVE_COST; o < OBJECTIVE_COUNT; o++)
            plan_compose(suffix, index, o, l, units);
    double stage_work[WORKLOAD_MAX_STAGES] = {0};
    plan->alone = plan_work(suffix, index, 0, application->slo, stage_work);
    for (uint32_t s = 0; s < application->stage_count; s++) {
        struct stage_tables *stage = &suffix->stages[application->first_queue + s];
        stage->work = stage_work[s];
        *units += stage->first[1];
    }
}

/* Greatest move of a stage's inflated time since the tables were filled, relative to its time. */
static double plan_moved(const struct suffix *suffix, uint32_t index)
{
    const struct application *application = &suffix->workload->applications[index];
    double most = 0;
    for (uint32_t s = 0; s < application->stage_count; s++) {
        const uint32_t queue = application->first_queue + s;
        const struct stage_tables *stage = &suffix->stages[queue];
        const double time = (double)stage->fastest > 0 ? (double)stage->fastest : 1;
        double factor = 0; /* greatest move of a factor */
        for (uint32_t k = 0; k < suffix->inputs.class_count; k++)
            factor =
                fmax(factor, fabs(stage_factor(suffix, application, s, k) - stage->factors[k]));
        const double moved = factor + (fabs(suffix->inputs.delay[queue] - stage->delay) +
                                       fabs(suffix->inputs.wait[queue] - stage->wait)) /
                                          time;
        const double share = suffix->inputs.container_share[application->stages[s].function];
        const double scarcer = share > 0 ? fabs(share - stage->container) / share : 0;
        most = moved > most ? moved : most;
        most = scarcer > most ? scarcer : most;
    }
    return most;
}

uint64_t suffix_refresh(struct suffix *suffix, double change)
{
    uint64_t units = 0;
    for (uint32_t a = 0; a < suffix->workload->application_count; a++)
        if (plan_moved(suffix, a) > change)
            plan_fill(suffix, a, &units);
    return units;
}

/* ---- Decisions ------------------------------------------------------------------------------- */

size_t suffix_options(const struct suffix *suffix, enum objective objective, uint32_t application,
                      uint32_t queue, const sim_time_t *left, uint32_t length,
                      struct option *options, uint64_t *examined)
{
    const struct stage_tables *stage = &suffix->stages[queue];
    const size_t s = queue - suffix->workload->applications[application].first_queue;
    size_t count = 0;
    for (size_t l = 0; l < suffix->levels && UINT32_C(1) << l <= length; l++) {
        const struct frontier *after =
            frontier_after(suffix->plans[application].sets[objective][l], s);
        size_t hint = after->count;
        for (size_t i = stage->first[l]; i < stage->first[l + 1]; i++) {
            const struct entry *entry = &stage->entries[i];
            if (entry->batch > length)
                continue;
            ++*examined;
            /* Larger batches have earlier deadlines, so the hint holds within one batch only. */
            if (l > 0)
                hint = after->count;
            const double rest = rest_price(after, left[entry->batch - 1] - entry->time, &hint);
            if (rest < (double)INFINITY)
                options[count++] = (struct option){entry->configuration, entry->batch, entry->time,
                                                   entry->price[objective] + rest};
            else if (l == 0)
                break; /* all further batches of 1 are slower */
        }
    }
    return count;
}

static struct option option_of(const struct entry *entry, enum objective objective)
{
    return (struct option){entry->configuration, entry->batch, entry->mean,
                           entry->price[objective]};
}

size_t suffix_hurry(const struct suffix *suffix, enum objective objective, uint32_t queue,
                    const sim_time_t *left, uint32_t length, struct option *options)
{
    const struct stage_tables *stage = &suffix->stages[queue];
    const sim_time_t rest = stage->way - stage->fastest_mean;
    size_t count = 0;
    for (size_t i = 0; i < stage->entry_count; i++) {
        const struct entry *entry = &stage->entries[i];
        if (entry->batch <= length && entry->mean + rest <= left[entry->batch - 1])
            options[count++] = option_of(entry, objective);
    }
    return count;
}

size_t suffix_first_steps(const struct suffix *suffix, enum objective objective, uint32_t queue,
                          uint32_t length, struct option *options)
{
    const struct stage_tables *stage = &suffix->stages[queue];
    size_t count = 0;
    for (size_t i = 0; i < stage->entry_count; i++)
        if (stage->entries[i].batch <= length)
            options[count++] = option_of(&stage->entries[i], objective);
    return count;
}

sim_time_t suffix_quantum(const struct suffix *suffix, uint32_t application)
{
    return sim_ceil(suffix->plans[application].quantum);
}

size_t suffix_room(const struct suffix *suffix)
{
    return suffix->room;
}

sim_time_t suffix_way(const struct suffix *suffix, uint32_t queue)
{
    return suffix->stages[queue].way;
}

double suffix_request_work(const struct suffix *suffix, uint32_t index, double interval,
                           uint64_t *examined)
{
    const struct application *application = &suffix->workload->applications[index];
    const sim_time_t slo = application->slo;
    double least = suffix->plans[index].alone;
    for (size_t l = 1; l < suffix->levels; l++) {
        const double wait = (double)((UINT32_C(1) << l) - 1) * interval;
        if (wait >= (double)slo)
            break;
        const double work = plan_work(suffix, index, l, slo - (sim_time_t)wait, NULL);
        for (uint32_t s = 0; s < application->stage_count; s++)
            *examined += suffix->stages[application->first_queue + s].first[l + 1];
        least = work < least ? work : least;
    }
    return least;
}

double suffix_stage_work(const struct suffix *suffix, uint32_t queue)
{
    return suffix->stages[queue].work;
}
