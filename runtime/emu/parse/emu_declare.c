/* emu_declare.c -- see emu_grammar.h. src: PTX ISA 9.0, chapter 5 and 11.2. */
#include "emu_grammar.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "emu_build.h"

enum { VAR_MAX = 1 << 30, PARAMS_MAX = 1024 };
/* CUDA's limits: 512 KiB of local memory per thread, 32764 bytes of parameters */
enum { LOCAL_MAX = 512 * 1024, PARAMS_NBYTES = 32764 };

bool emu_space_of(const emu_token *t, emu_space *space) {
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
static int parse_type(emu_parser *p, emu_declaration *d) {
  d->type = T_none;
  while (p->lex.token.kind == TOKEN_WORD && *p->lex.token.p == '.') {
    emu_token t = p->lex.token;
    emu_space ignored;
    emu_lex_next(&p->lex);
    if (emu_token_is(&t, ".align")) {
      uint64_t align;
      TRY(emu_take_integer(p, &align));
      d->align = d->type == T_none ? align : d->align; /* after .ptr: of the pointee */
    } else if (emu_token_is(&t, ".v2") || emu_token_is(&t, ".v4")) {
      d->vector = t.p[2] - '0';
    } else if (emu_token_is(&t, ".attribute")) {
      while (p->lex.token.kind != TOKEN_END && !emu_lex_is(&p->lex, ')')) {
        d->managed |= emu_token_is(&p->lex.token, ".managed");
        emu_lex_next(&p->lex);
      }
      TRY(emu_expect(p, ')'));
    } else if (emu_token_is(&t, ".texref") || emu_token_is(&t, ".samplerref") ||
               emu_token_is(&t, ".surfref")) {
      d->type = T_u64; /* no instruction takes it: see emu_decode_texture.c */
    } else if (!emu_token_is(&t, ".ptr") && !(d->type != T_none && emu_space_of(&t, &ignored))) {
      d->type = emu_type_parse(t.p + 1, (int)t.n - 1);
      if (d->type == T_none) {
        return emu_fail(p, "unsupported type or attribute '%.*s'", (int)t.n, t.p);
      }
    }
  }
  if (d->type == T_none) {
    return emu_unexpected(p, "a type");
  }
  if (d->align & (d->align - 1) || d->align > 4096) {
    return emu_fail(p, "unsupported alignment %llu", (unsigned long long)d->align);
  }
  return 0;
}

static int add_var(emu_parser *p, const emu_token *name, const emu_declaration *d, uint64_t nbytes,
                   int *index) {
  emu_module *m = p->m;
  if (!array_reserve(&m->vars, m->n_vars + 1, &m->cap_vars, sizeof *m->vars)) {
    return err_nomem(p->e);
  }
  uint32_t width = (uint32_t)emu_type_bytes(d->type) * (uint32_t)d->vector;
  uint32_t align = d->align ? (uint32_t)d->align : width ? width : 1;
  m->vars[m->n_vars] = (emu_var){.name = name->p,
                                 .name_n = (uint32_t)name->n,
                                 .space = d->space,
                                 .align = align,
                                 .nbytes = nbytes,
                                 .element = (uint32_t)emu_type_bytes(d->type),
                                 .external = d->external,
                                 .managed = d->managed,
                                 .owner = p->f ? p->f_index : -1};
  *index = m->n_vars++;
  return emu_symbol_add(p, name, (emu_symbol){SYMBOL_VAR, *index, 0});
}

/* [N][M]...; one element without brackets, none for [] */
static int parse_dimensions(emu_parser *p, uint64_t *n) {
  *n = 1;
  while (emu_accept(p, '[')) {
    uint64_t one = 0;
    if (!emu_lex_is(&p->lex, ']')) {
      TRY(emu_take_integer(p, &one));
    }
    if (one > VAR_MAX || *n * one > VAR_MAX) {
      char place[40];
      snprintf(place, sizeof place, "PTX line %d", p->lex.token.line);
      return err_at(p->e, ERR_LIMIT, place, "a variable has more than %d elements", VAR_MAX);
    }
    *n *= one;
    TRY(emu_expect(p, ']'));
  }
  return 0;
}

static int add_reloc(emu_parser *p, int var, uint64_t offset, int size, const emu_token *name,
                     uint64_t addend) {
  emu_module *m = p->m;
  int32_t reg;
  int symbol = emu_find(p, name->p, name->n, &reg);
  if (symbol < 0 || p->symbols[symbol].kind > SYMBOL_FUNC) {
    return emu_fail(p, "'%.*s' is not a variable or function", (int)name->n, name->p);
  }
  if (!array_reserve(&m->relocs, m->n_relocs + 1, &m->cap_relocs, sizeof *m->relocs)) {
    return err_nomem(p->e);
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
  TRY(emu_take_name(p, &name));
  if (emu_token_is(&name, "generic") && emu_accept(p, '(')) {
    TRY(emu_take_name(p, &name));
    TRY(emu_expect(p, ')'));
  }
  if (emu_accept(p, '+')) {
    TRY(emu_take_integer(p, &addend));
  }
  return add_reloc(p, var, offset, size, &name, addend);
}

static int parse_number(emu_parser *p, emu_type type, uint64_t *bits) {
  bool minus = emu_accept(p, '-');
  const emu_token *t = &p->lex.token;
  if (t->kind != TOKEN_INTEGER && t->kind != TOKEN_F32 && t->kind != TOKEN_F64) {
    return emu_unexpected(p, "a number");
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
  if (emu_accept(p, '{')) {
    if (++p->depth > 8) {
      return emu_fail(p, "lists are nested more than 8 deep");
    }
    while (!emu_accept(p, '}')) {
      TRY(parse_initial(p, var, type, to, nbytes, at));
      if (!emu_accept(p, ',') && !emu_lex_is(&p->lex, '}')) {
        return emu_unexpected(p, "',' or '}'");
      }
    }
    p->depth--;
    return 0;
  }
  if (*at + (uint64_t)size > nbytes) {
    return emu_fail(p, "the initialiser is longer than its variable");
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

static int parse_var(emu_parser *p, emu_declaration *d) {
  emu_token name;
  uint64_t n, at = 0;
  int index;
  TRY(emu_take_name(p, &name));
  TRY(parse_dimensions(p, &n));
  int size = emu_type_bytes(d->type) * d->vector;
  if (d->space == SPACE_param && p->f) {
    d->space = SPACE_frame;
  }
  TRY(add_var(p, &name, d, n * (uint64_t)size, &index));
  if (emu_accept(p, '=')) {
    uint8_t *init = arena_new(&p->m->memory, n * (uint64_t)size + 16);
    if (!init) {
      return err_nomem(p->e);
    }
    TRY(parse_initial(p, index, d->type, init, n * (uint64_t)size, &at));
    p->m->vars[index].init = init;
  }
  if (d->space == SPACE_frame || d->space == SPACE_local) {
    emu_var *v = &p->m->vars[index];
    if (!p->f) {
      return emu_fail(p, "a .local variable is declared outside a function");
    }
    v->address = (p->f->frame_nbytes + v->align - 1) / v->align * v->align;
    p->f->frame_nbytes = v->address + v->nbytes;
    if (p->f->frame_nbytes > LOCAL_MAX) {
      return emu_fail(p, "the function needs more than %d bytes of local memory per thread",
                      LOCAL_MAX);
    }
  }
  return 0;
}

int emu_declare_variables(emu_parser *p, emu_declaration *d) {
  d->vector = 1;
  TRY(parse_type(p, d));
  do {
    TRY(parse_var(p, d));
  } while (emu_accept(p, ','));
  return emu_expect(p, ';');
}

int emu_declare_regs(emu_parser *p) {
  emu_declaration d = {.vector = 1};
  TRY(parse_type(p, &d));
  do {
    emu_token name;
    uint64_t n = 0;
    int32_t first;
    TRY(emu_take_name(p, &name));
    if (emu_accept(p, '<')) {
      TRY(emu_take_integer(p, &n));
      TRY(emu_expect(p, '>'));
      if (n > INT_MAX) {
        return emu_fail(p, "too many registers");
      }
    }
    TRY(emu_build_reg(p, emu_type_bytes(d.type) * d.vector, n ? (int)n : 1, &first));
    TRY(emu_symbol_add(p, &name, (emu_symbol){SYMBOL_REG, first, (int)n}));
  } while (emu_accept(p, ','));
  return emu_expect(p, ';');
}

/* ---- parameters ---- */

static int param_var(emu_parser *p, emu_func *f, emu_param *param, uint64_t *at) {
  emu_declaration d = {.vector = 1};
  emu_token name, space;
  uint64_t n;
  int index;
  TRY(emu_take_name(p, &space));
  if (!emu_token_is(&space, ".param")) {
    return emu_fail(p, "a parameter is declared in '%.*s', not in .param", (int)space.n, space.p);
  }
  TRY(parse_type(p, &d));
  TRY(emu_take_name(p, &name));
  TRY(parse_dimensions(p, &n));
  d.space = f->entry ? SPACE_param : SPACE_frame;
  TRY(add_var(p, &name, &d, n * (uint64_t)emu_type_bytes(d.type), &index));
  emu_var *v = &p->m->vars[index];
  v->address = (*at + v->align - 1) / v->align * v->align;
  *at = v->address + v->nbytes;
  *param = (emu_param){v->address, v->nbytes};
  if (*at > PARAMS_NBYTES) {
    return emu_fail(p, "the parameters take more than %d bytes", PARAMS_NBYTES);
  }
  return 0;
}

int emu_declare_params(emu_parser *p, emu_func *f, emu_param **params, int *n, uint64_t *at) {
  emu_param list[PARAMS_MAX];
  *n = 0;
  while (!emu_accept(p, ')')) {
    if (*n == PARAMS_MAX) {
      return emu_fail(p, "more than %d parameters", PARAMS_MAX);
    }
    TRY(param_var(p, f, &list[(*n)++], at));
    if (!emu_accept(p, ',') && !emu_lex_is(&p->lex, ')')) {
      return emu_unexpected(p, "','");
    }
  }
  *params = ARENA_ARRAY(&p->m->memory, emu_param, (size_t)*n + 1);
  if (!*params) {
    return err_nomem(p->e);
  }
  memcpy(*params, list, sizeof *list * (size_t)*n);
  return 0;
}
