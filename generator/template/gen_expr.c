#include "gen_expr.h"

#include <string.h>

gen_expr *gen_expr_new(gen_box *b, arena *a, const char *text, gen_line at,
                       const gen_symbols *symbols, unsigned kinds) {
  const expr_scope scope = {symbols, kinds};
  gen_expr *x = arena_new(a, sizeof *x);
  err e = {0};
  str_reset(&b->scratch);
  at.expression = text;
  int rc = x ? expr_parse(&scope, a, text, &b->scratch, &x->tree, &e) : err_nomem(&e);
  if (rc) {
    gen_fail(b, rc, at, "%s", e.message);
  }
  x->text = at.expression = arena_text(a, str_text(&b->scratch));
  x->at = at;
  expr_reads(x->tree, &x->reads);
  if (!x->text) {
    gen_fail(b, ERR_NOMEM, at, "out of memory");
  }
  return x;
}

const gen_expr *gen_expr_need(gen_box *b, const gen_expr *x, unsigned types) {
  if (!(x->tree->types & types)) {
    gen_fail(b, ERR_TEMPLATE, x->at, "%s is needed, not %s", expr_describe(types),
             expr_describe(x->tree->types));
  }
  return x;
}

void gen_expr_fail(gen_box *b, const gen_expr *x, const expr_env *env) {
  char why[200];
  expr_explain(x->tree, env, why, sizeof why);
  gen_fail(b, ERR_TEMPLATE, x->at, "%s", why);
}

expr_value gen_expr_value(gen_box *b, const gen_expr *x) {
  expr_value v;
  if (!expr_eval(x->tree, b->env, &v)) {
    gen_expr_fail(b, x, b->env);
  }
  return expr_whole(&v);
}

void gen_expr_fail_type(gen_box *b, const gen_expr *x, const expr_value *v, const char *wanted) {
  switch (v->type) {
  case EXPR_CONDITION: gen_fail(b, ERR_TEMPLATE, x->at, "%s is needed, not a condition", wanted);
  case EXPR_TEXT: gen_fail(b, ERR_TEMPLATE, x->at, "%s is needed, not '%s'", wanted, v->s);
  default: gen_fail(b, ERR_TEMPLATE, x->at, "%s is needed, not %.17g", wanted, expr_number(v));
  }
}

int64_t gen_expr_integer(gen_box *b, const gen_expr *x) {
  const expr_value v = gen_expr_value(b, x);
  if (v.type != EXPR_INTEGER) {
    gen_expr_fail_type(b, x, &v, "a whole number");
  }
  return v.i;
}

double gen_expr_real(gen_box *b, const gen_expr *x) {
  const expr_value v = gen_expr_value(b, x);
  if (!(v.type & EXPR_NUMBER)) {
    gen_expr_fail_type(b, x, &v, "a number");
  }
  return expr_number(&v);
}

bool gen_expr_condition(gen_box *b, const gen_expr *x) {
  const expr_value v = gen_expr_value(b, x);
  if (v.type != EXPR_CONDITION) {
    gen_expr_fail_type(b, x, &v, "a condition");
  }
  return v.yes;
}
