/* Traces written in the layout esgsim. */
#include <errno.h>
#include <string.h>

#include <zlib.h>

#include "sim/base/atomic_file.h"
#include "traces/readers/trace_layout.h"
#include "traces/readers/training_trace.h"

/* A file being written. */
struct own_file {
    struct atomic_file file;
    gzFile out;
};

static bool own_begin(struct own_file *own, const char *path, struct error *error)
{
    const size_t length = strlen(path);
    const bool zipped = length > 3 && strcmp(path + length - 3, ".gz") == 0;
    if (!atomic_file_begin(&own->file, path, error))
        return false;
    errno = 0;
    own->out = gzopen(own->file.beside, zipped ? "wb9" : "wbT");
    if (own->out != NULL)
        return true;
    (void)error_run(error, "%s: cannot be created: %s", path,
                    errno != 0 ? strerror(errno) : "out of memory");
    return atomic_file_end(&own->file, false, error);
}

static bool own_end(struct own_file *own, bool good, const char *path, struct error *error)
{
    errno = 0;
    if (gzclose(own->out) != Z_OK && good)
        good = error_run(error, "%s: cannot be written: %s", path,
                         errno != 0 ? strerror(errno) : "compression failed");
    return atomic_file_end(&own->file, good, error);
}

static bool not_written(const char *path, struct error *error)
{
    return error_run(error, "%s: cannot be written: %s", path, strerror(errno));
}

/* ---- Requests -------------------------------------------------------------------------------- */

static bool put_record(gzFile out, const struct trace_record *record, const char *application,
                       bool with_slo)
{
    char slo[40] = "";
    if (with_slo && record->slo > 0)
        (void)snprintf(slo, sizeof slo, "%lld.%06lld", (long long)(record->slo / SIM_MS),
                       (long long)(record->slo % SIM_MS));
    return gzprintf(out, "%lld.%06lld,%s%s%s\n", (long long)(record->time / SIM_MS),
                    (long long)(record->time % SIM_MS), application, with_slo ? "," : "", slo) > 0;
}

static bool write_records(struct trace_reader *reader, const char *application, gzFile out,
                          const char *path, struct error *error)
{
    struct error fault = {.kind = ERROR_NONE};
    struct trace_record record;
    uint64_t records = 0;
    const struct trace_columns *columns = reader->view.columns;
    const bool with_slo =
        strcmp(reader->format, "esgsim") == 0 || (columns != NULL && columns->slo_ms != NULL);
    errno = 0;
    if (gzputs(out, with_slo ? "time_ms,application,slo_ms\n" : "time_ms,application\n") < 0)
        return not_written(path, error);
    for (; trace_next(reader, &record, &fault); records++) {
        const char *name = application == NULL ? record.source : application;
        if (*name == '\0')
            return error_input(error, "%s: %s names no sources; give --application NAME%s",
                               reader->path, reader->format,
                               columns == NULL ? "" : ", or application= in --columns");
        if (!put_record(out, &record, name, with_slo))
            return not_written(path, error);
    }
    if (fault.kind != ERROR_NONE) {
        if (error != NULL)
            *error = fault;
        return false;
    }
    return records > 0 ||
           error_input(error, "%s: no request in this part of the trace", reader->path);
}

bool trace_write(struct trace_reader *reader, const char *application, const char *path,
                 struct error *error)
{
    struct own_file own = {.out = NULL};
    return own_begin(&own, path, error) &&
           own_end(&own, write_records(reader, application, own.out, path, error), path, error);
}

/* ---- Trainings ------------------------------------------------------------------------------- */

/* Seconds behind `before`, with as few decimals as they have; nothing below 0. */
static bool put_time(gzFile out, const char *before, sim_time_t time)
{
    char text[48] = ".";
    if (time >= 0)
        (void)snprintf(text, sizeof text, "%lld.%09lld", (long long)(time / SIM_S),
                       (long long)(time % SIM_S));
    char *end = text + strlen(text);
    while (end[-1] == '0')
        end--;
    end[end[-1] == '.' ? -1 : 0] = '\0';
    return gzprintf(out, "%s%s", before, text) > 0;
}

/* Seconds; none of 0. */
static bool put_span(gzFile out, double seconds)
{
    return put_time(out, ",", seconds > 0 ? sim_from_s(seconds) : -1);
}

/* A name, in quotes if it holds a comma; nothing where there is none. */
static bool put_name(gzFile out, const struct string_index *names, int32_t number)
{
    const char *name = number == TRAINING_NO_MODEL ? "" : names->names[number];
    return gzprintf(out, strchr(name, ',') == NULL ? ",%s" : ",\"%s\"", name) > 0;
}

static bool write_trainings(const struct training_trace *trace, gzFile out)
{
    bool timed = false, iterations = false, own_times = false, ids = false;
    for (size_t i = 0; i < trace->count; i++) {
        timed = timed || trace->rows[i].duration_s > 0;
        iterations = iterations || trace->rows[i].iterations > 0;
        own_times = own_times || trace->rows[i].iteration_ms > 0;
        ids = ids || trace->rows[i].id != i;
    }
    bool good = gzprintf(out, "arrival_s,gpus%s%s%s%s%s%s%s\n", ids ? ",id" : "",
                         trace->models.count > 0 ? ",model" : "", iterations ? ",iterations" : "",
                         timed ? ",duration_s" : "", own_times ? ",iteration_s" : "",
                         trace->clusters.count > 0 ? ",cluster" : "",
                         trace->gpu_types.count > 0 ? ",gpu_types" : "") > 0;
    for (size_t i = 0; good && i < trace->count; i++) {
        const struct training_row *row = &trace->rows[i];
        const unsigned long long id = row->id, made = row->iterations;
        good = put_time(out, "", row->arrival) && gzprintf(out, ",%u", row->gpus) > 0 &&
               (!ids || gzprintf(out, ",%llu", id) > 0) &&
               (trace->models.count == 0 || put_name(out, &trace->models, row->model)) &&
               (!iterations || gzprintf(out, made > 0 ? ",%llu" : ",", made) > 0) &&
               (!timed || put_span(out, row->duration_s)) &&
               (!own_times || put_span(out, row->iteration_ms / 1000)) &&
               (trace->clusters.count == 0 || put_name(out, &trace->clusters, row->cluster)) &&
               (trace->gpu_types.count == 0 || put_name(out, &trace->gpu_types, row->gpu_types)) &&
               gzputs(out, "\n") > 0;
    }
    return good;
}

bool training_trace_write(const struct training_trace *trace, const char *path, struct error *error)
{
    struct own_file own = {.out = NULL};
    if (!own_begin(&own, path, error))
        return false;
    errno = 0;
    const bool good = write_trainings(trace, own.out) || not_written(path, error);
    return own_end(&own, good, path, error);
}
