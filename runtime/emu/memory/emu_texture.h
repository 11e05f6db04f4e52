/* emu_texture.h -- what the handles of texture and surface objects stand for, and where texels lie.
 *
 * The texels of an array lie in the heap, row by row, like memory of the program's own: its checks
 * apply to both. Reads of an array count the sectors of another layout, in which neighbours in two
 * dimensions are close together, as on the card. */
#ifndef EMU_TEXTURE_H
#define EMU_TEXTURE_H

#include "dtype.h"
#include "emu_heap.h"

typedef struct emu_texels {
  uint64_t at; /* address */
  dtype type;
  int channels, nbytes;        /* nbytes: of a texel */
  int rank;                    /* 1 to 3; layers do not count */
  uint64_t dims[3];            /* texels; 1 beyond the rank */
  uint64_t layers;             /* 0: not layered */
  uint64_t pitch, slice;       /* bytes between rows, and between slices or layers */
  bool array, surface, gather; /* array: else memory of the program's */
} emu_texels;

typedef enum emu_object_kind { OBJECT_texture = 1, OBJECT_surface } emu_object_kind;
typedef enum emu_edge { EDGE_wrap, EDGE_clamp, EDGE_mirror, EDGE_border } emu_edge;

typedef struct emu_object {
  emu_object_kind kind;
  bool alive;
  uint32_t serial; /* which of the objects with this index: a part of the handle */
  emu_texels texels;
  emu_edge edge[3];
  bool linear, normalized_coords, normalized;
} emu_object;

typedef struct emu_objects { /* by index; freed ones are reused under another handle */
  emu_object *list;
  int n;
  size_t capacity;
} emu_objects;

/* emu_objects_add -- copies *o; err ERR_NOMEM; ERR_LIMIT: there are too many */
int emu_objects_add(emu_objects *all, const emu_object *o, uint64_t *handle, err *e);
/* emu_objects_find -- NULL: no such object, or it was destroyed, which *dead then says */
const emu_object *emu_objects_find(const emu_objects *all, uint64_t handle, bool *dead);
/* emu_objects_remove -- false: no object of this kind has that handle */
bool emu_objects_remove(emu_objects *all, emu_object_kind kind, uint64_t handle);
/* emu_objects_settle -- the texels of all objects are what earlier launches and copies have left:
 * later writes make them stale */
void emu_objects_settle(const emu_objects *all, emu_heap *h);

/* emu_texels_nbytes -- bytes from the first texel to the last */
uint64_t emu_texels_nbytes(const emu_texels *t);
/* emu_texel_address -- of the texel at x, y and z; z is the layer of a layered array */
static inline uint64_t emu_texel_address(const emu_texels *t, uint64_t x, uint64_t y, uint64_t z) {
  return t->at + x * (uint64_t)t->nbytes + y * t->pitch + z * t->slice;
}
/* emu_texel_counted -- the address for the cost model, given the one above */
uint64_t emu_texel_counted(const emu_texels *t, uint64_t address);

#endif
