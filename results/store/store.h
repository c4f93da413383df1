/* The results file. Only the results folder uses HDF5.
 *
 *   /summary              one row per run, in the order of the runs
 *   /applications         one row per run and application
 *   /training             one row per run with trainings, if there is one
 *   /missing              one row per run that the sweep should have and the file has not
 *   /runs/<hash>          one group per run; its attributes give all inputs of the run
 *   /runs/<hash>/requests, batches, jobs, containers, decisions, timeline    if recorded
 *   /runs/<hash>/trainings, leases, lease_gpus    if recorded, of runs with trainings
 *   /runs/<hash>/outages  if recorded, of runs with platform.failures
 *   /runs/<hash>/replay   of runs whose batches a worker executed
 *
 * A sweep's file has attributes that give the sweep, the shard and the number of missing runs. The
 * group of each run has an attribute with its index in the sweep.
 *
 * Tables follow the HDF5 Table specification (H5TB): rows of a compound type, chunked, deflated,
 * with checksums. h5py, pandas and PyTables can read them directly. The unit and meaning of each
 * column are the attributes FIELD_<i>_UNIT and FIELD_<i>_HELP of its table. Values that depend on
 * the machine or the clock are attributes only. Therefore tables of the same runs contain the same
 * bytes on every machine.
 *
 * A file is published by rename when it is complete (sim/base/atomic_file.h). The file format is
 * that of HDF5 1.10, whose metadata have checksums. Reading a damaged file is therefore an error.
 */
#ifndef ESGSIM_RESULTS_STORE_STORE_H
#define ESGSIM_RESULTS_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "results/store/columns.h"
#include "results/store/record.h"
#include "results/store/swept.h"
#include "sim/backend/worker_backend.h"
#include "sim/base/error.h"
#include "sim/platform/simulation.h"

struct store;
struct results;

/* Begins the results file `path` and locks it. NULL: ERROR_INPUT if the path is not writable, or is
 * a file that is not empty and not a results file, which is never replaced. ERROR_RUN if another
 * process has the lock. End with store_finish or store_abandon. */
struct store *store_create(const char *path, struct error *error);

/* The same for a part of a sweep (results/store/run_folder.h). The part ends with a seal
 * (results/store/seal.h). Its tables have no descriptive attributes, because writing those takes
 * longer than several short runs. */
struct store *store_create_part(const char *path, struct error *error);

/* Gives /summary one column per key of a sweep. Must be called before the first run. `keys` must
 * outlive the store. Runs then take their values from run_metadata.swept. Does nothing if there are
 * no keys. False: ERROR_RUN. */
bool store_set_swept(struct store *store, const struct swept_keys *keys, struct error *error);

/* Write the names of a run into a row: its columns that are metadata of the run. */
void store_name_summary(struct summary_row *row, const struct run_metadata *metadata);
void store_name_application(struct application_row *row, const struct run_metadata *metadata);
void store_name_training(struct training_summary_row *row, const struct run_metadata *metadata);

/* Begins a run. The caller then records rows through store_recorder and calls store_end_run. The
 * metadata must outlive the run. ERROR_RUN if the file already contains a run with that hash. */
bool store_begin_run(struct store *store, const struct run_metadata *metadata, struct error *error);
/* The same, with the metadata of an experiment: its place in a sweep, and whether it has bounds. */
bool store_begin_experiment(struct store *store, const struct experiment *experiment,
                            const struct policy *policy, const double *values, size_t position,
                            bool bounds, struct error *error);
/* Returns the recorder of the begun run. It has only the functions that the experiment's record
 * level needs. Valid until the run ends. */
struct recorder store_recorder(struct store *store);
/* Writes the metrics and ends the run. result->application_count must be the experiment's. */
bool store_end_run(struct store *store, const struct simulation_result *result,
                   struct error *error);
/* Removes the begun run, if any, so that another run can begin. */
bool store_drop_run(struct store *store, struct error *error);

/* Writes the rows of runs that begin later when they end: a write would stop a run in real time. */
void store_keep_rows(struct store *store);

/* The device and the backend that executed the batches of a replay (sim/run/replay.h). */
struct execution {
    const char *backend; /* the worker's command; "rehearsal" */
    const char *device;  /* the GPU's name; "none" */
    const char *driver;  /* what is known of it beside the name; "none" */
    const char *details; /* JSON object with further details; NULL: {} */
    bool gpu;            /* false: no GPU was used */
    uint64_t starts;
    double late_us_mean, late_us_p99, late_us_max;
    double host_ms; /* mean per batch: its time by the clock, late start included, less that on the
                     * device; 0: not known */
    const struct replay_row *rows; /* of the table `replay`; NULL: none */
    size_t row_count;
};

/* Writes it to the attributes and the table `replay` of the begun run. */
bool store_set_execution(struct store *store, const struct execution *execution,
                         struct error *error);

/* Returns whether a write has failed. If so, the file cannot be finished. */
bool store_is_broken(const struct store *store);

/* Returns the number of finished runs. */
size_t store_run_count(const struct store *store);

/* The identity of a sweep's file. */
struct sweep_metadata {
    char identity[64 + 1];  /* SHA-256 of all inputs of the sweep's tables, except the shard */
    uint64_t shard, shards; /* shard 1..shards; shards = 0: the file is not of a sweep */
    uint64_t runs;          /* of the whole sweep: upper bound of a run's index */
    uint64_t missing;       /* runs of the shard that are not in the file: rows of /missing */
};

/* Writes a text of a sweep's file to an attribute, unless it is NULL or "": `sweep_command`, the
 * command that made it, or `show`, names of policies (plots/selection.h). */
bool store_set_text(struct store *store, const char *name, const char *text, struct error *error);

/* Returns whether both are of one shard of one sweep. */
bool sweep_metadata_equal(const struct sweep_metadata *one, const struct sweep_metadata *other);

/* Writes it to the file. */
bool store_set_sweep(struct store *store, const struct sweep_metadata *metadata,
                     struct error *error);

/* Appends a row to /missing. Rows are in the order of the sweep. */
bool store_append_missing(struct store *store, const struct missing_run *row, struct error *error);

/* Opens a results file of a sweep as a source of runs to copy. NULL: ERROR_INPUT. */
struct run_source;
struct run_source *run_source_open(const char *path, struct error *error);
void run_source_close(struct run_source *source);
/* Return its tables, and the index in the sweep of the run in row `run` of its summary. */
const struct results *run_source_results(const struct run_source *source);
uint64_t run_source_position(const struct run_source *source, size_t run);
/* Returns a text attribute of that run's group; NULL if it has none. */
const char *run_source_text(const struct run_source *source, size_t run, const char *name);

/* Reserves disk space for a copy of the whole file `path`. Must be called before the first run of
 * that file is copied: H5Ocopy of HDF5 1.10 crashes if it writes an attribute to a full disk.
 * store_finish releases unused space. ERROR_RUN if there is not enough space. */
bool store_reserve(struct store *store, const char *path, struct error *error);
/* Copies the run in row `run` of the source's summary, with its detailed rows, byte for byte. If
 * the source is of an earlier form of the sweep, `metadata` gives the run's place and names in this
 * one; else it is NULL. O(bytes). */
bool store_copy_run(struct store *store, struct run_source *source, size_t run,
                    const struct run_metadata *metadata, struct error *error);

/* Merges the shards of a sweep into `path`. Runs are in the order of the sweep, and their tables
 * are copied byte for byte. So are the rows of failed runs. ERROR_INPUT if a shard is missing or
 * duplicate, has runs that were not run, or differs in sweep, number of shards or program. The
 * message names the file. */
bool store_merge(const char *path, const char *const *shards, size_t count, struct error *error);

/* Writes and closes the file, then publishes it by rename. On failure (ERROR_RUN) an older file is
 * unchanged. Frees the store in either case. A begun run that has not ended is dropped. */
bool store_finish(struct store *store, struct error *error);
/* Closes and deletes the unfinished file; an older file is unchanged. NULL is allowed. */
void store_abandon(struct store *store);

/* ---- Reading ------------------------------------------------------------------------------- */

struct results {
    struct arena *arena; /* of all but the notices and the swept keys */
    char *path;
    char *version; /* version of the program that wrote the file; commit: its commit; sources: */
    char *commit;  /* the digest of its sources; NULL: not known */
    char *sources;
    struct summary_row *runs;
    size_t run_count;
    struct application_row *applications; /* each has the hash of one of `runs` */
    size_t application_count;
    size_t
        *first_row;   /* per run: its first row of applications, and per row the next of the same */
    size_t *next_row; /* run; RESULTS_NONE: none (results_link) */
    struct training_summary_row *training; /* runs with trainings, in the order of `runs` */
    size_t training_count;
    /* Runs that the sweep should have and the file has not, in the order of the sweep. Files of
     * earlier versions have no such rows: then missing_count is 0 and sweep.missing is not. */
    struct missing_run *missing;
    size_t missing_count;
    struct notices *notices;     /* per run; NULL: none */
    struct swept_keys *swept;    /* keys that the sweep sets; NULL: none */
    unsigned char *values;       /* per run: its row of their values, swept->row_bytes each */
    char *command;               /* that made the sweep; NULL: not known */
    char *show;                  /* "esg,fifo": policies that figures show; NULL: the first */
    struct sweep_metadata sweep; /* .shards = 0: not written by a sweep */
};

/* Loads the tables of a results file. Columns that are unknown to this program are ignored. NULL:
 * ERROR_INPUT that names the file, the fault and the remedy. */
struct results *results_load(const char *path, struct error *error);
void results_free(struct results *results);

/* Links the rows of applications to their runs; a loaded file's are. ERROR_INPUT: a run is there
 * twice, or a row is of none. O(rows × log runs). */
bool results_link(struct results *results, struct error *error);
/* The first row of applications of a run; RESULTS_NONE: it has none. The rows are in the order of
 * the file. */
#define RESULTS_NONE SIZE_MAX
size_t results_first_row(const struct results *results, size_t run);
/* The measures of an application in a run; NULL: of all together. NULL: the run has it not. */
const struct measures *results_measures(const struct results *results, size_t run,
                                        const char *application);
/* The row of a run in /training; NULL: it has no trainings. O(rows). */
const struct training_summary_row *results_training(const struct results *results, size_t run);

/* The number of swept keys, and the index of one; the number if there is none of that name. */
size_t results_key_count(const struct results *results);
size_t results_key_find(const struct results *results, const char *name);
/* The row of values of the swept keys in a run (swept_number, swept_text). */
const void *results_values(const struct results *results, size_t run);

/* The detailed rows of one run, in the order in which the simulator recorded them: of its requests,
 * or of its trainings and their placement intervals. The others are NULL. */
struct run_record {
    struct arena *arena;          /* of all that it has */
    char *configuration;          /* JSON: the resolved experiment */
    struct request_row *requests; /* without `noise` */
    struct batch_row *batches;
    struct job_row *jobs;
    struct decision_row *decisions;
    struct choice_row *choices; /* of policy "tree"; NULL: none */
    struct container_row *containers;
    struct part_row *parts;
    struct lost_row *lost; /* NULL: none */
    size_t request_count, batch_count, job_count, decision_count, choice_count, container_count;
    size_t part_count, lost_count;
    char *policy_text; /* of the file that the policy read; NULL: none */
    char *models;      /* names, one per line; NULL: no trainings */
    struct training_result_row *trainings;
    struct lease_row *leases;
    struct lease_gpu_row *lease_gpus;
    size_t training_count, lease_count, lease_gpu_count;
};

/* Loads the rows of the run with that hash: of its requests, or `of_trainings`. NULL: ERROR_INPUT.
 * Free with arena_home_free. It is also an error if the run has no trainings, was not recorded with
 * "record": "all", or by a version that did not write all of these tables. */
struct run_record *run_record_load(const char *path, const char *hash, bool of_trainings,
                                   struct error *error);

#endif
