/* What this build is. Version and commit are fixed in one object, so that a new commit recompiles
 * one file. */
#ifndef ESGSIM_SIM_VERSION_H
#define ESGSIM_SIM_VERSION_H

/* "0.1.0": the version of CITATION.cff. */
const char *version_number(void);

/* Short commit hash, "-dirty" appended where tracked files differed; "unknown" outside git. */
const char *version_commit(void);

/* "gcc 12.2.0" */
const char *version_compiler(void);

#endif
