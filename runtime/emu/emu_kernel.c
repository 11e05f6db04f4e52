/* emu_kernel.c -- see emu_kernel.h. */
#define _GNU_SOURCE
#include "emu_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu_cost.h"
#include "emu_decode.h"
#include "emu_device_state.h"
#include "emu_launch.h"
#include "emu_module.h"
#include "emu_publish.h"

enum { STACK_NBYTES = 32 * 1024 };

static emu_device *self(rt_device *d) {
  return (emu_device *)d;
}

static void module_close(emu_device *d, rt_module *module) {
  emu_module *m = module->m;
  for (int i = 0; i < m->n_vars; i++) {
    bool global = m->vars[i].space == SPACE_global || m->vars[i].space == SPACE_const;
    if (global && m->vars[i].address) {
      emu_heap_release(&d->heap, m->vars[i].address);
    }
  }
  if (m->grid_workspace) {
    emu_heap_release(&d->heap, m->grid_workspace);
  }
  while (module->functions) {
    rt_function *f = module->functions;
    module->functions = f->next;
    free(f);
  }
  emu_module_free(m);
  free(module);
}

/* Where the host cannot map a managed variable, kernels can use it still. */
static int place_variable(emu_device *d, emu_module *m, emu_var *v, err *e) {
  const char *name = arena_text_n(&m->memory, v->name, v->name_n);
  if (v->managed && !emu_heap_alloc_shared(&d->heap, v->nbytes, &v->address, NULL)) {
    return 0;
  }
  return emu_heap_alloc(&d->heap, v->nbytes, name, &v->address, e);
}

static int place_variables(emu_device *d, emu_module *m, err *e) {
  for (int i = 0; i < m->n_vars; i++) {
    emu_var *v = &m->vars[i];
    if (v->space != SPACE_global && v->space != SPACE_const) {
      continue;
    }
    TRY(place_variable(d, m, v, e));
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
    memset(d->heap.state + offset, BYTE_ALLOCATED | BYTE_WRITTEN | (constant ? BYTE_CONST : 0),
           v->nbytes);
  }
}

/* Two words, size and barrier, which the driver passes to a cooperative launch.
 * src: cooperative_groups/details/driver_abi.h */
static int place_workspace(emu_device *d, emu_module *m, err *e) {
  enum { NBYTES = 8 };
  if (!m->has_grid_barrier) {
    return 0;
  }
  TRY(emu_heap_alloc(&d->heap, NBYTES, "workspace of the grid", &m->grid_workspace, e));
  const uint64_t offset = m->grid_workspace - EMU_GLOBAL_BASE;
  memset(d->heap.data + offset, 0, NBYTES);
  memset(d->heap.state + offset, BYTE_ALLOCATED | BYTE_WRITTEN, NBYTES);
  return 0;
}

int emu_module_load_op(rt_device *d, const void *image, size_t nbytes, rt_module **out, err *e) {
  rt_module *module = calloc(1, sizeof *module);
  *out = NULL;
  if (!module) {
    return err_nomem(e);
  }
  int rc = emu_module_parse(image, nbytes, &module->m, e);
  if (rc) {
    free(module);
    return rc;
  }
  rc = place_variables(self(d), module->m, e);
  rc = rc ? rc : place_workspace(self(d), module->m, e);
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

void emu_module_unload_op(rt_device *d, rt_module *m) {
  for (rt_module **at = &self(d)->modules; *at; at = &(*at)->next) {
    if (*at == m) {
      *at = m->next;
      module_close(self(d), m);
      return;
    }
  }
}

static int no_kernel(const emu_module *m, const char *name, err *e) {
  char list[400] = "";
  size_t at = 0;
  for (int i = 0; i < m->n_funcs && at < sizeof list - 1; i++) {
    if (m->funcs[i]->entry && m->funcs[i]->defined) {
      at += (size_t)snprintf(list + at, sizeof list - at, "%s%s",
                             at ? ", " : "; it has: ", m->funcs[i]->name);
    }
  }
  return err_set(e, ERR_NOTFOUND, "no kernel '%.200s' in the module%s%s", name, list,
                 at >= sizeof list ? "..." : "");
}

int emu_function_op(rt_device *d, rt_module *m, const char *name, rt_function **out, err *e) {
  const emu_func *f = emu_module_kernel(m->m, name);
  const emu_func *refused = f ? emu_module_refused(m->m, f) : NULL;
  (void)d;
  *out = NULL;
  if (!f) {
    return no_kernel(m->m, name, e);
  }
  if (refused) {
    return err_at(e, ERR_COMPILE, refused->refused_at, "kernel %.100s cannot be run: %s", name,
                  refused->refused);
  }
  rt_function *function = calloc(1, sizeof *function);
  if (!function) {
    return err_nomem(e);
  }
  *function = (rt_function){m->functions, m, f, 0};
  m->functions = function;
  *out = function;
  return 0;
}

int emu_variable_op(rt_device *d, rt_module *module, const char *name, rt_ptr *p, size_t *nbytes,
                    err *e) {
  const emu_module *m = module->m;
  (void)d;
  for (int i = 0; i < m->n_vars; i++) {
    const emu_var *v = &m->vars[i];
    const bool placed = v->space == SPACE_global || v->space == SPACE_const;
    if (placed && v->name_n == strlen(name) && !memcmp(v->name, name, v->name_n)) {
      *p = v->address;
      *nbytes = v->nbytes;
      return 0;
    }
  }
  return err_set(e, ERR_NOTFOUND, "the kernels have no __constant__ or __device__ variable '%s'",
                 name);
}

/* Registers from ptxas's report; else our estimate, within the launch bounds that ptxas would obey. */
static int regs_of(const emu_device *d, const rt_function *f) {
  const emu_func *func = f->f;
  double required = (double)func->required[0] * func->required[1] * func->required[2];
  int threads = required >= 1 && required <= 1024 ? (int)required : func->max_threads;
  int blocks = func->min_blocks > 1 ? func->min_blocks : 1;
  int most = threads ? d->profile->regs_sm / blocks / ((threads + 31) / 32 * 32) / 8 * 8 : 255;
  most = func->max_regs && func->max_regs < most ? func->max_regs : most;
  if (func->has_report) {
    return func->regs;
  }
  return func->regs < most ? func->regs : most > 16 ? most : 16;
}

static int threads_max(const rt_function *f) {
  return f->f->max_threads ? f->f->max_threads : 1024;
}

int emu_function_info_op(rt_device *d, rt_function *f, rt_function_info *info, err *e) {
  (void)e;
  *info = (rt_function_info){regs_of(self(d), f), threads_max(f), (int64_t)f->f->smem,
                             (int64_t)f->f->frame_nbytes, f->f->grid_barrier};
  return 0;
}

int emu_function_params_op(rt_device *d, rt_function *f, uint32_t *nbytes, int most) {
  (void)d;
  for (int i = 0; i < f->f->n_params && i < most; i++) {
    nbytes[i] = (uint32_t)f->f->params[i].nbytes;
  }
  return f->f->n_params;
}

int emu_function_smem_op(rt_device *d, rt_function *f, int64_t nbytes, err *e) {
  if (nbytes < 0 || nbytes + (int64_t)f->f->smem > d->info.smem_block) {
    return err_set(
        e, ERR_LAUNCH,
        "%lld bytes of dynamic and %llu of static shared memory are too much: a block of %s has at most %lld",
        (long long)nbytes, (unsigned long long)f->f->smem, d->info.name,
        (long long)d->info.smem_block);
  }
  f->smem_dynamic = nbytes;
  return 0;
}

int emu_occupancy_op(rt_device *d, rt_function *f, int threads, int64_t smem, int *blocks, err *e) {
  (void)e;
  *blocks = threads > threads_max(f) ? 0
                                     : emu_occupancy(self(d)->profile, regs_of(self(d), f), threads,
                                                     smem + (int64_t)f->f->smem);
  return 0;
}

/* ---- launches ---- */

/* The kernel's own, or that of the launch. */
static const int *cluster_of(const emu_device *d, const emu_func *f) {
  return f->cluster[0] ? f->cluster : d->cluster;
}

/* A kernel with more than 8 blocks in a cluster would have to opt in on the card. */
static int check_cluster(const emu_device *d, const emu_func *f, const uint32_t grid[3], err *e) {
  const int *c = cluster_of(d, f);
  if (!c[0]) {
    return 0;
  }
  bool divides = c[1] > 0 && c[2] > 0 && c[0] <= EMU_CLUSTER_MAX && c[1] <= EMU_CLUSTER_MAX &&
                 c[2] <= EMU_CLUSTER_MAX;
  for (int i = 0; i < 3 && divides; i++) {
    divides = grid[i] % (uint32_t)c[i] == 0;
  }
  return divides && c[0] * c[1] * c[2] <= EMU_CLUSTER_MAX
             ? 0
             : err_set(
                   e, ERR_LAUNCH,
                   "kernel %s has clusters of %d,%d,%d blocks: a cluster has at most %d, and the grid (%u,%u,%u) must consist of whole clusters",
                   f->name, c[0], c[1], c[2], EMU_CLUSTER_MAX, grid[0], grid[1], grid[2]);
}

static int check_launch(emu_device *d, const rt_function *f, const uint32_t grid[3],
                        const uint32_t block[3], uint32_t smem, err *e) {
  const rt_info *info = &d->device.info;
  uint64_t threads = 1;
  for (int i = 0; i < 3; i++) {
    if (!grid[i] || grid[i] > info->grid_max[i] || !block[i] || block[i] > info->block_max[i]) {
      return err_set(e, ERR_LAUNCH, "grid %u,%u,%u or block %u,%u,%u exceeds the limits of %s",
                     grid[0], grid[1], grid[2], block[0], block[1], block[2], info->name);
    }
    threads *= block[i];
  }
  if (threads > (uint64_t)threads_max(f)) {
    return err_set(
        e, ERR_LAUNCH,
        "%llu threads per block are too many: kernel %s with %d registers per thread can have %d",
        (unsigned long long)threads, f->f->name, regs_of(d, f), threads_max(f));
  }
  for (int i = 0; i < 3; i++) {
    if (f->f->required[i] && (uint32_t)f->f->required[i] != block[i]) {
      return err_set(e, ERR_LAUNCH, "kernel %s requires blocks of %d,%d,%d threads", f->f->name,
                     f->f->required[0], f->f->required[1], f->f->required[2]);
    }
  }
  TRY(check_cluster(d, f->f, grid, e));
  int64_t total = (int64_t)smem + (int64_t)f->f->smem;
  int64_t most = f->smem_dynamic + (int64_t)f->f->smem;
  most = most > info->smem_static ? most : info->smem_static;
  if (total > most) {
    return err_set(
        e, ERR_LAUNCH,
        "%lld bytes of shared memory per block: for more than %lld the kernel must opt in first",
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

/* Tags of blocks continue from launch to launch; all are cleared before they overflow. */
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
  const int *cluster = cluster_of(d, f->f);
  memset(l, 0, sizeof *l);
  l->heap = &d->heap;
  l->objects = &d->objects;
  l->module = f->module->m;
  l->func = f->f;
  memcpy(l->grid, grid, sizeof l->grid);
  memcpy(l->block, block, sizeof l->block);
  l->n_blocks = (uint64_t)grid[0] * grid[1] * grid[2];
  l->sampled = d->sample && (uint64_t)d->sample < l->n_blocks ? (uint64_t)d->sample : l->n_blocks;
  l->cluster_size = 1;
  for (int i = 0; i < 3; i++) {
    l->cluster[i] = cluster[0] ? (uint32_t)cluster[i] : 1;
    l->cluster_size *= (int)l->cluster[i];
  }
  l->sampled = (l->sampled + (uint64_t)l->cluster_size - 1) / (uint64_t)l->cluster_size *
               (uint64_t)l->cluster_size;
  uint64_t clusters = l->sampled / (uint64_t)l->cluster_size;
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
  l->cc = d->profile->cc;
  l->sms = d->profile->sms;
  l->l1_sectors =
      emu_l1_sectors(d->profile, l->regs, l->n_threads, (int64_t)f->f->smem + (int64_t)smem);
  l->print = d->print;
  l->print_context = d->print_context;
  l->tag_base = next_tags(&d->heap, l->n_blocks);
  l->resident = 32;
  l->finding = &d->finding;
  d->finding = (rt_emu_finding){.check = EMU_NO_FINDING};
}

static void take_cost(void *context, const emu_launch *l, const emu_worker *all,
                      const emu_worker *last) {
  emu_device *d = context;
  emu_cost_launch(d->profile, l, all, last, &d->stats);
}

static int run(emu_device *d, emu_launch *l, const emu_func *f, void **args, err *e) {
  uint8_t *params = gather_params(f, args);
  if (!params) {
    return err_nomem(e);
  }
  l->params = params;
  if (d->checks && l->module->has_textures) {
    emu_objects_settle(&d->objects, &d->heap);
  }
  emu_publish_open(l);
  int rc = emu_launch_run(l, host_threads(d), take_cost, d, e);
  emu_publish_close(l);
  free(params);
  d->now += rc ? 0 : d->stats.sec;
  return rc;
}

/* Beside commands of other streams. */
static int run_on(emu_device *d, rt_stream s, emu_launch *l, const emu_func *f, void **args,
                  err *e) {
  char what[170];
  snprintf(what, sizeof what, "kernel %.150s", f->name);
  emu_command *c = l->checks ? emu_command_begin(&d->streams, &d->heap, s, what) : NULL;
  l->touched = c ? &c->touched : NULL;
  const int rc = run(d, l, f, args, e);
  const int clash = emu_command_end(&d->streams, &d->heap, c, &d->finding, rc ? NULL : e);
  return rc ? rc : clash;
}

int emu_launch_op(rt_device *dev, rt_function *f, const uint32_t grid[3], const uint32_t block[3],
                  uint32_t smem, rt_stream s, void **args, err *e) {
  emu_device *d = self(dev);
  emu_launch l;
  TRY(check_launch(d, f, grid, block, smem, e));
  prepare(d, f, grid, block, smem, &l);
  return run_on(d, s, &l, f->f, args, e);
}

/* Do all blocks fit on the profile's card at once? */
static int check_resident(emu_device *d, const rt_function *f, const emu_launch *l, err *e) {
  const int blocks =
      emu_occupancy(d->profile, l->regs, l->n_threads, (int64_t)(f->f->smem + l->dynamic_nbytes));
  if (l->n_blocks <= (uint64_t)blocks * (uint64_t)d->profile->sms) {
    return 0;
  }
  rt_emu_finding *found = &d->finding;
  found->check = EMU_NOT_RESIDENT;
  snprintf(found->kernel, sizeof found->kernel, "%.150s", f->f->name);
  snprintf(found->message, sizeof found->message,
           "grid is not co-resident: kernel %.150s is launched cooperatively with %llu blocks, of "
           "which %d fit on each of %d multiprocessors at once",
           f->f->name, (unsigned long long)l->n_blocks, blocks, d->profile->sms);
  return err_set(e, ERR_LAUNCH, "%s", found->message);
}

int emu_launch_cooperative_op(rt_device *dev, rt_function *f, const uint32_t grid[3],
                              const uint32_t block[3], uint32_t smem, rt_stream s, void **args,
                              err *e) {
  emu_device *d = self(dev);
  emu_launch l;
  TRY(check_launch(d, f, grid, block, smem, e));
  prepare(d, f, grid, block, smem, &l);
  TRY(check_resident(d, f, &l, e));
  l.cooperative = true;
  l.sampled = l.n_blocks; /* a block that does not run would never arrive */
  l.resident = (int)l.n_blocks;
  return run_on(d, s, &l, f->f, args, e);
}
