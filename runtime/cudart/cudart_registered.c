/* cudart_registered.c -- see cudart_registered.h. */
#include "cudart_registered.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cudart_api.h"
#include "emu.h"

typedef struct range {
  char *host;
  size_t nbytes;
  unsigned flags;
  rt_ptr device; /* 0: nobody asked for it */
  char *seen;    /* what the device was given, and then what it has; nbytes each */
} range;

static range *ranges;
static size_t n_ranges, room;

static range *find(const void *p, size_t nbytes) {
  for (size_t i = 0; i < n_ranges; i++) {
    const uintptr_t at = (uintptr_t)p, first = (uintptr_t)ranges[i].host;
    if (at < first + ranges[i].nbytes && first < at + nbytes) {
      return &ranges[i];
    }
  }
  return NULL;
}

void cudart_registered_in(cudart *c) {
  for (size_t i = 0; i < n_ranges; i++) {
    const range *r = &ranges[i];
    if (r->device) {
      memcpy(r->seen, r->host, r->nbytes);
      c->d->ops->copy_in(c->d, r->device, r->seen, r->nbytes, NULL, NULL);
    }
  }
}

/* Only what the device has changed: other threads of the host may have changed the rest meanwhile. */
static void copy_changes(const range *r) {
  enum { PIECE = 4096 };
  const char *now = r->seen + r->nbytes;
  for (size_t at = 0; at < r->nbytes; at += PIECE) {
    const size_t n = r->nbytes - at < PIECE ? r->nbytes - at : PIECE;
    for (size_t k = memcmp(now + at, r->seen + at, n) ? at : at + n; k < at + n; k++) {
      if (now[k] != r->seen[k]) {
        r->host[k] = now[k];
      }
    }
  }
}

void cudart_registered_out(cudart *c) {
  for (size_t i = 0; i < n_ranges; i++) {
    const range *r = &ranges[i];
    if (r->device &&
        !c->d->ops->copy_out(c->d, r->seen + r->nbytes, r->device, r->nbytes, NULL, NULL)) {
      copy_changes(r);
    }
  }
}

bool cudart_registered_has(cudart *c, const void *p, unsigned *flags) {
  const range *r = find(p, 1);
  (void)c;
  *flags = r ? r->flags : 0;
  return r;
}

cudaError_t cudart_registered_map(cudart *c, void *p, void **device) {
  range *r = find(p, 1);
  err e = {0};
  if (!r) {
    return cudaErrorInvalidValue;
  }
  if (!r->device) {
    r->seen = malloc(2 * r->nbytes);
    if (!r->seen || c->d->ops->alloc(c->d, r->nbytes, &r->device, &e)) {
      free(r->seen);
      return cudaErrorMemoryAllocation;
    }
    cudart_registered_in(c);
  }
  *device = (char *)(uintptr_t)r->device + ((char *)p - r->host);
  return cudaSuccess;
}

void cudart_registered_forget(void) {
  for (size_t i = 0; i < n_ranges; i++) {
    if (ranges[i].device) {
      free(ranges[i].seen);
    }
  }
  n_ranges = 0;
}

cudaError_t emu_cudaHostRegister(void *p, size_t nbytes, unsigned flags) {
  CUDART_ENTER(c);
  if (!p || !nbytes || nbytes > SIZE_MAX / 4) {
    return cudart_leave(c, cudaErrorInvalidValue);
  }
  if (find(p, nbytes) || rt_emu_is_address(c->d, cudart_address(p))) {
    return cudart_leave(c, cudaErrorHostMemoryAlreadyRegistered);
  }
  if (!array_reserve(&ranges, n_ranges + 1, &room, sizeof *ranges)) {
    return cudart_leave(c, cudaErrorMemoryAllocation);
  }
  ranges[n_ranges++] = (range){.host = p, .nbytes = nbytes, .flags = flags};
  return cudart_leave(c, cudaSuccess);
}

cudaError_t emu_cudaHostUnregister(void *p) {
  CUDART_ENTER(c);
  range *r = p ? find(p, 1) : NULL;
  if (!r || r->host != p) {
    return cudart_leave(c, p ? cudaErrorHostMemoryNotRegistered : cudaErrorInvalidValue);
  }
  if (r->device) {
    c->d->ops->release(c->d, r->device);
    free(r->seen);
  }
  *r = ranges[--n_ranges];
  return cudart_leave(c, cudaSuccess);
}
