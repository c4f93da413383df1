#include "traces/calibrate/derive/derive.h"

#include <math.h>
#include <stdlib.h>

bool share_law_fit(const struct sample_set *set, const char *model, struct share_law *law,
                   struct error *error)
{
    static const bool held[LAW_COEFFICIENTS] = {
        [LAW_FLOOR_PER_ITEM] = true, [LAW_KINK] = true, [LAW_SHARE_EXPONENT] = true};
    size_t count = 0;
    struct latency_point *points = calloc(set->latency_count + 1, sizeof *points);
    if (points == NULL)
        return error_run(error, "out of memory for the samples of %s", model);
    for (size_t i = 0; i < set->latency_count; i++) {
        const struct latency_sample *sample = &set->latencies[i];
        if ((int32_t)sample->function == string_index_find(&set->functions, model))
            points[count++] = (struct latency_point){
                .batch = sample->batch, .share = samples_share(set, sample), .ms = sample->ms};
    }
    const double ms = points[0].ms;
    const struct latency_law start = {{0.1 * ms, 0, 1e-3 * ms, 0.1 * ms, 0.02 * ms, 0.01, 1, 1}};
    bool fine = latency_law_fit_relative(points, count, &start, held, &law->law, error);
    /* Four significant digits: the precision of the measurements, and the same on every machine. */
    for (size_t i = 0; fine && i < LAW_COEFFICIENTS; i++)
        law->law.k[i] = profile_round(law->law.k[i], 4);
    law->mape = 0;
    for (size_t i = 0; fine && i < count; i++)
        law->mape +=
            fabs(latency_law_ms(&law->law, points[i].batch, points[i].share) / points[i].ms - 1) /
            (double)count;
    free(points);
    return fine;
}
