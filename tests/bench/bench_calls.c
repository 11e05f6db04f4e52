/* bench_calls.c -- calls that bench_unseen has drawn and saved, made by a program as users write it: it
 * includes tuned.h only, and cuBLAS is opened beside libtuned.
 *
 *   bench_calls ROWS.tsv [DEVICE [MOST]]      DEVICE: 0 (default) or emu; MOST: calls of a family
 *
 * Takes the calls of sgemm, gemm, gemm_batched, gemv and dot, with their leading dimensions, increments,
 * factors and addresses, and makes each by its typed call. Both results are compared; then batches of
 * both alternate on one stream, with warm buffers. Prints for each family the geometric mean, the 10th
 * percentile and the worst of cuBLAS's time / ours, the share at least as fast and the wrong results.
 * Without cuBLAS or a GPU the calls are made and not timed. Exit status 1 when a call fails, or a result
 * differs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuned.h"

enum { ROUNDS = 11, PATTERN = 1 << 20, COMPARED = 1 << 15, BUFFERS = 3, ROWS_MOST = 20000 };
static const double BATCH_US = 300;

/* ---- the driver and cuBLAS, by their documentation --------------------------------------------- */

typedef struct cuda {
  int (*init)(unsigned);
  int (*retain)(void **, int);
  int (*set)(void *);
  int (*event_new)(void **, unsigned);
  int (*event_record)(void *, void *);
  int (*event_wait)(void *);
  int (*elapsed)(float *, void *, void *);
  void *from, *to;
} cuda;

typedef struct cublas {
  void *library, *handle;
} cublas;

static bool find(void *library, const char *name, void *entry) {
  void *found = library ? dlsym(library, name) : NULL;
  memcpy(entry, &found, sizeof found);
  return found;
}

static bool open_cuda(cuda *c) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
  return find(library, "cuInit", &c->init) &&
         find(library, "cuDevicePrimaryCtxRetain", &c->retain) &&
         find(library, "cuCtxSetCurrent", &c->set) &&
         find(library, "cuEventCreate", &c->event_new) &&
         find(library, "cuEventRecord", &c->event_record) &&
         find(library, "cuEventSynchronize", &c->event_wait) &&
         find(library, "cuEventElapsedTime", &c->elapsed) && !c->init(0) &&
         !c->retain(&context, 0) && !c->set(context) && !c->event_new(&c->from, 0) &&
         !c->event_new(&c->to, 0);
}

static bool open_cublas(cublas *x) {
  static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                      "/usr/local/cuda/lib64/libcublas.so"};
  enum { EXACT_REDUCTIONS = 16 }; /* cublasMath_t */
  int (*create)(void **), (*set_math)(void *, int);
  for (size_t i = 0; i < sizeof names / sizeof *names && !x->library; i++) {
    x->library = dlopen(names[i], RTLD_NOW);
  }
  return find(x->library, "cublasCreate_v2", &create) &&
         find(x->library, "cublasSetMathMode", &set_math) && !create(&x->handle) &&
         !set_math(x->handle, EXACT_REDUCTIONS);
}

/* ---- a call ---------------------------------------------------------------------------------- */

typedef struct call {
  char ta, tb;
  char dtype[8], ctype[8]; /* of inputs and results */
  int64_t m, n, k, lda, ldb, ldc, stride[BUFFERS], batch;
  double alpha, beta;
  void *at[BUFFERS];
} call;

typedef struct bench bench;

typedef struct routine {
  const char *family;
  const char *buffers[BUFFERS]; /* their names; the last is the result */
  void (*read)(const char *text, call *c);
  void (*count)(const call *c, int64_t n[BUFFERS]); /* elements */
  int (*ours)(bench *b, const call *c, tuned_error *err);
  int (*theirs)(bench *b, const call *c); /* -1: there is no such routine */
} routine;

struct bench {
  tuned_context *ctx;
  cuda cuda;
  cublas cublas;
  bool timed;
  void *memory[BUFFERS]; /* of the call at hand */
  double *ratios;
  size_t n_ratios, n_calls, n_wrong, n_failed;
};

/* The text behind " NAME="; NULL: there is none. */
static const char *value_of(const char *text, const char *name) {
  const size_t n = strlen(name);
  for (const char *p = text; p; p = strchr(p, ' ')) {
    p += *p == ' ';
    if (!strncmp(p, name, n) && (p[n] == '=' || p[n] == '+')) {
      return p + n + 1;
    }
  }
  return NULL;
}

static int64_t whole(const char *text, const char *name, int64_t otherwise) {
  const char *p = value_of(text, name);
  return p ? strtoll(p, NULL, 10) : otherwise;
}

static double real(const char *text, const char *name) {
  const char *p = value_of(text, name);
  return p ? strtod(p, NULL) : 0;
}

static void word(const char *text, const char *name, const char *otherwise, char out[8]) {
  const char *p = value_of(text, name);
  snprintf(out, 8, "%.*s", (int)(p ? strcspn(p, " ") : strlen(otherwise)), p ? p : otherwise);
}

static size_t nbytes_of(const char *dtype) {
  return !strcmp(dtype, "f64") ? 8 : !strcmp(dtype, "f32") ? 4 : 2;
}

/* ---- products -------------------------------------------------------------------------------- */

static int64_t span(int64_t ld, int64_t rows, int64_t columns) {
  return columns ? ld * (columns - 1) + rows : 0;
}

static void read_gemm(const char *text, call *c) {
  word(text, "dtype", "f32", c->dtype);
  word(text, "ctype", c->dtype, c->ctype);
  c->ta = *value_of(text, "ta");
  c->tb = *value_of(text, "tb");
  c->m = whole(text, "m", 0);
  c->n = whole(text, "n", 0);
  c->k = whole(text, "k", 0);
  c->lda = whole(text, "lda", 0);
  c->ldb = whole(text, "ldb", 0);
  c->ldc = whole(text, "ldc", 0);
  c->stride[0] = whole(text, "stride_a", 0);
  c->stride[1] = whole(text, "stride_b", 0);
  c->stride[2] = whole(text, "stride_c", 0);
  c->batch = whole(text, "batch", 1);
}

static void count_gemm(const call *c, int64_t n[BUFFERS]) {
  const int64_t rows[] = {c->ta == 'n' ? c->m : c->k, c->tb == 'n' ? c->k : c->n, c->m};
  const int64_t columns[] = {c->ta == 'n' ? c->k : c->m, c->tb == 'n' ? c->n : c->k, c->n};
  const int64_t ld[] = {c->lda, c->ldb, c->ldc};
  for (int i = 0; i < BUFFERS; i++) {
    n[i] = span(ld[i], rows[i], columns[i]) + llabs((long long)c->stride[i]) * (c->batch - 1);
  }
}

static int our_sgemm(bench *b, const call *c, tuned_error *err) {
  return tuned_sgemm(b->ctx, NULL, c->ta, c->tb, c->m, c->n, c->k, (float)c->alpha, c->at[0],
                     c->lda, c->at[1], c->ldb, (float)c->beta, c->at[2], c->ldc, err);
}

static int our_gemm(bench *b, const call *c, tuned_error *err) {
  return tuned_gemm(b->ctx, NULL, c->ta, c->tb, c->dtype, c->ctype, c->m, c->n, c->k, c->alpha,
                    c->at[0], c->lda, c->at[1], c->ldb, c->beta, c->at[2], c->ldc, err);
}

static int our_gemm_batched(bench *b, const call *c, tuned_error *err) {
  return tuned_gemm_batched(b->ctx, NULL, c->ta, c->tb, c->dtype, c->m, c->n, c->k, c->alpha,
                            c->at[0], c->lda, c->stride[0], c->at[1], c->ldb, c->stride[1], c->beta,
                            c->at[2], c->ldc, c->stride[2], c->batch, err);
}

typedef union factor {
  float narrow;
  double wide;
} factor;

static factor factor_of(const call *c, double v) {
  factor f = {.wide = v};
  if (strcmp(c->dtype, "f64") != 0) {
    f.narrow = (float)v;
  }
  return f;
}

/* cudaDataType */
static int type_of(const char *dtype) {
  enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
  return !strcmp(dtype, "f64")   ? R_64F
         : !strcmp(dtype, "f32") ? R_32F
         : !strcmp(dtype, "f16") ? R_16F
                                 : R_16BF;
}

enum { COMPUTE_32F = 68, COMPUTE_64F = 70, GEMM_DEFAULT = -1 }; /* cublasComputeType_t, ... */

static int their_gemm(bench *b, const call *c) {
  int (*f)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int,
           int, const void *, void *, int, int, int, int);
  const factor alpha = factor_of(c, c->alpha), beta = factor_of(c, c->beta);
  const int type = type_of(c->dtype);
  return find(b->cublas.library, "cublasGemmEx", &f)
             ? f(b->cublas.handle, c->ta == 't', c->tb == 't', (int)c->m, (int)c->n, (int)c->k,
                 &alpha, c->at[0], type, (int)c->lda, c->at[1], type, (int)c->ldb, &beta, c->at[2],
                 type_of(c->ctype), (int)c->ldc,
                 strcmp(c->dtype, "f64") ? COMPUTE_32F : COMPUTE_64F, GEMM_DEFAULT)
             : -1;
}

static int their_gemm_batched(bench *b, const call *c) {
  int (*f)(void *, int, int, int, int, int, const void *, const void *, int, int, long long,
           const void *, int, int, long long, const void *, void *, int, int, long long, int, int,
           int);
  const factor alpha = factor_of(c, c->alpha), beta = factor_of(c, c->beta);
  const int type = type_of(c->dtype);
  return find(b->cublas.library, "cublasGemmStridedBatchedEx", &f)
             ? f(b->cublas.handle, c->ta == 't', c->tb == 't', (int)c->m, (int)c->n, (int)c->k,
                 &alpha, c->at[0], type, (int)c->lda, c->stride[0], c->at[1], type, (int)c->ldb,
                 c->stride[1], &beta, c->at[2], type_of(c->ctype), (int)c->ldc, c->stride[2],
                 (int)c->batch, strcmp(c->dtype, "f64") ? COMPUTE_32F : COMPUTE_64F, GEMM_DEFAULT)
             : -1;
}

static int their_sgemm(bench *b, const call *c) {
  int (*f)(void *, int, int, int, int, int, const float *, const void *, int, const void *, int,
           const float *, void *, int);
  const float alpha = (float)c->alpha, beta = (float)c->beta;
  return find(b->cublas.library, "cublasSgemm_v2", &f)
             ? f(b->cublas.handle, c->ta == 't', c->tb == 't', (int)c->m, (int)c->n, (int)c->k,
                 &alpha, c->at[0], (int)c->lda, c->at[1], (int)c->ldb, &beta, c->at[2], (int)c->ldc)
             : -1;
}

/* ---- vectors: increments are in ldb and ldc -------------------------------------------------- */

static int64_t strided(int64_t n, int64_t inc) {
  return n ? (n - 1) * llabs((long long)inc) + 1 : 0;
}

static void read_gemv(const char *text, call *c) {
  word(text, "dtype", "f32", c->dtype);
  strcpy(c->ctype, c->dtype);
  c->ta = *value_of(text, "trans");
  c->m = whole(text, "m", 0);
  c->n = whole(text, "n", 0);
  c->lda = whole(text, "lda", 0);
  c->ldb = whole(text, "incx", 1);
  c->ldc = whole(text, "incy", 1);
}

static void count_gemv(const call *c, int64_t n[BUFFERS]) {
  n[0] = span(c->lda, c->m, c->n);
  n[1] = strided(c->ta == 'n' ? c->n : c->m, c->ldb);
  n[2] = strided(c->ta == 'n' ? c->m : c->n, c->ldc);
}

static int our_gemv(bench *b, const call *c, tuned_error *err) {
  return tuned_gemv(b->ctx, NULL, c->ta, c->dtype, c->m, c->n, c->alpha, c->at[0], c->lda, c->at[1],
                    c->ldb, c->beta, c->at[2], c->ldc, err);
}

/* "cublasS..." or "cublasD..."; there is none of 16 bits */
static bool find_routine(bench *b, const call *c, const char *single, const char *dual,
                         void *entry) {
  const bool wide = !strcmp(c->dtype, "f64");
  return nbytes_of(c->dtype) > 2 && !strcmp(c->dtype, c->ctype) &&
         find(b->cublas.library, wide ? dual : single, entry);
}

static int their_gemv(bench *b, const call *c) {
  int (*f)(void *, int, int, int, const void *, const void *, int, const void *, int, const void *,
           void *, int);
  const factor alpha = factor_of(c, c->alpha), beta = factor_of(c, c->beta);
  return find_routine(b, c, "cublasSgemv_v2", "cublasDgemv_v2", &f)
             ? f(b->cublas.handle, c->ta == 't', (int)c->m, (int)c->n, &alpha, c->at[0],
                 (int)c->lda, c->at[1], (int)c->ldb, &beta, c->at[2], (int)c->ldc)
             : -1;
}

static void read_dot(const char *text, call *c) {
  word(text, "dtype", "f32", c->dtype);
  word(text, "result_dtype", c->dtype, c->ctype);
  c->n = whole(text, "n", 0);
  c->lda = whole(text, "incx", 1);
  c->ldb = whole(text, "incy", 1);
}

static void count_dot(const call *c, int64_t n[BUFFERS]) {
  n[0] = strided(c->n, c->lda);
  n[1] = strided(c->n, c->ldb);
  n[2] = 1;
}

static int our_dot(bench *b, const call *c, tuned_error *err) {
  return tuned_dot(b->ctx, NULL, c->dtype, c->n, c->at[0], c->lda, c->at[1], c->ldb, c->at[2],
                   c->ctype, err);
}

static int their_dot(bench *b, const call *c) {
  enum { ON_HOST, ON_DEVICE }; /* cublasPointerMode_t */
  int (*f)(void *, int, const void *, int, const void *, int, void *), (*mode)(void *, int);
  if (!find_routine(b, c, "cublasSdot_v2", "cublasDdot_v2", &f) ||
      !find(b->cublas.library, "cublasSetPointerMode_v2", &mode)) {
    return -1;
  }
  mode(b->cublas.handle, ON_DEVICE);
  const int rc =
      f(b->cublas.handle, (int)c->n, c->at[0], (int)c->lda, c->at[1], (int)c->ldb, c->at[2]);
  mode(b->cublas.handle, ON_HOST);
  return rc;
}

static const routine routines[] = {
    {"sgemm", {"A", "B", "C"}, read_gemm, count_gemm, our_sgemm, their_sgemm},
    {"gemm", {"A", "B", "C"}, read_gemm, count_gemm, our_gemm, their_gemm},
    {"gemm_batched", {"A", "B", "C"}, read_gemm, count_gemm, our_gemm_batched, their_gemm_batched},
    {"gemv", {"A", "x", "y"}, read_gemv, count_gemv, our_gemv, their_gemv},
    {"dot", {"x", "y", "result"}, read_dot, count_dot, our_dot, their_dot}};

/* ---- buffers --------------------------------------------------------------------------------- */

static void give_up(const char *what, const char *why) {
  fprintf(stderr, "bench_calls: %s: %s\n", what, why);
  exit(1);
}

static void must(int rc, const char *what, const tuned_error *err) {
  if (rc) {
    give_up(what, err->message);
  }
}

/* -1, -0.5, 0.5 and 1, in an order of random numbers. */
static void pattern(const char *dtype, unsigned char *out) {
  static const unsigned short half[] = {0xbc00, 0xb800, 0x3800, 0x3c00},
                              brain[] = {0xbf80, 0xbf00, 0x3f00, 0x3f80};
  static const double wide[] = {-1, -0.5, 0.5, 1};
  static const float narrow[] = {-1, -0.5f, 0.5f, 1};
  const size_t size = nbytes_of(dtype);
  const void *list = size == 8               ? (const void *)wide
                     : size == 4             ? (const void *)narrow
                     : !strcmp(dtype, "f16") ? (const void *)half
                                             : (const void *)brain;
  unsigned state = 1;
  for (size_t i = 0; i < PATTERN; i++) {
    state = state * 1664525 + 1013904223;
    memcpy(out + i * size, (const char *)list + (state >> 30) * size, size);
  }
}

static void fill(bench *b, void *at, int64_t n, const char *dtype) {
  static unsigned char *bytes;
  static char of[8];
  const size_t size = nbytes_of(dtype);
  tuned_error err;
  bytes = bytes ? bytes : malloc(PATTERN * sizeof(double));
  if (strcmp(of, dtype)) {
    pattern(dtype, bytes);
    strcpy(of, dtype);
  }
  for (int64_t i = 0; i < n; i += PATTERN) {
    const size_t some = (size_t)(n - i < PATTERN ? n - i : PATTERN);
    must(tuned_copy_to_device(b->ctx, (char *)at + (size_t)i * size, bytes, some * size, &err),
         "a buffer", &err);
  }
}

static void place(bench *b, const routine *r, const char *text, call *c) {
  int64_t n[BUFFERS];
  tuned_error err;
  r->count(c, n);
  for (int i = 0; i < BUFFERS; i++) {
    const char *dtype = i == BUFFERS - 1 ? c->ctype : c->dtype;
    const size_t size = nbytes_of(dtype), shift = (size_t)whole(text, r->buffers[i], 0);
    must(tuned_alloc(b->ctx, ((size_t)n[i] + shift) * size, &b->memory[i], &err), "memory", &err);
    c->at[i] = (char *)b->memory[i] + shift * size;
    fill(b, c->at[i], n[i], dtype);
  }
}

static void give_back(bench *b) {
  for (int i = 0; i < BUFFERS; i++) {
    tuned_free(b->ctx, b->memory[i], NULL);
  }
}

/* ---- results --------------------------------------------------------------------------------- */

static double decode(const char *dtype, const void *p) {
  unsigned short bits;
  float narrow;
  double wide;
  memcpy(&bits, p, sizeof bits);
  if (!strcmp(dtype, "f64")) {
    memcpy(&wide, p, sizeof wide);
    return wide;
  }
  if (!strcmp(dtype, "f16")) {
    const int exponent = bits >> 10 & 31, part = bits & 1023;
    const double v = exponent ? ldexp(1024 + part, exponent - 25) : ldexp(part, -24);
    return bits >> 15 ? -v : v;
  }
  const unsigned widened = (unsigned)bits << 16;
  memcpy(&narrow, strcmp(dtype, "f32") ? (const void *)&widened : p, sizeof narrow);
  return (double)narrow;
}

/* The first elements of the result as they are now; returns how many. */
static size_t results(bench *b, const routine *r, const call *c, double *out) {
  static unsigned char bytes[COMPARED * sizeof(double)];
  int64_t n[BUFFERS];
  tuned_error err;
  r->count(c, n);
  const size_t size = nbytes_of(c->ctype),
               some = (size_t)(n[2] < COMPARED ? n[2] : (int64_t)COMPARED);
  must(tuned_copy_to_host(b->ctx, bytes, c->at[2], some * size, &err), "a result", &err);
  for (size_t i = 0; i < some; i++) {
    out[i] = decode(c->ctype, bytes + i * size);
  }
  fill(b, c->at[2], n[2], c->ctype);
  return some;
}

/* In the 2-norm, rounded sums of up to 2^27 numbers. */
static bool agree(const call *c, const double *x, const double *ref, size_t n) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < n; i++) {
    error += (x[i] - ref[i]) * (x[i] - ref[i]);
    norm += ref[i] * ref[i];
  }
  const double most = nbytes_of(c->ctype) == 2 ? 1e-2 : !strcmp(c->dtype, "f64") ? 1e-11 : 1e-4;
  return sqrt(error) <= most * (sqrt(norm) + 1);
}

/* ---- timing ---------------------------------------------------------------------------------- */

static void launch(bench *b, const routine *r, const call *c, bool theirs) {
  tuned_error err;
  if (theirs ? r->theirs(b, c) : r->ours(b, c, &err)) {
    give_up(r->family, theirs ? "cuBLAS refuses" : err.message);
  }
}

static double batch_us(bench *b, const routine *r, const call *c, bool theirs, int n) {
  float ms = 0;
  b->cuda.event_record(b->cuda.from, NULL);
  for (int i = 0; i < n; i++) {
    launch(b, r, c, theirs);
  }
  b->cuda.event_record(b->cuda.to, NULL);
  b->cuda.event_wait(b->cuda.to);
  b->cuda.elapsed(&ms, b->cuda.from, b->cuda.to);
  return 1e3 * (double)ms / n;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double time_both(bench *b, const routine *r, const call *c) {
  double times[2][ROUNDS];
  int n[2];
  for (int side = 0; side < 2; side++) {
    batch_us(b, r, c, side, 2);
    n[side] = (int)(BATCH_US / (batch_us(b, r, c, side, 3) + 1)) + 3;
  }
  for (int i = 0; i < ROUNDS; i++) {
    for (int side = 0; side < 2; side++) {
      times[side][i] = batch_us(b, r, c, side, n[side]);
    }
  }
  qsort(times[0], ROUNDS, sizeof(double), ascending);
  qsort(times[1], ROUNDS, sizeof(double), ascending);
  return times[1][ROUNDS / 2] / times[0][ROUNDS / 2];
}

/* ---- all calls ------------------------------------------------------------------------------- */

static void beside(bench *b, const routine *r, const char *text, const call *c, const double *ours,
                   size_t n) {
  static double theirs[COMPARED];
  const int rc = b->timed ? r->theirs(b, c) : -1;
  if (rc) {
    if (rc > 0) {
      fprintf(stderr, "bench_calls: %s %s: cuBLAS refuses (%d)\n", r->family, text, rc);
    }
    return;
  }
  results(b, r, c, theirs);
  if (!agree(c, ours, theirs, n)) {
    printf("differs: %s %s\n", r->family, text);
    b->n_wrong++;
  }
  b->ratios[b->n_ratios++] = time_both(b, r, c);
}

static void make_call(bench *b, const routine *r, const char *text) {
  static double ours[COMPARED];
  call c = {.batch = 1, .alpha = real(text, "alpha"), .beta = real(text, "beta")};
  tuned_error err;
  r->read(text, &c);
  place(b, r, text, &c);
  b->n_calls++;
  if (r->ours(b, &c, &err)) {
    fprintf(stderr, "bench_calls: %s %s: %s\n", r->family, text, err.message);
    b->n_failed++;
  } else {
    beside(b, r, text, &c, ours, results(b, r, &c, ours));
  }
  tuned_sync(b->ctx, NULL, NULL);
  give_back(b);
}

static void print(bench *b, const routine *r) {
  double sum = 0;
  size_t ahead = 0;
  for (size_t i = 0; i < b->n_ratios; i++) {
    sum += log(b->ratios[i]);
    ahead += b->ratios[i] >= 1;
  }
  printf("%-13s %zu calls, %zu failed, %zu differ", r->family, b->n_calls, b->n_failed, b->n_wrong);
  if (b->n_ratios) {
    qsort(b->ratios, b->n_ratios, sizeof(double), ascending);
    const double n = (double)b->n_ratios;
    printf(
        "; %zu beside cuBLAS: geometric mean %.2f, 10th percentile %.2f, worst %.2f, %.0f %% as fast",
        b->n_ratios, exp(sum / n), b->ratios[b->n_ratios / 10], b->ratios[0],
        100 * (double)ahead / n);
  }
  printf("\n");
  fflush(stdout);
}

/* The column of this number in a line of bench_unseen; ends in a tab. */
static char *column(char *line, int i) {
  for (; line && i; i--) {
    line = strchr(line, '\t');
    line += line != NULL;
  }
  return line;
}

static void run_family(bench *b, const routine *r, FILE *rows, size_t most) {
  enum { CALL = 15, LINE = 8192 };
  static char line[LINE];
  const size_t n = strlen(r->family);
  b->n_calls = b->n_wrong = b->n_failed = b->n_ratios = 0;
  rewind(rows);
  while (b->n_calls < most && fgets(line, sizeof line, rows)) {
    char *text = column(line, CALL);
    if (text && !strncmp(line, r->family, n) && line[n] == '\t') {
      text[strcspn(text, "\t\n")] = 0;
      make_call(b, r, text);
    }
  }
  if (b->n_calls) {
    print(b, r);
  }
}

int main(int argc, char **argv) {
  bench b = {0};
  tuned_error err;
  size_t bad = 0;
  const char *device = argc > 2 ? argv[2] : "0";
  FILE *rows = argc > 1 ? fopen(argv[1], "r") : NULL;
  const long most = argc > 3 ? atol(argv[3]) : ROWS_MOST;
  if (!rows || most < 1) {
    give_up("usage",
            "bench_calls ROWS.tsv [DEVICE [MOST]], rows as bench_unseen --save writes them");
  }
  b.timed = !strncmp(device, "emu", 3) ? false : open_cuda(&b.cuda) && open_cublas(&b.cublas);
  b.ratios = calloc(ROWS_MOST, sizeof *b.ratios);
  const tuned_options o = {.device = device, .wait = 1};
  must(tuned_open(&b.ctx, &o, &err), "tuned_open", &err);
  if (!b.timed) {
    printf("no cuBLAS beside it: calls are made, and not timed\n");
  }
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
    run_family(&b, &routines[i], rows, most < ROWS_MOST ? (size_t)most : (size_t)ROWS_MOST);
    bad += b.n_wrong + b.n_failed;
  }
  tuned_close(b.ctx);
  free(b.ratios);
  fclose(rows);
  return bad ? 1 : 0;
}
