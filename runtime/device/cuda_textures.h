/* cuda_textures.h -- arrays, textures and surfaces of a GPU: see rt_device_ops. */
#ifndef RT_CUDA_TEXTURES_H
#define RT_CUDA_TEXTURES_H

#include "device.h"

int cuda_array_new(rt_device *d, const rt_array_shape *shape, rt_array **a, err *e);
void cuda_array_free(rt_device *d, rt_array *a);
int cuda_array_copy(rt_device *d, rt_array *a, const rt_array_copy *c, rt_stream s, err *e);
int cuda_texture_new(rt_device *d, const rt_texture *t, rt_object *o, err *e);
int cuda_texture_free(rt_device *d, rt_object o, err *e);
int cuda_surface_new(rt_device *d, rt_array *a, rt_object *o, err *e);
int cuda_surface_free(rt_device *d, rt_object o, err *e);

#endif
