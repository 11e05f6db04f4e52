/* cudart_copy.c -- copies and fills. What leaves an allocation is a finding. */
#include <string.h>

#include "cudart_api.h"
#include "cudart_registry.h"
#include "emu.h"

/* ---- one row --------------------------------------------------------------------------------- */

/* Is it memory that only the device, or only the host, can use? */
static bool only_device(cudart *c, const void *p) {
  rt_emu_range r;
  const bool known = rt_emu_range_at(c->d, cudart_address(p), &r);
  return rt_emu_is_address(c->d, cudart_address(p)) && !(known && r.shared);
}

static bool only_host(cudart *c, const void *p) {
  return !rt_emu_is_address(c->d, cudart_address(p));
}

static bool fits(cudart *c, void *to, const void *from, enum cudaMemcpyKind kind) {
  switch (kind) {
  case cudaMemcpyHostToHost: return !only_device(c, to) && !only_device(c, from);
  case cudaMemcpyHostToDevice: return !only_host(c, to) && !only_device(c, from);
  case cudaMemcpyDeviceToHost: return !only_device(c, to) && !only_host(c, from);
  case cudaMemcpyDeviceToDevice: return !only_host(c, to) && !only_host(c, from);
  default: return kind == cudaMemcpyDefault;
  }
}

static int copy_row(cudart *c, void *to, const void *from, size_t n, err *e) {
  const bool to_host = only_host(c, to), from_host = only_host(c, from);
  if (to_host && from_host) {
    memmove(to, from, n);
    return 0;
  }
  if (to_host) {
    return c->d->ops->copy_out(c->d, to, cudart_address(from), n, NULL, e);
  }
  return from_host ? c->d->ops->copy_in(c->d, cudart_address(to), from, n, NULL, e)
                   : c->d->ops->copy(c->d, cudart_address(to), cudart_address(from), n, NULL, e);
}

/* ---- up to three dimensions ------------------------------------------------------------------ */

typedef struct box {
  void *to;
  const void *from;
  size_t width, height, depth; /* bytes, rows, slices */
  size_t to_pitch, from_pitch, to_slice, from_slice;
  enum cudaMemcpyKind kind;
} box;

static cudaError_t rejected(const char *call, const char *why) {
  err e = {0};
  err_set(&e, ERR_DEVICE, "%s", why);
  cudart_finding(&e, call);
  return cudaErrorInvalidValue;
}

static cudaError_t copy_rows(cudart *c, const box *b, const char *call) {
  err e = {0};
  for (size_t z = 0; z < b->depth; z++) {
    for (size_t y = 0; y < b->height; y++) {
      char *to = (char *)b->to + z * b->to_slice + y * b->to_pitch;
      const char *from = (const char *)b->from + z * b->from_slice + y * b->from_pitch;
      if (copy_row(c, to, from, b->width, &e)) {
        cudart_finding(&e, call);
        return cudaErrorInvalidValue;
      }
    }
  }
  return cudaSuccess;
}

static cudaError_t copy_box(const box *b, const char *call) {
  CUDART_ENTER(c);
  if (!b->width || !b->height || !b->depth) {
    return cudart_leave(c, cudaSuccess);
  }
  if (b->width > b->to_pitch || b->width > b->from_pitch) {
    return cudart_leave(c, cudaErrorInvalidPitchValue);
  }
  if (!fits(c, b->to, b->from, b->kind)) {
    return cudart_leave(c,
                        rejected(call, "an address of the host is passed for one of the device, or "
                                       "the reverse: the kind of the copy does not fit"));
  }
  return cudart_leave(c, copy_rows(c, b, call));
}

cudaError_t emu_cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind) {
  const box b = {to, from, n, 1, 1, n, n, n, n, kind};
  return copy_box(&b, "cudaMemcpy");
}

cudaError_t emu_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                cudaStream_t stream) {
  const box b = {to, from, n, 1, 1, n, n, n, n, kind};
  (void)stream;
  return copy_box(&b, "cudaMemcpyAsync");
}

cudaError_t emu_cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                               size_t n) {
  (void)to_device, (void)from_device;
  return emu_cudaMemcpy(to, from, n, cudaMemcpyDeviceToDevice);
}

cudaError_t emu_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                    size_t n, cudaStream_t stream) {
  (void)stream;
  return emu_cudaMemcpyPeer(to, to_device, from, from_device, n);
}

cudaError_t emu_cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, enum cudaMemcpyKind kind) {
  const box b = {to, from, width, height, 1, to_pitch, from_pitch, 0, 0, kind};
  return copy_box(&b, "cudaMemcpy2D");
}

cudaError_t emu_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind,
                                  cudaStream_t stream) {
  (void)stream;
  return emu_cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

/* The first byte of a box within pitched memory. */
static char *corner(const struct cudaPitchedPtr *p, const struct cudaPos *at) {
  return (char *)p->ptr + at->x + (at->y + at->z * p->ysize) * p->pitch;
}

cudaError_t emu_cudaMemcpy3D(const struct cudaMemcpy3DParms *p) {
  if (p->srcArray || p->dstArray) {
    return cudart_copy_3d_array(p);
  }
  const box b = {
      .to = corner(&p->dstPtr, &p->dstPos),
      .from = corner(&p->srcPtr, &p->srcPos),
      .width = p->extent.width,
      .height = p->extent.height,
      .depth = p->extent.depth,
      .to_pitch = p->dstPtr.pitch,
      .from_pitch = p->srcPtr.pitch,
      .to_slice = p->dstPtr.pitch * p->dstPtr.ysize,
      .from_slice = p->srcPtr.pitch * p->srcPtr.ysize,
      .kind = p->kind,
  };
  return copy_box(&b, "cudaMemcpy3D");
}

cudaError_t emu_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
  (void)stream;
  return emu_cudaMemcpy3D(p);
}

/* ---- variables of the program ---------------------------------------------------------------- */

/* The device's address of bytes of a variable. */
static cudaError_t bytes_of(const void *symbol, size_t n, size_t offset, void **at) {
  cudart_symbol *s;
  CUDART_ENTER(c);
  cudaError_t error = cudart_variable(c, symbol, &s);
  if (error) {
    return cudart_leave(c, error);
  }
  if (offset > s->nbytes || n > s->nbytes - offset) {
    err e = {0};
    err_set(&e, ERR_DEVICE, "%zu bytes from byte %zu are not inside %.200s, which has %zu", n,
            offset, s->name, s->nbytes);
    cudart_finding(&e, "a copy from or to a variable");
    return cudart_leave(c, cudaErrorInvalidValue);
  }
  *at = (void *)(uintptr_t)(s->at + offset);
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaMemcpyToSymbol(const void *symbol, const void *from, size_t n, size_t offset,
                                   enum cudaMemcpyKind kind) {
  void *at;
  const cudaError_t error = bytes_of(symbol, n, offset, &at);
  return error ? error : emu_cudaMemcpy(at, from, n, kind);
}

cudaError_t emu_cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t n,
                                        size_t offset, enum cudaMemcpyKind kind,
                                        cudaStream_t stream) {
  (void)stream;
  return emu_cudaMemcpyToSymbol(symbol, from, n, offset, kind);
}

cudaError_t emu_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t n, size_t offset,
                                     enum cudaMemcpyKind kind) {
  void *at;
  const cudaError_t error = bytes_of(symbol, n, offset, &at);
  return error ? error : emu_cudaMemcpy(to, at, n, kind);
}

cudaError_t emu_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t n, size_t offset,
                                          enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)stream;
  return emu_cudaMemcpyFromSymbol(to, symbol, n, offset, kind);
}

cudaError_t emu_cudaGetSymbolAddress(void **at, const void *symbol) {
  return bytes_of(symbol, 0, 0, at);
}

cudaError_t emu_cudaGetSymbolSize(size_t *nbytes, const void *symbol) {
  cudart_symbol *s;
  CUDART_ENTER(c);
  const cudaError_t error = cudart_variable(c, symbol, &s);
  *nbytes = error ? 0 : s->nbytes;
  return cudart_leave(c, error);
}

/* ---- fills ----------------------------------------------------------------------------------- */

static cudaError_t fill(void *to, size_t pitch, int value, size_t width, size_t rows) {
  err e = {0};
  CUDART_ENTER(c);
  for (size_t y = 0; width && y < rows; y++) {
    if (c->d->ops->set(c->d, cudart_address(to) + y * pitch, (uint8_t)value, width, NULL, &e)) {
      cudart_finding(&e, "cudaMemset");
      return cudart_leave(c, cudaErrorInvalidValue);
    }
  }
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaMemset(void *to, int value, size_t n) {
  return fill(to, n, value, n, 1);
}

cudaError_t emu_cudaMemsetAsync(void *to, int value, size_t n, cudaStream_t stream) {
  (void)stream;
  return fill(to, n, value, n, 1);
}

cudaError_t emu_cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  return fill(to, pitch, value, width, height);
}

cudaError_t emu_cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                  cudaStream_t stream) {
  (void)stream;
  return fill(to, pitch, value, width, height);
}

cudaError_t emu_cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent) {
  cudaError_t error = cudaSuccess;
  for (size_t z = 0; z < extent.depth && !error; z++) {
    error = fill((char *)to.ptr + z * to.pitch * to.ysize, to.pitch, value, extent.width,
                 extent.height);
  }
  return error;
}

cudaError_t emu_cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
                                  cudaStream_t stream) {
  (void)stream;
  return emu_cudaMemset3D(to, value, extent);
}
