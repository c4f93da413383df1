#include "sched/synergy/optimum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums of speeds and resources are compared with this tolerance, relative to their size. */
#define TOLERANCE 1e-9

enum { STATES_MOST = 1 << 22, NONE = -1 };

/* ---- Cells ----------------------------------------------------------------------------------- */

static bool is_better(const struct synergy_cell *a, const struct synergy_cell *b)
{
    return a->vcpus <= b->vcpus && a->memory <= b->memory && a->speed >= b->speed &&
           (a->vcpus < b->vcpus || a->memory < b->memory || a->speed > b->speed);
}

static int compare_cells(const void *a, const void *b)
{
    const struct synergy_cell *left = a, *right = b;
    if (left->speed != right->speed)
        return left->speed < right->speed ? -1 : 1;
    if (left->vcpus != right->vcpus)
        return left->vcpus < right->vcpus ? -1 : 1;
    return (left->memory > right->memory) - (left->memory < right->memory);
}

/* Keeps the cells that no other one betters. */
static void filter_cells(struct synergy_cells *cells)
{
    size_t kept = 0;
    for (size_t i = 0; i < cells->count; i++) {
        bool good = true;
        for (size_t k = 0; k < cells->count && good; k++)
            good = !is_better(&cells->cells[k], &cells->cells[i]);
        if (!good) /* dropped; what it betters is bettered by another one as well */
            cells->cells[i].speed = -1;
    }
    for (size_t i = 0; i < cells->count; i++)
        if (cells->cells[i].speed >= 0)
            cells->cells[kept++] = cells->cells[i];
    cells->count = kept;
    qsort(cells->cells, kept, sizeof *cells->cells, compare_cells);
}

void synergy_cells_build(struct arena *arena, const double *vcpus, size_t vcpu_count,
                         const double *memory, size_t memory_count, const double *matrix,
                         double share_vcpus, double share_memory, double least,
                         struct synergy_cells *cells)
{
    const size_t most = matrix == NULL ? 1 : vcpu_count * memory_count;
    cells->count = 0;
    cells->cells = arena_allocate(arena, most, sizeof *cells->cells);
    if (matrix == NULL)
        cells->cells[cells->count++] =
            (struct synergy_cell){.vcpus = share_vcpus, .memory = share_memory, .speed = 1};
    for (size_t i = 0; matrix != NULL && i < vcpu_count; i++)
        for (size_t k = 0; k < memory_count; k++)
            if (matrix[i * memory_count + k] >= least)
                cells->cells[cells->count++] = (struct synergy_cell){
                    .vcpus = vcpus[i], .memory = memory[k], .speed = matrix[i * memory_count + k]};
    filter_cells(cells);
}

/* ---- The Lagrangian bound -------------------------------------------------------------------- */

struct problem {
    struct synergy_class *classes;
    size_t count;
    double vcpus, memory;             /* capacities */
    double price_vcpus, price_memory; /* λ */
    double bound;
    struct rest {                       /* of class i and all after it, against their best cells */
        double vcpus_less, memory_less; /* greatest reductions */
        double worth_more;              /* greatest increase of λ · resources */
    } * rest;
    uint32_t *best; /* cell of each class */
    double *loss;   /* [class][cell], loss of one training against the best cell */
    size_t cells_most;
};

static double priced(const struct problem *problem, const struct synergy_class *class, size_t cell)
{
    const struct synergy_cell *own = &class->cells->cells[cell];
    return own->speed -
           class->gpus * (problem->price_vcpus * own->vcpus + problem->price_memory * own->memory);
}

/* The bound at the present prices, and the vCPUs that the best cells use; of equal cells the first.
 */
static double bound_at(const struct problem *problem, double *vcpus)
{
    double bound = problem->price_vcpus * problem->vcpus + problem->price_memory * problem->memory;
    double used = 0;
    for (size_t i = 0; i < problem->count; i++) {
        const struct synergy_class *class = &problem->classes[i];
        double most = -INFINITY;
        double of_most = 0;
        for (size_t c = 0; c < class->cells->count; c++) {
            const double value = priced(problem, class, c);
            if (value > most) {
                most = value;
                of_most = class->cells->cells[c].vcpus;
            }
        }
        bound += class->count * most;
        used += (double)class->count * class->gpus * of_most;
    }
    *vcpus = used;
    return bound;
}

/* Least bound over the price of vCPUs, at the present price of memory: the bound is convex, and its
 * slope is what the best cells leave unused. */
static double minimise_over_vcpus(struct problem *problem, double most)
{
    double low = 0;
    double high = most;
    double used = 0;
    problem->price_vcpus = 0;
    const double bound = bound_at(problem, &used);
    if (used <= problem->vcpus)
        return bound;
    for (int i = 0; i < 52; i++) {
        problem->price_vcpus = 0.5 * (low + high);
        (void)bound_at(problem, &used);
        if (used > problem->vcpus)
            low = problem->price_vcpus;
        else
            high = problem->price_vcpus;
    }
    problem->price_vcpus = high;
    return bound_at(problem, &used);
}

/* Golden section over the price of memory. */
static void minimise(struct problem *problem)
{
    const double ratio = 0.6180339887498949;
    double speed = 0;
    double vcpus = INFINITY;
    double memory = INFINITY;
    for (size_t i = 0; i < problem->count; i++)
        for (size_t c = 0; c < problem->classes[i].cells->count; c++) {
            const struct synergy_cell *cell = &problem->classes[i].cells->cells[c];
            speed = fmax(speed, cell->speed);
            vcpus = fmin(vcpus, fmax(cell->vcpus, 1e-3));
            memory = fmin(memory, fmax(cell->memory, 1e-3));
        }
    const double most_vcpus = speed / vcpus;
    double low = 0;
    double high = speed / memory;
    double a = high - ratio * (high - low);
    double b = low + ratio * (high - low);
    problem->price_memory = 0;
    double least = minimise_over_vcpus(problem, most_vcpus);
    double at = 0;
    double at_a = 0;
    double at_b = 0;
    problem->price_memory = a;
    at_a = minimise_over_vcpus(problem, most_vcpus);
    problem->price_memory = b;
    at_b = minimise_over_vcpus(problem, most_vcpus);
    for (int i = 0; i < 60; i++) {
        if (at_a <= at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - ratio * (high - low);
            problem->price_memory = a;
            at_a = minimise_over_vcpus(problem, most_vcpus);
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + ratio * (high - low);
            problem->price_memory = b;
            at_b = minimise_over_vcpus(problem, most_vcpus);
        }
        if (fmin(at_a, at_b) < least) {
            least = fmin(at_a, at_b);
            at = at_a <= at_b ? a : b;
        }
    }
    problem->price_memory = at;
    problem->bound = minimise_over_vcpus(problem, most_vcpus);
}

/* Best cells, losses, and what the classes from i on can still change. */
static void prepare(struct problem *problem)
{
    problem->rest[problem->count] = (struct rest){0};
    for (size_t i = problem->count; i-- > 0;) {
        const struct synergy_class *class = &problem->classes[i];
        const struct synergy_cell *cells = class->cells->cells;
        uint32_t best = 0;
        for (uint32_t c = 1; c < class->cells->count; c++)
            if (priced(problem, class, c) > priced(problem, class, best))
                best = c;
        const double gpus = (double)class->gpus * class->count;
        struct rest most = {0};
        for (size_t c = 0; c < class->cells->count; c++) {
            const double vcpus = cells[best].vcpus - cells[c].vcpus;
            const double memory = cells[best].memory - cells[c].memory;
            problem->loss[i * problem->cells_most + c] =
                fmax(0, priced(problem, class, best) - priced(problem, class, c));
            most.vcpus_less = fmax(most.vcpus_less, gpus * vcpus);
            most.memory_less = fmax(most.memory_less, gpus * memory);
            most.worth_more = fmax(most.worth_more, -gpus * (problem->price_vcpus * vcpus +
                                                             problem->price_memory * memory));
        }
        problem->best[i] = best;
        problem->rest[i] = (struct rest){problem->rest[i + 1].vcpus_less + most.vcpus_less,
                                         problem->rest[i + 1].memory_less + most.memory_less,
                                         problem->rest[i + 1].worth_more + most.worth_more};
    }
}

/* ---- The search ------------------------------------------------------------------------------ */

/* A choice of cells other than the best for some trainings; the rest have their best cell. */
struct state {
    double vcpus, memory; /* used in all */
    double loss;          /* of the cells */
    int32_t parent;       /* NONE: the root */
    uint32_t class, cell; /* the last choice */
};

struct search {
    struct arena *arena;
    struct state *states;
    size_t count, capacity;
    int32_t *table; /* of the last state with these resources, by hash; NONE: empty */
    size_t slots;   /* a power of 2, above twice the states */
};

static uint64_t hash_of(const struct state *state)
{
    const uint64_t vcpus = (uint64_t)llround(state->vcpus * 1e6);
    const uint64_t memory = (uint64_t)llround(state->memory * 1e6);
    uint64_t hash = vcpus * 0x9E3779B97F4A7C15u ^ (memory + 0x7F4A7C15u) * 0xC2B2AE3D27D4EB4Fu;
    return hash ^ hash >> 29;
}

static bool same_resources(const struct state *a, const struct state *b)
{
    return llround(a->vcpus * 1e6) == llround(b->vcpus * 1e6) &&
           llround(a->memory * 1e6) == llround(b->memory * 1e6);
}

static size_t slot_of(const struct search *search, const struct state *state)
{
    size_t slot = hash_of(state) & (search->slots - 1);
    while (search->table[slot] != NONE &&
           !same_resources(&search->states[search->table[slot]], state))
        slot = (slot + 1) & (search->slots - 1);
    return slot;
}

static bool grow(struct search *search)
{
    const size_t capacity = search->capacity == 0 ? 1024 : 2 * search->capacity;
    if (capacity > STATES_MOST)
        return false;
    search->states =
        arena_reallocate(search->arena, search->states, capacity, sizeof *search->states);
    search->table =
        arena_reallocate(search->arena, search->table, 4 * capacity, sizeof *search->table);
    search->capacity = capacity;
    search->slots = 4 * capacity;
    memset(search->table, 0xFF, search->slots * sizeof *search->table);
    for (size_t i = 0; i < search->count; i++)
        search->table[slot_of(search, &search->states[i])] = (int32_t)i;
    return true;
}

/* Adds a state, unless there is one with the same resources and no greater loss. That one was
 * reached by fewer choices in this class, so that it can do whatever the new one can. */
static bool add_state(struct search *search, const struct state *state)
{
    if (search->count == search->capacity && !grow(search))
        return false;
    const size_t slot = slot_of(search, state);
    if (search->table[slot] != NONE &&
        search->states[search->table[slot]].loss <= state->loss + 1e-12)
        return true;
    search->table[slot] = (int32_t)search->count;
    search->states[search->count++] = *state;
    return true;
}

/* The classes from `class` on cannot make it feasible, or lose less than `most`. */
static bool is_hopeless(const struct problem *problem, const struct state *state, size_t class,
                        double most)
{
    const struct rest *rest = &problem->rest[class];
    const double unused = problem->price_vcpus * (problem->vcpus - state->vcpus) +
                          problem->price_memory * (problem->memory - state->memory);
    return state->vcpus - rest->vcpus_less > problem->vcpus * (1 + TOLERANCE) ||
           state->memory - rest->memory_less > problem->memory * (1 + TOLERANCE) ||
           state->loss > most || state->loss + unused - rest->worth_more > most;
}

/* All choices for one more training of a class, from the states in [first, count). */
static bool expand(const struct problem *problem, struct search *search, size_t class, size_t first,
                   double most)
{
    const struct synergy_class *own = &problem->classes[class];
    const struct synergy_cell *best = &own->cells->cells[problem->best[class]];
    const double *loss = &problem->loss[class * problem->cells_most];
    const size_t end = search->count;
    for (size_t s = first; s < end; s++)
        for (uint32_t c = 0; c < own->cells->count; c++) {
            if (c == problem->best[class] || search->states[s].loss + loss[c] > most)
                continue;
            const struct synergy_cell *cell = &own->cells->cells[c];
            struct state state = search->states[s];
            state.vcpus += own->gpus * (cell->vcpus - best->vcpus);
            state.memory += own->gpus * (cell->memory - best->memory);
            state.loss += loss[c];
            state.parent = (int32_t)s;
            state.class = (uint32_t) class;
            state.cell = c;
            if (!is_hopeless(problem, &state, class, most) && !add_state(search, &state))
                return false;
        }
    return true;
}

/* Enumerates the choices that lose at most `most` against the bound. */
static bool enumerate(const struct problem *problem, struct search *search, double most)
{
    struct state root = {.parent = NONE};
    for (size_t i = 0; i < problem->count; i++) {
        const struct synergy_class *class = &problem->classes[i];
        const struct synergy_cell *best = &class->cells->cells[problem->best[i]];
        root.vcpus += (double)class->gpus * class->count * best->vcpus;
        root.memory += (double)class->gpus * class->count * best->memory;
    }
    search->count = 0;
    if (search->slots > 0)
        memset(search->table, 0xFF, search->slots * sizeof *search->table);
    if (!add_state(search, &root))
        return false;
    for (size_t i = 0; i < problem->count; i++) {
        size_t first = 0;
        for (uint32_t step = 0; step < problem->classes[i].count; step++) {
            const size_t before = search->count;
            if (!expand(problem, search, i, first, most))
                return false;
            if (search->count == before)
                break;
            first = before;
        }
    }
    return true;
}

/* The feasible state that loses least in all; NONE if none loses at most `most`. */
static int32_t best_state(const struct problem *problem, const struct search *search, double most)
{
    int32_t best = NONE;
    double least = most;
    for (size_t s = 0; s < search->count; s++) {
        const struct state *state = &search->states[s];
        const double unused = problem->price_vcpus * (problem->vcpus - state->vcpus) +
                              problem->price_memory * (problem->memory - state->memory);
        if (state->vcpus > problem->vcpus * (1 + TOLERANCE) ||
            state->memory > problem->memory * (1 + TOLERANCE) || state->loss + unused > least)
            continue;
        least = state->loss + unused;
        best = (int32_t)s;
    }
    return best;
}

static void read_choice(const struct problem *problem, const struct search *search, int32_t state)
{
    for (size_t i = 0; i < problem->count; i++) {
        struct synergy_class *class = &problem->classes[i];
        memset(class->chosen, 0, class->cells->count * sizeof *class->chosen);
        class->chosen[problem->best[i]] = class->count;
    }
    for (; search->states[state].parent != NONE; state = search->states[state].parent) {
        const struct state *own = &search->states[state];
        problem->classes[own->class].chosen[problem->best[own->class]]--;
        problem->classes[own->class].chosen[own->cell]++;
    }
}

static double sum_of(const struct problem *problem)
{
    double sum = 0;
    for (size_t i = 0; i < problem->count; i++)
        for (size_t c = 0; c < problem->classes[i].cells->count; c++)
            sum += problem->classes[i].chosen[c] * problem->classes[i].cells->cells[c].speed;
    return sum;
}

/* The smallest cells fit, each resource apart. */
static bool may_fit(const struct problem *problem)
{
    double vcpus = 0;
    double memory = 0;
    for (size_t i = 0; i < problem->count; i++) {
        const struct synergy_class *class = &problem->classes[i];
        struct synergy_cell least = {INFINITY, INFINITY, 0};
        for (size_t c = 0; c < class->cells->count; c++) {
            least.vcpus = fmin(least.vcpus, class->cells->cells[c].vcpus);
            least.memory = fmin(least.memory, class->cells->cells[c].memory);
        }
        vcpus += (double)class->gpus * class->count * least.vcpus;
        memory += (double)class->gpus * class->count * least.memory;
    }
    return vcpus <= problem->vcpus * (1 + TOLERANCE) && memory <= problem->memory * (1 + TOLERANCE);
}

static bool solve(struct problem *problem, struct search *search, struct error *error)
{
    if (!may_fit(problem))
        return error_run(error, "synergy: no choice of vCPUs and memory fits the cluster");
    minimise(problem);
    prepare(problem);
    const double scale = fmax(1, problem->bound);
    for (double most = scale * 1e-5;; most *= 2) {
        if (!enumerate(problem, search, most + scale * TOLERANCE))
            return error_run(error, "synergy: the optimum needs more than %d states",
                             STATES_MOST / 2);
        const int32_t best = best_state(problem, search, most + scale * TOLERANCE);
        if (best != NONE) {
            read_choice(problem, search, best);
            return true;
        }
        if (most > 4 * scale)
            return error_run(error, "synergy: no choice of vCPUs and memory fits the cluster");
    }
}

bool synergy_optimum(struct arena *arena, struct synergy_class *classes, size_t count, double vcpus,
                     double memory, double *optimum, struct error *error)
{
    struct problem problem = {.classes = classes, .count = count, .vcpus = vcpus, .memory = memory};
    struct search search = {.arena = arena};
    for (size_t i = 0; i < count; i++)
        if (classes[i].cells->count > problem.cells_most)
            problem.cells_most = classes[i].cells->count;
    problem.rest = arena_allocate(arena, count + 1, sizeof *problem.rest);
    problem.best = arena_allocate(arena, count, sizeof *problem.best);
    problem.loss = arena_allocate(arena, count * problem.cells_most, sizeof *problem.loss);
    const bool good = solve(&problem, &search, error);
    if (good && optimum != NULL)
        *optimum = sum_of(&problem);
    arena_release(arena, search.states);
    arena_release(arena, search.table);
    arena_release(arena, problem.rest);
    arena_release(arena, problem.best);
    arena_release(arena, problem.loss);
    return good;
}
