/* The cluster's books: best fit against a scan of everything, MIG shapes against the device's
 * rules, random reservations against a plain count. */
#include "sim/cluster/cluster.h"
#include "sim/engine/random.h"
#include "tests/suite.h"

enum { FUNCTIONS = 4, INVOKERS = 23, STEPS = 20000, KINDS = 3 };

/* A workload of our own, without files: four functions, unlike invokers. */
struct fixture {
    struct workload workload;
    struct gpu_kind kinds[KINDS];
    struct function functions[FUNCTIONS];
    struct function_gpu on[FUNCTIONS][KINDS];
    struct configuration configurations[FUNCTIONS][6];
    struct invoker_group groups[3];
    struct gpu_spec gpus[3];
    struct cluster cluster;
    struct arena arena;
    struct random_stream random;
};

static void fixture_functions(struct fixture *fixture, const uint16_t *vgpus)
{
    static char names[FUNCTIONS][4] = {"a", "bb", "ccc", "d"};
    for (int f = 0; f < FUNCTIONS; f++) {
        struct function *function = &fixture->functions[f];
        *function = (struct function){.name = names[f],
                                      .gpus = fixture->on[f],
                                      .host_memory_mb = 1024,
                                      .configurations = fixture->configurations[f],
                                      .configuration_count = 6};
        for (int k = 0; k < KINDS; k++)
            fixture->on[f][k] = (struct function_gpu){
                .gpu_weights_mb = 500.0 * (f + 1), .gpu_per_item_mb = 100, .runs = true};
        for (int c = 0; c < 6; c++)
            fixture->configurations[f][c] =
                (struct configuration){.batch = (uint16_t)(1 + c % 2),
                                       .vcpu = (uint16_t)(1 + c % 3),
                                       .vgpu = vgpus[c],
                                       .time = SIM_MS,
                                       .gpu_memory_mb = 500.0 * (f + 1) + 100.0 * (1 + c % 2)};
    }
    /* One function that needs no GPU. */
    for (int c = 0; c < 6; c++) {
        fixture->configurations[3][c].vgpu = 0;
        fixture->configurations[3][c].gpu_memory_mb = 0;
    }
    fixture->on[3][0].gpu_weights_mb = 0;
}

static void fixture_cluster(struct fixture *fixture, enum sharing sharing)
{
    struct cluster_spec *spec = &fixture->workload.cluster;
    for (int i = 0; i < 3; i++)
        fixture->gpus[i] = (struct gpu_spec){
            .model = "A100", .sharing = sharing, .units = 7, .memory_mb = i == 2 ? 6000 : 40960};
    fixture->groups[0] = (struct invoker_group){10, 8, 8192, &fixture->gpus[0], 1};
    fixture->groups[1] = (struct invoker_group){5, 4, 4096, &fixture->gpus[0], 2};
    fixture->groups[2] = (struct invoker_group){8, 16, 16384, &fixture->gpus[2], 1};
    spec->groups = fixture->groups;
    spec->group_count = 3;
    spec->invoker_count = INVOKERS;
}

/* A workload whose cluster is yet to be opened. */
static void fixture_make(struct fixture *fixture, enum sharing sharing)
{
    static const uint16_t shares[6] = {1, 2, 3, 4, 5, 7}, shapes[6] = {1, 2, 3, 4, 3, 7};
    memset(fixture, 0, sizeof *fixture);
    fixture_functions(fixture, sharing == SHARING_MIG ? shapes : shares);
    fixture_cluster(fixture, sharing);
    for (int k = 0; k < KINDS; k++)
        fixture->kinds[k] = (struct gpu_kind){.model = "A100", .units = 7, .speed = 1};
    fixture->workload.kinds = fixture->kinds;
    fixture->workload.kind_count = 1;
    fixture->workload.functions = fixture->functions;
    fixture->workload.function_count = FUNCTIONS;
    random_stream_open(&fixture->random, 11, RANDOM_TEST, (uint64_t)sharing, 0);
}

static struct cluster *fixture_open(struct fixture *fixture, enum reuse_order reuse)
{
    cluster_init(&fixture->cluster, &fixture->workload, reuse, &fixture->arena);
    return &fixture->cluster;
}

static void fixture_clear(struct fixture *fixture)
{
    arena_clear(&fixture->arena);
}

#define FIXTURE CLOSED(fixture_clear) struct fixture

static uint32_t draw(struct fixture *fixture, uint32_t below)
{
    return (uint32_t)gsl_rng_uniform_int(&fixture->random.rng, below);
}

/* The pool of the function on the GPU; NULL where there is none. */
static const struct container_pool *find_pool(const struct cluster *cluster, uint32_t f,
                                              uint32_t invoker, uint32_t gpu)
{
    const struct pool_range range = pools_find(cluster, invoker, f);
    for (uint32_t k = range.first; k < range.end; k++) {
        const struct container_pool *pool =
            &cluster->pools[cluster->invokers[invoker].pools[k].pool];
        if (pool->gpu == gpu)
            return pool;
    }
    return NULL;
}

/* Has the function an idle container on the GPU? */
static bool idles_on(const struct cluster *cluster, uint32_t f, uint32_t invoker, uint32_t gpu)
{
    const struct container_pool *pool = find_pool(cluster, f, invoker, gpu);
    return pool != NULL && pool->idle_count > 0;
}

/* Of the invoker's GPUs on which a batch in an idle container (`idle`) or a new one fits, the one
 * with the fewest units; SIM_NONE where none. */
static uint32_t tightest_gpu(const struct cluster *cluster, uint32_t f,
                             const struct configuration *c, uint32_t invoker, bool idle)
{
    const struct invoker_state *state = &cluster->invokers[invoker];
    uint32_t found = SIM_NONE;
    for (uint32_t g = state->first_gpu; g < state->first_gpu + state->gpu_count; g++) {
        struct placement placement;
        if (idle && !idles_on(cluster, f, invoker, g))
            continue;
        if (cluster_place_instance(cluster, f, c, UNIT_PARTS, invoker, g, &placement) &&
            (!idle || placement.container != SIM_NONE) &&
            (found == SIM_NONE ||
             gpu_headroom(&cluster->gpus[g]) < gpu_headroom(&cluster->gpus[found])))
            found = g;
    }
    return found;
}

/* What ranks the invoker for a batch without a GPU: the first kind of its GPUs, then the units of
 * its fullest GPU of that kind; among idle containers none. */
static uint32_t units_ranked_on_cpu(const struct cluster *cluster, uint32_t invoker, bool warm)
{
    const struct invoker_state *state = &cluster->invokers[invoker];
    uint32_t fewest = UINT32_MAX;
    for (uint32_t g = state->first_gpu; !warm && g < state->first_gpu + state->gpu_count; g++) {
        const struct gpu_state *gpu = &cluster->gpus[g];
        const uint32_t here = (uint32_t)gpu->spec->kind << 16 | gpu_headroom(gpu);
        fewest = here < fewest ? here : fewest;
    }
    return fewest == UINT32_MAX ? 0 : fewest;
}

/* For one with a GPU: of the GPU on which it would run. */
static uint32_t units_ranked(const struct cluster *cluster, uint32_t f,
                             const struct configuration *c, uint32_t invoker, bool warm)
{
    if (c->vgpu == 0)
        return units_ranked_on_cpu(cluster, invoker, warm);
    uint32_t gpu = tightest_gpu(cluster, f, c, invoker, true);
    if (gpu == SIM_NONE)
        gpu = tightest_gpu(cluster, f, c, invoker, false);
    assert_int_not_equal(gpu, SIM_NONE);
    return gpu_headroom(&cluster->gpus[gpu]);
}

/* Fewest units left on the GPU, then fewest free vCPUs, by looking at every GPU of every invoker;
 * and the batch is placed on that GPU. */
static bool is_best_fit(struct fixture *fixture, uint32_t f, const struct configuration *c,
                        bool warm, uint32_t answer)
{
    struct cluster *cluster = &fixture->cluster;
    uint64_t best = UINT64_MAX, answered = UINT64_MAX;
    for (uint32_t i = 0; i < fixture->workload.cluster.invoker_count; i++) {
        struct placement placement;
        if (!cluster_place(cluster, f, c, i, warm, &placement))
            continue;
        const uint32_t units = units_ranked(cluster, f, c, i, warm);
        if (c->vgpu > 0 && cluster->gpus[placement.gpu].spec->kind != c->kind)
            return false;
        if (c->vgpu > 0 && gpu_headroom(&cluster->gpus[placement.gpu]) != units)
            return false;
        const uint64_t rank = (uint64_t)units << 32 | cluster->invokers[i].free_vcpus;
        best = rank < best ? rank : best;
        if (i == answer)
            answered = rank;
    }
    return best == answered;
}

struct held {
    uint32_t container, function, configuration;
    uint8_t slots;
};

/* By state, as a look at each of them counts. */
static void assert_containers_are_counted(const struct cluster *cluster)
{
    uint32_t idle = 0, starting = 0;
    for (uint32_t id = 0; id < cluster->containers_used; id++) {
        idle += cluster->containers[id].state == CONTAINER_IDLE;
        starting += cluster->containers[id].state == CONTAINER_STARTING;
    }
    assert_int_equal(idle, cluster->idle_containers);
    assert_int_equal(starting, cluster->starting_containers);
}

/* On how many invokers a batch fits, by searches that nobody remembers. */
static uint32_t fitting(const struct fixture *fixture, uint32_t f)
{
    struct placement placement;
    uint32_t count = 0;
    for (uint32_t i = 0; i < fixture->workload.cluster.invoker_count; i++)
        count += cluster_place_instance(&fixture->cluster, f, &fixture->configurations[f][0], 100,
                                        i, SIM_NONE, &placement);
    return count;
}

/* A batch that fits here fits here still while the count of changes stays. */
static void assert_changes_are_counted(const struct fixture *fixture, uint64_t *changes,
                                       uint32_t fits[FUNCTIONS])
{
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        const uint32_t now = fitting(fixture, f);
        if (*changes == fixture->cluster.changes)
            assert_int_equal(fits[f], now);
        fits[f] = now;
    }
    *changes = fixture->cluster.changes;
}

/* What was remembered is what a search finds. */
static void assert_found_again(struct fixture *fixture, uint32_t f, const struct configuration *c,
                               uint32_t invoker)
{
    struct placement remembered, found;
    assert_true(cluster_place(&fixture->cluster, f, c, invoker, false, &remembered));
    assert_true(cluster_place_instance(&fixture->cluster, f, c, 100, invoker, SIM_NONE, &found));
    assert_memory_equal(&remembered, &found, sizeof found);
}

static void random_life(struct fixture *fixture, int steps)
{
    struct cluster *cluster = &fixture->cluster;
    uint64_t changes = 0;
    uint32_t fits[FUNCTIONS] = {0};
    struct held held[256] = {0};
    size_t count = 0;
    for (int step = 0; step < steps; step++) {
        uint32_t f = draw(fixture, FUNCTIONS), k = draw(fixture, 6);
        const struct configuration *c = &fixture->configurations[f][k];
        uint32_t choice = draw(fixture, 10);
        if (choice < 5 && count < 256) {
            bool warm = draw(fixture, 2) == 0;
            uint32_t i = cluster_best_fit(cluster, f, c, warm);
            if (i != SIM_NONE)
                assert_found_again(fixture, f, c, i);
            assert_true(is_best_fit(fixture, f, c, warm, i));
            struct placement placement;
            if (i == SIM_NONE || !cluster_place(cluster, f, c, i, warm, &placement))
                continue;
            struct held *h = &held[count++];
            *h = (struct held){.function = f, .configuration = k};
            h->container = cluster_reserve(cluster, f, c, &placement, &h->slots);
            if (cluster->containers[h->container].state == CONTAINER_STARTING)
                cluster_container_ready(cluster, h->container, step);
        } else if (choice < 9 && count > 0) {
            size_t which = draw(fixture, (uint32_t)count);
            struct held h = held[which];
            held[which] = held[--count];
            cluster_release(cluster, h.container,
                            &fixture->configurations[h.function][h.configuration], h.slots, step);
        } else {
            uint32_t id = cluster_prewarm(cluster, f, draw(fixture, INVOKERS),
                                          cluster_function_runs(cluster, f, true));
            if (id != SIM_NONE) {
                const uint32_t gpu = cluster->containers[id].gpu;
                assert_true(gpu == SIM_NONE || fixture->on[f][cluster->gpus[gpu].spec->kind].runs);
                cluster_container_ready(cluster, id, step);
            }
        }
        assert_changes_are_counted(fixture, &changes, fits);
        if (step % 64 == 0) {
            assert_good(cluster_check(cluster, false, hear()));
            assert_containers_are_counted(cluster);
        }
    }
    while (count > 0) {
        struct held h = held[--count];
        cluster_release(cluster, h.container, &fixture->configurations[h.function][h.configuration],
                        h.slots, steps);
    }
    assert_good(cluster_check(cluster, true, hear()));
}

CASE(whatever_is_reserved_is_released_and_best_fit_equals_a_full_scan)
{
    static const enum sharing kinds[] = {SHARING_MPS, SHARING_MIG, SHARING_EXCLUSIVE};
    for (size_t i = 0; i < 3; i++) {
        FIXTURE fixture;
        fixture_make(&fixture, kinds[i]);
        struct cluster *cluster = fixture_open(&fixture, REUSE_MRU);
        random_life(&fixture, STEPS);
        for (uint32_t v = 0; v < INVOKERS; v++)
            for (uint32_t id; (id = cluster_longest_idle(cluster, v)) != SIM_NONE;)
                cluster_evict(cluster, id);
        assert_int_equal(cluster->use.memory_kb, 0);
        assert_int_equal(cluster->use.gpu_memory_kb, 0);
        assert_int_equal(cluster->use.unit_parts, 0);
        assert_int_equal(cluster->use.active_unit_parts, 0);
    }
}

/* Groups of invokers with 0 to 4 GPUs, of unlike memory, sharing and over-subscription; one
 * function runs with and without a GPU. */
static void unlike_invokers(struct fixture *fixture, struct gpu_spec (*gpus)[4])
{
    for (int g = 0; g < 3; g++) {
        struct invoker_group *group = &fixture->groups[g];
        group->vcpus = (uint16_t)(2 + draw(fixture, 20));
        group->memory_mb = 2048 + draw(fixture, 16384);
        group->gpus = gpus[g];
        group->gpu_count = g == 0 ? 1 + draw(fixture, 4) : draw(fixture, 5);
        for (int k = 0; k < 4; k++)
            gpus[g][k] = (struct gpu_spec){.model = "A100",
                                           .sharing = (enum sharing)draw(fixture, 3),
                                           .units = 7,
                                           .memory_mb = 1000 + draw(fixture, 8000)};
        for (int k = 1; k < 4; k += 2)
            gpus[g][k].oversubscription = gpus[g][k].sharing == SHARING_MPS ? 1 + 0.6 * k : 1;
    }
    if (draw(fixture, 2) == 0)
        fixture->configurations[1][0].vgpu = 0;
}

/* Three kinds of GPU, of unlike units and unlike memory of the functions, in one invoker and
 * between invokers. Function 2 does not run on the last kind. */
static void unlike_kinds(struct fixture *fixture, struct gpu_spec (*gpus)[4])
{
    static const uint16_t units[KINDS] = {7, 10, 7};
    unlike_invokers(fixture, gpus);
    fixture->workload.kind_count = KINDS;
    for (size_t k = 0; k < KINDS; k++)
        fixture->kinds[k].units = units[k];
    for (size_t g = 0; g < 3; g++)
        for (size_t i = 0; i < 4; i++) {
            struct gpu_spec *gpu = &gpus[g][i];
            gpu->kind = (uint16_t)draw(fixture, KINDS);
            gpu->units = units[gpu->kind];
            if (gpu->units != 7 && gpu->sharing == SHARING_MIG)
                gpu->sharing = SHARING_MPS;
        }
    for (size_t f = 0; f < FUNCTIONS; f++) {
        for (size_t k = 1; k < KINDS && f < 3; k++)
            fixture->on[f][k].gpu_weights_mb = 300.0 * (double)(1 + draw(fixture, 4));
        for (size_t c = 0; c < 6; c++) {
            struct configuration *spec = &fixture->configurations[f][c];
            if (spec->vgpu == 0)
                continue;
            spec->kind = (uint16_t)draw(fixture, f == 2 ? 2 : KINDS);
            if (spec->kind == 1)
                spec->vgpu = (uint16_t)(1 + draw(fixture, 10));
            spec->gpu_memory_mb = fixture->on[f][spec->kind].gpu_weights_mb + 100.0 * spec->batch;
        }
    }
    fixture->on[2][2].runs = false;
}

static void check_random_clusters(uint64_t rounds, uint64_t seed,
                                  void (*unlike)(struct fixture *, struct gpu_spec (*)[4]))
{
    for (uint64_t round = 0; round < rounds; round++) {
        FIXTURE fixture;
        struct gpu_spec gpus[3][4];
        fixture_make(&fixture, SHARING_MIG);
        random_stream_open(&fixture.random, seed, RANDOM_TEST, round, 0);
        unlike(&fixture, gpus);
        fixture_open(&fixture, (enum reuse_order)(round % 3));
        random_life(&fixture, STEPS / 8);
    }
}

CASE(best_fit_equals_a_full_scan_of_random_clusters)
{
    check_random_clusters(24, 12, unlike_invokers);
}

CASE(best_fit_equals_a_full_scan_of_clusters_of_unlike_gpus)
{
    check_random_clusters(12, 13, unlike_kinds);
}

/* Two GPUs with 1 and 4 units free on invoker 0, one with 2 on invoker 1: one unit fits the first
 * exactly. */
CASE(best_fit_looks_for_the_gpu_that_fits_and_not_for_the_emptiest)
{
    FIXTURE fixture;
    struct placement placement;
    uint8_t slots;
    fixture_make(&fixture, SHARING_MPS);
    fixture.groups[0].count = fixture.groups[1].count = 1;
    fixture.groups[0].gpu_count = 2;
    fixture.groups[1].gpu_count = 1;
    fixture.workload.cluster.group_count = 2;
    fixture.workload.cluster.invoker_count = 2;
    struct cluster *cluster = fixture_open(&fixture, REUSE_MRU);
    struct configuration *held = fixture.configurations[0];
    held[1].vgpu = 6, held[2].vgpu = 3, held[3].vgpu = 5;
    static const uint32_t invokers[] = {0, 0, 1}, gpus[] = {0, 1, 2};
    for (size_t k = 0; k < 3; k++) {
        assert_true(cluster_place_instance(cluster, 0, &held[1 + k], UNIT_PARTS, invokers[k],
                                           gpus[k], &placement));
        assert_int_not_equal(cluster_reserve(cluster, 0, &held[1 + k], &placement, &slots),
                             SIM_NONE);
    }
    assert_int_equal(cluster_best_fit(cluster, 1, &fixture.configurations[1][0], false), 0);
    assert_true(cluster_place(cluster, 1, &fixture.configurations[1][0], 0, false, &placement));
    assert_int_equal(placement.gpu, 0);
}

/* NVIDIA's MIG user guide lists the layouts of an A100; these sums of slices it does and does not
 * offer. */
CASE(mig_places_the_slices_an_a100_offers)
{
    static const struct {
        uint16_t slices[8];
        int placed; /* how many of them in order */
    } cases[] = {
        {{7}, 1},          {{4, 3}, 2},       {{3, 3}, 2},          {{3, 3, 1}, 2},
        {{4, 2, 1}, 3},    {{2, 2, 3}, 2},    {{2, 2, 2, 1}, 4},    {{1, 1, 1, 1, 1, 1, 1}, 7},
        {{4, 4}, 1},       {{7, 1}, 1},       {{3, 2, 2}, 3},       {{2, 2, 2, 2}, 3},
        {{3, 2, 1, 1}, 4}, {{1, 1, 1, 4}, 4}, {{1, 1, 1, 1, 4}, 4}, {{3, 4}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FIXTURE fixture;
        fixture_make(&fixture, SHARING_MIG);
        struct cluster *cluster = fixture_open(&fixture, REUSE_MRU);
        struct configuration c = {.batch = 1, .vcpu = 1, .gpu_memory_mb = 600};
        int placed = 0;
        for (int k = 0; k < 8 && cases[i].slices[k] != 0; k++, placed++) {
            struct placement placement;
            uint8_t slots;
            c.vgpu = cases[i].slices[k];
            if (!cluster_place(cluster, 0, &c, 0, false, &placement))
                break;
            cluster_reserve(cluster, 0, &c, &placement, &slots);
        }
        assert_int_equal(placed, cases[i].placed);
    }
}

CASE(a_full_gpu_evicts_the_least_recently_used_idle_container)
{
    FIXTURE fixture;
    fixture_make(&fixture, SHARING_MPS);
    struct cluster *cluster = fixture_open(&fixture, REUSE_MRU);
    const uint32_t small = 20; /* 6,000 MB of GPU memory */
    uint32_t ids[3];
    for (uint32_t f = 0; f < 3; f++) { /* 500 + 1,000 + 1,500 MB of weights */
        ids[f] = cluster_prewarm(cluster, f, small, cluster_function_runs(cluster, f, true));
        cluster_container_ready(cluster, ids[f], 10 - (sim_time_t)f);
    }
    struct configuration huge = {.batch = 1, .vcpu = 1, .vgpu = 7, .gpu_memory_mb = 4500};
    struct placement placement;
    uint8_t slots;
    /* Function 2 warm: 3,000 MB of activations beside 3,000 of weights fit exactly. */
    assert_true(cluster_place(cluster, 2, &huge, small, true, &placement));
    huge.gpu_memory_mb = 4501;
    assert_true(cluster_place(cluster, 2, &huge, small, true, &placement));
    cluster_reserve(cluster, 2, &huge, &placement, &slots);
    /* Function 0 idled first and had to go; function 1 stays. */
    assert_int_equal(cluster->containers[ids[0]].state, CONTAINER_FREE);
    assert_int_equal(cluster->containers[ids[1]].state, CONTAINER_IDLE);
    huge.gpu_memory_mb = 6001;
    assert_false(cluster_place(cluster, 0, &huge, small, false, &placement));
}

/* What a list of idle containers should be, the latest first; entries after `count` do not count.
 */
struct plain_list {
    uint32_t ids[64];
    size_t count;
};

static void plain_list_take(struct plain_list *list, size_t which)
{
    list->count--;
    memmove(&list->ids[which], &list->ids[which + 1], (list->count - which) * sizeof *list->ids);
}

static void plain_list_push(struct plain_list *list, uint32_t id)
{
    memmove(&list->ids[1], &list->ids[0], list->count * sizeof *list->ids);
    list->ids[0] = id;
    list->count++;
}

static void assert_list(const struct cluster *cluster, uint32_t invoker, uint32_t function,
                        const struct plain_list *list)
{
    const struct container_pool *pool = find_pool(cluster, function, invoker, SIM_NONE);
    uint32_t id = pool == NULL ? SIM_NONE : pool->idle_head;
    for (size_t k = 0; k < list->count; k++, id = cluster->containers[id].next)
        assert_int_equal(id, list->ids[k]);
    assert_int_equal(id, SIM_NONE);
    assert_int_equal(pools_idle_count(cluster, invoker, function), list->count);
    if (pool != NULL)
        assert_int_equal(pool->idle_tail, list->count > 0 ? list->ids[list->count - 1] : SIM_NONE);
    assert_int_equal(cluster_longest_idle(cluster, invoker),
                     list->count > 0 ? list->ids[list->count - 1] : SIM_NONE);
}

/* Containers come and go at the head, leave from the middle and from the end. */
CASE(lists_of_idle_containers_are_in_order_of_last_use)
{
    FIXTURE fixture;
    fixture_make(&fixture, SHARING_MPS);
    fixture.groups[0] = (struct invoker_group){INVOKERS, 64, 65536, &fixture.gpus[0], 1};
    fixture.workload.cluster.group_count = 1;
    struct cluster *cluster = fixture_open(&fixture, REUSE_MRU);
    const uint32_t f = 3, invoker = 5;
    const struct configuration *c = &fixture.configurations[f][0];
    struct plain_list idle = {.count = 0}, busy = {.count = 0};
    size_t from_middle = 0;
    for (int step = 0; step < STEPS; step++) {
        struct placement placement;
        uint8_t slots;
        const uint32_t choice = draw(&fixture, 16), which = draw(&fixture, 64);
        if (choice < 3 && idle.count + busy.count < 60) {
            uint32_t id =
                cluster_prewarm(cluster, f, invoker, cluster_function_runs(cluster, f, true));
            cluster_container_ready(cluster, id, step);
            plain_list_push(&idle, id);
        } else if (choice < 7 && idle.count > 0) {
            assert_true(cluster_place(cluster, f, c, invoker, true, &placement));
            assert_int_equal(placement.container, idle.ids[0]);
            cluster_reserve(cluster, f, c, &placement, &slots);
            plain_list_push(&busy, idle.ids[0]);
            plain_list_take(&idle, 0);
        } else if (choice < 12 && busy.count > 0) {
            cluster_release(cluster, busy.ids[which % busy.count], c, 0, step);
            plain_list_push(&idle, busy.ids[which % busy.count]);
            plain_list_take(&busy, which % busy.count);
        } else if (choice == 12 && idle.count > 0) {
            const size_t place = step % 3 == 0 ? idle.count - 1 : which % idle.count;
            from_middle += place > 0 && place + 1 < idle.count;
            cluster_evict(cluster, idle.ids[place]);
            plain_list_take(&idle, place);
        }
        assert_list(cluster, invoker, f, &idle);
    }
    assert_true(from_middle > 200);
}

CASE(home_walks_visit_every_invoker_once)
{
    FIXTURE fixture;
    fixture_make(&fixture, SHARING_MPS);
    const struct cluster *cluster = fixture_open(&fixture, REUSE_MRU);
    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        bool seen[INVOKERS] = {false};
        for (uint32_t w = 0; w < INVOKERS; w++) {
            uint32_t i =
                (cluster->functions[f].home_first + w * cluster->functions[f].home_step) % INVOKERS;
            assert_false(seen[i]);
            seen[i] = true;
        }
    }
}

/* ---- The walk of warm invokers -------------------------------------------------------------- */

enum { CROWD = 150, CROWD_STEPS = 30000, SLOTS = 3 };

/* The order by its definition: in every index (one per function, one of all) the place
 * of each of an invoker's entries, and when it was filed last; every change of an invoker files its
 * entries, for every function that is idle there. */
struct plain_order {
    struct plain_place {
        bool filed;
        uint32_t kind, headroom, vcpus;
        uint64_t since;
    } places[FUNCTIONS + 1][CROWD * SLOTS]; /* the last: of all */
    uint64_t filings;
};

static void plain_order_file(struct plain_order *plain, uint32_t index, uint32_t entry,
                             uint32_t kind, uint32_t headroom, uint32_t vcpus)
{
    plain->places[index][entry] =
        (struct plain_place){true, kind, headroom, vcpus, ++plain->filings};
}

static bool plain_place_before(const struct plain_place *a, const struct plain_place *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->headroom != b->headroom)
        return a->headroom < b->headroom;
    if (a->vcpus != b->vcpus)
        return a->vcpus < b->vcpus;
    return a->since > b->since;
}

static int compare_places(const void *a, const void *b)
{
    const struct plain_place *const *one = a, *const *other = b;
    return plain_place_before(*one, *other) ? -1 : plain_place_before(*other, *one);
}

/* All with enough, best first; returns how many. */
static size_t plain_order_walk(const struct plain_order *plain, uint32_t index, uint32_t kind,
                               uint32_t units, uint32_t vcpus,
                               const struct plain_place *walk[CROWD * SLOTS])
{
    const struct plain_place *places = plain->places[index];
    size_t count = 0;
    for (uint32_t i = 0; i < CROWD * SLOTS; i++)
        if (places[i].filed && (units == 0 || places[i].kind == kind) &&
            places[i].headroom >= units && places[i].vcpus >= vcpus)
            walk[count++] = &places[i];
    qsort(walk, count, sizeof *walk, compare_places);
    return count;
}

/* The entry of the GPU (SIM_NONE: none) of the invoker. */
static uint32_t plain_entry(const struct cluster *cluster, uint32_t invoker, uint32_t gpu)
{
    return invoker * SLOTS +
           (gpu == SIM_NONE ? SLOTS - 1 : gpu - cluster->invokers[invoker].first_gpu);
}

/* Files the entry of the GPU for the function (FUNCTIONS: in the set of all), or takes it out. */
static void plain_order_update_entry(struct plain_order *plain, const struct cluster *cluster,
                                     uint32_t f, uint32_t invoker, uint32_t gpu)
{
    const struct invoker_state *state = &cluster->invokers[invoker];
    const uint32_t entry = plain_entry(cluster, invoker, gpu);
    const bool there = f < FUNCTIONS ? idles_on(cluster, f, invoker, gpu)
                                     : gpu != SIM_NONE || state->gpu_count == 0;
    if (there)
        plain_order_file(plain, f, entry, cluster_kind(cluster, gpu),
                         gpu == SIM_NONE ? 0 : gpu_headroom(&cluster->gpus[gpu]),
                         state->free_vcpus);
    else
        plain->places[f][entry].filed = false;
}

/* To be called before each query, which clears the list of changed invokers. */
static void plain_order_update(struct plain_order *plain, const struct cluster *cluster)
{
    for (uint32_t i = cluster->dirty_first; i != SIM_NONE; i = cluster->invokers[i].dirty_after) {
        const struct invoker_state *state = &cluster->invokers[i];
        for (uint32_t f = 0; f <= FUNCTIONS; f++) {
            for (uint32_t g = 0; g < state->gpu_count; g++)
                plain_order_update_entry(plain, cluster, f, i, state->first_gpu + g);
            plain_order_update_entry(plain, cluster, f, i, SIM_NONE);
        }
    }
}

/* `f` FUNCTIONS: of all invokers. */
static void assert_same_walk(const struct plain_order *plain, struct cluster *cluster, uint32_t f,
                             const struct configuration *c)
{
    struct fit_cursor cursor = {.function = f == FUNCTIONS ? SIM_NONE : f,
                                .need_units = c->vgpu,
                                .need_vcpus = c->vcpu,
                                .at = SIM_NONE,
                                .kind = c->kind};
    const struct plain_place *walk[CROWD * SLOTS];
    const size_t count = plain_order_walk(plain, f, c->kind, c->vgpu, c->vcpu, walk);
    for (size_t k = 0; k < count; k++) {
        assert_true(best_fit_next(cluster, &cursor));
        assert_int_equal(plain_entry(cluster, cursor.invoker, cursor.gpu),
                         walk[k] - plain->places[f]);
    }
    assert_false(best_fit_next(cluster, &cursor));
}

/* By a look at every container. */
static uint32_t plain_longest_idle(const struct cluster *cluster, uint32_t invoker)
{
    uint32_t found = SIM_NONE;
    for (uint32_t id = 0; id < cluster->containers_used; id++) {
        const struct container *c = &cluster->containers[id];
        if (c->state == CONTAINER_IDLE && c->invoker == invoker &&
            (found == SIM_NONE || c->idle_order < cluster->containers[found].idle_order))
            found = id;
    }
    return found;
}

/* Every pool is in its invoker's list, in order, and holds the containers that name it; there is
 * none without containers but those that are still in a set. */
static void assert_pools(const struct cluster *cluster)
{
    static uint32_t containers[CROWD * FUNCTIONS * SLOTS];
    memset(containers, 0, sizeof containers);
    for (uint32_t id = 0; id < cluster->containers_used; id++)
        if (cluster->containers[id].state != CONTAINER_FREE)
            containers[cluster->containers[id].pool]++;
    for (uint32_t i = 0; i < cluster->invoker_count; i++) {
        const struct container_pool *before = NULL;
        for (uint32_t k = 0; k < cluster->invokers[i].pool_count; k++) {
            const uint32_t id = cluster->invokers[i].pools[k].pool;
            const struct container_pool *pool = &cluster->pools[id];
            assert_int_equal(pool->invoker, i);
            assert_true(before == NULL || before->function < pool->function ||
                        (before->function == pool->function && before->gpu < pool->gpu));
            assert_true(pool->containers > 0 || pool->position != SIM_NONE);
            assert_int_equal(pool->containers, containers[id]);
            before = pool;
        }
    }
}

/* The number of containers rises and falls. Several changes happen between two queries. Now and
 * then nobody asks for the set of all invokers for so long that the index forgets it. */
static void crowd_life(struct fixture *fixture)
{
    struct cluster *cluster = &fixture->cluster;
    static struct plain_order plain;
    struct held held[256];
    size_t count = 0, forgotten = 0;
    bool kept = false;
    plain = (struct plain_order){0};
    for (int step = 0; step < CROWD_STEPS; step++) {
        uint32_t f = draw(fixture, FUNCTIONS), k = draw(fixture, 6), id;
        const struct configuration *c = &fixture->configurations[f][k];
        bool flood = step / 1000 % 4 == 0;
        uint32_t choice = draw(fixture, 12);
        if (choice < 4) {
            const bool asks = step / 3000 % 2 == 0;
            bool warm = draw(fixture, 12) > 0 || !asks;
            plain_order_update(&plain, cluster);
            uint32_t i = cluster_best_fit(cluster, f, c, warm);
            assert_same_walk(&plain, cluster, f, c);
            forgotten += kept && !cluster->fit.all_kept;
            kept = cluster->fit.all_kept;
            if (asks)
                assert_same_walk(&plain, cluster, FUNCTIONS, c);
            struct placement placement;
            if (count == 256 || i == SIM_NONE || !cluster_place(cluster, f, c, i, true, &placement))
                continue;
            struct held *h = &held[count++];
            *h = (struct held){.function = f, .configuration = k};
            h->container = cluster_reserve(cluster, f, c, &placement, &h->slots);
        } else if (choice < 8 && count > 0) {
            size_t which = draw(fixture, (uint32_t)count);
            struct held h = held[which];
            held[which] = held[--count];
            cluster_release(cluster, h.container,
                            &fixture->configurations[h.function][h.configuration], h.slots, step);
        } else if (flood) {
            id = cluster_prewarm(cluster, f, draw(fixture, CROWD),
                                 cluster_function_runs(cluster, f, true));
            if (id != SIM_NONE)
                cluster_container_ready(cluster, id, step);
        } else {
            const uint32_t invoker = draw(fixture, CROWD);
            id = cluster_longest_idle(cluster, invoker);
            assert_int_equal(id, plain_longest_idle(cluster, invoker));
            if (id != SIM_NONE)
                cluster_evict(cluster, id);
        }
        if (step % 100 == 0)
            assert_pools(cluster);
    }
    assert_in_range(forgotten, 2, 5);
}

CASE(walks_by_best_fit_follow_an_account_of_all_changes)
{
    static const enum sharing kinds[] = {SHARING_MPS, SHARING_MIG};
    for (size_t i = 0; i < 5; i++) {
        FIXTURE fixture;
        fixture_make(&fixture, kinds[i % 2]);
        fixture.groups[0].count = 100;
        fixture.groups[1].count = 20;
        fixture.groups[2].count = 30;
        fixture.groups[1].gpu_count = i < 2 ? 1 : 2;
        fixture.workload.cluster.invoker_count = CROWD;
        if (i % 2 == 1) /* one function with and without a GPU */
            fixture.configurations[1][0].vgpu = 0;
        if (i == 4) { /* two kinds of GPU, also in one invoker */
            fixture.workload.kind_count = 2;
            fixture.gpus[1] = fixture.gpus[0];
            fixture.gpus[1].kind = fixture.gpus[2].kind = 1;
            for (size_t f = 0; f < FUNCTIONS - 1; f++)
                for (size_t c = 0; c < 6; c += 2)
                    fixture.configurations[f][c].kind = 1;
        }
        fixture_open(&fixture, REUSE_MRU);
        crowd_life(&fixture);
    }
}

/* `field` set to `value`: the check must name the invariant; then as it was. */
#define ASSERT_NOTICED(cluster, field, value, invariant)                                           \
    do {                                                                                           \
        const __typeof__(field) kept = (field);                                                    \
        (field) = (value);                                                                         \
        assert_false(cluster_check(cluster, false, hear()));                                       \
        assert_contains(heard.message, "invariant " invariant);                                    \
        (field) = kept;                                                                            \
    } while (false)

CASE(a_broken_account_is_noticed)
{
    FIXTURE fixture;
    fixture_make(&fixture, SHARING_MPS);
    struct cluster *cluster = fixture_open(&fixture, REUSE_MRU);
    struct invoker_state *invoker = &cluster->invokers[1];
    struct gpu_state *gpu = &cluster->gpus[1];
    const int64_t memory_kb = cluster->sizes[1].memory_kb;
    ASSERT_NOTICED(cluster, invoker->free_vcpus, cluster->sizes[1].vcpus + 1, "vCPU");
    ASSERT_NOTICED(cluster, invoker->free_kb, -1, "host memory");
    ASSERT_NOTICED(cluster, invoker->free_kb, memory_kb + 1, "host memory");
    ASSERT_NOTICED(cluster, invoker->idle_kb, -1, "host memory");
    ASSERT_NOTICED(cluster, gpu->free_parts, (uint32_t)gpu->spec->units * UNIT_PARTS + 1, "vGPU");
    assert_true(cluster_check(cluster, true, NULL));
}

SUITE("cluster")
