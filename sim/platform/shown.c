#include "sim/platform/shown.h"

#include <malloc.h>
#include <stdalign.h>
#include <string.h>
#include <sys/mman.h>

/* A member that points to allocated memory: plain bytes, or structures with such members. */
struct member {
    size_t at, size, count_at; /* of each structure; where their number is; 0: what fits */
    const struct member *of;   /* NULL: plain bytes */
};
/* clang-format off */
#define PLAIN(type, member) {offsetof(struct type, member), 1, 0, NULL}
#define ARRAY(type, member, count, entry) \
    {offsetof(struct type, member), sizeof(struct entry), offsetof(struct type, count), entry##s}
#define MEMBERS(name, ...) static const struct member name[] = {__VA_ARGS__, {0, 0, 0, NULL}};

MEMBERS(function_gpus, PLAIN(function_gpu, cold_start_samples_ms))
MEMBERS(functions, PLAIN(function, name), PLAIN(function, model), PLAIN(function, service_samples_ms),
        PLAIN(function, cold_start_samples_ms), PLAIN(function, configurations),
        {offsetof(struct function, gpus), sizeof(struct function_gpu), 0, function_gpus})
MEMBERS(stages, PLAIN(stage, name), PLAIN(stage, after), PLAIN(stage, next))
MEMBERS(applications, PLAIN(application, name), ARRAY(application, stages, stage_count, stage))
MEMBERS(invoker_groups, PLAIN(invoker_group, gpus))
MEMBERS(training_elsewheres, PLAIN(training_elsewhere, gpu), PLAIN(training_elsewhere, iteration_s))
MEMBERS(training_models, PLAIN(training_model, name), PLAIN(training_model, iteration_s),
        PLAIN(training_model, restart_s), PLAIN(training_model, throughput),
        PLAIN(training_model, speed), PLAIN(training_model, penalty),
        ARRAY(training_model, elsewhere, elsewhere_count, training_elsewhere))
MEMBERS(all, ARRAY(shown, workload.functions, workload.function_count, function),
        ARRAY(shown, workload.applications, workload.application_count, application),
        ARRAY(shown, workload.cluster.groups, workload.cluster.group_count, invoker_group),
        PLAIN(shown, workload.kinds), PLAIN(shown, models.name), PLAIN(shown, models.evidence),
        PLAIN(shown, models.gpu), PLAIN(shown, models.vcpus), PLAIN(shown, models.memory_gb),
        PLAIN(shown, models.gangs), ARRAY(shown, models.models, models.count, training_model),
        PLAIN(shown, models.penalty), PLAIN(shown, models.pairs), PLAIN(shown, models.derived),
        PLAIN(shown, shapes))
/* clang-format on */

/* Copies what the members of one structure point to behind the first `used` bytes of `copy`, and
 * lets them point there. NULL: it only counts. Returns the bytes used then. */
static size_t copy_members(char *structure, const struct member *member, char *copy, size_t used)
{
    for (; structure != NULL && member->size > 0; member++) {
        char *from = NULL;
        memcpy(&from, structure + member->at, sizeof from);
        const size_t bytes = malloc_usable_size(from), unit = alignof(max_align_t);
        char *to = copy != NULL && from != NULL ? copy + used : from;
        if (to != from) {
            memcpy(to, from, bytes);
            memcpy(structure + member->at, &to, sizeof to);
        }
        used += (bytes + unit - 1) / unit * unit;
        size_t count = bytes / member->size;
        if (member->count_at > 0)
            memcpy(&count, structure + member->count_at, sizeof count);
        for (size_t i = 0; member->of != NULL && i < count; i++)
            used = copy_members(to + i * member->size, member->of, copy, used);
    }
    return used;
}

struct shown *shown_create(const struct shown *from)
{
    struct shown root = *from;
    root.bytes = copy_members((char *)&root, all, NULL, sizeof root);
    struct shown *shown =
        mmap(NULL, root.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (shown == MAP_FAILED)
        return NULL;
    *shown = root;
    (void)copy_members((char *)shown, all, (char *)shown, sizeof root);
    for (size_t k = 0; k < root.workload.kind_count; k++) {
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
