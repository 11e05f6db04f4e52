#define _GNU_SOURCE
#include "data_features.h"

#include <stdlib.h>
#include <string.h>

#include "matrix_input.h"

/* ---- from buffers ---------------------------------------------------------------------------- */

typedef struct job {
  rt_device *d;
  rt_compiler *c;
  gen_template *t;
  rt_stream stream;
  gen_instance *g;
  rt_features *kept;
  rt_loaded *loaded; /* of this problem */
  arena memory;
} job;

void rt_features_clear(rt_features *kept) {
  rt_loaded_free(kept->loaded);
  *kept = (rt_features){0};
}

static int compile(job *j, const rt_source *source, const char *form, const gen_plan *plan,
                   err *e) {
  auto_image image;
  rt_image_init(&image);
  TRY(rt_compile(j->c, source, &j->memory, &image, e));
  const str *bytes = j->d->info.format == RT_CUBIN ? &image.cubin : &image.ptx;
  rt_features_clear(j->kept);
  memcpy(j->kept->form, form, sizeof j->kept->form);
  return rt_loaded_new(j->d, str_text(bytes), bytes->n, j->t, plan, &j->kept->loaded, e);
}

static int load(job *j, const gen_plan *plan, err *e) {
  char form[HASH_TEXT];
  auto_str text = {0};
  rt_source source = {.arch = j->d->info.arch};
  TRY(gen_features_source(j->g, &text, &source.body, e));
  source.text = str_text(&text);
  hash_bytes(source.text + source.body, text.n - source.body, form);
  if (!j->kept->loaded || strcmp(j->kept->form, form) != 0) {
    TRY(compile(j, &source, form, plan, e));
  }
  return rt_loaded_new_from(j->kept->loaded, j->t, plan, &j->loaded, e);
}

/* The first workspaces are of f64 where fields read them; others are not read. */
static int collect(job *j, const gen_plan *plan, gen_problem *p, err *e) {
  double **outputs = ARENA_ARRAY(&j->memory, double *, plan->n_workspaces + 1);
  size_t *counts = ARENA_ARRAY(&j->memory, size_t, plan->n_workspaces + 1);
  TRY(outputs && counts ? 0 : err_nomem(e));
  for (size_t i = 0; i < plan->n_workspaces; i++) {
    enum { MOST = 4096 };
    const size_t n = plan->workspaces[i] / sizeof(double);
    counts[i] = n < MOST ? n : MOST;
    outputs[i] = ARENA_ARRAY(&j->memory, double, counts[i] + 1);
    TRY(outputs[i] ? 0 : err_nomem(e));
    TRY(counts[i] ? j->d->ops->copy_out(j->d, outputs[i], rt_loaded_workspace(j->loaded, i),
                                        counts[i] * sizeof(double), NULL, e)
                  : 0);
  }
  return gen_features_set(j->t, (const double *const *)outputs, counts, p, e);
}

static int run(job *j, const void *const *args, gen_problem *p, err *e) {
  const gen_plan *plan;
  TRY(rt_instance_new(j->t, p, &j->d->info, &j->g, e));
  TRY(gen_features_plan(j->g, &j->memory, &plan, e));
  TRY(load(j, plan, e));
  TRY(rt_loaded_reserve(j->loaded, e));
  TRY(rt_loaded_launch(j->loaded, j->stream, args, e));
  TRY(j->d->ops->stream_sync(j->d, j->stream, e));
  return collect(j, plan, p, e);
}

int rt_features_compute(rt_features *kept, rt_device *d, rt_compiler *c, gen_template *t,
                        rt_stream s, const void *const *args, gen_problem *p, err *e) {
  rt_features own = {0};
  job j = {.d = d, .c = c, .t = t, .stream = s, .kept = kept ? kept : &own};
  const int rc = run(&j, args, p, e);
  rt_loaded_free(j.loaded);
  rt_features_clear(&own);
  gen_instance_free(j.g);
  arena_clear(&j.memory);
  return rc;
}

/* ---- from the problem's matrix --------------------------------------------------------------- */

typedef struct inputs {
  rt_device *d;
  gen_template *t;
  rt_ptr *at; /* per argument: its buffer; 0: none */
  uint64_t *values;
  const void **args;
  arena memory;
} inputs;

static int put_part(inputs *x, const matrix_input *m, size_t i, const gen_datum *d, err *e) {
  const uint64_t nbytes = d->count * dtype_nbytes(d->type);
  void *bytes = malloc(nbytes + 1);
  int rc = bytes ? matrix_input_put(m, d->part, x->t->args[i].name, d->type, d->count, bytes, e)
                 : err_nomem(e);
  rc = rc ? rc : x->d->ops->alloc(x->d, nbytes ? nbytes : 1, &x->at[i], e);
  rc = rc || !nbytes ? rc : x->d->ops->copy_in(x->d, x->at[i], bytes, nbytes, NULL, e);
  free(bytes);
  return rc;
}

static int put_args(inputs *x, const gen_data *data, const matrix_input *m, err *e) {
  for (size_t i = 0; i < x->t->n_args; i++) {
    const gen_datum *d = &data->args[i];
    x->values[i] = d->bits;
    if (x->t->args[i].dir == GEN_IN && gen_features_read(x->t, i)) {
      TRY(d->fill == GEN_FILL_MATRIX
              ? put_part(x, m, i, d, e)
              : err_at(e, ERR_TEMPLATE, x->t->path,
                       "features read '%s', whose fill is not { \"matrix\", ... }",
                       x->t->args[i].name));
      x->values[i] = x->at[i];
    }
    x->args[i] = &x->values[i];
  }
  return 0;
}

static int make_inputs(inputs *x, const gen_problem *p, err *e) {
  auto_instance *g = NULL;
  const gen_data *data;
  matrix_input *m;
  int64_t rows, columns, entries;
  const size_t n = x->t->n_args + 1;
  x->at = ARENA_ARRAY(&x->memory, rt_ptr, n);
  x->values = ARENA_ARRAY(&x->memory, uint64_t, n);
  x->args = ARENA_ARRAY(&x->memory, const void *, n);
  TRY(x->at && x->values && x->args ? 0 : err_nomem(e));
  TRY(rt_instance_new(x->t, p, &x->d->info, &g, e));
  TRY(gen_data_make(g, 0, &x->memory, &data, e));
  TRY(matrix_input_open(p->input, 0, &m, e));
  matrix_input_size(m, &rows, &columns, &entries);
  int rc = gen_input_check(g, rows, columns, entries, e);
  rc = rc ? rc : put_args(x, data, m, e);
  matrix_input_close(m);
  return rc;
}

static void free_inputs(inputs *x) {
  for (size_t i = 0; x->at && i < x->t->n_args; i++) {
    if (x->at[i]) {
      x->d->ops->release(x->d, x->at[i]);
    }
  }
  arena_clear(&x->memory);
}

int rt_features_find(rt_device *d, rt_compiler *c, gen_template *t, gen_problem *p, err *e) {
  inputs x = {.d = d, .t = t};
  if (!p->open || !p->input) {
    return 0;
  }
  int rc = make_inputs(&x, p, e);
  rc = rc ? rc : rt_features_compute(NULL, d, c, t, NULL, x.args, p, e);
  free_inputs(&x);
  return rc;
}
