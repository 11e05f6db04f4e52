/* cudart_registry.c -- see cudart_registry.h. */
#define _GNU_SOURCE
#include "cudart_registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cudart_api.h"
#include "emu.h"
#include "fat_container.h"

enum { WRAPPER_MAGIC = 0x466243b1, LINKED = 2 };

typedef struct wrapper { /* what the stub passes: crt/host_runtime.h, fatbinary_section.h */
  int magic, version;
  const void *container;
  const void *const *linked; /* of version 2: containers that went into a linked one; NULL ends */
} wrapper;

typedef struct managed {
  struct managed *next;
  void **pointer; /* the program's, which we set */
  const char *name;
} managed;

struct cudart_binary {
  const wrapper *w;
  uint64_t generation;
  rt_module **modules;
  size_t n;
  int arch;
  managed *managed;
};

typedef struct symbols { /* by host; used under the lock */
  cudart_symbol **p;
  int n;
  size_t capacity;
} symbols;
static symbols kernels, variables;

/* How many symbols lie before the address. */
static int before(const symbols *t, const void *host) {
  int low = 0, high = t->n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (t->p[middle]->host < host) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static cudart_symbol *find(const symbols *t, const void *host) {
  const int i = before(t, host);
  return i < t->n && t->p[i]->host == host ? t->p[i] : NULL;
}

static void *checked(void *p) {
  if (!p) {
    cudart_ends("out of memory");
  }
  return p;
}

/* A library registers its kernels when it is loaded, which may be while other threads launch. */
static void add(symbols *t, const void *host, const char *name, cudart_binary *b) {
  cudart_lock();
  const int i = before(t, host);
  cudart_symbol *s = find(t, host);
  if (!s) {
    s = checked(calloc(1, sizeof *s));
    if (!array_reserve(&t->p, t->n + 1, &t->capacity, sizeof *t->p)) {
      checked(NULL);
    }
    memmove(t->p + i + 1, t->p + i, sizeof *t->p * (size_t)(t->n++ - i));
    t->p[i] = s;
  }
  *s = (cudart_symbol){.host = host, .name = name, .binary = b};
  cudart_unlock();
}

/* ---- loading --------------------------------------------------------------------------------- */

static int load(cudart *c, cudart_binary *b, const void *container, err *e) {
  auto_str ptx = {0};
  rt_module **more = realloc(b->modules, (b->n + 1) * sizeof *more);
  TRY(more ? 0 : err_nomem(e));
  b->modules = more;
  TRY(fat_find_ptx(container, c->d->info.cc, &ptx, e));
  TRY(c->d->ops->module_load(c->d, str_text(&ptx), ptx.n, &b->modules[b->n], e));
  b->n++;
  const char *target = strstr(str_text(&ptx), ".target sm_");
  b->arch = target ? atoi(target + strlen(".target sm_")) : 0;
  return 0;
}

static int load_all(cudart *c, cudart_binary *b, err *e) {
  if (b->w->version != LINKED || !b->w->linked) {
    return load(c, b, b->w->container, e);
  }
  for (const void *const *p = b->w->linked; *p; p++) {
    TRY(load(c, b, *p, e));
  }
  return 0;
}

/* A variable of any of its modules. */
static int module_variable(cudart *c, const cudart_binary *b, const char *name, rt_ptr *at,
                           size_t *nbytes) {
  int rc = ERR_NOTFOUND;
  for (size_t i = 0; i < b->n && rc; i++) {
    rc = c->d->ops->variable(c->d, b->modules[i], name, at, nbytes, NULL);
  }
  return rc;
}

static void set_managed(cudart *c, const cudart_binary *b) {
  for (const managed *m = b->managed; m; m = m->next) {
    rt_ptr at;
    size_t nbytes;
    if (!module_variable(c, b, m->name, &at, &nbytes)) {
      *m->pointer = (void *)(uintptr_t)at;
    }
  }
}

static void ensure_loaded(cudart *c, cudart_binary *b) {
  err e = {0};
  if (b->generation == c->generation) {
    return;
  }
  b->generation = c->generation;
  b->n = 0;
  if (load_all(c, b, &e)) {
    cudart_ends("%s%s%s", e.place, *e.place ? ": " : "", e.message);
  }
  set_managed(c, b);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static void resolve_kernel(cudart *c, cudart_symbol *s) {
  int rc = ERR_NOTFOUND;
  err e = {0};
  for (size_t i = 0; i < s->binary->n && rc == ERR_NOTFOUND; i++) {
    err_clear(&e);
    rc = c->d->ops->function(c->d, s->binary->modules[i], s->name, &s->f, &e);
  }
  if (rc) {
    cudart_ends("%s%s%s", e.place, *e.place ? ": " : "", e.message);
  }
  s->generation = c->generation;
  s->ptx_arch = s->binary->arch;
}

bool cudart_is_kernel(const void *func) {
  cudart_lock();
  const bool known = find(&kernels, func);
  cudart_unlock();
  return known;
}

cudaError_t cudart_kernel(cudart *c, const void *func, cudart_symbol **out) {
  *out = find(&kernels, func);
  if (!*out) {
    return cudaErrorInvalidDeviceFunction;
  }
  ensure_loaded(c, (*out)->binary);
  if ((*out)->generation != c->generation) {
    resolve_kernel(c, *out);
  }
  return cudaSuccess;
}

cudaError_t cudart_variable(cudart *c, const void *shadow, cudart_symbol **out) {
  cudart_symbol *s = find(&variables, shadow);
  *out = s;
  if (!s) {
    return cudaErrorInvalidSymbol;
  }
  ensure_loaded(c, s->binary);
  if (s->generation != c->generation) {
    if (module_variable(c, s->binary, s->name, &s->at, &s->nbytes)) {
      return cudaErrorInvalidSymbol;
    }
    s->generation = c->generation;
  }
  return cudaSuccess;
}

/* ---- what the stub calls before and after main ------------------------------------------------- */

void **emu_register_binary(void *text) {
  const wrapper *w = text;
  cudart_binary *b = checked(calloc(1, sizeof *b));
  if (w->magic != WRAPPER_MAGIC) {
    cudart_ends("the program registers device code in a form that is not known");
  }
  b->w = w;
  return (void **)b;
}

void emu_register_end(void **binary) {
  (void)binary;
}

/* The device's contents may be asked for until the very end: the program's exit frees everything. */
void emu_unregister_binary(void **binary) {
  (void)binary;
}

void emu_register_function(void **binary, const char *host, char *stub, const char *name,
                           int threads, void *tid, void *bid, void *block, void *grid, int *warp) {
  (void)stub, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
  add(&kernels, host, name, (cudart_binary *)binary);
}

void emu_register_variable(void **binary, char *host, char *address, const char *name, int external,
                           size_t nbytes, int constant, int global) {
  (void)address, (void)external, (void)nbytes, (void)constant, (void)global;
  add(&variables, host, name, (cudart_binary *)binary);
}

void emu_register_managed(void **binary, void **pointer, char *address, const char *name,
                          int external, size_t nbytes, int constant, int global) {
  (void)address, (void)external, (void)nbytes, (void)constant, (void)global;
  cudart_binary *b = (cudart_binary *)binary;
  managed *m = checked(malloc(sizeof *m));
  *m = (managed){b->managed, pointer, name};
  b->managed = m;
  add(&variables, pointer, name, b);
}

/* Called before the host's first use of a managed variable. */
char emu_init_module(void **binary) {
  cudart *c = cudart_enter();
  ensure_loaded(c, (cudart_binary *)binary);
  cudart_leave(c, cudaSuccess);
  return 1;
}

cudaError_t emu_registered_kernel(cudaKernel_t *handle, const void *func) {
  *handle = (cudaKernel_t)(uintptr_t)func;
  return cudart_is_kernel(func) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
