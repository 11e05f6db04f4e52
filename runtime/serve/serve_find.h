/* serve_find.h -- the templates that a context has in use, and from a problem to a kernel that can be
 * launched. Once per problem and context, under the context's lock.
 *
 * The best guess of serve_choose.h serves if its image is at hand. Else, unless calls wait, the best
 * one that is at hand serves: a candidate that another size has loaded, or a form of the base set;
 * and the better one is compiled behind (background.h). */
#ifndef SERVE_FIND_H
#define SERVE_FIND_H

#include "serve_context.h"
#include "serve_make.h"

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
/* serve_parse_text -- its family and the complete problem */
int serve_parse_text(serve *s, const char *text, serve_family **f, gen_problem *p, err *e);
/* serve_find_text -- of a problem as text: "sgemm m=1000"; a template's path may be the name */
int serve_find_text(serve *s, const char *text, tuned_kernel **k, err *e);
/* serve_prepare_text -- begins to compile what serve_find_text would not find at hand */
int serve_prepare_text(serve *s, const char *text, err *e);

#endif
