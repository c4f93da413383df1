/* Labels to numbers: each distinct string gets the next number, 0 first. The tree is libc's
 * tsearch. */
#ifndef ESGSIM_TRACES_LABELS_H
#define ESGSIM_TRACES_LABELS_H

#include <stddef.h>
#include <stdint.h>

enum { LABELS_NONE = -1, LABELS_MOST = 1 << 20 };

struct labels {
    void *tree;   /* of struct label */
    char **names; /* by number */
    size_t count;
    size_t capacity;
};

/* A zeroed structure is an empty table. The label's number; added, as a copy, where it is new.
 * LABELS_NONE where the table holds LABELS_MOST or memory is out. O(log count). */
int32_t labels_add(struct labels *labels, const char *name);

/* LABELS_NONE where it is not there. O(log count). */
int32_t labels_find(const struct labels *labels, const char *name);

void labels_clear(struct labels *labels);

#endif
