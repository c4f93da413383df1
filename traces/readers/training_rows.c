#include <stdlib.h>
#include <string.h>

#include "traces/readers/training_parts.h"

static int compare_rows(const void *a, const void *b)
{
    const struct training_row *left = a, *right = b;
    if (left->arrival != right->arrival)
        return left->arrival < right->arrival ? -1 : 1;
    return (left->id > right->id) - (left->id < right->id);
}

void training_rows_sort(struct training_trace *trace, bool number)
{
    qsort(trace->rows, trace->count, sizeof *trace->rows, compare_rows);
    const sim_time_t first = trace->rows[0].arrival;
    for (size_t i = 0; i < trace->count; i++) {
        trace->rows[i].id = number ? i : trace->rows[i].id;
        trace->rows[i].arrival -= first;
    }
}

bool training_trace_keep(struct training_trace *trace, const char *path, const char *cluster,
                         struct error *error)
{
    size_t kept = 0;
    const char *const *names = (const char *const *)trace->clusters.names;
    for (size_t i = 0; i < trace->count; i++)
        if (trace->clusters.count > 0 && trace->rows[i].cluster >= 0 &&
            strcmp(names[trace->rows[i].cluster], cluster) == 0)
            trace->rows[kept++] = trace->rows[i];
    if (kept == 0) {
        const char *near = error_nearest_name(cluster, names, (int)trace->clusters.count);
        return error_input(error, "%s: has no training of the cluster \"%s\"%s%s%s", path, cluster,
                           near == NULL ? "" : "; did you mean \"", near == NULL ? "" : near,
                           near == NULL ? "" : "\"?");
    }
    trace->count = kept;
    training_rows_sort(trace, true);
    return true;
}
