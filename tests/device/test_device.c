/* test_device.c -- every operation of a device, on any device:
 *   build/tests/test_device [--device NAME]     NAME: emu (the default), 0, cuda:1, ...
 * Kernels come from NVRTC; without it tests that need one are skipped. Tests that destroy a context
 * run last, on a device of their own. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "check.h"
#include "compile.h"
#include "device.h"
#include "open_device.h"
#include "str.h"
#include "gen.h"

static const char kernels[] =
    "extern \"C\" __global__ void add(long long n, float a, const float *x, float *y) {\n"
    "  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n"
    "extern \"C\" __global__ void reverse(int *y) {\n"
    "  extern __shared__ int s[];\n"
    "  s[threadIdx.x] = y[threadIdx.x]; __syncthreads();\n"
    "  y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void where(unsigned *y) {\n"
    "  unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);\n"
    "  unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
    "  y[b * blockDim.x * blockDim.y * blockDim.z + t] = b * 1000 + t;\n"
    "}\n"
    "extern \"C\" __global__ void wild(float *y) { *(y + (1ll << 40)) = 1; }\n";

typedef struct bed {
  const char *name;
  rt_device *d;
  rt_compiler *c;
  rt_image image;
  arena a;
  rt_module *m;
  err e;
} bed;

static const void *image_of(const bed *b, size_t *n) {
  const str *s = b->d->info.format == RT_CUBIN ? &b->image.cubin : &b->image.ptx;
  *n = s->n;
  return str_text(s);
}

static int load(bed *b) {
  size_t n;
  const void *image = image_of(b, &n);
  return b->d->ops->module_load(b->d, image, n, &b->m, &b->e);
}

static int prepare(bed *b) {
  if (rt_device_open(b->name, &b->d, &b->e)) {
    return b->e.code;
  }
  if (rt_compiler_open(&b->c, &b->e)) {
    return b->e.code;
  }
  rt_source s = {.text = kernels, .arch = b->d->info.arch};
  return rt_compile(b->c, &s, &b->a, &b->image, &b->e) ? b->e.code : load(b);
}

static void finish(bed *b) {
  if (b->d) {
    b->d->ops->module_unload(b->d, b->m);
    b->d->ops->close(b->d);
  }
  rt_compiler_close(b->c);
  rt_image_clear(&b->image);
  arena_clear(&b->a);
}

/* Skips where this machine has no such device or no NVRTC. */
static bed *ready(void **state) {
  bed *b = *state;
  if (!b->d) {
    skip_because("no GPU %s", b->name);
  }
  if (!b->c) {
    skip_because("no NVRTC");
  }
  assert_non_null(b->m);
  err_clear(&b->e);
  return b;
}

#define BED_TEST(name) TEST_ON(name, bed, b, ready, NULL, NULL)
#define DEVICE_TEST(name) TEST_ON(name, bed, b, state_of, NULL, NULL)

#define OK(b, call) assert_ok(call, &(b)->e)

static rt_ptr alloc(bed *b, size_t nbytes) {
  rt_ptr p = 0;
  OK(b, b->d->ops->alloc(b->d, nbytes, &p, &b->e));
  assert_true(p != 0);
  assert_int_equal(p % 256, 0);
  return p;
}

static rt_function *find(bed *b, const char *name) {
  rt_function *f = NULL;
  OK(b, b->d->ops->function(b->d, b->m, name, &f, &b->e));
  assert_non_null(f);
  return f;
}

/* ---- limits -------------------------------------------------------------------------------- */

BED_TEST(test_info) {
  const rt_info *f = &b->d->info;
  auto_str key = {0};
  rt_device_key(f, &key);
  printf(
      "device %s (%s), key %s\n  %s, uuid %s, driver %d, memory %lld, L2 %lld\n"
      "  %d SMs, threads %d/%d, blocks %d, registers %d/%d, shared %lld static %lld SM %lld "
      "reserved %lld\n  grid %lld %lld %lld, block %lld %lld %lld, %.0f MHz, memory %.0f MHz x %d, "
      "%.1f TFLOP/s, %.2f TB/s\n",
      f->name, f->modelled ? "modelled" : "measured", key.p, f->arch, f->uuid, f->driver,
      (long long)f->memory_nbytes, (long long)f->l2_nbytes, f->sms, f->threads_block, f->threads_sm,
      f->blocks_sm, f->regs_block, f->regs_sm, (long long)f->smem_block, (long long)f->smem_static,
      (long long)f->smem_sm, (long long)f->smem_reserved, (long long)f->grid_max[0],
      (long long)f->grid_max[1], (long long)f->grid_max[2], (long long)f->block_max[0],
      (long long)f->block_max[1], (long long)f->block_max[2], f->clock_hz / 1e6,
      f->memory_clock_hz / 1e6, f->memory_bus_bits, rt_peak_flops(f) / 1e12,
      rt_peak_bandwidth(f) / 1e12);
  assert_int_equal(f->warp, 32);
  assert_int_equal(f->threads_block, 1024);
  assert_in_range(f->cc, 50, 130);
  assert_true(f->sms > 0 && f->blocks_sm > 0 && f->l2_nbytes > 0);
  assert_true(f->threads_sm >= f->threads_block && f->regs_sm >= f->regs_block);
  assert_true(f->smem_block >= f->smem_static && f->smem_sm >= f->smem_block);
  assert_int_equal(f->smem_static, 48 * 1024);
  assert_int_equal(f->grid_max[0], 2147483647);
  assert_int_equal(f->grid_max[1], 65535);
  assert_int_equal(f->block_max[2], 64);
  assert_in_range(f->clock_hz / 1e6, 500, 4000);
  assert_true(strlen(f->name) > 0 && strlen(f->arch) > 4);
}

/* ---- memory -------------------------------------------------------------------------------- */

BED_TEST(test_copies) {
  const rt_device_ops *o = b->d->ops;
  unsigned char in[1000], out[1000];
  rt_ptr p = alloc(b, sizeof in), q = alloc(b, sizeof in);
  for (size_t i = 0; i < sizeof in; i++) {
    in[i] = (unsigned char)(i * 7);
  }
  OK(b, o->copy_in(b->d, p, in, sizeof in, NULL, &b->e));
  OK(b, o->copy(b->d, q, p, sizeof in, NULL, &b->e));
  OK(b, o->copy_out(b->d, out, q, sizeof out, NULL, &b->e));
  assert_memory_equal(in, out, sizeof in);
  OK(b, o->set(b->d, q + 3, 0xa5, 5, NULL, &b->e));
  OK(b, o->copy_in(b->d, q, in, 0, NULL, &b->e));
  OK(b, o->copy(b->d, q, p, 0, NULL, &b->e));
  OK(b, o->set(b->d, q, 1, 0, NULL, &b->e));
  OK(b, o->copy_out(b->d, out, q, sizeof out, NULL, &b->e));
  memset(in + 3, 0xa5, 5);
  assert_memory_equal(in, out, sizeof in);
  o->release(b->d, p);
  o->release(b->d, q);
  o->release(b->d, 0);
}

BED_TEST(test_alloc) {
  int64_t before, during;
  size_t nbytes = (size_t)64 << 20;
  rt_ptr empty = alloc(b, 0), huge = 0;
  OK(b, b->d->ops->memory_free(b->d, &before, &b->e));
  rt_ptr p = alloc(b, nbytes);
  OK(b, b->d->ops->memory_free(b->d, &during, &b->e));
  assert_true(before > 0 && during > 0 && before - during >= (int64_t)nbytes / 2);
  b->d->ops->release(b->d, p);
  OK(b, b->d->ops->give_back(b->d, empty, &b->e));
  assert_fails(b->d->ops->give_back(b->d, empty, &b->e), &b->e, ERR_DEVICE, "freeing");
  err_clear(&b->e);
  OK(b, b->d->ops->give_back(b->d, 0, &b->e));
  assert_int_equal(b->d->ops->alloc(b->d, (size_t)1 << 50, &huge, &b->e), ERR_NOMEM);
  assert_int_equal(huge, 0);
  printf("  %s\n", b->e.message);
  assert_non_null(strstr(b->e.message, "1125899906842624"));
  assert_false(b->d->dead);
}

/* ---- modules and kernels ------------------------------------------------------------------- */

BED_TEST(test_functions) {
  rt_function_info info;
  rt_function *f = find(b, "reverse"), *missing;
  OK(b, b->d->ops->function_info(b->d, f, &info, &b->e));
  assert_in_range(info.regs, 1, 255);
  assert_in_range(info.threads_max, 32, 1024);
  assert_int_equal(info.smem_static, 0);
  assert_int_equal(b->d->ops->function(b->d, b->m, "nobody", &missing, &b->e), ERR_NOTFOUND);
  assert_null(missing);
  printf("  %s\n", b->e.message);
  assert_non_null(strstr(b->e.message, "nobody"));
}

BED_TEST(test_bad_images) {
  size_t n;
  const char *image = image_of(b, &n);
  char *half = malloc(n);
  rt_module *m;
  memcpy(half, image, n);
  const struct {
    const void *image;
    size_t n;
  } bad[] = {{"", 0}, {"\177ELF", 4}, {"not an image at all", 19}, {half, n / 2}, {half, 100}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    err_clear(&b->e);
    int rc = b->d->ops->module_load(b->d, bad[i].image, bad[i].n, &m, &b->e);
    printf("  %s\n", b->e.message);
    assert_int_not_equal(rc, 0);
    assert_null(m);
    assert_true(strlen(b->e.message) > 10);
  }
  assert_false(b->d->dead);
  free(half);
}

BED_TEST(test_launch) {
  enum { N = 1000 };
  static float x[N], y[N];
  rt_ptr px = alloc(b, sizeof x), py = alloc(b, sizeof y);
  long long n = N;
  float a = 2.5f;
  for (int i = 0; i < N; i++) {
    x[i] = (float)i, y[i] = 1.0f;
  }
  OK(b, b->d->ops->copy_in(b->d, px, x, sizeof x, NULL, &b->e));
  OK(b, b->d->ops->copy_in(b->d, py, y, sizeof y, NULL, &b->e));
  void *args[] = {&n, &a, &px, &py};
  OK(b, b->d->ops->launch(b->d, find(b, "add"), (uint32_t[]){8, 1, 1}, (uint32_t[]){128, 1, 1}, 0,
                          NULL, args, &b->e));
  OK(b, b->d->ops->copy_out(b->d, y, py, sizeof y, NULL, &b->e));
  for (int i = 0; i < N; i++) {
    assert_true(y[i] == 2.5f * (float)i + 1.0f);
  }
  b->d->ops->release(b->d, px);
  b->d->ops->release(b->d, py);
}

BED_TEST(test_geometry) {
  enum { N = 2 * 3 * 2 * 4 * 2 * 3 };
  uint32_t y[N];
  rt_ptr p = alloc(b, sizeof y);
  void *args[] = {&p};
  OK(b, b->d->ops->launch(b->d, find(b, "where"), (uint32_t[]){2, 3, 2}, (uint32_t[]){4, 2, 3}, 0,
                          NULL, args, &b->e));
  OK(b, b->d->ops->copy_out(b->d, y, p, sizeof y, NULL, &b->e));
  for (uint32_t i = 0; i < N; i++) {
    assert_int_equal(y[i], i / 24 * 1000 + i % 24);
  }
  b->d->ops->release(b->d, p);
}

/* A block gets all of its shared memory, and not one byte more. */
BED_TEST(test_shared_memory) {
  int y[64], blocks;
  int64_t most = b->d->info.smem_block;
  rt_function *f = find(b, "reverse");
  rt_ptr p = alloc(b, sizeof y);
  void *args[] = {&p};
  for (int i = 0; i < 64; i++) {
    y[i] = i;
  }
  OK(b, b->d->ops->copy_in(b->d, p, y, sizeof y, NULL, &b->e));
  OK(b, b->d->ops->function_smem(b->d, f, most, &b->e));
  OK(b, b->d->ops->launch(b->d, f, (uint32_t[]){1, 1, 1}, (uint32_t[]){64, 1, 1}, (uint32_t)most,
                          NULL, args, &b->e));
  OK(b, b->d->ops->copy_out(b->d, y, p, sizeof y, NULL, &b->e));
  for (int i = 0; i < 64; i++) {
    assert_int_equal(y[i], 63 - i);
  }
  OK(b, b->d->ops->occupancy(b->d, f, 64, most, &blocks, &b->e));
  assert_int_equal(blocks, 1);
  OK(b, b->d->ops->occupancy(b->d, f, 64, 256, &blocks, &b->e));
  assert_true(blocks > 1);
  assert_int_equal(b->d->ops->function_smem(b->d, f, most + 1, &b->e), ERR_LAUNCH);
  printf("  %s\n", b->e.message);
  b->d->ops->release(b->d, p);
}

/* Refused launches leave the device as it was. */
BED_TEST(test_bad_launches) {
  static const struct {
    uint32_t grid[3], block[3], smem;
  } bad[] = {{{1, 1, 1}, {1025, 1, 1}, 0},
             {{1, 1, 1}, {32, 32, 2}, 0},
             {{1, 65536, 1}, {32, 1, 1}, 0},
             {{1, 1, 1}, {1, 1, 65}, 0},
             {{1, 1, 1}, {32, 1, 1}, 1u << 20}};
  rt_ptr p = alloc(b, 4096);
  void *args[] = {&p};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    err_clear(&b->e);
    int rc = b->d->ops->launch(b->d, find(b, "reverse"), bad[i].grid, bad[i].block, bad[i].smem,
                               NULL, args, &b->e);
    printf("  %s\n", b->e.message);
    assert_int_equal(rc, ERR_LAUNCH);
  }
  err_clear(&b->e);
  assert_false(b->d->dead);
  OK(b, b->d->ops->stream_sync(b->d, NULL, &b->e));
  b->d->ops->release(b->d, p);
}

/* ---- streams and events -------------------------------------------------------------------- */

BED_TEST(test_events) {
  const rt_device_ops *o = b->d->ops;
  rt_stream s;
  rt_event *from, *to;
  double sec = -1;
  long long n = 0;
  float a = 1;
  rt_ptr p = alloc(b, 4);
  void *args[] = {&n, &a, &p, &p};
  OK(b, o->stream_new(b->d, &s, &b->e));
  OK(b, o->event_new(b->d, &from, &b->e));
  OK(b, o->event_new(b->d, &to, &b->e));
  OK(b, o->event_record(b->d, from, s, &b->e));
  OK(b, o->launch(b->d, find(b, "add"), (uint32_t[]){1, 1, 1}, (uint32_t[]){32, 1, 1}, 0, s, args,
                  &b->e));
  OK(b, o->event_record(b->d, to, s, &b->e));
  OK(b, o->elapsed(b->d, from, to, &sec, &b->e));
  printf("  one launch between two events: %.3g us\n", sec * 1e6);
  assert_true(sec >= 0 && sec < 10);
  OK(b, o->stream_sync(b->d, s, &b->e));
  o->event_free(b->d, from);
  o->event_free(b->d, to);
  o->event_free(b->d, NULL);
  o->stream_free(b->d, s);
  o->stream_free(b->d, NULL);
  o->release(b->d, p);
}

/* ---- opening ------------------------------------------------------------------------------- */

DEVICE_TEST(test_names) {
  rt_device *d;
  static const char *const bad[] = {"",      "gpu", "cuda:",      "cuda:x", "0x",
                                    "99999", "-1",  "emu:nosuch", "9999"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    err_clear(&b->e);
    assert_int_equal(rt_device_open(bad[i], &d, &b->e), ERR_DEVICE);
    assert_null(d);
    printf("  %s\n", b->e.message);
    assert_true(strlen(b->e.message) > 10);
  }
}

/* Without a GPU the message names the emulated device. */
DEVICE_TEST(test_no_gpu) {
  rt_device *d;
  int n;
  err_clear(&b->e);
  if (rt_cuda_count(&n, NULL) == 0 && n > 0) {
    skip_because("this machine has a GPU");
  }
  assert_int_equal(rt_device_open("0", &d, &b->e), ERR_DEVICE);
  assert_non_null(strstr(b->e.message, "--device emu"));
}

TEST(test_key_and_peaks) {
  rt_info h200 = {.name = "NVIDIA H200",
                  .cc = 90,
                  .sms = 132,
                  .memory_bus_bits = 6144,
                  .clock_hz = 1980e6,
                  .memory_clock_hz = 3201e6};
  rt_info t4 = {.cc = 75, .sms = 40, .clock_hz = 1590e6};
  auto_str key = {0};
  rt_device_key(&h200, &key);
  assert_string_equal(key.p, "NVIDIA H200|sm_90|132|6144|1980|3201");
  assert_true(rt_peak_flops(&h200) > 66.8e12 && rt_peak_flops(&h200) < 67e12);
  assert_true(rt_peak_bandwidth(&h200) > 4.9e12 && rt_peak_bandwidth(&h200) < 4.93e12);
  assert_true(rt_peak_flops(&t4) > 8.1e12 && rt_peak_flops(&t4) < 8.2e12);
}

/* ---- what kills ---------------------------------------------------------------------------- */

/* A store to a wild address is reported by the next synchronisation at the latest. A GPU's context
 * refuses everything afterwards; the emulated device has not done the store and continues. */
BED_TEST(test_fault) {
  bed own = {.name = b->name};
  OK(&own, prepare(&own));
  const bool emu = own.d->info.modelled;
  rt_ptr p = alloc(&own, 256);
  void *args[] = {&p};
  int rc = own.d->ops->launch(own.d, find(&own, "wild"), (uint32_t[]){1, 1, 1},
                              (uint32_t[]){1, 1, 1}, 0, NULL, args, &own.e);
  rc = rc ? rc : own.d->ops->stream_sync(own.d, NULL, &own.e);
  printf("  %s\n", own.e.message);
  assert_int_equal(rc, ERR_LAUNCH);
  assert_int_equal(own.d->dead, !emu);
  err_clear(&own.e);
  rc = own.d->ops->set(own.d, p, 0, 256, NULL, &own.e);
  printf("  %s\n", rc ? own.e.message : "and goes on");
  assert_int_equal(rc == 0, emu);
  own.d->ops->release(own.d, p);
  finish(&own);
}

/* The driver decides whether a new context works in the same process; opening one must not
 * crash. */
BED_TEST(test_after_fault) {
  bed own = {.name = b->name};
  int rc = prepare(&own);
  printf("  opening again after the fault: %s\n", rc ? own.e.message : "works");
  finish(&own);
}

int main(int argc, char **argv) {
  bed b = {.name = "emu"};
  if (argc == 3 && !strcmp(argv[1], "--device")) {
    b.name = argv[2];
  } else if (argc != 1) {
    fprintf(stderr, "usage: %s [--device NAME]\n", argv[0]);
    return 2;
  }
  if (prepare(&b)) {
    printf("device %s: %s%s%s\n", b.name, b.e.place, *b.e.place ? ": " : "", b.e.message);
    if (!b.d || b.c) { /* a missing NVRTC is no failure */
      finish(&b);
      return 1;
    }
  }
  const int failed = tests_run_with(&b, NULL, NULL);
  finish(&b);
  return failed;
}
