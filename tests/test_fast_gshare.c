/* FaST-GShare: rectangles, picks and rates against brute force; the policy against what the
 * platform holds. */

#include "sched/fast_gshare/fast_gshare_internal.h"
#include "sched/policy_instances.h"
#include "tests/suite.h"
#include "tests/token_model.h"
#include "sched/registry.h"
#include "tests/worlds.h"

OWNER(tokens_destroy, struct tokens)

enum { SIDE = 8, SEQUENCES = 1200, STEPS = 14, WORLDS = 30 };
enum { QUOTAS = 5, PODS_MAX = 12 };

static const uint32_t quotas[QUOTAS] = {20, 40, 60, 80, 100};

static gsl_rng *stream_of(struct random_stream *stream, uint64_t number, uint32_t what)
{
    random_stream_open(stream, 2023, RANDOM_TEST, number, what);
    return &stream->rng;
}

static uint32_t pick(gsl_rng *rng, uint32_t count)
{
    return (uint32_t)gsl_rng_uniform_int(rng, count);
}

/* ---- Maximal rectangles ---------------------------------------------------------------------- */

struct grid {
    uint32_t width, height;
    bool taken[SIDE][SIDE];
};

static bool grid_empty(const struct grid *grid, uint32_t x, uint32_t y, uint32_t w, uint32_t h)
{
    for (uint32_t j = y; j < y + h; j++)
        for (uint32_t i = x; i < x + w; i++)
            if (grid->taken[j][i])
                return false;
    return true;
}

/* Empty, and grows in no direction. */
static bool grid_maximal(const struct grid *grid, uint32_t x, uint32_t y, uint32_t w, uint32_t h)
{
    return grid_empty(grid, x, y, w, h) && !(x > 0 && grid_empty(grid, x - 1, y, 1, h)) &&
           !(x + w < grid->width && grid_empty(grid, x + w, y, 1, h)) &&
           !(y > 0 && grid_empty(grid, x, y - 1, w, 1)) &&
           !(y + h < grid->height && grid_empty(grid, x, y + h, w, 1));
}

static bool listed(const struct rectangles *plane, struct rectangle one)
{
    for (size_t i = 0; i < plane->free_count; i++)
        if (memcmp(&plane->free[i], &one, sizeof one) == 0)
            return true;
    return false;
}

/* The list holds every maximal empty rectangle of the grid, and nothing else. */
static void check_list(const struct rectangles *plane, const struct grid *grid)
{
    size_t count = 0;
    for (uint32_t y = 0; y < grid->height; y++)
        for (uint32_t x = 0; x < grid->width; x++)
            for (uint32_t w = 1; x + w <= grid->width; w++)
                for (uint32_t h = 1; y + h <= grid->height && !grid->taken[y + h - 1][x]; h++)
                    if (grid_maximal(grid, x, y, w, h)) {
                        assert_true(listed(plane, (struct rectangle){x, y, w, h}));
                        count++;
                    }
    assert_int_equal(plane->free_count, count);
}

/* What is found fits the tightest of the list, by its rule; nothing is found where the grid has no
 * room either. */
static void check_fit(const struct rectangles *plane, const struct grid *grid, uint32_t w,
                      uint32_t h, enum rectangle_rule rule, bool found,
                      const struct rectangle_fit *fit)
{
    bool room = false;
    for (uint32_t y = 0; y + h <= grid->height; y++)
        for (uint32_t x = 0; x + w <= grid->width; x++)
            room = room || grid_empty(grid, x, y, w, h);
    assert_int_equal(found, room);
    if (!found)
        return;
    assert_true(grid_empty(grid, fit->place.x, fit->place.y, w, h));
    assert_int_equal(fit->place.width, w);
    assert_int_equal(fit->place.height, h);
    for (size_t i = 0; i < plane->free_count; i++) {
        const struct rectangle *free = &plane->free[i];
        if (free->width < w || free->height < h)
            continue;
        const uint32_t dx = free->width - w;
        const uint32_t dy = free->height - h;
        assert_true(fit->leftover <= (rule == RECTANGLE_BEST_AREA
                                          ? (uint64_t)free->width * free->height - (uint64_t)w * h
                                          : (dx < dy ? dx : dy)));
    }
}

static void grid_set(struct grid *grid, struct rectangle place, bool taken)
{
    for (uint32_t y = place.y; y < place.y + place.height; y++)
        for (uint32_t x = place.x; x < place.x + place.width; x++) {
            assert_true(x < grid->width && y < grid->height);
            assert_int_equal(grid->taken[y][x], !taken); /* no overlap */
            grid->taken[y][x] = taken;
        }
}

/* One random place or remove; returns 1 where a rectangle was removed. */
static uint32_t random_step(struct rectangles *plane, struct grid *grid, gsl_rng *rng,
                            uint32_t owner)
{
    if (plane->used_count > 0 && pick(rng, 3) == 0) {
        const struct rectangle_owned gone = plane->used[pick(rng, (uint32_t)plane->used_count)];
        assert_true(rectangles_remove(plane, gone.owner));
        assert_false(rectangles_remove(plane, gone.owner));
        grid_set(grid, gone.place, false);
        return 1;
    }
    const uint32_t w = 1 + pick(rng, grid->width);
    const uint32_t h = 1 + pick(rng, grid->height);
    const enum rectangle_rule rule =
        pick(rng, 2) == 0 ? RECTANGLE_BEST_AREA : RECTANGLE_BEST_SHORT_SIDE;
    struct rectangle_fit fit = {0};
    const bool found = rectangles_find(plane, w, h, rule, &fit);
    check_fit(plane, grid, w, h, rule, found, &fit);
    if (found) {
        assert_true(rectangles_place(plane, fit.place, owner));
        const struct rectangle_owned *last = &plane->used[plane->used_count - 1];
        assert_int_equal(last->owner, owner);
        assert_memory_equal(&last->place, &fit.place, sizeof fit.place);
        assert_false(rectangles_place(plane, fit.place, owner + 1000));
        grid_set(grid, fit.place, true);
    }
    return 0;
}

CASE(the_free_list_is_that_of_brute_force_on_random_sequences)
{
    uint32_t removed = 0;
    for (uint64_t s = 0; s < trials(SEQUENCES); s++) {
        struct random_stream stream;
        gsl_rng *rng = stream_of(&stream, s, 1);
        struct grid grid = {.width = 3 + pick(rng, SIDE - 2), .height = 2 + pick(rng, SIDE - 1)};
        CLOSED(arena_clear) struct arena arena = {0};
        struct rectangles plane;
        rectangles_init(&plane, &arena, grid.width, grid.height);
        for (uint32_t step = 0; step < STEPS; step++) {
            removed += random_step(&plane, &grid, rng, step);
            check_list(&plane, &grid);
            uint64_t area = 0;
            for (uint32_t y = 0; y < grid.height; y++)
                for (uint32_t x = 0; x < grid.width; x++)
                    area += grid.taken[y][x];
            for (size_t i = 0; i < plane.used_count; i++)
                area -= (uint64_t)plane.used[i].place.width * plane.used[i].place.height;
            assert_int_equal(area, 0);
        }
    }
    assert_true(removed > trials(SEQUENCES));
}

/* The plane of a GPU by hand: 60 % × 4 units of 100 % × 7 leave the strip right of it and that
 * above it; 40 × 3 goes to the smaller of the two that it fits, 280 against 300, 100 × 3 fits one
 * only. */
CASE(a_pod_goes_to_the_rectangle_that_it_fills_best)
{
    struct rectangles plane;
    struct rectangle_fit fit = {0};
    rectangles_init(&plane, suite_arena(), 100, 7);
    assert_true(rectangles_place(&plane, (struct rectangle){0, 0, 60, 4}, 1));
    assert_int_equal(plane.free_count, 2);
    assert_true(rectangles_find(&plane, 40, 3, RECTANGLE_BEST_AREA, &fit));
    assert_memory_equal(&fit.place, (&(struct rectangle){60, 0, 40, 3}), sizeof fit.place);
    assert_int_equal(fit.leftover, 280 - 120);
    assert_true(rectangles_find(&plane, 100, 3, RECTANGLE_BEST_AREA, &fit));
    assert_memory_equal(&fit.place, (&(struct rectangle){0, 4, 100, 3}), sizeof fit.place);
    assert_int_equal(fit.leftover, 0);
    assert_false(rectangles_find(&plane, 60, 4, RECTANGLE_BEST_AREA, &fit));
    assert_true(rectangles_remove(&plane, 1));
    assert_int_equal(plane.free_count, 1);
}

/* ---- The scaler ------------------------------------------------------------------------------ */

struct candidate {
    double throughput, area, time;
    bool feasible;
};

/* All points of a function once more, by the header of the scaler: MPS, units 4 an invoker. */
static size_t candidates_of(const struct workload *workload, const struct planner *planner,
                            uint32_t f, double budget, uint32_t max_batch,
                            struct candidate *candidates)
{
    const struct function *function = &workload->functions[f];
    const double vcpus = workload->cluster.groups[0].vcpus;
    size_t count = 0;
    for (uint32_t b = 1; b <= max_batch; b++)
        for (uint32_t g = 1; g <= 4; g++)
            for (size_t q = 0; q < QUOTAS; q++) {
                const struct configuration *best = NULL;
                const double target = vcpus * g / 4 * quotas[q] / 100;
                for (uint32_t i = 0; i < function->configuration_count; i++) {
                    const struct configuration *here = &function->configurations[i];
                    if (here->batch == b && here->vgpu == g && planner_runs(planner, f, i) &&
                        (best == NULL || fabs(here->vcpu - target) < fabs(best->vcpu - target)))
                        best = here;
                }
                if (best == NULL)
                    continue;
                const double time = ceil((double)best->time * 100 / quotas[q]);
                const double held = time + function->gpus[0].turnaround_ms * 1e6;
                candidates[count++] =
                    (struct candidate){b / held * 1e9, g * quotas[q] / 100.0, time,
                                       time <= (b == 1 ? budget : budget / 2)};
            }
    return count;
}

static void check_picks(const struct scaler_points *points, const struct candidate *all,
                        size_t count, enum scaler_ties ties, gsl_rng *rng)
{
    double most_rpr = 0;
    double fastest = INFINITY;
    size_t feasible = 0;
    for (size_t i = 0; i < count; i++) {
        fastest = fmin(fastest, all[i].time);
        feasible += all[i].feasible;
        if (all[i].feasible)
            most_rpr = fmax(most_rpr, all[i].throughput / all[i].area);
    }
    assert_int_equal(points->count, count);
    assert_int_equal(points->feasible, feasible);
    const struct scaler_point *best = scaler_best(points);
    if (feasible == 0)
        assert_true((double)best->time <= fastest);
    else
        assert_true(fabs(best->rpr - most_rpr) <= 1e-7 * most_rpr && best->feasible);
    /* Of the points of equal RPR it has the greatest throughput, or the smallest area. */
    for (size_t i = 0; feasible > 0 && i < count; i++) {
        if (!all[i].feasible || all[i].throughput / all[i].area < most_rpr * (1 - 1e-7))
            continue;
        if (ties == SCALER_TIES_AREA)
            assert_true(best->area <= all[i].area * (1 + 1e-7));
        else
            assert_true(best->throughput >= all[i].throughput * (1 - 1e-7));
    }
    for (int k = 0; feasible > 0 && k < 20; k++) {
        const double rate = best->throughput * 3 * gsl_rng_uniform_pos(rng);
        const struct scaler_growth growth = scaler_grow(points, rate);
        const double rest = rate - (double)growth.count * best->throughput;
        assert_true(rest >= 0 && rest < best->throughput * (1 + 1e-12));
        if (rest <= 0)
            continue;
        double least = INFINITY;
        double most = 0;
        for (size_t i = 0; i < count; i++)
            if (all[i].feasible && all[i].throughput >= rest)
                least = fmin(least, all[i].area);
        for (size_t i = 0; i < count; i++)
            if (all[i].feasible && all[i].throughput >= rest && all[i].area <= least)
                most = fmax(most, all[i].throughput);
        assert_true(growth.residual != SCALER_NONE);
        const struct scaler_point *residual = &points->points[growth.residual];
        assert_true(residual->throughput >= rest);
        assert_true(fabs(residual->area - least) <= 1e-9 * least);
        assert_true(fabs(residual->throughput - most) <= 1e-9 * most);
    }
}

CASE(the_scaler_picks_what_exhaustive_search_picks)
{
    size_t feasible = 0;
    size_t infeasible = 0;
    for (uint64_t world = 0; world < WORLDS; world++) {
        struct random_stream stream;
        gsl_rng *rng = stream_of(&stream, world, 2);
        char *json = world_random(world, true);
        if (world % 3 == 0)
            world_replace(json, "'bandwidth_share':0.4", "'bandwidth_share':0.4,'turnaround_ms':7");
        EXPERIMENT *experiment = load(json);
        const struct workload *workload = &experiment->workload;
        const uint32_t max_batch = 1 + pick(rng, 4);
        CLOSED(arena_clear) struct arena arena = {0};
        struct planner *planner =
            must(planner_create(&arena, workload, max_batch, PLANNER_PROPORTIONAL, hear()));
        for (uint32_t f = 0; f < workload->function_count; f++) {
            const sim_time_t budget = (sim_time_t)(gsl_rng_uniform(rng) * 150e6);
            struct candidate candidates[4 * 4 * QUOTAS];
            const enum scaler_ties ties = (enum scaler_ties)(world % 2);
            struct scaler_points points;
            scaler_points_fill(&points, &arena, workload, planner, f, budget, 1, max_batch, quotas,
                               QUOTAS, ties);
            const size_t count =
                candidates_of(workload, planner, f, (double)budget, max_batch, candidates);
            check_picks(&points, candidates, count, ties, rng);
            feasible += points.feasible > 0;
            infeasible += points.feasible == 0;
        }
    }
    assert_true(feasible > WORLDS / 2 && infeasible > 0);
}

CASE(nothing_is_scaled_within_a_fifth_of_the_capacity)
{
    assert_int_equal(scaler_direction(120, 100, 0.2), 0);
    assert_int_equal(scaler_direction(120.001, 100, 0.2), 1);
    assert_int_equal(scaler_direction(80, 100, 0.2), 0);
    assert_int_equal(scaler_direction(79.999, 100, 0.2), -1);
    assert_int_equal(scaler_direction(0.001, 0, 0.2), 1);
    assert_int_equal(scaler_direction(0, 0, 0.2), 0);
}

/* Pods by RPR with the throughputs 5, 30, 20, 8; 40 too much: 5 goes, 30 goes, 20 does not, nor
 * does 8 where only 5 are left. */
CASE(pods_go_in_ascending_rpr_while_the_surplus_covers_them)
{
    struct scaler_pod pods[] = {{.rpr = 4, .throughput = 8, .id = 0},
                                {.rpr = 1, .throughput = 5, .id = 1},
                                {.rpr = 3, .throughput = 20, .id = 2},
                                {.rpr = 2, .throughput = 30, .id = 3}};
    assert_int_equal(scaler_shrink(pods, 4, 40, 0), 2);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pods[i].remove, pods[i].id == 1 || pods[i].id == 3);
    assert_int_equal(scaler_shrink(pods, 4, 1000, 1), 3);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pods[i].remove, pods[i].id != 0);
    assert_int_equal(scaler_shrink(pods, 4, 4.9, 0), 0);
}

/* ---- Tokens and their fluid limit ------------------------------------------------------------ */

static size_t random_pods(gsl_rng *rng, uint32_t capacity, struct token_pod *pods)
{
    const size_t count = 1 + pick(rng, PODS_MAX);
    double area = 0;
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        const double request = quotas[pick(rng, QUOTAS)] / 100.0;
        const uint32_t share = 1 + pick(rng, capacity);
        if (area + share * request > capacity)
            continue;
        area += share * request;
        pods[made++] =
            (struct token_pod){share, request, request + (1 - request) * gsl_rng_uniform(rng)};
    }
    return made;
}

CASE(the_fluid_uses_up_the_area_and_raises_the_least_first)
{
    uint32_t full = 0;
    uint32_t limited = 0;
    for (uint64_t n = 0; n < trials(3000); n++) {
        struct random_stream stream;
        gsl_rng *rng = stream_of(&stream, n, 3);
        const uint32_t capacity = 1 + pick(rng, 100);
        struct token_pod pods[PODS_MAX];
        double rates[PODS_MAX];
        const size_t count = random_pods(rng, capacity, pods);
        double area = 0;
        bool all_at_limit = true;
        assert_true(tokens_fluid(capacity, pods, count, rates));
        for (size_t i = 0; i < count; i++) {
            assert_true(rates[i] >= pods[i].request && rates[i] <= pods[i].limit);
            area += pods[i].share * rates[i];
            all_at_limit = all_at_limit && rates[i] >= pods[i].limit;
            /* Who was given something has no more than anybody who could take more. */
            for (size_t j = 0; rates[i] > pods[i].request && j < count; j++)
                assert_true(rates[j] >= pods[j].limit || rates[j] >= rates[i] - 1e-9);
        }
        assert_true(area <= capacity * (1 + 1e-9));
        assert_true(all_at_limit || area >= capacity * (1 - 1e-9));
        full += !all_at_limit;
        limited += all_at_limit;
    }
    assert_true(full > trials(100) && limited > trials(100));
}

CASE(requests_that_exceed_the_gpu_are_refused)
{
    const struct token_pod pods[] = {{4, 1, 1}, {4, 0.8, 1}};
    double rates[2];
    assert_false(tokens_fluid(7, pods, 2, rates));
    assert_true(tokens_fluid(8, pods, 2, rates));
    assert_true(fabs(rates[1] - 1) < 1e-12);
}

/* Shares that pack whatever the order: 1 of 4 each, or all of it. */
CASE(tokens_give_what_the_fluid_says)
{
    for (uint64_t n = 0; n < 40; n++) {
        struct random_stream stream;
        gsl_rng *rng = stream_of(&stream, n, 4);
        const uint32_t share = pick(rng, 2) == 0 ? 1 : 4;
        const size_t slots = 4 / share;
        struct token_pod pods[PODS_MAX];
        double rates[PODS_MAX];
        double left = (double)slots * (n % 2 == 0 ? 1 : 0.6);
        size_t count = 0;
        while (count < 6 && left > 0.2 - 1e-9) {
            const double request = fmin(quotas[pick(rng, 3)] / 100.0, left);
            pods[count++] = (struct token_pod){share, request, 1};
            left -= request;
        }
        assert_true(tokens_fluid(4, pods, count, rates));
        OWNED(tokens_destroy)
        struct tokens *tokens = must(tokens_create(4, pods, count, TOKENS_WINDOW));
        for (sim_time_t t = SIM_MS; t <= 2 * SIM_S; t += 5 * SIM_MS) {
            tokens_run(tokens, t);
            assert_true(tokens_load(tokens) <= 4);
        }
        tokens_run(tokens, 2 * SIM_S);
        double total = 0;
        double fluid = 0;
        for (size_t i = 0; i < count; i++) {
            const double fraction = sim_to_s(tokens_held(tokens, i)) / 2;
            total += fraction;
            fluid += rates[i];
            /* Nobody is served in less than a whole request × window at a time, so those who have
             * what they requested keep others waiting: more so where all time is requested. */
            assert_true(fabs(fraction - rates[i]) < (n % 2 == 0 ? 0.2 : 0.1));
        }
        assert_true(fabs(total - fluid) < 0.02 * fluid);
    }
}

/* Equal pods share alike: four of 20 % on one GPU have a quarter each, one alone has all. */
CASE(tokens_serve_the_least_served_and_leave_no_time_unused)
{
    const struct token_pod pods[] = {{7, 0.2, 1}, {7, 0.2, 1}, {7, 0.2, 1}, {7, 0.2, 1}};
    OWNED(tokens_destroy) struct tokens *tokens = must(tokens_create(7, pods, 4, TOKENS_WINDOW));
    tokens_run(tokens, 4 * SIM_S);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(sim_to_s(tokens_held(tokens, i)) - 1) < 0.01);
    for (size_t i = 1; i < 4; i++)
        tokens_set_active(tokens, i, false);
    const sim_time_t before = tokens_held(tokens, 0);
    tokens_run(tokens, 8 * SIM_S);
    assert_true(fabs(sim_to_s(tokens_held(tokens, 0) - before) - 4) < 0.05);
}

CASE(a_pod_at_its_limit_waits_though_the_gpu_is_free)
{
    const struct token_pod pod = {3, 0.4, 0.4};
    OWNED(tokens_destroy) struct tokens *tokens = must(tokens_create(7, &pod, 1, TOKENS_WINDOW));
    tokens_run(tokens, 4 * SIM_S);
    assert_true(fabs(sim_to_s(tokens_held(tokens, 0)) / 4 - 0.4) < 0.01);
    assert_true(tokens_used(tokens, 0) <= 16 * SIM_MS);
}

/* ---- The policy ------------------------------------------------------------------------------ */

/* What was seen over all runs of a test. */
static struct seen {
    uint64_t looks, pods, timed, lent, together;
    uint64_t falls;     /* a deployment lost pods */
    uint64_t bereft;    /* all of them, though scaling leaves min_pods */
    uint64_t makeshift; /* pods that cannot meet the SLO, though a point can or is faster */
    bool whole_only;    /* no quota but 100 may be */
} seen;

/* Pods of each deployment at the last look of the run. */
static uint32_t counts[16];

static void check_pod(struct platform *platform, const struct pods *pods, uint32_t id,
                      const struct rectangle *place)
{
    const struct pod *pod = &pods->pods[id];
    const uint32_t owner = pods->fleet->instances[id].deployment;
    assert_int_not_equal(owner, SIM_NONE);
    const struct deployment *deployment = &pods->deployments[owner];
    const struct scaler_point *point = &deployment->points.points[pod->point];
    const struct instance_view view = platform_instance(platform, id);
    const bool busy = view.state == INSTANCE_BUSY;
    assert_int_equal(view.function, deployment->base.function);
    assert_int_equal(view.configuration, point->configuration);
    assert_int_equal(deployment->base.instances[pod->slot], id);
    assert_int_equal(view.invoker, pods->planes[pod->gpu].invoker);
    assert_int_equal(view.gpu, pods->planes[pod->gpu].which);
    assert_int_equal(view.buffered, 0);
    assert_int_equal(place->width, point->quota);
    assert_int_equal(place->height, point->share);
    assert_true(view.quota >= point->quota && (busy || view.quota == point->quota));
    assert_true(!seen.whole_only || view.quota == 100);
    seen.pods++;
    seen.makeshift += deployment->points.feasible > 0 ? pod->point >= deployment->points.feasible
                                                      : pod->point != deployment->points.fastest;
    seen.timed += point->quota < 100;
    seen.lent += view.quota > point->quota;
}

/* Who works has what the fluid gives, in whole per cents; who does not, the request. */
static void check_lent(const struct platform *platform, const struct pods *pods,
                       const struct rectangles *plane)
{
    struct token_pod token[8 * QUOTAS];
    double rates[8 * QUOTAS];
    assert_true(plane->used_count <= sizeof rates / sizeof *rates);
    for (size_t i = 0; i < plane->used_count; i++) {
        const bool busy = platform_instance(platform, plane->used[i].owner).state == INSTANCE_BUSY;
        const double request = plane->used[i].place.width / 100.0;
        const double limit = fmax(request, busy ? pods->limit / 100.0 : 0);
        token[i] = (struct token_pod){plane->used[i].place.height, request, limit};
    }
    assert_true(tokens_fluid(plane->height, token, plane->used_count, rates));
    for (size_t i = 0; i < plane->used_count; i++)
        assert_int_equal(platform_instance(platform, plane->used[i].owner).quota,
                         floor(rates[i] * 100 + 1e-6));
}

/* Planes hold what the platform holds, hundredth by hundredth. */
static void check_planes(struct platform *platform, const struct fast_gshare *state)
{
    const struct pods *pods = &state->pods;
    for (uint32_t g = 0; g < pods->gpu_count; g++) {
        const struct plane *plane = &pods->planes[g];
        const struct rectangles *on = &plane->rectangles;
        uint32_t held = 0;
        assert_int_equal(pods->gpu_order[plane->position], g);
        assert_int_equal(plane->position<pods->used_count, on->used_count> 0);
        for (size_t i = 0; i < on->used_count; i++) {
            const struct rectangle *place = &on->used[i].place;
            check_pod(platform, pods, on->used[i].owner, place);
            held += platform_instance(platform, on->used[i].owner).quota * place->height;
            assert_true(place->x + place->width <= 100 && place->y + place->height <= on->height);
            for (size_t j = 0; j < i; j++) {
                const struct rectangle *other = &on->used[j].place;
                assert_true(
                    place->x >= other->x + other->width || other->x >= place->x + place->width ||
                    place->y >= other->y + other->height || other->y >= place->y + place->height);
            }
        }
        check_lent(platform, pods, on);
        seen.together += on->used_count > 1;
        assert_int_equal(held + platform_gpu_free(platform, plane->invoker, plane->which),
                         100 * on->height);
    }
    assert_true(pods->fleet->deployment_count <= sizeof counts / sizeof *counts);
    for (size_t d = 0; d < pods->fleet->deployment_count; d++) {
        seen.falls += pods->deployments[d].base.instance_count < counts[d];
        seen.bereft += counts[d] > 0 && pods->deployments[d].base.instance_count == 0;
        counts[d] = pods->deployments[d].base.instance_count;
    }
    seen.looks++;
}

static bool watched_decide(void *state, struct platform *platform)
{
    const bool more = policy_find("fast-gshare", NULL)->decide(state, platform);
    check_planes(platform, state);
    return more;
}

static const struct policy *watched(void)
{
    static struct policy policy;
    policy = *policy_find("fast-gshare", NULL);
    policy.decide = watched_decide;
    memset(counts, 0, sizeof counts);
    return &policy;
}

static const struct world_case variants[] = {
    {NULL, 0},      {"quotas", 1},     {"elastic", 1},  {"fit", 1},
    {"pool", 1},    {"max_batch", 1},  {"min_pods", 0}, {"backlog", 1},
    {"fill", 1},    {"residual", 1},   {"headroom", 1}, {"period_s", 0.5},
    {"bound", 0.3}, {"hysteresis", 0}, {"split", 1},    {"window_s", 60}};

CASE(no_world_is_overcommitted_and_all_are_served)
{
    seen = (struct seen){0};
    for (uint64_t world = 0; world < WORLDS; world++) {
        const struct world_case *variant = &variants[world % (sizeof variants / sizeof *variants)];
        char *json = world_random(world, world % 2 == 0);
        world_serve_all(json, watched(), variant->key, variant->number, NULL);
    }
    assert_true(seen.looks > 1000 && seen.pods > 1000 && seen.together > 100);
    assert_true(seen.timed > 0 && seen.lent > 0);
    assert_true(seen.falls > 0);
}

CASE(whole_gpus_have_no_time_quotas)
{
    seen = (struct seen){.whole_only = true};
    for (uint64_t world = 0; world < 8; world++) {
        char *json = world_random(world % 4, true);
        if (world < 4)
            world_exclusive(json);
        else
            world_sliced(json);
        world_serve_all(json, watched(), NULL, 0, NULL);
    }
    assert_true(seen.pods > 0);
}

/* A whole GPU that two functions need, and a shared one for five deployments. */
CASE(functions_without_room_are_served_in_the_end)
{
    seen = (struct seen){0};
    for (uint64_t world = 0; world < 12; world++) {
        char *json = world_scarce(world);
        if (world % 2 == 0)
            world_exclusive(json);
        world_serve_all(json, watched(), "pool", world % 4 == 1, NULL);
    }
    assert_true(seen.bereft > 0 && seen.makeshift > 0);
}

CASE(the_same_seed_gives_the_same_batches)
{
    worlds_check(policy_find("fast-gshare", NULL), variants, 1, 4);
}

/* One function, 10 ms on the whole GPU (share 4) or 20 on half of it, a request every 5 ms: 200/s.
 * RPR is 25 for all points. */
static const struct world steady = {.invokers = 4,
                                    .functions = {{"f", "1", "1", "2,4", "[[20,10]]", 0, 100, 0}},
                                    .applications = "a: a=f",
                                    .every_ms = {5, 5.0000001},
                                    .slo_ms = 100,
                                    .platform = "'interference':false,'initial':{'f':8}",
                                    .requests = 6000};

static struct {
    uint32_t first, later;
    double rate;
} grown;

static bool growth_decide(void *state, struct platform *platform)
{
    const bool more = policy_find("fast-gshare", NULL)->decide(state, platform);
    const struct pods *pods = &((const struct fast_gshare *)state)->pods;
    const uint32_t now = pods->deployments[0].base.instance_count;
    if (platform_now(platform) < 10 * SIM_S)
        grown.first = now > grown.first ? now : grown.first;
    else if (pods->deployments[0].rate > 0)
        grown.later = now > grown.later ? now : grown.later;
    if (grown.rate <= 0)
        grown.rate = pods->deployments[0].rate;
    return more;
}

CASE(pods_follow_the_rate_every_ten_seconds)
{
    /* By ties: 199.9 wanted. The largest point serves 100 on the whole GPU: one is there, one more
     * is below it by a hair, or covers it. The smallest serves 10, on half the GPU for a fifth of
     * the time: 19 more. */
    static const struct {
        uint32_t pods, vgpu;
    } expected[] = {{2, 4}, {20, 2}};
    char *json = world_build(&steady);
    for (size_t ties = 0; ties < 2; ties++) {
        struct policy policy = *policy_find("fast-gshare", NULL);
        struct key parameters[32];
        const size_t count = keys_count(policy.parameters) + 1;
        assert_true(count <= 32);
        memcpy(parameters, policy.parameters, count * sizeof *parameters);
        for (size_t i = 0; i + 1 < count; i++)
            if (strcmp(parameters[i].name, "ties") == 0)
                parameters[i].fallback = (double)ties;
        policy.parameters = parameters;
        policy.decide = growth_decide;
        memset(&grown, 0, sizeof grown);
        run_well_with(json, &policy, "backlog", 1, &rows, anew());
        assert_int_equal(grown.first, 1);
        assert_true(fabs(grown.rate - 200) < 0.5);
        assert_int_equal(grown.later, expected[ties].pods);
        for (size_t i = 0; i < rows.batch_count; i++)
            assert_int_equal(rows.batches[i].vgpu, expected[ties].vgpu);
    }
}

SUITE("fast_gshare")
