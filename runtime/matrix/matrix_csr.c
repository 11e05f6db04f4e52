#include "matrix_csr.h"

#include <stdlib.h>

void matrix_csr_clear(matrix_csr *m) {
  free(m->offsets);
  free(m->indices);
  *m = (matrix_csr){0};
}
