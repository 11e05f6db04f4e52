/* emu_run.c -- see emu_kernel.h: launches, and the grids that kernels launch. */
#define _GNU_SOURCE
#include "emu_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "emu_children.h"
#include "emu_cost.h"
#include "emu_device_state.h"
#include "emu_launch.h"
#include "emu_publish.h"

enum { STACK_NBYTES = 32 * 1024 };

static emu_device *self(rt_device *d) {
  return (emu_device *)d;
}

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
  if (threads > (uint64_t)emu_function_threads(f)) {
    return err_set(
        e, ERR_LAUNCH,
        "%llu threads per block are too many: kernel %s with %d registers per thread can have %d",
        (unsigned long long)threads, f->f->name, emu_function_regs(d, f), emu_function_threads(f));
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
  l->regs = emu_function_regs(d, f);
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
  l->pending = d->pending > EMU_CHILDREN_PENDING ? (int)d->pending : EMU_CHILDREN_PENDING;
  l->finding = &d->finding;
  d->finding = (rt_emu_finding){.check = EMU_NO_FINDING};
}

static void take_cost(void *context, const emu_launch *l, const emu_worker *all,
                      const emu_worker *last) {
  emu_device *d = context;
  emu_cost_launch(d->profile, l, all, last, &d->stats);
}

/* ---- grids that kernels launch ---- */

/* most grids of one launch by the host: more are taken for an endless chain */
enum { GRIDS_MAX = 1 << 20 };

static int last_first(const void *left, const void *right) {
  const emu_child *a = left, *b = right;
  if (a->state != b->state) {
    return b->state - a->state;
  }
  return a->parent != b->parent ? (a->parent < b->parent) - (a->parent > b->parent)
                                : b->order - a->order;
}

/* Puts a grid's children on the stack of grids to run, tail launches below the others; frees the
 * parameters of those that were never launched, or that the stack has no room for. */
static int push_children(emu_device *d, emu_children *stack, emu_children *c, err *e) {
  int rc = 0;
  if (c->n) {
    qsort(c->p, (size_t)c->n, sizeof *c->p, last_first);
  }
  for (int i = 0; i < c->n; i++) {
    const bool launched = c->p[i].state != CHILD_BUFFER;
    if (launched &&
        array_reserve(&stack->p, (size_t)stack->n + 1, &stack->capacity, sizeof *c->p)) {
      stack->p[stack->n++] = c->p[i];
    } else {
      emu_heap_release(&d->heap, c->p[i].params);
      rc = launched ? err_nomem(e) : rc;
    }
  }
  return rc;
}

static int run_alone(emu_device *d, emu_launch *l, emu_children *children, err *e) {
  l->children = children;
  if (d->checks && l->module->has_textures) {
    emu_objects_settle(&d->objects, &d->heap);
  }
  emu_publish_open(l);
  const int rc = emu_launch_run(l, host_threads(d), take_cost, d, e);
  emu_publish_close(l);
  d->now += rc ? 0 : d->stats.sec;
  l->children = NULL;
  return rc;
}

static int run_grid(emu_device *d, emu_launch *l, emu_children *stack, err *e) {
  emu_children children = {0};
  const int rc = run_alone(d, l, &children, e);
  const int pushed = push_children(d, stack, &children, rc ? NULL : e);
  free(children.p);
  return rc ? rc : pushed;
}

static int refuse_child(emu_device *d, const emu_child *c, const err *why, err *e) {
  rt_emu_finding *found = &d->finding;
  *found = (rt_emu_finding){.check = EMU_CALL};
  snprintf(found->kernel, sizeof found->kernel, "%.150s", c->func->name);
  snprintf(found->place, sizeof found->place, "%s", c->place);
  snprintf(found->message, sizeof found->message,
           "bad call: a kernel launches a grid of %.100s: %.500s", c->func->name, why->message);
  return err_at(e, ERR_LAUNCH, found->place, "%s", found->message);
}

static int64_t opted_in(const rt_module *m, const emu_func *f) {
  int64_t most = 0;
  for (const rt_function *at = m->functions; at; at = at->next) {
    most = at->f == f && at->smem_dynamic > most ? at->smem_dynamic : most;
  }
  return most;
}

static int run_child(emu_device *d, const emu_launch *host, rt_module *m, const emu_child *c,
                     emu_children *stack, err *e) {
  const rt_function f = {NULL, m, c->func, opted_in(m, c->func)};
  emu_launch l;
  err why = {0};
  if (check_launch(d, &f, c->grid, c->block, c->smem, &why)) {
    return refuse_child(d, c, &why, e);
  }
  uint8_t *params = calloc(1, c->func->params_nbytes + 64);
  if (!params) {
    return err_nomem(e);
  }
  memcpy(params, d->heap.data + (c->params - EMU_GLOBAL_BASE), c->func->params_nbytes);
  prepare(d, &f, c->grid, c->block, c->smem, &l);
  l.params = params;
  l.depth = c->depth;
  l.touched = host->touched;
  const int rc = run_grid(d, &l, stack, e);
  free(params);
  return rc;
}

/* Depth first: a grid's children run before its tail launches, and both before its siblings. The
 * statistics are those of the host's launch, their time that of all grids. */
static int run_children(emu_device *d, const emu_launch *host, rt_module *m, emu_children *stack,
                        int rc, err *e) {
  rt_emu_stats first = d->stats;
  err why = {0};
  int cluster[3];
  memcpy(cluster, d->cluster, sizeof cluster);
  memset(d->cluster, 0, sizeof cluster); /* they were set for the host's launch only */
  for (int grids = 0; stack->n; grids++) {
    const emu_child c = stack->p[--stack->n];
    if (!rc && grids == GRIDS_MAX) {
      err_set(&why, ERR_LAUNCH, "%d grids have run before: an endless chain?", GRIDS_MAX);
      rc = refuse_child(d, &c, &why, e);
    }
    if (!rc) {
      rc = run_child(d, host, m, &c, stack, e);
      first.sec += rc ? 0 : d->stats.sec;
    }
    emu_heap_release(&d->heap, c.params);
  }
  d->stats = first;
  memcpy(d->cluster, cluster, sizeof cluster);
  free(stack->p);
  return rc;
}

static int run(emu_device *d, emu_launch *l, const rt_function *f, void **args, err *e) {
  emu_children stack = {0};
  uint8_t *params = gather_params(f->f, args);
  if (!params) {
    return err_nomem(e);
  }
  l->params = params;
  const int rc = run_grid(d, l, &stack, e);
  free(params);
  return run_children(d, l, f->module, &stack, rc, e);
}

/* Beside commands of other streams. */
static int run_on(emu_device *d, rt_stream s, emu_launch *l, const rt_function *f, void **args,
                  err *e) {
  char what[170];
  snprintf(what, sizeof what, "kernel %.150s", f->f->name);
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
  return run_on(d, s, &l, f, args, e);
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
  return run_on(d, s, &l, f, args, e);
}
