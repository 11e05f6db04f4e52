/* cuda_device.h -- the struct that the files cuda_*.c share. */
#ifndef RT_CUDA_DEVICE_H
#define RT_CUDA_DEVICE_H

#include "cuda_api.h"
#include "device.h"

typedef struct cuda {
  rt_device device; /* must be first */
  CUdevice handle;
  CUcontext context; /* read by every launch, like the first functions of api */
  cuda_api api;
  bool retained; /* the primary context, ours to release */
} cuda;

/* cuda_info -- query the limits of d->handle */
int cuda_info(cuda *d, int ordinal, err *e);

#endif
