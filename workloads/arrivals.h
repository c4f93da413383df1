/* Arrival processes: where requests come from.
 *
 * A stream yields (time, application) in order of time, one request at a time, so that a trace of
 * any length costs constant memory and never passes through the event calendar. What request n
 * draws depends only on (seed, n): every policy meets the same arrivals under one seed.
 */
#ifndef ESGSIM_WORKLOADS_ARRIVALS_H
#define ESGSIM_WORKLOADS_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"
#include "sim/units.h"

enum arrival_process {
    ARRIVAL_UNIFORM, /* interval uniform in [low, high] */
    ARRIVAL_POISSON, /* exponential intervals */
    ARRIVAL_MMPP,    /* Markov-modulated Poisson: states with rate and mean sojourn */
    ARRIVAL_TRACE,   /* a file, see traces/arrival_trace.h */
    ARRIVAL_CLOSED   /* users who think, ask, wait for the answer; driven by the simulator */
};

struct mmpp_state {
    double rate_per_s;
    double mean_sojourn_s; /* exponential; the next state is the following one, cyclically */
};

struct trace_mapping {
    char *source; /* trace function or application label; "*": any other */
    uint32_t application;
};

struct arrival_spec {
    enum arrival_process process;
    double low_ms, high_ms;
    double rate_per_s;
    struct mmpp_state *states;
    size_t state_count;
    char *trace_path;               /* resolved */
    char *trace_format;             /* NULL: by content; else a name of arrival_trace.h */
    double scale_rate;              /* > 1: time compressed by this factor; default 1 */
    double start_s;                 /* skip the trace's beginning, before scaling */
    double duration_s;              /* of the trace, before scaling; 0: to its end */
    struct trace_mapping *mappings; /* empty: labels that equal an application's name go there,
                                       others are drawn by the applications' weights */
    size_t mapping_count;
    double think_mean_ms;
    uint32_t users;
    bool think_constant; /* else exponential */
};

struct arrival {
    sim_time_t time;
    uint32_t application;
    sim_time_t slo; /* 0: the application's own */
};

struct arrival_stream;
struct workload;

/* Opens a stream (not for ARRIVAL_CLOSED). `spec` and `workload` must outlive it. */
struct arrival_stream *arrival_stream_open(const struct arrival_spec *spec,
                                           const struct workload *workload, uint64_t seed,
                                           struct error *error);

/* The next arrival, never earlier than the one before. False at the end of a trace (error->kind
 * stays ERROR_NONE) or on a fault in it (error filled). */
bool arrival_stream_next(struct arrival_stream *stream, struct arrival *arrival,
                         struct error *error);

/* What a trace has given so far. Zero for other processes. */
struct arrival_tally {
    uint64_t requests;
    uint64_t drawn;      /* of these, given to an application at random, by weight */
    size_t drawn_labels; /* labels of the trace that name no application; 0: it has no labels */
    bool fixed_times;    /* the same for every seed */
};

struct arrival_tally arrival_stream_tally(const struct arrival_stream *stream);

void arrival_stream_close(struct arrival_stream *stream);

#endif
