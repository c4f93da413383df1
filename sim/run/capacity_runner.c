#include "sim/run/capacity_runner.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <zlib.h>

#include "results/store/swept.h"
#include "sim/base/text.h"
#include "sim/run/progress_bar.h"
#include "sim/run/run_once.h"
#include "sim/run/worker_pool.h"
#include "workloads/load/inputs.h"
#include "workloads/load/json_include.h"
#include "workloads/load/policy_module.h"

enum { SEEDS_FEW = 5 }; /* with fewer, a note says that the intervals are rough */

/* One value of one policy in the round in progress. */
struct task {
    struct capacity_curve *curve;
    double value;
    size_t first_job;          /* of its runs in the round */
    size_t known;              /* seeds of earlier rounds at this value */
    size_t seeds;              /* after the round */
    struct capacity_run *runs; /* per seed; those of earlier rounds first */
    size_t refused_job;        /* the first run that refused the value; SIZE_MAX: none */
    struct error refusal;
};

/* What a worker says of a run, in memory shared with it; without the pointers of the result. */
struct outcome {
    struct simulation_result result;
    struct training_measures training;
};

struct runner {
    const struct capacity_question *question;
    struct capacity_answer *answer;
    struct inputs *inputs;
    struct override *overrides;           /* the question's, with room for policy, key and seed */
    struct task tasks[CAPACITY_POLICIES]; /* of the round in progress */
    size_t task_count;
    size_t round_jobs;
    struct outcome *outcomes; /* of the jobs of the round in progress */
    struct progress_bar progress_bar;
};

enum capacity_direction capacity_key_direction(const char *key)
{
    static const char *const loads[] = {"arrivals.load", "arrivals.rate_per_s",
                                        "arrivals.scale_rate", "arrivals.users",
                                        "training.arrivals.per_hour"};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (strcmp(key, loads[i]) == 0)
            return CAPACITY_GREATEST;
    return strncmp(key, "cluster.", 8) == 0 || strncmp(key, "slo.", 4) == 0 ? CAPACITY_LEAST
                                                                            : CAPACITY_EITHER;
}

bool capacity_point_is_exact(const struct capacity_point *point)
{
    return !isnan(point->mean) && isnan(point->low);
}

const char *capacity_answer_name(const struct capacity_point *point)
{
    static const char *const names[] = {"surely fails", "not sure", "surely holds"};
    const char *name = names[capacity_point_answer(point) + 1];
    return point->refused                   ? "refused"
           : capacity_point_is_exact(point) ? name + strlen("surely ")
                                            : name;
}

/* ---- Experiments ----------------------------------------------------------------------------- */

/* The run at one value and seed. False: the experiment or its policy refuses the value. Clear it in
 * both cases. */
static bool run_load(const struct runner *runner, const struct capacity_curve *curve, double value,
                     uint64_t seed, struct resolved_run *run, struct error *error)
{
    const struct capacity_question *question = runner->question;
    char value_text[SWEPT_NUMBER], seed_text[SWEPT_NUMBER];
    size_t count = question->override_count;
    number_text(value, value_text);
    (void)snprintf(seed_text, sizeof seed_text, "%" PRIu64, seed);
    if (question->policy_count > 0)
        runner->overrides[count++] = (struct override){"policy.name", curve->policy};
    runner->overrides[count++] = (struct override){question->key, value_text};
    runner->overrides[count++] = (struct override){"seed", seed_text};
    return resolved_run_load(run, runner->inputs, question->path, runner->overrides, count, error);
}

/* Returns whether the value is accepted. Sets `*random`, if it is not NULL, to whether seeds can
 * differ there. */
static bool value_check(const struct runner *runner, const struct capacity_curve *curve,
                        double value, bool *random, struct error *error)
{
    struct resolved_run run;
    const bool good = run_load(runner, curve, value, runner->answer->first_seed, &run, error);
    if (good && random != NULL)
        *random = experiment_is_random(run.experiment);
    resolved_run_clear(&run);
    return good;
}

/* Follows a dotted key. `value->node` is NULL if the experiment does not set it. */
static bool key_find(struct json_include *document, const char *key, struct json_value *value,
                     struct error *error)
{
    char *rest = arena_text(document->arena, "%s", key);
    bool good = true;
    *value = json_include_root(document);
    for (const char *name; good && value->node != NULL && (name = strsep(&rest, ".")) != NULL;) {
        const struct json_value parent = *value;
        char *end = NULL;
        const size_t index = strtoul(name, &end, 10);
        if (cJSON_IsObject(parent.node) && rest != NULL)
            good = json_include_member(document, &parent, name, value, error);
        else if (cJSON_IsArray(parent.node) && *end == '\0' && index < json_size(&parent))
            good = json_include_entry(document, &parent, index, value, error);
        else if (!cJSON_IsObject(parent.node) || !json_child(&parent, name, value))
            value->node = NULL;
    }
    return good;
}

/* The value that the experiment gives the key, as a start for the search; 1 if it gives none. */
static bool key_read(const struct runner *runner, double *start, struct error *error)
{
    const struct capacity_question *question = runner->question;
    struct json_include document;
    struct json_value value;
    bool good =
        json_include_open(&document, runner->answer->arena, runner->inputs, question->path, error);
    for (size_t i = 0; good && i < question->override_count; i++)
        good = json_include_override(&document, question->overrides[i].key,
                                     question->overrides[i].value, error);
    good = good && key_find(&document, question->key, &value, error);
    *start = 1;
    if (good && value.node != NULL && cJSON_IsNumber(value.node))
        *start = value.node->valuedouble;
    else if (good && value.node != NULL)
        good = error_input(error, "%s: --over %s: the experiment's value is not a number",
                           question->path, question->key);
    return good;
}

/* ---- Preparation ----------------------------------------------------------------------------- */

/* A key takes only whole numbers if it refuses the halves on both sides of a valid one. */
static bool key_is_whole(const struct runner *runner, const struct capacity_curve *curve,
                         double value)
{
    return value == floor(value) && !value_check(runner, curve, value + 0.5, NULL, NULL) &&
           !value_check(runner, curve, value - 0.5, NULL, NULL);
}

static bool range_check(const struct runner *runner, const struct capacity_range *range,
                        struct error *error)
{
    const struct capacity_question *question = runner->question;
    const double ends[] = {range->low, range->high};
    static const char *const names[] = {"--low", "--high"};
    for (size_t i = 0; i < 2; i++) {
        if (isnan(ends[i]))
            continue;
        if (range->whole && ends[i] != floor(ends[i]))
            return error_input(error, "%s %g: %s takes whole numbers", names[i], ends[i],
                               question->key);
        if (!range->whole && ends[i] <= 0)
            return error_input(error, "%s %g: must be above 0, because the tolerance is relative",
                               names[i], ends[i]);
    }
    if (range->low >= range->high)
        return error_input(error, "--low %g is not below --high %g", range->low, range->high);
    if (isnan(range->low) && isnan(range->high) && !(range->start > 0))
        return error_input(error,
                           "%s: --over %s: the experiment's value, %g, is not above 0, so the "
                           "search cannot begin there; give --low and --high",
                           question->path, question->key, range->start);
    return true;
}

static bool searches_start(struct runner *runner, struct error *error)
{
    const struct capacity_question *question = runner->question;
    struct capacity_answer *answer = runner->answer;
    struct capacity_range range = {.low = question->low,
                                   .high = question->high,
                                   .tolerance = question->tolerance,
                                   .direction = question->direction};
    if (!key_read(runner, &range.start, error))
        return false;
    const double probe = !isnan(range.low)    ? range.low
                         : !isnan(range.high) ? range.high
                                              : range.start;
    for (size_t i = 0; i < answer->curve_count; i++) {
        struct capacity_curve *curve = &answer->curves[i];
        /* The nearest whole number: a fraction is reported as a bad end of the range below. */
        range.whole = key_is_whole(runner, curve, round(probe));
        bool random = true;
        if (!range_check(runner, &range, error) ||
            !value_check(runner, curve, probe, &random, error) ||
            (!isnan(range.high) && !value_check(runner, curve, range.high, NULL, error)))
            return false;
        range.seeds = random ? question->seeds : 1;
        range.most_seeds = random ? question->most_seeds : 1;
        capacity_search_start(&curve->search, &range);
    }
    answer->whole = range.whole;
    return true;
}

/* Reads the seed and the policy of the experiment, without the key. */
static bool answer_prepare(struct runner *runner, struct error *error)
{
    const struct capacity_question *question = runner->question;
    struct capacity_answer *answer = runner->answer;
    struct experiment *experiment = experiment_load_with(
        runner->inputs, question->path, question->overrides, question->override_count, error);
    if (experiment == NULL)
        return false;
    const size_t count = question->policy_count > 0 ? question->policy_count : 1;
    answer->first_seed = experiment->seed;
    answer->setting = arena_text(answer->arena, "%s", experiment->name);
    answer->evidence = arena_text(answer->arena, "%s", experiment->profile_evidence);
    answer->deterministic = experiment_is_repeatable(experiment);
    answer->curves = arena_allocate(answer->arena, count, sizeof *answer->curves);
    for (size_t i = 0; i < count; i++) {
        const char *name =
            question->policy_count > 0 ? question->policies[i] : experiment->policy_name;
        answer->deterministic = answer->deterministic && !policy_module_named(name);
        answer->curve_count = i + 1;
        answer->curves[i].refused = NAN;
        answer->curves[i].policy = arena_text(answer->arena, "%s", name);
    }
    experiment_free(experiment);
    return true;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* The metric is NAN for trainings that the run does not have. */
static struct capacity_run run_of(const struct metric *metric, const struct outcome *outcome,
                                  bool trained)
{
    const struct measures *overall = &outcome->result.overall;
    const struct run_measures *whole = &outcome->result.run;
    const bool of_trainings = metric->scope == METRIC_OF_TRAININGS;
    uLong digest = 0;
    for (size_t m = 0; m < metric_count + training_metric_count; m++) {
        const double value = m < metric_count ? metric_value(&metrics[m], overall, whole)
                                              : metric_number(&metrics[m], &outcome->training);
        char text[SWEPT_NUMBER]; /* sums may be in another order */
        (void)snprintf(text, sizeof text, isnan(value) ? "nan" : "%.9g", value);
        digest = crc32(digest, (const Bytef *)text, (uInt)strlen(text));
    }
    const bool holds = of_trainings ? trained : metric_can_hold(metric, overall->drop_rate);
    const double value = !holds         ? NAN
                         : of_trainings ? metric_number(metric, &outcome->training)
                                        : metric_value(metric, overall, whole);
    const double worth = metric_observations(metric, overall, overall, whole);
    return (struct capacity_run){.value = value, .observations = worth, .digest = digest};
}

static struct task *task_of(struct runner *runner, size_t job)
{
    size_t task = runner->task_count - 1;
    while (runner->tasks[task].first_job > job)
        task--;
    return &runner->tasks[task];
}

/* From the first seed on. */
static size_t seed_index(const struct task *task, size_t job)
{
    return task->known + job - task->first_job;
}

/* Runs in a worker process. */
static enum worker_pool_outcome work(void *context, size_t job, uint64_t *place,
                                     struct error *error)
{
    struct runner *runner = context;
    const struct task *task = task_of(runner, job);
    const uint64_t seed = runner->answer->first_seed + seed_index(task, job);
    struct resolved_run run;
    struct simulation_result result;
    const bool good = run_load(runner, task->curve, task->value, seed, &run, error) &&
                      resolved_run_simulate(&run, &(struct simulation_options){0}, &result, error);
    struct outcome *outcome = &runner->outcomes[job];
    if (good) {
        *place = result.training != NULL;
        *outcome = (struct outcome){.result = result};
        if (result.training != NULL)
            outcome->training = *result.training;
        outcome->result.notices = (struct notices){0};
        simulation_result_clear(&result);
    }
    resolved_run_clear(&run);
    return good ? WORKER_POOL_HELD : WORKER_POOL_FAILED;
}

static bool collect(void *context, size_t job, uint64_t place, const struct error *failure,
                    struct error *error)
{
    struct runner *runner = context;
    const struct capacity_question *question = runner->question;
    struct task *task = task_of(runner, job);
    char text[SWEPT_NUMBER];
    if (failure == NULL) {
        task->runs[seed_index(task, job)] =
            run_of(question->metric, &runner->outcomes[job], place != 0);
        return true;
    }
    if (failure->kind == ERROR_INPUT) {
        if (job < task->refused_job)
            task->refusal = *failure;
        task->refused_job = job < task->refused_job ? job : task->refused_job;
        return true;
    }
    number_text(task->value, text);
    return error_run(error, "with policy %s, %s=%s, seed %" PRIu64 ": %s", task->curve->policy,
                     question->key, text, runner->answer->first_seed + seed_index(task, job),
                     failure->message);
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* The experiment refuses the value. False: the search cannot go on without it. */
static bool task_refuse(const struct runner *runner, const struct task *task,
                        const struct error *refusal, struct error *error)
{
    struct capacity_curve *curve = task->curve;
    if (!capacity_search_refuse(&curve->search, task->value)) {
        if (error != NULL)
            *error = *refusal;
        return false;
    }
    curve->refused = task->value;
    curve->reason = arena_text(runner->answer->arena, "%s", refusal->message);
    if (!runner->question->quiet) {
        char text[SWEPT_NUMBER];
        number_text(task->value, text);
        (void)fprintf(text_messages(), "%s: %s=%s: refused\n", curve->policy, runner->question->key,
                      text);
    }
    return true;
}

/* The next value that the experiment accepts. Sets `*ended` if the search asks for none. */
static bool curve_ask(const struct runner *runner, struct task *task, bool *ended,
                      struct error *error)
{
    for (;;) {
        struct error fault = {0};
        *ended = !capacity_search_next(&task->curve->search, &task->value);
        if (*ended || value_check(runner, task->curve, task->value, NULL, &fault))
            return true;
        if (fault.kind == ERROR_INPUT && task_refuse(runner, task, &fault, error))
            continue;
        if (fault.kind != ERROR_INPUT && error != NULL)
            *error = fault;
        return false;
    }
}

/* Room for the task's seeds, with the values that are known. */
static void task_prepare(const struct runner *runner, struct task *task)
{
    const struct capacity_point *point = capacity_search_find(&task->curve->search, task->value);
    task->known = point != NULL ? point->seeds : 0;
    task->seeds = task->curve->search.seeds;
    task->runs = arena_allocate(runner->answer->arena, task->seeds, sizeof *task->runs);
    for (size_t i = 0; i < task->known; i++)
        task->runs[i] = point->runs[i];
}

static bool round_plan(struct runner *runner, struct error *error)
{
    runner->task_count = 0;
    runner->round_jobs = 0;
    for (size_t i = 0; i < runner->answer->curve_count; i++) {
        struct task *task = &runner->tasks[runner->task_count];
        bool ended = false;
        *task = (struct task){.curve = &runner->answer->curves[i],
                              .first_job = runner->round_jobs,
                              .refused_job = SIZE_MAX};
        if (!curve_ask(runner, task, &ended, error))
            return false;
        if (ended)
            continue;
        runner->task_count++;
        task_prepare(runner, task);
        runner->round_jobs += task->seeds - task->known;
    }
    return true;
}

/* Collects the notices of the task's runs in this round. */
static bool task_note(struct runner *runner, const struct task *task, struct error *error)
{
    struct capacity_answer *answer = runner->answer;
    const struct capacity_point *point = capacity_search_find(&task->curve->search, task->value);
    struct resolved_run run;
    bool good = run_load(runner, task->curve, task->value, answer->first_seed, &run, error);
    const char *refusal =
        good ? policy_refusal(answer->arena, run.policy, run.values, run.experiment) : NULL;
    for (size_t i = task->known; good && i < task->seeds; i++) {
        struct simulation_result result =
            runner->outcomes[task->first_job + i - task->known].result;
        notices_fill(answer->arena, run.experiment, false, &result);
        if (refusal != NULL)
            notices_add(&result.notices, NOTICE_OF(REFUSES), run.policy->name, refusal);
        if (task->seeds > 1 && capacity_point_is_exact(point))
            notices_add(&result.notices, NOTICE_OF(SEEDS_COPIES));
        else if (task->seeds > 1 && task->seeds < SEEDS_FEW)
            notices_add(&result.notices, NOTICE_OF(SEEDS_FEW));
        for (size_t n = 0; n < result.notices.count; n++)
            notice_count(answer->arena, &answer->notices, &answer->notice_count,
                         &result.notices.rows[n], 1);
        notices_clear(&result.notices);
        answer->runs++;
    }
    resolved_run_clear(&run);
    return good;
}

/* The values of the task's seeds. Sets `*without` to the number of those that have none. */
static struct seed_values task_values(const struct runner *runner, const struct task *task,
                                      size_t *without)
{
    double *values = arena_allocate(runner->answer->arena, task->seeds, sizeof *values);
    double *worth = arena_allocate(runner->answer->arena, task->seeds, sizeof *worth);
    struct seed_values seeds = {.values = values,
                                .worth = worth,
                                .valued = task->seeds,
                                .seeds = task->seeds,
                                .exact = task->seeds > 1,
                                .share = runner->question->metric->share};
    *without = 0;
    for (size_t i = 0; i < task->seeds; i++) {
        values[i] = task->runs[i].value;
        *without += isnan(values[i]) != 0;
        worth[i] = task->runs[i].observations;
        seeds.exact = seeds.exact && task->runs[i].digest == task->runs[0].digest;
    }
    return seeds;
}

/* A metric that has no value in any run of the first round can never hold. */
static bool task_take(struct runner *runner, struct task *task, struct error *error)
{
    const struct capacity_question *question = runner->question;
    struct capacity_search *search = &task->curve->search;
    size_t without;
    char text[SWEPT_NUMBER];
    if (task->refused_job != SIZE_MAX)
        return task_refuse(runner, task, &task->refusal, error);
    const struct seed_values seeds = task_values(runner, task, &without);
    if (without == task->seeds && search->count == 0)
        return error_input(error, "%s: %s has no value with policy %s; name another --metric",
                           question->path, question->metric->name, task->curve->policy);
    struct capacity_point *point = capacity_search_measure(search, task->value, &seeds,
                                                           question->at_most, question->threshold);
    point->runs = task->runs;
    progress_bar_end(&runner->progress_bar);
    number_text(point->value, text);
    if (!question->quiet)
        (void)fprintf(text_messages(), "%s: %s=%s: %s %g [%g, %g] over %zu seeds: %s\n",
                      task->curve->policy, question->key, text, question->metric->name, point->mean,
                      point->low, point->high, point->seeds, capacity_answer_name(point));
    return task_note(runner, task, error);
}

static bool round_run(struct runner *runner, struct error *error)
{
    const struct worker_pool worker_pool = {.jobs = runner->round_jobs,
                                            .workers = runner->question->jobs,
                                            .callback_s = runner->question->decision_timeout,
                                            .bar = &runner->progress_bar,
                                            .context = runner,
                                            .work = work,
                                            .collect = collect};
    const size_t bytes = (runner->round_jobs + 1) * sizeof *runner->outcomes;
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return error_run(error, "out of memory for %zu runs", runner->round_jobs);
    runner->outcomes = shared;
    bool good = worker_pool_run(&worker_pool, error);
    for (size_t i = 0; good && i < runner->task_count; i++)
        good = task_take(runner, &runner->tasks[i], error);
    (void)munmap(shared, bytes);
    return good;
}

bool capacity_run(const struct capacity_question *question, struct capacity_answer *answer,
                  struct error *error)
{
    struct runner runner = {.question = question, .answer = answer};
    *answer = (struct capacity_answer){.arena = arena_create()};
    runner.inputs = inputs_create(answer->arena);
    runner.overrides =
        arena_allocate(answer->arena, question->override_count + 3, sizeof *runner.overrides);
    for (size_t i = 0; i < question->override_count; i++)
        runner.overrides[i] = question->overrides[i];
    bool good = answer_prepare(&runner, error) && searches_start(&runner, error);
    progress_bar_start(&runner.progress_bar, "runs", question->quiet);
    while (good && (good = round_plan(&runner, error)) && runner.task_count > 0)
        good = round_run(&runner, error);
    progress_bar_end(&runner.progress_bar);
    return good;
}

void capacity_answer_clear(struct capacity_answer *answer)
{
    arena_destroy(answer->arena);
    *answer = (struct capacity_answer){0};
}
