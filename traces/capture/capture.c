/* capture: measures networks on this machine's GPU into one file (layout.h). */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "traces/capture/measure.h"
#include "traces/capture/replay.h"
#include "traces/capture/self_test.h"

enum { NAMES = 64, CPU_SAMPLES = MEASURE_CPU_TASKS * MEASURE_CPU_SAMPLES };

#ifndef ESGSIM_VERSION
#define ESGSIM_VERSION "unknown"
#endif
#ifndef ESGSIM_COMMIT
#define ESGSIM_COMMIT "unknown"
#endif

static const char usage[] =
    "usage: capture [OPTION…], or capture replay EXP.json --out F.h5 (capture replay --help)\n"
    "Measures networks on the first GPU of this machine into a capture file (HDF5). A file that "
    "is\n"
    "there is gone on with: what it holds is not measured again.\n"
    "\n"
    "  --out FILE        the file (capture.h5)\n"
    "  --budget-s S      stop after S seconds (600); spent where the model is most uncertain\n"
    "  --networks A,B    of the folder's (all)\n"
    "  --folder DIR      of network files (traces/capture/networks)\n"
    "  --precision P     fp16, fp32 or both (both)\n"
    "  --batch N         largest batch (32)\n"
    "  --shares S        sevenths, or all: tens of per cent too (all)\n"
    "  --mechanism M     shares by green contexts (green) or by MPS (mps); the default is mps\n"
    "                    where a server runs, else green\n"
    "  --dry-run         print the plan and what it will take, measure nothing\n"
    "  --rehearse        samples from a formula in place of a GPU, marked so in the file\n"
    "  --self-test       compare small networks on the GPU with the processor, then end\n"
    "  --help\n";

struct options {
    const char *out;
    const char *networks;
    double budget_s;
    bool dry_run, rehearse, self_test, help;
    struct plan_options plan;
    const char *names[NAMES];
    char *names_text;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* ---- Options --------------------------------------------------------------------------------- */

static bool mps_runs(void)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    char path[512];
    (void)snprintf(path, sizeof path, "%s/control", folder == NULL ? "/tmp/nvidia-mps" : folder);
    return access(path, F_OK) == 0;
}

static bool read_number(const char *text, const char *what, double low, double high, double *value,
                        struct error *error)
{
    char *end = NULL;
    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !(*value >= low && *value <= high))
        return error_input(error, "capture: --%s is \"%s\", must be a number within %g..%g", what,
                           text, low, high);
    return true;
}

static bool read_precision(struct options *o, const char *text, struct error *error)
{
    o->plan.fp16 = strcmp(text, "fp16") == 0;
    o->plan.fp32 = strcmp(text, "fp32") == 0;
    if (o->plan.fp16 || o->plan.fp32 || strcmp(text, "both") == 0)
        return true;
    return error_input(error, "capture: --precision is \"%s\", must be fp16, fp32 or both", text);
}

static bool read_shares(struct options *o, const char *text, struct error *error)
{
    o->plan.sevenths = strcmp(text, "sevenths") == 0;
    return o->plan.sevenths || strcmp(text, "all") == 0 ||
           error_input(error, "capture: --shares is \"%s\", must be sevenths or all", text);
}

static bool read_mechanism(struct options *o, const char *text, struct error *error)
{
    if (strcmp(text, "green") != 0 && strcmp(text, "mps") != 0)
        return error_input(error, "capture: --mechanism is \"%s\", must be green or mps", text);
    o->plan.mechanism = strcmp(text, "mps") == 0 ? PLAN_MPS : PLAN_GREEN;
    return true;
}

static bool read_names(struct options *o, const char *text, struct error *error)
{
    o->names_text = strdup(text);
    char *rest = o->names_text;
    for (char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ",")) {
        if (o->plan.name_count == NAMES)
            return error_input(error, "capture: --networks names more than %d", NAMES);
        o->names[o->plan.name_count++] = name;
    }
    o->plan.names = o->names;
    return true;
}

static bool read_option(struct options *o, int option, const char *text, struct error *error)
{
    double number = 0;
    switch (option) {
    case 'o':
        o->out = text;
        return true;
    case 'b':
        return read_number(text, "budget-s", 1, 1e6, &o->budget_s, error);
    case 'n':
        return read_names(o, text, error);
    case 'f':
        o->plan.folder = text;
        return true;
    case 'p':
        return read_precision(o, text, error);
    case 'B':
        if (!read_number(text, "batch", 1, 256, &number, error))
            return false;
        o->plan.largest_batch = (int)number;
        return true;
    case 'S':
        return read_shares(o, text, error);
    case 'm':
        return read_mechanism(o, text, error);
    case 'd':
        return o->dry_run = true;
    case 'r':
        return o->rehearse = true;
    case 's':
        return o->self_test = true;
    case 'h':
        return o->help = true;
    default:
        return error_input(error, "capture: unknown option; see capture --help");
    }
}

static bool read_options(int argc, char **argv, struct options *o, struct error *error)
{
    static const struct option known[] = {
        {"out", required_argument, NULL, 'o'},
        {"budget-s", required_argument, NULL, 'b'},
        {"networks", required_argument, NULL, 'n'},
        {"folder", required_argument, NULL, 'f'},
        {"precision", required_argument, NULL, 'p'},
        {"batch", required_argument, NULL, 'B'},
        {"shares", required_argument, NULL, 'S'},
        {"mechanism", required_argument, NULL, 'm'},
        {"dry-run", no_argument, NULL, 'd'},
        {"rehearse", no_argument, NULL, 'r'},
        {"self-test", no_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *o = (struct options){
        .out = "capture.h5",
        .budget_s = 600,
        .plan = {.folder = "traces/capture/networks",
                 .mechanism = mps_runs() ? PLAN_MPS : PLAN_GREEN,
                 .fresh_processes = true},
    };
    opterr = 0;
    for (int c = getopt_long(argc, argv, "", known, NULL); c != -1;
         c = getopt_long(argc, argv, "", known, NULL))
        if (!read_option(o, c, optarg, error))
            return false;
    if (optind < argc)
        return error_input(error, "capture: unexpected \"%s\"; see capture --help", argv[optind]);
    return true;
}

/* ---- The plan -------------------------------------------------------------------------------- */

static void print_plan(const struct plan *plan, const struct options *o)
{
    double total = 0;
    printf("%-12s %8s %10s\n", "table", "points", "seconds");
    for (int table = 0; table < PLAN_TABLES; table++) {
        size_t count = 0;
        const double seconds = plan_remaining(plan, (enum plan_table)table, &count);
        printf("%-12s %8zu %10.1f\n", plan_table_name((enum plan_table)table), count, seconds);
        total += seconds;
    }
    printf("%-12s %8zu %10.1f\n\n", "all", plan->count, total);
    printf("%-20s %10s %14s %14s\n", "network", "points", "seconds", "ms, batch 1");
    for (size_t n = 0; n < plan->network_count; n++) {
        double seconds = 0;
        size_t count = 0;
        const struct plan_member member = {n, 1, 100};
        for (size_t i = 0; i < plan->count; i++)
            if (plan->points[i].table == PLAN_LATENCY && plan->points[i].members[0].network == n) {
                seconds += plan->points[i].estimated_s;
                count++;
            }
        printf("%-20s %10zu %14.1f %14.3f\n", plan->networks[n].graph->name, count, seconds,
               plan_estimate_ms(plan, &member, true));
    }
    printf("\nshares by %s; budget %.0f s%s\n", plan_mechanism_name(o->plan.mechanism), o->budget_s,
           total > o->budget_s ? ": not all points fit; those that the rest tells least about come "
                                 "first"
                               : ": all points fit; what is left over refines the widest");
}

/* What the budget reaches, in the order in which it would be taken if the estimates were right. */
static void print_schedule(struct plan *plan, double budget_s)
{
    char key[PLAN_KEY];
    double spent_s[PLAN_TABLES] = {0};
    double total = 0;
    size_t count = 0;
    printf("\n%10s  %s\n", "seconds", "in this order");
    for (;;) {
        double samples[MEASURE_LEAST];
        struct plan_point *point = plan_next(plan, spent_s, budget_s);
        if (point == NULL)
            break;
        printf("%10.2f  %-11s %s\n", point->estimated_s, plan_table_name(point->table),
               plan_key(plan, point, key));
        spent_s[point->table] += point->estimated_s;
        total += point->estimated_s;
        count++;
        for (size_t i = 0; i < MEASURE_LEAST && point->table == PLAN_LATENCY; i++)
            samples[i] = plan_estimate_ms(plan, &point->members[0], point->half);
        plan_book(plan, point, samples, point->table == PLAN_LATENCY ? MEASURE_LEAST : 0);
    }
    printf("%10.1f  for %zu of %zu points within a budget of %.0f s\n", total, count, plan->count,
           budget_s);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct session {
    struct plan *plan;
    struct capture_file *file;
    struct measure measure;
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
    if (!s->measure.latency(s->measure.state, s->plan, point, &samples, error))
        return false;
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
    memset(samples, 0, sizeof samples);
    if (!s->measure.colocation(s->measure.state, s->plan, point, samples, error))
        return false;
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

/* Three fresh processes. */
static bool take_cold_start(struct session *s, struct plan_point *point, struct error *error)
{
    for (int sample = 0; sample < 3; sample++) {
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
        if (strcmp(rows[i].part, "context") != 0) { /* is of no network */
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

static bool take_share(struct session *s, struct plan_point *point, struct error *error)
{
    static const char *const names[] = {"create", "switch", "destroy"};
    double shares[32];
    const size_t count = plan_shares(false, shares);
    for (size_t i = 0; i + 1 < count; i++) {
        double parts[3];
        struct layout_share rows[3];
        if (!s->measure.share(s->measure.state, shares[i], shares[i + 1], parts, error))
            return false;
        memset(rows, 0, sizeof rows);
        for (size_t p = 0; p < 3; p++) {
            COPY(rows[p].part, names[p]);
            COPY(rows[p].mechanism, plan_mechanism_name(point->mechanism));
            rows[p].from_percent = shares[i];
            rows[p].to_percent = shares[i + 1];
            rows[p].ms = parts[p];
        }
        if (!capture_file_append(s->file, CAPTURE_SHARE, rows, 3, error))
            return false;
    }
    plan_book(s->plan, point, NULL, 0);
    return true;
}

static bool take_cpu(struct session *s, struct plan_point *point, struct error *error)
{
    double ms[CPU_SAMPLES];
    struct layout_cpu rows[CPU_SAMPLES];
    if (!measure_cpu(point->threads, ms, error))
        return false;
    memset(rows, 0, sizeof rows);
    for (size_t i = 0; i < CPU_SAMPLES; i++) {
        COPY(rows[i].task, measure_cpu_task(i / MEASURE_CPU_SAMPLES));
        rows[i].threads = point->threads;
        rows[i].items = MEASURE_CPU_ITEMS;
        rows[i].width = MEASURE_CPU_WIDTH;
        rows[i].height = MEASURE_CPU_HEIGHT;
        rows[i].sample = (int)(i % MEASURE_CPU_SAMPLES);
        rows[i].ms = ms[i];
    }
    plan_book(s->plan, point, NULL, 0);
    return capture_file_append(s->file, CAPTURE_CPU, rows, CPU_SAMPLES, error);
}

/* ---- The session ----------------------------------------------------------------------------- */

typedef bool take(struct session *s, struct plan_point *point, struct error *error);

static take *const takers[PLAN_TABLES] = {
    [PLAN_MEMORY] = take_memory,
    [PLAN_COPIES] = take_copies,
    [PLAN_COLD_START] = take_cold_start,
    [PLAN_SHARE] = take_share,
    [PLAN_CPU] = take_cpu,
    [PLAN_LATENCY] = take_latency,
    [PLAN_COLOCATION] = take_colocation,
};

/* Takes a point and writes how it ended. False where the file cannot be written, or where the
 * device is lost: the points after it wait for the next run. */
static bool take_point(struct session *s, struct plan_point *point, struct error *error)
{
    char key[PLAN_KEY];
    struct error fault = {0};
    struct layout_plan row;
    const int round = point->round;
    const double start = measure_now_ms();
    memset(&row, 0, sizeof row);
    row.estimated_s = point->estimated_s;
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
    printf("%-11s %-70s %8.2f s%s%s\n", row.what, key, row.spent_s,
           good ? "" : "  failed: ", fault.message);
    (void)fflush(stdout);
    if (!capture_file_append(s->file, CAPTURE_PLAN, &row, 1, error))
        return false;
    return good || s->measure.alive(s->measure.state, &fault) ||
           error_run(error, "%s: the device is lost; run again to go on with the file",
                     fault.message);
}

/* The point of a row of /plan; NULL where this plan has none. */
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

/* Books the samples of a finished point, which lie behind each other in the table. */
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

/* A point that failed twice may be what the device was lost of: others come to their turn. */
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

/* What the file holds is done. */
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

/* A signal ends a capture behind the point under way; anything else it ends at once. */
static void catch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static bool run_session(struct session *s, double budget_s, struct error *error)
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

static bool capture(const struct options *o, struct plan *plan, struct error *error)
{
    struct session s = {.plan = plan};
    struct capture_about about = {.rehearsal = 0};
    describe_host(&about);
    if (!(o->rehearse ? measure_open_rehearsal(&s.measure, &about, error)
                      : measure_open_device(&s.measure, &about, error)))
        return false;
    printf("%s, %d multiprocessors, driver %d, cuDNN %d, cuBLAS %d\n", about.device, about.sms,
           about.driver, about.cudnn, about.cublas);
    s.file = capture_file_open(o->out, &about, error);
    const bool good = s.file != NULL && go_on(&s, error) && run_session(&s, o->budget_s, error);
    const bool closed = s.file == NULL || capture_file_close(s.file, good ? error : NULL);
    s.measure.close(s.measure.state);
    return good && closed;
}

static bool run(const struct options *o, struct error *error)
{
    if (o->help) {
        (void)fputs(usage, stdout);
        return true;
    }
    if (o->self_test)
        return self_test_run(error);
    struct plan *plan = plan_create(&o->plan, error);
    if (plan == NULL)
        return false;
    bool good = true;
    print_plan(plan, o);
    if (o->dry_run)
        print_schedule(plan, o->budget_s);
    else
        good = capture(o, plan, error);
    plan_free(plan);
    return good;
}

int main(int argc, char **argv)
{
    struct options options;
    struct error error = {0};
    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return measure_worker(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "replay") == 0)
        return replay_command(argc - 1, argv + 1);
    const bool good = read_options(argc, argv, &options, &error) && run(&options, &error);
    free(options.names_text);
    if (good)
        return 0;
    (void)fprintf(stderr, "%s\n", error.message);
    return error.kind == ERROR_INPUT ? 2 : 1;
}
