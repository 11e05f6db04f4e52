/* matrix_input.c -- see matrix_input.h. */
#define _GNU_SOURCE
#include "matrix_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "matrix_make.h"
#include "matrix_market.h"
#include "matrix_text.h"
#include "threads.h"

enum { MOST_FILE_NBYTES = 1 << 30, ROWS_AT_ONCE = 1024 };

/* Of all generators together: it changes when one of them gives another matrix for the same text. */
static const char generators_version[] = "1";

struct matrix_input {
  matrix_spec spec;
  matrix_csr csr;
  double *real, *imaginary;   /* of a file; else NULL */
  bool is_complex, symmetric; /* symmetric: the values of a generator */
  uint64_t stream;            /* of values */
  size_t threads;
};

const char *const matrix_part_names[] = {
#define PART(name) #name,
    MATRIX_PART_LIST(PART)
#undef PART
        NULL};

/* ---- from a file ----------------------------------------------------------------------------- */

/* The lists of a matrix, in place of its entries. */
static int take_entries(matrix_input *x, matrix *m, err *e) {
  const size_t n = (size_t)m->n + 1;
  x->csr = (matrix_csr){m->rows, m->columns, m->n, m->offsets, malloc(n * sizeof(int32_t))};
  m->offsets = NULL;
  x->real = malloc(n * sizeof(double));
  x->imaginary = m->is_complex ? malloc(n * sizeof(double)) : NULL;
  x->is_complex = m->is_complex;
  if (!x->csr.indices || !x->real || (m->is_complex && !x->imaginary)) {
    return err_nomem(e);
  }
  for (int64_t i = 0; i < m->n; i++) {
    x->csr.indices[i] = m->entries[i].column;
    x->real[i] = m->entries[i].real;
    if (x->imaginary) {
      x->imaginary[i] = m->entries[i].imaginary;
    }
  }
  return 0;
}

/* Of a file: a pipe might have no other end. */
static int read_text(const char *path, str *text, err *e) {
  struct stat st;
  if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
    return err_at(e, ERR_IO, path, "not a file");
  }
  return file_read(path, MOST_FILE_NBYTES, text, e);
}

static int read_file(matrix_input *x, err *e) {
  auto_str text = {0};
  matrix m = {0};
  TRY(read_text(x->spec.path, &text, e));
  TRY(matrix_market_parse(x->spec.path, str_text(&text), text.n, &m, e));
  const int rc = take_entries(x, &m, e);
  matrix_clear(&m);
  return rc;
}

/* ---- making ---------------------------------------------------------------------------------- */

static int make(matrix_input *x, const char *text, err *e) {
  TRY(matrix_spec_parse(text, &x->spec, e));
  if (!x->spec.kind) {
    return read_file(x, e);
  }
  x->stream = matrix_stream(&x->spec, MATRIX_DRAWS_VALUES);
  x->symmetric = x->spec.kind->graph || matrix_is(&x->spec, MATRIX_symmetric) ||
                 matrix_is(&x->spec, MATRIX_spd);
  return matrix_csr_make(&x->spec, x->threads, &x->csr, e);
}

int matrix_input_open(const char *text, size_t threads, matrix_input **out, err *e) {
  matrix_input *x = calloc(1, sizeof *x);
  *out = NULL;
  TRY(x ? 0 : err_nomem(e));
  x->threads = threads ? threads : threads_cores();
  const int rc = make(x, text, e);
  if (rc) {
    matrix_input_close(x);
    return rc;
  }
  *out = x;
  return 0;
}

void matrix_input_close(matrix_input *m) {
  if (m) {
    matrix_csr_clear(&m->csr);
    free(m->real);
    free(m->imaginary);
    free(m);
  }
}

void matrix_input_size(const matrix_input *m, int64_t *rows, int64_t *columns, int64_t *entries) {
  *rows = m->csr.rows;
  *columns = m->csr.columns;
  *entries = m->csr.n;
}

int matrix_counts(const char *text, int64_t *rows, int64_t *columns, int64_t *entries, err *e) {
  matrix_spec s;
  TRY(matrix_spec_parse(text, &s, e));
  if (s.kind) {
    *rows = s.rows;
    *columns = s.columns;
    return matrix_csr_count(&s, threads_cores(), entries, e);
  }
  matrix_input *m;
  TRY(matrix_input_open(text, 0, &m, e));
  matrix_input_size(m, rows, columns, entries);
  matrix_input_close(m);
  return 0;
}

int matrix_digest(const char *text, char out[HASH_TEXT], err *e) {
  matrix_spec s;
  auto_str all = {0};
  TRY(matrix_spec_parse(text, &s, e));
  if (s.kind) {
    str_addf(&all, "%s ", generators_version);
    matrix_spec_text(&s, &all);
    TRY(all.failed ? err_nomem(e) : 0);
  } else {
    TRY(read_text(s.path, &all, e));
  }
  hash_bytes(str_text(&all), all.n, out);
  return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* In (-1, 1), never 0, exact in f32; of integer types, 1 to 8. */
static double random_value(const matrix_input *m, int64_t row, int64_t column, bool whole) {
  const bool turn = m->symmetric && column < row;
  const uint64_t a = (uint64_t)(turn ? column : row), b = (uint64_t)(turn ? row : column);
  const uint64_t word = matrix_word(matrix_word(m->stream, a), b);
  return whole ? 1 + (double)(word >> 61) : (2 * (double)(word >> 41) + 1) * 0x1p-23 - 1;
}

static double value(const matrix_input *m, int64_t row, int64_t column, bool whole) {
  const matrix_kind *k = m->spec.kind;
  if (!matrix_is(&m->spec, MATRIX_laplace)) {
    return random_value(m, row, column, whole);
  }
  return row != column ? -1 : k->box ? (k->dims == 2 ? 8 : 26) : 2 * k->dims;
}

static void row_values(const matrix_input *m, int64_t row, bool whole, double *to) {
  const matrix_csr *c = &m->csr;
  const int64_t from = c->offsets[row], n = c->offsets[row + 1] - from;
  double sum = 1;
  int64_t diagonal = -1;
  for (int64_t i = 0; i < n; i++) {
    const int64_t column = c->indices[from + i];
    to[i] = value(m, row, column, whole);
    diagonal = column == row ? i : diagonal;
    sum += column == row ? 0 : fabs(to[i]);
  }
  if (matrix_is(&m->spec, MATRIX_spd) && diagonal >= 0) {
    to[diagonal] = sum;
  }
}

/* ---- parts ----------------------------------------------------------------------------------- */

typedef struct putting {
  const matrix_input *m;
  matrix_part part;
  dtype type;
  unsigned char *bytes;
  bool failed; /* no memory */
  int64_t bad; /* the least element that the type does not hold; INT64_MAX: none */
} putting;

static void store(putting *p, int64_t i, double v) {
  const size_t size = dtype_nbytes(p->type);
  const uint64_t bits = dtype_encode(p->type, v);
  int64_t bad = __atomic_load_n(&p->bad, __ATOMIC_RELAXED);
  if (!dtype_is_float(p->type) && dtype_decode(p->type, bits) != v) {
    while (i < bad && !__atomic_compare_exchange_n(&p->bad, &bad, i, false, __ATOMIC_RELAXED,
                                                   __ATOMIC_RELAXED)) {
    }
  }
  memcpy(p->bytes + (size_t)i * size, &bits, size);
}

static void put_list(putting *p, int64_t from, int64_t n, const double *list) {
  for (int64_t i = 0; i < n; i++) {
    store(p, from + i, list ? list[i] : 0);
  }
}

static void put_values(putting *p, int64_t row) {
  enum { FEW = 1024 };
  const matrix_csr *c = &p->m->csr;
  const int64_t from = c->offsets[row], n = c->offsets[row + 1] - from;
  const bool imaginary = p->part == MATRIX_PART_imaginary;
  const double *of_file = imaginary ? p->m->imaginary : p->m->real;
  if (of_file || imaginary) {
    put_list(p, from, n, of_file ? of_file + from : NULL);
    return;
  }
  double few[FEW], *list = n <= FEW ? few : malloc((size_t)n * sizeof *list);
  if (!list) {
    __atomic_store_n(&p->failed, true, __ATOMIC_RELAXED);
    return;
  }
  row_values(p->m, row, !dtype_is_float(p->type), list);
  put_list(p, from, n, list);
  if (list != few) {
    free(list);
  }
}

static void put_row(putting *p, int64_t row) {
  const matrix_csr *c = &p->m->csr;
  if (p->part == MATRIX_PART_offsets) {
    store(p, row, (double)c->offsets[row]);
    return;
  }
  if (p->part != MATRIX_PART_rows && p->part != MATRIX_PART_columns) {
    put_values(p, row);
    return;
  }
  for (int64_t i = c->offsets[row]; i < c->offsets[row + 1]; i++) {
    store(p, i, p->part == MATRIX_PART_rows ? (double)row : (double)c->indices[i]);
  }
}

static void put_rows(void *self, size_t chunk) {
  putting *p = self;
  const int64_t from = (int64_t)chunk * ROWS_AT_ONCE, end = from + ROWS_AT_ONCE;
  for (int64_t row = from; row < end && row < p->m->csr.rows; row++) {
    put_row(p, row);
  }
}

static const char *name_of(const matrix_input *m) {
  return m->spec.kind ? m->spec.kind->name : m->spec.path;
}

static int check(const matrix_input *m, matrix_part part, const char *arg, uint64_t count, err *e) {
  const int64_t n = part == MATRIX_PART_offsets ? m->csr.rows + 1 : m->csr.n;
  if (part == MATRIX_PART_values && m->is_complex) {
    return err_at(e, ERR_USAGE, name_of(m),
                  "its values are complex: '%s' takes part = \"real\" or \"imaginary\"", arg);
  }
  return (uint64_t)n == count
             ? 0
             : err_at(
                   e, ERR_USAGE, name_of(m),
                   "it has %lld rows, %lld columns and %lld entries: '%s' needs %lld elements, and "
                   "has %llu in this problem",
                   (long long)m->csr.rows, (long long)m->csr.columns, (long long)m->csr.n, arg,
                   (long long)n, (unsigned long long)count);
}

int matrix_input_put(const matrix_input *m, matrix_part part, const char *arg, dtype type,
                     uint64_t count, void *bytes, err *e) {
  putting p = {.m = m, .part = part, .type = type, .bytes = bytes, .bad = INT64_MAX};
  if (!count) { /* an optional argument that this problem leaves out */
    return 0;
  }
  TRY(check(m, part, arg, count, e));
  threads_each((size_t)(m->csr.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, m->threads, put_rows, &p);
  if (part == MATRIX_PART_offsets) {
    store(&p, m->csr.rows, (double)m->csr.n);
  }
  return p.failed ? err_nomem(e)
         : p.bad == INT64_MAX
             ? 0
             : err_at(e, ERR_USAGE, name_of(m),
                      "element %lld of its %s does not fit '%s', which is %s", (long long)p.bad,
                      matrix_part_names[part - 1], arg, dtype_name(type));
}
