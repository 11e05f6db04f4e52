/* matrix_rows.c -- rows with a regular structure. */
#include "matrix_rows.h"

static int64_t put(int32_t *to, int64_t n, int64_t column) {
  if (to) {
    to[n] = (int32_t)column;
  }
  return n + 1;
}

/* ---- grids ----------------------------------------------------------------------------------- */

/* Is the edge between two points of a road there? */
static bool is_kept(const matrix_spec *s, int64_t a, int64_t b) {
  const uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
  const uint64_t point = matrix_word(matrix_stream(s, MATRIX_DRAWS_COLUMNS), low);
  return matrix_word(point, high) < matrix_chance(s->v[MATRIX_keep]);
}

/* The points of a line of the stencil, x - 1 to x + 1, of which a cross has the middle off its axes. */
static int64_t put_line(const matrix_spec *s, int64_t n, int64_t row, const int64_t at[3],
                        int off_axis, int32_t *to) {
  const int64_t side = matrix_whole(s, MATRIX_side);
  const int reach = s->kind->box ? 1 : off_axis == 0;
  for (int64_t x = at[0] - reach; x <= at[0] + reach; x++) {
    const int64_t column = x + side * (at[1] + side * at[2]);
    const bool inside = x >= 0 && x < side && (column != row || !s->kind->graph);
    if (inside && (s->kind->row != matrix_road_row || is_kept(s, row, column))) {
      n = put(to, n, column);
    }
  }
  return n;
}

int64_t matrix_stencil_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  const int64_t side = matrix_whole(s, MATRIX_side);
  const int64_t x = row % side, y = row / side % side, z = row / side / side;
  const int deep = s->kind->dims == 3;
  int64_t n = 0;
  (void)t;
  for (int64_t c = z - deep; c <= z + deep; c++) {
    for (int64_t b = y - 1; b <= y + 1; b++) {
      const int off_axis = (b != y) + (c != z);
      if (b >= 0 && b < side && c >= 0 && (c < side || !deep) && (s->kind->box || off_axis < 2)) {
        n = put_line(s, n, row, (const int64_t[]){x, b, c}, off_axis, to);
      }
    }
  }
  return n;
}

int64_t matrix_road_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  return matrix_stencil_row(s, t, row, to);
}

/* A lattice of quantum chromodynamics: 4 spins of 3 colours a site. The hopping term couples, in the three
 * directions of space, a spin with itself and one other, both ways; in time the upper spins forwards
 * and the lower ones backwards: 36 + 3 entries, as conf5_4-8x8 has. */
static int64_t put_site(int64_t n, int64_t site, unsigned spins, int32_t *to) {
  for (int i = 0; i < 12; i++) {
    if (spins >> i / 3 & 1) {
      n = put(to, n, 12 * site + i);
    }
  }
  return n;
}

typedef struct neighbour {
  int64_t site;
  unsigned spins;
} neighbour;

int64_t matrix_torus_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  enum { SPACE = 6, ALL = 7 };
  static const unsigned other[3] = {3, 3, 2}; /* a spin's partner in each direction, by xor */
  const int64_t side = matrix_whole(s, MATRIX_side), site = row / 12, spin = row % 12 / 3;
  neighbour list[ALL];
  int64_t n = 0, step = 1;
  (void)t;
  for (int i = 0; i < ALL; i++) {
    const int64_t here = site / step % side;
    const int64_t there = (here + (i == SPACE ? (spin < 2 ? 1 : side - 1)
                                   : i % 2    ? 1
                                              : side - 1)) %
                          side;
    const unsigned spins = i == SPACE ? 1u << spin : 1u << spin | 1u << (spin ^ other[i / 2]);
    neighbour x = {site + (there - here) * step, spins};
    int at = i;
    for (; at > 0 && list[at - 1].site > x.site; at--) {
      list[at] = list[at - 1];
    }
    list[at] = x;
    step *= i % 2 ? side : 1;
  }
  for (int i = 0; i < ALL; i++) {
    n = put_site(n, list[i].site, list[i].spins, to);
  }
  return n;
}

/* ---- others ---------------------------------------------------------------------------------- */

static int64_t put_range(int64_t n, int64_t from, int64_t end, int32_t *to) {
  for (int64_t i = from; i < end; i++) {
    n = put(to, n, i);
  }
  return n;
}

int64_t matrix_banded_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  const double width = s->v[MATRIX_band]; /* a diagonal has none: NAN */
  const int64_t band = width > 0 ? (int64_t)width : 0;
  const int64_t from = row < band ? 0 : row - band;
  const int64_t end = s->rows - row <= band ? s->rows : row + band + 1;
  (void)t;
  return to ? put_range(0, from, end, to) : end - from;
}

int64_t matrix_arrow_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  const int64_t last = s->rows - 1;
  (void)t;
  if (row == last) {
    return to ? put_range(0, 0, s->rows, to) : s->rows;
  }
  return put(to, put(to, 0, row), last);
}

int64_t matrix_path_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  (void)t;
  const int64_t n = row > 0 ? put(to, 0, row - 1) : 0;
  return row + 1 < s->rows ? put(to, n, row + 1) : n;
}

int64_t matrix_star_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  (void)t;
  if (row > 0) {
    return put(to, 0, 0);
  }
  return to ? put_range(0, 1, s->rows, to) : s->rows - 1;
}

/* Nodes of `block` unknowns each. A node is coupled with a third of those within 1.5 times its mean number
 * of neighbours, so that the lengths of rows have nearly a normal distribution. */
int64_t matrix_fem_row(const matrix_spec *s, const matrix_tables *t, int64_t row, int32_t *to) {
  const int64_t block = matrix_whole(s, MATRIX_block), node = row / block;
  const double others = s->v[MATRIX_mean] / (double)block - 1;
  const int64_t reach = others > 0 ? (int64_t)(1.5 * others) + 1 : 0;
  const uint64_t chance = matrix_chance(reach ? others / (2.0 * (double)reach) : 0);
  const uint64_t stream = matrix_stream(s, MATRIX_DRAWS_COLUMNS);
  const int64_t nodes = (s->rows + block - 1) / block;
  int64_t n = 0;
  (void)t;
  for (int64_t i = node < reach ? 0 : node - reach; i <= node + reach && i < nodes; i++) {
    const uint64_t low = (uint64_t)(i < node ? i : node), high = (uint64_t)(i < node ? node : i);
    if (i == node || matrix_word(matrix_word(stream, low), high) < chance) {
      const int64_t end = (i + 1) * block;
      n = put_range(n, i * block, end < s->rows ? end : s->rows, to);
    }
  }
  return n;
}
