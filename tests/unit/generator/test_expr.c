/* test_expr.c -- expressions against Lua: the same value, or both an error; what the parser refuses
 * and what of an expression can be known early. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>

#include "check.h"
#include "expr_fold.h"
#include "expr_parts.h"
#include "lua_oracle.h"
#include "random_expr.h"
#include "gen.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* Either zero: Lua 5.4 computes x - 0 as x + 0. */
static bool equal(const expr_value *a, const expr_value *b) {
  const bool reals = a->type == EXPR_REAL && b->type == EXPR_REAL;
  return reals ? a->d == b->d || (isnan(a->d) && isnan(b->d)) : expr_same(a, b);
}

typedef struct world { /* values of the names */
  expr_value fields[3], params[3], derived[2], device[2];
  expr_env env;
} world;

static expr_value random_value(void) {
  static const int64_t integers[] = {0,
                                     1,
                                     -1,
                                     5,
                                     6,
                                     63,
                                     64,
                                     1000,
                                     INT64_C(1) << 53,
                                     INT64_C(1) << 62,
                                     INT64_MIN,
                                     INT64_MAX,
                                     (INT64_C(1) << 53) + 1};
  static const double reals[] = {0.0, -0.0, 0.5, -2.5, 3.0, 0x1p53, 0x1p63, -0x1p63, 1e300};
  static const char *const texts[] = {"a", "b", "7", ""};
  switch (draw(12)) {
  case 0: return expr_real(reals[draw(sizeof reals / sizeof *reals)]);
  case 1: return expr_text(texts[draw(4)]);
  case 2: return expr_condition(draw(2));
  default: return expr_integer(integers[draw(sizeof integers / sizeof *integers)]);
  }
}

/* wild: of any type, whatever the name usually holds */
static void random_world(world *w, bool wild) {
  const expr_value *values[EXPR_N_SOURCES] = {[EXPR_FIELD] = w->fields,
                                              [EXPR_PARAM] = w->params,
                                              [EXPR_DERIVED] = w->derived,
                                              [EXPR_DEVICE] = w->device};
  for (size_t i = 0; i < 3; i++) {
    w->fields[i] = random_value();
    w->params[i] = random_value();
  }
  w->derived[0] = random_value();
  w->derived[1] = random_value();
  w->device[1] = expr_integer(132);
  for (size_t i = 0; i < N_RANDOM_NAMES && !wild; i++) {
    static const expr_op ops[] = {[GEN_SYMBOL_FIELD] = EXPR_FIELD,
                                  [GEN_SYMBOL_PARAM] = EXPR_PARAM,
                                  [GEN_SYMBOL_DERIVED] = EXPR_DERIVED,
                                  [GEN_SYMBOL_DEVICE] = EXPR_DEVICE};
    const struct random_name *x = &random_names[i];
    expr_value *v = (expr_value *)&values[ops[x->kind]][x->index];
    while (v->type != x->types) {
      *v = random_value();
    }
  }
  memcpy(w->env.values, values, sizeof values);
}

static void set_globals(lua_State *L, const world *w) {
  static const char *const fields[] = {"n", "m", "kind"}, *const params[] = {"P", "Q", "MODE"};
  for (size_t i = 0; i < 3; i++) {
    set_global(L, fields[i], &w->fields[i]);
    set_global(L, params[i], &w->params[i]);
  }
  set_global(L, "D", &w->derived[0]);
  set_global(L, "E", &w->derived[1]);
  set_global(L, "dev_sms", &w->device[1]);
}

typedef struct tally {
  size_t numbers, conditions, texts, errors, refused;
} tally;

static void count(tally *n, bool ok, const expr_value *v) {
  n->errors += !ok;
  n->numbers += ok && v->type & EXPR_NUMBER;
  n->conditions += ok && v->type == EXPR_CONDITION;
  n->texts += ok && v->type == EXPR_TEXT;
}

static void compare(lua_State *L, const expr_node *x, const char *text, const world *w, tally *n) {
  expr_value ours = {0}, lua = {0};
  char why[200] = "";
  const bool ok = expr_eval(x, &w->env, &ours), lua_ok = lua_value(L, text, &lua);
  if (!ok) {
    expr_explain(x, &w->env, why, sizeof why);
    assert_true(why[0]);
  }
  if (ok != lua_ok || (ok && !equal(&ours, &lua))) {
    fail_msg("%s: Lua %s, ours type %d %lld %g '%s', with n=%lld", text,
             lua_ok ? luaL_tolstring(L, -1, NULL) : lua_tostring(L, -1), ours.type,
             (long long)ours.i, ours.d, why, (long long)w->fields[0].i);
  }
  count(n, ok, &ours);
}

TEST(values_are_what_lua_says) {
  lua_State *L = open_lua();
  gen_symbols symbols;
  tally n = {0};
  world w = {0};
  auto_str text = {0};
  arena a = {0};
  for (int i = 0; i < 30000; i++) {
    const expr_node *x;
    random_symbols(&symbols, i % 2);
    n.refused += random_expr(&symbols, draw(2), 1 + (int)draw(4), &a, &text, &x);
    for (int k = 0; k < 3; k++) {
      random_world(&w, i % 2 && k);
      set_globals(L, &w);
      compare(L, x, str_text(&text), &w, &n);
    }
    str_reset(&text);
    arena_clear(&a);
  }
  lua_close(L);
  if (n.numbers < 10000 || n.conditions < 10000 || n.errors < 10000 || n.refused > 30000) {
    fail_msg("%zu numbers, %zu conditions, %zu texts, %zu errors, %zu refused", n.numbers,
             n.conditions, n.texts, n.errors, n.refused);
  }
}

static const char *const numerals_and_binding[] = {
    "0x7fffffffffffffff + 1",
    "0xffffffffffffffff",
    "0x1ffffffffffffffff",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "1e2",
    ".5",
    "5.",
    "0x.8p1",
    "0xA",
    "1e-3",
    "3e0",
    "1//0.0",
    "-7 // 2",
    "-7 % 3",
    "7 % -3",
    "-7.5 % 2",
    "5 % (1/0)",
    "-5 % (1/0)",
    "5.0 // 0",
    "0/0 == 0/0",
    "0/0 < 1",
    "2^53 == 2^53 + 1",
    "9007199254740993 == 9007199254740992.0",
    "9007199254740993 < 9007199254740992.0",
    "0x7fffffffffffffff < 2^63",
    "0x7fffffffffffffff >= 2^63",
    "1 << 63 << 1",
    "1 << -1",
    "-1 >> 1",
    "1 << 64",
    "3.0 | 1",
    "~7.0",
    "2^3^2",
    "-2^2",
    "not 1 == 2",
    "1 .5",
    "1 or 1 // 0",
    "false and 1 // 0",
    "false or 'a'",
    "1 and 2 or 3",
    "1 | 2 ~ 3 & 5 << 1",
    "1 + 2 < 4 == true",
    "'a' < 'b'",
    "'' < 'a'",
    "'\\n' == '\\10'",
    "'it\\'s' == \"it's\"",
    "[[a]] == 'a'",
    "[==[a]==] == 'a'",
    "- - 3",
    "~ ~ 3",
    "not not 3",
    "3 -- three\n+ 1",
    "3 --[[ three ]] + 1",
};

TEST(numerals_and_binding_are_lua_s) {
  static const expr_scope anything;
  lua_State *L = open_lua();
  auto_arena a = {0};
  for (size_t i = 0; i < sizeof numerals_and_binding / sizeof *numerals_and_binding; i++) {
    const char *text = numerals_and_binding[i];
    const expr_node *x;
    tally n = {0};
    lua_settop(L, 0);
    lua_pushfstring(L, "return (%s)", text);
    const bool lua_ok = !luaL_loadstring(L, lua_tostring(L, 1));
    const bool ok = !expr_parse(&anything, &a, text, NULL, &x, NULL);
    if (ok && !lua_ok) {
      fail_msg("Lua refuses %s", text);
    }
    if (ok) {
      compare(L, x, text, &(world){0}, &n);
    } else if (lua_ok && !strstr(text, "\\10")) { /* the only escape that is not supported */
      fail_msg("%s is refused", text);
    }
  }
  lua_close(L);
}

/* Random sequences of tokens: what is accepted, Lua accepts. */
TEST(what_parses_is_lua) {
  static const char *const tokens[] = {"a ",    "b ",    "1 ",    "2.5 ", "( ",   ") ",   "+ ",
                                       "- ",    "* ",    "// ",   "< ",   "== ",  "and ", "or ",
                                       "not ",  "min( ", "sel( ", ", ",   "'t' ", "~ ",   "^ ",
                                       "true ", "0x ",   "; ",    ".. ",  "= "};
  static const expr_scope anything;
  lua_State *L = open_lua();
  arena a = {0};
  size_t accepted = 0;
  for (int i = 0; i < 100000; i++) {
    char text[256] = "return (", *at = text + 8;
    const expr_node *x;
    for (int n = 1 + i % 8; n > 0; n--) {
      strcat(text, tokens[draw(sizeof tokens / sizeof *tokens)]);
    }
    if (!expr_parse(&anything, &a, at, NULL, &x, NULL)) {
      accepted++;
      strcat(text, ")");
      if (luaL_loadstring(L, text)) {
        fail_msg("Lua refuses %s", text);
      }
      lua_settop(L, 0);
    }
    arena_clear(&a);
  }
  lua_close(L);
  assert_true(accepted > 1000);
}

/* An expression of the greatest length is evaluated without exhausting the stack. */
TEST(long_chains_end) {
  static const expr_scope anything;
  enum { MOST = 10000 };
  for (int n = MOST; n <= MOST + 1; n++) {
    auto_arena a = {0};
    auto_str text = {0};
    err e = {0};
    expr_value v;
    const expr_node *x;
    str_add(&text, "0");
    for (int i = 0; i < n; i++) {
      str_add(&text, "+1");
    }
    const int rc = expr_parse(&anything, &a, str_text(&text), NULL, &x, &e);
    assert_int_equal(rc, n > MOST ? ERR_TEMPLATE : 0);
    if (rc) {
      assert_non_null(strstr(e.message, "more than 10000 operations"));
    } else {
      assert_true(expr_eval(x, &(expr_env){{NULL}}, &v) && v.i == n);
    }
  }
}

/* ---- partial values and parts ---------------------------------------------------------------- */

static expr_folded folded_derived(void *ud, uint32_t i) {
  const world *w = ud;
  return (expr_folded){.is_constant = true, .value = w->derived[i]};
}

/* Folding with everything known but the fields, then computing, gives the value of evaluating at
 * once. */
static void compare_folded(const expr_node *x, const char *text, tally *n) {
  world w = {0};
  random_world(&w, false);
  expr_fold f = {.env = {.values = {[EXPR_PARAM] = w.params, [EXPR_DEVICE] = w.device}},
                 .derived = folded_derived,
                 .ud = &w};
  assert_int_equal(expr_fold_init(&f, NULL), 0);
  const expr_folded folded = expr_fold_tree(&f, x);
  const expr_partial p = expr_fold_partial(&f, &folded);
  for (int k = 0; k < 3; k++) {
    world other = {0};
    expr_value v = {0};
    random_world(&other, false);
    memcpy(w.fields, other.fields, sizeof w.fields);
    expr_fold_fields(&f, w.fields);
    const bool ok = expr_eval(x, &w.env, &v);
    const expr_value *partial = expr_partial_value(&f, p);
    if (ok != (partial != NULL) || (ok && !equal(partial, &v)) ||
        (!ok && !expr_fold_fails(&f, &folded))) {
      fail_msg("%s: has %svalue, folded %svalue", text, ok ? "a " : "no ", partial ? "a " : "no ");
    }
    count(n, ok, &v);
  }
  expr_fold_clear(&f);
}

TEST(partial_values_are_the_values) {
  gen_symbols symbols;
  tally n = {0};
  auto_str text = {0};
  random_symbols(&symbols, false);
  for (int i = 0; i < 4000; i++) {
    auto_arena a = {0};
    const expr_node *x;
    random_expr(&symbols, draw(2), 4, &a, &text, &x);
    compare_folded(x, str_text(&text), &n);
    str_reset(&text);
  }
  assert_true(n.numbers > 1000 && n.conditions > 1000 && n.errors > 1000);
}

enum { MAX_PARTS = 200 };

typedef struct found {
  expr_terms *terms;
  const expr_node *parts[MAX_PARTS];
  size_t n;
} found;

static void add_part(void *ud, const expr_part *part) {
  found *f = ud;
  const expr_node *tree = expr_part_tree(f->terms, part, NULL);
  for (size_t i = 0; i < f->n; i++) {
    if (f->parts[i] == tree) {
      return;
    }
  }
  assert_true(tree && f->n < MAX_PARTS);
  f->parts[f->n++] = tree;
}

/* Computing the parts that depend on a few parameters first, and the rest without these, gives the
 * same value. */
static void compare_parts(arena *a, const expr_node *x, const char *text, tally *n) {
  const expr_node *const trees[] = {x, x}; /* the expressions here read no derived values */
  expr_terms terms = {.a = a, .trees = trees};
  const expr_term *term = expr_term_new(&terms, x);
  const uint64_t known = draw(8);
  found f = {.terms = &terms};
  world w = {0};
  expr_value values[MAX_PARTS], v = {0}, by_parts = {0};
  expr_parts(term, known, add_part, &f);
  const expr_held held = {known, f.parts, f.n};
  const expr_node *tree = expr_part_tree(&terms, &(expr_part){term, UINT64_MAX, false}, &held);
  random_world(&w, false);
  const bool ok = expr_eval(x, &w.env, &v);
  bool parts_ok = true;
  for (size_t i = 0; i < f.n; i++) {
    parts_ok = parts_ok && expr_eval(f.parts[i], &w.env, &values[i]);
  }
  for (size_t i = 0; i < 3; i++) {
    if (known >> i & 1) {
      w.params[i].type = EXPR_NOTHING;
    }
  }
  w.env.values[EXPR_PART] = values;
  parts_ok = parts_ok && expr_eval(tree, &w.env, &by_parts);
  if (ok != parts_ok || (ok && !equal(&v, &by_parts))) {
    fail_msg("%s: by parts %d, %lld, not %d, %lld", text, parts_ok, (long long)by_parts.i, ok,
             (long long)v.i);
  }
  count(n, ok, &v);
  expr_terms_clear(&terms);
}

TEST(parts_make_the_whole) {
  gen_symbols symbols;
  tally n = {0};
  auto_str text = {0};
  random_symbols(&symbols, false);
  for (int i = 0; i < 10000; i++) {
    auto_arena a = {0};
    gen_names reads = {0};
    const expr_node *x;
    random_expr(&symbols, draw(2), 4, &a, &text, &x);
    expr_reads(x, &reads);
    if (!reads.derived) {
      compare_parts(&a, x, str_text(&text), &n);
    }
    str_reset(&text);
  }
  assert_true(n.numbers > 1000 && n.conditions > 1000 && n.errors > 500);
}

int main(void) {
  return tests_run();
}
