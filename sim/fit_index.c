#include "sim/fit_index.h"

#include <stdlib.h>
#include <string.h>

#include "sim/lines.h"
#include "sim/units.h"

/* ---- Start and end -------------------------------------------------------------------------- */

/* Columns are rounded up, so that neither row nor column of a bucket takes a division. */
static size_t bucket_count(const struct fit_index *index)
{
    return ((size_t)index->units + 1) << index->column_bits;
}

bool fit_index_init(struct fit_index *index, struct fit_link *links, size_t stride, size_t step,
                    uint32_t invokers, uint32_t indices, uint32_t units, uint32_t vcpus)
{
    const uint32_t lanes_a_line = LINE / sizeof(uint64_t);
    *index = (struct fit_index){.units = units,
                                .vcpus = vcpus,
                                .indices = indices,
                                .lanes = (indices + lanes_a_line - 1) / lanes_a_line * lanes_a_line,
                                .mask_words = vcpus / 64 + 1,
                                .links = links,
                                .stride = stride,
                                .step = step};
    while (index->vcpus >> index->column_bits != 0)
        index->column_bits++;
    const size_t buckets = bucket_count(index);
    index->buckets = calloc(buckets, sizeof *index->buckets);
    index->counts = calloc(buckets * indices, sizeof *index->counts);
    index->mask =
        calloc((size_t)indices * ((size_t)units + 1) * index->mask_words, sizeof *index->mask);
    if (index->buckets == NULL || index->counts == NULL || index->mask == NULL)
        return false;
    for (size_t i = 0; i < invokers; i++)
        for (uint32_t which = 0; which < indices; which++)
            links[i * stride + which * step] = (struct fit_link){SIM_NONE, SIM_NONE};
    return true;
}

/* Of lanes, for so many positions. */
static size_t members_room(const struct fit_index *index, uint32_t capacity)
{
    return (size_t)capacity / 64 * index->lanes;
}

static size_t words_room(const struct fit_index *index, uint32_t capacity)
{
    return ((size_t)capacity / 64 + 63) / 64 * index->lanes;
}

static void bucket_clear(const struct fit_index *index, struct fit_bucket *bucket)
{
    free(bucket->invokers);
    lines_free(bucket->members, members_room(index, bucket->capacity), sizeof *bucket->members);
    lines_free(bucket->words, words_room(index, bucket->capacity), sizeof *bucket->words);
}

void fit_index_clear(struct fit_index *index)
{
    for (size_t b = 0; index->buckets != NULL && b < bucket_count(index); b++)
        bucket_clear(index, &index->buckets[b]);
    free(index->buckets);
    free(index->counts);
    free(index->mask);
    *index = (struct fit_index){0};
}

static inline struct fit_link *fit_index_link(const struct fit_index *index, uint32_t which,
                                              uint32_t invoker)
{
    return &index->links[invoker * index->stride + which * index->step];
}

/* ---- Room in a bucket ------------------------------------------------------------------------ */

/* The positions of word `word` that some index uses. */
static uint64_t bucket_live(const struct fit_index *index, const struct fit_bucket *bucket,
                            uint32_t word)
{
    const uint64_t *members = &bucket->members[(size_t)word * index->lanes];
    uint64_t live = 0;
    for (uint32_t which = 0; which < index->indices; which++)
        live |= members[which];
    return live;
}

/* Position `from` goes to `to`, which is not used, nor later than it. */
static void position_move(struct fit_index *index, struct fit_bucket *bucket, uint32_t from,
                          uint32_t to)
{
    const uint32_t invoker = bucket->invokers[from];
    uint64_t *source = &bucket->members[(size_t)(from / 64) * index->lanes];
    uint64_t *target = &bucket->members[(size_t)(to / 64) * index->lanes];
    bucket->invokers[to] = invoker;
    for (uint32_t which = 0; which < index->indices; which++) {
        if ((source[which] >> (from % 64) & 1) == 0)
            continue;
        source[which] &= ~(UINT64_C(1) << (from % 64));
        target[which] |= UINT64_C(1) << (to % 64);
        fit_index_link(index, which, invoker)->position = to;
    }
}

static void bucket_pack(struct fit_index *index, struct fit_bucket *bucket)
{
    uint32_t to = 0;
    for (uint32_t word = 0; word < bucket->capacity / 64; word++)
        for (uint64_t live = bucket_live(index, bucket, word); live != 0; live &= live - 1)
            position_move(index, bucket, word * 64 + (uint32_t)__builtin_ctzll(live), to++);
    bucket->used = to;
    memset(bucket->words, 0, words_room(index, bucket->capacity) * sizeof *bucket->words);
    for (uint32_t word = 0; word * 64 < to; word++)
        for (uint32_t which = 0; which < index->indices; which++)
            if (bucket->members[(size_t)word * index->lanes + which] != 0)
                bucket->words[(size_t)(word / 64) * index->lanes + which] |= UINT64_C(1)
                                                                             << (word % 64);
}

/* Copies `old` words to `grown`, whose further ones up to `room` become 0. */
static void words_copy(uint64_t *grown, const uint64_t *words, size_t old, size_t room)
{
    if (old > 0)
        memcpy(grown, words, old * sizeof *grown);
    memset(&grown[old], 0, (room - old) * sizeof *grown);
}

/* All of it anew, so that nothing has changed where only a part can be had. */
static bool bucket_double(const struct fit_index *index, struct fit_bucket *bucket)
{
    const uint32_t old = bucket->capacity, capacity = old > 0 ? 2 * old : 64;
    const size_t members = members_room(index, capacity), words = words_room(index, capacity);
    if (old > UINT32_MAX / 2)
        return false;
    struct fit_bucket grown = {.used = bucket->used, .capacity = capacity};
    grown.invokers = malloc(capacity * sizeof *grown.invokers);
    grown.members = lines_allocate(members, sizeof *grown.members);
    grown.words = lines_allocate(words, sizeof *grown.words);
    if (grown.invokers == NULL || grown.members == NULL || grown.words == NULL) {
        bucket_clear(index, &grown);
        return false;
    }
    if (old > 0)
        memcpy(grown.invokers, bucket->invokers, old * sizeof *grown.invokers);
    words_copy(grown.members, bucket->members, members_room(index, old), members);
    words_copy(grown.words, bucket->words, words_room(index, old), words);
    bucket_clear(index, bucket);
    *bucket = grown;
    return true;
}

static bool bucket_make_room(struct fit_index *index, struct fit_bucket *bucket)
{
    uint32_t live = 0;
    for (uint32_t word = 0; word < bucket->capacity / 64; word++)
        live += (uint32_t)__builtin_popcountll(bucket_live(index, bucket, word));
    if (live >= bucket->capacity / FIT_SPARSE)
        return bucket_double(index, bucket);
    bucket_pack(index, bucket);
    return true;
}

/* ---- Filing ---------------------------------------------------------------------------------- */

/* What tells of a position; each array from the first index on. */
struct fit_spot {
    uint64_t *members, *words;
    uint32_t *counts;
    uint64_t member, word; /* its bits in them */
};

static inline struct fit_spot spot_of(const struct fit_index *index, struct fit_link link)
{
    const struct fit_bucket *bucket = &index->buckets[link.bucket];
    const uint32_t word = link.position / 64;
    return (struct fit_spot){
        .members = &bucket->members[(size_t)word * index->lanes],
        .words = &bucket->words[(size_t)(word / 64) * index->lanes],
        .counts = &index->counts[(size_t)link.bucket * index->indices],
        .member = UINT64_C(1) << (link.position % 64),
        .word = UINT64_C(1) << (word % 64),
    };
}

/* The bucket is no longer empty in index `which`, or has become so. */
static void fit_index_mark(struct fit_index *index, uint32_t which, uint32_t bucket)
{
    const uint32_t row = bucket >> index->column_bits;
    const uint32_t column = bucket & ((UINT32_C(1) << index->column_bits) - 1);
    const size_t rows = (size_t)which * (index->units + 1) + row;
    index->mask[rows * index->mask_words + column / 64] ^= UINT64_C(1) << (column % 64);
}

static inline void spot_leave(struct fit_index *index, const struct fit_spot *spot, uint32_t which,
                              struct fit_link *link)
{
    spot->members[which] &= ~spot->member;
    if (spot->members[which] == 0)
        spot->words[which] &= ~spot->word;
    if (--spot->counts[which] == 0)
        fit_index_mark(index, which, link->bucket);
    *link = (struct fit_link){SIM_NONE, SIM_NONE};
}

static inline void spot_enter(struct fit_index *index, const struct fit_spot *spot, uint32_t which,
                              struct fit_link *link, struct fit_link to)
{
    spot->members[which] |= spot->member;
    spot->words[which] |= spot->word;
    if (spot->counts[which]++ == 0)
        fit_index_mark(index, which, to.bucket);
    *link = to;
}

/* The position that the invoker comes to: the last one again where that is its own. SIM_NONE when
 * out of memory. */
static inline uint32_t bucket_position(struct fit_index *index, struct fit_bucket *bucket,
                                       uint32_t invoker)
{
    if (bucket->used > 0 && bucket->invokers[bucket->used - 1] == invoker)
        return bucket->used - 1;
    if (bucket->used == bucket->capacity && !bucket_make_room(index, bucket))
        return SIM_NONE;
    bucket->invokers[bucket->used] = invoker;
    return bucket->used++;
}

void fit_index_remove(struct fit_index *index, uint32_t which, uint32_t invoker)
{
    struct fit_link *link = fit_index_link(index, which, invoker);
    if (link->bucket == SIM_NONE)
        return;
    const struct fit_spot spot = spot_of(index, *link);
    spot_leave(index, &spot, which, link);
}

/* Takes the invoker out of those indices first + i (bits i of `set`) in which it is not in the
 * bucket already; tells which. It stands at one position in most of them. */
static inline uint64_t indices_leave(struct fit_index *index, uint32_t first, uint64_t set,
                                     uint32_t invoker, uint32_t bucket)
{
    uint64_t left = 0;
    struct fit_link from = {SIM_NONE, 0};
    struct fit_spot spot = {0};
    for (uint64_t bits = set; bits != 0; bits &= bits - 1) {
        const uint32_t which = first + (uint32_t)__builtin_ctzll(bits);
        struct fit_link *link = fit_index_link(index, which, invoker);
        if (link->bucket == bucket)
            continue;
        left |= bits & (~bits + 1);
        if (link->bucket == SIM_NONE)
            continue;
        if (link->bucket != from.bucket || link->position != from.position) {
            from = *link;
            spot = spot_of(index, from);
        }
        spot_leave(index, &spot, which, link);
    }
    return left;
}

bool fit_index_file_set(struct fit_index *index, uint32_t first, uint64_t set, uint32_t invoker,
                        uint32_t headroom, uint32_t free_vcpus)
{
    const uint32_t column = free_vcpus < index->vcpus ? free_vcpus : index->vcpus;
    struct fit_link to = {.bucket = headroom << index->column_bits | column};
    set = indices_leave(index, first, set, invoker, to.bucket);
    if (set == 0)
        return true;
    to.position = bucket_position(index, &index->buckets[to.bucket], invoker);
    if (to.position == SIM_NONE)
        return false;
    const struct fit_spot spot = spot_of(index, to);
    for (; set != 0; set &= set - 1) {
        const uint32_t which = first + (uint32_t)__builtin_ctzll(set);
        spot_enter(index, &spot, which, fit_index_link(index, which, invoker), to);
    }
    return true;
}

bool fit_index_file(struct fit_index *index, uint32_t which, uint32_t invoker, uint32_t headroom,
                    uint32_t free_vcpus)
{
    return fit_index_file_set(index, which, 1, invoker, headroom, free_vcpus);
}

/* ---- Queries --------------------------------------------------------------------------------- */

/* The place of the highest bit of `word` below `end`; SIM_NONE where there is none. */
static inline uint32_t bit_below(uint64_t word, uint32_t end)
{
    if (end < 64)
        word &= (UINT64_C(1) << end) - 1;
    return word != 0 ? 63 - (uint32_t)__builtin_clzll(word) : SIM_NONE;
}

/* Who of index `which` came last to the bucket, of those before position `end`. */
static uint32_t bucket_last(const struct fit_index *index, const struct fit_bucket *bucket,
                            uint32_t which, uint32_t end)
{
    uint32_t word = end / 64;
    if (end % 64 != 0) {
        const uint64_t members = bucket->members[(size_t)word * index->lanes + which];
        const uint32_t bit = bit_below(members, end % 64);
        if (bit != SIM_NONE)
            return bucket->invokers[word * 64 + bit];
    }
    while (word > 0) {
        /* Of the words before `word`, those that share a word of bits with the last of them. */
        const uint32_t group = (word - 1) / 64;
        const uint32_t bit =
            bit_below(bucket->words[(size_t)group * index->lanes + which], word - group * 64);
        if (bit != SIM_NONE) {
            word = group * 64 + bit;
            const uint64_t members = bucket->members[(size_t)word * index->lanes + which];
            return bucket->invokers[word * 64 + bit_below(members, 64)];
        }
        word = group * 64;
    }
    return SIM_NONE;
}

/* First bucket of `row` at or after `column` that is not empty; SIM_NONE where there is none. */
static uint32_t fit_index_scan_row(const struct fit_index *index, uint32_t which, uint32_t row,
                                   uint32_t column)
{
    const size_t rows = (size_t)which * (index->units + 1) + row;
    const uint64_t *words = &index->mask[rows * index->mask_words];
    for (uint32_t w = column / 64; w < index->mask_words; w++) {
        uint64_t word = words[w];
        if (w == column / 64)
            word &= ~UINT64_C(0) << (column % 64);
        if (word != 0)
            return (row << index->column_bits) + w * 64 + (uint32_t)__builtin_ctzll(word);
    }
    return SIM_NONE;
}

uint32_t fit_index_next(const struct fit_index *index, uint32_t which, uint32_t need_units,
                        uint32_t need_vcpus, uint32_t cursor)
{
    const uint32_t column = need_vcpus < index->vcpus ? need_vcpus : index->vcpus;
    uint32_t row = need_units, from = column;
    if (cursor != SIM_NONE) {
        const struct fit_link *link = fit_index_link(index, which, cursor);
        const uint32_t next =
            bucket_last(index, &index->buckets[link->bucket], which, link->position);
        if (next != SIM_NONE)
            return next;
        row = link->bucket >> index->column_bits;
        from = (link->bucket & ((UINT32_C(1) << index->column_bits) - 1)) + 1;
    }
    for (; row <= index->units; row++, from = column) {
        const uint32_t id =
            from <= index->vcpus ? fit_index_scan_row(index, which, row, from) : SIM_NONE;
        if (id != SIM_NONE)
            return bucket_last(index, &index->buckets[id], which, index->buckets[id].used);
    }
    return SIM_NONE;
}
