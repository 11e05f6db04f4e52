/* embedded_portfolio.h -- a shipped portfolio as constants of the library, as portfolio_read leaves
 * it: the build reads the text (embed_portfolios.c), a program only refers to what is there.
 *
 * Of 470 KB for sgemm's 24 models a context copies some 60, and the operating system loads the
 * pages that are touched. Indices of fields, parameters and their values are those of the template
 * that the library was built with. A template of the caller's own may have others, so they are found
 * by name again. */
#ifndef EMBEDDED_PORTFOLIO_H
#define EMBEDDED_PORTFOLIO_H

#include "portfolio.h"

typedef struct embedded_names { /* a field or a parameter */
  const char *name;
  const char *const *values; /* as texts; NULL: a field that is a number */
  size_t n;
} embedded_names;

typedef struct embedded_portfolio {
  const char *family, *device_key;
  int64_t version; /* of the template */
  int cc;          /* compute capability */
  const embedded_names *fields, *params;
  size_t n_fields, n_params;
  portfolio portfolio; /* without the sizes of its model */
  const chooser_sizes *sizes;
} embedded_portfolio;

/* embedded_portfolio_open -- for this template of the same family; what is copied is in the arena.
 *   err  ERR_USAGE  the template lacks a field, a parameter or a value, or has more fields */
int embedded_portfolio_open(const gen_template *t, const embedded_portfolio *from, arena *a,
                            portfolio *c, err *e);

#endif
