/* What a capture measures, in which order, and how long that takes.
 *
 * A plan lists every point of every table. How long a point takes is estimated from the network's
 * multiply-accumulates, bytes and launches for a device of given rates, and corrected by what the
 * network's points measured so far took against their estimates.
 *
 * Order matters when a budget does not reach all of them. Tables get parts of the budget (PLAN_PART
 * of plan.c); what one leaves over goes to the next, and in the end to any that still has points.
 * Within /latency the next point is the one with most uncertainty a second:
 *   - a point that lies between measured ones of its network and precision neither in share nor in
 *     batch would have to be extrapolated: it comes first, the corners of the grid before others;
 *   - a point between measured ones is predicted along share and along batch, between its nearest
 *     neighbours on the logarithms; the uncertainty is how far the two disagree, plus how much the
 *     neighbours differ over the gap (a flat stretch between equal neighbours has nothing to tell);
 *     on an edge, where there is one prediction, the latter alone;
 *   - once all points are measured, a measured point's uncertainty is the relative half-width of
 *     its median's 95 % confidence interval, and it is measured again.
 */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_PLAN_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/error.h"
#include "traces/networks/graph.h"
#include "traces/capture/measure/layout.h"

enum plan_table {
    PLAN_MEMORY,
    PLAN_COPIES,
    PLAN_COLD_START,
    PLAN_LATENCY,
    PLAN_COLOCATION,
    PLAN_TABLES
};

enum plan_state { PLAN_WAITING, PLAN_DONE, PLAN_FAILED };
enum plan_mechanism { PLAN_FULL, PLAN_GREEN };
enum { PLAN_MEMBERS = 7, PLAN_KEY = LAYOUT_LONG };

struct plan_network {
    struct graph *graph; /* owned; at batch 1 */
    double launches;     /* of one run, roughly: nodes that do work */
    double correction;   /* measured over estimated so far; 1 at first */
};

struct plan_member {
    size_t network;
    int batch;
    double share_percent;
};

struct plan_point {
    enum plan_table table;
    enum plan_mechanism mechanism;
    enum plan_state state;
    bool half;
    struct plan_member members[PLAN_MEMBERS]; /* latency and others: the first alone */
    size_t member_count;
    double bytes;            /* copies */
    size_t block, block_end; /* latency: the points of its network and precision */
    int round;               /* times it was measured */
    int failures;            /* times it failed in runs before */
    double median_ms;
    double width; /* relative half-width of the median's confidence interval */
    double estimated_s;
};

struct plan {
    struct plan_network *networks;
    size_t network_count;
    struct plan_point *points;
    size_t count, room;
    int largest_batch;
    int cold_starts; /* fresh processes for each network */
};

/* The grid. Zeros take the defaults: all networks of the folder, batches 1 2 4 8 16, shares of
 * sevenths, FP16, no cold starts. */
struct plan_options {
    const char *folder;       /* of network files */
    const char *const *names; /* networks; NULL: all of the folder */
    size_t name_count;
    bool fp32, fp16;   /* neither: fp16 */
    bool tens;         /* tens of per cent beside the sevenths */
    int largest_batch; /* 0: PLAN_LARGEST_BATCH */
    int cold_starts;   /* fresh processes for each network, at batch 1 */
};

enum { PLAN_LARGEST_BATCH = 16 };

/* NULL with an error where a network cannot be read. */
struct plan *plan_create(const struct plan_options *options, struct error *error);
void plan_free(struct plan *plan);

/* The member's network at its batch; NULL with an error. The caller frees. */
struct graph *plan_graph(const struct plan *plan, const struct plan_member *member,
                         struct error *error);

/* One inference, ms: the estimate before any measurement. */
double plan_estimate_ms(const struct plan *plan, const struct plan_member *member, bool half);

/* What the point is called, unique within its table: the key of /plan. */
const char *plan_key(const struct plan *plan, const struct plan_point *point,
                     char key[static PLAN_KEY]);
const char *plan_table_name(enum plan_table table);
const char *plan_mechanism_name(enum plan_mechanism mechanism);

/* The point to measure next, given seconds left of the whole budget; NULL where none fits or all is
 * known to a width of 1 %. `spent_s` is what each table took so far. O(points). */
struct plan_point *plan_next(struct plan *plan, const double spent_s[static PLAN_TABLES],
                             double budget_s);

/* Books a measurement: samples of the first member, ms. */
void plan_book(struct plan *plan, struct plan_point *point, const double *samples, size_t count);

/* Seconds of all points still waiting of a table, and how many they are. */
double plan_remaining(const struct plan *plan, enum plan_table table, size_t *count);

/* Shares of the grid, ascending, in percent; returns how many (at most 32). */
size_t plan_shares(bool tens, double shares[static 32]);

#endif
