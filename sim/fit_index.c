#include "sim/fit_index.h"

#include <stdlib.h>

#include "sim/units.h"

bool fit_index_init(struct fit_index *index, struct fit_link *links, size_t stride,
                    uint32_t invokers, uint32_t units, uint32_t vcpus)
{
    size_t buckets = ((size_t)units + 1) * ((size_t)vcpus + 1);
    *index = (struct fit_index){
        .units = units, .vcpus = vcpus, .words = vcpus / 64 + 1, .links = links, .stride = stride};
    index->head = malloc(buckets * sizeof *index->head);
    index->mask = calloc(((size_t)units + 1) * index->words, sizeof *index->mask);
    if (index->head == NULL || index->mask == NULL)
        return false;
    for (size_t i = 0; i < buckets; i++)
        index->head[i] = SIM_NONE;
    for (uint32_t i = 0; i < invokers; i++)
        links[i * stride].bucket = SIM_NONE;
    return true;
}

void fit_index_clear(struct fit_index *index)
{
    free(index->head);
    free(index->mask);
    *index = (struct fit_index){0};
}

static inline struct fit_link *fit_index_link(const struct fit_index *index, uint32_t invoker)
{
    return &index->links[invoker * index->stride];
}

static uint64_t *fit_index_word(const struct fit_index *index, uint32_t bucket, uint64_t *bit)
{
    uint32_t row = bucket / (index->vcpus + 1);
    uint32_t column = bucket % (index->vcpus + 1);
    *bit = UINT64_C(1) << (column % 64);
    return &index->mask[(size_t)row * index->words + column / 64];
}

void fit_index_remove(struct fit_index *index, uint32_t invoker)
{
    struct fit_link *link = fit_index_link(index, invoker);
    const uint32_t bucket = link->bucket;
    if (bucket == SIM_NONE)
        return;
    if (link->next != SIM_NONE)
        fit_index_link(index, link->next)->previous = link->previous;
    if (link->previous != SIM_NONE)
        fit_index_link(index, link->previous)->next = link->next;
    else
        index->head[bucket] = link->next;
    if (index->head[bucket] == SIM_NONE) {
        uint64_t bit;
        uint64_t *word = fit_index_word(index, bucket, &bit);
        *word &= ~bit;
    }
    link->bucket = SIM_NONE;
}

void fit_index_file(struct fit_index *index, uint32_t invoker, uint32_t headroom,
                    uint32_t free_vcpus)
{
    struct fit_link *link = fit_index_link(index, invoker);
    uint32_t column = free_vcpus < index->vcpus ? free_vcpus : index->vcpus;
    uint32_t bucket = headroom * (index->vcpus + 1) + column;
    if (link->bucket == bucket)
        return;
    fit_index_remove(index, invoker);
    const uint32_t first = index->head[bucket];
    *link = (struct fit_link){.bucket = bucket, .next = first, .previous = SIM_NONE};
    index->head[bucket] = invoker;
    if (first != SIM_NONE) {
        fit_index_link(index, first)->previous = invoker;
        return;
    }
    uint64_t bit;
    uint64_t *word = fit_index_word(index, bucket, &bit);
    *word |= bit;
}

/* First non-empty bucket of `row` at or after `column`; SIM_NONE where there is none. */
static uint32_t fit_index_scan_row(const struct fit_index *index, uint32_t row, uint32_t column)
{
    const uint64_t *words = &index->mask[(size_t)row * index->words];
    for (uint32_t w = column / 64; w < index->words; w++) {
        uint64_t word = words[w];
        if (w == column / 64)
            word &= ~UINT64_C(0) << (column % 64);
        if (word != 0)
            return row * (index->vcpus + 1) + w * 64 + (uint32_t)__builtin_ctzll(word);
    }
    return SIM_NONE;
}

uint32_t fit_index_next(const struct fit_index *index, uint32_t need_units, uint32_t need_vcpus,
                        uint32_t cursor)
{
    uint32_t columns = index->vcpus + 1;
    uint32_t column = need_vcpus < index->vcpus ? need_vcpus : index->vcpus;
    uint32_t row = need_units;
    uint32_t from = column;
    if (cursor != SIM_NONE) {
        const struct fit_link *link = fit_index_link(index, cursor);
        if (link->next != SIM_NONE)
            return link->next;
        row = link->bucket / columns;
        from = link->bucket % columns + 1;
    }
    for (; row <= index->units; row++, from = column) {
        uint32_t bucket = from < columns ? fit_index_scan_row(index, row, from) : SIM_NONE;
        if (bucket != SIM_NONE)
            return index->head[bucket];
    }
    return SIM_NONE;
}
