/* export_page.h -- the source of a portfolio while it is being written (export_portfolio.c), for those
 * who write parts of it. */
#ifndef EXPORT_PAGE_H
#define EXPORT_PAGE_H

#include "export_parts.h"

typedef struct page { /* the file being written */
  const gen_template *t;
  const exported_portfolio *c;
  const char *name;
  char upper[EXPORT_NAME];
  gen_texts texts;
  bool condition[GEN_MAX_DERIVED]; /* a derived value that is one; written out where it is read */
  arena memory;
  str name_text; /* what name_in_c last returned */
  str *out;
  err *e;
} page;

/* export_expression -- append it as C, over k, p, c and v. err ERR_TEMPLATE */
int export_expression(page *p, const char *text);
/* export_id, export_text -- a field's name as C has it; the enumerator of a name that is a value */
void export_id(str *s, const char *name);
void export_text(const page *p, const char *text, size_t n, str *s);
/* export_models -- the portfolio's models, and a function fastest(k, p) that asks them. err as
 * export_expression */
int export_models(page *p);

#endif
