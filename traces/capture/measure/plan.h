/* The plan of a capture: its points, their order and their estimated duration.
 *
 * A plan lists every point of every table. A point's duration is estimated from the network's
 * multiply-accumulates, bytes and launches, and from the rates of a typical device. The estimate is
 * then corrected by the ratio of measured to estimated time over the network's points so far.
 *
 * The order matters if the budget does not reach all points. Each table has a part of the budget
 * (`parts` in plan.c). What a table does not use goes to the next one, and finally to any table
 * with points left. Within /latency, the next point is the one with the most uncertainty per
 * second:
 *   - An unmeasured point is an extrapolation if it is between measured points of its network and
 *     precision neither in share nor in batch. Such points come first, beginning with the
 *     corners of the grid.
 *   - A point between measured ones is predicted twice, along share and along batch, from the
 *     logarithms of its nearest neighbours. Its uncertainty is the disagreement of the two
 *     predictions plus the neighbours' difference over the gap. Between equal neighbours the latter
 *     is small. On an edge there is one prediction, and the uncertainty is the latter alone.
 *   - Once all points are measured, a point's uncertainty is the relative half-width of the 95 %
 *     confidence interval of its median. The point is then measured again.
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
    double launches;     /* estimated launches per run: nodes that do work */
    double correction;   /* measured over estimated time so far; initially 1 */
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
    struct plan_member members[PLAN_MEMBERS]; /* latency and others: only the first is used */
    size_t member_count;
    double bytes;            /* copies */
    size_t block, block_end; /* latency: index range of the points of its network and precision */
    int round;               /* times measured */
    int failures;            /* failures in earlier runs */
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
    int cold_starts; /* fresh processes per network */
};

/* The grid. Zeros select the defaults: all networks of the folder, batches 1 2 4 8 16, shares of
 * sevenths, FP16, no cold starts. */
struct plan_options {
    const char *folder;       /* folder of network files */
    const char *const *names; /* networks; NULL: all of the folder */
    size_t name_count;
    bool fp32, fp16;   /* neither: fp16 */
    bool tens;         /* add multiples of 10 % to the sevenths */
    int largest_batch; /* 0: PLAN_LARGEST_BATCH */
    int cold_starts;   /* fresh processes per network, at batch 1 */
};

enum { PLAN_LARGEST_BATCH = 16 };

/* Returns NULL with an error if a network cannot be read. */
struct plan *plan_create(const struct plan_options *options, struct error *error);
void plan_free(struct plan *plan);

/* The member's network at its batch size. The caller frees it. NULL with an error. */
struct graph *plan_graph(const struct plan *plan, const struct plan_member *member,
                         struct error *error);

/* Estimated duration of one inference, ms, before any measurement. */
double plan_estimate_ms(const struct plan *plan, const struct plan_member *member, bool half);

/* Description of the point, unique within its table: the key of /plan. */
const char *plan_key(const struct plan *plan, const struct plan_point *point,
                     char key[static PLAN_KEY]);
const char *plan_table_name(enum plan_table table);
const char *plan_mechanism_name(enum plan_mechanism mechanism);

/* Chooses the point to measure next, given the seconds left of the whole budget. `spent_s` is the
 * time used by each table so far. Returns NULL if no point fits, or if all are known to a width of
 * 1 %. O(points). */
struct plan_point *plan_next(struct plan *plan, const double spent_s[static PLAN_TABLES],
                             double budget_s);

/* Records a measurement: samples of the first member, ms. */
void plan_book(struct plan *plan, struct plan_point *point, const double *samples, size_t count);

/* Estimated seconds for all pending points of a table. `count` receives their number. */
double plan_remaining(const struct plan *plan, enum plan_table table, size_t *count);

/* Shares of the grid, ascending, in percent; returns how many (at most 32). */
size_t plan_shares(bool tens, double shares[static 32]);

#endif
