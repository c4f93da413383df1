/* Files that are whole or as they were, and names that stand for one file. */
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sim/base/atomic_file.h"
#include "sim/base/unfinished.h"
#include "tests/suite.h"

enum { PATH_SIZE = 128, TEXT_SIZE = 64 };

static char folder[PATH_SIZE / 2];

static int folder_make(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/esgsim-whole-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int folder_remove(void **state)
{
    return rmdir(folder);
}

/* Whether a file of that name could be written now; leaves none behind. */
static bool can_begin(const char *path, struct error *error)
{
    struct atomic_file file;
    if (!atomic_file_begin(&file, path, error))
        return false;
    (void)atomic_file_end(&file, false, NULL);
    return true;
}

static const char *place(char *path, const char *name)
{
    snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    return path;
}

static void assert_text(const char *path, const char *wanted)
{
    STRING *text = file_text(path);
    assert_string_equal(text, wanted);
}

/* Files in the folder, hidden ones too. */
static int files_count(void)
{
    int count = -2; /* . and .. */
    DIR *listing = must(opendir(folder));
    while (readdir(listing) != NULL)
        count++;
    closedir(listing);
    return count;
}

/* Runs `body` in a process of its own; its exit status, or minus the signal that ended it. */
static int in_child(int (*body)(const char *path), const char *path)
{
    int status = 0;
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(body(path));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

CASE(a_finished_file_takes_its_name_and_nothing_is_left_beside)
{
    char path[PATH_SIZE];
    struct atomic_file file;
    write_text(place(path, "a b"), "old");
    assert_true(atomic_file_open(&file, path, hear()));
    fputs("new", file.stream);
    assert_text(path, "old");
    assert_true(atomic_file_end(&file, true, hear()));
    assert_text(path, "new");
    assert_int_equal(files_count(), 1);
    assert_int_equal(unlink(path), 0);
}

CASE(a_file_given_up_leaves_the_one_before_and_the_first_error)
{
    char path[PATH_SIZE];
    struct atomic_file file;
    write_text(place(path, "kept"), "old");
    assert_true(atomic_file_open(&file, path, hear()));
    fputs("half", file.stream);
    assert_false(atomic_file_end(&file, error_input(hear(), "the reason"), hear()));
    assert_string_equal(heard.message, "the reason");
    assert_text(path, "old");
    assert_true(can_begin(path, hear()));
    assert_text(path, "old");
    assert_int_equal(files_count(), 1);
    assert_int_equal(unlink(path), 0);
}

static void assert_link(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

/* Through links from folder to folder, by names from the root and from where each link lies. */
CASE(what_a_link_names_is_whole_or_as_it_was_and_the_link_stays)
{
    char path[PATH_SIZE], between[PATH_SIZE], target[PATH_SIZE], below[PATH_SIZE];
    struct atomic_file file;
    assert_int_equal(mkdir(place(below, "below"), 0777), 0);
    write_text(place(target, "target"), "old");
    assert_int_equal(symlink("../target", place(between, "below/between")), 0);
    assert_int_equal(symlink(between, place(path, "link")), 0);
    for (int good = 0; good <= 1; good++) {
        assert_true(atomic_file_open(&file, path, hear()));
        fputs("new", file.stream);
        assert_text(target, "old");
        assert_int_equal(atomic_file_end(&file, good != 0, hear()), good);
        assert_text(target, good != 0 ? "new" : "old");
        assert_int_equal(files_count(), 3);
        assert_link(path);
        assert_link(between);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(between), 0);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(rmdir(below), 0);
}

CASE(a_dangling_link_has_its_target_made)
{
    char path[PATH_SIZE], target[PATH_SIZE];
    struct atomic_file file;
    assert_int_equal(symlink("to-be-made", place(path, "dangling")), 0);
    (void)place(target, "to-be-made");
    assert_true(atomic_file_same(path, target));
    assert_true(can_begin(path, hear()));
    assert_int_not_equal(access(target, F_OK), 0);
    assert_true(atomic_file_open(&file, path, hear()));
    fputs("made", file.stream);
    assert_true(atomic_file_end(&file, true, hear()));
    assert_link(path);
    assert_text(target, "made");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(target), 0);
}

CASE(links_in_a_circle_are_refused)
{
    char one[PATH_SIZE], other[PATH_SIZE];
    struct atomic_file file;
    assert_int_equal(symlink("circle", place(one, "round")), 0);
    assert_int_equal(symlink("round", place(other, "circle")), 0);
    assert_bad_input(atomic_file_open(&file, one, hear()),
                     "round: is a link that cannot be followed: Too many");
    assert_false(atomic_file_same(one, other));
    assert_int_equal(unlink(one), 0);
    assert_int_equal(unlink(other), 0);
}

/* The shell has opened that file; another of its name would not be what it opened. */
CASE(what_a_process_has_open_is_written_to_as_it_is)
{
    char path[PATH_SIZE], opened[PATH_SIZE];
    struct atomic_file file;
    struct stat before, after;
    write_text(place(path, "opened"), "old");
    FILE *stream = must(fopen(path, "r"));
    assert_int_equal(fstat(fileno(stream), &before), 0);
    snprintf(opened, sizeof opened, "/proc/self/fd/%d", fileno(stream));
    assert_true(atomic_file_open(&file, opened, hear()));
    fputs("new", file.stream);
    assert_true(atomic_file_end(&file, true, hear()));
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino == after.st_ino);
    assert_text(path, "new");
    fclose(stream);
    assert_int_equal(unlink(path), 0);
}

CASE(a_full_disk_is_told_and_the_device_stays)
{
    char path[PATH_SIZE];
    struct atomic_file file;
    struct stat status;
    assert_int_equal(symlink("/dev/full", place(path, "full")), 0);
    assert_true(atomic_file_open(&file, path, hear()));
    fputs("more than there is room for", file.stream);
    assert_bad_run(atomic_file_end(&file, true, hear()),
                   "full: cannot be written: No space left on device");
    assert_int_equal(stat(path, &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_int_equal(unlink(path), 0);
}

CASE(names_that_cannot_be_written_are_refused)
{
    char path[PATH_SIZE];
    struct atomic_file file;
    assert_bad_input(atomic_file_open(&file, folder, hear()), "is a folder");
    assert_bad_input(atomic_file_open(&file, "", hear()), "is empty");
    assert_bad_input(can_begin(place(path, "none/x"), hear()),
                     "none/x: cannot be created: No such file");
}

CASE(two_names_of_one_file_are_known_for_one)
{
    char path[PATH_SIZE], again[PATH_SIZE], hard[PATH_SIZE];
    (void)place(path, "one");
    (void)place(again, "../");
    snprintf(again, sizeof again, "%s/.././%s/one", folder, strrchr(folder, '/') + 1);
    assert_true(atomic_file_same(path, again));
    assert_true(atomic_file_same("not-there", "./not-there"));
    assert_false(atomic_file_same(path, place(hard, "two")));
    assert_false(atomic_file_same("no/folder/x", "no/folder/x"));
    write_text(path, "1");
    assert_true(atomic_file_same(path, again));
    assert_false(atomic_file_same(path, hard));
    assert_int_equal(link(path, hard), 0);
    assert_true(atomic_file_same(path, hard));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(hard), 0);
    assert_false(atomic_file_same("/dev/null", "/dev/null"));
}

/* ---- Two writers, and those that a signal ends ----------------------------------------------- */

/* 0: refused as it should be. */
static int is_refused(const char *path)
{
    struct atomic_file file;
    char *wanted = formatted(": process %ld is writing there", (long)getppid());
    return atomic_file_begin(&file, path, hear())            ? 1
           : heard.kind != ERROR_RUN                         ? 2
           : strstr(heard.message, wanted) == NULL           ? 3
           : strncmp(heard.message, path, strlen(path)) != 0 ? 4
                                                             : 0;
}

static int is_taken(const char *path)
{
    return can_begin(path, NULL) ? 0 : 1;
}

CASE(a_second_writer_is_refused_at_once_with_the_holders_process)
{
    char path[PATH_SIZE], link[PATH_SIZE];
    struct atomic_file file, again;
    assert_int_equal(symlink("locked", place(link, "other-name")), 0);
    assert_true(atomic_file_begin(&file, place(path, "locked"), hear()));
    assert_int_equal(in_child(is_refused, path), 0);
    assert_int_equal(in_child(is_refused, link), 0);
    assert_false(atomic_file_begin(&again, path, hear()));
    assert_int_equal(in_child(is_refused, path), 0);
    assert_true(atomic_file_end(&file, true, hear()));
    assert_int_equal(in_child(is_taken, path), 0);
    assert_int_equal(files_count(), 2);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(link), 0);
}

static int folder_is_refused(const char *path)
{
    struct atomic_file file;
    return !atomic_file_hold_folder(&file, path, hear()) && heard.kind == ERROR_RUN ? 0 : 1;
}

CASE(a_folder_that_is_held_is_refused_and_files_in_it_can_be_written)
{
    char path[PATH_SIZE];
    struct atomic_file file, within;
    assert_true(atomic_file_hold_folder(&file, folder, hear()));
    assert_int_equal(in_child(folder_is_refused, folder), 0);
    assert_true(atomic_file_open(&within, place(path, "folder"), hear()));
    assert_true(atomic_file_end(&within, true, hear()));
    assert_int_equal(unlink(path), 0);
    assert_true(atomic_file_end(&file, true, hear()));
    assert_int_equal(files_count(), 0);
}

static int killed(const char *path)
{
    struct atomic_file file;
    if (!atomic_file_open(&file, path, NULL) || fputs("half", file.stream) < 0)
        return 1;
    fflush(file.stream);
    return kill(getpid(), SIGKILL);
}

CASE(what_a_killed_process_left_goes_with_the_next_writer)
{
    char path[PATH_SIZE], like[PATH_SIZE], other[PATH_SIZE];
    write_text(place(path, "out"), "old");
    write_text(place(like, "out.partial-1-x"), "a user's");
    write_text(place(other, "longer-out.partial-1-1"), "of another file");
    assert_int_equal(in_child(killed, path), -SIGKILL);
    assert_int_equal(in_child(killed, path), -SIGKILL);
    assert_text(path, "old");
    assert_int_equal(files_count(), 5); /* with a lock and the second one's temporary file */
    assert_true(can_begin(path, hear()));
    assert_int_equal(files_count(), 3);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(like), 0);
    assert_int_equal(unlink(other), 0);
}

CASE(what_is_no_lock_is_not_taken_for_one)
{
    char path[PATH_SIZE], lock[PATH_SIZE];
    write_text(place(lock, ".out.lock"), "a user's");
    assert_bad_input(can_begin(place(path, "out"), hear()), ".out.lock: is in the way");
    assert_text(lock, "a user's");
    assert_int_equal(unlink(lock), 0);
}

static void on_signal(int number)
{
    /* It is, as its header says. */
    unfinished_remove_all(); /* NOLINT(bugprone-signal-handler,cert-sig30-c) */
    _exit(7);
}

static int interrupted(const char *path)
{
    struct atomic_file file;
    char *temporary = temporary_folder_create("esgsim-whole", NULL);
    (void)signal(SIGTERM, on_signal);
    if (temporary == NULL || strncmp(temporary, folder, strlen(folder)) != 0 ||
        !atomic_file_open(&file, path, NULL))
        return 1;
    for (int i = 0; i < 200; i++)
        write_text(formatted("%s/a-figure-of-some-name-%d.csv", temporary, i), "1");
    return kill(getpid(), SIGTERM);
}

CASE(an_interrupted_process_leaves_nothing_and_the_older_file_stays)
{
    char path[PATH_SIZE];
    const char *given = getenv("TMPDIR");
    STRING *old = given == NULL ? NULL : strdup(given);
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    write_text(place(path, "out"), "old");
    assert_int_equal(in_child(interrupted, path), 7);
    assert_int_equal(files_count(), 1);
    assert_text(path, "old");
    char *temporary = must(temporary_folder_create("esgsim-whole", NULL));
    assert_int_equal(files_count(), 2);
    temporary_folder_remove(temporary);
    assert_int_equal(files_count(), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(old == NULL ? unsetenv("TMPDIR") : setenv("TMPDIR", old, 1), 0);
}

static struct atomic_file inherited;

static int ends_the_parents(const char *path)
{
    struct atomic_file file = inherited;
    (void)atomic_file_end(&file, true, NULL);
    unfinished_remove_all();
    return 0;
}

CASE(a_forked_child_removes_and_renames_nothing)
{
    char path[PATH_SIZE];
    write_text(place(path, "out"), "old");
    assert_true(atomic_file_open(&inherited, path, hear()));
    assert_int_equal(in_child(ends_the_parents, path), 0);
    assert_text(path, "old");
    assert_int_equal(files_count(), 3);
    assert_int_equal(in_child(is_refused, path), 0);
    fputs("new", inherited.stream);
    assert_true(atomic_file_end(&inherited, true, hear()));
    assert_text(path, "new");
    assert_int_equal(files_count(), 1);
    assert_int_equal(unlink(path), 0);
}

CASE(permissions_are_those_of_the_file_replaced_or_of_any_new_file)
{
    char path[PATH_SIZE];
    struct atomic_file file;
    struct stat status;
    const mode_t mask = umask(027);
    const mode_t modes[] = {0640, 0604, 0400};
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            assert_int_equal(chmod(path, modes[i]), 0);
        assert_true(atomic_file_open(&file, place(path, "out"), hear()));
        assert_true(atomic_file_end(&file, true, hear()));
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, modes[i]);
    }
    (void)umask(mask);
    assert_int_equal(unlink(path), 0);
}

CASE(what_was_not_begun_can_be_ended)
{
    struct atomic_file file = {0};
    assert_true(atomic_file_end(&file, true, hear()));
    assert_false(atomic_file_end(&file, false, hear()));
    assert_int_equal(heard.kind, ERROR_NONE);
}

SUITE_WITH("atomic_file", folder_make, folder_remove)
