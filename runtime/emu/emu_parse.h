/* emu_parse.h -- what the parser hands to the decoder: one statement's operands, and the function
 * that is being built. */
#ifndef EMU_PARSE_H
#define EMU_PARSE_H

#include "emu_code.h"
#include "emu_lex.h"

typedef enum emu_symbol_kind {
  SYMBOL_VAR,
  SYMBOL_FUNC,
  SYMBOL_REG,
  SYMBOL_TABLE,
  SYMBOL_PROTO
} emu_symbol_kind;

typedef struct emu_symbol {
  emu_symbol_kind kind;
  int index; /* variable, function, first register or branch table */
  int n;     /* registers: how many; a name without number has 0 */
} emu_symbol;

typedef enum emu_operand_kind {
  OPERAND_REG,
  OPERAND_INT,
  OPERAND_F32,
  OPERAND_F64,
  OPERAND_SREG,
  OPERAND_SYMBOL,
  OPERAND_ADDRESS,
  OPERAND_LIST,
  OPERAND_NAME,
  OPERAND_SINK
} emu_operand_kind;

enum { EMU_LIST_MAX = 256 };

typedef struct emu_operand {
  emu_operand_kind kind;
  bool negated;        /* !%p */
  bool in_frame;       /* an address in the frame: local variables, parameters of calls */
  int32_t reg, second; /* register id; `second` of %p|%q, or EMU_NONE */
  uint64_t value;      /* number; addend of a symbol or an address */
  int symbol;          /* index of a symbol, or -1 */
  const char *p;       /* OPERAND_NAME: a label */
  size_t n;
  int first, count; /* OPERAND_LIST: elements in the statement's list */
} emu_operand;

enum { EMU_MODS = 24 };

typedef struct emu_statement {
  const char *opcode; /* the whole word */
  size_t opcode_n;
  struct {
    const char *p;
    int n;
  } mods[EMU_MODS]; /* mods[0] is the base */
  int n_mods;
  uint32_t used; /* modifiers that the decoder understood */
  emu_operand operands[12];
  int n;
  emu_operand list[EMU_LIST_MAX];
  int n_list;
  int32_t guard;
  bool guard_not;
  int line;
} emu_statement;

typedef struct emu_ref { /* where a register's number stands until the layout is known */
  uint32_t pc;
  int16_t slot; /* 0..4: o; -1: guard; 5..: more->ops */
  bool def;
} emu_ref;

typedef struct emu_fix { /* a label that was used */
  const char *p;
  size_t n;
  uint32_t pc;
  int32_t *to;
  int line;
} emu_fix;

typedef struct emu_scope {
  struct emu_scope *up;
  emu_map names, labels;
  emu_fix *fixes;
  int n_fixes, cap_fixes;
} emu_scope;

typedef struct emu_table { /* .branchtargets */
  int32_t *targets;
  int n;
} emu_table;

typedef struct emu_parser {
  emu_lexer lex;
  emu_module *m;
  err *e;
  emu_scope top, *scope; /* names of the module; innermost scope */
  emu_symbol *symbols;
  int n_symbols, cap_symbols;
  emu_statement statement;
  /* the function being built */
  emu_func *f;
  int f_index;
  uint32_t cap_code;
  uint8_t *reg_bytes; /* per register: 0 predicate, else 2, 4, 8, 16 */
  int n_regs, cap_regs;
  emu_ref *refs;
  int n_refs, cap_refs;
  size_t cap_pool;
  emu_map pool_map;
  emu_table *tables;
  int n_tables, cap_tables;
  uint16_t file;
  uint32_t source_line;
  int depth; /* of nested lists */
} emu_parser;

/* emu_fail -- the error object's message and place; returns ERR_COMPILE */
int emu_fail(emu_parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* emu_grow -- room for one more element; false: the host is out of memory */
bool emu_grow(void *array, int n, int *capacity, size_t nbytes);
/* emu_find -- a name in the open scopes: a symbol's index, or -1. *reg gets the register's number
 * when the symbol is a register. */
int emu_find(const emu_parser *p, const char *name, size_t n, int32_t *reg);

/* the function under construction (emu_build.c) */
int emu_build_start(emu_parser *p, emu_func *f);
/* emu_build_reg -- n more registers; *first is the number of the first */
int emu_build_reg(emu_parser *p, int bytes, int n, int32_t *first);
/* emu_build_insn -- append; returned pointer is good until the next append */
emu_insn *emu_build_insn(emu_parser *p, emu_kind kind);
emu_more *emu_build_more(emu_parser *p, emu_insn *in, int n_ops);
/* emu_build_use -- let slot `slot` of the last instruction name a register */
int emu_build_ref(emu_parser *p, int slot, int32_t reg, bool def);
/* emu_build_constant -- the operand for a number, or for a symbol's address when symbol >= 0 */
int emu_build_constant(emu_parser *p, int bytes, uint64_t value, int symbol, int32_t *operand);
/* emu_build_end -- lay out registers, resolve labels */
int emu_build_end(emu_parser *p);
/* emu_build_call -- note that the function under construction needs function `index` */
int emu_build_call(emu_parser *p, int index);
/* emu_module_layout -- shared memory, stacks and missing functions, when all is parsed */
int emu_module_layout(emu_parser *p);

/* emu_decode -- the statement to instructions (emu_decode.c) */
int emu_decode(emu_parser *p);
/* emu_sreg_parse -- -1: no special register of that name */
int emu_sreg_parse(const char *name, size_t n);
/* emu_notes -- take what ptxas said of the kernels from the PTX's comments (emu_notes.c) */
void emu_notes(emu_module *m);
/* emu_live -- mark where basic blocks begin and estimate f->regs (emu_live.c); false: no memory */
bool emu_live(emu_func *f);

#endif
