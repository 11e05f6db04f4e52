/* emu_texture.c -- see emu_texture.h. */
#include "emu_texture.h"

#include "array.h"

/* A handle is this, the serial number and, in the low bits, the index. */
enum { INDEX_BITS = 20, SERIAL_BITS = 20 };
static const uint64_t HANDLE = UINT64_C(0x7e) << 40;

static uint64_t handle_of(const emu_objects *all, int i) {
  const uint64_t serial = all->list[i].serial & ((1u << SERIAL_BITS) - 1);
  return HANDLE | serial << INDEX_BITS | (uint64_t)i;
}

static int free_place(emu_objects *all, err *e) {
  for (int i = 0; i < all->n; i++) {
    if (!all->list[i].alive) {
      return i;
    }
  }
  if (all->n == 1 << INDEX_BITS) {
    return err_set(e, ERR_LIMIT, "more than %d textures and surfaces", 1 << INDEX_BITS);
  }
  if (!array_reserve(&all->list, all->n + 1, &all->capacity, sizeof *all->list)) {
    return err_nomem(e);
  }
  all->list[all->n] = (emu_object){.serial = 0};
  return all->n++;
}

int emu_objects_add(emu_objects *all, const emu_object *o, uint64_t *handle, err *e) {
  *handle = 0;
  const int i = free_place(all, e);
  if (i < 0) {
    return i;
  }
  const uint32_t serial = all->list[i].serial + 1;
  all->list[i] = *o;
  all->list[i].alive = true;
  all->list[i].serial = serial;
  *handle = handle_of(all, i);
  return 0;
}

const emu_object *emu_objects_find(const emu_objects *all, uint64_t handle, bool *dead) {
  const uint64_t i = handle & ((1u << INDEX_BITS) - 1);
  *dead = false;
  if (handle >> 40 != HANDLE >> 40 || i >= (uint64_t)all->n) {
    return NULL;
  }
  *dead = !all->list[i].alive || handle_of(all, (int)i) != handle;
  return *dead ? NULL : &all->list[i];
}

bool emu_objects_remove(emu_objects *all, emu_object_kind kind, uint64_t handle) {
  bool dead;
  const emu_object *o = emu_objects_find(all, handle, &dead);
  if (!o || o->kind != kind) {
    return false;
  }
  all->list[o - all->list].alive = false;
  return true;
}

uint64_t emu_texels_nbytes(const emu_texels *t) {
  const uint64_t slices = t->layers ? t->layers : t->dims[2];
  return (slices - 1) * t->slice + (t->dims[1] - 1) * t->pitch + t->dims[0] * (uint64_t)t->nbytes;
}

void emu_objects_settle(const emu_objects *all, emu_heap *h) {
  for (int i = 0; i < all->n; i++) {
    const emu_texels *t = &all->list[i].texels;
    const uint64_t n = all->list[i].alive ? emu_texels_nbytes(t) : 0;
    uint8_t *state = h->state + (t->at - EMU_GLOBAL_BASE);
    for (uint64_t k = 0; k < n; k++) {
      state[k] |= BYTE_STEADY;
    }
  }
}

/* Blocks of 64 bytes and 8 rows, in which a sector holds 16 bytes of two rows. */
uint64_t emu_texel_counted(const emu_texels *t, uint64_t address) {
  if (!t->array || t->dims[1] < 2) {
    return address;
  }
  const uint64_t inside = (address - t->at) % t->slice, x = inside % t->pitch,
                 y = inside / t->pitch, blocks = t->pitch / 64;
  const uint64_t within = y % 8 / 2 * 128 + x % 64 / 16 * 32 + y % 2 * 16 + x % 16;
  return address - inside + (y / 8 * blocks + x / 64) * 512 + within;
}
