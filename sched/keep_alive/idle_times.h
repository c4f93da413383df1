/* Keep-alive by histograms of a function's idle times: what the policies of that kind share. Each
 * brings what it remembers of a function and the window that it reads off that.
 *
 * An idle time of a function runs from the end of its last batch, anywhere, to the start of the
 * next; a batch that starts while another runs adds an idle time of 0. Windows are the function's:
 * it is in use as long as any container of it works; only the one that falls idle last goes at
 * once, and is started anew ahead of the window's head by `lead`, the mean cold start or none. The
 * tail counts from the function's last batch, not the container's.
 */
#ifndef ESGSIM_SCHED_KEEP_ALIVE_IDLE_TIMES_H
#define ESGSIM_SCHED_KEEP_ALIVE_IDLE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/keep_alive.h"
#include "sim/units.h"

/* Bin i counts idle times in [i, i + 1) × width; those beyond the last bin are out of range. */
struct idle_histogram {
    sim_time_t width;
    uint32_t bin_count;
    uint64_t *bins;
    uint64_t in_range, out_of_range;
    double squares; /* Σ bins² */
};

/* False when out of memory; idle_histogram_clear frees either way. */
bool idle_histogram_init(struct idle_histogram *histogram, sim_time_t width, uint32_t bin_count);
void idle_histogram_clear(struct idle_histogram *histogram);
void idle_histogram_add(struct idle_histogram *histogram, sim_time_t idle);
/* Takes an idle time back that was added before. */
void idle_histogram_remove(struct idle_histogram *histogram, sim_time_t idle);
/* Coefficient of variation of the bins' counts: 0 where all are alike, √(bins − 1) where one holds
 * everything. O(1). */
double idle_histogram_variation(const struct idle_histogram *histogram);

/* Since the end of the last batch: when the next is expected at the earliest and at the latest. */
struct idle_window {
    double head_ns, tail_ns;
};

/* What a policy brings. `state` is its own, which begins with a struct idle_times; `memory` one
 * function's, of `memory_bytes`, zeroed before `init`. */
struct idle_rule {
    const char *name; /* the policy's */
    size_t memory_bytes;
    /* False when out of memory; `clear` frees either way. */
    bool (*init)(const void *state, void *memory);
    void (*clear)(void *memory);
    void (*add)(const void *state, void *memory, sim_time_t idle);
    /* `standard`, from 0 to the end of the bins, where the memory tells nothing. */
    struct idle_window (*window)(const void *state, const void *memory,
                                 struct idle_window standard);
};

/* The first parameters of such a policy. */
enum { IDLE_BIN_S, IDLE_BINS, IDLE_HEAD, IDLE_TAIL, IDLE_MARGIN_PCT, IDLE_PARAMETERS };

struct idle_times {
    const struct idle_rule *rule;
    double values[IDLE_PARAMETERS];
    sim_time_t width; /* of a bin */
    uint32_t bin_count;
    size_t functions;
    struct idle_uses *uses; /* per function */
    char *memories;         /* per function */
};

/* `values` begins with those of the enum; `lead`: containers start a mean cold start ahead. False
 * with ERROR_RUN when out of memory; idle_times_finish frees either way. */
bool idle_times_init(struct idle_times *self, const struct idle_rule *rule,
                     const struct workload *workload, const double *values, bool lead,
                     struct error *error);

/* By the policy's head, tail and margin. */
struct idle_window idle_times_window(const struct idle_times *self,
                                     const struct idle_histogram *histogram);

/* The policy's functions (sched/keep_alive.h). */
void idle_times_on_use(void *state, uint32_t function, uint32_t invoker, sim_time_t now);
struct keep_windows idle_times_on_idle(void *state, const struct kept_container *container,
                                       bool used, sim_time_t now);
sim_time_t idle_times_on_expiry(void *state, const struct kept_container *container,
                                sim_time_t now);
void idle_times_finish(void *state);

#endif
