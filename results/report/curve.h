/* Curves: a metric over the values of a swept key, and the greatest value that still satisfies it.
 *
 * The runs of a sweep are parted by what they have in common except the key. All runs of one
 * experiment and setting form a *group*. The other conditions of the sweep (such as slo.factor)
 * form the group's *panels*. If named settings set the key, all settings of an experiment form one
 * group, and the other keys that they set are conditions. In a panel, each policy with its
 * parameters is a *line* with one point per value of the key. "How much load does a policy
 * sustain?" asks for the end of each line's part that satisfies the limit.
 *
 * The *sustained* value of a line is the greatest value of the sweep at which the metric is at
 * least (or at most) the limit, there and at every smaller value of its panel. "At least" refers to
 * the lower end of the 95 % interval over the seeds, "at most" to the upper one; with one
 * seed, to the value alone. There is no interpolation between values. A line that lacks a smaller
 * value ends there. If runs of the next value are missing, it is not known
 * whether the line ends. Without a limit there are no sustained values.
 */
#ifndef ESGSIM_RESULTS_REPORT_CURVE_H
#define ESGSIM_RESULTS_REPORT_CURVE_H

#include <cjson/cJSON.h>

#include "results/report/report.h"

/* The key that a report follows without being asked, and the fewest values it then needs. */
#define CURVE_KEY "arrivals.load"
#define CURVE_TRAINING_KEY "training.arrivals.per_hour" /* if all runs are of trainings alone */
#define CURVE_METRIC "slo_hit_rate"
#define CURVE_TRAINING_METRIC "jct_s_mean" /* if all runs are of trainings alone */
#define CURVE_AT_LEAST 0.95
enum { CURVE_VALUES = 3 };

struct curve_request {
    const char *key;    /* NULL: CURVE_KEY or CURVE_TRAINING_KEY, if the sweep has CURVE_VALUES
                           values of it */
    const char *metric; /* of metrics.def; NULL: CURVE_METRIC, or
                           CURVE_TRAINING_METRIC */
    double limit;       /* NAN: CURVE_AT_LEAST if the metric is CURVE_METRIC, else none */
    bool at_most;       /* the limit is an upper one */
};

struct curve_point {
    double value;
    const struct report_contender *contender; /* its runs */
};

struct curve_line {
    const struct report_contender *like; /* one of its contenders, for policy and label */
    const char *variant;                 /* its parameters without the key */
    const char *title;
    struct curve_point *points; /* by ascending value */
    size_t point_count;
    double sustained; /* NAN: not even the smallest value */
    bool beyond; /* the true value may be more: sustained is the panel's greatest value, or runs of
                    the next one are missing */
    const char
        *words; /* "0.8", "≥ 1.2" if it goes on beyond the sweep, "< 0.2": it does not begin */
};

struct curve_panel {
    const char *conditions; /* without the key: "slo.factor=0.8", or "" */
    const char *title; /* those that differ between the group's panels; "" if there is one panel */
    struct curve_line *lines; /* in order of appearance */
    size_t line_count;
    double *values; /* of the key, distinct, ascending */
    size_t value_count;
};

struct curve_group {
    const struct report_scenario *like; /* one of its scenarios, for name, setting and evidence */
    bool named; /* named settings set the key: the group has several of them */
    const char *title;
    struct curve_panel *panels; /* in order of appearance */
    size_t panel_count;
};

struct curves {
    const char *key;
    const struct metric *metric; /* with its title and scale in tables */
    double limit;                /* NAN: none */
    bool at_most;
    struct curve_group *groups; /* in order of appearance */
    size_t group_count;
};

/* Finds the curves of a report, in place of those it had. It has none, with success, if
 * request->key is NULL and the sweep has too few values. The texts of the request must outlive the
 * report. ERROR_INPUT: the metric is unknown, or no sweep in the file gave the key two or more
 * numbers; the message lists the swept keys; the report keeps its curves. O(runs × label +
 * contenders × lines). */
bool report_follow(struct report *report, const struct curve_request *request, struct error *error);

/* The same for a report that is printed, whose details are chosen. ERROR_INPUT also if a metric or
 * a limit is given and there are no curves. */
bool report_show_curves(struct report *report, const struct curve_request *request,
                        struct error *error);

/* The name of the group's setting: "" if it has several. */
const char *curve_group_setting(const struct curve_group *group);

/* The line of `panel` with the policy and parameters of `line`, or NULL. */
const struct curve_line *curve_line_find(const struct curve_panel *panel,
                                         const struct curve_line *line);

/* Print the table of sustained values; or a table of metric and cost for each panel, policy by
 * value. The others add all curves to a JSON object or an HTML page. */
void curves_text_sustained(const struct report *report, FILE *out);
void curves_panels(const struct report *report, bool html, FILE *out);
void curves_json(const struct report *report, cJSON *root);
/* Adds the object `key` with seeds, mean, deviation and interval; NAN becomes null: no value. */
void estimate_json(cJSON *object, const char *key, struct estimate estimate);
void curves_html(const struct report *report, FILE *out);

#endif
