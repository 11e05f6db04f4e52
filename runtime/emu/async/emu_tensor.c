/* emu_tensor.c -- see emu_tensor.h. src: CUDA Driver API 13.0, cuTensorMapEncodeTiled and Im2col. */
#include "emu_tensor.h"

#include <stdio.h>
#include <string.h>

#include "emu_type.h"

enum { BOX_MAX = 256, BOX_NBYTES_MAX = 1 << 20, PIXELS_MAX = 1024 };

static bool valid_swizzle(const emu_tensor_map *m) {
  bool known = m->swizzle == 1 || m->swizzle == 2 || m->swizzle == 4 || m->swizzle == 8;
  return known && (m->swizzle == 1 || m->box[0] * m->element_nbytes == 16 * m->swizzle);
}

uint64_t emu_tensor_rows(const emu_tensor_map *m) {
  uint64_t n = m->pixels ? m->pixels : 1;
  for (int d = 1; d < m->rank && !m->pixels; d++) {
    n *= m->box[d];
  }
  return n;
}

/* The box of pixels is not empty, and its corners are small enough for so many dimensions. */
static bool valid_column(const emu_tensor_map *m) {
  static const int most[] = {1 << 15, 1 << 7, 1 << 4};
  bool ok = m->rank >= 3 && m->pixels <= PIXELS_MAX;
  for (int d = 0; ok && d < m->rank - 2; d++) {
    const int bound = most[m->rank - 3];
    ok = m->lower[d] >= -bound && m->lower[d] < bound && m->upper[d] >= -bound &&
         m->upper[d] < bound && (int64_t)m->dims[d + 1] + m->upper[d] > m->lower[d];
  }
  return ok;
}

bool emu_tensor_valid(const emu_tensor_map *m) {
  int size = m->element_nbytes;
  uint64_t nbytes = (uint64_t)size;
  bool ok = m->magic == EMU_TENSOR_MAGIC && m->rank >= 1 && m->rank <= 5 && m->address % 16 == 0 &&
            (size == 1 || size == 2 || size == 4 || size == 8);
  for (int d = 0; ok && d < m->rank; d++) {
    const bool bare = m->pixels && d; /* the box has no sides but channels */
    ok = m->dims[d] >= 1 && m->dims[d] <= UINT64_C(1) << 32 &&
         (bare || (m->box[d] >= 1 && m->box[d] <= BOX_MAX)) &&
         (d == 0 || (m->strides[d - 1] % 16 == 0 && m->strides[d - 1] < UINT64_C(1) << 40));
    nbytes *= bare ? 1 : m->box[d];
    ok = ok && nbytes <= BOX_NBYTES_MAX;
  }
  return ok && emu_type_bytes(m->type) == size && m->box[0] * size % 16 == 0 && valid_swizzle(m) &&
         (!m->pixels || valid_column(m));
}

/* the signed integers of PTX begin with another letter */
static emu_type type_of(dtype t) {
  char name[16];
  snprintf(name, sizeof name, "%s", dtype_name(t));
  name[0] = name[0] == 'i' ? 's' : name[0];
  return emu_type_parse(name, (int)strlen(name));
}

int emu_tensor_map_make(const rt_tensor *t, rt_tensor_map *map, err *e) {
  emu_tensor_map m = {.magic = EMU_TENSOR_MAGIC,
                      .address = t->at,
                      .rank = (uint8_t)t->rank,
                      .type = (uint8_t)type_of(t->type),
                      .element_nbytes = (uint8_t)dtype_nbytes(t->type),
                      .swizzle = (uint8_t)(t->swizzle ? t->swizzle / 16 : 1),
                      .nan = t->nan};
  m.pixels = (uint16_t)(t->pixels < UINT16_MAX ? t->pixels : UINT16_MAX);
  for (int i = 0; i < 3; i++) {
    m.lower[i] = (int16_t)t->lower[i];
    m.upper[i] = (int16_t)t->upper[i];
  }
  for (int i = 0; i < 5 && i < t->rank; i++) {
    m.dims[i] = t->dims[i];
    m.box[i] = (uint16_t)(t->box[i] < UINT16_MAX ? t->box[i] : UINT16_MAX);
    m.strides[i < 4 ? i : 3] = i < 4 ? t->strides[i] : m.strides[3];
  }
  if (t->rank < 1 || t->rank > 5 || t->swizzle % 16 || !emu_tensor_valid(&m)) {
    return err_set(
        e, ERR_USAGE,
        "invalid tensor map: it needs 1 to 5 dimensions, an address and strides that are multiples of 16 bytes, and a box of at most 256 elements per side whose rows are multiples of 16 bytes or as long as the swizzle (32, 64 or 128); or, for columns of at most 1024 pixels, 3 to 5 dimensions and a box of pixels that is not empty");
  }
  memset(map, 0, sizeof *map);
  memcpy(map, &m, sizeof m);
  return 0;
}
