#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "traces/readers/arrival_trace.h"
#include "workloads/arrivals/arrivals_internal.h"
#include "workloads/world/capacity.h"

enum { STATES_LIMIT = 1024, MAPPINGS_LIMIT = 65536 };

/* Intervals of the ESG paper's densest setting; a load without intervals scales them. */
#define UNIFORM_LOW_MS 10
#define UNIFORM_HIGH_MS 16.8

#define RATE_LEAST 1e-9
#define RATE_MOST 1e9

/* In the order of enum arrival_process. */
static const char *const processes[] = {"uniform", "poisson",  "mmpp", "trace",
                                        "closed",  "periodic", NULL};
/* In the order of enum arrival_phase. */
const char *const phase_names[] = {"random", "zero", NULL};
static const char *const think_kinds[] = {"exponential", "constant", NULL};

#define OF arrival_spec
/* It selects the table, so it is known before the table is used. */
#define PROCESS KEY_WORD("process", OF, process, processes, 0, OPTIONAL)
#define LOAD KEY_NUMBER("load", OF, load, 1e-6, 1e6, 0, UNWRITTEN)
static const struct key uniform_keys[] = {
    PROCESS,
    KEY_NUMBER("low_ms", OF, low_ms, 0, LIMIT_MS, 0, OPTIONAL),
    KEY_NUMBER("high_ms", OF, high_ms, 1e-6, LIMIT_MS, 0, OPTIONAL),
    LOAD,
    KEY_NOTES,
    KEY_END};
static const struct key poisson_keys[] = {
    PROCESS, KEY_NUMBER("rate_per_s", OF, rate_per_s, RATE_LEAST, RATE_MOST, 0, OPTIONAL), LOAD,
    KEY_NOTES, KEY_END};
static const struct key mmpp_keys[] = {PROCESS, KEY_OWN("states"), LOAD, KEY_NOTES, KEY_END};
static const struct key trace_keys[] = {
    PROCESS,
    KEY_OWN("file"),
    KEY_OWN("format"),
    KEY_NUMBER("scale_rate", OF, scale_rate, 1e-6, 1e6, 1, OPTIONAL),
    KEY_NUMBER("start_s", OF, start_s, 0, LIMIT_S, 0, OPTIONAL),
    KEY_NUMBER("duration_s", OF, duration_s, 0, LIMIT_S, 0, OPTIONAL),
    KEY_NUMBER("window_s", OF, window_s, 0, LIMIT_S, 0, SPARSE),
    KEY_OWN("mapping"),
    KEY_NOTES,
    KEY_END};
static const struct key closed_keys[] = {
    PROCESS,
    KEY_WHOLE("users", OF, users, 1, 1000000, 0, REQUIRED),
    KEY_NUMBER("think_ms", OF, think_mean_ms, 0, LIMIT_MS, 0, REQUIRED),
    KEY_WORD("think", OF, think_constant, think_kinds, 0, OPTIONAL),
    KEY_NOTES,
    KEY_END};
static const struct key periodic_keys[] = {
    PROCESS,
    KEY_NUMBER("period_ms", OF, period_ms, 1e-6, LIMIT_MS, 0, REQUIRED),
    KEY_WHOLE("frames", OF, frames, 1, 1e9, 150, OPTIONAL),
    KEY_WHOLE("first_period", OF, first_period, 1, 2, 1, OPTIONAL),
    KEY_OWN("phase"),
    KEY_NOTES,
    KEY_END};
#undef OF
const struct key *const arrival_keys[] = {uniform_keys, poisson_keys, mmpp_keys,
                                          trace_keys,   closed_keys,  periodic_keys};
const struct key mmpp_state_keys[] = {
    KEY_NUMBER("rate_per_s", mmpp_state, rate_per_s, 0, RATE_MOST, 0, REQUIRED),
    KEY_NUMBER("mean_sojourn_s", mmpp_state, mean_sojourn_s, 1e-9, LIMIT_S, 0, REQUIRED),
    KEY_OWN("note"), KEY_END};

static bool load_uniform(const struct json_value *value, struct arrival_spec *arrivals,
                         struct error *error)
{
    struct json_value child;
    if (json_child(value, "load", &child) && !json_child(value, "low_ms", &child) &&
        !json_child(value, "high_ms", &child)) {
        arrivals->low_ms = UNIFORM_LOW_MS;
        arrivals->high_ms = UNIFORM_HIGH_MS;
        return true;
    }
    return json_require(value, "low_ms", &child, error) &&
           json_require(value, "high_ms", &child, error) &&
           (arrivals->low_ms <= arrivals->high_ms ||
            json_fault(value, error, "\"low_ms\" %g is above \"high_ms\" %g; swap them",
                       arrivals->low_ms, arrivals->high_ms));
}

static bool load_poisson(const struct json_value *value, struct arrival_spec *arrivals,
                         struct error *error)
{
    struct json_value child;
    if (!json_child(value, "load", &child))
        return json_require(value, "rate_per_s", &child, error);
    if (json_child(value, "rate_per_s", &child))
        return json_fault(value, error, "has both \"load\" and \"rate_per_s\"; keep one");
    arrivals->rate_per_s = 1; /* the load scales it */
    return true;
}

static bool load_mmpp(const struct json_value *value, struct arrival_spec *arrivals,
                      struct error *error)
{
    struct json_value states;
    double most = 0;
    if (!json_require(value, "states", &states, error) ||
        (arrivals->states =
             load_entries(&states, 1, STATES_LIMIT, sizeof *arrivals->states, error)) == NULL)
        return false;
    for (struct json_value entry = {0}; json_next(&states, &entry);) {
        struct mmpp_state *state = &arrivals->states[arrivals->state_count++];
        if (!keys_load(mmpp_state_keys, &entry, state, error))
            return false;
        most = fmax(most, state->rate_per_s);
    }
    return most >= 1e-9 ||
           json_fault(&states, error, "every state has rate 0: nothing would ever arrive");
}

static bool load_mappings(const struct json_value *value, const struct workload *workload,
                          struct arrival_spec *arrivals, struct error *error)
{
    if (!json_is_object(value, NULL, error))
        return false;
    size_t count = json_size(value);
    if (count > MAPPINGS_LIMIT)
        return json_fault(value, error, "has %zu entries, at most %d", count, MAPPINGS_LIMIT);
    arrivals->mappings = arena_allocate(value->arena, count, sizeof *arrivals->mappings);
    bool good = true;
    for (struct json_value entry = {0}; good && json_next(value, &entry);) {
        struct trace_mapping *mapping = &arrivals->mappings[arrivals->mapping_count];
        const char *name = json_as_string(&entry, error);
        size_t a = 0;
        good = name != NULL && json_is_name(&entry, entry.node->string, error) &&
               load_index(&entry, "application", name, &workload->applications[0].name,
                          workload->application_count, sizeof *workload->applications, &a, error);
        mapping->source = entry.node->string;
        mapping->application = (uint32_t)a;
        arrivals->mapping_count++;
    }
    return good;
}

/* How many windows fit into the part of the trace that is used, which is read for that. */
static bool count_windows(const struct json_value *value, struct arrival_spec *arrivals,
                          struct error *error)
{
    const struct trace_view view = {.start_s = arrivals->start_s, .others = TRACE_OTHERS_MERGE};
    const double most = arrivals->duration_s > 0 ? arrivals->duration_s : INFINITY;
    struct trace_record record = {.time = 0};
    struct error fault = {.kind = ERROR_NONE};
    struct trace_reader *trace =
        trace_open_view(arrivals->trace_path, arrivals->trace_format, 0, &view, &fault);
    while (trace != NULL && sim_to_s(record.time) < most && trace_next(trace, &record, &fault))
        continue;
    trace_close(trace);
    if (fault.kind != ERROR_NONE && error != NULL)
        *error = fault;
    const double length = fmin(sim_to_s(record.time), most);
    arrivals->windows = (size_t)(length / arrivals->window_s);
    return fault.kind == ERROR_NONE &&
           (arrivals->windows > 0 ||
            json_fault(value, error,
                       "\"window_s\" %g is longer than the part of the trace that is used, %.6g s",
                       arrivals->window_s, length));
}

static bool load_trace(const struct json_include *document, const struct json_value *value,
                       const struct workload *workload, struct arrival_spec *arrivals,
                       struct error *error)
{
    struct json_value child;
    int format = -1;
    if (!json_require(value, "file", &child, error))
        return false;
    arrivals->trace_path = json_include_find_file(document, &child, error);
    if (arrivals->trace_path == NULL ||
        !json_choice(value, "format", trace_formats, &format, error))
        return false;
    arrivals->trace_format = format >= 0 ? trace_formats[format] : NULL;
    return (!json_child(value, "mapping", &child) ||
            load_mappings(&child, workload, arrivals, error)) &&
           (arrivals->window_s == 0 || count_windows(value, arrivals, error));
}

static bool load_periodic(const struct json_value *value, const struct workload *workload,
                          struct arrival_spec *arrivals, struct error *error)
{
    const size_t tasks = workload->application_count;
    struct json_value child, entry = {0};
    int phase = PHASE_RANDOM;
    if (!json_child(value, "phase", &child))
        return true;
    if (!cJSON_IsArray(child.node)) {
        const bool good = json_choice(value, "phase", phase_names, &phase, error);
        arrivals->phase = (enum arrival_phase)phase;
        return good;
    }
    arrivals->phase = PHASE_LIST;
    if (json_size(&child) != tasks)
        return json_fault(&child, error,
                          "has %zu entries for %zu applications, each of which is a task; give one "
                          "for each",
                          json_size(&child), tasks);
    arrivals->phases_ms = arena_allocate(child.arena, tasks, sizeof *arrivals->phases_ms);
    while (json_next(&child, &entry))
        if (!json_as_number(&entry, 0, LIMIT_MS, &arrivals->phases_ms[entry.index], error))
            return false;
    return true;
}

/* "load" needs a process whose rate is known before the run. */
static bool check_load(const struct json_value *value, enum arrival_process process,
                       struct error *error)
{
    struct json_value load;
    if (!json_child(value, "load", &load))
        return true;
    if (process == ARRIVAL_TRACE)
        return json_fault(&load, error,
                          "does not apply to a trace; set its rate by \"scale_rate\"");
    if (process == ARRIVAL_PERIODIC)
        return json_fault(&load, error,
                          "does not apply to \"periodic\"; set its rate by \"period_ms\"");
    return process != ARRIVAL_CLOSED ||
           json_fault(&load, error,
                      "does not apply to \"closed\", whose users set the rate; change \"users\"");
}

static void scale(struct arrival_spec *arrivals, double factor)
{
    arrivals->low_ms /= factor;
    arrivals->high_ms /= factor;
    arrivals->rate_per_s *= factor;
    for (size_t i = 0; i < arrivals->state_count; i++)
        arrivals->states[i].rate_per_s *= factor;
}

/* Scales the process as read so that it offers the load that is given, if one is. */
static bool apply_load(const struct json_value *value, const struct workload *workload,
                       struct arrival_spec *arrivals, struct error *error)
{
    struct json_value child;
    if (!json_child(value, "load", &child))
        return true;
    const double rate = arrivals->load * capacity_find(workload).rate_per_s;
    scale(arrivals, rate / arrival_spec_rate(arrivals));
    double fastest = arrivals->process == ARRIVAL_UNIFORM ? 1e3 / arrivals->high_ms : rate;
    for (size_t i = 0; i < arrivals->state_count; i++)
        fastest = fmax(fastest, arrivals->states[i].rate_per_s);
    return (rate >= RATE_LEAST && fastest <= RATE_MOST && arrivals->high_ms <= LIMIT_MS) ||
           json_fault(&child, error,
                      "%g of the cluster's capacity is %g requests per second; choose a load that "
                      "brings %g to %g",
                      arrivals->load, rate, RATE_LEAST, RATE_MOST);
}

static bool load_process(const struct json_include *document, const struct json_value *value,
                         const struct workload *workload, struct arrival_spec *arrivals,
                         struct error *error)
{
    switch (arrivals->process) {
    case ARRIVAL_UNIFORM:
        return load_uniform(value, arrivals, error);
    case ARRIVAL_POISSON:
        return load_poisson(value, arrivals, error);
    case ARRIVAL_MMPP:
        return load_mmpp(value, arrivals, error);
    case ARRIVAL_TRACE:
        return load_trace(document, value, workload, arrivals, error);
    case ARRIVAL_PERIODIC:
        return load_periodic(value, workload, arrivals, error);
    case ARRIVAL_CLOSED:
        break;
    }
    return true;
}

bool arrivals_load(const struct json_include *document, const struct json_value *value,
                   const struct workload *workload, struct arrival_spec *arrivals,
                   struct error *error)
{
    struct json_value child;
    int process = 0;
    if (!json_is_object(value, NULL, error) || !json_require(value, "process", &child, error) ||
        !json_choice(value, "process", processes, &process, error) ||
        !check_load(value, (enum arrival_process)process, error))
        return false;
    keys_default(trace_keys, arrivals);
    keys_default(periodic_keys, arrivals);
    return keys_load(arrival_keys[process], value, arrivals, error) &&
           load_process(document, value, workload, arrivals, error) &&
           apply_load(value, workload, arrivals, error);
}
