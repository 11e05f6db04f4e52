/* fuzz_expr.c -- libFuzzer target: an expression is parsed, evaluated with several values of its
 * names, and printed as C. Its text on one line has the same values. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { NAMES = 4 };

static const char *name_of(void *ud, const char *name) {
  (void)ud;
  return name;
}

static void open_symbols(gen_symbols *s) {
  static const char *const names[NAMES] = {"n", "m", "t", "x"};
  for (uint32_t i = 0; i < NAMES; i++) {
    gen_symbol_add(s, names[i], GEN_SYMBOL_FIELD, i);
  }
}

static bool same(const expr_value *a, const expr_value *b) {
  return a->type == b->type && (a->type != EXPR_INTEGER || a->i == b->i);
}

static void evaluate(const expr_node *a, const expr_node *b) {
  const expr_value rows[][NAMES] = {
      {expr_integer(0), expr_integer(-1), expr_text("n"), expr_real(0.5)},
      {expr_integer(1000), expr_integer(INT64_MAX), expr_text(""), expr_real(1e308)},
      {expr_integer(INT64_MIN), expr_integer(7), expr_text("t"), expr_real(-0.0)}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    expr_env env = {{NULL}};
    expr_value x, y;
    char why[200];
    for (size_t k = 0; k < EXPR_N_SOURCES; k++) {
      env.values[k] = rows[i];
    }
    const bool has = expr_eval(a, &env, &x), also = expr_eval(b, &env, &y);
    if (has != also || (has && !same(&x, &y))) {
      abort();
    }
    if (!has) {
      expr_explain(a, &env, why, sizeof why);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  gen_symbols symbols = {0};
  arena a = {0};
  str line = {0}, c = {0};
  const expr_node *x, *y;
  err e = {0};
  open_symbols(&symbols);
  const expr_scope scope = {&symbols, GEN_READS_PROBLEM};
  char *text = arena_text_n(&a, (const char *)data, n);
  if (text && !expr_parse(&scope, &a, text, &line, &x, &e)) {
    if (expr_parse(&scope, &a, str_text(&line), NULL, &y, &e)) {
      abort();
    }
    gen_names reads = {0};
    expr_reads(x, &reads);
    evaluate(x, y);
    expr_print_c(x, NULL, name_of, NULL, &c, &e);
  }
  str_clear(&line);
  str_clear(&c);
  arena_clear(&a);
  return 0;
}
