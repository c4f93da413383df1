/* Internals of the store, for the files of the results folder that write one. */
#ifndef ESGSIM_RESULTS_STORE_STORE_HDF5_H
#define ESGSIM_RESULTS_STORE_STORE_HDF5_H

#include "results/store/hdf5_table.h"
#include "results/store/store.h"
#include "sim/base/atomic_file.h"

/* The tables of a run's group (sim/base/records.def), in the order in which they are created. Those
 * of trainings are first. */
enum detail {
#define RECORD(row, table, event, level, title) DETAIL_##table,
#include "sim/base/records.def"
    DETAILS
};

struct store {
    struct atomic_file out;
    hid_t file;                          /* HDF5 handle of out.beside */
    hid_t runs;                          /* group /runs */
    hid_t run;                           /* group of the begun run, -1 between runs */
    const struct run_metadata *metadata; /* of the run; NULL: none is begun */
    struct run_metadata *own;            /* the same, made by store_begin_experiment; or NULL */
    struct table_writer summary, applications;
    const struct swept_keys *swept; /* borrowed; NULL: none */
    struct layout *layout;          /* of the summary, with the swept keys; NULL: layout_summary */
    unsigned char *row;             /* of that layout */
    struct table_writer details[DETAILS];  /* of the begun run, as its record level asks */
    struct table_writer training, missing; /* begun with their first row */
    size_t run_count;
    bool broken;     /* a write has failed */
    bool keeps_rows; /* of a run, until it ends */
    bool is_part;    /* created by store_create_part */
    off_t room;      /* bytes reserved on the disk; 0: none */
};

/* Sets ERROR_RUN with the object `what` that could not be written, and the cause if HDF5 reports
 * one. Returns false. */
bool store_fault(struct store *store, struct error *error, const char *what);

/* Appends a row to /summary, with its values of the swept keys, if there are any: the text of each,
 * or their row `values` if `texts` is NULL. */
bool store_append_summary(struct store *store, const struct summary_row *row, const void *values,
                          const char *const *texts);

/* Appends a row to /training. The table is in the file only if a run has trainings. */
bool store_append_training(struct store *store, const struct training_summary_row *row);

/* Opens the group of a run. Below 0: it is not there. */
hid_t store_open_run(hid_t file, const char *hash);
/* Returns a text attribute of that group, which the caller frees; NULL: it is not there. */
char *store_run_text(struct arena *arena, hid_t file, const char *hash, const char *name);

/* Opens a results file for reading. Below 0: ERROR_INPUT, also if it is not a results file. */
hid_t store_open_read(const char *path, struct error *error);

#endif
