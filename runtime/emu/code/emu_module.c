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
