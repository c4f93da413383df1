/* The functions of the management library that the capture tool calls. There is one device, and its
 * clocks rise from the first query on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/stand_in.h"

#define EXPORTED __attribute__((visibility("default")))

enum {
    SUCCESS = 0,
    UNINITIALISED = 1,
    INVALID = 2,
    NOT_LOADED = 9,
    IDLE_MHZ = 345,
    MOST_MHZ = 1980
};

static const char bus_id[] = "00000000:01:00.0";
static _Atomic int opened;
static _Atomic int questions;
static int the_device;

EXPORTED int nvmlInit_v2(void);
EXPORTED int nvmlShutdown(void);
EXPORTED const char *nvmlErrorString(int result);
EXPORTED int nvmlSystemGetDriverVersion(char *version, unsigned length);
EXPORTED int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
EXPORTED int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz);
EXPORTED int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
EXPORTED int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
EXPORTED int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons);

CUresult cuDeviceGetPCIBusId(char *bus, int length, CUdevice device)
{
    const CUresult result = enter("cuDeviceGetPCIBusId", NEED_DRIVER);
    if (result != CUDA_SUCCESS)
        return leave(result);
    if (length < 13 || device != 0)
        return leave(refuse(CUDA_ERROR_INVALID_VALUE, "length %d, device %d", length, device));
    (void)snprintf(bus, (size_t)length, "%s", bus_id);
    return leave(CUDA_SUCCESS);
}

/* STAND_IN_NVML "none": fails as if the driver's kernel module did not answer. */
int nvmlInit_v2(void)
{
    const char *text = getenv("STAND_IN_NVML");
    if (text != NULL && strcmp(text, "none") == 0)
        return NOT_LOADED;
    opened++;
    return SUCCESS;
}

int nvmlShutdown(void)
{
    if (opened == 0) {
        fault("nvmlShutdown without nvmlInit");
        return UNINITIALISED;
    }
    opened--;
    return SUCCESS;
}

const char *nvmlErrorString(int result)
{
    return result == NOT_LOADED ? "Driver Not Loaded" : "Stand-In Refuses";
}

/* Checks that the device may be queried. */
static int check(const void *device, const char *what)
{
    if (opened == 0) {
        fault("%s without nvmlInit", what);
        return UNINITIALISED;
    }
    if (device != &the_device) {
        fault("%s of a device that is none", what);
        return INVALID;
    }
    questions++;
    return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    (void)snprintf(version, length, "0.0 (stand-in)");
    return check(&the_device, "nvmlSystemGetDriverVersion");
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
    *device = &the_device;
    return strcmp(bus, bus_id) == 0 ? check(*device, "nvmlDeviceGetHandleByPciBusId") : INVALID;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
    const int result = check(device, "nvmlDeviceGetClockInfo");
    *mhz = type == 2 ? 3201 : questions < 6 ? IDLE_MHZ : MOST_MHZ;
    return result;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 250500;
    return check(device, "nvmlDeviceGetPowerUsage");
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    *celsius = sensor == 0 ? 41 : 0;
    return check(device, "nvmlDeviceGetTemperature");
}

int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons)
{
    *reasons = 1;
    return check(device, "nvmlDeviceGetCurrentClocksEventReasons");
}
