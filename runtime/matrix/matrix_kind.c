/* matrix_kind.c -- generators, their parameters, and how large what they make is. */
#include "matrix_kind.h"

#include <math.h>

#include "matrix_rows.h"

static int set_size(matrix_spec *s, double rows, double columns, double entries, err *e) {
  if (rows > INT32_MAX || columns > INT32_MAX) {
    return err_set(e, ERR_LIMIT,
                   "matrix=%s would have %.0f rows and %.0f columns; 2^31-1 are the most",
                   s->kind->name, rows, columns);
  }
  s->rows = (int64_t)rows;
  s->columns = (int64_t)columns;
  s->entries = (int64_t)entries;
  return 0;
}

static int square(matrix_spec *s, double rows, double entries, err *e) {
  return set_size(s, rows, rows, entries, e);
}

/* A cross has 2 * dims neighbours, a box is a product of 3-point lines; without centre in graphs. */
static int stencil(matrix_spec *s, err *e) {
  const double n = s->v[MATRIX_side], points = pow(n, s->kind->dims);
  const double lines = s->kind->dims * 2 * (points - pow(n, s->kind->dims - 1));
  const double box = pow(n > 0 ? 3 * n - 2 : 0, s->kind->dims);
  const double all = s->kind->box ? box : lines + points;
  return square(s, points, n > 0 ? all - (s->kind->graph ? points : 0) : 0, e);
}

static int road(matrix_spec *s, err *e) {
  return square(s, s->v[MATRIX_side] * s->v[MATRIX_side], -1, e);
}

static int torus(matrix_spec *s, err *e) {
  const double rows = 12 * pow(s->v[MATRIX_side], 4);
  if (s->v[MATRIX_side] < 3) {
    return err_set(e, ERR_USAGE, "side=%g of torus39: neighbours differ from 3 on",
                   s->v[MATRIX_side]);
  }
  return square(s, rows, 39 * rows, e);
}

static int fem(matrix_spec *s, err *e) {
  return square(s, s->v[MATRIX_rows], -1, e);
}

static int banded(matrix_spec *s, err *e) {
  const double n = s->v[MATRIX_rows], band = isnan(s->v[MATRIX_band]) ? 0 : s->v[MATRIX_band];
  const double w = fmin(band, n > 0 ? n - 1 : 0);
  return square(s, n, n * (2 * w + 1) - w * (w + 1), e);
}

static int arrow(matrix_spec *s, err *e) {
  const double n = s->v[MATRIX_rows];
  return square(s, n, n > 0 ? 3 * n - 2 : 0, e);
}

static int path_or_star(matrix_spec *s, err *e) {
  const double n = s->v[MATRIX_rows];
  return square(s, n, n > 0 ? 2 * n - 2 : 0, e);
}

static int rmat(matrix_spec *s, err *e) {
  return square(s, ldexp(1, (int)s->v[MATRIX_scale]), -1, e);
}

/* As many columns as rows where they are not given, and a degree that they hold. */
static int complete(matrix_spec *s, err *e) {
  double *columns = &s->v[MATRIX_columns], *degree = &s->v[MATRIX_degree];
  *columns = isnan(*columns) ? s->v[MATRIX_rows] : *columns;
  if (*degree > *columns && s->given & 1u << MATRIX_degree) {
    return err_set(e, ERR_USAGE, "degree=%g of %s: a row has %g columns", *degree, s->kind->name,
                   *columns);
  }
  *degree = isnan(*degree) ? NAN : fmin(*degree, *columns);
  return 0;
}

static int of_degree(matrix_spec *s, err *e) {
  TRY(complete(s, e));
  return set_size(s, s->v[MATRIX_rows], s->v[MATRIX_columns], -1, e);
}

static int of_rows(matrix_spec *s, err *e) { /* square, of a degree */
  s->v[MATRIX_columns] = s->v[MATRIX_rows];
  TRY(complete(s, e));
  s->v[MATRIX_columns] = NAN;
  return square(s, s->v[MATRIX_rows], -1, e);
}

static int uniform(matrix_spec *s, err *e) {
  double *entries = &s->v[MATRIX_entries], *degree = &s->v[MATRIX_degree];
  TRY(complete(s, e));
  if (isnan(*entries)) {
    *entries = floor(s->v[MATRIX_rows] * *degree);
  } else if (s->given & 1u << MATRIX_degree) {
    return err_set(e, ERR_USAGE, "uniform takes a degree or its entries, not both");
  }
  *degree = NAN;
  if (*entries > s->v[MATRIX_rows] * s->v[MATRIX_columns]) {
    return err_set(e, ERR_USAGE, "%.0f entries do not fit %.0f rows and %.0f columns", *entries,
                   s->v[MATRIX_rows], s->v[MATRIX_columns]);
  }
  return set_size(s, s->v[MATRIX_rows], s->v[MATRIX_columns], *entries, e);
}

static int zipf(matrix_spec *s, err *e) {
  enum { LONGEST = 4096 };
  double *longest = &s->v[MATRIX_longest];
  TRY(complete(s, e));
  const double columns = s->v[MATRIX_columns];
  if (*longest > columns) {
    return err_set(e, ERR_USAGE, "longest=%g of zipf: a row has %g columns", *longest, columns);
  }
  *longest = isnan(*longest) ? fmin(LONGEST, columns) : *longest;
  return set_size(s, s->v[MATRIX_rows], columns, -1, e);
}

const matrix_kind matrix_kinds[] = {
    {"stencil5", "side=100", stencil, matrix_stencil_row, 2, false, false, true, true},
    {"stencil9", "side=100", stencil, matrix_stencil_row, 2, true, false, true, true},
    {"stencil7", "side=20", stencil, matrix_stencil_row, 3, false, false, true, true},
    {"stencil27", "side=20", stencil, matrix_stencil_row, 3, true, false, true, true},
    {"torus39", "side=8", torus, matrix_torus_row, .dims = 0},
    {"fem", "rows=4096 block=3 mean=60", fem, matrix_fem_row, .symmetric = true, .diagonal = true},
    {"banded", "rows=4096 band=8", banded, matrix_banded_row, .symmetric = true, .diagonal = true},
    {"diagonal", "rows=4096", banded, matrix_banded_row, .symmetric = true, .diagonal = true},
    {"arrow", "rows=4096", arrow, matrix_arrow_row, .symmetric = true, .diagonal = true},
    {"rmat", "scale=12 degree=16", rmat, NULL, .graph = true, .symmetric = true},
    {"zipf", "rows=4096 columns exponent=1.8 longest", zipf, matrix_zipf_row, .dims = 0},
    {"hub", "rows=4096 degree=4", of_rows, matrix_hub_row, .dims = 0},
    {"empty", "rows=4096 columns degree=8 share=0.9", of_degree, matrix_empty_row, .dims = 0},
    {"wide", "rows=4284 columns=1092610 degree=2633", of_degree, matrix_wide_row, .dims = 0},
    {"uniform", "rows=4096 columns degree=8 entries", uniform, matrix_uniform_row, .dims = 0},
    {"rgg", "rows=4096 degree=14", of_rows, matrix_rgg_row, .graph = true, .symmetric = true},
    {"grid2d", "side=100", stencil, matrix_stencil_row, 2, false, true, true, false},
    {"road", "side=100 keep=0.6", road, matrix_road_row, 2, false, true, true, false},
    {"path", "rows=4096", path_or_star, matrix_path_row, .graph = true, .symmetric = true},
    {"star", "rows=4096", path_or_star, matrix_star_row, .graph = true, .symmetric = true},
    {"blocks", "rows=4096 block=8 degree=8", of_rows, matrix_blocks_row, .dims = 0},
    {NULL},
};
