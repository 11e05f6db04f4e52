/* matrix_make.h -- compressed rows of a generator, made in parallel. What they are does not depend on how many
 * threads make them. */
#ifndef MATRIX_MAKE_H
#define MATRIX_MAKE_H

#include "matrix_csr.h"
#include "matrix_spec.h"

/* matrix_csr_make -- what a generator makes.
 *   in   threads  at most
 *   out  *m       matrix_csr_clear, even if this fails
 *   err  ERR_LIMIT  too many entries, or too much memory for this host;  ERR_NOMEM */
int matrix_csr_make(const matrix_spec *s, size_t threads, matrix_csr *m, err *e);
/* matrix_csr_count -- its number of entries; makes no more than that needs */
int matrix_csr_count(const matrix_spec *s, size_t threads, int64_t *n, err *e);

#endif
