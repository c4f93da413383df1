#include "sched/gpulet/plan_internal.h"

#include <math.h>
#include <stdlib.h>

static const double served_least = 0.85;
static const double residual_tolerance = 1.05;

struct maker {
    const struct gpulet_world *world;
    struct gpulet_plan *plan;
    bool *refused; /* by place: refused for the gpu-let that is being placed */
};

/* ---- Interference ---------------------------------------------------------------------------- */

/* Adjusts a saturated gpu-let to a new neighbour: the batch shrinks until 2 L <= SLO. */
static bool adjust_saturated(const struct gpulet_world *world, struct gpulet_gpu *gpu, size_t which)
{
    struct gpulet *let = &gpu->lets[which];
    struct gpulet_share *share = &let->shares[0];
    const size_t part = gpulet_part(world, let->units);
    const uint32_t batch = gpulet_most_batch(
        world, share->task, part, gpulet_slowdown(world, gpu, which, share->task), true, 0);
    if (batch == 0)
        return false;
    share->batch = batch < share->batch ? batch : share->batch;
    let->duty = gpulet_latency(world, gpu, which, share->task, share->batch);
    share->rate = share->batch / let->duty * (double)SIM_S;
    return true;
}

static double work_of(const struct gpulet_world *world, const struct gpulet_gpu *gpu, size_t which)
{
    const struct gpulet *let = &gpu->lets[which];
    double sum = 0;
    for (size_t i = 0; i < let->count; i++)
        sum += gpulet_latency(world, gpu, which, let->shares[i].task, let->shares[i].batch);
    return sum;
}

static uint32_t batch_below(const struct gpulet_world *world, uint32_t task, size_t part,
                            uint32_t batch)
{
    const struct batch_latency *latency_table = &world->tasks[task].latency_tables[part];
    uint32_t below = 0;
    for (size_t i = 0; i < latency_table->count && latency_table->batch[i] < batch; i++)
        below = latency_table->batch[i];
    return below;
}

/* Adjusts a residual gpu-let. If all its batches and a duty cycle exceed an SLO by more than 5 %,
 * batches and duty cycle shrink. */
static bool adjust_residual(const struct gpulet_world *world, struct gpulet_gpu *gpu, size_t which)
{
    struct gpulet *let = &gpu->lets[which];
    const size_t part = gpulet_part(world, let->units);
    const double work = work_of(world, gpu, which);
    bool good = work <= let->duty * GPULET_ROUNDING;
    for (size_t i = 0; i < let->count; i++)
        good = good && work + let->duty <=
                           (double)world->tasks[let->shares[i].task].slo * residual_tolerance;
    if (good) {
        let->occupancy = let->count > 0 ? work / let->duty : 0;
        return true;
    }
    double least = let->duty;
    for (size_t i = 0; i < let->count; i++) {
        struct gpulet_share *share = &let->shares[i];
        const double slo = (double)world->tasks[share->task].slo;
        double own = gpulet_latency(world, gpu, which, share->task, share->batch);
        const double others = work - own;
        const uint32_t before = share->batch;
        double duty = let->duty;
        while (others + own + duty > slo) {
            share->batch = batch_below(world, share->task, part, share->batch);
            if (share->batch == 0)
                return false;
            own = gpulet_latency(world, gpu, which, share->task, share->batch);
            duty = let->duty * share->batch / before;
        }
        least = duty < least ? duty : least;
    }
    let->duty = least;
    for (size_t i = 0; i < let->count; i++)
        let->shares[i].rate = let->shares[i].batch / least * (double)SIM_S;
    let->occupancy = work_of(world, gpu, which) / least;
    return let->occupancy <= GPULET_ROUNDING;
}

static bool adjust(const struct gpulet_world *world, struct gpulet_gpu *gpu)
{
    for (size_t i = 0; i < GPULETS_PER_GPU; i++) {
        if (gpu->lets[i].count == 0)
            continue;
        if (!(gpu->lets[i].saturated ? adjust_saturated(world, gpu, i)
                                     : adjust_residual(world, gpu, i)))
            return false;
    }
    return true;
}

/* ---- Placement ------------------------------------------------------------------------------- */

static struct gpulet *let_at(const struct maker *maker, size_t place)
{
    return &maker->plan->gpus[place / GPULETS_PER_GPU].lets[place % GPULETS_PER_GPU];
}

/* Number of places. All may be tried again. */
static size_t places_open(struct maker *maker)
{
    const size_t places = maker->world->gpu_count * GPULETS_PER_GPU;
    for (size_t i = 0; i < places; i++)
        maker->refused[i] = false;
    return places;
}

static double served(const struct maker *maker, uint32_t task)
{
    double rate = 0;
    for (size_t i = 0; i < maker->world->gpu_count * GPULETS_PER_GPU; i++) {
        const struct gpulet *let = let_at(maker, i);
        for (size_t s = 0; s < let->count; s++)
            rate += let->shares[s].task == task ? let->shares[s].rate : 0;
    }
    return rate;
}

static uint16_t whole(const struct gpulet_world *world)
{
    return world->parts[world->part_count - 1];
}

/* Puts the wish on the empty gpu-let `which` of `gpu`, a copy used for the trial. False if this
 * breaks an SLO. `refit`: the gpu-let's size is not the one wished, so that the batch is chosen
 * again. */
static bool occupy(const struct gpulet_world *world, struct gpulet_gpu *gpu, size_t which,
                   const struct gpulet_wish *wish, bool refit)
{
    struct gpulet *let = &gpu->lets[which];
    const double slo = (double)world->tasks[wish->task].slo;
    const size_t part = gpulet_part(world, let->units);
    uint32_t batch = wish->batch;
    double duty = wish->duty;
    if (refit) {
        const double slowdown = gpulet_slowdown(world, gpu, which, wish->task);
        batch = gpulet_most_batch(world, wish->task, part, slowdown, wish->saturated, wish->rate);
        duty = batch / wish->rate * (double)SIM_S;
        if (batch == 0 && !wish->saturated) {
            batch = wish->batch;
            duty = wish->duty;
        }
        if (batch == 0)
            return false;
    }
    const double time = gpulet_latency(world, gpu, which, wish->task, batch);
    duty = wish->saturated || duty < time ? time : duty;
    if (time + duty > slo * (wish->saturated ? GPULET_ROUNDING : residual_tolerance))
        return false;
    let->saturated = wish->saturated;
    let->duty = duty;
    let->occupancy = let->saturated ? 1 : time / duty;
    let->count = 1;
    let->shares[0] = (struct gpulet_share){wish->task, batch, batch / duty * (double)SIM_S};
    return adjust(world, gpu);
}

/* Tries the wish at a place. On failure the GPU is unchanged. */
static bool place_try(struct maker *maker, size_t gpu, size_t which, const struct gpulet_wish *wish)
{
    const struct gpulet_world *world = maker->world;
    struct gpulet_gpu trial = maker->plan->gpus[gpu];
    const uint16_t size = world->parts[wish->part];
    maker->plan->work++;
    if (trial.lets[which].units == whole(world) && size < whole(world)) {
        trial.lets[which].units = size;
        trial.lets[1 - which] = (struct gpulet){.units = (uint16_t)(whole(world) - size)};
    }
    const bool refit = trial.lets[which].units != size;
    if (!occupy(world, &trial, which, wish, refit))
        return false;
    maker->plan->gpus[gpu] = trial;
    return true;
}

/* Misfit of a place: 0 for an exact fit, 1 for a whole GPU to be split, else 1 + the excess units;
 * -1 if the wish does not fit. */
static int misfit(const struct maker *maker, size_t gpu, size_t which,
                  const struct gpulet_wish *wish)
{
    const struct gpulet *let = &maker->plan->gpus[gpu].lets[which];
    const uint16_t size = maker->world->parts[wish->part];
    if (let->units < size || let->units == 0 || let->count > 0 ||
        maker->refused[gpu * GPULETS_PER_GPU + which])
        return -1;
    if (let->units == size)
        return 0;
    return let->units == whole(maker->world) ? 1 : 1 + let->units - size;
}

static bool wish_place(struct maker *maker, const struct gpulet_wish *wish)
{
    const size_t places = places_open(maker);
    for (;;) {
        size_t best = places;
        int least = -1;
        for (size_t i = 0; i < places && least != 0; i++) {
            const int fit = misfit(maker, i / GPULETS_PER_GPU, i % GPULETS_PER_GPU, wish);
            if (fit >= 0 && (least < 0 || fit < least)) {
                least = fit;
                best = i;
            }
        }
        maker->plan->work += places;
        if (best == places)
            return false;
        if (place_try(maker, best / GPULETS_PER_GPU, best % GPULETS_PER_GPU, wish))
            return true;
        maker->refused[best] = true;
    }
}

/* Ties go to the wish made first, whose unserved rate is larger. */
static int compare_wishes(const void *left, const void *right)
{
    const struct gpulet_wish *a = left;
    const struct gpulet_wish *b = right;
    if (a->part != b->part)
        return a->part > b->part ? -1 : 1;
    if (a->saturated != b->saturated)
        return a->saturated ? -1 : 1;
    return (a->rate < b->rate) - (a->rate > b->rate);
}

/* Places all gpu-lets that the task requests by best fit, the largest first. */
static bool task_place(struct maker *maker, uint32_t task)
{
    enum { WISHES = 256 };
    const struct gpulet_world *world = maker->world;
    struct gpulet_wish wishes[WISHES] = {0};
    size_t count = 0;
    double rate = world->tasks[task].rate;
    while (count < WISHES && rate > world->slack) {
        if (!gpulet_wish_next(world, task, rate, &wishes[count]))
            break;
        rate -= wishes[count].batch / wishes[count].duty * (double)SIM_S;
        count++;
    }
    qsort(wishes, count, sizeof *wishes, compare_wishes);
    for (size_t i = 0; i < count; i++)
        if (!wish_place(maker, &wishes[i]))
            return false;
    return true;
}

/* ---- Gpu-lets without a place ---------------------------------------------------------------- */

/* The largest empty gpu-let that is not refused; false if there is none. */
static bool largest_empty(const struct maker *maker, size_t *place)
{
    uint16_t most = 0;
    for (size_t i = 0; i < maker->world->gpu_count * GPULETS_PER_GPU; i++) {
        const struct gpulet *let = let_at(maker, i);
        if (let->count == 0 && let->units > most && !maker->refused[i]) {
            most = let->units;
            *place = i;
        }
    }
    return most > 0;
}

/* Uses the free sizes, the largest first: saturated while the rate suffices, then residual. */
static void task_readjust(struct maker *maker, uint32_t task)
{
    const struct gpulet_world *world = maker->world;
    const size_t places = places_open(maker);
    size_t place = 0;
    for (double rate = world->tasks[task].rate - served(maker, task);
         rate > world->slack && largest_empty(maker, &place);
         rate = world->tasks[task].rate - served(maker, task)) {
        const size_t gpu = place / GPULETS_PER_GPU;
        const size_t which = place % GPULETS_PER_GPU;
        const uint16_t units = maker->plan->gpus[gpu].lets[which].units;
        struct gpulet_wish wish;
        maker->plan->work += places;
        maker->refused[place] = true;
        if (!gpulet_wish_next(world, task, rate, &wish))
            return;
        if (units < whole(world)) {
            /* A partition is used at its full size. */
            bool feasible;
            wish.part = gpulet_part(world, units);
            if (wish.part == world->part_count)
                continue;
            wish.saturated =
                rate > gpulet_saturation(world, task, wish.part, &wish.batch, &feasible);
            wish.duty = wish.batch / rate * (double)SIM_S;
            const uint32_t batch =
                gpulet_most_batch(world, task, wish.part, 1, wish.saturated, rate);
            if (batch == 0)
                continue;
            wish.batch = batch;
            wish.duty = batch / rate * (double)SIM_S;
        }
        (void)place_try(maker, gpu, which, &wish);
    }
}

/* Merges all residual gpu-lets of the task into one, if one can serve them. */
static void task_merge(struct maker *maker, uint32_t task)
{
    const struct gpulet_world *world = maker->world;
    double rate = world->tasks[task].rate - served(maker, task);
    size_t found[64];
    size_t count = 0;
    uint16_t units = 0;
    double least = (double)INFINITY;
    for (size_t i = 0; i < world->gpu_count * GPULETS_PER_GPU && count < 64; i++) {
        const struct gpulet *let = let_at(maker, i);
        if (let->count != 1 || let->saturated || let->shares[0].task != task)
            continue;
        uint32_t batch;
        bool feasible;
        const double most =
            gpulet_saturation(world, task, gpulet_part(world, let->units), &batch, &feasible);
        found[count++] = i;
        rate += let->shares[0].rate;
        if (most < least) {
            least = most;
            units = let->units;
        }
    }
    if (count == 0 || (count == 1 && rate <= least && rate <= world->slack) || least < rate)
        return;
    for (size_t f = 0; f < count; f++) {
        struct gpulet_gpu *gpu = &maker->plan->gpus[found[f] / GPULETS_PER_GPU];
        const size_t which = found[f] % GPULETS_PER_GPU;
        if (gpu->lets[which].units != units)
            continue;
        struct gpulet_gpu kept = *gpu;
        struct gpulet_wish wish = {.task = task, .part = gpulet_part(world, units), .rate = rate};
        wish.batch = gpulet_most_batch(world, task, wish.part, 1, false, rate);
        wish.duty = wish.batch / rate * (double)SIM_S;
        gpu->lets[which] = (struct gpulet){.units = units};
        if (wish.batch == 0 || !occupy(world, gpu, which, &wish, false)) {
            *gpu = kept;
            continue;
        }
        for (size_t other = 0; other < count; other++)
            if (other != f) {
                struct gpulet *let = let_at(maker, found[other]);
                *let = (struct gpulet){.units = let->units};
            }
        return;
    }
}

/* Makes a GPU whole again if both its gpu-lets are empty. */
static void gpus_rejoin(struct maker *maker)
{
    for (size_t g = 0; g < maker->world->gpu_count; g++) {
        struct gpulet_gpu *gpu = &maker->plan->gpus[g];
        if (gpu->lets[0].count == 0 && gpu->lets[1].count == 0)
            *gpu = (struct gpulet_gpu){.lets = {{.units = whole(maker->world)}}};
    }
}

static bool contains(const struct gpulet *let, uint32_t task)
{
    for (size_t i = 0; i < let->count; i++)
        if (let->shares[i].task == task)
            return true;
    return false;
}

/* Adjusts the batches of the other tasks to a duty cycle; false if one would exceed the largest
 * batch. */
static bool others_follow(const struct gpulet_world *world, struct gpulet *let, double duty)
{
    const size_t part = gpulet_part(world, let->units);
    for (size_t i = 0; i < let->count; i++) {
        struct gpulet_share *share = &let->shares[i];
        const struct batch_latency *latency_table = &world->tasks[share->task].latency_tables[part];
        const double jobs = ceil(share->rate * duty / (double)SIM_S - 1e-6);
        const size_t step = batch_latency_step(latency_table, jobs > 1 ? (uint32_t)jobs : 1);
        if (step == latency_table->count)
            return false;
        share->batch = latency_table->batch[step];
    }
    return true;
}

static double least_slo(const struct gpulet_world *world, const struct gpulet *let)
{
    double least = (double)INFINITY;
    for (size_t i = 0; i < let->count; i++)
        least = fmin(least, (double)world->tasks[let->shares[i].task].slo);
    return least;
}

/* Adds a batch of the task to a gpu-let in use. The duty cycle becomes the time in which the batch
 * is gathered. A `slot` is for a task that gathers less than one job per duty cycle; it uses the
 * longest duty cycle that keeps all tasks in time. */
static bool share_batch(const struct gpulet_world *world, struct gpulet_gpu *gpu, size_t which,
                        struct gpulet_share share, double duty, bool slot)
{
    struct gpulet_gpu trial = *gpu;
    struct gpulet *let = &trial.lets[which];
    if (!others_follow(world, let, duty))
        return false;
    let->shares[let->count++] = share;
    const double work = work_of(world, &trial, which);
    const double most = least_slo(world, let) - work;
    let->duty = slot && most < duty ? most : duty;
    if (let->duty > most || work > let->duty)
        return false;
    let->occupancy = work / let->duty;
    for (size_t i = 0; i < let->count; i++)
        let->shares[i].rate = let->shares[i].batch / let->duty * (double)SIM_S;
    if (!adjust(world, &trial))
        return false;
    *gpu = trial;
    return true;
}

/* Finds the task's largest batch in the time that the other tasks leave on a gpu-let. */
static bool share_time(const struct gpulet_world *world, struct gpulet_gpu *gpu, size_t which,
                       uint32_t task, double rate)
{
    const struct gpulet *let = &gpu->lets[which];
    const struct batch_latency *latency_table =
        &world->tasks[task].latency_tables[gpulet_part(world, let->units)];
    for (size_t step = latency_table->count; step-- > 0;) {
        const uint32_t batch = latency_table->batch[step];
        const double gather = batch / rate * (double)SIM_S;
        const bool slot = batch == 1 && gather > let->duty;
        if (!slot && gather > let->duty)
            continue;
        const struct gpulet_share share = {.task = task, .batch = batch};
        if (share_batch(world, gpu, which, share, slot ? let->duty : gather, slot))
            return true;
    }
    return false;
}

/* Shares gpu-lets of other tasks that have time left, the fullest first. */
static void task_share_time(struct maker *maker, uint32_t task)
{
    const struct gpulet_world *world = maker->world;
    const size_t places = places_open(maker);
    for (;;) {
        const double rate = world->tasks[task].rate - served(maker, task);
        size_t best = places;
        double most = -1;
        if (rate <= world->slack)
            return;
        for (size_t i = 0; i < places; i++) {
            const struct gpulet *let = let_at(maker, i);
            if (maker->refused[i] || let->count == 0 || let->count == GPULET_TASKS ||
                let->saturated || let->occupancy >= 1 || let->occupancy <= most ||
                contains(let, task))
                continue;
            most = let->occupancy;
            best = i;
        }
        maker->plan->work += places;
        if (best == places)
            return;
        maker->refused[best] = true;
        (void)share_time(world, &maker->plan->gpus[best / GPULETS_PER_GPU], best % GPULETS_PER_GPU,
                         task, rate);
    }
}

static void task_remainder(struct maker *maker, uint32_t task)
{
    task_readjust(maker, task);
    task_merge(maker, task);
    gpus_rejoin(maker);
    task_share_time(maker, task);
}

/* ---- The plan -------------------------------------------------------------------------------- */

static void task_remove(struct maker *maker, uint32_t task)
{
    for (size_t g = 0; g < maker->world->gpu_count; g++) {
        struct gpulet_gpu *gpu = &maker->plan->gpus[g];
        for (size_t i = 0; i < GPULETS_PER_GPU; i++) {
            struct gpulet *let = &gpu->lets[i];
            size_t kept = 0;
            for (size_t s = 0; s < let->count; s++)
                if (let->shares[s].task != task)
                    let->shares[kept++] = let->shares[s];
            const bool changed = kept < let->count;
            let->count = kept;
            if (kept == 0)
                *let = (struct gpulet){.units = let->units};
            else if (changed)
                let->occupancy = work_of(maker->world, gpu, i) / let->duty;
        }
    }
    gpus_rejoin(maker);
}

struct order {
    double key;
    uint32_t task;
};

static int compare_order(const void *left, const void *right)
{
    const struct order *a = left;
    const struct order *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->task > b->task ? -1 : a->task < b->task;
}

static bool wanted(const struct gpulet_world *world, uint32_t task)
{
    return world->tasks[task].rate > world->slack &&
           gpulet_first_feasible(world, task) < world->part_count;
}

static void plan_fill(struct maker *maker, struct order *orders)
{
    const struct gpulet_world *world = maker->world;
    for (uint32_t t = 0; t < world->task_count; t++)
        orders[t] = (struct order){world->tasks[t].rate * (double)world->tasks[t].slo, t};
    qsort(orders, world->task_count, sizeof *orders, compare_order);
    for (size_t i = 0; i < world->task_count; i++) {
        const uint32_t task = orders[i].task;
        if (!wanted(world, task))
            continue;
        if (!task_place(maker, task) ||
            world->tasks[task].rate - served(maker, task) > world->slack)
            task_remainder(maker, task);
    }
    maker->plan->complete = true;
    for (size_t i = 0; i < world->task_count; i++) {
        const uint32_t task = orders[i].task;
        if (wanted(world, task) && served(maker, task) < served_least * world->tasks[task].rate) {
            task_remove(maker, task);
            task_remainder(maker, task);
        }
    }
    for (uint32_t t = 0; t < world->task_count; t++) {
        maker->plan->served[t] = served(maker, t);
        if (wanted(world, t) && maker->plan->served[t] < served_least * world->tasks[t].rate)
            maker->plan->complete = false;
    }
}

void gpulet_make(const struct gpulet_world *world, struct arena *arena, struct gpulet_plan *plan)
{
    *plan = (struct gpulet_plan){
        .gpus = arena_allocate(arena, world->gpu_count, sizeof *plan->gpus),
        .served = arena_allocate(arena, world->task_count, sizeof *plan->served)};
    struct order *orders = arena_allocate(arena, world->task_count, sizeof *orders);
    struct maker maker = {
        world, plan,
        arena_allocate(arena, world->gpu_count * GPULETS_PER_GPU, sizeof *maker.refused)};
    gpus_rejoin(&maker);
    plan_fill(&maker, orders);
    arena_release(arena, orders);
    arena_release(arena, maker.refused);
}

void gpulet_clear(struct gpulet_plan *plan, struct arena *arena)
{
    arena_release(arena, plan->gpus);
    arena_release(arena, plan->served);
    *plan = (struct gpulet_plan){0};
}
