/* bench_repeats.c -- how often a configuration of sgemm gives another result for the same numbers.
 *
 *   bench_repeats [--device 0|emu] [--templates DIR] [--times N] --config LIST PROBLEM
 *
 * Sums in a fixed order are the same in every launch, to the last bit; a difference shows that
 * threads race for a tile, however rarely (FINISH=atomic has no such order). The device compares
 * each launch with the first. Prints how many launches differed, and microseconds per launch
 * without comparisons; exit status 1 when any differed. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_tools.h"
#include "open_device.h"
#include "run.h"

static const char source[] =
    "extern \"C\" __global__ void fill(long long n, unsigned seed, float *x) {\n"
    "  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {\n"
    "    unsigned z = (unsigned)i * 2654435761u + seed;\n"
    "    z = (z ^ z >> 16) * 0x7feb352du;\n"
    "    z = (z ^ z >> 15) * 0x846ca68bu;\n"
    "    x[i] = (int)(z ^ z >> 16) * 0x1p-31f;\n"
    "  }\n"
    "}\n"
    "extern \"C\" __global__ void compare(long long n, const unsigned *x, const unsigned *y,\n"
    "                                   unsigned long long *differing) {\n"
    "  unsigned own = 0;\n"
    "  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {\n"
    "    own += x[i] != y[i];\n"
    "  }\n"
    "  if (own) atomicAdd(differing, own);\n"
    "}\n";

typedef struct bench {
  const char *device, *templates, *config, *problem;
  int64_t times;
  rt_device *d;
  rt_compiler *compiler;
  gen_template *t;
  gen_instance *g;
  rt_loaded *l;
  rt_function *fill, *compare;
  int32_t m, n, k;
  int64_t lda, ldb;
  rt_ptr a, b, c, first, differing;
  arena memory;
} bench;

static err why;

#define must(rc, what) bench_must(rc, what, why.message)

static void load_kernels(bench *b) {
  rt_module *m;
  rt_image image;
  rt_image_init(&image);
  const rt_source s = {.text = source, .arch = b->d->info.arch};
  must(rt_compile(b->compiler, &s, &b->memory, &image, &why), "compiling");
  const str *code = b->d->info.format == RT_PTX ? &image.ptx : &image.cubin;
  must(b->d->ops->module_load(b->d, str_text(code), code->n, &m, &why), "loading");
  must(b->d->ops->function(b->d, m, "fill", &b->fill, &why), "fill");
  must(b->d->ops->function(b->d, m, "compare", &b->compare, &why), "compare");
  rt_image_clear(&image);
}

static void load_subject(bench *b, const gen_config *c) {
  rt_image image;
  const gen_plan *plan;
  str text = {0};
  rt_source s = {.arch = b->d->info.arch};
  must(gen_source_make(b->g, c, &text, &s.body, &why), "the source");
  s.text = str_text(&text);
  rt_image_init(&image);
  must(rt_compile(b->compiler, &s, &b->memory, &image, &why), "compiling");
  const str *code = b->d->info.format == RT_PTX ? &image.ptx : &image.cubin;
  must(gen_plan_make(b->g, c, &b->memory, &plan, &why), "the plan");
  must(rt_loaded_new(b->d, code->p, code->n, b->t, plan, &b->l, &why), "loading");
  rt_image_clear(&image);
  str_clear(&text);
}

static int64_t field(const bench *b, const gen_problem *p, const char *name) {
  for (size_t i = 0; i < b->t->n_fields; i++) {
    if (!strcmp(b->t->fields[i].name, name)) {
      const gen_value v = p->values[i];
      return v.s ? v.s[0] : v.i;
    }
  }
  return 0;
}

static void allocate(bench *b, const gen_problem *p) {
  const bool ta = field(b, p, "ta") == 't', tb = field(b, p, "tb") == 't';
  b->m = (int32_t)field(b, p, "m");
  b->n = (int32_t)field(b, p, "n");
  b->k = (int32_t)field(b, p, "k");
  b->lda = ta ? b->k : b->m;
  b->ldb = tb ? b->n : b->k;
  const size_t c = 4 * (size_t)b->m * (size_t)b->n;
  must(b->d->ops->alloc(b->d, 4 * (size_t)b->m * (size_t)b->k, &b->a, &why), "A");
  must(b->d->ops->alloc(b->d, 4 * (size_t)b->k * (size_t)b->n, &b->b, &why), "B");
  must(b->d->ops->alloc(b->d, c, &b->c, &why), "C");
  must(b->d->ops->alloc(b->d, c, &b->first, &why), "C");
  must(b->d->ops->alloc(b->d, 8, &b->differing, &why), "a number");
}

static void set_up(bench *b) {
  gen_number limits[RT_NUMBERS];
  gen_problem p;
  gen_config c;
  must(rt_device_open(b->device, &b->d, &why), "the device");
  must(rt_compiler_open(&b->compiler, &why), "NVRTC");
  rt_numbers(&b->d->info, limits);
  const gen_options o = {.folders = &b->templates, .n_folders = b->templates ? 1 : 0};
  must(gen_open(&o, "sgemm", &b->t, &why), "sgemm");
  must(gen_problem_parse(b->t, b->problem, &p, &why), "the problem");
  must(gen_instance_new(b->t, &p, limits, RT_NUMBERS, &b->g, &why), "the problem");
  must(gen_config_parse(b->t, b->config, &c, &why), "the configuration");
  must(gen_config_check(b->g, &c, &why), "the configuration");
  load_kernels(b);
  load_subject(b, &c);
  allocate(b, &p);
}

static void launch(bench *b, rt_function *f, void **args) {
  const uint32_t grid[3] = {1024, 1, 1}, block[3] = {256, 1, 1};
  must(b->d->ops->launch(b->d, f, grid, block, 0, NULL, args, &why), "a launch");
}

static void fill(bench *b, rt_ptr to, int64_t n, uint32_t seed) {
  launch(b, b->fill, (void *[]){&n, &seed, (void *)&to});
}

static void multiply(bench *b, rt_ptr c) {
  const float one = 1, zero = 0;
  const int64_t ldc = b->m;
  const rt_ptr none = 0;
  const void *args[] = {&b->m,   &b->n, &b->k, &one, &b->a, &b->lda, &b->b,
                        &b->ldb, &zero, &c,    &ldc, &none, &none};
  must(rt_loaded_launch(b->l, NULL, args, &why), "a launch");
}

/* The number of elements that differ from the first launch. */
static uint64_t differing(bench *b) {
  int64_t n = (int64_t)b->m * b->n;
  uint64_t found;
  must(b->d->ops->set(b->d, b->c, 0xff, 4 * (size_t)n, NULL, &why), "poisoning");
  must(b->d->ops->set(b->d, b->differing, 0, 8, NULL, &why), "a number");
  multiply(b, b->c);
  launch(b, b->compare, (void *[]){&n, &b->c, &b->first, &b->differing});
  must(b->d->ops->copy_out(b->d, &found, b->differing, 8, NULL, &why), "a number");
  return found;
}

static double seconds(bench *b) {
  rt_event *from, *to;
  double sec;
  must(b->d->ops->event_new(b->d, &from, &why), "an event");
  must(b->d->ops->event_new(b->d, &to, &why), "an event");
  must(b->d->ops->event_record(b->d, from, NULL, &why), "an event");
  for (int64_t i = 0; i < b->times; i++) {
    multiply(b, b->c);
  }
  must(b->d->ops->event_record(b->d, to, NULL, &why), "an event");
  must(b->d->ops->elapsed(b->d, from, to, &sec, &why), "an event");
  b->d->ops->event_free(b->d, from);
  b->d->ops->event_free(b->d, to);
  return sec / (double)b->times;
}

static int run(bench *b) {
  int64_t launches = 0;
  uint64_t elements = 0;
  fill(b, b->a, (int64_t)b->m * b->k, 1);
  fill(b, b->b, (int64_t)b->k * b->n, 2);
  multiply(b, b->first);
  for (int64_t i = 0; i < b->times; i++) {
    const uint64_t found = differing(b);
    launches += found > 0;
    elements += found;
  }
  printf("%lld of %lld launches differed, in %llu elements; %.2f us each\n", (long long)launches,
         (long long)b->times, (unsigned long long)elements, seconds(b) * 1e6);
  return launches > 0;
}

static void tear_down(bench *b) {
  const rt_ptr all[] = {b->a, b->b, b->c, b->first, b->differing};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    b->d->ops->release(b->d, all[i]);
  }
  rt_loaded_free(b->l);
  gen_instance_free(b->g);
  gen_close(b->t);
  rt_compiler_close(b->compiler);
  b->d->ops->close(b->d);
  arena_clear(&b->memory);
}

static void wrong_usage(const char *argument) {
  fprintf(stderr, "bench_repeats: '%s': see the head of tests/bench/bench_repeats.c\n", argument);
  exit(2);
}

static void parse(bench *b, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (i + 1 == argc) {
      b->problem = argv[i];
    } else if (!strcmp(argv[i], "--device")) {
      b->device = argv[++i];
    } else if (!strcmp(argv[i], "--templates")) {
      b->templates = argv[++i];
    } else if (!strcmp(argv[i], "--config")) {
      b->config = argv[++i];
    } else if (strcmp(argv[i], "--times") || !text_integer(argv[++i], &b->times) || b->times < 1) {
      wrong_usage(argv[i]);
    }
  }
  if (!b->config || !b->problem) {
    wrong_usage("no problem and --config");
  }
}

int main(int argc, char **argv) {
  bench b = {.device = "0", .times = 100};
  parse(&b, argc, argv);
  set_up(&b);
  const int rc = run(&b);
  tear_down(&b);
  return rc;
}
