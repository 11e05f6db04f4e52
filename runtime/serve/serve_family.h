/* serve_family.h -- the templates that a context has in use, each with what is known about it. */
#ifndef SERVE_FAMILY_H
#define SERVE_FAMILY_H

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

#endif
