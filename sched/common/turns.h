/* Whose turn it is to be looked at: first come, first served, nobody twice at a time. */
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

/* For numbers below `room`. False when out of memory; turns_clear frees either way. */
bool turns_init(struct turns *turns, size_t room);
void turns_clear(struct turns *turns);

/* Nothing happens where `number` waits for its turn already. */
void turns_add(struct turns *turns, uint32_t number);
/* Takes the next; SIM_NONE where nobody waits. */
uint32_t turns_next(struct turns *turns);

#endif
