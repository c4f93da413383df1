#include "results/verify/reality.h"

#include <math.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <gsl/gsl_statistics_double.h>

#include "plots/palette.h"
#include "plots/plot.h"
#include "results/compare/compare.h"
#include "results/report/table.h"
#include "sim/base/arena.h"
#include "sim/base/string_index.h"
#include "sim/base/json.h"
#include "sim/base/json_write.h"
#include "sim/run/sweep_runner_plan.h"
#include "workloads/load/json_include.h"
#include "workloads/training/training_plan.h"

/* Dots of a run in a figure, about, and GPUs of a run at most. */
enum { FIGURE_DOTS = 450, GPUS_MOST = 256 };

static const char reality_file[] = "results/reality/runs.json";

/* ---- One run --------------------------------------------------------------------------------- */

/* Quantities that have an error, those before DRAWN in a figure, and what they are drawn over. */
enum { MEAN, P99, HITS, GPU, DRAWN, MEDIAN = DRAWN, P95, COMPLETED, QUANTITIES };
enum { BUSY, BATCH, SHARE, OVERS };

static const struct {
    const char *key, *title;
    enum compare_metric metric; /* of latencies; COMPARE_METRICS: none */
    bool share;                 /* its error is in points */
} quantities[] = {{"mean_ms", "mean latency (%)", COMPARE_MEAN, false},
                  {"p99_ms", "99th percentile (%)", COMPARE_P99, false},
                  {"hit_rate", "in time (points)", COMPARE_HIT, true},
                  {"gpu_percent", "GPU held (%)", COMPARE_METRICS, false},
                  {"median_ms", "median (%)", COMPARE_P50, false},
                  {"p95_ms", "95th percentile (%)", COMPARE_P95, false},
                  {"completed", "completed (points)", COMPARE_METRICS, true}};
static const char *const over_titles[] = {"GPUs busy (%)", "mean batch (ms)",
                                          "GPU share of a batch (%)"};

struct held {
    const char *assumed, *latency, *setting; /* of the sweep; "": it has no such key */
    const struct workload *workload;
    bool trainings; /* in place of requests */
    uint64_t requests;
    struct request_row *rows[2]; /* by number, simulated [0] and real; NULL: not measured */
    double *instance_s;          /* time of instances by configuration; NULL: not measured */
    struct instance_life kept;   /* that began first */
    sim_time_t end;
    struct compare_figure figures[QUANTITIES]; /* real, error: NAN if not measured */
    double over[OVERS], correlation, largest;
    double batches, batch_s, unit_s; /* batches, their time, GPU units x time */
    double allocated_percent;        /* of the GPUs' time, which trainings held */
    bool used[GPUS_MOST];
};

static bool latency_take(void *context, const struct request_row *row, struct error *error)
{
    const struct held *held = context;
    if (held->rows[0] != NULL && row->request < held->requests)
        held->rows[0][row->request] = *row;
    return true;
}

/* A training counts as a request without an SLO. */
static bool training_take(void *context, const struct training_result_row *row, struct error *error)
{
    const struct request_row as_request = {
        .request = row->training, .arrival_ns = row->arrival_ns, .finish_ns = row->finish_ns};
    return latency_take(context, &as_request, error);
}

static bool batch_take(void *context, const struct batch_row *row, struct error *error)
{
    struct held *held = context;
    const double seconds = sim_to_s(row->finished_ns - row->started_ns);
    held->batches++;
    held->batch_s += seconds;
    held->unit_s += seconds * row->vgpu;
    held->over[SHARE] += row->vgpu;
    held->end = row->finished_ns;
    if (row->gpu < GPUS_MOST)
        held->used[row->gpu] = true;
    return true;
}

static void life_take(void *context, const struct instance_life *life)
{
    struct held *held = context;
    if (held->instance_s == NULL)
        return;
    held->instance_s[life->configuration] += sim_to_s(life->ended - life->created);
    if (life->created < held->kept.created)
        held->kept = *life;
    held->end = life->ended;
}

static const char *swept_name(const struct plan *plan, const struct sweep *sweep, const char *key)
{
    for (size_t k = 0; k < sweep->keys->count; k++)
        if (strcmp(sweep->keys->keys[k].name, key) == 0 && plan->swept[k] != NULL)
            return plan->swept[k];
    return "";
}

/* Reads a setting's list of latencies, as requests that arrive at 0. */
static bool latencies_read(const struct json_value *list, struct held *held, struct error *error)
{
    struct json_value one = {0};
    double ms = 0;
    if (!json_is_array(list, held->requests, held->requests, error))
        return false;
    for (size_t s = 0; s < 2; s++)
        held->rows[s] = arena_allocate(list->arena, held->requests, sizeof *held->rows[s]);
    while (json_next(list, &one)) {
        if (!json_as_number(&one, 0, 1e12, &ms, error))
            return false;
        held->rows[1][one.index].finish_ns = sim_from_ms(ms);
    }
    return true;
}

static double row_ms(const struct request_row *row)
{
    return sim_to_ms(row->finish_ns - row->arrival_ns);
}

/* Compares the requests as `report --against` compares a simulation and its replay. */
static void latencies_compare(struct arena *arena, struct held *held)
{
    const size_t count = held->requests;
    const struct request_row **rows[2];
    struct compare_part part = {.application = NULL};
    double *ms[2];
    for (size_t s = 0; s < 2; s++) {
        rows[s] = arena_allocate(arena, count, sizeof *rows[s]);
        ms[s] = arena_allocate(arena, count, sizeof *ms[s]);
        for (size_t r = 0; r < count; r++) {
            struct request_row *row = &held->rows[s][r];
            ms[s][r] = row_ms(row);
            row->measured = true;
            row->dropped = false; /* the logs have an end of each */
            row->hit = row->finish_ns - row->arrival_ns <= held->rows[0][r].slo_ns;
            rows[s][r] = row;
        }
    }
    held->correlation = gsl_stats_correlation(ms[0], 1, ms[1], 1, count);
    compare_fill_part(arena, rows, count, SIZE_MAX, 0, &part);
    for (size_t i = 0; i < QUANTITIES; i++)
        if (quantities[i].metric != COMPARE_METRICS && !(held->trainings && i == HITS))
            held->figures[i] = part.figures[quantities[i].metric];
}

/* Compares the instances' shares of time with the measured ones: [batch, vCPUs, GPU %, share %].
 * `time` becomes the time and the GPU units x time of all. The logs list the instance of the
 * deployment apart: the first one, if it has no GPU and lives to the end. */
static bool instances_compare(const struct json_value *shares, struct held *held, double time[2],
                              struct error *error)
{
    const struct function *function = &held->workload->functions[0];
    const struct configuration *all = function->configurations;
    const struct instance_life *kept = &held->kept;
    if (kept->ended == held->end && all[kept->configuration].vgpu == 0)
        held->instance_s[kept->configuration] -= sim_to_s(kept->ended - kept->created);
    for (size_t c = 0; c < function->configuration_count; c++) {
        time[0] += held->instance_s[c];
        time[1] += held->instance_s[c] * all[c].vgpu;
    }
    for (struct json_value one = {0}, number = {0}; json_next(shares, &one); number.node = NULL) {
        double is[4] = {0};
        if (!json_is_array(&one, 4, 4, error))
            return false;
        while (json_next(&one, &number))
            if (!json_as_number(&number, 0, 65535, &is[number.index], error))
                return false;
        for (size_t c = 0; c < function->configuration_count; c++)
            if (all[c].batch == is[0] && all[c].vcpu == is[1] &&
                all[c].vgpu * 100 == is[2] * held->workload->kinds[0].units)
                is[3] -= 100 * held->instance_s[c] / time[0];
        held->largest = fmax(held->largest, fabs(is[3]));
    }
    return true;
}

/* Reads what was measured in a setting: latencies, a share in time, that and what was completed, or
 * what instances held. */
static bool setting_read(const struct json_value *setting, struct held *held, struct error *error)
{
    static const char *const keys[] = {"gpu_percent", "shares", NULL};
    static const char *const frames[] = {"completed", "in_time", NULL};
    struct json_value child;
    if (cJSON_IsArray(setting->node))
        return latencies_read(setting, held, error);
    if (!cJSON_IsObject(setting->node))
        return json_as_number(setting, 0, 1, &held->figures[HITS].real, error);
    if (json_child(setting, "completed", &child))
        return json_is_object(setting, frames, error) &&
               json_number(setting, "completed", 0, 1, &held->figures[COMPLETED].real, error) &&
               json_number(setting, "in_time", 0, 1, &held->figures[HITS].real, error);
    held->kept.created = SIM_FOREVER;
    held->instance_s = arena_allocate(
        setting->arena, held->workload->functions[0].configuration_count, sizeof(double));
    return json_is_object(setting, keys, error) &&
           json_number(setting, "gpu_percent", 0, 1e6, &held->figures[GPU].real, error);
}

/* Compares a run that has ended. */
static bool held_compare(const struct json_value *setting, struct held *held, struct error *error)
{
    const double units = held->workload->kinds[0].units;
    const double end_s = sim_to_s(held->end);
    double time[2] = {0};
    struct json_value shares;
    for (size_t i = 0; held->instance_s == NULL && i < GPUS_MOST; i++)
        time[1] += held->used[i] ? units * end_s : 0;
    if (held->rows[0] != NULL)
        latencies_compare(setting->arena, held);
    if (held->instance_s != NULL &&
        (!json_require(setting, "shares", &shares, error) ||
         !json_is_array(&shares, 1, 100, error) || !instances_compare(&shares, held, time, error)))
        return false;
    held->figures[GPU].simulated = held->instance_s != NULL ? 100 * time[1] / units / end_s : NAN;
    for (size_t i = 0; i < QUANTITIES; i++) {
        struct compare_figure *of = &held->figures[i];
        of->error = 100 * (of->simulated - of->real) / (quantities[i].share ? 1 : of->real);
    }
    const double completed = held->figures[COMPLETED].error;
    if (held->instance_s == NULL)
        held->largest = fabs(isnan(completed) ? held->figures[HITS].error : completed);
    held->over[BUSY] = time[1] > 0 ? 100 * held->unit_s / time[1] : 0;
    held->over[BATCH] = held->batches > 0 ? 1000 * held->batch_s / held->batches : 0;
    held->over[SHARE] *= held->batches > 0 ? 100 / units / held->batches : 0;
    if (!isnan(completed)) /* batches share a GPU in streams */
        held->over[BUSY] = NAN;
    if (held->trainings) {
        held->batches = 1; /* the weight of the run in its row */
        held->over[BUSY] = held->allocated_percent;
        held->over[BATCH] = held->over[SHARE] = NAN;
    }
    return true;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The figures. */
enum { LATENCIES, TRAININGS, FRAMES, ENVELOPE, FIGURES };
#define DOTS "panel,panel_title,row,setting,measured,simulated,unit,colour,point"
static const struct {
    const char *script, *subject, *caption, *columns;
} drawings[FIGURES] = {
    [LATENCIES] = {"reality", "",
                   "A dot is a request; of long runs, every second to fifth. On the line: "
                   "simulated as measured.",
                   DOTS},
    [TRAININGS] = {"reality", "trainings",
                   "A dot is a training. On the line: simulated as measured.", DOTS},
    [FRAMES] = {"curve", "frames", "Frames of periodic tasks on contexts of a GPU.",
                "row,axis,logarithmic,limit,panel,panel_title,series,series_title,key,x,value,low,"
                "high,colour,point,dash"},
    [ENVELOPE] = {"envelope", "",
                  "A dot is a row of the table: simulated against measured. Of several settings it "
                  "is the mean of their absolute errors. Busy: time of the GPUs used, or of what "
                  "instances held of them, in which batches executed; of trainings the time that "
                  "they held.",
                  "quantity,quantity_title,over,over_title,series,series_title,x,error,colour,"
                  "point"}};

struct verification {
    struct text_table *table; /* NULL: the rows become `runs` */
    cJSON *runs;
    struct sheet sheets[FIGURES];
    struct string_index panels[FIGURES], lines[FIGURES];
    const char *set, *assumption; /* its first key */
    char group[256];              /* set and assumption of the rows above */
    size_t groups;                /* so far */
    struct held row;              /* of the table: one run, or the settings of one latency */
    size_t settings;              /* of that row; 0: none is open */
};

/* `error`: the format of errors; means of absolute ones have no sign. */
static void table_row(struct text_table *table, const struct held *row, const char *error)
{
    static const int errors[] = {MEAN, MEDIAN, P95, P99, HITS, COMPLETED};
    const struct compare_figure *gpu = &row->figures[GPU];
    char texts[7][32];
    for (size_t i = 0; i < 6; i++)
        (void)snprintf(texts[i], sizeof texts[i], error, 1, row->figures[errors[i]].error);
    (void)snprintf(texts[6], sizeof texts[6], error, 0, gpu->error);
    text_table_add(
        table, "%s\t%llu\t%.0f\t%.1f\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t%.3f\t%.1f\t%.1f\t%s",
        row->latency[0] != '\0' ? row->latency : row->setting, (unsigned long long)row->requests,
        row->over[BUSY], row->over[BATCH], texts[0], texts[1], texts[2], texts[3], texts[4],
        texts[5], row->largest, row->correlation, gpu->real, gpu->simulated, texts[6]);
}

static void row_end(struct verification *all)
{
    struct held *row = &all->row;
    if (all->settings == 0)
        return;
    const struct look look = palette_series(all->groups - 1);
    const bool together = row->latency[0] != '\0';
    for (size_t i = 0; i < QUANTITIES; i++)
        row->figures[i].error /= (double)all->settings;
    for (size_t i = 0; i < OVERS; i++)
        row->over[i] /= row->batches;
    for (size_t i = 0; i < DRAWN; i++)
        for (size_t o = 0; o < OVERS; o++)
            if (!isnan(row->figures[i].error) && !isnan(row->over[o]) && (o != SHARE || i == GPU))
                sheet_row(&all->sheets[ENVELOPE], "%zu %s %zu %s %zu %s %g %g %x %d", i + 1,
                          quantities[i].title, o + 1, over_titles[o], all->groups, all->group,
                          row->over[o], row->figures[i].error, look.colour, look.point);
    if (all->table != NULL)
        table_row(all->table, row, together ? "%.*f" : "%+.*f");
    all->settings = 0;
    *row = (struct held){.requests = 0};
}

/* Adds a run to the open row if both are of one latency. Errors of several are absolute, and what
 * they are drawn over is the mean over all batches. */
static void row_add(struct verification *all, const struct held *held)
{
    const bool together = held->latency[0] != '\0';
    struct held *row = &all->row;
    if (all->settings > 0 && (!together || strcmp(row->latency, held->latency) != 0))
        row_end(all);
    const struct held before = *row; /* all zero: the row is new */
    *row = *held;
    for (size_t i = 0; i < QUANTITIES; i++)
        row->figures[i].error = before.figures[i].error +
                                (together ? fabs(held->figures[i].error) : held->figures[i].error);
    for (size_t i = 0; i < OVERS; i++)
        row->over[i] = before.over[i] + held->over[i] * held->batches;
    row->requests += before.requests;
    row->batches += before.batches;
    row->largest = all->settings > 0 ? fmax(row->largest, before.largest) : row->largest;
    all->settings++;
}

static void json_add(struct verification *all, const struct held *held)
{
    cJSON *run = json_append(all->runs);
    json_put(run, "set %s setting %s latency %s requests %g", all->set, held->setting,
             held->latency, (double)held->requests);
    cJSON_AddStringToObject(run, all->assumption, held->assumed);
    json_put(run, "gpu_busy_percent %g batch_ms_mean %g batch_gpu_percent %g", held->over[BUSY],
             held->over[BATCH], held->over[SHARE]);
    for (size_t i = 0; i < QUANTITIES; i++) {
        const struct compare_figure *of = &held->figures[i];
        if (!isnan(of->error))
            json_put(cJSON_AddObjectToObject(run, quantities[i].key),
                     "measured %g simulated %g error %g low_95 %g high_95 %g", of->real,
                     of->simulated, of->error, of->low, of->high);
    }
    json_put(run, "largest_error_points %g correlation %g", held->largest, held->correlation);
}

/* Settings of one name have one colour in all sets. */
static void latencies_draw(struct verification *all, const struct held *held)
{
    const size_t figure = held->trainings ? TRAININGS : LATENCIES;
    const size_t row = (size_t)string_index_add(&all->lines[figure], held->setting);
    const struct look look = palette_series(row);
    const size_t step = 1 + held->requests / FIGURE_DOTS;
    const double unit = held->trainings ? 3600e3 : 1;
    char title[256];
    (void)snprintf(title, sizeof title, "%s, %s: %s", all->set, all->assumption, held->assumed);
    const size_t panel = (size_t)string_index_add(&all->panels[figure], title);
    for (size_t i = 0; i < held->requests; i += step)
        sheet_row(&all->sheets[figure], "%zu %s %zu %s %g %g %s %x %d", panel + 1, title, row + 1,
                  held->setting, row_ms(&held->rows[1][i]) / unit, row_ms(&held->rows[0][i]) / unit,
                  held->trainings ? "h" : "ms", look.colour, look.point);
}

/* Completed and missed frames against the tasks. */
static void frames_draw(struct verification *all, size_t panel, const struct held *held)
{
    static const char *const axes[] = {"completed (%)", "missed (%)"};
    static const char *const names[] = {"measured", "simulated"};
    for (size_t row = 0; row < 2; row++)
        for (size_t s = 0; s < 2; s++) {
            const struct look look = palette_series(s);
            const struct compare_figure *of = &held->figures[row == 0 ? COMPLETED : HITS];
            const double is = s == 0 ? of->real : of->simulated, share = row == 0 ? is : 1 - is;
            sheet_row(&all->sheets[FRAMES], "%zu %s %d %g %zu %s %zu %s %s %zu %g %g %g %x %d %d",
                      row + 1, axes[row], 0, NAN, panel + 1, held->latency, s + 1, names[s],
                      "tasks", held->workload->application_count, 100 * share, NAN, NAN,
                      look.colour, look.point, look.dash);
        }
}

/* ---- All ------------------------------------------------------------------------------------- */

/* Runs a plan of the sweep and compares it with what was measured in its setting. */
static bool held_run(struct verification *all, const struct plan *plan, size_t run,
                     const struct json_value *measured, struct held *held, struct error *error)
{
    struct json_value setting;
    struct simulation_result result = {0};
    const struct recorder recorder = {
        .context = held, .request = latency_take, .batch = batch_take, .training = training_take};
    const struct simulation_options options = {
        .recorder = &recorder, .instance_ended = life_take, .context = held};
    struct json_value by_latency;
    const size_t latencies = json_size(measured);
    if (json_child(measured, held->latency, &by_latency))
        measured = &by_latency;
    const size_t settings = json_size(measured);
    if (!json_require(measured, held->setting, &setting, error) ||
        !setting_read(&setting, held, error) ||
        !resolved_run_simulate(&plan->run, &options, &result, error))
        return false;
    held->figures[HITS].simulated = result.overall.slo_hit_rate;
    held->figures[COMPLETED].simulated =
        1 - (double)result.overall.dropped / (double)result.overall.requests;
    held->allocated_percent = held->trainings ? 100 * result.training->gpu_allocated : NAN;
    simulation_result_clear(&result);
    if (held->rows[0] != NULL)
        latencies_draw(all, held);
    const bool good = held_compare(&setting, held, error);
    /* Of the first assumption. */
    if (good && !isnan(held->figures[COMPLETED].error) && run / settings < latencies)
        frames_draw(all, run / settings, held);
    return good;
}

static bool run_add(struct verification *all, const struct sweep *sweep, size_t run,
                    const struct json_value *measured, struct error *error)
{
    struct plan plan;
    char group[sizeof all->group];
    if (!plan_load(sweep, run, &plan, error))
        return false;
    const struct experiment *experiment = plan.run.experiment;
    const struct training_plan *trainings = experiment->training;
    all->assumption = sweep->keys->keys[0].name;
    struct held held = {.assumed = swept_name(&plan, sweep, all->assumption),
                        .latency = swept_name(&plan, sweep, "latency"),
                        .setting = swept_name(&plan, sweep, "setting"),
                        .workload = &experiment->workload,
                        .trainings = trainings != NULL,
                        .requests = trainings != NULL ? trainings->count : experiment->requests,
                        .correlation = NAN};
    for (size_t i = 0; i < QUANTITIES; i++)
        held.figures[i] = (struct compare_figure){NAN, NAN, NAN, NAN, NAN};
    const bool good = held_run(all, &plan, run, measured, &held, error);
    (void)snprintf(group, sizeof group, "%s, %s: %s", all->set, all->assumption, held.assumed);
    if (good && strcmp(all->group, group) != 0) {
        row_end(all);
        memcpy(all->group, group, sizeof group);
        all->groups++;
        if (all->table != NULL)
            text_table_group(all->table, group);
    }
    if (good)
        row_add(all, &held);
    if (good && all->runs != NULL)
        json_add(all, &held);
    plan_clear(&plan);
    return good;
}

static bool set_add(struct verification *all, const struct json_value *set, struct error *error)
{
    static const char *const keys[] = {"name", "quantity", "assumed", "sweep", "measured", NULL};
    const char *quantity = "", *assumed = "", *file = "";
    struct json_value measured;
    if (!json_is_object(set, keys, error) || !json_text(set, "name", &all->set, error) ||
        !json_text(set, "quantity", &quantity, error) ||
        !json_text(set, "assumed", &assumed, error) || !json_text(set, "sweep", &file, error) ||
        !json_require(set, "measured", &measured, error) || !json_is_object(&measured, NULL, error))
        return false;
    struct sweep *sweep = sweep_load(json_include_operand(set->arena, file), NULL, 0, error);
    bool good = sweep != NULL;
    for (size_t run = 0; good && run < sweep->run_count; run++)
        good = run_add(all, sweep, run, &measured, error);
    row_end(all);
    if (all->table != NULL)
        text_table_note(all->table, "%s\n  measured: %s\n  assumed: %s", all->set, quantity,
                        assumed);
    sweep_free(sweep);
    return good;
}

static bool sets_add(struct verification *all, struct error *error)
{
    struct json_value sets, set = {0};
    struct arena *arena = arena_create();
    struct json_value top = json_load(arena, json_include_operand(arena, reality_file), error);
    top.file = reality_file;
    bool good = top.node != NULL && json_require(&top, "sets", &sets, error) &&
                json_is_array(&sets, 1, 100, error);
    while (good && json_next(&sets, &set))
        good = set_add(all, &set, error);
    arena_destroy(arena);
    return good;
}

static struct text_table *table_begin(void)
{
    static const char *const headers[] = {"run",        "requests",  "busy, %", "batch, ms",
                                          "mean, %",    "median, %", "p95, %",  "p99, %",
                                          "in time",    "completed", "largest", "corr.",
                                          "GPU logged", "held",      "error, %"};
    struct text_table *table = text_table_create(headers, sizeof headers / sizeof *headers);
    text_table_indent(table, NULL);
    return table;
}

bool reality_verify(const char *folder, bool json, FILE *out, struct error *error)
{
    cJSON *root = json ? cJSON_CreateObject() : NULL;
    struct figure_list figures = {.folder = folder};
    struct verification all = {.table = json ? NULL : table_begin(),
                               .runs = cJSON_AddArrayToObject(root, "runs")};
    bool good = true;
    for (size_t f = 0; good && folder != NULL && f < FIGURES; f++)
        good = sheet_begin(&all.sheets[f], &figures, drawings[f].script, drawings[f].subject,
                           drawings[f].caption, drawings[f].columns, error);
    good = good && sets_add(&all, error);
    for (size_t f = 0; f < FIGURES; f++)
        good = sheet_end(&all.sheets[f], good, error);
    good = good && (folder == NULL || plot_draw(&figures, "svg", error));
    if (json && good)
        good = json_write(root, out, "standard output", error);
    else
        cJSON_Delete(root);
    if (all.table != NULL) { /* what was done before a failure, too */
        text_table_note(
            all.table,
            "errors: mean, median and 99th percentile of latency in %%, share in time in "
            "points (of several settings:\nmean and largest), completed likewise, mean GPU held in "
            "%% of "
            "one GPU; largest there: of the shares of instance time, in points\n"
            "busy: batches on the GPUs used, or on what instances held; of trainings: "
            "the GPUs that they held");
        text_table_print(all.table, 0, out);
    }
    figure_list_clear(&figures);
    for (size_t f = 0; f < FIGURES; f++) {
        string_index_clear(&all.panels[f]);
        string_index_clear(&all.lines[f]);
    }
    return good;
}
