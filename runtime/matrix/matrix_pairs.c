/* matrix_pairs.c -- counted, each put into its row, rows sorted, repetitions dropped. */
#define _GNU_SOURCE
#include "matrix_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "threads.h"

enum { FEW = 24 };

int matrix_room(int64_t rows, double entries, err *e) {
  const double needed = 8 * (double)rows + 4 * entries;
  const double host = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  if (entries > MATRIX_MOST_ENTRIES) {
    return err_set(e, ERR_LIMIT, "the matrix would have up to %.0f entries; 2^32 are the most",
                   entries);
  }
  return needed <= host / 2
             ? 0
             : err_set(e, ERR_LIMIT,
                       "the matrix takes up to %.3g GB, and half of this host's memory is %.3g GB",
                       needed / 1e9, host / 2e9);
}

/* ---- sorting a row --------------------------------------------------------------------------- */

static void sort_few(int32_t *v, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    const int32_t x = v[i];
    int64_t at = i;
    for (; at > 0 && v[at - 1] > x; at--) {
      v[at] = v[at - 1];
    }
    v[at] = x;
  }
}

static void swap(int32_t *a, int32_t *b) {
  const int32_t x = *a;
  *a = *b;
  *b = x;
}

static void sift(int32_t *v, int64_t i, int64_t n) {
  for (int64_t child; (child = 2 * i + 1) < n; i = child) {
    child += child + 1 < n && v[child + 1] > v[child];
    if (v[i] >= v[child]) {
      return;
    }
    swap(&v[i], &v[child]);
  }
}

static void heap_sort(int32_t *v, int64_t n) {
  for (int64_t i = n / 2; i-- > 0;) {
    sift(v, i, n);
  }
  for (int64_t i = n; i-- > 1;) {
    swap(&v[0], &v[i]);
    sift(v, 0, i);
  }
}

/* What is less than the pivot, equal, and more; equal ones, of which hubs have many, are done. */
static void sort(int32_t *v, int64_t n, int depth) {
  while (n > FEW) {
    if (depth-- == 0) {
      heap_sort(v, n);
      return;
    }
    const int32_t a = v[n / 4], b = v[n / 2], c = v[n - n / 4];
    const int32_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
    int64_t low = 0, high = n;
    for (int64_t i = 0; i < high;) {
      if (v[i] < pivot) {
        swap(&v[low++], &v[i++]);
      } else if (v[i] > pivot) {
        swap(&v[i], &v[--high]);
      } else {
        i++;
      }
    }
    sort(v, low, depth);
    v += high;
    n -= high;
  }
  sort_few(v, n);
}

/* ---- rows of pairs --------------------------------------------------------------------------- */

/* Pairs go to buckets of adjacent rows first, each of which one thread turns into rows within its caches. */
enum { CHUNKS = 64, BUCKETS = 1024 };

typedef struct building {
  const matrix_pairs *pairs;
  matrix_csr *m;
  int shift;                  /* row >> shift is its bucket */
  int64_t (*places)[BUCKETS]; /* per chunk: where it puts its next pair of each bucket */
  int64_t ends[BUCKETS + 1];  /* where buckets begin, and the last ends */
  uint64_t *list;             /* row << 32 | column */
  int64_t *next;              /* per row: where its next entry goes; then its end */
  matrix_put *put;            /* of this pass */
} building;

typedef struct writing {
  int64_t *places;
  uint64_t *list;
  int shift;
} writing;

static void count_pair(void *sink, int64_t row, int64_t column) {
  writing *w = sink;
  (void)column;
  w->places[row >> w->shift]++;
}

static void place_pair(void *sink, int64_t row, int64_t column) {
  writing *w = sink;
  w->list[w->places[row >> w->shift]++] = (uint64_t)row << 32 | (uint64_t)column;
}

static void one_chunk(void *self, size_t i) {
  const building *b = self;
  const __int128 n = b->pairs->n;
  writing w = {b->places[i], b->list, b->shift};
  b->pairs->range(b->pairs->self, (int64_t)(n * (int64_t)i / CHUNKS),
                  (int64_t)(n * ((int64_t)i + 1) / CHUNKS), b->put, &w);
}

static void run_pass(building *b, matrix_put *put, size_t threads) {
  b->put = put;
  threads_each(CHUNKS, threads, one_chunk, b);
}

/* From counts to places. */
static int64_t find_places(building *b) {
  int64_t n = 0;
  for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
    b->ends[bucket] = n;
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
      const int64_t length = b->places[chunk][bucket];
      b->places[chunk][bucket] = n;
      n += length;
    }
  }
  b->ends[BUCKETS] = n;
  return n;
}

static void finish_row(building *b, int64_t row) {
  int32_t *v = b->m->indices + b->m->offsets[row];
  const int64_t n = b->next[row] - b->m->offsets[row];
  int64_t left = 0;
  sort(v, n, 64);
  for (int64_t k = 0; k < n; k++) {
    if (!left || v[left - 1] != v[k]) {
      v[left++] = v[k];
    }
  }
  b->next[row] = b->m->offsets[row] + left;
}

static void finish_bucket(void *self, size_t bucket) {
  building *b = self;
  const int64_t first = (int64_t)bucket << b->shift, last = (int64_t)(bucket + 1) << b->shift;
  const int64_t from = b->ends[bucket], end = b->ends[bucket + 1];
  int64_t at = from;
  for (int64_t i = from; i < end; i++) {
    b->next[b->list[i] >> 32]++;
  }
  for (int64_t row = first; row < last && row < b->m->rows; row++) {
    const int64_t n = b->next[row];
    b->m->offsets[row] = b->next[row] = at;
    at += n;
  }
  for (int64_t i = from; i < end; i++) {
    b->m->indices[b->next[b->list[i] >> 32]++] = (int32_t)b->list[i];
  }
  for (int64_t row = first; row < last && row < b->m->rows; row++) {
    finish_row(b, row);
  }
}

/* Rows follow each other without what was dropped. */
static void close_gaps(building *b) {
  matrix_csr *m = b->m;
  int64_t end = 0;
  for (int64_t row = 0; row < m->rows; row++) {
    const int64_t n = b->next[row] - m->offsets[row];
    if (m->offsets[row] != end) {
      memmove(m->indices + end, m->indices + m->offsets[row], (size_t)n * sizeof *m->indices);
    }
    m->offsets[row] = end;
    end += n;
  }
  m->offsets[m->rows] = m->n = end;
  int32_t *less = realloc(m->indices, (size_t)(end + 1) * sizeof *less);
  m->indices = less ? less : m->indices;
}

static int build(building *b, size_t threads, err *e) {
  matrix_csr *m = b->m;
  while (m->rows >> b->shift >= BUCKETS) {
    b->shift++;
  }
  m->offsets = calloc((size_t)m->rows + 1, sizeof *m->offsets);
  b->next = calloc((size_t)m->rows + 1, sizeof *b->next);
  b->places = calloc(CHUNKS, sizeof *b->places);
  TRY(b->next && m->offsets && b->places ? 0 : err_nomem(e));
  run_pass(b, count_pair, threads);
  const int64_t n = find_places(b);
  TRY(matrix_room(m->rows, 3 * (double)n, e)); /* a pair takes 8 bytes, an entry 4 */
  b->list = malloc((size_t)(n + 1) * sizeof *b->list);
  m->indices = malloc((size_t)(n + 1) * sizeof *m->indices);
  TRY(b->list && m->indices ? 0 : err_nomem(e));
  run_pass(b, place_pair, threads);
  threads_each(BUCKETS, threads, finish_bucket, b);
  close_gaps(b);
  return 0;
}

int matrix_pairs_make(const matrix_pairs *pairs, size_t threads, matrix_csr *m, err *e) {
  building b = {.pairs = pairs, .m = m};
  const int rc = build(&b, threads, e);
  free(b.next);
  free(b.places);
  free(b.list);
  return rc;
}

/* ---- who makes pairs ------------------------------------------------------------------------- */

/* A random order of n numbers, by Fisher and Yates; NULL: no memory. */
static int32_t *random_order(const matrix_spec *s, int64_t n) {
  const uint64_t stream = matrix_stream(s, MATRIX_DRAWS_ORDER);
  int32_t *order = malloc((size_t)(n + 1) * sizeof *order);
  for (int64_t i = 0; order && i < n; i++) {
    const int64_t other = (int64_t)matrix_below(matrix_word(stream, (uint64_t)i), (uint64_t)i + 1);
    order[i] = order[other];
    order[other] = (int32_t)i;
  }
  return order;
}

typedef struct kronecker {
  const int32_t *order;
  uint64_t stream;
  int scale;
} kronecker;

/* Each level takes 16 bits of a word. */
static void draw_edge(const kronecker *k, uint64_t i, uint32_t *from, uint32_t *to) {
  enum { A = 37355, AB = A + 12452, ABC = AB + 12452 }; /* .57, .19, .19 of 2^16 */
  const uint64_t stream = matrix_word(k->stream, i);
  uint64_t bits = 0;
  *from = *to = 0;
  for (int level = 0; level < k->scale; level++, bits >>= 16) {
    bits = level % 4 ? bits : matrix_word(stream, (uint64_t)level);
    const unsigned x = bits & 0xffff;
    *from = *from << 1 | (x >= AB);
    *to = *to << 1 | ((x >= A) ^ (x >= AB) ^ (x >= ABC)); /* without branches */
  }
}

static void rmat_edges(void *self, int64_t first, int64_t end, matrix_put *put, void *sink) {
  const kronecker *k = self;
  for (int64_t i = first; i < end; i++) {
    uint32_t from, to;
    draw_edge(k, (uint64_t)i, &from, &to);
    if (from != to) {
      put(sink, k->order[from], k->order[to]);
      put(sink, k->order[to], k->order[from]);
    }
  }
}

int matrix_rmat(const matrix_spec *s, size_t threads, matrix_csr *m, err *e) {
  const double edges = floor(s->v[MATRIX_degree] * (double)s->rows);
  TRY(matrix_room(s->rows, 2 * edges, e));
  int32_t *order = random_order(s, s->rows);
  kronecker k = {.order = order,
                 .stream = matrix_stream(s, MATRIX_DRAWS_COLUMNS),
                 .scale = (int)s->v[MATRIX_scale]};
  const matrix_pairs pairs = {&k, (int64_t)edges, rmat_edges};
  const int rc = order ? matrix_pairs_make(&pairs, threads, m, e) : err_nomem(e);
  free(order);
  return rc;
}

/* ---- pairs of another matrix ----------------------------------------------------------------- */

typedef struct remaking {
  matrix_csr from;
  const int32_t *order; /* NULL: the same */
  bool transpose, diagonal;
} remaking;

static void remake_row(const remaking *r, int64_t row, matrix_put *put, void *sink) {
  const int64_t to = r->order ? r->order[row] : row;
  for (int64_t i = r->from.offsets[row]; i < r->from.offsets[row + 1]; i++) {
    const int64_t column = r->order ? r->order[r->from.indices[i]] : r->from.indices[i];
    put(sink, to, column);
    if (r->transpose) {
      put(sink, column, to);
    }
  }
  if (r->diagonal) {
    put(sink, to, to);
  }
}

static void remake_rows(void *self, int64_t first, int64_t end, matrix_put *put, void *sink) {
  for (int64_t row = first; row < end; row++) {
    remake_row(self, row, put, sink);
  }
}

static int remake(remaking *r, size_t threads, matrix_csr *m, err *e) {
  const matrix_pairs pairs = {r, m->rows, remake_rows};
  r->from = *m;
  *m = (matrix_csr){.rows = m->rows, .columns = m->columns};
  const int rc = matrix_pairs_make(&pairs, threads, m, e);
  matrix_csr_clear(&r->from);
  return rc;
}

int matrix_symmetrise(bool diagonal, size_t threads, matrix_csr *m, err *e) {
  remaking r = {.transpose = true, .diagonal = diagonal};
  return remake(&r, threads, m, e);
}

int matrix_shuffle(const matrix_spec *s, size_t threads, matrix_csr *m, err *e) {
  int32_t *order = random_order(s, s->rows);
  remaking r = {.order = order};
  const int rc = order ? remake(&r, threads, m, e) : err_nomem(e);
  free(order);
  return rc;
}
