/* Version, commit, sources and compiler of this build. They are defined in one object file, so that
 * a new commit recompiles one file. */
#ifndef ESGSIM_SIM_BASE_VERSION_H
#define ESGSIM_SIM_BASE_VERSION_H

/* "0.2.0": the version in CITATION.cff. */
const char *version_number(void);

/* Short commit hash, with "-dirty" appended if tracked files were modified; "unknown" outside git.
 */
const char *version_commit(void);

/* The first 12 hexadecimal digits of a SHA-256 of all sources and headers of the program. Two
 * builds with equal digests and versions are one program, whatever the machine, commit or compiler.
 */
const char *version_sources(void);

/* "gcc 12.2.0" */
const char *version_compiler(void);

#endif
