/* matrix_kind.h -- the table of generators. */
#ifndef MATRIX_KIND_H
#define MATRIX_KIND_H

#include "matrix_spec.h"

extern const matrix_kind matrix_kinds[]; /* ends with a NULL name */

#endif
