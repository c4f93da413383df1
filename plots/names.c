#include "plots/names.h"

#include <string.h>

static const struct {
    const char *key, *axis, *condition; /* the condition goes before the value */
} names[] = {
    {"arrivals.load", "load (share of capacity)", "load "},
    {"arrivals.rate_per_s", "requests per second", "requests/s: "},
    {"arrivals.scale_rate", "rate (times the trace's)", "rate × "},
    {"arrivals.users", "users", "users: "},
    {"slo.factor", "SLO (times the shipped one)", "SLO × "},
    {"training.arrivals.per_hour", "trainings per hour", "trainings/h: "},
    {"training.checkpoint_s", "seconds between checkpoints", "checkpoint after s: "},
    {"training.models.pairs.excess", "interference between trainings (share)", "interference × "},
    {"planning.error.bias", "bias of the profile's errors", "bias "},
    {"planning.error.cv", "variation of the profile's errors", "variation "},
    {"applications.0.count", "trainings or tasks", "count: "},
    {"cluster.invokers.0.count", "nodes", "nodes: "},
    {"requests", "requests", "requests: "},
};

enum { NAMES = sizeof names / sizeof *names };

/* The name whose key is the first `length` characters of `word`; NAMES: there is none. */
static size_t name_find(const char *word, size_t length)
{
    size_t n = 0;
    while (n < NAMES &&
           (strlen(names[n].key) != length || strncmp(names[n].key, word, length) != 0))
        n++;
    return n;
}

const char *names_axis(const char *key)
{
    const size_t found = name_find(key, strlen(key));
    return found < NAMES ? names[found].axis : key;
}

const char *names_conditions(struct arena *arena, const char *conditions)
{
    const char *text = "";
    bool after = false; /* the word before has a name: a comma parts it from this one */
    for (const char *at = conditions; *at != '\0';) {
        const size_t length = strcspn(at, " "), key = strcspn(at, " =");
        const size_t found = at[key] == '=' ? name_find(at, key) : NAMES;
        const bool named = found < NAMES;
        const size_t skipped = named ? key + 1 : 0;
        text =
            arena_text(arena, "%s%s%s%.*s", text,
                       at == conditions ? ""
                       : named || after ? ", "
                                        : " ",
                       named ? names[found].condition : "", (int)(length - skipped), at + skipped);
        after = named;
        at += length;
        at += strspn(at, " ");
    }
    return text;
}
