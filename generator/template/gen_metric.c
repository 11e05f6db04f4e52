/* Metrics: expressions over what was measured, and over the problem, the configuration and the
 * device. */
#include <string.h>

#include "gen_metric.h"
#include "gen_reader.h"

enum { MAX_METRICS = 16 };

const char *const gen_measured_names[] = {
#define MEASURED_NAME(name, brief) #name,
    GEN_MEASURED_LIST(MEASURED_NAME)
#undef MEASURED_NAME
        NULL};

/* ---- names ----------------------------------------------------------------------------------- */

/* Names of the template come first; arguments have no part in it. */
static gen_symbols *metric_symbols(gen_box *b, tmpl *t) {
  gen_symbols *s = t->metric_symbols;
  if (s) {
    return s;
  }
  s = arena_new(&t->a, sizeof *s);
  if (!s) {
    gen_fail(b, ERR_NOMEM, b->at, "out of memory");
  }
  for (size_t i = 0; i < t->symbols.n; i++) {
    const gen_symbol *from = &t->symbols.at[i];
    if (from->kind & GEN_READS_CONFIG) {
      gen_symbol_add(s, from->name, from->kind, from->index)->types = from->types;
    }
  }
  for (size_t i = 0; gen_measured_names[i] && s->n < GEN_MAX_SYMBOLS; i++) {
    if (!gen_symbol_find(s, gen_measured_names[i], ~0u)) {
      gen_symbol_add(s, gen_measured_names[i], GEN_SYMBOL_SCALAR, i);
    }
  }
  return t->metric_symbols = s;
}

/* Bits of what is measured, by way of other metrics too. */
static uint32_t measured_by(const tmpl *t, const gen_expr *x) {
  uint32_t bits = 0;
  for (size_t i = 0; i < GEN_MEASURED + t->pub.n_metrics; i++) {
    if (x->reads.scalars >> i & 1) {
      bits |= i < GEN_MEASURED ? 1u << i : t->metrics[i - GEN_MEASURED].measured;
    }
  }
  return bits;
}

static bool config_by(const tmpl *t, const gen_expr *x) {
  bool reads = x->reads.params || x->reads.derived;
  for (size_t i = 0; i < t->pub.n_metrics; i++) {
    reads = reads || ((x->reads.scalars >> (GEN_MEASURED + i) & 1) && t->metrics[i].reads_config);
  }
  return reads;
}

static gen_metric make(const tmpl *t, const gen_expr *x) {
  return (gen_metric){x->text, x, measured_by(t, x), config_by(t, x)};
}

/* ---- the template's own ---------------------------------------------------------------------- */

static void read_metric(gen_reader *r, gen_pair *pair, gen_metric *m) {
  tmpl *t = r->t;
  gen_symbols *s = metric_symbols(r->b, t);
  gen_list(r, "a metric", NULL);
  pair->name = gen_first_name(r, "a metric's name");
  gen_check_name(r, pair->name);
  if (gen_symbol_find(s, pair->name, ~0u) || s->n == GEN_MAX_SYMBOLS) {
    gen_bad(r, "'%s' already means something in metrics; take another name", pair->name);
  }
  gen_need_at(r, 2, "the expression");
  const char *text = gen_text(r, "an expression");
  const gen_expr *x = gen_expr_need(
      r->b, gen_expr_new(r->b, r->a, text, gen_here(r), s, GEN_READS_CONFIG | GEN_SYMBOL_SCALAR),
      EXPR_NUMBER);
  gen_leave(r);
  pair->expression = x->text;
  *m = make(t, x);
  gen_symbol_add(s, pair->name, GEN_SYMBOL_SCALAR, GEN_MEASURED + t->pub.n_metrics);
}

void gen_read_metrics(gen_reader *r) {
  tmpl *t = r->t;
  if (!gen_enter(r, "metrics")) {
    return;
  }
  const size_t n = gen_bounded_list(r, "metrics", MAX_METRICS);
  gen_pair *pairs = GEN_MAKE(r, gen_pair, n);
  gen_metric *metrics = GEN_MAKE(r, gen_metric, n);
  t->pub.metrics = pairs;
  t->metrics = metrics;
  for (size_t i = 0; i < n; i++) {
    gen_need_at(r, (int64_t)i + 1, "a metric");
    read_metric(r, &pairs[i], &metrics[i]);
    t->pub.n_metrics = i + 1;
    gen_leave(r);
  }
  gen_leave(r);
}

/* ---- others ---------------------------------------------------------------------------------- */

typedef struct parse_job {
  tmpl *t;
  const char *text;
  arena *a;
  gen_metric *out;
} parse_job;

static void parse(gen_box *b, void *ud) {
  parse_job *j = ud;
  const gen_symbols *s = metric_symbols(b, j->t);
  const gen_line nowhere = {"", 0};
  const gen_expr *x =
      gen_expr_new(b, j->a, j->text, nowhere, s, GEN_READS_CONFIG | GEN_SYMBOL_SCALAR);
  *j->out = make(j->t, gen_expr_need(b, x, EXPR_NUMBER));
}

int gen_metric_parse(gen_template *t, const char *text, arena *a, gen_metric *out, err *e) {
  parse_job j = {gen_tmpl(t), text, a, out};
  err why = {0};
  const int rc = gen_box_run(&j.t->box, parse, &j, false, &why);
  return rc ? err_set(e, rc == ERR_TEMPLATE ? ERR_USAGE : rc, "%s", why.message) : 0;
}

gen_metric gen_metric_of(const gen_template *t, size_t i) {
  return gen_tmpl(t)->metrics[i];
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct value_job {
  gen_instance *g;
  const gen_config *c;
  const gen_metric *m;
  const double *measured;
  expr_value values[GEN_MEASURED + MAX_METRICS];
  double out;
} value_job;

static double value_of(gen_box *b, value_job *j, const gen_expr *x) {
  gen_derive_for(j->g, x);
  const expr_value v = gen_expr_value(b, x);
  return expr_number(&v);
}

static void set_measured(gen_box *b, value_job *j) {
  const tmpl *t = j->g->t;
  for (size_t i = 0; i < GEN_MEASURED; i++) {
    j->values[i] = expr_real(i == GEN_MEASURED_flops   ? gen_expr_real(b, t->flops)
                             : i == GEN_MEASURED_bytes ? gen_expr_real(b, t->bytes)
                                                       : j->measured[i]);
  }
}

static void evaluate(gen_box *b, void *ud) {
  value_job *j = ud;
  tmpl *t = j->g->t;
  gen_bind(j->g, j->c);
  set_measured(b, j);
  t->env.values[EXPR_SCALAR] = j->values;
  t->bound = NULL; /* whatever happens: the next to bind sets the arguments' values again */
  for (size_t i = 0; i < t->pub.n_metrics; i++) {
    if (j->m->x->reads.scalars >> GEN_MEASURED) {
      j->values[GEN_MEASURED + i] = expr_real(value_of(b, j, t->metrics[i].x));
    }
  }
  j->out = value_of(b, j, j->m->x);
}

int gen_metric_value(gen_instance *g, const gen_config *c, const gen_metric *m,
                     const double measured[GEN_MEASURED], double *out, err *e) {
  value_job j = {.g = g, .c = c, .m = m, .measured = measured};
  TRY(gen_box_run(&g->t->box, evaluate, &j, false, e));
  *out = j.out;
  return 0;
}
