#include "sched/synergy/round.h"
bool synergy_opt(struct synergy_round *round, struct synergy_training **candidates, size_t count,
                 struct error *error)
{
    (void)round;
    (void)candidates;
    (void)count;
    return error_run(error, "synergy: opt is not implemented");
}
