/* harness_judge.c -- kernels of the template judge what a launch left, where no single result is
 * right. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>

#include "harness.h"

int harness_load_checks(rt_harness *b, const str *image, gen_instance *g, arena *a, err *e) {
  b->checks = ARENA_ARRAY(&b->memory, rt_loaded *, b->t->n_checks + 1);
  b->allowed = ARENA_ARRAY(&b->memory, double, b->t->n_checks + 1);
  if (!b->checks || !b->allowed) {
    return err_nomem(e);
  }
  for (size_t i = 0; i < b->t->n_checks; i++) {
    const gen_plan *plan;
    TRY(gen_check_plan(g, i, a, &plan, &b->allowed[i], e));
    TRY(rt_loaded_new(b->d, str_text(image), image->n, b->t, plan, &b->checks[i], e));
  }
  return 0;
}

void harness_free_checks(rt_harness *b) {
  for (size_t i = 0; b->checks && i < b->t->n_checks; i++) {
    rt_loaded_free(b->checks[i]);
  }
}

typedef struct report {
  uint64_t wrong[2];
  double sums[2];
} report;

/* Its workspaces are zero before, but for the first wrong element, of which there is none. */
static int run(rt_harness *b, const harness_case *c, rt_loaded *check, report *out, err *e) {
  const rt_device_ops *ops = b->d->ops;
  const size_t nbytes = rt_loaded_workspace_nbytes(check);
  TRY(rt_loaded_reserve(check, e));
  const rt_ptr wrong = rt_loaded_workspace(check, GEN_CHECK_WRONG);
  TRY(ops->set(b->d, wrong, 0, nbytes, NULL, e));
  TRY(ops->set(b->d, wrong + sizeof out->wrong[0], 0xff, sizeof out->wrong[1], NULL, e));
  TRY(rt_loaded_launch(check, NULL, c->on_device, e));
  TRY(ops->copy_out(b->d, out->sums, rt_loaded_workspace(check, GEN_CHECK_SUMS), sizeof out->sums,
                    NULL, e));
  return ops->copy_out(b->d, out->wrong, wrong, sizeof out->wrong, NULL, e);
}

static int say_wrong(const rt_harness *b, const harness_case *c, size_t i, const report *x,
                     err *e) {
  const size_t number = (size_t)(c - b->cases);
  return x->wrong[1] == UINT64_MAX
             ? err_set(e, ERR_WRONG, "the check '%s' finds %" PRIu64 " wrong (case %zu)",
                       b->t->checks[i].name, x->wrong[0], number)
             : err_set(e, ERR_WRONG,
                       "the check '%s' finds %" PRIu64 " wrong, the first at %" PRIu64
                       " (case %zu)",
                       b->t->checks[i].name, x->wrong[0], x->wrong[1], number);
}

/* A residual in units of what is allowed. */
static int measure(const rt_harness *b, const harness_case *c, size_t i, const report *x,
                   rt_check *out, err *e) {
  const double residual = x->sums[0] == 0 ? 0 : sqrt(x->sums[0] / x->sums[1]);
  const double error = residual == 0 ? 0 : residual / b->allowed[i];
  if (error <= 1) {
    out->error = fmax(out->error, error);
    return 0;
  }
  out->error = isnan(error) ? INFINITY : fmax(out->error, error);
  out->n_wrong++;
  return err_set(e, ERR_WRONG, "the residual '%s' is %.4g, %.4g is allowed (case %zu)",
                 b->t->checks[i].name, residual, b->allowed[i], (size_t)(c - b->cases));
}

static int judge(rt_harness *b, harness_case *c, size_t i, rt_check *out, err *e) {
  report x;
  TRY(run(b, c, b->checks[i], &x, e));
  if (b->t->checks[i].residual) {
    return measure(b, c, i, &x, out, e);
  }
  out->n_wrong += x.wrong[0];
  return x.wrong[0] ? say_wrong(b, c, i, &x, e) : 0;
}

int harness_judge(rt_harness *b, harness_case *c, bool reference, rt_check *out, err *e) {
  for (size_t i = 0; i < b->t->n_checks; i++) {
    if (!reference || !b->t->checks[i].of_outputs) {
      TRY(judge(b, c, i, out, e));
    }
  }
  return 0;
}
