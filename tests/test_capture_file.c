#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "results/store/capture.h"
#include "results/store/hdf5_table.h"
#include "traces/json/atomic_file.h"
#include "traces/calibrate/calibrate.h"
#include "traces/calibrate/calibrate_launches.h"

/* Captures as the capture tool lays them out (traces/capture/measure/layout.h), written here by
 * hand: texts of 32 bytes, NUL-padded, and columns beyond those that are read. */
enum { TEXT = 32, OTHERS = 8 * TEXT };

struct latency {
    char network[TEXT], precision[TEXT], mechanism[TEXT];
    double share_percent, ms;
    int32_t batch, sms, round, sample;
    int32_t launches; /* of version 2 */
};

struct colocation {
    char network[TEXT], precision[TEXT], mechanism[TEXT], others[OTHERS];
    double share_percent, alone_ms, ms;
    int32_t group, members, batch, sample;
};

struct cold_start {
    char network[TEXT], precision[TEXT], part[TEXT];
    int32_t batch, sample;
    double ms;
};

struct memory {
    char network[TEXT], precision[TEXT], part[TEXT];
    int32_t batch;
    int64_t planned_bytes, bytes;
};

struct member {
    const char *name;
    size_t offset;
    size_t text; /* bytes; 0: by `type` */
    hid_t type;
};

static char path[64];
static int version = 1; /* of the files that are written */

static void copy_text(char to[TEXT], const char *from)
{
    (void)snprintf(to, TEXT, "%s", from);
}

static hid_t text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, size);
    (void)H5Tset_strpad(type, H5T_STR_NULLPAD);
    return type;
}

static void write_table(hid_t file, const char *name, const struct member *members, size_t count,
                        size_t row_bytes, const void *rows, size_t row_count)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, row_bytes);
    hsize_t length = row_count;
    hid_t space = H5Screate_simple(1, &length, NULL);
    for (size_t i = 0; i < count; i++) {
        hid_t member = members[i].text > 0 ? text_type(members[i].text) : H5Tcopy(members[i].type);
        assert_true(H5Tinsert(type, members[i].name, members[i].offset, member) >= 0);
        (void)H5Tclose(member);
    }
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(set >= 0);
    assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    (void)H5Dclose(set);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
}

static void write_latencies(hid_t file, const struct latency *rows, size_t count)
{
    const struct member members[] = {
        {"network", offsetof(struct latency, network), TEXT, 0},
        {"precision", offsetof(struct latency, precision), TEXT, 0},
        {"mechanism", offsetof(struct latency, mechanism), TEXT, 0},
        {"batch", offsetof(struct latency, batch), 0, H5T_NATIVE_INT32},
        {"share_percent", offsetof(struct latency, share_percent), 0, H5T_NATIVE_DOUBLE},
        {"sms", offsetof(struct latency, sms), 0, H5T_NATIVE_INT32},
        {"round", offsetof(struct latency, round), 0, H5T_NATIVE_INT32},
        {"sample", offsetof(struct latency, sample), 0, H5T_NATIVE_INT32},
        {"ms", offsetof(struct latency, ms), 0, H5T_NATIVE_DOUBLE},
        {"launches", offsetof(struct latency, launches), 0, H5T_NATIVE_INT32}};
    write_table(file, "latency", members, sizeof members / sizeof members[0] - (version == 1),
                sizeof *rows, rows, count);
}

static void write_colocations(hid_t file, const struct colocation *rows, size_t count)
{
    const struct member members[] = {
        {"group", offsetof(struct colocation, group), 0, H5T_NATIVE_INT32},
        {"members", offsetof(struct colocation, members), 0, H5T_NATIVE_INT32},
        {"network", offsetof(struct colocation, network), TEXT, 0},
        {"precision", offsetof(struct colocation, precision), TEXT, 0},
        {"mechanism", offsetof(struct colocation, mechanism), TEXT, 0},
        {"others", offsetof(struct colocation, others), version == 1 ? 4 * TEXT : OTHERS, 0},
        {"batch", offsetof(struct colocation, batch), 0, H5T_NATIVE_INT32},
        {"share_percent", offsetof(struct colocation, share_percent), 0, H5T_NATIVE_DOUBLE},
        {"alone_ms", offsetof(struct colocation, alone_ms), 0, H5T_NATIVE_DOUBLE},
        {"sample", offsetof(struct colocation, sample), 0, H5T_NATIVE_INT32},
        {"ms", offsetof(struct colocation, ms), 0, H5T_NATIVE_DOUBLE}};
    write_table(file, "colocation", members, sizeof members / sizeof members[0], sizeof *rows, rows,
                count);
}

static void write_cold_starts(hid_t file, const struct cold_start *rows, size_t count)
{
    const struct member members[] = {
        {"network", offsetof(struct cold_start, network), TEXT, 0},
        {"precision", offsetof(struct cold_start, precision), TEXT, 0},
        {"part", offsetof(struct cold_start, part), TEXT, 0},
        {"batch", offsetof(struct cold_start, batch), 0, H5T_NATIVE_INT32},
        {"sample", offsetof(struct cold_start, sample), 0, H5T_NATIVE_INT32},
        {"ms", offsetof(struct cold_start, ms), 0, H5T_NATIVE_DOUBLE}};
    write_table(file, "cold_start", members, sizeof members / sizeof members[0], sizeof *rows, rows,
                count);
}

static void write_memory(hid_t file, const struct memory *rows, size_t count)
{
    const struct member members[] = {
        {"network", offsetof(struct memory, network), TEXT, 0},
        {"precision", offsetof(struct memory, precision), TEXT, 0},
        {"part", offsetof(struct memory, part), TEXT, 0},
        {"batch", offsetof(struct memory, batch), 0, H5T_NATIVE_INT32},
        {"planned_bytes", offsetof(struct memory, planned_bytes), 0, H5T_NATIVE_INT64},
        {"bytes", offsetof(struct memory, bytes), 0, H5T_NATIVE_INT64}};
    write_table(file, "memory", members, sizeof members / sizeof members[0], sizeof *rows, rows,
                count);
}

static void set_integer(hid_t file, const char *name, int value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(attribute >= 0);
    assert_true(H5Awrite(attribute, H5T_NATIVE_INT, &value) >= 0);
    (void)H5Aclose(attribute);
    (void)H5Sclose(space);
}

static hid_t create_file(int wanted, int rehearsal)
{
    version = wanted;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    assert_true(hdf5_set_text(file, "format", "esgsim-capture"));
    assert_true(hdf5_set_text(file, "device", "Test GPU"));
    assert_true(hdf5_set_text(file, "date", "2026-01-02T03:04:05Z"));
    set_integer(file, "version", version);
    set_integer(file, "rehearsal", rehearsal);
    return file;
}

/* Work over share with a floor; three samples of each configuration, 1 % around the middle one. */
static double law_ms(int batch, double percent)
{
    return fmax(2, 0.8 * batch * 100 / percent);
}

enum { DEVICE_SMS = 132, SEVENTH_SMS = 16 };
enum { NETWORKS = 2, BATCHES = 4, SHARES = 4, REPEATS = 3, LATENCIES = 96, MIB = 1 << 20 };

static void write_good_latencies(hid_t file)
{
    static const char *const networks[NETWORKS] = {"resnet50", "srgan"};
    static struct latency rows[LATENCIES + 2];
    size_t count = 0;
    memset(rows, 0, sizeof rows);
    for (int n = 0; n < NETWORKS; n++)
        for (int b = 0; b < BATCHES; b++)
            for (int s = 1; s <= SHARES; s++)
                for (int r = 0; r < REPEATS; r++) {
                    struct latency *row = &rows[count++];
                    double share = s == SHARES ? 100 : 100.0 * s / 7;
                    copy_text(row->network, networks[n]);
                    copy_text(row->precision, "fp32");
                    copy_text(row->mechanism, s == SHARES ? "full" : "green");
                    row->batch = 1 << b;
                    row->share_percent = share;
                    row->sms = s == SHARES ? DEVICE_SMS : s * SEVENTH_SMS;
                    row->sample = r;
                    row->ms = (1 + n) * law_ms(row->batch, share) * (0.99 + 0.01 * r);
                }
    for (int extra = 0; extra < 2; extra++) {
        rows[count] = rows[0];
        copy_text(rows[count++].precision, "fp16");
    }
    write_latencies(file, rows, count);
}

static void fill_colocation(struct colocation *row, int group, const char *network,
                            const char *others, int sample)
{
    memset(row, 0, sizeof *row);
    row->group = group;
    row->members = 2;
    copy_text(row->network, network);
    copy_text(row->precision, "fp32");
    copy_text(row->mechanism, "green");
    (void)snprintf(row->others, OTHERS, "%s", others);
    row->batch = 2;
    row->share_percent = 100.0 / 7;
    row->alone_ms = 10;
    row->sample = sample;
    row->ms = 11 + sample; /* median of three 12: a slowdown of 1.2 */
}

/* A pair, each member the victim in turn, and a network beside two copies of itself. */
static void write_good_colocations(hid_t file)
{
    struct colocation rows[9];
    for (int r = 0; r < REPEATS; r++) {
        fill_colocation(&rows[r], 5, "resnet50", "srgan:4:28.5714", 2 - r);
        fill_colocation(&rows[3 + r], 5, "srgan", "resnet50:2:14.2857", r);
        fill_colocation(&rows[6 + r], 9, "srgan", "srgan:2:14.2857+srgan:2:14.2857", r);
    }
    write_colocations(file, rows, 9);
}

static void write_good_facts(hid_t file)
{
    const struct cold_start starts[] = {{"resnet50", "fp32", "total", 1, 0, 900},
                                        {"resnet50", "fp32", "context", 1, 0, 300},
                                        {"resnet50", "fp32", "total", 1, 1, 1100},
                                        {"resnet50", "fp16", "total", 1, 0, 5000}};
    const struct memory memory[] = {{"", "", "context", 0, 0, 300 * MIB},
                                    {"resnet50", "fp32", "weights", 1, 0, 100 * MIB},
                                    {"resnet50", "fp32", "weights", 8, 0, 100 * MIB},
                                    {"resnet50", "fp32", "module", 1, 0, 20 * MIB},
                                    {"resnet50", "fp32", "activations", 1, 0, 15 * MIB},
                                    {"resnet50", "fp32", "activations", 8, 0, 80 * MIB}};
    write_cold_starts(file, starts, 4);
    write_memory(file, memory, 6);
}

static void write_good_file(int wanted, int rehearsal)
{
    hid_t file = create_file(wanted, rehearsal);
    write_good_latencies(file);
    write_good_colocations(file);
    write_good_facts(file);
    assert_true(H5Fclose(file) >= 0);
}

static const struct capture_options fp32 = {.precision = "fp32"};

static void read_good(struct sample_set *set)
{
    struct error error = {0};
    write_good_file(1, 0);
    assert_true(capture_is_hdf5(path));
    if (!capture_read(set, path, &fp32, &error))
        fail_msg("%s", error.message);
}

static void samples_of_the_precision_asked_for_become_medians(void **state)
{
    struct sample_set set = {0};
    (void)state;
    read_good(&set);
    assert_int_equal(set.latency_count, LATENCIES);
    samples_reduce(&set);
    assert_int_equal(set.latency_count, LATENCIES / REPEATS);
    assert_string_equal(set.functions.names[0], "resnet50");
    for (size_t i = 0; i < set.latency_count; i++) {
        const struct latency_sample *sample = &set.latencies[i];
        double wanted =
            (1 + sample->function) * law_ms(sample->batch, 100.0 * sample->share / CAPTURE_UNIT);
        assert_int_equal(sample->repeats, REPEATS);
        assert_true(fabs(sample->ms / wanted - 1) < 1e-9);
        assert_true(fabs(sample->cv - 0.01) < 1e-4);
    }
    assert_non_null(strstr(set.left_out, "2 latencies left out"));
    assert_string_equal(set.device, "Test GPU, shares by green");
    assert_non_null(strstr(set.source, "2026-01-02"));
    samples_clear(&set);
}

static void every_victim_makes_a_group_with_its_co_runners(void **state)
{
    struct sample_set set = {0};
    (void)state;
    read_good(&set);
    assert_int_equal(set.groups, 3);
    assert_int_equal(set.co_run_count, 2 + 2 + 3);
    for (size_t i = 0; i < set.co_run_count; i++) {
        bool victim = i == 0 || set.co_runs[i].group != set.co_runs[i - 1].group;
        assert_int_equal(isnan(set.co_runs[i].slowdown), !victim);
        if (victim)
            assert_true(fabs(set.co_runs[i].slowdown - 1.2) < 1e-12);
    }
    assert_int_equal(set.co_runs[0].location, 5);
    assert_int_equal(set.co_runs[1].batch, 4);
    assert_int_equal(set.co_runs[1].share, 2 * CAPTURE_UNIT / 7);
    assert_int_equal(set.co_runs[6].location, 9);
    samples_clear(&set);
}

/* One row for each share, of which the file may tell what multiprocessors it came to. */
static void write_shares(int device_sms, const struct latency *rows, size_t count)
{
    hid_t file = create_file(1, 0);
    if (device_sms != 0)
        set_integer(file, "sms", device_sms);
    write_latencies(file, rows, count);
    assert_true(H5Fclose(file) >= 0);
}

static struct latency make_row(const char *mechanism, double percent, int sms)
{
    struct latency row = {.share_percent = percent, .ms = 5, .batch = 1, .sms = sms};
    copy_text(row.network, "x");
    copy_text(row.precision, "fp32");
    copy_text(row.mechanism, mechanism);
    return row;
}

static void a_share_is_the_multiprocessors_that_it_came_to_where_they_were_counted(void **state)
{
    const struct latency green[] = {make_row("green", 100.0 / 7, 16), make_row("full", 100, 132),
                                    make_row("green", 30, 0)};
    const struct latency mps[] = {make_row("mps", 50, 66), make_row("full", 100, 132)};
    struct sample_set set = {0};
    struct error error = {0};
    (void)state;
    write_shares(DEVICE_SMS, green, 3);
    assert_true(capture_read(&set, path, &fp32, &error));
    assert_true(samples_share(&set, &set.latencies[0]) == 16.0 / 132);
    assert_int_equal(set.latencies[0].share, CAPTURE_UNIT / 7);
    assert_true(samples_share(&set, &set.latencies[1]) == 1);
    assert_true(samples_share(&set, &set.latencies[2]) == 210.0 / CAPTURE_UNIT);
    samples_clear(&set);
    write_shares(0, green, 3); /* the file does not say how many the device has */
    assert_true(capture_read(&set, path, &fp32, &error));
    assert_true(samples_share(&set, &set.latencies[0]) == 1.0 / 7);
    samples_clear(&set);
    write_shares(DEVICE_SMS, mps, 2); /* a percentage of threads, whatever is said beside it */
    assert_true(capture_read(&set, path, &fp32, &error));
    assert_true(samples_share(&set, &set.latencies[0]) == 0.5);
    samples_clear(&set);
}

static void cold_start_and_memory_are_taken_over(void **state)
{
    struct sample_set set = {0};
    (void)state;
    read_good(&set);
    const struct function_facts *facts = &set.facts[0];
    assert_true(fabs(facts->cold_start_ms - 1000) < 1e-9);
    assert_true(fabs(facts->cold_start_cv - sqrt(20000) / 1000) < 1e-9);
    assert_true(fabs(facts->weights_mb - 420) < 1e-9);
    assert_true(fabs(facts->per_item_mb - 10) < 1e-9);
    assert_true(isnan(set.facts[1].cold_start_ms));
    samples_clear(&set);
}

static void all_precisions_are_told_apart_by_name(void **state)
{
    const struct capture_options all = {0};
    struct sample_set set = {0};
    struct error error = {0};
    (void)state;
    write_good_file(1, 0);
    assert_true(capture_read(&set, path, &all, &error));
    assert_int_equal(string_index_find(&set.functions, "resnet50"), STRING_INDEX_NONE);
    assert_true(string_index_find(&set.functions, "resnet50-fp32") >= 0);
    assert_true(string_index_find(&set.functions, "resnet50-fp16") >= 0);
    samples_clear(&set);
}

static void a_capture_calibrates_and_its_profile_loads(void **state)
{
    struct sample_set set = {0};
    struct calibration calibration;
    struct error error = {0};
    struct atomic_file file;
    const struct profile_options options = {.unit = 7};
    char profile_path[96];
    (void)state;
    read_good(&set);
    samples_reduce(&set);
    (void)snprintf(profile_path, sizeof profile_path, "%s.json", path);
    if (!calibration_run(&set, NULL, NULL, &calibration, &error) ||
        !atomic_file_open(&file, profile_path, &error) ||
        !calibration_write_profile(&calibration, &options, file.stream, &error) ||
        !atomic_file_end(&file, true, &error))
        fail_msg("%s", error.message);
    struct profile *profile = profile_load(profile_path, &error);
    if (profile == NULL) {
        fail_msg("%s", error.message);
        abort(); /* not reached: tells the analyser so */
    }
    assert_int_equal(profile->unit, 7);
    double ms = profile_latency_ms(profile_find(profile, "srgan"), 8, 1, 2);
    assert_true(fabs(ms / (2 * law_ms(8, 200.0 / 7)) - 1) < 0.02);
    assert_int_equal(profile->interference->kind, INTERFERENCE_CONSTANT);
    profile_free(profile);
    (void)unlink(profile_path);
    calibration_clear(&calibration);
    samples_clear(&set);
}

static void assert_refused(const struct capture_options *options, const char *message)
{
    struct sample_set set = {0};
    struct error error = {0};
    assert_false(capture_read(&set, path, options, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    if (strstr(error.message, message) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, message);
    samples_clear(&set);
}

static void a_rehearsal_is_refused_unless_asked_for(void **state)
{
    const struct capture_options rehearsal = {.precision = "fp32", .rehearsal = true};
    struct sample_set set = {0};
    struct error error = {0};
    (void)state;
    write_good_file(1, 1);
    assert_refused(&fp32, "rehearsal");
    assert_true(capture_read(&set, path, &rehearsal, &error));
    assert_non_null(strstr(set.evidence, "not measured"));
    samples_clear(&set);
}

static void files_that_are_no_captures_are_refused(void **state)
{
    const struct capture_options fp8 = {.precision = "fp8"};
    (void)state;
    write_good_file(3, 0);
    assert_refused(&fp32, "version 3");
    write_good_file(1, 0);
    assert_refused(&fp8, "no sample that is asked for");
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Fclose(file);
    assert_refused(&fp32, "no capture file");
    assert_false(capture_is_hdf5("tests/test_capture_file.c"));
}

static void multiprocessors_that_cannot_be_are_refused(void **state)
{
    const struct latency more[] = {make_row("green", 50, 133)};
    const struct latency negative[] = {make_row("green", 50, -8)};
    const struct latency two[] = {make_row("green", 50, 64), make_row("green", 50, 56)};
    (void)state;
    write_shares(DEVICE_SMS, more, 1);
    assert_refused(&fp32, "on 133 multiprocessors; the device has 132");
    write_shares(DEVICE_SMS, negative, 1);
    assert_refused(&fp32, "on -8 multiprocessors");
    write_shares(DEVICE_SMS, two, 2);
    assert_refused(&fp32, "50 % that came to 64 multiprocessors and to 56");
}

static void faulty_rows_are_refused(void **state)
{
    static const struct {
        double share, ms;
        int batch;
        const char *message;
    } faults[] = {{33.3, 5, 1, "neither whole nor a seventh"},
                  {0, 5, 1, "neither whole nor a seventh"},
                  {101, 5, 1, "neither whole nor a seventh"},
                  {NAN, 5, 1, "neither whole nor a seventh"},
                  {50, 0, 1, "must be above 0"},
                  {50, NAN, 1, "must be above 0"},
                  {50, 5, 0, "must be above 0"}};
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct latency row = {.network = "x",
                              .precision = "fp32",
                              .mechanism = "green",
                              .batch = faults[i].batch,
                              .share_percent = faults[i].share,
                              .ms = faults[i].ms};
        hid_t file = create_file(1, 0);
        write_latencies(file, &row, 1);
        (void)H5Fclose(file);
        assert_refused(&fp32, faults[i].message);
    }
}

static void a_table_without_a_column_is_refused_by_name(void **state)
{
    const struct member members[] = {{"network", 0, TEXT, 0}};
    const char row[TEXT] = "x";
    (void)state;
    hid_t file = create_file(1, 0);
    write_table(file, "latency", members, 1, TEXT, row, 1);
    (void)H5Fclose(file);
    assert_refused(&fp32, "no column 'precision'");
}

static int make_path(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/esgsim-capture-XXXXXX");
    int file = mkstemp(path);
    return file < 0 || close(file) != 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

/* Version 2: a crowd of seven, whose names take more than the 128 bytes of version 1. */
static void a_crowd_of_seven_is_read(void **state)
{
    static const char others[] = "deeplabv3_resnet50:2:14.2857+deeplabv3_resnet50:2:14.2857+"
                                 "deeplabv3_resnet50:2:14.2857+deeplabv3_resnet50:2:14.2857+"
                                 "deeplabv3_resnet50:2:14.2857+deeplabv3_resnet50:2:14.2857";
    struct colocation row;
    struct sample_set set = {0};
    struct error error = {0};
    (void)state;
    hid_t file = create_file(2, 0);
    write_good_latencies(file);
    fill_colocation(&row, 1, "resnet50", others, 0);
    write_colocations(file, &row, 1);
    assert_true(H5Fclose(file) >= 0);
    if (!capture_read(&set, path, &fp32, &error))
        fail_msg("%s", error.message);
    assert_int_equal(set.co_run_count, 7);
    for (size_t i = 1; i < set.co_run_count; i++)
        assert_int_equal(set.co_runs[i].share, CAPTURE_UNIT / 7);
    samples_clear(&set);
}

/* Flat over the share up to batch 2, then as the share is; only sevenths 1, 2, 5 and 7. */
static void write_flat_then_steep(void)
{
    static const int sevenths[] = {1, 2, 5, 7};
    struct latency rows[16];
    size_t count = 0;
    hid_t file = create_file(2, 0);
    set_integer(file, "sms", DEVICE_SMS);
    for (int batch = 1; batch <= 8; batch *= 2)
        for (size_t s = 0; s < 4; s++) {
            const bool whole = sevenths[s] == 7;
            const int sms = whole ? DEVICE_SMS : sevenths[s] * SEVENTH_SMS;
            struct latency *row = &rows[count++];
            *row = make_row(whole ? "full" : "green", 100.0 * sevenths[s] / 7, sms);
            row->batch = batch;
            row->launches = 250;
            row->ms = batch <= 2 ? 3 + 0.1 * (batch - 1) : (double)batch * DEVICE_SMS / sms;
        }
    write_latencies(file, rows, count);
    assert_true(H5Fclose(file) >= 0);
}

static struct profile *calibrated(const struct sample_set *set)
{
    struct calibration calibration;
    struct error error = {0};
    struct atomic_file file;
    const struct profile_options options = {.unit = 7};
    char profile_path[96];
    (void)snprintf(profile_path, sizeof profile_path, "%s.json", path);
    if (!calibration_run(set, NULL, NULL, &calibration, &error) ||
        !atomic_file_open(&file, profile_path, &error) ||
        !calibration_write_profile(&calibration, &options, file.stream, &error) ||
        !atomic_file_end(&file, true, &error))
        fail_msg("%s", error.message);
    struct profile *profile = profile_load(profile_path, &error);
    if (profile == NULL)
        fail_msg("%s", error.message);
    (void)unlink(profile_path);
    calibration_clear(&calibration);
    return profile;
}

static void a_network_that_more_of_the_gpu_does_not_speed_up_is_bound_by_launches(void **state)
{
    struct sample_set set = {0};
    struct launches launches;
    struct error error = {0};
    (void)state;
    write_flat_then_steep();
    assert_true(capture_read(&set, path, &fp32, &error));
    samples_reduce(&set);
    assert_true(launches_of(&set, 0, &launches));
    assert_true(launches.count == 250);
    assert_int_equal(launches.batch, 1);
    assert_true(launches.ms == 3);
    assert_true(launches.ratio == 1);
    assert_int_equal(launches.up_to, 2);
    profile_free(calibrated(&set)); /* the key is written, and read */
    samples_clear(&set);
    read_good(&set); /* of version 1: the launches are not known */
    samples_reduce(&set);
    assert_false(launches_of(&set, 0, &launches));
    samples_clear(&set);
}

/* Six sevenths are 96 multiprocessors and the whole is 132: what was not measured at six sevenths
 * is not answered from five and seven; between others it is. */
static void no_profile_answers_between_the_last_share_and_the_whole(void **state)
{
    struct sample_set set = {0};
    struct error error = {0};
    (void)state;
    write_flat_then_steep();
    assert_true(capture_read(&set, path, &fp32, &error));
    samples_reduce(&set);
    struct profile *profile = calibrated(&set);
    const struct profile_function *function = profile_find(profile, "x");
    assert_non_null(function);
    assert_true(isnan(profile_latency_ms(function, 8, 1, 6)));
    assert_true(isfinite(profile_latency_ms(function, 8, 1, 3)));
    assert_true(isfinite(profile_latency_ms(function, 8, 1, 7)));
    profile_free(profile);
    samples_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_the_precision_asked_for_become_medians),
        cmocka_unit_test(every_victim_makes_a_group_with_its_co_runners),
        cmocka_unit_test(a_share_is_the_multiprocessors_that_it_came_to_where_they_were_counted),
        cmocka_unit_test(cold_start_and_memory_are_taken_over),
        cmocka_unit_test(all_precisions_are_told_apart_by_name),
        cmocka_unit_test(a_capture_calibrates_and_its_profile_loads),
        cmocka_unit_test(a_crowd_of_seven_is_read),
        cmocka_unit_test(a_network_that_more_of_the_gpu_does_not_speed_up_is_bound_by_launches),
        cmocka_unit_test(no_profile_answers_between_the_last_share_and_the_whole),
        cmocka_unit_test(a_rehearsal_is_refused_unless_asked_for),
        cmocka_unit_test(files_that_are_no_captures_are_refused),
        cmocka_unit_test(multiprocessors_that_cannot_be_are_refused),
        cmocka_unit_test(faulty_rows_are_refused),
        cmocka_unit_test(a_table_without_a_column_is_refused_by_name),
    };
    return cmocka_run_group_tests_name("capture_file", tests, make_path, remove_path);
}
