/* emu_exec_surface.c -- surface reads, writes and reductions. src: PTX ISA 9.0, 9.7.10.
 *
 * The first coordinate is in bytes where the access is unformatted (.b), else in texels (.p). */
#include <math.h>
#include <string.h>

#include "emu_access.h"
#include "emu_atomic.h"
#include "emu_check_memory.h"
#include "emu_exec.h"
#include "emu_finding.h"
#include "emu_modes.h"
#include "emu_object_check.h"

enum { MOST = 16, VALUES = 4 }; /* bytes of an access; operands before the coordinates */

typedef struct access { /* of the lanes that use the same surface */
  const emu_object *o;
  uint32_t lanes, mask; /* all, and those inside the surface */
  int nbytes;
  uint64_t address[32];
  uint8_t *host[32];
} access;

typedef struct place { /* byte or texel, row, slice or layer */
  int64_t at[3];
} place;

static int64_t coordinate(const emu_warp *w, const emu_insn *in, int i, int lane) {
  return (int32_t)emu_get(emu_src(w, in->more->ops[VALUES + i]), lane, 4);
}

static place place_of(const emu_warp *w, const emu_insn *in, const access *x, int lane) {
  const emu_texels *t = &x->o->texels;
  const int layered = t->layers > 0;
  place p = {{0}};
  for (int k = 0; k < t->rank; k++) {
    p.at[k] = coordinate(w, in, layered + k, lane);
  }
  p.at[2] = layered ? coordinate(w, in, 0, lane) : p.at[2];
  p.at[0] *= in->more->mode[5] ? t->nbytes : 1;
  return p;
}

static place last_place(const access *x) {
  const emu_texels *t = &x->o->texels;
  return (place){{(int64_t)t->dims[0] * t->nbytes - x->nbytes, (int64_t)t->dims[1] - 1,
                  (int64_t)(t->layers ? t->layers : t->dims[2]) - 1}};
}

static place clamped(const access *x, place p) {
  const place last = last_place(x);
  for (int k = 0; k < 3; k++) {
    p.at[k] = p.at[k] > last.at[k] ? last.at[k] : p.at[k];
    p.at[k] = p.at[k] < 0 ? 0 : p.at[k];
  }
  return p;
}

static int outside(emu_warp *w, const emu_insn *in, int lane, const access *x, const place *p) {
  const place last = last_place(x);
  return emu_finding(w, in, lane, EMU_SURFACE_BOUNDS,
                     "accesses %d bytes at byte %lld of row %lld of slice %lld; the surface ends "
                     "with byte %lld of row %lld of slice %lld",
                     x->nbytes, (long long)p->at[0], (long long)p->at[1], (long long)p->at[2],
                     (long long)last.at[0] + x->nbytes - 1, (long long)last.at[1],
                     (long long)last.at[2]);
}

static int find_lane(emu_warp *w, const emu_insn *in, access *x, int i) {
  const place p = place_of(w, in, x, i), q = clamped(x, p);
  const int boundary = in->more->mode[4];
  const bool inside = !memcmp(&p, &q, sizeof p);
  if (!inside && (boundary == BOUNDARY_trap || last_place(x).at[0] < 0)) {
    return outside(w, in, i, x, &p);
  }
  if (p.at[0] % x->nbytes) {
    return emu_finding(w, in, i, EMU_MISALIGNED,
                       "accesses %d bytes at byte %lld of a surface's row: x counts bytes",
                       x->nbytes, (long long)p.at[0]);
  }
  x->mask &= inside || boundary == BOUNDARY_clamp ? ~0u : ~(1u << i);
  x->address[i] =
      emu_texel_address(&x->o->texels, 0, (uint64_t)q.at[1], (uint64_t)q.at[2]) + (uint64_t)q.at[0];
  return RUN_ON;
}

/* The surface of the first lane of `mask`, and where the lanes that use it access it. */
static int find(emu_warp *w, const emu_insn *in, uint32_t mask, emu_access how, access *x) {
  x->lanes = mask;
  int rc = emu_object_of(w, in, &x->lanes, OBJECT_surface, &x->o);
  rc = rc ? rc : emu_object_fits(w, in, x->lanes, x->o);
  if (rc) {
    return rc;
  }
  x->mask = x->lanes;
  x->nbytes = in->more->mode[5] ? x->o->texels.nbytes : in->more->mode[0] * in->more->mode[2];
  for (uint32_t left = x->lanes; left && !rc; left &= left - 1) {
    rc = find_lane(w, in, x, __builtin_ctz(left));
  }
  if (!rc && x->mask) {
    rc = emu_resolve(w, in, x->mask, SPACE_global, x->address, x->nbytes, how, x->host);
    emu_object_count(w, x->mask, &x->o->texels, x->address, x->nbytes, how);
  }
  w->block->worker->traffic.texture_requests += w->block->counting;
  return rc;
}

/* ---- reads ---- */

EMU_GUEST static void load(emu_warp *w, const emu_insn *in, const access *x) {
  const emu_more *more = in->more;
  const int size = more->mode[0];
  for (uint32_t left = x->lanes; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    for (int c = 0; c < more->mode[2]; c++) {
      uint64_t v = 0;
      if (x->mask >> i & 1) {
        memcpy(&v, x->host[i] + c * size, (size_t)size);
      }
      if (more->ops[c] != EMU_NONE) {
        emu_put(emu_reg(w, more->ops[c]), i, more->bytes[c], v);
      }
    }
  }
}

int exec_suld(emu_warp *w, const emu_insn *in, uint32_t mask) {
  int rc = RUN_ON;
  while (mask && !rc) {
    access x;
    rc = find(w, in, mask, ACCESS_READ, &x);
    rc = rc ? rc : emu_object_steady(w, in, x.mask, x.address, x.nbytes);
    if (!rc) {
      load(w, in, &x);
    }
    mask &= ~x.lanes;
  }
  return rc;
}

/* ---- writes ---- */

/* One 32-bit value as a channel of this type, clamped to its range. */
static uint32_t channel_of(dtype t, uint32_t bits) {
  const int n = (int)dtype_nbytes(t);
  if (t == DTYPE_f16) {
    return emu_f16_nearest(emu_f32(bits));
  }
  if (n == 4) {
    return bits;
  }
  if (!dtype_is_signed(t)) {
    const uint32_t most = (1u << 8 * n) - 1;
    return bits > most ? most : bits;
  }
  const int32_t most = (1 << (8 * n - 1)) - 1, v = (int32_t)bits;
  return (uint32_t)(v > most ? most : v < -most - 1 ? -most - 1 : v);
}

/* x.nbytes for each lane; channels that a formatted store does not name become 0 */
static void gather(const emu_warp *w, const emu_insn *in, const access *x, uint8_t *values) {
  const emu_more *more = in->more;
  const emu_texels *t = &x->o->texels;
  const int n = more->mode[5] ? t->channels : more->mode[2],
            size = more->mode[5] ? (int)dtype_nbytes(t->type) : more->mode[0];
  for (int i = 0; i < EMU_LANES_N; i++) {
    for (int c = 0; c < n; c++) {
      uint64_t v = c < more->mode[2] ? emu_get(emu_src(w, more->ops[c]), i, more->bytes[c]) : 0;
      v = more->mode[5] ? channel_of(t->type, (uint32_t)v) : v;
      memcpy(values + i * x->nbytes + c * size, &v, (size_t)size);
    }
  }
}

EMU_GUEST static void store(const access *x, const uint8_t *values) {
  for (uint32_t left = x->mask; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    memcpy(x->host[i], values + i * x->nbytes, (size_t)x->nbytes);
  }
}

int exec_sust(emu_warp *w, const emu_insn *in, uint32_t mask) {
  int rc = RUN_ON;
  while (mask && !rc) {
    uint8_t values[32 * MOST];
    access x;
    rc = find(w, in, mask, ACCESS_WRITE, &x);
    if (!rc) {
      gather(w, in, &x, values);
      rc = w->launch->checks && !(in->flags & INSN_STRONG)
               ? emu_check_race(w, in, x.mask, x.address, x.nbytes, values)
               : RUN_ON;
    }
    if (!rc) {
      store(&x, values);
    }
    mask &= ~x.lanes;
  }
  return rc;
}

/* ---- reductions ---- */

static int reduce(emu_warp *w, const emu_insn *in, const access *x) {
  const dtype t = x->o->texels.type;
  emu_type as = (emu_type)in->type;
  if (in->more->mode[5]) { /* formatted: the surface's type */
    as = t == DTYPE_i32 ? T_s32 : T_u32;
    if (t != DTYPE_i32 && t != DTYPE_u32) {
      return emu_finding(w, in, __builtin_ctz(x->lanes), EMU_TEXTURE,
                         "reduces a surface of %s by sured.p, which needs i32 or u32",
                         dtype_name(t));
    }
  }
  w->block->worker->traffic.atomics += (uint64_t)__builtin_popcount(x->mask);
  for (uint32_t left = x->mask; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    const uint64_t value = emu_get(emu_src(w, in->more->ops[0]), i, in->more->bytes[0]);
    emu_atomic_update(as, in->more->mode[3], x->host[i], value, 0);
  }
  return RUN_ON;
}

int exec_sured(emu_warp *w, const emu_insn *in, uint32_t mask) {
  int rc = RUN_ON;
  while (mask && !rc) {
    access x;
    rc = find(w, in, mask, ACCESS_ATOMIC, &x);
    rc = rc ? rc : reduce(w, in, &x);
    mask &= ~x.lanes;
  }
  return rc;
}
