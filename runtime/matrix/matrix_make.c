/* matrix_make.c -- rows of a generator: counted, then each put where it begins. */
#include "matrix_make.h"

#include <stdlib.h>

#include "matrix_pairs.h"
#include "matrix_rows.h"
#include "threads.h"

enum { ROWS_AT_ONCE = 1024 };

typedef struct rows_job {
  const matrix_spec *s;
  matrix_tables tables;
  matrix_csr *m;
} rows_job;

static void count_rows(void *self, size_t chunk) {
  rows_job *j = self;
  const int64_t from = (int64_t)chunk * ROWS_AT_ONCE, end = from + ROWS_AT_ONCE;
  for (int64_t row = from; row < end && row < j->s->rows; row++) {
    j->m->offsets[row + 1] = j->s->kind->row(j->s, &j->tables, row, NULL);
  }
}

static void put_rows(void *self, size_t chunk) {
  rows_job *j = self;
  const int64_t from = (int64_t)chunk * ROWS_AT_ONCE, end = from + ROWS_AT_ONCE;
  for (int64_t row = from; row < end && row < j->s->rows; row++) {
    j->s->kind->row(j->s, &j->tables, row, j->m->indices + j->m->offsets[row]);
  }
}

static size_t chunks_of(const matrix_spec *s) {
  return (size_t)(s->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
}

static int count(rows_job *j, size_t threads, err *e) {
  matrix_csr *m = j->m;
  TRY(matrix_tables_make(j->s, &j->tables, e));
  m->offsets = calloc((size_t)m->rows + 1, sizeof *m->offsets);
  TRY(m->offsets ? 0 : err_nomem(e));
  threads_each(chunks_of(j->s), threads, count_rows, j);
  for (int64_t row = 0; row < m->rows; row++) {
    if (m->offsets[row + 1] < 0) {
      return err_nomem(e);
    }
    m->offsets[row + 1] += m->offsets[row];
  }
  m->n = m->offsets[m->rows];
  return matrix_room(m->rows, (double)m->n, e);
}

static int put(rows_job *j, size_t threads, err *e) {
  j->m->indices = malloc((size_t)(j->m->n + 1) * sizeof *j->m->indices);
  TRY(j->m->indices ? 0 : err_nomem(e));
  threads_each(chunks_of(j->s), threads, put_rows, j);
  return 0;
}

static int make_rows(const matrix_spec *s, size_t threads, bool only_count, matrix_csr *m, err *e) {
  rows_job j = {.s = s, .m = m};
  int rc = matrix_room(s->rows, s->entries > 0 ? (double)s->entries : 0, e);
  rc = rc ? rc : count(&j, threads, e);
  rc = rc || only_count ? rc : put(&j, threads, e);
  matrix_tables_clear(&j.tables);
  return rc;
}

/* Is its pattern other than what rows or pairs give? */
static bool changes(const matrix_spec *s) {
  const bool spd = matrix_is(s, MATRIX_spd), symmetric = spd || matrix_is(s, MATRIX_symmetric);
  return (symmetric && !s->kind->symmetric) || (spd && !s->kind->diagonal);
}

static int make(const matrix_spec *s, size_t threads, bool only_count, matrix_csr *m, err *e) {
  *m = (matrix_csr){.rows = s->rows, .columns = s->columns};
  TRY(s->kind->row ? make_rows(s, threads, only_count && !changes(s), m, e)
                   : matrix_rmat(s, threads, m, e));
  TRY(changes(s) ? matrix_symmetrise(matrix_is(s, MATRIX_spd), threads, m, e) : 0);
  return matrix_is(s, MATRIX_shuffle) && !only_count ? matrix_shuffle(s, threads, m, e) : 0;
}

int matrix_csr_make(const matrix_spec *s, size_t threads, matrix_csr *m, err *e) {
  return make(s, threads, false, m, e);
}

int matrix_csr_count(const matrix_spec *s, size_t threads, int64_t *n, err *e) {
  matrix_csr m;
  *n = s->entries;
  if (s->entries >= 0) {
    return 0;
  }
  const int rc = make(s, threads, true, &m, e);
  *n = m.n;
  matrix_csr_clear(&m);
  return rc;
}
