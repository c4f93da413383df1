#include "workloads/application_draw.h"

#include "sim/engine/random.h"
#include "workloads/workload.h"

uint32_t application_draw_walk(const struct workload *workload, double uniform)
{
    double left = uniform;
    uint32_t drawn = 0;
    /* Rounding may leave a gap above the sum of the weights, which the last application with
     * positive weight gets. */
    for (uint32_t a = 0; a < workload->application_count; a++) {
        double weight = workload->applications[a].weight;
        if (weight <= 0)
            continue;
        drawn = a;
        if (left < weight)
            break;
        left -= weight;
    }
    return drawn;
}

uint32_t application_draw(const struct workload *workload, uint64_t seed, uint64_t request)
{
    struct random_stream stream;
    if (workload->application_count == 1)
        return 0;
    random_stream_open(&stream, seed, RANDOM_APPLICATION, request, 0);
    return application_draw_walk(workload, random_uniform(&stream));
}
