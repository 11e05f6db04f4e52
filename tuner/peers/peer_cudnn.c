/* peer_cudnn.c -- cuDNN's convolutions: one image, one channel in and out, and the fastest algorithm
 * that cuDNN finds for the problem. What is needed of it is declared here, from cuDNN's
 * documentation, so that the build needs neither its headers nor the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

enum { FLOAT = 0, DOUBLE = 1 };          /* cudnnDataType_t */
enum { DEFAULT_MATH = 0, FMA_MATH = 3 }; /* cudnnMathType_t; the default allows TF32 */
enum { CROSS_CORRELATION = 1 };          /* cudnnConvolutionMode_t: the filter is not turned */
enum { AXES = 3, RANK = AXES + 2, ALGORITHMS = 16 };

typedef struct found { /* cudnnConvolutionFwdAlgoPerf_t */
  int algorithm, status;
  float msec;
  size_t nbytes;
  int determinism, math, reserved[3];
} found;

typedef enum side { X, F, Y, SIDES } side;

typedef struct shape { /* of a tensor; a filter has no strides */
  int dims[RANK], strides[RANK];
} shape;

typedef struct cudnn {
  void *library, *handle, *tensor[SIDES], *convolution;
  int (*create)(void **), (*destroy)(void *), (*set_stream)(void *, void *);
  size_t (*version)(void);
  int (*tensor_new)(void **), (*tensor_free)(void *);
  int (*tensor_set)(void *, int, int, const int *, const int *);
  int (*filter_new)(void **), (*filter_free)(void *);
  int (*filter_set)(void *, int, int, int, const int *);
  int (*convolution_new)(void **), (*convolution_free)(void *);
  int (*convolution_set)(void *, int, const int *, const int *, const int *, int, int);
  int (*math_set)(void *, int);
  int (*find)(void *, void *, void *, void *, void *, int, int *, found *);
  int (*nbytes)(void *, void *, void *, void *, void *, int, size_t *);
  int (*forward)(void *, const void *, void *, const void *, void *, const void *, void *, int,
                 void *, size_t, const void *, void *, void *);
  rt_device *d;
  bool tf32;
  int type, rank; /* rank: of the tensors, 4 or 5 */
  int axes, pad[AXES];
  shape shapes[SIDES];
  size_t at[SIDES], pitch_at[SIDES]; /* positions among the template's arguments */
  bool pitched;
  int algorithm;
  size_t workspace_nbytes;
  rt_ptr workspace;
} cudnn;

/* ---- the problem ----------------------------------------------------------------------------- */

static const char *const lengths[AXES] = {"nz", "ny", "nx"}, *const radii[AXES] = {"rz", "ry",
                                                                                   "rx"};

/* Tensors have two axes at least: a line is an image of one row. */
static void lay_out(shape *s, const int64_t *n, int rank, int64_t row) {
  for (int i = 0; i < rank; i++) {
    s->dims[i] = i < 2 ? 1 : (int)n[i - 2 + RANK - rank];
  }
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    s->strides[i] = (int)stride;
    stride *= i == rank - 1 ? row : s->dims[i];
  }
}

static bool is_word(const gen_template *t, const gen_problem *p, const char *field,
                    const char *word) {
  const char *v = peer_word(t, p, field);
  return v && !strcmp(v, word);
}

static int check_problem(const gen_template *t, const gen_problem *p, err *e) {
  const char *border = peer_word(t, p, "border"), *type = peer_word(t, p, "dtype");
  if (border && strcmp(border, "zero") && strcmp(border, "valid")) {
    return err_set(e, ERR_USAGE, "cuDNN knows border=zero and valid, not %s", border);
  }
  if (is_word(t, p, "rank", "separable")) {
    return err_set(e, ERR_USAGE, "cuDNN has no separable filters");
  }
  if (is_word(t, p, "taps", "host")) {
    return err_set(e, ERR_USAGE, "cuDNN reads filters from the device's memory: taps=device");
  }
  if (!strcmp(type, "f16") || !is_word(t, p, "ftype", type)) {
    return err_set(e, ERR_USAGE, "cuDNN has no convolution of %s with a filter of %s", type,
                   peer_word(t, p, "ftype"));
  }
  return 0;
}

/* cuDNN counts in 32 bits. */
static int measure(cudnn *x, const gen_template *t, const gen_problem *p, err *e) {
  int64_t n[SIDES][AXES], elements = 1;
  const bool valid = is_word(t, p, "border", "valid");
  x->rank = gen_field_find(t, "nz", 2) ? RANK : RANK - 1;
  x->axes = x->rank - 2;
  for (int i = 0; i < AXES; i++) {
    const int64_t r = peer_number(t, p, radii[i], 0);
    n[X][i] = peer_number(t, p, lengths[i], 1);
    n[F][i] = 2 * r + 1;
    n[Y][i] = valid ? n[X][i] - 2 * r : n[X][i];
    if (n[X][i] < 1 || n[Y][i] < 1) {
      return err_set(e, ERR_USAGE, "cuDNN has no empty convolutions");
    }
    elements *= i == AXES - 1 ? n[X][i] + 8 : n[X][i];
    if (elements > INT_MAX) {
      return err_set(e, ERR_USAGE, "cuDNN counts elements in 32 bits");
    }
    if (i >= AXES - x->axes) {
      x->pad[i - (AXES - x->axes)] = valid ? 0 : (int)r;
    }
  }
  const int64_t align = peer_number(t, p, "align", 1);
  for (int s = X; s < SIDES; s++) {
    const int64_t row = n[s][AXES - 1], round = x->pitched && s != F ? align : 1;
    lay_out(&x->shapes[s], n[s], x->rank, (row + round - 1) / round * round);
  }
  return 0;
}

static int positions(cudnn *x, const gen_template *t, err *e) {
  TRY(peer_argument(t, "x", &x->at[X], e));
  TRY(peer_argument(t, "f", &x->at[F], e));
  TRY(peer_argument(t, "y", &x->at[Y], e));
  x->pitched = gen_arg_find(t, "ldx") != NULL;
  if (x->pitched) {
    TRY(peer_argument(t, "ldx", &x->pitch_at[X], e));
    TRY(peer_argument(t, "ldy", &x->pitch_at[Y], e));
  }
  return 0;
}

/* ---- the library ----------------------------------------------------------------------------- */

static const char *const libraries[] = {"libcudnn.so.9", "libcudnn.so",
                                        "/usr/local/cuda/lib64/libcudnn.so.9",
                                        "/usr/local/cuda/lib/libcudnn.so.9"};

static int open_library(void **library, err *e) {
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
    if (*library) {
      return 0;
    }
  }
  return err_set(e, ERR_NOTFOUND, "cuDNN is not on this machine (libcudnn.so.9): %s", dlerror());
}

static int prepare(const gen_template *t, const gen_problem *p, size_t n, const rt_info *info,
                   err *e) {
  void *library;
  (void)t, (void)p, (void)n, (void)info;
  TRY(open_library(&library, e));
  dlclose(library);
  return 0;
}

static int load(cudnn *x, err *e) {
  const peer_symbol symbols[] = {{"cudnnCreate", &x->create},
                                 {"cudnnDestroy", &x->destroy},
                                 {"cudnnSetStream", &x->set_stream},
                                 {"cudnnGetVersion", &x->version},
                                 {"cudnnCreateTensorDescriptor", &x->tensor_new},
                                 {"cudnnDestroyTensorDescriptor", &x->tensor_free},
                                 {"cudnnSetTensorNdDescriptor", &x->tensor_set},
                                 {"cudnnCreateFilterDescriptor", &x->filter_new},
                                 {"cudnnDestroyFilterDescriptor", &x->filter_free},
                                 {"cudnnSetFilterNdDescriptor", &x->filter_set},
                                 {"cudnnCreateConvolutionDescriptor", &x->convolution_new},
                                 {"cudnnDestroyConvolutionDescriptor", &x->convolution_free},
                                 {"cudnnSetConvolutionNdDescriptor", &x->convolution_set},
                                 {"cudnnSetConvolutionMathType", &x->math_set},
                                 {"cudnnFindConvolutionForwardAlgorithm", &x->find},
                                 {"cudnnGetConvolutionForwardWorkspaceSize", &x->nbytes},
                                 {"cudnnConvolutionForward", &x->forward}};
  TRY(open_library(&x->library, e));
  return peer_symbols(x->library, "cuDNN", symbols, sizeof symbols / sizeof *symbols, e);
}

/* A failure here is a problem that cuDNN does not support. */
static int ask(int status, const char *what, err *e) {
  return status
             ? err_set(e, ERR_USAGE, "cuDNN refuses the problem: %s gives status %d", what, status)
             : 0;
}

static int create(cudnn *x, err *e) {
  if (x->create(&x->handle)) {
    x->handle = NULL;
    return err_set(e, ERR_DEVICE, "cudnnCreate failed");
  }
  TRY(ask(x->tensor_new(&x->tensor[X]), "cudnnCreateTensorDescriptor", e));
  TRY(ask(x->tensor_new(&x->tensor[Y]), "cudnnCreateTensorDescriptor", e));
  TRY(ask(x->filter_new(&x->tensor[F]), "cudnnCreateFilterDescriptor", e));
  return ask(x->convolution_new(&x->convolution), "cudnnCreateConvolutionDescriptor", e);
}

static int describe(cudnn *x, err *e) {
  static const int ones[AXES] = {1, 1, 1};
  for (int s = X; s < SIDES; s += Y - X) {
    TRY(ask(x->tensor_set(x->tensor[s], x->type, x->rank, x->shapes[s].dims, x->shapes[s].strides),
            "cudnnSetTensorNdDescriptor", e));
  }
  TRY(ask(x->filter_set(x->tensor[F], x->type, 0, x->rank, x->shapes[F].dims),
          "cudnnSetFilterNdDescriptor", e));
  TRY(ask(
      x->convolution_set(x->convolution, x->axes, x->pad, ones, ones, CROSS_CORRELATION, x->type),
      "cudnnSetConvolutionNdDescriptor", e));
  return ask(x->math_set(x->convolution, x->tf32 ? DEFAULT_MATH : FMA_MATH),
             "cudnnSetConvolutionMathType", e);
}

/* The fastest comes first. Those that round to TF32 are left out unless allowed. */
static int choose(cudnn *x, err *e) {
  found list[ALGORITHMS] = {{0}};
  int n = 0;
  TRY(ask(x->find(x->handle, x->tensor[X], x->tensor[F], x->convolution, x->tensor[Y], ALGORITHMS,
                  &n, list),
          "cudnnFindConvolutionForwardAlgorithm", e));
  for (int i = 0; i < n; i++) {
    if (!list[i].status && (x->tf32 || list[i].math == DEFAULT_MATH || list[i].math == FMA_MATH)) {
      x->algorithm = list[i].algorithm;
      TRY(ask(x->math_set(x->convolution, x->tf32 ? list[i].math : FMA_MATH),
              "cudnnSetConvolutionMathType", e));
      return ask(x->nbytes(x->handle, x->tensor[X], x->tensor[F], x->convolution, x->tensor[Y],
                           x->algorithm, &x->workspace_nbytes),
                 "cudnnGetConvolutionForwardWorkspaceSize", e);
    }
  }
  return err_set(e, ERR_USAGE, "cuDNN has no algorithm for this problem");
}

/* ---- a peer ---------------------------------------------------------------------------------- */

static void *address(const cudnn *x, const void *const *args, side s) {
  return (void *)(uintptr_t) * (const rt_ptr *)args[x->at[s]];
}

static bool is_described(const cudnn *x, const void *const *args) {
  for (int s = X; x->pitched && s < SIDES; s += Y - X) {
    const int64_t pitch = *(const int64_t *)args[x->pitch_at[s]];
    if (x->shapes[s].dims[x->rank - 2] > 1 && pitch != x->shapes[s].strides[x->rank - 2]) {
      return false;
    }
  }
  return true;
}

static int launch(void *self, rt_stream s, const void *const *args, err *e) {
  static const double wide[] = {1, 0};
  static const float narrow[] = {1, 0};
  cudnn *x = self;
  const bool is_wide = x->type == DOUBLE;
  const void *one = is_wide ? (const void *)&wide[0] : &narrow[0];
  const void *zero = is_wide ? (const void *)&wide[1] : &narrow[1];
  if (!is_described(x, args)) {
    return err_set(e, ERR_USAGE, "cuDNN was prepared for other rows");
  }
  x->set_stream(x->handle, s);
  const int rc =
      x->forward(x->handle, one, x->tensor[X], address(x, args, X), x->tensor[F],
                 address(x, args, F), x->convolution, x->algorithm, (void *)(uintptr_t)x->workspace,
                 x->workspace_nbytes, zero, x->tensor[Y], address(x, args, Y));
  return rc ? err_set(e, ERR_LAUNCH, "cudnnConvolutionForward failed with status %d", rc) : 0;
}

static void let_go(int (*release)(void *), void *what) {
  if (what) {
    release(what);
  }
}

static void close_(void *self) {
  cudnn *x = self;
  let_go(x->tensor_free, x->tensor[X]);
  let_go(x->tensor_free, x->tensor[Y]);
  let_go(x->filter_free, x->tensor[F]);
  let_go(x->convolution_free, x->convolution);
  let_go(x->destroy, x->handle);
  if (x->workspace) {
    x->d->ops->release(x->d, x->workspace);
  }
  if (x->library) {
    dlclose(x->library);
  }
  free(x);
}

/* The handle outlives a problem: to create one takes a good part of a second. */
static int turn(void *self, const gen_template *t, const gen_problem *p, err *e) {
  cudnn *x = self;
  TRY(check_problem(t, p, e));
  TRY(positions(x, t, e));
  TRY(measure(x, t, p, e));
  x->type = is_word(t, p, "dtype", "f64") ? DOUBLE : FLOAT;
  if (x->workspace) {
    x->d->ops->release(x->d, x->workspace);
    x->workspace = 0;
  }
  TRY(x->library ? 0 : load(x, e));
  TRY(x->handle ? 0 : create(x, e));
  TRY(describe(x, e));
  TRY(choose(x, e));
  return x->workspace_nbytes ? x->d->ops->alloc(x->d, x->workspace_nbytes, &x->workspace, e) : 0;
}

static int open_cudnn(const gen_template *t, const gen_problem *p, rt_device *d, bool tf32,
                      peer *out, err *e) {
  cudnn *x = calloc(1, sizeof *x);
  TRY(x ? 0 : err_nomem(e));
  x->d = d;
  x->tf32 = tf32;
  /* Sums by FFT and Winograd's transforms are less exact than ours, by the size of the whole tile. */
  *out = (peer){.self = x,
                .close = close_,
                .loosest = tf32 ? 1 << 14 : 256,
                .turn = turn,
                .contender = {.launch = launch, .self = x}};
  TRY(turn(x, t, p, e));
  const size_t number = x->version();
  snprintf(out->version, sizeof out->version, "cuDNN %zu.%zu.%zu%s", number / 10000,
           number / 100 % 100, number % 100, tf32 ? " TF32" : "");
  return 0;
}

static int open_plain(const gen_template *t, const gen_problem *p, rt_device *d, peer *out,
                      err *e) {
  return open_cudnn(t, p, d, false, out, e);
}

static int open_tf32(const gen_template *t, const gen_problem *p, rt_device *d, peer *out, err *e) {
  return open_cudnn(t, p, d, true, out, e);
}

static const char *const families[] = {"conv1d", "conv2d", "conv3d", NULL};
const peer_kind peer_cudnn = {.name = "cudnn",
                              .brief = "cuDNN's convolutions, without TF32",
                              .families = families,
                              .prepare = prepare,
                              .open = open_plain};
const peer_kind peer_cudnn_tf32 = {.name = "cudnn-tf32",
                                   .brief = "cuDNN's convolutions, allowed to round to TF32",
                                   .families = families,
                                   .prepare = prepare,
                                   .open = open_tf32};
