/* emu_heap.h -- the device's global memory: a reserved range of host addresses, a state for each
 * byte, a table of allocations.
 *
 * A device address is EMU_GLOBAL_BASE plus an offset into the range, so an access out of bounds
 * never reaches other host memory. Allocations are aligned to 256 bytes with at least as much red
 * zone between them. Freed ranges are reused only when the range is exhausted, so that a use after
 * free is detected. */
#ifndef EMU_HEAP_H
#define EMU_HEAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu_code.h"
#include "err.h"
#include "str.h"

enum {                     /* bits of a byte's state */
       BYTE_ALLOCATED = 1, /* part of an allocation */
       BYTE_WRITTEN = 2,   /* written by the host or a kernel */
       BYTE_CONST = 4,     /* read-only for kernels */
       BYTE_FREED = 8,
       BYTE_STEADY = 16 /* belongs to a texture, and this launch has not written it */
};

typedef struct emu_alloc {
  uint64_t offset, nbytes;
  bool alive, shared;
  uint32_t serial;
  const char *name; /* of the module's variable, or NULL */
} emu_alloc;

typedef struct emu_heap {
  uint8_t *data, *state;
  uint32_t *tag; /* for each two bytes: the block of a launch that wrote there last */
  uint64_t reserved, bound, used, top;
  emu_alloc *allocs; /* by offset */
  int n;
  size_t capacity;
  uint32_t serial, tag_base;
  void *origin; /* emu_publish.c */
  uint64_t origin_nbytes;
  pthread_mutex_t lock;
} emu_heap;

int emu_heap_open(emu_heap *h, uint64_t bound, err *e);
void emu_heap_close(emu_heap *h);
/* emu_heap_alloc -- err ERR_NOMEM: beyond the bound */
int emu_heap_alloc(emu_heap *h, uint64_t nbytes, const char *name, uint64_t *address, err *e);
/* emu_heap_alloc_shared -- whole pages, which the host has at the same address; they count as written,
 * because writes by the host are not observed
 *   err  ERR_NOMEM: beyond the bound; ERR_DEVICE: the host has no such mapping */
int emu_heap_alloc_shared(emu_heap *h, uint64_t nbytes, uint64_t *address, err *e);
/* emu_heap_release -- false: no allocation starts there */
bool emu_heap_release(emu_heap *h, uint64_t address);
/* emu_heap_host -- host address, if [address, address + n) is inside one allocation; else NULL */
uint8_t *emu_heap_host(emu_heap *h, uint64_t address, uint64_t n);
/* emu_heap_move_states -- of n bytes that are copied; constant bytes of `to`, and only those, stay constant */
void emu_heap_move_states(uint8_t *to, const uint8_t *from, uint64_t n);
void emu_heap_mark_written(emu_heap *h, uint64_t address, uint64_t n);
/* emu_heap_at -- the allocation, alive or freed, that contains an address; false: none */
bool emu_heap_at(emu_heap *h, uint64_t address, emu_alloc *out);
/* emu_heap_extent -- its offset and size */
bool emu_heap_extent(emu_heap *h, uint64_t address, uint64_t *offset, uint64_t *nbytes);
/* emu_heap_describe -- for a finding: what is at or near the address */
void emu_heap_describe(emu_heap *h, uint64_t address, str *out);

#endif
