#include "sched/common/duty_cycle.h"

#include <string.h>

#include "sched/common/unique_fifo.h"

enum server_state { SERVER_ASLEEP, SERVER_RUNNABLE, SERVER_BUSY, SERVER_BLOCKED };

struct server {
    uint32_t invoker, size;
    uint32_t first, count; /* range of its slots */
    uint32_t turn;         /* next slot of the round; `count` means the orphans */
    enum server_state state;
    uint32_t previous, next;       /* links of its list, while asleep */
    uint32_t queue, configuration; /* queue and configuration of its batch, while busy */
    sim_time_t dispatched;
    bool warm;
};

/* Per queue: the time of its warm batches between dispatch and execution. */
struct overhead {
    sim_time_t sum;
    uint64_t count;
};

/* Sleeping servers are kept in lists: one per queue (servers with only that slot), one for the
 * spare servers, one for those of several slots. */
struct duty_cycle {
    struct duty_cycle_rule rule;
    struct arena *arena;
    uint32_t queue_count, invoker_count;
    bool alike; /* one invoker group: servers of equal size can run the same batches */
    struct server *servers;
    uint32_t server_count;
    struct duty_cycle_slot *slots;
    uint32_t slot_count;
    uint32_t *asleep;       /* heads of the lists */
    uint32_t *of_invoker;   /* first server of each invoker, and one extra entry at the end */
    uint32_t *shared_first; /* by queue: start of its servers of several slots in `shared` */
    uint32_t *shared;
    bool *planned; /* by queue */
    struct overhead *overheads;
    struct unique_fifo orphans; /* queues with jobs and without a slot */
    uint32_t *runnable, runnable_head, runnable_count;
    uint32_t blocked;
    bool retry_set;
};

/* ---- Lists ----------------------------------------------------------------------------------- */

static uint32_t list_of(const struct duty_cycle *cycle, const struct server *server)
{
    if (server->count == 0)
        return cycle->queue_count;
    return server->count == 1 ? cycle->slots[server->first].queue : cycle->queue_count + 1;
}

static void server_sleep(struct duty_cycle *cycle, uint32_t id)
{
    struct server *server = &cycle->servers[id];
    uint32_t *head = &cycle->asleep[list_of(cycle, server)];
    server->state = SERVER_ASLEEP;
    server->previous = SIM_NONE;
    server->next = *head;
    if (*head != SIM_NONE)
        cycle->servers[*head].previous = id;
    *head = id;
}

static void server_run(struct duty_cycle *cycle, uint32_t id)
{
    struct server *server = &cycle->servers[id];
    if (server->state == SERVER_ASLEEP) {
        if (server->previous == SIM_NONE)
            cycle->asleep[list_of(cycle, server)] = server->next;
        else
            cycle->servers[server->previous].next = server->next;
        if (server->next != SIM_NONE)
            cycle->servers[server->next].previous = server->previous;
    }
    cycle->blocked -= server->state == SERVER_BLOCKED;
    server->state = SERVER_RUNNABLE;
    const uint32_t end = (cycle->runnable_head + cycle->runnable_count) % cycle->server_count;
    cycle->runnable[end] = id;
    cycle->runnable_count++;
}

static uint32_t runnable_take(struct duty_cycle *cycle)
{
    const uint32_t id = cycle->runnable[cycle->runnable_head];
    cycle->runnable_head = (cycle->runnable_head + 1) % cycle->server_count;
    cycle->runnable_count--;
    return id;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

struct duty_cycle *duty_cycle_create(struct arena *arena, const struct workload *workload,
                                     struct duty_cycle_rule rule)
{
    struct duty_cycle *cycle = arena_allocate(arena, 1, sizeof *cycle);
    const size_t queues = (size_t)workload->queue_count + 2;
    cycle->rule = rule;
    cycle->arena = arena;
    cycle->queue_count = workload->queue_count;
    cycle->invoker_count = workload->cluster.invoker_count;
    cycle->alike = workload->cluster.group_count == 1;
    cycle->asleep = arena_allocate(arena, queues, sizeof *cycle->asleep);
    cycle->of_invoker =
        arena_allocate(arena, (size_t)cycle->invoker_count + 1, sizeof *cycle->of_invoker);
    cycle->shared_first = arena_allocate(arena, queues, sizeof *cycle->shared_first);
    cycle->planned = arena_allocate(arena, queues, sizeof *cycle->planned);
    cycle->overheads = arena_allocate(arena, queues, sizeof *cycle->overheads);
    unique_fifo_init(&cycle->orphans, arena, cycle->queue_count);
    duty_cycle_begin(cycle);
    return cycle;
}

void duty_cycle_begin(struct duty_cycle *cycle)
{
    const size_t queues = (size_t)cycle->queue_count + 2;
    cycle->server_count = 0;
    cycle->slot_count = 0;
    cycle->runnable_count = 0;
    cycle->runnable_head = 0;
    cycle->blocked = 0;
    while (unique_fifo_next(&cycle->orphans) != SIM_NONE)
        ;
    for (size_t i = 0; i < queues; i++)
        cycle->asleep[i] = SIM_NONE;
    memset(cycle->planned, 0, queues * sizeof *cycle->planned);
    memset(cycle->shared_first, 0, queues * sizeof *cycle->shared_first);
    memset(cycle->of_invoker, 0, ((size_t)cycle->invoker_count + 1) * sizeof(uint32_t));
}

void duty_cycle_add_server(struct duty_cycle *cycle, uint32_t invoker, uint32_t size)
{
    *ARENA_NEXT(cycle->arena, cycle->servers, cycle->server_count) = (struct server){
        .invoker = invoker, .size = size, .first = cycle->slot_count, .state = SERVER_BUSY};
}

void duty_cycle_add_slot(struct duty_cycle *cycle, struct duty_cycle_slot slot)
{
    *ARENA_NEXT(cycle->arena, cycle->slots, cycle->slot_count) = slot;
    cycle->servers[cycle->server_count - 1].count++;
    cycle->planned[slot.queue] = true;
}

/* Builds two indices by counting: the servers of each invoker, and those of several slots by queue.
 */
static void index_servers(struct duty_cycle *cycle)
{
    arena_reserve(cycle->arena, &cycle->shared, cycle->slot_count, sizeof *cycle->shared);
    arena_reserve(cycle->arena, &cycle->runnable, cycle->server_count, sizeof *cycle->runnable);
    for (uint32_t i = 0; i < cycle->server_count; i++) {
        const struct server *server = &cycle->servers[i];
        cycle->of_invoker[server->invoker + 1] = i + 1;
        for (uint32_t s = 0; server->count > 1 && s < server->count; s++)
            cycle->shared_first[cycle->slots[server->first + s].queue]++;
    }
    for (uint32_t i = 1; i <= cycle->invoker_count; i++)
        if (cycle->of_invoker[i] < cycle->of_invoker[i - 1])
            cycle->of_invoker[i] = cycle->of_invoker[i - 1];
    /* From the end of each queue's range, counted down to its start. */
    for (uint32_t q = 1; q <= cycle->queue_count; q++)
        cycle->shared_first[q] += cycle->shared_first[q - 1];
    for (uint32_t i = cycle->server_count; i-- > 0;) {
        const struct server *server = &cycle->servers[i];
        for (uint32_t s = 0; server->count > 1 && s < server->count; s++)
            cycle->shared[--cycle->shared_first[cycle->slots[server->first + s].queue]] = i;
    }
}

void duty_cycle_end(struct duty_cycle *cycle, const struct platform *platform)
{
    index_servers(cycle);
    for (uint32_t q = 0; q < cycle->queue_count; q++)
        if (!cycle->planned[q] && platform_queue_length(platform, q) > 0)
            unique_fifo_add(&cycle->orphans, q);
    for (uint32_t i = 0; i < cycle->server_count; i++)
        server_run(cycle, i);
}

sim_time_t duty_cycle_overhead(const struct duty_cycle *cycle, uint32_t queue)
{
    const struct overhead *overhead = &cycle->overheads[queue];
    return overhead->count > 0 ? overhead->sum / (sim_time_t)overhead->count : 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Wakes one sleeping server of the list, or all if servers differ in what they can run. */
static bool wake_list(struct duty_cycle *cycle, uint32_t list, bool all)
{
    bool woken = false;
    while (cycle->asleep[list] != SIM_NONE && (all || !woken)) {
        server_run(cycle, cycle->asleep[list]);
        woken = true;
    }
    return woken;
}

static void orphan_ready(struct duty_cycle *cycle, uint32_t queue)
{
    unique_fifo_add(&cycle->orphans, queue);
    const bool all = !cycle->alike;
    bool woken = wake_list(cycle, cycle->queue_count, all);
    if (!woken || all)
        woken = wake_list(cycle, cycle->queue_count + 1, all) || woken;
    for (uint32_t q = 0; q < cycle->queue_count && (!woken || all); q++)
        woken = wake_list(cycle, q, all) || woken;
}

void duty_cycle_on_ready(struct duty_cycle *cycle, uint32_t queue)
{
    if (!cycle->planned[queue]) {
        orphan_ready(cycle, queue);
        return;
    }
    if (wake_list(cycle, queue, false))
        return;
    for (uint32_t i = cycle->shared_first[queue]; i < cycle->shared_first[queue + 1]; i++)
        if (cycle->servers[cycle->shared[i]].state == SERVER_ASLEEP) {
            server_run(cycle, cycle->shared[i]);
            return;
        }
}

/* Two equal batches on one invoker cannot be distinguished, and it does not matter which of them
 * ended. */
void duty_cycle_on_finish(struct duty_cycle *cycle, const struct finished_batch *batch)
{
    bool found = false;
    if (cycle->server_count == 0)
        return;
    for (uint32_t i = cycle->of_invoker[batch->invoker]; i < cycle->of_invoker[batch->invoker + 1];
         i++) {
        const struct server *server = &cycle->servers[i];
        const bool its = !found && server->state == SERVER_BUSY && server->queue == batch->queue &&
                         server->configuration == batch->configuration;
        found = found || its;
        if (its && server->warm) {
            cycle->overheads[batch->queue].sum += batch->started - server->dispatched;
            cycle->overheads[batch->queue].count++;
        }
        if (its || server->state == SERVER_BLOCKED)
            server_run(cycle, i);
    }
}

void duty_cycle_wake(struct duty_cycle *cycle)
{
    cycle->retry_set = false;
    for (uint32_t i = 0; cycle->blocked > 0 && i < cycle->server_count; i++)
        if (cycle->servers[i].state == SERVER_BLOCKED)
            server_run(cycle, i);
}

/* ---- Deciding -------------------------------------------------------------------------------- */

/* The number of jobs in the slot's next batch, after early drop. A job is dropped if the batch, at
 * its largest possible size, would end too late for it [code: sliding window]. */
static uint32_t batch_jobs(const struct duty_cycle *cycle, struct platform *platform,
                           const struct duty_cycle_slot *slot)
{
    const uint32_t queue = slot->queue;
    uint32_t length = platform_queue_length(platform, queue);
    uint32_t expected = length < slot->batch ? length : slot->batch;
    if (cycle->rule.rest == NULL || expected == 0)
        return expected;
    const sim_time_t after =
        platform_now(platform) + duty_cycle_overhead(cycle, queue) + cycle->rule.rest[queue];
    sim_time_t finish = after + batch_latency_time(slot->latency_table, expected);
    uint32_t kept = 0;
    while (kept < expected) {
        if (platform_job(platform, queue, kept).deadline >= finish) {
            kept++;
            continue;
        }
        if (slot->overflow)
            return kept;
        platform_charge(platform, 1);
        if (!platform_drop(platform, queue, kept))
            return 0;
        length = platform_queue_length(platform, queue);
        if (length < expected) {
            expected = length;
            if (expected > 0)
                finish = after + batch_latency_time(slot->latency_table, expected);
        }
    }
    return expected;
}

enum outcome { OUTCOME_NOTHING, OUTCOME_NO_ROOM, OUTCOME_DISPATCHED };

static enum outcome slot_serve(const struct duty_cycle *cycle, struct platform *platform,
                               struct server *server, const struct duty_cycle_slot *slot)
{
    platform_charge(platform, 1);
    const uint32_t jobs = batch_jobs(cycle, platform, slot);
    if (jobs == 0)
        return OUTCOME_NOTHING;
    const uint32_t function = platform_queue_function(platform, slot->queue);
    const uint32_t configuration =
        slot->latency_table->configuration[batch_latency_step(slot->latency_table, jobs)];
    if (!platform_fits(platform, function, configuration, server->invoker))
        return OUTCOME_NO_ROOM;
    server->warm = platform_fits_warm(platform, function, configuration, server->invoker);
    server->dispatched = platform_now(platform);
    if (!platform_dispatch(platform, slot->queue, jobs, configuration, server->invoker))
        return OUTCOME_NOTHING;
    server->state = SERVER_BUSY;
    server->queue = slot->queue;
    server->configuration = configuration;
    return OUTCOME_DISPATCHED;
}

/* Serves the longest-waiting orphan that the server can run. */
static enum outcome orphans_serve(struct duty_cycle *cycle, struct platform *platform,
                                  struct server *server)
{
    enum outcome worst = OUTCOME_NOTHING;
    for (size_t left = cycle->orphans.count; left > 0; left--) {
        const uint32_t queue = unique_fifo_next(&cycle->orphans);
        struct duty_cycle_slot slot;
        enum outcome outcome = OUTCOME_NOTHING;
        if (platform_queue_length(platform, queue) == 0)
            continue;
        if (cycle->rule.orphan(cycle->rule.context, queue, server->invoker, server->size, &slot))
            outcome = slot_serve(cycle, platform, server, &slot);
        if (platform_queue_length(platform, queue) > 0)
            unique_fifo_add(&cycle->orphans, queue);
        if (outcome == OUTCOME_DISPATCHED)
            return outcome;
        worst = outcome > worst ? outcome : worst;
    }
    return worst;
}

/* Starts one batch, from the present slot of the round on. False if there is nothing to do or no
 * room. */
static bool server_serve(struct duty_cycle *cycle, struct platform *platform, uint32_t id)
{
    struct server *server = &cycle->servers[id];
    enum outcome worst = OUTCOME_NOTHING;
    for (uint32_t k = 0; k <= server->count; k++) {
        const uint32_t turn = (server->turn + k) % (server->count + 1);
        const enum outcome outcome =
            turn == server->count
                ? orphans_serve(cycle, platform, server)
                : slot_serve(cycle, platform, server, &cycle->slots[server->first + turn]);
        if (outcome == OUTCOME_DISPATCHED) {
            server->turn = (turn + 1) % (server->count + 1);
            return true;
        }
        worst = outcome > worst ? outcome : worst;
    }
    if (worst == OUTCOME_NO_ROOM) {
        server->state = SERVER_BLOCKED;
        cycle->blocked++;
    } else {
        server_sleep(cycle, id);
    }
    return false;
}

bool duty_cycle_decide(struct duty_cycle *cycle, struct platform *platform)
{
    bool dispatched = false;
    while (!dispatched && cycle->runnable_count > 0)
        dispatched = server_serve(cycle, platform, runnable_take(cycle));
    if (cycle->blocked > 0 && !cycle->retry_set) {
        cycle->retry_set = true;
        platform_set_timer(platform, platform_now(platform) + cycle->rule.retry,
                           cycle->rule.retry_timer);
    }
    return dispatched && cycle->runnable_count > 0;
}
