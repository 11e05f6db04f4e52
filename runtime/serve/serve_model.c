#define _GNU_SOURCE
#include "serve_model.h"

#include <math.h>
#include <string.h>

/* What two sizes must differ in, in octaves, for this to make them as strange to each other as
 * anything else set to one does: a field, a choice, the length of a block's work and its threads,
 * the last round's tail, a parameter of the form. Rounded from the maximum of the likelihood over
 * 15 configurations of sgemm at 589 sizes on an H200; half or twice of any changes little there. */
static const double FIELD = 8, CHOICE = 4, LENGTH = 4, THREADS = 3, TAIL = 6, PARAMETER = 3;

/* How far the sum of costs is off, a logarithm. */
static const double OFF = 0.3, OFF_MOST = 3;

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
  }
  arena_clear(&a);
}

/* ---- costs ---------------------------------------------------------------------------------- */

static double rounds_of(const serve_costs *c, double blocks) {
  return ceil(blocks / (c->at_once * c->sms));
}

/* The fields stand for the length of one block's work, which the operations per block tell only
 * where no tile hangs over an edge. */
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

static size_t parameters_apart(const gen_config *a, const gen_config *b, size_t n) {
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
  return (double)parameters_apart(&form->config, &other->config, t->n_params) / square(PARAMETER) +
         square(form->length - other->length);
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

/* ---- asking --------------------------------------------------------------------------------- */

static double told_by(const serve_form *f, double apart, const serve_load *load,
                      const double *sizes_apart) {
  double sum = 0;
  for (size_t i = 0; i < f->n; i++) {
    const serve_told *told = &f->told[i];
    sum += told->weight *
           serve_alike(apart + sizes_apart[told->size] + serve_loads_apart(load, &told->load));
  }
  return sum;
}

double serve_fit_sec(const gen_template *t, const serve_fit *fit, const int64_t *values,
                     const serve_work *w, const double *apart) {
  double off = 0;
  if (!(w->blocks > 0)) {
    return INFINITY;
  }
  const serve_load load = serve_load_of(&fit->costs, w->flops, w->blocks);
  const serve_form here = serve_form_new(&w->form, w->threads);
  for (size_t i = 0; i < fit->n_forms; i++) {
    const serve_form *f = &fit->forms[i];
    off += told_by(f, serve_forms_apart(t, &here, f), &load, apart);
  }
  const double sum = serve_costs_sum(t, &fit->costs, values, w);
  return sum > 0 ? sum * exp(fmax(-OFF_MOST, fmin(OFF_MOST, off))) : INFINITY;
}

void serve_model_apart(const gen_template *t, const serve_model *m, const int64_t *values,
                       double *apart) {
  double here[GEN_MAX_FIELDS];
  serve_model_octaves(t, values, here);
  for (size_t i = 0; i < m->n_sizes; i++) {
    apart[i] = serve_fields_apart(t, here, m->octaves + i * t->n_fields);
  }
}
