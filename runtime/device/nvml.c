#define _GNU_SOURCE
#include "nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#include "str.h"

typedef struct nvml_device nvml_device;
typedef unsigned long long counter;

/* NVML API reference: 0 is success; clock domains; temperature sensor 0 is the GPU's. */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

struct rt_nvml {
  void *library;
  nvml_device *device;
  int (*init)(void);
  int (*shutdown)(void);
  int (*by_uuid)(const char *, nvml_device **);
  int (*clock)(nvml_device *, int, unsigned *);
  int (*temperature)(nvml_device *, int, unsigned *);
  int (*power)(nvml_device *, unsigned *); /* mW */
  int (*energy)(nvml_device *, counter *); /* mJ */
  int (*throttle)(nvml_device *, counter *);
};

static void resolve(rt_nvml *n) {
  const struct {
    void *to;
    const char *name;
  } list[] = {{&n->init, "nvmlInit_v2"},
              {&n->shutdown, "nvmlShutdown"},
              {&n->by_uuid, "nvmlDeviceGetHandleByUUID"},
              {&n->clock, "nvmlDeviceGetClockInfo"},
              {&n->temperature, "nvmlDeviceGetTemperature"},
              {&n->power, "nvmlDeviceGetPowerUsage"},
              {&n->energy, "nvmlDeviceGetTotalEnergyConsumption"},
              {&n->throttle, "nvmlDeviceGetCurrentClocksEventReasons"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    *(void **)list[i].to = dlsym(n->library, list[i].name);
  }
  if (!n->throttle) { /* its name before driver 535 */
    *(void **)&n->throttle = dlsym(n->library, "nvmlDeviceGetCurrentClocksThrottleReasons");
  }
}

static int connect(rt_nvml *n, const char *uuid, err *e) {
  n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!n->library) {
    return err_set(e, ERR_NOTFOUND, "libnvidia-ml.so.1 is not on this machine");
  }
  resolve(n);
  int rc = n->init && n->by_uuid && n->shutdown ? n->init() : -1;
  if (rc) {
    n->shutdown = NULL;
    return err_set(e, ERR_NOTFOUND, "NVML does not start (its error %d)", rc);
  }
  rc = n->by_uuid(uuid, &n->device);
  return rc ? err_set(e, ERR_NOTFOUND, "NVML does not show GPU %s (its error %d)", uuid, rc) : 0;
}

static void release(rt_nvml *n) {
  if (n->shutdown) {
    n->shutdown();
  }
  if (n->library) {
    dlclose(n->library);
  }
  free(n);
}

int rt_nvml_open(const char *uuid, rt_nvml **out, err *e) {
  *out = NULL;
  rt_nvml *n = calloc(1, sizeof *n);
  if (!n) {
    return err_nomem(e);
  }
  int rc = connect(n, uuid, e);
  if (rc) {
    release(n);
    return rc;
  }
  *out = n;
  return 0;
}

/* A value that this GPU does not report is 0. */
static double clock_of(rt_nvml *n, int domain) {
  unsigned mhz = 0;
  return n->clock && !n->clock(n->device, domain, &mhz) ? mhz : 0;
}

static double temperature_of(rt_nvml *n) {
  unsigned celsius = 0;
  return n->temperature && !n->temperature(n->device, SENSOR_GPU, &celsius) ? celsius : 0;
}

static double power_of(rt_nvml *n) {
  unsigned mw = 0;
  return n->power && !n->power(n->device, &mw) ? 1e-3 * mw : 0;
}

uint64_t rt_nvml_throttle(rt_nvml *n) {
  counter throttle = 0;
  return n->throttle && !n->throttle(n->device, &throttle) ? throttle : 0;
}

double rt_nvml_joules(rt_nvml *n) {
  counter mj = 0;
  return n->energy && !n->energy(n->device, &mj) ? 1e-3 * (double)mj : -1;
}

void rt_nvml_read(rt_nvml *n, rt_health *out) {
  out->throttle = rt_nvml_throttle(n); /* first: it is the most short-lived */
  out->clock_mhz = clock_of(n, CLOCK_SM);
  out->memory_mhz = clock_of(n, CLOCK_MEMORY);
  out->power_w = power_of(n);
  out->temperature_c = temperature_of(n);
}

void rt_throttle_text(uint64_t throttle, str *out) {
  static const struct {
    uint64_t bit;
    const char *name;
  } list[] = {{RT_THROTTLE_POWER_CAP, "power cap"},
              {RT_THROTTLE_SLOWDOWN, "hardware slowdown"},
              {RT_THROTTLE_THERMAL_SW, "thermal (driver)"},
              {RT_THROTTLE_THERMAL_HW, "thermal (hardware)"},
              {RT_THROTTLE_BRAKE, "power brake"}};
  bool any = false;
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (throttle & list[i].bit) {
      str_addf(out, "%s%s", any ? ", " : "", list[i].name);
      any = true;
    }
  }
}
