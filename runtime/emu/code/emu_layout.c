/* emu_layout.c -- computed once a module is parsed: the layout of shared memory, the depth of
 * stacks, which functions are built in or missing. */
#include <stdlib.h>
#include <string.h>

#include "emu_module.h"

enum { SHARED_MAX = 16 << 20 };

static uint64_t align_up(uint64_t n, uint64_t align) {
  return (n + align - 1) / align * align;
}

static uint64_t place_shared(emu_module *m, int owner, uint64_t at) {
  for (int i = 0; i < m->n_vars; i++) {
    emu_var *v = &m->vars[i];
    if (v->space == SPACE_shared && !v->external && v->owner == owner) {
      v->address = align_up(at, v->align);
      at = v->address + v->nbytes;
    }
  }
  return at;
}

/* Shared memory holds what the system reserves, the module's variables, then those of device
 * functions, then each kernel's own at the same place, then the dynamic part. func->smem counts only the variables that a kernel
 * uses; the layout may skip more. */
static void layout_shared(emu_module *m) {
  const uint64_t reserved = m->has_reserved_smem ? EMU_RESERVED_SMEM : 0;
  uint64_t common = place_shared(m, -1, reserved), most, align = 16;
  for (int f = 0; f < m->n_funcs; f++) {
    common = m->funcs[f]->entry ? common : place_shared(m, f, common);
  }
  most = common;
  for (int f = 0; f < m->n_funcs; f++) {
    uint64_t end = m->funcs[f]->entry ? place_shared(m, f, common) : common;
    most = end > most ? end : most;
  }
  for (int i = 0; i < m->n_vars; i++) {
    const emu_var *v = &m->vars[i];
    align = v->space == SPACE_shared && v->external && v->align > align ? v->align : align;
  }
  m->smem_static = most;
  m->smem_dynamic_at = align_up(most, align);
  for (int i = 0; i < m->n_vars; i++) {
    if (m->vars[i].space == SPACE_shared && m->vars[i].external) {
      m->vars[i].address = m->smem_dynamic_at;
    }
  }
}

/* depth first over calls; state: 0 not visited, 1 being visited, 2 done */
static size_t depth_of(emu_module *m, int index, uint8_t *state) {
  emu_func *f = m->funcs[index];
  size_t deepest = 0;
  if (state[index] == 2) {
    return f->depth_nbytes;
  }
  if (state[index] == 1) {
    return SIZE_MAX;
  }
  state[index] = 1;
  for (int i = 0; i < f->n_calls; i++) {
    if (m->funcs[f->calls[i]]->entry) {
      continue; /* it launches this kernel, with a stack of its own */
    }
    size_t below = depth_of(m, f->calls[i], state);
    deepest = below > deepest ? below : deepest;
  }
  state[index] = 2;
  f->depth_nbytes =
      deepest == SIZE_MAX || f->indirect ? SIZE_MAX : deepest + align_up(f->frame_nbytes, 16);
  return f->depth_nbytes;
}

static void mark(const emu_module *m, int index, uint8_t *seen) {
  if (!seen[index]) {
    seen[index] = 1;
    for (int i = 0; i < m->funcs[index]->n_calls; i++) {
      const int to = m->funcs[index]->calls[i];
      if (!m->funcs[to]->entry) {
        mark(m, to, seen);
      }
    }
  }
}

/* does a function that the kernel reaches declare or name the variable? */
static bool needs(const emu_module *m, const uint8_t *seen, int var) {
  for (int f = 0; f < m->n_funcs; f++) {
    if (seen[f] &&
        (m->vars[var].owner == f ||
         (var < m->funcs[f]->n_uses && m->funcs[f]->uses[var] && m->vars[var].owner < 0))) {
      return true;
    }
  }
  return false;
}

static void count_shared(emu_module *m, int kernel, uint8_t *seen) {
  uint64_t at = 0;
  memset(seen, 0, (size_t)m->n_funcs);
  mark(m, kernel, seen);
  for (int i = 0; i < m->n_vars; i++) {
    const emu_var *v = &m->vars[i];
    if (v->space == SPACE_shared && !v->external && needs(m, seen, i)) {
      at = align_up(at, v->align) + v->nbytes;
    }
  }
  m->funcs[kernel]->smem = at;
}

static int find_builtins(emu_module *m, err *e) {
  static const char *const names[] = {"",
                                      "vprintf",
                                      "__assertfail",
                                      "malloc",
                                      "free",
                                      "__cudaCDP2GetParameterBufferV2",
                                      "__cudaCDP2LaunchDeviceV2",
                                      "__cudaCDP2GetLastError",
                                      "__cudaCDP2PeekAtLastError",
                                      "__cudaCDP2GetDevice",
                                      "__cudaCDP2GetDeviceCount",
                                      "__cudaCDP2StreamCreateWithFlags",
                                      "__cudaCDP2StreamDestroy",
                                      "cudaGraphSetConditional"};
  for (int f = 0; f < m->n_funcs; f++) {
    emu_func *func = m->funcs[f];
    for (int i = 1; i < (int)(sizeof names / sizeof *names) && !func->defined; i++) {
      func->builtin = strcmp(func->name, names[i]) ? func->builtin : i;
    }
  }
  for (int f = 0; f < m->n_funcs; f++) {
    emu_func *func = m->funcs[f];
    for (int i = 0; i < func->n_calls && !func->refused; i++) {
      const emu_func *called = m->funcs[func->calls[i]];
      if (!called->defined && !called->builtin) {
        func->refused = arena_format(
            &m->memory,
            "%s calls %s, which the PTX does not define; device libraries are not linked",
            func->name, called->name);
        func->refused_at = "";
        TRY(func->refused ? 0 : err_nomem(e));
      }
    }
  }
  return 0;
}

int emu_module_layout(emu_module *m, err *e) {
  if (m->n_funcs > EMU_FUNCS_MAX) {
    return err_set(e, ERR_LIMIT, "the PTX module has more than %d functions", EMU_FUNCS_MAX);
  }
  TRY(find_builtins(m, e));
  TRY(emu_module_usable(m, e));
  uint8_t *state = arena_new(&m->memory, 2 * (size_t)m->n_funcs + 1);
  if (!state) {
    return err_nomem(e);
  }
  layout_shared(m);
  if (m->smem_dynamic_at > SHARED_MAX) {
    return err_set(e, ERR_LIMIT, "the PTX module needs more than %d bytes of shared memory",
                   SHARED_MAX);
  }
  for (int f = 0; f < m->n_funcs; f++) {
    if (m->funcs[f]->n && !emu_live(m->funcs[f])) {
      return err_nomem(e);
    }
    depth_of(m, f, state);
  }
  for (int f = 0; f < m->n_funcs; f++) {
    if (m->funcs[f]->entry) {
      count_shared(m, f, state + m->n_funcs);
    }
  }
  return 0;
}
