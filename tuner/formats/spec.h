/* spec.h -- a tuning problem in the T1 format of the auto-tuning community: its configuration
 * space.
 *
 * T1 is JSON: parameters with values and conditions written as Python expressions, and a
 * specification of the kernel. The space becomes that of a template which has nothing else, so that
 * everything that works on spaces works on it. The kernel is not built: T1 says neither what its
 * results should be nor, but for its own tools' folders, where its source is.
 *
 * src: Torring et al., Towards a Benchmarking Suite for Kernel Tuners, iWAPT 2023.
 */
#ifndef TUNE_SPEC_H
#define TUNE_SPEC_H

#include "gen.h"

typedef struct spec {
  char name[64];   /* of the benchmark */
  char kernel[64]; /* "convolution_kernel", or empty */
  char language[32];
  gen_template *t; /* its space, derived from the file; requirements are named by their Python */
  gen_instance *g;
} spec;

/* spec_open -- spec_close even after a failure
 *   err  ERR_NOTFOUND, ERR_IO, ERR_LIMIT  the file
 *        ERR_USAGE  not T1, or an expression that is not understood; place is the file */
int spec_open(const char *path, spec *s, err *e);
/* spec_parse -- the same from text; `path` is for messages */
int spec_parse(const char *path, const char *text, size_t n, spec *s, err *e);
void spec_close(spec *s);
/* spec_template -- append the template's text, in Lua. brute: no requirement is decided before the
 * last parameter is known, for comparison */
int spec_template(const char *path, const char *text, size_t n, bool brute, str *out, err *e);

#endif
