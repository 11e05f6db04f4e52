/* peer_cublas.c -- cuBLAS. The few entry points are declared here, from the cuBLAS documentation,
 * so that the build needs neither its headers nor the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

enum { ARGS_MOST = 16 };

/* Values of cublasMath_t, cublasComputeType_t, cublasGemmAlgo_t and cudaDataType. */
enum { TF32_MATH = 3, COMPUTE_32F = 68, COMPUTE_64F = 70, GEMM_DEFAULT = -1 };
/* Parts of a split sum are added in the type of the computation, not in that of C: ours are, too.
 * src: cuBLAS documentation, cublasMath_t, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, a flag
 * beside a mode */
enum { EXACT_REDUCTIONS = 16 };
enum { RESULT_ON_DEVICE = 1 }; /* cublasPointerMode_t */
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };

typedef struct cublas cublas;

typedef struct routine {     /* what a family is to cuBLAS */
  const char *family, *type; /* type NULL: the family has one type, f32 */
  const char *symbol;
  int (*call)(cublas *x, const void *const *args);
  const char *args[ARGS_MOST]; /* names of the template's arguments, in the order that `call`
                                * expects */
} routine;

struct cublas {
  void *library, *handle;
  int (*create)(void **);
  int (*destroy)(void *);
  int (*set_stream)(void *, void *);
  int (*set_math)(void *, int);
  int (*set_pointers)(void *, int);
  int (*version)(void *, int *);
  const routine *r;
  void *entry;
  int op[2];            /* of A and of B: 1 is transposed */
  int type, ctype;      /* of A and B, and of C: cudaDataType */
  size_t at[ARGS_MOST]; /* positions among the template's arguments */
  bool wide[ARGS_MOST]; /* a scalar of 64 bits */
};

/* ---- arguments ------------------------------------------------------------------------------- */

static long long whole(const cublas *x, const void *const *args, int i) {
  int32_t narrow;
  int64_t wide;
  memcpy(&narrow, args[x->at[i]], sizeof narrow);
  if (!x->wide[i]) {
    return narrow;
  }
  memcpy(&wide, args[x->at[i]], sizeof wide);
  return wide;
}

static double real(const cublas *x, const void *const *args, int i) {
  float narrow;
  double wide;
  memcpy(&narrow, args[x->at[i]], sizeof narrow);
  if (!x->wide[i]) {
    return narrow;
  }
  memcpy(&wide, args[x->at[i]], sizeof wide);
  return wide;
}

static void *address(const cublas *x, const void *const *args, int i) {
  return (void *)(uintptr_t) * (const rt_ptr *)args[x->at[i]];
}

/* A factor as the routine takes it. */
typedef union factor {
  float narrow;
  double wide;
} factor;

static factor factor_of(const cublas *x, double v) {
  factor f;
  if (x->type == R_64F) {
    f.wide = v;
  } else {
    f.narrow = (float)v;
  }
  return f;
}

#define INT(i) ((int)whole(x, args, i))
#define LONG(i) whole(x, args, i)
#define FACTOR(i) factor_of(x, real(x, args, i))
#define AT(i) address(x, args, i)

/* ---- the routines ---------------------------------------------------------------------------- */

/* Each has the same arguments for f32 and f64. */

static int gemm(cublas *x, const void *const *args) {
  int (*f)(void *, int, int, int, int, int, const void *, const void *, int, const void *, int,
           const void *, void *, int) = NULL;
  *(void **)&f = x->entry;
  const factor alpha = FACTOR(3), beta = FACTOR(8);
  return f(x->handle, x->op[0], x->op[1], INT(0), INT(1), INT(2), &alpha, AT(4), INT(5), AT(6),
           INT(7), &beta, AT(9), INT(10));
}

static int gemm_batched(cublas *x, const void *const *args) {
  int (*f)(void *, int, int, int, int, int, const void *, const void *, int, long long,
           const void *, int, long long, const void *, void *, int, long long, int) = NULL;
  *(void **)&f = x->entry;
  const factor alpha = FACTOR(3), beta = FACTOR(8);
  return f(x->handle, x->op[0], x->op[1], INT(0), INT(1), INT(2), &alpha, AT(4), INT(5), LONG(11),
           AT(6), INT(7), LONG(12), &beta, AT(9), INT(10), LONG(13), INT(14));
}

/* 16-bit elements are accumulated in f32, as ours are. */
static int gemm_ex_of(cublas *x, int m, int n, int k, factor alpha, void *A, int lda, void *B,
                      int ldb, factor beta, void *C, int ldc) {
  int (*f)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int,
           int, const void *, void *, int, int, int, int) = NULL;
  *(void **)&f = x->entry;
  return f(x->handle, x->op[0], x->op[1], m, n, k, &alpha, A, x->type, lda, B, x->type, ldb, &beta,
           C, x->ctype, ldc, x->type == R_64F ? COMPUTE_64F : COMPUTE_32F, GEMM_DEFAULT);
}

static int gemm_ex(cublas *x, const void *const *args) {
  return gemm_ex_of(x, INT(0), INT(1), INT(2), FACTOR(3), AT(4), INT(5), AT(6), INT(7), FACTOR(8),
                    AT(9), INT(10));
}

enum { NO_SUCH_CALL = -1 };

/* cuBLAS has no 16-bit gemv: a product with a matrix of one column, stored without gaps. */
static int gemv_ex(cublas *x, const void *const *args) {
  if (INT(6) != 1 || INT(9) != 1) {
    return NO_SUCH_CALL;
  }
  const int m = INT(0), n = INT(1), rows = x->op[0] ? n : m, depth = x->op[0] ? m : n;
  return gemm_ex_of(x, rows, 1, depth, FACTOR(2), AT(3), INT(4), AT(5), depth, FACTOR(7), AT(8),
                    rows);
}

static int gemv(cublas *x, const void *const *args) {
  int (*f)(void *, int, int, int, const void *, const void *, int, const void *, int, const void *,
           void *, int) = NULL;
  *(void **)&f = x->entry;
  const factor alpha = FACTOR(2), beta = FACTOR(7);
  return f(x->handle, x->op[0], INT(0), INT(1), &alpha, AT(3), INT(4), AT(5), INT(6), &beta, AT(8),
           INT(9));
}

/* Our rows are cuBLAS's columns: y, which cuBLAS sees with `rows` rows, is x transposed. */
static int geam(cublas *x, const void *const *args) {
  int (*f)(void *, int, int, int, int, const void *, const void *, int, const void *, const void *,
           int, void *, int) = NULL;
  *(void **)&f = x->entry;
  const factor one = factor_of(x, 1), zero = factor_of(x, 0);
  return f(x->handle, 1, 0, INT(0), INT(1), &one, AT(2), INT(1), &zero, AT(3), INT(0), AT(3),
           INT(0));
}

/* The result stays on the device. */
static int dot(cublas *x, const void *const *args) {
  int (*f)(void *, int, const void *, int, const void *, int, void *) = NULL;
  *(void **)&f = x->entry;
  return f(x->handle, INT(0), AT(1), INT(2), AT(3), INT(4), AT(5));
}

static int dot_ex(cublas *x, const void *const *args) {
  int (*f)(void *, int, const void *, int, int, const void *, int, int, void *, int, int) = NULL;
  *(void **)&f = x->entry;
  return f(x->handle, INT(0), AT(1), x->type, INT(2), AT(3), x->type, INT(4), AT(5), x->ctype,
           R_32F);
}

#define GEMM "m", "n", "k", "alpha", "A", "lda", "B", "ldb", "beta", "C", "ldc"
#define STRIDES "stride_a", "stride_b", "stride_c", "batch"
#define GEMV "m", "n", "alpha", "A", "lda", "x", "incx", "beta", "y", "incy"
#define DOT "n", "x", "incx", "y", "incy", "result"
static const routine routines[] = {
    {"sgemm", NULL, "cublasSgemm_v2", gemm, {GEMM}},
    {"gemm_batched", "f32", "cublasSgemmStridedBatched", gemm_batched, {GEMM, STRIDES}},
    {"gemm_batched", "f64", "cublasDgemmStridedBatched", gemm_batched, {GEMM, STRIDES}},
    {"gemm", NULL, "cublasGemmEx", gemm_ex, {GEMM}},
    {"gemv", "f32", "cublasSgemv_v2", gemv, {GEMV}},
    {"gemv", "f64", "cublasDgemv_v2", gemv, {GEMV}},
    {"gemv", "f16", "cublasGemmEx", gemv_ex, {GEMV}},
    {"gemv", "bf16", "cublasGemmEx", gemv_ex, {GEMV}},
    {"dot", "f32", "cublasSdot_v2", dot, {DOT}},
    {"dot", "f64", "cublasDdot_v2", dot, {DOT}},
    {"dot", "f16", "cublasDotEx", dot_ex, {DOT}},
    {"dot", "bf16", "cublasDotEx", dot_ex, {DOT}},
    {"transpose", "f32", "cublasSgeam", geam, {"rows", "cols", "x", "y"}},
    {"transpose", "f64", "cublasDgeam", geam, {"rows", "cols", "x", "y"}}};
enum { ROUTINES = sizeof routines / sizeof *routines };

/* ---- which ----------------------------------------------------------------------------------- */

static int find_routine(const gen_template *t, const gen_problem *p, const routine **out, err *e) {
  const char *type = peer_word(t, p, "dtype");
  for (size_t i = 0; i < ROUTINES; i++) {
    const routine *r = &routines[i];
    if (!strcmp(r->family, t->name) && (!type || !r->type || !strcmp(r->type, type))) {
      *out = r;
      return 0;
    }
  }
  return err_set(e, ERR_USAGE, "cuBLAS has no %s of %s", t->name, type);
}

static int check_dot(const gen_template *t, const gen_problem *p, err *e) {
  const char *type = peer_word(t, p, "dtype"), *result = peer_word(t, p, "result_dtype");
  if (strcmp(type, result)) {
    return err_set(e, ERR_USAGE, "cuBLAS has no dot product of %s whose result is %s", type,
                   result);
  }
  return peer_number(t, p, "n", 0) > INT32_MAX
             ? err_set(e, ERR_USAGE, "cuBLAS counts the elements of vectors in 32 bits")
             : 0;
}

/* What cuBLAS's routine cannot do by itself. */
static int check_extras(const routine *r, const gen_template *t, const gen_problem *p, err *e) {
  static const char *const extras[] = {"scale", "bias", "act"};
  for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
    const char *word = peer_word(t, p, extras[i]);
    if (word && strcmp(word, "none")) {
      return err_set(e, ERR_USAGE, "cuBLAS has no %s=%s in this routine", extras[i], word);
    }
  }
  if (!strcmp(t->name, "transpose") && peer_number(t, p, "batch", 1) != 1) {
    return err_set(e, ERR_USAGE, "cuBLAS transposes one matrix a call");
  }
  if (!strcmp(t->name, "dot")) {
    TRY(check_dot(t, p, e));
  }
  return r->call == gemv_ex && peer_number(t, p, "unit", 1) != 1
             ? err_set(e, ERR_USAGE, "cuBLAS has no 16-bit product with a strided vector")
             : 0;
}

static int positions(cublas *x, const gen_template *t, err *e) {
  for (int i = 0; i < ARGS_MOST && x->r->args[i]; i++) {
    TRY(peer_argument(t, x->r->args[i], &x->at[i], e));
    x->wide[i] = strstr(t->args[x->at[i]].type, "64") != NULL;
  }
  return 0;
}

static int data_type(const char *word) {
  return !word || !strcmp(word, "f32") ? R_32F
         : !strcmp(word, "f64")        ? R_64F
         : !strcmp(word, "f16")        ? R_16F
                                       : R_16BF;
}

static int transposed(const gen_template *t, const gen_problem *p, const char *field) {
  const char *word = peer_word(t, p, field);
  return word && !strcmp(word, "t");
}

/* ---- the library ----------------------------------------------------------------------------- */

static const char *const libraries[] = {"libcublas.so.13",
                                        "libcublas.so.12",
                                        "libcublas.so",
                                        "/usr/local/cuda/lib64/libcublas.so.13",
                                        "/usr/local/cuda/lib64/libcublas.so.12",
                                        "/usr/local/cuda/lib64/libcublas.so"};

static int open_library(void **library, err *e) {
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
    if (*library) {
      return 0;
    }
  }
  return err_set(e, ERR_NOTFOUND, "cuBLAS is not on this machine (libcublas.so.13 or .12): %s",
                 dlerror());
}

static int prepare(const gen_template *t, const gen_problem *p, size_t n, const rt_info *info,
                   err *e) {
  void *library;
  (void)t, (void)p, (void)n, (void)info;
  TRY(open_library(&library, e));
  dlclose(library);
  return 0;
}

static int load(cublas *x, err *e) {
  TRY(open_library(&x->library, e));
  const peer_symbol symbols[] = {{"cublasCreate_v2", &x->create},
                                 {"cublasDestroy_v2", &x->destroy},
                                 {"cublasSetStream_v2", &x->set_stream},
                                 {"cublasSetMathMode", &x->set_math},
                                 {"cublasSetPointerMode_v2", &x->set_pointers},
                                 {"cublasGetVersion_v2", &x->version}};
  return peer_symbols(x->library, "cuBLAS", symbols, sizeof symbols / sizeof *symbols, e);
}

static int turn(void *self, const gen_template *t, const gen_problem *p, err *e) {
  cublas *x = self;
  TRY(find_routine(t, p, &x->r, e));
  TRY(check_extras(x->r, t, p, e));
  TRY(positions(x, t, e));
  x->op[0] = transposed(t, p, "ta trans");
  x->op[1] = transposed(t, p, "tb");
  x->type = data_type(peer_word(t, p, "dtype"));
  const char *ctype = peer_word(t, p, "ctype result_dtype");
  x->ctype = ctype ? data_type(ctype) : x->type;
  return peer_symbols(x->library, "cuBLAS", &(peer_symbol){x->r->symbol, &x->entry}, 1, e);
}

static int launch(void *self, rt_stream s, const void *const *args, err *e) {
  cublas *x = self;
  x->set_stream(x->handle, s);
  const int rc = x->r->call(x, args);
  if (rc == NO_SUCH_CALL) {
    return err_set(e, ERR_USAGE, "cuBLAS has no such 16-bit product");
  }
  return rc ? err_set(e, ERR_LAUNCH, "%s failed with status %d", x->r->symbol, rc) : 0;
}

static void close_(void *self) {
  cublas *x = self;
  if (x->handle) {
    x->destroy(x->handle);
  }
  if (x->library) {
    dlclose(x->library);
  }
  free(x);
}

static int start(cublas *x, bool tf32, peer *out, err *e) {
  int number = 0;
  if (x->create(&x->handle)) {
    x->handle = NULL;
    return err_set(e, ERR_DEVICE, "cublasCreate failed");
  }
  if (x->set_math(x->handle, (tf32 ? TF32_MATH : 0) | EXACT_REDUCTIONS)) {
    return err_set(e, ERR_DEVICE, "cuBLAS does not support this math mode%s", tf32 ? ", TF32" : "");
  }
  if ((x->r->call == dot || x->r->call == dot_ex) && x->set_pointers(x->handle, RESULT_ON_DEVICE)) {
    return err_set(e, ERR_DEVICE, "cuBLAS does not keep results on the device");
  }
  x->version(x->handle, &number);
  snprintf(out->version, sizeof out->version, "cuBLAS %d.%d.%d%s", number / 10000,
           number / 100 % 100, number % 100, tf32 ? " TF32" : "");
  return 0;
}

static int open_cublas(const gen_template *t, const gen_problem *p, bool tf32, peer *out, err *e) {
  cublas *x = calloc(1, sizeof *x);
  TRY(x ? 0 : err_nomem(e));
  /* TF32 keeps 10 bits of each factor's fraction where f32 keeps 23. */
  *out = (peer){.self = x,
                .close = close_,
                .loosest = tf32 ? 1 << 14 : 16,
                .turn = turn,
                .contender = {.launch = launch, .self = x}};
  TRY(find_routine(t, p, &x->r, e)); /* an unsupported problem needs no library */
  TRY(check_extras(x->r, t, p, e));
  TRY(load(x, e));
  TRY(turn(x, t, p, e));
  return start(x, tf32, out, e);
}

static int open_f32(const gen_template *t, const gen_problem *p, rt_device *d, peer *out, err *e) {
  (void)d;
  return open_cublas(t, p, false, out, e);
}

static int open_tf32(const gen_template *t, const gen_problem *p, rt_device *d, peer *out, err *e) {
  (void)d;
  return open_cublas(t, p, true, out, e);
}

static const char *const families[] = {"sgemm",     "gemm", "gemm_batched", "gemv", "dot",
                                       "transpose", NULL};
const peer_kind peer_cublas = {.name = "cublas",
                               .brief = "cuBLAS",
                               .families = families,
                               .prepare = prepare,
                               .open = open_f32};
static const char *const tf32_families[] = {"sgemm", "gemm_batched", NULL};
const peer_kind peer_cublas_tf32 = {.name = "cublas-tf32",
                                    .brief = "cuBLAS, allowed to round factors to TF32",
                                    .families = tf32_families,
                                    .prepare = prepare,
                                    .open = open_tf32};
