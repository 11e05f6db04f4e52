/* test_matrix_input.c -- generators of matrices: how large they are, that rows are in order, the same on any
 * number of threads, and what parameters are refused. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "file.h"
#include "matrix_input.h"
#include "matrix_text.h"
#include "random.h"

typedef struct lists { /* of a matrix */
  int64_t rows, columns, n;
  int64_t *offsets;
  int32_t *indices;
  double *values;
} lists;

static void put(const matrix_input *m, matrix_part part, dtype type, int64_t n, void *to) {
  err e = {0};
  assert_ok(matrix_input_put(m, part, "x", type, (uint64_t)n, to, &e), &e);
}

static lists open_lists(const char *text, size_t threads) {
  matrix_input *m;
  lists x;
  err e = {0};
  assert_ok(matrix_input_open(text, threads, &m, &e), &e);
  matrix_input_size(m, &x.rows, &x.columns, &x.n);
  x.offsets = malloc((size_t)(x.rows + 1) * sizeof *x.offsets);
  x.indices = malloc((size_t)(x.n + 1) * sizeof *x.indices);
  x.values = malloc((size_t)(x.n + 1) * sizeof *x.values);
  assert_true(x.offsets && x.indices && x.values);
  put(m, MATRIX_PART_offsets, DTYPE_i64, x.rows + 1, x.offsets);
  put(m, MATRIX_PART_columns, DTYPE_i32, x.n, x.indices);
  put(m, MATRIX_PART_values, DTYPE_f64, x.n, x.values);
  matrix_input_close(m);
  return x;
}

static void close_lists(lists *x) {
  free(x->offsets);
  free(x->indices);
  free(x->values);
}

/* Offsets ascend, columns ascend in a row and are those of the matrix, no value is 0. */
static void check_order(const lists *x) {
  assert_int_equal(x->offsets[0], 0);
  assert_int_equal(x->offsets[x->rows], x->n);
  for (int64_t row = 0; row < x->rows; row++) {
    assert_true(x->offsets[row] <= x->offsets[row + 1]);
    for (int64_t i = x->offsets[row]; i < x->offsets[row + 1]; i++) {
      assert_in_range(x->indices[i], 0, (uint64_t)x->columns - 1);
      assert_true(i == x->offsets[row] || x->indices[i - 1] < x->indices[i]);
      assert_true(x->values[i] != 0 && x->values[i] == (float)x->values[i]);
    }
  }
}

/* The entry's place; -1: there is none. */
static int64_t find(const lists *x, int64_t row, int64_t column) {
  int64_t low = x->offsets[row], high = x->offsets[row + 1];
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (x->indices[middle] < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < x->offsets[row + 1] && x->indices[low] == column ? low : -1;
}

static void check_symmetric(const lists *x) {
  for (int64_t row = 0; row < x->rows; row++) {
    for (int64_t i = x->offsets[row]; i < x->offsets[row + 1]; i++) {
      const int64_t other = find(x, x->indices[i], row);
      assert_true(other >= 0 && x->values[other] == x->values[i]);
    }
  }
}

static void check_diagonal(const lists *x, bool there) {
  for (int64_t row = 0; row < x->rows; row++) {
    assert_int_equal(find(x, row, row) >= 0, there);
  }
}

static void check_dominant(const lists *x) {
  for (int64_t row = 0; row < x->rows; row++) {
    double others = 0;
    for (int64_t i = x->offsets[row]; i < x->offsets[row + 1]; i++) {
      others += x->indices[i] == row ? 0 : fabs(x->values[i]);
    }
    assert_true(x->values[find(x, row, row)] > others);
  }
}

typedef struct sample {
  const char *text;
  int64_t rows, columns, n; /* n -1: not known beforehand */
  const char *is;           /* s symmetric, g a graph: without a diagonal; d dominant */
} sample;

static const sample samples[] = {
    {"stencil5 side=7", 49, 49, 5 * 49 - 4 * 7, ""},
    {"stencil9 side=6", 36, 36, 16 * 16, ""},
    {"stencil7 side=5", 125, 125, 7 * 125 - 6 * 25, ""},
    {"stencil27 side=4", 64, 64, 10 * 10 * 10, ""},
    {"stencil5 side=1", 1, 1, 1, ""},
    {"stencil27 side=0", 0, 0, 0, ""},
    {"torus39 side=3", 972, 972, 972 * 39, ""},
    {"fem rows=500 block=3 mean=30", 500, 500, -1, ""},
    {"fem rows=7 block=6 mean=6", 7, 7, 37, ""},
    {"banded rows=50 band=3", 50, 50, 50 * 7 - 3 * 4, ""},
    {"banded rows=3 band=100", 3, 3, 9, ""},
    {"diagonal rows=9", 9, 9, 9, ""},
    {"arrow rows=9", 9, 9, 25, ""},
    {"rmat scale=7", 128, 128, -1, "sg"},
    {"rmat scale=0", 1, 1, 0, "sg"},
    {"zipf rows=600 exponent=1.5", 600, 600, -1, ""},
    {"zipf rows=20 columns=5000", 20, 5000, -1, ""},
    {"hub rows=101 degree=4", 101, 101, 404 - 4 + 101, ""},
    {"empty rows=500", 500, 500, -1, ""},
    {"wide rows=40 columns=3000 degree=200", 40, 3000, -1, ""},
    {"uniform rows=100 degree=2.5", 100, 100, 250, ""},
    {"uniform rows=7 columns=9 entries=63", 7, 9, 63, ""},
    {"uniform rows=30 columns=70 entries=2000", 30, 70, 2000, ""},
    {"rgg rows=700", 700, 700, -1, "sg"},
    {"rgg rows=1", 1, 1, 0, "sg"},
    {"grid2d side=6", 36, 36, 4 * 36 - 4 * 6, "sg"},
    {"road side=20", 400, 400, -1, "sg"},
    {"path rows=10", 10, 10, 18, "sg"},
    {"star rows=10", 10, 10, 18, "sg"},
    {"blocks rows=64 block=8 degree=3", 64, 64, 8 * 3 * 64, ""},
    {"blocks rows=50 block=7 degree=40", 50, 50, 2500, ""},
    {"zipf rows=200 symmetric=1", 200, 200, -1, "s"},
    {"uniform rows=200 spd=1", 200, 200, -1, "sd"},
    {"star rows=50 spd=1", 50, 50, 148, "sd"},
    {"stencil9 side=5 spd=1", 25, 25, 13 * 13, "sd"},
    {"stencil7 side=3 laplace=1", 27, 27, 7 * 27 - 6 * 9, "s"},
    {"fem rows=300 shuffle=1 spd=1", 300, 300, -1, "sd"},
    {"path rows=300 shuffle=1 seed=5", 300, 300, 598, "sg"},
};

static void check_same(const lists *x, const lists *y) {
  assert_int_equal(x->n, y->n);
  assert_memory_equal(x->offsets, y->offsets, (size_t)(x->rows + 1) * sizeof *x->offsets);
  assert_memory_equal(x->indices, y->indices, (size_t)x->n * sizeof *x->indices);
  assert_memory_equal(x->values, y->values, (size_t)x->n * sizeof *x->values);
}

/* The canonical text stands for the same matrix, and has the same digest. */
static void check_text(const char *text, const lists *x) {
  matrix_spec s;
  auto_str canonical = {0}, again = {0};
  char one[HASH_TEXT], other[HASH_TEXT];
  int64_t rows, columns, n;
  err e = {0};
  assert_ok(matrix_spec_parse(text, &s, &e), &e);
  matrix_spec_text(&s, &canonical);
  assert_ok(matrix_spec_parse(str_text(&canonical), &s, &e), &e);
  matrix_spec_text(&s, &again);
  assert_string_equal(str_text(&canonical), str_text(&again));
  assert_ok(matrix_digest(text, one, &e), &e);
  assert_ok(matrix_digest(str_text(&canonical), other, &e), &e);
  assert_string_equal(one, other);
  assert_ok(matrix_counts(str_text(&canonical), &rows, &columns, &n, &e), &e);
  assert_true(rows == x->rows && columns == x->columns && n == x->n);
}

TEST(matrices_are_as_their_generators_say) {
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    const sample *s = &samples[i];
    lists one = open_lists(s->text, 1), many = open_lists(s->text, 5);
    assert_int_equal(one.rows, s->rows);
    assert_int_equal(one.columns, s->columns);
    if (s->n >= 0) {
      assert_int_equal(one.n, s->n);
    }
    if (!strchr(s->is, 'd')) {
      check_order(&one);
    }
    if (strchr(s->is, 's')) {
      check_symmetric(&one);
    }
    if (strpbrk(s->is, "gd")) {
      check_diagonal(&one, strchr(s->is, 'd'));
    }
    if (strchr(s->is, 'd')) {
      check_dominant(&one);
    }
    check_same(&one, &many);
    check_text(s->text, &one);
    close_lists(&one);
    close_lists(&many);
  }
}

/* What a generator makes does not change, or generators_version in matrix_input.c does. */
TEST(contents_are_those_of_this_version) {
  uint64_t digest = 0;
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    lists x = open_lists(samples[i].text, 2);
    digest = hash_more(digest, x.offsets, (size_t)(x.rows + 1) * sizeof *x.offsets);
    digest = hash_more(digest, x.indices, (size_t)x.n * sizeof *x.indices);
    digest = hash_more(digest, x.values, (size_t)x.n * sizeof *x.values);
    close_lists(&x);
  }
  assert_int_equal(digest, UINT64_C(0x65a8c103de7e9e68));
}

TEST(another_seed_gives_another_matrix) {
  lists x = open_lists("uniform rows=100", 1), y = open_lists("uniform rows=100 seed=1", 1);
  assert_memory_not_equal(x.indices, y.indices, (size_t)x.n * sizeof *x.indices);
  close_lists(&x);
  close_lists(&y);
}

TEST(lengths_of_rows_follow_their_law) {
  lists x = open_lists("zipf rows=20000 exponent=2 longest=1000", 2);
  int64_t ones = 0, longest = 0;
  for (int64_t row = 0; row < x.rows; row++) {
    const int64_t n = x.offsets[row + 1] - x.offsets[row];
    ones += n == 1;
    longest = n > longest ? n : longest;
  }
  assert_in_range(ones, 11500, 12900); /* 6 / pi^2 of them, 61 % */
  assert_in_range(longest, 500, 1000);
  close_lists(&x);
  x = open_lists("empty rows=20000 share=0.75", 2);
  assert_in_range(x.n, 8 * 4800, 8 * 5200);
  close_lists(&x);
  x = open_lists("road side=150", 2);
  assert_in_range(x.n * 100 / x.rows, 230, 245);
  close_lists(&x);
}

TEST(wrong_texts_are_refused_in_a_line) {
  static const struct {
    const char *text, *says;
    int code;
  } wrong[] = {
      {"zip", "no generator of matrices is named 'zip', did you mean 'zipf'?", ERR_USAGE},
      {"", "no generator of matrices", ERR_USAGE},
      {"zipf block=3", "matrix=zipf has no parameter 'block'; there are: rows,", ERR_USAGE},
      {"zipf rows", "'rows' is not of the form PARAMETER=VALUE", ERR_USAGE},
      {"zipf rows=5 rows=6", "rows of matrix=zipf is given twice", ERR_USAGE},
      {"zipf rows=-1", "rows=-1 is out of range: rows is 0 to 2147483647", ERR_USAGE},
      {"zipf rows=1.5", "rows=1.5 is not a whole number", ERR_USAGE},
      {"zipf rows=many", "rows=many is not a number", ERR_USAGE},
      {"zipf exponent=nan", "exponent=nan is not a number", ERR_USAGE},
      {"zipf rows=5 longest=6", "longest=6 of zipf: a row has 5 columns", ERR_USAGE},
      {"uniform rows=3 degree=4", "degree=4 of uniform: a row has 3 columns", ERR_USAGE},
      {"uniform rows=3 columns=2 entries=7", "7 entries do not fit 3 rows and 2 columns",
       ERR_USAGE},
      {"uniform degree=3 entries=7", "takes a degree or its entries, not both", ERR_USAGE},
      {"uniform rows=3 columns=2 spd=1", "symmetric, spd and shuffle need as many", ERR_USAGE},
      {"torus39 side=2", "neighbours differ from 3 on", ERR_USAGE},
      {"fem laplace=1", "matrix=fem has no parameter 'laplace'", ERR_USAGE},
      {"stencil27 side=2000", "2^31-1 are the most", ERR_LIMIT},
      {"stencil9 side=46340", "19326004324 entries; 2^32 are the most", ERR_LIMIT},
      {"file:", "names a file", ERR_USAGE},
  };
  matrix_input *m;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    err e = {0};
    assert_fails(matrix_input_open(wrong[i].text, 1, &m, &e), &e, wrong[i].code, wrong[i].says);
    assert_null(m);
  }
  err e = {0};
  assert_fails(matrix_input_open("rmat scale=30 degree=1000", 1, &m, &e), &e, ERR_LIMIT,
               "2^32 are the most");
  err_clear(&e);
  assert_fails(matrix_input_open("file:none.mtx", 1, &m, &e), &e, ERR_NOTFOUND, "none.mtx");
  err_clear(&e);
  assert_fails(matrix_input_open("file:/dev/zero", 1, &m, &e), &e, ERR_IO, "not a file");
}

TEST(parts_need_a_buffer_that_holds_them) {
  matrix_input *m;
  uint8_t few[8192];
  err e = {0};
  assert_ok(matrix_input_open("banded rows=300 band=1", 1, &m, &e), &e);
  assert_fails(matrix_input_put(m, MATRIX_PART_offsets, "x", DTYPE_i32, 300, few, &e), &e,
               ERR_USAGE,
               "300 rows, 300 columns and 898 entries: 'x' needs 301 elements, and has 300");
  err_clear(&e);
  assert_fails(matrix_input_put(m, MATRIX_PART_columns, "x", DTYPE_u8, 898, few, &e), &e, ERR_USAGE,
               "element 766 of its columns does not fit 'x', which is u8");
  put(m, MATRIX_PART_values, DTYPE_u8, 898, few);
  for (int i = 0; i < 898; i++) {
    assert_in_range(few[i], 1, 8);
  }
  matrix_input_close(m);
}

TEST(files_are_matrices_too) {
  static const char text[] =
      "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 2\n3 1 -1\n3 3 5\n";
  char path[100], digest[HASH_TEXT];
  auto_str name = {0};
  err e = {0};
  snprintf(path, sizeof path, "/tmp/matrix_input_%d.mtx", (int)getpid());
  assert_ok(file_write(path, text, sizeof text - 1, &e), &e);
  str_addf(&name, "file:%s", path);
  lists x = open_lists(str_text(&name), 1);
  const double values[] = {2, -1, -1, 5};
  assert_int_equal(x.n, 4);
  assert_memory_equal(x.values, values, sizeof values);
  check_symmetric(&x);
  close_lists(&x);
  assert_ok(matrix_digest(str_text(&name), digest, &e), &e);
  unlink(path);
}

/* Any words: an error in one line, or a matrix in order. */
TEST(random_words_make_a_matrix_or_one_line) {
  static const char *const words[] = {
      "zipf",      "uniform",  "rmat",      "blocks",     "rgg",       "fem",
      "path",      "stencil9", "road",      "wide",       "block=7",   "rows=1",
      "rows=33",   "side=0",   "side=3",    "scale=3",    "degree=0",  "degree=0.3",
      "block=5",   "mean=1",   "keep=1",    "exponent=0", "longest=1", "share=1",
      "columns=1", "spd=1",    "shuffle=1", "entries=33", "seed=2^53", "columns=40"};
  enum { WORDS = sizeof words / sizeof *words, NAMES = 10 };
  uint64_t seed = 9;
  size_t made = 0;
  for (int round = 0; round < 300; round++) {
    auto_str text = {0};
    matrix_input *m;
    err e = {0};
    const char *name = words[random_below(&seed, NAMES)];
    str_addf(&text, strstr("rmat stencil9 road wide", name) ? "%s" : "%s rows=50", name);
    for (uint64_t n = random_below(&seed, 5); n > 0; n--) {
      str_addf(&text, " %s", words[NAMES + random_below(&seed, WORDS - NAMES)]);
    }
    if (strstr(str_text(&text), "wide") && !strstr(str_text(&text), "columns")) {
      continue; /* large */
    }
    if (matrix_input_open(str_text(&text), 1, &m, &e)) {
      assert_true(*e.message && !strchr(e.message, '\n'));
      continue;
    }
    matrix_input_close(m);
    made++;
    if (!strstr(str_text(&text), "spd")) {
      lists x = open_lists(str_text(&text), 1);
      check_order(&x);
      close_lists(&x);
    }
  }
  assert_true(made > 30);
}

int main(void) {
  return tests_run();
}
