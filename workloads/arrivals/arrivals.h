/* Arrival processes: when requests arrive, and for which application.
 *
 * A stream yields (time, application) in order of time, one request at a time. A trace of any
 * length therefore needs constant memory, and arrivals are not stored in the event queue. The
 * draws of request n depend only on (seed, n), so that every policy gets the same arrivals for one
 * seed.
 */
#ifndef ESGSIM_WORKLOADS_ARRIVALS_ARRIVALS_H
#define ESGSIM_WORKLOADS_ARRIVALS_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"

enum arrival_process {
    ARRIVAL_UNIFORM, /* interval uniform in [low, high] */
    ARRIVAL_POISSON, /* exponential intervals */
    ARRIVAL_MMPP,    /* Markov-modulated Poisson: states with rate and mean sojourn */
    ARRIVAL_TRACE,   /* read from a file, see traces/readers/arrival_trace.h */
    ARRIVAL_CLOSED,  /* users that think, send a request and wait for its result; driven by the
                      * simulator */
    ARRIVAL_PERIODIC /* each application is a task with a frame in each period; the simulator runs a
                      * task's frames one after another */
};

enum arrival_phase { PHASE_RANDOM, PHASE_ZERO, PHASE_LIST };

struct mmpp_state {
    double rate_per_s;
    double mean_sojourn_s; /* exponential; the states follow one another cyclically */
};

struct trace_mapping {
    const char *source; /* function or application label of the trace; "*": all other labels */
    uint32_t application;
};

struct arrival_spec {
    enum arrival_process process;
    double low_ms, high_ms;
    double rate_per_s;
    double load; /* as given; the process offers it */
    struct mmpp_state *states;
    size_t state_count;
    const char *trace_path;   /* resolved */
    const char *trace_format; /* one of trace_formats; NULL: detected from the content */
    double scale_rate;        /* > 1 compresses time by this factor; default 1 */
    double start_s;           /* skips the beginning of the trace; before scaling */
    double duration_s;        /* length used of the trace, before scaling; 0: to its end */
    double window_s;          /* each seed uses a window of that; 0: all seeds use all of it */
    size_t windows;           /* that do not overlap; the seed modulo it selects one */
    struct trace_mapping *mappings; /* if empty, a label that equals an application's name
                                     * selects that application; other requests are drawn by the
                                     * applications' weights */
    size_t mapping_count;
    double think_mean_ms;
    uint32_t users;
    bool think_constant; /* else exponential */
    double period_ms;
    uint64_t frames;          /* of each task */
    uint32_t first_period;    /* periods that the first frame has: 1 or 2 */
    enum arrival_phase phase; /* of first frames: uniform in what they have, 0, or as listed */
    double *phases_ms;        /* one for each application; NULL unless listed */
};

/* Mean rate of the process in requests per second. NAN for a trace, for ARRIVAL_CLOSED, whose rate
 * is not known before the run, and for ARRIVAL_PERIODIC, whose rate is that of each application.
 * O(states). */
double arrival_spec_rate(const struct arrival_spec *spec);

struct arrival {
    sim_time_t time;
    uint32_t application;
    sim_time_t slo; /* 0: the application's SLO */
};

struct arrival_stream;
struct workload;

/* The application of request number `request`, where the process does not determine it: by the
 * applications' weights, from the random stream (seed, RANDOM_APPLICATION, request).
 * O(applications). */
uint32_t application_draw(const struct workload *workload, uint64_t seed, uint64_t request);

/* Whose share of [0, 1) holds `uniform`: by subtracting weight after weight, none of which is
 * negative. O(applications). */
uint32_t application_draw_walk(const struct workload *workload, double uniform);

/* Opens a stream (not for ARRIVAL_CLOSED) of a process as it is loaded. `spec` and `workload` must
 * outlive it. */
struct arrival_stream *arrival_stream_open(const struct arrival_spec *spec,
                                           const struct workload *workload, uint64_t seed,
                                           struct error *error);

/* Gets the next arrival, never earlier than the previous one. False at the end of a trace
 * (error->kind stays ERROR_NONE) or on an error in it (`error` is filled). */
bool arrival_stream_next(struct arrival_stream *stream, struct arrival *arrival,
                         struct error *error);

/* Counts of what a trace has supplied so far. Zero for other processes. */
struct arrival_counts {
    uint64_t requests;
    uint64_t drawn;      /* requests whose application was drawn by weight */
    size_t drawn_labels; /* labels of the trace that match no application; 0 if it has no labels */
    bool fixed_times;    /* arrival times are the same for every seed */
    double first_s;      /* stamp of the trace's first record or bin, which is time 0 */
};

struct arrival_counts arrival_stream_counts(const struct arrival_stream *stream);

void arrival_stream_close(struct arrival_stream *stream);

#endif
