/* emu_kernel.c -- see emu_kernel.h. */
#define _GNU_SOURCE
#include "emu_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu_decode.h"
#include "emu_device_state.h"
#include "emu_module.h"

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
int emu_function_regs(const emu_device *d, const rt_function *f) {
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

int emu_function_threads(const rt_function *f) {
  return f->f->max_threads ? f->f->max_threads : 1024;
}

int emu_function_info_op(rt_device *d, rt_function *f, rt_function_info *info, err *e) {
  (void)e;
  *info = (rt_function_info){emu_function_regs(self(d), f), emu_function_threads(f),
                             (int64_t)f->f->smem, (int64_t)f->f->frame_nbytes, f->f->grid_barrier};
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

int emu_pending_launches_op(rt_device *d, uint32_t n, err *e) {
  (void)e;
  self(d)->pending = n > self(d)->pending ? n : self(d)->pending;
  return 0;
}

int emu_occupancy_op(rt_device *d, rt_function *f, int threads, int64_t smem, int *blocks, err *e) {
  (void)e;
  *blocks = threads > emu_function_threads(f)
                ? 0
                : emu_occupancy(self(d)->profile, emu_function_regs(self(d), f), threads,
                                smem + (int64_t)f->f->smem);
  return 0;
}
