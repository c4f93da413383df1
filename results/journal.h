/* The journal of a sweep: every finished run, whole, before anything is made of it.
 *
 * One file, written by one process, which has locked the results file beside it: a head that names
 * the sweep, then one record per run, in the order in which the runs ended. A record begins with a
 * mark. One CRC-32 covers its mark, run and size, another one its bytes; it counts if both are
 * right. Behind a damaged record the next whole one is found by its mark, so damage costs the runs
 * that it hits. A process that is killed leaves whole records and at most a torn one at the end.
 * Records are synced to the disk at least every JOURNAL_SYNC_S seconds while journal_sync is
 * called, and at the end.
 */
#ifndef ESGSIM_RESULTS_JOURNAL_H
#define ESGSIM_RESULTS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/blob.h"
#include "sim/error.h"

enum {
    JOURNAL_IDENTITY = 64, /* characters: a SHA-256 in hexadecimal */
    JOURNAL_SYNC_S = 2
};

struct journal;

/* What becomes of runs that are in the file already. */
enum journal_start {
    JOURNAL_NEW,    /* they are refused */
    JOURNAL_RESUME, /* those of this sweep are kept, others refused */
    JOURNAL_RESTART /* they are discarded */
};

/* Open `path` for the runs 0..runs−1 of the sweep that `identity` names. A missing file, or one
 * without a whole record, is an empty journal. NULL: ERROR_INPUT where the file cannot be written,
 * is no journal, or holds runs that `start` refuses; nothing is changed then. */
struct journal *journal_open(const char *path, const char *identity, size_t runs,
                             enum journal_start start, struct error *error);

/* Add run `run`, which must not be there. False: ERROR_RUN (the disk is full); what was there
 * before is there still. Syncs as journal_sync does. */
bool journal_append(struct journal *journal, size_t run, const void *bytes, size_t size,
                    struct error *error);

/* Syncs to the disk what was added, if the last sync is JOURNAL_SYNC_S seconds ago or more. False:
 * ERROR_RUN. */
bool journal_sync(struct journal *journal, struct error *error);

bool journal_has(const struct journal *journal, size_t run);
/* The bytes of a run that is there, into an empty `blob`. False: ERROR_RUN. */
bool journal_read(const struct journal *journal, size_t run, struct blob *blob,
                  struct error *error);
/* Runs that are there. */
size_t journal_count(const struct journal *journal);
/* Bytes that journal_open found to be no whole record: damage, or a run cut short. */
size_t journal_discarded(const struct journal *journal);

/* Sync and close it; `remove` deletes the file instead, for a sweep whose results are written. NULL
 * is allowed. False: ERROR_RUN, it could not be synced. */
bool journal_close(struct journal *journal, bool remove, struct error *error);

#endif
