/* The multiprocessors as a resource, and green contexts on some of them.
 *
 * The content of a resource is in the bytes reserved for the driver. A mark shows that this file
 * created it.
 */
#include <string.h>

#include "tests/cuda/stand_in.h"

/* Stored in a resource's padding. */
struct secret {
    uint64_t mark;
    uint64_t split; /* 0: the whole device */
    uint64_t groups;
};

struct description {
    struct handle handle;
    uint64_t groups;
    int sms;
};

struct green {
    struct handle handle;
    struct context *context;
};

static const uint64_t mark = 0x73746e64696e0001U;
static uint64_t splits;
static unsigned long green_count;

static struct secret read_secret(const CUdevResource *resource)
{
    struct secret secret;
    memcpy(&secret, resource->_internal_padding, sizeof secret);
    return secret;
}

static CUdevResource make_resource(uint64_t split, uint64_t groups, unsigned sms)
{
    CUdevResource resource;
    const struct secret secret = {mark, split, groups};
    memset(&resource, 0, sizeof resource);
    memcpy(resource._internal_padding, &secret, sizeof secret);
    resource.type = CU_DEV_RESOURCE_TYPE_SM;
    resource.sm.smCount = sms;
    resource.sm.minSmPartitionSize = STAND_IN_SMS_GROUP;
    resource.sm.smCoscheduledAlignment = STAND_IN_SMS_GROUP;
    return resource;
}

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
    const CUresult result = enter("cuDeviceGetDevResource", NEED_DRIVER);
    if (result != CUDA_SUCCESS)
        return leave(result);
    if (device != 0 || type != CU_DEV_RESOURCE_TYPE_SM)
        return leave(refuse(CUDA_ERROR_INVALID_RESOURCE_TYPE, "type %d", (int)type));
    *resource = make_resource(0, (UINT64_C(1) << settings()->groups) - 1, STAND_IN_SMS);
    return leave(CUDA_SUCCESS);
}

/* Splits into groups of the requested size, rounded up to the architecture's minimum. */
static CUresult split(CUdevResource *parts, unsigned *count, const CUdevResource *input,
                      CUdevResource *rest, unsigned flags, unsigned least)
{
    const struct secret secret = read_secret(input);
    if (input->type != CU_DEV_RESOURCE_TYPE_SM || secret.mark != mark)
        return refuse(CUDA_ERROR_INVALID_RESOURCE_TYPE, "the resource is not the driver's");
    if (secret.split != 0)
        return refuse(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                      "what a split gave cannot be split again");
    if (flags != 0)
        return refuse(CUDA_ERROR_INVALID_VALUE, "flags %u are not made up for", flags);
    if (least > input->sm.smCount)
        return refuse(CUDA_ERROR_INVALID_VALUE, "%u of %u multiprocessors", least,
                      input->sm.smCount);
    const unsigned each =
        least <= STAND_IN_SMS_GROUP ? 1 : (least + STAND_IN_SMS_GROUP - 1) / STAND_IN_SMS_GROUP;
    const unsigned most = (unsigned)settings()->groups / each;
    if (parts == NULL) {
        *count = most;
        return CUDA_SUCCESS;
    }
    if (*count == 0)
        return refuse(CUDA_ERROR_INVALID_VALUE, "a split into none");
    *count = *count < most ? *count : most;
    splits++;
    for (unsigned i = 0; i < *count; i++)
        parts[i] = make_resource(splits, ((UINT64_C(1) << each) - 1) << (i * each),
                                 each * STAND_IN_SMS_GROUP);
    if (rest != NULL)
        *rest = make_resource(splits, 0, input->sm.smCount - *count * each * STAND_IN_SMS_GROUP);
    return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *parts, unsigned *count,
                                     const CUdevResource *input, CUdevResource *rest,
                                     unsigned flags, unsigned least)
{
    CUresult result = enter("cuDevSmResourceSplitByCount", NEED_DRIVER);
    if (result == CUDA_SUCCESS)
        result = split(parts, count, input, rest, flags, least);
    return leave(result);
}

static CUresult describe(CUdevResourceDesc *place, const CUdevResource *resources, unsigned count)
{
    struct description sum = {.groups = 0};
    uint64_t first = 0;
    if (count == 0)
        return refuse(CUDA_ERROR_INVALID_VALUE, "no resources");
    for (unsigned i = 0; i < count; i++) {
        const struct secret secret = read_secret(&resources[i]);
        if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM || secret.mark != mark)
            return refuse(CUDA_ERROR_INVALID_RESOURCE_TYPE, "a resource is not the driver's");
        first = i == 0 ? secret.split : first;
        if (secret.split != first || (count > 1 && secret.split == 0))
            return refuse(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                          "resources of more than one split");
        if ((sum.groups & secret.groups) != 0)
            return refuse(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "a resource comes twice");
        sum.groups |= secret.groups;
        sum.sms += (int)resources[i].sm.smCount;
    }
    struct description *made = handle_create(HANDLE_DESCRIPTION, sizeof *made);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->groups = sum.groups;
    made->sms = sum.sms;
    *place = (CUdevResourceDesc)(void *)made;
    return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *place, CUdevResource *resources,
                                   unsigned count)
{
    CUresult result = enter("cuDevResourceGenerateDesc", NEED_DRIVER);
    if (result == CUDA_SUCCESS)
        result = describe(place, resources, count);
    return leave(result);
}

static CUresult create(CUgreenCtx *place, const struct description *description, unsigned flags)
{
    if (description == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_GREEN_CTX_DEFAULT_STREAM)
        return refuse(CUDA_ERROR_INVALID_VALUE, "flags %u: a default stream is required", flags);
    if (settings()->green_room > 0 && green_count >= settings()->green_room)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct green *green = handle_create(HANDLE_GREEN, sizeof *green);
    struct context *context = handle_create(HANDLE_CONTEXT, sizeof *context);
    if (green == NULL || context == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *green = (struct green){green->handle, context};
    *context = (struct context){
        .handle = context->handle,
        .green = true,
        .sms = description->sms,
        .groups = description->groups,
        .primary = primary_retain(),
        .null_stream = stream_create(context, true),
    };
    green_count++;
    *place = (CUgreenCtx)(void *)green;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx *place, CUdevResourceDesc description, CUdevice device,
                          unsigned flags)
{
    CUresult result = enter("cuGreenCtxCreate", NEED_DRIVER);
    if (result == CUDA_SUCCESS && device_lost())
        result = CUDA_ERROR_LAUNCH_FAILED;
    if (result == CUDA_SUCCESS && device != 0)
        result = refuse(CUDA_ERROR_INVALID_DEVICE, "device %d", device);
    if (result == CUDA_SUCCESS)
        result = create(place, handle_find(description, HANDLE_DESCRIPTION), flags);
    return leave(result);
}

CUresult cuGreenCtxDestroy(CUgreenCtx handle)
{
    const CUresult result = enter("cuGreenCtxDestroy", NEED_DRIVER);
    if (result != CUDA_SUCCESS)
        return leave(result);
    struct green *green = handle_end(handle, HANDLE_GREEN);
    if (green == NULL)
        return leave(CUDA_ERROR_INVALID_CONTEXT);
    if (context_is_held(green->context))
        fault("the green context is still current in a thread");
    green->context->handle.alive = false;
    green->context->null_stream->handle.alive = false;
    green_count--;
    return leave(primary_release());
}

CUresult cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx handle)
{
    CUresult result = enter("cuCtxFromGreenCtx", NEED_DRIVER);
    const struct green *green = result == CUDA_SUCCESS ? handle_find(handle, HANDLE_GREEN) : NULL;
    if (result == CUDA_SUCCESS && green == NULL)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS)
        *context = (CUcontext)(void *)green->context;
    return leave(result);
}

CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx handle, unsigned flags, int priority)
{
    const CUresult result = enter("cuGreenCtxStreamCreate", NEED_DRIVER);
    (void)priority;
    if (result != CUDA_SUCCESS)
        return leave(result);
    const struct green *green = handle_find(handle, HANDLE_GREEN);
    if (green == NULL)
        return leave(CUDA_ERROR_INVALID_CONTEXT);
    if (flags != CU_STREAM_NON_BLOCKING)
        return leave(refuse(CUDA_ERROR_INVALID_VALUE, "flags %u: must not block", flags));
    *stream = (CUstream)(void *)stream_create(green->context, false);
    return leave(*stream == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
}
