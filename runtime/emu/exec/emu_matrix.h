/* emu_matrix.h -- matrices in the registers of a warp, and their product. */
#ifndef EMU_MATRIX_H
#define EMU_MATRIX_H

#include "emu_product.h"
#include "emu_state.h"

typedef struct emu_position {
  int row, column;
} emu_position;

/* emu_product_at -- matrix: 0 a, 1 b, 2 c */
static inline double *emu_product_at(const emu_product *x, int matrix, int row, int column) {
  return matrix == 0   ? &x->a[row * x->depth + column]
         : matrix == 1 ? &x->b[row * x->columns + column]
                       : &x->c[row * x->columns + column];
}

/* emu_element_value, emu_element_bits -- convert one element to and from a number; the low bits of
 * tf32 are ignored */
double emu_element_value(uint64_t bits, emu_type t);
uint64_t emu_element_bits(double v, emu_type t, bool finite);
/* emu_decode_elements -- n elements of one or more bytes, one after the other, as numbers */
void emu_decode_elements(const void *from, int n, emu_type t, double *to);
/* emu_transpose -- rows and columns are multiples of 4 */
void emu_transpose(const double *from, int rows, int columns, double *to);
/* emu_decode_register, emu_encode_register -- operand `op` of the instruction: all elements of its
 * lanes, one after the other, as numbers; at most 512 */
void emu_decode_register(const emu_warp *w, const emu_insn *in, int op, emu_type t, double *to);
void emu_encode_register(emu_warp *w, const emu_insn *in, int op, emu_type t, const double *from);
/* emu_matrix_load -- sign times a matrix of PTX's layouts, from the registers ops[at] to
 * ops[at + n - 1]; emu_matrix_store -- c to the first n */
void emu_matrix_load(const emu_warp *w, const emu_insn *in, int at, int n, int matrix, emu_type t,
                     double sign, const emu_product *x);
void emu_matrix_store(emu_warp *w, const emu_insn *in, int n, const emu_product *x);
/* emu_matrix_spread -- the stored elements of a sparse a to their places in 16 rows, whose other elements
 * are zero. Of every four slots of a row two are stored; a slot has a quarter of `chunk` elements, of
 * chunks of two half the chunk. The last of ops is the metadata, more->mode[2] is k */
void emu_matrix_spread(const emu_warp *w, const emu_insn *in, int chunk, int selector,
                       const emu_product *stored, const emu_product *x);
/* emu_multiply -- more->mode: m, n, k, type of a. Products are exact, a group of them is added to the
 * accumulator at once, and the sum is truncated to f32, as far as the hardware's arithmetic is
 * known. src: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ
 * CS 7:e330, 2021 */
void emu_multiply(const emu_warp *w, const emu_insn *in, const emu_product *x);

#endif
