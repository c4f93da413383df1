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

static bool starts_with(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

struct pair {
    const char *text;
    size_t length;
};

/* Takes the next pair from the rest of some; false: it has none. */
static bool pair_take(const char **rest, struct pair *pair)
{
    *pair = (struct pair){*rest, pair_length(*rest)};
    *rest += pair->length + ((*rest)[pair->length] == ' ');
    return pair->length > 0;
}

static bool has_pair(struct pair wanted, const char *pairs)
{
    for (struct pair pair; pair_take(&pairs, &pair);)
        if (pair.length == wanted.length && strncmp(pair.text, wanted.text, wanted.length) == 0)
            return true;
    return false;
}

static bool lacks_pair(struct pair wanted, const char *pairs)
{
    return !has_pair(wanted, pairs);
}

static bool is_of(struct pair pair, const char *key)
{
    return starts_with(pair.text, key) && pair.text[strlen(key)] == '=';
}

static bool is_not_of(struct pair pair, const char *key)
{
    return !is_of(pair, key);
}

/* `part`: "policy.params.", or "": what sets neither policy nor setting. */
static bool is_in_part(struct pair pair, const char *part)
{
    const bool policy = starts_with(pair.text, "policy.") || starts_with(pair.text, "policy=");
    return policy == (part[0] != '\0') && !is_of(pair, "policy.name") && !is_of(pair, "setting");
}

/* Copies to `to` the pairs that `keep` keeps; with is_in_part without the part. `to` may be `from`.
 */
static char *pairs_copy(char *to, const char *from, bool (*keep)(struct pair, const char *),
                        const char *with)
{
    char *end = to;
    for (struct pair pair; pair_take(&from, &pair);) {
        if (!keep(pair, with))
            continue;
        const size_t skip = keep == is_in_part && starts_with(pair.text, with) ? strlen(with) : 0;
        if (end != to)
            *end++ = ' ';
        memmove(end, pair.text + skip, pair.length - skip);
        end += pair.length - skip;
    }
    *end = '\0';
    return to;
}

static char *pairs_kept(struct arena *arena, const char *pairs,
                        bool (*keep)(struct pair, const char *), const char *with)
{
    return pairs_copy(arena_allocate(arena, strlen(pairs) + 1, 1), pairs, keep, with);
}

char *run_label_of_policy(struct arena *arena, const char *label)
{
    return pairs_kept(arena, label, is_in_part, "policy.params.");
}

char *run_label_conditions(struct arena *arena, const char *label)
{
    return pairs_kept(arena, label, is_in_part, "");
}

void run_label_keep_common(char *pairs, const char *other)
{
    (void)pairs_copy(pairs, pairs, has_pair, other);
}

char *run_label_without(struct arena *arena, const char *pairs, const char *other)
{
    return pairs_kept(arena, pairs, lacks_pair, other);
}

char *run_label_drop(struct arena *arena, const char *pairs, const char *key)
{
    return pairs_kept(arena, pairs, is_not_of, key);
}

bool run_label_within(const char *pairs, const char *one, const char *other)
{
    for (struct pair pair; pair_take(&pairs, &pair);)
        if (!has_pair(pair, one) && !has_pair(pair, other))
            return false;
    return true;
}

bool run_label_number(const char *label, const char *key, double *value)
{
    for (struct pair pair; pair_take(&label, &pair);) {
        if (!is_of(pair, key))
            continue;
        const char *text = pair.text + strlen(key) + 1;
        char *end = NULL;
        *value = strtod(text, &end);
        return end != text && end == pair.text + pair.length && isfinite(*value);
    }
    return false;
}

bool run_label_has(const char *label, const char *key)
{
    for (struct pair pair; pair_take(&label, &pair);)
        if (is_of(pair, key))
            return true;
    return false;
}

char *run_label_keys(struct arena *arena, const char *label)
{
    char *keys = arena_text(arena, "%s", "");
    for (struct pair pair; pair_take(&label, &pair);)
        arena_append(arena, &keys, "%s%.*s", keys[0] == '\0' ? "" : ", ",
                     (int)strcspn(pair.text, "="), pair.text);
    return keys;
}
