/* matrix_market.h -- sparse and dense matrices in Matrix Market's exchange format, as compressed rows.
 *
 *   %%MatrixMarket matrix coordinate real symmetric
 *   % comments
 *   3 3 2          rows, columns, entries (array: rows, columns)
 *   2 1 0.5        row and column from 1, value (array: a value a line, column by column)
 *   3 3 1e-3
 *
 * All headers are read: coordinate and array; real, integer, complex and pattern; general, symmetric,
 * skew-symmetric and hermitian, whose other half is added. Entries of the same place are added up.
 * src  R. F. Boisvert, R. Pozo, K. Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996 */
#ifndef RT_MATRIX_MARKET_H
#define RT_MATRIX_MARKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum { MATRIX_MOST_ROWS = 1 << 26 }; /* and columns */

typedef struct matrix_entry {
  int32_t row, column;
  double real, imaginary; /* pattern: 1 and 0 */
} matrix_entry;

typedef struct matrix { /* rows one after the other, columns ascending; zero at first */
  int64_t rows, columns, n;
  int64_t *offsets; /* [rows + 1] */
  matrix_entry *entries;
  bool is_complex, is_pattern, is_integer;
} matrix;

/* matrix_market_parse --
 *   in   text  ends with a NUL behind its n bytes
 *        path  for messages
 *   out  *m    matrix_clear
 *   err  ERR_USAGE  what is wrong; place is path:line
 *        ERR_LIMIT  too many rows or columns;  ERR_NOMEM */
int matrix_market_parse(const char *path, const char *text, size_t n, matrix *m, err *e);
void matrix_clear(matrix *m);

#endif
