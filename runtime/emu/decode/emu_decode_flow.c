/* emu_decode_flow.c -- decoders of branches, calls, barriers and exchanges within a warp. src: PTX
 * ISA 9.0, 9.7.12, 9.7.13 and 9.7.9.6. */
#include <string.h>

#include "emu_decoders.h"
#include "emu_modes.h"

static int decode_bra(emu_parser *p) {
  emu_statement *s = &p->statement;
  emu_mod(p, "uni");
  TRY(emu_arity(p, 1, 1));
  if (s->operands[0].kind != OPERAND_NAME) {
    return emu_unsupported(p, "the target is not a label");
  }
  TRY(emu_begin(p, KIND_bra, EMU_PIPE_control, NULL));
  return emu_scope_fix(
      p, p->scope,
      (emu_fix){s->operands[0].p, s->operands[0].n, (uint32_t)p->f->n - 1, NULL, s->line});
}

static int decode_brx(emu_parser *p) {
  const emu_operand *o = p->statement.operands;
  emu_mod(p, "uni");
  TRY(emu_arity(p, 2, 2));
  if (!emu_mod(p, "idx") || o[1].kind != OPERAND_SYMBOL ||
      p->symbols[o[1].symbol].kind != SYMBOL_TABLE) {
    return emu_unsupported(p, "");
  }
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_brx, EMU_PIPE_control, 0, &in));
  const emu_table *table = &p->tables[p->symbols[o[1].symbol].index];
  in->more->ops = table->targets; /* filled in when the labels are known */
  in->more->n = table->n;
  return emu_use(p, 1, 0, 4, T_u32);
}

/* two ops for each argument: offset and size of its variable in the frame */
static int call_list(emu_parser *p, emu_insn *in, const emu_operand *list, int at) {
  for (int i = 0; list && i < list->count; i++) {
    const emu_operand *o = emu_list(p, list, i);
    const emu_symbol *s = o->kind == OPERAND_SYMBOL ? &p->symbols[o->symbol] : NULL;
    if (!s || s->kind != SYMBOL_VAR || p->m->vars[s->index].space != SPACE_frame) {
      return emu_unsupported(p, "an argument is not in .param space");
    }
    in->more->ops[at + 2 * i] = (int32_t)p->m->vars[s->index].address;
    in->more->ops[at + 2 * i + 1] = (int32_t)p->m->vars[s->index].nbytes;
  }
  return 0;
}

/* call (results), target, (arguments), prototype; only the target is mandatory */
static int decode_call(emu_parser *p) {
  const emu_operand *o = p->statement.operands;
  int n = p->statement.n, at = 0;
  emu_mod(p, "uni");
  const emu_operand *results = n && o[0].kind == OPERAND_LIST ? &o[at++] : NULL;
  const emu_operand *target = at < n ? &o[at++] : NULL;
  const emu_operand *arguments = at < n && o[at].kind == OPERAND_LIST ? &o[at++] : NULL;
  if (!target || (target->kind != OPERAND_SYMBOL && target->kind != OPERAND_REG)) {
    return emu_unsupported(p, "the function is not declared");
  }
  int n_results = results ? results->count : 0, n_args = arguments ? arguments->count : 0;
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_call, EMU_PIPE_control, 2 * (n_results + n_args), &in));
  in->more->mode[0] = n_args;
  in->more->mode[1] = n_results;
  in->weight = 4;
  TRY(call_list(p, in, arguments, 0));
  TRY(call_list(p, in, results, 2 * n_args));
  if (target->kind == OPERAND_REG) {
    p->f->indirect = true;
    return emu_use_operand(p, 1, target, 8, T_b64);
  }
  const emu_symbol *s = &p->symbols[target->symbol];
  if (s->kind != SYMBOL_FUNC || p->m->funcs[s->index]->entry) {
    return emu_unsupported(p, "the target is not a function");
  }
  in->target = s->index;
  return emu_build_call(p, s->index);
}

static int decode_simple(emu_parser *p) {
  emu_mod(p, "uni");
  TRY(emu_arity(p, 0, 0));
  return emu_begin(p, (emu_kind)p->op, EMU_PIPE_control, NULL);
}

/* ---- barriers ---- */

static int decode_warp_bar(emu_parser *p) {
  if (!emu_mod(p, "sync")) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, 1, 1));
  TRY(emu_begin(p, KIND_warpsync, EMU_PIPE_control, NULL));
  return emu_use(p, 4, 0, 4, T_u32);
}

/* slots: 0 result, 1 barrier, 2 count of threads, 3 predicate of a reduction */
static int decode_bar(emu_parser *p) {
  static const char *const kinds[] = {"sync", "arrive", "red", NULL};
  static const char *const reductions[] = {"popc", "and", "or", NULL};
  bool aligned = !p->arg;
  if (emu_mod(p, "warp")) {
    return decode_warp_bar(p);
  }
  if (emu_mod(p, "cluster")) {
    return emu_decode_cluster_bar(p);
  }
  emu_mod(p, "cta");
  int kind = emu_mod_choice(p, kinds), reduction = kind == 2 ? emu_mod_choice(p, reductions) : -1;
  aligned |= emu_mod(p, "aligned");
  if (kind < 0 || (kind == 2 && (reduction < 0 || emu_mod_type(p) == T_none))) {
    return emu_unsupported(p, "");
  }
  int first = kind == 2, n = p->statement.n - first - (kind == 2);
  if (n < 1 || n > 2) {
    return emu_unsupported(p, "wrong number of operands");
  }
  emu_insn *in;
  TRY(emu_begin_more(p, KIND_bar, EMU_PIPE_control, 0, &in));
  in->more->mode[0] = kind == 2 ? BAR_popc + reduction : kind;
  in->more->mode[1] = aligned;
  TRY(emu_use(p, 1, first, 4, T_u32));
  if (n == 2) {
    TRY(emu_use(p, 2, first + 1, 4, T_u32));
  }
  if (kind == 2) {
    in->dbytes = reduction == 0 ? 4 : 0;
    TRY(emu_use(p, 3, p->statement.n - 1, 0, T_pred));
    TRY(emu_def(p, 0, 0, in->dbytes));
  }
  return 0;
}

/* ---- between the lanes of a warp: slot 4 is the member mask ---- */

static int lanes_insn(emu_parser *p, emu_kind kind, const int modes[2], int dbytes) {
  emu_insn *in;
  emu_pipe pipe = kind == KIND_shfl || kind == KIND_match ? EMU_PIPE_lsu : EMU_PIPE_alu;
  TRY(emu_begin_more(p, kind, pipe, 1, &in));
  memcpy(in->more->mode, modes, 2 * sizeof *modes);
  in->dbytes = (uint8_t)dbytes;
  return 0;
}

static int second_result(emu_parser *p) {
  const emu_operand *o = &p->statement.operands[0];
  if (o->second == EMU_NONE) {
    return 0;
  }
  return p->reg_bytes[o->second] ? emu_unsupported(p, "the second result must be a predicate")
                                 : emu_build_ref(p, 5, o->second, true);
}

static int decode_shfl(emu_parser *p) {
  static const char *const modes[] = {"up", "down", "bfly", "idx", NULL};
  bool sync = emu_mod(p, "sync");
  int mode = emu_mod_choice(p, modes);
  if (mode < 0 || emu_mod_type(p) != T_b32 || !sync) {
    return emu_unsupported(p, sync ? "" : "the form without .sync was removed after sm_6x");
  }
  TRY(emu_arity(p, 5, 5));
  TRY(lanes_insn(p, KIND_shfl, (int[]){mode, 0}, 4));
  for (int i = 1; i <= 4; i++) {
    TRY(emu_use(p, i, i, 4, T_u32));
  }
  TRY(second_result(p));
  return emu_def(p, 0, 0, 4);
}

static int decode_vote(emu_parser *p) {
  static const char *const modes[] = {"all", "any", "uni", "ballot", NULL};
  bool sync = emu_mod(p, "sync");
  int mode = emu_mod_choice(p, modes);
  emu_type t = emu_mod_type(p);
  if (!sync || mode < 0 || t != (mode == VOTE_ballot ? T_b32 : T_pred)) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, 3, 3));
  TRY(lanes_insn(p, KIND_vote, (int[]){mode, 0}, emu_type_bytes(t)));
  TRY(emu_use(p, 1, 1, 0, T_pred));
  TRY(emu_use(p, 4, 2, 4, T_u32));
  return emu_def(p, 0, 0, emu_type_bytes(t));
}

static int decode_match(emu_parser *p) {
  static const char *const modes[] = {"any", "all", NULL};
  int mode = emu_mod_choice(p, modes);
  bool sync = emu_mod(p, "sync");
  emu_type t = emu_mod_type(p);
  if (mode < 0 || !sync || (t != T_b32 && t != T_b64)) {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, 3, 3));
  TRY(lanes_insn(p, KIND_match, (int[]){mode, emu_type_bytes(t)}, 4));
  TRY(emu_use(p, 1, 1, emu_type_bytes(t), t));
  TRY(emu_use(p, 4, 2, 4, T_u32));
  TRY(second_result(p));
  return emu_def(p, 0, 0, 4);
}

static int decode_redux(emu_parser *p) {
  static const char *const names[] = {"add", "min", "max", "and", "or", "xor", NULL};
  static const int ops[] = {ATOM_add, ATOM_min, ATOM_max, ATOM_and, ATOM_or, ATOM_xor};
  bool sync = emu_mod(p, "sync");
  int which = emu_mod_choice(p, names);
  emu_type t = emu_mod_type(p);
  if (!sync || which < 0 || emu_type_bytes(t) != 4 || emu_type_kind(t) == 'f') {
    return emu_unsupported(p, "");
  }
  TRY(emu_arity(p, 3, 3));
  TRY(lanes_insn(p, KIND_redux, (int[]){ops[which], t == T_s32}, 4));
  TRY(emu_use(p, 1, 1, 4, t));
  TRY(emu_use(p, 4, 2, 4, T_u32));
  return emu_def(p, 0, 0, 4);
}

static int decode_activemask(emu_parser *p) {
  TRY(emu_arity(p, 1, 1));
  if (emu_mod_type(p) != T_b32) {
    return emu_unsupported(p, "");
  }
  TRY(lanes_insn(p, KIND_activemask, (int[]){0, 0}, 4));
  return emu_def(p, 0, 0, 4);
}

static int decode_elect(emu_parser *p) {
  TRY(emu_arity(p, 2, 2));
  if (!emu_mod(p, "sync")) {
    return emu_unsupported(p, "");
  }
  TRY(lanes_insn(p, KIND_elect, (int[]){0, 0}, 4));
  TRY(emu_use(p, 4, 1, 4, T_u32));
  TRY(second_result(p));
  return emu_def(p, 0, 0, 4);
}

/* ---- alloca: memory at the end of the function's frame, of which a register counts the bytes ---- */

enum { ALLOCA_NBYTES = 4096, ALIGN_MAX = 1 << 23 };

static int prepare_stack(emu_parser *p) {
  if (p->stack_used != EMU_NONE) {
    return 0;
  }
  TRY(emu_build_reg(p, 8, 1, &p->stack_used));
  p->f->frame_nbytes = (p->f->frame_nbytes + 15) / 16 * 16 + ALLOCA_NBYTES;
  p->stack_top = p->f->frame_nbytes;
  return 0;
}

/* slots: 0 pointer, 1 size (0 of stacksave), 2 and 3 the bytes in use before and after; mode:
 * alignment */
static int decode_alloca(emu_parser *p) {
  const emu_operand *o = p->statement.operands;
  const bool saves = p->arg;
  emu_insn *in;
  TRY(emu_arity(p, saves ? 1 : 2, saves ? 1 : 3));
  const uint64_t align = p->statement.n == 3 ? o[2].value : 8;
  if (emu_mod_type(p) != T_u64 || !align || align & (align - 1) || align > ALIGN_MAX ||
      (p->statement.n == 3 && o[2].kind != OPERAND_INT)) {
    return emu_unsupported(p, "");
  }
  const emu_operand none = {.kind = OPERAND_INT, .symbol = -1};
  TRY(prepare_stack(p));
  TRY(emu_begin_more(p, KIND_alloca, EMU_PIPE_alu, 0, &in));
  in->imm = (int64_t)p->stack_top;
  in->more->mode[0] = saves ? 1 : (int)(align < 8 ? 8 : align);
  in->more->mode[1] = ALLOCA_NBYTES;
  TRY(emu_use_operand(p, 1, saves ? &none : &o[1], 8, T_u64));
  TRY(emu_build_ref(p, 2, p->stack_used, false));
  TRY(emu_build_ref(p, 3, p->stack_used, true));
  return emu_def(p, 0, 0, 8);
}

static int decode_stackrestore(emu_parser *p) {
  emu_insn *in;
  TRY(emu_arity(p, 1, 1));
  if (emu_mod_type(p) != T_u64) {
    return emu_unsupported(p, "");
  }
  TRY(prepare_stack(p));
  TRY(emu_begin(p, KIND_stackrestore, EMU_PIPE_alu, &in));
  in->imm = (int64_t)p->stack_top;
  TRY(emu_use(p, 1, 0, 8, T_u64));
  return emu_build_ref(p, 0, p->stack_used, true);
}

const emu_decode_row emu_decode_flow_rows[] = {
    {"alloca", decode_alloca},
    {"stacksave", decode_alloca, 0, 1},
    {"stackrestore", decode_stackrestore},
    {"bra", decode_bra},
    {"brx", decode_brx},
    {"call", decode_call},
    {"ret", decode_simple, KIND_ret},
    {"exit", decode_simple, KIND_exit},
    {"trap", decode_simple, KIND_trap},
    {"brkpt", decode_simple, KIND_trap},
    {"bar", decode_bar},
    {"barrier", decode_bar, 0, 1},
    {"shfl", decode_shfl},
    {"vote", decode_vote},
    {"match", decode_match},
    {"redux", decode_redux},
    {"activemask", decode_activemask},
    {"elect", decode_elect},
    {NULL},
};
