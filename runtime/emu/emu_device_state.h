/* emu_device_state.h -- the structs behind the emulated device's handles. */
#ifndef EMU_DEVICE_STATE_H
#define EMU_DEVICE_STATE_H

#include "emu.h"
#include "emu_code.h"
#include "emu_heap.h"
#include "emu_profile.h"
#include "emu_texture.h"
#include "emu_streams.h"

struct rt_module {
  emu_module *m;
  rt_function *functions; /* all that were returned */
  rt_module *next;
};

struct rt_function {
  rt_function *next;
  rt_module *module;
  const emu_func *f;
  int64_t smem_dynamic; /* allowed by function_smem */
};

struct rt_event {
  double sec; /* the device's modelled time when it was recorded */
  emu_clocks clocks;
};

typedef struct emu_device {
  rt_device device; /* must be first */
  const emu_profile *profile;
  emu_heap heap;
  emu_objects objects;
  bool checks;
  uint64_t steps;
  int cluster[3];   /* of launches of kernels that have none of their own; 0: no clusters */
  uint32_t pending; /* launches of kernels that may be pending, if more than the default */
  const volatile int *stop;
  int threads;
  int64_t sample;
  void (*print)(void *context, const char *text);
  void *print_context;
  rt_emu_finding finding;
  rt_emu_stats stats;
  double now; /* modelled seconds since the device was opened */
  rt_module *modules;
  rt_array *arrays;
  emu_streams streams;
} emu_device;

static inline double emu_bandwidth(const emu_device *d) {
  return 2 * d->profile->memory_clock_hz * d->profile->bus_bits / 8;
}

#endif
