/* export_parts.h -- what the files that write C share. */
#ifndef EXPORT_PARTS_H
#define EXPORT_PARTS_H

#include "export.h"

enum { EXPORT_NAME = 80 };

/* export_texts, chooser_texts -- the files of this folder and of the portfolio's that exported C
 * contains; they end with a NULL name */
extern const gen_file export_texts[], chooser_texts[];

/* export_text -- append such a file, without the lines that include other files of ours */
void export_text(const gen_file *files, const char *name, str *out);
/* export_name -- the prefix of names, and the same in capitals. err ERR_USAGE  no C identifier */
int export_name(const gen_template *t, const export_info *x, const char **name,
                char upper[EXPORT_NAME], err *e);
/* export_provenance -- each line begins with `start`: " * " or "// " */
void export_provenance(str *s, const export_info *x, const char *start);
/* export_images -- arrays of bytes, and a table of them: images[source][arch] */
void export_images(const export_image *images, size_t n_sources, size_t n_archs, str *out);

static inline bool export_is_buffer(const gen_arg *a) {
  return a->dir != GEN_SCALAR;
}
static inline bool export_is_fixed(const gen_arg *a) {
  return !export_is_buffer(a) && a->value;
}

#endif
