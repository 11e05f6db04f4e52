/* harness.c -- a harness is made and freed; the reference computes what outputs must become. */
#define _GNU_SOURCE
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the reference ------------------------------------------------------------------------- */

/* The reference must not write outside its outputs either: a stray write would spoil every later
 * check. */
static int verify_reference(rt_harness *b, harness_case *c, err *e) {
  rt_check unused = {0};
  err why = {0};
  int rc = harness_verify(b, c, &unused, &why);
  rc = rc ? rc : harness_judge(b, c, true, &unused, &why);
  return rc ? err_at(e, rc == ERR_WRONG ? ERR_TEMPLATE : rc, b->t->path, "the reference: %s",
                     why.message)
            : 0;
}

static int fill_recorded(rt_harness *b, const harness_case *c, err *e) {
  for (size_t i = 0; i < b->t->n_args; i++) {
    if (harness_is_recorded(c, i)) {
      TRY(b->d->ops->copy_in(b->d, c->given[i], c->captured->bytes[i], harness_nbytes(c, i), NULL,
                             e));
    }
  }
  return 0;
}

/* Of finite values; `most`, where none is larger. */
static double largest_value(const gen_datum *d, const unsigned char *p, double most) {
  const size_t n = dtype_nbytes(d->type);
  for (uint64_t i = 0; i < d->count; i++) {
    uint64_t bits = 0;
    memcpy(&bits, p + n * i, n);
    const double v = fabs(dtype_decode(d->type, bits));
    most = v > most && isfinite(v) ? v : most;
  }
  return most;
}

/* A template's absolute tolerance is for data of order one; for a program's data it is scaled. A PSNR
 * without a peak takes that of the reference. */
static int find_magnitude(rt_harness *b, harness_case *c, size_t arg, err *e) {
  const gen_datum *d = &c->data->args[arg];
  const uint64_t nbytes = harness_nbytes(c, arg);
  const bool scaled = c->captured && c->captured->map && d->tolerance_abs != 0;
  const bool peak = d->error == GEN_ERROR_PSNR && d->tolerance_abs == 0;
  if (!(scaled && dtype_is_float(d->type)) && !peak) {
    return 0;
  }
  unsigned char *copy = malloc(nbytes + 1);
  int rc = copy ? b->d->ops->copy_out(b->d, copy, c->expected[arg], nbytes, NULL, e) : err_nomem(e);
  if (!rc) {
    c->magnitude[arg] = largest_value(d, copy, peak ? 0 : 1);
  }
  free(copy);
  return rc;
}

/* The bounds are in workspaces of the reference, 0 where it leaves them. Before the launch (keep
 * false) that is made so; after it they are kept for the case. */
static int move_bounds(rt_harness *b, harness_case *c, bool keep, err *e) {
  for (size_t i = 0; i < b->t->n_args; i++) {
    const uint64_t nbytes = harness_bounds_nbytes(b, c, i);
    if (!nbytes) {
      continue;
    }
    TRY(rt_loaded_reserve(b->reference, e));
    const rt_ptr at = rt_loaded_workspace(b->reference, c->data->args[i].bound);
    TRY(keep ? b->d->ops->copy(b->d, c->bounds[i], at, nbytes, NULL, e)
             : b->d->ops->set(b->d, at, 0, nbytes, NULL, e));
  }
  return 0;
}

static int expect_case(rt_harness *b, harness_case *c, err *e) {
  TRY(fill_recorded(b, c, e));
  TRY(harness_start(b, c, e));
  if (b->t->counts_wrong) {
    return 0;
  }
  TRY(move_bounds(b, c, false, e));
  TRY(rt_loaded_launch(b->reference, NULL, c->on_device, e));
  TRY(move_bounds(b, c, true, e));
  for (size_t i = 0; i < b->t->n_args; i++) {
    if (harness_is_output(b, i)) {
      TRY(b->d->ops->copy(b->d, c->expected[i], c->at[i], harness_nbytes(c, i), NULL, e));
      TRY(find_magnitude(b, c, i, e));
    }
  }
  return verify_reference(b, c, e);
}

int harness_expect(rt_harness *b, err *e) {
  for (size_t i = 0; i < b->t->n_args; i++) {
    b->filled[i] = (gen_datum){.count = UINT64_MAX};
  }
  for (size_t i = 0; i < b->n_cases; i++) {
    TRY(expect_case(b, &b->cases[i], e));
  }
  b->suspect = false;
  return 0;
}

static int load_reference(rt_harness *b, rt_compiler *c, gen_instance *g, arena *a, err *e) {
  auto_str text = {0};
  rt_source source = {.arch = b->d->info.arch};
  const gen_plan *plan;
  const str *bytes;
  TRY(gen_reference_plan(g, a, &plan, e));
  int rc = gen_reference_source(g, &text, &source.body, e);
  source.text = str_text(&text);
  rc = rc ? rc : rt_checker_compile(b->checker, c, &source, &bytes, e);
  rc = rc ? rc : rt_loaded_new(b->d, str_text(bytes), bytes->n, b->t, plan, &b->reference, e);
  return rc ? rc : harness_load_checks(b, bytes, g, a, e);
}

static int make_reference(rt_harness *b, rt_compiler *c, gen_instance *g, err *e) {
  auto_arena a = {0};
  return load_reference(b, c, g, &a, e);
}

/* ---- making and freeing -------------------------------------------------------------------- */

static int fill_in(rt_harness *b, rt_compiler *c, gen_instance *g, err *e) {
  TRY(harness_make_cases(b, g, e));
  TRY(make_reference(b, c, g, e));
  TRY(harness_allocate(b, e));
  TRY(b->d->ops->event_new(b->d, &b->from, e));
  TRY(b->d->ops->event_new(b->d, &b->to, e));
  if (b->separate) { /* the emulator is slow: the first check runs the reference */
    b->suspect = true;
    return 0;
  }
  return harness_expect(b, e);
}

int rt_harness_new(rt_device *d, rt_compiler *c, rt_checker *k, const gen_template *t,
                   gen_instance *g, rt_harness **out, err *e) {
  return rt_harness_new_on(d, c, k, t, g, NULL, out, e);
}

int rt_harness_new_on(rt_device *d, rt_compiler *c, rt_checker *k, const gen_template *t,
                      gen_instance *g, const rt_captured *data, rt_harness **out, err *e) {
  *out = NULL;
  rt_harness *b = calloc(1, sizeof *b);
  if (!b) {
    return err_nomem(e);
  }
  b->d = d;
  b->checker = k;
  b->t = t;
  b->captured = data;
  b->separate = d->info.checks_bounds;
  int rc = fill_in(b, c, g, e);
  if (rc) {
    rt_harness_free(b);
    return rc;
  }
  *out = b;
  return 0;
}

void rt_harness_free(rt_harness *b) {
  if (!b) {
    return;
  }
  b->d->ops->event_free(b->d, b->from);
  b->d->ops->event_free(b->d, b->to);
  for (size_t i = 0; i < b->n_blocks; i++) {
    b->d->ops->release(b->d, b->blocks[i]);
  }
  harness_free_host(b);
  harness_free_checks(b);
  rt_loaded_free(b->reference);
  arena_clear(&b->memory);
  free(b);
}
