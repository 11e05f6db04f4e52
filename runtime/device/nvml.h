/* nvml.h -- what a GPU says of itself while it works: clocks, temperature, power, energy, and what
 * holds its clocks back.
 *
 * By NVIDIA's management library, opened at run time (libnvidia-ml.so.1, which comes with the
 * driver); a machine or container without it is an ordinary case. The handful of functions needed
 * is declared in nvml.c, so that no header of NVML is needed to build. A reading takes some ten
 * microseconds to a millisecond a value, and none of it disturbs the GPU. */
#ifndef RT_NVML_H
#define RT_NVML_H

#include <stdint.h>

#include "err.h"
#include "str.h"

typedef struct rt_nvml rt_nvml;

/* rt_nvml_open -- the GPU with this UUID ("GPU-..."), however it is numbered.
 *   err  ERR_NOTFOUND  no such library, or it doesn't know the GPU: one line saying which */
int rt_nvml_open(const char *uuid, rt_nvml **out, err *e);
void rt_nvml_close(rt_nvml *n);

/* What holds clocks back; NVML's own bits (nvmlClocksEventReason...). */
enum {
  RT_HELD_IDLE = 0x1,
  RT_HELD_SETTING = 0x2,   /* clocks were set, by the user or an application */
  RT_HELD_POWER_CAP = 0x4, /* the power limit: large multiplications at full speed always hit it */
  RT_HELD_SLOWDOWN = 0x8,  /* hardware: too hot, or its power supply complains */
  RT_HELD_SYNC = 0x10,
  RT_HELD_THERMAL_SW = 0x20,
  RT_HELD_THERMAL_HW = 0x40,
  RT_HELD_BRAKE = 0x80, /* external power brake */
  RT_HELD_DISPLAY = 0x100
};
/* A sample taken under one of these says nothing about the kernel. The power cap is none of them:
 * it is the state in which such kernels always run, and is told, not mended. */
enum { RT_HELD_BADLY = RT_HELD_SLOWDOWN | RT_HELD_THERMAL_SW | RT_HELD_THERMAL_HW | RT_HELD_BRAKE };
/* rt_held_text -- append "power cap, thermal", nothing for 0; idle and settings left out */
void rt_held_text(uint64_t held, str *out);

typedef struct rt_health { /* 0: not told */
  double clock_mhz, memory_mhz, temperature_c, power_w;
  uint64_t held;
} rt_health;

void rt_nvml_read(rt_nvml *n, rt_health *out);
/* rt_nvml_held -- only what holds the clocks back */
uint64_t rt_nvml_held(rt_nvml *n);
/* rt_nvml_joules -- since the driver was loaded; negative: this GPU has no such counter */
double rt_nvml_joules(rt_nvml *n);

#endif
