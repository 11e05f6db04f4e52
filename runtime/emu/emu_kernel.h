/* emu_kernel.h -- modules, kernels and launches of the emulated device, for its rt_device_ops. */
#ifndef EMU_KERNEL_H
#define EMU_KERNEL_H

#include "device.h"
#include "emu_device_state.h"

int emu_module_load_op(rt_device *d, const void *image, size_t nbytes, rt_module **out, err *e);
void emu_module_unload_op(rt_device *d, rt_module *m);
int emu_variable_op(rt_device *d, rt_module *m, const char *name, rt_ptr *p, size_t *nbytes,
                    err *e);
int emu_function_op(rt_device *d, rt_module *m, const char *name, rt_function **out, err *e);
int emu_function_info_op(rt_device *d, rt_function *f, rt_function_info *info, err *e);
int emu_function_params_op(rt_device *d, rt_function *f, uint32_t *nbytes, int most);
int emu_function_smem_op(rt_device *d, rt_function *f, int64_t nbytes, err *e);
int emu_occupancy_op(rt_device *d, rt_function *f, int threads, int64_t smem, int *blocks, err *e);
int emu_pending_launches_op(rt_device *d, uint32_t n, err *e);
/* emu_function_regs -- registers per thread; emu_function_threads -- most threads of a block */
int emu_function_regs(const emu_device *d, const rt_function *f);
int emu_function_threads(const rt_function *f);
int emu_launch_op(rt_device *dev, rt_function *f, const uint32_t grid[3], const uint32_t block[3],
                  uint32_t smem, rt_stream s, void **args, err *e);
int emu_launch_cooperative_op(rt_device *dev, rt_function *f, const uint32_t grid[3],
                              const uint32_t block[3], uint32_t smem, rt_stream s, void **args,
                              err *e);

#endif
