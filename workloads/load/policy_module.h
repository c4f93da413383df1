/* Policies of one's own: an experiment names them by the path of a file.
 *
 * "x.so" is loaded as it is. "x.c" is compiled first, by $CC or cc, into a temporary folder that
 * lives as long as the process. "x.py" needs results/python/esgsim_policy.py. */
#ifndef ESGSIM_WORKLOADS_LOAD_POLICY_MODULE_H
#define ESGSIM_WORKLOADS_LOAD_POLICY_MODULE_H

#include <stdbool.h>

#include "sim/base/error.h"

/* Whether a policy's name ends as the path of such a file. */
bool policy_module_named(const char *name);

/* Writes all that the policy in Python at `path` consists of to the file `to`. NULL, as in the
 * program: the policy is its own file. results/python/esgsim_policy.py sets it. */
extern void (*policy_bundle_python)(const char *path, const char *to);

/* Sets `file` to the path of the file that is loaded, whose digest identifies the policy: of "x.c"
 * its module, which is compiled at the first call; of "x.py" all its files; of others the name.
 * ERROR_INPUT after what the compiler has said on standard error. A child that was forked before
 * the first call has to call unfinished_remove_all at its end. Not for threads. */
enum { POLICY_MODULE_PATH = 4096 };
bool policy_module_file(const char *name, char file[POLICY_MODULE_PATH], struct error *error);

/* From now on modules have AddressSanitizer and UBSan. Their library must be the first one that is
 * loaded: where it is not, the program begins anew with these arguments. False: ERROR_INPUT. */
bool policy_module_sanitize(int argc, char *const argv[], bool quiet, struct error *error);

#endif
