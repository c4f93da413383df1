/* What GPUs do over time: the batches and leases of runs of several policies, on one clock. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/families.h"
#include "workloads/world/outline.h"

/* A GPU has cells, of which a share holds some. At most so many policies and GPUs are drawn, and so
 * many seconds of a run that serves. */
enum { CELLS = 700, PANELS_MOST = 4, GPUS_MOST = 128, WINDOW_S = 10 };

/* What a row shows (plots/gantt.gp). */
enum part { FRAME, IN_TIME, LATE, LEASE, STARTS, DROP, ARRIVAL };

/* A share of a GPU that is held from the first time until the last: until the second a batch waits,
 * until the third a container or a training starts. */
struct held {
    uint32_t gpu; /* SIM_NONE: an instant, of none */
    enum part part;
    uint64_t number; /* of the training, or its own; of a frame the end of the run in s */
    double units;
    sim_time_t times[4];
};

/* A run. */
struct gantt {
    struct arena *arena;
    struct outline outline;
    struct gpu_list gpus;
    struct held *held;
    size_t held_count;
    sim_time_t warm, end; /* first measured arrival, or 0 of trainings alone; end of the last */
    struct sheet *sheet;
    size_t panel;
    const char *policy;
    sim_time_t *busy; /* per cell of each GPU */
};

static void held_add(struct gantt *gantt, uint32_t gpu, enum part part, uint64_t number,
                     double units, const sim_time_t times[4])
{
    gantt->end = times[3] > gantt->end ? times[3] : gantt->end;
    if (part < DROP && gpu >= gantt->gpus.count)
        return;
    *ARENA_NEXT(gantt->arena, gantt->held, gantt->held_count) =
        (struct held){gpu, part, number, units, {times[0], times[1], times[2], times[3]}};
}

static void instant_add(struct gantt *gantt, enum part part, sim_time_t time)
{
    held_add(gantt, SIM_NONE, part, gantt->held_count, 0, (sim_time_t[]){time, time, time, time});
}

static void served_add(struct gantt *gantt, const struct run_record *record)
{
    const size_t requests = record->request_count, batches = record->decision_count;
    bool *missed = arena_allocate(gantt->arena, requests, sizeof *missed);
    bool *late = arena_allocate(gantt->arena, batches, sizeof *late);
    gantt->warm = SIM_FOREVER;
    for (size_t r = 0; r < requests; r++) {
        const struct request_row *row = &record->requests[r];
        if (row->request < requests)
            missed[row->request] = row->hit == 0;
        if (row->measured != 0 && row->arrival_ns < gantt->warm)
            gantt->warm = row->arrival_ns;
        if (row->dropped != 0)
            instant_add(gantt, DROP, row->finish_ns);
    }
    for (size_t j = 0; j < record->job_count; j++)
        if (record->jobs[j].batch < batches && record->jobs[j].request < requests)
            late[record->jobs[j].batch] |= missed[record->jobs[j].request];
    for (size_t b = 0; b < record->batch_count; b++) {
        const struct batch_row *row = &record->batches[b];
        held_add(gantt, row->gpu, row->batch < batches && late[row->batch] ? LATE : IN_TIME, b,
                 row->vgpu * row->quota / 100.0,
                 (sim_time_t[]){row->dispatched_ns, row->started_ns - row->cold_ns, row->started_ns,
                                row->finished_ns});
    }
    for (size_t c = 0; c < record->container_count; c++) {
        const struct container_row *row = &record->containers[c];
        if (row->phase == CONTAINER_PHASE_STARTING)
            held_add(gantt, row->gpu, STARTS, c, 0,
                     (sim_time_t[]){row->from_ns, row->from_ns, row->until_ns, row->until_ns});
    }
}

static void trained_add(struct gantt *gantt, const struct run_record *record)
{
    for (size_t g = 0; g < record->lease_gpu_count; g++) {
        const struct lease_gpu_row *row = &record->lease_gpus[g];
        const struct lease_row *lease = &record->leases[row->lease];
        if (row->lease < record->lease_count)
            held_add(gantt, row->gpu, LEASE, lease->training, row->units,
                     (sim_time_t[]){lease->from_ns, lease->from_ns,
                                    lease->from_ns + lease->restart_ns, lease->until_ns});
    }
    for (size_t t = 0; t < record->training_count; t++)
        instant_add(gantt, ARRIVAL, record->trainings[t].arrival_ns);
}

static int compare_held(const void *a, const void *b)
{
    const struct held *left = a, *right = b;
    for (size_t t = 0; t < 4; t += 3)
        if (left->times[t] != right->times[t])
            return left->times[t] < right->times[t] ? -1 : 1;
    return (left->gpu > right->gpu) - (left->gpu < right->gpu);
}

static bool gantt_read(struct gantt *gantt, const struct source *source, const char *hash,
                       struct error *error)
{
    bool good = true;
    for (int trains = 0; good && trains < 2; trains++) {
        if (!run_details_has(source->details, hash, trains ? "lease_gpus" : "batches"))
            continue;
        struct run_record *record =
            run_record_load(source->report->results->path, hash, trains, error);
        good = record != NULL &&
               (gantt->gpus.count > 0 ||
                outline_load(gantt->arena, record->configuration, &gantt->outline, error));
        if (good && gantt->gpus.count == 0)
            gantt->gpus = cluster_list_gpus(&gantt->outline.workload.cluster, gantt->arena);
        gantt->gpus.count = gantt->gpus.count < GPUS_MOST ? gantt->gpus.count : GPUS_MOST;
        if (good)
            (trains ? trained_add : served_add)(gantt, record);
        arena_home_free(record);
    }
    if (gantt->held_count > 0)
        qsort(gantt->held, gantt->held_count, sizeof *gantt->held, compare_held);
    return good;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static void piece_row(const struct gantt *gantt, const struct held *held, size_t low, size_t high)
{
    const struct workload *workload = &gantt->outline.workload;
    const bool one = workload->kind_count == 1 || held->gpu == SIM_NONE;
    sheet_row(gantt->sheet, "%zu " LABEL " %zu %s %d %g %g %g %g %g %g %g", gantt->panel,
              gantt->policy, held->gpu == SIM_NONE ? (size_t)0 : held->gpu + 1UL,
              one ? "GPU" : workload->kinds[gantt->gpus.specs[held->gpu]->kind].model,
              (int)held->part, sim_to_s(held->times[0]), sim_to_s(held->times[1]),
              sim_to_s(held->times[2]), sim_to_s(held->times[3]), (double)low / CELLS,
              (double)high / CELLS, (double)held->number);
}

/* Gives it free cells of its GPU, those next to each other if there are so many, and writes them.
 */
static void held_rows(const struct gantt *gantt, const struct held *held)
{
    const double share = held->units / gantt->gpus.specs[held->gpu]->units;
    sim_time_t *busy = gantt->busy + held->gpu * (size_t)CELLS;
    size_t left = share < 1 ? (size_t)(share * CELLS + 1e-6) : CELLS, run = 0, low = 0;
    for (size_t c = 0; c < CELLS && run < left; c++) {
        run = busy[c] <= held->times[0] ? run + 1 : 0;
        low = c + 1 - run;
    }
    low = run == left ? low : 0;
    for (size_t c = low; c <= CELLS && left > 0; c++) {
        const bool is_free = c < CELLS && busy[c] <= held->times[0];
        left -= is_free;
        if (is_free)
            busy[c] = held->times[3];
        if ((!is_free || left == 0) && c + is_free > low)
            piece_row(gantt, held, low, c + is_free);
        low = is_free ? low : c + 1;
    }
}

bool gantt_rows(struct reading *reading, size_t *row, struct sheet *sheet, struct error *error)
{
    const struct summary_row *run = source_recorded(reading->source, reading->contender);
    struct gantt gantt = {.sheet = sheet, .panel = *row + 1, .policy = reading->contender->title};
    struct error why = {0};
    if (run == NULL || *row == PANELS_MOST || sheet->list->timelines_most > 0)
        return true;
    gantt.arena = arena_create();
    if (!gantt_read(&gantt, reading->source, run->hash, &why))
        figure_list_note(sheet->list, "gantt: %s", why.message);
    const double asked = sheet->list->until_s;
    const sim_time_t from =
        asked > 0 || sheet->list->from_s > 0 ? sim_from_s(sheet->list->from_s) : gantt.warm;
    const sim_time_t until = asked > 0        ? sim_from_s(asked)
                             : gantt.warm > 0 ? from + WINDOW_S * SIM_S
                                              : gantt.end;
    gantt.busy = arena_allocate(gantt.arena, gantt.gpus.count * (size_t)CELLS, sizeof *gantt.busy);
    *row += from < gantt.end && from < until;
    for (uint32_t g = 0; g < gantt.gpus.count && *row == gantt.panel; g++)
        piece_row(&gantt,
                  &(struct held){
                      g, FRAME, (uint64_t)ceil(sim_to_s(gantt.end)), 0, {from, from, from, until}},
                  0, CELLS);
    for (const struct held *held = gantt.held;
         held < gantt.held + gantt.held_count && *row == gantt.panel; held++)
        if (held->times[3] >= from && held->times[0] <= until && held->units > 0)
            held_rows(&gantt, held);
        else if (held->times[3] >= from && held->times[0] <= until)
            piece_row(&gantt, held, 0, 0);
    arena_destroy(gantt.arena);
    return true;
}
