/* Maps distinct strings to consecutive numbers, starting at 0. A zeroed structure is an empty
 * table. */
#ifndef ESGSIM_SIM_BASE_STRING_INDEX_H
#define ESGSIM_SIM_BASE_STRING_INDEX_H

#include <stddef.h>
#include <stdint.h>

enum { STRING_INDEX_NONE = -1, STRING_INDEX_MOST = 1 << 20 };

struct string_index {
    void *tree;   /* tsearch tree of struct label */
    char **names; /* by number */
    size_t count;
    struct arena *arena; /* of labels and names */
};

/* Returns the label's number. A new label is copied and gets the next number. STRING_INDEX_NONE if
 * the table is full (STRING_INDEX_MOST). O(log count). */
int32_t string_index_add(struct string_index *labels, const char *name);

/* Returns STRING_INDEX_NONE if the label is not in the table. O(log count). */
int32_t string_index_find(const struct string_index *labels, const char *name);

void string_index_clear(struct string_index *labels);

#endif
