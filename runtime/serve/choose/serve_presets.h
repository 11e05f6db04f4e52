/* serve_presets.h -- the results that the library ships with: the files of db/presets, results as
 * text (db_text.h), portfolios as tables (embedded_portfolio.h); no images. */
#ifndef SERVE_PRESETS_H
#define SERVE_PRESETS_H

#include "embedded_portfolio.h"

typedef const embedded_portfolio *serve_portfolio_fn(void);

/* Built in; they end with a NULL name, and a NULL */
extern const gen_file serve_presets[];
extern serve_portfolio_fn *const serve_portfolios[];

#endif
