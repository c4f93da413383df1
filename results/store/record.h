/* A run on its way to the results file: what identifies it, and where its rows go. */
#ifndef ESGSIM_RESULTS_STORE_RECORD_H
#define ESGSIM_RESULTS_STORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/platform/simulation.h"

/* The texts that describe a run: field, attribute of /runs/<hash>. */
#define RUN_FACTS(FACT)                                                                            \
    FACT(hash)                                                                                     \
    FACT(name)                                                                                     \
    FACT(setting)                                                                                  \
    FACT(label)                                                                                    \
    FACT(policy)                                                                                   \
    FACT(policy_parameters) /* JSON object: every parameter of the policy with its value */        \
    FACT(configuration)     /* JSON object: the resolved experiment */                             \
    FACT(evidence)                                                                                 \
    FACT(profile_sha256)                                                                           \
    FACT(trace_sha256)                                                                             \
    FACT(policy_sha256) /* of the policy's module; "" where it is registered */                    \
    FACT(policy_label)  /* display name that the sweep gives it, or "" */                          \
    FACT(setting_label)                                                                            \
    FACT(applications) /* names, one a line, in the order of their index */

struct run_facts {
#define FACT(field) char *field;
    RUN_FACTS(FACT)
#undef FACT
    uint64_t position; /* of the run in its sweep; 0 for a single run */
    uint64_t seed;
    uint64_t warmup_requests;
    uint64_t record;     /* enum record_level */
    uint64_t max_stages; /* entries of the noise column */
};

enum { NOTICE_LENGTH = 1024 };

/* The next line of a run's notices from *at on, which moves behind it: its text, without "warning:
 * " or "note: ", to `text`. False at the end. `warning` tells which of the two it was. */
bool notices_next(const char **at, bool *warning, char *text, size_t capacity);

/* Facts of `experiment` under `policy` with `values`; `label` may be NULL (a single run). NULL with
 * ERROR_RUN where memory is short. Free with run_facts_free. */
struct run_facts *run_facts_create(const struct experiment *experiment, const struct policy *policy,
                                   const double *values, const char *label, struct error *error);
void run_facts_free(struct run_facts *facts);

/* A recorder that hands every row to each of `pair`, in that order; one may be all zeroes. `pair`
 * must live as long as the recorder. */
struct recorder recorder_join(const struct recorder pair[2]);

#endif
