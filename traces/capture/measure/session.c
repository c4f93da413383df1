#include "traces/capture/measure/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "traces/capture/measure/clocks.h"
#include "traces/capture/measure/measure.h"

#ifndef ESGSIM_VERSION
#define ESGSIM_VERSION "unknown"
#endif
#ifndef ESGSIM_COMMIT
#define ESGSIM_COMMIT "unknown"
#endif

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct session {
    struct plan *plan;
    struct capture_file *file;
    struct measure measure;
    struct clocks *clocks; /* NULL: not logged */
    double spent_s[PLAN_TABLES];
    int groups;
};

static void copy_text(char *to, size_t size, const char *from)
{
    memset(to, 0, size);
    memcpy(to, from, strnlen(from, size - 1));
}

#define COPY(place, from) copy_text(place, sizeof(place), from)

static const char *precision_of(const struct plan_point *point)
{
    return point->half ? "fp16" : "fp32";
}

static const char *network_of(const struct session *s, const struct plan_member *member)
{
    return s->plan->networks[member->network].graph->name;
}

static bool take_latency(struct session *s, struct plan_point *point, struct error *error)
{
    struct measure_samples samples = {.count = 0};
    struct layout_latency rows[MEASURE_SAMPLES];
    const struct plan_member *member = &point->members[0];
    int mhz[2];
    if (!s->measure.latency(s->measure.state, s->plan, point, &samples, error))
        return false;
    clocks_range(s->clocks, samples.began_s, &mhz[0], &mhz[1]);
    memset(rows, 0, sizeof rows);
    for (size_t i = 0; i < samples.count; i++) {
        COPY(rows[i].network, network_of(s, member));
        COPY(rows[i].precision, precision_of(point));
        COPY(rows[i].mechanism, plan_mechanism_name(point->mechanism));
        rows[i].batch = member->batch;
        rows[i].share_percent = member->share_percent;
        rows[i].sms = samples.sms;
        rows[i].round = point->round;
        rows[i].sample = (int)i;
        rows[i].ms = samples.ms[i];
        rows[i].launches = (int)samples.launches;
        rows[i].warm_up_ms = samples.warm_up_ms;
        rows[i].settled = samples.settled;
        rows[i].sm_mhz_least = mhz[0];
        rows[i].sm_mhz_most = mhz[1];
    }
    if (!capture_file_append(s->file, CAPTURE_LATENCY, rows, samples.count, error))
        return false;
    plan_book(s->plan, point, samples.ms, samples.count);
    return true;
}

static void name_others(const struct session *s, const struct plan_point *point, size_t victim,
                        char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t m = 0; m < point->member_count && used < size; m++) {
        const struct plan_member *other = &point->members[m];
        if (m == victim)
            continue;
        const int wrote = snprintf(text + used, size - used, "%s%s:%d:%.4f", used == 0 ? "" : "+",
                                   network_of(s, other), other->batch, other->share_percent);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

static bool take_colocation(struct session *s, struct plan_point *point, struct error *error)
{
    struct measure_samples samples[PLAN_MEMBERS];
    struct layout_colocation rows[MEASURE_SAMPLES];
    int mhz[2];
    memset(samples, 0, sizeof samples);
    if (!s->measure.colocation(s->measure.state, s->plan, point, samples, error))
        return false;
    clocks_range(s->clocks, samples[0].began_s, &mhz[0], &mhz[1]);
    for (size_t m = 0; m < point->member_count; m++) {
        memset(rows, 0, sizeof rows);
        for (size_t i = 0; i < samples[m].count; i++) {
            rows[i].group = s->groups;
            rows[i].members = (int)point->member_count;
            COPY(rows[i].network, network_of(s, &point->members[m]));
            COPY(rows[i].precision, precision_of(point));
            COPY(rows[i].mechanism, plan_mechanism_name(point->mechanism));
            name_others(s, point, m, rows[i].others, sizeof rows[i].others);
            rows[i].batch = point->members[m].batch;
            rows[i].share_percent = point->members[m].share_percent;
            rows[i].sms = samples[m].sms;
            rows[i].alone_ms = samples[m].alone_ms;
            rows[i].sample = (int)i;
            rows[i].ms = samples[m].ms[i];
            rows[i].sm_mhz_least = mhz[0];
            rows[i].sm_mhz_most = mhz[1];
        }
        if (!capture_file_append(s->file, CAPTURE_COLOCATION, rows, samples[m].count, error))
            return false;
    }
    s->groups++;
    plan_book(s->plan, point, NULL, 0);
    return true;
}

static bool take_copies(struct session *s, struct plan_point *point, struct error *error)
{
    struct layout_copies rows[MEASURE_SAMPLES];
    for (int kind = 0; kind < 4; kind++) {
        struct measure_samples samples = {.count = 0};
        const bool to_host = kind % 2 == 1;
        const bool pinned = kind / 2 == 1;
        if (!s->measure.copies(s->measure.state, to_host, pinned, (size_t)point->bytes, &samples,
                               error))
            return false;
        memset(rows, 0, sizeof rows);
        for (size_t i = 0; i < samples.count; i++) {
            COPY(rows[i].direction, to_host ? "to_host" : "to_device");
            COPY(rows[i].memory, pinned ? "pinned" : "pageable");
            rows[i].bytes = (int64_t)point->bytes;
            rows[i].sample = (int)i;
            rows[i].ms = samples.ms[i];
        }
        if (!capture_file_append(s->file, CAPTURE_COPIES, rows, samples.count, error))
            return false;
    }
    plan_book(s->plan, point, NULL, 0);
    return true;
}

static bool take_cold_start(struct session *s, struct plan_point *point, struct error *error)
{
    for (int sample = 0; sample < s->plan->cold_starts; sample++) {
        double parts[MEASURE_PARTS];
        struct layout_cold_start rows[MEASURE_PARTS];
        if (!s->measure.cold_start(s->measure.state, s->plan, point, parts, error))
            return false;
        memset(rows, 0, sizeof rows);
        for (size_t i = 0; i < MEASURE_PARTS; i++) {
            COPY(rows[i].network, network_of(s, &point->members[0]));
            COPY(rows[i].precision, precision_of(point));
            COPY(rows[i].part, measure_cold_part(i));
            rows[i].batch = point->members[0].batch;
            rows[i].sample = sample;
            rows[i].ms = parts[i];
        }
        if (!capture_file_append(s->file, CAPTURE_COLD_START, rows, MEASURE_PARTS, error))
            return false;
    }
    plan_book(s->plan, point, NULL, 0);
    return true;
}

static bool take_memory(struct session *s, struct plan_point *point, struct error *error)
{
    long long planned[MEASURE_PARTS] = {0};
    long long bytes[MEASURE_PARTS] = {0};
    struct layout_memory rows[MEASURE_PARTS - 1];
    if (!s->measure.memory(s->measure.state, s->plan, point, planned, bytes, error))
        return false;
    memset(rows, 0, sizeof rows);
    for (size_t i = 0; i < MEASURE_PARTS - 1; i++) {
        COPY(rows[i].part, measure_memory_part(i));
        if (strcmp(rows[i].part, "context") != 0) { /* the context belongs to no network */
            COPY(rows[i].network, network_of(s, &point->members[0]));
            COPY(rows[i].precision, precision_of(point));
            rows[i].batch = point->members[0].batch;
        }
        rows[i].planned_bytes = planned[i];
        rows[i].bytes = bytes[i];
    }
    plan_book(s->plan, point, NULL, 0);
    return capture_file_append(s->file, CAPTURE_MEMORY, rows, MEASURE_PARTS - 1, error);
}

/* ---- The session ----------------------------------------------------------------------------- */

typedef bool take(struct session *s, struct plan_point *point, struct error *error);

static take *const takers[PLAN_TABLES] = {
    [PLAN_MEMORY] = take_memory,         [PLAN_COPIES] = take_copies,
    [PLAN_COLD_START] = take_cold_start, [PLAN_LATENCY] = take_latency,
    [PLAN_COLOCATION] = take_colocation,
};

/* Appends the rows logged since the last call. */
static bool write_clocks(struct session *s, struct error *error)
{
    size_t count = 0;
    struct layout_clocks *rows = clocks_take(s->clocks, &count);
    const bool good = capture_file_append(s->file, CAPTURE_CLOCKS, rows, count, error);
    free(rows);
    return good;
}

/* Measures a point and writes its outcome. Returns false if the file cannot be written or the
 * device is lost. The remaining points are then left for the next run. */
static bool take_point(struct session *s, struct plan_point *point, struct error *error)
{
    char key[PLAN_KEY];
    struct error fault = {0};
    struct layout_plan row;
    const int round = point->round;
    const double start = measure_now_ms();
    memset(&row, 0, sizeof row);
    row.estimated_s = point->estimated_s;
    row.began_s = measure_unix_s();
    if (!write_clocks(s, error))
        return false;
    const bool good = takers[point->table](s, point, &fault);
    if (!good)
        point->state = PLAN_FAILED;
    row.spent_s = (measure_now_ms() - start) / 1e3;
    s->spent_s[point->table] += row.spent_s;
    COPY(row.what, plan_table_name(point->table));
    COPY(row.key, plan_key(s->plan, point, key));
    COPY(row.state, good ? "done" : "failed");
    COPY(row.reason, fault.message);
    row.round = round;
    printf("%-11s %-70s %8.2f s", row.what, key, row.spent_s);
    if (good && point->table == PLAN_LATENCY)
        printf(" %10.4f ms", point->median_ms);
    printf("%s%s\n", good ? "" : "  failed: ", fault.message);
    (void)fflush(stdout);
    if (!capture_file_append(s->file, CAPTURE_PLAN, &row, 1, error))
        return false;
    return good || s->measure.alive(s->measure.state, &fault) ||
           error_run(error, "%s: the device is lost; run again to go on with the file",
                     fault.message);
}

/* The point of a row of /plan. NULL: this plan has no such point. */
static struct plan_point *find_point(struct plan *plan, const struct layout_plan *row)
{
    char key[PLAN_KEY];
    for (size_t i = 0; i < plan->count; i++)
        if (strncmp(plan_table_name(plan->points[i].table), row->what, sizeof row->what) == 0 &&
            strncmp(plan_key(plan, &plan->points[i], key), row->key, sizeof row->key) == 0)
            return &plan->points[i];
    return NULL;
}

static bool is_of(const struct session *s, const struct layout_latency *row,
                  const struct plan_point *point, int round)
{
    return row->round == round && row->batch == point->members[0].batch &&
           row->share_percent == point->members[0].share_percent &&
           strcmp(row->network, network_of(s, &point->members[0])) == 0 &&
           strcmp(row->precision, precision_of(point)) == 0 &&
           strcmp(row->mechanism, plan_mechanism_name(point->mechanism)) == 0;
}

/* Records the samples of a finished point. They are consecutive in the table. */
static void rebook(struct session *s, struct plan_point *point, int round,
                   const struct layout_latency *rows, size_t count)
{
    double samples[MEASURE_SAMPLES];
    size_t found = 0;
    for (size_t i = 0; i < count && found < MEASURE_SAMPLES; i++)
        if (is_of(s, &rows[i], point, round))
            samples[found++] = rows[i].ms;
    plan_book(s->plan, point, samples, found);
    point->round = round + 1;
}

/* A point that failed twice may be the cause of a lost device, so other points are measured. */
static void give_up_failed(struct plan *plan)
{
    enum { TRIES = 2 };
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->points[i].state == PLAN_WAITING && plan->points[i].failures >= TRIES) {
            plan->points[i].state = PLAN_FAILED;
            count++;
        }
    if (count > 0)
        printf("%zu points failed %d times and are left out\n", count, TRIES);
}

/* Marks the points that the file already has as measured. */
static bool go_on(struct session *s, struct error *error)
{
    struct error fault = {0};
    size_t count = 0;
    size_t latency_count = 0;
    struct layout_plan *rows = capture_file_rows(s->file, CAPTURE_PLAN, &count, &fault);
    struct layout_latency *latencies =
        capture_file_rows(s->file, CAPTURE_LATENCY, &latency_count, &fault);
    size_t done = 0;
    for (size_t i = 0; fault.kind == ERROR_NONE && i < count; i++) {
        struct plan_point *point = find_point(s->plan, &rows[i]);
        s->groups += strcmp(rows[i].what, "colocation") == 0;
        if (point != NULL && strcmp(rows[i].state, "failed") == 0)
            point->failures++;
        if (point == NULL || strcmp(rows[i].state, "done") != 0)
            continue;
        rebook(s, point, rows[i].round, latencies, latency_count);
        done++;
    }
    free(latencies);
    free(rows);
    give_up_failed(s->plan);
    if (done > 0)
        printf("%zu points are in the file already\n", done);
    if (fault.kind != ERROR_NONE && error != NULL)
        *error = fault;
    return fault.kind == ERROR_NONE;
}

/* SIGINT and SIGTERM end the capture after the current point. */
static void catch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static bool take_points(struct session *s, double budget_s, struct error *error)
{
    catch_signals();
    const double start = measure_now_ms();
    size_t taken = 0;
    for (;;) {
        const double left = budget_s - (measure_now_ms() - start) / 1e3;
        struct plan_point *point = left > 0 ? plan_next(s->plan, s->spent_s, budget_s) : NULL;
        if (point == NULL || interrupted)
            break;
        if (!take_point(s, point, error))
            return false;
        taken++;
    }
    if (!write_clocks(s, error))
        return false;
    printf("%zu points in %.1f s%s\n", taken, (measure_now_ms() - start) / 1e3,
           interrupted ? ", interrupted" : "");
    return true;
}

static void describe_host(struct capture_about *about)
{
    char line[256];
    const time_t now = time(NULL);
    struct tm utc;
    FILE *info = fopen("/proc/cpuinfo", "r");
    (void)strftime(about->date, sizeof about->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    (void)snprintf(about->esgsim, sizeof about->esgsim, "%s %s", ESGSIM_VERSION, ESGSIM_COMMIT);
    about->host_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    while (info != NULL && fgets(line, sizeof line, info) != NULL)
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            (void)snprintf(about->host, sizeof about->host, "%.120s", strchr(line, ':') + 2);
            about->host[strcspn(about->host, "\n")] = '\0';
            break;
        }
    if (info != NULL)
        (void)fclose(info);
}

bool session_run(const struct session_options *options, struct plan *plan, struct error *error)
{
    struct session s = {.plan = plan};
    struct capture_about about = {.cuda_graphs = options->cuda_graphs, .clocks = "no device"};
    describe_host(&about);
    if (!(options->rehearse ? measure_open_rehearsal(&s.measure, &about, error)
                            : measure_open_device(&s.measure, &about, error)))
        return false;
    printf("%s, %d multiprocessors, driver %d, cuDNN %d, cuBLAS %d\n", about.device, about.sms,
           about.driver, about.cudnn, about.cublas);
    if (!options->rehearse)
        s.clocks = clocks_start(about.bus, about.clocks);
    printf("clocks: %s\n", about.clocks);
    if (!options->rehearse)
        printf("work reaches parts of the device by %s; %s\n", about.access,
               options->cuda_graphs ? "an inference is one CUDA graph" : "launches one by one");
    s.file = capture_file_open(options->out, &about, error);
    const bool good =
        s.file != NULL && go_on(&s, error) && take_points(&s, options->budget_s, error);
    clocks_stop(s.clocks);
    const bool closed = s.file == NULL || capture_file_close(s.file, good ? error : NULL);
    s.measure.close(s.measure.state);
    return good && closed;
}
