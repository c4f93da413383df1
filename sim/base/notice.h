/* Notices: what a reader of figures must know. Each is a row with its kind, one of notices.def.
 * Readers tell notices apart by their kind, never by their words. */
#ifndef ESGSIM_SIM_BASE_NOTICE_H
#define ESGSIM_SIM_BASE_NOTICE_H

#include <stdbool.h>
#include <stddef.h>

struct arena;

/* NOTICE_OTHER to NOTICE_SEEDS_FEW, with the texts notice_text_OTHER to notice_text_SEEDS_FEW. */
enum notice_kind {
#define NOTICE(kind, severity, text) NOTICE_##kind,
#include "sim/base/notices.def"
    NOTICE_KINDS
};
#define NOTICE(kind, severity, text) static const char notice_text_##kind[] = text;
#include "sim/base/notices.def"

extern const struct notice_row {
    const char *name; /* in a results file */
    bool warning;     /* figures may not mean what they seem to; false: a note */
} notice_kinds[NOTICE_KINDS];

struct notice {
    enum notice_kind kind;
    bool warning; /* its kind's */
    char *text;   /* one line */
};

/* Zeroed: none. */
struct notices {
    struct arena *arena; /* of the rows */
    struct notice *rows;
    size_t count;
};

/* Adds a notice: notices_add(&notices, NOTICE_OF(KERNELS), function). */
#define NOTICE_OF(kind) NOTICE_##kind, notice_text_##kind
void notices_add(struct notices *notices, enum notice_kind kind, const char *text, ...)
    __attribute__((format(printf, 3, 4)));
void notices_clear(struct notices *notices);

/* The first of the kind; NULL: there is none. */
const struct notice *notices_find(const struct notices *notices, enum notice_kind kind);
/* Whether two have one kind and the same words. */
bool notice_equals(const struct notice *one, const struct notice *other);
/* A notice of so many runs; a report tells in which of its scenarios. */
struct counted_notice {
    struct notice notice;
    size_t runs;
    bool *in; /* per scenario: one of its runs has it; NULL: not told */
};
/* Adds runs to the notice of a list of distinct ones that equals it, or it as a new one. The arena
 * has the list. O(count). */
struct counted_notice *notice_count(struct arena *arena, struct counted_notice **list,
                                    size_t *count, const struct notice *notice, size_t runs);

/* The kind of a name in a file; NOTICE_OTHER or NOTICE_OTHER_WARNING for NULL or an unknown one. */
enum notice_kind notice_kind_find(const char *name, bool warning);

#endif
