#include "traces/capture/measure/measure.h"
#include "traces/capture/executor/slices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

enum { SMS = 132, SMS_STEP = 8 };

/* Multiprocessors of a share on the modelled device: a multiple of SMS_STEP. */
static int round_sms(double share_percent)
{
    struct slices slices;
    struct error error;
    if (share_percent >= 100)
        return SMS;
    if (!slices_plan(SMS / SMS_STEP, SLICES_CAPTURED, &slices, &error))
        return 0;
    return slices_share(&slices, share_percent) * SMS_STEP;
}

/* A piecewise law with 1 % noise: the larger of the launches' time and the work's time on the
 * share's multiprocessors. */
static double draw_ms(gsl_rng *rng, const struct plan *plan, const struct plan_member *member,
                      int sms, bool half, double slowdown)
{
    const struct plan_network *network = &plan->networks[member->network];
    const double part = sms > 0 ? (double)sms / SMS : member->share_percent / 100;
    const double floor_ms = network->launches * 2.5e-3;
    const double work_ms =
        member->batch * (double)network->graph->macs / (half ? 1.2e11 : 4e10) / part;
    return slowdown * (floor_ms + work_ms) * (1 + 0.01 * fabs(gsl_ran_gaussian(rng, 1)));
}

static bool rehearse_latency(void *state, const struct plan *plan, const struct plan_point *point,
                             struct measure_samples *samples, struct error *error)
{
    (void)error;
    samples->count = 20;
    samples->launches = (size_t)plan->networks[point->members[0].network].launches;
    samples->settled = true;
    samples->sms = round_sms(point->members[0].share_percent);
    for (size_t i = 0; i < samples->count; i++)
        samples->ms[i] = draw_ms(state, plan, &point->members[0], samples->sms, point->half, 1);
    return true;
}

/* Each co-runner slows every member by 8 %, and over-subscription slows them further. */
static bool rehearse_colocation(void *state, const struct plan *plan,
                                const struct plan_point *point,
                                struct measure_samples samples[static PLAN_MEMBERS],
                                struct error *error)
{
    double total = 0;
    (void)error;
    for (size_t m = 0; m < point->member_count; m++)
        total += point->members[m].share_percent / 100;
    const double slowdown = fmax(1, total) * (1 + 0.08 * (double)(point->member_count - 1));
    for (size_t m = 0; m < point->member_count; m++) {
        samples[m].count = 20;
        samples[m].sms = round_sms(point->members[m].share_percent);
        samples[m].alone_ms =
            draw_ms(state, plan, &point->members[m], samples[m].sms, point->half, 1);
        for (size_t i = 0; i < samples[m].count; i++)
            samples[m].ms[i] =
                draw_ms(state, plan, &point->members[m], samples[m].sms, point->half, slowdown);
    }
    return true;
}

static bool rehearse_copies(void *state, bool to_host, bool pinned, size_t bytes,
                            struct measure_samples *samples, struct error *error)
{
    (void)to_host;
    (void)error;
    samples->count = MEASURE_ROUNDS;
    for (size_t i = 0; i < samples->count; i++)
        samples->ms[i] = (0.01 + (double)bytes / (pinned ? 5e7 : 1e7)) *
                         (1 + 0.02 * fabs(gsl_ran_gaussian(state, 1)));
    return true;
}

static bool rehearse_cold_start(void *state, const struct plan *plan,
                                const struct plan_point *point, double parts[static MEASURE_PARTS],
                                struct error *error)
{
    const double fixed[] = {2, 300, 150, 0, 0};
    (void)error;
    const double weights =
        (double)graph_weight_bytes(plan->networks[point->members[0].network].graph, 4);
    parts[MEASURE_PARTS - 1] = 0;
    for (size_t i = 0; i < MEASURE_PARTS - 1; i++) {
        parts[i] = fixed[i] * (1 + 0.05 * fabs(gsl_ran_gaussian(state, 1)));
        if (i == 3)
            parts[i] = weights / 1e7;
        if (i == 4)
            parts[i] = 50 + draw_ms(state, plan, &point->members[0], 0, point->half, 1);
        parts[MEASURE_PARTS - 1] += parts[i];
    }
    return true;
}

static bool rehearse_memory(void *state, const struct plan *plan, const struct plan_point *point,
                            long long planned[static MEASURE_PARTS],
                            long long bytes[static MEASURE_PARTS], struct error *error)
{
    struct graph *graph = plan_graph(plan, &point->members[0], error);
    struct graph_arena arena;
    (void)state;
    if (graph == NULL || !graph_arena_plan(graph, point->half ? 2 : 4, 256, &arena, error)) {
        graph_free(graph);
        return false;
    }
    const long long parts[] = {500000000, 200000000,
                               (long long)graph_weight_bytes(graph, point->half ? 2 : 4),
                               (long long)arena.bytes, 64000000};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        planned[i] = i < 2 ? 0 : parts[i];
        bytes[i] = parts[i];
    }
    graph_arena_free(&arena);
    graph_free(graph);
    return true;
}

static bool rehearse_alive(void *state, struct error *error)
{
    (void)state;
    (void)error;
    return true;
}

static void rehearse_close(void *state)
{
    gsl_rng_free(state);
}

bool measure_open_rehearsal(struct measure *measure, struct capture_about *about,
                            struct error *error)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    if (rng == NULL)
        return error_run(error, "capture: out of memory");
    gsl_rng_set(rng, 1);
    *measure = (struct measure){
        .state = rng,
        .alive = rehearse_alive,
        .latency = rehearse_latency,
        .colocation = rehearse_colocation,
        .copies = rehearse_copies,
        .cold_start = rehearse_cold_start,
        .memory = rehearse_memory,
        .close = rehearse_close,
    };
    about->rehearsal = 1;
    about->sms = SMS;
    (void)snprintf(about->device, sizeof about->device, "rehearsal");
    (void)snprintf(about->compute_capability, sizeof about->compute_capability, "0.0");
    return true;
}
