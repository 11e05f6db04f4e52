/* tuned_plans.c -- the public calls of plans. */
#define _GNU_SOURCE
#include <string.h>

#include "background.h"
#include "serve_features.h"
#include "serve_handle.h"
#include "serve_kernel.h"
#include "serve_plan.h"

static int plan_new(tuned_context *ctx, tuned_stream stream, const char *problem,
                    const void *const *args, tuned_plan **plan, err *e) {
  serve *s;
  tuned_kernel *k;
  if (!problem || !plan) {
    return err_set(e, ERR_USAGE, "tuned_plan_new: %s is NULL", plan ? "problem" : "plan");
  }
  *plan = NULL;
  TRY(serve_of(ctx, &s, e));
  TRY(serve_features_find_text(s, problem, stream, args, &k, e));
  return serve_plan_new(k, stream, args, plan, e);
}

int tuned_plan_new(tuned_context *ctx, tuned_stream stream, const char *problem,
                   const void *const *args, tuned_plan **plan, tuned_error *error) {
  err e;
  err_clear(&e);
  plan_new(ctx, stream, problem, args, plan, &e);
  return serve_report(error, &e);
}

static int need(const void *p, const char *function, const char *what, err *e) {
  return p ? 0 : err_set(e, ERR_USAGE, "%s: %s is NULL", function, what);
}

int tuned_plan_run(tuned_plan *plan, tuned_stream stream, const void *const *args,
                   tuned_error *error) {
  err e;
  err_clear(&e);
  if (!need(plan, "tuned_plan_run", "the plan", &e)) {
    serve_plan_run(plan, stream, args, &e);
  }
  return serve_report(error, &e);
}

int tuned_plan_values(tuned_plan *plan, tuned_stream stream, const void *const *args,
                      tuned_error *error) {
  err e;
  err_clear(&e);
  if (!need(plan, "tuned_plan_values", "the plan", &e)) {
    serve_plan_values(plan, stream, args, &e);
  }
  return serve_report(error, &e);
}

int tuned_plan_renew(tuned_plan *plan, tuned_stream stream, const void *const *args,
                     tuned_error *error) {
  err e;
  err_clear(&e);
  if (!need(plan, "tuned_plan_renew", "the plan", &e)) {
    serve_plan_renew(plan, stream, args, &e);
  }
  return serve_report(error, &e);
}

int tuned_plan_seconds(tuned_plan *plan, double *prepare, double *run, tuned_error *error) {
  err e;
  double ignored[2];
  err_clear(&e);
  if (!need(plan, "tuned_plan_seconds", "the plan", &e)) {
    serve_plan_seconds(plan, prepare ? prepare : &ignored[0], run ? run : &ignored[1], &e);
  }
  return serve_report(error, &e);
}

int tuned_plan_info_sized(const tuned_plan *plan, tuned_kernel_info *info, size_t nbytes,
                          tuned_error *error) {
  err e;
  err_clear(&e);
  if (!need(plan, "tuned_plan_info", "the plan", &e) &&
      !need(info, "tuned_plan_info", "info", &e)) {
    const tuned_kernel *now = serve_plan_kernel(plan);
    tuned_kernel_info full = now->info;
    full.better_pending = background_is_pending(now);
    const size_t n = nbytes < TUNED_KERNEL_INFO_NBYTES ? nbytes : TUNED_KERNEL_INFO_NBYTES;
    memcpy(info, &full, n);
    memset((char *)info + n, 0, nbytes - n);
  }
  return serve_report(error, &e);
}

int tuned_plan_kernel(const tuned_plan *plan, tuned_kernel **kernel, tuned_error *error) {
  err e;
  err_clear(&e);
  if (!need(plan, "tuned_plan_kernel", "the plan", &e) &&
      !need(kernel, "tuned_plan_kernel", "kernel", &e)) {
    *kernel = serve_plan_kernel(plan);
  }
  return serve_report(error, &e);
}

void tuned_plan_free(tuned_plan *plan) {
  if (plan) {
    serve_plan_free(plan);
  }
}
