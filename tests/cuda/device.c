/* The device and its contexts. */
#include <pthread.h>
#include <stdio.h>

#include "tests/cuda/stand_in.h"

static const char device_name[] = "stand-in, not a GPU";
static const long long context_bytes = 500LL << 20;

enum { DRIVER = 13000 };

/* ---- The driver ------------------------------------------------------------------------------ */

static bool initialised;
static struct context *primary;
static unsigned primary_count;
static _Thread_local struct context *current;
static pthread_key_t at_thread_end;

bool driver_ready(void)
{
    return initialised;
}

struct context *current_context(void)
{
    return current;
}

struct library_handle *library_find(const void *handle, enum handle_kind kind)
{
    struct library_handle *found = handle_find(handle, kind);
    if (found == NULL)
        return NULL;
    if (!found->context->handle.alive) {
        fault("the handle's context was destroyed");
        return NULL;
    }
    if (found->context != current) {
        fault("the handle is of another context than is current");
        return NULL;
    }
    return found;
}

bool library_refuses(const struct stream *stream)
{
    if (stream->recording != NULL && settings()->refuse_record)
        return true;
    if (current->green)
        return settings()->refuse_execute;
    return stream->context->green && settings()->refuse_stream;
}

/* When a thread ends, its green context is no longer current. */
static void release_held(void *context)
{
    (void)enter("a thread's end", NEED_NOTHING);
    ((struct context *)context)->holder = NULL;
    (void)leave(CUDA_SUCCESS);
}

CUresult cuInit(unsigned flags)
{
    (void)enter("cuInit", NEED_NOTHING);
    if (flags != 0)
        return leave(refuse(CUDA_ERROR_INVALID_VALUE, "flags %u", flags));
    if (!initialised && pthread_key_create(&at_thread_end, release_held) != 0)
        return leave(CUDA_ERROR_OUT_OF_MEMORY);
    initialised = true;
    return leave(CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version)
{
    *version = DRIVER;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    static const struct {
        CUresult error;
        const char *text;
    } texts[] = {
        {CUDA_SUCCESS, "no error"},
        {CUDA_ERROR_INVALID_VALUE, "invalid argument"},
        {CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
        {CUDA_ERROR_NOT_INITIALIZED, "initialization error"},
        {CUDA_ERROR_INVALID_CONTEXT, "invalid device context"},
        {CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"},
        {CUDA_ERROR_NOT_FOUND, "named symbol not found"},
        {CUDA_ERROR_NOT_READY, "device not ready"},
        {CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
        {CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].error == error) {
            *text = texts[i].text;
            return CUDA_SUCCESS;
        }
    *text = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- The device ------------------------------------------------------------------------------ */

CUresult cuDeviceGetCount(int *count)
{
    const CUresult result = enter("cuDeviceGetCount", NEED_DRIVER);
    if (result == CUDA_SUCCESS)
        *count = 1;
    return leave(result);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    const CUresult result = enter("cuDeviceGet", NEED_DRIVER);
    if (result != CUDA_SUCCESS)
        return leave(result);
    if (ordinal != 0)
        return leave(refuse(CUDA_ERROR_INVALID_DEVICE, "device %d of 1", ordinal));
    *device = 0;
    return leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    const CUresult result = enter("cuDeviceGetName", NEED_DRIVER);
    if (result != CUDA_SUCCESS)
        return leave(result);
    if (length < 1 || device != 0)
        return leave(refuse(CUDA_ERROR_INVALID_VALUE, "length %d, device %d", length, device));
    (void)snprintf(name, (size_t)length, "%s", device_name);
    return leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    static const struct {
        CUdevice_attribute attribute;
        int value;
    } known[] = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, STAND_IN_SMS},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1},
    };
    const CUresult result = enter("cuDeviceGetAttribute", NEED_DRIVER);
    if (result != CUDA_SUCCESS)
        return leave(result);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].attribute == attribute && device == 0) {
            *value = known[i].value;
            return leave(CUDA_SUCCESS);
        }
    return leave(refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d", (int)attribute));
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
    const CUresult result = enter("cuDeviceTotalMem", NEED_DRIVER);
    if (result != CUDA_SUCCESS)
        return leave(result);
    if (device != 0)
        return leave(refuse(CUDA_ERROR_INVALID_DEVICE, "device %d", device));
    *bytes = memory_total();
    return leave(CUDA_SUCCESS);
}

/* ---- Contexts -------------------------------------------------------------------------------- */

struct context *primary_retain(void)
{
    if (primary == NULL) {
        primary = handle_create(HANDLE_CONTEXT, sizeof *primary);
        if (primary == NULL)
            return NULL;
        primary->sms = STAND_IN_SMS;
        primary->primary = primary;
        primary->null_stream = stream_create(primary, true);
    }
    primary->handle.alive = true;
    if (primary_count++ == 0 && !memory_book(context_bytes))
        return NULL;
    return primary;
}

CUresult primary_release(void)
{
    if (primary_count == 0)
        return refuse(CUDA_ERROR_INVALID_CONTEXT, "the primary context is not retained");
    if (--primary_count == 0) {
        primary->handle.alive = false;
        (void)memory_book(-context_bytes);
    }
    return CUDA_SUCCESS;
}

void primary_check_leaks(void)
{
    if (primary_count > 0)
        fault("the primary context is still retained %u times", primary_count);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    const CUresult result = enter("cuDevicePrimaryCtxRetain", NEED_DRIVER);
    if (result != CUDA_SUCCESS)
        return leave(result);
    if (device != 0)
        return leave(refuse(CUDA_ERROR_INVALID_DEVICE, "device %d", device));
    *context = (CUcontext)(void *)primary_retain();
    return leave(*context == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    const CUresult result = enter("cuDevicePrimaryCtxRelease", NEED_DRIVER);
    if (result != CUDA_SUCCESS)
        return leave(result);
    if (device != 0)
        return leave(refuse(CUDA_ERROR_INVALID_DEVICE, "device %d", device));
    return leave(primary_release());
}

bool context_is_held(const struct context *context)
{
    return context->holder != NULL;
}

/* A green context can be current in only one thread at a time. */
static CUresult make_current(struct context *context)
{
    if (context != NULL && context->green && context->holder != NULL &&
        context->holder != this_thread())
        return refuse(CUDA_ERROR_CONTEXT_ALREADY_IN_USE,
                      "the green context is current in another thread");
    if (current != NULL && current->green)
        current->holder = NULL;
    current = context;
    if (context != NULL && context->green)
        context->holder = this_thread();
    (void)pthread_setspecific(at_thread_end, context != NULL && context->green ? context : NULL);
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    CUresult result = enter("cuCtxSetCurrent", NEED_DRIVER);
    struct context *found = NULL;
    if (result == CUDA_SUCCESS && context != NULL) {
        found = handle_find(context, HANDLE_CONTEXT);
        result = found == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS)
        result = make_current(found);
    return leave(result);
}

CUresult cuCtxSynchronize(void)
{
    CUresult result = enter("cuCtxSynchronize", NEED_CONTEXT);
    if (result == CUDA_SUCCESS && thread_captures())
        result = refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "while a stream is captured");
    const double until_ms = result == CUDA_SUCCESS ? context_done(current) : 0;
    (void)leave(result);
    if (result == CUDA_SUCCESS)
        wait_until(until_ms);
    return result;
}
