/* serve_family.h -- the templates that a context has in use, each with what is known about it. */
#ifndef SERVE_FAMILY_H
#define SERVE_FAMILY_H

#include "serve_context.h"

/* serve_family_get -- "sgemm", or a template's path; under the lock. Borrowed until the context is
 * closed */
int serve_family_get(serve *s, const char *name, gen_template **t, err *e);
/* serve_family_name -- the name it was got by, as long as the context; under the lock */
const char *serve_family_name(const serve *s, const gen_template *t);
serve_known *serve_known_of(serve *s, const gen_template *t);
void serve_families_free(serve *s);

#endif
