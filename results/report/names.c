/* Names of swept keys as a reader says them. */
#include <string.h>

#include "results/report/report.h"

static const char *const names[][3] = {
    /* key, of an axis, before a value */
    {"arrivals.load", "load (share of capacity)", "load "},
    {"arrivals.rate_per_s", "requests per second", "requests/s: "},
    {"arrivals.scale_rate", "rate (times the trace's)", "rate × "},
    {"slo.factor", "SLO (times the shipped one)", "SLO × "},
    {"training.arrivals.per_hour", "trainings per hour", "trainings/h: "},
    {"training.checkpoint_s", "seconds between checkpoints", "checkpoint after s: "},
    {"training.models.pairs.excess", "interference of trainings", "interference × "},
    {"planning.error.bias", "bias of the planned times", "bias "},
    {"planning.error.cv", "variation of the planned times", "variation "},
    {"cluster.invokers.0.count", "nodes", "nodes: "},
    {"platform.decision_cost.model", "cost of decisions", "decisions: "},
    {"platform.decision_cost.ns_per_unit", "ns per unit of decisions", "ns per unit: "},
    /* or a key and its value */
    {"profile=esg-reconstructed", "", "vCPU share 0.2"},
    {"profile=esg-reconstructed-cpu50", "", "vCPU share 0.5"},
    {"profile=esg-reconstructed-absolute50", "", "GPU time measured"},
    {"profile=esg-reconstructed-absolute80", "", "GPU time measured, 80 % vCPU"},
    {"cluster=esg-16-mig", "", "MIG"},
    {"cluster=esg-16", "", "MPS"},
};

/* The names of the key of `length` characters; NULL: it has none. */
static const char *const *name_find(const char *key, size_t length)
{
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (strlen(names[n][0]) == length && strncmp(names[n][0], key, length) == 0)
            return names[n];
    return NULL;
}

const char *names_axis(const char *key)
{
    const char *const *name = name_find(key, strlen(key));
    return name != NULL ? name[1] : key;
}

const char *names_conditions(struct arena *arena, const char *conditions)
{
    const char *text = "", *between = "";
    for (size_t length; (length = strcspn(conditions, " ")) > 0;
         conditions += length + (conditions[length] == ' ')) {
        const char *const *name = name_find(conditions, length);
        const size_t key = name != NULL ? length : strcspn(conditions, " =");
        name = name != NULL ? name : name_find(conditions, key);
        const size_t skipped = name == NULL ? 0 : key + (conditions[key] == '=');
        between = skipped > 0 && *text != '\0' ? ", " : between;
        text = arena_text(arena, "%s%s%s%.*s", text, between, skipped > 0 ? name[2] : "",
                          (int)(length - skipped), conditions + skipped);
        between = skipped > 0 ? ", " : " ";
    }
    return text;
}
