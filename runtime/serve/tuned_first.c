/* tuned_first.c -- the symbols tuned_open and tuned_info, for programs compiled with the header of
 * version 0.1, which did not pass on the sizes of structs: theirs end with the fields named here. */

/* The header's own functions of these names stand aside. */
#define tuned_open tuned_open_of_header
#define tuned_info tuned_info_of_header
#include "tuned.h"
#undef tuned_open
#undef tuned_info

TUNED_API int tuned_open(tuned_context **ctx, const tuned_options *options, tuned_error *err);
TUNED_API int tuned_info(const tuned_kernel *kernel, tuned_kernel_info *info, tuned_error *err);

int tuned_open(tuned_context **ctx, const tuned_options *options, tuned_error *err) {
  return tuned_open_sized(ctx, options, TUNED_NBYTES(tuned_options, trust_database), err);
}

int tuned_info(const tuned_kernel *kernel, tuned_kernel_info *info, tuned_error *err) {
  return tuned_info_sized(kernel, info, TUNED_NBYTES(tuned_kernel_info, expected_loss), err);
}
