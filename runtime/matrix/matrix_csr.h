/* matrix_csr.h -- the pattern of a sparse matrix as compressed rows. */
#ifndef MATRIX_CSR_H
#define MATRIX_CSR_H

#include <stdint.h>

typedef struct matrix_csr { /* zero at first */
  int64_t rows, columns, n;
  int64_t *offsets; /* [rows + 1] */
  int32_t *indices; /* of columns, ascending and distinct in a row */
} matrix_csr;

void matrix_csr_clear(matrix_csr *m);

#endif
