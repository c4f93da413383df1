#include <sys/stat.h>

#include "traces/calibrate/samples.h"

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool samples_read(struct sample_set *set, const char *const *files, size_t count, bool rehearsal,
                  struct error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!(is_folder(files[i]) ? measured_folder_read(set, files[i], rehearsal, error)
                                  : sample_table_read(set, files[i], error)))
            return false;
    if (!listing_check_rules(&set->table, error))
        return false;
    return samples_reduce(set, error) && samples_leave_out_lone(set, error);
}

void samples_note_cells(struct sample_set *set, int unit)
{
    size_t outside = 0, whole = 0;
    for (size_t i = 0; i < set->latency_count; i++) {
        outside += samples_in_unit(set, set->latencies[i].share, unit) < 0;
        whole += set->latencies[i].share == set->unit;
    }
    if (set->latency_count > 0 && whole == 0)
        samples_note(set, "no point is of the whole GPU: a time there is extrapolated");
    if (outside > 0)
        samples_note(set,
                     "%zu of %zu points have shares that are no whole number of 1/%d of a GPU: "
                     "they shape the fit, and are no cells of the profile",
                     outside, set->latency_count, unit);
}
