/* cudart_copy.c -- copies and fills. What leaves an allocation is a finding. */
#include <string.h>

#include "cudart_api.h"
#include "cudart_capture.h"
#include "cudart_graph_params.h"
#include "cudart_registered.h"
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
  int rc = 0;
  cudart_registered_in(c);
  for (size_t z = 0; z < b->depth && !rc; z++) {
    for (size_t y = 0; y < b->height && !rc; y++) {
      char *to = (char *)b->to + z * b->to_slice + y * b->to_pitch;
      const char *from = (const char *)b->from + z * b->from_slice + y * b->from_pitch;
      rc = copy_row(c, to, from, b->width, &e);
    }
  }
  if (rc) {
    cudart_finding(&e, call);
    return cudaErrorInvalidValue;
  }
  cudart_registered_out(c);
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
  if (!b->to || !b->from) {
    return cudart_leave(c, rejected(call, "an address is null"));
  }
  if (!fits(c, b->to, b->from, b->kind)) {
    return cudart_leave(c,
                        rejected(call, "an address of the host is passed for one of the device, or "
                                       "the reverse: the kind of the copy does not fit"));
  }
  return cudart_leave(c, copy_rows(c, b, call));
}

/* A copy that the graph of a captured stream makes; false: it is made now, or not at all. */
static bool captured(cudaStream_t stream, const struct cudaMemcpy3DParms *p, cudaError_t *error) {
  cudart_work w = {.type = cudaGraphNodeTypeMemcpy, .copy = *p};
  cudart *c = cudart_enter();
  const bool done = !c->sticky && cudart_capture_work(c, stream, &w, error);
  cudart_leave(c, done ? *error : cudaSuccess);
  return done;
}

static cudaError_t copy_in_stream(const box *b, const char *call, cudaStream_t stream) {
  const struct cudaMemcpy3DParms p = {
      .dstPtr = {b->to, b->to_pitch, b->to_pitch, b->height},
      .srcPtr = {(void *)(uintptr_t)b->from, b->from_pitch, b->from_pitch, b->height},
      .extent = {b->width, b->height, b->depth},
      .kind = b->kind,
  };
  cudaError_t error;
  return captured(stream, &p, &error) ? error : copy_box(b, call);
}

cudaError_t emu_cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind) {
  const box b = {to, from, n, 1, 1, n, n, n, n, kind};
  return copy_in_stream(&b, "cudaMemcpy", NULL);
}

cudaError_t emu_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                                cudaStream_t stream) {
  const box b = {to, from, n, 1, 1, n, n, n, n, kind};
  return copy_in_stream(&b, "cudaMemcpyAsync", stream);
}

cudaError_t emu_cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                               size_t n) {
  (void)to_device, (void)from_device;
  return emu_cudaMemcpy(to, from, n, cudaMemcpyDeviceToDevice);
}

cudaError_t emu_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                    size_t n, cudaStream_t stream) {
  (void)to_device, (void)from_device;
  return emu_cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t emu_cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, enum cudaMemcpyKind kind) {
  const box b = {to, from, width, height, 1, to_pitch, from_pitch, 0, 0, kind};
  return copy_box(&b, "cudaMemcpy2D");
}

cudaError_t emu_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind,
                                  cudaStream_t stream) {
  const box b = {to, from, width, height, 1, to_pitch, from_pitch, 0, 0, kind};
  return copy_in_stream(&b, "cudaMemcpy2DAsync", stream);
}

/* The first byte of a box within pitched memory. */
static char *corner(const struct cudaPitchedPtr *p, const struct cudaPos *at) {
  return (char *)p->ptr + at->x + (at->y + at->z * p->ysize) * p->pitch;
}

cudaError_t emu_cudaMemcpy3D(const struct cudaMemcpy3DParms *p) {
  CUDART_NEEDS(p);
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
  CUDART_NEEDS(p);
  cudaError_t error;
  return captured(stream, p, &error) ? error : emu_cudaMemcpy3D(p);
}

/* ---- variables of the program ---------------------------------------------------------------- */

cudaError_t cudart_symbol_bytes(const void *symbol, size_t n, size_t offset, void **at) {
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
  const cudaError_t error = cudart_symbol_bytes(symbol, n, offset, &at);
  return error ? error : emu_cudaMemcpy(at, from, n, kind);
}

cudaError_t emu_cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t n,
                                        size_t offset, enum cudaMemcpyKind kind,
                                        cudaStream_t stream) {
  void *at;
  const cudaError_t error = cudart_symbol_bytes(symbol, n, offset, &at);
  return error ? error : emu_cudaMemcpyAsync(at, from, n, kind, stream);
}

cudaError_t emu_cudaMemcpyFromSymbol(void *to, const void *symbol, size_t n, size_t offset,
                                     enum cudaMemcpyKind kind) {
  void *at;
  const cudaError_t error = cudart_symbol_bytes(symbol, n, offset, &at);
  return error ? error : emu_cudaMemcpy(to, at, n, kind);
}

cudaError_t emu_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t n, size_t offset,
                                          enum cudaMemcpyKind kind, cudaStream_t stream) {
  void *at;
  const cudaError_t error = cudart_symbol_bytes(symbol, n, offset, &at);
  return error ? error : emu_cudaMemcpyAsync(to, at, n, kind, stream);
}

cudaError_t emu_cudaGetSymbolAddress(void **at, const void *symbol) {
  CUDART_NEEDS(at);
  return cudart_symbol_bytes(symbol, 0, 0, at);
}

cudaError_t emu_cudaGetSymbolSize(size_t *nbytes, const void *symbol) {
  CUDART_NEEDS(nbytes);
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
  cudart_registered_in(c);
  for (size_t y = 0; width && y < rows; y++) {
    if (c->d->ops->set(c->d, cudart_address(to) + y * pitch, (uint8_t)value, width, NULL, &e)) {
      cudart_finding(&e, "cudaMemset");
      return cudart_leave(c, cudaErrorInvalidValue);
    }
  }
  cudart_registered_out(c);
  return cudart_leave(c, cudaSuccess);
}

/* A slice of bytes, now or by the graph of a captured stream. */
static cudaError_t fill_in_stream(void *to, size_t pitch, int value, size_t width, size_t rows,
                                  cudaStream_t stream) {
  cudart_work w = {.type = cudaGraphNodeTypeMemset,
                   .fill = {.dst = to,
                            .pitch = pitch,
                            .value = (unsigned)value,
                            .elementSize = 1,
                            .width = width,
                            .height = rows}};
  cudaError_t error;
  CUDART_ENTER(c);
  const bool done = cudart_capture_work(c, stream, &w, &error);
  return cudart_leave(c, done ? error : fill(to, pitch, value, width, rows));
}

cudaError_t emu_cudaMemset(void *to, int value, size_t n) {
  return fill_in_stream(to, n, value, n, 1, NULL);
}

cudaError_t emu_cudaMemsetAsync(void *to, int value, size_t n, cudaStream_t stream) {
  return fill_in_stream(to, n, value, n, 1, stream);
}

cudaError_t emu_cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  return fill(to, pitch, value, width, height);
}

cudaError_t emu_cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height,
                                  cudaStream_t stream) {
  return fill_in_stream(to, pitch, value, width, height, stream);
}

cudaError_t emu_cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
                                  cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  for (size_t z = 0; z < extent.depth && !error; z++) {
    error = fill_in_stream((char *)to.ptr + z * to.pitch * to.ysize, to.pitch, value, extent.width,
                           extent.height, stream);
  }
  return error;
}

cudaError_t emu_cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent) {
  return emu_cudaMemset3DAsync(to, value, extent, NULL);
}
