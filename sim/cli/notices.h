/* What a run assumes without having been told so, in words. */
#ifndef ESGSIM_SIM_CLI_NOTICES_H
#define ESGSIM_SIM_CLI_NOTICES_H

#include "sim/simulation.h"

/* A line each, without line breaks inside: "warning: ..." for what may make figures mean something
 * else than they seem to, "note: ..." for what the experiment asked for and a reader should know.
 * "" where there is nothing to say; to be freed, NULL without memory. */
char *notices_text(const struct experiment *experiment, const struct simulation_result *result);

#endif
