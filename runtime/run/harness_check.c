/* harness_check.c -- is a candidate right? It is launched once for each case, and verified. */
#include <math.h>

#include "harness.h"

/* Two copies of what was prepared: one stays as it is, to be compared. */
static int prepare_case(rt_harness *b, rt_contender who, harness_case *c, err *e) {
  double ignored;
  return who.prepare ? who.prepare(who.self, NULL, c->args, b->separate ? 1 : 2, &ignored, e) : 0;
}

/* sec NULL: the launch is not timed */
static int launch_case(rt_harness *b, rt_contender who, harness_case *c, double *sec, err *e) {
  const rt_device_ops *ops = b->d->ops;
  if (!sec) {
    return who.launch(who.self, NULL, c->args, e);
  }
  TRY(ops->event_record(b->d, b->from, NULL, e));
  TRY(who.launch(who.self, NULL, c->args, e));
  TRY(ops->event_record(b->d, b->to, NULL, e));
  return ops->elapsed(b->d, b->from, b->to, sec, e);
}

/* The first launch of a module copies it to the device, at the clocks of an idle one. */
static const double FIRST_LAUNCH_SEC = 200e-6;
static const double HOPELESS = 4;

/* The longest first launch of a candidate that is at most HOPELESS times slower than the limit. */
static double first_most(double limit) {
  return limit > 0 ? HOPELESS * limit + FIRST_LAUNCH_SEC : INFINITY;
}

/* Time the case again; its results are verified already. */
static int look_again(rt_harness *b, rt_contender who, harness_case *c, double *sec, err *e) {
  double again;
  TRY(harness_start(b, c, e));
  TRY(launch_case(b, who, c, &again, e));
  *sec = fmin(*sec, again);
  return 0;
}

static int check_cases(rt_harness *b, rt_contender who, double limit, rt_check *out, err *e) {
  *out = (rt_check){0};
  rt_harness_redraw(b, 0, RT_KIND_OWN);
  if (b->suspect) {
    TRY(harness_expect(b, e));
  }
  while (out->n_cases < b->n_cases && out->first_sec <= first_most(limit)) {
    harness_case *c = &b->cases[out->n_cases];
    double *sec = limit > 0 && !out->n_cases ? &out->first_sec : NULL;
    TRY(harness_start(b, c, e));
    TRY(prepare_case(b, who, c, e));
    TRY(launch_case(b, who, c, sec, e));
    TRY(who.verify ? who.verify(who.self, b->checker, b->findings, e) : 0);
    TRY(harness_collect(b, c, e));
    TRY(who.finished ? who.finished(who.self, e) : 0);
    TRY(harness_verify(b, c, out, e));
    TRY(harness_judge(b, c, false, out, e));
    TRY(sec && harness_looks_again(*sec, first_most(limit)) ? look_again(b, who, c, sec, e) : 0);
    out->n_cases++;
  }
  return 0;
}

int rt_harness_check_contender(rt_harness *b, rt_contender who, rt_check *out, err *e) {
  return check_cases(b, who, 0, out, e);
}

int rt_harness_check(rt_harness *b, rt_loaded *l, rt_check *out, err *e) {
  return check_cases(b, rt_loaded_contender(l), 0, out, e);
}

int rt_harness_check_contender_quick(rt_harness *b, rt_contender who, double stop_above,
                                     rt_check *out, err *e) {
  return check_cases(b, who, stop_above, out, e);
}

int rt_harness_check_quick(rt_harness *b, rt_loaded *l, double stop_above, rt_check *out, err *e) {
  return check_cases(b, rt_loaded_contender(l), stop_above, out, e);
}
