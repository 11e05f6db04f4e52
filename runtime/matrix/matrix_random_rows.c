/* matrix_random_rows.c -- rows of random columns, and of neighbours among random points. */
#include <math.h>
#include <stdlib.h>

#include "matrix_rows.h"

enum { STRATUM = 32 };

/* ---- distinct columns ------------------------------------------------------------------------ */

/* n distinct numbers below `below`, ascending, plus `from`. src: R. Floyd in J. Bentley, Programming
 * Pearls: a sample of brilliance, CACM 30(9), 1987 */
static void sample_few(uint64_t stream, int64_t from, int64_t below, int64_t n, int32_t *to) {
  for (int64_t i = 0; i < n; i++) {
    const int64_t last = from + below - n + i;
    int64_t x = from + (int64_t)matrix_below(matrix_word(stream, (uint64_t)i),
                                             (uint64_t)(below - n + i + 1));
    int64_t at = i;
    while (at > 0 && to[at - 1] > x) {
      at--;
    }
    if (at > 0 && to[at - 1] == x) { /* taken: the last, above all others */
      x = last;
      at = i;
    }
    for (int64_t k = i; k > at; k--) {
      to[k] = to[k - 1];
    }
    to[at] = (int32_t)x;
  }
}

/* The same of any number; each part of the range gets its share. */
static void sample(uint64_t stream, int64_t below, int64_t n, int32_t *to) {
  const int64_t parts = (n + STRATUM - 1) / STRATUM;
  for (int64_t i = 0; i < parts; i++) {
    const int64_t first = n * i / parts,
                  last = n * (i + 1) / parts; /* n and below are at most 2^31 */
    const int64_t from = first + (below - n) * i / parts,
                  end = last + (below - n) * (i + 1) / parts;
    sample_few(matrix_word(stream, (uint64_t)i), from, end - from, last - first, to + first);
  }
}

static int64_t sample_row(const matrix_spec *s, int64_t row, int64_t n, int32_t *to) {
  if (to) {
    sample(matrix_word(matrix_stream(s, MATRIX_DRAWS_COLUMNS), (uint64_t)row), s->columns, n, to);
  }
  return n;
}

/* Lengths whose mean is the degree. */
static int64_t even_length(double degree, int64_t i) {
  return (int64_t)(floor((double)(i + 1) * degree) - floor((double)i * degree));
}

static double unit(uint64_t word) {
  return (double)(word >> 11) * 0x1p-53;
}

static uint64_t length_word(const matrix_spec *s, int64_t row) {
  return matrix_word(matrix_stream(s, MATRIX_DRAWS_LENGTHS), (uint64_t)row);
}

/* ---- rows ------------------------------------------------------------------------------------ */

int64_t matrix_uniform_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  const __int128 n = matrix_whole(s, MATRIX_entries);
  (void)t;
  return sample_row(s, row, (int64_t)(n * (row + 1) / s->rows - n * row / s->rows), to);
}

int64_t matrix_hub_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  (void)t;
  const int64_t n = row == s->rows / 2 ? s->columns : even_length(s->v[MATRIX_degree], row);
  return sample_row(s, row, n, to);
}

int64_t matrix_empty_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  (void)t;
  const bool empty = length_word(s, row) < matrix_chance(s->v[MATRIX_share]);
  return empty ? 0 : sample_row(s, row, even_length(s->v[MATRIX_degree], row), to);
}

/* Lengths from 0 to three times their mean, short ones more often. */
int64_t matrix_wide_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  (void)t;
  const double u = unit(length_word(s, row));
  const double n = floor(3 * s->v[MATRIX_degree] * u * u + 0.5);
  return sample_row(s, row, n < (double)s->columns ? (int64_t)n : s->columns, to);
}

/* Length k is as frequent as k^-exponent. */
int64_t matrix_zipf_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  const double u = unit(length_word(s, row));
  int64_t low = 0, high = matrix_whole(s, MATRIX_longest);
  while (low < high) { /* the first share above u */
    const int64_t middle = (low + high) / 2;
    if (t->shares[middle] > u) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const int64_t n = low + 1;
  return sample_row(s, row, n < s->columns ? n : s->columns, to);
}

/* Dense blocks at random places, in a row of blocks after the other. */
int64_t matrix_blocks_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  const int64_t block = matrix_whole(s, MATRIX_block), band = row / block;
  const int64_t across = (s->columns + block - 1) / block,
                wanted = even_length(s->v[MATRIX_degree], band);
  const int64_t n = wanted < across ? wanted : across;
  (void)t;
  int32_t few[STRATUM], *list = n <= STRATUM ? few : malloc((size_t)n * sizeof *list);
  int64_t length = list ? 0 : -1;
  if (list) {
    sample(matrix_word(matrix_stream(s, MATRIX_DRAWS_COLUMNS), (uint64_t)band), across, n, list);
  }
  for (int64_t i = 0; list && i < n * block; i++) {
    const int64_t column = (int64_t)list[i / block] * block + i % block;
    if (column < s->columns) {
      if (to) {
        to[length] = (int32_t)column;
      }
      length++;
    }
  }
  if (list != few) {
    free(list);
  }
  return length;
}

/* ---- random geometric graphs ----------------------------------------------------------------- */

static uint64_t squared(uint32_t a, uint32_t b) {
  const uint64_t d = a > b ? a - b : b - a;
  return d * d;
}

/* Points are numbered cell by cell, so that those of neighbouring cells of a line follow each other. */
int64_t matrix_rgg_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  const int64_t side = t->n_cells;
  const int64_t cx = (int64_t)matrix_below((uint64_t)t->x[row] << 32, (uint64_t)side);
  const int64_t cy = (int64_t)matrix_below((uint64_t)t->y[row] << 32, (uint64_t)side);
  const uint64_t most = t->radius * t->radius;
  int64_t n = 0;
  (void)s;
  for (int64_t y = cy > 0 ? cy - 1 : 0; y <= cy + 1 && y < side; y++) {
    const int64_t from = cx > 0 ? cx - 1 : 0, end = cx + 2 < side ? cx + 2 : side;
    for (int64_t i = t->cells[y * side + from]; i < t->cells[y * side + end]; i++) {
      const uint64_t dx = squared(t->x[i], t->x[row]), dy = squared(t->y[i], t->y[row]);
      if (i != row && dx <= most && dy <= most - dx) {
        if (to) {
          to[n] = (int32_t)i;
        }
        n++;
      }
    }
  }
  return n;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int make_shares(const matrix_spec *s, matrix_tables *t, err *e) {
  const int64_t n = matrix_whole(s, MATRIX_longest);
  double sum = 0;
  t->shares = malloc((size_t)(n + 1) * sizeof *t->shares);
  TRY(t->shares ? 0 : err_nomem(e));
  for (int64_t i = 0; i < n; i++) {
    sum += pow((double)(i + 1), -s->v[MATRIX_exponent]);
    t->shares[i] = sum;
  }
  for (int64_t i = 0; i < n; i++) {
    t->shares[i] /= sum;
  }
  return 0;
}

static int64_t cell_of(const matrix_tables *t, uint64_t word) {
  const uint64_t x = word & ~(uint64_t)UINT32_MAX, y = word << 32, side = (uint64_t)t->n_cells;
  return (int64_t)(matrix_below(y, side) * side + matrix_below(x, side));
}

/* Points in the order of their cells: counted, then each to its place. */
static int make_points(const matrix_spec *s, matrix_tables *t, err *e) {
  const uint64_t stream = matrix_stream(s, MATRIX_DRAWS_COLUMNS);
  const double area = s->v[MATRIX_degree] / (3.14159265358979 * (double)s->rows);
  const double radius = s->rows && area < 1 ? sqrt(area) : 1;
  t->radius = radius < 0x1p-32 ? 1 : (uint64_t)(radius * 0x1.fffffffep31);
  t->n_cells = (int64_t)fmin(fmax(floor(1 / radius), 1), sqrt((double)s->rows + 1));
  const int64_t cells = t->n_cells * t->n_cells;
  t->cells = calloc((size_t)cells + 2, sizeof *t->cells);
  t->x = malloc((size_t)(s->rows + 1) * sizeof *t->x);
  t->y = malloc((size_t)(s->rows + 1) * sizeof *t->y);
  TRY(t->cells && t->x && t->y ? 0 : err_nomem(e));
  int64_t *next = t->cells + 1; /* cell c begins at next[c] while its points are placed */
  for (int64_t i = 0; i < s->rows; i++) {
    next[cell_of(t, matrix_word(stream, (uint64_t)i)) + 1]++;
  }
  for (int64_t c = 0; c < cells; c++) {
    next[c + 1] += next[c];
  }
  for (int64_t i = 0; i < s->rows; i++) {
    const uint64_t word = matrix_word(stream, (uint64_t)i);
    const int64_t at = next[cell_of(t, word)]++;
    t->x[at] = (uint32_t)(word >> 32);
    t->y[at] = (uint32_t)word;
  }
  return 0;
}

int matrix_tables_make(const matrix_spec *s, matrix_tables *t, err *e) {
  *t = (matrix_tables){0};
  return s->kind->row == matrix_zipf_row  ? make_shares(s, t, e)
         : s->kind->row == matrix_rgg_row ? make_points(s, t, e)
                                          : 0;
}

void matrix_tables_clear(matrix_tables *t) {
  free(t->shares);
  free(t->x);
  free(t->y);
  free(t->cells);
  *t = (matrix_tables){0};
}
