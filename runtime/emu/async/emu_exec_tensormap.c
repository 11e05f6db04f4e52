/* emu_exec_tensormap.c -- changes of tensor maps in memory, of the emulated device's own format.
 * src: PTX ISA 9.0, 9.7.9.27 (tensormap.replace), 9.7.13 (tensormap.cp_fenceproxy). */
#include <string.h>

#include "emu_access.h"
#include "emu_async.h"
#include "emu_exec.h"
#include "emu_finding.h"
#include "emu_fragment.h"
#include "emu_modes.h"

enum { MAP_NBYTES = 128, PART = 64 }; /* maps are aligned to 64 bytes */

typedef struct place {
  emu_space space;
  int lane;
  uint64_t address;
} place;

static place place_of(const emu_warp *w, const emu_insn *in, int slot, int lane, emu_space space) {
  const int bytes = in->more->widths[slot - 1];
  const uint64_t base = emu_get(emu_src(w, in->o[slot]), lane, bytes);
  const uint64_t at = base + (uint64_t)in->more->offsets[slot - 1];
  return (place){space, lane, bytes == 4 ? (uint32_t)at : at};
}

/* reads or writes a whole map, with the checks of ordinary accesses */
static int move(emu_warp *w, const emu_insn *in, const place *p, emu_access access, uint8_t *map) {
  int rc = RUN_ON;
  for (int part = 0; part < MAP_NBYTES && !rc; part += PART) {
    uint64_t address[EMU_LANES_N] = {0};
    uint8_t *host[EMU_LANES_N], values[EMU_LANES_N * PART];
    const uint32_t lane = 1u << p->lane;
    address[p->lane] = p->address + (uint64_t)part;
    memcpy(values + p->lane * PART, map + part, PART);
    rc = emu_resolve(w, in, lane, p->space, address, PART, access, host);
    rc = rc ? rc : emu_account(w, in, lane, p->space, address, PART, access, values);
    if (!rc && access == ACCESS_READ) {
      memcpy(map + part, host[p->lane], PART);
    } else if (!rc) {
      memcpy(host[p->lane], map + part, PART);
    }
  }
  return rc;
}

static const emu_type types[] = {T_u8,  T_u16, T_u32, T_s32,  T_u64, T_s64, T_f16,
                                 T_f32, T_f32, T_f64, T_bf16, T_f32, T_f32};

/* false: what the emulated device's maps cannot express */
static bool replace(emu_tensor_map *m, int field, int d, uint64_t v) {
  switch (field) {
  case MAP_address: m->address = v; return true;
  case MAP_rank: m->rank = (uint8_t)(v < 5 ? v + 1 : 0); return true;
  case MAP_box: m->box[d] = (uint16_t)(v > UINT16_MAX ? 0 : v); return true;
  case MAP_dim: m->dims[d] = v; return true;
  case MAP_stride: m->strides[d & 3] = v; return d < 4;
  case MAP_element_stride: return v == 1;
  case MAP_type:
    m->type = (uint8_t)(v < sizeof types / sizeof *types ? types[v] : T_none);
    m->element_nbytes = (uint8_t)emu_type_bytes((emu_type)m->type);
    return m->type != T_none;
  case MAP_swizzle: m->swizzle = (uint8_t)(v < 4 ? 1 << v : 0); return v < 4;
  case MAP_fill: m->nan = v == 1; return v < 2;
  default: return v == 0; /* no interleaving, swizzling by 16 bytes */
  }
}

static int replace_in(emu_warp *w, const emu_insn *in, int lane) {
  const int *mode = in->more->mode;
  const place p = place_of(w, in, 1, lane, in->more->space);
  const uint64_t v = emu_get(emu_src(w, in->o[2]), lane, mode[2]);
  uint8_t bytes[MAP_NBYTES] = {0};
  emu_tensor_map m;
  TRY(move(w, in, &p, ACCESS_READ, bytes));
  memcpy(&m, bytes, sizeof m);
  if (m.magic != EMU_TENSOR_MAGIC) {
    return emu_finding(w, in, lane, EMU_CALL, "changes a tensor map at 0x%llx that is invalid",
                       (unsigned long long)p.address);
  }
  if (!replace(&m, mode[0], mode[1], v)) {
    return emu_finding(w, in, lane, EMU_CALL,
                       "sets a field of a tensor map to %llu, which is not emulated",
                       (unsigned long long)v);
  }
  memcpy(bytes, &m, sizeof m);
  return move(w, in, &p, ACCESS_WRITE, bytes);
}

int exec_tensormap(emu_warp *w, const emu_insn *in, uint32_t mask) {
  int rc = RUN_ON;
  if (in->more->mode[0] == MAP_copy) {
    uint8_t bytes[MAP_NBYTES] = {0};
    TRY(emu_warp_sync(w, in, mask, ~0u));
    const int lane = __builtin_ctz(mask);
    const place to = place_of(w, in, 1, lane, SPACE_global),
                from = place_of(w, in, 2, lane, SPACE_shared);
    TRY(move(w, in, &from, ACCESS_READ, bytes));
    return move(w, in, &to, ACCESS_WRITE, bytes);
  }
  for (int lane = 0; lane < EMU_LANES_N && !rc; lane++) {
    rc = mask >> lane & 1 ? replace_in(w, in, lane) : RUN_ON;
  }
  return rc;
}
