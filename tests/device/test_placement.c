/* test_placement.c -- claims about where memory lies, on a fake device: each is told once, what cannot
 * be tried with its reason, and all memory is given back, whatever fails. */
#define _GNU_SOURCE
#include "check.h"
#include "emu.h"
#include "fake_device.h"
#include "placement_claims.h"

enum { NBYTES = 1 << 20 };

static int n_read, n_iterated, n_moved, n_advised;

static void count_read(fake *f, void **args) {
  (void)f;
  assert_int_equal(FAKE_ARG(args, 1, uint64_t) * FAKE_ARG(args, 2, uint64_t) * 16, NBYTES);
  n_read++;
}

static void count_iterated(fake *f, void **args) {
  (void)f;
  const uint64_t n = FAKE_ARG(args, 1, uint64_t);
  assert_true(n == NBYTES / 8 / sizeof(float) || n == 1);
  n_iterated += n > 1;
}

static const fake_function kernels[] = {
    {"read_words", count_read, 1e-6}, {"iterate", count_iterated, 1e-6}, {NULL, NULL, 0}};

static int host_alloc(rt_device *d, size_t nbytes, void **p, err *e) {
  rt_ptr at;
  *p = NULL;
  TRY(fake_alloc(d, nbytes, &at, e));
  *p = fake_memory(at);
  return 0;
}
static void host_free(rt_device *d, void *p) {
  fake_release(d, (rt_ptr)(uintptr_t)p);
}
static int prefetch(rt_device *d, rt_ptr p, size_t nbytes, bool to_host, rt_stream s, err *e) {
  (void)p, (void)to_host, (void)s;
  assert_int_equal(nbytes, NBYTES);
  n_moved++;
  return fake_call(d, e);
}
static int advise(rt_device *d, rt_ptr p, size_t nbytes, rt_advice advice, err *e) {
  (void)p, (void)nbytes;
  n_advised |= 1 << advice;
  return fake_call(d, e);
}

typedef struct told {
  int n, n_failed;
  char why[200];
} told;

static int tell(void *self, const placement_try *t, err *e) {
  told *x = self;
  (void)e;
  x->n++;
  x->n_failed += t->rc != 0;
  assert_string_equal(t->claim.family, "memory");
  assert_string_equal(t->claim.problem, "1 MiB");
  assert_true(t->rc || (t->times.one > 0 && t->times.other > 0));
  snprintf(x->why, sizeof x->why, "%.199s", t->why.message);
  return 0;
}

static rt_device_ops placing_ops(void) {
  rt_device_ops ops = fake_ops;
  ops.upload = fake_copy_in;
  ops.download = fake_copy_out;
  ops.host_alloc = host_alloc;
  ops.host_free = host_free;
  ops.managed_alloc = fake_alloc;
  ops.prefetch = prefetch;
  ops.advise = advise;
  ops.stream_beside = fake_stream_new;
  return ops;
}

/* All claims on a device whose call of this number fails; 0: none does. */
static int try_claims(rt_compiler *c, const rt_device_ops *ops, int fail_at, told *x, err *e) {
  fake f;
  fake_init(&f, kernels);
  f.device.ops = ops;
  f.fail_at = fail_at;
  *x = (told){0};
  const placement_run run = {
      .device = &f.device, .compiler = c, .nbytes = NBYTES, .rounds = 1, .tell = tell, .self = x};
  const int rc = placement_claims(&run, e);
  assert_int_equal(f.live, 0);
  return rc;
}

TEST(test_claims_about_memory) {
  rt_device_ops ops = placing_ops();
  rt_compiler *c;
  told x;
  err e = {0};
  assert_ok(rt_compiler_open(&c, &e), &e);
  assert_ok(try_claims(c, &ops, 0, &x, &e), &e);
  assert_true(x.n == 13 && !x.n_failed);
  assert_true(n_read > 12 && n_iterated >= 2 * 3 * 8 && n_moved > 0);
  assert_int_equal(n_advised,
                   1 << RT_ADVICE_READ_MOSTLY | 1 << RT_ADVICE_HOST | 1 << RT_ADVICE_ACCESSED);
  for (int k = 1; k < 40; k++) {
    err why = {0};
    const int rc = try_claims(c, &ops, k, &x, &why);
    assert_true(rc || x.n_failed == 1);
  }
  ops.managed_alloc = NULL;
  assert_ok(try_claims(c, &ops, 0, &x, &e), &e);
  assert_true(x.n == 13 && x.n_failed == 5);
  assert_string_equal(x.why, "this device has no managed memory");
  ops.host_alloc = NULL;
  assert_fails(try_claims(c, &ops, 0, &x, &e), &e, ERR_DEVICE, "has no pinned memory");
  rt_compiler_close(c);
}

TEST(test_placement_is_not_modelled) {
  rt_device *d;
  err e = {0};
  assert_ok(rt_emu_open("h200", &d, &e), &e);
  const placement_run run = {.device = d, .nbytes = NBYTES, .rounds = 1, .tell = tell};
  assert_fails(placement_claims(&run, &e), &e, ERR_USAGE, "where memory lies is not modelled");
  d->ops->close(d);
}

int main(void) {
  return tests_run();
}
