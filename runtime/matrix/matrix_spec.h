/* matrix_spec.h -- what a matrix of test data is: a generator with its parameters, or a file. */
#ifndef MATRIX_SPEC_H
#define MATRIX_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "hash.h"

/* name, least, most, is it a whole number? */
#define MATRIX_NUMBER_LIST(X)                                                                      \
  X(rows, 0, 0x7fffffff, 1)                                                                        \
  X(columns, 0, 0x7fffffff, 1)                                                                     \
  X(entries, 0, 0x1p40, 1)                                                                         \
  X(side, 0, 46340, 1)                                                                             \
  X(scale, 0, 30, 1)                                                                               \
  X(degree, 0, 0x7fffffff, 0)                                                                      \
  X(band, 0, 0x7fffffff, 1)                                                                        \
  X(block, 1, 64, 1)                                                                               \
  X(mean, 1, 0x1p20, 0)                                                                            \
  X(exponent, 0, 16, 0)                                                                            \
  X(longest, 1, 0x1p24, 1)                                                                         \
  X(share, 0, 1, 0)                                                                                \
  X(keep, 0, 1, 0)                                                                                 \
  X(seed, 0, 0x1p53, 1)                                                                            \
  X(symmetric, 0, 1, 1) /* of all generators: A or its transpose */                                \
  X(shuffle, 0, 1, 1)   /* rows and columns in the same random order */                            \
  X(spd, 0, 1, 1)       /* symmetric, and the diagonal exceeds the sum of the others */            \
  X(laplace, 0, 1, 1)   /* of stencils: -1, and how many neighbours on the diagonal */

typedef enum matrix_number {
#define MATRIX_NUMBER_ENUM(name, least, most, whole) MATRIX_##name,
  MATRIX_NUMBER_LIST(MATRIX_NUMBER_ENUM)
#undef MATRIX_NUMBER_ENUM
      MATRIX_NUMBERS
} matrix_number;

enum { MATRIX_MOST_PATH = 4096 };
static const double MATRIX_MOST_ENTRIES = 0x1p32;

typedef struct matrix_spec matrix_spec;
struct matrix_tables;

/* A row's columns, ascending and distinct.
 *   out  to  NULL: only their number is asked for */
typedef int64_t matrix_row(const matrix_spec *s, const struct matrix_tables *t, int64_t row,
                           int32_t *to);

typedef struct matrix_kind { /* a generator */
  const char *name;
  const char *takes; /* parameters with their defaults: "rows=4096 columns degree=8" */
  int (*size)(matrix_spec *s, err *e); /* rows, columns, and entries where they are known */
  matrix_row *row;                     /* NULL: it is made of pairs (matrix_pairs.h) */
  int dims;                            /* stencils: of the grid */
  bool box;                            /* stencils: corners belong to them, too */
  bool graph;                          /* no diagonal, pattern and values symmetric */
  bool symmetric, diagonal;            /* the pattern is; has all of its diagonal */
} matrix_kind;

struct matrix_spec {
  const matrix_kind *kind;  /* NULL: a file */
  double v[MATRIX_NUMBERS]; /* NAN: the generator does not take it */
  uint32_t given;           /* bits of the numbers that the text has */
  int64_t rows, columns;
  int64_t entries; /* -1: only making the matrix tells */
  char path[MATRIX_MOST_PATH];
};

/* what the makers read of a spec */
static inline int64_t matrix_whole(const matrix_spec *s, matrix_number n) {
  return (int64_t)s->v[n];
}
static inline bool matrix_is(const matrix_spec *s, matrix_number n) {
  return s->v[n] == 1;
}

/* matrix_stream -- one of several streams of random words; matrix_word -- its i-th word, which may be a
 * stream again */
static inline uint64_t matrix_word(uint64_t stream, uint64_t i) {
  return hash_mix(stream + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}
static inline uint64_t matrix_stream(const matrix_spec *s, uint64_t stream) {
  return matrix_word(stream, (uint64_t)s->v[MATRIX_seed]);
}
/* matrix_below -- a random number below n */
static inline uint64_t matrix_below(uint64_t word, uint64_t n) {
  return (uint64_t)((unsigned __int128)word * n >> 64);
}
/* matrix_chance -- a word is below this with the probability p */
static inline uint64_t matrix_chance(double p) {
  return p >= 1 ? UINT64_MAX : (uint64_t)(p * 0x1p64);
}
enum { /* streams */
       MATRIX_DRAWS_VALUES = 1,
       MATRIX_DRAWS_LENGTHS,
       MATRIX_DRAWS_COLUMNS,
       MATRIX_DRAWS_ORDER
};

#endif
