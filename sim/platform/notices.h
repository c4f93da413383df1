/* Notices about a run: warnings and notes on what it assumes. */
#ifndef ESGSIM_SIM_PLATFORM_NOTICES_H
#define ESGSIM_SIM_PLATFORM_NOTICES_H

#include "sim/platform/simulation.h"

/* The notice of a run that every seed would repeat begins with these words. */
#define NOTICE_NOT_RANDOM "nothing random is drawn"
/* Of a run that is not stationary: the end of its warning. */
#define NOTICE_OF_LENGTH "depend on how long the run is"

/* Returns the notices, one per line. "warning: ..." means that figures may not mean what they seem
 * to. "note: ..." is about something the experiment asked for that a reader should know. "" if
 * there are none. The caller frees it; NULL: memory exhausted. */
char *notices_text(const struct experiment *experiment, const struct simulation_result *result);

#endif
