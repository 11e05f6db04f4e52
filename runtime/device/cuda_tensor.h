/* cuda_tensor.h -- tensor maps of a GPU: see rt_device_ops. */
#ifndef RT_CUDA_TENSOR_H
#define RT_CUDA_TENSOR_H

#include "device.h"

int cuda_tensor_map(rt_device *d, const rt_tensor *t, rt_tensor_map *map, err *e);

#endif
