#include "traces/readers/training_parts.h"

#include <math.h>

#define MOST UINT64_C(1000000000)

bool openb_fill(const struct trace_reader *reader, char *const fields[TRAINING_ROLES],
                struct training_row *row, struct error *error)
{
    uint64_t vcpus = 0, memory_mib = 0, share = 0;
    if (!trace_parse_count(reader, fields[TRAINING_ROLE_VCPUS], "cpu_milli", MOST, &vcpus, error) ||
        !trace_parse_count(reader, fields[TRAINING_ROLE_HOST], "memory_mib", MOST, &memory_mib,
                           error) ||
        !trace_parse_count(reader, fields[TRAINING_ROLE_SHARE], "gpu_milli", 1000, &share, error))
        return false;
    if (vcpus == 0)
        return line_fault(&reader->lines, error, "cpu_milli is 0; give at least 1");
    if ((row->gpus > 0) != (share > 0))
        return line_fault(&reader->lines, error, "one of num_gpu and gpu_milli is 0, not both");
    const double parts = row->gpus > 0 ? (double)row->gpus : 1;
    row->duration_s = INFINITY;
    row->request = row->limit = (double)share / 1000;
    row->vcpus = (double)vcpus / 1000 / parts;
    row->host_gb = (double)memory_mib / 1024 / parts;
    return true;
}
