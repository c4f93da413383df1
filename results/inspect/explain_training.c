#include "results/inspect/explain.h"
#include "sim/base/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>

struct training_time training_time_split(const struct training_result_row *row)
{
    const double completion = sim_to_s(row->finish_ns - row->arrival_ns);
    const sim_time_t progress =
        row->held_ns - row->restart_ns - row->save_ns - row->lost_ns - row->ends_ns;
    return (struct training_time){.waiting = completion - sim_to_s(row->held_ns),
                                  .restarts = sim_to_s(row->restart_ns),
                                  .saves = sim_to_s(row->save_ns),
                                  .lost = sim_to_s(row->lost_ns),
                                  .ends = sim_to_s(row->ends_ns),
                                  .alone = row->alone_s,
                                  .slowed = sim_to_s(progress) - row->alone_s};
}

/* Speed of a lease, relative to the proportional share alone. An instance that never ends, so that
 * its time alone is not known, has no other speed. */
static double lease_speed(const struct training_result_row *row, const struct lease_row *lease)
{
    if (isnan(row->alone_s))
        return 1;
    const double progress_s =
        sim_to_s(lease->until_ns - lease->from_ns - lease->restart_ns - lease->save_ns);
    return lease->iterations / progress_s * (row->alone_s / (double)row->iterations);
}

static void text_times(const struct training_result_row *row, FILE *out)
{
    fprintf(out, "  %-10s %14.3f s\n", "arrived", sim_to_s(row->arrival_ns));
    if (row->finished == 0) {
        fprintf(out, "  %-10s\n", "did not finish");
        return;
    }
    const struct training_time time = training_time_split(row);
    fprintf(out, "  %-10s %14.3f s: completion time %.3f s, slowdown %.4g, FTF rho %.4g\n",
            "finished", sim_to_s(row->finish_ns), sim_to_s(row->finish_ns - row->arrival_ns),
            row->slowdown, row->ftf_rho);
    fprintf(out, "  %-10s %14.3f s without a gang\n", "waiting", time.waiting);
    fprintf(out, "  %-10s %14.3f s in %" PRIu32 " restarts\n", "restarts", time.restarts,
            row->restarts);
    if (time.saves > 0)
        fprintf(out, "  %-10s %14.3f s until its gang was saved and free\n", "saves", time.saves);
    if (time.lost > 0)
        fprintf(out, "  %-10s %14.3f s of work that failures took back\n", "lost", time.lost);
    if (time.ends > 0)
        fprintf(out, "  %-10s %14.3f s after the last whole iteration of a lease\n", "ends",
                time.ends);
    fprintf(out, "  %-10s %14.3f s for its iterations alone, at the proportional share\n", "alone",
            time.alone);
    fprintf(out, "  %-10s %+14.3f s by neighbours, vCPUs, memory and the GPU\n",
            time.slowed < 0 ? "faster" : "slowed", time.slowed);
}

static void text_leases(const struct run_record *record, const struct training_result_row *row,
                        FILE *out)
{
    fprintf(out, "\n%9s %9s %9s %8s %4s %5s %5s %7s %9s %6s\n", "from s", "until s", "restart s",
            "invokers", "GPU", "units", "vCPUs", "MB", "iterations", "speed");
    for (size_t i = 0; i < record->lease_count; i++) {
        const struct lease_row *lease = &record->leases[i];
        if (lease->training == row->training)
            fprintf(out, "%9.1f %9.1f %9.1f %8u %4u %5.3g %5.4g %7.0f %9.0f %6.4g\n",
                    sim_to_s(lease->from_ns), sim_to_s(lease->until_ns),
                    sim_to_s(lease->restart_ns), lease->invokers, lease->first_gpu, lease->units,
                    lease->vcpus, lease->memory_mb, lease->iterations, lease_speed(row, lease));
    }
    fputs("\nGPU: the first of its gang; speed: relative to its gang alone at the proportional "
          "share\n",
          out);
}

static double hours(sim_time_t time)
{
    return sim_to_s(time) / 3600;
}

static void chart_lease(struct chart *chart, const struct lease_row *lease, sim_time_t arrival)
{
    static const struct chart_kind restart = {"restart", 'r', 0xCC79A7},
                                   progress = {"progress", '#', 0x009E73},
                                   save = {"save", 's', 0x767676};
    const double done = hours(lease->until_ns - lease->save_ns - arrival);
    const double ready = hours(lease->from_ns + lease->restart_ns - arrival);
    if (lease->restart_ns > 0)
        chart_add(chart, CHART_BAR, &restart, hours(lease->from_ns - arrival), ready);
    chart_add(chart, CHART_BAR, &progress, ready, done);
    if (lease->save_ns > 0)
        chart_add(chart, CHART_BAR, &save, done, hours(lease->until_ns - arrival));
}

bool training_chart(const struct summary_row *run, const struct run_record *record, uint64_t number,
                    struct chart *chart, struct error *error)
{
    enum { ROWS = 24 }; /* of leases; more share the first one */
    static const struct chart_kind waiting = {"without a gang", '.', 0xBBBBBB},
                                   alone = {"its iterations alone", '=', 0x0072B2};
    if (number >= record->training_count)
        return error_input(error, "--training: the run has trainings 0 to %zu, not %" PRIu64,
                           record->training_count - 1, number);
    const struct training_result_row *row = &record->trainings[number];
    sim_time_t until = row->arrival_ns;
    size_t leases = 0;
    chart->script = "training";
    chart->subject = arena_text(chart->arena, "%" PRIu64 " under %s", number, run->policy);
    chart->caption = "The first row has all of its leases, and below them the time that its "
                     "iterations take alone at the proportional share; then each lease.";
    chart->axis = "h after it arrived";
    chart_row(chart, "all leases");
    if (isfinite(row->alone_s))
        chart_add(chart, CHART_PLAN, &alone, 0, row->alone_s / 3600);
    for (size_t i = 0; i < record->lease_count; i++) {
        const struct lease_row *lease = &record->leases[i];
        if (lease->training != number)
            continue;
        if (lease->from_ns > until)
            chart_add(chart, CHART_BAR, &waiting, hours(until - row->arrival_ns),
                      hours(lease->from_ns - row->arrival_ns));
        chart_lease(chart, lease, row->arrival_ns);
        until = lease->until_ns;
        leases++;
    }
    for (size_t i = 0; leases <= ROWS && i < record->lease_count; i++)
        if (record->leases[i].training == number) {
            chart_row(chart, "on GPU%s %u", row->gpus == 1 ? "" : "s from",
                      record->leases[i].first_gpu);
            chart_lease(chart, &record->leases[i], row->arrival_ns);
        }
    return true;
}

static cJSON *json_leases(const struct run_record *record, const struct training_result_row *row)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < record->lease_count; i++) {
        const struct lease_row *lease = &record->leases[i];
        if (lease->training != row->training)
            continue;
        cJSON *item = json_append(list);
        json_put(item, "from_s %g until_s %g restart_s %g save_s %g invokers %u first_gpu %u",
                 sim_to_s(lease->from_ns), sim_to_s(lease->until_ns), sim_to_s(lease->restart_ns),
                 sim_to_s(lease->save_ns), lease->invokers, lease->first_gpu);
        json_put(item, "units %g vcpus %g memory_mb %g iterations %g speed %g", lease->units,
                 lease->vcpus, lease->memory_mb, lease->iterations, lease_speed(row, lease));
    }
    return list;
}

static bool print_json(const struct summary_row *run, const struct run_record *record,
                       const struct training_result_row *row, const char *model, FILE *out,
                       struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    json_put(root, "run %s policy %s training %g id %g model %s", run->hash, run->policy,
             (double)row->training, (double)row->id, model);
    json_put(root, "gpus %u iterations %g arrival_s %g finished %hhd", row->gpus,
             (double)row->iterations, sim_to_s(row->arrival_ns), row->finished);
    if (row->finished != 0) {
        const struct training_time time = training_time_split(row);
        json_put(root, "finish_s %g slowdown %g ftf_rho %g waiting_s %g", sim_to_s(row->finish_ns),
                 row->slowdown, row->ftf_rho, time.waiting);
        json_put(root, "restarts_s %g saves_s %g lost_s %g ends_s %g alone_s %g slowed_s %g",
                 time.restarts, time.saves, time.lost, time.ends, time.alone, time.slowed);
    }
    (void)cJSON_AddItemToObject(root, "leases", json_leases(record, row));
    return json_write(root, out, "standard output", error);
}

bool training_explain(const struct summary_row *run, const struct run_record *record,
                      uint64_t number, bool json, const struct chart *chart, FILE *out,
                      struct error *error)
{
    char model[1024];
    const struct training_result_row *row = &record->trainings[number];
    lines_copy(record->models, row->model, model, sizeof model);
    if (json)
        return print_json(run, record, row, model, out, error);
    fprintf(out, "training %" PRIu64 " (id %" PRIu64 ") of run %s, policy %s\n", row->training,
            row->id, run->hash, run->policy);
    fprintf(out, "  %s on %" PRIu32 " GPU%s, %" PRIu64 " iteration%s\n", model, row->gpus,
            row->gpus == 1 ? "" : "s", row->iterations, row->iterations == 1 ? "" : "s");
    text_times(row, out);
    text_leases(record, row, out);
    chart_print(chart, out);
    return true;
}
