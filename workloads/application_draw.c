#include "workloads/application_draw.h"

#include <stdlib.h>

#include "sim/random.h"
#include "workloads/workload.h"

/* The table divides [0, 1) into cells of equal width. With more than APPLICATIONS_FEW applications
 * hardly any cell would be within the share of one, so no table is used. */
enum { CELL_BITS = 10, CELLS = 1 << CELL_BITS, APPLICATIONS_FEW = CELLS / 4, SEVERAL = UINT16_MAX };

struct application_draw {
    const struct workload *workload;
    uint64_t seed;
    struct random_ahead ahead;
    uint16_t cells[CELLS]; /* the application that has the whole cell; SEVERAL: use the walk */
};

uint32_t application_draw_walk(const struct workload *workload, double uniform)
{
    double left = uniform;
    uint32_t drawn = 0;
    /* Rounding may leave a gap above the sum of the weights, which the last application with
     * positive weight gets. */
    for (uint32_t a = 0; a < workload->application_count; a++) {
        double weight = workload->applications[a].weight;
        if (weight <= 0)
            continue;
        drawn = a;
        if (left < weight)
            break;
        left -= weight;
    }
    return drawn;
}

/* Rounding is monotonic, so the larger of two numbers never belongs to an earlier application. If
 * both ends of a cell give the same application, the whole cell does. */
static void cells_fill(struct application_draw *draw)
{
    const struct workload *workload = draw->workload;
    const double width = 1.0 / CELLS, last = 1.0 - 0x1p-53;
    uint32_t first = application_draw_walk(workload, 0);
    for (uint32_t c = 0; c < CELLS; c++) {
        const uint32_t next =
            application_draw_walk(workload, c + 1 < CELLS ? (c + 1) * width : last);
        const bool whole = first == next && workload->application_count <= APPLICATIONS_FEW;
        draw->cells[c] = whole ? (uint16_t)first : SEVERAL;
        first = next;
    }
}

struct application_draw *application_draw_create(const struct workload *workload, uint64_t seed)
{
    struct application_draw *draw = calloc(1, sizeof *draw);
    if (draw == NULL)
        return NULL;
    draw->workload = workload;
    draw->seed = seed;
    cells_fill(draw);
    return draw;
}

void application_draw_destroy(struct application_draw *draw)
{
    free(draw);
}

uint32_t application_draw_look_up(const struct application_draw *draw, double uniform)
{
    const uint16_t known = draw->cells[(uint32_t)(uniform * CELLS)];
    return known != SEVERAL ? known : application_draw_walk(draw->workload, uniform);
}

uint32_t application_draw_next(struct application_draw *draw, uint64_t request)
{
    if (draw->workload->application_count == 1)
        return 0;
    return application_draw_look_up(
        draw, random_uniform_of(
                  random_ahead_first(&draw->ahead, draw->seed, RANDOM_APPLICATION, request, 0)));
}
