#define _GNU_SOURCE
#include "portfolio_model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

_Static_assert((int)CHOOSER_FIELDS == (int)GEN_MAX_FIELDS &&
                   (int)CHOOSER_WORK == (int)GEN_MAX_WORK &&
                   CHOOSER_COSTS == CHOOSER_PLAIN + 3 * CHOOSER_WORK,
               "chooser_model.h has the generator's limits");

chooser_fields model_fields(const gen_template *t) {
  chooser_fields fields = {.n = t->n_fields};
  for (size_t i = 0; i < t->n_fields; i++) {
    fields.names |= (uint64_t)(t->fields[i].names != NULL) << i;
  }
  return fields;
}

/* ---- work ----------------------------------------------------------------------------------- */

static double volume(const uint32_t x[3]) {
  return (double)x[0] * x[1] * x[2];
}

void model_work_of(gen_instance *g, const gen_config *c, model_work *out) {
  const gen_plan *plan;
  chooser_work *w = &out->amount;
  auto_arena a = {0};
  *out = (model_work){0};
  if (!gen_plan_make(g, c, &a, &plan, NULL)) {
    for (size_t i = 0; i < plan->n; i++) {
      const gen_launch *l = &plan->launches[i];
      if (l->kernel) {
        chooser_add_launch(w, volume(l->grid), volume(l->block), l->smem, l->work);
      }
    }
    w->launches = gen_plan_launches(plan); /* what sets memory counts, too */
    w->flops = plan->flops;
    w->bytes = plan->bytes;
    out->config = *c;
  }
  if (!(w->blocks > 0)) {
    *out = (model_work){0};
  }
}

/* ---- distances ------------------------------------------------------------------------------ */

/* A one in each of four lanes that isn't zero: such a lane carries into its highest bit. */
static uint64_t lanes_set(uint64_t x) {
  const uint64_t low = UINT64_C(0x7fff7fff7fff7fff);
  return ((((x & low) + low) | x) & ~low) >> 15;
}

/* In how many of the first n parameters do they differ? */
static size_t param_distance(const gen_config *a, const gen_config *b, size_t n) {
  uint64_t x, y, lanes = 0;
  size_t i = 0, differ = 0;
  for (; i + 4 <= n; i += 4) {
    memcpy(&x, &a->index[i], sizeof x);
    memcpy(&y, &b->index[i], sizeof y);
    lanes += lanes_set(x ^ y);
  }
  for (; i < n; i++) {
    differ += a->index[i] != b->index[i];
  }
  return differ + (size_t)((lanes * UINT64_C(0x0001000100010001)) >> 48);
}

double model_variant_distance(const gen_template *t, const model_variant *a,
                              const model_variant *b) {
  const double off = chooser_thread_length(a->threads) - chooser_thread_length(b->threads);
  return (double)param_distance(&a->config, &b->config, t->n_params) /
             (CHOOSER_PARAMETER_SCALE * CHOOSER_PARAMETER_SCALE) +
         off * off;
}

model_sample model_sample_new(size_t size, double blocks, double weight, const chooser_load *load) {
  return (model_sample){.size = (uint16_t)size,
                        .blocks = (float)blocks,
                        .weight = (float)weight,
                        .length = (float)load->length,
                        .tail = (float)load->tail};
}

/* ---- rows ----------------------------------------------------------------------------------- */

static const float LEVELS = 65535; /* steps from the least to the most */

/* Whole numbers that fit stay what they are. */
static bool level_all(const float *x, size_t n, bool whole, arena *a, chooser_levels *out) {
  uint16_t *level = ARENA_ARRAY(a, uint16_t, n + 1);
  float least = n ? x[0] : 0, most = least;
  for (size_t i = 1; i < n; i++) {
    least = fminf(least, x[i]);
    most = fmaxf(most, x[i]);
  }
  const float step = whole ? 1 : (most - least) / LEVELS;
  for (size_t i = 0; level && step > 0 && i < n; i++) {
    level[i] = (uint16_t)fminf(LEVELS, roundf((x[i] - least) / step));
  }
  *out = (chooser_levels){.from = least, .step = step, .level = level};
  return level;
}

/* Variant i or the first after it that has samples. */
static size_t next_sampled(const model_fit *fit, size_t i) {
  while (i < fit->n_variants && !fit->variants[i].n) {
    i++;
  }
  return i;
}

static bool variants_differ(const model_fit *fit, size_t param) {
  const size_t first = next_sampled(fit, 0), n = fit->n_variants;
  const model_variant *v = fit->variants;
  size_t i = first;
  while (i < n && v[i].config.index[param] == v[first].config.index[param]) {
    i = next_sampled(fit, i + 1);
  }
  return i < n;
}

static bool list_params(const gen_template *t, model_fit *fit, arena *a) {
  uint8_t *param = ARENA_ARRAY(a, uint8_t, t->n_params + 1);
  fit->n_params = 0;
  for (size_t i = 0; param && i < t->n_params; i++) {
    if (variants_differ(fit, i)) {
      param[fit->n_params++] = (uint8_t)i;
    }
  }
  fit->param = param;
  return param;
}

static bool list_variants(model_fit *fit, arena *a) {
  chooser_rows *r = &fit->chooser.rows;
  uint8_t *index = ARENA_ARRAY(a, uint8_t, fit->n_params * r->n_variants + 1);
  float *threads = ARENA_ARRAY(a, float, r->n_variants + 1);
  size_t n = 0;
  for (size_t i = next_sampled(fit, 0); index && threads && i < fit->n_variants;
       i = next_sampled(fit, i + 1), n++) {
    const model_variant *v = &fit->variants[i];
    fit->one = v->config;
    threads[n] = (float)chooser_thread_length(v->threads);
    for (size_t k = 0; k < fit->n_params; k++) {
      index[k * r->n_variants + n] = (uint8_t)v->config.index[fit->param[k]];
    }
  }
  fit->index = index;
  r->threads = threads;
  return index && threads;
}

static bool list_samples(model_fit *fit, arena *a) {
  chooser_rows *r = &fit->chooser.rows;
  float length[CHOOSER_SIZES], tail[CHOOSER_SIZES];
  uint16_t *size = ARENA_ARRAY(a, uint16_t, r->n + 1);
  float *weight = ARENA_ARRAY(a, float, r->n + 1);
  size_t n = 0;
  for (size_t i = 0; size && weight && i < fit->n_variants; i++) {
    for (size_t k = 0; k < fit->variants[i].n; k++, n++) {
      const model_sample *s = &fit->variants[i].samples[k];
      size[n] = (uint16_t)(s->size | (k ? 0 : CHOOSER_NEXT));
      weight[n] = s->weight;
      length[n] = s->length;
      tail[n] = s->tail;
    }
  }
  r->size = size;
  r->weight = weight;
  return size && weight && level_all(length, n, false, a, &r->length) &&
         level_all(tail, n, false, a, &r->tail);
}

int model_fit_rows(const gen_template *t, model_fit *fit, arena *a, err *e) {
  chooser_rows *r = &fit->chooser.rows;
  *r = (chooser_rows){0};
  for (size_t i = 0; i < fit->n_variants; i++) {
    r->n += fit->variants[i].n;
    r->n_variants += fit->variants[i].n > 0;
  }
  assert(fit->n_variants <= CHOOSER_SIZES && r->n <= CHOOSER_SIZES);
  return list_params(t, fit, a) && list_variants(fit, a) && list_samples(fit, a) ? 0 : err_nomem(e);
}

/* ---- asking --------------------------------------------------------------------------------- */

/* The parameters that all variants share are compared once. */
void model_fit_differences(const gen_template *t, const model_fit *fit, const gen_config *from,
                           uint16_t *differ) {
  const size_t n = fit->chooser.rows.n_variants;
  size_t shared = param_distance(from, &fit->one, t->n_params);
  for (size_t k = 0; k < fit->n_params; k++) {
    shared -= from->index[fit->param[k]] != fit->one.index[fit->param[k]];
  }
  for (size_t i = 0; i < n; i++) {
    differ[i] = (uint16_t)shared;
  }
  for (size_t k = 0; k < fit->n_params; k++) {
    const uint8_t *index = fit->index + k * n, own = (uint8_t)from->index[fit->param[k]];
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      differ[i] = (uint16_t)(differ[i] + (index[i] != own));
    }
  }
}

double model_fit_sec(const gen_template *t, const model_fit *fit, const int64_t *values,
                     const model_work *w, const float *distances) {
  const chooser_fields fields = model_fields(t);
  uint16_t differ[CHOOSER_SIZES];
  model_fit_differences(t, fit, &w->config, differ);
  return chooser_seconds(&fields, &fit->chooser, values, &w->amount, differ, distances);
}

double model_fit_cautious_sec(const gen_template *t, const model_fit *fit, const int64_t *values,
                              const model_work *w, const float *distances) {
  const chooser_fields fields = model_fields(t);
  uint16_t differ[CHOOSER_SIZES];
  model_fit_differences(t, fit, &w->config, differ);
  return chooser_cautious_seconds(&fields, &fit->chooser, values, &w->amount, differ, distances);
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static bool sizes_differ(const gen_template *t, const portfolio_model *m, size_t field) {
  size_t i = 1;
  while (i < m->sizes.n && m->values[i * t->n_fields + field] == m->values[field]) {
    i++;
  }
  return i < m->sizes.n;
}

static bool level_field(const gen_template *t, const portfolio_model *m, size_t field, arena *a,
                        chooser_levels *out) {
  float x[CHOOSER_SIZES];
  for (size_t i = 0; i < m->sizes.n; i++) {
    double all[GEN_MAX_FIELDS];
    chooser_octaves(&m->sizes.fields, m->values + i * t->n_fields, all);
    x[i] = (float)all[field];
  }
  return level_all(x, m->sizes.n, t->fields[field].names, a, out);
}

int portfolio_model_sizes(const gen_template *t, portfolio_model *m, arena *a, err *e) {
  chooser_sizes *s = &m->sizes;
  double *first = ARENA_ARRAY(a, double, t->n_fields + 1);
  uint16_t *field = ARENA_ARRAY(a, uint16_t, t->n_fields + 1);
  chooser_levels *octaves = ARENA_ARRAY(a, chooser_levels, t->n_fields + 1);
  bool ok = first && field && octaves;
  assert(s->n <= CHOOSER_SIZES);
  s->fields = model_fields(t);
  s->n_varying = 0;
  for (size_t f = 0; ok && f < t->n_fields; f++) {
    if (sizes_differ(t, m, f)) {
      field[s->n_varying] = (uint16_t)f;
      ok = level_field(t, m, f, a, &octaves[s->n_varying++]);
    }
  }
  if (ok) {
    chooser_octaves(&s->fields, m->values, first);
  }
  s->first = first;
  s->field = field;
  s->octaves = octaves;
  return ok ? 0 : err_nomem(e);
}

size_t portfolio_model_nbytes(const portfolio_model *m) {
  size_t n = m->n_configs * sizeof *m->fits + m->sizes.n * m->sizes.n_varying * sizeof(uint16_t);
  for (size_t i = 0; i < m->n_configs; i++) {
    const chooser_rows *r = &m->fits[i].chooser.rows;
    n += r->n * (3 * sizeof(uint16_t) + sizeof(float)) +
         r->n_variants * (m->fits[i].n_params + sizeof(float));
  }
  return n;
}
