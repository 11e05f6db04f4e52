#define _GNU_SOURCE
#include "serve_model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
  FIELD = SERVE_MODEL_FIELD,
  CHOICE = SERVE_MODEL_CHOICE,
  LENGTH = SERVE_MODEL_LENGTH,
  THREADS = SERVE_MODEL_THREADS,
  TAIL = SERVE_MODEL_TAIL,
  PARAMETER = SERVE_MODEL_PARAMETER
};

/* How far the sum of costs is off, a logarithm. */
static const double OFF = SERVE_MODEL_OFF, OFF_MOST = SERVE_MODEL_OFF_MOST;

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

void serve_work_of(gen_instance *g, const gen_template *t, const gen_config *c, serve_work *out) {
  const gen_plan *plan;
  arena a = {0};
  (void)t;
  *out = (serve_work){0};
  if (!gen_plan_make(g, c, &a, &plan, NULL) && main_launch(plan)) {
    *out = (serve_work){.launches = (double)plan->n,
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

static double rounds_of(const serve_costs *c, double blocks) {
  return ceil(blocks / (c->at_once * c->sms));
}

/* Where the template does not tell what a block does, the fields stand for the length of its work:
 * operations per block are less than that where tiles hang over edges. */
void serve_costs_terms(const gen_template *t, const serve_costs *c, const int64_t *values,
                       const serve_work *w, double x[SERVE_MODEL_COSTS]) {
  const double one = ceil(w->blocks / c->sms), rounds = rounds_of(c, w->blocks);
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
  for (size_t f = 0; f < t->n_fields && n + 1 < SERVE_MODEL_PLAIN; f++) {
    if (!t->fields[f].names) {
      x[n++] = one * (double)values[f];
      x[n++] = rounds * (double)values[f];
    }
  }
  for (size_t i = 0; i < GEN_MAX_WORK; i++) {
    double *of = &x[SERVE_MODEL_PLAIN + 3 * i];
    of[0] = one * w->work[i];
    of[1] = rounds * w->work[i];
    of[2] = w->blocks * w->work[i];
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

/* ---- distances ------------------------------------------------------------------------------ */

static double square(double x) {
  return x * x;
}

void serve_model_octaves(const gen_template *t, const int64_t *values, double *octaves) {
  for (size_t f = 0; f < t->n_fields; f++) {
    octaves[f] = t->fields[f].names ? (double)values[f] : log2(fmax(1, (double)values[f]));
  }
}

double serve_fields_apart(const gen_template *t, const double *octaves, const double *other) {
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

size_t serve_parameters_apart(const gen_config *a, const gen_config *b, size_t n) {
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

serve_form serve_form_new(const gen_config *c, double threads) {
  return (serve_form){.config = *c, .threads = threads, .length = log2(threads) / THREADS};
}

double serve_forms_apart(const gen_template *t, const serve_form *form, const serve_form *other) {
  return (double)serve_parameters_apart(&form->config, &other->config, t->n_params) /
             square(PARAMETER) +
         square(form->length - other->length);
}

serve_told serve_told_new(size_t size, double blocks, double weight, const serve_load *load) {
  return (serve_told){.size = (uint16_t)size,
                      .blocks = (float)blocks,
                      .weight = (float)weight,
                      .length = (float)load->length,
                      .tail = (float)load->tail};
}

serve_load serve_load_of(const serve_costs *c, double flops, double blocks) {
  return (serve_load){.length = log2(fmax(1, flops) / blocks) / LENGTH,
                      .tail = log2(rounds_of(c, blocks) * c->at_once * c->sms / blocks) / TAIL};
}

double serve_loads_apart(const serve_load *a, const serve_load *b) {
  return square(a->length - b->length) + square(a->tail - b->tail);
}

/* The rational quadratic: no exponential, and of two far apart the farther one still counts less.
 */
double serve_alike(double apart) {
  return OFF * OFF / (1 + apart / 2);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int no_room(err *e) {
  return err_set(e, ERR_NOMEM, "out of host memory");
}

static bool forms_differ(const serve_fit *fit, size_t param) {
  size_t i = 1;
  while (i < fit->n_forms &&
         fit->forms[i].config.index[param] == fit->forms[0].config.index[param]) {
    i++;
  }
  return i < fit->n_forms;
}

static bool list_params(const gen_template *t, serve_fit *fit, arena *a) {
  uint16_t *param = ARENA_ARRAY(a, uint16_t, t->n_params + 1);
  size_t n = 0;
  for (size_t i = 0; param && i < t->n_params; i++) {
    if (forms_differ(fit, i)) {
      param[n++] = (uint16_t)i;
    }
  }
  uint16_t *index = ARENA_ARRAY(a, uint16_t, n * fit->n_forms + 1);
  float *threads = ARENA_ARRAY(a, float, fit->n_forms + 1);
  for (size_t i = 0; param && index && threads && i < fit->n_forms; i++) {
    threads[i] = (float)fit->forms[i].length;
    for (size_t k = 0; k < n; k++) {
      index[k * fit->n_forms + i] = fit->forms[i].config.index[param[k]];
    }
  }
  fit->rows.n_params = n;
  fit->rows.param = param;
  fit->rows.index = index;
  fit->rows.threads = threads;
  return param && index && threads;
}

static bool list_told(serve_fit *fit, size_t most, arena *a) {
  uint16_t *size = ARENA_ARRAY(a, uint16_t, most + 1), *form = ARENA_ARRAY(a, uint16_t, most + 1);
  float *weight = ARENA_ARRAY(a, float, most + 1), *length = ARENA_ARRAY(a, float, most + 1);
  float *tail = ARENA_ARRAY(a, float, most + 1);
  const bool ok = size && form && weight && length && tail;
  size_t n = 0;
  for (size_t i = 0; ok && i < fit->n_forms; i++) {
    for (size_t k = 0; k < fit->forms[i].n; k++, n++) {
      const serve_told *told = &fit->forms[i].told[k];
      size[n] = told->size;
      form[n] = (uint16_t)i;
      weight[n] = told->weight;
      length[n] = told->length;
      tail[n] = told->tail;
    }
  }
  fit->rows.n = n;
  fit->rows.size = size;
  fit->rows.form = form;
  fit->rows.weight = weight;
  fit->rows.length = length;
  fit->rows.tail = tail;
  return ok;
}

int serve_fit_rows(const gen_template *t, serve_fit *fit, arena *a, err *e) {
  size_t most = 0;
  for (size_t i = 0; i < fit->n_forms; i++) {
    most += fit->forms[i].n;
  }
  assert(fit->n_forms <= SERVE_MODEL_SIZES && most <= SERVE_MODEL_SIZES);
  return list_params(t, fit, a) && list_told(fit, most, a) ? 0 : no_room(e);
}

/* ---- asking --------------------------------------------------------------------------------- */

/* In how many parameters each form differs from this one. What all forms share is compared once. */
static void count_params(const gen_template *t, const serve_fit *fit, const gen_config *here,
                         uint16_t *differ) {
  const serve_rows *r = &fit->rows;
  const size_t n = fit->n_forms;
  const gen_config *first = &fit->forms[0].config;
  size_t shared = serve_parameters_apart(here, first, t->n_params);
  for (size_t k = 0; k < r->n_params; k++) {
    shared -= here->index[r->param[k]] != first->index[r->param[k]];
  }
  for (size_t i = 0; i < n; i++) {
    differ[i] = (uint16_t)shared;
  }
  for (size_t k = 0; k < r->n_params; k++) {
    const uint16_t *index = r->index + k * n, own = here->index[r->param[k]];
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      differ[i] = (uint16_t)(differ[i] + (index[i] != own));
    }
  }
}

static void forms_apart(const gen_template *t, const serve_fit *fit, const serve_work *w,
                        float *apart) {
  uint16_t differ[SERVE_MODEL_SIZES];
  const float length = (float)serve_form_new(&w->form, w->threads).length;
  const float each = (float)(1 / square(PARAMETER));
  count_params(t, fit, &w->form, differ);
#pragma omp simd
  for (size_t i = 0; i < fit->n_forms; i++) {
    const float off = fit->rows.threads[i] - length;
    apart[i] = each * (float)differ[i] + off * off;
  }
}

/* As serve_alike; single precision is a hundred times as good as the weights' five digits. */
static double sum_alike(size_t n, const float *weight, const float *length, const float *tail,
                        const float *apart, float here_length, float here_tail) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) {
    const float x = length[i] - here_length, y = tail[i] - here_tail;
    sum += weight[i] / (1 + (apart[i] + x * x + y * y) / 2);
  }
  return OFF * OFF * (double)sum;
}

static double told_by(const serve_rows *r, const serve_load *load, const float *sizes_apart,
                      const float *of_form) {
  float apart[SERVE_MODEL_SIZES];
  const uint16_t *size = r->size, *form = r->form;
  for (size_t i = 0, n = r->n; i < n; i++) {
    apart[i] = sizes_apart[size[i]] + of_form[form[i]];
  }
  return sum_alike(r->n, r->weight, r->length, r->tail, apart, (float)load->length,
                   (float)load->tail);
}

/* Of two that wait for the host alike the faster one is still the better one. */
static double with_launches(const serve_work *w, double sec) {
  return w->launches > 1 ? fmax(sec, SERVE_MODEL_LAUNCH * w->launches + sec / 1000) : sec;
}

double serve_fit_sec(const gen_template *t, const serve_fit *fit, const int64_t *values,
                     const serve_work *w, const float *apart) {
  double off = 0;
  if (!(w->blocks > 0)) {
    return INFINITY;
  }
  if (fit->n_forms) {
    float of_form[SERVE_MODEL_SIZES];
    const serve_load load = serve_load_of(&fit->costs, w->flops, w->blocks);
    forms_apart(t, fit, w, of_form);
    off = told_by(&fit->rows, &load, apart, of_form);
  }
  const double sum = serve_costs_sum(t, &fit->costs, values, w);
  const double sec = sum * exp(fmax(-OFF_MOST, fmin(OFF_MOST, off)));
  return sum > 0 ? with_launches(w, sec) : INFINITY;
}

/* ---- fields --------------------------------------------------------------------------------- */

static bool sizes_differ(const gen_template *t, const serve_model *m, size_t field) {
  size_t i = 1;
  while (i < m->n_sizes && m->values[i * t->n_fields + field] == m->values[field]) {
    i++;
  }
  return i < m->n_sizes;
}

int serve_model_fields(const gen_template *t, serve_model *m, arena *a, err *e) {
  uint16_t *field = ARENA_ARRAY(a, uint16_t, t->n_fields + 1);
  size_t n = 0;
  for (size_t f = 0; field && f < t->n_fields; f++) {
    if (sizes_differ(t, m, f)) {
      field[n++] = (uint16_t)f;
    }
  }
  float *octaves = ARENA_ARRAY(a, float, n * m->n_sizes + 1);
  for (size_t i = 0; field && octaves && i < m->n_sizes; i++) {
    double all[GEN_MAX_FIELDS];
    serve_model_octaves(t, m->values + i * t->n_fields, all);
    for (size_t k = 0; k < n; k++) {
      octaves[k * m->n_sizes + i] = (float)all[field[k]];
    }
  }
  m->field = field;
  m->n_varying = n;
  m->octaves = octaves;
  return field && octaves ? 0 : no_room(e);
}

static void add_apart(bool choice, const float *octaves, float here, size_t n, float *apart) {
  const float number = (float)(1 / square(FIELD)), other = (float)(1 / square(CHOICE));
  if (choice) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      apart[i] += octaves[i] != here ? other : 0;
    }
  } else {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      apart[i] += number * (octaves[i] - here) * (octaves[i] - here);
    }
  }
}

/* What is the same at all sizes is so far from all of them as it is from the first. */
void serve_model_apart(const gen_template *t, const serve_model *m, const int64_t *values,
                       float *apart) {
  double here[GEN_MAX_FIELDS], first[GEN_MAX_FIELDS];
  if (!m->n_sizes) {
    return;
  }
  serve_model_octaves(t, values, here);
  serve_model_octaves(t, m->values, first);
  for (size_t k = 0; k < m->n_varying; k++) {
    first[m->field[k]] = here[m->field[k]];
  }
  const float same = (float)serve_fields_apart(t, here, first);
  for (size_t i = 0; i < m->n_sizes; i++) {
    apart[i] = same;
  }
  for (size_t k = 0; k < m->n_varying; k++) {
    const size_t f = m->field[k];
    add_apart(t->fields[f].names, m->octaves + k * m->n_sizes, (float)here[f], m->n_sizes, apart);
  }
}
