#define _GNU_SOURCE
#include "portfolio_model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
  FIELD = MODEL_FIELD,
  CHOICE = MODEL_CHOICE,
  LENGTH = MODEL_LENGTH,
  THREADS = MODEL_THREADS,
  TAIL = MODEL_TAIL,
  PARAMETER = MODEL_PARAMETER
};

/* How far the sum of costs is off, a logarithm. */
static const double OFF = MODEL_OFF, OFF_MOST = MODEL_OFF_MOST;

/* ---- work ----------------------------------------------------------------------------------- */

static double blocks_of(const gen_launch *l) {
  return (double)l->grid[0] * l->grid[1] * l->grid[2];
}

static double threads_of(const gen_launch *l) {
  return (double)l->block[0] * l->block[1] * l->block[2];
}

/* Those that set, scale or pack an operand go without shared memory. */
static bool does_more(const gen_launch *a, const gen_launch *b) {
  return a->smem != b->smem ? a->smem > b->smem
                            : blocks_of(a) * threads_of(a) > blocks_of(b) * threads_of(b);
}

static const gen_launch *main_launch(const gen_plan *plan) {
  const gen_launch *most = NULL;
  for (size_t i = 0; i < plan->n; i++) {
    const gen_launch *l = &plan->launches[i];
    most = l->kernel && (!most || does_more(l, most)) ? l : most;
  }
  return most;
}

void model_work_of(gen_instance *g, const gen_template *t, const gen_config *c, model_work *out) {
  const gen_plan *plan;
  arena a = {0};
  (void)t;
  *out = (model_work){0};
  if (!gen_plan_make(g, c, &a, &plan, NULL) && main_launch(plan)) {
    *out = (model_work){.launches = (double)plan->n,
                        .blocks = blocks_of(main_launch(plan)),
                        .threads = threads_of(main_launch(plan)),
                        .flops = plan->flops,
                        .bytes = plan->bytes,
                        .form = *c};
    memcpy(out->work, main_launch(plan)->work, sizeof out->work);
  }
  arena_clear(&a);
}

/* ---- costs ---------------------------------------------------------------------------------- */

static double rounds_of(const model_costs *c, double blocks) {
  return ceil(blocks / (c->at_once * c->sms));
}

/* Where the template does not tell what a block does, the fields stand for the length of its work:
 * operations per block are less than that where tiles hang over edges. */
void model_cost_terms(const gen_template *t, const model_costs *c, const int64_t *values,
                      const model_work *w, double x[MODEL_COSTS]) {
  const double one = ceil(w->blocks / c->sms), rounds = rounds_of(c, w->blocks);
  memset(x, 0, MODEL_COSTS * sizeof *x);
  x[0] = w->launches;
  x[1] = one;
  x[2] = rounds;
  x[3] = one * (w->flops / w->blocks);
  x[4] = rounds * (w->flops / w->blocks);
  x[5] = w->flops;
  x[6] = w->bytes;
  x[7] = w->blocks;
  size_t n = 8;
  for (size_t f = 0; f < t->n_fields && n + 1 < MODEL_PLAIN; f++) {
    if (!t->fields[f].names) {
      x[n++] = one * (double)values[f];
      x[n++] = rounds * (double)values[f];
    }
  }
  for (size_t i = 0; i < GEN_MAX_WORK; i++) {
    double *of = &x[MODEL_PLAIN + 3 * i];
    of[0] = one * w->work[i];
    of[1] = rounds * w->work[i];
    of[2] = w->blocks * w->work[i];
  }
}

double model_cost_sum(const gen_template *t, const model_costs *c, const int64_t *values,
                      const model_work *w) {
  double x[MODEL_COSTS], sum = 0;
  model_cost_terms(t, c, values, w, x);
  for (size_t i = 0; i < MODEL_COSTS; i++) {
    sum += c->cost[i] * x[i];
  }
  return sum;
}

/* ---- distances ------------------------------------------------------------------------------ */

static double square(double x) {
  return x * x;
}

void model_octaves(const gen_template *t, const int64_t *values, double *octaves) {
  for (size_t f = 0; f < t->n_fields; f++) {
    octaves[f] = t->fields[f].names ? (double)values[f] : log2(fmax(1, (double)values[f]));
  }
}

double model_field_distance(const gen_template *t, const double *octaves, const double *other) {
  double choices = 0, numbers = 0;
  for (size_t f = 0; f < t->n_fields; f++) {
    const double d = octaves[f] - other[f];
    choices += t->fields[f].names && d != 0;
    numbers += t->fields[f].names ? 0 : d * d;
  }
  return choices / square(CHOICE) + numbers / square(FIELD);
}

/* A one in each of four lanes that isn't zero: such a lane carries into its highest bit. */
static uint64_t lanes_set(uint64_t x) {
  const uint64_t low = UINT64_C(0x7fff7fff7fff7fff);
  return ((((x & low) + low) | x) & ~low) >> 15;
}

size_t model_param_distance(const gen_config *a, const gen_config *b, size_t n) {
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

model_variant model_variant_new(const gen_config *c, double threads) {
  return (model_variant){.config = *c, .threads = threads, .length = log2(threads) / THREADS};
}

double model_variant_distance(const gen_template *t, const model_variant *form,
                              const model_variant *other) {
  return (double)model_param_distance(&form->config, &other->config, t->n_params) /
             square(PARAMETER) +
         square(form->length - other->length);
}

model_sample model_sample_new(size_t size, double blocks, double weight, const model_load *load) {
  return (model_sample){.size = (uint16_t)size,
                        .blocks = (float)blocks,
                        .weight = (float)weight,
                        .length = (float)load->length,
                        .tail = (float)load->tail};
}

model_load model_load_of(const model_costs *c, double flops, double blocks) {
  return (model_load){.length = log2(fmax(1, flops) / blocks) / LENGTH,
                      .tail = log2(rounds_of(c, blocks) * c->at_once * c->sms / blocks) / TAIL};
}

double model_load_distance(const model_load *a, const model_load *b) {
  return square(a->length - b->length) + square(a->tail - b->tail);
}

/* The rational quadratic: no exponential, and of two far apart the farther one still counts less.
 */
double model_covariance(double apart) {
  return OFF * OFF / (1 + apart / 2);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of host memory");
}

/* So many steps from the least to the most. */
static const float LEVELS = 65535;

double model_level(const model_levels *l, size_t i) {
  return (double)(l->from + l->step * (float)l->level[i]);
}

/* Whole numbers that fit stay what they are. */
static bool level_all(const float *x, size_t n, bool whole, arena *a, model_levels *out) {
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
  *out = (model_levels){.from = least, .step = step, .level = level};
  return level;
}

/* The form that follows i; what was told nothing says nothing. */
static size_t next_told(const model_fit *fit, size_t i) {
  while (i < fit->n_forms && !fit->forms[i].n) {
    i++;
  }
  return i;
}

static bool forms_differ(const model_fit *fit, size_t param) {
  const size_t first = next_told(fit, 0), n = fit->n_forms;
  size_t i = first;
  while (i < n && fit->forms[i].config.index[param] == fit->forms[first].config.index[param]) {
    i = next_told(fit, i + 1);
  }
  return i < n;
}

static void list_params(const gen_template *t, const model_fit *fit, model_rows *r,
                        uint8_t *param) {
  for (size_t i = 0; i < t->n_params; i++) {
    if (forms_differ(fit, i)) {
      param[r->n_params++] = (uint8_t)i;
    }
  }
  r->param = param;
}

static bool list_forms(const model_fit *fit, model_rows *r, arena *a) {
  uint8_t *index = ARENA_ARRAY(a, uint8_t, r->n_params * r->n_forms + 1);
  float *threads = ARENA_ARRAY(a, float, r->n_forms + 1);
  size_t n = 0;
  for (size_t i = next_told(fit, 0); index && threads && i < fit->n_forms;
       i = next_told(fit, i + 1), n++) {
    const model_variant *form = &fit->forms[i];
    r->one = form->config;
    threads[n] = (float)form->length;
    for (size_t k = 0; k < r->n_params; k++) {
      index[k * r->n_forms + n] = (uint8_t)form->config.index[r->param[k]];
    }
  }
  r->index = index;
  r->threads = threads;
  return index && threads;
}

static bool list_told(const model_fit *fit, model_rows *r, arena *a) {
  float length[MODEL_SIZES], tail[MODEL_SIZES];
  uint16_t *size = ARENA_ARRAY(a, uint16_t, r->n + 1);
  float *weight = ARENA_ARRAY(a, float, r->n + 1);
  size_t n = 0;
  for (size_t i = 0; size && weight && i < fit->n_forms; i++) {
    for (size_t k = 0; k < fit->forms[i].n; k++, n++) {
      const model_sample *told = &fit->forms[i].told[k];
      size[n] = (uint16_t)(told->size | (k ? 0 : MODEL_ROWS_NEXT));
      weight[n] = told->weight;
      length[n] = told->length;
      tail[n] = told->tail;
    }
  }
  r->size = size;
  r->weight = weight;
  return size && weight && level_all(length, n, false, a, &r->length) &&
         level_all(tail, n, false, a, &r->tail);
}

int model_fit_rows(const gen_template *t, model_fit *fit, arena *a, err *e) {
  model_rows *r = &fit->rows;
  uint8_t *param = ARENA_ARRAY(a, uint8_t, t->n_params + 1);
  *r = (model_rows){0};
  for (size_t i = 0; i < fit->n_forms; i++) {
    r->n += fit->forms[i].n;
    r->n_forms += fit->forms[i].n > 0;
  }
  assert(fit->n_forms <= MODEL_SIZES && r->n <= MODEL_SIZES);
  if (!param) {
    return no_room(e);
  }
  list_params(t, fit, r, param);
  return list_forms(fit, r, a) && list_told(fit, r, a) ? 0 : no_room(e);
}

/* ---- asking --------------------------------------------------------------------------------- */

/* What all forms share is compared once. */
void model_fit_differences(const gen_template *t, const model_fit *fit, const gen_config *from,
                           uint16_t *differ) {
  const model_rows *r = &fit->rows;
  const size_t n = r->n_forms;
  size_t shared = model_param_distance(from, &r->one, t->n_params);
  for (size_t k = 0; k < r->n_params; k++) {
    shared -= from->index[r->param[k]] != r->one.index[r->param[k]];
  }
  for (size_t i = 0; i < n; i++) {
    differ[i] = (uint16_t)shared;
  }
  for (size_t k = 0; k < r->n_params; k++) {
    const uint8_t *index = r->index + k * n, own = (uint8_t)from->index[r->param[k]];
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      differ[i] = (uint16_t)(differ[i] + (index[i] != own));
    }
  }
}

static void forms_apart(const gen_template *t, const model_fit *fit, const model_work *w,
                        float *apart) {
  uint16_t differ[MODEL_SIZES];
  const float length = (float)model_variant_new(&w->form, w->threads).length;
  const float each = (float)(1 / square(PARAMETER));
  model_fit_differences(t, fit, &w->form, differ);
#pragma omp simd
  for (size_t i = 0; i < fit->rows.n_forms; i++) {
    const float off = fit->rows.threads[i] - length;
    apart[i] = each * (float)differ[i] + off * off;
  }
}

/* As model_covariance; single precision is a hundred times as good as the weights' five digits. */
static double sum_alike(const model_rows *r, const float *apart, const model_load *load) {
  const uint16_t *length = r->length.level, *tail = r->tail.level;
  const float *weight = r->weight;
  const float from_x = r->length.from - (float)load->length, step_x = r->length.step;
  const float from_y = r->tail.from - (float)load->tail, step_y = r->tail.step;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < r->n; i++) {
    const float x = from_x + step_x * (float)length[i], y = from_y + step_y * (float)tail[i];
    sum += weight[i] / (1 + (apart[i] + x * x + y * y) / 2);
  }
  return OFF * OFF * (double)sum;
}

static double told_by(const model_rows *r, const model_load *load, const float *sizes_apart,
                      const float *of_form) {
  float apart[MODEL_SIZES];
  const uint16_t *size = r->size;
  for (size_t i = 0, forms = 0, n = r->n; i < n; i++) {
    forms += size[i] / MODEL_ROWS_NEXT;
    apart[i] = sizes_apart[size[i] % MODEL_ROWS_NEXT] + of_form[forms - 1];
  }
  return sum_alike(r, apart, load);
}

/* Of two that wait for the host alike the faster one is still the better one. */
static double with_launches(const model_work *w, double sec) {
  return w->launches > 1 ? fmax(sec, MODEL_LAUNCH * w->launches + sec / 1000) : sec;
}

double model_fit_sec(const gen_template *t, const model_fit *fit, const int64_t *values,
                     const model_work *w, const float *apart) {
  double off = 0;
  if (!(w->blocks > 0)) {
    return INFINITY;
  }
  if (fit->rows.n_forms) {
    float of_form[MODEL_SIZES];
    const model_load load = model_load_of(&fit->costs, w->flops, w->blocks);
    forms_apart(t, fit, w, of_form);
    off = told_by(&fit->rows, &load, apart, of_form);
  }
  const double sum = model_cost_sum(t, &fit->costs, values, w);
  const double sec = sum * exp(fmax(-OFF_MOST, fmin(OFF_MOST, off)));
  return sum > 0 ? with_launches(w, sec) : INFINITY;
}

double model_fit_novelty(const gen_template *t, const model_fit *fit, const model_work *w,
                         const float *apart) {
  const model_rows *r = &fit->rows;
  float of_form[MODEL_SIZES], least = INFINITY;
  if (!r->n || !(w->blocks > 0)) {
    return 0;
  }
  const model_load load = model_load_of(&fit->costs, w->flops, w->blocks);
  forms_apart(t, fit, w, of_form);
  for (size_t i = 0, forms = 0; i < r->n; i++) {
    const model_load there = {.length = model_level(&r->length, i),
                              .tail = model_level(&r->tail, i)};
    forms += r->size[i] / MODEL_ROWS_NEXT;
    least = fminf(least, apart[r->size[i] % MODEL_ROWS_NEXT] + of_form[forms - 1] +
                             (float)model_load_distance(&load, &there));
  }
  return (double)least;
}

/* ---- fields --------------------------------------------------------------------------------- */

static bool sizes_differ(const gen_template *t, const portfolio_model *m, size_t field) {
  size_t i = 1;
  while (i < m->n_sizes && m->values[i * t->n_fields + field] == m->values[field]) {
    i++;
  }
  return i < m->n_sizes;
}

static bool level_field(const gen_template *t, const portfolio_model *m, size_t field, arena *a,
                        model_levels *out) {
  float x[MODEL_SIZES];
  for (size_t i = 0; i < m->n_sizes; i++) {
    double all[GEN_MAX_FIELDS];
    model_octaves(t, m->values + i * t->n_fields, all);
    x[i] = (float)all[field];
  }
  return level_all(x, m->n_sizes, t->fields[field].names, a, out);
}

int portfolio_model_fields(const gen_template *t, portfolio_model *m, arena *a, err *e) {
  double *first = ARENA_ARRAY(a, double, t->n_fields + 1);
  uint16_t *field = ARENA_ARRAY(a, uint16_t, t->n_fields + 1);
  model_levels *octaves = ARENA_ARRAY(a, model_levels, t->n_fields + 1);
  bool ok = first && field && octaves;
  assert(m->n_sizes <= MODEL_SIZES);
  m->n_varying = 0;
  for (size_t f = 0; ok && f < t->n_fields; f++) {
    if (sizes_differ(t, m, f)) {
      field[m->n_varying] = (uint16_t)f;
      ok = level_field(t, m, f, a, &octaves[m->n_varying++]);
    }
  }
  if (ok) {
    model_octaves(t, m->values, first);
  }
  m->first = first;
  m->field = field;
  m->octaves = octaves;
  return ok ? 0 : no_room(e);
}

size_t portfolio_model_nbytes(const portfolio_model *m) {
  size_t n = m->n_configs * sizeof *m->fits + m->n_sizes * m->n_varying * sizeof(uint16_t);
  for (size_t i = 0; i < m->n_configs; i++) {
    const model_rows *r = &m->fits[i].rows;
    n += r->n * (3 * sizeof(uint16_t) + sizeof(float)) + r->n_forms * (r->n_params + sizeof(float));
  }
  return n;
}

static void add_apart(bool choice, const model_levels *octaves, float here, size_t n,
                      float *apart) {
  const float number = (float)(1 / square(FIELD)), other = (float)(1 / square(CHOICE));
  const float from = octaves->from - here, step = octaves->step;
  const uint16_t *level = octaves->level;
  if (choice) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      apart[i] += from + (float)level[i] != 0 ? other : 0;
    }
  } else {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      const float x = from + step * (float)level[i];
      apart[i] += number * x * x;
    }
  }
}

/* What is the same at all sizes is so far from all of them as it is from the first. */
void model_field_distances(const gen_template *t, const portfolio_model *m, const int64_t *values,
                           float *apart) {
  double here[GEN_MAX_FIELDS], first[GEN_MAX_FIELDS];
  if (!m->n_sizes) {
    return;
  }
  model_octaves(t, values, here);
  memcpy(first, m->first, t->n_fields * sizeof *first);
  for (size_t k = 0; k < m->n_varying; k++) {
    first[m->field[k]] = here[m->field[k]];
  }
  const float same = (float)model_field_distance(t, here, first);
  for (size_t i = 0; i < m->n_sizes; i++) {
    apart[i] = same;
  }
  for (size_t k = 0; k < m->n_varying; k++) {
    const size_t f = m->field[k];
    add_apart(t->fields[f].names, &m->octaves[k], (float)here[f], m->n_sizes, apart);
  }
}
