/* cudart_launch.h -- a launch as a call asks for it, or as a graph keeps it. */
#ifndef CUDART_LAUNCH_H
#define CUDART_LAUNCH_H

#include "cudart_process.h"

typedef struct cudart_launch {
  const void *func;
  uint32_t grid[3], block[3];
  size_t smem;
  void **args;
  bool cooperative;
  uint32_t cluster[3]; /* 0: the kernel's own */
} cudart_launch;

cudart_launch cudart_launch_of(const void *func, dim3 grid, dim3 block, size_t smem, void **args);
/* cudart_launch_attribute -- attributes that only say how a launch shares the device make no difference */
void cudart_launch_attribute(cudart_launch *l, unsigned id, const cudaLaunchAttributeValue *value);
cudaError_t cudart_launch_run(cudart *c, const cudart_launch *l);

#endif
