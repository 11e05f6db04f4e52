/* emu_decode_async.c -- decoders of mbarriers and wgmma. src: PTX ISA 9.0, 9.7.13.15 (mbarrier),
 * 9.7.15 (wgmma). */
#include <stdio.h>
#include <string.h>

#include "emu_decoders.h"
#include "emu_modes.h"

/* ---- mbarrier ---- */

/* semantics, scope and state space; false: .relaxed, which orders nothing */
static bool take_order(emu_parser *p, emu_insn *in) {
  static const char *const orders[] = {"acquire", "release", NULL};
  static const char *const scopes[] = {"cta", "cluster", NULL};
  static const char *const spaces[] = {"shared::cluster", "shared::cta", "shared", NULL};
  bool relaxed = emu_mod(p, "relaxed");
  emu_mod_choice(p, orders);
  emu_mod_choice(p, scopes);
  int space = emu_mod_choice(p, spaces);
  in->more->space = space < 0 ? SPACE_generic : space == 0 ? SPACE_cluster : SPACE_shared;
  return !relaxed;
}

/* appends the instruction: it is the function's last one afterwards */
static int mbarrier(emu_parser *p, emu_kind kind, int op, int address, emu_insn **out) {
  TRY(emu_begin_more(p, kind, EMU_PIPE_lsu, 0, out));
  emu_insn *in = *out;
  in->more->mode[0] = op;
  in->more->mode[1] = take_order(p, in);
  return emu_address(p, 1, address, in);
}

/* slots: 0 result, 1 address, 2 count, bytes, state or parity */
static int mbarrier_change(emu_parser *p, int op) {
  bool arrives = op == MBARRIER_arrive || op == MBARRIER_drop;
  bool expects = arrives && emu_mod(p, "expect_tx"), incomplete = emu_mod(p, "noComplete");
  int n = p->statement.n, first = arrives;
  TRY(emu_arity(p, first + 1, first + 2));
  if (n == first + 1 && (expects || (op != MBARRIER_inval && !arrives))) {
    return emu_unsupported(p, "wrong number of operands");
  }
  emu_insn *in;
  TRY(mbarrier(p, KIND_mbarrier, op, first, &in));
  in->more->mode[2] = expects;
  in->more->mode[3] = incomplete;
  if (emu_mod_type(p) != T_b64) {
    return emu_unsupported(p, "");
  }
  if (n == first + 2) {
    TRY(emu_use(p, 2, first + 1, 4, T_u32));
  }
  return arrives && p->statement.operands[0].kind != OPERAND_SINK ? emu_def(p, 0, 0, 8) : 0;
}

static int mbarrier_wait(emu_parser *p, bool tries) {
  bool parity = emu_mod(p, "parity");
  TRY(emu_arity(p, 3, tries ? 4 : 3));
  emu_insn *in;
  TRY(mbarrier(p, KIND_mbarwait, tries, 1, &in));
  in->more->mode[2] = parity;
  if (emu_mod_type(p) != T_b64) {
    return emu_unsupported(p, "");
  }
  TRY(emu_use(p, 2, 2, parity ? 4 : 8, parity ? T_u32 : T_b64));
  return emu_def(p, 0, 0, 0);
}

static int mbarrier_pending(emu_parser *p) {
  TRY(emu_arity(p, 2, 2));
  if (emu_mod_type(p) != T_b64) {
    return emu_unsupported(p, "");
  }
  TRY(emu_begin(p, KIND_mbarpending, EMU_PIPE_alu, NULL));
  TRY(emu_use(p, 1, 1, 8, T_b64));
  return emu_def(p, 0, 0, 4);
}

static int decode_mbarrier(emu_parser *p) {
  static const char *const changes[] = {"init",      "inval",       "arrive", "arrive_drop",
                                        "expect_tx", "complete_tx", NULL};
  if (emu_mod(p, "test_wait")) {
    return mbarrier_wait(p, false);
  }
  if (emu_mod(p, "try_wait")) {
    return mbarrier_wait(p, true);
  }
  if (emu_mod(p, "pending_count")) {
    return mbarrier_pending(p);
  }
  /* "expect_tx" is an operation of its own, or after "arrive" a property of it */
  bool arrive = emu_mod(p, "arrive"), drop = !arrive && emu_mod(p, "arrive_drop");
  int which = arrive ? MBARRIER_arrive : drop ? MBARRIER_drop : emu_mod_choice(p, changes);
  return which < 0 ? emu_unsupported(p, "") : mbarrier_change(p, which);
}

/* cp.async.mbarrier.arrive takes effect when the thread's earlier copies have landed. Without
 * .noinc the phase expects one arrival more, which is this one. */
int emu_decode_cp_arrive(emu_parser *p) {
  emu_insn *in;
  if (!emu_mod(p, "arrive")) {
    return emu_unsupported(p, "");
  }
  bool counted = emu_mod(p, "noinc");
  TRY(emu_arity(p, 1, 1));
  TRY(mbarrier(p, KIND_cparrive, counted, 0, &in));
  return emu_mod_type(p) == T_b64 ? 0 : emu_unsupported(p, "");
}

/* ---- wgmma ---- */

static int needs_90a(emu_parser *p) {
  return p->m->target == 90 && p->m->target_alone
             ? 0
             : emu_unsupported(p, "it requires the target sm_90a");
}

/* a shape such as "m64n128k16"; false: no such modifier */
static bool take_shape(emu_parser *p, int *n, int *k) {
  for (*n = 8; *n <= 256; *n += 8) {
    for (*k = 8; *k <= 64; *k *= 2) {
      char shape[24];
      snprintf(shape, sizeof shape, "m64n%dk%d", *n, *k);
      if (emu_mod(p, shape)) {
        return true;
      }
    }
  }
  return false;
}

static bool is_byte(emu_type t) {
  return t == T_s8 || t == T_u8;
}

static bool is_quarter(emu_type t) {
  return t == T_e4m3 || t == T_e5m2;
}

/* the k of a wgmma with these types; 0: there is none */
static int depth_of(emu_type d, emu_type a, emu_type b, int n) {
  if (d == T_f32 && a == T_tf32 && b == T_tf32) {
    return 8;
  }
  if ((d == T_f32 && a == T_bf16 && b == T_bf16) ||
      ((d == T_f32 || d == T_f16) && a == T_f16 && b == T_f16)) {
    return 16;
  }
  if ((d == T_f32 || d == T_f16) && is_quarter(a) && is_quarter(b)) {
    return 32;
  }
  /* of integers n is a multiple of 8 up to 32, then of 16 */
  return d == T_s32 && is_byte(a) && is_byte(b) && (n <= 32 || n % 16 == 0) ? 32 : 0;
}

/* a literal of 1 or -1 (scale), 0 or 1 (transposition) */
static int take_literal(emu_parser *p, int i, int64_t other, bool *is_other) {
  const emu_operand *o = &p->statement.operands[i];
  if (o->kind != OPERAND_INT || ((int64_t)o->value != 1 && (int64_t)o->value != other)) {
    return emu_unsupported(p,
                           "scales must be the literal 1 or -1, transpositions the literal 0 or 1");
  }
  *is_other = other == -1 ? (int64_t)o->value == -1 : o->value == 1;
  return 0;
}

static int place_registers(emu_parser *p, const emu_operand *list, int at, int n, bool def) {
  if (emu_operand_count(list) != n) {
    return emu_unsupported(p, "wrong number of registers for this shape");
  }
  for (int i = 0; i < n; i++) {
    const emu_operand *o = emu_operand_at(p, list, i);
    p->f->code[p->f->n - 1].more->bytes[at + i] = 4;
    TRY(def ? emu_def_operand(p, 5 + at + i, o, 4) : emu_use_operand(p, 5 + at + i, o, 4, T_b32));
  }
  return 0;
}

/* the literals after scale-d depend on the type and on where a is */
static int take_literals(emu_parser *p, int at, emu_type a, bool in_registers, int *flags) {
  static const int bits[] = {WGMMA_minus_a, WGMMA_minus_b, WGMMA_trans_a, WGMMA_trans_b};
  bool half = a == T_f16 || a == T_bf16, integer = is_byte(a);
  int n = integer ? 0 : half ? 4 - in_registers : 2;
  TRY(emu_arity(p, at + n, at + n));
  for (int i = 0; i < n; i++) {
    bool is = false;
    TRY(take_literal(p, at + i, i < 2 ? -1 : 0, &is));
    *flags |= is ? bits[i == 2 && in_registers ? 3 : i] : 0;
  }
  return 0;
}

/* the metadata of a sparse a, and which two of four threads hold it; of bytes all four do */
static int place_metadata(emu_parser *p, emu_insn *in, emu_type a, int at) {
  const emu_operand *o = p->statement.operands;
  const uint64_t selectors = emu_type_bytes(a) == 1 ? 1 : 2;
  if (o[4].kind != OPERAND_INT || o[4].value >= selectors) {
    return emu_unsupported(p, "the sparsity selector is out of range");
  }
  in->imm = (a == T_tf32 ? 2 : 4) | (int64_t)o[4].value << 8;
  in->more->bytes[at] = 4;
  return emu_use_operand(p, 5 + at, &o[3], 4, T_b32);
}

/* ops: accumulators as results, a if it is in registers, accumulators as operands, the metadata of a
 * sparse a. Slots: 1 and 2 descriptors, 3 scale-d. mode: rows of a warp, n, k, types of a and b, flags. */
static int wgmma_multiply(emu_parser *p) {
  const emu_operand *o = p->statement.operands;
  int n, k, flags = 0;
  const bool sparse = emu_mod(p, "sp"), shaped = take_shape(p, &n, &k);
  bool finite = emu_mod(p, "satfinite");
  emu_type d = emu_mod_type(p), a = emu_mod_type(p), b = emu_mod_type(p);
  const int scale = sparse ? 5 : 3; /* scale-d */
  if (!shaped || k != depth_of(d, a, b, n) * (sparse ? 2 : 1)) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, scale + 1, scale + 5));
  bool in_registers = o[1].kind == OPERAND_LIST;
  int n_d = n / (d == T_f16 ? 4 : 2), n_a = in_registers ? 4 : 0;
  TRY(take_literals(p, scale + 1, a, in_registers, &flags));
  flags |= (in_registers ? WGMMA_registers : 0) | (sparse ? WGMMA_sparse : 0);
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_wgmma, EMU_PIPE_tensor, 2 * n_d + n_a + sparse, &in));
  int modes[] = {16, n, k, a, b, flags};
  memcpy(in->more->mode, modes, sizeof modes);
  in->type = (uint8_t)d;
  in->flags |= finite ? INSN_SAT : 0;
  TRY(place_registers(p, &o[0], 0, n_d, true));
  TRY(place_registers(p, &o[0], n_d + n_a, n_d, false));
  TRY(in_registers ? place_registers(p, &o[1], n_d, 4, false) : emu_use(p, 1, 1, 8, T_b64));
  TRY(emu_use(p, 2, 2, 8, T_b64));
  TRY(sparse ? place_metadata(p, in, a, 2 * n_d + n_a) : 0);
  return emu_use(p, 3, scale, 0, T_pred);
}

static int decode_wgmma(emu_parser *p) {
  TRY(needs_90a(p));
  if (!emu_mod(p, "sync") || !emu_mod(p, "aligned")) {
    return emu_unsupported(p, "");
  }
  if (emu_mod(p, "fence")) {
    TRY(emu_arity(p, 0, 0));
    return emu_begin(p, KIND_nop, EMU_PIPE_control, NULL);
  }
  if (emu_mod(p, "commit_group")) {
    TRY(emu_arity(p, 0, 0));
    return emu_begin(p, KIND_wgmmacommit, EMU_PIPE_control, NULL);
  }
  if (emu_mod(p, "mma_async")) {
    return wgmma_multiply(p);
  }
  TRY(emu_arity(p, 1, 1));
  if (!emu_mod(p, "wait_group") || p->statement.operands[0].kind != OPERAND_INT ||
      p->statement.operands[0].value > INT32_MAX) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin(p, KIND_wgmmawait, EMU_PIPE_control, &in));
  in->imm = (int64_t)p->statement.operands[0].value;
  return 0;
}

/* setmaxnreg moves registers between warps; emulated threads always have enough */
static int decode_setmaxnreg(emu_parser *p) {
  const emu_operand *o = p->statement.operands;
  TRY(needs_90a(p));
  bool ok = (emu_mod(p, "inc") || emu_mod(p, "dec")) && emu_mod(p, "sync") && emu_mod(p, "aligned");
  TRY(emu_arity(p, 1, 1));
  if (!ok || emu_mod_type(p) != T_u32 || o[0].kind != OPERAND_INT || o[0].value % 8 ||
      o[0].value < 24 || o[0].value > 256) {
    return emu_unsupported(p, "");
  }
  return emu_begin(p, KIND_nop, EMU_PIPE_control, NULL);
}

const emu_decode_row emu_decode_async_rows[] = {
    {"mbarrier", decode_mbarrier},
    {"wgmma", decode_wgmma},
    {"setmaxnreg", decode_setmaxnreg},
    {NULL},
};
