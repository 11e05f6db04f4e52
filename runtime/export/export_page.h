/* export_page.h -- the C of a portfolio while it is being written, for the files that write parts
 * of it. */
#ifndef EXPORT_PAGE_H
#define EXPORT_PAGE_H

#include "export_parts.h"

typedef struct page { /* the file being written */
  const gen_template *t;
  const exported_portfolio *c;
  const char *name;
  char upper[EXPORT_NAME];
  gen_texts texts;
  arena memory;
  str name_text; /* what name_in_c last returned */
  str *out;
  err *e;
} page;

/* export_expression -- append it as C, over k, p, c and v. err ERR_TEMPLATE */
int export_expression(page *p, const char *text);
/* export_put -- append `before`, the expression, or `otherwise` where it is NULL, and `after`. err
 * as export_expression */
int export_put(page *p, const char *before, const char *expression, const char *otherwise,
               const char *after);
/* export_id, export_choice -- a name as C has it; the enumerator of a name that is a value */
void export_id(str *s, const char *name);
void export_choice(const page *p, const char *text, size_t n, str *s);

/* export_models -- tables for exported_portfolio.h; err as export_expression */
int export_models(page *p);

/* export_workspaces, export_run -- functions that place workspaces, and launch.
 *   err  as export_expression; ERR_USAGE  an argument's type depends on the problem */
int export_workspaces(page *p);
int export_run_prototype(page *p);
int export_run(page *p);
/* export_kernel_number -- of the stage's kernel among all, each counted once; all of them for the
 * stage after the last */
size_t export_kernel_number(const page *p, size_t stage);

#endif
