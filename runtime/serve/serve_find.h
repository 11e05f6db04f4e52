/* serve_find.h -- from a problem to a kernel that can be launched: the first of the candidates of
 * serve_choose.h whose image can be had (serve_build.h). Once per problem and context, under the
 * context's lock. */
#ifndef SERVE_FIND_H
#define SERVE_FIND_H

#include "serve_family.h"

/* serve_find -- the kernel of a complete problem, found before or made now; from now on the key
 * leads to it in front.kernels */
int serve_find(serve *s, serve_family *f, const gen_problem *p, const void *key, size_t nbytes,
               tuned_kernel **k, err *e);
/* serve_find_text -- of a problem in words: "sgemm m=1000", a template's path in place of the name */
int serve_find_text(serve *s, const char *text, tuned_kernel **k, err *e);

#endif
