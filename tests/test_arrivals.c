#include <dirent.h>

#include <zlib.h>

#include "sim/cli/cli.h"
#include "sim/engine/random.h"
#include "tests/suite.h"
#include "traces/readers/arrival_trace.h"
#include "workloads/arrivals/arrivals.h"
#include "workloads/world/workload.h"

OWNER(arrival_stream_close, struct arrival_stream)
OWNER(trace_close, struct trace_reader)

#define SHIPPED "traces/arrivals/"
#define DATA "tests/data/arrivals/"
#define CORPUS "tests/corpus/arrivals/"

struct summary {
    uint64_t requests;
    sim_time_t last;
    uint64_t digest; /* of times, sources and objectives: equal for equal traces */
    char format[32];
};

static uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ byte[i]) * 1099511628211u;
    return digest;
}

/* Reads a trace to its end, asserting that time never goes back. */
static struct summary read_trace(const char *path, const char *format, uint64_t seed,
                                 const struct trace_view *view)
{
    struct summary summary = {.digest = 14695981039346656037u};
    struct trace_record record;
    OWNED(trace_close)
    struct trace_reader *reader = must(trace_open_view(path, format, seed, view, hear()));
    snprintf(summary.format, sizeof summary.format, "%s", trace_format(reader));
    while (trace_next(reader, &record, hear())) {
        assert_true(record.time >= summary.last);
        summary.last = record.time;
        summary.requests++;
        summary.digest = digest_bytes(summary.digest, &record.time, sizeof record.time);
        summary.digest = digest_bytes(summary.digest, record.source, strlen(record.source));
        summary.digest = digest_bytes(summary.digest, &record.slo, sizeof record.slo);
    }
    if (heard.kind != ERROR_NONE)
        fail_msg("%s", heard.message);
    return summary;
}

/* The records of a small trace. */
static size_t read_records(const char *path, const char *format, const struct trace_view *view,
                           struct trace_record *records, char sources[][32], size_t most)
{
    OWNED(trace_close)
    struct trace_reader *reader = must(trace_open_view(path, format, 1, view, hear()));
    size_t count = 0;
    for (; count < most && trace_next(reader, &records[count], hear()); count++)
        snprintf(sources[count], 32, "%s", records[count].source);
    assert_int_equal(heard.kind, ERROR_NONE);
    return count;
}

/* ---- shipped traces ---- */

CASE(the_shipped_llm_traces_hold_their_published_numbers_of_requests)
{
    struct summary conv = read_trace(SHIPPED "AzureLLMInferenceTrace_conv.csv.gz", NULL, 1, NULL);
    struct summary code = read_trace(SHIPPED "AzureLLMInferenceTrace_code.csv.gz", NULL, 1, NULL);
    assert_string_equal(conv.format, "azure-llm");
    assert_int_equal(conv.requests, 19366);
    assert_int_equal(code.requests, 8819);
    /* 18:15:46.6805900 to 19:14:08.4025270, and 18:17:03.9799600 to 19:14:19.9280160. */
    assert_int_equal(conv.last, 3501721937000);
    assert_int_equal(code.last, 3435948056000);
}

CASE(the_shipped_azure_2019_functions_hold_their_known_totals)
{
    static const uint64_t totals[] = {1682, 1529, 31211, 40786, 9148, 281};
    for (size_t i = 0; i < 6; i++) {
        char *path = formatted(SHIPPED "azure2019_7d_permin_%zu.txt.gz", i + 1);
        struct summary summary = read_trace(path, "counts-per-minute", 1, NULL);
        assert_int_equal(summary.requests, totals[i]);
        assert_true(summary.last < 7 * 24 * SIM_HOUR);
    }
}

CASE(the_shipped_twitter_day_holds_its_known_total)
{
    struct summary summary =
        read_trace(SHIPPED "twitter_2021_day1_per_second.csv.gz", NULL, 1, NULL);
    assert_string_equal(summary.format, "counts-per-second");
    assert_int_equal(summary.requests, 5531778);
    assert_true(summary.last < 24 * SIM_HOUR);
}

CASE(the_shipped_azure_2021_sample_holds_its_199_rows)
{
    struct summary summary = read_trace(SHIPPED "Azure2021_200.csv.gz", NULL, 1, NULL);
    assert_string_equal(summary.format, "azure-2021");
    assert_int_equal(summary.requests, 199);
    /* Latest and earliest end − duration of the rows: 1200.0147980537415 and 0.0014909000396728517.
     */
    assert_true(llabs(summary.last - 1200013307154) <= 2);
}

/* Copies a gzip file's contents into a plain file of the temporary folder. */
static void unpack(const char *from, char to[64])
{
    char bytes[8192];
    int count = 0;
    snprintf(to, 64, "/tmp/esgsim-arrivals-XXXXXX");
    int descriptor = mkstemp(to);
    assert_true(descriptor >= 0);
    gzFile packed = must(gzopen(from, "rb"));
    while ((count = gzread(packed, bytes, sizeof bytes)) > 0)
        assert_int_equal(write(descriptor, bytes, (size_t)count), count);
    gzclose(packed);
    close(descriptor);
}

CASE(gzip_and_plain_give_the_same_records)
{
    static const char *const files[][2] = {
        {SHIPPED "AzureLLMInferenceTrace_code.csv.gz", "azure-llm"},
        {SHIPPED "azure2019_7d_permin_1.txt.gz", "counts-per-minute"},
        {SHIPPED "Azure2021_200.csv.gz", "azure-2021"}};
    for (size_t i = 0; i < 3; i++) {
        char plain[64];
        unpack(files[i][0], plain);
        struct summary packed = read_trace(files[i][0], files[i][1], 3, NULL);
        struct summary unpacked = read_trace(plain, files[i][1], 3, NULL);
        unlink(plain);
        assert_true(packed.requests > 0);
        assert_int_equal(packed.requests, unpacked.requests);
        assert_int_equal(packed.digest, unpacked.digest);
    }
}

/* ---- layouts ---- */

CASE(the_own_format_gives_times_sources_and_objectives)
{
    static const sim_time_t times[] = {0, 500000, 500001, 150250000, 1000000000};
    static const sim_time_t slos[] = {0, 20000000, 0, 1500000, 0};
    static const char *const names[] = {"alpha", "beta", "gamma", "alpha", "gamma"};
    struct trace_record records[8];
    char sources[8][32];
    assert_int_equal(read_records(DATA "esgsim.csv", NULL, NULL, records, sources, 8), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(records[i].time, times[i]);
        assert_int_equal(records[i].slo, slos[i]);
        assert_string_equal(sources[i], names[i]);
        assert_int_equal(records[i].selected, TRACE_UNSELECTED);
    }
}

CASE(a_byte_order_mark_and_crlf_are_accepted)
{
    struct trace_record records[8];
    char sources[8][32];
    assert_int_equal(read_records(DATA "esgsim-windows.csv", NULL, NULL, records, sources, 8), 3);
    assert_int_equal(records[2].time, 10 * SIM_MS);
    assert_string_equal(sources[1], "beta");
}

CASE(stamps_with_zone_or_without_fraction_are_read_across_midnight)
{
    struct trace_record records[8];
    char sources[8][32];
    assert_int_equal(read_records(DATA "azure-llm-2024.csv", NULL, NULL, records, sources, 8), 3);
    assert_int_equal(records[1].time, 1000);
    assert_int_equal(records[2].time, 500001000);
}

CASE(invocations_sorted_by_end_come_sorted_by_start)
{
    /* Starts 10.25, 2, 12.000000001, 0.5 and 40: relative to 0.5. */
    static const sim_time_t times[] = {0, 1500000000, 9750000000, 11500000001, 39500000000};
    static const char *const names[] = {"f", "g", "f", "h", "h"};
    struct trace_record records[8];
    char sources[8][32];
    assert_int_equal(read_records(DATA "azure-2021-by-end.csv", NULL, NULL, records, sources, 8),
                     5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(records[i].time, times[i]);
        assert_string_equal(sources[i], names[i]);
    }
}

CASE(bins_left_out_hold_no_requests_and_the_first_is_time_zero)
{
    struct trace_record records[8];
    char sources[8][32];
    assert_int_equal(read_records(DATA "per-second-gap.csv", NULL, NULL, records, sources, 8), 3);
    assert_true(records[1].time < SIM_S);
    assert_true(records[2].time >= 3 * SIM_S && records[2].time < 4 * SIM_S);
}

CASE(bare_integers_may_share_a_line)
{
    static const int seconds[] = {0, 1, 1, 3, 3, 3, 4, 4, 4, 4};
    struct trace_record records[16];
    char sources[16][32];
    assert_int_equal(
        read_records(DATA "words.txt", "counts-per-second", NULL, records, sources, 16), 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(records[i].time / SIM_S, seconds[i]);
}

struct tallies {
    size_t calls;
    uint64_t requests;
    uint64_t of_f2;
};

static void count_label(void *context, const char *label, uint64_t requests)
{
    struct tallies *tallies = context;
    tallies->calls++;
    tallies->requests += requests;
    if (strcmp(label, "f2") == 0)
        tallies->of_f2 += requests;
}

/* The fixture's functions: f1 6, f2 288, f3 41, f4 0, f5 12; appA is f1 and f2. */
CASE(azure_2019_keeps_merges_or_drops_functions)
{
    static const char *const labels[] = {"appA", "f5"};
    struct trace_view view = {.labels = labels, .label_count = 2, .others = TRACE_OTHERS_DROP};
    struct tallies tallies = {0};
    assert_int_equal(read_trace(DATA "azure-2019.csv", NULL, 1, NULL).requests, 347);
    assert_int_equal(read_trace(DATA "azure-2019.csv", NULL, 1, &view).requests, 306);
    view.others = TRACE_OTHERS_MERGE;
    view.count = count_label;
    view.context = &tallies;
    assert_int_equal(read_trace(DATA "azure-2019.csv", NULL, 1, &view).requests, 347);
    assert_int_equal(tallies.calls, 5);
    assert_int_equal(tallies.requests, 347);
    assert_int_equal(tallies.of_f2, 288);
}

CASE(the_arrivals_of_a_function_do_not_depend_on_the_others_asked_for)
{
    static const char *const one[] = {"f2"}, *const two[] = {"f5", "f2"};
    const struct trace_view alone = {.labels = one, .label_count = 1, .others = TRACE_OTHERS_DROP};
    const struct trace_view both = {.labels = two, .label_count = 2, .others = TRACE_OTHERS_MERGE};
    struct trace_record a, b;
    OWNED(trace_close)
    struct trace_reader *left = trace_open_view(DATA "azure-2019.csv", NULL, 5, &alone, hear());
    OWNED(trace_close)
    struct trace_reader *right =
        must(trace_open_view(DATA "azure-2019.csv", NULL, 5, &both, hear()));
    size_t count = 0;
    assert_non_null(left);
    while (trace_next(left, &a, hear())) {
        assert_int_equal(a.selected, 0);
        do
            assert_true(trace_next(right, &b, hear()));
        while (b.selected != 1);
        assert_int_equal(a.time, b.time);
        count++;
    }
    assert_int_equal(count, 288);
}

/* ---- placing counts ---- */

CASE(counts_stay_in_their_bins)
{
    char path[64];
    struct trace_record record;
    static unsigned counts[86400], wanted[86400];
    memset(counts, 0, sizeof counts);
    unpack(SHIPPED "twitter_2021_day1_per_second.csv.gz", path);
    FILE *file = must(fopen(path, "r"));
    char line[64];
    assert_non_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file) != NULL) {
        char *comma = NULL;
        unsigned long second = strtoul(line, &comma, 10);
        assert_true(second < 86400 && *comma == ',');
        wanted[second] = (unsigned)strtoul(comma + 1, NULL, 10);
    }
    fclose(file);
    OWNED(trace_close) struct trace_reader *reader = must(trace_open(path, NULL, 2, hear()));
    while (trace_next(reader, &record, hear()))
        counts[record.time / SIM_S]++;
    unlink(path);
    assert_memory_equal(counts, wanted, sizeof counts);
}

/* Mean 1/2 and variance 1/12 of 31,211 places: within five standard errors. */
CASE(places_within_a_bin_are_uniform)
{
    struct trace_record record;
    double sum = 0, squares = 0, count = 0;
    struct trace_reader *reader =
        must(trace_open(SHIPPED "azure2019_7d_permin_3.txt.gz", "counts-per-minute", 1, hear()));
    while (trace_next(reader, &record, hear())) {
        double place = (double)(record.time % (60 * SIM_S)) / 60e9 - 0.5;
        sum += place;
        squares += place * place;
        count++;
    }
    trace_close(reader);
    assert_true(fabs(sum / count) < 5 * sqrt(1.0 / 12 / count));
    assert_true(fabs(squares / count - 1.0 / 12) < 5 * sqrt(1.0 / 180 / count));
}

CASE(one_seed_gives_one_placing_and_another_gives_another)
{
    static const char path[] = SHIPPED "azure2019_7d_permin_5.txt.gz";
    uint64_t first = read_trace(path, "counts-per-minute", 7, NULL).digest;
    assert_int_equal(read_trace(path, "counts-per-minute", 7, NULL).digest, first);
    assert_int_not_equal(read_trace(path, "counts-per-minute", 8, NULL).digest, first);
}

/* ---- windows ---- */

CASE(a_window_is_what_filtering_the_whole_trace_gives)
{
    static const char *const files[][2] = {
        {SHIPPED "AzureLLMInferenceTrace_conv.csv.gz", NULL},
        {SHIPPED "azure2019_7d_permin_4.txt.gz", "counts-per-minute"},
        {SHIPPED "Azure2021_200.csv.gz", NULL},
        {DATA "azure-2019.csv", NULL}};
    const struct trace_view view = {
        .others = TRACE_OTHERS_MERGE, .start_s = 300.5, .duration_s = 777.25, .scale_rate = 4};
    const sim_time_t start = 300500 * SIM_MS, end = start + 777250 * SIM_MS;
    for (size_t i = 0; i < 4; i++) {
        struct trace_record whole, part;
        OWNED(trace_close)
        struct trace_reader *all = trace_open(files[i][0], files[i][1], 1, hear());
        OWNED(trace_close)
        struct trace_reader *window =
            must(trace_open_view(files[i][0], files[i][1], 1, &view, hear()));
        size_t count = 0;
        assert_non_null(all);
        while (trace_next(all, &whole, hear())) {
            if (whole.time < start || whole.time >= end)
                continue;
            assert_true(trace_next(window, &part, hear()));
            assert_true(llabs(4 * part.time - (whole.time - start)) <= 2);
            count++;
        }
        assert_false(trace_next(window, &part, hear()));
        assert_int_equal(heard.kind, ERROR_NONE);
        assert_true(count > 0);
    }
}

/* ---- faults ---- */

static bool reads_to_end(const char *path, struct error *error)
{
    struct trace_record record;
    OWNED(trace_close) struct trace_reader *reader = trace_open(path, NULL, 1, error);
    if (reader == NULL)
        return false;
    while (trace_next(reader, &record, error))
        ;
    return error->kind == ERROR_NONE;
}

CASE(every_malformed_trace_is_refused_with_its_file_and_line)
{
    struct dirent *entry = NULL;
    size_t files = 0;
    DIR *folder = must(opendir(CORPUS));
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        files++;
        char *path = formatted(CORPUS "%s", entry->d_name);
        if (reads_to_end(path, hear()) || heard.kind != ERROR_INPUT)
            fail_msg("%s is not refused", path);
        size_t length = strlen(path);
        if (strncmp(heard.message, path, length) != 0 || heard.message[length] != ':' ||
            strtol(heard.message + length + 1, NULL, 10) < 1)
            fail_msg("names no file and line: %s", heard.message);
        assert_null(strchr(heard.message, '\n'));
    }
    closedir(folder);
    assert_true(files >= 25);
}

CASE(faults_name_the_very_line)
{
    static const char *const faults[][2] = {
        {"esgsim-time-goes-back.csv", ":4: time goes back"},
        {"esgsim-blank-line.csv", ":3: the line is empty"},
        {"truncated.csv.gz", "ends early"},
        {"overlong-line.csv.gz", ":3: the line is longer than 1 MiB"},
        {"esgsim-nul.csv", ":3: holds a NUL byte"}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        assert_bad_input(reads_to_end(formatted(CORPUS "%s", faults[i][0]), hear()), faults[i][1]);
}

CASE(a_missing_file_a_folder_and_an_unknown_format_are_refused)
{
    assert_bad_input(trace_open("no/such.csv", NULL, 1, hear()), "no/such.csv");
    assert_bad_input(trace_open("tests", NULL, 1, hear()), "");
    assert_bad_input(trace_open(DATA "esgsim.csv", "azure-lm", 1, hear()),
                     "did you mean azure-llm");
    assert_bad_input(trace_open(DATA "esgsim.csv", "azure-llm", 1, hear()), ":1: ");
}

/* ---- processes ---- */

enum { DRAWS = 200000 };

static struct application two[] = {{.name = (char[]){"alpha"}, .weight = 0.25},
                                   {.name = (char[]){"beta"}, .weight = 0.75}};
static const struct workload workload = {.applications = two, .application_count = 2};

static struct arrival_stream *open_stream(const struct arrival_spec *spec, uint64_t seed)
{
    return must(arrival_stream_open(spec, &workload, seed, hear()));
}

/* By the stream that the request's name gives. */
static uint32_t drawn_application(uint64_t seed, uint64_t request)
{
    RANDOM_STREAM(random, seed, RANDOM_APPLICATION, request, 0);
    return application_draw_walk(&workload, random_uniform(&random));
}

/* Mean and variance [ms] of DRAWS intervals; the share of beta. */
static void measure_intervals(const struct arrival_spec *spec, double *mean, double *variance,
                              double *beta)
{
    OWNED(arrival_stream_close) struct arrival_stream *stream = open_stream(spec, 11);
    struct arrival arrival;
    sim_time_t last = 0;
    double squares = 0;
    *mean = 0;
    *beta = 0;
    for (int i = 0; i < DRAWS; i++) {
        assert_true(arrival_stream_next(stream, &arrival, NULL));
        double interval = sim_to_ms(arrival.time - last);
        last = arrival.time;
        *mean += interval / DRAWS;
        squares += interval * interval / DRAWS;
        *beta += arrival.application == 1 ? 1.0 / DRAWS : 0;
    }
    *variance = squares - *mean * *mean;
}

/* Tolerances below: five standard errors of the estimate. */
CASE(uniform_intervals_have_the_mean_and_variance_of_theory)
{
    const struct arrival_spec spec = {.process = ARRIVAL_UNIFORM, .low_ms = 40, .high_ms = 67.2};
    double mean = 0, variance = 0, beta = 0, width = 27.2;
    measure_intervals(&spec, &mean, &variance, &beta);
    assert_true(fabs(mean - 53.6) < 5 * width / sqrt(12.0 * DRAWS));
    assert_true(fabs(variance - width * width / 12) < 5 * width * width / sqrt(180.0 * DRAWS));
    assert_true(fabs(beta - 0.75) < 5 * sqrt(0.25 * 0.75 / DRAWS));
}

CASE(poisson_intervals_have_the_mean_and_variance_of_theory)
{
    const struct arrival_spec spec = {.process = ARRIVAL_POISSON, .rate_per_s = 80};
    double mean = 0, variance = 0, beta = 0, wanted = 12.5;
    measure_intervals(&spec, &mean, &variance, &beta);
    assert_true(fabs(mean - wanted) < 5 * wanted / sqrt(DRAWS));
    assert_true(fabs(variance - wanted * wanted) < 5 * wanted * wanted * sqrt(8.0 / DRAWS));
}

/* Requests in each of `windows` windows of `width`; their mean and index of dispersion. */
static void measure_counts(const struct arrival_spec *spec, sim_time_t width, int windows,
                           double *mean, double *dispersion)
{
    OWNED(arrival_stream_close) struct arrival_stream *stream = open_stream(spec, 23);
    struct arrival arrival;
    double sum = 0, squares = 0;
    bool more = arrival_stream_next(stream, &arrival, NULL);
    for (int w = 0; w < windows; w++) {
        double count = 0;
        for (; more && arrival.time < (w + 1) * width; count++)
            more = arrival_stream_next(stream, &arrival, NULL);
        assert_true(more);
        sum += count;
        squares += count * count;
    }
    *mean = sum / windows;
    *dispersion = (squares - sum * *mean) / (windows - 1) / *mean;
}

CASE(poisson_counts_have_dispersion_one)
{
    const struct arrival_spec spec = {.process = ARRIVAL_POISSON, .rate_per_s = 20};
    double mean = 0, dispersion = 0;
    measure_counts(&spec, SIM_S, 10000, &mean, &dispersion);
    assert_true(fabs(mean - 20) < 5 * sqrt(20.0 / 10000));
    assert_true(fabs(dispersion - 1) < 5 * sqrt(2.0 / 10000));
}

/* Sojourns 2 s at 30/s, 3 s at 0/s and 1 s at 120/s: 180 requests a cycle of 6 s. Cycles are
 * independent, with variance 180 + (30·2)² + (120·1)² in number and 4 + 9 + 1 in length, covariance
 * 30·4 + 120·1; the renewal-reward variance rate follows. */
CASE(an_mmpp_has_the_stationary_average_rate_and_is_overdispersed)
{
    struct mmpp_state states[] = {{30, 2}, {0, 3}, {120, 1}};
    const struct arrival_spec spec = {.process = ARRIVAL_MMPP, .states = states, .state_count = 3};
    const double number = 180, cycle = 6, rate = number / cycle;
    const double reward = number + 3600 + 14400 + rate * rate * 14 - 2 * rate * (120 + 120);
    const double variance_rate = reward / cycle, seconds = 60.0 * 1000;
    double mean = 0, dispersion = 0;
    measure_counts(&spec, 60 * SIM_S, 1000, &mean, &dispersion);
    assert_true(fabs(mean / 60 - rate) < 5 * sqrt(variance_rate / seconds));
    /* Over windows of ten cycles the dispersion is near its limit; edges lower it a little. */
    assert_true(fabs(dispersion / (variance_rate / rate) - 1) < 0.3);
}

CASE(an_mmpp_of_one_state_is_a_poisson_process)
{
    struct mmpp_state one = {50, 0.5};
    const struct arrival_spec spec = {.process = ARRIVAL_MMPP, .states = &one, .state_count = 1};
    double mean = 0, variance = 0, beta = 0;
    measure_intervals(&spec, &mean, &variance, &beta);
    assert_true(fabs(mean - 20) < 5 * 20 / sqrt(DRAWS));
    assert_true(fabs(variance - 400) < 5 * 400 * sqrt(8.0 / DRAWS));
}

CASE(a_seed_fixes_every_arrival)
{
    struct mmpp_state states[] = {{30, 2}, {5, 3}};
    const struct arrival_spec specs[] = {
        {.process = ARRIVAL_UNIFORM, .low_ms = 1, .high_ms = 2},
        {.process = ARRIVAL_POISSON, .rate_per_s = 3},
        {.process = ARRIVAL_MMPP, .states = states, .state_count = 2}};
    for (size_t s = 0; s < 3; s++) {
        OWNED(arrival_stream_close) struct arrival_stream *first = open_stream(&specs[s], 1);
        OWNED(arrival_stream_close) struct arrival_stream *again = open_stream(&specs[s], 1);
        OWNED(arrival_stream_close) struct arrival_stream *other = open_stream(&specs[s], 2);
        struct arrival a, b, c;
        size_t differ = 0;
        for (uint64_t i = 0; i < 1000; i++) {
            assert_true(arrival_stream_next(first, &a, NULL));
            assert_true(arrival_stream_next(again, &b, NULL));
            assert_true(arrival_stream_next(other, &c, NULL));
            assert_int_equal(a.time, b.time);
            assert_int_equal(a.application, b.application);
            assert_int_equal(a.application, drawn_application(1, i));
            differ += a.time != c.time;
        }
        assert_true(differ > 900);
    }
}

CASE(sources_go_where_they_are_mapped)
{
    struct trace_mapping mappings[] = {{(char[]){"f"}, 1}, {(char[]){"*"}, 0}};
    struct arrival_spec spec = {.process = ARRIVAL_TRACE,
                                .trace_path = (char[]){DATA "azure-2021-by-end.csv"},
                                .scale_rate = 2,
                                .mappings = mappings,
                                .mapping_count = 2};
    static const uint32_t wanted[] = {1, 0, 1, 0, 0};
    struct arrival arrival;
    struct arrival_stream *stream = open_stream(&spec, 1);
    for (size_t i = 0; i < 5; i++) {
        assert_true(arrival_stream_next(stream, &arrival, hear()));
        assert_int_equal(arrival.application, wanted[i]);
    }
    assert_int_equal(arrival.time, 19750 * SIM_MS);
    assert_false(arrival_stream_next(stream, &arrival, hear()));
    assert_int_equal(heard.kind, ERROR_NONE);
    arrival_stream_close(stream);
    spec.mapping_count = 1; /* g and h are mapped nowhere: left out */
    stream = open_stream(&spec, 1);
    assert_true(arrival_stream_next(stream, &arrival, hear()));
    assert_true(arrival_stream_next(stream, &arrival, hear()));
    assert_false(arrival_stream_next(stream, &arrival, hear()));
    arrival_stream_close(stream);
}

CASE(labels_that_are_applications_go_there_and_others_are_drawn)
{
    const struct arrival_spec spec = {.process = ARRIVAL_TRACE,
                                      .trace_path = (char[]){DATA "esgsim.csv"}};
    struct arrival arrival[5];
    OWNED(arrival_stream_close) struct arrival_stream *stream = open_stream(&spec, 9);
    for (size_t i = 0; i < 5; i++)
        assert_true(arrival_stream_next(stream, &arrival[i], NULL));
    assert_int_equal(arrival[0].application, 0);
    assert_int_equal(arrival[1].application, 1);
    assert_int_equal(arrival[2].application, drawn_application(9, 2));
    assert_int_equal(arrival[3].application, 0);
    assert_int_equal(arrival[4].application, drawn_application(9, 4));
    assert_int_equal(arrival[1].slo, 20 * SIM_MS);
    const struct arrival_counts counts = arrival_stream_counts(stream);
    assert_int_equal(counts.requests, 5);
    assert_int_equal(counts.drawn, 2);
    assert_true(counts.drawn_labels >= 1 && counts.drawn_labels <= 2);
    assert_true(counts.fixed_times);
}

/* One after another they are the trace, and later seeds begin again. */
CASE(each_seed_replays_a_window_of_its_own)
{
    static char path[] = SHIPPED "AzureLLMInferenceTrace_conv.csv.gz";
    struct arrival_spec spec = {.process = ARRIVAL_TRACE, .trace_path = path, .scale_rate = 2};
    struct arrival_stream *whole = open_stream(&spec, 1);
    struct arrival all, one;
    size_t seen = 0;
    assert_true(arrival_stream_counts(whole).fixed_times);
    spec.window_s = 200;
    spec.windows = 5;
    for (uint64_t seed = 5; seed < 11; seed++) {
        struct arrival_stream *window = open_stream(&spec, seed);
        const sim_time_t start = (sim_time_t)(seed - 5) * 100 * SIM_S;
        assert_false(arrival_stream_counts(window).fixed_times);
        while (seed < 10 && arrival_stream_next(window, &one, NULL)) {
            assert_true(arrival_stream_next(whole, &all, NULL));
            assert_true(one.time < 100 * SIM_S && llabs(one.time + start - all.time) <= 1);
            seen++;
        }
        if (seed == 10) { /* the first window again */
            arrival_stream_close(whole);
            whole = open_stream(&spec, 5);
            while (arrival_stream_next(window, &one, NULL)) {
                assert_true(arrival_stream_next(whole, &all, NULL));
                assert_int_equal(one.time, all.time);
            }
        }
        arrival_stream_close(window);
    }
    arrival_stream_close(whole);
    assert_true(seen > 1000);
}

CASE(a_plain_file_whose_last_line_has_no_end_may_be_cut)
{
    static const struct {
        const char *text;
        bool cut;
    } files[] = {{"time_ms,application\n0,a\n", false},
                 {"time_ms,application\n0,a\n5,b", true},
                 {"time_ms,application\r\n0,a\r\n", false},
                 {"\x1f\x8b: gzip is known by its first bytes", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[] = "/tmp/esgsim-cut-XXXXXX";
        write_temporary(path, files[i].text);
        assert_int_equal(trace_file_is_cut(path), files[i].cut);
        assert_int_equal(unlink(path), 0);
    }
    assert_false(trace_file_is_cut("/dev/null"));
    assert_false(trace_file_is_cut("/no/such/file"));
}

CASE(a_trace_of_which_nothing_is_left_is_refused)
{
    struct trace_mapping mapping = {(char[]){"nobody"}, 1};
    const struct arrival_spec spec = {.process = ARRIVAL_TRACE,
                                      .trace_path = (char[]){DATA "esgsim.csv"},
                                      .mappings = &mapping,
                                      .mapping_count = 1};
    struct arrival arrival;
    OWNED(arrival_stream_close) struct arrival_stream *stream = open_stream(&spec, 9);
    assert_bad_input(arrival_stream_next(stream, &arrival, hear()), "");
}

CASE(processes_that_cannot_run_are_refused)
{
    struct mmpp_state silent = {0, 1}, rare[] = {{0, 1e-9}, {1e-9, 1e-9}};
    struct trace_mapping twice[] = {{(char[]){"f"}, 1}, {(char[]){"f"}, 0}};
    const struct arrival_spec specs[] = {
        {.process = ARRIVAL_MMPP},
        {.process = ARRIVAL_MMPP, .states = &silent, .state_count = 1},
        {.process = ARRIVAL_MMPP, .states = rare, .state_count = 2},
        {.process = ARRIVAL_TRACE, .trace_path = (char[]){"no/such.csv"}},
        {.process = ARRIVAL_TRACE,
         .trace_path = (char[]){DATA "esgsim.csv"},
         .mappings = twice,
         .mapping_count = 2}};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        assert_bad_input(arrival_stream_open(&specs[i], &workload, 1, hear()), "");
}

CASE(an_arrival_beyond_the_clock_is_refused)
{
    const struct arrival_spec spec = {.process = ARRIVAL_POISSON, .rate_per_s = 1e-300};
    struct arrival arrival;
    OWNED(arrival_stream_close) struct arrival_stream *stream = open_stream(&spec, 1);
    assert_bad_input(arrival_stream_next(stream, &arrival, hear()), "");
}

/* ---- command ---- */

static bool command(struct error *error, int count, ...)
{
    char words[16][128], *argv[16];
    va_list args;
    va_start(args, count);
    for (int i = 0; i < count; i++) {
        snprintf(words[i], sizeof words[i], "%s", va_arg(args, const char *));
        argv[i] = words[i];
    }
    va_end(args);
    return command_trace.run(count, argv, true, error);
}

CASE(a_converted_trace_reads_back_as_the_same_arrivals)
{
    for (int zipped = 0; zipped < 2; zipped++) {
        char *out =
            formatted("/tmp/esgsim-convert-%ld.csv%s", (long)getpid(), zipped == 1 ? ".gz" : "");
        assert_good(
            command(hear(), 5, "trace", "convert", SHIPPED "Azure2021_200.csv.gz", "--out", out));
        struct summary before = read_trace(SHIPPED "Azure2021_200.csv.gz", NULL, 1, NULL);
        struct summary after = read_trace(out, "esgsim", 1, NULL);
        unlink(out);
        assert_int_equal(after.requests, 199);
        assert_int_equal(before.digest, after.digest);
    }
}

CASE(a_conversion_that_fails_leaves_no_file)
{
    char folder[] = "/tmp/esgsim-convert-XXXXXX", out[64];
    assert_non_null(mkdtemp(folder));
    snprintf(out, sizeof out, "%s/out.csv", folder);
    assert_bad_input(
        command(hear(), 5, "trace", "convert", CORPUS "esgsim-time-goes-back.csv", "--out", out),
        "");
    /* A format without labels needs an application for its requests. */
    assert_bad_input(command(hear(), 5, "trace", "convert",
                             SHIPPED "AzureLLMInferenceTrace_code.csv.gz", "--out", out),
                     "--application");
    assert_int_equal(rmdir(folder), 0); /* empty */
}

CASE(wrong_usage_of_the_command_is_refused)
{
    assert_bad_input(command(hear(), 1, "trace"), "");
    assert_false(command(hear(), 2, "trace", "stats"));
    assert_false(command(hear(), 3, "trace", "describe", "x"));
    assert_false(command(hear(), 4, "trace", "stats", "x", "--bogus"));
    assert_false(command(hear(), 5, "trace", "stats", "x", "--seed", "-1"));
    assert_bad_input(command(hear(), 3, "trace", "convert", DATA "esgsim.csv"), "--out");
}

SUITE("arrivals")
