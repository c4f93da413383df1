/* Sweeps as they are carried out: the same tables by every way, and what cannot be joined or gone
 * on with is refused. */
#include "tests/fixture_folder.h"
#include "tests/fixture_sweep.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "sim/engine/statistics.h"
#include "results/store/hdf5_table.h"
#include "results/store/store.h"
#include "sched/registry.h"
#include "sim/base/atomic_file.h"
#include "sim/base/version.h"

OWNER(experiment_free, struct experiment)
OWNER(results_free, struct results)
#define RESULTS OWNED(results_free) struct results

static const char plain[] = "'matrix': {'arrivals.rate_per_s': [100, 300, 350], 'policy.name': "
                            "['fifo', 'edf']}, 'seeds': 3";
static const char precise[] =
    "'matrix': {'arrivals.rate_per_s': [50, 150, 320]}, 'seeds': 3, 'precision': {'metric': "
    "'latency_ms_mean', 'half_width': 1.1, 'max_seeds': 24}";

/* Each run's record is longer than those before it together. */
static const char recorded[] =
    "'matrix': {'record': ['all'], 'requests': [100, 400, 1600, 6400, 25600]}";

/* A test that leaves no file. */
#define SWEEPING(title) CASE_WITH(title, NULL, folder_empty)

/* Each run is a part by itself, whatever the machine's speed. */
static struct sweep_runner_options options_of(const char *out, uint64_t jobs)
{
    return (struct sweep_runner_options){
        .out = in_folder(out), .jobs = jobs, .shard = 1, .shards = 1};
}

static int run(const struct sweep_runner_options *options)
{
    return sweep_run(in_folder("sweep.json"), options, in_folder("out"));
}

static bool was_said(const char *text)
{
    STRING *said = file_text(in_folder("out"));
    if (strstr(said, text) == NULL)
        print_message("not \"%s\" but: %s", text, said);
    return strstr(said, text) != NULL;
}

/* Runs `sweep` to its end. Returns the options, for what follows. */
static struct sweep_runner_options swept(const char *sweep, const char *out, uint64_t jobs)
{
    const struct sweep_runner_options options = options_of(out, jobs);
    sweep_write(in_folder("sweep.json"), sweep);
    assert_int_equal(run(&options), 0);
    return options;
}

static struct results *results_of(const char *name)
{
    return must(results_load(in_folder(name), hear()));
}

static size_t runs_in(const char *name)
{
    RESULTS *results = results_of(name);
    return results->run_count;
}

/* Neither a lock nor a temporary file is left. */
static void nothing_unfinished(void)
{
    DIR *listing = must(opendir(folder));
    for (const struct dirent *file; (file = readdir(listing)) != NULL;)
        if (strstr(file->d_name, ".lock") != NULL || strstr(file->d_name, ".partial-") != NULL)
            fail_msg("%s is left", file->d_name);
    (void)closedir(listing);
}

static int run_shard(const char *out, uint64_t shard, uint64_t shards)
{
    struct sweep_runner_options options = options_of(out, 1);
    options.shard = shard;
    options.shards = shards;
    return run(&options);
}

/* The tables of a.h5 are those of the sweep run anew. */
static void assert_as_begun_anew(void)
{
    const struct sweep_runner_options options = options_of("b.h5", 1);
    assert_int_equal(run(&options), 0);
    TABLES expected = tables_read(in_folder("b.h5"));
    assert_tables(in_folder("a.h5"), &expected);
}

/* The tables of the whole sweep. */
static struct table_bytes tables_of(const char *sweep)
{
    (void)swept(sweep, "all.h5", 1);
    return tables_read(in_folder("all.h5"));
}

static void assert_same_for_jobs_and_shards(const char *sweep)
{
    static const char *const parts[] = {"a.h5", "b.h5", "c.h5", "d.h5", "e.h5", "f.h5", "g.h5"};
    TABLES expected = tables_of(sweep);
    for (uint64_t jobs = 1; jobs <= 3; jobs++) {
        struct sweep_runner_options options = options_of("all.h5", jobs);
        options.hold_ms = jobs == 2 ? 20 : 1000;
        assert_int_equal(run(&options), 0);
        assert_tables(in_folder("all.h5"), &expected);
    }
    for (uint64_t shards = 1; shards <= 3; shards++) {
        const char *paths[7];
        for (uint64_t s = 0; s < shards; s++) {
            assert_int_equal(run_shard(parts[s], s + 1, shards), 0);
            paths[shards - 1 - s] = in_folder(parts[s]); /* any order will do */
        }
        assert_true(store_merge(in_folder("all.h5"), paths, (size_t)shards, hear()));
        assert_tables(in_folder("all.h5"), &expected);
    }
}

SWEEPING(jobs_and_shards_do_not_change_the_tables)
{
    assert_same_for_jobs_and_shards(plain);
}

SWEEPING(nor_do_they_where_seeds_are_run_until_an_interval_is_narrow)
{
    assert_same_for_jobs_and_shards(precise);
}

/* Recomputed from the file: each combination has as many seeds as the rule asks for. */
SWEEPING(a_combination_ends_with_a_narrow_interval_or_at_its_limit)
{
    (void)swept(precise, "all.h5", 2);
    RESULTS *results = results_of("all.h5");
    size_t combinations = 0;
    size_t fewest = 99;
    for (size_t first = 0; first < results->run_count; combinations++) {
        double values[24];
        size_t n = 0;
        while (first + n < results->run_count &&
               strcmp(results->runs[first + n].label, results->runs[first].label) == 0) {
            values[n] = results->runs[first + n].measures.latency_ms_mean;
            assert_int_equal(results->runs[first + n].seed, 1 + n);
            n++;
        }
        assert_in_range(n, 3, 24);
        assert_true(n == 24 || statistics_estimate(values, n).half_width <= 1.1);
        /* No round before the last would have been enough. */
        size_t round = 3;
        while (round < n) {
            size_t next = statistics_next_count(values, round, 1.1, 24);
            assert_true(next > round && next <= n);
            round = next;
        }
        fewest = n < fewest ? n : fewest;
        first += n;
    }
    assert_int_equal(combinations, 3);
    assert_true(fewest < 24); /* or the test would show nothing */
}

/* Sets whether each of the sweep's four runs, two policies by two seeds, has bounds. */
static void bounds_of(const char *sweep, bool has[static 4])
{
    sweep_write(in_folder("sweep.json"), sweep);
    struct sweep_runner_options options = options_of("all.h5", 1);
    options.restart = true;
    assert_int_equal(run(&options), 0);
    RESULTS *results = results_of("all.h5");
    assert_int_equal(results->run_count, 4);
    for (size_t r = 0; r < 4; r++) {
        const struct summary_row *row = &results->runs[r];
        has[r] = !isnan(row->measures.bound_slo_hit_rate);
        assert_int_equal(isnan(row->measures.bound_cost_per_request_usd), !has[r]);
        assert_int_equal(isnan(row->run.bound_capacity_slo_hit_rate), !has[r]);
    }
}

SWEEPING(only_the_first_policys_runs_have_bounds_and_only_on_request)
{
    bool has[4];
    bounds_of("'matrix': {'policy.name': ['fifo', 'edf']}, 'seeds': 2", has);
    assert_false(has[0] || has[1] || has[2] || has[3]);
    bounds_of("'matrix': {'policy.name': ['fifo', 'edf']}, 'seeds': 2, 'bounds': true", has);
    assert_true(has[0] && has[1] && !has[2] && !has[3]);
    /* The users of a closed process wait for the policy: each policy has other arrivals. */
    bounds_of("'matrix': {'arrivals': [{'process': 'closed', 'users': 3, 'think_ms': 10}], "
              "'policy.name': ['fifo', 'edf']}, 'seeds': 2, 'bounds': true",
              has);
    assert_true(has[0] && has[1] && has[2] && has[3]);
}

static void expect_no_merge(const char *const *paths, size_t count, const char *complaint)
{
    assert_bad_input(store_merge(in_folder("all.h5"), paths, count, hear()), complaint);
    assert_int_equal(access(in_folder("all.h5"), F_OK), -1);
}

SWEEPING(shards_that_overlap_are_missing_or_foreign_are_refused)
{
    sweep_write(in_folder("sweep.json"), plain);
    assert_int_equal(run_shard("a.h5", 1, 3), 0);
    assert_int_equal(run_shard("b.h5", 2, 3), 0);
    assert_int_equal(run_shard("c.h5", 3, 3), 0);
    assert_int_equal(run_shard("d.h5", 2, 2), 0);
    sweep_write(in_folder("sweep.json"), precise);
    assert_int_equal(run_shard("e.h5", 3, 3), 0);
    const char *missing[] = {in_folder("a.h5"), in_folder("c.h5")};
    const char *twice[] = {in_folder("a.h5"), in_folder("b.h5"), in_folder("a.h5")};
    const char *overlap[] = {in_folder("a.h5"), in_folder("d.h5")};
    const char *foreign[] = {in_folder("a.h5"), in_folder("b.h5"), in_folder("e.h5")};
    const char *absent[] = {in_folder("a.h5"), in_folder("g.h5")};
    const char *strange[] = {in_folder("a.h5"), in_folder("sweep.json")};
    expect_no_merge(missing, 2, "shard 2/3 of its sweep is missing");
    expect_no_merge(twice, 3, "give each shard once");
    expect_no_merge(overlap, 2, "overlap");
    expect_no_merge(foreign, 3, "another sweep");
    expect_no_merge(absent, 2, "g.h5");
    expect_no_merge(strange, 2, "is not an HDF5 file");
    expect_no_merge(missing, 0, "no shards");
    /* A truncated shard. */
    assert_int_equal(truncate(in_folder("c.h5"), 20000), 0);
    const char *cut[] = {in_folder("a.h5"), in_folder("b.h5"), in_folder("c.h5")};
    expect_no_merge(cut, 3, "c.h5");
}

SWEEPING(resuming_what_is_whole_runs_nothing_and_what_is_foreign_is_refused)
{
    sweep_write(in_folder("sweep.json"), plain);
    struct sweep_runner_options options = options_of("a.h5", 2);
    options.resume = true;
    assert_int_equal(run(&options), 0);
    assert_int_equal(run(&options), 0);
    assert_true(was_said("18 of 18 runs are in"));
    options.shards = 2;
    assert_int_equal(run(&options), 2);
    assert_true(was_said("another sweep or shard"));
    options.shards = 1;
    sweep_write(in_folder("sweep.json"), precise);
    assert_int_equal(run(&options), 2);
    assert_true(was_said("another sweep or shard"));
    /* Truncated results are told, and not begun anew without a word. */
    assert_int_equal(truncate(in_folder("a.h5"), 5000), 0);
    assert_int_equal(run(&options), 2);
    assert_true(was_said("a.h5"));
    assert_null(results_load(in_folder("a.h5"), hear()));
    options.resume = false;
    assert_int_equal(run(&options), 0);
}

SWEEPING(one_run_is_a_sweep_and_a_shard_without_runs_is_refused)
{
    (void)swept("'seeds': 1", "a.h5", 2);
    assert_int_equal(runs_in("a.h5"), 1);
    assert_int_equal(run_shard("b.h5", 2, 2), 2);
    assert_true(was_said("no run falls to shard 2/2"));
    assert_int_equal(access(in_folder("b.h5"), F_OK), -1);
}

/* Else two sweeps by two names of one file would know nothing of each other. */
SWEEPING(through_a_link_the_runs_lie_beside_the_results)
{
    struct stat status;
    sweep_write(in_folder("sweep.json"), plain);
    assert_int_equal(symlink("a.h5", in_folder("link.h5")), 0);
    assert_int_equal(run_shard("link.h5", 1, 1), 0);
    assert_int_equal(lstat(in_folder("link.h5"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(lstat(in_folder("a.h5"), &status), 0);
    assert_true(S_ISREG(status.st_mode));
    /* What is no folder of runs is never written over. */
    write_text(in_folder("a.h5.runs"), "a file that has the folder's name");
    struct sweep_runner_options options = options_of("link.h5", 1);
    options.resume = true;
    assert_int_equal(run(&options), 2);
    assert_true(was_said("a.h5.runs: is not a folder of finished runs"));
    options.resume = false;
    options.restart = true;
    assert_int_equal(run(&options), 2);
    assert_int_equal(lstat(in_folder("a.h5.runs"), &status), 0);
    assert_int_equal(status.st_size, strlen("a file that has the folder's name"));
}

SWEEPING(a_dry_run_lists_the_runs_of_its_shard_and_writes_nothing)
{
    sweep_write(in_folder("sweep.json"), plain);
    struct sweep_runner_options options = options_of("a.h5", 1);
    options.dry_run = true;
    options.details = true;
    assert_int_equal(run(&options), 0);
    assert_true(was_said("run 0: arrivals.rate_per_s=100 policy.name=fifo seed=1\n"));
    assert_true(was_said("run 17: arrivals.rate_per_s=350 policy.name=edf seed=3\n"));
    assert_true(was_said("\n18 runs of 6 combinations\ntime: about "));
    assert_true(was_said(" by 6 of them that were begun here)\nmemory: about "));
    options.shard = 2;
    options.shards = 4;
    assert_int_equal(run(&options), 0);
    assert_true(was_said("run 1: "));
    assert_true(was_said("\n5 runs of 6 combinations\n"));
    sweep_write(in_folder("sweep.json"), precise);
    options = options_of("a.h5", 1);
    options.dry_run = true;
    assert_int_equal(run(&options), 0);
    assert_true(was_said("9 runs of 3 combinations, and more until"));
    assert_false(was_said("run 0: "));
    assert_true(was_said("time: at least "));
    assert_int_equal(access(in_folder("a.h5"), F_OK), -1);
    assert_int_equal(access(in_folder("a.h5.runs"), F_OK), -1);
    /* What a sweep would refuse is refused. */
    sweep_write(in_folder("sweep.json"), "'matrix': {'policy.name': ['fifo', 'fife']}");
    assert_int_equal(run(&options), 2);
    assert_true(was_said("fife"));
}

SWEEPING(no_seeds_and_senseless_precisions_are_refused)
{
    static const struct refusal rests[] = {
        {"'seeds': 0", "seeds"},
        {"'seeds': []", "seeds"},
        {"'precision': {'metric': 'slo_hit_rat', 'half_width': 1, 'max_seeds': 9}", "slo_hit_rate"},
        {"'precision': {'metric': 'slo_hit_rate', 'half_width': 0, 'max_seeds': 9}", "half_width"},
        {"'precision': {'metric': 'slo_hit_rate', 'half_width': 2, 'max_seeds': 9}",
         "precision.half_width: slo_hit_rate is a share of 0..1; 0.02 for 2 %"},
        {"'precision': {'metric': 'slo_hit_rate', 'half_width': 1, 'max_seeds': 1}", "max_seeds"},
        {"'precision': {'metric': 'slo_hit_rate', 'half_width': 1}", "max_seeds"},
        {"'seeds': 1, 'precision': {'metric': 'slo_hit_rate', 'half_width': 1, 'max_seeds': 9}",
         "seeds"},
        {"'seeds': [4, 5], 'precision': {'metric': 'slo_hit_rate', 'half_width': 1, 'max_seeds': "
         "9}",
         "seeds"},
    };
    for (size_t i = 0; i < sizeof rests / sizeof rests[0]; i++) {
        struct sweep_runner_options options = options_of("a.h5", 1);
        sweep_write(in_folder("sweep.json"), rests[i].text);
        assert_int_equal(run(&options), 2);
        assert_true(was_said(rests[i].words));
    }
}

/* Runs the sweep with room for files of that many bytes, so that some of its runs have none, on
 * machines of any speed. */
static int run_with_room(const struct sweep_runner_options *options, rlim_t room)
{
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = room;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const int status = run(options);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, handler);
    return status;
}

/* Room for nothing, for a part, for some runs in the results, and at last for all. */
SWEEPING(a_full_disk_keeps_what_had_finished_and_resuming_completes_it)
{
    TABLES expected = tables_of(plain);
    struct sweep_runner_options options = options_of("a.h5", 1);
    options.resume = true;
    int failures = 0;
    for (rlim_t room = 1000; room < 400000; room = room * 3 / 2) {
        const int status = run_with_room(&options, room);
        if (status != 0 && status != 1)
            (void)was_said("?");
        assert_true(status == 0 || was_said("File too large"));
        assert_true(status == 0 || status == 1);
        failures += status == 1;
        nothing_unfinished();
        if (status == 0)
            break;
    }
    assert_true(failures > 3);
    assert_int_equal(run(&options), 0);
    assert_tables(in_folder("a.h5"), &expected);
}

/* Ctrl-C: what has finished can be read at once, and the rest follows. */
SWEEPING(an_interrupted_sweep_leaves_a_readable_file_and_goes_on)
{
    TABLES expected = tables_of(plain);
    struct sweep_runner_options options = options_of("a.h5", 1);
    options.resume = true;
    pid_t pid = sweep_start(in_folder("sweep.json"), &options, in_folder("out"));
    /* Some runs have finished, or it was too fast for us. */
    struct timespec nap = {.tv_nsec = 200000};
    while (parts_count(in_folder("a.h5.runs")) < 2 && access(in_folder("a.h5"), F_OK) != 0)
        (void)nanosleep(&nap, NULL);
    assert_int_equal(kill(pid, SIGINT), 0);
    int status = sweep_wait(pid);
    assert_true(status == 1 || status == 0);
    if (status == 1)
        assert_true(was_said("interrupted"));
    nothing_unfinished();
    assert_in_range(runs_in("a.h5"), 1, 18);
    assert_int_equal(run(&options), 0);
    assert_tables(in_folder("a.h5"), &expected);
    assert_int_equal(access(in_folder("a.h5.runs"), F_OK), -1);
}

enum { RECORDED_RUNS = 5, ROOM_FOR_SOME = 450000, ROOM_FOR_MORE = 1400000 };

SWEEPING(a_sweep_that_fails_leaves_the_older_whole_results)
{
    struct sweep_runner_options options = swept(recorded, "a.h5", 1);
    TABLES expected = tables_read(in_folder("a.h5"));
    options.quiet = true;
    assert_int_equal(run_with_room(&options, ROOM_FOR_SOME), 1);
    assert_true(was_said("a.h5 is as it was; go on with --resume"));
    assert_tables(in_folder("a.h5"), &expected);
    nothing_unfinished();
    /* What had finished is not discarded by mistake, not in silence either. */
    assert_int_equal(run(&options), 2);
    assert_true(was_said("go on with --resume, or discard them with --restart"));
    sweep_write(in_folder("sweep.json"), "'seeds': 2");
    assert_int_equal(run(&options), 2);
    assert_true(was_said("of another sweep"));
    assert_true(was_said("--restart (--resume keeps"));
    sweep_write(in_folder("sweep.json"), recorded);
    assert_tables(in_folder("a.h5"), &expected);
    options.resume = true;
    options.quiet = false;
    assert_int_equal(run(&options), 0);
    assert_true(was_said("kept 5 of 5 runs"));
    assert_tables(in_folder("a.h5"), &expected);
    assert_int_equal(access(in_folder("a.h5.runs"), F_OK), -1);
}

SWEEPING(incomplete_results_are_replaced_by_those_of_no_fewer_runs)
{
    sweep_write(in_folder("sweep.json"), recorded);
    struct sweep_runner_options options = options_of("a.h5", 1);
    assert_int_equal(run_with_room(&options, ROOM_FOR_SOME), 1);
    const size_t some = runs_in("a.h5");
    assert_in_range(some, 1, RECORDED_RUNS - 2);
    assert_true(was_said("a.h5.runs and "));
    options.restart = true;
    assert_int_equal(run_with_room(&options, ROOM_FOR_MORE), 1);
    const size_t more = runs_in("a.h5");
    assert_in_range(more, some + 1, RECORDED_RUNS - 1);
    assert_int_equal(run_with_room(&options, ROOM_FOR_SOME), 1);
    assert_int_equal(runs_in("a.h5"), more);
    options.restart = false;
    options.resume = true;
    assert_int_equal(run(&options), 0);
    assert_int_equal(runs_in("a.h5"), RECORDED_RUNS);
}

SWEEPING(a_second_sweep_is_refused_while_the_first_holds_the_results)
{
    struct atomic_file file;
    sweep_write(in_folder("sweep.json"), plain);
    assert_true(atomic_file_begin(&file, in_folder("a.h5"), hear()));
    struct sweep_runner_options options = options_of("a.h5", 1);
    for (int resume = 0; resume <= 1; resume++) {
        options.resume = resume != 0;
        options.restart = !options.resume;
        assert_int_equal(run(&options), 1);
        assert_true(was_said(formatted("process %ld is writing there", (long)getpid())));
        assert_int_equal(access(in_folder("a.h5.runs"), F_OK), -1);
    }
    assert_false(atomic_file_end(&file, false, hear()));
    assert_int_equal(run(&options), 0);
}

/* Changes a byte in the middle of a file, or cuts the file there. */
static void damage(const char *path, bool cut)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    if (cut) {
        assert_int_equal(truncate(path, status.st_size / 2), 0);
        return;
    }
    FILE *file = must(fopen(path, "r+"));
    assert_int_equal(fseek(file, status.st_size / 2, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, status.st_size / 2, SEEK_SET), 0);
    assert_int_not_equal(fputc(byte ^ 1, file), EOF);
    assert_int_equal(fclose(file), 0);
}

SWEEPING(damage_in_a_part_is_told_and_costs_the_runs_in_it)
{
    TABLES expected = tables_of(recorded);
    for (int cut = 0; cut <= 1; cut++) {
        struct sweep_runner_options options = options_of("a.h5", 1);
        options.restart = true;
        assert_int_equal(run_with_room(&options, ROOM_FOR_SOME), 1);
        const size_t some = runs_in("a.h5");
        damage(in_folder("a.h5.runs/part-0.h5"), cut != 0);
        options.restart = false;
        options.resume = true;
        assert_int_equal(unlink(in_folder("a.h5")), 0); /* it holds the damaged part's runs, too */
        assert_int_equal(run(&options), 0);
        assert_true(was_said(formatted("kept %zu of 5 runs", some - 1)));
        assert_true(was_said("files that are damaged or cut short: 1; their runs are done again"));
        assert_tables(in_folder("a.h5"), &expected);
        assert_int_equal(unlink(in_folder("a.h5")), 0);
    }
}

/* A worker that is killed from outside says nothing of its run: merge asks for it. */
SWEEPING(a_run_whose_worker_is_killed_was_not_run)
{
    char *text =
        formatted("'matrix': {'policy': [{'name': 'fifo'}, {'name': '%s/culprit.so', 'params': "
                  "{'fault': 'kill'}}]}",
                  getenv("ESGSIM_PLUGINS"));
    sweep_write(in_folder("sweep.json"), text);
    struct sweep_runner_options options = options_of("a.h5", 1);
    assert_int_equal(run(&options), 1);
    assert_true(was_said("1 of 2 runs were not finished"));
    RESULTS *results = results_of("a.h5");
    assert_int_equal(results->missing_count, 1);
    assert_string_equal(results->missing[0].status, MISSING_NOT_RUN);
    const char *alone[] = {in_folder("a.h5")};
    expect_no_merge(alone, 1, "1 runs of shard 1/1 were not run; run it again with --resume");
}

/* ---- Copies are no sample -------------------------------------------------------------------- */

SWEEPING(one_seed_is_run_where_nothing_is_drawn)
{
    static const char sweep[] =
        "'matrix': {'functions': [[{'name': 'f', 'service': {'distribution': 'constant', "
        "'mean_ms': 10}}]], 'arrivals': [{'process': 'uniform', 'low_ms': 9, 'high_ms': 9}, "
        "{'process': 'uniform', 'low_ms': 8, 'high_ms': 9}], 'policy.name': ['fifo', "
        "'power-of-two']}, 'seeds': 3";
    (void)swept(sweep, "a.h5", 2);
    RESULTS *results = results_of("a.h5");
    assert_int_equal(results->run_count, 1 + 3 + 3 + 3);
    assert_non_null(notices_find(&results->notices[0], NOTICE_NOT_RANDOM));
    for (size_t run = 1; run < results->run_count; run++)
        assert_null(notices_find(&results->notices[run], NOTICE_NOT_RANDOM));
    assert_same_for_jobs_and_shards(sweep);
}

static const char fixed[] =
    "{'cluster': {'invokers': [{'count': 3, 'vcpus': 8, 'memory_mb': 65536, 'gpus': [{'model': "
    "'A100', 'sharing': 'mig', 'units': 7, 'memory_mb': 40960}]}]}, 'profile': {'device': 'A100', "
    "'evidence': 'assumed', 'source': 'test', 'licence': 'none', 'unit': 7, 'functions': {'net': "
    "{'grid': {'batch': [1, 4], 'vcpu': [1, 2], 'vgpu': [1, 3, 5, 7]}, 'latency_ms': [[[40, 20, "
    "10, 8], [30, 15, 9, 7]], [[120, 60, 30, 20], [90, 50, 25, 18]]], 'noise': {'cv': 0}, "
    "'cold_start_ms': {'mean': 300, 'cv': 0}, 'gpu_memory_mb': {'weights': 100, 'per_item': "
    "50}}}}, 'functions': [{'name': 'net'}], 'applications': [{'name': 'app', 'stages': [{'name': "
    "'s', 'function': 'net'}]}], 'slo': {'factor': 2}, 'requests': 300, 'arrivals': {'process': "
    "'uniform', 'low_ms': 6, 'high_ms': 6}}";

/* Returns whether the policy serves the experiment. If so, stores what the run measured. */
static bool measure(const char *policy_name, const char *seed, bool *random,
                    struct measures *measures)
{
    const struct override overrides[] = {{"policy.name", policy_name}, {"seed", seed}};
    struct simulation_result result;
    const struct recorder recorder = {0};
    double *values = NULL;
    STRING *json = json_requote(strdup(fixed));
    OWNED(experiment_free)
    struct experiment *experiment =
        must(experiment_parse(json, "e.json", ".", overrides, 2, hear()));
    const struct policy *policy = policy_resolve(experiment, &values, hear());
    *random = experiment_is_random(experiment);
    const bool served = policy != NULL && simulation_run(experiment, policy, values, &recorder,
                                                         NULL, &result, hear());
    if (served) {
        *measures = result.overall;
        simulation_result_clear(&result);
    }
    return served;
}

/* A built-in policy that began to draw would have to be named in workloads/spec/randomness.c. */
SWEEPING(policies_that_draw_are_known)
{
    size_t same = 0, drawing = 0;
    const struct policy *policy = NULL;
    for (size_t i = 0; (policy = policy_at(i)) != NULL; i++) {
        struct measures one = {0}, other = {0};
        bool random = false;
        if (!measure(policy->name, "1", &random, &one) ||
            !measure(policy->name, "2", &random, &other))
            continue;
        drawing += random;
        same += !random;
        if (!random && (one.latency_ms_mean != other.latency_ms_mean ||
                        one.cost_usd != other.cost_usd || one.mean_batch != other.mean_batch))
            fail_msg("%s draws: name it in workloads/spec/randomness.c", policy->name);
    }
    assert_int_equal(drawing, 2);
    assert_true(same > 10);
}

/* ---- Runs that are kept ---------------------------------------------------------------------- */

/* As by h5py: a text of variable length. Returns whether the object has it already. */
static bool remark(hid_t object)
{
    static const char *const text = "checked by hand";
    if (H5Aexists(object, "remark") > 0)
        return true;
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    assert_true(H5Tset_size(type, H5T_VARIABLE) >= 0);
    const hid_t attribute = H5Acreate2(object, "remark", type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, type, &text) >= 0 && H5Aclose(attribute) >= 0);
    assert_true(H5Sclose(space) >= 0 && H5Tclose(type) >= 0);
    return false;
}

/* The run, and its table of requests if there is one. */
static herr_t mark(hid_t runs, const char *name, const H5L_info_t *info, void *count)
{
    const hid_t run = H5Gopen2(runs, name, H5P_DEFAULT);
    bool marked = remark(run);
    if (H5Lexists(run, "requests", H5P_DEFAULT) > 0) {
        const hid_t table = H5Dopen2(run, "requests", H5P_DEFAULT);
        marked = remark(table) && marked;
        assert_true(H5Dclose(table) >= 0);
    }
    *(size_t *)count += marked;
    return H5Gclose(run);
}

/* Marks all runs of a results file. Returns how many bore the mark: they were not done again. */
static size_t runs_mark(const char *name)
{
    size_t count = 0;
    const hid_t file = H5Fopen(in_folder(name), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    const hid_t runs = H5Gopen2(file, "runs", H5P_DEFAULT);
    assert_true(H5Literate(runs, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, mark, &count) >= 0);
    (void)H5Gclose(runs);
    (void)H5Fclose(file);
    return count;
}

/* Copies a test's policy to mine.so; `edited` appends a byte. */
static void module_write(bool edited)
{
    char bytes[65536];
    size_t size = 0;
    char *path = formatted("%s/shortest_queue.so", getenv("ESGSIM_PLUGINS"));
    FILE *from = fopen(path, "r"), *to = fopen(in_folder("mine.so"), "w");
    assert_true(from != NULL && to != NULL);
    while ((size = fread(bytes, 1, sizeof bytes, from)) > 0)
        assert_int_equal(fwrite(bytes, 1, size, to), size);
    if (edited)
        (void)fputc('x', to);
    (void)fclose(from);
    assert_int_equal(fclose(to), 0);
}

static void six_write(const char *policies, int seeds)
{
    char *text =
        formatted("'matrix': {'arrivals.rate_per_s': [100, 300], 'policy.name': ['%s', %s], "
                  "'record': ['requests']}, 'seeds': %d",
                  in_folder("mine.so"), policies, seeds);
    sweep_write(in_folder("sweep.json"), text);
}

/* Resumes the sweep in a.h5, whose runs bear marks. Of `runs`, it keeps `kept` and says so, and the
 * tables are those of a sweep that was begun anew. */
static void assert_resumed(size_t runs, size_t kept, const char *said)
{
    struct sweep_runner_options options = options_of("a.h5", 2);
    options.resume = true;
    assert_int_equal(run(&options), 0);
    assert_true(was_said(said));
    assert_as_begun_anew();
    assert_int_equal(runs_in("a.h5"), runs);
    assert_int_equal(runs_mark("a.h5"), kept);
}

SWEEPING(a_changed_policy_and_further_seeds_cost_their_runs_alone)
{
    static const char six[] = "'fifo', 'edf', 'sjf', 'min-config', 'max-config'";
    static const char fewer[] = "'infless', 'fifo'";
    module_write(false);
    six_write(six, 4);
    struct sweep_runner_options options = options_of("a.h5", 1);
    assert_int_equal(run(&options), 0);
    assert_int_equal(runs_mark("a.h5"), 0);
    module_write(true);
    assert_resumed(
        48, 40,
        "kept 40 of 48 runs; 8 are done again: the module of policy shortest-queue changed");
    six_write(six, 10);
    assert_resumed(120, 48, "kept 48 of 120 runs");
    six_write(fewer, 10);
    assert_resumed(60, 40, "kept 40 of 60 runs; 80 finished runs are not of this sweep");
}

/* Runs of an earlier form are kept when they are in the folder of runs, too. */
SWEEPING(parts_of_an_earlier_form_are_kept)
{
    sweep_write(in_folder("sweep.json"), recorded);
    struct sweep_runner_options options = options_of("a.h5", 1);
    assert_int_equal(run_with_room(&options, ROOM_FOR_SOME), 1);
    const size_t some = runs_in("a.h5");
    assert_int_equal(unlink(in_folder("a.h5")), 0);
    sweep_write(in_folder("sweep.json"),
                "'matrix': {'record': ['all'], 'requests': [50, 100, 400, 1600, 6400]}");
    options.resume = true;
    assert_int_equal(run_with_room(&options, ROOM_FOR_SOME), 1);
    assert_true(was_said(formatted("kept %zu of 5 runs", some)));
    assert_int_equal(run(&options), 0);
    assert_true(was_said(formatted("kept %zu of 5 runs", some + 1)));
    assert_as_begun_anew();
    assert_int_equal(access(in_folder("a.h5.runs"), F_OK), -1);
}

/* --resume refuses runs of another sweep, and neither it nor whole results discard them. */
SWEEPING(runs_of_another_sweep_stay_in_the_folder)
{
    struct sweep_runner_options options = swept(plain, "a.h5", 1);
    sweep_write(in_folder("sweep.json"), recorded);
    assert_int_equal(run_with_room(&options, ROOM_FOR_SOME), 1);
    const size_t parts = parts_count(in_folder("a.h5.runs"));
    assert_in_range(parts, 1, RECORDED_RUNS - 1);
    options.resume = true;
    sweep_write(in_folder("sweep.json"), plain); /* whole in a.h5 */
    assert_int_equal(run(&options), 2);
    assert_true(was_said("finished runs of another sweep"));
    assert_int_equal(parts_count(in_folder("a.h5.runs")), parts);
    assert_int_equal(unlink(in_folder("a.h5")), 0);
    assert_int_equal(run(&options), 2);
    assert_int_equal(parts_count(in_folder("a.h5.runs")), parts);
    sweep_write(in_folder("sweep.json"), recorded);
    assert_int_equal(run(&options), 0);
}

/* Seeds that a wider interval does not need are not in the tables. */
SWEEPING(a_precision_that_is_eased_leaves_seeds_out)
{
    static const char eased[] =
        "'matrix': {'arrivals.rate_per_s': [50, 150, 320]}, 'seeds': 3, 'precision': {'metric': "
        "'latency_ms_mean', 'half_width': 1000, 'max_seeds': 24}";
    (void)swept(precise, "a.h5", 2);
    const size_t kept = runs_in("a.h5");
    assert_in_range(kept, 10, 72);
    assert_int_equal(runs_mark("a.h5"), 0);
    sweep_write(in_folder("sweep.json"), eased);
    assert_resumed(9, 9, formatted("kept %zu of %zu runs", kept, kept));
}

static void attribute_set(const char *name, const char *attribute, const char *text)
{
    const hid_t file = H5Fopen(in_folder(name), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(file >= 0);
    assert_true(H5Adelete(file, attribute) >= 0 && hdf5_set_text(file, attribute, text));
    (void)H5Fclose(file);
}

static herr_t age(hid_t runs, const char *name, const H5L_info_t *info, void *unused)
{
    const hid_t run = H5Gopen2(runs, name, H5P_DEFAULT);
    assert_true(H5Adelete(run, "sources") >= 0 && hdf5_set_text(run, "sources", "0123456789ab"));
    return H5Gclose(run);
}

SWEEPING(runs_that_record_otherwise_or_of_another_program_are_not_joined)
{
    static const char summary[] =
        "'matrix': {'requests': [50, 60], 'record': ['summary']}, 'seeds': 2";
    static const char requests[] =
        "'matrix': {'requests': [50, 60], 'record': ['requests']}, 'seeds': 2";
    (void)swept(summary, "a.h5", 1);
    sweep_write(in_folder("sweep.json"), requests);
    assert_resumed(4, 0, "kept 0 of 4 runs; 4 are done again: what is recorded changed");
    RESULTS *results = results_of("a.h5");
    char identity[65];
    (void)snprintf(identity, sizeof identity, "%s", results->sweep.identity);
    /* Another program: its digest stands in the runs and in the file. */
    const hid_t file = H5Fopen(in_folder("a.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t runs = H5Gopen2(file, "runs", H5P_DEFAULT);
    assert_true(H5Literate(runs, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, age, NULL) >= 0);
    (void)H5Gclose(runs);
    (void)H5Fclose(file);
    identity[0] = identity[0] == '0' ? '1' : '0';
    attribute_set("a.h5", "sweep", identity);
    assert_resumed(
        4, 0,
        "kept 0 of 4 runs; 4 are done again: the program changed, its sources were 0123456789ab");
    assert_true(was_said("4 of 4 runs"));
    assert_int_equal(run_shard("c.h5", 1, 2), 0);
    assert_int_equal(run_shard("d.h5", 2, 2), 0);
    attribute_set("d.h5", "sources", "0123456789ab");
    attribute_set("d.h5", "sweep", identity);
    const char *unlike[] = {in_folder("c.h5"), in_folder("d.h5")};
    expect_no_merge(unlike, 2, "sources 0123456789ab");
    expect_no_merge(unlike, 2, version_sources());
}

/* Both runs of `overcommit` fail: their shards say so, and merge carries it. */
SWEEPING(failed_runs_are_rows_that_merge_carries)
{
    static const char *const parts[] = {"a.h5", "b.h5", "c.h5"};
    const char *paths[3];
    char *text = formatted(
        "'matrix': {'policy.name': ['fifo', '%s/drop_all.so', '%s/overcommit.so']}, 'seeds': 2",
        getenv("ESGSIM_PLUGINS"), getenv("ESGSIM_PLUGINS"));
    sweep_write(in_folder("sweep.json"), text);
    for (uint64_t s = 0; s < 3; s++) {
        /* Runs 0 and 3, 1 and 4, 2 and 5. */
        assert_int_equal(run_shard(parts[s], s + 1, 3), s == 0 ? 0 : 1);
        paths[s] = in_folder(parts[s]);
    }
    assert_true(store_merge(in_folder("all.h5"), paths, 3, hear()));
    RESULTS *results = results_of("all.h5");
    assert_int_equal(results->sweep.missing, 2);
    assert_int_equal(results->missing_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(results->missing[i].position, 4 + i);
        assert_int_equal(results->missing[i].seed, 1 + i);
        assert_string_equal(results->missing[i].policy, "overcommit");
        assert_string_equal(results->missing[i].status, MISSING_FAILED);
        assert_contains(results->missing[i].message, "overcommit");
    }
}

/* Its file holds no run, only why. */
SWEEPING(a_shard_whose_runs_all_failed_is_resumed)
{
    char *text = formatted("'matrix': {'policy.name': ['%s/overcommit.so']}, 'seeds': 2",
                           getenv("ESGSIM_PLUGINS"));
    sweep_write(in_folder("sweep.json"), text);
    struct sweep_runner_options options = options_of("a.h5", 1);
    options.shards = 2;
    assert_int_equal(run(&options), 1);
    options.resume = true;
    assert_int_equal(run(&options), 1);
    assert_true(was_said("kept 0 of 1 runs"));
    assert_true(was_said("failed"));
}

SUITE_WITH("sweep_runner", folder_make, folder_remove)
