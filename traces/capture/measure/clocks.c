#include "traces/capture/measure/clocks.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "traces/capture/measure/measure.h"

/* Values of nvml.h. NVML's binary interface is stable, and the header may be missing from a
 * toolkit. */
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_TEMPERATURE_GPU = 0, NVML_TEXT = 80 };
struct nvml_device;

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*driver_version)(char *, unsigned);
    int (*device_by_bus)(const char *, struct nvml_device **);
    int (*clock)(struct nvml_device *, int, unsigned *);
    int (*power)(struct nvml_device *, unsigned *);
    int (*temperature)(struct nvml_device *, int, unsigned *);
    int (*reasons)(struct nvml_device *, unsigned long long *); /* NULL: not available */
};

struct clocks {
    void *library;
    struct nvml nvml;
    struct nvml_device *device;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wakes;
    bool stop; /* this member and those below: protected by the lock */
    struct layout_clocks *rows;
    size_t count, room;
};

/* ---- The library ----------------------------------------------------------------------------- */

/* Searches ESGSIM_CUDA_LIBRARIES first, as device.c does for the other libraries. */
static void *open_library(void)
{
    static const char name[] = "libnvidia-ml.so.1";
    const char *folders = getenv("ESGSIM_CUDA_LIBRARIES");
    char path[512];
    while (folders != NULL && *folders != '\0') {
        const size_t length = strcspn(folders, ":");
        (void)snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, name);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library != NULL)
            return library;
        folders += length + (folders[length] == ':');
    }
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static bool find_functions(struct clocks *clocks)
{
    struct nvml *nvml = &clocks->nvml;
    const struct {
        void *place;
        const char *name, *older;
    } wanted[] = {
        {&nvml->init, "nvmlInit_v2", NULL},
        {&nvml->shutdown, "nvmlShutdown", NULL},
        {&nvml->error_string, "nvmlErrorString", NULL},
        {&nvml->driver_version, "nvmlSystemGetDriverVersion", NULL},
        {&nvml->device_by_bus, "nvmlDeviceGetHandleByPciBusId_v2", NULL},
        {&nvml->clock, "nvmlDeviceGetClockInfo", NULL},
        {&nvml->power, "nvmlDeviceGetPowerUsage", NULL},
        {&nvml->temperature, "nvmlDeviceGetTemperature", NULL},
        {&nvml->reasons, "nvmlDeviceGetCurrentClocksEventReasons",
         "nvmlDeviceGetCurrentClocksThrottleReasons"},
    };
    bool all = true;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *symbol = dlsym(clocks->library, wanted[i].name);
        if (symbol == NULL && wanted[i].older != NULL)
            symbol = dlsym(clocks->library, wanted[i].older);
        memcpy(wanted[i].place, &symbol, sizeof symbol);
        all = all && (symbol != NULL || wanted[i].older != NULL);
    }
    return all;
}

/* ---- The log --------------------------------------------------------------------------------- */

/* Values that the device does not report are 0, or NAN for the power. */
static struct layout_clocks read_row(const struct clocks *clocks)
{
    const struct nvml *nvml = &clocks->nvml;
    unsigned sm = 0;
    unsigned memory = 0;
    unsigned celsius = 0;
    unsigned milliwatts = 0;
    unsigned long long reasons = 0;
    const double time_s = measure_unix_s();
    if (nvml->clock(clocks->device, NVML_CLOCK_SM, &sm) != 0)
        sm = 0;
    if (nvml->clock(clocks->device, NVML_CLOCK_MEM, &memory) != 0)
        memory = 0;
    if (nvml->temperature(clocks->device, NVML_TEMPERATURE_GPU, &celsius) != 0)
        celsius = 0;
    const bool power = nvml->power(clocks->device, &milliwatts) == 0;
    if (nvml->reasons == NULL || nvml->reasons(clocks->device, &reasons) != 0)
        reasons = 0;
    return (struct layout_clocks){.time_s = time_s,
                                  .sm_mhz = (int32_t)sm,
                                  .memory_mhz = (int32_t)memory,
                                  .power_w = power ? milliwatts / 1e3 : NAN,
                                  .celsius = (int32_t)celsius,
                                  .reasons = (int64_t)reasons};
}

/* The caller holds the lock. If memory runs out, the row is dropped. */
static void keep_row(struct clocks *clocks, const struct layout_clocks *row)
{
    if (clocks->count == clocks->room) {
        const size_t room = clocks->room == 0 ? 256 : 2 * clocks->room;
        struct layout_clocks *rows = realloc(clocks->rows, room * sizeof *rows);
        if (rows == NULL)
            return;
        clocks->rows = rows;
        clocks->room = room;
    }
    clocks->rows[clocks->count++] = *row;
}

static void *log_clocks(void *argument)
{
    struct clocks *clocks = argument;
    struct timespec next;
    (void)clock_gettime(CLOCK_MONOTONIC, &next);
    (void)pthread_mutex_lock(&clocks->lock);
    while (!clocks->stop) {
        (void)pthread_mutex_unlock(&clocks->lock);
        const struct layout_clocks row = read_row(clocks);
        (void)pthread_mutex_lock(&clocks->lock);
        keep_row(clocks, &row);
        next.tv_nsec += CLOCKS_EVERY_MS * 1000000L;
        next.tv_sec += next.tv_nsec / 1000000000L;
        next.tv_nsec %= 1000000000L;
        while (!clocks->stop && pthread_cond_timedwait(&clocks->wakes, &clocks->lock, &next) == 0)
            ;
    }
    (void)pthread_mutex_unlock(&clocks->lock);
    return NULL;
}

/* ---- Start and stop -------------------------------------------------------------------------- */

static bool find_device(struct clocks *clocks, const char *bus, char text[static CLOCKS_TEXT])
{
    char version[NVML_TEXT] = "";
    int result = clocks->nvml.init();
    if (result == 0) {
        result = clocks->nvml.device_by_bus(bus, &clocks->device);
        if (result == 0)
            result = clocks->nvml.driver_version(version, sizeof version);
        if (result != 0)
            (void)clocks->nvml.shutdown();
    }
    if (result != 0)
        (void)snprintf(text, CLOCKS_TEXT, "not logged: NVML: %.80s",
                       clocks->nvml.error_string(result));
    else
        (void)snprintf(text, CLOCKS_TEXT, "NVML, driver %.60s", version);
    return result == 0;
}

static bool start_thread(struct clocks *clocks)
{
    pthread_condattr_t monotonic;
    (void)pthread_mutex_init(&clocks->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&clocks->wakes, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    if (pthread_create(&clocks->thread, NULL, log_clocks, clocks) == 0)
        return true;
    (void)pthread_cond_destroy(&clocks->wakes);
    (void)pthread_mutex_destroy(&clocks->lock);
    (void)clocks->nvml.shutdown();
    return false;
}

struct clocks *clocks_start(const char *bus, char text[static CLOCKS_TEXT])
{
    struct clocks *clocks = calloc(1, sizeof *clocks);
    (void)snprintf(text, CLOCKS_TEXT, "not logged: out of memory");
    if (clocks == NULL)
        return NULL;
    clocks->library = open_library();
    if (clocks->library == NULL)
        (void)snprintf(text, CLOCKS_TEXT, "not logged: %.100s", dlerror());
    else if (!find_functions(clocks))
        (void)snprintf(text, CLOCKS_TEXT, "not logged: libnvidia-ml.so.1 lacks a function");
    else if (find_device(clocks, bus, text) && start_thread(clocks))
        return clocks;
    if (clocks->library != NULL)
        (void)dlclose(clocks->library);
    free(clocks);
    return NULL;
}

void clocks_stop(struct clocks *clocks)
{
    if (clocks == NULL)
        return;
    (void)pthread_mutex_lock(&clocks->lock);
    clocks->stop = true;
    (void)pthread_cond_signal(&clocks->wakes);
    (void)pthread_mutex_unlock(&clocks->lock);
    (void)pthread_join(clocks->thread, NULL);
    (void)pthread_cond_destroy(&clocks->wakes);
    (void)pthread_mutex_destroy(&clocks->lock);
    (void)clocks->nvml.shutdown();
    (void)dlclose(clocks->library);
    free(clocks->rows);
    free(clocks);
}

void clocks_range(struct clocks *clocks, double from_s, int *least, int *most)
{
    *least = *most = 0;
    if (clocks == NULL)
        return;
    (void)pthread_mutex_lock(&clocks->lock);
    for (size_t i = 0; i < clocks->count; i++) {
        const struct layout_clocks *row = &clocks->rows[i];
        if (row->time_s < from_s || row->sm_mhz == 0)
            continue;
        if (*least == 0 || row->sm_mhz < *least)
            *least = row->sm_mhz;
        if (row->sm_mhz > *most)
            *most = row->sm_mhz;
    }
    (void)pthread_mutex_unlock(&clocks->lock);
}

struct layout_clocks *clocks_take(struct clocks *clocks, size_t *count)
{
    *count = 0;
    if (clocks == NULL)
        return NULL;
    (void)pthread_mutex_lock(&clocks->lock);
    struct layout_clocks *rows = clocks->rows;
    *count = clocks->count;
    clocks->rows = NULL;
    clocks->count = clocks->room = 0;
    (void)pthread_mutex_unlock(&clocks->lock);
    return rows;
}
