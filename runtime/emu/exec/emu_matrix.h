/* emu_matrix.h -- elements of matrices, and their places in the registers of a warp. */
#ifndef EMU_MATRIX_H
#define EMU_MATRIX_H

#include "emu_state.h"

typedef struct emu_position {
  int row, column;
} emu_position;

/* emu_element_value, emu_element_bits -- convert one element to and from a number; the low bits of
 * tf32 are ignored */
double emu_element_value(uint64_t bits, emu_type t);
uint64_t emu_element_bits(double v, emu_type t, bool finite);
/* emu_cut -- a double truncated to f32, as in tensor cores */
double emu_cut(double v);
/* emu_matrix_block -- how many products are added at once: 16 of halves from Hopper on, 8 before;
 * in proportion for other widths */
int emu_matrix_block(const emu_warp *w, emu_type t);
/* emu_position_of -- position of element e of register r in PTX's layouts. matrix: 0 a, 1 b, 2
 * accumulator; each: elements in a register; m: rows of a */
emu_position emu_position_of(int matrix, int lane, int r, int e, int each, int m);

#endif
