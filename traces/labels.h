/* Maps distinct strings to consecutive numbers, starting at 0. A zeroed structure is an empty
 * table. */
#ifndef ESGSIM_TRACES_LABELS_H
#define ESGSIM_TRACES_LABELS_H

#include <stddef.h>
#include <stdint.h>

enum { LABELS_NONE = -1, LABELS_MOST = 1 << 20 };

struct labels {
    void *tree;   /* tsearch tree of struct label */
    char **names; /* by number */
    size_t count;
    size_t capacity;
};

/* Returns the label's number. A new label is copied and gets the next number. LABELS_NONE if the
 * table is full (LABELS_MOST) or memory is exhausted. O(log count). */
int32_t labels_add(struct labels *labels, const char *name);

/* Returns LABELS_NONE if the label is not in the table. O(log count). */
int32_t labels_find(const struct labels *labels, const char *name);

void labels_clear(struct labels *labels);

#endif
