/* emu_poison.c -- see emu_poison.h. */
#include "emu_poison.h"

#include <stdlib.h>
#include <string.h>

#include "emu_finding.h"
#include "emu_modes.h"
#include "emu_shared_name.h"

void emu_poison_start(emu_warp *w) {
  if (w->poisoned) {
    memset(w->poison.lanes, 0, w->poison.nbytes);
  }
  w->poisoned = false;
  w->poison.n = 0;
  w->poison.loading = 0;
}

void emu_poison_clear(emu_warp *w) {
  free(w->poison.lanes);
}

/* ---- marks ---- */

static const emu_func *function_of(const emu_warp *w) {
  return w->launch->module->funcs[w->kernel.func];
}

static uint32_t marks_of(const emu_warp *w, int32_t reg) {
  return reg < 0 ? 0 : w->poison.lanes[reg / 4];
}

static void mark(emu_warp *w, int32_t reg, uint32_t lanes) {
  uint32_t *at = &w->poison.lanes[reg / 4];
  w->poison.n += (lanes != 0) - (*at != 0);
  *at = lanes;
  w->poisoned = w->poison.n > 0;
}

static int reserve(emu_warp *w) {
  const size_t nbytes = function_of(w)->regs_nbytes;
  if (!w->poison.lanes) {
    w->poison.lanes = calloc(1, nbytes + 4);
    w->poison.nbytes = nbytes;
  }
  return w->poison.lanes ? RUN_ON : RUN_FAULT;
}

int emu_poison_bytes(emu_warp *w, const emu_insn *in, int lane, uint64_t address, int i, int n) {
  emu_poison *p = &w->poison;
  if (reserve(w)) {
    return emu_finding(w, in, lane, EMU_SHARED_UNINIT,
                       "reads shared memory that has not been written yet, and the host is out of "
                       "memory to find out what depends on it");
  }
  if (!p->loading) {
    memset(p->bytes, 0, sizeof p->bytes);
  }
  if (!(p->loading >> lane & 1)) {
    p->loading |= 1u << lane;
    p->by[lane] = in;
    p->address[lane] = address;
  }
  p->bytes[lane] |= (uint32_t)(((UINT64_C(1) << n) - 1) << i);
  return RUN_ON;
}

void emu_poison_loaded(emu_warp *w, const emu_insn *in) {
  const emu_more *more = in->more;
  const int size = more->mode[0];
  for (int e = 0; e < more->n; e++) {
    const uint32_t bytes = (uint32_t)(((UINT64_C(1) << size) - 1) << (e * size));
    uint32_t lanes = 0;
    for (int i = 0; i < EMU_LANES_N; i++) {
      lanes |= (w->poison.loading >> i & 1) && (w->poison.bytes[i] & bytes) ? 1u << i : 0;
    }
    if (more->ops[e] >= 0 && lanes) {
      mark(w, more->ops[e], marks_of(w, more->ops[e]) | lanes);
    }
  }
  w->poison.loading = 0;
}

void emu_poison_stored(emu_warp *w, const emu_insn *in, uint32_t mask, const uint64_t address[32]) {
  const int size = in->more->mode[0];
  for (int e = 0; e < in->more->n && w->frame == &w->kernel; e++) {
    for (uint32_t left = marks_of(w, in->more->ops[e]) & mask; left; left &= left - 1) {
      emu_shadow *s = w->block->shadow + address[__builtin_ctz(left)] + e * size;
      for (int i = 0; i < size; i++) {
        s[i].write = 0;
      }
    }
  }
}

/* ---- steps ---- */

/* kinds whose lanes compute their results from their own operands and do nothing else */
static bool is_pure(const emu_insn *in) {
  switch (in->kind) {
  case KIND_alu:
  case KIND_wrapped:
  case KIND_setp:
  case KIND_set:
  case KIND_plogic:
  case KIND_pmov:
  case KIND_cvt:
  case KIND_sreg:
  case KIND_pack:
  case KIND_unpack:
  case KIND_frameaddr:
  case KIND_cvta:
  case KIND_isspacep:
  case KIND_video: return true;
  default: return false;
  }
}

static uint32_t value_of(const emu_warp *w, int32_t predicate) {
  return *(const uint32_t *)emu_src(w, predicate);
}

/* An operand that decides the result of `and` and `or` alone hides the marks of the other. */
static uint32_t logic_marks(const emu_warp *w, const emu_insn *in) {
  const uint32_t a = marks_of(w, in->o[1]);
  if (in->imm == PLOGIC_not) {
    return a;
  }
  const uint32_t b = marks_of(w, in->o[2]), flip = in->imm == PLOGIC_or ? ~0u : 0;
  if (in->imm == PLOGIC_xor) {
    return a | b;
  }
  return (a & b) | (a & (value_of(w, in->o[2]) ^ flip)) | (b & (value_of(w, in->o[1]) ^ flip));
}

static uint32_t compare_marks(const emu_warp *w, const emu_insn *in) {
  const uint32_t truth = marks_of(w, in->o[2]) | marks_of(w, in->o[3]),
                 with = marks_of(w, in->o[4]);
  const int how = in->more->mode[0];
  if (in->o[4] == EMU_NONE || (how != BOOL_and && how != BOOL_or)) {
    return truth | with;
  }
  return with | (truth & (value_of(w, in->o[4]) ^ (how == BOOL_or ? ~0u : 0)));
}

static bool is_selection(const emu_insn *in) {
  const emu_lane_fn *fns = emu_lanes()[OP_selp];
  return in->fn == fns[T_u16] || in->fn == fns[T_u32] || in->fn == fns[T_u64];
}

static uint32_t result_marks(const emu_warp *w, const emu_insn *in, uint32_t used) {
  if (in->kind == KIND_plogic) {
    return logic_marks(w, in);
  }
  if (in->kind == KIND_setp) {
    return compare_marks(w, in);
  }
  if (in->kind == KIND_alu && is_selection(in)) {
    const uint32_t p = value_of(w, in->o[3]);
    return marks_of(w, in->o[3]) | (p & marks_of(w, in->o[1])) | (~p & marks_of(w, in->o[2]));
  }
  return used;
}

/* marks of all operands except the guard */
static uint32_t used_marks(const emu_warp *w, const emu_insn *in) {
  const emu_func *f = function_of(w);
  const size_t pc = (size_t)(in - w->code);
  uint32_t used = 0;
  for (uint32_t i = f->ref_start[pc]; i < f->ref_start[pc + 1]; i++) {
    const int32_t reg = f->reg_at[f->refs[i] >> 1];
    used |= (f->refs[i] & 1) || reg == in->guard ? 0 : marks_of(w, reg);
  }
  return used;
}

static void mark_results(emu_warp *w, const emu_insn *in, uint32_t mask, uint32_t marks) {
  const emu_func *f = function_of(w);
  const size_t pc = (size_t)(in - w->code);
  for (uint32_t i = f->ref_start[pc]; i < f->ref_start[pc + 1]; i++) {
    const int32_t reg = f->reg_at[f->refs[i] >> 1];
    if (f->refs[i] & 1) {
      mark(w, reg, (marks_of(w, reg) & ~mask) | marks);
    }
  }
}

static int depends(emu_warp *w, const emu_insn *in, uint32_t lanes, const char *how) {
  const int lane = __builtin_ctz(lanes);
  const emu_insn *by = w->poison.by[lane];
  char name[EMU_SHARED_NAME];
  const int width = emu_shared_width(by, by->more->mode[0] * by->more->n);
  emu_shared_name(w, w->poison.address[lane], width, name);
  return emu_finding(w, by, lane, EMU_SHARED_UNINIT,
                     "reads %s, which has not been written yet (is a barrier missing?), and %s, "
                     "PTX line %u",
                     name, how, in->line);
}

static int step_store(emu_warp *w, const emu_insn *in, uint32_t mask, uint32_t used) {
  const uint32_t address = marks_of(w, in->o[1]) & mask;
  if (address) {
    return depends(w, in, address, "computes an address from it");
  }
  return used && in->more->space != SPACE_shared ? depends(w, in, used, "stores it") : RUN_ON;
}

/* A shuffle may move such a value, but not take its lanes from one. */
static int step_shuffle(emu_warp *w, const emu_insn *in, uint32_t mask) {
  const uint32_t used =
      (marks_of(w, in->o[2]) | marks_of(w, in->o[3]) | marks_of(w, in->o[4])) & mask;
  return used ? depends(w, in, used, "shuffles by it") : RUN_ON;
}

void emu_poison_shuffled(emu_warp *w, const emu_insn *in, uint32_t group, const int from[32]) {
  const uint32_t before = marks_of(w, in->o[1]);
  const emu_poison old = w->poison;
  uint32_t marks = 0;
  for (int i = 0; i < EMU_LANES_N && w->frame == &w->kernel; i++) {
    if ((group >> i & 1) && (before >> from[i] & 1)) {
      marks |= 1u << i;
      w->poison.by[i] = old.by[from[i]];
      w->poison.address[i] = old.address[from[i]];
    }
  }
  if (w->frame == &w->kernel) {
    mark_results(w, in, group, marks);
  }
}

int emu_poison_step(emu_warp *w, const emu_insn *in, uint32_t mask) {
  if (w->frame != &w->kernel) {
    return RUN_ON;
  }
  const uint32_t guard = in->guard == EMU_NONE ? 0 : marks_of(w, in->guard) & w->mask;
  const uint32_t used = used_marks(w, in) & mask;
  if (is_pure(in)) {
    mark_results(w, in, mask, (result_marks(w, in, used) & mask) | guard);
    return RUN_ON;
  }
  if (guard) {
    return depends(w, in, guard, "branches on it");
  }
  if (in->kind == KIND_shfl) {
    return step_shuffle(w, in, mask);
  }
  if (in->kind == KIND_st) {
    return step_store(w, in, mask, used);
  }
  if (used) {
    return depends(w, in, used,
                   in->kind == KIND_ld    ? "computes an address from it"
                   : in->kind == KIND_brx ? "branches on it"
                                          : "uses it");
  }
  mark_results(w, in, mask, 0);
  return RUN_ON;
}
