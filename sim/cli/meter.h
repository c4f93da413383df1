/* Progress on standard error: a bar with rate and time left on a terminal, a line now and then
 * elsewhere, nothing when quiet. */
#ifndef ESGSIM_SIM_CLI_METER_H
#define ESGSIM_SIM_CLI_METER_H

#include <stdbool.h>
#include <stdint.h>

struct meter {
    const char *unit; /* "runs", "requests" */
    bool quiet;
    bool terminal;
    bool drawn;
    double started_s; /* wall clock */
    double shown_s;
};

void meter_start(struct meter *meter, const char *unit, bool quiet);
/* Draws at most ten times a second on a terminal, every ten seconds elsewhere. */
void meter_update(struct meter *meter, uint64_t done, uint64_t total);
/* Wipes the bar, so that what follows starts on a clean line. */
void meter_end(struct meter *meter);

#endif
