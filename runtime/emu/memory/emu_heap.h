/* emu_heap.h -- the device's global memory: one reserved range of addresses of the host, a state
 * for every byte, and a table of allocations.
 *
 * A device address is EMU_GLOBAL_BASE plus an offset into the range, so an access that is out of
 * bounds can be refused and never touches anything else of the host. Allocations are 256-byte
 * aligned with at least as much red zone between them; freed ranges are not given out again before
 * the range is used up, so that a use after free is found.
 */
#ifndef EMU_HEAP_H
#define EMU_HEAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu_code.h"
#include "err.h"
#include "str.h"

enum {                 /* bits of a byte's state */
       BYTE_THERE = 1, /* part of a living allocation */
       BYTE_SET = 2,   /* something was written there */
       BYTE_CONST = 4, /* kernels may not write it */
       BYTE_FREED = 8
};

typedef struct emu_alloc {
  uint64_t offset, nbytes;
  bool alive;
  uint32_t serial;
  const char *name; /* a module's variable, or NULL */
} emu_alloc;

typedef struct emu_heap {
  uint8_t *data, *state;
  uint32_t *tag; /* per two bytes: last writing block of a launch */
  uint64_t reserved, bound, used, top;
  emu_alloc *allocs; /* by offset */
  int n, capacity;
  uint32_t serial, tag_base;
  pthread_mutex_t lock;
} emu_heap;

int emu_heap_open(emu_heap *h, uint64_t bound, err *e);
void emu_heap_close(emu_heap *h);
/* emu_heap_alloc -- err ERR_NOMEM: over the bound */
int emu_heap_alloc(emu_heap *h, uint64_t nbytes, const char *name, uint64_t *address, err *e);
/* emu_heap_release -- false: no living allocation starts there */
bool emu_heap_release(emu_heap *h, uint64_t address);
/* emu_heap_host -- the host's bytes, when [address, address + n) is inside one living allocation */
uint8_t *emu_heap_host(emu_heap *h, uint64_t address, uint64_t n);
void emu_heap_mark_set(emu_heap *h, uint64_t address, uint64_t n);
/* emu_heap_extent -- offset and size of the allocation an address is in; false: in none */
bool emu_heap_extent(emu_heap *h, uint64_t address, uint64_t *offset, uint64_t *nbytes);
/* emu_heap_describe -- what is at or near the address, for a finding */
void emu_heap_describe(emu_heap *h, uint64_t address, str *out);

#endif
