/* matrix_pairs.h -- compressed rows from pairs of a row and a column in any order, also repeated ones. */
#ifndef MATRIX_PAIRS_H
#define MATRIX_PAIRS_H

#include "matrix_csr.h"
#include "matrix_spec.h"

typedef void matrix_put(void *sink, int64_t row, int64_t column);

typedef struct matrix_pairs { /* of n things, edges or rows; each range is asked for twice */
  void *self;
  int64_t n;
  void (*range)(void *self, int64_t first, int64_t end, matrix_put *put, void *sink);
} matrix_pairs;

/* matrix_pairs_make -- m->rows and m->columns are set; repeated pairs are one entry */
int matrix_pairs_make(const matrix_pairs *pairs, size_t threads, matrix_csr *m, err *e);
/* matrix_rmat -- a graph of Kronecker type: each edge twice, vertices in random order, no loops.
 *   src  D. Chakrabarti, Y. Zhan, C. Faloutsos, "R-MAT: a recursive model for graph mining", SDM 2004; the
 *        shares of Graph500 */
int matrix_rmat(const matrix_spec *s, size_t threads, matrix_csr *m, err *e);
/* matrix_symmetrise -- add the transpose, and the diagonal where it is wanted */
int matrix_symmetrise(bool diagonal, size_t threads, matrix_csr *m, err *e);
/* matrix_shuffle -- rows and columns in the same random order */
int matrix_shuffle(const matrix_spec *s, size_t threads, matrix_csr *m, err *e);
/* matrix_room -- do this many entries fit this host? err ERR_LIMIT */
int matrix_room(int64_t rows, double entries, err *e);

#endif
