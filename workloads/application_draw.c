#include "workloads/application_draw.h"

#include "sim/engine/random.h"
#include "workloads/workload.h"

uint32_t application_draw_walk(const struct workload *workload, double uniform)
{
    const struct application *applications = workload->applications;
    double left = uniform;
    for (uint32_t a = 0; a < workload->application_count; a++) {
        if (left < applications[a].weight)
            return a;
        left -= applications[a].weight;
    }
    /* Rounding may leave a gap above the sum of the weights, which the last application with
     * positive weight gets. */
    uint32_t last = (uint32_t)workload->application_count - 1;
    while (last > 0 && !(applications[last].weight > 0))
        last--;
    return last;
}

uint32_t application_draw(const struct workload *workload, uint64_t seed, uint64_t request)
{
    struct random_stream stream;
    if (workload->application_count == 1)
        return 0;
    random_stream_open(&stream, seed, RANDOM_APPLICATION, request, 0);
    return application_draw_walk(workload, random_uniform(&stream));
}
