/* emu_type.c -- names, widths and kinds of PTX types. */
#include "emu_type.h"

#include <string.h>

static const struct {
  const char *name;
  int nbytes;
  char kind;
} types[] = {
#define ROW(name, nbytes, kind) [T_##name] = {#name, nbytes, kind},
    EMU_TYPES(ROW)
#undef ROW
};

int emu_type_bytes(emu_type t) {
  return t < T_COUNT ? types[t].nbytes : 0;
}

char emu_type_kind(emu_type t) {
  return t < T_COUNT ? types[t].kind : 0;
}

emu_type emu_type_parse(const char *name, int n) {
  for (int t = 0; t < T_COUNT; t++) {
    if (types[t].name[0] == name[0] && (int)strlen(types[t].name) == n &&
        !memcmp(types[t].name, name, (size_t)n)) {
      return (emu_type)t;
    }
  }
  return T_none;
}

emu_type emu_type_unsigned(emu_type t) {
  char kind = emu_type_kind(t);
  if (kind != 's' && kind != 'b') {
    return t;
  }
  switch (emu_type_bytes(t)) {
  case 1: return T_u8;
  case 2: return T_u16;
  case 4: return T_u32;
  case 8: return T_u64;
  default: return t;
  }
}
