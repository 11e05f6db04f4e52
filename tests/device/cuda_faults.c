/* cuda_faults.c -- cuda.c over the fake driver: contexts of other threads, every failure of every
 * driver call, and the messages. test_cuda.sh builds and runs it with the fake driver in place of
 * the real one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "device.h"
#include "fake_driver.h"

static fake_driver *driver; /* NULL until the library is loaded */

static void connect(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  assert_non_null(library);
  driver = dlsym(library, "fake_driver_state");
  assert_non_null(driver); /* NULL: this is a real driver */
}

static rt_device *open_device(void) {
  rt_device *d;
  err e = {0};
  assert_ok(rt_cuda_open(0, &d, &e), &e);
  connect();
  return d;
}

/* Adopting the context of the caller loads no driver; this test has to be the first. */
TEST(test_adopt_unloaded) {
  rt_device *d;
  err e = {0};
  assert_fails(rt_cuda_open(-1, &d, &e), &e, ERR_DEVICE, "has not loaded");
  assert_null(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
}

TEST(test_info) {
  rt_device *d = open_device();
  assert_string_equal(d->info.arch, "sm_90a");
  assert_string_equal(d->info.name, "Fake");
  assert_string_equal(d->info.uuid, "GPU-1f1f1f1f-1f1f-1f1f-1f1f-1f1f1f1f1f1f");
  assert_int_equal(d->info.smem_block, 232448);
  assert_int_equal(d->info.smem_static, 49152);
  d->ops->close(d);
  assert_int_equal(driver->live, 0);
}

/* ---- contexts ------------------------------------------------------------------------------- */

typedef int context_call(void *);

static void set_context(void *c) {
  context_call *set;
  *(void **)&set = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "cuCtxSetCurrent");
  set(c);
}

static void *get_context(void) {
  void *c;
  context_call *get;
  *(void **)&get = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "cuCtxGetCurrent");
  get(&c);
  return c;
}

typedef struct visitor {
  rt_device *d;
  void *before, *after;
  int rc, switches;
} visitor;

static void *visit(void *arg) {
  visitor *v = arg;
  rt_ptr p;
  set_context(v->before);
  int start = driver->switches;
  v->rc = v->d->ops->alloc(v->d, 100, &p, NULL);
  v->d->ops->release(v->d, p);
  v->after = get_context();
  v->switches = driver->switches - start;
  return NULL;
}

/* A thread without a context keeps ours; a thread in ours switches nothing; another context is
 * restored. */
TEST(test_threads) {
  rt_device *d = open_device();
  void *ours = get_context(), *other = (void *)0x2000;
  const struct {
    void *before, *after;
    int switches;
  } cases[] = {{NULL, ours, 1}, {ours, ours, 0}, {other, other, 4}};
  assert_non_null(ours);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pthread_t t;
    visitor v = {.d = d, .before = cases[i].before};
    assert_int_equal(pthread_create(&t, NULL, visit, &v), 0);
    pthread_join(t, NULL);
    assert_int_equal(v.rc, 0);
    assert_ptr_equal(v.after, cases[i].after);
    assert_int_equal(v.switches, cases[i].switches);
  }
  d->ops->close(d);
  assert_int_equal(driver->live, 0);
}

TEST(test_adopt) {
  rt_device *d = open_device(), *adopted;
  err e = {0};
  assert_ok(rt_cuda_open(-1, &adopted, &e), &e);
  assert_int_equal(adopted->info.ordinal, 0);
  adopted->ops->close(adopted);
  assert_int_equal(driver->live, 1); /* of the other context: adopting retains nothing */
  set_context(NULL);
  assert_fails(rt_cuda_open(-1, &adopted, &e), &e, ERR_DEVICE, "no CUDA context is current");
  d->ops->close(d);
}

/* ---- textures ------------------------------------------------------------------------------- */

/* Part of an array and back, and what a texture tells the driver. */
TEST(test_textures) {
  rt_device *d = open_device();
  const rt_device_ops *o = d->ops;
  err e = {0};
  uint16_t in[2][3][4], out[2][3][4];
  for (int i = 0; i < 24; i++) {
    in[i / 12][i / 4 % 3][i % 4] = (uint16_t)(100 + i);
  }
  const rt_array_shape shape = {
      .type = DTYPE_u16, .channels = 2, .dims = {5, 4, 3}, .surface = true};
  rt_array *a;
  rt_object t;
  assert_ok(o->array_new(d, &shape, &a, &e), &e);
  rt_array_copy c = {
      .at = {1, 1, 1}, .size = {2, 3, 2}, .texel = 4, .host = in, .pitch = 8, .rows = 3};
  assert_ok(o->array_copy(d, a, &c, NULL, &e), &e);
  c.out = true;
  c.host = out;
  assert_ok(o->array_copy(d, a, &c, NULL, &e), &e);
  assert_memory_equal(in, out, sizeof in);
  c.at[0] = 4;
  assert_fails(o->array_copy(d, a, &c, NULL, &e), &e, ERR_DEVICE, "from an array");
  err_clear(&e);
  rt_texture how = {.array = a,
                    .edge = {RT_EDGE_WRAP, RT_EDGE_MIRROR, RT_EDGE_BORDER},
                    .linear = true,
                    .normalized = true,
                    .normalized_coords = true};
  assert_ok(o->texture_new(d, &how, &t, &e), &e);
  assert_int_equal(driver->resource.resType, CU_RESOURCE_TYPE_ARRAY);
  assert_int_equal(driver->texture.addressMode[0], CU_TR_ADDRESS_MODE_WRAP);
  assert_int_equal(driver->texture.addressMode[1], CU_TR_ADDRESS_MODE_MIRROR);
  assert_int_equal(driver->texture.addressMode[2], CU_TR_ADDRESS_MODE_BORDER);
  assert_int_equal(driver->texture.filterMode, CU_TR_FILTER_MODE_LINEAR);
  assert_int_equal(driver->texture.flags, CU_TRSF_NORMALIZED_COORDINATES);
  assert_ok(o->texture_free(d, t, &e), &e);
  how = (rt_texture){.at = 512, .type = DTYPE_f32, .channels = 4, .width = 10};
  assert_ok(o->texture_new(d, &how, &t, &e), &e);
  assert_int_equal(driver->resource.resType, CU_RESOURCE_TYPE_LINEAR);
  assert_int_equal(driver->resource.res.linear.sizeInBytes, 160);
  assert_int_equal(driver->texture.flags, CU_TRSF_READ_AS_INTEGER);
  assert_ok(o->texture_free(d, t, &e), &e);
  how.height = 4;
  how.pitch = 100;
  assert_fails(o->texture_new(d, &how, &t, &e), &e, ERR_USAGE, "aligned to 512 bytes");
  o->array_free(d, a);
  d->ops->close(d);
  assert_int_equal(driver->live, 0);
}

/* ---- failures ------------------------------------------------------------------------------- */

#define DO(call)                                                                                   \
  do {                                                                                             \
    rc = rc ? rc : (call);                                                                         \
  } while (0)

typedef struct recorded { /* what a graph is to hold */
  rt_device *d;
  rt_function *f;
} recorded;

static int record(void *self, rt_stream s, err *e) {
  const recorded *r = self;
  const uint32_t one[3] = {1, 1, 1};
  assert_true(r->d->ops->capturing(r->d, s));
  return r->d->ops->launch(r->d, r->f, one, one, 0, s, NULL, e);
}

static int texture_operations(rt_device *d, err *e) {
  const rt_device_ops *o = d->ops;
  rt_array *array = NULL;
  rt_object texture = 0, surface = 0;
  char bytes[8];
  const rt_array_shape shape = {.type = DTYPE_u8, .channels = 1, .dims = {8}, .surface = true};
  const rt_array_copy copy = {.size = {8}, .texel = 1, .host = bytes};
  int rc = 0;
  DO(o->array_new(d, &shape, &array, e));
  DO(o->array_copy(d, array, &copy, NULL, e));
  DO(o->texture_new(d, &(rt_texture){.array = array}, &texture, e));
  DO(o->surface_new(d, array, &surface, e));
  if (texture) {
    o->texture_free(d, texture, NULL);
  }
  if (surface) {
    o->surface_free(d, surface, NULL);
  }
  o->array_free(d, array);
  return rc;
}

static int placement_operations(rt_device *d, err *e) {
  const rt_device_ops *o = d->ops;
  void *host = NULL;
  rt_ptr p = 0;
  char bytes[8] = "1234567";
  int rc = 0;
  DO(o->host_alloc(d, 8, &host, e));
  DO(o->managed_alloc(d, 8, &p, e));
  DO(o->upload(d, p, bytes, 8, NULL, e));
  DO(o->download(d, host, p, 8, NULL, e));
  for (int i = RT_ADVICE_READ_MOSTLY; i <= RT_ADVICE_ACCESSED; i++) {
    DO(o->advise(d, p, 8, (rt_advice)i, e));
  }
  DO(o->prefetch(d, p, 8, false, NULL, e));
  DO(o->prefetch(d, p, 8, true, NULL, e));
  assert_true(rc || !memcmp(host, bytes, 8));
  o->release(d, p);
  o->host_free(d, host);
  o->host_free(d, NULL);
  return rc;
}

static int graph_operations(rt_device *d, rt_function *f, rt_stream s, err *e) {
  const rt_device_ops *o = d->ops;
  rt_graph *g = NULL;
  recorded r = {d, f};
  int rc = 0;
  DO(o->graph_new(d, record, &r, &g, e));
  DO(o->graph_launch(d, g, s, e));
  assert_false(driver->capturing);
  assert_false(rc == 0 && o->capturing(d, s));
  o->graph_free(d, g);
  return rc;
}

/* Calls every operation once and gives everything back, whatever fails. */
static int all_operations(rt_device *d, err *e) {
  const rt_device_ops *o = d->ops;
  rt_ptr p = 0, q = 0;
  rt_module *m = NULL;
  rt_function *f = NULL;
  rt_function_info info;
  rt_stream s = NULL, beside = NULL;
  rt_event *from = NULL, *to = NULL;
  char elf[64] = "\177ELF", bytes[64];
  int rc = 0, blocks;
  uint32_t params[2];
  int64_t left;
  double sec;
  const uint32_t one[3] = {1, 1, 1};
  DO(o->alloc(d, 64, &p, e));
  DO(o->alloc(d, 0, &q, e));
  DO(o->memory_free(d, &left, e));
  DO(o->set(d, p, 7, 64, NULL, e));
  DO(o->copy_in(d, p, elf, 64, NULL, e));
  DO(o->copy(d, p, p, 1, NULL, e));
  DO(o->copy_out(d, bytes, p, 64, NULL, e));
  DO(o->module_load(d, elf, sizeof elf, &m, e));
  DO(o->function(d, m, "f", &f, e));
  DO(o->function_info(d, f, &info, e));
  const int n_params = o->function_params(d, f, params, 2);
  assert_true(n_params >= -1 && n_params <= 2);
  DO(o->function_smem(d, f, 100000, e));
  DO(o->occupancy(d, f, 64, 0, &blocks, e));
  DO(o->pending_launches(d, 4096, e));
  DO(o->pending_launches(d, 100, e));
  assert_true(rc || driver->pending == 4096);
  DO(o->stream_new(d, &s, e));
  DO(o->event_new(d, &from, e));
  DO(o->event_new(d, &to, e));
  DO(o->event_record(d, from, s, e));
  DO(o->launch(d, f, one, one, 100000, s, NULL, e));
  DO(o->launch_overlapping(d, f, one, one, 100000, s, NULL, e));
  DO(o->launch_cooperative(d, f, one, one, 100000, s, NULL, e));
  DO(o->event_record(d, to, s, e));
  DO(o->stream_wait(d, s, to, e));
  DO(o->stream_beside(d, &beside, e));
  o->stream_free(d, beside);
  DO(o->elapsed(d, from, to, &sec, e));
  DO(o->stream_sync(d, s, e));
  DO(o->give_back(d, q, e));
  q = rc ? q : 0;
  DO(o->give_back(d, q, e));
  DO(texture_operations(d, e));
  DO(placement_operations(d, e));
  DO(graph_operations(d, f, s, e));
  o->event_free(d, from);
  o->event_free(d, to);
  o->stream_free(d, s);
  o->module_unload(d, m);
  o->release(d, p);
  o->release(d, q);
  return rc;
}

static int whole_life(bool *dead, err *e) {
  rt_device *d;
  TRY(rt_cuda_open(0, &d, e));
  int rc = all_operations(d, e);
  *dead = d->dead;
  d->ops->close(d);
  return rc;
}

static const struct {
  int result, code;
  bool sticky;
} failures[] = {
    {2, ERR_NOMEM, false}, {1, 0, false}, {700, ERR_LAUNCH, true}, {999, ERR_DEVICE, true}};

/* The k-th call fails, for every k. The driver frees what belongs to a dead context. */
TEST(test_every_failure) {
  for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
    int k = 0, rc;
    do {
      err e = {0};
      bool dead = false;
      *driver =
          (fake_driver){.smem = 49152, .fail_at = ++k, .n_params = 2, .result = failures[i].result};
      rc = whole_life(&dead, &e);
      assert_true(failures[i].sticky || driver->live == 0);
      assert_int_equal(rc, e.code);
      assert_true(!rc || strstr(e.message, "CUDA_ERROR_") || rc == ERR_LAUNCH);
      assert_true(!rc || !failures[i].code || rc == failures[i].code);
      assert_true(!dead || failures[i].sticky);
    } while (rc ||
             driver->calls >= k); /* the failure of one call has no effect: the UUID is optional */
    printf("  result %d: %d calls\n", failures[i].result, k - 1);
    assert_true(k > 50);
  }
  *driver = (fake_driver){.smem = 49152};
}

/* Whatever operation is called, and whichever driver call fails, the thread keeps its own
 * context. */
TEST(test_visits) {
  void *const other = (void *)0x2000;
  int k = 0, rc;
  do {
    bool dead = false;
    *driver = (fake_driver){.smem = 49152, .fail_at = k, .n_params = 2, .result = k % 2 ? 1 : 700};
    set_context(other);
    rc = whole_life(&dead, NULL);
    assert_ptr_equal(get_context(), other);
    k++;
  } while (k == 1 || rc || driver->calls >= k - 1);
  assert_true(k > 50);
  set_context(NULL);
  *driver = (fake_driver){.smem = 49152};
}

TEST(test_messages) {
  rt_device *d = open_device();
  const rt_device_ops *o = d->ops;
  rt_ptr p;
  rt_module *m;
  rt_function *f;
  err e = {0};
  char elf[64] = "\177ELF";
  const uint32_t grid[3] = {1, 70000, 1}, block[3] = {32, 1, 1};
  assert_fails(o->alloc(d, (size_t)1 << 40, &p, &e), &e, ERR_NOMEM,
               "1099511627776 bytes on the GPU, of which 1073741824");
  err_clear(&e);
  assert_ok(o->alloc(d, 64, &p, &e), &e);
  assert_fails(o->give_back(d, p + 1, &e), &e, ERR_DEVICE,
               "1, which must be one that was allocated");
  o->release(d, p);
  assert_fails(o->module_load(d, "text", 4, &m, &e), &e, ERR_LAUNCH, "line 1: not PTX");
  assert_fails(o->module_load(d, elf, 20, &m, &e), &e, ERR_LAUNCH, "20 bytes is damaged");
  err_clear(&e);
  assert_ok(o->module_load(d, elf, 64, &m, &e), &e);
  assert_fails(o->function(d, m, "nobody", &f, &e), &e, ERR_NOTFOUND, "nobody");
  err_clear(&e);
  assert_ok(o->function(d, m, "f", &f, &e), &e);
  uint32_t params[2] = {0, 77};
  assert_int_equal(o->function_params(d, f, params, 2), -1);
  driver->n_params = 2;
  assert_int_equal(o->function_params(d, f, params, 1), 2);
  assert_true(params[0] == 8 && params[1] == 77);
  assert_int_equal(o->function_params(d, f, params, 2), 2);
  assert_int_equal(params[1], 4);
  assert_fails(o->launch(d, f, grid, block, 0, NULL, NULL, &e), &e, ERR_LAUNCH, "1x70000x1");
  assert_int_equal(driver->overlapping, 0);
  assert_fails(o->launch_overlapping(d, f, grid, block, 0, NULL, NULL, &e), &e, ERR_LAUNCH,
               "1x70000x1");
  assert_int_equal(driver->overlapping, 1);
  assert_fails(o->function_smem(d, f, 300000, &e), &e, ERR_LAUNCH, "232448");
  err_clear(&e);
  assert_ok(o->function_smem(d, f, 200000, &e), &e);
  assert_ok(o->function_smem(d, f, 100000, &e), &e);
  assert_int_equal(driver->smem, 200000); /* only ever raised */
  assert_fails(rt_cuda_open(3, &d, &e), &e, ERR_DEVICE, "no GPU 3: this machine has 1");
}

/* A kernel's fault is reported with CUDA's name first, then with ours. */
TEST(test_death) {
  rt_device *d = open_device();
  err e = {0};
  *driver = (fake_driver){.smem = 49152, .fail_at = 1, .result = 700};
  assert_fails(d->ops->stream_sync(d, NULL, &e), &e, ERR_LAUNCH, "CUDA_ERROR_ILLEGAL_ADDRESS");
  assert_true(d->dead);
  assert_fails(d->ops->stream_sync(d, NULL, &e), &e, ERR_LAUNCH, "reopen the device");
  d->ops->close(d);
  *driver = (fake_driver){.smem = 49152};
}

int main(void) {
  return tests_run();
}
