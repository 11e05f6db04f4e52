#define _GNU_SOURCE
#include "matrix_market.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef enum symmetry { GENERAL, SYMMETRIC, SKEW, HERMITIAN } symmetry;

typedef struct reader {
  const char *path, *p, *end; /* what is not read yet, at the start of a line or in it */
  int64_t line;
  bool dense;
  symmetry half;
  int64_t n_stated; /* entries of the file */
  matrix_entry *list;
  int64_t n; /* of the list */
  matrix *m;
  err *e;
} reader;

static int fail(const reader *r, int code, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

static int fail(const reader *r, int code, const char *format, ...) {
  char place[512], words[256];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  snprintf(place, sizeof place, "%.480s:%lld", r->path, (long long)r->line);
  return err_at(r->e, code, place, "%s", words);
}

/* ---- lines and words ------------------------------------------------------------------------- */

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(reader *r) {
  while (r->p < r->end && is_blank(*r->p)) {
    r->p++;
  }
}

static bool at_line_end(reader *r) {
  skip_blanks(r);
  return r->p == r->end || *r->p == '\n';
}

static void next_line(reader *r) {
  const char *newline = memchr(r->p, '\n', (size_t)(r->end - r->p));
  r->p = newline ? newline + 1 : r->end;
  r->line++;
}

/* To the next line that says something; false: there is none. */
static bool find_line(reader *r) {
  while (r->p < r->end && (at_line_end(r) || *r->p == '%')) {
    next_line(r);
  }
  return r->p < r->end;
}

/* how many bytes of the word here a message shows */
static int shown(const reader *r) {
  const size_t n = strcspn(r->p, " \t\r\n");
  return n < 40 ? (int)n : 40;
}

static int end_line(reader *r) {
  if (!at_line_end(r)) {
    return fail(r, ERR_USAGE, "more is on the line than belongs there: '%.*s'", shown(r), r->p);
  }
  next_line(r);
  return 0;
}

/* A word of the first line, in any case; which of the names. */
static int read_word(reader *r, const char *const *names, const char *what, int *which) {
  skip_blanks(r);
  const size_t n = strcspn(r->p, " \t\r\n");
  for (*which = 0; names[*which]; ++*which) {
    if (strlen(names[*which]) == n && !strncasecmp(r->p, names[*which], n)) {
      r->p += n;
      return 0;
    }
  }
  return fail(r, ERR_USAGE, "'%.*s' is no %s of Matrix Market", shown(r), r->p, what);
}

/* Did the number that ends here begin where the reader stands, and is it a word by itself? */
static bool is_word_between(const reader *r, const char *end) {
  return end > r->p && *r->p > ' ' && (end == r->end || is_blank(*end) || *end == '\n');
}

static int read_whole(reader *r, const char *what, int64_t least, int64_t most, int64_t *out) {
  char *end;
  if (at_line_end(r)) {
    return fail(r, ERR_USAGE, "%s is missing", what);
  }
  const long long v = strtoll(r->p, &end, 10);
  if (!is_word_between(r, end)) {
    return fail(r, ERR_USAGE, "%s is not a whole number", what);
  }
  if (v < least || v > most) {
    return fail(r, ERR_USAGE, "%s is %lld, and has to be from %lld to %lld", what, v,
                (long long)least, (long long)most);
  }
  r->p = end;
  *out = v;
  return 0;
}

static int read_real(reader *r, const char *what, double *out) {
  char *end;
  if (at_line_end(r)) {
    return fail(r, ERR_USAGE, "%s is missing", what);
  }
  *out = strtod(r->p, &end);
  if (!is_word_between(r, end)) {
    return fail(r, ERR_USAGE, "%s is not a number", what);
  }
  r->p = end;
  return 0;
}

/* ---- what comes before the entries ----------------------------------------------------------- */

static int check_header(const reader *r) {
  if (r->m->is_pattern && r->dense) {
    return fail(r, ERR_USAGE, "an array has values: pattern goes with coordinate");
  }
  if (r->half == HERMITIAN && !r->m->is_complex) {
    return fail(r, ERR_USAGE, "hermitian goes with complex values; real ones are symmetric");
  }
  if (r->half == SKEW && r->m->is_pattern) {
    return fail(r, ERR_USAGE, "skew-symmetric goes with values, and a pattern has none");
  }
  return 0;
}

static int read_first_line(reader *r) {
  static const char magic[] = "%%MatrixMarket";
  static const char *const objects[] = {"matrix", NULL};
  static const char *const formats[] = {"coordinate", "array", NULL};
  static const char *const fields[] = {"real", "double", "integer", "complex", "pattern", NULL};
  static const char *const halves[] = {"general", "symmetric", "skew-symmetric", "hermitian", NULL};
  int object, format, field, half;
  if (strncasecmp(r->p, magic, sizeof magic - 1) != 0) {
    return fail(r, ERR_USAGE, "the first line has to begin with %%%%MatrixMarket");
  }
  r->p += sizeof magic - 1;
  TRY(read_word(r, objects, "object", &object));
  TRY(read_word(r, formats, "format", &format));
  TRY(read_word(r, fields, "kind of values", &field));
  TRY(read_word(r, halves, "symmetry", &half));
  r->dense = format == 1;
  r->half = (symmetry)half;
  r->m->is_integer = field == 2;
  r->m->is_complex = field == 3;
  r->m->is_pattern = field == 4;
  TRY(check_header(r));
  return end_line(r);
}

/* How many entries of an array the file has: all, or those below the diagonal, or with it. */
static int64_t stated_of_array(const reader *r) {
  const int64_t n = r->m->rows;
  return r->half == GENERAL ? n * r->m->columns : n * (n + (r->half == SKEW ? -1 : 1)) / 2;
}

static int check_sizes(const reader *r) {
  const matrix *m = r->m;
  if (m->rows > MATRIX_MOST_ROWS || m->columns > MATRIX_MOST_ROWS) {
    return fail(r, ERR_LIMIT, "%lld rows and %lld columns are too many: %d of each are the most",
                (long long)m->rows, (long long)m->columns, MATRIX_MOST_ROWS);
  }
  if (r->half != GENERAL && m->rows != m->columns) {
    return fail(r, ERR_USAGE, "%lld rows and %lld columns: only square matrices are symmetric",
                (long long)m->rows, (long long)m->columns);
  }
  return 0;
}

static int read_sizes(reader *r) {
  matrix *m = r->m;
  if (!find_line(r)) {
    return fail(r, ERR_USAGE, "the file ends before the line of sizes");
  }
  TRY(read_whole(r, "the number of rows", 0, INT64_MAX, &m->rows));
  TRY(read_whole(r, "the number of columns", 0, INT64_MAX, &m->columns));
  TRY(check_sizes(r));
  if (r->dense) {
    r->n_stated = stated_of_array(r);
  } else {
    TRY(read_whole(r, "the number of entries", 0, INT64_MAX, &r->n_stated));
  }
  /* An entry takes two bytes at least: no file asks for more memory than its own size allows. */
  if (r->n_stated > (r->end - r->p) / 2) {
    return fail(r, ERR_USAGE, "the file is too short for %lld entries", (long long)r->n_stated);
  }
  TRY(end_line(r));
  const int64_t most = r->half == GENERAL ? r->n_stated : 2 * r->n_stated;
  r->list = malloc((size_t)(most + 1) * sizeof *r->list);
  return r->list ? 0 : err_nomem(r->e);
}

/* ---- entries --------------------------------------------------------------------------------- */

static int read_value(reader *r, matrix_entry *x) {
  const matrix *m = r->m;
  x->real = 1;
  x->imaginary = 0;
  if (!m->is_pattern) {
    TRY(read_real(r, "the value", &x->real));
  }
  if (m->is_complex) {
    TRY(read_real(r, "the imaginary part", &x->imaginary));
  }
  if (m->is_integer && !(fabs(x->real) <= 0x1p53 && x->real == floor(x->real))) {
    return fail(r, ERR_USAGE, "the value is no integer of up to 2^53");
  }
  if (r->half == HERMITIAN && x->row == x->column && x->imaginary != 0) {
    return fail(r, ERR_USAGE, "the diagonal of a hermitian matrix is real");
  }
  return end_line(r);
}

/* Files have one half of a matrix with a symmetry. */
static int check_half(const reader *r, const matrix_entry *x) {
  if (r->half != GENERAL && x->row < x->column) {
    return fail(r, ERR_USAGE,
                "row %d, column %d is above the diagonal: the entry below stands for it",
                x->row + 1, x->column + 1);
  }
  if (r->half == SKEW && x->row == x->column) {
    return fail(r, ERR_USAGE,
                "the diagonal of a skew-symmetric matrix is zero and not in the file");
  }
  return 0;
}

static void keep(reader *r, const matrix_entry *x) {
  r->list[r->n++] = *x;
  if (r->half != GENERAL && x->row != x->column) {
    const bool skew = r->half == SKEW, conjugate = skew || r->half == HERMITIAN;
    r->list[r->n++] = (matrix_entry){x->column, x->row, skew ? 0 - x->real : x->real,
                                     conjugate ? 0 - x->imaginary : x->imaginary};
  }
}

static int read_place(reader *r, matrix_entry *x) {
  int64_t row, column;
  TRY(read_whole(r, "the row", 1, r->m->rows, &row));
  TRY(read_whole(r, "the column", 1, r->m->columns, &column));
  x->row = (int32_t)(row - 1);
  x->column = (int32_t)(column - 1);
  return check_half(r, x);
}

/* The place behind x in an array, down the columns. */
static void next_place(const reader *r, matrix_entry *x) {
  if (++x->row == r->m->rows) {
    x->column++;
    x->row = r->half == GENERAL ? 0 : x->column + (r->half == SKEW);
  }
}

static int read_entries(reader *r) {
  matrix_entry at = {.row = r->half == SKEW};
  for (int64_t i = 0; i < r->n_stated; i++) {
    if (!find_line(r)) {
      return fail(r, ERR_USAGE, "the file ends after %lld of %lld entries", (long long)i,
                  (long long)r->n_stated);
    }
    if (!r->dense) {
      TRY(read_place(r, &at));
    }
    TRY(read_value(r, &at));
    keep(r, &at);
    if (r->dense) {
      next_place(r, &at);
    }
  }
  return find_line(r) ? fail(r, ERR_USAGE, "there are more than the %lld entries stated",
                             (long long)r->n_stated)
                      : 0;
}

/* ---- compressed rows ------------------------------------------------------------------------- */

static int by_column(const void *a, const void *b) {
  const matrix_entry *x = a, *y = b;
  return x->column != y->column ? (x->column > y->column) - (x->column < y->column)
         : x->real != y->real   ? (x->real > y->real) - (x->real < y->real)
                                : (x->imaginary > y->imaginary) - (x->imaginary < y->imaginary);
}

/* The entries behind `to` that are left of n sorted ones: those of one place become their sum. */
static int64_t add_up(const matrix *m, const matrix_entry *x, int64_t n, matrix_entry *to) {
  int64_t left = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!left || to[left - 1].column != x[i].column) {
      to[left++] = x[i];
    } else if (!m->is_pattern) {
      to[left - 1].real += x[i].real;
      to[left - 1].imaginary += x[i].imaginary;
    }
  }
  return left;
}

/* Each row's entries together, in `to`; offsets are where they end. */
static void scatter(const reader *r, int64_t *offsets, matrix_entry *to) {
  for (int64_t i = 0; i < r->n; i++) {
    offsets[r->list[i].row + 1]++;
  }
  for (int64_t i = 0; i < r->m->rows; i++) {
    offsets[i + 1] += offsets[i];
  }
  for (int64_t i = r->n; i-- > 0;) {
    to[--offsets[r->list[i].row + 1]] = r->list[i];
  }
}

static int compress(reader *r) {
  matrix *m = r->m;
  int64_t *offsets = calloc((size_t)m->rows + 2, sizeof *offsets);
  matrix_entry *to = malloc((size_t)(r->n + 1) * sizeof *to);
  m->offsets = offsets;
  m->entries = to;
  if (!offsets || !to) {
    return err_nomem(r->e);
  }
  scatter(r, offsets, to); /* row i begins at offsets[i + 1] now */
  for (int64_t i = 0; i < m->rows; i++) {
    const int64_t from = offsets[i + 1], end = i + 1 < m->rows ? offsets[i + 2] : r->n;
    qsort(to + from, (size_t)(end - from), sizeof *to, by_column);
    offsets[i] = m->n;
    m->n += add_up(m, to + from, end - from, to + m->n);
  }
  offsets[m->rows] = m->n;
  return 0;
}

int matrix_market_parse(const char *path, const char *text, size_t n, matrix *m, err *e) {
  reader r = {.path = path, .p = text, .end = text + n, .line = 1, .m = m, .e = e};
  *m = (matrix){0};
  int rc = read_first_line(&r);
  rc = rc ? rc : read_sizes(&r);
  rc = rc ? rc : read_entries(&r);
  rc = rc ? rc : compress(&r);
  free(r.list);
  if (rc) {
    matrix_clear(m);
  }
  return rc;
}

void matrix_clear(matrix *m) {
  free(m->offsets);
  free(m->entries);
  *m = (matrix){0};
}
