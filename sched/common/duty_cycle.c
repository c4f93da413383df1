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

static uint32_t list_of(const struct duty_cycle *rounds, const struct server *server)
{
    if (server->count == 0)
        return rounds->queue_count;
    return server->count == 1 ? rounds->slots[server->first].queue : rounds->queue_count + 1;
}

static void server_sleep(struct duty_cycle *rounds, uint32_t id)
{
    struct server *server = &rounds->servers[id];
    uint32_t *head = &rounds->asleep[list_of(rounds, server)];
    server->state = SERVER_ASLEEP;
    server->previous = SIM_NONE;
    server->next = *head;
    if (*head != SIM_NONE)
        rounds->servers[*head].previous = id;
    *head = id;
}

static void server_run(struct duty_cycle *rounds, uint32_t id)
{
    struct server *server = &rounds->servers[id];
    if (server->state == SERVER_ASLEEP) {
        if (server->previous == SIM_NONE)
            rounds->asleep[list_of(rounds, server)] = server->next;
        else
            rounds->servers[server->previous].next = server->next;
        if (server->next != SIM_NONE)
            rounds->servers[server->next].previous = server->previous;
    }
    rounds->blocked -= server->state == SERVER_BLOCKED;
    server->state = SERVER_RUNNABLE;
    const uint32_t end = (rounds->runnable_head + rounds->runnable_count) % rounds->server_count;
    rounds->runnable[end] = id;
    rounds->runnable_count++;
}

static uint32_t runnable_take(struct duty_cycle *rounds)
{
    const uint32_t id = rounds->runnable[rounds->runnable_head];
    rounds->runnable_head = (rounds->runnable_head + 1) % rounds->server_count;
    rounds->runnable_count--;
    return id;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

struct duty_cycle *duty_cycle_create(struct arena *arena, const struct workload *workload,
                                     struct duty_cycle_rule rule)
{
    struct duty_cycle *rounds = arena_allocate(arena, 1, sizeof *rounds);
    const size_t queues = (size_t)workload->queue_count + 2;
    rounds->rule = rule;
    rounds->arena = arena;
    rounds->queue_count = workload->queue_count;
    rounds->invoker_count = workload->cluster.invoker_count;
    rounds->alike = workload->cluster.group_count == 1;
    rounds->asleep = arena_allocate(arena, queues, sizeof *rounds->asleep);
    rounds->of_invoker =
        arena_allocate(arena, (size_t)rounds->invoker_count + 1, sizeof *rounds->of_invoker);
    rounds->shared_first = arena_allocate(arena, queues, sizeof *rounds->shared_first);
    rounds->planned = arena_allocate(arena, queues, sizeof *rounds->planned);
    rounds->overheads = arena_allocate(arena, queues, sizeof *rounds->overheads);
    unique_fifo_init(&rounds->orphans, arena, rounds->queue_count);
    duty_cycle_begin(rounds);
    return rounds;
}

void duty_cycle_begin(struct duty_cycle *rounds)
{
    const size_t queues = (size_t)rounds->queue_count + 2;
    rounds->server_count = 0;
    rounds->slot_count = 0;
    rounds->runnable_count = 0;
    rounds->runnable_head = 0;
    rounds->blocked = 0;
    while (unique_fifo_next(&rounds->orphans) != SIM_NONE)
        ;
    for (size_t i = 0; i < queues; i++)
        rounds->asleep[i] = SIM_NONE;
    memset(rounds->planned, 0, queues * sizeof *rounds->planned);
    memset(rounds->shared_first, 0, queues * sizeof *rounds->shared_first);
    memset(rounds->of_invoker, 0, ((size_t)rounds->invoker_count + 1) * sizeof(uint32_t));
}

void duty_cycle_add_server(struct duty_cycle *rounds, uint32_t invoker, uint32_t size)
{
    arena_reserve(rounds->arena, &rounds->servers, rounds->server_count + (size_t)1,
                  sizeof *rounds->servers);
    rounds->servers[rounds->server_count++] = (struct server){
        .invoker = invoker, .size = size, .first = rounds->slot_count, .state = SERVER_BUSY};
}

void duty_cycle_add_slot(struct duty_cycle *rounds, struct duty_cycle_slot slot)
{
    arena_reserve(rounds->arena, &rounds->slots, rounds->slot_count + (size_t)1, sizeof slot);
    rounds->slots[rounds->slot_count++] = slot;
    rounds->servers[rounds->server_count - 1].count++;
    rounds->planned[slot.queue] = true;
}

/* Builds two indices by counting: the servers of each invoker, and those of several slots by queue.
 */
static void index_servers(struct duty_cycle *rounds)
{
    arena_reserve(rounds->arena, &rounds->shared, rounds->slot_count, sizeof *rounds->shared);
    arena_reserve(rounds->arena, &rounds->runnable, rounds->server_count, sizeof *rounds->runnable);
    for (uint32_t i = 0; i < rounds->server_count; i++) {
        const struct server *server = &rounds->servers[i];
        rounds->of_invoker[server->invoker + 1] = i + 1;
        for (uint32_t s = 0; server->count > 1 && s < server->count; s++)
            rounds->shared_first[rounds->slots[server->first + s].queue]++;
    }
    for (uint32_t i = 1; i <= rounds->invoker_count; i++)
        if (rounds->of_invoker[i] < rounds->of_invoker[i - 1])
            rounds->of_invoker[i] = rounds->of_invoker[i - 1];
    /* From the end of each queue's range, counted down to its start. */
    for (uint32_t q = 1; q <= rounds->queue_count; q++)
        rounds->shared_first[q] += rounds->shared_first[q - 1];
    for (uint32_t i = rounds->server_count; i-- > 0;) {
        const struct server *server = &rounds->servers[i];
        for (uint32_t s = 0; server->count > 1 && s < server->count; s++)
            rounds->shared[--rounds->shared_first[rounds->slots[server->first + s].queue]] = i;
    }
}

void duty_cycle_end(struct duty_cycle *rounds, const struct platform *platform)
{
    index_servers(rounds);
    for (uint32_t q = 0; q < rounds->queue_count; q++)
        if (!rounds->planned[q] && platform_queue_length(platform, q) > 0)
            unique_fifo_add(&rounds->orphans, q);
    for (uint32_t i = 0; i < rounds->server_count; i++)
        server_run(rounds, i);
}

sim_time_t duty_cycle_overhead(const struct duty_cycle *rounds, uint32_t queue)
{
    const struct overhead *overhead = &rounds->overheads[queue];
    return overhead->count > 0 ? overhead->sum / (sim_time_t)overhead->count : 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Wakes one sleeping server of the list, or all if servers differ in what they can run. */
static bool wake_list(struct duty_cycle *rounds, uint32_t list, bool all)
{
    bool woken = false;
    while (rounds->asleep[list] != SIM_NONE && (all || !woken)) {
        server_run(rounds, rounds->asleep[list]);
        woken = true;
    }
    return woken;
}

static void orphan_ready(struct duty_cycle *rounds, uint32_t queue)
{
    unique_fifo_add(&rounds->orphans, queue);
    const bool all = !rounds->alike;
    bool woken = wake_list(rounds, rounds->queue_count, all);
    if (!woken || all)
        woken = wake_list(rounds, rounds->queue_count + 1, all) || woken;
    for (uint32_t q = 0; q < rounds->queue_count && (!woken || all); q++)
        woken = wake_list(rounds, q, all) || woken;
}

void duty_cycle_on_ready(struct duty_cycle *rounds, uint32_t queue)
{
    if (!rounds->planned[queue]) {
        orphan_ready(rounds, queue);
        return;
    }
    if (wake_list(rounds, queue, false))
        return;
    for (uint32_t i = rounds->shared_first[queue]; i < rounds->shared_first[queue + 1]; i++)
        if (rounds->servers[rounds->shared[i]].state == SERVER_ASLEEP) {
            server_run(rounds, rounds->shared[i]);
            return;
        }
}

/* Two equal batches on one invoker cannot be distinguished, and it does not matter which of them
 * ended. */
void duty_cycle_on_finish(struct duty_cycle *rounds, const struct finished_batch *batch)
{
    bool found = false;
    if (rounds->server_count == 0)
        return;
    for (uint32_t i = rounds->of_invoker[batch->invoker];
         i < rounds->of_invoker[batch->invoker + 1]; i++) {
        const struct server *server = &rounds->servers[i];
        const bool its = !found && server->state == SERVER_BUSY && server->queue == batch->queue &&
                         server->configuration == batch->configuration;
        found = found || its;
        if (its && server->warm) {
            rounds->overheads[batch->queue].sum += batch->started - server->dispatched;
            rounds->overheads[batch->queue].count++;
        }
        if (its || server->state == SERVER_BLOCKED)
            server_run(rounds, i);
    }
}

void duty_cycle_wake(struct duty_cycle *rounds)
{
    rounds->retry_set = false;
    for (uint32_t i = 0; rounds->blocked > 0 && i < rounds->server_count; i++)
        if (rounds->servers[i].state == SERVER_BLOCKED)
            server_run(rounds, i);
}

/* ---- Deciding -------------------------------------------------------------------------------- */

/* The number of jobs in the slot's next batch, after early drop. A job is dropped if the batch, at
 * its largest possible size, would end too late for it [code: sliding window]. */
static uint32_t batch_jobs(const struct duty_cycle *rounds, struct platform *platform,
                           const struct duty_cycle_slot *slot)
{
    const uint32_t queue = slot->queue;
    uint32_t length = platform_queue_length(platform, queue);
    uint32_t expected = length < slot->batch ? length : slot->batch;
    if (rounds->rule.rest == NULL || expected == 0)
        return expected;
    const sim_time_t after =
        platform_now(platform) + duty_cycle_overhead(rounds, queue) + rounds->rule.rest[queue];
    sim_time_t finish = after + batch_latency_time(slot->ladder, expected);
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
                finish = after + batch_latency_time(slot->ladder, expected);
        }
    }
    return expected;
}

enum outcome { OUTCOME_NOTHING, OUTCOME_NO_ROOM, OUTCOME_DISPATCHED };

static enum outcome slot_serve(const struct duty_cycle *rounds, struct platform *platform,
                               struct server *server, const struct duty_cycle_slot *slot)
{
    platform_charge(platform, 1);
    const uint32_t jobs = batch_jobs(rounds, platform, slot);
    if (jobs == 0)
        return OUTCOME_NOTHING;
    const uint32_t function = platform_queue_function(platform, slot->queue);
    const uint32_t configuration =
        slot->ladder->configuration[batch_latency_step(slot->ladder, jobs)];
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
static enum outcome orphans_serve(struct duty_cycle *rounds, struct platform *platform,
                                  struct server *server)
{
    enum outcome worst = OUTCOME_NOTHING;
    for (size_t left = rounds->orphans.count; left > 0; left--) {
        const uint32_t queue = unique_fifo_next(&rounds->orphans);
        struct duty_cycle_slot slot;
        enum outcome outcome = OUTCOME_NOTHING;
        if (platform_queue_length(platform, queue) == 0)
            continue;
        if (rounds->rule.orphan(rounds->rule.context, queue, server->invoker, server->size, &slot))
            outcome = slot_serve(rounds, platform, server, &slot);
        if (platform_queue_length(platform, queue) > 0)
            unique_fifo_add(&rounds->orphans, queue);
        if (outcome == OUTCOME_DISPATCHED)
            return outcome;
        worst = outcome > worst ? outcome : worst;
    }
    return worst;
}

/* Starts one batch, from the present slot of the round on. False if there is nothing to do or no
 * room. */
static bool server_serve(struct duty_cycle *rounds, struct platform *platform, uint32_t id)
{
    struct server *server = &rounds->servers[id];
    enum outcome worst = OUTCOME_NOTHING;
    for (uint32_t k = 0; k <= server->count; k++) {
        const uint32_t turn = (server->turn + k) % (server->count + 1);
        const enum outcome outcome =
            turn == server->count
                ? orphans_serve(rounds, platform, server)
                : slot_serve(rounds, platform, server, &rounds->slots[server->first + turn]);
        if (outcome == OUTCOME_DISPATCHED) {
            server->turn = (turn + 1) % (server->count + 1);
            return true;
        }
        worst = outcome > worst ? outcome : worst;
    }
    if (worst == OUTCOME_NO_ROOM) {
        server->state = SERVER_BLOCKED;
        rounds->blocked++;
    } else {
        server_sleep(rounds, id);
    }
    return false;
}

bool duty_cycle_decide(struct duty_cycle *rounds, struct platform *platform)
{
    bool dispatched = false;
    while (!dispatched && rounds->runnable_count > 0)
        dispatched = server_serve(rounds, platform, runnable_take(rounds));
    if (rounds->blocked > 0 && !rounds->retry_set) {
        rounds->retry_set = true;
        platform_set_timer(platform, platform_now(platform) + rounds->rule.retry,
                           rounds->rule.retry_timer);
    }
    return dispatched && rounds->runnable_count > 0;
}
