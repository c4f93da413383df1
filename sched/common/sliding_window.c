#include "sched/common/sliding_window.h"

#include <math.h>
#include <string.h>

void sliding_window_init(struct sliding_window *window, struct arena *arena, uint32_t size)
{
    *window = (struct sliding_window){.size = size};
    window->newest = arena_allocate(arena, size, sizeof *window->newest);
    window->ascending = arena_allocate(arena, size, sizeof *window->ascending);
}

static void take_out(struct sliding_window *window, sim_time_t value)
{
    uint32_t at = 0;
    while (window->ascending[at] != value)
        at++;
    window->count--;
    memmove(&window->ascending[at], &window->ascending[at + 1],
            (window->count - at) * sizeof *window->ascending);
}

void sliding_window_add(struct sliding_window *window, sim_time_t value)
{
    if (window->count == window->size)
        take_out(window, window->newest[window->next]);
    window->newest[window->next] = value;
    window->next = (window->next + 1) % window->size;
    uint32_t at = window->count++;
    for (; at > 0 && window->ascending[at - 1] > value; at--)
        window->ascending[at] = window->ascending[at - 1];
    window->ascending[at] = value;
}

sim_time_t sliding_window_percentile(const struct sliding_window *window, double share)
{
    if (window->count == 0)
        return 0;
    const double position = share * (window->count - 1);
    const uint32_t below = (uint32_t)floor(position);
    const uint32_t above = (uint32_t)ceil(position);
    const double step = (double)(window->ascending[above] - window->ascending[below]);
    return window->ascending[below] + (sim_time_t)llround(step * (position - below));
}
