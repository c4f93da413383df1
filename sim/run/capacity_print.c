#include <inttypes.h>
#include <math.h>

#include "results/store/swept.h"
#include "sim/base/json_write.h"
#include "sim/run/capacity_runner.h"

/* ---- Text ------------------------------------------------------------------------------------ */

static const char *direction_name(enum capacity_direction direction)
{
    return direction == CAPACITY_GREATEST ? "greatest" : "least";
}

struct text {
    char bytes[SWEPT_NUMBER];
};

static struct text text_of(double value)
{
    struct text text = {"none"};
    if (!isnan(value))
        number_text(value, text.bytes);
    return text;
}

static void print_curve(FILE *out, const struct capacity_question *question,
                        const struct capacity_curve *curve)
{
    fprintf(out, "\n%s: mean %s at each %s visited\n%12s %12s %12s %12s %6s  %s\n", curve->policy,
            question->metric->name, question->key, "value", "mean", "lower limit", "upper limit",
            "seeds", "answer");
    for (size_t i = 0; i < curve->search.count; i++) {
        const struct capacity_point *point = &curve->search.points[i];
        fprintf(out, "%12s ", text_of(point->value).bytes);
        if (isnan(point->mean))
            fprintf(out, "%12s %12s %12s %6s", "none", "none", "none", "-");
        else if (capacity_point_is_exact(point))
            fprintf(out, "%12.6g %12s %12s %6zu", point->mean, "-", "-", point->seeds);
        else
            fprintf(out, "%12.6g %12.6g %12.6g %6zu", point->mean, point->low, point->high,
                    point->seeds);
        fprintf(out, "  %s\n", capacity_answer_name(point));
    }
}

static void print_notes(FILE *out, const struct capacity_question *question,
                        const struct capacity_curve *curve)
{
    const struct capacity_point *from;
    const struct capacity_point *to;
    if (!isnan(curve->refused))
        fprintf(out, "    refused at %s: %s\n", text_of(curve->refused).bytes, curve->reason);
    if (capacity_search_bend(&curve->search, &from, &to))
        fprintf(out, "    not monotone: mean %s is %g at %s and %g at %s\n", question->metric->name,
                from->mean, text_of(from->value).bytes, to->mean, text_of(to->value).bytes);
}

static void print_interval(FILE *out, const struct capacity_search *search,
                           const struct capacity_interval *interval)
{
    bool exact = true; /* one run stands for all seeds at every value */
    for (size_t i = 0; i < search->count; i++)
        exact =
            exact && (isnan(search->points[i].mean) || capacity_point_is_exact(&search->points[i]));
    const char *surely = exact ? "" : "surely ";
    fprintf(out, "; %sholds at %s, %sfails at %s; %zu seed%s", surely,
            text_of(interval->holds).bytes, surely, text_of(interval->fails).bytes, search->seeds,
            search->seeds == 1 ? "" : "s");
    if (exact)
        fprintf(out, ": %s\n",
                search->range.most_seeds == 1 ? "nothing random is drawn"
                                              : "all gave the same run, so there is no interval");
    else if (interval->narrow)
        fprintf(out, "%s\n", interval->verdict == CAPACITY_FOUND ? ": within the tolerance" : "");
    else
        fprintf(out, ": the budget is spent, and the interval is %.2g %% wide, not %g %%\n",
                100 * interval->width, 100 * search->range.tolerance);
}

static void print_answer(FILE *out, const struct capacity_question *question,
                         const struct capacity_curve *curve)
{
    const struct capacity_search *search = &curve->search;
    const struct capacity_interval interval = capacity_search_interval(search);
    fprintf(out, "%s: ", curve->policy);
    if (interval.verdict == CAPACITY_FOUND)
        fprintf(out, "%s %s %s", direction_name(search->range.direction), question->key,
                text_of(interval.crossing).bytes);
    else
        fprintf(out, "the mean holds at %s %s visited, from %s to %s",
                interval.verdict == CAPACITY_ALL ? "every" : "no", question->key,
                text_of(search->points[0].value).bytes,
                text_of(search->points[search->count - 1].value).bytes);
    if (search->range.direction == CAPACITY_EITHER)
        fprintf(out, "; give another --low or --high\n");
    else
        print_interval(out, search, &interval);
    print_notes(out, question, curve);
}

void capacity_text(const struct capacity_question *question, const struct capacity_answer *answer,
                   bool details, FILE *out)
{
    fprintf(out,
            "%s: mean %s %s %g, at each value with %g %% confidence over %" PRIu64 " to %" PRIu64
            " seeds; %s ",
            question->path, question->metric->name, question->at_most ? "at most" : "at least",
            question->threshold, 100 * CAPACITY_CONFIDENCE, question->seeds, question->most_seeds,
            question->key);
    if (answer->whole)
        fprintf(out, "in whole numbers\n");
    else
        fprintf(out, "within %g %%\n", 100 * question->tolerance);
    for (size_t i = 0; i < answer->curve_count; i++)
        print_answer(out, question, &answer->curves[i]);
    for (size_t n = 0; n < answer->notice_count; n++) {
        const struct counted_notice *notice = &answer->notices[n];
        fprintf(out, "%s: %s (%zu of %zu runs)\n", notice->notice.warning ? "warning" : "note",
                notice->notice.text, notice->runs, answer->runs);
    }
    if (!answer->deterministic)
        fprintf(
            out,
            "this result may not repeat: decision times were measured, or a policy is a module\n");
    for (size_t i = 0; details && i < answer->curve_count; i++)
        print_curve(out, question, &answer->curves[i]);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_curve(cJSON *object, const struct capacity_curve *curve)
{
    const struct capacity_search *search = &curve->search;
    static const char *const verdicts[] = {"found", "all hold", "none holds"};
    const struct capacity_interval interval = capacity_search_interval(search);
    const struct capacity_point *from;
    const struct capacity_point *to;
    json_put(object, "policy %s verdict %s", curve->policy, verdicts[interval.verdict]);
    if (search->range.direction == CAPACITY_EITHER)
        cJSON_AddNullToObject(object, "direction");
    else
        cJSON_AddStringToObject(object, "direction", direction_name(search->range.direction));
    cJSON *ends = cJSON_AddArrayToObject(object, "interval");
    cJSON_AddItemToArray(ends, cJSON_CreateNumber(interval.holds));
    cJSON_AddItemToArray(ends, cJSON_CreateNumber(interval.fails));
    json_put(object, "crossing %g width %g within_tolerance %hhd seeds %zu monotone %hhd",
             interval.crossing, interval.width, interval.narrow, search->seeds,
             (bool)!capacity_search_bend(search, &from, &to));
    cJSON *list = cJSON_AddArrayToObject(object, "visited");
    for (size_t i = 0; i < search->count; i++) {
        const struct capacity_point *point = &search->points[i];
        cJSON *visited = json_append(list);
        json_put(visited, "value %g mean %g low %g high %g answer %s", point->value, point->mean,
                 point->low, point->high, capacity_answer_name(point));
        cJSON *seeds = cJSON_AddArrayToObject(visited, "seeds");
        for (size_t s = 0; !point->refused && s < point->seeds; s++)
            cJSON_AddItemToArray(seeds, cJSON_CreateNumber(point->runs[s].value));
    }
}

cJSON *capacity_json(const struct capacity_question *question, const struct capacity_answer *answer)
{
    cJSON *root = cJSON_CreateObject();
    json_put(root, "experiment %s key %s whole %hhd metric %s", question->path, question->key,
             answer->whole, question->metric->name);
    cJSON_AddNumberToObject(root, question->at_most ? "at_most" : "at_least", question->threshold);
    json_put(root,
             "confidence %g tolerance %g first_seed %" PRIu64
             " first_seeds %g max_seeds %g deterministic %hhd",
             CAPACITY_CONFIDENCE, question->tolerance, answer->first_seed, (double)question->seeds,
             (double)question->most_seeds, answer->deterministic);
    cJSON *list = cJSON_AddArrayToObject(root, "policies");
    for (size_t i = 0; i < answer->curve_count; i++)
        put_curve(json_append(list), &answer->curves[i]);
    cJSON *lists[] = {cJSON_AddArrayToObject(root, "notes"),
                      cJSON_AddArrayToObject(root, "warnings")};
    for (size_t n = 0; n < answer->notice_count; n++)
        json_put(json_append(lists[answer->notices[n].notice.warning]), "text %s runs %g",
                 answer->notices[n].notice.text, (double)answer->notices[n].runs);
    return root;
}
