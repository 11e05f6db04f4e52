/* matrix_input.h -- a matrix as test data: made by a generator or read from a file, and taken apart into the
 * buffers of a problem. The same text gives the same bytes on every host, whatever its number of cores. */
#ifndef MATRIX_INPUT_H
#define MATRIX_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "dtype.h"
#include "err.h"
#include "hash.h"

/* What a buffer takes: of compressed rows, or of a list of the entries, row by row. */
#define MATRIX_PART_LIST(X) X(offsets) X(rows) X(columns) X(values) X(real) X(imaginary)

typedef enum matrix_part {
  MATRIX_PART_NONE,
#define MATRIX_PART_ENUM(name) MATRIX_PART_##name,
  MATRIX_PART_LIST(MATRIX_PART_ENUM)
#undef MATRIX_PART_ENUM
} matrix_part;
extern const char *const matrix_part_names[]; /* that of part p is [p - 1]; ends with NULL */

typedef struct matrix_input matrix_input;

/* matrix_input_open -- of a text as matrix_text.h has it.
 *   in   threads  at most; 0: one a core
 *   err  those of matrix_spec_parse, matrix_csr_make, matrix_market_parse; ERR_IO, ERR_NOTFOUND */
int matrix_input_open(const char *text, size_t threads, matrix_input **out, err *e);
void matrix_input_close(matrix_input *m);
void matrix_input_size(const matrix_input *m, int64_t *rows, int64_t *columns, int64_t *entries);

/* matrix_input_put -- the elements of a part.
 *   in   count  the buffer's elements
 *        arg    its name, for messages
 *   err  ERR_USAGE  it has another number of elements, or a type that does not hold them */
int matrix_input_put(const matrix_input *m, matrix_part part, const char *arg, dtype type,
                     uint64_t count, void *bytes, err *e);

/* matrix_counts -- rows, columns and entries of what a text names, by formulas where that is possible */
int matrix_counts(const char *text, int64_t *rows, int64_t *columns, int64_t *entries, err *e);
/* matrix_digest -- of what a text names: of a file its contents, else the canonical text */
int matrix_digest(const char *text, char out[HASH_TEXT], err *e);

#endif
