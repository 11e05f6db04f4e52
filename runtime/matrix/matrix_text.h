/* matrix_text.h -- the text that names a matrix of test data.
 *
 *   zipf rows=1048576 columns=1048576 exponent=1.8 longest=4096 seed=0
 *   file:a.mtx
 *
 * Sizes that follow from the parameters alone are known here; matrix_input.h makes the matrix. */
#ifndef MATRIX_TEXT_H
#define MATRIX_TEXT_H

#include "matrix_spec.h"
#include "str.h"

/* matrix_takes -- does the generator have such a parameter? matrix_is_file -- does the text name a file? */
bool matrix_takes(const char *generator, const char *parameter);
bool matrix_is_file(const char *text);
/* matrix_add_parameters -- append "matrix=zipf takes rows, columns, ..."; of a file nothing */
void matrix_add_parameters(const char *text, str *out);
/* matrix_check_name -- err ERR_USAGE: there is no such generator; suggests the nearest, lists them */
int matrix_check_name(const char *generator, err *e);

/* matrix_spec_parse --
 *   out  *s   rows and columns of a file are 0, its entries -1
 *   err  ERR_USAGE  no such generator or parameter, or a value that it cannot have
 *        ERR_LIMIT  too large */
int matrix_spec_parse(const char *text, matrix_spec *s, err *e);
/* matrix_spec_text -- append the canonical text, with every parameter */
void matrix_spec_text(const matrix_spec *s, str *out);

#endif
