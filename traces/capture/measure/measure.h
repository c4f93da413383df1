/* Measures one point of a plan. A backend takes the samples on a device, or computes them from a
 * formula to rehearse a session without a GPU. Plan, budget, file and continuation are the same for
 * both. */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_MEASURE_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_MEASURE_H

#include "traces/capture/measure/capture_file.h"
#include "traces/capture/measure/plan.h"

enum { MEASURE_SAMPLES = 256, MEASURE_LEAST = 12, MEASURE_PARTS = 6, MEASURE_ROUNDS = 20 };

struct measure_samples {
    double ms[MEASURE_SAMPLES];
    size_t count;
    int sms;           /* multiprocessors of the share; 0: unknown */
    double alone_ms;   /* colocation: median alone */
    size_t launches;   /* per inference */
    double warm_up_ms; /* device time of the inferences before the first sample */
    bool settled;      /* the warm-up reached stable times */
    double began_s;    /* start of the first sample: seconds since 1970 */
};

/* Operations of a backend. Each fills its samples or returns false with an error. The point then
 * counts as failed, and the capture continues unless the device is lost. */
struct measure {
    void *state;
    /* Returns false with an error after a fault that makes every later call of this
     * process fail. */
    bool (*alive)(void *state, struct error *error);
    bool (*latency)(void *state, const struct plan *plan, const struct plan_point *point,
                    struct measure_samples *samples, struct error *error);
    /* Fills one set of samples per member. */
    bool (*colocation)(void *state, const struct plan *plan, const struct plan_point *point,
                       struct measure_samples samples[static PLAN_MEMBERS], struct error *error);
    bool (*copies)(void *state, bool to_host, bool pinned, size_t bytes,
                   struct measure_samples *samples, struct error *error);
    /* Duration in ms of each phase of one fresh process, in the order of measure_cold_part. */
    bool (*cold_start)(void *state, const struct plan *plan, const struct plan_point *point,
                       double parts[static MEASURE_PARTS], struct error *error);
    /* Bytes by part, in the order of measure_memory_part: planned, and the decrease of
     * free memory. */
    bool (*memory)(void *state, const struct plan *plan, const struct plan_point *point,
                   long long planned[static MEASURE_PARTS], long long bytes[static MEASURE_PARTS],
                   struct error *error);
    void (*close)(void *state);
};

/* "process", "context", "module", "weights", "first", "total". */
const char *measure_cold_part(size_t part);
/* "context", "module", "weights", "activations", "workspace". There is one part fewer than for a
 * cold start. */
const char *measure_memory_part(size_t part);

double measure_now_ms(void); /* monotonic clock */
double measure_unix_s(void); /* seconds since 1970 */

/* Opens this machine's device and describes it in `about`. On input, about->cuda_graphs selects how
 * inferences run. Returns false with an error if there is no device. */
bool measure_open_device(struct measure *measure, struct capture_about *about, struct error *error);
/* Opens the formula. It yields the same samples each time. */
bool measure_open_rehearsal(struct measure *measure, struct capture_about *about,
                            struct error *error);

/* Entry point of a worker process: `capture --worker …` (measure_worker.c). */
int measure_worker(int argc, char **argv);

#endif
