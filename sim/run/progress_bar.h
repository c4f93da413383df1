/* Prints progress on standard error. On a terminal it shows a bar with rate and remaining time.
 * Otherwise it prints a line every ten seconds. If quiet, it prints nothing. */
#ifndef ESGSIM_SIM_RUN_PROGRESS_BAR_H
#define ESGSIM_SIM_RUN_PROGRESS_BAR_H

#include <stdbool.h>
#include <stdint.h>

struct progress_bar {
    const char *unit; /* "runs", "requests" */
    bool quiet;
    bool terminal;
    bool drawn;
    uint64_t done;    /* at the last update; a worker pool counts from here */
    double started_s; /* wall clock */
    double shown_s;
};

void progress_bar_start(struct progress_bar *progress_bar, const char *unit, bool quiet);
/* Prints at most ten times per second on a terminal, otherwise every ten seconds. */
void progress_bar_update(struct progress_bar *progress_bar, uint64_t done, uint64_t total);
/* Erases the bar, so that following output starts on a clean line. */
void progress_bar_end(struct progress_bar *progress_bar);

#endif
