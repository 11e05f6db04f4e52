/* emu_parser.c -- see emu_parser.h. src: PTX ISA 9.0, chapter 4. */
#include "emu_parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int emu_fail(emu_parser *p, const char *format, ...) {
  char text[400], place[40];
  va_list ap;
  va_start(ap, format);
  vsnprintf(text, sizeof text, format, ap);
  va_end(ap);
  snprintf(place, sizeof place, "PTX line %d", p->lex.token.line);
  return err_at(p->e, ERR_COMPILE, place, "%s", text);
}

int emu_unexpected(emu_parser *p, const char *wanted) {
  const emu_token *t = &p->lex.token;
  if (t->kind == TOKEN_END) {
    return emu_fail(p, "the PTX ends, expected %s", wanted);
  }
  return emu_fail(p, "expected %s, found '%.*s'", wanted, (int)(t->n < 60 ? t->n : 60), t->p);
}

int emu_expect(emu_parser *p, char mark) {
  char text[4] = {'\'', mark, '\'', 0};
  if (!emu_lex_is(&p->lex, mark)) {
    return emu_unexpected(p, text);
  }
  emu_lex_next(&p->lex);
  return 0;
}

bool emu_accept(emu_parser *p, char mark) {
  bool is = emu_lex_is(&p->lex, mark);
  if (is) {
    emu_lex_next(&p->lex);
  }
  return is;
}

int emu_take_name(emu_parser *p, emu_token *name) {
  *name = p->lex.token;
  if (name->kind != TOKEN_WORD) {
    return emu_unexpected(p, "a name");
  }
  emu_lex_next(&p->lex);
  return 0;
}

int emu_take_integer(emu_parser *p, uint64_t *value) {
  bool minus = emu_accept(p, '-');
  if (p->lex.token.kind != TOKEN_INTEGER) {
    return emu_unexpected(p, "an integer");
  }
  *value = minus ? -p->lex.token.value : p->lex.token.value;
  emu_lex_next(&p->lex);
  return 0;
}

int emu_skip_statement(emu_parser *p) {
  while (p->lex.token.kind != TOKEN_END && !emu_lex_is(&p->lex, ';')) {
    emu_lex_next(&p->lex);
  }
  return emu_expect(p, ';');
}

/* ---- scopes ---- */

void emu_scope_clear(emu_scope *s) {
  emu_map_clear(&s->names);
  emu_map_clear(&s->labels);
  free(s->fixes);
  *s = (emu_scope){0};
}

int emu_scope_open(emu_parser *p) {
  emu_scope *s = calloc(1, sizeof *s);
  if (!s) {
    return err_nomem(p->e);
  }
  s->up = p->scope;
  p->scope = s;
  return 0;
}

int emu_scope_fix(emu_parser *p, emu_scope *s, emu_fix fix) {
  if (!array_reserve(&s->fixes, s->n_fixes + 1, &s->cap_fixes, sizeof fix)) {
    return err_nomem(p->e);
  }
  s->fixes[s->n_fixes++] = fix;
  return 0;
}

/* The scope's labels are known now; unresolved uses may belong to the enclosing scope. */
int emu_scope_close(emu_parser *p) {
  emu_scope *s = p->scope, *up = s->up;
  int rc = 0;
  for (int i = 0; i < s->n_fixes && !rc; i++) {
    emu_fix *fix = &s->fixes[i];
    int32_t pc = emu_map_get(&s->labels, fix->p, fix->n);
    if (pc >= 0) {
      *(fix->to ? fix->to : &p->f->code[fix->pc].target) = pc;
    } else if (up != &p->top) {
      rc = emu_scope_fix(p, up, *fix);
    } else {
      p->lex.token.line = fix->line;
      rc = emu_fail(p, "label '%.*s' is not defined", (int)fix->n, fix->p);
    }
  }
  p->scope = up;
  emu_scope_clear(s);
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

int emu_symbol_add(emu_parser *p, const emu_token *name, emu_symbol symbol) {
  if (!array_reserve(&p->symbols, p->n_symbols + 1, &p->cap_symbols, sizeof symbol) ||
      !emu_map_put(&p->scope->names, name->p, name->n, p->n_symbols)) {
    return err_nomem(p->e);
  }
  p->symbols[p->n_symbols++] = symbol;
  return 0;
}
