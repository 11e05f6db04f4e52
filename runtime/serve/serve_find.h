/* serve_find.h -- the templates that a context has in use, and from a problem to a kernel that can be
 * launched: the first candidate of serve_choose.h that can be loaded (serve_build.h). Once per
 * problem and context, under the context's lock. */
#ifndef SERVE_FIND_H
#define SERVE_FIND_H

#include "serve_context.h"

typedef struct serve_family { /* until the context is closed */
  struct serve_family *next;
  char *name; /* as the program calls it: "sgemm" or a path */
  gen_template *t;
  serve_known known; /* read by serve_choose */
} serve_family;

/* serve_family_get -- opened before or now; under the context's lock */
int serve_family_get(serve *s, const char *name, serve_family **family, err *e);
void serve_families_free(serve *s);

/* serve_complete -- gen_problem_complete, with the context's value of the field reproducible if the
 * problem has that field and does not give it */
int serve_complete(const serve *s, gen_template *t, gen_problem *p, bool *given, err *e);

/* serve_find -- the kernel of a complete problem, found before or made now; it is stored in
 * front.kernels under the key, too */
int serve_find(serve *s, serve_family *f, const gen_problem *p, const void *key, size_t nbytes,
               tuned_kernel **k, err *e);
/* serve_find_text -- of a problem as text: "sgemm m=1000"; a template's path may be the name */
int serve_find_text(serve *s, const char *text, tuned_kernel **k, err *e);

#endif
