/* cuda_device.h -- what cuda.c and cuda_info.c share: the device's struct. */
#ifndef RT_CUDA_DEVICE_H
#define RT_CUDA_DEVICE_H

#include "cuda_api.h"
#include "device.h"

typedef struct cuda {
  rt_device device; /* first */
  CUdevice handle;
  CUcontext context; /* a launch reads it and the first of the functions */
  cuda_api api;
  bool retained; /* the primary context, ours to release */
} cuda;

/* cuda_info -- the limits of d->handle, asked of the driver one by one */
int cuda_info(cuda *d, int ordinal, err *e);

#endif
