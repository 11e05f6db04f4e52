/* emu_parse.c -- PTX text to a module: declarations, scopes and statements. What an instruction
 * means is emu_decode.c's business. src: PTX ISA 9.0, chapters 4, 5 and 11. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu_parse.h"

enum { VAR_MAX = 1 << 30, PARAMS_MAX = 1024, FILES_MAX = 4096, OPERANDS_MAX = 128 };
/* what CUDA allows: 512 KiB of local memory a thread, 32764 bytes of parameters */
enum { LOCAL_MAX = 512 * 1024, PARAMS_NBYTES = 32764 };

int emu_fail(emu_parser *p, const char *format, ...) {
  char text[400], place[40];
  va_list ap;
  va_start(ap, format);
  vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  snprintf(place, sizeof place, "PTX line %d", p->lex.token.line);
  return err_at(p->e, ERR_COMPILE, place, "%s, PTX line %d", text, p->lex.token.line);
}

static int no_memory(emu_parser *p) {
  return err_set(p->e, ERR_NOMEM, "no host memory for the PTX module");
}

static int unexpected(emu_parser *p, const char *wanted) {
  const emu_token *t = &p->lex.token;
  if (t->kind == TOKEN_END) {
    return emu_fail(p, "the PTX ends where %s should stand", wanted);
  }
  return emu_fail(p, "'%.*s' stands where %s should", (int)(t->n < 60 ? t->n : 60), t->p, wanted);
}

static int expect(emu_parser *p, char mark) {
  char text[4] = {'\'', mark, '\'', 0};
  if (!emu_lex_is(&p->lex, mark)) {
    return unexpected(p, text);
  }
  emu_lex_next(&p->lex);
  return 0;
}

static bool accept(emu_parser *p, char mark) {
  bool is = emu_lex_is(&p->lex, mark);
  if (is) {
    emu_lex_next(&p->lex);
  }
  return is;
}

static bool word(const emu_parser *p, const char *text) {
  return emu_token_is(&p->lex.token, text);
}

static int take_name(emu_parser *p, emu_token *name) {
  *name = p->lex.token;
  if (name->kind != TOKEN_WORD) {
    return unexpected(p, "a name");
  }
  emu_lex_next(&p->lex);
  return 0;
}

static int take_integer(emu_parser *p, uint64_t *value) {
  bool minus = accept(p, '-');
  if (p->lex.token.kind != TOKEN_INTEGER) {
    return unexpected(p, "a whole number");
  }
  *value = minus ? -p->lex.token.value : p->lex.token.value;
  emu_lex_next(&p->lex);
  return 0;
}

/* ---- scopes ---- */

static void scope_clear(emu_scope *s) {
  emu_map_clear(&s->names);
  emu_map_clear(&s->labels);
  free(s->fixes);
  *s = (emu_scope){0};
}

static int scope_open(emu_parser *p) {
  emu_scope *s = calloc(1, sizeof *s);
  if (!s) {
    return no_memory(p);
  }
  s->up = p->scope;
  p->scope = s;
  return 0;
}

static int scope_add_fix(emu_parser *p, emu_scope *s, emu_fix fix) {
  if (!emu_grow(&s->fixes, s->n_fixes, &s->cap_fixes, sizeof fix)) {
    return no_memory(p);
  }
  s->fixes[s->n_fixes++] = fix;
  return 0;
}

/* labels of this scope are known now; what is still open may be one of the scope around it */
static int scope_close(emu_parser *p) {
  emu_scope *s = p->scope, *up = s->up;
  int rc = 0;
  for (int i = 0; i < s->n_fixes && !rc; i++) {
    emu_fix *fix = &s->fixes[i];
    int32_t pc = emu_map_get(&s->labels, fix->p, fix->n);
    if (pc >= 0) {
      *(fix->to ? fix->to : &p->f->code[fix->pc].target) = pc;
    } else if (up != &p->top) {
      rc = scope_add_fix(p, up, *fix);
    } else {
      rc = emu_fail(p, "no label '%.*s'", (int)fix->n, fix->p);
    }
  }
  p->scope = up;
  scope_clear(s);
  free(s);
  return rc;
}

static int find_prefix(const emu_parser *p, const emu_scope *s, const char *name, size_t n,
                       int32_t *reg) {
  size_t stem = n;
  uint64_t number = 0, unit = 1;
  while (stem > 0 && n - stem < 8 && name[stem - 1] >= '0' && name[stem - 1] <= '9') {
    stem--;
    number += unit * (uint64_t)(name[stem] - '0');
    unit *= 10;
    int32_t i = emu_map_get(&s->names, name, stem);
    const emu_symbol *symbol = i >= 0 ? &p->symbols[i] : NULL;
    if (symbol && symbol->kind == SYMBOL_REG && number < (uint64_t)symbol->n) {
      *reg = symbol->index + (int32_t)number;
      return i;
    }
  }
  return -1;
}

int emu_find(const emu_parser *p, const char *name, size_t n, int32_t *reg) {
  for (const emu_scope *s = p->scope; s; s = s->up) {
    int32_t i = emu_map_get(&s->names, name, n);
    if (i >= 0 && (p->symbols[i].kind != SYMBOL_REG || p->symbols[i].n == 0)) {
      *reg = p->symbols[i].index;
      return i;
    }
    i = find_prefix(p, s, name, n, reg);
    if (i >= 0) {
      return i;
    }
  }
  return -1;
}

static int add_symbol(emu_parser *p, const emu_token *name, emu_symbol symbol) {
  if (!emu_grow(&p->symbols, p->n_symbols, &p->cap_symbols, sizeof symbol) ||
      !emu_map_put(&p->scope->names, name->p, name->n, p->n_symbols)) {
    return no_memory(p);
  }
  p->symbols[p->n_symbols++] = symbol;
  return 0;
}

/* ---- variables ---- */

typedef struct declaration {
  emu_space space;
  emu_type type;
  uint64_t align;
  int vector;
  bool external;
} declaration;

static bool space_of(const emu_token *t, emu_space *space) {
  static const struct {
    const char *name;
    emu_space space;
  } names[] = {{".global", SPACE_global},
               {".const", SPACE_const},
               {".shared", SPACE_shared},
               {".local", SPACE_local},
               {".param", SPACE_param}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (emu_token_is(t, names[i].name)) {
      *space = names[i].space;
      return true;
    }
  }
  return false;
}

/* .space [.align N] [.attribute(...)] [.v4] .type [.ptr .space .align N] */
static int parse_type(emu_parser *p, declaration *d) {
  d->type = T_none;
  while (p->lex.token.kind == TOKEN_WORD && *p->lex.token.p == '.') {
    emu_token t = p->lex.token;
    emu_space ignored;
    emu_lex_next(&p->lex);
    if (emu_token_is(&t, ".align")) {
      uint64_t align;
      TRY(take_integer(p, &align));
      d->align = d->type == T_none ? align : d->align; /* after .ptr it is the pointee's */
    } else if (emu_token_is(&t, ".v2") || emu_token_is(&t, ".v4")) {
      d->vector = t.p[2] - '0';
    } else if (emu_token_is(&t, ".attribute")) {
      while (p->lex.token.kind != TOKEN_END && !emu_lex_is(&p->lex, ')')) {
        emu_lex_next(&p->lex);
      }
      TRY(expect(p, ')'));
    } else if (!emu_token_is(&t, ".ptr") && !(d->type != T_none && space_of(&t, &ignored))) {
      d->type = emu_type_parse(t.p + 1, (int)t.n - 1);
      if (d->type == T_none) {
        return emu_fail(p, "unsupported type or attribute '%.*s'", (int)t.n, t.p);
      }
    }
  }
  if (d->type == T_none) {
    return unexpected(p, "a type");
  }
  if (d->align & (d->align - 1) || d->align > 4096) {
    return emu_fail(p, "alignment %llu", (unsigned long long)d->align);
  }
  return 0;
}

static int add_var(emu_parser *p, const emu_token *name, const declaration *d, uint64_t nbytes,
                   int *index) {
  emu_module *m = p->m;
  if (!emu_grow(&m->vars, m->n_vars, &m->cap_vars, sizeof *m->vars)) {
    return no_memory(p);
  }
  uint32_t width = (uint32_t)emu_type_bytes(d->type) * (uint32_t)d->vector;
  uint32_t align = d->align ? (uint32_t)d->align : width ? width : 1;
  m->vars[m->n_vars] = (emu_var){.name = name->p,
                                 .name_n = (uint32_t)name->n,
                                 .space = d->space,
                                 .align = align,
                                 .nbytes = nbytes,
                                 .external = d->external,
                                 .owner = p->f ? p->f_index : -1};
  *index = m->n_vars++;
  return add_symbol(p, name, (emu_symbol){SYMBOL_VAR, *index, 0});
}

/* [N][M]... ; nothing: one element; []: zero */
static int parse_dimensions(emu_parser *p, uint64_t *n) {
  *n = 1;
  while (accept(p, '[')) {
    uint64_t one = 0;
    if (!emu_lex_is(&p->lex, ']')) {
      TRY(take_integer(p, &one));
    }
    if (one > VAR_MAX || *n * one > VAR_MAX) {
      return err_set(p->e, ERR_LIMIT, "a PTX variable of over %d elements, line %d", VAR_MAX,
                     p->lex.token.line);
    }
    *n *= one;
    TRY(expect(p, ']'));
  }
  return 0;
}

static int add_reloc(emu_parser *p, int var, uint64_t offset, int size, const emu_token *name,
                     uint64_t addend) {
  emu_module *m = p->m;
  int32_t reg;
  int symbol = emu_find(p, name->p, name->n, &reg);
  if (symbol < 0 || p->symbols[symbol].kind > SYMBOL_FUNC) {
    return emu_fail(p, "no variable or function '%.*s'", (int)name->n, name->p);
  }
  if (!emu_grow(&m->relocs, m->n_relocs, &m->cap_relocs, sizeof *m->relocs)) {
    return no_memory(p);
  }
  const emu_symbol *s = &p->symbols[symbol];
  m->relocs[m->n_relocs++] =
      (emu_reloc){var, offset, addend, size, {s->kind == SYMBOL_FUNC, s->index}};
  return 0;
}

/* symbol, symbol+N, generic(symbol)+N */
static int parse_address_value(emu_parser *p, int var, uint64_t offset, int size) {
  emu_token name;
  uint64_t addend = 0;
  TRY(take_name(p, &name));
  if (emu_token_is(&name, "generic") && accept(p, '(')) {
    TRY(take_name(p, &name));
    TRY(expect(p, ')'));
  }
  if (accept(p, '+')) {
    TRY(take_integer(p, &addend));
  }
  return add_reloc(p, var, offset, size, &name, addend);
}

static int parse_number(emu_parser *p, emu_type type, uint64_t *bits) {
  bool minus = accept(p, '-');
  const emu_token *t = &p->lex.token;
  if (t->kind != TOKEN_INTEGER && t->kind != TOKEN_F32 && t->kind != TOKEN_F64) {
    return unexpected(p, "a number");
  }
  uint64_t value = t->value;
  if (t->kind == TOKEN_F64 && type == T_f32) {
    value = emu_f32_bits((float)emu_f64(value));
  } else if (t->kind == TOKEN_INTEGER && type == T_f64) {
    value = emu_f64_bits((double)value);
  } else if (t->kind == TOKEN_INTEGER && type == T_f32) {
    value = emu_f32_bits((float)value);
  }
  if (minus) {
    value = t->kind == TOKEN_INTEGER && emu_type_kind(type) != 'f' ? -value
            : type == T_f32                                        ? value ^ 0x80000000u
                                                                   : value ^ UINT64_C(1) << 63;
  }
  *bits = value;
  emu_lex_next(&p->lex);
  return 0;
}

static int parse_initial(emu_parser *p, int var, emu_type type, uint8_t *to, uint64_t nbytes,
                         uint64_t *at) {
  int size = emu_type_bytes(type);
  if (accept(p, '{')) {
    if (++p->depth > 8) {
      return emu_fail(p, "lists nested over 8 deep");
    }
    while (!accept(p, '}')) {
      TRY(parse_initial(p, var, type, to, nbytes, at));
      if (!accept(p, ',') && !emu_lex_is(&p->lex, '}')) {
        return unexpected(p, "',' or '}'");
      }
    }
    p->depth--;
    return 0;
  }
  if (*at + (uint64_t)size > nbytes) {
    return emu_fail(p, "an initialiser longer than its variable");
  }
  uint64_t bits = 0;
  if (p->lex.token.kind == TOKEN_WORD) {
    TRY(parse_address_value(p, var, *at, size));
  } else {
    TRY(parse_number(p, type, &bits));
  }
  memcpy(to + *at, &bits, (size_t)(size > 8 ? 8 : size));
  *at += (uint64_t)size;
  return 0;
}

static int parse_var(emu_parser *p, declaration *d) {
  emu_token name;
  uint64_t n, at = 0;
  int index;
  TRY(take_name(p, &name));
  TRY(parse_dimensions(p, &n));
  int size = emu_type_bytes(d->type) * d->vector;
  if (d->space == SPACE_param && p->f) {
    d->space = SPACE_frame;
  }
  TRY(add_var(p, &name, d, n * (uint64_t)size, &index));
  if (accept(p, '=')) {
    uint8_t *init = arena_new(&p->m->memory, n * (uint64_t)size + 16);
    if (!init) {
      return no_memory(p);
    }
    TRY(parse_initial(p, index, d->type, init, n * (uint64_t)size, &at));
    p->m->vars[index].init = init;
  }
  if (d->space == SPACE_frame || d->space == SPACE_local) {
    emu_var *v = &p->m->vars[index];
    if (!p->f) {
      return emu_fail(p, "a .local variable outside a function");
    }
    v->address = (p->f->frame_nbytes + v->align - 1) / v->align * v->align;
    p->f->frame_nbytes = v->address + v->nbytes;
    if (p->f->frame_nbytes > LOCAL_MAX) {
      return emu_fail(p, "over %d bytes of local memory a thread", LOCAL_MAX);
    }
  }
  return 0;
}

static int parse_variables(emu_parser *p, declaration *d) {
  d->vector = 1;
  TRY(parse_type(p, d));
  do {
    TRY(parse_var(p, d));
  } while (accept(p, ','));
  return expect(p, ';');
}

static int parse_regs(emu_parser *p) {
  declaration d = {.vector = 1};
  TRY(parse_type(p, &d));
  do {
    emu_token name;
    uint64_t n = 0;
    int32_t first;
    TRY(take_name(p, &name));
    if (accept(p, '<')) {
      TRY(take_integer(p, &n));
      TRY(expect(p, '>'));
      if (n > INT_MAX) {
        return emu_fail(p, "too many registers");
      }
    }
    TRY(emu_build_reg(p, emu_type_bytes(d.type) * d.vector, n ? (int)n : 1, &first));
    TRY(add_symbol(p, &name, (emu_symbol){SYMBOL_REG, first, (int)n}));
  } while (accept(p, ','));
  return expect(p, ';');
}

/* ---- statements ---- */

static int push_list(emu_parser *p, const emu_operand *o) {
  emu_statement *s = &p->statement;
  if (s->n_list == EMU_LIST_MAX) {
    return emu_fail(p, "over %d operands in lists", EMU_LIST_MAX);
  }
  s->list[s->n_list++] = *o;
  return 0;
}

static int parse_operand(emu_parser *p, emu_operand *o);

static int parse_list(emu_parser *p, emu_operand *o, char close) {
  emu_operand items[OPERANDS_MAX];
  int n = 0;
  if (++p->depth > 3) {
    return emu_fail(p, "operands nested over 3 deep");
  }
  while (!accept(p, close)) {
    if (n == OPERANDS_MAX) {
      return emu_fail(p, "over %d operands in a list", OPERANDS_MAX);
    }
    TRY(parse_operand(p, &items[n++]));
    if (!accept(p, ',') && !emu_lex_is(&p->lex, close)) {
      return unexpected(p, "','");
    }
  }
  *o = (emu_operand){.kind = OPERAND_LIST, .first = p->statement.n_list, .count = n};
  for (int i = 0; i < n; i++) {
    TRY(push_list(p, &items[i]));
  }
  p->depth--;
  return 0;
}

static int parse_addend(emu_parser *p, uint64_t *value) {
  if (accept(p, '+')) {
    return take_integer(p, value);
  }
  if (emu_lex_is(&p->lex, '-')) {
    return take_integer(p, value);
  }
  return 0;
}

static int parse_word_operand(emu_parser *p, emu_operand *o) {
  emu_token t;
  TRY(take_name(p, &t));
  int32_t reg = EMU_NONE;
  int symbol = emu_find(p, t.p, t.n, &reg);
  if (symbol >= 0 && p->symbols[symbol].kind == SYMBOL_REG) {
    *o = (emu_operand){.kind = OPERAND_REG, .reg = reg, .second = EMU_NONE, .symbol = -1};
    if (accept(p, '|')) {
      emu_operand two;
      TRY(parse_word_operand(p, &two));
      o->second = two.kind == OPERAND_REG ? two.reg : EMU_NONE;
    }
    return 0;
  }
  if (emu_token_is(&t, "_")) {
    *o = (emu_operand){.kind = OPERAND_SINK, .reg = EMU_NONE, .second = EMU_NONE, .symbol = -1};
    if (accept(p, '|')) {
      emu_operand two;
      TRY(parse_word_operand(p, &two));
      o->second = two.kind == OPERAND_REG ? two.reg : EMU_NONE;
    }
    return 0;
  }
  if (symbol >= 0) {
    *o = (emu_operand){.kind = OPERAND_SYMBOL, .symbol = symbol, .p = t.p, .n = t.n};
    return parse_addend(p, &o->value);
  }
  int sreg = *t.p == '%' ? emu_sreg_parse(t.p, t.n) : emu_token_is(&t, "WARP_SZ") ? -2 : -1;
  if (sreg == -2) {
    *o = (emu_operand){.kind = OPERAND_INT, .value = 32, .symbol = -1};
  } else if (sreg >= 0) {
    *o = (emu_operand){.kind = OPERAND_SREG, .value = (uint64_t)sreg, .symbol = -1};
  } else if (*t.p == '%') {
    return emu_fail(p, "no register '%.*s'", (int)(t.n < 60 ? t.n : 60), t.p);
  } else {
    *o = (emu_operand){.kind = OPERAND_NAME, .p = t.p, .n = t.n, .symbol = -1};
  }
  return 0;
}

static int parse_address(emu_parser *p, emu_operand *o) {
  emu_operand base = {.kind = OPERAND_INT, .symbol = -1};
  if (p->lex.token.kind == TOKEN_WORD) {
    TRY(parse_word_operand(p, &base));
    if (base.kind != OPERAND_REG && base.kind != OPERAND_SYMBOL) {
      return emu_fail(p, "no variable '%.*s'", (int)base.n, base.p ? base.p : "");
    }
    if (base.kind == OPERAND_REG) {
      TRY(parse_addend(p, &base.value));
    }
  } else {
    TRY(take_integer(p, &base.value));
  }
  if (accept(p, ',')) { /* a tensor map's: coordinates follow */
    TRY(expect(p, '{'));
    TRY(parse_list(p, o, '}'));
  }
  if (!emu_lex_is(&p->lex, ']')) {
    return emu_fail(p, "unsupported form of address");
  }
  emu_lex_next(&p->lex);
  o->kind = OPERAND_ADDRESS;
  o->reg = base.kind == OPERAND_REG ? base.reg : EMU_NONE;
  o->symbol = base.kind == OPERAND_SYMBOL ? base.symbol : -1;
  o->value = base.value;
  return 0;
}

static int parse_operand(emu_parser *p, emu_operand *o) {
  *o = (emu_operand){.reg = EMU_NONE, .second = EMU_NONE, .symbol = -1};
  const emu_token *t = &p->lex.token;
  if (accept(p, '{')) {
    return parse_list(p, o, '}');
  }
  if (accept(p, '(')) {
    return parse_list(p, o, ')');
  }
  if (accept(p, '[')) {
    return parse_address(p, o);
  }
  if (accept(p, '!')) {
    TRY(parse_word_operand(p, o));
    o->negated = true;
    return 0;
  }
  if (t->kind == TOKEN_WORD) {
    return parse_word_operand(p, o);
  }
  bool minus = accept(p, '-');
  o->kind = t->kind == TOKEN_F32 ? OPERAND_F32 : t->kind == TOKEN_F64 ? OPERAND_F64 : OPERAND_INT;
  if (t->kind != TOKEN_INTEGER && t->kind != TOKEN_F32 && t->kind != TOKEN_F64) {
    return unexpected(p, "an operand");
  }
  o->value = !minus                     ? t->value
             : t->kind == TOKEN_INTEGER ? -t->value
             : t->kind == TOKEN_F32     ? t->value ^ 0x80000000u
                                        : t->value ^ UINT64_C(1) << 63;
  emu_lex_next(&p->lex);
  return 0;
}

static int split_opcode(emu_parser *p, const emu_token *t) {
  emu_statement *s = &p->statement;
  s->opcode = t->p;
  s->opcode_n = t->n;
  s->n_mods = 0;
  for (size_t at = 0; at <= t->n;) {
    size_t end = at;
    while (end < t->n && t->p[end] != '.') {
      end++;
    }
    if (s->n_mods == EMU_MODS) {
      return emu_fail(p, "too many modifiers in '%.*s'", (int)(t->n < 60 ? t->n : 60), t->p);
    }
    s->mods[s->n_mods].p = t->p + at;
    s->mods[s->n_mods++].n = (int)(end - at);
    at = end + 1;
  }
  s->used = 1;
  return 0;
}

static int parse_guard(emu_parser *p) {
  emu_statement *s = &p->statement;
  emu_operand o;
  s->guard_not = accept(p, '!');
  TRY(parse_word_operand(p, &o));
  if (o.kind != OPERAND_REG || p->reg_bytes[o.reg] != 0) {
    return emu_fail(p, "a guard that is not a predicate");
  }
  s->guard = o.reg;
  return 0;
}

static int parse_instruction(emu_parser *p, const emu_token *opcode) {
  emu_statement *s = &p->statement;
  s->line = opcode->line;
  s->n = s->n_list = 0;
  TRY(split_opcode(p, opcode));
  while (!emu_lex_is(&p->lex, ';')) {
    if (s->n == 12) {
      return emu_fail(p, "too many operands");
    }
    TRY(parse_operand(p, &s->operands[s->n++]));
    if (!accept(p, ',') && !emu_lex_is(&p->lex, ';')) {
      return unexpected(p, "',' or ';'");
    }
  }
  TRY(emu_decode(p));
  emu_lex_next(&p->lex);
  return 0;
}

static int parse_loc(emu_parser *p) {
  uint64_t file, line, column;
  TRY(take_integer(p, &file));
  TRY(take_integer(p, &line));
  TRY(take_integer(p, &column));
  p->file = (uint16_t)(file < FILES_MAX ? file : 0);
  p->source_line = line ? (uint32_t)line : p->source_line;
  while (accept(p, ',')) { /* function_name LABEL [+ N], inlined_at FILE LINE COLUMN */
    while (p->lex.token.kind == TOKEN_WORD || p->lex.token.kind == TOKEN_INTEGER ||
           emu_lex_is(&p->lex, '+')) {
      if (p->lex.token.kind == TOKEN_WORD && *p->lex.token.p == '.') {
        return 0;
      }
      bool last = word(p, "inlined_at");
      emu_lex_next(&p->lex);
      for (int i = 0; last && i < 3; i++) {
        TRY(take_integer(p, &column));
      }
      if (last) {
        return 0;
      }
    }
  }
  return 0;
}

static int skip_statement(emu_parser *p) {
  while (p->lex.token.kind != TOKEN_END && !emu_lex_is(&p->lex, ';')) {
    emu_lex_next(&p->lex);
  }
  return expect(p, ';');
}

/* label: .branchtargets a, b, c; -- label: .callprototype ...; */
static int parse_labelled(emu_parser *p, const emu_token *label) {
  if (word(p, ".callprototype") || word(p, ".calltargets")) {
    TRY(add_symbol(p, label, (emu_symbol){SYMBOL_PROTO, 0, 0}));
    return skip_statement(p);
  }
  emu_token names[1024];
  int n = 0;
  emu_lex_next(&p->lex);
  do {
    if (n == 1024) {
      return emu_fail(p, "over 1024 branch targets");
    }
    TRY(take_name(p, &names[n++]));
  } while (accept(p, ','));
  emu_table table = {ARENA_ARRAY(&p->m->memory, int32_t, (size_t)n), n};
  if (!table.targets || !emu_grow(&p->tables, p->n_tables, &p->cap_tables, sizeof table)) {
    return no_memory(p);
  }
  for (int i = 0; i < n; i++) {
    TRY(scope_add_fix(p, p->scope,
                      (emu_fix){names[i].p, names[i].n, 0, &table.targets[i], label->line}));
  }
  p->tables[p->n_tables++] = table;
  TRY(add_symbol(p, label, (emu_symbol){SYMBOL_TABLE, p->n_tables - 1, 0}));
  return expect(p, ';');
}

static int parse_label(emu_parser *p, const emu_token *label) {
  if (word(p, ".branchtargets") || word(p, ".callprototype") || word(p, ".calltargets")) {
    return parse_labelled(p, label);
  }
  if (!emu_map_put(&p->scope->labels, label->p, label->n, p->f->n)) {
    return no_memory(p);
  }
  return 0;
}

static int parse_body_directive(emu_parser *p, const emu_token *t) {
  declaration d = {.align = 0};
  if (emu_token_is(t, ".reg")) {
    return parse_regs(p);
  }
  if (emu_token_is(t, ".loc")) {
    return parse_loc(p);
  }
  if (emu_token_is(t, ".pragma")) {
    return skip_statement(p);
  }
  if (space_of(t, &d.space)) {
    return parse_variables(p, &d);
  }
  return emu_fail(p, "unsupported directive '%.*s'", (int)(t->n < 60 ? t->n : 60), t->p);
}

static int parse_statement(emu_parser *p) {
  emu_statement *s = &p->statement;
  emu_token t;
  s->guard = EMU_NONE;
  if (accept(p, '@')) {
    TRY(parse_guard(p));
  }
  TRY(take_name(p, &t));
  if (*t.p == '.') {
    return parse_body_directive(p, &t);
  }
  if (accept(p, ':')) {
    return parse_label(p, &t);
  }
  return parse_instruction(p, &t);
}

static int parse_body(emu_parser *p) {
  int depth = 0;
  while (depth >= 0) {
    if (accept(p, '{')) {
      if (++depth > 100) {
        return emu_fail(p, "blocks nested over 100 deep");
      }
      TRY(scope_open(p));
    } else if (emu_lex_is(&p->lex, '}')) {
      if (depth-- == 0) {
        break;
      }
      emu_lex_next(&p->lex);
      TRY(scope_close(p));
    } else if (p->lex.token.kind == TOKEN_END) {
      return unexpected(p, "'}'");
    } else if (!accept(p, ';')) {
      TRY(parse_statement(p));
    }
  }
  return 0;
}

/* ---- functions ---- */

static int param_var(emu_parser *p, emu_func *f, emu_param *param, uint64_t *at) {
  declaration d = {.vector = 1};
  emu_token name, space;
  uint64_t n;
  int index;
  TRY(take_name(p, &space));
  if (!emu_token_is(&space, ".param")) {
    return emu_fail(p, "a parameter in '%.*s', not in .param", (int)space.n, space.p);
  }
  TRY(parse_type(p, &d));
  TRY(take_name(p, &name));
  TRY(parse_dimensions(p, &n));
  d.space = f->entry ? SPACE_param : SPACE_frame;
  TRY(add_var(p, &name, &d, n * (uint64_t)emu_type_bytes(d.type), &index));
  emu_var *v = &p->m->vars[index];
  v->address = (*at + v->align - 1) / v->align * v->align;
  *at = v->address + v->nbytes;
  *param = (emu_param){v->address, v->nbytes};
  if (*at > PARAMS_NBYTES) {
    return emu_fail(p, "over %d bytes of parameters", PARAMS_NBYTES);
  }
  return 0;
}

static int parse_params(emu_parser *p, emu_func *f, emu_param **params, int *n, uint64_t *at) {
  emu_param list[PARAMS_MAX];
  *n = 0;
  while (!accept(p, ')')) {
    if (*n == PARAMS_MAX) {
      return emu_fail(p, "over %d parameters", PARAMS_MAX);
    }
    TRY(param_var(p, f, &list[(*n)++], at));
    if (!accept(p, ',') && !emu_lex_is(&p->lex, ')')) {
      return unexpected(p, "','");
    }
  }
  *params = ARENA_ARRAY(&p->m->memory, emu_param, (size_t)*n + 1);
  if (!*params) {
    return no_memory(p);
  }
  memcpy(*params, list, sizeof *list * (size_t)*n);
  return 0;
}

static int three_numbers(emu_parser *p, int v[3]) {
  for (int i = 0; i < 3; i++) {
    uint64_t one = 1;
    if (i == 0 || accept(p, ',')) {
      TRY(take_integer(p, &one));
    }
    v[i] = one < 4096 ? (int)one : 4096; /* more than any block or multiprocessor has */
  }
  return 0;
}

static int parse_performance(emu_parser *p, emu_func *f) {
  while (p->lex.token.kind == TOKEN_WORD && *p->lex.token.p == '.') {
    emu_token t = p->lex.token;
    int v[3];
    emu_lex_next(&p->lex);
    if (emu_token_is(&t, ".noreturn") || emu_token_is(&t, ".explicitcluster")) {
      continue;
    }
    if (emu_token_is(&t, ".pragma")) {
      TRY(skip_statement(p));
      continue;
    }
    TRY(three_numbers(p, v));
    if (emu_token_is(&t, ".maxntid")) {
      double n = (double)v[0] * v[1] * v[2];
      f->max_threads = n < 1 || n > 1024 ? 1024 : (int)n;
    } else if (emu_token_is(&t, ".reqntid")) {
      memcpy(f->required, v, sizeof v);
    } else if (emu_token_is(&t, ".reqnctapercluster")) {
      memcpy(f->cluster, v, sizeof v);
    } else if (emu_token_is(&t, ".minnctapersm")) {
      f->min_blocks = v[0] < 64 ? v[0] : 64;
    } else if (emu_token_is(&t, ".maxnreg")) {
      f->max_regs = v[0] < 255 ? v[0] : 255;
    } else if (!emu_token_is(&t, ".maxnctapersm") && !emu_token_is(&t, ".maxclusterrank")) {
      return emu_fail(p, "unsupported directive '%.*s'", (int)(t.n < 60 ? t.n : 60), t.p);
    }
  }
  return 0;
}

static int find_or_add_func(emu_parser *p, const emu_token *name, bool entry) {
  emu_module *m = p->m;
  int32_t reg, symbol = emu_find(p, name->p, name->n, &reg);
  if (symbol >= 0 && p->symbols[symbol].kind == SYMBOL_FUNC) {
    p->f_index = p->symbols[symbol].index;
    return 0;
  }
  emu_func *f = ARENA_ARRAY(&m->memory, emu_func, 1);
  if (!f || !emu_grow(&m->funcs, m->n_funcs, &m->cap_funcs, sizeof *m->funcs)) {
    return no_memory(p);
  }
  f->name = arena_text_n(&m->memory, name->p, name->n);
  f->entry = entry;
  f->line = name->line;
  m->funcs[m->n_funcs] = f;
  p->f_index = m->n_funcs++;
  return f->name ? add_symbol(p, name, (emu_symbol){SYMBOL_FUNC, p->f_index, 0}) : no_memory(p);
}

static int parse_defined(emu_parser *p, emu_func *f) {
  if (f->defined) {
    return emu_fail(p, "'%s' is defined twice", f->name);
  }
  emu_lex_next(&p->lex);
  TRY(emu_build_start(p, f));
  TRY(parse_body(p));
  return emu_build_end(p);
}

static int parse_function(emu_parser *p, bool entry) {
  emu_func *f, unnamed = {.entry = entry};
  emu_token name;
  uint64_t at = 0;
  emu_param *results = NULL;
  int n_results = 0;
  TRY(scope_open(p));
  if (accept(p, '(')) {
    TRY(parse_params(p, &unnamed, &results, &n_results, &at));
  }
  TRY(take_name(p, &name));
  emu_scope *inner = p->scope;
  p->scope = &p->top;
  int rc = find_or_add_func(p, &name, entry);
  p->scope = inner;
  TRY(rc);
  f = p->m->funcs[p->f_index];
  f->results = results;
  f->n_results = n_results;
  if (accept(p, '(')) {
    TRY(parse_params(p, f, &f->params, &f->n_params, &at));
  }
  f->params_nbytes = entry ? at : 0;
  f->frame_nbytes = entry ? 0 : at;
  TRY(parse_performance(p, f));
  if (emu_lex_is(&p->lex, '{')) {
    TRY(parse_defined(p, f));
    rc = scope_close(p);
    p->f = NULL;
    TRY(rc);
    return expect(p, '}');
  }
  TRY(scope_close(p));
  return expect(p, ';');
}

/* ---- the module ---- */

static int parse_file(emu_parser *p) {
  uint64_t number;
  TRY(take_integer(p, &number));
  if (p->lex.token.kind != TOKEN_STRING) {
    return unexpected(p, "a file name");
  }
  if (number < FILES_MAX) {
    p->m->files[number] = arena_text_n(&p->m->memory, p->lex.token.p, p->lex.token.n);
    p->m->n_files = p->m->n_files > (int)number ? p->m->n_files : (int)number + 1;
  }
  emu_lex_next(&p->lex);
  while (accept(p, ',')) {
    TRY(take_integer(p, &number));
  }
  return 0;
}

static int parse_section(emu_parser *p) {
  emu_token name;
  TRY(take_name(p, &name));
  TRY(expect(p, '{'));
  while (p->lex.token.kind != TOKEN_END && !emu_lex_is(&p->lex, '}')) {
    emu_lex_next(&p->lex);
  }
  return expect(p, '}');
}

static int parse_target(emu_parser *p) {
  do {
    emu_token t;
    TRY(take_name(p, &t));
    if (t.n > 3 && memcmp(t.p, "sm_", 3) == 0) {
      p->m->target = atoi(t.p + 3);
      p->m->target_alone = t.p[t.n - 1] == 'a';
    }
  } while (accept(p, ','));
  return 0;
}

static int parse_version(emu_parser *p) {
  if (p->lex.token.kind != TOKEN_INTEGER && p->lex.token.kind != TOKEN_F64) {
    return unexpected(p, "a version");
  }
  emu_lex_next(&p->lex);
  return 0;
}

static int parse_directive(emu_parser *p) {
  declaration d = {.align = 0};
  emu_token t;
  uint64_t ignored;
  TRY(take_name(p, &t));
  while (emu_token_is(&t, ".visible") || emu_token_is(&t, ".weak") || emu_token_is(&t, ".extern") ||
         emu_token_is(&t, ".common")) {
    d.external = emu_token_is(&t, ".extern");
    TRY(take_name(p, &t));
  }
  if (emu_token_is(&t, ".entry") || emu_token_is(&t, ".func")) {
    return parse_function(p, emu_token_is(&t, ".entry"));
  }
  if (space_of(&t, &d.space)) {
    return parse_variables(p, &d);
  }
  if (emu_token_is(&t, ".file")) {
    return parse_file(p);
  }
  if (emu_token_is(&t, ".section")) {
    return parse_section(p);
  }
  if (emu_token_is(&t, ".version")) {
    return parse_version(p);
  }
  if (emu_token_is(&t, ".target")) {
    return parse_target(p);
  }
  if (emu_token_is(&t, ".address_size")) {
    return take_integer(p, &ignored);
  }
  if (emu_token_is(&t, ".pragma")) {
    return skip_statement(p);
  }
  return emu_fail(p, "unsupported directive '%.*s'", (int)(t.n < 60 ? t.n : 60), t.p);
}

static void parser_clear(emu_parser *p) {
  while (p->scope != &p->top) {
    emu_scope *up = p->scope->up;
    scope_clear(p->scope);
    free(p->scope);
    p->scope = up;
  }
  scope_clear(&p->top);
  emu_map_clear(&p->pool_map);
  free(p->symbols);
  free(p->reg_bytes);
  free(p->refs);
  free(p->tables);
  if (p->f) { /* unfinished: its code is not in the arena yet */
    free(p->f->code);
    free(p->f->pool);
  }
}

static int parse_module(emu_parser *p) {
  if (!emu_token_is(&p->lex.token, ".version")) { /* PTX ISA: every module begins with it */
    return emu_fail(p, "this is not PTX: it does not begin with .version");
  }
  while (p->lex.token.kind != TOKEN_END) {
    if (!accept(p, ';')) {
      TRY(parse_directive(p));
    }
  }
  return emu_module_layout(p);
}

int emu_module_parse(const char *text, size_t nbytes, emu_module **out, err *e) {
  emu_module *m = calloc(1, sizeof *m);
  emu_parser *p = calloc(1, sizeof *p);
  int rc = ERR_NOMEM;
  *out = NULL;
  if (m && p) {
    while (nbytes && text[nbytes - 1] == 0) {
      nbytes--; /* NVRTC counts the final NUL */
    }
    m->text = arena_text_n(&m->memory, text, nbytes);
    m->files = ARENA_ARRAY(&m->memory, const char *, FILES_MAX);
    p->m = m;
    p->e = e;
    p->scope = &p->top;
    emu_lex_start(&p->lex, m->text ? m->text : "", m->text ? nbytes : 0);
    rc = m->text && m->files ? parse_module(p) : no_memory(p);
    parser_clear(p);
  }
  if (!rc) {
    emu_notes(m);
  }
  free(p);
  if (rc) {
    emu_module_free(m);
    return rc == ERR_NOMEM ? err_set(e, ERR_NOMEM, "no host memory for the PTX module") : rc;
  }
  *out = m;
  return 0;
}

void emu_module_free(emu_module *m) {
  if (m) {
    free(m->vars);
    free(m->funcs);
    free(m->relocs);
    free(m->fixups);
    arena_clear(&m->memory);
    free(m);
  }
}

emu_func *emu_module_kernel(const emu_module *m, const char *name) {
  for (int i = 0; i < m->n_funcs; i++) {
    if (m->funcs[i]->entry && m->funcs[i]->defined && !strcmp(m->funcs[i]->name, name)) {
      return m->funcs[i];
    }
  }
  return NULL;
}
