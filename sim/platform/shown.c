#include "sim/platform/shown.h"

#include <stdalign.h>
#include <string.h>
#include <sys/mman.h>

/* A member that points to plain entries, or to structures with such members. */
struct member {
    size_t at, size, count_at; /* size: of an entry; count_at: where their number is */
    bool of_root;              /* the number is in the root, not beside the member */
    const struct member *of;   /* NULL: plain entries */
};
/* clang-format off */
#define ENTRY(type, member) offsetof(struct type, member), sizeof *((struct type *)NULL)->member
#define TEXT(type, member) {ENTRY(type, member), 0, false, NULL}
#define PLAIN(type, member, count) {ENTRY(type, member), offsetof(struct type, count), false, NULL}
#define ROOTED(type, member, count) {ENTRY(type, member), offsetof(struct shown, count), true, NULL}
#define ARRAY(type, member, count, of) {ENTRY(type, member), offsetof(struct type, count), false, of}
#define MEMBERS(name, ...) static const struct member name[] = {__VA_ARGS__, {0, 0, 0, false, NULL}};

MEMBERS(gpus_of, PLAIN(function_gpu, cold_start_samples_ms, cold_start_sample_count))
MEMBERS(functions_of, TEXT(function, name), TEXT(function, model),
        PLAIN(function, service_samples_ms, service_sample_count),
        PLAIN(function, cold_start_samples_ms, cold_start_sample_count),
        PLAIN(function, configurations, configuration_count),
        {ENTRY(function, gpus), offsetof(struct shown, workload.kind_count), true, gpus_of})
MEMBERS(stages_of, TEXT(stage, name), PLAIN(stage, after, after_count), PLAIN(stage, next, next_count))
MEMBERS(applications_of, TEXT(application, name), ARRAY(application, stages, stage_count, stages_of))
MEMBERS(groups_of, PLAIN(invoker_group, gpus, gpu_count))
MEMBERS(elsewhere_of, TEXT(training_elsewhere, gpu), ROOTED(training_elsewhere, iteration_s, models.gang_count))
MEMBERS(models_of, TEXT(training_model, name), ROOTED(training_model, iteration_s, models.gang_count),
        ROOTED(training_model, restart_s, models.gang_count), ROOTED(training_model, throughput, cells),
        PLAIN(training_model, speed, speed_count), PLAIN(training_model, penalty, penalty_count),
        ARRAY(training_model, elsewhere, elsewhere_count, elsewhere_of))
MEMBERS(all, ARRAY(shown, workload.functions, workload.function_count, functions_of),
        ARRAY(shown, workload.applications, workload.application_count, applications_of),
        ARRAY(shown, workload.cluster.groups, workload.cluster.group_count, groups_of),
        PLAIN(shown, workload.kinds, workload.kind_count), TEXT(shown, models.name),
        TEXT(shown, models.evidence), TEXT(shown, models.gpu),
        PLAIN(shown, models.vcpus, models.vcpu_count), PLAIN(shown, models.memory_gb, models.memory_count),
        PLAIN(shown, models.gangs, models.gang_count), ARRAY(shown, models.models, models.count, models_of),
        PLAIN(shown, models.penalty, models.penalty_count), PLAIN(shown, models.pairs, pairs),
        PLAIN(shown, models.derived, pairs), PLAIN(shown, shapes, shape_count))
/* clang-format on */

/* Copies what the members of one structure point to behind the first `used` bytes of `copy`, and
 * lets them point there. NULL: it only counts. Returns the bytes used then. */
__attribute__((cold)) static size_t copy_members(const struct shown *root, char *structure,
                                                 const struct member *member, char *copy,
                                                 size_t used)
{
    for (; member->size > 0; member++) {
        const size_t unit = alignof(max_align_t);
        char *from = NULL;
        memcpy(&from, structure + member->at, sizeof from);
        if (from == NULL)
            continue;
        size_t count = 0;
        if (member->count_at == 0)
            count = strlen(from) + 1;
        else
            memcpy(&count, (member->of_root ? (const char *)root : structure) + member->count_at,
                   sizeof count);
        char *to = copy != NULL ? copy + used : from;
        if (copy != NULL) {
            memcpy(to, from, count * member->size);
            memcpy(structure + member->at, &to, sizeof to);
        }
        used += (count * member->size + unit - 1) / unit * unit;
        for (size_t i = 0; member->of != NULL && i < count; i++)
            used = copy_members(root, to + i * member->size, member->of, copy, used);
    }
    return used;
}

__attribute__((cold)) struct shown *shown_create(const struct shown *from)
{
    struct shown root = *from;
    root.cells = root.models.vcpu_count * root.models.memory_count;
    root.pairs = root.models.count * root.models.count * root.models.gang_count;
    root.bytes = copy_members(&root, (char *)&root, all, NULL, sizeof root);
    struct shown *shown =
        mmap(NULL, root.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (shown == MAP_FAILED)
        return NULL;
    *shown = root;
    shown->models.arena = NULL;
    (void)copy_members(&root, (char *)shown, all, (char *)shown, sizeof root);
    for (size_t k = 0; k < root.workload.kind_count && !root.whole; k++) {
        struct gpu_kind *kind = &shown->workload.kinds[k];
        kind->profile = NULL;
        kind->interference = kind->fused_interference = NULL;
    }
    (void)mprotect(shown, root.bytes, PROT_READ);
    return shown;
}

void shown_clear(struct shown *shown)
{
    if (shown != NULL)
        (void)munmap(shown, shown->bytes);
}
