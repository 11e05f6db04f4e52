/* bench_accuracy.c -- how far sgemm's results are from double precision, beside cuBLAS's.
 *
 *   bench_accuracy [--device 0|emu] [--size N] [--accuracy strict|fp32|tf32|bf16] [--vs cublas]
 *
 * The served kernel of N cubes, N a multiple of 4, on three kinds of data: uniform in [-1, 1];
 * normal; and wide, a uniform number times a power of two of up to 40 binades. The reference adds
 * up in double. An error is |c - c'| over the sum of |a * b| of its element, the yardstick of every
 * error bound of a dot product, in units of FP32's 2^-24: its root mean square and its largest. One
 * line a kind of data; exit status 1 when ours has the larger root mean square with --accuracy
 * fp32, which promises not to be worse. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_tools.h"
#include "serve_context.h"
#include "peer.h"

enum { BLOCK = 256, PARTS = 1024, KINDS = 3 };

static const char *const kind_names[KINDS] = {"uniform", "normal", "wide"};

static const char source[] =
    "__device__ unsigned long long mix(unsigned long long z) {\n"
    "  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;\n"
    "  z = (z ^ z >> 27) * 0x94d049bb133111ebull;\n"
    "  return z ^ z >> 31;\n"
    "}\n"
    "__device__ double open_unit(unsigned long long z) { return ((z >> 11) + 0.5) * 0x1p-53; }\n"
    "extern \"C\" __global__ void fill(long long n, int kind, long long seed, float *x) {\n"
    "  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {\n"
    "    const unsigned long long z = mix(seed + i * 0x9e3779b97f4a7c15ull), w = mix(z + 1);\n"
    "    const double u = 2 * open_unit(z) - 1;\n"
    "    if (kind == 1) x[i] = sqrt(-2 * log(open_unit(z))) * cospi(2 * open_unit(w));\n"
    "    else x[i] = kind == 0 ? u : ldexp(u, (int)(w % 41) - 20);\n"
    "  }\n"
    "}\n"
    "// Of every thread's elements: the sum of squared errors, and the largest.\n"
    "extern \"C\" __global__ void judge(int n, const float *a, const float *b, const float *c,\n"
    "                                 double *square, double *most) {\n"
    "  const int own = blockIdx.x * 256 + threadIdx.x;\n"
    "  double sum = 0, largest = 0;\n"
    "  for (long long e = own; e < (long long)n * n; e += gridDim.x * 256ll) {\n"
    "    const int row = e % n, column = e / n;\n"
    "    double exact = 0, size = 0;\n"
    "    for (int k = 0; k < n; k++) {\n"
    "      const double p = (double)a[row + (long long)k * n] * b[k + (long long)column * n];\n"
    "      exact += p;\n"
    "      size += fabs(p);\n"
    "    }\n"
    "    const double x = size > 0 ? fabs(c[e] - exact) / size : fabs(c[e]);\n"
    "    sum += x * x;\n"
    "    largest = x <= largest ? largest : x;  // a NaN stays\n"
    "  }\n"
    "  square[own] = sum;\n"
    "  most[own] = largest;\n"
    "}\n";

typedef struct bench {
  const char *device, *accuracy, *vs;
  int64_t size;
  tuned_context *ctx;
  rt_device *d;
  rt_function *fill, *judge;
  tuned_kernel *ours;
  peer theirs;
  gen_template *t;
  rt_ptr a, b, c, square, most;
} bench;

typedef struct errors {
  double rms, most;
} errors;

static err why;

#define must(rc, what) bench_must(rc, what, why.message)

/* ---- setting up ----------------------------------------------------------------------------- */

static void load_kernels(bench *b) {
  rt_compiler *compiler;
  rt_module *m;
  rt_image image;
  arena a = {0};
  rt_image_init(&image);
  must(rt_compiler_open(&compiler, &why), "NVRTC");
  must(
      rt_compile(compiler, &(rt_source){.text = source, .arch = b->d->info.arch}, &a, &image, &why),
      "compiling");
  const str *bytes = b->d->info.format == RT_PTX ? &image.ptx : &image.cubin;
  must(b->d->ops->module_load(b->d, str_text(bytes), bytes->n, &m, &why), "loading");
  must(b->d->ops->function(b->d, m, "fill", &b->fill, &why), "fill");
  must(b->d->ops->function(b->d, m, "judge", &b->judge, &why), "judge");
  rt_image_clear(&image);
  arena_clear(&a);
  rt_compiler_close(compiler);
}

static void allocate(bench *b) {
  const size_t nbytes = 4 * (size_t)(b->size * b->size);
  rt_ptr *const matrices[] = {&b->a, &b->b, &b->c};
  for (int i = 0; i < 3; i++) {
    must(b->d->ops->alloc(b->d, nbytes, matrices[i], &why), "a matrix");
  }
  must(b->d->ops->alloc(b->d, PARTS * BLOCK * sizeof(double), &b->square, &why), "sums");
  must(b->d->ops->alloc(b->d, PARTS * BLOCK * sizeof(double), &b->most, &why), "sums");
}

static void open_peer(bench *b, const char *problem) {
  const peer_kind *k;
  gen_problem p;
  must(gen_open(&(gen_options){0}, "sgemm", &b->t, &why), "sgemm");
  must(gen_problem_parse(b->t, problem, &p, &why), "the problem");
  must(peer_find(b->vs, b->t, &k, &why), "the peer");
  must(peer_open(k, b->t, &p, b->d, &b->theirs, &why), "the peer");
}

static void set_up(bench *b) {
  tuned_error e = {0};
  serve *s;
  str problem = {0};
  bench_must(tuned_open(&b->ctx, &(tuned_options){.device = b->device, .wait = 1}, &e),
             "tuned_open", e.message);
  must(serve_of(b->ctx, &s, NULL), "the context");
  b->d = s->device;
  str_addf(&problem, "m=%lld n=%lld k=%lld accuracy=%s", (long long)b->size, (long long)b->size,
           (long long)b->size, b->accuracy);
  load_kernels(b);
  allocate(b);
  if (b->vs) {
    open_peer(b, str_text(&problem));
  }
  str kernel = {0};
  str_addf(&kernel, "sgemm %s", str_text(&problem));
  bench_must(tuned_find(b->ctx, str_text(&kernel), &b->ours, &e), "tuned_find", e.message);
  str_clear(&kernel);
  str_clear(&problem);
}

/* ---- running -------------------------------------------------------------------------------- */

static void launch(bench *b, rt_function *f, void **args) {
  const uint32_t grid[3] = {PARTS, 1, 1}, block[3] = {BLOCK, 1, 1};
  must(b->d->ops->launch(b->d, f, grid, block, 0, NULL, args, &why), "a launch");
}

static void fill(bench *b, int kind) {
  const rt_ptr to[] = {b->a, b->b};
  int64_t n = b->size * b->size;
  for (int i = 0; i < 2; i++) {
    int64_t seed = 1000 * kind + i;
    launch(b, b->fill, (void *[]){&n, &kind, &seed, (void *)&to[i]});
  }
}

static errors judge(bench *b) {
  static double square[PARTS * BLOCK], most[PARTS * BLOCK];
  int32_t n = (int32_t)b->size;
  errors e = {0};
  launch(b, b->judge, (void *[]){&n, &b->a, &b->b, &b->c, &b->square, &b->most});
  must(b->d->ops->copy_out(b->d, square, b->square, sizeof square, NULL, &why), "sums");
  must(b->d->ops->copy_out(b->d, most, b->most, sizeof most, NULL, &why), "sums");
  for (size_t i = 0; i < PARTS * BLOCK; i++) {
    e.rms += square[i];
    e.most = most[i] <= e.most ? e.most : most[i];
  }
  e.rms = sqrt(e.rms / ((double)b->size * (double)b->size)) * 0x1p24;
  e.most *= 0x1p24;
  return e;
}

/* The arguments of sgemm in the order of its template. */
static errors run(bench *b, bool ours) {
  tuned_error e = {0};
  const int32_t n = (int32_t)b->size;
  const int64_t ld = b->size;
  const float one = 1, zero = 0;
  const rt_ptr none = 0;
  const void *args[] = {&n, &n, &n, &one, &b->a, &ld, &b->b, &ld, &zero, &b->c, &ld, &none, &none};
  must(b->d->ops->set(b->d, b->c, 0xff, 4 * (size_t)(b->size * b->size), NULL, &why), "poisoning");
  if (ours) {
    bench_must(tuned_launch(b->ours, NULL, args, &e), "our launch", e.message);
  } else {
    must(b->theirs.contender.launch(b->theirs.contender.self, NULL, args, &why), "the peer");
  }
  return judge(b);
}

static int compare(bench *b) {
  int worse = 0;
  printf("sgemm of %lld cubes, accuracy=%s: errors in units of 2^-24 of the sum of |a*b|\n",
         (long long)b->size, b->accuracy);
  for (int kind = 0; kind < KINDS; kind++) {
    fill(b, kind);
    const errors x = run(b, true);
    printf("%-8s ours rms %.3g most %.3g", kind_names[kind], x.rms, x.most);
    if (b->vs) {
      const errors y = run(b, false);
      printf("   %s rms %.3g most %.3g", b->theirs.version, y.rms, y.most);
      worse += !(x.rms <= y.rms);
    }
    printf("\n");
  }
  return !strcmp(b->accuracy, "fp32") && worse;
}

static void parse(bench *b, int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--device")) {
      b->device = argv[i + 1];
    } else if (!strcmp(argv[i], "--accuracy")) {
      b->accuracy = argv[i + 1];
    } else if (!strcmp(argv[i], "--vs")) {
      b->vs = argv[i + 1];
    } else if (strcmp(argv[i], "--size") || !text_integer(argv[i + 1], &b->size) || b->size < 4 ||
               b->size > 16384 || b->size % 4) {
      fprintf(stderr, "bench_accuracy: '%s %s': see the head of tests/bench/bench_accuracy.c\n",
              argv[i], argv[i + 1]);
      exit(2);
    }
  }
}

int main(int argc, char **argv) {
  bench b = {.device = "0", .accuracy = "fp32", .size = 2048};
  parse(&b, argc, argv);
  set_up(&b);
  const int rc = compare(&b);
  peer_close(&b.theirs);
  gen_close(b.t);
  tuned_close(b.ctx);
  return rc;
}
