/* test_family_spmv.c -- every format of spmv: the matrix of the textbook, and matrices that formats are not
 * made for. A preparation may refuse these; no result may be wrong.
 *   build/tests/test_family_spmv [--device NAME] */
#define _GNU_SOURCE
#include "family_fixture.h"

static const char *const configs[] = {
    "ALG=csr_scalar",
    "ALG=csr_vector,LANES=4,VEC=4",
    "ALG=csr_block,BLOCK=64",
    "ALG=csr_staged,LANES=32,BLOCK=64,CHUNK=512,VEC=2",
    "ALG=csr_bins,LANES=2,LONG=64",
    "ALG=csr_merge,ITEMS=5,BLOCK=64",
    "ALG=sell,SIGMA=256,COLUMNS=u16,SPLIT=2",
    "ALG=bsr,SIDE=2",
    "ALG=dia,VEC=2,UNROLL=4",
    "ALG=ell,UNROLL=4",
    "ALG=hybrid",
    "ALG=jds",
    "ALG=jds_sections,SLICE=64",
};
enum { QUICK = sizeof configs / sizeof *configs - 2 }; /* to emulate: without sorts by length */

BED_TEST(formats_agree_on_the_textbook_matrix) {
  CHECK_CONFIGS(b, "spmv", "matrix=file:examples/sparse.mtx", configs);
}

BED_TEST(formats_take_matrices_they_are_not_made_for) {
  static const char *const problems[] = {"rows=70 nnz=0", "matrix=hub rows=70 degree=2"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    check_configs(b, "spmv", problems[i], configs, QUICK);
  }
}

BED_TEST(entries_take_matrices_without_entries_and_with_one_row) {
  static const char *const entries[] = {"ALG=coo_atomic", "ALG=coo_segmented,ITEMS=4,BLOCK=64",
                                        "ALG=csr_scalar"};
  CHECK_CONFIGS(b, "spmv", "rows=70 nnz=0 format=coo", entries);
  CHECK_CONFIGS(b, "spmv", "rows=1 cols=900 nnz=700 format=coo", entries);
  CHECK_CONFIGS(b, "spmv", "matrix=file:examples/sparse.mtx format=coo", entries);
}

int main(int argc, char **argv) {
  return bed_tests_run(argc, argv);
}
