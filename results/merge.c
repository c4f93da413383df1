/* Shards of a sweep joined into one file: groups of runs are copied by HDF5 as they are, the rows
 * of the two tables are written again in the order of the sweep. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "results/store_hdf5.h"

enum { ROOM_SPARE = 1 << 16 }; /* bytes: the tables of the joined file may be cut otherwise */

/* A run of one of the shards. */
struct piece {
    uint64_t position; /* in the sweep */
    size_t shard;      /* file it comes from */
    size_t run;        /* row of that file's summary */
};

/* A shard while it is copied. */
struct source {
    hid_t file;
    size_t next_row; /* of its table of applications */
};

struct joining {
    const char *const *paths;
    struct results **shards;
    size_t count;
    struct piece *pieces;
    size_t piece_count;
};

static bool shards_load(struct joining *joining, struct error *error)
{
    joining->shards = calloc(joining->count + 1, sizeof(struct results *));
    if (joining->shards == NULL) {
        (void)error_run(error, "out of memory for %zu shards", joining->count);
        return false;
    }
    for (size_t i = 0; i < joining->count; i++) {
        joining->shards[i] = results_load(joining->paths[i], error);
        if (joining->shards[i] == NULL)
            return false;
        const struct sweep_facts *facts = &joining->shards[i]->sweep;
        if (facts->shards == 0 || facts->shard < 1 || facts->shard > facts->shards) {
            (void)error_input(error,
                              "%s: is not a shard of a sweep; give files that esgsim sweep "
                              "--shard I/N wrote",
                              joining->paths[i]);
            return false;
        }
    }
    return true;
}

static bool same_text(const char *one, const char *other)
{
    return strcmp(one == NULL ? "" : one, other == NULL ? "" : other) == 0;
}

/* Whether shard i belongs with the first and has all its runs. */
static bool shard_check(const struct joining *joining, size_t i, struct error *error)
{
    const char *path = joining->paths[i];
    const struct results *first = joining->shards[0];
    const struct results *shard = joining->shards[i];
    if (!same_text(shard->sweep.identity, first->sweep.identity))
        return error_input(error,
                           "%s: is a shard of another sweep than %s, or of another version of "
                           "esgsim; take one out",
                           path, joining->paths[0]);
    if (shard->sweep.shards != first->sweep.shards)
        return error_input(error,
                           "%s: is shard %" PRIu64 "/%" PRIu64 " but %s is one of %" PRIu64
                           "; shards overlap unless the sweep was cut alike",
                           path, shard->sweep.shard, shard->sweep.shards, joining->paths[0],
                           first->sweep.shards);
    for (size_t j = 0; j < i; j++)
        if (joining->shards[j]->sweep.shard == shard->sweep.shard)
            return error_input(error,
                               "%s: is shard %" PRIu64 "/%" PRIu64 " as %s is; give each shard "
                               "once",
                               path, shard->sweep.shard, shard->sweep.shards, joining->paths[j]);
    if (shard->sweep.missing > 0)
        return error_input(error,
                           "%s: %" PRIu64 " runs of shard %" PRIu64 "/%" PRIu64
                           " are missing; run it again with --resume",
                           path, shard->sweep.missing, shard->sweep.shard, shard->sweep.shards);
    return true;
}

/* Each is there once, so where there are fewer than there should be, the first gap is named. */
static bool shards_check(const struct joining *joining, struct error *error)
{
    for (size_t i = 0; i < joining->count; i++)
        if (!shard_check(joining, i, error))
            return false;
    const uint64_t shards = joining->shards[0]->sweep.shards;
    for (uint64_t wanted = 1; wanted <= shards && joining->count < shards; wanted++) {
        bool there = false;
        for (size_t i = 0; i < joining->count; i++)
            there = there || joining->shards[i]->sweep.shard == wanted;
        if (!there)
            return error_input(error,
                               "%s: shard %" PRIu64 "/%" PRIu64
                               " of its sweep is missing; give all of them",
                               joining->paths[0], wanted, shards);
    }
    return true;
}

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *left = a;
    const struct piece *right = b;
    return (left->position > right->position) - (left->position < right->position);
}

static bool positions_read(struct joining *joining, size_t shard, struct error *error)
{
    const char *path = joining->paths[shard];
    const struct results *results = joining->shards[shard];
    hid_t file = store_open_read(path, error);
    if (file < 0)
        return false;
    bool good = true;
    for (size_t run = 0; good && run < results->run_count; run++) {
        char name[sizeof "runs/" + TEXT_HASH];
        (void)snprintf(name, sizeof name, "runs/%s", results->runs[run].hash);
        hid_t group =
            H5Lexists(file, name, H5P_DEFAULT) > 0 ? H5Gopen2(file, name, H5P_DEFAULT) : -1;
        struct piece *piece = &joining->pieces[joining->piece_count++];
        *piece = (struct piece){.shard = shard, .run = run};
        good = group >= 0 && hdf5_get_u64(group, "position", &piece->position);
        if (!good)
            (void)error_input(error, "%s: /%s is damaged; run the shard again", path, name);
        if (group >= 0)
            (void)H5Gclose(group);
    }
    (void)H5Fclose(file);
    return good;
}

static bool pieces_read(struct joining *joining, struct error *error)
{
    size_t total = 0;
    for (size_t i = 0; i < joining->count; i++)
        total += joining->shards[i]->run_count;
    joining->pieces = calloc(total + 1, sizeof *joining->pieces);
    if (joining->pieces == NULL)
        return error_run(error, "out of memory for %zu runs", total);
    for (size_t i = 0; i < joining->count; i++)
        if (!positions_read(joining, i, error))
            return false;
    qsort(joining->pieces, joining->piece_count, sizeof *joining->pieces, compare_pieces);
    for (size_t i = 1; i < joining->piece_count; i++) {
        const struct piece *piece = &joining->pieces[i];
        if (piece->position == piece[-1].position)
            return error_input(error,
                               "%s: run %" PRIu64 " of the sweep is in %s too; give each "
                               "run once",
                               joining->paths[piece->shard], piece->position,
                               joining->paths[piece[-1].shard]);
    }
    return true;
}

/* Rows of one run lie together, in the order of the runs; the search begins where the last ended.
 */
static bool rows_copy(struct store *store, const struct results *results, size_t run, size_t *next)
{
    const char *hash = results->runs[run].hash;
    const size_t count = results->application_count;
    size_t passed = 0;
    if (!table_append(&store->summary, &results->runs[run]))
        return false;
    while (passed < count &&
           strcmp(results->applications[(*next + passed) % count].hash, hash) != 0)
        passed++;
    size_t row = count == 0 ? 0 : *next + passed;
    row -= row >= count ? count : 0;
    for (; row < count && strcmp(results->applications[row].hash, hash) == 0; row++)
        if (!table_append(&store->applications, &results->applications[row]))
            return false;
    *next = row < count ? row : 0;
    return true;
}

static bool piece_copy(struct store *store, const struct results *results, size_t run,
                       struct source *source, struct error *error)
{
    char name[sizeof "runs/" + TEXT_HASH];
    const char *hash = results->runs[run].hash;
    (void)snprintf(name, sizeof name, "runs/%s", hash);
    if (H5Ocopy(source->file, name, store->runs, hash, H5P_DEFAULT, H5P_DEFAULT) < 0)
        return store_fault(store, error, name);
    if (!rows_copy(store, results, run, &source->next_row))
        return store_fault(store, error, "a run's figures");
    store->run_count++;
    return true;
}

static bool pieces_copy(const struct joining *joining, struct store *store, struct error *error)
{
    struct source *sources = calloc(joining->count + 1, sizeof *sources);
    if (sources == NULL)
        return error_run(error, "out of memory for %zu shards", joining->count);
    bool good = true;
    size_t opened = 0;
    for (; good && opened < joining->count; opened += good ? 1 : 0) {
        sources[opened].file = store_open_read(joining->paths[opened], error);
        good = sources[opened].file >= 0;
    }
    for (size_t i = 0; good && i < joining->piece_count; i++) {
        const struct piece *piece = &joining->pieces[i];
        good = piece_copy(store, joining->shards[piece->shard], piece->run, &sources[piece->shard],
                          error);
    }
    for (size_t i = 0; i < opened; i++)
        (void)H5Fclose(sources[i].file);
    free(sources);
    return good;
}

/* Zero, or `errno`: reserves room for `size` bytes in the file, whose size stays. */
static int file_reserve(int file, off_t size)
{
    struct stat status;
    struct statvfs disk;
    if (fstat(file, &status) != 0 || fstatvfs(file, &disk) != 0)
        return errno;
    /* Once with the size, so that limits and quotas are asked, too. */
    if (fallocate(file, 0, 0, size) == 0)
        return ftruncate(file, status.st_size) == 0 &&
                       fallocate(file, FALLOC_FL_KEEP_SIZE, 0, size) == 0
                   ? 0
                   : errno;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    return (double)disk.f_bavail * (double)disk.f_frsize < (double)size ? ENOSPC : 0;
}

/* H5Ocopy of HDF5 1.10 crashes where an attribute finds no room on the disk. So room for all shards
 * is reserved before the first is copied. store_finish gives back what is left over. */
static bool room_reserve(const struct joining *joining, const struct store *store,
                         struct error *error)
{
    off_t size = ROOM_SPARE;
    struct stat status;
    for (size_t i = 0; i < joining->count; i++)
        size += stat(joining->paths[i], &status) == 0 ? status.st_size : 0;
    const int file = open(store->out.beside, O_RDWR | O_CLOEXEC);
    const int reason = file < 0 ? errno : file_reserve(file, size);
    if (file >= 0)
        (void)close(file);
    return reason == 0 || error_run(error, "%s: no room for %.1f MB: %s", store->out.path,
                                    (double)size / 1e6, strerror(reason));
}

static bool joined_write(const struct joining *joining, struct store *store, struct error *error)
{
    struct sweep_facts facts = joining->shards[0]->sweep;
    facts.shard = facts.shards = 1;
    return room_reserve(joining, store, error) && pieces_copy(joining, store, error) &&
           store_set_sweep(store, &facts, error);
}

bool store_merge(const char *path, const char *const *shards, size_t count, struct error *error)
{
    struct joining joining = {.paths = shards, .count = count};
    if (count == 0) {
        (void)error_input(error, "%s: no shards to merge", path);
        return false;
    }
    struct store *store = store_create(path, error);
    bool good = store != NULL && shards_load(&joining, error) && shards_check(&joining, error) &&
                pieces_read(&joining, error) && joined_write(&joining, store, error);
    if (good)
        good = store_finish(store, error);
    else
        store_abandon(store);
    for (size_t i = 0; joining.shards != NULL && i < count; i++)
        results_free(joining.shards[i]);
    free(joining.shards);
    free(joining.pieces);
    return good;
}
