/* The arguments with which tests and timing call a kernel. */
#include <math.h>

#include "gen_input.h"
#include "gen_numbers.h"

enum { MAX_SHIFT = 256 };

typedef struct job {
  gen_instance *g;
  arena *a;
  size_t index;          /* of the case */
  const uint64_t *given; /* scalars of a call, instead of the case's; may be NULL */
  const gen_data **data;
} job;

static void set_given(job *j, size_t i, gen_datum *d) {
  tmpl *t = j->g->t;
  const double v = dtype_decode(d->type, j->given[i]);
  d->bits = j->given[i];
  if (!t->args[i].is_field) {
    t->scalars[i] = dtype_is_float(d->type) ? expr_real(v) : expr_integer((int64_t)v);
  }
}

/* The scalars in order, each readable by name to what follows. */
static void set_scalars(job *j, gen_datum *args) {
  tmpl *t = j->g->t;
  for (size_t i = 0; i < t->pub.n_args; i++) {
    const gen_arg_rule *rule = &t->args[i];
    if (j->given && t->pub.args[i].dir == GEN_SCALAR && !rule->value) {
      set_given(j, i, &args[i]);
      continue;
    }
    const gen_expr *x = t->cases[j->index * t->pub.n_args + i];
    x = x ? x : rule->sample ? rule->sample : rule->value;
    if (!x || !gen_expr_reads_only(x, GEN_READS_CASE)) {
      continue; /* a buffer, or a value that depends on the configuration */
    }
    gen_real(j->g, x); /* numbers only */
    const expr_value v = gen_expr_value(&t->box, x);
    args[i].bits = gen_encode(j->g, x, &v, args[i].type);
    if (!rule->is_field) {
      t->scalars[i] = v;
    }
  }
}

/* Bytes past an address that is aligned for any element. */
static uint64_t shift(job *j, const gen_expr *x, dtype type) {
  const double v = gen_real(j->g, x);
  if (!(v >= 0 && v < MAX_SHIFT && fmod(v, (double)dtype_nbytes(type)) == 0)) {
    gen_fail(&j->g->t->box, ERR_TEMPLATE, x->at,
             "a shift of %g bytes; from 0 to %d, by whole elements of %zu", v, MAX_SHIFT - 1,
             dtype_nbytes(type));
  }
  return (uint64_t)v;
}

static void set_buffer(job *j, size_t i, gen_datum *d) {
  const gen_arg_rule *rule = &j->g->t->args[i];
  gen_dir dir = j->g->t->pub.args[i].dir;
  d->count = gen_nbytes(j->g, rule->count, d->type) / dtype_nbytes(d->type);
  if (rule->lines && (gen_real(j->g, rule->lines) <= 0 || gen_real(j->g, rule->line) <= 0)) {
    d->count = 0;
  }
  d->overwritten = dir == GEN_OUT || (rule->overwritten && gen_holds(j->g, rule->overwritten));
  d->optional = rule->optional && gen_holds(j->g, rule->optional);
  d->host = rule->host && gen_holds(j->g, rule->host);
  d->shift = rule->shift ? shift(j, rule->shift, d->type) : 0;
  d->fill = rule->fill;
  d->file = rule->file;
  d->part = rule->part;
  if (d->fill == GEN_FILL_MATRIX && !(d->input = gen_input_of(j->g, j->a))) {
    gen_fail(&j->g->t->box, ERR_NOMEM, (gen_line){0}, "out of memory");
  }
  if (rule->generator) {
    gen_generate(j->g, rule->generator, d);
  }
  d->a = rule->a ? gen_real(j->g, rule->a) : 0;
  d->b = rule->b ? gen_real(j->g, rule->b) : 0;
  if (d->fill == GEN_FILL_UNIFORM && !rule->a) { /* the template does not say */
    d->a = dtype_is_float(d->type) ? -1 : 0;
    d->b = dtype_is_float(d->type) ? 1 : 100;
  }
  if (d->fill == GEN_FILL_BITS && !(d->a >= 1 && d->a <= 64 && d->a == floor(d->a))) {
    gen_fail(&j->g->t->box, ERR_TEMPLATE, rule->a->at, "bits of %g words; from 1 to 64", d->a);
  }
}

static void set_valid(job *j, size_t i, gen_datum *args) {
  const gen_arg_rule *rule = &j->g->t->args[i];
  gen_datum *d = &args[i];
  d->unordered = rule->unordered;
  d->each = rule->each ? (uint64_t)gen_bounded(j->g, rule->each, 1, 1 << 20, "each") : 1;
  d->partial = rule->valid_at;
  if (d->partial) {
    const int64_t n = (int64_t)args[rule->valid_of].count;
    d->valid_of = rule->valid_of;
    d->valid_at = (uint64_t)gen_bounded(j->g, rule->valid_at, 0, n - 1, "the index in valid");
    d->valid_times = rule->valid_times ? (uint64_t)gen_bounded(j->g, rule->valid_times, 1, 1 << 20,
                                                               "the factor in valid")
                                       : 1;
  }
}

/* An output's own, or that of the template. */
static void set_tolerance(job *j, size_t i, gen_datum *d) {
  const tmpl *t = j->g->t;
  const gen_tolerance *own = &t->args[i].tolerance, *x = own->abs ? own : &t->tolerance;
  d->tolerance_abs = gen_tolerance_value(j->g, x->abs);
  d->tolerance_rel = gen_tolerance_value(j->g, x->rel);
  d->error = t->pub.args[i].judged ? GEN_ERROR_ELEMENT : x->error;
  if (d->error == GEN_ERROR_BOUND && t->pub.args[i].dir >= GEN_OUT) {
    const gen_workspace *w = &t->reference.workspaces[x->bound];
    d->bound = x->bound;
    d->bound_type = w->element.type;
    const uint64_t n = gen_nbytes(j->g, w->count, d->bound_type) / dtype_nbytes(d->bound_type);
    if (n < d->count) {
      gen_fail(&j->g->t->box, ERR_TEMPLATE, x->at,
               "the bound '%s' has %llu elements, '%s' has %llu", w->name, (unsigned long long)n,
               t->pub.args[i].name, (unsigned long long)d->count);
    }
  }
}

static void data(gen_box *b, void *ud) {
  job *j = ud;
  tmpl *t = j->g->t;
  gen_data *out = gen_new(j->g, j->a, sizeof *out);
  gen_datum *args = gen_new(j->g, j->a, t->pub.n_args * sizeof *args);
  (void)b;
  gen_bind(j->g, NULL);
  for (size_t i = 0; i < t->pub.n_args; i++) {
    args[i].type = gen_element_type(j->g, t->args[i].element);
  }
  set_scalars(j, args);
  for (size_t i = 0; i < t->pub.n_args; i++) {
    if (t->pub.args[i].dir != GEN_SCALAR) {
      set_buffer(j, i, &args[i]);
    }
  }
  for (size_t i = 0; i < t->pub.n_args; i++) {
    set_valid(j, i, args);
  }
  out->args = args;
  out->tolerance_abs = gen_tolerance_value(j->g, t->tolerance.abs);
  out->tolerance_rel = gen_tolerance_value(j->g, t->tolerance.rel);
  out->error = t->tolerance.error;
  for (size_t i = 0; i < t->pub.n_args; i++) {
    set_tolerance(j, i, &args[i]);
  }
  *j->data = out;
}

int gen_data_make(gen_instance *g, size_t i, arena *a, const gen_data **out, err *e) {
  job j = {.g = g, .a = a, .index = i, .data = out};
  if (i >= g->t->pub.n_cases) {
    return err_set(e, ERR_USAGE, "%s has no case %zu, only %zu", g->t->pub.name, i,
                   g->t->pub.n_cases);
  }
  return gen_box_run(&g->t->box, data, &j, false, e);
}

int gen_data_given(gen_instance *g, const uint64_t *bits, arena *a, const gen_data **out, err *e) {
  job j = {.g = g, .a = a, .given = bits, .data = out};
  return gen_box_run(&g->t->box, data, &j, false, e);
}
