/* emu_tensor.h -- the emulated device's tensor maps. */
#ifndef EMU_TENSOR_H
#define EMU_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "err.h"

/* The format of CUtensorMap's 128 bytes is not published; the emulated device stores this. */
typedef struct emu_tensor_map {
  uint64_t magic, address;
  uint64_t dims[5], strides[4]; /* strides in bytes, from the second dimension on */
  uint16_t box[5];
  uint8_t rank, type, element_nbytes, swizzle,
      nan;                    /* type: emu_type; swizzle: chunks in a swizzled row; 1: none */
  uint16_t pixels;            /* of a column; 0: tiles */
  int16_t lower[3], upper[3]; /* of the box of pixels, as rt_tensor's */
} emu_tensor_map;
_Static_assert(sizeof(emu_tensor_map) <= 128, "a tensor map has 128 bytes");

#define EMU_TENSOR_MAGIC UINT64_C(0x7469642d6d617021)

/* emu_tensor_valid -- is it a tensor map? Programs can write to the memory it is read from. */
bool emu_tensor_valid(const emu_tensor_map *m);
/* emu_tensor_rows -- in a tile or column */
uint64_t emu_tensor_rows(const emu_tensor_map *m);
/* emu_tensor_map_make -- err ERR_USAGE: not a tensor that the hardware can copy in tiles or columns */
int emu_tensor_map_make(const rt_tensor *t, rt_tensor_map *map, err *e);

#endif
