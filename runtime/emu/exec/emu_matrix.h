/* emu_matrix.h -- elements of matrices, and where the lanes of a warp hold them. */
#ifndef EMU_MATRIX_H
#define EMU_MATRIX_H

#include "emu_state.h"

typedef struct emu_spot {
  int row, column;
} emu_spot;

/* emu_element_value, emu_element_bits -- one element as a number; of tf32 the low bits are cut */
double emu_element_value(uint64_t bits, emu_type t);
uint64_t emu_element_bits(double v, emu_type t, bool finite);
/* emu_cut -- a double to f32, towards zero, as the tensor cores do it */
double emu_cut(double v);
/* emu_matrix_block -- how many products are added at once */
int emu_matrix_block(const emu_warp *w, emu_type t);
/* emu_spot_of -- element e of register r by PTX's layouts: matrix 0 a, 1 b, 2 accumulator; `each`
 * elements a register; m rows of a */
emu_spot emu_spot_of(int matrix, int lane, int r, int e, int each, int m);

#endif
