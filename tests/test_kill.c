/* A sweep killed at 200 random moments, its parent or one of its workers: what had finished is
 * never lost nor done again, and in the end the tables are those of the sweep left alone. */
#include "tests/fixture_sweep.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "results/store/hdf5_table.h"
#include "results/store/seal.h"
#include "results/store/store.h"
#include "sim/run/worker_pool.h"

enum { KILLS = 200, RUNS = 8 };

/* Two policies at two loads, two seeds each. */
static const char matrix[] = "\"matrix\": {\"arrivals.rate_per_s\": [100, 300], \"policy.name\":"
                             " [\"fifo\", \"edf\"]}, \"seeds\": 2";

struct scene {
    char folder[64], sweep[96], alone[96], out[96], runs[104];
    struct sweep_runner_options options;
    struct table_bytes expected;
    double seconds; /* the sweep left alone */
    gsl_rng *random;
    size_t kills, parents, workers, during_runs;
};

/* The process dies instead of removing this many parts and one more; SIZE_MAX: it does not. */
static size_t removals_left = SIZE_MAX;

/* Stands in for the C library's function, which removes the parts of a folder. */
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): its names are reserved
int unlinkat(int folder, const char *name, int flags)
{
    const char *end = strrchr(name, '.');
    const bool is_part = strncmp(name, "part-", 5) == 0 && strcmp(end, ".h5") == 0;
    if (is_part && removals_left != SIZE_MAX && removals_left-- == 0)
        (void)raise(SIGKILL);
    return (int)syscall(SYS_unlinkat, folder, name, flags);
}

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void nap(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    (void)nanosleep(&time, NULL);
}

static int files_count(const char *folder)
{
    int count = -2; /* . and .. */
    DIR *listing = must(opendir(folder));
    while (readdir(listing) != NULL)
        count++;
    (void)closedir(listing);
    return count;
}

static void scene_open(struct scene *scene)
{
    *scene = (struct scene){.folder = "/tmp/esgsim-kill-XXXXXX"};
    assert_non_null(mkdtemp(scene->folder));
    (void)snprintf(scene->sweep, sizeof scene->sweep, "%s/sweep.json", scene->folder);
    (void)snprintf(scene->alone, sizeof scene->alone, "%s/alone.h5", scene->folder);
    (void)snprintf(scene->out, sizeof scene->out, "%s/out.h5", scene->folder);
    (void)snprintf(scene->runs, sizeof scene->runs, "%s.runs", scene->out);
    sweep_write(scene->sweep, matrix);
    scene->options = (struct sweep_runner_options){
        .out = scene->alone, .jobs = 2, .shard = 1, .shards = 1, .resume = true};
    double start = now_s();
    assert_int_equal(sweep_run(scene->sweep, &scene->options, NULL), 0);
    scene->seconds = now_s() - start;
    scene->options.out = scene->out;
    scene->expected = tables_read(scene->alone);
    scene->random = gsl_rng_alloc(gsl_rng_mt19937);
    assert_non_null(scene->random);
    gsl_rng_set(scene->random, 20261121);
}

static void scene_close(struct scene *scene)
{
    gsl_rng_free(scene->random);
    free(scene->expected.bytes);
    (void)unlink(scene->sweep);
    (void)unlink(scene->alone);
    (void)unlink(scene->out);
    assert_int_equal(rmdir(scene->folder), 0);
}

/* Half of the moments by the clock, half by how many runs have finished: whatever the machine's
 * speed, kills fall into every part of the sweep. */
static void wait_for_moment(struct scene *scene, pid_t pid)
{
    if (gsl_rng_uniform(scene->random) < 0.5) {
        nap(gsl_rng_uniform(scene->random) * 1.2 * scene->seconds);
        return;
    }
    const size_t wanted = (size_t)gsl_rng_uniform_int(scene->random, RUNS);
    siginfo_t info = {0};
    /* Until there are so many, or the sweep has ended by itself. */
    while (parts_count(scene->runs) < wanted &&
           waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
        nap(2e-5);
}

/* One of its children, as the kernel lists them; 0: none at this moment. */
static pid_t worker_of(pid_t pid, size_t choice)
{
    char list[512] = "";
    long children[64];
    size_t count = 0;
    FILE *file = fopen(formatted("/proc/%ld/task/%ld/children", (long)pid, (long)pid), "r");
    if (file == NULL)
        return 0;
    list[fread(list, 1, sizeof list - 1, file)] = '\0';
    (void)fclose(file);
    char *at = list;
    char *end = NULL;
    while (count < 64 && (children[count] = strtol(at, &end, 10)) > 0) {
        at = end;
        count++;
    }
    return count == 0 ? 0 : (pid_t)children[choice % count];
}

/* When each run was done, by the wall-clock time that it took; 0: it is not there. */
struct records {
    double wall_s[RUNS];
    long parts[RUNS]; /* that hold them: of several with the same run the first counts */
    size_t count;
};

/* Adds the runs of one part. */
static void part_read(const char *path, long part, struct records *records)
{
    assert_true(seal_is_whole(path));
    struct run_source *source = must(run_source_open(path, hear()));
    const struct results *results = run_source_results(source);
    const hid_t access = hdf5_access(), file = H5Fopen(path, H5F_ACC_RDONLY, access);
    (void)H5Pclose(access);
    assert_true(file >= 0);
    for (size_t row = 0; row < results->run_count; row++) {
        char *name = formatted("runs/%s", results->runs[row].hash);
        const hid_t group = H5Gopen2(file, name, H5P_DEFAULT);
        const size_t run = (size_t)run_source_position(source, row);
        double wall_s = 0;
        assert_true(hdf5_get_f64(group, "wall_s", &wall_s));
        if (records->wall_s[run] == 0 || part < records->parts[run]) {
            records->count += records->wall_s[run] == 0;
            records->wall_s[run] = wall_s;
            records->parts[run] = part;
        }
        (void)H5Gclose(group);
    }
    (void)H5Fclose(file);
    run_source_close(source);
}

/* Checks that the folder holds what it held before, and more. */
static void records_check(const struct scene *scene, struct records *before)
{
    struct records now = {.count = 0};
    DIR *listing = opendir(scene->runs);
    for (const struct dirent *file; listing != NULL && (file = readdir(listing)) != NULL;) {
        const char *end = strrchr(file->d_name, '.');
        char *path = formatted("%s/%s", scene->runs, file->d_name);
        if (file->d_name[0] != '.' && end != NULL && strcmp(end, ".h5") == 0)
            part_read(path, strtol(file->d_name + strlen("part-"), NULL, 10), &now);
    }
    if (listing != NULL)
        (void)closedir(listing);
    /* Not lost, and not done again: that would take another time. */
    for (size_t run = 0; run < RUNS; run++)
        if (before->wall_s[run] != 0 && before->wall_s[run] != now.wall_s[run])
            print_message("run %zu: part %ld %g, now part %ld %g\n", run, before->parts[run],
                          before->wall_s[run], now.parts[run], now.wall_s[run]);
    for (size_t run = 0; run < RUNS; run++)
        assert_true(before->wall_s[run] == 0 || before->wall_s[run] == now.wall_s[run]);
    *before = now;
}

/* Start or go on, and kill the parent or a worker at some moment. True: it had come to its end. */
static bool sweep_disturb(struct scene *scene)
{
    bool parent = gsl_rng_uniform(scene->random) < 0.4;
    size_t choice = gsl_rng_get(scene->random);
    /* Parts of one run each, or of several. */
    scene->options.hold_ms = gsl_rng_uniform(scene->random) < 0.7 ? 0 : WORKER_POOL_HOLD_MS / 100;
    pid_t pid = sweep_start(scene->sweep, &scene->options, NULL);
    wait_for_moment(scene, pid);
    pid_t worker = 0;
    for (int look = 0; !parent && worker == 0 && look < 100; look++) {
        worker = worker_of(pid, choice);
        if (worker == 0)
            nap(1e-4);
    }
    pid_t victim = worker > 0 ? worker : pid;
    assert_true(kill(victim, SIGKILL) == 0 || victim != pid);
    int status = sweep_wait(pid);
    scene->kills++;
    scene->parents += victim == pid;
    scene->workers += victim != pid;
    assert_true(status == 0 || status == 1 || status == -SIGKILL);
    /* A killed worker is told by the status, unless it had already handed over. */
    return status == 0;
}

CASE(after_200_kills_nothing_is_lost_or_done_again_and_the_tables_are_the_same)
{
    struct scene scene;
    scene_open(&scene);
    while (scene.kills < trials(KILLS)) {
        struct records records = {.count = 0};
        (void)unlink(scene.out);
        /* One kill, or two, or three in a row, before it is left to end. */
        size_t row = 1 + gsl_rng_uniform_int(scene.random, 3);
        bool ended = false;
        for (size_t i = 0; i < row && !ended; i++) {
            ended = sweep_disturb(&scene);
            /* Where the results are whole, the folder goes. */
            if (!ended && access(scene.out, F_OK) != 0)
                records_check(&scene, &records);
        }
        scene.during_runs += records.count > 0 && records.count < RUNS;
        assert_int_equal(sweep_run(scene.sweep, &scene.options, NULL), 0);
        assert_tables(scene.out, &scene.expected);
        assert_int_equal(files_count(scene.folder), 3); /* the sweep and two results files */
    }
    print_message("%zu kills: %zu of the parent, %zu of a worker; %zu sweeps had some of their "
                  "runs finished\n",
                  scene.kills, scene.parents, scene.workers, scene.during_runs);
    assert_true(scene.parents > trials(40) && scene.workers > trials(20));
    assert_true(scene.during_runs > 10 || trials(KILLS) < KILLS);
    scene_close(&scene);
}

static ino_t file_number(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_ino;
}

CASE(killed_while_it_removes_the_parts_a_sweep_does_no_run_again)
{
    struct scene scene;
    scene_open(&scene);
    for (size_t removals = 0; removals < RUNS; removals++) {
        (void)unlink(scene.out);
        removals_left = removals;
        pid_t pid = sweep_start(scene.sweep, &scene.options, NULL);
        removals_left = SIZE_MAX;
        assert_int_equal(sweep_wait(pid), -SIGKILL);
        const ino_t written = file_number(scene.out);
        assert_int_equal(access(scene.runs, F_OK), -1);
        assert_int_equal(files_count(scene.folder), 4); /* what is left of the parts, too */
        assert_int_equal(sweep_run(scene.sweep, &scene.options, NULL), 0);
        assert_int_equal(file_number(scene.out), written);
        assert_tables(scene.out, &scene.expected);
        assert_int_equal(files_count(scene.folder), 3);
    }
    scene_close(&scene);
}

SUITE("kill")
