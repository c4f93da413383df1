#include "sched/paths/search.h"

enum { OPEN_LIMIT = 1 << 20 };

/* Bounds and costs add the same terms in different orders. Rounding changes a sum of at most 16
 * non-negative terms by a relative error below 16 × 2^-52. A cut with this margin beyond the bound
 * therefore never removes a path that exact arithmetic would keep. */
static const double ROUNDING_MARGIN = 1e-13;

/* What follows a first batch of least..most jobs. For a prefix of d stages the arrays contain sums
 * over stages d, d + 1, … A bounded problem has a chain for each batch size of its first stage, any
 * other problem has one. */
struct chain {
    uint32_t least, most;
    const struct search_table *stages[SEARCH_MAX_STAGES];
    sim_time_t fastest_after[SEARCH_MAX_STAGES + 1];
    double cheapest_after[SEARCH_MAX_STAGES + 1];
    double fastest_cost_after[SEARCH_MAX_STAGES + 1];
};

struct partial {
    double cost;
    sim_time_t time;
    const struct chain *chain;
    uint32_t depth;
    uint16_t entry[SEARCH_MAX_STAGES]; /* indices into the chain's tables */
};

struct open_entry {
    double bound; /* f, a lower bound on the cost of every completion */
    uint32_t slot;
};

/* The K lowest costs of known completions of the prefixes of one length, ascending. */
struct level_bounds {
    size_t count;
    double cost[SEARCH_MAX_K];
};

struct search_workspace {
    struct arena *arena;
    struct open_entry *heap; /* binary min-heap by (bound, slot) */
    struct partial *slots;
    uint32_t *unused; /* free slots below `touched` */
    size_t open_count, unused_count, touched;
    struct level_bounds levels[SEARCH_MAX_STAGES];
    struct chain *chains;
    size_t chain_count;
};

/* One search in progress. */
struct astar {
    const struct search_problem *problem;
    struct search_workspace *workspace;
    struct search_result *result;
    double limit; /* upper bound on the cost of the K-th best path */
};

struct search_workspace *search_workspace_create(struct arena *arena)
{
    struct search_workspace *workspace = arena_allocate(arena, 1, sizeof *workspace);
    workspace->arena = arena;
    return workspace;
}

static void workspace_grow(struct search_workspace *workspace)
{
    const size_t wanted = workspace->open_count + 1;
    arena_reserve(workspace->arena, &workspace->heap, wanted, sizeof *workspace->heap);
    arena_reserve(workspace->arena, &workspace->slots, wanted, sizeof *workspace->slots);
    arena_reserve(workspace->arena, &workspace->unused, wanted, sizeof *workspace->unused);
}

/* Without a branch: no processor predicts it. */
static bool open_before(struct open_entry a, struct open_entry b)
{
    return (a.bound < b.bound) | ((a.bound == b.bound) & (a.slot < b.slot));
}

/* Adds an entry. Returns the new partial path, to be filled. */
static struct partial *open_push(struct search_workspace *workspace, double bound)
{
    if (workspace->open_count == arena_room(workspace->heap, sizeof *workspace->heap))
        workspace_grow(workspace);
    uint32_t slot = workspace->unused_count > 0 ? workspace->unused[--workspace->unused_count]
                                                : (uint32_t)workspace->touched++;
    struct open_entry entry = {bound, slot};
    size_t place = workspace->open_count++;
    while (place > 0 && open_before(entry, workspace->heap[(place - 1) / 2])) {
        workspace->heap[place] = workspace->heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    workspace->heap[place] = entry;
    return &workspace->slots[slot];
}

static struct partial open_pop(struct search_workspace *workspace)
{
    struct open_entry *heap = workspace->heap;
    uint32_t slot = heap[0].slot;
    size_t count = --workspace->open_count;
    struct open_entry last = heap[count];
    size_t place = 0;
    for (size_t child = 1; child < count; child = 2 * place + 1) {
        child += open_before(heap[child + (child + 1 < count)], heap[child]);
        if (!open_before(heap[child], last))
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = last;
    workspace->unused[workspace->unused_count++] = slot;
    return workspace->slots[slot];
}

static void limit_lower(struct astar *search, double bound)
{
    double limit = bound * (1 + ROUNDING_MARGIN);
    if (limit < search->limit)
        search->limit = limit;
}

/* Records that a prefix of `depth` stages has a completion of this cost. */
static void bound_offer(struct astar *search, size_t depth, double cost)
{
    struct level_bounds *level = &search->workspace->levels[depth];
    size_t k = search->problem->k;
    size_t place = level->count;
    if (place == k) {
        if (cost >= level->cost[k - 1])
            return;
        place = k - 1;
    } else {
        level->count++;
    }
    while (place > 0 && cost < level->cost[place - 1]) {
        level->cost[place] = level->cost[place - 1];
        place--;
    }
    level->cost[place] = cost;
    if (level->count == k)
        limit_lower(search, level->cost[k - 1]);
}

static void path_offer(struct astar *search, const struct partial *prefix, size_t entry,
                       double cost, sim_time_t time)
{
    const struct search_problem *problem = search->problem;
    struct search_result *result = search->result;
    if (result->path_count == problem->k && cost > result->paths[problem->k - 1].cost_usd)
        return;
    struct search_path path = {.cost_usd = cost, .time = time};
    for (size_t s = 0; s < prefix->depth; s++)
        path.configuration[s] = prefix->chain->stages[s]->index[prefix->entry[s]];
    path.configuration[prefix->depth] = prefix->chain->stages[prefix->depth]->index[entry];
    search_result_offer(result, problem->k, problem->stage_count, &path);
    if (result->path_count == problem->k)
        limit_lower(search, result->paths[problem->k - 1].cost_usd);
}

/* Number of the table's entries that take at most `most`. */
static size_t entries_within(const struct search_table *table, sim_time_t most)
{
    size_t low = 0;
    for (size_t left = table->count; left > 0; left /= 2) {
        const size_t half = left - left / 2;
        low += table->time[low + half - 1] <= most ? half : 0;
    }
    return low;
}

/* True if the chain begins with this entry of its first stage. */
static bool entry_begins(const struct chain *chain, size_t entry)
{
    const uint32_t batch = chain->stages[0]->batch[entry];
    return batch >= chain->least && batch <= chain->most;
}

/* Number of entries from `from` on whose batch the chain allows. */
static uint64_t entries_allowed(const struct chain *chain, size_t depth, size_t from)
{
    const struct search_table *table = chain->stages[depth];
    uint64_t allowed = 0;
    if (depth > 0)
        return table->count - from;
    for (size_t i = from; i < table->count; i++)
        allowed += entry_begins(chain, i);
    return allowed;
}

static void astar_expand(struct astar *search, const struct partial *prefix);

/* Adds `prefix` extended by `entry` to the open list, or follows it at once if the list is full. */
static void astar_take(struct astar *search, const struct partial *prefix, size_t entry,
                       double cost, sim_time_t time)
{
    struct search_workspace *workspace = search->workspace;
    bool full = workspace->open_count >= OPEN_LIMIT;
    struct partial local = {.cost = 0};
    struct partial *path =
        full ? &local
             : open_push(workspace, cost + prefix->chain->cheapest_after[prefix->depth + 1]);
    *path = *prefix;
    path->cost = cost;
    path->time = time;
    path->entry[prefix->depth] = (uint16_t)entry;
    path->depth = prefix->depth + 1;
    if (full)
        astar_expand(search, path);
}

/* Extends `prefix` by `entry`, which no blade has pruned. */
static void astar_extend(struct astar *search, const struct partial *prefix, size_t entry)
{
    const struct search_problem *problem = search->problem;
    const struct chain *chain = prefix->chain;
    const size_t depth = prefix->depth;
    const struct search_table *table = chain->stages[depth];
    double cost = prefix->cost + table->cost[entry];
    sim_time_t time = prefix->time + table->time[entry];
    bool in_time = time + chain->fastest_after[depth + 1] <= problem->budget;
    search->result->expansions++;
    if (depth + 1 == problem->stage_count) {
        if (in_time)
            path_offer(search, prefix, entry, cost, time);
        return;
    }
    if (problem->cost_blade && in_time)
        bound_offer(search, depth + 1, cost + chain->fastest_cost_after[depth + 1]);
    astar_take(search, prefix, entry, cost, time);
}

/* Extends `prefix` by every entry of the next stage, in ascending time. Both blades are thresholds
 * on the entry alone, so that each pruned entry costs at most one comparison. */
static void astar_expand(struct astar *search, const struct partial *prefix)
{
    const struct search_problem *problem = search->problem;
    const struct chain *chain = prefix->chain;
    const size_t depth = prefix->depth;
    const struct search_table *table = chain->stages[depth];
    const double *cost = table->cost;
    size_t end = table->count;
    if (problem->time_blade) {
        end =
            entries_within(table, problem->budget - prefix->time - chain->fastest_after[depth + 1]);
        search->result->pruned_time += entries_allowed(chain, depth, end);
    }
    if (problem->cost_blade && depth > 0 && end > 0 &&
        table->least[end - 1] > search->limit - prefix->cost - chain->cheapest_after[depth + 1]) {
        search->result->pruned_cost += end;
        return;
    }
    for (size_t i = 0; i < end; i++) {
        if (depth == 0 && !entry_begins(chain, i))
            continue;
        double most = problem->cost_blade
                          ? search->limit - prefix->cost - chain->cheapest_after[depth + 1]
                          : INFINITY;
        if (cost[i] > most) {
            size_t from = i;
            while (depth > 0 && i + 1 < end && cost[i + 1] > most)
                i++;
            search->result->pruned_cost += i - from + 1;
            continue;
        }
        astar_extend(search, prefix, i);
    }
}

/* A chain whose first batch has least..most jobs and whose later tables are `bounded` by `most`.
 * False if a later stage has no such batch. */
static bool chain_fill(struct chain *chain, const struct search_problem *problem, uint32_t least,
                       uint32_t most, bool bounded)
{
    const size_t count = problem->stage_count;
    chain->least = least;
    chain->most = most;
    chain->fastest_after[count] = 0;
    chain->cheapest_after[count] = 0;
    chain->fastest_cost_after[count] = 0;
    for (size_t s = count; s-- > 0;) {
        const struct search_table *table = problem->stages[s];
        if (bounded && s > 0)
            table = search_table_up_to(table, most);
        if (table == NULL)
            return false;
        chain->stages[s] = table;
        chain->fastest_after[s] = table->fastest + chain->fastest_after[s + 1];
        chain->cheapest_after[s] = table->cheapest + chain->cheapest_after[s + 1];
        chain->fastest_cost_after[s] = table->fastest_cost + chain->fastest_cost_after[s + 1];
    }
    return true;
}

static void chains_fill(struct search_workspace *workspace, const struct search_problem *problem)
{
    const struct search_table *first = problem->stages[0];
    const size_t most = problem->bounded ? first->part_count : 1;
    arena_reserve(workspace->arena, &workspace->chains, most, sizeof *workspace->chains);
    workspace->chain_count = 0;
    for (size_t i = 0; i < most; i++) {
        const uint32_t batch =
            problem->bounded ? first->parts[i]->most_batch : problem->queue_length;
        struct chain *chain = &workspace->chains[workspace->chain_count];
        if (batch <= problem->queue_length &&
            chain_fill(chain, problem, problem->bounded ? batch : 0, batch, problem->bounded))
            workspace->chain_count++;
    }
}

static void astar_begin(struct astar *search)
{
    const struct search_problem *problem = search->problem;
    struct search_workspace *workspace = search->workspace;
    workspace->open_count = 0;
    workspace->unused_count = 0;
    workspace->touched = 0;
    for (size_t s = 0; s < problem->stage_count; s++)
        workspace->levels[s].count = 0;
    search->limit = INFINITY;
    search_result_clear(search->result);
    chains_fill(workspace, problem);
}

void search_astar(const struct search_problem *problem, struct search_workspace *workspace,
                  struct search_result *result)
{
    struct astar search = {.problem = problem, .workspace = workspace, .result = result};
    astar_begin(&search);
    for (size_t c = 0; c < workspace->chain_count; c++) {
        const struct partial root = {.chain = &workspace->chains[c]};
        astar_expand(&search, &root);
    }
    /* Entries are removed in order of f. Once f exceeds the limit, so does every open entry. */
    while (workspace->open_count > 0 && workspace->heap[0].bound <= search.limit) {
        struct partial prefix = open_pop(workspace);
        astar_expand(&search, &prefix);
    }
}
