/* A stand-in for the GPU: one shared library under the names of the CUDA driver, cuBLAS and cuDNN,
 * with the functions that the capture tool calls. It computes what is small, checks what the real
 * ones check (and much that they do not), and takes the time that a model says. Its numbers mean
 * nothing; its name as a device says so.
 *
 * Whatever a strict device would refuse or would suffer from is a fault: it is printed as
 * "stand-in: …", written to the file that STAND_IN_FAULTS names, and the process ends with status
 * FAULTY_STATUS. Exceptions are what is asked for by the environment: a device that is lost, a
 * driver without room.
 *
 * STAND_IN_RATE      multiply-accumulates in a millisecond on a multiprocessor (4e8)
 * STAND_IN_FLOOR_MS  what each launch takes beside that (0.002)
 * STAND_IN_SLOWDOWN  how much longer for each other context at work (0.08)
 * STAND_IN_NOISE     relative deviation of an inference's time (0.005)
 * STAND_IN_COMPUTE   largest launch that is computed, in multiply-accumulates or elements; of
 *                    others there are the checks and the time alone (0: nothing is computed)
 * STAND_IN_PACE      1: waiting takes the time that the device takes; else no time
 * STAND_IN_MEMORY    a file in which processes book the device's memory together
 *
 * What can fail:
 *
 * STAND_IN_LOST      the n-th launch of a process, and all that follows
 * STAND_IN_REFUSE    words: cuBLAS and cuDNN refuse to make handles in green contexts (create), to
 *                    work with a green context current (execute), to work in a green context's
 *                    stream with the primary context current (stream), to work in a stream that
 *                    is captured (record)
 * STAND_IN_ALGORITHM what cuDNN proposes first: fails when it runs (first), as all others do (all),
 *                    or breaks the device (fault)
 * STAND_IN_GREEN     how many green contexts there is room for
 * STAND_IN_GROUPS    groups into which the multiprocessors are split (16)
 * STAND_IN_QUEUES    hardware queues, dealt to streams in turn; streams of one wait for each other
 * STAND_IN_NVML      none: the management library does not come up
 * STAND_IN_WRONG_BY_STREAM, STAND_IN_WRONG_BY_CONTEXT
 *                    how many multiprocessors more than its own a green context uses in each mode
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
    unsigned long wrong_by_stream, wrong_by_context; /* multiprocessors too many */
};

const struct settings *settings(void);

/* A fault in the function that the thread is in. */
void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A fault that the real function would answer with `result`. */
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

/* Begins everything that a handle points to. They are kept to the end, so that one that was
 * destroyed is known for what it was. */
struct handle {
    enum handle_kind kind;
    bool alive;
};

/* Zeroed but for the handle; NULL where there is no memory. */
void *handle_create(enum handle_kind kind, size_t size);
/* NULL, with a fault, for what is no living handle of the kind. */
void *handle_find(const void *handle, enum handle_kind kind);
/* The same for a handle whose end is being asked for: it is dead afterwards. */
void *handle_end(const void *handle, enum handle_kind kind);

/* ---- Entering (stand_in.c) ------------------------------------------------------------------- */

enum need { NEED_NOTHING, NEED_DRIVER, NEED_CONTEXT };

/* Every function begins with this, which takes the one lock, and ends with leave, whatever it
 * returned. Anything but success is to be returned at once. */
CUresult enter(const char *of, enum need need);
CUresult leave(CUresult result);
/* Counts a launch; from the one that fails on the device is lost. */
void count_launch(void);
bool device_lost(void);
/* As a fault in a kernel does. */
void break_device(void);

/* ---- Contexts (device.c) --------------------------------------------------------------------- */

struct context {
    struct handle handle;
    bool green;
    int sms;
    uint64_t groups;    /* of multiprocessors, as bits */
    const void *holder; /* green: the thread in which it is current */
    struct stream *null_stream;
    struct context *primary; /* itself, if it is */
};

struct stream;
struct context *current_context(void);
bool driver_ready(void);
/* For green contexts, which keep the primary one alive. */
struct context *primary_retain(void);
CUresult primary_release(void);
void primary_check_leaks(void);
/* Green contexts that are gone are current nowhere. */
bool context_is_held(const struct context *context);

/* A handle of cuBLAS or cuDNN. */
struct library_handle {
    struct handle handle;
    struct context *context; /* of its creation */
    CUstream stream;
    bool workspace; /* of its user's */
};

/* handle_find, where the handle's context lives and is the current one; else a fault. */
struct library_handle *library_find(const void *handle, enum handle_kind kind);

/* Whether the libraries are to refuse work in the stream. */
bool library_refuses(const struct stream *stream);

/* ---- Memory (memory.c) ----------------------------------------------------------------------- */

size_t memory_total(void); /* bytes */
/* Books bytes of the device; false where it has not so many. */
bool memory_book(long long bytes);
void memory_check_leaks(void);

/* An access of `stream` to device memory; a fault and false where it is not within one living
 * allocation, or where work in another stream that nothing has waited for touches the same. */
bool memory_access(struct stream *stream, CUdeviceptr at, size_t bytes, bool write,
                   const char *what);
/* Aligned as `to` says. */
bool memory_aligned(CUdeviceptr at, size_t to, const char *what);

/* ---- Streams and time (clock.c) -------------------------------------------------------------- */

struct stream {
    struct handle handle;
    struct context *context;
    bool is_null;
    double end_ms;         /* of all that was enqueued, on the device's clock */
    uint64_t issued, done; /* operations; those up to `done` the host has waited for */
    bool open;             /* has work that the host has not waited for */
    double noise;          /* factor of the inference under way */
    uint64_t number, inferences, queue;
    const void *thread;      /* that enqueued last */
    double used_ms;          /* when, on the host's clock */
    struct graph *recording; /* NULL where the stream is not captured */
    bool launches_graph;
};

struct stream *stream_create(struct context *context, bool is_null);
/* NULL stands for the current context's. Streams of other contexts are faults. */
struct stream *stream_find(CUstream handle);
/* Enqueues work of so many multiply-accumulates and milliseconds; of these half in a graph. */
void stream_issue(struct stream *stream, double macs, double fixed_ms);
/* The host has waited for the operations up to this one, which ended then. */
void stream_done(struct stream *stream, uint64_t up_to, double ms);
/* Marks everything done that the context has; of the primary one, of all contexts. */
double context_done(const struct context *context);
/* Without the lock: until the device's clock has come that far. */
void wait_until(double device_ms);
const void *this_thread(void);

/* ---- Graphs (graph.c) ------------------------------------------------------------------------ */

typedef bool operation_run(struct stream *stream, const void *data);

/* True where the stream is captured: a copy of the data is kept, and run at each launch of the
 * graph. */
bool stream_records(struct stream *stream, operation_run *run, const void *data, size_t bytes);
/* What waits or allocates cannot be captured, and is refused. */
bool thread_captures(void);

#endif /* __cplusplus */

/* ---- Arithmetic (arithmetic.cc) -------------------------------------------------------------- */

/* One pointer of a kernel: what it reads or writes. */
struct extent {
    uint64_t at; /* 0: the kernel takes none here */
    size_t bytes;
    bool write;
    const char *what;
};

enum { EXTENTS = 5 };

struct touched {
    struct extent extents[EXTENTS];
    size_t count;
    double elements; /* that it works on */
    bool by_row;     /* a block for each row */
};

/* The kernel's index; -1 where there is none of the name. */
int kernel_find(const char *name);
/* What a launch with these parameters touches. */
struct touched kernel_touches(int kernel, void **parameters, unsigned blocks);
/* The sizes of the kernel's parameters; returns how many there are. */
enum { PARAMETERS = 12 };
size_t kernel_parameters(int kernel, size_t sizes[PARAMETERS]);
/* Where the blocks of the next kernel execute, in turn. */
void kernel_place(const unsigned *multiprocessors, unsigned count);
/* Runs the kernel's own text on the processor; false where some threads of a block wait for others
 * that have ended. */
bool kernel_run(int kernel, void **parameters, unsigned blocks, unsigned threads, bool by_row);

struct convolution {
    bool half, backward;                     /* backward: of data, x is dy and y is dx */
    int items, channels, height, width;      /* of the forward convolution's input */
    int out_channels, out_height, out_width; /* and of its output */
    int kernel[2], pad[2], stride[2], dilation[2];
    int groups;
};

void convolution_run(const struct convolution *shape, const void *x, const void *filters, void *y);

/* C = op(A) op(B) in column order, alpha 1 and beta 0. */
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
