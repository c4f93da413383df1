#include "tests/cuda/stand_in.h"

#include <pthread.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAULTS_PRINTED = 40 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t started = PTHREAD_ONCE_INIT;
static struct settings values;
static size_t faults;
static void *handles; /* tree, by address */
static unsigned long launches;
static _Thread_local const char *function = "";
static _Thread_local char thread_mark;

/* ---- Settings -------------------------------------------------------------------------------- */

static double number(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text == NULL || *text == '\0' ? otherwise : strtod(text, NULL);
}

static void check_at_exit(void);

static enum algorithm read_algorithm(void)
{
    static const char *const words[] = {"", "first", "all", "fault"};
    const char *text = getenv("STAND_IN_ALGORITHM");
    for (int i = 1; i < 4 && text != NULL; i++)
        if (strcmp(text, words[i]) == 0)
            return (enum algorithm)i;
    return ALGORITHM_RUNS;
}

static void start(void)
{
    const char *refuse = getenv("STAND_IN_REFUSE");
    values = (struct settings){
        .rate = number("STAND_IN_RATE", 4e8),
        .floor_ms = number("STAND_IN_FLOOR_MS", 0.002),
        .slowdown = number("STAND_IN_SLOWDOWN", 0.08),
        .noise = number("STAND_IN_NOISE", 0.005),
        .compute = number("STAND_IN_COMPUTE", 0),
        .pace = number("STAND_IN_PACE", 0) > 0,
        .algorithm = read_algorithm(),
        .refuse_create = refuse != NULL && strstr(refuse, "create") != NULL,
        .refuse_execute = refuse != NULL && strstr(refuse, "execute") != NULL,
        .refuse_record = refuse != NULL && strstr(refuse, "record") != NULL,
        .refuse_stream = refuse != NULL && strstr(refuse, "stream") != NULL,
        .lost_at = (unsigned long)number("STAND_IN_LOST", 0),
        .green_room = (unsigned long)number("STAND_IN_GREEN", 0),
        .queues = (unsigned long)number("STAND_IN_QUEUES", 0),
        .groups = (unsigned long)number("STAND_IN_GROUPS", 16),
        .wrong_by_stream = (unsigned long)number("STAND_IN_WRONG_BY_STREAM", 0),
        .wrong_by_context = (unsigned long)number("STAND_IN_WRONG_BY_CONTEXT", 0),
    };
    (void)atexit(check_at_exit);
}

const struct settings *settings(void)
{
    (void)pthread_once(&started, start);
    return &values;
}

const void *this_thread(void)
{
    return &thread_mark;
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static void tell(const char *format, va_list arguments)
{
    char text[400];
    const char *path = getenv("STAND_IN_FAULTS");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    (void)vsnprintf(text, sizeof text, format, arguments);
    if (++faults <= FAULTS_PRINTED)
        (void)fprintf(stderr, "stand-in: %s: %s\n", function, text);
    if (file != NULL) {
        (void)fprintf(file, "%s: %s\n", function, text);
        (void)fclose(file);
    }
}

void fault(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tell(format, arguments);
    va_end(arguments);
}

CUresult refuse(CUresult result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tell(format, arguments);
    va_end(arguments);
    return result;
}

cudnnStatus_t refuse_cudnn(cudnnStatus_t result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tell(format, arguments);
    va_end(arguments);
    return result;
}

cublasStatus_t refuse_cublas(cublasStatus_t result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tell(format, arguments);
    va_end(arguments);
    return result;
}

/* ---- Handles --------------------------------------------------------------------------------- */

static const char *const kind_names[HANDLE_KINDS] = {
    "context", "green context", "description",  "stream",          "event",
    "library", "kernel",        "cuDNN handle", "cuBLAS handle",   "tensor",
    "filter",  "convolution",   "graph",        "executable graph"};

static int compare_addresses(const void *a, const void *b)
{
    return (a > b) - (a < b);
}

void *handle_create(enum handle_kind kind, size_t size)
{
    struct handle *handle = calloc(1, size);
    if (handle == NULL || tsearch(handle, &handles, compare_addresses) == NULL) {
        free(handle);
        return NULL;
    }
    *handle = (struct handle){kind, true};
    return handle;
}

void *handle_find(const void *handle, enum handle_kind kind)
{
    struct handle *const *node = tfind(handle, &handles, compare_addresses);
    if (handle == NULL || node == NULL || (*node)->kind != kind) {
        fault("%p is no %s", handle, kind_names[kind]);
        return NULL;
    }
    if (!(*node)->alive) {
        fault("a %s that was destroyed is used", kind_names[kind]);
        return NULL;
    }
    return *node;
}

void *handle_end(const void *handle, enum handle_kind kind)
{
    struct handle *found = handle_find(handle, kind);
    if (found != NULL)
        found->alive = false;
    return found;
}

/* ---- Leaks ----------------------------------------------------------------------------------- */

static size_t alive[HANDLE_KINDS];

static void count_alive(const void *node, VISIT visit, int depth)
{
    const struct handle *handle = *(struct handle *const *)node;
    (void)depth;
    if ((visit == postorder || visit == leaf) && handle->alive)
        alive[handle->kind]++;
}

/* Reports leaks. Not leaks: descriptors of green contexts, which no call frees, and contexts and
 * kernels, which are freed with their owner. Nothing can be freed on a lost device. */
static void check_at_exit(void)
{
    (void)pthread_mutex_lock(&lock);
    function = "at exit";
    if (!device_lost() && driver_ready()) {
        twalk(handles, count_alive);
        for (int kind = 0; kind < HANDLE_KINDS; kind++)
            if (alive[kind] > 0 && kind != HANDLE_DESCRIPTION && kind != HANDLE_CONTEXT &&
                kind != HANDLE_KERNEL)
                fault("%zu handles were left: %s", alive[kind], kind_names[kind]);
        memory_check_leaks();
        primary_check_leaks();
    }
    (void)pthread_mutex_unlock(&lock);
    if (faults == 0)
        return;
    (void)fprintf(stderr, "stand-in: %zu faults\n", faults);
    (void)fflush(NULL);
    _exit(FAULTY_STATUS);
}

/* ---- Entering -------------------------------------------------------------------------------- */

bool device_lost(void)
{
    return values.lost_at > 0 && launches >= values.lost_at;
}

void break_device(void)
{
    values.lost_at = launches > 0 ? launches : 1;
    launches = values.lost_at;
}

void count_launch(void)
{
    launches++;
    if (values.lost_at > 0 && launches == values.lost_at)
        (void)fprintf(stderr, "stand-in: the device is lost, as was asked for\n");
}

CUresult enter(const char *of, enum need need)
{
    (void)settings();
    (void)pthread_mutex_lock(&lock);
    function = of;
    if (need == NEED_NOTHING)
        return CUDA_SUCCESS;
    if (!driver_ready())
        return refuse(CUDA_ERROR_NOT_INITIALIZED, "before cuInit");
    if (need == NEED_DRIVER)
        return CUDA_SUCCESS;
    if (device_lost())
        return CUDA_ERROR_LAUNCH_FAILED;
    if (current_context() == NULL)
        return refuse(CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
    if (!current_context()->handle.alive)
        return refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the current context was destroyed");
    return CUDA_SUCCESS;
}

CUresult leave(CUresult result)
{
    (void)pthread_mutex_unlock(&lock);
    return result;
}
