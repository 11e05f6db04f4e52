/* emu_module.c -- see emu_module.h. */
#include "emu_module.h"

#include <stdlib.h>
#include <string.h>

void emu_module_free(emu_module *m) {
  if (m) {
    free(m->vars);
    free(m->funcs);
    free(m->relocs);
    free(m->fixups);
    free(m->inlined);
    arena_clear(&m->memory);
    free(m);
  }
}

emu_func *emu_module_kernel(const emu_module *m, const char *name) {
  for (int i = 0; i < m->n_funcs; i++) {
    if (m->funcs[i]->entry && m->funcs[i]->defined && !strcmp(m->funcs[i]->name, name)) {
      return m->funcs[i];
    }
  }
  return NULL;
}

static const emu_func *refused_below(const emu_module *m, const emu_func *f, uint8_t *seen) {
  const emu_func *found = f->refused ? f : NULL;
  for (int i = 0; i < f->n_calls && !found; i++) {
    const int to = f->calls[i];
    if (!seen[to] && !m->funcs[to]->entry) {
      seen[to] = 1;
      found = refused_below(m, m->funcs[to], seen);
    }
  }
  return found;
}

const emu_func *emu_module_refused(const emu_module *m, const emu_func *f) {
  uint8_t seen[EMU_FUNCS_MAX] = {0};
  return refused_below(m, f, seen);
}

int emu_module_usable(const emu_module *m, err *e) {
  const emu_func *first = NULL;
  for (int i = 0; i < m->n_funcs; i++) {
    const emu_func *f = m->funcs[i];
    const emu_func *refused = emu_module_refused(m, f);
    if (f->entry && f->defined && !refused) {
      return 0;
    }
    first = first ? first : refused;
  }
  return first ? err_at(e, ERR_COMPILE, first->refused_at, "%s", first->refused) : 0;
}

static uint64_t address_of(const emu_module *m, emu_place of) {
  return of.is_func ? EMU_CODE_WINDOW + (uint64_t)of.index : m->vars[of.index].address;
}

void emu_module_link(emu_module *m) {
  for (int i = 0; i < m->n_fixups; i++) {
    const emu_fixup *fix = &m->fixups[i];
    uint64_t value = address_of(m, fix->of) + fix->addend;
    for (int lane = 0; lane < 32; lane++) {
      memcpy(m->funcs[fix->func]->pool + fix->offset + lane * fix->bytes, &value,
             (size_t)(fix->bytes > 8 ? 8 : fix->bytes));
    }
  }
  for (int i = 0; i < m->n_relocs; i++) {
    const emu_reloc *r = &m->relocs[i];
    uint64_t value = address_of(m, r->of) + r->addend;
    memcpy((uint8_t *)m->vars[r->var].init + r->offset, &value,
           (size_t)(r->size > 8 ? 8 : r->size));
  }
}
