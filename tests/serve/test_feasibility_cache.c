/* test_feasibility_cache.c -- what C says of expressions, requirements, sources and whole portfolios is what
 * Lua and the generator say, for thousands of problems. */
#define _GNU_SOURCE
#include <math.h>

#include "serve_family.h"
#include "gen_fixture.h"
#include "gen_fold.h"
#include "adapt.h"
#include "feasibility_cache.h"

/* ---- chance --------------------------------------------------------------------------------- */

static uint64_t state = 1;

/* Knuth's MMIX, the upper half. */
static uint32_t draw(uint32_t n) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((state >> 32) * n >> 32);
}

static gen_template *open_family(const char *name, bool by_lua) {
  const gen_options o = {.max_lua_evaluations = by_lua ? UINT64_MAX : 1};
  gen_template *t;
  err e = {0};
  assert_ok(gen_open(&o, name, &t, &e), &e);
  return t;
}

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

/* Half of the fields as the template has them, so that most problems are ordinary ones. */
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

/* A few parameters from the default, or all at random. */
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

static void add_number(str *s, int depth);
static void add_condition(str *s, int depth);

/* Now and then of the wrong kind, as the message is to be the same, too. */
static void add_either(str *s, int depth, bool number) {
  (draw(60) == 0) != number ? add_number(s, depth) : add_condition(s, depth);
}

static void add_call(str *s, int depth) {
  static const struct {
    const char *name;
    int n;
  } calls[] = {{"ceildiv", 2}, {"roundup", 2}, {"min", 3},   {"max", 2},
               {"log2", 1},    {"pow2div", 2}, {"sel", 3},   {"abs", 1},
               {"min", 2},     {"sqrt", 1},    {"floor", 1}, {"ceil", 1}};
  const uint32_t f = draw(sizeof calls / sizeof *calls);
  str_addf(s, "%s(", calls[f].name);
  for (int i = 0; i < calls[f].n + (draw(40) == 0); i++) {
    str_add(s, i ? ", " : "");
    add_either(s, depth - 1, i || strcmp(calls[f].name, "sel") != 0);
  }
  str_add(s, ")");
}

static void add_number(str *s, int depth) {
  static const char *const leaves[] = {
      "n",      "m", "P",  "Q",  "0",    "1",    "2",
      "3",      "7", "-1", "64", "2^10", "0.5",  "3.0",
      "D",      "n", "m",  "P",  "2^53", "2^62", "0x7fffffffffffffff",
      "dev_sms"};
  static const char *const between[] = {"+", "-",  "*",  "//", "%", "/", "^",  "&", "|",
                                        "~", "<<", ">>", "+",  "-", "*", "//", "%"};
  switch (depth ? draw(5) : 0) {
  case 0: str_add(s, leaves[draw(sizeof leaves / sizeof *leaves)]); break;
  case 1: add_call(s, depth); break;
  case 2:
    str_add(s, draw(3) ? "- " : "~");
    add_number(s, depth - 1);
    break;
  default:
    str_add(s, "(");
    add_either(s, depth - 1, true);
    str_addf(s, " %s ", between[draw(sizeof between / sizeof *between)]);
    add_either(s, depth - 1, true);
    str_add(s, ")");
  }
}

static void add_condition(str *s, int depth) {
  static const char *const leaves[] = {"true",        "false",       "E",
                                       "kind == 'a'", "MODE ~= 'a'", "kind == MODE"};
  static const char *const relations[] = {"==", "~=", "<", "<=", ">", ">="};
  static const char *const logic[] = {"and", "or"};
  switch (depth ? draw(6) : 0) {
  case 0: str_add(s, leaves[draw(sizeof leaves / sizeof *leaves)]); break;
  case 1:
    str_add(s, "not ");
    add_either(s, depth - 1, false);
    break;
  case 2:
    str_add(s, "ispow2(");
    add_number(s, depth - 1);
    str_add(s, ")");
    break;
  case 3:
    str_add(s, "(");
    add_either(s, depth - 1, false);
    str_addf(s, " %s ", logic[draw(2)]);
    add_either(s, depth - 1, false);
    str_add(s, ")");
    break;
  default:
    str_add(s, "(");
    add_either(s, depth - 1, true);
    str_addf(s, " %s ", relations[draw(6)]);
    add_either(s, depth - 1, true);
    str_add(s, ")");
  }
}

enum { QUESTIONS = 40 };

/* A template whose requirements are anything. */
static void add_template(str *s) {
  str_add(s,
          "return { name = 'any', version = 1, brief = '', cite = '',\n"
          "problem = { { 'n', -2^62, 2^62, default = 1 }, { 'm', -2^62, 2^62, default = 1 },\n"
          "  { 'kind', { 'a', 'b' }, default = 'a' } },\n"
          "args = { { 'x', 'f32', 'inout', count = '1', fill = { 'constant', 1 } } },\n"
          "space = { { 'P', { 1, 2, 3, 64 } }, { 'Q', { -1, 0, 5 } }, { 'MODE', { 'a', 'c' } } },\n"
          "derive = { { 'D', 'P * n + Q' }, { 'E', 'n > P' } },\nrequire = {\n");
  for (int i = 0; i < QUESTIONS; i++) {
    str_addf(s, "{ 'r%d', [[", i);
    add_either(s, 4, false);
    str_add(s, "]] },\n");
  }
  str_add(s, "}, default = { P = 1, Q = 0, MODE = 'a' },\n"
             "stages = { { kernel = 'k', grid = 1, block = 1, args = { 'x' } } },\n"
             "source = 'extern \"C\" __global__ void k(float *x) {}\\n',\n"
             "reference = { stages = { { kernel = 'k', grid = 1, block = 1, args = { 'x' } } },\n"
             "  source = 'extern \"C\" __global__ void k(float *x) {}\\n' },\n"
             "tolerance = { abs = 0, rel = 0 }, flops = 0, bytes = 0,\n"
             "sizes = { emu = { 'n=1' }, test = { 'n=1' }, bench = { 'n=1' } } }\n");
}

static gen_template *open_any(const str *text, bool by_lua) {
  const gen_options o = {.max_lua_evaluations = by_lua ? UINT64_MAX : 1};
  gen_template *t;
  err e = {0};
  assert_ok(gen_open_text(&o, "any.lua", text->p, text->n, &t, &e), &e);
  return t;
}

typedef struct tally {
  size_t yes, no, failed, told;
} tally;

static void compare_question(gen_instance *lua, gen_instance *c, gen_fold *f,
                             const gen_config *config, size_t i, const char *text, tally *n) {
  bool by_lua = false, by_c = false, by_fold = false;
  err e = {0}, other = {0};
  const int rc = gen_config_holds(lua, config, i, &by_lua, &e);
  if (gen_config_holds(c, config, i, &by_c, &other) != rc || by_c != by_lua ||
      strcmp(e.message, other.message)) {
    fail_msg("%s: Lua %d %d '%s', C %d '%s'", text, rc, by_lua, e.message, by_c, other.message);
  }
  if (gen_rest_condition(f, gen_fold_requirement(f, i), &by_fold)) {
    n->told++;
    if (rc || by_fold != by_lua) {
      fail_msg("%s: Lua %d %d '%s', folded %d", text, rc, by_lua, e.message, by_fold);
    }
  }
  n->failed += rc != 0;
  n->yes += !rc && by_lua;
  n->no += !rc && !by_lua;
}

static void compare_any(tally *n) {
  static const int64_t values[] = {
      0, 1, -1, 5, 6, 63, 64, 1000, INT64_C(1) << 53, INT64_C(1) << 62};
  enum { N_VALUES = sizeof values / sizeof *values };
  str text = {0};
  gen_fold *f;
  err e = {0};
  add_template(&text);
  gen_template *lua = open_any(&text, true), *c = open_any(&text, false);
  assert_ok(gen_fold_new(c, h200, N_H200, &f, &e), &e);
  for (int i = 0; i < 12; i++) {
    const bool given[3] = {true, true, true};
    gen_problem p = {
        .values = {{.i = values[draw(N_VALUES)]}, {.i = values[draw(N_VALUES)]}, {.i = draw(2)}}};
    assert_ok(gen_problem_complete(lua, &p, given, &e), &e);
    gen_instance *a = bind(lua, &p), *b = bind(c, &p);
    gen_config config;
    draw_config(c, &config);
    gen_fold_problem(f, &p);
    gen_fold_config(f, &config);
    for (size_t k = 0; k < c->n_requirements; k++) {
      compare_question(a, b, f, &config, k, c->requirements[k].expression, n);
    }
    gen_instance_free(a);
    gen_instance_free(b);
  }
  gen_fold_free(f);
  gen_close(lua);
  gen_close(c);
  str_clear(&text);
}

static void c_says_what_lua_says(void **unused) {
  (void)unused;
  tally n = {0};
  for (int i = 0; i < 150; i++) {
    compare_any(&n);
  }
  if (n.yes < 3000 || n.no < 3000 || n.failed < 3000 || n.told < 10000) {
    fail_msg("hold %zu, don't %zu, fail %zu; folded %zu", n.yes, n.no, n.failed, n.told);
  }
}

/* ---- the families' own ---------------------------------------------------------------------- */

static void compare_plans(const char *what, const gen_plan *a, const gen_plan *b) {
  bool same = a->n == b->n && a->flops == b->flops && a->bytes == b->bytes &&
              a->n_workspaces == b->n_workspaces &&
              !memcmp(a->workspaces, b->workspaces, a->n_workspaces * sizeof *a->workspaces);
  for (size_t i = 0; same && i < a->n; i++) {
    const gen_launch *x = &a->launches[i], *y = &b->launches[i];
    same = !memcmp(x->grid, y->grid, sizeof x->grid) &&
           !memcmp(x->block, y->block, sizeof x->block) && x->smem == y->smem &&
           x->overlap == y->overlap && x->n_operands == y->n_operands && x->nbytes == y->nbytes;
    for (size_t k = 0; same && k < x->n_operands; k++) {
      same = x->operands[k].bits == y->operands[k].bits;
    }
  }
  if (!same) {
    fail_msg("%s: the plans differ", what);
  }
}

/* Returns whether the configuration is valid. */
static bool compare_config(gen_instance *a, gen_instance *b, const gen_config *c,
                           const char *what) {
  err e = {0}, other = {0};
  arena memory = {0};
  const int rc = gen_config_check(a, c, &e);
  if (gen_config_check(b, c, &other) != rc || strcmp(e.message, other.message)) {
    fail_msg("%s: Lua '%s', C '%s'", what, e.message, other.message);
  }
  const gen_plan *x, *y;
  const int refused = gen_plan_make(a, c, &memory, &x, &e);
  assert_int_equal(gen_plan_make(b, c, &memory, &y, &other), refused);
  if (!refused) {
    compare_plans(what, x, y);
  }
  arena_clear(&memory);
  return !rc;
}

static void compare_family(const char *name, size_t *n_valid) {
  gen_template *lua = open_family(name, true), *c = open_family(name, false);
  for (int i = 0; i < 25; i++) {
    gen_problem p, q;
    const uint64_t before = state;
    draw_problem(lua, &p);
    state = before;
    draw_problem(c, &q);
    for (size_t k = 0; k < c->n_fields; k++) {
      assert_int_equal(p.values[k].i, q.values[k].i);
    }
    gen_instance *a = bind(lua, &p), *b = bind(c, &q);
    for (int k = 0; k < 12; k++) {
      gen_config config;
      draw_config(c, &config);
      *n_valid += compare_config(a, b, &config, name);
    }
    gen_instance_free(a);
    gen_instance_free(b);
  }
  gen_close(lua);
  gen_close(c);
}

typedef void per_family(const char *name, size_t *n);

static void each_family(per_family *f, size_t least) {
  const char *const *names;
  size_t n = 0, total = 0;
  arena a = {0};
  err e = {0};
  assert_ok(gen_families(NULL, &a, &names, &n, &e), &e);
  for (size_t i = 0; i < n; i++) {
    f(names[i], &total);
  }
  arena_clear(&a);
  if (total < least) {
    fail_msg("only %zu", total);
  }
}

static void families_are_judged_as_by_lua(void **unused) {
  (void)unused;
  each_family(compare_family, 1000);
}

/* ---- sources -------------------------------------------------------------------------------- */

static bool compare_source(gen_instance *g, const gen_config *c, const char *name) {
  char hash[HASH_TEXT], said[HASH_TEXT];
  str text = {0};
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
  str_clear(&text);
  return known;
}

static void compare_sources(const char *name, size_t *n_known) {
  gen_template *t = open_family(name, false);
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

static void sources_are_known_again(void **unused) {
  (void)unused;
  each_family(compare_sources, 60);
}

/* ---- portfolios ----------------------------------------------------------------------------- */

typedef struct counts {
  size_t judged, fit, lost;
} counts;

static bool same_work(const model_work *x, const model_work *y) {
  const chooser_work *a = &x->amount, *b = &y->amount;
  return a->launches == b->launches && a->blocks == b->blocks && a->flops == b->flops &&
         a->bytes == b->bytes && a->threads == b->threads && a->smem == b->smem &&
         !memcmp(a->each, b->each, sizeof a->each) &&
         !memcmp(&x->config, &y->config, sizeof x->config);
}

/* As the generator has it, with Lua; a plan that it refuses has no blocks and is left to it. */
static void compare_one(gen_template *t, gen_instance *g, feasibility_cache *j,
                        const gen_config *from, size_t i, counts *n) {
  gen_config c = *from;
  feasibility is;
  model_work work = {0};
  int changed;
  n->judged++;
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
    fail_msg("%s: %d %d %s\njudged %d %d %s", t->name, fits, changed, str_text(&a), is.fits,
             is.changed, str_text(&b));
  }
}

static void compare_portfolio(gen_template *lua, gen_template *t, const gen_config *configs,
                              size_t n_configs, int n_problems, counts *n) {
  feasibility_cache *j;
  err e = {0};
  assert_ok(feasibility_cache_new(t, configs, n_configs, h200, N_H200, &j, &e), &e);
  assert_true(feasibility_cache_is_of(j, configs, n_configs));
  assert_false(feasibility_cache_is_of(j, configs, n_configs - 1));
  for (int i = 0; i < n_problems; i++) {
    gen_problem p;
    draw_problem(lua, &p);
    gen_instance *g = bind(lua, &p);
    feasibility_cache_problem(j, &p);
    for (size_t k = 0; k < n_configs; k++) {
      compare_one(lua, g, j, &configs[k], k, n);
    }
    gen_instance_free(g);
  }
  assert_true(feasibility_cache_nbytes(j) < (size_t)16 << 20);
  feasibility_cache_free(j);
}

static void compare_any_portfolio(const char *name, size_t *n_fit) {
  enum { CONFIGS = 8 };
  gen_template *lua = open_family(name, true), *t = open_family(name, false);
  gen_config configs[CONFIGS];
  counts n = {0};
  for (int i = 0; i < CONFIGS; i++) {
    draw_config(t, &configs[i]);
  }
  compare_portfolio(lua, t, configs, CONFIGS, 20, &n);
  *n_fit += n.fit;
  if (n.lost * 20 > n.judged) {
    fail_msg("%s: %zu of %zu could not be told", name, n.lost, n.judged);
  }
  gen_close(lua);
  gen_close(t);
}

static void portfolios_are_judged_as_by_the_generator(void **unused) {
  (void)unused;
  each_family(compare_any_portfolio, 500);
}

/* Its slow side without Lua, which the tests above compare with, so that it is thousands. */
static void the_shipped_one_is_too(void **unused) {
  (void)unused;
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
  gen_template *other = open_family("sgemm", false);
  compare_portfolio(f->t, other, c->configs, c->n_configs, 1200, &n);
  assert_true(n.fit > 5000 && n.lost * 1000 < n.judged); /* these few are left to Lua */
  gen_close(other);
  tuned_close(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(c_says_what_lua_says),
      cmocka_unit_test(families_are_judged_as_by_lua),
      cmocka_unit_test(sources_are_known_again),
      cmocka_unit_test(portfolios_are_judged_as_by_the_generator),
      cmocka_unit_test(the_shipped_one_is_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
