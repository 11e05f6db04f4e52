/* test_feasibility_cache.c -- for thousands of problems the cached requirements agree with Lua, and
 * partial values and whole portfolios agree with the generator. */
#define _GNU_SOURCE
#include <math.h>

#include "serve_find.h"
#include "gen_fixture.h"
#include "gen_fold.h"
#include "lua_oracle.h"
#include "random_expr.h"
#include "adapt.h"
#include "feasibility_cache.h"

/* ---- random problems and configurations ------------------------------------------------------ */

static int64_t draw_value(const gen_field *f) {
  if (f->names) {
    return draw((uint32_t)f->n_names);
  }
  if (f->n_choices) {
    return f->choices[draw((uint32_t)f->n_choices)];
  }
  const int64_t v = (int64_t)exp2(draw(140) / 10.0) - draw(2);
  return v < f->min ? f->min : v > f->max ? f->max : v;
}

/* Many fields keep their defaults, so that most problems are ordinary ones. */
static void draw_problem(gen_template *t, gen_problem *p) {
  bool given[GEN_MAX_FIELDS];
  err e = {0};
  do {
    for (size_t i = 0; i < t->n_fields; i++) {
      given[i] = i < 3 || draw(4) == 0;
      p->values[i] = (gen_value){.i = draw_value(&t->fields[i])};
    }
  } while (gen_problem_complete(t, p, given, &e));
}

static gen_instance *bind(gen_template *t, const gen_problem *p) {
  gen_instance *g;
  err e = {0};
  assert_ok(gen_instance_new(t, p, h200, N_H200, &g, &e), &e);
  return g;
}

/* The default with a few parameters changed, or all of them random. */
static void draw_config(const gen_template *t, gen_config *c) {
  const bool wild = draw(4) == 0;
  gen_config_default(t, c);
  for (size_t i = 0; i < t->n_params; i++) {
    if (wild || draw((uint32_t)t->n_params) < 3) {
      c->index[i] = (uint16_t)draw((uint32_t)t->params[i].n);
    }
  }
}

/* ---- expressions of all kinds --------------------------------------------------------------- */

enum { QUESTIONS = 40 };

/* A template with random requirements. */
static void add_template(str *s) {
  gen_symbols symbols;
  arena a = {0};
  str_add(s,
          "return { name = 'any', version = 1, brief = '', cite = '',\n"
          "problem = { { 'n', -2^62, 2^62, default = 1 }, { 'm', -2^62, 2^62, default = 1 },\n"
          "  { 'kind', { 'a', 'b' }, default = 'a' } },\n"
          "args = { { 'x', 'f32', 'inout', count = '1', fill = { 'constant', 1 } } },\n"
          "space = { { 'P', { 1, 2, 3, 64 } }, { 'Q', { -1, 0, 5 } }, { 'MODE', { 'a', 'c' } } },\n"
          "derive = { { 'D', 'P * n + Q' }, { 'E', 'n > P' } },\nrequire = {\n");
  random_symbols(&symbols, false);
  for (int i = 0; i < QUESTIONS; i++) {
    const expr_node *tree;
    str_addf(s, "{ 'r%d', [[", i);
    const size_t start = s->n;
    do {
      s->n = start;
      random_expr(&symbols, false, 4, &a, s, &tree);
    } while (!(tree->types & EXPR_CONDITION));
    str_add(s, "]] },\n");
  }
  arena_clear(&a);
  str_add(s, "}, default = { P = 1, Q = 0, MODE = 'a' },\n"
             "stages = { { kernel = 'k', grid = 1, block = 1, args = { 'x' } } },\n"
             "source = 'extern \"C\" __global__ void k(float *x) {}\\n',\n"
             "reference = { stages = { { kernel = 'k', grid = 1, block = 1, args = { 'x' } } },\n"
             "  source = 'extern \"C\" __global__ void k(float *x) {}\\n' },\n"
             "tolerance = { abs = 0, rel = 0 }, flops = 0, bytes = 0,\n"
             "sizes = { emu = { 'n=1' }, test = { 'n=1' }, bench = { 'n=1' } } }\n");
}

typedef struct tally {
  size_t yes, no, failed;
} tally;

static void compare_question(gen_instance *g, gen_fold *f, const gen_config *config, size_t i,
                             const char *text, tally *n) {
  bool yes = false, by_fold = false;
  const int rc = gen_config_holds(g, config, i, &yes, NULL);
  const bool known = gen_partial_condition(f, gen_fold_requirement(f, i), &by_fold);
  if (known != !rc || by_fold != yes) {
    fail_msg("%s: %d %d, folded %d %d", text, rc, yes, known, by_fold);
  }
  n->failed += rc != 0;
  n->yes += !rc && yes;
  n->no += !rc && !yes;
}

static void compare_any(tally *n) {
  static const int64_t values[] = {
      0, 1, -1, 5, 6, 63, 64, 1000, INT64_C(1) << 53, INT64_C(1) << 62};
  enum { N_VALUES = sizeof values / sizeof *values };
  auto_str text = {0};
  auto_template *t = NULL;
  gen_fold *f;
  err e = {0};
  add_template(&text);
  assert_ok(gen_open_text(NULL, "any.lua", text.p, text.n, &t, &e), &e);
  assert_ok(gen_fold_new(t, h200, N_H200, &f, &e), &e);
  for (int i = 0; i < 12; i++) {
    const bool given[3] = {true, true, true};
    gen_problem p = {
        .values = {{.i = values[draw(N_VALUES)]}, {.i = values[draw(N_VALUES)]}, {.i = draw(2)}}};
    assert_ok(gen_problem_complete(t, &p, given, &e), &e);
    gen_instance *g = bind(t, &p);
    gen_config config;
    draw_config(t, &config);
    gen_fold_problem(f, &p);
    gen_fold_config(f, &config);
    for (size_t k = 0; k < t->n_requirements; k++) {
      compare_question(g, f, &config, k, t->requirements[k].expression, n);
    }
    gen_instance_free(g);
  }
  gen_fold_free(f);
}

TEST(partial_values_are_the_generator_s) {
  tally n = {0};
  for (int i = 0; i < 150; i++) {
    compare_any(&n);
  }
  if (n.yes < 3000 || n.no < 3000 || n.failed < 3000) {
    fail_msg("hold %zu, don't %zu, fail %zu", n.yes, n.no, n.failed);
  }
}

/* ---- the families' own ---------------------------------------------------------------------- */

static expr_value value_of(const gen_value *v) {
  return v->s ? expr_text(v->s) : expr_integer(v->i);
}

/* Sets everything that requirements read; a derived value that fails is absent. */
static void set_names(lua_State *L, const gen_template *t, const gen_problem *p,
                      const gen_config *c) {
  for (size_t i = 0; i < t->n_fields; i++) {
    const expr_value v = value_of(&p->values[i]);
    set_global(L, t->fields[i].name, &v);
  }
  for (size_t i = 0; i < t->n_params; i++) {
    const expr_value v = value_of(&t->params[i].values[c->index[i]]);
    set_global(L, t->params[i].name, &v);
  }
  for (size_t i = 0; i < N_H200; i++) {
    const expr_value v = expr_integer(h200[i].value);
    set_global(L, h200[i].name, &v);
  }
  for (size_t i = 0; i < t->n_derived; i++) {
    expr_value v = {0};
    lua_pushnil(L);
    lua_setglobal(L, t->derived[i].name);
    if (lua_value(L, t->derived[i].expression, &v)) {
      v = expr_whole(&v);
      set_global(L, t->derived[i].name, &v);
    }
  }
}

/* Returns the number of requirements that hold. */
static size_t compare_config(lua_State *L, gen_instance *g, const gen_template *t,
                             const gen_problem *p, const gen_config *c) {
  size_t n = 0;
  set_names(L, t, p, c);
  for (size_t i = 0; i < t->n_requirements; i++) {
    expr_value v = {0};
    bool yes = false;
    err e = {0};
    const char *text = t->requirements[i].expression;
    const bool ok = !gen_config_holds(g, c, i, &yes, &e);
    if (lua_value(L, text, &v) != ok || (ok && v.yes != yes)) {
      fail_msg("%s: %s: %d %s", t->name, text, yes, e.message);
    }
    n += ok && yes;
  }
  return n;
}

static void compare_family(const char *name, size_t *n) {
  gen_template *t = open_family(name);
  lua_State *L = open_lua();
  for (int i = 0; i < 15; i++) {
    gen_problem p;
    draw_problem(t, &p);
    gen_instance *g = bind(t, &p);
    for (int k = 0; k < 8; k++) {
      gen_config c;
      draw_config(t, &c);
      *n += compare_config(L, g, t, &p, &c);
    }
    gen_instance_free(g);
  }
  lua_close(L);
  gen_close(t);
}

typedef void per_family(const char *name, size_t *n);

static void each_family(per_family *f, size_t least) {
  const char *const *names;
  size_t n = 0, total = 0;
  auto_arena a = {0};
  err e = {0};
  assert_ok(gen_families(NULL, &a, &names, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    f(names[i], &total);
  }
  if (total < least) {
    fail_msg("only %zu", total);
  }
}

TEST(families_require_what_lua_says) {
  each_family(compare_family, 10000);
}

/* ---- sources -------------------------------------------------------------------------------- */

static bool compare_source(gen_instance *g, const gen_config *c, const char *name) {
  char hash[HASH_TEXT], said[HASH_TEXT];
  auto_str text = {0};
  size_t body = 0;
  err e = {0};
  const bool known = gen_source_hash(g, c, said);
  assert_ok(gen_source_make(g, c, &text, &body, &e), &e);
  hash_bytes(text.p + body, text.n - body, hash);
  if (known && strcmp(hash, said)) {
    fail_msg("%s: another source", name);
  }
  if (!known) {
    gen_source_remember(g, c, hash);
    assert_true(gen_source_hash(g, c, said));
    assert_string_equal(hash, said);
  }
  return known;
}

static void compare_sources(const char *name, size_t *n_known) {
  gen_template *t = open_family(name);
  gen_config configs[3];
  for (int i = 0; i < 3; i++) {
    draw_config(t, &configs[i]);
  }
  for (int i = 0; i < 12; i++) {
    gen_problem p;
    draw_problem(t, &p);
    gen_instance *g = bind(t, &p);
    for (int k = 0; k < 3; k++) {
      gen_config c = configs[k];
      int changed;
      *n_known += adapt_config(t, g, &c, &changed) && compare_source(g, &c, name);
    }
    gen_instance_free(g);
  }
  gen_close(t);
}

TEST(sources_are_known_again) {
  each_family(compare_sources, 60);
}

/* ---- portfolios ----------------------------------------------------------------------------- */

typedef struct counts {
  size_t asked, fit, lost;
} counts;

static bool same_work(const model_work *x, const model_work *y) {
  const chooser_work *a = &x->amount, *b = &y->amount;
  return a->launches == b->launches && a->blocks == b->blocks && a->flops == b->flops &&
         a->bytes == b->bytes && a->threads == b->threads && a->smem == b->smem &&
         !memcmp(a->each, b->each, sizeof a->each) &&
         !memcmp(&x->config, &y->config, sizeof x->config);
}

/* The cache says what the generator says; a plan that the generator refuses has no launches and is
 * not compared. */
static void compare_one(gen_template *t, gen_instance *g, feasibility_cache *j,
                        const gen_config *from, size_t i, counts *n) {
  gen_config c = *from;
  feasibility is;
  model_work work = {0};
  int changed;
  n->asked++;
  if (!feasibility_cache_get(j, i, &is)) {
    n->lost++;
    return;
  }
  const bool fits = adapt_config(t, g, &c, &changed);
  if (fits) {
    model_work_of(g, &c, &work);
  }
  n->fit += fits;
  if (fits != is.fits || (fits && (changed != is.changed || memcmp(&c, &is.config, sizeof c))) ||
      (fits && work.amount.launches > 0 && !same_work(&work, &is.work))) {
    str a = {0}, b = {0};
    gen_config_text(t, &c, &a);
    gen_config_text(t, &is.config, &b);
    fail_msg("%s: %d %d %s\nfrom the cache: %d %d %s", t->name, fits, changed, str_text(&a),
             is.fits, is.changed, str_text(&b));
  }
}

static void compare_portfolio(gen_template *t, const gen_config *configs, size_t n_configs,
                              int n_problems, counts *n) {
  feasibility_cache *j;
  err e = {0};
  assert_ok(feasibility_cache_new(t, configs, n_configs, h200, N_H200, &j, &e), &e);
  assert_true(feasibility_cache_is_of(j, configs, n_configs));
  assert_false(feasibility_cache_is_of(j, configs, n_configs - 1));
  for (int i = 0; i < n_problems; i++) {
    gen_problem p;
    draw_problem(t, &p);
    gen_instance *g = bind(t, &p);
    feasibility_cache_problem(j, &p);
    for (size_t k = 0; k < n_configs; k++) {
      compare_one(t, g, j, &configs[k], k, n);
    }
    gen_instance_free(g);
  }
  assert_true(feasibility_cache_nbytes(j) < (size_t)16 << 20);
  feasibility_cache_free(j);
}

static void compare_any_portfolio(const char *name, size_t *n_fit) {
  enum { CONFIGS = 8 };
  gen_template *t = open_family(name);
  gen_config configs[CONFIGS];
  counts n = {0};
  for (int i = 0; i < CONFIGS; i++) {
    draw_config(t, &configs[i]);
  }
  compare_portfolio(t, configs, CONFIGS, 20, &n);
  *n_fit += n.fit;
  if (n.lost * 20 > n.asked) {
    fail_msg("%s: %zu of %zu have no answer", name, n.lost, n.asked);
  }
  gen_close(t);
}

TEST(portfolios_are_judged_as_by_the_generator) {
  each_family(compare_any_portfolio, 500);
}

/* The shipped portfolio, at thousands of problems; the slow side is the generator without Lua,
 * which the tests above compare with Lua. */
TEST(the_shipped_one_is_too) {
  const tuned_options o = {.device = "emu:h200", .database = "/nonexistent/tuned.db"};
  tuned_context *ctx;
  tuned_error why;
  serve_family *f;
  serve *s = NULL;
  err e = {0};
  counts n = {0};
  if (tuned_open(&ctx, &o, &why) || serve_of(ctx, &s, &e)) {
    fail_msg("%s", why.message);
  }
  assert_ok(serve_family_get(s, "sgemm", &f, &e), &e);
  assert_ok(serve_known_read(&s->sources, f->t, &f->known, &e), &e);
  const portfolio *c = &f->known.portfolio;
  assert_true(c->n_configs > 1);
  compare_portfolio(f->t, c->configs, c->n_configs, 1200, &n);
  assert_true(n.fit > 5000 && n.lost * 1000 < n.asked); /* few have no value */
  tuned_close(ctx);
}

int main(void) {
  return tests_run();
}
