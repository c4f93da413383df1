#include "sched/common/slo.h"

#include <math.h>
#include <string.h>

#include "sched/common/dominators.h"

/* ---- The graph of junctions
 *
 * Points 2s and 2s + 1 are the start and the end of stage s. Two further points are the common
 * start of all sources and the common end of all sinks. Points joined by union-find form one
 * junction.
 */

struct arc {
    uint32_t tail, head; /* points; the head's junction is later */
    double length;       /* the stage's ANL; 0 for a slack arc (an edge) */
    bool is_stage;
};

struct junctions {
    struct arena *arena; /* scratch */
    size_t point_count;
    uint32_t *parent; /* union-find over points */
    struct arc *arcs; /* for each stage the edges into it, then the stage itself */
    size_t arc_count;
    uint32_t start, end;
};

static uint32_t junction_of(struct junctions *graph, uint32_t point)
{
    while (graph->parent[point] != point) {
        graph->parent[point] = graph->parent[graph->parent[point]];
        point = graph->parent[point];
    }
    return point;
}

static void junctions_make(struct junctions *graph, struct arena *arena,
                           const struct application *application, const struct slo_stage *stages)
{
    size_t n = application->stage_count;
    size_t edges = 0;
    for (size_t s = 0; s < n; s++)
        edges += application->stages[s].after_count;
    *graph = (struct junctions){.arena = arena, .point_count = 2 * n + 2};
    graph->start = (uint32_t)(2 * n);
    graph->end = (uint32_t)(2 * n + 1);
    graph->parent = arena_allocate(arena, graph->point_count, sizeof *graph->parent);
    graph->arcs = arena_allocate(arena, n + edges, sizeof *graph->arcs);
    for (uint32_t p = 0; p < graph->point_count; p++)
        graph->parent[p] = p;
    for (uint32_t s = 0; s < n; s++) {
        const struct stage *stage = &application->stages[s];
        for (size_t i = 0; i < stage->after_count; i++)
            graph->arcs[graph->arc_count++] =
                (struct arc){2 * stage->after[i] + 1, 2 * s, 0, false};
        graph->arcs[graph->arc_count++] = (struct arc){2 * s, 2 * s + 1, stages[s].anl, true};
        if (stage->after_count == 0)
            graph->parent[2 * s] = graph->start;
        if (stage->next_count == 0)
            graph->parent[2 * s + 1] = graph->end;
    }
}

/* Marks the junctions reachable from junction `from` (`back`: those that reach it). Bit 1: by any
 * arcs; bit 2: by a path with a stage on it. One pass suffices for an acyclic graph, because arcs
 * are in topological order. */
static void junctions_reach(struct junctions *graph, uint32_t from, bool back,
                            unsigned char *reached)
{
    memset(reached, 0, graph->point_count);
    reached[from] = 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < graph->arc_count; i++) {
            const struct arc *arc = &graph->arcs[back ? graph->arc_count - 1 - i : i];
            uint32_t near = junction_of(graph, back ? arc->head : arc->tail);
            uint32_t far = junction_of(graph, back ? arc->tail : arc->head);
            unsigned char gained = reached[near] != 0 && arc->is_stage ? 3 : reached[near];
            if (near != far && (gained & ~reached[far]) != 0) {
                reached[far] = (unsigned char)(reached[far] | gained);
                changed = true;
            }
        }
    }
}

/* Honours every edge: its two points become one junction, as do all junctions on a cycle. */
static void junctions_contract_all(struct junctions *graph)
{
    for (size_t a = 0; a < graph->arc_count; a++)
        if (!graph->arcs[a].is_stage)
            graph->parent[junction_of(graph, graph->arcs[a].tail)] =
                junction_of(graph, graph->arcs[a].head);
    size_t count = graph->point_count;
    unsigned char *after = arena_allocate(graph->arena, count, 1);
    unsigned char *before = arena_allocate(graph->arena, count, 1);
    for (uint32_t p = 0; p < count; p++) {
        if (junction_of(graph, p) != p)
            continue;
        junctions_reach(graph, p, false, after);
        junctions_reach(graph, p, true, before);
        for (uint32_t q = 0; q < count; q++)
            if (after[q] != 0 && before[q] != 0)
                graph->parent[q] = p;
    }
}

/* Honours an edge unless another path with a stage on it leads from one end to the other. Such an
 * edge waits for that path and keeps its slack. The result is acyclic. */
static void junctions_contract_safely(struct junctions *graph)
{
    unsigned char *reached = arena_allocate(graph->arena, graph->point_count, 1);
    for (size_t a = 0; a < graph->arc_count; a++) {
        if (graph->arcs[a].is_stage)
            continue;
        uint32_t tail = junction_of(graph, graph->arcs[a].tail);
        uint32_t head = junction_of(graph, graph->arcs[a].head);
        junctions_reach(graph, tail, false, reached);
        if ((reached[head] & 2) == 0)
            graph->parent[tail] = head;
    }
}

/* ---- Potentials ------------------------------------------------------------------------------ */

struct placing {
    struct arena *arena; /* scratch */
    struct arc *arcs;    /* between vertices, without loops */
    size_t arc_count;
    size_t vertex_count;
    double *potential;
    size_t *local; /* by vertex: index in the current list */
    size_t *stamp; /* by vertex: number of the list that last contained it */
    size_t stamps;
};

static const size_t OUTSIDE = SIZE_MAX;

/* Index in the current list; OUTSIDE if the vertex is not in it. */
static size_t place_of(const struct placing *placing, uint32_t vertex)
{
    return placing->stamp[vertex] == placing->stamps ? placing->local[vertex] : OUTSIDE;
}

/* True for the list's arcs, except those directly from its first to its last vertex. These are
 * branches without an interior. */
static bool arc_within(const struct placing *placing, const struct arc *arc, size_t count,
                       size_t *tail, size_t *head)
{
    *tail = place_of(placing, arc->tail);
    *head = place_of(placing, arc->head);
    return *tail != OUTSIDE && *head != OUTSIDE && !(*tail == 0 && *head == count - 1);
}

/* Longest path from the first vertex to each vertex, and from each to the last. Arcs are sorted by
 * tail in topological order, so one pass in each direction suffices. */
static void list_distances(const struct placing *placing, size_t count, double *up, double *down)
{
    size_t tail, head;
    for (size_t i = 0; i < count; i++)
        up[i] = down[i] = 0;
    for (size_t a = 0; a < placing->arc_count; a++)
        if (arc_within(placing, &placing->arcs[a], count, &tail, &head) &&
            up[tail] + placing->arcs[a].length > up[head])
            up[head] = up[tail] + placing->arcs[a].length;
    for (size_t a = placing->arc_count; a-- > 0;)
        if (arc_within(placing, &placing->arcs[a], count, &tail, &head) &&
            down[head] + placing->arcs[a].length > down[tail])
            down[tail] = down[head] + placing->arcs[a].length;
}

/* cut[i]: every path from first to last contains vertex i, that is, no arc skips it. */
static size_t list_cuts(const struct placing *placing, size_t count, bool *cut)
{
    size_t tail, head, cuts = 0;
    size_t farthest = 0; /* farthest head of the arcs so far, which are in order of tail */
    for (size_t i = 0; i < count; i++)
        cut[i] = true;
    for (size_t a = 0; a < placing->arc_count; a++)
        if (arc_within(placing, &placing->arcs[a], count, &tail, &head)) {
            /* The arc skips the vertices between tail and head. Those below `farthest` are already
             * marked. */
            size_t from = tail + 1 > farthest ? tail + 1 : farthest;
            for (size_t i = from; i < head; i++)
                cut[i] = false;
            if (head > farthest)
                farthest = head;
        }
    for (size_t i = 1; i + 1 < count; i++)
        cuts += cut[i];
    return cuts;
}

/* component[i] of the interior vertices: connected without first and last. Returns the number of
 * components. */
static size_t list_components(const struct placing *placing, size_t count, size_t *component)
{
    size_t tail, head;
    for (size_t i = 0; i < count; i++)
        component[i] = i;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t a = 0; a < placing->arc_count; a++) {
            if (!arc_within(placing, &placing->arcs[a], count, &tail, &head) || tail == 0 ||
                head == count - 1 || component[tail] == component[head])
                continue;
            size_t least = component[tail] < component[head] ? component[tail] : component[head];
            component[tail] = component[head] = least;
            changed = true;
        }
    }
    size_t components = 0;
    for (size_t i = 1; i + 1 < count; i++)
        components += component[i] == i;
    return components;
}

static void list_place(struct placing *placing, const uint32_t *list, size_t count);

/* A chain: places the cut vertices by longest path, then each piece between two of them. */
static void list_place_chain(struct placing *placing, const uint32_t *list, size_t count,
                             const bool *cut, const double *up)
{
    double low = placing->potential[list[0]];
    double span = placing->potential[list[count - 1]] - low;
    for (size_t i = 1; i + 1 < count; i++)
        if (cut[i])
            placing->potential[list[i]] =
                low + span * (up[count - 1] > 0 ? up[i] / up[count - 1] : 0);
    size_t first = 0;
    for (size_t i = 1; i < count; i++)
        if (cut[i]) {
            list_place(placing, list + first, i - first + 1);
            first = i;
        }
}

/* Branches: places each component between the same two ends. */
static void list_place_branches(struct placing *placing, const uint32_t *list, size_t count,
                                const size_t *component)
{
    uint32_t *branch = arena_allocate(placing->arena, count, sizeof *branch);
    for (size_t c = 1; c + 1 < count; c++) {
        if (component[c] != c)
            continue;
        size_t size = 0;
        branch[size++] = list[0];
        for (size_t i = 1; i + 1 < count; i++)
            if (component[i] == c)
                branch[size++] = list[i];
        branch[size++] = list[count - 1];
        list_place(placing, branch, size);
    }
}

/* Neither chain nor branches: places vertices by the longest paths before and after. */
static void list_place_irregular(struct placing *placing, const uint32_t *list, size_t count,
                                 const double *up, const double *down)
{
    double low = placing->potential[list[0]];
    double span = placing->potential[list[count - 1]] - low;
    for (size_t i = 1; i + 1 < count; i++) {
        double through = up[i] + down[i];
        placing->potential[list[i]] = low + span * (through > 0 ? up[i] / through : 0);
    }
}

/* Assigns potentials to the interior of `list`. The list is in topological order, its ends have
 * potentials, and it contains all vertices between them. */
static void list_place(struct placing *placing, const uint32_t *list, size_t count)
{
    if (count <= 2)
        return;
    double *up = arena_allocate(placing->arena, count, sizeof *up);
    double *down = arena_allocate(placing->arena, count, sizeof *down);
    bool *cut = arena_allocate(placing->arena, count, sizeof *cut);
    size_t *component = arena_allocate(placing->arena, count, sizeof *component);
    placing->stamps++;
    for (size_t i = 0; i < count; i++) {
        placing->stamp[list[i]] = placing->stamps;
        placing->local[list[i]] = i;
    }
    list_distances(placing, count, up, down);
    if (list_cuts(placing, count, cut) > 0)
        list_place_chain(placing, list, count, cut, up);
    else if (list_components(placing, count, component) > 1)
        list_place_branches(placing, list, count, component);
    else
        list_place_irregular(placing, list, count, up, down);
}

/* Removes loops and sorts the junctions topologically; `order` has room for all points. */
static size_t junctions_order(struct junctions *graph, uint32_t *order, uint32_t *waiting)
{
    size_t count = 0, taken = 0;
    for (size_t p = 0; p < graph->point_count; p++)
        waiting[p] = 0;
    for (size_t a = 0; a < graph->arc_count; a++) {
        uint32_t tail = junction_of(graph, graph->arcs[a].tail);
        uint32_t head = junction_of(graph, graph->arcs[a].head);
        waiting[head] += tail != head;
    }
    order[count++] = junction_of(graph, graph->start);
    while (taken < count) {
        uint32_t vertex = order[taken++];
        for (size_t a = 0; a < graph->arc_count; a++) {
            uint32_t head = junction_of(graph, graph->arcs[a].head);
            if (junction_of(graph, graph->arcs[a].tail) == vertex && head != vertex &&
                --waiting[head] == 0)
                order[count++] = head;
        }
    }
    return count;
}

/* Lists the arcs between junctions, without loops, by the rank of their tail in `order`. */
static void placing_arcs(struct placing *placing, struct junctions *graph, const uint32_t *order)
{
    for (size_t i = 0; i < placing->vertex_count; i++)
        for (size_t a = 0; a < graph->arc_count; a++) {
            struct arc arc = graph->arcs[a];
            arc.tail = junction_of(graph, arc.tail);
            arc.head = junction_of(graph, arc.head);
            if (arc.tail == order[i] && arc.head != arc.tail)
                placing->arcs[placing->arc_count++] = arc;
        }
}

/* Fills potential[p] for every point p: 0 at the start, 1 at the end, increasing along every arc.
 */
static void junctions_place(struct junctions *graph, double *potential)
{
    size_t points = graph->point_count;
    struct arena *arena = graph->arena;
    struct placing placing = {.arena = arena, .potential = potential};
    uint32_t *order = arena_allocate(arena, points, sizeof *order);
    uint32_t *waiting = arena_allocate(arena, points, sizeof *waiting);
    placing.arcs = arena_allocate(arena, graph->arc_count + 1, sizeof *placing.arcs);
    placing.local = arena_allocate(arena, points, sizeof *placing.local);
    placing.stamp = arena_allocate(arena, points, sizeof *placing.stamp);
    placing.vertex_count = junctions_order(graph, order, waiting);
    placing_arcs(&placing, graph, order);
    potential[order[0]] = 0;
    potential[order[placing.vertex_count - 1]] = 1;
    list_place(&placing, order, placing.vertex_count);
    for (uint32_t p = 0; p < points; p++)
        potential[p] = potential[junction_of(graph, p)];
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static void plan_potential(struct arena *arena, const struct application *application,
                           const struct slo_stage *stages, void (*contract)(struct junctions *),
                           double *potential)
{
    struct junctions graph;
    junctions_make(&graph, arena, application, stages);
    contract(&graph);
    junctions_place(&graph, potential);
}

static void plan_normalise(struct slo_plan *plan, const double *mean_time)
{
    double total = 0;
    for (size_t s = 0; s < plan->stage_count; s++)
        total += mean_time[s];
    for (size_t s = 0; s < plan->stage_count; s++)
        plan->stages[s].anl = total > 0 ? mean_time[s] / total : 1.0 / (double)plan->stage_count;
}

/* Groups runs of stages whose only neighbours are each other, cut after every `group_size` stages.
 */
static void plan_group(struct slo_plan *plan, const struct application *application,
                       size_t group_size)
{
    for (uint32_t s = 0; s < plan->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        struct slo_stage *planned = &plan->stages[s];
        planned->group = SIM_NONE;
        if (stage->after_count == 1 && application->stages[stage->after[0]].next_count == 1) {
            const struct slo_stage *before = &plan->stages[stage->after[0]];
            if (before->chain_length < group_size) {
                planned->group = before->group;
                planned->chain_length = before->chain_length + 1; /* for now: index in the run */
            }
        }
        if (planned->group == SIM_NONE) {
            planned->group = plan->group_count++;
            planned->chain_length = 1;
        }
    }
    for (uint32_t s = (uint32_t)plan->stage_count; s-- > 0;) {
        const struct stage *stage = &application->stages[s];
        struct slo_stage *planned = &plan->stages[s];
        const struct slo_stage *next =
            stage->next_count == 1 ? &plan->stages[stage->next[0]] : NULL;
        planned->chain[0] = s;
        planned->chain_length = 1;
        planned->deadline_fraction = planned->own_deadline;
        if (next == NULL || next->group != planned->group)
            continue;
        for (size_t i = 0; i < next->chain_length; i++)
            planned->chain[planned->chain_length++] = next->chain[i];
        planned->deadline_fraction = next->deadline_fraction;
    }
}

/* Computes dominators, quotas and own deadlines by ESG's rule. */
static void plan_dominator(struct slo_plan *plan, struct arena *arena,
                           const struct application *application)
{
    const size_t count = plan->stage_count;
    double *potential = arena_allocate(arena, 2 * count + 2, sizeof *potential);
    plan_potential(arena, application, plan->stages, junctions_contract_all, potential);
    for (size_t s = 0; s < count; s++)
        plan->stages[s].quota = potential[2 * s + 1] - potential[2 * s];
    plan_potential(arena, application, plan->stages, junctions_contract_safely, potential);
    for (size_t s = 0; s < count; s++) {
        struct slo_stage *planned = &plan->stages[s];
        const struct stage *stage = &application->stages[s];
        double start = 0;
        planned->own_deadline = potential[2 * s + 1];
        for (size_t i = 0; i < stage->after_count; i++)
            start = fmax(start, plan->stages[stage->after[i]].own_deadline);
        planned->slot = planned->own_deadline - start;
        planned->slot_of_rest = start < 1 ? planned->slot / (1 - start) : 1;
    }
}

void slo_paths(const struct application *application, const double *length, double *before,
               double *after)
{
    for (size_t s = 0; s < application->stage_count; s++) {
        const struct stage *stage = &application->stages[s];
        before[s] = 0;
        for (size_t i = 0; i < stage->after_count; i++)
            before[s] = fmax(before[s], before[stage->after[i]] + length[stage->after[i]]);
    }
    for (size_t s = application->stage_count; s-- > 0;) {
        const struct stage *stage = &application->stages[s];
        after[s] = 0;
        for (size_t i = 0; i < stage->next_count; i++)
            after[s] = fmax(after[s], after[stage->next[i]] + length[stage->next[i]]);
    }
}

/* A stage's length divided by that of the longest path through it. */
static void plan_longest_path(struct slo_plan *plan, struct arena *arena,
                              const struct application *application, const double *mean_time)
{
    double *length = arena_allocate(arena, 3 * plan->stage_count, sizeof *length);
    double *before = length + plan->stage_count, *after = before + plan->stage_count;
    for (size_t s = 0; s < plan->stage_count; s++)
        length[s] = mean_time != NULL ? mean_time[s] : 1;
    slo_paths(application, length, before, after);
    for (size_t s = 0; s < plan->stage_count; s++) {
        struct slo_stage *planned = &plan->stages[s];
        const double own = length[s];
        planned->slot = own / (before[s] + own + after[s]);
        planned->slot_of_rest = own / (own + after[s]);
        planned->quota = planned->slot;
        planned->own_deadline = (before[s] + own) / (before[s] + own + after[s]);
    }
}

struct slo_plan *slo_plan_create(struct arena *arena, const struct application *application,
                                 const double *mean_time, size_t group_size, enum slo_split split)
{
    const size_t count = application->stage_count;
    struct slo_plan *plan = arena_allocate(arena, 1, sizeof *plan);
    plan->stage_count = count;
    plan->stages = arena_allocate(arena, count, sizeof *plan->stages);
    const struct arena_block *scratch = arena->blocks;
    uint32_t *tree = arena_allocate(arena, count, sizeof *tree);
    plan_normalise(plan, mean_time);
    dominators_find(application, tree);
    for (size_t s = 0; s < count; s++)
        plan->stages[s].dominator = tree[s];
    post_dominators_find(application, tree);
    for (size_t s = 0; s < count; s++)
        plan->stages[s].post_dominator = tree[s];
    if (split == SLO_DOMINATOR)
        plan_dominator(plan, arena, application);
    else
        plan_longest_path(plan, arena, application, split == SLO_EQUAL ? NULL : mean_time);
    plan_group(plan, application, group_size);
    arena_rewind(arena, scratch);
    return plan;
}

void slo_rest(const struct application *application, const sim_time_t *time, sim_time_t *rest)
{
    /* In reverse topological order, so that the later stages are known. */
    for (size_t s = application->stage_count; s-- > 0;) {
        const struct stage *stage = &application->stages[s];
        rest[s] = 0;
        for (size_t i = 0; i < stage->next_count; i++) {
            const sim_time_t way = time[stage->next[i]] + rest[stage->next[i]];
            rest[s] = way > rest[s] ? way : rest[s];
        }
    }
}

static sim_time_t fastest(const struct function *function)
{
    sim_time_t least = SIM_FOREVER;
    for (size_t i = 0; i < function->configuration_count; i++)
        if (function->configurations[i].time < least)
            least = function->configurations[i].time;
    return least;
}

void slo_fastest_paths(const struct workload *workload, sim_time_t *paths)
{
    for (size_t a = 0; a < workload->application_count; a++) {
        const struct application *application = &workload->applications[a];
        sim_time_t alone[WORKLOAD_MAX_STAGES], *path = &paths[application->first_queue];
        for (size_t s = 0; s < application->stage_count; s++)
            alone[s] = fastest(&workload->functions[application->stages[s].function]);
        slo_rest(application, alone, path);
        for (size_t s = 0; s < application->stage_count; s++)
            path[s] += alone[s];
    }
}
