#define _GNU_SOURCE
#include "placement_claims.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tuner_files.h"

enum {
  ROUNDS_MOST = 64,
  CHUNKS = 8,
  BLOCK = 256,
  PAGE = 4096,
  WORD = 16,
  LAUNCHES = 1000,
  ITERATIONS = 2000
};

#define ZERO_COPY 10 /* it reaches less than a tenth */

typedef struct bench {
  const placement_run *run;
  rt_device *d;
  size_t n; /* bytes of a buffer */
  rt_module *module;
  rt_function *read, *iterate;
  rt_stream stream[2];
  unsigned char *pageable, *pageable_out, *pinned, *pinned_out;
  rt_ptr device, device_out, sum;
  rt_ptr managed, advised; /* 0: not made yet */
} bench;

typedef struct side {
  const char *name;
  int (*prepare)(bench *b, err *e); /* not timed; NULL: nothing */
  int (*run)(bench *b, err *e);     /* and what it has started ends within the time */
} side;

static rt_ptr address(const void *p) {
  return (rt_ptr)(uintptr_t)p;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int read_at(bench *b, rt_ptr at, uint64_t step, err *e) {
  uint64_t n = b->n / WORD / step;
  void *args[] = {&at, &n, &step, &b->sum};
  const uint32_t grid[] = {(uint32_t)b->d->info.sms * 8, 1, 1}, block[] = {BLOCK, 1, 1};
  return b->d->ops->launch(b->d, b->read, grid, block, 0, b->stream[0], args, e);
}

static int iterate_at(bench *b, rt_ptr at, size_t nbytes, int times, rt_stream s, err *e) {
  uint64_t n = nbytes / sizeof(float);
  void *args[] = {&at, &n, &times};
  const uint32_t grid[] = {(uint32_t)((n + BLOCK - 1) / BLOCK), 1, 1}, block[] = {BLOCK, 1, 1};
  return b->d->ops->launch(b->d, b->iterate, grid, block, 0, s, args, e);
}

static int sync_all(bench *b, err *e) {
  TRY(b->d->ops->stream_sync(b->d, b->stream[0], e));
  return b->d->ops->stream_sync(b->d, b->stream[1], e);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static int in_pinned(bench *b, err *e) {
  return b->d->ops->upload(b->d, b->device, b->pinned, b->n, b->stream[0], e);
}

static int in_pageable(bench *b, err *e) {
  return b->d->ops->upload(b->d, b->device, b->pageable, b->n, b->stream[0], e);
}

static int out_pinned(bench *b, err *e) {
  return b->d->ops->download(b->d, b->pinned_out, b->device, b->n, b->stream[0], e);
}

static int out_pageable(bench *b, err *e) {
  return b->d->ops->download(b->d, b->pageable_out, b->device, b->n, b->stream[0], e);
}

static int both_ways(bench *b, rt_stream back, err *e) {
  TRY(in_pinned(b, e));
  return b->d->ops->download(b->d, b->pinned_out, b->device_out, b->n, back, e);
}

static int both_at_once(bench *b, err *e) {
  return both_ways(b, b->stream[1], e);
}

static int one_after_the_other(bench *b, err *e) {
  return both_ways(b, b->stream[0], e);
}

/* ---- copies beside kernels ------------------------------------------------------------------- */

static int chunk(bench *b, const unsigned char *from, unsigned char *to, size_t i, rt_stream s,
                 err *e) {
  const size_t n = b->n / CHUNKS, at = i * n;
  TRY(b->d->ops->upload(b->d, b->device + at, from + at, n, s, e));
  TRY(iterate_at(b, b->device + at, n, ITERATIONS, s, e));
  return b->d->ops->download(b->d, to + at, b->device + at, n, s, e);
}

static int chunks(bench *b, const unsigned char *from, unsigned char *to, size_t streams, err *e) {
  for (size_t i = 0; i < CHUNKS; i++) {
    TRY(chunk(b, from, to, i, b->stream[i % streams], e));
  }
  return 0;
}

static int pinned_chunks(bench *b, err *e) {
  return chunks(b, b->pinned, b->pinned_out, 1, e);
}

static int pinned_chunks_beside(bench *b, err *e) {
  return chunks(b, b->pinned, b->pinned_out, 2, e);
}

static int pageable_chunks_beside(bench *b, err *e) {
  return chunks(b, b->pageable, b->pageable_out, 2, e);
}

/* ---- launches -------------------------------------------------------------------------------- */

static int launches(bench *b, rt_stream s, err *e) {
  for (int i = 0; i < LAUNCHES; i++) {
    TRY(iterate_at(b, b->device, sizeof(float), 0, s, e));
  }
  return b->d->ops->stream_sync(b->d, s, e);
}

static int on_null_stream(bench *b, err *e) {
  return launches(b, NULL, e);
}

static int on_own_stream(bench *b, err *e) {
  return launches(b, b->stream[0], e);
}

/* ---- mapped ---------------------------------------------------------------------------------- */

static int read_device(bench *b, err *e) {
  return read_at(b, b->device, 1, e);
}

static int read_mapped(bench *b, err *e) {
  return read_at(b, address(b->pinned), 1, e);
}

static int read_some_mapped(bench *b, err *e) {
  return read_at(b, address(b->pinned), PAGE / WORD, e);
}

static int copy_and_read_some(bench *b, err *e) {
  TRY(in_pinned(b, e));
  return read_at(b, b->device, PAGE / WORD, e);
}

static int copy_and_read(bench *b, err *e) {
  TRY(in_pinned(b, e));
  return read_device(b, e);
}

/* ---- managed --------------------------------------------------------------------------------- */

static int make_managed(bench *b, rt_ptr *p, err *e) {
  const rt_device_ops *ops = b->d->ops;
  return *p                   ? 0
         : ops->managed_alloc ? ops->managed_alloc(b->d, b->n, p, e)
                              : err_set(e, ERR_DEVICE, "this device has no managed memory");
}

/* Its pages are on the host, which has written them. */
static int managed_on_host(bench *b, err *e) {
  TRY(make_managed(b, &b->managed, e));
  TRY(b->d->ops->prefetch(b->d, b->managed, b->n, true, b->stream[0], e));
  TRY(sync_all(b, e));
  memset((void *)(uintptr_t)b->managed, 1, b->n);
  return 0;
}

static int read_managed(bench *b, err *e) {
  return read_at(b, b->managed, 1, e);
}

static int prefetch_and_read(bench *b, err *e) {
  TRY(b->d->ops->prefetch(b->d, b->managed, b->n, false, b->stream[0], e));
  return read_managed(b, e);
}

static int read_some_managed(bench *b, err *e) {
  return read_at(b, b->managed, PAGE / WORD, e);
}

static int advise(bench *b, const rt_advice *list, size_t n, err *e) {
  const bool made = b->advised;
  TRY(make_managed(b, &b->advised, e));
  for (size_t i = 0; !made && i < n; i++) {
    TRY(b->d->ops->advise(b->d, b->advised, b->n, list[i], e));
  }
  return 0;
}

static void forget_advised(bench *b) {
  b->d->ops->release(b->d, b->advised);
  b->advised = 0;
}

static int mapped_on_host(bench *b, err *e) {
  static const rt_advice list[] = {RT_ADVICE_HOST, RT_ADVICE_ACCESSED};
  TRY(advise(b, list, 2, e));
  memset((void *)(uintptr_t)b->advised, 1, b->n);
  return 0;
}

static int read_some_advised(bench *b, err *e) {
  return read_at(b, b->advised, PAGE / WORD, e);
}

/* Pages are on the device, as a kernel has left them. */
static int managed_on_device(bench *b, err *e) {
  TRY(managed_on_host(b, e));
  return prefetch_and_read(b, e);
}

static int copied_to_device(bench *b, err *e) {
  static const rt_advice list[] = {RT_ADVICE_READ_MOSTLY};
  const bool made = b->advised;
  TRY(advise(b, list, 1, e));
  if (!made) {
    memset((void *)(uintptr_t)b->advised, 1, b->n);
  }
  TRY(b->d->ops->prefetch(b->d, b->advised, b->n, false, b->stream[0], e));
  return read_at(b, b->advised, 1, e);
}

static void touch(rt_ptr at, size_t n) {
  const volatile unsigned char *p = (const volatile unsigned char *)(uintptr_t)at;
  for (size_t i = 0; i < n; i += PAGE) {
    (void)p[i];
  }
}

/* The host reads a word of each page, then a kernel all. */
static int read_managed_in_turn(bench *b, err *e) {
  touch(b->managed, b->n);
  return read_managed(b, e);
}

static int read_advised_in_turn(bench *b, err *e) {
  touch(b->advised, b->n);
  return read_at(b, b->advised, 1, e);
}

/* ---- the claims ------------------------------------------------------------------------------ */

typedef struct placed { /* a claim: the first side is faster, or no faster */
  side one, other;
  bool even;
  double least; /* the ratio that is claimed; 0: any */
  const char *text;
} placed;

static const placed claims[] = {
    {{"to=pinned", NULL, in_pinned},
     {"to=pageable", NULL, in_pageable},
     false,
     0,
     "PMPP 20.3: copies to the device need pinned memory to be fast; the driver stages others"},
    {{"from=pinned", in_pinned, out_pinned},
     {"from=pageable", in_pinned, out_pageable},
     false,
     0,
     "the same from the device"},
    {{"both_ways=at_once", NULL, both_at_once},
     {"both_ways=in_turn", NULL, one_after_the_other},
     false,
     0,
     "PMPP 20.3: two engines copy in both directions at once"},
    {{"streams=2", NULL, pinned_chunks_beside},
     {"streams=1", NULL, pinned_chunks},
     false,
     0,
     "PMPP 20.3: on two streams copies of pinned memory run beside kernels"},
    {{"chunks=pinned", NULL, pinned_chunks_beside},
     {"chunks=pageable", NULL, pageable_chunks_beside},
     false,
     0,
     "PMPP 20.3: copies of pageable memory hold the host up, and with it the other stream"},
    {{"stream=null", NULL, on_null_stream},
     {"stream=own", NULL, on_own_stream},
     true,
     0,
     "a library's own stream is as fast as the null stream, and does not wait for work on others"},
    {{"read=device", in_pinned, read_device},
     {"read=zero_copy", NULL, read_mapped},
     false,
     ZERO_COPY,
     "PMPP 22: zero-copy reaches less than 10 % of the device memory's bandwidth"},
    {{"rare=zero_copy", NULL, read_some_mapped},
     {"rare=copied", NULL, copy_and_read_some},
     false,
     0,
     "PMPP 22: zero-copy is for rare accesses: 16 bytes of each page read in place"},
    {{"managed=prefetched", managed_on_host, prefetch_and_read},
     {"managed=faults", managed_on_host, read_managed},
     false,
     0,
     "CUDA programming guide: prefetching spares page faults"},
    {{"explicit", NULL, copy_and_read},
     {"managed=faults", managed_on_host, read_managed},
     false,
     0,
     "PMPP 22: explicit copies are faster than pages that move on demand"},
    {{"explicit", NULL, copy_and_read},
     {"managed=prefetched", managed_on_host, prefetch_and_read},
     true,
     0,
     "CUDA programming guide: prefetched managed memory is as fast as explicit copies"},
    {{"advice=read_mostly", copied_to_device, read_advised_in_turn},
     {"advice=none", managed_on_device, read_managed_in_turn},
     false,
     0,
     "CUDA programming guide: what both sides only read is copied and not moved"},
    {{"advice=host,accessed", mapped_on_host, read_some_advised},
     {"advice=none", managed_on_host, read_some_managed},
     false,
     0,
     "CUDA programming guide: what is rarely read is mapped and not moved"},
};

/* ---- timing ---------------------------------------------------------------------------------- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int time_once(bench *b, const side *s, double *sec, err *e) {
  TRY(s->prepare ? s->prepare(b, e) : 0);
  TRY(sync_all(b, e));
  const double from = now();
  TRY(s->run(b, e));
  TRY(sync_all(b, e));
  *sec = now() - from;
  return 0;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *x, size_t n) {
  qsort(x, n, sizeof *x, ascending);
  return x[n / 2];
}

/* The first round is not counted: it makes what is made once. */
static int time_both(bench *b, const placed *p, claim_times *out, err *e) {
  double one[ROUNDS_MOST], other[ROUNDS_MOST], unused;
  const size_t rounds = b->run->rounds < ROUNDS_MOST ? (size_t)b->run->rounds : (size_t)ROUNDS_MOST;
  TRY(time_once(b, &p->one, &unused, e));
  TRY(time_once(b, &p->other, &unused, e));
  for (size_t i = 0; i < rounds; i++) {
    TRY(time_once(b, &p->one, &one[i], e));
    TRY(time_once(b, &p->other, &other[i], e));
  }
  *out = (claim_times){median(one, rounds), median(other, rounds), false};
  return 0;
}

static int try_claim(bench *b, const placed *p, const char *problem, err *e) {
  placement_try t = {.claim = {.family = PLACEMENT_FAMILY,
                               .problem = problem,
                               .one = p->one.name,
                               .other = p->other.name,
                               .one_part = p->one.name,
                               .other_part = p->other.name,
                               .text = p->text,
                               .even = p->even,
                               .least = p->least}};
  t.rc = time_both(b, p, &t.times, &t.why);
  forget_advised(b);
  if (b->d->dead) {
    return err_copy(e, t.rc, &t.why);
  }
  return b->run->tell(b->run->self, &t, e);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int load(bench *b, arena *a, err *e) {
  const rt_device_ops *ops = b->d->ops;
  const gen_file *file = tuner_file("placement.cu");
  const rt_source source = {.text = file->text, .arch = b->d->info.arch};
  rt_image image;
  rt_image_init(&image);
  int rc = rt_compile(b->run->compiler, &source, a, &image, e);
  const str *bytes = image.cubin.n ? &image.cubin : &image.ptx;
  rc = rc ? rc : ops->module_load(b->d, str_text(bytes), bytes->n, &b->module, e);
  rc = rc ? rc : ops->function(b->d, b->module, "read_words", &b->read, e);
  rc = rc ? rc : ops->function(b->d, b->module, "iterate", &b->iterate, e);
  rt_image_clear(&image);
  return rc;
}

static int take_pageable(bench *b, unsigned char **p, err *e) {
  *p = malloc(b->n);
  if (!*p) {
    return err_nomem(e);
  }
  memset(*p, 1, b->n);
  return 0;
}

static int take_pinned(bench *b, unsigned char **p, err *e) {
  void *at = NULL;
  TRY(b->d->ops->host_alloc(b->d, b->n, &at, e));
  memset(at, 1, b->n);
  *p = at;
  return 0;
}

static int take(bench *b, err *e) {
  const rt_device_ops *ops = b->d->ops;
  TRY(take_pageable(b, &b->pageable, e));
  TRY(take_pageable(b, &b->pageable_out, e));
  TRY(take_pinned(b, &b->pinned, e));
  TRY(take_pinned(b, &b->pinned_out, e));
  TRY(ops->alloc(b->d, b->n, &b->device, e));
  TRY(ops->alloc(b->d, b->n, &b->device_out, e));
  TRY(ops->set(b->d, b->device_out, 1, b->n, NULL, e));
  TRY(ops->alloc(b->d, sizeof(uint32_t), &b->sum, e));
  TRY(ops->stream_beside(b->d, &b->stream[0], e));
  return ops->stream_beside(b->d, &b->stream[1], e);
}

static void give_back(bench *b) {
  const rt_device_ops *ops = b->d->ops;
  const rt_ptr all[] = {b->device, b->device_out, b->sum, b->managed, b->advised};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    ops->release(b->d, all[i]);
  }
  for (int i = 0; i < 2; i++) {
    if (b->stream[i]) {
      ops->stream_free(b->d, b->stream[i]);
    }
  }
  ops->host_free(b->d, b->pinned);
  ops->host_free(b->d, b->pinned_out);
  free(b->pageable);
  free(b->pageable_out);
  if (b->module) {
    ops->module_unload(b->d, b->module);
  }
}

static int try_all(bench *b, err *e) {
  auto_arena a = {0};
  const char *problem = arena_format(&a, "%zu MiB", b->n >> 20);
  TRY(problem ? 0 : err_nomem(e));
  TRY(load(b, &a, e));
  TRY(take(b, e));
  for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
    TRY(try_claim(b, &claims[i], problem, e));
  }
  return 0;
}

int placement_claims(const placement_run *run, err *e) {
  bench b = {.run = run, .d = run->device, .n = run->nbytes};
  if (run->device->info.modelled) {
    return err_set(e, ERR_USAGE,
                   "where memory lies is not modelled on %s; try claims about memory on a GPU",
                   run->device->info.name);
  }
  if (!b.d->ops->host_alloc || !b.d->ops->upload || !b.d->ops->stream_beside) {
    return err_set(e, ERR_DEVICE, "%s has no pinned memory or streams", run->device->info.name);
  }
  const int rc = try_all(&b, e);
  give_back(&b);
  return rc;
}
