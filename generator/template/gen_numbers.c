/* Values of a template's expressions for an instance: numbers, conditions, elements as bits. */
#include <math.h>

#include "gen_numbers.h"

void *gen_new(gen_instance *g, arena *a, size_t nbytes) {
  void *p = arena_new(a, nbytes);
  if (!p) {
    gen_fail(&g->t->box, ERR_NOMEM, g->t->box.home, "out of memory");
  }
  return p;
}

double gen_real(gen_instance *g, const gen_expr *x) {
  gen_derive_for(g, x);
  return gen_expr_real(&g->t->box, x);
}

bool gen_holds(gen_instance *g, const gen_expr *x) {
  gen_derive_for(g, x);
  return gen_expr_condition(&g->t->box, x);
}

int64_t gen_bounded(gen_instance *g, const gen_expr *x, int64_t least, int64_t most,
                    const char *what) {
  gen_derive_for(g, x);
  int64_t v = gen_expr_integer(&g->t->box, x);
  if (v < least || v > most) {
    gen_fail(&g->t->box, ERR_TEMPLATE, x->at, "%s is %lld; it can be %lld to %lld", what,
             (long long)v, (long long)least, (long long)most);
  }
  return v;
}

static bool fits(dtype type, int64_t v) {
  size_t nbits = 8 * dtype_nbytes(type);
  if (dtype_is_signed(type)) {
    return nbits == 64 || (v >= -(INT64_C(1) << (nbits - 1)) && v < INT64_C(1) << (nbits - 1));
  }
  return v >= 0 && (nbits == 64 || v < INT64_C(1) << nbits);
}

uint64_t gen_encode(gen_instance *g, const gen_expr *x, const expr_value *v, dtype type) {
  gen_box *b = &g->t->box;
  if (dtype_is_float(type)) {
    return dtype_encode(type, expr_number(v));
  }
  if (v->type != EXPR_INTEGER || !fits(type, v->i)) {
    gen_fail(b, ERR_TEMPLATE, x->at, "%.17g does not fit %s", expr_number(v), dtype_name(type));
  }
  size_t nbits = 8 * dtype_nbytes(type);
  return nbits == 64 ? (uint64_t)v->i : (uint64_t)v->i & ((UINT64_C(1) << nbits) - 1);
}

uint64_t gen_scalar(gen_instance *g, const gen_expr *x, gen_element element) {
  gen_real(g, x); /* numbers only */
  const expr_value v = gen_expr_value(&g->t->box, x);
  return gen_encode(g, x, &v, gen_element_type(g, element));
}

uint64_t gen_nbytes(gen_instance *g, const gen_expr *count, dtype type) {
  int64_t max = INT64_MAX / (int64_t)dtype_nbytes(type);
  return (uint64_t)gen_bounded(g, count, 0, max, "the count") * dtype_nbytes(type);
}

double gen_tolerance_value(gen_instance *g, const gen_expr *x) {
  double v = gen_real(g, x);
  if (!(v >= 0) || isinf(v)) {
    gen_fail(&g->t->box, ERR_TEMPLATE, x->at, "a tolerance of %g", v);
  }
  return v;
}
