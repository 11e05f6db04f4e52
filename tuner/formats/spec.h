/* spec.h -- the configuration space of a tuning problem in the T1 format of the auto-tuning
 * community.
 *
 * T1 is JSON: parameters with values, conditions written as Python expressions, and a specification
 * of the kernel. The space becomes that of a template with nothing else, so everything that works
 * on spaces works on it. The kernel is not built: T1 defines no reference results, and its source
 * path is relative to the folders of other tools.
 *
 * src: Torring et al., Towards a Benchmarking Suite for Kernel Tuners, iWAPT 2023. */
#ifndef TUNE_SPEC_H
#define TUNE_SPEC_H

#include "gen.h"

typedef struct spec {
  char name[64];   /* of the benchmark */
  char kernel[64]; /* "convolution_kernel", or empty */
  char language[32];
  gen_template *t; /* its space; requirements are named by their Python */
  gen_instance *g;
} spec;

/* spec_open -- call spec_close even after a failure.
 *   err  ERR_NOTFOUND, ERR_IO, ERR_LIMIT  the file
 *        ERR_USAGE  not T1, or an unsupported expression; place is the file */
int spec_open(const char *path, spec *s, err *e);
/* spec_parse -- the same from text in memory; `path` is for messages */
int spec_parse(const char *path, const char *text, size_t n, spec *s, err *e);
void spec_close(spec *s);
/* spec_template -- append the template's text, in Lua. brute: every requirement reads the last
 * parameter, so that none is decided early; for comparison */
int spec_template(const char *path, const char *text, size_t n, bool brute, str *out, err *e);

#endif
