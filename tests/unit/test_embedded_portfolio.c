/* test_embedded_portfolio.c -- the portfolios that the library is built with are those of
 * db/presets, small, and follow a template whose parameters have other values. */
#define _GNU_SOURCE
#include <glob.h>
#include <malloc.h>

#include "check.h"
#include "db_text.h"
#include "file.h"
#include "serve_presets.h"

/* Bytes: what all portfolios take in the library, and a context's own part of one. */
enum { ALL_MOST = 6 << 20, OWN_MOST = 128 << 10 };

/* ---- two portfolios -------------------------------------------------------------------------- */

#define assert_same(a, b, n) assert_memory_equal(a, b, (n) * sizeof *(a))

static void check_levels(const chooser_levels *a, const chooser_levels *b, size_t n) {
  assert_true(a->from == b->from && a->step == b->step);
  assert_same(a->level, b->level, n);
}

static void check_sizes(const chooser_sizes *a, const chooser_sizes *b) {
  assert_int_equal(a->n, b->n);
  assert_int_equal(a->n_varying, b->n_varying);
  assert_same(&a->fields, &b->fields, 1);
  assert_same(a->first, b->first, a->fields.n);
  assert_same(a->field, b->field, a->n_varying);
  for (size_t i = 0; i < a->n_varying; i++) {
    check_levels(&a->octaves[i], &b->octaves[i], a->n);
  }
}

static void check_fit(const model_fit *a, const model_fit *b) {
  const chooser_rows *x = &a->chooser.rows, *y = &b->chooser.rows;
  assert_same(&a->chooser.costs, &b->chooser.costs, 1);
  assert_true(x->n == y->n && x->n_variants == y->n_variants && a->n_params == b->n_params);
  assert_same(x->size, y->size, x->n);
  assert_same(x->weight, y->weight, x->n);
  check_levels(&x->length, &y->length, x->n);
  check_levels(&x->tail, &y->tail, x->n);
  assert_same(x->threads, y->threads, x->n_variants);
  assert_same(&a->one, &b->one, 1);
  assert_same(a->param, b->param, a->n_params);
  assert_same(a->index, b->index, a->n_params * x->n_variants);
}

static void check_node(const chooser_node *a, const chooser_node *b) {
  assert_true(a->feature.kind == b->feature.kind && a->feature.a == b->feature.a &&
              a->feature.b == b->feature.b && a->feature.c == b->feature.c &&
              a->feature.choice == b->feature.choice);
  assert_true(a->below == b->below && a->no == b->no && a->expected == b->expected &&
              a->worst == b->worst && a->n_order == b->n_order && a->n_short == b->n_short);
  assert_true(!a->n_order || !memcmp(a->order, b->order, a->n_order * sizeof *a->order));
}

static void check_portfolio(const portfolio *a, const portfolio *b) {
  assert_true(a->asked == b->asked && a->expected == b->expected && a->worst == b->worst);
  assert_true(a->n_sizes == b->n_sizes && a->n_nodes == b->n_nodes && a->n_configs == b->n_configs);
  assert_same(a->least, b->least, GEN_MAX_FIELDS);
  assert_same(a->most, b->most, GEN_MAX_FIELDS);
  assert_same(a->choices, b->choices, GEN_MAX_FIELDS);
  assert_same(a->configs, b->configs, a->n_configs);
  for (size_t i = 0; i < a->n_nodes; i++) {
    check_node(&a->nodes[i], &b->nodes[i]);
  }
  assert_int_equal(a->model.n_configs, b->model.n_configs);
  check_sizes(&a->model.sizes, &b->model.sizes);
  for (size_t i = 0; i < a->model.n_configs; i++) {
    check_fit(&a->model.fits[i], &b->model.fits[i]);
  }
}

/* ---- what ships ------------------------------------------------------------------------------ */

static const embedded_portfolio *embedded(const db_line *l) {
  for (serve_portfolio_fn *const *f = serve_portfolios; *f; f++) {
    const embedded_portfolio *p = (*f)();
    if (!strcmp(p->family, l->template.family) && !strcmp(p->device_key, l->device.key) &&
        p->version == l->template.version && p->cc == l->device.cc) {
      return p;
    }
  }
  fail_msg("the portfolio of %s on %s is not embedded", l->template.family, l->device.key);
  return NULL;
}

static size_t each_line(void (*check)(const db_line *)) {
  size_t n = 0;
  err e = {0};
  glob_t files;
  assert_int_equal(glob("db/presets/*.portfolio.txt", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    auto_str text = {0};
    assert_ok(file_read(files.gl_pathv[i], 256 << 20, &text, &e), &e);
    for (const char *at = str_text(&text), *end; *at; at = *end ? end + 1 : end) {
      auto_arena a = {0};
      db_line l;
      bool none;
      end = strchrnul(at, '\n');
      assert_ok(db_text_read(at, (size_t)(end - at), &a, &l, &none, &e), &e);
      if (!none) {
        check(&l);
        n++;
      }
    }
  }
  globfree(&files);
  return n;
}

static void check_with(gen_template *t, const db_line *l) {
  auto_arena a = {0};
  err e = {0};
  portfolio from_text, from_tables;
  assert_ok(portfolio_read(t, l->config, &a, &from_text, &e), &e);
  assert_ok(embedded_portfolio_open(t, embedded(l), &a, &from_tables, &e), &e);
  check_portfolio(&from_text, &from_tables);
}

static void check_as_it_is(const db_line *l) {
  auto_template *t = NULL;
  err e = {0};
  assert_ok(gen_open(NULL, l->template.family, &t, &e), &e);
  check_with(t, l);
}

TEST(tables_are_what_the_texts_say) {
  size_t n = 0;
  while (serve_portfolios[n]) {
    n++;
  }
  assert_true(n > 0);
  assert_int_equal(each_line(check_as_it_is), n);
}

/* Nodes have a few orders each. */
static size_t table_nbytes(const embedded_portfolio *p) {
  portfolio_model m = p->portfolio.model;
  size_t n = p->portfolio.n_configs * sizeof(gen_config);
  for (size_t i = 0; i < p->portfolio.n_nodes; i++) {
    n += sizeof(chooser_node) + p->portfolio.nodes[i].n_order * sizeof(uint16_t);
  }
  m.sizes = *p->sizes;
  return n + portfolio_model_nbytes(&m);
}

static size_t heap_nbytes(void) {
  const struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

TEST(they_are_small) {
  size_t all = 0;
  err e = {0};
  for (serve_portfolio_fn *const *f = serve_portfolios; *f; f++) {
    auto_template *t = NULL;
    auto_arena a = {0};
    portfolio c;
    assert_ok(gen_open(NULL, (*f)()->family, &t, &e), &e);
    const size_t before = heap_nbytes();
    assert_ok(embedded_portfolio_open(t, (*f)(), &a, &c, &e), &e);
    const size_t own = heap_nbytes() - before;
    all += table_nbytes((*f)());
    printf("%s: %zu bytes, %zu of a context\n", t->name, table_nbytes((*f)()), own);
    assert_true(own < OWN_MOST);
  }
  assert_true(all < ALL_MOST);
}

/* ---- another template ------------------------------------------------------------------------ */

static gen_template *edited(const char *from, const char *to) {
  const gen_file *f = gen_builtin;
  auto_str text = {0};
  gen_template *t;
  err e = {0};
  while (strcmp(f->name, "sgemm.lua") != 0) {
    f++;
  }
  const char *at = strstr(f->text, from);
  assert_non_null(at);
  str_add_n(&text, f->text, (size_t)(at - f->text));
  str_add(&text, to);
  str_add(&text, at + strlen(from));
  assert_ok(gen_open_text(&(gen_options){.lazy = true}, f->path, str_text(&text), text.n, &t, &e),
            &e);
  return t;
}

static void check_reordered(const db_line *l) {
  if (!strcmp(l->template.family, "sgemm")) {
    auto_template *t = edited("{ \"PAD\", { 0, 4 }", "{ \"PAD\", { 8, 4, 0 }");
    check_with(t, l);
  }
}

TEST(a_template_with_more_values_takes_it) {
  each_line(check_reordered);
}

static void check_lacking(const db_line *l) {
  static const char *const edits[][3] = {
      {"{ \"STORE\", { 1, 2, 4 }", "{ \"STORE\", { 1, 4 }", "STORE"},
      {"  problem = {", "  problem = { { \"layers\", 1, 9, default = 1 },", "number of fields"}};
  for (size_t i = 0; i < sizeof edits / sizeof *edits && !strcmp(l->template.family, "sgemm");
       i++) {
    auto_template *t = edited(edits[i][0], edits[i][1]);
    auto_arena a = {0};
    err e = {0};
    portfolio c;
    assert_fails(portfolio_read(t, l->config, &a, &c, &e), &e, ERR_USAGE, "");
    assert_fails(embedded_portfolio_open(t, embedded(l), &a, &c, &e), &e, ERR_USAGE, edits[i][2]);
    assert_int_equal(c.n_nodes, 0);
  }
}

TEST(a_template_that_lacks_something_does_not) {
  each_line(check_lacking);
}

int main(void) {
  return tests_run();
}
