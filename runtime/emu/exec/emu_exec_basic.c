/* emu_exec_basic.c -- arithmetic, comparisons, conversions and moves. */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "emu_cvt.h"
#include "emu_exec.h"
#include "emu_fragment.h"
#include "emu_modes.h"
#include "emu_sreg.h"

int exec_alu(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint64_t d[64];
  in->fn(d, emu_src(w, in->o[1]), emu_src(w, in->o[2]), emu_src(w, in->o[3]), emu_src(w, in->o[4]));
  emu_store(emu_reg(w, in->o[0]), d, in->dbytes, mask);
  return RUN_ON;
}

static void flush_f32(uint32_t *to, const uint32_t *from) {
  for (int i = 0; i < EMU_LANES_N; i++) {
    to[i] = from[i] & 0x7f800000 ? from[i] : from[i] & 0x80000000;
  }
}

static void flush_f16(uint16_t *to, const uint16_t *from, int n) {
  for (int i = 0; i < n; i++) {
    to[i] = from[i] & 0x7c00 ? from[i] : from[i] & 0x8000;
  }
}

/* subnormals of this type become zeros of their sign; `to` may be `from` */
static void flush(emu_type t, void *to, const void *from) {
  if (t == T_f32) {
    flush_f32(to, from);
  } else {
    flush_f16(to, from, t == T_f16 ? EMU_LANES_N : 2 * EMU_LANES_N);
  }
}

/* Applies ftz and saturation around an operation that has neither. */
int exec_wrapped(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint32_t flushed[3][EMU_LANES_N];
  uint64_t d[64];
  const void *s[5];
  for (int i = 1; i < 5; i++) {
    s[i] = emu_src(w, in->o[i]);
    if ((in->flags & INSN_FTZ) && i < 4 && in->o[i] != EMU_NONE) {
      flush((emu_type)in->type, flushed[i - 1], s[i]);
      s[i] = flushed[i - 1];
    }
  }
  in->fn(d, s[1], s[2], s[3], s[4]);
  if (in->flags & INSN_FTZ) {
    flush((emu_type)in->type, d, d);
  }
  if (in->flags & INSN_SAT) {
    in->sat(d, d, NULL, NULL, NULL);
  }
  emu_store(emu_reg(w, in->o[0]), d, in->dbytes, mask);
  return RUN_ON;
}

static uint32_t combine(int how, uint32_t a, uint32_t b) {
  return how == BOOL_and ? a & b : how == BOOL_or ? a | b : how == BOOL_xor ? a ^ b : a;
}

static uint32_t compare(emu_warp *w, const emu_insn *in) {
  uint32_t flushed[2][EMU_LANES_N], truth;
  const void *a = emu_src(w, in->o[2]), *b = emu_src(w, in->o[3]);
  if (in->flags & INSN_FTZ) {
    flush(in->more->from, flushed[0], a);
    flush(in->more->from, flushed[1], b);
    a = flushed[0];
    b = flushed[1];
  }
  in->fn(&truth, a, b, NULL, NULL);
  return truth;
}

static uint32_t compare_half(emu_warp *w, const emu_insn *in, int half) {
  uint16_t a[EMU_LANES_N], b[EMU_LANES_N];
  const uint32_t *as = emu_src(w, in->o[2]), *bs = emu_src(w, in->o[3]);
  uint32_t truth;
  for (int i = 0; i < EMU_LANES_N; i++) {
    a[i] = (uint16_t)(as[i] >> (16 * half));
    b[i] = (uint16_t)(bs[i] >> (16 * half));
  }
  if (in->flags & INSN_FTZ) {
    flush_f16(a, a, EMU_LANES_N);
    flush_f16(b, b, EMU_LANES_N);
  }
  in->fn(&truth, a, b, NULL, NULL);
  return truth;
}

/* A pair gives one predicate for each half; other operands, the negation as well. */
int exec_setp(emu_warp *w, const emu_insn *in, uint32_t mask) {
  bool two = emu_type_kind(in->more->from) == 'v';
  uint32_t truth = two ? compare_half(w, in, 0) : compare(w, in);
  uint32_t other = two ? compare_half(w, in, 1) : ~truth, how = (uint32_t)in->more->mode[0];
  uint32_t with = in->o[4] == EMU_NONE ? 0 : *(const uint32_t *)emu_src(w, in->o[4]);
  uint32_t p = combine((int)how, truth, with), q = combine((int)how, other, with);
  emu_store(emu_reg(w, in->o[0]), &p, 0, mask);
  if (in->o[1] != EMU_NONE) {
    emu_store(emu_reg(w, in->o[1]), &q, 0, mask);
  }
  return RUN_ON;
}

/* the number that represents true */
static uint64_t truth_value(emu_type t) {
  switch (t) {
  case T_f32: return 0x3f800000;
  case T_f16:
  case T_f16x2: return 0x3c00;
  case T_bf16:
  case T_bf16x2: return 0x3f80;
  default: return ~UINT64_C(0);
  }
}

int exec_set(emu_warp *w, const emu_insn *in, uint32_t mask) {
  bool two = emu_type_kind(in->more->from) == 'v';
  uint32_t with = in->o[4] == EMU_NONE ? 0 : *(const uint32_t *)emu_src(w, in->o[4]);
  uint32_t low = two ? compare_half(w, in, 0) : compare(w, in),
           high = two ? compare_half(w, in, 1) : 0;
  uint64_t yes = truth_value((emu_type)in->type), d[64];
  low = combine(in->more->mode[0], low, with);
  high = combine(in->more->mode[0], high, with);
  for (int i = 0; i < EMU_LANES_N; i++) {
    uint64_t v = low >> i & 1 ? yes : 0;
    if (two) {
      v = (v & 0xffff) | (high >> i & 1 ? yes & 0xffff : 0) << 16;
    }
    emu_put(d, i, in->dbytes, v);
  }
  emu_store(emu_reg(w, in->o[0]), d, in->dbytes, mask);
  return RUN_ON;
}

int exec_plogic(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint32_t a = *(const uint32_t *)emu_src(w, in->o[1]);
  uint32_t b = in->imm == PLOGIC_not ? 0 : *(const uint32_t *)emu_src(w, in->o[2]);
  uint32_t d = in->imm == PLOGIC_not   ? ~a
               : in->imm == PLOGIC_and ? a & b
               : in->imm == PLOGIC_or  ? a | b
                                       : a ^ b;
  emu_store(emu_reg(w, in->o[0]), &d, 0, mask);
  return RUN_ON;
}

int exec_pmov(emu_warp *w, const emu_insn *in, uint32_t mask) {
  emu_store(emu_reg(w, in->o[0]), emu_src(w, in->o[1]), 0, mask);
  return RUN_ON;
}

/* ---- the carry flag: add.cc, addc, sub.cc, subc, mad.cc, madc ---- */

typedef unsigned __int128 wide;

static uint64_t product(uint64_t a, uint64_t b, int bits, int part, bool is_signed) {
  if (bits == 32) {
    uint64_t all = is_signed ? (uint64_t)((int64_t)(int32_t)a * (int32_t)b)
                             : (uint64_t)(uint32_t)a * (uint32_t)b;
    return part == 1 ? all >> 32 & 0xffffffff : all & 0xffffffff;
  }
  wide all = is_signed ? (wide)((__int128)(int64_t)a * (int64_t)b) : (wide)a * b;
  return part == 1 ? (uint64_t)(all >> 64) : (uint64_t)all;
}

int exec_carry(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const int *mode = in->more->mode; /* operation, carry in?, carry out?, part, signed? */
  int bytes = in->dbytes, bits = 8 * bytes;
  wide top = (wide)1 << bits;
  for (int i = 0; i < EMU_LANES_N; i++) {
    if (!(mask >> i & 1)) {
      continue;
    }
    uint64_t a = emu_get(emu_src(w, in->o[1]), i, bytes),
             b = emu_get(emu_src(w, in->o[2]), i, bytes);
    uint64_t cc = mode[1] ? w->carry >> i & 1 : 0;
    if (mode[0] == OP_mad) {
      a = product(a, b, bits, mode[3], mode[4]);
      b = emu_get(emu_src(w, in->o[3]), i, bytes);
    }
    wide sum = mode[0] == OP_sub ? (wide)a - b - cc : (wide)a + b + cc;
    if (mode[2]) {
      w->carry = (w->carry & ~(1u << i)) | (sum & top ? 1u << i : 0);
    }
    emu_put(emu_reg(w, in->o[0]), i, bytes, (uint64_t)sum);
  }
  return RUN_ON;
}

int exec_cvt(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint8_t d[32 * 16];
  const uint8_t *b = in->o[2] == EMU_NONE ? NULL : emu_src(w, in->o[2]);
  emu_cvt_lanes(in, d, emu_src(w, in->o[1]), b);
  emu_store(emu_reg(w, in->o[0]), d, in->dbytes, mask);
  return RUN_ON;
}

/* ---- special registers ---- */

static uint64_t nanoseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t sreg_of_lane(const emu_warp *w, emu_sreg r, int lane) {
  uint32_t below = (1u << lane) - 1, self = 1u << lane;
  switch (r) {
  case SREG_tid_x: return w->tid[0][lane];
  case SREG_tid_y: return w->tid[1][lane];
  case SREG_tid_z: return w->tid[2][lane];
  case SREG_laneid: return (uint64_t)lane;
  case SREG_lanemask_eq: return self;
  case SREG_lanemask_lt: return below;
  case SREG_lanemask_le: return below | self;
  case SREG_lanemask_gt: return ~(below | self);
  case SREG_lanemask_ge: return ~below;
  default: return 0;
  }
}

static uint64_t reserved_smem(const emu_launch *l) {
  return l->module->has_reserved_smem ? EMU_RESERVED_SMEM : 0;
}

static uint64_t sreg_of_warp(const emu_warp *w, emu_sreg r) {
  const emu_launch *l = w->launch;
  switch (r) {
  case SREG_ntid_x:
  case SREG_ntid_y:
  case SREG_ntid_z: return l->block[r - SREG_ntid_x];
  case SREG_ctaid_x:
  case SREG_ctaid_y:
  case SREG_ctaid_z: return w->block->ctaid[r - SREG_ctaid_x];
  case SREG_nctaid_x:
  case SREG_nctaid_y:
  case SREG_nctaid_z: return l->grid[r - SREG_nctaid_x];
  case SREG_warpid: return (uint64_t)w->index;
  case SREG_nwarpid: return (uint64_t)l->n_warps;
  case SREG_smid: return w->block->linear % (uint64_t)l->sms;
  case SREG_nsmid: return (uint64_t)l->sms;
  case SREG_clock: return (uint32_t)w->steps;
  case SREG_clock_hi: return w->steps >> 32;
  case SREG_clock64: return w->steps;
  case SREG_globaltimer: return nanoseconds();
  case SREG_globaltimer_lo: return (uint32_t)nanoseconds();
  case SREG_globaltimer_hi: return nanoseconds() >> 32;
  case SREG_dynamic_smem_size: return l->dynamic_nbytes;
  case SREG_total_smem_size: return l->smem_nbytes - reserved_smem(l);
  case SREG_aggr_smem_size: return l->smem_nbytes - reserved_smem(l) + EMU_RESERVED_SMEM;
  case SREG_reserved_end:
  case SREG_reserved_cap: return reserved_smem(l);
  case SREG_reserved_1: return EMU_RESERVED_SMEM_1;
  case SREG_is_explicit_cluster: return l->cluster_size > 1 || l->func->cluster[0] ? ~0u : 0;
  case SREG_envreg1: return l->module->grid_workspace >> 32;
  case SREG_envreg2: return (uint32_t)l->module->grid_workspace;
  case SREG_cluster_ctaid_x:
  case SREG_cluster_ctaid_y:
  case SREG_cluster_ctaid_z:
    return w->block->ctaid[r - SREG_cluster_ctaid_x] % l->cluster[r - SREG_cluster_ctaid_x];
  case SREG_cluster_nctaid_x:
  case SREG_cluster_nctaid_y:
  case SREG_cluster_nctaid_z: return l->cluster[r - SREG_cluster_nctaid_x];
  case SREG_cluster_ctarank: return (uint64_t)w->block->rank;
  case SREG_cluster_nctarank: return (uint64_t)l->cluster_size;
  case SREG_clusterid_x:
  case SREG_clusterid_y:
  case SREG_clusterid_z:
    return w->block->ctaid[r - SREG_clusterid_x] / l->cluster[r - SREG_clusterid_x];
  case SREG_nclusterid_x:
  case SREG_nclusterid_y:
  case SREG_nclusterid_z: return l->grid[r - SREG_nclusterid_x] / l->cluster[r - SREG_nclusterid_x];
  case SREG_one: return 1;
  default: return 0;
  }
}

int exec_sreg(emu_warp *w, const emu_insn *in, uint32_t mask) {
  emu_sreg r = (emu_sreg)in->imm;
  bool by_lane =
      r <= SREG_tid_z || r == SREG_laneid || (r >= SREG_lanemask_eq && r <= SREG_lanemask_gt);
  uint64_t all = by_lane ? 0 : sreg_of_warp(w, r);
  if (!in->dbytes) {
    emu_store_same(emu_reg(w, in->o[0]), (uint32_t)all, 0, mask);
    return RUN_ON;
  }
  for (int i = 0; i < EMU_LANES_N; i++) {
    if (mask >> i & 1) {
      emu_put(emu_reg(w, in->o[0]), i, in->dbytes, by_lane ? sreg_of_lane(w, r, i) : all);
    }
  }
  return RUN_ON;
}

/* ---- several registers and one ---- */

int exec_pack(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint8_t d[32 * 16];
  int part = in->more->mode[0], total = in->dbytes;
  for (int e = 0; e < in->more->n; e++) {
    const uint8_t *s = emu_src(w, in->more->ops[e]);
    for (int i = 0; i < EMU_LANES_N; i++) {
      memcpy(d + i * total + e * part, s + i * in->more->bytes[e], (size_t)part);
    }
  }
  emu_store(emu_reg(w, in->o[0]), d, total, mask);
  return RUN_ON;
}

int exec_unpack(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint8_t s[32 * 16], d[32 * 16];
  int part = in->more->mode[0], total = in->more->mode[1];
  memcpy(s, emu_src(w, in->o[0]), (size_t)total * 32); /* the source may be one of the results */
  for (int e = 0; e < in->more->n; e++) {
    int bytes = in->more->bytes[e];
    if (in->more->ops[e] == EMU_NONE) {
      continue;
    }
    memset(d, 0, sizeof d);
    for (int i = 0; i < EMU_LANES_N; i++) {
      memcpy(d + i * bytes, s + i * total + e * part, (size_t)(part < bytes ? part : bytes));
    }
    emu_store(emu_reg(w, in->more->ops[e]), d, bytes, mask);
  }
  return RUN_ON;
}

/* ---- addresses ---- */

int exec_frameaddr(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint64_t d[EMU_LANES_N];
  for (int i = 0; i < EMU_LANES_N; i++) {
    d[i] = w->frame->local + (uint64_t)in->imm;
  }
  emu_store(emu_reg(w, in->o[0]), d, 8, mask);
  return RUN_ON;
}

int exec_cvta(emu_warp *w, const emu_insn *in, uint32_t mask) {
  uint64_t d[EMU_LANES_N];
  const uint64_t *s = emu_src(w, in->o[1]);
  for (int i = 0; i < EMU_LANES_N; i++) {
    d[i] = s[i] + (uint64_t)in->imm;
  }
  emu_store(emu_reg(w, in->o[0]), d, 8, mask);
  return RUN_ON;
}

int exec_isspacep(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const uint64_t *s = emu_src(w, in->o[1]);
  uint32_t truth = 0;
  for (int i = 0; i < EMU_LANES_N; i++) {
    bool is = in->imm ? s[i] >> EMU_WINDOW_SHIFT == (uint64_t)in->imm >> EMU_WINDOW_SHIFT
                      : s[i] >= EMU_GLOBAL_BASE;
    truth |= is ? 1u << i : 0;
  }
  emu_store(emu_reg(w, in->o[0]), &truth, 0, mask);
  return RUN_ON;
}

int exec_nop(emu_warp *w, const emu_insn *in, uint32_t mask) {
  (void)mask;
  w->slice_end = in->imm ? 0 : w->slice_end;
  w->waits += in->imm != 0;
  return RUN_ON;
}
