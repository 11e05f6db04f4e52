/* emu_shared_name.c -- see emu_shared_name.h. */
#include "emu_shared_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* where a mangled name's last part begins, whose length stands before it; 0: nowhere */
static int last_part(const char *name, int n) {
  for (int at = n - 1; at > 2; at--) {
    int digits = at;
    while (digits > 2 && is_digit(name[digits - 1])) {
      digits--;
    }
    if (digits < at && strchr("ELZ", name[digits - 1]) && atoi(name + digits) == n - at) {
      return at;
    }
  }
  return 0;
}

/* The variable's own name in a mangled one: "s" of "_ZZ4copyPfE1s" and of "_ZZ4copyPfE1s_0". */
static const char *plain_name(const char *name, int *n) {
  int end = *n;
  if (end < 4 || memcmp(name, "_Z", 2)) {
    return name;
  }
  int at = last_part(name, end);
  while (!at && is_digit(name[end - 1])) {
    end--;
  }
  end -= !at && name[end - 1] == '_';
  at = at ? at : last_part(name, end);
  *n = at ? end - at : *n;
  return name + at;
}

static uint64_t element_of(const emu_var *v, int width) {
  uint64_t n = v->element > 1 ? v->element : (uint64_t)width;
  return v->element <= 1 && v->align < n ? v->align : n;
}

void emu_shared_name(const emu_warp *w, uint64_t address, int width, char out[EMU_SHARED_NAME]) {
  const emu_module *m = w->launch->module;
  snprintf(out, EMU_SHARED_NAME, "shared address %llu", (unsigned long long)address);
  for (int i = 0; i < m->n_vars; i++) {
    const emu_var *v = &m->vars[i];
    bool mine = v->owner < 0 || m->funcs[v->owner] == w->launch->func || !m->funcs[v->owner]->entry;
    if (v->space != SPACE_shared || !mine || address < v->address ||
        (!v->external && address >= v->address + v->nbytes)) {
      continue;
    }
    int n = (int)v->name_n;
    const char *name = plain_name(v->name, &n);
    snprintf(out, EMU_SHARED_NAME, "%.*s[%llu]", n < 60 ? n : 60, name,
             (unsigned long long)((address - v->address) / element_of(v, width)));
    if (!v->external) {
      return;
    }
  }
}

int emu_shared_width(const emu_insn *in, int n) {
  int width = n > 4 && n % 4 == 0 ? emu_type_bytes((emu_type)in->type) : n;
  return width < 1 ? n : width;
}
