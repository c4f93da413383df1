/* The rows of a trace of trainings, once they are read. */
#include <stdlib.h>
#include <string.h>

#include "traces/readers/training_layout.h"

static int compare_rows(const void *a, const void *b)
{
    const struct training_row *left = a, *right = b;
    if (left->arrival != right->arrival)
        return left->arrival < right->arrival ? -1 : 1;
    return (left->id > right->id) - (left->id < right->id);
}

/* Numbers the rows in their order, and makes the first arrival time 0. */
static void number_rows(struct training_trace *trace)
{
    const sim_time_t first = trace->rows[0].arrival;
    for (size_t i = 0; i < trace->count; i++) {
        trace->rows[i].id = i;
        trace->rows[i].arrival -= first;
    }
}

void training_trace_sort(struct training_trace *trace)
{
    qsort(trace->rows, trace->count, sizeof *trace->rows, compare_rows);
    number_rows(trace);
}

bool training_trace_keep(struct training_trace *trace, const char *path, const char *cluster,
                         struct error *error)
{
    size_t kept = 0;
    const char *const *names = (const char *const *)trace->clusters.names;
    for (size_t i = 0; i < trace->count; i++)
        if (trace->clusters.count > 0 && strcmp(names[trace->rows[i].cluster], cluster) == 0)
            trace->rows[kept++] = trace->rows[i];
    if (kept == 0) {
        const char *near = error_nearest_name(cluster, names, (int)trace->clusters.count);
        return error_input(error, "%s: has no training of the cluster \"%s\"%s%s%s", path, cluster,
                           near == NULL ? "" : "; did you mean \"", near == NULL ? "" : near,
                           near == NULL ? "" : "\"?");
    }
    trace->count = kept;
    number_rows(trace);
    return true;
}

void training_trace_free(struct training_trace *trace)
{
    if (trace == NULL)
        return;
    string_index_clear(&trace->models);
    string_index_clear(&trace->clusters);
    free(trace->rows);
    free(trace);
}
