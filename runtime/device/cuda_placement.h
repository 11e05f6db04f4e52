/* cuda_placement.h -- pinned and managed memory of a GPU's context: see rt_device_ops. */
#ifndef RT_CUDA_PLACEMENT_H
#define RT_CUDA_PLACEMENT_H

#include "device.h"

int cuda_host_alloc(rt_device *d, size_t nbytes, void **p, err *e);
void cuda_host_free(rt_device *d, void *p);
int cuda_managed_alloc(rt_device *d, size_t nbytes, rt_ptr *p, err *e);
int cuda_prefetch(rt_device *d, rt_ptr p, size_t nbytes, bool to_host, rt_stream s, err *e);
int cuda_advise(rt_device *d, rt_ptr p, size_t nbytes, rt_advice advice, err *e);

#endif
