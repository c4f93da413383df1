#include "sched/common/fluid.h"

#include <math.h>

static void fluid_sink(struct fluid *fluid)
{
    const struct fluid_waiting moved = fluid->heap[fluid->count];
    size_t at = 0;
    for (size_t child = 1; child < fluid->count; child = 2 * at + 1) {
        if (child + 1 < fluid->count &&
            fluid->heap[child + 1].deadline < fluid->heap[child].deadline)
            child++;
        if (moved.deadline <= fluid->heap[child].deadline)
            break;
        fluid->heap[at] = fluid->heap[child];
        at = child;
    }
    fluid->heap[at] = moved;
}

void fluid_advance(struct fluid *fluid, double until)
{
    while (fluid->count > 0 && fluid->now < until) {
        struct fluid_waiting *first = &fluid->heap[0];
        const double end = fmin(until, (double)first->deadline);
        const double given = fmin(first->left, fmax(0, end - fluid->now));
        fluid->served += given;
        fluid->now += given;
        first->left -= given;
        if (first->left > 0 && (double)first->deadline > until) {
            fluid->now = until;
            return;
        }
        fluid->count--;
        if (fluid->count > 0)
            fluid_sink(fluid);
    }
    fluid->now = fmax(fluid->now, until);
}

void fluid_push(struct fluid *fluid, sim_time_t deadline, double work)
{
    size_t at = fluid->count++;
    for (; at > 0 && deadline < fluid->heap[(at - 1) / 2].deadline; at = (at - 1) / 2)
        fluid->heap[at] = fluid->heap[(at - 1) / 2];
    fluid->heap[at] = (struct fluid_waiting){deadline, work};
}
