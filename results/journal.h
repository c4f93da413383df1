/* The journal of a sweep: every finished run, whole, before anything is made of it.
 *
 * One file, written by one process: a head that names the sweep, then a record a run, in the order
 * in which the runs ended. A record is written behind the last whole one and counts once its every
 * byte is there, which its length and its CRC-32 tell. So a process killed at any moment leaves
 * whole records and at most one torn one behind them; to go on is to read the whole ones and to
 * write over the rest. A run is finished when its record is whole: never lost, never done again.
 */
#ifndef ESGSIM_RESULTS_JOURNAL_H
#define ESGSIM_RESULTS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/blob.h"
#include "sim/error.h"

enum { JOURNAL_IDENTITY = 64 }; /* characters: a SHA-256 in hexadecimal */

struct journal;

/* Open `path` for the runs 0..runs−1 of the sweep that `identity` names. With `resume` the whole
 * records that are there are kept, and a missing or empty file is an empty journal; without, the
 * journal starts empty. NULL: ERROR_INPUT where the file cannot be written, is no journal or that
 * of another sweep, or where another process works on it. */
struct journal *journal_open(const char *path, const char *identity, size_t runs, bool resume,
                             struct error *error);

/* Add run `run`, which must not be there. False: ERROR_RUN (the disk is full); what was there
 * before is there still. */
bool journal_append(struct journal *journal, size_t run, const void *bytes, size_t size,
                    struct error *error);

bool journal_has(const struct journal *journal, size_t run);
/* The bytes of a run that is there, into an empty `blob`. False: ERROR_RUN. */
bool journal_read(const struct journal *journal, size_t run, struct blob *blob,
                  struct error *error);
/* Runs that are there. */
size_t journal_count(const struct journal *journal);
/* Bytes behind the last whole record that journal_open gave up: a run cut short, or damage. */
size_t journal_discarded(const struct journal *journal);

/* Close it; `remove` deletes the file, for a sweep whose results are written. NULL is allowed. */
void journal_close(struct journal *journal, bool remove);

#endif
