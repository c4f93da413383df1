/* A driver of Synergy's rounds without a platform: whole iterations, leases of one round. */
#ifndef ESGSIM_TESTS_SYNERGY_ROUNDS_H
#define ESGSIM_TESTS_SYNERGY_ROUNDS_H

#include "sched/synergy/round.h"
#include "tests/fixture_simulation.h"
#include "tests/suite.h"
#include "workloads/training/trainings.h"

struct rounds {
    struct arena arena;
    struct training_models *models;
    struct training_trace *trace;
    struct training_spec *specs;
    struct synergy_training *trainings;
    double *finish_s; /* 0: unfinished */
    struct synergy_round *round;
    uint64_t first, last; /* ids that are measured */
    size_t measured;      /* of them, finished */
    double now_s, round_s;
    size_t arrived;
    void (*check)(const struct rounds *rounds); /* after every round; may be NULL */
};

#define MODELS_OF_3 "workloads/models/synergy-v100.json"
#define MODELS_OF_4 "tests/data/training/synergy_models_4_vcpus.json"

/* On servers of 8 GPUs and 500 GB, with so many vCPUs per GPU. */
static inline void rounds_open(struct rounds *rounds, const char *path, const char *models,
                               uint32_t servers, double vcpus, enum synergy_order order,
                               enum synergy_allocation allocation, uint64_t first, uint64_t last)
{
    const struct synergy_servers cluster = {
        .count = servers, .gpus = 8, .vcpus = 8 * vcpus, .memory = 500};
    const struct training_draw draw = {0};
    *rounds = (struct rounds){.first = first, .last = last, .round_s = 300};
    rounds->models = training_models_read(models, hear());
    rounds->trace = training_trace_read(path, "synergy", hear());
    assert_non_null(rounds->models);
    assert_non_null(rounds->trace);
    const size_t count = rounds->trace->count;
    rounds->specs = trainings_from_trace(rounds->trace, path, rounds->models, &draw, 1, hear());
    rounds->trainings = calloc(count, sizeof *rounds->trainings);
    rounds->finish_s = calloc(count, sizeof *rounds->finish_s);
    rounds->round = synergy_round_create(&rounds->arena, &cluster, order, allocation, 1000 * 3600);
    assert_non_null(rounds->specs);
    assert_non_null(rounds->trainings);
    assert_non_null(rounds->finish_s);
    for (size_t i = 0; i < count; i++) {
        const struct training_spec *spec = &rounds->specs[i];
        struct synergy_training *training = &rounds->trainings[i];
        *training = (struct synergy_training){.id = (uint32_t)i,
                                              .gpus = spec->gpus,
                                              .arrival_s = sim_to_s(spec->arrival),
                                              .iteration_s = spec->iteration_s,
                                              .iterations = spec->iterations,
                                              .last_end_s = -1};
        const struct training_server server = {cluster.vcpus, cluster.memory, cluster.gpus};
        struct training_demand demand;
        assert_true(training_demand(rounds->models, spec->model, spec->gpus, &server, &demand));
        training->vcpus = demand.vcpus;
        training->memory = demand.memory_gb;
        training->speedup = training->speed = demand.speed;
        training->fair_speed = training_fair_speed(rounds->models, spec->model, &server);
    }
    const double arrival = rounds->trainings[0].arrival_s;
    rounds->now_s = ceil(arrival / rounds->round_s) * rounds->round_s;
    if (rounds->trainings[count - 1].arrival_s < 1) /* a static set */
        rounds->now_s = 1;
}

static inline void rounds_close(struct rounds *rounds)
{
    arena_clear(&rounds->arena);
    free(rounds->finish_s);
    free(rounds->trainings);
    training_trace_free(rounds->trace);
    training_models_free(rounds->models);
}

static inline void rounds_lease(struct rounds *rounds, struct synergy_training *training)
{
    const double length = rounds->round_s;
    const uint64_t more = (uint64_t)floor(length / (training->iteration_s / training->rate));
    training->done += more;
    training->attained_s += length;
    training->last_end_s = rounds->now_s + length;
    if (training->done < training->iterations)
        return;
    training->done = training->iterations;
    rounds->finish_s[training->id] = rounds->now_s + length;
    const uint64_t id = rounds->specs[training->id].id;
    rounds->measured += id >= rounds->first && id < rounds->last ? 1 : 0;
}

/* Runs until all measured trainings have finished. */
static inline void rounds_run(struct rounds *rounds)
{
    struct synergy_round *round = rounds->round;
    for (; rounds->measured < rounds->last - rounds->first; rounds->now_s += rounds->round_s) {
        while (rounds->arrived < rounds->trace->count &&
               rounds->trainings[rounds->arrived].arrival_s <= rounds->now_s)
            synergy_round_add(round, &rounds->trainings[rounds->arrived++]);
        assert_true(synergy_round_run(round, rounds->now_s, hear()));
        if (rounds->check != NULL)
            rounds->check(rounds);
        for (size_t i = 0; i < round->count; i++)
            if (round->list[i]->placed)
                rounds_lease(rounds, round->list[i]);
        size_t kept = 0;
        for (size_t i = 0; i < round->count; i++)
            if (round->list[i]->done < round->list[i]->iterations)
                round->list[kept++] = round->list[i];
        round->count = kept;
    }
}

#endif
