/* emu_ptxas.c -- how ptxas changes PTX, as far as the cost model needs it.
 *
 * The card does not execute PTX. Where a few instructions are branched over, ptxas predicates them
 * and reorders them with the code around. Some instructions disappear: constants added to an
 * address, which the access adds; products and shifted values that a 64-bit sum includes
 * (IMAD.WIDE, LEA); logic of predicates, which comparisons include. Sums and left shifts go to the
 * ALU or, as IMAD, to the multipliers, whichever is free. Short loops of loads with a 32-bit
 * counter are unrolled by four, in addition to NVRTC's unrolling. src: SASS of our own kernels by
 * ptxas 13.0 for sm_90 compared with their PTX: a matrix product whose copies take 250 PTX
 * instructions a tile, 498 clocks of the ALU, takes 110 on the card. */
#include "emu_ptxas.h"

#include <stdlib.h>

enum {
  PREDICATED = 8,    /* most instructions that it predicates instead of branching over them */
  UNROLLED_MOST = 40 /* most instructions of a loop that it unrolls further */
};

bool emu_synchronizes(const emu_insn *in) {
  return in->kind == KIND_bar || in->kind == KIND_cpwait || in->kind == KIND_mbarwait ||
         in->kind == KIND_wgmmawait;
}

/* is this a branch over so few instructions that ptxas predicates them? */
static bool is_predicate(const emu_func *f, int pc) {
  const emu_insn *branch = f->code + pc;
  int to = branch->target, skips = to - pc;
  bool is = branch->kind == KIND_bra && skips > 0 && skips <= PREDICATED;
  for (int i = pc + 1; is && i < to; i++) {
    const emu_insn *in = &f->code[i];
    is = !emu_synchronizes(in) && in->kind != KIND_call && in->kind != KIND_ret &&
         in->kind != KIND_exit && in->kind != KIND_brx && (in->kind != KIND_bra || in->target > i);
  }
  return is;
}

/* Segments begin at basic blocks, except those that are predicated. */
static void find_leads(emu_ptxas *x, const emu_func *f) {
  for (int pc = 0; pc < f->n; pc++) {
    const emu_insn *in = &f->code[pc];
    bool branches = in->kind == KIND_bra || in->kind == KIND_brx;
    bool leaves = in->kind == KIND_ret || in->kind == KIND_exit || in->kind == KIND_trap;
    if (leaves || (branches && !is_predicate(f, pc))) {
      x->leads[pc + 1] = 1;
      if (in->kind == KIND_bra && in->target >= 0) {
        x->leads[in->target] = 1;
      }
      for (int t = 0; in->kind == KIND_brx && t < in->more->n; t++) {
        x->leads[in->more->ops[t]] = 1;
      }
    }
  }
}

static bool is_op(const emu_insn *in, emu_op op) {
  bool is = false;
  for (int t = 0; in->kind == KIND_alu && t < T_COUNT; t++) {
    emu_lane_fn fn = emu_lanes()[op][t];
    is |= fn && fn == in->fn;
  }
  return is;
}

static bool is_integer(const emu_insn *in) {
  return in->kind == KIND_alu && in->pipe == EMU_PIPE_alu;
}

typedef struct uses {                  /* of a register */
  int defs, all, addresses, def, last; /* last: last read other than by a branch */
} uses;

static void count_uses(const emu_func *f, uses *u) {
  for (int pc = 0; pc < f->n; pc++) {
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      uses *one = &u[f->refs[r] >> 1];
      bool result = f->refs[r] & 1;
      one->defs += result;
      one->def = result ? pc : one->def;
      one->all += !result;
      one->addresses += !result && f->code[pc].pipe == EMU_PIPE_lsu;
      one->last = !result && f->code[pc].kind != KIND_bra ? pc : one->last;
    }
  }
}

/* a 64-bit sum that includes the preceding product or shift: IMAD.WIDE, LEA */
static void fold_into_sum(emu_ptxas *x, const emu_func *f, const uses *u, int pc) {
  for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
    const uses *one = &u[f->refs[r] >> 1];
    if (!(f->refs[r] & 1) && one->defs == 1 && one->all == 1 &&
        (is_op(&f->code[one->def], OP_mulwide) || is_op(&f->code[one->def], OP_shl))) {
      x->folded[one->def] = 1;
    }
  }
}

/* Marks the instructions that ptxas removes: constants added to an address, factors of a 64-bit
 * sum, logic of predicates. */
static void find_folded(emu_ptxas *x, const emu_func *f, uses *u) {
  count_uses(f, u);
  for (int pc = 0; pc < f->n; pc++) {
    const emu_insn *in = &f->code[pc];
    bool sums = is_integer(in) && is_op(in, OP_add);
    bool constant =
        sums && ((in->o[1] < 0 && in->o[1] != EMU_NONE) || (in->o[2] < 0 && in->o[2] != EMU_NONE));
    for (uint32_t r = f->ref_start[pc]; constant && r < f->ref_start[pc + 1]; r++) {
      const uses *one = &u[f->refs[r] >> 1];
      x->folded[pc] |= f->refs[r] & 1 && one->all > 0 && one->all == one->addresses;
    }
    x->folded[pc] |= in->kind == KIND_plogic;
    if (sums && in->weight > 1) {
      fold_into_sum(x, f, u, pc);
    }
  }
}

/* A predicate that is used again occupies one of the seven predicate registers until then. */
static void find_guards(emu_ptxas *x, const emu_func *f, const uses *u) {
  for (int pc = 0; pc < f->n; pc++) {
    int32_t guard = 0;
    for (uint32_t r = f->ref_start[pc]; r < f->ref_start[pc + 1]; r++) {
      const uses *one = &u[f->refs[r] >> 1];
      guard = one->last >= f->code[pc].target ? (int32_t)(f->refs[r] >> 1) + 1 : guard;
    }
    for (int i = pc + 1; guard && is_predicate(f, pc) && i < f->code[pc].target; i++) {
      x->guards[i] = guard;
    }
  }
}

static void find_moves(emu_ptxas *x, const emu_func *f) {
  for (int pc = 0; pc < f->n; pc++) {
    const emu_insn *in = &f->code[pc];
    x->moves[pc] = is_integer(in) && (is_op(in, OP_add) || is_op(in, OP_sub) || is_op(in, OP_shl));
  }
}

/* is this a short loop of loads and arithmetic with a 32-bit counter? */
bool emu_ptxas_unrolls(const emu_func *f, int s, int e) {
  bool loads = false, other = false;
  for (int pc = s; pc < e; pc++) {
    const emu_insn *in = &f->code[pc];
    loads |= in->kind == KIND_ld && in->more->space == SPACE_global && !(in->flags & INSN_STRONG);
    other |= in->kind == KIND_st || in->kind == KIND_atom || in->kind == KIND_shfl ||
             in->kind == KIND_call || emu_synchronizes(in) ||
             (in->kind == KIND_setp && in->weight > 1);
  }
  const emu_insn *last = &f->code[e - 1];
  return loads && !other && last->kind == KIND_bra && last->target == s && e - s <= UNROLLED_MOST;
}

bool emu_ptxas_init(emu_ptxas *x, const emu_func *f) {
  size_t n = (size_t)(unsigned)f->n + 1;
  uses *u = calloc((size_t)(unsigned)f->n_regs + 1, sizeof *u);
  *x = (emu_ptxas){calloc(n, 1), calloc(n, 1), calloc(n, 1), calloc(n, sizeof *x->guards)};
  bool ok = u && x->leads && x->folded && x->moves && x->guards;
  if (ok) {
    find_leads(x, f);
    find_folded(x, f, u);
    find_guards(x, f, u);
    find_moves(x, f);
  }
  free(u);
  return ok;
}

void emu_ptxas_clear(emu_ptxas *x) {
  free(x->leads);
  free(x->folded);
  free(x->moves);
  free(x->guards);
}
