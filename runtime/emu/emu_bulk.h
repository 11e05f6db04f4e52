/* emu_bulk.h -- bulk copies on their way, and what a tensor map is here. */
#ifndef EMU_BULK_H
#define EMU_BULK_H

#include "emu_exec.h"

enum { BULK_LOAD, BULK_STORE, BULK_BETWEEN }; /* global to shared, back, shared to shared */

/* The 128 bytes of a CUtensorMap are the driver's secret; ours hold this. */
typedef struct emu_tensor_map {
  uint64_t magic, address;
  uint64_t dims[5], strides[4]; /* strides in bytes, from the second dimension on */
  uint16_t box[5];
  uint8_t rank, element_nbytes, swizzle, nan; /* swizzle: chunks of 16 bytes in a row, or 1 */
} emu_tensor_map;
_Static_assert(sizeof(emu_tensor_map) <= 128, "a tensor map has 128 bytes");

#define EMU_TENSOR_MAGIC UINT64_C(0x7469642d6d617021)

/* emu_tensor_valid -- can a copy use it? It comes from memory that programs can write. */
bool emu_tensor_valid(const emu_tensor_map *m);

typedef struct emu_bulk {
  const emu_insn *in;
  emu_warp *warp;
  int lane, op;
  uint32_t group, when;           /* of a store: its bulk group; the clock it was issued at */
  emu_block *home, *barrier_home; /* of what lies in shared memory, and of the mbarrier */
  uint32_t shared, from;          /* offsets in shared memory; from: BULK_BETWEEN */
  uint64_t global, nbytes;
  uint32_t barrier;
  emu_tensor_map map; /* rank 0: plain bytes */
  int32_t at[5];
} emu_bulk;

#endif
