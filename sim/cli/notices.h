/* Notices about a run: warnings and notes on what it assumes. */
#ifndef ESGSIM_SIM_CLI_NOTICES_H
#define ESGSIM_SIM_CLI_NOTICES_H

#include "sim/cli/cli.h"
#include "sim/platform/simulation.h"

/* Returns the notices, one per line. "warning: ..." means that figures may not mean what they seem
 * to. "note: ..." is about something the experiment asked for that a reader should know. "" if
 * there are none. The caller frees it; NULL: memory exhausted. */
char *notices_text(const struct experiment *experiment, const struct simulation_result *result);

/* Says on standard error that --set requests=N leaves the warm-up as the file gives it, if that is
 * more than a tenth of N, its default. */
void notices_print_warmup(const struct cli_settings *settings, const struct experiment *experiment);

/* Says on standard error that cold starts decide the result, and which keys change that: if more
 * than half of the jobs waited for one, or a tenth while most requests miss their SLO. */
void notices_print_cold(const struct simulation_result *result);

#endif
