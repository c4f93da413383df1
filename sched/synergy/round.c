#include "sched/synergy/round.h"

#include <string.h>

double synergy_fair_vcpus(const struct synergy_servers *servers)
{
    return servers->vcpus / servers->gpus;
}

double synergy_fair_memory(const struct synergy_servers *servers)
{
    return servers->memory / servers->gpus;
}

/* ---- The kept list --------------------------------------------------------------------------- */

struct synergy_round *synergy_round_create(struct arena *arena,
                                           const struct synergy_servers *servers,
                                           enum synergy_order order,
                                           enum synergy_allocation allocation, double starved_s)
{
    const size_t gpus = (size_t)servers->count * servers->gpus;
    struct synergy_round *round = arena_allocate(arena, 1, sizeof *round);
    *round = (struct synergy_round){
        .arena = arena,
        .servers = *servers,
        .order = order,
        .allocation = allocation,
        .starved_s = starved_s,
        .pieces = arena_allocate(arena, gpus, sizeof *round->pieces),
        .lists = arena_allocate(arena, gpus, sizeof(struct synergy_training *)),
        .down = arena_allocate(arena, servers->count, sizeof *round->down),
        .state = arena_allocate(arena, servers->count, sizeof *round->state)};
    return round;
}

void synergy_round_add(struct synergy_round *round, struct synergy_training *training)
{
    const size_t wanted = round->count + 1;
    arena_reserve(round->arena, &round->list, wanted, sizeof(struct synergy_training *));
    arena_reserve(round->arena, &round->scratch, wanted, sizeof(struct synergy_training *));
    round->list[round->count++] = training;
}

void synergy_round_remove(struct synergy_round *round, const struct synergy_training *training)
{
    size_t i = 0;
    while (i < round->count && round->list[i] != training)
        i++;
    if (i == round->count)
        return;
    round->count--;
    memmove(&round->list[i], &round->list[i + 1], (round->count - i) * sizeof *round->list);
}

/* ---- Order ----------------------------------------------------------------------------------- */

static double order_key(const struct synergy_round *round, const struct synergy_training *training,
                        double now_s)
{
    if (round->order == SYNERGY_FIFO)
        return 0;
    if (round->order == SYNERGY_LAS)
        return training->attained_s * training->gpus;
    double remaining = training->iteration_s * (double)(training->iterations - training->done);
    if (round->allocation != SYNERGY_PROPORTIONAL)
        remaining /= training->speed;
    if (round->order == SYNERGY_SRTF)
        return remaining;
    return (now_s - training->arrival_s + remaining) /
           (training->iteration_s * (double)training->iterations);
}

static bool comes_before(const struct synergy_round *round, const struct synergy_training *a,
                         const struct synergy_training *b)
{
    if (round->order != SYNERGY_FIFO && a->priority != b->priority)
        return a->priority;
    if (a->key != b->key)
        return a->key < b->key;
    return a->arrival_s < b->arrival_s;
}

/* A stable merge sort. Rounds leave the list nearly sorted: two halves in order cost one
 * comparison. */
static void sort_trainings(const struct synergy_round *round, struct synergy_training **list,
                           struct synergy_training **scratch, size_t count)
{
    const size_t half = count / 2;
    if (count < 2)
        return;
    sort_trainings(round, list, scratch, half);
    sort_trainings(round, list + half, scratch, count - half);
    if (!comes_before(round, list[half], list[half - 1]))
        return;
    memcpy(scratch, list, half * sizeof *list);
    size_t a = 0;
    size_t b = half;
    size_t to = 0;
    while (a < half && b < count)
        list[to++] = comes_before(round, list[b], scratch[a]) ? list[b++] : scratch[a++];
    memcpy(&list[to], &scratch[a], (half - a) * sizeof *list);
}

/* ---- Placement ------------------------------------------------------------------------------- */

/* GPUs of a server that can be had with so much each, at most `most`. What was just taken counts
 * beside what is free, as the original holds it. */
static uint32_t count_fit(const struct synergy_round *round, uint32_t server, double vcpus,
                          double memory, uint32_t most)
{
    const struct synergy_server *state = &round->state[server];
    double held_vcpus = 0;
    double held_memory = 0;
    uint32_t gpus = 0;
    for (; gpus < most && state->used + gpus < round->servers.gpus; gpus++) {
        if (state->vcpus - held_vcpus < vcpus || state->memory - held_memory < memory)
            break;
        held_vcpus += vcpus;
        held_memory += memory;
    }
    return gpus;
}

static void take(struct synergy_round *round, struct synergy_training *training, uint32_t server,
                 uint32_t gpus)
{
    struct synergy_server *state = &round->state[server];
    round->pieces[round->piece_count++] =
        (struct synergy_piece){.server = server, .first = state->used, .gpus = gpus};
    training->pieces++;
    state->used += gpus;
    state->vcpus -= gpus * training->vcpus_per_gpu;
    state->memory -= gpus * training->memory_per_gpu;
    round->free -= gpus;
}

bool synergy_first_fit(struct synergy_round *round, struct synergy_training *training,
                       double vcpus_per_gpu, double memory_per_gpu)
{
    const uint32_t servers = round->servers.count;
    while (round->first < servers && round->state[round->first].used == round->servers.gpus)
        round->first++;
    uint32_t found = 0;
    uint32_t end = round->first;
    for (; end < servers && found < training->gpus; end++)
        found += count_fit(round, end, vcpus_per_gpu, memory_per_gpu, training->gpus - found);
    if (found < training->gpus)
        return false;
    training->placed = true;
    training->vcpus_per_gpu = vcpus_per_gpu;
    training->memory_per_gpu = memory_per_gpu;
    training->piece = (uint32_t)round->piece_count;
    uint32_t left = training->gpus;
    for (uint32_t server = round->first; server < end; server++) {
        const uint32_t gpus = count_fit(round, server, vcpus_per_gpu, memory_per_gpu, left);
        if (gpus == 0)
            continue;
        take(round, training, server, gpus);
        struct synergy_server *state = &round->state[server];
        round->lists[server * round->servers.gpus + state->listed++] = training;
        left -= gpus;
    }
    return true;
}

static bool place(struct synergy_round *round, struct synergy_training *training)
{
    const double gpus = training->gpus;
    if (round->allocation == SYNERGY_PROPORTIONAL) {
        training->rate = training->fair_speed;
        return synergy_first_fit(round, training, synergy_fair_vcpus(&round->servers),
                                 synergy_fair_memory(&round->servers));
    }
    if (round->allocation == SYNERGY_TUNE)
        return synergy_tune(round, training);
    training->rate = training->speed;
    return synergy_first_fit(round, training, training->vcpus / gpus, training->memory / gpus);
}

/* ---- A round --------------------------------------------------------------------------------- */

static void release_all(struct synergy_round *round, double now_s)
{
    round->free = 0;
    for (uint32_t s = 0; s < round->servers.count; s++) {
        round->state[s] = (struct synergy_server){.used = round->down[s] ? round->servers.gpus : 0,
                                                  .vcpus = round->servers.vcpus,
                                                  .memory = round->servers.memory};
        round->free += round->servers.gpus - round->state[s].used;
    }
    round->first = 0;
    round->piece_count = 0;
    for (size_t i = 0; i < round->count; i++) {
        struct synergy_training *training = round->list[i];
        const double since = training->last_end_s < 0 ? training->arrival_s : training->last_end_s;
        training->speed = training->speedup;
        training->placed = false;
        training->pieces = 0;
        training->priority = training->priority || now_s - since > round->starved_s;
    }
}

/* Those that fit when only GPUs are counted. */
static size_t count_candidates(struct synergy_round *round)
{
    uint32_t free = round->free;
    size_t count = 0;
    for (size_t i = 0; i < round->count && free > 0; i++)
        if (round->list[i]->gpus <= free) {
            free -= round->list[i]->gpus;
            round->scratch[count++] = round->list[i];
        }
    return count;
}

bool synergy_round_run(struct synergy_round *round, double now_s, struct error *error)
{
    struct synergy_training **candidates = round->list;
    size_t count = round->count;
    for (size_t i = 0; i < round->count; i++)
        round->list[i]->key = order_key(round, round->list[i], now_s);
    sort_trainings(round, round->list, round->scratch, round->count);
    release_all(round, now_s);
    if (round->order == SYNERGY_LAS || round->allocation == SYNERGY_OPT) {
        candidates = round->scratch;
        count = count_candidates(round);
    }
    if (round->allocation == SYNERGY_OPT)
        return synergy_opt(round, candidates, count, error);
    if (round->order == SYNERGY_LAS && round->allocation == SYNERGY_TUNE)
        for (size_t i = 1; i < count; i++) { /* stable, in place: `scratch` is in use */
            struct synergy_training *training = candidates[i];
            size_t to = i;
            for (; to > 0 && training->gpus > candidates[to - 1]->gpus; to--)
                candidates[to] = candidates[to - 1];
            candidates[to] = training;
        }
    for (size_t i = 0; i < count && round->free > 0; i++)
        if (candidates[i]->gpus <= round->free)
            (void)place(round, candidates[i]);
    return true;
}
