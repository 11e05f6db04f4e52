/* emu_parser.h -- the parser's state: tokens, scopes, the current statement, the function being
 * built. */
#ifndef EMU_PARSER_H
#define EMU_PARSER_H

#include "array.h"
#include "emu_code.h"
#include "emu_lex.h"
#include "emu_map.h"
#include "err.h"

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
  int n;     /* number of registers; 0 for a name without a number */
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
  bool minus;          /* -%r */
  bool part;           /* %r.b0: p and n are the part's name */
  bool in_frame;       /* an address in the frame: of a local variable or a call's parameter */
  int32_t reg, second; /* register id; `second` of %p|%q, or EMU_NONE */
  uint64_t value;      /* number; addend of a symbol or an address */
  int symbol;          /* index of a symbol, or -1 */
  const char *p;       /* name of a label */
  size_t n;
  int first, count; /* OPERAND_LIST: its elements in the statement's list */
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
  uint32_t used; /* bits of the modifiers that the decoder has taken */
  emu_operand operands[12];
  int n;
  emu_operand list[EMU_LIST_MAX];
  int n_list;
  int32_t guard;
  bool guard_not;
  int line;
} emu_statement;

typedef struct emu_ref { /* a slot that holds a register's number until the layout is known */
  uint32_t pc;
  int16_t slot; /* 0..4: o; -1: guard; 5..: more->ops */
  bool def;
} emu_ref;

typedef struct emu_fix { /* a use of a label */
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
  int n_fixes;
  size_t cap_fixes;
} emu_scope;

typedef struct emu_table { /* .branchtargets */
  int32_t *targets;
  int n;
} emu_table;

typedef struct emu_parser emu_parser;
struct emu_parser {
  emu_lexer lex;
  emu_module *m;
  err *e;
  emu_scope top, *scope; /* names of the module; innermost scope */
  emu_symbol *symbols;
  int n_symbols;
  size_t cap_symbols;
  emu_statement statement;
  /* the function being built */
  emu_func *f;
  int f_index;
  size_t cap_code;
  uint8_t *reg_bytes; /* per register: 0 predicate, else 2, 4, 8, 16 */
  int n_regs;
  size_t cap_regs;
  emu_ref *refs;
  int n_refs;
  size_t cap_refs;
  size_t cap_pool;
  emu_map pool_map;
  int32_t stack_used; /* the register that counts bytes taken by alloca, or EMU_NONE */
  uint64_t stack_top; /* end of the memory for them, in the frame */
  emu_table *tables;
  int n_tables;
  size_t cap_tables;
  uint16_t file;
  uint32_t source_line;
  int inline_index;             /* of the current line in m->inlined, plus one; 0: not inlined */
  emu_map inlined;              /* positions of inlined code -> m->inlined */
  int depth;                    /* of nested lists */
  int (*decode)(emu_parser *p); /* turns the statement into instructions */
  int op, arg;                  /* of the decoder's row for the instruction */
};

/* emu_fail -- set message and place of the error; returns ERR_COMPILE */
int emu_fail(emu_parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* emu_unexpected -- fail: the current token is not `wanted` */
int emu_unexpected(emu_parser *p, const char *wanted);

/* emu_expect and emu_take_... fail at any other token; emu_accept returns false */
int emu_expect(emu_parser *p, char mark);
bool emu_accept(emu_parser *p, char mark);
int emu_take_name(emu_parser *p, emu_token *name);
int emu_take_integer(emu_parser *p, uint64_t *value);
/* emu_skip_statement -- move behind the next semicolon */
int emu_skip_statement(emu_parser *p);

int emu_scope_open(emu_parser *p);
/* emu_scope_close -- resolve the scope's labels; pass unresolved uses to the enclosing scope */
int emu_scope_close(emu_parser *p);
void emu_scope_clear(emu_scope *s);
/* emu_scope_fix -- remember the use of a label */
int emu_scope_fix(emu_parser *p, emu_scope *s, emu_fix fix);
/* emu_find -- index of the symbol with that name in the open scopes; -1: none. *reg is the
 * register's number when the symbol is a register. */
int emu_find(const emu_parser *p, const char *name, size_t n, int32_t *reg);
int emu_symbol_add(emu_parser *p, const emu_token *name, emu_symbol symbol);

#endif
