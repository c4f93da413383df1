/* Files that are whole or as they were, and names that stand for one file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/atomic_file.h"

enum { PATH_SIZE = 128, TEXT_SIZE = 64 };

static char folder[PATH_SIZE / 2];

static int folder_make(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/esgsim-whole-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int folder_remove(void **state)
{
    (void)state;
    return rmdir(folder);
}

static const char *place(char *path, const char *name)
{
    (void)snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_text(const char *path, const char *wanted)
{
    char text[TEXT_SIZE] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(text, wanted);
}

static void a_finished_file_takes_its_name_and_nothing_is_left_beside(void **state)
{
    (void)state;
    char path[PATH_SIZE], beside[PATH_SIZE];
    struct atomic_file file;
    struct error error = {0};
    write_text(place(path, "a b"), "old");
    assert_true(atomic_file_open(&file, path, &error));
    (void)fputs("new", file.stream);
    assert_text(path, "old");
    assert_true(atomic_file_end(&file, true, &error));
    assert_text(path, "new");
    assert_int_not_equal(access(place(beside, "a b.partial"), F_OK), 0);
    assert_int_equal(unlink(path), 0);
}

static void a_file_given_up_leaves_the_one_before_and_the_first_error(void **state)
{
    (void)state;
    char path[PATH_SIZE], beside[PATH_SIZE];
    struct atomic_file file;
    struct error error = {0};
    write_text(place(path, "kept"), "old");
    assert_true(atomic_file_open(&file, path, &error));
    (void)fputs("half", file.stream);
    assert_false(atomic_file_end(&file, error_input(&error, "the reason"), &error));
    assert_string_equal(error.message, "the reason");
    assert_text(path, "old");
    assert_true(atomic_file_check(path, &error));
    assert_text(path, "old");
    assert_int_not_equal(access(place(beside, "kept.partial"), F_OK), 0);
    assert_int_equal(unlink(path), 0);
}

static void assert_link(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

/* Through links from folder to folder, by names from the root and from where each link lies. */
static void what_a_link_names_is_whole_or_as_it_was_and_the_link_stays(void **state)
{
    (void)state;
    char path[PATH_SIZE], between[PATH_SIZE], target[PATH_SIZE], beside[PATH_SIZE],
        below[PATH_SIZE];
    struct atomic_file file;
    struct error error = {0};
    assert_int_equal(mkdir(place(below, "below"), 0777), 0);
    write_text(place(target, "target"), "old");
    assert_int_equal(symlink("../target", place(between, "below/between")), 0);
    assert_int_equal(symlink(between, place(path, "link")), 0);
    for (int good = 0; good <= 1; good++) {
        assert_true(atomic_file_open(&file, path, &error));
        (void)fputs("new", file.stream);
        assert_text(target, "old");
        assert_int_equal(atomic_file_end(&file, good != 0, &error), good);
        assert_text(target, good != 0 ? "new" : "old");
        assert_int_not_equal(access(place(beside, "target.partial"), F_OK), 0);
        assert_link(path);
        assert_link(between);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(between), 0);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(rmdir(below), 0);
}

static void a_dangling_link_has_its_target_made(void **state)
{
    (void)state;
    char path[PATH_SIZE], target[PATH_SIZE];
    struct atomic_file file;
    struct error error = {0};
    assert_int_equal(symlink("to-be-made", place(path, "dangling")), 0);
    (void)place(target, "to-be-made");
    assert_true(atomic_file_same(path, target));
    assert_true(atomic_file_check(path, &error));
    assert_int_not_equal(access(target, F_OK), 0);
    assert_true(atomic_file_open(&file, path, &error));
    (void)fputs("made", file.stream);
    assert_true(atomic_file_end(&file, true, &error));
    assert_link(path);
    assert_text(target, "made");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(target), 0);
}

static void links_in_a_circle_are_refused(void **state)
{
    (void)state;
    char one[PATH_SIZE], other[PATH_SIZE];
    struct atomic_file file;
    struct error error = {0};
    assert_int_equal(symlink("circle", place(one, "round")), 0);
    assert_int_equal(symlink("round", place(other, "circle")), 0);
    assert_false(atomic_file_open(&file, one, &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_non_null(strstr(error.message, "round: is a link that cannot be followed: Too many"));
    assert_false(atomic_file_same(one, other));
    assert_int_equal(unlink(one), 0);
    assert_int_equal(unlink(other), 0);
}

/* The shell has opened that file; another of its name would not be what it opened. */
static void what_a_process_has_open_is_written_to_as_it_is(void **state)
{
    (void)state;
    char path[PATH_SIZE], opened[PATH_SIZE];
    struct atomic_file file;
    struct error error = {0};
    struct stat before, after;
    write_text(place(path, "opened"), "old");
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    assert_int_equal(fstat(fileno(stream), &before), 0);
    (void)snprintf(opened, sizeof opened, "/proc/self/fd/%d", fileno(stream));
    assert_true(atomic_file_open(&file, opened, &error));
    (void)fputs("new", file.stream);
    assert_true(atomic_file_end(&file, true, &error));
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino == after.st_ino);
    assert_text(path, "new");
    (void)fclose(stream);
    assert_int_equal(unlink(path), 0);
}

static void a_full_disk_is_told_and_the_device_stays(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    struct atomic_file file;
    struct error error = {0};
    struct stat status;
    assert_int_equal(symlink("/dev/full", place(path, "full")), 0);
    assert_true(atomic_file_open(&file, path, &error));
    (void)fputs("more than there is room for", file.stream);
    assert_false(atomic_file_end(&file, true, &error));
    assert_int_equal(error.kind, ERROR_RUN);
    assert_non_null(strstr(error.message, "full: cannot be written: No space left on device"));
    assert_int_equal(stat(path, &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_int_equal(unlink(path), 0);
}

static void names_that_cannot_be_written_are_refused(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    struct atomic_file file;
    struct error error = {0};
    assert_false(atomic_file_open(&file, folder, &error));
    assert_non_null(strstr(error.message, "is a folder"));
    assert_false(atomic_file_open(&file, "", &error));
    assert_non_null(strstr(error.message, "is empty"));
    assert_false(atomic_file_check(place(path, "none/x"), &error));
    assert_int_equal(error.kind, ERROR_INPUT);
    assert_non_null(strstr(error.message, "none/x: cannot be created: No such file"));
}

static void two_names_of_one_file_are_known_for_one(void **state)
{
    (void)state;
    char path[PATH_SIZE], again[PATH_SIZE], hard[PATH_SIZE];
    (void)place(path, "one");
    (void)place(again, "../");
    (void)snprintf(again, sizeof again, "%s/.././%s/one", folder, strrchr(folder, '/') + 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_file_takes_its_name_and_nothing_is_left_beside),
        cmocka_unit_test(a_file_given_up_leaves_the_one_before_and_the_first_error),
        cmocka_unit_test(what_a_link_names_is_whole_or_as_it_was_and_the_link_stays),
        cmocka_unit_test(a_dangling_link_has_its_target_made),
        cmocka_unit_test(links_in_a_circle_are_refused),
        cmocka_unit_test(what_a_process_has_open_is_written_to_as_it_is),
        cmocka_unit_test(a_full_disk_is_told_and_the_device_stays),
        cmocka_unit_test(names_that_cannot_be_written_are_refused),
        cmocka_unit_test(two_names_of_one_file_are_known_for_one),
    };
    return cmocka_run_group_tests_name("atomic_file", tests, folder_make, folder_remove);
}
