/* portfolio_tables.h -- a portfolio's tree (chooser.h) and models (chooser_model.h) as C:
 * initialised structs, for exported C and for the portfolios that the library is built with. */
#ifndef PORTFOLIO_TABLES_H
#define PORTFOLIO_TABLES_H

#include "portfolio.h"

/* portfolio_tables_tree -- append `nodes` */
void portfolio_tables_tree(const chooser_node *nodes, size_t n, str *out);
/* portfolio_tables_sizes -- append `measured_sizes` */
void portfolio_tables_sizes(const chooser_sizes *s, str *out);
/* portfolio_tables_rows -- append the rows of all models
 * portfolio_tables_fit -- append the initialiser of one chooser_fit, over these rows, and a comma */
void portfolio_tables_rows(const portfolio_model *m, str *out);
void portfolio_tables_fit(const portfolio_model *m, size_t config, str *out);

#endif
