/* test_matrix_market.c -- files of every header as compressed rows; what is wrong with others. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "check.h"
#include "matrix_market.h"
#include "random.h"
#include "str.h"

enum { MOST = 6 };

typedef struct dense {  /* the expected matrix, row by row */
  int rows, columns, n; /* n: entries, zeros of the file among them */
  double real[MOST * MOST], imaginary[MOST * MOST];
} dense;

static void expect(const char *text, const dense *x) {
  matrix m;
  err e = {0};
  dense have = {0};
  assert_ok(matrix_market_parse("m.mtx", text, strlen(text), &m, &e), &e);
  assert_int_equal(m.rows, x->rows);
  assert_int_equal(m.columns, x->columns);
  assert_int_equal(m.n, x->n);
  assert_int_equal(m.offsets[0], 0);
  assert_int_equal(m.offsets[m.rows], m.n);
  for (int64_t row = 0; row < m.rows; row++) {
    for (int64_t i = m.offsets[row]; i < m.offsets[row + 1]; i++) {
      const matrix_entry *at = &m.entries[i];
      assert_int_equal(at->row, row);
      assert_true(at->column >= 0 && at->column < m.columns);
      assert_true(i == m.offsets[row] || at[-1].column < at->column);
      have.real[row * m.columns + at->column] = at->real;
      have.imaginary[row * m.columns + at->column] = at->imaginary;
    }
  }
  assert_memory_equal(have.real, x->real, sizeof have.real);
  assert_memory_equal(have.imaginary, x->imaginary, sizeof have.imaginary);
  matrix_clear(&m);
}

#define FILE_OF(header) "%%MatrixMarket matrix " header "\n"

TEST(general_matrices_are_read) {
  expect(FILE_OF("coordinate real general") "% a comment\n\n3 4 4\n3 4 -1e-3\n1 2 0.5\n"
                                            "%another\n3 1 2\n2 2 0\n",
         &(dense){3, 4, 4, {0, 0.5, 0, 0, 0, 0, 0, 0, 2, 0, 0, -1e-3}, {0}});
  expect(FILE_OF("coordinate integer general") "2 2 1\n2 1 -7",
         &(dense){2, 2, 1, {0, 0, -7, 0}, {0}});
  expect(FILE_OF("coordinate pattern general") "2 3 3\r\n2 3\r\n1 1\r\n2 3\r\n",
         &(dense){2, 3, 2, {1, 0, 0, 0, 0, 1}, {0}});
  expect("%%matrixmarket MATRIX Coordinate Complex GENERAL\n1 2 2\n1 2 3 4\n\t1  1 5\t-6 \n",
         &(dense){1, 2, 2, {5, 3}, {-6, 4}});
  expect(FILE_OF("array real general") "2 3\n1\n2\n3\n4\n5\n6",
         &(dense){2, 3, 6, {1, 3, 5, 2, 4, 6}, {0}});
  expect(FILE_OF("array complex general") "2 1\n1 2\n3 4\n", &(dense){2, 1, 2, {1, 3}, {2, 4}});
}

TEST(the_other_half_is_added) {
  expect(FILE_OF("coordinate real symmetric") "3 3 3\n3 1 4\n2 2 5\n3 2 6\n",
         &(dense){3, 3, 5, {0, 0, 4, 0, 5, 6, 4, 6, 0}, {0}});
  expect(FILE_OF("coordinate real skew-symmetric") "2 2 1\n2 1 4\n",
         &(dense){2, 2, 2, {0, -4, 4, 0}, {0}});
  expect(FILE_OF("coordinate complex hermitian") "2 2 2\n1 1 9 0\n2 1 1 2\n",
         &(dense){2, 2, 3, {9, 1, 1, 0}, {0, -2, 2, 0}});
  expect(FILE_OF("coordinate complex skew-symmetric") "2 2 1\n2 1 1 2\n",
         &(dense){2, 2, 2, {0, -1, 1, 0}, {0, -2, 2, 0}});
  expect(FILE_OF("coordinate pattern symmetric") "2 2 1\n2 1\n",
         &(dense){2, 2, 2, {0, 1, 1, 0}, {0}});
  expect(FILE_OF("array real symmetric") "3 3\n1\n2\n3\n4\n5\n6\n",
         &(dense){3, 3, 9, {1, 2, 3, 2, 4, 5, 3, 5, 6}, {0}});
  expect(FILE_OF("array integer skew-symmetric") "3 3\n1\n2\n3\n",
         &(dense){3, 3, 6, {0, -1, -2, 1, 0, -3, 2, 3, 0}, {0}});
  expect(FILE_OF("array complex hermitian") "2 2\n1 0\n2 3\n4 0\n",
         &(dense){2, 2, 4, {1, 2, 2, 4}, {0, -3, 3, 0}});
}

TEST(entries_of_a_place_are_added_up) {
  expect(FILE_OF("coordinate real general") "2 2 4\n2 2 1\n1 1 5\n2 2 2\n2 2 -4\n",
         &(dense){2, 2, 2, {5, 0, 0, -1}, {0}});
  expect(FILE_OF("coordinate real symmetric") "2 2 2\n2 1 1\n2 1 2\n",
         &(dense){2, 2, 2, {0, 3, 3, 0}, {0}});
}

TEST(matrices_may_be_empty) {
  expect(FILE_OF("coordinate real general") "0 0 0\n", &(dense){0});
  expect(FILE_OF("coordinate real general") "3 0 0", &(dense){3, 0, 0, {0}, {0}});
  expect(FILE_OF("array real skew-symmetric") "1 1\n", &(dense){1, 1, 0, {0}, {0}});
  expect(FILE_OF("array real general") "0 5\n", &(dense){0, 5, 0, {0}, {0}});
}

#define REAL(lines) FILE_OF("coordinate real general") lines

TEST(mistakes_are_told_with_their_line) {
  static const struct {
    const char *text, *words;
    int line;
  } cases[] = {
      {"", "the first line has to begin with %%MatrixMarket", 1},
      {"3 3 1\n1 1 1\n", "the first line has to begin with %%MatrixMarket", 1},
      {FILE_OF("tensor real general"), "'tensor' is no format", 1},
      {FILE_OF("coordinate quaternion general"), "'quaternion' is no kind of values", 1},
      {FILE_OF("coordinate real triangular"), "'triangular' is no symmetry", 1},
      {"%%MatrixMarket vector coordinate real general\n", "'vector' is no object", 1},
      {FILE_OF("coordinate real"), "'' is no symmetry", 1},
      {FILE_OF("coordinate real general x"), "more is on the line than belongs there: 'x'", 1},
      {FILE_OF("array pattern general"), "pattern goes with coordinate", 1},
      {FILE_OF("array real hermitian"), "hermitian goes with complex values", 1},
      {FILE_OF("coordinate pattern skew-symmetric"), "skew-symmetric goes with values", 1},
      {REAL("% only a comment\n"), "ends before the line of sizes", 3},
      {REAL("3\n"), "the number of columns is missing", 2},
      {REAL("3 3\n1 1 1\n"), "the number of entries is missing", 2},
      {REAL("3 -3 1\n"), "the number of columns is -3", 2},
      {REAL("3 3.5 1\n"), "the number of columns is not a whole number", 2},
      {REAL("3 3 1 1\n"), "more is on the line than belongs there: '1'", 2},
      {REAL("3 3 1000\n1 1 1\n"), "too short for 1000 entries", 2},
      {REAL("3 3 99999999999999999999\n"), "too short for", 2},
      {REAL("3 3 2\n1 1 1\n"), "ends after 1 of 2 entries", 4},
      {REAL("3 3 2\n1 1 1\n\n\n"), "ends after 1 of 2 entries", 6},
      {REAL("3 3 1\n1 1 1\n2 2 2\n"), "more than the 1 entries stated", 4},
      {REAL("3 3 1\n4 1 1\n"), "the row is 4, and has to be from 1 to 3", 3},
      {REAL("3 3 1\n% x\n0 1 1\n"), "the row is 0, and has to be from 1 to 3", 4},
      {REAL("3 3 1\n1 4 1\n"), "the column is 4, and has to be from 1 to 3", 3},
      {REAL("3 3 1\n1 1\n"), "the value is missing", 3},
      {REAL("3 3 1\n1 1 one\n"), "the value is not a number", 3},
      {REAL("3 3 1\n1 1 1 1\n"), "more is on the line", 3},
      {REAL("3 3 1\n1 1 \v\n5\n"), "the value is not a number", 3},
      {FILE_OF("coordinate complex general") "3 3 1\n1 1 1\n", "the imaginary part is missing", 3},
      {FILE_OF("coordinate integer general") "3 3 1\n1 1 1.5\n", "no integer", 3},
      {FILE_OF("coordinate real symmetric") "3 4 1\n1 1 1\n", "only square matrices", 2},
      {FILE_OF("coordinate real symmetric") "3 3 1\n1 2 1\n", "above the diagonal", 3},
      {FILE_OF("coordinate real skew-symmetric") "3 3 1\n2 2 1\n", "skew-symmetric matrix is zero",
       3},
      {FILE_OF("coordinate complex hermitian") "2 2 1\n2 2 1 1\n", "hermitian matrix is real", 3},
      {FILE_OF("array real general") "2 2\n1.5\n2\n3\n", "ends after 3 of 4 entries", 6},
      {FILE_OF("array real general") "2 2\n1 2\n3 4\n", "more is on the line", 3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    matrix m;
    err e = {0};
    char place[32];
    assert_fails(matrix_market_parse("m.mtx", cases[i].text, strlen(cases[i].text), &m, &e), &e,
                 ERR_USAGE, cases[i].words);
    snprintf(place, sizeof place, "m.mtx:%d", cases[i].line);
    assert_string_equal(e.place, place);
    assert_null(m.entries);
  }
  matrix m;
  err e = {0};
  const char *large = REAL("100000000 1 0\n");
  assert_fails(matrix_market_parse("m.mtx", large, strlen(large), &m, &e), &e, ERR_LIMIT,
               "too many");
}

/* Cut off anywhere, or with a byte replaced, a file is read or refused with one line. */
TEST(damaged_files_are_refused_or_read) {
  static const char spice[] = "0123456789 -.e\n%\r\t\0nx";
  static const char *const whole[] = {
      REAL("3 3 4\n1 1 1\n2 1 -2.5e3\n3 3 3\n2 1 4\n"),
      FILE_OF("array complex hermitian") "2 2\n1 0\n2 3\n4 0\n",
      FILE_OF("coordinate pattern symmetric") "4 4 3\n2 1\n4 4\n4 2\n"};
  uint64_t seed = 3;
  size_t read = 0, n_all = 0;
  for (int round = 0; round < 6000; round++) {
    auto_str s = {0};
    matrix m;
    err e = {0};
    str_add(&s, whole[round % 3]);
    if (round < 300) {
      s.n = (size_t)(round / 3) % s.n;
      s.p[s.n] = 0;
    } else {
      s.p[random_below(&seed, s.n)] = spice[random_below(&seed, sizeof spice - 1)];
    }
    const int rc = matrix_market_parse("m.mtx", s.p, s.n, &m, &e);
    assert_true(rc ? e.message[0] && !strchr(e.message, '\n') : m.offsets[m.rows] == m.n);
    read += !rc;
    n_all++;
    matrix_clear(&m);
  }
  assert_true(read > 0 && read < n_all);
}

int main(void) {
  return tests_run();
}
