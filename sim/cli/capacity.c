/* esgsim capacity: the greatest or the least value of a key at which a metric holds. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "results/report/report.h"
#include "sim/cli/capacity_runner.h"
#include "sim/cli/cli.h"
#include "sim/cli/guard.h"
#include "traces/json/json.h"

struct options {
    const char *metric;
    double at_least, at_most; /* NAN: not given */
    bool least, greatest, json;
    struct capacity_question question;
    struct cli_settings settings;
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool take_set(void *options, const char *name, char *value, struct error *error)
{
    (void)name;
    return cli_settings_add_text(&((struct options *)options)->settings, value, error);
}

static bool take_policies(void *options, const char *name, char *value, struct error *error)
{
    struct capacity_question *question = &((struct options *)options)->question;
    return cli_take_names(name, value, question->policies, CAPACITY_POLICIES,
                          &question->policy_count, error);
}

#define LARGEST 1e15
enum { SEEDS_FIRST = 10, SEEDS_MOST = 100 };

static const struct cli_option capacity_table[] = {
    {.name = "--over",
     .value = "KEY",
     .help = "the numeric key to vary, dotted: arrivals.load, arrivals.rate_per_s, "
             "arrivals.scale_rate, training.arrivals.per_hour, cluster.invokers.0.count, "
             "slo.factor, policy.params.k. "
             "sim/README.md has every key",
     .kind = OPTION_TEXT,
     .required = true,
     .place = offsetof(struct options, question.key)},
    {.name = "--metric",
     .value = "NAME",
     .help = "the metric, a column of /summary or of /training (default slo_hit_rate); "
             "results/README.md has them",
     .kind = OPTION_TEXT,
     .place = offsetof(struct options, metric)},
    {.name = "--at-least",
     .value = "X",
     .help = "the metric's mean must be at least X, in its unit: 0.95 for a rate of 95 %",
     .kind = OPTION_NUMBER,
     .place = offsetof(struct options, at_least),
     .low = -LARGEST,
     .high = LARGEST},
    {.name = "--at-most",
     .value = "X",
     .help = "or at most X, e.g. for latency_ms_p99, or for queueing_s_mean of trainings",
     .kind = OPTION_NUMBER,
     .place = offsetof(struct options, at_most),
     .low = -LARGEST,
     .high = LARGEST},
    {.name = "--policies",
     .value = "A,B,…",
     .help = "policies to compare, by name or .so, with their default parameters (default: the "
             "experiment's policy with its own)",
     .kind = OPTION_TAKE,
     .take = take_policies},
    {.name = "--seeds",
     .value = "N",
     .help = "runs at each value at first, with the seeds from the experiment's on (default 10)",
     .kind = OPTION_WHOLE,
     .place = offsetof(struct options, question.seeds),
     .least = 2,
     .most = CAPACITY_SEEDS},
    {.name = "--max-seeds",
     .value = "N",
     .help = "the budget: more seeds are added up to this many, while the interval is wider than "
             "the tolerance (default 100, or --seeds if that is more)",
     .kind = OPTION_WHOLE,
     .place = offsetof(struct options, question.most_seeds),
     .least = 2,
     .most = CAPACITY_SEEDS},
    {.name = "--greatest",
     .help = "find the greatest value at which the metric holds (default for arrivals.load, "
             "rate_per_s, scale_rate, users and per_hour)",
     .kind = OPTION_FLAG,
     .place = offsetof(struct options, greatest)},
    {.name = "--least",
     .help = "find the least one (default for cluster. and slo.; for other keys, and with both "
             "--low and --high, the answers at the ends decide)",
     .kind = OPTION_FLAG,
     .place = offsetof(struct options, least)},
    {.name = "--low",
     .value = "X",
     .help = "lower end of the range (default: the experiment's value, or 1 if it has none, is "
             "halved until the answer changes, at most to a 1024th)",
     .kind = OPTION_NUMBER,
     .place = offsetof(struct options, question.low),
     .low = 0,
     .high = LARGEST},
    {.name = "--high",
     .value = "X",
     .help = "upper end of the range (default: the value is doubled, at most to 1024 times)",
     .kind = OPTION_NUMBER,
     .place = offsetof(struct options, question.high),
     .low = 0,
     .high = LARGEST},
    {.name = "--tolerance",
     .value = "T",
     .help = "the interval from the last value that surely holds to the first that surely fails "
             "is to be at most this share of its middle wide (default 0.04); of whole numbers, 1",
     .kind = OPTION_NUMBER,
     .place = offsetof(struct options, question.tolerance),
     .low = 1e-6,
     .high = 0.5},
    {.name = "--set",
     .value = "KEY=VALUE",
     .help = "override any other key of the experiment, as for run",
     .kind = OPTION_TAKE,
     .repeated = true,
     .take = take_set},
    {.name = "--jobs",
     .value = "N",
     .help = "worker processes at a time (default: the machine's cores)",
     .kind = OPTION_WHOLE,
     .place = offsetof(struct options, question.jobs),
     .least = 1,
     .most = 1024},
    GUARD_OPTION(struct options, question.decision_timeout),
    {.name = "--json",
     .help = "print one JSON object, with the metric of every seed",
     .kind = OPTION_FLAG,
     .place = offsetof(struct options, json)},
    {.name = NULL},
};

static bool metric_choose(const char *name, const struct metric **metric, struct error *error)
{
    const char *names[256];
    int count = 0;
    *metric = report_metric_find(name);
    if (*metric != NULL)
        return true;
    for (size_t i = 0; i < metric_count && count < 200; i++)
        names[count++] = metrics[i].name;
    for (size_t i = 0; i < training_metric_count && count < 256; i++)
        names[count++] = training_metrics[i].name;
    const char *near = error_nearest_name(name, names, count);
    return error_input(error, "--metric: '%.80s' is unknown%s%s%s; results/README.md lists them",
                       name, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                       near != NULL ? "'" : "");
}

/* More requests or trainings make it harder to meet a threshold; a larger cluster and a longer SLO
 * make it easier. */
static enum capacity_direction key_direction(const char *key)
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

static bool options_check(struct options *options, struct error *error)
{
    struct capacity_question *question = &options->question;
    const bool at_least = !isnan(options->at_least);
    if (at_least == !isnan(options->at_most))
        return cli_usage_error(&command_capacity,
                               at_least ? "--at-least and --at-most exclude one another"
                                        : "--at-least X or --at-most X is missing",
                               error);
    if (options->least && options->greatest)
        return cli_usage_error(&command_capacity, "--least and --greatest exclude one another",
                               error);
    if (strcmp(question->key, "seed") == 0)
        return error_input(error, "--over seed: every value is run with several seeds (--seeds)");
    for (size_t i = 0; i < options->settings.count && question->policy_count > 0; i++)
        if (strcmp(options->settings.list[i].key, "policy.name") == 0)
            return error_input(error, "--set policy.name: --policies names the policies");
    question->at_most = !at_least;
    question->threshold = at_least ? options->at_least : options->at_most;
    question->direction = options->least      ? CAPACITY_LEAST
                          : options->greatest ? CAPACITY_GREATEST
                          : !isnan(question->low) && !isnan(question->high)
                              ? CAPACITY_EITHER
                              : key_direction(question->key);
    question->overrides = options->settings.list;
    question->override_count = options->settings.count;
    if (question->most_seeds == 0)
        question->most_seeds = question->seeds < SEEDS_MOST ? SEEDS_MOST : question->seeds;
    if (question->most_seeds < question->seeds)
        return error_input(error, "--max-seeds %" PRIu64 " is below --seeds %" PRIu64,
                           question->most_seeds, question->seeds);
    char fault[METRIC_FAULT];
    return metric_choose(options->metric, &question->metric, error) &&
           (metric_allows(question->metric, question->threshold, fault) ||
            error_input(error, "--at-%s %g: %s", at_least ? "least" : "most", question->threshold,
                        fault));
}

/* ---- Text ------------------------------------------------------------------------------------ */

static const char *direction_name(enum capacity_direction direction)
{
    return direction == CAPACITY_EITHER     ? "greatest or least"
           : direction == CAPACITY_GREATEST ? "greatest"
                                            : "least";
}

static void print_number(double number)
{
    if (isfinite(number))
        printf(" %14.6g", number);
    else
        printf(" %14s", "none");
}

static const char *answer_name(const struct capacity_point *point)
{
    static const char *const names[] = {"surely fails", "not sure", "surely holds"};
    return point->refused ? "refused" : names[capacity_point_answer(point) + 1];
}

/* The end of the mean's interval, in the metric's unit. `side`: -1 or 1. */
static double limit_of(const struct capacity_curve *curve, size_t point, int side)
{
    return curve->estimates[point].mean + side * curve->search.points[point].half;
}

static void print_curve(const struct capacity_question *question,
                        const struct capacity_curve *curve)
{
    size_t order[CAPACITY_POINTS];
    const struct capacity_search *search = &curve->search;
    capacity_search_order(search, order);
    printf("\n%s\n%20s %14s %14s %14s %6s  %s\n", curve->policy, question->key, "mean", "at least",
           "at most", "seeds", question->metric->name);
    for (size_t i = 0; i < search->count; i++) {
        const struct capacity_point *point = &search->points[order[i]];
        char text[CAPACITY_TEXT];
        capacity_print_value(text, point->value);
        printf("%20s", text);
        print_number(curve->estimates[order[i]].mean);
        print_number(limit_of(curve, order[i], -1));
        print_number(limit_of(curve, order[i], 1));
        printf(" %6zu  %s\n", point->refused ? 0 : point->seeds, answer_name(point));
    }
}

static void print_notes(const struct capacity_question *question,
                        const struct capacity_curve *curve)
{
    size_t from;
    size_t to;
    char texts[2][CAPACITY_TEXT];
    if (!isnan(curve->refused)) {
        capacity_print_value(texts[0], curve->refused);
        printf("    refused at %s: %s\n", texts[0], curve->reason);
    }
    if (capacity_search_bend(&curve->search, &from, &to)) {
        capacity_print_value(texts[0], curve->search.points[from].value);
        capacity_print_value(texts[1], curve->search.points[to].value);
        printf("    not monotone: mean %s is %g at %s and %g at %s\n", question->metric->name,
               curve->estimates[from].mean, texts[0], curve->estimates[to].mean, texts[1]);
    }
}

static void print_end(const char *answer, double value)
{
    char text[CAPACITY_TEXT];
    if (isnan(value))
        printf("; %s at no value visited", answer);
    else {
        capacity_print_value(text, value);
        printf("; %s at %s", answer, text);
    }
}

static void print_width(const struct capacity_question *question,
                        const struct capacity_curve *curve,
                        const struct capacity_interval *interval)
{
    const size_t seeds = curve->search.seeds;
    printf("; %zu seed%s, ", seeds, seeds == 1 ? "" : "s");
    if (interval->narrow)
        printf("interval within %s\n",
               curve->search.range.whole ? "1 or the tolerance" : "the tolerance");
    else
        printf("%s, and the interval is %.2g %% wide, not %g %%\n",
               seeds < question->most_seeds ? "no value between can be told apart"
                                            : "the whole budget",
               100 * interval->width, 100 * question->tolerance);
}

static void print_answer(const struct capacity_question *question,
                         const struct capacity_curve *curve)
{
    const struct capacity_search *search = &curve->search;
    const struct capacity_interval interval = capacity_search_interval(search);
    const enum capacity_verdict verdict = capacity_search_verdict(search);
    size_t order[CAPACITY_POINTS];
    char texts[2][CAPACITY_TEXT];
    capacity_search_order(search, order);
    capacity_print_value(texts[0], search->points[order[0]].value);
    capacity_print_value(texts[1], search->points[order[search->count - 1]].value);
    printf("%s: ", curve->policy);
    if (verdict == CAPACITY_FOUND) {
        capacity_print_value(texts[0], interval.crossing);
        printf("%s %s %s", direction_name(search->range.direction), question->key, texts[0]);
    } else {
        printf("the mean holds at %s %s visited, from %s to %s",
               verdict == CAPACITY_ALL ? "every" : "no", question->key, texts[0], texts[1]);
    }
    if (search->range.direction == CAPACITY_EITHER) {
        printf("; give another --low or --high\n");
    } else {
        print_end("surely holds", interval.holds);
        print_end("surely fails", interval.fails);
        print_width(question, curve, &interval);
    }
    print_notes(question, curve);
}

static void print_text(const struct capacity_question *question,
                       const struct capacity_answer *answer)
{
    printf("%s: mean %s %s %g; limits of %g %% over %" PRIu64 " to %" PRIu64 " seeds; %s %s\n",
           question->path, question->metric->name, question->at_most ? "at most" : "at least",
           question->threshold, 100 * CAPACITY_CONFIDENCE, question->seeds, question->most_seeds,
           question->key, answer->whole ? "in whole numbers" : "in any step");
    for (size_t i = 0; i < answer->curve_count; i++)
        print_curve(question, &answer->curves[i]);
    printf("\n");
    for (size_t i = 0; i < answer->curve_count; i++)
        print_answer(question, &answer->curves[i]);
    if (!answer->deterministic)
        printf("decision times were measured: this result is not deterministic\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static cJSON *number_json(double number)
{
    return isfinite(number) ? cJSON_CreateNumber(number) : cJSON_CreateNull();
}

static cJSON *point_json(const struct capacity_curve *curve, size_t index)
{
    const struct capacity_point *point = &curve->search.points[index];
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "value", point->value);
    cJSON_AddItemToObject(object, "mean", number_json(curve->estimates[index].mean));
    cJSON_AddItemToObject(object, "low", number_json(limit_of(curve, index, -1)));
    cJSON_AddItemToObject(object, "high", number_json(limit_of(curve, index, 1)));
    cJSON_AddStringToObject(object, "answer", answer_name(point));
    cJSON *seeds = cJSON_AddArrayToObject(object, "seeds");
    for (size_t s = 0; !point->refused && s < point->seeds; s++)
        cJSON_AddItemToArray(seeds, number_json(curve->estimates[index].values[s]));
    return object;
}

static cJSON *curve_json(const struct capacity_curve *curve)
{
    const struct capacity_search *search = &curve->search;
    static const char *const verdicts[] = {"found", "all hold", "none holds"};
    const struct capacity_interval interval = capacity_search_interval(search);
    const bool known = search->range.direction != CAPACITY_EITHER;
    size_t from;
    size_t to;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "policy", curve->policy);
    cJSON_AddStringToObject(object, "verdict", verdicts[capacity_search_verdict(search)]);
    cJSON_AddItemToObject(object, "direction",
                          known ? cJSON_CreateString(direction_name(search->range.direction))
                                : cJSON_CreateNull());
    cJSON *ends = cJSON_AddArrayToObject(object, "interval");
    cJSON_AddItemToArray(ends, number_json(interval.holds));
    cJSON_AddItemToArray(ends, number_json(interval.fails));
    cJSON_AddItemToObject(object, "crossing", number_json(interval.crossing));
    cJSON_AddItemToObject(object, "width", number_json(interval.width));
    cJSON_AddBoolToObject(object, "within_tolerance", interval.narrow);
    cJSON_AddNumberToObject(object, "seeds", (double)search->seeds);
    cJSON_AddBoolToObject(object, "monotone", !capacity_search_bend(search, &from, &to));
    cJSON *list = cJSON_AddArrayToObject(object, "visited");
    for (size_t i = 0; i < search->count; i++)
        cJSON_AddItemToArray(list, point_json(curve, i));
    return object;
}

static bool print_json(const struct capacity_question *question,
                       const struct capacity_answer *answer, struct error *error)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "experiment", question->path);
    cJSON_AddStringToObject(root, "key", question->key);
    cJSON_AddBoolToObject(root, "whole", answer->whole);
    cJSON_AddStringToObject(root, "metric", question->metric->name);
    cJSON_AddNumberToObject(root, question->at_most ? "at_most" : "at_least", question->threshold);
    cJSON_AddNumberToObject(root, "confidence", CAPACITY_CONFIDENCE);
    cJSON_AddNumberToObject(root, "tolerance", question->tolerance);
    cJSON_AddItemToObject(root, "first_seed", json_whole(answer->first_seed));
    cJSON_AddNumberToObject(root, "first_seeds", (double)question->seeds);
    cJSON_AddNumberToObject(root, "max_seeds", (double)question->most_seeds);
    cJSON_AddBoolToObject(root, "deterministic", answer->deterministic);
    cJSON *list = cJSON_AddArrayToObject(root, "policies");
    for (size_t i = 0; i < answer->curve_count; i++)
        cJSON_AddItemToArray(list, curve_json(&answer->curves[i]));
    return cli_print_json(root, error);
}

static bool capacity_command(int argc, char **argv, bool quiet, struct error *error)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct options options = {.metric = "slo_hit_rate",
                              .at_least = NAN,
                              .at_most = NAN,
                              .question = {.low = NAN,
                                           .high = NAN,
                                           .tolerance = 0.04,
                                           .seeds = SEEDS_FIRST,
                                           .jobs = cores < 1 ? 1 : (uint64_t)cores,
                                           .decision_timeout = GUARD_TIMEOUT_DEFAULT,
                                           .quiet = quiet}};
    struct capacity_answer answer;
    if (!cli_parse(&command_capacity, &argc, argv, &options, error) ||
        !options_check(&options, error))
        return false;
    options.question.path = argv[1];
    bool good = capacity_run(&options.question, &answer, error);
    if (good && options.json)
        good = print_json(&options.question, &answer, error);
    else if (good)
        print_text(&options.question, &answer);
    capacity_answer_clear(&answer);
    return good;
}

const struct command command_capacity = {
    .name = "capacity",
    .summary = "the greatest or least value of a key at which a metric still holds",
    .help =
        "Finds where the mean of a metric over the seeds crosses --at-least or --at-most, on\n"
        "common random numbers: every value and every policy is simulated with the same seeds.\n"
        "The answer is an interval. Its first end is the last value at which the condition surely\n"
        "holds: the whole 99 % interval of the mean (Student's t) meets the threshold. Its second\n"
        "end is the first value at which it surely fails: the whole interval misses it. Seeds are\n"
        "added until the interval is within --tolerance or --max-seeds are spent. Long runs need\n"
        "fewer seeds: a run should be long against the time in which its queues change.\n"
        "Without both --low and --high the search doubles and halves the experiment's value\n"
        "first. A mean need not be monotone, so all visited values are printed, and one that\n"
        "contradicts the answer is told.\n"
        "\n"
        "Examples: esgsim capacity workloads/experiments/strict-light.json --at-least 0.95 \\\n"
        "              --over slo.factor --policies esg,fifo --set requests=1000\n"
        "          esgsim capacity EXP.json --over cluster.invokers.0.count --at-most 200 \\\n"
        "              --metric latency_ms_p99\n"
        "          esgsim capacity TRAININGS.json --over training.arrivals.per_hour \\\n"
        "              --at-most 3600 --metric queueing_s_mean\n",
    .run = capacity_command,
    .operands = "EXP.json",
    .options = capacity_table,
};
