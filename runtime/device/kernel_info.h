/* kernel_info.h -- ptxas's report of one kernel. */
#ifndef RT_KERNEL_INFO_H
#define RT_KERNEL_INFO_H

#include <stdint.h>

typedef struct rt_kernel_info {
  const char *name;
  int regs;
  int64_t smem_static, stack, spill_stores, spill_loads; /* bytes */
} rt_kernel_info;

#endif
