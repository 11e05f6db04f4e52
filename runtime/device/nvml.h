/* nvml.h -- a GPU's state while it works: clocks, temperature, power, energy, throttle reasons.
 *
 * NVIDIA's management library is opened at run time (libnvidia-ml.so.1, part of the driver);
 * machines and containers without it are an ordinary case. nvml.c declares the few functions it
 * needs, so that building needs no header of NVML. Reading a value takes ten microseconds to a
 * millisecond and does not disturb the GPU. */
#ifndef RT_NVML_H
#define RT_NVML_H

#include <stdint.h>

#include "err.h"
#include "str.h"

typedef struct rt_nvml rt_nvml;

/* rt_nvml_open -- the GPU with this UUID ("GPU-..."), independent of its number,
 * for the rest of the process.
 *   err  ERR_NOTFOUND  no such library, or it does not know the GPU: one line saying which */
int rt_nvml_open(const char *uuid, rt_nvml **out, err *e);

/* Reasons for reduced clocks; NVML's own bits (nvmlClocksEventReason...). */
enum {
  RT_THROTTLE_IDLE = 0x1,
  RT_THROTTLE_SETTING = 0x2,   /* clocks were set, by the user or an application */
  RT_THROTTLE_POWER_CAP = 0x4, /* the power limit: large matrix products always reach it */
  RT_THROTTLE_SLOWDOWN = 0x8,  /* hardware: too hot, or trouble with the power supply */
  RT_THROTTLE_SYNC = 0x10,
  RT_THROTTLE_THERMAL_SW = 0x20,
  RT_THROTTLE_THERMAL_HW = 0x40,
  RT_THROTTLE_BRAKE = 0x80, /* external power brake */
  RT_THROTTLE_DISPLAY = 0x100
};
/* Samples taken under one of these are invalid. The power cap is not among them: it is the normal
 * state of such kernels, and is only reported. */
enum {
  RT_THROTTLE_SEVERE =
      RT_THROTTLE_SLOWDOWN | RT_THROTTLE_THERMAL_SW | RT_THROTTLE_THERMAL_HW | RT_THROTTLE_BRAKE
};
/* rt_throttle_text -- append "power cap, thermal", nothing for 0; idle and settings are left out */
void rt_throttle_text(uint64_t throttle, str *out);

typedef struct rt_health { /* 0: not reported */
  double clock_mhz, memory_mhz, temperature_c, power_w;
  uint64_t throttle;
} rt_health;

void rt_nvml_read(rt_nvml *n, rt_health *out);
/* rt_nvml_throttle -- only the throttle reasons */
uint64_t rt_nvml_throttle(rt_nvml *n);
/* rt_nvml_joules -- since the driver was loaded; negative: not reported */
double rt_nvml_joules(rt_nvml *n);

#endif
