/* peer_cusparse.c -- cuSPARSE's product of a sparse matrix and a vector, by the algorithm and format that
 * is fastest for the matrix at hand. What is needed of it is declared here, from cuSPARSE's
 * documentation, so that the build needs neither its headers nor the library.
 *
 * The first launch times them all. Conversions, workspace and cusparseSpMV_preprocess come once for
 * each set of buffers, in a launch that is not timed where there are few sets. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "peer.h"
#include "peer_sell.h"

enum { INDEX_32I = 2, INDEX_64I = 3 }; /* cusparseIndexType_t */
enum { R_32F = 0, R_64F = 1 };         /* cudaDataType */
enum { AS_IT_IS = 0 };                 /* cusparseOperation_t */
enum { FROM_ZERO = 0 };                /* cusparseIndexBase_t */
enum { TRIALS = 3, SLICE = 32 };

typedef enum form { CSR, COO, SELL } form;

typedef struct way {
  form form;
  int algorithm; /* cusparseSpMVAlg_t */
} way;
static const way ways[] = {{CSR, 2}, {CSR, 3}, {COO, 1}, {COO, 4}, {SELL, 5}};
enum { WAYS = sizeof ways / sizeof *ways };

enum { ALPHA, PTR, ROW, IDX, VAL, X, BETA, Y, ARGS };
static const char *const names[ARGS] = {"alpha", "ptr", "row", "idx", "val", "x", "beta", "y"};

typedef struct ready { /* a way, for one set of buffers */
  rt_ptr val;
  void *matrix, *x, *y;
  rt_ptr workspace, rows;
  peer_sell sell;
} ready;

typedef struct cusparse {
  void *library, *handle;
  int (*create)(void **), (*destroy)(void *), (*set_stream)(void *, void *);
  int (*version)(void *, int *);
  int (*csr)(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int);
  int (*coo)(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int);
  int (*sell)(void **, int64_t, int64_t, int64_t, int64_t, int64_t, void *, void *, void *, int,
              int, int, int);
  int (*matrix_free)(void *), (*vector_new)(void **, int64_t, void *, int), (*vector_free)(void *);
  int (*vector_set)(void *, void *);
  int (*expand)(void *, const int *, int, int, int *, int);
  int (*nbytes)(void *, int, const void *, void *, void *, const void *, void *, int, int,
                size_t *);
  int (*preprocess)(void *, int, const void *, void *, void *, const void *, void *, int, int,
                    void *);
  int (*multiply)(void *, int, const void *, void *, void *, const void *, void *, int, int,
                  void *);
  rt_device *d;
  rt_event *from, *to;
  rt_stream stream;
  int64_t rows, cols, nnz;
  int type, ptype;
  bool is_coo;
  size_t at[ARGS]; /* positions among the template's arguments */
  int way;         /* that is fastest; -1: not known yet */
  ready *sets;
  size_t n_sets, cap_sets;
} cusparse;

/* ---- the library ----------------------------------------------------------------------------- */

static const char *const libraries[] = {"libcusparse.so.12", "libcusparse.so",
                                        "/usr/local/cuda/lib64/libcusparse.so.12",
                                        "/usr/local/cuda/lib/libcusparse.so.12"};

static int open_library(void **library, err *e) {
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
    if (*library) {
      return 0;
    }
  }
  return err_set(e, ERR_NOTFOUND, "cuSPARSE is not on this machine (libcusparse.so.12): %s",
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

static int load(cusparse *x, err *e) {
  const peer_symbol symbols[] = {{"cusparseCreate", &x->create},
                                 {"cusparseDestroy", &x->destroy},
                                 {"cusparseSetStream", &x->set_stream},
                                 {"cusparseGetVersion", &x->version},
                                 {"cusparseCreateCsr", &x->csr},
                                 {"cusparseCreateCoo", &x->coo},
                                 {"cusparseCreateSlicedEll", &x->sell},
                                 {"cusparseDestroySpMat", &x->matrix_free},
                                 {"cusparseCreateDnVec", &x->vector_new},
                                 {"cusparseDestroyDnVec", &x->vector_free},
                                 {"cusparseDnVecSetValues", &x->vector_set},
                                 {"cusparseXcsr2coo", &x->expand},
                                 {"cusparseSpMV_bufferSize", &x->nbytes},
                                 {"cusparseSpMV_preprocess", &x->preprocess},
                                 {"cusparseSpMV", &x->multiply}};
  TRY(open_library(&x->library, e));
  return peer_symbols(x->library, "cuSPARSE", symbols, sizeof symbols / sizeof *symbols, e);
}

/* A failure here is a problem that cuSPARSE does not support. */
static int ask(int status, const char *what, err *e) {
  return status ? err_set(e, ERR_USAGE, "cuSPARSE refuses the problem: %s gives status %d", what,
                          status)
                : 0;
}

/* ---- a way, for one set of buffers ------------------------------------------------------------ */

typedef union factor { /* as the type of the computation has it */
  float narrow;
  double wide;
} factor;

static factor factor_of(const cusparse *x, const void *const *args, int i) {
  double v;
  memcpy(&v, args[x->at[i]], sizeof v);
  factor f = {.wide = v};
  if (x->type == R_32F) {
    f.narrow = (float)v;
  }
  return f;
}

static rt_ptr address(const cusparse *x, const void *const *args, int i) {
  return *(const rt_ptr *)args[x->at[i]];
}

static void *pointer(rt_ptr p) {
  return (void *)(uintptr_t)p;
}

#define AT(i) pointer(address(x, args, i))

static void clear(cusparse *x, ready *r) {
  if (r->matrix) {
    x->matrix_free(r->matrix);
  }
  if (r->x) {
    x->vector_free(r->x);
  }
  if (r->y) {
    x->vector_free(r->y);
  }
  x->d->ops->release(x->d, r->workspace);
  x->d->ops->release(x->d, r->rows);
  peer_sell_free(x->d, &r->sell);
  *r = (ready){0};
}

static int describe_coo(cusparse *x, ready *r, const void *const *args, err *e) {
  void *rows = AT(ROW);
  if (x->ptype != INDEX_32I) {
    return err_set(e, ERR_USAGE, "cuSPARSE has no COO with rows of 64 bits and columns of 32");
  }
  if (!x->is_coo) {
    TRY(x->d->ops->alloc(x->d, (size_t)x->nnz * sizeof(int32_t), &r->rows, e));
    rows = pointer(r->rows);
    TRY(ask(x->expand(x->handle, AT(PTR), (int)x->nnz, (int)x->rows, rows, FROM_ZERO),
            "cusparseXcsr2coo", e));
  }
  return ask(x->coo(&r->matrix, x->rows, x->cols, x->nnz, rows, AT(IDX), AT(VAL), INDEX_32I,
                    FROM_ZERO, x->type),
             "cusparseCreateCoo", e);
}

static int describe_sell(cusparse *x, ready *r, const void *const *args, err *e) {
  const peer_csr csr = {.rows = x->rows,
                        .nnz = x->nnz,
                        .ptr = address(x, args, PTR),
                        .idx = address(x, args, IDX),
                        .val = address(x, args, VAL),
                        .ptr_nbytes = x->ptype == INDEX_64I ? 8 : 4,
                        .val_nbytes = x->type == R_64F ? 8 : 4};
  if (x->n_sets) {
    TRY(peer_sell_copy(x->d, &x->sets[0].sell, &r->sell, e));
  } else {
    TRY(peer_sell_new(x->d, &csr, SLICE, &r->sell, e));
  }
  return ask(x->sell(&r->matrix, x->rows, x->cols, x->nnz, (int64_t)r->sell.padded, SLICE,
                     pointer(r->sell.offsets), pointer(r->sell.columns), pointer(r->sell.values),
                     INDEX_32I, INDEX_32I, FROM_ZERO, x->type),
             "cusparseCreateSlicedEll", e);
}

static int describe(cusparse *x, form f, ready *r, const void *const *args, err *e) {
  if (f != COO && x->is_coo) {
    return err_set(e, ERR_USAGE, "the problem's matrix has no compressed rows");
  }
  switch (f) {
  case COO: return describe_coo(x, r, args, e);
  case SELL: return describe_sell(x, r, args, e);
  default:
    return ask(x->csr(&r->matrix, x->rows, x->cols, x->nnz, AT(PTR), AT(IDX), AT(VAL), x->ptype,
                      INDEX_32I, FROM_ZERO, x->type),
               "cusparseCreateCsr", e);
  }
}

static int make_ready(cusparse *x, const way *w, const void *const *args, ready *r, err *e) {
  const factor alpha = factor_of(x, args, ALPHA), beta = factor_of(x, args, BETA);
  size_t nbytes = 0;
  TRY(describe(x, w->form, r, args, e));
  TRY(ask(x->vector_new(&r->x, x->cols, AT(X), x->type), "cusparseCreateDnVec", e));
  TRY(ask(x->vector_new(&r->y, x->rows, AT(Y), x->type), "cusparseCreateDnVec", e));
  TRY(ask(x->nbytes(x->handle, AS_IT_IS, &alpha, r->matrix, r->x, &beta, r->y, x->type,
                    w->algorithm, &nbytes),
          "cusparseSpMV_bufferSize", e));
  TRY(nbytes ? x->d->ops->alloc(x->d, nbytes, &r->workspace, e) : 0);
  r->val = address(x, args, VAL);
  return ask(x->preprocess(x->handle, AS_IT_IS, &alpha, r->matrix, r->x, &beta, r->y, x->type,
                           w->algorithm, pointer(r->workspace)),
             "cusparseSpMV_preprocess", e);
}

static int multiply(cusparse *x, const way *w, const ready *r, rt_ptr y, const void *const *args,
                    err *e) {
  const factor alpha = factor_of(x, args, ALPHA), beta = factor_of(x, args, BETA);
  x->vector_set(r->x, AT(X));
  x->vector_set(r->y, pointer(y));
  const int rc = x->multiply(x->handle, AS_IT_IS, &alpha, r->matrix, r->x, &beta, r->y, x->type,
                             w->algorithm, pointer(r->workspace));
  return rc ? err_set(e, ERR_LAUNCH, "cusparseSpMV failed with status %d", rc) : 0;
}

/* ---- the fastest ------------------------------------------------------------------------------ */

/* Seconds of a way, on a y of its own. */
static int time_ready(cusparse *x, const way *w, const ready *r, rt_ptr y, rt_stream s,
                      const void *const *args, double *sec, err *e) {
  TRY(multiply(x, w, r, y, args, e));
  TRY(x->d->ops->event_record(x->d, x->from, s, e));
  for (int i = 0; i < TRIALS; i++) {
    TRY(multiply(x, w, r, y, args, e));
  }
  TRY(x->d->ops->event_record(x->d, x->to, s, e));
  return x->d->ops->elapsed(x->d, x->from, x->to, sec, e);
}

static int time_way(cusparse *x, const way *w, rt_ptr y, rt_stream s, const void *const *args,
                    double *sec, err *e) {
  ready r = {0};
  int rc = make_ready(x, w, args, &r, e);
  rc = rc ? rc : time_ready(x, w, &r, y, s, args, sec, e);
  clear(x, &r);
  return rc;
}

static int choose(cusparse *x, rt_stream s, const void *const *args, err *e) {
  double best = 0, sec = 0;
  rt_ptr y;
  err why = {0};
  TRY(x->d->ops->alloc(x->d, (size_t)x->rows * (x->type == R_64F ? 8 : 4), &y, e));
  for (int i = 0; i < WAYS; i++) {
    err_clear(&why);
    if (!time_way(x, &ways[i], y, s, args, &sec, &why) && (x->way < 0 || sec < best)) {
      x->way = i;
      best = sec;
    }
  }
  x->d->ops->release(x->d, y);
  return x->way < 0 ? err_set(e, ERR_USAGE, "%s", why.message) : 0;
}

/* ---- a peer ---------------------------------------------------------------------------------- */

static int find(cusparse *x, const void *const *args, const ready **out, err *e) {
  const rt_ptr val = address(x, args, VAL);
  for (size_t i = 0; i < x->n_sets; i++) {
    if (x->sets[i].val == val) {
      *out = &x->sets[i];
      return 0;
    }
  }
  if (!array_reserve(&x->sets, x->n_sets + 1, &x->cap_sets, sizeof *x->sets)) {
    return err_nomem(e);
  }
  ready r = {0};
  int rc = make_ready(x, &ways[x->way], args, &r, e);
  if (rc) {
    clear(x, &r);
    return rc;
  }
  x->sets[x->n_sets] = r;
  *out = &x->sets[x->n_sets++];
  return 0;
}

static int launch(void *self, rt_stream s, const void *const *args, err *e) {
  cusparse *x = self;
  const ready *r = NULL;
  if (s != x->stream) { /* each call of it takes the host's time */
    x->set_stream(x->handle, s);
    x->stream = s;
  }
  TRY(x->way < 0 ? choose(x, s, args, e) : 0);
  TRY(find(x, args, &r, e));
  return multiply(x, &ways[x->way], r, address(x, args, Y), args, e);
}

static void forget(cusparse *x) {
  while (x->n_sets) {
    clear(x, &x->sets[--x->n_sets]);
  }
  x->way = -1;
}

static void close_(void *self) {
  cusparse *x = self;
  forget(x);
  free(x->sets);
  if (x->handle) {
    x->destroy(x->handle);
  }
  x->d->ops->event_free(x->d, x->from);
  x->d->ops->event_free(x->d, x->to);
  if (x->library) {
    dlclose(x->library);
  }
  free(x);
}

static bool is_word(const gen_template *t, const gen_problem *p, const char *field,
                    const char *word) {
  const char *v = peer_word(t, p, field);
  return v && !strcmp(v, word);
}

static int turn(void *self, const gen_template *t, const gen_problem *p, err *e) {
  cusparse *x = self;
  forget(x);
  if (!is_word(t, p, "sums", "same")) {
    return err_set(e, ERR_USAGE, "cuSPARSE adds up in the type of the values");
  }
  for (int i = 0; i < ARGS; i++) {
    TRY(peer_argument(t, names[i], &x->at[i], e));
  }
  x->rows = peer_number(t, p, "rows", 0);
  x->cols = peer_number(t, p, "cols", 0);
  x->nnz = peer_number(t, p, "nnz", 0);
  x->is_coo = is_word(t, p, "format", "coo");
  x->type = is_word(t, p, "dtype", "f64") ? R_64F : R_32F;
  x->ptype = is_word(t, p, "ptype", "i64") ? INDEX_64I : INDEX_32I;
  return 0;
}

static int start(cusparse *x, err *e) {
  TRY(load(x, e));
  TRY(x->d->ops->event_new(x->d, &x->from, e));
  TRY(x->d->ops->event_new(x->d, &x->to, e));
  if (x->create(&x->handle)) {
    x->handle = NULL;
    return err_set(e, ERR_DEVICE, "cusparseCreate failed");
  }
  return 0;
}

static int open_cusparse(const gen_template *t, const gen_problem *p, rt_device *d, peer *out,
                         err *e) {
  cusparse *x = calloc(1, sizeof *x);
  int number = 0;
  TRY(x ? 0 : err_nomem(e));
  x->d = d;
  x->way = -1;
  *out = (peer){.self = x,
                .close = close_,
                .loosest = 16,
                .turn = turn,
                .contender = {.launch = launch, .self = x}};
  TRY(turn(x, t, p, e));
  TRY(start(x, e));
  x->version(x->handle, &number);
  snprintf(out->version, sizeof out->version, "cuSPARSE %d.%d.%d", number / 1000, number / 100 % 10,
           number % 100);
  return 0;
}

static const char *const families[] = {"spmv", NULL};
const peer_kind peer_cusparse = {
    .name = "cusparse",
    .brief = "cusparseSpMV, the fastest of its algorithms for CSR, COO and sliced ELL",
    .families = families,
    .prepare = prepare,
    .open = open_cusparse};
