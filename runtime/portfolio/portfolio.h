/* portfolio.h -- a portfolio: a few configurations that serve a whole range of sizes, and a
 * decision tree over the problem's fields that says which of them to try first.
 *
 * `autotune portfolio` makes one out of what was measured; the database keeps it as text, a line
 * each:
 *
 *   portfolio 1
 *   asked 0.05                      no size of the grid loses more than this with the best of them
 *   sizes 90                        of the grid
 *   expected 0.021 0.13             lost with the one that the tree picks, sizes left out of its
 *                                   training: geometric mean, worst
 *   range m 16 8192                 of the grid, a line for every field;
 *   range ta n t                    of choices, those it has
 *   config BM=128,BN=64,...
 *   if m*n < 262144 else 4          an inner node: the next one when it holds, else number 4
 *   leaf 0.012 0.05 2 0 1           expected and worst loss there, configurations in order
 *
 * Portfolio 5 has a model of each configuration (portfolio_model.h), too, and the models say which
 * is tried first. A leaf names the configurations that the models are asked about: the first few,
 * up to `then`, which nearly always include the one that the models would take of all; together
 * they lose least, by the models, at sizes drawn for this. Portfolio 4 lacks the `then`: the models
 * are asked about all.
 *
 *   leaf 0.012 0.05 2 0 then 1
 *
 *   model 132                       multiprocessors
 *   size 3631264 301 29 208 n t 1   a measured size: its operations, and the fields that vary
 *   costs 4 3.1e-06 0 1.2e-07 ...   a configuration's blocks at once, and its costs
 *   form 128 SPLITK=2 VEC=4         an adapted variant: threads of a block, and the parameters that
 *                                   differ from the configuration
 *   at 0 60 -13.2                   size number 0, where it was measured: its blocks, the weight
 *
 * Nodes are numbered from 0 in the order of their lines, and branches only go forward. Losses are
 * shares of the least time: 0.05 is 5 % slower. A feature is a field (m), a ratio (m/n), a product
 * (m*n, m*n*k), or a choice (ta=t). */
#ifndef PORTFOLIO_H
#define PORTFOLIO_H

#include "portfolio_model.h"

enum { PORTFOLIO_CONFIGS = 48, PORTFOLIO_NODES = 511, PORTFOLIO_SIZES = CHOOSER_SIZES };

typedef struct portfolio {
  double asked, expected, worst;
  size_t n_sizes;
  int64_t least[GEN_MAX_FIELDS], most[GEN_MAX_FIELDS]; /* whole numbers */
  uint64_t choices[GEN_MAX_FIELDS];                    /* names: a bit each */
  const gen_config *configs;
  size_t n_configs;
  const chooser_node *nodes;
  size_t n_nodes;
  portfolio_model model; /* of these configurations; sizes.n 0: none */
} portfolio;

/* portfolio_is_number, portfolio_varies -- is the field a number, not a name; has the portfolio
 * several values of it? */
bool portfolio_is_number(const gen_template *t, size_t field);
bool portfolio_varies(const portfolio *c, const gen_template *t, size_t field);
/* portfolio_features -- the features that make sense for the template's problems; at most `most` */
size_t portfolio_features(const gen_template *t, chooser_feature *list, size_t most);
/* portfolio_feature_text -- append "m*n" */
void portfolio_feature_text(const gen_template *t, const chooser_feature *f, str *out);

/* portfolio_text -- append a portfolio that was made, or read with portfolio_read_all */
void portfolio_text(const gen_template *t, const portfolio *c, str *out);
/* portfolio_read -- what serving needs; what it points to is in the arena.
 *   err  ERR_USAGE  no portfolio, or of another template; the message names the line */
int portfolio_read(const gen_template *t, const char *text, arena *a, portfolio *c, err *e);
/* portfolio_read_all -- with the samples of the models' variants, four times as large */
int portfolio_read_all(const gen_template *t, const char *text, arena *a, portfolio *c, err *e);
/* portfolio_take_alike -- names that the portfolio was not made for become those whose results serve
 * them: of a class the nearest that it was made for, else the one that they are like (gen_field) */
void portfolio_take_alike(const gen_template *t, const portfolio *c, int64_t *values);
/* portfolio_leaf -- where the tree leads; NULL for a problem outside the portfolio's range: another
 * choice, or more than a factor of two beyond its sizes */
const chooser_node *portfolio_leaf(const gen_template *t, const portfolio *c,
                                   const int64_t *values);

#endif
