#include "sim/warm_index.h"

#include <stdlib.h>

#include "sim/cluster.h"

static struct fit_link *link_of(const struct cluster *cluster, uint32_t invoker, uint32_t function)
{
    return &cluster->cells[invoker * cluster->cell_stride + FIT_FUNCTION + function].link;
}

/* ---- Standings ------------------------------------------------------------------------------ */

/* The last bits are left for a walk to name a member with, the first for the headroom: no GPU has
 * more than 1,000 units. */
enum { MEMBER_BITS = 5, FILING_BITS = 46, VCPU_BITS = 8, VCPU_MAX = (1 << VCPU_BITS) - 1 };
_Static_assert((int)WARM_WALK_MAX <= 1 << MEMBER_BITS, "a walk names its members");

#define FILING_MASK (((uint64_t)1 << FILING_BITS) - 1)
#define MEMBER_MASK (((uint64_t)1 << MEMBER_BITS) - 1)

/* A filing as a standing ends with it: the later, the smaller. */
static inline uint64_t standing_filing(uint64_t filing)
{
    return ((FILING_MASK >> MEMBER_BITS) - filing) << MEMBER_BITS;
}

/* The invoker comes to (headroom, vcpus) with `filing`, as standing_filing gives it; false where it
 * stands there. */
static inline bool standing_move(uint64_t *standing, uint32_t headroom, uint32_t vcpus,
                                 uint64_t filing)
{
    const uint64_t place = (uint64_t)headroom << VCPU_BITS | vcpus;
    if (*standing >> FILING_BITS == place && *standing != 0)
        return false;
    *standing = place << FILING_BITS | filing;
    return true;
}

static inline uint32_t standing_headroom(uint64_t standing)
{
    return (uint32_t)(standing >> (FILING_BITS + VCPU_BITS));
}

static inline uint32_t standing_vcpus(uint64_t standing)
{
    return (uint32_t)(standing >> FILING_BITS) & VCPU_MAX;
}

/* Where the member of an invoker that moved to `moved` stands: the later of two filings at one
 * place counts. */
static inline uint64_t member_place(const struct warm_member *member, uint64_t moved)
{
    uint64_t since = (moved & ~FILING_MASK) | member->since;
    return moved < since ? moved : since;
}

static inline uint64_t member_standing(const struct cluster *cluster,
                                       const struct warm_function *warm,
                                       const struct warm_member *member)
{
    const struct warm_standing *invoker = &cluster->invokers[member->invoker].standing;
    return member_place(member, warm->on_gpu ? invoker->on_gpu : invoker->on_cpu);
}

/* ---- Start and end -------------------------------------------------------------------------- */

static void function_set_filed(struct cluster *cluster, uint32_t function, bool filed)
{
    const uint64_t bit = UINT64_C(1) << (function % 64);
    struct warm_function *warm = &cluster->by_function[function];
    uint64_t *word = &cluster->filed[function / 64].on_cpu;
    if (warm->always)
        word = &cluster->filed[function / 64].always;
    else if (warm->on_gpu)
        word = &cluster->filed[function / 64].on_gpu;
    cluster->filed_functions += filed;
    cluster->filed_functions -= warm->filed;
    warm->filed = filed;
    *word = filed ? *word | bit : *word & ~bit;
}

/* Do its containers stand on GPUs: all, or none of them? */
static void function_sort(const struct function *function, struct warm_function *warm)
{
    bool with = false, without = false;
    for (size_t c = 0; c < function->configuration_count; c++) {
        with = with || function->configurations[c].vgpu > 0;
        without = without || function->configurations[c].vgpu == 0;
    }
    warm->on_gpu = with;
    warm->always = with && without;
}

uint32_t warm_index_slots(const struct workload *workload)
{
    uint32_t most = 1;
    bool mixed = false;
    for (size_t g = 0; g < workload->cluster.group_count; g++)
        if (workload->cluster.groups[g].gpu_count > most)
            most = (uint32_t)workload->cluster.groups[g].gpu_count;
    for (size_t f = 0; f < workload->function_count; f++) {
        struct warm_function warm;
        function_sort(&workload->functions[f], &warm);
        mixed = mixed || warm.always;
    }
    return most + (most > 1 && mixed);
}

bool warm_index_init(struct cluster *cluster)
{
    cluster->by_function = calloc(cluster->function_count, sizeof *cluster->by_function);
    if (cluster->by_function == NULL)
        return false;
    for (uint32_t f = 0; f < cluster->function_count; f++) {
        struct warm_function *warm = &cluster->by_function[f];
        function_sort(&cluster->workload->functions[f], warm);
        warm->always = warm->always || cluster->fit_slots > 1;
        function_set_filed(cluster, f, warm->always);
    }
    return true;
}

void warm_index_clear(struct cluster *cluster)
{
    for (uint32_t f = 0; cluster->by_function != NULL && f < cluster->function_count; f++)
        free(cluster->by_function[f].members);
    free(cluster->by_function);
}

/* ---- Members -------------------------------------------------------------------------------- */

static bool members_grow(struct warm_function *warm)
{
    uint32_t capacity = warm->capacity == 0 ? 8 : 2 * warm->capacity;
    struct warm_member *members = realloc(warm->members, capacity * sizeof *members);
    if (members == NULL)
        return false;
    warm->members = members;
    warm->capacity = capacity;
    return true;
}

/* The latest last. */
static int filing_compare(const void *a, const void *b)
{
    uint64_t x = ((const struct warm_place *)a)->standing & FILING_MASK;
    uint64_t y = ((const struct warm_place *)b)->standing & FILING_MASK;
    return (x < y) - (x > y);
}

/* Files them anew in an index, the earliest first, so that the latest come first among equals. Each
 * has moved there, even if it has come back to where it is filed. */
static bool places_file(struct cluster *cluster, uint32_t index, struct warm_place *places,
                        uint32_t count)
{
    bool ok = true;
    if (count > 1)
        qsort(places, count, sizeof *places, filing_compare);
    for (uint32_t k = 0; k < count; k++) {
        fit_index_remove(&cluster->fit, index, places[k].invoker);
        ok = ok && fit_index_file(&cluster->fit, index, places[k].invoker,
                                  standing_headroom(places[k].standing),
                                  standing_vcpus(places[k].standing));
    }
    return ok;
}

static bool function_file(struct cluster *cluster, uint32_t function)
{
    struct warm_function *warm = &cluster->by_function[function];
    struct warm_place *places = malloc(warm->count * sizeof *places);
    if (places == NULL)
        return false;
    for (uint32_t k = 0; k < warm->count; k++)
        places[k] = (struct warm_place){member_standing(cluster, warm, &warm->members[k]),
                                        warm->members[k].invoker};
    const bool ok = places_file(cluster, FIT_FUNCTION + function, places, warm->count);
    free(places);
    function_set_filed(cluster, function, true);
    return ok;
}

/* Those of the index, taken out of it, become the list: the best first, the latest first among
 * equals. Since when each stands there is set so that they stay in that order; it is no later than
 * it was. */
static void function_unfile(struct cluster *cluster, uint32_t function)
{
    struct warm_function *warm = &cluster->by_function[function];
    uint64_t before = 0; /* the standing of the one before it in time, at the same place */
    uint32_t count = 0, invoker = SIM_NONE;
    while ((invoker = fit_index_next(&cluster->fit, FIT_FUNCTION + function, 0, 0, invoker)) !=
           SIM_NONE)
        warm->members[count++].invoker = invoker;
    for (uint32_t k = count; k-- > 0;) {
        struct warm_member *member = &warm->members[k];
        member->since = FILING_MASK;
        uint64_t here = member_standing(cluster, warm, member);
        if (before >> FILING_BITS == here >> FILING_BITS && here >= before && k + 1 < count)
            here = before - MEMBER_MASK - 1;
        member->since = here & FILING_MASK;
        before = here;
        fit_index_remove(&cluster->fit, FIT_FUNCTION + function, member->invoker);
        link_of(cluster, member->invoker, function)->position = k;
    }
    function_set_filed(cluster, function, false);
}

static bool member_add(struct cluster *cluster, uint32_t function, uint32_t invoker,
                       uint64_t filing)
{
    struct warm_function *warm = &cluster->by_function[function];
    const uint32_t place = warm->count++;
    if (warm->filed)
        return true;
    if (place == warm->capacity && !members_grow(warm))
        return false;
    link_of(cluster, invoker, function)->position = place;
    warm->members[place] = (struct warm_member){filing, invoker};
    return warm->count <= WARM_WALK_MAX || function_file(cluster, function);
}

static void member_remove(struct cluster *cluster, uint32_t function, uint32_t invoker)
{
    struct warm_function *warm = &cluster->by_function[function];
    struct fit_link *link = link_of(cluster, invoker, function);
    warm->count--;
    if (warm->filed) {
        fit_index_remove(&cluster->fit, FIT_FUNCTION + function, invoker);
        if (warm->count < WARM_WALK_MAX / 4)
            function_unfile(cluster, function);
        return;
    }
    const struct warm_member last = warm->members[warm->count];
    warm->members[link->position] = last;
    link_of(cluster, last.invoker, function)->position = link->position;
    link->position = SIM_NONE;
}

/* Files the entries of an invoker on whose GPUs the function idles, and no other. Containers
 * without a GPU are in the last entry, as on a GPU without headroom. */
static bool slots_file(struct cluster *cluster, uint32_t function, uint32_t invoker, uint32_t vcpus)
{
    const struct warm_list *list = cluster_warm(cluster, invoker, function);
    const uint32_t slots = cluster->fit_slots, first_gpu = cluster->invokers[invoker].first_gpu;
    uint64_t on_gpu = 0;
    bool on_cpu = false, ok = true;
    for (uint32_t id = list->idle_head; id != SIM_NONE; id = cluster->containers[id].next) {
        const uint32_t gpu = cluster->containers[id].gpu;
        if (gpu == SIM_NONE)
            on_cpu = true;
        else
            on_gpu |= UINT64_C(1) << (gpu - first_gpu);
    }
    for (uint32_t k = 0; k < slots; k++) {
        const bool gpu = k < 64 && (on_gpu >> k & 1) != 0;
        const uint32_t index = FIT_FUNCTION + function, entry = invoker * slots + k;
        if (gpu || (on_cpu && k == slots - 1))
            ok = ok && fit_index_file(&cluster->fit, index, entry,
                                      gpu ? gpu_headroom(&cluster->gpus[first_gpu + k]) : 0, vcpus);
        else
            fit_index_remove(&cluster->fit, index, entry);
    }
    return ok;
}

/* In the index of all invokers; one without a GPU is in its first entry. */
static bool slots_file_all(struct cluster *cluster, uint32_t invoker, uint32_t vcpus)
{
    const struct invoker_state *state = &cluster->invokers[invoker];
    const uint32_t first = invoker * cluster->fit_slots;
    bool ok = state->gpu_count > 0 || fit_index_file(&cluster->fit, FIT_ALL, first, 0, vcpus);
    for (uint32_t k = 0; ok && k < state->gpu_count; k++)
        ok = fit_index_file(&cluster->fit, FIT_ALL, first + k,
                            gpu_headroom(&cluster->gpus[state->first_gpu + k]), vcpus);
    return ok;
}

/* The invoker becomes a member of the function if a container of it idles there, else is none. */
static bool member_change(struct cluster *cluster, uint32_t function, uint32_t invoker,
                          uint64_t filing)
{
    const struct fit_link *link = link_of(cluster, invoker, function);
    const bool idle = cluster_warm(cluster, invoker, function)->idle_count > 0;
    if (cluster->by_function[function].always)
        return idle || slots_file(cluster, function, invoker, 0);
    const bool member = link->bucket != SIM_NONE || link->position != SIM_NONE;
    if (idle && !member)
        return member_add(cluster, function, invoker, filing);
    if (!idle && member)
        member_remove(cluster, function, invoker);
    return true;
}

/* For functions of which idle containers came or went since it was last filed. */
static bool members_change(struct cluster *cluster, uint32_t invoker, uint64_t filing)
{
    uint64_t *changed = &cluster->invokers[invoker].changed;
    bool ok = true;
    for (; *changed != 0; *changed &= *changed - 1)
        for (uint32_t f = (uint32_t)__builtin_ctzll(*changed); f < cluster->function_count; f += 64)
            ok = ok && member_change(cluster, f, invoker, filing);
    return ok;
}

/* In the indices of the functions that are idle here, of those that are filed. */
static bool filed_move(struct cluster *cluster, uint32_t invoker, uint32_t headroom, uint32_t vcpus)
{
    struct fit_index *fit = &cluster->fit;
    bool ok = true;
    for (uint32_t word = 0; word < cluster->mask_words; word++) {
        const struct warm_filed *filed = &cluster->filed[word];
        const uint64_t idle = *cluster_idle(cluster, invoker, word);
        const uint32_t first = FIT_FUNCTION + word * 64;
        const uint64_t on_gpu = idle & filed->on_gpu, on_cpu = idle & filed->on_cpu;
        if (on_gpu != 0)
            ok = ok && fit_index_file_set(fit, first, on_gpu, invoker, headroom, vcpus);
        if (on_cpu != 0)
            ok = ok && fit_index_file_set(fit, first, on_cpu, invoker, 0, vcpus);
        for (uint64_t bits = idle & filed->always; bits != 0; bits &= bits - 1) {
            const uint32_t f = word * 64 + (uint32_t)__builtin_ctzll(bits);
            ok = ok && slots_file(cluster, f, invoker, vcpus);
        }
    }
    return ok;
}

void warm_index_file(struct cluster *cluster, uint32_t invoker, uint32_t vcpus)
{
    struct invoker_state *state = &cluster->invokers[invoker];
    const uint64_t filing = standing_filing(++cluster->filings);
    const uint32_t headroom =
        state->gpu_count > 0 ? gpu_headroom(&cluster->gpus[state->first_gpu]) : 0;
    bool ok = true;
    if (cluster->fit_slots > 1)
        ok = slots_file_all(cluster, invoker, vcpus);
    else if (standing_move(&state->standing.on_gpu, headroom, vcpus, filing) && !state->moved) {
        state->moved = true;
        cluster->moved[cluster->moved_count++].invoker = invoker;
    }
    (void)standing_move(&state->standing.on_cpu, 0, vcpus, filing);
    if (state->changed != 0)
        ok = members_change(cluster, invoker, filing) && ok;
    if (cluster->filed_functions > 0)
        ok = ok && filed_move(cluster, invoker, headroom, vcpus);
    if (!ok)
        cluster->out_of_memory = true;
}

void warm_index_file_moved(struct cluster *cluster)
{
    for (uint32_t k = 0; k < cluster->moved_count; k++) {
        struct invoker_state *invoker = &cluster->invokers[cluster->moved[k].invoker];
        cluster->moved[k].standing = invoker->standing.on_gpu;
        invoker->moved = false;
    }
    if (!places_file(cluster, FIT_ALL, cluster->moved, cluster->moved_count))
        cluster->out_of_memory = true;
    cluster->moved_count = 0;
}

/* ---- Queries -------------------------------------------------------------------------------- */

/* Both walks look for the least standing at or after `from`. Counted from there, those before it
 * wrap round to the end, and a standing's last bits name the member that has it: so one comparison
 * a member yields both, without branches, for which member is better is anyone's guess. */
static inline uint32_t member_found(const struct warm_function *warm, uint64_t from, uint64_t least)
{
    if (least >= UINT64_MAX - from)
        return SIM_NONE;
    return warm->members[least & MEMBER_MASK].invoker;
}

/* The first member at or after `from`, among functions that use no GPU: all stand in the one row of
 * no headroom, where enough vCPUs is a place like any other. */
static uint32_t members_next_on_cpu(const struct cluster *cluster, const struct warm_function *warm,
                                    uint64_t from)
{
    const struct invoker_state *invokers = cluster->invokers;
    uint64_t least = UINT64_MAX;
    for (uint32_t k = 0; k < warm->count; k++) {
        const struct warm_member *member = &warm->members[k];
        uint64_t ahead = member_place(member, invokers[member->invoker].standing.on_cpu) - from + k;
        least = ahead < least ? ahead : least;
    }
    return member_found(warm, from, least);
}

/* The first member at or after `from` with enough vCPUs. */
static uint32_t members_next_on_gpu(const struct cluster *cluster, const struct warm_function *warm,
                                    uint64_t from, uint32_t need_vcpus)
{
    const struct invoker_state *invokers = cluster->invokers;
    const uint64_t need = (uint64_t)need_vcpus << FILING_BITS;
    const uint64_t vcpu_mask = (uint64_t)VCPU_MAX << FILING_BITS;
    uint64_t least = UINT64_MAX;
    for (uint32_t k = 0; k < warm->count; k++) {
        const struct warm_member *member = &warm->members[k];
        uint64_t here = member_place(member, invokers[member->invoker].standing.on_gpu);
        uint64_t short_of = (uint64_t)((here & vcpu_mask) < need);
        uint64_t ahead = (here - from + k) | (UINT64_C(0) - short_of);
        least = ahead < least ? ahead : least;
    }
    return member_found(warm, from, least);
}

uint32_t warm_index_next(const struct cluster *cluster, uint32_t function, uint32_t need_units,
                         uint32_t need_vcpus, uint32_t cursor)
{
    const struct warm_function *warm = &cluster->by_function[function];
    if (warm->filed)
        return fit_index_next(&cluster->fit, FIT_FUNCTION + function, need_units, need_vcpus,
                              cursor);
    if (need_units > cluster->fit.units)
        return SIM_NONE;
    uint32_t column = need_vcpus < cluster->fit.vcpus ? need_vcpus : cluster->fit.vcpus;
    uint64_t from = (uint64_t)need_units << (FILING_BITS + VCPU_BITS);
    if (cursor != SIM_NONE) {
        uint32_t place = link_of(cluster, cursor, function)->position;
        from = member_standing(cluster, warm, &warm->members[place]) + MEMBER_MASK + 1;
    }
    if (warm->on_gpu)
        return members_next_on_gpu(cluster, warm, from, column);
    const uint64_t enough = (uint64_t)column << FILING_BITS;
    return members_next_on_cpu(cluster, warm, from > enough ? from : enough);
}
