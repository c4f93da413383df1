/* Progress on standard error: on a terminal a bar with rate and remaining time, otherwise an
 * occasional line, and nothing if quiet. */
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
/* Prints at most ten times per second on a terminal, otherwise every ten seconds. */
void meter_update(struct meter *meter, uint64_t done, uint64_t total);
/* Erases the bar, so that following output starts on a clean line. */
void meter_end(struct meter *meter);

#endif
