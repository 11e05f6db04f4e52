/* emu_exec_texture.c -- texture reads and queries. src: PTX ISA 9.0, 9.7.9. */
#include "emu_access.h"
#include "emu_exec.h"
#include "emu_finding.h"
#include "emu_modes.h"
#include "emu_object_check.h"
#include "emu_sample.h"

enum { DIMS = 3, CHANNELS = 4 };

typedef struct lookup { /* of the lanes that read the same texture */
  const emu_object *o;
  uint32_t mask;
  int dims;
  bool filtered;
  emu_tap tap[DIMS][32];
  uint64_t layer[32];
  int weight[1 << DIMS][32]; /* of filtered reads, in 256ths; 0: the texel is not needed */
  uint32_t out[CHANNELS][32];
} lookup;

static uint32_t coordinate(const emu_warp *w, const emu_insn *in, int i, int lane) {
  return (uint32_t)emu_get(emu_src(w, in->more->ops[CHANNELS + i]), lane, 4);
}

static emu_tap tap_of(const emu_insn *in, const emu_object *o, int k, uint32_t bits) {
  const float x = emu_f32(bits);
  return !in->more->mode[2]               ? emu_sample_index(o, k, (int32_t)bits)
         : o->linear || in->more->mode[3] ? emu_sample_pair(o, k, x)
                                          : emu_sample_point(o, k, x);
}

static void find_taps(const emu_warp *w, const emu_insn *in, lookup *x) {
  const emu_texels *t = &x->o->texels;
  const bool layered = t->layers > 0;
  x->dims = t->rank;
  x->filtered = in->more->mode[2] && x->o->linear;
  for (uint32_t left = x->mask; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    const uint64_t layer = layered ? coordinate(w, in, 0, i) : 0;
    x->layer[i] = layered && layer >= t->layers ? t->layers - 1 : layer;
    for (int k = 0; k < x->dims; k++) {
      x->tap[k][i] = tap_of(in, x->o, k, coordinate(w, in, layered + k, i));
    }
  }
}

static int rounded(int product) {
  return (product + 128) >> 8;
}

/* The weights of a lane's texels at the corners of its footprint, bit k of which says which of the
 * two texels of dimension k. Those along x and z are rounded together; each is then divided along y, and
 * what one texel is rounded up by the other lacks. Two texels that are one have no fraction between
 * them. src: sums of 6,900 reads on an H200, by test_texture. */
static void weigh(lookup *x, int lane) {
  int f[DIMS] = {0};
  for (int k = 0; k < x->dims; k++) {
    const emu_tap *t = &x->tap[k][lane];
    f[k] = t->at[0] == t->at[1] ? 0 : t->weight;
  }
  const int both = rounded(f[0] * f[2]);
  const int column[] = {256 - f[0] - f[2] + both, f[0] - both, f[2] - both, both};
  for (int c = 0; c < 4; c++) {
    const int corner = (c & 1) | (c & 2) << 1;
    const int high =
        c & 1 ? rounded(column[c] * f[1]) : column[c] - rounded(column[c] * (256 - f[1]));
    x->weight[corner][lane] = column[c] - high;
    x->weight[corner | 2][lane] = high;
  }
}

/* Finds the texels of one corner.
 *   in   *lanes  those that need it
 *   out  *lanes  those whose texel is not outside; host[] of these */
static int fetch(emu_warp *w, const emu_insn *in, const lookup *x, int corner, uint32_t *lanes,
                 uint8_t *host[32]) {
  const emu_texels *t = &x->o->texels;
  uint64_t address[32] = {0};
  for (uint32_t left = *lanes; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    int64_t at[DIMS] = {0};
    bool outside = false;
    for (int k = 0; k < x->dims; k++) {
      at[k] = x->tap[k][i].at[corner >> k & 1];
      outside |= at[k] < 0;
    }
    *lanes &= outside ? ~(1u << i) : ~0u;
    address[i] = emu_texel_address(t, (uint64_t)at[0], (uint64_t)at[1],
                                   t->layers ? x->layer[i] : (uint64_t)at[2]);
  }
  if (!*lanes) {
    return RUN_ON;
  }
  int rc = emu_resolve(w, in, *lanes, SPACE_global, address, t->nbytes, ACCESS_READ, host);
  rc = rc ? rc : emu_object_steady(w, in, *lanes, address, t->nbytes);
  emu_object_count(w, *lanes, t, address, t->nbytes, ACCESS_READ);
  return rc;
}

static int read_nearest(emu_warp *w, const emu_insn *in, lookup *x) {
  uint8_t *host[32];
  uint32_t lanes = x->mask;
  const int rc = fetch(w, in, x, 0, &lanes, host);
  for (uint32_t left = rc ? 0 : lanes; left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    for (int c = 0; c < CHANNELS; c++) {
      x->out[c][i] = emu_texel_bits(x->o, host[i], c);
    }
  }
  return rc;
}

/* A card interpolates one dimension as the row 0 of two, whose centre is at 1/2: a border in the
 * second dimension has half of the weight. src: test_texture on an H100; of layers it is assumed. */
static double share_of_rows(const lookup *x) {
  return x->dims == 1 && x->o->edge[1] == EDGE_border ? 0.5 : 1;
}

/* The sum has at most 24 more bits than a texel: it is rounded once. */
static int read_filtered(emu_warp *w, const emu_insn *in, lookup *x) {
  double sum[CHANNELS][32] = {{0}};
  for (uint32_t left = x->mask; left; left &= left - 1) {
    weigh(x, __builtin_ctz(left));
  }
  for (int corner = 0; corner < 1 << x->dims; corner++) {
    uint8_t *host[32];
    uint32_t lanes = 0;
    for (uint32_t left = x->mask; left; left &= left - 1) {
      const int i = __builtin_ctz(left);
      lanes |= x->weight[corner][i] ? 1u << i : 0;
    }
    const int rc = fetch(w, in, x, corner, &lanes, host);
    for (uint32_t left = rc ? 0 : lanes; left; left &= left - 1) {
      const int i = __builtin_ctz(left);
      const double weight = x->weight[corner][i] / 256.0;
      for (int c = 0; c < CHANNELS; c++) {
        sum[c][i] += weight * (double)emu_f32(emu_texel_bits(x->o, host[i], c));
      }
    }
    if (rc) {
      return rc;
    }
  }
  for (int c = 0; c < CHANNELS; c++) {
    for (int i = 0; i < EMU_LANES_N; i++) {
      x->out[c][i] = emu_f32_bits((float)(sum[c][i] * share_of_rows(x)));
    }
  }
  return RUN_ON;
}

/* One channel of the four texels around a point, counter-clockwise from the lower left. */
static int read_gathered(emu_warp *w, const emu_insn *in, lookup *x) {
  static const int corners[] = {2, 3, 1, 0};
  int rc = RUN_ON;
  for (int c = 0; c < CHANNELS && !rc; c++) {
    uint8_t *host[32];
    uint32_t lanes = x->mask;
    rc = fetch(w, in, x, corners[c], &lanes, host);
    for (uint32_t left = rc ? 0 : lanes; left; left &= left - 1) {
      const int i = __builtin_ctz(left);
      x->out[c][i] = emu_texel_bits(x->o, host[i], in->more->mode[3] - 1);
    }
  }
  return rc;
}

static int check_use(emu_warp *w, const emu_insn *in, const lookup *x) {
  const emu_object *o = x->o;
  const bool floats = o->normalized || dtype_is_float(o->texels.type);
  const int lane = __builtin_ctz(x->mask);
  if (!o->texels.array && o->texels.rank == 1 && in->more->mode[2]) {
    return emu_finding(w, in, lane, EMU_TEXTURE,
                       "reads linear memory at a coordinate: only tex1Dfetch reads it");
  }
  if (in->more->mode[3] && o->texels.array && !o->texels.gather) {
    return emu_finding(w, in, lane, EMU_TEXTURE,
                       "gathers from an array that was not made for it (cudaArrayTextureGather)");
  }
  if (floats != (emu_type_kind((emu_type)in->type) == 'f')) {
    emu_note(w, in, lane, "reads texels of %s as %s", floats ? "numbers" : "integers",
             floats ? "integers" : "numbers");
  }
  return emu_object_fits(w, in, x->mask, o);
}

/* Clocks of the four texture units, which each take a texel of up to 4 bytes a clock, filtered in
 * two dimensions. Assumed, not measured: larger texels and three dimensions take proportionally
 * longer. In quarters, as in emu_count.c; *before is the count without this instruction. */
static void count_units(emu_warp *w, const lookup *x, uint64_t before) {
  enum { QUARTERS = 32 };
  uint64_t *extra = &w->extra[w->pc - 1];
  const int nbytes = x->o->texels.nbytes, footprint = x->filtered && x->dims == 3 ? 2 : 1;
  const uint64_t least = (uint64_t)(QUARTERS * footprint * (nbytes > 4 ? nbytes / 4 : 1));
  const uint64_t lines = (*extra - before) >> (x->filtered ? x->dims : 0);
  if (w->block->counting) {
    *extra = before + (lines > least ? lines : least);
    w->block->worker->traffic.texture_requests++;
  }
}

static int look_up(emu_warp *w, const emu_insn *in, lookup *x) {
  const uint64_t before = w->extra[w->pc - 1];
  int rc = check_use(w, in, x);
  if (rc) {
    return rc;
  }
  find_taps(w, in, x);
  rc = in->more->mode[3] ? read_gathered(w, in, x)
       : x->filtered     ? read_filtered(w, in, x)
                         : read_nearest(w, in, x);
  count_units(w, x, before);
  for (int c = 0; c < CHANNELS && !rc; c++) {
    for (uint32_t left = in->more->ops[c] == EMU_NONE ? 0 : x->mask; left; left &= left - 1) {
      const int i = __builtin_ctz(left);
      const uint32_t v = x->out[c][i];
      emu_put(emu_reg(w, in->more->ops[c]), i, in->more->bytes[c],
              in->type == T_f16 ? emu_f16_nearest(emu_f32(v)) : v);
    }
  }
  return rc;
}

/* Results may overwrite coordinates only after all lanes are read: lanes with another texture keep
 * theirs, since registers hold a value for each lane. */
int exec_tex(emu_warp *w, const emu_insn *in, uint32_t mask) {
  int rc = RUN_ON;
  while (mask && !rc) {
    lookup x = {.mask = mask};
    rc = emu_object_of(w, in, &x.mask, OBJECT_texture, &x.o);
    rc = rc ? rc : look_up(w, in, &x);
    mask &= ~x.mask;
  }
  return rc;
}

/* ---- queries ---- */

/* src: OpenCL's numbers of channel types and orders, which PTX uses */
static uint32_t type_number(const emu_object *o) {
  static const uint16_t plain[DTYPE_COUNT] = {
      [DTYPE_i8] = 0x10d7,  [DTYPE_i16] = 0x10d8, [DTYPE_i32] = 0x10d9, [DTYPE_u8] = 0x10da,
      [DTYPE_u16] = 0x10db, [DTYPE_u32] = 0x10dc, [DTYPE_f16] = 0x10dd, [DTYPE_f32] = 0x10de};
  static const uint16_t normalized[DTYPE_COUNT] = {
      [DTYPE_i8] = 0x10d0, [DTYPE_i16] = 0x10d1, [DTYPE_u8] = 0x10d2, [DTYPE_u16] = 0x10d3};
  const uint16_t n = o->normalized ? normalized[o->texels.type] : 0;
  return n ? n : plain[o->texels.type];
}

static uint32_t answer(const emu_object *o, int query) {
  const emu_texels *t = &o->texels;
  switch (query) {
  case QUERY_width: return (uint32_t)t->dims[0];
  case QUERY_height: return t->rank > 1 ? (uint32_t)t->dims[1] : 0;
  case QUERY_depth: return t->rank > 2 ? (uint32_t)t->dims[2] : 0;
  case QUERY_array_size: return (uint32_t)t->layers;
  case QUERY_type: return type_number(o);
  case QUERY_order: return t->channels == 1 ? 0x10b0 : t->channels == 2 ? 0x10b2 : 0x10b5;
  case QUERY_normalized: return o->normalized_coords;
  default: return 1;
  }
}

int exec_txq(emu_warp *w, const emu_insn *in, uint32_t mask) {
  int rc = RUN_ON;
  while (mask && !rc) {
    const emu_object *o;
    uint32_t same = mask;
    rc = emu_object_of(w, in, &same, (emu_object_kind)in->more->mode[0], &o);
    for (uint32_t left = rc ? 0 : same; left; left &= left - 1) {
      emu_put(emu_reg(w, in->o[0]), __builtin_ctz(left), 4, answer(o, in->more->mode[1]));
    }
    mask &= ~same;
  }
  return rc;
}
