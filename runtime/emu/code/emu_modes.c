/* emu_modes.c -- atomics: their names and types. src: PTX ISA 9.0, 9.7.13 (atom). */
#include "emu_modes.h"

#include <stddef.h>

const char *const emu_atom_names[] = {"add", "inc", "dec",  "min", "max", "and",
                                      "or",  "xor", "exch", "cas", NULL};

bool emu_atom_fits(int op, emu_type t) {
  int b = emu_type_bytes(t);
  char kind = emu_type_kind(t);
  if (op == ATOM_exch || op == ATOM_cas) {
    return b == 2 || b == 4 || b == 8 || b == 16;
  }
  if (kind == 'f' || t == T_f16x2 || t == T_bf16x2) {
    const bool known = t == T_f16 || t == T_bf16 || t == T_f32 || t == T_f64 || kind == 'v';
    return known &&
           (op == ATOM_add || ((op == ATOM_min || op == ATOM_max) && t != T_f32 && t != T_f64));
  }
  return (kind == 'b' || kind == 'u' || kind == 's') && (b == 4 || b == 8);
}
