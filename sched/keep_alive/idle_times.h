/* Keep-alive by histograms of a function's idle times: the common part of such policies.
 *
 * Each policy supplies its memory per function and the window derived from it. An idle time of a
 * function begins at the end of its last batch on any container and ends at the start of the next
 * batch. A batch that starts while another runs adds an idle time of 0. Windows belong to the
 * function, which is in use as long as any of its containers works. Only the container that becomes
 * idle last is evicted at once. It is started again ahead of the window's head by `lead`, the mean
 * cold start or zero. The tail is measured from the function's last batch, not the container's.
 */
#ifndef ESGSIM_SCHED_KEEP_ALIVE_IDLE_TIMES_H
#define ESGSIM_SCHED_KEEP_ALIVE_IDLE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/units.h"
#include "workloads/spec/keep_alive.h"

/* Bin i counts idle times in [i, i + 1) × width. Times beyond the last bin are out of range. */
struct idle_histogram {
    sim_time_t width;
    uint32_t bin_count;
    uint64_t *bins;
    uint64_t in_range, out_of_range;
    double squares; /* sum of the squared bin counts */
};

/* An empty histogram, whose bins the arena has. */
void idle_histogram_init(struct idle_histogram *histogram, struct arena *arena, sim_time_t width,
                         uint32_t bin_count);
void idle_histogram_add(struct idle_histogram *histogram, sim_time_t idle);
/* Removes an idle time that was added earlier. */
void idle_histogram_remove(struct idle_histogram *histogram, sim_time_t idle);
/* Coefficient of variation of the bins' counts: 0 if all are equal, √(bins − 1) if one bin has
 * everything. O(1). */
double idle_histogram_variation(const struct idle_histogram *histogram);

/* Earliest and latest time at which the next batch is expected, from the end of the last one. */
struct idle_window {
    double head_ns, tail_ns;
};

/* What a policy supplies. `state` is its own state, which begins with a struct idle_times. `memory`
 * is that of one function, of `memory_bytes`, zeroed before `init`. */
struct idle_rule {
    size_t memory_bytes;
    void (*init)(const void *state, struct arena *arena, void *memory);
    void (*add)(const void *state, void *memory, sim_time_t idle);
    /* Returns `standard`, from 0 to the end of the bins, if the memory has no usable window. */
    struct idle_window (*window)(const void *state, const void *memory,
                                 struct idle_window standard);
};

/* The first parameters of such a policy. */
struct idle_parameters {
    sim_time_t bin_s; /* width of a bin */
    uint32_t bins;
    double head, tail, margin_pct;
    enum { LEAD_COLD_START, LEAD_NONE } lead;
};

/* Lines of a parameter table. `grade`: of the percentiles. */
#define IDLE_PARAMETERS(bin_help, bins_help, grade)                                                \
    PARAMETER_SECONDS(idle, bin_s, 1e-3, 3600, 60, bin_help),                                      \
        PARAMETER_WHOLE(idle, bins, 1, 100000, 240, bins_help),                                    \
        PARAMETER_NUMBER(idle, head, 0, 100, 5,                                                    \
                         "percentile of idle times before which to prewarm " grade),               \
        PARAMETER_NUMBER(idle, tail, 0, 100, 99,                                                   \
                         "percentile of idle times until which to keep " grade),                   \
        PARAMETER_NUMBER(idle, margin_pct, 0, 99, 10,                                              \
                         "per cent subtracted from the head and added to the tail [recall]")
/* The last line. */
#define IDLE_LEAD_PARAMETER                                                                        \
    PARAMETER_WORD(idle, lead, WORDS("cold-start", "none"), LEAD_COLD_START,                       \
                   "lead of the start before the head [derived]")

struct idle_times {
    const struct idle_rule *rule;
    const struct idle_parameters *parameters;
    struct idle_uses *uses; /* per function */
    char *memories;         /* per function */
};

/* `parameters` live as long as `self`. With LEAD_COLD_START, containers start a mean cold start in
 * advance. */
void idle_times_init(struct idle_times *self, const struct idle_rule *rule, struct arena *arena,
                     const struct workload *workload, const struct idle_parameters *parameters);

/* The window with the policy's head, tail and margin. */
struct idle_window idle_times_window(const struct idle_times *self,
                                     const struct idle_histogram *histogram);

/* Callbacks of workloads/spec/keep_alive.h. */
void idle_times_on_use(void *state, uint32_t function, uint32_t invoker, sim_time_t now);
struct keep_windows idle_times_on_idle(void *state, const struct idle_container *container,
                                       bool used, sim_time_t now);
sim_time_t idle_times_on_expiry(void *state, const struct idle_container *container,
                                sim_time_t now);

#endif
