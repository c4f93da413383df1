/* Synergy-OPT: speeds from the first programme, which knows only the cluster as a whole. */
#include "sched/synergy/optimum.h"
#include "sched/synergy/round.h"

/* The class of a training; a new one if there is none. */
static size_t find_class(struct synergy_class *classes, size_t *count,
                         const struct synergy_training *training)
{
    size_t i = 0;
    while (i < *count && (classes[i].cells != training->cells || classes[i].gpus != training->gpus))
        i++;
    if (i == *count)
        classes[(*count)++] =
            (struct synergy_class){.cells = training->cells, .gpus = training->gpus};
    return i;
}

/* Within a class, the first in the order get the fastest cells. */
static void assign(struct synergy_class *classes, struct synergy_training **candidates,
                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct synergy_training *training = candidates[i];
        struct synergy_class *own = classes;
        while (own->cells != training->cells || own->gpus != training->gpus)
            own++;
        size_t cell = own->cells->count - 1;
        while (own->chosen[cell] == 0)
            cell--;
        own->chosen[cell]--;
        training->placed = true;
        training->rate = own->cells->cells[cell].speed;
        training->vcpus_per_gpu = own->cells->cells[cell].vcpus;
        training->memory_per_gpu = own->cells->cells[cell].memory;
    }
}

bool synergy_opt(struct synergy_round *round, struct synergy_training **candidates, size_t count,
                 struct error *error)
{
    const struct synergy_servers *servers = &round->servers;
    struct synergy_class *classes = arena_allocate(round->arena, count, sizeof *classes);
    size_t class_count = 0;
    size_t cells = 0;
    for (size_t i = 0; i < count; i++)
        classes[find_class(classes, &class_count, candidates[i])].count++;
    for (size_t c = 0; c < class_count; c++)
        cells += classes[c].cells->count;
    uint32_t *chosen = arena_allocate(round->arena, cells, sizeof *chosen);
    cells = 0;
    for (size_t c = 0; c < class_count; c++) {
        classes[c].chosen = &chosen[cells];
        cells += classes[c].cells->count;
    }
    const bool good =
        synergy_optimum(round->arena, classes, class_count, servers->count * servers->vcpus,
                        servers->count * servers->memory, NULL, error);
    if (good)
        assign(classes, candidates, count);
    arena_release(round->arena, classes);
    arena_release(round->arena, chosen);
    return good;
}
