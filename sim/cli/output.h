/* What commands say beside their results, and the end of their output. */
#ifndef ESGSIM_SIM_CLI_OUTPUT_H
#define ESGSIM_SIM_CLI_OUTPUT_H

#include "sim/cli/cli.h"

/* Says on standard error that --set requests=N leaves the warm-up as the file gives it, if that is
 * more than a tenth of N, its default. */
void output_note_warmup(const struct cli_settings *settings, const struct experiment *experiment);

/* Flushes and closes standard output. False with ERROR_RUN if not all of it has arrived, also
 * earlier. The message is empty where nobody reads it any more. */
bool output_close(struct error *error);

#endif
