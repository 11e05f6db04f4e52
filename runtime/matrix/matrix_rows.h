/* matrix_rows.h -- generators that give a matrix row by row, each row by itself. */
#ifndef MATRIX_ROWS_H
#define MATRIX_ROWS_H

#include "matrix_spec.h"

typedef struct matrix_tables { /* what rows of a generator share; zero: none */
  double *shares;              /* zipf: of lengths up to i + 1 */
  uint32_t *x, *y;             /* rgg: points, cell by cell */
  int64_t *cells;              /* rgg: where each cell's points begin */
  int64_t n_cells;             /* along a side */
  uint64_t radius;             /* of the square's side, 2^32 */
} matrix_tables;

int matrix_tables_make(const matrix_spec *s, matrix_tables *t, err *e);
void matrix_tables_clear(matrix_tables *t);

matrix_row matrix_stencil_row, matrix_torus_row, matrix_fem_row, matrix_banded_row,
    matrix_arrow_row, matrix_zipf_row, matrix_hub_row, matrix_empty_row, matrix_wide_row,
    matrix_uniform_row, matrix_rgg_row, matrix_road_row, matrix_path_row, matrix_star_row,
    matrix_blocks_row;

#endif
