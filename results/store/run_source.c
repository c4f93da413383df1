/* Copies runs from one results file into another. HDF5 copies the group of a run. The rows of the
 * two tables are read and appended. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "results/store/store_hdf5.h"

enum { ROOM_SPARE = 1 << 16 }; /* bytes; the chunks of the merged tables may differ */

struct run_source {
    struct arena *arena; /* of this and all that it has, but the results */
    hid_t file;
    struct results *results;
    uint64_t *positions;
};

static bool positions_read(struct run_source *source, struct error *error)
{
    const struct results *results = source->results;
    source->positions =
        arena_allocate(source->arena, results->run_count, sizeof *source->positions);
    bool good = true;
    for (size_t run = 0; good && run < results->run_count; run++) {
        HANDLE group = store_open_run(source->file, results->runs[run].hash);
        good = group >= 0 && hdf5_get_u64(group, "position", &source->positions[run]);
        if (!good)
            (void)error_input(error, "%s: /runs/%s is damaged; run the shard again", results->path,
                              results->runs[run].hash);
    }
    return good;
}

struct run_source *run_source_open(const char *path, struct error *error)
{
    struct run_source *source = arena_home(sizeof *source);
    source->file = -1;
    source->results = results_load(path, error);
    if (source->results != NULL)
        source->file = store_open_read(path, error);
    if (source->file >= 0 && positions_read(source, error))
        return source;
    run_source_close(source);
    return NULL;
}

void run_source_close(struct run_source *source)
{
    if (source == NULL)
        return;
    if (source->file >= 0)
        (void)H5Fclose(source->file);
    results_free(source->results);
    arena_destroy(source->arena);
}

const struct results *run_source_results(const struct run_source *source)
{
    return source->results;
}

uint64_t run_source_position(const struct run_source *source, size_t run)
{
    return source->positions[run];
}

const char *run_source_text(const struct run_source *source, size_t run, const char *name)
{
    return store_run_text(source->arena, source->file, source->results->runs[run].hash, name);
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* HDF5 1.10 crashes if it copies an attribute of variable length beside many others, such as a
 * remark that h5py made. Groups with foreign attributes are therefore copied without any, which
 * then follow one by one. */
struct copying {
    hid_t group; /* the copy; below 0: none yet, foreign attributes are looked for */
    hid_t object;
};

/* Returns whether only others write attributes of this type. */
static bool is_foreign(hid_t type)
{
    const H5T_class_t class = H5Tget_class(type);
    return class != H5T_INTEGER && class != H5T_FLOAT &&
           (class != H5T_STRING || H5Tis_variable_str(type) != 0);
}

static bool attribute_copy(hid_t attribute, hid_t type, const char *name, hid_t to)
{
    HANDLE space = H5Aget_space(attribute);
    const hssize_t points = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    void *value = points < 0 ? NULL : calloc((size_t)points + 1, H5Tget_size(type));
    bool good = value != NULL && H5Aread(attribute, type, value) >= 0;
    if (good) {
        const hid_t copy = H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        good = copy >= 0 && H5Awrite(copy, type, value) >= 0;
        good = copy >= 0 && H5Aclose(copy) >= 0 && good;
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, value);
    }
    free(value);
    return good;
}

/* Returns 1, which ends the search, at a foreign attribute. */
static herr_t attribute_visit(hid_t from, const char *name, const H5A_info_t *info, void *context)
{
    const struct copying *copying = context;
    HANDLE attribute = H5Aopen(from, name, H5P_DEFAULT);
    HANDLE type = attribute < 0 ? -1 : H5Aget_type(attribute);
    if (type < 0)
        return -1;
    if (copying->group < 0)
        return is_foreign(type);
    return H5Aexists(copying->object, name) > 0 || /* an object of two names */
                   attribute_copy(attribute, type, name, copying->object)
               ? 0
               : -1;
}

static herr_t object_visit(hid_t from, const char *name, const H5L_info_t *info, void *context)
{
    struct copying *copying = context;
    if (info != NULL && info->type != H5L_TYPE_HARD)
        return 0;
    HANDLE object = H5Oopen(from, name, H5P_DEFAULT);
    HANDLE copy = copying->group < 0 ? -1 : H5Oopen(copying->group, name, H5P_DEFAULT);
    copying->object = copy;
    return object < 0
               ? -1
               : H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, attribute_visit, copying);
}

/* Visits the attributes of a run's group and of all objects in it. */
static herr_t group_visit(hid_t from, struct copying *copying)
{
    const herr_t result = object_visit(from, ".", NULL, copying);
    return result != 0 ? result
                       : H5Lvisit(from, H5_INDEX_NAME, H5_ITER_NATIVE, object_visit, copying);
}

static bool group_copy(struct store *store, const struct run_source *source, const char *hash)
{
    struct copying copying = {.group = -1};
    HANDLE from = store_open_run(source->file, hash);
    HANDLE how = H5Pcreate(H5P_OBJECT_COPY);
    const herr_t foreign = from < 0 ? -1 : group_visit(from, &copying);
    if (foreign > 0)
        (void)H5Pset_copy_object(how, H5O_COPY_WITHOUT_ATTR_FLAG);
    bool good = foreign >= 0 && H5Ocopy(from, ".", store->runs, hash, how, H5P_DEFAULT) >= 0;
    if (good && foreign > 0) {
        copying.group = H5Gopen2(store->runs, hash, H5P_DEFAULT);
        good = copying.group >= 0 && group_visit(from, &copying) >= 0;
        good = copying.group >= 0 && H5Gclose(copying.group) >= 0 && good;
    }
    return good;
}

/* Gives the copied group of a run its place and names in this sweep. */
static bool group_rename(const struct store *store, const struct run_metadata *metadata)
{
    const hid_t group = H5Gopen2(store->runs, metadata->hash, H5P_DEFAULT);
    bool good = group >= 0 && H5Adelete(group, "position") >= 0 &&
                hdf5_set_u64(group, "position", metadata->position);
#define TEXT_OF(field)                                                                             \
    good = good && H5Adelete(group, #field) >= 0 && hdf5_set_text(group, #field, metadata->field);
    RUN_METADATA(TEXT_OF)
#undef TEXT_OF
    return group >= 0 && H5Gclose(group) >= 0 && good;
}

/* Copies the table rows of one run. */
static bool rows_copy(struct store *store, const struct run_source *source, size_t run,
                      const struct run_metadata *metadata)
{
    const struct results *results = source->results;
    const struct training_summary_row *trained = results_training(results, run);
    struct summary_row summary = results->runs[run];
    if (metadata != NULL)
        store_name_summary(&summary, metadata);
    if (!store_append_summary(store, &summary, results_values(results, run),
                              metadata == NULL ? NULL : metadata->swept))
        return false;
    for (size_t row = results_first_row(results, run); row != RESULTS_NONE;
         row = results->next_row[row]) {
        struct application_row copy = results->applications[row];
        if (metadata != NULL)
            store_name_application(&copy, metadata);
        if (!table_append(&store->applications, &copy))
            return false;
    }
    if (trained == NULL)
        return true;
    struct training_summary_row copy = *trained;
    if (metadata != NULL)
        store_name_training(&copy, metadata);
    return store_append_training(store, &copy);
}

bool store_copy_run(struct store *store, struct run_source *source, size_t run,
                    const struct run_metadata *metadata, struct error *error)
{
    char name[sizeof "runs/" + TEXT_HASH];
    const char *hash = source->results->runs[run].hash;
    (void)snprintf(name, sizeof name, "runs/%s", hash);
    if (metadata == NULL && !swept_keys_equal(store->swept, source->results->swept))
        return error_run(error, "%s: its columns are not those of %s; run it again",
                         source->results->path, store->out.path);
    if (!group_copy(store, source, hash) || (metadata != NULL && !group_rename(store, metadata)))
        return store_fault(store, error, name);
    if (!rows_copy(store, source, run, metadata))
        return store_fault(store, error, "a run's figures");
    store->run_count++;
    return true;
}

/* Reserves disk space for `size` bytes from offset `begin` without a change of the file's size.
 * Returns 0 or an errno value. */
static int file_reserve(int file, off_t begin, off_t size)
{
    struct rlimit limit;
    struct statvfs disk;
    /* fallocate beyond the end of the file does not check this limit. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < (rlim_t)(begin + size))
        return EFBIG;
    if (fallocate(file, FALLOC_FL_KEEP_SIZE, begin, size) == 0)
        return 0;
    if ((errno != EOPNOTSUPP && errno != ENOSYS) || fstatvfs(file, &disk) != 0)
        return errno;
    return (double)disk.f_bavail * (double)disk.f_frsize < (double)size ? ENOSPC : 0;
}

bool store_reserve(struct store *store, const char *path, struct error *error)
{
    struct stat status;
    off_t size = store->room == 0 ? ROOM_SPARE : 0;
    size += stat(path, &status) == 0 ? status.st_size : 0;
    const int file = open(store->out.beside, O_RDWR | O_CLOEXEC);
    const int reason = file < 0 ? errno : file_reserve(file, store->room, size);
    if (file >= 0)
        (void)close(file);
    store->room += size;
    return reason == 0 || error_run(error, "%s: no room for %.1f MB: %s", store->out.path,
                                    (double)store->room / 1e6, strerror(reason));
}
