#include "workloads/arrivals/arrivals.h"

#include <math.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "sim/base/arena.h"
#include "sim/engine/random.h"
#include "traces/readers/arrival_trace.h"
#include "sim/base/string_index.h"
#include "workloads/world/workload.h"

/* The next frame of a task. */
struct next_frame {
    sim_time_t time; /* SIM_FOREVER: none */
    uint64_t number;
};

struct arrival_stream {
    struct arena *arena; /* of this and all that it has */
    const struct arrival_spec *spec;
    const struct workload *workload;
    uint64_t seed;
    uint64_t request; /* number of the next */
    sim_time_t now;   /* time of the last */

    size_t state; /* for MMPP */
    uint64_t transition;
    sim_time_t state_end;

    struct trace_reader *trace;
    const char **labels;    /* labels requested from the trace */
    uint32_t *applications; /* application of each label */
    size_t label_count;
    uint32_t other; /* application of "*"; SIM_NONE: drawn */

    struct next_frame *frames; /* by task of a periodic process */

    const char *source;         /* the last record's own label */
    struct string_index strays; /* labels that name no application */
    uint64_t drawn;             /* number of requests whose application was drawn */
};

double arrival_spec_rate(const struct arrival_spec *spec)
{
    double requests = 0;
    double seconds = 0;
    switch (spec->process) {
    case ARRIVAL_UNIFORM:
        return 2e3 / (spec->low_ms + spec->high_ms);
    case ARRIVAL_POISSON:
        return spec->rate_per_s;
    case ARRIVAL_MMPP:
        for (size_t i = 0; i < spec->state_count; i++) {
            requests += spec->states[i].rate_per_s * spec->states[i].mean_sojourn_s;
            seconds += spec->states[i].mean_sojourn_s;
        }
        return requests / seconds;
    case ARRIVAL_TRACE:
    case ARRIVAL_CLOSED:
    case ARRIVAL_PERIODIC:
        break;
    }
    return NAN;
}

/* ---- Applications ---- */

uint32_t application_draw_walk(const struct workload *workload, double uniform)
{
    const struct application *applications = workload->applications;
    double left = uniform;
    for (uint32_t a = 0; a < workload->application_count; a++) {
        if (left < applications[a].weight)
            return a;
        left -= applications[a].weight;
    }
    /* Rounding may leave a gap above the sum of the weights, which the last application with
     * positive weight gets. */
    uint32_t last = (uint32_t)workload->application_count - 1;
    while (last > 0 && !(applications[last].weight > 0))
        last--;
    return last;
}

uint32_t application_draw(const struct workload *workload, uint64_t seed, uint64_t request)
{
    struct random_stream stream;
    if (workload->application_count == 1)
        return 0;
    random_stream_open(&stream, seed, RANDOM_APPLICATION, request, 0);
    return application_draw_walk(workload, random_uniform(&stream));
}

/* ---- Processes ---- */

/* What the next request draws the interval before it from. */
static void open_interval(const struct arrival_stream *stream, struct random_stream *random)
{
    random_stream_open(random, stream->seed, RANDOM_ARRIVAL, stream->request, 0);
}

/* Advances the clock; false if it would leave its range. */
static bool advance(struct arrival_stream *stream, double interval, struct error *error)
{
    if (!(interval < (double)(SIM_CLOCK_END - stream->now)))
        return error_input(error,
                           "arrivals: request %llu would arrive after the clock's end (about 18 "
                           "years); raise the rate",
                           (unsigned long long)stream->request);
    stream->now += sim_round(interval);
    return true;
}

static bool next_uniform(struct arrival_stream *stream, struct error *error)
{
    const struct arrival_spec *spec = stream->spec;
    struct random_stream random;
    open_interval(stream, &random);
    const double place = random_uniform(&random);
    return advance(stream, (spec->low_ms + place * (spec->high_ms - spec->low_ms)) * (double)SIM_MS,
                   error);
}

static bool next_poisson(struct arrival_stream *stream, struct error *error)
{
    struct random_stream random;
    open_interval(stream, &random);
    return advance(
        stream, random_exponential_gsl(&random, (double)SIM_S / stream->spec->rate_per_s), error);
}

static bool enter_state(struct arrival_stream *stream, struct error *error)
{
    RANDOM_STREAM(random, stream->seed, RANDOM_MMPP, stream->transition++, 0);
    double sojourn = gsl_ran_exponential(
        &random.rng, stream->spec->states[stream->state].mean_sojourn_s * (double)SIM_S);
    if (!(sojourn < (double)(SIM_CLOCK_END - stream->now)))
        stream->state_end = SIM_CLOCK_END;
    else
        stream->state_end = stream->now + sim_round(sojourn);
    return stream->now < SIM_CLOCK_END || advance(stream, (double)SIM_CLOCK_END, error);
}

/* Time rescaling: the integral of the rate between two arrivals is exponential with mean 1, however
 * many states are passed between them. Request n therefore needs only one draw of its own. */
static bool next_mmpp(struct arrival_stream *stream, struct error *error)
{
    struct random_stream random;
    open_interval(stream, &random);
    double left = random_exponential_gsl(&random, 1.0);
    for (;;) {
        double rate = stream->spec->states[stream->state].rate_per_s / (double)SIM_S;
        double stay = (double)(stream->state_end - stream->now);
        if (rate > 0 && left <= rate * stay)
            return advance(stream, left / rate, error);
        left -= rate * stay;
        stream->now = stream->state_end;
        stream->state = (stream->state + 1) % stream->spec->state_count;
        if (!enter_state(stream, error))
            return false;
    }
}

/* Draws the application of a request whose label names none. */
static uint32_t draw_stray(struct arrival_stream *stream)
{
    stream->drawn++;
    if (stream->source != NULL && stream->source[0] != '\0')
        (void)string_index_add(&stream->strays, stream->source);
    return application_draw(stream->workload, stream->seed, stream->request);
}

static bool next_trace(struct arrival_stream *stream, struct arrival *arrival, struct error *error)
{
    struct trace_record record;
    struct error fault = {.kind = ERROR_NONE};
    if (!trace_next(stream->trace, &record, &fault)) {
        if (fault.kind == ERROR_NONE && stream->request == 0)
            (void)error_input(&fault,
                              "%s: no request of the trace lies within start_s and duration_s and "
                              "has a mapped source",
                              stream->spec->trace_path);
        if (fault.kind != ERROR_NONE && error != NULL)
            *error = fault;
        return false;
    }
    arrival->time = record.time;
    arrival->slo = record.slo;
    if (record.selected != TRACE_UNSELECTED)
        arrival->application = stream->applications[record.selected];
    else if (stream->other != SIM_NONE)
        arrival->application = stream->other;
    else
        arrival->application = draw_stray(stream);
    stream->now = record.time;
    stream->request++;
    return true;
}

/* Of frames of one instant that of the first task. O(tasks). */
static bool next_periodic(struct arrival_stream *stream, struct arrival *arrival,
                          struct error *error)
{
    const struct arrival_spec *spec = stream->spec;
    const struct workload *workload = stream->workload;
    struct next_frame *next = stream->frames;
    for (uint32_t task = 1; task < workload->application_count; task++)
        if (stream->frames[task].time < next->time)
            next = &stream->frames[task];
    if (next->time == SIM_FOREVER || !advance(stream, (double)(next->time - stream->now), error))
        return false;
    const sim_time_t period = sim_from_ms(spec->period_ms);
    const uint32_t periods = next->number == 0 ? spec->first_period : 1;
    *arrival =
        (struct arrival){.time = stream->now, .application = (uint32_t)(next - stream->frames)};
    if (periods > 1)
        arrival->slo = workload->applications[arrival->application].slo + period;
    next->time = ++next->number < spec->frames ? next->time + periods * period : SIM_FOREVER;
    stream->request++;
    return true;
}

bool arrival_stream_next(struct arrival_stream *stream, struct arrival *arrival,
                         struct error *error)
{
    bool good = false;
    switch (stream->spec->process) {
    case ARRIVAL_UNIFORM:
        good = next_uniform(stream, error);
        break;
    case ARRIVAL_POISSON:
        good = next_poisson(stream, error);
        break;
    case ARRIVAL_MMPP:
        good = next_mmpp(stream, error);
        break;
    case ARRIVAL_TRACE:
        return next_trace(stream, arrival, error);
    case ARRIVAL_PERIODIC:
        return next_periodic(stream, arrival, error);
    case ARRIVAL_CLOSED:
        break;
    }
    if (!good)
        return false;
    arrival->time = stream->now;
    arrival->slo = 0;
    arrival->application = application_draw(stream->workload, stream->seed, stream->request);
    stream->request++;
    return true;
}

/* ---- Opening ---- */

/* Lower limit for the requests per cycle of states. The generator visits every state, so a process
 * that changes state often and produces hardly any request would run for years. */
#define MMPP_REQUESTS_LEAST 1e-6

static bool check_mmpp(const struct arrival_spec *spec, struct error *error)
{
    double requests = 0;
    for (size_t i = 0; i < spec->state_count; i++)
        requests += spec->states[i].rate_per_s * spec->states[i].mean_sojourn_s;
    return requests >= MMPP_REQUESTS_LEAST ||
           error_input(error,
                       "arrivals: the mean cycle through the MMPP's states brings %g requests, "
                       "fewer than %g; raise rate_per_s or mean_sojourn_s",
                       requests, MMPP_REQUESTS_LEAST);
}

/* Determines the labels to request from the trace, and the application of each. */
static bool take_mappings(struct arrival_stream *stream, enum trace_others *others,
                          struct error *error)
{
    const struct arrival_spec *spec = stream->spec;
    const struct workload *workload = stream->workload;
    bool mapped = spec->mapping_count > 0;
    size_t most = mapped ? spec->mapping_count : workload->application_count;
    stream->labels = arena_allocate(stream->arena, most, sizeof *stream->labels);
    stream->applications = arena_allocate(stream->arena, most, sizeof *stream->applications);
    *others = mapped ? TRACE_OTHERS_DROP : TRACE_OTHERS_MERGE;
    for (size_t i = 0; i < most; i++) {
        const char *label = mapped ? spec->mappings[i].source : workload->applications[i].name;
        uint32_t application = mapped ? spec->mappings[i].application : (uint32_t)i;
        if (mapped && strcmp(label, "*") == 0) {
            if (*others == TRACE_OTHERS_MERGE)
                return error_input(error, "arrivals: source '*' is mapped twice");
            *others = TRACE_OTHERS_MERGE;
            stream->other = application;
            continue;
        }
        stream->labels[stream->label_count] = label;
        stream->applications[stream->label_count++] = application;
    }
    return true;
}

/* Receives a record's label before the record itself. If a trace is read whole, it receives all
 * labels while the trace is opened. */
static void take_label(void *context, const char *label, uint64_t requests)
{
    struct arrival_stream *stream = context;
    stream->source = label;
    if (stream->trace != NULL || requests == 0)
        return;
    for (size_t i = 0; i < stream->label_count; i++)
        if (strcmp(stream->labels[i], label) == 0)
            return;
    if (label[0] != '\0')
        (void)string_index_add(&stream->strays, label);
}

struct arrival_counts arrival_stream_counts(const struct arrival_stream *stream)
{
    struct arrival_counts counts = {0};
    if (stream->trace == NULL)
        return counts;
    counts.requests = stream->request;
    counts.drawn = stream->drawn;
    counts.drawn_labels = stream->drawn > 0 ? stream->strays.count : 0;
    counts.fixed_times = trace_has_times(stream->trace) && stream->spec->windows <= 1;
    counts.first_s = trace_first_s(stream->trace);
    return counts;
}

static bool open_trace(struct arrival_stream *stream, struct error *error)
{
    const struct arrival_spec *spec = stream->spec;
    struct trace_view view = {
        .start_s = spec->start_s, .duration_s = spec->duration_s, .scale_rate = spec->scale_rate};
    if (spec->windows > 0) {
        view.start_s += (double)(stream->seed % spec->windows) * spec->window_s;
        view.duration_s = spec->window_s;
    }
    if (spec->mapping_count == 0) { /* with mappings no application is drawn */
        view.count = take_label;
        view.context = stream;
    }
    if (!take_mappings(stream, &view.others, error))
        return false;
    view.labels = stream->labels;
    view.label_count = stream->label_count;
    stream->trace =
        trace_open_view(spec->trace_path, spec->trace_format, stream->seed, &view, error);
    stream->source = NULL; /* if the trace was read whole, records have no label */
    return stream->trace != NULL;
}

static void open_periodic(struct arrival_stream *stream)
{
    const struct arrival_spec *spec = stream->spec;
    const size_t tasks = stream->workload->application_count;
    stream->frames = arena_allocate(stream->arena, tasks, sizeof *stream->frames);
    for (uint32_t task = 0; task < tasks; task++) {
        double ms = spec->phase == PHASE_LIST ? spec->phases_ms[task] : 0;
        RANDOM_STREAM(random, stream->seed, RANDOM_ARRIVAL, task, 0);
        if (spec->phase == PHASE_RANDOM)
            ms = random_uniform(&random) * spec->first_period * spec->period_ms;
        stream->frames[task].time = sim_from_ms(ms);
    }
}

struct arrival_stream *arrival_stream_open(const struct arrival_spec *spec,
                                           const struct workload *workload, uint64_t seed,
                                           struct error *error)
{
    if (spec->process == ARRIVAL_MMPP && !check_mmpp(spec, error))
        return NULL;
    struct arrival_stream *stream = arena_home(sizeof *stream);
    stream->spec = spec;
    stream->workload = workload;
    stream->seed = seed;
    stream->other = SIM_NONE;
    bool good = spec->process != ARRIVAL_TRACE || open_trace(stream, error);
    if (good && spec->process == ARRIVAL_MMPP)
        good = enter_state(stream, error);
    if (spec->process == ARRIVAL_PERIODIC)
        open_periodic(stream);
    if (good)
        return stream;
    arrival_stream_close(stream);
    return NULL;
}

void arrival_stream_close(struct arrival_stream *stream)
{
    if (stream == NULL)
        return;
    trace_close(stream->trace);
    string_index_clear(&stream->strays);
    arena_destroy(stream->arena);
}
