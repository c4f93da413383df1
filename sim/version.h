/* What this build is, and where its data lie.
 *
 * The build fixes version, commit and installed data folder in one object, so that a new commit
 * recompiles one file.
 */
#ifndef ESGSIM_SIM_VERSION_H
#define ESGSIM_SIM_VERSION_H

/* "0.1.0": the version of CITATION.cff. */
const char *version_number(void);

/* Short commit hash, "-dirty" appended where tracked files differed; "unknown" outside git. */
const char *version_commit(void);

/* "gcc 12.2.0" */
const char *version_compiler(void);

/* Folder with workloads/ and traces/ as installed: the environment's ESGSIM_DATA where it is set
 * and not empty, else PREFIX/share/esgsim as given to the build. It may not exist. */
const char *version_data_folder(void);

#endif
