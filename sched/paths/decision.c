#include "sched/paths/decision.h"

#include <string.h>

#include "sched/paths/frontier.h"
#include "sim/base/clock.h"

static const double EXHAUSTIVE_LIMIT = 1e8;
/* A* without pruning may queue nearly all prefixes. */
static const double UNBLADED_LIMIT = 1e7;

/* ---- Preparation ----------------------------------------------------------------------------- */

static bool tables_make(struct decision *decision, struct error *error)
{
    const struct application *application = decision->application;
    struct arena *arena = decision->arena;
    struct search_table **by_function =
        arena_allocate(arena, decision->workload->function_count, sizeof *by_function);
    decision->tables = arena_allocate(arena, application->stage_count, sizeof *decision->tables);
    for (size_t s = 0; s < application->stage_count; s++) {
        const uint32_t f = application->stages[s].function;
        if (by_function[f] == NULL)
            by_function[f] = search_table_create_placeable(arena, decision->workload, f, error);
        if (by_function[f] == NULL)
            return false;
        if (decision->question->bounded)
            search_table_bound(arena, by_function[f]);
        decision->tables[s] = by_function[f];
    }
    decision->first_best = arena_allocate(arena, decision->tables[decision->question->stage]->count,
                                          sizeof *decision->first_best);
    return true;
}

static void chain_follow(struct decision *decision)
{
    const struct decision_question *question = decision->question;
    const size_t most = question->stages > 0 ? question->stages : SEARCH_MAX_STAGES;
    size_t stage = question->stage;
    for (;;) {
        const struct stage *s = &decision->application->stages[stage];
        decision->chain[decision->chain_length++] = stage;
        decision->is_chain = s->next_count == 0 || decision->chain_length == question->stages;
        if (decision->is_chain || s->next_count != 1 || decision->chain_length == most)
            return;
        stage = s->next[0];
    }
}

/* Refuses an option that the method does not use. */
static bool refuse_unused(const struct decision *decision, const char *option, struct error *error)
{
    if (decision->question->method == DECISION_BY_DAG)
        return error_input(error,
                           "%s: the stages from %lu on of '%s' are not a chain, so the method is "
                           "frontier, which does not use it; omit it, or search the first "
                           "--stages N",
                           option, (unsigned long)decision->question->stage,
                           decision->application->name);
    return error_input(error, "%s: only --method astar%s it; omit it", option,
                       strcmp(option, "--blades") == 0 ? " uses" : " and exhaustive use");
}

static bool prunes(const struct decision_question *question)
{
    return question->time_blade && question->cost_blade;
}

/* Refuses a search of too many combinations. */
static bool effort_check(const struct decision *decision, struct error *error)
{
    double combinations = 1, last = 1;
    for (size_t i = 0; i < decision->chain_length; i++) {
        last = (double)decision->tables[decision->chain[i]]->count;
        combinations *= last;
    }
    if (decision->method == DECISION_EXHAUSTIVE && combinations > EXHAUSTIVE_LIMIT)
        return error_input(error,
                           "--method: exhaustive search would try %.3g combinations, more than "
                           "%.0e; use astar or frontier, or fewer --stages",
                           combinations, EXHAUSTIVE_LIMIT);
    if (!prunes(decision->question) && combinations / last > UNBLADED_LIMIT)
        return error_input(error,
                           "--blades: without both, up to %.3g prefixes would be queued, more "
                           "than %.0e; use fewer --stages",
                           combinations / last, UNBLADED_LIMIT);
    return true;
}

static bool question_check(const struct decision *decision, struct error *error)
{
    const struct decision_question *question = decision->question;
    const unsigned long stage = question->stage;
    if (decision->method == DECISION_FRONTIER && question->bounded)
        return refuse_unused(decision, "--later-batches", error);
    if (decision->method != DECISION_ASTAR && !prunes(question))
        return refuse_unused(decision, "--blades", error);
    if (decision->method == DECISION_FRONTIER)
        return question->stages == 0 ||
               error_input(error,
                           "--stages: the frontier always covers all remaining stages; use it "
                           "with --method astar or exhaustive");
    if (decision->chain_length < question->stages)
        return error_input(error,
                           "--stages: %lu, but the chain of stages from %lu on of '%s' has %zu",
                           (unsigned long)question->stages, stage, decision->application->name,
                           decision->chain_length);
    if (!decision->is_chain)
        return error_input(error,
                           "--method: the stages from %lu on of '%s' are not a chain of at most %d "
                           "stages; use --method frontier, or --stages to search the first few",
                           stage, decision->application->name, SEARCH_MAX_STAGES);
    return effort_check(decision, error);
}

/* ---- Search ---------------------------------------------------------------------------------- */

/* Finds the best completion of each first-stage configuration, with one search per configuration.
 */
static void complete_first(struct decision *decision, const struct search_problem *whole,
                           struct search_workspace *workspace)
{
    const struct search_table *first = whole->stages[0];
    const struct search_table *stages[SEARCH_MAX_STAGES];
    struct search_problem problem = *whole;
    struct search_result *one = arena_allocate(decision->arena, 1, sizeof *one);
    memcpy(stages, whole->stages, whole->stage_count * sizeof *stages);
    problem.stages = stages;
    problem.k = 1;
    problem.queue_length = UINT32_MAX;
    problem.time_blade = problem.cost_blade = true;
    for (size_t i = 0; i < first->count; i++) {
        struct configuration single = {
            .batch = first->batch[i], .time = first->time[i], .cost_per_job_usd = first->cost[i]};
        struct search_table *table = search_table_create(decision->arena, &single, 1);
        stages[0] = table;
        search_table_bound(decision->arena, table);
        (decision->method == DECISION_EXHAUSTIVE ? search_exhaustive
                                                 : search_astar)(&problem, workspace, one);
        decision->first_best[i] = one->path_count > 0 ? one->paths[0].cost_usd : INFINITY;
    }
}

static void search_chain(struct decision *decision)
{
    const struct decision_question *question = decision->question;
    const struct search_table *stages[SEARCH_MAX_STAGES];
    struct search_workspace *workspace = search_workspace_create(decision->arena);
    for (size_t i = 0; i < decision->chain_length; i++)
        stages[i] = decision->tables[decision->chain[i]];
    const struct search_problem problem = {.stages = stages,
                                           .stage_count = decision->chain_length,
                                           .budget = sim_from_ms(question->budget_ms),
                                           .queue_length = (uint32_t)question->queue_length,
                                           .bounded = question->bounded,
                                           .k = question->k,
                                           .time_blade = question->time_blade,
                                           .cost_blade = question->cost_blade};
    const int64_t start = clock_ns();
    (decision->method == DECISION_EXHAUSTIVE ? search_exhaustive : search_astar)(
        &problem, workspace, &decision->result);
    decision->elapsed_us = (double)(clock_ns() - start) * 1e-3;
    decision->exact = true;
    complete_first(decision, &problem, workspace);
}

static void search_frontier(struct decision *decision)
{
    const struct decision_question *question = decision->question;
    const sim_time_t budget = sim_from_ms(question->budget_ms);
    int64_t start = clock_ns();
    const struct frontier_set *set =
        frontier_build(decision->arena, decision->application, decision->tables, 0, NULL);
    decision->build_ms = (double)(clock_ns() - start) * 1e-6;
    decision->exact = frontier_exact(set, question->stage);
    start = clock_ns();
    frontier_search(set, question->stage, budget, (uint32_t)question->queue_length, question->k,
                    &decision->result);
    decision->elapsed_us = (double)(clock_ns() - start) * 1e-3;
    frontier_completions(set, question->stage, budget, decision->first_best);
    if (!decision->is_chain)
        decision->chain_length = 1;
    for (size_t p = 0; decision->is_chain && p < decision->result.path_count; p++) {
        struct search_path *path = &decision->result.paths[p];
        const size_t entry = decision_entry(decision, question->stage, path->configuration[0]);
        (void)frontier_path(set, question->stage, entry, budget, path);
    }
}

bool decision_make(struct arena *arena, const struct workload *workload,
                   const struct application *application, const struct decision_question *question,
                   struct decision *decision, struct error *error)
{
    *decision = (struct decision){.arena = arena,
                                  .question = question,
                                  .workload = workload,
                                  .application = application,
                                  .method = (enum decision_method)question->method};
    if (question->stage >= application->stage_count)
        return error_input(error, "--stage: %lu is not a stage of '%s'; it has 0..%zu",
                           (unsigned long)question->stage, application->name,
                           application->stage_count - 1);
    if (!tables_make(decision, error))
        return false;
    chain_follow(decision);
    if (question->method == DECISION_BY_DAG) /* --stages asks for the first stages of a chain */
        decision->method =
            decision->is_chain || question->stages > 0 ? DECISION_ASTAR : DECISION_FRONTIER;
    if (!question_check(decision, error))
        return false;
    (decision->method == DECISION_FRONTIER ? search_frontier : search_chain)(decision);
    return true;
}

size_t decision_entry(const struct decision *decision, size_t stage, size_t configuration)
{
    const struct search_table *table = decision->tables[stage];
    for (size_t i = 0; i < table->count; i++)
        if (table->index[i] == configuration)
            return i;
    return SIZE_MAX;
}

const struct configuration *decision_configuration(const struct decision *decision,
                                                   const struct search_path *path, size_t i)
{
    const uint32_t f = decision->application->stages[decision->chain[i]].function;
    return &decision->workload->functions[f].configurations[path->configuration[i]];
}
