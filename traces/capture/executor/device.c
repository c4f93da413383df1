#include "traces/capture/executor/device.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/capture/measure/measure.h"

/* The kernels' machine code, embedded by the build. */
extern const unsigned char capture_kernels[];

/* ---- Libraries ------------------------------------------------------------------------------- */

/* Install folders of CUDA toolkits and of PyTorch's packages. */
static const char *const folders[] = {
    "/usr/local/cuda/lib64",
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib",
    "/opt/*/lib/python3*/site-packages/nvidia/*/lib",
    "/usr/local/lib/python3*/*-packages/nvidia/*/lib",
    "/usr/lib/python3*/*-packages/nvidia/*/lib",
    "/root/.local/lib/python3*/site-packages/nvidia/*/lib",
    "/opt/*/.venv/lib/python3*/site-packages/torch/lib",
    "/usr/local/lib/python3*/*-packages/torch/lib",
};

static void *open_in(const char *folder, const char *name)
{
    char pattern[512];
    glob_t found;
    void *library = NULL;
    (void)snprintf(pattern, sizeof pattern, "%s/%s", folder, name);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && library == NULL; i++)
            library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
    globfree(&found);
    return library;
}

static void *open_listed(const char *list, const char *name)
{
    void *library = NULL;
    char *copy = list == NULL ? NULL : strdup(list);
    char *rest = copy;
    for (char *folder = strsep(&rest, ":"); folder != NULL && library == NULL;
         folder = strsep(&rest, ":"))
        library = open_in(folder, name);
    free(copy);
    return library;
}

/* Opens the first of `names` (NULL-terminated) found in any of the places that device.h lists. */
static void *open_library(const char *const *names)
{
    void *library = NULL;
    for (size_t n = 0; names[n] != NULL && library == NULL; n++) {
        library = open_listed(getenv("ESGSIM_CUDA_LIBRARIES"), names[n]);
        if (library == NULL)
            library = dlopen(names[n], RTLD_NOW | RTLD_GLOBAL);
        for (size_t f = 0; f < sizeof folders / sizeof folders[0] && library == NULL; f++)
            library = open_in(folders[f], names[n]);
    }
    return library;
}

/* Copies the address of `symbol` into the function pointer at `place`. */
static bool find_symbol(void *library, const char *symbol, void *place)
{
    void *address = dlsym(library, symbol);
    memcpy(place, &address, sizeof address);
    return address != NULL;
}

#define TEXT_OF(name) #name
#define SYMBOL(name) TEXT_OF(name)
#define FIND(name)                                                                                 \
    if (!find_symbol(library, SYMBOL(name), &api->name) && missing == NULL)                        \
        missing = SYMBOL(name);

static const char *find_driver(void *library, struct device_api *api)
{
    const char *missing = NULL;
    DEVICE_DRIVER_FUNCTIONS(FIND)
    return missing;
}

static const char *find_green(void *library, struct device_api *api)
{
    const char *missing = NULL;
    DEVICE_GREEN_FUNCTIONS(FIND)
    return missing;
}

static const char *find_cudnn(void *library, struct device_api *api)
{
    const char *missing = NULL;
    DEVICE_CUDNN_FUNCTIONS(FIND)
    return missing;
}

static const char *find_cublas(void *library, struct device_api *api)
{
    const char *missing = NULL;
    DEVICE_CUBLAS_FUNCTIONS(FIND)
    return missing;
}

static bool open_libraries(struct device *device, struct error *error)
{
    static const struct {
        const char *what;
        const char *names[6];
        const char *(*find)(void *library, struct device_api *api); /* NULL: only a dependency */
    } wanted[] = {
        {"the CUDA driver", {"libcuda.so.1", "libcuda.so", NULL}, find_driver},
        {"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12", NULL}, NULL},
        {"cuBLAS", {"libcublas.so.13", "libcublas.so.12", NULL}, find_cublas},
        {"cuDNN", {"libcudnn.so.9", NULL}, find_cudnn},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *library = open_library(wanted[i].names);
        if (library == NULL)
            return error_run(error,
                             "capture: %s (%s) is not in the loader's path, /usr/local/cuda or a "
                             "PyTorch's packages; name its folder in ESGSIM_CUDA_LIBRARIES",
                             wanted[i].what, wanted[i].names[0]);
        device->libraries[i] = library;
        const char *missing = wanted[i].find == NULL ? NULL : wanted[i].find(library, &device->api);
        if (missing != NULL)
            return error_run(error, "capture: %s has no %s; a newer one is needed", wanted[i].what,
                             missing);
    }
    if (find_green(device->libraries[0], &device->api) != NULL)
        device->api.cuGreenCtxCreate = NULL;
    (void)find_symbol(device->libraries[3], "cudnnGetLastErrorString",
                      &device->api.cudnnGetLastErrorString);
    return true;
}

/* ---- The device ------------------------------------------------------------------------------ */

bool device_check(const struct device *device, CUresult result, const char *what,
                  struct error *error)
{
    const char *text = NULL;
    if (result == CUDA_SUCCESS)
        return true;
    if (device->api.cuGetErrorString(result, &text) != CUDA_SUCCESS || text == NULL)
        text = "unknown error";
    return error_run(error, "capture: %s: %s (%d)", what, text, (int)result);
}

bool device_check_cudnn(const struct device *device, cudnnStatus_t status, const char *what,
                        struct error *error)
{
    char text[200] = "";
    if (status == CUDNN_STATUS_SUCCESS)
        return true;
    if (device->api.cudnnGetLastErrorString != NULL)
        device->api.cudnnGetLastErrorString(text, sizeof text);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\n' ? ' ' : *c; /* messages are single lines */
    return error_run(error, "capture: %s: %s%s%s", what, device->api.cudnnGetErrorString(status),
                     text[0] == '\0' ? "" : ": ", text);
}

bool device_check_cublas(cublasStatus_t status, const char *what, struct error *error)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return true;
    return error_run(error, "capture: %s: cuBLAS status %d", what, (int)status);
}

const char *device_reason(const struct error *error)
{
    static const char prefix[] = "capture: ";
    const size_t length = sizeof prefix - 1;
    return error->message + (strncmp(error->message, prefix, length) == 0 ? length : 0);
}

static void read_attributes(struct device *device)
{
    const struct {
        CUdevice_attribute attribute;
        int *place;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &device->sms},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &device->major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &device->minor},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &device->clock_khz},
        {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &device->memory_clock_khz},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        (void)device->api.cuDeviceGetAttribute(wanted[i].place, wanted[i].attribute,
                                               device->handle);
    (void)device->api.cuDeviceGetName(device->name, (int)sizeof device->name, device->handle);
    (void)device->api.cuDeviceTotalMem(&device->memory_bytes, device->handle);
    (void)device->api.cuDriverGetVersion(&device->driver_version);
}

static bool open_device(struct device *device, struct error *error)
{
    const struct device_api *api = &device->api;
    const double start = measure_now_ms();
    /* The maximum number of hardware queues: streams that share a queue wait for each other. */
    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    if (!device_check(device, api->cuInit(0), "cuInit", error) ||
        !device_check(device, api->cuDeviceGet(&device->handle, 0), "device 0", error) ||
        !device_check(device, api->cuDevicePrimaryCtxRetain(&device->context, device->handle),
                      "its context", error) ||
        !device_check(device, api->cuCtxSetCurrent(device->context), "its context", error))
        return false;
    device->context_ms = measure_now_ms() - start;
    read_attributes(device);
    return true;
}

bool device_open(struct device *device, struct error *error)
{
    const double start = measure_now_ms();
    *device = (struct device){.name = ""};
    if (!open_libraries(device, error)) {
        device_close(device);
        return false;
    }
    device->libraries_ms = measure_now_ms() - start;
    if (open_device(device, error))
        return true;
    device_close(device);
    return false;
}

bool device_load_kernels(struct device *device, struct error *error)
{
    const double start = measure_now_ms();
    if (!device_check(device,
                      device->api.cuLibraryLoadData(&device->kernels, capture_kernels, NULL, NULL,
                                                    0, NULL, NULL, 0),
                      "the kernels", error))
        return false;
    device->module_ms = measure_now_ms() - start;
    return true;
}

/* The libraries stay open: cuDNN and cuBLAS fail if they are closed before the process ends. */
void device_close(struct device *device)
{
    if (device->kernels != NULL)
        (void)device->api.cuLibraryUnload(device->kernels);
    if (device->context != NULL)
        (void)device->api.cuDevicePrimaryCtxRelease(device->handle);
    device->kernels = NULL;
    device->context = NULL;
}

CUfunction device_symbol(const struct device *device, const char *symbol, struct error *error)
{
    CUkernel kernel = NULL;
    if (!device_check(device, device->api.cuLibraryGetKernel(&kernel, device->kernels, symbol),
                      symbol, error))
        return NULL;
    return (CUfunction)kernel; /* a launch takes its context from the stream */
}

CUfunction device_kernel(const struct device *device, const char *name, bool half,
                         struct error *error)
{
    char symbol[64];
    (void)snprintf(symbol, sizeof symbol, "%s_%s", name, half ? "f16" : "f32");
    return device_symbol(device, symbol, error);
}

/* ---- Partitions ------------------------------------------------------------------------------ */

bool device_split(struct device *device, struct error *error)
{
    CUdevResource all;
    if (device->group_count > 0)
        return true;
    if (device->api.cuGreenCtxCreate == NULL)
        return error_run(error, "capture: this driver has no green contexts (CUDA 12.4 has)");
    if (!device_check(
            device,
            device->api.cuDeviceGetDevResource(device->handle, &all, CU_DEV_RESOURCE_TYPE_SM),
            "the device's multiprocessors", error))
        return false;
    /* The driver rounds the request of 1 up to the architecture's minimum. The groups of a split
     * cannot be split again, but a context can have any of them. */
    unsigned count = 0;
    if (!device_check(device,
                      device->api.cuDevSmResourceSplitByCount(NULL, &count, &all, NULL, 0, 1),
                      "counting the parts of a split", error))
        return false;
    if (count > SLICES_GROUPS)
        count = SLICES_GROUPS;
    if (!device_check(
            device,
            device->api.cuDevSmResourceSplitByCount(device->groups, &count, &all, NULL, 0, 1),
            "splitting the multiprocessors", error))
        return false;
    device->group_count = count;
    return true;
}

static bool make_green(struct device *device, uint64_t groups, struct partition *partition,
                       struct error *error)
{
    const struct device_api *api = &device->api;
    CUdevResource chosen[SLICES_GROUPS];
    CUdevResourceDesc description = NULL;
    unsigned count = 0;
    if (!device_split(device, error))
        return false;
    for (unsigned g = 0; g < device->group_count; g++)
        if ((groups >> g & 1) != 0) {
            partition->sms += (int)device->groups[g].sm.smCount;
            chosen[count++] = device->groups[g];
        }
    partition->green = true;
    partition->groups = groups;
    return device_check(device, api->cuDevResourceGenerateDesc(&description, chosen, count),
                        "a green context's multiprocessors", error) &&
           device_check(device,
                        api->cuGreenCtxCreate(&partition->green_context, description,
                                              device->handle, CU_GREEN_CTX_DEFAULT_STREAM),
                        "a green context", error) &&
           device_check(device,
                        api->cuCtxFromGreenCtx(&partition->context, partition->green_context),
                        "a green context", error) &&
           device_check(device,
                        api->cuGreenCtxStreamCreate(&partition->stream, partition->green_context,
                                                    CU_STREAM_NON_BLOCKING, 0),
                        "a green context's stream", error);
}

static bool make_whole(struct device *device, struct partition *partition, struct error *error)
{
    partition->context = device->context;
    partition->sms = device->sms;
    return device_check(device,
                        device->api.cuStreamCreate(&partition->stream, CU_STREAM_NON_BLOCKING),
                        "a stream", error);
}

bool partition_create(struct device *device, uint64_t groups, struct partition *partition,
                      struct error *error)
{
    *partition = (struct partition){.sms = 0};
    if (groups == 0 ? make_whole(device, partition, error)
                    : make_green(device, groups, partition, error))
        return true;
    partition_destroy(device, partition);
    return false;
}

void partition_destroy(struct device *device, struct partition *partition)
{
    if (partition->stream != NULL)
        (void)device->api.cuStreamDestroy(partition->stream);
    if (partition->green_context != NULL)
        (void)device->api.cuGreenCtxDestroy(partition->green_context);
    *partition = (struct partition){.sms = 0};
}

bool partition_enter(const struct device *device, const struct partition *partition,
                     struct error *error)
{
    const bool green = partition->green && device->green_mode == GREEN_BY_CONTEXT;
    return device_check(device,
                        device->api.cuCtxSetCurrent(green ? partition->context : device->context),
                        "a context", error);
}

void partition_leave(const struct device *device)
{
    (void)device->api.cuCtxSetCurrent(device->context);
}

const char *green_mode_name(enum green_mode mode)
{
    static const char *const names[] = {"untried", "stream", "context"};
    return names[mode];
}
