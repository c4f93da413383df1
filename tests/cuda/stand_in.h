/* A mock GPU: one shared library with the functions of the CUDA driver, cuBLAS and cuDNN that the
 * capture tool calls. It computes small operations and checks the same conditions as the real
 * libraries, and many more. Durations follow a model. Its timings say nothing about a real GPU, and
 * its device name says so.
 *
 * A use that a strict device would refuse, or that would damage a run, is a fault. A fault is
 * printed as "stand-in: …" and appended to the file named by STAND_IN_FAULTS. The process ends with
 * status FAULTY_STATUS. The environment can request failures that are not faults, such as a lost
 * device.
 *
 * STAND_IN_RATE      multiply-accumulates per millisecond per multiprocessor (4e8)
 * STAND_IN_FLOOR_MS  additional time per launch (0.002)
 * STAND_IN_SLOWDOWN  relative slowdown per other busy context (0.08)
 * STAND_IN_NOISE     relative deviation of an inference's time (0.005)
 * STAND_IN_COMPUTE   largest launch that is computed, in multiply-accumulates or elements; larger
 *                    launches are only checked and timed (0: nothing is computed)
 * STAND_IN_PACE      1: a wait takes as long as the device; otherwise waits take no time
 * STAND_IN_MEMORY    a file with which processes share the count of used device memory
 *
 * Failures on request:
 *
 * STAND_IN_LOST      the device is lost at the n-th launch of a process
 * STAND_IN_REFUSE    words: cuBLAS and cuDNN refuse to create handles in green contexts (create),
 *                    to work with a green context current (execute), to work in a green
 *                    context's stream with the primary context current (stream), or to work in
 *                    a captured stream (record)
 * STAND_IN_ALGORITHM cuDNN's first proposal fails when it runs (first), every proposal fails
 *                    (all), or the first one breaks the device (fault)
 * STAND_IN_GREEN     maximum number of green contexts
 * STAND_IN_GROUPS    number of groups into which the multiprocessors are split (16)
 * STAND_IN_QUEUES    number of hardware queues, assigned to streams round-robin; streams that
 *                    share a queue wait for each other
 * STAND_IN_NVML      none: the management library fails to start
 * STAND_IN_WRONG_BY_STREAM, STAND_IN_WRONG_BY_CONTEXT
 *                    number of foreign multiprocessors that a green context also uses in each mode
 */
#ifndef ESGSIM_TESTS_CUDA_STAND_IN_H
#define ESGSIM_TESTS_CUDA_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#else
#pragma GCC visibility push(default)
#include <cublas_v2.h>
#include <cuda.h>
#include <cudnn.h>
#pragma GCC visibility pop

enum { STAND_IN_SMS = 132, STAND_IN_SMS_GROUP = 8, FAULTY_STATUS = 97 };

/* ---- Settings, faults, handles (stand_in.c) -------------------------------------------------- */

enum algorithm { ALGORITHM_RUNS, ALGORITHM_FAILS, ALGORITHM_ALL_FAIL, ALGORITHM_BREAKS };

struct settings {
    double rate, floor_ms, slowdown, noise, compute;
    bool pace;
    enum algorithm algorithm;
    bool refuse_create, refuse_execute, refuse_stream, refuse_record; /* see STAND_IN_REFUSE */
    unsigned long lost_at, green_room, queues, groups;
    unsigned long wrong_by_stream, wrong_by_context; /* extra multiprocessors */
};

const struct settings *settings(void);

/* Reports a fault in the function that the thread has entered. */
void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports a fault and returns `result`, the error code of the real function. */
CUresult refuse(CUresult result, const char *format, ...) __attribute__((format(printf, 2, 3)));
cudnnStatus_t refuse_cudnn(cudnnStatus_t result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
cublasStatus_t refuse_cublas(cublasStatus_t result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

enum handle_kind {
    HANDLE_CONTEXT,
    HANDLE_GREEN,
    HANDLE_DESCRIPTION,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_LIBRARY,
    HANDLE_KERNEL,
    HANDLE_CUDNN,
    HANDLE_CUBLAS,
    HANDLE_TENSOR,
    HANDLE_FILTER,
    HANDLE_CONVOLUTION,
    HANDLE_GRAPH,
    HANDLE_EXEC,
    HANDLE_KINDS
};

/* First member of every object that a handle points to. Objects are never freed, so that the use of
 * a destroyed handle is detected. */
struct handle {
    enum handle_kind kind;
    bool alive;
};

/* Allocates a zeroed object with its handle initialised. NULL if memory runs out. */
void *handle_create(enum handle_kind kind, size_t size);
/* Returns the object of a live handle of this kind. Otherwise reports a fault and returns NULL. */
void *handle_find(const void *handle, enum handle_kind kind);
/* The same for a handle that is being destroyed. It is dead afterwards. */
void *handle_end(const void *handle, enum handle_kind kind);

/* ---- Entering (stand_in.c) ------------------------------------------------------------------- */

enum need { NEED_NOTHING, NEED_DRIVER, NEED_CONTEXT };

/* Every function calls enter first, which takes the one lock, and leave last, whatever its result.
 * If enter returns anything but success, the function must return that at once. */
CUresult enter(const char *of, enum need need);
CUresult leave(CUresult result);
/* Counts a launch. The device is lost from launch STAND_IN_LOST on. */
void count_launch(void);
bool device_lost(void);
/* Makes the device fail as a fault in a kernel does. */
void break_device(void);

/* ---- Contexts (device.c) --------------------------------------------------------------------- */

struct context {
    struct handle handle;
    bool green;
    int sms;
    uint64_t groups;    /* bit set of groups of multiprocessors */
    const void *holder; /* green: the thread in which the context is current */
    struct stream *null_stream;
    struct context *primary; /* the primary context; points to itself in the primary context */
};

struct stream;
struct context *current_context(void);
bool driver_ready(void);
/* Reference count of the primary context. Green contexts keep it alive. */
struct context *primary_retain(void);
CUresult primary_release(void);
void primary_check_leaks(void);
/* True if the green context is current in some thread. It must not be destroyed then. */
bool context_is_held(const struct context *context);

/* A handle of cuBLAS or cuDNN. */
struct library_handle {
    struct handle handle;
    struct context *context; /* current at its creation */
    CUstream stream;
    bool workspace; /* the caller has set a workspace */
};

/* handle_find. Also reports a fault unless the handle's context is alive and current. */
struct library_handle *library_find(const void *handle, enum handle_kind kind);

/* True if STAND_IN_REFUSE makes the libraries refuse work in the stream. */
bool library_refuses(const struct stream *stream);

/* ---- Memory (memory.c) ----------------------------------------------------------------------- */

size_t memory_total(void); /* bytes */
/* Adds `bytes` to the used device memory. Returns false if the device has too little. */
bool memory_book(long long bytes);
void memory_check_leaks(void);

/* Checks an access of `stream` to device memory. Reports a fault and returns false if the range is
 * not within one live allocation. Reports a fault if unfinished work of another stream touches the
 * same memory. */
bool memory_access(struct stream *stream, CUdeviceptr at, size_t bytes, bool write,
                   const char *what);
/* Reports a fault and returns false unless `at` is a multiple of `to`. */
bool memory_aligned(CUdeviceptr at, size_t to, const char *what);

/* ---- Streams and time (clock.c) -------------------------------------------------------------- */

struct stream {
    struct handle handle;
    struct context *context;
    bool is_null;
    double end_ms;         /* end of all enqueued work, on the device's clock */
    uint64_t issued, done; /* operations: enqueued, and known by the host to be finished */
    bool open;             /* has work for which the host has not waited */
    double noise;          /* time factor of the current inference */
    uint64_t number, inferences, queue;
    const void *thread;      /* the thread that enqueued last */
    double used_ms;          /* time of the last enqueue, on the host's clock */
    struct graph *recording; /* NULL: the stream is not captured */
    bool launches_graph;
};

struct stream *stream_create(struct context *context, bool is_null);
/* Returns the stream. NULL is the current context's null stream. A stream of another context is a
 * fault. */
struct stream *stream_find(CUstream handle);
/* Enqueues work of `macs` multiply-accumulates and `fixed_ms` milliseconds. In a CUDA graph,
 * `fixed_ms` counts half. */
void stream_issue(struct stream *stream, double macs, double fixed_ms);
/* Records that the host has waited for the operations up to this one, which ended at `ms`. */
void stream_done(struct stream *stream, uint64_t up_to, double ms);
/* Marks all work of the context as finished. For the primary context: the work of all contexts. */
double context_done(const struct context *context);
/* Waits until the device's clock reaches this time. The caller must not hold the lock. */
void wait_until(double device_ms);
const void *this_thread(void);

/* ---- Graphs (graph.c) ------------------------------------------------------------------------ */

typedef bool operation_run(struct stream *stream, const void *data);

/* If the stream is captured, stores a copy of the data and returns true. Each launch of the graph
 * then calls `run` with that copy. */
bool stream_records(struct stream *stream, operation_run *run, const void *data, size_t bytes);
/* True if the thread captures a stream. Functions that wait or allocate are then refused. */
bool thread_captures(void);

#endif /* __cplusplus */

/* ---- Arithmetic (arithmetic.cc) -------------------------------------------------------------- */

/* The memory behind one pointer parameter of a kernel. */
struct extent {
    uint64_t at; /* 0: the kernel was given no pointer */
    size_t bytes;
    bool write;
    const char *what;
};

enum { EXTENTS = 5 };

struct touched {
    struct extent extents[EXTENTS];
    size_t count;
    double elements; /* number of elements processed */
    bool by_row;     /* one block per row */
};

/* Index of the kernel with this name. -1: none. */
int kernel_find(const char *name);
/* The memory that a launch with these parameters reads and writes. */
struct touched kernel_touches(int kernel, void **parameters, unsigned blocks);
/* Fills the sizes of the kernel's parameters. Returns their number. */
enum { PARAMETERS = 12 };
size_t kernel_parameters(int kernel, size_t sizes[PARAMETERS]);
/* The multiprocessors on which the blocks of the next kernel execute, round-robin. */
void kernel_place(const unsigned *multiprocessors, unsigned count);
/* Runs the kernel's source on the processor. Returns false if some threads of a block wait at a
 * barrier after others have ended. */
bool kernel_run(int kernel, void **parameters, unsigned blocks, unsigned threads, bool by_row);

struct convolution {
    bool half, backward;                /* backward: gradient of the data; x is dy and y is dx */
    int items, channels, height, width; /* input of the forward convolution */
    int out_channels, out_height, out_width; /* output of the forward convolution */
    int kernel[2], pad[2], stride[2], dilation[2];
    int groups;
};

void convolution_run(const struct convolution *shape, const void *x, const void *filters, void *y);

/* C = op(A) op(B) in column-major order, alpha 1 and beta 0. */
struct product {
    bool half, turn_a, turn_b;
    int rows, columns, inner;
    int pitch_a, pitch_b, pitch_c;
};

void product_run(const struct product *shape, const void *a, const void *b, void *c);

#ifdef __cplusplus
}
#endif

#endif
