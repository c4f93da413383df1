#include "sched/sharing/gang_placement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/world/workload.h"

void gang_cluster_open(struct gang_cluster *cluster, struct arena *arena, const uint32_t *gpus,
                       size_t node_count, double gpu_memory_mb)
{
    *cluster = (struct gang_cluster){.node_count = node_count};
    for (size_t n = 0; n < node_count; n++)
        cluster->gpu_count += gpus[n];
    cluster->empty = cluster->gpu_count;
    const size_t gpu_count = cluster->gpu_count;
    cluster->nodes = arena_allocate(arena, node_count + 1, sizeof *cluster->nodes);
    cluster->gpus = arena_allocate(arena, gpu_count + 1, sizeof *cluster->gpus);
    cluster->order = arena_allocate(arena, node_count + 1, sizeof *cluster->order);
    cluster->keys = arena_allocate(arena, node_count + 1, sizeof *cluster->keys);
    cluster->alone = arena_allocate(arena, gpu_count + 1, sizeof *cluster->alone);
    cluster->shared = arena_allocate(arena, gpu_count + 1, sizeof *cluster->shared);
    cluster->candidates = arena_allocate(arena, gpu_count + 1, sizeof *cluster->candidates);
    uint32_t first = 0;
    for (uint32_t n = 0; n < node_count; n++) {
        cluster->nodes[n] = (struct gang_node){.first = first, .gpus = gpus[n], .empty = gpus[n]};
        cluster->largest = gpus[n] > cluster->largest ? gpus[n] : cluster->largest;
        for (uint32_t g = 0; g < gpus[n]; g++)
            cluster->gpus[first++] = (struct gang_gpu){.free_mb = gpu_memory_mb, .node = n};
    }
}

/* ---- Residents ------------------------------------------------------------------------------- */

void gang_take(struct gang_cluster *cluster, uint32_t training, double memory_mb,
               const uint32_t *gpus, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct gang_gpu *gpu = &cluster->gpus[gpus[i]];
        struct gang_node *node = &cluster->nodes[gpu->node];
        node->residents += i == 0 || cluster->gpus[gpus[i - 1]].node != gpu->node ? 1 : 0;
        if (gpu->count == 0) {
            node->empty--;
            cluster->empty--;
        }
        gpu->residents[gpu->count++] = training;
        gpu->free_mb -= memory_mb;
    }
}

void gang_release(struct gang_cluster *cluster, uint32_t training, double memory_mb,
                  const uint32_t *gpus, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct gang_gpu *gpu = &cluster->gpus[gpus[i]];
        struct gang_node *node = &cluster->nodes[gpu->node];
        node->residents -= i == 0 || cluster->gpus[gpus[i - 1]].node != gpu->node ? 1 : 0;
        if (gpu->residents[0] == training)
            gpu->residents[0] = gpu->residents[1];
        if (--gpu->count == 0) {
            node->empty++;
            cluster->empty++;
        }
        gpu->free_mb += memory_mb;
    }
}

void gang_node_set(struct gang_cluster *cluster, uint32_t n, bool down)
{
    struct gang_node *node = &cluster->nodes[n];
    if (node->down == down)
        return;
    node->down = down;
    node->empty = down ? 0 : node->gpus;
    cluster->empty = down ? cluster->empty - node->gpus : cluster->empty + node->gpus;
    cluster->down = down ? cluster->down + node->gpus : cluster->down - node->gpus;
    for (uint32_t g = node->first; g < node->first + node->gpus; g++)
        cluster->gpus[g].count = down ? GANG_RESIDENTS : 0;
}

/* ---- Sharing --------------------------------------------------------------------------------- */

double gang_share_check(const struct gang_work *incoming, const struct gang_work *resident,
                        double *sequential)
{
    const double alone_a = incoming->remaining_iterations * incoming->iteration_s;
    const double alone_b = resident->remaining_iterations * resident->iteration_s;
    const double beside_a = incoming->slowdown * alone_a;
    const double beside_b = resident->slowdown * alone_b;
    *sequential = alone_b + 0.5 * alone_a;
    if (beside_a >= beside_b)
        return 0.5 * alone_a + (1 - 1 / (2 * incoming->slowdown)) * beside_b;
    return 0.5 * alone_b + (1 - 1 / (2 * resident->slowdown)) * beside_a;
}

static bool may_hold(const struct gang_gpu *gpu, const struct gang_request *request)
{
    return gpu->free_mb >= request->memory_mb && gpu_types_have(request->gpu_types, gpu->type);
}

/* GPUs on the given nodes that have memory: empty ones, and those with one resident. */
struct candidates {
    size_t alone, shared;
};

static struct candidates collect(struct gang_cluster *cluster, const uint32_t *nodes, size_t count,
                                 const struct gang_request *request)
{
    struct candidates found = {0};
    for (size_t n = 0; n < count; n++) {
        const struct gang_node *node = &cluster->nodes[nodes[n]];
        for (uint32_t g = node->first; g < node->first + node->gpus; g++) {
            const struct gang_gpu *gpu = &cluster->gpus[g];
            if (!may_hold(gpu, request))
                continue;
            if (gpu->count == 0)
                cluster->alone[found.alone++] = g;
            else if (gpu->count == 1 && request->share &&
                     (request->fits == NULL || request->fits(request->context, gpu->residents[0])))
                cluster->shared[found.shared++] = g;
        }
    }
    return found;
}

static int compare_times(const void *a, const void *b)
{
    const struct gang_candidate *left = a, *right = b;
    return (left->time_s > right->time_s) - (left->time_s < right->time_s);
}

/* The residents of shared GPUs beside which it is worth running, by ascending time. */
static size_t worthy_residents(struct gang_cluster *cluster, size_t shared,
                               const struct gang_request *request)
{
    struct gang_candidate *all = cluster->candidates;
    size_t tested = 0;
    size_t kept = 0;
    for (size_t i = 0; i < shared; i++) {
        const uint32_t resident = cluster->gpus[cluster->shared[i]].residents[0];
        size_t k = 0;
        while (k < tested && all[k].resident != resident)
            k++;
        if (k < tested)
            continue;
        all[tested].resident = resident;
        if (!request->check(request->context, resident, &all[tested].time_s))
            all[tested].time_s = INFINITY;
        tested++;
    }
    for (size_t i = 0; i < tested; i++)
        if (all[i].time_s < INFINITY) {
            const struct gang_candidate candidate = all[i];
            size_t to = kept++;
            for (; to > 0 && compare_times(&candidate, &all[to - 1]) < 0; to--)
                all[to] = all[to - 1];
            all[to] = candidate;
        }
    return kept;
}

static bool choose(struct gang_cluster *cluster, const uint32_t *nodes, size_t count,
                   const struct gang_request *request, uint32_t *gpus)
{
    const struct candidates found = collect(cluster, nodes, count, request);
    uint32_t chosen = 0;
    if (request->worst_s != NULL)
        *request->worst_s = 0;
    while (chosen < request->gpus && chosen < found.alone) {
        gpus[chosen] = cluster->alone[chosen];
        chosen++;
    }
    if (chosen == request->gpus)
        return true;
    if (found.alone + found.shared < request->gpus)
        return false;
    if (request->check == NULL) {
        for (size_t i = 0; chosen < request->gpus; i++)
            gpus[chosen++] = cluster->shared[i];
        return true;
    }
    const size_t residents = worthy_residents(cluster, found.shared, request);
    for (size_t r = 0; r < residents; r++)
        for (size_t i = 0; i < found.shared; i++)
            if (cluster->gpus[cluster->shared[i]].residents[0] == cluster->candidates[r].resident) {
                gpus[chosen++] = cluster->shared[i];
                if (request->worst_s != NULL)
                    *request->worst_s = cluster->candidates[r].time_s;
                if (chosen == request->gpus)
                    return true;
            }
    return false;
}

static int compare_gpus(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a;
    const uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Nodes by distinct residents, then by number. Consolidated: by empty GPUs beyond the request,
 * those with too few last; then by most empty GPUs, residents, number. A node has at most 255 GPUs.
 */
static void order_nodes(struct gang_cluster *cluster, const struct gang_request *request)
{
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        const struct gang_node *node = &cluster->nodes[n];
        uint64_t key = 0;
        if (request->consolidate) {
            key = node->empty >= request->gpus ? node->empty - request->gpus : cluster->largest;
            key = key << 8 | (cluster->largest - node->empty);
        }
        cluster->keys[n] = (key << 16 | node->residents) << 32 | n;
    }
    qsort(cluster->keys, cluster->node_count, sizeof *cluster->keys, compare_keys);
    for (size_t n = 0; n < cluster->node_count; n++)
        cluster->order[n] = (uint32_t)cluster->keys[n];
}

bool gang_place_shared(struct gang_cluster *cluster, const struct gang_request *request,
                       uint32_t *gpus)
{
    struct gang_request wide = *request;
    bool found = false;
    if (request->consolidate) {
        order_nodes(cluster, request);
        for (size_t n = 0; n < cluster->node_count && !found; n++)
            found = choose(cluster, &cluster->order[n], 1, request, gpus);
    }
    if (!found) {
        wide.consolidate = false;
        order_nodes(cluster, &wide);
        found = choose(cluster, cluster->order, cluster->node_count, &wide, gpus);
    }
    if (found)
        qsort(gpus, request->gpus, sizeof *gpus, compare_gpus);
    return found;
}

/* ---- Alone ----------------------------------------------------------------------------------- */

/* The first `count` empty GPUs of a node with memory for them; false if it has fewer. */
static bool take_node(const struct gang_cluster *cluster, const struct gang_request *request,
                      uint32_t n, uint32_t count, uint32_t *gpus)
{
    const struct gang_node *node = &cluster->nodes[n];
    uint32_t found = 0;
    if (node->empty < count)
        return false;
    for (uint32_t g = node->first; g < node->first + node->gpus && found < count; g++)
        if (cluster->gpus[g].count == 0 && may_hold(&cluster->gpus[g], request))
            gpus[found++] = g;
    return found == count;
}

bool gang_place_alone(const struct gang_cluster *cluster, const struct gang_request *request,
                      uint32_t *gpus)
{
    const uint32_t whole = request->gpus > cluster->largest ? request->gpus / cluster->largest : 0;
    const uint32_t rest = request->gpus - whole * cluster->largest;
    uint32_t nodes = 0;
    uint32_t chosen = 0;
    if (cluster->empty < request->gpus)
        return false;
    for (uint32_t n = 0; n < cluster->node_count && nodes < whole; n++)
        if (cluster->nodes[n].gpus == cluster->largest &&
            take_node(cluster, request, n, cluster->largest, &gpus[chosen])) {
            chosen += cluster->largest;
            nodes++;
        }
    if (nodes < whole)
        return false;
    if (rest == 0)
        return true;
    for (uint32_t n = 0; n < cluster->node_count; n++) {
        bool used = false;
        for (uint32_t k = 0; k < chosen && !used; k += cluster->largest)
            used = cluster->gpus[gpus[k]].node == n;
        if (!used && take_node(cluster, request, n, rest, &gpus[chosen])) {
            if (whole > 0)
                qsort(gpus, request->gpus, sizeof *gpus, compare_gpus);
            return true;
        }
    }
    return false;
}
