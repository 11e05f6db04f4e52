/* search.h -- choose what to try next: a space and the results so far go in, the next point comes
 * out.
 *
 *     search_space view;
 *     search_space_view(space, template, &view);
 *     search_open(&view, &(search_options){.seed = 1}, &s, e);
 *     while (search_ask(s, &point)) {
 *       gen_space_at(space, point, &config);
 *       search_tell(s, point, time_of(&config));    (INFINITY: it failed)
 *     }
 *     search_close(s);
 *
 * A point is asked for once. Several may be asked for before the first result is told, and results
 * of points that were never asked for can be told at any time (gen_space_find gives a
 * configuration's point). No function reads a clock or starts a thread; callers of several threads
 * need a lock of their own.
 */
#ifndef SEARCH_H
#define SEARCH_H

#include "strategy.h"
#include "subspace.h"

typedef struct search_options {
  const search_strategy *strategy; /* NULL: the default */
  const search_subspace *within;   /* ask for points of this subspace only; NULL: of the space */
  uint64_t seed;                   /* the same seed and results give the same points */
} search_options;

typedef struct searcher searcher;

/* search_open -- err ERR_NOMEM; the view is copied, the space behind it borrowed until
 * search_close */
int search_open(const search_space *space, const search_options *o, searcher **out, err *e);
void search_close(searcher *s);
/* search_ask -- false when no point is left */
bool search_ask(searcher *s, size_t *point);
/* search_tell -- the result of a point; a second one of the same point is ignored */
void search_tell(searcher *s, size_t point, double sec);

#endif
