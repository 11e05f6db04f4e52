/* serve_find.h -- from a problem to a kernel that can be launched: the first of the candidates of
 * serve_choose.h whose image can be had (serve_build.h). Once per problem and context, under the
 * context's lock. */
#ifndef SERVE_FIND_H
#define SERVE_FIND_H

#include "serve_context.h"

/* serve_find -- the kernel of a complete problem, found before or made now */
int serve_find(serve *s, gen_template *t, const gen_problem *p, tuned_kernel **k, err *e);
/* serve_find_text -- of a problem in words: "sgemm m=1000", a template's path in place of the name */
int serve_find_text(serve *s, const char *text, tuned_kernel **k, err *e);
/* serve_remember -- the key leads to the kernel from now on */
int serve_remember(serve *s, const void *key, size_t nbytes, tuned_kernel *k, err *e);

#endif
