/* emu_product.h -- the inner loops of matrix products, for the host's processor. */
#ifndef EMU_PRODUCT_H
#define EMU_PRODUCT_H

#include "emu_type.h"

typedef struct emu_product { /* of mma and wgmma: c + a b, row by row */
  double *a, *b, *c;
  int depth, columns; /* room of a row: of a; of b and c */
} emu_product;

/* PRODUCT_exact: sums are exact or wrap; _cut: truncated to f32 after each group of `group` products;
 * _fused: rounded after each */
typedef enum emu_product_how { PRODUCT_exact, PRODUCT_cut, PRODUCT_fused } emu_product_how;

typedef struct emu_product_loops {
  void (*multiply)(const emu_product *x, int m, int n, int k, int group, emu_product_how how);
  /* rows and columns are multiples of 4 */
  void (*transpose)(const double *from, int rows, int columns, double *to);
  /* n elements to and from numbers; false: not a type that these loops convert */
  bool (*decode)(emu_type t, const void *from, int n, double *to);
  bool (*encode)(emu_type t, const double *from, int n, void *to);
} emu_product_loops;

extern const emu_product_loops emu_product_base;
#ifdef __x86_64__
extern const emu_product_loops emu_product_avx2;
#endif

#endif
