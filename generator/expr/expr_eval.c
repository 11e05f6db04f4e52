#include <stdio.h>

#include "expr.h"

static const expr_value *named(const expr_node *x, const expr_env *env) {
  const expr_value *values = env->values[x->op];
  return values && values[x->index].type ? &values[x->index] : NULL;
}

bool expr_eval(const expr_node *x, const expr_env *env, expr_value *out) {
  expr_value v[3];
  const expr_value *n;
  switch (x->op) {
  case EXPR_VALUE: *out = x->value; return true;
  case EXPR_FIELD:
  case EXPR_PARAM:
  case EXPR_DERIVED:
  case EXPR_DEVICE:
  case EXPR_SCALAR:
  case EXPR_PART:
    n = named(x, env);
    *out = n ? *n : (expr_value){0};
    return n;
  case EXPR_NAME: return false;
  case EXPR_OR:
  case EXPR_AND:
    return expr_eval(x->kids[0], env, out) &&
           (expr_true(out) == (x->op == EXPR_OR) || expr_eval(x->kids[1], env, out));
  default: break;
  }
  for (unsigned i = 0; i < x->n; i++) {
    if (!expr_eval(x->kids[i], env, &v[i])) {
      return false;
    }
  }
  if (x->n == 2 && (v[0].type & v[1].type) == EXPR_INTEGER &&
      expr_apply_integers(x->op, v[0].i, v[1].i, out)) {
    return true;
  }
  return expr_apply(x->op, v, out);
}

void expr_explain(const expr_node *x, const expr_env *env, char *out, size_t size) {
  expr_value v[3];
  uint8_t types[3] = {0};
  if (x->op <= EXPR_NAME) {
    snprintf(out, size, "'%s' has no value here", x->name);
    return;
  }
  for (unsigned i = 0; i < x->n; i++) {
    if (!expr_eval(x->kids[i], env, &v[i])) {
      expr_explain(x->kids[i], env, out, size);
      return;
    }
    types[i] = (uint8_t)v[i].type;
  }
  expr_complaint(x->op, v, types, out, size);
}

void expr_reads(const expr_node *x, gen_names *out) {
  uint64_t *const bits[] = {[EXPR_FIELD] = &out->fields,
                            [EXPR_PARAM] = &out->params,
                            [EXPR_DERIVED] = &out->derived,
                            [EXPR_DEVICE] = &out->device,
                            [EXPR_SCALAR] = &out->scalars};
  if (x->op <= EXPR_SCALAR) {
    out->kinds |= x->kind;
    *bits[x->op] |= UINT64_C(1) << x->index;
  }
  for (unsigned i = 0; i < x->n; i++) {
    expr_reads(x->kids[i], out);
  }
}
