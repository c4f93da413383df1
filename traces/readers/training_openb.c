#include "traces/readers/training_openb.h"

#include <math.h>

#define MOST UINT64_C(1000000000)

const char openb_header[] = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
                            "creation_time,deletion_time,scheduled_time";

bool openb_row(struct reader *of, char **fields, struct training_row *row, struct error *error)
{
    const struct trace_reader *reader = (const struct trace_reader *)of;
    uint64_t vcpus = 0, memory_mib = 0, gpus = 0, share = 0;
    if (!trace_parse_count(reader, fields[1], "cpu_milli", MOST, &vcpus, error) ||
        !trace_parse_count(reader, fields[2], "memory_mib", MOST, &memory_mib, error) ||
        !trace_parse_count(reader, fields[3], "num_gpu", TRAINING_MOST_GPUS, &gpus, error) ||
        !trace_parse_count(reader, fields[4], "gpu_milli", 1000, &share, error) ||
        !trace_parse_time(reader, fields[8], "creation_time", SIM_S, &row->arrival, error))
        return false;
    if (vcpus == 0)
        return line_fault(&reader->lines, error, "cpu_milli is 0; give at least 1");
    if ((gpus > 0) != (share > 0))
        return line_fault(&reader->lines, error, "one of num_gpu and gpu_milli is 0, not both");
    if (fields[5][0] != '\0')
        return line_fault(&reader->lines, error,
                          "gpu_spec '%.40s' asks for GPU models, which is not modelled; leave it "
                          "empty",
                          fields[5]);
    const double parts = gpus > 0 ? (double)gpus : 1;
    row->gpus = (uint32_t)gpus;
    row->duration_s = INFINITY;
    row->request = row->limit = (double)share / 1000;
    row->vcpus = (double)vcpus / 1000 / parts;
    row->host_gb = (double)memory_mib / 1024 / parts;
    return true;
}
