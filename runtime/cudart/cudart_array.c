/* cudart_array.c -- arrays, textures and surfaces. Mipmaps, cubemaps and sRGB are not emulated. */
#include <stdlib.h>

#include "cudart_api.h"
#include "cudart_process.h"
#include "emu.h"

struct cudaArray {
  rt_array *array;
  struct cudaChannelFormatDesc desc;
  struct cudaExtent extent;
  unsigned flags;
  uint32_t texel; /* bytes */
  uint64_t generation;
};

/* ---- formats --------------------------------------------------------------------------------- */

static bool type_of(const struct cudaChannelFormatDesc *f, dtype *type, int *channels) {
  *channels = (f->x > 0) + (f->y > 0) + (f->z > 0) + (f->w > 0);
  const struct {
    enum cudaChannelFormatKind kind;
    int bits;
    dtype type;
  } rows[] = {
      {cudaChannelFormatKindSigned, 8, DTYPE_i8},
      {cudaChannelFormatKindSigned, 16, DTYPE_i16},
      {cudaChannelFormatKindSigned, 32, DTYPE_i32},
      {cudaChannelFormatKindUnsigned, 8, DTYPE_u8},
      {cudaChannelFormatKindUnsigned, 16, DTYPE_u16},
      {cudaChannelFormatKindUnsigned, 32, DTYPE_u32},
      {cudaChannelFormatKindFloat, 16, DTYPE_f16},
      {cudaChannelFormatKindFloat, 32, DTYPE_f32},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].kind == f->f && rows[i].bits == f->x) {
      *type = rows[i].type;
      return true;
    }
  }
  return false;
}

static cudaError_t noted(cudart *c, const err *e) {
  cudart_note(e->message);
  return cudart_leave(c, e->code == ERR_NOMEM ? cudaErrorMemoryAllocation : cudaErrorInvalidValue);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static int new_array(cudart *c, struct cudaArray *a, err *e) {
  enum { KNOWN = cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayTextureGather };
  rt_array_shape s = {.dims = {a->extent.width, a->extent.height, a->extent.depth}};
  s.layered = a->flags & cudaArrayLayered;
  s.surface = a->flags & cudaArraySurfaceLoadStore;
  s.gather = a->flags & cudaArrayTextureGather;
  if (a->flags & ~(unsigned)KNOWN || !type_of(&a->desc, &s.type, &s.channels)) {
    return err_set(e, ERR_USAGE, "an array of this format or kind is not emulated");
  }
  a->texel = (uint32_t)((size_t)s.channels * dtype_nbytes(s.type));
  a->generation = c->generation;
  return c->d->ops->array_new(c->d, &s, &a->array, e);
}

/* false: NULL, or gone with the device that cudaDeviceReset closed */
static bool is_alive(const cudart *c, cudaArray_const_t a) {
  return a && a->generation == c->generation;
}

cudaError_t emu_cudaMalloc3DArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc,
                                  struct cudaExtent extent, unsigned flags) {
  CUDART_NEEDS(out && desc);
  err e = {0};
  CUDART_ENTER(c);
  struct cudaArray *a = calloc(1, sizeof *a);
  *out = NULL;
  if (!a) {
    return cudart_leave(c, cudaErrorMemoryAllocation);
  }
  *a = (struct cudaArray){.desc = *desc, .extent = extent, .flags = flags};
  if (new_array(c, a, &e)) {
    free(a);
    return noted(c, &e);
  }
  *out = a;
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaMallocArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc,
                                size_t width, size_t height, unsigned flags) {
  CUDART_NEEDS(out && desc);
  const struct cudaExtent extent = {width, height, 0};
  return emu_cudaMalloc3DArray(out, desc, extent, flags);
}

cudaError_t emu_cudaFreeArray(cudaArray_t a) {
  CUDART_ENTER(c);
  if (is_alive(c, a)) {
    c->d->ops->array_free(c->d, a->array);
  }
  free(a);
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t a) {
  CUDART_NEEDS(desc && a);
  *desc = a->desc;
  return cudaSuccess;
}

cudaError_t emu_cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                                 unsigned *flags, cudaArray_t a) {
  CUDART_NEEDS(a);
  if (desc) {
    *desc = a->desc;
  }
  if (extent) {
    *extent = a->extent;
  }
  if (flags) {
    *flags = a->flags;
  }
  return cudaSuccess;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Memory of the host or the device is the other side. */
static cudaError_t copy(cudaArray_const_t a, rt_array_copy *how, const void *memory,
                        const char *call) {
  err e = {0};
  CUDART_ENTER(c);
  if (!is_alive(c, a)) {
    return cudart_leave(c, cudaErrorInvalidResourceHandle);
  }
  how->texel = a->texel;
  if (rt_emu_is_address(c->d, cudart_address(memory))) {
    how->device = cudart_address(memory);
  } else {
    how->host = (void *)(uintptr_t)memory;
  }
  if (!c->d->ops->array_copy(c->d, a->array, how, NULL, &e)) {
    return cudart_leave(c, cudaSuccess);
  }
  cudart_finding(&e, call);
  return cudart_leave(c, cudaErrorInvalidValue);
}

static cudaError_t copy_rows(cudaArray_const_t a, size_t x, size_t y, const void *memory,
                             size_t pitch, size_t width, size_t height, bool out,
                             const char *call) {
  rt_array_copy how = {.at = {x / a->texel, y},
                       .size = {width / a->texel, a->extent.height ? height : 0},
                       .pitch = pitch,
                       .rows = height,
                       .out = out};
  return copy(a, &how, memory, call);
}

cudaError_t emu_cudaMemcpy2DToArray(cudaArray_t a, size_t x, size_t y, const void *from,
                                    size_t pitch, size_t width, size_t height,
                                    enum cudaMemcpyKind kind) {
  CUDART_NEEDS(a && from);
  (void)kind;
  return copy_rows(a, x, y, from, pitch, width, height, false, "cudaMemcpy2DToArray");
}

cudaError_t emu_cudaMemcpy2DToArrayAsync(cudaArray_t a, size_t x, size_t y, const void *from,
                                         size_t pitch, size_t width, size_t height,
                                         enum cudaMemcpyKind kind, cudaStream_t stream) {
  const struct cudaMemcpy3DParms p = {.srcPtr = {(void *)(uintptr_t)from, pitch, pitch, height},
                                      .dstArray = a,
                                      .dstPos = {x / a->texel, y, 0},
                                      .extent = {width / a->texel, height, 1},
                                      .kind = kind};
  return emu_cudaMemcpy3DAsync(&p, stream);
}

cudaError_t emu_cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t a, size_t x,
                                      size_t y, size_t width, size_t height,
                                      enum cudaMemcpyKind kind) {
  CUDART_NEEDS(to && a);
  (void)kind;
  return copy_rows(a, x, y, to, pitch, width, height, true, "cudaMemcpy2DFromArray");
}

cudaError_t emu_cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t a, size_t x,
                                           size_t y, size_t width, size_t height,
                                           enum cudaMemcpyKind kind, cudaStream_t stream) {
  const struct cudaMemcpy3DParms p = {.srcArray = (cudaArray_t)(uintptr_t)a,
                                      .srcPos = {x / a->texel, y, 0},
                                      .dstPtr = {to, pitch, pitch, height},
                                      .extent = {width / a->texel, height, 1},
                                      .kind = kind};
  return emu_cudaMemcpy3DAsync(&p, stream);
}

/* n bytes from the beginning of a row: whole rows, or part of one */
static cudaError_t copy_bytes(cudaArray_const_t a, size_t x, size_t y, const void *memory, size_t n,
                              bool out, const char *call) {
  const size_t row = a->extent.width * a->texel;
  const bool whole = n > row;
  if (whole ? x || n % row : x > row || n > row - x) {
    cudart_ends("the program calls %s for parts of several rows, which is not emulated", call);
  }
  return copy_rows(a, x, y, memory, whole ? row : n, whole ? row : n, whole ? n / row : 1, out,
                   call);
}

cudaError_t emu_cudaMemcpyToArray(cudaArray_t a, size_t x, size_t y, const void *from, size_t n,
                                  enum cudaMemcpyKind kind) {
  CUDART_NEEDS(a && from);
  (void)kind;
  return copy_bytes(a, x, y, from, n, false, "cudaMemcpyToArray");
}

cudaError_t emu_cudaMemcpyFromArray(void *to, cudaArray_const_t a, size_t x, size_t y, size_t n,
                                    enum cudaMemcpyKind kind) {
  CUDART_NEEDS(to && a);
  (void)kind;
  return copy_bytes(a, x, y, to, n, true, "cudaMemcpyFromArray");
}

/* cudaMemcpy3D with an array on one side: extents and the array's x count texels, the memory's x bytes. */
cudaError_t cudart_copy_3d_array(const struct cudaMemcpy3DParms *p) {
  const bool out = p->srcArray;
  const struct cudaPos *at = out ? &p->srcPos : &p->dstPos;
  const struct cudaPos *other = out ? &p->dstPos : &p->srcPos;
  const struct cudaPitchedPtr *memory = out ? &p->dstPtr : &p->srcPtr;
  cudaArray_const_t a = out ? p->srcArray : p->dstArray;
  if (p->srcArray && p->dstArray) {
    cudart_ends("the program calls cudaMemcpy3D with two arrays, which is not emulated");
  }
  rt_array_copy how = {.at = {at->x, at->y, at->z},
                       .size = {p->extent.width, a->extent.height ? p->extent.height : 0,
                                a->extent.depth ? p->extent.depth : 0},
                       .pitch = memory->pitch,
                       .rows = memory->ysize,
                       .out = out};
  const char *first =
      (const char *)memory->ptr + other->x + (other->y + other->z * memory->ysize) * memory->pitch;
  return copy(a, &how, first, "cudaMemcpy3D");
}

/* ---- textures and surfaces ------------------------------------------------------------------- */

static void take_settings(const struct cudaTextureDesc *how, rt_texture *t) {
  t->linear = how->filterMode == cudaFilterModeLinear;
  t->normalized_coords = how->normalizedCoords;
  t->normalized = how->readMode == cudaReadModeNormalizedFloat;
  for (int k = 0; k < 3; k++) { /* without normalized coordinates the others are not defined */
    const enum cudaTextureAddressMode mode = how->addressMode[k];
    const bool repeats = mode == cudaAddressModeWrap || mode == cudaAddressModeMirror;
    t->edge[k] = repeats && !how->normalizedCoords ? RT_EDGE_CLAMP : (rt_edge)mode;
  }
}

/* false: what it reads is not emulated */
static bool take_resource(const struct cudaResourceDesc *r, rt_texture *t) {
  if (r->resType == cudaResourceTypeArray) {
    t->array = r->res.array.array->array;
    return true;
  }
  if (r->resType == cudaResourceTypeLinear) {
    t->at = cudart_address(r->res.linear.devPtr);
    const bool known = type_of(&r->res.linear.desc, &t->type, &t->channels);
    t->width =
        known ? r->res.linear.sizeInBytes / (dtype_nbytes(t->type) * (size_t)t->channels) : 0;
    return known;
  }
  t->at = cudart_address(r->res.pitch2D.devPtr);
  t->width = r->res.pitch2D.width;
  t->height = r->res.pitch2D.height;
  t->pitch = r->res.pitch2D.pitchInBytes;
  return r->resType == cudaResourceTypePitch2D &&
         type_of(&r->res.pitch2D.desc, &t->type, &t->channels);
}

cudaError_t emu_cudaCreateTextureObject(cudaTextureObject_t *o, const struct cudaResourceDesc *r,
                                        const struct cudaTextureDesc *how,
                                        const struct cudaResourceViewDesc *view) {
  CUDART_NEEDS(o && r && how);
  rt_texture t = {0};
  rt_object made = 0;
  err e = {0};
  CUDART_ENTER(c);
  if (r->resType == cudaResourceTypeArray && !is_alive(c, r->res.array.array)) {
    return cudart_leave(c, cudaErrorInvalidResourceHandle);
  }
  if (!take_resource(r, &t) || view || how->sRGB) {
    cudart_ends(
        "the program calls cudaCreateTextureObject for a mipmap, a view, sRGB or a format that "
        "is not emulated");
  }
  take_settings(how, &t);
  if (c->d->ops->texture_new(c->d, &t, &made, &e)) {
    return noted(c, &e);
  }
  *o = made;
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaDestroyTextureObject(cudaTextureObject_t o) {
  err e = {0};
  CUDART_ENTER(c);
  return o && c->d->ops->texture_free(c->d, o, &e) ? noted(c, &e) : cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaCreateSurfaceObject(cudaSurfaceObject_t *o, const struct cudaResourceDesc *r) {
  CUDART_NEEDS(o && r);
  rt_object made = 0;
  err e = {0};
  CUDART_ENTER(c);
  if (r->resType != cudaResourceTypeArray || !is_alive(c, r->res.array.array)) {
    return cudart_leave(c, cudaErrorInvalidValue);
  }
  if (c->d->ops->surface_new(c->d, r->res.array.array->array, &made, &e)) {
    return noted(c, &e);
  }
  *o = made;
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaDestroySurfaceObject(cudaSurfaceObject_t o) {
  err e = {0};
  CUDART_ENTER(c);
  return o && c->d->ops->surface_free(c->d, o, &e) ? noted(c, &e) : cudart_leave(c, cudaSuccess);
}
