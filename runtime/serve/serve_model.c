#define _GNU_SOURCE
#include "serve_model.h"

#include <math.h>
#include <string.h>

/* Neighbours count by their distance in octaves of the fields; the sum of costs itself counts as
 * much as PRIOR of them right beside. Judged on sizes of sgemm left out, on an H200. */
static const double NEAR = 1.5, PRIOR = 0.1, OTHER_CHOICE = 2, OTHER_VARIANT = 1;

/* A configuration of which nothing near is known is taken to be slower by this, a logarithm: of 400
 * sizes of sgemm on an H200 the one that lost most, 103 % without it, was a form that an adapted
 * configuration had taken nowhere else. */
static const double DOUBT = 0.5;

/* ---- work ----------------------------------------------------------------------------------- */

/* By the values, which mean the same wherever a space has them. */
uint32_t serve_variant_of(const gen_template *t, const gen_config *c) {
  uint64_t h = 0;
  for (size_t i = 0; i < t->n_params; i++) {
    const gen_value *v = &t->params[i].values[c->index[i]];
    h = v->s ? hash_more(h, v->s, strlen(v->s)) : hash_more(h, &v->i, sizeof v->i);
  }
  return (uint32_t)h;
}

void serve_work_of(gen_instance *g, const gen_template *t, const gen_config *c, serve_work *out) {
  const gen_plan *plan;
  arena a = {0};
  *out = (serve_work){0};
  if (!gen_plan_make(g, c, &a, &plan, NULL)) {
    *out = (serve_work){.launches = (double)plan->n,
                        .flops = plan->flops,
                        .bytes = plan->bytes,
                        .variant = serve_variant_of(t, c)};
    for (size_t i = 0; i < plan->n; i++) {
      const uint32_t *grid = plan->launches[i].grid;
      out->blocks = fmax(out->blocks, (double)grid[0] * grid[1] * grid[2]);
    }
  }
  arena_clear(&a);
}

/* ---- costs ---------------------------------------------------------------------------------- */

/* The fields stand for the length of one block's work, which the operations per block tell only
 * where no tile hangs over an edge. */
void serve_costs_terms(const gen_template *t, const serve_costs *c, const int64_t *values,
                       const serve_work *w, double x[SERVE_MODEL_COSTS]) {
  const double one = ceil(w->blocks / c->sms), rounds = ceil(w->blocks / (c->at_once * c->sms));
  memset(x, 0, SERVE_MODEL_COSTS * sizeof *x);
  x[0] = w->launches;
  x[1] = one;
  x[2] = rounds;
  x[3] = one * (w->flops / w->blocks);
  x[4] = rounds * (w->flops / w->blocks);
  x[5] = w->flops;
  x[6] = w->bytes;
  x[7] = w->blocks;
  size_t n = 8;
  for (size_t f = 0; f < t->n_fields && n + 1 < SERVE_MODEL_COSTS; f++) {
    if (!t->fields[f].names) {
      x[n++] = one * (double)values[f];
      x[n++] = rounds * (double)values[f];
    }
  }
}

double serve_costs_sum(const gen_template *t, const serve_costs *c, const int64_t *values,
                       const serve_work *w) {
  double x[SERVE_MODEL_COSTS], sum = 0;
  serve_costs_terms(t, c, values, w, x);
  for (size_t i = 0; i < SERVE_MODEL_COSTS; i++) {
    sum += c->cost[i] * x[i];
  }
  return sum;
}

/* ---- what neighbours say -------------------------------------------------------------------- */

static double weight_at(double distance2) {
  return exp(-distance2 / (2 * NEAR * NEAR));
}

static double octave(int64_t value) {
  return log2((double)(value > 1 ? value : 1));
}

void serve_model_octaves(const gen_template *t, const int64_t *values, double *octaves) {
  for (size_t f = 0; f < t->n_fields; f++) {
    octaves[f] = t->fields[f].names ? (double)values[f] : octave(values[f]);
  }
}

static double weight_between(const gen_template *t, const double *a, const double *b) {
  double sum = 0;
  for (size_t f = 0; f < t->n_fields; f++) {
    const double d = a[f] - b[f];
    sum += t->fields[f].names ? (d == 0 ? 0 : OTHER_CHOICE * OTHER_CHOICE) : d * d;
  }
  return weight_at(sum);
}

double serve_near_weight(const gen_template *t, const int64_t *values, const int64_t *other) {
  double a[GEN_MAX_FIELDS], b[GEN_MAX_FIELDS];
  serve_model_octaves(t, values, a);
  serve_model_octaves(t, other, b);
  return weight_between(t, a, b);
}

void serve_near_add(serve_near *n, double weight, bool same_variant, double off) {
  const double w = same_variant ? weight : weight * weight_at(OTHER_VARIANT * OTHER_VARIANT);
  n->off += w * off;
  n->weights += w;
}

double serve_near_factor(const serve_near *n) {
  return exp(n->off / (n->weights + PRIOR));
}

double serve_near_doubt(const serve_near *n) {
  return exp(DOUBT / sqrt(1 + n->weights));
}

/* ---- a portfolio's -------------------------------------------------------------------------- */

void serve_model_weights(const gen_template *t, const serve_model *m, const int64_t *values,
                         double *weight) {
  double here[GEN_MAX_FIELDS];
  serve_model_octaves(t, values, here);
  for (size_t i = 0; i < m->n_sizes; i++) {
    weight[i] = m->octaves ? weight_between(t, here, m->octaves + i * t->n_fields)
                           : serve_near_weight(t, values, m->values + i * t->n_fields);
  }
}

static void add_measured(const serve_model *m, size_t config, uint32_t variant,
                         const double *weight, serve_near *near) {
  const serve_measured *list = m->measured[config];
  const double other = weight_at(OTHER_VARIANT * OTHER_VARIANT);
  for (uint32_t i = 0; i < m->n_measured[config]; i++) {
    const double w = weight[list[i].size] * (list[i].variant == variant ? 1 : other);
    near->off += w * list[i].off;
    near->weights += w;
  }
}

double serve_model_sec(const gen_template *t, const serve_model *m, size_t config,
                       const int64_t *values, const serve_work *w, const double *weight,
                       double *doubt) {
  serve_near near = {0};
  *doubt = 1;
  if (!(w->blocks > 0)) {
    return INFINITY;
  }
  if (m->measured) {
    add_measured(m, config, w->variant, weight, &near);
  }
  for (size_t i = 0; !m->measured && i < m->n_sizes; i++) {
    const size_t at = i * m->n_configs + config;
    if (isfinite(m->off[at])) {
      serve_near_add(&near, weight[i], m->variant[at] == w->variant, m->off[at]);
    }
  }
  const double sum = serve_costs_sum(t, &m->costs[config], values, w);
  *doubt = serve_near_doubt(&near);
  return sum > 0 ? sum * serve_near_factor(&near) : INFINITY;
}
