/* A first-in, first-out queue of distinct numbers. */
#ifndef ESGSIM_SCHED_COMMON_TURNS_H
#define ESGSIM_SCHED_COMMON_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct turns {
    uint32_t *ring; /* owned */
    bool *waits;    /* owned */
    size_t room, first, count;
};

/* For numbers below `room`. False when out of memory; free with turns_clear in either case. */
bool turns_init(struct turns *turns, size_t room);
void turns_clear(struct turns *turns);

/* Appends `number`. No effect if it is already queued. */
void turns_add(struct turns *turns, uint32_t number);
/* Removes and returns the first number; SIM_NONE if the queue is empty. */
uint32_t turns_next(struct turns *turns);

#endif
