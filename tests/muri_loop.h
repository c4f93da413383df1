/* Muri's simulator of srtf, srsf and tiresias as an event loop of its own.
 *
 * The three orders as the authors of Muri (Zhao et al., SIGCOMM 2022) simulate them beside theirs
 * (Rivendile/Muri at 4e69a78, simulator/run_sim.py:227-364, 369-671, switch.py:47-181), with their
 * restart mode: at every event each running training loses up to its restart time. The policies of
 * these names on the platform restart only trainings that move. This loop exists to reproduce the
 * original's figures and to prove the orders.
 */
#ifndef ESGSIM_TESTS_MURI_LOOP_H
#define ESGSIM_TESTS_MURI_LOOP_H

#include "sim/base/error.h"
#include "tests/suite.h"

enum muri_order { MURI_SRTF, MURI_SRSF, MURI_TIRESIAS };

struct muri_cluster {
    uint32_t nodes, gpus; /* GPUs on each node */
    double vcpus, memory_gb;
};

struct muri_training {
    uint32_t gpus;
    double arrival_s;   /* ascending */
    double iteration_s; /* of the gang */
    double iterations;
    double restart_s;
    /* Results. */
    double start_s, finish_s, executed_s;
};

enum { QUEUES = 3 };

/* GPU·s in the first and second queue (simulator/jobs.py:104-106). */
static const double queue_limits[QUEUES - 1] = {3250, 7200};

/* Demands per worker and parameter server (simulator/jobs.py:109-111, switch.py:47-181). */
static const double vcpus_per_gpu = 6, vcpus_alone = 2, worker_gb = 5, server_gb = 6,
                    server_gb_per_gpu = 0.1;

struct unfinished {
    struct muri_training *training;
    double remaining; /* iterations */
    double checked_s;
    double key;
    double executed_s;
    uint32_t queue;
    bool running, fits;
};

struct node {
    uint32_t free;
    double vcpus, memory_gb;
};

struct loop {
    enum muri_order order;
    const struct muri_cluster *cluster;
    struct node *nodes;
    struct unfinished *entries; /* of all trainings */
    struct unfinished **list;   /* unfinished, in the kept order */
    size_t count;
    struct unfinished **queues[QUEUES];
    size_t queued[QUEUES];
    struct unfinished **scratch;
    double now_s, jump_s;
};

/* ---- Lists ----------------------------------------------------------------------------------- */

static void remove_from(struct unfinished **list, size_t *count, const struct unfinished *entry)
{
    size_t i = 0;
    while (list[i] != entry)
        i++;
    (*count)--;
    memmove(&list[i], &list[i + 1], (*count - i) * sizeof *list);
}

/* Stable; the list is nearly sorted. */
static void sort_list(struct loop *loop)
{
    for (size_t i = 1; i < loop->count; i++) {
        struct unfinished *entry = loop->list[i];
        size_t to = i;
        for (; to > 0 && entry->key < loop->list[to - 1]->key; to--)
            loop->list[to] = loop->list[to - 1];
        loop->list[to] = entry;
    }
}

static void set_key(struct loop *loop, struct unfinished *entry)
{
    entry->key = entry->remaining * entry->training->iteration_s;
    if (loop->order == MURI_SRSF)
        entry->key *= entry->training->gpus;
}

/* ---- Placement of srtf and srsf -------------------------------------------------------------- */

static bool place_on_one(struct loop *loop, uint32_t gpus)
{
    const double vcpus = gpus == 1 ? vcpus_alone : gpus * vcpus_per_gpu;
    for (uint32_t n = 0; n < loop->cluster->nodes; n++) {
        struct node *node = &loop->nodes[n];
        if (node->free < gpus || node->vcpus < vcpus || node->memory_gb < worker_gb)
            continue;
        node->free -= gpus;
        node->vcpus -= vcpus;
        node->memory_gb -= worker_gb;
        return true;
    }
    return false;
}

static bool has_room(const struct node *node, uint32_t gpus, double gb_per_gpu)
{
    return node->free >= gpus && node->vcpus >= gpus * vcpus_per_gpu &&
           node->memory_gb >= gb_per_gpu * gpus;
}

static void take(struct node *node, uint32_t gpus, double gb_per_gpu)
{
    node->free -= gpus;
    node->vcpus -= gpus * vcpus_per_gpu;
    node->memory_gb -= gb_per_gpu * gpus;
}

/* Whole idle nodes, then one node for the rest. */
static bool place_on_many(struct loop *loop, uint32_t gpus)
{
    const uint32_t per_node = loop->cluster->gpus;
    const double gb = server_gb + gpus * server_gb_per_gpu + worker_gb;
    const uint32_t rest = gpus % per_node;
    uint32_t whole = gpus / per_node;
    uint32_t last = loop->cluster->nodes;
    uint32_t end = 0; /* idle nodes before it are taken */
    for (; end < loop->cluster->nodes && whole > 0; end++)
        if (has_room(&loop->nodes[end], per_node, gb))
            whole--;
    if (whole > 0)
        return false;
    for (uint32_t n = 0; rest > 0 && n < loop->cluster->nodes && last == loop->cluster->nodes; n++)
        if (has_room(&loop->nodes[n], rest, gb) &&
            (n >= end || !has_room(&loop->nodes[n], per_node, gb)))
            last = n;
    if (rest > 0 && last == loop->cluster->nodes)
        return false;
    if (rest > 0)
        take(&loop->nodes[last], rest, gb);
    for (uint32_t n = 0; n < end; n++)
        if (has_room(&loop->nodes[n], per_node, gb))
            take(&loop->nodes[n], per_node, gb);
    return true;
}

/* Empties the cluster and places all in order; what does not fit waits. */
static void place_all(struct loop *loop)
{
    uint32_t free = loop->cluster->nodes * loop->cluster->gpus;
    sort_list(loop);
    for (uint32_t n = 0; n < loop->cluster->nodes; n++)
        loop->nodes[n] = (struct node){.free = loop->cluster->gpus,
                                       .vcpus = loop->cluster->vcpus,
                                       .memory_gb = loop->cluster->memory_gb};
    for (size_t i = 0; i < loop->count; i++) {
        struct unfinished *entry = loop->list[i];
        const uint32_t gpus = entry->training->gpus;
        entry->fits = gpus <= free && (gpus > loop->cluster->gpus ? place_on_many(loop, gpus)
                                                                  : place_on_one(loop, gpus));
        free -= entry->fits ? gpus : 0;
    }
}

/* ---- Queues of tiresias ---------------------------------------------------------------------- */

/* A running training that has used up its queue's limit joins the next one's end, one queue an
 * event. */
static void demote(struct loop *loop, struct unfinished *entry)
{
    if (entry->queue + 1 == QUEUES ||
        entry->executed_s * entry->training->gpus < queue_limits[entry->queue])
        return;
    loop->queues[entry->queue + 1][loop->queued[entry->queue + 1]++] = entry;
    remove_from(loop->queues[entry->queue], &loop->queued[entry->queue], entry);
    entry->queue++;
}

/* GPUs are counted, not placed. Each queue then has its running trainings first. */
static void fill_from_queues(struct loop *loop)
{
    uint32_t free = loop->cluster->nodes * loop->cluster->gpus;
    for (size_t q = 0; q < QUEUES; q++) {
        struct unfinished **queue = loop->queues[q];
        size_t running = 0;
        size_t waiting = 0;
        for (size_t i = 0; i < loop->queued[q]; i++) {
            queue[i]->fits = queue[i]->training->gpus <= free;
            free -= queue[i]->fits ? queue[i]->training->gpus : 0;
            if (queue[i]->fits)
                queue[running++] = queue[i];
            else
                loop->scratch[waiting++] = queue[i];
        }
        memcpy(&queue[running], loop->scratch, waiting * sizeof *queue);
    }
}

/* The next instant at which a running training reaches its queue's limit. */
static double next_jump(const struct loop *loop)
{
    double jump = INFINITY;
    for (size_t i = 0; i < loop->count; i++) {
        const struct unfinished *entry = loop->list[i];
        if (entry->running && entry->queue + 1 < QUEUES)
            jump = fmin(jump, ceil(queue_limits[entry->queue] / entry->training->gpus) -
                                  entry->executed_s + loop->now_s);
    }
    return jump;
}

/* ---- The loop -------------------------------------------------------------------------------- */

static double end_of(const struct loop *loop, const struct unfinished *entry)
{
    return loop->now_s + entry->remaining * entry->training->iteration_s;
}

/* Work done since the last event, less the restart time, which passes at every event. */
static void advance(struct loop *loop)
{
    for (size_t i = 0; i < loop->count; i++) {
        struct unfinished *entry = loop->list[i];
        const double elapsed = loop->now_s - entry->checked_s;
        entry->checked_s = loop->now_s;
        if (!entry->running)
            continue;
        const double work = fmax(elapsed - entry->training->restart_s, 0);
        entry->training->executed_s += elapsed;
        entry->executed_s += elapsed;
        entry->remaining -= work / entry->training->iteration_s;
        set_key(loop, entry);
        if (loop->order == MURI_TIRESIAS)
            demote(loop, entry);
    }
}

static void add(struct loop *loop, struct unfinished *entry)
{
    entry->checked_s = entry->training->arrival_s;
    set_key(loop, entry);
    loop->list[loop->count++] = entry;
    if (loop->order == MURI_TIRESIAS)
        loop->queues[0][loop->queued[0]++] = entry;
}

/* Those whose end was planned for this instant. */
static void finish(struct loop *loop, double planned_s)
{
    size_t kept = 0;
    for (size_t i = 0; i < loop->count; i++) {
        struct unfinished *entry = loop->list[i];
        if (!entry->running || end_of(loop, entry) != planned_s) {
            loop->list[kept++] = entry;
            continue;
        }
        entry->training->executed_s += planned_s - entry->checked_s;
        entry->training->finish_s = planned_s;
        if (loop->order == MURI_TIRESIAS)
            remove_from(loop->queues[entry->queue], &loop->queued[entry->queue], entry);
    }
    loop->count = kept;
}

static void schedule(struct loop *loop)
{
    if (loop->order == MURI_TIRESIAS)
        fill_from_queues(loop);
    else
        place_all(loop);
    for (size_t i = 0; i < loop->count; i++) {
        struct unfinished *entry = loop->list[i];
        entry->running = entry->fits;
        if (entry->running)
            entry->training->start_s = fmin(entry->training->start_s, loop->now_s);
    }
    loop->jump_s = loop->order == MURI_TIRESIAS ? next_jump(loop) : INFINITY;
}

static bool loop_run(struct loop *loop, size_t count, struct error *error)
{
    for (size_t next = 0; next < count || loop->count > 0;) {
        const double arrival = next < count ? loop->entries[next].training->arrival_s : INFINITY;
        double end = INFINITY;
        for (size_t i = 0; i < loop->count; i++)
            if (loop->list[i]->running)
                end = fmin(end, end_of(loop, loop->list[i]));
        const double now = fmin(fmin(arrival, end), loop->jump_s);
        if (now == INFINITY)
            return error_run(error, "muri: a training of %u GPUs never fits the cluster",
                             loop->count > 0 ? loop->list[0]->training->gpus : 0);
        if (now == end)
            finish(loop, end);
        loop->now_s = now;
        for (; next < count && loop->entries[next].training->arrival_s == now; next++)
            add(loop, &loop->entries[next]);
        advance(loop);
        schedule(loop);
    }
    return true;
}

static void close_loop(struct loop *loop)
{
    free(loop->nodes);
    free(loop->entries);
    free(loop->list);
    free(loop->scratch);
    for (size_t q = 0; q < QUEUES; q++)
        free(loop->queues[q]);
}

/* Runs all trainings to their end. ERROR_RUN without memory, or if one never fits. O(events ×
 * unfinished). */
static bool muri_run(enum muri_order order, const struct muri_cluster *cluster,
                     struct muri_training *trainings, size_t count, struct error *error)
{
    struct loop loop = {.order = order, .cluster = cluster, .jump_s = INFINITY};
    loop.nodes = calloc(cluster->nodes + 1, sizeof *loop.nodes);
    loop.entries = calloc(count + 1, sizeof *loop.entries);
    loop.list = calloc(count + 1, sizeof(struct unfinished *));
    loop.scratch = calloc(count + 1, sizeof(struct unfinished *));
    bool good =
        loop.nodes != NULL && loop.entries != NULL && loop.list != NULL && loop.scratch != NULL;
    for (size_t q = 0; q < QUEUES; q++) {
        loop.queues[q] = calloc(count + 1, sizeof(struct unfinished *));
        good = good && loop.queues[q] != NULL;
    }
    for (size_t i = 0; good && i < count; i++) {
        trainings[i].start_s = INFINITY;
        trainings[i].finish_s = 0;
        trainings[i].executed_s = 0;
        loop.entries[i] =
            (struct unfinished){.training = &trainings[i], .remaining = trainings[i].iterations};
    }
    good = good ? loop_run(&loop, count, error) : error_run(error, "muri: out of memory");
    close_loop(&loop);
    return good;
}

#endif
