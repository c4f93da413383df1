/* Taking the samples of one point: on a device, or, to rehearse a session without one, from a
 * formula. Everything around it (plan, budget, file, going on) is the same for both.
 */
#ifndef ESGSIM_TRACES_CAPTURE_MEASURE_H
#define ESGSIM_TRACES_CAPTURE_MEASURE_H

#include "traces/capture/capture_file.h"
#include "traces/capture/plan.h"

enum { MEASURE_SAMPLES = 256, MEASURE_LEAST = 12, MEASURE_PARTS = 6, MEASURE_ROUNDS = 20 };

struct measure_samples {
    double ms[MEASURE_SAMPLES];
    size_t count;
    int sms;         /* multiprocessors of the share; 0 where nobody says */
    double alone_ms; /* colocation: median alone */
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
    /* Create, switch, destroy, ms. */
    bool (*share)(void *state, double from_percent, double to_percent, double parts[static 3],
                  struct error *error);
    void (*close)(void *state);
};

/* "process", "context", "module", "weights", "first", "total". */
const char *measure_cold_part(size_t part);
/* "context", "module", "weights", "activations", "workspace"; one fewer. */
const char *measure_memory_part(size_t part);

double measure_now_ms(void); /* monotonic */

/* The device of this machine: describes it in `about`. False with an error where there is none. */
bool measure_open_device(struct measure *measure, struct capture_about *about, struct error *error);
/* The formula; the same samples each time. */
bool measure_open_rehearsal(struct measure *measure, struct capture_about *about,
                            struct error *error);

/* Pre- and post-processing on the host's own threads, see /cpu of layout.h. `tasks` in the order of
 * measure_cpu_task; false where the program was built without a JPEG library. */
enum { MEASURE_CPU_TASKS = 5, MEASURE_CPU_ITEMS = 32, MEASURE_CPU_SAMPLES = 5 };
const char *measure_cpu_task(size_t task);
bool measure_cpu(int threads, double ms[static MEASURE_CPU_TASKS * MEASURE_CPU_SAMPLES],
                 struct error *error);
enum { MEASURE_CPU_WIDTH = 1280, MEASURE_CPU_HEIGHT = 720 };

/* Work of a process of its own, for cold starts and MPS: `capture --worker …` (see capture.c). */
int measure_worker(int argc, char **argv);

#endif
