/* emu_decode_mem.c -- decoders of loads, stores, atomics, address conversion and asynchronous
 * copies. src: PTX ISA 9.0, 9.7.9 and 9.7.13. */
#include <string.h>

#include "emu_decoders.h"
#include "emu_modes.h"

static bool is_entry(const emu_parser *p) {
  return p->f->entry;
}

static emu_space take_space(emu_parser *p) {
  static const char *const names[] = {"global",      "shared", "shared::cta", "shared::cluster",
                                      "local",       "const",  "param",       "param::entry",
                                      "param::func", NULL};
  static const emu_space spaces[] = {SPACE_global,  SPACE_shared, SPACE_shared,
                                     SPACE_cluster, SPACE_local,  SPACE_const,
                                     SPACE_param,   SPACE_param,  SPACE_frame};
  int i = emu_mod_choice(p, names);
  return i < 0 ? SPACE_generic : spaces[i];
}

/* Memory ordering: the emulator is sequentially consistent; the checks distinguish weak, strong and
 * releasing accesses. Returns INSN_STRONG, INSN_RELEASES and INSN_IN_BLOCK. */
static uint8_t take_order(emu_parser *p) {
  static const char *const strong[] = {"release", "acq_rel", "volatile", "relaxed",
                                       "acquire", "mmio",    "sc",       NULL};
  static const char *const scopes[] = {"cta", "cluster", "gpu", "sys", NULL};
  uint8_t flags = 0;
  emu_mod(p, "weak");
  for (int i; (i = emu_mod_choice(p, strong)) >= 0;) {
    flags |= i < 2 ? INSN_STRONG | INSN_RELEASES : INSN_STRONG;
  }
  return flags | (emu_mod_choice(p, scopes) == 0 ? INSN_IN_BLOCK : 0);
}

/* Cache hints change no result; true: a cache-policy operand follows. *past_l1: does the load
 * bypass the L1? */
static bool take_hints(emu_parser *p, bool *past_l1) {
  static const char *const hints[] = {"ca", "cg", "cs", "lu",    "cv",
                                      "wb", "wt", "nc", "noftz", NULL};
  bool policy = false;
  for (int i; (i = emu_mod_choice(p, hints)) >= 0;) {
    *past_l1 |= i == 1 || i == 4;
  }
  policy = emu_mod(p, "L2::cache_hint");
  while (emu_mod_prefix(p, "L1::") || emu_mod_prefix(p, "L2::")) {
  }
  return policy;
}

static int take_vector(emu_parser *p) {
  static const char *const names[] = {"v2", "v4", "v8", NULL};
  return 1 << (emu_mod_choice(p, names) + 1);
}

static emu_space resolve_space(const emu_parser *p, emu_space space, int address) {
  if (space != SPACE_param && space != SPACE_frame) {
    return space;
  }
  return p->statement.operands[address].in_frame || !is_entry(p) ? SPACE_local : SPACE_param;
}

static int access(emu_parser *p, emu_kind kind, emu_type t, int n, int n_ops, emu_insn **out) {
  TRY(emu_begin_more(p, kind, EMU_PIPE_lsu, n_ops, out));
  emu_insn *in = *out;
  in->type = (uint8_t)t;
  in->more->mode[0] = emu_type_bytes(t);
  in->more->mode[1] = emu_type_kind(t) == 's';
  in->more->mode[2] = n;
  return 0;
}

static int decode_ld(emu_parser *p) {
  const uint8_t order = take_order(p);
  bool past_l1 = false;
  emu_space space = take_space(p);
  take_hints(p, &past_l1);
  emu_mod(p, "unified");
  int n = take_vector(p);
  emu_type t = emu_mod_type(p);
  const emu_operand *to = &p->statement.operands[0];
  TRY(emu_arity(p, 2, 3));
  if (!emu_type_bytes(t) || emu_operand_count(to) != n || n * emu_type_bytes(t) > 32) {
    return emu_unsupported(p, "");
  }
  space = resolve_space(p, space, 1);
  emu_insn *in;
  TRY(access(p, KIND_ld, t, n, n, &in));
  in->flags |= (uint8_t)(order | (past_l1 ? INSN_PAST_L1 : 0));
  in->pipe = space == SPACE_param ? EMU_PIPE_uniform : EMU_PIPE_lsu;
  in->more->space = space;
  TRY(emu_address(p, 1, 1, in));
  for (int i = 0; i < n; i++) {
    const emu_operand *o = emu_operand_at(p, to, i);
    if (o->kind == OPERAND_SINK) {
      continue;
    }
    TRY(emu_def_operand(p, 5 + i, o, -1));
    in->more->bytes[i] = p->reg_bytes[o->reg];
    if (in->more->bytes[i] < in->more->mode[0]) {
      return emu_unsupported(p, "the result register is too narrow");
    }
  }
  return 0;
}

static int decode_st(emu_parser *p) {
  if (emu_mod(p, "async")) {
    return emu_decode_word(p, -1);
  }
  const uint8_t order = take_order(p);
  bool past_l1 = false;
  emu_space space = take_space(p);
  take_hints(p, &past_l1);
  int n = take_vector(p);
  emu_type t = emu_mod_type(p);
  const emu_operand *from = &p->statement.operands[1];
  TRY(emu_arity(p, 2, 3));
  if (!emu_type_bytes(t) || emu_operand_count(from) != n || n * emu_type_bytes(t) > 32) {
    return emu_unsupported(p, "");
  }
  space = resolve_space(p, space, 0);
  emu_insn *in;
  TRY(access(p, KIND_st, t, n, n, &in));
  in->flags |= order;
  in->more->space = space;
  p->m->announces |= (order & INSN_STRONG) && (space == SPACE_global || space == SPACE_generic);
  TRY(emu_address(p, 1, 0, in));
  for (int i = 0; i < n; i++) {
    const emu_operand *o = emu_operand_at(p, from, i);
    int have = emu_reg_bytes(p, o);
    in->more->bytes[i] = (uint8_t)(have > 0 ? have : emu_type_bytes(t) < 2 ? 2 : emu_type_bytes(t));
    TRY(emu_use_operand(p, 5 + i, o, in->more->bytes[i], t));
    if (in->more->bytes[i] < in->more->mode[0]) {
      return emu_unsupported(p, "the register is too narrow");
    }
  }
  return 0;
}

/* ops: n results (absent in red), n operands, and the new value of cas */
static int decode_atom(emu_parser *p) {
  const bool red = p->arg;
  bool past_l1 = false;
  if (red && emu_mod(p, "async")) {
    return emu_decode_word(p, emu_mod_choice(p, emu_atom_names));
  }
  const uint8_t order = take_order(p);
  emu_space space = take_space(p);
  bool policy = take_hints(p, &past_l1);
  int which = emu_mod_choice(p, emu_atom_names), n = take_vector(p);
  emu_type t = emu_mod_type(p);
  int first = red ? 0 : 1, n_ops = (red ? 2 : 3) + (which == ATOM_cas) + policy;
  if (which < 0 || !emu_atom_fits(which, t) || n * emu_type_bytes(t) > 32 ||
      (space != SPACE_generic && space != SPACE_global && space != SPACE_shared &&
       space != SPACE_cluster)) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, n_ops, n_ops));
  emu_insn *in;
  TRY(access(p, KIND_atom, t, n, 2 * n + 1, &in));
  const emu_operand *o = p->statement.operands;
  int b = emu_type_bytes(t);
  in->dbytes = (uint8_t)b;
  in->flags |= INSN_STRONG | order;
  in->more->space = space;
  in->more->mode[3] = which;
  p->m->announces |= space == SPACE_global || space == SPACE_generic;
  TRY(emu_address(p, 1, first, in));
  if (emu_operand_count(&o[first + 1]) != n || (!red && emu_operand_count(&o[0]) != n)) {
    return emu_unsupported(p, "");
  }
  for (int i = 0; i < n; i++) {
    in->more->bytes[i] = in->more->bytes[n + i] = (uint8_t)b;
    if (!red && emu_operand_at(p, &o[0], i)->kind != OPERAND_SINK) {
      TRY(emu_def_operand(p, 5 + i, emu_operand_at(p, &o[0], i), b));
    }
    TRY(emu_use_operand(p, 5 + n + i, emu_operand_at(p, &o[first + 1], i), b, t));
  }
  in->more->bytes[2 * n] = (uint8_t)b;
  return which == ATOM_cas ? emu_use(p, 5 + 2 * n, first + 2, b, t) : 0;
}

static uint64_t window(const emu_parser *p, emu_space space) {
  switch (space) {
  case SPACE_shared:
  case SPACE_cluster: return EMU_SHARED_WINDOW;
  case SPACE_local: return EMU_LOCAL_WINDOW;
  case SPACE_param: return is_entry(p) ? EMU_PARAM_WINDOW : EMU_LOCAL_WINDOW;
  case SPACE_frame: return EMU_LOCAL_WINDOW;
  default: return 0;
  }
}

static int decode_cvta(emu_parser *p) {
  bool to = emu_mod(p, "to");
  emu_space space = take_space(p);
  emu_type t = emu_mod_type(p);
  TRY(emu_arity(p, 2, 2));
  if (space == SPACE_generic || (t != T_u64 && t != T_b64)) {
    return emu_unsupported(p, "");
  }
  if (p->statement.operands[1].in_frame && space == SPACE_param) {
    space = SPACE_frame;
  }
  emu_insn *in;
  TRY(emu_begin(p, KIND_cvta, EMU_PIPE_none, &in));
  in->dbytes = 8;
  in->imm = to ? -(int64_t)window(p, space) : (int64_t)window(p, space);
  TRY(emu_use(p, 1, 1, 8, T_b64));
  return emu_def(p, 0, 0, 8);
}

static int decode_isspacep(emu_parser *p) {
  emu_space space = take_space(p);
  TRY(emu_arity(p, 2, 2));
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_isspacep, EMU_PIPE_alu, 0, &in));
  in->more->space = space;
  in->imm = (int64_t)window(p, space);
  TRY(emu_use(p, 1, 1, 8, T_b64));
  return emu_def(p, 0, 0, 0);
}

/* ---- cp.async ---- */

static int decode_cp_groups(emu_parser *p) {
  if (emu_mod(p, "mbarrier")) {
    return emu_decode_cp_arrive(p);
  }
  if (emu_mod(p, "commit_group")) {
    return emu_begin(p, KIND_cpcommit, EMU_PIPE_control, NULL);
  }
  bool all = emu_mod(p, "wait_all");
  if (!all && !emu_mod(p, "wait_group")) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin(p, KIND_cpwait, EMU_PIPE_control, &in));
  in->imm = -1;
  TRY(emu_arity(p, !all, !all));
  if (!all && p->statement.operands[0].kind != OPERAND_INT) {
    return emu_unsupported(p, "the number of groups is not a literal");
  }
  in->imm = all ? -1 : (int64_t)p->statement.operands[0].value;
  return 0;
}

/* cp.async.ca.shared.global [dst], [src], size{, src-size}. Slots: 1 dst, 2 src, 3 src-size */
static int decode_cp(emu_parser *p) {
  if (!emu_mod(p, "async")) {
    return emu_unsupported(p, "");
  }
  if (emu_mod(p, "bulk")) {
    return emu_decode_bulk(p);
  }
  if (p->statement.n < 2) {
    return decode_cp_groups(p);
  }
  bool past_l1 = false, policy = take_hints(p, &past_l1);
  bool shared = emu_mod(p, "shared") || emu_mod(p, "shared::cta"), global = emu_mod(p, "global");
  int n = p->statement.n - policy;
  const emu_operand *o = p->statement.operands;
  if (!shared || !global || n < 3 || n > 4 || o[2].kind != OPERAND_INT ||
      (o[2].value != 4 && o[2].value != 8 && o[2].value != 16)) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_cpasync, EMU_PIPE_lsu, 0, &in));
  in->flags |= past_l1 ? INSN_PAST_L1 : 0;
  in->more->space = SPACE_shared;
  TRY(emu_address(p, 1, 0, in));
  in->more->mode[4] = in->more->mode[5]; /* width of the destination's address */
  in->more->mode[3] = (int)in->imm;
  TRY(emu_address(p, 2, 1, in));
  in->more->mode[0] = (int)o[2].value;
  if (n == 4 && emu_reg_bytes(p, &o[3]) == 0) {
    in->more->mode[1] = 1; /* the operand is a predicate that says to ignore the source */
    return emu_use(p, 3, 3, 0, T_pred);
  }
  return n == 4 ? emu_use(p, 3, 3, 4, T_u32) : 0;
}

/* ---- ordering and hints ---- */

static int decode_fence(emu_parser *p) {
  static const char *const words[] = {"cluster",
                                      "gpu",
                                      "sys",
                                      "gl",
                                      "sc",
                                      "acq_rel",
                                      "acquire",
                                      "release",
                                      "alias",
                                      "generic",
                                      "tensormap::generic",
                                      "global",
                                      "shared::cta",
                                      "shared::cluster",
                                      "mbarrier_init",
                                      "sync_restrict::shared::cta",
                                      "sync_restrict::shared::cluster",
                                      NULL};
  bool block = emu_mod(p, "cta"), proxy = emu_mod(p, "proxy");
  bool async = proxy && (emu_mod(p, "async") || emu_mod(p, "async::generic"));
  while (emu_mod_choice(p, words) >= 0) {
  }
  emu_insn *in;
  TRY(emu_begin(p, async ? KIND_proxyfence : KIND_fence, EMU_PIPE_control, &in));
  in->imm = !block; /* does the fence order accesses of this block with those of others? */
  return 0;
}

/* instructions without effect on results: prefetch, discard, ... arg: nanosleep, which yields */
static int decode_nothing(emu_parser *p) {
  p->statement.used = ~0u;
  emu_insn *in;
  TRY(emu_begin(p, KIND_nop, EMU_PIPE_control, &in));
  in->imm = p->arg;
  return p->arg ? emu_use(p, 1, 0, 4, T_u32) : 0;
}

/* createpolicy: its value is only a cache hint */
static int decode_policy(emu_parser *p) {
  p->statement.used = ~0u;
  emu_insn *in;
  TRY(emu_begin(p, KIND_alu, EMU_PIPE_none, &in));
  in->fn = emu_lanes()[OP_mov][T_u64];
  in->dbytes = 8;
  TRY(emu_build_constant(p, 8, 0, -1, &in->o[1]));
  return emu_def(p, 0, 0, 8);
}

const emu_decode_row emu_decode_mem_rows[] = {
    {"ld", decode_ld},
    {"ldu", decode_ld},
    {"st", decode_st},
    {"atom", decode_atom},
    {"red", decode_atom, 0, 1},
    {"cvta", decode_cvta},
    {"isspacep", decode_isspacep},
    {"cp", decode_cp},
    {"membar", decode_fence},
    {"fence", decode_fence},
    {"prefetch", decode_nothing},
    {"prefetchu", decode_nothing},
    {"discard", decode_nothing},
    {"applypriority", decode_nothing},
    {"nanosleep", decode_nothing, 0, 1},
    {"pmevent", decode_nothing},
    {"griddepcontrol", decode_nothing},
    {"createpolicy", decode_policy},
    {NULL},
};
