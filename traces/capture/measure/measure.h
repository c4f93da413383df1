/* Taking the samples of one point: on a device, or, to rehearse a session without one, from a
 * formula. Everything around it (plan, budget, file, going on) is the same for both.
 */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_MEASURE_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_MEASURE_H

#include "traces/capture/measure/capture_file.h"
#include "traces/capture/measure/plan.h"

enum { MEASURE_SAMPLES = 256, MEASURE_LEAST = 12, MEASURE_PARTS = 6, MEASURE_ROUNDS = 20 };

struct measure_samples {
    double ms[MEASURE_SAMPLES];
    size_t count;
    int sms;           /* multiprocessors of the share; 0 where nobody says */
    double alone_ms;   /* colocation: median alone */
    size_t launches;   /* of one inference */
    double warm_up_ms; /* device time of the inferences before the first sample */
    bool settled;      /* their times agreed in the end */
    double began_s;    /* when the first sample began: seconds since 1970 */
};

/* Each fills its samples or returns false with an error, after which the point counts as failed and
 * the capture goes on, unless the device is lost. */
struct measure {
    void *state;
    /* False with an error after a fault that spoils all that comes after it in this process. */
    bool (*alive)(void *state, struct error *error);
    bool (*latency)(void *state, const struct plan *plan, const struct plan_point *point,
                    struct measure_samples *samples, struct error *error);
    /* One set of samples for each member. */
    bool (*colocation)(void *state, const struct plan *plan, const struct plan_point *point,
                       struct measure_samples samples[static PLAN_MEMBERS], struct error *error);
    bool (*copies)(void *state, bool to_host, bool pinned, size_t bytes,
                   struct measure_samples *samples, struct error *error);
    /* Parts in the order of measure_cold_parts, ms, of one fresh process. */
    bool (*cold_start)(void *state, const struct plan *plan, const struct plan_point *point,
                       double parts[static MEASURE_PARTS], struct error *error);
    /* Bytes by part in the order of measure_memory_parts: planned, and what free memory fell by. */
    bool (*memory)(void *state, const struct plan *plan, const struct plan_point *point,
                   long long planned[static MEASURE_PARTS], long long bytes[static MEASURE_PARTS],
                   struct error *error);
    void (*close)(void *state);
};

/* "process", "context", "module", "weights", "first", "total". */
const char *measure_cold_part(size_t part);
/* "context", "module", "weights", "activations", "workspace"; one fewer. */
const char *measure_memory_part(size_t part);

double measure_now_ms(void); /* monotonic */
double measure_unix_s(void); /* since 1970 */

/* The device of this machine: describes it in `about`, of which `cuda_graphs` says how inferences
 * are to run. False with an error where there is none. */
bool measure_open_device(struct measure *measure, struct capture_about *about, struct error *error);
/* The formula; the same samples each time. */
bool measure_open_rehearsal(struct measure *measure, struct capture_about *about,
                            struct error *error);

/* Work of a process of its own: `capture --worker …` (measure_worker.c). */
int measure_worker(int argc, char **argv);

#endif
