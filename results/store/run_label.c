#include "results/store/run_label.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool pair_starts(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '.' || at[length] == '_')
        length++;
    return length > 0 && at[length] == '=';
}

static size_t pair_length(const char *at)
{
    size_t length = 0;
    while (at[length] != '\0' && !(at[length] == ' ' && pair_starts(at + length + 1)))
        length++;
    return length;
}

/* Returns the pair after `pair`, which has `length` characters. */
static const char *pair_after(const char *pair, size_t length)
{
    return pair + length + (pair[length] == ' ');
}

static bool starts_with(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

static bool has_pair(const char *pairs, const char *pair, size_t length)
{
    while (*pairs != '\0') {
        const size_t other = pair_length(pairs);
        if (other == length && strncmp(pairs, pair, length) == 0)
            return true;
        pairs = pair_after(pairs, other);
    }
    return false;
}

/* Appends a pair to the pairs in [begin, end). Returns their new end. */
static char *pair_append(const char *begin, char *end, const char *pair, size_t length)
{
    if (end != begin)
        *end++ = ' ';
    memmove(end, pair, length);
    end[length] = '\0';
    return end + length;
}

static char *label_part(struct arena *arena, const char *label, bool of_policy)
{
    char *part = arena_allocate(arena, strlen(label) + 1, 1);
    char *end = part;
    while (*label != '\0') {
        const size_t length = pair_length(label);
        const bool policy = starts_with(label, "policy.") || starts_with(label, "policy=");
        const bool named = starts_with(label, "policy.name=") || starts_with(label, "setting=");
        if (policy == of_policy && !named) {
            const size_t skip = starts_with(label, "policy.params.") ? strlen("policy.params.") : 0;
            end = pair_append(part, end, label + skip, length - skip);
        }
        label = pair_after(label, length);
    }
    return part;
}

char *run_label_of_policy(struct arena *arena, const char *label)
{
    return label_part(arena, label, true);
}

char *run_label_conditions(struct arena *arena, const char *label)
{
    return label_part(arena, label, false);
}

/* Copies from `from` to `to` the pairs that are in `other` (`common`), or those that are not.
 * `to` may equal `from`. */
static void pairs_filter(char *to, const char *from, const char *other, bool common)
{
    char *end = to;
    while (*from != '\0') {
        const size_t length = pair_length(from);
        const char *next = pair_after(from, length);
        if (has_pair(other, from, length) == common)
            end = pair_append(to, end, from, length);
        from = next;
    }
    *end = '\0';
}

void run_label_keep_common(char *pairs, const char *other)
{
    pairs_filter(pairs, pairs, other, true);
}

char *run_label_without(struct arena *arena, const char *pairs, const char *other)
{
    char *rest = arena_allocate(arena, strlen(pairs) + 1, 1);
    pairs_filter(rest, pairs, other, false);
    return rest;
}

bool run_label_within(const char *pairs, const char *one, const char *other)
{
    bool within = true;
    while (within && *pairs != '\0') {
        const size_t length = pair_length(pairs);
        within = has_pair(one, pairs, length) || has_pair(other, pairs, length);
        pairs = pair_after(pairs, length);
    }
    return within;
}

static bool pair_is_of(const char *pair, const char *key)
{
    return starts_with(pair, key) && pair[strlen(key)] == '=';
}

bool run_label_number(const char *label, const char *key, double *value)
{
    for (const char *pair = label; *pair != '\0'; pair = pair_after(pair, pair_length(pair))) {
        if (!pair_is_of(pair, key))
            continue;
        const char *text = pair + strlen(key) + 1;
        char *end = NULL;
        *value = strtod(text, &end);
        return end != text && end == pair + pair_length(pair) && isfinite(*value);
    }
    return false;
}

bool run_label_has(const char *label, const char *key)
{
    const char *pair = label;
    while (*pair != '\0' && !pair_is_of(pair, key))
        pair = pair_after(pair, pair_length(pair));
    return *pair != '\0';
}

char *run_label_drop(struct arena *arena, const char *pairs, const char *key)
{
    char *rest = arena_allocate(arena, strlen(pairs) + 1, 1);
    char *end = rest;
    for (const char *pair = pairs; *pair != '\0';) {
        const size_t length = pair_length(pair);
        if (!pair_is_of(pair, key))
            end = pair_append(rest, end, pair, length);
        pair = pair_after(pair, length);
    }
    return rest;
}

char *run_label_keys(struct arena *arena, const char *label)
{
    /* A pair has a key, '=' and a blank: no less than a key and ", ". */
    char *keys = arena_allocate(arena, strlen(label) + 1, 2);
    char *end = keys;
    for (const char *pair = label; *pair != '\0'; pair = pair_after(pair, pair_length(pair))) {
        const size_t length = strcspn(pair, "=");
        if (end != keys) {
            memcpy(end, ", ", 2);
            end += 2;
        }
        memcpy(end, pair, length);
        end += length;
    }
    return keys;
}
