#include "sched/infless/estimator.h"

#include <math.h>
#include <stdlib.h>

/* Lower limit for a share of GPU time or of free resources [code: 1.001 - utilisation]. */
static const double LEAST_SHARE = 0.001;

double infless_need(const struct infless_rule *rule, double vcpus, double units, uint32_t kind)
{
    const double worth = rule->worth == NULL ? 1 : rule->worth[kind];
    return rule->vcpu_weight * vcpus + rule->unit_weight * worth * units;
}

static double whole(enum infless_form form, double rate)
{
    const bool wholes = form == INFLESS_REPO || form == INFLESS_LOGGED;
    return wholes && rate >= 1 ? floor(rate) : rate;
}

bool infless_bound(enum infless_form form, uint32_t batch, sim_time_t time, sim_time_t slo,
                   struct infless_bounds *bounds)
{
    if (time > (batch == 1 ? slo : slo / 2))
        return false;
    const double up = whole(form, batch / sim_to_s(time));
    const double least = up < 1 && form == INFLESS_LOGGED ? 0 : fmin(1, up);
    const double low = batch == 1 ? least : whole(form, batch / sim_to_s(slo - time));
    *bounds = (struct infless_bounds){.low = low, .up = up, .timeout = slo - time};
    return true;
}

bool infless_bound_candidate(const struct infless_rule *rule, const struct function *function,
                             sim_time_t slo, struct infless_candidate *candidate)
{
    const struct configuration spec = {.kind = candidate->kind, .batch = candidate->batch};
    const sim_time_t turnaround = configuration_turnaround(function, &spec);
    struct infless_bounds *bounds = &candidate->bounds;
    if (!infless_bound(rule->form, candidate->batch, candidate->time, slo, bounds))
        return false;
    if (turnaround > 0) {
        bounds->up = whole(rule->form, candidate->batch / sim_to_s(candidate->time + turnaround));
        bounds->low = fmin(bounds->low, bounds->up);
    }
    return true;
}

static sim_time_t predicted(const struct infless_rule *rule, sim_time_t time)
{
    return (sim_time_t)ceil((double)time * (1 + rule->margin));
}

static bool threads_allowed(const struct infless_rule *rule, const struct configuration *one)
{
    const uint16_t most = one->batch > 2 ? one->batch : 2;
    return !rule->batch_threads || one->vcpu <= most;
}

static struct infless_candidate candidate_of(const struct infless_rule *rule,
                                             const struct function *function, size_t index)
{
    const struct configuration *one = &function->configurations[index];
    return (struct infless_candidate){.configuration = (uint32_t)index,
                                      .batch = one->batch,
                                      .vcpu = one->vcpu,
                                      .vgpu = one->vgpu,
                                      .kind = one->kind,
                                      .time = predicted(rule, one->time)};
}

/* Largest batch first; within a batch the last configuration first. */
static int compare_candidates(const void *left, const void *right)
{
    const struct infless_candidate *a = left;
    const struct infless_candidate *b = right;
    if (a->batch != b->batch)
        return a->batch > b->batch ? -1 : 1;
    return a->configuration > b->configuration ? -1 : a->configuration < b->configuration;
}

size_t infless_candidates(const struct infless_rule *rule, const struct function *function,
                          const bool *allowed, sim_time_t slo, uint32_t max_batch,
                          struct infless_candidate *candidates)
{
    size_t count = 0;
    for (size_t i = function->configuration_count; i-- > 0;) {
        const struct configuration *one = &function->configurations[i];
        if ((allowed != NULL && !allowed[i]) || one->batch > max_batch ||
            !threads_allowed(rule, one))
            continue;
        candidates[count] = candidate_of(rule, function, i);
        count += infless_bound_candidate(rule, function, slo, &candidates[count]);
    }
    qsort(candidates, count, sizeof *candidates, compare_candidates);
    return count;
}

bool infless_best_effort(const struct infless_rule *rule, const struct function *function,
                         const bool *allowed, struct infless_candidate *candidate)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < function->configuration_count; i++) {
        const struct configuration *one = &function->configurations[i];
        if ((allowed == NULL || allowed[i]) && one->batch == 1 &&
            (best == SIZE_MAX || one->time < function->configurations[best].time))
            best = i;
    }
    if (best == SIZE_MAX)
        return false;
    *candidate = candidate_of(rule, function, best);
    return infless_bound_candidate(rule, function, candidate->time, candidate);
}

double infless_best_throughput(const struct infless_rule *rule, const struct function *function)
{
    double best = 0;
    for (size_t i = 0; i < function->configuration_count; i++) {
        const struct configuration *one = &function->configurations[i];
        const double need = infless_need(rule, one->vcpu, one->vgpu, one->kind);
        best = fmax(best, one->batch / sim_to_s(configuration_held(function, one)) / need);
    }
    return best;
}

static double paper_efficiency(const struct infless_rule *rule,
                               const struct infless_candidate *candidate,
                               const struct infless_slot *slot)
{
    const bool total = rule->form == INFLESS_PAPER_TOTAL;
    const double need = infless_need(rule, candidate->vcpu, candidate->vgpu, candidate->kind);
    const double open = infless_need(rule, total ? slot->vcpus : slot->free_vcpus,
                                     total ? slot->units : slot->free_units, candidate->kind);
    return candidate->bounds.up / need / fmax(1 - need / open, LEAST_SHARE);
}

static double repo_efficiency(const struct infless_rule *rule,
                              const struct infless_candidate *candidate,
                              const struct infless_slot *slot, double best)
{
    const double vcpus = slot->free_vcpus - candidate->vcpu + LEAST_SHARE * slot->vcpus;
    const double units = slot->free_units - candidate->vgpu + LEAST_SHARE * slot->units;
    const double left = infless_need(rule, vcpus, units, candidate->kind);
    const double all = infless_need(rule, slot->vcpus, slot->units, candidate->kind);
    return candidate->bounds.up / best / (left / all);
}

static double part_of(double part, double all)
{
    return part > 0 ? part / all : 0;
}

double infless_efficiency(const struct infless_rule *rule,
                          const struct infless_candidate *candidate,
                          const struct infless_slot *slot, double best)
{
    if (rule->form == INFLESS_LOGGED)
        return candidate->bounds.up /
               (part_of(candidate->vcpu, slot->vcpus) + part_of(candidate->vgpu, slot->units));
    return rule->form != INFLESS_REPO ? paper_efficiency(rule, candidate, slot)
                                      : repo_efficiency(rule, candidate, slot, best);
}

static bool within_rate(const struct infless_candidate *candidate, double rate, bool any_rate)
{
    return candidate->bounds.low <= rate || (any_rate && candidate->batch == 1);
}

/* The logs' choice within one slot, among candidates that take a greater part of its vCPUs than of
 * its GPU, or among the others. */
static void choose_in_slot(const struct infless_rule *rule,
                           const struct infless_candidate *candidates, size_t count, double rate,
                           bool any_rate, bool vcpus, const struct infless_cluster *cluster,
                           struct infless_choice *choice)
{
    const struct infless_slot *slot = &choice->slot;
    double greatest = 0;
    for (size_t i = 0; i < count; i++) {
        const struct infless_candidate *here = &candidates[i];
        if (choice->candidate != NULL && here->batch < choice->candidate->batch)
            break;
        const double efficiency = infless_efficiency(rule, here, slot, 0);
        if (!within_rate(here, rate, any_rate) || efficiency <= greatest ||
            (here->vcpu * slot->units > here->vgpu * slot->vcpus) != vcpus)
            continue;
        choice->looked++;
        if (!cluster->fits(cluster->context, here, slot))
            continue;
        greatest = efficiency;
        choice->candidate = here;
    }
}

/* The second round ignores which resource the slot should fill. */
static struct infless_choice choose_logged(const struct infless_rule *rule,
                                           const struct infless_candidate *candidates, size_t count,
                                           double rate, bool any_rate,
                                           const struct infless_cluster *cluster)
{
    struct infless_choice choice = {.candidate = NULL};
    for (int round = 0; round < 2; round++) {
        choice.slot.invoker = SIM_NONE;
        while (choice.candidate == NULL && cluster->next(cluster->context, &choice.slot)) {
            const struct infless_slot *slot = &choice.slot;
            const double used_vcpus = slot->vcpus - slot->free_vcpus;
            const double used_units = slot->units - slot->free_units;
            const bool vcpus = used_units * slot->vcpus >= used_vcpus * slot->units;
            choose_in_slot(rule, candidates, count, rate, any_rate, vcpus == (round == 0), cluster,
                           &choice);
        }
        if (choice.candidate != NULL)
            break;
    }
    return choice;
}

struct infless_choice infless_choose(const struct infless_rule *rule,
                                     const struct infless_candidate *candidates, size_t count,
                                     double best, double rate, bool any_rate,
                                     const struct infless_cluster *cluster)
{
    if (rule->form == INFLESS_LOGGED)
        return choose_logged(rule, candidates, count, rate, any_rate, cluster);
    struct infless_choice choice = {.candidate = NULL};
    double greatest = 0;
    for (size_t i = 0; i < count; i++) {
        const struct infless_candidate *here = &candidates[i];
        if (choice.candidate != NULL && here->batch < choice.candidate->batch)
            break;
        if (!within_rate(here, rate, any_rate))
            continue;
        struct infless_slot slot;
        choice.looked++;
        if (!cluster->fullest(cluster->context, here, &slot))
            continue;
        const double efficiency = infless_efficiency(rule, here, &slot, best);
        if (choice.candidate != NULL && efficiency <= greatest)
            continue;
        greatest = efficiency;
        choice.candidate = here;
        choice.slot = slot;
    }
    return choice;
}
