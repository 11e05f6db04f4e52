/* emu_function.c -- see emu_grammar.h. src: PTX ISA 9.0, chapter 11. */
#include "emu_grammar.h"

#include <stdlib.h>
#include <string.h>

#include "emu_build.h"

/* label: .branchtargets a, b, c; -- label: .callprototype ...; */
static int parse_labelled(emu_parser *p, const emu_token *label) {
  if (emu_token_is(&p->lex.token, ".callprototype") ||
      emu_token_is(&p->lex.token, ".calltargets")) {
    TRY(emu_symbol_add(p, label, (emu_symbol){SYMBOL_PROTO, 0, 0}));
    return emu_skip_statement(p);
  }
  emu_token names[1024];
  int n = 0;
  emu_lex_next(&p->lex);
  do {
    if (n == 1024) {
      return emu_fail(p, "more than 1024 branch targets");
    }
    TRY(emu_take_name(p, &names[n++]));
  } while (emu_accept(p, ','));
  emu_table table = {ARENA_ARRAY(&p->m->memory, int32_t, (size_t)n), n};
  if (!table.targets || !array_reserve(&p->tables, p->n_tables + 1, &p->cap_tables, sizeof table)) {
    return err_nomem(p->e);
  }
  for (int i = 0; i < n; i++) {
    TRY(emu_scope_fix(p, p->scope,
                      (emu_fix){names[i].p, names[i].n, 0, &table.targets[i], label->line}));
  }
  p->tables[p->n_tables++] = table;
  TRY(emu_symbol_add(p, label, (emu_symbol){SYMBOL_TABLE, p->n_tables - 1, 0}));
  return emu_expect(p, ';');
}

static int parse_label(emu_parser *p, const emu_token *label) {
  if (emu_token_is(&p->lex.token, ".branchtargets") ||
      emu_token_is(&p->lex.token, ".callprototype") ||
      emu_token_is(&p->lex.token, ".calltargets")) {
    return parse_labelled(p, label);
  }
  if (!emu_map_put(&p->scope->labels, label->p, label->n, p->f->n)) {
    return err_nomem(p->e);
  }
  return 0;
}

static int parse_body_directive(emu_parser *p, const emu_token *t) {
  emu_declaration d = {.align = 0};
  if (emu_token_is(t, ".reg")) {
    return emu_declare_regs(p);
  }
  if (emu_token_is(t, ".loc")) {
    return emu_loc_parse(p);
  }
  if (emu_token_is(t, ".pragma")) {
    return emu_skip_statement(p);
  }
  if (emu_space_of(t, &d.space)) {
    return emu_declare_variables(p, &d);
  }
  return emu_fail(p, "unsupported directive '%.*s'", (int)(t->n < 60 ? t->n : 60), t->p);
}

static int parse_statement(emu_parser *p) {
  emu_statement *s = &p->statement;
  emu_token t;
  s->guard = EMU_NONE;
  if (emu_accept(p, '@')) {
    TRY(emu_statement_guard(p));
  }
  TRY(emu_take_name(p, &t));
  if (*t.p == '.') {
    return parse_body_directive(p, &t);
  }
  if (emu_accept(p, ':')) {
    return parse_label(p, &t);
  }
  return emu_statement_instruction(p, &t);
}

static int parse_body(emu_parser *p) {
  int depth = 0;
  while (depth >= 0) {
    if (emu_accept(p, '{')) {
      if (++depth > 100) {
        return emu_fail(p, "blocks are nested more than 100 deep");
      }
      TRY(emu_scope_open(p));
    } else if (emu_lex_is(&p->lex, '}')) {
      if (depth-- == 0) {
        break;
      }
      emu_lex_next(&p->lex);
      TRY(emu_scope_close(p));
    } else if (p->lex.token.kind == TOKEN_END) {
      return emu_unexpected(p, "'}'");
    } else if (!emu_accept(p, ';')) {
      TRY(parse_statement(p));
    }
  }
  return 0;
}

/* ---- functions ---- */

static int three_numbers(emu_parser *p, int v[3]) {
  for (int i = 0; i < 3; i++) {
    uint64_t one = 1;
    if (i == 0 || emu_accept(p, ',')) {
      TRY(emu_take_integer(p, &one));
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
      TRY(emu_skip_statement(p));
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
  if (!f || !array_reserve(&m->funcs, m->n_funcs + 1, &m->cap_funcs, sizeof *m->funcs)) {
    return err_nomem(p->e);
  }
  f->name = arena_text_n(&m->memory, name->p, name->n);
  f->entry = entry;
  f->line = name->line;
  m->funcs[m->n_funcs] = f;
  p->f_index = m->n_funcs++;
  return f->name ? emu_symbol_add(p, name, (emu_symbol){SYMBOL_FUNC, p->f_index, 0})
                 : err_nomem(p->e);
}

static int parse_code(emu_parser *p, emu_func *f) {
  TRY(emu_build_start(p, f));
  TRY(parse_body(p));
  return emu_build_end(p);
}

/* Move to the brace that closes the body; false: there is none. */
static bool skip_body(emu_parser *p) {
  for (int depth = 0; p->lex.token.kind != TOKEN_END; emu_lex_next(&p->lex)) {
    depth += emu_lex_is(&p->lex, '{');
    if (emu_lex_is(&p->lex, '}') && depth-- == 0) {
      return true;
    }
  }
  return false;
}

/* what a body adds to the module and the parser */
typedef struct mark {
  emu_lexer lex;
  emu_scope *scope;
  int n_vars, n_relocs, n_fixups, depth;
} mark;

static mark mark_of(const emu_parser *p) {
  return (mark){p->lex, p->scope, p->m->n_vars, p->m->n_relocs, p->m->n_fixups, p->depth};
}

/* Drop what is known of a body that cannot be run. */
static void go_back(emu_parser *p, const mark *to) {
  while (p->scope != to->scope) {
    emu_scope *up = p->scope->up;
    emu_scope_clear(p->scope);
    free(p->scope);
    p->scope = up;
  }
  p->scope->n_fixes = 0;
  p->lex = to->lex;
  p->m->n_vars = to->n_vars;
  p->m->n_relocs = to->n_relocs;
  p->m->n_fixups = to->n_fixups;
  p->depth = to->depth;
  emu_build_discard(p);
}

/* A body that cannot be run refuses the kernels that reach it, not the whole module. */
static int parse_defined(emu_parser *p, emu_func *f) {
  err *outer = p->e, why = {0};
  if (f->defined) {
    return emu_fail(p, "'%s' is defined twice", f->name);
  }
  emu_lex_next(&p->lex);
  const mark start = mark_of(p);
  p->e = &why;
  const int rc = parse_code(p, f);
  p->e = outer;
  if (rc != ERR_COMPILE) {
    return err_copy(p->e, rc, &why);
  }
  go_back(p, &start);
  if (!skip_body(p)) {
    return err_copy(p->e, rc, &why);
  }
  f->refused = arena_text(&p->m->memory, why.message);
  f->refused_at = arena_text(&p->m->memory, why.place);
  return f->refused && f->refused_at ? 0 : err_nomem(p->e);
}

int emu_function_parse(emu_parser *p, bool entry) {
  emu_func *f, unnamed = {.entry = entry};
  emu_token name;
  uint64_t at = 0;
  emu_param *results = NULL;
  int n_results = 0;
  TRY(emu_scope_open(p));
  if (emu_accept(p, '(')) {
    TRY(emu_declare_params(p, &unnamed, &results, &n_results, &at));
  }
  TRY(emu_take_name(p, &name));
  emu_scope *inner = p->scope;
  p->scope = &p->top;
  int rc = find_or_add_func(p, &name, entry);
  p->scope = inner;
  TRY(rc);
  f = p->m->funcs[p->f_index];
  f->results = results;
  f->n_results = n_results;
  if (emu_accept(p, '(')) {
    TRY(emu_declare_params(p, f, &f->params, &f->n_params, &at));
  }
  f->params_nbytes = entry ? at : 0;
  f->frame_nbytes = entry ? 0 : at;
  TRY(parse_performance(p, f));
  if (emu_lex_is(&p->lex, '{')) {
    TRY(parse_defined(p, f));
    rc = emu_scope_close(p);
    p->f = NULL;
    TRY(rc);
    return emu_expect(p, '}');
  }
  TRY(emu_scope_close(p));
  return emu_expect(p, ';');
}
