/* The identity of a run in the results file, and a recorder for two destinations. */
#ifndef ESGSIM_RESULTS_STORE_RECORD_H
#define ESGSIM_RESULTS_STORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/platform/simulation.h"

/* The texts that describe a run. Each is a field here and an attribute of /runs/<hash>. `recorded`
 * is everything beyond the hash that decides what the run writes, one word each: "requests bounds".
 * Runs of one hash and program whose texts differ are not one run. */
enum { TEXT_RECORDED = 64 };
#define RUN_METADATA(TEXT_OF)                                                                      \
    TEXT_OF(hash)                                                                                  \
    TEXT_OF(name)                                                                                  \
    TEXT_OF(setting)                                                                               \
    TEXT_OF(label)                                                                                 \
    TEXT_OF(policy)                                                                                \
    TEXT_OF(policy_parameters) /* JSON object: every parameter of the policy with its value */     \
    TEXT_OF(configuration)     /* JSON object: the resolved experiment */                          \
    TEXT_OF(evidence)                                                                              \
    TEXT_OF(profile_sha256)                                                                        \
    TEXT_OF(trace_sha256)                                                                          \
    TEXT_OF(recorded)                                                                              \
    TEXT_OF(policy_sha256) /* of the policy's module or file; "" if it has none */                 \
    TEXT_OF(policy_label)  /* display name from the sweep, or "" */                                \
    TEXT_OF(setting_label)                                                                         \
    TEXT_OF(applications) /* names, one per line, in order of index */

struct run_metadata {
    struct arena *arena; /* of the texts */
#define TEXT_OF(field) char *field;
    RUN_METADATA(TEXT_OF)
#undef TEXT_OF
    uint64_t position; /* index of the run in its sweep; 0: a single run */
    uint64_t seed;
    uint64_t warmup_requests;
    uint64_t record;           /* enum record_level */
    uint64_t max_stages;       /* entries of the noise column */
    bool planned;              /* the table of batches has planned_ms */
    bool fails;                /* it has a table of outages */
    char *models;              /* of trainings: names, one per line; NULL: no trainings */
    char *models_evidence;     /* of the models file, in words, or ""; NULL: no trainings */
    char *policy_text;         /* of the file that the policy reads; NULL: it reads none */
    double arrival_rate_per_s; /* mean of the process; NAN: known only from a run */
    double offered_load;       /* that rate / the capacity (workloads/world/capacity.h) */
    /* Per key of store_set_swept: the value's text, or NULL. Borrowed until the run ends. */
    const char *const *swept;
};

/* A list of texts, one per line. Each of the `count` structures of `size` bytes begins with the
 * address of a text. */
char *lines_join(struct arena *arena, const void *structures, size_t count, size_t size);
/* Copies line `index` to `text`; "" if there is none. */
void lines_copy(const char *lines, size_t index, char *text, size_t capacity);

/* Creates the metadata of `experiment` under `policy` with the parameter values `values`. `label`
 * may be NULL (a single run); `bounds`: the run computes bounds. NULL: ERROR_RUN, memory exhausted.
 * Free with arena_home_free. */
struct run_metadata *run_metadata_create(const struct experiment *experiment,
                                         const struct policy *policy, const double *values,
                                         bool bounds, const char *label);

/* Returns a recorder that passes every row to pair[0], then to pair[1]. One of them may be all
 * zero. `pair` must outlive the recorder. */
struct recorder recorder_join(const struct recorder pair[2]);

#endif
