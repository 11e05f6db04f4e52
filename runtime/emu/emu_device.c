/* emu_device.c -- the emulated device behind the table of device.h. */
#define _GNU_SOURCE
#include "emu_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu_cost.h"
#include "emu_exec.h"

enum { STACK_NBYTES = 32 * 1024 };
static const uint64_t step_limit = UINT64_C(1) << 28;

static emu_device *self(rt_device *d) {
  return (emu_device *)d;
}

/* between commands of a stream that the card's copy engines or a driver's kernel carry out. src:
 * reductions on an H200 that set their result to zero first */
static const double command_sec = 1.8e-6;

static double bandwidth(const emu_device *d) {
  return 2 * d->profile->memory_clock_hz * d->profile->bus_bits / 8;
}

/* ---- memory ---- */

static int emu_alloc_op(rt_device *d, size_t nbytes, rt_ptr *p, err *e) {
  return emu_heap_alloc(&self(d)->heap, nbytes, NULL, p, e);
}

static void emu_release_op(rt_device *d, rt_ptr p) {
  if (p) {
    emu_heap_release(&self(d)->heap, p);
  }
}

static int emu_give_back_op(rt_device *d, rt_ptr p, err *e) {
  if (!p || emu_heap_release(&self(d)->heap, p)) {
    return 0;
  }
  str text = {0};
  emu_heap_describe(&self(d)->heap, p, &text);
  const int rc = err_set(e, ERR_DEVICE, "freeing what is not allocated: %s", str_text(&text));
  str_clear(&text);
  return rc;
}

static int emu_memory_free_op(rt_device *d, int64_t *nbytes, err *e) {
  (void)e;
  *nbytes = (int64_t)(self(d)->heap.bound - self(d)->heap.used);
  return 0;
}

static int outside(emu_device *d, rt_ptr p, size_t nbytes, err *e) {
  str text = {0};
  emu_heap_describe(&d->heap, p, &text);
  int rc = err_set(e, ERR_DEVICE, "a copy of %zu bytes is not inside one allocation: %s", nbytes,
                   str_text(&text));
  str_clear(&text);
  return rc;
}

static int emu_copy_in_op(rt_device *d, rt_ptr to, const void *from, size_t nbytes, rt_stream s,
                          err *e) {
  emu_device *self_ = self(d);
  uint8_t *host = nbytes ? emu_heap_host(&self_->heap, to, nbytes) : NULL;
  (void)s;
  if (nbytes && !host) {
    return outside(self_, to, nbytes, e);
  }
  if (nbytes) {
    memcpy(host, from, nbytes);
    emu_heap_mark_set(&self_->heap, to, nbytes);
  }
  return 0;
}

static int emu_copy_out_op(rt_device *d, void *to, rt_ptr from, size_t nbytes, rt_stream s,
                           err *e) {
  const uint8_t *host = nbytes ? emu_heap_host(&self(d)->heap, from, nbytes) : NULL;
  (void)s;
  if (nbytes && !host) {
    return outside(self(d), from, nbytes, e);
  }
  if (nbytes) {
    memcpy(to, host, nbytes);
  }
  return 0;
}

static int emu_copy_op(rt_device *d, rt_ptr to, rt_ptr from, size_t nbytes, rt_stream s, err *e) {
  emu_heap *h = &self(d)->heap;
  (void)s;
  if (!nbytes) {
    return 0;
  }
  uint8_t *target = emu_heap_host(h, to, nbytes);
  const uint8_t *source = emu_heap_host(h, from, nbytes);
  if (!target || !source) {
    return outside(self(d), target ? from : to, nbytes, e);
  }
  memmove(target, source, nbytes);
  memmove(h->state + (to - EMU_GLOBAL_BASE), h->state + (from - EMU_GLOBAL_BASE), nbytes);
  self(d)->now += (double)nbytes * 2 / bandwidth(self(d));
  return 0;
}

static int emu_set_op(rt_device *d, rt_ptr to, uint8_t byte, size_t nbytes, rt_stream s, err *e) {
  (void)s;
  if (!nbytes) {
    return 0;
  }
  uint8_t *host = emu_heap_host(&self(d)->heap, to, nbytes);
  if (!host) {
    return outside(self(d), to, nbytes, e);
  }
  memset(host, byte, nbytes);
  emu_heap_mark_set(&self(d)->heap, to, nbytes);
  self(d)->now += command_sec + (double)nbytes / bandwidth(self(d));
  return 0;
}

/* ---- modules ---- */

static void module_close(emu_device *d, rt_module *module) {
  emu_module *m = module->m;
  for (int i = 0; i < m->n_vars; i++) {
    bool global = m->vars[i].space == SPACE_global || m->vars[i].space == SPACE_const;
    if (global && m->vars[i].address) {
      emu_heap_release(&d->heap, m->vars[i].address);
    }
  }
  while (module->functions) {
    rt_function *f = module->functions;
    module->functions = f->next;
    free(f);
  }
  emu_module_free(m);
  free(module);
}

static int place_variables(emu_device *d, emu_module *m, err *e) {
  for (int i = 0; i < m->n_vars; i++) {
    emu_var *v = &m->vars[i];
    if (v->space != SPACE_global && v->space != SPACE_const) {
      continue;
    }
    const char *name = arena_text_n(&m->memory, v->name, v->name_n);
    TRY(emu_heap_alloc(&d->heap, v->nbytes, name, &v->address, e));
  }
  return 0;
}

static void fill_variables(emu_device *d, emu_module *m) {
  for (int i = 0; i < m->n_vars; i++) {
    const emu_var *v = &m->vars[i];
    bool constant = v->space == SPACE_const;
    if (v->space != SPACE_global && !constant) {
      continue;
    }
    uint64_t offset = v->address - EMU_GLOBAL_BASE;
    memset(d->heap.data + offset, 0, v->nbytes);
    if (v->init) {
      memcpy(d->heap.data + offset, v->init, v->nbytes);
    }
    memset(d->heap.state + offset, BYTE_THERE | BYTE_SET | (constant ? BYTE_CONST : 0), v->nbytes);
  }
}

static int emu_module_load_op(rt_device *d, const void *image, size_t nbytes, rt_module **out,
                              err *e) {
  rt_module *module = calloc(1, sizeof *module);
  *out = NULL;
  if (!module) {
    return err_set(e, ERR_NOMEM, "no host memory for a module");
  }
  int rc = emu_module_parse(image, nbytes, &module->m, e);
  if (rc) {
    free(module);
    return rc;
  }
  rc = place_variables(self(d), module->m, e);
  if (rc) {
    module_close(self(d), module);
    return rc;
  }
  emu_module_link(module->m);
  fill_variables(self(d), module->m);
  module->next = self(d)->modules;
  self(d)->modules = module;
  *out = module;
  return 0;
}

static void emu_module_unload_op(rt_device *d, rt_module *m) {
  for (rt_module **at = &self(d)->modules; *at; at = &(*at)->next) {
    if (*at == m) {
      *at = m->next;
      module_close(self(d), m);
      return;
    }
  }
}

static int emu_function_op(rt_device *d, rt_module *m, const char *name, rt_function **out,
                           err *e) {
  const emu_func *f = emu_module_kernel(m->m, name);
  (void)d;
  *out = NULL;
  if (!f) {
    return err_set(e, ERR_NOTFOUND, "no kernel '%s' in the module", name);
  }
  rt_function *function = calloc(1, sizeof *function);
  if (!function) {
    return err_set(e, ERR_NOMEM, "no host memory for a kernel");
  }
  *function = (rt_function){m->functions, m, f, 0, 0};
  m->functions = function;
  *out = function;
  return 0;
}

/* Of the cubin where it is known; else our estimate, which ptxas would press under what the launch
 * bounds leave each thread. */
static int regs_of(const emu_device *d, const rt_function *f) {
  const emu_func *func = f->f;
  double required = (double)func->required[0] * func->required[1] * func->required[2];
  int threads = required >= 1 && required <= 1024 ? (int)required : func->max_threads;
  int blocks = func->min_blocks > 1 ? func->min_blocks : 1;
  int most = threads ? d->profile->regs_sm / blocks / ((threads + 31) / 32 * 32) / 8 * 8 : 255;
  most = func->max_regs && func->max_regs < most ? func->max_regs : most;
  if (f->regs || func->noted) {
    return f->regs ? f->regs : func->regs;
  }
  return func->regs < most ? func->regs : most > 16 ? most : 16;
}

/* an estimate of registers refuses no launch */
static int threads_max(const emu_device *d, const rt_function *f) {
  int regs_warp = (f->regs * 32 + 255) / 256 * 256;
  int most = regs_warp ? d->profile->regs_sm / 4 / regs_warp * 4 * 32 : 1024;
  most = most > 1024 ? 1024 : most;
  return f->f->max_threads && f->f->max_threads < most ? f->f->max_threads : most;
}

static int emu_function_info_op(rt_device *d, rt_function *f, rt_function_info *info, err *e) {
  (void)e;
  *info = (rt_function_info){regs_of(self(d), f), threads_max(self(d), f), (int64_t)f->f->smem,
                             (int64_t)f->f->frame_nbytes};
  return 0;
}

static int emu_function_smem_op(rt_device *d, rt_function *f, int64_t nbytes, err *e) {
  if (nbytes < 0 || nbytes + (int64_t)f->f->smem > d->info.smem_block) {
    return err_set(e, ERR_LAUNCH,
                   "%lld bytes of dynamic and %llu of static shared memory; a block of %s may "
                   "have %lld",
                   (long long)nbytes, (unsigned long long)f->f->smem, d->info.name,
                   (long long)d->info.smem_block);
  }
  f->smem_dynamic = nbytes;
  return 0;
}

static int emu_occupancy_op(rt_device *d, rt_function *f, int threads, int64_t smem, int *blocks,
                            err *e) {
  (void)e;
  *blocks = threads > threads_max(self(d), f) ? 0
                                              : emu_occupancy(self(d)->profile, regs_of(self(d), f),
                                                              threads, smem + (int64_t)f->f->smem);
  return 0;
}

/* ---- launches ---- */

/* 8 blocks a cluster is what every card of compute capability 9.0 takes; more must be asked for */
static int check_cluster(const emu_func *f, const uint32_t grid[3], err *e) {
  const int *c = f->cluster;
  if (!c[0]) {
    return 0;
  }
  bool divides =
      c[1] > 0 && c[2] > 0 && c[0] <= EMU_MATES && c[1] <= EMU_MATES && c[2] <= EMU_MATES;
  for (int i = 0; i < 3 && divides; i++) {
    divides = grid[i] % (uint32_t)c[i] == 0;
  }
  return divides && c[0] * c[1] * c[2] <= EMU_MATES
             ? 0
             : err_set(
                   e, ERR_LAUNCH,
                   "kernel %s has clusters of %d,%d,%d blocks: a cluster has at most %d, and the "
                   "grid (%u,%u,%u) must be whole clusters",
                   f->name, c[0], c[1], c[2], EMU_MATES, grid[0], grid[1], grid[2]);
}

static int check_launch(emu_device *d, const rt_function *f, const uint32_t grid[3],
                        const uint32_t block[3], uint32_t smem, err *e) {
  const rt_info *info = &d->device.info;
  uint64_t threads = 1;
  for (int i = 0; i < 3; i++) {
    if (!grid[i] || grid[i] > info->grid_max[i] || !block[i] || block[i] > info->block_max[i]) {
      return err_set(e, ERR_LAUNCH, "grid %u,%u,%u or block %u,%u,%u is beyond what %s takes",
                     grid[0], grid[1], grid[2], block[0], block[1], block[2], info->name);
    }
    threads *= block[i];
  }
  if (threads > (uint64_t)threads_max(d, f)) {
    return err_set(e, ERR_LAUNCH, "%llu threads a block; kernel %s with %d registers can have %d",
                   (unsigned long long)threads, f->f->name, regs_of(d, f), threads_max(d, f));
  }
  for (int i = 0; i < 3; i++) {
    if (f->f->required[i] && (uint32_t)f->f->required[i] != block[i]) {
      return err_set(e, ERR_LAUNCH, "kernel %s requires blocks of %d,%d,%d", f->f->name,
                     f->f->required[0], f->f->required[1], f->f->required[2]);
    }
  }
  TRY(check_cluster(f->f, grid, e));
  int64_t total = (int64_t)smem + (int64_t)f->f->smem;
  int64_t most = f->smem_dynamic + (int64_t)f->f->smem;
  most = most > info->smem_static ? most : info->smem_static;
  if (total > most) {
    return err_set(e, ERR_LAUNCH,
                   "%lld bytes of shared memory a block; over %lld a kernel must be allowed more "
                   "first",
                   (long long)total, (long long)most);
  }
  return 0;
}

static uint8_t *gather_params(const emu_func *f, void **args) {
  uint8_t *params = calloc(1, f->params_nbytes + 64);
  for (int i = 0; params && i < f->n_params; i++) {
    memcpy(params + f->params[i].offset, args[i], f->params[i].nbytes);
  }
  return params;
}

/* tags of blocks go on from launch to launch; when they would overflow all start again */
static uint32_t next_tags(emu_heap *h, uint64_t n_blocks) {
  if (n_blocks > UINT32_MAX / 2) {
    return 0;
  }
  if (n_blocks > UINT32_MAX - h->tag_base) {
    memset(h->tag, 0, 2 * h->top);
    h->tag_base = 1;
  }
  uint32_t base = h->tag_base;
  h->tag_base += (uint32_t)n_blocks;
  return base;
}

static int host_threads(const emu_device *d) {
  long n = d->threads ? d->threads : sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > 256 ? 256 : (int)n;
}

static uint64_t stack_of(const emu_func *f) {
  if (f->depth_nbytes == SIZE_MAX) {
    return STACK_NBYTES + (f->frame_nbytes + 15) / 16 * 16;
  }
  return f->depth_nbytes;
}

static void prepare(emu_device *d, const rt_function *f, const uint32_t grid[3],
                    const uint32_t block[3], uint32_t smem, emu_launch *l) {
  memset(l, 0, sizeof *l);
  l->device = d;
  l->heap = &d->heap;
  l->module = f->module->m;
  l->func = f->f;
  memcpy(l->grid, grid, sizeof l->grid);
  memcpy(l->block, block, sizeof l->block);
  l->n_blocks = (uint64_t)grid[0] * grid[1] * grid[2];
  l->sampled = d->sample && (uint64_t)d->sample < l->n_blocks ? (uint64_t)d->sample : l->n_blocks;
  l->n_mates = 1;
  for (int i = 0; i < 3; i++) {
    l->cluster[i] = f->f->cluster[0] ? (uint32_t)f->f->cluster[i] : 1;
    l->n_mates *= (int)l->cluster[i];
  }
  l->sampled =
      (l->sampled + (uint64_t)l->n_mates - 1) / (uint64_t)l->n_mates * (uint64_t)l->n_mates;
  uint64_t clusters = l->sampled / (uint64_t)l->n_mates;
  l->count_every = clusters > 32 ? clusters / 32 : 1;
  l->n_threads = (int)(block[0] * block[1] * block[2]);
  l->n_warps = (l->n_threads + 31) / 32;
  l->smem_nbytes = l->module->smem_dynamic_at + smem;
  l->dynamic_nbytes = smem;
  l->local_nbytes = stack_of(f->f);
  l->params_nbytes = f->f->params_nbytes;
  l->checks = d->checks;
  l->regs = regs_of(d, f);
  l->step_limit = d->steps;
  l->ask_stop = d->stop;
  l->tag_base = next_tags(&d->heap, l->n_blocks);
  l->resident = 32;
  l->finding = &d->finding;
  d->finding = (rt_emu_finding){.check = EMU_NO_FINDING};
}

static int emu_launch_op(rt_device *dev, rt_function *f, const uint32_t grid[3],
                         const uint32_t block[3], uint32_t smem, rt_stream s, void **args, err *e) {
  emu_device *d = self(dev);
  emu_launch l;
  (void)s;
  TRY(check_launch(d, f, grid, block, smem, e));
  prepare(d, f, grid, block, smem, &l);
  uint8_t *params = gather_params(f->f, args);
  if (!params) {
    return err_set(e, ERR_NOMEM, "no host memory for a launch");
  }
  l.params = params;
  int rc = emu_launch_run(&l, host_threads(d), &d->stats, e);
  free(params);
  d->now += rc ? 0 : d->stats.sec;
  return rc;
}

/* ---- streams and events: everything is in order and done when the call returns ---- */

static int emu_stream_new_op(rt_device *d, rt_stream *s, err *e) {
  (void)d;
  *s = malloc(1); /* only a name */
  return *s ? 0 : err_set(e, ERR_NOMEM, "no host memory for a stream");
}

static void emu_stream_free_op(rt_device *d, rt_stream s) {
  (void)d;
  free(s);
}

static int emu_stream_sync_op(rt_device *d, rt_stream s, err *e) {
  (void)d, (void)s, (void)e;
  return 0;
}

static int emu_event_new_op(rt_device *d, rt_event **ev, err *e) {
  (void)d;
  *ev = calloc(1, sizeof **ev);
  return *ev ? 0 : err_set(e, ERR_NOMEM, "no host memory for an event");
}

static void emu_event_free_op(rt_device *d, rt_event *ev) {
  (void)d;
  free(ev);
}

static int emu_event_record_op(rt_device *d, rt_event *ev, rt_stream s, err *e) {
  (void)s, (void)e;
  ev->sec = self(d)->now;
  return 0;
}

static int emu_elapsed_op(rt_device *d, rt_event *from, rt_event *to, double *sec, err *e) {
  (void)d, (void)e;
  *sec = to->sec - from->sec;
  return 0;
}

static void emu_close_op(rt_device *d) {
  while (self(d)->modules) {
    emu_module_unload_op(d, self(d)->modules);
  }
  emu_heap_close(&self(d)->heap);
  free(d);
}

static const rt_device_ops ops = {.close = emu_close_op,
                                  .alloc = emu_alloc_op,
                                  .release = emu_release_op,
                                  .give_back = emu_give_back_op,
                                  .memory_free = emu_memory_free_op,
                                  .copy_in = emu_copy_in_op,
                                  .copy_out = emu_copy_out_op,
                                  .copy = emu_copy_op,
                                  .set = emu_set_op,
                                  .module_load = emu_module_load_op,
                                  .module_unload = emu_module_unload_op,
                                  .function = emu_function_op,
                                  .function_info = emu_function_info_op,
                                  .function_smem = emu_function_smem_op,
                                  .occupancy = emu_occupancy_op,
                                  .launch = emu_launch_op,
                                  .stream_new = emu_stream_new_op,
                                  .stream_free = emu_stream_free_op,
                                  .stream_sync = emu_stream_sync_op,
                                  .event_new = emu_event_new_op,
                                  .event_free = emu_event_free_op,
                                  .event_record = emu_event_record_op,
                                  .elapsed = emu_elapsed_op,
                                  .tensor_map = emu_tensor_map_op};

static int64_t default_bound(const emu_profile *p) {
  int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  int64_t half = pages > 0 && size > 0 ? pages * size / 2 : INT64_C(1) << 30;
  return half < p->memory_nbytes ? half : p->memory_nbytes;
}

static int no_profile(const char *name, err *e) {
  str text = {0};
  for (const char *const *p = rt_emu_profiles(); *p; p++) {
    str_addf(&text, " %s", *p);
  }
  int rc = err_set(e, ERR_DEVICE, "no profile '%s' of the emulated device; there are:%s", name,
                   str_text(&text));
  str_clear(&text);
  return rc;
}

/* "h200,memory=1000000": what stands behind the profile's name */
static int take_options(const char *text, uint64_t *bound, err *e) {
  char *end = NULL;
  if (!*text) {
    return 0;
  }
  *bound = strncmp(text, ",memory=", 8) || text[8] < '1' || text[8] > '9'
               ? 0
               : strtoull(text + 8, &end, 10);
  return *bound && *bound <= INT64_MAX && !*end
             ? 0
             : err_set(e, ERR_DEVICE,
                       "'%.80s' is no option of the emulated device; there is ,memory=BYTES", text);
}

int rt_emu_open(const char *text, rt_device **out, err *e) {
  char profile[64];
  size_t n = text ? strcspn(text, ",") : 0;
  snprintf(profile, sizeof profile, "%.*s", (int)(n < 63 ? n : 63), text ? text : "");
  const emu_profile *p = emu_profile_find(profile);
  *out = NULL;
  if (!p) {
    return no_profile(profile, e);
  }
  uint64_t bound = (uint64_t)default_bound(p);
  TRY(take_options(text ? text + n : "", &bound, e));
  emu_device *d = calloc(1, sizeof *d);
  if (!d) {
    return err_set(e, ERR_NOMEM, "no host memory for the emulated device");
  }
  d->profile = p;
  d->checks = true;
  d->steps = step_limit;
  d->finding.check = EMU_NO_FINDING;
  int rc = emu_heap_open(&d->heap, bound, e);
  if (rc) {
    free(d);
    return rc;
  }
  d->device.ops = &ops;
  emu_profile_info(p, &d->device.info);
  d->device.info.memory_nbytes = (int64_t)d->heap.bound;
  *out = &d->device;
  return 0;
}

/* ---- emu.h ---- */

bool rt_emu_is(const rt_device *d) {
  return d->ops == &ops;
}

void rt_emu_set_checks(rt_device *d, bool on) {
  self(d)->checks = on;
}

int rt_emu_set_memory(rt_device *d, int64_t nbytes, err *e) {
  emu_heap *h = &self(d)->heap, fresh;
  if (nbytes < 1 || h->used) {
    return err_set(e, ERR_USAGE,
                   nbytes < 1 ? "a memory bound is at least one byte"
                              : "the memory bound is set before memory is used");
  }
  TRY(emu_heap_open(&fresh, (uint64_t)nbytes, e));
  emu_heap_close(h);
  *h = fresh;
  d->info.memory_nbytes = nbytes;
  return 0;
}

void rt_emu_set_steps(rt_device *d, uint64_t n) {
  self(d)->steps = n ? n : step_limit;
}

void rt_emu_set_stop(rt_device *d, const volatile int *stop) {
  self(d)->stop = stop;
}

void rt_emu_set_threads(rt_device *d, int n) {
  self(d)->threads = n;
}

void rt_emu_set_sample(rt_device *d, int64_t n) {
  self(d)->sample = n > 0 ? n : 0;
}

int64_t rt_emu_sample(const rt_device *d) {
  return ((const emu_device *)d)->sample;
}

void rt_emu_set_regs(rt_device *d, rt_function *f, int regs) {
  (void)d;
  f->regs = regs;
}

void rt_emu_set_print(rt_device *d, void (*print)(void *context, const char *text), void *context) {
  self(d)->print = print;
  self(d)->print_context = context;
}

const rt_emu_finding *rt_emu_last_finding(const rt_device *d) {
  return &((const emu_device *)d)->finding;
}

void rt_emu_last_stats(const rt_device *d, rt_emu_stats *stats) {
  *stats = ((const emu_device *)d)->stats;
}

void emu_device_print(emu_device *d, const char *text) {
  if (d->print) {
    d->print(d->print_context, text);
  }
}
