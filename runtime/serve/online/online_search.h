/* online_search.h -- which variant is tried next while a program runs: the tuner's search
 * (search.h) over a space that is opened when its first point is wanted. */
#ifndef ONLINE_SEARCH_H
#define ONLINE_SEARCH_H

#include <stdatomic.h>

#include "gen.h"
#include "search.h"

enum { ONLINE_SEARCH_MOST = 512 };

typedef struct online_point {
  gen_config config;
  _Atomic double sec; /* 0: not known yet; INFINITY: it failed */
  bool told;          /* to the search */
} online_point;

typedef struct online_search {
  const gen_template *t;
  gen_instance *g;
  gen_space *space; /* NULL: not opened yet */
  search_space view;
  searcher *searcher;
  bool failed; /* the space could not be opened */
  online_point list[ONLINE_SEARCH_MOST];
  atomic_size_t n;
} online_search;

/* The instance is borrowed. All functions but online_search_tell need exclusive use of its
 * template. */
void online_search_init(online_search *s, const gen_template *t, gen_instance *g);
void online_search_clear(online_search *s);
/* online_search_add -- a configuration from elsewhere; false: it was there already, or the list is
 * full
 *   out  *place  its number, for online_search_tell */
bool online_search_add(online_search *s, const gen_config *c, size_t *place);
/* online_search_next -- another valid one; false: none is left. The first opens the space, which
 * takes seconds for a large one */
bool online_search_next(online_search *s, gen_config *c, size_t *place);
/* online_search_tell -- the time it took; INFINITY: it failed; from any thread */
void online_search_tell(online_search *s, size_t place, double sec);

#endif
