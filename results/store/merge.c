/* Merges the shards of a sweep into one file, in the order of the sweep. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "results/store/store.h"
#include "sim/base/arena.h"

/* The location of a run, or of the row of one that failed. */
struct piece {
    uint64_t position; /* in the sweep */
    size_t shard;      /* index of its file */
    size_t row;        /* of that file's summary, or of its /missing */
    bool failed;
};

struct joining {
    struct arena *arena;
    const char *const *paths;
    struct run_source **shards;
    size_t count;
    struct piece *pieces;
    size_t piece_count;
};

static const struct results *shard_of(const struct joining *joining, size_t i)
{
    return run_source_results(joining->shards[i]);
}

static bool shards_load(struct joining *joining, struct error *error)
{
    joining->shards = arena_allocate(joining->arena, joining->count, sizeof(struct run_source *));
    for (size_t i = 0; i < joining->count; i++) {
        joining->shards[i] = run_source_open(joining->paths[i], error);
        if (joining->shards[i] == NULL)
            return false;
        const struct sweep_metadata *metadata = &shard_of(joining, i)->sweep;
        if (metadata->shards == 0 || metadata->shard < 1 || metadata->shard > metadata->shards)
            return error_input(error,
                               "%s: is not a shard of a sweep; give files that esgsim sweep "
                               "--shard I/N wrote",
                               joining->paths[i]);
    }
    return true;
}

/* Checks that shard i is of the same sweep as the first, not a duplicate, and has all its runs. */
static bool shard_check(const struct joining *joining, size_t i, struct error *error)
{
    const char *path = joining->paths[i];
    const struct sweep_metadata *first = &shard_of(joining, 0)->sweep;
    const struct sweep_metadata *shard = &shard_of(joining, i)->sweep;
    const char *const sources = shard_of(joining, i)->sources;
    const char *const first_sources = shard_of(joining, 0)->sources;
    if (strcmp(shard->identity, first->identity) != 0)
        return error_input(error,
                           "%s: is a shard of another sweep than %s, or of another program, or "
                           "records other things (programs of sources %s and %s); take one out",
                           path, joining->paths[0], sources == NULL ? "unknown" : sources,
                           first_sources == NULL ? "unknown" : first_sources);
    if (shard->shards != first->shards)
        return error_input(error,
                           "%s: is shard %" PRIu64 "/%" PRIu64 " but %s is one of %" PRIu64
                           "; shards overlap unless the sweep was cut alike",
                           path, shard->shard, shard->shards, joining->paths[0], first->shards);
    for (size_t j = 0; j < i; j++)
        if (shard_of(joining, j)->sweep.shard == shard->shard)
            return error_input(error,
                               "%s: is shard %" PRIu64 "/%" PRIu64 " as %s is; give each shard "
                               "once",
                               path, shard->shard, shard->shards, joining->paths[j]);
    uint64_t unfinished = shard->missing; /* less those that failed */
    for (size_t row = 0; row < shard_of(joining, i)->missing_count; row++)
        unfinished -= strcmp(shard_of(joining, i)->missing[row].status, MISSING_FAILED) == 0;
    if (unfinished > 0)
        return error_input(error,
                           "%s: %" PRIu64 " runs of shard %" PRIu64 "/%" PRIu64
                           " were not run; run it again with --resume",
                           path, unfinished, shard->shard, shard->shards);
    return true;
}

/* Checks each shard, then that none is missing. */
static bool shards_check(const struct joining *joining, struct error *error)
{
    for (size_t i = 0; i < joining->count; i++)
        if (!shard_check(joining, i, error))
            return false;
    const uint64_t shards = shard_of(joining, 0)->sweep.shards;
    for (uint64_t wanted = 1; wanted <= shards && joining->count < shards; wanted++) {
        bool there = false;
        for (size_t i = 0; i < joining->count; i++)
            there = there || shard_of(joining, i)->sweep.shard == wanted;
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

static bool pieces_read(struct joining *joining, struct error *error)
{
    size_t total = 0;
    for (size_t i = 0; i < joining->count; i++)
        total += shard_of(joining, i)->run_count + shard_of(joining, i)->missing_count;
    joining->pieces = arena_allocate(joining->arena, total, sizeof *joining->pieces);
    for (size_t i = 0; i < joining->count; i++) {
        const struct results *shard = shard_of(joining, i);
        for (size_t row = 0; row < shard->run_count; row++)
            joining->pieces[joining->piece_count++] =
                (struct piece){run_source_position(joining->shards[i], row), i, row, false};
        for (size_t row = 0; row < shard->missing_count; row++)
            joining->pieces[joining->piece_count++] =
                (struct piece){shard->missing[row].position, i, row, true};
    }
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

static bool joined_write(const struct joining *joining, struct store *store, struct error *error)
{
    const struct results *first = shard_of(joining, 0);
    struct sweep_metadata metadata = first->sweep;
    metadata.shard = metadata.shards = 1;
    metadata.missing = 0;
    bool good = store_set_swept(store, first->swept, error) &&
                store_set_text(store, "sweep_command", first->command, error) &&
                store_set_text(store, "show", first->show, error);
    for (size_t i = 0; good && i < joining->count; i++)
        good = store_reserve(store, joining->paths[i], error);
    for (size_t i = 0; good && i < joining->piece_count; i++) {
        const struct piece *piece = &joining->pieces[i];
        struct run_source *shard = joining->shards[piece->shard];
        metadata.missing += piece->failed;
        good = piece->failed ? store_append_missing(
                                   store, &run_source_results(shard)->missing[piece->row], error)
                             : store_copy_run(store, shard, piece->row, NULL, error);
    }
    return good && store_set_sweep(store, &metadata, error);
}

bool store_merge(const char *path, const char *const *shards, size_t count, struct error *error)
{
    if (count == 0)
        return error_input(error, "%s: no shards to merge", path);
    struct joining joining = {.arena = arena_create(), .paths = shards, .count = count};
    struct store *store = store_create(path, error);
    bool good = store != NULL && shards_load(&joining, error) && shards_check(&joining, error) &&
                pieces_read(&joining, error) && joined_write(&joining, store, error);
    if (good)
        good = store_finish(store, error);
    else
        store_abandon(store);
    for (size_t i = 0; joining.shards != NULL && i < count; i++)
        run_source_close(joining.shards[i]);
    arena_destroy(joining.arena);
    return good;
}
