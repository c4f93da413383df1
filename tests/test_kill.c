/* A sweep killed at 200 random moments, its parent or one of its workers: what had finished is
 * never lost nor done again, and in the end the tables are those of the sweep left alone. */
#include "tests/fixture_sweep.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "results/journal.h"
#include "sim/random.h"

enum { KILLS = 200, RUNS = 8 };

/* Two policies at two loads, two seeds each. */
static const char matrix[] = "\"matrix\": {\"arrivals.rate_per_s\": [100, 300], \"policy.name\":"
                             " [\"fifo\", \"edf\"]}, \"seeds\": 2";

struct scene {
    char folder[64], sweep[96], alone[96], out[96], journal[104];
    struct campaign_options options;
    struct table_bytes expected;
    double seconds; /* the sweep left alone */
    gsl_rng *random;
    size_t kills, parents, workers, during_runs;
};

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
    DIR *listing = opendir(folder);
    assert_non_null(listing);
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
    (void)snprintf(scene->journal, sizeof scene->journal, "%s.journal", scene->out);
    sweep_write(scene->sweep, matrix);
    scene->options = (struct campaign_options){
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

/* Half of the moments by the clock, half by how far the journal has grown: whatever the machine's
 * speed, kills fall into every part of the sweep. */
static void wait_for_moment(struct scene *scene, pid_t pid)
{
    if (gsl_rng_uniform(scene->random) < 0.5) {
        nap(gsl_rng_uniform(scene->random) * 1.2 * scene->seconds);
        return;
    }
    off_t wanted = (off_t)gsl_rng_uniform_int(scene->random, 60000);
    struct stat status;
    siginfo_t info = {0};
    /* Until it is that long, or the sweep has ended by itself. */
    while ((stat(scene->journal, &status) != 0 || status.st_size < wanted) &&
           waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
        nap(2e-5);
}

/* One of its children, as the kernel lists them; 0: none at this moment. */
static pid_t worker_of(pid_t pid, size_t choice)
{
    char path[64];
    char list[512] = "";
    long children[64];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)pid, (long)pid);
    FILE *file = fopen(path, "r");
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

/* What the journal holds: checks that it is what was there before, and more. */
struct record_bytes {
    struct blob runs[RUNS];
    size_t count;
};

static void records_forget(struct record_bytes *records)
{
    for (size_t run = 0; run < RUNS; run++)
        blob_clear(&records->runs[run]);
    records->count = 0;
}

static void records_check(const struct scene *scene, struct record_bytes *records,
                          const char identity[JOURNAL_IDENTITY + 1])
{
    struct error error = {0};
    struct journal *journal = journal_open(scene->journal, identity, RUNS, JOURNAL_RESUME, &error);
    assert_non_null(journal);
    for (size_t run = 0; run < RUNS; run++) {
        struct blob now = {0};
        if (!journal_has(journal, run)) {
            assert_int_equal(records->runs[run].size, 0); /* not lost */
            continue;
        }
        assert_true(journal_read(journal, run, &now, &error));
        if (records->runs[run].size > 0) {
            /* Not done again: its wall-clock time, among others, would be another. */
            assert_int_equal(now.size, records->runs[run].size);
            assert_memory_equal(now.bytes, records->runs[run].bytes, now.size);
        } else {
            records->count++;
        }
        blob_clear(&records->runs[run]);
        records->runs[run] = now;
    }
    assert_true(journal_close(journal, false, &error));
}

/* The identity that the sweep gave its journal, if it came so far. */
static bool identity_read(const struct scene *scene, char identity[JOURNAL_IDENTITY + 1])
{
    FILE *file = fopen(scene->journal, "r");
    if (file == NULL)
        return false;
    bool there = fseek(file, 16, SEEK_SET) == 0 &&
                 fread(identity, 1, JOURNAL_IDENTITY, file) == JOURNAL_IDENTITY;
    (void)fclose(file);
    return there;
}

/* Start or go on, and kill the parent or a worker at some moment. True: it had come to its end. */
static bool sweep_disturb(struct scene *scene)
{
    bool parent = gsl_rng_uniform(scene->random) < 0.4;
    size_t choice = gsl_rng_get(scene->random);
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

static void after_200_kills_nothing_is_lost_or_done_again_and_the_tables_are_the_same(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    while (scene.kills < KILLS) {
        struct record_bytes records = {.count = 0};
        char identity[JOURNAL_IDENTITY + 1] = "";
        (void)unlink(scene.out);
        (void)unlink(scene.journal);
        /* One kill, or two, or three in a row, before it is left to end. */
        size_t row = 1 + gsl_rng_uniform_int(scene.random, 3);
        bool ended = false;
        for (size_t i = 0; i < row && !ended; i++) {
            ended = sweep_disturb(&scene);
            if (!ended && identity_read(&scene, identity))
                records_check(&scene, &records, identity);
        }
        scene.during_runs += records.count > 0 && records.count < RUNS;
        records_forget(&records);
        assert_int_equal(sweep_run(scene.sweep, &scene.options, NULL), 0);
        assert_tables(scene.out, &scene.expected);
        assert_int_equal(files_count(scene.folder), 3); /* the sweep and two results files */
    }
    print_message("%zu kills: %zu of the parent, %zu of a worker; %zu sweeps had some of their "
                  "runs finished\n",
                  scene.kills, scene.parents, scene.workers, scene.during_runs);
    assert_true(scene.parents > 40 && scene.workers > 20 && scene.during_runs > 10);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_200_kills_nothing_is_lost_or_done_again_and_the_tables_are_the_same),
    };
    return cmocka_run_group_tests_name("kill", tests, NULL, NULL);
}
