/* emu_textures.h -- arrays, textures and surfaces of rt_device_ops. */
#ifndef EMU_TEXTURES_H
#define EMU_TEXTURES_H

#include "device.h"

int emu_array_new_op(rt_device *d, const rt_array_shape *shape, rt_array **out, err *e);
void emu_array_free_op(rt_device *d, rt_array *a);
int emu_array_copy_op(rt_device *d, rt_array *a, const rt_array_copy *c, rt_stream s, err *e);
int emu_texture_new_op(rt_device *d, const rt_texture *t, rt_object *o, err *e);
int emu_texture_free_op(rt_device *d, rt_object o, err *e);
int emu_surface_new_op(rt_device *d, rt_array *a, rt_object *o, err *e);
int emu_surface_free_op(rt_device *d, rt_object o, err *e);
/* emu_arrays_close -- frees what the program did not */
void emu_arrays_close(rt_device *d);

#endif
