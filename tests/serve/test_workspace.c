/* test_workspace.c -- workspaces of libtuned's kernels: the context's, one per stream, and the
 * caller's. Runs on any device: test_workspace [--device NAME]. */
#define _GNU_SOURCE
#include <pthread.h>

#include "serve_fixture.h"

enum { N = 5000 };

/* ---- a sum on the device -------------------------------------------------------------------- */

typedef struct sum {
  fixture *f;
  rt_stream stream;
  int *x, *y, expected;
  void *own; /* scratch memory; NULL: the context's */
  size_t nbytes;
  int n_bad;
} sum;

static void *device_memory(fixture *f, size_t nbytes) {
  void *p;
  OK(f, tuned_alloc(f->ctx, nbytes, &p, &f->err));
  return p;
}

/* Each sum has other numbers, so that the result of another one is wrong. */
static void sum_init(sum *s, fixture *f, int number) {
  serve *in = inside(f);
  static int host[N];
  *s = (sum){.f = f};
  for (int i = 0; i < N; i++) {
    host[i] = (i % 97) * (number + 1);
    s->expected += host[i];
  }
  s->x = device_memory(f, sizeof host);
  s->y = device_memory(f, sizeof *s->y);
  OK(f, tuned_copy_to_device(f->ctx, s->x, host, sizeof host, &f->err));
  assert_int_equal(in->device->ops->stream_new(in->device, &s->stream, NULL), 0);
}

static int launch(sum *s, void *workspace, size_t *nbytes, tuned_error *e) {
  return tuned_reduce_with(s->f->ctx, s->stream, "sum", "i32", N, s->x, s->y, workspace, nbytes, e);
}

static void give_own(sum *s) {
  fixture *f = s->f;
  OK(f, launch(s, NULL, &s->nbytes, &f->err));
  s->own = device_memory(f, s->nbytes); /* exactly: the emulated device reports an access beyond */
  OK(f, tuned_zero(f->ctx, s->stream, s->own, s->nbytes, &f->err));
}

static int is_right(sum *s) {
  tuned_error e = {0};
  int y = -1;
  const int rc = s->own ? launch(s, s->own, &s->nbytes, &e)
                        : tuned_reduce(s->f->ctx, s->stream, "sum", "i32", N, s->x, s->y, &e);
  return !rc && !tuned_sync(s->f->ctx, s->stream, &e) &&
         !tuned_copy_to_host(s->f->ctx, &y, s->y, sizeof y, &e) && y == s->expected;
}

static void sum_clear(sum *s) {
  serve *in = inside(s->f);
  in->device->ops->stream_free(in->device, s->stream);
}

/* ---- whose memory --------------------------------------------------------------------------- */

CONTEXT_TEST(own_memory_is_used_and_no_other) {
  sum s;
  sum_init(&s, f, 0);
  give_own(&s);
  assert_true(s.nbytes > 1);
  for (int i = 0; i < 3; i++) { /* each launch leaves it ready for the next */
    assert_true(is_right(&s));
  }
  assert_int_equal(inside(f)->workspaces.n, 0);
  s.own = NULL;
  assert_true(is_right(&s));
  assert_int_equal(inside(f)->workspaces.n, 1);
  sum_clear(&s);
}

/* The context has memory for each kernel and stream, so launches share none. */
CONTEXT_TEST(streams_share_no_memory) {
  sum s[3];
  for (int i = 0; i < 3; i++) {
    sum_init(&s[i], f, i);
    assert_true(is_right(&s[i]) && is_right(&s[i]));
    assert_int_equal(inside(f)->workspaces.n, i + 1);
  }
  for (int i = 0; i < 3; i++) {
    sum_clear(&s[i]);
  }
}

static int64_t memory_left(fixture *f) {
  rt_device *d = inside(f)->device;
  int64_t n = 0;
  assert_int_equal(d->ops->memory_free(d, &n, NULL), 0);
  return n;
}

/* What was released is allocated and zeroed again at the next launch. */
CONTEXT_TEST(trimming_releases_memory_of_a_stream) {
  sum s[2];
  const bool counts =
      inside(f)->device->info.modelled; /* a GPU has other users, and larger pages */
  for (int i = 0; i < 2; i++) {
    sum_init(&s[i], f, i);
  }
  assert_true(is_right(&s[0])); /* loads the kernel, which may have variables */
  OK(f, tuned_trim(f->ctx, TUNED_EVERY_STREAM, &f->err));
  const int64_t before = memory_left(f);
  for (int round = 0; round < 2; round++) {
    assert_true(is_right(&s[0]) && is_right(&s[1]));
    const int64_t both = memory_left(f);
    OK(f, tuned_trim(f->ctx, s[0].stream, &f->err));
    assert_true(!counts || (memory_left(f) > both && memory_left(f) < before));
    assert_true(is_right(&s[1]) && is_right(&s[0]));
    OK(f, tuned_trim(f->ctx, TUNED_EVERY_STREAM, &f->err));
    OK(f, tuned_trim(f->ctx, TUNED_EVERY_STREAM, &f->err));
    assert_true(!counts || memory_left(f) == before);
  }
  assert_int_equal(inside(f)->workspaces.n, 2);
  for (int i = 0; i < 2; i++) {
    sum_clear(&s[i]);
  }
}

static void *trim_often(void *ud) {
  sum *s = ud;
  tuned_error e;
  for (int i = 0; i < 20; i++) {
    s->n_bad += tuned_trim(s->f->ctx, TUNED_EVERY_STREAM, &e) != 0;
  }
  return NULL;
}

static void *sum_often(void *ud) {
  sum *s = ud;
  for (int i = 0; i < 8; i++) {
    s->n_bad += !is_right(s);
  }
  return NULL;
}

/* Half of the threads have memory of their own; two are on the same stream. A last one releases the
 * context's memory meanwhile. */
CONTEXT_TEST(many_threads_many_streams) {
  enum { THREADS = 6 };
  sum s[THREADS];
  pthread_t threads[THREADS], trims;
  sum trimmed = {.f = f};
  for (int i = 0; i < THREADS; i++) {
    sum_init(&s[i], f, i);
    if (i % 2) {
      give_own(&s[i]);
    }
  }
  const rt_stream unused = s[2].stream;
  s[2].stream = s[0].stream;
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, sum_often, &s[i]), 0);
  }
  assert_int_equal(pthread_create(&trims, NULL, trim_often, &trimmed), 0);
  pthread_join(trims, NULL);
  assert_int_equal(trimmed.n_bad, 0);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(s[i].n_bad, 0);
  }
  assert_int_equal(inside(f)->workspaces.n, 2);
  s[2].stream = unused;
  for (int i = 0; i < THREADS; i++) {
    sum_clear(&s[i]);
  }
}

/* ---- by handle ------------------------------------------------------------------------------ */

CONTEXT_TEST(launch_with_own_memory) {
  tuned_kernel *k;
  tuned_kernel_info info;
  size_t nbytes;
  int host[N], out[N], sum_so_far = 0;
  for (int i = 0; i < N; i++) {
    host[i] = i % 13 - 5;
  }
  OK(f, tuned_find(f->ctx, "scan n=5000 dtype=i32 op=sum kind=inclusive", &k, &f->err));
  OK(f, tuned_workspace_bytes(k, &nbytes, &f->err));
  OK(f, tuned_info(k, &info, &f->err));
  assert_int_equal(nbytes, info.workspace_nbytes);
  assert_true(nbytes > 0);
  void *x = device_memory(f, sizeof host), *y = device_memory(f, sizeof host);
  void *own = device_memory(f, nbytes);
  const void *args[] = {NULL, &x, &y};
  OK(f, tuned_copy_to_device(f->ctx, x, host, sizeof host, &f->err));
  OK(f, tuned_zero(f->ctx, NULL, own, nbytes, &f->err));
  for (int again = 0; again < 2; again++) {
    OK(f, tuned_zero(f->ctx, NULL, y, sizeof host, &f->err));
    OK(f, tuned_launch_with(k, NULL, args, own, nbytes, &f->err));
    OK(f, tuned_copy_to_host(f->ctx, out, y, sizeof out, &f->err));
    sum_so_far = 0;
    for (int i = 0; i < N; i++) {
      assert_int_equal(out[i], sum_so_far += host[i]);
    }
  }
  REFUSED(f, TUNED_E_USAGE, "this kernel needs",
          tuned_launch_with(k, NULL, args, own, nbytes - 1, &f->err));
  REFUSED(f, TUNED_E_USAGE, "not aligned to 256",
          tuned_launch_with(k, NULL, args, (char *)own + 8, nbytes, &f->err));
  REFUSED(f, TUNED_E_USAGE, "workspace is NULL",
          tuned_launch_with(k, NULL, args, NULL, nbytes, &f->err));
  assert_int_equal(inside(f)->workspaces.n, 0);
}

CONTEXT_TEST(kernels_without_scratch_memory_need_none) {
  tuned_kernel *k;
  size_t nbytes = 7;
  const float host[6] = {1, 2}, two = 2;
  float out[2], *c;
  void *x = device_memory(f, sizeof host);
  const void *args[] = {NULL, &two, &x, &x};
  OK(f, tuned_copy_to_device(f->ctx, x, host, sizeof host, &f->err));
  OK(f, tuned_find(f->ctx, "saxpy n=2", &k, &f->err));
  OK(f, tuned_workspace_bytes(k, &nbytes, &f->err));
  assert_int_equal(nbytes, 0);
  OK(f, tuned_launch_with(k, NULL, args, NULL, 0, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, out, x, sizeof out, &f->err));
  assert_true(out[0] == 3 && out[1] == 6);
  /* a typed call distinguishes an address from the question for the size */
  c = device_memory(f, 6 * sizeof host);
  OK(f, tuned_sgemm_with(f->ctx, NULL, 'n', 'n', 6, 6, 1, 1, x, 6, x, 1, 0, c, 6, NULL, &nbytes,
                         &f->err));
  assert_int_equal(nbytes, 1);
  OK(f, tuned_sgemm_with(f->ctx, NULL, 'n', 'n', 6, 6, 1, 1, x, 6, x, 1, 0, c, 6, x, &nbytes,
                         &f->err));
  OK(f, tuned_copy_to_host(f->ctx, out, c, sizeof *out, &f->err));
  assert_true(out[0] == 9);
}

/* Byte keys are counted in memory that must be zero before the first launch. */
CONTEXT_TEST(radix_sort_in_own_memory) {
  enum { KEYS = 70000 };
  static uint8_t keys[KEYS], sorted[KEYS];
  size_t nbytes;
  for (uint32_t i = 0; i < KEYS; i++) {
    keys[i] = (uint8_t)(i * 7919);
  }
  void *in = device_memory(f, sizeof keys), *out = device_memory(f, sizeof keys);
  OK(f, tuned_copy_to_device(f->ctx, in, keys, sizeof keys, &f->err));
  OK(f, tuned_radix_sort_with(f->ctx, NULL, "u8", "ascending", 0, 8, 0, KEYS, in, out, NULL, NULL,
                              NULL, &nbytes, &f->err));
  assert_true(nbytes > 1);
  void *own = device_memory(f, nbytes);
  OK(f, tuned_zero(f->ctx, NULL, own, nbytes, &f->err));
  OK(f, tuned_radix_sort_with(f->ctx, NULL, "u8", "ascending", 0, 8, 0, KEYS, in, out, NULL, NULL,
                              own, &nbytes, &f->err));
  OK(f, tuned_copy_to_host(f->ctx, sorted, out, sizeof sorted, &f->err));
  size_t counts[256] = {0}, at = 0;
  for (size_t i = 0; i < KEYS; i++) {
    counts[keys[i]]++;
  }
  for (int k = 0; k < 256; k++) {
    for (size_t i = 0; i < counts[k]; i++) {
      assert_int_equal(sorted[at++], k);
    }
  }
}

/* ---- what is refused ------------------------------------------------------------------------ */

CONTEXT_TEST(bad_memory_is_refused) {
  sum s;
  size_t nbytes;
  tuned_kernel *k;
  sum_init(&s, f, 0);
  give_own(&s);
  nbytes = s.nbytes - 1;
  REFUSED(f, TUNED_E_USAGE, "reduce: the workspace has", launch(&s, s.own, &nbytes, &f->err));
  REFUSED(f, TUNED_E_USAGE, "not aligned", launch(&s, (char *)s.own + 1, &s.nbytes, &f->err));
  REFUSED(f, TUNED_E_USAGE, "tuned_reduce_with: nbytes is NULL", launch(&s, s.own, NULL, &f->err));
  REFUSED(f, TUNED_E_USAGE, "n is -1",
          tuned_reduce_with(f->ctx, NULL, "sum", "i32", -1, s.x, s.y, NULL, &nbytes, &f->err));
  REFUSED(f, TUNED_E_USAGE, "NULL address",
          tuned_reduce_with(f->ctx, NULL, "sum", "i32", N, s.x, NULL, s.own, &s.nbytes, &f->err));
  OK(f, tuned_find(f->ctx, "reduce n=5000 dtype=i32", &k, &f->err));
  REFUSED(f, TUNED_E_USAGE, "nbytes is NULL", tuned_workspace_bytes(k, NULL, &f->err));
  REFUSED(f, TUNED_E_USAGE, "kernel is NULL", tuned_workspace_bytes(NULL, &nbytes, &f->err));
  REFUSED(f, TUNED_E_USAGE, "kernel is NULL",
          tuned_launch_with(NULL, NULL, NULL, s.own, nbytes, &f->err));
  REFUSED(f, TUNED_E_USAGE, "args is NULL",
          tuned_launch_with(k, NULL, NULL, s.own, nbytes, &f->err));
  REFUSED(f, TUNED_E_USAGE, "address is NULL", tuned_zero(f->ctx, NULL, NULL, 4, &f->err));
  OK(f, tuned_zero(f->ctx, NULL, NULL, 0, &f->err));
  assert_true(is_right(&s)); /* and nothing was spoilt */
  sum_clear(&s);
}

static bool always_capturing(rt_device *d, rt_stream s) {
  (void)d, (void)s;
  return true;
}

/* While a stream is captured nothing can be allocated: the call is refused before the driver
 * fails. */
CONTEXT_TEST(capture_wants_memory_that_is_there) {
  sum s;
  sum_init(&s, f, 0);
  rt_device *d = inside(f)->device;
  const rt_device_ops *own = d->ops;
  rt_device_ops capturing = *own;
  capturing.capturing = always_capturing;
  d->ops = &capturing;
  REFUSED(f, TUNED_E_USAGE, "the stream is being captured",
          tuned_reduce(f->ctx, s.stream, "sum", "i32", N, s.x, s.y, &f->err));
  d->ops = own;
  assert_true(is_right(&s));
  d->ops = &capturing;
  assert_true(is_right(&s)); /* it is there now */
  REFUSED(f, TUNED_E_USAGE, "tuned_trim: the stream is being captured",
          tuned_trim(f->ctx, s.stream, &f->err));
  d->ops = own;
  OK(f, tuned_trim(f->ctx, s.stream, &f->err));
  d->ops = &capturing;
  REFUSED(f, TUNED_E_USAGE, "the stream is being captured",
          tuned_reduce(f->ctx, s.stream, "sum", "i32", N, s.x, s.y, &f->err));
  d->ops = own;
  give_own(&s);
  d->ops = &capturing;
  assert_true(is_right(&s));
  d->ops = own;
  sum_clear(&s);
}

static int record_own(void *self, rt_stream stream, err *e) {
  sum *s = self;
  tuned_error why = {0};
  const int rc =
      tuned_reduce_with(s->f->ctx, stream, "sum", "i32", N, s->x, s->y, s->own, &s->nbytes, &why);
  return rc ? err_set(e, rc, "%s", why.message) : 0;
}

static int record_contexts(void *self, rt_stream stream, err *e) {
  sum *s = self;
  tuned_error why = {0};
  const int rc = tuned_reduce(s->f->ctx, stream, "sum", "i32", N, s->x, s->y, &why);
  return rc ? err_set(e, rc, "%s", why.message) : 0;
}

/* With real graphs; they are replayed on streams other than that of the capture. */
CONTEXT_TEST(a_graph_has_memory_of_its_own) {
  sum s, other;
  rt_graph *g = NULL;
  err e = {0};
  const int zero = 0;
  rt_device *d = inside(f)->device;
  if (d->info.modelled) {
    skip_because("graphs need a GPU");
  }
  sum_init(&s, f, 0);
  sum_init(&other, f, 1);
  give_own(&s);
  OK(f, tuned_sync(f->ctx, s.stream, &f->err));
  assert_fails(d->ops->graph_new(d, record_contexts, &s, &g, &e), &e, ERR_USAGE, "being captured");
  err_clear(&e);
  assert_ok(d->ops->graph_new(d, record_own, &s, &g, &e), &e);
  for (int i = 0; i < 20; i++) {
    int y = -1;
    OK(f, tuned_copy_to_device(f->ctx, s.y, &zero, sizeof zero, &f->err));
    assert_ok(d->ops->graph_launch(d, g, i % 2 ? s.stream : other.stream, &e), &e);
    assert_true(is_right(&other)); /* the context's memory, at the same time */
    OK(f, tuned_sync(f->ctx, s.stream, &f->err));
    OK(f, tuned_copy_to_host(f->ctx, &y, s.y, sizeof y, &f->err));
    assert_int_equal(y, s.expected);
  }
  d->ops->graph_free(d, g);
  sum_clear(&s);
  sum_clear(&other);
}

int main(int argc, char **argv) {
  return context_tests_run(argc, argv);
}
