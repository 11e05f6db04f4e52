/* wanted_family.h -- what serving a family may compile, found by choosing as serving does. */
#ifndef TUNE_WANTED_FAMILY_H
#define TUNE_WANTED_FAMILY_H

#include "serve_known.h"
#include "sizes.h"
#include "wanted_images.h"

/* wanted_family -- for the tuned problems of a family, its template's sizes, and `drawn` sizes: the
 * configuration that each gets, unless the database has its image, and the one that it would get if
 * nothing were tuned; and every configuration of a portfolio.
 *   in   only  the configurations that these problems get, and nothing else; NULL: all
 *   out  *w  added to
 *   err  ERR_INTERRUPTED, ERR_NOMEM, ERR_DB */
int wanted_family(const serve_sources *from, gen_template *t, const sizes *only, size_t drawn,
                  wanted_images *w, err *e);

#endif
