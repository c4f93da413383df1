/* The results file: the only part of the product that knows HDF5.
 *
 *   /summary              one row a run, in the order of the runs
 *   /applications         one row a run and application
 *   /runs/<hash>          a group a run; its attributes tell all that the run depended on
 *   /runs/<hash>/requests, batches, jobs, containers, decisions, timeline    as far as recorded
 *
 * The file of a sweep says in its attributes which sweep and shard it is of and what is missing;
 * every run's group carries its place in the sweep.
 *
 * Tables follow the HDF5 Table layout (H5TB; compound rows, chunked, deflated, with checksums), so
 * h5py, pandas and PyTables read them as they are. Each column's unit and meaning are attributes of
 * its table, FIELD_<i>_UNIT and FIELD_<i>_HELP. What depends on the machine or the clock is kept in
 * attributes: tables of the same runs hold the same bytes anywhere.
 *
 * A file is whole, or it does not have its name (traces/json/atomic_file.h). The file format is
 * that of HDF5 1.10, whose metadata carry checksums, so damage is told and not computed with.
 */
#ifndef ESGSIM_RESULTS_STORE_STORE_H
#define ESGSIM_RESULTS_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "results/store/columns.h"
#include "results/store/record.h"
#include "sim/error.h"
#include "sim/platform/simulation.h"

struct store;
struct results;

/* Begin `path` and lock it. NULL: ERROR_INPUT where it cannot be written there, ERROR_RUN where
 * another process writes there. Ends with store_finish or store_abandon. */
struct store *store_create(const char *path, struct error *error);

/* The same for a part of a sweep's results (results/store/run_folder.h). Its tables lack what
 * describes them to other programs, which takes longer to write than several short runs. It ends
 * with a seal (results/store/seal.h). */
struct store *store_create_part(const char *path, struct error *error);

/* One run: begin, record rows through the recorder, end. The facts are copied. ERROR_RUN where a
 * run of that hash is already there. */
bool store_begin_run(struct store *store, const struct run_facts *facts, struct error *error);
/* The same, from the experiment itself. */
bool store_begin_experiment(struct store *store, const struct experiment *experiment,
                            const struct policy *policy, const double *values, struct error *error);
/* Where the begun run's rows go; asks for no more than the experiment's record level. Valid until
 * the run ends. */
struct recorder store_recorder(struct store *store);
/* Write the figures; the application_count of `result` must be the experiment's. */
bool store_end_run(struct store *store, const struct simulation_result *result,
                   struct error *error);
/* Take the begun run, if any, out again, so that another can begin. */
bool store_drop_run(struct store *store, struct error *error);

/* Where and how the batches of a run executed that was replayed (results/compare/replay.h). */
struct execution {
    const char *backend; /* "green contexts", "MPS", …; "rehearsal" */
    const char *device;  /* the GPU's name; "none" */
    const char *driver;  /* and CUDA's version, as one text; "none" */
    const char *details; /* JSON object of whatever else belongs to it; NULL: {} */
    bool gpu;            /* false: no GPU took part */
    uint64_t starts;
    double late_us_mean, late_us_p99, late_us_max;
};

/* Note it in the attributes of the begun run. */
bool store_set_execution(struct store *store, const struct execution *execution,
                         struct error *error);

/* Whether something could not be written, so that the file is lost. */
bool store_is_broken(const struct store *store);

size_t store_run_count(const struct store *store);

/* What a sweep's file is of. */
struct sweep_facts {
    char identity[64 + 1];  /* SHA-256 of all that decides the sweep's tables, shards aside */
    uint64_t shard, shards; /* "shard of shards", from 1; shards = 0: the file is of no sweep */
    uint64_t runs;          /* of the whole sweep: upper limit of a run's place */
    uint64_t missing;       /* runs of the shard that are not in the file */
};

/* Note it in the file. */
bool store_set_sweep(struct store *store, const struct sweep_facts *facts, struct error *error);

/* A results file of a sweep that is open to take runs over. NULL: ERROR_INPUT. */
struct run_source;
struct run_source *run_source_open(const char *path, struct error *error);
void run_source_close(struct run_source *source);
/* Its tables, and the place in the sweep of the run in row `run` of its summary. */
const struct results *run_source_results(const struct run_source *source);
uint64_t run_source_position(const struct run_source *source, size_t run);

/* H5Ocopy of HDF5 1.10 crashes where an attribute finds no room on the disk. So before the first
 * run of the file `path` is copied, this reserves room for all of that file. store_finish gives
 * back what is left over. ERROR_RUN where there is none. */
bool store_reserve(struct store *store, const char *path, struct error *error);
/* Copies a run with its detailed rows, byte for byte. O(bytes). */
bool store_copy_run(struct store *store, struct run_source *source, size_t run,
                    struct error *error);

/* Join the shards of a sweep into `path`: the runs in the order of the sweep, their tables byte for
 * byte. ERROR_INPUT, one line that names the file, where a shard is missing or given twice, is not
 * whole, or is of another sweep, cut or version. */
bool store_merge(const char *path, const char *const *shards, size_t count, struct error *error);

/* Write out, close and give the file its name. On failure (ERROR_RUN) an older file stays. Frees
 * the store either way. A begun run that has not ended is left out of the tables. */
bool store_finish(struct store *store, struct error *error);
/* Close and remove what was written; an older file stays. NULL is allowed. */
void store_abandon(struct store *store);

/* ---- Reading ------------------------------------------------------------------------------- */

struct results {
    char *path;
    char *version; /* of the program that wrote it, and its commit */
    char *commit;
    struct summary_row *runs;
    size_t run_count;
    struct application_row *applications; /* each belongs to one of runs, by hash */
    size_t application_count;
    char **notices;           /* per run: lines as record.h's notices_next reads them; NULL: none */
    struct sweep_facts sweep; /* .shards = 0: not written by a sweep */
};

/* The tables of a results file. NULL: ERROR_INPUT that names the file, what is wrong with it and
 * what would be right. Columns unknown to this program are passed over. */
struct results *results_load(const char *path, struct error *error);
void results_free(struct results *results);

/* The detailed rows of one run, each in the order in which the simulator gave them. The noise
 * column of requests is not read. */
struct run_record {
    char *configuration; /* JSON: the resolved experiment */
    struct request_row *requests;
    struct batch_row *batches;
    struct job_row *jobs;
    struct decision_row *decisions;
    size_t request_count, batch_count, job_count, decision_count;
};

/* Of the run with that hash. NULL: ERROR_INPUT, also where the run was not recorded with
 * "record": "all" or by a version that did not write all of these. */
struct run_record *run_record_load(const char *path, const char *hash, struct error *error);
void run_record_free(struct run_record *record);

#endif
