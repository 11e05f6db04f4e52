/* fake_nvml.c -- a libnvidia-ml.so.1 for tests: one GPU, the fake driver's, that draws 300 W,
 * counts its energy in steps of 20 ms, and is too hot at the first FAKE_NVML_HOT readings.
 * FAKE_NVML_NO names what it can't do: "init", "gpu", "energy", "clock". */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9 };

static int lacks(const char *what) {
  const char *no = getenv("FAKE_NVML_NO");
  return no && !strcmp(no, what);
}

EXPORT int nvmlInit_v2(void) {
  return lacks("init") ? DRIVER_NOT_LOADED : SUCCESS;
}
EXPORT int nvmlShutdown(void) {
  return SUCCESS;
}
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
  *device = (void *)0x77;
  return lacks("gpu") || strcmp(uuid, "GPU-1f1f1f1f-1f1f-1f1f-1f1f-1f1f1f1f1f1f") ? NOT_FOUND
                                                                                  : SUCCESS;
}
EXPORT int nvmlDeviceGetClockInfo(void *device, int domain, unsigned *mhz) {
  (void)device;
  *mhz = domain == 1 ? 1755 : 3201;
  return lacks("clock") ? NOT_SUPPORTED : SUCCESS;
}
EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) {
  (void)device, (void)sensor, *celsius = 61;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *mw) {
  (void)device, *mw = 300000;
  return SUCCESS;
}
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  (void)device;
  *mj = (unsigned long long)(t.tv_sec * 50 + t.tv_nsec / 20000000) * 20 * 300;
  return lacks("energy") ? NOT_SUPPORTED : SUCCESS;
}
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *held) {
  static int readings;
  const char *hot = getenv("FAKE_NVML_HOT");
  (void)device;
  *held = 0x4 | (hot && readings++ < atoi(hot) ? 0x40 : 0); /* power cap, thermal */
  return SUCCESS;
}
