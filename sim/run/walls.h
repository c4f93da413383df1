/* Walls around the process of a run, which stand before any code of its policy. */
#ifndef ESGSIM_SIM_RUN_WALLS_H
#define ESGSIM_SIM_RUN_WALLS_H

#include <stddef.h>

/* From now on this process opens no file but the system's libraries, those of `walls_libraries` and
 * the `count` named ones (NULL: none), all for reading. It writes where it may write already. It
 * starts no process, sends no signal to others, opens no socket and gets no random numbers. Each
 * wall stands where the kernel has it: Landlock, seccomp. O(files). */
void walls_raise(const char *const *files, size_t count);

/* Folders and files, separated by colons, for a language with libraries of its own; NULL: none. */
extern const char *walls_libraries;

#endif
