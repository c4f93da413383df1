#include "traces/calibrate/samples.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "sim/base/utf8.h"

enum { SAMPLES_MOST = 1 << 22 };

struct arena *samples_memory(struct sample_set *set)
{
    if (set->memory == NULL)
        set->memory = arena_create();
    return set->memory;
}

void samples_clear(struct sample_set *set)
{
    string_index_clear(&set->functions);
    arena_destroy(set->memory);
    *set = (struct sample_set){0};
}

/* Makes room for one more entry of `size` bytes in the array at `entries`. */
static bool grow(struct sample_set *set, void *entries, size_t count, size_t size,
                 struct error *error)
{
    if (count >= SAMPLES_MOST)
        return error_input(error, "more than %d samples; give fewer files at once", SAMPLES_MOST);
    arena_reserve(samples_memory(set), entries, count + 1, size);
    return true;
}

bool samples_function(struct sample_set *set, const char *name, uint32_t *index,
                      struct error *error)
{
    size_t before = set->functions.count;
    if (!utf8_is_name(name))
        return error_input(error,
                           "the function's name '%s' holds control characters or is not UTF-8; "
                           "mend it",
                           name);
    int32_t found = string_index_add(&set->functions, name);
    if (found == STRING_INDEX_NONE)
        return error_run(error, "out of memory for samples");
    *index = (uint32_t)found;
    if (set->functions.count == before)
        return true;
    if (!grow(set, &set->properties, before, sizeof *set->properties, error))
        return false;
    set->properties[before] =
        (struct function_properties){.weights_mb = NAN, .per_item_mb = NAN, .demand = NAN};
    return true;
}

bool samples_add_latency(struct sample_set *set, const struct latency_sample *sample,
                         struct error *error)
{
    if (!grow(set, &set->latencies, set->latency_count, sizeof *sample, error))
        return false;
    set->latencies[set->latency_count++] = *sample;
    return true;
}

bool samples_add_refused(struct sample_set *set, const struct latency_sample *sample,
                         struct error *error)
{
    if (!grow(set, &set->refused, set->refused_count, sizeof *sample, error))
        return false;
    set->refused[set->refused_count++] = *sample;
    return true;
}

bool samples_add_co_run(struct sample_set *set, const struct co_run *run, struct error *error)
{
    if (!grow(set, &set->co_runs, set->co_run_count, sizeof *run, error))
        return false;
    set->co_runs[set->co_run_count++] = *run;
    if (run->group >= set->groups)
        set->groups = run->group + 1;
    return true;
}

bool samples_add_repeat(struct sample_set *set, const struct co_run *run, double ms,
                        struct error *error)
{
    for (size_t i = 0; i < set->latency_count; i++) {
        struct latency_sample repeat = set->latencies[i];
        if (repeat.function != run->function || repeat.batch != run->batch ||
            repeat.share != run->share)
            continue;
        repeat.ms = ms;
        return samples_add_latency(set, &repeat, error);
    }
    return true;
}

void samples_add_demand(struct sample_set *set, uint32_t function, int share, double demand)
{
    struct function_properties *properties = &set->properties[function];
    if (isnan(demand) || share < properties->demand_share)
        return;
    if (share > properties->demand_share) {
        properties->demand_share = share;
        properties->demand_reads = 0;
        properties->demand = 0;
    }
    properties->demand_reads++;
    properties->demand += (demand - properties->demand) / (double)properties->demand_reads;
}

static void line_add(struct line_sums *line, double weight, double x, double y)
{
    line->n += weight;
    line->x += weight * x;
    line->y += weight * y;
    line->squares += weight * x * x;
    line->products += weight * x * y;
}

/* Least squares of lines with no negative part. Returns false where all x are one: then the base is
 * the mean. */
static bool line_fit(const struct line_sums *line, double *base, double *slope)
{
    const double spread = line->n * line->squares - line->x * line->x;
    const bool known = spread > 1e-9 * line->n * line->squares;
    *slope = known ? fmax(0, (line->n * line->products - line->x * line->y) / spread) : 0;
    *base = line->n > 0 ? (line->y - *slope * line->x) / line->n : NAN;
    if (*base < 0) {
        *base = 0;
        *slope = line->products / line->squares;
    }
    return known;
}

void samples_add_memory(struct sample_set *set, uint32_t function, int batch, double mb)
{
    if (!isnan(mb))
        line_add(&set->properties[function].memory, 1, batch, mb);
}

/* Errors count in parts of the time that a batch holds its share. */
void samples_add_turnaround(struct sample_set *set, uint32_t function, int batch, double latency_ms,
                            double ms)
{
    if (!isnan(ms) && latency_ms > 0)
        line_add(&set->properties[function].turnaround, 1 / pow(latency_ms + ms, 2), batch, ms);
}

/* One batch size alone does not tell weights and items apart: then nothing is known of memory. */
static void fit_lines(struct function_properties *properties)
{
    double base = 0, slope = 0;
    if (line_fit(&properties->memory, &base, &slope)) {
        properties->weights_mb = base;
        properties->per_item_mb = slope;
    }
    (void)line_fit(&properties->turnaround, &properties->turnaround_ms, &slope);
    properties->turnaround_per_item_ms = isnan(properties->turnaround_ms) ? NAN : slope;
}

bool samples_add_cold_start(struct sample_set *set, uint32_t function, double ms,
                            struct error *error)
{
    struct function_properties *properties = &set->properties[function];
    if (!grow(set, &properties->cold_samples_ms, properties->cold_count, sizeof ms, error))
        return false;
    properties->cold_samples_ms[properties->cold_count++] = ms;
    return true;
}

void samples_note(struct sample_set *set, const char *format, ...)
{
    va_list args;
    if (set->left_out != NULL)
        arena_append(samples_memory(set), &set->left_out, "; ");
    va_start(args, format);
    arena_append_of(samples_memory(set), &set->left_out, format, args);
    va_end(args);
}

bool samples_set_unit(struct sample_set *set, int unit, const char *path, struct error *error)
{
    if (set->base != 0 && set->base != unit)
        return error_input(error,
                           "%s: its shares are of %d, those of the files before it of %d; "
                           "calibrate one device at a time",
                           path, unit, set->base);
    if (set->base == 0)
        set->base = set->unit = unit;
    return true;
}

void samples_refine_unit(struct sample_set *set, int unit)
{
    const int by = unit / set->unit;
    if (by == 1)
        return;
    for (size_t i = 0; i < set->latency_count; i++)
        set->latencies[i].share *= by;
    for (size_t i = 0; i < set->refused_count; i++)
        set->refused[i].share *= by;
    for (size_t i = 0; i < set->co_run_count; i++)
        set->co_runs[i].share *= by;
    for (size_t i = 0; i < set->functions.count; i++)
        set->properties[i].demand_share *= by;
    set->unit = unit;
}

int samples_in_unit(const struct sample_set *set, int share, int unit)
{
    const int scaled = share * unit;
    const int nearest = (scaled + set->unit / 2) / set->unit;
    const int off = abs(scaled - nearest * set->unit);
    const bool rounds = set->unit >= 100 && unit < set->unit;
    return off == 0 || (rounds && 2 * off < unit) ? nearest : -1;
}

double samples_share(const struct sample_set *set, const struct latency_sample *sample)
{
    return sample->part > 0 ? sample->part : (double)sample->share / set->unit;
}

static int compare(const void *left, const void *right)
{
    const struct latency_sample *a = left;
    const struct latency_sample *b = right;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if ((a->share == 0) != (b->share == 0))
        return a->share == 0 ? 1 : -1;
    if (a->vcpu != b->vcpu)
        return a->vcpu < b->vcpu ? -1 : 1;
    if (a->batch != b->batch)
        return a->batch < b->batch ? -1 : 1;
    if (a->share != b->share)
        return a->share < b->share ? -1 : 1;
    return (a->ms > b->ms) - (a->ms < b->ms);
}

static bool same_configuration(const struct latency_sample *a, const struct latency_sample *b)
{
    return a->function == b->function && a->vcpu == b->vcpu && a->batch == b->batch &&
           a->share == b->share;
}

/* Merges `count` repeats, sorted by latency, into one sample. The spread that a table states of its
 * own repeats is kept in place of the spread of its means, which then is that of the cell. */
static bool join_repeats(struct sample_set *set, const struct latency_sample *first, size_t count,
                         struct latency_sample *joined, struct error *error)
{
    const size_t stride = sizeof *first / sizeof(double);
    _Static_assert(sizeof(struct latency_sample) % sizeof(double) == 0, "times at equal strides");
    double mean = 0;
    double squares = 0;
    bool fine = true;
    *joined = *first;
    joined->ms = gsl_stats_median_from_sorted_data(&first->ms, stride, count);
    for (size_t i = 1; i < count; i++)
        joined->repeats += first[i].repeats;
    for (size_t i = 0; i < count; i++)
        mean += log(first[i].ms) / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += pow(log(first[i].ms) - mean, 2);
    if (count > 1 && isnan(first->cv))
        joined->cv = sqrt(squares / (double)(count - 1));
    if (count < 2 || isnan(first->cv))
        return true;
    struct function_properties *own = &set->properties[first->function];
    own->repeat_squares += squares;
    own->repeat_freedom += (double)(count - 1);
    /* One differs from the mean of the others by n / (n - 1) of what it does from that of all. */
    for (size_t i = 0; fine && i < count; i++)
        if ((fine = grow(set, &own->repeat_errors, own->repeat_count, sizeof(double), error)))
            own->repeat_errors[own->repeat_count++] =
                fabs(expm1((log(first[i].ms) - mean) * (double)count / (double)(count - 1)));
    return fine;
}

bool samples_reduce(struct sample_set *set, struct error *error)
{
    size_t kept = 0;
    bool fine = true;
    for (size_t i = 0; i < set->functions.count; i++)
        fit_lines(&set->properties[i]);
    if (set->latency_count > 0)
        qsort(set->latencies, set->latency_count, sizeof *set->latencies, compare);
    for (size_t i = 0; fine && i < set->latency_count;) {
        size_t end = i + 1;
        while (end < set->latency_count &&
               same_configuration(&set->latencies[i], &set->latencies[end]))
            end++;
        struct latency_sample joined;
        fine = join_repeats(set, &set->latencies[i], end - i, &joined, error);
        set->latencies[kept++] = joined;
        i = end;
    }
    set->latency_count = kept;
    for (size_t i = 0; i < set->functions.count; i++)
        if (set->properties[i].repeat_count > 0)
            gsl_sort(set->properties[i].repeat_errors, 1, set->properties[i].repeat_count);
    return fine;
}

struct sample_group samples_group(const struct sample_set *set, size_t index)
{
    struct sample_group group = {index, index + 1};
    while (group.first > 0 && set->co_runs[group.first - 1].group == set->co_runs[index].group)
        group.first--;
    while (group.end < set->co_run_count &&
           set->co_runs[group.end].group == set->co_runs[index].group)
        group.end++;
    return group;
}

const struct co_run *samples_partner(const struct sample_set *set, size_t index)
{
    const struct sample_group group = samples_group(set, index);
    return group.end - group.first == 2 ? &set->co_runs[group.first + group.end - 1 - index] : NULL;
}

bool samples_alike(const struct latency_sample *a, const struct latency_sample *b)
{
    return a->function == b->function && (a->share == 0) == (b->share == 0);
}

/* End of the samples alike the one at `first`. */
static size_t surface_end(const struct sample_set *set, size_t first)
{
    const struct latency_sample *samples = set->latencies;
    size_t end = first + 1;
    while (end < set->latency_count && samples_alike(&samples[end], &samples[first]))
        end++;
    return end;
}

bool samples_leave_out_lone(struct sample_set *set, struct error *error)
{
    size_t kept = 0;
    size_t end = 0;
    for (size_t i = 0; i < set->latency_count; i = end) {
        end = surface_end(set, i);
        if (end - i == 1) {
            samples_note(set, "%s%s left out, one point is too few to fit",
                         set->functions.names[set->latencies[i].function],
                         set->latencies[i].share == 0 ? " without a GPU" : "");
            continue;
        }
        memmove(&set->latencies[kept], &set->latencies[i], (end - i) * sizeof *set->latencies);
        kept += end - i;
    }
    if (set->latency_count > 0 && kept == 0 && set->co_run_count == 0)
        return error_input(error,
                           "%s: no function has more than one point to fit; measure at least 2 "
                           "batches or shares of one",
                           set->left_out);
    set->latency_count = kept;
    return true;
}
