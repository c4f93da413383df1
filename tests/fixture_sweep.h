/* A small sweep in a folder of its own, run in a child process so that it can be killed, and its
 * tables as bytes. */
#ifndef ESGSIM_TESTS_FIXTURE_SWEEP_H
#define ESGSIM_TESTS_FIXTURE_SWEEP_H

#include <dirent.h>
#include <fcntl.h>
#include <hdf5.h>
#include <sys/wait.h>

#include "sim/run/sweep_runner.h"
#include "sim/run/guard.h"
#include "tests/suite.h"

static const char fixture_base[] =
    "{'cluster': {'invokers': [{'vcpus': 4, 'memory_mb': 4096}]}, 'functions': [{'name': 'f', "
    "'service': {'distribution': 'exponential',  'mean_ms': 10}}], 'applications': [{'name': "
    "'app', 'stages': [{'name': 's', 'function':  \"f\"}]}], 'arrivals': {'process': 'poisson', "
    "'rate_per_s': 100}, 'slo': {'ms': 30}, 'policy': {'name': 'fifo'}, 'requests': 60, "
    "'warmup_requests': 5, 'record': 'requests'}";

static inline void sweep_write(const char *path, const char *rest)
{
    STRING *text = NULL;
    assert_true(asprintf(&text, "{'base': %s, %s}", fixture_base, rest) > 0);
    write_text(path, json_requote(text));
}

/* Exit status of the child: 0 done, 1 or 2 by the kind of error; its messages go to `messages`, or
 * nowhere. */
static inline pid_t sweep_start(const char *sweep_path, const struct sweep_runner_options *options,
                                const char *messages)
{
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    int out = open(messages != NULL ? messages : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
        _exit(99);
    guard_install();
    struct sweep *sweep = sweep_load(sweep_path, NULL, 0, hear());
    bool good = sweep != NULL && sweep_runner_run(sweep, options, hear());
    if (!good)
        (void)fprintf(stderr, "%s\n", heard.message);
    (void)fflush(NULL);
    _exit(good ? 0 : heard.kind == ERROR_INPUT ? 2 : 1);
}

static inline int sweep_wait(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int sweep_run(const char *sweep_path, const struct sweep_runner_options *options,
                            const char *messages)
{
    return sweep_wait(sweep_start(sweep_path, options, messages));
}

/* Parts of finished runs in a folder, which need not be there. */
static inline size_t parts_count(const char *folder)
{
    size_t count = 0;
    DIR *listing = opendir(folder);
    for (const struct dirent *file; listing != NULL && (file = readdir(listing)) != NULL;) {
        const char *end = strrchr(file->d_name, '.');
        count += file->d_name[0] != '.' && strcmp(end == NULL ? "" : end, ".h5") == 0;
    }
    if (listing != NULL)
        (void)closedir(listing);
    return count;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

struct table_bytes {
    unsigned char *bytes;
    size_t size;
};

static inline void table_bytes_clear(struct table_bytes *all)
{
    free(all->bytes);
}

#define TABLES CLOSED(table_bytes_clear) struct table_bytes

static inline void table_bytes_add(struct table_bytes *all, const void *bytes, size_t size)
{
    unsigned char *grown = must(realloc(all->bytes, all->size + size + 1));
    memcpy(grown + all->size, bytes, size);
    all->bytes = grown;
    all->size += size;
}

static inline herr_t table_visit(hid_t file, const char *name, const H5L_info_t *info,
                                 void *context)
{
    struct table_bytes *all = context;
    (void)info;
    hid_t dataset = H5Oopen(file, name, H5P_DEFAULT);
    if (H5Iget_type(dataset) != H5I_DATASET)
        return H5Oclose(dataset);
    hid_t type = H5Dget_type(dataset);
    hid_t space = H5Dget_space(dataset);
    size_t size = (size_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(type);
    OWNED(free) unsigned char *bytes = must(malloc(size + 1));
    assert_true(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0);
    table_bytes_add(all, name, strlen(name) + 1);
    table_bytes_add(all, bytes, size);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Dclose(dataset);
    return 0;
}

/* Every table's name and stored bytes, by name. */
static inline struct table_bytes tables_read(const char *path)
{
    struct table_bytes all = {0};
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    assert_true(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, table_visit, &all) >= 0);
    (void)H5Fclose(file);
    return all;
}

static inline void assert_tables(const char *path, const struct table_bytes *expected)
{
    TABLES found = tables_read(path);
    assert_int_equal(found.size, expected->size);
    assert_memory_equal(found.bytes, expected->bytes, expected->size);
}

#endif
