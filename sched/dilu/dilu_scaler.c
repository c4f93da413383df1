#include "sched/dilu/dilu_scaler.h"

void dilu_window_init(struct dilu_window *window, struct arena *arena, size_t length)
{
    *window = (struct dilu_window){.samples = arena_allocate(arena, length, sizeof(double)),
                                   .room = length};
}

void dilu_window_add(struct dilu_window *window, double rate)
{
    window->samples[window->next] = rate;
    window->next = (window->next + 1) % window->room;
    window->count += window->count < window->room;
}

void dilu_window_restart(struct dilu_window *window)
{
    window->count = 0;
    window->next = 0;
}

int dilu_lazy(const struct dilu_window *window, const struct dilu_lazy_rule *rule, double capacity,
              double without, size_t instances)
{
    size_t above = 0;
    size_t below = 0;
    /* A window that is not full has its samples at the start of the ring. */
    for (size_t i = 0; i < window->count; i++) {
        above += window->samples[i] > capacity;
        below += window->samples[i] < without;
    }
    if (above >= rule->out)
        return 1;
    return instances > 1 && below >= rule->in ? -1 : 0;
}
