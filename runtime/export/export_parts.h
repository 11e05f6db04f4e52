/* export_parts.h -- what the files that write C (export_header.c, export_images.c, export_portfolio.c) share.
 */
#ifndef EXPORT_PARTS_H
#define EXPORT_PARTS_H

#include "export.h"

enum { EXPORT_NAME = 80 };

/* export_name -- the prefix of names, and the same in capitals. err ERR_USAGE  no C identifier */
int export_name(const gen_template *t, const export_info *x, const char **name,
                char upper[EXPORT_NAME], err *e);
/* export_provenance -- each line begins with `start`: " * " or "// " */
void export_provenance(str *s, const export_info *x, const char *start);
const char *export_c_type(dtype type);
/* export_images -- arrays of bytes, a table of them per source, and `find_image(source, cc)`; the
 * caller has included cuda.h and stddef.h */
void export_images(const export_image *images, size_t n_sources, size_t n_archs, str *out);
/* export_tensor_function -- a function NAME_tensor, for plans with tensors */
void export_tensor_function(const char *name, str *out);
/* export_launch_function -- a function NAME_launch_kernel */
void export_launch_function(const char *name, str *out);
/* export_compute_capability -- a function compute_capability(device, &cc) */
void export_compute_capability(str *out);

static inline bool export_is_buffer(const gen_arg *a) {
  return a->dir != GEN_SCALAR;
}
static inline bool export_is_fixed(const gen_arg *a) {
  return !export_is_buffer(a) && a->value;
}

#endif
