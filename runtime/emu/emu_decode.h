/* emu_decode.h -- the words that the decoders of instructions share. */
#ifndef EMU_DECODE_H
#define EMU_DECODE_H

#include "emu_parse.h"

/* A decoder turns p->statement into instructions. `op` and `arg` come from its row in the table. */
typedef int (*emu_decoder)(emu_parser *p, int op, int arg);

typedef struct emu_decode_row {
  const char *name;
  emu_decoder decode;
  int op, arg;
} emu_decode_row;

/* modifiers: each may be taken once; one that nobody takes makes the instruction unsupported */
bool emu_mod(emu_parser *p, const char *name);
/* emu_mod_prefix -- a modifier that begins so: ".L2::128B" */
bool emu_mod_prefix(emu_parser *p, const char *prefix);
/* emu_mod_type -- the next modifier that is a type; T_none when there is none */
emu_type emu_mod_type(emu_parser *p);
/* emu_mod_choice -- index of the first of `names` (NULL ends) that is there; -1: none */
int emu_mod_choice(emu_parser *p, const char *const *names);
emu_round emu_mod_round(emu_parser *p);
int emu_unsupported(emu_parser *p, const char *why);

/* emu_begin -- an instruction of this kind under the statement's guard */
emu_insn *emu_begin(emu_parser *p, emu_kind kind, emu_pipe pipe);
/* emu_def, emu_use -- operand i of the statement becomes slot `slot` of the last instruction.
 * bytes is the lane width: 0 predicate, -1 any register's own width. t turns literals to bits. */
int emu_def(emu_parser *p, int slot, int i, int bytes);
int emu_use(emu_parser *p, int slot, int i, int bytes, emu_type t);
/* the same for an operand that is not at the top level */
int emu_def_operand(emu_parser *p, int slot, const emu_operand *o, int bytes);
int emu_use_operand(emu_parser *p, int slot, const emu_operand *o, int bytes, emu_type t);
/* emu_address -- slot gets the base, the instruction's imm the offset */
int emu_address(emu_parser *p, int slot, int i, emu_insn *in);
/* emu_reg_bytes -- lane width of a register operand; -1 for anything else */
int emu_reg_bytes(const emu_parser *p, const emu_operand *o);
/* emu_arity -- how many operands there must be */
int emu_arity(emu_parser *p, int least, int most);
/* emu_temp -- a new register of this width */
int emu_temp(emu_parser *p, int bytes, int32_t *reg);
/* emu_sreg_bytes -- lane width of a special register */
int emu_sreg_bytes(int sreg);
static inline const emu_operand *emu_list(const emu_parser *p, const emu_operand *o, int i) {
  return &p->statement.list[o->first + i];
}

/* arithmetic, memory, control, matrices, asynchronous work; each ends with name NULL */
extern const emu_decode_row emu_decode_alu_rows[], emu_decode_mem_rows[], emu_decode_flow_rows[],
    emu_decode_mma_rows[], emu_decode_async_rows[], emu_decode_bulk_rows[];

/* emu_decode_cp_arrive -- cp.async.mbarrier.arrive, whose modifiers up to "mbarrier" are taken */
int emu_decode_cp_arrive(emu_parser *p);

/* emu_decode_bulk, emu_decode_cluster_bar -- cp.async.bulk and barrier.cluster, behind these words
 */
int emu_decode_bulk(emu_parser *p);
int emu_decode_cluster_bar(emu_parser *p);

/* orderings of mode[] shared with the executors */
enum { SHFL_up, SHFL_down, SHFL_bfly, SHFL_idx };
enum { VOTE_all, VOTE_any, VOTE_uni, VOTE_ballot };
enum {
  ATOM_add,
  ATOM_inc,
  ATOM_dec,
  ATOM_min,
  ATOM_max,
  ATOM_and,
  ATOM_or,
  ATOM_xor,
  ATOM_exch,
  ATOM_cas
};
enum { BAR_sync, BAR_arrive, BAR_popc, BAR_and, BAR_or };
enum { PLOGIC_not, PLOGIC_and, PLOGIC_or, PLOGIC_xor };
enum {
  MBARRIER_init,
  MBARRIER_inval,
  MBARRIER_arrive,
  MBARRIER_drop,
  MBARRIER_expect,
  MBARRIER_complete
};
enum {                      /* flags of wgmma */
       WGMMA_registers = 1, /* a is in registers */
       WGMMA_minus_a = 2,
       WGMMA_minus_b = 4,
       WGMMA_trans_a = 8,
       WGMMA_trans_b = 16
};
enum { BOOL_none, BOOL_and, BOOL_or, BOOL_xor };

#endif
