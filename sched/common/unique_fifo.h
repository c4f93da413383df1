/* A first-in, first-out queue of distinct numbers. */
#ifndef ESGSIM_SCHED_COMMON_UNIQUE_FIFO_H
#define ESGSIM_SCHED_COMMON_UNIQUE_FIFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"

struct unique_fifo {
    uint32_t *ring;
    bool *waits; /* by number */
    size_t room, first, count;
};

/* For numbers below `room`. */
void unique_fifo_init(struct unique_fifo *turns, struct arena *arena, size_t room);

/* Appends `number`. No effect if it is already queued. */
void unique_fifo_add(struct unique_fifo *turns, uint32_t number);
/* Removes and returns the first number; SIM_NONE if the queue is empty. */
uint32_t unique_fifo_next(struct unique_fifo *turns);

#endif
