#include "sim/backend/worker_backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "sim/base/arena.h"

enum { SETS = 1 << WORKER_BATCHES, NAME = 128 };

/* A batch between `start` and the end that `wait` tells. */
struct flight {
    struct replay_row row; /* units 0: waits for a set; ended_ns -1: has not ended */
    uint32_t id, wanted;
    uint64_t ticket; /* of worker_run */
};

struct combination {
    char function[NAME];
    int batch;
    uint32_t set;
};

struct worker_backend {
    struct arena *arena; /* of this and all that it has */
    struct worker *worker;
    bool side_by_side;
    double warm_s;
    const struct experiment *experiment;
    uint32_t units;
    int64_t zero_ns;
    struct flight flights[WORKER_BATCHES]; /* in the order of their starts */
    size_t flight_count;
    sim_time_t told; /* latest time that `wait` has returned */
    struct replay_row *rows;
    size_t row_count;
    uint32_t together;
    struct combination *warmed;
    size_t warmed_count;
    struct worker_warming warming;
};

/* ---- What can be replayed -------------------------------------------------------------------- */

static bool check_function(const struct experiment *experiment, size_t index, uint32_t units,
                           struct error *error)
{
    const struct function *function = &experiment->workload.functions[index];
    if (function->name[strcspn(function->name, " \t\r\n")] != '\0' ||
        strlen(function->name) >= NAME)
        return error_input(error,
                           "%s: functions: \"%s\" has a space or more than %d bytes, which a line "
                           "to the worker cannot hold; rename it",
                           experiment->path, function->name, NAME - 1);
    if (function->fused)
        return error_input(error,
                           "%s: granularity: a worker executes single functions, not %s; leave the "
                           "key out",
                           experiment->path, function->name);
    for (size_t k = 0; k < function->configuration_count; k++)
        if (function->configurations[k].vgpu < 1 || function->configurations[k].vgpu > units)
            return error_input(error,
                               "%s: function %s has a configuration of %d units of the GPU, 1..%u "
                               "can be replayed; give it \"configurations\": {\"vgpu\": […]}",
                               experiment->path, function->name, function->configurations[k].vgpu,
                               units);
    return experiment->platform.initial != INITIAL_COUNTS ||
           experiment->platform.initial_counts[index] > 0 ||
           error_input(error,
                       "%s: platform.initial: function %s has no container, and a replay starts "
                       "none; give it some",
                       experiment->path, function->name);
}

static uint32_t units_of(const struct experiment *experiment)
{
    return (uint32_t)experiment->workload.cluster.groups[0].gpus[0].units;
}

bool worker_backend_check(const struct experiment *experiment, struct error *error)
{
    const struct cluster_spec *cluster = &experiment->workload.cluster;
    if (cluster->invoker_count != 1 || cluster->groups[0].gpu_count != 1)
        return error_input(error,
                           "%s: cluster: a replay plays one invoker with one GPU on one GPU; take "
                           "workloads/clusters/h200-1.json",
                           experiment->path);
    if (cluster->groups[0].gpus[0].units < 1 || cluster->groups[0].gpus[0].units > WORKER_BATCHES)
        return error_input(error,
                           "%s: cluster: a GPU of %d units; a worker has a stream for every set of "
                           "units, so 1..%d can be replayed",
                           experiment->path, cluster->groups[0].gpus[0].units, WORKER_BATCHES);
    if (experiment->platform.initial == INITIAL_COLD)
        return error_input(error,
                           "%s: platform.initial: \"cold\", and a replay starts no containers; "
                           "give the containers of each function",
                           experiment->path);
    for (size_t f = 0; f < experiment->workload.function_count; f++)
        if (!check_function(experiment, f, units_of(experiment), error))
            return false;
    return true;
}

/* ---- Sets of units --------------------------------------------------------------------------- */

static bool are_neighbours(uint32_t set)
{
    while (set != 0 && (set & 1) == 0)
        set >>= 1;
    return (set & (set + 1)) == 0;
}

/* Lists the sets of `size` units that are in use, neighbours first. Returns their number. */
static size_t list_sets(const struct worker_backend *backend, uint32_t size,
                        uint32_t sets[static SETS])
{
    size_t count = 0;
    for (int scattered = 0; scattered <= (backend->side_by_side ? 0 : 1); scattered++)
        for (uint32_t set = 1; set < UINT32_C(1) << backend->units; set++)
            if ((uint32_t)__builtin_popcount(set) == size && are_neighbours(set) != scattered)
                sets[count++] = set;
    return count;
}

static uint32_t free_units(const struct worker_backend *backend)
{
    uint32_t taken = 0;
    for (size_t i = 0; i < backend->flight_count; i++)
        taken |= backend->flights[i].row.units;
    return ((UINT32_C(1) << backend->units) - 1) & ~taken;
}

static uint32_t choose_set(const struct worker_backend *backend, uint32_t size)
{
    uint32_t sets[SETS];
    const uint32_t free_ones = free_units(backend);
    const size_t count = list_sets(backend, size, sets);
    for (size_t i = 0; i < count; i++)
        if ((sets[i] & ~free_ones) == 0)
            return sets[i];
    return 0;
}

/* ---- Warming --------------------------------------------------------------------------------- */

/* True if the set has executed; with a function, if that has executed on it at that batch size. */
static bool is_warm(const struct worker_backend *backend, uint32_t set, const char *function,
                    int batch)
{
    for (size_t i = 0; i < backend->warmed_count; i++) {
        const struct combination *warm = &backend->warmed[i];
        if (warm->set == set &&
            (function == NULL || (warm->batch == batch && strcmp(warm->function, function) == 0)))
            return true;
    }
    return false;
}

static bool warm_up(struct worker_backend *backend, uint32_t set, const char *function, int batch,
                    struct error *error)
{
    uint64_t ticket;
    struct combination *warm = ARENA_NEXT(backend->arena, backend->warmed, backend->warmed_count);
    *warm = (struct combination){.batch = batch, .set = set};
    (void)snprintf(warm->function, sizeof warm->function, "%s", function);
    return worker_run(backend->worker, function, batch, set, &ticket, error) &&
           worker_drain(backend->worker, error);
}

/* Whether an earlier configuration has the same batch and units, with other vCPUs. */
static bool is_repeated(const struct function *function, size_t index)
{
    const struct configuration *all = function->configurations;
    for (size_t k = 0; k < index; k++)
        if (all[k].batch == all[index].batch && all[k].vgpu == all[index].vgpu)
            return true;
    return false;
}

/* Executes every function at that batch size on its set number `pass`, counted from another set for
 * each, so that few passes cover all sets. */
static bool warm_pass(struct worker_backend *backend, int batch, size_t pass, int64_t begun_ns,
                      struct error *error)
{
    const struct workload *workload = &backend->experiment->workload;
    uint32_t sets[SETS];
    for (size_t f = 0; f < workload->function_count; f++)
        for (size_t k = 0; k < workload->functions[f].configuration_count; k++) {
            const struct function *function = &workload->functions[f];
            const struct configuration *c = &function->configurations[k];
            const size_t count = list_sets(backend, (uint32_t)c->vgpu, sets);
            if (c->batch != batch || is_repeated(function, k) || pass >= count)
                continue;
            const uint32_t set = sets[(pass + f + k) % count];
            const double spent_s = (double)(clock_ns() - begun_ns) / (double)SIM_S;
            const bool late = pass > 0 && spent_s > backend->warm_s;
            backend->warming.combinations += pass == 0 ? count : 0;
            if (!is_warm(backend, set, late ? NULL : function->name, c->batch) &&
                !warm_up(backend, set, function->name, c->batch, error))
                return false;
        }
    return true;
}

/* The least batch size of any function above `batch`; 0: none. */
static int next_batch(const struct workload *workload, int batch)
{
    int next = 0;
    for (size_t f = 0; f < workload->function_count; f++)
        for (size_t k = 0; k < workload->functions[f].configuration_count; k++) {
            const int other = workload->functions[f].configurations[k].batch;
            next = other > batch && (next == 0 || other < next) ? other : next;
        }
    return next;
}

/* Small batches first: policies use them on more sets. */
static bool warm(struct worker_backend *backend, struct error *error)
{
    const int64_t begun_ns = clock_ns();
    backend->warming.combinations = 0;
    for (int batch = 0; (batch = next_batch(&backend->experiment->workload, batch)) > 0;)
        for (size_t pass = 0; pass < SETS; pass++)
            if (!warm_pass(backend, batch, pass, begun_ns, error))
                return false;
    backend->warming.warmed = backend->warmed_count;
    backend->warming.seconds += (double)(clock_ns() - begun_ns) / (double)SIM_S;
    return true;
}

/* ---- The backend ----------------------------------------------------------------------------- */

static sim_time_t time_now(const struct worker_backend *backend)
{
    return clock_ns() - backend->zero_ns;
}

static bool backend_open(void *context, const struct experiment *experiment, struct error *error)
{
    struct worker_backend *backend = context;
    backend->experiment = experiment;
    backend->flight_count = backend->row_count = 0;
    backend->told = 0;
    backend->together = 0;
    if (!worker_backend_check(experiment, error))
        return false;
    backend->units = units_of(experiment);
    /* A failed run may have left batches that still execute. */
    if (!worker_drain(backend->worker, error) || !warm(backend, error))
        return false;
    backend->zero_ns = clock_ns();
    return true;
}

/* Gives sets to the batches that wait, in order, until one finds none. */
static bool place(struct worker_backend *backend, struct error *error)
{
    for (size_t i = 0; i < backend->flight_count; i++) {
        struct flight *flight = &backend->flights[i];
        struct replay_row *row = &flight->row;
        if (row->units != 0)
            continue;
        const uint32_t set = choose_set(backend, flight->wanted);
        if (set == 0) {
            row->placed_ns = -1;
            return true;
        }
        const struct function *function = &backend->experiment->workload.functions[row->function];
        row->units = set;
        row->placed_ns = row->placed_ns < 0 ? time_now(backend) : row->placed_ns;
        if (!worker_run(backend->worker, function->name,
                        function->configurations[row->configuration].batch, set, &flight->ticket,
                        error))
            return false;
        row->begun_ns = time_now(backend);
    }
    return true;
}

static bool backend_start(void *context, const struct backend_batch *batch, sim_time_t due,
                          struct error *error)
{
    struct worker_backend *backend = context;
    const struct configuration *configuration =
        &backend->experiment->workload.functions[batch->function]
             .configurations[batch->configuration];
    uint32_t wanted = (uint32_t)configuration->vgpu;
    for (size_t i = 0; i < backend->flight_count; i++)
        wanted += backend->flights[i].wanted;
    if (batch->gpu == SIM_NONE || wanted > backend->units)
        return error_run(error, "replay: batch %llu wants %d units and fewer are free",
                         (unsigned long long)batch->number, configuration->vgpu);
    struct flight *flight = &backend->flights[backend->flight_count++];
    const sim_time_t now = time_now(backend);
    *flight = (struct flight){.id = batch->id, .wanted = (uint32_t)configuration->vgpu};
    flight->row = (struct replay_row){.batch = batch->number,
                                      .function = batch->function,
                                      .configuration = batch->configuration,
                                      .jobs = batch->jobs,
                                      .copy = batch->container,
                                      .modelled_ns = batch->modelled,
                                      .due_ns = due,
                                      .asked_ns = now,
                                      .placed_ns = now,
                                      .ended_ns = -1};
    if (backend->flight_count > backend->together)
        backend->together = (uint32_t)backend->flight_count;
    for (size_t i = 0; i + 1 < backend->flight_count; i++)
        if (backend->flights[i].row.units == 0)
            flight->row.placed_ns = -1; /* it waits behind that one */
    return place(backend, error);
}

/* The batch that ended first and was not told yet. NULL: none. */
static struct flight *first_end(struct worker_backend *backend)
{
    struct flight *first = NULL;
    for (size_t i = 0; i < backend->flight_count; i++) {
        struct flight *flight = &backend->flights[i];
        if (flight->row.ended_ns >= 0 &&
            (first == NULL || flight->row.ended_ns < first->row.ended_ns))
            first = flight;
    }
    return first;
}

/* Waits for an answer until the deadline, then takes all that are there. */
static bool await_end(struct worker_backend *backend, sim_time_t until, struct error *error)
{
    struct worker_answer answer = {.id = 1};
    int64_t deadline = until >= SIM_FOREVER ? INT64_MAX : backend->zero_ns + until;
    if (first_end(backend) != NULL)
        return true;
    for (; answer.id != 0; deadline = 0) {
        if (!worker_wait(backend->worker, deadline, &answer, error))
            return false;
        for (size_t i = 0; answer.id != 0 && i < backend->flight_count; i++) {
            struct flight *flight = &backend->flights[i];
            if (flight->row.units == 0 || flight->ticket != answer.id)
                continue;
            flight->row.ended_ns = answer.at_ns - backend->zero_ns;
            flight->row.device_ms = answer.ms;
        }
    }
    return true;
}

static bool backend_wait(void *context, sim_time_t until, uint32_t *ended, sim_time_t *time,
                         struct error *error)
{
    struct worker_backend *backend = context;
    *ended = SIM_NONE;
    *time = until;
    if (until >= SIM_FOREVER && backend->flight_count == 0)
        return error_run(error, "replay: a wait for an end while no batch executes");
    if (!await_end(backend, until, error))
        return false;
    struct flight *first = first_end(backend);
    if (first == NULL || first->row.ended_ns > until) {
        backend->told = until > backend->told ? until : backend->told;
        return true;
    }
    if (first->row.ended_ns < backend->told)
        first->row.ended_ns = backend->told;
    backend->told = *time = first->row.ended_ns;
    *ended = first->id;
    *ARENA_NEXT(backend->arena, backend->rows, backend->row_count) = first->row;
    backend->flight_count--;
    memmove(first, first + 1,
            (size_t)(&backend->flights[backend->flight_count] - first) * sizeof *first);
    return place(backend, error);
}

struct worker_backend *worker_backend_create(struct worker *worker, bool side_by_side,
                                             double warm_s)
{
    struct worker_backend *backend = arena_home(sizeof *backend);
    backend->worker = worker;
    backend->side_by_side = side_by_side;
    backend->warm_s = warm_s;
    return backend;
}

struct backend worker_backend(struct worker_backend *backend)
{
    return (struct backend){backend, backend_open, backend_start, backend_wait};
}

/* ---- Figures --------------------------------------------------------------------------------- */

const struct replay_row *worker_backend_rows(const struct worker_backend *backend, size_t *count)
{
    *count = backend->row_count;
    return backend->rows;
}

struct worker_warming worker_backend_warming(const struct worker_backend *backend)
{
    return backend->warming;
}

struct worker_figures worker_backend_figures(const struct worker_backend *backend)
{
    struct worker_figures figures = {.together = backend->together};
    const size_t count = backend->row_count;
    if (count == 0)
        return figures;
    double *late = arena_allocate(backend->arena, count, sizeof *late);
    for (size_t i = 0; i < count; i++) {
        const struct replay_row *row = &backend->rows[i];
        const double waited_us = (double)(row->placed_ns - row->asked_ns) / 1e3;
        late[i] = (double)(row->asked_ns - row->due_ns) / 1e3;
        figures.waited += waited_us > 0;
        figures.waited_mean += waited_us;
        figures.waited_max = fmax(figures.waited_max, waited_us);
        figures.device_ms_mean += row->device_ms / (double)count;
        figures.host_ms_mean += (double)(row->ended_ns - row->begun_ns) / 1e6 / (double)count;
        figures.scattered += !are_neighbours(row->units);
        figures.host_parts_ms[i * HOST_PARTS / count] +=
            ((double)(row->ended_ns - row->begun_ns) / 1e6 - row->device_ms + late[i] / 1e3) *
            HOST_PARTS / (double)count;
    }
    figures.waited_mean /= figures.waited > 0 ? (double)figures.waited : 1;
    gsl_sort(late, 1, count);
    figures.late_mean = gsl_stats_mean(late, 1, count);
    figures.late_p99 = gsl_stats_quantile_from_sorted_data(late, 1, count, 0.99);
    figures.late_max = late[count - 1];
    return figures;
}
