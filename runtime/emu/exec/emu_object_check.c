/* emu_object_check.c -- see emu_object_check.h. */
#include "emu_object_check.h"

#include "emu_count.h"
#include "emu_finding.h"
#include "emu_modes.h"

static const char *name_of(emu_object_kind kind) {
  return kind == OBJECT_texture ? "texture" : "surface";
}

int emu_object_of(emu_warp *w, const emu_insn *in, uint32_t *mask, emu_object_kind kind,
                  const emu_object **o) {
  const void *handles = emu_src(w, in->o[1]);
  const int lane = __builtin_ctz(*mask);
  const uint64_t handle = emu_get(handles, lane, 8);
  bool dead;
  *o = emu_objects_find(w->launch->objects, handle, &dead);
  for (uint32_t left = *mask; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    *mask &= emu_get(handles, i, 8) == handle ? ~0u : ~(1u << i);
  }
  if (*o && (*o)->kind == kind) {
    return RUN_ON;
  }
  return emu_finding(w, in, lane, EMU_TEXTURE, "takes 0x%llx for a %s object: it %s",
                     (unsigned long long)handle, name_of(kind),
                     dead ? "was destroyed"
                     : *o ? kind == OBJECT_texture ? "is a surface" : "is a texture"
                          : "is none");
}

/* "2-D", "layered 1-D" */
static const char *shape_name(int rank, bool layered) {
  static const char *const names[2][4] = {{"", "1-D", "2-D", "3-D"},
                                          {"", "layered 1-D", "layered 2-D", ""}};
  return names[layered][rank];
}

int emu_object_fits(emu_warp *w, const emu_insn *in, uint32_t mask, const emu_object *o) {
  const int geometry = in->more->mode[1];
  const bool layered = geometry >= GEOMETRY_a1d;
  const int rank = layered ? geometry - GEOMETRY_a1d + 1 : geometry - GEOMETRY_1d + 1;
  if (rank == o->texels.rank && layered == (o->texels.layers > 0)) {
    return RUN_ON;
  }
  return emu_finding(w, in, __builtin_ctz(mask), EMU_TEXTURE, "accesses a %s %s as a %s one",
                     shape_name(o->texels.rank, o->texels.layers > 0), name_of(o->kind),
                     shape_name(rank, layered));
}

EMU_GUEST int emu_object_steady(emu_warp *w, const emu_insn *in, uint32_t mask,
                                const uint64_t address[32], int n) {
  emu_heap *h = w->launch->heap;
  for (uint32_t left = w->launch->checks ? mask : 0; left; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    const uint8_t *state = h->state + (address[lane] - EMU_GLOBAL_BASE);
    uint8_t all = BYTE_STEADY;
    for (int i = 0; i < n; i++) {
      all &= state[i];
    }
    if (!all) {
      str text = {0};
      emu_heap_describe(h, address[lane], &text);
      const int rc = emu_finding(w, in, lane, EMU_STALE,
                                 "reads %d bytes that this launch has written, which the texture "
                                 "cache may not see: %s",
                                 n, str_text(&text));
      str_clear(&text);
      return rc;
    }
  }
  return RUN_ON;
}

void emu_object_count(emu_warp *w, uint32_t mask, const emu_texels *t, const uint64_t address[32],
                      int n, emu_access access) {
  uint64_t counted[32] = {0};
  if (!w->block->counting || !mask) {
    return;
  }
  for (uint32_t left = mask; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    counted[i] = emu_texel_counted(t, address[i]);
  }
  w->block->worker->traffic.texels += (uint64_t)__builtin_popcount(mask);
  emu_count_global(w, mask, counted, n, access);
}
