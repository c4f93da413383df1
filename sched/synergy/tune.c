/* Synergy-Tune: resources/cluster.py:589-730 of the authors' simulator. A training that does not
 * fit even at its proportional share takes what others hold beyond theirs. */
#include <math.h>

#include "sched/synergy/round.h"

struct need {
    double vcpus, memory;
};

static double above(double a, double b)
{
    return a > b ? a - b : 0;
}

/* The demand exceeds the proportional share of the gang anywhere. */
static bool exceeds_fair(const struct synergy_round *round, const struct synergy_training *training)
{
    return training->vcpus > synergy_fair_vcpus(&round->servers) * training->gpus ||
           training->memory > synergy_fair_memory(&round->servers) * training->gpus;
}

static uint32_t gpus_on(const struct synergy_round *round, const struct synergy_training *training,
                        uint32_t server)
{
    for (uint32_t p = 0; p < training->pieces; p++)
        if (round->pieces[training->piece + p].server == server)
            return round->pieces[training->piece + p].gpus;
    return 0;
}

/* Order in which peers give: fewer servers first, then more vCPUs per GPU, then more memory. */
static bool gives_before(const struct synergy_training *a, const struct synergy_training *b)
{
    if (a->pieces != b->pieces)
        return a->pieces < b->pieces;
    if (a->vcpus_per_gpu != b->vcpus_per_gpu)
        return a->vcpus_per_gpu > b->vcpus_per_gpu;
    return a->memory_per_gpu > b->memory_per_gpu;
}

/* Stable, in place: the list keeps this order for the rest of the round. */
static void sort_list(struct synergy_training **list, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        struct synergy_training *training = list[i];
        uint32_t to = i;
        for (; to > 0 && gives_before(training, list[to - 1]); to--)
            list[to] = list[to - 1];
        list[to] = training;
    }
}

/* A peer keeps its GPUs. Its vector becomes its demand, or the proportional share. It runs at
 * the proportional speed this round: the original allocates it again by a default of `fair`. */
static void shrink(struct synergy_round *round, struct synergy_training *peer)
{
    double vcpus = peer->vcpus;
    double memory = peer->memory;
    if (exceeds_fair(round, peer)) {
        vcpus = synergy_fair_vcpus(&round->servers) * peer->gpus;
        memory = synergy_fair_memory(&round->servers) * peer->gpus;
        peer->speed = peer->fair_speed;
    }
    for (uint32_t p = 0; p < peer->pieces; p++) {
        const struct synergy_piece *piece = &round->pieces[peer->piece + p];
        const double share = (double)piece->gpus / peer->gpus;
        struct synergy_server *state = &round->state[piece->server];
        state->vcpus += piece->gpus * peer->vcpus_per_gpu - vcpus * share;
        state->memory += piece->gpus * peer->memory_per_gpu - memory * share;
    }
    peer->vcpus_per_gpu = vcpus / peer->gpus;
    peer->memory_per_gpu = memory / peer->gpus;
    peer->rate = peer->fair_speed;
}

/* Peers on one server give until the need is met. They are selected first and shrink afterwards. */
static void take_from_peers(struct synergy_round *round, uint32_t server, struct need need)
{
    const uint32_t slots = round->servers.gpus;
    struct synergy_training **list = &round->lists[server * slots];
    const uint32_t listed = round->state[server].listed;
    uint32_t selected = 0;
    sort_list(list, listed);
    while (selected < listed && (need.vcpus > 0 || need.memory > 0)) {
        const struct synergy_training *peer = list[selected++];
        const double gpus = gpus_on(round, peer, server);
        need.vcpus = above(need.vcpus, above(gpus * peer->vcpus_per_gpu,
                                             gpus * synergy_fair_vcpus(&round->servers)));
        need.memory = above(need.memory, above(gpus * peer->memory_per_gpu,
                                               gpus * synergy_fair_memory(&round->servers)));
    }
    for (uint32_t i = 0; i < selected; i++)
        shrink(round, list[i]);
}

static void relieve(struct synergy_round *round, uint32_t server, uint32_t gpus, double vcpus,
                    double memory)
{
    const struct synergy_server *state = &round->state[server];
    const struct need need = {.vcpus = above(gpus * vcpus, state->vcpus),
                              .memory = above(gpus * memory, state->memory)};
    if (need.vcpus > 0 || need.memory > 0)
        take_from_peers(round, server, need);
}

/* The server with the fewest free GPUs above the pair (free, number) given; false if none. */
static bool next_server(const struct synergy_round *round, uint32_t *free, uint32_t *number)
{
    uint32_t best_free = UINT32_MAX;
    uint32_t best = 0;
    for (uint32_t s = 0; s < round->servers.count; s++) {
        const uint32_t own = round->servers.gpus - round->state[s].used;
        const bool later = own > *free || (own == *free && s > *number);
        if (own > 0 && later && own < best_free) {
            best_free = own;
            best = s;
        }
    }
    *free = best_free;
    *number = best;
    return best_free != UINT32_MAX;
}

/* The servers on which the training is to run, one after the other. */
static void relieve_servers(struct synergy_round *round, const struct synergy_training *training,
                            double vcpus, double memory)
{
    for (uint32_t s = 0; training->gpus > 1 && s < round->servers.count; s++)
        if (round->servers.gpus - round->state[s].used >= training->gpus) {
            relieve(round, s, training->gpus, vcpus, memory);
            return;
        }
    uint32_t free = 0;
    uint32_t server = 0;
    for (uint32_t left = training->gpus; left > 0 && next_server(round, &free, &server);) {
        const uint32_t gpus = free < left ? free : left;
        relieve(round, server, gpus, vcpus, memory);
        left -= gpus;
    }
}

bool synergy_tune(struct synergy_round *round, struct synergy_training *training)
{
    double vcpus = training->vcpus / training->gpus;
    double memory = training->memory / training->gpus;
    training->rate = training->speed;
    if (synergy_first_fit(round, training, vcpus, memory))
        return true;
    if (exceeds_fair(round, training)) {
        vcpus = synergy_fair_vcpus(&round->servers);
        memory = synergy_fair_memory(&round->servers);
        training->speed = training->fair_speed;
        training->rate = training->fair_speed;
        if (synergy_first_fit(round, training, vcpus, memory))
            return true;
    }
    relieve_servers(round, training, vcpus, memory);
    return synergy_first_fit(round, training, vcpus, memory);
}
