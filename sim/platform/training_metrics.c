/* Measures of trainings, their rows, and the invariants at the end of a run. */
#include "sim/platform/trainings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/quantile.h"
#include "sim/platform/policy_api.h"

/* ---- While the run goes on ------------------------------------------------------------------- */

void training_window_open(struct platform *platform)
{
    struct trainings *trainings = platform->trainings;
    trainings->window = trainings->active_changed = platform->now;
    trainings->most_active = trainings->active;
    trainings->active_ns = trainings->allocated_ns = 0;
    trainings->active_sum = 0;
    trainings->peak = 0;
    trainings->leases = trainings->changes = 0;
    training_fragments_reset(platform);
    if (!platform->metrics.measuring && platform->workload->application_count == 0)
        metrics_open_window(&platform->metrics, platform->now);
}

void training_demand_add(struct platform *platform, uint32_t id, int sign)
{
    struct trainings *trainings = platform->trainings;
    struct training *training = &trainings->items[id];
    const sim_time_t since = training_spec(platform, id)->arrival;
    trainings->demanded_ns +=
        (double)(platform->now - trainings->demanded_changed) * (double)trainings->demand;
    trainings->demanded_changed = platform->now;
    trainings->demand += (uint64_t)((int64_t)sign * training_spec(platform, id)->gpus);
    training->demanded_ns = trainings->demanded_ns - (sign > 0 ? 0 : training->demanded_ns);
    if (sign < 0)
        training->demanded_ns /=
            (double)(platform->now - since) * (double)platform->cluster.gpu_count;
}

double training_best_speed(const struct platform *platform, uint32_t model)
{
    const struct training_models *models = platform->experiment->training->models;
    const struct workload *workload = platform->workload;
    const struct training_model *of = &models->models[model];
    double best = fmax(1, of->speedup);
    for (size_t i = 0; of->throughput != NULL && i < models->vcpu_count * models->memory_count; i++)
        best = fmax(best, of->throughput[i]);
    double gpu = 1; /* the fastest GPU model that was measured */
    for (size_t e = 0; e < of->elsewhere_count; e++)
        for (size_t g = 0; g < models->gang_count; g++)
            gpu = fmax(gpu, of->iteration_s[g] / of->elsewhere[e].iteration_s[g]);
    for (size_t k = 0; k < workload->kind_count; k++)
        gpu = fmax(gpu, training_gpu_speed(models, model, workload->kinds[k].model,
                                           workload->kinds[k].speed, 1));
    return best * gpu;
}

/* Time of the window between `from` and `until`, × the GPUs that the training holds. */
static double window_time(const struct platform *platform, uint32_t id, sim_time_t from,
                          sim_time_t until)
{
    const struct trainings *trainings = platform->trainings;
    from = from > trainings->window ? from : trainings->window;
    return from < until ? trainings->items[id].gpus_held * (double)(until - from) : 0;
}

static void work_add(const struct platform *platform, uint32_t id, sim_time_t from,
                     sim_time_t until, struct training_work *work)
{
    const struct trainings *trainings = platform->trainings;
    work->time += until - from;
    work->useful += window_time(platform, id, from, until) * trainings->items[id].speed /
                    trainings->best_speeds[training_spec(platform, id)->model];
}

static void work_move(struct training_work *from, struct training_work *to)
{
    to->time += from->time;
    to->useful += from->useful;
    *from = (struct training_work){0};
}

void training_begun_end(struct platform *platform, uint32_t id, bool done)
{
    struct training *training = &platform->trainings->items[id];
    struct training_work none = {0};
    if (!done)
        training->losses.ends += training->begun.time;
    work_move(&training->begun, done ? &training->counted : &none);
}

void training_work_advance(const struct platform *platform, uint32_t id, sim_time_t from,
                           sim_time_t until, struct training_work *counted,
                           struct training_work *begun)
{
    const struct training *training = &platform->trainings->items[id];
    const struct training_spec *spec = training_spec(platform, id);
    sim_time_t ended = until; /* of the last iteration that ends here */
    if (platform->trainings->plan->whole) {
        const double iteration_ns = spec->iteration_s / training->speed * 1e9;
        const double most = training->left.work;
        const double before = training->lease.work;
        const double after = before + (double)(until - from) / iteration_ns;
        const double whole = fmin(floor(after), most);
        ended = whole > before ? until - sim_whole((after - whole) * iteration_ns) : from;
        ended = ended > from ? ended : from;
    }
    if (ended > from) {
        work_add(platform, id, from, ended, counted);
        work_move(begun, counted);
    }
    work_add(platform, id, ended, until, begun);
}

void training_account(struct platform *platform, uint32_t id, sim_time_t from)
{
    struct training *training = &platform->trainings->items[id];
    const sim_time_t begin = training->left.at, now = platform->now;
    from = from < now ? from : now;
    platform->trainings->allocated_ns += window_time(platform, id, begin, now);
    training->losses.restart += from - begin;
    training->row.restart_ns += from - begin;
    training_work_advance(platform, id, from, now, &training->counted, &training->begun);
}

void training_active_add(struct platform *platform, int change)
{
    struct trainings *trainings = platform->trainings;
    if (trainings->window < platform->now) {
        trainings->active_ns +=
            (double)(platform->now - trainings->active_changed) * trainings->active;
        trainings->active_changed = platform->now;
    }
    trainings->active = (uint32_t)((int64_t)trainings->active + change);
    if (trainings->active > trainings->most_active)
        trainings->most_active = trainings->active;
}

void training_holdings_add(struct platform *platform, const struct gang_share *shares,
                           uint32_t count, int sign)
{
    struct trainings *trainings = platform->trainings;
    for (uint32_t i = 0; i < count; i++) {
        const struct gpu_state *gpu = &platform->cluster.gpus[shares[i].gpu];
        trainings->held += sign * ((double)shares[i].parts / (UNIT_PARTS * gpu->spec->units));
        trainings->held_memory += sign * ((double)shares[i].gpu_kb / (double)gpu->memory_kb);
    }
}

void training_change_add(struct platform *platform)
{
    struct trainings *trainings = platform->trainings;
    trainings->active_sum += trainings->active;
    trainings->changes++;
    if (trainings->active <= trainings->peak)
        return;
    trainings->peak = trainings->active;
    trainings->peak_free = 1 - trainings->held / trainings->active;
    trainings->peak_free_memory = 1 - trainings->held_memory / trainings->active;
}

static void neighbour_add(struct neighbour *neighbour, uint32_t id, sim_time_t time)
{
    if (neighbour->id == id)
        neighbour->time += time;
    else if (time > neighbour->time)
        *neighbour = (struct neighbour){id, time};
}

void training_neighbours_note(struct platform *platform, uint32_t id)
{
    struct trainings *trainings = platform->trainings;
    struct training *own = &trainings->items[id];
    for (uint32_t i = 0; own->neighbours != NULL && i < own->gang; i++) {
        const uint32_t at = grant_gpu(platform, &own->grants[i]);
        for (uint32_t k = 0; k < trainings->gpus[at].count; k++) {
            const uint32_t other_id = trainings->gpus[at].ids[k];
            struct training *other = &trainings->items[other_id];
            const sim_time_t since[] = {own->lease.at, own->row.from_ns, other->lease.at,
                                        other->row.from_ns};
            sim_time_t time = platform->now - since[0];
            for (size_t s = 1; s < sizeof since / sizeof since[0]; s++)
                time = platform->now - since[s] < time ? platform->now - since[s] : time;
            if (other_id == id || time == 0)
                continue;
            neighbour_add(&own->neighbours[i], other_id, time);
            for (uint32_t j = 0; j < other->gang; j++)
                if (grant_gpu(platform, &other->grants[j]) == at)
                    neighbour_add(&other->neighbours[j], id, time);
        }
    }
}

static bool lease_gpus_record(struct platform *platform, const struct training *training)
{
    const struct recorder *recorder = platform->recorder;
    for (uint32_t i = 0; training->neighbours != NULL && i < training->gang; i++) {
        const struct training_grant *grant = &training->grants[i];
        const struct lease_gpu_row row = {.lease = platform->trainings->recorded,
                                          .invoker = grant->invoker,
                                          .gpu = grant_gpu(platform, grant),
                                          .units = grant_units(grant),
                                          .neighbour = training->neighbours[i].id};
        if (!recorder->lease_gpu(recorder->context, &row, platform->error))
            return false;
    }
    return true;
}

void training_lease_record(struct platform *platform, uint32_t id)
{
    struct training *training = &platform->trainings->items[id];
    const struct recorder *recorder = platform->recorder;
    const bool recording = training->recording;
    training->recording = false;
    if (!recording || recorder == NULL || recorder->lease == NULL)
        return;
    if (!recorder->lease(recorder->context, &training->row, platform->error) ||
        !lease_gpus_record(platform, training))
        platform->failed = true;
    platform->trainings->recorded++;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

void trainings_fail_stuck(struct platform *platform)
{
    char list[192] = "";
    size_t used = 0;
    uint32_t id = platform_next_training(platform, 0);
    for (int i = 0; i < 5 && id != SIM_NONE; i++, id = platform_next_training(platform, id + 1))
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu64 " (%" PRIu32 ")",
                                 i == 0 ? "" : ", ", training_spec(platform, id)->id,
                                 training_spec(platform, id)->gpus);
    platform_fail(platform,
                  "rule progress: %" PRIu32 " trainings wait, nothing runs and the policy does "
                  "nothing; they are (and their GPUs) %s%s",
                  platform->trainings->left, list, id != SIM_NONE ? ", …" : "");
}

static void add_gang(const struct platform *platform, uint32_t id, int64_t *parts)
{
    const struct trainings *trainings = platform->trainings;
    for (uint32_t k = 0; k < training_gang_size(platform, id); k++) {
        const struct training_grant *grant = &trainings->items[id].grants[k];
        const int64_t own = (int64_t)grant->share * grant->quota;
        *parts += own * platform->cluster.gpus[grant_gpu(platform, grant)].weight;
        trainings->micro_vcpus[platform->cluster.pooled ? 0 : grant->invoker] +=
            grant_micro_vcpus(grant); /* pooled: the first are full, one remainder is rounded up */
    }
}

void trainings_add_holdings(const struct platform *platform, int64_t *vcpus, int64_t *parts)
{
    struct trainings *trainings = platform->trainings;
    const uint32_t invokers = platform->cluster.invoker_count;
    if (trainings == NULL)
        return;
    memset(trainings->micro_vcpus, 0, invokers * sizeof *trainings->micro_vcpus);
    for (uint32_t g = 0; g < platform->cluster.gpu_count; g++)
        for (uint32_t k = 0; k < trainings->gpus[g].count; k++) {
            const uint32_t id = trainings->gpus[g].ids[k];
            if (grant_gpu(platform, &trainings->items[id].grants[0]) == g) /* a gang counts once */
                add_gang(platform, id, parts);
        }
    const bool others = trainings->plan->save > 0 || trainings->bare > 0;
    for (uint32_t id = trainings->low; others && id < trainings->arrived; id++)
        if (trainings->items[id].saving || (trainings->items[id].state == TRAINING_RUNNING &&
                                            training_spec(platform, id)->gpus == 0))
            add_gang(platform, id, parts);
    for (uint32_t i = 0; i < invokers; i++)
        *vcpus += (trainings->micro_vcpus[i] + MICRO - 1) / MICRO;
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Fluid: the pieces, each rounded, have taken all work off, but for the last nanosecond, in which a
 * training is ahead of its finish. Whole: exactly all iterations are made. */
static bool work_check(struct platform *platform, uint32_t id)
{
    const struct trainings *trainings = platform->trainings;
    const struct training *training = &trainings->items[id];
    const struct training_spec *spec = training_spec(platform, id);
    const bool whole = trainings->plan->whole;
    const double work = training_work(trainings->plan, spec), left = training->left.work;
    if (fabs(left) <= (whole ? 0 : 1e-9 * work + training->speed + 1))
        return true;
    platform_fail(platform,
                  "invariant work: training %" PRIu32 " finished with %.17g of %.17g %s left", id,
                  left, work, whole ? "iterations" : "ns of work");
    return false;
}

/* The parts of the time with a gang add up to it, to the nanosecond. */
static bool parts_check(struct platform *platform, uint32_t id)
{
    const struct training *training = &platform->trainings->items[id];
    const struct training_losses *losses = &training->losses;
    const sim_time_t parts =
        losses->restart + losses->save + losses->lost + losses->ends + training->counted.time;
    if (parts != training->attained)
        platform_fail(platform,
                      "invariant parts: training %" PRIu32 " held a gang for %" PRId64
                      " ns, its parts are %" PRId64 " ns",
                      id, training->attained, parts);
    return !platform->failed;
}

static bool row_record(struct platform *platform, uint32_t id)
{
    const struct trainings *trainings = platform->trainings;
    const struct training *training = &trainings->items[id];
    const struct training_spec *spec = training_spec(platform, id);
    const struct recorder *recorder = platform->recorder;
    const bool finished = training->state == TRAINING_FINISHED;
    if (recorder == NULL || recorder->training == NULL || id >= trainings->arrived)
        return true;
    const double alone_s = training_ends(spec) ? training_alone_s(platform, id) : NAN;
    const double slowdown = finished ? sim_to_s(training->finish - spec->arrival) / alone_s : NAN;
    const struct training_result_row row = {
        .training = id,
        .id = spec->id,
        .model = spec->model,
        .gpus = spec->gpus,
        .measured = training_is_measured(trainings->plan, spec->id),
        .finished = finished,
        .restarts = training->restarts,
        .iterations = spec->iterations,
        .arrival_ns = spec->arrival,
        .start_ns = training->first_start < SIM_FOREVER ? training->first_start : -1,
        .finish_ns = finished ? training->finish : -1,
        .held_ns = training->attained,
        .restart_ns = training->losses.restart,
        .save_ns = training->losses.save,
        .lost_ns = training->losses.lost,
        .ends_ns = training->losses.ends,
        .alone_s = alone_s,
        .slowdown = slowdown,
        .ftf_rho = slowdown / fmax(1, training->demanded_ns)};
    return recorder->training(recorder->context, &row, platform->error);
}

/* Sums over the measured trainings. */
struct training_sums {
    struct quantile *jct;
    double queueing_s, restart_s, slowdown, ftf_rho, useful_ns;
    sim_time_t first, last;
};

static void training_sum(struct platform *platform, uint32_t id, struct training_sums *sums,
                         struct training_measures *out)
{
    const struct training *training = &platform->trainings->items[id];
    const struct training_spec *spec = training_spec(platform, id);
    sums->useful_ns += training->counted.useful;
    if (!training_is_measured(platform->trainings->plan, spec->id))
        return;
    if (training->state != TRAINING_FINISHED) {
        out->unfinished++;
        return;
    }
    const sim_time_t jct = training->finish - spec->arrival;
    const double slowdown = sim_to_s(jct) / training_alone_s(platform, id);
    const double ftf_rho = slowdown / fmax(1, training->demanded_ns);
    out->finished++;
    out->restarts += training->restarts;
    out->slowdown_max = fmax(out->slowdown_max, slowdown);
    out->ftf_rho_max = fmax(out->ftf_rho_max, ftf_rho);
    sums->queueing_s += sim_to_s(jct - training->attained);
    sums->restart_s += sim_to_s(training->losses.restart);
    sums->slowdown += slowdown;
    sums->ftf_rho += ftf_rho;
    sums->first = spec->arrival < sums->first ? spec->arrival : sums->first;
    sums->last = training->finish > sums->last ? training->finish : sums->last;
    quantile_add(sums->jct, jct);
}

static void measures_fill(const struct platform *platform, const struct training_sums *sums,
                          struct training_measures *out)
{
    const struct trainings *trainings = platform->trainings;
    const double n = out->finished > 0 ? (double)out->finished : NAN;
    const double elapsed =
        trainings->window < platform->now ? (double)(platform->now - trainings->window) : NAN;
    const double capacity = elapsed * platform->cluster.gpu_count;
    const bool any = out->finished > 0;
    out->jct_s_mean = any ? quantile_mean(sums->jct) / 1e9 : NAN;
    out->jct_s_p50 = any ? quantile_value(sums->jct, 0.5) / 1e9 : NAN;
    out->jct_s_p99 = any ? quantile_value(sums->jct, 0.99) / 1e9 : NAN;
    out->jct_s_p999 = any ? quantile_value(sums->jct, 0.999) / 1e9 : NAN;
    out->jct_s_max = any ? sim_to_s(quantile_max(sums->jct)) : NAN;
    out->makespan_s = any ? sim_to_s(sums->last - sums->first) : NAN;
    out->queueing_s_mean = sums->queueing_s / n;
    out->restart_s_mean = sums->restart_s / n;
    out->slowdown = sums->slowdown / n;
    out->slowdown_max = any ? out->slowdown_max : NAN;
    out->ftf_rho = sums->ftf_rho / n;
    out->ftf_rho_max = any ? out->ftf_rho_max : NAN;
    out->gpu_allocated = trainings->allocated_ns / capacity;
    out->gpu_effective = sums->useful_ns / capacity;
    out->gpus_active_mean = trainings->active_ns / elapsed;
    out->gpus_active_event_mean =
        trainings->changes > 0 ? trainings->active_sum / (double)trainings->changes : NAN;
    out->gpus_active_max = trainings->most_active;
    out->gpu_fragmentation_at_max = trainings->peak > 0 ? trainings->peak_free : NAN;
    out->gpu_memory_fragmentation_at_max = trainings->peak > 0 ? trainings->peak_free_memory : NAN;
    out->leases = trainings->leases;
    training_fragments_report(platform, elapsed, out);
}

static void trainings_report(struct platform *platform, struct training_measures *out)
{
    struct training_sums sums = {.jct = quantile_create(&platform->arena, QUANTILE_EXACT_SAMPLES),
                                 .first = SIM_FOREVER};
    for (uint32_t id = 0; id < platform->trainings->count; id++)
        training_sum(platform, id, &sums, out);
    measures_fill(platform, &sums, out);
}

struct ending {
    sim_time_t due;
    uint32_t id;
};

static int ending_compare(const void *a, const void *b)
{
    const struct ending *x = a, *y = b;
    if (x->due != y->due)
        return x->due < y->due ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Ends what still runs, in the order in which it would have ended. */
static void running_stop(struct platform *platform)
{
    struct trainings *trainings = platform->trainings;
    struct ending *endings = arena_allocate(&platform->arena, trainings->running, sizeof *endings);
    uint32_t count = 0;
    for (uint32_t id = trainings->low; count < trainings->running; id++)
        if (trainings->items[id].state == TRAINING_RUNNING)
            endings[count++] = (struct ending){trainings->items[id].due, id};
    qsort(endings, count, sizeof *endings, ending_compare);
    for (uint32_t i = 0; i < count && !platform->failed; i++)
        trainings_preempt(platform, endings[i].id, 0);
}

bool trainings_close(struct platform *platform, struct simulation_result *result)
{
    struct trainings *trainings = platform->trainings;
    if (trainings == NULL)
        return true;
    const double active_sum = trainings->active_sum;
    const uint64_t changes = trainings->changes;
    running_stop(platform);
    for (uint32_t id = trainings->low; id < trainings->arrived; id++)
        if (trainings->items[id].saving)
            trainings_saved(platform, id);
    trainings->active_sum = active_sum; /* without the ends that the run's end makes */
    trainings->changes = changes;
    training_active_add(platform, 0);
    for (uint32_t g = 0; g < platform->cluster.gpu_count; g++)
        if (trainings->gpus[g].count > 0)
            platform_fail(platform,
                          "invariant release: GPU %" PRIu32 " still has %" PRIu32 " trainings", g,
                          trainings->gpus[g].count);
    for (uint32_t id = 0; id < trainings->count && !platform->failed; id++) {
        training_lease_record(platform, id);
        if ((trainings->items[id].state == TRAINING_FINISHED && !work_check(platform, id)) ||
            !parts_check(platform, id) || !row_record(platform, id))
            return false;
    }
    if (platform->failed)
        return false;
    result->gpus_shared = trainings->shared;
    result->training = calloc(1, sizeof *result->training);
    if (result->training == NULL)
        arena_exhaust(&platform->arena, 1, sizeof *result->training);
    trainings_report(platform, result->training);
    return true;
}
