/* fake_device.h -- a device for tests: memory is malloc's, kernels are C functions by name, time is
 * counted, and any call can be made to fail.
 *
 * What it is for: the logic above a device (layout, checks, timing, clean-up after failures) tested
 * without a GPU, exactly and fast. The kernels of kit.cu have their C twins here; the kernels under
 * test come from the test. Allocations have no slack, so AddressSanitizer sees a stray byte.
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dtype.h"
#include "run_tools.h"

typedef struct fake fake;
typedef void fake_kernel(fake *f, void **args);

typedef struct fake_function {
  const char *name; /* ends with NULL */
  fake_kernel *run;
  double sec; /* what a launch costs */
} fake_function;

struct fake {
  rt_device device; /* first */
  const fake_function *functions;
  int mode;           /* for the kernels under test */
  int calls, fail_at; /* the call of this number fails; 0: none */
  int live;           /* allocations, modules, events and streams not given back */
  double clock;
  uint64_t launches, graphs;
};

static inline fake *fake_of(rt_device *d) {
  return (fake *)d;
}
static inline void *fake_memory(rt_ptr p) {
  return (void *)(uintptr_t)p;
}

static inline int fake_call(rt_device *d, err *e) {
  fake *f = fake_of(d);
  return ++f->calls == f->fail_at ? err_set(e, ERR_DEVICE, "call %d was made to fail", f->calls)
                                  : 0;
}

/* ---- kit.cu in C --------------------------------------------------------------------------- */

#define FAKE_ARG(args, i, type) (*(type *)(args)[i])

typedef struct fake_filling { /* as in kit.cu */
  int32_t type, kind;
  uint64_t bits, span;
  double offset, scale;
  uint64_t seed;
} fake_filling;

static inline void fake_fill(fake *f, void **args) {
  (void)f;
  char *out = fake_memory(FAKE_ARG(args, 0, rt_ptr));
  fake_filling m = FAKE_ARG(args, 2, fake_filling);
  for (uint64_t i = 0; i < FAKE_ARG(args, 1, uint64_t); i++) {
    uint64_t r = (m.seed * 1000003 + i) * 0x9e3779b97f4a7c15ull;
    uint64_t bits =
        m.kind == GEN_FILL_CONSTANT
            ? m.bits
            : dtype_encode((dtype)m.type, m.offset + m.scale * (double)(r >> 11) * 0x1p-53);
    memcpy(out + i * dtype_nbytes((dtype)m.type), &bits, dtype_nbytes((dtype)m.type));
  }
}

static inline void fake_note(rt_finding *f, uint64_t i) {
  f->n++;
  f->first = i < f->first ? i : f->first;
  f->last = i > f->last ? i : f->last;
}

static inline double fake_error(double x, double ref, double abs_, double rel) {
  if (x == ref || (isnan(x) && isnan(ref))) {
    return 0;
  }
  double d = fabs(x - ref), allowed = abs_ + rel * fabs(ref);
  return d < INFINITY && allowed > 0 ? d / allowed : INFINITY;
}

static inline void fake_compare(fake *f, void **args) {
  (void)f;
  const char *x = fake_memory(FAKE_ARG(args, 0, rt_ptr)),
             *ref = fake_memory(FAKE_ARG(args, 1, rt_ptr));
  dtype t = (dtype)FAKE_ARG(args, 3, int32_t);
  rt_finding *out = fake_memory(FAKE_ARG(args, 8, rt_ptr));
  size_t n = dtype_nbytes(t);
  for (uint64_t i = 0; i < FAKE_ARG(args, 2, uint64_t); i++) {
    uint64_t a = 0, b = 0, worst;
    memcpy(&a, x + i * n, n);
    memcpy(&b, ref + i * n, n);
    bool touched = FAKE_ARG(args, 7, int32_t) && b == FAKE_ARG(args, 6, uint64_t) && a != b;
    double error = a == b ? 0
                          : fake_error(dtype_decode(t, a), dtype_decode(t, b),
                                       FAKE_ARG(args, 4, double), FAKE_ARG(args, 5, double));
    memcpy(&worst, &error, sizeof worst);
    out->worst = !touched && worst > out->worst ? worst : out->worst;
    if (touched || error > 1) {
      fake_note(out, i);
    }
  }
}

static inline void fake_differ(fake *f, void **args) {
  (void)f;
  const char *a = fake_memory(FAKE_ARG(args, 0, rt_ptr)),
             *b = fake_memory(FAKE_ARG(args, 1, rt_ptr));
  for (uint64_t i = 0; i < FAKE_ARG(args, 2, uint64_t); i++) {
    if (a[i] != b[i]) {
      fake_note(fake_memory(FAKE_ARG(args, 3, rt_ptr)), i);
    }
  }
}

/* The number of zones is the grid's; the fake passes it as a hidden last argument. */
static inline void fake_canaries(fake *f, void **args) {
  (void)f;
  const rt_zone *zones = fake_memory(FAKE_ARG(args, 0, rt_ptr));
  rt_finding *out = fake_memory(FAKE_ARG(args, 2, rt_ptr));
  for (uint32_t z = 0; z < FAKE_ARG(args, 3, uint32_t); z++) {
    const uint8_t *p = fake_memory(zones[z].at);
    for (uint64_t i = 0; i < zones[z].nbytes; i++) {
      if (p[i] != FAKE_ARG(args, 1, uint32_t)) {
        fake_note(&out[z], i);
      }
    }
  }
}

static const fake_function fake_kit[] = {{"kit_fill", fake_fill, 1e-6},
                                         {"kit_compare", fake_compare, 1e-6},
                                         {"kit_differ", fake_differ, 1e-6},
                                         {"kit_canaries", fake_canaries, 1e-6},
                                         {NULL, NULL, 0}};

/* ---- the operations ------------------------------------------------------------------------ */

static inline int fake_alloc(rt_device *d, size_t nbytes, rt_ptr *p, err *e) {
  void *memory = NULL;
  *p = 0;
  TRY(fake_call(d, e));
  if (nbytes > ((size_t)1 << 30) || posix_memalign(&memory, 256, nbytes ? nbytes : 1)) {
    return err_set(e, ERR_NOMEM, "out of memory for %zu bytes", nbytes);
  }
  memset(memory, 0x5a, nbytes ? nbytes : 1);
  fake_of(d)->live++;
  *p = (rt_ptr)(uintptr_t)memory;
  return 0;
}

static inline void fake_release(rt_device *d, rt_ptr p) {
  fake_of(d)->live -= p != 0;
  free(fake_memory(p));
}

static inline int fake_memory_free(rt_device *d, int64_t *nbytes, err *e) {
  *nbytes = d->info.memory_nbytes;
  return fake_call(d, e);
}

static inline int fake_copy_in(rt_device *d, rt_ptr to, const void *from, size_t n, rt_stream s,
                               err *e) {
  (void)s;
  TRY(fake_call(d, e));
  if (n) {
    memcpy(fake_memory(to), from, n);
  }
  return 0;
}

static inline int fake_copy_out(rt_device *d, void *to, rt_ptr from, size_t n, rt_stream s,
                                err *e) {
  (void)s;
  TRY(fake_call(d, e));
  if (n) {
    memcpy(to, fake_memory(from), n);
  }
  return 0;
}

static inline int fake_copy(rt_device *d, rt_ptr to, rt_ptr from, size_t n, rt_stream s, err *e) {
  return fake_copy_in(d, to, fake_memory(from), n, s, e);
}

static inline int fake_set(rt_device *d, rt_ptr to, uint8_t byte, size_t n, rt_stream s, err *e) {
  (void)s;
  TRY(fake_call(d, e));
  memset(fake_memory(to), byte, n);
  return 0;
}

static inline int fake_module_load(rt_device *d, const void *image, size_t n, rt_module **m,
                                   err *e) {
  (void)image, (void)n;
  *m = NULL;
  TRY(fake_call(d, e));
  *m = malloc(1);
  fake_of(d)->live++;
  return *m ? 0 : err_set(e, ERR_NOMEM, "out of memory");
}

static inline void fake_module_unload(rt_device *d, rt_module *m) {
  fake_of(d)->live--;
  free(m);
}

static inline int fake_find(rt_device *d, rt_module *m, const char *name, rt_function **out,
                            err *e) {
  (void)m;
  const fake_function *lists[] = {fake_kit, fake_of(d)->functions};
  *out = NULL;
  TRY(fake_call(d, e));
  for (int i = 0; i < 2; i++) {
    for (const fake_function *f = lists[i]; f->name; f++) {
      if (!strcmp(f->name, name)) {
        *out = (rt_function *)(uintptr_t)f;
        return 0;
      }
    }
  }
  return err_set(e, ERR_NOTFOUND, "no kernel %s", name);
}

static inline int fake_function_info(rt_device *d, rt_function *f, rt_function_info *info, err *e) {
  (void)f;
  *info = (rt_function_info){.regs = 32, .threads_max = 512, .smem_static = 1024};
  return fake_call(d, e);
}

static inline int fake_function_smem(rt_device *d, rt_function *f, int64_t nbytes, err *e) {
  (void)f, (void)nbytes;
  return fake_call(d, e);
}

static inline int fake_occupancy(rt_device *d, rt_function *f, int threads, int64_t smem,
                                 int *blocks, err *e) {
  (void)f, (void)threads, (void)smem;
  *blocks = 1;
  return fake_call(d, e);
}

static inline int fake_launch(rt_device *d, rt_function *f, const uint32_t grid[3],
                              const uint32_t block[3], uint32_t smem, rt_stream s, void **args,
                              err *e) {
  const fake_function *k = (const fake_function *)f;
  void *with_grid[16];
  (void)block, (void)smem, (void)s;
  TRY(fake_call(d, e));
  if (k->run == fake_canaries) {
    memcpy(with_grid, args, 3 * sizeof *args);
    with_grid[3] = (void *)(uintptr_t)grid;
    args = with_grid;
  }
  k->run(fake_of(d), args);
  fake_of(d)->clock += k->sec;
  fake_of(d)->launches++;
  return 0;
}

static inline int fake_stream_new(rt_device *d, rt_stream *s, err *e) {
  *s = NULL;
  TRY(fake_call(d, e));
  *s = malloc(1);
  fake_of(d)->live++;
  return 0;
}

static inline void fake_stream_free(rt_device *d, rt_stream s) {
  fake_of(d)->live -= s != NULL;
  free(s);
}

static inline int fake_stream_sync(rt_device *d, rt_stream s, err *e) {
  (void)s;
  return fake_call(d, e);
}

static inline int fake_event_new(rt_device *d, rt_event **ev, err *e) {
  *ev = NULL;
  TRY(fake_call(d, e));
  *ev = calloc(1, sizeof(double));
  fake_of(d)->live++;
  return 0;
}

static inline void fake_event_free(rt_device *d, rt_event *ev) {
  fake_of(d)->live -= ev != NULL;
  free(ev);
}

static inline int fake_event_record(rt_device *d, rt_event *ev, rt_stream s, err *e) {
  (void)s;
  *(double *)(void *)ev = fake_of(d)->clock;
  return fake_call(d, e);
}

static inline int fake_elapsed(rt_device *d, rt_event *from, rt_event *to, double *sec, err *e) {
  *sec = *(double *)(void *)to - *(double *)(void *)from;
  return fake_call(d, e);
}

/* A graph here is a promise to launch again what was recorded; the host's time is not counted on
 * this device, so it saves nothing. */
typedef struct fake_graph {
  int (*record)(void *self, rt_stream s, err *e);
  void *self;
} fake_graph;

static inline int fake_graph_new(rt_device *d, int (*record)(void *, rt_stream, err *), void *self,
                                 rt_graph **g, err *e) {
  *g = NULL;
  TRY(fake_call(d, e));
  fake_graph *made = malloc(sizeof *made);
  *made = (fake_graph){record, self};
  fake_of(d)->live++;
  fake_of(d)->graphs++;
  *g = (rt_graph *)made;
  return 0;
}

static inline void fake_graph_free(rt_device *d, rt_graph *g) {
  fake_of(d)->live -= g != NULL;
  free(g);
}

static inline int fake_graph_launch(rt_device *d, rt_graph *g, rt_stream s, err *e) {
  fake_graph *x = (fake_graph *)g;
  TRY(fake_call(d, e));
  return x->record(x->self, s, e);
}

static inline void fake_close(rt_device *d) {
  (void)d;
}

static const rt_device_ops fake_ops = {
    fake_close,        fake_alloc,         fake_release,       fake_memory_free, fake_copy_in,
    fake_copy_out,     fake_copy,          fake_set,           fake_module_load, fake_module_unload,
    fake_find,         fake_function_info, fake_function_smem, fake_occupancy,   fake_launch,
    fake_stream_new,   fake_stream_free,   fake_stream_sync,   fake_event_new,   fake_event_free,
    fake_event_record, fake_elapsed,       fake_graph_new,     fake_graph_free,  fake_graph_launch};

/* A small GPU; its L2 of 64 KiB makes few sets rotate. */
static inline void fake_init(fake *f, const fake_function *functions) {
  *f = (fake){.functions = functions};
  f->device.ops = &fake_ops;
  f->device.info = (rt_info){.name = "fake",
                             .arch = "compute_90",
                             .format = RT_PTX,
                             .cc = 90,
                             .memory_nbytes = 64 << 20,
                             .l2_nbytes = 64 << 10,
                             .sms = 4,
                             .warp = 32,
                             .threads_block = 1024,
                             .threads_sm = 2048,
                             .blocks_sm = 32,
                             .regs_block = 65536,
                             .regs_sm = 65536,
                             .smem_block = 232448,
                             .smem_static = 49152,
                             .smem_sm = 233472,
                             .smem_reserved = 1024,
                             .grid_max = {2147483647, 65535, 65535},
                             .block_max = {1024, 1024, 64},
                             .clock_hz = 1e9,
                             .memory_clock_hz = 1e9,
                             .memory_bus_bits = 256};
}

#endif
