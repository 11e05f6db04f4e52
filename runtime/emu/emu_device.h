/* emu_device.h -- the emulated device's own struct, for the files of this folder. */
#ifndef EMU_DEVICE_H
#define EMU_DEVICE_H

#include "emu.h"
#include "emu_code.h"
#include "emu_exec.h"
#include "emu_memory.h"
#include "emu_profile.h"

struct rt_module {
  emu_module *m;
  rt_function *functions; /* handed out so far */
  rt_module *next;
};

struct rt_function {
  rt_function *next;
  rt_module *module;
  const emu_func *f;
  int regs;             /* of the cubin; 0: our estimate */
  int64_t smem_dynamic; /* allowed by function_smem */
};

struct rt_event {
  double sec; /* modelled time of the device when it was recorded */
};

typedef struct emu_device {
  rt_device device; /* must be first */
  const emu_profile *profile;
  emu_heap heap;
  bool checks;
  uint64_t steps;
  const volatile int *stop;
  int threads;
  int64_t sample;
  void (*print)(void *context, const char *text);
  void *print_context;
  rt_emu_finding finding;
  rt_emu_stats stats;
  double now; /* modelled seconds since the device was opened */
  rt_module *modules;
} emu_device;

/* emu_launch_run -- all blocks, on all host threads (emu_launch.c); a finding is in l->finding */
int emu_launch_run(emu_launch *l, int threads, rt_emu_stats *stats, err *e);
/* emu_tensor_map_op -- of device.h (emu_tensor.c) */
int emu_tensor_map_op(rt_device *d, const rt_tensor *t, rt_tensor_map *map, err *e);
void emu_device_print(emu_device *d, const char *text);

#endif
