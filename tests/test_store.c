/* The results file: what goes in comes out, damage is told, and a file of its name is whole. */
#include <hdf5.h>
#include <hdf5_hl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "results/store/seal.h"
#include "results/store/store_hdf5.h"
#include "sim/base/version.h"
#include "tests/fixture_folder.h"
#include "tests/fixture_results.h"

enum { ROWS = 20000 }; /* more than one block */

static const struct fixture run_all = {"light", "esg",     "policy.name=esg setting=light", 7, 0.9,
                                       0.0002,  RECORD_ALL};
static const struct fixture run_requests = {
    "light", "fifo", "policy.name=fifo setting=light", 7, 0.5, 0.0004, RECORD_REQUESTS};
static const struct fixture run_summary = {
    "heavy", "fifo", "policy.name=fifo setting=heavy", 8, 0.4, 0.0003, RECORD_SUMMARY};

/* A test with a folder of its own. */
#define STORING(title) CASE_WITH(title, folder_make, folder_remove)

static void file_write(const char *path, const struct fixture *const *runs, size_t count,
                       size_t rows)
{
    struct store *store = must(store_create(path, hear()));
    for (size_t i = 0; i < count; i++)
        assert_true(fixture_store(store, runs[i], rows, hear()));
    assert_int_equal(store_run_count(store), count);
    assert_true(store_finish(store, hear()));
}

static void file_write_all(const char *path)
{
    const struct fixture *const runs[] = {&run_all, &run_requests, &run_summary};
    file_write(path, runs, 3, ROWS);
}

static void bytes_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = must(fopen(path, "wb"));
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* The rows of a dataset as they are stored. The caller frees. */
static unsigned char *dataset_bytes(const char *path, const char *name, size_t *size)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(dataset >= 0);
    hid_t type = H5Dget_type(dataset);
    hid_t space = H5Dget_space(dataset);
    *size = (size_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(type);
    unsigned char *bytes = must(malloc(*size + 1));
    assert_true(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Dclose(dataset);
    (void)H5Fclose(file);
    return bytes;
}

static void run_path(const struct fixture *fixture, const char *table, char path[128])
{
    struct fixture_texts texts = {{0}};
    (void)fixture_metadata(fixture, &texts);
    (void)snprintf(path, 128, "runs/%s/%s", texts.hash, table);
}

STORING(what_is_written_is_read_back)
{
    const char *path = in_folder("a.h5");
    file_write_all(path);
    RESULTS *results = must(results_load(path, hear()));
    assert_int_equal(results->run_count, 3);
    assert_int_equal(results->application_count, 6);
    assert_string_equal(results->version, version_number());
    const struct fixture *const runs[] = {&run_all, &run_requests, &run_summary};
    for (size_t i = 0; i < 3; i++) {
        struct measures applications[FIXTURE_APPLICATIONS];
        struct fixture_texts texts = {{0}};
        struct simulation_result result = fixture_result(runs[i], applications);
        (void)fixture_metadata(runs[i], &texts);
        const struct summary_row *row = &results->runs[i];
        assert_string_equal(row->hash, texts.hash);
        assert_string_equal(row->setting, runs[i]->setting);
        assert_string_equal(row->policy, runs[i]->policy);
        assert_string_equal(row->label, runs[i]->label);
        assert_string_equal(row->evidence, "assumed");
        assert_int_equal(row->seed, runs[i]->seed);
        assert_int_equal(row->warmup_requests, 100);
        assert_memory_equal(&row->measures, &result.overall, sizeof result.overall);
        assert_memory_equal(&row->run, &result.run, sizeof result.run);
        for (size_t a = 0; a < FIXTURE_APPLICATIONS; a++) {
            const struct application_row *application = &results->applications[2 * i + a];
            assert_string_equal(application->hash, texts.hash);
            assert_string_equal(application->application, a == 0 ? "classification" : "depth");
            assert_memory_equal(&application->measures, &applications[a], sizeof applications[a]);
        }
    }
}

/* By HDF5's own Table interface, not ours. */
STORING(detailed_rows_are_tables_that_hdf5_itself_reads)
{
    const char *path = in_folder("a.h5");
    char table[128];
    file_write_all(path);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    run_path(&run_all, "requests", table);
    hsize_t fields = 0;
    hsize_t records = 0;
    assert_true(H5TBget_table_info(file, table, &fields, &records) >= 0);
    assert_int_equal(fields, 14);
    assert_int_equal(records, ROWS);

    struct {
        uint64_t request;
        double noise[3]; /* as many as the longest application has stages */
    } row;
    const size_t offsets[] = {0, sizeof row.request};
    const size_t sizes[] = {sizeof row.request, sizeof row.noise};
    for (hsize_t i = 0; i < ROWS; i += 997) {
        struct request_row expected = fixture_request(i);
        assert_true(H5TBread_fields_name(file, table, "request,noise", i, 1, sizeof row, offsets,
                                         sizes, &row) >= 0);
        assert_int_equal(row.request, expected.request);
        assert_memory_equal(row.noise, expected.noise, sizeof row.noise);
    }
    run_path(&run_all, "batches", table);
    assert_true(H5TBget_table_info(file, table, &fields, &records) >= 0);
    assert_int_equal(records, (ROWS + 2) / 3);
    (void)H5Fclose(file);
}

STORING(only_what_was_asked_for_is_recorded)
{
    const char *path = in_folder("a.h5");
    char table[128];
    file_write_all(path);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    static const char *const tables[] = {"requests", "batches", "decisions", "timeline"};
    for (size_t t = 0; t < 4; t++) {
        run_path(&run_all, tables[t], table);
        assert_true(H5Lexists(file, table, H5P_DEFAULT) > 0);
        run_path(&run_requests, tables[t], table);
        assert_int_equal(H5Lexists(file, table, H5P_DEFAULT) > 0, t == 0);
        run_path(&run_summary, tables[t], table);
        assert_false(H5Lexists(file, table, H5P_DEFAULT) > 0);
    }
    (void)H5Fclose(file);
}

STORING(a_run_tells_what_it_depended_on)
{
    static const char *const names[] = {"configuration",  "policy",        "policy_parameters",
                                        "version",        "commit",        "compiler",
                                        "gsl_version",    "cjson_version", "hdf5_version",
                                        "zlib_version",   "host",          "date",
                                        "profile_sha256", "trace_sha256",  "evidence",
                                        "applications",   "seed",          "wall_s",
                                        "record"};
    const char *path = in_folder("a.h5");
    char group[128];
    file_write_all(path);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    run_path(&run_summary, "", group);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_true(H5Aexists_by_name(file, group, names[i], H5P_DEFAULT) > 0);
    assert_true(H5Aexists_by_name(file, "summary", "FIELD_0_UNIT", H5P_DEFAULT) > 0);
    (void)H5Fclose(file);
}

static void assert_same_tables(const char *first, const char *second)
{
    static const char *const tables[] = {"requests", "batches", "decisions", "timeline"};
    char names[6][128] = {"summary", "applications"};
    for (size_t t = 0; t < 4; t++)
        run_path(&run_all, tables[t], names[t + 2]);
    for (size_t t = 0; t < 6; t++) {
        size_t sizes[2];
        OWNED(free) unsigned char *a = dataset_bytes(first, names[t], &sizes[0]);
        OWNED(free) unsigned char *b = dataset_bytes(second, names[t], &sizes[1]);
        assert_int_equal(sizes[0], sizes[1]);
        assert_true(sizes[0] > 0);
        assert_memory_equal(a, b, sizes[0]);
    }
}

/* The bytes of a file that is being written, before its run ends. */
static off_t bytes_before_end(const char *path, bool kept)
{
    struct stat status;
    struct fixture_texts texts;
    struct measures applications[FIXTURE_APPLICATIONS];
    const struct run_metadata metadata = fixture_metadata(&run_all, &texts);
    const struct simulation_result result = fixture_result(&run_all, applications);
    struct store *store = store_create(path, hear());
    if (kept)
        store_keep_rows(store);
    assert_good(store_begin_run(store, &metadata, hear()));
    const struct recorder recorder = store_recorder(store);
    assert_good(fixture_record(&recorder, ROWS, hear()));
    assert_int_equal(stat(store->out.beside, &status), 0);
    assert_good(store_end_run(store, &result, hear()));
    assert_good(store_finish(store, hear()));
    return status.st_size;
}

STORING(rows_of_a_run_in_real_time_are_written_when_it_ends)
{
    const char *const paths[] = {in_folder("now.h5"), in_folder("kept.h5")};
    const off_t now = bytes_before_end(paths[0], false), kept = bytes_before_end(paths[1], true);
    assert_true(now > 10 * kept);
    assert_same_tables(paths[0], paths[1]);
}

/* Through a part, as a sweep's worker writes one. */
STORING(tables_hold_the_same_bytes_by_either_way_and_again)
{
    static const struct sweep_metadata metadata = {
        .identity = "i", .shard = 1, .shards = 1, .runs = 3};
    const struct fixture *const runs[] = {&run_all, &run_requests, &run_summary};
    const char *a = in_folder("a.h5");
    const char *b = in_folder("b.h5");
    const char *part = in_folder("part.h5");
    file_write_all(a);
    struct store *store = must(store_create_part(part, hear()));
    assert_true(store_set_sweep(store, &metadata, hear()));
    for (size_t i = 0; i < 3; i++)
        assert_true(fixture_store(store, runs[i], ROWS, hear()));
    assert_true(store_finish(store, hear()));
    assert_true(seal_is_whole(part));
    struct run_source *source = must(run_source_open(part, hear()));
    store = must(store_create(b, hear()));
    assert_true(store_reserve(store, part, hear()));
    for (size_t i = 0; i < 3; i++)
        assert_true(store_copy_run(store, source, i, NULL, hear()));
    run_source_close(source);
    assert_true(store_finish(store, hear()));
    assert_same_tables(a, b);
    assert_int_equal(unlink(part), 0);
    file_write_all(b);
    assert_same_tables(a, b);
}

/* Any one flipped bit, a byte more or less. */
STORING(a_seal_tells_every_change)
{
    enum { SIZE = 300 };
    unsigned char bytes[SIZE + 64];
    const char *path = in_folder("bad.h5");
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)(i * 31 + 7);
    bytes_write(path, bytes, SIZE);
    assert_false(seal_is_whole(path));
    assert_true(seal_put(path, hear()));
    assert_true(seal_is_whole(path));
    size_t size = 0;
    STRING *sealed = file_bytes(path, &size);
    assert_in_range(size, SIZE + 1, sizeof bytes);
    memcpy(bytes, sealed, size);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
        bytes_write(path, bytes, size);
        assert_false(seal_is_whole(path));
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
    }
    for (size_t cut = 0; cut < size; cut++) {
        bytes_write(path, bytes, cut);
        assert_false(seal_is_whole(path));
    }
    bytes_write(path, bytes, size + 1);
    assert_false(seal_is_whole(path));
    assert_int_equal(unlink(path), 0);
    assert_false(seal_is_whole(path));
}

STORING(a_run_is_stored_once)
{
    const char *path = in_folder("a.h5");
    struct store *store = store_create(path, hear());
    assert_true(fixture_store(store, &run_summary, 0, hear()));
    assert_bad_run(fixture_store(store, &run_summary, 0, hear()), "is there already");
    assert_true(store_finish(store, hear()));
}

static void assert_loads(const char *path, size_t runs)
{
    RESULTS *results = must(results_load(path, hear()));
    assert_int_equal(results->run_count, runs);
}

STORING(an_interrupted_write_leaves_the_earlier_file_alone)
{
    const char *path = in_folder("a.h5");
    const struct fixture *const earlier[] = {&run_summary};
    file_write(path, earlier, 1, 0);

    struct store *store = store_create(path, hear());
    assert_true(fixture_store(store, &run_all, ROWS, hear()));
    assert_loads(path, 1);
    store_abandon(store);
    assert_loads(path, 1);

    /* Killed in the middle of a run. */
    pid_t pid = fork();
    if (pid == 0) {
        struct fixture_texts texts = {{0}};
        struct run_metadata metadata = fixture_metadata(&run_all, &texts);
        store = store_create(path, hear());
        if (store == NULL || !store_begin_run(store, &metadata, hear()))
            _exit(1);
        struct recorder recorder = store_recorder(store);
        (void)fixture_record(&recorder, ROWS, hear());
        (void)kill(getpid(), SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_loads(path, 1);
    /* The next attempt is not hindered by what the killed one left. */
    const struct fixture *const later[] = {&run_summary, &run_requests};
    file_write(path, later, 2, 10);
    assert_loads(path, 2);
}

STORING(a_run_without_an_end_is_left_out)
{
    const char *path = in_folder("a.h5");
    char group[128];
    struct fixture_texts texts = {{0}};
    struct run_metadata metadata = fixture_metadata(&run_all, &texts);
    struct store *store = store_create(path, hear());
    assert_true(fixture_store(store, &run_summary, 0, hear()));
    assert_true(store_begin_run(store, &metadata, hear()));
    assert_true(store_finish(store, hear()));
    assert_loads(path, 1);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    run_path(&run_all, "", group);
    group[strlen(group) - 1] = '\0';
    assert_false(H5Lexists(file, group, H5P_DEFAULT) > 0);
    (void)H5Fclose(file);
}

STORING(a_run_keeps_what_it_assumes)
{
    const char *path = in_folder("a.h5");
    struct fixture_texts texts = {{0}};
    struct measures applications[FIXTURE_APPLICATIONS];
    struct run_metadata metadata = fixture_metadata(&run_summary, &texts);
    struct simulation_result result = fixture_result(&run_summary, applications);
    notices_add(&result.notices, NOTICE_OF(LENGTH), "one thing: and its reason");
    notices_add(&result.notices, NOTICE_OF(OTHER), "another");
    metadata.policy_label = (char *)"ESG, spread";
    metadata.setting_label = (char *)"light";
    metadata.policy_sha256 = (char *)"0123456789abcdef";
    struct store *store = store_create(path, hear());
    assert_true(store_begin_run(store, &metadata, hear()));
    assert_true(store_end_run(store, &result, hear()));
    assert_true(fixture_store(store, &run_all, 0, hear()));
    assert_true(store_finish(store, hear()));
    RESULTS *results = must(results_load(path, hear()));
    assert_string_equal(results->runs[0].policy_label, "ESG, spread");
    assert_string_equal(results->runs[0].setting_label, "light");
    assert_string_equal(results->runs[0].policy_sha256, "0123456789abcdef");
    assert_int_equal(results->runs[0].notices, 2);
    assert_int_equal(results->runs[1].notices, 0);
    for (size_t n = 0; n < 2; n++)
        assert_true(notice_equals(&results->notices[0].rows[n], &result.notices.rows[n]));
    notices_clear(&result.notices);
    /* As in a file of an earlier version, and one of a later version. */
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    char group[128];
    run_path(&run_summary, "", group);
    assert_true(H5Adelete_by_name(file, group, "notice_kinds", H5P_DEFAULT) >= 0);
    (void)H5Fclose(file);
    RESULTS *older = results_load(path, hear());
    assert_int_equal(older->notices[0].rows[0].kind, NOTICE_OTHER_WARNING);
    assert_int_equal(older->notices[0].rows[1].kind, NOTICE_OTHER);
    assert_int_equal(notice_kind_find("A_LATER_KIND", true), NOTICE_OTHER_WARNING);
}

STORING(a_name_with_a_control_character_is_refused_when_it_is_read)
{
    const char *path = in_folder("a.h5");
    struct fixture odd = run_summary;
    odd.policy = "es\x1b[31mg";
    struct store *store = store_create(path, hear());
    assert_true(fixture_store(store, &odd, 0, hear()));
    assert_true(store_finish(store, hear()));
    assert_bad_input(results_load(path, hear()),
                     "/summary row 0: 'policy' holds control characters");
}

static hsize_t chunk_of(hid_t file, const struct fixture *run, const char *table, hsize_t *rows)
{
    char name[128];
    hsize_t chunk = 0;
    run_path(run, table, name);
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(dataset >= 0);
    hid_t properties = H5Dget_create_plist(dataset), space = H5Dget_space(dataset);
    assert_int_equal(H5Pget_chunk(properties, 1, &chunk), 1);
    assert_int_equal(H5Sget_simple_extent_dims(space, rows, NULL), 1);
    (void)H5Sclose(space);
    (void)H5Pclose(properties);
    (void)H5Dclose(dataset);
    return chunk;
}

/* A chunk is read as a whole: of one row in 4,096 that would take a hundred times as long. */
STORING(a_table_has_no_chunk_longer_than_itself)
{
    const char *path = in_folder("a.h5");
    const struct fixture *const runs[] = {&run_all};
    enum { FEW = 7, MANY = 40000 };
    for (size_t most = FEW; most <= MANY; most = most == FEW ? MANY : MANY + 1) {
        hsize_t rows = 0;
        file_write(path, runs, 1, most);
        hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
        const hsize_t chunk = chunk_of(file, &run_all, "batches", &rows);
        assert_true(most == FEW ? rows > 0 && rows < 4096 : rows > 4096);
        assert_int_equal(chunk, most == FEW ? rows : 4096);
        (void)H5Fclose(file);
    }
}

STORING(a_link_stays_and_what_it_names_is_written)
{
    const char *link = in_folder("link.h5");
    const char *path = in_folder("a.h5");
    struct stat status;
    const struct fixture *const runs[] = {&run_summary, &run_all};
    assert_int_equal(symlink("a.h5", link), 0);
    /* At first it dangles. */
    for (size_t count = 1; count <= 2; count++) {
        struct store *store = must(store_create(link, hear()));
        store_abandon(store);
        file_write(link, runs, count, 0);
        assert_int_equal(lstat(link, &status), 0);
        assert_true(S_ISLNK(status.st_mode));
        assert_loads(path, count);
    }
}

STORING(places_that_cannot_be_written_are_refused_at_once)
{
    const char *path = in_folder("dir");
    assert_bad_input(store_create("", hear()), "");
    assert_bad_input(store_create("no-such-folder/results.h5", hear()), "");
    assert_non_null(
        strstr(heard.message, "no-such-folder/results.h5: cannot be created: No such file"));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_bad_input(store_create(path, hear()), "");
    assert_bad_input(store_create("/proc/self/exe", hear()),
                     "/proc/self/exe: is not a regular file");
}

/* A file that esgsim did not write as results may be somebody's input. */
STORING(a_file_that_is_no_results_file_is_not_replaced)
{
    const char *path = in_folder("profile.json");
    write_text(path, "{}\n");
    assert_bad_input(store_create(path, hear()), "profile.json: is there and is no results file");
    STRING *text = file_text(path);
    assert_string_equal(text, "{}\n");
    assert_int_equal(unlink(path), 0);
    const hid_t foreign =
        H5Fcreate(path = in_folder("capture.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Fclose(foreign) >= 0);
    assert_null(store_create(path, hear()));
    assert_int_equal(unlink(path), 0);
    /* An empty file is nobody's: mktemp makes one. */
    write_text(path = in_folder("empty.h5"), "");
    struct store *store = must(store_create(path, hear()));
    store_abandon(store);
    assert_int_equal(unlink(path), 0);
}

CASE(long_names_are_cut_and_stay_distinct)
{
    char name[200];
    char first[TEXT_NAME + 1];
    char second[TEXT_NAME + 1];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    column_copy_text(first, sizeof first, name);
    name[sizeof name - 2] = 'y';
    column_copy_text(second, sizeof second, name);
    assert_int_equal(strlen(first), TEXT_NAME);
    assert_string_not_equal(first, second);
    /* 64 bytes fit as they are. */
    name[TEXT_NAME] = '\0';
    column_copy_text(first, sizeof first, name);
    assert_string_equal(first, name);
}

/* ---- Damaged and foreign files ------------------------------------------------------------- */

static void assert_refused(const char *path, const char *says)
{
    assert_bad_input(results_load(path, hear()), path);
    assert_contains(heard.message, says);
}

STORING(files_that_are_not_hdf5_are_refused)
{
    static const char text[] = "{\"requests\": 1000}\n";
    const char *path = in_folder("bad.h5");
    assert_refused(path, "No such file");
    bytes_write(path, text, sizeof text - 1);
    assert_refused(path, "not an HDF5 file");
    bytes_write(path, "", 0);
    assert_refused(path, "not an HDF5 file");
    bytes_write(path, "\211HDF\r\n\032\n", 8);
    assert_refused(path, "cut short or damaged");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path = in_folder("dir"), 0700), 0);
    assert_refused(path, "not a regular file");
}

STORING(a_file_cut_anywhere_is_refused)
{
    const char *path = in_folder("a.h5");
    const char *bad = in_folder("bad.h5");
    size_t size = 0;
    const struct fixture *const runs[] = {&run_requests};
    file_write(path, runs, 1, 10);
    STRING *bytes = file_bytes(path, &size);
    for (size_t kept = 8; kept < size; kept += 1 + size / 64) {
        bytes_write(bad, bytes, kept);
        assert_refused(bad, "damaged");
    }
}

/* Rows are read into zeroed memory, so what lies between their fields is equal too. */
static bool bytes_equal(const void *a, const void *b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

/* Flips one bit in many places; false where a damaged file was read as another. */
static bool flips_are_harmless(const char *bad, char *bytes, size_t size,
                               const struct results *good, size_t *refused)
{
    bool harmless = true;
    for (size_t at = 0; harmless && at < size; at += 1 + size / 700) {
        bytes[at] ^= (char)(1U << (at % 8));
        bytes_write(bad, bytes, size);
        RESULTS *results = results_load(bad, hear());
        if (results == NULL) {
            harmless = heard.kind == ERROR_INPUT && strstr(heard.message, bad) != NULL;
            ++*refused;
        } else {
            harmless = results->run_count == good->run_count &&
                       results->application_count == good->application_count &&
                       bytes_equal(results->runs, good->runs, sizeof *good->runs) &&
                       bytes_equal(results->applications, good->applications,
                                   good->application_count * sizeof *good->applications);
        }
        bytes[at] ^= (char)(1U << (at % 8));
    }
    return harmless;
}

/* Any one bit: refused, or in a place that the tables do not depend on. In a child, which ends
 * without the check for leaks: HDF5 1.10 does not free all of its own memory after some damage. */
STORING(a_flipped_bit_never_changes_what_is_read)
{
    const char *path = in_folder("a.h5");
    const char *bad = in_folder("bad.h5");
    size_t size = 0;
    size_t refused = 0;
    int status = 0;
    const struct fixture *const runs[] = {&run_requests};
    file_write(path, runs, 1, 10);
    RESULTS *good = results_load(path, hear());
    STRING *bytes = file_bytes(path, &size);
    pid_t pid = fork();
    if (pid == 0)
        _exit(!flips_are_harmless(bad, bytes, size, good, &refused) ? 1 : refused < 50 ? 2 : 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Change a good file through HDF5 and see what is said of it. */
static hid_t good_file_open(void)
{
    const struct fixture *const runs[] = {&run_requests, &run_summary};
    file_write(in_folder("bad.h5"), runs, 2, 3);
    hid_t file = H5Fopen(in_folder("bad.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static void table_replace(hid_t file, const char *name, hid_t type, int rank)
{
    hsize_t size[2] = {2, 2};
    (void)H5Ldelete(file, name, H5P_DEFAULT);
    hid_t space = H5Screate_simple(rank, size, NULL);
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(dataset >= 0);
    (void)H5Dclose(dataset);
    (void)H5Sclose(space);
}

/* The stored type of /summary with one member left out, or of another type. */
static hid_t summary_type_altered(hid_t file, const char *member, hid_t instead)
{
    hid_t dataset = H5Dopen2(file, "summary", H5P_DEFAULT);
    hid_t type = H5Dget_type(dataset);
    hid_t altered = H5Tcreate(H5T_COMPOUND, H5Tget_size(type));
    for (unsigned i = 0; i < (unsigned)H5Tget_nmembers(type); i++) {
        char *name = H5Tget_member_name(type, i);
        hid_t field = H5Tget_member_type(type, i);
        bool same = strcmp(name, member) != 0;
        if (same || instead >= 0)
            assert_true(H5Tinsert(altered, name, H5Tget_member_offset(type, i),
                                  same ? field : instead) >= 0);
        (void)H5Tclose(field);
        (void)H5free_memory(name);
    }
    (void)H5Tclose(type);
    (void)H5Dclose(dataset);
    return altered;
}

/* Closes that file, which cannot be loaded. */
static void assert_bad(hid_t file, const char *says)
{
    (void)H5Fclose(file);
    assert_refused(in_folder("bad.h5"), says);
}

/* As Jupyter and HDFView have it while they may write; the mark stays if they are killed. */
STORING(a_file_that_is_open_elsewhere_is_not_called_damaged)
{
    const char *path = in_folder("a.h5");
    file_write_all(path);
    const pid_t other = fork();
    if (other == 0) {
        (void)H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        _exit(0);
    }
    assert_int_equal(waitpid(other, NULL, 0), other);
    assert_bad_input(results_load(path, hear()),
                     "is open for writing in another program; close it there");
    assert_contains(heard.message, "h5clear -s");
}

STORING(missing_and_foreign_tables_are_refused)
{
    hid_t file = good_file_open();
    assert_true(H5Ldelete(file, "summary", H5P_DEFAULT) >= 0);
    assert_bad(file, "no table /summary");
    file = good_file_open();
    assert_true(H5Ldelete(file, "applications", H5P_DEFAULT) >= 0);
    assert_bad(file, "no table /applications");
    file = good_file_open();
    assert_true(H5Ldelete(file, "summary", H5P_DEFAULT) >= 0);
    (void)H5Gclose(H5Gcreate2(file, "summary", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    assert_bad(file, "no table /summary");
    file = good_file_open();
    table_replace(file, "summary", H5T_NATIVE_DOUBLE, 1);
    assert_bad(file, "not a table of named columns");
}

STORING(missing_and_mistyped_columns_are_refused)
{
    const hid_t text = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(text, H5T_VARIABLE);
    const struct {
        const char *member;
        hid_t instead;
        int rank;
        const char *says;
    } cases[] = {
        {"latency_ms_p95", -1, 1, "no column 'latency_ms_p95'"},
        {"seed", H5T_NATIVE_DOUBLE, 1, "'seed' should hold integers"},
        {"label", text, 1, "'label' should hold text of fixed length"},
        {"", -1, 2, "should be a list"},
        /* Rows of zeros: two runs without a name are one run twice. */
        {"", -1, 1, "twice"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const hid_t file = good_file_open();
        const hid_t type = summary_type_altered(file, cases[c].member, cases[c].instead);
        table_replace(file, "summary", type, cases[c].rank);
        (void)H5Tclose(type);
        assert_bad(file, cases[c].says);
    }
    (void)H5Tclose(text);
}

STORING(applications_of_runs_that_are_not_there_are_refused)
{
    const hid_t file = good_file_open();
    assert_true(H5TBdelete_record(file, "summary", 0, 1) >= 0);
    assert_bad(file, "which /summary does not hold");
}

SUITE("store")
