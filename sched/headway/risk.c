#include "sched/headway/risk.h"

#include <math.h>

/* The prior counts as much as this many ratios. */
static const double PRIOR = 10;

static uint32_t shares_of_kind(const struct workload *workload)
{
    uint32_t most = 0;
    for (size_t k = 0; k < workload->kind_count; k++)
        most = workload->kinds[k].units > most ? workload->kinds[k].units : most;
    return most + 1;
}

uint32_t risk_class_count(const struct workload *workload)
{
    return (uint32_t)workload->kind_count * shares_of_kind(workload);
}

uint32_t risk_class(const struct workload *workload, const struct configuration *configuration)
{
    return configuration->kind * shares_of_kind(workload) + configuration->vgpu;
}

void risk_start(struct risk *risk, double mean, double deviation)
{
    *risk = (struct risk){.mean = mean, .variance = deviation * deviation};
}

void risk_observe(struct risk *risk, double ratio, double rate)
{
    const double young = 1 / ((double)++risk->count + PRIOR);
    const double weight = young > rate ? young : rate;
    const double difference = ratio - risk->mean;
    risk->mean += weight * difference;
    /* Around the old and the new mean at once, as in Welford's recurrence. */
    risk->variance += weight * (difference * (ratio - risk->mean) - risk->variance);
}

double risk_factor(const struct risk *risk, double deviations)
{
    return risk->mean + deviations * sqrt(risk->variance);
}
