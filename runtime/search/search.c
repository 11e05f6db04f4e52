#include "search.h"

#include <stdlib.h>

struct searcher {
  search_space space;
  subspace within;
  bool narrowed;
  const search_strategy *strategy;
  void *self; /* the strategy's; NULL: the subspace is empty */
};

static int open_strategy(searcher *s, const search_options *o, err *e) {
  const search_space *view = &s->space;
  if (o->within) {
    s->narrowed = true;
    TRY(subspace_init(&s->within, &s->space, o->within, e));
    view = &s->within.view;
  }
  return view->n || !s->narrowed ? search_strategy_open(s->strategy, view, o->seed, &s->self, e)
                                 : 0;
}

int search_open(const search_space *space, const search_options *o, searcher **out, err *e) {
  searcher *s = calloc(1, sizeof *s);
  if (!s) {
    return err_nomem(e);
  }
  s->space = *space;
  s->strategy = o->strategy ? o->strategy : search_strategies()[0];
  const int rc = open_strategy(s, o, e);
  if (rc) {
    search_close(s);
    s = NULL;
  }
  *out = s;
  return rc;
}

void search_close(searcher *s) {
  if (!s) {
    return;
  }
  if (s->self) {
    search_strategy_close(s->strategy, s->self);
  }
  subspace_clear(&s->within);
  free(s);
}

bool search_ask(searcher *s, size_t *point) {
  if (!s->self || !s->strategy->ask(s->self, point)) {
    return false;
  }
  *point = s->narrowed ? s->within.points[*point] : *point;
  return true;
}

void search_tell(searcher *s, size_t point, double sec) {
  if (s->self && s->strategy->tell && (!s->narrowed || subspace_find(&s->within, point, &point))) {
    s->strategy->tell(s->self, point, sec);
  }
}
