/* harness_verify.c -- after a launch: everything that it could have touched, compared with what it
 * must be, and what differs in words. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

/* ---- comparing ------------------------------------------------------------------------------- */

/* The findings of one check: first those of the canaries, then of the buffers in order. */
static rt_ptr zone_findings(const rt_harness *b) {
  return b->findings;
}
static rt_ptr buffer_finding(const rt_harness *b, size_t buffer) {
  return b->findings + (b->n_zones + buffer) * sizeof(rt_finding);
}

static int reset(rt_harness *b, const harness_case *c, err *e) {
  size_t n = b->n_zones + b->n_buffers;
  for (size_t i = 0; i < n; i++) {
    b->found[i] = RT_FINDING_NONE;
  }
  TRY(b->d->ops->copy_in(b->d, b->zones, c->zones, b->n_zones * sizeof *c->zones, NULL, e));
  return b->d->ops->copy_in(b->d, b->findings, b->found, n * sizeof *b->found, NULL, e);
}

static int read_element(rt_harness *b, dtype t, rt_ptr array, uint64_t i, uint64_t *bits, err *e) {
  *bits = 0;
  return b->d->ops->copy_out(b->d, bits, array + i * dtype_nbytes(t), dtype_nbytes(t), NULL, e);
}

/* How many elements of an output count, by the launch and by the reference. */
static int find_valid(rt_harness *b, harness_case *c, size_t arg, err *e) {
  const gen_datum *m = &c->data->args[arg];
  c->valid[arg] = c->found[arg] = m->count;
  if (!m->partial || !m->count) {
    return 0;
  }
  const dtype t = c->data->args[m->valid_of].type;
  TRY(read_element(b, t, c->at[m->valid_of], m->valid_at, &c->found[arg], e));
  TRY(read_element(b, t, c->expected[m->valid_of], m->valid_at, &c->valid[arg], e));
  if (c->valid[arg] > m->count / m->valid_times) {
    return err_set(e, ERR_TEMPLATE,
                   "%s has %" PRIu64 " elements; the reference says that %" PRIu64 " are valid",
                   b->t->args[arg].name, m->count, c->valid[arg] * m->valid_times);
  }
  c->found[arg] *= m->valid_times;
  c->valid[arg] *= m->valid_times;
  return 0;
}

static int verify_buffer(rt_harness *b, harness_case *c, size_t arg, rt_ptr finding, err *e) {
  const gen_datum *m = &c->data->args[arg];
  if (b->t->args[arg].dir == GEN_IN) {
    const rt_ptr before = c->given[arg] ? c->given[arg] : b->masters[arg];
    return rt_checker_differ(b->checker, c->at[arg], before, harness_nbytes(c, arg), finding, e);
  }
  if (b->t->counts_wrong || b->t->args[arg].judged) {
    return 0;
  }
  TRY(find_valid(b, c, arg, e));
  if (c->found[arg] != c->valid[arg]) {
    return 0;
  }
  rt_comparison v = {.x = c->at[arg],
                     .ref = c->expected[arg],
                     .count = c->valid[arg],
                     .type = m->type,
                     .tolerance_abs = m->tolerance_abs * c->magnitude[arg],
                     .tolerance_rel = m->tolerance_rel,
                     .bound = c->bounds[arg],
                     .bound_type = m->bound_type,
                     .poisoned = harness_is_poisoned(b, c, arg)};
  memset(&v.poison, harness_poison(m->type), dtype_nbytes(m->type));
  if (m->unordered) {
    return rt_checker_records(b->checker, &v, m->each * dtype_nbytes(m->type), finding, e);
  }
  return (gen_error_is_sum(m->error) ? rt_checker_sum : rt_checker_compare)(b->checker, &v, finding,
                                                                            e);
}

/* The finding of an output that is right or wrong as a whole, in the form of one of single elements. */
static void judge_whole(const harness_case *c, size_t arg, rt_finding *f) {
  const bool wrong = c->found[arg] != c->valid[arg] || f->last || f->worst;
  const double error = wrong ? INFINITY : 0;
  f->n = wrong ? c->valid[arg] + !c->valid[arg] : 0;
  memcpy(&f->worst, &error, sizeof f->worst);
}

/* The finding of an output whose error is that of all elements together, in the form of one of single
 * elements. An error that is too large has no first element. */
static void judge_sums(const rt_harness *b, const harness_case *c, size_t arg, rt_finding *f) {
  const gen_datum *m = &c->data->args[arg];
  if (!harness_is_output(b, arg) || b->t->counts_wrong || b->t->args[arg].judged) {
    return;
  }
  if (m->unordered || c->found[arg] != c->valid[arg]) {
    judge_whole(c, arg, f);
    return;
  }
  if (!gen_error_is_sum(m->error)) {
    return;
  }
  const double found = c->magnitude[arg]; /* above 1: a program's data may exceed the peak */
  const double peak =
      found > 1 || m->tolerance_abs == 0 ? fmax(m->tolerance_abs, found) : m->tolerance_abs;
  const double error = rt_sums_error(f, m->error, c->valid[arg], peak, m->tolerance_rel);
  memcpy(&f->worst, &error, sizeof f->worst);
  f->n = error > 1 && !f->n ? m->count : f->n;
}

/* The i-th buffer among the arguments. */
static size_t buffer_arg(const rt_harness *b, size_t i) {
  size_t arg = 0;
  for (;; arg++) {
    if (harness_is_buffer(b, arg) && i-- == 0) {
      return arg;
    }
  }
}

/* All kernels that compare, then one wait for all of them. */
static int find_differences(rt_harness *b, harness_case *c, err *e) {
  size_t n = b->n_zones + b->n_buffers, buffer = 0;
  TRY(reset(b, c, e));
  TRY(rt_checker_canaries(b->checker, b->zones, b->n_zones, HARNESS_CANARY, zone_findings(b), e));
  for (size_t i = 0; i < b->t->n_args; i++) {
    if (harness_is_buffer(b, i)) {
      TRY(verify_buffer(b, c, i, buffer_finding(b, buffer++), e));
    }
  }
  TRY(b->d->ops->copy_out(b->d, b->found, b->findings, n * sizeof *b->found, NULL, e));
  for (size_t i = 0; i < b->n_buffers; i++) {
    judge_sums(b, c, buffer_arg(b, i), &b->found[b->n_zones + i]);
  }
  return 0;
}

/* ---- what is wrong, in words -------------------------------------------------------------- */

/* A zone lies between two buffers; the message names the nearer one. */
static int say_canary(rt_harness *b, const harness_case *c, size_t zone, const rt_finding *f,
                      err *e) {
  int64_t size = (int64_t)c->zones[zone].nbytes, first = (int64_t)f->first, last = (int64_t)f->last;
  bool past = zone > 0 && (zone == b->n_buffers || first < size - last);
  size_t arg = buffer_arg(b, past ? zone - 1 : zone);
  int64_t origin = past ? 0 : size;
  b->suspect = true;
  return err_set(e, ERR_WRONG,
                 "wrote %" PRIu64 " %s %s %s, at %+" PRId64 " to %+" PRId64 " (case %zu)", f->n,
                 f->n == 1 ? "byte" : "bytes", past ? "past the end of" : "before the start of",
                 b->t->args[arg].name, first - origin, last - origin, (size_t)(c - b->cases));
}

static void format_element(dtype t, uint64_t bits, char *out, size_t size) {
  unsigned unused = 64 - 8 * (unsigned)dtype_nbytes(t);
  if (dtype_is_float(t)) {
    snprintf(out, size, "%.9g", dtype_decode(t, bits));
  } else if (dtype_is_signed(t)) {
    snprintf(out, size, "%" PRId64, (int64_t)(bits << unused) >> unused);
  } else {
    snprintf(out, size, "%" PRIu64, bits);
  }
}

/* Poison in an output: the kernel did not write it, or computed a NaN from unwritten memory. */
static void describe(const rt_harness *b, const harness_case *c, size_t arg, uint64_t bits,
                     char *out, size_t size) {
  dtype t = c->data->args[arg].type;
  uint64_t poison = 0;
  memset(&poison, harness_poison(t), dtype_nbytes(t));
  if (harness_is_poisoned(b, c, arg) && bits == poison) {
    snprintf(out, size, "as before the launch");
  } else {
    format_element(t, bits, out, size);
  }
}

/* It is wrong as a whole. */
static int say_whole(const rt_harness *b, const harness_case *c, size_t arg, err *e) {
  const size_t number = (size_t)(c - b->cases);
  return c->found[arg] != c->valid[arg]
             ? err_set(e, ERR_WRONG,
                       "%s has %" PRIu64 " valid elements, the reference %" PRIu64 " (case %zu)",
                       b->t->args[arg].name, c->found[arg], c->valid[arg], number)
             : err_set(e, ERR_WRONG,
                       "the %" PRIu64 " elements of %s are not those of the reference in another "
                       "order (case %zu)",
                       c->valid[arg], b->t->args[arg].name, number);
}

/* The error of all elements together is too large. */
static int say_large_sum(const rt_harness *b, const harness_case *c, size_t arg,
                         const rt_finding *f, err *e) {
  const gen_datum *m = &c->data->args[arg];
  double error;
  memcpy(&error, &f->worst, sizeof error);
  if (m->error == GEN_ERROR_PSNR) {
    return err_set(e, ERR_WRONG, "%s has a PSNR of %.4g dB, %.4g are needed (case %zu)",
                   b->t->args[arg].name, m->tolerance_rel - 20 * log10(error), m->tolerance_rel,
                   (size_t)(c - b->cases));
  }
  const double differs = m->tolerance_rel > 0 ? error * m->tolerance_rel : INFINITY;
  return err_set(e, ERR_WRONG,
                 "%s differs from the reference by %.4g in the 2-norm, %.4g is allowed (case %zu)",
                 b->t->args[arg].name, differs, m->tolerance_rel, (size_t)(c - b->cases));
}

/* What the bound of the first wrong element allows, in words.
 *   err  ERR_WRONG  it is no bound */
static int say_bound(rt_harness *b, const harness_case *c, size_t arg, const rt_finding *f,
                     char *out, size_t size, err *e) {
  const gen_datum *m = &c->data->args[arg];
  uint64_t bits;
  out[0] = 0;
  if (!c->bounds[arg]) {
    return 0;
  }
  TRY(read_element(b, m->bound_type, c->bounds[arg], f->first, &bits, e));
  const double bound = dtype_decode(m->bound_type, bits);
  snprintf(out, size, ", which may differ by %.3g",
           m->tolerance_abs * c->magnitude[arg] + m->tolerance_rel * bound);
  return bound >= 0 && bound < INFINITY
             ? 0
             : err_set(e, ERR_WRONG, "the bound of %s[%" PRIu64 "] is %g (case %zu)",
                       b->t->args[arg].name, f->first, bound, (size_t)(c - b->cases));
}

static int say_wrong(rt_harness *b, const harness_case *c, size_t arg, const rt_finding *f,
                     err *e) {
  dtype t = c->data->args[arg].type;
  uint64_t x, ref;
  char found[64], wanted[64], allowed[64];
  if (c->data->args[arg].unordered || c->found[arg] != c->valid[arg]) {
    return say_whole(b, c, arg, e);
  }
  if (f->first == UINT64_MAX) {
    return say_large_sum(b, c, arg, f, e);
  }
  TRY(read_element(b, t, c->at[arg], f->first, &x, e));
  TRY(read_element(b, t, c->expected[arg], f->first, &ref, e));
  describe(b, c, arg, x, found, sizeof found);
  describe(b, c, arg, ref, wanted, sizeof wanted);
  TRY(say_bound(b, c, arg, f, allowed, sizeof allowed, e));
  return err_set(e, ERR_WRONG,
                 "%s[%" PRIu64 "] is %s, reference %s%s (case %zu); %" PRIu64 " of %" PRIu64
                 " wrong",
                 b->t->args[arg].name, f->first, found, wanted, allowed, (size_t)(c - b->cases),
                 f->n, c->valid[arg]);
}

static int say_changed(rt_harness *b, const harness_case *c, size_t arg, const rt_finding *f,
                       err *e) {
  b->suspect = true;
  return err_set(e, ERR_WRONG, "changed input %s, first at element %" PRIu64 " (case %zu)",
                 b->t->args[arg].name, f->first / dtype_nbytes(c->data->args[arg].type),
                 (size_t)(c - b->cases));
}

/* ---- the verdict --------------------------------------------------------------------------- */

static double worst_of(const rt_finding *f) {
  double value;
  memcpy(&value, &f->worst, sizeof value);
  return value;
}

static void count(const rt_harness *b, rt_check *out) {
  for (size_t i = 0; i < b->n_buffers; i++) {
    const rt_finding *f = &b->found[b->n_zones + i];
    if (b->t->args[buffer_arg(b, i)].dir != GEN_IN) {
      out->n_wrong += f->n;
      out->error = worst_of(f) > out->error ? worst_of(f) : out->error;
    }
  }
}

/* Stray writes come first: they explain other differences. */
static int verdict(rt_harness *b, const harness_case *c, err *e) {
  for (size_t i = 0; i < b->n_zones; i++) {
    if (b->found[i].n) {
      return say_canary(b, c, i, &b->found[i], e);
    }
  }
  for (size_t i = 0; i < b->n_buffers; i++) {
    const rt_finding *f = &b->found[b->n_zones + i];
    size_t arg = buffer_arg(b, i);
    if (f->n) {
      return b->t->args[arg].dir == GEN_IN ? say_changed(b, c, arg, f, e)
                                           : say_wrong(b, c, arg, f, e);
    }
  }
  return 0;
}

/* By the template's own kernels. */
static int count_wrong(rt_harness *b, const harness_case *c, rt_check *out, err *e) {
  const rt_device_ops *ops = b->d->ops;
  uint64_t n = 0;
  TRY(ops->set(b->d, b->counted, 0, rt_loaded_workspace_nbytes(b->reference), NULL, e));
  TRY(rt_loaded_launch_in(b->reference, NULL, c->on_device, b->counted, e));
  TRY(ops->copy_out(b->d, &n, b->counted, sizeof n, NULL, e));
  out->n_wrong += n;
  return n ? err_set(e, ERR_WRONG, "%" PRIu64 " %s wrong, by the template's check (case %zu)", n,
                     n == 1 ? "element is" : "elements are", (size_t)(c - b->cases))
           : 0;
}

int harness_verify(rt_harness *b, harness_case *c, rt_check *out, err *e) {
  TRY(find_differences(b, c, e));
  count(b, out);
  TRY(verdict(b, c, e));
  return b->t->counts_wrong ? count_wrong(b, c, out, e) : 0;
}
