/* Errors as values.
 *
 * A function that can fail takes `struct error *error` as its last argument, fills it and returns
 * false or NULL. Only `main` converts an error to an exit status. A message is one line that names
 * the file, the key and the valid values. Callers do not extend a message, except with a file name
 * that only they know.
 */
#ifndef ESGSIM_SIM_BASE_ERROR_H
#define ESGSIM_SIM_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

enum error_kind {
    ERROR_NONE = 0,
    ERROR_INPUT, /* bad usage or bad input: exit status 2 */
    ERROR_RUN    /* the work itself failed: exit status 1 */
};

struct error {
    enum error_kind kind;
    char message[1024];
};

/* Set `error` (which may be NULL) to a formatted message, whose end is "…" if it is too long, and
 * return false, so that `return error_input(...)` ends a failing function. Control characters and
 * invalid UTF-8 are written as escapes (utf8_escape). error_input is error_run of exhausted memory
 * if errno says so: what could not be read whole is not at fault. */
bool error_input(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool error_run(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets ERROR_RUN after a write that failed with `reason`, an errno: "cannot write WHAT: …". The
 * message is empty where the reader of a pipe has gone, as after `| head`: nobody asks for more.
 * Returns false. */
bool error_write(struct error *error, const char *what, int reason);

/* The entry of `names` (count of them) closest to `wanted` by edit distance, for "did you mean";
 * NULL where nothing is near (distance above a third of the longer name, and above 2). */
const char *error_nearest_name(const char *wanted, const char *const *names, int count);

/* The same for names in `count` entries of `size` bytes each. `first` is the address of the name, a
 * char *, in the first of them. */
const char *error_nearest_of(const char *wanted, const void *first, size_t count, size_t size);

/* Writes the names, separated by ", ", to `list` of `size` bytes; the end is "…" if not all fit. */
void error_list_names(const char *const *names, int count, char *list, size_t size);

#endif
