/* bench_emu.c -- speed of the emulated device: thread-instructions a second of sgemm's inner loop,
 * the time to load PTX, products of fragments, and divergent code.
 *
 *   build/tests/bench/bench_emu [m n k]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "compile.h"
#include "device.h"
#include "emu.h"
#include "file.h"

static err e;

/* CPU time, so that other processes matter less */
static double cpu_sec(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

static void need(int rc) {
  if (rc) {
    fprintf(stderr, "%s %s\n", e.place, e.message);
    exit(1);
  }
}

static void load(rt_device *d, const char *path, rt_module **m) {
  rt_compiler *c;
  rt_image image;
  arena a = {0};
  str text = {0};
  need(file_read(path, 1 << 20, &text, &e));
  need(rt_compiler_open(&c, &e));
  rt_source source = {str_text(&text), 0, d->info.arch, 1};
  rt_image_init(&image);
  need(rt_compile(c, &source, &a, &image, &e));
  double start = now_sec();
  need(d->ops->module_load(d, str_text(&image.ptx), image.ptx.n, m, &e));
  int lines = 0;
  for (size_t i = 0; i < image.ptx.n; i++) {
    lines += image.ptx.p[i] == '\n';
  }
  printf("load: %d lines of PTX in %.2f ms\n", lines, (now_sec() - start) * 1e3);
  rt_image_clear(&image);
  arena_clear(&a);
  str_clear(&text);
  rt_compiler_close(c);
}

/* a launch of 64 warps on one host thread */
static void measure_one(rt_device *d, rt_module *m, const char *kernel, void **args,
                        const char *what) {
  rt_function *f;
  rt_emu_stats s;
  uint32_t grid[3] = {16, 1, 1}, block[3] = {128, 1, 1};
  need(d->ops->function(d, m, kernel, &f, &e));
  double start = cpu_sec();
  need(d->ops->launch(d, f, grid, block, 0, NULL, args, &e));
  double sec = cpu_sec() - start;
  rt_emu_last_stats(d, &s);
  printf(
      "%s: %.3g thread-instructions in %.3f s of CPU: %.3g a second, %.1f ns a warp instruction\n",
      what, s.thread_instructions, sec, s.thread_instructions / sec,
      1e9 * sec / s.warp_instructions);
}

/* products of fragments; one, two and four paths of a warp */
static void measure_others(rt_device *d, rt_ptr a, rt_ptr b, rt_ptr c) {
  static const char *const what[] = {"", "uniform branches", "2 paths", "", "4 paths"};
  rt_module *m;
  int n = 1000;
  load(d, "tests/emu/speed.cu", &m);
  rt_emu_set_threads(d, 1);
  for (int checks = 1; checks >= 0; checks--) {
    void *args[] = {&a, &b, &c, &n};
    rt_emu_set_checks(d, checks);
    printf("checks %s, one thread\n", checks ? "on" : "off");
    measure_one(d, m, "fragments", args, "wmma");
    for (int parts = 1; parts <= 4; parts *= 2) {
      void *branches[] = {&c, &n, &parts};
      measure_one(d, m, "branches", branches, what[parts]);
    }
  }
}

/* branches to many labels: looking them up must not be quadratic */
static void load_labels(rt_device *d, int n) {
  rt_module *m;
  str text = {0};
  str_add(&text, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
                 ".reg .pred %p; .reg .b32 %r<4>;\n");
  for (int i = 0; i < n; i++) {
    str_addf(&text, "L%d: add.s32 %%r1, %%r1, %d;\n@%%p bra L%d;\n", i, i, (i * 7 + 3) % n);
  }
  str_add(&text, "ret;\n}\n");
  double start = now_sec();
  need(d->ops->module_load(d, str_text(&text), text.n, &m, &e));
  printf("load: %d labels in %.2f ms\n", n, (now_sec() - start) * 1e3);
  d->ops->module_unload(d, m);
  str_clear(&text);
}

static rt_ptr matrix(rt_device *d, int64_t n) {
  rt_ptr p;
  need(d->ops->alloc(d, (size_t)n * 4, &p, &e));
  need(d->ops->set(d, p, 0, (size_t)n * 4, NULL, &e));
  return p;
}

static double measure(rt_device *d, rt_function *f, int m, int n, void **args, const char *what) {
  uint32_t grid[3] = {(uint32_t)n / 64, (uint32_t)m / 64, 1}, block[3] = {64, 1, 1};
  double start = now_sec(), cpu = cpu_sec();
  need(d->ops->launch(d, f, grid, block, 0, NULL, args, &e));
  double sec = now_sec() - start;
  rt_emu_stats s;
  rt_emu_last_stats(d, &s);
  printf("%s: %.3g thread-instructions in %.3f s (%.3f of CPU): %.3g a second; modelled %.3g s\n",
         what, s.thread_instructions, sec, cpu_sec() - cpu, s.thread_instructions / sec, s.sec);
  return sec;
}

/* wall time on an idle host of two cores; the second of two launches counts */
static void measure_threads(rt_device *d, rt_function *f, int m, int n, void **args) {
  static const char *const what[] = {"one thread ", "two threads"};
  double sec[2];
  for (int i = 0; i < 4; i++) {
    rt_emu_set_threads(d, i % 2 + 1);
    sec[i % 2] = measure(d, f, m, n, args, what[i % 2]);
  }
  printf("two threads are %.2f times as fast as one\n", sec[0] / sec[1]);
}

int main(int argc, char **argv) {
  int m = argc > 3 ? atoi(argv[1]) : 512, n = argc > 3 ? atoi(argv[2]) : 512,
      k = argc > 3 ? atoi(argv[3]) : 512;
  rt_device *d;
  rt_module *module;
  rt_function *f;
  need(rt_emu_open("", &d, &e));
  load(d, "tests/emu/sgemm.cu", &module);
  load_labels(d, 2500);
  load_labels(d, 25000);
  need(d->ops->function(d, module, "sgemm", &f, &e));
  rt_ptr a = matrix(d, (int64_t)m * k), b = matrix(d, (int64_t)k * n),
         c = matrix(d, (int64_t)m * n);
  void *args[] = {&m, &n, &k, &a, &b, &c};
  for (int checks = 1; checks >= 0; checks--) {
    rt_emu_set_checks(d, checks);
    measure(d, f, m, n, args, checks ? "checks on " : "checks off");
    measure_threads(d, f, m, n, args);
  }
  rt_emu_set_threads(d, 0);
  rt_emu_set_sample(d, 8);
  measure(d, f, m, n, args, "a sample of 8 blocks");
  rt_emu_set_sample(d, 0);
  measure_others(d, a, b, c);
  d->ops->close(d);
  return 0;
}
