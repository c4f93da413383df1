/* Signals that end the program. */
#ifndef ESGSIM_SIM_CLI_INTERRUPT_H
#define ESGSIM_SIM_CLI_INTERRUPT_H

/* From now on SIGINT, SIGTERM and, unless it is ignored, SIGHUP end the program at once with exit
 * status 1 and one line; its unfinished files are removed (traces/atomic_file.h). A forked child
 * ends without the line. */
void interrupt_install(void);

#endif
