/* emu_emit.h -- emits the instruction of an arithmetic operation: function, pipe, weight, operands. */
#ifndef EMU_EMIT_H
#define EMU_EMIT_H

#include "emu_operands.h"

typedef struct emu_shape { /* lane widths of the result and the operands; -2 ends */
  int d, s[4];
} emu_shape;

typedef struct emu_options {
  emu_round round;
  bool ftz, sat;
} emu_options;
static const emu_options emu_plain = {ROUND_none, false, false};

/* emu_same_width -- a result and n operands of t's width */
emu_shape emu_same_width(emu_type t, int n);
/* emu_take_options -- take the modifiers for rounding, .ftz and .sat */
emu_options emu_take_options(emu_parser *p);
/* emu_flushes -- can .ftz flush subnormals of this type? Those of f64 are never flushed. */
static inline bool emu_flushes(emu_type t) {
  return t == T_f32 || t == T_f16 || t == T_f16x2;
}
/* emu_emit -- t selects the function, s the widths */
int emu_emit(emu_parser *p, emu_op op, emu_type t, emu_shape s, emu_options o);

#endif
