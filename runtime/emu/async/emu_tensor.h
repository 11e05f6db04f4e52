/* emu_tensor.h -- tensor maps: the emulated device's own kind. */
#ifndef EMU_TENSOR_H
#define EMU_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "err.h"

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
/* emu_tensor_map_make -- err ERR_USAGE: not a tensor that the hardware can copy in tiles */
int emu_tensor_map_make(const rt_tensor *t, rt_tensor_map *map, err *e);

#endif
