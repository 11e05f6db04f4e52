/* peer.c -- cuBLAS: the one peer so far. Its handful of entry points is declared here, from the
 * cuBLAS documentation, so that neither its headers nor the library are needed to build. */
#define _GNU_SOURCE
#include "peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cublas {
  void *library, *handle;
  int (*create)(void **);
  int (*destroy)(void *);
  int (*set_stream)(void *, void *);
  int (*version)(void *, int *);
  int (*sgemm)(void *, int, int, int, int, int, const float *, const float *, int, const float *,
               int, const float *, float *, int);
  int transa, transb;
  size_t m, n, k, alpha, a, lda, b, ldb, beta, c,
      ldc; /* positions among the template's arguments */
} cublas;

static const char *const libraries[] = {"libcublas.so.13",
                                        "libcublas.so.12",
                                        "libcublas.so",
                                        "/usr/local/cuda/lib64/libcublas.so.13",
                                        "/usr/local/cuda/lib64/libcublas.so.12",
                                        "/usr/local/cuda/lib64/libcublas.so"};

static int load(cublas *x, err *e) {
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !x->library; i++) {
    x->library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
  }
  if (!x->library) {
    return err_set(e, ERR_NOTFOUND, "cuBLAS is not on this machine (libcublas.so.13 or .12): %s",
                   dlerror());
  }
  *(void **)&x->create = dlsym(x->library, "cublasCreate_v2");
  *(void **)&x->destroy = dlsym(x->library, "cublasDestroy_v2");
  *(void **)&x->set_stream = dlsym(x->library, "cublasSetStream_v2");
  *(void **)&x->version = dlsym(x->library, "cublasGetVersion_v2");
  *(void **)&x->sgemm = dlsym(x->library, "cublasSgemm_v2");
  if (!x->create || !x->destroy || !x->set_stream || !x->version || !x->sgemm) {
    return err_set(e, ERR_NOTFOUND, "this cuBLAS lacks an entry point that is needed");
  }
  return 0;
}

static int launch(void *self, rt_stream s, const void *const *args, err *e) {
  cublas *x = self;
#define INT(i) (*(const int *)args[i])
#define MATRIX(i) ((float *)(uintptr_t) * (const rt_ptr *)args[i])
  x->set_stream(x->handle, s);
  int rc = x->sgemm(x->handle, x->transa, x->transb, INT(x->m), INT(x->n), INT(x->k),
                    args[x->alpha], MATRIX(x->a), INT(x->lda), MATRIX(x->b), INT(x->ldb),
                    args[x->beta], MATRIX(x->c), INT(x->ldc));
#undef INT
#undef MATRIX
  return rc ? err_set(e, ERR_LAUNCH, "cublasSgemm failed with status %d", rc) : 0;
}

static int position(const gen_template *t, const char *name, size_t *out, err *e) {
  for (*out = 0; *out < t->n_args; (*out)++) {
    if (!strcmp(t->args[*out].name, name)) {
      return 0;
    }
  }
  return err_set(e, ERR_USAGE, "template %s has no argument %s that cuBLAS needs", t->name, name);
}

static int positions(cublas *x, const gen_template *t, err *e) {
  TRY(position(t, "m", &x->m, e));
  TRY(position(t, "n", &x->n, e));
  TRY(position(t, "k", &x->k, e));
  TRY(position(t, "alpha", &x->alpha, e));
  TRY(position(t, "A", &x->a, e));
  TRY(position(t, "lda", &x->lda, e));
  TRY(position(t, "B", &x->b, e));
  TRY(position(t, "ldb", &x->ldb, e));
  TRY(position(t, "beta", &x->beta, e));
  TRY(position(t, "C", &x->c, e));
  return position(t, "ldc", &x->ldc, e);
}

static int transposed(const gen_template *t, const gen_problem *p, const char *field) {
  for (size_t i = 0; i < t->n_fields; i++) {
    if (!strcmp(t->fields[i].name, field)) {
      return p->values[i].s && !strcmp(p->values[i].s, "t");
    }
  }
  return 0;
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

static int open_cublas(const gen_template *t, const gen_problem *p, peer *out, err *e) {
  cublas *x = calloc(1, sizeof *x);
  int number = 0;
  if (!x) {
    return err_set(e, ERR_NOMEM, "out of memory");
  }
  *out = (peer){.self = x, .close = close_, .contender = {.launch = launch, .self = x}};
  TRY(load(x, e));
  TRY(positions(x, t, e));
  x->transa = transposed(t, p, "ta");
  x->transb = transposed(t, p, "tb");
  if (x->create(&x->handle)) {
    return err_set(e, ERR_DEVICE, "cublasCreate failed");
  }
  x->version(x->handle, &number);
  snprintf(out->version, sizeof out->version, "cuBLAS %d.%d.%d", number / 10000, number / 100 % 100,
           number % 100);
  return 0;
}

int peer_open(const char *name, const gen_template *t, const gen_problem *p, rt_device *d,
              peer *out, err *e) {
  *out = (peer){0};
  if (strcmp(name, "cublas")) {
    return err_set(e, ERR_USAGE, "no peer '%s'; there is: cublas", name);
  }
  if (strcmp(t->name, "sgemm")) {
    return err_set(e, ERR_USAGE, "cublas has nothing to set beside %s; it knows sgemm", t->name);
  }
  if (strcmp(d->info.kind, "cuda")) {
    return err_set(e, ERR_USAGE, "cublas needs a GPU; this is %s", d->info.name);
  }
  int rc = open_cublas(t, p, out, e);
  if (rc) {
    peer_close(out);
  }
  return rc;
}

void peer_close(peer *p) {
  if (p->self) {
    p->close(p->self);
  }
  *p = (peer){0};
}
